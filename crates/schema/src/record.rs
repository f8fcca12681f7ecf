//! The record: everything measured in one run. The only ground truth; findings are derived from it and never stored.
//! It is written after every round, so that an interrupted run keeps what it had.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

use crate::{
    Arm, Condition, Experiment, Fill, Skip, Span,
    machine::Machine,
    protocol::{Phases, Tally},
    unit_cost::Calibration,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub schema_version: u32,
    /// When it began, and 128 random bits in hexadecimal: `20261120T225104Z-` and 32 digits. Older ones have four digits.
    pub id: String,
    pub tool_version: String,
    /// RFC 3339, UTC.
    pub started: String,
    pub elapsed_s: f64,
    /// Why the run ended before its plan did; absent when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// What kind of end that was; also where a budget ended rounds that were asked for by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Why the rounds of each condition ended, by its index in `conditions`; older records do not have it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rounds_ended: BTreeMap<usize, RoundsEnd>,
    /// The working folder of a run of commands: relative paths in their lines begin there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    pub seed: u64,
    pub budget_s: f64,
    /// The experiment with every default filled in: running it again with `seed` repeats the plan.
    pub experiment: Experiment,
    pub environment: Environment,
    pub target: Target,
    pub conditions: Vec<Condition>,
    /// For each condition, the index of its comparison in `experiment`.
    #[serde(default)]
    pub origins: Vec<usize>,
    pub cells: Vec<Cell>,
    pub samples: Vec<Sample>,
    /// How the cache was filled before passes in `cached`, `mapped` and `locked`.
    pub fills: Vec<FilledRange>,
    /// Answers that were measured again at the size of the job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmations: Vec<Confirmation>,
    /// What the device can do at most, measured beside the cold cells.
    pub ceiling: Reading<Ceiling>,
    /// What scenarios found, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scenarios: BTreeMap<String, Reading<Observation>>,
    /// What single things cost here, as measured; unit costs are fitted from it by `analysis`.
    #[serde(default = "not_calibrated")]
    pub calibration: Reading<Calibration>,
    /// Passes under tracepoints, made when asked for, apart from the timed ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<crate::counted::Counted>,
    /// How commands reach their files: one execution of each, watched and not timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observations: Vec<crate::observation::Observed>,
    /// What the whole machine did during the run, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<crate::timeline::Timeline>,
    /// What ran the arms of other runtimes than native, by what it calls itself (`jvm 25.0.3`): `vm`, `home`, `flags`, …
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub runtimes: BTreeMap<String, BTreeMap<String, String>>,
    /// What is not available on this machine or to this user, one sentence each.
    pub limits: Vec<String>,
}

fn not_calibrated() -> Reading<Calibration> {
    Reading::unavailable("made by a version that does not calibrate")
}

/// The answer of a scenario: a small experiment with yes or no as its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    pub holds: bool,
    /// What was seen, in numbers.
    pub evidence: String,
}

/// One arm under one condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub arm: Arm,
    /// Index into `conditions`: the condition the arms are compared under.
    pub condition: usize,
    /// Where this arm does something else than the condition says (an unfair comparison, written down as published).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_condition: Option<Condition>,
    /// The arm the others of its condition are compared with.
    pub baseline: bool,
    /// The baseline entered a second time: the A/A control.
    pub control: bool,
    /// Why no pass was made; absent when passes were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Skip>,
}

impl Cell {
    /// Leaves the cell out; the first reason stays.
    pub fn leave_out(&mut self, skip: Skip) {
        self.skipped.get_or_insert(skip);
    }
}

/// How a run ended that did not make all of its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// By the user.
    Interrupted,
    /// A measured file was changed, replaced or removed meanwhile.
    TargetChanged,
    /// The budget was spent before all requested rounds were made.
    BudgetSpent,
}

impl Record {
    /// It ended before its plan did for another reason than its budget: nothing about precision follows from that.
    pub fn was_stopped(&self) -> bool {
        match self.ending {
            Some(ending) => ending != Ending::BudgetSpent,
            None => self.partial.is_some(),
        }
    }
}

/// Why no further round of a condition was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoundsEnd {
    /// Every comparison was precise enough.
    Precise,
    /// The default maximum of rounds was made.
    Most,
    /// The requested number of rounds was made.
    Asked,
    /// The budget was spent.
    Budget,
}

