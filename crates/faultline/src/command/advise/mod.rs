//! `faultline advise`: what to change about how a command reaches the file, or the files, that matter to it. The command is recorded, what it
//! did is replayed by other methods, and both are measured side by side.

mod files;

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result, anyhow, bail};
use lab::{
    Named,
    execute::{LOST_MOST, ROUNDS_MAX},
    trace::{self, NotRecorded, Recording, TraceFile},
};
use rustix::time::{ClockId, clock_gettime};
use schema::{
    Arm, Bytes, Consume, Descriptor, Experiment, Fill, State,
    advised::{Advised, Group, Pattern, Reach},
    command::{self, Spec},
    distinct,
    experiment::TraceAsked,
    leftover::FileIdentity,
    observation::{Access, Means},
    trace::{Exact, FileSummary, Summary, Traced, TracedFile, Via},
};
use sys::follow::MAPPING_BYTES_MIN;

use files::{Matters, Together, sizes};

use crate::{
    cli::AdviseArgs,
    exit::{Exit, Stopped, UsageError},
    measure::{self, RunSettings},
    output,
    progress::Line,
    replay,
    subject::{self, Subject},
};

/// Beside what the command did. What goes around the page cache, and what is in flight, needs the offsets in advance.
const ARMS: [&str; 6] = ["pread", "mmap", "mmap+random", "mmap+sequential", "mmap+populate-read", "uring"];
/// Of what a command does by calls: one hint more.
const HINTS: [&str; 2] = ["random", "sequential"];
/// Of small accesses in order: fewer calls.
const BUFFERED_ARM: &str = "pread+buffer_kib=128";
/// The least window of read-ahead is larger on nearly every disk.
const SMALL_FILE_BYTES: u64 = 64 << 10;
/// Needs a ring for each file.
const ARM_OF_ONE_FILE: &str = "uring";
/// For accesses that allow it.
const ALIGNED_ARM: &str = "direct";
const ALIGNMENT: u64 = 4096;

/// Other files that a record names.
const OTHERS: usize = 20;

pub fn run(args: &AdviseArgs) -> Result<Exit> {
    if args.save_trace.as_deref().is_some_and(output::is_stdout) {
        return Err(UsageError("a trace is no text; name a file for it with --save-trace".into()).into());
    }
    args.output.spare_read(args.trace.as_deref())?;
    args.output.check_with(&[("save-trace", args.save_trace.as_deref())])?;
    let mistake = match (&args.trace, &args.file) {
        (Some(_), None) => {
            Some("--trace needs the file that it is of before the command: --trace T FILE -- CMD".to_string())
        }
        (None, Some(file)) => Some(format!(
            "{} before the command belongs to --trace; without a trace the command is recorded, and the files that matter to it \
             are found: faultline advise -- CMD",
            file.display()
        )),
        _ => None,
    };
    if let Some(mistake) = mistake {
        return Err(UsageError(mistake).into());
    }
    if !args.state.contains(&State::Cached) && args.fill != [Fill::Sequential] {
        return Err(
            UsageError("--fill is for state cached, which --state leaves out; leave one of them out".into()).into()
        );
    }
    args.switch.iter().try_for_each(|it| can_start(it))?;
    let interrupted = measure::interrupt_flag()?;
    let line = Line::new(args.output.quiet);
    announce(args);
    let known = match (&args.trace, &args.file) {
        (Some(trace), Some(file)) => Known::of_trace(trace, file, &interrupted)?,
        _ => Known::recorded(args, &interrupted, &line)?,
    };
    let experiment = experiment(args, &known)?;
    experiment.validate().map_err(|(_, message)| UsageError(message))?;
    let mut subject = Subject::of_named(&known.files, &[], subject::keeps_cache(&experiment), &interrupted)?;
    if let Some(named) = &mut subject.target.named {
        named.take_found(&known.trace.header.files);
    }
    // Another file that the command reads is the user's, too.
    let holds = |path: &Path| {
        let is_read = output::identity(path).is_some_and(|it| known.reads.contains(&it));
        is_read || subject.target.named.as_ref().is_some_and(|it| it.holds(path))
    };
    args.output.spare_all(holds)?;
    if let Some(path) = &args.save_trace {
        if holds(path) {
            return Err(UsageError(format!(
                "{} is a file that the command reads; it is never changed",
                path.display()
            ))
            .into());
        }
        let bytes = if args.redact { known.trace.redacted()?.bytes() } else { known.trace.bytes() };
        output::write_bytes(path, &bytes?, args.output.force)?;
    }
    if !args.output.quiet {
        output::note(&known.says());
    }
    let store = output::store(&args.output);
    let (budget, budget_binds) = measure::bounds(args.budget, args.rounds, measure::BUDGET);
    let traces = [known.trace];
    let advised = Advised {
        states: args.state.clone(),
        fills: args.fill.clone(),
        given: args.trace.is_some(),
        once: args.once,
        ..known.advised
    };
    let how = RunSettings {
        budget_binds,
        rounds: args.rounds,
        observed: (!args.once).then_some(Means::ALL),
        may_execute: true,
        store: store.as_ref(),
        traces: &traces,
        advised: Some(&advised),
        ..RunSettings::new(args.seed, budget, &interrupted, &line)
    };
    let measured = measure::measure(&experiment, &subject, &how)?;
    let saved = measured.saved.as_deref();
    // What was not saved cannot be shown later.
    let details = args.details || (saved.is_none() && !args.output.quiet);
    output::emit(&measured.record, &measured.findings, saved, &args.output, details)?;
    Ok(measured.outcome())
}

