//! What to change, as people see it first: the file that matters, each state with its verdict, and what is not known.

use expect_test::expect_file;
use report::Style;
use schema::{
    Condition, ConditionId, Consume, Fill, State, Workload,
    advice::{
        Advice, AdviceCaveat, AdviceCode, AdviceOption, AdviceReason, AdviceSelfCheck, AdviceVerdict, CheckedBy,
        Effort, Grade, How, Settles, Switched, Unchecked,
    },
    advised::{Advised, Group, OtherReached, Pattern, Reach},
    counted::Bin,
    findings::Document,
    reason::Reason,
    record::Resident,
};

use crate::{
    SAVED, check_widths, squeezed,
    support::{Run, condition, estimate, run},
};

const FILE: &str = "/data/t.db";

fn id(index: usize) -> ConditionId {
    ConditionId { condition_index: index, comparison_index: Some(index) }
}

fn advice(index: usize, state: State) -> Advice {
    Advice {
        id: id(index),
        file: FILE.into(),
        files: 1,
        state,
        fill: (state == State::Cached).then_some(Fill::Sequential),
        verdict: AdviceVerdict::Unknown,
        to: None,
        code: AdviceCode::Unknown,
        effort: None,
        grade: None,
        consume: None,
        io: None,
        program: None,
        program_at_most: None,
        because: vec![],
        how: None,
        caveats: vec![],
        settles: None,
        program_ns: None,
        io_ns: None,
        share: None,
        faster_at_most: None,
        at_least: false,
        also: vec![],
        in_advance: vec![],
        switched: vec![],
    }
}

/// Points in a mapping: a switch cold, nothing to gain cached.
pub(crate) fn advised() -> Run {
    let mut all = run();
    (all.record.conditions, all.record.cells, all.record.samples) = (vec![], vec![], vec![]);
    let findings = &mut all.findings;
    (findings.cells, findings.comparisons, findings.map, findings.crossovers) = (vec![], vec![], vec![], vec![]);
    (findings.warnings, findings.claims, findings.figures, findings.costs) = (vec![], vec![], vec![], None);
    findings.answer = Default::default();
    all.record.experiment.title = "What to change about how a command reaches its file".into();
    all.record.conditions = [State::Cold, State::Cached]
        .map(|state| Condition { ops: 543, ..condition(Workload::Replay, 4096, state) })
        .into();
    all.record.advised = Some(Box::new(Advised {
        file: FILE.into(),
        group: None,
        states: vec![State::Cold, State::Cached],
        fills: Vec::new(),
        given: false,
        digest: "0".repeat(64),
        recorder: "ptrace".into(),
        coverage: 1.0,
        not_seen: Default::default(),
        recorded: "native/mmap".into(),
        reach: Reach::Mapping,
        pattern: Pattern {
            file_bytes: 82 << 20,
            accesses: 543,
            bytes: 543 * 4096,
            page_bytes: 4096,
            distinct_pages: 543,
            in_order: 3,
            threads: 1,
            mappings: 1,
            sizes: vec![Bin { value: 4096, events: 543 }],
        },
        others: vec![OtherReached { path: "/data/t.db-wal".into(), bytes: 54 * 4096, mapped_bytes: 0 }],
        others_left_out: 0,
        all_bytes: Some((82 << 20) + 54 * 4096),
        touched_elsewhere: false,
        once: false,
    }));
    let to = |arm: &str, how, effort, grade| AdviceOption {
        to: format!("native/{arm}"),
        code: AdviceCode::M1,
        effort,
        grade,
        consume: Consume::Touch,
        io_ns: Some(estimate(75.4e6, 0.02)),
        io: estimate(2.69, 0.02),
        program: estimate(2.58, 0.05),
        program_at_most: None,
        how,
    };
    let line = "sqlite3 -cmd 'PRAGMA mmap_size=0' t.db '.read q.sql'";
    let cold = Advice {
        verdict: AdviceVerdict::Switch,
        to: Some("native/pread".into()),
        code: AdviceCode::M1,
        effort: Some(Effort::E0),
        grade: Some(Grade::A),
        consume: Some(Consume::Touch),
        io: Some(estimate(2.69, 0.02)),
        program: Some(estimate(2.58, 0.05)),
        because: vec![AdviceReason::BroughtIn { bytes: 19_592.0 * 4096.0, touched_bytes: 543.0 * 4096.0 }],
        how: Some(How::Switch { line: line.into() }),
        caveats: vec![AdviceCaveat::TowardsCalls, AdviceCaveat::WholePages, AdviceCaveat::ThisMachine],
        program_ns: Some(estimate(80.2e6, 0.02)),
        io_ns: Some(estimate(75.4e6, 0.02)),
        share: Some(estimate(0.94, 0.02)),
        faster_at_most: Some(16.7),
        also: vec![to("mmap+random", How::MadviseRandom, Effort::E1, Grade::B)],
        in_advance: vec![to("uring", How::InFlight { depth: 32 }, Effort::E3, Grade::B)],
        switched: vec![Switched {
            arm: "command/switch".into(),
            line: line.into(),
            cell: 2,
            ns: Some(estimate(35.1e6, 0.04)),
            real: Some(estimate(2.28, 0.05)),
            like: Some("native/pread".into()),
            predicted: Some(estimate(2.58, 0.05)),
            predicted_at_most: None,
            reason: None,
        }],
        ..advice(0, State::Cold)
    };
    let cached = Advice {
        verdict: AdviceVerdict::NoDifference,
        code: AdviceCode::Ok,
        because: vec![AdviceReason::BestGains { arm: "native/mmap+populate-read".into(), most: 1.0101 }],
        program_ns: Some(estimate(5.1e6, 0.02)),
        io_ns: Some(estimate(0.4e6, 0.02)),
        share: Some(estimate(0.08, 0.02)),
        faster_at_most: Some(1.087),
        ..advice(1, State::Cached)
    };
    let check = |index, state, by, off: f64| AdviceSelfCheck {
        id: id(index),
        file: FILE.into(),
        state,
        fill: (state == State::Cached).then_some(Fill::Sequential),
        by,
        program: Some(75.1e6),
        replay: Some(75.1e6 * (1.0 + off)),
        off: Some(off),
        passed: true,
        own_work_ns: 0,
        why: None,
    };
    all.findings.advice = vec![cold, cached];
    all.findings.advice_self_check =
        vec![check(0, State::Cold, CheckedBy::ColdLessCached, -0.03), check(1, State::Cached, CheckedBy::Faults, -0.4)];
    all
}

