//! The file that is measured: what may be one, what it lies on, and how its residency can be verified.
//! A file of the user's is only ever opened for reading.

mod file;
pub mod fixture;
pub mod named;

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::OnceLock,
};

use anyhow::{Context, Result, bail};
use schema::{
    Span,
    record::{self, Device, Reading, Resident},
};
use sys::{cache::Way, device::Disk, mount::FileSystem, process::MappedFile};

pub(crate) use file::stayed;
use file::{Stamp, believe, measurable, prove};
use fixture::Fixture;
use named::Named;

/// An open target and what is known of it.
pub struct Target {
    pub path: String,
    pub file: File,
    pub bytes: u64,
    pub inode: u64,
    /// Of a file that faultline made: the descriptor it was made with, the only one that is ever written through.
    pub made: Option<File>,
    pub file_system: FileSystem,
    pub disk: Result<Disk, String>,
    /// How residency can be asked for before anything is evicted.
    believed: Result<Way, String>,
    /// The way of verifying residency that was proved on this file, or why there is none.
    proved: OnceLock<Result<Way, String>>,
    /// What of the file was in the page cache when it was opened.
    pub found: Reading<Resident>,
    /// Of a run of commands: every file that was named, this one among them.
    pub named: Option<Named>,
    allocated_bytes: u64,
    stamp: Stamp,
}

impl Target {
    /// Opens a file and proves how its residency can be verified, which evicts it from the page cache unless
    /// `keep_cache` (state `as-is`: then a way is used without proof).
    ///
    /// # Errors
    /// In words for people: no such file, a directory, a pipe, a device, an empty file, a pseudo file, no permission.
    pub fn open(path: &Path, keep_cache: bool) -> Result<Target> {
        measurable(path)?;
        let file = File::open(path).with_context(|| format!("cannot open {} for reading", path.display()))?;
        Target::checked(path, file, None, keep_cache)
    }

    /// A file that faultline made itself, by the descriptor that it was made with.
    ///
    /// # Errors
    /// As `open`.
    pub fn of_made(fixture: &Fixture, keep_cache: bool) -> Result<Target> {
        let path = fixture.path();
        let again = || fixture.file().try_clone().with_context(|| format!("cannot keep {} open", path.display()));
        Target::checked(&path, again()?, Some(again()?), keep_cache)
    }

    fn checked(path: &Path, file: File, made: Option<File>, keep_cache: bool) -> Result<Target> {
        let shown = path.display();
        let Some(utf8) = path.to_str() else {
            bail!("{shown} has a name that is not valid UTF-8; try a symbolic link with a UTF-8 name")
        };
        let metadata = file.metadata().with_context(|| format!("cannot look at {shown}"))?;
        if !metadata.is_file() {
            bail!("{shown} is not a regular file")
        }
        let file_system =
            sys::mount::file_system(path).with_context(|| format!("cannot find the file system of {shown}"))?;
        if file_system.is_pseudo() {
            bail!(
                "{shown} is on {}: the kernel generates its content on each read, so there is nothing to cache or to \
                 map. Try a file on a disk",
                file_system.kind
            )
        }
        if metadata.len() == 0 {
            bail!("{shown} is empty; name a file with content")
        }
        let canonical = fs::canonicalize(path).ok().and_then(|it| it.to_str().map(str::to_string));
        let path = canonical.unwrap_or_else(|| utf8.to_string());
        Ok(Target::of(path, file, &metadata, file_system, made, keep_cache))
    }

    /// A file without a name in a folder (O_TMPFILE), all of it a hole: nothing is written, it takes no space, and it is
    /// gone with its descriptor. A dry run asks it what files here can do.
    ///
    /// # Errors
    /// No file can be made in the folder, or this file system has none without a name.
    pub fn unnamed(folder: &Path, bytes: u64) -> io::Result<Target> {
        let file = sys::folder::unnamed(folder)?;
        file.set_len(bytes)?;
        let (metadata, file_system) = (file.metadata()?, sys::mount::file_system(folder)?);
        // Workers, which are other processes, can open it by this.
        let path = sys::folder::path_of(&file).display().to_string();
        let made = Some(file.try_clone()?);
        Ok(Target::of(path, file, &metadata, file_system, made, true))
    }

    fn of(
        path: String,
        file: File,
        metadata: &fs::Metadata,
        file_system: FileSystem,
        made: Option<File>,
        keep_cache: bool,
    ) -> Target {
        let mut target = Target {
            path,
            bytes: metadata.len(),
            inode: metadata.ino(),
            made,
            disk: disk(&file_system),
            found: Reading::unavailable("residency was not checked"),
            believed: believe(&file),
            proved: OnceLock::new(),
            allocated_bytes: metadata.blocks() * 512,
            stamp: Stamp::of(metadata),
            named: None,
            file,
            file_system,
        };
        target.found = target.residency(Span { offset: 0, bytes: target.bytes });
        if !keep_cache {
            target.prove();
        }
        target
    }

