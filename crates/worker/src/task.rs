//! A job that was checked: the file exists and has bytes, the range lies within it, the options are known. And the two
//! kinds of errors of a worker. No file stays open here.

use std::{
    fmt,
    fs::Metadata,
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use schema::{Arm, Consume, Descriptor, Span, Workload, protocol::Job, runtime::NATIVE};

use crate::source::{self, Accesses, Pattern, Reached, Several, SeveralFile};

/// More threads than this are refused as a typing mistake.
const MAX_THREADS: u32 = 4096;

/// What is opened: a file, and the bytes of it that a pass may reach.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub path: &'a Path,
    pub range: Span,
    /// What is read of it by calls before it is mapped.
    pub header: &'a [Span],
}

/// What a method is asked to do.
pub(crate) struct Task {
    pub job: Job,
    /// The method with its options, defaults filled in.
    pub arm: Arm,
    pub path: PathBuf,
    pub file_bytes: u64,
    pub pattern: Pattern,
    /// Of a replay over several files; path, size and range above are those of the first of them.
    pub several: Option<Several>,
    /// By the timed pass. Known before it: what finds it out is computing and memory of the worker's own, which are counted
    /// with the pass until the reply.
    pub reached: Reached,
    /// What the timed pass writes, repetitions counted; known before it for the same reason. Of a pass that reads, its loop
    /// counts what it consumed.
    pub written_bytes: u64,
}

/// Something failed: what was tried, and what the system said.
#[derive(Debug)]
pub(crate) struct Fault {
    pub what: String,
    /// `None` where no system call is to blame.
    pub error: Option<io::Error>,
}

/// Why there is no session.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The method cannot do this here; the run goes on without it.
    Unavailable(String),
    /// The job is wrong, or the machine failed.
    Failed(Fault),
}

impl Fault {
    pub(crate) fn new(what: impl Into<String>) -> Fault {
        Fault { what: what.into(), error: None }
    }

    pub(crate) fn errno(&self) -> Option<i32> {
        self.error.as_ref().and_then(io::Error::raw_os_error)
    }
}

/// For `map_err`: puts what was tried in front of what the system said.
pub(crate) fn at<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Fault {
    move |error| Fault { what: what.into(), error: Some(error.into()) }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.error {
            Some(error) => write!(f, "{}: {error}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::Failed(fault)
    }
}

impl Task {
    /// # Errors
    /// What is wrong with the job or the file.
    pub(crate) fn new(job: Job) -> Result<Task, Fault> {
        let arm = Arm::new(NATIVE.name, &job.method, &job.options).map_err(Fault::new)?;
        arm.fits(job.workload).map_err(Fault::new)?;
        if job.workload == Workload::Replay && job.trace.as_ref().is_some_and(|it| !it.files.is_empty()) {
            return Task::of_several(job, arm);
        }
        let path = PathBuf::from(&job.file);
        let metadata = regular(&path)?;
        let file_bytes = metadata.len();
        let appends = job.workload == Workload::Append;
        if file_bytes == 0 && !appends {
            return Err(Fault::new("the file is empty: there is nothing to read"));
        }
        match job.range.offset.checked_add(job.range.bytes) {
            Some(end) if end <= file_bytes || appends => {}
            _ => {
                let (offset, bytes) = (job.range.offset, job.range.bytes);
                return Err(Fault::new(format!(
                    "a range of {bytes} bytes at {offset} ends beyond the file's {file_bytes} bytes"
                )));
            }
        }
        check(&job)?;
        let accesses = match job.workload {
            Workload::Replay => source::accesses(&job).map_err(Fault::new)?,
            _ => Accesses::default(),
        };
        let pattern = Pattern::new(&job, accesses);
        let looks_every = if job.workload.writes() { 1 } else { job.consume.looks_every() };
        let reached = pattern.reached(sys::page_bytes(), looks_every);
        let written_bytes = if job.workload.writes() { pattern.bytes() } else { 0 };
        Ok(Task { job, arm, path, file_bytes, pattern, several: None, reached, written_bytes })
    }

    fn of_several(job: Job, arm: Arm) -> Result<Task, Fault> {
        check(&job)?;
        let several = source::several(&job).map_err(Fault::new)?;
        several.files.iter().try_for_each(|it| it.check())?;
        let first = several.first();
        let (path, file_bytes) = (first.path.clone(), first.range.bytes);
        let longest = several.accesses.list().iter().map(|it| it.bytes).max().unwrap_or(1);
        let work_ps_per_byte = several.accesses.work_ps_per_byte(job.own_work_ns);
        let plain = Pattern::new(&job, Accesses::default());
        let pattern = Pattern { range: first.range, block: longest, work_ps_per_byte, ..plain };
        let reached = several.reached(job.consumed_percent, sys::page_bytes(), job.consume.looks_every());
        Ok(Task { job, arm, path, file_bytes, pattern, several: Some(several), reached, written_bytes: 0 })
    }

    /// The file, and what of it a pass reaches.
    pub(crate) fn place(&self) -> Place<'_> {
        Place { path: &self.path, range: self.pattern.range, header: self.pattern.accesses.header() }
    }

    /// The size of a block in memory.
    pub(crate) fn block(&self) -> usize {
        self.pattern.block as usize
    }

    /// Several threads use one open file. With a single thread both settings are the same.
    pub(crate) fn is_shared(&self) -> bool {
        self.job.descriptor == Descriptor::Shared && self.job.threads > 1
    }
}

