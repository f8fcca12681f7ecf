//! Equal work or no verdict. What both arms did is compared with each other and with what the condition says, from
//! tallies, conditions and device counters alone: no study and no method is known here by name.
//!
//! Where the arms differ from each other the comparison is void, with the differences. Where they agree with
//! each other but not with what the experiment says of itself, it stands and carries a warning.

use schema::{
    Condition, Consume, Durability, State,
    caution::Caution,
    protocol::Tally,
    reason::{Difference, Reason, Rounds},
    trace::Traced,
};

use crate::{
    cells::{changed_bytes, inconsistent_work},
    measured::{Cell, Pass, Run},
    stats::SortedValues,
};

/// Cold: so much of what a pass covered must have come from the device. The rest is
/// tolerance for pages that a neighbour's read-ahead brought in before the pass was counted.
const COLD_SHARE: f64 = 0.90;

/// Two arms of which less came from the device than they covered, or less reached it, do so alike when their shares are this
/// close.
const DEVICE_ALIKE: f64 = 0.10;

/// More device bytes than this, per byte covered, are reported.
const AMPLIFICATION: f64 = 4.0;

/// So much of what was written and was to be durable must have reached the device when the pass ends.
const DURABLE_SHARE: f64 = 0.90;

/// Cached, mapped, locked: so much of what was covered may come from the device unremarked.
const WARM_SHARE: f64 = 0.01;

/// Mapped, locked: so many faults per page covered are no sign that pages left the page table; fewer than the floor are
/// the process's own.
const MAPPED_SHARE: f64 = 0.01;
const MAPPED_FLOOR: f64 = 32.0;

/// Random offsets that reach less than this share of what uniform ones would are not uniform over the range.
const COVERAGE_SHARE: f64 = 0.90;
/// Standard deviations below the mean of uniform offsets: of a handful of blocks, so few are reached by chance.
const BY_CHANCE: f64 = 4.0;

#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Why the arms cannot be compared; empty when they can.
    pub(crate) unequal: Vec<Difference>,
    pub(crate) warnings: Vec<Caution>,
}

/// That two arms did different work.
pub(crate) fn reason(run: &Run, baseline: &Cell, arm: &Cell, differences: Vec<Difference>) -> Reason {
    Reason::UnequalWork { arms: [baseline, arm].map(|it| run.name(it.arm()).to_string()), differences }
}

pub(crate) fn check(run: &Run, baseline: &Cell, arm: &Cell, pairs: &[(&Pass, &Pass)]) -> Work {
    let mut work = Work::default();
    if pairs.is_empty() {
        return work;
    }
    let both = Both { run, baseline, arm, names: [run.name(baseline.arm()), run.name(arm.arm())] };
    both.conditions(&mut work);
    both.tallies(pairs, &mut work);
    both.cold(&mut work);
    both.durable(&mut work);
    for (of, cell) in [baseline, arm].into_iter().enumerate() {
        let name = run.name(cell.arm());
        work.warnings.extend(left_its_state(run, cell));
        // What a command prints may hold a time or a number of its process.
        let reads = cell.own.workload.kind() == schema::condition::WorkloadKind::Reads;
        match changed_bytes(cell).filter(|_| reads && work.unequal.is_empty()) {
            Some(what) => work.unequal.push(Difference::Changed { of, what }),
            None => {
                let what = inconsistent_work(cell);
                work.warnings.extend(what.map(|what| Caution::Inconsistent { arm: name.to_string(), what }));
            }
        }
    }
    if work.unequal.is_empty() {
        both.as_it_says(&mut work);
        both.queue_depth(&mut work);
    }
    work
}

