//! Who else stops: how late a second thread of the worker was for its deadlines, beside the passes of an arm.
//!
//! An arm is held against itself with its pages in memory, because computing stops others too where a runtime lets one thread
//! run at a time, and so does other work of the machine. Arms of two runtimes are not held against each other: each sleeps in its own way.

use schema::{
    Beside, Condition, Span, State,
    beats::{Beats, LEAST_PASSES, Lateness, P99_DEADLINES, begins_ns},
    findings::{BeatControl, BeatFinding, BeatLateness, BeatPoint, BeatSays},
};

use crate::measured::{Cell, Run};

/// A thread that nothing stops is late for so many of its deadlines by chance.
const NOBODY: f64 = 0.02;
/// The 99th of a hundred differs by chance, and so does the share of a few deadlines; from here on it is called a difference.
pub(crate) const APART: f64 = 3.0;
/// The share of the deadlines of a whole pass.
const MORE_OFTEN: f64 = 2.0;
/// Where an arm is its own control, the one that is taken first.
pub(crate) const IN_MEMORY: [State; 3] = [State::Mapped, State::Cached, State::Locked];

/// Of arms that were measured beside a beat.
pub(crate) fn all(run: &Run) -> Vec<BeatFinding> {
    let idle = idle(run);
    let found = run.cells.iter().filter(|cell| !cell.entry.control).filter_map(|cell| finding(run, cell, &idle));
    found.collect()
}

/// Beside no pass.
fn idle(run: &Run) -> Lateness {
    let mut idle = Lateness::default();
    let passes = run.cells.iter().flat_map(|it| &it.passes);
    passes.filter_map(|it| it.beats).for_each(|it| idle.add(&it.idle));
    idle
}

/// The share of the deadlines beside no pass that stalled, where as many as beside an arm may be due to other work.
pub(crate) fn busy(run: &Run, cell: &Cell) -> Option<f64> {
    let found = finding(run, cell, &idle(run))?;
    (found.says == BeatSays::Busy).then_some(found.busy_share)
}

/// `all_idle`: of the whole run, because other work comes and goes.
fn finding(run: &Run, cell: &Cell, all_idle: &Lateness) -> Option<BeatFinding> {
    let (passes, merged) = merged(cell)?;
    let late = lateness(&merged.pass, merged.period_ns);
    let idle = lateness(&merged.idle, merged.period_ns);
    let control = control(run, cell);
    let busy = [idle.stalled_share, all_idle.stalled_share(merged.period_ns)].into_iter().flatten();
    let busy_share = busy.fold(0.0, f64::max);
    let says = says(cell.own.state, (passes, &late), busy_share, control.as_ref());
    Some(BeatFinding {
        id: cell.id,
        arm: cell.arm().name.clone(),
        name: run.name(cell.arm()).to_string(),
        condition: cell.own.clone(),
        passes,
        period_ns: merged.period_ns,
        late,
        idle,
        busy_share,
        control,
        curve: curve(&merged.pass),
        says,
    })
}

/// The beats of all passes together, and of how many.
fn merged(cell: &Cell) -> Option<(u32, Beats)> {
    let mut beats = cell.passes.iter().filter_map(|it| it.beats);
    let mut all = beats.next()?.clone();
    let mut passes = 1;
    for more in beats.filter(|it| it.period_ns == all.period_ns).collect::<Vec<&Beats>>() {
        all.pass.add(&more.pass);
        all.idle.add(&more.idle);
        passes += 1;
    }
    Some((passes, all))
}

fn lateness(of: &Lateness, period_ns: u64) -> BeatLateness {
    BeatLateness {
        deadlines: of.deadlines,
        wake_ups: of.wake_ups,
        median_ns: of.median_ns(),
        p99_ns: of.p99_ns(),
        max_ns: of.max_ns,
        stalled_share: of.stalled_share(period_ns),
    }
}