/// What one pass measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Index into `cells`.
    pub cell: usize,
    /// Samples of one condition and round were taken side by side; comparisons pair them.
    pub round: u32,
    /// Position in the whole run: the order in which passes were made.
    pub order: u32,
    pub host: String,
    pub outcome: Outcome,
    /// Pages of `range` in the page cache before and after the pass.
    pub resident_before: Reading<Resident>,
    pub resident_after: Reading<Resident>,
    /// What probes saw, by name: `user_ns`, `minor_faults`, `device_read_bytes`, `peak_memory_bytes`, …
    pub readings: BTreeMap<String, Reading<f64>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum Outcome {
    Ok {
        phases: Phases,
        tally: Tally,
    },
    /// The pass ran, but not from the requested state: kept, never shown as a number.
    Invalid {
        reason: Invalid,
    },
    /// The worker reported an error, died, stalled or spoke nonsense.
    Failed {
        reason: String,
    },
}

/// Why a pass that ran does not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Invalid {
    /// When the file was looked at again, its folios were not those of the fill any more: this share of them had changed.
    FoliosChanged { fill: Fill, share: f64 },
    /// What was seen around the pass itself.
    #[serde(untagged)]
    Seen(String),
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Invalid::FoliosChanged { fill, share } => write!(
                f,
                "the folios of fill {fill} did not stay: when they were looked at again, {:.0} % had changed",
                100.0 * share
            ),
            Invalid::Seen(reason) => f.write_str(reason),
        }
    }
}

impl From<String> for Invalid {
    fn from(reason: String) -> Invalid {
        Invalid::Seen(reason)
    }
}

/// A value, or the reason why there is none. Never 0 for want of something better.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Reading<T> {
    Unavailable { unavailable: String },
    Value(T),
}

/// What a reading may be of.
pub trait Value: Serialize {
    /// JSON cannot represent infinite numbers and NaN (RFC 8259, section 6).
    fn is_finite(&self) -> bool {
        true
    }
}

impl Value for f64 {
    fn is_finite(&self) -> bool {
        f64::is_finite(*self)
    }
}

impl<T: Value> Value for Vec<T> {
    fn is_finite(&self) -> bool {
        self.iter().all(Value::is_finite)
    }
}

impl Value for Ceiling {
    fn is_finite(&self) -> bool {
        self.bytes_per_s.is_finite()
    }
}

impl Value for CpuCache {
    fn is_finite(&self) -> bool {
        true
    }
}

impl Value for ReclaimScheme {
    fn is_finite(&self) -> bool {
        self.idle_s.is_finite()
    }
}

impl Value for crate::findings::Estimate {
    fn is_finite(&self) -> bool {
        [self.median, self.ci_low, self.ci_high].iter().all(|it| it.is_finite())
    }
}

impl Value for crate::findings::CommandTime {
    fn is_finite(&self) -> bool {
        [self.user_share, self.system_share, self.reading_at_most].iter().all(|it| it.is_finite())
    }
}

impl Value for crate::inspection::FaultView {
    fn is_finite(&self) -> bool {
        [self.here, self.in_order].iter().all(|it| it.pages.is_finite() && it.ns.is_finite())
    }
}

impl Value for LookedAgain {
    fn is_finite(&self) -> bool {
        self.changed_share.is_finite() && self.pages_per_fault.is_none_or(f64::is_finite)
    }
}

impl Value for u64 {}
impl Value for bool {}
impl Value for String {}
impl Value for Resident {}
impl Value for Device {}
impl Value for FolioOrder {}
impl Value for Observation {}
impl Value for Calibration {}
impl Value for crate::observation::Observation {}
impl Value for crate::counted::Histogram {}
impl Value for crate::inspection::Residency {}

/// A number that cannot be written becomes its reason: what is written can be read back.
impl<T: Value> Serialize for Reading<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unavailable = match self {
            Reading::Value(value) if value.is_finite() => return value.serialize(serializer),
            Reading::Value(_) => "it came to no finite number",
            Reading::Unavailable { unavailable } => unavailable,
        };
        let mut reason = serializer.serialize_struct("Reading", 1)?;
        reason.serialize_field("unavailable", unavailable)?;
        reason.end()
    }
}

impl<T> Reading<T> {
    pub fn unavailable(reason: impl Into<String>) -> Reading<T> {
        Reading::Unavailable { unavailable: reason.into() }
    }

