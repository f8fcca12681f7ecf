//! Short passes of every arm, from which sizes follow and what is too slow for the time that there is.

use std::{collections::BTreeMap, time::Duration};

use schema::{Arm, Condition, Skip, protocol::Hold, runtime::NATIVE};

use super::{Bench, pass::kind_of};
use crate::{
    link::Trouble,
    plan::{
        self, Given,
        sizing::{self, Share, Trial},
    },
    probe,
    state::{self, steady::WarmUp},
};

/// Trials with a given number of blocks grow by this factor until one takes this part of what is left, or a whole pass
/// seems to take no more than that one.
const TRIAL_GROWTH: u64 = 8;
const LONGEST_TRIAL: u32 = 64;
const SHORT_PASS: u32 = 16;
/// A second trial may write so many bytes, if its blocks are small.
const LONGER_TRIAL_BYTES: u64 = 1 << 20;

/// How many times a mapping faults natively is counted, and what it takes beside that known.
pub(super) fn counts_faults(arm: &Arm, under: &Condition) -> bool {
    arm.runtime == NATIVE.name && arm.shares_faults(under)
}

impl Bench<'_> {
    /// Short passes of every arm; what is unavailable is skipped.
    pub(super) fn try_out(
        &mut self,
        condition: usize,
        given: Given,
        failures: &mut BTreeMap<usize, String>,
    ) -> Vec<Trial> {
        let mut trials = Vec::new();
        for cell in self.cells_of(condition) {
            let entry = &self.record.cells[cell];
            if entry.skipped.is_some() || self.is_interrupted() {
                continue;
            }
            let fails_for_good = kind_of(&entry.arm, &self.record.conditions[condition]).fails_for_good();
            if self.clock.is_over() {
                self.record.cells[cell].leave_out(Skip::Untried);
                continue;
            }
            match self.trial(cell, given) {
                Ok(trial) => trials.push(trial),
                Err(Trouble::Unavailable(reason)) => self.record.cells[cell].leave_out(Skip::Unavailable(reason)),
                Err(Trouble::Failed(reason)) if fails_for_good => {
                    self.record.cells[cell].leave_out(Skip::Failed(reason));
                }
                // What fails in a trial may fail again, and is then recorded as what it is.
                Err(Trouble::Failed(reason)) => drop(failures.insert(cell, reason)),
                Err(Trouble::Interrupted) => {}
            }
        }
        trials
    }

    /// Leaves out the arms that are too slow for a condition's share of the budget. One trial may be unlucky, and one of
    /// few blocks may be all first read; so what seems too slow is tried once more, with a useful pass where that fits.
    pub(super) fn leave_slow(&mut self, condition: usize, given: Given, trials: &mut Vec<Trial>, share: Share) {
        let keep = self.baseline_of(condition);
        let under = self.record.conditions[condition].clone();
        let window = self.window();
        for (cell, _) in sizing::size(&under, trials, self.room(share, given), &keep, window, None).too_slow {
            if self.is_interrupted() || self.clock.is_over() {
                break;
            }
            let own = self.condition_of(cell);
            let Some(first) = trials.iter_mut().find(|it| it.cell == cell) else { continue };
            let useful = sizing::planned_ops(&own, window).max(first.ops);
            let fits = first.pass_time(useful).as_nanos() as f64 <= share.ns / 2.0;
            if let Ok(second) = self.try_blocks(cell, given, if fits { useful } else { first.ops }) {
                *first = first.clone().or_faster(second, useful);
            }
        }
        for (cell, reason) in sizing::size(&under, trials, self.room(share, given), &keep, window, None).too_slow {
            self.record.cells[cell].leave_out(reason);
        }
        trials.retain(|it| self.record.cells[it.cell].skipped.is_none());
    }

    /// How long a pass of one cell takes, by a short one. Where the experiment says how many blocks a pass has and they
    /// seem to take long, longer ones follow: the first blocks pay for opening, and for read-ahead that the others use.
    fn trial(&mut self, cell: usize, given_of: Given) -> Result<Trial, Trouble> {
        let whole = self.condition_of(cell);
        let given = if whole.ops == 0 { u64::MAX } else { whole.ops };
        let left = self.clock.left();
        let full = sizing::trial_ops(&whole).min(given);
        let mut ops = sizing::first_ops(&whole).min(full);
        loop {
            let trial = self.try_blocks(cell, given_of, ops)?;
            let more = ops.saturating_mul(TRIAL_GROWTH).min(full);
            if ops < more && trial.pass_time(more) <= left / SHORT_PASS {
                ops = more;
                continue;
            }
            let fits = whole.ops == 0 || trial.pass_time(given) <= left / SHORT_PASS;
            let longer = ops.saturating_mul(TRIAL_GROWTH).min(given);
            if fits || ops >= given || trial.pass_time(ops) > left / LONGEST_TRIAL {
                // No longer than a pass that is of use, unless that is so short that what disturbs it shows.
                let short = LONGER_TRIAL_BYTES / whole.block_bytes.max(1);
                let longer = longer.min(sizing::least_ops(&whole, self.window()).max(2 * ops).max(short));
                let is_to_grow =
                    whole.workload.writes() && longer > ops && trial.pass_time(longer) <= left / LONGEST_TRIAL;
                return match is_to_grow {
                    true => Ok(trial.with_longer(self.try_blocks(cell, given_of, longer)?)),
                    false => Ok(trial),
                };
            }
            ops = longer;
        }
    }

    pub(super) fn try_blocks(&mut self, cell: usize, given: Given, ops: u64) -> Result<Trial, Trouble> {
        let arm = self.record.cells[cell].arm.clone();
        let whole = self.condition_of(cell);
        let mut under = whole.clone();
        plan::cover(&mut under, ops);
        // Where a pass of a round may lie, and nowhere else.
        if self.may_move(self.record.cells[cell].condition, given) {
            under.range = plan::in_round(under.range, whole.range.end(), 1);
        }
        let pass = self.pass(&arm, &under)?;
        let device = probe::value(&pass.readings, "device_read_bytes");
        let device = device.filter(|it| arm.finds_its_pages(&whole) && *it > 0.0);
        let elapsed_ns = (pass.done.phases.total_ns() as f64).max(sizing::throttled_ns(&under, pass.done.tally.ops));
        let cpu_ns = pass.done.usage.user_ns as f64 + pass.done.usage.system_ns as f64;
        let (ops, looked_at) = (pass.done.tally.ops, pass.done.tally.bytes);
        // Populating a mapping brings in and maps all of the range when it is opened, however few accesses there are.
        let populates = arm.maps_all_first() && whole.workload.reads_anywhere();
        let work_ns = pass.done.phases.work_ns as f64;
        let (spent_ns, brought_bytes) = if populates { (work_ns, 0.0) } else { (cpu_ns, device.unwrap_or(0.0)) };
        // Some of the faults are not of the mapping; that makes it seem slower in long passes, and not faster.
        let faults = pass.done.usage.minor_faults as f64;
        let maps_in_memory = counts_faults(&arm, &whole) && (populates || faults > 0.0);
        let units = || {
            let touches = ops as f64 * whole.block_bytes.div_ceil(sys::page_bytes()) as f64;
            sizing::fault_units(touches, faults, whole.range.bytes.div_ceil(sys::page_bytes()))
        };
        let bytes = looked_at.saturating_mul(100) / u64::from(whole.consumed_percent.max(1));
        let waits = whole.state.waits_for_device() || arm.is_direct();
        let trial = Trial {
            cell,
            ops,
            most_ops: match whole.ops {
                0 if whole.workload.is_ascending() => whole.blocks_in_range(),
                0 => u64::MAX,
                given => given,
            },
            worth_ops: sizing::worth_ops(&whole, ops, bytes, waits, self.window()),
            elapsed_ns,
            found_ns: match counts_faults(&arm, &whole) {
                true => sizing::hit_ns(&whole),
                false => sizing::found_ns(whole.block_bytes, ops, spent_ns, brought_bytes),
            },
            whole_range_ns: match (populates, device) {
                (true, _) => elapsed_ns - work_ns,
                _ if maps_in_memory => elapsed_ns * units() / faults,
                (false, Some(device)) => elapsed_ns * whole.range.bytes as f64 / device,
                (false, None) => f64::INFINITY,
            },
            overhead_ns: pass.overhead_ns,
            around_op_ns: 0.0,
            waits,
            maps_in_memory,
            doubled: under.state.is_held(),
            cpu_ns,
        };
        // Those of a larger pass are as much larger.
        let warm = WarmUp::least(Duration::from_nanos(elapsed_ns as u64)).as_nanos() as f64;
        Ok(if state::hold(under.state) == Hold::Open { trial.with_warm_passes(warm) } else { trial })
    }
}
