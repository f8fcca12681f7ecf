//! Record in, findings out. A pure function: no clock, no file, no process (`clippy.toml` keeps it so), and the same
//! record gives the same findings whatever order its samples stand in.
//!
//! No module but `cost` (`model`, `fit`) refers to a method by name, and none to a study or an experiment; statements about
//! a comparison follow from what was counted. Whether an arm bypasses the page cache follows from its options.

mod advice;
mod advised;
mod answers;
mod ceiling;
mod cells;
mod claims;
mod commands;
mod compare;
mod cost;
mod gains;
mod headline;
mod measured;
mod rate;
mod several;
pub mod stats;
mod trace;
mod verdict;
mod warnings;

use std::collections::BTreeMap;

use schema::{
    Findings, Record, State,
    answer::Answer,
    findings::{CellFinding, Comparison},
    record::Resident,
};

use answers::{choice, crossover, figures, fills, map, stalls};
use cells::{beats, counted, forks, safepoints};
use commands::{mechanism, share};
use compare::noise;
use warnings::{around, cpu_cache, traps};

pub use advice::arm_of;
pub use advised::advised;
pub use cells::precision::{PRECISION, is_precise};
pub use claims::outlook;
pub use commands::{
    mechanism::{Ways, ways},
    share::Spent,
};
pub use compare::confirm::is_open;
pub use cost::{ForecastQuestion, faults_on, fit, fit_fills, forecast, miss_cost};
pub use headline::headlines;
pub use several::{
    gate::{Analyzed, gate},
    ledger::Claims,
    runs::across,
    saved::saved_cells,
};
pub use trace::{Counting, summary};

/// Changes whenever findings may (`build.rs`): what was derived from a record by another version is derived again.
pub const VERSION: &str = env!("ANALYSIS_VERSION");

/// Everything faultline concludes from what it measured.
pub fn analyze(record: &Record) -> Findings {
    let run = measured::Run::new(record);
    let mut compared = compare::against_baselines(&run);
    let costs = cost::of_run(&run, &mut compared);
    let (noise_floor, noise_floors) = (noise::of_all(&run), noise::of_states(&run).to_vec());
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
    let choices = choice::all(&run, &compared, &map);
    let comparisons: Vec<Comparison> = compared.into_iter().map(|compared| compared.finding).collect();
    let accounts = costs.as_ref().map_or(&[][..], |it| &it.breakdowns);
    let commands = share::all(&run);
    let (advice, advice_self_check) = advice::all(&run, &commands);
    let beats = beats::all(&run);
    let answer = Answer { choices, causes: cost::cause::all(&map, &comparisons, accounts) };
    Findings {
        answer,
        found: found(&run),
        fills: fills::all(record, &cells, &comparisons, &noise_floors),
        cells,
        crossovers,
        map,
        within_cpu_cache,
        warnings,
        counted,
        called: called(&run),
        mechanisms: mechanism::all(record),
        comparisons,
        noise_floor,
        noise_floors,
        claims: claims::all(&run),
        figures: figures::all(&run),
        runtimes: forks::runtimes(&run),
        splits,
        costs: costs.map(Box::new),
        advice,
        advice_self_check,
        commands,
        safepoints: safepoints::all(&run).map(Box::new),
        stalls: stalls::all(record, &beats),
        beats,
    }
}

/// No pass of the state counts that begins with more or fewer.
fn found(run: &measured::Run) -> Option<Resident> {
    let of_state = run.cells.iter().filter(|it| it.own.state == State::AsFound);
    of_state.flat_map(|it| &it.passes).filter_map(|it| it.resident_before).min_by_key(|it| (it.pages, it.of))
}

fn called(run: &measured::Run) -> BTreeMap<String, String> {
    let names = &run.names;
    names.commands().iter().map(|it| (it.arm.clone(), names.short(&it.arm).to_string())).collect()
}
