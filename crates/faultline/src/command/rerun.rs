//! `faultline rerun`: a saved run once more, here, and the two beside each other.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Result;
use lab::{fixture, trace::TraceFile};
use schema::{
    Bytes, Experiment, Record, SCHEMA_VERSION, State,
    across::Across,
    advised::{Advised, Pattern},
    experiment::{Compare, TraceAsked},
    machine::Origin,
    observation::Means,
    record::{Cell, missing_arms},
    trace::TracedFile,
};

use crate::{
    cli::RerunArgs,
    exit::{Exit, UsageError},
    measure::{self, RunSettings},
    output,
    progress::Line,
    replay::{self, Replays},
    subject::{self, Subject},
};

pub fn run(args: &RerunArgs) -> Result<Exit> {
    args.output.check()?;
    let saved = history::Store::open(None)?;
    args.output.spare_read([saved.place(&args.run)?.0.as_path()])?;
    let (before, origin) = saved.find(&args.run)?;
    let mut experiment = check(&before, args)?;
    let is_elsewhere = args.target.is_none() && (origin != Origin::Own || before.target.made_here);
    let found = |trace: &TraceFile| {
        if args.size.is_some() || is_elsewhere {
            return replay::Found::default();
        }
        let (files, folders) = named(&before, args).unwrap_or_default();
        let found = folders.iter().map(|it| trace.files_in(it)).fold(trace.files_at(&files), |mut all, more| {
            all.extend(more);
            all
        });
        (found, folders)
    };
    let Replays { traces, files: replayed } = replay::reopen(&mut experiment, &before.id, &args.trace, &found)?;
    let traced = |compare: &Compare| match &compare.trace {
        Some(TraceAsked::Read(of)) => of.is_of_several(),
        Some(TraceAsked::Named { .. }) | None => false,
    };
    let begins_as_found = experiment.comparisons.iter().any(|it| it.state.contains(&State::AsFound));
    let is_of_several = experiment.comparisons.iter().any(traced);
    if origin != Origin::Own && args.target.is_none() {
        return Err(UsageError(format!(
            "the run {} is not one of this machine's data folder, and measured {}; --target names a file to measure instead, \
             or a folder for a test file of {}",
            before.id,
            before.target.path,
            Bytes(before.target.bytes)
        ))
        .into());
    }
    args.output.spare_read(args.trace.iter().map(|it| it.as_path()))?;
    warn_of_other_folder(&before);
    let interrupted = measure::interrupt_flag()?;
    let store = output::store(&args.output);
    let line = Line::new(args.output.quiet);
    let keep_cache = subject::keeps_cache(&experiment);
    let mut subject = if !commands(&experiment).is_empty() || is_of_several || begins_as_found {
        if args.size.is_some() {
            let why = "--size is for the test file that is made in a folder, and commands, as replays of several files, read what was named";
            return Err(UsageError(why.into()).into());
        }
        match (replayed.is_empty(), named(&before, args)?) {
            (false, (files, folders)) if files.is_empty() && folders.len() == 1 => {
                Subject::of_folder(&replayed, &folders[0], keep_cache, &interrupted)?
            }
            (false, _) => Subject::of_named(&replayed, &[], keep_cache, &interrupted)?,
            (true, (files, folders)) => Subject::of_named(&files, &folders, keep_cache, &interrupted)?,
        }
    } else if let [only] = &replayed[..] {
        args.output.spare(only)?;
        Subject::open(only, None, before.seed, keep_cache, &interrupted, &line)?
    } else {
        let (target, size) = target(&before, args)?;
        subject::spare(&experiment, &target)?;
        if target.is_dir() {
            subject::can_be_made(&experiment)?;
        }
        args.output.spare(&target)?;
        Subject::open(&target, size, before.seed, keep_cache, &interrupted, &line)?
    };
    // Advice is about a command, from what there was when it was recorded.
    if let (Some(_), Some(named)) = (&before.advised, &mut subject.target.named) {
        let table: Vec<TracedFile> = traces.iter().flat_map(|it| it.header.files.clone()).collect();
        named.take_found(&table);
    }
    args.output.spare_all(|path| subject.target.named.as_ref().is_some_and(|named| named.may_hold(path)))?;
    // The trace was made before this run, which may be of another machine: a command that cannot be watched is not known to do it.
    let given = before.advised.as_deref().map(|it| Advised { given: true, ..it.clone() });
    // A group is of the folder that its trace is of.
    let of_target = |it: Advised| if it.group.is_none() { of_another_file(it, &subject) } else { it };
    let advised = if args.target.is_some() { given.map(of_target) } else { given };
    let how = RunSettings {
        budget_binds: args.rounds.is_none(),
        rounds: args.rounds,
        observed: watched(&before),
        may_execute: args.run_commands,
        store: store.as_ref(),
        traces: &traces,
        advised: advised.as_ref(),
        ..RunSettings::new(before.seed, budget(&before)?, &interrupted, &line)
    };
    let measured = measure::measure(&experiment, &subject, &how)?;
    let findings = analysis::analyze(&before);
    let versus = analysis::across((&before, &findings), (&measured.record, &measured.findings));
    let saved = measured.saved.as_deref();
    output::emit_across(&measured.record, &measured.findings, Some(&versus), saved, &args.output, false)?;
    if !args.output.takes_stdout() {
        let across = Across { schema_version: SCHEMA_VERSION, versus: vec![versus], gates: Vec::new() };
        output::show(&report::across(&across, output::style(!args.output.quiet)))?;
    }
    // What was measured before is what is asked for.
    let was_measured = |at: usize| before.samples.iter().any(|it| it.cell == at);
    let is_lost =
        |cell: &Cell| before.cells.iter().enumerate().any(|(at, it)| it.arm.name == cell.arm.name && was_measured(at));
    let lost = missing_arms(&measured.record.cells).into_iter().any(|it| is_lost(&measured.record.cells[it]));
    Ok(match measured.outcome() {
        Exit::Answered | Exit::NothingDecided if lost => Exit::Unavailable,
        other => other,
    })
}

