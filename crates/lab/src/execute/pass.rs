//! One pass: a worker of its own, a state that is reached and verified, and a second look afterwards. The only place
//! where passes are made.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use schema::{
    Arm, Condition, Consume, Record, Span, State,
    command::COMMAND,
    leftover::FileIdentity,
    protocol::{Done, Job, Parts, Permit, Phases, Tally, Usage},
    record::{Reading, Resident},
    timeline::Passing,
};
use sys::guard::Guard;

use super::{Settings, clock::Clock, filled::Filled};
use crate::{
    cgroups::Cgroups,
    cold, counted,
    link::{Link, Trouble},
    probe::{self, Probes},
    runtime, state,
    steady::{Misses, WarmUp},
    target::Target,
    writing,
};

/// Everything that passes need, and the record they go into.
pub struct Bench<'a> {
    pub target: &'a Target,
    pub(super) record: Record,
    pub(super) interrupted: &'a AtomicBool,
    pub(super) random: fastrand::Rng,
    pub(super) passes: u64,
    /// From 1; 0 before the rounds.
    pub(super) round: u32,
    /// What the page cache was last filled with.
    pub(super) filled: Option<Filled>,
    pub(super) settings: &'a Settings<'a>,
    pub(super) cgroups: Cgroups<'a>,
    pub(super) clock: Clock,
    /// What one pass of a cell takes, all in all, as its trial showed.
    pub(super) expected: BTreeMap<usize, Duration>,
    /// When timed passes were, for the timeline.
    pub(super) passings: Vec<Passing>,
    /// What changed of what is read; nothing is measured after that.
    pub(super) spoiled: Option<String>,
    /// Ends commands when this process and their worker are killed at once.
    pub(super) guard: Option<Guard>,
}

/// What a worker is to do, and to which file: the target, or a copy of it.
#[derive(Clone, Copy)]
struct Work<'a> {
    arm: &'a Arm,
    condition: &'a Condition,
    target: &'a Target,
}

/// What is to be counted, and of which of the worker's threads.
struct Watched<'a> {
    kit: &'a counted::Kit,
    thread: u32,
    watch: &'a mut Option<counted::Watch>,
}

/// Why a state was not reached, and what was seen on the way.
type Reached = (Option<String>, BTreeMap<String, Reading<f64>>);

/// A pass that ran, before it is judged.
pub(super) struct Pass {
    pub(super) done: Done,
    pub(super) readings: BTreeMap<String, Reading<f64>>,
    pub(super) resident_before: Reading<Resident>,
    pub(super) resident_after: Reading<Resident>,
    /// Why it does not count.
    pub(super) invalid: Option<String>,
    pub(super) overhead_ns: f64,
    /// From GO to done.
    pub(super) went: [Instant; 2],
}

