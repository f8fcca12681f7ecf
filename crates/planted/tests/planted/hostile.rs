//! A record comes from anywhere, and no number in it ends a report: it is refused when the record is loaded, or shown.

use std::panic::{AssertUnwindSafe, catch_unwind};

use planted::{Planting, extremes};
use report::Style;
use schema::{
    Record, Span,
    across::Across,
    counted::Counted,
    observation::Observed,
    record::{Confirmation, FilledRange, FolioOrder, Outcome, Reading, Sample},
};
use serde_json::{Number, Value};

/// Every number of a document, by where it lies. Entries of a list are alike, so three of them stand for all.
fn numbers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(at.to_string()),
        Value::Array(all) => {
            let some = std::collections::BTreeSet::from([0, 1, all.len().saturating_sub(1)]);
            some.into_iter()
                .filter(|&it| it < all.len())
                .for_each(|it| numbers(&all[it], &format!("{at}/{it}"), found));
        }
        Value::Object(all) => all.iter().for_each(|(key, it)| {
            numbers(it, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
        }),
        _ => {}
    }
}

/// Everything that is said of a record.
pub(crate) fn say_everything(record: &Record) {
    let findings = analysis::analyze(record);
    for export in report::EXPORTS {
        (export.text)(record, &findings, None);
    }
    report::terminal(record, &findings, Style { details: true, ..Style::default() }, Some("saved"));
    let versus = analysis::across((record, &findings), (record, &findings));
    let across = Across { schema_version: schema::SCHEMA_VERSION, versus: vec![versus], gates: Vec::new() };
    report::across(&across, Style::default());
    report::across_html(&across);
    analysis::saved_cells(record);
}

/// Records with everything in them that a record can have.
pub(crate) fn records() -> impl Iterator<Item = Value> {
    let texts = [
        include_str!("../../../schema/tests/records/version-1.json"),
        include_str!("../../../analysis/tests/records/crossover.json"),
    ];
    let mut planted = Planting { rounds: 2, ..Planting::default() }.plant().record;
    for fill in &mut planted.fills {
        let orders = [(0, 1), (9, 3)].map(|(order, pages)| FolioOrder { order, pages });
        fill.folio_orders = Reading::Value(orders.to_vec());
    }
    let planted = serde_json::to_value(planted).unwrap();
    texts.into_iter().map(|it| serde_json::from_str(it).unwrap()).chain([planted])
}

#[test]
fn a_record_in_which_two_passes_of_a_round_count_for_one_cell_is_refused() {
    let whole = Planting::default().plant().record;
    let counts = |it: &&Sample| matches!(it.outcome, Outcome::Ok { .. });
    let again = whole.samples.iter().find(counts).unwrap().clone();
    let with = |again: Sample| {
        let mut record = whole.clone();
        record.samples.push(again);
        record.check()
    };
    let says = with(again.clone()).unwrap_err();
    assert_eq!(says, format!("cell {} has two passes of round {} that count", again.cell, again.round));
    assert_eq!(with(Sample { outcome: Outcome::Failed { reason: "again".into() }, ..again.clone() }), Ok(()));
    assert_eq!(with(Sample { round: 1 << 20, ..again }), Ok(()));
}

/// Each name is a column of every pass in the CSV, and lists are searched for each cell.
#[test]
fn a_record_that_has_more_of_something_than_a_run_makes_is_refused() {
    let whole = Planting::default().plant().record;
    let with = |change: &dyn Fn(&mut Record)| {
        let mut record = whole.clone();
        change(&mut record);
        record.check()
    };
    // Together: no pass has so many.
    let of_names = |names: usize| {
        with(&|it: &mut Record| {
            it.samples.iter_mut().for_each(|it| it.readings.clear());
            for name in 0..names {
                it.samples[name % 2].readings.insert(format!("made_up_{name}"), Reading::Value(0.0));
            }
        })
    };
    assert_eq!(of_names(1000), Ok(()));
    assert_eq!(of_names(1001), Err("its passes have more than 1000 different readings, which no run has".into()));
    let range = Span { offset: 0, bytes: 4096 };
    let fill = FilledRange {
        range,
        fill: None,
        method: String::new(),
        elapsed_ns: 0,
        folio_orders: Reading::unavailable("made up"),
        pages_per_fault: None,
        looked_again: None,
        kept: false,
    };
    let of_fills = |fills: usize| with(&|it: &mut Record| it.fills = vec![fill.clone(); fills]);
    assert_eq!(of_fills(100_000), Ok(()));
    assert_eq!(of_fills(100_001), Err("it has 100001 fills, and a run has at most 100000".into()));
    let confirmation = Confirmation {
        condition: 0,
        baseline_cell: 0,
        arm_cell: 1,
        range,
        ops: 1,
        pairs: Vec::new(),
        cold: Vec::new(),
        invalid: Vec::new(),
    };
    let confirmed = with(&|it: &mut Record| it.confirmations = vec![confirmation.clone(); 100_001]);
    assert!(confirmed.unwrap_err().contains("100001 answers at the size of the job"));
    let observed = Observed { arm: String::new(), seen: Reading::unavailable("made up") };
    let watched = with(&|it: &mut Record| it.observations = vec![observed.clone(); 10_001]);
    assert!(watched.unwrap_err().contains("10001 observed commands"));
    let pass = Counted {
        cell: 0,
        bytes: 0,
        distinct_bytes: 0,
        distinct_block_bytes: None,
        distinct_pages: None,
        device_read_bytes: Reading::unavailable("made up"),
        invalid: None,
        counts: Default::default(),
        histograms: Default::default(),
    };
    let counted = with(&|it: &mut Record| it.counted = vec![pass.clone(); 10_001]);
    assert!(counted.unwrap_err().contains("10001 counted passes"));
}

/// Of so many cases one is looked at: all of them take minutes.
const EVERY: usize = 499;

#[test]
fn no_number_in_a_record_ends_a_report() {
    let mut failed = Vec::new();
    for (which, whole) in records().enumerate() {
        serde_json::from_value::<Record>(whole.clone()).unwrap().check().unwrap();
        let mut places = Vec::new();
        numbers(&whole, "", &mut places);
        let values: Vec<Number> = extremes().collect();
        let cases = places.iter().flat_map(|place| values.iter().map(move |value| (place, value)));
        for (place, value) in cases.step_by(EVERY) {
            let mut document = whole.clone();
            *document.pointer_mut(place).unwrap() = Value::Number(value.clone());
            let Ok(record) = serde_json::from_value::<Record>(document) else { continue };
            if record.check().is_err() {
                continue;
            }
            if catch_unwind(AssertUnwindSafe(|| say_everything(&record))).is_err() {
                failed.push(format!("record {which}: {place} = {value}"));
            }
        }
    }
    assert!(failed.is_empty(), "{} panics: {failed:#?}", failed.len());
}
