//! Whether cells changed by more than a limit from one run to another. A cell that cannot be judged fails the gate like
//! one that changed too much: a regression must not pass by removing the cell that would show it.
//!
//! Two runs of one machine differ by 1.06 to 1.20 in time while their comparisons between arms agree. So an arm is judged
//! by its speedup over the baseline of its own run, in which that drift cancels. The baseline itself has nothing to be
//! held against: its time counts only over three runs or more on each side, whose spread shows how far runs drift.

use std::collections::BTreeMap;

use schema::{
    Findings, Labels, Record,
    findings::{CellFinding, Comparison, Estimate, Status},
    gate::{Basis, Breach, BreachCause, Change, Direction, Gate, NotJudged, NotJudgedCause, Presence, Threshold},
    reason::Reason,
};

use super::runs;
use crate::{
    compare::confirm,
    stats::{LEAST_RUNS, ratio_of_groups, ratio_of_medians},
    verdict::LEAST_PAIRS,
};

/// A run, with what follows from it.
pub type Analyzed<'a> = (&'a Record, &'a Findings);

/// The first side against each of the others. With three runs or more on both sides they are judged together; with fewer,
/// each run beside the one in the same place of the first side. `None` where the pattern means no cell of any run.
///
/// # Panics
/// When a side has no run.
pub fn gate(threshold: &Threshold, first: &[Analyzed], others: &[Vec<Analyzed>]) -> Option<Gate> {
    let mut gate = Gate {
        threshold: threshold.text.clone(),
        checked: 0,
        absolute: 0,
        unsure: 0,
        largest: None,
        breaches: Vec::new(),
        not_judged: Vec::new(),
        partial: BTreeMap::new(),
    };
    for (record, _) in first.iter().chain(others.iter().flatten()) {
        gate.partial.extend(record.partial.iter().map(|why| (record.id.clone(), why.clone())));
    }
    for other in others {
        if first.len().min(other.len()) >= LEAST_RUNS {
            sides(threshold, first, other, &mut gate);
        } else {
            for (second, first) in other.iter().zip(first.iter().cycle()) {
                sides(threshold, &[*first], &[*second], &mut gate);
            }
        }
    }
    (!gate.judged_nothing() || !gate.not_judged.is_empty()).then_some(gate)
}

/// One side against another.
fn sides(threshold: &Threshold, first: &[Analyzed], second: &[Analyzed], gate: &mut Gate) {
    let (anchor, other) = (first[0], second[0]);
    let [of_first, of_second] = [anchor, other].map(|(record, _)| Labels::of(record));
    // The same cells in the other runs of both sides, by their number in the first of all.
    let partners = |runs: &[Analyzed<'_>]| -> Vec<BTreeMap<usize, usize>> {
        let of_run = |run: &Analyzed| {
            let pairs = runs::pair_up(anchor, *run).into_iter();
            pairs.filter_map(|it| Some((it.first?.id.cell, it.second?.id.cell))).collect()
        };
        runs.iter().map(of_run).collect()
    };
    let (before, after) = (partners(&first[1..]), partners(second));
    for pair in runs::pair_up(anchor, other) {
        let Some(cell) = pair.any().filter(|it| threshold.cells.is_about(&it.arm.name, &it.condition)) else {
            continue;
        };
        let labels = if pair.first.is_some() { &of_first } else { &of_second };
        let place = Place {
            cell,
            label: labels.label(cell.id.condition.condition_index),
            run: second.iter().map(|(record, _)| record.id.as_str()).collect::<Vec<&str>>().join(", "),
        };
        let of_side = |runs: &[Analyzed<'_>], partners: &[BTreeMap<usize, usize>]| -> Vec<CellOfRun> {
            let number = |at: usize| partners[at].get(&cell.id.cell).copied();
            let seen = |(at, run): (usize, &Analyzed)| CellOfRun::of(*run, number(at));
            runs.iter().enumerate().map(seen).collect()
        };
        let (before, after) = match pair.first {
            Some(_) => {
                let own = CellOfRun::of(anchor, Some(cell.id.cell));
                let before = std::iter::once(own).chain(of_side(&first[1..], &before)).collect();
                (before, of_side(second, &after))
            }
            None => (vec![CellOfRun::of(anchor, None)], vec![CellOfRun::of(other, Some(cell.id.cell))]),
        };
        judge(threshold, &place, &before, &after, gate);
    }
}

