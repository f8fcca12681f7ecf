//! A folder held open by its descriptor. Operations use the descriptor and not the path, because any user who may write
//! to a folder can put a link into it, or in its place, at any moment.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat},
    io::Errno,
};

/// The device and the inode of a file: its identity, independent of its name.
pub type Identity = (u64, u64);

/// # Errors
/// fstat(2) fails.
pub fn identity(file: &File) -> io::Result<Identity> {
    let stat = rustix::fs::fstat(file)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// A path by which another process of the same user opens this very file, as long as this process has it open. No name
/// is followed on the way (proc_pid_fd(5)).
pub fn path_of(file: &File) -> PathBuf {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
}

/// Truncates a file to nothing, and closes a descriptor of it. At the first close(2) after that, ext4, XFS and btrfs begin to write
/// back what is dirty, lest a program that replaces a file so loses it (ext4(5), `auto_da_alloc`; fs/ext4/file.c,
/// `ext4_release_file`). That of a measured pass would do so after calls that wrote, in 40 ms for 64 MiB, and not after stores to a
/// mapping, of which the file is closed as soon as it is mapped.
///
/// # Errors
/// It is not open for writing, or there is no /proc.
pub fn empty(file: &File) -> io::Result<()> {
    file.set_len(0)?;
    File::options().write(true).open(path_of(file)).map(drop)
}

/// A file in a folder that never has a name and cannot get one: it is gone with its last descriptor.
///
/// # Errors
/// The folder cannot be written to, or its file system has no such files (open(2), O_TMPFILE).
pub fn unnamed(folder: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Locks a folder against other processes that ask for the same (flock(2)), until the descriptor is closed. Nothing where
/// another one holds it for all of the time, or the folder cannot be opened.
pub fn lock(folder: &Path, patience: Duration) -> Option<File> {
    let folder = File::open(folder).ok()?;
    let lock = || rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok();
    crate::process::within(patience, lock).then_some(folder)
}

/// An open folder, and its path when it was opened.
#[derive(Debug)]
pub struct Folder {
    held: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Links are followed only here.
    ///
    /// # Errors
    /// There is none, or it cannot be looked at.
    pub fn open(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let held = rustix::fs::open(path, flags, Mode::empty())?;
        let path = fs::read_link(format!("/proc/self/fd/{}", held.as_raw_fd()))?;
        Ok(Folder { held, path })
    }

    /// Absolute and without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file for reading and writing, for this user alone. An existing file of that name is left as it is.
    ///
    /// # Errors
    /// The name is taken, or the folder cannot be written.
    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.held, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Opens a regular file of the folder for reading and writing; links are not followed, and what is no file is not waited for.
    ///
    /// # Errors
    /// There is none, it is no regular file, or it may not be opened.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.held, name, flags, Mode::empty())?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other("it is no regular file")),
        }
    }

    /// What is in the folder, in the order of the names.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = fs::read_dir(format!("/proc/self/fd/{}", self.held.as_raw_fd()))?;
        let mut names = entries.map(|it| Ok(it?.file_name())).collect::<io::Result<Vec<OsString>>>()?;
        names.sort();
        Ok(names)
    }

    /// The file of a name in the folder; links are not followed.
    ///
    /// # Errors
    /// The folder cannot be searched.
    pub fn look(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.held, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Unlinks a file if the name still belongs to it; false if the name is gone. Between the check and
    /// unlink(2) the folder's owner can still exchange the file, for one that they may delete themselves.
    ///
    /// # Errors
    /// Another file has the name now, or unlink(2) fails.
    pub fn unlink(&self, name: &OsStr, of: Identity) -> io::Result<bool> {
        let Some(stat) = self.look(name)? else { return Ok(false) };
        if (stat.st_dev, stat.st_ino) != of || !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Err(io::Error::other("another file has its name now"));
        }
        rustix::fs::unlinkat(&self.held, name, AtFlags::empty())?;
        Ok(true)
    }
}

