//! What `faultline inspect` sees at one moment, of a file or of a process. Nothing is measured, so this is no record.

use serde::{Deserialize, Serialize};

use crate::{
    Fill,
    reading::{Reading, Value},
    record::FolioOrder,
    unit_cost::FaultCost,
};

pub use crate::mapped_runtime::MappedRuntime;

/// What `faultline inspect --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inspection {
    File(Box<FileView>),
    Process(Box<ProcessView>),
}

/// Where the pages of a file are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileView {
    pub path: String,
    pub bytes: u64,
    pub page_bytes: u64,
    pub file_system: String,
    /// Its pages can leave memory and be read again: it has another place than the page cache.
    pub can_be_evicted: bool,
    pub residency: Reading<Residency>,
    /// The share that is resident of each of so many equal stretches of the file, 0 to 1.
    pub stretches: Reading<Vec<f64>>,
    /// Resident pages by folio size, with root.
    pub folio_orders: Reading<Vec<FolioOrder>>,
    /// Pages that one fault maps, as the mean over some places; for any user to whom the kernel reports the residency.
    pub pages_per_fault: Reading<f64>,
    /// What that means for mappings of it here, by the unit costs of a saved run.
    pub faults: Reading<FaultView>,
    /// Processes that have it mapped, as far as this user may look: `4711 (mongod)`.
    pub mapped_by: Vec<String>,
}

/// A fault on the folios that a file has, and on those that it would have, with the unmapping of what it maps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultView {
    /// The run whose unit costs these are.
    pub run: String,
    /// The file that it measured, where that is another one: how much a fault maps after it was read in order depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<OtherFile>,
    /// What it costs after this fill, whose faults map as much as here.
    pub like: Fill,
    pub here: FaultCost,
    /// After a file of the run was evicted and read once in ascending order; where none can be evicted, as it was written.
    pub in_order: FaultCost,
}

/// A file that was measured instead of the one that is asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherFile {
    pub path: String,
    pub bytes: u64,
}

impl Value for FaultView {
    fn is_finite(&self) -> bool {
        [self.here, self.in_order].iter().all(|it| it.pages.is_finite() && it.ns.is_finite())
    }
}

/// Pages of a file, by what the page cache says of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Residency {
    /// `cachestat` or `mincore`.
    pub asked: String,
    pub pages: u64,
    pub resident: u64,
    /// The rest is reported only by cachestat(2) (Linux 6.5).
    pub dirty: Reading<u64>,
    pub under_writeback: Reading<u64>,
    /// Were resident before, and still have a shadow entry in the kernel.
    pub evicted: Reading<u64>,
    /// … so recently that reading them now would count as a refault of the working set.
    pub recently_evicted: Reading<u64>,
}

impl Value for Residency {}

/// What a process has mapped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessView {
    pub pid: u32,
    pub command: String,
    /// The thread of it that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    pub page_bytes: u64,
    /// Why nothing is mapped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_memory: Option<WithoutMemory>,
    /// Whose code is mapped.
    pub runtimes: Vec<MappedRuntime>,
    /// What was counted during `--for`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
    /// Those that are mapped without advice and may cost something because of it come first: of them, those whose places lie
    /// apart; of those, the largest cost.
    pub files: Vec<MappedFile>,
    pub mappings: Vec<MappingView>,
}

/// Why a process has no mappings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WithoutMemory {
    /// A thread of the kernel.
    Kernel,
    /// It has ended, and its parent has not asked how.
    Zombie,
    /// It is about to end.
    Ending,
}

/// What was given to madvise(2) for a mapping, as far as the kernel shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MappingAdvice {
    Random,
    Sequential,
    Hugepage,
    Nohugepage,
    Dontdump,
}

/// What happened to a process while it was watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    pub asked_s: f64,
    pub elapsed_s: f64,
    /// Why it was watched for less than that.
    pub ended: Option<WatchEnd>,
    /// Of all its threads, those that ended meanwhile too.
    pub minor_faults: u64,
    pub major_faults: u64,
    pub reads: Reading<WatchedReads, Unlooked>,
    /// Children of it ended meanwhile: all that they ever read is in `reads`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub children_ended: bool,
    /// On average, where next to nothing was read by calls, and no more than so many faults can read.
    pub device_bytes_per_major_fault: Option<f64>,
    /// Threads that lived all the time and took faults, the most major ones first.
    pub threads: Vec<ThreadFaults>,
    /// By their addresses.
    pub new_mappings: u64,
    pub gone_mappings: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchEnd {
    Interrupted,
    ProcessEnded,
}

