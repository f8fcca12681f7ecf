//! Page-aligned private memory that is written before the clock starts and reused by every pass. A buffer that is
//! first touched within a pass charges its page faults to whichever method needs a buffer, that is to `read` and
//! never to `mmap`.

use std::{
    io,
    ops::{Deref, DerefMut},
    ptr::{self, NonNull},
};

use rustix::mm::{MapFlags, ProtFlags};

/// Anonymous memory, all of it resident.
pub(crate) struct Buffer {
    /// Of the mapping.
    address: NonNull<u8>,
    /// Behind that, where the buffer begins.
    begins: usize,
    bytes: usize,
}

/// Where glibc's malloc(3) has what lies in a mapping of its own, 128 KiB and more: behind the size of the mapping.
const OF_MALLOC: usize = 16;

// SAFETY: the memory belongs to this value alone, as a `Box<[u8]>`'s does.
unsafe impl Send for Buffer {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// At least one byte, so that there always is an address.
    pub(crate) fn new(bytes: usize) -> io::Result<Buffer> {
        Buffer::beginning_at(0, bytes)
    }

    /// As malloc(3) aligns large blocks. Processors that copy by `rep movsb` may do so several times slower to a place up to 31
    /// bytes behind the beginning of a page than to the beginning (glibc bug 30994, of AMD Zen 3 and 4).
    pub(crate) fn as_of_malloc(bytes: usize) -> io::Result<Buffer> {
        Buffer::beginning_at(OF_MALLOC, bytes)
    }

    fn beginning_at(begins: usize, bytes: usize) -> io::Result<Buffer> {
        let bytes = bytes.max(1);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no memory that exists.
        let address = unsafe {
            rustix::mm::mmap_anonymous(
                ptr::null_mut(),
                begins + bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        let address = NonNull::new(address.cast::<u8>()).expect("mmap never succeeds with address 0");
        let mut buffer = Buffer { address, begins, bytes };
        // Not zero: a page that only was read would be the one shared zero page, and live in the first-level cache.
        buffer.fill(0xA5);
        Ok(buffer)
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `bytes` bytes from `begins` on are mapped, initialised by the kernel, and live until `drop`.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr().add(self.begins), self.bytes) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes this the only access.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr().add(self.begins), self.bytes) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and no borrow of it outlives `self`. A failure would only leak it.
        let _ = unsafe { rustix::mm::munmap(self.address.as_ptr().cast(), self.begins + self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_begins_where_it_should_and_is_all_there() {
        for bytes in [0, 1, 4096, 4097, 1 << 20] {
            let mut buffer = Buffer::new(bytes).unwrap();
            assert_eq!(buffer.as_ptr() as usize % rustix::param::page_size(), 0);
            assert_eq!(buffer.len(), bytes.max(1));
            buffer[bytes.max(1) - 1] = 1;
            let mut buffer = Buffer::as_of_malloc(bytes).unwrap();
            assert_eq!(buffer.as_ptr() as usize % rustix::param::page_size(), OF_MALLOC);
            assert_eq!(buffer.len(), bytes.max(1));
            buffer[bytes.max(1) - 1] = 1;
        }
    }
}
