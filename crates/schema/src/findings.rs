//! Findings: what `analysis` derives from a record, and the second half of what `--json` prints.
//! They are never stored; the same record gives the same findings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Arm, CellId, Condition, ConditionId, Fill, Record,
    across::RunComparison,
    caution::Caution,
    counted::Histogram,
    explanation::Explanation,
    line::LineSays,
    reading::Value,
    reason::{Reason, Unseen},
    record::{FolioOrder, Reading, Resident},
    unit_cost::Costs,
    warning::{ForkGroups, Warning},
};

pub use crate::{
    conclusion::ClaimVerdict,
    estimate::{AnswerOf, Estimate, MARGIN, Verdict},
    noise::{NoiseFloor, StateNoise},
};

/// What `--json` prints; as it is printed, with words beside the data of its findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document<F = Findings, A = RunComparison> {
    pub schema_version: u32,
    pub record: Record,
    pub findings: F,
    /// Of `rerun`: the run that was made again, against this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub across: Option<A>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    pub cells: Vec<CellFinding>,
    pub comparisons: Vec<Comparison>,
    pub crossovers: Vec<Crossover>,
    pub noise_floor: NoiseFloor,
    /// The same for each state alone, in the order of the conditions: a state is judged by its own controls.
    #[serde(default)]
    pub noise_floors: Vec<StateNoise>,
    pub claims: Vec<ClaimFinding>,
    /// Published numbers beside ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<FigureFinding>,
    /// What follows from the calibration; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<Box<Costs>>,
    /// Pages of the files that were in the page cache before the passes of state `as-found`: each of them begins with the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Resident>,
    /// One line per condition: the map *state → winner → margin → why*.
    pub map: Vec<MapLine>,
    /// What follows from the map as a whole.
    #[serde(default)]
    pub answer: crate::answer::Answer,
    /// What counted passes say, one entry for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<CountedFinding>,
    /// Where runtimes stand beside each other: their loops by themselves, and what else they were doing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runtimes: Vec<RuntimeFinding>,
    /// Cells whose forks disagree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<ForkSplit>,
    /// Where arms were stopped while they worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safepoints: Option<Box<Safepoints>>,
    /// How late a second thread was beside the passes of arms: who else stops. One entry for each arm and condition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beats: Vec<BeatFinding>,
    /// What follows from those: one entry for each runtime.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<StallFinding>,
    /// Of `faultline advise`: what to change, for each state that was asked about, and how far the replay is the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<crate::advice::Advice>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice_self_check: Vec<crate::advice::AdviceSelfCheck>,
    /// Of runs of commands: one entry for each and every condition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandFinding>,
    /// What sentences call the arms that are commands, by their names: the name that was given, or a letter.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub called: BTreeMap<String, String>,
    /// How commands reach their files, one entry for each that was observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mechanisms: Vec<crate::observation::MechanismFinding>,
    /// What the ways of filling the page cache do to mappings, where a run has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fills: Vec<FillFinding>,
    /// Conditions so small that the processor's caches may have answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within_cpu_cache: Vec<WithinCpuCache>,
    /// Warnings about the whole run, to be read before its results.
    #[serde(rename = "warnings_data", default)]
    pub warnings: Vec<Warning>,
}

/// A fill: the folios that it left, and how a mapping fares on them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FillFinding {
    pub fill: Fill,
    /// Of making it; 0 for `found`.
    pub elapsed_ns: u64,
    pub range_bytes: u64,
    /// Pages by folio size, with root.
    pub folio_orders: Reading<Vec<FolioOrder>>,
    /// Pages that one fault maps.
    pub pages_per_fault: Option<f64>,
    /// The plainest mapping of each condition against the baseline.
    pub comparisons: Vec<FilledComparison>,
    /// Whether it pays to evict the file and to fill the page cache otherwise; the answer that pays back soonest.
    pub refill: Option<Refill>,
    /// Other fills of which that cannot be said, one entry for each condition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_judged: Vec<UnjudgedRefill>,
}