fn first(run: &Run, width: usize) -> String {
    report::terminal(&run.record, &run.findings, Style { width, colour: false, details: false }, Some(SAVED))
}

#[test]
fn the_first_screen_of_advice_reads_well_at_every_usual_width() {
    let run = advised();
    expect_file!["../snapshots/advice-80.txt"].assert_eq(&first(&run, 80));
    expect_file!["../snapshots/advice-120.txt"].assert_eq(&first(&run, 120));
    expect_file!["../snapshots/advice.md"].assert_eq(&report::markdown(&run.record, &run.findings));
    check_widths(&run);
}

#[test]
fn what_was_found_of_a_file_is_part_of_the_start() {
    let mut run = advised();
    run.findings.advice[0].state = State::AsFound;
    for (pages, share) in [(4100, "41 %"), (9999, "more than 99 %"), (1, "less than 0.1 %")] {
        run.findings.found = Some(Resident { pages, of: 10_000 });
        let screen = squeezed(&first(&run, 100));
        assert!(screen.contains(&format!("as-found {share} of it in the page cache: 80.2 ms")), "{screen}");
        assert_eq!(screen.matches("in the page cache").count(), 1, "{screen}");
    }
}

#[test]
fn the_share_of_another_file_is_of_all_that_was_read_or_mapped() {
    let mut run = advised();
    let screen = squeezed(&first(&run, 100));
    assert!(
        screen.contains("/data/t.db-wal (0.3 % of all that is read or mapped)"),
        "a file of 82 MiB is mapped beside it: {screen}"
    );
    run.record.advised.as_mut().unwrap().all_bytes = None;
    let screen = squeezed(&first(&run, 100));
    assert!(screen.contains("/data/t.db-wal") && !screen.contains("of all that is"), "{screen}");
}

#[test]
fn more_files_than_a_number_can_say_end_nothing() {
    let mut run = advised();
    let of = run.record.advised.as_mut().unwrap();
    of.others = vec![of.others[0].clone(); 5];
    of.others_left_out = u64::MAX;
    assert!(first(&run, 100).contains(" more"));
}

