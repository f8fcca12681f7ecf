//! The record: everything measured in one run. The only ground truth; findings are derived from it and never stored.
//! It is written after every round, so that an interrupted run keeps what it had.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{
    Arm, CellId, Condition, ConditionId, Experiment, Fill, Skip, Span,
    beats::Beats,
    calibration::Calibration,
    experiment::Compare,
    pass::{Phases, Tally},
    reading::Value,
};

pub use crate::{
    environment::{CacheKind, CpuCache, Environment, ReclaimScheme},
    reading::Reading,
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
    /// The same of cells whose rounds ended otherwise than those of their condition, by their index in `cells`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cells_ended: BTreeMap<usize, RoundsEnd>,
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
    pub scenarios: BTreeMap<String, Reading<ScenarioResult>>,
    /// What single things cost here, as measured; unit costs are fitted from it by `analysis`.
    #[serde(default = "not_calibrated")]
    pub calibration: Reading<Calibration>,
    /// Passes under tracepoints, made when asked for, apart from the timed ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<crate::counted::Counted>,
    /// How commands reach their files: one execution of each, watched and not timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observations: Vec<crate::observation::Observed>,
    /// Of `faultline advise`: what the command was recorded to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advised: Option<Box<crate::advised::Advised>>,
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
pub struct ScenarioResult {
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

/// Arms that are not there: each with one of its cells that says so. They are left out under every condition, and not only for
/// what was asked of them.
pub fn missing_arms(cells: &[Cell]) -> Vec<usize> {
    let says = |at: &usize| cells[*at].skipped.as_ref().is_some_and(Skip::is_of_the_arm);
    let is_alike = |a: usize, b: usize| cells[a].arm.name == cells[b].arm.name;
    let is_first = |at: &usize| (0..*at).filter(|it| says(it)).all(|it| !is_alike(it, *at));
    let never = |at: &usize| (0..cells.len()).filter(|it| is_alike(*it, *at)).all(|it| cells[it].skipped.is_some());
    (0..cells.len()).filter(|it| says(it) && is_first(it) && never(it)).collect()
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

impl Record {
    pub fn condition_id(&self, condition_index: usize) -> ConditionId {
        ConditionId { condition_index, comparison_index: self.origins.get(condition_index).copied() }
    }

    /// Why no more rounds of a cell were made; unknown of older records.
    pub fn rounds_end(&self, cell: usize) -> Option<RoundsEnd> {
        let of_condition = || self.rounds_ended.get(&self.cells.get(cell)?.condition).copied();
        self.cells_ended.get(&cell).copied().or_else(of_condition)
    }

    /// The comparison of the experiment that a condition is of.
    pub fn origin(&self, condition_index: usize) -> Option<&Compare> {
        self.experiment.comparisons.get(*self.origins.get(condition_index)?)
    }

    /// Whether the passes of a condition read another part of the file in each round.
    pub fn has_moving_windows(&self, condition_index: usize) -> bool {
        let is_of = |it: &Sample| self.cells.get(it.cell).is_some_and(|cell| cell.condition == condition_index);
        self.samples.iter().any(|it| it.window_offset.is_some() && is_of(it))
    }

    /// Of a cell that is there.
    pub fn cell_id(&self, cell: usize) -> Option<CellId> {
        let condition = self.condition_id(self.cells.get(cell)?.condition);
        Some(CellId { condition, cell })
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
    /// Where the window of the pass began, if not where that of its condition does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_offset: Option<u64>,
    pub outcome: Outcome,
    /// Pages of `range` in the page cache before and after the pass.
    pub resident_before: Reading<Resident>,
    pub resident_after: Reading<Resident>,
    /// What probes saw, by name: `user_ns`, `minor_faults`, `device_read_bytes`, `peak_memory_bytes`, …
    pub readings: BTreeMap<String, Reading<f64>>,
    /// How late a second thread was, of conditions that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beats: Option<Box<Beats>>,
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
            Invalid::FoliosChanged { fill, share } => {
                write!(f, "the folios of fill {fill} changed: after the passes, {:.0} % were different", 100.0 * share)
            }
            Invalid::Seen(reason) => f.write_str(reason),
        }
    }
}

impl From<String> for Invalid {
    fn from(reason: String) -> Invalid {
        Invalid::Seen(reason)
    }
}

/// Residency of a window of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resident {
    pub pages: u64,
    pub of: u64,
}

impl Resident {
    /// Of the pages: what is apart by more is another start.
    const ALIKE: f64 = 0.02;

    pub fn share(&self) -> f64 {
        self.pages as f64 / self.of.max(1) as f64
    }

    /// Whether passes that begin with either begin alike.
    pub fn is_like(&self, other: &Resident) -> bool {
        (self.share() - other.share()).abs() <= Resident::ALIKE
    }
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
    /// How much of it the file system allocated, and its size, where these differ: it has holes, or is compressed.
    pub fn allocated(&self) -> Option<[u64; 2]> {
        (self.allocated_bytes < self.bytes).then_some([self.allocated_bytes, self.bytes])
    }

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
    pub fn described(&self) -> String {
        match (&self.files, self.folder_of_test_file()) {
            (Some(files), _) => files.described(),
            (None, Some(folder)) => format!("a test file in {folder}"),
            (None, None) => self.path.clone(),
        }
    }
}

/// The files that the user named for commands.
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

impl Files {
    /// No record keeps more names, and no more of the files in them.
    pub const NAMES_KEPT: usize = 20;

    /// `10000 files of /data/tree, /data/big.log`
    pub fn described(&self) -> String {
        let names: Vec<&str> = self.named.iter().map(|it| it.path.as_str()).collect();
        let more = if self.has_all_names() { "" } else { ", …" };
        format!("{} file{} of {}{more}", self.count, if self.count == 1 { "" } else { "s" }, names.join(", "))
    }

    /// Whether the names are all that were given. Where there are folders the count of files has theirs in it too, so
    /// that a list of the full length may have been a longer one.
    pub fn has_all_names(&self) -> bool {
        match self.folders {
            0 => self.count <= self.named.len() as u64,
            _ => self.named.len() < Files::NAMES_KEPT,
        }
    }
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
    /// It is a file that this kernel reads through its page cache: a loop device without direct I/O. Absent in records of older
    /// versions.
    #[serde(default, skip_serializing_if = "crate::trace::is_false")]
    pub through_page_cache: bool,
}

/// A deep-queue O_DIRECT read of a part of the target: what share of the device a cold cell reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    pub bytes_per_s: f64,
    /// Random 4 KiB reads, deep queue.
    pub random_ops_per_s: Reading<f64>,
    /// How the former was measured: method, request size, depth.
    pub how: String,
    /// The same of the random reads; absent where there is no number of them, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_how: Option<String>,
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
    /// The passes of these pairs where they start cold: what shows that both did. Absent in records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cold: Vec<[ColdPass; 2]>,
    /// Why passes did not count.
    pub invalid: Vec<String>,
}

