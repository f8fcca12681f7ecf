//! From a checked experiment and an opened subject to a saved record with its findings: what `run` and `reproduce` share.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use anyhow::{Context, Result};
use lab::{Hooks, execute::Settings, trace::TraceFile};
use schema::{
    Experiment, Findings, Record, Skip,
    advice::{Advice, AdviceReason},
    advised::Advised,
    observation::Means,
    record::{self, Ending, Outcome, Sample},
};

use crate::{
    exit::{Exit, Stopped},
    output,
    progress::Line,
    replay,
    subject::{Noted, Subject},
};

/// Of a run whose user says no other.
pub const BUDGET: Duration = Duration::from_secs(60);

/// How to measure it.
pub struct RunSettings<'a> {
    pub seed: u64,
    pub budget: Duration,
    /// Whether the budget ends the run; it does not where only rounds were asked for.
    pub budget_binds: bool,
    pub rounds: Option<u32>,
    pub counted: bool,
    pub may_set_up: bool,
    /// The user typed the commands of the experiment, or said that they may be executed.
    pub may_execute: bool,
    /// How commands are watched, if they are.
    pub observed: Option<&'static [Means]>,
    pub timeline: Option<u32>,
    pub store: Option<&'a history::Store>,
    /// Those that the experiment replays.
    pub traces: &'a [TraceFile],
    /// What was recorded of a command that is advised about.
    pub advised: Option<&'a Advised>,
    pub interrupted: &'a AtomicBool,
    pub line: &'a Line,
}

impl<'a> RunSettings<'a> {
    /// Within a budget, not saved, with nothing beside the timed passes.
    pub fn new(seed: u64, budget: Duration, interrupted: &'a AtomicBool, line: &'a Line) -> RunSettings<'a> {
        RunSettings {
            seed,
            budget,
            budget_binds: true,
            rounds: None,
            counted: false,
            may_set_up: false,
            may_execute: false,
            observed: None,
            timeline: None,
            store: None,
            traces: &[],
            advised: None,
            interrupted,
            line,
        }
    }
}

/// The budget, and whether it ends the run: rounds that are asked for without one are all made.
pub fn bounds(budget: Option<Duration>, rounds: Option<u32>, default: Duration) -> (Duration, bool) {
    (budget.unwrap_or(default), budget.is_some() || rounds.is_none())
}

/// The result.
pub struct RunResult {
    pub record: Record,
    pub findings: Findings,
    /// Where the record lies, unless it could not be saved.
    pub saved: Option<PathBuf>,
}

/// # Errors
/// A trace does not fit the file, or it was stopped before there was anything to keep.
pub fn measure(experiment: &Experiment, subject: &Subject, how: &RunSettings) -> Result<RunResult> {
    replay::fits(experiment, &subject.target.path, subject.target.bytes)?;
    let noted = Noted::default();
    let settings = Settings {
        seed: how.seed,
        budget: how.budget,
        budget_binds: how.budget_binds,
        rounds: how.rounds,
        counted: how.counted,
        may_set_up: how.may_set_up,
        may_execute: how.may_execute,
        observed: how.observed,
        traces: how.traces,
        advised: how.advised,
        timeline: how.timeline,
        note: &|path| noted.note(path),
        kept_key: &|| how.store.and_then(|it| it.machine_key(true)),
    };
    let mut saved = None;
    let record = lab::execute(
        experiment,
        &subject.target,
        &settings,
        &mut Hooks {
            interrupted: how.interrupted,
            progress: &mut |progress, record| how.line.show_run(progress, record),
            checkpoint: &mut |record| saved = output::save(how.store, record),
            is_precise: &analysis::is_precise,
            headlines: &analysis::headlines,
            is_open: &analysis::is_open,
        },
    );
    how.line.done();
    if record.samples.is_empty() && record.ending == Some(Ending::Interrupted) {
        // A run without a pass must not become the last one.
        saved.inspect(|path| drop(std::fs::remove_file(path)));
        return Err(Stopped("interrupted before the first pass; nothing was measured, and nothing is saved").into());
    }
    let findings = analysis::analyze(&record);
    Ok(RunResult { record, findings, saved })
}

impl RunResult {
    /// How it ended, whatever was asked: stopped, failed, or with or without an answer.
    pub fn outcome(&self) -> Exit {
        let failed = |sample: &record::Sample| matches!(sample.outcome, record::Outcome::Failed { .. });
        let RunResult { record, findings, .. } = self;
        match record.ending {
            Some(Ending::Interrupted) => return Exit::Interrupted,
            Some(Ending::TargetChanged) => return Exit::EveryPassFailed,
            Some(Ending::BudgetSpent) | None => {}
        }
        let is_lost = |it: &AdviceReason| matches!(it, AdviceReason::NotMeasured { .. });
        let is_lost = |it: &Advice| it.because.iter().any(is_lost);
        if !record.samples.is_empty() && record.samples.iter().all(failed) {
            Exit::EveryPassFailed
        } else if findings.is_decided() {
            Exit::Answered
        } else if record.advised.is_some() && has_failed(record) && findings.advice.iter().all(is_lost) {
            Exit::EveryPassFailed
        } else {
            Exit::NothingDecided
        }
    }
}

