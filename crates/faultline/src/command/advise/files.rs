//! Which files of a command matter: one, or several that it reaches alike; and one trace of all their accesses.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use anyhow::{Result, anyhow};
use lab::trace::TraceFile;
use schema::{
    advised::{Group, OtherReached, Pattern, Reach},
    counted::Bin,
    observation::{self, MappingCount},
    trace::{Access, Exact, FileSummary, Header, LeftOut, Summary, TracedFile, Via},
};
use sys::{follow::MAPPING_BYTES_MIN, mount::is_of_the_system, page_bytes};

/// Of all bytes that are reached: a file with less is not worth a word.
const SMALL: f64 = 0.01;
/// Of the bytes of a command's own files: one with more matters alone.
const MOST: f64 = 0.5;
/// Of the bytes of files that are reached alike: a folder with less does not have them all.
const NEARLY_ALL: f64 = 0.99;
/// Lengths of accesses that a record has; of more, neighbours are taken together.
const SIZES: usize = 64;
/// Of the bytes that are touched: what is read beside them is little as long as it has no more.
const MUCH: f64 = 0.1;

/// Files by their places in the table of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Matters {
    One(usize),
    /// Two or more, and the folder that has them.
    Several {
        folder: PathBuf,
        places: Vec<usize>,
    },
}

impl Matters {
    pub(super) fn places(&self) -> &[usize] {
        match self {
            Matters::One(place) => std::slice::from_ref(place),
            Matters::Several { places, .. } => places,
        }
    }
}

/// Bytes that calls delivered, and pages that were touched, or of what was mapped those of the file, however often, where these
/// are not known; but for programs and their libraries.
pub(super) fn reached(of: &FileSummary) -> u64 {
    let is_code = of.file.counts.as_ref().is_some_and(observation::Access::is_code);
    // Small reads bring in whole pages, as touches do.
    if is_code { 0 } else { read(of).max(of.touched_bytes()).saturating_add(mapped(of)) }
}

/// By calls, those at offsets that were not seen among them, which are no accesses of the trace; and touches that it has.
fn read(of: &FileSummary) -> u64 {
    let calls = of.file.counts.iter().flat_map(|it| it.calls.values());
    of.bytes.max(calls.map(|it| it.bytes).fold(0, u64::saturating_add))
}

/// Of what the trace does not have as touches.
fn mapped(of: &FileSummary) -> u64 {
    let all =
        of.file.counts.as_ref().map_or(0, observation::Access::mapped_bytes).min(of.file.bytes.unwrap_or(u64::MAX));
    match of.file.exact {
        Exact::None => all,
        _ => all.min(of.file.unseen_touches.saturating_mul(page_bytes()).saturating_add(in_small_mappings(of))),
    }
}

/// The most that mappings can have in which pages are not looked at, because they are small.
fn in_small_mappings(of: &FileSummary) -> u64 {
    let most = |it: &MappingCount| match it.bytes / it.count.max(1) >= MAPPING_BYTES_MIN {
        true => it.count.saturating_sub(1).saturating_mul(MAPPING_BYTES_MIN),
        false => it.bytes,
    };
    of.file.counts.iter().flat_map(|it| &it.mappings).map(most).fold(0, u64::saturating_add)
}

/// Bytes of those that are small in the mean.
fn surely_small(of: &FileSummary) -> u64 {
    let mappings = of.file.counts.iter().flat_map(|it| &it.mappings);
    let small = mappings.filter(|it| it.bytes / it.count.max(1) < MAPPING_BYTES_MIN);
    small.map(|it| it.bytes).fold(0, u64::saturating_add)
}

/// Mapped files of which it decides what matters how much of them is touched, which lies between nothing and all of it.
pub(super) fn undecided(all: &Summary, matter: &Matters, is_own: impl Fn(&TracedFile) -> bool + Copy) -> Vec<PathBuf> {
    let is_large = |it: &FileSummary| fs::metadata(&it.file.path).is_ok_and(|it| it.len() >= MAPPING_BYTES_MIN);
    let is_open = |it: &FileSummary| {
        let can_be_seen = mapped(it) > surely_small(it) && it.file.exact == Exact::None && is_large(it);
        is_own(&it.file) && reached(it) > 0 && can_be_seen
    };
    let open: Vec<usize> = (0..all.files.len()).filter(|&it| is_open(&all.files[it])).collect();
    let differs = |touched: Option<usize>| {
        let bytes = |place: usize, of: &FileSummary| match open.contains(&place) && touched != Some(place) {
            true => reached(of) - mapped(of),
            false => reached(of),
        };
        matters_by(all, is_own, bytes).is_ok_and(|it| it != *matter)
    };
    let is_undecided = [None].into_iter().chain(open.iter().copied().map(Some)).any(differs);
    open.iter().filter(|_| is_undecided).map(|&it| PathBuf::from(&all.files[it].file.path)).collect()
}

