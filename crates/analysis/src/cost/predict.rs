//! How well a run's cells are predicted by its calibration alone. No cell of the run takes part in the fit; those whose block
//! was calibrated are looked up all the same, and a prediction that several arms share is one. The others count, and a tenth of
//! them, drawn by the seed, is what a reader is shown first.

use std::collections::HashSet;

use schema::{
    Condition,
    unit_cost::{Calibration, NotCounted, PredictedCell, Predictions, Trait},
};

use crate::{measured::Run, stats::SortedValues};

use super::{
    breakdown,
    fills::Known,
    model::{self, PassCounts},
};

/// One cell in so many is the one that is spoken of.
const HELD_OUT: usize = 10;

pub(crate) fn own_cells(run: &Run, known: &Known) -> Predictions {
    let measured = run.cells.iter().enumerate().filter(|(_, cell)| !cell.entry.control);
    let mut seen: HashSet<(&Condition, u64)> = HashSet::new();
    let mut cells: Vec<(u64, PredictedCell)> = measured
        .filter_map(|(index, cell)| {
            let measured_ns_per_op = breakdown::measured_ns(cell)? / Some(cell.own.ops).filter(|&ops| ops > 0)? as f64;
            let (costs, _) = known.under(cell.own).ok()?;
            let components = model::components(costs, &breakdown::pass(run, cell, PassCounts::default())).ok()?;
            let predicted_ns_per_op = components.iter().map(|it| it.ns).sum::<f64>() / cell.own.ops as f64;
            let error = predicted_ns_per_op / measured_ns_per_op - 1.0;
            let calibration = run.record.calibration.value();
            error.is_finite().then(|| {
                let not_counted = if calibration.is_some_and(|it| is_calibrated(it, cell.own)) {
                    Some(NotCounted::Calibrated)
                } else if !seen.insert((cell.own, predicted_ns_per_op.to_bits())) {
                    Some(NotCounted::Repeated)
                } else {
                    None
                };
                let cell = PredictedCell {
                    id: cell.id,
                    arm: cell.arm().name.clone(),
                    condition: cell.own.clone(),
                    predicted_ns_per_op,
                    measured_ns_per_op,
                    error,
                    held_out: false,
                    not_counted,
                };
                (mixed(run.record.seed, index as u64), cell)
            })
        })
        .collect();
    let counts = |it: &PredictedCell| it.not_counted.is_none();
    let mut drawn: Vec<u64> = cells.iter().filter(|(_, it)| counts(it)).map(|(lot, _)| *lot).collect();
    drawn.sort_unstable();
    drawn.truncate(drawn.len().div_ceil(HELD_OUT));
    for (lot, cell) in &mut cells {
        cell.held_out = counts(cell) && drawn.contains(lot);
    }
    let cells: Vec<PredictedCell> = cells.into_iter().map(|(_, cell)| cell).collect();
    let errors = |of: &dyn Fn(&PredictedCell) -> bool| {
        SortedValues::new(cells.iter().filter(|it| of(it)).map(|it| it.error.abs()).collect())
    };
    let (held_out, all) = (errors(&|it| it.held_out), errors(&counts));
    let worst = |sample: &SortedValues| sample.values().last().copied();
    Predictions {
        held_out_median: held_out.as_ref().map(SortedValues::median),
        held_out_worst: held_out.as_ref().and_then(worst),
        median: all.as_ref().map(SortedValues::median),
        worst: all.as_ref().and_then(worst),
        worst_have: in_common(&cells),
        cells,
    }
}

/// Whether blocks of this size were calibrated in this order, after this fill or from the device.
fn is_calibrated(calibration: &Calibration, condition: &Condition) -> bool {
    calibration.points.iter().any(|it| {
        it.block_bytes == condition.block_bytes && it.workload == condition.workload && it.fill() == condition.fill()
    })
}

/// At least this many cells are examined for what they have in common.
const WORST: usize = 3;
/// At most this many common properties are reported.
const SHOWN: usize = 3;

