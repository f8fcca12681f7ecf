//! What single things cost on this machine: short passes by ordinary workers over the target itself, between the rounds of
//! the run, so that the costs are those of its file system, of the folios that its fill made, and of the same minutes. Only what was measured is kept; unit costs are
//! fitted from it by the analysis.
//!
//! The block sizes lie between those of the built-in experiments on purpose: what is predicted for their cells was
//! then not simply looked up.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use schema::{
    Bytes, Condition, Consume, Span, State, Workload,
    record::Reading,
    unit_cost::{Calibration, CalibrationPass, CalibrationPoint, Loop},
};

use crate::execute::Bench;

/// With a smaller budget the seconds that a calibration takes would be missed elsewhere.
pub const BUDGET_MIN: Duration = Duration::from_secs(45);
/// Of the budget, for all that is beyond the fewest passes.
const SHARE: f64 = 0.12;
/// Of the budget, for the fewest passes too: where each call is slow, as under strace(1) or in a sandbox that answers
/// them itself, they could take all of it.
const SHARE_MOST: f64 = 0.3;
/// Fewer passes of a point tell little, and more are not worth their time.
const PASSES: std::ops::Range<usize> = 2..4;
/// Of the points, after each round of the run: the costs see the same drift and the same neighbours as the cells.
const PER_ROUND: f64 = 0.5;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Block, and how many of them make a pass of some milliseconds.
const BLOCKS: [(u64, u64); 8] = [
    (64, 131_072),
    (2 * KIB, 16_384),
    (32 * KIB, 2048),
    // Where a buffer is about to share a second-level cache with what is copied into it, the curve bends.
    (96 * KIB, 683),
    (320 * KIB, 205),
    (2560 * KIB, 26),
    (8 * MIB, 16),
    (24 * MIB, 4),
];
/// So few blocks that hardly two of them lie close to each other: nothing but first visits.
const FEW: u64 = 1024;
/// Parts of the file that fit the caches of one level after the other.
const SPANS: [u64; 4] = [32 * KIB, 512 * KIB, 8 * MIB, 64 * MIB];
/// Blocks that are read from the device through the page cache, at random places.
const PAGED_IN: (u64, u64) = (640 * KIB, 16);
/// Request sizes and depths for the device.
const REQUESTS: [u64; 3] = [4 * KIB, 64 * KIB, MIB];
const DEEP: u32 = 32;

/// What is measured, with `range_bytes` as the largest span.
fn points(range_bytes: u64, on_a_device: bool) -> Vec<CalibrationPoint> {
    use {
        Consume::{Sum, Touch},
        State::{AsIs, Cached, Cold, Mapped},
        Workload::{Random, Scan},
    };
    let mut points: Vec<CalibrationPoint> = Vec::new();
    let mut add = |arm: &str, workload, consume, state, (block_bytes, ops): (u64, u64), range_bytes: u64| {
        if block_bytes <= range_bytes {
            let (arm, passes) = (format!("native/{arm}"), Vec::new());
            points.push(CalibrationPoint { arm, workload, consume, state, block_bytes, range_bytes, ops, passes });
        }
    };
    let whole = range_bytes;
    let [smallest, _, middle, ..] = BLOCKS;
    for (arm, consumes) in [("pread", &[Touch, Sum][..]), ("mmap", &[Sum])] {
        for &consume in consumes {
            for blocks in BLOCKS {
                add(arm, Scan, consume, Mapped, blocks, whole);
                // From some megabytes on a random block is a scan of its own.
                if blocks.0 <= MIB && (consume == Touch || arm == "mmap") {
                    add(arm, Random, consume, Mapped, blocks, whole);
                }
            }
        }
    }
    for span in SPANS.into_iter().filter(|&span| span < whole) {
        add("pread", Random, Touch, Mapped, smallest, span);
        add("pread", Scan, Touch, Mapped, middle, span);
        add("mmap", Random, Sum, Mapped, smallest, span);
        add("mmap", Scan, Sum, Mapped, middle, span);
    }
    // Where the first lines of a block still cost more than the next, the curves bend most.
    add("mmap", Random, Sum, Mapped, (512, 16_384), whole);
    add("mmap", Random, Sum, Mapped, (8 * KIB, 6144), whole);
    add("pread", Random, Touch, Mapped, (8 * KIB, 6144), whole);
    add("pread", Random, Touch, Mapped, (smallest.0, FEW), whole);
    add("mmap", Random, Sum, Mapped, (smallest.0, FEW), whole);
    add("mmap", Scan, Touch, Mapped, middle, whole);
    add("pread", Scan, Touch, Cached, (middle.0, 1), whole);
    for part in [whole / 32, whole / 8, whole] {
        add("mmap", Scan, Touch, Cached, (middle.0, part / middle.0), part);
        add("mmap+populate-read", Scan, Touch, Cached, (middle.0, part / middle.0), part);
    }
    add("mmap", Random, Touch, Cached, (4 * KIB, 4096), whole);
    if on_a_device {
        // What the device gives through read-ahead, of the same first part of the file as cold cells.
        let stream = whole.min(16 * MIB);
        add("read", Scan, Touch, Cold, (320 * KIB, stream / (320 * KIB)), stream);
        // What a page that comes in costs beyond the device's work: it is allocated, entered and mapped into a request.
        add("pread", Random, Touch, Cold, PAGED_IN, whole);
        for request in REQUESTS {
            let all = whole / request * request;
            add("direct", Random, Touch, AsIs, (request, (8 * MIB / request).clamp(16, 256)), all);
            let deep = format!("uring+queue_depth={DEEP}+direct");
            add(&deep, Random, Touch, AsIs, (request, (64 * MIB / request).min(4096)), all);
        }
    }
    points.retain(|point| point.ops > 0);
    points
}