/// What is run how often, before anything is.
fn announce(args: &AdviseArgs) {
    if let Some(says) = executions(args).filter(|_| !args.output.quiet) {
        output::note(&says);
    }
}

/// Nothing where the command is not run. What sizes the rounds is a pass of each, too.
fn executions(args: &AdviseArgs) -> Option<String> {
    let recorded = match args.trace {
        Some(_) => "",
        None if measured_fills(args).contains(&Fill::Found) => {
            "once to record it (twice if the kernel's recording fails); "
        }
        None => {
            "once to record it (twice if the kernel's recording fails) and once or twice more to see every page of what \
                 it maps; "
        }
    };
    let measured = match args.once {
        true => String::new(),
        false => {
            let of_fill = |state: State, fill: Fill| match fill {
                Fill::Sequential => state.to_string(),
                fill => format!("{state} (fill {fill})"),
            };
            let starts = measured_states(args).into_iter().flat_map(|state| match state.is_filled() {
                true => measured_fills(args).into_iter().map(|fill| of_fill(state, fill)).collect(),
                false => vec![state.to_string()],
            });
            let starts: Vec<String> = starts.collect();
            let switches = match args.switch.len() {
                0 => "",
                1 => ", and its switch once",
                _ => ", and each of its switches once",
            };
            let rounds = match args.rounds {
                Some(1) => "in the round".to_string(),
                Some(rounds) => format!("in each of at most {rounds} rounds"),
                None => format!("in each of at most {ROUNDS_MAX} rounds"),
            };
            format!(
                "once{} to see how it reaches the file (twice if the kernel's recording fails); and from state {} twice{switches}, in a trial{} and {rounds}; ",
                switches,
                starts.join(" and from state "),
                if args.switch.is_empty() { "" } else { " (a slow switch in two)" }
            )
        }
    };
    let count = format!("{recorded}{measured}");
    let often = if args.once { "" } else { "several times: " };
    (!count.is_empty()).then(|| {
        format!(
            "the command is run {often}{count}what it does beside reading, such as deleting or sending, it does each \
             time"
        )
    })
}

/// Cold, what the file costs is what is taken longer than cached.
fn measured_states(args: &AdviseArgs) -> Vec<State> {
    let is_needed = |state: &State| args.state.contains(state) || (*state == State::Cached && !args.once);
    [State::Cold, State::AsFound, State::Cached].into_iter().filter(is_needed).collect()
}

/// Each once, in the order that was asked for. Cold is held against the sequential fill: both begin with a sequential file, so
/// what they differ by is the device, and not folios.
fn measured_fills(args: &AdviseArgs) -> Vec<Fill> {
    let needed = (args.state.iter().any(|it| it.waits_for_device()) && !args.once).then_some(Fill::Sequential);
    // Those that are asked for are of state cached.
    let asked = if args.state.contains(&State::Cached) { &args.fill[..] } else { &[] };
    distinct(asked.iter().copied().chain(needed))
}

/// What is known of the command before it is measured.
struct Known {
    trace: TraceFile,
    traced: Traced,
    files: Vec<PathBuf>,
    recorded: Arm,
    is_aligned: bool,
    /// How threads that read at once have the file open.
    descriptor: Descriptor,
    advised: Advised,
    /// All that it was seen to read, also what does not matter.
    reads: Vec<FileIdentity>,
}

