//! Why a cell has no number, or a comparison or a claim no verdict, as data; `report` makes the words.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    Beside, Consume, Durability, Record, Skip, State, Workload, conclusion::Conclusion, condition::nothing_beside,
    estimate::Estimate, experiment::Metric, no_cost::NoCost, reading::Reading, replaced::Replaced,
};

/// Names of arms are as in sentences: without their runtime where all have the same one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Of so many passes, those that were lost for the most frequent reason.
    LostPasses {
        lost: usize,
        passes: usize,
        reason: String,
    },
    /// Its passes were not all the same work.
    Inconsistent(Inconsistent),
    /// Processes of the cell fall into two groups.
    ForksDisagree {
        slow: usize,
        forks: usize,
        factor: f64,
    },
    /// One pass has no interval.
    SinglePass,
    /// No pass was made.
    Skipped(Skip),
    /// The run ended before the first pass.
    EndedBefore {
        partial: String,
    },
    NoPass,
    /// The arms did different work: the baseline and the arm.
    UnequalWork {
        arms: [String; 2],
        differences: Vec<Difference>,
    },
    /// One of the arms has no valid pass, for these reasons.
    NoValidPass {
        arm: String,
        reasons: Vec<Reason>,
    },
    NoMeasurableTime,
    /// Both were measured, but never in the same round.
    NoCommonRound,
    TooFewRounds {
        rounds: u32,
        least: u32,
    },
    /// The interval crosses an edge of the margin; `more_than`: so many rounds were made, and more may decide it.
    AcrossTheMargin {
        ci_low: f64,
        ci_high: f64,
        margin: f64,
        more_than: Option<u32>,
    },
    /// An arm beside forks of `forks_of` that are fast, and beside those that are slow.
    DependsOnFork {
        arm: String,
        forks_of: String,
        beside_fast: f64,
        beside_slow: f64,
    },
    /// One arm measured twice differs by up to `times` under such conditions.
    WithinNoise {
        /// Of two conditions; else a speedup.
        ratio: bool,
        ci_low: f64,
        ci_high: f64,
        under: Vec<Noisy>,
        times: f64,
    },
    /// Passes of so many blocks gave `rounds`; so many pairs at the size of the job lie elsewhere and decide nothing.
    JobDoubts {
        blocks: u64,
        rounds: Option<f64>,
        job_blocks: u64,
        job: Estimate,
        pairs: u32,
        least: u32,
    },
    /// Passes at the size of the job confirm both of two conditions, and give another ratio of them.
    JobsDoubt {
        job: Estimate,
    },
    /// While nothing was at work, this share of the deadlines stalled: other work of the machine stops threads, too.
    OtherWork {
        share: f64,
    },
    /// Of two conditions that are held against each other, this one alone is answered by passes at the size of the job.
    JobOfOneCondition {
        label: String,
    },
    /// A pass covered too few read-ahead windows to stand for the file.
    FewWindows {
        covered_bytes: u64,
        window_bytes: u64,
        least: u64,
    },
    /// The more of the job a pass does, the less of it faults through a mapping, and the whole job has more blocks: random reads of
    /// pages in memory, or stores.
    FewBlocks {
        blocks: u64,
        job_blocks: u64,
        writes: bool,
    },
    /// An arm got more than its I/O throttle allows, and the answer would be another one had both arms been held to it.
    ThrottleExceeded {
        arm: String,
        limit: Limit,
        allowed_per_s: f64,
        per_s: f64,
    },
    /// A fault maps other numbers of pages where the file was found in other folios: the fewest and the most.
    OtherFolios {
        pages_per_fault: [f64; 2],
    },
    /// Cold replays have the program's own work between their accesses, which took the least and the most of this.
    OtherOwnWork {
        own_work_ns: [u64; 2],
    },
    /// Passes of two runs are of different sizes, each in words of the condition.
    OtherSizes {
        first: Vec<String>,
        second: Vec<String>,
    },
    /// The baselines of two runs are different arms.
    OtherBaselines {
        first: String,
        second: String,
    },
    Unseen(Unseen),
    NotInRun(NotInRun),
    NoCost(NoCost),
    Conclusion(Conclusion),
    /// A metric was not seen.
    NoMetric {
        metric: Metric,
        reason: Box<Reason>,
    },
    /// No pass took any of it.
    NoneTaken {
        metric: Metric,
    },
    /// Some passes took none of it, so one was added to all.
    OneAdded {
        metric: Metric,
    },
    /// Single passes are too short for the kernel's ticks, so the sums of all rounds are compared.
    OfSums {
        metric: Metric,
        rounds: usize,
    },
    /// Ticks counted too little in all passes together.
    TooCoarse {
        metric: Metric,
        counted_ns: f64,
        passes: usize,
    },
    NoInterval,
    NotFinite,
    /// What a pass of fewer reads has of faults is no part of what more reads have: a fault maps more than what is around it.
    FaultsOfLargeFolios {
        pages_per_fault: f64,
    },
    NoBaseline,
    /// It would be compared with itself.
    IsBaseline,
    /// Conditions of a claim that were not measured, for this reason; without labels, all of them.
    NotMeasured {
        labels: Vec<String>,
        reason: Box<Reason>,
    },
    /// The same of those that cannot be tested here.
    NotTestable {
        labels: Vec<String>,
        reason: Box<Reason>,
    },
    /// A reason of some of the conditions of a claim.
    In {
        labels: Vec<String>,
        reason: Box<Reason>,
    },
    /// A reason of one arm.
    Of {
        of: String,
        reason: Box<Reason>,
    },
    /// In words.
    #[serde(untagged)]
    Text(String),
}

