//! A run of commands, as people see it first: letters, verdict, what differs besides reading, how each reads, its share.

use expect_test::expect_file;
use report::Style;
use schema::{
    Condition, Reading, Skip, State, Workload,
    command::Spec,
    explanation::Count,
    findings::{CommandFinding, CommandTime, Confounder, ConfounderKind, MapLine, Verdict},
    line::LineAnswer,
    observation::{
        Access, AccessDifference, Likeness, MappingCount, Means, MechanismComparison, MechanismFinding, Observation,
        Observed, UnknownLikeness,
    },
    record::Resident,
};
use unicode_width::UnicodeWidthStr;

use crate::{
    SAVED, check_widths, squeezed,
    support::{Run, condition, counted, estimate, line_says, run, wins},
    terminal,
};

const LINES: [&str; 2] = ["rg --mmap -c needle big.log", "rg --no-mmap -c needle big.log"];

/// Two commands, cached and cold: one maps and one reads; cached the first one is faster.
fn commands(lines: [&str; 2], names: [Option<&str>; 2]) -> Run {
    let mut all = run();
    let (template, line) = (all.findings.cells[0].clone(), all.findings.map[0].clone());
    let (cell, comparison) = (all.record.cells[0].clone(), all.findings.comparisons[0].clone());
    (all.record.conditions, all.record.cells, all.record.samples) = (vec![], vec![], vec![]);
    let findings = &mut all.findings;
    (findings.cells, findings.comparisons, findings.map, findings.crossovers) = (vec![], vec![], vec![], vec![]);
    (findings.warnings, findings.claims, findings.figures, findings.costs) = (vec![], vec![], vec![], None);
    findings.answer = Default::default();
    all.record.experiment.title = "Commands side by side".into();
    let arms = [0, 1].map(|at| {
        Spec {
            line: lines[at].into(),
            name: names[at].unwrap_or(lines[at]).into(),
            shell: Some("/bin/sh".into()),
            prepare: None,
            cleanup: None,
            timeout_s: 50,
            compared: schema::command::Compared::Output,
        }
        .arm()
    });
    for (index, (state, times)) in
        [(State::Cold, [846e6, 868e6]), (State::Cached, [190e6, 297e6])].into_iter().enumerate()
    {
        let condition = schema::Condition { ops: 1, ..condition(Workload::Command, 1, state) };
        all.record.conditions.push(condition.clone());
        for (at, arm) in arms.iter().enumerate() {
            all.record.cells.push(schema::record::Cell {
                arm: arm.clone(),
                condition: index,
                baseline: at == 0,
                control: false,
                ..cell.clone()
            });
            let id = all.record.cell_id(all.record.cells.len() - 1).unwrap();
            all.findings.cells.push(schema::findings::CellFinding {
                id,
                arm: arm.clone(),
                condition: condition.clone(),
                control: false,
                ns_per_op: Some(estimate(times[at], 0.02)),
                ..template.clone()
            });
            all.findings.commands.push(CommandFinding {
                id,
                arm: arm.name.clone(),
                condition: condition.clone(),
                says: String::new(),
                memory: None,
                time: Reading::Value(CommandTime {
                    threads_at_once: 1,
                    threads_seen: true,
                    user_share: 0.36,
                    system_share: 0.61,
                    waited_share: Reading::Value(0.03),
                    device_busy_share: Reading::unavailable("not looked at"),
                    reading_at_most: if state == State::Cold { 1.0 } else { [0.52, 0.68][at] },
                    faster_at_most: (state == State::Cached).then(|| [2.08, 3.12][at]),
                    own_work_of: arms[0].name.clone(),
                }),
                confounders: vec![],
                amplification: Reading::unavailable("not looked at"),
                cgroup_limit_bytes: Reading::unavailable("not looked at"),
                cgroup_memory_bytes: Reading::unavailable("not looked at"),
                cgroup_peak_bytes: Reading::unavailable("not looked at"),
                cgroup_file_bytes: Reading::unavailable("not looked at"),
                cgroup_anonymous_bytes: Reading::unavailable("not looked at"),
            });
        }
        let (first, second) = (all.record.cells.len() - 2, all.record.cells.len() - 1);
        let cold = state == State::Cold;
        let faults = |faults: f64| Count::MinorFaults { faults, bytes_each: None };
        let explanation = counted(["A", "B"], [1227.0, 464.0].map(faults));
        all.findings.comparisons.push(schema::findings::Comparison {
            id: all.record.cell_id(second).unwrap(),
            baseline_cell: first,
            condition: condition.clone(),
            baseline: arms[0].name.clone(),
            arm: arms[1].name.clone(),
            speedup: Some(if cold { estimate(0.94, 0.06) } else { estimate(0.64, 0.02) }),
            verdict: if cold { Verdict::Undecided } else { Verdict::Slower },
            ..comparison.clone()
        });
        all.findings.map.push(MapLine {
            id: all.record.condition_id(index),
            condition: condition.clone(),
            winner: (!cold).then(|| arms[0].name.clone()),
            winner_cell: (!cold).then_some(first),
            next_cell: (!cold).then_some(second),
            compared_cells: vec![second],
            margin: None,
            verdict: if cold { Verdict::Undecided } else { Verdict::Faster },
            says: line_says(if cold { LineAnswer::Undecided { reason: None } } else { wins("A", "B", 1.6) }),
            explanation: (!cold).then_some(explanation),
            ..line.clone()
        });
    }
    let mut maps = Access { opens: 1, ..Access::default() };
    maps.count_mapping(&MappingCount { shared: true, count: 1, bytes: 1 << 30, ..MappingCount::default() });
    let mut reads = Access { opens: 1, ..Access::default() };
    (0..16_384).for_each(|_| reads.count_call("read", 65_536, 65_536, true));
    for (at, (arm, named)) in arms.iter().zip([maps, reads]).enumerate() {
        all.record.observations.push(Observed { arm: arm.name.clone(), seen: Reading::Value(observed(named.clone())) });
        all.findings.mechanisms.push(MechanismFinding {
            arm: arm.name.clone(),
            cells: vec![],
            says: String::new(),
            access: Some(named),
            versus: (at == 1).then(|| MechanismComparison {
                baseline: arms[0].name.clone(),
                likeness: Likeness::Different,
                says: String::new(),
                differences: vec![AccessDifference::Kind],
                unknown: None,
            }),
        });
    }
    all
}

