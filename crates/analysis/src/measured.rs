//! A record, sorted by cell: what the rest of this crate looks at. Parts of a record that refer to nothing (a sample of
//! a cell that is not there) are left out; nothing in here panics on a damaged one.

use std::{cell::OnceCell, collections::BTreeMap, fmt::Debug};

use schema::{
    Arm, Beside, CellId, Condition, Descriptor, Durability, Labels, Names, Reading, Record, State, Workload,
    beats::Beats,
    experiment::{Compare, DIVIDING_TICKS},
    findings::{NoiseFloor, StateNoise},
    protocol::Tally,
    reason::{Reason, Unseen},
    record::{self, Outcome, Resident},
    runtime::JVM,
};

use crate::stats::{self, SortedValues};

/// The kernel splits user and system time by sampling at every tick: 250 a second on most kernels, for records that do
/// not say how often.
const TICK_NS: f64 = 4e6;

/// So many ticks fall with a deviation of a fifth of their number.
const TOLD_TICKS: f64 = 25.0;

/// What a JVM's worker reads of its threads is in hundredths of a second (proc(5): clock ticks, of which there are 100).
const JVM_TICK_NS: f64 = 1e7;

/// What is read so many times as fast as the ceiling shows that it is none.
const CEILING_MOST: f64 = 1.1;

/// The ceiling of random reads is of requests of this size.
const RANDOM_BYTES: u64 = 4096;

/// What decides how noisy a condition is: its state, when it is synced, and whether its storage is throttled.
pub(crate) type NoiseKind = (State, Durability, bool, Beside);

pub(crate) struct Run<'a> {
    pub(crate) record: &'a Record,
    pub(crate) cells: Vec<Cell<'a>>,
    pub(crate) names: Names,
    pub(crate) labels: Labels,
    /// Worked out once, by `compare::noise`.
    pub(crate) floors: OnceCell<Vec<StateNoise>>,
    pub(crate) floors_by_kind: OnceCell<Vec<(NoiseKind, NoiseFloor)>>,
    /// Worked out once, by `above_ceiling`.
    pub(crate) above_ceiling: OnceCell<BTreeMap<usize, f64>>,
}

/// One arm under one condition, with its passes in the order of their rounds.
pub(crate) struct Cell<'a> {
    pub(crate) id: CellId,
    pub(crate) entry: &'a record::Cell,
    /// What its arm is compared under.
    pub(crate) condition: &'a Condition,
    /// What its arm does in fact.
    pub(crate) own: &'a Condition,
    pub(crate) passes: Vec<Pass<'a>>,
    /// The grain of its user and system times.
    pub(crate) tick_ns: f64,
    /// Reasons of passes that did not count.
    pub(crate) invalid: Vec<String>,
    pub(crate) failed: Vec<&'a str>,
}

