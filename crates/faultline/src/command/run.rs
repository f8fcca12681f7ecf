//! `faultline run`: the main job.

use std::{path::Path, time::Duration};

use anyhow::Result;
use lab::fixture;
use schema::record::missing_arms;

use crate::{
    cli::RunArgs,
    dry_run::{self, Planned},
    exit::Exit,
    experiment,
    measure::{self, RunResult, RunSettings},
    output,
    progress::Line,
    replay,
    subject::{self, Subject},
    suggestion::{self, Asked},
};

pub fn run(args: &RunArgs) -> Result<Exit> {
    let mut experiment = experiment::load(args)?;
    let size = args.size.map(|size| size.0);
    args.output.spare_read([Path::new(&args.experiment)].into_iter().chain(args.trace.as_deref()))?;
    let replay::Replays { traces, files } =
        replay::open(&mut experiment, args.target.as_deref().unwrap_or(Path::new(".")), size)?;
    let usual = experiment.budget_s.map_or(measure::BUDGET, |it| Duration::from_secs(it.into()));
    let (budget, budget_binds) = measure::bounds(args.budget, args.rounds, usual);
    let Some(target) = &args.target else {
        if let Some(bytes) = size {
            replay::fits(&experiment, "the test file", bytes)?;
        }
        // What is suggested has these options, too.
        if args.dry_run { args.output.check_plan() } else { args.output.check() }?;
        let words = std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
        let (experiment, replayed) = (&experiment, &files);
        let asked = Asked { experiment, replayed, size, dry_run: args.dry_run, budget, budget_binds, words };
        suggestion::show(&asked, Path::new("."));
        return Ok(Exit::Usage);
    };
    subject::spare(&experiment, target)?;
    if target.is_dir() && files.is_empty() {
        subject::can_be_made(&experiment)?;
        replay::fits(&experiment, "the test file", size.map_or_else(|| fixture::default_bytes(target), Ok)?)?;
    }
    if size.is_some() && target.is_file() {
        return Err(subject::not_made(target).into());
    }
    [target].into_iter().chain(&files).try_for_each(|it| args.output.spare(it))?;
    if args.dry_run {
        args.output.check_plan()?;
        let (rounds, seed, counted, asked_for) = (args.rounds, args.seed, args.counted, asked_for(args));
        let planned = Planned {
            experiment: &experiment,
            target,
            files: &files,
            size,
            budget,
            budget_binds,
            rounds,
            seed,
            counted,
            asked_for,
        };
        return dry_run::show(&planned, &args.output);
    }
    args.output.check()?;
    let interrupted = measure::interrupt_flag()?;
    let store = output::store(&args.output);
    let line = Line::new(args.output.quiet);
    let keep_cache = subject::keeps_cache(&experiment);
    let subject = match &files[..] {
        [] => Subject::open(target, size, args.seed, keep_cache, &interrupted, &line)?,
        [only] => Subject::open(only, None, args.seed, keep_cache, &interrupted, &line)?,
        several => Subject::of_folder(several, target, keep_cache, &interrupted)?,
    };
    args.output.spare_all(|path| subject.target.named.as_ref().is_some_and(|named| named.may_hold(path)))?;
    let how = RunSettings {
        budget_binds,
        rounds: args.rounds,
        counted: args.counted,
        may_set_up: args.allow_setup,
        timeline: args.timeline,
        store: store.as_ref(),
        traces: &traces,
        ..RunSettings::new(args.seed, budget, &interrupted, &line)
    };
    let measured = measure::measure(&experiment, &subject, &how)?;
    let saved = measured.saved.as_deref();
    output::emit(&measured.record, &measured.findings, saved, &args.output, args.details)?;
    Ok(outcome(&measured, args))
}

/// Arms that were named, on the command line or in a file of the user's own, were asked for.
fn asked_for(args: &RunArgs) -> bool {
    !args.method.is_empty() || schema::builtin::find(&args.experiment).is_none()
}

fn outcome(measured: &RunResult, args: &RunArgs) -> Exit {
    match measured.outcome() {
        Exit::Answered | Exit::NothingDecided
            if asked_for(args) && !missing_arms(&measured.record.cells).is_empty() =>
        {
            Exit::Unavailable
        }
        other => other,
    }
}
