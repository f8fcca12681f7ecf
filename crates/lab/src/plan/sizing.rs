//! How much of the file a pass covers, so that every arm of a condition does the same work and all rounds fit into the
//! time there is. Pure: trials in, numbers out.
//!
//! A pass must be long enough to be meaningful (a scan of a few pages measures the processor's caches, not the page
//! cache) and short enough to be repeated. An arm so slow that a pass of the least useful size does not fit is left
//! out, with what its trial showed; all other arms would have to shrink to its size otherwise.

use std::time::Duration;

use schema::{
    Beside, Condition, Consume, Durability, Skip, State, Workload, condition::WINDOWS_LEAST, experiment::DIVIDING_TICKS,
};

/// Rounds the budget is shared out for. More are made while there is time and the intervals are not precise; on a
/// machine that gets busier after the trials fewer, and there should be some to lose.
pub const ROUNDS_WANTED: u32 = 14;
/// Fewer rounds than this do not give a 95 % interval: with six pairs the exact signed-rank interval first has one.
pub const ROUNDS_MIN: u32 = 6;
/// With claims: fewer are decided by too few.
pub const ROUNDS_OF_CLAIMS: u32 = 8;

/// The fastest arm's pass takes 2 ms at least: what starts and stops the clock, an interrupt or a change of the processor's
/// frequency is then a small part of it. It is planned for more than that, because passes are faster than their trial; most
/// of all where the few blocks of a trial wait for a device.
const PASS_LEAST_NS: f64 = 4e6;
/// So many times shorter where the fewest rounds would not fit otherwise.
const SHORTER_MOST: f64 = 8.0;
const COLD_PASS_LEAST_NS: f64 = 6e6;
/// The whole job may be shorter, down to this: the clock takes a thousandth of it, and there are more rounds of it.
const JOB_LEAST_NS: f64 = 5e4;

/// What a round of the whole job may take more than one of a part of it, in any budget.
const LITTLE_MORE: f64 = 1.25;

/// An arm whose pass takes up to this many times as long as the baseline's has rounds in any budget.
const SLOWER_MOST: f64 = 8.0;

/// A short pass that measures how long a pass takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    pub cell: usize,
    pub ops: u64,
    /// A pass of its cell has no more: blocks of its own may be larger than those of the condition.
    pub most_ops: u64,
    /// So many blocks of a pass take as long as this one (`worth_ops`).
    pub worth_ops: f64,
    /// Open, work and close.
    pub elapsed_ns: f64,
    /// What else the pass took: starting the worker, reaching and verifying the state.
    pub overhead_ns: f64,
    /// The same that each block takes: a file that is written is made before the pass, and read back after it.
    pub around_op_ns: f64,
    /// The work is done once more before the clock starts (states that hold the file).
    pub doubled: bool,
    /// For the device, or may have to.
    pub waits: bool,
    /// User and system time together.
    pub cpu_ns: f64,
    /// What the device takes for all of the range, or the faults of a mapping in memory, where other random reads find what was
    /// brought in, or mapped. Infinite where that is not so.
    pub whole_range_ns: f64,
    /// More than a read takes of pages that are there, what looks at its bytes included.
    pub found_ns: f64,
    /// Random reads through a mapping of pages in memory, or of those that are found: the more a pass makes, the less each of
    /// them takes, because fewer of them fault, or because populating is done once.
    pub maps_in_memory: bool,
}

/// Of what all accesses take, if each takes as long as those of a trial: what the device takes for all that they bring in.
const ALIKE: f64 = 0.8;

/// More than a random read takes of a page in the page cache.
const FOUND_NS: f64 = 5000.0;
/// The same of each further page of it. In passes that brought in their pages themselves 0.8 µs were seen.
const FOUND_PAGE_NS: f64 = 1500.0;

/// `Trial::found_ns`, of `ops` reads of so many bytes that took so much time and brought in so many bytes together. The time is
/// that of the processor where some of them waited for the device. What looks at the bytes may take longer than their read: a
/// loop of Python takes 14 ms for 1 MiB.
pub fn found_ns(block_bytes: u64, ops: u64, spent_ns: f64, brought_bytes: f64) -> f64 {
    let page = sys::page_bytes();
    let read_ns = FOUND_NS + block_bytes.div_ceil(page).saturating_sub(1) as f64 * FOUND_PAGE_NS;
    read_ns.max((spent_ns - brought_bytes / page as f64 * FOUND_PAGE_NS) / ops.max(1) as f64)
}

/// Of random reads through a mapping of pages that are in memory: how many faults map all that can be read, by the faults of a pass
/// of so many reads. A fault maps what lies around it as well (mm/filemap.c, `filemap_map_pages`), so that the more a pass makes,
/// the fewer of its reads fault. No more than there are pages.
pub fn fault_units(ops: f64, faults: f64, pages: u64) -> f64 {
    let (mut low, mut high) = (faults.max(1.0), (pages as f64).max(faults).max(1.0));
    for _ in 0..64 {
        let middle = low.midpoint(high);
        if faults_of(ops, middle) < faults { low = middle } else { high = middle }
    }
    high
}

/// The faults of so many random reads where each maps one of so many parts, which faults once.
pub fn faults_of(ops: f64, units: f64) -> f64 {
    units * (1.0 - (-ops / units).exp())
}

/// More than a random read of pages that are mapped already takes natively, the look at its bytes included.
pub fn hit_ns(condition: &Condition) -> f64 {
    const HIT_NS: f64 = 100.0;
    let byte_ns = match condition.consume {
        Consume::Touch | Consume::Sum | Consume::Copy => 0.3,
        // A byte at a time, or a string for each line.
        Consume::Lines | Consume::SumBytes | Consume::DecodeLines => 3.0,
    };
    HIT_NS + condition.block_bytes as f64 * byte_ns
}

impl Trial {
    fn ns_per_op(&self) -> f64 {
        self.elapsed_ns / self.worth_ops.max(f64::MIN_POSITIVE)
    }

    /// By a trial and one of more blocks: what a pass takes around it, and how much of that grows with its blocks.
    #[must_use]
    pub fn with_longer(self, longer: Trial) -> Trial {
        // A file may have no more blocks.
        let more = longer.ops.saturating_sub(self.ops) as f64;
        if more == 0.0 {
            return self;
        }
        let around_op_ns = ((longer.overhead_ns - self.overhead_ns) / more).max(0.0);
        let overhead_ns = (longer.overhead_ns - around_op_ns * longer.ops as f64).max(0.0);
        Trial { around_op_ns: around_op_ns + longer.around_op_ns, overhead_ns, ..longer }
    }

    /// Passes of as many blocks before the clock starts took so much of what the pass took around its work.
    #[must_use]
    pub fn with_warm_passes(self, warm_ns: f64) -> Trial {
        let warm_ns = warm_ns.min(self.overhead_ns);
        let around_op_ns = self.around_op_ns + warm_ns / self.worth_ops.max(f64::MIN_POSITIVE);
        Trial { around_op_ns, overhead_ns: self.overhead_ns - warm_ns, ..self }
    }

    /// Which of two trials of a cell to go by. What disturbs a trial makes it longer, and the first blocks pay for what
    /// the others use; so the one by which a useful pass takes less.
    pub fn or_faster(self, other: Trial, useful: u64) -> Trial {
        if other.pass_ns(useful as f64) < self.pass_ns(useful as f64) { other } else { self }
    }

    /// Expected time of a pass, all in all.
    pub fn pass_time(&self, ops: u64) -> Duration {
        Duration::from_nanos(self.pass_ns(ops as f64) as u64)
    }

    /// As `pass_time`, in nanoseconds.
    fn pass_ns(&self, ops: f64) -> f64 {
        let ops = ops.min(self.most_ops as f64);
        self.around_ns(ops) + self.work_ns(ops) * if self.doubled { 2.0 } else { 1.0 }
    }

