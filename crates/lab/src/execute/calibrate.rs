//! What single things cost on this machine: short passes by ordinary workers over the target itself, between the rounds of
//! the run, so that the costs are those of its file system, of the folios that its fill made, and of the same minutes. Only what was measured is kept; unit costs are
//! fitted from it by the analysis.
//!
//! The block sizes but the smallest lie between those of the built-in experiments on purpose: what is predicted for their
//! cells was then not simply looked up. Cells of the smallest count as calibrated.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use schema::{
    Bytes, Condition, Consume, Fill, Span, State, Workload,
    condition::WINDOWS_LEAST,
    record::Reading,
    unit_cost::{Calibration, CalibrationPass, CalibrationPoint, Loop},
};

use super::Bench;
use crate::state::fill;

/// With a smaller budget the seconds that a calibration takes would be missed elsewhere.
pub const BUDGET_MIN: Duration = Duration::from_secs(45);
/// Of the budget, for all that is beyond the fewest passes.
const SHARE: f64 = 0.12;
/// Of the budget, for the fewest passes too: where each call is slow, as under strace(1) or in a sandbox that answers
/// them itself, they could take all of it.
const SHARE_MOST: f64 = 0.3;
/// Of that, for the usual fill and the device: what is left is for other fills, which come later and have fewer points.
const SHARE_OF_USUAL: f64 = 0.75;
/// Fewer passes of a point are not precise, and more are not worth their time.
const PASSES: std::ops::Range<usize> = 2..4;
/// Of the points, after each round of the run: the costs see the same drift and the same neighbours as the cells.
const PER_ROUND: f64 = 0.5;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A cache line: the smallest block that costs what smaller and slightly larger ones do not, one miss. Random reads of 32 B
/// took 70 ns in a mapping, of 64 B 47, of 128 B 68 and of 512 B 174, so no line between the neighbours passes near it.
const LINE: u64 = 64;
/// Block, and how many of them make a pass of some milliseconds.
const BLOCKS: [(u64, u64); 8] = [
    (LINE, 131_072),
    (2 * KIB, 16_384),
    (32 * KIB, 2048),
    // Where a buffer is about to share a second-level cache with what is copied into it, the curve bends.
    (96 * KIB, 683),
    (320 * KIB, 205),
    (2560 * KIB, 26),
    (8 * MIB, 16),
    (24 * MIB, 4),
];
/// Of the sizes that malloc(3) of glibc puts behind the beginning of a page.
const OF_MALLOC: (u64, u64) = BLOCKS[4];
/// So few blocks that hardly two of them lie close to each other: nothing but first visits.
const FEW: u64 = 1024;
/// Parts of the file that fit the caches of one level after the other.
const SPANS: [u64; 4] = [32 * KIB, 512 * KIB, 8 * MIB, 64 * MIB];
/// Blocks that are read from the device through the page cache, at random places.
const PAGED_IN: (u64, u64) = (640 * KIB, 16);
/// Request sizes and depths for the device.
const REQUESTS: [u64; 3] = [4 * KIB, 48 * KIB, 768 * KIB];
const DEEP: u32 = 32;
/// Random touches of a fresh mapping, a page each: so few that most of them are the first in what their fault maps.
const TOUCHES: (u64, u64) = (2 * KIB, 4096);
/// The largest window that unit costs are measured on: passes over it take a part of a second each.
pub const RANGE_BYTES_MAX: u64 = 1 << 30;
/// Where a fill is made for the calibration alone, it covers so much at most.
pub const FILLED_BYTES_MAX: u64 = 64 * MIB;

/// The points of one window of the file.
struct Points(Vec<CalibrationPoint>);

impl Points {
    fn add(
        &mut self,
        arm: &str,
        workload: Workload,
        consume: Consume,
        state: State,
        (block_bytes, ops): (u64, u64),
        range_bytes: u64,
    ) {
        if block_bytes <= range_bytes && ops > 0 {
            let (arm, passes) = (format!("native/{arm}"), Vec::new());
            self.0.push(CalibrationPoint {
                arm,
                workload,
                consume,
                state,
                fill: None,
                block_bytes,
                offset: None,
                range_bytes,
                ops,
                passes,
            });
        }
    }
}

