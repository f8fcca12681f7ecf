//! The cleanup journal: what runs create outside the data folder, so that `faultline clean` can remove what a killed run left.
//!
//! An entry is written before its file or group is created, removed after that is gone, and locked as long as its process
//! lives. A crash in between leaves a superfluous entry, never a leftover without an entry. Cleaning deletes a regular file with one of our names, in the folder where the entry
//! says it was made, with the inode it was made with; or, under the same conditions, an empty group of a cgroup file
//! system. Anything else is reported and stays.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Read},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::MetadataExt,
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail};
use rustix::{
    fs::{FileType, OFlags, Stat},
    process::geteuid,
};
use schema::leftover::{FileIdentity, Leftover, LeftoverKind};
use sys::{
    folder::{Folder, Identity},
    lock,
    whole::{Taken, folder_of},
};

pub use crate::process::Owner;
use crate::{atomic, places, process};

/// A folder of entries.
#[derive(Debug, Clone)]
pub struct CleanupJournal {
    folder: PathBuf,
}

/// A file or group of this process that must be removed later. Dropping this keeps the entry; only `done` removes it.
#[derive(Debug)]
#[must_use = "the entry stays until `done` is called"]
pub struct Entry {
    folder: Folder,
    name: String,
    leftover: Leftover,
    /// The entry's file, locked: the lock ends with this process, however that ends.
    _held: Option<File>,
}

/// An entry that was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// The entry's own file.
    pub entry: PathBuf,
    /// What it is about; absent when the entry cannot be read, with the reason in `owner`.
    pub leftover: Option<Leftover>,
    pub owner: Owner,
    /// Of the entry's own file, where it could be opened: by its path another one may be found later.
    pub identity: Option<Identity>,
}

/// The result of removing a leftover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    Deleted {
        bytes: u64,
    },
    /// It was not there any more; the entry was removed.
    WasGone,
    /// It is not what the entry says, so it stays, and so does the entry.
    Refused(String),
}

impl CleanupJournal {
    /// The journal in `dir`, in `$FAULTLINE_DATA_DIR` or in the user's state folder. No folder is created before the first entry.
    ///
    /// # Errors
    /// When there is neither a folder nor a home to put one in.
    pub fn open(dir: Option<PathBuf>) -> Result<CleanupJournal> {
        Ok(CleanupJournal { folder: places::leftovers(dir)? })
    }

    /// Notes that this process is about to make `path`, whose name must be `.faultline-*.data`, or `faultline-*` for a
    /// cgroup.
    ///
    /// # Errors
    /// When the entry cannot be written; then the thing must not be made either.
    pub fn enter(&self, kind: LeftoverKind, path: &Path) -> Result<Entry> {
        let name = path.file_name().unwrap_or_default();
        if !is_ours(kind, name) {
            bail!("{} is not named {} and could never be cleaned up", path.display(), pattern(kind));
        }
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let parent =
            fs::canonicalize(parent).with_context(|| format!("{} is not a usable folder", parent.display()))?;
        let absolute = parent.join(name);
        let shown = absolute.to_string_lossy().into_owned();
        let mut leftover = Leftover {
            kind,
            path_bytes: absolute.to_str().is_none().then(|| absolute.as_os_str().as_bytes().to_vec()),
            path: shown,
            made_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            owner: process::this(),
            locked: false,
            identity: None,
        };
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let owner = &leftover.owner;
        let boot: String = owner.boot_id.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
        let name = format!("{boot}-{}-{}-{number}.json", owner.pid, owner.started_ticks);
        let advice = || {
            format!(
                "nothing was created: the cleanup journal in {} cannot be written; set {} to a writable folder",
                self.folder.display(),
                places::VARIABLE
            )
        };
        let folder = Folder::made(&self.folder).with_context(advice)?;
        let held = write(&folder, &name, &mut leftover, Taken::Refuse).with_context(advice)?;
        Ok(Entry { folder, name, leftover, _held: held })
    }

