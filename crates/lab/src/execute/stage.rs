//! One stage of a run: every arm tried (`trials`), the time shared out and sizes fixed, then rounds (`rounds`).

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use schema::{
    Condition, Fill, Skip, Span, State, Workload,
    experiment::{Claim, EXPECTED_RATIO, Metric},
    record::Reading,
    runtime::NATIVE,
    unit_cost::Calibration,
};

use super::{
    Bench, Hooks, calibrate,
    pass::of_workload,
    record,
    rounds::{Moving, OVERTIME, Slot},
};
use crate::{
    plan::{
        self, Given, Stage, possible,
        sizing::{self, ClaimedCpu, ROUNDS_MIN, Room, Share, Trial},
    },
    runtime, state,
};

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
/// What a pass takes before there was a trial, in seconds: one in memory, and one that waits for the device. Only the
/// proportions matter, to each other and to what is around a pass: stages share the budget by them.
const WARM_PASS_S: f64 = 0.012;
const SLOW_PASS_S: f64 = 0.02;
/// A scan in memory is faster, unless it looks at each byte.
const SCANNED_BYTES_PER_S: f64 = 4e9;
/// The experiment that is made for unit costs.
const CALIBRATE: &str = "calibrate";
/// Of a scan in state limited, until it is steady, and the timed one.
const LIMITED_PASSES: f64 = 4.0;

/// The part of the file that the unit costs of a fill are measured on. It begins where that of the widest condition after this
/// fill does, so that the fill need not reach from the one to the other; of other fills than the usual one it is no larger, either.
fn calibrated_part(whole: Span, of_conditions: Option<Span>, fill: Fill, file_bytes: u64) -> Span {
    let offset = of_conditions.map_or(whole.offset, |it| it.offset);
    let most = match fill {
        Fill::Sequential => whole.bytes,
        _ => whole.bytes.min(of_conditions.map_or(calibrate::FILLED_BYTES_MAX, |it| it.bytes)),
    };
    Span { offset, bytes: most.min(file_bytes.saturating_sub(offset)) }
}

/// As far as windows may move: a range that an experiment names may lie beyond what the planner found to be of use.
fn may_touch(ranges: impl Iterator<Item = (Given, Span)>) -> u64 {
    ranges.filter(|(given, _)| *given == Given::Nothing).map(|(_, range)| range.end()).max().unwrap_or(0)
}

