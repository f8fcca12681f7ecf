//! What is particular of replays of what a command did, beside that command.

use std::collections::BTreeMap;

use schema::{
    Condition, Fill, Skip, State, Workload,
    record::{Cell, Outcome, Sample},
};

use super::Bench;
use crate::plan::sizing::Trial;

/// A replay that takes so many times as long as the recorded one needs no second pass to be none to advise; one of which that is
/// expected by its first accesses, no pass at all.
const HOPELESS: f64 = 3.0;
const EXPECTED_HOPELESS: f64 = 4.0;
/// Of the budget: a shorter pass leaves the others time enough, and what disturbs it once may make it several times as long.
const HARDLY_ANY: f64 = 0.01;

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

/// An arm that takes about as long as what was recorded gains next to nothing.
const AS_LONG: f64 = 0.95;

/// Where a method takes less than a third of what was recorded: those that take at least three times as long as it, and how many times
/// as long as what was recorded they and it take. Of those that may be advised only what gains next to nothing; and what was recorded,
/// measured twice, so that a gain must be large then (`analysis`, `NOISE_MOST`).
fn left_to_faster(cells: &[Cell], passes: &[Replayed], least_ns: f64) -> Vec<(usize, [f64; 2])> {
    let is_replay = |it: &&Replayed| !cells[it.cell].arm.is_command() && cells[it.cell].skipped.is_none();
    let replays = || passes.iter().filter(is_replay);
    let Some(recorded) = replays().find(|it| cells[it.cell].baseline) else { return Vec::new() };
    let times = |it: &Replayed| it.ns / recorded.ns;
    let others = || replays().filter(|it| !cells[it.cell].baseline);
    let may_be_advised = |it: &Replayed| !cells[it.cell].control && !cells[it.cell].arm.is_in_advance();
    let fastest = others().filter(|it| may_be_advised(it)).map(times).min_by(f64::total_cmp);
    let Some(fastest) = fastest.filter(|it| HOPELESS * it < 1.0) else { return Vec::new() };
    let least = |it: &Replayed| if may_be_advised(it) { AS_LONG } else { 0.0 };
    let is_left = |it: &&Replayed| it.ns > least_ns && times(it) > least(it).max(HOPELESS * fastest);
    others().filter(is_left).map(|it| (it.cell, [times(it), fastest])).collect()
}

/// In nanoseconds, if the pass was made.
fn took(sample: &Sample) -> Option<u64> {
    match &sample.outcome {
        Outcome::Ok { phases, .. } => Some(phases.total_ns()),
        _ => None,
    }
}

