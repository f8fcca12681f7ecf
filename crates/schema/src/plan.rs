//! What a run would do: what `--dry-run --json` prints.

use serde::{Deserialize, Serialize};

use crate::{Arm, Condition, Skip, experiment::Variant};

/// A run that has not begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedRun {
    pub schema_version: u32,
    pub experiment: String,
    pub title: String,
    /// The file that is read, or the folder that a test file is made in.
    pub target: String,
    /// The file is made for the run and removed at its end.
    pub made_here: bool,
    pub file_bytes: u64,
    /// Once, by faultline itself, for its test file and for copies; 0 where it only reads a file that is there already.
    pub written_bytes: u64,
    /// Of them, for the copies that fills are made on, which lie beside the file: one at a time, without a name. At
    /// least: one that is to reach further for an answer at the size of the job, or whose folios changed, is made again.
    pub copied_bytes: u64,
    /// In each round, by passes that write and before each of them, which has its file made anew: over and over in the
    /// same place. Blocks that a trial decides on are not among them.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub round_bytes: u64,
    /// What the files have that scenarios make beside the target, without a name, each once; some are made twice, or written again.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub scratch_bytes: u64,
    /// What an ordinary user may still write there, where something is written and it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// What the budget allows; absent where no budget ends the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_s: Option<f64>,
    /// The number of rounds, if it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    pub seed: u64,
    pub conditions: Vec<PlannedCondition>,
    /// What could not be checked without writing, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

fn is_nothing(bytes: &u64) -> bool {
    *bytes == 0
}

/// A condition and the arms under it. Blocks per pass (`ops`) are 0 where a trial decides them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedCondition {
    pub condition: Condition,
    /// In a study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,
    /// Which it is of the conditions that read alike: the comparison's name, its variant, its number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparison: Vec<String>,
    pub cells: Vec<PlannedCell>,
}

/// One arm under a condition; the control, which is the baseline once more, is not listed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedCell {
    pub arm: Arm,
    pub baseline: bool,
    /// What the arm does differently from the condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_condition: Option<Condition>,
    /// Why it will not be measured; absent when it will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Skip>,
    /// `skipped` in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
