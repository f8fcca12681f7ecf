//! `compare --fail-if`: a limit on how much cells may change from one run to the next, and its result.

use std::{collections::BTreeMap, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{CellId, Condition, estimate::Estimate, reason::Reason, saved::CellPattern};

/// `native/mmap scan cached 64KiB slower 10%`: cells, a direction, and how much of it is allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// As typed.
    pub text: String,
    pub cells: CellPattern,
    pub forbids: Direction,
    /// 0.1: ten percent.
    pub share: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Slower,
    Faster,
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Threshold, String> {
        const FORM: &str = "write it as 'native/mmap scan cached slower 10%'";
        // `10 %`, as reports print it, is `10%`.
        let typed = text.trim_end();
        let (cells, share) = typed
            .strip_suffix('%')
            .and_then(|it| it.trim_end().rsplit_once(char::is_whitespace))
            .ok_or_else(|| format!("{text:?} does not end in a percentage; {FORM}"))?;
        let share = share.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0);
        let share = share.ok_or_else(|| format!("{text:?} does not end in a percentage; {FORM}"))? / 100.0;
        let (cells, direction) = cells.trim_end().rsplit_once(char::is_whitespace).ok_or(FORM)?;
        let forbids = match direction {
            "slower" => Direction::Slower,
            "faster" => Direction::Faster,
            other => return Err(format!("{other:?} is neither slower nor faster; {FORM}")),
        };
        let cells = cells.parse().map_err(|error| format!("{error}; {FORM}"))?;
        Ok(Threshold { text: text.to_string(), cells, forbids, share })
    }
}

/// What a change is a change of. Two runs of one machine drift by more than most limits, so the time of a single run on
/// each side is not held against another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Of the arm's speedup over the baseline of its own run.
    AgainstBaseline { first_runs: u32, second_runs: u32 },
    /// Of its time, over so many runs on each side.
    Absolute { first_runs: u32, second_runs: u32 },
}

/// What one `--fail-if` came to, over all runs that were compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// As typed.
    pub threshold: String,
    /// Cells that both runs measured well enough to be judged.
    pub checked: u32,
    /// Of those, cells that were judged by their time over several runs; the others against the baseline of their run.
    #[serde(default)]
    pub absolute: u32,
    /// Of the checked, cells whose interval lies on both sides of the limit, or within what one arm measured twice differs by.
    pub unsure: u32,
    /// Of the checked, cells of which one side's passes are far larger than the other's, as the planner chose.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_sizes: u32,
    /// The checked cell that went furthest in the forbidden direction.
    pub largest: Option<Change>,
    pub breaches: Vec<Breach>,
    /// Cells that were measured and about which these runs say nothing.
    #[serde(default)]
    pub not_judged: Vec<NotJudged>,
    /// Runs that ended early, by their ids, and why: their cells may have fewer rounds than were wanted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub partial: BTreeMap<String, String>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Gate {
    /// It is about cells of these runs, and none of them could be judged.
    pub fn judged_nothing(&self) -> bool {
        self.checked == 0 && self.breaches.is_empty()
    }

    /// Some of its cells could not be judged: a regression of theirs would not be seen.
    pub fn is_incomplete(&self) -> bool {
        self.judged_nothing() || !self.not_judged.is_empty()
    }

    pub fn is_breached(&self) -> bool {
        !self.breaches.is_empty()
    }
}

/// How one cell changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// In the first of the runs that has it.
    #[serde(flatten)]
    pub id: CellId,
    /// The id of the later run.
    pub run: String,
    pub arm: String,
    pub condition: Condition,
    /// What that is called among all conditions of its run.
    #[serde(default)]
    pub label: String,
    /// How many times faster the later run is (above 1: faster).
    pub speedup: Estimate,
    pub basis: Basis,
}