    /// Each of its accesses waits for the device, and brings in nothing that others find: those of a pass take as long as these.
    pub fn is_alike(&self, ops: u64) -> bool {
        self.waits && self.whole_range_ns >= ALIKE * ops as f64 * self.ns_per_op()
    }

    /// Expected time of the timed part, in nanoseconds.
    pub fn work_ns(&self, ops: f64) -> f64 {
        (ops * self.ns_per_op()).min(self.whole_range_ns + ops * self.found_ns)
    }

    /// Of `pass_ns`, what is no work.
    fn around_ns(&self, ops: f64) -> f64 {
        self.overhead_ns + ops * self.around_op_ns
    }
}

/// So many blocks of a pass take as long as the first `ops`, of `bytes` together. Blocks are alike. Accesses of a replay are
/// not: its first one may be as long as all others together. So each counts for its bytes, and for as many more as an access
/// costs beside them, and the result is in accesses of the trace in the mean. `waits`: they wait for the device; `window` is how
/// much it reads ahead.
pub fn worth_ops(condition: &Condition, ops: u64, bytes: u64, waits: bool, window: u64) -> f64 {
    let Some(trace) = condition.trace.as_ref().filter(|it| ops < it.accesses) else { return ops as f64 };
    // In memory a call, or a fault, takes about as long as copying a page; a request to the device about as long as what is
    // read ahead with it.
    let page = sys::page_bytes();
    let beside = if waits { window.max(page) } else { page };
    let cost = |accesses: u64, bytes: u64| accesses as f64 * beside as f64 + bytes as f64;
    trace.accesses as f64 * cost(ops, bytes) / cost(trace.accesses, trace.bytes)
}

/// How a condition is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizing {
    pub ops: u64,
    /// Cells left out, and why.
    pub too_slow: Vec<(usize, Skip)>,
    /// Expected time of one round.
    pub round_ns: f64,
}

/// A condition's part of the budget, and the number of rounds that was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    pub share: Share,
    pub rounds: Option<u32>,
    /// The range was named: a pass covers all of it where the fewest rounds of claims fit.
    pub whole: bool,
}

/// Chooses the blocks per pass of one condition from trials of its arms. `baseline` names the cells that are never left
/// out; `window` is how much the device reads ahead; `claimed` is what the claims about user or system time need, for
/// which passes are longer as far as there is room for the fewest rounds.
pub fn size(
    condition: &Condition,
    trials: &[Trial],
    Room { share, rounds, whole }: Room,
    baseline: &[usize],
    window: u64,
    claimed: Option<ClaimedCpu>,
) -> Sizing {
    let (floor, cap) = useful(condition, trials, window, claimed);
    let share_ns = share.ns;
    // A pass may take so long that the fewest rounds of this arm alone eat half of the condition's share. The baseline is
    // measured however long it takes, and then so is what loses to it by no more than people ask about.
    let of_baseline = baseline_ns(trials, baseline, floor);
    let by_share_ns = share_ns / 2.0 / f64::from(ROUNDS_MIN);
    // Rounds that were asked for by number are all there is: no time is kept for more of them.
    let of_asked = rounds.map(|it| longest_in_round_ns(trials, floor, share_ns / f64::from(it.max(1))));
    let longest_ns = of_asked.unwrap_or(by_share_ns).max(SLOWER_MOST * of_baseline.unwrap_or(0.0));
    let (fitting, slow): (Vec<&Trial>, Vec<&Trial>) =
        trials.iter().partition(|trial| trial.pass_ns(floor as f64) <= longest_ns.max(2.0 * trial.overhead_ns));
    let overhead_ns: f64 = fitting.iter().map(|trial| trial.overhead_ns).sum();
    // What they take in a useful pass: first blocks may bring in what the others find.
    let least_ops = floor.max(1) as f64;
    let ns_per_op: f64 = fitting.iter().map(|trial| (trial.pass_ns(least_ops) - trial.overhead_ns) / least_ops).sum();
    let maps_in_memory = fitting.iter().any(|it| it.maps_in_memory);
    let with_rounds = |rounds: u32| match ns_per_op > 0.0 {
        true if maps_in_memory => most_ops(&fitting, share_ns / f64::from(rounds), cap),
        true => (share_ns / f64::from(rounds) - overhead_ns).max(0.0) / ns_per_op,
        false => cap as f64,
    };
    // More may be asked for.
    let or_asked = |usual: u32| rounds.map_or(usual, |it| it.max(usual));
    let claimed = claimed.map_or(0.0, |it| it.ops(&fitting).min(with_rounds(or_asked(ROUNDS_OF_CLAIMS))));
    // Shorter passes decide more than fewer rounds.
    let least = floor.min((with_rounds(or_asked(ROUNDS_MIN)) as u64).max(shortest(condition, trials, window)));
    // Where the answer depends on the number of reads, fewer rounds of more of the job say more than many of a part.
    let most = with_rounds(or_asked(ROUNDS_OF_CLAIMS));
    // What a store through a mapping takes depends on what was read before: the first folios are smaller than the others.
    // And what goes on at the start of a cold scan is a part of it.
    let is_to_be_whole =
        condition.writes_over() || condition.is_cold_scan() || whole && condition.workload.is_ascending();
    let job = (condition.job_blocks(condition.range.bytes, sys::page_bytes()).min(cap)) as f64;
    let of_job = match () {
        () if maps_in_memory => most.min(job),
        () if is_to_be_whole && most >= job => job,
        () => 0.0,
    };
    let wanted = with_rounds(or_asked(ROUNDS_WANTED)).max(claimed).max(of_job);
    let is_scan_in_memory = condition.workload == Workload::Scan
        && matches!(condition.state, State::Cached | State::Mapped | State::Locked);
    let round_of = |ops: u64| -> f64 { fitting.iter().map(|trial| trial.pass_ns(ops as f64)).sum() };
    let ops = match (wanted.min(cap as f64) as u64).clamp(least, cap) {
        // Beside the start of a JVM the whole job may take next to nothing. The first folios of a file are smaller than the others, and of
        // seven windows one has them: a mapping of 256 MiB seemed six times as fast as calls, and is three times.
        ops if (maps_in_memory || is_scan_in_memory)
            && job as u64 > ops
            && round_of(job as u64) <= LITTLE_MORE * round_of(ops)
            && rounds.is_none_or(|it| f64::from(it) * round_of(job as u64) <= share_ns) =>
        {
            job as u64
        }
        ops => ops,
    };
    let round_ns = round_of(ops);
    let too_slow = slow
        .into_iter()
        .map(|trial| {
            let blocks = floor.min(trial.most_ops);
            let needed = trial.pass_ns(blocks as f64);
            // The share grows with the budget, and what the baseline takes does not.
            let asked_ns = rounds.map(|it| f64::from(it) * with_shorter_ns(trials, floor, needed));
            let wanted_ns = asked_ns.unwrap_or(2.0 * f64::from(ROUNDS_MIN) * needed);
            let skip = Skip::TooSlow {
                ns_per_block: trial.ns_per_op(),
                blocks,
                twice: trial.doubled,
                around_ns: trial.around_ns(blocks as f64),
                pass_ns: needed,
                budgets: share.times_for(wanted_ns, rounds.is_some()).ceil(),
            };
            (trial.cell, skip)
        })
        .collect();
    Sizing { ops, too_slow, round_ns }
}

/// The longest pass that fits into a round of so much time beside all that are shorter; 0 if none does.
fn longest_in_round_ns(trials: &[Trial], ops: u64, round_ns: f64) -> f64 {
    let passes_ns = trials.iter().map(|it| it.pass_ns(ops as f64));
    passes_ns.filter(|it| with_shorter_ns(trials, ops, *it) <= round_ns).fold(0.0, f64::max)
}

/// A pass that takes so long, and all that are shorter.
fn with_shorter_ns(trials: &[Trial], ops: u64, pass_ns: f64) -> f64 {
    trials.iter().map(|it| it.pass_ns(ops as f64)).filter(|it| *it <= pass_ns).sum()
}

