//! Influences around the passes that are part of their times: other users of the disk, pages that came or left, a device at
//! its ceiling, a kernel that evicts idle pages.

use schema::{
    Record, State,
    record::{Outcome, ReclaimScheme, Resident},
};

use crate::{
    measured::{Cell, Run},
    words::{percent, rough_size, size, thousands},
};

/// Foreign bytes above this share of the passes' own bytes are warned of.
const FOREIGN: f64 = 0.05;
/// Fewer foreign bytes than this are ignored: a journal or a log.
const FOREIGN_BYTES: f64 = (4 << 20) as f64;
/// From this share of the ceiling on, arms differ by what the device leaves them.
const CEILING: f64 = 0.9;

pub(crate) fn of_passes(run: &Run) -> Vec<String> {
    [foreign(run), at_the_ceiling(run), moved(run.record), uneven_starts(run.record), reclaimed(run.record)]
        .into_iter()
        .flatten()
        .collect()
}

fn waits_for_the_device(cell: &Cell) -> bool {
    matches!(cell.own.state, State::Cold | State::Limited) || cell.own.workload.writes() || cell.arm().is_direct()
}

/// The disk's counters include all processes, the worker's only itself; the difference is foreign.
fn foreign(run: &Run) -> Option<String> {
    let (mut read, mut written, mut own, mut passes) = (0.0, 0.0, 0.0, 0u64);
    for cell in run.cells.iter().filter(|cell| waits_for_the_device(cell)) {
        for pass in &cell.passes {
            let counted = |name| pass.reading(name);
            let (Some(ours), Some(from_disk), Some(to_disk)) =
                (counted("device_read_bytes"), counted("disk_read_bytes"), counted("disk_write_bytes"))
            else {
                continue;
            };
            read += (from_disk - ours).max(0.0);
            // A writer's dirty pages reach the disk later, so its bytes and foreign ones cannot be separated.
            let (foreign, mine) = if cell.own.workload.writes() { (0.0, to_disk) } else { (to_disk, 0.0) };
            written += foreign;
            own += ours + mine;
            passes += 1;
        }
    }
    let foreign = read + written;
    (foreign > FOREIGN_BYTES && foreign > FOREIGN * own).then(|| {
        let device = run.record.target.device.value().map_or("the disk", |it| it.name.as_str());
        format!(
            "other processes used {device} during the {} passes that use it: {} read and {} written, besides the \
             passes' own {}; this is part of the measured times",
            thousands(passes),
            size(read),
            size(written),
            size(own)
        )
    })
}

fn at_the_ceiling(run: &Run) -> Option<String> {
    let share = |cell: &Cell| cell.ceiling_share(run).filter(|&share| share >= CEILING);
    // To be at a throttle is what a throttle is for.
    let mut reached: Vec<(f64, &Cell)> = run
        .cells
        .iter()
        .filter(|cell| !cell.entry.control && cell.own.storage.is_none())
        .filter_map(|cell| Some((share(cell)?, cell)))
        .collect();
    reached.sort_by(|a, b| b.0.total_cmp(&a.0));
    let &(most, first) = reached.first()?;
    let more = if reached.len() > 1 { format!(" and {} more", reached.len() - 1) } else { String::new() };
    Some(format!(
        "at the device's ceiling: {} with {} of it ({}){more}; such cells measure the device, and a faster method \
         would show no difference",
        run.name(first.arm()),
        percent(most),
        run.label(first)
    ))
}

/// Passes and the pages before and after, of states that are recorded with both.
fn residencies(record: &Record) -> impl Iterator<Item = (State, Resident, Resident)> {
    record.samples.iter().filter(|it| !matches!(it.outcome, Outcome::Failed { .. })).filter_map(|sample| {
        let cell = record.cells.get(sample.cell)?;
        let own = cell.own_condition.as_ref().or_else(|| record.conditions.get(cell.condition))?;
        Some((own.state, *sample.resident_before.value()?, *sample.resident_after.value()?))
    })
}

fn moved(record: &Record) -> Option<String> {
    let kept = residencies(record).filter(|it| matches!(it.0, State::Cached | State::Mapped | State::Locked));
    let (mut all, mut lost, mut most) = (0u64, 0u64, 0u64);
    for (_, before, after) in kept {
        all += 1;
        let left = before.pages.saturating_sub(after.pages);
        lost += u64::from(left > 0);
        most = most.max(left);
    }
    (lost > 0).then(|| {
        format!(
            "pages of the file left the page cache during {} of {} passes that need them there (up to {}); those \
             passes do not count. The cause may persist: memory pressure, another program, or a reclaim scheme",
            thousands(lost),
            thousands(all),
            thousands(most)
        )
    })
}

/// In state as-is the passes' starts are not made alike.
fn uneven_starts(record: &Record) -> Option<String> {
    let as_is: Vec<(State, Resident, Resident)> = residencies(record).filter(|it| it.0 == State::AsIs).collect();
    let changed = as_is.iter().filter(|(_, before, after)| before.pages != after.pages).count();
    let pages = |of: fn(u64, u64) -> u64| as_is.iter().map(|it| it.1.pages).reduce(of);
    let (least, most) = pages(u64::min).zip(pages(u64::max))?;
    (changed > 0 && least != most).then(|| {
        format!(
            "in state as-is the residency changed during {} of {} passes, which began with {} to {} resident pages: \
             their starting states differ",
            thousands(changed as u64),
            thousands(as_is.len() as u64),
            thousands(least),
            thousands(most)
        )
    })
}

fn reclaimed(record: &Record) -> Option<String> {
    let schemes = record.environment.reclaim_schemes.value()?;
    let scheme = schemes.iter().find(|it| ReclaimScheme::pushes_out(&it.action))?;
    let quota = scheme.quota_bytes_per_s.map(|rate| format!(", up to {}/s", rough_size(rate))).unwrap_or_default();
    Some(format!(
        "the kernel reclaims memory that was not accessed for {:.0} s{quota} (DAMON scheme {:?} of kdamond.{}): pages \
         of the file can leave the page cache between passes, and idle memory becomes slower to access",
        scheme.idle_s, scheme.action, scheme.kdamond
    ))
}
