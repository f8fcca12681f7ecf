//! What passes of a throttled cell got of what their throttle allows.

use schema::{
    Workload,
    protocol::Tally,
    reason::{Limit, Reason},
};

use crate::{
    measured::{Cell, Run},
    stats::SortedValues,
};

/// More than this over what an I/O throttle allows, and storage was not what the condition says.
pub(crate) const LEEWAY: f64 = 0.05;

/// What passes of a throttled cell got, by the limit that they were furthest above.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    pub(crate) limit: Limit,
    pub(crate) allowed_per_s: f64,
    pub(crate) per_s: f64,
}

impl Rate {
    pub(crate) fn share(&self) -> f64 {
        self.per_s / self.allowed_per_s
    }

    pub(crate) fn is_beyond(&self) -> bool {
        self.share() > 1.0 + LEEWAY
    }

    /// Why nothing is concluded from what an arm got.
    pub(crate) fn reason(&self, arm: &str) -> Reason {
        let Rate { limit, allowed_per_s, per_s } = *self;
        Reason::ThrottleExceeded { arm: arm.to_string(), limit, allowed_per_s, per_s }
    }
}

/// What one pass had.
pub(crate) struct Had<'a> {
    pub(crate) ns: f64,
    pub(crate) tally: &'a Tally,
    pub(crate) device_read_bytes: f64,
    pub(crate) range_bytes: u64,
}

/// Of the rounds.
pub(crate) fn of_rounds(run: &Run, cell: &Cell) -> Option<Rate> {
    let passes = cell.passes.iter().filter_map(|pass| {
        let device_read_bytes = pass.reading("device_read_bytes")?;
        Some(Had { ns: pass.ns, tally: pass.tally, device_read_bytes, range_bytes: cell.own.range.bytes })
    });
    of_passes(run, cell, &passes.collect::<Vec<Had>>())
}

/// Bytes from the device over time, for mappings and read-ahead as for system calls, and requests as far as they are known.
pub(crate) fn of_passes(run: &Run, cell: &Cell, passes: &[Had]) -> Option<Rate> {
    let storage = cell.own.storage?;
    let of = |limit, allowed: Option<u64>, count: &dyn Fn(&Had) -> Option<f64>| {
        let rates = passes.iter().filter_map(|pass| Some(count(pass)? * 1e9 / pass.ns)).collect();
        let (allowed_per_s, per_s) = (allowed? as f64, SortedValues::new(rates)?.median());
        Some(Rate { limit, allowed_per_s, per_s }).filter(|it| it.share().is_finite())
    };
    let bytes = of(Limit::Bytes, storage.read_bytes_per_s, &|pass| Some(pass.device_read_bytes));
    let reads = of(Limit::Reads, storage.read_ops_per_s, &|pass| least_requests(run, cell, pass));
    bytes.into_iter().chain(reads).max_by(|a, b| a.share().total_cmp(&b.share()))
}

/// The requests that a pass made at least; `None` where one may have brought any number of pages.
fn least_requests(run: &Run, cell: &Cell, pass: &Had) -> Option<f64> {
    let (own, page_bytes) = (cell.own, run.page_bytes());
    if cell.arm().is_direct() && matches!(own.workload, Workload::Scan | Workload::Random) {
        return Some((pass.tally.ops as f64).min(pass.device_read_bytes / own.block_bytes as f64));
    }
    let is_apart = own.workload == Workload::Random
        && own.block_bytes <= page_bytes
        && (cell.arm().maps() || !own.lies_across_pages(page_bytes));
    let (reached, came) = (pass.tally.distinct_pages? as f64, pass.device_read_bytes / page_bytes as f64);
    // Read-ahead brings the neighbours of a page. Where at most half of the pages are reached, it brings as many that are not
    // as such that are.
    let by_read_ahead = (came - reached).max(0.0);
    let is_sparse = 2.0 * reached * page_bytes as f64 <= pass.range_bytes as f64;
    (is_apart && is_sparse).then(|| (reached - by_read_ahead).clamp(0.0, came))
}
