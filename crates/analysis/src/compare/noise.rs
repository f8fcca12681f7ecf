//! The noise floor: how far apart two measurements of one thing lie, from the A/A controls.

use schema::{
    Beside, Condition, Durability, State,
    findings::{Comparison, Estimate, NoiseFloor, StateNoise, Verdict},
    reason::{Noisy, Reason},
};

use super::rounds::Rounds;
use crate::{
    measured::{Cell, NoiseKind, Run},
    stats::SortedValues,
    verdict::{LEAST_PAIRS, MARGIN},
};

/// Of all controls.
pub(crate) fn of_all(run: &Run) -> NoiseFloor {
    floor(run, |_| true)
}

/// Of the controls of each state that some started from.
pub(crate) fn of_states<'r>(run: &'r Run) -> &'r [StateNoise] {
    run.floors.get_or_init(|| {
        let mut states: Vec<State> = Vec::new();
        for control in controls(run) {
            if !states.contains(&control.own.state) {
                states.push(control.own.state);
            }
        }
        let of_states = states.into_iter().map(|state| StateNoise { state, floor: floor(run, |it| it.state == state) });
        of_states.filter(|it| it.floor.pairs > 0).collect()
    })
}

/// A sync waits for the device, a throttle leaves nothing for its fast and slow minutes to change, and a second thread takes
/// time of the first: what is noisy about one of them says nothing about another.
fn kind(condition: &Condition) -> NoiseKind {
    (condition.state, condition.durability, condition.storage.is_some(), condition.beside)
}

/// With fewer controls, chance decides what they differ by.
const LEAST_CONTROLS: u32 = 3;

/// Of the controls of each kind of conditions that has enough.
fn of_kinds<'r>(run: &'r Run) -> &'r [(NoiseKind, NoiseFloor)] {
    run.floors_by_kind.get_or_init(|| {
        let mut kinds: Vec<NoiseKind> = Vec::new();
        for control in controls(run) {
            if !kinds.contains(&kind(control.own)) {
                kinds.push(kind(control.own));
            }
        }
        let floors = kinds.into_iter().map(|of| (of, floor(run, |it| kind(it) == of)));
        floors.filter(|(_, it)| it.pairs >= LEAST_CONTROLS).collect()
    })
}

/// What two measurements of one arm differ by says nothing about two arms. A device has fast and slow minutes, which the
/// interval of a few rounds does not show: cold scans that were decided by less were contradicted by the same program a
/// minute later. An answer that was measured twice, by rounds and at the size of the job, stays.
pub(crate) fn leave_open_what_is_noise(run: &Run, finding: &mut Comparison) {
    let (Some(width), Some(speedup)) = (width(run, finding), finding.speedup) else { return };
    let is_beyond = match finding.verdict {
        Verdict::Faster => speedup.ci_low > 1.0 + width,
        Verdict::Slower => speedup.ci_high < 1.0 / (1.0 + width),
        Verdict::Same | Verdict::Undecided | Verdict::NotComparable => true,
    };
    if !is_beyond {
        let reason = is_within(run, false, speedup, &[of_baseline(run, finding)], width);
        finding.verdict = Verdict::Undecided;
        finding.reason = Some(reason);
    }
}

/// Why an arm may be faster although its interval ends where it is not: one arm measured twice differs by as much.
pub(crate) fn leaves_open(run: &Run, finding: &Comparison) -> Option<Reason> {
    let speedup = finding.speedup.filter(|it| it.ci_high <= 1.0 + MARGIN)?;
    let width = width(run, finding).filter(|it| *it > MARGIN)?;
    Some(is_within(run, false, speedup, &[of_baseline(run, finding)], width))
}

/// Why what lies within the noise floor of these conditions is undecided: a speedup, or a ratio of two conditions.
pub(crate) fn is_within(run: &Run, ratio: bool, estimate: Estimate, conditions: &[&Condition], width: f64) -> Reason {
    let mut under: Vec<Noisy> = conditions.iter().filter_map(|it| floor_under(run, it)).map(|it| it.0).collect();
    under.dedup();
    let Estimate { ci_low, ci_high, .. } = estimate;
    Reason::WithinNoise { ratio, ci_low, ci_high, under, times: 1.0 + width }
}

