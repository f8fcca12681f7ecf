//! What a command did to its files in one execution that was watched and not timed: which calls, which mappings, which
//! hints, file by file. It says how a command reaches its bytes, never how long that takes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    counted::Bin,
    mapped_runtime::MappedRuntime,
    reading::{Reading, Value},
};

/// How many files an observation lists; the others are only counted.
pub const FILES_MAX: usize = 64;

/// How system calls are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// The kernel's recording of the frequent calls; the rare ones by ptrace.
    Tracepoints,
    /// ptrace(2) with a seccomp filter.
    Ptrace,
}

impl Means {
    /// In the order to try them.
    pub const ALL: &[Means] = &[Means::Tracepoints, Means::Ptrace];

    pub fn word(self) -> &'static str {
        match self {
            Means::Tracepoints => "tracepoints",
            Means::Ptrace => "ptrace",
        }
    }
}

/// What a worker is to trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// The means to try, in this order.
    pub by: Vec<Means>,
    /// Paths of the named files.
    pub named: Vec<String>,
    /// Where the accesses themselves go, beside the counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceTo>,
}

/// A trace that a worker is to write: of the named files, or of all where none is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceTo {
    /// A file that is there, and is overwritten: a descriptor of the controller's.
    pub path: String,
    /// With the pages that are touched through mappings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<ExactTo>,
}

/// How pages are to be seen one by one: every touch of a cold file is a page fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactTo {
    /// As long as that takes at most.
    pub budget_ms: u64,
    pub files: Vec<Coldness>,
}

/// Whether a named file has no page in the page cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coldness {
    pub path: String,
    /// Absent of one that was seen to have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

/// One arm's observed execution, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// The arm's name.
    pub arm: String,
    pub seen: Reading<Observation>,
}

/// One execution, its children and threads included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    pub by: Means,
    pub processes: u64,
    /// Of all processes together.
    pub threads: u64,
    /// Threads, of all processes, that had read or mapped a named file and had not ended: the most at one time. Absent in
    /// records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers_at_once: Option<u64>,
    /// How many of the named files were opened at least once, and what was done to all of them together.
    pub named_opened: u64,
    pub named: Access,
    /// File by file, the named ones first, then by bytes; at most 64.
    pub files: Vec<FileAccess>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_left_out: u64,
    /// Rings that were set up (io_uring, Linux AIO): what was read through them cannot be assigned to files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rings: u64,
    /// Runtimes that its programs execute, as far as they can be told; none in records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runtimes: Vec<MappedRuntime>,
    /// Its time was over before it ended. There is no record of such an execution, but a trace may be kept.
    #[serde(default, skip_serializing_if = "is_false")]
    pub expired: bool,
    /// Why this is less than the truth, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
    /// What else a reader should know: a program ran without rights that it usually has, a means was given up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

impl Value for Observation {}

impl Observation {
    /// Whether files may have been read in ways that were not seen.
    pub fn is_partial(&self) -> bool {
        self.rings > 0 || !self.incomplete.is_empty()
    }
}

/// What was done to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAccess {
    pub path: String,
    pub named: bool,
    #[serde(flatten)]
    pub access: Access,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    pub opens: u64,
    /// Of these, how many allowed writing, and how many went around the page cache (O_DIRECT).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub opens_for_writing: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub opens_direct: u64,
    /// Calls that read, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, Calls>,
    /// Mappings, those of one kind together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mappings: Vec<MappingCount>,
    /// How often each advice was given: `madvise(MADV_RANDOM)`, `posix_fadvise(POSIX_FADV_WILLNEED)`, `readahead`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hints: BTreeMap<String, u64>,
    /// Bytes that were reached under each advice: those that calls delivered from open files that had it, those of the mapping
    /// that it was given for. And those that calls delivered around the page cache (`O_DIRECT`), and to 1 to 31 bytes behind the
    /// beginning of a page. Absent in records of older versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub under: BTreeMap<String, u64>,
    /// The bytes that posix_fadvise(POSIX_FADV_WILLNEED) and readahead(2) named, each once, within the file as it was first seen. Absent without such a call, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead_bytes: Option<u64>,
}

/// Calls of one name on one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    pub count: u64,
    /// Requested, of each call no more than the file had when it was first seen, or than was delivered; for vectors, whose sizes are
    /// not seen, delivered.
    pub asked_bytes: u64,
    /// Delivered.
    pub bytes: u64,
    /// Calls that began where the one before on the same open file had ended, or the one before of the same thread; the first
    /// one, where the file was when it was opened or first seen.
    pub sequential: u64,
    /// Calls whose offset was not seen, so that their order is not known; none of them is among the sequential ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unplaced: u64,
    /// By the requested bytes; each bin holds the sizes from its value, a power of two, up to the next.
    pub sizes: Vec<Bin>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingCount {
    pub shared: bool,
    pub writable: bool,
    pub executable: bool,
    pub populate: bool,
    pub count: u64,
    pub bytes: u64,
}

