//! Unit costs (fitted from a calibration), the cost breakdown of a cell (its counts times unit costs), and predictions for
//! cells that were not measured.
//!
//! A breakdown uses what was counted of the cell and nothing of its time; a prediction not even its counts.

mod break_even;
mod breakdown;
pub(crate) mod cause;
mod device;
mod fills;
mod fit;
mod forecast;
mod miss;
mod model;
mod predict;
mod threads;

use schema::unit_cost::Costs;

use crate::{compare::Compared, measured::Run, stats::SortedValues};

use fills::Known;
pub use fills::{faults_on, fit_fills};
pub use fit::fit;
pub use forecast::{ForecastQuestion, forecast};
pub use miss::miss_cost;

/// All that follows from the record's calibration, if it has one; and the comparisons with their cost breakdowns in
/// words.
pub(crate) fn of_run(run: &Run, compared: &mut [Compared]) -> Option<Costs> {
    let calibration = run.record.calibration.value()?;
    let known = Known::of(calibration, run.page_bytes());
    let breakdowns: Vec<_> = run.cells.iter().map(|cell| breakdown::of_cell(run, &known, cell)).collect();
    let of = |wanted: &crate::measured::Cell| {
        let at = run.cells.iter().position(|cell| std::ptr::eq(cell, wanted))?;
        breakdowns[at].as_ref()
    };
    for compared in &mut *compared {
        breakdown::explain(run, compared, of(compared.baseline), of(compared.arm));
    }
    let shares = compared.iter().filter_map(|it| it.finding.explained_share).collect();
    let predictions = predict::own_cells(run, &known);
    let break_evens = break_even::all(run, &known, &predictions.cells, compared);
    let breakdowns = breakdowns.into_iter().flatten().collect();
    let explained_median = SortedValues::new(shares).map(|sample| sample.median());
    let Known { usual: unit_costs, fills } = known;
    Some(Costs { unit_costs, fills, breakdowns, predictions, explained_median, break_evens })
}
