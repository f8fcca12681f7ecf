//! Whether everything that is said of a record is what was planted in it.

mod fills;
mod findings;
mod fuzz;
mod hostile;
mod jobs;
mod rendered;
mod runs;

use planted::{Planted, Planting};

/// With noise: of a quiet machine and of a busy one.
fn plans() -> impl Iterator<Item = Planted> {
    (1..=4)
        .flat_map(|seed| [0.01, 0.08].map(|noise| Planting { seed, noise, rounds: 12, ..Planting::default() }.plant()))
}

fn exact() -> impl Iterator<Item = Planted> {
    (1..=5).map(|seed| Planting { seed, ..Planting::default() }.plant())
}

/// Answers of which some hold at the size of the job, some turn, and some are left open.
fn measured_again() -> impl Iterator<Item = Planted> {
    (1..=5).map(|seed| Planting { seed, jobs: true, ..Planting::default() }.plant())
}

#[track_caller]
fn near(found: f64, planted: f64) {
    assert!((found / planted - 1.0).abs() < 1e-4, "{found}, and {planted} was planted");
}