fn observed(named: Access) -> Observation {
    Observation {
        by: Means::Ptrace,
        processes: 1,
        threads: 1,
        readers_at_once: Some(1),
        named_opened: 1,
        named,
        files: Vec::new(),
        files_left_out: 0,
        rings: 0,
        runtimes: Vec::new(),
        expired: false,
        incomplete: Vec::new(),
        remarks: Vec::new(),
    }
}

fn with_threads(mut run: Run) -> Run {
    for at in [1, 3] {
        run.findings.commands[at].confounders = vec![
            Confounder {
                versus: run.findings.commands[0].arm.clone(),
                versus_cell: at - 1,
                what: ConfounderKind::ThreadsAtWork,
                own: 1.91,
                other: 1.0,
            },
            Confounder {
                versus: run.findings.commands[0].arm.clone(),
                versus_cell: at - 1,
                what: ConfounderKind::UserTime,
                own: if at == 1 { 40e6 } else { 41e6 },
                other: 12e6,
            },
        ];
    }
    run
}

fn first(run: &Run, width: usize) -> String {
    report::terminal(&run.record, &run.findings, Style { width, colour: false, details: false }, Some(SAVED))
}

#[test]
fn the_first_screen_of_commands_reads_well_at_every_usual_width() {
    let run = with_threads(commands(LINES, [None, None]));
    expect_file!["../snapshots/commands-40.txt"].assert_eq(&first(&run, 40));
    expect_file!["../snapshots/commands-80.txt"].assert_eq(&first(&run, 80));
    expect_file!["../snapshots/commands-120.txt"].assert_eq(&first(&run, 120));
    expect_file!["../snapshots/commands.md"].assert_eq(&report::markdown(&run.record, &run.findings));
    check_widths(&run);
}

#[test]
fn outputs_that_differ_by_a_byte_are_not_shown_as_the_same_size() {
    let mut run = with_threads(commands(LINES, [None, None]));
    let of = |own: f64, other: f64| Confounder {
        versus: run.findings.commands[0].arm.clone(),
        versus_cell: 0,
        what: ConfounderKind::OutputBytes,
        own,
        other,
    };
    let (near, far) = (of(3_145_729.0, 3_145_730.0), of(3_145_729.0, 36.0));
    run.findings.commands[1].confounders = vec![near];
    let text = squeezed(&first(&run, 400));
    assert!(text.contains("output: A 3,145,730 B, B 3,145,729 B"), "{text}");
    run.findings.commands[1].confounders = vec![far];
    let text = squeezed(&first(&run, 400));
    assert!(text.contains("output: A 36 B, B 3.00 MiB"), "{text}");
}

