//! When to stop making rounds: on precision, never on a result.
//!
//! Stopping when a comparison "became significant" would find differences that are not there; stopping when its interval
//! is narrow enough does not look at which side it lies on.

use schema::Record;

use crate::{measured::Cell, stats};

/// Half the width of a narrow enough interval of a speedup near 1, as a share.
pub const PRECISION: f64 = 0.02;

/// An arm that is ten times slower need not be known to 2 %: a twentieth of the difference is enough, in logarithms.
const PRECISION_OF_DIFFERENCE: f64 = 0.05;

/// Whether more rounds would add nothing to a cell's comparison with its baseline, as far as precision goes.
pub fn is_precise(record: &Record, cell: usize) -> bool {
    let Some(arm) = of(record, cell) else { return true };
    let condition = record.cells[cell].condition;
    let baseline = record.cells.iter().position(|it| it.condition == condition && it.baseline && !it.control);
    let Some(baseline) = baseline.and_then(|index| of(record, index)) else { return true };
    let ratios: Vec<f64> = baseline
        .pairs(&arm)
        .into_iter()
        .filter_map(|(one, other)| Some(one.ns_per_op()? / other.ns_per_op()?))
        .collect();
    let Some(speedup) = stats::median_of_positive(ratios) else { return false };
    let half_width = (speedup.ci_high / speedup.ci_low).ln() / 2.0;
    half_width <= PRECISION.max(PRECISION_OF_DIFFERENCE * speedup.median.ln().abs())
}

fn of(record: &Record, cell: usize) -> Option<Cell<'_>> {
    let entry = record.cells.get(cell)?;
    Some(Cell::new(record, cell, entry, record.conditions.get(entry.condition)?))
}
