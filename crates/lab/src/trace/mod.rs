//! Traces: recorded, made of what other programs recorded, and opened for a replay. What a log says is not trusted.

mod descriptors;
mod file;
mod iolog;
mod record;
mod strace;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt,
    io::{BufRead, Read},
};

use schema::trace::{
    ACCESS_BYTES_MAX, ACCESSES_MAX, Access, FILES_MAX, Header, LeftOut, NotSeen, Refused, TracedFile, Writer,
};

pub use file::TraceFile;
pub use iolog::{NoIolog, write as iolog};
pub use record::{NotRecorded, Recorded, Recording, record};

/// No line of a log is longer.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// So many files that were read are named where the one that is meant was not.
const OTHERS_MAX: usize = 5;

/// A log that was read.
#[derive(Debug, PartialEq)]
pub struct Imported {
    pub header: Header,
    pub accesses: Vec<Access>,
}

/// Why a log cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// From 1; absent where it is of the whole log.
    pub line: Option<u64>,
    pub wrong: Wrong,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    Unreadable(String),
    NotALog,
    LongLine,
    /// Of strace without `-y`.
    NoPath {
        descriptor: String,
    },
    /// A call whose arguments or result are not those that it has.
    Call {
        name: String,
    },
    Iolog {
        found: String,
    },
    TooMany,
    TooManyFiles,
    /// Descriptors, by calls that close a range of them.
    TooManyClosed,
    Access(Refused),
    /// No file was read; the mappings of files that were made.
    Empty {
        mappings: u64,
    },
    /// So many reads, all at offsets that the log does not have.
    NoOffset {
        reads: u64,
    },
    /// Not this one; some of those that were.
    NotRead {
        path: String,
        others: Vec<String>,
    },
}

/// How strace records all that is read here: its classes have neither the calls by which a thread leaves the descriptors that it
/// shares, nor those of AIO. Versions that lack a call pass over one with a question mark (strace(1), --trace).
const RECORD_WITH: &str = "strace -f -y -e 'trace=%desc,%process,?unshare,?close_range,?io_setup,?io_submit'";

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match &self.wrong {
            Wrong::Unreadable(why) => write!(f, "the log cannot be read: {why}"),
            Wrong::NotALog => {
                write!(f, "this is neither the output of strace nor an iolog of fio; try {RECORD_WITH} -o LOG COMMAND")
            }
            Wrong::LongLine => write!(f, "a line has at most {LINE_BYTES_MAX} bytes; try strace without -s and -v"),
            Wrong::NoPath { descriptor } => {
                write!(f, "descriptor {descriptor} has no path beside it; record it again with strace -y")
            }
            Wrong::Call { name } => {
                write!(f, "this is no call of {name} as strace shows it; record it again with strace -f -y -o LOG")
            }
            Wrong::Iolog { found } => write!(
                f,
                "{found:?} is no entry of an iolog; expected [TIME] FILE ACTION [OFFSET LENGTH], with the time in \
                 version 3"
            ),
            Wrong::TooMany => {
                write!(f, "a trace has at most {ACCESSES_MAX} accesses; record a shorter time, or name a file (--file)")
            }
            Wrong::TooManyFiles => {
                write!(f, "a trace has at most {FILES_MAX} files; name the one that is meant with --file")
            }
            Wrong::TooManyClosed => write!(
                f,
                "close_range closes more than {} descriptors in this log; record a shorter time",
                descriptors::CLOSED_IN_RANGES_MAX
            ),
            Wrong::Access(refused) => refused.fmt(f),
            Wrong::Empty { mappings: 0 } => {
                write!(f, "no read of a file is in the log; record with {RECORD_WITH}")
            }
            Wrong::NoOffset { reads } => write!(
                f,
                "of none of the {reads} reads of files does the log say where: each is at the position of a descriptor whose \
                 opening is not in it; record it from there on, as with {RECORD_WITH} sh -c 'COMMAND < FILE'"
            ),
            Wrong::Empty { mappings } => write!(
                f,
                "no read of a file is in the log, and {mappings} mappings of files: what is read through a mapping is no \
                 system call, and strace does not see it"
            ),
            Wrong::NotRead { path, others } => {
                write!(f, "{path} was not read; files that were: {}", others.join(", "))
            }
        }
    }
}

impl std::error::Error for Mistake {}

