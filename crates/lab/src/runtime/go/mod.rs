//! The worker in Go. Its source is part of this executable; the machine's own Go builds it once into the cache folder.

use std::{path::Path, process::Command, time::Duration};

use schema::{
    Arm,
    runtime::{GO, RuntimeSpec},
};

use super::{
    Choice, Runtime,
    compiled::{self, Kind},
};

mod build;
mod toolchain;

pub use toolchain::{FLOOR, Toolchain, all, find};

pub struct Go;

/// What the user may have set for programs of their own: it would change what is measured.
const REMOVED: &[&str] = &["GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG"];

impl Runtime for Go {
    fn spec(&self) -> &'static RuntimeSpec {
        &GO
    }

    fn described(&self) -> Result<String, String> {
        find().map(|go| format!("Go {} in {}", go.version, go.home.display()))
    }

    fn choice(&self) -> Option<&'static Choice> {
        Some(&toolchain::CHOICE)
    }

    fn also_tried(&self) -> &'static [&'static str] {
        &["go/mmap+syscall"]
    }

    fn worker(&self, arm: &Arm) -> Result<Command, String> {
        worker_of(&find()?, arm, &compiled::cache()?)
    }

    fn present(&self, _: &Arm) -> Result<(), String> {
        find().map(drop)
    }

    fn compiled(&self) -> Option<&'static Kind> {
        Some(&build::KIND)
    }

    fn compiles(&self, _: &Arm) -> Option<Duration> {
        let is_made = build::is_made(&find().ok()?, &compiled::cache().ok()?);
        (!is_made).then_some(build::USUAL)
    }

    /// Goroutines move between the threads of the process, one of which does nothing but wake up and look at the others. And a
    /// fault that a signal of the scheduler interrupts is made again, as a minor one.
    fn keeps_threads(&self) -> bool {
        false
    }

    /// getrusage(2) before and after, and `done`.
    fn own_calls(&self, _: &str, _: u32) -> u64 {
        3
    }
}

/// A command for an arm by one certain Go, with its program in `cache`.
///
/// # Errors
/// Why this Go will not do, or why it cannot build the program.
pub fn worker_of(go: &Toolchain, arm: &Arm, cache: &Path) -> Result<Command, String> {
    go.fits()?;
    let mut command = Command::new(build::of(go, cache)?.join(build::PROGRAM));
    for name in REMOVED {
        command.env_remove(name);
    }
    if let Some(procs) = arm.number("procs").filter(|&it| it > 0) {
        command.env("GOMAXPROCS", procs.to_string());
    }
    // Of a panic, the reason alone: the stacks of all goroutines come after it, and the last words are what is reported.
    command.env("GOTRACEBACK", "none");
    // Nothing but what it says of itself: built without paths, it does not know.
    command.env("GOROOT", &go.home);
    Ok(command)
}
