//! Throughput over the block size, with confidence bands and crossovers.

use schema::{Bytes, Findings, Record, findings::Crossover};
use serde_json::{Value, json};

use crate::{
    html::figure::{Drawn, Figure, height_of_rows, label, rows_axis},
    number,
    table::{Cell, Column, Table},
};

use super::{Chart, Named, View, distinct};

pub(super) const CHART: Chart = Chart {
    id: "block-size",
    title: "Throughput over block size",
    about: "Medians with their 95 % bands, both axes logarithmic; a dotted line is where the faster of two arms changes. \
            A click on an arm in the legend switches it off.",
    draw,
};

fn draw(record: &Record, findings: &Findings) -> Drawn {
    let view = View::of(record, findings);
    let figures: Vec<Figure> = view.groups().iter().filter_map(|(title, cells)| figure(&view, title, cells)).collect();
    if figures.is_empty() { Err("No cell of this run has a throughput.".into()) } else { Ok(figures) }
}

fn figure(view: &View, title: &str, cells: &[Named]) -> Option<Figure> {
    let shown: Vec<&Named> = cells.iter().filter(|it| !it.cell.control && it.cell.bytes_per_s.is_some()).collect();
    let first = shown.first()?;
    let mut traces: Vec<Value> = Vec::new();
    let mut table = Table {
        columns: vec![
            Column::left("arm"),
            Column::right("block"),
            Column::right("throughput"),
            Column::right("time per block, 95 % interval"),
        ],
        rows: Vec::new(),
    };
    for name in distinct(shown.iter().map(|it| it.name.clone())) {
        let mut points: Vec<&&Named> = shown.iter().filter(|it| it.name == name).collect();
        points.sort_by_key(|it| it.cell.condition.block_bytes);
        let (x, mut low, mut mid, mut high, mut text) = (blocks(&points), vec![], vec![], vec![], vec![]);
        for point in &points {
            let Some(rate) = point.cell.bytes_per_s else { continue };
            low.push(rate.ci_low);
            mid.push(rate.median);
            high.push(rate.ci_high);
            let block = Bytes(point.cell.condition.block_bytes).to_string();
            let said = format!(
                "{} [{}, {}]",
                number::throughput(rate.median),
                number::throughput(rate.ci_low),
                number::throughput(rate.ci_high)
            );
            text.push(label(&format!("{block}: {said}")));
            let time = point.cell.ns_per_op.as_ref().map_or(number::MISSING.to_string(), number::duration_interval);
            table.rows.push(vec![Cell::plain(&name), Cell::plain(block), Cell::plain(said), Cell::plain(time)]);
        }
        let arm = points[0].arm;
        let (colour, shown_name) = (view.looks.colour(arm), label(&name));
        let edge = |y: &[f64], fill: &str| {
            json!({ "type": "scatter", "mode": "lines", "x": x, "y": y, "line": { "width": 0, "color": colour }, "fill": fill,
                    "fillcolor": format!("{colour}33"), "hoverinfo": "skip", "showlegend": false, "legendgroup": shown_name })
        };
        traces.push(edge(&low, "none"));
        traces.push(edge(&high, "tonexty"));
        traces.push(
            json!({ "type": "scatter", "mode": "lines+markers", "x": x, "y": mid, "text": text, "name": shown_name,
            "legendgroup": shown_name, "hovertemplate": "%{text}<extra>%{fullData.name}</extra>",
            "line": { "color": colour }, "marker": { "color": colour, "symbol": view.looks.symbol(arm), "size": 8 } }),
        );
    }
    if shown.iter().all(|it| it.cell.condition.block_bytes == first.cell.condition.block_bytes) {
        return Some(of_one_block(view, title, &shown, table));
    }
    let condition = &first.cell.condition;
    let here = |it: &&Crossover| {
        it.axis == "block_bytes"
            && (it.workload, it.consume, it.state) == (condition.workload, condition.consume, condition.state)
    };
    let crossovers: Vec<&Crossover> = view.findings.crossovers.iter().filter(here).collect();
    let lines: Vec<Value> = crossovers.iter().filter_map(|it| it.at).map(|at| {
        json!({ "type": "line", "xref": "x", "yref": "paper", "x0": at.median, "x1": at.median, "y0": 0, "y1": 1, "line": { "dash": "dot", "width": 1.5, "color": "#888" } })
    }).collect();
    let mut ticks: Vec<u64> = shown.iter().map(|it| it.cell.condition.block_bytes).collect();
    ticks.sort_unstable();
    ticks.dedup();
    let ticktext: Vec<String> = ticks.iter().map(|&it| Bytes(it).to_string()).collect();
    Some(Figure {
        title: title.to_string(),
        notes: crossovers.iter().filter(|it| it.at.is_some()).map(|it| it.statement.clone()).collect(),
        traces,
        layout: json!({ "shapes": lines, "hovermode": "closest",
            "xaxis": { "type": "log", "title": { "text": "block" }, "tickvals": ticks, "ticktext": ticktext },
            "yaxis": { "type": "log", "title": { "text": "bytes per second" }, "tickformat": "~s", "ticksuffix": "B/s", "nticks": 6, "minor": { "showgrid": false } } }),
        height: 380,
        table,
    })
}

/// Where there is one block size, the arms stand beneath each other.
fn of_one_block(view: &View, title: &str, shown: &[&Named], table: Table) -> Figure {
    let rows = distinct(shown.iter().map(|it| label(&it.name)));
    let traces = shown.iter().filter_map(|it| {
        let rate = it.cell.bytes_per_s?;
        let colour = view.looks.colour(it.arm);
        let error = json!({ "type": "data", "symmetric": false, "color": colour, "array": [rate.ci_high - rate.median], "arrayminus": [rate.median - rate.ci_low] });
        Some(json!({ "type": "scatter", "mode": "markers", "name": label(&it.name), "x": [rate.median], "y": [label(&it.name)], "error_x": error,
            "text": [label(&number::throughput(rate.median))], "hovertemplate": "%{y}: %{text}<extra></extra>", "showlegend": false,
            "marker": { "color": colour, "symbol": view.looks.symbol(it.arm), "size": 9 } }))
    });
    let block = shown.first().map_or(String::new(), |it| Bytes(it.cell.condition.block_bytes).to_string());
    Figure {
        title: format!("{title}, blocks of {block}"),
        notes: Vec::new(),
        traces: traces.collect(),
        height: height_of_rows(rows.len()),
        layout: json!({ "yaxis": rows_axis(&rows), "xaxis": { "title": { "text": "bytes per second" }, "rangemode": "tozero", "tickformat": "~s", "ticksuffix": "B/s" } }),
        table,
    }
}

fn blocks(points: &[&&Named]) -> Vec<u64> {
    points.iter().map(|it| it.cell.condition.block_bytes).collect()
}
