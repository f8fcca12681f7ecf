//! Which comparison decides the answer to a condition, so that it can be measured again at the size of the job.

use schema::Record;

use crate::{
    answers::map,
    claims,
    compare::{self, Compared},
    measured::Run,
};

/// The two cells, baseline and arm, that decide the answer to each of some conditions: the winner, or where the baseline
/// wins the arm that comes closest. Where the size of the job changes what an access of a mapping takes, also the fastest
/// mapping, and the fastest that is populated: random reads of pages in memory and stores take less each the more there
/// are, so do cold random reads that read around, and over the first third of a cold file a mapping lost by more than
/// over all of it. After them the pairs that claims are about.
pub fn headlines(record: &Record, conditions: &[usize]) -> Vec<[usize; 2]> {
    let run = Run::of(record, |cell| conditions.contains(&cell.condition));
    let mut pairs: Vec<[usize; 2]> = conditions.iter().flat_map(|&index| decisive(&run, index)).collect();
    for [than, arm] in claims::timed_pairs(&run) {
        if !pairs.contains(&[than, arm]) && !pairs.contains(&[arm, than]) {
            pairs.push([than, arm]);
        }
    }
    pairs
}

fn decisive(run: &Run, index: usize) -> Vec<[usize; 2]> {
    let compared = compare::against_baseline(run, index);
    let all: Vec<&Compared> = compared.iter().collect();
    let for_each_work = map::one_for_each_work(run.baseline(index), &all);
    let usable = || for_each_work.iter().copied().filter(|it| it.finding.speedup.is_some());
    let median = |it: &Compared| it.finding.speedup.map_or(0.0, |it| it.median);
    let closest = || usable().max_by(|a, b| median(a).total_cmp(&median(b)));
    let arm = map::fastest(run, &for_each_work).or_else(closest);
    let mapping = |populated: bool| {
        let is_it = move |it: &&Compared| {
            let arm = &it.arm.entry.arm;
            let is_cold = arm.maps() && it.arm.own.is_cold_scan() || compare::confirm::reads_around(it.arm);
            let depends = arm.depends_on_size(it.arm.own) || is_cold;
            depends && arm.maps_all_first() == populated
        };
        usable().filter(is_it).max_by(|a, b| median(a).total_cmp(&median(b)))
    };
    let mappings = [false, true].into_iter().filter_map(mapping);
    let mut pairs: Vec<[usize; 2]> = Vec::new();
    for it in arm.into_iter().chain(mappings) {
        let pair = [it.baseline.id.cell, it.arm.id.cell];
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    pairs
}
