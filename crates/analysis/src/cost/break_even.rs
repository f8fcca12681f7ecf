//! From how many random reads of a cold file on a mapping is the faster way.
//!
//! A pass of the rounds makes some hundred reads, and the job may make a million. By pread(2) each of them waits for the
//! device; a mapping without advice reads megabytes ahead with each miss, until all of the file is in memory and nothing
//! misses any more. So the answer turns with the number of reads, and where it turns follows from unit costs.

use schema::{
    Condition, Span, State, Workload,
    findings::Estimate,
    unit_cost::{BreakEven, BreakEvenPoint, PredictedCell},
};

use crate::measured::{Cell, Run};

use super::{fills::Known, forecast::Basis};

/// Fewer reads are no job.
const READS_LEAST: f64 = 10.0;
/// Of each page or block of the file, so many reads; more are a job in memory.
const READS_OF_EACH: f64 = 16.0;
/// Between two numbers of reads that are looked at.
const STEP: f64 = 1.1;
/// The numbers of reads that are shown, beside the file's pages.
const SHOWN: [u64; 3] = [100, 10_000, 1_000_000];

/// Of each condition with cold random reads the arm that is expected to overtake the baseline first, if one does.
pub(crate) fn all(run: &Run, known: &Known, own: &[PredictedCell]) -> Vec<BreakEven> {
    let basis = Basis::new(run, known, own);
    let of_condition = |index: usize| {
        let baseline = run.baseline(index).filter(|it| is_asked(it.own));
        let arms = run.of_condition(index).filter(|it| !it.entry.baseline && !it.entry.control);
        let each = arms.filter_map(|arm| break_even(run, &basis, baseline?, arm));
        each.min_by(|a, b| a.reads.median.total_cmp(&b.reads.median))
    };
    (0..run.record.conditions.len()).filter_map(of_condition).collect()
}

fn is_asked(condition: &Condition) -> bool {
    condition.state == State::Cold && condition.workload == Workload::Random
}

fn break_even(run: &Run, basis: &Basis, baseline: &Cell, arm: &Cell) -> Option<BreakEven> {
    let memory_bytes = run.record.environment.cache_memory_bytes() as f64;
    let file_bytes = baseline.own.file_bytes;
    let under = |of: &Cell, reads: f64| {
        let range = Span { offset: 0, bytes: file_bytes };
        Condition { ops: reads as u64, range, ..of.own.clone() }
    };
    let seconds = |of: &Cell, reads: f64| {
        let terms = basis.terms(&basis.pass(of.arm(), &under(of, reads), memory_bytes, 1)).ok()?;
        Some(terms.iter().map(|it| it.ns).sum::<f64>() / 1e9)
    };
    // How far off a prediction may be is the same for any number of reads.
    let expected = |of: &Cell| {
        let expected = basis.expected(&basis.pass(of.arm(), &under(of, READS_LEAST), memory_bytes, 1));
        expected.ok().map(|it| it.0)
    };
    let off = Off::of(&expected(baseline)?, &expected(arm)?);
    let places = file_bytes as f64 / (baseline.own.block_bytes.max(run.page_bytes())) as f64;
    let most = places * READS_OF_EACH;
    // How many times faster the arm is expected to be with so many reads, as a logarithm.
    let mut ratios: Vec<(f64, f64)> = Vec::new();
    let mut reads = READS_LEAST;
    while reads <= most {
        ratios.push((reads, (seconds(baseline, reads)? / seconds(arm, reads)?).ln()));
        reads *= STEP;
    }
    let first_above = |log: f64| ratios.iter().find(|it| it.1 > log).map(|it| it.0);
    // An arm that is ahead from the first read on, or never, has no such number.
    let median = first_above(0.0).filter(|it| *it > READS_LEAST)?;
    if ratios.iter().any(|it| it.0 > median && it.1 < 0.0) {
        return None;
    }
    let reads = Estimate {
        median,
        ci_low: first_above(-off.above).unwrap_or(median),
        ci_high: first_above(off.below).unwrap_or(most).max(median),
    };
    let mut shown: Vec<u64> = SHOWN.into_iter().chain([places as u64]).filter(|it| *it as f64 <= most).collect();
    shown.sort_unstable();
    shown.dedup();
    let point = |&reads: &u64| {
        let [baseline_s, arm_s] = [baseline, arm].map(|it| seconds(it, reads as f64));
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
    })
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
}
