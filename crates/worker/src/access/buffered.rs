//! pread(2) into a buffer of the program's own that is larger than what is looked at: what lies in it needs no call.

use std::{fs::File, io};

use rustix::io::Errno;
use schema::Span;

use super::{Access, Way, advised::Hint, became_shorter, out_of_range};
use crate::{
    buffer::Buffer,
    task::{Fault, Place, Task},
};

/// In each call, and no less than a block.
pub(crate) struct Buffered {
    pub(crate) hint: Hint,
    pub(crate) bytes: usize,
}

/// An open file, and where its range ends: nothing beyond it is read.
pub(crate) struct Bounded {
    file: File,
    end: u64,
}

impl Way for Buffered {
    type Shared = Bounded;
    type Own = ();
    type Access<'a> = Window<'a>;

    fn buffer_bytes(&self, task: &Task) -> usize {
        self.bytes.max(task.block())
    }

    fn open(&self, place: Place) -> Result<Bounded, Fault> {
        Ok(Bounded { file: self.hint.open(place)?, end: place.range.end() })
    }

    fn own(&self, _: &Bounded, _: &mut Buffer) -> Result<(), Fault> {
        Ok(())
    }

    /// Empty: what an earlier pass left in the buffer is read again.
    fn access<'a>(&'a self, of: &'a Bounded, _: &'a mut (), buffer: &'a mut Buffer) -> Window<'a> {
        Window { file: &of.file, buffer, held: Span { offset: 0, bytes: 0 }, end: of.end }
    }
}

pub(crate) struct Window<'a> {
    file: &'a File,
    buffer: &'a mut [u8],
    /// What the buffer holds, from its start.
    held: Span,
    end: u64,
}

impl Window<'_> {
    /// Fills the buffer from the start of `span` on, as far as it and the range go.
    fn fill(&mut self, span: Span) -> io::Result<()> {
        // Unknown until it is read.
        self.held = Span { offset: 0, bytes: 0 };
        let room = (self.buffer.len() as u64).min(self.end.saturating_sub(span.offset)) as usize;
        if (room as u64) < span.bytes {
            return Err(out_of_range());
        }
        let mut done = 0;
        // What is needed: a file that ends within the buffer is no error.
        while (done as u64) < span.bytes {
            match rustix::io::pread(self.file, &mut self.buffer[done..room], span.offset + done as u64) {
                Ok(0) => return Err(became_shorter()),
                Ok(bytes) => done += bytes,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        self.held = Span { offset: span.offset, bytes: done as u64 };
        Ok(())
    }
}

impl Access for Window<'_> {
    const PRIVATE: bool = true;

    #[inline(always)]
    fn view(&mut self, span: Span) -> io::Result<&[u8]> {
        if span.offset < self.held.offset || span.end() > self.held.end() {
            self.fill(span)?;
        }
        let start = (span.offset - self.held.offset) as usize;
        self.buffer.get(start..start + span.bytes as usize).ok_or_else(out_of_range)
    }
}
