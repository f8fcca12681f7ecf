//! One stage of a run: every arm tried, sizes fixed, then rounds.
//!
//! Order matters more than anything else here. Within a round every arm of a condition runs once, in an order that is
//! drawn anew and with the other conditions in between, so that drift and neighbours hit all arms alike; each pass has a
//! process of its own. Rounds stop when
//! every comparison is precise enough or the time is over, never because a result looks decided.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use schema::{
    Condition, Fill, Skip, Span, State, Workload,
    experiment::{Claim, EXPECTED_RATIO, Metric},
    protocol::Hold,
    record::{Cell, Ending, Outcome, Reading, RoundsEnd, Sample},
    runtime::NATIVE,
    timeline::Passing,
    unit_cost::Calibration,
};

use super::{
    Bench, Hooks, calibrate,
    pass::{kind_of, of_workload},
    record,
};
use crate::{
    link::Trouble,
    plan::{
        self, Given, Stage, possible,
        sizing::{self, ClaimedCpu, ROUNDS_MIN, ROUNDS_OF_CLAIMS, Trial},
    },
    state,
};

/// After so many rounds precision is looked at. An interval that happens to be narrow is a little more often wrong,
/// and looking after every round finds more of those (docs/METHODOLOGY.md, "Stopping on precision").
const LOOKS: [u32; 4] = [8, 12, 20, 30];
/// Rounds are worth their time up to here: an interval narrows with the root of their number
/// (docs/METHODOLOGY.md, "Stopping on precision").
pub const ROUNDS_MAX: u32 = 50;
/// Of a stage's time, after trials and fills.
const SHARE_OF_ROUNDS: f64 = 0.8;
/// Of a stage's time, for trials: where they take long, some conditions with rounds are better than all without.
const SHARE_OF_TRIALS: f64 = 0.5;
/// Of a stage's time, for its answers at the size of the job.
const SHARE_OF_CONFIRMATION: f64 = 0.2;
/// Of a stage's time, at most, for one condition that a claim about user or system time asks for.
const SHARE_OF_CPU: f64 = 0.5;
/// The kernel's tick where it is not known, and what other runtimes know of their processor time, in nanoseconds.
const TICK_NS: f64 = 4e6;
const RUNTIME_TICK_NS: f64 = 1e7;
/// Of the budget: what unit costs take in a survey.
const SHARE_OF_CALIBRATION: f64 = 0.15;
/// What a pass takes before there was a trial, in seconds: one in memory, one that waits for the device, and what is around
/// each. Only the proportions matter: stages share the budget by them.
const WARM_PASS_S: f64 = 0.012;
const SLOW_PASS_S: f64 = 0.02;
const AROUND_PASS_S: f64 = 0.01;
/// Of a scan in state limited, until it is steady, and the timed one.
const LIMITED_PASSES: f64 = 4.0;
/// Trials with a given number of blocks grow by this factor until one takes this part of what is left, or a whole pass
/// seems to take no more than that one.
const TRIAL_GROWTH: u64 = 8;
const LONGEST_TRIAL: u32 = 64;
const SHORT_PASS: u32 = 16;
/// A replay that takes so many times as long as the recorded one needs no second pass to be none to advise; one of which that is
/// expected by its first accesses, no pass at all.
const HOPELESS: f64 = 3.0;
const EXPECTED_HOPELESS: f64 = 4.0;
/// Of the budget: a shorter pass leaves the others time enough, and what disturbs it once may make it several times as long.
const HARDLY_ANY: f64 = 0.01;
/// How far a stage may exceed its time for the fewest rounds that can decide anything.
const OVERTIME: f64 = 1.3;

/// One stage's conditions and the time they have.
pub(super) struct Slot {
    stage: Stage,
    pub(super) conditions: Vec<usize>,
    begun: Instant,
    time: Duration,
    is_last: bool,
    calibrated_before_s: f64,
    /// Conditions whose windows lie elsewhere in each round.
    moving: BTreeMap<usize, Moving>,
}

/// In nanoseconds, if the pass was made.
fn took(sample: &Sample) -> Option<u64> {
    match &sample.outcome {
        Outcome::Ok { phases, .. } => Some(phases.total_ns()),
        _ => None,
    }
}

/// As far as windows may move: a range that an experiment names may lie beyond what the planner found to be of use.
fn may_touch(ranges: impl Iterator<Item = (Given, Span)>) -> u64 {
    ranges.filter(|(given, _)| *given == Given::Nothing).map(|(_, range)| range.end()).max().unwrap_or(0)
}

/// Where the window of a condition begins in the first round, and where those of all rounds end.
#[derive(Clone, Copy)]
struct Moving {
    offset: u64,
    end: u64,
}

/// A pass of a replay, or what one is expected to take.
struct Replayed {
    cell: usize,
    ns: f64,
    is_whole: bool,
}

/// Those that are hopeless and take longer than so much, and how many times as long as what was recorded they take.
fn slower_replays(cells: &[Cell], passes: &[Replayed], least_ns: f64) -> Vec<(usize, f64)> {
    let replays = || passes.iter().filter(|it| !cells[it.cell].arm.is_command());
    let Some(recorded) = replays().find(|it| cells[it.cell].baseline) else { return Vec::new() };
    let times = |it: &Replayed| it.ns / recorded.ns;
    let most = |it: &Replayed| if it.is_whole && recorded.is_whole { HOPELESS } else { EXPECTED_HOPELESS };
    let is_other = |it: &&Replayed| !cells[it.cell].baseline && !cells[it.cell].control;
    let is_slow = |it: &&Replayed| it.ns > least_ns && times(it) > most(it);
    replays().filter(is_other).filter(is_slow).map(|it| (it.cell, times(it))).collect()
}

