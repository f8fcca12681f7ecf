//! Faults for each byte that was delivered, and what was read from the device for each byte that was reached.

use schema::{Findings, Record, findings::CellFinding, reason::Reason, record::Reading};

use super::{Chart, Named, View};
use crate::{
    html::figure::{Axis, Colour, Drawn, Figure, Kind, Look, Plot, Point, Scale, Series, Unit, label},
    layout::{
        number,
        table::{Cell, Column, Table},
    },
    words::reason,
};

pub(super) const CHART: Chart = Chart {
    id: "faults",
    title: "Faults and read amplification",
    about: "Page faults per MiB that was delivered and bytes read from the device per distinct byte that was reached; of commands both per byte of their files, because what they reach of them is not known. Above 1, whole pages, sectors or read-ahead fetched bytes that were not used.",
    draw,
};

/// A reading, what it is called, and in what it is counted.
struct Counted {
    title: &'static str,
    unit: &'static str,
    of: fn(&CellFinding) -> Reading<f64, Reason>,
}

const COUNTED: [Counted; 3] = [
    Counted {
        title: "minor faults",
        unit: "faults per MiB",
        of: |cell| over(&cell.minor_faults, cell, cell.bytes).map(|it| it * 1_048_576.0),
    },
    Counted {
        title: "major faults",
        unit: "faults per MiB",
        of: |cell| over(&cell.major_faults, cell, cell.bytes).map(|it| it * 1_048_576.0),
    },
    Counted {
        title: "read amplification",
        unit: "bytes from the device per byte",
        of: |cell| over(&cell.device_read_bytes, cell, cell.distinct_bytes),
    },
];

/// Per byte of the tally. What a command reads is not known from outside, so for commands per byte of its files.
fn over(reading: &Reading<f64, Reason>, cell: &CellFinding, bytes: Option<f64>) -> Reading<f64, Reason> {
    let named = || cell.condition.is_of_commands().then_some(cell.condition.file_bytes as f64);
    match bytes.or_else(named).filter(|&bytes| bytes > 0.0) {
        Some(bytes) => reading.clone().map(|it| it / bytes),
        None => Reading::unavailable("no pass delivered a byte"),
    }
}

fn draw(record: &Record, findings: &Findings) -> Drawn {
    let view = View::of(record, findings);
    let mut figures = Vec::new();
    for (title, cells) in view.groups() {
        let cells: Vec<&Named> = cells.iter().filter(|it| it.cell.ns_per_op.is_some() && !it.cell.control).collect();
        figures.extend(figure(&title, &cells, &COUNTED[..2]));
        figures.extend(figure(&title, &cells, &COUNTED[2..]));
    }
    if figures.is_empty() {
        Err("No arm of this run had a fault or read from the device, as far as the counters could be read.".into())
    } else {
        Ok(figures)
    }
}

/// Nothing where everything is 0: that is said in the tables of every arm.
fn figure(title: &str, cells: &[&Named], counted: &[Counted]) -> Option<Figure> {
    let values: Vec<Vec<Reading<f64, Reason>>> =
        cells.iter().map(|it| counted.iter().map(|counted| (counted.of)(it.cell)).collect()).collect();
    values.iter().flatten().filter_map(Reading::value).find(|it| **it > 0.0)?;
    let names: Vec<String> = cells.iter().map(|it| label(&it.row())).collect();
    let series = counted.iter().zip([Colour::Green, Colour::Vermilion]).enumerate().map(|(at, (counted, colour))| {
        let point = |(row, values): (usize, &Vec<Reading<f64, Reason>>)| {
            let value = *values[at].value()?;
            let says = format!("{}\n{}: {} {}", names[row], counted.title, number::count(value), counted.unit);
            Some(Point::new(value, row as f64, says))
        };
        let points = values.iter().enumerate().filter_map(point).collect();
        Series { name: counted.title.to_string(), look: Look::of(colour), kind: Kind::Bars, points }
    });
    let series = series.collect();
    let show = |reading: &Reading<f64, Reason>| match reading {
        Reading::Value(value) => number::count(*value),
        Reading::Unavailable { unavailable } => format!("{} ({})", number::MISSING, reason(unavailable)),
    };
    let table = Table {
        columns: [Column::left(cells.first()?.heading().0)]
            .into_iter()
            .chain(counted.iter().map(|it| Column::right(format!("{}, {}", it.title, it.unit))))
            .collect(),
        rows: cells
            .iter()
            .zip(&values)
            .map(|(it, row)| {
                [Cell::plain(it.row())].into_iter().chain(row.iter().map(|it| Cell::plain(show(it)))).collect()
            })
            .collect(),
    };
    let what = if counted.len() == 1 { counted[0].title } else { "faults" };
    Some(Figure {
        title: format!("{title}: {what}"),
        notes: Vec::new(),
        plots: vec![Plot {
            x: Axis::new(counted[0].unit, Scale::FromZero, Unit::Number),
            y: Axis::rows(&names),
            series,
            guides: Vec::new(),
        }],
        table,
    })
}