impl Known {
    /// By a trace that there is: of a file, or of those below a folder. What is opened was found where the user said, and not
    /// by the paths of the trace.
    fn of_trace(trace: &Path, file: &Path, interrupted: &Arc<AtomicBool>) -> Result<Known> {
        let usage = |why: anyhow::Error| UsageError(format!("{why:#}"));
        let mut trace = TraceFile::open(trace).map_err(usage)?;
        let file = fs::canonicalize(file).with_context(|| format!("cannot open {}", file.display()))?;
        // A log has the names of files, and one file may have several.
        let found = match file.is_dir() {
            true => trace.files_in(&file),
            false => trace.files_at(std::slice::from_ref(&file)),
        };
        let reads = identities(trace.header.files.iter());
        let has_others = found.iter().any(|(name, place)| Path::new(name) != place);
        if has_others && let Some(merged) = trace.of_found(&found).map_err(usage)? {
            trace = merged;
        }
        let summary = replay::summary(&trace)?;
        let place = match file.is_dir() {
            false => {
                let place = trace.of_file(None, &file).map_err(usage)?.file as usize;
                let of = &summary.files[place].file;
                // A trace of one file may have been recorded elsewhere, of a file that is called otherwise here. One of a file that
                // is here is of no other one.
                if files::is_here(of) && !files::are_one(Path::new(&of.path), &file) {
                    let (named, of) = (file.display(), &of.path);
                    return Err(UsageError(format!("the trace has no access of {named}; it is of {of}")).into());
                }
                place
            }
            true => {
                let below = Named::gather(&[], std::slice::from_ref(&file), true, interrupted)?;
                let is_below = |path: &Path| path.starts_with(&file) && below.holds(path);
                let found = |it: &TracedFile| is_below(Path::new(&it.path)) && files::is_own(&it.path);
                let none =
                    || anyhow!("the trace reaches no file below {}, or only those of the system", file.display());
                match files::matters(&summary, found).map_err(|_| usage(none()))? {
                    Matters::One(place) => place,
                    Matters::Several { folder, places } => {
                        let together = files::together(&trace, &summary, (&folder, &places), None)?;
                        return Ok(Known { reads, ..Known::together(together)? });
                    }
                }
            }
        };
        let path = if file.is_dir() { PathBuf::from(&summary.files[place].file.path) } else { file };
        Ok(Known { reads, ..Known::of(trace, &summary, place, path, None)? })
    }