impl Bench<'_> {
    /// All conditions of one stage: trials, sizes, then rounds.
    pub(super) fn stage(&mut self, stage: Stage, given: &[Given], hooks: &mut Hooks) {
        // Its trials are no passes of the last round of the stage before.
        self.draw.round = 0;
        let of_stage = |condition: &Condition| Stage::of(condition) == stage;
        let mut conditions: Vec<usize> = (0..self.record.conditions.len())
            .filter(|&index| of_stage(&self.record.conditions[index]) && self.is_measured(index))
            .collect();
        if let Some(fill) = stage.fill() {
            self.calibrate_fill(fill);
        }
        if conditions.is_empty() {
            self.complete_calibration(stage, hooks);
            return;
        }
        for &index in &conditions {
            self.record.conditions[index].own_work_ns = self.own_work_ns(&self.record.conditions[index]);
        }
        // The fill comes before the time is shared out: it would be taken for the first condition's. Where it fails, the
        // first trial says why.
        let first = self.record.conditions[conditions[0]].clone();
        if let Some(fill) = first.fill().filter(|_| !first.workload.writes()) {
            self.show(format!("filling the page cache: {fill}"), hooks);
            let _ = self.fill(fill, &first);
        }
        let whole = self.time_for(stage);
        let begun = Instant::now();
        // Rounds that were asked for by number are all there is; a question of a size that was written down is of that size.
        let confirms = self.settings.rounds.is_none() && conditions.iter().any(|&it| given[it] == Given::Nothing);
        let time = if confirms { whole.mul_f64(1.0 - SHARE_OF_CONFIRMATION) } else { whole };
        let mut trials: BTreeMap<usize, Vec<Trial>> = BTreeMap::new();
        let mut failures: BTreeMap<usize, String> = BTreeMap::new();
        for &condition in &conditions {
            if self.is_interrupted() {
                return;
            }
            let spent = self.clock.binds && !trials.is_empty() && begun.elapsed() > time.mul_f64(SHARE_OF_TRIALS);
            if spent || self.clock.is_over() {
                self.leave_untried(condition);
                continue;
            }
            let label = self.record.conditions[condition].label();
            self.show(format!("trying {label}"), hooks);
            trials.insert(condition, self.try_out(condition, given[condition], &mut failures));
        }
        self.leave_replays_of_nothing();
        trials.values().for_each(|trials| self.leave_hopeless(trials));
        // What is left out leaves its time to the others: so first all that is slow, then the sizes of what stays.
        plan::leave_lone_baselines(&mut self.record.cells);
        conditions.retain(|&it| self.is_measured(it));
        let shares = self.shares(time, &conditions, &trials);
        for (&condition, share_ns) in conditions.iter().zip(shares).filter(|(it, _)| given[**it] != Given::Ops) {
            let trials = trials.entry(condition).or_default();
            self.leave_slow(condition, given[condition], trials, share_ns);
        }
        plan::leave_lone_baselines(&mut self.record.cells);
        conditions.retain(|&it| self.is_measured(it));
        let shares = self.shares(time, &conditions, &trials);
        let may_touch = may_touch(conditions.iter().map(|&it| (given[it], self.record.conditions[it].range)));
        for (&condition, share_ns) in conditions.iter().zip(shares) {
            let trials = trials.remove(&condition).unwrap_or_default();
            self.fix_sizes(condition, given[condition], &trials, share_ns);
        }
        let moving = self.spread_windows(&conditions, given, may_touch);
        plan::leave_lone_baselines(&mut self.record.cells);
        self.checkpoint(hooks);
        let is_last = !self.measured_conditions().iter().any(|it| Stage::of(it) > stage);
        let slot = Slot { stage, conditions, begun, time, is_last, calibrated_before_s: self.calibrated_s(), moving };
        self.rounds(&slot, hooks);
        if !self.is_interrupted() {
            self.leave_unreached(&slot.conditions, &failures);
        }
        // Before the calibration is completed: some of its passes evict the file.
        if confirms {
            let calibrated = Duration::from_secs_f64((self.calibrated_s() - slot.calibrated_before_s).max(0.0));
            let until = begun + whole + calibrated;
            self.confirm(&slot, until.min(self.clock.end()), given, hooks);
        }
        self.look_again();
        self.complete_calibration(stage, hooks);
    }

    /// Of a replay that waits for the device: what the program that it replays took longer in memory, where both were measured
    /// before. It goes on while the device reads ahead, so a replay without it waits longer than the program does.
    fn own_work_ns(&self, condition: &Condition) -> u64 {
        if condition.workload != Workload::Replay || !condition.state.waits_for_device() {
            return 0;
        }
        let in_memory = |it: &Condition| it.state == State::Cached && it.fill() == Some(Fill::Sequential);
        let is_replay = |it: &Condition| {
            it.workload == Workload::Replay && it.trace == condition.trace && it.consume == condition.consume
        };
        let program = self.median_of_baseline(&|it| in_memory(it) && it.is_of_commands());
        let replay = self.median_of_baseline(&|it| in_memory(it) && is_replay(it));
        // What it does before its first access, or after its last one, nothing comes in meanwhile.
        let around = condition.trace.as_ref().and_then(|it| it.around_ns);
        let own = program.zip(replay).map(|(program, replay)| program.saturating_sub(replay));
        own.zip(around).map_or(0, |(own, around)| own.saturating_sub(around))
    }

    /// The time of a pass of what others are compared with, of the first such condition.
    fn median_of_baseline(&self, is_meant: &dyn Fn(&Condition) -> bool) -> Option<u64> {
        let at = self.record.conditions.iter().position(is_meant)?;
        let is_baseline = |it: &Cell| it.condition == at && it.baseline;
        let cell = self.record.cells.iter().position(is_baseline)?;
        let mut times: Vec<u64> = self.record.samples.iter().filter(|it| it.cell == cell).filter_map(took).collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }

    /// A stage's part of the time that is left once unit costs are known.
    fn time_for(&self, stage: Stage) -> Duration {
        let calibration = match &self.record.calibration {
            Reading::Value(it) => {
                let expected = self.settings.budget.mul_f64(SHARE_OF_CALIBRATION);
                expected.saturating_sub(Duration::from_secs_f64(it.elapsed_s))
            }
            Reading::Unavailable { .. } => Duration::ZERO,
        };
        let needs = (0..self.record.conditions.len()).filter(|&it| self.is_measured(it));
        let needs: Vec<(Stage, f64)> =
            needs.map(|it| (Stage::of(&self.record.conditions[it]), self.need(it))).collect();
        self.clock.time_for(stage, &needs, calibration + self.reserved(stage))
    }

    /// What the device's ceiling takes that is measured again after cold passes.
    fn reserved(&self, stage: Stage) -> Duration {
        if stage == Stage::Cold { self.times.ceiling } else { Duration::ZERO }
    }

    /// What a round of a condition takes, in seconds, as far as that is known without a trial.
    fn need(&self, index: usize) -> f64 {
        let condition = &self.record.conditions[index];
        let cells = self.cells_of(index).into_iter().filter(|&it| self.record.cells[it].skipped.is_none()).count();
        let of_disk = self.record.ceiling.value().map(|it| it.bytes_per_s);
        let of_throttle = condition.storage.and_then(|it| it.read_bytes_per_s).map(|it| it as f64);
        let per_s = [of_disk, of_throttle].into_iter().flatten().reduce(f64::min);
        let pass_s = match (Stage::of(condition), condition.workload, per_s) {
            (Stage::Cold, Workload::Scan, Some(per_s)) => {
                let ops = match condition.ops {
                    0 => sizing::least_ops(condition, self.window()),
                    given => given,
                };
                let bytes = ops.saturating_mul(condition.block_bytes).min(condition.range.bytes);
                (bytes as f64 / per_s).max(SLOW_PASS_S)
            }
            // Short passes have many rounds beside long ones.
            (Stage::Warm(_), ..) if self.record.advised.is_some() => 4.0 * WARM_PASS_S,
            // Each access may bring in a window, as most of those through a mapping do; and so may those of the command.
            (Stage::Cold | Stage::AsFound, Workload::Replay | Workload::Command, Some(per_s))
                if self.record.advised.is_some() =>
            {
                let accesses = self.record.conditions.iter().map(|it| it.ops).max().unwrap_or(1);
                let bytes = accesses.saturating_mul(self.window()).min(condition.range.bytes);
                (bytes as f64 / per_s).max(SLOW_PASS_S)
            }
            // Warm passes come first, and most of each comes from the device.
            (Stage::Limited, Workload::Scan, Some(per_s)) => {
                (LIMITED_PASSES * condition.range.bytes as f64 / per_s).max(SLOW_PASS_S)
            }
            (stage, ..) if stage >= Stage::Limited => SLOW_PASS_S,
            // The work is done once more before the clock starts.
            _ if condition.state.is_held() => 2.0 * WARM_PASS_S,
            _ => WARM_PASS_S,
        };
        cells as f64 * (AROUND_PASS_S + pass_s)
    }

    /// How much the device reads ahead, in bytes.
    fn window(&self) -> u64 {
        self.target.window_bytes()
    }

    /// The parts of a stage's time that its conditions have for their rounds, in nanoseconds.
    fn shares(&self, time: Duration, conditions: &[usize], trials: &BTreeMap<usize, Vec<Trial>>) -> Vec<f64> {
        let (window, time_ns) = (self.window(), time.as_nanos() as f64 * SHARE_OF_ROUNDS);
        let need = |condition: &usize| {
            let trials: &[Trial] = trials.get(condition).map_or(&[], |it| it);
            let measured = trials.iter().filter(|it| self.record.cells[it.cell].skipped.is_none()).cloned();
            let under = &self.record.conditions[*condition];
            let measured: Vec<Trial> = measured.collect();
            let need = |claimed| sizing::need_ns(under, &measured, &self.baseline_of(*condition), window, claimed);
            // A claim that would take all the time leaves some to the others.
            need(None).max(need(self.claimed_cpu(*condition)).min(time_ns * SHARE_OF_CPU))
        };
        let needs: Vec<f64> = conditions.iter().map(need).collect();
        sizing::shares(time_ns, &needs)
    }

    /// What the claims about user or system time need of a condition's passes.
    fn claimed_cpu(&self, index: usize) -> Option<ClaimedCpu> {
        let experiment = &self.record.experiment;
        let condition = &self.record.conditions[index];
        let compare = self.record.origins.get(index).and_then(|it| experiment.comparisons.get(*it))?;
        let by_ticks = |claim: &&Claim| match claim.metric {
            it if it.is_part_of_cpu() => true,
            // Only natively is their sum from the scheduler's clock.
            Metric::Cpu => compare.arms.iter().any(|it| it.arm.runtime != NATIVE.name),
            _ => false,
        };
        let asked = experiment.claims.iter().filter(by_ticks).filter(|claim| {
            claim.selections().any(|(name, only)| {
                (name.is_none() || name == compare.name.as_deref()) && only.selects(Some(compare), condition)
            })
        });
        let tick_ns = |runtime: &str| match runtime == NATIVE.name {
            true => self.record.environment.tick_ns.value().map_or(TICK_NS, |&ns| ns as f64),
            false => RUNTIME_TICK_NS,
        };
        let runtimes = || compare.arms.iter().map(|it| it.arm.runtime.as_str());
        let coarsest = runtimes().map(tick_ns).fold(0.0, f64::max);
        let of_process = runtimes().all(|it| it == NATIVE.name);
        let needed =
            asked.map(|claim| ClaimedCpu::to_tell(claim.ratio.unwrap_or(EXPECTED_RATIO), coarsest, of_process));
        needed.reduce(ClaimedCpu::and)
    }

    /// Proves how residency is verified, where that had to wait because it evicts the file; what cannot be had after all
    /// is skipped.
    pub(super) fn prove_target(&mut self) {
        self.look_again();
        self.filled = None;
        self.target.prove();
        for index in 0..self.record.conditions.len() {
            let condition = &self.record.conditions[index];
            if Stage::of(condition).is_as_found() {
                continue;
            }
            if let Err(reason) = possible::condition(condition, self.target, &self.around.cgroups) {
                for cell in self.cells_of(index) {
                    self.record.cells[cell].leave_out(Skip::Impossible(reason.clone()));
                }
            }
        }
    }

    /// Before the first stage: whether unit costs are measured at all.
    pub(super) fn begin_calibration(&mut self) {
        self.record.calibration = match self.calibrated_range() {
            Ok(range) => calibrate::begin(range.offset, self.settings.budget),
            Err(reason) => Reading::unavailable(reason),
        };
    }

    /// Where a warm stage begins: after what is there was looked at.
    fn calibrate_fill(&mut self, fill: Fill) {
        let Reading::Value(calibration) = &self.record.calibration else { return };
        let mut calibration = calibration.clone();
        let possible = state::possible(State::Mapped, self.target).and_then(|()| self.calibrated_range());
        self.record.calibration = match possible {
            Ok(range) => {
                let mut read = self.measured_conditions();
                read.retain(|it| it.fill() == Some(fill) && !it.workload.writes());
                let widest = read.into_iter().map(|it| it.range.bytes).max();
                let bytes = match fill {
                    Fill::Sequential => range.bytes,
                    _ => range.bytes.min(widest.unwrap_or(calibrate::FILLED_BYTES_MAX)),
                };
                // The file is not copied for the unit costs of a fill that nothing is read after.
                if widest.is_some() || fill.copied_by().is_none() {
                    calibrate::add_points(self, &mut calibration, fill, bytes);
                }
                Reading::Value(calibration)
            }
            Err(reason) => Reading::unavailable(reason),
        };
    }

    /// The part of the file that unit costs are measured on, or why none are.
    fn calibrated_range(&self) -> Result<Span, String> {
        if self.record.advised.is_some() {
            return Err("advice is by replays, and needs no unit costs".into());
        }
        // Passes that refuse it come in stages of their own.
        let refusal = |it: &Condition| of_workload(it.workload).calibration_refused();
        let (refused, beside): (Vec<_>, Vec<_>) = self.record.conditions.iter().partition(|it| refusal(it).is_some());
        if let Some(why) = refused.first().filter(|_| beside.is_empty()).and_then(|it| refusal(it)) {
            return Err(why.into());
        }
        let touched = beside.iter().filter(|it| !Stage::of(it).is_as_found());
        let widest = touched.map(|it| it.range).max_by_key(|it| it.bytes);
        let widest = widest.ok_or("a file that is measured as found is neither evicted nor filled")?;
        // Of several files, the largest is read.
        let most = self.target.bytes.saturating_sub(widest.offset).min(calibrate::RANGE_BYTES_MAX);
        Ok(Span { bytes: widest.bytes.min(most), ..widest })
    }

    /// Goes on with a calibration, if there is one.
    fn calibrate(&mut self, hooks: &mut Hooks, go_on: &dyn Fn(&mut Self, &mut Calibration)) {
        if let Some(mut calibration) = self.record.calibration.value().cloned() {
            self.show("calibrating the costs of calls, faults and copies".into(), hooks);
            calibrate::forget(&mut calibration, &std::mem::take(&mut self.changed));
            go_on(self, &mut calibration);
            self.record.calibration = Reading::Value(calibration);
        }
    }

    fn complete_calibration(&mut self, stage: Stage, hooks: &mut Hooks) {
        let (Some(fill), budget) = (stage.fill(), self.settings.budget) else { return };
        self.calibrate(hooks, &|bench, calibration| calibrate::complete(bench, calibration, fill, budget));
    }

    /// Whether any cell of a condition is to be measured.
    fn is_measured(&self, condition: usize) -> bool {
        self.cells_of(condition).iter().any(|&cell| self.record.cells[cell].skipped.is_none())
    }

    pub(super) fn measured_conditions(&self) -> Vec<&Condition> {
        let conditions = self.record.conditions.iter().enumerate();
        conditions.filter(|(index, _)| self.is_measured(*index)).map(|(_, it)| it).collect()
    }

    /// Cells of a condition that are never too slow.
    fn baseline_of(&self, condition: usize) -> Vec<usize> {
        let mut cells = self.cells_of(condition);
        cells.retain(|&cell| self.record.cells[cell].baseline || self.record.cells[cell].control);
        cells
    }

    /// Short passes of every arm; what is unavailable is skipped.
    fn try_out(&mut self, condition: usize, given: Given, failures: &mut BTreeMap<usize, String>) -> Vec<Trial> {
        let mut trials = Vec::new();
        for cell in self.cells_of(condition) {
            let entry = &self.record.cells[cell];
            if entry.skipped.is_some() || self.is_interrupted() {
                continue;
            }
            let fails_for_good = kind_of(&entry.arm, &self.record.conditions[condition]).fails_for_good();
            if self.clock.is_over() {
                self.record.cells[cell].leave_out(Skip::Untried);
                continue;
            }
            match self.trial(cell, given) {
                Ok(trial) => trials.push(trial),
                Err(Trouble::Unavailable(reason)) => self.record.cells[cell].leave_out(Skip::Unavailable(reason)),
                Err(Trouble::Failed(reason)) if fails_for_good => {
                    self.record.cells[cell].leave_out(Skip::Failed(reason));
                }
                // What fails in a trial may fail again, and is then recorded as what it is.
                Err(Trouble::Failed(reason)) => drop(failures.insert(cell, reason)),
                Err(Trouble::Interrupted) => {}
            }
        }
        trials
    }

    /// Once the rounds have ended: what was never begun has a reason, too.
    fn leave_unreached(&mut self, conditions: &[usize], failures: &BTreeMap<usize, String>) {
        let begun: BTreeSet<usize> = self.record.samples.iter().map(|it| it.cell).collect();
        let cells: Vec<usize> = conditions.iter().flat_map(|&it| self.cells_of(it)).collect();
        for cell in cells.into_iter().filter(|it| !begun.contains(it)) {
            let failed = failures.get(&cell).cloned().map(Skip::Failed);
            self.record.cells[cell].leave_out(failed.unwrap_or(Skip::Untried));
        }
    }

    /// Leaves out the arms that are too slow for a condition's share of the budget. One trial may be unlucky, and one of
    /// few blocks may be all first read; so what seems too slow is tried once more, with a useful pass where that fits.
    fn leave_slow(&mut self, condition: usize, given: Given, trials: &mut Vec<Trial>, share_ns: f64) {
        let keep = self.baseline_of(condition);
        let under = self.record.conditions[condition].clone();
        let window = self.window();
        for (cell, _) in sizing::size(&under, trials, share_ns, &keep, window, None).too_slow {
            if self.is_interrupted() || self.clock.is_over() {
                break;
            }
            let own = self.condition_of(cell);
            let Some(first) = trials.iter_mut().find(|it| it.cell == cell) else { continue };
            let useful = sizing::least_ops(&own, window).max(first.ops);
            let fits = first.pass_time(useful).as_nanos() as f64 <= share_ns / 2.0;
            if let Ok(second) = self.try_blocks(cell, given, if fits { useful } else { first.ops }) {
                *first = first.clone().or_faster(second, useful);
            }
        }
        for (cell, reason) in sizing::size(&under, trials, share_ns, &keep, window, None).too_slow {
            self.record.cells[cell].leave_out(reason);
        }
        trials.retain(|it| self.record.cells[it.cell].skipped.is_none());
    }

    /// How long a pass of one cell takes, by a short one. Where the experiment says how many blocks a pass has and they
    /// seem to take long, longer ones follow: the first blocks pay for opening, and for read-ahead that the others use.
    fn trial(&mut self, cell: usize, given_of: Given) -> Result<Trial, Trouble> {
        let whole = self.condition_of(cell);
        let given = if whole.ops == 0 { u64::MAX } else { whole.ops };
        let left = self.clock.left();
        let full = sizing::trial_ops(&whole).min(given);
        let mut ops = sizing::first_ops(&whole).min(full);
        loop {
            let trial = self.try_blocks(cell, given_of, ops)?;
            let more = ops.saturating_mul(TRIAL_GROWTH).min(full);
            if ops < more && trial.pass_time(more) <= left / SHORT_PASS {
                ops = more;
                continue;
            }
            let fits = whole.ops == 0 || trial.pass_time(given) <= left / SHORT_PASS;
            let longer = ops.saturating_mul(TRIAL_GROWTH).min(given);
            if fits || ops >= given || trial.pass_time(ops) > left / LONGEST_TRIAL {
                // No longer than a pass that is of use.
                let longer = longer.min(sizing::least_ops(&whole, self.window()).max(2 * ops));
                let is_to_grow =
                    whole.workload.writes() && longer > ops && trial.pass_time(longer) <= left / LONGEST_TRIAL;
                return match is_to_grow {
                    true => Ok(trial.with_longer(self.try_blocks(cell, given_of, longer)?)),
                    false => Ok(trial),
                };
            }
            ops = longer;
        }
    }

    fn try_blocks(&mut self, cell: usize, given: Given, ops: u64) -> Result<Trial, Trouble> {
        let arm = self.record.cells[cell].arm.clone();
        let whole = self.condition_of(cell);
        let mut under = whole.clone();
        plan::cover(&mut under, ops);
        // Where a pass of a round may lie, and nowhere else.
        if self.may_move(self.record.cells[cell].condition, given) {
            under.range = plan::in_round(under.range, whole.range.end(), 1);
        }
        let pass = self.pass(&arm, &under)?;
        let device = pass.readings.get("device_read_bytes").and_then(|it| it.value().copied());
        let device = device.filter(|it| arm.finds_its_pages(&whole) && *it > 0.0);
        let elapsed_ns = pass.done.phases.total_ns() as f64;
        let cpu_ns = pass.done.usage.user_ns as f64 + pass.done.usage.system_ns as f64;
        let (ops, looked_at) = (pass.done.tally.ops, pass.done.tally.bytes);
        // Populating a mapping brings in and maps all of the range, however few accesses there are.
        let populates = arm.fills_page_table() && whole.workload.reads_anywhere();
        let brought_bytes = if populates { whole.range.bytes as f64 } else { device.unwrap_or(0.0) };
        let bytes = looked_at.saturating_mul(100) / u64::from(whole.consumed_percent.max(1));
        let waits = whole.state.waits_for_device() || arm.is_direct();
        Ok(Trial {
            cell,
            ops,
            worth_ops: sizing::worth_ops(&whole, ops, bytes, waits, self.window()),
            elapsed_ns,
            found_ns: sizing::found_ns(whole.block_bytes, ops, cpu_ns, brought_bytes),
            whole_range_ns: match (populates, device) {
                (true, _) => elapsed_ns,
                (false, Some(device)) => elapsed_ns * whole.range.bytes as f64 / device,
                (false, None) => f64::INFINITY,
            },
            overhead_ns: pass.overhead_ns,
            around_op_ns: 0.0,
            waits,
            doubled: matches!(state::hold(under.state), Hold::Open | Hold::Warm | Hold::Locked),
            cpu_ns,
        })
    }

    /// How many blocks a pass of a condition has, and what it then takes, from its trials.
    fn fix_sizes(&mut self, condition: usize, given: Given, trials: &[Trial], share_ns: f64) {
        if given != Given::Ops {
            let under = &self.record.conditions[condition];
            let ops = match trials.is_empty() {
                true => sizing::trial_ops(under),
                false => {
                    let (baseline, claimed) = (self.baseline_of(condition), self.claimed_cpu(condition));
                    sizing::size(under, trials, share_ns, &baseline, self.window(), claimed).ops
                }
            };
            self.cover(condition, ops);
        }
        for trial in trials {
            let condition = self.condition_of(trial.cell);
            if let Some(reason) = self.refuses_more(trial, &condition) {
                self.record.cells[trial.cell].leave_out(Skip::Unavailable(reason));
                continue;
            }
            let left = self.clock.left();
            let needed = trial.pass_time(condition.ops);
            if needed > left {
                let (pass_ns, left_ns) = (needed.as_nanos() as f64, left.as_nanos() as f64);
                let skip = Skip::TooLong { blocks: condition.ops, pass_ns, left_ns, budget: self.clock.binds };
                self.record.cells[trial.cell].leave_out(skip);
            }
            self.times.expected.insert(trial.cell, needed);
        }
    }

    /// Why an arm around the page cache cannot make the passes that were planned although it made its trial: those come to the end of
    /// a range, which may lie within a sector. A worker is asked, and reads no more than a block to answer.
    fn refuses_more(&self, trial: &Trial, condition: &Condition) -> Option<String> {
        let arm = &self.record.cells[trial.cell].arm;
        if !arm.is_direct() || condition.workload.writes() || trial.ops >= condition.ops {
            return None;
        }
        match possible::job(arm, &self.job(arm, condition, self.target), self.stop.interrupted) {
            Err(Skip::Unavailable(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Whether passes of a condition may lie elsewhere than its range says: the planner chose that.
    fn may_move(&self, condition: usize, given: Given) -> bool {
        let cells = self.cells_of(condition).into_iter().map(|cell| &self.record.cells[cell]);
        given == Given::Nothing && plan::may_move(&self.record.conditions[condition], cells)
    }

    /// Scans of a part of the file that the planner chose read a part of their own each, and another one in each round: those
    /// conditions, and how far they come.
    fn spread_windows(&mut self, conditions: &[usize], given: &[Given], end: u64) -> BTreeMap<usize, Moving> {
        let movable: Vec<usize> = conditions.iter().copied().filter(|&it| self.may_move(it, given[it])).collect();
        let mut windows: Vec<Span> = movable.iter().map(|&it| self.record.conditions[it].range).collect();
        plan::spread(&mut windows, end);
        // Conditions that ask the same stay equal: where a pass was, its sample says.
        movable.into_iter().zip(windows).map(|(it, window)| (it, Moving { offset: window.offset, end })).collect()
    }

    /// Sets the blocks of a condition, and of the arms that say no other.
    fn cover(&mut self, condition: usize, ops: u64) {
        plan::cover(&mut self.record.conditions[condition], ops);
        let ops = self.record.conditions[condition].ops;
        for cell in self.cells_of(condition) {
            if let Some(own) = &mut self.record.cells[cell].own_condition
                && own.ops == 0
            {
                plan::cover(own, ops);
            }
        }
    }

    /// Replays say something of a command that is measured beside them, and nothing from a start that it cannot be measured
    /// from.
    fn leave_replays_of_nothing(&mut self) {
        let conditions = &self.record.conditions;
        let start = |it: &schema::record::Cell| conditions[it.condition].start();
        let is_left_out = |it: &&schema::record::Cell| it.arm.is_command() && it.baseline && it.skipped.is_some();
        let starts: Vec<_> = self.record.cells.iter().filter(is_left_out).map(start).collect();
        if self.record.advised.is_some() {
            let of_these = self.record.cells.iter_mut().filter(|it| starts.contains(&start(it)));
            of_these.for_each(|it| it.leave_out(Skip::NothingToCompare));
        }
    }

    /// Of the replays of what a command did, those that take several times as long leave their time to the others: no advice
    /// comes of them. Beside switches of the command's own each is kept, for what it predicts.
    fn leave_hopeless(&mut self, trials: &[Trial]) {
        let of_trial = |it: &Trial| {
            let ops = self.condition_of(it.cell).ops;
            let is_whole = it.ops == ops;
            let counts = is_whole || it.is_alike(ops) || self.record.cells[it.cell].baseline;
            counts.then(|| Replayed { cell: it.cell, ns: it.work_ns(ops as f64), is_whole })
        };
        self.leave_slower_replays(&trials.iter().filter_map(of_trial).collect::<Vec<_>>());
    }

    /// As `leave_hopeless`, by the passes of the first round.
    fn leave_hopeless_since(&mut self, conditions: &[usize]) {
        for &condition in conditions {
            let of_condition = |it: &&Sample| self.record.cells[it.cell].condition == condition;
            let samples = self.record.samples.iter().filter(of_condition);
            let pass = |it: &Sample| Some(Replayed { cell: it.cell, ns: took(it)? as f64, is_whole: true });
            self.leave_slower_replays(&samples.filter_map(pass).collect::<Vec<_>>());
        }
    }

    /// Of one condition.
    fn leave_slower_replays(&mut self, passes: &[Replayed]) {
        let cells = &self.record.cells;
        let is_switch = |it: &Cell| it.arm.is_command() && !it.baseline && !it.control;
        if self.record.advised.is_none() || cells.iter().any(is_switch) {
            return;
        }
        let slow = slower_replays(cells, passes, HARDLY_ANY * self.settings.budget.as_nanos() as f64);
        for (cell, times) in slow {
            self.record.cells[cell].leave_out(Skip::SlowerReplay { times });
        }
    }

    /// The budget is spent before the first pass of a condition.
    fn leave_untried(&mut self, condition: usize) {
        for cell in self.cells_of(condition) {
            self.record.cells[cell].leave_out(Skip::Untried);
        }
    }

    fn rounds(&mut self, slot: &Slot, hooks: &mut Hooks) {
        let mut too_long = BTreeSet::new();
        self.rounds_without(&mut too_long, slot, hooks);
        self.end_rounds(&too_long.into_iter().collect::<Vec<_>>(), RoundsEnd::Budget);
    }

    /// As `rounds`; `too_long` are the cells of which a pass would have exceeded what was left.
    fn rounds_without(&mut self, too_long: &mut BTreeSet<usize>, slot: &Slot, hooks: &mut Hooks) {
        let mut active: Vec<usize> = slot
            .conditions
            .iter()
            .flat_map(|&condition| self.cells_of(condition))
            .filter(|&cell| self.record.cells[cell].skipped.is_none())
            .collect();
        let rounds_max = self.settings.rounds.unwrap_or(ROUNDS_MAX);
        let mut saved = Instant::now();
        for round in 0..rounds_max {
            self.draw.round = round + 1;
            if self.is_out_of_time(slot, round, &active) {
                self.cut_short(slot, round, &active);
                self.end_rounds(&active, RoundsEnd::Budget);
                return;
            }
            for cell in self.order_of(&active) {
                if self.is_interrupted() {
                    return;
                }
                if too_long.contains(&cell) {
                    continue;
                }
                // A pass that would exceed what is left is not begun. An arm that takes long leaves the time to the others, a
                // baseline with all that is compared with it.
                let is_too_long = self.times.expected.get(&cell).is_some_and(|&it| it > self.clock.left());
                if self.clock.binds && (is_too_long || self.clock.is_over()) {
                    let condition = self.record.cells[cell].condition;
                    let is_needed = self.baseline_of(condition).contains(&cell);
                    // A command says nothing without its replays, nor they without it.
                    let is_for_all = is_needed && self.record.advised.is_some();
                    if self.settings.rounds.is_none() && !is_for_all && !self.clock.is_over() {
                        too_long.extend(if is_needed { self.cells_of(condition) } else { vec![cell] });
                        continue;
                    }
                    self.cut_short(slot, round, &active);
                    self.end_rounds(&active, RoundsEnd::Budget);
                    return;
                }
                let entry = &self.record.cells[cell];
                let (arm, label) = (entry.arm.short_name(), self.record.conditions[entry.condition].label());
                let of = self.settings.rounds.map_or_else(String::new, |all| format!(" of {all}"));
                self.show(format!("{arm}, {label}, round {}{of}", round + 1), hooks);
                let moving = slot.moving.get(&self.record.cells[cell].condition).copied();
                self.sample(cell, round, moving);
            }
            if round == 0 {
                self.leave_hopeless_since(&slot.conditions);
            }
            active.retain(|it| self.record.cells[*it].skipped.is_none());
            active = self.without(too_long, active);
            if active.is_empty() {
                return;
            }
            if slot.stage != Stage::Writing {
                let (budget, fill) = (self.settings.budget, slot.stage.fill());
                self.calibrate(hooks, &|bench, calibration| {
                    calibrate::between_rounds(bench, calibration, fill, budget);
                });
            }
            if saved.elapsed() > Duration::from_secs(2) {
                self.checkpoint(hooks);
                saved = Instant::now();
            }
            if self.settings.rounds.is_none() && LOOKS.contains(&(round + 1)) {
                let open = self.imprecise_cells(active.clone(), hooks);
                let condition = |&cell: &usize| self.record.cells[cell].condition;
                let goes_on = |cell: &usize| open.iter().any(|it| condition(it) == condition(cell));
                let ended: Vec<usize> = active.iter().copied().filter(|cell| !goes_on(cell)).collect();
                self.end_rounds(&ended, RoundsEnd::Precise);
                active = open;
                if active.is_empty() {
                    return;
                }
            }
        }
        self.end_rounds(&active, if self.settings.rounds.is_some() { RoundsEnd::Asked } else { RoundsEnd::Most });
    }

    /// Without those that take too long, and what is left of their conditions to compare them with. Replays are held against the
    /// command too.
    fn without(&self, too_long: &BTreeSet<usize>, mut active: Vec<usize>) -> Vec<usize> {
        active.retain(|it| !too_long.contains(it));
        let condition = |cell: usize| self.record.cells[cell].condition;
        let lost: BTreeSet<usize> = too_long.iter().map(|&it| condition(it)).collect();
        let is_compared = |cell: usize| !self.baseline_of(condition(cell)).contains(&cell);
        let of_others: BTreeSet<usize> =
            active.iter().filter(|&&it| is_compared(it)).map(|&it| condition(it)).collect();
        let is_advised = self.record.advised.is_some();
        active.retain(|&it| is_advised || !lost.contains(&condition(it)) || of_others.contains(&condition(it)));
        active
    }

    /// The cells of a round: every condition's in an order drawn anew, and one of each condition before the next of any. So
    /// what the pass before left in the CPU caches is another condition's, and not the blocks that this one reads.
    fn order_of(&mut self, active: &[usize]) -> Vec<usize> {
        let mut conditions: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &cell in active {
            conditions.entry(self.record.cells[cell].condition).or_default().push(cell);
        }
        let mut conditions: Vec<Vec<usize>> = conditions.into_values().collect();
        self.draw.random.shuffle(&mut conditions);
        conditions.iter_mut().for_each(|cells| self.draw.random.shuffle(cells));
        let most = conditions.iter().map(Vec::len).max().unwrap_or(0);
        (0..most).flat_map(|at| conditions.iter().filter_map(move |cells| cells.get(at).copied())).collect()
    }

    /// Notes why there are no more rounds of the conditions of these cells; of those that go on, the last note stays.
    fn end_rounds(&mut self, cells: &[usize], end: RoundsEnd) {
        for &cell in cells {
            self.record.rounds_ended.insert(self.record.cells[cell].condition, end);
        }
    }

    /// What is there so far is kept, should the run be killed.
    pub(super) fn checkpoint(&mut self, hooks: &mut Hooks) {
        self.record.elapsed_s = self.clock.started.elapsed().as_secs_f64();
        // As far as the passes went by now.
        let known = self.record.limits.len();
        self.record.limits.extend(record::part_of_file(&self.record));
        (hooks.checkpoint)(&self.record);
        self.record.limits.truncate(known);
    }

    /// Whether there is no time for one more round. Fewer rounds decide nothing, so for the least number a stage may
    /// exceed its time; the last one until the whole run is over.
    fn is_out_of_time(&self, slot: &Slot, round: u32, active: &[usize]) -> bool {
        if !self.clock.binds {
            return false;
        }
        // What single calls cost was measured in this stage for all of them.
        let calibrated = Duration::from_secs_f64((self.calibrated_s() - slot.calibrated_before_s).max(0.0));
        let spent = slot.begun.elapsed().saturating_sub(calibrated);
        let least = if self.record.experiment.claims.is_empty() { ROUNDS_MIN } else { ROUNDS_OF_CLAIMS };
        match round < least {
            true if slot.is_last => self.clock.left() <= self.reserved(slot.stage),
            true => spent > slot.time.mul_f64(OVERTIME),
            false => {
                let expected: Duration = active.iter().filter_map(|it| self.times.expected.get(it)).sum();
                spent + expected > slot.time
            }
        }
    }

    /// Seconds that the calibration has taken so far.
    fn calibrated_s(&self) -> f64 {
        self.record.calibration.value().map_or(0.0, |it| it.elapsed_s)
    }

    /// The budget ended the requested number of rounds early; the record says so.
    fn cut_short(&mut self, slot: &Slot, round: u32, active: &[usize]) {
        // Where no cell is left, time ended nothing.
        if let Some(asked) = self.settings.rounds.filter(|_| !active.is_empty()) {
            let states: Vec<State> = active.iter().map(|&cell| self.condition_of(cell).state).collect();
            self.record.ending = Some(Ending::BudgetSpent);
            self.record.limits.push(format!(
                "the budget ended the rounds in {}, in round {} of {asked}; try a larger --budget, or --rounds \
                 without --budget for all rounds",
                slot.stage.named(&states),
                round + 1
            ));
        }
    }

    /// Cells that still need rounds. A baseline stays as long as another cell is compared with it.
    fn imprecise_cells(&self, active: Vec<usize>, hooks: &Hooks) -> Vec<usize> {
        let open: Vec<usize> = active
            .iter()
            .copied()
            .filter(|&cell| !self.record.cells[cell].baseline && !(hooks.is_precise)(&self.record, cell))
            .collect();
        let has_open = |condition: usize| open.iter().any(|&cell| self.record.cells[cell].condition == condition);
        // The gain of a replay is that of the command from the same start.
        let start = |cell: usize| self.condition_of(cell).start();
        let is_gained_by = |command: usize| open.iter().any(|&it| start(it) == start(command));
        active
            .into_iter()
            .filter(|&cell| {
                let entry = &self.record.cells[cell];
                let is_advised = self.record.advised.is_some() && entry.arm.is_command();
                open.contains(&cell)
                    || (entry.baseline && (has_open(entry.condition) || is_advised && is_gained_by(cell)))
            })
            .collect()
    }

    /// One pass of a cell, into the record.
    fn sample(&mut self, cell: usize, round: u32, moving: Option<Moving>) {
        let arm = self.record.cells[cell].arm.clone();
        let mut condition = self.condition_of(cell);
        let of_all_rounds = condition.range;
        if let Some(Moving { offset, end }) = moving {
            condition.range = plan::in_round(Span { offset, ..of_all_rounds }, end, round);
        }
        let not_reached = || Reading::unavailable("the pass did not run");
        let mut sample = Sample {
            cell,
            round,
            order: self.record.samples.len() as u32,
            host: self.record.environment.host.clone(),
            window_offset: (condition.range != of_all_rounds).then_some(condition.range.offset),
            outcome: Outcome::Failed { reason: String::new() },
            resident_before: not_reached(),
            resident_after: not_reached(),
            readings: BTreeMap::new(),
            beats: None,
        };
        match self.pass(&arm, &condition) {
            Ok(pass) => {
                let took = pass.overhead_ns + pass.done.phases.total_ns() as f64;
                self.times.expected.insert(cell, Duration::from_nanos(took as u64));
                let [from_s, to_s] = pass.went.map(|it| it.duration_since(self.clock.started).as_secs_f64());
                self.times.passings.push(Passing { cell, from_s, to_s });
                sample.outcome = match pass.invalid {
                    Some(reason) => Outcome::Invalid { reason: reason.into() },
                    None => Outcome::Ok { phases: pass.done.phases, tally: pass.done.tally },
                };
                sample.resident_before = pass.resident_before;
                sample.resident_after = pass.resident_after;
                sample.readings = pass.readings;
                sample.beats = pass.done.beats;
            }
            Err(Trouble::Failed(reason) | Trouble::Unavailable(reason)) => sample.outcome = Outcome::Failed { reason },
            // The pass did not happen; the run's end says why.
            Err(Trouble::Interrupted) => return,
        }
        self.record.samples.push(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_move_only_as_far_as_ranges_that_the_planner_chose() {
        let range = |mib: u64| Span { offset: 0, bytes: mib << 20 };
        let ranges = [(Given::Nothing, range(64)), (Given::Range, range(4096)), (Given::Ops, range(1024))];
        assert_eq!(may_touch(ranges.into_iter()), 64 << 20);
        assert_eq!(may_touch(ranges.into_iter().skip(1)), 0, "none of them moves");
    }

    #[test]
    fn a_replay_is_hopeless_by_a_pass_at_three_times_the_recorded_one_and_by_its_first_accesses_at_four() {
        let cell = |arm: &str, baseline: bool, control: bool| Cell {
            arm: arm.parse().unwrap(),
            condition: 0,
            own_condition: None,
            baseline,
            control,
            skipped: None,
        };
        let cells = [cell("mmap", true, false), cell("mmap", false, true), cell("direct", false, false)];
        let of = |cell: usize, ns: f64, is_whole: bool| Replayed { cell, ns, is_whole };
        let slow = |is_whole: bool, recorded_is_whole: bool, ns: f64| {
            let passes = [of(2, ns, is_whole), of(1, 9e9, true), of(0, 1e6, recorded_is_whole)];
            slower_replays(&cells, &passes, 3e6)
        };
        assert_eq!(slow(true, true, 3.1e6), [(2, 3.1)]);
        assert_eq!(slow(true, true, 2.9e6), []);
        for (is_whole, recorded_is_whole) in [(false, true), (true, false)] {
            assert_eq!(slow(is_whole, recorded_is_whole, 3.9e6), []);
            assert_eq!(slow(is_whole, recorded_is_whole, 4.1e6), [(2, 4.1)]);
        }
        assert_eq!(slower_replays(&cells, &[of(2, 9e9, true)], 0.0), [], "nothing to hold it against");
        let short = [of(2, 9e6, true), of(0, 1e6, true)];
        assert_eq!(slower_replays(&cells, &short, 10e6), [], "it takes hardly any time from the others");
    }
}
