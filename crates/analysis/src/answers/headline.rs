//! Which comparison decides the answer to a condition, so that it can be measured again at the size of the job.

use schema::Record;

use super::map;
use crate::{
    compare::{self, Compared},
    measured::Run,
};

/// The two cells, baseline and arm, that decide the answer to each of some conditions: the winner, or where the baseline
/// wins the arm that comes closest.
pub fn headlines(record: &Record, conditions: &[usize]) -> Vec<[usize; 2]> {
    let run = Run::of(record, |cell| conditions.contains(&cell.condition));
    conditions.iter().filter_map(|&index| decisive(&run, index)).collect()
}

fn decisive(run: &Run, index: usize) -> Option<[usize; 2]> {
    let compared = compare::against_baseline(run, index);
    let all: Vec<&Compared> = compared.iter().collect();
    let for_each_work = map::one_for_each_work(run.baseline(index), &all);
    let usable = for_each_work.iter().copied().filter(|it| it.finding.speedup.is_some());
    let median = |it: &Compared| it.finding.speedup.map_or(0.0, |it| it.median);
    let closest = || usable.max_by(|a, b| median(a).total_cmp(&median(b)));
    let arm = map::fastest(run, &for_each_work).or_else(closest)?;
    Some([arm.baseline.id.cell, arm.arm.id.cell])
}
