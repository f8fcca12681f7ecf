//! `faultline compare`: saved runs side by side, the first against each of the others.

use anyhow::{Context, Result};
use schema::{Findings, Record, SCHEMA_VERSION, across::Across, gate::Gate};

use crate::{
    cli::CompareArgs,
    exit::{Outcome, Usage},
    output,
};

pub fn run(args: &CompareArgs) -> Result<Outcome> {
    let store = history::Store::open(None)?;
    let mut runs = Vec::new();
    for which in &args.runs {
        let record = store.load(which)?;
        let findings = analysis::analyze(&record);
        runs.push((record, findings));
    }
    let runs: Vec<(&Record, &Findings)> = runs.iter().map(|(record, findings)| (record, findings)).collect();
    let (first, others) = runs.split_first().context("there is no run to compare")?;
    let versus: Vec<_> = others.iter().map(|other| analysis::across(*first, *other)).collect();
    let gates: Vec<Option<Gate>> = args.fail_if.iter().map(|it| analysis::gate(it, *first, others)).collect();
    if let Some((threshold, _)) = args.fail_if.iter().zip(&gates).find(|(_, gate)| gate.is_none()) {
        return Err(Usage(format!("--fail-if {:?} matches no cell of these runs", threshold.text)).into());
    }
    let across = Across { schema_version: SCHEMA_VERSION, versus, gates: gates.into_iter().flatten().collect() };
    // A gate has an answer of its own for runs that share no measured cell: what it is about is missing.
    let refused = across.versus.iter().filter(|it| across.gates.is_empty() || !it.cells.is_empty());
    let refused: Vec<String> = refused.flat_map(|it| it.not_comparable.clone()).collect();
    if !args.anyway && !refused.is_empty() {
        return Err(Usage(format!(
            "these runs are not comparable: {}; --anyway compares them all the same",
            refused.join("; ")
        ))
        .into());
    }
    for path in [&args.markdown, &args.html].into_iter().flatten() {
        if path.is_file() && !args.force {
            return Err(Usage(format!("{} exists already; --force overwrites it", path.display())).into());
        }
    }
    if let Some(path) = &args.markdown {
        output::write(path, &report::across_markdown(&across), args.force)?;
    }
    if let Some(path) = &args.html {
        output::write(path, &report::across_html(&across), args.force)?;
    }
    for gate in &across.gates {
        report::gate_breaches(gate).iter().for_each(|line| output::warn(line));
        output::note(&report::gate_checked(gate));
    }
    if args.json {
        output::print(&report::across_json(&across))?;
    } else if ![&args.markdown, &args.html].into_iter().flatten().any(|path| output::is_stdout(path)) {
        output::print(&report::across(&across, output::style(true)))?;
    }
    Ok(match () {
        () if across.gates.iter().any(Gate::is_breached) => Outcome::Breached,
        () if across.versus.iter().all(|it| it.cells.is_empty()) => Outcome::NothingDecided,
        () => Outcome::Answered,
    })
}
