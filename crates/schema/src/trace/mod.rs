//! A trace: which bytes of which files a program read, in its order (docs/FORMATS.md, "Traces"). One JSON line, then blocks of
//! columns. It is written and read as a stream, and whoever reads one trusts nothing in it.

mod columns;
mod read;
mod write;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use read::Reader;
pub use write::Writer;

use crate::Bytes;

/// Written by this version, and read.
pub const VERSION: u32 = 1;
/// Of a whole trace, with its header.
pub const BYTES_MAX: u64 = 64 << 20;
pub const ACCESSES_MAX: u64 = 10_000_000;
/// As of a block: one access is one buffer of a worker.
pub const ACCESS_BYTES_MAX: u64 = 1 << 30;
pub const FILES_MAX: usize = 10_000;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub trace_version: u32,
    /// What saw the accesses: `strace`, `fio iolog`.
    pub recorder: String,
    /// Of every block, in their order. A later version may have more of them.
    pub columns: Vec<String>,
    /// Accesses name them by their place, from 0.
    pub files: Vec<TracedFile>,
    #[serde(default, skip_serializing_if = "LeftOut::is_empty")]
    pub left_out: LeftOut,
}

/// A file that a program read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedFile {
    /// As the recorder saw it. It is shown and compared, and never opened.
    pub path: String,
    /// So many mappings of it were made. What was read through them is not among the accesses.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mappings: u64,
}

/// What the recorder saw and the trace does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Reads that began at the end of the file or beyond it, and gave no byte.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_end: u64,
    /// Reads at the position of a descriptor whose opening was not seen.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_offset: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub writes: u64,
    /// Reads of other files than the one that was asked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_files: u64,
}

impl LeftOut {
    pub fn is_empty(&self) -> bool {
        *self == LeftOut::default()
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Header {
    pub fn new(recorder: &str, files: Vec<TracedFile>, left_out: LeftOut) -> Header {
        let columns = columns::NAMES.iter().map(|it| it.to_string()).collect();
        Header { trace_version: VERSION, recorder: recorder.into(), columns, files, left_out }
    }

    /// Whether this version reads what follows it.
    fn check(&self) -> Result<(), Refused> {
        if self.trace_version != VERSION {
            return Err(Refused::Version { found: self.trace_version });
        }
        if let Some(unknown) = self.columns.iter().find(|it| !columns::NAMES.contains(&it.as_str())) {
            return Err(Refused::Column { name: unknown.clone() });
        }
        if self.columns != columns::NAMES {
            return Err(Refused::Header { why: "its columns are not those of this version".into() });
        }
        match self.files.len() {
            1..=FILES_MAX => Ok(()),
            found => Err(Refused::Header { why: format!("it names {found} files; expected 1 to {FILES_MAX}") }),
        }
    }
}

/// Bytes that were read together, of a file of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub file: u32,
    pub offset: u64,
    pub bytes: u64,
}

impl Access {
    /// No sum of what it says overflows, and a file may be so large.
    fn is_possible(&self) -> bool {
        let ends = self.offset.checked_add(self.bytes).is_some_and(|end| end <= i64::MAX as u64);
        ends && (1..=ACCESS_BYTES_MAX).contains(&self.bytes)
    }
}

/// The accesses of one file of a trace, as the condition of a replay has them: what they are follows from the digest.
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
    /// The file has at least so many bytes.
    pub end_bytes: u64,
}

impl Traced {
    /// So many digits distinguish the traces that anybody has.
    const DIGITS: usize = 12;

    pub fn short(&self) -> &str {
        self.digest.get(..Traced::DIGITS).unwrap_or(&self.digest)
    }
}

/// What `faultline trace show` says of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub digest: String,
    pub recorder: String,
    /// In the order of the table.
    pub files: Vec<FileSummary>,
    pub left_out: LeftOut,
}

/// Of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSummary {
    pub path: String,
    pub mappings: u64,
    pub accesses: u64,
    /// Repetitions counted.
    pub bytes: u64,
    /// In which a byte lies that was read; `page_bytes` each.
    pub distinct_pages: u64,
    pub page_bytes: u64,
    /// Accesses that begin where the one before them ended.
    pub in_order: u64,
    /// The file has at least so many bytes.
    pub end_bytes: u64,
    /// Lengths and how many accesses have them, the most frequent first.
    pub sizes: Vec<(u64, u64)>,
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
                "it is no trace of faultline; `faultline trace import` makes one of the output of strace or an iolog of \
                 fio",
            ),
            Refused::Version { found } => {
                write!(f, "it is a trace of version {found}, and this faultline reads version {VERSION}")
            }
            Refused::Header { why } => write!(f, "the first line of the trace is not valid: {why}"),
            Refused::Column { name } => {
                write!(f, "the trace has a column {name:?}, which this version of faultline does not know")
            }
            Refused::TooLarge => write!(f, "a trace has at most {}, and this one is larger", Bytes(BYTES_MAX)),
            Refused::TooMany => write!(f, "a trace has at most {ACCESSES_MAX} accesses, and this one has more"),
            Refused::CutOff { accesses } => write!(f, "the trace is cut off after {accesses} accesses; make it again"),
            Refused::Damaged { accesses } => write!(f, "the trace is damaged after {accesses} accesses; make it again"),
            Refused::Impossible { access: Access { offset, bytes, .. } } => write!(
                f,
                "an access of {bytes} bytes at {offset} is not possible; one has 1 byte to {}",
                Bytes(ACCESS_BYTES_MAX)
            ),
        }
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests;