    /// By running it: once for its calls, and for the pages of its mappings once more if what matters is mapped, or may be.
    fn recorded(args: &AdviseArgs, interrupted: &AtomicBool, line: &Line) -> Result<Known> {
        let record = |files: &[PathBuf], exact: Option<Duration>| {
            // Beside the time of its own it may take that of its pages.
            let limit = Duration::from_secs(args.timeout.into()).saturating_add(exact.unwrap_or_default());
            let command = &args.command;
            let asked = Recording { command, files, exact, limit: Some(limit), whole: true, by: Means::ALL };
            trace::record(&asked, interrupted).map_err(|why| match why {
                NotRecorded::Interrupted => {
                    Stopped("interrupted while the command was recorded; nothing was measured").into()
                }
                NotRecorded::Nothing { ref not_seen, .. } if not_seen.is_empty() => {
                    anyhow!("{why}: there is nothing to advise about. Try a command that reads a regular file")
                }
                NotRecorded::TooLong { .. } if exact.is_some() => anyhow!("{why}; try a longer --exact-budget"),
                NotRecorded::TooLong { .. } => anyhow!(
                    "{why}, so nothing was measured; try a longer --timeout (at most 50s), or something that ends. Of a server, record \
                     some time (faultline trace record --for), and name that trace with --trace and --once"
                ),
                why => anyhow::Error::from(why),
            })
        };
        line.show("recording the command", 0.0);
        let began = file_time();
        let first = record(&[], None)?;
        let trace = first.trace;
        let exactly = |files: &[PathBuf]| {
            if measured_fills(args).contains(&Fill::Found) {
                return Err(UsageError(
                    "the command maps what matters, and its files are evicted to see every page that it touches: they are then no \
                     longer in the page cache as they were found. Record it first (faultline trace record), bring the files \
                     into the state that is meant, and name the trace with --trace"
                        .into(),
                )
                .into());
            }
            line.show("recording every page that the command touches", 0.0);
            let recorded = record(files, Some(args.exact_budget))?;
            if recorded.ended != first.ended {
                let ended = |of: &TraceFile| {
                    let mut notes = of.header.run.iter().flat_map(|it| &it.notes);
                    notes.find(|it| it.starts_with("it ended with")).cloned()
                };
                let [before, now] =
                    [&trace, &recorded.trace].map(|it| ended(it).unwrap_or_else(|| "it succeeded".into()));
                bail!(
                    "the command ended with another exit code while every page that it touches was recorded ({before} before, and now \
                     {now}): that is done by ptrace, takes longer and gives its mappings MADV_RANDOM. A time limit of its own, rights \
                     that a traced program lacks, or what the first execution left behind may be why"
                );
            }
            Ok(recorded.trace)
        };
        let all = replay::summary(&trace)?;
        let left_out = left_out(&all, began);
        if let Some(only) = left_out.first().filter(|_| files::reached_here(&all).count() == left_out.len()) {
            bail!(
                "the command writes to {}, and reads no other file; a file that changes cannot be measured again and again; try it \
                 on one that it only reads",
                only.display()
            );
        }
        for it in &left_out {
            output::warn(&format!("{} is written meanwhile, and nothing is said of it", it.display()));
        }
        let is_given =
            |it: &TracedFile| files::is_own_here(it) && !left_out.iter().any(|left| left == Path::new(&it.path));
        let mut matter = files::matters(&all, is_given)?;
        // Where it is executed again, the executions have these remarks.
        let remarks = all.run.iter().filter(|_| args.once).flat_map(|it| &it.notes);
        remarks.for_each(|it| output::warn(&format!("of the command: {it}")));
        let path = |place: usize| PathBuf::from(&all.files[place].file.path);
        // How much is mapped is not how much is reached: a program may look at one page of a large file.
        let open = files::undecided(&all, &matter, is_given);
        let mut seen = all.clone();
        let pages = match if open.is_empty() { Ok(None) } else { exactly(&open).map(Some) } {
            Ok(pages) => pages,
            Err(stopped) if stopped.is::<Stopped>() => return Err(stopped),
            Err(why) => {
                output::warn(&format!(
                    "what matters depends on how much of its mappings the command touches, which could not be seen; all that \
                     is mapped counts ({why:#})"
                ));
                None
            }
        };
        if let Some(pages) = &pages {
            seen = files::with_touches(&all, &replay::summary(pages)?);
            matter = files::matters(&seen, is_given)?;
        }
        if let Some(changed) = matter.places().iter().map(|it| path(*it)).find(|it| changed_since(it, began)) {
            let counts =
                all.files.iter().find(|it| Path::new(&it.file.path) == changed).and_then(|it| it.file.counts.as_ref());
            let (file, why) = (changed.display(), "a file that changes cannot be measured again and again");
            match counts.is_some_and(|it| it.opens_for_writing > 0) {
                true => bail!("the command writes to {file}, and {why}; try it on one that it only reads"),
                // It may be another program, or the command by a descriptor that it was given.
                false => bail!(
                    "{file} changed while the command ran, which was not seen to open it for writing, and {why}; try it on a copy"
                ),
            }
        }
        if measured_fills(args).contains(&Fill::Found) {
            was_found_whole(&all, matter.places())?;
        }
        let all_bytes = seen.files.iter().map(files::reached).fold(0, u64::saturating_add);
        for path in files::elsewhere(&seen, all_bytes) {
            output::warn(&format!(
                "what the command reads as {path} is another file than the one that has this path here, and nothing is said of it"
            ));
        }
        let others = files::others(&seen, &matter, all_bytes);
        // Many files together may have taken more than the time that one of them has.
        let is_it = |it: &TracedFile, file: &Path| Path::new(&it.path) == file && files::is_here(it);
        let has = |pages: &TraceFile, file: &PathBuf| {
            pages.header.files.iter().any(|it| is_it(it, file) && it.exact != Exact::None)
        };
        let exactly = |files: &[PathBuf]| match pages.filter(|pages| files.iter().all(|it| has(pages, it))) {
            Some(pages) => Ok(pages),
            None => exactly(files),
        };
        let mut known = match &matter {
            Matters::One(place) => {
                let (place, file) = (*place, path(*place));
                let counts = all.files[place].file.counts.clone().unwrap_or_default();
                match analysis::ways(&counts).mappings {
                    false => Known::of(trace, &all, place, file, None)?,
                    true => {
                        // To see the pages of a mapping, its file was evicted since.
                        let trace = exactly(std::slice::from_ref(&file))?.found_as(&trace)?;
                        let exact = replay::summary(&trace)?;
                        let place = exact.files.iter().position(|it| is_it(&it.file, &file));
                        let place = place
                            .ok_or_else(|| anyhow!("the command was not seen to reach {} again", file.display()))?;
                        Known::of(trace, &exact, place, file, Some(counts))?
                    }
                }
            }
            Matters::Several { folder, places } => {
                let exact = match &files::recordable(&all, places)[..] {
                    [] => None,
                    files => Some(exactly(files)?),
                };
                Known::together(files::together(&trace, &all, (folder, places), exact.as_ref())?)?
            }
        };
        line.done();
        known.advised.all_bytes = Some(all_bytes);
        known.advised.others_left_out = others.len().saturating_sub(OTHERS) as u64;
        known.advised.others = others.into_iter().take(OTHERS).collect();
        Ok(Known { reads: identities(all.files.iter().map(|it| &it.file)), ..known })
    }

    fn together(of: Together) -> Result<Known> {
        let Together { trace, files, folder, counts, reach, group, pattern, touched_elsewhere } = of;
        let traced = match (trace.of_all(), &reach) {
            (Ok(traced), _) => traced.clone(),
            (Err(_), Reach::UnseenMapping { why }) => {
                bail!("which pages of the files below {} the command touches is not known: {why}", folder.display())
            }
            (Err(why), _) => return Err(why),
        };
        let recorded = recorded(Some(&counts), &pattern, None, &reach).parse::<Arm>().map_err(|why| anyhow!(why))?;
        let coverage = trace.header.coverage;
        let advised = advised((&trace, coverage), &folder, &recorded, pattern, reach);
        let advised = Advised { group: Some(group), touched_elsewhere, ..advised };
        // Mostly one thread reads a file, with a position of its own.
        let descriptor = Descriptor::PerThread;
        let reads = identities(trace.header.files.iter());
        Ok(Known { trace, traced, files, recorded, is_aligned: false, descriptor, advised, reads })
    }

