//! Published numbers, and ours in both forms, each as a multiple of the published one.

use schema::{Findings, Reading, Record, findings::Estimate};
use serde_json::{Value, json};

use crate::{
    html::figure::{Drawn, Figure, height_of_rows, label, rows_axis},
    number,
    study::{self, Intervals},
};

use super::{Chart, distinct};

pub(super) const CHART: Chart = Chart {
    id: "published",
    title: "Published, as published here, corrected here",
    about: "Our number divided by the published one, with the 95 % interval; the line at 1 is the publication. \
            The numbers themselves, in their units, stand in the table.",
    draw,
};

fn draw(record: &Record, findings: &Findings) -> Drawn {
    if !study::is_one(record) {
        return Err("This experiment is no reproduction of something published.".into());
    }
    let says: Vec<String> = findings.figures.iter().map(|it| it.says.clone()).collect();
    let forms: [(&str, &str, &str, Vec<&Reading<Estimate>>); 2] = [
        ("as published", "#d55e00", "square", findings.figures.iter().map(|it| &it.as_published).collect()),
        ("corrected", "#0072b2", "circle", findings.figures.iter().map(|it| &it.corrected).collect()),
    ];
    let names: Vec<String> = says.iter().map(|it| label(it)).collect();
    let mut traces: Vec<Value> = Vec::new();
    for (name, colour, symbol, values) in forms {
        let points: Vec<(usize, Estimate, f64)> = values
            .iter()
            .enumerate()
            .filter_map(|(at, value)| {
                let published = findings.figures[at].published;
                value.value().filter(|_| published > 0.0).map(|it| (at, *it, published))
            })
            .collect();
        if points.is_empty() {
            continue;
        }
        traces.push(json!({ "type": "scatter", "mode": "markers", "name": name,
            "x": points.iter().map(|(_, it, published)| it.median / published).collect::<Vec<f64>>(),
            "y": points.iter().map(|(at, ..)| &names[*at]).collect::<Vec<&String>>(),
            "error_x": { "type": "data", "symmetric": false, "color": colour,
                "array": points.iter().map(|(_, it, published)| (it.ci_high - it.median) / published).collect::<Vec<f64>>(),
                "arrayminus": points.iter().map(|(_, it, published)| (it.median - it.ci_low) / published).collect::<Vec<f64>>() },
            "customdata": points.iter().map(|(_, it, published)| number::plain(&format!("{} (published {})", number::estimate_glued(it), number::given(*published)))).collect::<Vec<String>>(),
            "hovertemplate": "%{y}<br>%{fullData.name}: %{customdata}<extra></extra>",
            "marker": { "color": colour, "symbol": symbol, "size": 9 } }));
    }
    if traces.is_empty() {
        return Err("No published number has one of ours beside it.".into());
    }
    let rows = distinct(names.into_iter());
    let at_one = json!({ "type": "line", "xref": "x", "yref": "paper", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "line": { "dash": "dot", "color": "#888" } });
    Ok(vec![Figure {
        title: String::new(),
        notes: Vec::new(),
        traces,
        layout: json!({ "shapes": [at_one], "yaxis": rows_axis(&rows), "xaxis": { "type": "log", "title": { "text": "ours / published" }, "nticks": 8 } }),
        height: height_of_rows(rows.len()),
        table: study::figures(findings, Intervals::Beside).table,
    }])
}