/// A valid pass.
pub(crate) struct Pass<'a> {
    pub(crate) round: u32,
    order: u32,
    /// Where its window began, if it is one of those that move.
    pub(crate) window_offset: Option<u64>,
    pub(crate) ns: f64,
    /// The file was opened and closed within the pass, and both were timed.
    pub(crate) opened: bool,
    pub(crate) tally: &'a Tally,
    pub(crate) resident_before: Option<Resident>,
    readings: &'a BTreeMap<String, Reading<f64>>,
    pub(crate) beats: Option<&'a Beats>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(record: &'a Record) -> Run<'a> {
        Run::of(record, |_| true)
    }

    /// As far as some cells go.
    pub(crate) fn of(record: &'a Record, wanted: impl Fn(&record::Cell) -> bool) -> Run<'a> {
        // Passes are sorted by their cells at once: to look for those of each cell among all takes cells times passes.
        let mut passes: Vec<Option<Vec<&record::Sample>>> =
            record.cells.iter().map(|entry| wanted(entry).then(Vec::new)).collect();
        for sample in &record.samples {
            if let Some(Some(of_cell)) = passes.get_mut(sample.cell) {
                of_cell.push(sample);
            }
        }
        let cells = record.cells.iter().zip(passes).enumerate().filter_map(|(index, (entry, passes))| {
            let condition = record.conditions.get(entry.condition)?;
            Some(Cell::with(record, index, entry, condition, passes?.into_iter()))
        });
        Run {
            record,
            cells: cells.collect(),
            names: Names::of(record),
            labels: Labels::of(record),
            floors: OnceCell::new(),
            floors_by_kind: OnceCell::new(),
            above_ceiling: OnceCell::new(),
        }
    }

    /// What an arm is called in sentences.
    pub(crate) fn name(&self, arm: &'a Arm) -> &'a str {
        self.names.short(&arm.name)
    }

    /// What a cell did, by its index: its condition, of which no two of a run read the same, and what its arm has instead.
    pub(crate) fn label(&self, cell: usize) -> String {
        self.labels.of_cell(self.record, cell)
    }

    /// The cells of a condition, by its index.
    pub(crate) fn of_condition(&self, condition: usize) -> impl Iterator<Item = &Cell<'a>> {
        self.cells.iter().filter(move |cell| cell.entry.condition == condition)
    }

    pub(crate) fn baseline(&self, condition: usize) -> Option<&Cell<'a>> {
        self.of_condition(condition).find(|cell| cell.entry.baseline && !cell.entry.control)
    }

    /// The comparison of the experiment that a condition comes from.
    pub(crate) fn origin(&self, condition: usize) -> Option<&'a Compare> {
        self.record.origin(condition)
    }

    pub(crate) fn page_bytes(&self) -> u64 {
        self.record.environment.page_bytes.max(1)
    }

    /// The cells that read much faster than the device's ceiling for such reads, and how many times as fast. One that is
    /// throttled has a ceiling of its own.
    pub(crate) fn above_ceiling(&self) -> &BTreeMap<usize, f64> {
        self.above_ceiling.get_or_init(|| {
            let unthrottled = self.cells.iter().filter(|it| it.own.storage.is_none());
            let reached = unthrottled.filter_map(|it| Some((it.id.cell, it.reached_of_ceiling(self)?)));
            reached.filter(|it| it.1 > CEILING_MOST).collect()
        })
    }

    /// How many times the ceiling for such reads was reached, and by which cell, where that shows that it was measured too low,
    /// as beside a cache of the host: nothing is a share of it. Dense random reads through the page cache show nothing, because
    /// they come by read-ahead, at the rate of a scan.
    pub(crate) fn low_ceiling(&self, workload: Workload) -> Option<(f64, &Cell<'a>)> {
        let shows = |it: &&Cell| it.own.workload == workload && (workload == Workload::Scan || it.arm().is_direct());
        self.cells
            .iter()
            .filter(shows)
            .filter_map(|it| Some((*self.above_ceiling().get(&it.id.cell)?, it)))
            .max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

impl<'a> Cell<'a> {
    /// The user and system times of its first thread are each cut to whole ticks, and so is their sum. Elsewhere the sum comes from the scheduler's
    /// clock, and only where it is cut in two, ticks decide.
    pub(crate) fn counts_ticks(&self) -> bool {
        self.arm().runtime == JVM.name
    }

    /// Why it is not known how its CPU time divides into user and system time. The kernel divides it as the ticks of its timer
    /// fell, and gives all of a time without a tick to user time (kernel/sched/cputime.c, cputime_adjust): of preads that
    /// spent three quarters of their time in the kernel, processes of 1.2, 4.7, 14 and 42 ms had 12, 42, 69 and 76 % there.
    /// More passes do not help. The thread of a JVM that makes the passes has had ticks before them. Further ones begin with
    /// the pass, and the time of each is divided by its own.
    pub(crate) fn why_undivided(&self) -> Option<Unseen> {
        let cpu_ns = self.cpu_ns()?;
        let threads = match (self.counts_ticks(), self.own.threads) {
            (false, _) => 1,
            (true, 1) => return None,
            (true, several) => several,
        };
        let is_short = cpu_ns < DIVIDING_TICKS * self.tick_ns * f64::from(threads);
        is_short.then_some(Unseen::FewTicks { cpu_ns: cpu_ns as u64, tick_ns: self.tick_ns as u64, threads })
    }

    /// Why neither is shown: that, or all passes of a JVM have so few ticks that their mean is mostly chance.
    pub(crate) fn why_no_parts(&self) -> Option<Unseen> {
        let cpu_ns = self.cpu_ns()?;
        let ticks = cpu_ns * self.passes.len() as f64 / self.tick_ns;
        let few = || {
            let (cpu_ns, tick_ns) = (cpu_ns as u64, self.tick_ns as u64);
            (self.counts_ticks() && ticks < TOLD_TICKS).then_some(Unseen::FewTicks { cpu_ns, tick_ns, threads: 1 })
        };
        self.why_undivided().or_else(few)
    }

    /// User and system time of a pass together, in the mean.
    pub(crate) fn cpu_ns(&self) -> Option<f64> {
        Some(SortedValues::new(self.passes.iter().filter_map(Pass::cpu_ns).collect())?.mean())
    }

    /// Processors at work, in the pass in the middle.
    pub(crate) fn busy(&self) -> Option<f64> {
        let busy = |pass: &Pass| Some(pass.cpu_ns()? / pass.ns).filter(|_| pass.ns > 0.0);
        Some(SortedValues::new(self.passes.iter().filter_map(busy).collect())?.median())
    }

    /// A part of its CPU time per block.
    pub(crate) fn part_of_cpu_per_op(&self, name: &str) -> Reading<f64, Reason> {
        match self.why_no_parts() {
            Some(why) => Reading::unavailable(why),
            None => self.reading_per_op(name, SortedValues::mean),
        }
    }

    /// Why it is not so that each page that it reached came by one fault.
    pub(crate) fn why_no_faults_of_pages(&self) -> Option<Unseen> {
        let Condition { threads, descriptor, workload, state, .. } = *self.own;
        // Of a command it is not known how it reads.
        let maps = self.own.is_of_commands() || self.arm().maps();
        let timed = self.timed_arm();
        // A mapping is filled as a whole, whatever part of it a thread reads.
        let is_filled = timed.maps_all_first();
        // Threads of a scan have a part of the range each.
        let overlap = threads > 1 && descriptor == Descriptor::PerThread && (is_filled || !workload.is_ascending());
        let why = [
            (!maps, Unseen::MapsNothing),
            (workload.writes(), Unseen::StoresFault),
            (state.is_held() && !self.own.is_of_commands(), Unseen::MappedBefore),
            (overlap, Unseen::MappingsOfThreads),
            // The mapping is there since the passes before.
            (state == State::Limited && !self.own.is_of_commands(), Unseen::FaultedAgain),
        ];
        why.into_iter().find_map(|(is_so, why)| is_so.then_some(why))
    }

    /// A single one. `Run::of` has all cells of a run in less time.
    pub(crate) fn new(record: &'a Record, index: usize, entry: &'a record::Cell, condition: &'a Condition) -> Cell<'a> {
        let samples = record.samples.iter().filter(|sample| sample.cell == index);
        Cell::with(record, index, entry, condition, samples)
    }

    /// Of its samples, in the order of the record.
    fn with(
        record: &'a Record,
        index: usize,
        entry: &'a record::Cell,
        condition: &'a Condition,
        samples: impl Iterator<Item = &'a record::Sample>,
    ) -> Cell<'a> {
        let own = entry.own_condition.as_ref().unwrap_or(condition);
        let id = CellId { condition: record.condition_id(entry.condition), cell: index };
        let mut cell = Cell {
            id,
            entry,
            condition,
            own,
            passes: Vec::new(),
            tick_ns: tick_ns(record, &entry.arm),
            invalid: Vec::new(),
            failed: Vec::new(),
        };
        for sample in samples {
            match &sample.outcome {
                Outcome::Ok { phases, tally } => cell.passes.push(Pass {
                    round: sample.round,
                    order: sample.order,
                    window_offset: sample.window_offset,
                    ns: phases.total_ns() as f64,
                    opened: phases.open_ns.is_some(),
                    tally,
                    resident_before: sample.resident_before.value().copied(),
                    readings: &sample.readings,
                    beats: sample.beats.as_deref(),
                }),
                Outcome::Invalid { reason } => cell.invalid.push(reason.to_string()),
                Outcome::Failed { reason } => cell.failed.push(reason),
            }
        }
        cell.passes.sort_by(|a, b| (a.round, a.order).cmp(&(b.round, b.order)).then(a.ns.total_cmp(&b.ns)));
        cell
    }

    pub(crate) fn arm(&self) -> &'a Arm {
        &self.entry.arm
    }

    /// With the options that are a part of its passes.
    pub(crate) fn timed_arm(&self) -> Arm {
        self.arm().at_work(self.own.state)
    }

    /// Whether time is all that its passes lacked.
    pub(crate) fn lacked_time(&self) -> bool {
        self.entry.skipped.as_ref().is_some_and(schema::Skip::is_for_want_of_time)
    }

    /// Passes of the same rounds, each round once.
    pub(crate) fn pairs<'b>(&'b self, other: &'b Cell<'a>) -> Vec<(&'b Pass<'a>, &'b Pass<'a>)> {
        let by_round: BTreeMap<u32, &Pass> = other.passes.iter().rev().map(|pass| (pass.round, pass)).collect();
        let own: BTreeMap<u32, &Pass> = self.passes.iter().rev().map(|pass| (pass.round, pass)).collect();
        own.into_iter().filter_map(|(round, pass)| Some((pass, *by_round.get(&round)?))).collect()
    }

    /// The middle value of something counted once per pass.
    pub(crate) fn median_of(&self, count: impl Fn(&Tally) -> u64) -> Option<f64> {
        let values = self.passes.iter().map(|pass| count(pass.tally) as f64).collect();
        SortedValues::new(values).map(|sample| sample.median())
    }

    /// What a probe saw in each pass, as one number; or the reason most passes give for having none.
    pub(crate) fn reading(&self, name: &str, of_sample: impl Fn(&SortedValues) -> f64) -> Reading<f64, Reason> {
        self.derived(name, |_, value| Some(value), of_sample)
    }

    /// As `reading`, with each pass's value divided by its blocks first.
    pub(crate) fn reading_per_op(&self, name: &str, of_sample: impl Fn(&SortedValues) -> f64) -> Reading<f64, Reason> {
        let per_op = |pass: &Pass, value: f64| (pass.tally.ops > 0).then(|| value / pass.tally.ops as f64);
        self.derived(name, per_op, of_sample)
    }

    /// The median of a reading over the passes that have it.
    pub(crate) fn count(&self, name: &str) -> Option<f64> {
        self.reading(name, SortedValues::median).value().copied()
    }

    fn derived(
        &self,
        name: &str,
        derive: impl Fn(&Pass, f64) -> Option<f64>,
        of_sample: impl Fn(&SortedValues) -> f64,
    ) -> Reading<f64, Reason> {
        let readings = || self.passes.iter().filter_map(|pass| Some((pass, pass.readings.get(name)?)));
        let values = readings()
            .filter_map(|(pass, reading)| derive(pass, *reading.value()?))
            .filter(|value| value.is_finite())
            .collect();
        match SortedValues::new(values).map(|sample| of_sample(&sample)).filter(|value| value.is_finite()) {
            Some(value) => Reading::Value(value),
            None => Reading::unavailable(match most_frequent(readings().filter_map(|(_, it)| it.reason())) {
                Some((reason, _)) => reason.into(),
                None if self.passes.is_empty() => Reason::from(Unseen::NoValidPass),
                None => Unseen::NotObserved.into(),
            }),
        }
    }

    /// The least that has to be moved for what a pass reaches, in the middle of the passes: whole pages where it is read
    /// through the page cache, otherwise its bytes. In records that lack the pages also its bytes, which is less.
    pub(crate) fn covered_bytes(&self, page_bytes: u64) -> Option<f64> {
        self.median_of(|tally| self.covered(tally, page_bytes)).filter(|&bytes| bytes > 0.0)
    }

    /// The same of one pass.
    pub(crate) fn covered(&self, tally: &Tally, page_bytes: u64) -> u64 {
        let by_pages = !self.own.workload.writes();
        match tally.distinct_pages.filter(|_| by_pages) {
            // Around the page cache only the sectors of the last block are read.
            _ if self.arm().is_direct() => self.brought(tally),
            pages => {
                let whole = self.brought(tally).div_ceil(page_bytes);
                whole.max(pages.unwrap_or(0)).saturating_mul(page_bytes)
            }
        }
    }

    /// Bytes of the file that a pass reached, each once, in the middle of the passes.
    pub(crate) fn distinct_bytes(&self) -> Option<f64> {
        self.median_of(|tally| self.brought(tally)).filter(|&bytes| bytes > 0.0)
    }

    /// With bytes that were looked at, those that came with them: a call brings whole blocks, a mapping in place the part that
    /// is looked at.
    fn brought(&self, tally: &Tally) -> u64 {
        self.brought_of(tally.distinct_bytes, tally.distinct_block_bytes)
    }

    /// The same of what was looked at, each byte once, and of the blocks that it is a part of. Records of older versions do not
    /// say the latter; there blocks that overlap count too much.
    pub(crate) fn brought_of(&self, looked_at: u64, blocks: Option<u64>) -> u64 {
        match blocks {
            _ if self.arm().is_in_place() => looked_at,
            Some(blocks) => blocks,
            None => looked_at.saturating_mul(100) / u64::from(self.own.consumed_percent.max(1)),
        }
    }

    /// Pages of the file that a pass reached, each once, in the middle of the passes that counted them.
    pub(crate) fn distinct_pages(&self) -> Option<f64> {
        let pages = self.passes.iter().filter_map(|pass| Some(pass.tally.distinct_pages? as f64)).collect();
        SortedValues::new(pages).map(|sample| sample.median()).filter(|&pages| pages > 0.0)
    }

    /// Of one thread.
    pub(crate) fn queue_depth(&self) -> Option<u32> {
        self.passes.first().map(|pass| pass.tally.queue_depth)
    }

    /// Reads, of all threads together.
    pub(crate) fn in_flight(&self) -> Option<u32> {
        self.passes.first().map(|pass| pass.tally.in_flight())
    }

    /// The share of its ceiling that cold passes reached; `None` where nothing came from the device or the ceiling was
    /// measured with another kind of request.
    pub(crate) fn reached_of_ceiling(&self, run: &Run) -> Option<f64> {
        let shares = self.passes.iter().map(|pass| self.pass_of_ceiling(run, pass));
        // The median as that of the throughput beside it.
        stats::median_of_positive(shares.collect::<Option<Vec<f64>>>()?).map(|it| it.median)
    }

    /// What a program that divides the file's size by its time takes for the size: all that was lent, looked at or not. The
    /// tally counts what was looked at.
    pub(crate) fn lent_bytes(&self, pass: &Pass) -> f64 {
        match self.own.consumed_percent {
            100 => pass.tally.bytes as f64,
            _ => self.own.bytes_of(pass.tally.ops),
        }
    }

    pub(crate) fn pass_of_ceiling(&self, run: &Run, pass: &Pass) -> Option<f64> {
        let ceiling = run.record.ceiling.value();
        let throttle = self.own.storage;
        let allowed_bytes = throttle.and_then(|it| it.read_bytes_per_s).map(|it| it as f64);
        let allowed_ops = throttle.and_then(|it| it.read_ops_per_s).map(|it| it as f64);
        let least = |limits: [Option<f64>; 3]| limits.into_iter().flatten().reduce(f64::min);
        // How large the requests of a scan are is not known, nor what a limit on their number leaves of its rate.
        let bytes_per_s = || match allowed_ops {
            Some(_) => None,
            None => least([ceiling.map(|it| it.bytes_per_s), allowed_bytes, None]),
        };
        let ops_per_s = || {
            let device = ceiling.and_then(|it| it.random_ops_per_s.value().copied());
            least([device, allowed_ops, allowed_bytes.map(|it| it / RANDOM_BYTES as f64)])
        };
        if self.own.state != State::Cold || self.count("device_read_bytes")? <= 0.0 {
            return None;
        }
        // What came from elsewhere (a hole, a compressed block, the cache after the first time around) is no work of the
        // device. Through the page cache a place is read once, however often it is reached; and where much more comes than
        // was reached, requests are not of one page.
        let bytes = || Some(self.lent_bytes(pass).min(pass.reading("device_read_bytes")?));
        let requests = || {
            let requests = pass.reading("device_read_bytes")? / RANDOM_BYTES as f64;
            let ops = pass.tally.ops as f64;
            match (self.arm().is_direct(), pass.tally.distinct_pages) {
                (true, _) => Some(ops.min(requests)),
                // Through the page cache a whole page comes.
                (false, _) if run.page_bytes() != RANDOM_BYTES => None,
                // A call for parts of two pages asks for both at once. Such requests are fewer than the pages, and larger
                // than those of the ceiling: no number of them is a share of it. A mapping has a fault for each page.
                (false, _) if !self.arm().maps() && self.own.lies_across_pages(RANDOM_BYTES) => None,
                (false, Some(reached)) => (requests <= 1.5 * reached as f64).then_some(requests.min(reached as f64)),
                (false, None) => Some(ops.min(requests)),
            }
        };
        let (done, most_per_s) = match self.own.workload {
            Workload::Scan => (bytes()?, bytes_per_s()?),
            Workload::Random if self.own.block_bytes == RANDOM_BYTES => (requests()?, ops_per_s()?),
            _ => return None,
        };
        let share = done * 1e9 / pass.ns / most_per_s;
        share.is_finite().then_some(share)
    }
}

