//! A record comes from anywhere, and no number in it ends a report: it is refused when the record is loaded, or shown.

use std::panic::{AssertUnwindSafe, catch_unwind};

use planted::{Planting, extremes};
use report::Style;
use schema::{
    Record,
    across::Across,
    record::{FolioOrder, Outcome, Reading, Sample},
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
