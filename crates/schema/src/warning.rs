//! Warnings about a whole run, as data; `report` makes the words.

use serde::{Deserialize, Serialize};

use crate::{Workload, noise::StateNoise, reason::Limit, record::ReclaimScheme};

/// What to know before the results of a run are read. An `arm` is called as in sentences (without its runtime where all
/// have the same one), and a `label` is what a condition is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warning {
    /// The run ended early.
    Incomplete {
        partial: String,
    },
    /// States in which one arm measured twice differed by more than the margin.
    WideNoise {
        states: Vec<StateNoise>,
        margin: f64,
    },
    /// More A/A controls differ from their baseline than chance allows.
    RejectedControls {
        rejected: u32,
        controls: u32,
    },
    /// A share of the CPU time that the hypervisor gave to other guests.
    StolenTime {
        share: f64,
    },
    FewCpus {
        threads: u32,
        cpus: u32,
    },
    /// By the load when the run began.
    Busy {
        load: f64,
        cpus: u32,
    },
    /// The file has holes, or is compressed.
    Sparse {
        allocated_bytes: u64,
        bytes: u64,
    },
    UnusualReadAhead {
        bytes: u64,
        usual_bytes: u64,
    },
    /// No pass touched more of the file than this.
    SmallWindow {
        bytes: u64,
        file_bytes: u64,
    },
    /// The arm that got most beyond what its I/O throttle allows, and how many more did.
    ThrottleExceeded {
        arm: String,
        label: String,
        limit: Limit,
        allowed_per_s: f64,
        per_s: f64,
        more: usize,
    },
    /// Operations that were calibrated, of all, and the first that could not be.
    HalfCalibrated {
        calibrated: usize,
        all: usize,
        first_missing: String,
    },
    /// Blocks of this size took so many times as long to copy to just behind the beginning of a page as to its beginning.
    SlowBuffers {
        times: f64,
        block_bytes: u64,
    },
    /// A loop that adds bytes one by one took so many times as long over a mapping as over a buffer that a call fills, with the
    /// call.
    SlowLoops {
        times: f64,
        block_bytes: u64,
    },
    /// Other processes used the disk during the passes.
    DiskShared {
        device: Option<String>,
        passes: u64,
        read_bytes: f64,
        written_bytes: f64,
        /// That the passes read themselves.
        own_bytes: f64,
    },
    /// The arm closest to the device's ceiling, and how many more are that close.
    AtTheCeiling {
        arm: String,
        label: String,
        share: f64,
        more: usize,
    },
    /// The device's ceiling for reads of this workload was measured too low: an arm read so many times as fast.
    LowCeiling {
        workload: Workload,
        arm: String,
        label: String,
        share: f64,
    },
    /// Cold passes on a device whose bytes are in a file that is read through the page cache.
    ThroughPageCache {
        device: String,
    },
    /// Pages left the page cache during passes that need them there.
    PagesLeft {
        lost: u64,
        passes: u64,
        most_pages: u64,
    },
    /// In state as-is: passes that changed the residency, and the resident pages that passes began with.
    UnevenStarts {
        changed: u64,
        passes: u64,
        least_pages: u64,
        most_pages: u64,
    },
    /// The kernel reclaims idle memory.
    Reclaimed {
        scheme: ReclaimScheme,
    },
    /// Bytes from the device for each byte that was used.
    Amplified {
        arm: String,
        label: String,
        times: f64,
        read_ahead: bool,
    },
    /// An advice changed none of the counts; and how many more did not.
    IdleAdvice {
        arm: String,
        label: String,
        more: usize,
    },
    /// Arms of one condition filled the cache with folios of different sizes (orders).
    OtherFolios {
        label: String,
        small_arm: String,
        small_order: u64,
        large_arm: String,
        large_order: u64,
    },
    /// Counted passes with more events than their rings hold, and the one that lost most.
    LostEvents {
        passes: usize,
        all: usize,
        most_in: Option<String>,
        lost: u64,
    },
    /// Forks of one cell disagree; and how many more cells' do.
    ForksDisagree {
        first: ForkGroups,
        more: usize,
    },
    /// Conditions whose range fits into the processor's last-level cache; the widest of them.
    WithinCpuCache {
        conditions: usize,
        range_bytes: u64,
        cache_bytes: u64,
    },
}

/// Processes of one cell in two groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForkGroups {
    /// As in sentences.
    pub arm: String,
    /// Of the condition.
    pub label: String,
    pub slow: usize,
    pub forks: usize,
    /// How many times as long the slow ones took.
    pub factor: f64,
    /// They were slower over the warm-up file too.
    pub in_code: bool,
}
