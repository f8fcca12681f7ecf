//! Two runs beside each other, gates, saved runs.

use planted::{Kind, Plan, Planted};
use schema::{
    gate::{BreachCause, Gate, Presence},
    record::Record,
};

use crate::{exact, near, plans};

fn gate(threshold: &str, first: &Planted, second: &Planted) -> Gate {
    let [a, b] = [first, second].map(|it| analysis::analyze(&it.record));
    analysis::gate(&threshold.parse().unwrap(), (&first.record, &a), &[(&second.record, &b)]).unwrap()
}

#[test]
fn every_shared_cell_has_the_planted_change() {
    for first in exact() {
        let cell = first.some_cell();
        let second = first.with_slower(cell, 1.5);
        let [a, b] = [&first, &second].map(|it| analysis::analyze(&it.record));
        let versus = analysis::across((&first.record, &a), (&second.record, &b));
        assert_eq!((versus.only_first, versus.only_second), (0, 0));
        let shared: Vec<usize> = (0..first.truth.len())
            .filter(|&at| !first.record.cells[at].control)
            .filter(|&at| matches!(first.truth[at].kind, Kind::Measured | Kind::Split))
            .collect();
        assert_eq!(versus.cells.len(), shared.len());
        for (found, at) in versus.cells.iter().zip(shared) {
            assert_eq!(found.arm, first.record.cells[at].arm);
            assert_eq!(found.condition, first.record.conditions[first.record.cells[at].condition]);
            near(found.speedup.unwrap().median, if at == cell { 1.0 / 1.5 } else { 1.0 });
        }
        near(versus.drift.unwrap(), 1.0);
    }
}

#[test]
fn a_gate_is_breached_by_the_slower_cell_and_by_the_one_that_is_gone_and_by_no_other() {
    for first in exact() {
        let cell = first.some_cell();
        let arm = &first.record.cells[cell].arm.name;
        let condition = &first.record.conditions[first.record.cells[cell].condition];
        let threshold = format!("{arm} slower 10%");
        let unchanged = gate(&threshold, &first, &first.with_slower(cell, 1.0));
        // A cell that both runs lack cannot be judged either.
        let lacking = unchanged.breaches.len();
        assert!(unchanged.breaches.iter().all(|it| matches!(it.cause, BreachCause::NotCompared { .. })));
        let of = |second: &Planted| {
            let gate = gate(&threshold, &first, second);
            assert_eq!(gate.breaches.len(), lacking + 1, "{gate:?}");
            let ours = |it: &&schema::gate::Breach| match &it.cause {
                BreachCause::Beyond { .. } => true,
                BreachCause::NotCompared { first, .. } => *first == Presence::Measured,
            };
            let breach = gate.breaches.iter().find(ours).unwrap().clone();
            assert_eq!((&breach.arm, &breach.condition), (arm, condition));
            breach.cause
        };
        let BreachCause::Beyond { speedup } = of(&first.with_slower(cell, 1.5)) else { panic!() };
        near(speedup.median, 1.0 / 1.5);
        let BreachCause::NotCompared { first: before, second: after } = of(&first.without(cell)) else { panic!() };
        assert_eq!((before, matches!(after, Presence::Skipped { .. })), (Presence::Measured, true));
    }
}

#[test]
fn noise_alone_breaches_no_gate() {
    for first in plans() {
        for arm in ["native/pread", "native/mmap", "native/read"] {
            let gate = gate(&format!("{arm} slower 10%"), &first, &first.with_slower(0, 1.0));
            let beyond = gate.breaches.iter().filter(|it| matches!(it.cause, BreachCause::Beyond { .. })).count();
            assert_eq!(beyond, 0, "{gate:?}");
        }
    }
}

#[test]
fn a_saved_run_is_loaded_as_it_was_and_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let store = history::Store::open(Some(folder.path().to_path_buf())).unwrap();
    let planted = Plan { noise: 0.03, ..Plan::default() }.plant();
    let path = store.save(&planted.record).unwrap();
    let loaded: Record = store.load_file(&path).unwrap();
    assert_eq!(loaded, planted.record);
    assert_eq!(analysis::analyze(&loaded), analysis::analyze(&planted.record));
}

#[test]
fn the_ledger_of_claims_says_what_was_planted_whatever_narrower_runs_follow() {
    let planted = Plan::default().plant();
    let mut later = planted.without(planted.some_cell());
    later.record.samples.clear();
    let mut claims = analysis::Claims::default();
    claims.add("first", &planted.record);
    claims.add("later", &later.record);
    let ledger = claims.ledger(&[], None).unwrap();
    assert_eq!(ledger.entries.len(), planted.claims.len());
    for entry in &ledger.entries {
        assert_eq!((entry.claim.verdict, entry.run.as_str()), (planted.claims[&entry.claim.id], "first"));
    }
}