#[test]
fn a_mapping_of_another_file_is_no_share_of_the_bytes_where_it_is_not_known_how_much_is_touched() {
    let mut run = advised();
    let of = run.record.advised.as_mut().unwrap();
    (of.others[0].bytes, of.others[0].mapped_bytes) = (20 << 20, 20 << 20);
    let screen = squeezed(&first(&run, 100));
    assert!(screen.contains("20 MiB mapped") && !screen.contains("of all that is"), "{screen}");
    // What it reads is most of it.
    run.record.advised.as_mut().unwrap().others[0].mapped_bytes = 4096;
    let screen = squeezed(&first(&run, 100));
    assert!(screen.contains("of all that is"), "{screen}");
}

#[test]
fn a_command_line_to_be_executed_stands_as_it_is() {
    let mut run = advised();
    let line = format!("grep -c 'a  b' {} last", "x".repeat(2000));
    let how = Some(How::Switch { line: line.clone() });
    run.findings.advice[0] =
        Advice { verdict: AdviceVerdict::Switch, how, to: None, io: None, ..advice(0, State::Cold) };
    let plain = |text: String| text.replace('\u{a0}', " ").replace(&['\n', '\r'][..], "");
    let ends = |text: &str| text.contains("'a  b'") && text.contains("x last") && !text.contains("left out");
    let (record, findings) = (&run.record, &run.findings);
    let screen = plain(first(&run, 3000));
    assert!(ends(&screen), "{screen}");
    let html = report::html(record, findings);
    assert!(
        html.contains("<code class=\"whole\">grep")
            && html.contains("code.whole, .called code { white-space: pre-wrap")
    );
    for text in [report::markdown(record, findings), html] {
        assert!(ends(&plain(text.clone()).replace("&#39;", "'")), "{text}");
    }
}

#[test]
fn a_share_that_may_be_more_than_its_replay_is_a_range() {
    let with = |share: f64, most: Option<f64>| {
        let mut run = advised();
        let cached = &mut run.findings.advice[1];
        (cached.share, cached.faster_at_most) = (Some(estimate(share, 0.01)), most);
        squeezed(&first(&run, 120))
    };
    assert!(with(0.06, Some(3.08)).contains("6 % to 68 % of it reaching the file: other methods"));
    assert!(with(0.06, Some(1.0 / 0.9394)).contains(", 6 % of it reaching the file: other methods"));
    assert!(with(0.06, None).contains("5 % of it or more reaching the file"));
    assert!(with(0.99, None).contains("about all of it reaching the file"));
    assert!(with(0.0, None).contains("how much of it reaches the file is not known"));
}

#[test]
fn a_gain_that_is_the_least_has_no_interval_unless_it_was_measured() {
    let mut run = advised();
    run.findings.advice[0].at_least = true;
    for shown in [first(&run, 120), report::markdown(&run.record, &run.findings)] {
        let shown = squeezed(&shown).replace("&gt;", ">");
        assert!(
            shown.contains("program 80.2 ms -> 31.1 ms [") && shown.contains("program 80.2 ms -> at most 3"),
            "{shown}"
        );
        assert!(shown.contains("for less than half of what it spends on the file)"), "{shown}");
    }
    run.findings.advice[0].grade = Some(Grade::C);
    assert!(!squeezed(&first(&run, 120)).contains("program 80.2 ms -> 31.1 ms ["));
}

#[test]
fn what_a_trace_has_of_the_file_is_called_what_it_is() {
    let with = |reach: Reach, coverage: f64| {
        let mut run = advised();
        let advised = run.record.advised.as_mut().unwrap();
        (advised.reach, advised.coverage) = (reach, coverage);
        squeezed(&first(&run, 100))
    };
    assert!(with(Reach::Calls, 1.0).contains("543 reads not one after the other; 2.12 MiB reached"));
    let mut one = advised();
    let advised = one.record.advised.as_mut().unwrap();
    (advised.reach, advised.pattern.accesses, advised.pattern.in_order) = (Reach::Calls, 1, 0);
    assert!(squeezed(&first(&one, 100)).contains("1 read; 2.12 MiB reached"), "one has no order");
    one.findings.advice[1].fill = Some(Fill::Found);
    assert!(squeezed(&first(&one, 100)).contains("cached fill found: 5.10 ms"), "{}", first(&one, 100));
    // Some of the accesses are touches of pages, which no call read.
    let both = with(Reach::Both, 1.0);
    assert!(both.contains("543 reads and touched pages; 2.12 MiB reached") && both.contains("all accesses"), "{both}");
    let mut without = self::advised();
    let asked = without.record.advised.as_mut().unwrap();
    (asked.reach, asked.not_seen.incomplete) =
        (Reach::Both, vec!["touched pages of t.db: they were not recorded".into()]);
    let without = squeezed(&first(&without, 100));
    assert!(without.contains("at least 2.12 MiB reached") && without.contains("not all accesses"), "{without}");
    let unseen = with(Reach::UnseenMapping { why: "not cold".into() }, 1.0);
    assert!(unseen.contains("at least 2.12 MiB reached") && unseen.contains("not all accesses"), "{unseen}");
    let part = with(Reach::Calls, 0.015);
    assert!(part.contains("at least 2.12 MiB reached") && part.contains("1.5 % of the accesses"), "{part}");
    let nearly = with(Reach::Calls, 0.999_999);
    assert!(nearly.contains("more than 99 % of the accesses"), "{nearly}");
    // A log of calls has no touches.
    let whole = |mappings: u64| {
        let mut run = self::advised();
        let advised = run.record.advised.as_mut().unwrap();
        (advised.reach, advised.coverage, advised.pattern.mappings) = (Reach::Calls, 1.0, mappings);
        squeezed(&first(&run, 100)).contains("8 MiB; all accesses")
    };
    assert_eq!([0, 1].map(whole), [true, false]);
}

