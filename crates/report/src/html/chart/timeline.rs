//! The run in the order of its passes: drift and disturbance show here.

use schema::{
    Findings, Reading, Record,
    record::Outcome,
    timeline::{Moment, Timeline},
};
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
            gives a level band; a step or a slope is drift. With --timeline also what the whole machine did meanwhile.",
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
    let mut figures = vec![Figure {
        title: String::new(),
        notes: Vec::new(),
        traces,
        layout: json!({ "hovermode": "closest", "xaxis": { "title": { "text": "pass" } }, "yaxis": { "type": "log", "title": { "text": "time / median" }, "nticks": 6 } }),
        height: 360,
        table,
    }];
    figures.extend(record.timeline.as_ref().and_then(|it| machine(record, it)));
    Ok(figures)
}

/// What the machine did, over the run's seconds; the passes as marks beneath.
fn machine(record: &Record, timeline: &Timeline) -> Option<Figure> {
    let table = crate::timeline::table(record)?;
    let at = || timeline.moments.iter().map(|it| it.at_s).collect::<Vec<f64>>();
    let line = |name: &str, axis: &str, colour: &str, of: &dyn Fn(&Moment) -> Option<f64>| {
        json!({ "type": "scatter", "mode": "lines", "name": name, "x": at(), "yaxis": axis,
            "y": timeline.moments.iter().map(of).collect::<Vec<Option<f64>>>(),
            "line": { "color": colour, "width": 1.5 }, "hovertemplate": "%{x:.1f} s: %{y:.1f}<extra>%{fullData.name}</extra>" })
    };
    let rate = |reading: &Reading<f64>| reading.value().map(|bytes| bytes / 1_048_576.0);
    let names: Vec<String> = timeline
        .passes
        .iter()
        .map(|pass| {
            let cell = record.cells.get(pass.cell);
            let condition = cell.and_then(|it| record.conditions.get(it.condition)).map(|it| it.label());
            label(&format!("{} {}", cell.map_or("", |it| it.arm.name.as_str()), condition.unwrap_or_default()))
        })
        .collect();
    let traces = vec![
        line("user, %", "y", "#0072b2", &|it| Some(100.0 * it.user)),
        line("system, %", "y", "#d55e00", &|it| Some(100.0 * it.system)),
        line("waiting for a device, %", "y", "#cc79a7", &|it| Some(100.0 * it.wait)),
        line("stolen, %", "y", "#7f7f7f", &|it| Some(100.0 * it.steal)),
        line("read, MiB/s", "y2", "#009e73", &|it| rate(&it.read_bytes_per_s)),
        line("written, MiB/s", "y2", "#e69f00", &|it| rate(&it.write_bytes_per_s)),
        json!({ "type": "scatter", "mode": "markers", "name": "passes", "yaxis": "y", "text": names,
            "x": timeline.passes.iter().map(|it| (it.from_s + it.to_s) / 2.0).collect::<Vec<f64>>(),
            "y": vec![-4.0; timeline.passes.len()], "hovertemplate": "%{text}<extra></extra>",
            "marker": { "color": "#8c6bb1", "symbol": "line-ns-open", "size": 8 } }),
    ];
    Some(Figure {
        title: "The machine meanwhile".into(),
        notes: vec!["Shares of all CPUs' time on the left, the disk under the file on the right, each pass a mark at the bottom.".into()],
        traces,
        layout: json!({ "xaxis": { "title": { "text": "seconds since the run began" } }, "yaxis": { "title": { "text": "% of CPU time" } },
            "yaxis2": { "title": { "text": "MiB/s" }, "overlaying": "y", "side": "right", "showgrid": false, "rangemode": "tozero" } }),
        height: 420,
        table,
    })
}
