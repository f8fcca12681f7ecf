//! Where the faster of two arms changes, and where it does not.

use schema::{Findings, Labels, Record, findings::Crossover};

use crate::words::crossover;

pub(super) fn lines(record: &Record, findings: &Findings, is_there: bool) -> Vec<String> {
    let (labels, questions) = (Labels::of(record), Labels::of_questions(record));
    let line = |it: &Crossover| {
        let conditions: Vec<usize> = it.cells.iter().map(|id| id.condition.condition_index).collect();
        let first = conditions.first().copied();
        // Of a curve over the number of blocks they all have one block size.
        if let Some(index) = first.filter(|&index| it.axis == "ops" && index < record.conditions.len()) {
            return format!("{}: {}", questions.label(index), crossover(it));
        }
        let also = Some(labels.also_of_all(&conditions)).filter(|it| !it.is_empty());
        let also = also.map_or_else(String::new, |also| format!(", {also}"));
        format!("{} {}{also}: {}", it.workload, it.state, crossover(it))
    };
    findings.crossovers.iter().filter(|it| it.changes == is_there).map(line).collect()
}