impl Pass<'_> {
    /// What a probe saw in this pass; `None` also for what cannot be a time or a count.
    pub(crate) fn reading(&self, name: &str) -> Option<f64> {
        self.readings.get(name)?.value().copied().filter(|value| value.is_finite() && *value >= 0.0)
    }

    /// User and system time.
    pub(crate) fn cpu_ns(&self) -> Option<f64> {
        Some(self.reading("user_ns")? + self.reading("system_ns")?)
    }

    /// `None` for a pass without work, or too short for its clock.
    pub(crate) fn ns_per_op(&self) -> Option<f64> {
        (self.ns > 0.0 && self.tally.ops > 0).then(|| self.ns / self.tally.ops as f64)
    }
}

fn tick_ns(record: &Record, arm: &Arm) -> f64 {
    let kernel = record.environment.tick_ns.value().map_or(TICK_NS, |&ns| ns.max(1) as f64);
    if arm.runtime == JVM.name { kernel.max(JVM_TICK_NS) } else { kernel }
}

/// The most frequent one (of equally frequent ones the first in the order of their texts, whatever order they are seen in), and
/// how often it occurs.
pub(crate) fn most_frequent<'a, T: PartialEq + Debug + ?Sized>(
    reasons: impl Iterator<Item = &'a T>,
) -> Option<(&'a T, usize)> {
    let mut counts: Vec<(&T, usize)> = Vec::new();
    for reason in reasons {
        match counts.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => counts.push((reason, 1)),
        }
    }
    let most = counts.iter().map(|it| it.1).max()?;
    counts.into_iter().filter(|it| it.1 == most).min_by_key(|it| format!("{:?}", it.0))
}

