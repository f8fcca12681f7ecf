//! Two runs beside each other, gates, saved runs.

use std::collections::BTreeSet;

use planted::{CellKind, Planted, Planting};
use schema::{
    Findings, Layout,
    experiment::Variant,
    gate::{BreachCause, Gate, Presence},
    machine::{MadeOn, Origin},
    record::Record,
    saved::{SavedCell, Wanted},
};

use crate::{exact, near, plans};

/// Of a quiet machine, of a busy one, and of another quiet one: two runs of each are analysed several times over.
fn some_plans() -> impl Iterator<Item = Planted> {
    plans().step_by(3)
}

/// A run is analysed once, however many gates it is held against.
type Analyzed<'a> = (&'a Record, Findings);

fn analyzed(run: &Planted) -> Analyzed<'_> {
    (&run.record, analysis::analyze(&run.record))
}

fn gate(threshold: &str, (first, a): &Analyzed, (second, b): &Analyzed) -> Gate {
    analysis::gate(&threshold.parse().unwrap(), &[(first, a)], &[vec![(second, b)]]).unwrap()
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
            .filter(|&at| matches!(first.truth[at].kind, CellKind::Measured | CellKind::Split))
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
        let before = analyzed(&first);
        let unchanged = gate(&threshold, &before, &analyzed(&first.with_slower(cell, 1.0)));
        // A cell that both runs lack cannot be judged either.
        let lacking = unchanged.breaches.len();
        assert!(unchanged.breaches.iter().all(|it| matches!(it.cause, BreachCause::NotCompared { .. })));
        let of = |second: &Planted| {
            let gate = gate(&threshold, &before, &analyzed(second));
            assert_eq!(gate.breaches.len(), lacking + 1, "{gate:?}");
            let ours = |it: &&schema::gate::Breach| match &it.cause {
                BreachCause::Beyond { .. } => true,
                BreachCause::NotCompared { first, .. } => *first == Presence::Measured,
            };
            let breach = gate.breaches.iter().find(ours).unwrap().clone();
            assert_eq!((&breach.arm, &breach.condition), (arm, condition));
            breach.cause
        };
        let BreachCause::Beyond { speedup, .. } = of(&first.with_slower(cell, 1.5)) else { panic!() };
        near(speedup.median, 1.0 / 1.5);
        let BreachCause::NotCompared { first: before, second: after } = of(&first.without(cell)) else { panic!() };
        assert_eq!((before, matches!(after, Presence::Skipped { .. })), (Presence::Measured, true));
    }
}

#[test]
fn noise_alone_breaches_no_gate() {
    for first in some_plans() {
        let second = first.with_slower(0, 1.0);
        let (before, after) = (analyzed(&first), analyzed(&second));
        for arm in ["native/pread", "native/mmap", "native/read"] {
            let gate = gate(&format!("{arm} slower 10%"), &before, &after);
            let beyond = gate.breaches.iter().filter(|it| matches!(it.cause, BreachCause::Beyond { .. })).count();
            assert_eq!(beyond, 0, "{gate:?}");
        }
    }
}

/// The same run on a machine that takes so many times as long for everything.
fn drifted(run: &Planted, factor: f64) -> Planted {
    let cells = 0..run.truth.len();
    cells.fold(run.clone(), |drifted, cell| drifted.with_slower(cell, factor))
}

#[test]
fn a_machine_that_drifts_breaches_no_gate_and_hides_no_change() {
    for first in some_plans() {
        let cell = first.some_cell();
        let arm = &first.record.cells[cell].arm.name;
        let beyond = |gate: &Gate| {
            let beyond = gate.breaches.iter().filter(|it| matches!(it.cause, BreachCause::Beyond { .. }));
            beyond.map(|it| it.id.cell).collect::<Vec<usize>>()
        };
        let (threshold, before) = (format!("{arm} slower 10%"), analyzed(&first));
        for factor in [0.8, 1.2] {
            let second = drifted(&first, factor);
            let unchanged = gate(&threshold, &before, &analyzed(&second));
            assert!(unchanged.checked > 0 && unchanged.absolute == 0);
            assert_eq!(beyond(&unchanged), [0; 0]);
            assert_eq!(beyond(&gate(&threshold, &before, &analyzed(&second.with_slower(cell, 1.5)))), [cell]);
        }
    }
}

#[test]
fn a_saved_run_is_loaded_as_it_was_and_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let store = history::Store::open(Some(folder.path().to_path_buf())).unwrap();
    let planted = Planting { noise: 0.03, ..Planting::default() }.plant();
    let path = store.save(&planted.record).unwrap();
    let loaded: Record = store.load_file(&path).unwrap();
    assert_eq!(loaded, planted.record);
    assert_eq!(analysis::analyze(&loaded), analysis::analyze(&planted.record));
}

