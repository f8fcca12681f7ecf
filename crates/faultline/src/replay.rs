//! The traces that an experiment replays: opened, and what they say put where the experiment names them. Only files that the
//! user named are opened, and never one that a record names.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::Result;
use lab::trace::TraceFile;
use schema::{
    Bytes, Descriptor, Experiment, Workload,
    experiment::{Compare, TraceAsked},
};

use crate::{exit::UsageError, output};

/// Has every comparison that reads replay a trace instead of what it says itself; those that then ask the same are one.
pub fn instead(comparisons: &mut Vec<Compare>, trace: &Path) {
    let asked = TraceAsked::Named { path: trace.display().to_string(), file: None };
    let mut all: Vec<Compare> = Vec::new();
    for compare in std::mem::take(comparisons).into_iter().filter(|it| !it.workload.iter().all(|it| it.writes())) {
        let mut replayed = Compare {
            workload: vec![Workload::Replay],
            trace: Some(asked.clone()),
            block: Vec::new(),
            full_block: Vec::new(),
            threads: vec![1],
            descriptor: vec![Descriptor::PerThread],
            aligned: vec![true],
            range: None,
            full_range: None,
            ops: Vec::new(),
            full_ops: None,
            ..compare
        };
        // What an arm does otherwise than its condition is another size, mostly.
        replayed.arms.retain(|it| it.own.is_empty() && it.arm.fits(Workload::Replay).is_ok());
        let asks = |it: &Compare| Compare { arms: Vec::new(), ..it.clone() };
        match all.iter_mut().find(|it| asks(it) == asks(&replayed)) {
            Some(known) => {
                for arm in replayed.arms {
                    if !known.arms.iter().any(|it| it.does_as(&arm)) {
                        known.arms.push(arm);
                    }
                }
            }
            None if replayed.arms.is_empty() => {}
            None => all.push(replayed),
        }
    }
    *comparisons = all;
}

/// A replay of a part is not what the program does.
fn warn_of_gaps(trace: &TraceFile) {
    if trace.header.coverage < 1.0 {
        output::warn(&report::partial_trace(trace.header.coverage));
    }
}

/// What an experiment replays.
#[derive(Default)]
pub struct Replays {
    pub traces: Vec<TraceFile>,
    /// The user's files that the trace is of, where their folder was named; else there are none.
    pub files: Vec<PathBuf>,
}

impl Replays {
    /// A trace, or what it has of a folder with some of its files.
    fn of(trace: TraceFile, folder: Option<&Path>) -> Result<Replays> {
        let inside = folder.map_or_else(BTreeMap::new, |it| trace.files_in(it));
        let (Some(folder), false) = (folder, inside.is_empty()) else {
            return Ok(Replays { traces: vec![trace], files: Vec::new() });
        };
        let all = trace.of_all()?.clone();
        let trace = trace.of_some(|path| inside.contains_key(path))?;
        let kept = trace.of_all()?;
        if kept.accesses < all.accesses {
            output::note(&format!(
                "of the files that the trace reads, {} of {} are in {}; accesses that are left out: {}",
                kept.files,
                all.files,
                folder.display(),
                all.accesses - kept.accesses
            ));
        }
        let files: BTreeSet<PathBuf> = inside.into_values().collect();
        Ok(Replays { traces: vec![trace], files: files.into_iter().collect() })
    }
}