/// From /proc/PID/io, with all that children ever read that ended meanwhile (kernel/exit.c, wait_task_zombie).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedReads {
    /// By calls and by faults, read-ahead included.
    pub device_bytes: u64,
    pub read_calls: u64,
    /// What calls returned, from wherever.
    pub read_call_bytes: u64,
}

impl Value for WatchedReads {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadFaults {
    pub tid: u32,
    pub name: String,
    pub minor_faults: u64,
    pub major_faults: u64,
}

/// A file that a process has mapped, all mappings of it together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MappedFile {
    pub name: String,
    /// `254:0`
    pub device: String,
    pub inode: u64,
    /// A part of it may be executed.
    pub is_code: bool,
    pub mappings: u64,
    pub bytes: u64,
    /// Of them, in mappings with neither MADV_RANDOM nor MADV_SEQUENTIAL; `null` where the advice of one is not known.
    pub unadvised_bytes: Option<u64>,
    /// Of these, in the page table of this process, without copies of its own.
    pub unadvised_resident_bytes: Option<u64>,
    /// Of any of its mappings; `null` where that of one is not known.
    pub advice: Option<Vec<MappingAdvice>>,
    /// In the page table of this process: pages of the file, without copies of its own.
    pub resident_bytes: u64,
    pub file_bytes: Reading<u64, Unlooked>,
    /// In the page cache, whichever process read it.
    pub residency: Reading<Residency, Unlooked>,
    pub folio_orders: Reading<Vec<FolioOrder>, Unlooked>,
    pub pages_per_fault: Reading<f64, Unlooked>,
    /// The largest window of read-ahead of its file system.
    pub read_ahead_bytes: Reading<u64, Unlooked>,
    /// The whole disk that it lies on: `vda`; absent where there is no single one, or where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Where the process has pages of it in its page table, of its mappings without advice; nothing is asked of code, of
    /// memory, and of what has advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<Reading<Places, Unlooked>>,
    /// With `--for`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meanwhile: Option<FileMeanwhile>,
    /// Where its advice is a question, or not known; nothing is asked of code, of memory, of less than 1 MiB, or of what has advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<AdviceCost>,
    /// What the places say of the order of its accesses; absent where they say nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<PlacePattern>,
    /// What a miss takes, by the unit costs of a saved run; where its advice is a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss: Option<Reading<MissCost>>,
}

impl MappedFile {
    /// What one miss can read ahead, at most: nothing lies behind the end of a file. Where a mapping has MADV_HUGEPAGE, it is another
    /// window (`do_sync_mmap_readahead` in mm/filemap.c), which is not known.
    pub fn window_bytes(&self) -> Option<u64> {
        let file_bytes = self.file_bytes.value().copied().unwrap_or(u64::MAX);
        self.read_ahead_bytes.value().map(|it| (*it).min(file_bytes)).filter(|_| !self.is_huge())
    }

    /// Whether a mapping of it has MADV_HUGEPAGE.
    pub fn is_huge(&self) -> bool {
        self.advice.iter().flatten().any(|it| *it == MappingAdvice::Hugepage)
    }
}

/// A fault maps so much around its place of files whose folios are small, as far as it is in the page cache (`fault_around_bytes` of
/// mm/memory.c, unless it was changed).
pub const FAULT_AROUND_BYTES: u64 = 64 << 10;

/// So many pages at most, of folios of which one fault was seen to map so many.
pub fn fault_pages(page_bytes: u64, pages_per_fault: Option<f64>) -> u64 {
    let around = (FAULT_AROUND_BYTES / page_bytes.max(1)).max(1);
    pages_per_fault.map_or(around, |it| around.max(it.ceil() as u64))
}

/// What one fault maps at most, where the folios of a file are not known: a PMD of 2 MiB (mm/filemap.c, `filemap_map_pages`).
pub const FAULT_MOST_BYTES: u64 = 2 << 20;

/// Pages of a file in the page table of a process, as runs of pages that follow each other. The order in which they came is
/// not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    pub pages: u64,
    pub places: u64,
    /// Of them, those with no more pages than one fault maps.
    pub short: u64,
    /// So many: those that the kernel maps around a fault, or those of a folio where they are more.
    pub fault_pages: u64,
}

impl Value for Places {}