/// What follows from an arm's observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MechanismFinding {
    /// The arm's name.
    pub arm: String,
    /// Its cells: one execution was watched for all of them.
    #[serde(default)]
    pub cells: Vec<crate::CellId>,
    /// How it reaches the named files, in words; or why that is not known. Reports make the words.
    #[serde(default)]
    pub says: String,
    /// What it does to the named files, without calls and mappings that make up less than a fiftieth of that; absent where it
    /// was not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Held against the first arm's; absent for the first arm itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versus: Option<MechanismComparison>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MechanismComparison {
    /// The first arm's name.
    pub baseline: String,
    pub likeness: Likeness,
    /// Reports make the words.
    #[serde(default)]
    pub says: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<AccessDifference>,
    /// Why the likeness is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<UnknownLikeness>,
}

/// In what two accesses differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessDifference {
    /// One reads what the other maps.
    Kind,
    /// How much is mapped, in how many mappings, how.
    Mappings,
    /// Which calls read how often, in blocks of what size, in what order.
    Calls,
    /// One goes around the page cache.
    Direct,
    Hints,
    /// How many threads that had read or mapped a named file were alive at once.
    Readers,
    /// How often they open the named files.
    Opens,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownLikeness {
    /// One of the two could not be observed.
    NotObserved,
    /// Of one arm, by its name, not all was seen.
    Incomplete { arm: String, reason: String },
    /// What an arm reads through its rings cannot be assigned to files.
    Ring { arm: String },
    /// Neither reads nor maps a named file.
    Idle,
}

/// Whether two arms reach their files in the same way, whatever their times say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Likeness {
    Identical,
    Different,
    /// One of them could not be observed, or not all of it.
    Unknown,
}

