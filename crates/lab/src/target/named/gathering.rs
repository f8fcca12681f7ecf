//! Finding what was named: every file of it once, with what of it is in the page cache before anything is evicted.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, File, FileType, Metadata},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result, bail};
use schema::{
    Span,
    record::{Reading, Resident},
};
use sys::cache::{self, Way};

use super::{
    super::{
        disk,
        file::{Stamp, believe},
    },
    Entry, FileClass, NAMES_SHOWN, may_write, open,
};

/// More are a mistake: setting their state before every execution would take longer than most commands.
const FILES_MAX: usize = 250_000;
/// What was in more places is not brought back.
const PARTS_MAX: usize = 1 << 16;

pub(super) struct Gathering<'a> {
    keep_cache: bool,
    interrupted: &'a AtomicBool,
    pub(super) files: Vec<Entry>,
    pub(super) folders: Vec<Entry>,
    pub(super) classes: Vec<FileClass>,
    /// What of all files is in the page cache.
    pub(super) found: Reading<Resident>,
    known: HashSet<(u64, u64)>,
    /// Of all files that were found, also of those that were named before.
    pub(super) seen_bytes: u64,
    /// What was left out: why, how often, and the first names.
    left_out: BTreeMap<[&'static str; 2], (usize, Vec<String>)>,
}

