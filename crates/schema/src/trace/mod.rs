//! A trace: which bytes of which files a program read, in its order (docs/FORMATS.md, "Traces"). One JSON line, then blocks of
//! columns. It is written and read as a stream, and whoever reads one trusts nothing in it.

mod columns;
mod exact;
mod read;
mod threads;
mod write;

use std::fmt;

use serde::{Deserialize, Serialize};

use exact::REASON_LEFT_OUT;
pub use exact::{Exact, Inexact};
pub use read::Reader;
pub use threads::{Overlaps, REPLAY_THREADS_MAX, ReplayThreads};
pub use write::{Body, Writer};

use crate::{Bytes, Span, leftover::FileIdentity, observation};

/// Written by this version; it reads all up to it.
pub const VERSION: u32 = 3;
/// From this one on, a column whose runs all have one number holds it once.
const VERSION_OF_CONSTANTS: u32 = 3;
/// Of a whole trace, with its header.
pub const BYTES_MAX: u64 = 64 << 20;
pub const ACCESSES_MAX: u64 = 10_000_000;
/// As of a block: one access is one buffer of a worker.
pub const ACCESS_BYTES_MAX: u64 = 1 << 30;
pub const FILES_MAX: usize = 10_000;

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub trace_version: u32,
    /// What saw the accesses: `strace`, `fio iolog`, `ptrace`, `tracepoints`.
    pub recorder: String,
    /// Of every block, in their order. A later version may have more of them.
    pub columns: Vec<String>,
    /// The share of the accesses that the recorder knows of and the trace has, where it was meant to have them.
    #[serde(default = "all", skip_serializing_if = "is_all")]
    pub coverage: f64,
    /// So many accesses it lacks that may be of any of its files; what else it lacks is in `files[].missing`. Absent where that is not
    /// known by file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_any_file: Option<u64>,
    #[serde(default, skip_serializing_if = "NotSeen::is_empty")]
    pub not_seen: NotSeen,
    /// Of a program that faultline ran; absent in what was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RecordedRun>,
    /// Accesses name them by their place, from 0.
    pub files: Vec<TracedFile>,
    #[serde(default, skip_serializing_if = "LeftOut::is_empty")]
    pub left_out: LeftOut,
}

/// The execution that was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedRun {
    /// The program and its arguments. They are shown, and never executed.
    pub command: Vec<String>,
    /// From its start to its end, slowed by the recorder.
    pub wall_ns: u64,
    /// Threads of all processes.
    pub threads: u64,
    /// All bytes that calls copied and pages that were touched, also those that are left out of the trace.
    pub bytes: u64,
    /// What else a reader should know of it, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Ways to reach files that the recorder met and cannot see into. How many accesses of which file were made by them is not known,
/// so the coverage does not count them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotSeen {
    /// Rings that were set up (io_uring, Linux AIO): what was read through them cannot be assigned to files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rings: u64,
    /// Why else the trace may lack accesses, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
}

impl NotSeen {
    pub fn is_empty(&self) -> bool {
        *self == NotSeen::default()
    }

    /// Of a program that was watched.
    pub fn of(seen: &observation::Observation) -> NotSeen {
        NotSeen { rings: seen.rings, incomplete: seen.incomplete.clone() }
    }

    /// That there is a reason stays.
    fn redacted(self) -> NotSeen {
        NotSeen { incomplete: self.incomplete.iter().map(|_| REASON_LEFT_OUT.to_string()).collect(), ..self }
    }
}

/// What it is that was not seen.
impl fmt::Display for NotSeen {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let rings = (self.rings > 0).then_some("reads through io_uring or Linux AIO");
        let all: Vec<&str> = rings.into_iter().chain(self.incomplete.iter().map(String::as_str)).collect();
        f.write_str(&all.join("; "))
    }
}

