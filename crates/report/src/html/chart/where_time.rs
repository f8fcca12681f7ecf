//! Where the time of a pass goes: user, system, and what is neither.

use schema::{Findings, Record, record::Reading};
use serde_json::{Value, json};

use crate::{
    html::figure::{Drawn, Figure, height_of_rows, label, rows_axis},
    number,
    table::{Cell, Column, Table},
};

use super::{Chart, Named, View};

pub(super) const CHART: Chart = Chart {
    id: "where-time",
    title: "Where the time goes",
    about: "Time per block as a share of what the first arm of the condition takes. Other is what neither user nor system \
            accounts for: waiting for the device, being descheduled. With several threads CPU time may exceed the time that \
            passed. Causes are counted only by runs that keep accounts.",
    draw,
};

const PARTS: [(&str, &str); 3] = [("user", "#56b4e9"), ("system", "#d55e00"), ("other", "#999999")];

fn draw(record: &Record, findings: &Findings) -> Drawn {
    let view = View::of(record, findings);
    let figures: Vec<Figure> = view.groups().iter().filter_map(|(title, cells)| figure(title, cells)).collect();
    if figures.is_empty() { Err(format!("No cell has CPU times: {}.", reason(findings))) } else { Ok(figures) }
}

fn reason(findings: &Findings) -> String {
    let reason = findings.cells.iter().find_map(|cell| cell.user_ns_per_op.reason());
    reason.unwrap_or("nothing was measured").to_string()
}

fn figure(title: &str, cells: &[Named]) -> Option<Figure> {
    let mut rows: Vec<(String, f64, [f64; 3])> = Vec::new();
    let mut notes = Vec::new();
    for it in cells.iter().filter(|it| !it.cell.control) {
        let Some(total) = it.cell.ns_per_op else { continue };
        let (user, system) = (&it.cell.user_ns_per_op, &it.cell.system_ns_per_op);
        let (Reading::Value(user), Reading::Value(system)) = (user, system) else {
            notes.push(format!("{} is not shown: {}", it.row(), user.reason().or(system.reason()).unwrap_or_default()));
            continue;
        };
        let first =
            cells.iter().find(|other| other.cell.condition == it.cell.condition && other.cell.ns_per_op.is_some())?;
        let whole = first.cell.ns_per_op?.median;
        rows.push((it.row(), whole, [*user, *system, (total.median - user - system).max(0.0)]));
    }
    if rows.is_empty() {
        return None;
    }
    let names: Vec<String> = rows.iter().map(|(name, ..)| label(name)).collect();
    let traces: Vec<Value> = PARTS.iter().enumerate().map(|(part, (name, colour))| {
        let x: Vec<f64> = rows.iter().map(|(_, whole, parts)| parts[part] / whole * 100.0).collect();
        let text: Vec<String> = rows.iter().map(|(_, _, parts)| number::duration(parts[part])).collect();
        json!({ "type": "bar", "orientation": "h", "name": name, "x": x, "y": names, "customdata": text, "marker": { "color": colour },
                "hovertemplate": "%{y}<br>%{fullData.name}: %{customdata} per block, %{x:.1f} %<extra></extra>" })
    }).collect();
    let table = Table {
        columns: ["user per block", "system per block", "other per block"].into_iter().fold(
            vec![Column::left("block · arm")],
            |mut all, it| {
                all.push(Column::right(it));
                all
            },
        ),
        rows: rows
            .iter()
            .map(|(name, _, parts)| {
                [Cell::plain(name)]
                    .into_iter()
                    .chain(parts.iter().map(|&ns| Cell::plain(number::duration(ns))))
                    .collect()
            })
            .collect(),
    };
    Some(Figure {
        title: title.to_string(),
        notes,
        traces,
        layout: json!({ "barmode": "stack", "yaxis": rows_axis(&names), "xaxis": { "title": { "text": "% of the first arm's time" }, "rangemode": "tozero" } }),
        height: height_of_rows(rows.len()),
        table,
    })
}