impl Imported {
    /// # Errors
    /// It is larger than a trace may be.
    pub fn bytes(&self) -> Result<Vec<u8>, Refused> {
        let mut writer = Writer::new(Vec::new(), &self.header)?;
        self.accesses.iter().try_for_each(|access| writer.push(*access))?;
        writer.finish()
    }
}

/// The accesses of a log of strace or of fio; of one file, where `only` has its names.
///
/// # Errors
/// The line that is at fault, and what would help.
pub fn import(log: impl BufRead, only: &[String]) -> Result<Imported, Mistake> {
    let mut lines = Lines { log, number: 0 };
    let mut found = Found { only, ..Found::default() };
    let Some(first) = lines.next()? else { return Err(Mistake { line: None, wrong: Wrong::NotALog }) };
    let (recorder, parsed) = match iolog::version(&first) {
        Some(version) => (iolog::RECORDER, iolog::parse(version, &mut lines, &mut found)),
        None => (strace::RECORDER, strace::parse(first, &mut lines, &mut found)),
    };
    let line = Some(lines.number);
    let is_known =
        parsed.map_err(|wrong| Mistake { line: line.filter(|_| !matches!(wrong, Wrong::NotALog)), wrong })?;
    if !is_known {
        return Err(Mistake { line: None, wrong: Wrong::NotALog });
    }
    found.end(recorder).map_err(|wrong| Mistake { line: None, wrong })
}

/// Lines of limited length, as text; what is no UTF-8 is replaced.
struct Lines<L> {
    log: L,
    number: u64,
}

impl<L: BufRead> Lines<L> {
    fn next(&mut self) -> Result<Option<String>, Mistake> {
        let mut line = Vec::new();
        self.number += 1;
        let at = |wrong| Mistake { line: Some(self.number), wrong };
        let mut limited = (&mut self.log).take(LINE_BYTES_MAX);
        limited.read_until(b'\n', &mut line).map_err(|error| at(Wrong::Unreadable(error.to_string())))?;
        match line.last() {
            None => Ok(None),
            Some(last) if *last != b'\n' && line.len() as u64 == LINE_BYTES_MAX => Err(at(Wrong::LongLine)),
            Some(_) => Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_string())),
        }
    }
}

/// What was found in a log so far.
#[derive(Default)]
struct Found<'a> {
    /// All files where it is empty.
    only: &'a [String],
    /// Those that are meant.
    files: Vec<TracedFile>,
    by_path: HashMap<String, u32>,
    /// Those that read, by their numbers.
    threads: HashMap<u64, u32>,
    next_thread: u32,
    /// Those that others made, by their numbers.
    children: HashSet<u64>,
    /// Those that the log has something of, by their numbers.
    heard: HashSet<u64>,
    /// Rings that were set up (io_uring, Linux AIO), and whether one was used.
    rings: u64,
    uses_rings: bool,
    accesses: Vec<Access>,
    left_out: LeftOut,
    /// Some of the other files that were read.
    others: BTreeSet<String>,
    /// Of all files.
    mappings: u64,
    /// By their places: what a program maps to execute it is no data.
    code: HashSet<u32>,
}

