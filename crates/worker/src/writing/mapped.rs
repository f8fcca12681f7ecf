//! Stores through a shared mapping: of the whole range, or of each block for itself as some programs do it.
//!
//! `msync(2)` with MS_SYNC is the only thing that brings a store to the device; munmap(2) does not (it leaves the page
//! dirty in the page cache), and neither does O_SYNC of the descriptor, which is about write(2).

use std::{fs::File, io};

use rustix::mm::{Advice, MapFlags};
use schema::{Durability, Span, Workload, protocol::Hold};

use crate::{
    mapping::{Writable, lock_refused},
    task::{Fault, Refusal, Task, at},
};

use super::{Writer, stamped};

/// The window goes before the file.
pub(super) struct MappedWriter {
    window: Option<Writable>,
    file: File,
    range: Span,
    durability: Durability,
    flags: MapFlags,
    populate: Option<Advice>,
    per_block: bool,
    appends: bool,
}

/// Why this arm cannot do it.
pub(super) fn support(task: &Task) -> Result<(), String> {
    if task.arm.word("sharing") == "private" {
        return Err("a private mapping never changes the file (mmap(2), MAP_PRIVATE)".into());
    }
    if is_per_block(task) && matches!(task.job.hold, Hold::Warm | Hold::Locked) {
        return Err(
            "with window=per-block each block has a mapping of its own, and none is there before the pass".into()
        );
    }
    Ok(())
}

fn is_per_block(task: &Task) -> bool {
    task.arm.word("window") == "per-block"
}

impl MappedWriter {
    pub(super) fn open(task: &Task) -> Result<MappedWriter, Fault> {
        let file = super::open(task, rustix::fs::OFlags::empty())?;
        let mut flags = MapFlags::empty();
        let populate = match task.arm.word("populate") {
            "map-populate" => {
                flags |= MapFlags::POPULATE;
                None
            }
            "populate-read" => Some(Advice::LinuxPopulateRead),
            "populate-write" => Some(Advice::LinuxPopulateWrite),
            _ => None,
        };
        let per_block = is_per_block(task);
        let appends = task.job.workload == Workload::Append;
        let range = task.pattern.range;
        let mut mapped = MappedWriter {
            window: None,
            file,
            range,
            durability: task.job.durability,
            flags,
            populate,
            per_block,
            appends,
        };
        if !per_block {
            // What is beyond the end of a file cannot be stored to: a program that appends through a mapping makes the
            // file longer first.
            if appends {
                mapped.file.set_len(range.end()).map_err(at("ftruncate(2)"))?;
            }
            mapped.map(range).map_err(at("mmap(2)"))?;
        }
        Ok(mapped)
    }

    fn map(&mut self, span: Span) -> io::Result<&mut Writable> {
        let window = Writable::new(&self.file, span, self.flags)?;
        if let Some(advice) = self.populate {
            window.advise(advice)?;
        }
        Ok(self.window.insert(window))
    }

    fn window(&mut self, span: Span) -> io::Result<&mut [u8]> {
        if self.per_block {
            if self.appends {
                self.file.set_len(span.end())?;
            }
            self.map(span)?;
        }
        self.window.as_mut().ok_or_else(|| io::Error::other("nothing is mapped: a bug in faultline"))?.room(span)
    }

    fn written(&mut self, span: Span) -> io::Result<()> {
        if let Some(window) = self.window.as_mut().filter(|_| self.durability == Durability::SyncEach) {
            window.sync(span)?;
        }
        if self.per_block {
            self.window = None;
        }
        Ok(())
    }
}

impl Writer for MappedWriter {
    fn put(&mut self, span: Span, own: &mut [u8]) -> io::Result<()> {
        self.window(span)?.copy_from_slice(stamped(own, span));
        self.written(span)
    }

    fn load<'a>(&'a mut self, span: Span, _: &'a mut [u8]) -> io::Result<&'a mut [u8]> {
        self.window(span)
    }

    fn store(&mut self, span: Span, _: &mut [u8]) -> io::Result<()> {
        self.written(span)
    }

    fn finish(&mut self, _: &mut [u8]) -> io::Result<()> {
        match (self.durability, self.range, &mut self.window) {
            (Durability::SyncEnd, range, Some(window)) => window.sync(range),
            // Its windows are gone; the descriptor is what is left to sync by.
            (Durability::SyncEnd, _, None) => self.file.sync_data(),
            _ => Ok(()),
        }
    }

    fn lock(&mut self) -> Result<(), Refusal> {
        let Some(window) = &self.window else { return Ok(()) };
        window.lock().map_err(|error| Refusal::Unavailable(lock_refused(self.range.bytes, &error)))
    }
}
