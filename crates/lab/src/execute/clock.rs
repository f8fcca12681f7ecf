//! How the budget is shared out.

use std::time::{Duration, Instant};

use super::Progress;
use crate::plan::Stage;

/// What is left of the budget after this share has gone is for the last round to end in.
const SOFT_SHARE: f64 = 0.94;
/// How far the whole run may exceed its budget, for the fewest rounds that can decide anything.
const OVERTIME: f64 = 1.15;

/// No pass takes longer than this within the usual budget; a disk that hangs does.
const PASS_LIMIT: Duration = Duration::from_secs(60);
/// Of the budget, for the warm passes before one timed pass; more would leave no time for rounds.
const WARM_UP_SHARE: f64 = 0.25;
/// Of the budget, at most, for what is only of use beside rounds.
const RESERVED_SHARE: f64 = 0.1;
/// The same where no budget ends the run.
const WARM_UP_LIMIT: Duration = Duration::from_secs(600);
/// Where no budget ends the run: a pass that takes a minute is as good as any other, and the user can end it.
const UNLIMITED: Duration = Duration::from_secs(365 * 24 * 3600);

pub(super) struct Clock {
    pub(super) started: Instant,
    pub(super) budget: Duration,
    /// Whether the budget ends the run; otherwise it only determines the sizes of passes.
    pub(super) binds: bool,
}

impl Clock {
    /// Time that was spent on something else than this run's measuring is not of the budget.
    pub(super) fn add(&mut self, spent: Duration) {
        self.budget += spent;
    }

    /// A stage's part of the time that is left after what is `reserved`, by what the conditions need that are measured, each
    /// with its stage; at least half of what it would have had if all stages before had kept to theirs.
    pub(super) fn time_for(&self, stage: Stage, needs: &[(Stage, f64)], reserved: Duration) -> Duration {
        let sum =
            |wanted: &dyn Fn(Stage) -> bool| -> f64 { needs.iter().filter(|it| wanted(it.0)).map(|it| it.1).sum() };
        let own = sum(&|it| it == stage);
        let whole = self.budget.mul_f64(SOFT_SHARE);
        let left = whole.saturating_sub(self.started.elapsed()).saturating_sub(reserved);
        left.mul_f64(own / sum(&|it| it >= stage)).max(whole.mul_f64(own / sum(&|_| true) / 2.0))
    }

    /// What is kept from the rounds for something that takes so long: nothing, where few rounds would be left.
    pub(super) fn may_reserve(&self, took: Duration) -> Duration {
        if took <= self.budget.mul_f64(RESERVED_SHARE) { took } else { Duration::ZERO }
    }

    pub(super) fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// What a pass that begins now may take.
    pub(super) fn left(&self) -> Duration {
        match self.binds {
            true => self.budget.mul_f64(OVERTIME).saturating_sub(self.started.elapsed()),
            false => UNLIMITED,
        }
    }

    /// When the budget is spent; with none, far away.
    pub(super) fn end(&self) -> Instant {
        self.started + if self.binds { self.budget } else { UNLIMITED }
    }

    /// How long to wait for a pass that has begun.
    pub(super) fn pass_limit(&self) -> Duration {
        if self.binds { self.budget.max(PASS_LIMIT) } else { UNLIMITED }
    }

    /// How long warm passes may look for a steady state.
    pub(super) fn warm_up_limit(&self) -> Duration {
        if self.binds { self.budget.mul_f64(WARM_UP_SHARE) } else { WARM_UP_LIMIT }
    }

    pub(super) fn progress(&self, what: String) -> Progress {
        let spent = self.started.elapsed();
        let share = spent.as_secs_f64() / self.budget.as_secs_f64();
        Progress { what, share: share.min(1.0), left: self.binds.then(|| self.budget.saturating_sub(spent)) }
    }
}

#[cfg(test)]
mod tests {
    use schema::{Condition, State};

    use super::*;

    fn clock(budget_s: u64, binds: bool) -> Clock {
        Clock { started: Instant::now(), budget: Duration::from_secs(budget_s), binds }
    }

    #[test]
    fn what_was_spent_on_something_else_is_left_of_the_budget() {
        let mut clock = clock(10, true);
        let before = clock.end();
        clock.add(Duration::from_secs(5));
        assert_eq!(clock.end() - before, Duration::from_secs(5));
        assert!(clock.left() > Duration::from_secs(10).mul_f64(OVERTIME), "of a budget that has just begun");
    }

    /// The ceiling of a device of 20 MB/s takes half a minute.
    #[test]
    fn what_takes_much_of_the_budget_is_not_kept_from_the_rounds() {
        let clock = clock(60, true);
        assert_eq!(clock.may_reserve(Duration::from_secs(2)), Duration::from_secs(2));
        assert_eq!(clock.may_reserve(Duration::from_secs(29)), Duration::ZERO);
    }

    #[test]
    fn conditions_that_are_not_measured_have_no_share_of_the_budget() {
        let of = |state, need| (Stage::of(&Condition { state, ..Condition::plain(1 << 20) }), need);
        let (cached, cold) = (of(State::Cached, 1.0), of(State::Cold, 1.5));
        let share = |needs: &[(Stage, f64)]| {
            clock(100, true).time_for(cached.0, needs, Duration::ZERO).as_secs_f64() / 100.0 / SOFT_SHARE
        };
        assert!(share(&[cached]) > 0.99, "the only stage has all of it");
        assert!(share(&[cached, cold]) < 0.5);
    }

    #[test]
    fn a_pass_may_take_the_whole_budget_and_without_one_as_long_as_it_needs() {
        for (budget_s, binds, least_s) in [(3, true, 60), (600, true, 600), (60, false, 24 * 3600)] {
            let clock = clock(budget_s, binds);
            assert!(clock.pass_limit() >= Duration::from_secs(least_s), "{budget_s} {binds}");
        }
        assert!(clock(600, true).left() > Duration::from_secs(500), "nothing but the budget ends a pass");
        assert!(clock(600, false).left() > Duration::from_secs(24 * 3600));
    }
}
