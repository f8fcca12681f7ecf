//! The noise floor: how far apart two measurements of one thing lie, from the A/A controls.

use schema::{
    State,
    findings::{Estimate, NoiseFloor, StateNoise, Verdict},
};

use crate::{
    compare::{LEAST_PAIRS, compare},
    measured::Run,
    stats::Sample,
};

/// Of all controls, and of those of each state alone.
pub(crate) fn floors(run: &Run) -> (NoiseFloor, Vec<StateNoise>) {
    let mut states: Vec<State> = Vec::new();
    for condition in &run.record.conditions {
        if !states.contains(&condition.state) {
            states.push(condition.state);
        }
    }
    let of_states = states.into_iter().map(|state| StateNoise { state, floor: floor(run, |it| it == state) });
    (floor(run, |_| true), of_states.filter(|it| it.floor.pairs > 0).collect())
}

fn floor(run: &Run, counts: impl Fn(State) -> bool) -> NoiseFloor {
    let controls = run.cells.iter().filter(|cell| cell.entry.control && counts(cell.condition.state));
    let speedups: Vec<Estimate> = controls
        .filter_map(|control| {
            let baseline = run.baseline(control.entry.condition)?;
            let comparison = compare(run, baseline, control);
            let measured = comparison.verdict != Verdict::NotComparable && comparison.pairs >= LEAST_PAIRS;
            comparison.speedup.filter(|_| measured)
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
fn half_width(speedups: &[Estimate]) -> Option<f64> {
    let distances = speedups.iter().map(|speedup| speedup.median.ln().abs()).collect();
    Some(Sample::new(distances)?.quantile(0.95).exp_m1()).filter(|width| width.is_finite())
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
    }
}
