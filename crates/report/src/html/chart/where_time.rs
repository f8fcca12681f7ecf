//! Where the time of a pass goes: by cause, where a run has unit costs; else user, system, and what is neither.

use schema::{
    Findings, Record,
    findings::CellFinding,
    record::{Outcome, Reading, Sample},
    unit_cost::{Cause, CostBreakdown},
};

use super::{Chart, Named, View};
use crate::{
    html::figure::{Axis, Colour, Drawn, Figure, Kind, Look, Plot, Point, Scale, Series, Unit, label},
    layout::{
        number,
        table::{Cell, Column, Table},
        words::joined,
    },
    words,
};

pub(super) const CHART: Chart = Chart {
    id: "where-time",
    title: "Where the time goes",
    about: "Time per block, access of a replay or execution of a command, as a share of the time of the first measured arm with the same block under the same condition, which the axis names. Other is neither user nor system time: waiting for the device, or for a CPU. With several threads CPU time may exceed elapsed time. Cells with a cost breakdown are divided by cause instead: counts times the unit costs of the run's calibration. The rest of the measured time is unexplained; where the breakdown exceeds the measured time, the table has the excess.",
    draw,
};

/// What a cell's time is divided into: by the kernel's ticks, or by its cost breakdown.
const PARTS: [(&str, Colour); 11] = [
    ("user", Colour::Green),
    ("system", Colour::Brown),
    ("other", Colour::Grey),
    ("system calls", Colour::Vermilion),
    ("copies", Colour::Orange),
    ("TLB and cache misses", Colour::Pink),
    ("bytes consumed", Colour::Sky),
    ("faults", Colour::Red),
    ("open, map, unmap, close", Colour::Purple),
    ("device", Colour::Blue),
    ("unexplained", Colour::Ink),
];
const UNEXPLAINED: usize = PARTS.len() - 1;
/// Where the causes begin, in the order of `Cause::ALL`.
const CAUSES: usize = 3;

struct CostBar {
    name: String,
    /// What the first measured arm of its condition and of its block takes, and its name.
    whole: f64,
    whole_of: String,
    /// Per block.
    parts: [f64; PARTS.len()],
    /// By how much a cost breakdown exceeds the measured time.
    too_much: f64,
}

fn draw(record: &Record, findings: &Findings) -> Drawn {
    let view = View::of(record, findings);
    let breakdowns: &[CostBreakdown] = findings.costs.as_ref().map_or(&[], |it| &it.breakdowns);
    let groups = view.groups();
    let mut left_out = Vec::new();
    let mut figures: Vec<Figure> =
        groups.iter().filter_map(|(title, cells)| figure(record, title, cells, breakdowns, &mut left_out)).collect();
    match figures.first_mut() {
        Some(first) => first.notes.append(&mut left_out),
        None => return Err(format!("No cell has CPU times: {}.", reason(findings))),
    }
    Ok(figures)
}

fn reason(findings: &Findings) -> String {
    let why = findings.cells.iter().find_map(|cell| cell.user_ns_per_op.why());
    why.map_or_else(|| "nothing was measured".to_string(), words::reason)
}

fn by_breakdown(cell: &CellFinding, total: f64, breakdowns: &[CostBreakdown]) -> Option<([f64; PARTS.len()], f64)> {
    let of_cell = |it: &&CostBreakdown| it.id == cell.id;
    let breakdown = breakdowns.iter().find(of_cell).filter(|it| it.condition.ops > 0)?;
    let ops = breakdown.condition.ops as f64;
    let mut parts = [0.0; PARTS.len()];
    for (place, cause) in Cause::ALL.iter().enumerate() {
        // The sum of none is -0.
        let of_cause = breakdown.components.iter().filter(|it| it.cause == *cause).map(|it| it.ns / ops);
        parts[CAUSES + place] = of_cause.sum::<f64>() + 0.0;
    }
    let rest = total - breakdown.components_ns / ops;
    parts[UNEXPLAINED] = rest.max(0.0);
    Some((parts, (-rest).max(0.0)))
}