/// The most blocks of which a pass of each arm together takes no more than so much.
fn most_ops(trials: &[&Trial], round_ns: f64, cap: u64) -> f64 {
    let takes = |ops: f64| trials.iter().map(|it| it.pass_ns(ops)).sum::<f64>();
    let (mut low, mut high) = (0.0, cap as f64);
    if takes(high) <= round_ns {
        return high;
    }
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if takes(middle) <= round_ns { low = middle } else { high = middle }
    }
    low
}

/// A condition's part of the time of its stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    pub ns: f64,
    /// What its fewest rounds take, and those of all conditions of the stage.
    need_ns: f64,
    needed_ns: f64,
    /// The time of the stage, and among how many it is shared out.
    time_ns: f64,
    conditions: f64,
}

impl Share {
    /// How many times the time of the stage gives it so much; of rounds that were asked for by number what they take is its need, of which
    /// half of the time is its own at most.
    fn times_for(self, wanted_ns: f64, is_asked: bool) -> f64 {
        let of_rest = self.needed_ns + (wanted_ns - self.need_ns) * self.conditions;
        let all_ns = match wanted_ns >= self.need_ns {
            true if is_asked => of_rest.min((self.needed_ns - self.need_ns + wanted_ns).max(2.0 * wanted_ns)),
            true => of_rest,
            false => wanted_ns / self.need_ns * self.needed_ns,
        };
        (all_ns / self.time_ns.max(1e6)).max(1.0)
    }
}

/// Shares out the time of a stage: to each condition what its fewest rounds take, and of the rest the same to all.
/// `needs_ns` and the result are in the order of the conditions.
pub fn shares(time_ns: f64, needs_ns: &[f64]) -> Vec<Share> {
    let (needed_ns, conditions) = (needs_ns.iter().sum::<f64>(), needs_ns.len() as f64);
    let rest = (time_ns - needed_ns) / conditions;
    let share = |&need_ns: &f64| {
        let ns = if rest >= 0.0 { need_ns + rest } else { need_ns * time_ns / needed_ns };
        Share { ns, need_ns, needed_ns, time_ns, conditions }
    };
    needs_ns.iter().map(share).collect()
}

/// What the fewest rounds of useful passes take, without the arms that may be left out; or all passes together, where a
/// claim about user or system time needs so much of it.
pub fn need_ns(
    condition: &Condition,
    trials: &[Trial],
    baseline: &[usize],
    window: u64,
    claimed: Option<ClaimedCpu>,
) -> f64 {
    let (least, most) = useful(condition, trials, window, claimed);
    let rounds_ns = |ops: u64, rounds: u32| {
        let longest_ns = baseline_ns(trials, baseline, ops).map_or(f64::INFINITY, |it| SLOWER_MOST * it);
        let passes_ns = trials.iter().map(|it| it.pass_ns(ops as f64)).filter(|it| *it <= longest_ns);
        f64::from(rounds) * passes_ns.sum::<f64>()
    };
    let of_claim = claimed.map_or(0.0, |claimed| {
        let ops = (claimed.ops(&trials.iter().collect::<Vec<_>>()) as u64).clamp(least, most);
        let of_cpu = |trial: &Trial| {
            let share = (trial.cpu_ns / trial.elapsed_ns.max(1.0)).clamp(CPU_SHARE_LEAST, 1.0);
            claimed.all_ns / (share * CLAIMED_SHARE)
        };
        rounds_ns(ops, ROUNDS_OF_CLAIMS).max(trials.iter().map(of_cpu).sum())
    });
    rounds_ns(least, ROUNDS_MIN).max(of_claim)
}

/// What so many rounds of useful passes of all arms take, without those that alone would take more than `most_ns`.
pub fn all_rounds_ns(condition: &Condition, trials: &[Trial], window: u64, rounds: u32, most_ns: f64) -> f64 {
    let (least, _) = useful(condition, trials, window, None);
    let arms_ns = trials.iter().map(|it| f64::from(rounds) * it.pass_ns(least as f64));
    arms_ns.filter(|it| *it <= most_ns).sum()
}

/// The CPU time in which the kernel's ticks can tell what a claim about user or system time says, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClaimedCpu {
    /// Of the passes of an arm together, of the kind that the claim is about.
    all_ns: f64,
    /// Of each pass, of both kinds.
    pass_ns: f64,
}

impl ClaimedCpu {
    /// To tell a ratio from none where there is a tick in `tick_ns`. Ticks are counts: their variance is their number.
    /// `of_process`: a pass is a process of its own, which has had no tick before.
    pub fn to_tell(ratio: f64, tick_ns: f64, of_process: bool) -> ClaimedCpu {
        let ratio = ratio.max(1.0 / ratio);
        let distance = (ratio.ln() - MARGIN.ln()).max(MARGIN.ln());
        let all_ns = (1.0 + ratio) * (STUDENT / distance).powi(2) * tick_ns;
        ClaimedCpu { all_ns, pass_ns: if of_process { DIVIDING_TICKS * tick_ns } else { 0.0 } }
    }

    /// What both of two claims need.
    #[must_use]
    pub fn and(self, other: ClaimedCpu) -> ClaimedCpu {
        ClaimedCpu { all_ns: self.all_ns.max(other.all_ns), pass_ns: self.pass_ns.max(other.pass_ns) }
    }

    /// Blocks of a pass of which each arm has the time that divides.
    fn ops(self, trials: &[&Trial]) -> f64 {
        let of = |it: &&Trial| LONGER * self.pass_ns * it.worth_ops / it.cpu_ns.max(1.0);
        trials.iter().map(of).fold(0.0, f64::max)
    }
}

/// What differs by less is the same (docs/METHODOLOGY.md).
const MARGIN: f64 = 1.0 + schema::estimate::MARGIN;
/// Student's t at 97.5 %, for a dozen rounds.
const STUDENT: f64 = 2.2;
/// Of a processor's time, what a pass takes at least: a short trial may see less.
const CPU_SHARE_LEAST: f64 = 0.02;
/// Of user and system time together, what either of them is taken to be.
const CLAIMED_SHARE: f64 = 0.3;
/// Passes have less CPU time than their trial says: its blocks are the first ones.
const LONGER: f64 = 1.25;

/// The longest pass of the cells that are never left out.
fn baseline_ns(trials: &[Trial], baseline: &[usize], ops: u64) -> Option<f64> {
    let of_baseline = trials.iter().filter(|it| baseline.contains(&it.cell)).map(|it| it.pass_ns(ops as f64));
    of_baseline.reduce(f64::max)
}

/// The fewest blocks of a useful pass, as far as that is known without a trial.
pub fn least_ops(condition: &Condition, window: u64) -> u64 {
    bounds(condition, window).0
}

/// The same, unless a number was given.
pub fn planned_ops(condition: &Condition, window: u64) -> u64 {
    if condition.ops > 0 { condition.ops } else { least_ops(condition, window) }
}

/// The least and the most blocks of a useful pass, where trials show what a block takes. A number that was given is both.
fn useful(condition: &Condition, trials: &[Trial], window: u64, claimed: Option<ClaimedCpu>) -> (u64, u64) {
    if condition.ops > 0 {
        return (condition.ops, condition.ops);
    }
    let (floor, cap) = bounds(condition, window);
    // What depends on how many there are is asked of no more than the whole job: of a small file that is little. Who has a deadline each
    // millisecond meanwhile needs longer passes, and so do claims that ticks decide.
    let depends_on_size = condition.reads_share_faults() || condition.writes_over();
    let cap = match depends_on_size && condition.beside == Beside::Nothing {
        true => {
            let of_claim = claimed.map_or(0.0, |it| it.ops(&trials.iter().collect::<Vec<_>>()));
            cap.min(whole_job(condition, trials).max(of_claim as u64))
        }
        false => cap,
    };
    let least_ns = if condition.state == State::Cold { COLD_PASS_LEAST_NS } else { PASS_LEAST_NS };
    (floor.max(ops_of_fastest(trials, least_ns)).min(cap), cap)
}

