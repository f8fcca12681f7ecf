//! Claims over several runs: the newest run that could decide a claim counts, from all that the experiment asks before
//! from a part of it.

use analysis::Claims;
use schema::{
    Reading, Record,
    claims::{Later, Ledger, LedgerEntry},
    findings::ClaimVerdict::{self, Holds, Mixed, NoDifference, NotTestableHere, Reversed, Undecided},
    machine::{KeySource, Machine, MadeOn, Origin},
    record::ScenarioResult,
};

use crate::support::Lab;

const EXPERIMENT: &str = r#"
title = "Duel"
source = "a test"
[[compare]]
arms = ["read", "mmap"]
workload = "scan"
block = "64 KiB"
state = "cached"
[[claim]]
id = "it"
says = "mmap is faster"
arm = "mmap"
than = "read"
expect = "lower"
"#;

/// A run that began on this day; so many rounds, `read` at 10,000 ns and `mmap` at this.
fn run(day: u32, rounds: u32, mmap: f64) -> Record {
    run_of_text(EXPERIMENT, day, rounds, mmap)
}

fn run_of_text(text: &str, day: u32, rounds: u32, mmap: f64) -> Record {
    let mut lab = Lab::of_experiment(text);
    (lab.record.id, lab.record.started) = (day.to_string(), format!("2026-11-{day:02}T00:00:00Z"));
    lab.measure(0, rounds, 10_000.0, |_, pass| pass.ns_per_op = 10_000.0);
    lab.measure(1, rounds, mmap, |_, pass| pass.ns_per_op = mmap);
    lab.record
}

/// One without `mmap`.
fn narrow(day: u32) -> Record {
    let mut record = run(day, 10, 10_000.0);
    record.experiment.comparisons[0].arms.truncate(1);
    record.cells.truncate(1);
    record.samples.retain(|sample| sample.cell == 0);
    record
}

fn here(record: &Record) -> MadeOn {
    MadeOn::new(&record.environment, Origin::Own)
}

fn ledger(runs: &[Record]) -> Ledger {
    let mut claims = Claims::default();
    runs.iter().for_each(|it| claims.add(&it.id, it, &here(it)));
    claims.ledger(None).unwrap()
}

/// Verdict, the run it is from, and the later run that is named beside it; in whatever order the runs come.
#[track_caller]
fn check(runs: &[Record], verdict: ClaimVerdict, from: u32, later: Option<u32>) {
    let mut runs = runs.to_vec();
    for _ in 0..2 {
        runs.reverse();
        let entries = ledger(&runs).entries;
        let [LedgerEntry { claim, run, later: named, .. }] = &entries[..] else { panic!("{entries:?}") };
        let named = named.as_ref().map(|it| it.run.clone());
        assert_eq!((claim.verdict, run, named), (verdict, &from.to_string(), later.map(|it| it.to_string())));
    }
}

#[test]
fn the_newest_run_that_decided_a_claim_counts() {
    check(&[run(1, 10, 5_000.0), run(2, 10, 20_000.0)], Reversed, 2, None);
    check(&[run(1, 10, 20_000.0), run(2, 10, 5_000.0), run(3, 10, 5_000.0)], Holds, 3, None);
}

#[test]
fn an_entry_says_what_was_measured_and_on_which_file_system() {
    let mut in_memory = run(1, 10, 5_000.0);
    (in_memory.target.path, in_memory.target.made_here) = ("/dev/shm/test".into(), true);
    in_memory.target.file_system = "tmpfs".into();
    let described = in_memory.target.described();
    let entry = &ledger(&[in_memory]).entries[0];
    assert_eq!((entry.target.as_str(), entry.file_system.as_str()), (described.as_str(), "tmpfs"));
}