    /// What is evicted.
    fn says(&self) -> String {
        let file = &self.advised.file;
        match &self.advised.group {
            None => format!("the file that matters is {file}; it is evicted wherever a start needs that"),
            Some(Group { files, .. }) => {
                format!("what matters is {files} files below {file}; they are evicted wherever a start needs that")
            }
        }
    }

    /// `counts`: of an execution that was watched and not changed. One whose pages are recorded is given other advice than the
    /// program gives.
    fn of(trace: TraceFile, summary: &Summary, place: usize, file: PathBuf, counts: Option<Access>) -> Result<Known> {
        let mut of = summary.files[place].clone();
        of.file.counts = counts.or(of.file.counts);
        let of = &of;
        let reach = match reach(of) {
            Reach::Mapping if files::is_read_after_touches(&trace, place)? => Reach::Both,
            reach => reach,
        };
        let file_bytes = fs::metadata(&file).with_context(|| format!("cannot look at {}", file.display()))?.len();
        let pattern = Pattern {
            file_bytes,
            accesses: of.accesses,
            bytes: of.bytes,
            page_bytes: of.page_bytes,
            distinct_pages: of.distinct_pages,
            in_order: of.in_order,
            threads: of.threads,
            mappings: of.file.mappings,
            sizes: sizes(&of.sizes),
        };
        let recorded = recorded(of.file.counts.as_ref(), &pattern, Some(pattern.in_order), &reach);
        let recorded = recorded.parse::<Arm>().map_err(|why| anyhow!(why))?;
        let traced = match trace.of_file(Some(&of.file.path), &file) {
            Ok(traced) => traced.clone(),
            Err(why) => match reach {
                Reach::UnseenMapping { why } => {
                    bail!("which pages of {} the command touches is not known: {why}", file.display())
                }
                _ if is_unplaced(of) => bail!(
                    "where the command reads {} is not seen, as of sendfile and splice at offsets in its memory, so its \
                     accesses cannot be made again; try it on another way of reading the file",
                    file.display()
                ),
                _ if summary.left_out.small_mappings > 0 => bail!(
                    "which pages of {} the command touches is not known: its mappings are smaller than {}, and touches are \
                     recorded in larger ones",
                    file.display(),
                    Bytes(MAPPING_BYTES_MIN).exact()
                ),
                _ => return Err(why),
            },
        };
        let opened = of.file.counts.as_ref().map_or(0, |it| it.opens);
        let recorded = at_shared_position(recorded, traced.threads, (opened, of.threads))?;
        let coverage = trace.coverage_of(|it| it == traced.file as usize);
        let advised = advised((&trace, coverage), &file, &recorded, pattern, reach);
        let mapped_by = of.file.mapped_by;
        let mut touched_elsewhere = false;
        let is_whole =
            |it: &schema::trace::Access| it.offset.is_multiple_of(ALIGNMENT) && it.bytes.is_multiple_of(ALIGNMENT);
        let mut is_aligned = true;
        trace.each(|it| {
            if it.file == traced.file {
                is_aligned &= is_whole(&it);
                touched_elsewhere |= it.via == Via::Mapping && mapped_by.is_some_and(|by| by != it.thread);
            }
            Ok(())
        })?;
        let mut advised = Advised { touched_elsewhere, ..advised };
        // Where it is reached by calls too, these alone make no replay of it.
        if let (Reach::Both, Some(_)) = (&advised.reach, of.file.unseen(of.touched)) {
            advised.not_seen.incomplete.push(format!("touched pages of {}", files::why_unseen(&of.file)));
        }
        // Of fewer than there are threads, some have one together.
        let times = if recorded.maps() { advised.pattern.mappings } else { opened };
        let is_once = times == 1 || (1..of.threads).contains(&times);
        let is_shared = is_once && recorded.method != "read";
        let descriptor = if is_shared { Descriptor::Shared } else { Descriptor::PerThread };
        let reads = identities(trace.header.files.iter());
        Ok(Known { trace, traced, files: vec![file], recorded, is_aligned, descriptor, advised, reads })
    }
}

