//! What a calibration measured: part of the record.

use serde::{Deserialize, Serialize};

use crate::{Consume, Fill, State, Workload, pass::Phases, reading::Value};

/// Short passes by the ordinary workers over the target, and two loops of the controller's: raw measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    pub elapsed_s: f64,
    /// Looking at the monotonic clock.
    pub clock: Loop,
    /// getppid(2), the least that a system call can do, with mitigations as they are.
    pub bare_call: Loop,
    /// Where in the file its ranges begin.
    pub offset: u64,
    pub points: Vec<CalibrationPoint>,
    /// Points that could not be measured, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// Something done many times in a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Loop {
    pub times: u64,
    pub ns: u64,
}

impl Loop {
    pub fn ns_each(&self) -> Option<f64> {
        (self.times > 0).then(|| self.ns as f64 / self.times as f64)
    }
}

/// One arm under one condition, as far as the calibration varies it, and its passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationPoint {
    /// The arm's name: `native/pread`.
    pub arm: String,
    pub workload: Workload,
    pub consume: Consume,
    pub state: State,
    /// As in a condition: `sequential` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    pub block_bytes: u64,
    /// Where in the file its range begins, if not where those of the others do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    pub range_bytes: u64,
    pub ops: u64,
    pub passes: Vec<CalibrationPass>,
}

impl CalibrationPoint {
    /// How the page cache was filled; nothing where it was not.
    pub fn fill(&self) -> Option<Fill> {
        self.state.is_filled().then(|| self.fill.unwrap_or(Fill::Sequential))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CalibrationPass {
    pub phases: Phases,
    pub minor_faults: u64,
    /// Processor time of the pass; unknown in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
}

impl Value for Calibration {}