impl Bench<'_> {
    /// A pass for its numbers alone, outside the plan.
    ///
    /// # Errors
    /// Why there are none.
    pub fn measure(&mut self, arm: &Arm, condition: &Condition) -> Result<(Phases, Tally), String> {
        self.observe(arm, condition).map(|done| (done.phases, done.tally))
    }

    /// As `measure`, at random places of this pass alone: a cache below the kernel would answer the same ones faster the second
    /// time, and then it is the cache that is measured.
    ///
    /// # Errors
    /// Why there are none.
    pub fn measure_anew(&mut self, arm: &Arm, condition: &Condition) -> Result<(Phases, Tally), String> {
        let round = std::mem::replace(&mut self.round, round_of_pass(self.passes));
        let measured = self.measure(arm, condition);
        self.round = round;
        measured
    }

    /// As `measure`, with what the worker spent.
    ///
    /// # Errors
    /// Why there is nothing.
    pub fn observe(&mut self, arm: &Arm, condition: &Condition) -> Result<Done, String> {
        match self.pass(arm, condition) {
            Ok(Pass { invalid: Some(reason), .. }) => Err(reason),
            Ok(pass) => Ok(pass.done),
            Err(Trouble::Failed(reason) | Trouble::Unavailable(reason)) => Err(reason),
            Err(Trouble::Interrupted) => Err("interrupted".into()),
        }
    }

    /// Starts a worker, reaches and verifies the state, lets it make one pass, and looks again.
    pub(super) fn pass(&mut self, arm: &Arm, condition: &Condition) -> Result<Pass, Trouble> {
        let pass = self.watched_pass(arm, condition, None);
        if pass.is_err() && arm.runtime == COMMAND {
            // A worker that was killed, for lack of memory say, could not end what it had started.
            sys::process::end_children(Duration::ZERO);
            self.guard.as_ref().inspect(|it| it.all_ended());
        }
        pass
    }

    /// As `pass`; with a kit, events are counted between `go` and `done`. A file that changed ends the run: what a pass
    /// read of it, and what later ones would, is another question. Also of a pass that failed, which the change may
    /// have caused.
    pub(super) fn watched_pass(
        &mut self,
        arm: &Arm,
        condition: &Condition,
        watched: Option<(&counted::Kit, &mut Option<counted::Watch>)>,
    ) -> Result<Pass, Trouble> {
        let pass = self.one_pass(arm, condition, watched);
        let Err(change) = self.unchanged() else { return pass };
        let during = if arm.runtime == COMMAND { format!(", while {} ran", arm.short_name()) } else { String::new() };
        let mut reason = format!("{change}{during}; the run ends here");
        self.spoiled.get_or_insert_with(|| reason.clone());
        match pass {
            Err(Trouble::Interrupted) => return Err(Trouble::Interrupted),
            Err(Trouble::Failed(failure)) => reason = format!("{reason} ({failure})"),
            Ok(_) | Err(Trouble::Unavailable(_)) => {}
        }
        Err(Trouble::Failed(reason))
    }

    /// Whether the target is still what it was when the run began. What is written on purpose only keeps its name.
    ///
    /// # Errors
    /// What changed.
    pub(super) fn unchanged(&self) -> Result<(), String> {
        match self.record.conditions.iter().any(|it| it.workload.writes()) {
            true => self.target.in_place(),
            false => self.target.unchanged(),
        }
    }

    fn one_pass(
        &mut self,
        arm: &Arm,
        condition: &Condition,
        watched: Option<(&counted::Kit, &mut Option<counted::Watch>)>,
    ) -> Result<Pass, Trouble> {
        if condition.workload.writes() {
            writing::create(self.target, condition, self.record.seed, self.interrupted)?;
            self.filled = None;
        }
        let copy = match condition.fill() {
            Some(fill) => self.fill(fill, condition)?,
            None => None,
        };
        let target = copy.as_deref().unwrap_or(self.target);
        // The first time a runtime may have to be compiled, which no other pass takes.
        let command = runtime::guarded_worker(arm, self.guard.as_ref()).map_err(Trouble::Unavailable)?;
        let began = Instant::now();
        self.passes += 1;
        let (link, hello) = Link::start(command, self.interrupted)?;
        if !hello.about.is_empty() {
            self.record.runtimes.insert(hello.runtime, hello.about);
        }
        let thread = hello.thread.unwrap_or(link.pid());
        let watched = watched.map(|(kit, watch)| Watched { kit, thread, watch });
        let mut pass = self.conduct(link, &Work { arm, condition, target }, watched)?;
        if condition.fill().is_some() && pass.invalid.is_some() {
            self.filled = None;
        }
        if condition.workload.writes() {
            // What is there now was written by the pass, and is read back.
            self.filled = None;
            pass.invalid = self.read_back(condition, &mut pass.done.tally)?.or(pass.invalid);
        }
        pass.overhead_ns = (began.elapsed().as_nanos() as f64 - pass.done.phases.total_ns() as f64).max(0.0);
        Ok(pass)
    }

    /// From a worker that has started to one that has ended: it makes ready, the state is reached and verified, it goes,
    /// and the state is looked at again.
    fn conduct(&mut self, mut link: Link, work: &Work, mut watched: Option<Watched>) -> Result<Pass, Trouble> {
        let &Work { arm, condition, target } = work;
        let limit = self.make_ready(&mut link, work, &mut watched)?;
        let (mut invalid, on_the_way) = self.reach(&mut link, work)?;
        let look = || match condition.state != State::Cold || target.way() != Ok(sys::cache::Way::Nowait) {
            true => state::residency(target, condition.range),
            false => Reading::unavailable("asking would start read-ahead of a file that should stay cold"),
        };
        let resident_before = look();
        invalid = invalid.or_else(|| state::verify_before(condition.state, &resident_before).err());
        let mapped_before = condition
            .state
            .is_held()
            .then(|| sys::process::mapped(link.pid(), &target.identity()).map_err(|it| it.to_string()));

        let probes = Probes::start(target, link.pid());
        let mut watch = watched.and_then(|it| it.watch.as_mut());
        if let Some(watch) = &mut watch {
            watch.start();
        }
        let went_from = Instant::now();
        let answered = link.go(self.passes, self.clock.pass_limit());
        let mut done = match answered {
            Err(trouble) if condition.workload.writes() => return Err(writing::blame(target, condition, trouble)),
            other => other?,
        };
        let went = [went_from, Instant::now()];
        if let Some(watch) = &mut watch {
            watch.stop();
        }
        let mut readings = self.readings(probes, &link, &mut done, work, limit);
        readings.extend(on_the_way);
        let resident_after = look();
        let seen = state::Evidence {
            arm,
            writes: condition.workload.writes(),
            resident_before: &resident_before,
            resident_after: &resident_after,
            mapped_before,
            device_read_bytes: readings.get("device_read_bytes").and_then(|it| it.value().copied()),
            done: &done,
        };
        invalid = invalid.or_else(|| state::verify_after(condition.state, target.way().ok(), &seen).err());
        if arm.runtime == COMMAND && invalid.is_none() && condition.state == State::Cold {
            invalid = state::verify_touched(&seen).err();
        }
        link.bye()?;
        self.cgroups.lift(arm);
        Ok(Pass { done, readings, resident_before, resident_after, invalid, overhead_ns: 0.0, went })
    }

    /// A worker under its limits and with its job prepared. The limit on its memory, where there is one.
    fn make_ready(
        &mut self,
        link: &mut Link,
        work: &Work,
        watched: &mut Option<Watched>,
    ) -> Result<Option<u64>, Trouble> {
        let &Work { arm, condition, target } = work;
        if arm.runtime == COMMAND {
            link.let_it_clean_up(arm.options.contains_key("cleanup"));
        }
        if condition.state == State::Limited {
            // Pages that are in the page cache already are charged to no limit.
            self.look_again();
            self.filled = None;
            cold::evict(target, self.interrupted)?;
        }
        self.cgroups.admit(link.pid(), arm, condition, target)?;
        // What this thread starts from here on is counted with it.
        if let Some(Watched { kit, thread, watch }) = watched {
            **watch = Some(kit.watch(*thread));
        }
        let mut job = self.job(arm, condition, target);
        // The loop by itself is timed before the reply, and would be counted with the pass.
        job.times_its_loop &= watched.is_none();
        link.prepare_within(self.clock.pass_limit(), &job)?;
        self.cgroups.tighten(arm, condition)
    }

    /// The state, once the worker is ready.
    fn reach(&mut self, link: &mut Link, work: &Work) -> Result<Reached, Trouble> {
        match work.condition.state {
            State::Cold => {
                self.look_again();
                self.filled = None;
                match cold::make_cold(work.target, work.condition.range, self.interrupted) {
                    Ok(()) => Ok((None, BTreeMap::new())),
                    Err(Trouble::Failed(reason)) => Ok((Some(reason), BTreeMap::new())),
                    Err(trouble) => Err(trouble),
                }
            }
            State::Limited => self.warm_up(link, work),
            _ => Ok((None, BTreeMap::new())),
        }
    }

    /// Warm passes under the limit, each with offsets of its own, until what they read from the device is steady: the same
    /// procedure for every runtime.
    fn warm_up(&mut self, link: &mut Link, work: &Work) -> Result<Reached, Trouble> {
        let &Work { arm, condition, target } = work;
        let began = Instant::now();
        let mut warm_up = WarmUp::new(condition.memory_bytes.unwrap_or(0));
        let invalid = loop {
            let before = sys::process::io(link.pid());
            let done = link.go_warm(self.passes, warm_up.next(), self.clock.pass_limit())?;
            let read = match (done.seen.get("device_read_bytes"), before, sys::process::io(link.pid())) {
                // Of a command, what its worker saw.
                (Some(Reading::Value(bytes)), ..) => *bytes,
                (None, Ok(before), Ok(after)) => after.since(&before).device_read_bytes as f64,
                _ => {
                    break Some(
                        "bytes from the device cannot be counted here, so no state is known to be steady".into(),
                    );
                }
            };
            if arm.runtime == COMMAND {
                // Each execution has a preparation of its own, also the one that is timed.
                link.prepare_within(self.clock.pass_limit(), &self.job(arm, condition, target))?;
            }
            warm_up.add(read, Misses::of(arm, condition, &done, read));
            match warm_up.settled(began.elapsed(), self.clock.warm_up_limit()) {
                None => {}
                Some(settled) => break settled.err().map(|it| it.to_string()),
            }
        };
        Ok((invalid, warm_up.readings()))
    }

    /// Everything that was observed around a pass.
    fn readings(
        &self,
        probes: Probes,
        link: &Link,
        done: &mut Done,
        work: &Work,
        limit: Option<u64>,
    ) -> BTreeMap<String, Reading<f64>> {
        let mut readings = probes.stop(link.pid());
        if done.tally.threads > 1 {
            // Threads are looked at before the pass and after it, and it starts and ends all but one of them.
            for name in probe::of_threads() {
                readings.insert(
                    name.into(),
                    Reading::unavailable("threads of a pass end with it, and take their numbers with them"),
                );
            }
        }
        let own = done.own_reads.map_or([0.0; 2], |it| [it.calls as f64, it.bytes as f64]);
        for (name, own) in ["read_calls", "read_call_bytes"].into_iter().zip(own) {
            if let Some(Reading::Value(all)) = readings.get_mut(name) {
                *all = (*all - own).max(0.0);
            }
        }
        // Of a command, what probes saw is the worker's own: the command was another process, and is gone.
        readings.append(&mut done.seen);
        readings.extend(limit.map(|bytes| ("cgroup_limit_bytes".to_string(), Reading::Value(bytes as f64))));
        if work.arm.runtime == COMMAND {
            readings.extend(self.cgroups.readings(work.condition));
        }
        if work.condition.state == State::Limited
            && let Some(Reading::Value(bytes)) = readings.get("device_read_bytes")
        {
            let misses = Misses::of(work.arm, work.condition, done, *bytes);
            readings.extend(misses.readings(""));
        }
        readings.extend(usage_readings(&done.usage));
        readings.extend(done.parts.iter().flat_map(part_readings));
        readings
    }

    /// After a pass that wrote: what a reader finds now, which goes into the tally, and whether the device holds the same
    /// once everything is synced and the cache is empty; if not, the reason.
    fn read_back(&mut self, condition: &Condition, tally: &mut Tally) -> Result<Option<String>, Trouble> {
        let read = |bench: &mut Self| -> Result<String, Trouble> {
            let arm: Arm = "pread".parse().expect("a method of ours");
            Ok(bench.pass(&arm, &bench.plain_scan(condition.range, Consume::Sum))?.done.tally.checksum)
        };
        tally.checksum = read(self)?;
        let synced = writing::sync(self.target).map_err(Trouble::Failed);
        let emptied = synced.and_then(|()| match self.target.file_system.is_memory() {
            true => Ok(()),
            false => cold::evict(self.target, self.interrupted),
        });
        match emptied {
            Ok(()) => {}
            Err(Trouble::Failed(reason)) => {
                return Ok(Some(format!("what was written could not be read back around the cache: {reason}")));
            }
            Err(trouble) => return Err(trouble),
        }
        let on_device = read(self)?;
        Ok((on_device != tally.checksum).then(|| {
            format!("the device holds other bytes than were written: checksums {on_device} and {}", tally.checksum)
        }))
    }

    pub(super) fn job(&self, arm: &Arm, condition: &Condition, target: &Target) -> Job {
        let (permit, file) = self.permit(arm, condition, target);
        Job {
            pass: self.passes,
            method: arm.method.clone(),
            options: arm.options.clone(),
            workload: condition.workload,
            consume: condition.consume,
            file,
            block_bytes: condition.block_bytes,
            range: condition.range,
            ops: condition.ops,
            aligned: condition.aligned,
            threads: condition.threads,
            descriptor: condition.descriptor,
            consumed_percent: condition.consumed_percent,
            durability: condition.durability,
            seed: self.seed_of(condition),
            hold: state::hold(condition.state),
            watch: None,
            permit,
            times_its_loop: condition.consume.looks_at_all()
                && !condition.workload.writes()
                && self.record.cells.iter().any(|it| !["native", COMMAND].contains(&it.arm.runtime.as_str())),
        }
    }

    /// The same offsets for every arm of a round, which is part of equal work, and others in the next: caches below the
    /// kernel (of the host, the controller, the device) would answer the same places faster the second time.
    fn seed_of(&self, condition: &Condition) -> u64 {
        match condition.workload.is_ascending() {
            true => self.record.seed,
            false => self.record.seed.wrapping_add(u64::from(self.round) << 32),
        }
    }

    /// What a job may do beyond reading, and the path to its file: the one place where that is decided. Commands are
    /// executed where the user said so, and the only file that is written is one that faultline made; it is reached by its
    /// descriptor.
    fn permit(&self, arm: &Arm, condition: &Condition, target: &Target) -> (Permit, String) {
        let is_command = arm.runtime == COMMAND && arm.method == COMMAND;
        let execute = is_command && self.settings.may_execute;
        let written = target.made.as_ref().filter(|_| condition.workload.writes());
        match written.and_then(|file| Some((file, sys::folder::identity(file).ok()?))) {
            Some((file, (device, inode))) => {
                let permit = Permit { execute, write: Some(FileIdentity { device, inode }) };
                (permit, sys::folder::path_of(file).display().to_string())
            }
            None => (Permit { execute, write: None }, target.path.clone()),
        }
    }

    /// In ascending order, 1 MiB at a time, from whatever state.
    pub(super) fn plain_scan(&self, range: Span, consume: Consume) -> Condition {
        let block_bytes = 1 << 20;
        Condition {
            consume,
            block_bytes,
            range,
            ops: range.bytes.div_ceil(block_bytes),
            ..Condition::plain(self.target.bytes)
        }
    }

    /// What a cell's passes do.
    pub(super) fn condition_of(&self, cell: usize) -> Condition {
        let entry = &self.record.cells[cell];
        entry.own_condition.clone().unwrap_or_else(|| self.record.conditions[entry.condition].clone())
    }

    pub(super) fn cells_of(&self, condition: usize) -> Vec<usize> {
        (0..self.record.cells.len()).filter(|&cell| self.record.cells[cell].condition == condition).collect()
    }

    pub fn is_interrupted(&self) -> bool {
        self.spoiled.is_some() || self.interrupted.load(Ordering::Relaxed)
    }
}