/// What is to be measured on the first bytes of `range`, with no pass made yet.
pub fn begin(bench: &Bench, range: Span, budget: Duration) -> Reading<Calibration> {
    if budget < BUDGET_MIN {
        return Reading::unavailable(format!(
            "a budget of {} s leaves no time for it; --budget {}s does",
            budget.as_secs(),
            BUDGET_MIN.as_secs()
        ));
    }
    Reading::Value(Calibration {
        elapsed_s: 0.0,
        clock: many(100_000, Instant::now),
        bare_call: many(100_000, rustix::process::getppid),
        offset: range.offset,
        points: points(range.bytes, !bench.target.file_system.is_memory()),
        missing: Vec::new(),
    })
}

/// Whether a point goes around the page cache.
fn is_of_device(point: &CalibrationPoint) -> bool {
    point.state == State::AsIs
}

/// Whether a point evicts the file, which the other points of the warm stage must keep.
fn evicts(point: &CalibrationPoint) -> bool {
    point.state == State::Cold
}

/// Some more passes, of the points that have fewest: between the rounds of a stage that lives in the page cache of any
/// point, between others of the device alone.
pub fn between_rounds(bench: &mut Bench, calibration: &mut Calibration, warm: bool, budget: Duration) {
    let time_s = budget.as_secs_f64() * SHARE;
    let wanted = |it: &CalibrationPoint| if warm { !evicts(it) } else { is_of_device(it) || evicts(it) };
    let some = (calibration.points.iter().filter(|it| wanted(it)).count() as f64 * PER_ROUND).ceil() as usize;
    // Device points go on after the warm stage: what the device answers later is another matter.
    let enough = if warm { PASSES.end } else { 2 * PASSES.end };
    passes(bench, calibration, some, time_s, &|it| wanted(it) && it.passes.len() < enough);
}

/// The fewest passes of each point, where rounds were too few for them; those that evict the file come last.
pub fn complete(bench: &mut Bench, calibration: &mut Calibration, budget: Duration) {
    let time_s = budget.as_secs_f64() * SHARE_MOST;
    for evicting in [false, true] {
        for _ in 0..PASSES.start {
            let all = calibration.points.len();
            passes(bench, calibration, all, time_s, &|it| evicts(it) == evicting && it.passes.len() < PASSES.start);
        }
    }
    if !bench.is_interrupted() {
        let without = calibration.points.extract_if(.., |it| it.passes.is_empty());
        calibration.missing.extend(without.map(|it| missing(&it, "there was no time left for it")));
    }
}

fn missing(point: &CalibrationPoint, reason: &str) -> String {
    format!("{} {} {}: {reason}", point.arm, point.workload, Bytes(point.block_bytes))
}

/// One pass more of the points that have fewest, as long as the calibration has taken less than its time.
fn passes(
    bench: &mut Bench,
    calibration: &mut Calibration,
    most: usize,
    time_s: f64,
    wanted: &dyn Fn(&CalibrationPoint) -> bool,
) {
    let started = Instant::now();
    let mut chosen: Vec<usize> = (0..calibration.points.len()).filter(|&it| wanted(&calibration.points[it])).collect();
    chosen.sort_by_key(|&it| calibration.points[it].passes.len());
    for at in chosen.into_iter().take(most) {
        if bench.is_interrupted() || calibration.elapsed_s + started.elapsed().as_secs_f64() > time_s {
            break;
        }
        let point = &calibration.points[at];
        match one(bench, point, calibration.offset) {
            Ok(pass) => calibration.points[at].passes.push(pass),
            Err(reason) => {
                calibration.missing.push(missing(point, &reason));
                // What cannot be had here is not tried in every round.
                calibration.points[at].ops = 0;
            }
        }
    }
    calibration.points.retain(|point| point.ops > 0);
    calibration.elapsed_s += started.elapsed().as_secs_f64();
}

fn one(bench: &mut Bench, point: &CalibrationPoint, offset: u64) -> Result<CalibrationPass, String> {
    let condition = Condition {
        workload: point.workload,
        consume: point.consume,
        block_bytes: point.block_bytes,
        state: point.state,
        range: Span { offset, bytes: point.range_bytes },
        ops: point.ops,
        ..Condition::plain(bench.target.bytes)
    };
    let done = bench.observe(&point.arm.parse()?, &condition)?;
    Ok(CalibrationPass { phases: done.phases, minor_faults: done.usage.minor_faults })
}

fn many<T>(times: u64, mut what: impl FnMut() -> T) -> Loop {
    let started = Instant::now();
    for _ in 0..times {
        black_box(what());
    }
    Loop { times, ns: started.elapsed().as_nanos() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_work_that_its_range_has_room_for() {
        for range in [1, 4096, 100_000, 3 * MIB + 5, 64 * MIB, 1 << 30] {
            for on_a_device in [false, true] {
                for point in points(range, on_a_device) {
                    assert!(point.ops > 0 && point.block_bytes <= point.range_bytes, "{point:?}");
                    assert!(point.range_bytes <= range, "{point:?}");
                    point.arm.parse::<schema::Arm>().unwrap();
                }
            }
        }
        assert!(points(1 << 30, true).len() > points(1 << 30, false).len());
        assert!(points(63, true).is_empty());
    }

    #[test]
    fn no_block_above_the_smallest_is_one_that_the_built_in_experiments_measure() {
        for name in ["survey", "crossover", "calibrate"] {
            let experiment = schema::Experiment::parse(name, schema::builtin::find(name).unwrap()).unwrap();
            let blocks = experiment.comparisons.iter().flat_map(|it| &it.block).map(|it| it.0);
            assert!(blocks.into_iter().all(|block| BLOCKS[1..].iter().all(|it| it.0 != block)), "{name}");
        }
    }
}