/// A fill whose reads cannot be held against those of another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnjudgedRefill {
    /// Of the reads as they are now.
    #[serde(flatten)]
    pub id: ConditionId,
    pub fill: Fill,
    pub condition: Condition,
    pub cause: UnjudgedCause,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnjudgedCause {
    /// Passes after the two fills made other numbers of reads, or in ranges of other sizes. What a read costs a mapping
    /// depends on how many of them share a fault.
    OtherPasses { now_ops: u64, then_ops: u64, now_bytes: u64, then_bytes: u64 },
    /// After one of the fills, the two arms did different work.
    UnequalWork,
    /// No arm was measured after both.
    NoSharedArm,
}

/// A mapping on the folios of a fill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilledComparison {
    #[serde(flatten)]
    pub id: CellId,
    pub condition: Condition,
    pub baseline: String,
    pub arm: String,
    /// What a block takes, in nanoseconds: the median of the rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_ns_per_op: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm_ns_per_op: Option<f64>,
    pub speedup: Option<Estimate>,
    pub verdict: Verdict,
    /// Which passes they are of.
    #[serde(default)]
    pub answer_of: AnswerOf,
    /// Of the mapping, in a pass.
    pub minor_faults: Reading<f64, Reason>,
    /// Of the mapping: time in the kernel for each of them, unmapping included.
    pub system_ns_per_fault: Option<f64>,
}

/// Another fill, and how many passes it takes until it has paid for itself: passes that map the file anew, as each one does.
/// Through a mapping that stays, each place faults once, whatever the number of reads, so that reads alone pay nothing back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refill {
    /// Of reads like those of this condition.
    #[serde(flatten)]
    pub id: ConditionId,
    pub fill: Fill,
    pub elapsed_ns: u64,
    /// How much of the file was evicted and filled in that time.
    pub filled_bytes: u64,
    pub condition: Condition,
    /// The mapping.
    pub arm: String,
    /// The faster of it and its baseline as the folios are now.
    pub now_arm: String,
    /// What that one takes before, and the mapping takes afterwards.
    pub now_ns_per_op: f64,
    pub then_ns_per_op: f64,
    /// Reads until it pays back, in passes like those of this condition.
    pub ops: f64,
    /// The same as passes.
    #[serde(default)]
    pub passes: f64,
}

