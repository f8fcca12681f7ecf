//! How bytes of a file are reached: the contract between the timed loop and the methods, and what several methods share.
//!
//! `Access` decides what is measured: it hands out a slice of bytes. That of a mapping is the mapping itself, that of `pread`
//! a buffer that the call has filled; whether bytes are copied is what methods differ in. `Way` is how a method gets
//! from a path to an access, in parts that the session opens, times, keeps and closes.

use std::{fs::File, io, os::unix::fs::OpenOptionsExt};

use rustix::io::Errno;
use schema::Span;

use crate::{
    buffer::Buffer,
    source::Spans,
    task::{Fault, Place, Task, at},
};

pub(crate) use crate::source::out_of_range;

pub(crate) mod advised;
pub(crate) mod buffered;
pub(crate) mod positional;

/// What the timed loop sees of a file.
pub(crate) trait Access {
    /// The lent bytes lie in private memory of the process: nothing has to be copied for `copy`.
    const PRIVATE: bool;

    /// The bytes of `span`, all of them: a file that ends early is an error.
    fn view(&mut self, span: Span) -> io::Result<&[u8]>;

    /// Many spans, in any order. Methods with several reads in flight override this, and the one that has them all in memory;
    /// the others take them one by one.
    #[inline(always)]
    fn view_each(&mut self, spans: impl Spans, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        for span in spans {
            each(self.view(span)?);
        }
        Ok(())
    }
}

/// How a method gets from a path to an access. The session calls these in this order, and drops the results in the
/// opposite order to close: `open` and `own` are the phase "open", dropping `Own` and `Shared` is the phase "close".
pub(crate) trait Way: Send + Sync + 'static {
    /// Whether later accesses are served from what earlier ones left in the buffer, so that each open file needs its own.
    const KEEPS: bool = false;

    /// What threads may have in common: an open file, a mapping.
    type Shared: Send + Sync;
    /// What each thread has for itself: a position in the file, a ring.
    type Own: Send;
    type Access<'a>: Access
    where
        Self: 'a;

    /// The size of a thread's buffer; the session allocates it before the clock starts.
    fn buffer_bytes(&self, task: &Task) -> usize;

    fn open(&self, place: Place) -> Result<Self::Shared, Fault>;

    fn own(&self, shared: &Self::Shared, buffer: &mut Buffer) -> Result<Self::Own, Fault>;

    /// No system call is made here.
    fn access<'a>(
        &'a self,
        shared: &'a Self::Shared,
        own: &'a mut Self::Own,
        buffer: &'a mut Buffer,
    ) -> Self::Access<'a>;

    /// What `buffer` holds is not of use any more: a pass begins, or accesses of another file have been in it.
    fn forget(&self, _own: &mut Self::Own) {}

    /// Pins the pages of the range through the method's own mapping; `Ok(false)` when it has none.
    fn lock(&self, _shared: &Self::Shared) -> io::Result<bool> {
        Ok(false)
    }

    /// Reads do not go through the page cache, so that there is nothing to warm.
    fn is_uncached(&self) -> bool {
        false
    }

    /// Reads in flight per thread.
    fn queue_depth(&self) -> u32 {
        1
    }
}

/// The file, for reading only; `flags` beyond that.
pub(crate) fn open(place: Place, flags: rustix::fs::OFlags) -> io::Result<File> {
    File::options().read(true).custom_flags(flags.bits() as i32).open(place.path)
}

/// The file, for reading only. `O_CLOEXEC` is the standard library's habit.
pub(crate) fn open_plain(place: Place) -> Result<File, Fault> {
    open(place, rustix::fs::OFlags::empty()).map_err(at("open(2)"))
}

/// Fills at least `needed` bytes of `room`, by as many reads as it takes: `read(room, done)` reads into the rest of
/// the room, `done` bytes further on. Every private synchronous method is this loop around its system call.
#[inline(always)]
pub(crate) fn fill(
    room: &mut [u8],
    needed: usize,
    mut read: impl FnMut(&mut [u8], u64) -> rustix::io::Result<usize>,
) -> io::Result<()> {
    let mut done = 0;
    while done < needed {
        match read(&mut room[done..], done as u64) {
            Ok(0) => return Err(became_shorter()),
            Ok(bytes) => done += bytes,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

#[cold]
pub(crate) fn became_shorter() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file was truncated after the pass was prepared")
}
