//! A traced command: what it does to its files, by the system calls that it makes and the pages that it touches.

mod access;
mod advice;
mod counts;
mod files;
mod mappings;
mod model;
mod stream;
mod tasks;

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::BufWriter,
    os::unix::fs::MetadataExt,
    path::Path,
    process::Command,
    time::Duration,
};

use rustix::fs::{Mode, OFlags};
use schema::{
    observation::{ExactTo, Means, Observation, TraceTo, Watch},
    protocol::Permit,
    trace::{Inexact, NotSeen, RecordedRun},
};
use sys::{
    cache::{LOOKED_AT_BYTES_MAX, Way, each_resident},
    follow::{Beside, FollowError, Followed, TouchesAsked, TouchesSeen, Waiting, WatchedBy, start},
};

use crate::{
    task::{Fault, at},
    writing::open_permitted,
};
use access::Identity;
use counts::Counts;
use model::Model;
use stream::{Ended, Stream, Wanted};

/// The result of tracing.
pub(crate) enum Watched {
    Seen(Followed, Box<Observation>),
    /// Nothing, by these means; others may do. `ran`: the command ran to its end nevertheless.
    Nothing {
        why: String,
        ran: bool,
    },
}

/// A command that is about to be traced; its process is there.
pub(crate) struct Begun {
    program: String,
    /// As it is to be shown.
    words: Vec<String>,
    model: Model<(Counts, Option<Stream>)>,
    beside: Beside,
    to: Option<(TraceTo, Permit)>,
    by: Means,
    waiting: Result<Waiting, FollowError>,
}

fn identity(path: &String) -> Result<Identity, Fault> {
    std::fs::metadata(path).map(|it| (it.dev(), it.ino())).map_err(at(path))
}

/// Call it before this process starts threads (`sys::follow::start`). `again`: the command has run since its files were as they
/// were found.
///
/// # Errors
/// A named file is not there.
pub(crate) fn begin(
    command: Command,
    by: Means,
    watch: &Watch,
    (permit, again): (Permit, bool),
) -> Result<Begun, Fault> {
    let named: Vec<Identity> = watch.named.iter().map(identity).collect::<Result<_, Fault>>()?;
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|it| it.to_string_lossy().into_owned()));
    let how = match by {
        Means::Ptrace => WatchedBy::Stopped,
        Means::Tracepoints => WatchedBy::Recorded,
    };
    let mut wanted = HashMap::new();
    for file in watch.trace.iter().flat_map(|it| &it.exact).flat_map(|it| &it.files) {
        let is = file.why_not.clone().map_or(Wanted::Exact, |why| Wanted::Not(Inexact::NotCold { why }));
        wanted.insert(identity(&file.path)?, is);
    }
    let exact: HashSet<Identity> = wanted.iter().filter(|it| *it.1 == Wanted::Exact).map(|it| *it.0).collect();
    let budget = |it: &ExactTo| Duration::from_millis(it.budget_ms);
    let asked = watch.trace.as_ref().and_then(|it| it.exact.as_ref());
    let touches = asked.map(|it| TouchesAsked { files: exact.clone(), budget: budget(it) });
    let beside = Beside { residency: watch.trace.is_some() && !again, touches };
    let page_bytes = sys::page_bytes();
    let stream = watch.trace.as_ref().map(|_| Stream::new(named.iter().copied(), wanted, page_bytes));
    let is_recorded = by == Means::Tracepoints;
    let model = Model::new((Counts::new(named), stream), exact, page_bytes, is_recorded);
    let (program, to, waiting) = (words[0].clone(), watch.trace.clone().map(|it| (it, permit)), start(command, how));
    Ok(Begun { program, words, model, beside, to, by, waiting })
}

