//! Every comparison with its interval, against the margin: a forest plot.

use schema::{
    Findings, Record, State,
    findings::{Comparison, Estimate},
};
use serde_json::{Value, json};

use crate::{
    html::figure::{Drawn, Figure, Looks, height_of_rows, label, rows_axis},
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
        let condition = format!("{} {}", it.condition.workload, it.condition.block());
        let condition = format!("{}{also}", condition.trim());
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
            rows.push((format!("{condition} · {arm}"), arm, it));
        }
    }
    if rows.is_empty() {
        return None;
    }
    let forest: Vec<Row> = (rows.iter())
        .filter_map(|(row, arm, it)| {
            let speedup = it.speedup?;
            let says = format!("{}: {}", number::speedup(&speedup), it.verdict.words());
            Some(Row { name: row.clone(), arm: arm.clone(), full: it.arm.clone(), speedup, says })
        })
        .collect();
    let (traces, layout) = forest_plot(&forest, &view.looks, "times faster than the baseline");
    Some(Figure {
        title: state.to_string(),
        notes: Vec::new(),
        traces,
        layout,
        height: height_of_rows(rows.len()),
        table,
    })
}

/// A line of a forest plot.
pub(in crate::html) struct Row {
    pub(in crate::html) name: String,
    /// As the legend has it, and its full name.
    pub(in crate::html) arm: String,
    pub(in crate::html) full: String,
    pub(in crate::html) speedup: Estimate,
    pub(in crate::html) says: String,
}

/// Intervals beneath each other, one colour for each arm, the margin shaded: traces and layout.
pub(in crate::html) fn forest_plot(rows: &[Row], looks: &Looks, axis: &str) -> (Vec<Value>, Value) {
    // Rows of one name would fall onto one line.
    let twins = |at: usize| rows[..at].iter().filter(|it| it.name == rows[at].name).count();
    let mark = |at: usize| if twins(at) == 0 { String::new() } else { format!(" #{}", twins(at) + 1) };
    let names: Vec<String> = (0..rows.len()).map(|at| label(&rows[at].name) + &mark(at)).collect();
    let trace = |arm: String| {
        let own: Vec<(&String, &Row)> = names.iter().zip(rows).filter(|(_, row)| row.arm == arm).collect();
        let full = own.first().map_or("", |(_, row)| row.full.as_str());
        let colour = looks.colour(full);
        let of = |part: &dyn Fn(&Estimate) -> f64| own.iter().map(|(_, row)| part(&row.speedup)).collect::<Vec<f64>>();
        json!({ "type": "scatter", "mode": "markers", "name": label(&arm),
            "x": of(&|it| it.median), "y": own.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "error_x": { "type": "data", "symmetric": false, "color": colour, "thickness": 1.5,
                "array": of(&|it| it.ci_high - it.median), "arrayminus": of(&|it| it.median - it.ci_low) },
            "customdata": own.iter().map(|(_, row)| row.says.as_str()).collect::<Vec<&str>>(),
            "hovertemplate": "%{y}<br>%{customdata}<extra></extra>",
            "marker": { "color": colour, "symbol": looks.symbol(full), "size": 8 } })
    };
    let traces = distinct(rows.iter().map(|row| row.arm.clone())).into_iter().map(trace).collect();
    let margin = json!({ "type": "rect", "xref": "x", "yref": "paper", "x0": 1.0 / 1.05, "x1": 1.05, "y0": 0, "y1": 1, "line": { "width": 0 }, "fillcolor": "rgba(128,128,128,0.3)", "layer": "below" });
    let layout = json!({ "shapes": [margin], "yaxis": rows_axis(&names), "xaxis": { "type": "log", "title": { "text": axis }, "nticks": 8 } });
    (traces, layout)
}
