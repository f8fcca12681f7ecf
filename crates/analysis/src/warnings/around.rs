//! Influences around the passes that are part of their times: other users of the disk, pages that came or left, a device at
//! its ceiling, a kernel that evicts idle pages.

use std::collections::BTreeMap;

use schema::{
    Record, State, Workload,
    record::{Outcome, ReclaimScheme, Resident},
    warning::Warning,
};

use crate::measured::{Cell, Run};

/// Foreign bytes above this share of what the passes read themselves are warned of.
const FOREIGN: f64 = 0.05;
/// Fewer foreign bytes than this are ignored: a journal or a log.
const FOREIGN_BYTES: f64 = (4 << 20) as f64;
/// From this share of the ceiling on, arms differ by what the device leaves them.
const CEILING: f64 = 0.9;

pub(crate) fn of_passes(run: &Run) -> Vec<Warning> {
    let before = [foreign(run), at_the_ceiling(run), moved(run.record)].into_iter().flatten();
    let before = before.chain([Workload::Scan, Workload::Random].into_iter().filter_map(|it| low_ceiling(run, it)));
    let before = before.chain(through_page_cache(run));
    before.chain(uneven_starts(run.record)).chain(reclaimed(run.record)).collect()
}

/// What a command does with its files is seen by what it reads: from whatever state, one with O_DIRECT reads the disk.
fn waits_for_the_device(cell: &Cell) -> bool {
    let is_command_at_disk =
        || cell.own.is_of_commands() && cell.count("device_read_bytes").is_some_and(|it| it > FOREIGN_BYTES);
    let is_arm_at_disk = cell.own.workload.writes() || cell.arm().is_direct();
    cell.own.state.waits_for_device() || is_arm_at_disk || is_command_at_disk()
}

/// The disk's counters include all processes, the worker's only itself; the difference is foreign. Beside a beat they go on
/// for a while after the pass.
fn foreign(run: &Run) -> Option<Warning> {
    let (mut read, mut written, mut own, mut passes) = (0.0, 0.0, 0.0, 0u64);
    let is_counted = |cell: &&Cell| waits_for_the_device(cell) && cell.own.beside.is_nothing();
    for cell in run.cells.iter().filter(is_counted) {
        for pass in &cell.passes {
            let counted = |name| pass.reading(name);
            let (Some(ours), Some(from_disk), Some(to_disk)) =
                (counted("device_read_bytes"), counted("disk_read_bytes"), counted("disk_write_bytes"))
            else {
                continue;
            };
            read += (from_disk - ours).max(0.0);
            // What a writer is charged for are pages that it dirtied: they reach the disk later, if they are not written again,
            // and the journal with them. So what the disk wrote during such a pass cannot be divided into its own bytes and
            // those of others, and own bytes are what was read. A command may write, too.
            own += ours;
            let may_write = cell.own.is_of_commands() && counted("device_write_bytes").is_none_or(|it| it > 0.0);
            written += if cell.own.workload.writes() || may_write { 0.0 } else { to_disk };
            passes += 1;
        }
    }
    let foreign = read + written;
    (foreign > FOREIGN_BYTES && foreign > FOREIGN * own).then(|| Warning::DiskShared {
        device: run.record.target.device.value().map(|it| it.name.clone()),
        passes,
        read_bytes: read,
        written_bytes: written,
        own_bytes: own,
    })
}

fn low_ceiling(run: &Run, workload: Workload) -> Option<Warning> {
    let (share, cell) = run.low_ceiling(workload)?;
    let arm = run.name(cell.arm()).to_string();
    Some(Warning::LowCeiling { workload, arm, label: run.label(cell.id.cell), share })
}

fn through_page_cache(run: &Run) -> Option<Warning> {
    let device = run.record.target.device.value().filter(|it| it.through_page_cache)?;
    let measured = run.cells.iter().filter(|it| !it.passes.is_empty());
    let is_cold = |it: &Cell| it.own.state.waits_for_device() || it.arm().is_direct();
    { measured }.any(is_cold).then(|| Warning::ThroughPageCache { device: device.name.clone() })
}

fn at_the_ceiling(run: &Run) -> Option<Warning> {
    let share = |cell: &Cell| cell.ceiling_share(run).filter(|share| *share >= CEILING);
    // To be at a throttle is what a throttle is for.
    let mut reached: Vec<(f64, &Cell)> = run
        .cells
        .iter()
        .filter(|cell| !cell.entry.control && cell.own.storage.is_none())
        .filter_map(|cell| Some((share(cell)?, cell)))
        .collect();
    reached.sort_by(|a, b| b.0.total_cmp(&a.0));
    let &(share, first) = reached.first()?;
    let (arm, label) = (run.name(first.arm()).to_string(), run.label(first.id.cell));
    Some(Warning::AtTheCeiling { arm, label, share, more: reached.len() - 1 })
}

/// Passes and the pages before and after, of states that are recorded with both; not of writes with O_DIRECT, which take
/// their pages out of the page cache themselves (open(2)).
fn residencies(record: &Record) -> impl Iterator<Item = (State, Resident, Resident)> {
    record.samples.iter().filter(|it| !matches!(it.outcome, Outcome::Failed { .. })).filter_map(|sample| {
        let cell = record.cells.get(sample.cell)?;
        let own = cell.own_condition.as_ref().or_else(|| record.conditions.get(cell.condition))?;
        let drops_pages = own.workload.writes() && cell.arm.is_direct();
        (!drops_pages).then_some(())?;
        Some((own.state, *sample.resident_before.value()?, *sample.resident_after.value()?))
    })
}

fn moved(record: &Record) -> Option<Warning> {
    let kept = residencies(record).filter(|it| matches!(it.0, State::Cached | State::Mapped | State::Locked));
    let (mut passes, mut lost, mut most_pages) = (0u64, 0u64, 0u64);
    for (_, before, after) in kept {
        passes += 1;
        let left = before.pages.saturating_sub(after.pages);
        lost += u64::from(left > 0);
        most_pages = most_pages.max(left);
    }
    (lost > 0).then_some(Warning::PagesLeft { lost, passes, most_pages })
}

/// In state as-is the passes' starts are not made alike. Those of windows of different sizes differ in any case: one for each
/// size of window whose passes began differently.
fn uneven_starts(record: &Record) -> impl Iterator<Item = Warning> {
    let mut windows: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for (_, before, after) in residencies(record).filter(|it| it.0 == State::AsIs) {
        windows.entry(before.of).or_default().push((before.pages, after.pages));
    }
    windows.into_values().filter_map(|passes| {
        let changed = passes.iter().filter(|(before, after)| before != after).count() as u64;
        let pages = |of: fn(u64, u64) -> u64| passes.iter().map(|it| it.0).reduce(of);
        let (least_pages, most_pages) = pages(u64::min).zip(pages(u64::max))?;
        let passes = passes.len() as u64;
        let is_uneven = changed > 0 && least_pages != most_pages;
        is_uneven.then_some(Warning::UnevenStarts { changed, passes, least_pages, most_pages })
    })
}

fn reclaimed(record: &Record) -> Option<Warning> {
    let schemes = record.environment.reclaim_schemes.value()?;
    let scheme = schemes.iter().find(|it| ReclaimScheme::pushes_out(&it.action))?.clone();
    Some(Warning::Reclaimed { scheme })
}