/// What the command makes itself, a sorted copy say, is nothing that it was given; nor does what changes count beside files of which
/// it reaches as much, which stay.
fn left_out(all: &Summary, began: (i64, i64)) -> Vec<PathBuf> {
    let own: Vec<(PathBuf, u64)> = files::reached_here(all).collect();
    let changed: Vec<&(PathBuf, u64)> = own.iter().filter(|it| changed_since(&it.0, began)).collect();
    let (made, changed): (Vec<_>, Vec<_>) = changed.into_iter().partition(|it| was_made_since(&it.0, began));
    let bytes = |of: &[&(PathBuf, u64)]| of.iter().map(|it| it.1 as f64).sum::<f64>();
    let given = bytes(&own.iter().collect::<Vec<_>>()) - bytes(&made);
    let is_minor = 2.0 * bytes(&changed) <= given;
    made.into_iter().chain(changed.into_iter().filter(|_| is_minor)).map(|it| it.0.clone()).collect()
}

/// Those of the files of a trace that are still here.
fn identities<'a>(files: impl Iterator<Item = &'a TracedFile>) -> Vec<FileIdentity> {
    // A log has no identities.
    let here = |it: &TracedFile| {
        let here = output::identity(Path::new(&it.path))?;
        it.identity.is_none_or(|own| own == here).then_some(here)
    };
    files.filter_map(here).collect()
}

/// What the recording itself brought into the page cache was not found there.
fn was_found_whole(all: &Summary, places: &[usize]) -> Result<(), UsageError> {
    let refused = |of: String, hint: &str| {
        Some(UsageError(format!(
            "{of} in the page cache before the command was recorded, so there is no fill found; {hint}leave found out of --fill"
        )))
    };
    let partly = |place: &usize| {
        let file = &all.files[*place].file;
        match file.resident_before {
            Some(share) if share >= 1.0 - LOST_MOST => None,
            Some(share) => refused(
                format!("only {:.1} % of {} was", 100.0 * share, file.path),
                "the recording brought in more, so try it again now, or ",
            ),
            None => refused(format!("it is not known how much of {} was", file.path), ""),
        }
    };
    places.iter().find_map(partly).map_or(Ok(()), Err)
}

/// Whether it was read at offsets that were not seen. An imported trace has no counts, and lacks nothing else.
fn is_unplaced(of: &FileSummary) -> bool {
    let unplaced = |it: &Access| it.calls.values().any(|it| it.unplaced > 0);
    of.file.counts.as_ref().map_or(of.file.missing > 0, unplaced)
}

/// What is recorded of a command, but for what else it reached and what was asked.
fn advised(
    (trace, coverage): (&TraceFile, f64),
    file: &Path,
    recorded: &Arm,
    pattern: Pattern,
    reach: Reach,
) -> Advised {
    Advised {
        file: file.display().to_string(),
        group: None,
        states: Vec::new(),
        fills: Vec::new(),
        given: false,
        digest: trace.digest.clone(),
        recorder: trace.header.recorder.clone(),
        coverage,
        not_seen: trace.header.not_seen.clone(),
        recorded: recorded.name.clone(),
        pattern,
        reach,
        others: Vec::new(),
        others_left_out: 0,
        all_bytes: None,
        touched_elsewhere: false,
        once: false,
    }
}

/// A moment, in seconds and nanoseconds, before which everything was stamped that happened until now, and after which everything
/// is that happens from now on. The clock of these stamps goes by ticks of the kernel (`current_time` in fs/inode.c), and since
/// Linux 6.13 some stamps are exact; so it waits until the clock is past the moment, a tick at most.
fn file_time() -> (i64, i64) {
    let of = |clock| {
        let now = clock_gettime(clock);
        (now.tv_sec, now.tv_nsec)
    };
    let (now, tick) = (of(ClockId::Realtime), of(ClockId::RealtimeCoarse));
    // A clock that was set back is not waited for.
    while (tick..=now).contains(&of(ClockId::RealtimeCoarse)) {
        std::thread::sleep(Duration::from_millis(1));
    }
    now
}

/// Whether a file was made at a moment or after it, where the file system keeps that.
fn was_made_since(file: &Path, (seconds, nanoseconds): (i64, i64)) -> bool {
    let made = fs::metadata(file).and_then(|it| it.created()).ok();
    let since_epoch = made.and_then(|it| it.duration_since(SystemTime::UNIX_EPOCH).ok());
    since_epoch.is_some_and(|it| (it.as_secs() as i64, i64::from(it.subsec_nanos())) >= (seconds, nanoseconds))
}

/// Whether a file was written, or given another name or other rights, at a moment or after it. Some programs open for writing
/// what they only read.
fn changed_since(file: &Path, moment: (i64, i64)) -> bool {
    fs::metadata(file).ok().is_none_or(|it| (it.ctime(), it.ctime_nsec()) >= moment)
}

fn reach(of: &FileSummary) -> Reach {
    // What was imported has calls alone.
    let Some(counts) = &of.file.counts else { return Reach::Calls };
    let ways = analysis::ways(counts);
    match (ways.calls, ways.mappings) {
        (true, true) => Reach::Both,
        (_, false) => Reach::Calls,
        (false, true) if of.file.exact != Exact::None => Reach::Mapping,
        (false, true) => Reach::UnseenMapping {
            why: of.file.inexact.as_ref().map_or_else(|| "they were not recorded".into(), ToString::to_string),
        },
    }
}