struct Both<'a, 'r> {
    run: &'r Run<'a>,
    baseline: &'r Cell<'a>,
    arm: &'r Cell<'a>,
    names: [&'a str; 2],
}

impl Both<'_, '_> {
    /// The condition of each arm.
    fn conditions(&self, work: &mut Work) {
        let (a, b) = (self.baseline.own, self.arm.own);
        let mut differ = |same: bool, what: Difference| {
            if !same {
                work.unequal.push(what);
            }
        };
        differ(a.workload == b.workload, Difference::Workloads { workloads: [a.workload, b.workload] });
        differ(a.consume == b.consume, self.per_byte());
        differ(a.state == b.state, Difference::States { states: [a.state, b.state] });
        differ(a.durability == b.durability, Difference::Durabilities { durabilities: [a.durability, b.durability] });
        differ(a.block_bytes == b.block_bytes, Difference::Blocks { block_bytes: [a.block_bytes, b.block_bytes] });
        differ(a.aligned == b.aligned, Difference::Alignments { aligned: [a.aligned, b.aligned] });
        differ(a.file_bytes == b.file_bytes, Difference::Files { file_bytes: [a.file_bytes, b.file_bytes] });
        differ(a.storage == b.storage, Difference::Storages);
        let memory_bytes = [a.memory_bytes, b.memory_bytes];
        differ(a.memory_bytes == b.memory_bytes, Difference::Memories { memory_bytes });
        if a.descriptor != b.descriptor {
            let arms = self.names.map(str::to_string);
            work.warnings.push(Caution::Descriptors { arms, descriptors: [a.descriptor, b.descriptor] });
        }
    }

    /// That the arms do different things with each byte, and what it costs where that was seen.
    fn per_byte(&self) -> Difference {
        let spent = |cell: &Cell| {
            if cell.why_no_parts().is_some() {
                return None;
            }
            let user = cell.reading("user_ns", SortedValues::mean).value().copied()?;
            let ns = user / cell.median_of(|tally| tally.bytes).filter(|&bytes| bytes > 0.0)?;
            (0.005..1e6).contains(&ns).then_some(ns)
        };
        let user_ns_per_byte = spent(self.baseline).zip(spent(self.arm)).map(|(a, b)| [a, b]);
        Difference::Consumes { consumes: [self.baseline.own.consume, self.arm.own.consume], user_ns_per_byte }
    }

    /// What each arm did, round by round: offsets may be drawn anew for every round, but then for all arms alike.
    fn tallies(&self, pairs: &[(&Pass, &Pass)], work: &mut Work) {
        let differing = |same: &dyn Fn(&Tally, &Tally) -> bool| {
            let differing = pairs.iter().filter(|(a, b)| !same(a.tally, b.tally)).count();
            let (a, b) = pairs.iter().find(|(a, b)| !same(a.tally, b.tally))?;
            Some((a.tally, b.tally, Rounds { differing, all: pairs.len() }))
        };
        let writes = self.arm.own.workload.writes();
        if let Some((a, b, rounds)) = differing(&|a, b| a.bytes == b.bytes) {
            work.unequal.push(Difference::Amounts { bytes: [a.bytes, b.bytes], writes, rounds });
        } else {
            if let Some((a, b, rounds)) = differing(&|a, b| a.ops == b.ops) {
                work.unequal.push(Difference::Operations { ops: [a.ops, b.ops], rounds });
            }
            if let Some((a, b, rounds)) = differing(&|a, b| a.distinct_bytes == b.distinct_bytes) {
                let distinct_bytes = [a.distinct_bytes, b.distinct_bytes];
                work.unequal.push(Difference::Reached { distinct_bytes, bytes: a.bytes, writes, rounds });
            }
        }
        let pages = |a: &Tally, b: &Tally| a.distinct_pages.zip(b.distinct_pages);
        let found = !work.unequal.is_empty();
        if let Some((a, b, rounds)) = differing(&|a, b| pages(a, b).is_none_or(|(a, b)| a == b)).filter(|_| !found)
            && let Some((a, b)) = pages(a, b)
        {
            work.unequal.push(Difference::Pages { pages: [a, b], rounds });
        }
        let found = !work.unequal.is_empty();
        if let Some((a, b, rounds)) = differing(&|a, b| a.checksum == b.checksum).filter(|_| !found) {
            let checksums = [a, b].map(|it| it.checksum.clone());
            let counts = |it: &Cell| matches!(it.own.consume, Consume::Lines | Consume::DecodeLines);
            let number = |it: &String| u64::from_str_radix(it, 16).ok();
            let lines = || Some([number(&checksums[0])?, number(&checksums[1])?]);
            let lines = lines().filter(|_| !writes && counts(self.baseline) && counts(self.arm));
            work.unequal.push(match lines {
                _ if self.arm.arm().compares_status() => Difference::Statuses { rounds },
                _ if self.arm.own.is_of_commands() => Difference::Outputs { rounds },
                Some(lines) => Difference::Lines { lines, rounds },
                None => Difference::Checksums { checksums, writes, rounds },
            });
        }
        if let Some((a, b, rounds)) = differing(&|a, b| a.threads == b.threads) {
            work.unequal.push(Difference::Threads { threads: [a.threads, b.threads], rounds });
        }
        if let Some((a, b)) = pairs.iter().find(|(a, b)| a.opened != b.opened)
            && self.baseline.own.state == self.arm.own.state
        {
            work.unequal.push(Difference::Opened { opened: [a.opened, b.opened] });
        }
    }

