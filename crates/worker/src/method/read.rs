//! `read(2)` at the file's own position. `lseek(2)` comes before it only when the workload jumps: in `random` nearly
//! always, in `scan` at a thread's start and when the range starts over.

use std::{fs::File, io};

use rustix::fs::SeekFrom;
use schema::Span;

use super::{Method, one_position};
use crate::{
    access::{Access, Way, advised::Hint, fill, out_of_range},
    buffer::Buffer,
    session::{self, Session},
    task::{Fault, Place, Refusal, Task},
};

pub(super) struct Read;

impl Method for Read {
    fn name(&self) -> &'static str {
        "read"
    }

    fn support(&self, task: &Task) -> Result<(), String> {
        one_position(task, "read")?;
        Hint::new(task)?.support(task)
    }

    fn session(&self, task: Task) -> Result<Box<dyn Session>, Refusal> {
        let hint = Hint::new(&task).map_err(Fault::new)?;
        session::prepare(ReadWay { hint }, task)
    }
}

struct ReadWay {
    hint: Hint,
}

impl Way for ReadWay {
    type Shared = File;
    /// The position of the open file, which is used here alone.
    type Own = u64;
    type Access<'a> = PositionReader<'a>;

    fn buffer_bytes(&self, task: &Task) -> usize {
        task.block()
    }

    fn open(&self, place: Place) -> Result<File, Fault> {
        self.hint.open(place)
    }

    fn own(&self, _: &File, _: &mut Buffer) -> Result<u64, Fault> {
        Ok(0)
    }

    fn access<'a>(&'a self, file: &'a File, position: &'a mut u64, buffer: &'a mut Buffer) -> PositionReader<'a> {
        PositionReader { file, position, buffer }
    }
}

pub(super) struct PositionReader<'a> {
    file: &'a File,
    position: &'a mut u64,
    buffer: &'a mut [u8],
}

impl Access for PositionReader<'_> {
    const PRIVATE: bool = true;

    #[inline(always)]
    fn view(&mut self, span: Span) -> io::Result<&[u8]> {
        let room = self.buffer.get_mut(..span.bytes as usize).ok_or_else(out_of_range)?;
        if *self.position != span.offset {
            // Unknown until the block is read: an error in between must not leave a position that is wrong.
            *self.position = u64::MAX;
            rustix::fs::seek(self.file, SeekFrom::Start(span.offset))?;
        }
        fill(room, span.bytes as usize, |rest, _| rustix::io::read(self.file, rest))?;
        *self.position = span.end();
        Ok(room)
    }
}
