//! The record at its beginning, and what this machine, file or user does not allow.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use schema::{
    Experiment, Record, SCHEMA_VERSION, Span, Workload,
    experiment::Compare,
    record::{Environment, Outcome, Reading, Sample, ScenarioResult},
};

use crate::{
    machine::host,
    plan::{self, Plan},
    target::Target,
};

/// What scenarios found, by their names.
pub type Scenarios = BTreeMap<String, Reading<ScenarioResult>>;

/// What this machine, file or user does not allow, beyond single cells.
pub(super) fn lost(record: &Record, plan: &Plan) -> Vec<String> {
    let mut lost = Vec::new();
    if !record.environment.root {
        lost.push("not root: folio sizes and kernel settings in debugfs are not recorded".into());
    }
    lost.extend(merged(&record.experiment, plan, record.environment.cache_memory_bytes()));
    if let Some(reason) = record.target.residency.reason().filter(|_| record.target.file_system != "tmpfs") {
        lost.push(reason.to_string());
    }
    lost
}

/// Of the last time that it was measured.
pub(super) fn no_ceiling(record: &Record) -> Option<String> {
    record.ceiling.reason().map(|reason| format!("the device's ceiling is unknown: {reason}"))
}

/// How much of the file the passes touched, where it is not all of it. An arm may read another part than its condition says; of a
/// file that is emptied first there is no part.
pub(super) fn part_of_file(record: &Record) -> Option<String> {
    let range = |it: &Sample| {
        let cell = &record.cells[it.cell];
        let own = cell.own_condition.as_ref().unwrap_or(&record.conditions[cell.condition]);
        let offset = it.window_offset.unwrap_or(own.range.offset);
        (own.workload != Workload::Append).then_some(Span { offset, ..own.range })
    };
    let made = record.samples.iter().filter(|it| !matches!(it.outcome, Outcome::Failed { .. }));
    let ranges: Vec<Span> = made.filter_map(range).collect();
    let most = ranges.iter().map(|it| it.bytes).max().filter(|&it| it < record.target.bytes)?;
    let at_its_start = if ranges.iter().all(|it| it.offset == 0) { " at the start" } else { "" };
    let (most, all) = (schema::Bytes(most), schema::Bytes(record.target.bytes));
    Some(format!("a pass of the rounds touches at most {most}{at_its_start} of the file's {all}"))
}

/// Numbers of random reads of the file of which a part of it has so few that they come to one pass.
fn merged(experiment: &Experiment, plan: &Plan, memory_bytes: u64) -> Vec<String> {
    let of_comparison = |(origin, compare): (usize, &Compare)| {
        let mut conditions = plan.conditions.iter().zip(&plan.origins).filter(|(_, it)| **it == origin);
        let (condition, _) = conditions.find(|(it, _)| compare.range.is_none() && it.dense_ops(u64::MAX) < u64::MAX)?;
        let mut made: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for asked in &compare.ops {
            made.entry(condition.dense_ops(*asked)).or_default().push(asked.to_string());
        }
        let (made, asked) = made.into_iter().find(|(_, asked)| asked.len() > 1)?;
        let more = match condition.range.bytes < plan::range_most(memory_bytes) {
            true => "a larger --budget",
            false => "a `range` in the experiment",
        };
        Some(format!(
            "{} random reads of the file come to one pass of {made} in {}; {more} reads more of the file",
            asked.join(", "),
            schema::Bytes(condition.range.bytes)
        ))
    };
    let mut merged: Vec<String> = experiment.comparisons.iter().enumerate().filter_map(of_comparison).collect();
    merged.dedup();
    merged
}

/// Where the lines of commands begin to look for files.
fn folder(experiment: &Experiment) -> Option<String> {
    let mut arms = experiment.comparisons.iter().flat_map(|it| &it.arms);
    arms.any(|it| it.arm.is_command()).then(|| std::env::current_dir().ok())?.map(|it| it.display().to_string())
}

/// As many as no two runs have by chance, wherever they were made (RFC 9562, section 6.7). Where the kernel has none, the
/// standard library's keys for hash tables are as good as any.
fn random_bits() -> sys::machine::Id {
    sys::machine::random().unwrap_or_else(|_| fastrand::u128(..).to_ne_bytes())
}