#[test]
fn tables_of_commands_and_of_replays_have_a_legend_for_each() {
    let legends = |run: &Run| {
        let text = report::markdown(&run.record, &run.findings);
        ["Per execution of a command", "Per op:"].map(|it| text.contains(it))
    };
    let mut run = commands(["cat a", "grep x a"], [None, None]);
    assert_eq!(legends(&run), [true, false]);
    run.record.conditions.push(Condition { workload: Workload::Replay, ..Condition::plain(4096) });
    assert_eq!(legends(&run), [true, true]);
    assert_eq!(legends(&crate::support::run()), [false, true]);
}

#[test]
fn a_command_line_stands_once_and_elsewhere_its_letter_or_its_name() {
    for (names, called) in [([None, None], ["A", "B"]), ([Some("by map"), Some("by call")], ["by map", "by call"])] {
        let run = commands(LINES, names);
        let html = report::html(&run.record, &run.findings);
        let page = html.split("id=\"again\"").next().unwrap();
        for text in [squeezed(&terminal(&run, 100)), report::markdown(&run.record, &run.findings), page.to_string()] {
            for (line, called) in LINES.iter().zip(called) {
                assert_eq!(text.matches(line).count(), 1, "{text}");
                assert!(text.matches(called).count() > 3, "{text}");
            }
        }
    }
}

#[test]
fn the_verdict_comes_first_then_what_else_differs_then_how_they_read_then_the_share() {
    let run = with_threads(commands(LINES, [None, None]));
    let html = report::html(&run.record, &run.findings);
    for text in [first(&run, 100), report::markdown(&run.record, &run.findings), html] {
        let text = squeezed(&text);
        let places = ["rg --no-mmap", "is 1.56x [1.53, 1.59] faster than", "1.91", "maps 1 GiB, shared", "68 %"];
        let places: Vec<usize> =
            places.iter().map(|it| text.find(it).unwrap_or_else(|| panic!("{it}: {text}"))).collect();
        assert!(places.is_sorted(), "{places:?} {text}");
    }
}

#[test]
fn what_was_found_of_a_file_is_part_of_the_start_on_every_first_screen() {
    let mut run = commands(LINES, [None, None]);
    let as_found = |it: &mut schema::Condition| it.state = State::AsFound;
    as_found(&mut run.record.conditions[0]);
    as_found(&mut run.findings.map[0].condition);
    run.findings.found = Some(Resident { pages: 410, of: 1000 });
    let screens = [
        first(&run, 100),
        report::markdown(&run.record, &run.findings),
        report::html(&run.record, &run.findings).split("id=\"again\"").next().unwrap().to_string(),
    ];
    for screen in screens.map(|it| squeezed(&it)) {
        assert_eq!(screen.matches("41 % of it in the page cache").count(), 1, "{screen}");
    }
    check_widths(&run);
}

#[test]
fn what_a_fault_means_to_a_runtime_is_said_where_a_command_maps_a_named_file() {
    use schema::mapped_runtime::MappedRuntime;
    let of = |runtimes: [&[MappedRuntime]; 2]| {
        let mut run = commands(LINES, [None, None]);
        for (it, runtimes) in run.record.observations.iter_mut().zip(runtimes) {
            let Reading::Value(seen) = &mut it.seen else { unreachable!() };
            seen.runtimes = runtimes.into();
        }
        check_widths(&run);
        squeezed(&first(&run, 100))
    };
    use MappedRuntime::{Cpython, Go};
    // A maps the file, B reads it.
    let both = of([&[Cpython, Go], &[Go]]);
    assert!(both.contains("Runtime A: CPython; Python code that touches a mapping holds the GIL"), "{both}");
    assert!(both.contains("A and B: Go; a goroutine that takes a page fault keeps its P"), "{both}");
    let reads = of([&[], &[Cpython]]);
    assert!(reads.contains("Runtime B: CPython Reading takes"), "{reads}");
    assert!(!of([&[], &[]]).contains("Runtime"));
}

