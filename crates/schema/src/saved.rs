//! Saved runs as `faultline history` lists them, and one cell of them over time: what its `--json` prints.

use serde::{Deserialize, Serialize};

use crate::{Consume, State, Workload, findings::Estimate};

/// What there is, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    pub schema_version: u32,
    pub runs: Vec<SavedRun>,
    /// Time per block of the cells that were asked for, oldest first; empty when none were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<SavedCell>,
    /// Files among the records that cannot be used, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damaged>,
}

/// A record, as far as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedRun {
    /// The name to load it by.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    pub elapsed_s: f64,
    pub machine: String,
    pub kernel: String,
    pub experiment: String,
    pub target: String,
    pub target_bytes: u64,
    pub file_system: String,
    /// Why it ended before its plan did.
    pub partial: Option<String>,
    pub samples: u64,
}

/// One cell in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedCell {
    pub run: String,
    pub started: String,
    pub machine: String,
    pub arm: String,
    pub workload: Workload,
    pub consume: Consume,
    pub state: State,
    pub block_bytes: u64,
    /// `scan 4 KiB cached`
    pub condition: String,
    /// Time of open, work and close together.
    pub ns_per_op: Estimate,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damaged {
    pub file: String,
    pub reason: String,
}

/// Which runs: everything that is given must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The name of the host.
    pub machine: Option<String>,
    /// A part of the target's path.
    pub target: Option<String>,
    pub experiment: Option<String>,
    /// RFC 3339, or the beginning of it: a day, a month. Both ends are included.
    pub since: Option<String>,
    pub until: Option<String>,
}

/// Which cells: an arm, and what else was said about its condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPattern {
    pub arm: String,
    pub workload: Option<Workload>,
    pub consume: Option<Consume>,
    pub state: Option<State>,
    pub block_bytes: Option<u64>,
}

impl CellPattern {
    /// `ARM [WORKLOAD] [CONSUME] [STATE] [BLOCK]`, the words after the arm in any order.
    ///
    /// # Errors
    /// Which word is none of these.
    pub fn parse(arm: &str, words: &[&str]) -> Result<CellPattern, String> {
        let arm = arm.parse::<crate::Arm>()?.name;
        let mut pattern = CellPattern { arm, workload: None, consume: None, state: None, block_bytes: None };
        for word in words {
            if let Ok(workload) = word.parse() {
                pattern.workload = Some(workload);
            } else if let Ok(state) = word.parse() {
                pattern.state = Some(state);
            } else if let Ok(consume) = word.parse() {
                pattern.consume = Some(consume);
            } else if let Ok(crate::Bytes(block)) = word.parse() {
                pattern.block_bytes = Some(block);
            } else {
                return Err(format!("{word:?} is no workload, state, consume or block size"));
            }
        }
        Ok(pattern)
    }

    pub fn is_about(&self, arm: &str, condition: &crate::Condition) -> bool {
        self.arm == arm
            && self.workload.is_none_or(|it| it == condition.workload)
            && self.consume.is_none_or(|it| it == condition.consume)
            && self.state.is_none_or(|it| it == condition.state)
            && self.block_bytes.is_none_or(|it| it == condition.block_bytes)
    }
}

impl std::str::FromStr for CellPattern {
    type Err = String;
    fn from_str(text: &str) -> Result<CellPattern, String> {
        const FORM: &str = "write it as 'native/mmap scan cached 64KiB'";
        let words: Vec<&str> = text.split_whitespace().collect();
        let [arm, words @ ..] = &words[..] else { return Err(FORM.into()) };
        CellPattern::parse(arm, words).map_err(|error| format!("{error}; {FORM}"))
    }
}