/// The arm that does what the command did. `in_order`: of one file, how many of its accesses follow each other.
fn recorded(counts: Option<&Access>, pattern: &Pattern, in_order: Option<u64>, reach: &Reach) -> String {
    match (reach, counts) {
        (Reach::Calls, Some(counts)) if !counts.calls.is_empty() => analysis::arm_of(counts, false, in_order),
        (Reach::Calls, _) if pattern.in_order_share() > Pattern::IN_ORDER => "read".into(),
        (Reach::Calls, _) => "pread".into(),
        (_, Some(counts)) => analysis::arm_of(counts, true, None),
        (_, None) => "mmap".into(),
    }
}

/// Whether there is a program to start for a switch: it is executed only after the command was recorded and measured.
fn can_start(line: &str) -> Result<()> {
    let Some(program) = shlex::split(line).and_then(|words| words.into_iter().next()) else {
        return Err(
            UsageError(format!("--switch {line:?} is no command: it is empty, or a quote is not closed")).into()
        );
    };
    let is_there = match (program.contains('/'), std::env::var_os("PATH")) {
        (true, _) => Path::new(&program).is_file(),
        (false, Some(folders)) => std::env::split_paths(&folders).any(|it| it.join(&program).is_file()),
        // The C library has folders of its own then.
        (false, None) => true,
    };
    match is_there {
        true => Ok(()),
        false => {
            Err(UsageError(format!("--switch {line:?} cannot be started: there is no program {program:?}")).into())
        }
    }
}

/// The command and its switches, and replays of what it did, from the same states in the same rounds.
fn experiment(args: &AdviseArgs, known: &Known) -> Result<Experiment> {
    let states = measured_states(args);
    let line = shlex::try_join(args.command.iter().map(String::as_str));
    let line = line.map_err(|_| UsageError("a word of the command has a zero byte".into()))?;
    let spec = |name: String, line: &str| Spec {
        line: line.into(),
        name,
        shell: None,
        prepare: None,
        cleanup: None,
        timeout_s: args.timeout,
        compared: if args.anyway { schema::command::Compared::Status } else { schema::command::Compared::Output },
    };
    let switches = args.switch.iter().enumerate().map(|(at, line)| match at {
        0 => spec("switch".into(), line),
        _ => spec(format!("switch {}", at + 1), line),
    });
    let specs: Vec<Spec> = std::iter::once(spec("as it is".into(), &line)).chain(switches).collect();
    let fills = measured_fills(args);
    let commands = command::experiment(&specs, &states, &fills);
    let mut replays = Vec::new();
    // What speaks against a change is counted: bytes of a mapping are reached while the program looks at them.
    let [usual, other] = match known.recorded.maps() {
        true => [Consume::Touch, Consume::Sum],
        false => [Consume::Sum, Consume::Touch],
    };
    for state in states {
        let consumes = if state.waits_for_device() { vec![usual] } else { vec![usual, other] };
        replays.push(replay(known, state, &fills, &consumes, !args.switch.is_empty())?);
    }
    let commands = if args.once { Vec::new() } else { commands.comparisons };
    let comparisons =
        commands.into_iter().chain(replays.into_iter().flat_map(|it: Experiment| it.comparisons)).collect();
    Ok(Experiment {
        name: "advise".into(),
        title: "What to change about how a command reaches its file".into(),
        comparisons,
        ..replay(known, State::Cached, &fills, &[usual], false)?
    })
}