impl<'a> Gathering<'a> {
    pub(super) fn new(keep_cache: bool, interrupted: &'a AtomicBool) -> Gathering<'a> {
        Gathering {
            keep_cache,
            interrupted,
            files: Vec::new(),
            folders: Vec::new(),
            classes: Vec::new(),
            found: Reading::Value(Resident { pages: 0, of: 0 }),
            known: HashSet::new(),
            seen_bytes: 0,
            left_out: BTreeMap::new(),
        }
    }

    /// A file that is open, once whatever its number of names.
    pub(super) fn enter(&mut self, path: PathBuf, file: &File, metadata: &Metadata) -> Result<()> {
        if self.interrupted.load(Ordering::Relaxed) {
            bail!("interrupted")
        }
        self.seen_bytes = self.seen_bytes.saturating_add(metadata.len());
        if !self.known.insert((metadata.dev(), metadata.ino())) {
            return Ok(());
        }
        if self.files.len() == FILES_MAX {
            bail!(
                "more than {FILES_MAX} files were named: setting their state before every execution would take longer \
                 than most commands. Name a part of them"
            )
        }
        let mut metadata = metadata.clone();
        if !self.keep_cache && cache::cachestat(file, 0, metadata.len()).is_ok_and(|it| it.dirty + it.writeback > 0) {
            // Once, so that no eviction has to.
            rustix::fs::fsync(file).with_context(|| format!("{} cannot be synced", path.display()))?;
            metadata = file.metadata()?;
        }
        let class = self.class(&path, file, &metadata)?;
        let found = if metadata.len() == 0 { Some(Vec::new()) } else { self.look(class, &path, file, metadata.len()) };
        self.files.push(Entry { path, stamp: Stamp::of(&metadata), class, found });
        Ok(())
    }

    /// The parts of a file that are in the page cache, where that is known; their number is added to that of all files.
    fn look(&mut self, class: usize, path: &Path, file: &File, bytes: u64) -> Option<Vec<Span>> {
        let of = bytes.div_ceil(sys::page_bytes());
        let way = self.classes[class].way().clone();
        let pages = way.clone().and_then(|it| it.resident_pages(file, 0, bytes).map_err(|error| error.to_string()));
        self.found = match (&self.found, &pages) {
            (Reading::Value(sum), Ok(pages)) => Reading::Value(Resident { pages: sum.pages + pages, of: sum.of + of }),
            (Reading::Value(_), Err(reason)) => Reading::unavailable(format!("{}: {reason}", path.display())),
            (unavailable, _) => unavailable.clone(),
        };
        match pages.ok()? {
            // Its looks start read-ahead.
            _ if way == Ok(Way::Nowait) => None,
            0 => Some(Vec::new()),
            pages if pages == of => Some(vec![Span { offset: 0, bytes }]),
            _ if !Way::Mincore.shows(file) => None,
            _ => {
                let parts = cache::resident_parts(file, bytes, PARTS_MAX).ok()??;
                Some(parts.into_iter().map(|(offset, bytes)| Span { offset, bytes }).collect())
            }
        }
    }

    fn class(&mut self, path: &Path, file: &File, metadata: &Metadata) -> Result<usize> {
        let (device, owner) = (metadata.dev(), metadata.uid());
        let writable = may_write(path);
        // An empty file proves nothing; another one of its class will, if there is one.
        let known = self.classes.iter().position(|it| (it.device, it.owner, it.writable) == (device, owner, writable));
        if let Some(known) = known.or_else(|| (metadata.len() == 0).then_some(usize::MAX)) {
            return Ok(known);
        }
        let shown = path.display();
        let file_system =
            sys::mount::file_system(path).with_context(|| format!("cannot find the file system of {shown}"))?;
        if file_system.is_pseudo() {
            bail!(
                "{shown} is on {}: the kernel generates its content on each read, so there is nothing to cache. Try a \
                 file on a disk",
                file_system.kind
            )
        }
        let in_memory = file_system.is_memory().then(|| file_system.kind.clone());
        let disk = disk(&file_system).ok().map(|it| it.name);
        let (believed, proved, tried) = (believe(file), OnceLock::new(), path.to_path_buf());
        self.classes.push(FileClass { device, owner, writable, in_memory, disk, believed, proved, tried });
        Ok(self.classes.len() - 1)
    }

    /// Everything in a folder and below it; what links lead to is not.
    /// Whether it met a folder that was named before, or lies in one: its files are known.
    pub(super) fn walk(&mut self, folder: &Path) -> Result<bool> {
        let mut met = false;
        let top = fs::canonicalize(folder).with_context(|| format!("cannot look at {}", folder.display()))?;
        let mut open_folders = vec![top.clone()];
        while let Some(folder) = open_folders.pop() {
            let listed = fs::metadata(&folder).and_then(|metadata| Ok((metadata, sorted(&folder)?)));
            let (metadata, entries) = match listed {
                Ok(listed) => listed,
                Err(error) if folder == top => {
                    return Err(error).with_context(|| format!("cannot list {}", folder.display()));
                }
                Err(_) => {
                    self.leave_out(["folder cannot be listed", "folders cannot be listed"], &folder);
                    continue;
                }
            };
            if !self.known.insert((metadata.dev(), metadata.ino())) {
                met = true;
                continue;
            }
            self.folders.push(Entry { path: folder, stamp: Stamp::of(&metadata), class: usize::MAX, found: None });
            for (path, kind) in entries {
                match () {
                    // Workers and observers get paths as text.
                    () if path.to_str().is_none() => {
                        let one = "entry whose name is not UTF-8 was left out";
                        self.leave_out([one, "entries whose names are not UTF-8 were left out"], &path);
                    }
                    () if kind.is_dir() => open_folders.push(path),
                    () if kind.is_file() => self.found(path)?,
                    () if kind.is_symlink() => {
                        let one = "symbolic link was not followed (name its target)";
                        self.leave_out([one, "symbolic links were not followed (name their targets)"], &path);
                    }
                    () => {
                        let one = "pipe, socket or device was left out";
                        self.leave_out([one, "pipes, sockets and devices were left out"], &path);
                    }
                }
            }
        }
        Ok(met)
    }

    fn found(&mut self, path: PathBuf) -> Result<()> {
        match open(&path).and_then(|file| Ok((file.metadata()?, file))) {
            Ok((metadata, file)) => self.enter(path, &file, &metadata),
            Err(_) => {
                let one = "file cannot be read, by the commands either, and was left out";
                self.leave_out([one, "files cannot be read, by the commands either, and were left out"], &path);
                Ok(())
            }
        }
    }

    /// `why`: of one, and of several.
    fn leave_out(&mut self, why: [&'static str; 2], path: &Path) {
        let (count, names) = self.left_out.entry(why).or_default();
        *count += 1;
        if names.len() < NAMES_SHOWN {
            names.push(path.display().to_string());
        }
    }

    /// `2 symbolic links were not followed (…): a, b`
    pub(super) fn notes(&self) -> Vec<String> {
        let described = self.left_out.iter().map(|([one, several], (count, names))| {
            let why = if *count == 1 { one } else { several };
            let more = if *count > names.len() { ", …" } else { "" };
            format!("{count} {why}: {}{more}", names.join(", "))
        });
        described.collect()
    }
}

fn sorted(folder: &Path) -> std::io::Result<Vec<(PathBuf, FileType)>> {
    let mut entries = fs::read_dir(folder)?
        .map(|entry| entry.and_then(|it| Ok((it.path(), it.file_type()?))))
        .collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(entries)
}
