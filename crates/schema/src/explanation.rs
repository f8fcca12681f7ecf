//! Why two arms differ, by what was counted, as data; `report` makes the words.

use serde::{Deserialize, Serialize};

use crate::unit_cost::CostComponent;

/// Of two arms, as sentences call them, the first is the baseline. It reports, and concludes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Explanation {
    /// What differs most between them, per pass.
    Counts { arms: [String; 2], counts: [Vec<Count>; 2] },
    /// The counts hardly differ; those of the baseline.
    Alike { arms: [String; 2], counts: Vec<Count> },
    /// Counts times unit costs.
    Costs { arms: [ArmCosts; 2], decided: bool },
}

/// One kind of count, of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// With the bytes that they delivered.
    ReadCalls {
        calls: f64,
        bytes: Option<f64>,
    },
    WriteCalls(f64),
    ToDevice {
        bytes: f64,
    },
    Flushes(f64),
    /// With the bytes that each of them mapped, where bytes were reached by faults.
    MinorFaults {
        faults: f64,
        bytes_each: Option<f64>,
    },
    MajorFaults(f64),
    /// With how many times what was reached, where it is far more, and the share of the device's ceiling.
    FromDevice {
        bytes: f64,
        times_reached: Option<f64>,
        ceiling_share: Option<f64>,
    },
    /// Of the CPU time.
    SystemShare(f64),
}

/// One arm's cost breakdown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmCosts {
    pub arm: String,
    /// The largest ones; all are in `costs.accounts`.
    pub components: Vec<CostComponent>,
    /// The sum of all components.
    pub accounted_ns: f64,
    pub measured_ns: f64,
}