impl Findings {
    /// Whether there is an answer: which arm of a condition is the fastest, or that none is; or a claim's verdict. A tie
    /// beside arms that are undecided answers nothing. Where advice is asked for, that is the answer. Of commands none is the usual choice that others must beat: each
    /// comparison is a question of its own.
    pub fn is_decided(&self) -> bool {
        if !self.advice.is_empty() {
            return self.advice.iter().any(|it| it.verdict.is_decided());
        }
        let of_line = |it: &MapLine| match it.condition.is_of_commands() {
            true => self.comparisons.iter().any(|of| of.id.condition == it.id && of.verdict.is_decided()),
            false => it.verdict.is_decided(),
        };
        self.map.iter().any(of_line) || self.claims.iter().any(|it| it.verdict.is_decided())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Ok,
    /// No pass was made, for the reason given.
    Skipped,
    /// No pass started from the requested state.
    Invalid,
    /// Every pass failed.
    Failed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellFinding {
    #[serde(flatten)]
    pub id: CellId,
    pub arm: Arm,
    pub condition: Condition,
    /// Where this arm does something else than the condition says: what it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_condition: Option<Condition>,
    /// The A/A control.
    pub control: bool,
    pub status: Status,
    /// Why not ok; or, for an ok cell, what happened to the passes that were lost.
    #[serde(rename = "reason_data", default)]
    pub reasons: Vec<Reason>,
    /// Valid passes.
    pub samples: u32,
    pub invalid_samples: u32,
    pub failed_samples: u32,
    /// Time of open, work and close together, per block.
    pub ns_per_op: Option<Estimate>,
    /// Of whole blocks, also where a part of each is consumed: what a program has that divides the file's size by its time.
    pub bytes_per_s: Option<Estimate>,
    /// Of the tally, in the middle of the passes: bytes that were delivered or written, repetitions counted; and those of
    /// the file that were reached, each once. Absent where the tally has none, as that of a command.
    #[serde(default)]
    pub bytes: Option<f64>,
    #[serde(default)]
    pub distinct_bytes: Option<f64>,
    /// Means over the passes (the kernel splits user from system time by sampling ticks, so single passes are coarse).
    pub user_ns_per_op: Reading<f64, Reason>,
    pub system_ns_per_op: Reading<f64, Reason>,
    /// Medians per pass.
    pub minor_faults: Reading<f64, Reason>,
    pub major_faults: Reading<f64, Reason>,
    pub device_read_bytes: Reading<f64, Reason>,
    pub device_write_bytes: Reading<f64, Reason>,
    /// In state `limited`: how often a pass missed the page cache (docs/FORMATS.md, "Readings").
    #[serde(default = "not_observed")]
    pub misses_per_block: Reading<f64, Reason>,
    #[serde(default = "not_observed")]
    pub device_bytes_per_byte: Reading<f64, Reason>,
    pub peak_memory_bytes: Reading<f64, Reason>,
    /// Of commands: the two kinds that peak is made of, each at its own peak.
    #[serde(default = "not_observed")]
    pub peak_anonymous_bytes: Reading<f64, Reason>,
    #[serde(default = "not_observed")]
    pub peak_file_bytes: Reading<f64, Reason>,
    /// Of the measured device ceiling; only for cold cells.
    pub ceiling_share: Option<f64>,
}

impl CellFinding {
    /// What its passes did.
    pub fn does(&self) -> &Condition {
        self.own_condition.as_ref().unwrap_or(&self.condition)
    }
}

fn not_observed() -> Reading<f64, Reason> {
    Reading::unavailable(Unseen::NotObserved)
}

/// A condition whose range fits into the last-level cache of the processor: where its pages are in memory before a pass, that
/// cache may have answered instead.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WithinCpuCache {
    #[serde(flatten)]
    pub id: ConditionId,
    pub range_bytes: u64,
    pub cache_bytes: u64,
}

/// Where the time of a command went, and what it needed beside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandFinding {
    #[serde(flatten)]
    pub id: CellId,
    pub arm: String,
    pub condition: Condition,
    /// Where its time went, in one sentence. Reports make the words.
    #[serde(default)]
    pub says: String,
    /// What its memory group held, in another; only in state `limited`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    pub time: Reading<CommandTime, Reason>,
    /// What else than reading is not the same as in the baseline of its condition: part of any difference in time may be
    /// due to that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confounders: Vec<Confounder>,
    /// Bytes from the device over those of all named files; of states that begin without the pages.
    pub amplification: Reading<f64, Reason>,
    /// In state `limited`, as the kernel counts the group: page cache and all.
    pub cgroup_limit_bytes: Reading<f64, Reason>,
    pub cgroup_memory_bytes: Reading<f64, Reason>,
    pub cgroup_peak_bytes: Reading<f64, Reason>,
    pub cgroup_file_bytes: Reading<f64, Reason>,
    pub cgroup_anonymous_bytes: Reading<f64, Reason>,
}

/// One thing that is not the same in two commands, as it is in the command and in the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confounder {
    pub versus: String,
    pub versus_cell: usize,
    pub what: ConfounderKind,
    pub own: f64,
    pub other: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfounderKind {
    /// User and system time over the time that passed: how many threads were at work, in the mean.
    ThreadsAtWork,
    /// Nanoseconds: of the median time of an execution, the share that it has of all of them.
    UserTime,
    /// Processes of the execution that was observed.
    Processes,
    /// Bytes of standard output.
    OutputBytes,
}

