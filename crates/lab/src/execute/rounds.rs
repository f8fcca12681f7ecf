//! Rounds: within one, every arm of a condition makes a pass, in an order that is drawn anew and with the other conditions in
//! between, so that drift and neighbours hit all arms alike; each pass has a process of its own. They stop when every comparison
//! is precise enough or the time is over, never because a result looks decided.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use schema::{
    Span, State,
    record::{Ending, Outcome, Reading, RoundsEnd, Sample},
    timeline::Passing,
};

use super::{Bench, Hooks, calibrate};
use crate::{
    link::Trouble,
    plan::{
        self, Stage,
        sizing::{ROUNDS_MIN, ROUNDS_OF_CLAIMS},
    },
};

/// After so many rounds precision is looked at. An interval that happens to be narrow is a little more often wrong,
/// and looking after every round finds more of those (docs/METHODOLOGY.md, "Stopping on precision").
const LOOKS: [u32; 4] = [8, 12, 20, 30];
/// Rounds are worth their time up to here: an interval narrows with the root of their number
/// (docs/METHODOLOGY.md, "Stopping on precision").
pub const ROUNDS_MAX: u32 = 50;
/// How far a stage may exceed its time for the fewest rounds that can decide anything.
pub(super) const OVERTIME: f64 = 1.3;

/// One stage's conditions and the time they have.
pub(super) struct Slot {
    pub(super) stage: Stage,
    pub(super) conditions: Vec<usize>,
    pub(super) begun: Instant,
    pub(super) time: Duration,
    pub(super) is_last: bool,
    pub(super) calibrated_before_s: f64,
    /// Conditions whose windows lie elsewhere in each round.
    pub(super) moving: BTreeMap<usize, Moving>,
}

/// Where the window of a condition begins in the first round, and where those of all rounds end.
#[derive(Clone, Copy)]
pub(super) struct Moving {
    pub(super) offset: u64,
    pub(super) end: u64,
}

impl Bench<'_> {
    pub(super) fn rounds(&mut self, slot: &Slot, hooks: &mut Hooks) {
        let mut too_long = BTreeSet::new();
        self.rounds_without(&mut too_long, slot, hooks);
        self.end_without(too_long);
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
            self.look_now_and_then();
            if round == 0 {
                self.leave_hopeless_since(&slot.conditions);
                let goes_on = |it: &&usize| self.record.cells[**it].skipped.is_none() && !too_long.contains(it);
                let expected = self.expected(active.iter().filter(goes_on));
                let further = rounds_max.min(ROUNDS_MIN).saturating_sub(1);
                if self.clock.binds && expected * further > self.left_for_least(slot) {
                    self.leave_to_faster(&slot.conditions);
                }
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

    /// Notes the same of cells for which the time was too short. The others of their conditions may have gone on: what is noted of
    /// these stays.
    fn end_without(&mut self, too_long: BTreeSet<usize>) {
        for cell in too_long {
            let condition = self.record.cells[cell].condition;
            match self.record.rounds_ended.get(&condition) {
                Some(RoundsEnd::Budget) => {}
                Some(_) => drop(self.record.cells_ended.insert(cell, RoundsEnd::Budget)),
                None => drop(self.record.rounds_ended.insert(condition, RoundsEnd::Budget)),
            }
        }
    }

    /// Whether there is no time for one more round. Fewer rounds decide nothing, so for the least number a stage may
    /// exceed its time; the last one until the whole run is over.
    fn is_out_of_time(&self, slot: &Slot, round: u32, active: &[usize]) -> bool {
        if !self.clock.binds {
            return false;
        }
        let least = if self.record.experiment.claims.is_empty() { ROUNDS_MIN } else { ROUNDS_OF_CLAIMS };
        match round < least {
            true => self.left_for_least(slot).is_zero(),
            false => self.spent_on(slot) + self.expected(active.iter()) > slot.time,
        }
    }

    /// What a pass of each of these cells takes, by their last ones.
    fn expected<'c>(&self, cells: impl Iterator<Item = &'c usize>) -> Duration {
        cells.filter_map(|it| self.times.expected.get(it)).sum()
    }

    /// What is left for the fewest rounds that can decide anything.
    fn left_for_least(&self, slot: &Slot) -> Duration {
        match slot.is_last {
            true => self.clock.left().saturating_sub(self.reserved(slot.stage)),
            false => slot.time.mul_f64(OVERTIME).saturating_sub(self.spent_on(slot)),
        }
    }

    /// Without what single calls cost, which was measured in this stage for all of them.
    fn spent_on(&self, slot: &Slot) -> Duration {
        let calibrated = Duration::from_secs_f64((self.calibrated_s() - slot.calibrated_before_s).max(0.0));
        slot.begun.elapsed().saturating_sub(calibrated)
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
            // A baseline is open by the claims about it alone: held against itself it is precise.
            .filter(|&cell| !(hooks.is_precise)(&self.record, cell))
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
