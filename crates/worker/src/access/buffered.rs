//! pread(2) into a buffer of the program's own that is larger than what is looked at: what lies in it needs no call. What is
//! longer than the buffer is read by itself, to where it is needed, and the buffer is empty afterwards, as in Rust's
//! `BufReader` (std, `BufReader::read`).

use std::{fs::File, io};

use rustix::io::Errno;
use schema::Span;

use super::{Access, Way, advised::Hint, became_shorter, out_of_range};
use crate::{
    buffer::Buffer,
    task::{Fault, Place, Task},
};

pub(crate) struct Buffered {
    pub(crate) hint: Hint,
    /// In each call, but for what is longer.
    pub(crate) bytes: usize,
}

/// An open file, and where its range ends: nothing beyond it is read.
pub(crate) struct Bounded {
    file: File,
    end: u64,
}

impl Way for Buffered {
    const KEEPS: bool = true;

    type Shared = Bounded;
    /// What the buffer holds of the file, from its start.
    type Own = Span;
    type Access<'a> = Window<'a>;

    /// Room for the longest access, too.
    fn buffer_bytes(&self, task: &Task) -> usize {
        self.bytes.max(task.block())
    }

    fn open(&self, place: Place) -> Result<Bounded, Fault> {
        Ok(Bounded { file: self.hint.open(place)?, end: place.range.end() })
    }

    fn own(&self, _: &Bounded, _: &mut Buffer) -> Result<Span, Fault> {
        Ok(Span::default())
    }

    fn access<'a>(&'a self, of: &'a Bounded, held: &'a mut Span, buffer: &'a mut Buffer) -> Window<'a> {
        Window { file: &of.file, buffer, fill_bytes: self.bytes as u64, held, end: of.end }
    }

    fn forget(&self, held: &mut Span) {
        *held = Span::default();
    }
}

pub(crate) struct Window<'a> {
    file: &'a File,
    buffer: &'a mut [u8],
    fill_bytes: u64,
    held: &'a mut Span,
    end: u64,
}

impl Window<'_> {
    /// Fills the buffer from the start of `span` on, as far as it and the range go; or reads what is longer than the buffer.
    fn fill(&mut self, span: Span) -> io::Result<()> {
        // Unknown until it is read.
        *self.held = Span::default();
        let rest = self.end.saturating_sub(span.offset);
        let room =
            self.buffer.get_mut(..self.fill_bytes.max(span.bytes).min(rest) as usize).ok_or_else(out_of_range)?;
        if (room.len() as u64) < span.bytes {
            return Err(out_of_range());
        }
        let mut done = 0;
        // What is needed: a file that ends within the buffer is no error.
        while (done as u64) < span.bytes {
            match rustix::io::pread(self.file, &mut room[done..], span.offset + done as u64) {
                Ok(0) => return Err(became_shorter()),
                Ok(bytes) => done += bytes,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        if span.bytes <= self.fill_bytes {
            *self.held = Span { offset: span.offset, bytes: done as u64 };
        }
        Ok(())
    }
}

impl Access for Window<'_> {
    const PRIVATE: bool = true;

    #[inline(always)]
    fn view(&mut self, span: Span) -> io::Result<&[u8]> {
        let is_held = span.offset >= self.held.offset && span.end() <= self.held.end();
        if !is_held {
            self.fill(span)?;
        }
        let start = if is_held { (span.offset - self.held.offset) as usize } else { 0 };
        self.buffer.get(start..start + span.bytes as usize).ok_or_else(out_of_range)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn an_access_that_is_longer_than_the_buffer_is_read_by_itself_and_changes_no_other_call() {
        let content: Vec<u8> = (0..100_000u32).map(|it| (it / 7) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&content).unwrap();
        let (fill_bytes, end) = (8192, content.len() as u64);
        let mut room = vec![0; 50_000];
        let mut held = Span::default();
        let mut window = Window { file: &file, buffer: &mut room, fill_bytes, held: &mut held, end };
        // What is asked for, and what the buffer holds then.
        let steps = [
            ((4096, 4096), (4096, 8192)),
            ((8192, 4096), (4096, 8192)),
            ((10_000, 50_000), (0, 0)),
            ((12_000, 100), (12_000, 8192)),
            ((20_000, 8192), (20_000, 8192)),
            ((99_000, 1000), (99_000, 1000)),
        ];
        let span = |(offset, bytes)| Span { offset, bytes };
        for (asked, held) in steps {
            let asked = span(asked);
            assert_eq!(window.view(asked).unwrap(), &content[asked.offset as usize..asked.end() as usize]);
            assert_eq!(*window.held, span(held), "{asked:?}");
        }
        assert!(window.view(span((99_000, 1001))).is_err(), "nothing beyond the range");
    }
}