/// What a pass did that was to start cold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColdPass {
    pub tally: Tally,
    /// Absent where it could not be counted.
    pub device_read_bytes: Option<f64>,
}

impl Confirmation {
    /// So many pairs are made at least, and fewer decide nothing: of equal arms, three pairs agree once in four times.
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
    /// Passes before an earlier look count, although it changed after that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

impl FilledRange {
    /// Whether two sizes of folios, or numbers of pages that a fault maps, are alike: counted at some places, these are means.
    pub fn are_alike(one: f64, other: f64) -> bool {
        const UP_TO: f64 = 1.5;
        one <= other * UP_TO && other <= one * UP_TO
    }

    /// Unless a second look found other folios: what was measured after that does not count, and was measured again after the
    /// next fill of the kind.
    pub fn stayed(&self) -> bool {
        self.looked_again.as_ref().and_then(Reading::value).is_none_or(|it| it.is_the_fill)
    }
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

impl Value for Ceiling {
    fn is_finite(&self) -> bool {
        self.bytes_per_s.is_finite()
    }
}

impl Value for LookedAgain {
    fn is_finite(&self) -> bool {
        self.changed_share.is_finite() && self.pages_per_fault.is_none_or(f64::is_finite)
    }
}

impl Value for Resident {}
impl Value for Device {}
impl Value for FolioOrder {}
impl Value for ScenarioResult {}