/// A file that a program read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TracedFile {
    /// As the recorder saw it. It is shown and compared, and never opened.
    pub path: String,
    /// So many mappings of it were made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mappings: u64,
    /// The thread that made the first of them, by the number that its accesses have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapped_by: Option<u32>,
    /// When it was reached for the first time, and for the last, some milliseconds more or less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached_ns: Option<[u64; 2]>,
    /// When it was first opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<FileIdentity>,
    /// The share of its pages that was in the page cache when it was first opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident_before: Option<f64>,
    /// Where these pages were, in bytes, in ascending order; empty where none or all of them were, or they were in too many places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<Span>,
    /// It was evicted for the recording, as far as that could be: what was in the page cache is not what was found there.
    #[serde(default, skip_serializing_if = "is_false")]
    pub evicted: bool,
    /// Whether the pages that were touched through mappings are among the accesses, but for those of `small_mappings`.
    #[serde(default, skip_serializing_if = "Exact::is_none")]
    pub exact: Exact,
    /// Why they are not, although that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inexact: Option<Inexact>,
    /// Touches that may be missing nevertheless: of pages that were in the page cache without an access, or that came into
    /// another page table together with the page beside them. They lower the coverage as if all of them were made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unseen_touches: u64,
    /// Accesses of it that the trace lacks: at offsets that were not seen, in mappings that are too small, after the trace was full, and
    /// `unseen_touches`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing: u64,
    /// How it was opened, read, mapped and advised. Absent in what was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<observation::Access>,
}

impl TracedFile {
    /// Why the accesses do not have all that was read through mappings; nothing where they do, and of what was mapped as code.
    /// `touched`: how many of them are touches. Without the pages there are some only of what counts as touched whole.
    pub fn unseen(&self, touched: u64) -> Option<Unseen<'_>> {
        let is_code = self.counts.as_ref().is_some_and(observation::Access::is_code);
        if self.mappings == 0 || !self.exact.is_none() || is_code {
            return None;
        }
        match &self.inexact {
            Some(why) => Some(Unseen::Unknown(why)),
            None => (touched == 0).then_some(Unseen::NotAsked),
        }
    }
}

/// What the recorder saw and the trace does not have. Where files were asked for, all but `other_files` is of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Reads that began at the end of the file or beyond it, and gave no byte.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_end: u64,
    /// Reads at offsets that were not seen, as at the position of a descriptor that was opened before; they lower the coverage.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_offset: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub writes: u64,
    /// Reads of other files than those that were asked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_files: u64,
    /// Calls, touches and mappings beyond what a trace holds; they lower its coverage. Writes are among them where they move
    /// what is read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub beyond_limit: u64,
    /// Mappings that are too small for their pages to be seen one by one, of files whose pages are. Their pages lower the
    /// coverage as if all of them were touched.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub small_mappings: u64,
}