impl Bench<'_> {
    /// Of a replay that waits for the device: what the program that it replays took longer in memory, where both were measured
    /// before. It goes on while the device reads ahead, so a replay without it waits longer than the program does.
    pub(super) fn own_work_ns(&self, condition: &Condition) -> u64 {
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

    /// Replays say something of a command that is measured beside them, and nothing from a start that it cannot be measured
    /// from.
    pub(super) fn leave_replays_of_nothing(&mut self) {
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
    pub(super) fn leave_hopeless(&mut self, trials: &BTreeMap<usize, Vec<Trial>>) {
        for of_condition in trials.values() {
            let of_trial = |it: &Trial| {
                let (ops, is_baseline) = (self.condition_of(it.cell).ops, self.record.cells[it.cell].baseline);
                let is_whole = it.ops == ops;
                let ns = it.work_ns(ops as f64);
                // A program may read in order first and at random then.
                let least_ns = if is_baseline && !is_whole { self.waited_ns(it.cell, trials) } else { 0.0 };
                let counts = is_whole || it.is_alike(ops) || is_baseline;
                counts.then(|| Replayed { cell: it.cell, ns: ns.max(least_ns), is_whole })
            };
            self.leave_slower_replays(&of_condition.iter().filter_map(of_trial).collect::<Vec<_>>());
        }
    }

    /// What the command that a cell replays took in its trial from the same start, without its own work.
    fn waited_ns(&self, replay: usize, trials: &BTreeMap<usize, Vec<Trial>>) -> f64 {
        let condition = self.condition_of(replay);
        let is_program = |it: &&Trial| {
            let cell = &self.record.cells[it.cell];
            cell.baseline && cell.arm.is_command() && self.condition_of(it.cell).start() == condition.start()
        };
        let program = trials.values().flatten().find(is_program);
        program.map_or(0.0, |it| (it.elapsed_ns - condition.own_work_ns as f64).max(0.0))
    }

    /// As `leave_hopeless`, by the passes of the first round.
    pub(super) fn leave_hopeless_since(&mut self, conditions: &[usize]) {
        for &condition in conditions {
            self.leave_slower_replays(&self.replayed(condition));
        }
    }

    /// The passes that were made under a condition.
    fn replayed(&self, condition: usize) -> Vec<Replayed> {
        let of_condition = |it: &&Sample| self.record.cells[it.cell].condition == condition;
        let samples = self.record.samples.iter().filter(of_condition);
        let pass = |it: &Sample| Some(Replayed { cell: it.cell, ns: took(it)? as f64, is_whole: true });
        samples.filter_map(pass).collect()
    }

    /// Of the replays of what a command did: where the fewest rounds of all do not fit, those that gain nothing leave their time to one
    /// that gains far more, after a pass of each. So does the second measurement of the command from the same start.
    pub(super) fn leave_to_faster(&mut self, conditions: &[usize]) {
        if !self.replays_alone() {
            return;
        }
        for &condition in conditions {
            let mut left = left_to_faster(&self.record.cells, &self.replayed(condition), self.hardly_any_ns());
            if let Some(&(_, [_, fastest])) = left.iter().find(|it| self.record.cells[it.0].control) {
                let control = self.control_of_command(condition);
                left.extend(control.map(|(cell, times)| (cell, [times, fastest])));
            }
            for (cell, [times, fastest]) in left {
                self.record.cells[cell].leave_out(Skip::LeftToFaster { times, fastest });
            }
        }
    }

    /// The second measurement of the command from the start of a condition, and how many times as long as the first one it took.
    fn control_of_command(&self, condition: usize) -> Option<(usize, f64)> {
        let start = self.record.conditions[condition].start();
        let is_of_start = |it: &Condition| it.is_of_commands() && it.start() == start;
        let passes = self.replayed(self.record.conditions.iter().position(is_of_start)?);
        let pass = |is_meant: &dyn Fn(&Cell) -> bool| passes.iter().find(|it| is_meant(&self.record.cells[it.cell]));
        let (first, second) = (pass(&|it| it.baseline)?, pass(&|it| it.control)?);
        Some((second.cell, second.ns / first.ns))
    }

    /// Of one condition.
    fn leave_slower_replays(&mut self, passes: &[Replayed]) {
        if !self.replays_alone() {
            return;
        }
        for (cell, times) in slower_replays(&self.record.cells, passes, self.hardly_any_ns()) {
            self.record.cells[cell].leave_out(Skip::SlowerReplay { times });
        }
    }

    /// The command is advised, and has no switches beside which each replay is kept.
    fn replays_alone(&self) -> bool {
        let is_switch = |it: &Cell| it.arm.is_command() && !it.baseline && !it.control;
        self.record.advised.is_some() && !self.record.cells.iter().any(is_switch)
    }

    fn hardly_any_ns(&self) -> f64 {
        HARDLY_ANY * self.settings.budget.as_nanos() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(arm: &str, baseline: bool, control: bool) -> Cell {
        Cell { arm: arm.parse().unwrap(), condition: 0, own_condition: None, baseline, control, skipped: None }
    }

    #[test]
    fn a_replay_is_hopeless_by_a_pass_at_three_times_the_recorded_one_and_by_its_first_accesses_at_four() {
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

    #[test]
    fn what_takes_as_long_as_the_recorded_way_is_left_to_another_that_takes_a_fraction() {
        let arms = ["mmap+random", "mmap+random", "mmap", "pread", "uring", "direct"];
        let cells: Vec<Cell> = arms.iter().enumerate().map(|(at, it)| cell(it, at == 0, at == 1)).collect();
        let passes = |ns: [f64; 6]| -> Vec<Replayed> {
            ns.into_iter().enumerate().map(|(cell, ns)| Replayed { cell, ns, is_whole: true }).collect()
        };
        let left = |ns: [f64; 6]| left_to_faster(&cells, &passes(ns), 3e6);
        assert_eq!(
            left([1e9, 1.1e9, 1e8, 9e8, 2e8, 9e8]),
            [(1, [1.1, 0.1]), (5, [0.9, 0.1])],
            "a gain of a tenth stays"
        );
        assert_eq!(left([1e9, 1.1e9, 4e8, 1.3e9, 8e8, 9e8]), [], "nothing takes a fraction");
        assert_eq!(left([1e9, 1.1e9, 9e8, 2.8e9, 8e8, 9e8]), [], "three times of hardly less");
        assert_eq!(left([1e9, 1.1e9, 9e8, 1.1e9, 1e8, 9e8]), [], "what needs its offsets in advance is not advised");
        assert_eq!(left([2e6, 2e6, 1e5, 2e6, 2e6, 2e6]), [], "all of it takes hardly any time");
        let mut skipped = cells.clone();
        skipped[3].skipped = Some(Skip::SlowerReplay { times: 3.5 });
        let ns = [1e9, 1e8, 1e8, 3.5e9, 2e8, 2e8];
        assert_eq!(left_to_faster(&skipped, &passes(ns), 3e6), [], "it is left out already");
    }
}
