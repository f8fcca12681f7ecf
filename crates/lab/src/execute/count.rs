//! Counted passes, after the timed ones.

use schema::{
    Beside, Condition, Reading, Record, Span,
    record::{Outcome, Sample},
};

use super::{Bench, Hooks, pass::Counting};
use crate::{counted, link::Trouble, plan::Stage, runtime, scenario, state::writing};

impl Bench<'_> {
    /// One pass of every cell that was measured, under tracepoints, as long as the budget lasts.
    pub(super) fn count(&mut self, hooks: &mut Hooks) {
        let kit = match counted::Kit::new(self.settings.may_set_up, self.target.inodes()) {
            (kit, None) => kit,
            (kit, Some(limit)) => {
                self.record.limits.push(limit);
                kit
            }
        };
        let measured = |cell: usize, record: &Record| {
            record.samples.iter().any(|it| it.cell == cell && matches!(it.outcome, Outcome::Ok { .. }))
        };
        // A file of the user's is not written, whatever was asked.
        let was_written = self.target.made.is_some() && writes(&self.record);
        if let Err(reason) = if was_written { writing::restore(self.target, self.record.seed) } else { Ok(()) } {
            self.record.limits.push(format!("nothing was counted: {reason}"));
            return;
        }
        let mut left_out = 0;
        // In the order of stages, so that the page cache is not filled for each cell anew.
        let (as_found, mut cells): (Vec<usize>, Vec<usize>) = (0..self.record.cells.len())
            .filter(|&cell| !self.record.cells[cell].control && measured(cell, &self.record))
            .partition(|&cell| begins_as_found(&self.condition_of(cell)));
        match is_as_found_still(&self.record) {
            true => cells.extend(as_found),
            false if as_found.is_empty() => {}
            false => {
                let reason = "the pages are no longer as they were found: there are no counted passes in state as-is and \
                              none for fill found";
                self.record.limits.push(reason.into());
            }
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
            if runtime::find(&arm.runtime).is_ok_and(|it| !it.keeps_threads()) {
                let moves = format!(
                    "no pass of an arm of runtime {} was counted: counters follow a thread, and its passes move between threads",
                    arm.runtime
                );
                if !self.record.limits.contains(&moves) {
                    self.record.limits.push(moves);
                }
                continue;
            }
            let condition = counted_under(in_last_window(&self.record, cell, self.condition_of(cell)));
            self.show(format!("counting {arm}, {}", condition.label()), hooks);
            let mut counting = Counting::with(&kit);
            let pass = self.counted_pass(&arm, &condition, &mut counting);
            match (pass, counting.counted()) {
                (Ok(mut pass), Some(watch)) => {
                    let device = pass.readings.remove("device_read_bytes");
                    let device = device.unwrap_or_else(|| Reading::unavailable("not observed in this pass"));
                    let own_calls = runtime::find(&arm.runtime);
                    let own_calls = own_calls.map_or(0, |it| it.own_calls(&arm.method, pass.done.tally.threads));
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

/// Whether any cell writes; trials have written, too, which leave no sample.
fn writes(record: &Record) -> bool {
    let own = record.cells.iter().filter_map(|it| it.own_condition.as_ref());
    record.conditions.iter().chain(own).any(|it| it.workload.writes())
}

/// What a counted pass of a cell is made under: its condition, and nothing beside it. Counters follow the worker's threads from
/// before `prepare` until `done`, so a beat would be counted with the pass, and so would its deadlines after it. What the pass
/// itself does is the same.
fn counted_under(condition: Condition) -> Condition {
    Condition { beside: Beside::Nothing, ..condition }
}

/// Where the last pass of a cell was, of a condition whose window lies elsewhere in each round: at the start of a file the folios are
/// smaller than further on.
fn in_last_window(record: &Record, cell: usize, condition: Condition) -> Condition {
    let is_ok = |it: &&Sample| it.cell == cell && matches!(it.outcome, Outcome::Ok { .. });
    let last = record.samples.iter().rev().find(is_ok).and_then(|it| it.window_offset);
    let range = Span { offset: last.unwrap_or(condition.range.offset), ..condition.range };
    Condition { range, ..condition }
}

/// A pass under this condition is made of the file as it is found, whatever that is.
fn begins_as_found(condition: &Condition) -> bool {
    Stage::of(condition).is_as_found()
}

/// Whether nothing in the run has evicted, filled or read more of the file: passes from then on would find it in another state
/// than the timed ones did.
fn is_as_found_still(record: &Record) -> bool {
    let own = record.cells.iter().filter_map(|it| it.own_condition.as_ref());
    record.conditions.iter().chain(own).all(begins_as_found) && !scenario::read_target(&record.scenarios)
}

#[cfg(test)]
mod tests {
    use schema::{Fill, State, Workload};

    use super::*;

    #[test]
    fn a_counted_pass_is_made_where_the_last_one_was() {
        let mut record = planted::Planting::default().plant().record;
        let condition = record.conditions[record.cells[0].condition].clone();
        assert_eq!(in_last_window(&record, 0, condition.clone()), condition);
        let last = record.samples.iter_mut().rev().find(|it| it.cell == 0).unwrap();
        last.window_offset = Some(64 << 20);
        assert_eq!(in_last_window(&record, 0, condition.clone()).range, Span { offset: 64 << 20, ..condition.range });
    }

    #[test]
    fn a_counted_pass_has_no_beat_and_is_that_of_its_cell_otherwise() {
        let plain = Condition { state: State::Limited, threads: 4, ops: 7, ..Condition::plain(4096) };
        let beside = Condition { beside: Beside::Beat, ..plain.clone() };
        assert_eq!(counted_under(beside), plain);
        assert_eq!(counted_under(plain.clone()), plain);
    }

    #[test]
    fn a_file_is_as_it_was_found_as_long_as_no_condition_of_the_run_evicts_fills_or_writes() {
        let of = |state: State, fill: Option<Fill>| Condition { state, fill, ..Condition::plain(4096) };
        let as_is = || of(State::AsIs, None);
        let found = || of(State::Cached, Some(Fill::Found));
        let writes = Condition { workload: Workload::Overwrite, ..as_is() };
        let record = |conditions: Vec<Condition>| Record { conditions, ..planted::empty_record() };
        for same in [as_is(), found()] {
            assert!(begins_as_found(&same));
            assert!(is_as_found_still(&record(vec![as_is(), same.clone()])));
            for other in [of(State::Cold, None), of(State::Cached, None), of(State::Limited, None), writes.clone()] {
                assert!(!begins_as_found(&other));
                assert!(!is_as_found_still(&record(vec![same.clone(), other.clone()])));
                let mut own = planted::Planting::default().plant().record;
                own.conditions = vec![same.clone()];
                own.cells.iter_mut().for_each(|it| it.own_condition = None);
                assert!(is_as_found_still(&own));
                own.cells[0].own_condition = Some(other);
                assert!(!is_as_found_still(&own), "an arm does what its condition does not say");
            }
        }
        let with = |scenario: &str| {
            let scenarios = [(scenario.to_string(), Reading::unavailable("planted"))].into();
            is_as_found_still(&Record { scenarios, ..record(vec![as_is()]) })
        };
        assert!(!with("address-space") && with("shared-write"), "one maps the file itself");
    }
}
