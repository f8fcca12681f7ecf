//! `write(2)` and `pwrite(2)`, through the page cache or around it.

use std::{
    fs::File,
    io::{self, ErrorKind},
};

use rustix::fs::OFlags;
use schema::{Durability, Span};

use crate::{
    access::fill,
    task::{Fault, Refusal, Task},
};

use super::{Writer, stamped};

/// How offsets reach the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// With each call.
    Offset,
    /// The file's own position; lseek(2) where that is elsewhere.
    Position,
}

pub(super) struct Calls {
    file: File,
    by: By,
    /// Where the file's position is, if it is used.
    at: u64,
    syncs_each: bool,
    syncs_at_end: bool,
}

/// Why this arm cannot do it.
pub(super) fn support(task: &Task) -> Result<(), String> {
    match (task.arm.word("sync"), task.job.durability) {
        ("o-dsync" | "o-sync", Durability::None | Durability::SyncEnd) => {
            Err("a file opened with O_SYNC or O_DSYNC syncs every write, which is durability sync-each".into())
        }
        _ => Ok(()),
    }
}

/// The flag of open(2) that makes each write durable.
pub(super) fn sync_flags(task: &Task) -> OFlags {
    match task.arm.word("sync") {
        "o-sync" => OFlags::SYNC,
        "o-dsync" => OFlags::DSYNC,
        _ => OFlags::empty(),
    }
}

impl Calls {
    pub(super) fn open(task: &Task, by: By, around_the_cache: bool) -> Result<Calls, Fault> {
        let mut flags = sync_flags(task);
        let by_flag = !flags.is_empty();
        if around_the_cache {
            flags |= OFlags::DIRECT;
        }
        Ok(Calls {
            file: super::open(task, flags)?,
            by,
            at: 0,
            syncs_each: task.job.durability == Durability::SyncEach && !by_flag,
            syncs_at_end: task.job.durability == Durability::SyncEnd,
        })
    }

    fn go_to(&mut self, offset: u64) -> io::Result<()> {
        if self.by == By::Position && self.at != offset {
            rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Start(offset))?;
            self.at = offset;
        }
        Ok(())
    }

    fn write(&mut self, span: Span, bytes: &[u8]) -> io::Result<()> {
        self.go_to(span.offset)?;
        all(&self.file, self.by, bytes, span.offset)?;
        self.at = span.end();
        if self.syncs_each { self.file.sync_data() } else { Ok(()) }
    }
}

/// All of it, by as many calls as it takes.
fn all(file: &File, by: By, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = match by {
            By::Offset => rustix::io::pwrite(file, bytes, offset),
            By::Position => rustix::io::write(file, bytes),
        };
        match written {
            Ok(0) => return Err(io::Error::new(ErrorKind::WriteZero, "the kernel wrote nothing")),
            Ok(count) => {
                bytes = &bytes[count..];
                offset += count as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

impl Writer for Calls {
    fn put(&mut self, span: Span, own: &mut [u8]) -> io::Result<()> {
        self.write(span, stamped(own, span))
    }

    fn load<'a>(&'a mut self, span: Span, own: &'a mut [u8]) -> io::Result<&'a mut [u8]> {
        self.go_to(span.offset)?;
        let room = &mut own[..span.bytes as usize];
        fill(room, room.len(), |rest, done| match self.by {
            By::Offset => rustix::io::pread(&self.file, rest, span.offset + done),
            By::Position => rustix::io::read(&self.file, rest),
        })?;
        self.at = span.end();
        Ok(room)
    }

    fn store(&mut self, span: Span, own: &mut [u8]) -> io::Result<()> {
        self.write(span, &own[..span.bytes as usize])
    }

    fn finish(&mut self, _: &mut [u8]) -> io::Result<()> {
        if self.syncs_at_end { self.file.sync_data() } else { Ok(()) }
    }

    /// Has no mapping, so no pages of the page cache are pinned.
    fn lock(&mut self) -> Result<(), Refusal> {
        Ok(())
    }
}