#[test]
fn two_files_of_one_name_are_two_experiments_by_their_titles() {
    let titled = |title: &str, record: Record| {
        let mut record = record;
        record.experiment.title = title.into();
        record
    };
    let mut runs = [
        titled("One", run(1, 10, 5_000.0)),
        titled("Another", run(2, 10, 20_000.0)),
        titled("One", run(3, 10, 5_000.0)),
    ];
    for _ in 0..2 {
        runs.reverse();
        let entries = ledger(&runs).entries;
        let found: Vec<_> = entries.iter().map(|it| (it.title.as_str(), it.run.as_str(), it.claim.verdict)).collect();
        assert_eq!(found, [("Another", "2", Reversed), ("One", "3", Holds)]);
    }
}

#[test]
fn a_run_that_could_not_test_a_claim_replaces_none_that_could() {
    check(&[run(1, 10, 5_000.0), narrow(2)], Holds, 1, Some(2));
    check(&[run(1, 10, 5_000.0), narrow(2), narrow(3)], Holds, 1, Some(3));
    check(&[narrow(1), run(2, 10, 5_000.0)], Holds, 2, None);
    check(&[run(1, 10, 5_000.0), narrow(2), run(3, 10, 20_000.0)], Reversed, 3, None);
    check(&[narrow(1), narrow(2)], NotTestableHere, 2, None);
}

#[test]
fn neither_does_one_that_was_interrupted_or_had_too_few_rounds() {
    let interrupted = |day| Record { partial: Some("interrupted".into()), ..run(day, 10, 20_000.0) };
    check(&[run(1, 10, 5_000.0), interrupted(2)], Holds, 1, Some(2));
    check(&[run(1, 10, 5_000.0), run(2, 4, 20_000.0)], Holds, 1, Some(2));
    // What measured something says more than what lacks the arm.
    check(&[run(1, 4, 20_000.0), narrow(2)], Undecided, 1, Some(2));
    check(&[interrupted(1), narrow(2)], Undecided, 1, Some(2));
}

#[test]
fn a_run_that_ended_before_it_had_anything_about_a_claim_replaces_none_that_says_why_it_cannot_be_tested() {
    let ended_at_once = |day| Record { partial: Some("interrupted".into()), ..run(day, 0, 10_000.0) };
    check(&[narrow(1), ended_at_once(2)], NotTestableHere, 1, Some(2));
    check(&[ended_at_once(1), narrow(2)], NotTestableHere, 2, None);
    check(&[ended_at_once(1)], Undecided, 1, None);
    let lacks_the_arm = |day| Record { partial: Some("interrupted".into()), ..narrow(day) };
    check(&[narrow(1), lacks_the_arm(2)], NotTestableHere, 1, Some(2));
}

#[test]
fn a_newer_run_whose_interval_crosses_the_margin_counts() {
    let mut wide = run(2, 0, 1.0);
    let mut lab = Lab::of_experiment(EXPERIMENT);
    lab.measure(0, 10, 10_000.0, |_, _| {});
    lab.measure(1, 10, 10_000.0, |round, pass| pass.ns_per_op *= if round % 2 == 0 { 0.8 } else { 0.99 });
    wide.samples = lab.record.samples;
    check(&[run(1, 10, 5_000.0), wide], Undecided, 2, None);
}

#[test]
fn a_study_that_is_neither_built_in_nor_saved_has_no_ledger() {
    let of = |only| {
        let mut written = Lab::of_experiment(EXPERIMENT).record.experiment;
        written.claims.clear();
        let mut claims = Claims::new(vec![written]);
        let run = run(1, 10, 5_000.0);
        claims.add("1", &run, &here(&run));
        claims.ledger(only)
    };
    assert_eq!(of(Some("elsewhere")), None);
    assert_eq!(of(Some("made-up")).unwrap().entries.len(), 1);
    assert_eq!(of(None).unwrap().not_run, [], "it was run under this name");
}

/// The claim of an experiment with two block sizes; `mmap` takes this long with each.
fn two_blocks(day: u32, mmap: f64) -> Record {
    let mut lab = Lab::of_experiment(&EXPERIMENT.replace("\"64 KiB\"", "[\"64 KiB\", \"4 KiB\"]"));
    (lab.record.id, lab.record.started) = (day.to_string(), format!("2026-11-{day:02}T00:00:00Z"));
    for cell in 0..lab.record.cells.len() {
        let ns = if lab.record.cells[cell].arm.method == "mmap" { mmap } else { 10_000.0 };
        lab.measure(cell, 10, ns, |_, pass| pass.ns_per_op = ns);
    }
    lab.record
}