/// Shares of the time that passed; with several threads at work those of processor time may add up to more than all of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandTime {
    pub threads_at_once: u32,
    /// They were counted; otherwise all processors are taken for busy, which bounds least.
    pub threads_seen: bool,
    pub user_share: f64,
    pub system_share: f64,
    /// For the device, or for anything else; of one thread only, because others work meanwhile.
    pub waited_share: Reading<f64, Reason>,
    /// The share of the elapsed time in which the disk had requests in flight, of any process.
    pub device_busy_share: Reading<f64, Reason>,
    /// System time and waiting: reading is this share of the time that passed at most.
    pub reading_at_most: f64,
    /// With the same user time, another way of reading makes it at most so many times faster; known only where one command
    /// of the condition copies what it reads, and one maps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faster_at_most: Option<f64>,
    /// The arm whose user time, the least of the condition, was taken for the command's own work.
    pub own_work_of: String,
}

impl Value for CommandTime {
    fn is_finite(&self) -> bool {
        [self.user_share, self.system_share, self.reading_at_most].iter().all(|it| it.is_finite())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Of the arm.
    #[serde(flatten)]
    pub id: CellId,
    pub baseline_cell: usize,
    pub condition: Condition,
    /// Arm names.
    pub baseline: String,
    pub arm: String,
    /// How many times faster the arm is than the baseline (above 1: the arm is faster); absent when not comparable.
    pub speedup: Option<Estimate>,
    /// Rounds in which both were measured.
    pub pairs: u32,
    pub verdict: Verdict,
    /// Why not comparable or undecided.
    #[serde(rename = "reason_data")]
    pub reason: Option<Reason>,
    /// What to know of one that stands.
    #[serde(rename = "warnings_data", default)]
    pub warnings: Vec<Caution>,
    /// The mechanism, by its counts.
    #[serde(rename = "because_data")]
    pub explanation: Option<Explanation>,
    /// Of the measured difference, by counted causes at calibrated cost; null where not accounted.
    pub explained_share: Option<f64>,
    /// Which passes `speedup` and `verdict` are of.
    #[serde(default)]
    pub answer_of: AnswerOf,
    /// What passes at the size of the job said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Confirmed>,
}

impl AnswerOf {
    /// The rounds decided, and the passes at the size of the job, which decide nothing, do not contradict them, or there are none and
    /// those of the rounds are a part of the job, or all of them are a part of it.
    pub fn is_unconfirmed(self, is_decided: bool) -> bool {
        self == AnswerOf::RoundsUnconfirmed && is_decided
    }
}

impl Comparison {
    /// Whether it has too few rounds for a verdict.
    pub fn has_too_few_rounds(&self) -> bool {
        matches!(self.reason, Some(Reason::TooFewRounds { .. }))
    }

    /// As `AnswerOf::is_unconfirmed`.
    pub fn is_unconfirmed(&self) -> bool {
        self.answer_of.is_unconfirmed(self.verdict.is_decided())
    }

    /// How many times faster than the baseline the arm is at least and at most. Nothing where its interval bounds nothing: a
    /// comparison that is undecided for another reason than the interval itself says nothing, wherever the interval lies.
    pub fn bounds(&self) -> Option<[f64; 2]> {
        let Estimate { ci_low, ci_high, .. } = self.speedup?;
        match (self.verdict, &self.reason) {
            (Verdict::Faster | Verdict::Slower | Verdict::Same, _)
            | (Verdict::Undecided, Some(Reason::AcrossTheMargin { .. })) => Some([ci_low, ci_high]),
            // One arm measured twice differs by as much.
            (Verdict::Undecided, Some(Reason::WithinNoise { times, .. })) => {
                Some([ci_low.min(1.0 / times), ci_high.max(*times)])
            }
            (Verdict::Undecided | Verdict::NotComparable, _) => None,
        }
    }

