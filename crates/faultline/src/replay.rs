//! The traces that an experiment replays: opened, and what they say put where the experiment names them. Only files that the
//! user named are opened, and never one that a record names.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::Result;
use lab::trace::TraceFile;
use schema::{
    Bytes, Descriptor, Experiment, State, Workload, distinct,
    experiment::{Compare, TraceAsked},
    trace::{Summary, Traced, TracedFile},
};
use sys::mount::is_of_the_system;

use crate::{exit::UsageError, output};

/// Has every comparison that reads replay a trace instead of what it says itself; those that then ask the same are one.
pub fn instead(comparisons: &mut Vec<Compare>, trace: &Path) {
    let asked = TraceAsked::Named { path: trace.display().to_string(), file: None };
    // The experiment's own, however its path is written, stays what the experiment asks.
    let is_asked = |it: &TraceAsked| match it {
        TraceAsked::Named { path, .. } => {
            let [own, other] = [Path::new(path), trace].map(|it| std::fs::canonicalize(it).ok());
            own.is_some() && own == other
        }
        TraceAsked::Read(_) => false,
    };
    let mut all: Vec<Compare> = Vec::new();
    for compare in std::mem::take(comparisons).into_iter().filter(|it| !it.workload.iter().all(|it| it.writes())) {
        let mut replayed = Compare {
            workload: vec![Workload::Replay],
            trace: compare.trace.clone().filter(is_asked).or(Some(asked.clone())),
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
            Some(known) => known.add_arms(replayed.arms),
            None if replayed.arms.is_empty() => {}
            None => all.push(replayed),
        }
    }
    *comparisons = all;
}

/// What a trace lacks of the files that are meant, by their places and as it has them: a part of the accesses is not what the
/// program does.
fn gaps(trace: &TraceFile, is_meant: impl Fn(usize, &TracedFile) -> bool) -> Vec<String> {
    let meant = trace.touches().enumerate().filter(|(place, (file, _))| is_meant(*place, file)).map(|(_, it)| it);
    let coverage = trace.coverage_of(|place| is_meant(place, &trace.header.files[place]));
    report::trace_gaps(coverage, &trace.header.not_seen, meant)
}

/// Of a trace of files that were found, and of those in their folders, canonical: a file that was only mapped is none of those that
/// are found.
fn gaps_of_found(trace: &TraceFile, found: &BTreeMap<String, PathBuf>, folders: &[PathBuf]) -> Vec<String> {
    let lies_in = |path: &str| folders.iter().any(|it| Path::new(path).starts_with(it));
    gaps(trace, |_, it| found.contains_key(&it.path) || lies_in(&it.path))
}

fn gaps_of(trace: &TraceFile, traced: &Traced) -> Vec<String> {
    gaps(trace, |place, _| traced.is_of_several() || place == traced.file as usize)
}

/// Each once.
fn warn(gaps: Vec<String>) {
    distinct(gaps).iter().for_each(|it| output::warn(it));
}

/// Of all its files.
pub fn warn_of_gaps(trace: &TraceFile) {
    warn(gaps(trace, |_, file| is_of_interest(file)));
}

/// What a trace consists of.
///
/// # Errors
/// It changed since it was opened.
pub fn summary(trace: &TraceFile) -> Result<Summary> {
    let mut counting = analysis::Counting::default();
    trace.each(|it| {
        counting.add(&it);
        Ok(())
    })?;
    Ok(counting.finish(&trace.header, &trace.digest))
}

/// What every program maps when it starts is not what a trace is made for.
pub fn is_of_interest(file: &TracedFile) -> bool {
    !is_of_the_system(&file.path)
}

/// What an experiment replays.
#[derive(Default)]
pub struct Replays {
    pub traces: Vec<TraceFile>,
    /// The user's files that the trace is of, where their folder was named, or a file that the trace has by several names; else
    /// there are none.
    pub files: Vec<PathBuf>,
}

fn unique(found: BTreeMap<String, PathBuf>) -> Vec<PathBuf> {
    found.into_values().collect::<BTreeSet<PathBuf>>().into_iter().collect()
}