#[test]
fn the_ledger_of_claims_says_what_was_planted_whatever_narrower_runs_follow() {
    let planted = Planting::default().plant();
    let mut later = planted.without(planted.some_cell());
    later.record.samples.clear();
    let mut claims = analysis::Claims::default();
    let here = MadeOn::new(&planted.record.environment, Origin::Own);
    claims.add("first", &planted.record, &here);
    claims.add("later", &later.record, &here);
    let ledger = claims.ledger(None).unwrap();
    assert_eq!(ledger.entries.len(), planted.claims.len());
    for entry in &ledger.entries {
        assert_eq!((entry.claim.verdict, entry.run.as_str()), (planted.claims[&entry.claim.id], "first"));
    }
}

/// The same run of a file that is one byte longer.
fn of_another_file(planted: &Planted) -> Planted {
    let mut other = planted.clone();
    other.record.id.push_str("-other");
    other.record.target.bytes += 1;
    other.record.conditions.iter_mut().for_each(|it| it.file_bytes += 1);
    other
}

#[test]
fn a_cell_that_became_slower_is_so_in_its_own_series_and_every_other_series_stays() {
    const SLOWER: f64 = 1.5;
    let first = Planting::default().plant();
    let of_arm = |at: usize| first.record.cells[at].arm.name == "native/mmap" && !first.record.cells[at].control;
    let cells: Vec<usize> =
        (0..first.truth.len()).filter(|&at| of_arm(at) && first.truth[at].kind == CellKind::Measured).collect();
    let condition = |at: usize| &first.record.conditions[first.record.cells[at].condition];
    let differ = |of: &dyn Fn(usize) -> String| cells.iter().map(|&at| of(at)).collect::<BTreeSet<String>>().len() > 1;
    assert!(differ(&|at| condition(at).consume.to_string()) && differ(&|at| condition(at).threads.to_string()));
    for slow in cells.iter().copied().step_by(11) {
        let folder = tempfile::tempdir().unwrap();
        let store = history::Store::open(Some(folder.path().join("runs"))).unwrap();
        let later = first.with_slower(slow, SLOWER);
        for run in [&first, &later, &of_another_file(&first), &of_another_file(&later)] {
            store.save(&run.record).unwrap();
        }
        let mut index = history::Index::open(&store).unwrap();
        index.refresh(&store, analysis::VERSION, &analysis::saved_cells).unwrap();
        let found = index.cells(&Wanted::default(), &"native/mmap".parse().unwrap()).unwrap();
        let mut series: Vec<Vec<&SavedCell>> = Vec::new();
        for cell in &found {
            match series.iter_mut().find(|it| it[0].continues(cell)) {
                Some(same) => same.push(cell),
                None => series.push(vec![cell]),
            }
        }
        assert_eq!(series.len(), 2 * cells.len(), "a series for each cell of each file");
        let mut changed = Vec::new();
        for same in &series {
            let [before, after] = same[..] else { panic!("two runs of each file: {same:?}") };
            let ratio = after.ns_per_op.median / before.ns_per_op.median;
            if (ratio - 1.0).abs() > 1e-4 {
                near(ratio, SLOWER);
                changed.push(schema::Condition { file_bytes: condition(slow).file_bytes, ..before.under.clone() });
            }
        }
        assert_eq!(changed, [condition(slow).clone(), condition(slow).clone()]);
        let history = schema::saved::History {
            schema_version: schema::SCHEMA_VERSION,
            runs: index.runs(&Wanted::default()).unwrap().0,
            of_others: 0,
            all: 0,
            cells: found.clone(),
            damaged: Vec::new(),
        };
        let shown = report::history(&history, true, "", report::Style { width: 200, ..Default::default() });
        let against_the_oldest = |text: &str| shown.lines().filter(|line| line.ends_with(text)).count();
        assert_eq!((against_the_oldest(" 0.67x"), against_the_oldest(" 1.00x")), (2, found.len() - 2), "{shown}");
    }
}

/// Of every pair: both cells are the same arm with the same layout in the same variant, and the change is theirs.
fn pairs_only_equals(first: &Planted, second: &Planted) -> schema::across::RunComparison {
    let [a, b] = [first, second].map(|it| analysis::analyze(&it.record));
    let versus = analysis::across((&first.record, &a), (&second.record, &b));
    for pair in &versus.cells {
        let described = |of: &Planted, id: schema::CellId| {
            let comparison = &of.record.experiment.comparisons[id.condition.comparison_index.unwrap()];
            let condition = &of.record.conditions[id.condition.condition_index];
            (of.record.cells[id.cell].arm.name.clone(), condition.layout, comparison.variant)
        };
        assert_eq!(described(first, pair.first_id), described(second, pair.second_id));
        let ns = |of: &Planted, id: schema::CellId| of.truth[id.cell].ns_per_op;
        near(pair.speedup.unwrap().median, ns(first, pair.first_id) / ns(second, pair.second_id));
    }
    versus
}

