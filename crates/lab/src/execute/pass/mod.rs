//! One pass: a worker of its own, a state that is reached and verified, and a second look afterwards. The only place
//! where passes are made. What passes of one kind do beside that stands in a file for each kind (`kind`).

mod commanding;
mod counting;
mod device;
mod job;
mod kind;
mod reach;
mod reading;
mod readings;
mod writing;

use std::{collections::BTreeMap, time::Instant};

use schema::{
    Arm, Condition, Workload, condition,
    protocol::Done,
    record::{Reading, Resident},
};

use super::Bench;
use crate::{
    link::{Link, Trouble},
    plan::possible,
    probe::{self, Probes},
    state,
    target::Target,
};

use commanding::Commanding;
pub(super) use counting::Counting;
use device::of_device;
pub(super) use kind::PassSteps;
use reach::{OnlyWarmPass, Reached};
use reading::Reads;
use writing::Writes;

/// The kind of a cell's passes: a command is one whatever its condition says, because its processes must end.
pub(super) fn kind_of(arm: &Arm, condition: &Condition) -> &'static dyn PassSteps {
    of_workload(if arm.is_command() { Workload::Command } else { condition.workload })
}

pub(super) fn of_workload(workload: Workload) -> &'static dyn PassSteps {
    match workload.kind() {
        condition::WorkloadKind::Reads => &Reads,
        condition::WorkloadKind::Writes => &Writes,
        condition::WorkloadKind::Command => &Commanding,
    }
}

/// In what a runtime says of itself (docs/FORMATS.md, `about`).
const FLAGS: &str = "flags";

