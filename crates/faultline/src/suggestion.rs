//! What `run` prints without a target: what could be measured in this folder, and by which command. Nothing is measured.

use std::{
    cmp::Reverse,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use lab::fixture;
use rustix::fs::{Access, access};
use schema::{Bytes, Experiment, State, experiment::Compare};

use crate::{output, subject};

/// What was asked for, but for the target.
pub struct Asked<'a> {
    pub experiment: &'a Experiment,
    /// In this folder, whose accesses would be replayed.
    pub replayed: &'a [PathBuf],
    /// Of the test file.
    pub size: Option<u64>,
    pub dry_run: bool,
    pub budget: Duration,
    /// Whether that ends the run.
    pub budget_binds: bool,
    /// As typed, without the name of the executable.
    pub words: Vec<String>,
}

/// Says it on stderr: stdout has answers only.
pub fn show(asked: &Asked, folder: &Path) {
    output::note("error: run needs a file or a folder; nothing was measured. In this folder you can run:");
    let takes = match asked.budget_binds {
        true => format!("takes about {}", report::seconds(asked.budget.as_secs_f64())),
        false => "takes as long as the rounds that were asked for".into(),
    };
    let copies = if asked.experiment.reads_copies() { ", and writes copies of it, which have no name" } else { "" };
    let evicts = |what| match evicts(asked.experiment) {
        true => format!("and evicts {what} from the page cache"),
        false => "and evicts nothing".into(),
    };
    if !asked.replayed.is_empty() {
        let (are, them) = if asked.replayed.len() == 1 { ("is", "it") } else { ("are", "them") };
        let (count, evicts) = (asked.replayed.len(), evicts(them));
        let about = format!("reads as the trace does, of whose files {count} {are} here, {evicts}{copies}; {takes}");
        return line(asked, &["."], &about);
    }
    // A replay reads up to a byte that the file must have.
    let least =
        asked.experiment.comparisons.iter().filter_map(Compare::traced).map(|it| it.end_bytes).max().unwrap_or(1);
    let file = if needs_folder(asked) { None } else { largest(folder).filter(|(_, bytes)| *bytes >= least) };
    if let Some((name, bytes)) = &file {
        let evicts = evicts("it");
        line(asked, &[name], &format!("reads the largest file here, {}, {evicts}{copies}; {takes}", Bytes(*bytes)));
    }
    let may_write = access(folder, Access::WRITE_OK).is_ok() && subject::can_be_made(asked.experiment).is_ok();
    match asked.size.map_or_else(|| fixture::default_bytes(folder), Ok) {
        Ok(bytes) if may_write && (bytes >= least || fixture::fits(folder, least).is_ok()) => {
            let size = Bytes(bytes.max(least));
            let about = format!("creates a test file of {size}, and removes it{copies}; {takes}");
            match bytes < least {
                true => line(asked, &["--size", &least.to_string(), "."], &about),
                false => line(asked, &["."], &about),
            }
        }
        _ if file.is_some() => {}
        _ if least > 1 => line(asked, &["FILE"], &format!("reads a file of yours of {} or more", Bytes(least))),
        _ => line(asked, &["FILE"], "reads a file of yours"),
    }
}

fn line(asked: &Asked, target: &[&str], about: &str) {
    let words: Vec<&str> = asked.words.iter().map(String::as_str).chain(target.iter().copied()).collect();
    let about = if asked.dry_run { "shows what would be done, and does nothing" } else { about };
    output::note_whole(&format!("{}   # {about}", report::command_line(&words)));
}

/// Whether a file of the user's would be refused.
fn needs_folder(asked: &Asked) -> bool {
    asked.size.is_some() || asked.experiment.comparisons.iter().flat_map(|it| &it.workload).all(|it| it.writes())
}

fn evicts(experiment: &Experiment) -> bool {
    let is_as_found = |it: &Compare| {
        let found = subject::has_fill_found(it);
        it.state.iter().all(|state| *state == State::AsIs || found && state.is_filled())
    };
    !experiment.comparisons.iter().all(is_as_found)
}

/// Name and size of the largest file in a folder that a person would name: readable, neither a link nor hidden.
fn largest(folder: &Path) -> Option<(String, u64)> {
    let files = fs::read_dir(folder).ok()?.filter_map(|entry| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok()?;
        let about = entry.metadata().ok()?;
        let is_plain = !name.starts_with('.') && report::visible(&name) == name;
        let is_readable = || access(entry.path(), Access::READ_OK).is_ok();
        let name = if name.starts_with('-') { format!("./{name}") } else { name };
        (about.is_file() && about.len() > 0 && is_plain && is_readable()).then_some((name, about.len()))
    });
    files.max_by_key(|(name, bytes)| (*bytes, Reverse(name.clone())))
}