/// What an answer must lie beyond: what is known of passes like those of its baseline.
pub(crate) fn width(run: &Run, finding: &Comparison) -> Option<f64> {
    width_under(run, of_baseline(run, finding)).filter(|_| !finding.was_decided_twice())
}

/// What the baseline of a comparison does, and its control with it.
fn of_baseline<'r>(run: &'r Run, finding: &'r Comparison) -> &'r Condition {
    let baseline = run.cells.iter().find(|it| it.id.cell == finding.baseline_cell);
    baseline.map_or(&finding.condition, |it| it.own)
}

/// How much one arm measured twice differs by, where it does what a condition says.
pub(crate) fn width_under(run: &Run, condition: &Condition) -> Option<f64> {
    floor_under(run, condition)?.1.half_width
}

/// What is known of passes of a condition's kind, or else of all that start from its state; and what it was measured under.
fn floor_under<'r>(run: &'r Run, condition: &Condition) -> Option<(Noisy, &'r NoiseFloor)> {
    let (state, durability, throttled, beside) = kind(condition);
    let of_kind = of_kinds(run).iter().find(|(it, _)| *it == kind(condition));
    let of_kind = of_kind.map(|(_, floor)| (Noisy { state, durability, throttled, beside }, floor));
    let of_any = Noisy { state, durability: Durability::None, throttled: false, beside: Beside::Nothing };
    of_kind.or_else(|| Some((of_any, &of_states(run).iter().find(|it| it.state == state)?.floor)))
}

fn controls<'r, 'a>(run: &'r Run<'a>) -> impl Iterator<Item = &'r Cell<'a>> {
    run.cells.iter().filter(|cell| cell.entry.control)
}

/// Of the controls that do what counts: an arm with settings of its own, and its control, start from its own state.
fn floor(run: &Run, counts: impl Fn(&Condition) -> bool) -> NoiseFloor {
    let speedups: Vec<Estimate> = controls(run)
        .filter(|control| counts(control.own))
        .filter_map(|control| {
            let baseline = run.baseline(control.entry.condition)?;
            let rounds = Rounds::of(run, baseline, control);
            rounds.speedup.filter(|_| rounds.work.unequal.is_empty() && rounds.pairs >= LEAST_PAIRS)
        })
        .collect();
    NoiseFloor {
        half_width: half_width(&speedups),
        pairs: speedups.len() as u32,
        rejected: speedups.iter().filter(|it| it.ci_low > 1.0 || it.ci_high < 1.0).count() as u32,
    }
}

/// Which of two equal arms is called the baseline is arbitrary, so every control counts both ways round; the middle 95 %
/// of such a symmetric set ends where 95 % of the absolute log ratios lie within.
///
/// The median of few controls may lie at 1 by chance: each of them then counts for what its interval leaves open.
fn half_width(speedups: &[Estimate]) -> Option<f64> {
    let are_few = speedups.len() < LEAST_CONTROLS as usize;
    let open = |it: &Estimate| if are_few { (it.ci_high / it.ci_low).ln() / 2.0 } else { 0.0 };
    let distances = speedups.iter().map(|it| it.median.ln().abs().max(open(it))).collect();
    Some(SortedValues::new(distances)?.quantile(0.95).exp_m1()).filter(|width| width.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_counts_the_same_both_ways_round() {
        let control = |median: f64| Estimate { median, ci_low: median, ci_high: median };
        let close = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 1e-12;
        assert!(close(half_width(&[control(1.03)]), 0.03));
        assert!(close(half_width(&[control(1.0 / 1.03)]), 0.03));
        assert!(close(half_width(&[control(1.0), control(1.02)]), 1.02f64.powf(0.95) - 1.0));
        assert_eq!(half_width(&[]), None);
        let open = Estimate { median: 1.0, ci_low: 0.97, ci_high: 1.03 };
        assert!(close(half_width(&[open]), (1.03f64 / 0.97).sqrt() - 1.0), "its median is at 1 by chance");
        assert!(close(half_width(&[open; 3]), 0.0));
    }
}