/// The same arm at the same work where its pages are mapped or, if that was not measured for long enough, in the page cache.
fn control(run: &Run, cell: &Cell) -> Option<BeatControl> {
    if IN_MEMORY.contains(&cell.own.state) {
        return None;
    }
    let others = run.cells.iter().filter(|it| !it.entry.control && it.arm() == cell.arm());
    let alike = others.filter(|it| IN_MEMORY.contains(&it.own.state) && work(it.own) == work(cell.own));
    let measured = alike.filter_map(|it| Some((it, merged(it)?)));
    let rank = |it: &Cell| IN_MEMORY.iter().position(|state| *state == it.own.state);
    let elsewhere = |it: &Cell| it.id.condition.comparison_index != cell.id.condition.comparison_index;
    let is_short = |passes: u32, it: &Beats| too_few(passes, it.pass.deadlines).is_some();
    let (found, (passes, beats)) =
        measured.min_by_key(|(it, (passes, beats))| (is_short(*passes, beats), rank(it), elsewhere(it)))?;
    let late = lateness(&beats.pass, beats.period_ns);
    Some(BeatControl { id: found.id, condition: found.own.clone(), passes, late })
}

/// What is done, wherever the pages are and however much of it.
fn work(of: &Condition) -> Condition {
    Condition {
        state: State::Mapped,
        storage: None,
        fill: None,
        memory_bytes: None,
        range: Span { offset: 0, bytes: 0 },
        ops: 0,
        beside: Beside::Beat,
        ..of.clone()
    }
}

/// What there is too little of to say anything.
fn too_few(passes: u32, deadlines: u64) -> Option<BeatSays> {
    match () {
        () if deadlines < P99_DEADLINES => Some(BeatSays::TooFewDeadlines),
        () if passes < LEAST_PASSES => Some(BeatSays::TooFewPasses),
        () => None,
    }
}

fn says(
    state: State,
    (passes, late): (u32, &BeatLateness),
    busy_share: f64,
    control: Option<&BeatControl>,
) -> BeatSays {
    let stalled = |of: &BeatLateness| of.stalled_share.unwrap_or(0.0);
    let tail = |of: &BeatLateness| of.p99_ns.unwrap_or(of.max_ns as f64);
    if let Some(says) = too_few(passes, late.deadlines) {
        return says;
    }
    if stalled(late) <= NOBODY {
        return BeatSays::Nobody;
    }
    // Other work of this machine stops threads as well.
    if stalled(late) <= APART * busy_share {
        return BeatSays::Busy;
    }
    match control {
        None if IN_MEMORY.contains(&state) => BeatSays::InMemory,
        Some(control) if too_few(control.passes, control.late.deadlines).is_none() => {
            let control = &control.late;
            // Where most are stalled already, it is the others that become fewer.
            let on_time = |of: &BeatLateness| 1.0 - stalled(of);
            let longer = tail(late) > APART * tail(control)
                || stalled(late) > MORE_OFTEN * stalled(control)
                || on_time(control) > MORE_OFTEN * on_time(late);
            match (stalled(control) <= NOBODY, longer) {
                (true, true) => BeatSays::Waiting,
                (false, true) => BeatSays::LongerThanInMemory,
                (_, false) => BeatSays::AsInMemory,
            }
        }
        None | Some(_) => BeatSays::NoControl,
    }
}

/// One point at the end of each bin that has a deadline: down to the latest, than which none is later.
fn curve(of: &Lateness) -> Vec<BeatPoint> {
    let all: f64 = of.bins.iter().map(|it| *it as f64).sum();
    let mut later = all;
    let used = of.bins.iter().enumerate().filter(|(_, count)| **count > 0);
    used.map(|(bin, &count)| {
        later -= count as f64;
        let ends = begins_ns(bin + 1).min(of.max_ns as f64);
        BeatPoint { late_ns: ends, later_share: (later / all).max(0.0) }
    })
    .collect()
}