impl Found<'_> {
    /// Its place in the table; absent where it is not meant, and then its name is kept.
    fn read_of(&mut self, path: &str) -> Result<Option<u32>, Wrong> {
        if !self.is_meant(path) {
            self.left_out.other_files += 1;
            if self.others.len() < OTHERS_MAX && !self.others.contains(path) {
                self.others.insert(path.into());
            }
            return Ok(None);
        }
        self.file(path).map(Some)
    }

    fn file(&mut self, path: &str) -> Result<u32, Wrong> {
        if let Some(&known) = self.by_path.get(path) {
            return Ok(known);
        }
        if self.files.len() == FILES_MAX {
            return Err(Wrong::TooManyFiles);
        }
        let index = self.files.len() as u32;
        self.files.push(TracedFile { path: path.into(), ..TracedFile::default() });
        self.by_path.insert(path.into(), index);
        Ok(index)
    }

    fn is_meant(&self, path: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|it| it == path)
    }

    /// Ways to read that the log shows and that no access of it follows from.
    fn not_seen(&self) -> NotSeen {
        // A log that has something of one of them has something of all: strace follows all or none (-f).
        let children = if self.children.is_disjoint(&self.heard) { self.children.len() } else { 0 };
        let unheard = (children > 0).then(|| {
            format!(
                "the log has no line of {children} threads or processes that the program made (strace -f has them), so what they \
                 read is not known"
            )
        });
        NotSeen { rings: self.rings.max(u64::from(self.uses_rings)), incomplete: unheard.into_iter().collect() }
    }

    /// A thread, or a process, was made.
    fn child(&mut self, number: u64) {
        self.children.insert(number);
    }

    fn read(&mut self, thread: u64, path: &str, offset: u64, bytes: u64) -> Result<(), Wrong> {
        let Some(file) = self.read_of(path)? else { return Ok(()) };
        let thread = *self.threads.entry(thread).or_insert_with(|| {
            self.next_thread += 1;
            self.next_thread - 1
        });
        // One call reads up to 2 GiB (read(2)), and an access has half of that. What is not possible is refused as it is.
        let first = if bytes <= 2 * ACCESS_BYTES_MAX { bytes.min(ACCESS_BYTES_MAX) } else { bytes };
        for (at, part) in [(0, first), (first, bytes - first)] {
            if at > 0 && part == 0 {
                break;
            }
            if self.accesses.len() as u64 == ACCESSES_MAX {
                return Err(Wrong::TooMany);
            }
            self.accesses.push(Access { thread, ..Access::call(file, offset.saturating_add(at), part) });
        }
        Ok(())
    }

    /// The kernel gives its number to later ones, too.
    fn ended(&mut self, thread: u64) {
        self.threads.remove(&thread);
    }

    /// Where it was read is not known.
    fn unplaced(&mut self, path: &str) -> Result<(), Wrong> {
        if self.is_meant(path) {
            self.left_out.unknown_offset += 1;
            let file = self.file(path)?;
            self.files[file as usize].missing += 1;
        } else {
            self.read_of(path)?;
        }
        Ok(())
    }

    fn failed(&mut self, path: &str) {
        self.left_out.failed += u64::from(self.is_meant(path));
    }

    fn at_end(&mut self, path: &str) {
        self.left_out.at_end += u64::from(self.is_meant(path));
    }

    fn written(&mut self, path: &str) {
        self.left_out.writes += u64::from(self.is_meant(path));
    }

    fn mapped(&mut self, path: &str, is_code: bool) -> Result<(), Wrong> {
        self.mappings += 1;
        if self.is_meant(path) {
            let file = self.file(path)?;
            self.files[file as usize].mappings += 1;
            if is_code {
                self.code.insert(file);
            }
        }
        Ok(())
    }

    /// The table has the files that were read, and those that were only mapped, or read at unknown offsets: which parts of them is
    /// not known, and readers of the trace say so.
    fn end(mut self, recorder: &str) -> Result<Imported, Wrong> {
        if self.accesses.is_empty() {
            if self.left_out.unknown_offset > 0 {
                return Err(Wrong::NoOffset { reads: self.left_out.unknown_offset });
            }
            return Err(match self.only.first() {
                Some(path) if !self.others.is_empty() => {
                    Wrong::NotRead { path: path.clone(), others: self.others.into_iter().collect() }
                }
                _ => Wrong::Empty { mappings: self.mappings },
            });
        }
        let mut places = vec![None; self.files.len()];
        let mut files = Vec::new();
        let mut place = |old: u32| -> u32 {
            *places[old as usize].get_or_insert_with(|| {
                let mut file = self.files[old as usize].clone();
                // The loader reads the head of what it maps as code.
                file.mappings = if self.code.contains(&old) { 0 } else { file.mappings };
                files.push(file);
                files.len() as u32 - 1
            })
        };
        self.accesses.iter_mut().for_each(|it| it.file = place(it.file));
        let is_reached = |it: &u32| {
            let of = &self.files[*it as usize];
            of.missing > 0 || (of.mappings > 0 && !self.code.contains(it))
        };
        for reached in (0..self.files.len() as u32).filter(is_reached) {
            place(reached);
        }
        let missing = self.left_out.unknown_offset;
        let header = Header::new(recorder, files, self.left_out).lacking(self.accesses.len() as u64, missing);
        let imported = Imported {
            header: Header { of_any_file: Some(0), not_seen: self.not_seen(), ..header },
            accesses: std::mem::take(&mut self.accesses),
        };
        Ok(imported)
    }
}

#[cfg(test)]
mod tests;