/// The same with `--block "64 KiB"`.
fn one_block_of_two(day: u32, mmap: f64) -> Record {
    let written = two_blocks(day, mmap).experiment;
    let mut filtered = run(day, 10, mmap);
    filtered.experiment.note_filtered(&written);
    assert_eq!(filtered.experiment.filtered_claims, ["it"]);
    filtered
}

fn why_later(runs: &[Record]) -> Option<Later> {
    ledger(runs).entries[0].later.as_ref().map(|it| it.why)
}

fn of_scenario(day: u32, holds: bool) -> Record {
    let text = EXPERIMENT.replace("arm = \"mmap\"\nthan = \"read\"\nexpect = \"lower\"", "scenario = \"shared-write\"");
    let mut record = run_of_text(&text, day, 10, 5_000.0);
    let seen = ScenarioResult { holds, evidence: String::new() };
    record.scenarios.insert("shared-write".into(), Reading::Value(seen));
    record
}

#[test]
fn of_a_scenario_a_later_part_is_held_against_the_whole_by_the_verdict() {
    for (holds, why) in [(true, Later::PartialAgrees), (false, Later::PartialContradicts)] {
        let mut part = of_scenario(2, holds);
        part.experiment.filtered_claims = vec!["it".into()];
        assert_eq!(why_later(&[of_scenario(1, true), part]), Some(why));
    }
}

#[test]
fn a_run_that_options_narrowed_replaces_none_that_measured_all_of_a_claim() {
    let contradicts = [two_blocks(1, 5_000.0), one_block_of_two(2, 20_000.0)];
    check(&contradicts, Holds, 1, Some(2));
    assert_eq!(why_later(&contradicts), Some(Later::PartialContradicts));
    let agrees = [two_blocks(1, 5_000.0), one_block_of_two(2, 5_000.0)];
    check(&agrees, Holds, 1, Some(2));
    assert_eq!(why_later(&agrees), Some(Later::PartialAgrees));
    // One that contradicts is named before a newer one that does not.
    check(&[two_blocks(1, 5_000.0), one_block_of_two(2, 20_000.0), one_block_of_two(3, 5_000.0)], Holds, 1, Some(2));
    check(&[one_block_of_two(1, 5_000.0), two_blocks(2, 20_000.0)], Reversed, 2, None);
    // Of two that are narrow the newest counts.
    check(&[one_block_of_two(1, 5_000.0), one_block_of_two(2, 20_000.0)], Reversed, 2, None);
}

/// A run with these blocks that comes to this verdict.
fn run_of(day: u32, blocks: &str, verdict: ClaimVerdict) -> Record {
    run_of_each(day, blocks, |condition| match verdict {
        Mixed => [Holds, Reversed][condition.min(1)],
        verdict => verdict,
    })
}

/// A run whose conditions come to these verdicts.
fn run_of_each(day: u32, blocks: &str, verdict: impl Fn(usize) -> ClaimVerdict) -> Record {
    let mut lab = Lab::of_experiment(&EXPERIMENT.replace("\"64 KiB\"", blocks));
    (lab.record.id, lab.record.started) = (day.to_string(), format!("2026-11-{day:02}T00:00:00Z"));
    for cell in 0..lab.record.cells.len() {
        let is_mmap = lab.record.cells[cell].arm.method == "mmap";
        let verdict = verdict(lab.record.cells[cell].condition);
        let ns = match verdict {
            Holds if is_mmap => 5_000.0,
            Reversed if is_mmap => 20_000.0,
            _ => 10_000.0,
        };
        lab.measure(cell, 10, ns, |round, pass| {
            let crosses = is_mmap && verdict == Undecided;
            pass.ns_per_op *= if crosses { [0.8, 0.99][round as usize % 2] } else { 1.0 };
        });
    }
    lab.record
}

