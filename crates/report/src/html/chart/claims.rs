//! Claims that have a published ratio or hold two things against each other: what was published, and what was measured under
//! each condition that decides.

use schema::{
    Findings, Record,
    experiment::{Expect, Variant},
    findings::{ClaimFinding, ClaimMeasured, Estimate, MARGIN},
};

use super::Chart;
use crate::{
    contents::claim,
    html::figure::{Axis, Colour, Drawn, Figure, Guide, Kind, Look, Plot, Point, Scale, Series, Symbol, Unit, label},
    layout::{
        number,
        table::{Cell, Column, Table},
    },
    words::of_passes,
};

pub(super) const CHART: Chart = Chart {
    id: "claims-measured",
    title: "Published and measured",
    about: "Each row is a claim. Right of the grey band it holds, within it there is no difference, left of it the claim is reversed, unless it is undecided: the table has the verdicts. One circle with its 95 % interval for each condition, grey on folios of the study's time, which do not decide. A square is the published ratio.",
    draw,
};

fn draw(record: &Record, findings: &Findings) -> Drawn {
    if findings.claims.is_empty() {
        return Err("This experiment has no claims.".into());
    }
    let expected = |claim: &ClaimFinding| record.experiment.claims.iter().find(|it| it.id == claim.id)?.expect;
    // A claim about a number has a scale of its own, and one that two things are the same no direction.
    let with_ratios = findings.claims.iter().filter_map(|claim| {
        let is_higher = match expected(claim)? {
            Expect::Lower => false,
            Expect::Higher => true,
            Expect::Same | Expect::AtMost(_) | Expect::AtLeast(_) => return None,
        };
        let corrected = |it: &&ClaimMeasured| it.decides || it.variant == Some(Variant::Corrected);
        let variant = claim.measured.iter().find(|it| it.decides).or(claim.measured.iter().find(corrected));
        let variant = variant.map(|it| it.variant);
        let is_drawn = |it: &ClaimMeasured| Some(it.variant) == variant;
        let measured: Vec<(&ClaimMeasured, Estimate)> = claim
            .measured
            .iter()
            .filter(|it| is_drawn(it) && (it.than_cell.is_some() || it.against_cell.is_some()))
            .map(|it| (it, if is_higher { turned(it.value) } else { it.value }))
            .filter(|(_, it)| [it.ci_low, it.median, it.ci_high].iter().all(|it| it.is_finite() && *it > 0.0))
            .collect();
        (!measured.is_empty()).then_some((claim, measured))
    });
    let rows: Vec<(&ClaimFinding, Vec<(&ClaimMeasured, Estimate)>)> = with_ratios.collect();
    if rows.is_empty() {
        return Err("No claim of this run holds two things against each other, or none of them was measured.".into());
    }
    let names: Vec<String> = rows.iter().map(|(claim, _)| label(&format!("{}: {}", claim.id, claim.says))).collect();
    let published = rows.iter().enumerate().filter_map(|(at, (claim, _))| {
        let ratio = claim.published.ratio.filter(|it| it.is_finite() && *it > 0.0)?;
        Some(Point::new(ratio, at as f64, format!("published: {}", number::given(ratio))))
    });
    // As it was published, arms may do unequal work.
    let as_published = |it: &ClaimMeasured| it.decides && it.variant == Some(Variant::AsPublished);
    let ours = |is_one: &dyn Fn(&ClaimMeasured) -> bool| -> Vec<Point> {
        let points = rows.iter().enumerate().flat_map(|(at, (_, measured))| {
            let measured = measured.iter().filter(|(it, _)| is_one(it));
            measured.map(move |(it, value)| Point {
                x: value.median,
                y: at as f64,
                range: Some((value.ci_low, value.ci_high)),
                says: format!("{}: {}{}", label(&it.condition), number::plain(&number::estimate_glued(value)), of(it)),
            })
        });
        points.collect()
    };
    let look = |colour, symbol| Look { colour, symbol };
    let series = [
        ("published", look(Colour::Vermilion, Symbol::Square), published.collect::<Vec<Point>>()),
        (
            "measured here, with equal work",
            look(Colour::Blue, Symbol::Circle),
            ours(&|it| it.decides && !as_published(it)),
        ),
        ("measured here, as published", look(Colour::Orange, Symbol::Circle), ours(&as_published)),
        ("measured here, on folios of the study's time", look(Colour::Grey, Symbol::Circle), ours(&|it| !it.decides)),
    ];
    let series = series.into_iter().filter(|(.., points)| !points.is_empty());
    Ok(vec![Figure {
        title: String::new(),
        notes: Vec::new(),
        plots: vec![Plot {
            x: Axis::new("times, as claimed", Scale::Log, Unit::Times),
            y: Axis::rows(&names),
            series: series
                .map(|(name, look, points)| Series { name: name.into(), look, kind: Kind::Dots, points })
                .collect(),
            guides: vec![Guide::Band(1.0 / (1.0 + MARGIN), 1.0 + MARGIN), Guide::Line(1.0)],
        }],
        table: table(&rows),
    }])
}

/// Which passes a value and its verdict are of, where that is to be said.
fn of(it: &ClaimMeasured) -> &'static str {
    of_passes(it.answer_of, it.verdict.is_decided())
}

/// The same the other way round.
fn turned(it: Estimate) -> Estimate {
    Estimate { median: 1.0 / it.median, ci_low: 1.0 / it.ci_high, ci_high: 1.0 / it.ci_low }
}

fn table(rows: &[(&ClaimFinding, Vec<(&ClaimMeasured, Estimate)>)]) -> Table {
    let row = |claim: &ClaimFinding, it: &ClaimMeasured, value: &Estimate| {
        vec![
            Cell::plain(format!("{}: {}", claim.id, claim::says(claim))),
            Cell::plain(&it.condition),
            Cell::plain(claim.published.ratio.map_or_else(String::new, number::given)),
            Cell::plain(number::estimate_glued(value)),
            Cell::plain(format!("{}{}", it.verdict.words(), of(it))),
        ]
    };
    let columns = vec![
        Column::left("claim"),
        Column::left("condition"),
        Column::right("published"),
        Column::right("here"),
        Column::left("verdict"),
    ];
    let rows = rows.iter().flat_map(|(claim, measured)| measured.iter().map(|(it, value)| row(claim, it, value)));
    Table { columns, rows: rows.collect() }
}
