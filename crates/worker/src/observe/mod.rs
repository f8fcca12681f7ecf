//! A traced command: what it does to its files, by the system calls that it makes.

mod model;

use std::{os::unix::fs::MetadataExt, process::Command, time::Duration};

use schema::observation::{Means, Observation, Watch};
use sys::follow::{Followed, How, Trouble, follow};

use crate::task::{Fault, at};
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

/// Runs a command to its end, and says what it did. It is killed with all that it started when it takes longer.
///
/// # Errors
/// It cannot be started; a named file is not there.
pub(crate) fn observe(command: Command, limit: Duration, by: Means, watch: &Watch) -> Result<Watched, Fault> {
    let identity = |path: &String| std::fs::metadata(path).map(|it| (it.dev(), it.ino()));
    let named: Vec<(u64, u64)> =
        watch.named.iter().map(|path| identity(path).map_err(at(path))).collect::<Result<_, Fault>>()?;
    let mut model = Model::new(named);
    let program = command.get_program().to_string_lossy().into_owned();
    let nothing = |why: String, ran| Ok(Watched::Nothing { why: format!("{}: {why}", by.word()), ran });
    let followed = match by {
        Means::Ptrace => follow(command, limit, How::Stopped, &mut model),
        Means::Tracepoints => follow(command, limit, How::Recorded, &mut model),
    };
    match followed {
        Ok(followed) => Ok(Watched::Seen(followed, Box::new(model.finish(by)))),
        Err(Trouble::Unstartable(error)) => Err(at(format!("{program:?} cannot be started"))(error)),
        Err(Trouble::Refused(reason)) => nothing(reason, false),
        Err(Trouble::Lost(events)) => nothing(
            format!(
                "{events} events are missing: the kernel's ring was full, or a process had a PID namespace of its own"
            ),
            true,
        ),
    }
}
