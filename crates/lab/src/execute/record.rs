//! The record at its beginning, and what this machine, file or user does not allow.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use schema::{
    Experiment, Record, SCHEMA_VERSION, Span,
    experiment::Compare,
    record::{Environment, Reading, ScenarioResult},
};

use crate::{machine::host, plan::Plan, target::Target};

/// What scenarios found, by their names.
pub type Scenarios = BTreeMap<String, Reading<ScenarioResult>>;

/// What this machine, file or user does not allow, beyond single cells.
pub(super) fn lost(record: &Record, plan: &Plan) -> Vec<String> {
    let mut lost = Vec::new();
    if !record.environment.root {
        lost.push("not root: folio sizes and kernel settings in debugfs are not recorded".into());
    }
    let measured = plan.cells.iter().filter(|it| it.skipped.is_none());
    // An arm may read another part of the file than its condition says.
    let ranges: Vec<Span> = measured.map(|it| plan.does(it).range).collect();
    if let Some(window) = ranges.iter().map(|it| it.bytes).max().filter(|&it| it < record.target.bytes) {
        let at_its_start = ranges.iter().all(|it| it.offset == 0);
        lost.push(format!(
            "passes of the rounds touch at most {}{} of the file's {}",
            schema::Bytes(window),
            if at_its_start { " at the start" } else { "" },
            schema::Bytes(record.target.bytes)
        ));
    }
    lost.extend(merged(&record.experiment, plan));
    if let Some(reason) = record.target.residency.reason().filter(|_| record.target.file_system != "tmpfs") {
        lost.push(reason.to_string());
    }
    if let Some(reason) = record.ceiling.reason() {
        lost.push(format!("the device's ceiling is unknown: {reason}"));
    }
    lost
}

/// Numbers of random reads of the file of which a part of it has so few that they come to one pass.
fn merged(experiment: &Experiment, plan: &Plan) -> Vec<String> {
    let of_comparison = |(origin, compare): (usize, &Compare)| {
        let mut conditions = plan.conditions.iter().zip(&plan.origins).filter(|(_, it)| **it == origin);
        let (condition, _) = conditions.find(|(it, _)| compare.range.is_none() && it.dense_ops(u64::MAX) < u64::MAX)?;
        let mut made: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for asked in &compare.ops {
            made.entry(condition.dense_ops(*asked)).or_default().push(asked.to_string());
        }
        let (made, asked) = made.into_iter().find(|(_, asked)| asked.len() > 1)?;
        Some(format!(
            "{} random reads of the file come to one pass of {made} in {}; a larger --budget reads more of the file",
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
    use schema::State;

    use super::*;
    use crate::plan::RANGE_BYTES_MAX;

    #[test]
    fn a_part_of_the_file_that_lies_elsewhere_is_not_called_its_start() {
        let said = |range: &str| {
            let text = format!(
                "title = \"x\"\n[[compare]]\narms = [\"pread\", \"mmap\"]\nworkload = \"random\"\n\
                 block = \"4 KiB\"\nstate = \"cached\"\nrange = {{ {range} }}\n"
            );
            let experiment = Experiment::parse("x", &text).unwrap();
            let mut record = planted::empty_record();
            record.target.bytes = 64 << 20;
            let plan = Plan::new(&experiment, record.target.bytes, RANGE_BYTES_MAX, |_| Ok(()));
            lost(&record, &plan).into_iter().find(|it| it.contains("1 MiB")).unwrap()
        };
        assert!(said("bytes = \"1 MiB\"").contains("at the start"));
        assert!(!said("offset = \"32 MiB\", bytes = \"1 MiB\"").contains("start"));
    }

    #[test]
    fn numbers_of_reads_that_come_to_one_pass_are_named() {
        let said = |window: u64| {
            let text = "title = \"x\"\n[[compare]]\narms = [\"pread\", \"mmap\"]\nworkload = \"random\"\n\
                        block = \"4 KiB\"\nstate = \"cached\"\nops = [1000, 2000, 4000, 800000]\n";
            let experiment = Experiment::parse("x", text).unwrap();
            let plan = Plan::new(&experiment, 256 << 20, window, |_| Ok(()));
            (plan.conditions.len(), merged(&experiment, &plan))
        };
        let (conditions, merged) = said(50 << 20);
        assert_eq!((conditions, merged.len()), (2, 1), "{merged:?}");
        assert!(merged[0].contains("1000, 2000, 4000 random reads") && merged[0].contains("50 MiB"), "{merged:?}");
        assert_eq!(said(256 << 20), (4, Vec::new()));
    }

    #[test]
    fn the_part_of_the_file_is_that_of_the_arm_that_reads_most_unless_it_is_left_out() {
        let text = "title = \"x\"\n[arms]\n\
                    half = { method = \"mmap\", own = { range = { share = 0.5 }, state = \"cold\" } }\n\
                    [[compare]]\narms = [\"pread\", \"mmap\", \"half\"]\nworkload = \"random\"\nblock = \"4 KiB\"\n\
                    state = \"cached\"\nrange = { bytes = \"1 MiB\" }\n";
        let experiment = Experiment::parse("x", text).unwrap();
        let said = |is_cold_possible: bool| {
            let mut record = planted::empty_record();
            record.target.bytes = 64 << 20;
            let plan = Plan::new(&experiment, record.target.bytes, RANGE_BYTES_MAX, |it| {
                if it.state == State::Cold && !is_cold_possible { Err("refused".into()) } else { Ok(()) }
            });
            lost(&record, &plan).into_iter().find(|it| it.contains("touch at most")).unwrap()
        };
        assert!(said(true).contains("at most 32 MiB at the start"), "{}", said(true));
        assert!(said(false).contains("at most 1 MiB at the start"), "{}", said(false));
    }
}