/// Which other files the command reached is known of the recorded execution only.
fn of_another_file(advised: Advised, subject: &Subject) -> Advised {
    let pattern = Pattern { file_bytes: subject.target.bytes, ..advised.pattern };
    let file = subject.target.path.clone();
    Advised { file, pattern, others: Vec::new(), others_left_out: 0, all_bytes: None, ..advised }
}

/// Relative paths in command lines mean other files in another folder.
fn warn_of_other_folder(before: &Record) {
    let here = std::env::current_dir().map(|it| it.display().to_string()).unwrap_or_default();
    if let Some(folder) = before.folder.as_ref().filter(|it| **it != here) {
        output::warn(&format!(
            "the commands of run {} were executed in {folder}, and this is {here}: relative paths in them lead to other \
             files, or to none. Try it again from {folder}",
            before.id
        ));
    }
}

/// The files and the folders that commands or a replay of several files read.
fn named(before: &Record, args: &RerunArgs) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let paths: Vec<PathBuf> = match (&args.target, &before.target.files) {
        (Some(target), _) => vec![target.clone()],
        (None, None) => vec![before.target.path.clone().into()],
        (None, Some(files)) if !files.has_all_names() => {
            return Err(UsageError(format!(
                "the run {} had more named than the first {} that its record keeps; run it with them again",
                before.id,
                files.named.len()
            ))
            .into());
        }
        (None, Some(files)) => files.named.iter().map(|it| PathBuf::from(&it.path)).collect(),
    };
    Ok(paths.into_iter().partition(|it| !it.is_dir()))
}

/// The experiment of a record, which may come from any source: resolved as one that is written here, and its commands only
/// with the user's consent.
fn check(before: &Record, args: &RerunArgs) -> Result<Experiment> {
    let experiment = before
        .experiment
        .resolved()
        .map_err(|why| UsageError(format!("the experiment of run {} cannot be made again: {why}", before.id)))?;
    let lines = commands(&experiment);
    if lines.is_empty() {
        return Ok(experiment);
    }
    output::note(&format!("the run {} executed:", before.id));
    lines.iter().for_each(|line| output::note_whole(line));
    match args.run_commands {
        true => Ok(experiment),
        false => Err(UsageError(
            "a record may come from another user: read these commands, and add --run-commands to have them executed here"
                .into(),
        )
        .into()),
    }
}