#[test]
fn the_fastest_is_named_only_where_all_were_compared() {
    // Beside these two and a third there may be one more.
    let of_others = |fourth: bool, change: &dyn Fn(&mut schema::findings::Comparison, &mut schema::record::Cell)| {
        let mut run = commands(LINES, [None, None]);
        let arm = Spec {
            line: "wc big.log".into(),
            name: "wc".into(),
            shell: None,
            prepare: None,
            cleanup: None,
            timeout_s: 50,
            compared: schema::command::Compared::Output,
        };
        let second = run.findings.comparisons[1].clone();
        let others = if fourth { 2 } else { 1 };
        for at in 1..=others {
            let arm = Spec { name: format!("wc {at}"), ..arm.clone() }.arm();
            let mut cell = schema::record::Cell { arm: arm.clone(), ..run.record.cells[3].clone() };
            run.record.cells.push(cell.clone());
            let at_end = run.record.cells.len() - 1;
            let id = run.record.cell_id(at_end).unwrap();
            let mut compared = schema::findings::Comparison { id, arm: arm.name, ..second.clone() };
            if at == others {
                change(&mut compared, &mut cell);
            }
            run.record.cells[at_end] = cell;
            run.findings.comparisons.push(compared);
        }
        first(&run, 100).contains("is the fastest")
    };
    assert!(of_others(false, &|_, _| ()) && of_others(true, &|_, _| ()));
    for fourth in [false, true] {
        assert!(!of_others(fourth, &|it, _| it.verdict = Verdict::NotComparable));
        assert!(!of_others(fourth, &|it, _| it.speedup = None));
        let failed = |it: &mut schema::findings::Comparison, cell: &mut schema::record::Cell| {
            (it.speedup, it.verdict) = (None, Verdict::Undecided);
            cell.skipped = Some(Skip::Failed("exited with status 3".into()));
        };
        assert!(!of_others(fourth, &failed), "a command that failed in its trial may be the fastest");
    }
}

#[test]
fn of_a_command_line_nothing_is_left_out() {
    let long = format!("grep -F '{}'  big.log", "needle ".repeat(570));
    let run = commands([&long, LINES[1]], [None, None]);
    for width in [40, 80, 120] {
        let text = first(&run, width);
        assert!(text.lines().all(|line| line.width() <= width));
        assert!(!text.contains('…') && !text.contains("left out"));
        assert_eq!(text.matches("needle").count(), 571, "{text}");
        assert!(squeezed(&text).contains("A is 1.56x"));
    }
    let shown = |text: &str| text.contains(&long) || text.contains(&long.replace('\'', "&#39;"));
    assert!(shown(&report::markdown(&run.record, &run.findings)));
    assert!(shown(&report::html(&run.record, &run.findings)));
}

#[test]
fn an_execution_is_one_operation_of_unknown_bytes_in_the_csv() {
    let mut run = commands(LINES, [None, None]);
    run.record.samples = super::support::run().record.samples[..1].to_vec();
    run.record.samples[0].cell = 0;
    let schema::record::Outcome::Ok { tally, .. } = &mut run.record.samples[0].outcome else { panic!() };
    (tally.ops, tally.bytes) = (1, 0);
    let csv = report::csv(&run.record);
    let rows: Vec<Vec<&str>> = csv.lines().map(|it| it.split(',').collect()).collect();
    // From the end: a command line may have commas.
    let of = |name: &str| {
        let back = rows[0].iter().rev().position(|it| *it == name).unwrap();
        rows[1][rows[1].len() - 1 - back]
    };
    assert_eq!((of("done_ops"), of("done_bytes"), of("done_distinct_bytes")), ("1", "", ""));
}

#[test]
fn blanks_of_a_command_line_stay_as_many_as_they_are() {
    let run = commands(["grep  'a   b' f", LINES[1]], [None, None]);
    assert!(first(&run, 80).contains("grep  'a   b' f"));
}

#[test]
fn names_and_command_lines_cannot_move_a_cursor_or_become_markup() {
    let evil = "x\u{1b}[2J\u{202e}`` <script> | **b**";
    let run = with_threads(commands([evil, LINES[1]], [Some(evil), Some("\n# h")]));
    let markdown = report::markdown(&run.record, &run.findings);
    for text in [first(&run, 80), first(&run, 40), markdown.clone()] {
        assert!(text.contains("\\u{1b}[2J"), "{text}");
        assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
    }
    assert!(markdown.contains("```x\\u{1b}[2J\\u{202e}`` <script> | **b**```"), "{markdown}");
    assert!(!report::html(&run.record, &run.findings).contains("<script"));
    check_widths(&run);
}

