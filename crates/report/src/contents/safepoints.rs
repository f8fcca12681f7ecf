//! How long safepoints were delayed by an arm: a table, and its meaning in words.

use schema::{
    ConditionId, Findings, Labels, Record,
    findings::{SafepointTail, Safepoints},
};

use crate::{
    layout::{
        number,
        table::{Cell, Column, Table},
    },
    words,
};

pub(crate) const TITLE: &str = "Safepoints";

pub(crate) const ABOUT: &str = "During each pass a second thread of the same JVM requested a safepoint about every millisecond. The delay is taken from the JVM's own log: from the request until every Java thread had stopped. Median and 99 of 100: of one pass, as the median over passes; (longest): passes had fewer than 100 safepoints, and it is the longest delay of a pass. Longest: of all passes. Stopped: the share of the passes' time from these requests until the threads ran on, in which some still run until they reach the safepoint; stops for the JVM's own purposes are not in it.";

/// What was seen and what it means; nothing where no arm has `+safepoints`.
pub(crate) fn of_run(record: &Record, findings: &Findings) -> Option<(Vec<String>, Table)> {
    findings.safepoints.as_deref().map(|it| (words::safepoints(it), table(record, it)))
}

fn table(record: &Record, safepoints: &Safepoints) -> Table {
    // A table that is too wide repeats its first column.
    let mut columns = vec![Column::left("condition · arm")];
    columns.extend(["asked for", "median", "99 of 100", "longest", "stopped"].map(Column::right));
    let mut conditions: Vec<ConditionId> = safepoints.cells.iter().map(|it| it.id.condition).collect();
    conditions.sort_unstable();
    conditions.dedup();
    let labels = Labels::of(record);
    let rows = conditions.into_iter().flat_map(|condition| {
        let label = labels.label(condition.condition_index);
        let cells = safepoints.cells.iter().filter(move |it| it.id.condition == condition);
        cells.map(move |it| {
            let own = schema::label::own_of_cell(record, it.id.cell);
            vec![
                Cell::plain(format!("{label}{own} · {}", it.name)),
                Cell::plain(number::count(it.asked as f64)),
                Cell::plain(number::duration_glued(it.median_ns)),
                Cell::plain(match it.p99_is {
                    SafepointTail::NinetyNine => number::duration_glued(it.p99_ns),
                    SafepointTail::Longest => format!("{} (longest)", number::duration_glued(it.p99_ns)),
                }),
                Cell::plain(number::duration_glued(it.max_ns)),
                Cell::plain(it.stopped_share.map_or_else(|| number::MISSING.to_string(), number::percent)),
            ]
        })
    });
    Table { columns, rows: rows.collect() }
}