/// A cell that was measured, and about which these runs say nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotJudged {
    /// As in `Change`.
    #[serde(flatten)]
    pub id: CellId,
    /// The id of the later run.
    pub run: String,
    pub arm: String,
    pub condition: Condition,
    /// What that is called among all conditions of its run.
    pub label: String,
    pub cause: NotJudgedCause,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotJudgedCause {
    /// Only its time could judge it: it has no baseline, as one that is a baseline itself, or is not compared with the one
    /// that it has, for this reason.
    TooFewRuns {
        first: u32,
        second: u32,
        least: u32,
        #[serde(rename = "reason_data", default, skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
    },
    /// An arm got more than its I/O throttle allows in one of these runs, by an amount that may be another one in the next.
    ThrottleExceeded {
        #[serde(rename = "reason_data")]
        reason: Reason,
    },
    /// The passes of some of these runs are too small to answer for the whole file, and those of others are not: they ask
    /// different questions.
    TooSmall {
        #[serde(rename = "reason_data")]
        reason: Reason,
    },
    /// The file was found in other folios by some of these runs than by others.
    OtherFolios {
        #[serde(rename = "reason_data")]
        reason: Reason,
    },
    /// The replays of some of these runs had much more of the program's own work between their accesses than those of others.
    OtherOwnWork {
        #[serde(rename = "reason_data")]
        reason: Reason,
    },
    /// What a block takes depends on how many there are, and the passes of these runs differ much in that.
    OtherSizes {
        #[serde(rename = "reason_data")]
        reason: Reason,
    },
}

/// A cell that fails the gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Breach {
    /// As in `Change`.
    #[serde(flatten)]
    pub id: CellId,
    /// The id of the later run.
    pub run: String,
    pub arm: String,
    pub condition: Condition,
    /// What that is called among all conditions of its run.
    #[serde(default)]
    pub label: String,
    pub cause: BreachCause,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreachCause {
    /// The whole interval lies beyond the limit.
    Beyond { speedup: Estimate, basis: Basis },
    /// There is nothing to compare: what each run has of the cell.
    NotCompared { first: Presence, second: Presence },
}

/// What a run has of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    Measured,
    /// Fewer valid passes than decide anything.
    TooFewPasses {
        passes: u32,
        least: u32,
    },
    Skipped {
        #[serde(rename = "reason_data")]
        reasons: Vec<Reason>,
    },
    Invalid {
        #[serde(rename = "reason_data")]
        reasons: Vec<Reason>,
    },
    Failed {
        #[serde(rename = "reason_data")]
        reasons: Vec<Reason>,
    },
    /// It was measured, but not comparable with the baseline of its run.
    NoBaseline {
        #[serde(rename = "reason_data")]
        reason: Reason,
    },
    /// The run has no such cell.
    Absent,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Consume, State, Workload};

    #[test]
    fn a_threshold_names_its_cells_and_its_limit() {
        let parsed: Threshold = "native/mmap scan cached 64KiB slower 10%".parse().unwrap();
        assert_eq!((parsed.forbids, parsed.share), (Direction::Slower, 0.1));
        assert_eq!(parsed.cells, "native/mmap 64KiB scan cached".parse().unwrap());
        let meant = Condition { block_bytes: 65_536, state: State::Cached, ..Condition::plain(1 << 20) };
        assert!(parsed.cells.is_about("native/mmap", &meant));
        assert!(parsed.cells.is_about("native/mmap", &Condition { consume: Consume::Copy, ..meant.clone() }));
        for other in [
            Condition { workload: Workload::Random, ..meant.clone() },
            Condition { block_bytes: 65_537, ..meant.clone() },
            Condition { state: State::Cold, ..meant.clone() },
        ] {
            assert!(!parsed.cells.is_about("native/mmap", &other), "{other:?}");
        }
    }

    #[test]
    fn a_threshold_reads_cells_as_reports_print_them() {
        let written: Threshold = "native/mmap+random random 64KiB cached slower 10%".parse().unwrap();
        for printed in ["random 64 KiB cached mmap+random slower 10 %", "mmap+random random 64 KiB cached slower 10%"] {
            let read: Threshold = printed.parse().unwrap();
            assert_eq!((&read.cells, read.forbids, read.share), (&written.cells, written.forbids, written.share));
        }
    }

    #[test]
    fn a_threshold_that_cannot_be_read_is_refused() {
        for text in [
            "",
            "%",
            "10%",
            "slower 10%",
            "native/mmap",
            "native/mmap slower ten",
            "native/mmap scan slow 10%",
            "native/mmap slower -1%",
            "native/mmap slower inf%",
            "native/mmap sideways slower 1%",
        ] {
            assert!(text.parse::<Threshold>().is_err(), "{text:?}");
        }
    }
}