/// Opens the traces that an experiment names. Where it does nothing but replay one trace, and files of that lie in the folder
/// that is the target, they are what is measured. A test file of a size that was asked for is another target.
///
/// # Errors
/// One of them is no trace, or it is not known which of its files is meant.
pub fn open(experiment: &mut Experiment, target: &Path, size: Option<u64>) -> Result<Replays> {
    let usage = |why: anyhow::Error| UsageError(format!("{why:#}"));
    let asked: Vec<_> = experiment.comparisons.iter().map(|it| it.trace.clone()).collect();
    let mut replays = Replays::default();
    if let [Some(TraceAsked::Named { path, file: None }), rest @ ..] = &asked[..]
        && rest.iter().all(|it| *it == asked[0])
        && size.is_none()
        && target.is_dir()
    {
        let trace = TraceFile::open(Path::new(path)).map_err(usage)?;
        replays = Replays::of(trace, Some(target))?;
    }
    for compare in &mut experiment.comparisons {
        let Some(TraceAsked::Named { path, file }) = &compare.trace else { continue };
        let traced = if replays.files.is_empty() {
            let trace = TraceFile::open(Path::new(path)).map_err(usage)?;
            warn_of_gaps(&trace);
            let traced = trace.of_file(file.as_deref(), target).map_err(usage)?.clone();
            replays.traces.push(trace);
            traced
        } else {
            replays.traces[0].of_all()?.clone()
        };
        compare.trace = Some(TraceAsked::Read(traced));
    }
    if !replays.files.is_empty() {
        warn_of_gaps(&replays.traces[0]);
    }
    Ok(replays)
}

/// The traces of a saved run, from files that were named, and of them what they have of the folder, if a folder with several
/// files was measured. What its record says of them is not used.
///
/// # Errors
/// One of them was not named.
pub fn reopen(experiment: &mut Experiment, run: &str, files: &[PathBuf], folder: Option<&Path>) -> Result<Replays> {
    let Replays { mut traces, files: mut found } = Replays::default();
    for file in files {
        let trace = TraceFile::open(file).map_err(|why| UsageError(format!("{why:#}")))?;
        warn_of_gaps(&trace);
        let replays = Replays::of(trace, folder)?;
        traces.extend(replays.traces);
        found.extend(replays.files);
    }
    let mut replays = false;
    for compare in &mut experiment.comparisons {
        let Some(asked) = &compare.trace else { continue };
        replays = true;
        let found = match asked {
            TraceAsked::Read(of) => traces.iter().find_map(|it| it.again(of)).ok_or_else(|| of.short().to_string()),
            TraceAsked::Named { path, .. } => Err(format!("{path:?}, whose digest it does not say")),
        };
        match found {
            Ok(traced) => compare.trace = Some(TraceAsked::Read(traced.clone())),
            Err(which) => {
                let several = matches!(asked, TraceAsked::Read(of) if of.is_of_several());
                let folder = if several { ", and the folder with its files with --target" } else { "" };
                return Err(UsageError(format!(
                    "the run {run} replays the trace {which}, and a record has no accesses: name the file of that trace with \
                     --trace{folder}"
                ))
                .into());
            }
        }
    }
    match replays || files.is_empty() {
        true => Ok(Replays { traces, files: found }),
        false => {
            Err(UsageError(format!("the run {run} replays no trace, so --trace has no effect; leave it out")).into())
        }
    }
}

/// Whether a file is as large as the one that the traces were recorded of.
///
/// # Errors
/// It is smaller.
pub fn fits(experiment: &Experiment, file: &str, file_bytes: u64) -> Result<(), UsageError> {
    let largest = experiment.comparisons.iter().filter_map(Compare::traced).max_by_key(|it| it.end_bytes);
    match largest.filter(|it| it.end_bytes > file_bytes) {
        Some(traced) => Err(UsageError(format!(
            "the trace {} reads up to byte {}, and {file} has {}: it was recorded of a larger file; name that one, or a \
             folder with --size {}",
            traced.short(),
            traced.end_bytes,
            Bytes(file_bytes).exact(),
            traced.end_bytes
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_that_two_comparisons_call_otherwise_is_replayed_once() {
        let text = r#"
            title = "Two names"
            [arms]
            small-reads = { method = "pread" }
            [[compare]]
            arms = ["small-reads", "mmap"]
            workload = "random"
            block = "4 KiB"
            state = "cached"
            [[compare]]
            arms = ["pread", "mmap"]
            workload = "random"
            block = "64 KiB"
            state = "cached"
        "#;
        let mut comparisons = Experiment::parse("two", text).unwrap().comparisons;
        instead(&mut comparisons, Path::new("q.trace"));
        let names: Vec<Vec<String>> =
            comparisons.iter().map(|it| it.arms.iter().map(|it| it.arm.name.clone()).collect()).collect();
        assert_eq!(names, [["native/pread", "native/mmap"]]);
    }
}
