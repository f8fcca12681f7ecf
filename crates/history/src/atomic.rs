//! Files of the data folder: whole or not there, and for their user alone.
//!
//! Where a file needs a temporary name, that begins with a dot and contains boot, PID namespace, pid and start time of its writer, so
//! that it is not listed as a document, two writers never share one, and files of dead processes can be recognised.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use rustix::fs::{FileType, Stat};
use schema::leftover::LeftoverOwner;
use sys::{
    folder::{Folder, Identity},
    whole::{AccessRights, Taken, Whole},
};

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
    let seen_from = seen_from(&me);
    Whole::write(
        folder,
        &format!(".{name}.{seen_from}.{}.{}.{number}.tmp", me.pid, me.started_ticks),
        content,
        AccessRights::Private,
    )
}

/// Where a process can be seen from: its boot and its PID namespace.
fn seen_from(of: &LeftoverOwner) -> String {
    let short = |of: &str| of.chars().filter(char::is_ascii_alphanumeric).take(8).collect::<String>();
    let digits: String = of.pid_namespace.chars().filter(char::is_ascii_digit).collect();
    format!("{}-{digits}", short(&of.boot_id))
}

/// What a process that cannot be seen wrote so long ago is not written any more.
const LONG_AGO: Duration = Duration::from_secs(86_400);

/// Temporary files in `folder` whose process is gone, with what they are.
fn abandoned_in(folder: &Folder) -> io::Result<Vec<(OsString, Identity)>> {
    let me = process::this();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let is_gone = |name: &OsStr, stat: &Stat| -> Option<bool> {
        let stem = name.to_str()?.strip_prefix('.')?.strip_suffix(".tmp")?;
        let mut parts = stem.rsplit('.');
        let (_, ticks, pid, from) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let (pid, started_ticks) = (pid.parse().ok()?, ticks.parse().ok()?);
        if from != seen_from(&me) {
            return Some(u64::try_from(stat.st_mtime).ok()? + LONG_AGO.as_secs() < now.as_secs());
        }
        let owner = LeftoverOwner { pid, started_ticks, ..me.clone() };
        Some(process::owner(&owner) == Owner::Gone)
    };
    let mut found = Vec::new();
    for name in folder.names()? {
        // Links and folders are none of ours, whatever their names are.
        if let Some(stat) = folder.look(&name)?
            && FileType::from_raw_mode(stat.st_mode).is_file()
            && is_gone(&name, &stat) == Some(true)
        {
            found.push((name, (stat.st_dev, stat.st_ino)));
        }
    }
    Ok(found)
}

/// Temporary files in `folder` whose process is gone.
pub(crate) fn abandoned(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(held) = there(folder)? else { return Ok(Vec::new()) };
    Ok(abandoned_in(&held)?.into_iter().map(|it| folder.join(it.0)).collect())
}

/// Deletes what `abandoned` lists, and says how many there were. The folder is held meanwhile: another user whose it is could put
/// a link in its place.
pub(crate) fn remove_abandoned(folder: &Path) -> Result<usize> {
    let listed = || format!("{} cannot be listed", folder.display());
    let Some(held) = there(folder).with_context(listed)? else { return Ok(0) };
    let mut deleted = 0;
    for (name, identity) in abandoned_in(&held).with_context(listed)? {
        let is_deleted = held.unlink(&name, identity);
        deleted +=
            usize::from(is_deleted.with_context(|| format!("{} cannot be deleted", folder.join(name).display()))?);
    }
    Ok(deleted)
}

fn there(folder: &Path) -> io::Result<Option<Folder>> {
    match Folder::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
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