/// The path with all links resolved, if only root and this user can change where it leads: both own every folder on the
/// way, and no other user may write to one, except to folders with the sticky bit.
///
/// # Errors
/// Which folder on the way belongs to another user, or may be written by others.
pub fn trusted(path: &Path) -> Result<PathBuf, String> {
    let described = |path: &Path, why: String| format!("{} is not trusted: {why}", path.display());
    let real = fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    for part in real.ancestors() {
        let about =
            fs::symlink_metadata(part).map_err(|error| described(&real, format!("{}: {error}", part.display())))?;
        if about.uid() != 0 && about.uid() != user.as_raw() {
            return Err(described(&real, format!("{} belongs to user {}", part.display(), about.uid())));
        }
        let sticky = about.is_dir() && about.mode() & 0o1000 != 0;
        // Many users have a group to themselves, and a umask that lets it write.
        let shared = about.mode() & 0o002 != 0 || about.mode() & 0o020 != 0 && about.gid() != group.as_raw();
        if shared && !sticky {
            return Err(described(&real, format!("{} may be written by other users", part.display())));
        }
    }
    Ok(real)
}

/// A folder that only this user may enter, created if missing; its path without links.
///
/// # Errors
/// It cannot be created, or other users may change it.
pub fn private(path: &Path) -> Result<PathBuf, String> {
    let existing = path.ancestors().find(|it| it.exists()).unwrap_or(Path::new("/"));
    trusted(existing)?;
    let no = |error: io::Error| format!("{} cannot be made: {error}", path.display());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(no)?;
    let real = trusted(path)?;
    let about = fs::metadata(&real).map_err(no)?;
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(format!("{} is not trusted: it belongs to user {}", real.display(), about.uid()));
    }
    if about.mode() & 0o077 != 0 {
        fs::set_permissions(&real, fs::Permissions::from_mode(0o700)).map_err(no)?;
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    #[test]
    fn what_is_done_in_a_folder_is_done_there_wherever_its_path_leads() {
        let parent = tempfile::tempdir().unwrap();
        let (path, moved, other) =
            (parent.path().join("folder"), parent.path().join("moved"), parent.path().join("other"));
        fs::create_dir(&path).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("file"), "of somebody else").unwrap();
        let folder = Folder::open(&path).unwrap();
        fs::rename(&path, &moved).unwrap();
        symlink(&other, &path).unwrap();
        let file = folder.create(OsStr::new("file")).unwrap();
        assert!(moved.join("file").exists());
        assert_eq!(fs::read(path_of(&file)).unwrap(), b"");
        assert!(folder.unlink(OsStr::new("file"), identity(&file).unwrap()).unwrap());
        assert!(!folder.unlink(OsStr::new("file"), identity(&file).unwrap()).unwrap());
        assert_eq!(fs::read(other.join("file")).unwrap(), b"of somebody else");
    }

    #[test]
    fn a_name_that_is_taken_is_neither_opened_nor_deleted() {
        let parent = tempfile::tempdir().unwrap();
        let other = parent.path().join("other");
        fs::write(&other, "of somebody else").unwrap();
        let folder = Folder::open(parent.path()).unwrap();
        let made = folder.create(OsStr::new("made")).unwrap();
        let made = identity(&made).unwrap();
        for name in ["link", "hard"] {
            let path = parent.path().join(name);
            if name == "link" {
                symlink(&other, &path).unwrap()
            } else {
                fs::hard_link(&other, &path).unwrap()
            }
            assert_eq!(folder.create(OsStr::new(name)).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            folder.unlink(OsStr::new(name), made).unwrap_err();
            assert!(fs::symlink_metadata(&path).is_ok());
        }
        assert_eq!(fs::read(&other).unwrap(), b"of somebody else");
    }

    #[test]
    fn what_others_may_exchange_is_not_trusted() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        let made = private(&at("a/b")).unwrap();
        for part in [&made, made.parent().unwrap()] {
            assert_eq!(fs::metadata(part).unwrap().mode() & 0o777, 0o700);
        }
        fs::set_permissions(&made, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(private(&made).as_ref(), Ok(&made), "one that others may read becomes private");
        assert_eq!(fs::metadata(&made).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(at("a"), fs::Permissions::from_mode(0o777)).unwrap();
        trusted(&made).unwrap_err();
        private(&at("a/b")).unwrap_err();
        private(&at("a/c/d")).unwrap_err();
        assert!(!at("a/c").exists(), "nothing is made in a folder of others");
        fs::set_permissions(at("a"), fs::Permissions::from_mode(0o1777)).unwrap();
        trusted(&made).unwrap();
        if !rustix::process::geteuid().is_root() || chown(at("a"), Some(65_534), None).is_err() {
            println!("skipped: only root gives folders away");
            return;
        }
        trusted(&made).unwrap_err();
        chown(at("a"), Some(0), None).unwrap();
        chown(&made, Some(65_534), None).unwrap();
        private(&made).unwrap_err();
        symlink(&made, at("link")).unwrap();
        private(&at("link")).unwrap_err();
    }
}