    /// Rounds and job decided the same, each by its passes; not where the rounds did so by what an I/O throttle let through free.
    pub fn was_decided_twice(&self) -> bool {
        let alike = |it: &Confirmed| it.verdict == it.rounds_verdict && it.rounds_came_free.is_none();
        self.answer_of.is_confirmed() && self.confirmed.as_ref().is_some_and(alike)
    }
}

/// A comparison measured again, over as much of the file or by as many reads as there was time for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confirmed {
    /// The range, in bytes.
    pub bytes: u64,
    pub ops: u64,
    /// Of the pairs, and what follows from it, by the rule of all comparisons.
    pub speedup: Estimate,
    pub pairs: u32,
    pub verdict: Verdict,
    /// What the rounds had said.
    pub rounds_speedup: Option<Estimate>,
    pub rounds_verdict: Verdict,
    /// Why that would be another answer without what an I/O throttle let through free.
    #[serde(default, rename = "rounds_came_free_data", skip_serializing_if = "Option::is_none")]
    pub rounds_came_free: Option<Reason>,
}

/// One arm with one consume, over all its conditions. Shares are of the passes' time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuntimeFinding {
    pub arm: String,
    /// All that it is about.
    #[serde(default)]
    pub cells: Vec<CellId>,
    pub consume: crate::Consume,
    pub passes: u32,
    /// The consume's loop alone, over bytes that the processor holds.
    pub loop_bytes_per_s: Option<f64>,
    /// How many times longer the first pass over the warm-up file took than the last ones: a cold runtime.
    pub first_pass: Option<f64>,
    /// Time that compilers spent meanwhile, on whatever processor. Absent of a JVM whose passes take less than 10 ms in the mean, as
    /// `collection_share` is: its counters are of milliseconds.
    pub compile_share: Option<f64>,
    pub collections: Option<f64>,
    pub collection_share: Option<f64>,
    /// Passes whose warm-up ended before compilation was quiet; absent where nothing compiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_quiet: Option<u32>,
}

/// Processes of one cell that fall into two groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForkSplit {
    #[serde(flatten)]
    pub id: CellId,
    pub arm: String,
    pub condition: Condition,
    /// In the order of rounds.
    pub forks: Vec<Fork>,
    /// How many times longer the slow ones took.
    pub factor: f64,
    /// The slow ones were also slow over the warm-up file, so the cause is how they were compiled.
    pub in_code: bool,
    #[serde(rename = "says_data")]
    pub says: ForkGroups,
}

/// One process of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fork {
    pub round: u32,
    pub ns_per_op: f64,
    pub warm_pass_ns_per_op: Option<f64>,
    pub loop_bytes_per_s: Option<f64>,
    pub slow: bool,
}

/// How long a runtime waited for its threads to stand still while arms were at work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Safepoints {
    pub cells: Vec<SafepointFinding>,
    /// Conditions with arms of both kinds.
    #[serde(default)]
    pub seen: Vec<SafepointsSeen>,
    /// From how many times the delay of calls on that of a mapping is called a difference.
    #[serde(default)]
    pub apart: f64,
}

/// Arms that read by system calls beside arms that read through a mapping, under one condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SafepointsSeen {
    /// Of the condition.
    pub label: String,
    pub calls: Vec<SafepointDelay>,
    pub faults: Vec<SafepointDelay>,
    /// The longest of all.
    pub max_call_ns: f64,
    pub max_fault_ns: f64,
    /// A mapping delayed safepoints longer than calls did, because its faults waited for pages.
    pub held_up: bool,
    /// Why neither that nor the contrary is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<SafepointsOpen>,
}

/// Why it is not said whether a mapping held safepoints up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SafepointsOpen {
    /// An arm has too few passes, and too few safepoints.
    TooFew { least_passes: u32, least_safepoints: u64 },
    /// Delays differ where every page was in memory, so that no fault waited for one.
    InMemory,
}

/// How long safepoints were delayed while an arm was reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SafepointDelay {
    pub name: String,
    pub p99_ns: f64,
    #[serde(default)]
    pub p99_is: SafepointTail,
}

/// Which delay of a pass the 99th of 100 is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SafepointTail {
    /// 99 of 100 were no longer.
    #[default]
    NinetyNine,
    /// Passes had fewer than 100: the longest of all.
    Longest,
}

