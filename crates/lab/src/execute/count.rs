//! Counted passes, after the timed ones.

use schema::{Fill, Reading, Record, record::Outcome};

use super::{Bench, Hooks, pass::Counting};
use crate::{counted, link::Trouble, plan::Stage, runtime, state::writing};

impl Bench<'_> {
    /// One pass of every cell that was measured, under tracepoints, as long as the budget lasts.
    pub(super) fn count(&mut self, hooks: &mut Hooks) {
        let kit = match counted::Kit::new(self.settings.may_set_up, self.target) {
            (kit, None) => kit,
            (kit, Some(limit)) => {
                self.record.limits.push(limit);
                kit
            }
        };
        let measured = |cell: usize, record: &Record| {
            record.samples.iter().any(|it| it.cell == cell && matches!(it.outcome, Outcome::Ok { .. }))
        };
        let wrote = self.record.conditions.iter().any(|it| it.workload.writes());
        if let Err(reason) = if wrote { writing::restore(self.target, self.record.seed) } else { Ok(()) } {
            self.record.limits.push(format!("nothing was counted: {reason}"));
            return;
        }
        let mut left_out = 0;
        // In the order of stages, so that the page cache is not filled for each cell anew.
        let (found, mut cells): (Vec<usize>, Vec<usize>) = (0..self.record.cells.len())
            .filter(|&cell| !self.record.cells[cell].control && measured(cell, &self.record))
            .partition(|&cell| self.condition_of(cell).fill() == Some(Fill::Found));
        if !found.is_empty() {
            let reason =
                "the file is no longer in the page cache as it was found: there are no counted passes for fill found";
            self.record.limits.push(reason.into());
        }
        cells.sort_by_key(|&cell| Stage::of(&self.record.conditions[self.record.cells[cell].condition]));
        for cell in cells {
            if self.is_interrupted() {
                return;
            }
            if self.clock.is_over() {
                left_out += 1;
                continue;
            }
            let arm = self.record.cells[cell].arm.clone();
            let condition = self.condition_of(cell);
            self.show(format!("counting {arm}, {}", condition.label()), hooks);
            let mut counting = Counting::with(&kit);
            let pass = self.counted_pass(&arm, &condition, &mut counting);
            match (pass, counting.counted()) {
                (Ok(mut pass), Some(watch)) => {
                    let device = pass.readings.remove("device_read_bytes");
                    let device = device.unwrap_or_else(|| Reading::unavailable("not observed in this pass"));
                    let own_calls = runtime::find(&arm.runtime).map_or(0, |it| it.own_calls(pass.done.tally.threads));
                    self.record.counted.push(watch.counted(cell, own_calls, &pass.done, device, pass.invalid));
                }
                (Err(Trouble::Failed(reason) | Trouble::Unavailable(reason)), _) => {
                    self.record.limits.push(format!("a counted pass of {arm} failed: {reason}"));
                }
                _ => {}
            }
        }
        if left_out > 0 {
            self.record.limits.push(format!("{left_out} counted passes were left out: the budget was spent"));
        }
    }
}
