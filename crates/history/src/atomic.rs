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
pub(crate) fn write(folder: &Folder, name: &str, content: &[u8], taken: Taken) -> io::Result<()> {
    written(folder, name, content)?.name(OsStr::new(name), taken).map(drop)
}

/// The file without its name.
pub(crate) fn written(folder: &Folder, name: &str, content: &[u8]) -> io::Result<Whole> {
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

fn is_seen_from(text: &str) -> bool {
    text.split_once('-').is_some_and(|(boot, digits)| {
        let is_boot = (1..=8).contains(&boot.len()) && boot.bytes().all(|it| it.is_ascii_alphanumeric());
        is_boot && !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit())
    })
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
        let (number, ticks, pid, from) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let (pid, started_ticks) = (pid.parse().ok()?, ticks.parse().ok()?);
        // A file of another program may be called nearly so.
        number.parse::<u64>().ok().filter(|_| is_seen_from(from))?;
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

/// Temporary files in `folder` whose process is gone, or why they cannot be listed.
pub(crate) fn abandoned(folder: &Path) -> Vec<Result<PathBuf>> {
    let paths = |(found, _): Listed| found.into_iter().map(|it| Ok(folder.join(it.0))).collect::<Vec<_>>();
    listed(folder).map_or_else(|error| vec![Err(error)], |it| it.map_or_else(Vec::new, paths))
}

/// Deletes what `abandoned` lists: what it deleted, and what could not be deleted. The folder is held meanwhile: another user whose
/// it is could put a link in its place.
pub(crate) fn remove_abandoned(folder: &Path) -> Vec<Result<PathBuf>> {
    let (found, held) = match listed(folder) {
        Ok(Some(listed)) => listed,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![Err(error)],
    };
    let remove = |(name, identity): (OsString, Identity)| {
        let path = folder.join(&name);
        let is_deleted = held.unlink(&name, identity);
        match is_deleted.with_context(|| format!("{} cannot be deleted", path.display())) {
            Ok(is_deleted) => is_deleted.then_some(Ok(path)),
            Err(error) => Some(Err(error)),
        }
    };
    found.into_iter().filter_map(remove).collect()
}

/// Files of a folder that is held.
type Listed = (Vec<(OsString, Identity)>, Folder);

fn listed(folder: &Path) -> Result<Option<Listed>> {
    let found = there(folder).and_then(|held| held.map(|held| Ok((abandoned_in(&held)?, held))).transpose());
    found.with_context(|| format!("{} cannot be listed", folder.display()))
}

fn there(folder: &Path) -> io::Result<Option<Folder>> {
    match Folder::open_own(folder) {
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
