//! A small file for scenarios to write to. It never has a name, so that nothing is left behind whatever happens, and it
//! lies beside the target, on the same file system and device.

use std::{
    fs::File,
    io::Write,
    os::fd::{AsFd, AsRawFd},
    path::Path,
};

use sys::{
    cache::{self, Cachestat},
    pages::{Pages, Sharing},
};

use crate::target::Target;

/// What the file holds before anything is stored.
pub(super) const OLD: u8 = b'o';
/// What is stored.
pub(super) const NEW: u8 = b'n';

/// Why a store did not happen: the device's own write errors come later, where they are asked for.
pub(super) fn no_store(error: std::io::Error) -> String {
    format!("a byte of the scratch file could not be stored or read: {error}")
}

/// A file of whole pages, all of them `OLD`, on the device, none dirty.
pub(super) struct Scratch {
    pub(super) file: File,
    pub(super) bytes: u64,
}

impl Scratch {
    /// # Errors
    /// The folder cannot be written, or its file system has no files without a name (O_TMPFILE).
    pub(super) fn beside(target: &Target, pages: u64) -> Result<Scratch, String> {
        let folder = Path::new(&target.path).parent().unwrap_or(Path::new("/"));
        let no = |error: &dyn std::fmt::Display| {
            format!(
                "a scratch file in {} is needed: {error}; try a target in a folder you can write to, on a disk",
                folder.display()
            )
        };
        let file = sys::folder::unnamed(folder).map_err(|error| no(&error))?;
        let mut scratch = Scratch { file, bytes: pages * sys::page_bytes() };
        let content = vec![OLD; scratch.bytes as usize];
        scratch.file.write_all(&content).and_then(|()| scratch.file.sync_all()).map_err(|error| no(&error))?;
        Ok(scratch)
    }

    /// The whole of it, for loads and stores.
    pub(super) fn map(&self, sharing: Sharing) -> Result<Pages, String> {
        Pages::map(&self.file, self.bytes, sharing).map_err(|error| format!("mmap(2): {error}"))
    }

    /// As another process may open it, of the same user.
    pub(super) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// One byte by pread(2), through the page cache.
    pub(super) fn read(&self, offset: u64) -> Result<u8, String> {
        let mut byte = [0u8];
        match rustix::io::pread(self.file.as_fd(), &mut byte, offset) {
            Ok(1) => Ok(byte[0]),
            Ok(_) => Err("the scratch file is shorter than it was made".into()),
            Err(error) => Err(format!("pread(2): {error}")),
        }
    }

    /// What the page cache says of its pages.
    pub(super) fn cache(&self) -> Result<Cachestat, String> {
        cache::cachestat(&self.file, 0, self.bytes)
            .map_err(|error| format!("dirty pages are counted with cachestat(2), Linux 6.5: {error}"))
    }
}
