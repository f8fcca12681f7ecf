//! The share that matters: where the time of a command went, and how much of it reading can be at most.
//!
//! A command's own work is its user time. Whatever it spends on getting bytes is system time or waiting, so what is
//! neither bounds what another way of reading with this user time could save: system time for other things, waiting for other things and
//! being descheduled are in it too, which makes it an upper bound and never an estimate. It says nothing of a switch
//! that also changes what the program does with the bytes.
//!
//! One cost of reading is part of the user time: through a mapping the cache misses happen while the program works, and
//! with a system call while the kernel copies. So the least user time among the arms of a condition is taken for the
//! work of each.
//!
//! With several threads at work, the time that passed is theirs together: were reading free, the user time would still take
//! what it takes on so many processors.

use schema::{
    Reading,
    findings::{CommandFinding, CommandTime, Verdict},
    reason::{Reason, Unseen},
};

use super::{confounders, mechanism};
use crate::{
    compare::compare,
    measured::{Cell, Run},
    stats::SortedValues,
};

/// How many standard deviations of counting ticks are taken off the user time before it counts as the command's own.
const TICK_DEVIATIONS: f64 = 2.0;

/// Shares above this bound nothing worth saying.
const ALL: f64 = 0.98;

/// What passes spent together.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    pub wall_ns: f64,
    pub user_ns: f64,
    pub system_ns: f64,
    /// Threads that were at work at once.
    pub at_once: f64,
    /// Between two ticks of the kernel's timer.
    pub tick_ns: f64,
}

impl Spent {
    /// The user time, less what counting ticks may have got wrong: the sum with system time comes from the scheduler's
    /// clock; how it divides, from so many ticks.
    pub fn own_ns(&self) -> f64 {
        let cpu = self.user_ns + self.system_ns;
        let (ticks, share) = (cpu / self.tick_ns, self.user_ns / cpu.max(1.0));
        let doubt = TICK_DEVIATIONS * (ticks * share * (1.0 - share)).max(1.0).sqrt() * self.tick_ns;
        (self.user_ns - doubt).max(0.0)
    }

    /// The share of the time that passed which reading can be at most, when so much of it is the command's own work.
    pub fn reading_at_most(&self, own_ns: f64) -> f64 {
        (1.0 - own_ns / (self.wall_ns * self.at_once)).clamp(0.0, 1.0)
    }
}

