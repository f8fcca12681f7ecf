//! What the index of saved runs keeps of a record.

use schema::{
    Labels, Record,
    findings::{CellFinding, Status},
    saved::SavedCell,
};

/// The measured cells, with what tells whether those of two runs are the same one at two times. `run`, `started` and
/// `machine` are the index's.
pub fn saved_cells(record: &Record) -> Vec<SavedCell> {
    let measured = |it: &CellFinding| it.status == Status::Ok && !it.control;
    let labels = Labels::of(record);
    let target = match record.target.made_here {
        // Its name is another one each time.
        true => record.target.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_string(),
        false => record.target.path.clone(),
    };
    let cell = |it: CellFinding| {
        let ns_per_op = it.ns_per_op?;
        let id = it.id.condition;
        let compare = id.comparison_index.and_then(|it| record.experiment.comparisons.get(it));
        let variant = compare.and_then(|it| it.variant);
        Some(SavedCell {
            run: String::new(),
            started: String::new(),
            machine: String::new(),
            condition: labels.label(id.condition_index),
            arm: it.arm.name,
            workload: it.condition.workload,
            consume: it.condition.consume,
            state: it.condition.state,
            block_bytes: it.condition.block_bytes,
            ns_per_op,
            under: it.condition,
            own_condition: it.own_condition,
            target: target.clone(),
            comparison: [
                compare.and_then(|it| it.name.clone()).unwrap_or_default(),
                variant.map_or(String::new(), |it| it.words().to_string()),
            ],
            occurrence: 0,
        })
    };
    crate::analyze(record).cells.into_iter().filter(measured).filter_map(cell).collect()
}