/// Everything that a run would have executed.
fn commands(experiment: &Experiment) -> BTreeSet<String> {
    let arms = experiment.comparisons.iter().flat_map(|it| &it.arms).map(|it| &it.arm);
    arms.filter(|arm| arm.is_command())
        .flat_map(|arm| arm.options.iter())
        .filter(|(key, _)| matches!(key.as_str(), "line" | "shell" | "prepare" | "cleanup"))
        .map(|(key, value)| format!("{key}: {value}"))
        .collect()
}

/// Commands that were watched are watched again, by whatever means there are here.
fn watched(before: &Record) -> Option<&'static [Means]> {
    (!before.observations.is_empty()).then_some(Means::ALL)
}

/// The file that was measured, or the folder for one of our own of the same size: the one that it was in before.
fn target(before: &Record, args: &RerunArgs) -> Result<(PathBuf, Option<u64>)> {
    let in_folder = |folder: PathBuf| size(before, args, &folder).map(|size| (folder, size));
    let was = PathBuf::from(before.target.folder_of_test_file().unwrap_or(&before.target.path));
    let target = match (&args.target, before.target.made_here) {
        (Some(folder), _) if folder.is_dir() => in_folder(folder.clone()),
        (Some(file), _) => Ok((file.clone(), None)),
        (None, true) if was.is_dir() => in_folder(was),
        (None, false) if was.is_file() => Ok((was, None)),
        (None, _) => Err(UsageError(format!(
            "the run {} measured {}, which is not here; --target names a file to measure instead, or a folder for a test file of {}",
            before.id,
            before.target.path,
            Bytes(before.target.bytes)
        ))
        .into()),
    };
    match target {
        Ok((file, None)) if args.size.is_some() => Err(subject::not_made(&file).into()),
        target => target,
    }
}

/// Of a test file. A record may come from anywhere, and does not fill a disk by what it says.
fn size(before: &Record, args: &RerunArgs, folder: &Path) -> Result<Option<u64>> {
    let (described, free) = (Bytes(before.target.bytes), fixture::free_bytes(folder)?);
    match args.size {
        Some(size) => Ok(Some(size.0)),
        None if described.0 <= free / 2 => Ok(Some(described.0)),
        None => Err(UsageError(format!(
            "the run {} had a file of {described}, and {} are free in {}: more than half of that is written only when --size \
             says so, or try another folder with --target",
            before.id,
            Bytes(free),
            folder.display()
        ))
        .into()),
    }
}

fn budget(before: &Record) -> Result<Duration> {
    Duration::try_from_secs_f64(before.budget_s)
        .ok()
        .filter(|it| (1..=365 * 86_400).contains(&it.as_secs()))
        .ok_or_else(|| {
            UsageError(format!("the run {} has an invalid budget of {} s", before.id, before.budget_s)).into()
        })
}

#[cfg(test)]
mod tests {
    use schema::record::{Files, NamedPath};

    use super::*;

    fn parsed() -> RerunArgs {
        let parsed = <crate::cli::Cli as clap::Parser>::try_parse_from(["faultline", "rerun", "last"]).unwrap();
        let crate::cli::Command::Rerun(args) = parsed.command else { panic!("it is a rerun") };
        *args
    }

    #[test]
    fn names_that_the_record_may_not_have_kept_are_not_left_out_in_silence() {
        let path = |at: usize, folder| NamedPath { path: format!("/d/{at}"), folder };
        let files = |folders, names: usize| {
            let named = (0..names).map(|at| path(at, folders > 0 && at == 0)).collect();
            Files { named, count: names as u64 + folders, folders, first: Vec::new() }
        };
        let mut before = planted::Planting::default().plant().record;
        let mut all_named = |of: Files| {
            before.target.files = Some(of);
            named(&before, &parsed()).is_ok()
        };
        assert!(all_named(files(0, 20)) && all_named(files(1, 19)));
        assert!(!all_named(files(1, 20)), "there may have been more");
        assert!(!all_named(Files { count: 21, ..files(0, 20) }));
    }

    #[test]
    fn a_test_file_is_made_in_the_folder_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let mut before = planted::Planting::default().plant().record;
        before.target.made_here = true;
        before.target.bytes = 4096;
        before.target.path = folder.path().join("file").display().to_string();
        let args = parsed();
        assert_eq!(target(&before, &args).unwrap(), (folder.path().to_path_buf(), Some(4096)));
        drop(folder);
        assert!(target(&before, &args).is_err(), "the folder is gone");
    }
}
