//! `write(2)` and `pwrite(2)`, through the page cache or around it.

use std::{
    fs::File,
    io::{self, ErrorKind},
};

use rustix::fs::OFlags;
use schema::{Durability, Span};

use crate::{
    buffer::Buffer,
    task::{Fault, Refusal, Task, at},
};

use super::Writer;

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
    /// What `update` changes.
    buffer: Buffer,
    syncs_each: bool,
    syncs_at_end: bool,
}

/// Why this arm cannot do it.
pub(super) fn support(task: &Task) -> Result<(), String> {
    match (task.arm.word("sync"), task.job.durability) {
        ("o-dsync" | "o-sync", Durability::None | Durability::SyncEnd) => {
            Err("a file opened with O_SYNC or O_DSYNC syncs every write: that is durability sync-each".into())
        }
        _ => Ok(()),
    }
}

impl Calls {
    pub(super) fn open(task: &Task, by: By, around_the_cache: bool) -> Result<Calls, Fault> {
        let mut flags = match task.arm.word("sync") {
            "o-sync" => OFlags::SYNC,
            "o-dsync" => OFlags::DSYNC,
            _ => OFlags::empty(),
        };
        let by_flag = !flags.is_empty();
        if around_the_cache {
            flags |= OFlags::DIRECT;
        }
        Ok(Calls {
            file: super::open(task, flags)?,
            by,
            at: 0,
            buffer: Buffer::new(task.block()).map_err(at("a buffer"))?,
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
    fn put(&mut self, span: Span, source: &[u8]) -> io::Result<()> {
        self.go_to(span.offset)?;
        all(&self.file, self.by, source, span.offset)?;
        self.at = span.end();
        if self.syncs_each { self.file.sync_data() } else { Ok(()) }
    }

    fn load(&mut self, span: Span) -> io::Result<&mut [u8]> {
        self.go_to(span.offset)?;
        let wanted = span.bytes as usize;
        let mut done = 0;
        while done < wanted {
            let room = &mut self.buffer[done..wanted];
            let read = match self.by {
                By::Offset => rustix::io::pread(&self.file, room, span.offset + done as u64),
                By::Position => rustix::io::read(&self.file, room),
            };
            match read {
                Ok(0) => return Err(crate::method::became_shorter()),
                Ok(count) => done += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        self.at = span.end();
        Ok(&mut self.buffer[..wanted])
    }

    fn store(&mut self, span: Span) -> io::Result<()> {
        self.go_to(span.offset)?;
        all(&self.file, self.by, &self.buffer[..span.bytes as usize], span.offset)?;
        self.at = span.end();
        if self.syncs_each { self.file.sync_data() } else { Ok(()) }
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.syncs_at_end { self.file.sync_data() } else { Ok(()) }
    }

    /// Pages of the page cache, if there are any, are pinned by nobody.
    fn lock(&mut self) -> Result<(), Refusal> {
        Ok(())
    }
}
