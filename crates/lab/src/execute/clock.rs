//! How the budget is shared out.

use std::time::{Duration, Instant};

use schema::Condition;

use super::{PASS_LIMIT, Progress};
use crate::plan::Stage;

/// What is left of the budget after this share has gone is for the last round to end in.
const SOFT_SHARE: f64 = 0.94;
/// Conditions that are not warm need more time than others: passes wait for the device, and each is preceded by an
/// eviction, or by laying out what it writes.
const COLD_NEEDS: f64 = 1.5;

/// How far the whole run may exceed its budget, for the fewest rounds that tell anything.
const OVERTIME: f64 = 1.15;

pub(super) struct Clock {
    pub(super) started: Instant,
    pub(super) budget: Duration,
    /// Whether the budget ends the run; otherwise it only shares out what sizes are settled by.
    pub(super) binds: bool,
}

impl Clock {
    /// A stage's part of the time that is left, by what its conditions need; at least half of what it would have had
    /// if all stages before had kept to theirs.
    pub(super) fn time_for(&self, stage: Stage, conditions: &[Condition]) -> Duration {
        let need = |it: &Condition| if Stage::of(it) >= Stage::Limited { COLD_NEEDS } else { 1.0 };
        let sum = |wanted: &dyn Fn(Stage) -> bool| -> f64 {
            conditions.iter().filter(|it| wanted(Stage::of(it))).map(need).sum()
        };
        let own = sum(&|it| it == stage);
        let whole = self.budget.mul_f64(SOFT_SHARE);
        let left = whole.saturating_sub(self.started.elapsed());
        left.mul_f64(own / sum(&|it| it >= stage)).max(whole.mul_f64(own / sum(&|_| true) / 2.0))
    }

    pub(super) fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// What a pass that begins now may take.
    pub(super) fn left(&self) -> Duration {
        match self.binds {
            true => self.budget.mul_f64(OVERTIME).saturating_sub(self.started.elapsed()).min(PASS_LIMIT),
            false => PASS_LIMIT,
        }
    }

    pub(super) fn progress(&self, what: String) -> Progress {
        let share = self.started.elapsed().as_secs_f64() / self.budget.as_secs_f64();
        Progress { what, share: share.min(1.0), left: self.budget.saturating_sub(self.started.elapsed()) }
    }
}