impl Reason {
    /// As a reason of an arm.
    pub fn of(self, arm: &str) -> Reason {
        Reason::Of { of: arm.into(), reason: Box::new(self) }
    }
}

impl Default for Reason {
    fn default() -> Reason {
        Reason::Text(String::new())
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Reason {
        Reason::Text(text.into())
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Reason {
        Reason::Text(text)
    }
}

macro_rules! is_a_reason {
    ($($kind:ident),+) => { $(impl From<$kind> for Reason {
        fn from(kind: $kind) -> Reason {
            Reason::$kind(kind)
        }
    })+ };
}
is_a_reason!(Unseen, NotInRun, NoCost, Conclusion);

impl<T, E: Into<Reason>> From<Result<T, E>> for Reading<T, Reason> {
    fn from(result: Result<T, E>) -> Reading<T, Reason> {
        match result {
            Ok(value) => Reading::Value(value),
            Err(reason) => Reading::unavailable(reason),
        }
    }
}

/// Why nothing was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unseen {
    NoValidPass,
    /// No pass of the run was looked at in this way.
    NotObserved,
    /// The counted pass does not count.
    InvalidPass(String),
    /// No number of bytes.
    NotBytes(String),
    NoBytes,
    NoFault,
    NothingFromDevice,
    /// A tally without pages: they do not follow from bytes, because a block of 64 bytes reaches a whole page.
    PagesNotCounted,
    /// The arm reaches no page of the file by a fault: the few that it takes are on memory of its own.
    MapsNothing,
    /// An untimed pass has brought every page into the page table: the few faults are on other memory.
    MappedBefore,
    /// Each thread has a mapping of its own, and pages come into several of them.
    MappingsOfThreads,
    /// The first store to a page faults although the page is there, where it was read or written back before.
    StoresFault,
    /// Of a file with holes, or of a compressed one: major faults of holes wait for no device.
    HolesFault,
    /// Pages that memory had no room for are reached again by another fault.
    FaultedAgain,
    /// Faults that the kernel makes while it populates a mapping are no event of a counted pass.
    KernelPopulates,
    /// A share of a ceiling that is not known, or of one that these reads have nothing to do with.
    NoCeiling,
    /// A share of a ceiling that an arm exceeded, so that it was measured too low.
    LowCeiling {
        arm: String,
        label: String,
    },
    /// It is of states that begin without the pages.
    OtherState,
    NoCpuTime,
    /// How a CPU time divides into user and system time is known by the kernel's ticks, and a pass has too few of them.
    FewTicks {
        cpu_ns: u64,
        tick_ns: u64,
        /// So many times are divided, each by ticks of its own.
        #[serde(default = "crate::trace::one", skip_serializing_if = "crate::trace::is_one")]
        threads: u32,
    },
    /// While one thread waits, others may work.
    SeveralThreads,
    NoDiskCounters,
    /// No pass had a deadline of a beat, or none had the hundred of which one is the 99th of 100.
    FewBeats,
}

/// Why a run has nothing of what a claim or a figure asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotInRun {
    Arm {
        arm: String,
    },
    /// A figure without an arm.
    NoArm,
    /// A claim without an arm, or without an expectation.
    NoExpectation,
    /// A claim with a direction, and without another arm.
    NoOtherArm,
    /// Of a figure.
    NoCondition,
    /// A figure of a study whose file has another size.
    OtherFileSize {
        file_bytes: u64,
        study_bytes: u64,
        full_bytes: u64,
    },
    /// A figure selects one condition.
    SeveralConditions {
        conditions: usize,
    },
    /// No condition that the claim selects has these arms: in a comparison, or in the run.
    NoConditionWith {
        compare: Option<String>,
        arms: Vec<String>,
    },
    /// No two conditions with these arms differ in what the claim names alone.
    NoPair {
        arms: Vec<String>,
    },
    /// An earlier version rounded sizes when it saved the record.
    Rounded {
        saved_bytes: u64,
        exact_bytes: u64,
    },
    /// Options measured something else than what the experiment asks under each condition.
    Replaced {
        values: Vec<Replaced>,
    },
    Scenario,
    /// It was not tried before the run.
    ScenarioNotTried,
}

