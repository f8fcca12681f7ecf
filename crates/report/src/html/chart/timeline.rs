//! The run in the order of its passes: drift and disturbance show here.

use std::collections::BTreeMap;

use schema::{
    Findings, Labels, Names, Reading, Record,
    findings::CellFinding,
    record::{Outcome, Sample},
    timeline::{Moment, Passing, Timeline},
};

use super::{Chart, View};
use crate::{
    html::figure::{Axis, Colour, Drawn, Figure, Kind, Look, Plot, Point, Scale, Series, Symbol, Unit, label},
    layout::{
        number,
        table::{Cell, Column, Table},
    },
};

pub(super) const CHART: Chart = Chart {
    id: "timeline",
    title: "The passes in their order",
    about: "Each pass divided by the median of its cell, in the order of the passes. An idle machine gives a level band; a step or a slope is drift. With --timeline also the activity of the whole machine.",
    draw,
};

fn draw(record: &Record, findings: &Findings) -> Drawn {
    let view = View::of(record, findings);
    let mut series: Vec<Series> = Vec::new();
    let mut table = Table {
        columns: vec![
            Column::left("arm"),
            Column::right("passes"),
            Column::right("fastest / median"),
            Column::right("slowest / median"),
        ],
        rows: Vec::new(),
    };
    let cells: BTreeMap<usize, &CellFinding> = findings.cells.iter().map(|it| (it.id.cell, it)).collect();
    let mut passes: BTreeMap<&str, Vec<(&Sample, &CellFinding)>> = BTreeMap::new();
    for sample in &record.samples {
        if let Some(cell) = cells.get(&sample.cell) {
            passes.entry(&cell.arm.name).or_default().push((sample, cell));
        }
    }
    for arm in view.looks.arms() {
        let (short, mut points) = (view.names.short(arm), Vec::new());
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (sample, cell) in passes.get(arm).into_iter().flatten() {
            let Outcome::Ok { phases, tally } = &sample.outcome else { continue };
            let Some(median) = cell.ns_per_op.filter(|_| tally.ops > 0).map(|it| it.median) else { continue };
            let ratio = phases.total_ns() as f64 / tally.ops as f64 / median;
            (low, high) = (low.min(ratio), high.max(ratio));
            let which = format!(
                "pass {}, round {}, {}",
                sample.order,
                u64::from(sample.round) + 1,
                view.labels.of_cell(record, sample.cell)
            );
            let says = format!("{}\n{}\n{ratio:.2} of the median", label(short), label(&which));
            points.push(Point::new(f64::from(sample.order), ratio, says));
        }
        if points.is_empty() {
            continue;
        }
        table.rows.push(
            [short.to_string(), points.len().to_string(), number::count(low), number::count(high)]
                .map(Cell::plain)
                .to_vec(),
        );
        series.push(Series { name: label(short), look: view.looks.look(arm), kind: Kind::Dots, points });
    }
    if series.is_empty() {
        return Err("No cell has a median to compare its passes with.".into());
    }
    let mut figures = vec![Figure {
        title: String::new(),
        notes: Vec::new(),
        plots: vec![Plot {
            x: Axis::new("pass", Scale::Linear, Unit::Number),
            y: Axis::new("time / median", Scale::Log, Unit::Times),
            series,
            guides: Vec::new(),
        }],
        table,
    }];
    figures.extend(record.timeline.as_ref().and_then(|it| machine(record, &view.labels, &view.names, it)));
    Ok(figures)
}

/// What the machine did, over the run's seconds; the passes as marks beneath.
fn machine(record: &Record, labels: &Labels, names: &Names, timeline: &Timeline) -> Option<Figure> {
    let table = crate::contents::timeline::table(record)?;
    let curve = |name: &str, colour: Colour, of: &dyn Fn(&Moment) -> Option<f64>| {
        // A moment without a reading interrupts the curve.
        let point = |(from_s, it): (f64, &Moment)| Point::new((from_s + it.at_s) / 2.0, of(it).unwrap_or(f64::NAN), "");
        let points = timeline.spans().map(point).collect();
        Series { name: name.to_string(), look: Look::of(colour), kind: Kind::Curve, points }
    };
    let rate = |reading: &Reading<f64>| reading.value().copied();
    let pass = |pass: &Passing| {
        let arm = record.cells.get(pass.cell).map_or("", |it| names.short(&it.arm.name));
        let says = label(&format!("{arm} {}", labels.of_cell(record, pass.cell)));
        Point::new((pass.from_s + pass.to_s) / 2.0, -4.0, says)
    };
    let passes = Series {
        name: "passes".into(),
        look: Look { colour: Colour::Purple, symbol: Symbol::Tick },
        kind: Kind::Dots,
        points: timeline.passes.iter().map(pass).collect(),
    };
    let seconds = || Axis::new("seconds since the run began", Scale::Linear, Unit::Number);
    let shares = Plot {
        x: seconds(),
        y: Axis::new("% of all CPUs' time", Scale::Linear, Unit::Number),
        series: vec![
            curve("user", Colour::Blue, &|it| Some(100.0 * it.user)),
            curve("system", Colour::Vermilion, &|it| Some(100.0 * it.system)),
            curve("waiting for a device", Colour::Pink, &|it| Some(100.0 * it.wait)),
            curve("stolen", Colour::Grey, &|it| Some(100.0 * it.steal)),
            passes,
        ],
        guides: Vec::new(),
    };
    let disk = Plot {
        x: seconds(),
        y: Axis::new("the disk under the file", Scale::FromZero, Unit::BytesPerSecond),
        series: vec![
            curve("read", Colour::Green, &|it| rate(&it.read_bytes_per_s)),
            curve("written", Colour::Orange, &|it| rate(&it.write_bytes_per_s)),
        ],
        guides: Vec::new(),
    };
    Some(Figure {
        title: "The machine during the run".into(),
        notes: vec![
            "Shares of all CPUs' time with each pass as a mark at the bottom, then the disk under the file.".into(),
        ],
        plots: vec![shares, disk],
        table,
    })
}