/// The blocks of the whole job, or as many as can be timed.
fn whole_job(condition: &Condition, trials: &[Trial]) -> u64 {
    let job = condition.job_blocks(condition.range.bytes, sys::page_bytes());
    // Threads begin one after the other, some ten microseconds apart.
    let least_ns = JOB_LEAST_NS * f64::from(condition.threads);
    job.max(ops_of_fastest(trials, least_ns)).max(condition.threads.into())
}

/// Of passes that could not be as long as they should be.
fn shortest(condition: &Condition, trials: &[Trial], window: u64) -> u64 {
    let (useful, cap) = useful(condition, trials, window, None);
    let long_enough = ops_of_fastest(trials, PASS_LEAST_NS / SHORTER_MOST);
    if condition.ops > 0 { useful } else { bounds(condition, window).0.max(long_enough).min(cap).min(useful) }
}

/// So many blocks take the fastest arm so long.
fn ops_of_fastest(trials: &[Trial], pass_ns: f64) -> u64 {
    let fastest_ns = trials.iter().map(Trial::ns_per_op).fold(f64::INFINITY, f64::min);
    (pass_ns / fastest_ns.max(1.0)) as u64
}

/// The least and the most blocks of a useful pass.
fn bounds(condition: &Condition, window: u64) -> (u64, u64) {
    let block = condition.block_bytes;
    let threads = u64::from(condition.threads);
    if condition.workload.writes() {
        let cap = if condition.workload.is_ascending() { condition.blocks_in_range() } else { 1 << 24 };
        let least = match condition.durability {
            // Each block waits for the device.
            Durability::SyncEach => 32,
            _ => (16u64 << 20).div_ceil(block).max(8),
        };
        return (least.min(cap), cap);
    }
    match condition.workload.is_ascending() {
        true => {
            // Twice a common last-level cache slice when the data is in memory; when it comes from the device as many
            // read-ahead windows as answer for the whole file.
            let least_bytes: u64 = match condition.state {
                // Throttled storage takes as long for each byte, but lets up to a tenth of a second's worth through at once
                // (block/blk-throttle.c).
                State::Cold => match condition.storage.and_then(|it| it.read_bytes_per_s) {
                    Some(second) => second.max(16 << 20),
                    None => WINDOWS_LEAST.saturating_mul(window).max(16 << 20),
                },
                _ => 64 << 20,
            };
            let cap = condition.blocks_in_range();
            // A part of a file that is larger than its memory may fit into it.
            if condition.state == State::Limited {
                return (cap, cap);
            }
            (cap.min(least_bytes.div_ceil(block)).max(threads.min(cap)), cap)
        }
        false => {
            let (least, least_bytes): (u64, u64) =
                if condition.state == State::Cold { (32, 16 << 20) } else { (8192, 64 << 20) };
            let floor = least.min((least_bytes / block).max(8)).max(threads).max(filling_ops(condition));
            let of_throttle = throttled_ops_per_s(condition).unwrap_or(0.0) as u64;
            let floor = floor.max(of_throttle.min(requests_most(condition)));
            (floor, floor.max(1 << 24))
        }
    }
}

/// What is read again comes from the page cache, which reads a page at least.
fn requests_most(condition: &Condition) -> u64 {
    condition.range.bytes.div_ceil(condition.block_bytes.max(sys::page_bytes()))
}

/// So many random blocks a throttle lets through in a second at most, each by a request of its own (a mapping may make
/// larger ones). Nothing where nothing waits for the device, or no throttle is set.
fn throttled_ops_per_s(condition: &Condition) -> Option<f64> {
    let storage = condition.storage.filter(|_| condition.state == State::Cold && !condition.workload.writes())?;
    // A page is what the page cache reads at least.
    let read_bytes = condition.block_bytes.max(sys::page_bytes()) as f64;
    let by_bytes = storage.read_bytes_per_s.map(|it| it as f64 / read_bytes);
    [storage.read_ops_per_s.map(|it| it as f64), by_bytes].into_iter().flatten().reduce(f64::min)
}

/// What so many random blocks take at least by the throttle. The first tenth of a second's worth comes free, so that a
/// trial of few says nothing of it (block/blk-throttle.c).
pub fn throttled_ns(condition: &Condition, ops: u64) -> f64 {
    let per_s = throttled_ops_per_s(condition).filter(|_| condition.workload == Workload::Random);
    per_s.map_or(0.0, |it| ops.min(requests_most(condition)) as f64 / it.max(f64::MIN_POSITIVE) * 1e9)
}

/// Warm passes must fill the memory of a limited condition; this many blocks do it in about a hundred passes.
fn filling_ops(condition: &Condition) -> u64 {
    condition.memory_bytes.unwrap_or(0) / access_bytes(condition).max(sys::page_bytes()) / 64
}

/// A block; of a replay an access in the mean, because the block of its worker has room for the longest one.
fn access_bytes(condition: &Condition) -> u64 {
    match condition.trace {
        Some(_) => (condition.bytes_of(1) as u64).max(1),
        None => condition.block_bytes,
    }
}

/// Blocks that a trial begins with: where any of them may wait for a window, few; more follow where those took little.
pub fn first_ops(condition: &Condition) -> u64 {
    let all = trial_ops(condition);
    match condition.state == State::Limited && condition.workload.reads_anywhere() {
        true => FEW_OPS.max(condition.threads.into()).min(all),
        false => all,
    }
}

const FEW_OPS: u64 = 16;

/// Blocks of a trial.
pub fn trial_ops(condition: &Condition) -> u64 {
    if condition.workload.writes() {
        let ops = match condition.durability {
            Durability::SyncEach => 16,
            _ => ((4u64 << 20) / condition.block_bytes).clamp(1, 4096),
        };
        return if condition.workload.is_ascending() { ops.min(condition.blocks_in_range()) } else { ops };
    }
    if condition.state == State::Limited && condition.workload.is_ascending() {
        return condition.blocks_in_range();
    }
    let bytes: u64 = match condition.workload {
        Workload::Scan => 8 << 20,
        // Without read-ahead hints a cold random read may fetch megabytes.
        Workload::Random if condition.state == State::Cold => 64 << 10,
        _ => 1 << 20,
    };
    let least = if condition.workload == Workload::Random { FEW_OPS } else { 1 };
    let ops = (bytes / access_bytes(condition)).clamp(least, 4096).max(u64::from(condition.threads));
    let ops = ops.max(filling_ops(condition));
    if condition.workload == Workload::Scan { ops.min(condition.blocks_in_range()) } else { ops }
}

#[cfg(test)]
mod tests {
    use schema::{Span, condition::Storage, trace::Traced};

    use super::*;

    const WINDOW: u64 = 8 << 20;

    /// The time of a stage of one condition.
    fn all(time_ns: f64) -> Share {
        shares(time_ns, &[0.0])[0]
    }

    /// With as many rounds as the time allows.
    fn size(
        condition: &Condition,
        trials: &[Trial],
        share_ns: f64,
        baseline: &[usize],
        window: u64,
        claimed: Option<ClaimedCpu>,
    ) -> Sizing {
        super::size(
            condition,
            trials,
            Room { share: all(share_ns), rounds: None, whole: false },
            baseline,
            window,
            claimed,
        )
    }

    fn condition(workload: Workload, state: State, block_bytes: u64, file_bytes: u64) -> Condition {
        Condition { workload, block_bytes, state, ..Condition::plain(file_bytes) }
    }

    fn trial(cell: usize, ns_per_op: f64) -> Trial {
        Trial {
            cell,
            ops: 100,
            most_ops: u64::MAX,
            worth_ops: 100.0,
            elapsed_ns: ns_per_op * 100.0,
            overhead_ns: 3e6,
            around_op_ns: 0.0,
            doubled: false,
            waits: false,
            cpu_ns: 0.0,
            whole_range_ns: f64::INFINITY,
            found_ns: FOUND_NS,
            maps_in_memory: false,
        }
    }

