//! Commands watched once, before anything is timed.

use schema::{Arm, Consume, Names, Skip, Span, observation::Means};

use super::{Bench, Hooks, observe};

/// Whether this is one command, or two that are prepared by the same one.
fn have_one_preparation(a: &Arm, b: &Arm) -> bool {
    a == b || matches!((a.options.get("prepare"), b.options.get("prepare")), (Some(a), Some(b)) if a == b)
}

impl Bench<'_> {
    /// One watched execution of every command. One that does not read the named files is skipped, and after one that
    /// writes to them nothing else is run.
    pub(super) fn observe_commands(&mut self, by: &[Means], hooks: &mut Hooks) {
        let mut arms: Vec<Arm> = Vec::new();
        for arm in self.record.cells.iter().map(|it| &it.arm).filter(|it| it.is_command()) {
            if !arms.contains(arm) {
                arms.push(arm.clone());
            }
        }
        let names = Names::of(&self.record);
        let mut unprepared: Vec<Arm> = Vec::new();
        for arm in arms {
            // One preparation of several commands that fails, or hangs, does so for each of them.
            if unprepared.iter().any(|it| have_one_preparation(it, &arm)) {
                continue;
            }
            if self.is_interrupted() || self.clock.is_over() {
                return;
            }
            self.show(format!("observing how {} reads its files", names.short(&arm.name)), hooks);
            self.draw.passes += 1;
            let whole = Span { offset: 0, bytes: self.target.bytes };
            let job = self.job(&arm, &self.plain_scan(whole, Consume::Touch), self.target);
            let (limit, guard) = (self.pass_limit(&arm), self.around.guard.as_ref());
            let observed = match observe::observe(by, &arm, self.target, job, limit, self.stop.interrupted, guard) {
                Ok(Ok(observed)) => observed,
                Ok(Err(skip)) => {
                    let cells = self.record.cells.iter_mut().filter(|it| have_one_preparation(&it.arm, &arm));
                    cells.for_each(|cell| cell.leave_out(skip.clone()));
                    unprepared.push(arm);
                    continue;
                }
                Err(_) => return,
            };
            let change = self.target.unchanged().err();
            let described = change.map(|it| format!("{it}, while {} ran; the run ends here", names.short(&arm.name)));
            self.stop.changed = described.clone();
            let refusal = described.or_else(|| observe::refusal(&observed));
            for cell in self.record.cells.iter_mut().filter(|it| refusal.is_some() && it.arm == arm) {
                cell.skipped = cell.skipped.take().or_else(|| refusal.clone().map(Skip::Failed));
            }
            self.record.observations.push(observed);
        }
        self.checkpoint(hooks);
    }
}
