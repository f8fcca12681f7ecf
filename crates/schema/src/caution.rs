//! What to know beside a comparison that stands, as data; `report` makes the words.

use serde::{Deserialize, Serialize};

use crate::{
    Descriptor, State,
    reason::{Inconsistent, Reason},
    warning::ForkGroups,
};

/// Names of arms are as in sentences. Of two, the first is the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caution {
    /// The threads divide the file differently.
    Descriptors {
        arms: [String; 2],
        descriptors: [Descriptor; 2],
    },
    /// Cold, but so little came from the device for either arm.
    LittleFromDevice {
        share: f64,
    },
    /// Cold, but it is unknown how much came from the device for one arm, or for both, and why.
    UnseenDevice {
        arm: Option<String>,
        reason: Option<Reason>,
    },
    /// What was written was to be on the device, but it is unknown how much of it was for one arm, or for both, and why.
    UnseenOnDevice {
        arm: Option<String>,
        reason: Option<Reason>,
    },
    /// The same, and of both arms less arrived than they wrote; the share of the one of which more did.
    LittleOnDevice {
        share: f64,
    },
    /// Much more came from the device than was reached.
    Amplified {
        arm: String,
        device_bytes: f64,
        reached_bytes: f64,
    },
    /// Both arms consumed less than the experiment says.
    LessThanAsked {
        bytes: u64,
        asked_bytes: u64,
    },
    /// The range of both arms is a part of the file, or of the range that is meant: what as many offsets over all of that
    /// would have reached, and what these reached.
    SmallRange {
        of_file: bool,
        range_bytes: u64,
        whole_bytes: u64,
        would_bytes: f64,
        reached_bytes: f64,
    },
    /// Random offsets reached less than uniform ones do.
    NotUniform {
        of_file: bool,
        reached_bytes: f64,
        whole_bytes: u64,
        would_bytes: f64,
    },
    /// Reads in flight, of all threads together: a difference that is the subject, not a flaw.
    QueueDepths {
        arms: [String; 2],
        depths: [u32; 2],
    },
    /// Bytes came from the device in a state that holds them, and what share they are of those covered.
    ReadFromDevice {
        arm: String,
        state: State,
        bytes: f64,
        share: f64,
    },
    /// The file was held open, so its pages may have been in the page table.
    HeldOpen {
        arm: String,
        state: State,
    },
    /// Minor faults in a state whose pages are in the page table.
    PagesFaulted {
        arm: String,
        state: State,
        faults: f64,
        pages: f64,
    },
    Inconsistent {
        arm: String,
        what: Inconsistent,
    },
    ForksDisagree(ForkGroups),
    /// Of the pairs at the size of the job so few counted that they say nothing, the others for the reason.
    JobFailed {
        pairs: u32,
        least: u32,
        invalid: Option<String>,
    },
    /// Their work was equal, and at the size of the job it was not, so that passes there say nothing.
    JobUnequal(Reason),
    /// Passes of so many blocks gave `rounds`; those at the size of the job give another answer.
    JobDecides {
        blocks: u64,
        rounds: Option<f64>,
        job_blocks: u64,
        job: f64,
    },
}
