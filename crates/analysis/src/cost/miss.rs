//! What a miss of a mapping takes, with read-ahead and without, by the unit costs of a run.

use schema::{
    Record,
    inspection::MissCost,
    no_cost::{NoCost, Operation},
};

use super::{device, fit};
use crate::measured::Run;

/// Of a file on the device of the run whose window of read-ahead has so many bytes.
///
/// # Errors
/// The run has no costs of such requests.
pub fn miss_cost(record: &Record, window_bytes: u64) -> Result<MissCost, NoCost> {
    let run = record.id.clone();
    let calibration = record.calibration.value().ok_or_else(|| NoCost::NoUnitCosts { run: run.clone() })?;
    let page_bytes = Run::new(record).page_bytes();
    let costs = fit::fit(calibration, page_bytes);
    let one_at_a_time =
        costs.device.iter().find(|it| it.queue_depth == 1).ok_or(Operation::InFlight { requests: 1 })?;
    let ceiling = record.ceiling.value().map(|it| it.bytes_per_s);
    let of = |bytes: u64| device::request_ns(one_at_a_time, bytes as f64, ceiling);
    let window_bytes = window_bytes.max(page_bytes);
    Ok(MissCost { run, window_bytes, window_ns: of(window_bytes)?, page_ns: of(page_bytes)? })
}