/// Of a folder that was named.
fn note_left_out(all: &Traced, kept: &Traced, folder: &Path) {
    if kept.accesses < all.accesses {
        output::note(&format!(
            "of the files that the trace reads, {} of {} are in {}; accesses that are left out: {}",
            kept.files,
            all.files,
            folder.display(),
            all.accesses - kept.accesses
        ));
    }
}

/// Opens the traces that an experiment names. Where it does nothing but replay one trace, and files of that lie in the folder
/// that is the target, they are what is measured; of a target that the trace has by several names it is the accesses of all. A
/// test file of a size that was asked for is another target.
///
/// # Errors
/// One of them is no trace, or it is not known which of its files is meant; or a state is not had of one file.
pub fn open(experiment: &mut Experiment, target: &Path, size: Option<u64>) -> Result<Replays> {
    let usage = |why: anyhow::Error| UsageError(format!("{why:#}"));
    let asked: Vec<_> = experiment.comparisons.iter().map(|it| it.trace.clone()).collect();
    let (mut replays, mut opened) = (Replays::default(), None);
    if let [Some(TraceAsked::Named { path, file: None }), rest @ ..] = &asked[..]
        && rest.iter().all(|it| *it == asked[0])
        && size.is_none()
    {
        let trace = TraceFile::open(Path::new(path)).map_err(usage)?;
        let is_folder = target.is_dir();
        let found = if is_folder { trace.files_in(target) } else { trace.files_at(&[target.to_path_buf()]) };
        let is_known = || found.len() == 1 && found.iter().all(|(name, place)| Path::new(name) == place);
        if !found.is_empty() && (is_folder || !is_known()) {
            let all = trace.of_all()?.clone();
            let folder = std::fs::canonicalize(target).ok().filter(|_| is_folder);
            let gaps = gaps_of_found(&trace, &found, folder.as_slice());
            let trace = trace.of_found(&found).map_err(usage)?.unwrap_or(trace);
            if is_folder {
                note_left_out(&all, trace.of_all()?, target);
            }
            warn(gaps);
            replays = Replays { traces: vec![trace], files: unique(found) };
        } else {
            opened = Some(trace);
        }
    }
    let mut lacking = Vec::new();
    for compare in &mut experiment.comparisons {
        let Some(TraceAsked::Named { path, file }) = &compare.trace else { continue };
        let traced = if replays.files.is_empty() {
            let trace = opened.take().map_or_else(|| TraceFile::open(Path::new(path)), Ok).map_err(usage)?;
            let traced = trace.of_file(file.as_deref(), target).map_err(usage)?.clone();
            lacking.extend(gaps_of(&trace, &traced));
            replays.traces.push(trace);
            traced
        } else {
            replays.traces[0].of_all()?.clone()
        };
        compare.trace = Some(TraceAsked::Read(traced));
    }
    // So that it is known of what was written whether it was replayed.
    for written in &mut experiment.written {
        if let Some(at) = asked.iter().position(|it| *it == written.trace) {
            written.trace = experiment.comparisons[at].trace.clone();
        }
    }
    // One file is opened as itself, and what was found of it is not brought back.
    if replays.files.len() < 2 && experiment.comparisons.iter().any(|it| it.state.contains(&State::AsFound)) {
        return Err(UsageError(
            "run has state as-found only where it replays several files of a folder that is its target; of one file \
             `faultline advise --state as-found` has it"
                .into(),
        )
        .into());
    }
    warn(lacking);
    Ok(replays)
}

/// Files that the user named and a trace has, and the folders that were named.
pub type Found = (BTreeMap<String, PathBuf>, Vec<PathBuf>);

