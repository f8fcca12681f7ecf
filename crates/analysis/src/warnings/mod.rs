//! Warnings about the whole run, to be read before its results.

pub(crate) mod around;
pub(crate) mod cpu_cache;
pub(crate) mod traps;

use schema::{
    Consume, Record, Workload,
    findings::{NoiseFloor, StateNoise},
    unit_cost::CalibrationPoint,
    warning::Warning,
};

use crate::{
    measured::{Cell, Run},
    rate::{self, Rate},
    stats::SortedValues,
    verdict::MARGIN,
};

/// CPU time that the hypervisor gave to other guests.
const STEAL: f64 = 0.02;

/// What the place of a buffer may matter without being worth a warning.
const SLOW_BUFFERS: f64 = 1.5;
/// A processor that fetches ahead of a loop makes a mapping no slower than a buffer.
const SLOW_LOOPS: f64 = 1.25;

/// The kernel's default read-ahead; a few times more or less is another machine as far as cold reads are concerned.
const READ_AHEAD_BYTES: u64 = 128 * 1024;
const READ_AHEAD_FACTOR: u64 = 4;

pub(crate) fn of_run(run: &Run, noise_floor: &NoiseFloor, noise_floors: &[StateNoise]) -> Vec<Warning> {
    let record = run.record;
    [
        record.partial.as_ref().map(|partial| Warning::Incomplete { partial: partial.clone() }),
        wide_noise(noise_floors),
        rejected_controls(noise_floor),
        stolen_time(record),
        few_cpus(run),
        busy(record),
        sparse(record),
        read_ahead(run),
        small_window(run),
        loose_throttle(run),
        half_calibrated(record),
        slow_buffers(record),
        slow_loops(record),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A quiet state must not hide a noisy one.
fn wide_noise(floors: &[StateNoise]) -> Option<Warning> {
    let wide = floors.iter().filter(|it| it.floor.half_width.is_some_and(|width| width > MARGIN));
    let states: Vec<StateNoise> = wide.cloned().collect();
    (!states.is_empty()).then_some(Warning::WideNoise { states, margin: MARGIN })
}

/// So many controls with an interval that leaves out 1 that chance alone would do it once in a hundred runs.
fn rejected_controls(floor: &NoiseFloor) -> Option<Warning> {
    let (controls, rejected) = (floor.pairs, floor.rejected);
    let by_chance = chance_of_at_least(rejected, controls, 0.05);
    (rejected > 0 && by_chance < 0.01).then_some(Warning::RejectedControls { rejected, controls })
}

/// P(Binomial(n, p) >= k).
fn chance_of_at_least(k: u32, n: u32, p: f64) -> f64 {
    let mut term = (1.0 - p).powf(f64::from(n));
    let mut below = 0.0;
    for i in 0..k.min(n + 1) {
        below += term;
        term *= f64::from(n - i.min(n)) / f64::from(i + 1) * p / (1.0 - p);
    }
    1.0 - below
}

fn stolen_time(record: &Record) -> Option<Warning> {
    let share = *record.environment.steal_share.value()?;
    (share > STEAL).then_some(Warning::StolenTime { share })
}

/// Skipped conditions cause no other warning.
fn measured<'r, 'a>(run: &'r Run<'a>) -> impl Iterator<Item = &'r Cell<'a>> {
    run.cells.iter().filter(|it| !it.passes.is_empty())
}

fn few_cpus(run: &Run) -> Option<Warning> {
    let cpus = run.record.environment.cpus;
    let threads = measured(run).flat_map(|it| &it.passes).map(|pass| pass.tally.threads).max()?;
    (threads > cpus).then_some(Warning::FewCpus { threads, cpus })
}

fn busy(record: &Record) -> Option<Warning> {
    let environment = &record.environment;
    environment.is_busy().then(|| Warning::Busy { load: environment.load, cpus: environment.loaded_cpus() })
}

fn sparse(record: &Record) -> Option<Warning> {
    record.target.allocated().map(|[allocated_bytes, bytes]| Warning::Sparse { allocated_bytes, bytes })
}

fn read_ahead(run: &Run) -> Option<Warning> {
    // A file that is emptied first is not read.
    let waits = measured(run).any(|it| it.own.state.waits_for_device() && it.own.workload != Workload::Append);
    let bytes = *run.record.target.device.value()?.read_ahead_bytes.value()?;
    let usual = READ_AHEAD_BYTES / READ_AHEAD_FACTOR..=READ_AHEAD_BYTES * READ_AHEAD_FACTOR;
    let is_unusual = waits && !usual.contains(&bytes);
    is_unusual.then_some(Warning::UnusualReadAhead { bytes, usual_bytes: READ_AHEAD_BYTES })
}

fn small_window(run: &Run) -> Option<Warning> {
    let file_bytes = run.record.target.bytes;
    let again = run.record.confirmations.iter().filter(|it| !it.pairs.is_empty()).map(|it| it.range.bytes);
    // A file that is emptied first is never read or written whole.
    let of_file = measured(run).filter(|it| it.own.workload != Workload::Append);
    let bytes = of_file.map(touched_bytes).chain(again).max()?;
    ((bytes as f64) < 0.9 * file_bytes as f64).then_some(Warning::SmallWindow { bytes, file_bytes })
}

/// Of the file, by all passes of a cell, whose windows may lie elsewhere in each round and overlap.
fn touched_bytes(cell: &Cell) -> u64 {
    let window = cell.own.range;
    let mut offsets: Vec<u64> = cell.passes.iter().map(|it| it.window_offset.unwrap_or(window.offset)).collect();
    offsets.sort_unstable();
    let ahead = offsets.windows(2).map(|pair| window.bytes.min(pair[1] - pair[0]));
    ahead.sum::<u64>().saturating_add(window.bytes)
}

/// Of the same blocks, read into a buffer at a page and into one as of malloc(3).
fn slow_buffers(record: &Record) -> Option<Warning> {
    let (times, block_bytes) = slower_than_read(record, |it| it.arm == "native/pread+malloc")?;
    (times > SLOW_BUFFERS).then_some(Warning::SlowBuffers { times, block_bytes })
}

/// Of bytes that are added one by one, in a mapping and in a buffer.
fn slow_loops(record: &Record) -> Option<Warning> {
    let (times, block_bytes) =
        slower_than_read(record, |it| it.arm == "native/mmap" && it.consume == Consume::SumBytes)?;
    (times > SLOW_LOOPS).then_some(Warning::SlowLoops { times, block_bytes })
}

/// How many times as long a point of a calibration takes as the same blocks read by calls, and how large they are.
fn slower_than_read(record: &Record, is_it: impl Fn(&CalibrationPoint) -> bool) -> Option<(f64, u64)> {
    let points = &record.calibration.value()?.points;
    let point = points.iter().find(|it| is_it(it))?;
    let is_alike = |it: &&CalibrationPoint| {
        let of = |it: &CalibrationPoint| (it.workload, it.consume, it.state, it.fill, it.block_bytes, it.range_bytes);
        it.arm == "native/pread" && of(it) == of(point)
    };
    let each = |it: &CalibrationPoint| {
        let took = it.passes.iter().map(|pass| pass.phases.work_ns as f64 / it.ops.max(1) as f64);
        SortedValues::new(took.collect()).map(|it| it.median())
    };
    let times = each(point)? / each(points.iter().find(is_alike)?)?;
    times.is_finite().then_some((times, point.block_bytes))
}

/// What was not calibrated is not explained, and predicted from less.
fn half_calibrated(record: &Record) -> Option<Warning> {
    let calibration = record.calibration.value()?;
    let first_missing = calibration.missing.first()?.clone();
    // Of a run that was interrupted some have no pass yet.
    let calibrated = calibration.points.iter().filter(|it| !it.passes.is_empty()).count();
    Some(Warning::HalfCalibrated {
        calibrated,
        all: calibration.points.len() + calibration.missing.len(),
        first_missing,
    })
}

fn loose_throttle(run: &Run) -> Option<Warning> {
    let entered = run.cells.iter().filter(|cell| !cell.entry.control);
    let mut beyond: Vec<(Rate, &Cell)> =
        entered.filter_map(|cell| Some((rate::of_rounds(run, cell).filter(Rate::is_beyond)?, cell))).collect();
    beyond.sort_by(|a, b| b.0.share().total_cmp(&a.0.share()));
    let &(Rate { limit, allowed_per_s, per_s }, cell) = beyond.first()?;
    let (arm, label) = (run.name(cell.arm()).to_string(), run.label(cell.id.cell));
    Some(Warning::ThrottleExceeded { arm, label, limit, allowed_per_s, per_s, more: beyond.len() - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_the_binomial_tail() {
        // R: pbinom(2, 20, 0.05, lower.tail = FALSE) gives 0.07548367.
        assert!((chance_of_at_least(3, 20, 0.05) - 0.075_483_67).abs() < 1e-8);
        assert_eq!(chance_of_at_least(0, 20, 0.05), 1.0);
        assert!(chance_of_at_least(5, 2, 0.05).abs() < 1e-12);
    }
}
