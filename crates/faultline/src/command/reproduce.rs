//! `faultline reproduce`: published studies, as published and corrected.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::{Result, anyhow};
use lab::fixture;
use schema::{Bytes, Experiment, builtin};

use crate::{
    cli::ReproduceArgs,
    dry_run::{self, Planned},
    exit::{Exit, UsageError},
    experiment,
    measure::{self, RunSettings},
    output,
    progress::Line,
    subject::{self, Subject},
};

/// Of a study that says no other: with its test file it ends within about two minutes.
const BUDGET: Duration = Duration::from_secs(110);
/// Fewer rounds, which leave more claims undecided.
const QUICK_BUDGET: Duration = Duration::from_secs(60);
/// At the published sizes.
const FULL_BUDGET: Duration = Duration::from_secs(15 * 60);

pub fn run(args: &ReproduceArgs) -> Result<Exit> {
    if args.studies.is_empty() && args.output.documents.0.is_empty() {
        return list();
    }
    let studies = experiment::studies(args)?;
    check(args, &studies)?;
    let outcomes = match args.dry_run {
        // A study that does not fit must not hide the plans after it.
        true => studies.iter().map(|study| plan(study, args)).collect::<Vec<_>>().into_iter().collect::<Result<_>>()?,
        false => reproduce(&studies, args)?,
    };
    Ok(together(&outcomes))
}

fn list() -> Result<Exit> {
    let studies: Vec<Experiment> = experiment::built_in(builtin::STUDIES).collect();
    output::show(&report::studies(&studies, output::style(false)))?;
    Ok(Exit::Answered)
}

/// Everything that can be known before anything is written.
fn check(args: &ReproduceArgs, studies: &[Experiment]) -> Result<()> {
    if !args.dir.is_dir() {
        return Err(
            UsageError(format!("{} is no folder; --dir says where test files are made", args.dir.display())).into()
        );
    }
    studies.iter().try_for_each(subject::can_be_made)?;
    if let Some((export, _)) = args.output.documents.0.first().filter(|_| studies.len() != 1) {
        let (option, count) = (export.name, studies.len());
        return Err(
            UsageError(format!("--{option} takes one study, not {count}: each has a document of its own")).into()
        );
    }
    if args.dry_run {
        return args.output.check_plan();
    }
    args.output.check()?;
    let free = fixture::free_bytes(&args.dir)?;
    let needed = |study: &Experiment| study.disk_bytes(file_bytes(study, args.full));
    let largest = studies.iter().map(|study| (needed(study), study)).max_by_key(|(bytes, _)| *bytes);
    match largest {
        Some((needed, study)) if needed > free => Err(anyhow!(
            "{} writes a test file, and copies of it, of {} together at a time ({needed} bytes), and {} has {} ({free} bytes) \
             free; try another --dir",
            study.name,
            Bytes(needed),
            args.dir.display(),
            Bytes(free)
        )),
        _ => Ok(()),
    }
}

fn plan(study: &Experiment, args: &ReproduceArgs) -> Result<Exit> {
    let size = Some(file_bytes(study, args.full));
    let ((budget, budget_binds), rounds, seed, target) = (budget(study, args), args.rounds, args.seed, &args.dir);
    let planned = Planned {
        experiment: study,
        target,
        files: &[],
        size,
        budget,
        budget_binds,
        rounds,
        seed,
        counted: false,
        asked_for: false,
    };
    dry_run::show(&planned, &args.output)
}

fn reproduce(studies: &[Experiment], args: &ReproduceArgs) -> Result<Vec<Exit>> {
    let interrupted = measure::interrupt_flag()?;
    let store = output::store(&args.output);
    one_by_one(studies, &interrupted, |study| {
        let line = Line::new(args.output.quiet);
        let (size, keep_cache) = (Some(file_bytes(study, args.full)), subject::keeps_cache(study));
        let subject = Subject::open(&args.dir, size, args.seed, keep_cache, &interrupted, &line)?;
        let (budget, budget_binds) = budget(study, args);
        let how = RunSettings {
            budget_binds,
            rounds: args.rounds,
            may_set_up: args.allow_setup,
            timeline: args.timeline,
            store: store.as_ref(),
            ..RunSettings::new(args.seed, budget, &interrupted, &line)
        };
        let measured = measure::measure(study, &subject, &how)?;
        output::emit(&measured.record, &measured.findings, measured.saved.as_deref(), &args.output, args.details)?;
        Ok(measured.outcome())
    })
}

/// How each study ended; the last is an interruption where studies that follow are not made.
fn one_by_one(
    studies: &[Experiment],
    interrupted: &AtomicBool,
    mut make: impl FnMut(&Experiment) -> Result<Exit>,
) -> Result<Vec<Exit>> {
    let mut outcomes = Vec::new();
    for study in studies {
        if !outcomes.is_empty() {
            if interrupted.load(Ordering::Relaxed) {
                outcomes.push(Exit::Interrupted);
                break;
            }
            output::print("\n")?;
        }
        outcomes.push(make(study)?);
    }
    Ok(outcomes)
}

/// Of the study's own test file; every built-in study says it.
fn file_bytes(study: &Experiment, full: bool) -> u64 {
    study.study.as_ref().map_or(0, |it| if full { it.full_file_bytes.0 } else { it.file_bytes.0 })
}

fn budget(study: &Experiment, args: &ReproduceArgs) -> (Duration, bool) {
    let own = study.study.as_ref().and_then(|it| it.budget_s).map(|it| Duration::from_secs(it.into()));
    let usual = match () {
        () if args.full => FULL_BUDGET,
        () if args.quick => QUICK_BUDGET,
        () => own.unwrap_or(BUDGET),
    };
    measure::bounds(args.budget, args.rounds, usual)
}

/// Of several studies: stopped, or failed, or answered if any of them was.
fn together(outcomes: &[Exit]) -> Exit {
    let first = [Exit::Interrupted, Exit::EveryPassFailed, Exit::Answered];
    first.into_iter().find(|it| outcomes.contains(it)).unwrap_or(Exit::NothingDecided)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn studies_that_an_interruption_leaves_out_are_no_answer() {
        let studies: Vec<Experiment> = experiment::built_in(builtin::STUDIES).take(3).collect();
        let (interrupted, mut made) = (AtomicBool::new(false), 0);
        let outcomes = one_by_one(&studies, &interrupted, |_| {
            made += 1;
            interrupted.store(made == 2, Ordering::Relaxed);
            Ok(Exit::Answered)
        });
        assert_eq!(outcomes.unwrap(), [Exit::Answered, Exit::Answered, Exit::Interrupted]);
        assert_eq!(together(&[Exit::Answered, Exit::Interrupted]), Exit::Interrupted);
    }
}
