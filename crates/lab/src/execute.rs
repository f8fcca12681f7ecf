//! From plan to record: trials, sizes, fills, and the rounds. The only place where passes are made.
//!
//! Order matters more than anything else here. Within a round every arm of a condition runs once, in an order that is
//! drawn anew, so that drift and neighbours hit all arms alike; each pass has a process of its own. Rounds stop when
//! every comparison is precise enough or the time is over, never because a result looks decided.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use schema::{
    Arm, Condition, Experiment, Record, SCHEMA_VERSION, Span, State, Workload,
    command::COMMAND,
    protocol::{Done, Job, Parts, Phases, Tally, Usage},
    record::{Environment, Fill, FolioOrder, Outcome, Reading, Sample},
    timeline::{Passing, Timeline},
    unit_cost::Calibration,
};

use crate::{
    cage::{Cages, Note},
    calibrate, ceiling, cold, counted, host,
    link::{Link, Trouble},
    plan::{self, Plan, RANGE_BYTES_MAX, Stage},
    probe::Probes,
    runtime, scenario, sizing,
    sizing::{ROUNDS_MIN, Trial},
    state,
    target::Target,
    timeline::Sampler,
    writing,
};

/// No pass takes longer than this; a disk that hangs does.
const PASS_LIMIT: Duration = Duration::from_secs(60);
/// After so many rounds precision is looked at. An interval that happens to be narrow is a little more often wrong,
/// and looking after every round finds more of those (docs/METHODOLOGY.md, "Stopping on precision").
const LOOKS: [u32; 4] = [8, 12, 20, 30];
/// Rounds are worth their time up to here.
const ROUNDS_MAX: u32 = 50;
/// What is left of the budget after this share has gone is for the last round to end in.
const SOFT_SHARE: f64 = 0.94;
/// Of a stage's time, after trials and fills.
const SHARE_OF_ROUNDS: f64 = 0.8;
/// How far a stage may exceed its time for the fewest rounds that tell anything.
const OVERTIME: f64 = 1.3;
/// A cold condition needs more time than others: passes wait for the device, and each is preceded by an eviction.
const COLD_NEEDS: f64 = 1.5;

/// What the caller is told, and asked, while a run goes on.
pub struct Hooks<'a> {
    pub interrupted: &'a AtomicBool,
    pub progress: &'a mut dyn FnMut(&Progress),
    /// A good moment to save what there is.
    pub checkpoint: &'a mut dyn FnMut(&Record),
    /// Whether a cell's comparison with its baseline is precise enough; asked of the analysis, after every round.
    pub settled: &'a dyn Fn(&Record, usize) -> bool,
}

/// Where a run is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub what: String,
    /// Of the whole run, 0 to 1.
    pub share: f64,
    pub left: Duration,
}

/// What to run.
pub struct Settings<'a> {
    pub seed: u64,
    pub budget: Duration,
    /// Exactly so many rounds, instead of as many as precision and budget say.
    pub rounds: Option<u32>,
    /// Passes under tracepoints after the timed ones.
    pub counted: Option<counted::Setup>,
    /// Looks at the whole machine a second, beside everything else.
    pub timeline: Option<u32>,
    /// Told of everything that is made outside the data folder, before it is made.
    pub note: Note<'a>,
}

