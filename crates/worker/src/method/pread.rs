//! `pread(2)` at an explicit offset into one reused buffer.

use super::Method;
use crate::{
    access::positional::{self, Positional},
    session::{self, Session},
    task::{Refusal, Task},
};

pub(super) struct Pread;

impl Method for Pread {
    fn name(&self) -> &'static str {
        "pread"
    }

    fn support(&self, _: &Task) -> Result<(), String> {
        Ok(())
    }

    fn session(&self, task: Task) -> Result<Box<dyn Session>, Refusal> {
        session::prepare(Positional::<positional::PreadCall>::WAY, task)
    }
}
