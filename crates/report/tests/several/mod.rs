//! Several runs in one report: beside each other, and over time.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect_file;
use report::Style;
use schema::{
    Bytes, SCHEMA_VERSION,
    across::{Across, Differs, Fact, RunComparison, SharedAnswer, SharedCell},
    experiment::{Range, SizeAsked},
    findings::{Estimate, Verdict},
    gate::{Basis, Breach, BreachCause, Gate},
    machine::Origin,
    record::Resident,
    saved::{Damaged, History, Place, SavedCell, SavedMachine, SavedRun},
};
use unicode_width::UnicodeWidthStr;

use crate::{
    hostile,
    support::{Run, run},
};

fn of(median: f64, share: f64) -> Estimate {
    Estimate { median, ci_low: median * (1.0 - share), ci_high: median * (1.0 + share) }
}

/// The cells of a run against the same, the first of them half as fast in the second run.
pub(crate) fn beside(run: &Run) -> Across {
    let cells = run.findings.cells.iter().filter(|it| !it.control).enumerate().filter_map(|(at, it)| {
        let first = it.ns_per_op?;
        let factor = if at == 0 { 2.0 } else { 1.0 };
        Some(SharedCell {
            first_id: it.id,
            second_id: it.id,
            comparison: vec![],
            arm: it.arm.clone(),
            condition: it.condition.clone(),
            own_condition: it.own_condition.clone(),
            first,
            second: of(first.median * factor, 0.01),
            speedup: Some(of(1.0 / factor, 0.02)),
            verdict: if at == 0 { Verdict::Slower } else { Verdict::Same },
            reason: None,
            sizes: None,
        })
    });
    let versus = RunComparison {
        answers_left_out: 0,
        first: run.record.id.clone(),
        second: format!("{}-2", run.record.id),
        differs: vec![Differs {
            what: Fact::Kernel,
            first: run.record.environment.kernel.as_str().into(),
            second: "7.0".into(),
        }],
        not_comparable: vec![],
        cells: cells.collect(),
        drift: Some(1.25),
        drift_ends: Some([1.2, 1.3]),
        answers: run
            .findings
            .comparisons
            .iter()
            .enumerate()
            .map(|(at, it)| SharedAnswer {
                first_id: it.id,
                second_id: it.id,
                condition: it.condition.clone(),
                baseline: it.baseline.clone(),
                arm: it.arm.clone(),
                first: it.speedup,
                second: it.speedup,
                first_verdict: it.verdict,
                first_of: it.answer_of,
                second_of: it.answer_of,
                sizes: None,
                second_verdict: if it.verdict == Verdict::Faster && at < 3 { Verdict::Same } else { it.verdict },
            })
            .collect(),
        only_first: 1,
        only_second: 0,
        no_interval: 0,
    };
    Across { schema_version: SCHEMA_VERSION, versus: vec![versus], gates: Vec::new() }
}

fn over_time(text: &str) -> History {
    let on = || SavedMachine { machine: text.into(), key: None, hardware: None, origin: Origin::Own };
    let saved = |id: &str, partial: Option<&str>| SavedRun {
        id: id.into(),
        started: "2026-11-20T22:51:04Z".into(),
        elapsed_s: 57.2,
        on: on(),
        kernel: "6.18.5".into(),
        experiment: "survey".into(),
        target: text.into(),
        target_bytes: 1 << 30,
        file_system: "ext4".into(),
        partial: partial.map(str::to_string),
        samples: 1291,
    };
    let cell = |run: &str, median: f64| SavedCell {
        run: run.into(),
        started: "2026-11-20T22:51:04Z".into(),
        partial: None,
        on: on(),
        arm: "native/mmap".into(),
        command: Default::default(),
        workload: schema::Workload::Scan,
        consume: schema::Consume::Sum,
        state: schema::State::Cached,
        block_bytes: 4096,
        condition: "scan 4 KiB cached".into(),
        ns_per_op: of(median, 0.02),
        under: crate::support::condition(schema::Workload::Scan, 4096, schema::State::Cached),
        own_condition: None,
        target: text.into(),
        place: Place { file_system: "ext4".into(), device: Some("vda".into()), read_ahead_bytes: Some(128 << 10) },
        comparison: Default::default(),
        occurrence: 0,
        asked: Default::default(),
        found: None,
        found_pages_per_fault: None,
        runtime: Default::default(),
        bytes_per_block: None,
        checksums: Default::default(),
    };
    History {
        schema_version: SCHEMA_VERSION,
        runs: vec![saved("20261120T225104Z-3f9a", None), saved("20261119T225104Z-0001", Some("interrupted"))],
        cells: vec![cell("20261119T225104Z-0001", 600.0), cell("20261120T225104Z-3f9a", 300.0)],
        damaged: vec![Damaged { file: "x".into(), reason: format!("{text}.json cannot be used: it is empty") }],
        of_others: 0,
        all: 1,
    }
}