#[test]
fn the_page_says_what_the_first_screen_says() {
    let run = advised();
    let page = crate::squeezed(&report::html(&run.record, &run.findings));
    for words in ["What to change", "MADV_RANDOM", "FL-M1", "FL-OK", "effort E0, grade A"] {
        assert!(page.contains(words), "{words}");
    }
}

/// A tree of small files, each mapped by itself.
fn tree(folder: &str) -> Run {
    let mut run = advised();
    let record = run.record.advised.as_mut().unwrap();
    record.file = folder.into();
    record.group = Some(Group { files: 2000, median_bytes: 8192, opens: 4000, touched_whole: 1999 });
    let cold = &mut run.findings.advice[0];
    (cold.file, cold.files, cold.code) = (folder.into(), 2000, AdviceCode::M3);
    cold.because = vec![AdviceReason::ManySmall { mappings: 2000, median_bytes: 8192 }];
    cold.how = Some(How::ReadWhole);
    cold.caveats =
        vec![AdviceCaveat::TouchedWhole { files: 1999 }, AdviceCaveat::OpenedAgain { opens: 4000, files: 2000 }];
    run
}

#[test]
fn several_files_are_named_by_their_folder_and_their_number_in_every_document() {
    let mut part = tree("/data/tree");
    assert!(squeezed(&first(&part, 100)).contains("at most 2.12 MiB reached"), "{}", first(&part, 100));
    part.record.advised.as_mut().unwrap().coverage = 0.5;
    let part = squeezed(&first(&part, 100));
    assert!(part.contains("; about 2.12 MiB reached"), "touched whole, and not all seen: {part}");
    let run = tree("/data/tree");
    let says = [
        "2,000 files below /data/tree",
        "FL-M3",
        "2,000 mappings are made; half of the files have no more than 8 KiB",
        "read the whole file into a buffer that is used again",
        "of 1,999 files of less than 1 MiB that are mapped, it is assumed that every page is touched",
        "the program opens 2,000 files 4,000 times, and the replay opens each once",
    ];
    let documents = [
        squeezed(&first(&run, 100)),
        squeezed(&report::markdown(&run.record, &run.findings)),
        squeezed(&report::html(&run.record, &run.findings)),
    ];
    for (document, words) in documents.iter().flat_map(|it| says.iter().map(move |words| (it, words))) {
        assert!(document.contains(words), "{words}: {document}");
    }
    check_widths(&run);
    let text = report::json(&run.record, &run.findings, None);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cold = &value["findings"]["advice"][0];
    assert_eq!((&cold["file"], &cold["files"]), (&"/data/tree".into(), &2000.into()));
    assert!(value["findings"]["advice"][1].get("files").is_none(), "absent where it is one");
    assert_eq!(value["record"]["advised"]["group"]["files"], 2000);
}

#[test]
fn a_folder_whose_name_holds_control_characters_and_markup_is_shown_as_text() {
    let run = tree("/data/\u{1b}[2J\n<script>x</script>");
    let screen = first(&run, 100);
    assert!(!screen.contains('\u{1b}') && !screen.contains("\n<script>"), "{screen}");
    assert!(!report::html(&run.record, &run.findings).contains("<script>x"));
}

