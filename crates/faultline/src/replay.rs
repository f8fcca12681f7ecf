//! The traces that an experiment replays: opened, and what they say put where the experiment names them. Only files that the
//! user named are opened, and never one that a record names.

use std::path::{Path, PathBuf};

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
pub struct Replays {
    pub traces: Vec<TraceFile>,
    /// The user's files that the trace is of, where their folder was named; else there are none.
    pub files: Vec<PathBuf>,
}

/// Opens the traces that an experiment names. Where it does nothing but replay one trace, and its files lie in the folder that
/// is the target, they are what is measured. A test file of a size that was asked for is another target.
///
/// # Errors
/// One of them is no trace, or it is not known which of its files is meant.
pub fn open(experiment: &mut Experiment, target: &Path, size: Option<u64>) -> Result<Replays> {
    let asked: Vec<_> = experiment.comparisons.iter().map(|it| it.trace.clone()).collect();
    let is_one = matches!(&asked[..], [Some(TraceAsked::Named { file: None, .. }), rest @ ..] if rest.iter().all(|it| *it == asked[0]));
    let is_of_folder = is_one && size.is_none() && target.is_dir();
    let mut replays = Replays { traces: Vec::new(), files: Vec::new() };
    for compare in &mut experiment.comparisons {
        let Some(TraceAsked::Named { path, file }) = &compare.trace else { continue };
        let usage = |why: anyhow::Error| UsageError(format!("{why:#}"));
        let trace = TraceFile::open(Path::new(path)).map_err(usage)?;
        if replays.traces.iter().all(|it| it.digest != trace.digest) {
            warn_of_gaps(&trace);
        }
        let (inside, outside) = if is_of_folder { trace.files_in(target) } else { (Vec::new(), 0) };
        let traced = match (inside.len(), outside) {
            (0, _) => trace.of_file(file.as_deref(), target),
            (_, 0) => trace.of_all(),
            (inside, outside) => {
                return Err(UsageError(format!(
                    "{inside} of the files that the trace reads are in {}, and {outside} are not, or are no longer there; \
                     name a folder that has all of them, or make a trace of some with `faultline trace import --file`",
                    target.display()
                ))
                .into());
            }
        };
        compare.trace = Some(TraceAsked::Read(traced.map_err(usage)?.clone()));
        replays.files = inside;
        replays.traces.push(trace);
    }
    Ok(replays)
}

/// The traces of a saved run, from files that were named. What its record says of them is not used.
///
/// # Errors
/// One of them was not named.
pub fn reopen(experiment: &mut Experiment, run: &str, files: &[PathBuf]) -> Result<Vec<TraceFile>> {
    let mut traces = Vec::new();
    for file in files {
        let trace = TraceFile::open(file).map_err(|why| UsageError(format!("{why:#}")))?;
        warn_of_gaps(&trace);
        traces.push(trace);
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
                return Err(UsageError(format!(
                    "the run {run} replays the trace {which}, and a record has no accesses: name the file of that trace with \
                     --trace"
                ))
                .into());
            }
        }
    }
    match replays || files.is_empty() {
        true => Ok(traces),
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