fn styled(width: usize) -> Style {
    Style { width, ..Style::default() }
}

#[test]
fn runs_beside_each_other_read_well_at_every_usual_width() {
    let across = beside(&run());
    expect_file!["../snapshots/across-60.txt"].assert_eq(&report::across(&across, styled(60)));
    expect_file!["../snapshots/across-100.txt"].assert_eq(&report::across(&across, styled(100)));
    expect_file!["../snapshots/across-140.txt"].assert_eq(&report::across(&across, styled(140)));
    expect_file!["../snapshots/across.md"].assert_eq(&report::across_markdown(&across));
}

#[test]
fn saved_runs_read_well_at_every_usual_width() {
    let history = over_time("lab");
    for (width, snapshot) in [
        (60, expect_file!["../snapshots/history-60.txt"]),
        (100, expect_file!["../snapshots/history-100.txt"]),
        (140, expect_file!["../snapshots/history-140.txt"]),
    ] {
        let list = report::history(&history, false, "/home/me/runs", styled(width));
        let cells = report::history(&history, true, "/home/me/runs", styled(width));
        snapshot.assert_eq(&format!("{list}\n{cells}"));
    }
}

#[test]
fn no_line_of_several_runs_is_wider_than_the_page() {
    for (across, history) in [
        (beside(&run()), over_time("lab")),
        (
            beside(&hostile("日本語の長い名前+日本語の長い名前/日本語")),
            over_time("日本語の長い名前/\u{1b}[2J日本語の長い名前"),
        ),
    ] {
        for width in 40..200 {
            let list = report::history(&history, false, "/home/me/runs", styled(width));
            let cells = report::history(&history, true, "/home/me/runs", styled(width));
            for text in [report::across(&across, styled(width)), list, cells] {
                assert!(!text.contains('\u{1b}'));
                assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
            }
        }
    }
}

#[test]
fn a_drift_is_spoken_of_only_where_the_intervals_leave_out_1() {
    let mut across = beside(&run());
    let described = |across: &Across| report::across(across, styled(400)).contains("Overall the second run was");
    assert!(described(&across));
    across.versus[0].drift_ends = Some([0.95, 1.3]);
    assert!(!described(&across));
    across.versus[0].drift_ends = Some([0.7, 0.9]);
    assert!(described(&across));
}

#[test]
fn times_of_commands_are_those_of_an_execution() {
    let (mut across, mut history) = (beside(&run()), over_time("lab"));
    let of_command = |it: &mut schema::Condition| it.workload = schema::Workload::Command;
    across.versus[0].cells.iter_mut().for_each(|it| of_command(&mut it.condition));
    history.cells.iter_mut().for_each(|it| of_command(&mut it.under));
    let texts = [report::across(&across, styled(400)), report::history(&history, true, "/runs", styled(400))];
    for text in texts {
        assert!(text.contains("execution") && !text.contains("block"), "{text}");
    }
}

#[test]
fn times_of_a_replay_are_per_access() {
    let (mut across, mut history) = (beside(&run()), over_time("lab"));
    across.versus[0].cells.iter_mut().for_each(|it| it.condition.workload = schema::Workload::Replay);
    history.cells.iter_mut().for_each(|it| it.under.workload = schema::Workload::Replay);
    let texts = [report::across(&across, styled(400)), report::history(&history, true, "/runs", styled(400))];
    for text in texts {
        assert!(text.to_lowercase().contains("time per access") && !text.contains("per block"), "{text}");
    }
}