/// One arm under one condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SafepointFinding {
    #[serde(flatten)]
    pub id: CellId,
    pub arm: String,
    /// The same without what all of them have in common.
    pub name: String,
    pub condition: Condition,
    pub passes: u32,
    /// Safepoints of all passes together.
    pub asked: u64,
    /// Until every thread stood still: the middle one of a pass and the 99th of 100, both in the middle of the passes.
    pub median_ns: f64,
    pub p99_ns: f64,
    #[serde(default)]
    pub p99_is: SafepointTail,
    /// Of all passes.
    pub max_ns: f64,
    /// Of the passes' time: from these requests until the threads ran on, which includes the way to the safepoint.
    pub stopped_share: Option<f64>,
    /// The bytes came through system calls; null where those were not counted.
    pub through_calls: Option<bool>,
}

/// How late a second thread of the worker was for its deadlines beside the passes of an arm, all of them together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeatFinding {
    #[serde(flatten)]
    pub id: CellId,
    pub arm: String,
    pub name: String,
    pub condition: Condition,
    pub passes: u32,
    pub period_ns: u64,
    pub late: BeatLateness,
    /// After the passes, while nothing else was at work.
    pub idle: BeatLateness,
    /// The share of the deadlines after passes that were stalled, of this arm or of the whole run, whichever is more: what the
    /// other work of the machine does.
    pub busy_share: f64,
    /// The same arm with its pages in memory: what its computing alone does to others.
    pub control: Option<BeatControl>,
    /// How many deadlines were later than that, at the end of each bin: from above 0 down to none.
    pub curve: Vec<BeatPoint>,
    #[serde(rename = "says_data")]
    pub says: BeatSays,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BeatLateness {
    pub deadlines: u64,
    pub wake_ups: u64,
    /// Half of the deadlines were no later.
    pub median_ns: Option<f64>,
    /// 99 of 100; absent of fewer than 100 deadlines.
    pub p99_ns: Option<f64>,
    pub max_ns: u64,
    /// The deadlines that were more than two periods late.
    pub stalled_share: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeatControl {
    #[serde(flatten)]
    pub id: CellId,
    pub condition: Condition,
    pub passes: u32,
    pub late: BeatLateness,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BeatPoint {
    pub late_ns: f64,
    /// Of the deadlines.
    pub later_share: f64,
}

/// Who else stopped while an arm was at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BeatSays {
    /// Not many more were stalled than while nothing was at work.
    Busy,
    TooFewDeadlines,
    /// Deadlines of one pass are late together: a few passes are a few observations, however many deadlines they have.
    TooFewPasses,
    Nobody,
    /// Others stopped while it waited for pages, and not where the pages are in memory.
    Waiting,
    /// For longer than where the pages are in memory.
    LongerThanInMemory,
    /// As where the pages are in memory.
    AsInMemory,
    /// Its pages are in memory: it is a control.
    InMemory,
    /// There is nothing to hold it against.
    NoControl,
}

/// Whether arms of a runtime stopped other threads, and which one to use instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StallFinding {
    /// The condition under which others were late for the longest; of a runtime that was not measured there, its own.
    #[serde(flatten)]
    pub id: ConditionId,
    pub runtime: String,
    /// Its arms beside which others stopped, the longest first. Where there is none, the one beside which they were late for the
    /// longest; empty where nothing can be said.
    pub arms: Vec<StallArm>,
    /// Of its other arms beside which nobody stopped, the one beside which others were late for the shortest: one that calls,
    /// if there is one. Without such an arm, the last of `arms` if they were late for less than a third of the first.
    pub instead: Option<StallArm>,
    #[serde(rename = "says_data")]
    pub says: StallSays,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StallArm {
    pub cell: usize,
    pub name: String,
    pub late: BeatLateness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallSays {
    Nobody,
    /// The same of pages in memory: missing pages were not measured, or not for long enough.
    NobodyInMemory,
    /// Others stopped beside the first of the arms.
    Others,
    /// They stopped, and as long where its pages are in memory.
    OthersAsInMemory,
    /// They stopped although its pages are in memory: missing pages were not measured, or not for long enough.
    OthersInMemory,
    /// They stopped, and nothing was measured that tells why.
    OthersNoControl,
    /// Deadlines or passes were too few, or the machine was busy.
    Unknown,
}

/// Where the faster of two arms changes along an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Crossover {
    pub arms: [String; 2],
    /// The same as sentences call them.
    #[serde(default)]
    pub names: [String; 2],
    /// The measured points: of each block size, the second arm's cell.
    pub cells: Vec<CellId>,
    pub workload: crate::Workload,
    pub consume: crate::Consume,
    pub state: crate::State,
    pub axis: String,
    /// By ascending value along the axis.
    #[serde(default)]
    pub points: Vec<CurvePoint>,
    /// Values along the axis that were asked for, and at which not both arms were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<f64>,
    /// Whether the faster arm changes within the measured sizes.
    #[serde(default)]
    pub changes: bool,
    /// Where; null where it does not change, and where the points around the change are of passes of two sizes, the rounds'
    /// and the job's.
    pub at: Option<Estimate>,
    /// Cells of the points that are answered by passes at the size of the job, where others are not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of_job: Vec<usize>,
    /// The points on either side of this change; and how many changes the curve has.
    #[serde(default)]
    pub between: Option<[usize; 2]>,
    #[serde(default)]
    pub of_curve: usize,
}

/// A measured point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Along the axis.
    pub at: f64,
    /// Of the second arm against the first.
    pub verdict: Verdict,
    /// It is answered by passes at the size of the job.
    pub of_job: bool,
    /// It is decided by the rounds, and passes at the size of the job do not confirm it.
    #[serde(default)]
    pub unconfirmed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MapLine {
    #[serde(flatten)]
    pub id: ConditionId,
    pub condition: Condition,
    /// Name of the fastest arm, or `null` when nothing could be compared.
    pub winner: Option<String>,
    pub winner_cell: Option<usize>,
    /// Arms that were proved equal to the winner, by the margin; of a line without a winner, to the baseline.
    pub ties: Vec<String>,
    pub tie_cells: Vec<usize>,
    /// Arms that were proved neither slower than the winner nor equal to it; of a line without a winner, those that were
    /// proved nothing beside the baseline.
    #[serde(default)]
    pub not_told_apart: Vec<String>,
    #[serde(default)]
    pub not_told_apart_cells: Vec<usize>,
    /// Arms whose timed work is the winner's: its passes are the result for all of them.
    #[serde(default)]
    pub same_work: Vec<String>,
    #[serde(default)]
    pub same_work_cells: Vec<usize>,
    /// The arms whose comparisons with the baseline the line is made of: one for each timed work that is not the
    /// baseline's. What was measured of others is no answer of its own.
    #[serde(default)]
    pub compared_cells: Vec<usize>,
    /// How many times faster the winner is than the baseline; absent when the winner is the baseline.
    pub margin: Option<Estimate>,
    /// Where the winner is the baseline: the arm that comes closest to it. The figure, `explanation` and, but for what other arms leave
    /// unconfirmed, `answer_of` are of its comparison; `job` also where it was chosen by passes at that size.
    #[serde(default)]
    pub next_cell: Option<usize>,
    /// `faster`: the winner is faster than the baseline, or the baseline than an arm; `same`: no arm beats the baseline by
    /// the margin, and none was proved slower without one that ties or is not told apart.
    pub verdict: Verdict,
    /// The passes that the answer comes from: those of the comparison that decides it.
    #[serde(default)]
    pub answer_of: AnswerOf,
    /// That `mmap+sequential` is 1.8 times faster than `read`.
    #[serde(rename = "says_data")]
    pub says: LineSays,
    #[serde(rename = "because_data")]
    pub explanation: Option<Explanation>,
}

impl MapLine {
    /// As `AnswerOf::is_unconfirmed`.
    pub fn is_unconfirmed(&self) -> bool {
        self.answer_of.is_unconfirmed(self.verdict.is_decided())
    }

    /// Whether a comparison is one of those that the line is made of.
    pub fn is_made_of(&self, comparison: &Comparison) -> bool {
        comparison.id.condition == self.id && self.compared_cells.contains(&comparison.id.cell)
    }
}

/// A claim and how it fared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimFinding {
    pub id: String,
    pub study: String,
    pub source: String,
    pub says: String,
    /// The published figure in words, and the published ratio where there is one.
    pub published: PublishedClaim,
    /// One entry for every condition that was asked; empty where nothing was measured.
    pub measured: Vec<ClaimMeasured>,
    pub verdict: ClaimVerdict,
    #[serde(rename = "reason_data", default)]
    pub reasons: Vec<Reason>,
    /// Of a claim that was asked on the folios of the study's time and on those of today: its verdict on each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folios: Vec<ClaimOnFolios>,
    /// Everything that the experiment asks for it was asked and measured: no option and no skipped cell left any of it out.
    #[serde(default)]
    pub complete: bool,
}

