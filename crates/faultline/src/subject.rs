//! What is measured: the user's file, or one of our own in the user's directory. And what a run leaves in the meantime.

use std::{
    io::{self, ErrorKind::NotFound},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result};
use lab::{Named, Target, fixture};
use schema::{Experiment, Fill, State, experiment::Compare, leftover::LeftoverKind};
use sys::folder::Folder;

use crate::{
    exit::{Stopped, UsageError},
    output,
    progress::Line,
};

/// The user's file, or one of our own in the user's directory, removed when this is dropped.
pub struct Subject {
    pub target: Target,
    _made: Option<Made>,
}

/// A test file and its entry in the cleanup journal; first the one goes, then the other.
struct Made {
    fixture: Option<fixture::Fixture>,
    entry: Option<history::Entry>,
}

impl Made {
    fn remove(&mut self) -> io::Result<()> {
        self.fixture.as_mut().map_or(Ok(()), fixture::Fixture::remove)?;
        // An entry too many does no harm: cleaning finds nothing where it points.
        drop(self.entry.take().map(history::Entry::done));
        Ok(())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            output::warn(&format!("the test file could not be removed: {error}; `faultline clean` tries again"));
        }
    }
}

impl Subject {
    /// # Errors
    /// In words for people: no such file, no permission, no space, nothing that can be measured.
    pub fn open(
        path: &Path,
        size: Option<u64>,
        seed: u64,
        keep_cache: bool,
        interrupted: &Arc<AtomicBool>,
        line: &Line,
    ) -> Result<Subject> {
        if !path.is_dir() {
            return Ok(Subject { target: Target::open(path, keep_cache)?, _made: None });
        }
        let bytes = size.map_or_else(|| fixture::default_bytes(path), Ok)?;
        let folder = Folder::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let name = fixture::Fixture::new_name();
        // Absolute, so that `faultline clean` finds it from anywhere.
        let whole = folder.path().join(&name);
        let entry =
            history::CleanupJournal::open(None).and_then(|journal| journal.enter(LeftoverKind::File, &whole))?;
        let mut made = Made { fixture: None, entry: Some(entry) };
        let fixture = made.fixture.insert(fixture::Fixture::create(folder, name, bytes)?);
        // Without the identity `faultline clean` still checks the file's name.
        let _ = made.entry.as_mut().map(|entry| entry.created(fixture.identity()));
        let what = format!("writing a test file of {} in {}", schema::Bytes(bytes), path.display());
        let show = |written| line.show(&what, written as f64 / bytes as f64);
        if let Err(why) = fixture.fill(bytes, seed, interrupted, show) {
            // Where it stays, dropping it says so.
            let removed = if made.remove().is_ok() { "; it was removed again" } else { "" };
            return Err(match interrupted.load(Ordering::Relaxed) {
                true if removed.is_empty() => Stopped("interrupted while the test file was written").into(),
                true => Stopped("interrupted while the test file was written; it was removed").into(),
                false => anyhow::Error::from(why).context(format!(
                    "cannot write a test file of {} in {}{removed}",
                    schema::Bytes(bytes),
                    path.display()
                )),
            });
        }
        Ok(Subject { target: Target::of_made(fixture, keep_cache)?, _made: Some(made) })
    }
}

impl Subject {
    /// All files and folders that the user named for commands.
    ///
    /// # Errors
    /// As `open`.
    pub fn of_named(
        files: &[PathBuf],
        folders: &[PathBuf],
        keep_cache: bool,
        interrupted: &AtomicBool,
    ) -> Result<Subject> {
        let named = gather(files, folders, keep_cache, interrupted)?;
        Ok(Subject { target: Target::of_named(named, keep_cache)?, _made: None })
    }

    /// The files of a folder that a replay reads.
    ///
    /// # Errors
    /// As `open`.
    pub fn of_folder(files: &[PathBuf], folder: &Path, keep_cache: bool, interrupted: &AtomicBool) -> Result<Subject> {
        let named = gather(files, &[], keep_cache, interrupted)?.found_in(folder);
        Ok(Subject { target: Target::of_named(named, keep_cache)?, _made: None })
    }
}

fn gather(files: &[PathBuf], folders: &[PathBuf], keep_cache: bool, interrupted: &AtomicBool) -> Result<Named> {
    match Named::gather(files, folders, keep_cache, interrupted) {
        Err(_) if interrupted.load(Ordering::Relaxed) => {
            Err(Stopped("interrupted while files were looked for; nothing was measured").into())
        }
        named => named,
    }
}

