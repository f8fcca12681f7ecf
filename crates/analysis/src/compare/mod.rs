//! Two arms under one condition, round by round.

pub(crate) mod confirm;
pub(crate) mod equal_work;
pub(crate) mod explanation;
pub(crate) mod noise;
mod rounds;
pub(crate) mod throttle;

use schema::{
    findings::{AnswerOf, Comparison, Verdict},
    reason::Reason,
};

use crate::{
    cells::{self, forks},
    measured::{Cell, Run},
    verdict::verdict,
};

use rounds::Rounds;

/// A comparison as it is listed, with the cells it came from.
pub(crate) struct Compared<'a, 'r> {
    pub(crate) baseline: &'r Cell<'a>,
    pub(crate) arm: &'r Cell<'a>,
    pub(crate) finding: Comparison,
}

/// Every arm against the baseline of its condition, in the order of the record. The A/A controls are not among them.
pub(crate) fn against_baselines<'a, 'r>(run: &'r Run<'a>) -> Vec<Compared<'a, 'r>> {
    (0..run.record.conditions.len()).flat_map(|condition| against_baseline(run, condition)).collect()
}

/// The same for one condition.
pub(crate) fn against_baseline<'a, 'r>(run: &'r Run<'a>, condition: usize) -> Vec<Compared<'a, 'r>> {
    let Some(baseline) = run.baseline(condition) else { return Vec::new() };
    let others = run.of_condition(condition).filter(|cell| !std::ptr::eq(*cell, baseline) && !cell.entry.control);
    others.map(|arm| Compared { baseline, arm, finding: compare(run, baseline, arm) }).collect()
}

pub(crate) fn compare(run: &Run, baseline: &Cell, arm: &Cell) -> Comparison {
    let Rounds { pairs, timed, work, speedup } = Rounds::of(run, baseline, arm);
    let (speedup, verdict, reason) = if !work.unequal.is_empty() {
        (None, Verdict::NotComparable, Some(equal_work::reason(run, baseline, arm, work.unequal)))
    } else if let Some(reason) = not_measured(run, baseline, arm, pairs, timed) {
        (speedup, Verdict::Undecided, Some(reason))
    } else {
        match verdict(speedup, timed) {
            Ok(verdict) => (speedup, verdict, None),
            // A run that was stopped would have made more rounds.
            Err(open) if run.record.was_stopped() => (speedup, Verdict::Undecided, Some(open.reason())),
            Err(open) => (speedup, Verdict::Undecided, Some(open.with_advice())),
        }
    };
    let mut warnings = work.warnings;
    let (split, undecided) = forks::judge(run, baseline, arm);
    warnings.extend(split);
    let depends_on_fork = undecided.is_some();
    let (verdict, reason) = match undecided {
        Some(why) if verdict.is_decided() => (Verdict::Undecided, Some(why)),
        _ => (verdict, reason),
    };
    let mut finding = Comparison {
        id: arm.id,
        baseline_cell: baseline.id.cell,
        condition: baseline.condition.clone(),
        baseline: baseline.arm().name.clone(),
        arm: arm.arm().name.clone(),
        explanation: (verdict != Verdict::NotComparable)
            .then(|| explanation::explanation(run, baseline, arm))
            .flatten(),
        speedup,
        pairs,
        verdict,
        reason,
        warnings,
        explained_share: None,
        answer_of: AnswerOf::Rounds,
        confirmed: None,
    };
    confirm::confirm(run, [baseline, arm], &mut finding, depends_on_fork);
    throttle::leave_open_what_came_free(run, [baseline, arm], &mut finding);
    confirm::leave_open_what_is_too_small(run.record, &mut finding);
    confirm::leave_open_what_a_part_says(run, [baseline, arm], &mut finding);
    // The controls are what noise is known by.
    if !arm.entry.control {
        noise::leave_open_what_is_noise(run, &mut finding);
    }
    finding
}

fn not_measured(run: &Run, baseline: &Cell, arm: &Cell, pairs: u32, timed: u32) -> Option<Reason> {
    if timed > 0 {
        return None;
    }
    let missing = [baseline, arm].into_iter().find(|cell| cell.passes.is_empty());
    Some(match missing {
        Some(cell) => no_valid_pass(run, cell),
        None if pairs > 0 => Reason::NoMeasurableTime,
        None => Reason::NoCommonRound,
    })
}

pub(crate) fn no_valid_pass(run: &Run, cell: &Cell) -> Reason {
    let (arm, reasons) = (run.name(cell.arm()).to_string(), cells::finding(run, cell).reasons);
    Reason::NoValidPass { arm, reasons }
}