/// Runs an experiment on a target.
pub fn execute(experiment: &Experiment, target: &Target, settings: &Settings, hooks: &mut Hooks) -> Record {
    let started = Instant::now();
    let ticks = host::cpu_ticks();
    let record = empty_record(experiment, target, settings, host::detect());
    let mut bench = Bench {
        target,
        record,
        interrupted: hooks.interrupted,
        random: fastrand::Rng::with_seed(settings.seed),
        passes: 0,
        filled: None,
        settings,
        cages: Cages::new(settings.note),
        clock: Clock { started, budget: settings.budget },
        passings: Vec::new(),
        spoiled: false,
    };
    let sampler = settings.timeline.and_then(|per_second| {
        let sampler = Sampler::start(target.disk.clone(), per_second, started);
        if let Err(error) = &sampler {
            bench.record.limits.push(format!("no timeline: {error}"));
        }
        Some((per_second, sampler.ok()?))
    });
    (hooks.progress)(&Progress { what: "the device's ceiling".into(), share: 0.0, left: settings.budget });
    bench.record.ceiling = ceiling::measure(&mut bench);

    let plan = Plan::new(experiment, target.bytes, range_limit(&bench.record, settings.budget), |condition| {
        state::possible(condition.state, target)?;
        writing::possible(condition, target)?;
        bench.cages.possible(condition, target)
    });
    bench.record.limits.extend(lost(&bench.record, &plan));
    bench.record.conditions = plan.conditions;
    bench.record.origins = plan.origins;
    bench.record.cells = plan.cells;
    bench.record.scenarios = scenario::observe(experiment, target, hooks.interrupted);
    for stage in Stage::ALL {
        bench.stage(stage, &plan.ops_given, hooks);
    }
    // The host behind a guest, or the device's own cache, may answer faster the second time; the larger one is a ceiling.
    if bench.record.conditions.iter().any(|it| it.state == State::Cold) && !bench.is_interrupted() {
        bench.record.ceiling = ceiling::larger(bench.record.ceiling.clone(), ceiling::measure(&mut bench));
    }
    if let Some(setup) = settings.counted {
        bench.count(setup, hooks);
    }
    if let Some((per_second, sampler)) = sampler {
        let (moments, passes) = (sampler.stop(), std::mem::take(&mut bench.passings));
        bench.record.timeline = Some(Timeline { per_second, moments, passes });
    }
    bench.record.elapsed_s = started.elapsed().as_secs_f64();
    bench.record.partial = None;
    if hooks.interrupted.load(Ordering::Relaxed) {
        bench.record.partial = Some("interrupted".into());
    }
    let wrote = bench.record.conditions.iter().any(|it| it.workload.writes());
    if let Err(change) = if wrote { target.in_place() } else { target.unchanged() } {
        bench.record.limits.push(change);
    }
    bench.record.environment.steal_share = ticks.and_then(|before| Ok(host::cpu_ticks()?.stolen_since(&before))).into();
    (hooks.checkpoint)(&bench.record);
    bench.record
}

struct Clock {
    started: Instant,
    budget: Duration,
}

impl Clock {
    /// A stage's part of the time that is left, by what its conditions need; at least half of what it would have had
    /// if all stages before had kept to theirs.
    fn time_for(&self, stage: Stage, conditions: &[Condition]) -> Duration {
        let need = |it: &Condition| if Stage::of(it.state) >= Stage::Limited { COLD_NEEDS } else { 1.0 };
        let sum = |wanted: &dyn Fn(Stage) -> bool| -> f64 {
            conditions.iter().filter(|it| wanted(Stage::of(it.state))).map(need).sum()
        };
        let own = sum(&|it| it == stage);
        let whole = self.budget.mul_f64(SOFT_SHARE);
        let left = whole.saturating_sub(self.started.elapsed());
        left.mul_f64(own / sum(&|it| it >= stage)).max(whole.mul_f64(own / sum(&|_| true) / 2.0))
    }

    fn is_over(&self) -> bool {
        self.started.elapsed() > self.budget.mul_f64(1.15)
    }

    fn progress(&self, what: String) -> Progress {
        let share = self.started.elapsed().as_secs_f64() / self.budget.as_secs_f64();
        Progress { what, share: share.min(1.0), left: self.budget.saturating_sub(self.started.elapsed()) }
    }
}

/// Everything that passes need, and the record they go into.
pub struct Bench<'a> {
    pub target: &'a Target,
    record: Record,
    interrupted: &'a AtomicBool,
    random: fastrand::Rng,
    passes: u64,
    /// The window that the page cache was last filled with.
    filled: Option<Span>,
    settings: &'a Settings<'a>,
    cages: Cages<'a>,
    clock: Clock,
    /// When timed passes were, for the timeline.
    passings: Vec<Passing>,
    /// A command changed the file.
    spoiled: bool,
}

/// One stage's conditions and the time they have.
struct Slot {
    stage: Stage,
    conditions: Vec<usize>,
    begun: Instant,
    time: Duration,
    is_last: bool,
}

