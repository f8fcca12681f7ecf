//! Reports of a run made up by hand, as people see them.

mod advice;
mod answer;
mod commands;
mod costs;
mod page;
mod several;
mod support;

use std::collections::BTreeSet;

use expect_test::{expect, expect_file};
use report::Style;
use schema::{
    Findings, Record, Skip, State,
    beats::{Beats, Lateness},
    claims::{LaterRun, Ledger, LedgerEntry},
    explanation::Count,
    findings::{
        BeatControl, BeatFinding, BeatLateness, BeatPoint, BeatSays, Document, SafepointTail, SafepointsSeen, StallArm,
        StallFinding, StallSays, Status, Verdict,
    },
    line::LineAnswer,
    machine::{MadeOn, Origin},
    plan::{PlannedCell, PlannedCondition, PlannedRun},
    reason::{Reason, Unseen},
    record::{Files, NamedPath, Outcome, Reading, RoundsEnd},
    warning::Warning,
};
use serde_json::Value;
use support::{Run, line_says, run, study};
use unicode_width::UnicodeWidthStr;

const SAVED: &str = "/home/me/.local/share/faultline/runs/20261120T225104Z-3f9a.json";

fn terminal(run: &Run, width: usize) -> String {
    report::terminal(&run.record, &run.findings, Style { width, ..Style::default() }, Some(SAVED))
}

fn overview(run: &Run) -> String {
    report::terminal(&run.record, &run.findings, Style { width: 80, colour: false, details: false }, None)
}

/// Each run of white space as one space, so that line breaks do not matter.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[test]
fn names_and_what_they_mean_stand_apart_at_every_width() {
    let entries =
        [("mmap", "a mapping of the whole file"), ("  advice", "normal"), ("uring+queue_depth=64+direct", "x")]
            .map(|(name, about)| (name.to_string(), about.to_string()));
    for width in 40..120 {
        let text = report::listing(&entries, Some(width));
        assert!(text.lines().all(|it| it.width() <= width), "{width}: {text}");
        assert!(text.contains("\n  advice"), "{width}: {text}");
    }
    assert_eq!(
        report::listing(&entries, None),
        "mmap                         a mapping of the whole file\n  advice                     normal\n\
         uring+queue_depth=64+direct  x\n"
    );
}

#[test]
fn no_reason_is_cut() {
    for width in [40, 60, 80, 120] {
        let text = terminal(&run(), width);
        assert!(!text.contains('…'), "{width}: {text}");
    }
}