impl LeftOut {
    pub fn is_empty(&self) -> bool {
        *self == LeftOut::default()
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

pub(crate) fn is_false(it: &bool) -> bool {
    !it
}

fn all() -> f64 {
    1.0
}

fn is_all(share: &f64) -> bool {
    *share == 1.0
}

impl Header {
    /// Of a trace that has everything.
    pub fn new(recorder: &str, files: Vec<TracedFile>, left_out: LeftOut) -> Header {
        let columns = columns::of(VERSION).iter().map(|it| it.name.to_string()).collect();
        let recorder = recorder.into();
        let not_seen = NotSeen::default();
        let of_any_file = None;
        Header {
            trace_version: VERSION,
            recorder,
            columns,
            coverage: 1.0,
            of_any_file,
            not_seen,
            run: None,
            files,
            left_out,
        }
    }

    /// With the coverage of a trace that has so many accesses and lacks so many.
    pub fn lacking(self, kept: u64, missing: u64) -> Header {
        Header { coverage: covered(kept, missing), ..self }
    }

    /// Without what could tell whose it is: files are called by their numbers, from 1, and the command and every sentence are
    /// left out. What was counted stays.
    pub fn redacted(self) -> Header {
        let file = |(place, it): (usize, TracedFile)| TracedFile {
            path: (place + 1).to_string(),
            identity: None,
            inexact: it.inexact.map(Inexact::redacted),
            ..it
        };
        let run = self.run.map(|it| RecordedRun { command: Vec::new(), notes: Vec::new(), ..it });
        let not_seen = self.not_seen.redacted();
        Header { files: self.files.into_iter().enumerate().map(file).collect(), not_seen, run, ..self }
    }

    /// `coverage_of` some of its files; `files` has of each file how many accesses the trace has, and whether it is meant.
    pub fn coverage_of(&self, files: impl Iterator<Item = (u64, bool)>) -> f64 {
        let files = self.files.iter().zip(files).map(|(file, (kept, is_meant))| (file, kept, is_meant));
        coverage_of((self.coverage, self.of_any_file), files)
    }

    /// Whether this version reads what follows it.
    fn check(&self) -> Result<(), Refused> {
        if !(1..=VERSION).contains(&self.trace_version) {
            return Err(Refused::Version { found: self.trace_version });
        }
        let known = columns::of(self.trace_version);
        if let Some(unknown) = self.columns.iter().find(|it| !known.iter().any(|known| known.name == it.as_str())) {
            return Err(Refused::Column { name: unknown.clone() });
        }
        if !self.columns.iter().eq(known.iter().map(|it| it.name)) {
            return Err(Refused::Header { why: "its columns are not those of its version".into() });
        }
        let shares = self.files.iter().filter_map(|it| it.resident_before).chain([self.coverage]);
        if let Some(wrong) = { shares }.find(|it| !(0.0..=1.0).contains(it)) {
            return Err(Refused::Header { why: format!("{wrong} is no share; expected 0 to 1") });
        }
        match self.files.len() {
            1..=FILES_MAX => Ok(()),
            found => Err(Refused::Header { why: format!("it names {found} files; expected 1 to {FILES_MAX}") }),
        }
    }
}

/// The share of the accesses that a trace has, which lacks so many. It is never all where it lacks one, and rounded down.
fn covered(kept: u64, missing: u64) -> f64 {
    const DIGITS: f64 = 1e6;
    let share = kept as f64 / (kept as f64 + missing as f64);
    if missing > 0 { (share * DIGITS).floor().min(DIGITS - 1.0) / DIGITS } else { 1.0 }
}

/// The coverage of the files that are meant, of which a trace has so many accesses each. `all`: that of the whole trace, which it is where
/// what the trace lacks is not known by file. Of all files it is no more than that: a trace may be of another program, or edited.
fn coverage_of<'f>(
    (all, of_any_file): (f64, Option<u64>),
    files: impl Iterator<Item = (&'f TracedFile, u64, bool)>,
) -> f64 {
    let Some(of_any_file) = of_any_file else { return all };
    let (mut kept, mut missing, mut is_whole) = (0u64, of_any_file, true);
    for (file, of_file, is_meant) in files {
        is_whole &= is_meant;
        if is_meant {
            kept = kept.saturating_add(of_file);
            missing = missing.saturating_add(file.missing);
        }
    }
    let most = if is_whole { all } else { 1.0 };
    covered(kept, missing).min(most)
}

/// How a program came to the bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Via {
    /// A call copied them.
    #[default]
    Call,
    /// It touched them in a mapping; the length is that of what is seen, a page.
    Mapping,
}

/// Bytes that were read together, of a file of the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Access {
    pub file: u32,
    pub offset: u64,
    pub bytes: u64,
    /// By the order of their first accesses and mappings, from 0.
    pub thread: u32,
    pub via: Via,
}

impl Access {
    /// By a call of the first thread.
    pub fn call(file: u32, offset: u64, bytes: u64) -> Access {
        Access { file, offset, bytes, ..Access::default() }
    }

    /// No sum of what it says overflows, and a file may be so large.
    fn is_possible(&self) -> bool {
        let ends = self.offset.checked_add(self.bytes).is_some_and(|end| end <= i64::MAX as u64);
        ends && self.has_a_length()
    }

    fn has_a_length(&self) -> bool {
        (1..=ACCESS_BYTES_MAX).contains(&self.bytes)
    }
}

/// The accesses of one file of a trace, or of all its files, as the condition of a replay has them: what they are follows from the digest.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Traced {
    /// Of the trace.
    pub digest: String,
    /// Its place in the table of files.
    pub file: u32,
    pub accesses: u64,
    /// Repetitions counted.
    pub bytes: u64,
    pub longest_bytes: u64,
    /// The file has at least so many bytes; of several the largest.
    pub end_bytes: u64,
    /// So many files: more than one are all that the trace has accesses of, and `file` is 0.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub files: u32,
    /// So many make these accesses at once (`Overlaps`).
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub threads: u32,
    /// What the program took before the first of them and after the last one; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around_ns: Option<u64>,
}

pub(crate) fn one() -> u32 {
    1
}

pub(crate) fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Traced {
    /// No access of the file at that place.
    pub fn none(file: u32) -> Traced {
        Traced {
            digest: String::new(),
            file,
            accesses: 0,
            bytes: 0,
            longest_bytes: 0,
            end_bytes: 0,
            files: 1,
            threads: 1,
            around_ns: None,
        }
    }

    /// So many digits distinguish the traces that anybody has.
    const DIGITS: usize = 12;

    pub fn short(&self) -> &str {
        self.digest.get(..Traced::DIGITS).unwrap_or(&self.digest)
    }

    pub fn is_of_several(&self) -> bool {
        self.files > 1
    }
}

