//! A trace of a program that is run for it: a worker starts it, follows it, and writes the trace.
//!
//! The command is executed with the user's rights, as `faultline ab` executes one. Its trace lies in memory until it is
//! saved: it has a descriptor and no name.

use std::{
    fmt,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Duration,
};

use rustix::fs::{MemfdFlags, memfd_create};
use schema::{
    Span, State, Workload,
    command::{Compared, Spec},
    leftover::FileIdentity,
    observation::{Coldness, ExactTo, Means, Observation, TraceTo, Watch},
    protocol::{Job, Permit},
    trace::NotSeen,
};
use sys::guard::Guard;

use super::TraceFile;
use crate::{
    link::{Link, Trouble},
    runtime,
    target::named::Named,
};

/// A command without a limit.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// What a worker may take beside the command: the calls that were recorded are worked out afterwards.
const WORKED_OUT: Duration = Duration::from_secs(120);
/// How many of the files that were read instead of the named ones are listed.
const SHOWN: usize = 5;

/// What is to be recorded.
#[derive(Debug, Clone)]
pub struct Recording<'a> {
    /// The program and its arguments; no shell is asked.
    pub command: &'a [String],
    /// Only accesses of these; of all files where it is empty.
    pub files: &'a [PathBuf],
    /// The pages that are touched through mappings of `files` too, which are evicted first; for so long at most.
    pub exact: Option<Duration>,
    /// The command is ended after that.
    pub limit: Option<Duration>,
    /// What it did until then is no trace.
    pub whole: bool,
    /// In the order to try them. Pages are seen by ptrace alone.
    pub by: &'a [Means],
}

/// What was recorded.
#[derive(Debug)]
pub struct Recorded {
    pub trace: TraceFile,
    /// The same execution, counted.
    pub observation: Observation,
    /// A sum of its exit code: one execution ended as another where these are equal.
    pub ended: String,
}

/// Why there is no trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRecorded {
    Interrupted,
    /// A named file is not there, or is no file.
    NoFile {
        path: String,
        why: String,
    },
    /// It cannot be started, or not be followed here.
    Failed {
        why: String,
    },
    /// It did not end within the limit, and all of it was to be recorded.
    TooLong {
        limit: Duration,
    },
    /// It was not seen to read or map a file, or one of those that were named.
    Nothing {
        others: Vec<String>,
        not_seen: NotSeen,
    },
}

