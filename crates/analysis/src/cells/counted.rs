//! What follows from the counts of a pass under tracepoints. Counts of a pass that left its state are not used.

use schema::{
    Reading,
    counted::{Counted, Histogram},
    findings::CountedFinding,
    reason::{Reason, Unseen},
};

use crate::measured::{Cell, Run};

const MIB: f64 = 1_048_576.0;

pub(crate) fn all(run: &Run) -> Vec<CountedFinding> {
    let of_counted = |it: &Counted| Some(finding(it, run.cells.iter().find(|cell| cell.id.cell == it.cell)?));
    run.record.counted.iter().filter_map(of_counted).collect()
}

fn finding(counted: &Counted, cell: &Cell) -> CountedFinding {
    let whole_blocks = match cell.own.consumed_percent {
        100 => counted.bytes,
        _ => cell.own.pass_bytes() as u64,
    };
    let distinct = positive(cell.brought_of(counted.distinct_bytes, counted.distinct_block_bytes));
    let bytes = positive(whole_blocks);
    let by_kind = || Ok(count(counted, "minor_faults")? + count(counted, "major_faults")?);
    // The kernel populates without an instruction of the process that faults: neither the tracepoint nor perf sees it.
    let faults = || match cell.timed_arm().fills_page_table() {
        true => Err(Unseen::KernelPopulates.into()),
        false => count(counted, "user_faults").or_else(|_: Reason| by_kind()),
    };
    let per_mib = |events: Result<f64, Reason>| Reading::from(events.and_then(|it| Ok(it / (bytes.clone()? / MIB))));
    let pages_per_fault = faults().and_then(|it| match (cell.why_no_faults_of_pages(), it > 0.0) {
        (Some(why), _) => Err(why.into()),
        (None, true) => Ok(counted.distinct_pages.ok_or(Unseen::PagesNotCounted)? as f64 / it),
        (None, false) => Err(Unseen::NoFault.into()),
    });
    let device = valid(counted).and_then(|()| match &counted.device_read_bytes {
        Reading::Value(value) if value.is_finite() && *value >= 0.0 => Ok(*value),
        Reading::Value(value) => Err(Reason::from(Unseen::NotBytes(value.to_string()))),
        Reading::Unavailable { unavailable } => Err(unavailable.as_str().into()),
    });
    let amplification = device.and_then(|it| match it > 0.0 {
        true => Ok(it / distinct.clone()?),
        false => Err(Unseen::NothingFromDevice.into()),
    });
    let histogram = |name: &str| match (valid(counted), counted.histograms.get(name)) {
        (Err(reason), _) => Reading::unavailable(reason),
        (_, Some(Reading::Value(histogram))) => Reading::Value(histogram.clone()),
        (_, Some(Reading::Unavailable { unavailable })) => Reading::unavailable(unavailable.as_str()),
        (_, None) => Reading::unavailable(Unseen::NotObserved),
    };
    CountedFinding {
        cell: counted.cell,
        system_calls_per_mib: per_mib(count(counted, "system_calls")),
        faults_per_mib: per_mib(faults()),
        pages_per_fault: pages_per_fault.into(),
        amplification: amplification.into(),
        folio_orders: histogram("folio_order"),
        request_bytes: histogram("request_bytes"),
        read_request_bytes: histogram("request_bytes_read"),
        write_request_bytes: histogram("request_bytes_write"),
        flush_requests: histogram("request_bytes_flush").map(|it| events(&it)),
        durable_requests: histogram("request_bytes_fua").map(|it| events(&it)),
        lost_events: lost(counted),
    }
}

fn events(histogram: &Histogram) -> f64 {
    histogram.bins.iter().map(|bin| bin.events as f64).sum()
}

/// Histograms of one tracepoint share a ring and lose the same events, so that the most of any is counted once.
fn lost(counted: &Counted) -> u64 {
    counted.histograms.values().filter_map(|it| it.value()).map(|it| it.lost).max().unwrap_or(0)
}

fn valid(counted: &Counted) -> Result<(), Reason> {
    counted.invalid.clone().map_or(Ok(()), |reason| Err(Unseen::InvalidPass(reason).into()))
}

fn positive(bytes: u64) -> Result<f64, Reason> {
    if bytes > 0 { Ok(bytes as f64) } else { Err(Unseen::NoBytes.into()) }
}

fn count(counted: &Counted, name: &str) -> Result<f64, Reason> {
    valid(counted)?;
    match counted.counts.get(name) {
        Some(Reading::Value(count)) => Ok(*count as f64),
        Some(Reading::Unavailable { unavailable }) => Err(unavailable.as_str().into()),
        None => Err(Unseen::NotObserved.into()),
    }
}