    #[test]
    fn passes_before_the_clock_grow_with_the_pass_and_are_no_part_of_its_work() {
        let of = Trial { overhead_ns: 5e6, ..trial(0, 10_000.0) }.with_warm_passes(3e6);
        // 1 ms of work, 3 ms of warm passes and 2 ms of what else there is.
        assert_eq!([of.pass_ns(100.0), of.pass_ns(1000.0), of.work_ns(1000.0)], [6e6, 42e6, 10e6]);
        let all = trial(0, 10_000.0).with_warm_passes(9e6);
        assert_eq!(all.around_ns(100.0), 3e6, "no more than was there");
    }

    #[test]
    fn equal_work_of_all_arms_fits_the_share() {
        let condition = condition(Workload::Random, State::Cached, 4096, 1 << 30);
        let sizing = size(&condition, &[trial(0, 500.0), trial(1, 300.0)], 2.5e9, &[0], WINDOW, None);
        assert_eq!(sizing.too_slow, []);
        assert!(sizing.round_ns * f64::from(ROUNDS_WANTED) <= 2.5e9 * 1.01, "{sizing:?}");
        assert!(sizing.ops > 100_000, "{sizing:?}");
    }

    #[test]
    fn the_parts_that_fault_once_are_found_by_the_faults_of_some_reads() {
        for units in [10.0, 4_800.0, 1e6] {
            for ops in [5.0, 8_192.0, 76_800.0] {
                let faults = faults_of(ops, units);
                if faults < 0.999 * units {
                    let found = fault_units(ops, faults, 1 << 30);
                    assert!((found / units - 1.0).abs() < 1e-3, "{units} {ops}: {found}");
                }
            }
        }
        assert!((fault_units(1000.0, 1000.0, 76_800) - 76_800.0).abs() < 1.0, "each read faults");
        assert!(fault_units(1000.0, 0.0, 0).is_finite() && fault_units(f64::MAX, 1.0, u64::MAX).is_finite());
    }

    /// 300 MiB in folios of 64 KiB, of which a fault maps one: 8,192 reads take 28 ms through a mapping and 7 ms by calls, and
    /// 76,800 take 34 and 65 (C programs).
    #[test]
    fn random_reads_that_share_faults_are_those_of_the_whole_job_where_eight_rounds_of_it_fit() {
        let condition = condition(Workload::Random, State::Cached, 4096, 300 << 20);
        let calls = Trial { elapsed_ns: 7e6, ops: 8192, worth_ops: 8192.0, ..trial(0, 0.0) };
        let mapping = Trial {
            elapsed_ns: 28e6,
            whole_range_ns: 34e6,
            found_ns: hit_ns(&condition),
            maps_in_memory: true,
            ..Trial { cell: 1, ..calls.clone() }
        };
        let both = [calls, mapping];
        let sized = |share_ns: f64| size(&condition, &both, share_ns, &[0], WINDOW, None);
        let job = condition.job_reads(300 << 20, 4096);
        let whole_ns: f64 = both.iter().map(|it| it.pass_time(job).as_nanos() as f64).sum();
        assert!(whole_ns < 0.3e9, "by as much for each read as of the first ones it were 0.33 s");
        assert_eq!(sized(10.0 * whole_ns).ops, job, "fourteen rounds of it do not fit");
        let less = sized(5.0 * whole_ns);
        assert!((8192..job).contains(&less.ops) && 8.0 * less.round_ns <= 5.01 * whole_ns, "{less:?}");
        assert_eq!(sized(20.0 * whole_ns).ops, job, "more of them are another job");
        let small = Condition { file_bytes: 1 << 20, range: Span { offset: 0, bytes: 1 << 20 }, ..condition.clone() };
        assert_eq!(size(&small, &both, 20.0 * whole_ns, &[0], WINDOW, None).ops, 256, "of a small file that is little");
        let tiny = Condition { file_bytes: 4096, range: Span { offset: 0, bytes: 4096 }, ..condition.clone() };
        assert!((50..100).contains(&size(&tiny, &both, whole_ns, &[0], WINDOW, None).ops), "a read cannot be timed");
        // Populating takes what it takes once, however few reads follow.
        let populated =
            Trial { found_ns: hit_ns(&condition), whole_range_ns: 30e6, ops: 64, worth_ops: 64.0, ..both[1].clone() };
        let beside = [both[0].clone(), populated];
        let whole_ns: f64 = beside.iter().map(|it| it.pass_time(job).as_nanos() as f64).sum();
        assert_eq!(size(&condition, &beside, 10.0 * whole_ns, &[0], WINDOW, None).ops, job);
    }

    /// A JVM starts in 0.4 s, and 256 MiB take 30 ms through a mapping and 110 by calls.
    #[test]
    fn beside_what_a_pass_takes_around_it_the_whole_job_may_be_little_more() {
        let scan = condition(Workload::Scan, State::Cached, 1 << 20, 256 << 20);
        let started = |cell: usize, ns: f64, overhead_ns: f64| Trial { overhead_ns, ..trial(cell, ns) };
        let ops = |overhead_ns: f64, share_ns: f64| {
            let trials = [started(0, 430_000.0, overhead_ns), started(1, 120_000.0, overhead_ns)];
            size(&scan, &trials, share_ns, &[0], WINDOW, None).ops
        };
        assert_eq!(ops(4e8, 1e9), scan.blocks_in_range());
        assert!(ops(1e6, 1e9) < scan.blocks_in_range(), "no more than a part of it fits");
        let asked = |share_ns: f64| {
            let trials = [started(0, 430_000.0, 4e8), started(1, 120_000.0, 4e8)];
            let room = Room { share: all(share_ns), rounds: Some(8), whole: false };
            super::size(&scan, &trials, room, &[0], WINDOW, None).ops
        };
        assert_eq!(asked(8e9), scan.blocks_in_range());
        assert!(asked(7e9) < scan.blocks_in_range(), "rounds that were asked for are all there is");
        let cold = Condition { state: State::Cold, ..scan.clone() };
        let trials = [started(0, 430_000.0, 4e8), started(1, 120_000.0, 4e8)];
        assert!(size(&cold, &trials, 1e9, &[0], WINDOW, None).ops < cold.blocks_in_range());
    }

    #[test]
    fn a_range_that_was_named_and_what_is_written_are_covered_where_eight_rounds_of_them_fit() {
        let scan = condition(Workload::Scan, State::Cached, 65536, 1 << 30);
        let write = condition(Workload::Overwrite, State::Cached, 65536, 1 << 30);
        let trials = [trial(0, 10_000.0), trial(1, 10_000.0)];
        let sized = |of: &Condition, whole: bool, share_ns: f64| {
            super::size(of, &trials, Room { share: all(share_ns), rounds: None, whole }, &[0], WINDOW, None).ops
        };
        let (all, enough_ns) = (scan.blocks_in_range(), 10.0 * 2.0 * (16_384.0 * 10_000.0 + 3e6));
        assert_eq!([sized(&scan, true, enough_ns), sized(&write, false, enough_ns)], [all, all]);
        assert!(sized(&scan, false, enough_ns) < all, "fourteen rounds do not fit");
        assert!(sized(&write, false, 0.5 * enough_ns) < all);
    }

    #[test]
    fn a_file_of_ten_kilobytes_is_scanned_whole() {
        let condition = condition(Workload::Scan, State::Cached, 4096, 10_000);
        assert_eq!(size(&condition, &[trial(0, 500.0)], 2.5e9, &[0], WINDOW, None).ops, 3);
        assert_eq!(trial_ops(&condition), 3);
    }