    /// Every entry, of all processes.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn entries(&self) -> Result<Vec<Found>> {
        let files = atomic::files(&self.folder)
            .with_context(|| format!("the cleanup journal in {} cannot be listed", self.folder.display()))?;
        let entries = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        Ok(entries.filter_map(|entry| found(entry).transpose()).collect::<io::Result<Vec<Found>>>()?)
    }

    /// The entries whose process is gone: what `faultline clean` offers to remove.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn stale(&self) -> Result<Vec<Found>> {
        let entries = self.entries()?;
        Ok(entries.into_iter().filter(|found| found.owner == Owner::Gone && found.leftover.is_some()).collect())
    }

    /// Entries that killed processes left half-written: they never had an entry's name, and nothing was made yet. Where the folder
    /// cannot be listed, why.
    pub fn abandoned(&self) -> Vec<Result<PathBuf>> {
        atomic::abandoned(&self.folder)
    }

    /// Deletes what `abandoned` lists: each that it deleted, and why another could not be.
    pub fn remove_abandoned(&self) -> Vec<Result<PathBuf>> {
        atomic::remove_abandoned(&self.folder)
    }

    /// Where the entries lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What keeps `remove` from deleting; nothing where it would delete.
    pub fn kept(&self, found: &Found) -> Option<Removal> {
        let ready = match ready(found) {
            Ok(ready) => ready,
            Err(removal) => return Some(removal),
        };
        // Looked at first: in what is no group, a file with the name of one of a group's may be a pipe, which is waited for.
        let is_in_use = || ready.leftover.kind == LeftoverKind::Cgroup && sys::cgroup::is_in_use(&ready.path);
        look(&ready).err().or_else(|| is_in_use().then(|| still_in(&ready.path)))
    }

    /// Deletes what a stale entry is about, and then the entry.
    ///
    /// # Errors
    /// When the system refuses to delete; what should not be deleted is `Removal::Refused`.
    pub fn remove(&self, found: &Found) -> Result<Removal> {
        let ready = match ready(found) {
            Ok(ready) => ready,
            Err(removal) => return Ok(removal),
        };
        let removal = match look(&ready) {
            Ok((folder, stat)) => match ready.leftover.kind {
                LeftoverKind::File => remove_file(&ready.path, &folder, &stat)?,
                LeftoverKind::Cgroup => remove_cgroup(&ready.path)?,
            },
            Err(removal) => removal,
        };
        if !matches!(removal, Removal::Refused(_)) {
            ready.forget().with_context(|| format!("the entry {} cannot be removed", found.entry.display()))?;
        }
        Ok(removal)
    }
}

impl Entry {
    /// The path as it was noted: absolute, its folder free of symbolic links. Make the thing there.
    pub fn path(&self) -> PathBuf {
        path_of(&self.leftover)
    }

    /// Notes which file it became, so that no other file of that name is ever deleted. The identity is that of the open
    /// file: by now its name may lead to another.
    ///
    /// # Errors
    /// When the note cannot be written.
    pub fn created(&mut self, (device, inode): Identity) -> Result<()> {
        self.leftover.identity = Some(FileIdentity { device, inode });
        // Locked before it takes the place of the one before, so that the entry is at no moment without its lock.
        self._held = write(&self.folder, &self.name, &mut self.leftover, Taken::Replace)
            .with_context(|| format!("the entry {} cannot be updated", self.file().display()))?;
        Ok(())
    }

    /// The thing is gone again; so is the entry.
    ///
    /// # Errors
    /// When the entry cannot be removed. It does no harm: cleaning finds nothing where it points.
    pub fn done(self) -> Result<()> {
        self.folder
            .unname(OsStr::new(&self.name))
            .map(drop)
            .with_context(|| format!("the entry {} cannot be removed", self.file().display()))
    }

    /// By its path when its folder was opened, for what is said of it.
    fn file(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }
}

/// Writes an entry, and locks it before another process can see it; the locked file, where there are locks.
fn write(folder: &Folder, name: &str, leftover: &mut Leftover, taken: Taken) -> Result<Option<File>> {
    for locked in [true, false] {
        leftover.locked = locked;
        let whole = atomic::written(folder, name, &serde_json::to_vec(leftover)?)?;
        if !locked || matches!(lock::take(whole.file()), Ok(true)) {
            let file = whole.name(OsStr::new(name), taken)?;
            return Ok(locked.then_some(file));
        }
    }
    unreachable!("an entry without a lock is always written")
}

/// Whether the process of an entry is running. A lock that is held shows that it is, wherever it is held; one that is
/// not held shows that it is gone where this kernel would show it.
fn owner(file: &File, leftover: &Leftover) -> Owner {
    if !leftover.locked {
        return process::owner(&leftover.owner);
    }
    match lock::is_taken(file) {
        Ok(true) => Owner::Running,
        Ok(false) if leftover.owner.boot_id == process::this().boot_id => Owner::Gone,
        Ok(false) => process::owner(&leftover.owner),
        Err(error) => Owner::Unknown(format!("it cannot be checked whether its process is running: {error}")),
    }
}