#[test]
fn a_later_run_of_a_part_is_said_to_contradict_where_both_decided_and_otherwise_alone() {
    const ALL: [ClaimVerdict; 5] = [Holds, Reversed, NoDifference, Mixed, Undecided];
    for whole in ALL {
        for part in ALL {
            let counts = run_of(1, "[\"64 KiB\", \"16 KiB\", \"4 KiB\"]", whole);
            let mut later = run_of(2, "[\"64 KiB\", \"16 KiB\"]", part);
            later.experiment.note_filtered(&counts.experiment);
            let runs = [counts, later];
            check(&runs, whole, 1, Some(2));
            let entries = ledger(&runs).entries;
            assert_eq!(entries[0].later.as_ref().unwrap().verdict, part);
            let why = match (whole, part) {
                (_, Undecided) => Later::Undecided,
                (Undecided, _) => Later::PartialDecides,
                _ if whole == part => Later::PartialAgrees,
                _ => Later::PartialContradicts,
            };
            assert_eq!(why_later(&runs), Some(why), "{part:?} after {whole:?}");
        }
    }
}

#[test]
fn a_part_that_finds_what_the_whole_found_there_contradicts_nothing() {
    let whole = run_of_each(1, "[\"64 KiB\", \"16 KiB\", \"4 KiB\"]", |it| [Holds, NoDifference, Holds][it]);
    for (blocks, verdict, why) in [
        ("\"16 KiB\"", vec![NoDifference], Later::PartialAgrees),
        ("\"64 KiB\"", vec![Holds], Later::PartialAgrees),
        // That is mixed, as the whole is there.
        ("\"64 KiB\", \"16 KiB\"", vec![Holds, NoDifference], Later::PartialAgrees),
        ("\"64 KiB\", \"16 KiB\"", vec![NoDifference, Holds], Later::PartialContradicts),
        ("\"64 KiB\"", vec![Reversed], Later::PartialContradicts),
    ] {
        let mut part = run_of_each(2, &format!("[{blocks}]"), |it| verdict[it]);
        part.experiment.note_filtered(&whole.experiment);
        let runs = [whole.clone(), part];
        check(&runs, Holds, 1, Some(2));
        assert_eq!(why_later(&runs), Some(why), "{blocks} {verdict:?}");
    }
}

/// A run with these numbers of threads, each with its verdict.
fn run_of_threads(day: u32, threads: &[(u32, ClaimVerdict)]) -> Record {
    let blocks = ["\"64 KiB\"", "\"64 KiB\", \"16 KiB\""][threads.len() - 1];
    let mut run = run_of_each(day, &format!("[{blocks}]"), |it| threads[it].1);
    let compare = &mut run.experiment.comparisons[0];
    compare.threads = threads.iter().map(|it| it.0).collect();
    compare.block.truncate(1);
    for (condition, (threads, _)) in run.conditions.iter_mut().zip(threads) {
        (condition.threads, condition.block_bytes) = (*threads, 64 << 10);
    }
    run
}

#[test]
fn a_later_run_is_held_against_the_one_that_counts_by_what_both_asked_and_not_by_what_that_is_called() {
    let whole = || run_of_threads(1, &[(1, Holds), (2, Reversed)]);
    let part = |threads: u32, verdict: ClaimVerdict| {
        let mut part = run_of_threads(2, &[(threads, verdict)]);
        part.experiment.note_filtered(&whole().experiment);
        part
    };
    for (threads, verdict, why) in [
        (1, Holds, Later::PartialAgrees),
        (1, Reversed, Later::PartialContradicts),
        (2, Reversed, Later::PartialAgrees),
        (2, Holds, Later::PartialContradicts),
    ] {
        let runs = [whole(), part(threads, verdict)];
        check(&runs, Mixed, 1, Some(2));
        assert_eq!(why_later(&runs), Some(why), "{threads} {verdict:?}");
    }
}