    /// Equal bytes from the device for both arms, or no number: residency alone does not see a mapping that was never
    /// evicted, nor a hole, nor a cache below.
    fn cold(&self, work: &mut Work) {
        let page_bytes = self.run.page_bytes();
        let from_device = |cell: &Cell| {
            let covered = cell.covered_bytes(page_bytes).filter(|_| reads_cold(cell))?;
            Some((cell.count("device_read_bytes")?, covered))
        };
        let cells = [self.baseline, self.arm].map(from_device);
        match cells {
            [Some(a), Some(b)] => match too_little_from_device([a, b], self.run.record.target.allocated()) {
                Some(TooLittle::Alike(caution)) => work.warnings.push(caution),
                Some(TooLittle::Apart(difference)) => work.unequal.push(difference),
                None => {}
            },
            [Some(_), None] | [None, Some(_)] if self.baseline.own.state == self.arm.own.state => {
                let unseen = if cells[0].is_none() { self.names[0] } else { self.names[1] };
                work.warnings.push(Caution::UnseenDevice { arm: Some(unseen.to_string()), reason: None });
            }
            _ => {}
        }
        let unseen = |cell: &Cell| {
            let reading = cell.reading("device_read_bytes", SortedValues::median);
            reading.why().filter(|_| reads_cold(cell)).cloned()
        };
        if let (Some(why), Some(_)) = (unseen(self.baseline), unseen(self.arm)) {
            work.warnings.push(Caution::UnseenDevice { arm: None, reason: Some(why) });
        }
        for (name, seen) in self.names.iter().zip(cells) {
            let amplified = seen.filter(|(device, covered)| *device > AMPLIFICATION * covered);
            work.warnings.extend(amplified.map(|(device_bytes, reached_bytes)| {
                let arm = name.to_string();
                Caution::Amplified { arm, device_bytes, reached_bytes }
            }));
        }
    }

    /// Equal bytes on the device when the pass is over, or no number: a mapping that was never synced must not win against
    /// a write that was.
    fn durable(&self, work: &mut Work) {
        let asked = |cell: &Cell| cell.own.workload.writes() && cell.own.durability != Durability::None;
        if !asked(self.baseline) && !asked(self.arm) {
            return;
        }
        let page_bytes = self.run.page_bytes();
        let on_device = |cell: &Cell| Some((cell.count("disk_write_bytes")?, cell.covered_bytes(page_bytes)?));
        let (a, b) = match [self.baseline, self.arm].map(on_device) {
            [Some(a), Some(b)] => (a, b),
            [None, None] => {
                let reading = self.baseline.reading("disk_write_bytes", SortedValues::median);
                work.warnings.push(Caution::UnseenOnDevice { arm: None, reason: reading.why().cloned() });
                return;
            }
            [seen, _] => {
                let unseen = if seen.is_none() { self.names[0] } else { self.names[1] };
                work.warnings.push(Caution::UnseenOnDevice { arm: Some(unseen.to_string()), reason: None });
                return;
            }
        };
        let arrived = |(device, covered): (f64, f64)| device >= DURABLE_SHARE * covered;
        match (arrived(a), arrived(b)) {
            (true, true) => return,
            (false, false) if (a.0 / a.1 - b.0 / b.1).abs() <= DEVICE_ALIKE => {
                work.warnings.push(Caution::LittleOnDevice { share: (a.0 / a.1).max(b.0 / b.1) });
                return;
            }
            _ => {}
        }
        work.unequal.push(Difference::OnDevice {
            device_bytes: [a.0, b.0],
            covered_bytes: [a.1, b.1],
            flushes: [self.baseline, self.arm].map(|it| it.count("disk_flushes")),
        });
    }