/// CPU times are means over the passes: of the median time they are what they are of the mean one.
fn by_ticks(record: &Record, cell: &CellFinding, total: f64) -> Result<[f64; PARTS.len()], String> {
    let (user, system) = (&cell.user_ns_per_op, &cell.system_ns_per_op);
    let (Reading::Value(user_ns), Reading::Value(system_ns)) = (user, system) else {
        return Err(user.why().or(system.why()).map(words::reason).unwrap_or_default());
    };
    let of_pass = |it: &Sample| match &it.outcome {
        Outcome::Ok { phases, tally } => Some(phases.total_ns() as f64 / tally.ops.max(1) as f64),
        Outcome::Invalid { .. } | Outcome::Failed { .. } => None,
    };
    let passes = record.samples.iter().filter(|it| it.cell == cell.id.cell);
    let each: Vec<f64> = passes.filter_map(of_pass).collect();
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    let of_median = if mean > 0.0 { total / mean } else { 1.0 };
    let [user, system] = [user_ns, system_ns].map(|it| it * of_median);
    let mut parts = [0.0; PARTS.len()];
    parts[..CAUSES].copy_from_slice(&[user, system, (total - user - system).max(0.0)]);
    Ok(parts)
}

/// What is said of a group without a figure goes to `left_out`.
fn figure(
    record: &Record,
    title: &str,
    cells: &[Named],
    breakdowns: &[CostBreakdown],
    left_out: &mut Vec<String>,
) -> Option<Figure> {
    let mut rows: Vec<CostBar> = Vec::new();
    let mut notes = Vec::new();
    for it in cells.iter().filter(|it| !it.cell.control) {
        let Some(total) = it.cell.ns_per_op.map(|it| it.median) else { continue };
        let divided = match by_breakdown(it.cell, total, breakdowns) {
            Some(divided) => Ok(divided),
            None => by_ticks(record, it.cell, total).map(|parts| (parts, 0.0)),
        };
        let (parts, too_much) = match divided {
            Ok(divided) => divided,
            Err(reason) => {
                notes.push(format!("{} is not shown: {reason}", it.row()));
                continue;
            }
        };
        // Times of different blocks are no shares of each other.
        let is_beside = |other: &&Named| {
            other.cell.id.condition == it.cell.id.condition
                && other.cell.does().block_bytes == it.cell.does().block_bytes
                && other.cell.ns_per_op.is_some()
        };
        let first = cells.iter().find(is_beside)?;
        let (whole, whole_of) = (first.cell.ns_per_op?.median, first.name.clone());
        rows.push(CostBar { name: it.row(), whole, whole_of, parts, too_much });
    }
    if rows.is_empty() {
        left_out.extend(notes.into_iter().map(|it| format!("{title}: {it}")));
        return None;
    }
    let (heading, per) = cells.first()?.heading();
    let names: Vec<String> = rows.iter().map(|row| label(&row.name)).collect();
    let wholes = joined(&schema::distinct(rows.iter().map(|row| label(&row.whole_of))), "or");
    let used: Vec<usize> = (0..PARTS.len()).filter(|&part| rows.iter().any(|row| row.parts[part] > 0.0)).collect();
    let series = used.iter().map(|&part| {
        let (name, colour) = PARTS[part];
        let points = rows.iter().enumerate().map(|(at, row)| {
            let (ns, percent) = (row.parts[part], row.parts[part] / row.whole * 100.0);
            let says = format!("{}\n{name}: {}{per}, {percent:.1} %", names[at], number::duration(ns));
            Point::new(percent, at as f64, says)
        });
        Series { name: name.to_string(), look: Look::of(colour), kind: Kind::Stack, points: points.collect() }
    });
    let series = series.collect();
    let exceeds = rows.iter().any(|row| row.too_much > 0.0);
    let mut columns = vec![Column::left(heading)];
    columns.extend(used.iter().map(|&part| Column::right(format!("{}{per}", PARTS[part].0))));
    columns.extend(exceeds.then(|| Column::right("above measured")));
    let table_rows = rows.iter().map(|row| {
        let parts = used.iter().map(|&part| row.parts[part]).chain(exceeds.then_some(row.too_much));
        [Cell::plain(&row.name)].into_iter().chain(parts.map(|ns| Cell::plain(number::duration(ns)))).collect()
    });
    Some(Figure {
        title: title.to_string(),
        notes,
        plots: vec![Plot {
            x: Axis::new(format!("% of the time of {wholes}"), Scale::FromZero, Unit::Number),
            y: Axis::rows(&names),
            series,
            guides: Vec::new(),
        }],
        table: Table { columns, rows: table_rows.collect() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_parts_have_one_colour() {
        let colours: Vec<&str> = PARTS.iter().map(|it| it.1.word()).collect();
        assert_eq!(schema::distinct(colours.iter()).len(), PARTS.len(), "{colours:?}");
    }
}
