//! The table of counted passes.

use schema::{Findings, Labels, Record, counted::Histogram, findings::CountedFinding, reason::Reason, record::Reading};

use crate::layout::{
    number,
    table::{Cell, Column, Table},
};

pub(crate) const TITLE: &str = "Counted";

pub(crate) const ABOUT: &str = "One more untimed pass of every arm, with the kernel's tracepoints where they may be enabled. Pages/fault: pages that the pass reached, per fault of a mapping; random reads reach few of the pages that a fault maps. Faults while the kernel populates a mapping are not seen. Amplification: bytes read from the device per byte used. Folios: order × number added to the page cache. A + after a list or a number: events were lost because the ring buffer was full.";

const LOST: &str = " +";

/// Nothing when nothing was counted.
pub(crate) fn table(record: &Record, findings: &Findings) -> Option<Table> {
    if findings.counted.is_empty() {
        return None;
    }
    let labels = Labels::of(record);
    let mut columns = vec![Column::left("arm"), Column::left("condition")];
    columns
        .extend(["calls/MiB", "faults/MiB", "pages/fault", "amplification", "folios", "requests"].map(Column::right));
    let rows = findings.counted.iter().filter_map(|it| row(record, &labels, it)).collect();
    Some(Table { columns, rows })
}

fn row(record: &Record, labels: &Labels, it: &CountedFinding) -> Option<Vec<Cell>> {
    let cell = record.cells.get(it.cell)?;
    Some(vec![
        Cell::plain(&cell.arm.name),
        Cell::plain(labels.of_cell(record, it.cell)),
        amount(&it.system_calls_per_mib),
        amount(&it.faults_per_mib),
        amount(&it.pages_per_fault),
        amount(&it.amplification),
        spread(&it.folio_orders, |order| order.to_string()),
        requests(it),
    ])
}

fn amount(reading: &Reading<f64, Reason>) -> Cell {
    reading.value().map_or_else(Cell::absent, |&value| {
        Cell::plain(match value {
            value if value >= 100.0 => format!("{value:.0}"),
            value if value >= 1.0 => format!("{value:.1}"),
            value => format!("{value:.2}"),
        })
    })
}

/// Sizes of all requests; where some wrote or flushed, what they were.
fn requests(it: &CountedFinding) -> Cell {
    let sizes = |reading| spread(reading, |bytes| number::bytes_glued(bytes as f64));
    let some = |reading: &Reading<Histogram, Reason>| reading.value().is_some_and(|it| !it.bins.is_empty());
    if !some(&it.write_request_bytes) && it.flush_requests.value().is_none_or(|&flushes| flushes == 0.0) {
        return sizes(&it.request_bytes);
    }
    let mut parts = Vec::new();
    for (reading, does) in [(&it.read_request_bytes, "read"), (&it.write_request_bytes, "write")] {
        parts.extend(some(reading).then(|| format!("{does} {}", sizes(reading).text)));
    }
    let lost = if it.lost_events > 0 { LOST } else { "" };
    for (reading, what) in [(&it.flush_requests, "flush"), (&it.durable_requests, "FUA")] {
        let count = reading.value().copied().filter(|&count| count > 0.0);
        parts.extend(count.map(|count| format!("{what} ×{}{lost}", number::count(count))));
    }
    Cell::plain(parts.join(", "))
}

/// The three most frequent values.
fn spread(reading: &Reading<Histogram, Reason>, show: impl Fn(u64) -> String) -> Cell {
    const SHOWN: usize = 3;
    let Some(histogram) = reading.value().filter(|it| !it.bins.is_empty()) else { return Cell::absent() };
    let mut bins = histogram.bins.clone();
    bins.sort_by_key(|bin| std::cmp::Reverse(bin.events));
    let shown: Vec<String> = bins.iter().take(SHOWN).map(|bin| format!("{}×{}", show(bin.value), bin.events)).collect();
    let more = if bins.len() > SHOWN { " …" } else { "" };
    let lost = if histogram.lost > 0 { LOST } else { "" };
    Cell::plain(format!("{}{more}{lost}", shown.join(" ")))
}