/// What a worker is to do, and to which file: the target, or a copy of it.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    kind: &'a dyn PassSteps,
    arm: &'a Arm,
    condition: &'a Condition,
    target: &'a Target,
}

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
    /// A pass for its numbers alone, outside the plan. Random reads go to places of its own: a cache below the kernel would
    /// answer those of another pass faster the second time, and then it is the cache that is measured. A scan reads the range
    /// of its condition. A pass around the page cache is of the device.
    ///
    /// # Errors
    /// Why there are none.
    pub fn measure(&mut self, arm: &Arm, condition: &Condition) -> Result<Done, String> {
        let of_its_own = self.draw.round_of_its_own();
        let round = std::mem::replace(&mut self.draw.round, of_its_own);
        let pass = self.pass(arm, condition);
        self.draw.round = round;
        match pass {
            Ok(Pass { invalid: Some(reason), .. }) => Err(reason),
            Ok(pass) => {
                let device = probe::value(&pass.readings, "device_read_bytes");
                // Where there is no block device the kernel counts nothing; over several, or below an overlay, it counts.
                let counts = |bytes: &f64| arm.is_direct() && (self.target.disk.is_ok() || *bytes > 0.0);
                let device = device.filter(counts);
                of_device(pass.done.tally.bytes, device).map_err(|it| it.to_string())?;
                Ok(pass.done)
            }
            Err(Trouble::Failed(reason) | Trouble::Unavailable(reason)) => Err(reason),
            Err(Trouble::Interrupted) => Err("interrupted".into()),
        }
    }

    /// Starts a worker, reaches and verifies the state, lets it make one pass, and looks again.
    pub(super) fn pass(&mut self, arm: &Arm, condition: &Condition) -> Result<Pass, Trouble> {
        self.counted_pass(arm, condition, &mut Counting::nothing())
    }

    /// As `pass`; events are counted between `go` and `done`.
    pub(super) fn counted_pass(
        &mut self,
        arm: &Arm,
        condition: &Condition,
        counting: &mut Counting,
    ) -> Result<Pass, Trouble> {
        let kind = kind_of(arm, condition);
        let pass = self.one_pass(kind, arm, condition, counting);
        let pass = self.of_an_unchanged_target(kind, arm, pass);
        if pass.is_err() {
            kind.clean_up(self);
            // What its worker held may still be charged to the group.
            self.around.cgroups.lift(false);
        }
        pass
    }

    /// A file that changed ends the run: what a pass read of it, and what later ones would, is another question. Also of
    /// a pass that failed, which the change may have caused.
    fn of_an_unchanged_target(
        &mut self,
        kind: &dyn PassSteps,
        arm: &Arm,
        pass: Result<Pass, Trouble>,
    ) -> Result<Pass, Trouble> {
        let Err(change) = self.unchanged() else { return pass };
        let mut reason = format!("{change}{}; the run ends here", kind.during(self, arm));
        self.stop.changed.get_or_insert_with(|| reason.clone());
        match pass {
            Err(Trouble::Interrupted) => return Err(Trouble::Interrupted),
            Err(Trouble::Failed(failure)) => reason = format!("{reason} ({failure})"),
            Ok(_) | Err(Trouble::Unavailable(_)) => {}
        }
        Err(Trouble::Failed(reason))
    }

    /// The life of one worker, from the file that it finds to what it leaves.
    fn one_pass(
        &mut self,
        kind: &dyn PassSteps,
        arm: &Arm,
        condition: &Condition,
        counting: &mut Counting,
    ) -> Result<Pass, Trouble> {
        possible::on_this_file_system(arm, self.target).map_err(Trouble::Unavailable)?;
        let began = Instant::now();
        kind.prepare_target(self, condition)?;
        let made = began.elapsed();
        // Before a command comes its preparation, which may change what the page cache holds (`reach`).
        let copy = match condition.fill() {
            Some(fill) if !arm.is_command() => self.fill(fill, condition)?,
            _ => None,
        };
        // A file that is only read is filled for many passes, and no other takes as long for that.
        let prepared = if condition.workload.writes() { began.elapsed() } else { made };
        let target = copy.as_deref().unwrap_or(self.target);
        // The first time a runtime may have to be compiled, which no other pass takes.
        let command = kind.worker(self, arm).map_err(Trouble::Unavailable)?;
        let began = Instant::now();
        self.draw.passes += 1;
        let (mut link, hello) = Link::start(command, self.stop.interrupted)?;
        if !hello.about.is_empty() {
            note_runtime(&mut self.record.runtimes, hello.runtime, hello.about);
        }
        let thread = hello.thread.unwrap_or(link.pid());

        let work = Work { kind, arm, condition, target };
        self.make_ready(&mut link, thread, &work, counting)?;
        let mut pass = self.go_in_state(&mut link, &work, counting)?;
        link.bye_within(self.clock.pass_limit())?;
        self.around.cgroups.lift(kind.keeps_limits());

        if condition.fill().is_some() && pass.invalid.is_some() {
            // What was read before it counts only if it was on the fill still. A file that is written is another each time.
            if !condition.workload.writes() {
                self.look_again();
            }
            self.filled = self.filled.take().filter(|it| !condition.workload.writes() && self.is_whole(it, it.range));
        }
        kind.finish(self, condition, &mut pass)?;
        let around = (prepared + began.elapsed()).as_nanos() as f64 - pass.done.phases.total_ns() as f64;
        pass.overhead_ns += around.max(0.0);
        Ok(pass)
    }

    /// A worker under its limits and with its job prepared.
    fn make_ready(
        &mut self,
        link: &mut Link,
        thread: u32,
        work: &Work,
        counting: &mut Counting,
    ) -> Result<(), Trouble> {
        let &Work { kind, arm, condition, target } = work;
        kind.started(link, arm);
        self.make_room(work)?;
        self.around.cgroups.admit(link.pid(), arm, condition, target)?;
        counting.attach(thread);
        link.prepare_within(self.pass_limit(arm), &self.job(arm, condition, target))?;
        self.around.cgroups.tighten(arm, condition).map(|_| ())
    }

    /// The state is reached and verified, the worker goes, and the state is verified again.
    fn go_in_state(&mut self, link: &mut Link, work: &Work, counting: &mut Counting) -> Result<Pass, Trouble> {
        let &Work { kind, arm, condition, target } = work;
        let reached = self.reach(link, work)?;
        if let Some(OnlyWarmPass { done, warm_ns, went }) = reached.only {
            let unknown = || Reading::unavailable("no timed pass was made");
            let (resident_before, resident_after) = (unknown(), unknown());
            let Reached { invalid, readings, .. } = reached;
            return Ok(Pass { done, readings, resident_before, resident_after, invalid, overhead_ns: warm_ns, went });
        }
        let resident_before = residency(work);
        let before = state::verify_before(condition.state, target, &resident_before);
        let look_at_mappings =
            || sys::process::mapped(link.pid(), &target.identity()).map_err(|error| error.to_string());
        let mapped_before = condition.state.is_held().then(look_at_mappings);

        let probes = Probes::start(target, link.pid());
        counting.start();
        let went_from = Instant::now();
        let answered = link.go(self.draw.passes, self.pass_limit(arm));
        let went = [went_from, Instant::now()];
        let mut done = answered.map_err(|trouble| kind.explain(work, trouble))?;
        counting.stop();

        let mut readings = self.readings(probes, link, &mut done, work);
        readings.extend(reached.readings);
        let resident_after = residency(work);
        let seen = state::Evidence {
            arm,
            writes: condition.workload.writes(),
            resident_before: &resident_before,
            resident_after: &resident_after,
            mapped_before,
            device_read_bytes: probe::value(&readings, "device_read_bytes"),
            done: &done,
        };
        let after = || state::verify_after(condition.state, target.way().ok(), &seen);
        let verified = before.and_then(|()| after()).and_then(|()| kind.verify(condition, &seen));
        let invalid = reached.invalid.or(verified.err());
        Ok(Pass { done, readings, resident_before, resident_after, invalid, overhead_ns: 0.0, went })
    }
}

