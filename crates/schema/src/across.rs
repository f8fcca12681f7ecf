//! Runs beside each other: what `faultline compare --json` prints.

use serde::{Deserialize, Serialize};

use crate::{
    Arm, Condition,
    findings::{Estimate, Verdict},
};

/// The first run against each of the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Across {
    pub schema_version: u32,
    pub versus: Vec<Versus>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Versus {
    /// Ids of runs.
    pub first: String,
    pub second: String,
    /// What is not the same about the machine, the target and the tool.
    pub differs: Vec<Differs>,
    /// Why the two are not comparable; empty when they are.
    pub not_comparable: Vec<String>,
    pub cells: Vec<SharedCell>,
    /// Measured cells that only one of the runs has.
    pub only_first: u32,
    pub only_second: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differs {
    pub what: String,
    pub first: String,
    pub second: String,
}

/// A cell that both runs measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedCell {
    pub arm: Arm,
    /// As the first run had it.
    pub condition: Condition,
    /// Nanoseconds per block.
    pub first: Estimate,
    pub second: Estimate,
    /// How many times faster the second run is (above 1: faster).
    pub speedup: Option<Estimate>,
    pub verdict: Verdict,
    /// Why undecided, or what else must be known.
    pub reason: Option<String>,
}