#[test]
fn a_later_run_that_shares_no_condition_with_the_one_that_counts_neither_agrees_nor_contradicts() {
    let whole = || run_of(1, "[\"64 KiB\", \"16 KiB\"]", Holds);
    for (blocks, why) in [("[\"4 KiB\"]", Later::Elsewhere), ("[\"64 KiB\", \"4 KiB\"]", Later::Elsewhere)] {
        for verdict in [Holds, Reversed] {
            // As records have it that do not say what options replaced.
            let mut later = run_of(2, blocks, verdict);
            later.experiment.filtered_claims = vec!["it".into()];
            let runs = [whole(), later];
            check(&runs, Holds, 1, Some(2));
            let why = if verdict == Reversed && blocks.contains("64") { Later::PartialContradicts } else { why };
            assert_eq!(why_later(&runs), Some(why), "{blocks} {verdict:?}");
        }
    }
}

#[test]
fn a_later_run_decides_what_the_one_that_counts_left_open_under_one_condition() {
    let whole = run_of_each(1, "[\"64 KiB\", \"16 KiB\", \"4 KiB\"]", |it| [Holds, Undecided, Holds][it]);
    let mut part = run_of(2, "[\"16 KiB\"]", Reversed);
    part.experiment.note_filtered(&whole.experiment);
    let runs = [whole, part];
    check(&runs, Holds, 1, Some(2));
    assert_eq!(why_later(&runs), Some(Later::PartialDecides));
}

#[test]
fn a_run_of_some_sizes_of_the_job_or_of_other_ones_replaces_none_of_all() {
    let of = |day: u32, ops: &str, mmap: f64| {
        let mut lab = Lab::of_experiment(&EXPERIMENT.replace("state =", &format!("{ops}\nstate =")));
        (lab.record.id, lab.record.started) = (day.to_string(), format!("2026-11-{day:02}T00:00:00Z"));
        for cell in 0..lab.record.cells.len() {
            let ns = if lab.record.cells[cell].arm.method == "mmap" { mmap } else { 10_000.0 };
            lab.measure(cell, 10, ns, |_, pass| pass.ns_per_op = ns);
        }
        lab.record
    };
    let all = || of(1, "ops = [100, 1000]", 5_000.0);
    let with = |ops: &str| {
        let mut run = of(2, ops, 20_000.0);
        run.experiment.note_filtered(&all().experiment);
        run
    };
    check(&[all(), with("ops = 100")], Holds, 1, Some(2));
    check(&[all(), with("ops = [100, 7]")], Holds, 1, Some(2));
    check(&[all(), with("ops = [1000, 100, 7]")], Reversed, 2, None);
    let mut sized = of(2, "ops = 100", 20_000.0);
    sized.experiment.note_filtered(&of(1, "", 5_000.0).experiment);
    check(&[of(1, "", 5_000.0), sized], Holds, 1, Some(2));
}

#[test]
fn a_run_that_lacks_a_condition_for_want_of_time_is_narrow_too() {
    let mut lacks = two_blocks(2, 20_000.0);
    lacks.samples.retain(|sample| sample.cell < 2);
    for cell in &mut lacks.cells[2..] {
        cell.skipped = Some(schema::Skip::Untried);
    }
    check(&[two_blocks(1, 5_000.0), lacks], Holds, 1, Some(2));
}

#[test]
fn an_option_that_leaves_out_nothing_of_a_claim_does_not_narrow_it() {
    let text = EXPERIMENT.replace("expect = \"lower\"", "expect = \"lower\"\nwhere = { state = [\"cached\"] }");
    let written = Lab::of_experiment(&text.replace("state = \"cached\"", "state = [\"cold\", \"cached\"]"));
    let mut filtered = Lab::of_experiment(&text).record.experiment;
    filtered.note_filtered(&written.record.experiment);
    assert!(filtered.filtered_claims.is_empty());
}

#[test]
fn an_older_record_of_a_study_is_held_against_the_study_as_it_is_written() {
    let mut claims = Claims::new(vec![two_blocks(1, 5_000.0).experiment]);
    for (name, run) in [("wide", two_blocks(1, 5_000.0)), ("narrow", run(2, 10, 20_000.0))] {
        claims.add(name, &run, &here(&run));
    }
    let entry = &claims.ledger(None).unwrap().entries[0];
    assert_eq!((entry.claim.verdict, entry.run.as_str()), (Holds, "wide"));
}

