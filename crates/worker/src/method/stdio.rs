//! `fread(3)` with the C library's own buffer and its own locking, and the same of a stream that glibc maps (mode
//! `"rm"`).
//!
//! `setvbuf` is not called: the default buffer is what programs have. `fseeko(3)` comes before a block only when the
//! stream is elsewhere, because it discards or refills the buffer. Both end with a copy into the caller's buffer, the
//! mapped one too. glibc maps the file at the first `fread`, so that this is part of the phase "work" and not of
//! "open".

use std::{
    ffi::CString,
    io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    ptr::NonNull,
};

use schema::Span;

use super::{Method, one_position};
use crate::{
    access::{Access, Way, became_shorter, out_of_range},
    buffer::Buffer,
    session::{self, Session},
    task::{Fault, Place, Refusal, Task, at},
};

#[derive(Clone, Copy)]
pub(super) struct Stdio {
    /// glibc's opt-in: `fopen(path, "rm")`.
    pub mapped: bool,
}

impl Method for Stdio {
    fn name(&self) -> &'static str {
        if self.mapped { "stdio-mmap" } else { "stdio" }
    }

    fn support(&self, task: &Task) -> Result<(), String> {
        one_position(task, self.name())?;
        if !self.mapped {
            return Ok(());
        }
        if !cfg!(target_env = "gnu") {
            return Err(
                "only glibc maps a stream (fopen mode \"rm\"); this worker was built for another C library".into()
            );
        }
        // glibc falls back to reading silently. So a stream is opened, one byte is read, and /proc shows whether this file
        // has a new mapping.
        let mappings = || mappings_of(task).map_err(|error| format!("/proc/self/maps: {error}"));
        let before = mappings()?;
        let stream = Stream::open(task.place(), self.mapped).map_err(|fault| fault.to_string())?;
        stream.read(&mut [0]).map_err(|error| format!("fread(3): {error}"))?;
        match mappings()? > before {
            true => Ok(()),
            false => Err("glibc did not map the file although the stream was opened with mode \"rm\"".into()),
        }
    }

    fn session(&self, task: Task) -> Result<Box<dyn Session>, Refusal> {
        session::prepare(*self, task)
    }
}

/// How many mappings of the task's file this process has, by inode: paths may hold anything.
fn mappings_of(task: &Task) -> io::Result<usize> {
    let inode = std::fs::metadata(&task.path)?.ino().to_string();
    let maps = std::fs::read("/proc/self/maps")?;
    let inodes = maps
        .split(|&byte| byte == b'\n')
        .filter_map(|line| line.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).nth(4));
    Ok(inodes.filter(|word| *word == inode.as_bytes()).count())
}

impl Way for Stdio {
    type Shared = Stream;
    /// The position of the stream, which is used here alone.
    type Own = u64;
    type Access<'a> = StreamReader<'a>;

    fn buffer_bytes(&self, task: &Task) -> usize {
        task.block()
    }

    fn open(&self, place: Place) -> Result<Stream, Fault> {
        Stream::open(place, self.mapped)
    }

    fn own(&self, _: &Stream, _: &mut Buffer) -> Result<u64, Fault> {
        Ok(0)
    }

    fn access<'a>(&'a self, stream: &'a Stream, position: &'a mut u64, buffer: &'a mut Buffer) -> StreamReader<'a> {
        StreamReader { stream, position, buffer }
    }
}

/// A `FILE *`.
pub(super) struct Stream(NonNull<libc::FILE>);

// SAFETY: a stream belongs to the process, not to a thread.
unsafe impl Send for Stream {}
// SAFETY: the stdio calls used here lock the stream (POSIX, flockfile).
unsafe impl Sync for Stream {}

impl Stream {
    fn open(place: Place, mapped: bool) -> Result<Stream, Fault> {
        let path = CString::new(place.path.as_os_str().as_bytes()).map_err(at("fopen(3)"))?;
        let mode = if mapped { c"rme" } else { c"re" };
        // SAFETY: both are NUL-terminated strings that outlive the call.
        let stream = unsafe { libc::fopen(path.as_ptr(), mode.as_ptr()) };
        NonNull::new(stream).map(Stream).ok_or_else(|| at("fopen(3)")(io::Error::last_os_error()))
    }

    #[inline(always)]
    fn read(&self, room: &mut [u8]) -> io::Result<()> {
        // SAFETY: the stream is open until `drop`; `room` is writable for its whole length.
        let bytes = unsafe { libc::fread(room.as_mut_ptr().cast(), 1, room.len(), self.0.as_ptr()) };
        if bytes == room.len() { Ok(()) } else { Err(self.why_short()) }
    }

    #[cold]
    fn why_short(&self) -> io::Error {
        let error = io::Error::last_os_error();
        // SAFETY: the stream is open until `drop`.
        let failed = unsafe { libc::ferror(self.0.as_ptr()) } != 0;
        // SAFETY: as above. A later pass over the same stream starts without this one's mark.
        unsafe { libc::clearerr(self.0.as_ptr()) };
        if failed { error } else { became_shorter() }
    }

    fn seek(&self, offset: u64) -> io::Result<()> {
        let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        // SAFETY: the stream is open until `drop`.
        match unsafe { libc::fseeko(self.0.as_ptr(), offset, libc::SEEK_SET) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and it is not used after this.
        unsafe { libc::fclose(self.0.as_ptr()) };
    }
}

pub(super) struct StreamReader<'a> {
    stream: &'a Stream,
    position: &'a mut u64,
    buffer: &'a mut [u8],
}

impl Access for StreamReader<'_> {
    const PRIVATE: bool = true;

    #[inline(always)]
    fn view(&mut self, span: Span) -> io::Result<&[u8]> {
        let room = self.buffer.get_mut(..span.bytes as usize).ok_or_else(out_of_range)?;
        if *self.position != span.offset {
            // Unknown until the block is read: an error in between must not leave a position that is wrong.
            *self.position = u64::MAX;
            self.stream.seek(span.offset)?;
        }
        self.stream.read(room)?;
        *self.position = span.end();
        Ok(room)
    }
}
