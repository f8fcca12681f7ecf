//! `pread(2)` at an explicit offset into one reused buffer.

use std::fs::File;

use crate::{
    method::{
        Method,
        positional::{Call, Positional},
    },
    session::{self, Session},
    task::{Refusal, Task},
};

pub(crate) struct Pread;

impl Method for Pread {
    fn name(&self) -> &'static str {
        "pread"
    }

    fn support(&self, _: &Task) -> Result<(), String> {
        Ok(())
    }

    fn session(&self, task: Task) -> Result<Box<dyn Session>, Refusal> {
        session::prepare(Positional::<Pread>::WAY, task)
    }
}

impl Call for Pread {
    #[inline(always)]
    fn read(file: &File, room: &mut [u8], offset: u64) -> rustix::io::Result<usize> {
        rustix::io::pread(file, room, offset)
    }
}
