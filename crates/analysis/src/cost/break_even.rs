//! From how many random reads of a cold file on a mapping is the faster way.
//!
//! A pass of the rounds makes some hundred reads, and the job may make a million. By pread(2) each of them waits for the
//! device; a mapping without advice reads megabytes ahead with each miss, until all of the file is in memory and nothing
//! misses any more. So the answer turns with the number of reads, and where it turns follows from unit costs, corrected by
//! how far they are off for the passes that were measured.

use std::collections::BTreeMap;

use schema::{
    Condition, Span, State, Workload,
    findings::{Estimate, Verdict},
    unit_cost::{BreakEven, BreakEvenMeasured, BreakEvenPoint, CostComponent, PredictedCell, Quantity},
};

use crate::{
    compare::{Compared, confirm},
    measured::{Cell, Run},
    stats,
};

use super::{fills::Known, forecast::Basis};

/// Fewer reads are no job.
const READS_LEAST: f64 = 10.0;
/// Of each page or block of the file, so many reads; more are a job in memory.
const READS_OF_EACH: f64 = 16.0;
/// Of the requests of the baseline, what an arm makes at most that reads more ahead.
const FEWER_REQUESTS: f64 = 0.9;
/// Between two numbers of reads that are looked at.
const STEP: f64 = 1.1;
/// The numbers of reads that are shown, beside the file's pages.
const SHOWN: [u64; 3] = [100, 10_000, 1_000_000];

/// Of each question about cold random reads the arm that is expected to overtake the baseline first, if one does.
pub(crate) fn all(run: &Run, known: &Known, own: &[PredictedCell], compared: &[Compared]) -> Vec<BreakEven> {
    let costs = Costs { run, basis: Basis::new(run, known, own), compared };
    let asked = |index: usize| run.baseline(index).filter(|it| is_asked(it.own) && is_of_file(run, index));
    // Several numbers of reads are points of one answer, and several comparisons with one baseline have its arms.
    let mut questions: Vec<Vec<(usize, &Cell)>> = Vec::new();
    for (index, baseline) in (0..run.record.conditions.len()).filter_map(|it| Some((it, asked(it)?))) {
        let is_it = |(_, it): &(usize, &Cell)| it.arm() == baseline.arm() && is_alike(it.own, baseline.own);
        match questions.iter_mut().find(|it| is_it(&it[0])) {
            Some(same) => same.push((index, baseline)),
            None => questions.push(vec![(index, baseline)]),
        }
    }
    let of_condition = |&(index, baseline): &(usize, &Cell)| {
        let arms = run.of_condition(index).filter(|it| !it.entry.baseline && !it.entry.control);
        // An arm that does something else is not compared with it.
        let arms = arms.filter(|it| it.own == baseline.own && !costs.is_refused(it));
        arms.filter_map(|arm| break_even(&costs, baseline, arm)).collect::<Vec<BreakEven>>()
    };
    let answer = |question: Vec<(usize, &Cell)>| {
        let each = question.iter().flat_map(of_condition);
        each.min_by(|a, b| a.reads.median.total_cmp(&b.reads.median))
    };
    questions.into_iter().filter_map(answer).collect()
}

/// A range that was written down is the question; the file is not.
fn is_of_file(run: &Run, condition: usize) -> bool {
    run.origin(condition).is_none_or(|it| it.range.is_none())
}

fn is_asked(condition: &Condition) -> bool {
    condition.state == State::Cold && condition.workload == Workload::Random
}

/// Whether two passes differ in nothing but how much they read, and where.
fn is_alike(a: &Condition, b: &Condition) -> bool {
    a.without_size() == b.without_size()
}

