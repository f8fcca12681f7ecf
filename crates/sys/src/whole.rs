//! Files that appear whole or not at all: written and synced without a name, or under another one, and then named. A full
//! disk, or an end in between, leaves what was there before.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Write},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Gid, Mode, Uid},
    process::geteuid,
};

use crate::folder::{Folder, LINKS_MAX, of_another_user};

/// What happens if the name exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Replace,
    /// `ErrorKind::AlreadyExists`, and the file stays what it is.
    Refuse,
}

/// Who may read and write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessRights {
    /// This user alone. What root puts into a folder of another user (`sudo`) belongs to that user.
    Private,
    /// Those whom the umask allows.
    Usual,
    /// Those who could read the file that it replaces.
    As { mode: u32, owner: (u32, u32) },
}

impl AccessRights {
    /// Of a file that is there.
    pub fn of(metadata: &fs::Metadata) -> AccessRights {
        AccessRights::As { mode: metadata.mode() & 0o7777, owner: (metadata.uid(), metadata.gid()) }
    }
}

/// A file that is written and synced and has no name yet, or a temporary one, which goes when this is dropped.
#[derive(Debug)]
pub struct Whole {
    file: File,
    folder: Folder,
    temporary: OsString,
    is_named: bool,
}

impl Whole {
    /// In the folder that it will have its name in. `temporary` is a name that no other process uses.
    ///
    /// # Errors
    /// The folder cannot be written, or has no room; nothing is left then.
    pub fn write(folder: &Folder, temporary: &str, content: &[u8], access: AccessRights) -> io::Result<Whole> {
        let (temporary, held) = (OsString::from(temporary), folder.again()?);
        let (file, is_named) = match folder.create_unnamed() {
            Some(file) => (file, false),
            None => (folder.create(&temporary)?, true),
        };
        let mut whole = Whole { file, folder: held, temporary, is_named };
        whole.file.write_all(content)?;
        whole.admit(access)?;
        whole.file.sync_all()?;
        Ok(whole)
    }

    /// Written, and without its name: to be locked before another process can see it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name, and the name to the disk; the file stays open.
    ///
    /// # Errors
    /// The name is taken, or the folder cannot be written; what had the name before has it still.
    pub fn name(mut self, name: &OsStr, taken: Taken) -> io::Result<File> {
        match taken {
            Taken::Replace => {
                if !self.is_named {
                    self.folder.name(&self.file, &self.temporary)?;
                    self.is_named = true;
                }
                self.folder.rename(&self.temporary, name)?;
                self.is_named = false;
            }
            Taken::Refuse if !self.is_named => self.folder.name(&self.file, name)?,
            // link(2) is the portable way to create a name only if it does not exist.
            Taken::Refuse => match self.folder.link(&self.temporary, name) {
                Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied) => {
                    // No hard links here (FAT, some network file systems): the moment between look and rename remains.
                    if self.folder.look(name)?.is_some() {
                        return Err(io::ErrorKind::AlreadyExists.into());
                    }
                    self.folder.rename(&self.temporary, name)?;
                    self.is_named = false;
                }
                other => other?,
            },
        }
        self.folder.sync();
        self.file.try_clone()
    }

    fn admit(&self, access: AccessRights) -> io::Result<()> {
        match access {
            AccessRights::Private => self.folder.give(&self.file),
            AccessRights::Usual => Ok(rustix::fs::fchmod(&self.file, Mode::from_raw_mode(0o666 & !umask()))?),
            AccessRights::As { mode, owner } => {
                // Only root may, and for another user the file is then their own, as a new one would be.
                let _ = rustix::fs::fchown(&self.file, Some(Uid::from_raw(owner.0)), Some(Gid::from_raw(owner.1)));
                Ok(rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode & 0o777))?)
            }
        }
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if self.is_named {
            let _ = self.folder.unname(&self.temporary);
        }
    }
}

/// Where a name lies; a lone one in the current folder.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file that is there: the folder that it lies in, held open, and its name there. What a path leads to may be another
/// one by the next look, where another user may write into a folder of it.
#[derive(Debug)]
pub struct Place {
    folder: Folder,
    name: OsString,
    about: fs::Metadata,
}

impl Place {
    /// What a path leads to in the end.
    ///
    /// # Errors
    /// There is nothing, or the path ends with a link that another user made, which root does not follow: it may lead
    /// anywhere. Links among the folders are followed.
    pub fn of(path: &Path) -> io::Result<Place> {
        let mut path = path.to_path_buf();
        // Links may be relative to them.
        let mut folders = Vec::new();
        for _ in 0..LINKS_MAX {
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_os_string();
            let folder = Folder::open(folder_of(&path))?;
            let (found, about) = folder.found(&name)?;
            if !about.is_symlink() {
                return Ok(Place { folder, name, about });
            }
            if geteuid().is_root() && about.uid() != 0 {
                return Err(of_another_user());
            }
            let to = rustix::fs::readlinkat(&found, "", Vec::new())?;
            path = folder.for_now().join(OsStr::from_bytes(to.to_bytes()));
            folders.push(folder);
        }
        Err(io::Error::from_raw_os_error(rustix::io::Errno::LOOP.raw_os_error()))
    }