/// A pass that ran, before anybody judged it.
struct Pass {
    done: Done,
    readings: BTreeMap<String, Reading<f64>>,
    resident_before: Reading<schema::record::Resident>,
    resident_after: Reading<schema::record::Resident>,
    /// Why it does not count.
    invalid: Option<String>,
    overhead_ns: f64,
    /// From GO to done.
    went: [Instant; 2],
}

impl Bench<'_> {
    /// All conditions of one stage: trials, sizes, then rounds.
    fn stage(&mut self, stage: Stage, ops_given: &[bool], hooks: &mut Hooks) {
        let of_stage = |condition: &Condition| Stage::of(condition.state) == stage;
        let conditions: Vec<usize> = (0..self.record.conditions.len())
            .filter(|&index| of_stage(&self.record.conditions[index]))
            .filter(|&index| self.cells_of(index).iter().any(|&cell| self.record.cells[cell].skipped.is_none()))
            .collect();
        if stage == Stage::Warm {
            self.begin_calibration();
        }
        if conditions.is_empty() {
            if stage == Stage::Warm {
                self.calibrate(hooks, &|bench, calibration| calibrate::complete(bench, calibration));
            }
            return;
        }
        let time = self.clock.time_for(stage, &self.record.conditions);
        let begun = Instant::now();
        let share_ns = time.as_nanos() as f64 * SHARE_OF_ROUNDS / conditions.len() as f64;

        for &condition in &conditions {
            if self.is_interrupted() || self.clock.is_over() {
                return;
            }
            let label = self.record.conditions[condition].label();
            (hooks.progress)(&self.clock.progress(format!("trying {label}")));
            self.try_out(condition, ops_given[condition], share_ns);
        }
        (hooks.checkpoint)(&self.record);
        let is_last = !self.record.conditions.iter().any(|it| Stage::of(it.state) > stage);
        self.rounds(&Slot { stage, conditions, begun, time, is_last }, hooks);
        if stage == Stage::Warm {
            self.calibrate(hooks, &|bench, calibration| calibrate::complete(bench, calibration));
        }
    }

    /// Where the warm stage begins: after what is there was looked at.
    fn begin_calibration(&mut self) {
        let touched = self.record.conditions.iter().filter(|it| it.state != State::AsIs);
        let Some(widest) = touched.map(|it| it.range).max_by_key(|it| it.bytes) else {
            self.record.calibration = Reading::unavailable("in state as-is nothing may be evicted or filled");
            return;
        };
        if self.record.conditions.iter().any(|it| it.workload == Workload::Command) {
            self.record.calibration = Reading::unavailable("what a command does is not explained from unit costs");
            return;
        }
        if self.record.conditions.iter().any(|it| it.workload.writes()) {
            self.record.calibration = Reading::unavailable("passes that write change the file under a calibration");
            return;
        }
        if let Err(reason) = state::possible(State::Mapped, self.target) {
            self.record.calibration = Reading::unavailable(reason);
            return;
        }
        let range = Span { bytes: widest.bytes.min(RANGE_BYTES_MAX), ..widest };
        self.record.calibration = calibrate::begin(self, range, self.settings.budget);
    }

    /// Goes on with a calibration, if there is one.
    fn calibrate(&mut self, hooks: &mut Hooks, go_on: &dyn Fn(&mut Self, &mut Calibration)) {
        if let Some(mut calibration) = self.record.calibration.value().cloned() {
            (hooks.progress)(&self.clock.progress("what single calls, faults and copies cost here".into()));
            go_on(self, &mut calibration);
            self.record.calibration = Reading::Value(calibration);
        }
    }

    /// One short pass of every arm: what is unavailable is skipped, and the sizes are settled.
    fn try_out(&mut self, condition: usize, ops_given: bool, share_ns: f64) {
        let mut small = self.record.conditions[condition].clone();
        let ops = sizing::trial_ops(&small).min(if ops_given { small.ops } else { u64::MAX });
        plan::cover(&mut small, ops);
        let mut trials = Vec::new();
        let mut keep = Vec::new();
        for cell in self.cells_of(condition) {
            let entry = &self.record.cells[cell];
            if entry.skipped.is_some() || self.is_interrupted() {
                continue;
            }
            if entry.baseline || entry.control {
                keep.push(cell);
            }
            let arm = entry.arm.clone();
            let mut under = entry.own_condition.clone().unwrap_or_else(|| small.clone());
            if entry.own_condition.is_some() {
                let ops = sizing::trial_ops(&under).min(if under.ops == 0 { u64::MAX } else { under.ops });
                plan::cover(&mut under, ops);
            }
            match self.pass(&arm, &under) {
                Ok(pass) => trials.push(Trial {
                    cell,
                    ops: pass.done.tally.ops,
                    elapsed_ns: pass.done.phases.total_ns() as f64,
                    overhead_ns: pass.overhead_ns,
                    doubled: under.state.is_held(),
                }),
                Err(Trouble::Unavailable(reason)) => self.record.cells[cell].skipped = Some(reason),
                // A command that fails does so for a reason that a second time does not take away.
                Err(Trouble::Failed(reason)) if arm.runtime == COMMAND => {
                    self.record.cells[cell].skipped = Some(reason);
                }
                // What fails in a trial may fail again, and is then recorded as what it is.
                Err(Trouble::Failed(_) | Trouble::Interrupted) => {}
            }
        }
        if ops_given || trials.is_empty() {
            if !ops_given {
                self.record.conditions[condition] = small;
            }
            return;
        }
        let sizing = sizing::size(&self.record.conditions[condition], &trials, share_ns, &keep);
        for (cell, reason) in sizing.too_slow {
            self.record.cells[cell].skipped = Some(reason);
        }
        plan::cover(&mut self.record.conditions[condition], sizing.ops);
        let settled = self.record.conditions[condition].clone();
        for cell in self.cells_of(condition) {
            if let Some(own) = &mut self.record.cells[cell].own_condition
                && own.ops == 0
            {
                plan::cover(own, settled.ops);
            }
        }
    }

    fn rounds(&mut self, slot: &Slot, hooks: &mut Hooks) {
        let mut active: Vec<usize> = slot
            .conditions
            .iter()
            .flat_map(|&condition| self.cells_of(condition))
            .filter(|&cell| self.record.cells[cell].skipped.is_none())
            .collect();
        let rounds_max = self.settings.rounds.unwrap_or(ROUNDS_MAX);
        let mut saved = Instant::now();
        for round in 0..rounds_max {
            let mut order: Vec<usize> = slot.conditions.clone();
            self.random.shuffle(&mut order);
            for condition in order {
                let mut cells: Vec<usize> =
                    active.iter().copied().filter(|&cell| self.record.cells[cell].condition == condition).collect();
                if cells.is_empty() {
                    continue;
                }
                if self.settings.rounds.is_none() && self.is_out_of_time(slot, round) {
                    return;
                }
                let label = self.record.conditions[condition].label();
                (hooks.progress)(&self.clock.progress(format!(
                    "{}: round {} of {label}",
                    slot.stage.name(),
                    round + 1
                )));
                self.random.shuffle(&mut cells);
                for cell in cells {
                    if self.is_interrupted() {
                        return;
                    }
                    self.sample(cell, round);
                }
            }
            let (budget, warm) = (self.settings.budget, slot.stage == Stage::Warm);
            self.calibrate(hooks, &|bench, calibration| {
                calibrate::between_rounds(bench, calibration, warm, budget);
            });
            if saved.elapsed() > Duration::from_secs(2) {
                (hooks.checkpoint)(&self.record);
                saved = Instant::now();
            }
            if self.settings.rounds.is_none() && LOOKS.contains(&(round + 1)) {
                active = self.unsettled(active, hooks);
                if active.is_empty() {
                    return;
                }
            }
        }
    }

    /// Fewer rounds than the least tell nothing, so for those a stage may exceed its time; the last one until the
    /// whole run is over.
    fn is_out_of_time(&self, slot: &Slot, round: u32) -> bool {
        let spent = slot.begun.elapsed();
        match round < ROUNDS_MIN {
            true if slot.is_last => self.clock.is_over(),
            true => spent > slot.time.mul_f64(OVERTIME),
            false => spent > slot.time,
        }
    }

    /// Cells that still need rounds. A baseline stays as long as anybody is compared with it.
    fn unsettled(&self, active: Vec<usize>, hooks: &Hooks) -> Vec<usize> {
        let open: Vec<usize> = active
            .iter()
            .copied()
            .filter(|&cell| !self.record.cells[cell].baseline && !(hooks.settled)(&self.record, cell))
            .collect();
        let has_open = |condition: usize| open.iter().any(|&cell| self.record.cells[cell].condition == condition);
        active
            .into_iter()
            .filter(|&cell| {
                let entry = &self.record.cells[cell];
                open.contains(&cell) || (entry.baseline && has_open(entry.condition))
            })
            .collect()
    }

    /// One pass of a cell, into the record.
    fn sample(&mut self, cell: usize, round: u32) {
        let entry = &self.record.cells[cell];
        let arm = entry.arm.clone();
        let condition = entry.own_condition.clone().unwrap_or_else(|| self.record.conditions[entry.condition].clone());
        let not_reached = || Reading::unavailable("the pass did not run");
        let mut sample = Sample {
            cell,
            round,
            order: self.record.samples.len() as u32,
            host: self.record.environment.host.clone(),
            outcome: Outcome::Failed { reason: String::new() },
            resident_before: not_reached(),
            resident_after: not_reached(),
            readings: BTreeMap::new(),
        };
        match self.pass(&arm, &condition) {
            Ok(pass) => {
                let [from_s, to_s] = pass.went.map(|it| it.duration_since(self.clock.started).as_secs_f64());
                self.passings.push(Passing { cell, from_s, to_s });
                sample.outcome = match pass.invalid {
                    Some(reason) => Outcome::Invalid { reason },
                    None => Outcome::Ok { phases: pass.done.phases, tally: pass.done.tally },
                };
                sample.resident_before = pass.resident_before;
                sample.resident_after = pass.resident_after;
                sample.readings = pass.readings;
            }
            Err(Trouble::Failed(reason) | Trouble::Unavailable(reason)) => sample.outcome = Outcome::Failed { reason },
            // The pass did not happen; the run's end says why.
            Err(Trouble::Interrupted) => return,
        }
        self.record.samples.push(sample);
    }

    /// One pass of every cell that was measured, under tracepoints, as long as the budget lasts.
    fn count(&mut self, setup: counted::Setup, hooks: &mut Hooks) {
        let kit = match counted::Kit::new(setup, self.target) {
            (kit, None) => kit,
            (kit, Some(limit)) => {
                self.record.limits.push(limit);
                kit
            }
        };
        let measured = |cell: usize, record: &Record| {
            record.samples.iter().any(|it| it.cell == cell && matches!(it.outcome, Outcome::Ok { .. }))
        };
        let mut left_out = 0;
        // In the order of stages, so that the page cache is not filled for each cell anew.
        let mut cells: Vec<usize> = (0..self.record.cells.len())
            .filter(|&cell| !self.record.cells[cell].control && measured(cell, &self.record))
            .collect();
        cells.sort_by_key(|&cell| Stage::of(self.record.conditions[self.record.cells[cell].condition].state));
        for cell in cells {
            if self.is_interrupted() {
                return;
            }
            if self.clock.is_over() {
                left_out += 1;
                continue;
            }
            let entry = &self.record.cells[cell];
            let arm = entry.arm.clone();
            let condition =
                entry.own_condition.clone().unwrap_or_else(|| self.record.conditions[entry.condition].clone());
            (hooks.progress)(&self.clock.progress(format!("counting {arm}, {}", condition.label())));
            let mut watch = None;
            let pass = self.watched_pass(&arm, &condition, Some((&kit, &mut watch)));
            match (pass, watch) {
                (Ok(mut pass), Some(watch)) => {
                    let device = pass.readings.remove("device_read_bytes");
                    let device = device.unwrap_or_else(|| Reading::unavailable("not observed in this pass"));
                    self.record.counted.push(watch.counted(cell, &pass.done, device, pass.invalid));
                }
                (Err(Trouble::Failed(reason) | Trouble::Unavailable(reason)), _) => {
                    self.record.limits.push(format!("a counted pass of {arm} failed: {reason}"));
                }
                _ => {}
            }
        }
        if left_out > 0 {
            self.record.limits.push(format!("{left_out} counted passes were left out: the budget was spent"));
        }
    }

    /// A pass for its numbers alone, outside the plan.
    ///
    /// # Errors
    /// Why there are none.
    pub fn measure(&mut self, arm: &Arm, condition: &Condition) -> Result<(Phases, Tally), String> {
        self.observe(arm, condition).map(|done| (done.phases, done.tally))
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
    fn pass(&mut self, arm: &Arm, condition: &Condition) -> Result<Pass, Trouble> {
        self.watched_pass(arm, condition, None)
    }

    /// As `pass`; with a kit, events are counted between `go` and `done`.
    fn watched_pass(
        &mut self,
        arm: &Arm,
        condition: &Condition,
        mut watched: Option<(&counted::Kit, &mut Option<counted::Watch>)>,
    ) -> Result<Pass, Trouble> {
        let writes = condition.workload.writes();
        let warm = Stage::of(condition.state) == Stage::Warm && !writes;
        if writes {
            writing::lay(self.target, condition, self.record.seed).map_err(Trouble::Failed)?;
            self.filled = None;
        }
        if warm {
            self.fill(condition.range)?;
        }
        let began = Instant::now();
        self.passes += 1;
        let command = runtime::find(&arm.runtime).and_then(|it| it.worker(arm)).map_err(Trouble::Unavailable)?;
        let (mut link, hello) = Link::start(command, self.interrupted)?;
        if !hello.about.is_empty() {
            self.record.runtimes.insert(hello.runtime, hello.about);
        }
        let mut invalid = None;
        if condition.state == State::Limited {
            // Pages that are there already belong to nobody's limit.
            invalid = cold::evict(self.target).err();
            self.filled = None;
        }
        self.cages.admit(link.pid(), condition, self.target)?;
        // Threads that the worker starts from here on are counted with it.
        if let Some((kit, watch)) = &mut watched {
            **watch = Some(kit.watch(link.pid()));
        }
        link.prepare(&self.job(arm, condition))?;

        if condition.state == State::Cold {
            invalid = cold::make_cold(self.target, condition.range).err();
            self.filled = None;
        }
        let may_look = condition.state != State::Cold || self.target.way != Ok(sys::cache::Way::Nowait);
        let resident = || match may_look {
            true => state::residency(self.target, condition.range),
            false => Reading::unavailable("asking would start read-ahead of a file that should stay cold"),
        };
        let resident_before = resident();
        invalid = invalid.or_else(|| state::verify_before(condition.state, &resident_before).err());
        let mapped_before = match condition.state.is_held() {
            true => sys::process::mapped(link.pid(), self.target.inode, &self.target.path).ok(),
            false => None,
        };

        let probes = Probes::start(self.target, link.pid());
        let mut watch = watched.and_then(|(_, watch)| watch.as_mut());
        if let Some(watch) = &mut watch {
            watch.start();
        }
        let went_from = Instant::now();
        let answered = link.go(self.passes, PASS_LIMIT);
        let mut done = match answered {
            Err(trouble) if writes => return Err(writing::blame(self.target, condition, trouble)),
            other => other?,
        };
        let went = [went_from, Instant::now()];
        if let Some(watch) = &mut watch {
            watch.stop();
        }
        let mut readings = probes.stop(link.pid());
        if arm.runtime == COMMAND {
            // The worker's own; the command was another process, and is gone.
            readings.insert("peak_memory_bytes".into(), Reading::unavailable("the peak of a command is not measured"));
            // The last word of a run: nothing is measured on a file that changes.
            if let Err(change) = self.target.unchanged() {
                self.spoiled = true;
                return Err(Trouble::Failed(format!("{change}, while {} ran; the run ends here", arm.short_name())));
            }
        }
        readings.extend(std::mem::take(&mut done.readings).into_iter().map(|(name, it)| (name, Reading::Value(it))));
        readings.extend(usage_readings(&done.usage));
        readings.extend(done.parts.iter().flat_map(part_readings));
        let resident_after = resident();
        let seen = state::Seen {
            resident_after: &resident_after,
            mapped_before: mapped_before.as_ref(),
            device_read_bytes: readings.get("device_read_bytes").and_then(|it| it.value().copied()),
            done: &done,
        };
        invalid = invalid
            .or_else(|| state::verify_after(condition.state, self.target.way.as_ref().ok().copied(), &seen).err())
            .or_else(|| self.target.in_place().err());
        if arm.runtime == COMMAND && invalid.is_none() && condition.state == State::Cold {
            invalid = state::verify_touched(&seen).err();
        }
        if warm && invalid.is_some() {
            self.filled = None;
        }
        let elapsed_ns = done.phases.total_ns() as f64;
        link.bye()?;
        self.cages.lift();
        if writes {
            invalid = self.read_back(condition, &mut done.tally)?.or(invalid);
        }
        let overhead_ns = (began.elapsed().as_nanos() as f64 - elapsed_ns).max(0.0);
        Ok(Pass { done, readings, resident_before, resident_after, invalid, overhead_ns, went })
    }

    /// After a pass that wrote: what a reader finds now, which goes into the tally, and whether the device holds the same
    /// once everything is synced and the cache is empty; if not, the reason.
    fn read_back(&mut self, condition: &Condition, tally: &mut Tally) -> Result<Option<String>, Trouble> {
        let read = |bench: &mut Self| -> Result<String, Trouble> {
            let block_bytes = 1 << 20;
            let reading = Condition {
                workload: Workload::Scan,
                consume: schema::Consume::Sum,
                block_bytes,
                state: State::AsIs,
                ops: condition.range.bytes.div_ceil(block_bytes),
                aligned: true,
                durability: schema::Durability::None,
                storage: None,
                layout: None,
                ..condition.clone()
            };
            let arm: Arm = "pread".parse().expect("a method of ours");
            Ok(bench.pass(&arm, &reading)?.done.tally.checksum)
        };
        tally.checksum = read(self)?;
        let emptied = writing::settle(self.target).and_then(|()| match self.target.file_system.is_memory() {
            true => Ok(()),
            false => cold::evict(self.target),
        });
        if let Err(reason) = emptied {
            return Ok(Some(format!("what was written could not be read back around the cache: {reason}")));
        }
        let on_device = read(self)?;
        Ok((on_device != tally.checksum).then(|| {
            format!("the device holds other bytes than were written: checksums {on_device} and {}", tally.checksum)
        }))
    }

    fn job(&self, arm: &Arm, condition: &Condition) -> Job {
        Job {
            pass: self.passes,
            method: arm.method.clone(),
            options: arm.options.clone(),
            workload: condition.workload,
            consume: condition.consume,
            file: self.target.path.clone(),
            block_bytes: condition.block_bytes,
            range: condition.range,
            ops: condition.ops,
            aligned: condition.aligned,
            threads: condition.threads,
            descriptor: condition.descriptor,
            consumed_percent: condition.consumed_percent,
            durability: condition.durability,
            // The same offsets for every arm and round of a condition: part of equal work.
            seed: self.record.seed,
            hold: state::hold(condition.state),
            times_its_loop: condition.consume.looks_at_all()
                && !condition.workload.writes()
                && self.record.cells.iter().any(|it| !["native", COMMAND].contains(&it.arm.runtime.as_str())),
        }
    }

    /// Makes sure that a window is in the page cache, filled in the one defined way: evicted, then read in ascending
    /// order in requests of 1 MiB by a worker of its own. The way of filling decides folio sizes.
    fn fill(&mut self, range: Span) -> Result<(), Trouble> {
        if self.filled.is_some_and(|filled| filled.offset <= range.offset && range.end() <= filled.end()) {
            return Ok(());
        }
        // Once for all conditions that live in the cache, so that they share folios.
        let warm = self.record.conditions.iter().filter(|it| Stage::of(it.state) == Stage::Warm).map(|it| it.range);
        let wanted = warm.chain([range]).reduce(union).expect("at least the range itself");
        if !self.target.file_system.is_memory() {
            cold::evict(self.target).map_err(Trouble::Failed)?;
        }
        let arm: Arm = "read".parse().expect("a method of ours");
        let block_bytes = 1 << 20;
        let condition = Condition {
            workload: Workload::Scan,
            consume: schema::Consume::Touch,
            block_bytes,
            state: State::AsIs,
            range: wanted,
            ops: wanted.bytes.div_ceil(block_bytes),
            threads: 1,
            ..self.any_condition()
        };
        let pass = self.pass(&arm, &condition)?;
        self.filled = Some(wanted);
        self.record.fills.push(Fill {
            range: wanted,
            method: "evicted, then read(2) in ascending order, 1 MiB requests".into(),
            elapsed_ns: pass.done.phases.total_ns(),
            folio_orders: sys::folio::orders(&self.target.file, wanted.offset, wanted.bytes)
                .map(|orders| orders.into_iter().map(|(order, pages)| FolioOrder { order, pages }).collect())
                .map_err(|error| format!("folio sizes need root and /proc/kpageflags: {error}"))
                .into(),
        });
        Ok(())
    }

    fn any_condition(&self) -> Condition {
        self.record.conditions.first().expect("a pass has a condition").clone()
    }

    fn cells_of(&self, condition: usize) -> Vec<usize> {
        (0..self.record.cells.len()).filter(|&cell| self.record.cells[cell].condition == condition).collect()
    }

    pub fn is_interrupted(&self) -> bool {
        self.spoiled || self.interrupted.load(Ordering::Relaxed)
    }
}