fn break_even(costs: &Costs, baseline: &Cell, arm: &Cell) -> Option<BreakEven> {
    let file_bytes = baseline.own.file_bytes;
    let [of_baseline, of_arm] = [baseline, arm].map(|it| costs.seen(it, [baseline, arm]));
    let seconds = |of: &Cell, seen: &MeasuredPoints, reads: f64| {
        let range = Span { offset: 0, bytes: file_bytes };
        let seconds = costs.seconds(of, &Condition { ops: reads as u64, range, ..of.own.clone() })?;
        Some(seconds * seen.off(reads).at.exp())
    };
    let places = file_bytes as f64 / (baseline.own.block_bytes.max(costs.run.page_bytes())) as f64;
    let most = places * READS_OF_EACH;
    // A mapping that reads in no more with each miss (`mmap+random`) is ahead by its hits alone, if at all, by less than predictions are
    // off: it was said to overtake `pread` from some 500 reads on, and lost by 1.25 with 131,072 (so did a C program).
    let requests = |of: &Cell| costs.requests(of, places as u64);
    if requests(arm)? > FEWER_REQUESTS * requests(baseline)? {
        return None;
    }
    // How many times faster the arm is expected to be with so many reads, as a logarithm, and by how much that may be off.
    let models = Off::of(&costs.expected(baseline)?, &costs.expected(arm)?);
    let mut ratios: Vec<(f64, f64, Off)> = Vec::new();
    let mut reads = READS_LEAST;
    while reads <= most {
        let ratio = seconds(baseline, &of_baseline, reads)? / seconds(arm, &of_arm, reads)?;
        ratios.push((reads, ratio.ln(), models.and(&of_baseline.off(reads), &of_arm.off(reads))));
        reads *= STEP;
    }
    let first = |is_above: &dyn Fn(f64, &Off) -> bool| ratios.iter().find(|it| is_above(it.1, &it.2)).map(|it| it.0);
    // An arm that is ahead from the first read on, or never, has no such number.
    let median = first(&|log, _| log > 0.0).filter(|it| *it > READS_LEAST)?;
    if ratios.iter().any(|it| it.0 > median && it.1 < 0.0) {
        return None;
    }
    let reads = Estimate {
        median,
        ci_low: first(&|log, off| log > -off.above).unwrap_or(median),
        // Without an upper end within what is looked at there is no answer.
        ci_high: first(&|log, off| log > off.below)?.max(median),
    };
    let mut shown: Vec<u64> = SHOWN.into_iter().chain([places as u64]).filter(|it| *it as f64 <= most).collect();
    shown.sort_unstable();
    shown.dedup();
    let point = |&reads: &u64| {
        let [baseline_s, arm_s] =
            [(baseline, &of_baseline), (arm, &of_arm)].map(|(of, seen)| seconds(of, seen, reads as f64));
        Some(BreakEvenPoint { reads, baseline_s: baseline_s?, arm_s: arm_s? })
    };
    Some(BreakEven {
        id: arm.id,
        baseline: baseline.arm().name.clone(),
        arm: arm.arm().name.clone(),
        file_bytes,
        block_bytes: baseline.own.block_bytes,
        reads,
        points: shown.iter().filter_map(point).collect(),
        measured: measured(&of_baseline, &of_arm),
    })
}

/// The numbers of reads that both arms were measured with, each beside what is expected from the others of them.
fn measured(baseline: &MeasuredPoints, arm: &MeasuredPoints) -> Vec<BreakEvenMeasured> {
    let [baseline, arm] = [&baseline.beside(arm), &arm.beside(baseline)];
    let both = baseline.0.iter().filter_map(|of_baseline| {
        let of_arm = arm.0.iter().find(|it| it.made == of_baseline.made)?;
        let without = |seen: &MeasuredPoints, point: &MeasuredPoint| {
            point.expected_s * seen.without(point.reads).off(point.reads).at.exp()
        };
        // Of the passes that were made beside each other, as every speedup.
        let beside = of_baseline.each_ns.iter().filter_map(|(round, ns)| Some(ns / of_arm.each_ns.get(round)?));
        Some(BreakEvenMeasured {
            reads: of_baseline.reads as u64,
            speedup: stats::median_of_positive(beside)?.median,
            expected: without(baseline, of_baseline) / without(arm, of_arm),
        })
    });
    let mut both: Vec<BreakEvenMeasured> = both.collect();
    both.dedup_by_key(|it| it.reads);
    both
}

