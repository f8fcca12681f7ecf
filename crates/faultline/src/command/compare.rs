//! `faultline compare`: saved runs side by side, the first against each of the others.

use std::path::{Path, PathBuf};

use analysis::{Analyzed, stats::LEAST_RUNS};
use anyhow::{Context, Result};
use schema::{
    Findings, Record, SCHEMA_VERSION,
    across::{Across, NotComparable},
    gate::Gate,
};

use crate::{
    cli::CompareArgs,
    exit::{Exit, UsageError},
    output,
};

pub fn run(args: &CompareArgs) -> Result<Exit> {
    let json = args.json.then_some(Path::new("-"));
    let documents = [("json", json), ("markdown", args.markdown.as_deref()), ("html", args.html.as_deref())];
    output::check(&documents, args.force)?;
    output::check_open(args.open, args.html.as_deref())?;
    let store = history::Store::open(None)?;
    let places: Vec<PathBuf> =
        args.runs.iter().flat_map(|side| names(side)).map(|it| Ok(store.place(it)?.0)).collect::<Result<_>>()?;
    let loaded: Vec<Vec<(Record, Findings)>> =
        args.runs.iter().map(|side| load(&store, side)).collect::<Result<_>>()?;
    let sides: Vec<Vec<Analyzed>> =
        loaded.iter().map(|side| side.iter().map(|(record, findings)| (record, findings)).collect()).collect();
    let (first, others) = sides.split_first().context("there is no run to compare")?;
    let is_together = |side: &Vec<Analyzed>| !args.fail_if.is_empty() && first.len().min(side.len()) >= LEAST_RUNS;
    if let Some(side) = others.iter().find(|it| it.len() < first.len() && !is_together(it)) {
        return Err(UsageError(format!(
            "the first side has {} runs and another one {}: each run is compared with the one in the same place of the \
             first side, so that some of the first side would be left out",
            first.len(),
            side.len()
        ))
        .into());
    }
    // Each run beside the one in the same place of the first side.
    let beside = others.iter().flat_map(|side| side.iter().zip(first.iter().cycle()));
    let versus: Vec<_> = beside.map(|(second, first)| analysis::across(*first, *second)).collect();
    let gates: Vec<Option<Gate>> = args.fail_if.iter().map(|it| analysis::gate(it, first, others)).collect();
    if let Some((threshold, _)) = args.fail_if.iter().zip(&gates).find(|(_, gate)| gate.is_none()) {
        return Err(UsageError(format!("--fail-if {:?} matches no cell of these runs", threshold.text)).into());
    }
    let across = Across { schema_version: SCHEMA_VERSION, versus, gates: gates.into_iter().flatten().collect() };
    // A gate has an answer of its own for runs that share no measured cell: what it is about is missing.
    let refused = across.versus.iter().filter(|it| across.gates.is_empty() || !it.cells.is_empty());
    let (with_itself, refused): (Vec<&NotComparable>, Vec<_>) =
        refused.flat_map(|it| &it.not_comparable).partition(|it| matches!(it, NotComparable::OneRun { .. }));
    let together: Vec<&Vec<Analyzed>> = others.iter().filter(|it| is_together(it)).collect();
    let with_itself = with_itself.into_iter().map(report::words::not_comparable).chain(on_both_sides(first, &together));
    let with_itself: Vec<String> = with_itself.collect();
    // A threshold that a run keeps against itself says nothing, so no option passes it.
    if !across.gates.is_empty() && !with_itself.is_empty() {
        return Err(UsageError(format!("--fail-if is about different runs, and {}", with_itself.join("; "))).into());
    }
    let refused = refused.into_iter().map(report::words::not_comparable).chain(of_two_subjects(first, &together));
    let refused: Vec<String> = with_itself.into_iter().chain(refused).collect();
    if !args.anyway && !refused.is_empty() {
        // Where no cell is shared, there is nothing that could be compared anyway.
        let is_shared = across.versus.iter().any(|it| !it.cells.is_empty());
        let what_to_try = if is_shared { "; use --anyway to compare them" } else { "" };
        return Err(UsageError(format!("these runs are not comparable: {}{what_to_try}", refused.join("; "))).into());
    }
    for path in [&args.markdown, &args.html].into_iter().flatten() {
        output::spare_read(path, places.iter().filter_map(|it| output::identity(it)))?;
        loaded.iter().flatten().try_for_each(|(record, _)| output::spare_measured(record, path))?;
    }
    if let Some(path) = &args.markdown {
        output::write(path, &report::across_markdown(&across), args.force)?;
    }
    if let Some(path) = &args.html {
        output::write(path, &report::across_html(&across), args.force)?;
    }
    for gate in &across.gates {
        report::gate_breaches(gate).iter().chain(&report::gate_not_judged(gate)).for_each(|line| output::warn(line));
        output::note(&report::gate_checked(gate));
    }
    if args.json {
        output::print(&report::across_json(&across))?;
    } else if ![&args.markdown, &args.html].into_iter().flatten().any(|path| output::is_stdout(path)) {
        output::show(&report::across(&across, output::style(true)))?;
    }
    output::open(args.open, args.html.as_deref());
    Ok(match () {
        () if across.gates.iter().any(Gate::is_breached) => Exit::Breached,
        () if across.gates.iter().any(Gate::is_incomplete) => Exit::NothingDecided,
        () if !is_answered(&across) => Exit::NothingDecided,
        () => Exit::Answered,
    })
}

/// A kept threshold is an answer wherever there is a measured cell; otherwise a cell is decided.
fn is_answered(across: &Across) -> bool {
    let mut cells = across.versus.iter().flat_map(|it| &it.cells);
    cells.any(|it| !across.gates.is_empty() || it.verdict.is_decided())
}

/// Runs that are judged together are of one subject. Those of the other sides stand beside one of the first side already, and
/// those of the first side stand beside each other here.
fn of_two_subjects(first: &[Analyzed], together: &[&Vec<Analyzed>]) -> Vec<String> {
    if together.is_empty() {
        return Vec::new();
    }
    let within = first[1..].iter().map(|it| analysis::across(first[0], *it)).filter(|it| !it.cells.is_empty());
    within.flat_map(|it| it.not_comparable).map(|it| report::words::not_comparable(&it)).collect()
}

/// Of runs that are judged together, each is on one side.
fn on_both_sides(first: &[Analyzed], together: &[&Vec<Analyzed>]) -> Vec<String> {
    let is_again = |id: &str| together.iter().flat_map(|it| it.iter()).any(|(other, _)| other.id == id);
    let ids = first.iter().map(|(record, _)| record.id.as_str()).filter(|it| is_again(it));
    ids.map(|it| format!("both sides have the run {it}")).collect()
}

fn names(side: &str) -> Vec<&str> {
    if Path::new(side).is_file() { vec![side] } else { side.split(',').collect() }
}

/// The runs of one side: one, or several with commas between them. No run counts twice, as a copy of it from before it ended
/// would.
fn load(store: &history::Store, side: &str) -> Result<Vec<(Record, Findings)>> {
    let mut runs: Vec<(Record, Findings)> = Vec::new();
    for which in names(side) {
        let record = store.load(which)?;
        if runs.iter().any(|(other, _)| other.id == record.id) {
            return Err(UsageError(format!("{side:?} names the run {} twice", record.id)).into());
        }
        let findings = analysis::analyze(&record);
        runs.push((record, findings));
    }
    Ok(runs)
}
