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
    /// As in `Tally`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_block_bytes: Option<u64>,
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
