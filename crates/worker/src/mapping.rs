//! A mapping of a window of a file: what `mmap` lends, what pins pages for methods that have no mapping, and what stores go
//! to. It decides nothing about advice; `method/mmap.rs` and `writing/mapped.rs` do.

use std::{fs::File, io, ops::Deref, ptr, ptr::NonNull};

use rustix::{
    mm::{Advice, MapFlags, ProtFlags},
    param::page_size,
    process::{Resource, getrlimit},
};
use schema::{Bytes, Span};

/// The pages that hold `range`, and no others: the size of the address range and of the page table is that of the work.
#[derive(Debug)]
pub(crate) struct Mapping {
    address: NonNull<u8>,
    bytes: usize,
    /// Where the first mapped page begins in the file.
    base: u64,
}

// SAFETY: the mapping belongs to the process, not to a thread, and a shared borrow only reads.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `flags` is MAP_SHARED or MAP_PRIVATE, and MAP_POPULATE if wanted. `range` must end within the file, so that no
    /// page beyond its last one is mapped.
    pub(crate) fn new(file: &File, range: Span, flags: MapFlags) -> io::Result<Mapping> {
        Mapping::with(file, range, ProtFlags::READ, flags)
    }

    fn with(file: &File, range: Span, protection: ProtFlags, flags: MapFlags) -> io::Result<Mapping> {
        let base = range.offset - range.offset % page_size() as u64;
        let bytes = usize::try_from(range.end() - base).map_err(io::Error::other)?;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that exists.
        let address = unsafe { rustix::mm::mmap(ptr::null_mut(), bytes, protection, flags, file, base) }?;
        let address = NonNull::new(address.cast()).expect("mmap never succeeds with address 0");
        Ok(Mapping { address, bytes, base })
    }

    /// From the first mapped page to the end of the range.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `bytes` bytes are mapped readable until `drop`. That no process writes the file meanwhile is
        // faultline's rule for its targets (docs/ARCHITECTURE.md): a writer could change what the slice holds, as
        // with every mapping of a file, and a truncation ends this process with SIGBUS, which the controller reports
        // by that name.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.bytes) }
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn advise(&self, advice: Advice) -> io::Result<()> {
        // SAFETY: the pages are this value's own, and the advices used here neither discard nor change their contents.
        Ok(unsafe { rustix::mm::madvise(self.address.as_ptr().cast(), self.bytes, advice) }?)
    }

    /// Pins every page until the mapping goes.
    pub(crate) fn lock(&self) -> io::Result<()> {
        // SAFETY: the pages are mapped; mlock(2) changes where they may live, not what they hold.
        Ok(unsafe { rustix::mm::mlock(self.address.as_ptr().cast(), self.bytes) }?)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and no borrow of it outlives `self`. A failure would only leak it.
        let _ = unsafe { rustix::mm::munmap(self.address.as_ptr().cast(), self.bytes) };
    }
}

/// A shared mapping that stores may go to.
pub(crate) struct Writable(Mapping);

impl Writable {
    /// `file` is open for reading and writing, and is faultline's own.
    pub(crate) fn new(file: &File, range: Span, flags: MapFlags) -> io::Result<Writable> {
        Mapping::with(file, range, ProtFlags::READ | ProtFlags::WRITE, flags | MapFlags::SHARED).map(Writable)
    }

    /// Where a part of it begins, and how long it is. Both are checked: what follows relies on them.
    fn part(&self, span: Span) -> io::Result<std::ops::Range<usize>> {
        let start = span.offset.checked_sub(self.0.base).and_then(|it| usize::try_from(it).ok());
        let end = start.zip(usize::try_from(span.bytes).ok()).and_then(|(start, bytes)| start.checked_add(bytes));
        start
            .zip(end)
            .filter(|(_, end)| *end <= self.0.bytes)
            .map(|(start, end)| start..end)
            .ok_or_else(|| io::Error::other("a span outside of the mapping: a bug in faultline"))
    }

    /// A part of it, for loads and stores.
    pub(crate) fn room(&mut self, span: Span) -> io::Result<&mut [u8]> {
        let part = self.part(span)?;
        // SAFETY: `part` lies within the `bytes` bytes that are mapped writable until `drop`, and `&mut self` makes this
        // the only access in this process; the file is faultline's own.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.0.address.as_ptr().add(part.start), part.len()) })
    }

    /// The pages of a part of it, to the device.
    pub(crate) fn sync(&mut self, span: Span) -> io::Result<()> {
        let part = self.part(span)?;
        let start = part.start / page_size() * page_size();
        // SAFETY: `start` is at most `part.start`, which lies within the mapping.
        let address = unsafe { self.0.address.as_ptr().add(start) };
        // SAFETY: the pages from `start` to the end of `part` are this mapping's own; msync(2) changes nothing in memory.
        unsafe { sys::pages::msync(address.cast(), part.end - start, libc::MS_SYNC) }
    }
}

impl Deref for Writable {
    type Target = Mapping;

    fn deref(&self) -> &Mapping {
        &self.0
    }
}

/// Advice for users whose memory could not be pinned.
pub(crate) fn lock_refused(bytes: u64, error: &io::Error) -> String {
    let limit = match getrlimit(Resource::Memlock).current {
        Some(limit) => Bytes(limit).to_string(),
        None => "unlimited".to_string(),
    };
    format!("{} could not be locked in memory: {error}; RLIMIT_MEMLOCK is {limit} (ulimit -l)", Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_outside_of_a_mapping_is_an_error_and_no_access() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(65_536).unwrap();
        let range = Span { offset: 8192, bytes: 10_000 };
        let mut window = Writable::new(&file, range, MapFlags::empty()).unwrap();
        let base = range.offset / page_size() as u64 * page_size() as u64;
        for span in [range, Span { offset: 18_191, bytes: 1 }, Span { offset: 8193, bytes: 0 }] {
            assert_eq!(window.room(span).unwrap().len() as u64, span.bytes);
            window.sync(span).unwrap();
        }
        for span in [
            Span { offset: base.wrapping_sub(1), bytes: 1 },
            Span { offset: 0, bytes: 1 },
            Span { offset: 8192, bytes: 65_536 },
            Span { offset: 8192, bytes: u64::MAX },
            Span { offset: u64::MAX, bytes: 1 },
            Span { offset: 1 << 40, bytes: 0 },
        ] {
            window.room(span).unwrap_err();
            window.sync(span).unwrap_err();
        }
    }
}