impl fmt::Display for NotRecorded {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            NotRecorded::Interrupted => f.write_str("the recording was interrupted; nothing is written"),
            NotRecorded::NoFile { path, why } => write!(f, "cannot look at {path}: {why}"),
            NotRecorded::Failed { why } => write!(f, "the command was not recorded: {why}"),
            NotRecorded::TooLong { limit } => {
                write!(f, "the command did not end within {} s while it was recorded", limit.as_secs_f64())
            }
            NotRecorded::Nothing { others, not_seen } => {
                match (not_seen.is_empty(), others.is_empty()) {
                    (true, true) => f.write_str("the command read and mapped no file")?,
                    (true, false) => f.write_str("the command neither read nor mapped a named file")?,
                    (false, true) => f.write_str("the command was not seen to read or map a file")?,
                    (false, false) => f.write_str("the command was not seen to read or map a named file")?,
                }
                f.write_str(", so there is nothing to write")?;
                if !others.is_empty() {
                    write!(f, "; it opened {}", others.join(", "))?;
                }
                if !not_seen.is_empty() {
                    write!(f, "; what could not be seen: {not_seen}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for NotRecorded {}

impl From<Trouble> for NotRecorded {
    fn from(trouble: Trouble) -> NotRecorded {
        match trouble {
            Trouble::Interrupted => NotRecorded::Interrupted,
            Trouble::Unavailable(why) | Trouble::Failed(why) => NotRecorded::Failed { why },
        }
    }
}

fn failed(what: &str) -> impl FnOnce(std::io::Error) -> NotRecorded {
    move |error| NotRecorded::Failed { why: format!("{what}: {error}") }
}

/// Runs a command to its end, or to the limit, and makes a trace of its accesses.
///
/// # Errors
/// Why there is none; nothing of the command is left then.
pub fn record(asked: &Recording, interrupted: &AtomicBool) -> Result<Recorded, NotRecorded> {
    let named = asked.files.iter().map(|it| named(it)).collect::<Result<Vec<PathBuf>, NotRecorded>>()?;
    let exact = asked.exact.map(|budget| exact(&named, budget, interrupted)).transpose()?;
    let memory = memfd_create(c"faultline-trace", MemfdFlags::CLOEXEC).map(File::from);
    let memory = memory.map_err(|error| failed("no memory for the trace")(error.into()))?;
    let path = sys::folder::path_of(&memory);
    let (device, inode) = sys::folder::identity(&memory).map_err(failed("the trace"))?;
    let watch = Watch {
        by: if exact.is_some() { vec![Means::Ptrace] } else { asked.by.to_vec() },
        named: named.iter().map(|it| it.display().to_string()).collect(),
        trace: Some(TraceTo { path: path.display().to_string(), exact }),
    };
    let limit = asked.limit.unwrap_or(FOREVER);
    let spec = spec(asked.command, limit)?;
    let arm = spec.arm();
    let job = Job {
        workload: Workload::Command,
        watch: Some(watch),
        // The user typed the command to have it executed, and the trace is a file of faultline's own.
        permit: Permit { execute: true, write: Some(FileIdentity { device, inode }) },
        ..Job::new(&arm, "/", Span { offset: 0, bytes: 1 })
    };
    let guard = Guard::start().ok();
    let worker = runtime::guarded_worker(&arm, guard.as_ref()).map_err(Trouble::Unavailable)?;
    let (mut link, _) = Link::start(worker, interrupted)?;
    link.let_it_clean_up(false);
    link.prepare(&job)?;
    let done = link.go(job.pass, limit.saturating_add(WORKED_OUT))?;
    link.bye()?;
    let ended = done.tally.checksum;
    let observation = done.observation.map(|it| *it);
    let observation = observation.ok_or_else(|| NotRecorded::Failed { why: "the worker did not follow it".into() })?;
    if asked.whole && observation.expired {
        return Err(NotRecorded::TooLong { limit });
    }
    if memory.metadata().map_err(failed("the trace"))?.len() == 0 {
        return Err(nothing(&observation));
    }
    let trace = TraceFile::open(&path).map_err(|error| NotRecorded::Failed { why: format!("{error:#}") })?;
    Ok(Recorded { trace, observation, ended })
}

fn nothing(seen: &Observation) -> NotRecorded {
    let others = seen.files.iter().map(|it| it.path.clone()).take(SHOWN);
    NotRecorded::Nothing { others: others.collect(), not_seen: NotSeen::of(seen) }
}

fn named(path: &Path) -> Result<PathBuf, NotRecorded> {
    let refused = |why: String| NotRecorded::NoFile { path: path.display().to_string(), why };
    let whole = fs::canonicalize(path).map_err(|error| refused(error.to_string()))?;
    match () {
        () if !whole.is_file() => Err(refused("it is no regular file".into())),
        () if whole.to_str().is_none() => {
            Err(refused("its name is not valid UTF-8, and a trace has no other names".into()))
        }
        () => Ok(whole),
    }
}

/// Evicts the files, and says of which no page stayed.
fn exact(files: &[PathBuf], budget: Duration, interrupted: &AtomicBool) -> Result<ExactTo, NotRecorded> {
    let mut all = Vec::new();
    for path in files {
        let why_not = match make_cold(path, interrupted) {
            Ok(()) => None,
            Err(Trouble::Interrupted) => return Err(NotRecorded::Interrupted),
            Err(Trouble::Unavailable(why) | Trouble::Failed(why)) => Some(why),
        };
        all.push(Coldness { path: path.display().to_string(), why_not });
    }
    Ok(ExactTo { budget_ms: u64::try_from(budget.as_millis()).unwrap_or(u64::MAX), files: all })
}

fn make_cold(path: &PathBuf, interrupted: &AtomicBool) -> Result<(), Trouble> {
    let named = Named::gather(std::slice::from_ref(path), &[], false, interrupted);
    let named = named.map_err(|error| Trouble::Failed(format!("{error:#}")))?;
    named.possible(State::Cold).map_err(Trouble::Failed)?;
    named.evict(interrupted)
}

fn spec(command: &[String], limit: Duration) -> Result<Spec, NotRecorded> {
    let refused = |why: &str| NotRecorded::Failed { why: why.into() };
    let line = shlex::try_join(command.iter().map(String::as_str));
    let line = line.map_err(|_| refused("a word of the command has a zero byte"))?;
    if command.is_empty() {
        return Err(refused("there is no command"));
    }
    // Whole seconds, and one at least.
    let timeout_s = u32::try_from(limit.as_millis().div_ceil(1000)).unwrap_or(u32::MAX).max(1);
    Ok(Spec {
        name: line.clone(),
        line,
        shell: None,
        prepare: None,
        cleanup: None,
        timeout_s,
        compared: Compared::Status,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_executed_as_the_words_that_it_was_given_as() {
        let command = ["a b".to_string(), "it's".into(), "$x".into(), String::new(), "*".into()];
        let spec = spec(&command, Duration::from_millis(1500)).unwrap();
        assert_eq!((shlex::split(&spec.line).unwrap(), spec.timeout_s), (command.to_vec(), 2));
        assert!(super::spec(&[], FOREVER).is_err());
    }

    #[test]
    fn that_nothing_was_read_is_said_of_a_command_that_was_wholly_seen_alone() {
        let nothing = |not_seen: NotSeen| NotRecorded::Nothing { others: vec!["/a".into()], not_seen }.to_string();
        let whole = nothing(NotSeen::default());
        let denies = |text: &str| text.contains("neither") || text.contains("nor");
        assert!(denies(&whole), "{whole}");
        let incomplete = vec!["it may not be looked at".to_string()];
        for not_seen in [NotSeen { rings: 1, ..NotSeen::default() }, NotSeen { incomplete, ..NotSeen::default() }] {
            let partial = nothing(not_seen.clone());
            assert!(!denies(&partial) && partial.contains(&not_seen.to_string()), "{partial}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_and_a_folder_are_refused_before_anything_runs() {
        let asked = |file: &str| {
            let files = [PathBuf::from(file)];
            let command = ["/no/such/program".to_string()];
            let asked =
                Recording { command: &command, files: &files, exact: None, limit: None, whole: false, by: Means::ALL };
            record(&asked, &AtomicBool::new(false)).map(|it| it.observation).unwrap_err()
        };
        assert!(matches!(asked("/no/such/file"), NotRecorded::NoFile { .. }));
        assert!(matches!(asked("/"), NotRecorded::NoFile { .. }));
    }
}
