//! `faultline doctor`: what can be measured here.

use std::{path::Path, sync::atomic::Ordering, time::Duration};

use anyhow::Result;
use lab::scenario::Scene;
use schema::{Experiment, claims::ClaimOutlook};

use crate::{
    cli::DoctorArgs,
    dry_run::{self, Planned},
    exit::{Exit, Stopped, UsageError},
    experiment,
    measure::interrupt_flag,
    output,
    progress::Line,
    subject::{Noted, Subject},
};

/// Large enough for every alignment, small enough to be made anywhere.
const TEST_FILE_BYTES: u64 = 4 << 20;

pub fn run(args: &DoctorArgs) -> Result<Exit> {
    if !args.studies.is_empty() {
        return for_studies(args);
    }
    let interrupted = interrupt_flag()?;
    let store = history::Store::open(None);
    let opened = Subject::open(&args.target, Some(TEST_FILE_BYTES), 1, true, &interrupted, &Line::new(true));
    let subject = match opened {
        // What needs no file of one's own is shown all the same.
        Err(error) if args.target.is_dir() && !error.is::<Stopped>() => Err(format!("{error:#}")),
        opened => Ok(opened?),
    };
    let target = subject.as_ref().map(|it| &it.target).map_err(String::clone);
    let unnamed = (!args.target.is_dir()).then(|| dry_run::unnamed_beside(&args.target, TEST_FILE_BYTES));
    let tried_on = unnamed.as_ref().map_or(target.clone(), |it| it.as_ref().map_err(String::clone));
    let line = Line::new(false);
    let note = |what: &str, share: f64| draw(&line, what, share);
    let place = lab::doctor::Place { path: &args.target, target, tried_on, note: &note };
    let mut checks = lab::doctor::examine(place, &interrupted);
    line.done();
    if interrupted.load(Ordering::Relaxed) {
        return Err(Stopped("interrupted; what was not looked at is not shown").into());
    }
    checks.push(lab::doctor::Check {
        what: "saving runs".into(),
        found: match store.and_then(|it| it.has_room().map(|()| it)) {
            Ok(store) => Ok(format!("in {}", store.folder().display())),
            Err(error) => Err(format!("{error:#}")),
        },
    });
    let entry = |check: &lab::doctor::Check| {
        let (mark, text) = match &check.found {
            Ok(found) => ("ok", found),
            Err(reason) => ("--", reason),
        };
        (format!("{mark}  {}", check.what), text.clone())
    };
    let entries: Vec<(String, String)> = checks.iter().map(entry).collect();
    output::show(&report::listing(&entries, output::terminal_width()))?;
    Ok(Exit::Answered)
}

/// Each is a long piece of work, and is drawn at once.
fn draw(line: &Line, what: &str, share: f64) {
    line.done();
    line.show(&format!("looking at {what}"), share);
}

/// Which claims can be decided. What only a pass can show (an arm that is too slow, noise) is not known before a run.
fn for_studies(args: &DoctorArgs) -> Result<Exit> {
    let studies = experiment::named_studies(&args.studies)?;
    if !args.target.is_dir() {
        return Err(
            UsageError(format!("{} is no folder; studies make their files in one", args.target.display())).into()
        );
    }
    let interrupted = interrupt_flag()?;
    let subject = Subject::open(&args.target, Some(TEST_FILE_BYTES), 1, true, &interrupted, &Line::new(true))?;
    let (noted, may_set_up) = (Noted::default(), args.allow_setup);
    let note = |path: &Path| noted.note(path);
    let scene = Scene { target: &subject.target, interrupted: &interrupted, may_set_up, note: &note };
    let of = |study: &Experiment| -> Result<Vec<ClaimOutlook>, String> {
        let planned = Planned {
            experiment: study,
            target: &args.target,
            files: &[],
            size: study.study.as_ref().map(|it| it.file_bytes.0),
            budget: Duration::ZERO,
            budget_binds: true,
            rounds: None,
            seed: 1,
            counted: false,
            asked_for: false,
        };
        let plan = dry_run::plan_of(&planned).map_err(|error| format!("{error:#}"))?;
        let scenarios = lab::scenario::observe(study, &scene);
        Ok(analysis::outlook(&lab::execute::planned(study, &subject.target, plan, scenarios)))
    };
    let line = Line::new(false);
    let of_each = studies.iter().enumerate().map(|(at, study)| {
        draw(&line, &study.name, at as f64 / studies.len() as f64);
        (study, of(study))
    });
    let outlooks: Vec<(&Experiment, Result<Vec<ClaimOutlook>, String>)> = of_each.collect();
    line.done();
    if interrupted.load(Ordering::Relaxed) {
        return Err(Stopped("interrupted; nothing is shown").into());
    }
    output::show(&report::outlook(&outlooks, output::style(false)))?;
    Ok(Exit::Answered)
}