/// What an I/O throttle limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    Bytes,
    Reads,
}

/// What the noise of a condition depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noisy {
    pub state: State,
    pub durability: Durability,
    pub throttled: bool,
    #[serde(default = "nothing_beside", skip_serializing_if = "Beside::is_nothing")]
    pub beside: Beside,
}

/// Why passes of one cell were not all the same work: above all, a file that changed meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inconsistent {
    /// Two of them consumed different amounts, or as much in different numbers of blocks.
    Amounts { passes: usize, bytes: [u64; 2], ops: [u64; 2] },
    /// They reached different parts of the file.
    Parts { passes: usize },
    /// They found different bytes.
    Bytes { passes: usize, checksums: [String; 2] },
    /// Of a command: they did not print the same.
    Outputs { passes: usize, checksums: [String; 2] },
}

/// One thing that two arms did not do alike: what it was in the baseline and in the arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    Workloads {
        workloads: [Workload; 2],
    },
    /// With the user time of a byte, where that was seen.
    Consumes {
        consumes: [Consume; 2],
        user_ns_per_byte: Option<[f64; 2]>,
    },
    States {
        states: [State; 2],
    },
    Durabilities {
        durabilities: [Durability; 2],
    },
    Blocks {
        block_bytes: [u64; 2],
    },
    /// Whether the offsets are multiples of the block.
    Alignments {
        aligned: [bool; 2],
    },
    Files {
        file_bytes: [u64; 2],
    },
    /// Differently limited.
    Storages,
    /// `null`: no limit.
    Memories {
        memory_bytes: [Option<u64>; 2],
    },
    Amounts {
        bytes: [u64; 2],
        writes: bool,
        rounds: Rounds,
    },
    Operations {
        ops: [u64; 2],
        rounds: Rounds,
    },
    /// Of the file, each byte once, where both handled as many.
    Reached {
        distinct_bytes: [u64; 2],
        bytes: u64,
        writes: bool,
        rounds: Rounds,
    },
    Pages {
        pages: [u64; 2],
        rounds: Rounds,
    },
    Checksums {
        checksums: [String; 2],
        writes: bool,
        rounds: Rounds,
    },
    /// How many lines they found in as many bytes: what ends a line differs.
    Lines {
        lines: [u64; 2],
        rounds: Rounds,
    },
    /// Exit code or standard output of commands.
    Outputs {
        rounds: Rounds,
    },
    /// Exit code of commands whose output is not compared.
    Statuses {
        rounds: Rounds,
    },
    Threads {
        threads: [u32; 2],
        rounds: Rounds,
    },
    /// Whether the file was opened during the passes.
    Opened {
        opened: [bool; 2],
    },
    /// Which of the two found other bytes from pass to pass.
    Changed {
        of: usize,
        what: Inconsistent,
    },
    /// Bytes that came from the device, of those that were covered, where both should start cold.
    FromDevice {
        device_bytes: [f64; 2],
        covered_bytes: [f64; 2],
        /// Of the file, where that is not all of it: what is allocated, and its size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allocated_bytes: Option<[u64; 2]>,
    },
    /// Bytes that had reached the device when a pass ended, of those that were covered.
    OnDevice {
        device_bytes: [f64; 2],
        covered_bytes: [f64; 2],
        flushes: [Option<f64>; 2],
    },
}

/// In how many of the rounds it was so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    pub differing: usize,
    pub all: usize,
}

impl Record {
    /// Of each cell, why no pass of it was made; nothing where one was.
    pub fn untried(&self) -> Vec<Option<Reason>> {
        let tried: BTreeSet<usize> = self.samples.iter().map(|it| it.cell).collect();
        let is_left = |cell: usize| self.cells[cell].skipped.is_some() || !tried.contains(&cell);
        (0..self.cells.len()).map(|cell| if is_left(cell) { self.why_untried(cell) } else { None }).collect()
    }

    /// Why no pass of a cell was made, where none was: what left it out, or the end of the run before its first.
    pub fn why_untried(&self, cell: usize) -> Option<Reason> {
        match (&self.cells.get(cell)?.skipped, &self.partial) {
            (Some(skip), _) => Some(Reason::Skipped(skip.clone())),
            (None, Some(partial)) => Some(Reason::EndedBefore { partial: partial.clone() }),
            (None, None) => None,
        }
    }
}