/// The same with the pages that another recording of the same command saw to be touched.
pub(super) fn with_touches(all: &Summary, exact: &Summary) -> Summary {
    let mut all = all.clone();
    for it in &mut all.files {
        let is_it = |of: &&FileSummary| (&of.file.path, of.file.identity) == (&it.file.path, it.file.identity);
        if let Some(of) = exact.files.iter().find(is_it).filter(|of| of.file.exact != Exact::None) {
            it.bytes = read(it).max(it.touched_bytes()).saturating_add(of.touched.saturating_mul(page_bytes()));
            (it.file.exact, it.file.unseen_touches) = (of.file.exact, of.file.unseen_touches);
            if exact.left_out.small_mappings == 0 {
                // None was small, so that no part of them is unseen: `in_small_mappings` counts one as none.
                let mappings = it.file.counts.iter_mut().flat_map(|it| &mut it.mappings);
                mappings.for_each(|it| it.count = it.count.min(1));
            }
        }
    }
    all
}

/// A regular file with something in it that is none of the system's.
pub(super) fn is_own(path: &str) -> bool {
    !is_of_the_system(path) && fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() > 0)
}

/// Whether a file that was recorded just now is the one that has its path here. A program in a mount namespace of its own, or below
/// another root, may call another one so (mount_namespaces(7)).
pub(super) fn is_here(of: &TracedFile) -> bool {
    let is_it = |it: &fs::Metadata| of.identity.is_none_or(|of| (of.device, of.inode) == (it.dev(), it.ino()));
    fs::metadata(&of.path).is_ok_and(|it| is_it(&it))
}

/// Two names of one file (link(2)).
pub(super) fn are_one(a: &Path, b: &Path) -> bool {
    let [a, b] = [a, b].map(|it| fs::metadata(it).ok().map(|it| (it.dev(), it.ino())));
    a.is_some() && a == b
}

/// As `is_own`, of a recording that was made just now.
pub(super) fn is_own_here(of: &TracedFile) -> bool {
    is_own(&of.path) && is_here(of)
}

/// The files of the user that were reached and are here, with how many bytes.
pub(super) fn reached_here(all: &Summary) -> impl Iterator<Item = (PathBuf, u64)> {
    let here = all.files.iter().filter(|it| reached(it) > 0 && is_own_here(&it.file));
    here.map(|it| (PathBuf::from(&it.file.path), reached(it)))
}

/// Files of which more is reached than is not worth a word, and whose paths are those of others here.
pub(super) fn elsewhere(all: &Summary, all_bytes: u64) -> impl Iterator<Item = &str> {
    let is_it = move |it: &&FileSummary| {
        reached(it) as f64 > SMALL * all_bytes as f64 && is_own(&it.file.path) && !is_here(&it.file)
    };
    all.files.iter().filter(is_it).map(|it| it.file.path.as_str())
}

/// The file with the most bytes reached, if it has most of all; else those that are reached as most bytes are: by calls, or
/// through mappings.
pub(super) fn matters(all: &Summary, is_own: impl Fn(&TracedFile) -> bool) -> Result<Matters> {
    matters_by(all, is_own, |_, it| reached(it))
}

fn matters_by(
    all: &Summary,
    is_own: impl Fn(&TracedFile) -> bool,
    bytes: impl Fn(usize, &FileSummary) -> u64,
) -> Result<Matters> {
    let own: Vec<(usize, u64)> = all
        .files
        .iter()
        .enumerate()
        .map(|(place, it)| (place, if is_own(&it.file) { bytes(place, it) } else { 0 }))
        .filter(|(_, bytes)| *bytes > 0)
        .collect();
    let &(most, bytes) = own.iter().max_by_key(|it| it.1).ok_or_else(|| none_matters(all))?;
    let sum = |of: &[(usize, u64)]| of.iter().map(|it| it.1 as f64).sum::<f64>();
    if bytes as f64 > MOST * sum(&own) {
        return Ok(Matters::One(most));
    }
    let reached_by = |mapped: bool| -> Vec<(usize, u64)> {
        own.iter().filter(|(place, _)| maps(&all.files[*place]) == Some(mapped)).copied().collect()
    };
    let [calls, mappings] = [false, true].map(reached_by);
    let mut alike = if sum(&mappings) > sum(&calls) { mappings } else { calls };
    // A configuration of some bytes is no part of the tree that is searched.
    let path = |place: usize| Path::new(&all.files[place].file.path);
    let folder = folder(alike.iter().map(|it| (path(it.0), it.1)));
    alike.retain(|it| path(it.0).starts_with(&folder));
    Ok(match alike.len() {
        0 | 1 => Matters::One(most),
        _ => Matters::Several { folder, places: alike.into_iter().map(|it| it.0).collect() },
    })
}

fn none_matters(all: &Summary) -> anyhow::Error {
    let is_reached = |it: &&FileSummary| reached(it) > 0 && !is_of_the_system(&it.file.path) && !is_here(&it.file);
    if let Some(of) = all.files.iter().find(is_reached) {
        if of.file.path.contains(char::REPLACEMENT_CHARACTER) {
            return anyhow!(
                "the command reads {}, whose name is not valid UTF-8, and a trace has no other names; give the file another one",
                of.file.path
            );
        }
        return anyhow!(
            "what the command reads as {} is not what has this path here: it was deleted or replaced since, or the command has a \
             mount namespace or a root of its own. There is nothing that could be measured; try it without",
            of.file.path
        );
    }
    // One that failed ended before it read anything.
    let notes = all.run.iter().flat_map(|it| &it.notes).map(|it| format!(" ({it})")).collect::<String>();
    match &all.not_seen {
        not_seen if not_seen.is_empty() => anyhow!(
            "the command reads no regular file beside those of the system{notes}, so there is nothing to advise about; {}",
            match std::fs::metadata("/dev/stdin").is_ok_and(|it| it.is_file()) {
                true => "its standard input is empty here: try sh -c 'COMMAND < FILE'",
                false => "try one that does",
            }
        ),
        not_seen => anyhow!(
            "the command was not seen to read a regular file beside those of the system{notes}, so there is nothing to advise \
             about; what could not be seen: {not_seen}"
        ),
    }
}

