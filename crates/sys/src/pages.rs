//! A writable mapping of a file, to observe what the kernel does with stores. It is used only on files made by
//! faultline, and fails for a file that is open for reading only.

use std::{
    ffi::CString,
    fs::File,
    io,
    os::{fd::AsFd, unix::ffi::OsStrExt, unix::process::CommandExt},
    path::Path,
    process::Command,
};

use rustix::mm::{Advice, MapFlags, MlockFlags, ProtFlags};

use crate::bus;

/// Where a store is visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// MAP_SHARED: all processes, and the file.
    Shared,
    /// MAP_PRIVATE: this process alone, on a copy of the page.
    Private,
}

/// msync(2). (rustix 1.1.6 takes what the call returns for the error, which is -1.)
///
/// # Errors
/// What the call said.
///
/// # Safety
/// The bytes are of a mapping of the caller's.
pub unsafe fn msync(address: *mut libc::c_void, bytes: usize, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: the caller's.
    match unsafe { libc::msync(address, bytes, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The first bytes of a file, mapped for reading and writing.
pub struct Pages {
    start: *mut u8,
    bytes: usize,
}

impl Pages {
    /// # Errors
    /// What mmap(2) said: EACCES for a file that is not open for writing.
    pub fn map(file: &File, bytes: u64, sharing: Sharing) -> io::Result<Pages> {
        let flags = match sharing {
            Sharing::Shared => MapFlags::SHARED,
            Sharing::Private => MapFlags::PRIVATE,
        };
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlays nothing.
        let start = unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, flags, file.as_fd(), 0)? };
        Ok(Pages { start: start.cast(), bytes })
    }

    /// Stores one byte.
    ///
    /// # Errors
    /// Its page cannot be had: the disk is full or fails, or the file is shorter than the mapping.
    ///
    /// # Panics
    /// The byte lies outside the mapping.
    pub fn store(&mut self, offset: u64, byte: u8) -> io::Result<()> {
        assert!((offset as usize) < self.bytes, "a store outside the mapping");
        // SAFETY: the byte lies within the mapping, which lives as long as `self`; volatile, so that it is made.
        bus::attempt(&self.addresses(), || unsafe { self.start.add(offset as usize).write_volatile(byte) })
    }

    /// Loads one byte.
    ///
    /// # Errors
    /// As `store`.
    ///
    /// # Panics
    /// The byte lies outside the mapping.
    pub fn load(&self, offset: u64) -> io::Result<u8> {
        assert!((offset as usize) < self.bytes, "a load outside the mapping");
        // SAFETY: as in `store`.
        bus::attempt(&self.addresses(), || unsafe { self.start.add(offset as usize).read_volatile() })
    }

    fn addresses(&self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.bytes
    }

    /// msync(2) with MS_SYNC: returns when the file has it all.
    ///
    /// # Errors
    /// What the call said; a write error is reported here.
    pub fn sync(&self) -> io::Result<()> {
        // SAFETY: the mapping lives as long as `self`.
        unsafe { msync(self.start.cast(), self.bytes, libc::MS_SYNC) }
    }

    /// msync(2) with MS_ASYNC.
    ///
    /// # Errors
    /// What the call said.
    pub fn sync_async(&self) -> io::Result<()> {
        // SAFETY: as above.
        unsafe { msync(self.start.cast(), self.bytes, libc::MS_ASYNC) }
    }

    /// MADV_POPULATE_WRITE (Linux 5.14): write faults of all pages, and no store.
    ///
    /// # Errors
    /// What the call said; EINVAL before 5.14.
    pub fn populate_write(&self) -> io::Result<()> {
        // SAFETY: it faults pages in and changes no byte.
        unsafe { rustix::mm::madvise(self.start.cast(), self.bytes, Advice::LinuxPopulateWrite) }?;
        Ok(())
    }

    /// mlock(2).
    ///
    /// # Errors
    /// What the call said: ENOMEM above RLIMIT_MEMLOCK.
    pub fn lock(&self) -> io::Result<()> {
        // SAFETY: the mapping lives as long as `self`.
        unsafe { rustix::mm::mlock_with(self.start.cast(), self.bytes, MlockFlags::empty()) }?;
        Ok(())
    }

    /// As /proc/PID/smaps begins its line: the address in hexadecimal, without a prefix.
    pub fn address(&self) -> String {
        format!("{:x}", self.start as usize)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: start and length are those of the mmap call, and no reference into it remains.
        let _ = unsafe { rustix::mm::munmap(self.start.cast(), self.bytes) };
    }
}

/// Has a process of its own give a file that is there `content`'s length, store `content` through a shared mapping of it, and
/// exit; returns when it is gone.
///
/// # Errors
/// The process could not be started, or one of its calls failed.
pub fn written_by_another_process(path: &Path, content: &'static [u8]) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    let path = CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)?;
    let mut command = Command::new("true");
    // SAFETY: between fork and exec only system calls and a copy are made; nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::open(path.as_c_str(), flags, Mode::empty())?;
            rustix::fs::ftruncate(&file, content.len() as u64)?;
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let start = rustix::mm::mmap(std::ptr::null_mut(), content.len(), protection, MapFlags::SHARED, &file, 0)?;
            std::ptr::copy_nonoverlapping(content.as_ptr(), start.cast(), content.len());
            Ok(())
        });
    }
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("the writing process ended with {status}"))) }
}

/// Minor faults of the calling thread so far.
pub fn minor_faults_of_this_thread() -> u64 {
    usage_of_this_thread().ru_minflt as u64
}

/// How often the calling thread has given the processor away to wait for something (voluntary context switches).
pub fn waits_of_this_thread() -> u64 {
    usage_of_this_thread().ru_nvcsw as u64
}

/// getrusage(2), RUSAGE_THREAD.
fn usage_of_this_thread() -> libc::rusage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the structure is the kernel's, all zero is valid for it, and it outlives the call, which cannot fail for
    // this argument.
    unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn msync_says_what_the_kernel_says() {
        let page = crate::page_bytes() as usize;
        // SAFETY: nothing is mapped at the last page below the top, and nothing is changed.
        let said = unsafe { msync((usize::MAX - 2 * page + 1) as *mut libc::c_void, page, libc::MS_SYNC) };
        assert_eq!(said.unwrap_err().raw_os_error(), Some(libc::ENOMEM));
    }

    #[test]
    fn a_page_that_cannot_be_had_is_an_error_and_not_the_end_of_the_process() {
        let file = tempfile::tempfile().unwrap();
        let page = crate::page_bytes();
        file.set_len(3 * page).unwrap();
        let mut mapping = Pages::map(&file, 3 * page, Sharing::Shared).unwrap();
        mapping.store(2 * page, b'x').unwrap();
        assert_eq!(mapping.load(2 * page).unwrap(), b'x');
        file.set_len(page).unwrap();
        mapping.store(2 * page, b'x').unwrap_err();
        mapping.load(page).unwrap_err();
        mapping.store(0, b'x').unwrap();
        drop(mapping);
        assert_eq!(file.metadata().unwrap().len(), page);
    }
}