    #[test]
    fn an_arm_that_would_shrink_all_others_is_left_out_and_the_baseline_never() {
        let condition = condition(Workload::Scan, State::Cached, 4096, 1 << 30);
        let trials = [trial(0, 500.0), trial(1, 100_000.0)];
        let sizing = size(&condition, &trials, 2.5e9, &[0], WINDOW, None);
        assert_eq!(sizing.too_slow.len(), 1);
        let Skip::TooSlow { ns_per_block, blocks, twice, around_ns, pass_ns, .. } = sizing.too_slow[0].1 else {
            panic!("{sizing:?}")
        };
        assert_eq!((ns_per_block, blocks), (100_000.0, (64 << 20) / 4096));
        let times = if twice { 2.0 } else { 1.0 };
        assert_eq!(pass_ns, times * blocks as f64 * ns_per_block + around_ns, "what is shown comes out");
        assert!(sizing.ops * 4096 >= 64 << 20);
        assert_eq!(size(&condition, &trials, 2.5e9, &[0, 1], WINDOW, None).too_slow, []);
    }

    #[test]
    fn an_arm_with_whose_passes_of_a_given_size_no_rounds_of_the_others_would_fit_is_left_out() {
        let given = Condition { ops: 200, ..condition(Workload::Random, State::Limited, 4096, 1 << 30) };
        let trials = [trial(0, 100_000.0), trial(1, 50_000.0), trial(2, 20_000_000.0)];
        let sizing = size(&given, &trials, 2.5e9, &[0], WINDOW, None);
        let slow: Vec<usize> = sizing.too_slow.iter().map(|it| it.0).collect();
        assert_eq!((slow, sizing.ops), (vec![2], 200));
        assert_eq!(size(&given, &trials, 100e9, &[0], WINDOW, None).too_slow, [], "with more time it is measured");
    }

    #[test]
    fn an_arm_that_is_not_much_slower_than_a_slow_baseline_is_never_left_out() {
        let condition = condition(Workload::Scan, State::Cached, 4096, 1 << 30);
        let sizing = size(
            &condition,
            &[trial(0, 100_000.0), trial(1, 700_000.0), trial(2, 900_000.0)],
            2.5e9,
            &[0],
            WINDOW,
            None,
        );
        let slow: Vec<usize> = sizing.too_slow.iter().map(|it| it.0).collect();
        assert_eq!(slow, [2]);
    }

    #[test]
    fn an_arm_fits_with_as_many_times_the_budget_as_its_skip_says_however_slow_the_baseline_is() {
        let condition = condition(Workload::Scan, State::Cached, 4096, 1 << 30);
        for slow in [600.0, 20_000.0, 900_000.0] {
            let of_share = |share_ns: f64| {
                size(&condition, &[trial(0, 2000.0), trial(1, 2000.0 + slow * 25.0)], share_ns, &[0], WINDOW, None)
                    .too_slow
            };
            let Some((_, Skip::TooSlow { budgets, .. })) = of_share(0.5e9).pop() else { continue };
            assert_eq!(of_share(0.5e9 * budgets * 1.01), [], "{budgets} times");
        }
    }

    #[test]
    fn of_two_trials_the_one_with_the_shorter_useful_pass_counts() {
        // The first read fetches the whole file: 10 ms, whatever the number of blocks.
        let of = |ops: u64| Trial { ops, worth_ops: ops as f64, elapsed_ns: 10e6, ..trial(1, 0.0) };
        assert_eq!(of(16).or_faster(of(32), 32).ops, 32);
        assert_eq!(of(32).or_faster(of(16), 32).ops, 32);
    }

    #[test]
    fn a_pass_takes_no_longer_than_bringing_in_all_of_the_range_where_pages_stay() {
        // 100 reads, each with a window of 8 MiB in 6 ms; 256 MiB are 32 windows.
        let window_ns = 6e6;
        let stays = Trial { whole_range_ns: 32.0 * window_ns, ..trial(1, window_ns) };
        let linear = |ops: u64| trial(1, window_ns).pass_time(ops);
        assert_eq!(stays.pass_time(10), linear(10));
        assert!(stays.pass_time(20_000) < Duration::from_millis(300), "{:?}", stays.pass_time(20_000));
        assert!(linear(20_000) > Duration::from_secs(100));
        // A read of 1 MiB is copied in 80 µs where its pages are there, and took 220 in a pass that had brought them in.
        let large = Trial { found_ns: found_ns(1 << 20, 16, 1e6, 0.0), ..stays.clone() };
        assert!(large.pass_time(100_000) > Duration::from_secs(22), "{:?}", large.pass_time(100_000));
        // A loop that takes 3 ms for each block, in a trial that brought in half of the file.
        let looked_at = found_ns(1 << 20, 16, 16.0 * 3e6 + 5e6, 128.0 * f64::from(1 << 20));
        assert_eq!(found_ns(1 << 20, 16, 5e6, 128.0 * f64::from(1 << 20)), found_ns(1 << 20, 16, 0.0, 0.0));
        let slow = Trial { found_ns: found_ns(1 << 20, 4096, 4096.0 * 3e6, 256.0 * f64::from(1 << 20)), ..stays };
        assert!(slow.pass_time(20_000) > Duration::from_secs(50), "{:?}", slow.pass_time(20_000));
        assert!(looked_at * 20_000.0 > 6e9, "{looked_at}");
    }

    #[test]
    fn what_a_pass_that_writes_takes_around_it_grows_with_it_and_leaves_its_share_room_for_the_rounds() {
        // 50 ms, and 1 s for each GiB that is made before it and read back after it.
        let around = |ops: u64| 50e6 + ops as f64 * 4096.0 / f64::from(1 << 30) * 1e9;
        let of = |ops: u64| Trial {
            ops,
            worth_ops: ops as f64,
            elapsed_ns: 500.0 * ops as f64,
            overhead_ns: around(ops),
            ..trial(0, 0.0)
        };
        let tried = of(1024).with_longer(of(8192));
        let takes = tried.pass_time(1 << 18).as_nanos() as f64;
        assert!((takes / (around(1 << 18) + 500.0 * f64::from(1 << 18)) - 1.0).abs() < 0.01, "{takes}");
        let again = Trial { overhead_ns: 2.0 * around(1024), ..of(1024) };
        assert_eq!(of(1024).with_longer(again), of(1024), "all blocks that there are, twice");
        let condition = condition(Workload::Overwrite, State::Cached, 4096, 1 << 30);
        let share_ns = 7e9;
        let sizing = size(&condition, &[tried.clone(), tried], share_ns, &[0], WINDOW, None);
        assert_eq!(sizing.too_slow, []);
        assert!(sizing.ops < 1 << 17 && sizing.round_ns * f64::from(ROUNDS_WANTED) <= share_ns * 1.01, "{sizing:?}");
    }

    #[test]
    fn a_trial_under_a_limit_begins_with_as_few_blocks_as_a_cold_one() {
        for block_bytes in [64, 4096, 1 << 20] {
            let cold = condition(Workload::Random, State::Cold, block_bytes, 1 << 30);
            let limited = Condition { state: State::Limited, memory_bytes: Some(512 << 20), ..cold.clone() };
            assert_eq!(first_ops(&limited), FEW_OPS, "{block_bytes}");
            assert!(trial_ops(&limited) >= FEW_OPS.max(filling_ops(&limited)));
            assert_eq!(first_ops(&cold), trial_ops(&cold));
            assert_eq!(first_ops(&Condition { threads: 40, ..limited }), 40, "each thread has one");
        }
    }

    #[test]
    fn accesses_are_alike_where_each_waits_and_brings_in_nothing_for_others() {
        let of = |waits: bool, whole_range_ns: f64| Trial { waits, whole_range_ns, ..trial(0, 80e3) };
        assert!(of(true, f64::INFINITY).is_alike(10_000) && of(true, 80e3 * 10_000.0).is_alike(10_000));
        assert!(of(true, 80e3 * 50_000.0).is_alike(10_000), "of a part of the file");
        assert!(!of(true, 80e3 * 100.0).is_alike(10_000), "a window for each");
        assert!(!of(false, f64::INFINITY).is_alike(10_000), "in memory the first ones fill the processor's caches");
    }