#[test]
fn runs_without_shared_cells_are_not_called_those_of_commands() {
    let mut across = beside(&run());
    across.versus[0].cells.clear();
    let text = report::across(&across, styled(400));
    assert!(text.contains("Time per block") && !text.contains("execution"), "{text}");
}

#[test]
fn another_command_under_the_same_name_is_another_series_that_says_its_line() {
    let mut history = over_time("lab");
    for (cell, line) in history.cells.iter_mut().zip(["grep x f", "grep y f"]) {
        cell.arm = "command/grep".into();
        cell.command.insert("line".into(), schema::arm::Setting::Word(line.into()));
    }
    assert!(!history.cells[0].continues(&history.cells[1]));
    let text = report::history(&history, true, "/runs", styled(200));
    assert!(text.contains("`grep x f`") && text.contains("`grep y f`"), "{text}");
    assert_eq!(text.matches("1.00x").count(), 2, "{text}");
}

#[test]
fn a_run_of_an_early_version_joins_no_two_machines() {
    let mut history = over_time("lab");
    let early = history.cells[0].clone();
    let on = |key: &str| {
        let mut cell = early.clone();
        (cell.on.key, cell.on.hardware) = (Some(key.into()), Some("a".into()));
        cell
    };
    for cells in [[early.clone(), on("a"), on("b")], [on("a"), early.clone(), on("b")]] {
        history.cells = cells.to_vec();
        let text = report::history(&history, true, "/runs", styled(200));
        assert_eq!(text.matches("native/mmap · ").count(), 2, "{text}");
    }
}

#[test]
fn series_whose_passes_were_asked_to_be_of_other_sizes_have_other_headings() {
    let range = Range { offset: Bytes(0), bytes: None, share: None, blocks: None };
    let ranges = [
        range,
        Range { offset: Bytes(4096), ..range },
        Range { bytes: Some(Bytes(64 << 20)), ..range },
        Range { bytes: Some(Bytes((64 << 20) + 1)), ..range },
        Range { share: Some(0.5), ..range },
        Range { blocks: Some(1000), ..range },
    ];
    let of_ranges = ranges.map(|it| SizeAsked { range: Some(it), ops: None });
    let of_ops = [100, 1000].map(|it| SizeAsked { range: None, ops: Some(it) });
    let both = SizeAsked { range: Some(range), ops: Some(1000) };
    let asked = [&of_ranges[..], &of_ops, &[both, SizeAsked::default()]].concat();
    let mut history = over_time("lab");
    let cell = history.cells[0].clone();
    history.cells = asked.iter().map(|it| SavedCell { asked: *it, ..cell.clone() }).collect();
    let text = report::history(&history, true, "/runs", styled(200));
    let headings: BTreeSet<&str> = text.lines().filter(|it| it.starts_with("native/mmap · ")).collect();
    assert_eq!(headings.len(), asked.len(), "{text}");
}

#[test]
fn series_that_began_with_other_parts_of_the_file_have_other_headings() {
    let mut history = over_time("lab");
    let cell = history.cells[0].clone();
    let found = [100, 900].map(|pages| Some(Resident { pages, of: 1000 }));
    history.cells = found.iter().map(|it| SavedCell { found: *it, ..cell.clone() }).collect();
    let text = report::history(&history, true, "/runs", styled(200));
    let headings: BTreeSet<&str> = text.lines().filter(|it| it.starts_with("native/mmap · ")).collect();
    assert_eq!(headings.len(), 2, "{text}");
}

