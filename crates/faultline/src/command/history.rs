//! `faultline history`: the saved runs, and one cell of them over time.

use anyhow::Result;
use schema::{
    SCHEMA_VERSION,
    machine::Whose,
    saved::{History, Wanted},
};

use crate::{cli::HistoryArgs, exit::Exit, machine, output};

pub fn run(args: &HistoryArgs) -> Result<Exit> {
    let store = history::Store::open(None)?;
    let mut index = history::Index::open(&store)?;
    if let Some(reason) = &index.only_in_memory {
        output::warn(&format!("every record is read, because the index cannot be kept: {reason}"));
    }
    index.refresh(&store, analysis::VERSION, &analysis::saved_cells)?;
    let wanted = Wanted {
        machine: machine::whose(args.machine.as_deref(), &store),
        target: args.target.clone(),
        experiment: args.experiment.clone(),
        since: args.since.clone(),
        until: args.until.clone(),
    };
    let mut found = Vec::new();
    for pattern in &args.cell {
        for cell in index.cells(&wanted, pattern)? {
            // Two patterns may mean one cell.
            if !found.contains(&cell) {
                found.push(cell);
            }
        }
    }
    found.sort_by(|a, b| (&a.started, &a.run).cmp(&(&b.started, &b.run)));
    let (runs, of_others) = index.runs(&wanted)?;
    let damaged = index.damaged()?;
    let all = index.count()?;
    let history = History { schema_version: SCHEMA_VERSION, runs, cells: found, damaged, of_others, all };
    if args.json {
        output::print(&report::history_json(&history))?;
    } else {
        let asked = !args.cell.is_empty();
        output::show(&report::history(&history, asked, &store.folder().display().to_string(), output::style(false)))?;
    }
    // Filters that leave nothing are no answer.
    let nothing = if args.cell.is_empty() { history.runs.is_empty() } else { history.cells.is_empty() };
    let described = [&args.target, &args.experiment, &args.since, &args.until].iter().any(|it| it.is_some());
    let filtered = described || matches!(wanted.machine, Whose::Named(_)) || !args.cell.is_empty();
    Ok(if nothing && filtered { Exit::NothingDecided } else { Exit::Answered })
}
