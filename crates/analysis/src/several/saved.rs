//! What the index of saved runs keeps of a record.

use std::collections::BTreeMap;

use schema::{
    Labels, Record, State,
    experiment::SizeAsked,
    findings::{CellFinding, Status},
    machine::Origin,
    record::{Files, Resident},
    saved::{Place, SavedCell, SavedMachine, Series},
};

use super::runs::{self, Did};

/// The measured cells, with the key by which cells of two runs are recognised as the same. `run`, `started` and
/// what names the machine are the index's.
pub fn saved_cells(record: &Record) -> Vec<SavedCell> {
    let findings = crate::analyze(record);
    let cells: Vec<CellFinding> = findings.cells.into_iter().filter(|it| !it.control).collect();
    let labels = Labels::of(record);
    let target = &target(record);
    // Cells that are alike are numbered as they were entered: one that was not measured keeps its number, or the next one
    // would go on with its series.
    let facts: Vec<Facts> = cells.iter().map(|it| Facts::of(record, it)).collect();
    let series: Vec<Series> =
        cells.iter().zip(&facts).map(|(it, facts)| of_cell(record, target, findings.found, it, facts)).collect();
    let numbered = cells.iter().zip(&series).enumerate().filter_map(|(at, (cell, own))| {
        let occurrence = series[..at].iter().filter(|it| *it == own).count() as u32;
        Some(SavedCell {
            run: String::new(),
            started: String::new(),
            partial: None,
            on: SavedMachine { machine: String::new(), key: None, hardware: None, origin: Origin::Own },
            condition: labels.label(cell.id.condition.condition_index),
            arm: cell.arm.name.clone(),
            command: own.command.clone(),
            workload: cell.condition.workload,
            consume: cell.condition.consume,
            state: cell.condition.state,
            block_bytes: cell.condition.block_bytes,
            ns_per_op: cell.ns_per_op.filter(|_| cell.status == Status::Ok)?,
            under: cell.condition.clone(),
            own_condition: cell.own_condition.clone(),
            target: target.to_string(),
            place: own.place.clone(),
            comparison: own.comparison.map(String::from),
            occurrence,
            asked: own.asked,
            found: own.found,
            found_pages_per_fault: own.found_pages_per_fault,
            runtime: own.runtime.clone(),
            bytes_per_block: own.work.bytes_per_block,
            checksums: own.work.checksums.clone(),
        })
    });
    numbered.collect()
}

/// What was measured. Of several files the names in an order of their own, since any order means the same files.
fn target(record: &Record) -> String {
    let target = &record.target;
    match &target.files {
        Some(files) => {
            let mut named = files.named.clone();
            named.sort_by(|a, b| a.path.cmp(&b.path));
            Files { named, ..files.clone() }.described()
        }
        None => target.folder_of_test_file().unwrap_or(&target.path).to_string(),
    }
}

/// What a cell was measured with and on, as far as neither its arm nor its condition says it.
struct Facts {
    runtime: BTreeMap<String, String>,
    did: Did,
}

impl Facts {
    fn of(record: &Record, cell: &CellFinding) -> Facts {
        // `python 3.11.7` is a `python`. Where it lies and how it was started do not make it another one.
        let is_its = |name: &str| name.split_whitespace().next() == Some(cell.arm.runtime.as_str());
        let of_runtime = record.runtimes.iter().filter(|(name, _)| is_its(name));
        let runtime = of_runtime.map(|(name, facts)| (name.clone(), facts.get("vm").cloned().unwrap_or_default()));
        Facts { runtime: runtime.collect(), did: Did::of(record, cell) }
    }
}

fn of_cell<'a>(
    record: &'a Record,
    target: &'a str,
    found: Option<Resident>,
    cell: &'a CellFinding,
    facts: &'a Facts,
) -> Series<'a> {
    let compare = cell.id.condition.comparison_index.and_then(|it| record.experiment.comparisons.get(it));
    let name = compare.and_then(|it| it.name.as_deref()).unwrap_or_default();
    let variant = compare.and_then(|it| it.variant).map_or("", |it| it.words());
    Series {
        arm: &cell.arm.name,
        command: cell.arm.command(),
        target,
        place: Place::of(&record.target),
        comparison: [name, variant],
        asked: compare.map_or_else(SizeAsked::default, |it| it.size_asked_of(&cell.condition, &cell.arm.name)),
        found: found.filter(|_| cell.does().state == State::AsFound),
        found_pages_per_fault: runs::found_folios(record, cell),
        runtime: &facts.runtime,
        under: &cell.condition,
        work: facts.did.work(cell.does()),
    }
}