    /// The value changed, the reason kept.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reading<U> {
        match self {
            Reading::Value(value) => Reading::Value(change(value)),
            Reading::Unavailable { unavailable } => Reading::Unavailable { unavailable },
        }
    }

    pub fn value(&self) -> Option<&T> {
        match self {
            Reading::Value(value) => Some(value),
            Reading::Unavailable { .. } => None,
        }
    }

    pub fn reason(&self) -> Option<&str> {
        match self {
            Reading::Value(_) => None,
            Reading::Unavailable { unavailable } => Some(unavailable),
        }
    }
}

impl<T, E: std::fmt::Display> From<Result<T, E>> for Reading<T> {
    fn from(result: Result<T, E>) -> Reading<T> {
        match result {
            Ok(value) => Reading::Value(value),
            Err(reason) => Reading::unavailable(reason.to_string()),
        }
    }
}

/// Residency of a window of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resident {
    pub pages: u64,
    pub of: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    pub path: String,
    pub bytes: u64,
    /// Blocks that the file system allocated, in bytes: less than `bytes` for a file with holes.
    pub allocated_bytes: u64,
    /// faultline made the file, and removed it.
    pub made_here: bool,
    /// Of a run of commands: what was named, when it is more than one file. `path` is then the first of it, `bytes` the
    /// sum of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Files>,
    /// How residency was verified: `cachestat`, `mincore`, `preadv2-nowait`.
    pub residency: Reading<String>,
    pub file_system: String,
    pub mount_options: String,
    pub device: Reading<Device>,
    /// How much read-ahead fetches at a time, at most: for this file or, where its file system does not say it, for any here.
    /// Absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_most_bytes: Option<u64>,
}

impl Target {
    /// 0 where nothing is known of it.
    pub fn window_bytes(&self) -> u64 {
        let of_device = || self.device.value().and_then(|it| it.read_ahead_bytes.value().copied());
        self.read_ahead_most_bytes.or_else(of_device).unwrap_or(0)
    }

    /// The folder of a file that faultline made: its name is another one each time.
    pub fn folder_of_test_file(&self) -> Option<&str> {
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.made_here.then_some(if folder.is_empty() && self.path.starts_with('/') { "/" } else { folder })
    }

    /// What was measured, as lists of runs show it: a path, or `a test file in /var/tmp`.
    pub fn said(&self) -> String {
        self.folder_of_test_file().map_or_else(|| self.path.clone(), |folder| format!("a test file in {folder}"))
    }
}

/// Files that commands are said to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// As on the command line, with full paths; the first twenty.
    pub named: Vec<NamedPath>,
    pub count: u64,
    /// Folders that they were found in.
    pub folders: u64,
    /// Paths of the first twenty.
    pub first: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedPath {
    pub path: String,
    /// Everything in it was meant.
    pub folder: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Kernel name of the whole disk: `vda`, `nvme0n1`, `loop0`.
    pub name: String,
    pub read_ahead_bytes: Reading<u64>,
    pub scheduler: Reading<String>,
    pub rotational: Reading<bool>,
}

/// A deep-queue O_DIRECT read of a part of the target: what share of the device a cold cell reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    pub bytes_per_s: f64,
    /// Random 4 KiB reads, deep queue.
    pub random_ops_per_s: Reading<f64>,
    /// How: method, request size, depth.
    pub how: String,
}

/// The answer to a condition, measured once more at the size of the job: the two arms that decide it, over as much of the
/// file, or by as many random reads, as there was time for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    pub condition: usize,
    pub baseline_cell: usize,
    pub arm_cell: usize,
    pub range: Span,
    pub ops: u64,
    /// Baseline and arm, one pass each: open, work and close, in nanoseconds.
    pub pairs: Vec<[f64; 2]>,
    /// Why passes did not count.
    pub invalid: Vec<String>,
}

impl Confirmation {
    /// So many pairs are made, and fewer decide nothing: of equal arms, three pairs agree once in four times.
    pub const PAIRS: u32 = 5;
}

/// A fill that was made: how the page cache came to hold a window of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilledRange {
    pub range: Span,
    /// Absent in old records: they know `sequential` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    /// What was done, in words.
    pub method: String,
    pub elapsed_ns: u64,
    /// Pages by folio size, with root.
    pub folio_orders: Reading<Vec<FolioOrder>>,
    /// Pages that one fault maps, the mean at some places: what any user can see of folio sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_per_fault: Option<f64>,
    /// A second look, when the passes after the fill were over; or why there was none. Absent in older records, and where
    /// no pass was made after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_again: Option<Reading<LookedAgain>>,
}