fn replay(known: &Known, state: State, fills: &[Fill], consumes: &[Consume], is_switched: bool) -> Result<Experiment> {
    let also = known.is_aligned.then_some(ALIGNED_ARM);
    let at_page = with_buffer_at_page(&known.recorded)?;
    let is_placed = at_page != known.recorded;
    let recorded = at_page.short_name();
    let pattern = &known.advised.pattern;
    let (order, touched) = (pattern.in_order_share(), pattern.touched_share());
    let group = known.advised.group.as_ref();
    // The first fault of a file brings all of it in.
    let is_small = group.is_some_and(|it| it.median_bytes < SMALL_FILE_BYTES);
    // Cold, passes are slow, and what brings in more than others cannot be the answer; nor, cached, can the device.
    let window = known.files.first().map_or(0, |it| lab::target::window_of(it));
    let brought_in = touched * (window / pattern.page_bytes.max(1)).max(1) as f64;
    let in_vain = |arm: &str| match (state.waits_for_device(), arm) {
        // It populates its pages already.
        (_, "mmap+populate-read") if at_page.fills_page_table() => true,
        // Where each fault brings in what is around it, a mapping without advice brings in all of the file too.
        (true, "mmap+populate-read") => is_small || brought_in < Pattern::LITTLE,
        // What goes through its pages with gaps within them is in order for the kernel, and touches much of the file.
        (true, arm) if arm.ends_with("+sequential") => order < Pattern::ANYWHERE && touched < Pattern::LITTLE,
        (true, arm) if arm.ends_with("+random") => order > Pattern::IN_ORDER && touched > Pattern::LITTLE,
        (false, ALIGNED_ARM) => true,
        _ => false,
    };
    let is_tried = |it: &&str| *it != recorded && !in_vain(it) && !(group.is_some() && *it == ARM_OF_ONE_FILE);
    let hinted = hinted(known, state, is_switched);
    let in_parts = group.is_none_or(|it| it.is_in_parts(pattern));
    let buffered = (pattern.is_small_in_order() && in_parts).then_some(BUFFERED_ARM);
    let hinted = hinted.iter().map(String::as_str);
    let others = ARMS.into_iter().chain(hinted).chain(also).filter(is_tried);
    let as_recorded = std::iter::once(recorded).chain(others).map(|it| if is_placed { placed(it) } else { it.into() });
    let elsewhere = is_placed.then_some(recorded).into_iter().chain(buffered).map(String::from);
    let arms: Vec<String> = as_recorded.chain(elsewhere).map(|it| format!("{it:?}")).collect();
    let consumes: Vec<String> = consumes.iter().map(|it| format!("\"{it}\"")).collect();
    let text = format!(
        "title = \"Replays\"\n[[compare]]\nworkload = {{ replay = \"recorded\" }}\nstate = \"{state}\"\nconsume = \
         [{}]\narms = [{}]\n",
        consumes.join(", "),
        arms.join(", ")
    );
    let mut experiment = Experiment::parse("advise", &text).map_err(|why| anyhow!(why.at("advise")))?;
    for compare in &mut experiment.comparisons {
        compare.trace = Some(TraceAsked::Read(known.traced.clone()));
        compare.descriptor = vec![known.descriptor];
        if state.is_filled() {
            compare.fill = fills.to_vec();
        }
    }
    Ok(experiment)
}

/// Threads that take turns at the position of a file that they opened together make no lseek(2). Replays at positions of their own
/// would, before nearly every read, so they read at offsets.
fn at_shared_position(recorded: Arm, at_once: u32, (opened, threads): (u64, u64)) -> Result<Arm> {
    match recorded.method == "read" && at_once > 1 && (1..threads).contains(&opened) {
        true => Arm::new(&recorded.runtime, "pread", &recorded.options).map_err(|why| anyhow!(why)),
        false => Ok(recorded),
    }
}

/// The same, but for where its buffer begins.
fn with_buffer_at_page(arm: &Arm) -> Result<Arm> {
    let mut options = arm.options.clone();
    options.remove("buffer");
    Arm::new(&arm.runtime, &arm.method, &options).map_err(|why| anyhow!(why))
}

/// With a buffer where malloc(3) has large ones, if it has one of its own.
fn placed(arm: &str) -> String {
    let is_call = matches!(arm.split('+').next(), Some("read" | "pread"));
    if is_call { format!("{arm}+malloc") } else { arm.into() }
}

/// Calls with advice, and those of a command that gives it without: cold, where something is read ahead, and beside a switch,
/// which may be that advice.
fn hinted(known: &Known, state: State, is_switched: bool) -> Vec<String> {
    let (is_by_calls, method) = match known.recorded.method.as_str() {
        method @ ("read" | "pread") => (true, method),
        _ => (false, "pread"),
    };
    // Without advice, `pread` is replayed anyway.
    let plain = (method == "read").then(|| method.to_string());
    match is_switched || (is_by_calls && state.waits_for_device()) {
        true => HINTS.map(|hint| format!("{method}+{hint}")).into_iter().chain(plain).collect(),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_with_one_position_are_replayed_at_offsets_and_all_else_as_it_was() {
        let of = |arm: &str, at_once, counts| at_shared_position(arm.parse().unwrap(), at_once, counts).unwrap().name;
        assert_eq!(of("read+random", 2, (1, 2)), "native/pread+random");
        assert_eq!(of("read", 1, (1, 2)), "native/read", "one after the other, by one replay thread");
        assert_eq!(of("read", 2, (2, 2)), "native/read", "a position of each thread's own");
        assert_eq!(of("mmap", 2, (1, 2)), "native/mmap");
    }

    #[test]
    fn a_file_that_is_written_right_after_a_moment_is_seen_to_have_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for times in 0..200 {
            let moment = file_time();
            fs::write(&path, format!("{times}")).unwrap();
            assert!(changed_since(&path, moment), "after {times} writes");
        }
        let about = fs::metadata(&path).unwrap();
        assert!(!changed_since(&path, (about.ctime(), about.ctime_nsec() + 1)));
        assert!(changed_since(&folder.path().join("gone"), file_time()));
    }
}
