//! One file: whether it can be measured, how its residency can be asked for, and whether it is still the same.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

use anyhow::{Context, Result, bail};
use sys::cache::{Way, resident_at};

/// How many places of a file are looked at, and how far apart they are at least, where a look reads what it does not find: no
/// more than a fill makes requests.
const LOOKS: u64 = 64;
const LOOKS_APART: u64 = 1 << 20;

/// What changes when a file is written to or replaced: identity, size and both times. Who writes changes the time of
/// change too, which no program can set back. The allocated blocks are left out: some file systems move them without any
/// write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(metadata: &fs::Metadata) -> Stamp {
        Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    pub(crate) fn is_same_file(&self, other: &Stamp) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Whether a path leads to the same file as before, with the same content.
    ///
    /// # Errors
    /// What changed, to be put behind the file's name.
    pub(crate) fn unchanged(&self, path: &Path) -> Result<(), String> {
        let now = match fs::metadata(path) {
            Ok(metadata) => Stamp::of(&metadata),
            Err(error) => return Err(format!("was deleted or moved: {error}")),
        };
        match () {
            () if !now.is_same_file(self) => Err("was replaced by another file of that name".into()),
            () if now.bytes != self.bytes => {
                Err(format!("changed its size from {} to {} bytes", self.bytes, now.bytes))
            }
            () if now.modified != self.modified => Err("was written to, or its times were set".into()),
            () if now.changed != self.changed => {
                Err("was changed: it was written to and its time set back, or its name, owner or mode changed".into())
            }
            () => Ok(()),
        }
    }
}

/// Whether a path leads to something with pages of its own; asked before opening, for opening a pipe would wait for a
/// writer, and opening a device can do anything.
///
/// # Errors
/// In words for people.
pub(crate) fn measurable(path: &Path) -> Result<()> {
    let shown = path.display();
    let kind = fs::metadata(path).with_context(|| format!("cannot look at {shown}"))?.file_type();
    if kind.is_block_device() || kind.is_char_device() {
        bail!("{shown} is a device; faultline measures files only. Try a file on that device")
    }
    if kind.is_fifo() || kind.is_socket() {
        bail!("{shown} is a pipe or socket; it has no offsets to read at. Try a regular file")
    }
    Ok(())
}

/// A way that answers, where nothing may be evicted to prove it.
pub(crate) fn believe(file: &File) -> Result<Way, String> {
    Way::ALL.into_iter().find(|way| *way != Way::Nowait && way.shows(file)).ok_or_else(|| {
        "the residency of this file is shown only to its owner and to users who may write to it (cachestat, \
             mincore)"
            .to_string()
    })
}

pub(crate) fn prove(file: &File) -> Result<Way, String> {
    let mut reasons = Vec::new();
    for way in Way::ALL {
        match way.prove(file) {
            Ok(()) => return Ok(way),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(format!("the residency of this file cannot be verified ({})", reasons.join("; ")))
}

/// Pages of a file that stayed in the page cache, at a few places, where a look reads what it does not find (`Way::Nowait`). What
/// these looks have read is to be dropped once more.
///
/// # Errors
/// As `resident_at`.
pub(crate) fn stayed(file: &File, bytes: u64) -> io::Result<u64> {
    resident_at(file, (0..bytes).step_by(bytes.div_ceil(LOOKS).max(LOOKS_APART) as usize))
}