    #[test]
    fn passes_are_shorter_where_the_fewest_rounds_of_long_ones_would_not_fit() {
        let condition = condition(Workload::Random, State::Mapped, 64, 1 << 30);
        // 4 ms of the mapping are 2 million blocks, and those take 0.9 s of calls.
        let trials = [trial(0, 450.0), trial(1, 2.0)];
        let of = |share_ns: f64| size(&condition, &trials, share_ns, &[0], WINDOW, None);
        assert_eq!(of(8e9).ops, 2_000_000);
        let short = of(2.4e9);
        assert!(f64::from(ROUNDS_MIN) * short.round_ns <= 2.41e9 && short.ops < 1_000_000, "{short:?}");
        assert_eq!(of(0.1e9).ops, 250_000, "and no shorter than an eighth");
    }

    #[test]
    fn random_passes_of_a_throttle_take_a_second_and_a_trial_takes_no_less_than_it_allows() {
        let storage = |read_bytes_per_s, read_ops_per_s| Storage { read_bytes_per_s, read_ops_per_s };
        let plain = || condition(Workload::Random, State::Cold, 4096, 1 << 30);
        let under = |storage| Condition { storage: Some(storage), ..plain() };
        assert_eq!(least_ops(&under(storage(None, Some(1000))), WINDOW), 1000);
        assert_eq!(least_ops(&under(storage(Some(40 << 20), None)), WINDOW), 10_240);
        assert_eq!(least_ops(&under(storage(Some(40 << 20), Some(1000))), WINDOW), 1000, "the narrower one");
        let lines = Condition { block_bytes: 64, ..under(storage(Some(40 << 20), None)) };
        assert_eq!(least_ops(&lines, WINDOW), (40 << 20) / sys::page_bytes(), "a page of each");
        assert_eq!(throttled_ns(&under(storage(None, Some(1000))), 16), 16e6);
        assert_eq!(throttled_ns(&plain(), 16), 0.0);
        assert_eq!(least_ops(&under(storage(None, Some(u64::MAX))), WINDOW), 1 << 18, "each page of the file once");
        let scan = Condition { workload: Workload::Scan, ..under(storage(None, Some(1000))) };
        assert_eq!(throttled_ns(&scan, 16), 0.0, "read-ahead makes one request of many blocks");
    }

    #[test]
    fn of_rounds_that_were_asked_for_an_arm_is_left_out_only_if_they_do_not_fit_with_it() {
        let condition = condition(Workload::Random, State::Mapped, 4096, 1 << 30);
        // Of 8,192 blocks: 11 ms, and 1.03 s.
        let trials = [trial(0, 1000.0), trial(1, 125e3)];
        let slow = |share_ns: f64, rounds: Option<u32>| {
            let room = Room { share: all(share_ns), rounds, whole: false };
            super::size(&condition, &trials, room, &[0], WINDOW, None).too_slow.len()
        };
        assert_eq!(slow(8e9, None), 1, "six rounds of it are most of the time");
        assert_eq!([1, 6, 7].map(|asked| slow(8e9, Some(asked))), [0, 0, 0]);
        assert_eq!([8, 50].map(|asked| slow(8e9, Some(asked))), [1, 1]);
        assert_eq!(slow(5e9, Some(6)), 1);
        let with_room = Room { share: all(8e9), rounds: Some(6), whole: false };
        let sizing = super::size(&condition, &trials, with_room, &[0], WINDOW, None);
        assert!(6.0 * sizing.round_ns <= 8e9, "{sizing:?}");
        let fast = &trials[..1];
        let sizing =
            super::size(&condition, fast, Room { share: all(8e9), rounds: Some(50), whole: false }, &[0], WINDOW, None);
        assert!(sizing.ops > 8192 && 50.0 * sizing.round_ns <= 8e9 * 1.01, "{sizing:?}");
        // So many times the budget are enough, and not many more than are needed.
        let [Skip::TooSlow { budgets, .. }] = &super::size(
            &condition,
            &trials,
            Room { share: all(4e9), rounds: Some(6), whole: false },
            &[0],
            WINDOW,
            None,
        )
        .too_slow
        .into_iter()
        .map(|it| it.1)
        .collect::<Vec<_>>()[..] else {
            panic!("it is too slow")
        };
        assert_eq!(*budgets, 2.0);
        assert_eq!(slow(2.0 * 4e9, Some(6)), 0);
    }

    #[test]
    fn rounds_that_are_asked_for_need_the_time_of_all_arms_but_of_one_that_takes_too_much() {
        let condition = condition(Workload::Random, State::Mapped, 4096, 1 << 30);
        // Of 8,192 blocks: 11 ms, and 1.03 s.
        let trials = [trial(0, 1000.0), trial(1, 125e3)];
        let needed = |rounds: u32, most_ns: f64| all_rounds_ns(&condition, &trials, WINDOW, rounds, most_ns);
        assert!((6.2e9..6.3e9).contains(&needed(6, 7e9)), "{}", needed(6, 7e9));
        assert!((6e7..7e7).contains(&needed(6, 6e9)));
        // The fewest rounds are needed without the slow arm, and left to themselves it has no more than others.
        assert!(need_ns(&condition, &trials, &[0], WINDOW, None) < 1e8);
    }

    #[test]
    fn a_pass_of_larger_blocks_of_its_own_is_expected_to_have_no_more_than_the_range() {
        let condition = condition(Workload::Scan, State::Cached, 4096, 1 << 30);
        // 1,024 blocks of 1 MiB are all of it.
        let large = Trial { most_ops: 1024, ..trial(1, 150e3) };
        let slow = |large: Trial| size(&condition, &[trial(0, 500.0), large], 10e9, &[0], WINDOW, None).too_slow.len();
        assert_eq!(slow(large.clone()), 0);
        assert_eq!(slow(Trial { most_ops: u64::MAX, ..large }), 1);
    }

    #[test]
    fn a_mapping_whose_trial_brought_in_all_of_a_small_file_is_not_too_slow() {
        // 16 reads bring in 64 MiB in 60 ms, and 240 are a useful pass of the baseline.
        let condition = condition(Workload::Random, State::Cold, 4096, 64 << 20);
        let of =
            |whole_range_ns: f64| Trial { ops: 16, worth_ops: 16.0, elapsed_ns: 60e6, whole_range_ns, ..trial(1, 0.0) };
        let sized = |mapping: Trial| size(&condition, &[trial(0, 25_000.0), mapping], 1e9, &[0], WINDOW, None);
        assert_eq!(sized(of(60e6)).too_slow, []);
        assert_eq!(sized(of(f64::INFINITY)).too_slow.len(), 1);
        // Nor does its first read make the passes of all arms as short as they may be.
        let of_both = size(&condition, &[trial(0, 25_000.0), of(60e6)], 3e9, &[0], WINDOW, None);
        assert!(of_both.ops > 500 && of_both.round_ns * f64::from(ROUNDS_WANTED) <= 3e9, "{of_both:?}");
    }

    /// One thread's accesses of so many bytes each.
    fn replay(accesses: &[u64], state: State) -> Condition {
        let [longest_bytes, bytes] = [accesses.iter().max().copied().unwrap_or(0), accesses.iter().sum()];
        let trace = Traced { accesses: accesses.len() as u64, bytes, longest_bytes, ..Traced::none(0) };
        let (ops, trace) = (trace.accesses, Some(trace));
        Condition { ops, trace, ..condition(Workload::Replay, state, longest_bytes, 1 << 30) }
    }

