//! How well a run's cells are predicted by its calibration alone. No cell of the run takes part in the fit, so all of
//! them are held out; a tenth, drawn by the seed, is what a reader is shown first.

use schema::unit_cost::{PredictedCell, Predictions, UnitCosts};

use crate::{measured::Run, stats::Sample};

use super::{
    account,
    model::{self, Counts},
};

/// One cell in so many is the one that is spoken of.
const HELD_OUT: usize = 10;

pub(crate) fn own_cells(run: &Run, costs: &UnitCosts) -> Predictions {
    let measured = run.cells.iter().enumerate().filter(|(_, cell)| !cell.entry.control);
    let mut cells: Vec<(u64, PredictedCell)> = measured
        .filter_map(|(index, cell)| {
            let measured_ns_per_op = account::measured_ns(cell)? / Some(cell.own.ops).filter(|&ops| ops > 0)? as f64;
            let terms = model::terms(costs, &account::pass(run, cell, Counts::default())).ok()?;
            let predicted_ns_per_op = terms.iter().map(|it| it.ns).sum::<f64>() / cell.own.ops as f64;
            let error = predicted_ns_per_op / measured_ns_per_op - 1.0;
            error.is_finite().then(|| {
                let cell = PredictedCell {
                    arm: cell.arm().name.clone(),
                    condition: cell.own.clone(),
                    predicted_ns_per_op,
                    measured_ns_per_op,
                    error,
                    held_out: false,
                };
                (mixed(run.record.seed, index as u64), cell)
            })
        })
        .collect();
    let mut drawn: Vec<u64> = cells.iter().map(|(lot, _)| *lot).collect();
    drawn.sort_unstable();
    drawn.truncate(cells.len().div_ceil(HELD_OUT));
    for (lot, cell) in &mut cells {
        cell.held_out = drawn.contains(lot);
    }
    let cells: Vec<PredictedCell> = cells.into_iter().map(|(_, cell)| cell).collect();
    let errors = |of: &dyn Fn(&PredictedCell) -> bool| {
        Sample::new(cells.iter().filter(|it| of(it)).map(|it| it.error.abs()).collect())
    };
    let (held_out, all) = (errors(&|it| it.held_out), errors(&|_| true));
    let worst = |sample: &Sample| sample.values().last().copied();
    Predictions {
        held_out_median: held_out.as_ref().map(Sample::median),
        held_out_worst: held_out.as_ref().and_then(worst),
        median: all.as_ref().map(Sample::median),
        worst: all.as_ref().and_then(worst),
        worst_have: in_common(&cells),
        cells,
    }
}

/// Of state, workload and arm, the one that most of the worst tenth have, and that is more than half again as frequent
/// among them as among all.
fn in_common(cells: &[PredictedCell]) -> Option<String> {
    let mut by_error: Vec<&PredictedCell> = cells.iter().collect();
    by_error.sort_by(|a, b| b.error.abs().total_cmp(&a.error.abs()));
    let worst = &by_error[..cells.len().div_ceil(HELD_OUT)];
    if worst.len() < 3 {
        return None;
    }
    let traits =
        |it: &PredictedCell| [it.condition.state.to_string(), it.condition.workload.to_string(), it.arm.clone()];
    let share = |of: &[&PredictedCell], wanted: &String| {
        of.iter().filter(|it| traits(it).contains(wanted)).count() as f64 / of.len() as f64
    };
    let candidates = worst.iter().flat_map(|it| traits(it));
    let frequent = candidates.filter(|it| share(worst, it) > 0.5 && share(worst, it) > 1.5 * share(&by_error, it));
    frequent.max_by(|a, b| share(worst, a).total_cmp(&share(worst, b)).then_with(|| b.cmp(a)))
}

/// The finaliser of SplitMix64: a lot for each cell that the seed decides.
fn mixed(seed: u64, index: u64) -> u64 {
    let mut word = seed.wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
