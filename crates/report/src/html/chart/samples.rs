//! Each valid pass as a dot: spread and outliers.

use schema::{Findings, Record, record::Outcome};

use super::{Chart, Named, View, place};
use crate::{
    html::figure::{Axis, Drawn, Figure, Kind, Plot, Point, Scale, Series, Unit, label},
    layout::{
        number,
        table::{Cell, Column, Table},
    },
};

pub(super) const CHART: Chart = Chart {
    id: "samples",
    title: "Each sample",
    about: "Every valid pass as time per block, access of a replay or execution of a command, on a logarithmic axis; the A/A control is included.",
    draw,
};

fn draw(record: &Record, findings: &Findings) -> Drawn {
    let view = View::of(record, findings);
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); record.cells.len()];
    for sample in &record.samples {
        if let Outcome::Ok { phases, tally } = &sample.outcome
            && tally.ops > 0
            && let Some(times) = times.get_mut(sample.cell)
        {
            times.push(phases.total_ns() as f64 / tally.ops as f64);
        }
    }
    let figures: Vec<Figure> =
        view.groups().iter().filter_map(|(title, cells)| figure(&view, title, cells, &times)).collect();
    if figures.is_empty() { Err("This run has no valid pass.".into()) } else { Ok(figures) }
}

fn figure(view: &View, title: &str, cells: &[Named], times: &[Vec<f64>]) -> Option<Figure> {
    let mut cells: Vec<&Named> = cells.iter().filter(|it| !times[it.cell.id.cell].is_empty()).collect();
    cells.sort_by_key(|it| it.cell.does().block_bytes);
    if cells.is_empty() {
        return None;
    }
    let rows = schema::distinct(cells.iter().map(|it| label(&it.row())));
    let series = schema::distinct(cells.iter().map(|it| it.name.clone())).into_iter().map(|name| {
        let own: Vec<&&Named> = cells.iter().filter(|it| it.name == name).collect();
        let points = own.iter().flat_map(|it| {
            let y = place(&rows, &label(&it.row()));
            // What its row is called stands beside it, and a page may have very many of them.
            let point = move |&ns: &f64| Point::new(ns, y, number::duration(ns));
            times[it.cell.id.cell].iter().map(point)
        });
        Series { name: label(&name), look: view.looks.look(own[0].arm), kind: Kind::Dots, points: points.collect() }
    });
    let series = series.collect();
    let (heading, per) = cells[0].heading();
    let table = Table {
        columns: vec![Column::left(heading), Column::right("samples"), Column::left(format!("time{per}, each"))],
        rows: cells
            .iter()
            .map(|it| {
                let times = &times[it.cell.id.cell];
                let mut shown: Vec<String> = times.iter().take(40).map(|&ns| number::duration(ns)).collect();
                if times.len() > shown.len() {
                    shown.push(format!("and {} more (--csv has them all)", times.len() - shown.len()));
                }
                vec![Cell::plain(it.row()), Cell::plain(times.len().to_string()), Cell::plain(shown.join(", "))]
            })
            .collect(),
    };
    Some(Figure {
        title: title.to_string(),
        notes: Vec::new(),
        plots: vec![Plot {
            x: Axis::new(format!("time{per}"), Scale::Log, Unit::Nanoseconds),
            y: Axis::rows(&rows),
            series,
            guides: Vec::new(),
        }],
        table,
    })
}
