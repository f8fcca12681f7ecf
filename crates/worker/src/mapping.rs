//! A mapping of a window of a file: what `mmap` lends, what pins pages for methods that have no mapping, and what stores go
//! to. It decides nothing about advice; `method/mmap.rs` and `writing/mapped.rs` do.

use std::{fs::File, io, ops::Deref, ptr, ptr::NonNull};

use rustix::{
    mm::{Advice, MapFlags, MsyncFlags, ProtFlags},
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
        // SAFETY: `bytes` bytes are mapped readable until `drop`. That nobody writes the file meanwhile is
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

    /// A part of it, for loads and stores.
    pub(crate) fn room(&mut self, span: Span) -> io::Result<&mut [u8]> {
        // SAFETY: `bytes` bytes are mapped writable until `drop`, and `&mut self` makes this the only access in this
        // process; the file is faultline's own.
        let all = unsafe { std::slice::from_raw_parts_mut(self.0.address.as_ptr(), self.0.bytes) };
        let start = span.offset.checked_sub(self.0.base).and_then(|it| usize::try_from(it).ok());
        start
            .and_then(|start| all.get_mut(start..start + span.bytes as usize))
            .ok_or_else(|| io::Error::other("a span outside of what was mapped: a bug in faultline"))
    }

    /// The pages of a part of it, to the device.
    pub(crate) fn sync(&mut self, span: Span) -> io::Result<()> {
        let page = page_size() as u64;
        let start = (span.offset - self.0.base) / page * page;
        let bytes = span.end() - self.0.base - start;
        // SAFETY: `start` lies within the mapping, because `span` does.
        let address = unsafe { self.0.address.as_ptr().add(start as usize) };
        // SAFETY: the pages are this mapping's own; msync(2) changes nothing in memory.
        Ok(unsafe { rustix::mm::msync(address.cast(), bytes as usize, MsyncFlags::SYNC) }?)
    }
}

impl Deref for Writable {
    type Target = Mapping;

    fn deref(&self) -> &Mapping {
        &self.0
    }
}

/// What to tell somebody whose memory could not be pinned.
pub(crate) fn lock_refused(bytes: u64, error: &io::Error) -> String {
    let limit = match getrlimit(Resource::Memlock).current {
        Some(limit) => Bytes(limit).to_string(),
        None => "unlimited".to_string(),
    };
    format!("{} could not be locked in memory: {error}; RLIMIT_MEMLOCK is {limit} (ulimit -l)", Bytes(bytes))
}