#[test]
fn every_reason_is_a_sentence_in_json_beside_its_data() {
    let run = advised();
    let text = report::json(&run.record, &run.findings, None);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cold = &value["findings"]["advice"][0];
    assert_eq!((&cold["verdict"], &cold["code"]), (&"switch".into(), &"FL-M1".into()));
    assert_eq!((&cold["to"], &cold["effort"], &cold["grade"]), (&"native/pread".into(), &"E0".into(), &"A".into()));
    assert!(cold["program"]["ci_low"].is_number() && cold["because"][0].is_string() && cold["how"].is_string());
    assert_eq!(cold["caveats"].as_array().unwrap().len(), 3);
    assert!(value["findings"]["advice_self_check"][0]["passed"].as_bool().unwrap());
    let read: Document = serde_json::from_str(&text).unwrap();
    assert_eq!((read.findings, read.record), (run.findings, run.record));
}

#[test]
fn why_a_replay_was_not_held_against_its_program_is_said_once() {
    let mut run = advised();
    let why = Unchecked::NoColdTime;
    run.findings.advice =
        vec![Advice { because: vec![AdviceReason::NotChecked { why: why.clone() }], ..advice(0, State::Cold) }];
    let check = run.findings.advice_self_check[0].clone();
    run.findings.advice_self_check[0] = AdviceSelfCheck { off: None, passed: false, why: Some(why), ..check };
    let screen = squeezed(&first(&run, 100));
    assert_eq!(screen.matches("takes no longer than cached").count(), 1, "{screen}");
}

#[test]
fn a_replay_with_own_work_says_how_much_and_of_hardly_any_time_no_share_is_said() {
    let mut run = advised();
    let check = run.findings.advice_self_check[0].clone();
    let screen = |run: &Run| squeezed(&first(run, 100));
    assert!(!screen(&run).contains("own work between"));
    run.findings.advice_self_check[0] = AdviceSelfCheck { own_work_ns: 364_000_000, ..check.clone() };
    assert!(screen(&run).contains("364 ms of own work"), "{}", screen(&run));
    let (program, replay) = (Some(3e6), Some(7e6));
    run.findings.advice_self_check[0] = AdviceSelfCheck { program, replay, off: Some(1.33), ..check };
    assert!(screen(&run).contains("7.00 ms and 3.00 ms") && !screen(&run).contains("133 %"), "{}", screen(&run));
}

#[test]
fn what_is_not_known_says_why_and_what_would_settle_it() {
    let mut run = advised();
    let reasons = [
        (AdviceReason::SelfCheckFailed { off: 0.38, most: 0.15 }, Settles::Switch, "38 % more"),
        (AdviceReason::NotChecked { why: Unchecked::NoColdTime }, Settles::Switch, "takes no longer than cached"),
        (AdviceReason::RanOnce, Settles::WithoutOnce, "--once"),
        (AdviceReason::Incomplete { coverage: 0.5 }, Settles::Reason, "50 %"),
        (AdviceReason::NotMeasured { reason: Reason::NoPass }, Settles::Reason, "no pass was made"),
        (
            AdviceReason::TooFewRounds { rounds: 2, least: 5 },
            Settles::LargerBudget { seconds: Some(180) },
            "try --budget 180s",
        ),
        (AdviceReason::PagesUnseen { why: "it was not cold".into() }, Settles::ExactRecording, "--exact-budget"),
    ];
    for (because, settles, words) in reasons {
        run.findings.advice = vec![Advice { because: vec![because], settles: Some(settles), ..advice(0, State::Cold) }];
        let screen = squeezed(&first(&run, 100));
        assert!(screen.contains(words) && screen.contains("don't know"), "{screen}");
    }
}

#[test]
fn what_a_record_names_becomes_neither_markup_nor_a_line_of_its_own() {
    let mut run = advised();
    let evil = "<b>\u{1b}[2J\n* [x](y)";
    run.record.advised.as_mut().unwrap().file = evil.into();
    run.findings.advice[0].switched[0].line = evil.into();
    run.findings.advice[0].how = Some(How::Switch { line: evil.into() });
    run.findings.advice[0].to = Some(evil.into());
    assert!(!first(&run, 80).contains('\u{1b}'));
    assert!(!report::html(&run.record, &run.findings).contains("<b>\u{1b}"));
    let markdown = report::markdown(&run.record, &run.findings);
    // A command is code.
    let outside: String = markdown.split('`').step_by(2).collect();
    assert!(!outside.contains("<b>") && !markdown.contains("\n* [x]"), "{markdown}");
    check_widths(&run);
}