    /// Both arms agree; do they agree with what the experiment says of itself?
    fn as_it_says(&self, work: &mut Work) {
        let (says, own) = (self.baseline.condition, self.baseline.own);
        let median = |count: fn(&Tally) -> u64| self.baseline.median_of(count).unwrap_or(0.0);
        let (bytes, distinct) = (median(|tally| tally.bytes), median(|tally| tally.distinct_bytes));
        let expected = says.pass_bytes();
        // A block less is let pass: of commands none is known, and accesses of a replay are of any length up to one.
        if bytes + (says.block_bytes as f64) < 0.99 * expected {
            let (bytes, asked_bytes) = (bytes as u64, expected as u64);
            work.warnings.push(Caution::LessThanAsked { bytes, asked_bytes });
        }
        if says.workload.is_ascending() || says.trace.is_some() {
            return;
        }
        let window = self.intended_window(says);
        let ops = median(|tally| tally.ops);
        // What is reached is counted as far as it was looked at.
        let looked_at = f64::from(own.consumed_percent) / 100.0;
        let covered = |span: u64| uniform_coverage(span, own.block_bytes, own.aligned, ops).map(|it| looked_at * it);
        let [[reachable, chance], [would, _]] = [own.range.bytes, window].map(covered);
        let uniform = reachable.min(would);
        let (of_file, whole_bytes, would_bytes, reached_bytes) = (window >= says.file_bytes, window, would, distinct);
        if (own.range.bytes as f64) < COVERAGE_SHARE * window as f64 {
            let range_bytes = own.range.bytes;
            let small = Caution::SmallRange { of_file, range_bytes, whole_bytes, would_bytes, reached_bytes };
            work.warnings.push(small);
        } else if distinct < (COVERAGE_SHARE * uniform).min(uniform - BY_CHANCE * chance) {
            work.warnings.push(Caution::NotUniform { of_file, reached_bytes, whole_bytes, would_bytes });
        }
    }

    /// The range that random offsets should cover. An experiment that names a share of the file means the file, and its
    /// reader must see the part beside the whole; one that names a number of bytes, or leaves the window to the
    /// planner, means a working set, and the run reports its size once.
    fn intended_window(&self, says: &Condition) -> u64 {
        let share = match self.run.origin(self.baseline.entry.condition) {
            Some(compare) => compare.range.is_some_and(|range| range.share.is_some()),
            // A record that does not say where its conditions come from.
            None => {
                let written = self.run.record.experiment.comparisons.iter().filter_map(|compare| compare.range);
                written
                    .filter(|range| range.share.is_some())
                    .any(|range| range.of(says.file_bytes, says.block_bytes) == says.range)
            }
        };
        if share || says.range.bytes == 0 { says.file_bytes } else { says.range.bytes }
    }

