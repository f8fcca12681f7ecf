//! How much of the file a pass covers, so that every arm of a condition does the same work and all rounds fit into the
//! time there is. Pure: trials in, numbers out.
//!
//! A pass must be long enough to tell (a scan of a few pages measures the processor's caches, not the page cache) and
//! short enough to be repeated. An arm so slow that a pass of the least useful size does not fit is left out, with what
//! its trial showed; all other arms would have to shrink to its size otherwise.

use std::time::Duration;

use schema::{Condition, Durability, Skip, State, Workload};

use crate::plan::blocks_in;

/// Rounds the budget is shared out for. More are made while the time lasts and precision wants them; on a machine that
/// gets busier after the trials fewer, and there should be some to lose.
pub const ROUNDS_WANTED: u32 = 14;
/// Fewer rounds than this do not give a 95 % interval: with six pairs the exact signed-rank interval first has one.
pub const ROUNDS_MIN: u32 = 6;

/// A short pass that was made to learn how long one takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    pub cell: usize,
    pub ops: u64,
    /// Open, work and close.
    pub elapsed_ns: f64,
    /// What else the pass took: starting the worker, reaching and verifying the state.
    pub overhead_ns: f64,
    /// The work is done once more before the clock starts (states that hold the file).
    pub doubled: bool,
}

impl Trial {
    fn ns_per_op(&self) -> f64 {
        self.elapsed_ns / self.ops.max(1) as f64
    }

    /// Which of two trials of a cell to go by. What disturbs a trial makes it longer, and the first blocks pay for what
    /// the others use; so the one by which a useful pass takes less.
    pub fn or_faster(self, other: Trial, condition: &Condition) -> Trial {
        let least = least_ops(condition) as f64;
        if other.pass_ns(least) < self.pass_ns(least) { other } else { self }
    }

    /// Expected time of a pass, all in all.
    pub fn pass_time(&self, ops: u64) -> Duration {
        Duration::from_nanos(self.pass_ns(ops as f64) as u64)
    }

    /// As `pass_time`, in nanoseconds.
    fn pass_ns(&self, ops: f64) -> f64 {
        self.overhead_ns + ops * self.ns_per_op() * if self.doubled { 2.0 } else { 1.0 }
    }
}

/// How a condition is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizing {
    pub ops: u64,
    /// Cells left out, and why.
    pub too_slow: Vec<(usize, Skip)>,
    /// Expected time of one round.
    pub round_ns: f64,
}

/// Chooses the blocks per pass of one condition from trials of its arms. `share_ns` is the condition's part of the
/// budget; `baseline` names the cells that are never left out.
pub fn size(condition: &Condition, trials: &[Trial], share_ns: f64, baseline: &[usize]) -> Sizing {
    let (floor, cap) = bounds(condition);
    // A pass may take so long that the fewest rounds of this arm alone eat half of the condition's share.
    let longest_ns = share_ns / 2.0 / f64::from(ROUNDS_MIN);
    // The baseline is measured however long it takes, and then what takes no longer is, too.
    let of_baseline = trials.iter().filter(|it| baseline.contains(&it.cell)).map(|it| it.pass_ns(floor as f64));
    let longest_ns = of_baseline.fold(longest_ns, f64::max);
    let (fitting, slow): (Vec<&Trial>, Vec<&Trial>) =
        trials.iter().partition(|trial| trial.pass_ns(floor as f64) <= longest_ns.max(2.0 * trial.overhead_ns));
    let per_round_ns = share_ns / f64::from(ROUNDS_WANTED);
    let overhead_ns: f64 = fitting.iter().map(|trial| trial.overhead_ns).sum();
    let ns_per_op: f64 = fitting.iter().map(|trial| trial.pass_ns(1.0) - trial.overhead_ns).sum();
    let wanted = if ns_per_op > 0.0 { (per_round_ns - overhead_ns).max(0.0) / ns_per_op } else { cap as f64 };
    let ops = (wanted.min(cap as f64) as u64).clamp(floor, cap);
    let round_ns = fitting.iter().map(|trial| trial.pass_ns(ops as f64)).sum();
    let too_slow = slow
        .into_iter()
        .map(|trial| {
            let needed = trial.pass_ns(floor as f64);
            let budget = needed / longest_ns.max(1e6);
            let skip = Skip::TooSlow {
                ns_per_block: trial.ns_per_op(),
                blocks: floor,
                twice: trial.doubled,
                around_ns: trial.overhead_ns,
                pass_ns: needed,
                budgets: budget.ceil(),
            };
            (trial.cell, skip)
        })
        .collect();
    Sizing { ops, too_slow, round_ns }
}

/// The fewest blocks of a useful pass.
pub fn least_ops(condition: &Condition) -> u64 {
    bounds(condition).0
}

/// The least and the most blocks of a useful pass.
fn bounds(condition: &Condition) -> (u64, u64) {
    let block = condition.block_bytes;
    let threads = u64::from(condition.threads);
    if condition.workload.writes() {
        let cap = if condition.workload.is_ascending() { blocks_in(condition) } else { 1 << 24 };
        let least = match condition.durability {
            // Each block waits for the device.
            Durability::SyncEach => 32,
            _ => (16u64 << 20).div_ceil(block).max(8),
        };
        return (least.min(cap), cap);
    }
    match condition.workload.is_ascending() {
        true => {
            // Twice a common last-level cache slice when the data is in memory; two of the largest read-ahead windows
            // seen when it comes from the device.
            let least_bytes: u64 = if condition.state == State::Cold { 16 << 20 } else { 64 << 20 };
            let cap = blocks_in(condition);
            // A part of a file that is larger than its memory may fit into it.
            if condition.state == State::Limited {
                return (cap, cap);
            }
            (cap.min(least_bytes.div_ceil(block)).max(threads.min(cap)), cap)
        }
        false => {
            let (least, least_bytes): (u64, u64) =
                if condition.state == State::Cold { (32, 16 << 20) } else { (8192, 64 << 20) };
            let floor = least.min((least_bytes / block).max(8)).max(threads).max(filling_ops(condition));
            (floor, floor.max(1 << 24))
        }
    }
}