#[test]
fn claims_of_two_files_with_one_name_are_two_claims() {
    let mut other = run(2, 10, 20_000.0);
    other.experiment.claims[0].says = "something else".into();
    let entries = ledger(&[run(1, 10, 5_000.0), other]).entries;
    assert_eq!(entries.iter().map(|it| it.claim.verdict).collect::<Vec<_>>(), [Holds, Reversed]);
}

#[test]
fn claims_of_one_id_and_wording_that_ask_something_else_are_two() {
    let of = |day: u32, mmap: f64, change: &dyn Fn(&mut schema::experiment::Claim)| {
        let mut run = run(day, 10, mmap);
        change(&mut run.experiment.claims[0]);
        run
    };
    let first = || of(1, 5_000.0, &|_| {});
    let turned: &dyn Fn(&mut schema::experiment::Claim) = &|it| it.expect = Some(schema::experiment::Expect::Higher);
    let elsewhere: &dyn Fn(&mut schema::experiment::Claim) = &|it| it.only.state = vec![schema::State::Cached];
    for change in [turned, elsewhere] {
        let mut runs = [first(), of(2, 5_000.0, change)];
        for _ in 0..2 {
            let entries = ledger(&runs).entries;
            let mut from: Vec<&str> = entries.iter().map(|it| it.run.as_str()).collect();
            from.sort_unstable();
            assert_eq!(from, ["1", "2"]);
            runs.reverse();
        }
    }
    check(&[first(), of(2, 20_000.0, &|_| {})], Reversed, 2, None);
}

#[test]
fn a_claim_about_a_name_that_is_given_to_another_arm_is_another_claim() {
    let of = |day: u32, mmap: f64, method: &str| {
        let arms = format!("title = \"Duel\"\n[arms]\nours = {{ method = \"{method}\" }}\n");
        let text = EXPERIMENT.replace("\"mmap\"", "\"ours\"").replace("title = \"Duel\"\nsource = \"a test\"\n", &arms);
        run_of_text(&text, day, 10, mmap)
    };
    let first = of(1, 5_000.0, "mmap");
    let entries = ledger(&[first.clone(), of(2, 20_000.0, "pread")]).entries;
    let found: Vec<(&str, ClaimVerdict)> = entries.iter().map(|it| (it.run.as_str(), it.claim.verdict)).collect();
    assert_eq!(found, [("1", Holds), ("2", Reversed)]);
    check(&[first.clone(), of(2, 20_000.0, "mmap")], Reversed, 2, None);
    // One that lacks the arm is none of another claim, whatever order they come in.
    let mut without = narrow(3);
    without.experiment.claims[0].arm = Some("ours".into());
    let runs = [first, of(2, 20_000.0, "pread"), without];
    for order in [[0, 1, 2], [2, 0, 1], [2, 1, 0]] {
        let entries = ledger(&order.map(|it| runs[it].clone())).entries;
        let found: Vec<ClaimVerdict> = entries.iter().map(|it| it.claim.verdict).collect();
        assert!(found.len() == 2 && [Holds, Reversed].iter().all(|it| found.contains(it)), "{order:?}: {found:?}");
    }
}

#[test]
fn a_claim_has_an_answer_for_each_machine_and_an_imported_one_is_none_of_this() {
    let on = |record: Record, key: &str| {
        let mut record = record;
        let (key, hardware) = (key.to_string(), "0011223344556677".to_string());
        record.environment.machine = Some(Machine { key, boot: None, hardware, source: KeySource::MachineId });
        record
    };
    let (ours, theirs) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
    let mut runs = vec![
        (on(run(1, 10, 5_000.0), ours), Origin::Own),
        // Newer, and of another machine, of this machine by its own word, and of one that is not named.
        (on(run(2, 10, 20_000.0), theirs), Origin::Own),
        (on(run(3, 10, 20_000.0), ours), Origin::Imported),
        (run(4, 10, 20_000.0), Origin::Own),
    ];
    for _ in 0..2 {
        let mut claims = Claims::default();
        for (record, origin) in &runs {
            claims.add(&record.id, record, &MadeOn::new(&record.environment, *origin));
        }
        let mut answers: Vec<(String, ClaimVerdict)> =
            claims.ledger(None).unwrap().entries.into_iter().map(|it| (it.run, it.claim.verdict)).collect();
        answers.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = [("1", Holds), ("2", Reversed), ("3", Reversed), ("4", Reversed)];
        assert_eq!(answers, expected.map(|(run, verdict)| (run.to_string(), verdict)));
        runs.reverse();
    }
}

