//! Files that faultline makes to measure on: incompressible, written whole and synced, removed again.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result, bail};
use schema::{Bytes, Span};
use sys::folder::{Folder, Identity};

/// The default size: 1 GiB, or a tenth of what is free, whichever is less.
///
/// # Errors
/// The folder cannot be looked at, or has no room worth measuring on.
pub fn default_bytes(folder: &Path) -> Result<u64> {
    let free = free_bytes(folder)?;
    let bytes = (free / 10).min(1 << 30) / 4096 * 4096;
    if bytes < 1 << 20 {
        bail!(
            "{} has only {} free; a test file takes a tenth of that and would be too small to measure. Try another \
             folder, or name a file of yours",
            folder.display(),
            Bytes(free)
        )
    }
    Ok(bytes)
}

/// Bytes an ordinary user may still write in a folder (`f_bavail`, not `f_bfree`: some are kept for root).
///
/// # Errors
/// The folder does not exist or cannot be looked at.
pub fn free_bytes(folder: &Path) -> Result<u64> {
    let stat = rustix::fs::statvfs(folder).with_context(|| format!("cannot look at {}", folder.display()))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Whether a test file of this size can be written to a folder.
///
/// # Errors
/// Both numbers, when it cannot; or the folder cannot be looked at.
pub fn fits(folder: &Path, bytes: u64) -> Result<()> {
    let free = free_bytes(folder)?;
    if free < bytes {
        bail!(
            "a test file of {} does not fit into {}: {} are free. Try --size, or another folder",
            Bytes(bytes),
            folder.display(),
            Bytes(free)
        )
    }
    Ok(())
}

/// A file of our own; removed when dropped. It is reached by the descriptor it was made with, and its name taken away in the
/// folder it was made in: the owner of the folder may have exchanged both meanwhile.
pub struct Fixture {
    folder: Folder,
    name: OsString,
    file: File,
    identity: Identity,
    removed: bool,
}

impl Fixture {
    /// The name that a new file will have, so that it can be entered into the cleanup journal before it exists.
    pub fn new_name() -> OsString {
        format!(".faultline-{}-{:08x}.data", std::process::id(), fastrand::u32(..)).into()
    }

    /// A new file, empty. A disk that is too small for `bytes` is found out before.
    ///
    /// # Errors
    /// No space (with both numbers), or no permission; nothing is left behind then.
    pub fn create(folder: Folder, name: OsString, bytes: u64) -> Result<Fixture> {
        fits(folder.path(), bytes)?;
        let no = || format!("cannot make a test file in {}", folder.path().display());
        let file = folder.create(&name).with_context(no)?;
        let identity = sys::folder::identity(&file).with_context(no)?;
        Ok(Fixture { folder, name, file, identity, removed: false })
    }

    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Where it was made.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// For reading and writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Takes the file away.
    ///
    /// # Errors
    /// Another file has its name, or the system refuses; then it stays, for `faultline clean`.
    pub fn remove(&mut self) -> io::Result<()> {
        if !self.removed {
            self.folder.unlink(&self.name, self.identity)?;
            self.removed = true;
        }
        Ok(())
    }

    /// Writes `bytes` random bytes and syncs them. Space is reserved first, so that a disk that is too small is found out before
    /// anything is written.
    ///
    /// # Errors
    /// No space, or an interruption.
    pub fn fill(
        &self,
        bytes: u64,
        seed: u64,
        interrupted: &AtomicBool,
        mut progress: impl FnMut(u64),
    ) -> io::Result<()> {
        let file = &self.file;
        match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
            // Not every file system can reserve space; writing finds out then.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
        write(file, Span { offset: 0, bytes }, seed, CHUNK, |written| {
            progress(written);
            match interrupted.load(Ordering::Relaxed) {
                true => Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted")),
                false => Ok(()),
            }
        })?;
        file.sync_all()
    }
}

/// Written at once, unless something else is said.
pub(crate) const CHUNK: u64 = 1 << 20;

/// Random bytes of a seed, from the start of a range to its end, by writes of `block_bytes`. `go_on` gets how many there are,
/// before each MiB or, of larger blocks, each block.
pub(crate) fn write(
    file: &File,
    range: Span,
    seed: u64,
    block_bytes: u64,
    mut go_on: impl FnMut(u64) -> io::Result<()>,
) -> io::Result<()> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut chunk = vec![0u8; CHUNK.max(block_bytes).next_multiple_of(block_bytes) as usize];
    let mut at = range.offset;
    while at < range.end() {
        go_on(at - range.offset)?;
        let length = (range.end() - at).min(chunk.len() as u64) as usize;
        random.fill(&mut chunk[..length]);
        for block in chunk[..length].chunks(block_bytes as usize) {
            file.write_all_at(block, at)?;
            at += block.len() as u64;
        }
    }
    go_on(range.bytes)
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; `faultline clean` finds the file through the cleanup journal.
        let _ = self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(folder: &Path, bytes: u64, interrupted: bool) -> Result<Fixture> {
        let fixture = Fixture::create(Folder::open(folder)?, Fixture::new_name(), bytes)?;
        fixture.fill(bytes, 7, &AtomicBool::new(interrupted), |_| {})?;
        Ok(fixture)
    }

    #[test]
    fn a_file_of_our_own_is_full_of_data_and_gone_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let fixture = make(folder.path(), 3 << 20, false).unwrap();
        let bytes = std::fs::read(fixture.path()).unwrap();
        assert_eq!(bytes.len(), 3 << 20);
        assert!(bytes.chunks(4096).all(|page| page.iter().any(|&byte| byte != page[0])), "no page is constant");
        let path = fixture.path();
        drop(fixture);
        assert!(!path.exists());
    }

    #[test]
    fn a_block_of_any_size_is_written_whole_and_the_bytes_are_the_same() {
        let written = |block_bytes: u64| {
            let (file, mut blocks) = (tempfile::tempfile().unwrap(), Vec::new());
            let range = Span { offset: 0, bytes: 9 << 20 };
            let go_on = |at| {
                blocks.push(at);
                Ok(())
            };
            write(&file, range, 7, block_bytes, go_on).unwrap();
            let mut bytes = vec![0; 9 << 20];
            file.read_exact_at(&mut bytes, 0).unwrap();
            (blocks, bytes)
        };
        let (blocks, bytes) = written(4 << 20);
        assert_eq!(blocks, [0, 4 << 20, 8 << 20, 9 << 20], "none ends before its size");
        let (blocks, others) = written(96 << 10);
        assert!(blocks[..blocks.len() - 1].iter().all(|it| it % (96 << 10) == 0), "{blocks:?}");
        assert!(bytes == others && others == written(4096).1);
    }

    #[test]
    fn what_took_the_name_of_a_file_of_our_own_is_not_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let mut fixture = make(folder.path(), 4096, false).unwrap();
        std::fs::rename(fixture.path(), folder.path().join("elsewhere")).unwrap();
        std::fs::write(fixture.path(), "of somebody else").unwrap();
        fixture.remove().unwrap_err();
        let path = fixture.path();
        drop(fixture);
        assert_eq!(std::fs::read(path).unwrap(), b"of somebody else");
    }

    #[test]
    fn too_large_a_file_is_refused_with_both_numbers_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let message = format!("{:#}", make(folder.path(), 1 << 60, false).err().expect("refused"));
        assert!(message.contains("does not fit") && message.contains("are free"), "{message}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_interruption_while_writing_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(make(folder.path(), 4 << 20, true).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
