//! Whether cells changed by more than a limit from one run to another. A cell that cannot be judged fails the gate like
//! one that changed too much: a regression must not pass by removing the cell that would show it.
//!
//! Two runs of one machine differ by 1.06 to 1.20 in time while their comparisons between arms agree. So an arm is judged
//! by its speedup over the baseline of its own run, in which that drift cancels. The baseline itself has nothing to be
//! held against: its time counts only over three runs or more on each side, whose spread shows how far runs drift.

use std::{cell::OnceCell, collections::BTreeMap};

use schema::{
    Findings, Labels, Record,
    across::PassSize,
    findings::{CellFinding, Comparison, Estimate, Status},
    gate::{Basis, Breach, BreachCause, Change, Direction, Gate, NotJudged, NotJudgedCause, Presence, Threshold},
    reason::Reason,
};

use super::runs;
use crate::{
    compare::{confirm, noise, throttle},
    measured::Run,
    stats::{LEAST_RUNS, SortedValues, ratio_of_groups, ratio_of_medians},
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
        other_sizes: 0,
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
    let runs: Vec<Analyzed> = first.iter().chain(second).copied().collect();
    let labels: Vec<Labels> = runs.iter().map(|(record, _)| Labels::of(record)).collect();
    // Worked out once, and only where a gate may be breached.
    let measured: Vec<OnceCell<Run>> = runs.iter().map(|_| OnceCell::new()).collect();
    let run = second.iter().map(|(record, _)| record.id.as_str()).collect::<Vec<&str>>().join(", ");
    for of_runs in cells_of_all(&runs) {
        let Some((at, cell)) = of_runs.iter().enumerate().find_map(|(at, it)| Some((at, (*it)?))) else { continue };
        if !threshold.cells.is_about(&cell.arm.name, &cell.condition) {
            continue;
        }
        let place = Place { cell, label: labels[at].of_cell(runs[at].0, cell.id.cell), run: run.clone() };
        let seen: Vec<CellOfRun> = runs.iter().zip(&of_runs).map(|(run, cell)| CellOfRun::of(*run, *cell)).collect();
        let (before, after) = seen.split_at(first.len());
        judge(threshold, &place, before, after, || noise_of_two(&runs, &measured, &of_runs), gate);
    }
}

/// Every cell that any of the runs has, with what it is in each of them, in the order of the first run that has it.
fn cells_of_all<'a>(runs: &[Analyzed<'a>]) -> Vec<Vec<Option<&'a CellFinding>>> {
    let is_it = |one: Option<&CellFinding>, other: &CellFinding| one.is_some_and(|it| it.id.cell == other.id.cell);
    let mut all: Vec<Vec<Option<&CellFinding>>> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        for (earlier, known) in runs[..at].iter().enumerate() {
            for pair in runs::pair_up(*known, *run) {
                let (Some(known), Some(own)) = (pair.first, pair.second) else { continue };
                let is_taken = all.iter().any(|it| is_it(it[at], own));
                let same = all.iter_mut().find(|it| is_it(it[earlier], known) && it[at].is_none());
                if let Some(same) = same.filter(|_| !is_taken) {
                    same[at] = Some(own);
                }
            }
        }
        for own in run.1.cells.iter().filter(|it| !it.control) {
            if !all.iter().any(|it| is_it(it[at], own)) {
                let mut new = vec![None; runs.len()];
                new[at] = Some(own);
                all.push(new);
            }
        }
    }
    all
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
    size: Option<PassSize>,
    /// Why its passes do not answer for the whole file.
    too_small: Option<Reason>,
    /// That it did a part of the job, where what it takes for a block, or its baseline, depends on how much it does.
    part: Option<Reason>,
    /// The pages that one fault mapped of the file as it was found, if that is what its passes began with.
    found_folios: Option<f64>,
    /// Of a replay, the program's own work in it and what a pass takes.
    own_work: Option<[f64; 2]>,
    /// Why what it is to its baseline is the throttle's doing.
    came_free: Option<Reason>,
    /// How many times its own limit it got.
    beyond: Option<(f64, Reason)>,
}