/// Warm passes must fill the memory of a limited condition; this many blocks do it in about a hundred passes.
fn filling_ops(condition: &Condition) -> u64 {
    condition.memory_bytes.unwrap_or(0) / condition.block_bytes.max(sys::page_bytes()) / 64
}

/// Blocks of a trial.
pub fn trial_ops(condition: &Condition) -> u64 {
    if condition.workload.writes() {
        let ops = match condition.durability {
            Durability::SyncEach => 16,
            _ => ((4u64 << 20) / condition.block_bytes).clamp(1, 4096),
        };
        return if condition.workload.is_ascending() { ops.min(blocks_in(condition)) } else { ops };
    }
    if condition.state == State::Limited && condition.workload.is_ascending() {
        return blocks_in(condition);
    }
    let bytes: u64 = match condition.workload {
        Workload::Scan => 8 << 20,
        // Without read-ahead hints a cold random read may fetch megabytes.
        Workload::Random if condition.state == State::Cold => 64 << 10,
        _ => 1 << 20,
    };
    let least = if condition.workload == Workload::Random { 16 } else { 1 };
    let ops = (bytes / condition.block_bytes).clamp(least, 4096).max(u64::from(condition.threads));
    let ops = ops.max(filling_ops(condition));
    if condition.workload == Workload::Scan { ops.min(blocks_in(condition)) } else { ops }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(workload: Workload, state: State, block_bytes: u64, file_bytes: u64) -> Condition {
        Condition { workload, block_bytes, state, ..Condition::plain(file_bytes) }
    }

    fn trial(cell: usize, ns_per_op: f64) -> Trial {
        Trial { cell, ops: 100, elapsed_ns: ns_per_op * 100.0, overhead_ns: 3e6, doubled: false }
    }

    #[test]
    fn equal_work_of_all_arms_fits_the_share() {
        let condition = condition(Workload::Random, State::Cached, 4096, 1 << 30);
        let sizing = size(&condition, &[trial(0, 500.0), trial(1, 300.0)], 2.5e9, &[0]);
        assert_eq!(sizing.too_slow, []);
        assert!(sizing.round_ns * f64::from(ROUNDS_WANTED) <= 2.5e9 * 1.01, "{sizing:?}");
        assert!(sizing.ops > 100_000, "{sizing:?}");
    }

    #[test]
    fn a_file_of_ten_kilobytes_is_scanned_whole() {
        let condition = condition(Workload::Scan, State::Cached, 4096, 10_000);
        assert_eq!(size(&condition, &[trial(0, 500.0)], 2.5e9, &[0]).ops, 3);
        assert_eq!(trial_ops(&condition), 3);
    }

    #[test]
    fn an_arm_that_would_shrink_all_others_is_left_out_and_the_baseline_never() {
        let condition = condition(Workload::Scan, State::Cached, 4096, 1 << 30);
        let trials = [trial(0, 500.0), trial(1, 100_000.0)];
        let sizing = size(&condition, &trials, 2.5e9, &[0]);
        assert_eq!(sizing.too_slow.len(), 1);
        let Skip::TooSlow { ns_per_block, blocks, twice, around_ns, pass_ns, .. } = sizing.too_slow[0].1 else {
            panic!("{sizing:?}")
        };
        assert_eq!((ns_per_block, blocks), (100_000.0, (64 << 20) / 4096));
        let times = if twice { 2.0 } else { 1.0 };
        assert_eq!(pass_ns, times * blocks as f64 * ns_per_block + around_ns, "what is shown comes out");
        assert!(sizing.ops * 4096 >= 64 << 20);
        assert_eq!(size(&condition, &trials, 2.5e9, &[0, 1]).too_slow, []);
    }

    #[test]
    fn an_arm_that_is_faster_than_a_slow_baseline_is_never_left_out() {
        let condition = condition(Workload::Scan, State::Cached, 4096, 1 << 30);
        let sizing = size(&condition, &[trial(0, 100_000.0), trial(1, 60_000.0), trial(2, 150_000.0)], 2.5e9, &[0]);
        let slow: Vec<usize> = sizing.too_slow.iter().map(|it| it.0).collect();
        assert_eq!(slow, [2]);
    }

    #[test]
    fn of_two_trials_the_one_with_the_shorter_useful_pass_counts() {
        let condition = condition(Workload::Random, State::Cold, 4096, 4 << 20);
        // The first read fetches the whole file: 10 ms, whatever the number of blocks.
        let of = |ops: u64| Trial { cell: 1, ops, elapsed_ns: 10e6, overhead_ns: 3e6, doubled: false };
        assert_eq!(of(16).or_faster(of(32), &condition).ops, 32);
        assert_eq!(of(32).or_faster(of(16), &condition).ops, 32);
    }

    #[test]
    fn the_same_arm_stays_when_the_budget_is_large() {
        let condition = condition(Workload::Scan, State::Cached, 4096, 1 << 30);
        let sizing = size(&condition, &[trial(0, 500.0), trial(1, 100_000.0)], 60e9, &[0]);
        assert_eq!(sizing.too_slow, []);
    }
}
