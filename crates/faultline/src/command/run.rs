//! `faultline run`: the main job.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result};
use lab::{Hooks, Plan, Target, execute::Settings, fixture};
use schema::{Experiment, Record, State, findings::Status, leftover::LeftoverKind};

use crate::{
    cli::RunArgs,
    exit::{Outcome, Stopped},
    experiment, output,
    progress::Line,
};

pub fn run(args: &RunArgs) -> Result<Outcome> {
    let experiment = experiment::load(args)?;
    if args.dry_run {
        return dry_run(args, &experiment);
    }
    args.output.check()?;
    let interrupted = interrupt_flag()?;
    let store = output::store(&args.output);
    let line = Line::new(args.output.quiet);
    let size = args.size.map(|size| size.0);
    let subject = Subject::open(&args.target, size, args.seed, keeps_cache(&experiment), &interrupted, &line)?;

    let settings = Settings { seed: args.seed, budget: args.budget, rounds: args.rounds };
    let mut saved = None;
    let record = lab::execute(
        &experiment,
        &subject.target,
        &settings,
        &mut Hooks {
            interrupted: &interrupted,
            progress: &mut |progress| line.show(&progress.what, progress.share, Some(progress.left)),
            checkpoint: &mut |record| saved = output::save(store.as_ref(), record),
            settled: &analysis::settled,
        },
    );
    line.done();
    let findings = analysis::analyze(&record);
    output::emit(&record, &findings, saved.as_deref(), &args.output)?;
    Ok(outcome(&record, &findings, args))
}

fn outcome(record: &Record, findings: &schema::Findings, args: &RunArgs) -> Outcome {
    // Arms that were named, on the command line or in a file of the user's own, were asked for.
    let asked_for = !args.method.is_empty() || schema::builtin::find(&args.experiment).is_none();
    let lost = |arm: &str| findings.cells.iter().filter(|it| it.arm.name == arm).all(|it| it.status == Status::Skipped);
    if record.partial.is_some() {
        Outcome::Interrupted
    } else if asked_for && record.cells.iter().any(|cell| lost(&cell.arm.name)) {
        Outcome::Unavailable
    } else if findings.comparisons.iter().any(|it| it.verdict.is_decided()) {
        Outcome::Answered
    } else {
        Outcome::NothingDecided
    }
}

/// Set by Ctrl-C and termination; polled between passes and while waiting for a worker.
pub fn interrupt_flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        // A second signal ends the process at once; `faultline clean` removes what that leaves.
        signal_hook::flag::register_conditional_shutdown(signal, Outcome::Interrupted as i32, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .context("cannot watch for Ctrl-C")?;
    }
    Ok(flag)
}

/// State as-is means what it says: then nothing may evict the file on the way.
fn keeps_cache(experiment: &Experiment) -> bool {
    experiment.comparisons.iter().all(|compare| compare.state.iter().all(|&state| state == State::AsIs))
}

/// What is measured: the user's file, or one of our own in the user's directory, removed when this is dropped.
pub struct Subject {
    pub target: Target,
    _made: Option<Made>,
}

/// A test file and its entry in the ledger; first the one goes, then the other.
struct Made {
    fixture: Option<fixture::Fixture>,
    entry: Option<history::Entry>,
}

impl Drop for Made {
    fn drop(&mut self) {
        drop(self.fixture.take());
        // An entry too many does no harm: cleaning finds nothing where it points.
        let _ = self.entry.take().map(history::Entry::done);
    }
}

impl Subject {
    /// # Errors
    /// In words for people: no such file, no permission, no space, nothing that can be measured.
    pub fn open(
        path: &Path,
        size: Option<u64>,
        seed: u64,
        keep_cache: bool,
        interrupted: &Arc<AtomicBool>,
        line: &Line,
    ) -> Result<Subject> {
        if !path.is_dir() {
            return Ok(Subject { target: Target::open(path, false, keep_cache)?, _made: None });
        }
        let bytes = size.map_or_else(|| fixture::default_bytes(path), Ok)?;
        // Absolute, so that `faultline clean` finds it from anywhere.
        let folder = path.canonicalize().with_context(|| format!("cannot look at {}", path.display()))?;
        let name = fixture::Fixture::name_in(&folder);
        let entry = history::Ledger::open(None).and_then(|ledger| ledger.enter(LeftoverKind::File, &name));
        if entry.is_err() {
            output::warn(&format!(
                "if this run is killed outright, remove {} yourself: it cannot be noted anywhere",
                name.display()
            ));
        }
        let mut made = Made { fixture: None, entry: entry.ok() };
        // Without the note `faultline clean` still goes by the file's name.
        let note = || drop(made.entry.as_mut().map(history::Entry::created));
        let fixture = fixture::Fixture::make(name, bytes, seed, interrupted, note, |written| {
            let what = format!("writing a test file of {} in {}", schema::Bytes(bytes), path.display());
            line.show(&what, written as f64 / bytes as f64, None);
        });
        let fixture = match fixture {
            Err(_) if interrupted.load(Ordering::Relaxed) => {
                return Err(Stopped("interrupted while the test file was written; it was removed").into());
            }
            fixture => made.fixture.insert(fixture?),
        };
        Ok(Subject { target: Target::open(&fixture.path, true, keep_cache)?, _made: Some(made) })
    }
}

fn dry_run(args: &RunArgs, experiment: &Experiment) -> Result<Outcome> {
    let directory = args.target.is_dir();
    let (file_bytes, target) = match directory {
        true => (
            args.size.map_or_else(|| fixture::default_bytes(&args.target), |size| Ok(size.0))?,
            format!("a test file in {}, removed again", args.target.display()),
        ),
        // Opened and looked at; `keep_cache` evicts nothing.
        false => {
            let target = Target::open(&args.target, false, true)?;
            (target.bytes, target.path.clone())
        }
    };
    let memory = sys::mount::file_system(&args.target).is_ok_and(|it| it.is_memory());
    let plan = Plan::new(experiment, file_bytes, lab::plan::RANGE_BYTES_MAX, |state| match state {
        State::Cold if memory => {
            Err("files here live in the page cache and nowhere else, so they are never cold".into())
        }
        _ => Ok(()),
    });
    let conditions = plan.conditions.iter().enumerate().map(|(index, condition)| {
        let cells = || plan.cells.iter().filter(move |cell| cell.condition == index && !cell.control);
        report::PlannedCondition {
            label: condition.label(),
            arms: cells().filter(|it| it.skipped.is_none()).map(|it| it.arm.short_name().to_string()).collect(),
            skips: cells().filter_map(|it| Some((it.arm.short_name().to_string(), it.skipped.clone()?))).collect(),
        }
    });
    let planned = report::Plan {
        title: experiment.title.clone(),
        target,
        file_bytes,
        conditions: conditions.collect(),
        written_bytes: if directory { file_bytes } else { 0 },
        written_to: args.target.display().to_string(),
        free_bytes: directory.then(|| fixture::free_bytes(&args.target).ok()).flatten(),
        expected_s: args.budget.as_secs_f64(),
        seed: args.seed,
    };
    output::print(&report::plan(&planned, output::style(true)))?;
    Ok(Outcome::Answered)
}