fn check_widths(run: &Run) {
    for width in 40..200 {
        for line in terminal(run, width).lines() {
            assert!(line.width() <= width, "{width}: {line:?} is {} wide", line.width());
            assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn passes_too_short_for_ticks_are_one_missing_reading() {
    let mut run = run();
    let ok = run.findings.cells.iter_mut().filter(|it| it.status == Status::Ok);
    for (at, cell) in ok.take(3).enumerate() {
        let few = Unseen::FewTicks { cpu_ns: [1_400_000, 8_900_000, 3_000_000][at], tick_ns: 4_000_000, threads: 1 };
        cell.system_ns_per_op = Reading::unavailable(few);
    }
    let text = report::markdown(&run.record, &run.findings);
    let missing: Vec<&str> = text.lines().filter(|it| it.starts_with("* sys/op: a pass takes")).collect();
    let [only] = missing[..] else { panic!("{missing:#?}") };
    assert!(only.contains("1.40 ms to 8.90 ms") && only.ends_with("(3 cells)"), "{only}");
}

#[test]
fn the_report_reads_well_at_every_usual_width() {
    let run = run();
    expect_file!["snapshots/terminal-60.txt"].assert_eq(&terminal(&run, 60));
    expect_file!["snapshots/terminal-80.txt"].assert_eq(&terminal(&run, 80));
    expect_file!["snapshots/terminal-100.txt"].assert_eq(&terminal(&run, 100));
    expect_file!["snapshots/terminal-140.txt"].assert_eq(&terminal(&run, 140));
}

#[test]
fn each_number_of_the_ceiling_says_how_it_was_measured() {
    let mut run = run();
    let Reading::Value(ceiling) = &mut run.record.ceiling else { panic!("the made-up run has a ceiling") };
    ceiling.random_how = Some("direct random, 4 KiB requests, 32 in flight".into());
    let text = squeezed(&terminal(&run, 140));
    let scan = "2.00 GiB/s (O_DIRECT, 1 MiB requests, 32 in flight)";
    let random = "48,211 random 4 KiB reads/s (direct random, 4 KiB requests, 32 in flight)";
    assert!(text.contains(&format!("{scan}; {random}")), "{text}");
}

#[test]
fn no_line_is_wider_than_the_page() {
    check_widths(&run());
    check_widths(&hostile("日本語の長い名前+日本語の長い名前/日本語の長い名前"));
}

#[test]
fn no_width_loses_or_cuts_a_number() {
    let run = run();
    // What stands in the tables and the margins; sentences may be cut in the map, and are whole in the details.
    let glued = |text: String| -> BTreeSet<String> {
        let mut numbers = BTreeSet::new();
        let words: Vec<&str> = text.split_whitespace().collect();
        for three in words.windows(3) {
            if three[0].ends_with('x') && three[1].starts_with('[') && three[2].ends_with(']') {
                numbers.insert(three.join(" "));
            }
            if matches!(three[1], "ns" | "µs" | "GiB/s" | "MiB/s" | "MiB") {
                numbers.insert(three[..2].join(" "));
            }
        }
        numbers
    };
    let all = glued(terminal(&run, 400));
    assert!(all.contains("1.52x [1.49, 1.55]") && all.contains("86.9 µs") && all.contains("719 MiB/s"), "{all:?}");
    for width in 40..200 {
        let text = terminal(&run, width);
        let here: BTreeSet<String> = text.lines().flat_map(|line| glued(line.to_string() + " .")).collect();
        let lost: Vec<&String> = all.difference(&here).collect();
        assert!(lost.is_empty(), "{width}: {lost:?}\n{text}");
    }
}

#[test]
fn the_answer_comes_first_and_can_be_had_alone() {
    let text = overview(&run());
    assert!(text.lines().count() <= 40, "{}", text.lines().count());
    let places = ["Cold ", "Cached ", "Mapped ", "cached  ", "Trust: ", "More: "].map(|it| text.find(it));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{text}");
    assert!(!text.contains("Details") && !text.contains("Environment"));
    // Where it is not saved it cannot be shown again.
    assert!(!text.contains("faultline report"), "{text}");
}

#[test]
fn the_matrix_says_where_its_random_reads_are_of_a_part_of_the_file() {
    let mut run = run();
    let says = |run: &Run| squeezed(&terminal(run, 100)).contains("within 256 MiB of the file's 1 GiB");
    assert!(!says(&run));
    // They lie more densely there than as many would in the file.
    let cut = |it: &mut schema::Condition| it.range.bytes = 256 << 20;
    run.record.conditions.iter_mut().filter(|it| it.workload == schema::Workload::Random).for_each(cut);
    let lines = run.findings.map.iter_mut().filter(|it| it.condition.workload == schema::Workload::Random);
    lines.for_each(|it| cut(&mut it.condition));
    assert!(says(&run), "{}", terminal(&run, 100));
}

#[test]
fn no_answer_takes_the_place_of_another_in_the_matrix() {
    let mut run = run();
    // Equal conditions of two comparisons. The name of one is what is left out of the name of a start: the usual fill.
    let compare =
        "[[compare]]\narms = [\"read\", \"mmap\"]\nworkload = \"scan\"\nblock = \"64 KiB\"\nstate = \"cached\"\n";
    let text = format!("title = \"x\"\n{compare}name = \"fill sequential\"\n{compare}");
    run.record.experiment.comparisons = schema::Experiment::parse("x", &text).unwrap().comparisons;
    run.record.origins = vec![1; run.record.conditions.len()];
    run.record.origins[0] = 0;
    let condition = schema::Condition { state: State::Cached, ..run.record.conditions[0].clone() };
    for index in [0, 1] {
        run.record.conditions[index] = condition.clone();
        let line = run.findings.map.iter_mut().find(|it| it.id.condition_index == index).unwrap();
        line.condition = condition.clone();
    }
    let text = overview(&run);
    let of_start = || text.lines().filter(|it| it.starts_with("cached"));
    assert_eq!(of_start().filter(|it| it.contains("direct 1.5x")).count(), 1, "{text}");
    assert_eq!(of_start().filter(|it| it.contains('?')).count(), 1, "{text}");
}

#[test]
fn colour_adds_nothing_but_colour() {
    let run = run();
    let coloured =
        report::terminal(&run.record, &run.findings, Style { width: 80, colour: true, details: true }, Some(SAVED));
    assert!(coloured.contains("\u{1b}[1m\u{1b}[32mdirect\u{1b}[0m"), "{coloured}");
    let mut plain = String::new();
    for (i, part) in coloured.split("\u{1b}[").enumerate() {
        plain.push_str(if i == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    // A line that ends in colour keeps the padding before the colour's end; there is none.
    assert_eq!(plain, terminal(&run, 80));
}

#[test]
fn a_run_that_was_interrupted_says_so_at_the_top() {
    let mut run = run();
    run.record.partial = Some("interrupted by the user (SIGINT)".into());
    let text = overview(&run);
    let top: Vec<&str> = text.lines().take(6).collect();
    expect![[r#"
        /data/index/segments.bin · 1 GiB · ext4 on vda · Linux 6.18.5
        Survey: which way to reach this file, from which start? 60 passes in 58.2 s,
        run 20261120T225104Z-3f9a

        Interrupted:  interrupted by the user (SIGINT). The results use the 54 passes
                      made until then."#]]
    .assert_eq(&top.join("\n"));
    assert!(report::markdown(&run.record, &run.findings).contains("> **Interrupted:** interrupted by the user"));
    check_widths(&run);
    let is_valid = |it: &&schema::record::Sample| matches!(it.outcome, Outcome::Ok { .. });
    assert_eq!(run.record.samples.iter().filter(is_valid).count(), 54, "what failed or is invalid is not used");
}

/// Every comparison and every line of the map has this verdict.
fn judge(run: &mut Run, verdict: Verdict) {
    run.findings.comparisons.iter_mut().for_each(|it| it.verdict = verdict);
    run.findings.map.iter_mut().for_each(|it| it.verdict = verdict);
}

/// What stands behind "Nothing decided:".
fn nothing_decided(run: &Run) -> String {
    behind("Nothing decided:", run)
}

fn behind(label: &str, run: &Run) -> String {
    let text = squeezed(&overview(run));
    let after = text.split(label).nth(1).unwrap_or_else(|| panic!("{text}"));
    after.split(" cold no page").next().unwrap().to_string()
}

#[test]
fn advice_names_the_conditions_that_it_is_about() {
    let mut run = run();
    judge(&mut run, Verdict::Undecided);
    run.record.rounds_ended = (1..run.record.conditions.len()).map(|it| (it, RoundsEnd::Precise)).collect();
    run.record.rounds_ended.insert(0, RoundsEnd::Budget);
    let described = nothing_decided(&run);
    assert!(described.contains("than 60 s (scan 64 KiB cold)"), "{described}");
    assert!(described.contains("--rounds") && described.contains("more conditions)"), "{described}");

    // One arm for which the time was too short, where the others made all rounds.
    run.record.rounds_ended = (0..run.record.conditions.len()).map(|it| (it, RoundsEnd::Most)).collect();
    let most = nothing_decided(&run);
    assert!(most.contains("--rounds") && !most.contains("--budget"), "{most}");
    let slow = run.findings.comparisons[0].id.cell;
    run.record.cells_ended.insert(slow, RoundsEnd::Budget);
    let described = nothing_decided(&run);
    assert!(described.contains("--rounds") && described.contains("than 60 s ("), "{described}");
}

#[test]
fn a_run_that_was_stopped_is_not_advised_to_take_longer() {
    for ending in [schema::record::Ending::Interrupted, schema::record::Ending::TargetChanged] {
        let mut stopped = run();
        judge(&mut stopped, Verdict::Undecided);
        (stopped.record.ending, stopped.record.partial) = (Some(ending), Some("stopped".into()));
        let described = nothing_decided(&stopped);
        assert!(!described.contains("--budget") && !described.contains("--rounds"), "{described}");
        stopped.findings.comparisons.clear();
        let described = nothing_decided(&stopped);
        assert!(!described.contains("--budget"), "{described}");
    }
}

#[test]
fn a_reason_is_the_most_frequent_one_or_of_the_comparison_that_is_named() {
    let mut run = run();
    judge(&mut run, Verdict::Undecided);
    for (at, it) in run.findings.comparisons.iter_mut().enumerate() {
        it.reason = Some(format!("the speedup lies between 0.{at} and 1.2").into());
    }
    let described = nothing_decided(&run);
    assert!(
        !described.contains("most often") && described.contains("for example mmap against read (scan 64 KiB cold)"),
        "{described}"
    );
    run.findings.comparisons[1].reason = run.findings.comparisons[0].reason.clone();
    assert!(nothing_decided(&run).contains("most often: the speedup lies between 0.0 and"));
    // What was not measured has its reason as often.
    for it in &mut run.findings.comparisons[2..4] {
        (it.pairs, it.reason) = (0, Some("it has no valid pass".to_string().into()));
    }
    let described = nothing_decided(&run);
    assert!(!described.contains("most often") && described.contains("for example"), "{described}");
}

#[test]
fn a_tie_beside_undecided_arms_answers_nothing() {
    let mut run = run();
    judge(&mut run, Verdict::Undecided);
    run.findings.comparisons[0].verdict = Verdict::Same;
    assert!(!run.findings.is_decided());
    assert!(behind("Fastest arm undecided:", &run).contains("9 of 10 comparisons are undecided"));
}

#[test]
fn no_difference_is_said_only_of_arms_that_were_proved_the_same() {
    let mut run = run();
    let at = run.findings.map.iter().position(|it| it.winner.as_deref() == Some("native/read")).unwrap();
    let id = run.findings.map[at].id;
    let judge = |run: &mut Run, verdicts: [Verdict; 2]| {
        let of_line = run.findings.comparisons.iter_mut().filter(|it| it.id.condition == id);
        of_line.zip(verdicts).for_each(|(it, verdict)| it.verdict = verdict);
        let arms = run.findings.comparisons.iter().filter(|it| it.id.condition == id);
        let of = |wanted: Verdict| arms.clone().filter(|it| it.verdict == wanted).map(|it| it.arm.clone()).collect();
        let (ties, not_told_apart) = (of(Verdict::Same), of(Verdict::Undecided));
        let line = &mut run.findings.map[at];
        (line.verdict, line.ties, line.not_told_apart) = (Verdict::Same, ties, not_told_apart);
        report::markdown(&run.record, &run.findings)
    };
    let alike = |text: &str| text.matches("no difference").count() - text.matches("no difference between").count();
    let all = judge(&mut run, [Verdict::Same, Verdict::Same]);
    let open = judge(&mut run, [Verdict::Same, Verdict::Undecided]);
    assert!(alike(&open) < alike(&all) && open.contains("not told apart: mmap+populate-read"), "{open}");
    // One that is slower is not the same.
    let slower = judge(&mut run, [Verdict::Same, Verdict::Slower]);
    assert!(alike(&slower) == alike(&open), "{slower}");
    assert!(slower.contains("no difference between read and mmap") && slower.contains("read = mmap"), "{slower}");
}

#[test]
fn a_run_that_decided_nothing_says_why_and_what_to_try() {
    let decided = |run: &Run| !squeezed(&overview(run)).contains("Nothing decided:");
    assert!(decided(&run()));

    let mut undecided = run();
    judge(&mut undecided, Verdict::Undecided);
    let every: Vec<usize> = (0..undecided.record.conditions.len()).collect();
    undecided.record.rounds_ended = every.iter().map(|it| (*it, RoundsEnd::Most)).collect();

    // What is advised follows from what ended the rounds.
    for (end, advised) in [
        (RoundsEnd::Budget, "--budget"),
        (RoundsEnd::Asked, "--rounds"),
        (RoundsEnd::Most, "--rounds"),
        (RoundsEnd::Precise, "--rounds"),
    ] {
        undecided.record.rounds_ended = every.iter().map(|it| (*it, end)).collect();
        let text = squeezed(&overview(&undecided));
        let advice = text.split("Nothing decided:").nth(1).unwrap().split(". ").nth(1).unwrap();
        let other = if advised == "--budget" { "--rounds" } else { "--budget" };
        assert!(advice.contains(advised) && !advice.contains(other), "{end:?}: {advice}");
    }
    // Rounds make passes no larger.
    let mut few = run();
    judge(&mut few, Verdict::Undecided);
    few.record.rounds_ended = every.iter().map(|it| (*it, RoundsEnd::Precise)).collect();
    let reason = Reason::FewBlocks { blocks: 8192, job_blocks: 76_800, writes: false };
    few.findings.comparisons.iter_mut().for_each(|it| it.reason = Some(reason.clone()));
    let text = squeezed(&overview(&few));
    assert!(text.contains("--ops") && !text.contains("--rounds"), "{text}");

    // What is decided is not called undecided, although it names no fastest arm.
    assert!(squeezed(&overview(&undecided)).contains("Nothing decided:"));
    undecided.findings.comparisons[0].verdict = Verdict::Slower;
    let text = squeezed(&overview(&undecided));
    assert!(!text.contains("Nothing decided:") && text.contains("Fastest arm undecided:"), "{text}");

    let mut unequal = run();
    judge(&mut unequal, Verdict::NotComparable);
    assert!(
        squeezed(&overview(&unequal)).contains("Nothing decided: in 10 comparisons the arms did not do the same work")
    );

    // Why is said here: what follows on the first screen does not have it.
    for it in &mut unequal.findings.comparisons {
        it.reason = Some(Reason::NotFinite);
    }
    let why = format!("did not do the same work: {}", report::words::reason(&Reason::NotFinite));
    assert!(squeezed(&overview(&unequal)).contains(&squeezed(&why)));
    // One without a pass is no example of what more rounds decide.
    let mut impossible = run();
    judge(&mut impossible, Verdict::Undecided);
    for (at, it) in impossible.findings.comparisons.iter_mut().enumerate() {
        (it.pairs, it.reason) = if at == 1 { (5, Some(Reason::NotFinite)) } else { (0, Some(Reason::NoPass)) };
    }
    let text = squeezed(&overview(&impossible));
    assert!(text.contains(&squeezed(&report::words::reason(&Reason::NotFinite))), "{text}");

    let mut lost = run();
    judge(&mut lost, Verdict::Undecided);
    lost.findings.comparisons.clear();
    for sample in &mut lost.record.samples {
        sample.outcome = Outcome::Failed { reason: "the worker died of SIGKILL".into() };
    }
    let text = squeezed(&overview(&lost));
    assert!(text.contains("Nothing decided: none of 60 passes was valid; the reasons are listed below. Try"), "{text}");
    for it in &mut lost.record.cells {
        (it.arm.runtime, it.arm.method, it.skipped) = ("command".into(), "command".into(), None);
    }
    let text = squeezed(&overview(&lost));
    assert!(text.contains("the reasons are listed below.") && !text.contains("Try `faultline doctor`"), "{text}");

    let mut empty = run();
    empty.record.samples.clear();
    (empty.findings.comparisons, empty.findings.map, empty.findings.cells) = (vec![], vec![], vec![]);
    assert!(squeezed(&overview(&empty)).contains("Nothing decided: no pass was made. `faultline doctor`"));
    check_widths(&empty);
}

#[test]
fn a_missing_value_is_a_dash_with_its_reason_and_never_a_zero() {
    let mut run = run();
    for cell in &mut run.findings.cells {
        cell.minor_faults = Reading::unavailable("getrusage is not there");
        cell.peak_memory_bytes = match cell.control {
            true => Reading::unavailable("the process was gone"),
            false => Reading::Value(5_000_000.0 + cell.arm.name.len() as f64 * 100_000.0),
        };
        if cell.status == Status::Ok {
            cell.bytes_per_s = None;
        }
    }
    let text = terminal(&run, 200);
    let control = text.lines().find(|line| line.contains("read (A/A)")).unwrap();
    assert_eq!(squeezed(control), "read (A/A) 48.4 µs [47.8, 49.0] – 19.4 µs 24.2 µs 0 –");
    let text = squeezed(&text);
    assert!(!text.contains("sys/op minor"), "a column without any value is not shown:\n{text}");
    assert!(text.contains("minor faults: getrusage is not there (18 cells)"), "{}", &text[text.len() - 2000..]);
    assert!(text.contains("peak memory: the process was gone (2 cells)"));
}

#[test]
fn an_arm_that_was_entered_twice_keeps_its_own_numbers_and_says_what_it_does_differently() {
    let mut run = run();
    let condition = run.record.conditions[4].clone();
    let repeat = run.record.cells.iter().position(|cell| cell.condition == 4 && cell.arm.method == "mmap").unwrap();
    run.record.cells[repeat].arm = support::arm("read");
    let mut own = condition.clone();
    own.range.bytes /= 2;
    run.record.cells[repeat].own_condition = Some(own);
    for cell in run.findings.cells.iter_mut().filter(|cell| cell.id.cell == repeat) {
        cell.arm = support::arm("read");
    }
    for comparison in run.findings.comparisons.iter_mut().filter(|it| it.id.cell == repeat) {
        comparison.arm = "native/read".into();
    }
    let text = squeezed(&terminal(&run, 140));
    assert!(text.contains("read #2 120 µs [118, 121] 1.01x [0.99, 1.03] same"), "{text}");
    assert!(text.contains("read 121 µs [119, 123] baseline"), "{text}");
    assert!(text.contains("read #2: entered with range of 512 MiB instead of range of 1 GiB"), "{text}");
}

#[test]
fn conditions_that_differ_in_more_than_state_and_block_say_in_what() {
    let mut run = run();
    let copy = |condition: &mut schema::Condition| {
        condition.consume = schema::Consume::Copy;
        condition.threads = 4;
    };
    copy(&mut run.record.conditions[0]);
    let text = squeezed(&terminal(&run, 80));
    assert!(text.contains("cold, copy, 4 threads"), "{text}");
    assert!(text.contains("scan 64 KiB copy, 4 threads direct 1.52x [1.49, 1.55] vs read"), "{text}");
    assert!(text.contains("random 4 KiB sum, 1 thread undecided"), "{text}");
    check_widths(&run);
}

#[test]
fn the_markdown_can_be_pasted_into_a_pull_request() {
    let run = run();
    expect_file!["snapshots/report.md"].assert_eq(&report::markdown(&run.record, &run.findings));
}

/// The run with every free text replaced: paths, reasons, names, sentences, keys.
pub(crate) fn hostile(text: &str) -> Run {
    hostile_form_of(&run(), text)
}

fn hostile_form_of(run: &Run, text: &str) -> Run {
    let mut record = serde_json::to_value(&run.record).unwrap();
    let mut findings = serde_json::to_value(&run.findings).unwrap();
    replace(&mut record, text);
    replace(&mut findings, text);
    Run { record: serde_json::from_value(record).unwrap(), findings: serde_json::from_value(findings).unwrap() }
}

fn replace(value: &mut Value, text: &str) {
    // Words from closed sets stay, or the document would not be one.
    const WORDS: &[&str] = &[
        "workload",
        "consume",
        "state",
        "descriptor",
        "durability",
        "layout",
        "fill",
        "metric",
        "status",
        "verdict",
        "answer_of",
        "first_of",
        "second_of",
        "variant",
        "unit",
        "block",
        "file_bytes",
        "full_file_bytes",
    ];
    match value {
        Value::String(string) => *string = text.to_string(),
        Value::Array(values) => values.iter_mut().for_each(|value| replace(value, text)),
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut().filter(|(key, _)| !WORDS.contains(&key.as_str())) {
                if key == "readings" || key == "mitigations" {
                    let inner = std::mem::take(value.as_object_mut().unwrap());
                    let first = inner.into_iter().next().map(|(_, value)| (text.to_string(), value));
                    *value = Value::Object(first.into_iter().collect());
                }
                replace(value, text);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn text_from_a_record_cannot_move_a_cursor() {
    const EVIL: &str = "evil\u{1b}[2J\u{1b}]0;title\u{7}\r\n\u{9b}31m\u{202e}txt\u{2028}\u{200b}\u{0}";
    let run = hostile(EVIL);
    let plan = plan_of("\u{1b}[2J\nx");
    let mut replayed = run.record.clone();
    let traced = schema::trace::Traced { digest: EVIL.into(), ..schema::trace::Traced::none(0) };
    for it in &mut replayed.conditions {
        (it.workload, it.trace) = (schema::Workload::Replay, Some(traced.clone()));
    }
    let csv = report::csv(&replayed);
    let markdown = report::markdown(&run.record, &run.findings);
    let study = hostile_form_of(&study(), EVIL);
    let (shown, pasted) = (terminal(&study, 80), report::markdown(&study.record, &study.findings));
    check_widths(&study);
    for text in [terminal(&run, 80), markdown, csv, report::plan(&plan, Style::default()), shown, pasted] {
        assert!(text.contains("\\u{1b}[2J") || text.contains("\\\\u{1b}[2J"), "{text}");
        let bad =
            text.chars().find(|&c| (c.is_control() && c != '\n') || matches!(c, '\u{200b}' | '\u{2028}' | '\u{202e}'));
        assert_eq!(bad, None);
    }
    let json = report::json(&run.record, &run.findings, None);
    let bad =
        json.chars().find(|&c| (c.is_control() && c != '\n') || matches!(c, '\u{200b}' | '\u{2028}' | '\u{202e}'));
    assert_eq!(bad, None);
    let read: schema::findings::Document<serde_json::Value, serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(read.record, run.record, "the same text");
    check_widths(&run);
}

#[test]
fn text_from_a_record_cannot_become_markup() {
    let honest = report::markdown(&run().record, &run().findings);
    let text =
        "x|y `a` <script>alert(1)</script> <!-- </details> --> **b** [l](http://e) ![i](http://e)\n\n# h\n| a | b |";
    let run = hostile(text);
    let markdown = report::markdown(&run.record, &run.findings);
    assert!(
        !markdown.contains("<script") && !markdown.contains("<!--") && !markdown.replace("\\]", "").contains("](http")
    );
    let tags = |text: &str| text.matches('<').count();
    assert_eq!(tags(&markdown), tags(&honest), "only our own <details> and <summary>");
    // Every table keeps its columns: unescaped pipes of a row are those of the rule above it.
    let bars = |line: &str| line.replace("\\\\", "").replace("\\|", "").matches('|').count();
    let mut columns = None;
    for line in markdown.lines() {
        match (line.starts_with('|'), columns) {
            (true, Some(columns)) => assert_eq!(bars(line), columns, "{line}"),
            (true, None) => columns = Some(bars(line)),
            (false, _) => {
                columns = None;
                assert_eq!(bars(line), 0, "{line}");
                assert!(!line.starts_with("# "));
            }
        }
    }
    // Outside of the one code span that is ours, every backtick is escaped.
    assert_eq!(markdown.replace("\\\\", "").replace("\\`", "").matches('`').count(), 2);
}

#[test]
fn a_text_of_ten_megabytes_is_shortened_everywhere() {
    let mut run = run();
    let long = "x".repeat(10 << 20);
    run.record.target.path = format!("/{long}");
    run.record.partial = Some(long.clone());
    run.record.limits = vec![long.clone()];
    let explanation = |arm: &str| support::counted([arm, "read"], [Count::Flushes(1.0), Count::Flushes(2.0)]);
    run.findings.warnings = vec![Warning::Incomplete { partial: long.clone() }];
    run.findings.map[0].explanation = Some(explanation(&long));
    run.findings.map[1].says = line_says(LineAnswer::OnlyArm { arm: long.clone() });
    run.findings.comparisons[0].explanation = Some(explanation(&long));
    run.findings.cells[0].reasons = vec![long.clone().into()];
    run.record.cells[5].skipped = Some(long.clone().into());
    run.record.samples[0].outcome = Outcome::Failed { reason: long };
    for text in [terminal(&run, 80), report::markdown(&run.record, &run.findings), report::csv(&run.record)] {
        assert!(text.len() < 100_000, "{}", text.len());
        assert!(text.contains("characters left out"));
    }
}

#[test]
fn a_study_reads_well_at_every_usual_width() {
    let study = study();
    expect_file!["snapshots/study-60.txt"].assert_eq(&without_details(&study, 60));
    expect_file!["snapshots/study-80.txt"].assert_eq(&without_details(&study, 80));
    expect_file!["snapshots/study-100.txt"].assert_eq(&without_details(&study, 100));
    expect_file!["snapshots/study-140.txt"].assert_eq(&without_details(&study, 140));
    expect_file!["snapshots/study.md"].assert_eq(&report::markdown(&study.record, &study.findings));
    check_widths(&study);
}

fn without_details(run: &Run, width: usize) -> String {
    report::terminal(&run.record, &run.findings, Style { width, colour: false, details: false }, Some(SAVED))
}

#[test]
fn a_study_shows_figures_then_claims_then_what_the_equal_work_check_found() {
    let text = without_details(&study(), 100);
    let places =
        ["Sum of a file", "Source:", "Published figures", "Claims", "equal-work check", "Noise floor", "Again:"];
    let places: Vec<usize> = places.iter().map(|it| text.find(it).unwrap_or_else(|| panic!("{it}\n{text}"))).collect();
    assert!(places.is_sorted(), "{text}");
    assert!(!text.contains("Details") && !text.contains("Environment"));
    let markdown = report::markdown(&study().record, &study().findings);
    for part in
        ["| what | unit | published | here as published | here corrected |", "**reversed**", "as published:** unequal"]
    {
        assert!(markdown.contains(part), "{part} is not in {markdown}");
    }
}

#[test]
fn two_forms_with_one_condition_keep_their_findings_apart() {
    let text = squeezed(&terminal(&study(), 140));
    assert!(text.contains("as published: unequal work in 2 of 2 comparisons"), "{text}");
    assert!(text.contains("corrected: equal work in the one comparison; 1 could not be measured"), "{text}");
    // What was said of two arms is said once.
    assert_eq!(text.matches("- not comparable:").count(), 1, "{text}");
    assert!(
        text.contains("cached, as published: scan 32 KiB cached") && text.contains("cached, corrected: scan 32 KiB")
    );
    assert!(text.contains("25 % of each block instead of 100 % of each block"), "{text}");
    assert!(!text.contains("mmap #2"), "{text}");
}

#[test]
fn what_was_said_of_several_comparisons_with_other_numbers_is_said_to_be_of_the_first() {
    let says = |amounts: [&str; 2]| {
        let mut run = study();
        let unequal = run.findings.comparisons.iter_mut().filter(|it| it.verdict == Verdict::NotComparable);
        for (it, amount) in unequal.zip(amounts) {
            it.reason = Some(format!("the read (quarter) arm consumed {amount}").into());
        }
        squeezed(&terminal(&run, 140))
    };
    const OTHER: &str = "(scan 32 KiB cached: mmap; with other numbers scan 32 KiB cached: mmap+willneed)";
    let [differ, agree] = [says(["8 MB of 34 MB", "67 MB of 268 MB"]), says(["8 MB of 34 MB"; 2])];
    assert!(differ.contains("consumed 8 MB of 34 MB") && differ.contains(OTHER), "{differ}");
    assert!(
        !agree.contains("with other numbers") && agree.contains("scan 32 KiB cached: mmap, mmap+willneed"),
        "{agree}"
    );
}

#[test]
fn a_published_file_size_is_named_beside_ours() {
    let mut run = study();
    let says = squeezed(&overview(&run));
    assert!(says.contains("a file of 1 GiB instead of the published 4 GiB") && !says.contains("--full"), "{says}");
    // A study of this name is built in, so `reproduce` can run it at that size.
    run.record.experiment.name = "cse221-2003".into();
    assert!(
        squeezed(&overview(&run)).contains("the published 4 GiB; `reproduce cse221-2003 --full` runs it at that size")
    );
    run = study();
    run.record.target.bytes = 4 << 30;
    assert!(squeezed(&overview(&run)).contains("Scale: a file of 4 GiB, as published"));
    run.record.target.made_here = false;
    run.record.target.bytes = 3 << 30;
    assert!(squeezed(&overview(&run)).contains("Scale: a file of 3 GiB; published with 4 GiB"));
}

#[test]
fn folios_are_called_those_of_this_machine_only_where_the_file_was_read_in_order() {
    use schema::{Fill, findings::ClaimOnFolios};
    let said = |fills: &[(Fill, Option<u64>)]| {
        let mut run = study();
        let on = |&(fill, folio_bytes): &(Fill, Option<u64>)| ClaimOnFolios {
            fill,
            then: fill == Fill::Written(4096),
            folio_bytes,
            least_folio_bytes: None,
            verdict: schema::findings::ClaimVerdict::Holds,
            reasons: Vec::new(),
        };
        run.findings.claims[0].folios = fills.iter().map(on).collect();
        let text = squeezed(&report::markdown(&run.record, &run.findings));
        let here = text.matches("as this machine reads files in").count();
        (here, text.contains("his machine reads files into"), text.contains("folios of 64 KiB, fill random: holds"))
    };
    let then = (Fill::Written(4096), Some(4096));
    let (ordered, random) = ((Fill::Sequential, Some(2 << 20)), (Fill::Random, Some(64 << 10)));
    assert_eq!(said(&[then, ordered]), (1, true, false));
    assert_eq!(said(&[then, ordered, random]), (1, true, true));
    assert_eq!(said(&[then, random]), (0, false, true));
    // Of what is read in a little at a time, and of what is read in much at a time.
    let mut run = study();
    let on = |fill, folio_bytes, least_folio_bytes| ClaimOnFolios {
        fill,
        then: fill == Fill::Written(4096),
        folio_bytes: Some(folio_bytes),
        least_folio_bytes,
        verdict: schema::findings::ClaimVerdict::Holds,
        reasons: Vec::new(),
    };
    let then = on(Fill::Written(4096), 4096, None);
    run.findings.claims[0].folios = vec![on(Fill::Sequential, 4096, None), then.clone()];
    run.findings.claims[1].folios = vec![on(Fill::Sequential, 2 << 20, Some(4096)), then];
    let text = squeezed(&report::markdown(&run.record, &run.findings));
    assert!(text.contains("reads files into folios of 4 KiB to 2 MiB; when the study was made"), "{text}");
}

#[test]
fn claims_of_an_ordinary_experiment_stand_under_the_map() {
    let mut run = run();
    run.findings.claims = study().findings.claims;
    assert!(overview(&run).contains("Claims\n"));
    let text = terminal(&run, 80);
    let claims = text.find("Claims\n").unwrap();
    assert!(text.find("cold  no page").unwrap() < claims && claims < text.find("Noise floor").unwrap());
    assert!(squeezed(&text).contains("a-cpu … and takes more CPU time reversed: more CPU time with mmap"), "{text}");
    check_widths(&run);
}

fn ledger() -> Ledger {
    let entries = study().findings.claims.into_iter().map(|claim| LedgerEntry {
        claim,
        title: "Sum of a file in 32 KiB blocks, read against mmap (1999)".into(),
        asks_otherwise: false,
        run: "20261120T225104Z-3f9a".into(),
        when: "2026-11-20T22:51:04Z".into(),
        made_on: MadeOn { origin: Origin::Own, host: "lab".into(), identity: None },
        kernel: "6.18.5".into(),
        target: "a test file in /dev/shm".into(),
        file_system: "tmpfs".into(),
        later: None,
    });
    let never = ("dillon-2001".to_string(), "Sequential sum of a file, read against mmap (Dillon, 2001)".to_string());
    Ledger { entries: entries.collect(), not_run: vec![never] }
}

#[test]
fn a_claim_that_asks_something_else_than_the_built_in_study_of_its_name_says_so_under_a_heading_of_its_own() {
    let mut ledger = ledger();
    let ours = ledger.entries[0].clone();
    ledger.entries = vec![ours.clone(), LedgerEntry { asks_otherwise: true, ..ours.clone() }];
    let json: Value = serde_json::from_str(&report::claims_json(&ledger)).unwrap();
    assert_eq!([&json[0]["asks_otherwise"], &json[1]["asks_otherwise"]], [&Value::Null, &Value::Bool(true)]);
    let headings = |ledger: &Ledger| report::claims(ledger, Style::default()).matches(&ours.title).count();
    assert_eq!(headings(&ledger), 2);
    ledger.entries[1].asks_otherwise = false;
    assert_eq!(headings(&ledger), 1);
}

#[test]
fn the_ledger_names_a_later_run_that_could_not_decide_a_claim() {
    let mut ledger = ledger();
    let later =
        |ledger: &Ledger| serde_json::from_str::<Value>(&report::claims_json(ledger)).unwrap()[0]["later"].clone();
    assert_eq!(later(&ledger), Value::Null);
    ledger.entries[0].later = Some(LaterRun {
        run: "20261121T000000Z-0001".into(),
        when: "2026-11-21T00:00:00Z".into(),
        verdict: schema::findings::ClaimVerdict::NotTestableHere,
        reasons: vec!["the arm \"mmap\" was not part of this run".into()],
        why: schema::claims::Later::Undecided,
    });
    assert_eq!(later(&ledger)["run"], "20261121T000000Z-0001");
    assert_eq!(later(&ledger)["verdict"], "not-testable-here");
    assert!(report::claims(&ledger, Style::default()).contains("20261121T000000Z-0001"));
}

#[test]
fn the_ledger_does_not_say_that_a_part_contradicts_a_whole_that_is_undecided() {
    use schema::{claims::Later, findings::ClaimVerdict};
    let text = |whole, verdict, why| {
        let mut ledger = ledger();
        ledger.entries[0].claim.verdict = whole;
        let (run, when) = ("20261121T000000Z-0001".into(), "2026-11-21T00:00:00Z".into());
        ledger.entries[0].later = Some(LaterRun { run, when, verdict, reasons: vec!["it is so".into()], why });
        squeezed(&report::claims(&ledger, Style::default()))
    };
    let decides = text(ClaimVerdict::Undecided, ClaimVerdict::Holds, Later::PartialDecides);
    assert!(decides.contains("measured a part of it and decided that: holds: it is so"), "{decides}");
    let contradicts = text(ClaimVerdict::Reversed, ClaimVerdict::Holds, Later::PartialContradicts);
    assert!(contradicts.contains("contradicts it: holds: it is so") && !decides.contains("contradicts"));
}

#[test]
fn the_ledger_says_of_an_imported_record_that_it_is_one_and_of_which_machine() {
    let mut ledger = ledger();
    let identity = Some(("0123456789abcdef0123456789abcdef".to_string(), "0011223344556677".to_string()));
    let field = MadeOn { origin: Origin::Imported, host: "field".into(), identity };
    (ledger.entries[0].made_on, ledger.entries[0].run) = (field, "20261121T000000Z-0001".into());
    let json: Value = serde_json::from_str(&report::claims_json(&ledger)).unwrap();
    assert_eq!((&json[0]["origin"], &json[1]["origin"]), (&"imported".into(), &"own".into()));
    assert_eq!(json[0]["key"], "0123456789abcdef0123456789abcdef");
    let text = report::claims(&ledger, Style::default());
    assert!(text.contains("on field 01234567, imported, Linux") && text.contains("on lab, Linux"), "{text}");
}

#[test]
fn the_ledger_says_claim_verdict_when_and_on_what_machine() {
    let style = |width| Style { width, colour: false, details: false };
    expect_file!["snapshots/claims-80.txt"].assert_eq(&report::claims(&ledger(), style(80)));
    for width in 40..160 {
        assert!(report::claims(&ledger(), style(width)).lines().all(|line| line.width() <= width));
    }
    let none = report::claims(&Ledger::default(), style(80));
    assert_eq!(none, "no saved run has a claim\n");
    let json: Value = serde_json::from_str(&report::claims_json(&ledger())).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 3);
    for key in
        ["id", "study", "source", "says", "published", "measured", "verdict", "reason", "run", "when", "host", "kernel"]
    {
        assert!(!json[0][key].is_null(), "{key}");
    }
}

#[test]
fn one_reason_for_several_states_is_said_once() {
    let mut run = run();
    for (index, state) in ["cold", "cached", "mapped"].into_iter().enumerate() {
        run.record.cells[index].skipped =
            Some(format!("no permission; state {state} cannot be verified. Try as-is").into());
    }
    let text = squeezed(&terminal(&run, 80));
    assert!(
        text.contains(
            "(read, mmap): no permission; state cold cannot be verified. Try as-is; the same for states cached, mapped"
        ),
        "{text}"
    );
    assert_eq!(text.matches("no permission").count(), 1);
    run.record.cells[1].skipped = Some("state cached needs 8 GiB in the page cache".to_string().into());
    run.record.cells[2].skipped = Some("state mapped needs 16 GiB in the page cache".to_string().into());
    let text = squeezed(&terminal(&run, 80));
    assert!(
        text.contains("for example: state cached needs 8 GiB in the page cache; the same for state mapped"),
        "{text}"
    );
}

#[test]
fn a_run_in_which_everything_was_skipped_is_not_advised_to_take_longer() {
    let mut run = run();
    run.record.samples.clear();
    for cell in &mut run.record.cells {
        cell.skipped = Some("out of order".into());
    }
    judge(&mut run, Verdict::Undecided);
    run.findings.comparisons.iter_mut().for_each(|it| it.pairs = 0);
    let text = squeezed(&overview(&run));
    assert!(text.contains("Nothing decided: every arm was skipped; the reasons are listed below."), "{text}");
    assert!(!text.contains("--budget"), "{text}");
}

#[test]
fn a_single_pass_was_not_lost() {
    let mut run = run();
    run.findings.cells[0].reasons = vec![Reason::SinglePass];
    run.findings.cells[0].samples = 1;
    let text = squeezed(&terminal(&run, 120));
    assert!(text.contains("read: a single pass has no interval") && !text.contains("0 of 1"), "{text}");
    let mmap = run.findings.cells.iter_mut().find(|cell| cell.invalid_samples == 2).unwrap();
    let lost = "the page cache held 12 of 262144 pages".to_string();
    mmap.reasons = vec![Reason::LostPasses { lost: 2, passes: 9, reason: lost }];
    let text = squeezed(&terminal(&run, 120));
    assert!(text.contains("2 of 9 passes lost: the page cache held"), "{text}");
}

/// RFC 4180, read by somebody who did not write it.
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (vec![], vec![], String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (c, quoted) {
            ('"', true) if characters.peek() == Some(&'"') => field.extend(characters.next()),
            ('"', _) => quoted = !quoted,
            (',', false) => row.push(std::mem::take(&mut field)),
            ('\n', false) => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            (c, _) => field.push(c),
        }
    }
    assert!(!quoted && row.is_empty() && field.is_empty());
    rows
}

#[test]
fn long_command_lines_that_differ_in_the_middle_are_two_arms_in_the_csv() {
    let mut run = run();
    for (at, word) in ["mmap", "read"].into_iter().enumerate() {
        run.record.cells[at].arm.name = format!("command/grep  'a   b' {}{word}{}", "x".repeat(800), "y".repeat(800));
    }
    let rows = parse_csv(&report::csv(&run.record));
    let column = rows[0].iter().position(|it| it == "arm").unwrap();
    let arms: BTreeSet<&String> = rows[1..].iter().map(|row| &row[column]).collect();
    assert!(run.record.cells[..2].iter().all(|it| arms.contains(&it.arm.name)), "{arms:?}");
}

#[test]
fn a_run_of_several_files_is_not_said_to_be_of_the_first() {
    let mut run = run();
    let named = ["/data/a.log", "/data/b.log"].map(|it| NamedPath { path: it.into(), folder: false }).to_vec();
    run.record.target.files = Some(Files { named, count: 2, folders: 0, first: Vec::new() });
    assert_eq!(run.record.target.described(), "2 files of /data/a.log, /data/b.log");
    let markdown = report::markdown(&run.record, &run.findings);
    assert!(markdown.contains("2 files of /data/a.log, /data/b.log, 1 GiB"), "{markdown}");
}

#[test]
fn the_csv_has_a_row_per_sample_and_reads_back() {
    let mut run = run();
    run.record.samples[1].host = "a \"host\", with all".into();
    let text = report::csv(&run.record);
    let rows = parse_csv(&text);
    let header = &rows[0];
    assert_eq!(rows.len(), 1 + run.record.samples.len());
    assert!(rows.iter().all(|row| row.len() == header.len()));
    let at = |row: usize, name: &str| {
        let column = header.iter().position(|column| column == name).unwrap_or_else(|| panic!("no column {name}"));
        rows[row][column].as_str()
    };
    assert_eq!(at(2, "host"), "a \"host\", with all");
    assert_eq!(at(1, "arm"), "native/read");
    assert_eq!(at(1, "status"), "ok");
    assert_eq!(at(1, "work_ns"), "788070400");
    assert_eq!(at(1, "resident_pages_before"), "0");
    assert_eq!(at(1, "resident_pages_after"), "", "absent is not 0");
    assert_eq!(at(1, "device_read_bytes"), "", "absent is not 0");
    assert_eq!(at(1, "minor_faults"), "97");
    let lost = (1..rows.len()).find(|&row| at(row, "status") == "invalid").unwrap();
    assert_eq!(at(lost, "work_ns"), "");
    assert!(at(lost, "reason").contains("were not in the page cache"));
    expect![[r#"
        run,order,round,host,condition,comparison,variant,arm,runtime,method,baseline,control,workload,consume,block_bytes,state,file_bytes,threads,descriptor,durability,storage_read_bytes_per_s,storage_read_ops_per_s,range_offset,range_bytes,aligned,ops,consumed_percent,layout,memory_bytes,fill,trace,beside,own_work_ns,status,reason,open_ns,work_ns,close_ns,total_ns,done_ops,done_bytes,done_distinct_bytes,done_distinct_pages,done_threads,done_queue_depth,checksum,resident_pages_before,resident_of_before,resident_pages_after,resident_of_after,beat_deadlines,beat_wake_ups,beat_median_ns,beat_p99_ns,beat_max_ns,beat_stalled_share,device_read_bytes,minor_faults
        20261120T225104Z-3f9a,0,0,lab,0,,,native/read,native,read,true,false,scan,sum,65536,cold,1073741824,1,per-thread,,,,0,1073741824,true,16384,100,,,,,nothing,,ok,,18400,788070400,5200,788094000,16384,1073741824,1073741824,262144,1,1,9f3c2a0011223344,0,262144,,,,,,,,,,97
    "#]]
    .assert_eq(&(text.lines().take(2).collect::<Vec<&str>>().join("\n") + "\n"));
}

#[test]
fn the_csv_says_of_each_pass_where_its_own_window_was() {
    let mut run = run();
    run.record.conditions[0].range = schema::Span { offset: 4 << 20, bytes: 64 << 20 };
    run.record.samples[1].window_offset = Some(256 << 20);
    let rows = parse_csv(&report::csv(&run.record));
    let column = rows[0].iter().position(|it| it == "range_offset").unwrap();
    let offsets: Vec<&str> = rows[1..=3].iter().map(|row| row[column].as_str()).collect();
    assert_eq!(offsets, ["4194304", "268435456", "4194304"]);
}

#[test]
fn no_text_of_a_record_is_a_formula_to_a_spreadsheet_and_numbers_stay_numbers() {
    let mut run = run();
    for evil in ["=HYPERLINK(1)", "+1+1|x", "-2-cmd", "@SUM(1)", "\t=1", "\u{ff1d}1", "=1\"x", "-inf", "+nan"] {
        run.record.samples[0].host = evil.into();
        run.record.samples[0].readings.insert("=1+1".into(), schema::Reading::Value(-7.5));
        let rows = parse_csv(&report::csv(&run.record));
        for field in rows.iter().flatten().filter(|it| !it.parse::<f64>().is_ok_and(f64::is_finite)) {
            assert!(!field.starts_with(['=', '+', '-', '@', '\t', '\r', '\u{ff1d}']), "{field:?}");
        }
        let column = rows[0].iter().position(|it| it == "'=1+1").expect("the reading has a column");
        assert_eq!(rows[1][column], "-7.5");
    }
}

#[test]
fn the_json_document_reads_back_as_what_it_was() {
    let run = run();
    let text = report::json(&run.record, &run.findings, None);
    let document: Document = serde_json::from_str(&text).unwrap();
    assert_eq!(document.schema_version, schema::SCHEMA_VERSION);
    let same = |a: &(Record, Findings), b: &(Record, Findings)| {
        serde_json::to_string(&(&a.0, &a.1)).unwrap() == serde_json::to_string(&(&b.0, &b.1)).unwrap()
    };
    assert!(same(&(document.record, document.findings), &(run.record, run.findings)));
    assert!(text.ends_with("}\n"));
}

/// How many names in it end in `_data`; each must have its words beside it.
fn data_with_words(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            let data = fields.iter().filter_map(|(name, data)| Some((name.strip_suffix("_data")?, data)));
            for (name, data) in data.clone() {
                let words = fields.get(name).unwrap_or_else(|| panic!("{name} is not in {value:#}"));
                let count = |it: &Value| it.as_array().map(Vec::len);
                assert!(
                    words.is_string()
                        || words.is_null() && (data.is_null() || count(data) == Some(0))
                        || count(words) == count(data),
                    "{words}"
                );
            }
            data.count() + fields.values().map(data_with_words).sum::<usize>()
        }
        Value::Array(values) => values.iter().map(data_with_words).sum(),
        _ => 0,
    }
}

#[test]
fn the_json_document_has_words_beside_the_data_of_every_sentence() {
    for run in [run(), study()] {
        let text = report::json(&run.record, &run.findings, None);
        let document: Value = serde_json::from_str(&text).unwrap();
        assert!(data_with_words(&document) > 1, "{document:#}");
        assert!(document["findings"]["crossovers"][0]["statement"].as_str().unwrap().contains("is faster up to"));
    }
}

#[test]
fn a_reading_that_is_unavailable_has_its_reason_in_words_and_as_data() {
    let mut run = run();
    run.findings.cells[0].minor_faults = Reading::unavailable(Unseen::NoFault);
    run.findings.cells[0].major_faults = Reading::unavailable("not here");
    let text = report::json(&run.record, &run.findings, None);
    let (document, read): (Value, Document) =
        (serde_json::from_str(&text).unwrap(), serde_json::from_str(&text).unwrap());
    assert_eq!(read.findings.cells[0].minor_faults, run.findings.cells[0].minor_faults);
    let [seen, said] = ["minor_faults", "major_faults"].map(|name| &document["findings"]["cells"][0][name]);
    let data: Reason = serde_json::from_value(seen["unavailable_data"].clone()).unwrap();
    assert_eq!(data, Unseen::NoFault.into());
    assert_eq!(seen["unavailable"], report::words::reason(&data));
    assert_eq!((&said["unavailable"], &said["unavailable_data"]), (&"not here".into(), &Value::Null));
}

fn plan_of(title: &str) -> PlannedRun {
    let run = run();
    let cell = |arm: &str, skipped: Option<Skip>| PlannedCell {
        arm: arm.parse().unwrap(),
        baseline: arm == "read",
        own_condition: None,
        reason: skipped.as_ref().map(ToString::to_string),
        skipped,
    };
    let off = || Some(Skip::Unavailable("io_uring is switched off (kernel.io_uring_disabled = 2)".into()));
    let condition = |block_bytes, state| PlannedCondition {
        condition: schema::Condition { block_bytes, state, ..run.record.conditions[0].clone() },
        variant: None,
        comparison: Vec::new(),
        cells: ["read", "mmap", "mmap+sequential", "mmap+populate-read"]
            .map(|arm| cell(arm, None))
            .into_iter()
            .chain([cell("uring", off())])
            .collect(),
    };
    PlannedRun {
        schema_version: schema::SCHEMA_VERSION,
        experiment: "survey".into(),
        title: title.into(),
        target: "/tmp/x".into(),
        made_here: true,
        file_bytes: 1 << 30,
        conditions: vec![condition(4096, State::Cold), condition(65_536, State::Cached)],
        written_bytes: 1 << 30,
        copied_bytes: 0,
        round_bytes: 0,
        scratch_bytes: 0,
        free_bytes: Some(5_123_456_789),
        expected_s: Some(61.0),
        rounds: None,
        seed: 7,
        limits: Vec::new(),
    }
}

#[test]
fn a_plan_counts_the_conditions_under_which_something_is_measured() {
    let mut plan = plan_of("Survey");
    let skip = plan.conditions[0].cells.iter().find_map(|it| it.skipped.clone()).unwrap();
    plan.conditions[0].cells.iter_mut().for_each(|it| it.skipped = Some(skip.clone()));
    let text = report::plan(&plan, Style { width: 200, ..Style::default() });
    assert!(text.contains("for 4 cells under 1 condition (seed 7)"), "{text}");
}

#[test]
fn two_equal_conditions_of_a_plan_are_called_after_their_comparisons() {
    let mut plan = plan_of("Twice");
    let twice = plan.conditions[0].clone();
    plan.conditions[1] = twice;
    for (at, condition) in plan.conditions.iter_mut().enumerate() {
        condition.comparison = vec![String::new(), String::new(), format!("comparison {}", at + 1)];
    }
    let text = report::plan(&plan, Style { width: 200, ..Style::default() });
    assert!(text.contains("cold, comparison 1 ") && text.contains("cold, comparison 2 "), "{text}");
}

#[test]
fn the_json_document_of_a_plan_reads_back_as_what_it_was() {
    let plan = plan_of("Survey");
    assert_eq!(serde_json::from_str::<PlannedRun>(&report::plan_json(&plan)).unwrap(), plan);
}

#[test]
fn a_plan_says_what_is_written_where_and_how_long_it_takes() {
    let plan = plan_of("Survey: which way to reach this file, from which start?");
    let style = |width| Style { width, ..Style::default() };
    expect![[r#"
        Survey: which way to reach this file, from which start?
        Reads:   a test file in /tmp/x, removed at the end · 1 GiB
        Writes:  1 GiB to /tmp/x, where 4.77 GiB are free; removed at the end
        Takes:   about 61 s, for 8 cells under 2 conditions (seed 7)

          scan 4 KiB cold     read, mmap, mmap+sequential, mmap+populate-read
          scan 64 KiB cached  read, mmap, mmap+sequential, mmap+populate-read

        Skipped:
          uring:  io_uring is switched off (kernel.io_uring_disabled = 2) (2 cells)
    "#]]
    .assert_eq(&report::plan(&plan, style(80)));
    for width in 40..120 {
        assert!(report::plan(&plan, style(width)).lines().all(|line| line.width() <= width));
    }
}

#[test]
fn a_plan_says_what_passes_that_write_have_written_in_each_round() {
    let says = |round_bytes: u64, rounds: Option<u32>| {
        let plan = PlannedRun { round_bytes, rounds, ..plan_of("Survey") };
        report::plan(&plan, Style { width: 400, ..Style::default() }).replace('\u{a0}', " ")
    };
    assert!(!says(0, None).contains("up to"));
    assert!(says(384 << 20, None).contains("up to 384 MiB in each round;"));
    assert!(says(384 << 20, Some(7)).contains("up to 384 MiB in each of 7 rounds;"));
}

#[test]
fn a_plan_says_that_copies_are_written_beside_a_file_too() {
    let of = |made_here: bool, written_bytes: u64, copied_bytes: u64| {
        let plan = PlannedRun { made_here, written_bytes, copied_bytes, ..plan_of("Survey") };
        let text = report::plan(&plan, Style { width: 200, ..Style::default() });
        text.split_whitespace().collect::<Vec<&str>>().join(" ")
    };
    let beside = of(false, 64 << 20, 64 << 20);
    assert!(
        beside.contains("Writes: about 64 MiB beside /tmp/x") && beside.contains("copies of the file without a name"),
        "{beside}"
    );
    let with_its_own = of(true, (1 << 30) + (64 << 20), 64 << 20);
    assert!(with_its_own.contains("removed at the end. Of it, about 64 MiB are in "), "{with_its_own}");
    assert!(with_its_own.contains("copies of the file without a name"), "{with_its_own}");
    for text in [of(false, 0, 0), of(true, 1 << 30, 0)] {
        assert!(!text.contains("copies"), "{text}");
    }
    assert!(of(false, 0, 0).contains("nothing"));
    let scenarios = PlannedRun { made_here: false, written_bytes: 0, scratch_bytes: 16 << 20, ..plan_of("Survey") };
    let text = report::plan(&scenarios, Style { width: 200, ..Style::default() }).replace('\u{a0}', " ");
    assert!(!text.contains("nothing") && text.contains("16 MiB in files of scenarios beside /tmp/x"), "{text}");
}

#[test]
fn delays_of_safepoints_are_a_table_and_what_they_mean_in_every_form() {
    let mut run = run();
    let condition = run.findings.cells[0].condition.clone();
    let id = run.findings.cells[0].id;
    let slow = schema::Condition {
        storage: Some(schema::condition::Storage { read_bytes_per_s: Some(40_000_000), read_ops_per_s: None }),
        ..condition.clone()
    };
    run.record.conditions.push(slow.clone());
    let other = run.record.condition_id(run.record.conditions.len() - 1);
    let cell = |condition: &schema::Condition, name: &str, us: f64, share| schema::findings::SafepointFinding {
        id: if *condition == slow { schema::CellId { condition: other, cell: 0 } } else { id },
        arm: format!("jvm/{name}+safepoints"),
        name: name.into(),
        condition: condition.clone(),
        passes: 9,
        asked: 1234,
        median_ns: us * 1e3,
        p99_ns: us * 1e4,
        p99_is: if us > 1e3 { SafepointTail::Longest } else { SafepointTail::NinetyNine },
        max_ns: us * 1e5,
        stopped_share: share,
        through_calls: None,
    };
    run.findings.safepoints = Some(Box::new(schema::findings::Safepoints {
        cells: vec![
            cell(&condition, "channel-direct", 0.7, Some(0.004)),
            cell(&condition, "mapped", 523.0, Some(0.98)),
            cell(&slow, "mapped<b>", 9000.0, None),
        ],
        seen: vec![SafepointsSeen {
            label: "scan <waits>".into(),
            calls: vec![],
            faults: vec![],
            max_call_ns: 1e5,
            max_fault_ns: 1e6,
            held_up: true,
            open: None,
        }],
        apart: 3.0,
    }));
    check_widths(&run);
    let terminal = overview(&run);
    for words in
        ["Safepoints\n", "1,234", "700 ns", "5.23 ms", "98 %", "- What it means (scan <waits>): a thread", "at 40 MB/s"]
    {
        assert!(terminal.contains(words), "{words:?} is not in\n{terminal}");
    }
    // The longest of the few of a pass is not the 99th of 100.
    let numbers = ["5.23 ms", "52.3 ms", "90.0 ms (longest)"];
    assert!(numbers.iter().all(|it| squeezed(&terminal).contains(it)), "{terminal}");
    assert!(squeezed(&terminal).contains("from these requests until the threads ran on"), "{terminal}");
    let page = report::html(&run.record, &run.findings);
    assert!(
        page.contains("id=\"safepoints\"") && page.contains("mapped&lt;b&gt;") && page.contains("scan &lt;waits&gt;")
    );
    let markdown = report::markdown(&run.record, &run.findings);
    assert!(markdown.contains("**Safepoints**") && markdown.contains("1,234"), "{markdown}");
    assert!(!report::html(&run.record, &support::run().findings).contains("id=\"safepoints\""));
}

/// A second in which nothing was read or written.
fn moment(at_s: f64, user: f64) -> schema::timeline::Moment {
    schema::timeline::Moment {
        at_s,
        user,
        system: 0.0,
        wait: 0.0,
        steal: 0.0,
        idle: 1.0 - user,
        read_bytes_per_s: Reading::Value(0.0),
        write_bytes_per_s: Reading::Value(0.0),
        switches_per_s: 0.0,
        available_bytes: 0,
        cached_bytes: 0,
        dirty_bytes: 0,
    }
}

#[test]
fn a_second_of_the_timeline_names_the_passes_that_ran_in_it() {
    use schema::timeline::{Passing, Timeline};
    let mut run = run();
    let of_condition = |at: usize| run.record.cells.iter().position(|it| it.condition == at).unwrap();
    let pass = |at: usize, from_s: f64| Passing { cell: of_condition(at), from_s, to_s: from_s + 0.8 };
    let passes = vec![pass(0, 0.1), pass(2, 1.1)];
    // As looked at: a little late.
    let moments = vec![moment(1.01, 0.93), moment(2.02, 0.07), moment(3.03, 0.0)];
    run.record.timeline = Some(Timeline { per_second: 1, moments, passes });
    let text = terminal(&run, 180);
    let labels = schema::Labels::of(&run.record);
    for (second, percent, label) in [("0", "93", labels.label(0)), ("1", "7", labels.label(2))] {
        let is_row = |it: &&str| {
            let words: Vec<&str> = it.split_whitespace().collect();
            words.first() == Some(&second) && words.contains(&percent)
        };
        let row = text.lines().find(is_row).unwrap_or_else(|| panic!("{second} {percent}: {text}"));
        assert!(row.ends_with(&label), "{row}");
    }
}

#[test]
fn a_second_of_the_timeline_is_the_mean_over_its_time() {
    let mut run = run();
    // The sampler waited for a processor.
    let moments = vec![moment(0.1, 0.0), moment(1.0, 0.5)];
    run.record.timeline = Some(schema::timeline::Timeline { per_second: 10, moments, passes: Vec::new() });
    let text = terminal(&run, 180);
    let rows = text.split("\nTimeline\n").nth(1).unwrap();
    let row = rows.lines().find(|it| it.trim_start().starts_with("0 ")).unwrap_or_else(|| panic!("{rows}"));
    assert_eq!(row.split_whitespace().nth(5), Some("45"), "{row}");
}

#[test]
fn the_reason_of_a_command_stands_beneath_its_name() {
    let mut run = run();
    for it in &mut run.findings.map {
        it.condition.workload = schema::Workload::Command;
        let counts = [Count::Flushes(1.0), Count::Flushes(2.0)];
        let says = line_says(LineAnswer::Undecided { reason: Some("a reason".into()) });
        (it.says, it.explanation) = (says, Some(support::counted([&"a long one ".repeat(9), "read"], counts)));
    }
    judge(&mut run, Verdict::Undecided);
    let style = Style { width: 80, colour: false, details: true };
    let text = report::terminal(&run.record, &run.findings, style, None);
    let column = |line: &str, word: &str| line.find(word);
    let lines: Vec<&str> = text.lines().collect();
    // Where the reason has a line of its own.
    let pairs = lines.windows(2).filter(|it| it[0].starts_with("  command") && it[1].trim().starts_with("a reason"));
    let columns: Vec<_> = pairs.map(|it| (column(it[0], "undecided"), column(it[1], "a reason"))).collect();
    assert!(!columns.is_empty() && columns.iter().all(|(name, reason)| name == reason), "{text}");
}

#[test]
fn tables_name_an_arm_with_settings_of_its_own_by_what_it_did() {
    use schema::timeline::{Passing, Timeline};
    let mut run = run();
    let skipped = run.findings.cells.iter().find(|it| it.status == Status::Skipped).unwrap().id.cell;
    for cell in [0, skipped] {
        let condition = run.record.conditions[run.record.cells[cell].condition].clone();
        run.record.cells[cell].own_condition = Some(schema::Condition { block_bytes: 2 << 20, ..condition });
    }
    let none = || Reading::unavailable(Unseen::NotObserved);
    run.findings.counted = vec![schema::findings::CountedFinding {
        cell: 0,
        system_calls_per_mib: Reading::Value(2.0),
        faults_per_mib: none(),
        pages_per_fault: none(),
        amplification: none(),
        folio_orders: Reading::unavailable(Unseen::NotObserved),
        request_bytes: Reading::unavailable(Unseen::NotObserved),
        read_request_bytes: Reading::unavailable(Unseen::NotObserved),
        write_request_bytes: Reading::unavailable(Unseen::NotObserved),
        flush_requests: none(),
        durable_requests: none(),
        lost_events: 0,
    }];
    let moments = vec![moment(1.0, 0.5)];
    let passes = vec![Passing { cell: 0, from_s: 0.1, to_s: 0.9 }];
    run.record.timeline = Some(Timeline { per_second: 1, moments, passes });
    let says = "scan 64 KiB cold, 2 MiB instead of 64 KiB";
    let text = terminal(&run, 180);
    for (table, row) in [("Counted", "native/read "), ("Timeline", "0 ")] {
        let rows = text.split(&format!("\n{table}\n")).nth(1).unwrap_or_else(|| panic!("{table}: {text}"));
        let row = rows.lines().find(|it| it.trim_start().starts_with(row)).unwrap_or_else(|| panic!("{rows}"));
        assert!(row.contains(says), "{table}: {row}");
    }
    let page = report::html(&run.record, &run.findings);
    let lost = page.split("<section id=\"lost\"").nth(1).and_then(|it| it.split("</section>").next()).unwrap();
    assert!(squeezed(lost).contains(says), "{lost}");
}

#[test]
fn crossovers_of_conditions_that_differ_do_not_read_the_same() {
    let mut run = run();
    let first = run.findings.crossovers.iter().find(|it| it.at.is_some()).unwrap().clone();
    let [one, other] = [0, 1].map(|at| {
        let condition = schema::Condition { threads: 1 + 3 * at, ..run.record.conditions[0].clone() };
        run.record.conditions.push(condition);
        let id = schema::CellId { condition: run.record.condition_id(run.record.conditions.len() - 1), cell: 0 };
        schema::findings::Crossover { cells: vec![id], ..first.clone() }
    });
    run.findings.crossovers = vec![one, other];
    let text = squeezed(&overview(&run));
    assert!(text.contains("4 threads"), "{text}");
}

#[test]
fn curves_over_the_number_of_blocks_are_called_by_what_they_differ_in_beside_it() {
    let mut run = run();
    let first = run.findings.crossovers.iter().find(|it| it.at.is_some()).unwrap().clone();
    let mut curve = |threads: u32| {
        let cells = [100, 1000, 10_000].map(|ops| {
            let condition = schema::Condition { threads, ops, ..run.record.conditions[0].clone() };
            run.record.conditions.push(condition);
            schema::CellId { condition: run.record.condition_id(run.record.conditions.len() - 1), cell: 0 }
        });
        schema::findings::Crossover { cells: cells.to_vec(), axis: "ops".into(), ..first.clone() }
    };
    run.findings.crossovers = vec![curve(2), curve(4)];
    let text = squeezed(&overview(&run));
    for threads in ["2 threads: ", "4 threads: "] {
        assert!(text.contains(threads), "{text}");
    }
    assert!(!text.contains(" ops"), "{text}");
}

#[test]
fn a_crossover_says_which_of_its_points_the_job_does_not_confirm() {
    let said = |points: &[usize], change: &dyn Fn(&mut schema::findings::Crossover)| {
        let mut run = run();
        let crossover = run.findings.crossovers.iter_mut().find(|it| it.at.is_some()).unwrap();
        points.iter().for_each(|&at| crossover.points[at].unconfirmed = true);
        change(crossover);
        let says = report::words::crossover(crossover);
        let document: serde_json::Value =
            serde_json::from_str(&report::json(&run.record, &run.findings, None)).unwrap();
        assert_eq!(document["findings"]["crossovers"][0]["statement"], says.as_str());
        assert!(squeezed(&overview(&run)).contains(&says), "{says}");
        says.split_once(report::words::UNCONFIRMED).map(|(before, after)| {
            assert_eq!(after, "");
            before.rsplit("; ").next().unwrap().trim().to_string()
        })
    };
    assert_eq!(said(&[], &|_| ()), None);
    assert_eq!(said(&[0], &|_| ()).as_deref(), Some("at 4 KiB"));
    assert_eq!(said(&[0, 2], &|_| ()).as_deref(), Some("at 4 KiB and 1 MiB"));
    assert_eq!(said(&[0, 1, 2], &|_| ()).as_deref(), Some(""), "all of it");
    // Of several crossovers each speaks of the two points around it.
    let one_of_two = |it: &mut schema::findings::Crossover| it.of_curve = 2;
    assert_eq!(said(&[2], &one_of_two), None);
    assert_eq!(said(&[1, 2], &one_of_two).as_deref(), Some("at 64 KiB"));
    assert_eq!(said(&[0, 1], &one_of_two).as_deref(), Some(""));
}

#[test]
fn arms_with_one_that_did_other_work_are_not_called_all_alike() {
    let said = |populated: Verdict| {
        let mut run = run();
        let line = run.findings.map.iter_mut().find(|it| it.winner_cell.is_some() && it.margin.is_none()).unwrap();
        (line.verdict, line.ties) = (Verdict::Same, vec!["native/mmap".into()]);
        let id = line.id;
        for it in run.findings.comparisons.iter_mut().filter(|it| it.id.condition == id) {
            it.verdict = if it.arm == "native/mmap" { Verdict::Same } else { populated };
            it.speedup = Some(support::estimate(1.0, 0.01)).filter(|_| it.verdict == Verdict::Same);
        }
        squeezed(&overview(&run)).contains("no difference between read and mmap")
    };
    assert!(!said(Verdict::Same));
    assert!(said(Verdict::NotComparable));
}

#[test]
fn who_else_stops_is_a_table_with_its_control_and_a_sentence_in_every_form() {
    let mut run = run();
    let late = |p99: Option<f64>, stalled: f64| BeatLateness {
        deadlines: 1234,
        wake_ups: 567,
        median_ns: Some(7.7e5),
        p99_ns: p99,
        max_ns: 14_100_000,
        stalled_share: Some(stalled),
    };
    let cell = &run.findings.cells[0];
    let control =
        BeatControl { id: cell.id, condition: cell.condition.clone(), passes: 5, late: late(Some(3.21e5), 0.03) };
    let of = |name: &str, p99: Option<f64>, says: BeatSays| BeatFinding {
        id: cell.id,
        arm: format!("python/{name}"),
        name: format!("python/{name}"),
        condition: cell.condition.clone(),
        passes: 9,
        period_ns: 1_000_000,
        late: late(p99, 0.56),
        idle: late(Some(1.91e5), 0.0),
        busy_share: 0.0,
        control: Some(control.clone()),
        curve: [(1e5, 0.5), (1e7, 0.01), (1.41e7, 0.0)]
            .map(|(ns, share)| BeatPoint { late_ns: ns, later_share: share })
            .into(),
        says,
    };
    run.findings.beats =
        vec![of("mmap<b>", Some(9.87e6), BeatSays::Waiting), of("mmap", None, BeatSays::TooFewDeadlines)];
    let stalled = |name: &str, p99: f64| StallArm { cell: cell.id.cell, name: name.into(), late: late(Some(p99), 0.5) };
    run.findings.stalls = vec![StallFinding {
        id: cell.id.condition,
        runtime: "py<i>".into(),
        arms: vec![stalled("python/slice", 2.67e8)],
        instead: Some(stalled("python/preadv", 2.4e5)),
        says: StallSays::Others,
    }];
    check_widths(&run);
    let screen = |details: bool| {
        report::terminal(&run.record, &run.findings, Style { width: 160, colour: false, details }, None)
    };
    let first = squeezed(&screen(false));
    for words in [
        "Who else stops",
        "py<i> other threads stop while python/slice reads",
        "267 ms",
        "take python/preadv (",
        "240 µs",
    ] {
        assert!(first.contains(words), "{words:?} is not in\n{first}");
    }
    assert!(!first.contains("191 µs"), "the numbers of every arm stand in the details: {first}");
    let terminal = squeezed(&screen(true));
    let page = report::html(&run.record, &run.findings);
    let markdown = report::markdown(&run.record, &run.findings);
    for text in [&terminal, &page, &squeezed(&markdown)] {
        for words in
            ["Who else stops", "1,234", "9.87", "14.1", "56", "321", "3", "191", "others stopped while it waited"]
        {
            assert!(text.contains(words), "{words:?} is not in\n{text}");
        }
        assert!(!(text.contains("mmap<b>") || text.contains("py<i>")) || text == &terminal);
    }
    assert!(page.contains("id=\"stops\"") && page.contains("id=\"beats\"") && page.contains("mmap&lt;b&gt;"));
    let json: Value = serde_json::from_str(&report::json(&run.record, &run.findings, None)).unwrap();
    let stalls = &json["findings"]["stalls"][0];
    assert!(stalls["says_data"] == "others" && stalls["says"].as_str().unwrap().contains("267 ms"), "{stalls}");
    let beats = &json["findings"]["beats"];
    assert_eq!((&beats[0]["says_data"], &beats[1]["late"]["p99_ns"]), (&"waiting".into(), &Value::Null));
    assert!(beats[0]["says"].as_str().unwrap().contains("9.9 ms"), "{beats}");
    let without = report::html(&run.record, &support::run().findings);
    assert!(!without.contains("id=\"stops\"") && !without.contains("id=\"beats\""));
}

#[test]
fn the_csv_says_of_each_pass_how_late_a_second_thread_was() {
    let mut run = run();
    let pass = Lateness { deadlines: 200, wake_ups: 20, max_ns: 999, bins: vec![200] };
    let idle = Lateness { deadlines: 100, wake_ups: 100, max_ns: 999, bins: vec![100] };
    run.record.samples[0].beats = Some(Box::new(Beats { period_ns: 1_000_000, pass, idle }));
    let rows = parse_csv(&report::csv(&run.record));
    let at = |row: usize, name: &str| rows[row][rows[0].iter().position(|it| it == name).unwrap()].as_str();
    let names =
        ["beat_deadlines", "beat_wake_ups", "beat_median_ns", "beat_p99_ns", "beat_max_ns", "beat_stalled_share"];
    assert_eq!(names.map(|it| at(1, it)), ["200", "20", "500", "990", "999", "0"]);
    assert_eq!(names.map(|it| at(2, it)), [""; 6], "absent is not 0");
    assert_eq!(at(1, "beside"), "nothing");
}