#[test]
fn series_of_other_runtimes_and_of_other_bytes_have_other_headings() {
    let headings = |change: &dyn Fn(usize, &mut SavedCell)| {
        let mut history = over_time("lab");
        history.cells.iter_mut().enumerate().for_each(|(at, it)| change(at, it));
        let text = report::history(&history, true, "/runs", styled(200));
        text.lines().filter(|it| it.starts_with("native/mmap · ")).map(String::from).collect::<Vec<String>>()
    };
    let runtime = |name: &str, vm: &str| [(name.to_string(), vm.to_string())].into();
    let versions = headings(&|at, it| it.runtime = runtime(["python 3.9.18", "python 3.11.7"][at], "cpython"));
    let scan = "native/mmap · scan 4 KiB cached";
    assert_eq!(versions, [format!("{scan}, python 3.9.18"), format!("{scan}, python 3.11.7")]);
    let makers = headings(&|at, it| it.runtime = runtime("jvm 25", ["HotSpot", "GraalVM"][at]));
    assert_eq!(makers, [format!("{scan}, HotSpot"), format!("{scan}, GraalVM")]);
    let bytes = headings(&|at, it| it.checksums = [(0, at.to_string())].into());
    let of = |run: &str| format!("{scan}, the bytes of run {run}");
    assert_eq!(bytes, [of("20261119T225104Z-0001"), of("20261120T225104Z-3f9a")]);
    assert_eq!(headings(&|_, it| it.checksums = [(0, "0".into())].into()).len(), 1);
}

#[test]
fn a_run_of_other_windows_joins_no_two_that_read_other_bytes() {
    let mut history = over_time("lab");
    let cell = history.cells[0].clone();
    let with = |at: u64, sum: &str| SavedCell { checksums: [(at, sum.to_string())].into(), ..cell.clone() };
    history.cells = vec![with(4096, "a"), with(0, "a"), with(0, "b")];
    assert!(history.cells[0].continues(&history.cells[2]));
    let text = report::history(&history, true, "/runs", styled(200));
    assert_eq!(text.lines().filter(|it| it.starts_with("native/mmap · ")).count(), 2, "{text}");
}

#[test]
fn a_cell_that_became_hundreds_of_times_slower_is_not_shown_as_nothing_times_as_fast() {
    let mut history = over_time("lab");
    history.cells[1].ns_per_op = of(600.0 * 270.0, 0.02);
    let text = report::history(&history, true, "/runs", styled(140));
    assert!(text.contains("0.0037x") && !text.contains(" 0.00x"), "{text}");
}

#[test]
fn passes_of_very_different_sizes_are_named_wherever_runs_stand_beside_each_other() {
    let mut across = beside(&run());
    let size = |ops| schema::across::PassSize { ops, range: schema::Span { offset: 0, bytes: 1 << 30 } };
    across.versus[0].cells[0].sizes = Some([size(100), size(150)]);
    assert!(
        !report::across_markdown(&across).contains("different sizes"),
        "the planner's choice is never quite the same"
    );
    across.versus[0].cells[0].sizes = Some([size(100), size(4711)]);
    for text in [report::across(&across, styled(140)), report::across_markdown(&across), report::across_html(&across)] {
        let text = crate::squeezed(&text);
        assert!(text.contains("Passes of very different sizes: "), "{text}");
        assert!(text.contains("4,711 blocks in a range of 1 GiB"), "{text}");
    }
}

#[test]
fn a_page_of_several_runs_has_what_a_pull_request_says_of_each_limit() {
    let mut across = beside(&run());
    let cell = &across.versus[0].cells[0];
    let breach = Breach {
        id: cell.second_id,
        run: "second".into(),
        arm: cell.arm.name.clone(),
        condition: cell.condition.clone(),
        label: "scan 64 KiB <cold>".into(),
        cause: BreachCause::Beyond {
            speedup: of(0.8, 0.01),
            basis: Basis::AgainstBaseline { first_runs: 1, second_runs: 1 },
        },
    };
    let gate = |breaches: Vec<Breach>| Gate {
        threshold: "slower 10%".into(),
        checked: 3,
        absolute: 0,
        unsure: 0,
        other_sizes: 0,
        largest: None,
        breaches,
        not_judged: Vec::new(),
        partial: BTreeMap::new(),
    };
    across.gates = vec![gate(vec![breach]), gate(Vec::new())];
    let page = crate::squeezed(&report::across_html(&across));
    for (gate, outcome) in across.gates.iter().zip(["Breached", "Kept"]) {
        assert!(page.contains(&format!("<h2>{outcome}: ")), "{page}");
        for line in std::iter::once(report::gate_checked(gate)).chain(report::gate_breaches(gate)) {
            let escaped = line.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
            assert!(page.contains(&escaped), "{escaped} is not in {page}");
        }
    }
}

