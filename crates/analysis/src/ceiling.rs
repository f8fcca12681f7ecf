//! Which share of what the device, or its throttle, can deliver a cell reached.

use schema::reason::{Reason, Unseen};

use crate::{
    measured::{Cell, Pass, Run},
    rate::{self, Rate},
};

impl<'a> Cell<'a> {
    /// As `reached_of_ceiling`, where the ceiling is one.
    pub(crate) fn ceiling_share(&self, run: &Run) -> Option<f64> {
        self.reached_of_ceiling(run).filter(|_| self.exceeded(run).is_none())
    }

    /// Why there is no share of a ceiling that its passes have.
    pub(crate) fn why_no_ceiling(&self, run: &Run) -> Option<Reason> {
        self.reached_of_ceiling(run)?;
        self.exceeded(run)
    }

    /// Other reads showed the ceiling to be none, or a throttle let more through than it allows.
    fn exceeded(&self, run: &Run) -> Option<Reason> {
        if self.own.storage.is_some() {
            return rate::of_rounds(run, self).filter(Rate::is_beyond).map(|it| it.reason(run.name(self.arm())));
        }
        let exceeds = self.exceeding(run)?;
        let arm = run.name(exceeds.arm()).to_string();
        Some(Unseen::LowCeiling { arm, label: run.label(exceeds.id.cell) }.into())
    }

    /// Itself, or another cell that did more than the ceiling of its reads.
    fn exceeding<'r>(&'r self, run: &'r Run<'a>) -> Option<&'r Cell<'a>> {
        let own = run.above_ceiling().contains_key(&self.id.cell).then_some(self);
        own.or_else(|| Some(run.low_ceiling(self.own.workload)?.1))
    }

    /// As `ceiling_share`, of one of its passes.
    pub(crate) fn ceiling_share_of(&self, run: &Run, pass: &Pass) -> Option<f64> {
        self.pass_of_ceiling(run, pass).filter(|_| self.exceeded(run).is_none())
    }
}
