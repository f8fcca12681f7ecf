//! What executes methods. A runtime starts a worker that implements the protocol, and does nothing else.

use std::{path::PathBuf, process::Command, time::Duration};

use schema::{
    Arm,
    protocol::Done,
    runtime::{Options, RuntimeSpec},
};
use sys::guard::{self, Guard};

mod compiled;
pub mod go;
mod installed;
pub mod jvm;
mod native;
pub mod python;

pub use compiled::{Old, remove};
pub use installed::Choice;

/// A way of executing methods.
pub trait Runtime: Sync {
    /// What it is called, and its methods.
    fn spec(&self) -> &'static RuntimeSpec;

    /// What executes it on this machine, in one line.
    ///
    /// # Errors
    /// What is missing, and what to install.
    fn described(&self) -> Result<String, String>;

    /// How the user names what executes it, where a machine may have several.
    fn choice(&self) -> Option<&'static Choice> {
        None
    }

    /// Arms with options that may be missing on a machine that has their method; `doctor` tries them too.
    fn also_tried(&self) -> &'static [&'static str] {
        &[]
    }

    /// A command that starts one worker for this arm.
    ///
    /// # Errors
    /// Why this machine cannot run it, and what to install.
    fn worker(&self, arm: &Arm) -> Result<Command, String>;

    /// Whether this machine has what a worker for this arm needs; no worker is started or compiled to find out.
    ///
    /// # Errors
    /// What is missing, and what to install.
    fn present(&self, _arm: &Arm) -> Result<(), String> {
        Ok(())
    }

    /// How its compiled workers are told from what is not faultline's, where it has some.
    fn compiled(&self) -> Option<&'static compiled::Kind> {
        None
    }

    /// About how long compiling takes before the first worker for this arm starts, where that is some seconds.
    fn compiles(&self, _arm: &Arm) -> Option<Duration> {
        None
    }

    /// About how long what is around a pass takes, in seconds: a process starts for each, and gets ready.
    fn around_pass_s(&self) -> f64 {
        0.01
    }

    /// Whether a pass stays on threads of its own: then their events are its own.
    fn keeps_threads(&self) -> bool {
        true
    }

    /// Whether the voluntary switches that a worker reports of a pass are how often its calls waited, and nothing else.
    ///
    /// # Errors
    /// What else is among them.
    fn switches_are_waits(&self, done: &Done) -> Result<(), &'static str> {
        of_a_process(done)
    }

    /// System calls that the threads of a pass make between `go` and `done` for the worker itself, as far as they are always the
    /// same.
    fn own_calls(&self, method: &str, threads: u32) -> u64;
}

/// Switches of a worker that reports those of its whole process.
///
/// # Errors
/// A thread that slept beside the pass is among them.
fn of_a_process(done: &Done) -> Result<(), &'static str> {
    match done.beats {
        None => Ok(()),
        Some(_) => Err("a beat slept in the same process, and its sleeps are counted with the waits for the device"),
    }
}

/// Every runtime, by name. The names are those of `schema::runtime::RUNTIMES`.
pub const RUNTIMES: &[&dyn Runtime] = &[&native::Native, &jvm::Jvm, &python::Python, &go::Go];

/// # Errors
/// No such runtime in this version (a record of a newer one).
pub fn find(name: &str) -> Result<&'static dyn Runtime, String> {
    // The user's commands are started, timed and waited for by the native worker.
    let name = if name == schema::command::COMMAND { schema::runtime::NATIVE.name } else { name };
    RUNTIMES
        .iter()
        .copied()
        .find(|it| it.spec().name == name)
        .ok_or_else(|| format!("this version has no runtime {name:?}"))
}

/// Every choice that the user has.
pub fn choices() -> impl Iterator<Item = (&'static dyn Runtime, &'static Choice)> {
    RUNTIMES.iter().filter_map(|&it| Some((it, it.choice()?)))
}

/// Has a runtime use what the user typed, for arms that name no version. To be said once, before anything is looked for.
///
/// # Errors
/// It is not there, or will not do: also where no arm needs it.
pub fn prefer(runtime: &dyn Runtime, choice: &Choice, typed: PathBuf) -> Result<(), String> {
    choice.set(typed);
    let spec = runtime.spec();
    runtime.present(&Arm::new(spec.name, spec.methods[0].name, &Options::new())?)
}

/// Everything in the cache of compiled workers that this version does not use.
///
/// # Errors
/// The cache cannot be looked at, or other users may change it.
pub fn old() -> Result<Vec<Old>, String> {
    let kinds: Vec<&compiled::Kind> = RUNTIMES.iter().filter_map(|it| it.compiled()).collect();
    compiled::old_in(&compiled::cache()?, &kinds)
}

/// A command that starts one worker for an arm, of whatever runtime.
///
/// # Errors
/// As `find` and `Runtime::worker`.
pub fn worker(arm: &Arm) -> Result<Command, String> {
    find(&arm.runtime)?.worker(arm)
}

/// As `worker`, for an arm that is a command: the worker finds the guard that ends commands when everything else is killed.
///
/// # Errors
/// As `worker`.
pub fn guarded_worker(arm: &Arm, guard: Option<&Guard>) -> Result<Command, String> {
    let mut command = worker(arm)?;
    if let Some(guard) = guard {
        command.env(guard::VARIABLE, guard.path());
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtimes_here_are_those_that_experiments_may_name() {
        let names: Vec<&str> = RUNTIMES.iter().map(|it| it.spec().name).collect();
        assert_eq!(names, schema::runtime::names());
    }
}
