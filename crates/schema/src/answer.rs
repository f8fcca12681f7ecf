//! The answer of a run as a whole: which arm to choose where nothing more is known, and what the differences come from
//! (part of the findings, never stored).

use serde::{Deserialize, Serialize};

use crate::{ConditionId, unit_cost::Cause};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The one that loses least in its worst condition comes first (minimax); last those of which not all is known.
    pub choices: Vec<Choice>,
    /// What differences come from, the largest ratio first.
    pub causes: Vec<MainCause>,
}

/// A way to reach the bytes that was entered under every condition, and what it costs to use it for all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Names: one arm, or the baselines of the conditions, which may be `read` for scans and `pread` for random reads.
    pub arms: Vec<String>,
    /// The conditions under which another arm was faster, the largest loss first.
    pub losses: Vec<Loss>,
    /// Conditions for which it is known how it fares.
    pub known: u32,
    /// Conditions that have an answer.
    pub conditions: u32,
    /// Conditions that were measured, with an answer or without.
    #[serde(default)]
    pub measured: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    #[serde(flatten)]
    pub id: ConditionId,
    /// The fastest arm there.
    pub fastest: String,
    /// How many times as long the choice takes.
    pub times: f64,
    /// The same against the baseline.
    #[serde(default)]
    pub than_baseline: Option<f64>,
    /// The choice was too slow for rounds: the figure is what a pass takes by one short one.
    #[serde(default)]
    pub by_trial: bool,
    /// Which of the two is faster was not decided: it loses no more than this, by the end of an interval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_most: bool,
}

/// What makes the largest part of the difference between two arms, at calibrated unit costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MainCause {
    #[serde(flatten)]
    pub id: ConditionId,
    pub cause: Cause,
    pub faster: Part,
    pub slower: Part,
}

/// One arm's side of a difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub cell: usize,
    pub arm: String,
    /// Of a pass, measured.
    pub pass_ns: f64,
    /// Of that, what the cause comes to.
    pub cause_ns: f64,
}
