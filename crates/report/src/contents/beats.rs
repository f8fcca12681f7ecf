//! Who else stopped while an arm was at work: a table, and a sentence for each arm.

use schema::{
    Findings, Labels, Record,
    findings::{BeatFinding, BeatLateness},
    label,
};

use crate::{
    layout::{
        number,
        table::{Cell, Column, Table},
    },
    words,
};

pub(crate) const TITLE: &str = "Who else stops";

pub(crate) const ABOUT: &str = "During each pass a second thread of the same worker had a deadline every millisecond, slept until the next one, and recorded how late it was for each, counted from the deadline's own time. Of all passes together: half of the deadlines were no later than the median; stalled is the share that was more than two milliseconds late. Control: 99 of 100, and what was stalled, of the same arm with its pages in memory, because computing stops others too. Idle: 99 of 100 after the passes, while nothing was at work. Runtimes sleep in ways of their own, so an arm is held against its control, and not against another runtime.";

/// A table, and what it says.
pub(crate) struct PartOf {
    /// Empty where the table has several.
    pub(crate) condition: String,
    pub(crate) table: Table,
    pub(crate) says: Vec<String>,
}

/// A table for each condition, with a sentence for each arm; nothing where no arm was measured beside a beat.
pub(crate) fn of_run(record: &Record, findings: &Findings) -> Option<Vec<PartOf>> {
    let labels = Labels::of(record);
    let beats = in_order(findings);
    let of_condition = |beats: &[&BeatFinding]| PartOf {
        condition: labels.label(beats[0].id.condition.condition_index),
        table: table(record, beats),
        says: beats.iter().map(|it| format!("{}: {}", name(record, it), words::beats(it))).collect(),
    };
    let parts: Vec<PartOf> = beats.chunk_by(|a, b| a.id.condition == b.id.condition).map(of_condition).collect();
    (!parts.is_empty()).then_some(parts)
}

/// With what an arm has otherwise than its condition.
pub(crate) fn name(record: &Record, of: &BeatFinding) -> String {
    of.name.clone() + &label::own_of_cell(record, of.id.cell)
}

fn table(record: &Record, beats: &[&BeatFinding]) -> Table {
    let numbers = ["deadlines", "median", "99 of 100", "worst", "stalled"];
    // Controls have none.
    let control: &[&str] = if beats.iter().any(|it| it.control.is_some()) { &["control", "stalled"] } else { &[] };
    let numbers = numbers.iter().chain(control).chain(&["idle"]).map(|it| Column::right(*it));
    let columns: Vec<Column> = [Column::left("arm")].into_iter().chain(numbers).collect();
    let rows = beats.iter().map(|it| {
        let mut row = vec![
            Cell::plain(name(record, it)),
            Cell::plain(number::count(it.late.deadlines as f64)),
            Cell::plain(duration(it.late.median_ns)),
            Cell::plain(duration(it.late.p99_ns)),
            Cell::plain(number::duration_glued(it.late.max_ns as f64)),
            Cell::plain(stalled(Some(&it.late))),
        ];
        if !control.is_empty() {
            let late = it.control.as_ref().map(|it| &it.late);
            row.extend([Cell::plain(duration(late.and_then(|it| it.p99_ns))), Cell::plain(stalled(late))]);
        }
        row.push(Cell::plain(duration(it.idle.p99_ns)));
        row
    });
    Table { rows: rows.collect(), columns }
}

/// By condition, and in each as the cells stand.
fn in_order(findings: &Findings) -> Vec<&BeatFinding> {
    let mut beats: Vec<&BeatFinding> = findings.beats.iter().collect();
    beats.sort_by_key(|it| it.id.condition);
    beats
}

fn duration(ns: Option<f64>) -> String {
    ns.map_or_else(|| number::MISSING.to_string(), number::duration_glued)
}

fn stalled(of: Option<&BeatLateness>) -> String {
    of.and_then(|it| it.stalled_share).map_or_else(|| number::MISSING.to_string(), number::percent)
}