impl Begun {
    /// Runs the command to its end, and says what it did. It is killed with all that it started when it takes longer.
    /// `given_up`: why other means saw nothing.
    ///
    /// # Errors
    /// It cannot be started; or its trace cannot be written.
    pub(crate) fn observe(self, limit: Duration, given_up: &[String]) -> Result<Watched, Fault> {
        let Begun { program, words, mut model, beside, to, by, waiting } = self;
        let nothing = |why: String, ran| Ok(Watched::Nothing { why: format!("{}: {why}", by.word()), ran });
        let missing = |events: u64, why: &str| nothing(format!("{events} events are missing: {why}"), true);
        match waiting.and_then(|it| it.follow(limit, &beside, &mut model)) {
            Ok(followed) if to.is_none() && followed.beyond > 0 && !followed.expired => {
                missing(followed.beyond, "the command makes more calls than are kept")
            }
            Ok(followed) => {
                let Model { sink: (counts, stream), mut program, .. } = model;
                program.expired = followed.expired;
                program.lacks_writes(followed.beyond_writes, &counts);
                program.remarks.extend(given_up.iter().map(|why| format!("not by {why}")));
                if let Some((to, stream)) = to.zip(stream) {
                    write(&to, by, words, (stream, &counts), &program, &followed)?;
                }
                Ok(Watched::Seen(followed, Box::new(counts.finish(by, program))))
            }
            Err(FollowError::Unstartable(error)) => Err(at(format!("{program:?} cannot be started"))(error)),
            Err(FollowError::Refused(reason)) => nothing(reason, false),
            Err(FollowError::Lost(events)) => {
                missing(events, "the kernel's ring buffer was full, or a process was in its own PID namespace")
            }
        }
    }
}

/// Pages of each file that no access explains, once for each eviction before which they were in the page cache, and once if they
/// are there now: another process has read them, or the kernel has
/// brought them in beside others, and touching them need not have been seen. Files that cannot be looked at are left out.
fn unexplained(exact: &ExactTo, touches: Option<&TouchesSeen>, stream: &Stream) -> Vec<(Identity, u64)> {
    let of = |path: &String| {
        // The program may have put something else under the name, which must not be waited for.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
        let metadata = file.metadata().ok().filter(|it| it.is_file() && it.len() <= LOOKED_AT_BYTES_MAX)?;
        let identity = sys::folder::identity(&file).ok()?;
        let mut resident = touches.and_then(|it| it.evicted.get(&identity)).cloned().unwrap_or_default();
        if !Way::Mincore.shows(&file) {
            return None;
        }
        each_resident(&file, 0, metadata.len(), |page| *resident.entry(page).or_default() += 1).ok()?;
        let explained = stream.explained(identity);
        let is_unexplained = |page: &u64| !explained.is_some_and(|it| it.contains(*page));
        Some((identity, resident.iter().filter(|it| is_unexplained(it.0)).map(|it| it.1).sum()))
    };
    exact.files.iter().filter(|it| it.why_not.is_none()).filter_map(|it| of(&it.path)).collect()
}

/// The trace of an execution, to where it is asked for.
fn write(
    (to, permit): &(TraceTo, Permit),
    by: Means,
    command: Vec<String>,
    (stream, counts): (Stream, &Counts),
    program: &counts::Program,
    followed: &Followed,
) -> Result<(), Fault> {
    let not_seen = NotSeen { rings: program.rings, incomplete: program.incomplete.iter().cloned().collect() };
    let mut notes: Vec<String> = program.remarks.iter().cloned().collect();
    if followed.touches.as_ref().is_some_and(|it| it.refused.is_none() && !it.with_calls) {
        notes.push(
            "pages that system calls touched for the program, such as write(2) of a mapping, are not seen".into(),
        );
    }
    if followed.expired {
        notes.push("it was ended when its time was over".into());
    } else if !followed.status.success() {
        notes.push(format!("it ended with {}", followed.status));
    }
    if followed.left > 0 {
        notes.push(match followed.left {
            1 => "a process that it left behind was ended".into(),
            several => format!("{several} processes that it left behind were ended"),
        });
    }
    let wall_ns = u64::try_from(followed.took.as_nanos()).unwrap_or(u64::MAX);
    let run = RecordedRun { command, wall_ns, threads: program.threads, bytes: 0, notes };
    let ended = Ended {
        recorder: by.word(),
        run,
        not_seen,
        beyond: followed.beyond,
        beyond_writes: followed.beyond_writes,
        touches: followed.touches.as_ref(),
        budget_ms: to.exact.as_ref().map_or(0, |it| it.budget_ms),
        unexplained: to.exact.iter().flat_map(|it| unexplained(it, followed.touches.as_ref(), &stream)).collect(),
    };
    let (header, body) = stream.finish(counts.files(), ended);
    if header.files.is_empty() {
        // The controller says what was opened instead.
        return Ok(());
    }
    let file = open_permitted(Path::new(&to.path), *permit, OFlags::empty())?;
    file.set_len(0).map_err(at("the trace"))?;
    body.finish(&header, BufWriter::new(file)).map_err(|why| Fault::new(format!("the trace cannot be written: {why}")))
}