/// More than any entry has.
const ENTRY_MAX: u64 = 1 << 20;

/// Another user who may write into the folder can put a pipe or a device there: to open or to read one need not end.
fn opened(entry: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(entry)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// `None` when its process has removed it meanwhile.
fn found(entry: PathBuf) -> io::Result<Option<Found>> {
    let mut content = Vec::new();
    let read = opened(&entry).and_then(|file| (&file).take(ENTRY_MAX).read_to_end(&mut content).map(|_| file));
    let file = match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other,
    };
    let leftover: Result<(File, Leftover), String> = file
        .map_err(|error| error.to_string())
        .and_then(|file| Ok((file, serde_json::from_slice(&content).map_err(|error| error.to_string())?)));
    Ok(Some(match leftover {
        Ok((file, leftover)) => Found {
            entry,
            owner: owner(&file, &leftover),
            leftover: Some(leftover),
            identity: sys::folder::identity(&file).ok(),
        },
        Err(reason) => {
            let reason = format!("{} cannot be read: {reason}", entry.display());
            Found { entry, leftover: None, owner: Owner::Unknown(reason), identity: None }
        }
    }))
}

/// An entry whose process is gone.
struct Ready<'a> {
    leftover: &'a Leftover,
    path: PathBuf,
    /// The folder of the entry. By its path another user whose folder it is could have a file elsewhere deleted.
    folder: Folder,
    name: &'a OsStr,
    /// Locked, where its process had locked it.
    entry: File,
}

impl Ready<'_> {
    fn forget(&self) -> io::Result<()> {
        self.folder.unlink(self.name, sys::folder::identity(&self.entry)?).map(drop)
    }
}

/// Checked again: the owner may have changed since it was listed. What is locked here stays so meanwhile.
fn ready(found: &Found) -> Result<Ready<'_>, Removal> {
    let Some(leftover) = &found.leftover else {
        return Err(Removal::Refused(format!("{} cannot be read", found.entry.display())));
    };
    let not_there = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Removal::WasGone,
        _ => Removal::Refused(format!("{}: {error}", found.entry.display())),
    };
    let name = found.entry.file_name().unwrap_or_default();
    let folder = Folder::open_own(folder_of(&found.entry)).map_err(not_there)?;
    let entry = folder.open_file(name).map_err(not_there)?;
    if sys::folder::identity(&entry).ok() != found.identity {
        return Err(Removal::Refused(format!("{}: another file has its name now", found.entry.display())));
    }
    if owner(&entry, leftover) != Owner::Gone || leftover.locked && !matches!(lock::take(&entry), Ok(true)) {
        return Err(Removal::Refused("its process may still be running".into()));
    }
    Ok(Ready { leftover, path: path_of(leftover), folder, name, entry })
}

