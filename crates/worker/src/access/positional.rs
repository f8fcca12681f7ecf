//! Reads at an explicit offset into one reused buffer: everything but the system call, which is a type, so that the
//! timed loop is compiled once for each.

use std::{fs::File, io, marker::PhantomData};

use schema::Span;

use super::{Access, Way, advised::Hint, fill, out_of_range};
use crate::{
    buffer::Buffer,
    task::{Fault, Place, Task},
};

/// The system call.
pub(crate) trait Call: Send + Sync + 'static {
    /// As pread(2): how many bytes came, which may be fewer than there is room for.
    fn read(file: &File, room: &mut [u8], offset: u64) -> rustix::io::Result<usize>;
}

/// pread(2).
pub(crate) struct PreadCall;

impl Call for PreadCall {
    #[inline(always)]
    fn read(file: &File, room: &mut [u8], offset: u64) -> rustix::io::Result<usize> {
        rustix::io::pread(file, room, offset)
    }
}

/// The way of a method that is such a call.
pub(crate) struct Positional<C> {
    hint: Hint,
    call: PhantomData<C>,
}

impl<C: Call> Positional<C> {
    pub(crate) const WAY: Positional<C> = Positional::advised(Hint::NONE);

    pub(crate) const fn advised(hint: Hint) -> Positional<C> {
        Positional { hint, call: PhantomData }
    }
}

impl<C: Call> Way for Positional<C> {
    type Shared = File;
    type Own = ();
    type Access<'a> = OffsetReader<'a, C>;

    fn buffer_bytes(&self, task: &Task) -> usize {
        task.block()
    }

    fn open(&self, place: Place) -> Result<File, Fault> {
        self.hint.open(place)
    }

    fn own(&self, _: &File, _: &mut Buffer) -> Result<(), Fault> {
        Ok(())
    }

    fn access<'a>(&'a self, file: &'a File, _: &'a mut (), buffer: &'a mut Buffer) -> OffsetReader<'a, C> {
        OffsetReader { file, buffer, call: PhantomData }
    }
}

pub(crate) struct OffsetReader<'a, C> {
    file: &'a File,
    buffer: &'a mut [u8],
    call: PhantomData<C>,
}

impl<C: Call> Access for OffsetReader<'_, C> {
    const PRIVATE: bool = true;

    #[inline(always)]
    fn view(&mut self, span: Span) -> io::Result<&[u8]> {
        let room = self.buffer.get_mut(..span.bytes as usize).ok_or_else(out_of_range)?;
        fill(room, span.bytes as usize, |rest, done| C::read(self.file, rest, span.offset + done))?;
        Ok(room)
    }
}
