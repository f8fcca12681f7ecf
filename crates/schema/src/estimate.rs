//! How many times faster something is, what that decides, and which passes say so.

use serde::{Deserialize, Serialize};

use crate::reading::Value;

/// Differences below this share do not matter for choosing a method (docs/METHODOLOGY.md).
pub const MARGIN: f64 = 0.05;

/// A median with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub median: f64,
    pub ci_low: f64,
    pub ci_high: f64,
}

impl Value for Estimate {
    fn is_finite(&self) -> bool {
        [self.median, self.ci_low, self.ci_high].iter().all(|it| it.is_finite())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval of the speedup lies above the margin.
    Faster,
    /// The whole interval lies below it.
    Slower,
    /// The whole interval lies inside it.
    Same,
    /// The interval crosses an edge of the margin.
    Undecided,
    /// The arms did not do the same work.
    NotComparable,
}

impl Verdict {
    pub fn is_decided(self) -> bool {
        matches!(self, Verdict::Faster | Verdict::Slower | Verdict::Same)
    }

    pub fn words(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Undecided => "undecided",
            Verdict::NotComparable => "not comparable",
        }
    }
}

/// The passes that a comparison's answer comes from. Passes of the rounds are as large as the budget allows; those at the
/// size of the job cover as much of the file, or as many reads, as there was time for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerOf {
    /// The rounds: it was not measured again.
    #[default]
    Rounds,
    /// The rounds: the pairs at the size of the job decide nothing and fit what the rounds say, or do not count, or there are none and
    /// the rounds are a part of a job of which more is in the winner's favour; or all of them are a part of a job of cold random reads.
    RoundsUnconfirmed,
    /// The rounds, and the pairs at the size of the job decide the same.
    RoundsAndJob,
    /// The pairs at the size of the job: the rounds had decided otherwise, or nothing, or a difference of another size.
    Job,
    /// Neither: the rounds decided something that does not stand for the job, and the pairs decide nothing, or there are none.
    Neither,
}

impl Estimate {
    /// Of a ratio: the other way round.
    pub fn inverse(&self) -> Estimate {
        Estimate { median: 1.0 / self.median, ci_low: 1.0 / self.ci_high, ci_high: 1.0 / self.ci_low }
    }
}

impl AnswerOf {
    /// Passes at the size of the job decided what the comparison says.
    pub fn is_confirmed(self) -> bool {
        matches!(self, AnswerOf::RoundsAndJob | AnswerOf::Job)
    }
}