/// Whether a file is reached through mappings, or by calls; nothing where it is both, or neither.
fn maps(of: &FileSummary) -> Option<bool> {
    // What was imported has calls alone.
    let Some(counts) = &of.file.counts else { return Some(false) };
    let ways = analysis::ways(counts);
    (ways.calls != ways.mappings).then_some(ways.mappings)
}

/// The others, by how much of them is reached.
pub(super) fn others(all: &Summary, matter: &Matters, all_bytes: u64) -> Vec<OtherReached> {
    let matter: BTreeSet<usize> = matter.places().iter().copied().collect();
    let of =
        |it: &FileSummary| OtherReached { path: it.file.path.clone(), bytes: reached(it), mapped_bytes: mapped(it) };
    let others = all.files.iter().enumerate().filter(|(at, _)| !matter.contains(at)).map(|(_, it)| of(it));
    let mut others: Vec<OtherReached> = others.filter(|it| it.bytes as f64 > SMALL * all_bytes as f64).collect();
    others.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    others
}

/// Mapped files whose pages can be recorded.
pub(super) fn recordable(all: &Summary, places: &[usize]) -> Vec<PathBuf> {
    let of = places.iter().map(|&place| &all.files[place]).filter(|it| maps(it) == Some(true));
    let path = |it: &FileSummary| PathBuf::from(&it.file.path);
    of.map(path).filter(|it| fs::metadata(it).is_ok_and(|it| it.len() >= MAPPING_BYTES_MIN)).collect()
}

/// A replay through a mapping goes on with what was read by calls before the first touch; calls after it are no touches.
fn goes_on(it: &Access, is_touched: &mut bool) -> bool {
    *is_touched |= it.via == Via::Mapping;
    it.via == Via::Mapping || !*is_touched
}

/// Whether a mapped file is read by calls after its first touch, and more than a little of what is touched: the replay touches that.
pub(super) fn is_read_after_touches(trace: &TraceFile, place: usize) -> Result<bool> {
    let (mut is_touched, mut touched, mut read) = (false, 0u64, 0u64);
    trace.each(|it| {
        if it.file as usize == place {
            let sum = if goes_on(&it, &mut is_touched) { &mut touched } else { &mut read };
            *sum = sum.saturating_add(it.bytes);
        }
        Ok(())
    })?;
    Ok(read as f64 > MUCH * touched as f64)
}

/// Several files with all their accesses.
pub(super) struct Together {
    pub(super) trace: TraceFile,
    pub(super) files: Vec<PathBuf>,
    pub(super) folder: PathBuf,
    /// As one.
    pub(super) counts: observation::Access,
    pub(super) reach: Reach,
    pub(super) group: Group,
    pub(super) pattern: Pattern,
    pub(super) touched_elsewhere: bool,
}