#[test]
fn a_cell_that_was_not_measured_leaves_its_series_to_no_other() {
    for mut run in exact() {
        // Two comparisons with equal conditions and no names: their cells differ in their number alone.
        for compare in &mut run.record.experiment.comparisons {
            (compare.name, compare.variant) = (None, None);
        }
        let before = analysis::saved_cells(&run.record);
        let second = before.iter().find(|it| it.occurrence == 1).expect("two comparisons have equal conditions");
        let first = before.iter().find(|it| it.series() == second.series() && it.occurrence == 0).unwrap();
        let lost = run.record.cells.iter().position(|it| {
            it.arm.name == first.arm && !it.control && run.record.conditions[it.condition] == first.under
        });
        let mut later = run.record.clone();
        later.samples.retain(|it| Some(it.cell) != lost);
        let after = analysis::saved_cells(&later);
        assert!(!after.iter().any(|it| it.continues(first)));
        let kept = after.iter().find(|it| it.continues(second)).unwrap();
        assert_eq!(kept.ns_per_op, second.ns_per_op);
    }
}

#[test]
fn cells_of_another_layout_are_never_paired() {
    for first in exact() {
        let mut second = first.with_slower(first.some_cell(), 1.0);
        // What was written on one layout is written on the next one.
        for condition in &mut second.record.conditions {
            condition.layout = condition.layout.map(|it| {
                let at = Layout::ALL.iter().position(|one| *one == it).unwrap();
                Layout::ALL[(at + 1) % Layout::ALL.len()]
            });
        }
        let versus = pairs_only_equals(&first, &second);
        assert_eq!((versus.only_first, versus.only_second), (0, 0));
        // Without one of them, its cells are without a partner.
        for condition in second.record.conditions.iter_mut().filter(|it| it.layout == Some(Layout::Sparse)) {
            condition.layout = Some(Layout::Written);
        }
        let versus = pairs_only_equals(&first, &second);
        assert_eq!((versus.only_first, versus.only_second), (2, 2), "the two arms under that condition");
    }
}

#[test]
fn cells_of_another_variant_are_never_paired() {
    for mut first in exact() {
        let mut second = first.with_slower(first.some_cell(), 1.0);
        // The first two comparisons have equal conditions.
        let [published, corrected] = [Some(Variant::AsPublished), Some(Variant::Corrected)];
        let name = |run: &mut Planted, variants: [Option<Variant>; 2]| {
            for (compare, variant) in run.record.experiment.comparisons.iter_mut().zip(variants) {
                compare.variant = variant;
            }
        };
        name(&mut first, [published, corrected]);
        name(&mut second, [corrected, published]);
        let of_both = pairs_only_equals(&first, &second).cells.len();
        assert!(of_both > 0);
        name(&mut second, [published, corrected]);
        let unchanged = pairs_only_equals(&first, &second);
        assert_eq!((unchanged.only_first, unchanged.only_second), (0, 0));
        first.record.experiment.comparisons.iter_mut().for_each(|it| it.variant = published);
        second.record.experiment.comparisons.iter_mut().for_each(|it| it.variant = corrected);
        let versus = pairs_only_equals(&first, &second);
        assert_eq!(versus.cells, []);
        assert_eq!(
            (versus.only_first, versus.only_second),
            (unchanged.cells.len() as u32, unchanged.cells.len() as u32)
        );
    }
}

#[test]
fn cells_over_time_say_how_large_their_passes_were_where_these_differ() {
    let run = Planting::default().plant();
    let mut larger = run.clone();
    for condition in &mut larger.record.conditions {
        condition.ops += 1;
    }
    let shown = |runs: [&Planted; 2]| {
        let cells = runs.iter().flat_map(|it| analysis::saved_cells(&it.record)).collect();
        let history = schema::saved::History {
            schema_version: schema::SCHEMA_VERSION,
            runs: vec![],
            cells,
            damaged: vec![],
            of_others: 0,
            all: 0,
        };
        let text = report::history(&history, true, "", report::Style { width: 300, ..Default::default() });
        // Blocks of the cells of the first comparison, as far as there is a column of them.
        let table = text.lines().filter(|line| line.ends_with(" 1.00x")).take(2);
        table.map(|line| line.split_whitespace().rev().nth(1).unwrap().replace(',', "")).collect::<Vec<String>>()
    };
    let ops = run.record.conditions[0].ops;
    assert_eq!(shown([&run, &larger]), [ops, ops + 1].map(|it| it.to_string()));
    assert_ne!(shown([&run, &run])[0], ops.to_string(), "of one size nothing is said");
}