/// Where a cell is, for what is said of it.
struct Place<'a> {
    cell: &'a CellFinding,
    label: String,
    run: String,
}

/// What one run has of a cell.
struct CellOfRun {
    presence: Presence,
    ns_per_op: Option<Estimate>,
    baseline: bool,
    /// The arm that it is held against in its run.
    versus: Option<String>,
    /// Over the baseline of its run, or why there is none.
    speedup: Result<Estimate, Reason>,
    /// Why its passes do not answer for the whole file.
    too_small: Option<Reason>,
}

impl CellOfRun {
    fn of((record, findings): Analyzed, number: Option<usize>) -> CellOfRun {
        let cell = number.and_then(|number| findings.cells.iter().find(|it| it.id.cell == number));
        let comparison = number.and_then(|number| findings.comparisons.iter().find(|it| it.id.cell == number));
        // Of the rounds in every run: one that was measured again at the size of the job is no regression of one that was
        // not.
        let of_rounds = |it: &Comparison| match &it.confirmed {
            Some(job) => job.rounds_speedup,
            None => it.speedup,
        };
        let usable = |it: &Comparison| of_rounds(it).filter(|_| it.pairs >= LEAST_PAIRS);
        let speedup = comparison
            .and_then(usable)
            .ok_or_else(|| comparison.and_then(|it| it.reason.clone()).unwrap_or(Reason::NotCompared));
        CellOfRun {
            presence: presence(cell),
            ns_per_op: cell.and_then(|it| it.ns_per_op),
            baseline: number.is_some_and(|number| record.cells[number].baseline),
            versus: comparison.map(|it| it.baseline.clone()),
            speedup,
            too_small: comparison.and_then(|it| confirm::too_small(record, it.id, &it.condition, 0)),
        }
    }
}