/// What stands in the rows of saved cells between the time and the speedup.
fn sizes(history: &History) -> Vec<Vec<String>> {
    let text = report::history(history, true, "/runs", styled(400));
    let rows = text.lines().filter(|it| it.trim_start().starts_with("2026"));
    let cells =
        |row: &str| row.trim().split("  ").map(|it| it.trim().to_string()).filter(|it| !it.is_empty()).collect();
    rows.map(cells).map(|row: Vec<String>| row[3..row.len() - 1].to_vec()).collect()
}

#[test]
fn what_passes_of_a_cell_differ_in_over_time_by_a_runs_own_choice_has_a_column() {
    assert_eq!(sizes(&over_time("lab")), [[""; 0]; 2]);
    let with = |change: &dyn Fn(&mut schema::Condition)| {
        let mut history = over_time("lab");
        change(&mut history.cells[1].under);
        assert!(history.cells[0].continues(&history.cells[1]), "one series");
        sizes(&history)
    };
    assert_eq!(with(&|it| it.range.bytes /= 4), [["1 GiB"], ["256 MiB"]]);
    assert_eq!(with(&|it| it.ops /= 4), [["262,144"], ["65,536"]]);
    let both = with(&|it| (it.range.bytes, it.ops) = (it.range.bytes / 4, it.ops / 4));
    assert_eq!(both, [["1 GiB", "262,144"], ["256 MiB", "65,536"]]);
    // What the arm does counts, and not what its condition says.
    let mut history = over_time("lab");
    for (at, cell) in history.cells.iter_mut().enumerate() {
        let range = schema::Span { offset: 0, bytes: (1 << 20) << at };
        cell.own_condition = Some(schema::Condition { range, ..cell.under.clone() });
    }
    assert_eq!(sizes(&history), [["1 MiB"], ["2 MiB"]]);
}

#[test]
fn a_saved_cell_with_a_block_of_its_own_is_called_by_that_block() {
    let mut history = over_time("lab");
    for cell in &mut history.cells {
        cell.own_condition = Some(schema::Condition { block_bytes: 65_536, ..cell.under.clone() });
    }
    let text = report::history(&history, true, "/runs", styled(140));
    assert!(text.contains("native/mmap · scan 4 KiB cached, 64 KiB instead of 4 KiB"), "{text}");
}

#[test]
fn a_cell_of_a_record_that_was_made_elsewhere_says_so() {
    let mut history = over_time("lab");
    history.cells[1].on.origin = schema::machine::Origin::Imported;
    let text = report::history(&history, true, "/home/me/runs", styled(140));
    assert!(text.contains("lab, imported"), "{text}");
    // Which of them lie in the folder.
    history.runs[0].on.origin = schema::machine::Origin::Imported;
    let text = report::history(&history, false, "/home/me/runs", styled(140));
    assert!(text.contains(", of which 1 is imported; own ones are in /home/me/runs"), "{text}");
}

#[test]
fn cells_of_two_machines_are_two_series_whatever_the_machines_are_called() {
    let mut history = over_time("lab");
    for (cell, key) in history.cells.iter_mut().zip(["0123456789abcdef", "fedcba9876543210"]) {
        (cell.on.key, cell.on.hardware) = (Some(key.into()), Some("0011".into()));
    }
    let text = report::history(&history, true, "/home/me/runs", styled(200));
    assert_eq!(text.matches(" 1.00x").count(), 2, "each is the oldest of its machine: {text}");
    assert!(text.contains("0123456789abcdef") && text.contains("fedcba9876543210"), "{text}");
}

#[test]
fn cells_of_one_path_on_two_file_systems_are_two_series_that_say_on_which_they_are() {
    let mut history = over_time("lab");
    history.cells[1].place = Place { file_system: "tmpfs".into(), device: None, read_ahead_bytes: None };
    let text = report::history(&history, true, "/home/me/runs", styled(200));
    assert_eq!(text.matches(" 1.00x").count(), 2, "each is the oldest on its file system: {text}");
    assert!(text.contains("on ext4") && text.contains("on tmpfs"), "{text}");
}