    /// How much of a window is in the page cache, as the proved way sees it; of named files always the whole.
    pub fn residency(&self, range: Span) -> Reading<Resident> {
        if let Some(named) = &self.named {
            return named.residency();
        }
        let page = sys::page_bytes();
        let first = range.offset / page;
        let of = range.end().div_ceil(page) - first;
        match self.way() {
            Err(reason) => Reading::unavailable(reason),
            Ok(way) => way
                .resident_pages(&self.file, first * page, range.end() - first * page)
                .map(|pages| Resident { pages, of })
                .into(),
        }
    }

    /// How the residency of this file is verified, or why it cannot be.
    pub fn way(&self) -> Result<Way, String> {
        self.proved.get().unwrap_or(&self.believed).clone()
    }

    /// Whether a look at what is in the page cache starts read-ahead of what is not (`Way::Nowait`).
    pub(crate) fn look_reads_ahead(&self) -> bool {
        match &self.named {
            Some(named) => named.look_reads_ahead(),
            None => self.way() == Ok(Way::Nowait),
        }
    }

    /// Takes a way as proved, whatever it shows of this file.
    #[cfg(test)]
    pub(crate) fn prove_as(&self, way: Way) {
        self.proved.set(Ok(way)).expect("nothing was proved yet");
    }

    /// Whether a way of verifying residency is still to be proved.
    pub(crate) fn is_unproved(&self) -> bool {
        match &self.named {
            Some(named) => named.is_unproved(),
            None => !self.file_system.is_memory() && self.proved.get().is_none(),
        }
    }

    /// Proves how residency can be verified, which evicts the file: from here on nothing is as it was found.
    pub(crate) fn prove(&self) {
        if let Some(named) = &self.named {
            named.prove();
        }
        if !self.file_system.is_memory() {
            self.proved.get_or_init(|| prove(&self.file));
        }
    }

    /// The files named for commands: the largest one represents the others where one is enough. Of files on several disks it
    /// does not for what is set or counted of its disk.
    ///
    /// # Errors
    /// As `open`.
    pub fn of_named(named: Named, keep_cache: bool) -> Result<Target> {
        let mut target = Target::open(named.largest(), keep_cache)?;
        target.found = named.found.clone();
        if let Some(spread) = named.spread() {
            target.disk = Err(spread.to_string());
        }
        target.named = Some(named);
        Ok(target)
    }

    /// To find it among the mappings of processes.
    pub fn identity(&self) -> MappedFile {
        // Mappings show what the link of a descriptor does, and not the path of the descriptor.
        let link = self.path.starts_with("/proc/").then(|| fs::read_link(&self.path).ok()).flatten();
        let name = link.map_or_else(|| self.path.clone(), |it| it.display().to_string());
        MappedFile::new(self.stamp.device, self.inode, &name)
    }

    /// Of everything that was named.
    pub fn all_bytes(&self) -> u64 {
        self.named.as_ref().map_or(self.bytes, Named::bytes)
    }

    /// Of everything that was named.
    pub(crate) fn inodes(&self) -> BTreeSet<u64> {
        self.named.as_ref().map_or_else(|| BTreeSet::from([self.inode]), Named::inodes)
    }

    /// The largest window of read-ahead for the file, in bytes.
    ///
    /// # Errors
    /// Its file system does not show it.
    pub fn read_ahead_bytes(&self) -> Result<u64, String> {
        // Of files on several disks the largest one has a disk of its own still.
        let of_largest = disk(&self.file_system).ok();
        sys::read_ahead::bytes(&self.file_system, of_largest.as_ref()).map_err(|error| error.to_string())
    }

    /// The same; where the file system does not show it, the largest of any here.
    pub fn window_bytes(&self) -> u64 {
        self.read_ahead_bytes().unwrap_or_else(|_| sys::read_ahead::largest())
    }

    /// Whether the file is still what it was when the run began.
    ///
    /// # Errors
    /// What changed.
    pub fn unchanged(&self) -> Result<(), String> {
        if let Some(named) = &self.named {
            return named.unchanged();
        }
        self.stamp.unchanged(Path::new(&self.path)).map_err(|change| format!("{} {change}", self.path))
    }

    /// Whether the file still has its name. Workers open it by that, each for itself, while states are verified on the
    /// file that was opened when the run began.
    ///
    /// # Errors
    /// It was deleted, moved or replaced.
    pub fn in_place(&self) -> Result<(), String> {
        let identity = |it: &fs::Metadata| (it.dev(), it.ino());
        let opened = self.file.metadata().map_err(|error| format!("the file can no longer be examined: {error}"))?;
        match fs::metadata(&self.path) {
            Ok(named) if identity(&named) == identity(&opened) => Ok(()),
            Ok(_) => Err("another file took this one's name during the run".into()),
            Err(error) => Err(format!("the file was deleted or moved during the run: {error}")),
        }
    }