/// The traces of a saved run, from files that were named: each as it is, or what it has of the files that `found` finds. What
/// the record says of them is not used.
///
/// # Errors
/// One of them was not named.
pub fn reopen(
    experiment: &mut Experiment,
    run: &str,
    files: &[PathBuf],
    found: &dyn Fn(&TraceFile) -> Found,
) -> Result<Replays> {
    let usage = |why: anyhow::Error| UsageError(format!("{why:#}"));
    // Parts before wholes; and why a part cannot be had.
    let (mut parts, mut wholes, mut why) = (Vec::new(), Vec::new(), None);
    for (place, file) in files.iter().enumerate() {
        let trace = TraceFile::open(file).map_err(usage)?;
        let (found, folders) = found(&trace);
        let folders: Vec<PathBuf> = folders.iter().filter_map(|it| std::fs::canonicalize(it).ok()).collect();
        let gaps = (!found.is_empty()).then(|| gaps_of_found(&trace, &found, &folders));
        match if found.is_empty() { Ok(None) } else { trace.of_found(&found) } {
            Ok(None) => wholes.push((place, trace, unique(found), gaps)),
            Ok(Some(part)) => {
                parts.push((place, part, unique(found), gaps));
                wholes.push((place, trace, Vec::new(), None));
            }
            Err(error) => {
                why = why.or(Some(error));
                wholes.push((place, trace, Vec::new(), None));
            }
        }
    }
    parts.extend(wholes);
    let mut replays = Replays::default();
    let (mut replays_any, mut used, mut lacking) = (false, BTreeSet::new(), Vec::new());
    for compare in &mut experiment.comparisons {
        let Some(asked) = &compare.trace else { continue };
        replays_any = true;
        let which = match asked {
            // Where a folder was named, it is what a trace has of the files there.
            TraceAsked::Read(of) if of.is_of_several() => format!("{}, which may be a part of one,", of.short()),
            TraceAsked::Read(of) => of.short().to_string(),
            TraceAsked::Named { path, .. } => format!("{path:?}, whose digest it does not say"),
        };
        let again = |trace: &TraceFile| match asked {
            TraceAsked::Read(of) => trace.again(of).cloned(),
            TraceAsked::Named { .. } => None,
        };
        let known = { parts.iter() }.find_map(|of| Some((of, again(&of.1)?)));
        if let Some(((place, trace, files, gaps), traced)) = known {
            used.insert(*place);
            lacking.extend(gaps.clone().unwrap_or_else(|| gaps_of(trace, &traced)));
            replays.files.extend_from_slice(files);
            compare.trace = Some(TraceAsked::Read(traced));
            continue;
        }
        // Why a part could not be had is the reason, where it was asked for.
        return Err(UsageError(match (why, files.is_empty()) {
            (Some(why), _) => format!("{why:#}"),
            (None, true) => format!(
                "the run {run} replays the trace {which}, and a record has no accesses: name the file of that trace with \
                 --trace"
            ),
            // A part of a trace is found again by the files that it is of.
            (None, false) => format!(
                "the run {run} replays the trace {which}, and none that --trace named is that one, nor what it has of the files \
                 that are measured; if it is of all files of a folder, name that with --target"
            ),
        })
        .into());
    }
    if !replays_any && !files.is_empty() {
        return Err(
            UsageError(format!("the run {run} replays no trace, so --trace has no effect; leave it out")).into()
        );
    }
    if let Some((_, unused)) = files.iter().enumerate().find(|(place, _)| !used.contains(place)) {
        let why =
            format!("the run {run} does not replay the trace {}, so it has no effect; leave it out", unused.display());
        return Err(UsageError(why).into());
    }
    warn(lacking);
    replays.traces = parts.into_iter().map(|it| it.1).collect();
    replays.files.sort();
    replays.files.dedup();
    Ok(replays)
}

/// Whether a file is as large as the one that the traces were recorded of.
///
/// # Errors
/// It is smaller.
pub fn fits(experiment: &Experiment, file: &str, file_bytes: u64) -> Result<(), UsageError> {
    // Of several files, each was compared with its own accesses.
    let of_one = experiment.comparisons.iter().filter_map(Compare::traced).filter(|it| !it.is_of_several());
    let largest = of_one.max_by_key(|it| it.end_bytes);
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