fn is_false(it: &bool) -> bool {
    !it
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Calls {
    /// Of those whose offset was seen; `None` where that is unknown of more than one in twenty.
    pub fn share_in_order(&self) -> Option<f64> {
        let placed = self.count.saturating_sub(self.unplaced).max(1);
        (self.unplaced <= self.count / 20).then(|| self.sequential as f64 / placed as f64)
    }
}

/// Whether a call has the kernel hand bytes to another descriptor, without a copy for the program.
fn hands_on(call: &str) -> bool {
    matches!(call, "sendfile" | "splice" | "copy_file_range")
}

impl Access {
    /// Whether files were opened as often as calls read them: each read is then the first one of an opening, and whether it begins
    /// where another one ended is not counted.
    pub fn opens_for_each_call(&self) -> bool {
        self.opens > 1 && self.read_calls() > 1 && self.opens >= self.read_calls()
    }

    /// Bytes that calls delivered.
    pub fn read_bytes(&self) -> u64 {
        self.calls.values().map(|it| it.bytes).fold(0, u64::saturating_add)
    }

    /// Of these, what the kernel handed to another descriptor: sendfile(2), splice(2), copy_file_range(2).
    pub fn handed_on_bytes(&self) -> u64 {
        self.calls.iter().filter(|it| hands_on(it.0)).map(|it| it.1.bytes).fold(0, u64::saturating_add)
    }

    /// The key of `under` for what goes around the page cache.
    pub const DIRECT: &str = "O_DIRECT";

    /// The key of `under` for what calls copied to a place right behind the beginning of a page.
    pub const BEHIND_PAGE: &str = "buffer behind a page";

    /// An opening with O_DIRECT, or one that was given it. Nothing may be read through it.
    pub fn turn_direct(&mut self) {
        self.opens_direct += 1;
        self.count_under(Access::DIRECT, 0);
    }

    /// Whether calls read around the page cache; of records of older versions, whether a file was opened so.
    pub fn goes_around(&self) -> bool {
        self.under.get(Access::DIRECT).map_or(self.opens_direct > 0, |it| *it > 0)
    }

    /// That calls delivered and mappings cover, each as often as it was made.
    pub fn reached_bytes(&self) -> u64 {
        self.read_bytes().saturating_add(self.mapped_bytes())
    }

    /// It is a program or a library, which is mapped to be executed, and no data.
    pub fn is_code(&self) -> bool {
        self.mappings.iter().any(|it| it.executable)
    }

    /// Whether calls copy what they read to the program, out of the page cache.
    pub fn copies(&self) -> bool {
        !self.goes_around() && !self.calls.keys().any(|it| hands_on(it))
    }

    pub fn read_calls(&self) -> u64 {
        self.calls.values().map(|it| it.count).fold(0, u64::saturating_add)
    }

    pub fn mapped_bytes(&self) -> u64 {
        self.mappings.iter().map(|it| it.bytes).fold(0, u64::saturating_add)
    }

    /// One call that read.
    pub fn count_call(&mut self, name: &str, asked: u64, delivered: u64, sequential: bool) {
        self.add_call(name, asked, delivered, Some(sequential));
    }

    /// One call that read at an offset that was not seen.
    pub fn count_unplaced(&mut self, name: &str, asked: u64, delivered: u64) {
        self.add_call(name, asked, delivered, None);
    }

    fn add_call(&mut self, name: &str, asked: u64, delivered: u64, sequential: Option<bool>) {
        let calls = match self.calls.get_mut(name) {
            Some(calls) => calls,
            None => self.calls.entry(name.to_string()).or_default(),
        };
        calls.count += 1;
        calls.asked_bytes = calls.asked_bytes.saturating_add(asked);
        calls.bytes = calls.bytes.saturating_add(delivered);
        calls.sequential += u64::from(sequential == Some(true));
        calls.unplaced += u64::from(sequential.is_none());
        add_to(&mut calls.sizes, Bin { value: power_below(asked), events: 1 });
    }

    /// Bytes that were reached under an advice, or around the page cache.
    pub fn count_under(&mut self, what: &str, bytes: u64) {
        let known = match self.under.get_mut(what) {
            Some(known) => known,
            None => self.under.entry(what.to_string()).or_default(),
        };
        *known = known.saturating_add(bytes);
    }

    /// A mapping, or several of one kind.
    pub fn count_mapping(&mut self, one: &MappingCount) {
        let kind = |it: &MappingCount| (it.shared, it.writable, it.executable, it.populate);
        match self.mappings.iter_mut().find(|it| kind(it) == kind(one)) {
            Some(known) => {
                known.count = known.count.saturating_add(one.count);
                known.bytes = known.bytes.saturating_add(one.bytes);
            }
            None => self.mappings.push(one.clone()),
        }
    }

    pub fn count_ahead(&mut self, bytes: u64) {
        self.ahead_bytes = Some(self.ahead_bytes.unwrap_or(0).saturating_add(bytes));
    }

    /// Both together.
    pub fn add(&mut self, other: &Access) {
        self.opens = self.opens.saturating_add(other.opens);
        self.opens_for_writing = self.opens_for_writing.saturating_add(other.opens_for_writing);
        self.opens_direct = self.opens_direct.saturating_add(other.opens_direct);
        for (name, theirs) in &other.calls {
            let calls = self.calls.entry(name.clone()).or_default();
            calls.count = calls.count.saturating_add(theirs.count);
            calls.asked_bytes = calls.asked_bytes.saturating_add(theirs.asked_bytes);
            calls.bytes = calls.bytes.saturating_add(theirs.bytes);
            calls.sequential = calls.sequential.saturating_add(theirs.sequential);
            calls.unplaced = calls.unplaced.saturating_add(theirs.unplaced);
            theirs.sizes.iter().for_each(|&bin| add_to(&mut calls.sizes, bin));
        }
        other.mappings.iter().for_each(|it| self.count_mapping(it));
        for (hint, times) in &other.hints {
            let known = self.hints.entry(hint.clone()).or_default();
            *known = known.saturating_add(*times);
        }
        other.under.iter().for_each(|(what, bytes)| self.count_under(what, *bytes));
        other.ahead_bytes.into_iter().for_each(|bytes| self.count_ahead(bytes));
    }
}

/// The largest power of two that is not larger; 0 for 0.
fn power_below(bytes: u64) -> u64 {
    bytes.checked_ilog2().map_or(0, |log| 1 << log)
}

fn add_to(bins: &mut Vec<Bin>, one: Bin) {
    match bins.binary_search_by_key(&one.value, |bin| bin.value) {
        Ok(at) => bins[at].events = bins[at].events.saturating_add(one.events),
        Err(at) => bins.insert(at, one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_one_name_are_one_entry_with_its_sizes_in_powers_of_two() {
        let mut access = Access::default();
        access.count_call("read", 4096, 4096, true);
        access.count_call("read", 5000, 904, true);
        access.count_call("read", 65_536, 0, false);
        access.count_call("pread64", 0, 0, false);
        let bins = |name: &str| -> Vec<(u64, u64)> {
            access.calls[name].sizes.iter().map(|bin| (bin.value, bin.events)).collect()
        };
        assert_eq!(bins("read"), [(4096, 2), (65_536, 1)]);
        assert_eq!(bins("pread64"), [(0, 1)]);
        assert_eq!((access.calls["read"].count, access.calls["read"].sequential), (3, 2));
        assert_eq!((access.read_bytes(), access.read_calls()), (5000, 4));
    }

    #[test]
    fn two_accesses_together_are_what_one_would_have_counted() {
        let mut parts = [Access::default(), Access::default()];
        let mut whole = Access::default();
        for (at, size) in [1u64, 4096, 4097, 70_000, 1].into_iter().enumerate() {
            for access in [&mut parts[at % 2], &mut whole] {
                access.count_call("read", size, size, at % 3 == 0);
                access.count_mapping(&MappingCount {
                    shared: size == 1,
                    count: 1,
                    bytes: size,
                    ..MappingCount::default()
                });
                *access.hints.entry("readahead".into()).or_default() += 1;
                access.count_under("readahead", size);
                access.opens += 1;
            }
        }
        let [mut sum, other] = parts;
        sum.add(&other);
        sum.mappings.sort_by_key(|it| it.shared);
        whole.mappings.sort_by_key(|it| it.shared);
        assert_eq!(sum, whole);
    }
}
