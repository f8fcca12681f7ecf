//! Throughput over the block size, with confidence bands and crossovers.

use schema::{Findings, Record, findings::Crossover};

use super::{Chart, Named, View, place};
use crate::{
    html::figure::{Axis, Drawn, Figure, Guide, Kind, Plot, Point, Scale, Series, Unit, label},
    layout::{
        number,
        table::{Cell, Column, Table},
    },
    words::{crossover, metric},
};

pub(super) const CHART: Chart = Chart {
    id: "block-size",
    title: "Throughput over block size",
    about: "Medians with their 95 % bands, both axes logarithmic; a dotted line is where the faster of two arms changes. Of one block size each arm is a mark with its 95 % interval, on a linear axis from 0.",
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
    let mut series: Vec<Series> = Vec::new();
    let mut table = Table {
        columns: vec![
            Column::left("arm"),
            Column::right("block"),
            Column::right("throughput"),
            Column::right(format!("time per {}, 95 % interval", metric::op(first.cell.condition.workload))),
        ],
        rows: Vec::new(),
    };
    for name in schema::distinct(shown.iter().map(|it| it.name.clone())) {
        let mut points: Vec<&Named> = cells.iter().filter(|it| !it.cell.control && it.name == name).collect();
        points.sort_by_key(|it| it.cell.does().block_bytes);
        let mut drawn = Vec::new();
        for point in &points {
            let block = point.cell.does().block();
            // A block without a valid pass interrupts the line.
            let Some(rate) = point.cell.bytes_per_s else {
                drawn.push(Point::new(point.cell.does().block_bytes as f64, f64::NAN, ""));
                let missing = || Cell::plain(number::MISSING);
                table.rows.push(vec![Cell::plain(&name), Cell::plain(block), missing(), missing()]);
                continue;
            };
            let described = format!(
                "{} [{}, {}]",
                number::throughput(rate.median),
                number::throughput(rate.ci_low),
                number::throughput(rate.ci_high)
            );
            drawn.push(Point {
                x: point.cell.does().block_bytes as f64,
                y: rate.median,
                range: Some((rate.ci_low, rate.ci_high)),
                says: format!("{}\n{block}: {described}", label(&name)),
            });
            let time = point.cell.ns_per_op.as_ref().map_or(number::MISSING.to_string(), number::duration_interval);
            table.rows.push(vec![Cell::plain(&name), Cell::plain(block), Cell::plain(described), Cell::plain(time)]);
        }
        let arm = points[0].arm;
        series.push(Series { name: label(&name), look: view.looks.look(arm), kind: Kind::Line, points: drawn });
    }
    if shown.iter().all(|it| it.cell.does().block_bytes == first.cell.does().block_bytes) {
        return Some(of_one_block(view, title, &shown, table));
    }
    let here = |it: &&Crossover| {
        it.axis == "block_bytes" && it.cells.iter().any(|id| shown.iter().any(|shown| shown.cell.id == *id))
    };
    let crossovers: Vec<&Crossover> = view.findings.crossovers.iter().filter(here).collect();
    // The curves are of the passes of the rounds.
    let is_of_rounds = |it: &&&Crossover| {
        let mut beside = it.between.iter().flatten().filter_map(|&at| it.points.get(at));
        !beside.any(|it| it.of_job)
    };
    let guides =
        crossovers.iter().filter(is_of_rounds).filter_map(|it| it.at).map(|at| Guide::Line(at.median)).collect();
    let mut blocks: Vec<u64> = shown.iter().map(|it| it.cell.does().block_bytes).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let blocks = blocks.into_iter().map(|it| it as f64).collect();
    Some(Figure {
        title: title.to_string(),
        notes: crossovers.iter().filter(|it| it.changes).map(|it| crossover(it)).collect(),
        plots: vec![Plot {
            x: Axis::new("block", Scale::LogAt(blocks), Unit::Bytes),
            y: Axis::new("throughput", Scale::Log, Unit::BytesPerSecond),
            series,
            guides,
        }],
        table,
    })
}

/// Where there is one block size, the arms stand beneath each other.
fn of_one_block(view: &View, title: &str, shown: &[&Named], table: Table) -> Figure {
    let rows = schema::distinct(shown.iter().map(|it| label(&it.name)));
    let series = shown.iter().filter_map(|it| {
        let rate = it.cell.bytes_per_s?;
        let name = label(&it.name);
        let point = Point {
            x: rate.median,
            y: place(&rows, &name),
            range: Some((rate.ci_low, rate.ci_high)),
            says: format!("{name}: {}", number::throughput(rate.median)),
        };
        Some(Series { name, look: view.looks.look(it.arm), kind: Kind::Dots, points: vec![point] })
    });
    // A replay has none: its accesses have lengths of their own.
    let block = shown.first().map(|it| it.cell.does().block()).filter(|it| !it.is_empty());
    Figure {
        title: block.map_or_else(|| title.to_string(), |it| format!("{title}, blocks of {it}")),
        notes: Vec::new(),
        plots: vec![Plot {
            series: series.collect(),
            x: Axis::new("throughput", Scale::FromZero, Unit::BytesPerSecond),
            y: Axis::rows(&rows),
            guides: Vec::new(),
        }],
        table,
    }
}