/// A round that no other pass has. Those of the cells count up from 1, those of confirmations from 2^20.
fn round_of_pass(passes: u64) -> u32 {
    (1 << 31) | (passes as u32 & (u32::MAX >> 1))
}

fn usage_readings(usage: &Usage) -> impl Iterator<Item = (String, Reading<f64>)> {
    let values = [
        usage.user_ns,
        usage.system_ns,
        usage.minor_faults,
        usage.major_faults,
        usage.voluntary_switches,
        usage.involuntary_switches,
    ];
    crate::probe::USAGE_READINGS
        .iter()
        .zip(values)
        .map(|(name, value)| (name.to_string(), Reading::Value(value as f64)))
}

fn part_readings(parts: &Parts) -> [(String, Reading<f64>); 4] {
    let named = [
        ("read_part_ns", parts.read_ns),
        ("loop_part_ns", parts.loop_ns),
        ("write_part_ns", parts.write_ns),
        ("clock_ns", parts.clock_ns),
    ];
    named.map(|(name, ns)| (name.to_string(), Reading::Value(ns as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_that_are_drawn_anew_share_their_places_with_no_other() {
        let rounds: std::collections::BTreeSet<u32> = (0..10_000).map(round_of_pass).collect();
        assert_eq!(rounds.len(), 10_000);
        assert!(rounds.iter().all(|&it| it > 1 << 30), "rounds of cells and of confirmations are below");
    }
}