/// What most of the worst tenth have and others have not: of state, workload, arm, block and sign, those that are more than
/// half again as frequent among them as among all, the most frequent first.
fn in_common(cells: &[PredictedCell]) -> Vec<Trait> {
    let mut by_error: Vec<&PredictedCell> = cells.iter().filter(|it| it.not_counted.is_none()).collect();
    by_error.sort_by(|a, b| b.error.abs().total_cmp(&a.error.abs()));
    let worst = &by_error[..by_error.len().div_ceil(HELD_OUT).max(WORST).min(by_error.len())];
    if worst.len() == by_error.len() {
        return Vec::new();
    }
    let traits = |it: &PredictedCell| {
        let of = &it.condition;
        let sign = if it.error < 0.0 { Trait::TooLow } else { Trait::TooHigh };
        let block = Trait::Block { bytes: of.block_bytes };
        [Trait::State(of.state), Trait::Workload(of.workload), Trait::Arm(it.arm.clone()), block, sign]
    };
    let share = |of: &[&PredictedCell], wanted: &Trait| {
        of.iter().filter(|it| traits(it).contains(wanted)).count() as f64 / of.len() as f64
    };
    let mut common: Vec<(f64, Trait)> = worst
        .iter()
        .flat_map(|it| traits(it))
        .map(|it| (share(worst, &it), it))
        .filter(|(of_worst, it)| *of_worst > 0.5 && *of_worst > 1.5 * share(&by_error, it))
        .collect();
    common.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    common.dedup();
    common.truncate(SHOWN);
    common.into_iter().map(|(_, it)| it).collect()
}

/// The finaliser of SplitMix64: a lot for each cell that the seed decides.
fn mixed(seed: u64, index: u64) -> u64 {
    let mut word = seed.wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use schema::{Condition, State, Workload};

    use super::*;

    fn cell(arm: &str, workload: Workload, state: State, block_bytes: u64, error: f64) -> PredictedCell {
        let condition = Condition { workload, block_bytes, state, ops: 10, ..Condition::plain(1 << 30) };
        let condition_id = schema::ConditionId { condition_index: 0, comparison_index: None };
        PredictedCell {
            id: schema::CellId { condition: condition_id, cell: 0 },
            arm: arm.into(),
            condition,
            predicted_ns_per_op: 1.0 + error,
            measured_ns_per_op: 1.0,
            error,
            held_out: false,
            not_counted: None,
        }
    }

    /// Four methods, two orders, two states, all well predicted.
    fn good() -> Vec<PredictedCell> {
        let mut cells = Vec::new();
        for arm in ["pread", "mmap", "direct", "read"] {
            for workload in [Workload::Random, Workload::Scan] {
                for state in [State::Cold, State::Mapped] {
                    cells.push(cell(arm, workload, state, 4096, 0.01));
                    cells.push(cell(arm, workload, state, 65_536, -0.01));
                }
            }
        }
        cells
    }

    #[test]
    fn what_the_worst_cells_share_is_told_and_what_all_share_is_not() {
        let mut cells = good();
        for arm in ["pread", "mmap", "direct", "read"] {
            cells.push(cell(arm, Workload::Random, State::Cold, 1 << 20, -0.4));
        }
        let expected = [Trait::Block { bytes: 1 << 20 }, Trait::State(State::Cold), Trait::TooLow];
        assert_eq!(in_common(&cells), expected);
    }

    #[test]
    fn worst_cells_of_all_kinds_have_nothing_in_common() {
        let mut cells = good();
        cells[0].error = 0.5;
        cells[9].error = -0.5;
        cells[18].error = 0.4;
        cells[31].error = -0.4;
        assert_eq!(in_common(&cells), []);
        assert_eq!(in_common(&cells[..3]), [], "all of them are no part of them");
        assert_eq!(in_common(&[]), []);
    }
}
