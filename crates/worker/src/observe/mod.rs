//! A traced command: what it does to its files, by the system calls that it makes.

mod access;
mod advice;
mod counts;
mod files;
mod mappings;
mod model;
mod tasks;

use std::{os::unix::fs::MetadataExt, process::Command, time::Duration};

use schema::observation::{Means, Observation, Watch};
use sys::follow::{FollowError, Followed, Waiting, WatchedBy, start};

use crate::task::{Fault, at};
use counts::Counts;
use model::Model;

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
    model: Model<Counts>,
    by: Means,
    waiting: Result<Waiting, FollowError>,
}

/// Call it before this process starts threads (`sys::follow::start`).
///
/// # Errors
/// A named file is not there.
pub(crate) fn begin(command: Command, by: Means, watch: &Watch) -> Result<Begun, Fault> {
    let identity = |path: &String| std::fs::metadata(path).map(|it| (it.dev(), it.ino()));
    let named: Vec<(u64, u64)> =
        watch.named.iter().map(|path| identity(path).map_err(at(path))).collect::<Result<_, Fault>>()?;
    let program = command.get_program().to_string_lossy().into_owned();
    let how = match by {
        Means::Ptrace => WatchedBy::Stopped,
        Means::Tracepoints => WatchedBy::Recorded,
    };
    Ok(Begun { program, model: Model::counting(named), by, waiting: start(command, how) })
}

impl Begun {
    /// Runs the command to its end, and says what it did. It is killed with all that it started when it takes longer.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn observe(self, limit: Duration) -> Result<Watched, Fault> {
        let Begun { program, mut model, by, waiting } = self;
        let nothing = |why: String, ran| Ok(Watched::Nothing { why: format!("{}: {why}", by.word()), ran });
        match waiting.and_then(|it| it.follow(limit, &mut model)) {
            Ok(followed) => Ok(Watched::Seen(followed, Box::new(model.finish(by)))),
            Err(FollowError::Unstartable(error)) => Err(at(format!("{program:?} cannot be started"))(error)),
            Err(FollowError::Refused(reason)) => nothing(reason, false),
            Err(FollowError::Lost(events)) => nothing(
                format!(
                    "{events} events are missing: the kernel's ring buffer was full, or a process was in its own PID \
                     namespace"
                ),
                true,
            ),
        }
    }
}
