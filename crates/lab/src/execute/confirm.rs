//! Answers measured once more at the size of the job.
//!
//! Threat: a pass is as large as the budget allows, and the answer may depend on its size. A cold scan of two read-ahead
//! windows favours another method than one of the whole file; a mapping that brings in 8 MiB with each miss loses over 32
//! random reads and wins over 50,000. Defence: where time is left, the two arms that decide an answer make passes over the
//! whole file, or with many reads, in pairs. What remains: a job that is larger than what there was time for.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use schema::{
    Condition, Durability, Fill, Span, State, Workload,
    across::PassSize,
    experiment::Compare,
    protocol::Tally,
    record::{ColdPass, Confirmation, Outcome, Sample},
};

use super::{Bench, Hooks, rounds::Slot, trials};
use crate::{
    link::Trouble,
    plan::{self, Given, sizing},
    probe,
};

/// So many pairs are made of an answer that the fewest leave open: the two lowest and the two highest of them do not count in its
/// interval.
const PAIRS_MOST: u32 = 12;
/// After so many passes that did not count, the answer is left as it is.
const INVALID_MOST: usize = 2;
/// A pass that is not so much larger than those of the rounds asks the same question. Where a mapping in memory has fewer faults for
/// each block the more there are, one that is a little larger asks another: random reads share them, and what is read first lies in
/// smaller folios. So does a cold scan.
const LARGER: f64 = 4.0;
const LARGER_OF_PARTS: f64 = PassSize::LARGER;
/// Of the time that is left, each of these may have so many times an equal part: they decide more.
const PARTS_OF_MAPPINGS: u32 = 3;
/// Of the memory that is available, at most this is filled.
const MEMORY_SHARE: u64 = 4;
/// Rounds count up from 1; the offsets of these passes are those of none.
const ROUND: u32 = 1 << 20;

/// What both passes took, and cold what they did.
type Pair = ([f64; 2], Option<[ColdPass; 2]>);

