//! The ring that a program fills and this process empties: Documentation/bpf/ringbuf.rst. What was put in is in the order
//! of time, whatever CPU it came from.

use std::{
    ffi::c_void,
    os::fd::OwnedFd,
    ptr::NonNull,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::{MAP_CREATE, NewMap, RING, descriptor, explain};
use crate::page_bytes;

/// Marks in a record's first word, beside its length.
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
const HEADER_BYTES: u64 = 8;

pub struct Ring {
    pub(super) map: OwnedFd,
    /// How far it was read; the only page that may be written to.
    read: RingMapping,
    /// `Mark`'s page that says how far it was written, then the records, twice in a row: one that goes over the end is whole.
    written: RingMapping,
    bytes: u64,
}

struct RingMapping(NonNull<c_void>, usize);

/// Tells how far a ring is filled at a moment: records handed out with a smaller place were begun before it.
pub struct Mark(RingMapping);

impl Mark {
    pub fn now(&self) -> u64 {
        acquired(self.0.position().load(Ordering::Relaxed))
    }
}

/// What was loaded before is seen whole from here on. Of memory that is mapped for reading only, a relaxed load is the only
/// one that Rust allows (std::sync::atomic, "Atomic accesses to read-only memory"); the fence makes up for the rest.
fn acquired<T>(loaded: T) -> T {
    fence(Ordering::Acquire);
    loaded
}

impl RingMapping {
    /// Both pages begin with one.
    fn position(&self) -> &AtomicU64 {
        // SAFETY: it is there as long as the mapping is; the kernel changes it atomically.
        unsafe { self.0.cast().as_ref() }
    }
}

// SAFETY: it is memory of this process, wherever it is used from.
unsafe impl Send for RingMapping {}

impl Drop for RingMapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing borrows from it any more.
        let _ = unsafe { munmap(self.0.as_ptr(), self.1) };
    }
}

fn mapped(ring: &OwnedFd, bytes: usize, access: ProtFlags, from: usize) -> Result<RingMapping, String> {
    // SAFETY: a place that the kernel chooses overlaps nothing.
    let start = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, ring, from as u64) };
    let start = start.map_err(|error| explain(&error.into()))?;
    Ok(RingMapping(NonNull::new(start).ok_or("a ring at address 0")?, bytes))
}

impl Ring {
    /// Of a power of two of bytes, a page at least.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn new(bytes: u32) -> Result<Ring, String> {
        // SAFETY: no addresses; the result is the ring.
        let map = unsafe { descriptor(MAP_CREATE, &NewMap { kind: RING, entries: bytes, ..NewMap::default() }) }?;
        let page = page_bytes() as usize;
        let read = mapped(&map, page, ProtFlags::READ | ProtFlags::WRITE, 0)?;
        let written = mapped(&map, page + 2 * bytes as usize, ProtFlags::READ, page)?;
        Ok(Ring { map, read, written, bytes: bytes.into() })
    }

    /// # Errors
    /// What the kernel refused.
    pub fn mark(&self) -> Result<Mark, String> {
        let page = page_bytes() as usize;
        mapped(&self.map, page, ProtFlags::READ, page).map(Mark)
    }

    /// Hands out what has come in since the last time, each record with its place.
    pub fn drain(&mut self, mut each: impl FnMut(u64, &[u8])) {
        let (read, written) = (self.read.position(), self.written.position());
        let mut at = read.load(Ordering::Relaxed);
        while at < acquired(written.load(Ordering::Relaxed)) {
            let offset = (page_bytes() + at % self.bytes) as usize;
            // SAFETY: records are aligned to eight bytes, and the memory after the page is there twice.
            let start = unsafe { self.written.0.byte_add(offset) };
            // SAFETY: as above; the first word is changed atomically.
            let header = acquired(unsafe { start.cast::<AtomicU32>().as_ref() }.load(Ordering::Relaxed));
            if header & BUSY != 0 {
                break;
            }
            let bytes = u64::from(header & !DISCARDED).min(self.bytes - HEADER_BYTES);
            if header & DISCARDED == 0 {
                // SAFETY: it was written as a whole before its mark was taken away, and stays until `read` goes on.
                let record = unsafe {
                    std::slice::from_raw_parts(start.byte_add(HEADER_BYTES as usize).cast().as_ptr(), bytes as usize)
                };
                each(at, record);
            }
            at += (bytes + HEADER_BYTES).next_multiple_of(8);
            read.store(at, Ordering::Release);
        }
    }
}
