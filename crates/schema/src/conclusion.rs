//! What a claim comes to, as data; `report` makes the words.

use serde::{Deserialize, Serialize};

use crate::{
    estimate::Estimate,
    experiment::{Expect, Metric},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// The interval lies on the claimed side of the margin.
    Holds,
    /// It lies on the other side.
    Reversed,
    /// It lies within the margin.
    NoDifference,
    /// The conditions were decided, and not alike: each has a verdict of its own.
    Mixed,
    /// It crosses an edge.
    Undecided,
    /// With the reason.
    NotTestableHere,
}

impl ClaimVerdict {
    pub fn is_decided(self) -> bool {
        !matches!(self, ClaimVerdict::Undecided | ClaimVerdict::NotTestableHere)
    }

    pub fn words(self) -> &'static str {
        match self {
            ClaimVerdict::Holds => "holds",
            ClaimVerdict::Reversed => "reversed",
            ClaimVerdict::NoDifference => "no difference",
            ClaimVerdict::Mixed => "mixed",
            ClaimVerdict::Undecided => "undecided",
            ClaimVerdict::NotTestableHere => "not testable here",
        }
    }
}

/// What makes a claim's verdict, or leaves it open. Conditions are called by their labels, arms as in sentences.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// Which conditions have which verdict; one entry where all have the same.
    Verdicts(Vec<VerdictIn>),
    Numbers(Box<ClaimNumbers>),
    /// Under these conditions by passes at the size of the job; without any, under all.
    OfJob {
        labels: Vec<String>,
    },
    /// Under these conditions passes at the size of the job decide nothing; without any, under all.
    Unconfirmed {
        labels: Vec<String>,
    },
    /// It is undecided because these conditions, which are open, lean the other way.
    Leans {
        labels: Vec<String>,
    },
    /// No corrected variant was run.
    OnlyPublished,
    /// Most of the file lies in folios of so many pages, and the kernel maps so much around a fault.
    Folios {
        pages: u64,
        around_bytes: Option<u64>,
    },
    /// The interval contains the claimed number.
    ContainsClaimed,
    CrossesMargin {
        margin: f64,
    },
    /// A fault may map pages that no read reached: so many in the mean at most, or their ratio may be up to that.
    MapsUnreached {
        at_most: f64,
        is_ratio: bool,
    },
    /// Of a metric beside fast forks and slow ones, or of a ratio.
    DependsOnFork {
        forks_of: String,
        fast: f64,
        slow: f64,
        metric: Option<Metric>,
    },
    /// A ratio to 0.
    NoRatio,
    /// A ratio of intervals, of which one reaches 0.
    ReachesZero,
    /// Options left out something that the experiment asks for the claim.
    OfPart,
    /// From a file of another size than its study is about.
    OfOtherSize {
        file_bytes: u64,
        study_bytes: u64,
        full_bytes: u64,
    },
    /// The run ended early.
    Partial {
        partial: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictIn {
    pub verdict: ClaimVerdict,
    pub labels: Vec<String>,
}

/// The published number beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimNumbers {
    pub metric: Metric,
    pub expect: Expect,
    pub arm: String,
    /// The arm that it is held against.
    pub than: Option<String>,
    /// Two conditions are held against each other.
    pub across: bool,
    pub here: Ours,
    pub published: Option<f64>,
    /// How many times the published ratio ours is where the claim holds, the least and the most.
    pub effect: Option<[f64; 2]>,
}

/// A ratio in the direction that is claimed, or the metric itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ours {
    One(Estimate),
    /// The smallest and the largest median of several conditions.
    Between([f64; 2]),
}
