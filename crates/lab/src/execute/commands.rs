//! Commands watched once, before anything is timed.

use schema::{Arm, Consume, Skip, Span, command::COMMAND, observation::Means};

use super::{Bench, Hooks};
use crate::observe;

impl Bench<'_> {
    /// One watched execution of every command. One that does not read the named files is skipped, and after one that
    /// writes to them nothing else is run.
    pub(super) fn observe_commands(&mut self, by: &[Means], hooks: &mut Hooks) {
        let mut arms: Vec<Arm> = Vec::new();
        for arm in self.record.cells.iter().map(|it| &it.arm).filter(|it| it.runtime == COMMAND) {
            if !arms.contains(arm) {
                arms.push(arm.clone());
            }
        }
        for arm in arms {
            if self.is_interrupted() || self.clock.is_over() {
                return;
            }
            (hooks.progress)(&self.clock.progress(format!("watching how {} reaches its files", arm.short_name())));
            self.passes += 1;
            let whole = Span { offset: 0, bytes: self.target.bytes };
            let job = self.job(&arm, &self.plain_scan(whole, Consume::Touch));
            let Ok(observed) = observe::observe(by, &arm, self.target, job, self.interrupted) else { return };
            let change = self.target.unchanged().err();
            let said = change.map(|it| format!("{it}, while {} ran; the run ends here", arm.short_name()));
            self.spoiled = said.clone();
            let refusal = said.or_else(|| observe::refusal(&observed));
            for cell in self.record.cells.iter_mut().filter(|it| refusal.is_some() && it.arm == arm) {
                cell.skipped = cell.skipped.take().or_else(|| refusal.clone().map(Skip::Failed));
            }
            self.record.observations.push(observed);
        }
        (hooks.checkpoint)(&self.record);
    }
}
