//! What the whole machine did while a run went on, as vmstat(8) shows it, and when the passes were.

use serde::{Deserialize, Serialize};

use crate::reading::Reading;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// As asked for.
    pub per_second: u32,
    pub moments: Vec<Moment>,
    /// Timed passes, from GO to done, in their order.
    pub passes: Vec<Passing>,
}

impl Timeline {
    /// Each moment with when that began which it says: at the moment before it.
    pub fn spans(&self) -> impl Iterator<Item = (f64, &Moment)> {
        let first = self.moments.first().map(|it| (it.at_s - 1.0 / f64::from(self.per_second.max(1))).max(0.0));
        first.into_iter().chain(self.moments.iter().map(|it| it.at_s)).zip(&self.moments)
    }
}

/// What was between the moment before and this one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Seconds since the run began.
    pub at_s: f64,
    /// Shares of the time of all CPUs; with `idle` they come to 1.
    pub user: f64,
    pub system: f64,
    /// Idle, while a request to a device was waited for.
    pub wait: f64,
    pub steal: f64,
    pub idle: f64,
    /// Of the disk under the file.
    pub read_bytes_per_s: Reading<f64>,
    pub write_bytes_per_s: Reading<f64>,
    pub switches_per_s: f64,
    /// At the moment itself.
    pub available_bytes: u64,
    pub cached_bytes: u64,
    pub dirty_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Passing {
    /// Index into the record's cells.
    pub cell: usize,
    pub from_s: f64,
    pub to_s: f64,
}