/// Files that are reached alike, from a trace of all files, and one of the pages of those whose pages can be recorded.
pub(super) fn together(
    trace: &TraceFile,
    all: &Summary,
    (folder, places): (&Path, &[usize]),
    exact: Option<&TraceFile>,
) -> Result<Together> {
    let seen = exact.unwrap_or(trace);
    let maps = places.iter().any(|&place| maps(&all.files[place]) == Some(true));
    let mut table: Vec<TracedFile> = places.iter().map(|&place| all.files[place].file.clone()).collect();
    // A path alone may be that of another file in another mount namespace.
    let known = |it: &TracedFile| (it.path.clone(), it.identity);
    let by_path: HashMap<_, usize> = table.iter().enumerate().map(|(at, it)| (known(it), at)).collect();
    let to: Vec<Option<usize>> = seen.header.files.iter().map(|it| by_path.get(&known(it)).copied()).collect();
    for (of, at) in seen.header.files.iter().zip(&to) {
        if let Some(at) = at {
            (table[*at].exact, table[*at].inexact) = (of.exact, of.inexact.clone());
            table[*at].unseen_touches = of.unseen_touches;
            // Threads have the numbers of the recording that their touches are of.
            table[*at].mapped_by = of.mapped_by;
        }
    }
    let recorded = seen.accesses()?;
    let mapped_by = |it: &Access| seen.header.files.get(it.file as usize)?.mapped_by;
    let is_elsewhere = |it: &Access| it.via == Via::Mapping && mapped_by(it).is_some_and(|by| by != it.thread);
    let is_own = |it: &Access| to.get(it.file as usize).is_some_and(Option::is_some);
    let touched_elsewhere = recorded.iter().any(|it| is_own(it) && is_elsewhere(it));
    let own = recorded.iter().filter_map(|it| Some(Access { file: (*to.get(it.file as usize)?)? as u32, ..*it }));
    let mut is_touched = vec![false; table.len()];
    let own = own.filter(|it| match maps {
        true => goes_on(it, &mut is_touched[it.file as usize]),
        false => it.via == Via::Call,
    });
    let mut files = Vec::new();
    for it in &table {
        let path = PathBuf::from(&it.path);
        files.push((fs::metadata(&path)?.len(), path));
    }
    let whole = |at: usize| -> bool {
        let bytes = files[at].0;
        let mut mappings = table[at].counts.iter().flat_map(|it| &it.mappings);
        // Many that have a part each may be of the same part.
        let is_mapped_whole = mappings.any(|it| it.count > 0 && it.bytes / it.count >= bytes);
        maps && table[at].exact == Exact::None && bytes < MAPPING_BYTES_MIN && is_mapped_whole
    };
    let is_whole: Vec<bool> = (0..table.len()).map(whole).collect();
    let whole = |at: usize, thread: Option<u32>| {
        // Beside touches that were recorded, threads have the numbers of that recording.
        let thread = thread.or(table[at].mapped_by).unwrap_or(0);
        Access { via: Via::Mapping, thread, ..Access::call(at as u32, 0, files[at].0) }
    };
    let accesses = with_whole(own, &is_whole, whole);
    let mut counts = observation::Access::default();
    table.iter().filter_map(|it| it.counts.as_ref()).for_each(|it| counts.add(it));
    let unseen = table.iter().zip(&is_whole).find(|(it, whole)| maps && !**whole && it.exact == Exact::None);
    let reach = match unseen {
        Some((it, _)) => Reach::UnseenMapping { why: why_unseen(it) },
        None if maps => Reach::Mapping,
        None => Reach::Calls,
    };
    let mut sizes: Vec<u64> = files.iter().map(|it| it.0).collect();
    sizes.sort_unstable();
    let touched_whole = is_whole.iter().filter(|it| **it).count() as u64;
    let group = Group {
        files: files.len() as u64,
        median_bytes: sizes.get(sizes.len() / 2).copied().unwrap_or(0),
        opens: counts.opens,
        touched_whole,
    };
    let is_other = |(place, _): &(usize, &FileSummary)| !places.contains(place);
    let of_others = all.files.iter().enumerate().filter(is_other).map(|it| it.1.accesses).fold(0, u64::saturating_add);
    let coverage = trace.coverage_of(|it| places.contains(&it)).min(seen.coverage_of(|it| to[it].is_some()));
    // The first recording has no touches.
    let is_seen = |it: &&Access| exact.is_some() && it.via == Via::Mapping && !is_whole[it.file as usize];
    let touched_bytes = accesses.iter().filter(is_seen).fold(0u64, |sum, it| sum.saturating_add(it.bytes));
    let recordings = Recordings { calls: trace, seen, coverage, touched_bytes };
    let trace = of_their_own(recordings, table, (&accesses, of_others), touched_whole)?;
    let pattern = pattern(&analysis::summary(&trace.header, &trace.digest, &accesses), &accesses, sizes.iter().sum());
    let files = files.into_iter().map(|it| it.1).collect();
    // Which thread touches what counts as touched whole was not recorded.
    let touched_elsewhere = touched_elsewhere || touched_whole > 0;
    Ok(Together { folder: folder.to_path_buf(), trace, files, counts, reach, group, pattern, touched_elsewhere })
}

pub(super) fn why_unseen(of: &TracedFile) -> String {
    let why = of.inexact.as_ref().map_or_else(|| "they were not recorded".into(), ToString::to_string);
    format!("{}: {why}", of.path)
}

/// Files that count as touched whole, in the order in which they were first reached among the others, by the thread that reached the
/// one before: a thread of their own would be at work from the first to the last of them.
fn with_whole(
    recorded: impl Iterator<Item = Access>,
    is_whole: &[bool],
    whole: impl Fn(usize, Option<u32>) -> Access,
) -> Vec<Access> {
    let mut recorded = recorded.filter(|it| !is_whole[it.file as usize]).peekable();
    let mut thread = recorded.peek().map(|it| it.thread);
    let (mut accesses, mut next) = (Vec::new(), 0);
    for access in recorded {
        while next < access.file as usize {
            accesses.extend(is_whole[next].then(|| whole(next, thread)));
            next += 1;
        }
        thread = Some(access.thread);
        accesses.push(access);
    }
    accesses.extend((next..is_whole.len()).filter(|&at| is_whole[at]).map(|at| whole(at, thread)));
    accesses
}

/// The recording of a command's calls, and the one that its accesses are of: the same, or a later one that saw touches.
struct Recordings<'t> {
    calls: &'t TraceFile,
    seen: &'t TraceFile,
    coverage: f64,
    /// That the first of both has not.
    touched_bytes: u64,
}

fn of_their_own(
    Recordings { calls: trace, seen, coverage, touched_bytes }: Recordings,
    table: Vec<TracedFile>,
    (accesses, of_others): (&[Access], u64),
    touched_whole: u64,
) -> Result<TraceFile> {
    let LeftOut { other_files, .. } = trace.header.left_out;
    let small_mappings = trace.header.left_out.small_mappings.max(seen.header.left_out.small_mappings);
    let other_files = other_files.saturating_add(of_others);
    let left_out = LeftOut { other_files, small_mappings, ..trace.header.left_out };
    let mut run = trace.header.run.clone();
    if let Some(run) = &mut run {
        run.bytes = run.bytes.saturating_add(touched_bytes);
        let notes = seen.header.run.iter().flat_map(|it| &it.notes).filter(|it| !run.notes.contains(it));
        let more: Vec<String> = notes.cloned().collect();
        run.notes.extend(more);
    }
    let note = format!("mapped files of less than 1 MiB count as touched whole: {touched_whole}");
    // A trace that was saved says so already.
    if let Some(run) = run.as_mut().filter(|it| touched_whole > 0 && !it.notes.contains(&note)) {
        run.notes.push(note);
    }
    let not_seen = trace.header.not_seen.clone();
    let header = Header { coverage, not_seen, run, ..Header::new(&seen.header.recorder, table, left_out) };
    TraceFile::made(&header, accesses)
}

