//! Record in, findings out. A pure function: no clock, no file, no process (`clippy.toml` keeps it so), and the same
//! record gives the same findings whatever order its samples stand in.
//!
//! No module but `cost` (`model`, `fit`) refers to a method by name, and none to a study or an experiment; statements about
//! a comparison follow from what was counted. Whether an arm bypasses the page cache follows from its options.

mod around;
mod cells;
mod claims;
mod compare;
mod confirm;
mod confounders;
mod cost;
mod counted;
mod cpu_cache;
mod crossover;
mod equal_work;
mod explanation;
mod figures;
mod fills;
mod forks;
mod gate;
mod ledger;
mod map;
mod measured;
mod mechanism;
mod metric;
mod noise;
mod precision;
mod runs;
mod safepoints;
mod saved;
mod share;
pub mod stats;
mod traps;
mod warnings;
mod words;

use schema::{
    Findings, Record,
    findings::{CellFinding, Comparison},
};

pub use compare::{MARGIN, verdict};
pub use confirm::headlines;
pub use cost::{Asked, faults_on, fit, fit_fills, forecast};
pub use gate::{Analyzed, gate};
pub use ledger::Claims;
pub use precision::{PRECISION, is_precise};
pub use runs::across;
pub use saved::saved_cells;
pub use share::Spent;

/// Changes whenever findings may (`build.rs`): what was derived from a record by another version is derived again.
pub const VERSION: &str = env!("ANALYSIS_VERSION");

/// Everything faultline concludes from what it measured.
pub fn analyze(record: &Record) -> Findings {
    let run = measured::Run::new(record);
    let mut compared = compare::against_baselines(&run);
    let costs = cost::of_run(&run, &mut compared);
    let (noise_floor, noise_floors) = (noise::of_all(&run), run.floors().to_vec());
    let counted = counted::all(&run);
    let mut warnings = warnings::of_run(&run, &noise_floor, &noise_floors);
    warnings.extend(around::of_passes(&run));
    warnings.extend(traps::of_counts(&run, &counted));
    let splits = forks::splits(&run);
    warnings.extend(forks::warning(&splits));
    let within_cpu_cache = cpu_cache::all(&run);
    warnings.extend(cpu_cache::warning(&within_cpu_cache));
    let cells: Vec<CellFinding> = run.cells.iter().map(|cell| cells::finding(&run, cell)).collect();
    let (crossovers, map) = (crossover::all(&run, &compared), map::lines(&run, &compared));
    let comparisons: Vec<Comparison> = compared.into_iter().map(|compared| compared.finding).collect();
    Findings {
        fills: fills::all(record, &cells, &comparisons),
        cells,
        crossovers,
        map,
        within_cpu_cache,
        warnings,
        counted,
        mechanisms: mechanism::all(record),
        comparisons,
        noise_floor,
        noise_floors,
        claims: claims::all(&run),
        figures: figures::all(&run),
        runtimes: forks::runtimes(&run),
        splits,
        costs: costs.map(Box::new),
        commands: share::all(&run),
        safepoints: safepoints::all(&run).map(Box::new),
    }
}
