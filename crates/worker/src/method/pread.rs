//! `pread(2)` at an explicit offset into one reused buffer.

use std::{fs::File, io};

use schema::Span;

use crate::{
    buffer::Buffer,
    method::{Access, Method, Way, fill, open_plain, out_of_range},
    session::{self, Session},
    task::{Fault, Refusal, Task},
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
        session::prepare(Pread, task)
    }
}

impl Way for Pread {
    type Shared = File;
    type Own = ();
    type Access<'a> = Reader<'a>;

    fn buffer_bytes(&self, task: &Task) -> usize {
        task.block()
    }

    fn open(&self, task: &Task) -> Result<File, Fault> {
        open_plain(task)
    }

    fn own(&self, _: &File, _: &mut Buffer) -> Result<(), Fault> {
        Ok(())
    }

    fn access<'a>(&'a self, file: &'a File, _: &'a mut (), buffer: &'a mut Buffer) -> Reader<'a> {
        Reader { file, buffer }
    }
}

pub(crate) struct Reader<'a> {
    file: &'a File,
    buffer: &'a mut [u8],
}

impl Access for Reader<'_> {
    const PRIVATE: bool = true;

    #[inline(always)]
    fn view(&mut self, span: Span) -> io::Result<&[u8]> {
        let room = self.buffer.get_mut(..span.bytes as usize).ok_or_else(out_of_range)?;
        fill(room, span.bytes as usize, |rest, done| rustix::io::pread(self.file, rest, span.offset + done))?;
        Ok(room)
    }
}