    /// As the record says it.
    pub fn describe(&self) -> record::Target {
        let files = self.named.as_ref().and_then(Named::describe);
        record::Target {
            path: files.as_ref().and_then(|it| it.named.first()).map_or(&self.path, |it| &it.path).clone(),
            bytes: self.all_bytes(),
            allocated_bytes: match files {
                // A few bytes may lie in the inode itself, which is no hole.
                Some(_) => self.all_bytes(),
                None => self.allocated_bytes,
            },
            files,
            made_here: self.made.is_some(),
            residency: self.way().map(|way| way.word().to_string()).into(),
            file_system: self.file_system.kind.clone(),
            mount_options: self.file_system.options.clone(),
            read_ahead_most_bytes: Some(self.window_bytes()).filter(|&it| it > 0),
            device: Reading::from(self.disk.clone()).map(|disk: Disk| Device {
                read_ahead_bytes: self.read_ahead_bytes().into(),
                scheduler: disk.queue("scheduler").into(),
                rotational: disk.queue("rotational").map(|flag| flag == "1").into(),
                through_page_cache: disk.is_through_page_cache(),
                name: disk.name,
            }),
        }
    }
}

/// The whole disk that a file system lies on.
///
/// # Errors
/// There is none, or there are several.
pub(crate) fn disk(file_system: &FileSystem) -> Result<Disk, String> {
    match sys::read_ahead::devices(file_system) {
        1 => Disk::of(&file_system.device)
            .or_else(|error| Disk::of_source(&file_system.source).map_err(|_| error))
            .map_err(|error| format!("no block device under {} ({error})", file_system.kind)),
        devices => Err(format!("{} is spread over {devices} devices", file_system.kind)),
    }
}

/// The whole disk that a path lies on.
///
/// # Errors
/// Why there is none.
pub(crate) fn disk_of(path: &Path) -> Result<Disk, String> {
    disk(&sys::mount::file_system(path).map_err(|error| format!("its file system cannot be found: {error}"))?)
}

/// The kernel name of the whole disk that a path lies on, where it lies on one.
pub fn device_of(path: &Path) -> Option<String> {
    disk_of(path).ok().map(|it| it.name)
}

/// The largest window of read-ahead for the files that a path leads to, in bytes.
///
/// # Errors
/// Its file system does not show it.
pub(crate) fn read_ahead_of(path: &Path) -> Result<u64, String> {
    let file_system = sys::mount::file_system(path).map_err(|error| error.to_string())?;
    sys::read_ahead::bytes(&file_system, disk(&file_system).ok().as_ref()).map_err(|error| error.to_string())
}

/// The same; where the file system does not show it, the largest of any here.
pub fn window_of(path: &Path) -> u64 {
    read_ahead_of(path).unwrap_or_else(|_| sys::read_ahead::largest())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &str) -> String {
        format!("{:#}", Target::open(Path::new(path), false).err().expect("refused"))
    }

    #[test]
    fn what_cannot_be_measured_is_refused_in_words() {
        assert!(refusal("/no/such/file").contains("No such file"));
        assert!(refusal("/dev/null").contains("is a device"));
        assert!(refusal("/proc/self/status").contains("generates its content"));
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(refusal(pipe.to_str().unwrap()).contains("pipe"));
        let empty = folder.path().join("empty");
        fs::write(&empty, "").unwrap();
        assert!(refusal(empty.to_str().unwrap()).contains("is empty"));
    }

    #[test]
    fn a_file_that_is_written_to_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "some text").unwrap();
        let target = Target::open(&path, true).unwrap();
        assert_eq!(target.unchanged(), Ok(()));
        fs::write(&path, "some").unwrap();
        assert!(target.unchanged().unwrap_err().contains("from 9 to 4 bytes"));
    }

    #[test]
    fn a_file_without_a_name_is_looked_for_by_what_its_mappings_are_called() {
        let folder = tempfile::tempdir().unwrap();
        let target = match Target::unnamed(folder.path(), 4096) {
            Ok(target) => target,
            Err(error) => return println!("skipped: no file without a name can be made here: {error}"),
        };
        let mapping = sys::pages::Pages::map(&target.file, 4096, sys::pages::Sharing::Shared).unwrap();
        let mappings = sys::process::mappings(std::process::id()).unwrap();
        let name = &mappings.iter().find(|it| it.inode == target.inode).expect("it is mapped").name;
        assert_eq!(target.identity(), MappedFile::new(target.stamp.device, target.inode, name));
        drop(mapping);
    }

    #[test]
    fn a_file_that_is_replaced_or_deleted_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("file"), folder.path().join("other"));
        fs::write(&path, "some text").unwrap();
        fs::write(&other, "some text").unwrap();
        let target = Target::open(&path, true).unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(target.unchanged().unwrap_err().contains("another file"));
        fs::remove_file(&path).unwrap();
        assert!(target.unchanged().unwrap_err().contains("deleted or moved"));
    }
}
