//! Warnings about the whole run, to be read before its results.

pub(crate) mod around;
pub(crate) mod cpu_cache;
pub(crate) mod traps;

use schema::{
    Record, State,
    findings::{NoiseFloor, StateNoise},
};

use crate::{
    measured::{Cell, Run},
    stats::SortedValues,
    verdict::MARGIN,
    words::{percent, size},
};

/// CPU time that the hypervisor gave to other guests.
const STEAL: f64 = 0.02;

/// The kernel's default read-ahead; a few times more or less is another machine as far as cold reads are concerned.
const READ_AHEAD_BYTES: u64 = 128 * 1024;
const READ_AHEAD_FACTOR: u64 = 4;

pub(crate) fn of_run(run: &Run, noise_floor: &NoiseFloor, noise_floors: &[StateNoise]) -> Vec<String> {
    let record = run.record;
    [
        record.partial.as_ref().map(|reason| format!("the run is not complete: {reason}")),
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
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A quiet state must not hide a noisy one.
fn wide_noise(floors: &[StateNoise]) -> Option<String> {
    let wide = floors.iter().filter(|it| it.floor.half_width.is_some_and(|width| width > MARGIN));
    let wide: Vec<String> =
        wide.filter_map(|it| Some(format!("{} in state {}", it.floor.width()?, it.state))).collect();
    (!wide.is_empty()).then(|| {
        format!(
            "the noise floor is {}: one arm measured twice differed by more than the margin of {}",
            wide.join(", "),
            percent(MARGIN)
        )
    })
}

/// So many controls with an interval that leaves out 1 that chance alone would do it once in a hundred runs.
fn rejected_controls(floor: &NoiseFloor) -> Option<String> {
    let (n, rejected) = (floor.pairs, floor.rejected);
    (rejected > 0 && chance_of_at_least(rejected, n, 0.05) < 0.01).then(|| {
        format!("{rejected} of {n} A/A controls differ from their baseline, which is the same arm: the intervals of this run are too narrow")
    })
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

fn stolen_time(record: &Record) -> Option<String> {
    let share = record.environment.steal_share.value().filter(|&&share| share > STEAL)?;
    Some(format!("{} of the CPU time was stolen by the hypervisor during the run", percent(*share)))
}

/// Skipped conditions cause no other warning.
fn measured<'r, 'a>(run: &'r Run<'a>) -> impl Iterator<Item = &'r Cell<'a>> {
    run.cells.iter().filter(|it| !it.passes.is_empty())
}

fn few_cpus(run: &Run) -> Option<String> {
    let cpus = run.record.environment.cpus;
    let threads = measured(run).flat_map(|it| &it.passes).map(|pass| pass.tally.threads).max()?;
    (threads > cpus).then(|| format!("{threads} threads took turns on {cpus} CPUs"))
}

fn busy(record: &Record) -> Option<String> {
    let (load, cpus) = (record.environment.load, f64::from(record.environment.cpus));
    (load > cpus / 2.0).then(|| format!("the machine was busy when the run began: load {load:.1} on {cpus:.0} CPUs"))
}

fn sparse(record: &Record) -> Option<String> {
    let target = &record.target;
    (target.allocated_bytes < target.bytes).then(|| {
        format!(
            "the file has holes, or is compressed: {} of {} are allocated, and reads of holes do not reach the device",
            size(target.allocated_bytes as f64),
            size(target.bytes as f64)
        )
    })
}

fn read_ahead(run: &Run) -> Option<String> {
    let cold = measured(run).any(|it| it.own.state == State::Cold);
    let bytes = *run.record.target.device.value()?.read_ahead_bytes.value()?;
    let usual = READ_AHEAD_BYTES / READ_AHEAD_FACTOR..=READ_AHEAD_BYTES * READ_AHEAD_FACTOR;
    (cold && !usual.contains(&bytes)).then(|| {
        format!(
            "read-ahead is {} on this device (usually {}): cold reads depend on it, most of all random reads through a \
             mapping without advice",
            size(bytes as f64),
            size(READ_AHEAD_BYTES as f64)
        )
    })
}

fn small_window(run: &Run) -> Option<String> {
    let file = run.record.target.bytes;
    let again = run.record.confirmations.iter().filter(|it| !it.pairs.is_empty()).map(|it| it.range.bytes);
    let widest = measured(run).map(|it| it.own.range.bytes).chain(again).max()?;
    ((widest as f64) < 0.9 * file as f64).then(|| {
        format!(
            "no pass touched more than {} of the file's {}: this part may fit into a cache or a memory limit where the \
             whole file does not",
            size(widest as f64),
            size(file as f64)
        )
    })
}

/// What was not calibrated is not explained, and predicted from less.
fn half_calibrated(record: &Record) -> Option<String> {
    let calibration = record.calibration.value()?;
    let (first, missing) = (calibration.missing.first()?, calibration.missing.len());
    let all = calibration.points.len() + missing;
    Some(format!(
        "unit costs are based on {} of {all} calibrated operations: {missing} could not be measured (the first: \
         {first})",
        all - missing
    ))
}

/// More than this over what an I/O throttle allows, and storage was not what the condition says.
const THROTTLE_LEEWAY: f64 = 0.05;

/// Bytes from the device over time, for mappings and read-ahead as for system calls, held against the throttle.
fn loose_throttle(run: &Run) -> Option<String> {
    let excess = run.cells.iter().filter_map(|cell| {
        let allowed = cell.own.storage?.read_bytes_per_s? as f64;
        let rates = cell.passes.iter().filter_map(|pass| Some(pass.reading("device_read_bytes")? * 1e9 / pass.ns));
        let rate = SortedValues::new(rates.collect())?.median();
        (rate > allowed * (1.0 + THROTTLE_LEEWAY)).then_some((cell, rate, allowed))
    });
    let (cell, rate, allowed) = excess.max_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)))?;
    Some(format!(
        "the I/O throttle of {:.1} MB/s was exceeded: {} got {:.1} MB/s ({})",
        allowed / 1e6,
        run.name(cell.arm()),
        rate / 1e6,
        run.label(cell)
    ))
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
