//! What the ways of filling the page cache do to mappings: the same comparisons, fill by fill.

use schema::{
    Condition, Fill, Reading, Record, State, Workload,
    findings::{CellFinding, Comparison, FillFinding, FilledComparison, Refill},
    record::FilledRange,
};

/// Nothing where a run knows one fill alone.
pub(crate) fn all(record: &Record, cells: &[CellFinding], comparisons: &[Comparison]) -> Vec<FillFinding> {
    let mut fills: Vec<Fill> = comparisons.iter().filter_map(|it| it.condition.fill()).collect();
    fills.sort_unstable();
    fills.dedup();
    if fills.len() < 2 {
        return Vec::new();
    }
    let with_rows = |fill: &Fill| {
        let of_fill = |it: &&Comparison| it.condition.fill() == Some(*fill);
        let made = comparisons.iter().filter(of_fill).find_map(|it| made_for(record, &it.condition))?;
        Some((*fill, made, rows(*fill, cells, comparisons)))
    };
    let rows: Vec<(Fill, &FilledRange, Vec<FilledComparison>)> = fills.iter().filter_map(with_rows).collect();
    let finding = |(fill, made, own): &(Fill, &FilledRange, Vec<FilledComparison>)| FillFinding {
        fill: *fill,
        elapsed_ns: made.elapsed_ns,
        range_bytes: made.range.bytes,
        folio_orders: made.folio_orders.clone(),
        pages_per_fault: made.pages_per_fault,
        comparisons: own.clone(),
        refill: rows
            .iter()
            // A copy is another file, and what was found cannot be made.
            .filter(|(other, ..)| other != fill && other.copied_by().is_none() && *other != Fill::Found)
            .flat_map(|(other, made, others)| refills(cells, own, *other, made.elapsed_ns, others))
            .min_by(|a, b| a.ops.total_cmp(&b.ops)),
    };
    rows.iter().map(finding).collect()
}

/// The fill that the rounds of a condition were measured after: of those that cover its range the smallest, because passes
/// at the size of the job had a larger one made.
pub(crate) fn made_for<'a>(record: &'a Record, condition: &Condition) -> Option<&'a FilledRange> {
    let (fill, range) = (condition.fill()?, condition.range);
    let made = record.fills.iter().filter(|it| it.fill.unwrap_or(Fill::Sequential) == fill && it.range.covers(&range));
    made.min_by_key(|it| it.range.bytes)
}

/// The plainest mapping of each condition of a fill: the first that was entered.
fn rows(fill: Fill, cells: &[CellFinding], comparisons: &[Comparison]) -> Vec<FilledComparison> {
    let mut rows: Vec<FilledComparison> = Vec::new();
    for comparison in comparisons.iter().filter(|it| it.condition.fill() == Some(fill)) {
        let Some(cell) = cells.iter().find(|it| it.id == comparison.id).filter(|it| it.arm.maps()) else { continue };
        let first = rows.iter().all(|it| it.id.condition != comparison.id.condition);
        if first && cell.condition.state == State::Cached {
            rows.push(FilledComparison {
                id: comparison.id,
                condition: comparison.condition.clone(),
                baseline: comparison.baseline.clone(),
                arm: comparison.arm.clone(),
                speedup: comparison.speedup,
                verdict: comparison.verdict,
                answer_of: comparison.answer_of,
                minor_faults: cell.minor_faults.clone(),
                system_ns_per_fault: system_ns_per_fault(cell),
            });
        }
    }
    rows
}

fn system_ns_per_fault(cell: &CellFinding) -> Option<f64> {
    let (Reading::Value(faults), Reading::Value(system)) = (&cell.minor_faults, &cell.system_ns_per_op) else {
        return None;
    };
    // With few faults, the start of the pass is what the kernel's time went into.
    (*faults >= 100.0).then(|| system * cell.condition.ops as f64 / faults)
}

/// What another fill would bring random reads: the time that it saves on each, and how many pay for making it.
fn refills(
    cells: &[CellFinding],
    now: &[FilledComparison],
    fill: Fill,
    elapsed_ns: u64,
    then: &[FilledComparison],
) -> Vec<Refill> {
    let is_alike = |a: &Condition, b: &Condition| {
        let b = Condition { fill: a.fill, ..b.clone() };
        *a == b && a.workload == Workload::Random
    };
    let ns = |of: &dyn Fn(&CellFinding) -> bool| {
        cells
            .iter()
            .filter(|it| of(it) && !it.control)
            .filter_map(|it| it.ns_per_op.map(|it| it.median))
            .reduce(f64::min)
    };
    now.iter()
        .filter_map(|now| {
            let then = then.iter().find(|it| is_alike(&now.condition, &it.condition))?;
            let now_ns =
                ns(&|it| it.id.condition == now.id.condition && [&now.baseline, &now.arm].contains(&&it.arm.name))?;
            let then_ns = ns(&|it| it.id == then.id)?;
            // Less than the margin of all verdicts is no saving.
            (now_ns > then_ns * (1.0 + crate::MARGIN)).then(|| Refill {
                fill,
                elapsed_ns,
                condition: now.condition.clone(),
                arm: then.arm.clone(),
                now_ns_per_op: now_ns,
                then_ns_per_op: then_ns,
                ops: elapsed_ns as f64 / (now_ns - then_ns),
            })
        })
        .collect()
}
