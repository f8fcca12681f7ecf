//! Published numbers, and ours in both forms, each as a multiple of the published one.

use schema::{
    Findings, Labels, Reading, Record,
    findings::{Estimate, FigureFinding},
    reason::Reason,
};

use super::Chart;
use crate::{
    contents::study::{self, Intervals},
    html::figure::{Axis, Colour, Drawn, Figure, Guide, Kind, Look, Plot, Point, Scale, Series, Symbol, Unit, label},
    layout::number,
};

pub(super) const CHART: Chart = Chart {
    id: "published",
    title: "Published, as published here, corrected here",
    about: "Our number divided by the published one, with the 95 % interval; the line at 1 is the published number. The table has the numbers in their units.",
    draw,
};

fn draw(record: &Record, findings: &Findings) -> Drawn {
    if !study::is_one(record) {
        return Err("This experiment does not reproduce a publication.".into());
    }
    let (square, circle) = (
        Look { colour: Colour::Vermilion, symbol: Symbol::Square },
        Look { colour: Colour::Blue, symbol: Symbol::Circle },
    );
    type Figures<'a> = Vec<&'a Reading<Estimate, Reason>>;
    let forms: [(&str, Look, Figures); 2] = [
        ("as published", square, findings.figures.iter().map(|it| &it.as_published).collect()),
        ("corrected", circle, findings.figures.iter().map(|it| &it.corrected).collect()),
    ];
    // Two figures may say the same of two conditions.
    let labels = Labels::of(record);
    let name = |it: &FigureFinding| {
        let id = it.corrected_id.or(it.as_published_id);
        let is_repeated = findings.figures.iter().filter(|other| other.says == it.says).count() > 1;
        let condition = id.filter(|_| is_repeated).map(|it| labels.label(it.condition.condition_index));
        condition.map_or_else(|| it.says.clone(), |condition| format!("{} ({condition})", it.says))
    };
    let names: Vec<String> = findings.figures.iter().map(|it| label(&name(it))).collect();
    let mut series: Vec<Series> = Vec::new();
    for (name, look, values) in forms {
        let point = |(at, value): (usize, &&Reading<Estimate, Reason>)| {
            let (it, published) = (value.value()?, findings.figures[at].published);
            let ours = number::plain(&number::estimate_glued(it));
            let says = format!("{}\n{name}: {ours} (published {})", names[at], number::given(published));
            (published > 0.0).then(|| Point {
                x: it.median / published,
                y: at as f64,
                range: Some((it.ci_low / published, it.ci_high / published)),
                says,
            })
        };
        let points: Vec<Point> = values.iter().enumerate().filter_map(point).collect();
        if !points.is_empty() {
            series.push(Series { name: name.to_string(), look, kind: Kind::Dots, points });
        }
    }
    if series.is_empty() {
        return Err("No published number was measured in this run.".into());
    }
    Ok(vec![Figure {
        title: String::new(),
        notes: Vec::new(),
        plots: vec![Plot {
            x: Axis::new("ours / published", Scale::Log, Unit::Times),
            y: Axis::rows(&names),
            series,
            guides: vec![Guide::Line(1.0)],
        }],
        table: study::figures(findings, Intervals::Beside).table,
    }])
}
