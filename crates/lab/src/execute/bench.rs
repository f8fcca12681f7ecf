//! What a run works with, and the record that it makes.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use schema::{
    Arm, Condition, Consume, Fill, Record, Span,
    command::{COMMAND, Spec},
    record::Confirmation,
    timeline::Passing,
};
use sys::guard::Guard;

use super::{Hooks, Settings, clock::Clock, filled::Filled};
use crate::{cgroups::Cgroups, runtime, target::Target};

/// Lines of a command that one answer waits for, with its time limit each: preparation, command and cleanup, by one means of
/// watching and by another.
const EXECUTIONS: u32 = 6;
/// For ending what does not end by itself.
const ENDING: Duration = Duration::from_secs(30);
/// Of the budget: what takes longer beside it is said.
const NAMED_SHARE: f64 = 0.1;

/// Everything that passes need, and the record they go into.
pub struct Bench<'a> {
    pub target: &'a Target,
    pub(super) settings: &'a Settings<'a>,
    pub(super) record: Record,
    pub(super) clock: Clock,
    pub(super) times: Times,
    pub(super) stop: Stop<'a>,
    pub(super) draw: Draw,
    pub(super) around: Around<'a>,
    /// What the page cache was last filled with.
    pub(super) filled: Option<Filled>,
    /// Why the file as it was found is no state that passes start from.
    pub(super) unfit_as_found: Option<String>,
    /// Fills whose folios did not stay, until the calibration has forgotten what was measured on them.
    pub(super) changed: Vec<Fill>,
    /// Passes of calibrated operations that failed.
    pub(super) failures: BTreeMap<String, u32>,
    /// The answer that is being measured again; the record has it once it is done.
    pub(super) underway: Option<Confirmation>,
}

/// Why a run ends before its plan does.
pub(super) struct Stop<'a> {
    pub(super) interrupted: &'a AtomicBool,
    /// What changed of what is read; nothing is measured after that.
    pub(super) changed: Option<String>,
}

/// What order and offsets follow from.
pub(super) struct Draw {
    pub(super) random: fastrand::Rng,
    /// From 1; 0 before the rounds.
    pub(super) round: u32,
    /// Begun so far.
    pub(super) passes: u64,
    /// Where the last scan for the ceiling ended.
    pub(super) scanned: u64,
}

/// How long passes take, and when they were.
#[derive(Default)]
pub(super) struct Times {
    /// Of one pass of a cell, all in all, as the last one showed.
    pub(super) expected: BTreeMap<usize, Duration>,
    /// Of the device's ceiling, which is measured again later.
    pub(super) ceiling: Duration,
    /// For the timeline.
    pub(super) passings: Vec<Passing>,
}

/// What workers are started in.
pub(super) struct Around<'a> {
    pub(super) cgroups: Cgroups<'a>,
    /// Ends commands when this process and their worker are killed at once.
    pub(super) guard: Option<Guard>,
}

impl Stop<'_> {
    fn is_requested(&self) -> bool {
        self.changed.is_some() || self.interrupted.load(Ordering::Relaxed)
    }
}

impl Draw {
    pub(super) fn new(seed: u64) -> Draw {
        Draw { random: fastrand::Rng::with_seed(seed), round: 0, passes: 0, scanned: 0 }
    }

    /// The same offsets for every arm of a round, which is part of equal work, and others in the next: caches below the
    /// kernel (of the host, the controller, the device) would answer the same places faster the second time.
    pub(super) fn seed_of(&self, condition: &Condition, seed: u64) -> u64 {
        match condition.workload.is_ascending() {
            true => seed,
            false => seed.wrapping_add(u64::from(self.round) << 32),
        }
    }

    /// A window that the scan before did not read, and the ones before that neither as long as there is room up to `end`.
    pub(super) fn unscanned(&mut self, bytes: u64, end: u64) -> Span {
        let offset = if self.scanned.saturating_add(bytes) <= end { self.scanned } else { 0 };
        self.scanned = offset + bytes;
        Span { offset, bytes }
    }

    /// A round that no other pass has. Those of the cells count up from 1, those of confirmations from 2^20.
    pub(super) fn round_of_its_own(&self) -> u32 {
        (1 << 31) | (self.passes as u32 & (u32::MAX >> 1))
    }
}

impl Bench<'_> {
    /// What is done next.
    pub(super) fn show(&self, what: String, hooks: &mut Hooks) {
        (hooks.progress)(&self.clock.progress(what), &self.record);
    }

    /// Compiles workers that are not there yet. The budget is for measuring, so this is not of it. Why one cannot be compiled is
    /// said where its first pass would begin.
    pub(super) fn compile(&mut self, hooks: &mut Hooks) {
        let began = Instant::now();
        let mut arms: Vec<Arm> =
            self.record.cells.iter().filter(|it| it.skipped.is_none()).map(|it| it.arm.clone()).collect();
        arms.sort_by(|a, b| a.runtime.cmp(&b.runtime));
        arms.dedup_by(|a, b| a.runtime == b.runtime);
        for arm in arms.iter().take_while(|_| !self.is_interrupted()) {
            if let Some(runtime) = runtime::find(&arm.runtime).ok().filter(|it| it.compiles(arm).is_some()) {
                self.show(format!("compiling the worker of runtime {}", arm.runtime), hooks);
                let _ = runtime.worker(arm);
            }
        }
        let took = began.elapsed();
        if took > self.settings.budget.mul_f64(NAMED_SHARE) {
            let s = took.as_secs_f64();
            self.record.limits.push(format!(
                "workers were compiled for {s:.0} s, which is not of the budget; they are kept for the next run"
            ));
        }
        self.clock.add(took);
    }

    /// How long to wait for an answer of an arm's worker. That of a command ends the command at its time limit; one that no
    /// signal ends keeps the worker from watching it to its end.
    pub(super) fn pass_limit(&self, arm: &Arm) -> Duration {
        let limit = self.clock.pass_limit();
        match Spec::of(&arm.options) {
            Ok(spec) if arm.runtime == COMMAND => {
                limit.min(EXECUTIONS * Duration::from_secs(spec.timeout_s.into()) + ENDING)
            }
            _ => limit,
        }
    }

    pub fn is_interrupted(&self) -> bool {
        self.stop.is_requested()
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans_for_the_ceiling_share_no_place_while_the_file_has_room_and_then_begin_anew() {
        let mut draw = Draw::new(1);
        let offsets = [100, 100, 300, 400, 200, 200].map(|bytes| draw.unscanned(bytes, 1000).offset);
        assert_eq!(offsets, [0, 100, 200, 500, 0, 200]);
        assert_eq!(draw.unscanned(1000, 1000), Span { offset: 0, bytes: 1000 });
    }

    #[test]
    fn passes_that_are_drawn_anew_share_their_places_with_no_other() {
        let round = |passes| Draw { passes, ..Draw::new(1) }.round_of_its_own();
        let rounds: std::collections::BTreeSet<u32> = (0..10_000).map(round).collect();
        assert_eq!(rounds.len(), 10_000);
        assert!(rounds.iter().all(|&it| it > 1 << 30), "rounds of cells and of confirmations are below");
    }
}
