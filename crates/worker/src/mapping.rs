//! A read-only mapping of a window of a file: what `mmap` lends, and what pins pages for methods that have no mapping.
//! It decides nothing about advice; `method/mmap.rs` does.

use std::{fs::File, io, ptr, ptr::NonNull};

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

// SAFETY: the mapping is read-only and belongs to the process, not to a thread.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `flags` is MAP_SHARED or MAP_PRIVATE, and MAP_POPULATE if wanted. `range` must end within the file, so that no
    /// page beyond its last one is mapped.
    pub(crate) fn new(file: &File, range: Span, flags: MapFlags) -> io::Result<Mapping> {
        let base = range.offset - range.offset % page_size() as u64;
        let bytes = usize::try_from(range.end() - base).map_err(io::Error::other)?;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that exists.
        let address = unsafe { rustix::mm::mmap(ptr::null_mut(), bytes, ProtFlags::READ, flags, file, base) }?;
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

/// What to tell somebody whose memory could not be pinned.
pub(crate) fn lock_refused(bytes: u64, error: &io::Error) -> String {
    let limit = match getrlimit(Resource::Memlock).current {
        Some(limit) => Bytes(limit).to_string(),
        None => "unlimited".to_string(),
    };
    format!("{} could not be locked in memory: {error}; RLIMIT_MEMLOCK is {limit} (ulimit -l)", Bytes(bytes))
}