impl Bench<'_> {
    /// The answers of a stage, until its time is over.
    pub(super) fn confirm(&mut self, slot: &Slot, until: Instant, given: &[Given], hooks: &mut Hooks) {
        let open: Vec<usize> = slot.conditions.iter().copied().filter(|&it| self.may_confirm(it, given[it])).collect();
        let headlines = (hooks.headlines)(&self.record, &open);
        // First the conditions of which the answer depends on how much of the job there is, then the answer of each other one, and then
        // what else there is: it has the time that those leave.
        let condition = |it: &[usize; 2]| self.record.cells[it[0]].condition;
        let depending: BTreeSet<usize> =
            headlines.iter().filter(|it| self.depends_on_size(**it)).map(condition).collect();
        let mut answered: BTreeSet<usize> = BTreeSet::new();
        let mut in_order: Vec<(u8, [usize; 2])> = Vec::new();
        for it in headlines {
            let is_first = answered.insert(condition(&it));
            let depends = depending.contains(&condition(&it)) && is_first || self.depends_on_size(it);
            in_order.push((if depends { 0 } else { 2 - u8::from(is_first) }, it));
        }
        in_order.sort_by_key(|it| it.0);
        let mut wanted: Vec<(Confirmation, Duration)> = Vec::new();
        for (index, &(class, cells)) in in_order.iter().enumerate() {
            let planned: Duration = wanted.iter().map(|it| it.1 * Confirmation::PAIRS).sum();
            let left = until.saturating_duration_since(Instant::now()).saturating_sub(planned);
            let extra = if class < 2 { in_order[index..].iter().filter(|it| it.0 == 2).count() } else { 0 };
            let part = left / (in_order.len() - index - extra) as u32;
            let most = (part * PARTS_OF_MAPPINGS).min(left / 2).max(part);
            wanted.extend(self.job_of(cells, if self.depends_on_size(cells) { most } else { part }));
        }
        // All pairs of one answer before the next is begun: fewer decide nothing.
        let mut made: Vec<(usize, Duration)> = Vec::new();
        for (confirmation, pair_time) in wanted {
            let confirmation = self.pairs(confirmation, Confirmation::PAIRS, (pair_time, until), hooks);
            if !confirmation.pairs.is_empty() || !confirmation.invalid.is_empty() {
                made.push((self.record.confirmations.len(), pair_time));
                self.record.confirmations.push(confirmation);
            }
        }
        // Of the fewest pairs a single one that was disturbed leaves all open. More are made of what they leave open, and looked at
        // once, when all are there: a look after each of them would find a difference where there is none.
        for (at, pair_time) in made {
            let confirmation = self.record.confirmations[at].clone();
            let missing = PAIRS_MOST - confirmation.pairs.len() as u32;
            let fits = Instant::now() + pair_time * missing <= until;
            if fits && (hooks.is_open)(&confirmation) {
                self.record.confirmations[at] = self.pairs(confirmation, PAIRS_MOST, (pair_time, until), hooks);
            }
        }
    }

    /// Makes pairs until there are so many, each of which takes about so long, as far as the time allows.
    fn pairs(
        &mut self,
        confirmation: Confirmation,
        most: u32,
        (pair_time, until): (Duration, Instant),
        hooks: &mut Hooks,
    ) -> Confirmation {
        let label = self.record.conditions[confirmation.condition].label();
        let before = confirmation.clone();
        let is_over = |it: &Confirmation| it.pairs.len() >= most as usize || it.invalid.len() >= INVALID_MOST;
        let count = |it: &Confirmation| (it.pairs.len() + it.invalid.len()) as u32;
        // No two pairs of a run read the same places at random.
        let of_all = self.record.confirmations.iter().map(count).sum::<u32>();
        self.underway = Some(confirmation);
        for pair in count(&before).. {
            let fits = Instant::now() + pair_time <= until;
            if self.is_interrupted() || !fits || self.underway.as_ref().is_none_or(is_over) {
                break;
            }
            self.show(format!("at the size of the job: {label}"), hooks);
            self.draw.round = ROUND + of_all + (pair - count(&before));
            self.confirm_once(pair % 2 == 1);
        }
        // Pairs that are made later than a look at the folios are not among those after it in the record.
        if !before.pairs.is_empty() {
            self.look_again();
        }
        self.underway.take().unwrap_or(before)
    }

    /// Whether the answers of a condition may be measured once more: a size that was written down is part of the question. Of a range
    /// that is named, the number of random reads is not, and what is in order covers it as far as there is time.
    pub(super) fn may_confirm(&self, condition: usize, given: Given) -> bool {
        let under = &self.record.conditions[condition];
        let is_open = given == Given::Nothing || given == Given::Range && !under.workload.is_ascending();
        is_open && is_asked_again(under)
    }

    /// Whether the answer of two arms depends on how much of the job there is: a part of it asks another question.
    fn depends_on_size(&self, cells: [usize; 2]) -> bool {
        cells.iter().any(|&it| self.record.cells[it].arm.depends_on_size(&self.condition_of(it)))
    }

    /// The largest job of an answer whose pairs fit into the time, and what a pair takes.
    fn job_of(&self, [baseline, arm]: [usize; 2], time: Duration) -> Option<(Confirmation, Duration)> {
        let measured = self.condition_of(baseline);
        // A size that the arms have of their own is part of what was asked.
        let planned = &self.record.conditions[self.record.cells[baseline].condition];
        if self.condition_of(arm) != measured || has_own_size(&measured, planned) || !is_asked_again(&measured) {
            return None;
        }
        let memory = self.record.environment.cache_memory_bytes() / MEMORY_SHARE;
        let condition = self.record.cells[baseline].condition;
        let all = Span { offset: 0, bytes: measured.file_bytes };
        let named = |it: &Compare| it.window_of(&self.record.cells[baseline].arm.name, &measured);
        let all = self.record.origin(condition).map_or(all, named);
        // The part of the file that the scans of a condition have is one of many: the job begins where the file does, or the range that
        // is named.
        let whole_steps = |bytes: u64| plan::whole_steps(all.offset + bytes).saturating_sub(all.offset);
        let whole = Span { bytes: all.bytes.min(whole_steps(memory)).max(measured.range.bytes), ..all };
        // Fewer random reads over all of it need as large a fill.
        let is_filled =
            |it: &Span| self.fill_ns(&measured, it.bytes).is_some_and(|ns| ns <= time.as_nanos() as f64 / 2.0);
        let window = match measured.workload.is_ascending() || is_filled(&whole) {
            true => whole,
            false => measured.range,
        };
        let page = sys::page_bytes();
        let mut ops = measured.job_blocks(window.bytes, page);
        let job_bytes = if measured.workload.writes() { all.bytes } else { window.bytes };
        let depends_on_size = self.depends_on_size([baseline, arm]);
        // What cannot lie elsewhere in each round is at the file's start, where folios are smaller.
        let is_at_start = measured.workload == Workload::Scan
            && measured.state.is_filled()
            && !self.may_move(condition, Given::Nothing);
        // Of a cold scan what goes on before read-ahead has grown is a larger part of the first third than of all.
        let larger = if depends_on_size || is_at_start || measured.is_cold_scan() { LARGER_OF_PARTS } else { LARGER };
        loop {
            if (ops as f64) < measured.ops as f64 * larger {
                return None;
            }
            if depends_on_size && measured.job_of_part(ops, job_bytes, page).is_some() {
                return None;
            }
            let twice = if measured.state.is_held() { 2.0 } else { 1.0 };
            let bytes = if measured.workload.is_ascending() { ops * measured.block_bytes } else { window.bytes };
            let around_ns = self.around_ns(baseline, bytes) + self.around_ns(arm, bytes);
            let pass_ns = |cell: usize| self.job_ns(cell, ops, window.bytes);
            let pair_ns = twice * (pass_ns(baseline)? + pass_ns(arm)?) + around_ns;
            let all_ns = self.fill_ns(&measured, bytes).map(|it| pair_ns * f64::from(Confirmation::PAIRS) + it);
            if all_ns.is_some_and(|it| it <= time.as_nanos() as f64) {
                let range = if measured.workload.is_ascending() {
                    Span { bytes: bytes.min(window.bytes), ..window }
                } else {
                    window
                };
                let job = Confirmation {
                    condition,
                    baseline_cell: baseline,
                    arm_cell: arm,
                    range,
                    ops,
                    pairs: Vec::new(),
                    cold: Vec::new(),
                    invalid: Vec::new(),
                };
                return Some((job, Duration::from_nanos(pair_ns as u64)));
            }
            ops /= 2;
            let bytes = whole_steps(ops * measured.block_bytes);
            if measured.workload.is_ascending() && bytes > 0 && bytes.is_multiple_of(measured.block_bytes) {
                ops = bytes / measured.block_bytes;
            }
        }
    }

    /// What a pass of so many blocks, at random within so much of the file, is expected to take by the last one of the rounds.
    fn job_ns(&self, cell: usize, ops: u64, within_bytes: u64) -> Option<f64> {
        let under = self.condition_of(cell);
        let (last, last_ns) = self.last_pass(cell)?;
        let arm = &self.record.cells[cell].arm;
        let alike_ns = last_ns * ops as f64 / under.ops as f64;
        let wider = within_bytes as f64 / under.range.bytes.max(1) as f64;
        if !trials::counts_faults(arm, &under) {
            // No more comes from the device than there is.
            let device = probe::value(&last.readings, "device_read_bytes");
            let device = device.filter(|it| arm.finds_its_pages(&under) && *it > 0.0);
            let found_ns = ops as f64 * sizing::found_ns(under.block_bytes, under.ops, 0.0, 0.0);
            let whole_ns = device.map(|it| last_ns * within_bytes as f64 / it + found_ns);
            return Some(whole_ns.map_or(alike_ns, |it| it.min(alike_ns)));
        }
        let found_ns = (ops as f64 - under.ops as f64).max(0.0) * sizing::hit_ns(&under);
        if arm.maps_all_first() {
            return Some(alike_ns.min(last_ns * wider + found_ns));
        }
        let faults = probe::value(&last.readings, "minor_faults").filter(|it| *it > 0.0);
        let Some(faults) = faults else { return Some(alike_ns) };
        let pages = under.block_bytes.div_ceil(sys::page_bytes()) as f64;
        let [made, ops] = [under.ops, ops].map(|it| it as f64 * pages);
        let units = wider * sizing::fault_units(made, faults, under.range.bytes.div_ceil(sys::page_bytes()));
        Some(alike_ns.min(last_ns * sizing::faults_of(ops, units) / faults + found_ns))
    }

    /// The last pass of a cell that counts, and what it took.
    fn last_pass(&self, cell: usize) -> Option<(&Sample, f64)> {
        let mut samples = self.record.samples.iter().rev().filter(|it| it.cell == cell);
        samples.find_map(|it| match &it.outcome {
            Outcome::Ok { phases, .. } => Some((it, phases.total_ns() as f64)),
            _ => None,
        })
    }

    /// What a pass of a cell takes beside its work, by the last one. A file that is written is made before, and read back after it:
    /// that takes as long for each byte.
    fn around_ns(&self, cell: usize, bytes: u64) -> f64 {
        let all = self.times.expected.get(&cell).map_or(0.0, |it| it.as_nanos() as f64);
        let around_ns = self.last_pass(cell).map_or(0.0, |(_, work_ns)| (all - work_ns).max(0.0));
        let under = self.condition_of(cell);
        match under.workload.writes() {
            true => around_ns * (bytes as f64 / under.range.bytes.max(1) as f64).max(1.0),
            false => around_ns,
        }
    }

    /// What it takes to fill the page cache with more than it holds. Nothing where that would be another fill: neighbours in the
    /// file that lie side by side in memory made read(2) 1.6 times as fast, and a mapping 1.35 times.
    fn fill_ns(&self, condition: &Condition, bytes: u64) -> Option<f64> {
        let last = self.record.fills.iter().rev().find(|it| condition.fill().is_some() && it.fill == condition.fill());
        let Some(last) = last.filter(|it| it.range.bytes < bytes) else { return Some(0.0) };
        let is_alike = last.fill != Some(Fill::Random) || self.order(bytes) == self.order(last.range.bytes);
        is_alike.then(|| last.elapsed_ns as f64 * bytes as f64 / last.range.bytes as f64)
    }

    /// A pair more of the confirmation that is underway, or why it does not count.
    fn confirm_once(&mut self, arm_first: bool) {
        let Some(before) = self.underway.clone() else { return };
        let pair = self.pair(&before, arm_first);
        let Some(job) = &mut self.underway else { return };
        // Folios were found to have changed meanwhile: one of the two passes may have been made in them.
        if job.invalid.len() > before.invalid.len() {
            return;
        }
        match pair {
            Ok(Some((ns, did))) => {
                job.pairs.push(ns);
                job.cold.extend(did);
            }
            Ok(None) => {}
            Err(reason) => job.invalid.push(reason),
        }
    }

    /// One pass of both arms: the times and, cold, what was done. Nothing where the run is interrupted.
    ///
    /// # Errors
    /// Why they are no pair.
    fn pair(&mut self, job: &Confirmation, arm_first: bool) -> Result<Option<Pair>, String> {
        // Both arms may do something else than their condition says, if they do the same.
        let mut condition = Condition { range: job.range, ..self.condition_of(job.baseline_cell) };
        plan::cover(&mut condition, job.ops);
        let mut pair = [0.0; 2];
        let order = if arm_first { [1, 0] } else { [0, 1] };
        let mut did = [None, None];
        for side in order {
            let cell = [job.baseline_cell, job.arm_cell][side];
            let arm = self.record.cells[cell].arm.clone();
            match self.pass(&arm, &condition) {
                Ok(pass) => {
                    if let Some(reason) = pass.invalid {
                        return Err(reason);
                    }
                    pair[side] = pass.done.phases.total_ns() as f64;
                    let device_read_bytes = probe::value(&pass.readings, "device_read_bytes");
                    did[side] = Some(ColdPass { tally: pass.done.tally, device_read_bytes });
                }
                Err(Trouble::Failed(reason) | Trouble::Unavailable(reason)) => return Err(reason),
                Err(Trouble::Interrupted) => return Ok(None),
            }
        }
        let [Some(baseline), Some(arm)] = did else { return Ok(None) };
        equal_work(condition.ops, &baseline.tally, &arm.tally)?;
        Ok(Some((pair, (condition.state == State::Cold).then_some([baseline, arm]))))
    }
}