pub(crate) fn all(run: &Run) -> Vec<CommandFinding> {
    let of_command = |cell: &&Cell| cell.own.is_of_commands() && !cell.entry.control;
    let cells = || run.cells.iter().filter(of_command).filter(|cell| !cell.passes.is_empty());
    // Of a pass, and whose it is.
    let least = |of: &Cell| -> Option<(f64, String)> {
        // What did other work bounds nothing.
        let comparable = |it: &&Cell| std::ptr::eq(*it, of) || compare(run, of, it).verdict != Verdict::NotComparable;
        let rivals = cells().filter(|it| it.entry.condition == of.entry.condition).filter(comparable);
        // All of what few ticks divide may be reading, and so may all of a command whose times are not known.
        let own = |it: &Cell| match it.why_undivided() {
            Some(_) => 0.0,
            None => spent(run, it).map_or(0.0, |of| of.own_ns() / it.passes.len() as f64),
        };
        let own = rivals.map(|it| (own(it), it.arm().name.clone()));
        own.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    cells().map(|cell| finding(run, cell, least(cell))).collect()
}

fn finding(run: &Run, cell: &Cell, least: Option<(f64, String)>) -> CommandFinding {
    let time = time(run, cell, least);
    let baseline = run.baseline(cell.entry.condition).filter(|it| !std::ptr::eq(*it, cell));
    let median = |name: &str| cell.reading(name, SortedValues::median);
    let amplification = match (median("device_read_bytes"), cell.own.state) {
        (reading, state) if state.waits_for_device() => {
            reading.map(|bytes| bytes / cell.condition.file_bytes.max(1) as f64)
        }
        _ => Reading::unavailable(Unseen::OtherState),
    };
    CommandFinding {
        id: cell.id,
        arm: cell.arm().name.clone(),
        condition: cell.condition.clone(),
        says: String::new(),
        memory: None,
        time,
        confounders: baseline.map_or_else(Vec::new, |baseline| confounders::of(run, baseline, cell)),
        amplification,
        cgroup_limit_bytes: median("cgroup_limit_bytes"),
        cgroup_memory_bytes: median("cgroup_memory_bytes"),
        cgroup_peak_bytes: largest(cell, "cgroup_peak_bytes"),
        cgroup_file_bytes: median("cgroup_file_bytes"),
        cgroup_anonymous_bytes: median("cgroup_anonymous_bytes"),
    }
}

/// Of all executions.
fn largest(cell: &Cell, name: &str) -> Reading<f64, Reason> {
    cell.reading(name, |sample| sample.quantile(1.0))
}

fn sum(cell: &Cell, name: &str) -> Option<f64> {
    cell.passes.iter().map(|pass| pass.reading(name)).sum()
}

fn threads_seen(cell: &Cell) -> Option<f64> {
    // A look that catches a program while it starts or ends may see one too many, so no single execution decides.
    cell.reading("threads_at_once", |sample| sample.median().ceil()).value().copied()
}

fn spent(run: &Run, cell: &Cell) -> Option<Spent> {
    let (user_ns, system_ns) = (sum(cell, "user_ns")?, sum(cell, "system_ns")?);
    let wall_ns = Some(cell.passes.iter().map(|pass| pass.ns).sum()).filter(|&ns: &f64| ns > 0.0)?;
    let cpus = f64::from(run.record.environment.cpus.max(1));
    let busy = (user_ns + system_ns) / wall_ns;
    // Not seen: as many as there are processors, which bounds least.
    let at_once = threads_seen(cell).map_or(cpus, |seen| seen.max((busy - 0.02).ceil()).clamp(1.0, cpus));
    Some(Spent { wall_ns, user_ns, system_ns, at_once, tick_ns: cell.tick_ns })
}

fn time(run: &Run, cell: &Cell, least: Option<(f64, String)>) -> Reading<CommandTime, Reason> {
    if let Some(why) = cell.why_undivided() {
        return Reading::unavailable(why);
    }
    let (Some(spent), Some((own_ns, whose))) = (spent(run, cell), least) else {
        return Reading::unavailable(Unseen::NoCpuTime);
    };
    let Spent { wall_ns, user_ns, system_ns, at_once, .. } = spent;
    let busy = (user_ns + system_ns) / wall_ns;
    let device = sum(cell, "disk_busy_ns").map(|busy| (busy / wall_ns).min(1.0));
    let reading_at_most = spent.reading_at_most(own_ns * cell.passes.len() as f64);
    // Only where both ways were measured is it known what user time either of them has.
    let is_bound = reading_at_most < ALL && mechanism::both_ways(run, cell);
    Reading::Value(CommandTime {
        threads_at_once: at_once as u32,
        threads_seen: threads_seen(cell).is_some(),
        user_share: user_ns / wall_ns,
        system_share: system_ns / wall_ns,
        waited_share: match at_once > 1.0 {
            true => Reading::unavailable(Unseen::SeveralThreads),
            false => Reading::Value((1.0 - busy).max(0.0)),
        },
        device_busy_share: Reading::from(device.ok_or(Unseen::NoDiskCounters)),
        reading_at_most,
        faster_at_most: is_bound.then(|| 1.0 / (1.0 - reading_at_most)),
        own_work_of: whose,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: f64 = 1e9;

    fn at_most(wall_s: f64, user_s: f64, system_s: f64, at_once: f64) -> f64 {
        let spent = Spent { wall_ns: wall_s * S, user_ns: user_s * S, system_ns: system_s * S, at_once, tick_ns: 4e6 };
        spent.reading_at_most(spent.own_ns())
    }

    #[test]
    fn what_is_not_user_time_may_be_reading_and_nothing_else() {
        // 96 of 100 s of user time: the ticks of so long a time leave no doubt worth the name.
        assert!((at_most(100.0, 96.0, 2.0, 1.0) - 0.04).abs() < 0.004);
        assert!((at_most(100.0, 20.0, 70.0, 1.0) - 0.80).abs() < 0.01);
    }

    #[test]
    fn two_threads_do_their_own_work_in_half_the_time() {
        // 100 s passed, 100 s of user time on two processors: reading could be what keeps them from taking 50 s.
        assert!((at_most(100.0, 100.0, 20.0, 2.0) - 0.5).abs() < 0.01);
    }

    #[test]
    fn short_passes_bound_less_because_ticks_tell_less() {
        let (short, long) = (at_most(0.1, 0.09, 0.005, 1.0), at_most(100.0, 90.0, 5.0, 1.0));
        assert!(short > long + 0.05, "{short} {long}");
        assert_eq!(at_most(0.001, 0.001, 0.0, 1.0), 1.0);
    }

    #[test]
    fn work_that_another_way_of_reading_does_in_less_user_time_is_not_the_commands_own() {
        // A mapping: hardly any system time, but its misses are user time. A copy in the kernel: 107 of 297 s.
        let mapped = Spent { wall_ns: 190.0 * S, user_ns: 178.0 * S, system_ns: 7.0 * S, at_once: 1.0, tick_ns: 4e6 };
        let copied = Spent { wall_ns: 297.0 * S, user_ns: 107.0 * S, system_ns: 184.0 * S, at_once: 1.0, tick_ns: 4e6 };
        assert!(mapped.reading_at_most(mapped.own_ns()) < 0.07);
        let share = mapped.reading_at_most(copied.own_ns());
        assert!((share - 0.44).abs() < 0.01, "{share}");
    }

    #[test]
    fn the_bound_is_a_share_whatever_the_clocks_say() {
        for (wall, user, system) in [(1.0, 2.0, 0.0), (1.0, 0.0, 0.0), (1e-9, 5.0, 5.0), (10.0, 1.0, 100.0)] {
            let share = at_most(wall, user, system, 1.0);
            assert!((0.0..=1.0).contains(&share), "{share}");
        }
    }
}
