//! What was counted of a cell in a pass of its own, under tracepoints and without a clock: never a time, and never mixed
//! with timed samples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::reading::{Reading, Value};

/// One counted pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Index into the record's `cells`.
    pub cell: usize,
    /// Bytes that the pass delivered to its consumer, and those of them that were different ones.
    pub bytes: u64,
    pub distinct_bytes: u64,
    /// As in a tally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_pages: Option<u64>,
    /// What the pass made the device read, read-ahead included (/proc/PID/io).
    pub device_read_bytes: Reading<f64>,
    /// Why the pass did not begin or stay in its state; its counts are then of something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// Exact totals by name: `system_calls`, `user_faults`, `minor_faults`, …
    pub counts: BTreeMap<String, Reading<u64>>,
    /// How often each value occurred, by name: `folio_order`, `request_bytes`, `map_window_pages`.
    pub histograms: BTreeMap<String, Reading<Histogram>>,
}

/// Values of an event's field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    pub bins: Vec<Bin>,
    /// Events that did not fit into the ring: with any, the bins are a part of the truth.
    pub lost: u64,
}

impl Value for Histogram {}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    pub value: u64,
    pub events: u64,
}

/// What follows from the counts of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedFinding {
    /// Index into the record's `cells`.
    pub cell: usize,
    pub system_calls_per_mib: Reading<f64>,
    pub faults_per_mib: Reading<f64>,
    /// Distinct pages that the pass reached, over its faults.
    pub pages_per_fault: Reading<f64>,
    /// Bytes that the device read for the pass, over bytes delivered, each byte once.
    pub amplification: Reading<f64>,
    pub folio_orders: Reading<Histogram>,
    pub request_bytes: Reading<Histogram>,
    /// The same, of requests that read, and of those that write.
    pub read_request_bytes: Reading<Histogram>,
    pub write_request_bytes: Reading<Histogram>,
    /// Requests that made durable what was written before them, and those that were durable themselves (FUA).
    pub flush_requests: Reading<f64>,
    pub durable_requests: Reading<f64>,
    /// Events that did not fit the rings: the histograms are then a part.
    pub lost_events: u64,
}