/// What a fill has become.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LookedAgain {
    pub folio_orders: Reading<Vec<FolioOrder>>,
    pub pages_per_fault: Option<f64>,
    /// Of the folios, or where those are not seen of the faults, how many are not as they were.
    pub changed_share: f64,
    /// So few that it is the fill still. Otherwise passes since the first look are invalid.
    pub is_the_fill: bool,
}

/// How many pages of a fill lie in folios of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolioOrder {
    /// 0: single pages; 9: 2 MiB with pages of 4 KiB.
    pub order: u32,
    pub pages: u64,
}

impl FolioOrder {
    /// How large the folios are; the largest number for an order that none has.
    pub fn folio_bytes(&self, page_bytes: u64) -> u64 {
        page_bytes.saturating_mul(1u64.checked_shl(self.order).unwrap_or(u64::MAX))
    }
}

/// The machine, as far as it decides results. A field that could not be read says why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The nodename.
    pub host: String,
    /// Absent in records of older versions, and where there is nothing to make a key from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    pub kernel: String,
    pub architecture: String,
    pub cpu: Reading<String>,
    pub cpus: u32,
    /// Of all processors, those that are alike as one entry.
    #[serde(default = "not_looked_at")]
    pub cpu_caches: Reading<Vec<CpuCache>>,
    pub page_bytes: u64,
    pub memory_bytes: u64,
    pub memory_available_bytes: u64,
    /// The smallest memory limit of the cgroups this runs in.
    pub memory_limit_bytes: Reading<u64>,
    pub swap_bytes: u64,
    /// `none` on bare metal.
    pub virtualisation: Reading<String>,
    pub mitigations: BTreeMap<String, String>,
    pub transparent_hugepage: Reading<String>,
    pub fault_around_bytes: Reading<u64>,
    pub lru_gen: Reading<String>,
    /// DAMON schemes by which the kernel evicts idle memory, even when memory is not scarce.
    #[serde(default = "not_looked_at")]
    pub reclaim_schemes: Reading<Vec<ReclaimScheme>>,
    pub clocksource: Reading<String>,
    /// Between two timer ticks (1 s / CONFIG_HZ), in nanoseconds: user and system time are told apart at ticks, so that is
    /// the grain of either.
    #[serde(default = "not_looked_at")]
    pub tick_ns: Reading<u64>,
    pub governor: Reading<String>,
    pub c_library: Reading<String>,
    pub root: bool,
    /// Share of CPU time stolen by the hypervisor during the run.
    pub steal_share: Reading<f64>,
    /// Load average over one minute when the run began.
    pub load: f64,
}

fn not_looked_at<T>() -> Reading<T> {
    Reading::unavailable("made by a version that does not look")
}

impl Environment {
    /// The memory that the page cache can have, in bytes: what is available, within the cgroup's limit.
    pub fn cache_memory_bytes(&self) -> u64 {
        let limit = self.memory_limit_bytes.value().copied().unwrap_or(u64::MAX);
        limit.min(self.memory_available_bytes)
    }

    /// The size of the last-level cache; of several the largest.
    pub fn last_level_cache_bytes(&self) -> Option<u64> {
        let of_data = || self.cpu_caches.value().into_iter().flatten().filter(|it| it.kind != CacheKind::Instruction);
        let last = of_data().map(|it| it.level).max()?;
        of_data().filter(|it| it.level == last).map(|it| it.bytes).max()
    }
}

/// Caches of the processors that have the same level, kind and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CpuCache {
    pub level: u32,
    pub kind: CacheKind,
    pub bytes: u64,
    /// How many there are; processors that share one count it once.
    pub count: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    Data,
    Instruction,
    Unified,
}

/// A scheme of DAMON whose kernel thread was running when the run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReclaimScheme {
    /// The number of its thread: kdamond.N.
    pub kdamond: u32,
    /// `pageout`, `cold`, `lru_deprio`, …
    pub action: String,
    /// Memory that was not accessed for this long.
    pub idle_s: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_bytes_per_s: Option<f64>,
}

impl ReclaimScheme {
    /// Whether an action takes pages out of memory; others only count or sort them.
    pub fn pushes_out(action: &str) -> bool {
        matches!(action, "pageout" | "cold")
    }
}