/// What both kinds have in common: the thing itself and the folder it lies in, when it is where and what the entry says.
fn look(ready: &Ready) -> Result<(Folder, Stat), Removal> {
    let (path, leftover) = (&ready.path, ready.leftover);
    let refused = |reason: String| Err(Removal::Refused(format!("{}: {reason}", path.display())));
    // No group outlives its boot; a group with its name now belongs to another process.
    if leftover.kind == LeftoverKind::Cgroup && leftover.owner.boot_id != process::this().boot_id {
        return Err(Removal::WasGone);
    }
    let name = path.file_name().unwrap_or_default();
    if !is_ours(leftover.kind, name) {
        return refused(format!("it is not named {}", pattern(leftover.kind)));
    }
    // A folder may have become a symbolic link by now; the open descriptor keeps the folder that was checked.
    let parent = path.parent().unwrap_or(Path::new("/"));
    let folder = match Folder::open(parent) {
        Ok(folder) if folder.path() == parent => folder,
        Ok(folder) => return refused(format!("its folder is now {}", folder.path().display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Removal::WasGone),
        Err(error) => return refused(error.to_string()),
    };
    let stat = match folder.look(name) {
        Ok(Some(stat)) => stat,
        Ok(None) => return Err(Removal::WasGone),
        Err(error) => return refused(error.to_string()),
    };
    let kind = FileType::from_raw_mode(stat.st_mode);
    let (is_what_it_was, what) = match leftover.kind {
        LeftoverKind::File => (kind.is_file(), "a regular file"),
        LeftoverKind::Cgroup => (kind.is_dir(), "a directory"),
    };
    if !is_what_it_was {
        return refused(format!("it is not {what}"));
    }
    if let Some(identity) = leftover.identity {
        // Device numbers of some file systems change with every boot; inode numbers do not.
        let same_boot = leftover.owner.boot_id == process::this().boot_id;
        let same = identity.inode == stat.st_ino && (!same_boot || identity.device == stat.st_dev);
        if !same {
            return refused(format!("another {} has its name now", noun(leftover.kind)));
        }
    }
    // An entry says what its writer likes: of another user's, root deletes what that user could delete.
    let by = ready.entry.metadata().map_or(u32::MAX, |it| it.uid());
    let is_theirs = || match leftover.kind {
        LeftoverKind::File => stat.st_uid == by || folder.owner().is_ok_and(|it| it == by),
        // What root makes in their data folder is theirs, entries too, and its groups are root's.
        LeftoverKind::Cgroup => stat.st_uid == by || is_of_no_process(name),
    };
    if geteuid().is_root() && by != 0 && !is_theirs() {
        return refused(match leftover.kind {
            LeftoverKind::File => format!("its entry is of user {by}, whose neither the file nor its folder is"),
            LeftoverKind::Cgroup => {
                format!("its entry is of user {by}, whose the group is not, and its process may run")
            }
        });
    }
    if leftover.kind == LeftoverKind::Cgroup && !sys::cgroup::is_group(path) {
        return refused("it is not in a cgroup file system".into());
    }
    Ok((folder, stat))
}

/// Whether the process that a group is named after has ended (`sys::cgroup`: `faultline-<pid>-<n>`): no run is about to use it.
fn is_of_no_process(name: &OsStr) -> bool {
    let pid = name.to_str().and_then(|it| it.strip_prefix(sys::cgroup::PREFIX)?.split('-').next()?.parse::<u32>().ok());
    pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
}

fn remove_file(path: &Path, folder: &Folder, stat: &Stat) -> Result<Removal> {
    match folder.unlink(path.file_name().unwrap_or_default(), (stat.st_dev, stat.st_ino)) {
        Ok(true) => Ok(Removal::Deleted { bytes: stat.st_blocks as u64 * 512 }),
        Ok(false) => Ok(Removal::WasGone),
        Err(error) => Err(error).with_context(|| format!("{} cannot be deleted", path.display())),
    }
}

fn still_in(group: &Path) -> Removal {
    Removal::Refused(format!("{}: processes or groups are still in it", group.display()))
}

/// Never anything but rmdir(2), and never of what is inside: a group with processes or groups in it refuses, and stays.
fn remove_cgroup(path: &Path) -> Result<Removal> {
    match sys::cgroup::remove(path) {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(still_in(path)),
        other => {
            other.with_context(|| format!("{} cannot be removed", path.display()))?;
            Ok(Removal::Deleted { bytes: 0 })
        }
    }
}

fn path_of(leftover: &Leftover) -> PathBuf {
    match &leftover.path_bytes {
        Some(bytes) => PathBuf::from(OsString::from_vec(bytes.clone())),
        None => PathBuf::from(&leftover.path),
    }
}

fn is_ours(kind: LeftoverKind, name: &OsStr) -> bool {
    let name = name.as_bytes();
    match kind {
        LeftoverKind::File => {
            name.len() > b".faultline-.data".len() && name.starts_with(b".faultline-") && name.ends_with(b".data")
        }
        LeftoverKind::Cgroup => {
            let prefix = sys::cgroup::PREFIX.as_bytes();
            name.len() > prefix.len() && name.starts_with(prefix)
        }
    }
}

/// What a thing is by the name that faultline gave it.
pub fn kind_of(path: &Path) -> Option<LeftoverKind> {
    let name = path.file_name()?;
    [LeftoverKind::File, LeftoverKind::Cgroup].into_iter().find(|&kind| is_ours(kind, name))
}

fn pattern(kind: LeftoverKind) -> &'static str {
    match kind {
        LeftoverKind::File => ".faultline-*.data",
        LeftoverKind::Cgroup => "faultline-*",
    }
}

fn noun(kind: LeftoverKind) -> &'static str {
    match kind {
        LeftoverKind::File => "file",
        LeftoverKind::Cgroup => "directory",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_names_the_process_that_made_it() {
        let of = |name: &str| is_of_no_process(OsStr::new(name));
        assert!(!of(&format!("faultline-{}-3", std::process::id())));
        assert!(of("faultline-4294967295-0"), "no process has that number (PID_MAX_LIMIT)");
        assert!(!of("faultline-x-0") && !of("other-4294967295-0") && !of("faultline-"));
    }
}
