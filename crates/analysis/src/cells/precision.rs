//! When to stop making rounds: on precision, never on a result.
//!
//! Stopping when a comparison "became significant" would find differences that are not there; stopping when its interval
//! is narrow enough does not look at which side it lies on.

use schema::{
    Record,
    experiment::{Claim, EXPECTED_RATIO, Metric},
    findings::Estimate,
    record,
};

use super::metric;
use crate::{
    gains::{Gains, OwnWork, Series},
    measured::{Cell, Run},
    stats,
    verdict::MARGIN,
};

/// Half the width of a narrow enough interval of a speedup near 1, as a share.
pub const PRECISION: f64 = 0.02;

/// An arm that is ten times slower need not be known to 2 %: a twentieth of the difference is enough, in logarithms.
const PRECISION_OF_DIFFERENCE: f64 = 0.05;

/// Whether more rounds would add nothing to a cell's comparison with its baseline, as far as precision goes, nor to the
/// claims about it.
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
    is_narrow(speedup) && claims_are_precise(record, condition, cell) && gain_is_precise(record, &baseline, &arm)
}

/// Of replays, whether more rounds would add nothing to what the program gains by the arm.
fn gain_is_precise(record: &Record, recorded: &Cell, arm: &Cell) -> bool {
    let is_program = |it: &record::Cell| {
        it.arm.is_command() && it.baseline && !it.control && record.conditions[it.condition].start() == arm.own.start()
    };
    let program = record.cells.iter().position(is_program).filter(|_| record.advised.is_some());
    let Some(program) = program.and_then(|it| of(record, it)).filter(|_| !arm.arm().is_command()) else { return true };
    let [program, recorded, arm] = [&program, recorded, arm].map(|it| Series::of([it]));
    Gains::of([&program, &recorded, &arm], OwnWork::default()).is_none_or(|it| is_narrow(it.program))
}

fn is_narrow(speedup: Estimate) -> bool {
    half_width(speedup) <= PRECISION.max(PRECISION_OF_DIFFERENCE * speedup.median.ln().abs())
}

/// On the logarithmic scale.
fn half_width(estimate: Estimate) -> f64 {
    (estimate.ci_high / estimate.ci_low).ln() / 2.0
}

/// Of the claims that hold this arm against another one, or against itself under another condition. Ticks are coarse: they are to tell the published ratio from none.
fn claims_are_precise(record: &Record, condition: usize, cell: usize) -> bool {
    let experiment = &record.experiment;
    let origin = record.origins.get(condition).and_then(|it| experiment.comparisons.get(*it));
    let asked = |claim: &&Claim| {
        claim.selections().any(|(name, only)| {
            (name.is_none() || name == origin.and_then(|it| it.name.as_deref()))
                && only.selects(origin, &record.conditions[condition])
        })
    };
    let mut asked = experiment.claims.iter().filter(|it| it.than.is_some() || it.is_across()).filter(asked).peekable();
    if asked.peek().is_none() {
        return true;
    }
    let run = Run::of(record, |it| it.condition == condition);
    let entered = |written: &Option<String>| {
        let name = experiment.arm_name(written.as_deref()?)?;
        run.cells.iter().find(|it| it.arm().name == name && !it.entry.control)
    };
    asked.all(|claim| {
        let (arm, than) = (entered(&claim.arm), entered(&claim.than));
        let Some(arm) = arm.filter(|_| than.is_some() == claim.than.is_some()) else { return true };
        let cells = || [Some(arm), than].into_iter().flatten();
        if cells().any(|it| it.entry.skipped.is_some()) || !cells().any(|it| it.id.cell == cell) {
            return true;
        }
        let estimate = match than {
            Some(than) => metric::times_lower(&run, claim.metric, than, arm).estimate,
            None => metric::per_byte(&run, claim.metric, arm).estimate,
        };
        let told = claim.ratio.unwrap_or(EXPECTED_RATIO).ln().abs() - MARGIN.ln_1p();
        match claim.metric {
            // More rounds do not help.
            it if it.is_part_of_cpu() && cells().any(|it| it.why_undivided().is_some()) => true,
            Metric::User | Metric::System | Metric::Cpu => {
                estimate.is_some_and(|it| half_width(it) <= (told / 2.0).max(PRECISION))
            }
            // Without a ceiling more rounds do not help.
            Metric::CeilingShare if estimate.is_none() => true,
            // The ratio is of two conditions, each of which adds to its interval.
            it if than.is_none() && (metric::is_time_of_passes(it) || it == Metric::CeilingShare) => {
                estimate.is_some_and(|it| half_width(it) <= (told / 4.0).max(PRECISION))
            }
            // So they do to a ratio of two ratios, which may be close to 1 however far these are from it.
            it if claim.is_across() && (metric::is_time_of_passes(it) || it == Metric::CeilingShare) => {
                estimate.is_some_and(|it| half_width(it) <= PRECISION)
            }
            it if metric::is_time_of_passes(it) || it == Metric::CeilingShare => estimate.is_some_and(is_narrow),
            // Counts are what they are.
            _ => true,
        }
    })
}

fn of(record: &Record, cell: usize) -> Option<Cell<'_>> {
    let entry = record.cells.get(cell)?;
    Some(Cell::new(record, cell, entry, record.conditions.get(entry.condition)?))
}