/// Whether the program, or the replay of what it did, could not be made. A start that cannot be had, a pass whose state did not
/// hold, or one that there was no time for, is no failure.
fn has_failed(record: &Record) -> bool {
    let samples = || record.samples.iter();
    let counts = |it: &&Sample| matches!(it.outcome, Outcome::Ok { .. });
    let has_passed = |cell: usize| samples().filter(counts).any(|it| it.cell == cell);
    let is_of_program = |cell: &record::Cell| cell.baseline;
    record.cells.iter().any(|it| is_of_program(it) && matches!(it.skipped, Some(Skip::Failed(_))))
        || samples().any(|it| {
            let is_meant = record.cells.get(it.cell).is_some_and(is_of_program);
            is_meant && matches!(it.outcome, Outcome::Failed { .. }) && !has_passed(it.cell)
        })
        || (!record.samples.is_empty() && !samples().any(|it| counts(&it)))
}

/// Set by Ctrl-C and termination; polled between passes and while waiting for a worker.
pub fn interrupt_flag() -> Result<Arc<AtomicBool>> {
    use signal_hook::flag::{register, register_conditional_shutdown};
    let [flag, again] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        // The flag comes first: a signal that arrives between two of these calls would be lost otherwise. A second signal
        // ends the process at once; `faultline clean` removes what that leaves. Actions run in the order of registration.
        register(signal, Arc::clone(&flag))
            .and_then(|_| register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&again)))
            .and_then(|_| register(signal, Arc::clone(&again)))
            .context("cannot install the handler for Ctrl-C")?;
    }
    Ok(flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_is_unavailable_when_it_never_ran_and_neither_time_nor_its_state_was_the_only_reason() {
        let cell = |arm: &str, condition, skipped: Option<&Skip>| record::Cell {
            arm: arm.parse().unwrap(),
            condition,
            own_condition: None,
            baseline: false,
            control: false,
            skipped: skipped.cloned(),
        };
        let slow =
            Skip::TooSlow { ns_per_block: 3e6, blocks: 8, twice: false, around_ns: 0.0, pass_ns: 24e6, budgets: 2.0 };
        let gone = Skip::Unavailable("io_uring is not allowed here".into());
        let never_cold = Skip::Impossible("a file in memory is never cold".into());
        let (slow, gone, never_cold) = (Some(&slow), Some(&gone), Some(&never_cold));
        let lacks = |of_uring: &[Option<&Skip>]| {
            let others = [cell("read", 0, None), cell("mmap", 0, slow)];
            let cells = of_uring.iter().enumerate().map(|(index, skipped)| cell("uring", index, *skipped));
            !record::missing_arms(&cells.chain(others).collect::<Vec<record::Cell>>()).is_empty()
        };
        assert!(lacks(&[gone]) && lacks(&[gone, gone]) && lacks(&[slow, gone]) && lacks(&[never_cold, gone]));
        assert!(!lacks(&[never_cold]) && !lacks(&[never_cold, slow]) && !lacks(&[never_cold, None]));
        assert!(!lacks(&[gone, None]) && !lacks(&[slow, slow]) && !lacks(&[None]) && !lacks(&[]));
    }

    #[test]
    fn a_pass_whose_state_did_not_hold_is_no_failure_beside_others() {
        let mut planted = planted::Planting::default().plant().record;
        let made = planted.samples.iter().find(|it| matches!(it.outcome, Outcome::Ok { .. })).unwrap().outcome.clone();
        planted.samples.iter_mut().for_each(|it| it.outcome = made.clone());
        let with = |change: &dyn Fn(&mut Sample)| {
            let mut record = planted.clone();
            record.cells.iter_mut().for_each(|it| it.skipped = None);
            record.samples.iter_mut().for_each(change);
            has_failed(&record)
        };
        let invalid = || Outcome::Invalid { reason: "23 pages left the page cache".to_string().into() };
        let failed = || Outcome::Failed { reason: "no".into() };
        let of_first = |it: &Sample| it.cell == planted.samples[0].cell;
        assert!(!with(&|_| {}));
        assert!(!with(&|it| if of_first(it) {
            it.outcome = invalid()
        }));
        assert!(with(&|it| it.outcome = invalid()), "nothing counts");
        let without = Record { samples: Vec::new(), ..planted.clone() };
        let cells = without
            .cells
            .iter()
            .cloned()
            .map(|it| schema::record::Cell { skipped: Some(Skip::Untried), ..it })
            .collect();
        assert!(!has_failed(&Record { cells, ..without }), "there was no time for any");
        assert!(with(&|it| if of_first(it) {
            it.outcome = failed()
        }));
        assert!(
            !with(&|it| if of_first(it) && it.round > 0 {
                it.outcome = failed()
            }),
            "one of its passes was made"
        );
    }

    #[test]
    fn the_budget_ends_a_run_unless_only_rounds_were_asked_for() {
        let (own, default) = (Duration::from_secs(3), BUDGET);
        assert_eq!(bounds(None, None, default), (default, true));
        assert_eq!(bounds(Some(own), None, default), (own, true));
        assert_eq!(bounds(Some(own), Some(7), default), (own, true));
        assert_eq!(bounds(None, Some(7), default), (default, false));
    }
}
