//! Every comparison with its interval, against the margin: a forest plot.

use schema::{
    Findings, Record, State,
    findings::{AnswerOf, Comparison, Estimate},
};

use super::{Chart, View};
use crate::{
    contents::own,
    html::figure::{Axis, Drawn, Figure, Guide, Kind, Looks, Plot, Point, Scale, Series, Unit, label},
    layout::{
        number,
        table::{Cell, Column, Table},
    },
    words::{of_passes, reason},
};

pub(super) const CHART: Chart = Chart {
    id: "speedup",
    title: "Speedup with intervals",
    about: "How many times faster than the baseline of its condition, with the 95 % interval, on a logarithmic axis. Right of the shaded margin of 5 % is faster, left of it slower, within it the same, unless the noise floor of the state is wider; the table has the verdicts.",
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
        let also = view.labels.also(it.id.condition.condition_index);
        let also = if also.is_empty() { String::new() } else { format!(", {also}") };
        let condition = format!("{} {}", it.condition.workload, it.condition.block());
        let condition = format!("{}{also}", condition.trim());
        let cell = view.findings.cells.iter().find(|cell| cell.id == it.id);
        let own = cell.and_then(|it| it.own_condition.as_ref());
        let arm = own::name(view.names.short(&it.arm), own, &it.condition, true);
        table.rows.push(vec![
            Cell::plain(&condition),
            Cell::plain(&arm),
            Cell::plain(view.names.short(&it.baseline)),
            Cell::plain(it.speedup.as_ref().map_or(number::MISSING.to_string(), number::speedup)),
            Cell::plain(rounds(it)),
            Cell::plain(verdict(it)),
            Cell::plain(it.reason.as_ref().map(reason).unwrap_or_default()),
        ]);
        if it.speedup.is_some() {
            rows.push((condition, arm, it));
        }
    }
    if rows.is_empty() {
        return None;
    }
    let forest: Vec<ForestRow> = (rows.iter())
        .filter_map(|(condition, arm, it)| {
            let speedup = it.speedup?;
            let says = format!("{}: {}", number::speedup(&speedup), verdict(it));
            Some(ForestRow { of: condition.clone(), arm: arm.clone(), full: it.arm.clone(), speedup, says })
        })
        .collect();
    let plots = vec![forest_plot(&forest, &view.looks, "times faster than the baseline")];
    Some(Figure { title: state.to_string(), notes: Vec::new(), plots, table })
}

fn verdict(it: &Comparison) -> String {
    format!("{}{}", it.verdict.words(), of_passes(it.answer_of, it.verdict.is_decided()))
}

/// How many rounds the interval is of; or pairs, where it is of passes at the size of the job.
fn rounds(it: &Comparison) -> String {
    match (it.answer_of, &it.confirmed) {
        (AnswerOf::Job, Some(job)) => format!("{} pairs of the job", job.pairs),
        _ => it.pairs.to_string(),
    }
}

/// A line of a forest plot.
pub(in crate::html) struct ForestRow {
    /// What was done: rows that have it in common stand beneath each other.
    pub(in crate::html) of: String,
    /// As the legend has it, and its full name.
    pub(in crate::html) arm: String,
    pub(in crate::html) full: String,
    pub(in crate::html) speedup: Estimate,
    pub(in crate::html) says: String,
}

/// Intervals beneath each other, one look for each arm, the margin shaded.
pub(in crate::html) fn forest_plot(rows: &[ForestRow], looks: &Looks, axis: &str) -> Plot {
    let is_repeat = |at: usize, it: &&ForestRow| (&it.of, &it.arm) == (&rows[at].of, &rows[at].arm);
    let arm = |at: usize| match rows[..at].iter().filter(|it| is_repeat(at, it)).count() {
        0 => rows[at].arm.clone(),
        repeats => format!("{} #{}", rows[at].arm, repeats + 1),
    };
    let name = |at: usize| label(&format!("{} · {}", rows[at].of, arm(at)));
    // What several have in common is said by the first.
    let goes_on = |at: usize| at > 0 && rows[at - 1].of == rows[at].of;
    let shown: Vec<String> = (0..rows.len()).map(|at| if goes_on(at) { label(&arm(at)) } else { name(at) }).collect();
    let series = schema::distinct(rows.iter().map(|row| row.arm.clone())).into_iter().map(|arm| {
        let own: Vec<(usize, &ForestRow)> = rows.iter().enumerate().filter(|(_, row)| row.arm == arm).collect();
        let point = |(at, row): &(usize, &ForestRow)| Point {
            x: row.speedup.median,
            y: *at as f64,
            range: Some((row.speedup.ci_low, row.speedup.ci_high)),
            says: format!("{}\n{}", name(*at), row.says),
        };
        let look = looks.look(own.first().map_or("", |(_, row)| row.full.as_str()));
        Series { name: label(&arm), look, kind: Kind::Dots, points: own.iter().map(point).collect() }
    });
    Plot {
        series: series.collect(),
        x: Axis::new(axis, Scale::Log, Unit::Times),
        y: Axis::rows(&shown),
        guides: vec![Guide::Band(1.0 / 1.05, 1.05)],
    }
}