#[test]
fn a_command_that_was_not_measured_has_its_reason_and_the_other_one_is_no_news() {
    let mut run = commands(LINES, [None, None]);
    for (at, cell) in run.record.cells.iter_mut().enumerate() {
        cell.skipped = Some(match at % 2 {
            0 => Skip::NothingToCompare,
            _ => Skip::Failed("exited with status 3: too bad".into()),
        });
    }
    (run.findings.comparisons, run.findings.commands) = (vec![], vec![]);
    run.findings.map.iter_mut().for_each(|it| (it.verdict, it.winner) = (Verdict::Undecided, None));
    let text = squeezed(&first(&run, 80));
    assert!(text.contains("Not measured B: exited with status 3: too bad"), "{text}");
    assert!(!text.contains("Not measured A:"), "{text}");
    assert!(text.find(LINES[1]) < text.find("Not measured"));
}

#[test]
fn a_tie_says_by_how_much_its_commands_may_differ() {
    let mut run = commands(LINES, [None, None]);
    for it in &mut run.findings.comparisons {
        (it.verdict, it.speedup) = (Verdict::Same, Some(estimate(1.04, 0.01)));
    }
    let text = squeezed(&first(&run, 80));
    assert!(text.contains("no difference of over 5 % between B and A, 1.04x"), "{text}");
}

#[test]
fn a_reason_that_commands_have_in_common_is_said_once_and_has_letters_for_command_lines() {
    let mut run = commands(LINES, [None, None]);
    for (at, cell) in run.record.cells.iter_mut().enumerate() {
        cell.skipped = (at < 2).then(|| Skip::Impossible("it cannot be verified as cold".into()));
    }
    run.record.cells[3].skipped = Some(Skip::Failed(format!("{:?} ended with status 3", LINES[1])));
    let text = squeezed(&first(&run, 80));
    assert!(text.contains("A and B (cold): it cannot be verified as cold"), "{text}");
    assert!(text.contains("B (cached): B ended with status 3"), "{text}");
}

#[test]
fn a_command_that_reads_nothing_has_no_share_of_reading_and_the_verdict_says_so() {
    let mut run = commands(LINES, [None, None]);
    run.findings.mechanisms[1].access = Some(Access::default());
    let text = squeezed(&first(&run, 80));
    assert!(
        text.contains("Reading takes") && text.contains("up to 52 % of A") && !text.contains("68 % of B"),
        "{text}"
    );
    assert_eq!(text.matches("but B was not seen to read or map a named file").count(), 2, "from each start: {text}");
    let document: schema::findings::Document =
        serde_json::from_str(&report::json(&run.record, &run.findings, None)).unwrap();
    assert!(!document.findings.commands[3].says.contains("reading takes at most"));
    assert!(document.findings.commands[2].says.contains("reading takes at most"));
    // What was not watched whole may have read.
    for seen in [|it: &mut Observation| it.rings = 1, |it: &mut Observation| it.incomplete = vec!["lost".into()]] {
        let mut run = commands(LINES, [None, None]);
        run.findings.mechanisms[1].access = Some(Access::default());
        let Reading::Value(observation) = &mut run.record.observations[1].seen else { panic!() };
        seen(observation);
        assert!(squeezed(&first(&run, 80)).contains("68 % of B"));
    }
}

#[test]
fn commands_that_did_other_work_are_each_bounded_by_their_own_user_time() {
    let mut run = commands(LINES, [None, None]);
    let names: Vec<String> = run.findings.commands.iter().map(|it| it.arm.clone()).collect();
    for (it, own) in run.findings.commands.iter_mut().zip(names) {
        let Reading::Value(time) = &mut it.time else { panic!() };
        time.own_work_of = own;
    }
    let text = squeezed(&first(&run, 80));
    assert!(
        text.contains("52 % of A: all but the user time of A; up to 68 % of B: all but the user time of B"),
        "{text}"
    );
}