/// What `faultline trace show` says of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub digest: String,
    pub recorder: String,
    pub coverage: f64,
    pub of_any_file: Option<u64>,
    pub not_seen: NotSeen,
    pub run: Option<RecordedRun>,
    /// In the order of the table.
    pub files: Vec<FileSummary>,
    pub left_out: LeftOut,
}

impl Summary {
    /// Of the files that are meant.
    pub fn coverage_of(&self, is_meant: impl Fn(&TracedFile) -> bool) -> f64 {
        let files = self.files.iter().map(|it| (&it.file, it.accesses, is_meant(&it.file)));
        coverage_of((self.coverage, self.of_any_file), files)
    }
}

/// Of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSummary {
    pub file: TracedFile,
    pub accesses: u64,
    /// Of these, pages that were touched through mappings.
    pub touched: u64,
    pub threads: u64,
    /// Repetitions counted.
    pub bytes: u64,
    /// In which a byte lies that was read; `page_bytes` each.
    pub distinct_pages: u64,
    pub page_bytes: u64,
    /// Accesses that begin where the one before them ended: of the same thread, or of all in the order of the trace, whichever are
    /// more.
    pub in_order: u64,
    /// The file has at least so many bytes.
    pub end_bytes: u64,
    /// Lengths and how many accesses have them, the most frequent first.
    pub sizes: Vec<(u64, u64)>,
}

impl FileSummary {
    /// Of the pages in which a byte lies that was read.
    pub fn touched_bytes(&self) -> u64 {
        let file_bytes = self.file.bytes.map_or(u64::MAX, |it| it.max(self.end_bytes));
        bytes_of_pages(self.distinct_pages, self.page_bytes, file_bytes)
    }
}

/// Why pages that were touched through mappings are not among the accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen<'a> {
    NotAsked,
    /// Not all of them are.
    Unknown(&'a Inexact),
}

/// What so many pages have of files: the last page of a file goes beyond its end.
pub fn bytes_of_pages(pages: u64, page_bytes: u64, file_bytes: u64) -> u64 {
    pages.saturating_mul(page_bytes).min(file_bytes)
}

/// Why something is no trace, or is none that can be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    Unreadable {
        why: String,
    },
    NotATrace,
    Version {
        found: u32,
    },
    Header {
        why: String,
    },
    Column {
        name: String,
    },
    TooLarge,
    TooMany,
    /// It ends within a block, or before the block that says that it is the last.
    CutOff {
        accesses: u64,
    },
    /// After so many accesses there is something that no trace has.
    Damaged {
        accesses: u64,
    },
    /// An access of no bytes, of too many, or beyond what a file can have.
    Impossible {
        access: Access,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Refused::Unreadable { why } => write!(f, "it cannot be read: {why}"),
            Refused::NotATrace => f.write_str(
                "it is no trace of faultline; `faultline trace record` makes one of a program, `faultline trace import` of the \
                 output of strace or an iolog of fio",
            ),
            Refused::Version { found } => {
                write!(f, "it is a trace of version {found}, and this faultline reads versions 1 to {VERSION}")
            }
            Refused::Header { why } => write!(f, "the first line of the trace is not valid: {why}"),
            Refused::Column { name } => {
                write!(f, "the trace has a column {name:?}, which this version of faultline does not know")
            }
            Refused::TooLarge => write!(f, "a trace has at most {}, and this one is larger", Bytes(BYTES_MAX)),
            Refused::TooMany => write!(f, "a trace has at most {ACCESSES_MAX} accesses, and this one has more"),
            Refused::CutOff { accesses } => write!(f, "the trace is cut off after {accesses} accesses; make it again"),
            Refused::Damaged { accesses } => write!(f, "the trace is damaged after {accesses} accesses; make it again"),
            Refused::Impossible { access: access @ Access { offset, bytes, .. } } => {
                write!(f, "an access of {bytes} bytes at {offset} is not possible; ")?;
                match access.has_a_length() {
                    true => f.write_str("no file has bytes at that offset"),
                    false => write!(f, "one has 1 byte to {}", Bytes(ACCESS_BYTES_MAX)),
                }
            }
        }
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests;