/// What passes are expected to take, from unit costs.
struct Costs<'a> {
    run: &'a Run<'a>,
    basis: Basis<'a>,
    compared: &'a [Compared<'a, 'a>],
}

impl Costs<'_> {
    fn memory_bytes(&self) -> f64 {
        self.run.record.environment.cache_memory_bytes() as f64
    }

    fn components(&self, of: &Cell, condition: &Condition) -> Option<Vec<CostComponent>> {
        self.basis.components(&self.basis.pass(of.arm(), condition, self.memory_bytes(), 1)).ok()
    }

    fn seconds(&self, of: &Cell, condition: &Condition) -> Option<f64> {
        Some(self.components(of, condition)?.iter().map(|it| it.ns).sum::<f64>() / 1e9)
    }

    /// The requests that so many reads of the whole file are expected to make.
    fn requests(&self, of: &Cell, ops: u64) -> Option<f64> {
        let range = Span { offset: 0, bytes: of.own.file_bytes };
        let components = self.components(of, &Condition { ops, range, ..of.own.clone() })?;
        Some(components.iter().filter(|it| it.what == Quantity::Requests).map(|it| it.count).sum())
    }

    /// How far off a prediction may be is the same for any number of reads.
    fn expected(&self, of: &Cell) -> Option<Estimate> {
        Some(self.basis.expected(&self.basis.pass(of.arm(), of.own, self.memory_bytes(), 1)).ok()?.0)
    }

    /// It did something else than its baseline.
    fn is_refused(&self, cell: &Cell) -> bool {
        let of_cell = self.compared.iter().find(|it| it.finding.id.cell == cell.id.cell);
        of_cell.is_some_and(|it| it.finding.verdict == Verdict::NotComparable)
    }

    /// The passes of one of two arms, of the rounds and at the size of the job, by the number of their reads: those in which both
    /// did the same.
    fn seen(&self, of: &Cell, both: [&Cell; 2]) -> MeasuredPoints {
        let record = self.run.record;
        let is_refused = |condition: usize| {
            let arms = self.run.of_condition(condition).filter(|it| both.iter().any(|of| of.arm() == it.arm()));
            arms.filter(|it| !it.entry.control).any(|it| self.is_refused(it))
        };
        let is_same = |cell: &&Cell| {
            let counts = is_of_file(self.run, cell.entry.condition) && !is_refused(cell.entry.condition);
            cell.arm() == of.arm() && !cell.entry.control && counts && is_alike(cell.own, of.own)
        };
        let cells: Vec<&Cell> = self.run.cells.iter().filter(is_same).collect();
        let by_round = |it: &Cell| it.passes.iter().rev().map(|it| (it.round, it.ns)).collect::<BTreeMap<u32, f64>>();
        let rounds = cells.iter().map(|it| (Made::InRounds(it.entry.condition), it.own.clone(), by_round(it)));
        let jobs = record.confirmations.iter().enumerate().filter(|(_, job)| confirm::is_equal_work(self.run, job));
        let jobs = jobs.flat_map(|(nth_job, job)| {
            let sides = [job.baseline_cell, job.arm_cell].into_iter().enumerate();
            let of_arm = sides.filter(|(_, cell)| cells.iter().any(|it| it.id.cell == *cell));
            of_arm.map(move |(side, _)| {
                let condition = Condition { range: job.range, ops: job.ops, ..of.own.clone() };
                let each_ns = (0..).zip(&job.pairs).map(|(nth, pair)| (nth, pair[side])).collect();
                (Made::InJob(nth_job), condition, each_ns)
            })
        });
        let point = |(made, condition, each_ns): (Made, Condition, BTreeMap<u32, f64>)| {
            // In a part of the file the same number of reads lie closer together.
            if condition.range.bytes < condition.file_bytes {
                return None;
            }
            Some(MeasuredPoint {
                made,
                reads: condition.ops as f64,
                measured_s: stats::median_of_positive(each_ns.values().copied())?.median / 1e9,
                expected_s: self.seconds(of, &condition).filter(|it| *it > 0.0)?,
                each_ns,
            })
        };
        let mut points: Vec<MeasuredPoint> = rounds.chain(jobs).filter_map(point).collect();
        // Of two comparisons with as many reads the arm's own comes first.
        let is_other = |it: &MeasuredPoint| it.made != Made::InRounds(of.entry.condition);
        points.sort_by(|a, b| a.reads.total_cmp(&b.reads).then(is_other(a).cmp(&is_other(b))));
        MeasuredPoints(points)
    }
}