/// Of all files together.
fn pattern(summary: &Summary, accesses: &[Access], file_bytes: u64) -> Pattern {
    let sum = |of: fn(&FileSummary) -> u64| summary.files.iter().map(of).fold(0, u64::saturating_add);
    let (mut begun, mut at_start) = (vec![false; summary.files.len()], 0);
    let (mut threads, mut sizes) = (BTreeSet::new(), HashMap::<u64, u64>::new());
    for access in accesses {
        let is_first = !std::mem::replace(&mut begun[access.file as usize], true);
        at_start += u64::from(is_first && access.offset == 0);
        threads.insert(access.thread);
        *sizes.entry(access.bytes).or_default() += 1;
    }
    let mut lengths: Vec<(u64, u64)> = sizes.into_iter().collect();
    lengths.sort_by_key(|it| (std::cmp::Reverse(it.1), it.0));
    Pattern {
        file_bytes,
        accesses: accesses.len() as u64,
        bytes: sum(|it| it.bytes),
        page_bytes: summary.files.first().map_or(1, |it| it.page_bytes),
        distinct_pages: sum(|it| it.distinct_pages),
        in_order: sum(|it| it.in_order).saturating_add(at_start),
        threads: threads.len() as u64,
        mappings: sum(|it| it.file.mappings),
        sizes: self::sizes(&lengths),
    }
}

/// The deepest that has nearly all bytes of some files.
fn folder<'a>(files: impl Iterator<Item = (&'a Path, u64)> + Clone) -> PathBuf {
    let all: f64 = files.clone().map(|it| it.1 as f64).sum();
    let mut folders: BTreeMap<&Path, f64> = BTreeMap::new();
    for (path, bytes) in files {
        path.ancestors().skip(1).for_each(|it| *folders.entry(it).or_default() += bytes as f64);
    }
    let with_nearly_all = folders.into_iter().filter(|(_, bytes)| *bytes >= NEARLY_ALL * all);
    let deepest = with_nearly_all.max_by_key(|(path, _)| path.components().count());
    deepest.map_or_else(|| PathBuf::from("/"), |it| it.0.to_path_buf())
}

