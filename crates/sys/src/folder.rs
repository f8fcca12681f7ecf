//! A folder held open by its descriptor. Operations use the descriptor and not the path, because any user who may write
//! to a folder can put a link into it, or in its place, at any moment.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{
            ffi::OsStrExt,
            fs::{DirBuilderExt, MetadataExt, PermissionsExt},
        },
    },
    path::{Component, Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{AtFlags, CWD, FileType, FlockOperation, Gid, Mode, OFlags, Stat, Uid},
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
        Folder::held(rustix::fs::open(path, FOLDER, Mode::empty())?)
    }

    /// The same, of a folder that root may have in another user's: a link which that user made may lead anywhere, so root does not
    /// follow it.
    ///
    /// # Errors
    /// There is none, it cannot be looked at, or such a link is on the way.
    pub fn open_own(path: &Path) -> io::Result<Folder> {
        Folder::walk(path, false)
    }

    /// The same; what is missing of the way is made, for this user alone. What root makes in a folder of another user is theirs.
    ///
    /// # Errors
    /// As above, or it cannot be made.
    pub fn made(path: &Path) -> io::Result<Folder> {
        Folder::walk(path, true)
    }

    fn held(held: OwnedFd) -> io::Result<Folder> {
        let path = fs::read_link(own_path_of(&held))?;
        Ok(Folder { held, path })
    }

    fn walk(path: &Path, makes: bool) -> io::Result<Folder> {
        let is_root = rustix::process::geteuid().is_root();
        let from = |path: &str| rustix::io::retry_on_intr(|| rustix::fs::open(path, FOLDER, Mode::empty()));
        let mut at = from(if path.is_absolute() { "/" } else { "." })?;
        let (mut ahead, mut links) = (names_of(path), 0);
        while let Some(name) = ahead.pop() {
            let (found, is_new) = match found_in(&at, &name) {
                Err(Errno::NOENT) if makes => {
                    let is_new = match rustix::fs::mkdirat(&at, &name, Mode::RWXU) {
                        Err(Errno::EXIST) => false,
                        other => other.map(|()| true)?,
                    };
                    (found_in(&at, &name)?, is_new)
                }
                other => (other?, false),
            };
            let about = found.metadata()?;
            if about.is_symlink() {
                links += 1;
                if is_root && about.uid() != 0 {
                    return Err(of_another_user());
                }
                if links > LINKS_MAX {
                    return Err(Errno::LOOP.into());
                }
                let to = rustix::fs::readlinkat(&found, "", Vec::new())?;
                let to = Path::new(OsStr::from_bytes(to.to_bytes()));
                if to.is_absolute() {
                    at = from("/")?;
                }
                ahead.extend(names_of(to));
                continue;
            }
            if !about.is_dir() {
                return Err(Errno::NOTDIR.into());
            }
            // The owner of the folder may have put another one in its place by now; one that is empty is worth nothing.
            let is_empty = || fs::read_dir(own_path_of(&found)).is_ok_and(|mut it| it.next().is_none());
            if is_new && is_empty() {
                give(&found, &at)?;
            }
            at = found.into();
        }
        Folder::held(at)
    }

    /// # Errors
    /// There are no descriptors left.
    pub fn again(&self) -> io::Result<Folder> {
        Ok(Folder { held: self.held.try_clone()?, path: self.path.clone() })
    }

    /// What has a name in the folder, for being looked at; a link is not followed.
    ///
    /// # Errors
    /// Nothing has it, or the folder cannot be searched.
    pub(crate) fn found(&self, name: &OsStr) -> io::Result<(File, fs::Metadata)> {
        let found = found_in(&self.held, name)?;
        let about = found.metadata()?;
        Ok((found, about))
    }

    /// As long as this lives, whatever its name is by then.
    pub(crate) fn for_now(&self) -> PathBuf {
        own_path_of(&self.held)
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

    /// A file that has no name yet. Nothing where the file system has no such files, or where they could not get a name (open(2),
    /// O_TMPFILE).
    pub fn create_unnamed(&self) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.held, ".", flags, Mode::RUSR | Mode::WUSR).ok()?;
        fs::exists("/proc/self/fd").is_ok_and(|it| it).then(|| file.into())
    }

    /// Gives a file that has none a name in the folder.
    ///
    /// # Errors
    /// The name is taken, or the folder cannot be written.
    pub fn name(&self, file: &File, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::linkat(CWD, own_path_of(file), &self.held, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// A second name of a file of the folder.
    ///
    /// # Errors
    /// The name is taken, or the file system has no second names.
    pub fn link(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::linkat(&self.held, from, &self.held, to, AtFlags::empty())?)
    }

    /// # Errors
    /// The folder cannot be written.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.held, from, &self.held, to)?)
    }

    /// Has its names on the disk. Some file systems cannot do that for a folder; they order it themselves.
    pub fn sync(&self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(folder) = rustix::fs::openat(&self.held, ".", flags, Mode::empty()) {
            let _ = rustix::fs::fsync(folder);
        }
    }

    /// Takes a name from what has it; false where nothing has it.
    ///
    /// # Errors
    /// unlink(2) fails.
    pub fn unname(&self, name: &OsStr) -> io::Result<bool> {
        match rustix::fs::unlinkat(&self.held, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(false),
            other => Ok(other.map(|()| true)?),
        }
    }

    /// What root made in this folder, which is another user's, belongs to that user from then on.
    ///
    /// # Errors
    /// fchown(2) fails.
    pub fn give(&self, made: &File) -> io::Result<()> {
        give(made, &self.held)
    }

    /// Whose it is.
    ///
    /// # Errors
    /// fstat(2) fails.
    pub fn owner(&self) -> io::Result<u32> {
        Ok(rustix::fs::fstat(&self.held)?.st_uid)
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
        let entries = fs::read_dir(self.for_now())?;
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

/// What an open folder is looked at and searched by.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// As many links as the kernel follows (path_resolution(7)).
pub(crate) const LINKS_MAX: usize = 40;

/// What has a name in a folder, for being looked at; a link is not followed.
fn found_in(folder: impl AsFd, name: &OsStr) -> Result<File, Errno> {
    let open = |flags: OFlags| {
        let flags = flags | OFlags::NOFOLLOW;
        rustix::io::retry_on_intr(|| rustix::fs::openat(folder.as_fd(), name, flags, Mode::empty())).map(File::from)
    };
    // Only as a folder is it mounted where that is left to the first one who comes (open(2), O_PATH).
    match open(FOLDER) {
        Err(Errno::NOTDIR | Errno::LOOP) => open(OFlags::PATH | OFlags::CLOEXEC),
        other => other,
    }
}

/// It may lead anywhere.
pub(crate) fn of_another_user() -> io::Error {
    let why = "a symbolic link of another user leads there, and root does not follow it";
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

fn give(made: &File, folder: impl AsFd) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let (about, folder) = (made.metadata()?, rustix::fs::fstat(folder)?);
    if about.uid() == 0 && folder.st_uid != 0 {
        let owner = (Uid::from_raw(folder.st_uid), Gid::from_raw(folder.st_gid));
        // What is open for being looked at alone has no fchown(2).
        rustix::fs::chownat(made, "", Some(owner.0), Some(owner.1), AtFlags::EMPTY_PATH)?;
    }
    Ok(())
}

/// The path with all links resolved, if only root and this user can change where it leads: both own every folder and every link on
/// the way, and no other user may write to a folder, except to one with the sticky bit.
///
/// # Errors
/// What on the way belongs to another user, or may be written by others.
pub fn trusted(path: &Path) -> Result<PathBuf, String> {
    let no = |part: &Path, why: String| format!("{} is not trusted: {} {why}", path.display(), part.display());
    let unknown = |part: &Path, error: io::Error| format!("{}: {}: {error}", path.display(), part.display());
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let whole = std::path::absolute(path).map_err(|error| unknown(path, error))?;
    let mut ahead: Vec<OsString> = names_of(&whole);
    let (mut real, mut links) = (PathBuf::from("/"), 0);
    loop {
        let about = fs::symlink_metadata(&real).map_err(|error| unknown(&real, error))?;
        if about.uid() != 0 && about.uid() != user {
            return Err(no(&real, format!("belongs to user {}", about.uid())));
        }
        let sticky = about.is_dir() && about.mode() & 0o1000 != 0;
        // Many users have a group to themselves, of the same number, and a umask that lets it write.
        let is_own_group = about.gid() == group && group == user;
        let shared = about.mode() & 0o002 != 0 || about.mode() & 0o020 != 0 && !is_own_group;
        if shared && !sticky && !about.is_symlink() {
            return Err(no(&real, "may be written by other users".into()));
        }
        if about.is_symlink() {
            links += 1;
            if links > LINKS_MAX {
                return Err(unknown(&real, Errno::LOOP.into()));
            }
            let to = fs::read_link(&real).map_err(|error| unknown(&real, error))?;
            real.pop();
            if to.is_absolute() {
                real = PathBuf::from("/");
            }
            ahead.extend(names_of(&to));
        }
        match ahead.pop() {
            Some(name) if name == ".." => drop(real.pop()),
            Some(name) => real.push(name),
            None => return Ok(real),
        }
    }
}

/// Of the parts of a path, the last one first.
fn names_of(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|it| match it {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    names.rev().collect()
}

/// Whether a path leads into a folder, or below it; false where one of them is not there.
pub fn lies_in(path: &Path, folder: &Path) -> bool {
    let [path, folder] = [path, folder].map(|it| fs::canonicalize(it).ok());
    path.zip(folder).is_some_and(|(path, folder)| path.starts_with(folder))
}

/// A path of what is open here, for this process and while it is open (proc_pid_fd(5)). Unlike `path_of` it is right also where
/// /proc numbers processes otherwise.
fn own_path_of(open: &impl AsRawFd) -> PathBuf {
    format!("/proc/self/fd/{}", open.as_raw_fd()).into()
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

    #[test]
    fn a_folder_is_made_where_its_path_leads_and_root_follows_no_link_of_another_user() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        fs::create_dir_all(at("own/secret")).unwrap();
        symlink("own", at("link")).unwrap();
        let real = fs::canonicalize(at("own")).unwrap();
        assert_eq!(Folder::made(&at("link/a/b")).unwrap().path(), real.join("a/b"));
        assert_eq!(Folder::made(&at("link/a/../a/b")).unwrap().path(), real.join("a/b"), "it is there");
        assert_eq!(Folder::open_own(&at("link/secret")).unwrap().path(), real.join("secret"));
        assert_eq!(Folder::open_own(&at("link/none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(at("file"), "").unwrap();
        assert!(Folder::made(&at("file/a")).is_err());
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root is led elsewhere by others");
            return;
        }
        fs::create_dir(at("other")).unwrap();
        symlink(at("own/secret"), at("other/runs")).unwrap();
        for part in ["other", "other/runs"] {
            std::os::unix::fs::lchown(at(part), Some(65_534), Some(65_534)).unwrap();
        }
        for open in [Folder::made, Folder::open_own] {
            for path in ["other/runs", "other/runs/more"] {
                assert_eq!(open(&at(path)).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            }
        }
        assert_eq!(fs::read_dir(at("own/secret")).unwrap().count(), 0);
        // What is made in a folder of theirs is theirs, also a file that is put there after the name leads elsewhere.
        let made = Folder::made(&at("other/a/b")).unwrap();
        fs::rename(at("other/a/b"), at("other/a/c")).unwrap();
        symlink(at("own/secret"), at("other/a/b")).unwrap();
        let file = made.create(OsStr::new("file")).unwrap();
        made.give(&file).unwrap();
        for path in ["other/a", "other/a/c", "other/a/c/file"] {
            assert_eq!(fs::metadata(at(path)).unwrap().uid(), 65_534, "{path}");
        }
        assert_eq!(fs::read_dir(at("own/secret")).unwrap().count(), 0);
    }

    #[test]
    fn a_link_in_a_folder_of_another_user_is_not_trusted_wherever_it_leads() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        let real = fs::canonicalize(parent.path()).unwrap().join("own/file");
        fs::create_dir_all(at("own")).unwrap();
        fs::create_dir_all(at("other/below")).unwrap();
        fs::write(&real, "").unwrap();
        symlink("../../own/file", at("other/below/link")).unwrap();
        symlink(at("other/below"), at("way")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let ways = ["other/below/link", "way/link", "other/below/../below/link", "own/../other/below/link"];
        ways.iter().for_each(|it| assert_eq!(trusted(&at(it)).as_ref(), Ok(&real), "{it}"));
        assert!(trusted(&at("circle")).is_err() && trusted(&at("none")).is_err());
        fs::set_permissions(at("other/below"), fs::Permissions::from_mode(0o777)).unwrap();
        ways.iter().for_each(|it| drop(trusted(&at(it)).unwrap_err()));
        fs::set_permissions(at("other/below"), fs::Permissions::from_mode(0o755)).unwrap();
        if rustix::process::geteuid().is_root() && chown(at("other"), Some(65_534), None).is_ok() {
            ways.iter().for_each(|it| drop(trusted(&at(it)).unwrap_err()));
            chown(at("other"), Some(0), None).unwrap();
            std::os::unix::fs::lchown(at("other/below/link"), Some(65_534), None).unwrap();
            ways.iter().for_each(|it| drop(trusted(&at(it)).unwrap_err()));
        }
    }
}
