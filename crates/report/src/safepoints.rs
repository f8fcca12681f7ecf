//! How long safepoints were held up by what an arm was doing: a table, and what it says in words.

use schema::{Condition, Findings, findings::Safepoints};

use crate::{
    map, number,
    table::{Cell, Column, Table},
};

pub(crate) const TITLE: &str = "Safepoints";

pub(crate) const ABOUT: &str = "While an arm was at work, a second thread of the same JVM stopped the world about every \
    millisecond. The delay is the JVM's own account: from its wish until every thread stood still. Median and 99 of 100: of \
    a pass, in the middle of the passes; longest: of all passes. Stopped: the share of the passes' time in which no \
    Java thread ran at all.";

/// What was seen and what it means; nothing where nobody asked for safepoints.
pub(crate) fn of_run(findings: &Findings) -> Option<(&[String], Table)> {
    findings.safepoints.as_deref().map(|it| (&it.says[..], table(it)))
}

fn table(safepoints: &Safepoints) -> Table {
    let mut columns = vec![Column::left("condition"), Column::left("arm")];
    columns.extend(["asked for", "median", "99 of 100", "longest", "stopped"].map(Column::right));
    let mut conditions: Vec<&Condition> = Vec::new();
    for cell in &safepoints.cells {
        if !conditions.contains(&&cell.condition) {
            conditions.push(&cell.condition);
        }
    }
    let rows = conditions.iter().flat_map(|&condition| {
        // Only where two of them would be called the same.
        let alike: Vec<&Condition> = conditions.iter().copied().filter(|it| it.label() == condition.label()).collect();
        let also = map::also(condition, &alike);
        let label = if also.is_empty() { condition.label() } else { format!("{}, {also}", condition.label()) };
        let cells = safepoints.cells.iter().filter(move |it| it.condition == *condition);
        cells.enumerate().map(move |(at, it)| {
            vec![
                Cell::plain(if at == 0 { label.clone() } else { String::new() }),
                Cell::plain(&it.name),
                Cell::plain(number::count(it.asked as f64)),
                Cell::plain(number::duration_glued(it.median_ns)),
                Cell::plain(number::duration_glued(it.p99_ns)),
                Cell::plain(number::duration_glued(it.max_ns)),
                Cell::plain(it.stopped_share.map_or_else(|| number::MISSING.to_string(), number::percent)),
            ]
        })
    });
    Table { columns, rows: rows.collect() }
}
