//! What the index of saved runs keeps of a record.

use schema::{
    Labels, Record,
    findings::{CellFinding, Estimate, Status},
    saved::SavedCell,
};

/// The measured cells, with what tells whether those of two runs are the same one at two times. `run`, `started` and
/// `machine` are the index's.
pub fn saved_cells(record: &Record) -> Vec<SavedCell> {
    let is_entered = |it: &CellFinding| !it.control;
    let labels = Labels::of(record);
    let target = match record.target.made_here {
        // Its name is another one each time.
        true => record.target.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_string(),
        false => record.target.path.clone(),
    };
    let cell = |it: CellFinding| {
        let ns_per_op = it.ns_per_op.filter(|_| it.status == Status::Ok);
        let id = it.id.condition;
        let compare = id.comparison_index.and_then(|it| record.experiment.comparisons.get(it));
        let variant = compare.and_then(|it| it.variant);
        let cell = SavedCell {
            run: String::new(),
            started: String::new(),
            machine: String::new(),
            condition: labels.label(id.condition_index),
            arm: it.arm.name,
            workload: it.condition.workload,
            consume: it.condition.consume,
            state: it.condition.state,
            block_bytes: it.condition.block_bytes,
            // Of a cell that was not measured nothing is kept.
            ns_per_op: ns_per_op.unwrap_or(Estimate { median: 0.0, ci_low: 0.0, ci_high: 0.0 }),
            under: it.condition,
            own_condition: it.own_condition,
            target: target.clone(),
            comparison: [
                compare.and_then(|it| it.name.clone()).unwrap_or_default(),
                variant.map_or(String::new(), |it| it.words().to_string()),
            ],
            occurrence: 0,
        };
        (ns_per_op.is_some(), cell)
    };
    // Cells that are alike are numbered as they were entered: one that was not measured keeps its number, or the next one
    // would go on with its series.
    let mut cells: Vec<(bool, SavedCell)> = Vec::new();
    for (is_measured, entered) in crate::analyze(record).cells.into_iter().filter(is_entered).map(cell) {
        let occurrence = cells.iter().filter(|(_, it)| it.is_alike(&entered)).count() as u32;
        cells.push((is_measured, SavedCell { occurrence, ..entered }));
    }
    cells.into_iter().filter(|(is_measured, _)| *is_measured).map(|(_, cell)| cell).collect()
}