#[cfg(test)]
mod tests {
    use planted::Planting;

    use super::*;

    #[test]
    fn the_cells_of_a_run_have_the_passes_that_each_of_them_has_alone() {
        let mut record = Planting { rounds: 3, ..Planting::default() }.plant().record;
        // As passes are made: those of a cell lie apart.
        record.samples.sort_by_key(|it| (it.round, it.cell));
        let stray = record::Sample { cell: record.cells.len(), ..record.samples[0].clone() };
        record.samples.push(stray);
        let seen = |cell: &Cell| {
            let rounds: Vec<u32> = cell.passes.iter().map(|it| it.round).collect();
            (cell.id.cell, rounds, cell.invalid.len(), cell.failed.len())
        };
        let alone = |at: usize| {
            let entry = &record.cells[at];
            seen(&Cell::new(&record, at, entry, &record.conditions[entry.condition]))
        };
        let run = Run::new(&record);
        let of_run: Vec<_> = run.cells.iter().map(seen).collect();
        assert_eq!(of_run, (0..record.cells.len()).map(alone).collect::<Vec<_>>());
        let passes: usize = of_run.iter().map(|(_, rounds, invalid, failed)| rounds.len() + invalid + failed).sum();
        assert_eq!(passes, record.samples.len() - 1, "one is of no cell");
        let some = Run::of(&record, |it| it.condition == 1);
        assert!(!some.cells.is_empty());
        assert!(some.cells.iter().map(seen).eq(run.of_condition(1).map(seen)));
    }
}
