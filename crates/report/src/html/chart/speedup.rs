//! Every comparison with its interval, against the margin: a forest plot.

use schema::{
    Bytes, Findings, Record, State,
    findings::{Comparison, Estimate},
};
use serde_json::{Value, json};

use crate::{
    html::figure::{Drawn, Figure, height_of_rows, label, rows_axis},
    map, number,
    table::{Cell, Column, Table},
};

use super::{Chart, View, distinct};

pub(super) const CHART: Chart = Chart {
    id: "speedup",
    title: "Speedup with intervals",
    about: "How many times faster than the baseline of its condition, with the 95 % interval, on a logarithmic axis. \
            Right of the shaded margin of 5 % is faster, left of it slower, within it the same.",
    draw,
};

fn draw(record: &Record, findings: &Findings) -> Drawn {
    let view = View::of(record, findings);
    let mut states: Vec<State> = Vec::new();
    for it in &findings.comparisons {
        if !states.contains(&it.condition.state) {
            states.push(it.condition.state);
        }
    }
    let figures: Vec<Figure> = states.into_iter().filter_map(|state| figure(&view, state)).collect();
    if figures.is_empty() { Err("No comparison of this run has an interval.".into()) } else { Ok(figures) }
}

fn figure(view: &View, state: State) -> Option<Figure> {
    let mut rows: Vec<(String, String, &Comparison)> = Vec::new();
    let mut table = Table {
        columns: vec![
            Column::left("condition"),
            Column::left("arm"),
            Column::left("over"),
            Column::right("speedup, 95 % interval"),
            Column::right("rounds"),
            Column::left("verdict"),
            Column::left("reason"),
        ],
        rows: Vec::new(),
    };
    for it in view.findings.comparisons.iter().filter(|it| it.condition.state == state) {
        let also = map::also(&it.condition, &view.conditions);
        let also = if also.is_empty() { String::new() } else { format!(", {also}") };
        let condition = format!("{} {}{also}", it.condition.workload, Bytes(it.condition.block_bytes));
        let arm = view.names.short(&it.arm).to_string();
        table.rows.push(vec![
            Cell::plain(&condition),
            Cell::plain(&arm),
            Cell::plain(view.names.short(&it.baseline)),
            Cell::plain(it.speedup.as_ref().map_or(number::MISSING.to_string(), number::speedup)),
            Cell::plain(it.pairs.to_string()),
            Cell::plain(it.verdict.words()),
            Cell::plain(it.reason.clone().unwrap_or_default()),
        ]);
        if it.speedup.is_some() {
            let twins =
                rows.iter().filter(|(_, _, other)| other.condition == it.condition && other.arm == it.arm).count();
            let mark = if twins == 0 { String::new() } else { format!(" #{}", twins + 1) };
            rows.push((format!("{condition} · {arm}{mark}"), arm, it));
        }
    }
    if rows.is_empty() {
        return None;
    }
    let names: Vec<String> = rows.iter().map(|(row, ..)| label(row)).collect();
    let traces: Vec<Value> = distinct(rows.iter().map(|(_, arm, _)| arm.clone())).into_iter().map(|arm| {
        let own: Vec<(usize, Estimate)> = rows.iter().enumerate().filter(|(_, row)| row.1 == arm).filter_map(|(at, row)| Some((at, row.2.speedup?))).collect();
        let full = own.first().map_or("", |(at, _)| rows[*at].2.arm.as_str());
        let colour = view.looks.colour(full);
        json!({ "type": "scatter", "mode": "markers", "name": label(&arm),
            "x": own.iter().map(|(_, it)| it.median).collect::<Vec<f64>>(), "y": own.iter().map(|(at, _)| &names[*at]).collect::<Vec<&String>>(),
            "error_x": { "type": "data", "symmetric": false, "color": colour, "thickness": 1.5,
                "array": own.iter().map(|(_, it)| it.ci_high - it.median).collect::<Vec<f64>>(),
                "arrayminus": own.iter().map(|(_, it)| it.median - it.ci_low).collect::<Vec<f64>>() },
            "customdata": own.iter().map(|(at, it)| format!("{}: {}", number::speedup(it), rows[*at].2.verdict.words())).collect::<Vec<String>>(),
            "hovertemplate": "%{y}<br>%{customdata}<extra></extra>",
            "marker": { "color": colour, "symbol": view.looks.symbol(full), "size": 8 } })
    }).collect();
    let margin = json!({ "type": "rect", "xref": "x", "yref": "paper", "x0": 1.0 / 1.05, "x1": 1.05, "y0": 0, "y1": 1, "line": { "width": 0 }, "fillcolor": "rgba(128,128,128,0.3)", "layer": "below" });
    Some(Figure {
        title: state.to_string(),
        notes: Vec::new(),
        traces,
        layout: json!({ "shapes": [margin], "yaxis": rows_axis(&names), "xaxis": { "type": "log", "title": { "text": "times faster than the baseline" }, "nticks": 8 } }),
        height: height_of_rows(rows.len()),
        table,
    })
}
