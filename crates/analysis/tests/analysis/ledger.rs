//! Claims over several runs: the newest run that could decide a claim counts.

use analysis::Claims;
use schema::{
    Record,
    claims::{Ledger, LedgerEntry},
    findings::ClaimVerdict::{self, Holds, NotTestableHere, Reversed, Undecided},
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
    let mut lab = Lab::of_experiment(EXPERIMENT);
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

fn ledger(runs: &[Record]) -> Ledger {
    let mut claims = Claims::default();
    runs.iter().for_each(|it| claims.add(&it.id, it));
    claims.ledger(&[], None).unwrap()
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
        let mut claims = Claims::default();
        claims.add("1", &run(1, 10, 5_000.0));
        claims.ledger(&[Lab::of_experiment(EXPERIMENT.replace("Duel", "Never run").as_str()).record.experiment], only)
    };
    assert_eq!(of(Some("elsewhere")), None);
    assert_eq!(of(Some("made-up")).unwrap().entries.len(), 1);
    assert_eq!(of(None).unwrap().not_run, [], "it was run under this name");
}