    pub fn about(&self) -> &fs::Metadata {
        &self.about
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// For as long as this lives, whatever the name of its folder is by then.
    pub fn path(&self) -> PathBuf {
        self.folder.for_now().join(&self.name)
    }
}

/// Reading it sets it, for all threads of this process; so it comes from /proc (Linux 4.7).
fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("Umask:"));
    line.and_then(|it| u32::from_str_radix(it.trim(), 8).ok()).unwrap_or(0o022)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    fn write(folder: &Path, name: &str, content: &str, access: AccessRights, taken: Taken) -> io::Result<File> {
        let folder = Folder::open(folder)?;
        Whole::write(&folder, ".temporary", content.as_bytes(), access)?.name(OsStr::new(name), taken)
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole_and_a_name_that_is_taken_stays_what_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let held = Folder::open(path).unwrap();
        let whole = Whole::write(&held, ".temporary", b"one", AccessRights::Private).unwrap();
        assert!(!path.join("file").exists());
        whole.name(OsStr::new("file"), Taken::Refuse).unwrap();
        let taken = write(path, "file", "two", AccessRights::Private, Taken::Refuse).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "one");
        // Another name of the file keeps what it had.
        fs::hard_link(path.join("file"), path.join("other")).unwrap();
        write(path, "file", "two", AccessRights::Private, Taken::Replace).unwrap();
        assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "two");
        assert_eq!(fs::read_to_string(path.join("other")).unwrap(), "one");
        drop(Whole::write(&held, ".temporary", b"never named", AccessRights::Private).unwrap());
        assert_eq!(names(path), ["file", "other"]);
    }

    #[test]
    fn a_private_file_is_for_its_owner_alone_and_a_replaced_one_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().mode() & 0o777;
        write(folder.path(), "private", "", AccessRights::Private, Taken::Refuse).unwrap();
        write(folder.path(), "usual", "", AccessRights::Usual, Taken::Refuse).unwrap();
        assert_eq!((mode("private"), mode("usual")), (0o600, 0o666 & !umask()));
        fs::set_permissions(folder.path().join("usual"), fs::Permissions::from_mode(0o640)).unwrap();
        let before = AccessRights::of(&fs::metadata(folder.path().join("usual")).unwrap());
        write(folder.path(), "usual", "more", before, Taken::Replace).unwrap();
        assert_eq!(mode("usual"), 0o640);
        Folder::made(&folder.path().join("a/b")).unwrap();
        assert_eq!((mode("a"), mode("a/b")), (0o700, 0o700));
    }

    #[test]
    fn a_place_is_where_links_lead_and_root_follows_none_of_another_user() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("below")).unwrap();
        fs::write(at("below/file"), "text").unwrap();
        std::os::unix::fs::symlink("below/file", at("link")).unwrap();
        std::os::unix::fs::symlink(at("link"), at("below/again")).unwrap();
        for path in ["below/file", "link", "below/again"] {
            let place = Place::of(&at(path)).unwrap();
            let text = fs::read_to_string(place.path()).unwrap();
            assert_eq!((place.about().len(), text.as_str()), (4, "text"), "{path}");
            // The folder is the one that it was, under whatever name.
            assert_eq!(place.folder().path(), fs::canonicalize(at("below")).unwrap());
        }
        std::os::unix::fs::symlink("circle", at("circle")).unwrap();
        assert!(Place::of(&at("circle")).is_err() && Place::of(&at("none")).is_err());
        if geteuid().is_root() {
            std::os::unix::fs::lchown(at("link"), Some(65_534), Some(65_534)).unwrap();
            let refused = ["link", "below/again"].map(|it| Place::of(&at(it)).unwrap_err().kind());
            assert_eq!(refused, [io::ErrorKind::PermissionDenied; 2]);
        }
    }

    #[test]
    fn what_root_makes_in_a_folder_of_another_user_is_theirs() {
        if !geteuid().is_root() {
            println!("skipped: only root makes files for others");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        chown(folder.path(), Some(65_534), Some(65_534)).unwrap();
        Folder::made(&folder.path().join("a/b")).unwrap();
        write(&folder.path().join("a/b"), "file", "", AccessRights::Private, Taken::Refuse).unwrap();
        for name in ["a", "a/b", "a/b/file"] {
            let about = fs::metadata(folder.path().join(name)).unwrap();
            assert_eq!((about.uid(), about.gid()), (65_534, 65_534), "{name}");
        }
    }
}