fn judge(threshold: &Threshold, place: &Place, before: &[CellOfRun], after: &[CellOfRun], gate: &mut Gate) {
    let (id, arm, condition) = (place.cell.id, place.cell.arm.name.clone(), place.cell.condition.clone());
    let (label, run) = (place.label.clone(), place.run.clone());
    let lacking = |side: &[CellOfRun]| {
        let lacks = side.iter().map(|it| &it.presence).find(|it| **it != Presence::Measured);
        lacks.cloned().unwrap_or(Presence::Measured)
    };
    let (first, second) = (lacking(before), lacking(after));
    if (&first, &second) != (&Presence::Measured, &Presence::Measured) {
        let cause = BreachCause::NotCompared { first, second };
        gate.breaches.push(Breach { id, run, arm, condition, label, cause });
        return;
    }
    let too_small = |side: &[CellOfRun]| side.iter().find_map(|it| it.too_small.clone());
    if let (Some(reason), None) | (None, Some(reason)) = (too_small(before), too_small(after)) {
        let cause = NotJudgedCause::TooSmall { reason };
        gate.not_judged.push(NotJudged { id, run, arm, condition, label, cause });
        return;
    }
    let Some((speedup, basis)) = change(before, after) else {
        let [first, second] = [before, after].map(no_baseline);
        // A cell that lost its baseline on one side alone fails, like one that is gone.
        if before.iter().chain(after).any(|it| it.baseline) || first.is_some() == second.is_some() {
            let [first, second] = [before, after].map(|it| it.len() as u32);
            let cause = NotJudgedCause::TooFewRuns { first, second, least: LEAST_RUNS as u32 };
            gate.not_judged.push(NotJudged { id, run, arm, condition, label, cause });
        } else {
            let [first, second] = [first, second].map(|it| it.unwrap_or(Presence::Measured));
            let cause = BreachCause::NotCompared { first, second };
            gate.breaches.push(Breach { id, run, arm, condition, label, cause });
        }
        return;
    };
    gate.checked += 1;
    gate.absolute += u32::from(matches!(basis, Basis::Absolute { .. }));
    // How many times more than before: above 1 it went in the forbidden direction.
    let forbidden = |speedup: f64| match threshold.forbids {
        Direction::Slower => 1.0 / speedup,
        Direction::Faster => speedup,
    };
    let limit = 1.0 + threshold.share;
    let (least, most) = match threshold.forbids {
        Direction::Slower => (forbidden(speedup.ci_high), forbidden(speedup.ci_low)),
        Direction::Faster => (forbidden(speedup.ci_low), forbidden(speedup.ci_high)),
    };
    // Only the whole interval beyond the limit is a breach: noise alone must not fail a build.
    if least > limit {
        let cause = BreachCause::Beyond { speedup, basis };
        let (run, arm, condition, label) = (run.clone(), arm.clone(), condition.clone(), label.clone());
        gate.breaches.push(Breach { id, run, arm, condition, label, cause });
    } else if most > limit {
        gate.unsure += 1;
    }
    if gate.largest.as_ref().is_none_or(|it| forbidden(speedup.median) > forbidden(it.speedup.median)) {
        gate.largest = Some(Change { id, run, arm, condition, label, speedup, basis });
    }
}

/// How many times faster the later side is, and by what that is judged; `None` where only its time could judge a cell and
/// there are too few runs.
fn change(before: &[CellOfRun], after: &[CellOfRun]) -> Option<(Estimate, Basis)> {
    let (first_runs, second_runs) = (before.len() as u32, after.len() as u32);
    let speedups =
        |side: &[CellOfRun]| side.iter().map(|it| it.speedup.as_ref().ok().copied()).collect::<Option<Vec<_>>>();
    let medians = |of: &[Estimate]| of.iter().map(|it| it.median).collect::<Vec<f64>>();
    let same_baseline = before.iter().chain(after).all(|it| it.versus == before[0].versus);
    if let (true, Some(before), Some(after)) = (same_baseline, speedups(before), speedups(after)) {
        let change = match (&before[..], &after[..]) {
            ([before], [after]) => ratio_of_medians(*after, *before),
            _ => ratio_of_groups(&medians(&after), &medians(&before)),
        };
        return change.map(|it| (it, Basis::AgainstBaseline { first_runs, second_runs }));
    }
    let times = |side: &[CellOfRun]| side.iter().map(|it| it.ns_per_op).collect::<Option<Vec<_>>>();
    let change = ratio_of_groups(&medians(&times(before)?), &medians(&times(after)?))?;
    Some((change, Basis::Absolute { first_runs, second_runs }))
}

fn no_baseline(side: &[CellOfRun]) -> Option<Presence> {
    let reason = side.iter().find_map(|it| it.speedup.as_ref().err())?;
    Some(Presence::NoBaseline { reason: reason.clone() })
}

fn presence(cell: Option<&CellFinding>) -> Presence {
    let Some(cell) = cell else { return Presence::Absent };
    let reasons = cell.reasons.clone();
    match cell.status {
        Status::Skipped => Presence::Skipped { reasons },
        Status::Invalid => Presence::Invalid { reasons },
        Status::Failed => Presence::Failed { reasons },
        Status::Ok if cell.ns_per_op.is_none() || cell.samples < LEAST_PAIRS => {
            Presence::TooFewPasses { passes: cell.samples, least: LEAST_PAIRS }
        }
        Status::Ok => Presence::Measured,
    }
}