/// The record that a run would begin with: its conditions, and cells with the reasons for which they are left out.
pub fn planned(experiment: &Experiment, target: &Target, plan: Plan, scenarios: Scenarios) -> Record {
    let Plan { conditions, origins, cells, .. } = plan;
    let record = begin(experiment, target, (1, Duration::ZERO), host::detect(&|| None));
    Record { partial: None, conditions, origins, cells, scenarios, ..record }
}

/// `of`: the seed and the budget.
pub(super) fn begin(experiment: &Experiment, target: &Target, of: (u64, Duration), environment: Environment) -> Record {
    let (seed, budget) = of;
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    // The same without its separators: 2026-11-21T10:54:34Z becomes 20261121T105434Z.
    let stamp = started.replace(['-', ':'], "");
    Record {
        schema_version: SCHEMA_VERSION,
        id: format!("{stamp}-{}", sys::machine::hex(&random_bits())),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        started,
        elapsed_s: 0.0,
        partial: Some("still running, or killed".into()),
        ending: None,
        rounds_ended: BTreeMap::new(),
        cells_ended: BTreeMap::new(),
        folder: folder(experiment),
        seed,
        budget_s: budget.as_secs_f64(),
        experiment: experiment.clone(),
        environment,
        target: target.describe(),
        conditions: Vec::new(),
        origins: Vec::new(),
        scenarios: BTreeMap::new(),
        cells: Vec::new(),
        samples: Vec::new(),
        fills: Vec::new(),
        confirmations: Vec::new(),
        ceiling: Reading::unavailable("not measured"),
        calibration: Reading::unavailable("not calibrated"),
        counted: Vec::new(),
        observations: Vec::new(),
        advised: None,
        timeline: None,
        runtimes: BTreeMap::new(),
        limits: Vec::new(),
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    /// Of passes over these windows of a file of 64 MiB.
    fn said_of(windows: &[Span]) -> Option<String> {
        said_of_workload(Workload::Scan, windows)
    }

    fn said_of_workload(workload: Workload, windows: &[Span]) -> Option<String> {
        let mut record = planted::Planting::default().plant().record;
        record.target.bytes = 64 << 20;
        record.samples.truncate(windows.len());
        for (sample, window) in record.samples.iter_mut().zip(windows) {
            let cell = &mut record.cells[sample.cell];
            let own = cell.own_condition.get_or_insert_with(|| record.conditions[cell.condition].clone());
            (own.range.bytes, own.workload) = (window.bytes, workload);
            sample.window_offset = Some(window.offset);
        }
        part_of_file(&record)
    }

    #[test]
    fn numbers_of_reads_that_come_to_one_pass_are_named() {
        let said = |window: u64| {
            let text = "title = \"x\"\n[[compare]]\narms = [\"pread\", \"mmap\"]\nworkload = \"random\"\n\
                        block = \"4 KiB\"\nstate = \"cached\"\nops = [1000, 2000, 4000, 800000]\n";
            let experiment = Experiment::parse("x", text).unwrap();
            let plan = Plan::new(&experiment, 256 << 20, window, |_| Ok(()));
            (plan.conditions.len(), merged(&experiment, &plan, 64 << 30), merged(&experiment, &plan, 4 * window))
        };
        let (conditions, merged, of_all_memory) = said(50 << 20);
        assert_eq!((conditions, merged.len()), (2, 1), "{merged:?}");
        assert!(merged[0].contains("1000, 2000, 4000 random reads") && merged[0].contains("50 MiB"), "{merged:?}");
        assert!(merged[0].contains("--budget") && !of_all_memory[0].contains("--budget"), "{of_all_memory:?}");
        assert_eq!(said(256 << 20), (4, Vec::new(), Vec::new()));
    }

    #[test]
    fn the_part_of_the_file_is_what_the_passes_touched_and_only_at_its_start_called_so() {
        let whole = said_of(&[Span { offset: 0, bytes: 64 << 20 }]);
        assert_eq!(whole, None);
        let mib = |offset: u64| Span { offset: offset << 20, bytes: 1 << 20 };
        assert!(said_of(&[mib(0), mib(0)]).unwrap().contains("at the start"));
        assert!(!said_of(&[mib(0), mib(32)]).unwrap().contains("start"));
        assert_eq!(said_of(&[]), None);
        assert_eq!(said_of_workload(Workload::Append, &[mib(0)]), None, "the file is emptied first");
    }
}