/// A run of the study `STUDY`, which is built in, as a file of one's own has it after these changes; `mmap` takes this long.
fn of_study(day: u32, mmap: f64, change: &[(&str, &str)]) -> Record {
    let mut text = STUDY.to_string();
    for (from, to) in change {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let mut lab = Lab::of_experiment(&text);
    (lab.record.id, lab.record.started) = (day.to_string(), format!("2026-11-{day:02}T00:00:00Z"));
    for cell in 0..lab.record.cells.len() {
        let ns = if lab.record.cells[cell].arm.method == "mmap" { mmap } else { 10_000.0 };
        lab.measure(cell, 10, ns, |_, _| {});
    }
    lab.record
}

const STUDY: &str = r#"
title = "Duel"
source = "a test"
[arms]
map = { method = "mmap" }
call = { method = "read" }
part = { method = "read", own = { consumed_percent = 25 } }
[[compare]]
name = "small"
arms = ["call", "map", "part"]
workload = "scan"
block = "64 KiB"
state = ["cached", "cold"]
range = { bytes = "32 MiB" }
[[claim]]
id = "it"
says = "mmap is faster"
published = "2 against 1"
compare = "small"
arm = "map"
than = "call"
metric = "time"
expect = "lower"
where = { state = ["cached"] }
"#;

fn ledger_of_study(runs: &[Record]) -> Ledger {
    let mut claims = Claims::new(vec![of_study(1, 5_000.0, &[]).experiment]);
    runs.iter().for_each(|it| claims.add(&it.id, it, &here(it)));
    claims.ledger(None).unwrap()
}

/// Which run answers, how, and whether it was asked something else than the study asks; in whatever order the runs come.
#[track_caller]
fn check_study(runs: &[Record], expected: &[(&str, ClaimVerdict, bool)]) {
    let mut runs = runs.to_vec();
    for _ in 0..2 {
        runs.reverse();
        let entries = ledger_of_study(&runs).entries;
        let found: Vec<_> = entries.iter().map(|it| (it.run.as_str(), it.claim.verdict, it.asks_otherwise)).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_run_on_a_file_of_another_size_does_not_replace_the_answer_of_the_study() {
    let own = of_study(1, 5_000.0, &[]).target.bytes;
    let sized = format!("[study]\nfile_bytes = \"{own} B\"\nfull_file_bytes = \"1024 GiB\"\n[arms]");
    let sized = [("[arms]", sized.as_str())];
    let first = of_study(1, 5_000.0, &sized);
    let mut larger = of_study(2, 20_000.0, &sized);
    let answers = |second: &Record| {
        let mut claims = Claims::new(vec![first.experiment.clone()]);
        [&first, second].iter().for_each(|it| claims.add(&it.id, it, &here(it)));
        let entry = claims.ledger(None).unwrap().entries.remove(0);
        (entry.run, entry.claim.verdict, entry.claim.complete, entry.later.map(|it| it.why))
    };
    assert_eq!(answers(&larger), ("2".to_string(), Reversed, true, None));
    larger.target.bytes = 2 * own;
    assert_eq!(answers(&larger), ("1".to_string(), Holds, true, Some(Later::OtherSize)));
}

#[test]
fn a_changed_copy_of_a_study_that_is_built_in_does_not_answer_for_it() {
    for change in [
        [("expect = \"lower\"", "expect = \"higher\"")],
        [("metric = \"time\"", "metric = \"cpu\"")],
        [("than = \"call\"", "than = \"part\"")],
        [("where = { state = [\"cached\"] }", "where = { state = [\"cold\"] }")],
        [("where = { state = [\"cached\"] }", "")],
        [("method = \"mmap\"", "method = \"mmap\", options = { advice = \"random\" }")],
        [("call = { method = \"read\" }", "call = { method = \"read\", own = { consumed_percent = 30 } }")],
        [("\"32 MiB\"", "\"16 MiB\"")],
        [("range = { bytes = \"32 MiB\" }", "")],
        [("name = \"small\"", "name = \"small\"\nvariant = \"corrected\"")],
        [("\"64 KiB\"", "\"4 KiB\"")],
        [("workload = \"scan\"", "workload = \"scan\"\nconsume = \"touch\"")],
        [("workload = \"scan\"", "workload = \"scan\"\nthreads = 2")],
    ] {
        let (study, copy) = (of_study(1, 5_000.0, &[]), of_study(2, 20_000.0, &change));
        let runs = [study, copy];
        let mut entries = ledger_of_study(&runs).entries;
        entries.sort_by(|a, b| a.run.cmp(&b.run));
        let found: Vec<_> = entries.iter().map(|it| (it.run.as_str(), it.asks_otherwise)).collect();
        assert_eq!(found, [("1", false), ("2", true)], "{change:?}");
        assert_eq!((entries[0].claim.verdict, &entries[0].later), (Holds, &None), "{change:?}");
        let of_copy = ledger_of_study(&runs[1..]);
        assert_eq!(of_copy.not_run.len(), 1, "the study itself was never run: {change:?}");
    }
}

#[test]
fn a_copy_of_a_study_that_is_worded_or_spelled_otherwise_or_measured_with_options_answers_for_it() {
    for change in [
        &[("says = \"mmap is faster\"", "says = \"mappings are faster\"")][..],
        &[("published = \"2 against 1\"", "ratio = 2.0")],
        &[("title = \"Duel\"", "title = \"Another one\""), ("source = \"a test\"", "")],
        &[("arm = \"map\"\nthan = \"call\"", "arm = \"mmap\"\nthan = \"read\"")],
        &[("map = {", "mapping = {"), ("\"map\"", "\"mapping\"")],
        &[("metric = \"time\"", "")],
        &[("compare = \"small\"", "")],
        &[("where = {", "where = { workload = [\"scan\"], ")],
        // What options leave out or replace.
        &[("state = [\"cached\", \"cold\"]", "state = \"cached\"")],
        &[
            ("\"call\", \"map\", \"part\"", "\"call\", \"map\""),
            ("part = { method = \"read\", own = { consumed_percent = 25 } }\n", ""),
        ],
    ] {
        let runs = [of_study(1, 5_000.0, &[]), of_study(2, 20_000.0, change)];
        check_study(&runs, &[("2", Reversed, false)]);
        assert_eq!(ledger_of_study(&runs[1..]).not_run, []);
    }
}

#[test]
fn what_an_older_version_of_a_study_could_not_test_yet_is_the_same_claim() {
    let mut older = of_study(1, 5_000.0, &[]);
    let claim = &mut older.experiment.claims[0];
    (claim.arm, claim.than, claim.expect) = (None, None, None);
    claim.not_testable = Some("this version cannot".into());
    check_study(std::slice::from_ref(&older), &[("1", NotTestableHere, false)]);
    check_study(&[older, of_study(2, 20_000.0, &[])], &[("2", Reversed, false)]);
}

#[test]
fn two_changed_copies_of_a_study_are_two_claims_where_they_ask_otherwise() {
    let copy = |day, expect: &str| of_study(day, 5_000.0, &[("expect = \"lower\"", expect)]);
    let entries = ledger_of_study(&[
        copy(1, "expect = \"higher\""),
        copy(2, "expect = \"same\""),
        copy(3, "expect = \"higher\""),
    ]);
    let mut runs: Vec<String> = entries.entries.into_iter().map(|it| it.run).collect();
    runs.sort();
    assert_eq!(runs, ["2", "3"]);
}
