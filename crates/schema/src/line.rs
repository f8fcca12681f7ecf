//! What a line of the map says, as data; `report` makes the words.

use serde::{Deserialize, Serialize};

use crate::reason::Reason;

/// Names of arms are as in sentences: without their runtime where all have the same one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineSays {
    pub answer: LineAnswer,
    /// Arms whose timed work is the winner's.
    pub same_work: Vec<String>,
    /// Arms that the answer leaves out.
    pub not_comparable: Vec<String>,
    pub not_measured: Vec<String>,
    /// They have valid passes, and too few in rounds in which the baseline has one too.
    pub too_few: Vec<String>,
    /// Of an answer at the size of the job: arms that were measured in passes of the rounds alone. The answer is not over them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_at_job: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineAnswer {
    /// The condition has no baseline.
    NoBaseline,
    OnlyArm {
        arm: String,
    },
    /// Every arm does the same work as the baseline.
    OneWork {
        baseline: String,
    },
    /// So many times faster than the baseline; with the reads in flight of both, of all threads together, where they differ.
    /// Those of passes at the size of the job are not known.
    ArmWins {
        arm: String,
        baseline: String,
        times: f64,
        of_job: bool,
        in_flight: Option<[u32; 2]>,
        ties: Vec<String>,
        not_told_apart: Vec<String>,
    },
    /// No arm is faster, and the next one is so many times slower; `several`: there are more. Of the job: the arm that was
    /// measured at that size is so many times slower, and of others nothing is said.
    BaselineWins {
        baseline: String,
        next: String,
        times: f64,
        of_job: bool,
        several: bool,
    },
    /// No arm is faster than the baseline by the margin; of the job: none that was measured at that size.
    NoneFaster {
        baseline: String,
        margin: f64,
        ties: Vec<String>,
        not_told_apart: Vec<String>,
        #[serde(default)]
        of_job: bool,
    },
    NoneComparable {
        baseline: String,
        reason: Option<Reason>,
    },
    Undecided {
        reason: Option<Reason>,
    },
    /// At the size of the job an arm had this speedup over the baseline, and arms that are ahead were not measured there.
    NotAtJob {
        arm: String,
        baseline: String,
        speedup: f64,
        not_measured: Vec<String>,
    },
    /// Undecided between the baseline and these arms, for a reason or by the speedup of the most promising one.
    Between {
        baseline: String,
        arms: Vec<String>,
        promising: Option<Promising>,
        reason: Option<Reason>,
        ties: Option<String>,
    },
}

/// The ends of an arm's speedup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Promising {
    pub arm: String,
    pub ci_low: f64,
    pub ci_high: f64,
}
