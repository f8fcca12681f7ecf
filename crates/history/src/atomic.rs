//! Files of the data folder: whole or not there, and for their user alone.
//!
//! Where a file needs a temporary name, that begins with a dot and contains the pid and start time of its writer, so that it is not listed as a
//! document, two writers never share one, and files of dead processes can be recognised.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use anyhow::{Context, Result};
use sys::whole::{AccessRights, Taken, Whole};

use crate::process::{self, Owner};

/// Puts `content` under `folder/name`, for this user alone. On an error nothing is left behind and what was there is
/// untouched.
pub(crate) fn write(folder: &Path, name: &str, content: &[u8], taken: Taken) -> io::Result<PathBuf> {
    let target = folder.join(name);
    written(folder, name, content)?.name(&target, taken)?;
    Ok(target)
}

/// The file without its name.
pub(crate) fn written(folder: &Path, name: &str, content: &[u8]) -> io::Result<Whole> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let me = process::this();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Whole::write(
        folder,
        &format!(".{name}.{}.{}.{number}.tmp", me.pid, me.started_ticks),
        content,
        AccessRights::Private,
    )
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
