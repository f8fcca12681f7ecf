//! `pread(2)` at an explicit offset into one reused buffer.

use super::Method;
use crate::{
    access::{
        advised::Hint,
        buffered::Buffered,
        positional::{Positional, PreadCall},
    },
    session::{self, Session},
    task::{Fault, Refusal, Task},
};

pub(super) struct Pread;

impl Method for Pread {
    fn name(&self) -> &'static str {
        "pread"
    }

    fn support(&self, task: &Task) -> Result<(), String> {
        Hint::new(task)?.support(task)
    }

    fn session(&self, task: Task) -> Result<Box<dyn Session>, Refusal> {
        let hint = Hint::new(&task).map_err(Fault::new)?;
        match task.arm.number("buffer_kib").unwrap_or(0) {
            0 => session::prepare(Positional::<PreadCall>::advised(hint), task),
            kib => session::prepare(Buffered { hint, bytes: kib as usize * 1024 }, task),
        }
    }
}