/// What an arm took, from few reads to many.
struct MeasuredPoints(Vec<MeasuredPoint>);

/// Passes that were made beside each other, and so are compared.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    /// Of a condition.
    InRounds(usize),
    /// One of the confirmations.
    InJob(usize),
}

#[derive(Clone)]
struct MeasuredPoint {
    made: Made,
    reads: f64,
    /// By round, or by pair.
    each_ns: BTreeMap<u32, f64>,
    measured_s: f64,
    expected_s: f64,
}

impl MeasuredPoints {
    /// By how much unit costs are off for so many reads: by what they are off for the passes that were measured, on a line
    /// between them, log on log.
    fn off(&self, reads: f64) -> OffBetween {
        // Of several points with as many reads, their mean.
        let off: Vec<(f64, f64)> = self
            .0
            .chunk_by(|a, b| a.reads == b.reads)
            .map(|equal| {
                let sum: f64 = equal.iter().map(|it| (it.measured_s / it.expected_s).ln()).sum();
                (equal[0].reads, sum / equal.len() as f64)
            })
            .collect();
        let above = off.partition_point(|it| it.0 <= reads);
        match (above.checked_sub(1).map(|at| off[at]), off.get(above).copied()) {
            (Some((fewer, low)), Some((more, high))) => {
                let at = low + (reads / fewer).ln() / (more / fewer).ln() * (high - low);
                OffBetween { at, fewer: low, more: high }
            }
            (Some((_, only)), None) | (None, Some((_, only))) => OffBetween { at: only, fewer: only, more: only },
            (None, None) => OffBetween { at: 0.0, fewer: 0.0, more: 0.0 },
        }
    }

    /// Those of passes that another arm made, too.
    fn beside(&self, other: &MeasuredPoints) -> MeasuredPoints {
        let is_made = |it: &&MeasuredPoint| other.0.iter().any(|other| other.made == it.made);
        MeasuredPoints(self.0.iter().filter(is_made).cloned().collect())
    }

    fn without(&self, reads: f64) -> MeasuredPoints {
        MeasuredPoints(self.0.iter().filter(|it| it.reads != reads).cloned().collect())
    }
}

/// By how much unit costs are off for a number of reads, as logarithms.
struct OffBetween {
    at: f64,
    /// For the nearest passes of fewer reads that were measured, and of more.
    fewer: f64,
    more: f64,
}

/// How far off the ratio of two predictions may be, upwards and downwards, as a logarithm.
struct Off {
    above: f64,
    below: f64,
}

impl Off {
    fn of(baseline: &Estimate, arm: &Estimate) -> Off {
        let up = |it: &Estimate| (it.ci_high / it.median).ln();
        let down = |it: &Estimate| (it.median / it.ci_low).ln();
        Off { above: up(baseline).hypot(down(arm)), below: down(baseline).hypot(up(arm)) }
    }

    /// Between two numbers of reads that were measured, costs may go from being off by what the one shows to what the other shows
    /// at any number, and not on a line.
    fn and(&self, baseline: &OffBetween, arm: &OffBetween) -> Off {
        let at = baseline.at - arm.at;
        let ends = [baseline.fewer - arm.fewer, baseline.more - arm.more].map(|it| it - at);
        let most = |sign: f64| ends.map(|it| sign * it).into_iter().fold(0.0, f64::max);
        Off { above: self.above.hypot(most(1.0)), below: self.below.hypot(most(-1.0)) }
    }
}