/// In state limited the window is whole already, of what is synced each block waits for the device, and as-is the first pass over more
/// would find what the later ones do not.
fn is_asked_again(under: &Condition) -> bool {
    under.durability != Durability::SyncEach && !matches!(under.state, State::Limited | State::AsIs | State::AsFound)
}

/// Whether an arm does another amount of work than its condition says.
fn has_own_size(own: &Condition, planned: &Condition) -> bool {
    (own.range, own.ops) != (planned.range, planned.ops)
}

/// Whether both arms did the job, by what they say they did.
///
/// # Errors
/// What differs.
fn equal_work(ops: u64, baseline: &Tally, arm: &Tally) -> Result<(), String> {
    let numbers = |of: &Tally| [of.ops, of.bytes, of.distinct_bytes, of.threads.into()];
    let pages = baseline.distinct_pages.zip(arm.distinct_pages);
    match () {
        () if baseline.ops != ops || arm.ops != ops => {
            Err(format!("the job has {ops} blocks, and the two arms did {} and {}", baseline.ops, arm.ops))
        }
        () if baseline.bytes != arm.bytes => {
            Err(format!("the two arms did {} and {} bytes", baseline.bytes, arm.bytes))
        }
        () if baseline.checksum != arm.checksum => {
            Err(format!("the two arms read different bytes: checksums {} and {}", baseline.checksum, arm.checksum))
        }
        () if numbers(baseline) != numbers(arm) || pages.is_some_and(|(a, b)| a != b) => {
            Err("the two arms did not read the same places".into())
        }
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_that_did_not_do_the_same_job_are_no_pair() {
        let tally = Tally {
            ops: 8,
            bytes: 80,
            distinct_bytes: 40,
            distinct_block_bytes: None,
            distinct_pages: Some(4),
            checksum: "a".into(),
            threads: 1,
            queue_depth: 1,
        };
        let with = |change: &dyn Fn(&mut Tally)| {
            let mut other = tally.clone();
            change(&mut other);
            equal_work(8, &tally, &other).is_ok()
        };
        assert!(with(&|_| {}));
        assert!(with(&|it| it.distinct_pages = None) && with(&|it| it.queue_depth = 32));
        assert!(!with(&|it| it.ops = 9) && !with(&|it| it.bytes = 81) && !with(&|it| it.checksum = "b".into()));
        assert!(!with(&|it| it.distinct_bytes = 41) && !with(&|it| it.distinct_pages = Some(5)));
        assert!(!with(&|it| it.threads = 2));
        assert!(equal_work(9, &tally, &tally).is_err(), "both stopped short of the job");
    }
}
