//! `faultline history`: the saved runs, and one cell of them over time.

use anyhow::Result;
use schema::{
    Labels, Record, SCHEMA_VERSION,
    findings::{CellFinding, Status},
    saved::{History, SavedCell, Wanted},
};

use crate::{cli::HistoryArgs, exit::Outcome, output};

pub fn run(args: &HistoryArgs) -> Result<Outcome> {
    let store = history::Store::open(None)?;
    let mut index = history::Index::open(&store)?;
    if let Some(reason) = &index.only_in_memory {
        output::warn(&format!("every record is read, because the index cannot be kept: {reason}"));
    }
    index.refresh(&store, analysis::VERSION, &cells)?;
    let wanted = Wanted {
        machine: args.machine.clone(),
        target: args.target.clone(),
        experiment: args.experiment.clone(),
        since: args.since.clone(),
        until: args.until.clone(),
    };
    let mut found = Vec::new();
    for pattern in &args.cell {
        found.extend(index.cells(&wanted, pattern)?);
    }
    let history =
        History { schema_version: SCHEMA_VERSION, runs: index.runs(&wanted)?, cells: found, damaged: index.damaged()? };
    if args.json {
        output::print(&report::history_json(&history))?;
    } else {
        let asked = !args.cell.is_empty();
        output::print(&report::history(&history, asked, &store.folder().display().to_string(), output::style(false)))?;
    }
    // Filters that leave nothing are no answer.
    let nothing = if args.cell.is_empty() { history.runs.is_empty() } else { history.cells.is_empty() };
    let filtered = wanted != Wanted::default() || !args.cell.is_empty();
    Ok(if nothing && filtered { Outcome::NothingDecided } else { Outcome::Answered })
}

/// What the index keeps of a record's cells.
fn cells(record: &Record) -> Vec<SavedCell> {
    let measured = |it: &CellFinding| it.status == Status::Ok && !it.control;
    let labels = Labels::of(record);
    let target = match record.target.made_here {
        // Its name is another one each time.
        true => record.target.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_string(),
        false => record.target.path.clone(),
    };
    let cell = |it: CellFinding| {
        let ns_per_op = it.ns_per_op?;
        let finite = [ns_per_op.median, ns_per_op.ci_low, ns_per_op.ci_high].iter().all(|it| it.is_finite());
        let id = it.id.condition;
        let compare = id.comparison_index.and_then(|it| record.experiment.comparisons.get(it));
        let variant = compare.and_then(|it| it.variant);
        finite.then(|| SavedCell {
            run: String::new(),
            started: String::new(),
            machine: String::new(),
            condition: labels.label(id.condition_index),
            arm: it.arm.name,
            workload: it.condition.workload,
            consume: it.condition.consume,
            state: it.condition.state,
            block_bytes: it.condition.block_bytes,
            ns_per_op,
            under: it.condition,
            own_condition: it.own_condition,
            target: target.clone(),
            comparison: [
                compare.and_then(|it| it.name.clone()).unwrap_or_default(),
                variant.map_or(String::new(), |it| it.words().to_string()),
            ],
            occurrence: 0,
        })
    };
    analysis::analyze(record).cells.into_iter().filter(measured).filter_map(cell).collect()
}