/// What is measured where the page cache was filled in ascending order, and of the device, with `range_bytes` as the largest
/// span; `window` is how much the device reads ahead, `None` in memory.
fn points(range_bytes: u64, window: Option<u64>) -> Vec<CalibrationPoint> {
    use {
        Consume::{Sum, SumBytes, Touch},
        State::{AsIs, Cached, Cold, Mapped},
        Workload::{Random, Scan},
    };
    let mut points = Points(Vec::new());
    let mut add = |arm: &str, workload, consume, state, blocks, range| {
        points.add(arm, workload, consume, state, blocks, range);
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
    add("mmap", Random, Touch, Mapped, smallest, whole);
    add("mmap", Random, Touch, Mapped, (smallest.0, FEW), whole);
    if SPANS[0] < whole {
        add("mmap", Random, Touch, Mapped, smallest, SPANS[0]);
    }
    add("mmap", Scan, Touch, Mapped, middle, whole);
    // Whether the place of a buffer matters on this processor: a block of BLOCKS, so that it is known of a buffer at a page.
    add("pread+malloc", Scan, Touch, Mapped, OF_MALLOC, whole);
    // Whether a loop with few cache lines in flight waits for a mapping, where it does not for a buffer that a call has just written.
    add("pread", Scan, SumBytes, Mapped, middle, whole);
    add("mmap", Scan, SumBytes, Mapped, middle, whole);
    add("pread", Scan, Touch, Cached, (middle.0, 1), whole);
    for part in [whole / 32, whole / 8, whole] {
        add("mmap", Scan, Touch, Cached, (middle.0, part / middle.0), part);
        add("mmap+populate-read", Scan, Touch, Cached, (middle.0, part / middle.0), part);
    }
    add("mmap", Random, Touch, Cached, TOUCHES, whole);
    if let Some(window) = window {
        // What the device gives through read-ahead, over as many windows as cold scans cover.
        let stream = whole.min(WINDOWS_LEAST.saturating_mul(window).max(16 * MIB));
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
    points.0
}

/// What is measured after another fill: all that depends on folios. What is read, summed and missed is compared with the same
/// after the usual fill.
fn points_of(fill: Fill, range_bytes: u64) -> Vec<CalibrationPoint> {
    use {
        Consume::{Sum, Touch},
        State::{Cached, Mapped},
        Workload::{Random, Scan},
    };
    let (whole, [smallest, _, middle, ..]) = (range_bytes, BLOCKS);
    let mut points = Points(Vec::new());
    let mut add = |arm: &str, workload, consume, state, blocks, range| {
        points.add(arm, workload, consume, state, blocks, range);
    };
    for part in [whole / 8, whole] {
        add("mmap", Scan, Touch, Cached, (middle.0, part / middle.0), part);
    }
    add("mmap+populate-read", Scan, Touch, Cached, (middle.0, whole / middle.0), whole);
    // A fault maps 64 KiB at least.
    add("mmap", Random, Touch, Cached, (TOUCHES.0, TOUCHES.1.min(whole / (256 * KIB))), whole);
    add("mmap", Scan, Touch, Mapped, middle, whole);
    for (arm, consume) in [("pread", Touch), ("mmap", Sum), ("mmap", Touch)] {
        add(arm, Random, consume, Mapped, smallest, whole);
        add(arm, Random, consume, Mapped, (smallest.0, FEW), whole);
    }
    for (arm, consume) in [("pread", Touch), ("mmap", Sum)] {
        add(arm, Scan, consume, Mapped, middle, whole);
    }
    let mut points = points.0;
    points.iter_mut().for_each(|it| it.fill = Some(fill));
    points
}

/// Loops of the controller's, and no point yet, of the first bytes of windows that begin at `offset` unless they say otherwise.
pub fn begin(offset: u64, budget: Duration) -> Reading<Calibration> {
    if budget < BUDGET_MIN {
        return Reading::unavailable(format!(
            "a budget of {} s leaves no time for it; use --budget {}s",
            budget.as_secs(),
            BUDGET_MIN.as_secs()
        ));
    }
    Reading::Value(Calibration {
        elapsed_s: 0.0,
        clock: many(100_000, Instant::now),
        bare_call: many(100_000, rustix::process::getppid),
        offset,
        points: Vec::new(),
        missing: Vec::new(),
    })
}

/// Adds the points of the stage of one fill, in a part of the file.
pub fn add_points(bench: &Bench, calibration: &mut Calibration, fill: Fill, range: Span) {
    let window = (!bench.target.file_system.is_memory()).then(|| bench.target.window_bytes());
    let added = match fill {
        Fill::Sequential => Ok(points(range.bytes, window)),
        _ => fill::possible(fill, bench.target, range.end()).map(|()| points_of(fill, range.bytes)),
    };
    let offset = Some(range.offset).filter(|it| *it != calibration.offset);
    match added {
        Ok(points) => calibration.points.extend(points.into_iter().map(|it| CalibrationPoint { offset, ..it })),
        Err(reason) => calibration.missing.push(reason),
    }
}

/// Whether a point goes around the page cache.
fn is_of_device(point: &CalibrationPoint) -> bool {
    point.state == State::AsIs
}

/// Whether a point evicts the file, which the other points of the warm stage must keep.
fn evicts(point: &CalibrationPoint) -> bool {
    point.state == State::Cold
}

/// Some more passes, of the points that have fewest: between the rounds of a stage in the page cache of the points of
/// its fill and of the device, between others of the device alone.
pub fn between_rounds(bench: &mut Bench, calibration: &mut Calibration, fill: Option<Fill>, budget: Duration) {
    let time_s = budget.as_secs_f64() * SHARE;
    let wanted = |it: &CalibrationPoint| match fill {
        Some(fill) => it.fill() == Some(fill) || is_of_device(it),
        None => is_of_device(it) || evicts(it),
    };
    let some = (calibration.points.iter().filter(|it| wanted(it)).count() as f64 * PER_ROUND).ceil() as usize;
    // Device points go on after the warm stages: what the device answers later is another matter.
    let enough = if fill.is_some() { PASSES.end } else { 2 * PASSES.end };
    passes(bench, calibration, some, time_s, &|it| wanted(it) && it.passes.len() < enough);
}

/// The fewest passes of each point of a fill, where rounds were too few for them; with the usual fill also of the device, and
/// those that evict the file come last.
pub fn complete(bench: &mut Bench, calibration: &mut Calibration, fill: Fill, budget: Duration) {
    let share = if fill == Fill::Sequential { SHARE_OF_USUAL } else { 1.0 };
    let time_s = budget.as_secs_f64() * SHARE_MOST * share;
    let of_fill = |it: &CalibrationPoint| it.fill().unwrap_or(Fill::Sequential) == fill;
    for evicting in [false, true] {
        for _ in 0..PASSES.start {
            let all = calibration.points.len();
            let few = |it: &CalibrationPoint| it.passes.len() < PASSES.start;
            passes(bench, calibration, all, time_s, &|it| of_fill(it) && evicts(it) == evicting && few(it));
        }
        if !evicting {
            // What was measured since the last look counts only if it was on the fill still.
            bench.look_again();
            let changed = std::mem::take(&mut bench.changed);
            forget(calibration, &changed);
            let without = calibration.points.extract_if(.., |it| it.passes.is_empty() && is_of(it, &changed));
            let why = "the folios did not stay as the fill had made them";
            calibration.missing.extend(without.map(|it| missing(&it, why)));
        }
    }
    if !bench.is_interrupted() {
        let without = calibration.points.extract_if(.., |it| of_fill(it) && it.passes.is_empty());
        let why = |it: &CalibrationPoint| match bench.failures.contains_key(&in_full(it)) {
            true => "its pass failed, and there was no time left for another",
            false => "there was no time left for it",
        };
        calibration.missing.extend(without.map(|it| missing(&it, why(&it))));
    }
}

/// Drops the passes of fills whose folios did not stay: it is not known since when they were measured on others.
pub(super) fn forget(calibration: &mut Calibration, changed: &[Fill]) {
    calibration.points.iter_mut().filter(|it| is_of(it, changed)).for_each(|it| it.passes.clear());
}

fn is_of(point: &CalibrationPoint, fills: &[Fill]) -> bool {
    point.fill().is_some_and(|it| fills.contains(&it))
}

fn missing(point: &CalibrationPoint, reason: &str) -> String {
    format!("{}: {reason}", named(point))
}

fn in_full(point: &CalibrationPoint) -> String {
    let CalibrationPoint { state, consume, range_bytes, ops, .. } = point;
    format!("{}, {state}, {consume}, {ops} in {range_bytes}", named(point))
}

fn named(point: &CalibrationPoint) -> String {
    let fill = point.fill.map_or_else(String::new, |it| format!(", fill {it}"));
    format!("{} {} {}{fill}", point.arm, point.workload, Bytes(point.block_bytes))
}

/// One may fail of many: a page left the page cache, say. What fails more often is not tried in every round.
const FAILURES_MOST: u32 = 2;

/// One pass more of the points that have fewest, as long as the calibration has taken less than its time and there is time left of
/// the run.
fn passes(
    bench: &mut Bench,
    calibration: &mut Calibration,
    most: usize,
    time_s: f64,
    wanted: &dyn Fn(&CalibrationPoint) -> bool,
) {
    let started = Instant::now();
    let fails = |it: &CalibrationPoint| bench.failures.get(&in_full(it)).is_some_and(|it| *it >= FAILURES_MOST);
    let is_chosen = |it: &CalibrationPoint| wanted(it) && !fails(it);
    let mut chosen: Vec<usize> =
        (0..calibration.points.len()).filter(|&it| is_chosen(&calibration.points[it])).collect();
    chosen.sort_by_key(|&it| calibration.points[it].passes.len());
    for at in chosen.into_iter().take(most) {
        let is_over = calibration.elapsed_s + started.elapsed().as_secs_f64() > time_s || bench.clock.is_over();
        if bench.is_interrupted() || is_over {
            break;
        }
        let point = &calibration.points[at];
        match one(bench, point, calibration.offset) {
            Ok(pass) => calibration.points[at].passes.push(pass),
            Err(_) if bench.is_interrupted() => break,
            Err(reason) => {
                let failures = bench.failures.entry(in_full(point)).or_default();
                *failures += 1;
                if *failures >= FAILURES_MOST && point.passes.is_empty() {
                    calibration.missing.push(missing(point, &reason));
                    calibration.points[at].ops = 0;
                }
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
        fill: point.fill,
        range: Span { offset: point.offset.unwrap_or(offset), bytes: point.range_bytes },
        ops: point.ops,
        ..Condition::plain(bench.target.bytes)
    };
    let done = bench.measure(&point.arm.parse()?, &condition)?;
    let cpu_ns = Some(done.usage.user_ns.saturating_add(done.usage.system_ns));
    Ok(CalibrationPass { phases: done.phases, minor_faults: done.usage.minor_faults, cpu_ns })
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
    use schema::protocol::Phases;

    use super::*;

    #[test]
    fn every_point_is_work_that_its_range_has_room_for() {
        for range in [1, 4096, 100_000, 3 * MIB + 5, 64 * MIB, 1 << 30] {
            let of_fill = points_of(Fill::Random, range);
            assert!(of_fill.iter().all(|it| it.fill() == Some(Fill::Random)));
            for point in [points(range, None), points(range, Some(8 * MIB)), of_fill].concat() {
                assert!(point.ops > 0 && point.block_bytes <= point.range_bytes, "{point:?}");
                assert!(point.range_bytes <= range, "{point:?}");
                point.arm.parse::<schema::Arm>().unwrap();
            }
        }
        assert!(points(1 << 30, Some(8 * MIB)).len() > points(1 << 30, None).len());
        assert!(points(31, Some(8 * MIB)).is_empty() && points_of(Fill::Random, 31).is_empty());
    }

    #[test]
    fn what_was_measured_on_folios_that_did_not_stay_is_forgotten_and_nothing_else() {
        let phases = Phases { open_ns: None, work_ns: 1, close_ns: None };
        let pass = CalibrationPass { phases, minor_faults: 0, cpu_ns: None };
        let mut all = [points(MIB, Some(MIB)), points_of(Fill::Random, MIB), points_of(Fill::Faults, MIB)].concat();
        all.iter_mut().for_each(|it| it.passes = vec![pass]);
        for changed in [vec![], vec![Fill::Random], vec![Fill::Sequential, Fill::Faults]] {
            let looped = Loop { times: 1, ns: 1 };
            let (clock, bare_call, missing, points) = (looped, looped, Vec::new(), all.clone());
            let mut calibration = Calibration { elapsed_s: 0.0, clock, bare_call, offset: 0, points, missing };
            forget(&mut calibration, &changed);
            let is_changed = |it: &CalibrationPoint| it.fill().is_some_and(|it| changed.contains(&it));
            assert!(calibration.points.iter().all(|it| it.passes.is_empty() == is_changed(it)), "{changed:?}");
            assert_eq!(calibration.points.iter().filter(|it| is_changed(it)).count() > 0, !changed.is_empty());
        }
    }

    /// The costs of other folios are those of the usual ones, changed by what the same passes show.
    #[test]
    fn what_is_compared_between_fills_is_the_same_work() {
        let work = |it: &CalibrationPoint| (it.arm.clone(), it.workload, it.consume, it.block_bytes, it.ops);
        let usual: Vec<_> = points(1 << 30, None).iter().filter(|it| it.state == State::Mapped).map(work).collect();
        let other = points_of(Fill::Random, 64 * MIB);
        let other: Vec<_> = other.iter().filter(|it| it.state == State::Mapped).map(work).collect();
        assert!(!other.is_empty() && other.iter().all(|it| usual.contains(it)), "{other:?}");
    }

    #[test]
    fn no_block_but_a_cache_line_is_one_that_the_built_in_experiments_measure() {
        for name in ["survey", "crossover", "calibrate"] {
            let experiment = schema::Experiment::parse(name, schema::builtin::find(name).unwrap()).unwrap();
            let blocks = experiment.comparisons.iter().flat_map(|it| &it.block).map(|it| it.0);
            let is_calibrated = |block: &u64| *block != LINE && BLOCKS.iter().any(|it| it.0 == *block);
            assert_eq!(blocks.filter(is_calibrated).count(), 0, "{name}");
        }
    }
}
