//! A command that is watched: what it does to its files, by the system calls that it makes.

mod model;

use std::{os::unix::fs::MetadataExt, process::Command, time::Duration};

use schema::observation::{Means, Observation, Watch};
use sys::follow::{Followed, Trouble, follow};

use crate::task::{Fault, at};
use model::Model;

/// Runs a command to its end, and says what it did. It is killed with all that it started when it takes longer.
///
/// # Errors
/// It cannot be started, or nobody may watch it here.
pub(crate) fn observe(command: Command, limit: Duration, watch: &Watch) -> Result<(Followed, Observation), Fault> {
    let identity = |path: &String| std::fs::metadata(path).map(|it| (it.dev(), it.ino()));
    let named: Vec<(u64, u64)> =
        watch.named.iter().map(|path| identity(path).map_err(at(path))).collect::<Result<_, Fault>>()?;
    let mut model = Model::new(named);
    let line = command.get_program().to_string_lossy().into_owned();
    match follow(command, limit, &mut model) {
        Ok(followed) => Ok((followed, model.finish(Means::Ptrace))),
        Err(Trouble::Unstartable(error)) => Err(at(format!("{line:?} cannot be started"))(error)),
        Err(Trouble::Refused(reason)) => Err(Fault::new(format!("it cannot be watched: {reason}"))),
    }
}