/// Notes what a worker said of the runtime that executes it. Arms of one runtime may be started with settings of their own, which
/// say nothing of the others: of the runtime is what all its workers said, and of its flags those that all of them had.
fn note_runtime(
    runtimes: &mut BTreeMap<String, BTreeMap<String, String>>,
    name: String,
    mut about: BTreeMap<String, String>,
) {
    let known = runtimes.get(&name);
    if let Some(known) = known {
        about.retain(|of, says| of == FLAGS || known.get(of) == Some(says));
    }
    if let (Some(known), Some(flags)) = (known.and_then(|it| it.get(FLAGS)), about.get_mut(FLAGS)) {
        let these: Vec<&str> = flags.split(' ').collect();
        let common: Vec<&str> = known.split(' ').filter(|it| these.contains(it)).collect();
        *flags = common.join(" ");
    }
    runtimes.insert(name, about);
}

/// What is in the page cache of the range of a pass. Where pages may be missing, a look must not bring them in.
fn residency(work: &Work) -> Reading<Resident> {
    match work.condition.state.is_filled() || !work.target.look_reads_ahead() {
        true => state::residency(work.target, work.condition.range),
        false => Reading::unavailable("the check would start read-ahead of pages that are not in the page cache"),
    }
}

#[cfg(test)]
mod tests {
    use schema::{Span, State};
    use sys::cache::Way;

    use super::*;

    #[test]
    fn the_flags_of_a_runtime_are_those_that_all_its_workers_had_whichever_of_them_started_last() {
        let about = |flags: &str| {
            BTreeMap::from([("home", "/jdk"), (FLAGS, flags)].map(|(key, it)| (key.to_string(), it.to_string())))
        };
        let [usual, more] = ["-XX:+A -Xmx1g", "-XX:+A -XX:+Polls -Xmx1g"];
        for order in [[usual, more, usual], [more, usual, usual], [usual, usual, more]] {
            let mut runtimes = BTreeMap::new();
            for flags in order {
                note_runtime(&mut runtimes, "jvm 25".into(), about(flags));
                note_runtime(&mut runtimes, "jvm 17".into(), about(more));
            }
            assert_eq!(runtimes["jvm 25"], about(usual), "{order:?}");
            assert_eq!(runtimes["jvm 17"], about(more), "those of one runtime alone");
        }
        // What one of them says otherwise is none of the runtime, however often it is said then.
        let mut runtimes = BTreeMap::new();
        for gil in ["on", "off", "off"] {
            let about = [("home", "/python"), ("gil", gil)].map(|(key, it)| (key.to_string(), it.to_string()));
            note_runtime(&mut runtimes, "python 3.13".into(), BTreeMap::from(about));
        }
        assert_eq!(runtimes["python 3.13"].keys().collect::<Vec<_>>(), ["home"]);
    }

    #[test]
    fn a_look_that_reads_ahead_is_made_only_where_the_file_was_filled() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; 8 * sys::page_bytes() as usize]).unwrap();
        let look = |way: Way, state: State| {
            let target = Target::open(file.path(), true).unwrap();
            target.prove_as(way);
            let (bytes, arm) = (target.bytes, "pread".parse().unwrap());
            let condition = Condition { state, range: Span { offset: 0, bytes }, ..Condition::plain(bytes) };
            residency(&Work { kind: &Reads, arm: &arm, condition: &condition, target: &target })
        };
        let all = Reading::Value(Resident { pages: 8, of: 8 });
        for &state in State::ALL {
            // mincore(2) reads nothing.
            assert_eq!(look(Way::Mincore, state), all, "{state}");
            match look(Way::Nowait, state) {
                Reading::Value(resident) => assert!(state.is_filled(), "{state}: {resident:?}"),
                Reading::Unavailable { unavailable } if state.is_filled() => println!("skipped: {unavailable}"),
                Reading::Unavailable { .. } => {}
            }
        }
    }
}