/// Of conditions with what their fewest rounds take, those that fit into the time together: without the longest of those that may leave
/// it to the others, where it takes half of the time and others are left.
fn needs_that_fit(mut needs: Vec<(usize, f64)>, may_leave: impl Fn(usize) -> bool, most_ns: f64) -> Vec<(usize, f64)> {
    while needs.iter().map(|it| it.1).sum::<f64>() > most_ns && needs.len() > 1 {
        let longest = needs.iter().max_by(|a, b| a.1.total_cmp(&b.1)).copied();
        let Some(longest) = longest.filter(|it| may_leave(it.0) && it.1 > most_ns / 2.0) else { break };
        needs.retain(|it| *it != longest);
    }
    needs
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
        if let Some(fill) = first.fill().filter(|_| !first.workload.writes() && !self.clock.is_over()) {
            self.show(format!("filling the page cache: {fill}"), hooks);
            let _ = self.fill(fill, &first);
        }
        let whole = self.time_for(stage);
        let begun = Instant::now();
        // Rounds that were asked for by number are all there is.
        let confirms = self.settings.rounds.is_none() && conditions.iter().any(|&it| self.may_confirm(it, given[it]));
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
        self.leave_hopeless(&trials);
        // What is left out leaves its time to the others: so first all that is slow, then the sizes of what stays.
        plan::leave_lone_baselines(&mut self.record.cells);
        conditions.retain(|&it| self.is_measured(it));
        let shares = self.shares(time, &conditions, &trials);
        for (&condition, share) in conditions.iter().zip(shares) {
            if !self.may_leave_slow(condition, given[condition]) {
                continue;
            }
            let trials = trials.entry(condition).or_default();
            self.leave_slow(condition, given[condition], trials, share);
        }
        plan::leave_lone_baselines(&mut self.record.cells);
        conditions.retain(|&it| self.is_measured(it));
        let shares = self.shares(time, &conditions, &trials);
        let may_touch = may_touch(conditions.iter().map(|&it| (given[it], self.record.conditions[it].range)));
        for (&condition, share) in conditions.iter().zip(shares) {
            let trials = trials.remove(&condition).unwrap_or_default();
            self.fix_sizes(condition, given[condition], &trials, share);
        }
        self.leave_longest(&conditions, given, time.mul_f64(OVERTIME).saturating_sub(begun.elapsed()));
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
    pub(super) fn reserved(&self, stage: Stage) -> Duration {
        if stage == Stage::Cold { self.clock.may_reserve(self.times.ceiling) } else { Duration::ZERO }
    }

    /// What a round of a condition takes, in seconds, as far as that is known without a trial.
    fn need(&self, index: usize) -> f64 {
        let condition = &self.record.conditions[index];
        let cells = self.cells_of(index).into_iter().map(|it| &self.record.cells[it]);
        let around = cells
            .filter(|it| it.skipped.is_none())
            .map(|it| runtime::find(&it.arm.runtime).map_or(0.0, |it| it.around_pass_s()));
        let of_disk = self.record.ceiling.value().map(|it| it.bytes_per_s);
        let of_throttle = condition.storage.and_then(|it| it.read_bytes_per_s).map(|it| it as f64);
        let per_s = [of_disk, of_throttle].into_iter().flatten().reduce(f64::min);
        let pass_s = match (Stage::of(condition), condition.workload, per_s) {
            (Stage::Cold, Workload::Scan, Some(per_s)) => {
                let ops = sizing::planned_ops(condition, self.window());
                let bytes = ops.saturating_mul(condition.block_bytes).min(condition.range.bytes);
                (bytes as f64 / per_s).max(SLOW_PASS_S)
            }
            (Stage::Cold, Workload::Random, _) => {
                let ops = sizing::planned_ops(condition, self.window());
                (sizing::throttled_ns(condition, ops) / 1e9).max(SLOW_PASS_S)
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
            _ if condition.state.is_held() => 2.0 * self.warm_pass_s(index),
            _ => self.warm_pass_s(index),
        };
        around.map(|it| it + pass_s).sum()
    }

    /// What a pass in memory takes, in seconds. A range that the experiment names is covered where that fits.
    fn warm_pass_s(&self, index: usize) -> f64 {
        let condition = &self.record.conditions[index];
        let is_named = self.record.origin(index).is_some_and(|it| it.range.is_some());
        match is_named && condition.workload == Workload::Scan {
            true => (condition.range.bytes as f64 / SCANNED_BYTES_PER_S).max(WARM_PASS_S),
            false => WARM_PASS_S,
        }
    }

    /// How much the device reads ahead, in bytes.
    pub(super) fn window(&self) -> u64 {
        self.target.window_bytes()
    }

    /// The parts of a stage's time that its conditions have for their rounds.
    fn shares(&self, time: Duration, conditions: &[usize], trials: &BTreeMap<usize, Vec<Trial>>) -> Vec<Share> {
        let (window, time_ns) = (self.window(), time.as_nanos() as f64 * SHARE_OF_ROUNDS);
        let need = |condition: &usize| {
            let trials: &[Trial] = trials.get(condition).map_or(&[], |it| it);
            let measured = trials.iter().filter(|it| self.record.cells[it.cell].skipped.is_none()).cloned();
            let under = &self.record.conditions[*condition];
            let measured: Vec<Trial> = measured.collect();
            let need = |claimed| sizing::need_ns(under, &measured, &self.baseline_of(*condition), window, claimed);
            // Where rounds were asked for by number, a condition with a slow arm needs more of the time than the others.
            let asked =
                self.settings.rounds.map(|it| sizing::all_rounds_ns(under, &measured, window, it, time_ns / 2.0));
            // A claim that would take all the time leaves some to the others.
            let claimed = need(self.claimed_cpu(*condition)).min(time_ns * SHARE_OF_CPU);
            need(None).max(claimed).max(asked.unwrap_or(0.0))
        };
        let needs: Vec<f64> = conditions.iter().map(need).collect();
        sizing::shares(time_ns, &needs)
    }

    /// The part of a stage's time that a condition has, with the number of rounds.
    pub(super) fn room(&self, share: Share, given: Given) -> Room {
        Room { share, rounds: self.settings.rounds, whole: given == Given::Range }
    }

    /// What the claims about user or system time need of a condition's passes.
    fn claimed_cpu(&self, index: usize) -> Option<ClaimedCpu> {
        let experiment = &self.record.experiment;
        let condition = &self.record.conditions[index];
        let compare = self.record.origin(index)?;
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
        // What was believed before is not said of the passes from here on.
        let believed = self.record.target.residency.reason().map(ToString::to_string);
        self.record.target.residency = self.target.way().map(|it| it.word().to_string()).into();
        if self.record.target.residency.value().is_some() {
            self.record.limits.retain(|it| Some(it) != believed.as_ref());
        }
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
        // Other experiments say it where unit costs would explain something.
        if let (true, Reading::Unavailable { unavailable }) =
            (self.record.experiment.name == CALIBRATE, &self.record.calibration)
        {
            self.record.limits.push(format!("no unit costs were measured: {unavailable}"));
        }
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
                let widest = read.into_iter().map(|it| it.range).max_by_key(|it| it.bytes);
                // The file is not copied for the unit costs of a fill that nothing is read after.
                if widest.is_some() || fill.copied_by().is_none() {
                    let of_fill = calibrated_part(range, widest, fill, self.target.bytes);
                    calibrate::add_points(self, &mut calibration, fill, of_fill);
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
    pub(super) fn calibrate(&mut self, hooks: &mut Hooks, go_on: &dyn Fn(&mut Self, &mut Calibration)) {
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
    pub(super) fn is_measured(&self, condition: usize) -> bool {
        self.cells_of(condition).iter().any(|&cell| self.record.cells[cell].skipped.is_none())
    }

    pub(super) fn measured_conditions(&self) -> Vec<&Condition> {
        let conditions = self.record.conditions.iter().enumerate();
        conditions.filter(|(index, _)| self.is_measured(*index)).map(|(_, it)| it).collect()
    }

    /// Cells of a condition that are never too slow.
    pub(super) fn baseline_of(&self, condition: usize) -> Vec<usize> {
        let mut cells = self.cells_of(condition);
        cells.retain(|&cell| self.record.cells[cell].baseline || self.record.cells[cell].control);
        cells
    }

    /// Where the fewest rounds of all conditions do not fit into what is left of the time, the ones of which a pass is of a size that was
    /// written down and takes longest leave it to the others: rounds that decide some are better than too few of all. A claim is about
    /// its own condition, and so is a replay about its state.
    fn leave_longest(&mut self, conditions: &[usize], given: &[Given], left: Duration) {
        let is_for_all = !self.record.experiment.claims.is_empty() || self.record.advised.is_some();
        if !self.clock.binds || self.settings.rounds.is_some() || is_for_all {
            return;
        }
        let rounds_ns = |&condition: &usize| {
            let cells = self.cells_of(condition).into_iter().filter(|it| self.record.cells[*it].skipped.is_none());
            let passes = cells.filter_map(|it| self.times.expected.get(&it));
            (condition, passes.map(|it| it.as_nanos() as f64).sum::<f64>() * f64::from(ROUNDS_MIN))
        };
        let needs: Vec<(usize, f64)> = conditions.iter().map(rounds_ns).filter(|it| it.1 > 0.0).collect();
        let left_ns = left.as_nanos() as f64;
        let may_leave = |condition: usize| {
            given[condition] == Given::Ops && self.record.conditions[condition].workload.has_blocks()
        };
        let fit = needs_that_fit(needs.clone(), may_leave, left_ns);
        for (condition, rounds_ns) in needs.into_iter().filter(|it| !fit.contains(it)) {
            // Also an arm whose trial failed: it has nothing to be compared with.
            for cell in self.cells_of(condition) {
                self.record.cells[cell].leave_out(Skip::LeavesTime { rounds_ns, left_ns });
            }
        }
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

    /// How many blocks a pass of a condition has, and what it then takes, from its trials.
    fn fix_sizes(&mut self, condition: usize, given: Given, trials: &[Trial], share: Share) {
        if given != Given::Ops {
            let under = &self.record.conditions[condition];
            let ops = match trials.is_empty() {
                true => sizing::trial_ops(under),
                false => {
                    let (baseline, claimed) = (self.baseline_of(condition), self.claimed_cpu(condition));
                    sizing::size(under, trials, self.room(share, given), &baseline, self.window(), claimed).ops
                }
            };
            self.cover(condition, plan::whole_folios(under, ops));
        }
        for trial in trials {
            let condition = self.condition_of(trial.cell);
            if let Some(reason) = self.refuses_more(trial, &condition) {
                self.record.cells[trial.cell].leave_out(Skip::Unavailable(reason));
                continue;
            }
            let mut needed = trial.pass_time(condition.ops);
            // One trial may be unlucky. A command is executed as often as was said.
            let may_again = !self.clock.is_over() && condition.workload != Workload::Command;
            if needed > self.clock.left()
                && may_again
                && let Ok(second) = self.try_blocks(trial.cell, given, trial.ops)
            {
                needed = needed.min(second.pass_time(condition.ops));
            }
            let left = self.clock.left();
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

    /// Whether an arm may be left out because its passes take the time of the others. A claim about passes of a size that was
    /// written down may be about an arm for that, and replays are held against the recorded one.
    fn may_leave_slow(&self, condition: usize, given: Given) -> bool {
        let is_claimed = !self.record.experiment.claims.is_empty();
        let is_replay = !self.record.conditions[condition].workload.has_blocks();
        given != Given::Ops || !(is_claimed || is_replay || self.settings.rounds.is_some())
    }

    /// Whether passes of a condition may lie elsewhere than its range says: the planner chose that.
    pub(super) fn may_move(&self, condition: usize, given: Given) -> bool {
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

    /// The budget is spent before the first pass of a condition.
    fn leave_untried(&mut self, condition: usize) {
        for cell in self.cells_of(condition) {
            self.record.cells[cell].leave_out(Skip::Untried);
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

    /// Seconds that the calibration has taken so far.
    pub(super) fn calibrated_s(&self) -> f64 {
        self.record.calibration.value().map_or(0.0, |it| it.elapsed_s)
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
    fn unit_costs_of_a_fill_are_measured_where_its_conditions_are() {
        let span = |offset: u64, mib: u64| Span { offset: offset << 20, bytes: mib << 20 };
        let part = |of: Option<Span>, fill| calibrated_part(span(6 << 10, 1024), of, fill, 8 << 30);
        assert_eq!(part(Some(span(0, 256)), Fill::Random), span(0, 256));
        assert_eq!(part(Some(span(0, 256)), Fill::Sequential), span(0, 1024), "the costs of spans beyond the caches");
        assert_eq!(part(Some(span(8000, 192)), Fill::Sequential), span(8000, 192), "the file ends");
        assert_eq!(part(None, Fill::Random), span(6 << 10, 64));
    }

    #[test]
    fn a_size_that_was_written_down_and_takes_most_of_the_time_leaves_it_to_the_others() {
        let fit = |needs: &[f64], given: Given, most: f64| {
            let needs: Vec<(usize, f64)> = needs.iter().copied().enumerate().collect();
            let left = needs_that_fit(needs.clone(), |_| given == Given::Ops, most);
            left.into_iter().map(|it| it.0).collect::<Vec<usize>>()
        };
        assert_eq!(fit(&[1.0, 10.0, 170.0], Given::Ops, 40.0), [0, 1]);
        assert_eq!(fit(&[90.0, 1.0, 170.0], Given::Ops, 40.0), [1]);
        assert_eq!(fit(&[1.0, 10.0, 20.0], Given::Ops, 40.0), [0, 1, 2], "there is time for all");
        assert_eq!(fit(&[170.0], Given::Ops, 40.0), [0], "it is all that was asked");
        assert_eq!(fit(&[15.0, 15.0, 15.0], Given::Ops, 40.0), [0, 1, 2], "none of them takes the time of the others");
        assert_eq!(fit(&[1.0, 170.0], Given::Nothing, 40.0), [0, 1], "its size is the planner's choice");
    }
}