/// What a claim comes to where the page cache holds the file in folios of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimOnFolios {
    pub fill: Fill,
    /// Those of the study's time; those of fill `sequential` are what this machine makes of a file that is read in order.
    pub then: bool,
    /// Of a folio: half of what was filled for a condition lies in folios of this size or larger ones. Of several conditions the
    /// largest.
    /// Absent where they are not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folio_bytes: Option<u64>,
    /// Of several conditions the smallest, where that is another one: little that is read in at once lies in small folios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_folio_bytes: Option<u64>,
    pub verdict: ClaimVerdict,
    /// Why.
    #[serde(default, rename = "reason_data", skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedClaim {
    pub words: Option<String>,
    pub ratio: Option<f64>,
}

/// What was found under one condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimMeasured {
    /// Of the arm.
    #[serde(flatten)]
    pub id: CellId,
    /// Of the other arm; absent when the claim is about a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than_cell: Option<usize>,
    /// Of the arm under the condition that this one is held against, where the claim holds conditions against each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_cell: Option<usize>,
    /// `scan 32 KiB cached`
    pub condition: String,
    pub variant: Option<crate::experiment::Variant>,
    /// How many times lower the arm's metric is than the other's (above 1: lower); or the metric itself.
    pub value: Estimate,
    /// Rounds, or passes, that the value comes from.
    #[serde(default)]
    pub rounds: u32,
    /// Which passes it is of; what is not a time is always of the rounds.
    #[serde(default)]
    pub answer_of: AnswerOf,
    pub verdict: ClaimVerdict,
    /// The claim has its verdict from it: it is of the variant that decides, and on the folios that do.
    pub decides: bool,
}

