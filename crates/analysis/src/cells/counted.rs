//! What follows from the counts of a pass under tracepoints. Counts of a pass that left its state are not used.

use schema::{
    Arm, Reading,
    counted::{Counted, CountedFinding, Histogram},
};

use super::metric::{MAPS_NOTHING, PAGES_NOT_COUNTED};
use crate::measured::Run;

const MIB: f64 = 1_048_576.0;

pub(crate) fn all(run: &Run) -> Vec<CountedFinding> {
    let finding = |it: &Counted| Some(finding(it, &run.record.cells.get(it.cell)?.arm));
    run.record.counted.iter().filter_map(finding).collect()
}

fn finding(counted: &Counted, arm: &Arm) -> CountedFinding {
    let bytes = positive(counted.bytes, "the pass delivered no bytes");
    let distinct = positive(counted.distinct_bytes, "the pass delivered no bytes");
    let by_kind = || Ok(count(counted, "minor_faults")? + count(counted, "major_faults")?);
    let faults = || count(counted, "user_faults").or_else(|_: String| by_kind());
    let per_mib = |events: Result<f64, String>| Reading::from(events.and_then(|it| Ok(it / (bytes.clone()? / MIB))));
    let pages_per_fault = faults().and_then(|it| match it > 0.0 {
        _ if !arm.maps() => Err(MAPS_NOTHING.into()),
        true => Ok(counted.distinct_pages.ok_or(PAGES_NOT_COUNTED)? as f64 / it),
        false => Err("the pass took no fault".into()),
    });
    let device = valid(counted).and_then(|()| match &counted.device_read_bytes {
        Reading::Value(value) if value.is_finite() && *value >= 0.0 => Ok(*value),
        Reading::Value(value) => Err(format!("{value} is not a number of bytes")),
        Reading::Unavailable { unavailable } => Err(unavailable.clone()),
    });
    let amplification = device.and_then(|it| match it > 0.0 {
        true => Ok(it / distinct.clone()?),
        false => Err("nothing came from the device".into()),
    });
    let histogram = |name: &str| match (valid(counted), counted.histograms.get(name)) {
        (Err(reason), _) => Reading::unavailable(reason),
        (_, Some(histogram)) => histogram.clone(),
        (_, None) => Reading::unavailable("not observed in this run"),
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

fn valid(counted: &Counted) -> Result<(), String> {
    counted.invalid.as_ref().map_or(Ok(()), |reason| Err(format!("the counted pass is invalid: {reason}")))
}

fn positive(bytes: u64, otherwise: &str) -> Result<f64, String> {
    if bytes > 0 { Ok(bytes as f64) } else { Err(otherwise.into()) }
}

fn count(counted: &Counted, name: &str) -> Result<f64, String> {
    valid(counted)?;
    match counted.counts.get(name) {
        Some(Reading::Value(count)) => Ok(*count as f64),
        Some(Reading::Unavailable { unavailable }) => Err(unavailable.clone()),
        None => Err("not observed in this run".into()),
    }
}
