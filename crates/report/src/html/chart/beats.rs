//! How many deadlines of a second thread were later than that, for each arm.

use schema::{Findings, Record, findings::BeatFinding};

use super::{Chart, View};
use crate::{
    contents::beats,
    html::figure::{Axis, Drawn, Figure, Guide, Kind, Plot, Point, Scale, Series, Unit, label},
    layout::{
        number,
        table::{Cell, Column, Table},
    },
};

pub(super) const CHART: Chart = Chart {
    id: "beats",
    title: "How late others were",
    about: "The share of the deadlines of a second thread that were later than a time, both axes logarithmic: a curve further right is of an arm beside which others stopped for longer. The line is at two milliseconds, from where on a deadline counts as stalled.",
    draw,
};

fn draw(record: &Record, findings: &Findings) -> Drawn {
    let view = View::of(record, findings);
    let mut conditions: Vec<_> = findings.beats.iter().map(|it| it.id.condition).collect();
    conditions.sort_unstable();
    conditions.dedup();
    let of = |condition| findings.beats.iter().filter(move |it| it.id.condition == condition).collect::<Vec<_>>();
    let figures = conditions.into_iter().filter_map(|it| figure(&view, record, it.condition_index, &of(it)));
    let figures: Vec<Figure> = figures.collect();
    if figures.is_empty() { Err("No arm of this run was measured beside a beat.".into()) } else { Ok(figures) }
}

fn figure(view: &View, record: &Record, condition: usize, arms: &[&BeatFinding]) -> Option<Figure> {
    let named = |it: &BeatFinding| beats::name(record, it);
    let drawn: Vec<&&BeatFinding> = arms.iter().filter(|it| it.curve.len() > 1).collect();
    let first = drawn.first()?;
    let series = drawn.iter().map(|it| {
        let name = label(&named(it));
        let point = |at: &schema::findings::BeatPoint| {
            let (share, late) = (number::percent(at.later_share), number::duration(at.late_ns));
            Point::new(at.late_ns, 100.0 * at.later_share, format!("{name}\n{share} later than {late}"))
        };
        Series { look: view.looks.look(&it.arm), kind: Kind::Curve, points: it.curve.iter().map(point).collect(), name }
    });
    let columns = ["deadlines", "median", "99 of 100", "worst"].map(Column::right);
    let duration = |ns: Option<f64>| ns.map_or_else(|| number::MISSING.to_string(), number::duration);
    let row = |it: &&&BeatFinding| {
        let late = &it.late;
        let times = [late.median_ns, late.p99_ns, Some(late.max_ns as f64)].map(|ns| Cell::plain(duration(ns)));
        let named = [Cell::plain(named(it)), Cell::plain(number::count(late.deadlines as f64))];
        named.into_iter().chain(times).collect()
    };
    Some(Figure {
        title: view.labels.label(condition),
        notes: Vec::new(),
        plots: vec![Plot {
            x: Axis::new("late by", Scale::Log, Unit::Nanoseconds),
            y: Axis::new("% of deadlines later than that", Scale::Log, Unit::Number),
            series: series.collect(),
            guides: vec![Guide::Line(2.0 * first.period_ns as f64)],
        }],
        table: Table {
            columns: [Column::left("arm")].into_iter().chain(columns).collect(),
            rows: drawn.iter().map(row).collect(),
        },
    })
}