/// What follows from the counts of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedFinding {
    /// Index into the record's `cells`.
    pub cell: usize,
    pub system_calls_per_mib: Reading<f64, Reason>,
    pub faults_per_mib: Reading<f64, Reason>,
    /// Distinct pages that the pass reached, over its faults.
    pub pages_per_fault: Reading<f64, Reason>,
    /// Bytes that the device read for the pass, over bytes delivered, each byte once.
    pub amplification: Reading<f64, Reason>,
    pub folio_orders: Reading<Histogram, Reason>,
    pub request_bytes: Reading<Histogram, Reason>,
    /// The same, of requests that read, and of those that write.
    pub read_request_bytes: Reading<Histogram, Reason>,
    pub write_request_bytes: Reading<Histogram, Reason>,
    /// Requests that made durable what was written before them, and those that were durable themselves (FUA).
    pub flush_requests: Reading<f64, Reason>,
    pub durable_requests: Reading<f64, Reason>,
    /// Events that did not fit the rings: the histograms are then a part.
    pub lost_events: u64,
}

/// A published number and ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FigureFinding {
    pub says: String,
    pub unit: crate::experiment::Unit,
    pub published: f64,
    pub as_published: Reading<Estimate, Reason>,
    /// What that is of; absent where nothing of this run fits, or more than one cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_published_id: Option<CellId>,
    pub corrected: Reading<Estimate, Reason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_id: Option<CellId>,
}