/// A test file that is made for a run has no state in which it was found.
///
/// # Errors
/// The experiment asks for nothing but files as they were found in the page cache.
pub fn can_be_made(experiment: &Experiment) -> Result<(), UsageError> {
    let is_as_found = |it: &Compare| has_fill_found(it) && it.state.iter().all(|state| state.is_filled());
    match experiment.comparisons.is_empty() || !experiment.comparisons.iter().all(is_as_found) {
        true => Ok(()),
        false => Err(UsageError(
            "fill found is of a file as it was found in the page cache, and a test file that is made for the run was not found \
             there; name a file of yours, or leave found out of --fill"
                .into(),
        )),
    }
}

/// Where it begins with pages in the page cache, they are those that were found there.
pub fn has_fill_found(it: &Compare) -> bool {
    !it.fill.is_empty() && it.fill.iter().all(|fill| *fill == Fill::Found)
}

/// A file of the user's is never written, whatever an experiment says: the lab leaves out what writes. Where nothing else is
/// left, that is said before anything begins.
///
/// # Errors
/// Which workload writes, and what to do instead.
pub fn spare(experiment: &Experiment, path: &Path) -> Result<()> {
    let mut workloads = experiment.comparisons.iter().flat_map(|it| &it.workload);
    let writing = workloads.clone().find(|it| it.writes());
    let all_write = workloads.all(|it| it.writes());
    match writing.filter(|_| !path.is_dir() && (all_write || !path.exists())) {
        Some(workload) if !path.exists() => Err(UsageError(format!(
            "workload {workload} writes to a file that faultline makes itself, and there is no folder {} to make it in",
            path.display()
        ))
        .into()),
        Some(workload) => Err(UsageError(format!(
            "workload {workload} writes, and {} is a file: faultline never writes to a file of yours. Name a folder \
             instead, and faultline makes a file of its own there, which it removes again",
            path.display()
        ))
        .into()),
        None => Ok(()),
    }
}

/// Why a size that was asked for means nothing.
pub fn not_made(file: &Path) -> UsageError {
    let file = file.display();
    UsageError(format!(
        "--size is for the test file that is made in a folder, and {file} is a file, which is measured as it is"
    ))
}

/// What is measured as it is, or as it was found, must not be evicted before; what else there is waits for that.
pub fn keeps_cache(experiment: &Experiment) -> bool {
    let as_it_is = |compare: &Compare| {
        compare.state.contains(&State::AsIs)
            || compare.fill.contains(&Fill::Found) && compare.state.iter().any(|it| it.is_filled())
    };
    experiment.comparisons.iter().any(as_it_is)
}

/// Control groups of a run, and files that its scenarios give a name, noted in the cleanup journal until it has ended.
#[derive(Default)]
pub struct Noted(std::cell::RefCell<Vec<history::Entry>>);

impl Noted {
    /// # Errors
    /// It cannot be noted; then it must not be made.
    pub fn note(&self, path: &Path) -> Result<(), String> {
        self.forget_those_before(path);
        if self.0.borrow().iter().any(|it| it.path() == path) {
            return Ok(());
        }
        let kind = history::kind_of(path).unwrap_or(LeftoverKind::Cgroup);
        let entered = history::CleanupJournal::open(None).and_then(|journal| journal.enter(kind, path));
        self.0.borrow_mut().push(entered.map_err(|error| format!("{error:#}"))?);
        Ok(())
    }
}

impl Noted {
    /// A pass under limits has groups of its own, and each entry an open file. Groups are numbered: one with a smaller number
    /// was made before this one is noted, and where it is gone, its pass is over.
    fn forget_those_before(&self, path: &Path) {
        let Some(number) = number(path) else { return };
        let mut entries = self.0.borrow_mut();
        let is_over = |entry: &mut history::Entry| number_of(entry).is_some_and(|it| it < number) && is_gone(entry);
        entries.extract_if(.., is_over).for_each(|entry| drop(entry.done()));
    }
}

fn number_of(entry: &history::Entry) -> Option<u64> {
    number(&entry.path())
}

fn number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.rsplit('-').next()?.parse().ok()
}

fn is_gone(entry: &history::Entry) -> bool {
    entry.path().symlink_metadata().is_err_and(|it| it.kind() == NotFound)
}

impl Drop for Noted {
    fn drop(&mut self) {
        // What is still there is `faultline clean`'s to remove.
        self.0.take().into_iter().filter(is_gone).for_each(|entry| drop(entry.done()));
    }
}
