//! The run in the order of its passes: drift and disturbance show here.

use schema::{Findings, Record, record::Outcome};
use serde_json::{Value, json};

use crate::{
    html::figure::{Drawn, Figure, label},
    number,
    table::{Cell, Column, Table},
};

use super::{Chart, View};

pub(super) const CHART: Chart = Chart {
    id: "timeline",
    title: "The passes in their order",
    about: "Each pass against the median of its cell, in the order in which passes were made. A machine that is left alone \
            gives a level band; a step or a slope is drift. The record holds no finer timeline than its passes.",
    draw,
};

fn draw(record: &Record, findings: &Findings) -> Drawn {
    let view = View::of(record, findings);
    let mut traces: Vec<Value> = Vec::new();
    let mut table = Table {
        columns: vec![
            Column::left("arm"),
            Column::right("passes"),
            Column::right("fastest / median"),
            Column::right("slowest / median"),
        ],
        rows: Vec::new(),
    };
    for arm in view.looks.arms() {
        let (mut x, mut y, mut text) = (vec![], vec![], vec![]);
        for sample in &record.samples {
            let Outcome::Ok { phases, tally } = &sample.outcome else { continue };
            let Some(cell) = findings.cells.get(sample.cell).filter(|cell| cell.arm.name == *arm) else { continue };
            let Some(median) = cell.ns_per_op.filter(|_| tally.ops > 0).map(|it| it.median) else { continue };
            x.push(sample.order);
            y.push(phases.total_ns() as f64 / tally.ops as f64 / median);
            text.push(label(&format!("pass {}, round {}, {}", sample.order, sample.round, cell.condition.label())));
        }
        let edges = y.iter().copied().fold(None, |edges: Option<(f64, f64)>, it| {
            Some(edges.map_or((it, it), |(low, high)| (low.min(it), high.max(it))))
        });
        let Some((low, high)) = edges else { continue };
        let short = view.names.short(arm);
        table.rows.push(
            [short.to_string(), x.len().to_string(), number::count(low), number::count(high)].map(Cell::plain).to_vec(),
        );
        traces.push(json!({ "type": "scatter", "mode": "markers", "name": label(short), "x": x, "y": y, "text": text,
            "hovertemplate": "%{text}<br>%{y:.2f} of the median<extra>%{fullData.name}</extra>",
            "marker": { "color": view.looks.colour(arm), "symbol": view.looks.symbol(arm), "size": 5, "opacity": 0.75 } }));
    }
    if traces.is_empty() {
        return Err("No cell has a median that its passes could be held against.".into());
    }
    Ok(vec![Figure {
        title: String::new(),
        notes: Vec::new(),
        traces,
        layout: json!({ "hovermode": "closest", "xaxis": { "title": { "text": "pass" } }, "yaxis": { "type": "log", "title": { "text": "time / median" }, "nticks": 6 } }),
        height: 360,
        table,
    }])
}
