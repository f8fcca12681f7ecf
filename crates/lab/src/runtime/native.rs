//! The native worker: a hidden subcommand of this same executable.

use std::process::Command;

use schema::runtime::{NATIVE, RuntimeSpec};

use super::Runtime;

pub(super) struct Native;

/// Names another program to start instead of this executable; the tests put a scripted worker there.
const WORKER_VARIABLE: &str = "FAULTLINE_WORKER";

impl Runtime for Native {
    fn spec(&self) -> &'static RuntimeSpec {
        &NATIVE
    }

    fn described(&self) -> Result<String, String> {
        Ok("the worker in this executable".into())
    }

    fn also_tried(&self) -> &'static [&'static str] {
        &["uring+direct", "mmap+populate-read"]
    }

    /// getrusage(2) before and after, and `done`.
    fn own_calls(&self, _: &str, _: u32) -> u64 {
        3
    }

    fn worker(&self, _: &schema::Arm) -> Result<Command, String> {
        if let Some(program) = std::env::var_os(WORKER_VARIABLE) {
            return Ok(Command::new(program));
        }
        // Those of the tests would be the tests again, of all that have the word in their names.
        if cfg!(test) {
            return Err("the tests of this crate have no worker in their executable".into());
        }
        // The link, not the path it leads to: it still works when the file was replaced by a new build meanwhile.
        let mut command = Command::new("/proc/self/exe");
        command.arg("worker");
        Ok(command)
    }
}
