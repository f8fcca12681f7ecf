//! Stores through a shared mapping: of the whole range, or of each block for itself as some programs do it.
//!
//! `msync(2)` with MS_SYNC is the only thing that brings a store to the device; munmap(2) does not (it leaves the page
//! dirty in the page cache), and neither does O_SYNC of the descriptor, which is about write(2).

use std::{
    fs::File,
    io,
    ptr::{self, NonNull},
};

use rustix::{
    mm::{Advice, MapFlags, MsyncFlags, ProtFlags},
    param::page_size,
};
use schema::{Durability, Span, Workload};

use crate::{
    mapping::lock_refused,
    task::{Fault, Refusal, Task, at},
};

use super::Writer;

/// A writable shared mapping of the pages that hold a span.
struct Window {
    address: NonNull<u8>,
    bytes: usize,
    /// Where the first mapped page begins in the file.
    base: u64,
}

// SAFETY: the mapping belongs to the process, not to a thread, and only its owner stores through it.
unsafe impl Send for Window {}

impl Window {
    fn new(file: &File, span: Span, flags: MapFlags) -> io::Result<Window> {
        let base = span.offset - span.offset % page_size() as u64;
        let bytes = usize::try_from(span.end() - base).map_err(io::Error::other)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that exists.
        let address = unsafe { rustix::mm::mmap(ptr::null_mut(), bytes, protection, flags, file, base) }?;
        let address = NonNull::new(address.cast()).expect("mmap never succeeds with address 0");
        Ok(Window { address, bytes, base })
    }

    fn room(&mut self, span: Span) -> io::Result<&mut [u8]> {
        // SAFETY: `bytes` bytes are mapped writable until `drop`, and `&mut self` makes this the only access in this
        // process; the file is faultline's own.
        let all = unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.bytes) };
        let start = span.offset.checked_sub(self.base).and_then(|it| usize::try_from(it).ok());
        start
            .and_then(|start| all.get_mut(start..start + span.bytes as usize))
            .ok_or_else(|| io::Error::other("a span outside of what was mapped: a bug in faultline"))
    }

    /// The pages of a span, to the device.
    fn sync(&mut self, span: Span) -> io::Result<()> {
        let page = page_size() as u64;
        let start = (span.offset - self.base) / page * page;
        let bytes = span.end() - self.base - start;
        // SAFETY: `start` lies within the mapping, because `span` does.
        let address = unsafe { self.address.as_ptr().add(start as usize) };
        // SAFETY: the pages are this mapping's own; msync(2) changes nothing in memory.
        Ok(unsafe { rustix::mm::msync(address.cast(), bytes as usize, MsyncFlags::SYNC) }?)
    }

    fn advise(&self, advice: Advice) -> io::Result<()> {
        // SAFETY: the pages are this value's own, and the advices used here do not change their contents.
        Ok(unsafe { rustix::mm::madvise(self.address.as_ptr().cast(), self.bytes, advice) }?)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and no borrow of it outlives `self`. A failure would only leak it.
        let _ = unsafe { rustix::mm::munmap(self.address.as_ptr().cast(), self.bytes) };
    }
}

/// The window goes before the file.
pub(super) struct Mapped {
    window: Option<Window>,
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
    match task.arm.word("advice") {
        "normal" => Ok(()),
        advice => Err(format!("advice {advice} is about reading; a mapping that is written has none")),
    }
}

impl Mapped {
    pub(super) fn open(task: &Task) -> Result<Mapped, Fault> {
        let file = super::open(task, rustix::fs::OFlags::empty())?;
        let mut flags = MapFlags::SHARED;
        let populate = match task.arm.word("populate") {
            "map-populate" => {
                flags |= MapFlags::POPULATE;
                None
            }
            "populate-read" => Some(Advice::LinuxPopulateRead),
            "populate-write" => Some(Advice::LinuxPopulateWrite),
            _ => None,
        };
        let per_block = task.arm.word("window") == "per-block";
        let appends = task.job.workload == Workload::Append;
        let range = task.pattern.range;
        let mut mapped =
            Mapped { window: None, file, range, durability: task.job.durability, flags, populate, per_block, appends };
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

    fn map(&mut self, span: Span) -> io::Result<&mut Window> {
        let window = Window::new(&self.file, span, self.flags)?;
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

impl Writer for Mapped {
    fn put(&mut self, span: Span, source: &[u8]) -> io::Result<()> {
        self.window(span)?.copy_from_slice(source);
        self.written(span)
    }

    fn load(&mut self, span: Span) -> io::Result<&mut [u8]> {
        self.window(span)
    }

    fn store(&mut self, span: Span) -> io::Result<()> {
        self.written(span)
    }

    fn finish(&mut self) -> io::Result<()> {
        match (self.durability, self.range, &mut self.window) {
            (Durability::SyncEnd, range, Some(window)) => window.sync(range),
            // Its windows are gone; the descriptor is what is left to sync by.
            (Durability::SyncEnd, _, None) => self.file.sync_data(),
            _ => Ok(()),
        }
    }

    fn lock(&mut self) -> Result<(), Refusal> {
        let Some(window) = &self.window else { return Ok(()) };
        // SAFETY: the pages are mapped; mlock(2) changes where they may live, not what they hold.
        unsafe { rustix::mm::mlock(window.address.as_ptr().cast(), window.bytes) }
            .map_err(|errno| Refusal::Unavailable(lock_refused(self.range.bytes, &errno.into())))
    }
}