    fn queue_depth(&self, work: &mut Work) {
        if let (Some(a), Some(b)) = (self.baseline.in_flight(), self.arm.in_flight())
            && a != b
        {
            let arms = self.names.map(str::to_string);
            work.warnings.push(Caution::QueueDepths { arms, depths: [a, b] });
        }
    }
}

/// Whether all that a pass covers must come from the device.
fn reads_cold(cell: &Cell) -> bool {
    cell.own.state == State::Cold && cell.own.reads_what_it_covers()
}

/// Of two arms that were to start cold, one or both read less from the device than they covered.
pub(crate) enum TooLittle {
    Alike(Caution),
    Apart(Difference),
}

/// Of both arms the bytes that came from the device, and those that were covered; and what of the file is allocated.
pub(crate) fn too_little_from_device([a, b]: [(f64, f64); 2], allocated_bytes: Option<[u64; 2]>) -> Option<TooLittle> {
    let share = |(device, covered): (f64, f64)| device / covered;
    let is_short = |(device, covered): (f64, f64)| device < COLD_SHARE * covered;
    match (is_short(a), is_short(b)) {
        (false, false) => None,
        (true, true) if (share(a) - share(b)).abs() <= DEVICE_ALIKE => {
            Some(TooLittle::Alike(Caution::LittleFromDevice { share: share(a).max(share(b)) }))
        }
        _ => {
            let (device_bytes, covered_bytes) = ([a.0, b.0], [a.1, b.1]);
            Some(TooLittle::Apart(Difference::FromDevice { device_bytes, covered_bytes, allocated_bytes }))
        }
    }
}

/// Bytes that `ops` uniform offsets reach at least once, in the mean, slots (1 - (1 - 1/slots)^ops), and their standard deviation:
/// of slots that are left out, those of pairs less those of each. Aligned blocks never reach an end that is shorter than one.
fn uniform_coverage(span: u64, block_bytes: u64, aligned: bool, ops: f64) -> [f64; 2] {
    let block = block_bytes.clamp(1, span.max(1));
    let reachable = if aligned { span - span % block } else { span } as f64;
    let slots = reachable / block as f64;
    if slots <= 1.0 {
        return [reachable, 0.0];
    }
    let left_out = |of: f64| (ops * (-of / slots).max(-1.0).ln_1p()).exp();
    let pairs = (slots - 1.0) * left_out(2.0) - slots * left_out(1.0).powi(2);
    let variance = slots * (pairs + left_out(1.0)).max(0.0);
    [reachable * -(ops * (-1.0 / slots).ln_1p()).exp_m1(), block as f64 * variance.sqrt()]
}

/// What happened during the pass that the state it started from excludes.
fn left_its_state(run: &Run, cell: &Cell) -> Option<Caution> {
    let (arm, state) = (run.name(cell.arm()).to_string(), cell.own.state);
    let covered = cell.covered_bytes(run.page_bytes())?;
    let warm = matches!(cell.own.state, State::Cached | State::Mapped | State::Locked);
    let device = cell.count("device_read_bytes").filter(|_| warm && !cell.arm().is_direct());
    if let Some(bytes) = device.filter(|device| *device > WARM_SHARE * covered) {
        return Some(Caution::ReadFromDevice { arm, state, bytes, share: bytes / covered });
    }
    let opened = cell.passes.iter().filter(|pass| pass.opened).count();
    // Of several files, each is opened and closed within the pass.
    let is_of_several = cell.own.trace.as_ref().is_some_and(Traced::is_of_several);
    if matches!(cell.own.state, State::Cold | State::Cached) && opened < cell.passes.len() && !is_of_several {
        return Some(Caution::HeldOpen { arm, state });
    }
    // After write-back the first store to a page faults again, wherever the page is (do_wp_page): no sign of a lost state.
    let pages = cell.distinct_pages()?;
    let faults = cell.count("minor_faults").filter(|_| cell.own.state.is_held() && !cell.own.workload.writes())?;
    let has_left = faults > MAPPED_FLOOR.max(MAPPED_SHARE * pages);
    has_left.then_some(Caution::PagesFaulted { arm, state, faults, pages })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_offsets_reach_what_probability_says() {
        // 2^20 blocks drawn from 2^20 slots leave 1/e of them untouched.
        let [reached, chance] = uniform_coverage(1 << 32, 4096, true, f64::from(1 << 20));
        assert!((reached / 4_294_967_296.0 - (1.0 - (-1f64).exp())).abs() < 1e-6);
        assert!(chance < 1e-3 * reached, "{chance}");
        assert_eq!(uniform_coverage(4096, 4096, true, 1.0), [4096.0, 0.0]);
        assert_eq!(uniform_coverage(4096, 8192, true, 1.0), [4096.0, 0.0], "a block is cut to its range");
        assert_eq!(uniform_coverage(0, 0, true, 5.0)[0], 0.0);
        assert_eq!([true, false].map(|aligned| uniform_coverage(7, 2, aligned, 1e9)), [[6.0, 0.0], [7.0, 0.0]]);
        // Of 5^5 ways to draw five of five, by hand: 3.36 in the mean, with a variance of 0.509.
        let [reached, chance] = uniform_coverage(5, 1, true, 5.0);
        assert!((reached - 3.3616).abs() < 1e-9 && (chance.powi(2) - 0.509_308_0).abs() < 1e-3, "{reached} {chance}");
    }
}