#[test]
fn a_switch_that_does_nothing_is_said_to_do_nothing() {
    let mut run = commands(LINES, [None, None]);
    let access = run.findings.mechanisms[0].access.clone();
    run.findings.mechanisms[1].access = access;
    let versus = run.findings.mechanisms[1].versus.as_mut().unwrap();
    (versus.likeness, versus.differences) = (Likeness::Identical, vec![]);
    let text = squeezed(&first(&run, 80));
    assert!(
        text.contains("A and B read alike: each maps 1 GiB, shared; where in it each reads was not compared"),
        "{text}"
    );
    // Of reads in order, all is known.
    let mut reads = Access { opens: 1, ..Access::default() };
    (0..1024).for_each(|_| reads.count_call("read", 65_536, 65_536, true));
    run.findings.mechanisms.iter_mut().for_each(|it| it.access = Some(reads.clone()));
    let text = squeezed(&first(&run, 80));
    assert!(text.contains("sequential; a difference in time has another cause"), "{text}");
    // A third more of the same.
    (0..350).for_each(|_| reads.count_call("read", 65_536, 65_536, true));
    run.findings.mechanisms[1].access = Some(reads);
    let text = squeezed(&first(&run, 80));
    assert!(text.contains("A reads 64 MiB: ") && text.contains("B reads 86 MiB: "), "{text}");
    assert!(text.contains("one of them does more of it") && !text.contains("another cause"), "{text}");
}

#[test]
fn the_json_document_has_the_words_that_it_always_had() {
    let mut run = commands(LINES, [None, None]);
    let says = |run: &Run| -> (String, String, String) {
        let text = report::json(&run.record, &run.findings, None);
        let findings = serde_json::from_str::<schema::findings::Document>(&text).unwrap().findings;
        let versus = findings.mechanisms[1].versus.clone().unwrap();
        (findings.commands[3].says.clone(), findings.mechanisms[1].says.clone(), versus.says)
    };
    let (time, reads, versus) = says(&run);
    assert!(time.contains("reading takes at most 68 % of its time, by the user time of A"), "{time}");
    assert!(time.contains("makes it at most 3.2x faster"), "{time}");
    assert!(reads.starts_with("reads 1 GiB: 16,384 × read of 64 KiB, sequential"), "{reads}");
    assert_eq!(
        versus,
        "different in mechanism: A maps 1 GiB, shared; B reads 1 GiB: 16,384 × read of 64 KiB, sequential"
    );
    let arm = run.findings.mechanisms[1].arm.clone();
    let comparison = run.findings.mechanisms[1].versus.as_mut().unwrap();
    (comparison.likeness, comparison.differences) = (Likeness::Unknown, vec![]);
    comparison.unknown = Some(UnknownLikeness::Ring { arm });
    assert!(says(&run).2.contains("B: reads through its ring"), "{}", says(&run).2);
}

#[test]
fn what_is_said_of_a_command_after_two_fills_says_after_which() {
    let mut run = commands(LINES, [None, None]);
    for (at, fill) in [None, Some(schema::Fill::Random)].into_iter().enumerate() {
        let filled = schema::Condition { state: State::Cached, fill, ..run.record.conditions[at].clone() };
        run.record.conditions[at] = filled.clone();
        let here = |id: schema::ConditionId| id.condition_index == at;
        run.findings.map.iter_mut().filter(|it| here(it.id)).for_each(|it| it.condition = filled.clone());
        for it in run.findings.commands.iter_mut().filter(|it| here(it.id.condition)) {
            it.condition = filled.clone();
            it.cgroup_limit_bytes = Reading::Value(1e9);
            it.cgroup_memory_bytes = Reading::Value(1e8);
        }
    }
    // Both fills gave the same.
    run.findings.commands[2].time = run.findings.commands[0].time.clone();
    let text = report::json(&run.record, &run.findings, None);
    let found = serde_json::from_str::<schema::findings::Document>(&text).unwrap().findings.commands;
    assert!(found[0].says.starts_with("A, cached, fill sequential: ") || found[0].says.starts_with("A, cached: "));
    assert!(found[2].says.starts_with("A, cached, fill random: "), "{}", found[2].says);
    assert!(found[2].memory.as_ref().unwrap().starts_with("A, cached, fill random: "), "{:?}", found[2].memory);
    let text = squeezed(&terminal(&run, 120));
    assert_eq!(text.matches("A, cached, fill random: ").count(), 2, "its time and its memory: {text}");
}