/// Whether the places at which a file was touched lie apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacePattern {
    pub shape: Shape,
    pub places: u64,
    pub bytes: u64,
    /// Of what came while the process was watched; otherwise of all that it has mapped since its beginning.
    pub meanwhile: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Many places, nearly all of them no larger than what one fault maps.
    Apart,
    /// Much, in few places.
    Together,
}

/// What the device takes for a miss, one at a time, by the unit costs of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MissCost {
    pub run: String,
    /// What read-ahead brings in at most.
    pub window_bytes: u64,
    /// With all of that.
    pub window_ns: f64,
    /// Of one page, as with MADV_RANDOM.
    pub page_ns: f64,
}

impl Value for MissCost {
    fn is_finite(&self) -> bool {
        self.window_ns.is_finite() && self.page_ns.is_finite()
    }
}

/// How a file was before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileMeanwhile {
    /// How many more bytes of it are in the page cache, whichever process read them; below 0 where it lost some.
    pub cached_more_bytes: Reading<i64, Unlooked>,
    /// How many more the process has mapped.
    pub mapped_more_bytes: Reading<i64, Unlooked>,
    /// How many more are in the page cache and not mapped by the process. Whether they were mapped in between is not known.
    pub unmapped_more_bytes: Reading<u64, Unlooked>,
    /// The places of pages that were not mapped before; asked of what `places` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_places: Option<Reading<Places, Unlooked>>,
}

/// What a file that is mapped without advice may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdviceCost {
    /// While it was watched, so many bytes came into the page cache that the process does not have mapped.
    Counted { unmapped_bytes: u64 },
    /// It was watched, and no more came in than the process mapped.
    CountedNothing,
    /// So many bytes are mapped without advice and not in the page cache, at most: each of their pages may be a miss.
    NotCached { bytes: u64 },
    /// What is in the page cache is not known; so many bytes are mapped without advice and not in the page table of the process,
    /// at most.
    NotMapped { bytes: u64 },
    /// The kernel does not show whether it is mapped without advice.
    AdviceUnknown,
}

/// Why something is not known of a file that a process has mapped, or of the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unlooked {
    /// It is memory with a name: nothing is read ahead.
    Memory,
    /// Nothing that can be reached by its name is the mapped file.
    Gone,
    /// A device or a pipe, which is not opened.
    NotRegular,
    /// It could wait for a server.
    Network { file_system: String },
    /// The kernel tells only its owner, and those who may write to it.
    Stranger,
    /// So many files, those with the largest mappings, are looked at.
    NotAmongLargest { files: u64 },
    /// It has more pages in the page cache than are looked at.
    TooManyPages { pages: u64, most: u64 },
    /// It has more pages mapped without advice than page tables are looked at.
    TooLargeMapping { pages: u64, most: u64 },
    /// Folio sizes are shown to root alone; what the kernel said.
    NoFolios { error: String },
    /// A fault was tried at some places of it only.
    NoPlaceCached,
    /// It was mapped while the process was watched.
    MappedMeanwhile,
    /// A mapping of it had other advice before, and was not looked at.
    AdvisedMeanwhile,
    /// A mapping of it went meanwhile, and with it what was mapped by that.
    UnmappedMeanwhile,
    /// Several of its mappings have the same part of it, so that a page is in the page table more than once.
    MappedTwice,
    /// The page cache was asked after the process was watched, and gave no answer before.
    NotAskedBefore,
    /// What the kernel said.
    Refused { error: String },
    /// In words.
    #[serde(untagged)]
    Text(String),
}

/// One mapping. Bytes are of the page table: a page can be in the page cache and not be resident here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingView {
    /// A path, `[heap]`, or nothing for anonymous memory.
    pub name: String,
    /// Of a file, and not of anonymous memory.
    pub is_file: bool,
    /// `254:0`
    pub device: String,
    pub inode: u64,
    pub addresses: String,
    pub offset: u64,
    pub bytes: u64,
    /// `rw-`
    pub protection: String,
    pub shared: bool,
    /// `null` of a kernel that does not show it.
    pub advice: Option<Vec<MappingAdvice>>,
    pub resident_bytes: u64,
    /// Of them, pages that are marked as accessed; on x86 those too that were mapped around a fault.
    pub referenced_bytes: u64,
    /// Of them, copies of the process's own.
    pub anonymous_bytes: u64,
    pub dirty_bytes: u64,
    pub locked_bytes: u64,
    pub huge_bytes: u64,
    /// Of them, pages of a file.
    pub file_huge_bytes: u64,
    pub swapped_bytes: u64,
}