    #[test]
    fn wherever_the_long_access_of_a_replay_lies_its_pass_takes_what_all_accesses_do() {
        const INDEX: u64 = 128 << 20;
        let rows = vec![4096; 60_000];
        let (first, last) = ([&[INDEX][..], &rows].concat(), [&rows[..], &[INDEX]].concat());
        // Of one access, and of each of its bytes: from memory, and from a device.
        for (state, each_ns, byte_ns) in [(State::Cached, 500.0, 0.12), (State::AsFound, 100e3, 1.0)] {
            for accesses in [&first, &last, &rows] {
                let under = replay(accesses, state);
                let takes = |of: &[u64]| of.iter().map(|it| each_ns + *it as f64 * byte_ns).sum::<f64>();
                let tried = &accesses[..trial_ops(&under) as usize];
                assert!(tried.len() < accesses.len());
                let (ops, bytes) = (tried.len() as u64, tried.iter().sum());
                let worth_ops = worth_ops(&under, ops, bytes, state.waits_for_device(), 128 << 10);
                let trial = Trial { ops, worth_ops, elapsed_ns: takes(tried), overhead_ns: 0.0, ..trial(0, 0.0) };
                let times = trial.pass_ns(under.ops as f64) / takes(accesses);
                assert!((0.5..2.0).contains(&times), "{state}, {ops} of {}: {times}", accesses.len());
            }
        }
    }

    #[test]
    fn a_trial_that_is_the_whole_replay_is_worth_all_its_accesses() {
        let under = replay(&[1 << 20, 4096, 10], State::Cached);
        assert_eq!(worth_ops(&under, 3, (1 << 20) + 4106, false, 128 << 10), 3.0);
        assert_eq!(trial_ops(&replay(&[100; 50], State::Cached)), 4096, "short ones do not count as a long one");
    }

    #[test]
    fn the_same_arm_stays_when_the_budget_is_large() {
        let condition = condition(Workload::Scan, State::Cached, 4096, 1 << 30);
        let sizing = size(&condition, &[trial(0, 500.0), trial(1, 100_000.0)], 60e9, &[0], WINDOW, None);
        assert_eq!(sizing.too_slow, []);
    }

    #[test]
    fn the_pass_of_the_fastest_arm_is_long_enough_to_time() {
        let condition = condition(Workload::Random, State::Mapped, 64, 1 << 30);
        let sizing = size(&condition, &[trial(0, 800.0), trial(1, 40.0)], 1e9, &[0], WINDOW, None);
        assert_eq!(sizing.ops, (PASS_LEAST_NS / 40.0) as u64, "{sizing:?}");
        assert_eq!(sizing.too_slow, []);
    }

    #[test]
    fn a_cold_scan_covers_as_many_read_ahead_windows_as_answer_for_the_file() {
        let condition = condition(Workload::Scan, State::Cold, 64 << 10, 1 << 30);
        let bytes =
            |window: u64| size(&condition, &[trial(0, 40e3)], 0.1e9, &[0], window, None).ops * condition.block_bytes;
        assert_eq!(bytes(8 << 20), WINDOWS_LEAST * (8 << 20));
        assert_eq!(bytes(128 << 10), 16 << 20);
        assert_eq!(bytes(1 << 30), 1 << 30, "the whole file, where it has fewer");
    }

    #[test]
    fn time_goes_first_where_the_fewest_rounds_need_it() {
        let ns = |time_ns: f64| shares(time_ns, &[10.0, 50.0]).iter().map(|it| it.ns).collect::<Vec<f64>>();
        assert_eq!(ns(100.0), [30.0, 70.0]);
        assert_eq!(ns(30.0), [5.0, 25.0]);
    }

    #[test]
    fn so_many_times_the_time_give_a_condition_the_share_that_it_lacks() {
        let needs_ns = [10e9, 50e9];
        for (time_ns, wanted_ns) in [(100e9, 60e9), (30e9, 8e9), (30e9, 80e9)] {
            let times = shares(time_ns, &needs_ns)[0].times_for(wanted_ns, false);
            let then_ns = shares(times * time_ns, &needs_ns)[0].ns;
            assert!((then_ns / wanted_ns - 1.0).abs() < 1e-9, "{time_ns} {wanted_ns}: {times} {then_ns}");
        }
        assert_eq!(shares(100e9, &needs_ns)[0].times_for(20e9, false), 1.0, "it has as much");
        let condition = condition(Workload::Scan, State::Cold, 64 << 10, 1 << 30);
        let of = |others: &[f64]| {
            let trials: Vec<Trial> =
                [40e3].iter().chain(others).enumerate().map(|(cell, &ns)| trial(cell, ns)).collect();
            need_ns(&condition, &trials, &[0], WINDOW, None)
        };
        assert_eq!(of(&[1e9]), of(&[]), "an arm that is left out needs no time of its own");
        assert!(of(&[40e3]) < of(&[60e3]));
    }

    #[test]
    fn a_claim_about_user_time_has_the_passes_in_which_ticks_can_tell_it() {
        // 3.06 (2.2 / 0.674)^2 ticks, and fewer for a larger difference, whichever way it goes.
        let claimed = |ratio: f64| ClaimedCpu::to_tell(ratio, 1.0, false);
        let ticks = |ratio: f64| claimed(ratio).all_ns;
        assert!((ticks(2.06) - 32.6).abs() < 0.5, "{}", ticks(2.06));
        assert!(ticks(15.0) < ticks(2.06) && ticks(2.06) < ticks(1.2) && ticks(1.0).is_finite());
        assert!((ticks(0.5) - ticks(2.0)).abs() < 1e-9);
        assert_eq!(claimed(2.0).and(claimed(3.0)), claimed(2.0));
        let condition = condition(Workload::Scan, State::Cold, 64 << 10, 64 << 20);
        let throttled = [Trial { cpu_ns: 1e6, ..trial(0, 100e3) }, Trial { cpu_ns: 1e6, ..trial(1, 100e3) }];
        let of = |claimed: Option<ClaimedCpu>| need_ns(&condition, &throttled, &[0], 128 << 10, claimed);
        let claimed = Some(ClaimedCpu::to_tell(2.0, 6e6, false));
        assert!(of(claimed) > 5.0 * of(None), "{} {}", of(claimed), of(None));
    }

    #[test]
    fn a_pass_of_throttled_storage_is_as_long_as_ticks_divide_its_cpu_time_where_its_share_has_room_for_the_rounds() {
        const RATE: u64 = 22 << 20;
        let storage = Some(schema::condition::Storage { read_bytes_per_s: Some(RATE), read_ops_per_s: None });
        let under = Condition { storage, ..condition(Workload::Scan, State::Cold, 64 << 10, 512 << 20) };
        // 3.5 ms of 16 MiB, one byte in 22 million in a second.
        let ns_per_op = 1e9 * f64::from(64 << 10) / RATE as f64;
        let trials = [0, 1].map(|cell| Trial { cpu_ns: 3.5e6 * 100.0 / 256.0, ..trial(cell, ns_per_op) });
        let claimed = Some(ClaimedCpu::to_tell(2.06, 4e6, true));
        let bytes = |share_ns: f64, claimed| size(&under, &trials, share_ns, &[0], WINDOW, claimed).ops * (64 << 10);
        let divided = bytes(100e9, claimed);
        let cpu_ns = divided as f64 / f64::from(16 << 20) * 3.5e6;
        assert!((1.0..1.5).contains(&(cpu_ns / (DIVIDING_TICKS * 4e6))), "{cpu_ns}");
        assert!(bytes(100e9, None) < divided, "without a claim more rounds are made of shorter passes");
        let cut = bytes(50e9, claimed);
        assert!(bytes(50e9, None) < cut && cut < divided, "there are eight rounds, whatever they divide");
        // A second's worth at least, and not twenty windows of 8 MiB.
        assert_eq!(bytes(1e9, None), RATE);
        let needed = need_ns(&under, &trials, &[0], WINDOW, claimed);
        assert!(bytes(needed, claimed).abs_diff(divided) < divided / 100, "it asks for the time that it needs");
    }
}