impl CellOfRun {
    fn of((record, findings): Analyzed, cell: Option<&CellFinding>) -> CellOfRun {
        let comparison = cell.and_then(|cell| findings.comparisons.iter().find(|it| it.id.cell == cell.id.cell));
        // Of the rounds in every run: one that was measured again at the size of the job is no regression of one that was
        // not.
        let of_rounds = |it: &Comparison| match &it.confirmed {
            Some(job) => job.rounds_speedup,
            None => it.speedup,
        };
        let usable = |it: &Comparison| of_rounds(it).filter(|_| it.pairs >= LEAST_PAIRS);
        let why_not = |it: &Comparison| {
            let too_few = Reason::TooFewRounds { rounds: it.pairs, least: LEAST_PAIRS };
            it.reason.clone().unwrap_or(too_few)
        };
        let speedup = comparison.and_then(usable).ok_or_else(|| comparison.map_or(Reason::NoBaseline, why_not));
        CellOfRun {
            presence: presence(cell),
            ns_per_op: cell.and_then(|it| it.ns_per_op),
            baseline: cell.is_some_and(|it| record.cells[it.id.cell].baseline),
            versus: comparison.map(|it| it.baseline.clone()),
            speedup,
            size: cell.map(|it| PassSize::of(it.does())),
            // Of every cell: a baseline has no comparison of its own.
            part: [cell.map(|it| it.id.cell), comparison.map(|it| it.baseline_cell)].into_iter().flatten().find_map(
                |at| {
                    let cell = findings.cells.iter().find(|it| it.id.cell == at)?;
                    let part = confirm::other_than_job(record, &record.cells[at], cell.does());
                    let finds = cell.arm.maps() && cell.arm.finds_its_pages(cell.does());
                    part.filter(|_| finds || cell.arm.depends_on_size(cell.does()))
                },
            ),
            found_folios: cell.and_then(|it| runs::found_folios(record, it)),
            own_work: cell.and_then(runs::own_work),
            came_free: comparison.and_then(throttle::reason_of_rounds).cloned(),
            beyond: cell.filter(|it| it.does().storage.is_some()).and_then(|it| throttle::beyond(record, it.id.cell)),
            // Of every cell: a baseline has no comparison of its own.
            too_small: cell.and_then(|cell| {
                let both = [Some(cell.id.cell), comparison.map(|it| it.baseline_cell)];
                both.into_iter().flatten().find_map(|it| confirm::too_small(record, it, 0))
            }),
        }
    }
}