fn union(a: Span, b: Span) -> Span {
    let offset = a.offset.min(b.offset);
    Span { offset, bytes: a.end().max(b.end()) - offset }
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

/// A window that the device can fill in a small part of the budget, and that memory holds with room to spare.
fn range_limit(record: &Record, budget: Duration) -> u64 {
    let environment = &record.environment;
    let memory = environment
        .memory_limit_bytes
        .value()
        .map_or(environment.memory_available_bytes, |limit| (*limit).min(environment.memory_available_bytes));
    let fillable = record.ceiling.value().map_or(u64::MAX, |it| (it.bytes_per_s * budget.as_secs_f64() / 60.0) as u64);
    // Whole mebibytes, and never less than a small useful window.
    (RANGE_BYTES_MAX.min(memory / 4).min(fillable) >> 20 << 20).max(16 << 20)
}

/// What this machine, file or user does not allow, beyond single cells.
fn lost(record: &Record, plan: &Plan) -> Vec<String> {
    let mut lost = Vec::new();
    if !record.environment.root {
        lost.push("not root: folio sizes and kernel settings in debugfs are not recorded".into());
    }
    if let Some(window) = plan.conditions.iter().map(|it| it.range.bytes).max().filter(|&it| it < record.target.bytes) {
        lost.push(format!(
            "passes touch at most {} at the start of the file's {}",
            schema::Bytes(window),
            schema::Bytes(record.target.bytes)
        ));
    }
    if let Some(reason) = record.target.residency.reason().filter(|_| record.target.file_system != "tmpfs") {
        lost.push(reason.to_string());
    }
    if let Some(reason) = record.ceiling.reason() {
        lost.push(format!("the device's ceiling is unknown: {reason}"));
    }
    lost
}

fn empty_record(experiment: &Experiment, target: &Target, settings: &Settings, environment: Environment) -> Record {
    let now = jiff::Timestamp::now();
    let stamp = now.strftime("%Y%m%dT%H%M%SZ");
    Record {
        schema_version: SCHEMA_VERSION,
        id: format!("{stamp}-{:04x}", fastrand::Rng::with_seed(settings.seed ^ u64::from(std::process::id())).u16(..)),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        started: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        elapsed_s: 0.0,
        partial: Some("still running, or killed".into()),
        seed: settings.seed,
        budget_s: settings.budget.as_secs_f64(),
        experiment: experiment.clone(),
        environment,
        target: target.describe(),
        conditions: Vec::new(),
        origins: Vec::new(),
        scenarios: BTreeMap::new(),
        cells: Vec::new(),
        samples: Vec::new(),
        fills: Vec::new(),
        ceiling: Reading::unavailable("not measured"),
        calibration: Reading::unavailable("not calibrated"),
        counted: Vec::new(),
        timeline: None,
        runtimes: BTreeMap::new(),
        limits: Vec::new(),
    }
}