/// Lengths of accesses as a record has them, those of the most accesses first. Of more than it has room for, neighbours
/// together: the access in the middle stays about where it is.
pub(super) fn sizes(all: &[(u64, u64)]) -> Vec<Bin> {
    if all.len() <= SIZES {
        return all.iter().map(|&(value, events)| Bin { value, events }).collect();
    }
    let mut ascending = all.to_vec();
    ascending.sort_unstable();
    let most = ascending.iter().map(|it| it.1).sum::<u64>() / SIZES as u64;
    let mut bins: Vec<Bin> = Vec::new();
    for (value, events) in ascending {
        match bins.last_mut().filter(|it| it.events + events <= most) {
            Some(bin) => *bin = Bin { value, events: bin.events + events },
            None => bins.push(Bin { value, events }),
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use schema::{leftover::FileIdentity, trace::NotSeen};

    use super::*;

    fn file(path: &str, read: u64, mapped: u64) -> FileSummary {
        let mut counts = observation::Access { opens: 1, ..observation::Access::default() };
        if read > 0 {
            counts.count_call("read", read, read, true);
        }
        if mapped > 0 {
            counts.count_mapping(&MappingCount { count: 1, bytes: mapped, ..MappingCount::default() });
        }
        FileSummary {
            file: TracedFile { path: path.into(), counts: Some(counts), ..TracedFile::default() },
            accesses: u64::from(read > 0),
            touched: 0,
            threads: 1,
            bytes: read,
            distinct_pages: 0,
            page_bytes: 4096,
            in_order: 0,
            end_bytes: read,
            sizes: Vec::new(),
        }
    }

    fn summary(files: Vec<FileSummary>) -> Summary {
        Summary {
            digest: "d".into(),
            recorder: "test".into(),
            coverage: 1.0,
            of_any_file: None,
            not_seen: schema::trace::NotSeen::default(),
            run: None,
            files,
            left_out: LeftOut::default(),
        }
    }

    fn of(files: Vec<FileSummary>) -> Result<Matters> {
        let all = summary(files);
        matters(&all, |it| it.path.starts_with("/own"))
    }

    #[test]
    fn a_file_that_was_recorded_is_the_one_that_has_its_path_here_only_by_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "1234").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let of = |inode: u64| {
            let identity = Some(FileIdentity { device: metadata.dev(), inode });
            TracedFile { path: path.display().to_string(), identity, ..TracedFile::default() }
        };
        let (own, other) = (of(metadata.ino()), of(metadata.ino() + 1));
        assert!(is_here(&own) && !is_here(&other));
        let files = vec![FileSummary { file: TracedFile { path: other.path.clone(), ..other }, ..file("", 10, 0) }];
        let all = summary(files);
        if is_own(&own.path) {
            assert_eq!(elsewhere(&all, 10).collect::<Vec<_>>(), [own.path.as_str()]);
        }
        assert!(matters(&all, is_own_here).is_err());
    }

    #[test]
    fn a_mapped_file_that_is_read_by_calls_after_its_first_touch_is_both() {
        let touch = |page: u64| Access { via: Via::Mapping, ..Access::call(0, page * 4096, 4096) };
        let (header, later, other) =
            (Access::call(0, 0, 1 << 20), Access::call(0, 1 << 20, 800), Access::call(1, 5, 1 << 20));
        let file = |path: &str| TracedFile { path: path.into(), ..TracedFile::default() };
        let is_both = |accesses: &[Access]| {
            let header = Header::new("test", vec![file("a"), file("b")], LeftOut::default());
            is_read_after_touches(&TraceFile::made(&header, accesses).unwrap(), 0).unwrap()
        };
        assert!(is_both(&[touch(9), other, later, touch(3), later]));
        assert!(!is_both(&[touch(9), later, touch(3)]), "a little");
        assert!(!is_both(&[header, other, touch(9), touch(3)]), "before");
    }

    #[test]
    fn a_large_mapping_of_which_little_is_touched_matters_less_than_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str, bytes: u64| {
            let path = folder.path().join(name);
            fs::File::create(&path).unwrap().set_len(bytes).unwrap();
            path.display().to_string()
        };
        let (c, a) = (path("c", 256 << 20), path("a", 64 << 20));
        let own = |_: &TracedFile| true;
        let open = |all: &Summary| undecided(all, &matters(all, own).unwrap(), own);
        let all = summary(vec![file(&c, 0, 256 << 20), file(&a, 64 << 20, 0)]);
        assert_eq!(matters(&all, own).unwrap(), Matters::One(0));
        assert_eq!(open(&all), [PathBuf::from(&c)]);
        let touched = |touched: u64| {
            let mut of = FileSummary { touched, ..file(&c, 0, 256 << 20) };
            of.file.exact = Exact::Order;
            let seen = with_touches(&all, &summary(vec![of]));
            (reached(&seen.files[0]), matters(&seen, own).unwrap())
        };
        // Mapped by many processes, whole each time: no mapping is small, so all of it can be seen.
        let mut often = file(&c, 0, 256 << 20);
        for it in &mut often.file.counts.as_mut().unwrap().mappings {
            (it.count, it.bytes) = (300, 300 * (256 << 20));
        }
        let by_many = summary(vec![often.clone(), file(&a, 64 << 20, 0)]);
        assert_eq!(open(&by_many), [PathBuf::from(&c)]);
        let mut seen = FileSummary { touched: 900, ..often };
        seen.file.exact = Exact::Order;
        let seen = with_touches(&by_many, &summary(vec![seen]));
        assert_eq!((reached(&seen.files[0]), matters(&seen, own).unwrap()), (900 * page_bytes(), Matters::One(1)));
        let mapped_of = |all: &Summary| others(all, &Matters::One(1), 320 << 20)[0].mapped_bytes;
        assert_eq!(mapped_of(&all), 256 << 20);
        assert_eq!(touched(1), (page_bytes(), Matters::One(1)));
        assert_eq!(touched(60_000).1, Matters::One(0));
        // What lies in small mappings is seen by no recording.
        let mut windows = file(&c, 0, 0);
        let window = MappingCount { count: 4096, bytes: 256 << 20, ..MappingCount::default() };
        windows.file.counts.as_mut().unwrap().count_mapping(&window);
        windows.file.exact = Exact::Order;
        assert_eq!(reached(&windows), 256 << 20);
        // A stranger's trace may say anything.
        let none = MappingCount { count: 0, bytes: u64::MAX, ..MappingCount::default() };
        windows.file.counts.as_mut().unwrap().mappings.push(none);
        assert!(reached(&windows) >= 256 << 20);
        // Of two that are mapped it is open as well, and of one alone nothing is.
        assert_eq!(open(&summary(vec![file(&c, 0, 256 << 20), file(&a, 0, 64 << 20)])).len(), 2);
        assert_eq!(open(&summary(vec![file(&c, 0, 256 << 20)])), [""; 0].map(PathBuf::from));
        let small = summary(vec![file(&c, 0, 1 << 20), file(&a, 64 << 20, 0)]);
        assert_eq!(open(&small), [""; 0].map(PathBuf::from), "calls reach more than there is of it");
    }

    #[test]
    fn that_no_file_is_read_is_said_of_a_command_that_was_wholly_seen_alone() {
        let refused = |not_seen: NotSeen| {
            let all = Summary { not_seen, ..summary(vec![file("/usr/lib/a", 10, 0)]) };
            matters(&all, |_| false).unwrap_err().to_string()
        };
        assert!(refused(NotSeen::default()).contains("reads no"));
        let partial = NotSeen { rings: 1, ..NotSeen::default() };
        let said = refused(partial.clone());
        assert!(!said.contains("reads no") && said.contains(&partial.to_string()), "{said}");
    }

    fn several(folder: &str, places: impl IntoIterator<Item = usize>) -> Matters {
        Matters::Several { folder: folder.into(), places: places.into_iter().collect() }
    }

    #[test]
    fn a_file_that_is_mapped_again_and_again_is_reached_as_often_as_once() {
        let mut index = file("/own/index", 0, 800);
        index.file.bytes = Some(100);
        assert_eq!(of(vec![index, file("/own/large", 600, 0)]).unwrap(), Matters::One(1));
    }

    #[test]
    fn small_reads_count_by_the_pages_that_they_bring_in_and_by_no_more_than_the_file_has() {
        let small = FileSummary { distinct_pages: 7000, ..file("/own/index", 8000 * 64, 0) };
        assert_eq!(reached(&small), 7000 * 4096);
        assert_eq!(of(vec![file("/own/code", 2 << 20, 0), small.clone()]).unwrap(), Matters::One(1));
        let mut one = FileSummary { distinct_pages: 1, ..file("/own/a", 10, 0) };
        one.file.bytes = Some(100);
        assert_eq!(reached(&one), 100);
    }

    #[test]
    fn a_file_with_most_of_the_bytes_matters_alone_and_else_those_that_are_reached_as_most_bytes_are() {
        let large = file("/own/a", 600, 0);
        assert_eq!(of(vec![file("/own/b", 500, 0), large.clone()]).unwrap(), Matters::One(1));
        assert_eq!(of(vec![file("/own/b", 600, 0), large.clone()]).unwrap(), several("/own", [0, 1]));
        assert_eq!(of(vec![file("/sys/b", 6000, 0), large.clone()]).unwrap(), Matters::One(1), "none of its own");
        let tree: Vec<FileSummary> = (0..9).map(|it| file(&format!("/own/{it}"), 0, 100)).collect();
        let all = [&[file("/own/list", 300, 0)], &tree[..], &[file("/own/both", 90, 90)]].concat();
        assert_eq!(of(all).unwrap(), several("/own", 1..10), "one is read, and one is both");
        // Of two that are reached otherwise, the larger one.
        assert_eq!(of(vec![file("/own/a", 100, 0), file("/own/b", 0, 100)]).map(|it| it.places().len()).unwrap(), 1);
        assert!(of(vec![file("/sys/b", 6000, 0)]).is_err());
        assert!(of(Vec::new()).is_err());
    }

    #[test]
    fn small_mapped_files_are_touched_whole_in_the_order_in_which_they_were_reached() {
        let page =
            |file: u32, at: u64, thread| Access { via: Via::Mapping, thread, ..Access::call(file, at * 4096, 4096) };
        let recorded = [page(2, 7, 1), page(4, 0, 2), page(2, 3, 1)];
        let whole = |file: usize, thread: Option<u32>| {
            let thread = thread.unwrap_or(70 + file as u32);
            Access { via: Via::Mapping, thread, ..Access::call(file as u32, 0, file as u64 + 1) }
        };
        let accesses = with_whole(recorded.into_iter(), &[true, true, false, true, false, true], whole);
        // By the thread that reached what was recorded before it, or else after it.
        let of = |file: u32, thread: u32| whole(file as usize, Some(thread));
        assert_eq!(accesses, [of(0, 1), of(1, 1), page(2, 7, 1), of(3, 1), page(4, 0, 2), page(2, 3, 1), of(5, 1)]);
        let by = with_whole(std::iter::empty(), &[true, false, true], whole);
        assert_eq!(by.iter().map(|it| (it.file, it.thread)).collect::<Vec<_>>(), [(0, 70), (2, 72)]);
    }

    #[test]
    fn files_are_below_the_deepest_folder_with_nearly_all_their_bytes() {
        let of = |files: &[(&str, u64)]| folder(files.iter().map(|it| (Path::new(it.0), it.1)));
        assert_eq!(of(&[("/a/b/c", 5), ("/a/b/d/e", 5), ("/a/b/cc/f", 5)]), Path::new("/a/b"));
        assert_eq!(of(&[("/a/b", 5), ("/c/d", 5)]), Path::new("/"));
        assert_eq!(of(&[("/a/bc/d", 5), ("/a/b/d", 5)]), Path::new("/a"));
        assert_eq!(of(&[("/home/.config", 9), ("/a/b/c", 500), ("/a/b/d", 500)]), Path::new("/a/b"));
        assert_eq!(of(&[("/home/.config", 20), ("/a/b/c", 500), ("/a/b/d", 500)]), Path::new("/"));
        assert_eq!(of(&[]), Path::new("/"));
    }

    #[test]
    fn files_of_which_a_part_is_read_are_below_the_folder_of_all_that_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: String| folder.path().join(name).display().to_string();
        // What is read of the large ones is less than what the small ones have, and the large ones have nearly all bytes.
        let small = (0..40).map(|it| (path(format!("p1/{it}")), 10_000, 10_000));
        let large = (0..3).map(|it| (path(format!("p2/{it}")), 50_000, 100 << 20));
        let files: Vec<(String, u64, u64)> = small.chain(large).collect();
        for name in ["p1", "p2"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        for (path, _, bytes) in &files {
            fs::File::create(path).unwrap().set_len(*bytes).unwrap();
        }
        let table = files.iter().map(|(path, read, _)| file(path, *read, 0).file).collect();
        let accesses = files.iter().enumerate().map(|(at, (_, read, _))| Access::call(at as u32, 0, *read));
        let header = Header::new("test", table, LeftOut::default());
        let trace = TraceFile::made(&header, &accesses.collect::<Vec<_>>()).unwrap();
        let all = analysis::summary(&trace.header, &trace.digest, &trace.accesses().unwrap());
        let Matters::Several { folder: of, places } = matters(&all, |_| true).unwrap() else { unreachable!() };
        let together = together(&trace, &all, (&of, &places), None).unwrap();
        assert_eq!((together.folder.as_path(), together.files.len()), (folder.path(), 43));
        assert!(together.files.iter().all(|it| it.starts_with(&together.folder)));
    }

    #[test]
    fn what_counts_as_touched_whole_takes_nothing_from_the_reads_of_other_files() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a", "b", "c"].map(|it| folder.path().join(it).display().to_string());
        files.iter().for_each(|it| fs::write(it, [1; 8192]).unwrap());
        let of = |at: usize| file(&files[at], if at == 2 { 8192 } else { 0 }, if at == 2 { 0 } else { 8192 }).file;
        let header = Header::new("test", (0..3).map(of).collect(), LeftOut::default());
        let accesses: Vec<Access> = (0..5).map(|it| Access::call(2, it * 1024, 1024)).collect();
        let trace = TraceFile::made(&header, &accesses).unwrap();
        let all = analysis::summary(&trace.header, &trace.digest, &trace.accesses().unwrap());
        let together = together(&trace, &all, (folder.path(), &[0, 1]), None).unwrap();
        assert_eq!((together.pattern.accesses, together.trace.header.left_out.other_files), (2, 5));
        assert!(together.touched_elsewhere, "by which thread is not known");
    }

    #[test]
    fn calls_before_the_first_touch_of_a_mapped_file_go_with_it_and_later_ones_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a", "b"].map(|it| folder.path().join(it).display().to_string());
        files.iter().for_each(|it| fs::File::create(it).unwrap().set_len(2 << 20).unwrap());
        let of = |it: &String| TracedFile { exact: Exact::Order, ..file(it, 0, 2 << 20).file };
        let header = Header::new("test", files.iter().map(of).collect(), LeftOut::default());
        let touch = |file: u32, page: u64| Access { via: Via::Mapping, ..Access::call(file, page * 4096, 4096) };
        let call = |file: u32, bytes: u64| Access::call(file, 0, bytes);
        let recorded = [call(0, 100), touch(0, 3), call(1, 16), call(0, 7), call(1, 24), touch(1, 0), call(1, 9)];
        let trace = TraceFile::made(&header, &recorded).unwrap();
        let all = analysis::summary(&trace.header, &trace.digest, &trace.accesses().unwrap());
        let together = together(&trace, &all, (folder.path(), &[0, 1]), None).unwrap();
        let kept = [call(0, 100), touch(0, 3), call(1, 16), call(1, 24), touch(1, 0)];
        assert_eq!(together.trace.accesses().unwrap(), kept);
    }

    #[test]
    fn whether_files_are_touched_by_other_threads_than_map_them_is_of_the_recording_of_the_touches() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a", "b"].map(|it| folder.path().join(it).display().to_string());
        files.iter().for_each(|it| fs::File::create(it).unwrap().set_len(2 << 20).unwrap());
        let header = |mapped_by: u32, exact: Exact| {
            let of = |it: &String| TracedFile { exact, mapped_by: Some(mapped_by), ..file(it, 0, 2 << 20).file };
            Header::new("test", files.iter().map(of).collect(), LeftOut::default())
        };
        let calls = TraceFile::made(&header(5, Exact::None), &[]).unwrap();
        let all = analysis::summary(&calls.header, &calls.digest, &[]);
        let of = |thread: u32| {
            let touches = [0, 1].map(|it| Access { via: Via::Mapping, thread, ..Access::call(it, 0, 4096) });
            let exact = TraceFile::made(&header(0, Exact::Order), &touches).unwrap();
            let together = together(&calls, &all, (folder.path(), &[0, 1]), Some(&exact)).unwrap();
            (together.touched_elsewhere, together.trace.header.files[0].mapped_by)
        };
        assert_eq!([of(0), of(5)], [(false, Some(0)), (true, Some(0))]);
    }

    #[test]
    fn a_small_file_elsewhere_is_not_of_the_group() {
        let tree = (0..200).map(|it| file(&format!("/own/tree/{it}"), 100, 0));
        let all: Vec<FileSummary> = std::iter::once(file("/own/.config", 10, 0)).chain(tree).collect();
        assert_eq!(of(all).unwrap(), several("/own/tree", 1..201));
    }

    #[test]
    fn of_many_lengths_the_access_in_the_middle_stays_where_it_is() {
        // The most frequent ones are not the most.
        let small = (1..=64).map(|it| (it, 3));
        let large = (100_000..110_000).map(|it| (it, 1));
        let bins = sizes(&small.clone().chain(large).collect::<Vec<_>>());
        assert_eq!(bins.iter().map(|it| it.events).sum::<u64>(), 64 * 3 + 10_000);
        assert!(bins.len() <= 2 * SIZES, "{}", bins.len());
        let pattern = Pattern {
            file_bytes: 1 << 30,
            accesses: 10_192,
            bytes: 1 << 30,
            page_bytes: 4096,
            distinct_pages: 1 << 18,
            in_order: 10_191,
            threads: 1,
            mappings: 0,
            sizes: bins,
        };
        assert!((pattern.access_bytes() - 105_119.0).abs() < 200.0, "{}", pattern.access_bytes());
        assert!(!pattern.is_small_in_order());
        assert_eq!(sizes(&small.collect::<Vec<_>>()).len(), 64);
    }
}
