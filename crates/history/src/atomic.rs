//! Atomic files: written under another name, synced, then renamed.
//!
//! The temporary name begins with a dot and contains the pid and start time of its writer, so that it is not listed as a
//! document, two writers never share one, and files of dead processes can be recognised.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use anyhow::{Context, Result};

use crate::process::{self, Owner};

/// What happens if the name exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    Replace,
    /// `ErrorKind::AlreadyExists`, and the file stays what it is.
    Refuse,
}

/// Puts `content` under `folder/name`. On an error nothing is left behind and what was there is untouched.
pub(crate) fn write(folder: &Path, name: &str, content: &[u8], taken: Taken) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let me = process::this();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!(".{name}.{}.{}.{number}.tmp", me.pid, me.started_ticks));
    let target = folder.join(name);
    let result = fill(&temporary, content).and_then(|()| publish(&temporary, &target, taken));
    if result.is_err() || taken == Taken::Refuse {
        // Gone already after a rename; the error that matters is the one above.
        let _ = fs::remove_file(&temporary);
    }
    result?;
    // The name is on the disk only when its folder is. Some file systems cannot sync a folder; they order it themselves.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(target)
}

fn fill(temporary: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(temporary)?;
    file.write_all(content)?;
    file.sync_all()
}

fn publish(temporary: &Path, target: &Path, taken: Taken) -> io::Result<()> {
    match taken {
        Taken::Replace => fs::rename(temporary, target),
        // link(2) is the portable way to create a name only if it does not exist.
        Taken::Refuse => match fs::hard_link(temporary, target) {
            Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied) => {
                // No hard links here (FAT, some network file systems): the moment between look and rename remains.
                if fs::exists(target)? {
                    Err(io::ErrorKind::AlreadyExists.into())
                } else {
                    fs::rename(temporary, target)
                }
            }
            other => other,
        },
    }
}

/// Temporary files in `folder` whose process is gone.
pub(crate) fn abandoned(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in files(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(stem) = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp")) else { continue };
        let mut parts = stem.rsplit('.');
        let (Some(_), Some(ticks), Some(pid)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (Ok(pid), Ok(started_ticks)) = (pid.parse(), ticks.parse()) else { continue };
        let owner = schema::leftover::LeftoverOwner { pid, started_ticks, ..process::this() };
        if process::owner(&owner) == Owner::Gone {
            found.push(path);
        }
    }
    Ok(found)
}

/// Deletes files that `abandoned` lists, and says how many there were.
pub(crate) fn remove_abandoned(files: &[PathBuf]) -> Result<usize> {
    for path in files {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("{} cannot be deleted", path.display()));
            }
            _ => {}
        }
    }
    Ok(files.len())
}

/// What is in a folder, in the order of the names; nothing when there is no folder.
pub(crate) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    files.sort();
    Ok(files)
}