/// What is wrong with a job, whatever its file.
fn check(job: &Job) -> Result<(), Fault> {
    let wrong = |what: String| Err(Fault::new(what));
    match () {
        () if job.range.bytes == 0 => wrong("the range is empty: there is nothing to read".into()),
        () if job.block_bytes == 0 => wrong("a block of 0 bytes cannot be read".into()),
        () if !(1..=100).contains(&job.consumed_percent) => {
            wrong(format!("{} % of a block cannot be consumed; expected 1 to 100", job.consumed_percent))
        }
        () if job.ops == 0 => wrong("a pass needs at least one block".into()),
        () if !(1..=MAX_THREADS).contains(&job.threads) => {
            wrong(format!("{} threads; expected 1 to {MAX_THREADS}", job.threads))
        }
        () if job.workload.writes() && job.threads > 1 => wrong("workloads that write run with one thread".into()),
        () if job.own_work_ns > 0 && !has_work(job) => {
            wrong("own work between accesses is that of a replay, with consume touch or sum of whole accesses".into())
        }
        () => Ok(()),
    }
}

fn has_work(job: &Job) -> bool {
    let is_timed = matches!(job.consume, Consume::Touch | Consume::Sum) && job.consumed_percent == 100;
    job.workload == Workload::Replay && is_timed
}

/// What a path leads to, looked at before anything opens it: opening a pipe would wait for its writer.
fn regular(path: &Path) -> Result<Metadata, Fault> {
    let shown = path.display();
    let metadata = std::fs::metadata(path).map_err(at(shown.to_string()))?;
    let kind = metadata.file_type();
    let kind = match () {
        () if kind.is_file() => return Ok(metadata),
        () if kind.is_dir() => "a directory",
        () if kind.is_block_device() => "a block device",
        () if kind.is_char_device() => "a character device",
        () if kind.is_fifo() => "a pipe",
        () => "a socket",
    };
    Err(Fault::new(format!("{shown} is {kind}; a regular file is needed")))
}

impl SeveralFile {
    /// Whether it is still what it was when it was named.
    fn check(&self) -> Result<(), Fault> {
        let (now, shown) = (regular(&self.path)?, self.path.display());
        match () {
            () if (now.dev(), now.ino()) != (self.identity.device, self.identity.inode) => {
                Err(Fault::new(format!("{shown} is another file by now")))
            }
            () if now.len() != self.range.bytes => {
                Err(Fault::new(format!("{shown} has {} bytes, and had {}", now.len(), self.range.bytes)))
            }
            () => Ok(()),
        }
    }
}