fn judge(
    threshold: &Threshold,
    place: &Place,
    before: &[CellOfRun],
    after: &[CellOfRun],
    noise: impl Fn() -> f64,
    gate: &mut Gate,
) {
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
    let all = || before.iter().chain(after);
    let came_free = all().find_map(|it| it.came_free.clone()).map(|reason| NotJudgedCause::ThrottleExceeded { reason });
    let too_small = || all().filter_map(|it| it.too_small.as_ref());
    let are_mixed = too_small().count() < before.len() + after.len();
    let of_two_sizes =
        too_small().next().filter(|_| are_mixed).map(|it| NotJudgedCause::TooSmall { reason: it.clone() });
    let parts = || all().filter(|it| it.part.is_some());
    let smallest = || parts().min_by_key(|it| it.size.map(|it| it.ops)).and_then(|it| it.part.clone());
    let of_part = are_of_other_sizes(before, after).then(smallest).flatten();
    let of_few = of_part.map(|reason| NotJudgedCause::OtherSizes { reason });
    let found: Vec<f64> = all().filter_map(|it| it.found_folios).collect();
    let of_folios = runs::other_folios(&found).map(|reason| NotJudgedCause::OtherFolios { reason });
    let works: Vec<[f64; 2]> = all().filter_map(|it| it.own_work).collect();
    let of_work = runs::other_own_work(&works).map(|reason| NotJudgedCause::OtherOwnWork { reason });
    if let Some(cause) = came_free.or(of_folios).or(of_work).or(of_two_sizes).or(of_few) {
        gate.not_judged.push(NotJudged { id, run, arm, condition, label, cause });
        return;
    }
    // A cell that lost its baseline fails, like one that is gone, however many runs could judge it by its time; one that had none
    // before is judged by that, if it can be.
    let [first, second] = [before, after].map(no_baseline);
    let is_baseline = all().any(|it| it.baseline);
    let change = change(before, after);
    let is_lost = first.is_none() && second.is_some();
    if !is_baseline && (is_lost || change.is_none() && first.is_some() != second.is_some()) {
        let [first, second] = [first, second].map(|it| it.unwrap_or(Presence::Measured));
        let cause = BreachCause::NotCompared { first, second };
        gate.breaches.push(Breach { id, run, arm, condition, label, cause });
        return;
    }
    let too_few = || {
        let [first, second] = [before, after].map(|it| it.len() as u32);
        NotJudgedCause::TooFewRuns { first, second, least: LEAST_RUNS as u32, reason: refused(before, after) }
    };
    let judged = change.ok_or_else(too_few).and_then(|it| match free_in_time(before, after) {
        Some(reason) if matches!(it.1, Basis::Absolute { .. }) => Err(NotJudgedCause::ThrottleExceeded { reason }),
        _ => Ok(it),
    });
    let (speedup, basis) = match judged {
        Ok(it) => it,
        Err(cause) => {
            gate.not_judged.push(NotJudged { id, run, arm, condition, label, cause });
            return;
        }
    };
    gate.checked += 1;
    gate.other_sizes += u32::from(are_of_other_sizes(before, after));
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
    // Only the whole interval beyond the limit is a breach, and beyond what one arm measured twice differs by: noise alone must
    // not fail a build.
    if least > limit && least > noise() {
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

/// How many times as much a cell of two runs may differ by noise. Of several runs a side, the interval has what they differ by.
fn noise_of_two<'a>(runs: &[Analyzed<'a>], measured: &[OnceCell<Run<'a>>], of_runs: &[Option<&CellFinding>]) -> f64 {
    if runs.len() > 2 {
        return 1.0;
    }
    let each = runs.iter().zip(measured).zip(of_runs);
    let widths = each.filter_map(|(((record, _), measured), cell)| {
        let run = measured.get_or_init(|| Run::new(record));
        noise::width_under(run, (*cell)?.does())
    });
    widths.map(f64::ln_1p).fold(0.0, f64::hypot).exp()
}

/// Why the times of two sides differ by what an I/O throttle let through free in one of them.
fn free_in_time(before: &[CellOfRun], after: &[CellOfRun]) -> Option<Reason> {
    let shares = [before, after].map(|side| {
        let shares = side.iter().map(|it| it.beyond.as_ref().map_or(1.0, |it| it.0)).collect();
        SortedValues::new(shares).map_or(1.0, |it| it.median())
    });
    let reasons = before.iter().chain(after).filter_map(|it| it.beyond.as_ref());
    let most = reasons.max_by(|a, b| a.0.total_cmp(&b.0))?;
    throttle::are_apart(shares).then(|| most.1.clone())
}

/// Whether the planner made passes of one side far larger than those of the other: what a block costs may depend on that.
fn are_of_other_sizes(before: &[CellOfRun], after: &[CellOfRun]) -> bool {
    let sizes = |side: &[CellOfRun]| side.iter().filter_map(|it| it.size).collect::<Vec<PassSize>>();
    let after = sizes(after);
    sizes(before).iter().any(|it| after.iter().any(|other| it.is_far_from(other)))
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

/// Why a cell that has a baseline in each of the runs is not judged by what it is to that.
fn refused(before: &[CellOfRun], after: &[CellOfRun]) -> Option<Reason> {
    let versus = before.iter().chain(after).map(|it| it.versus.clone()).collect::<Option<Vec<String>>>()?;
    let without = before.iter().chain(after).find_map(|it| it.speedup.as_ref().err().cloned());
    let other = || {
        let second = versus.iter().find(|it| **it != versus[0])?.clone();
        Some(Reason::OtherBaselines { first: versus[0].clone(), second })
    };
    without.or_else(other).or(Some(Reason::NotFinite))
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
