//! When state `limited` is reached: warm passes go on until two that follow each other miss the page cache alike, or until
//! the last ones show no trend. Pure: what each pass counted in, a decision out.
//!
//! Two numbers say how often a pass missed. *Device bytes per byte reached* is known of every pass; with read-ahead it
//! includes bytes that no block asked for, so that it swings and may exceed 1. *Misses per block* counts how often blocks
//! waited for the device. It is known of random reads that each thread makes one after the other, and is the miss rate
//! whatever is read ahead, where a block waits no more than once: it decides where it is known.
//!
//! A random pass with offsets of its own tends to 1 − page cache / range from any start. But a cache that is still filling
//! changes slowly: with passes of a few blocks, two neighbours are alike long before the end. So the warm passes must also
//! have read in as much as the limit has room for.
//!
//! A pass of a few blocks misses by chance: of 16 blocks with a miss rate of 0.5, two passes lie 18 points apart on average.
//! There two alike passes are a coincidence that may take a hundred passes. What tells a steady state from a filling one is
//! then that the later passes miss neither more nor less than those before.

use std::{collections::BTreeMap, fmt, time::Duration};

use schema::{Arm, Condition, Workload, protocol::Done, record::Reading};

use crate::runtime;

/// How far two passes that follow each other may lie apart: two points, or so much of a rate above 1.
const APART: f64 = 0.02;
/// So many of the last passes show a trend, or none: the first half of them against the second.
const TREND_PASSES: usize = 8;
/// A trend is a difference of more standard errors.
const TREND_ERRORS: f64 = 2.0;
/// After more warm passes the state counts as not steady.
const PASSES_MAX: usize = 1000;
/// Fewer compare nothing, however long they take.
const PASSES_MIN: usize = 3;

/// How often one pass missed the page cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Misses {
    /// Per byte of what the pass reached: whole pages, each visit counted; of a mapping the pages that were looked at. Of a
    /// command: per byte of the named files, because what it reached is not known. Of a replay: per byte of its accesses, which
    /// may be parts of pages.
    pub device_bytes_per_byte: f64,
    /// Waits per block, or why they are not known. Through a mapping: major faults. Otherwise voluntary switches: a call waits
    /// once for each of its pages whose request is not done when it comes to it, so more than once where a block is read by
    /// several requests. Threads also wait for each other where a pass begins and ends; those few are in it, because they
    /// cannot be told apart, and are the same in each pass.
    pub misses_per_block: Reading<f64>,
}

impl Misses {
    pub fn of(arm: &Arm, condition: &Condition, done: &Done, device_bytes: f64) -> Misses {
        let ops = done.tally.ops.max(1) as f64;
        let reached = match condition.workload {
            Workload::Command => condition.range.bytes as f64,
            Workload::Replay => done.tally.bytes as f64,
            // O_DIRECT brings in the block, and not the pages that it lies in.
            Workload::Random if arm.is_direct() => ops * condition.block_bytes as f64,
            Workload::Random => ops * pages_of_a_block(condition, reached_of_a_block(arm, condition)),
            _ => in_sequence(condition, done.tally.ops.max(1), reached_of_a_block(arm, condition)),
        };
        Misses {
            device_bytes_per_byte: device_bytes / reached.max(1.0),
            misses_per_block: waits(arm, condition, done).map(|it| it as f64 / ops).into(),
        }
    }

    /// The number that decides.
    fn rate(&self) -> f64 {
        self.misses_per_block.value().copied().unwrap_or(self.device_bytes_per_byte)
    }

    /// By the names that they have in a record.
    pub fn readings(&self, prefix: &str) -> BTreeMap<String, Reading<f64>> {
        let named = [
            ("device_bytes_per_byte", Reading::Value(self.device_bytes_per_byte)),
            ("misses_per_block", self.misses_per_block.clone()),
        ];
        named.into_iter().map(|(name, it)| (format!("{prefix}{name}"), it)).collect()
    }
}

/// How often the blocks of a pass waited for the device.
///
/// # Errors
/// Why that is not known.
fn waits(arm: &Arm, condition: &Condition, done: &Done) -> Result<u64, String> {
    if condition.workload != Workload::Random || done.tally.queue_depth != 1 {
        return Err("misses are counted of random reads alone that each thread makes one after the other".into());
    }
    let runtime = runtime::find(&arm.runtime)?;
    if !runtime.keeps_threads() {
        return Err(format!(
            "passes of runtime {} move between threads, and what its other threads wait for is counted with them",
            arm.runtime
        ));
    }
    if arm.maps() {
        return Ok(done.usage.major_faults);
    }
    if let Some(meanwhile) = arm.meanwhile() {
        return Err(format!(
            "what its thread waits for is counted with {meanwhile}, which stop it in the timed pass alone"
        ));
    }
    runtime.switches_are_waits(done)?;
    Ok(done.usage.voluntary_switches)
}

/// How much of a block is reached, from its start: all of it by calls, whatever is looked at afterwards; through a mapping as
/// far as the last byte that is looked at.
fn reached_of_a_block(arm: &Arm, condition: &Condition) -> u64 {
    let block = condition.block_bytes.max(1);
    if !arm.is_in_place() {
        return block;
    }
    let every = condition.consume.looks_every();
    match (u128::from(block) * u128::from(condition.consumed_percent) / 100) as u64 {
        0 => 0,
        consumed => (consumed - 1) / every * every + 1,
    }
}

/// The pages of the first `reached` bytes of a block, on average, in bytes. Where in their first page blocks begin are the
/// multiples of `step` beyond the first of them, each as often as any other.
fn pages_of_a_block(condition: &Condition, reached: u64) -> f64 {
    if reached == 0 {
        return 0.0;
    }
    let (block, page) = (condition.block_bytes.max(1), sys::page_bytes());
    // What both are multiples of: the size of a page is a power of two.
    let step = if condition.aligned { 1u64 << block.trailing_zeros().min(page.trailing_zeros()) } else { 1 };
    let first = condition.range.offset % step;
    ((first + reached - 1) / step * step + page) as f64
}

/// The bytes of so many blocks that follow each other and begin anew at the end of their range, whose last block may be a
/// short one. Neighbours share their pages, unless at least a page between what is reached of them is not looked at.
fn in_sequence(condition: &Condition, ops: u64, reached: u64) -> f64 {
    let (block, whole) = (condition.block_bytes.max(1), condition.range.bytes);
    if reached == 0 || block.saturating_sub(reached) >= sys::page_bytes() {
        return ops as f64 * pages_of_a_block(condition, reached);
    }
    let blocks = whole.div_ceil(block).max(1);
    (ops / blocks).saturating_mul(whole).saturating_add((ops % blocks).saturating_mul(block).min(whole)) as f64
}

/// The warm passes of one worker so far.
pub struct WarmUp {
    /// What the page cache has room for.
    memory_bytes: f64,
    /// Of each pass, in their order.
    passes: Vec<Misses>,
    from_device: f64,
}

/// The state did not become steady.
#[derive(Debug, Clone, PartialEq)]
pub struct Unsteady {
    pub passes: usize,
    pub took: Duration,
    /// Of the last two passes.
    pub last: [f64; 2],
    /// The passes before were alike, but had not read in as much as the limit has room for.
    pub filling: bool,
}

impl WarmUp {
    pub fn new(memory_bytes: u64) -> WarmUp {
        WarmUp { memory_bytes: memory_bytes as f64, passes: Vec::new(), from_device: 0.0 }
    }

    /// The number of the pass that comes next.
    pub fn next(&self) -> u32 {
        self.passes.len() as u32 + 1
    }

    pub fn add(&mut self, device_bytes: f64, misses: Misses) {
        self.from_device += device_bytes;
        self.passes.push(misses);
    }

    /// The least time of the warm passes, if the state is not steady early, estimated from the first of them.
    pub fn least(first: Duration) -> Duration {
        first.saturating_mul(PASSES_MIN as u32)
    }

    /// Whether those and the timed pass end in the time that was left after the first.
    pub fn fits(first: Duration, left: Duration) -> bool {
        WarmUp::least(first) <= left
    }

    /// How many passes there were, and what the last one counted.
    pub fn readings(&self) -> BTreeMap<String, Reading<f64>> {
        let mut readings = self.passes.last().map(|it| it.readings("warm_")).unwrap_or_default();
        readings.insert("warm_passes".into(), Reading::Value(self.passes.len() as f64));
        readings
    }

    /// Whether the timed pass may follow; `None`: another warm pass first.
    ///
    /// # Errors
    /// There were enough of them, or they took long enough.
    pub fn steady(&self, took: Duration, limit: Duration) -> Option<Result<(), Unsteady>> {
        let [.., before, last] = &self.passes[..] else { return None };
        // Where nothing comes from the device any more, nothing will.
        let fits = before.device_bytes_per_byte + last.device_bytes_per_byte == 0.0;
        let (before, last) = (before.rate(), last.rate());
        let alike = (before - last).abs() <= APART * before.max(last).max(1.0);
        let filled = |times: f64| self.from_device >= times * self.memory_bytes;
        if alike && (fits || filled(1.0)) || filled(2.0) && self.shows_no_trend() {
            return Some(Ok(()));
        }
        let passes = self.passes.len();
        let over = passes >= PASSES_MAX || (passes >= PASSES_MIN && took >= limit);
        over.then_some(Err(Unsteady { passes, took, last: [before, last], filling: alike }))
    }

    /// The means of both halves of the last passes differ by no more than passes differ among themselves.
    fn shows_no_trend(&self) -> bool {
        let Some(last) = self.passes.last_chunk::<TREND_PASSES>() else { return false };
        let half = TREND_PASSES / 2;
        let [(before, before_squares), (after, after_squares)] = [&last[..half], &last[half..]].map(|passes| {
            let mean = passes.iter().map(Misses::rate).sum::<f64>() / half as f64;
            (mean, passes.iter().map(|it| (it.rate() - mean).powi(2)).sum::<f64>())
        });
        let variance = (before_squares + after_squares) / (TREND_PASSES - 2) as f64;
        (after - before).abs() <= TREND_ERRORS * (variance * 2.0 / half as f64).sqrt()
    }
}

impl fmt::Display for Unsteady {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Unsteady { passes, took, last: [before, last], filling } = self;
        write!(
            f,
            "not steady after {passes} warm passes in {:.1} s: the last two missed the page cache at rates of \
             {before:.3} and {last:.3}",
            took.as_secs_f64()
        )?;
        match filling {
            true => f.write_str(", and together they read in less than the limit allows to be cached"),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::{
        Consume, Span, State,
        beats::{Beats, Lateness, PERIOD_NS},
        protocol::{Phases, Tally, Usage},
    };

    use super::*;

    const PAGE: f64 = 4096.0;
    const LONG: Duration = Duration::from_secs(1000);

    fn misses(rate: f64) -> Misses {
        Misses { device_bytes_per_byte: rate, misses_per_block: Reading::unavailable("not counted") }
    }

    /// Warm passes of so many random blocks over a cache of limited size, until they are steady.
    fn passes_until_steady(reads: f64, pages: f64, room: f64) -> (usize, f64) {
        let (mut warm_up, mut resident) = (WarmUp::new((room * PAGE) as u64), 0.0f64);
        loop {
            // Each read misses with the share of pages that are not there.
            let filled = (pages - (pages - resident) * (-reads / pages).exp()).min(room);
            let missed = if filled < room { filled - resident } else { reads * (1.0 - room / pages) };
            resident = filled;
            warm_up.add(missed * PAGE, misses(missed / reads));
            match warm_up.steady(Duration::ZERO, LONG) {
                Some(steady) => {
                    assert_eq!(steady, Ok(()));
                    return (warm_up.passes.len(), warm_up.passes.last().unwrap().rate());
                }
                None => assert!(warm_up.passes.len() < 1000),
            }
        }
    }

    #[test]
    fn passes_of_any_size_end_at_the_share_that_does_not_fit() {
        for reads in [256.0, 1024.0, 16_384.0, 65_536.0] {
            let (passes, share) = passes_until_steady(reads, 65_536.0, 32_768.0);
            assert!((share - 0.5).abs() < 0.03, "{reads} reads: {share} after {passes}");
        }
        assert!(passes_until_steady(256.0, 65_536.0, 32_768.0).0 > 100, "alike, but the cache was still filling");
    }

    fn of(shares: &[f64], device_bytes: f64) -> WarmUp {
        let mut warm_up = WarmUp::new(1000);
        shares.iter().for_each(|&share| warm_up.add(device_bytes, misses(share)));
        warm_up
    }

    #[test]
    fn two_passes_that_follow_each_other_must_be_alike() {
        let steady = |shares: &[f64]| of(shares, 1000.0).steady(Duration::ZERO, LONG);
        assert_eq!(steady(&[0.5]), None, "one pass compares nothing");
        assert_eq!(steady(&[0.54, 0.51]), None);
        assert_eq!(steady(&[0.51, 0.89, 0.51]), None, "the same again, but not one after the other");
        assert_eq!(steady(&[0.89, 0.515, 0.5]), Some(Ok(())));
        assert_eq!(steady(&[40.0, 40.7]), Some(Ok(())), "two points in a hundred where the share is above 1");
        assert_eq!(steady(&[40.0, 42.0]), None);
    }

    #[test]
    fn passes_that_differ_by_chance_are_steady_once_they_show_no_trend() {
        let chance = [0.6, 0.4, 0.7, 0.45, 0.55, 0.3, 0.65, 0.4];
        let steady = |shares: &[f64], device_bytes| of(shares, device_bytes).steady(Duration::ZERO, LONG);
        assert_eq!(steady(&chance, 1000.0), Some(Ok(())));
        assert_eq!(steady(&chance[1..], 1000.0), None, "so few passes may hide a trend");
        assert_eq!(steady(&chance, 100.0), None, "the cache is filling still");
        let fewer = chance.map(|it| it * 0.1);
        assert_eq!(steady(&[&chance[..4], &fewer[..4]].concat(), 1000.0), None, "fewer misses than before");
        let falling: Vec<f64> = chance.iter().zip(0..).map(|(it, at)| it * 0.1 + 0.9 - 0.1 * f64::from(at)).collect();
        assert_eq!(steady(&falling, 1000.0), None);
    }

    #[test]
    fn a_first_pass_shows_whether_the_others_and_a_timed_one_end_in_time() {
        let second = Duration::from_secs(1);
        assert!(WarmUp::fits(second, 3 * second) && WarmUp::fits(Duration::ZERO, Duration::ZERO));
        assert!(!WarmUp::fits(second, 2 * second) && !WarmUp::fits(second, Duration::ZERO));
        assert_eq!(WarmUp::least(second), 3 * second);
    }

    #[test]
    fn a_file_that_fits_is_steady_at_once_when_nothing_comes_from_the_device() {
        let mut warm_up = of(&[1.0], 10.0);
        warm_up.add(0.0, misses(0.0));
        assert_eq!(warm_up.steady(Duration::ZERO, LONG), None);
        warm_up.add(0.0, misses(0.0));
        assert_eq!(warm_up.steady(Duration::ZERO, LONG), Some(Ok(())));
    }

    #[test]
    fn what_does_not_become_steady_ends_by_time_and_by_number_and_says_which_shares_it_saw() {
        let (second, shares) = (Duration::from_secs(1), [0.9, 0.5, 0.9]);
        assert_eq!(of(&shares[..2], 1000.0).steady(second, second), None, "however long two passes take");
        let unsteady = Unsteady { passes: 3, took: second, last: [0.5, 0.9], filling: false };
        assert_eq!(of(&shares, 1000.0).steady(second, second), Some(Err(unsteady)));
        let swings: Vec<f64> = (0..PASSES_MAX).map(|pass| (pass % 2) as f64).collect();
        assert!(matches!(of(&swings, 1.0).steady(second, LONG), Some(Err(Unsteady { passes: PASSES_MAX, .. }))));
        let filling = of(&[1.0, 1.0, 1.0], 1.0).steady(second, second);
        assert!(matches!(filling, Some(Err(Unsteady { filling: true, .. }))), "{filling:?}");
    }

    fn done(ops: u64, queue_depth: u32, waits: [u64; 2]) -> Done {
        let [major_faults, voluntary_switches] = waits;
        Done {
            pass: 1,
            phases: Phases { open_ns: None, work_ns: 1, close_ns: None },
            tally: Tally {
                ops,
                bytes: 0,
                distinct_bytes: 0,
                distinct_block_bytes: None,
                distinct_pages: None,
                checksum: String::new(),
                threads: 1,
                queue_depth,
            },
            usage: Usage {
                user_ns: 0,
                system_ns: 0,
                minor_faults: 0,
                major_faults,
                voluntary_switches,
                involuntary_switches: 0,
            },
            parts: None,
            seen: BTreeMap::new(),
            own_reads: None,
            observation: None,
            beats: None,
        }
    }

    fn condition(workload: Workload, block_bytes: u64) -> Condition {
        Condition { workload, block_bytes, state: State::Limited, ..Condition::plain(1 << 20) }
    }

    #[test]
    fn a_small_block_reaches_its_page() {
        let page = sys::page_bytes();
        let share = |condition: &Condition, pages: u64| {
            let device_bytes = (pages * page) as f64;
            Misses::of(&"pread".parse().unwrap(), condition, &done(100, 1, [0, 0]), device_bytes).device_bytes_per_byte
        };
        assert_eq!(share(&condition(Workload::Random, 64), 50), 0.5);
        assert_eq!(share(&condition(Workload::Random, 2 * page), 100), 0.5);
        assert_eq!(share(&condition(Workload::Scan, page), 50), 0.5);
        let unaligned = Condition { aligned: false, ..condition(Workload::Random, page + 1) };
        assert_eq!(share(&unaligned, 100), 0.5, "a page and a byte lies in two pages on average");
        let command = Condition { range: Span { offset: 0, bytes: 4 * page }, ..condition(Workload::Command, 1) };
        assert_eq!(share(&command, 2), 0.5);
    }

    #[test]
    fn a_mapping_reaches_the_pages_of_what_it_looks_at_and_a_call_all_of_a_block() {
        let page = sys::page_bytes();
        let share = |arm: &str, condition: &Condition, pages: u64| {
            let device_bytes = (pages * page) as f64;
            Misses::of(&arm.parse().unwrap(), condition, &done(100, 1, [0, 0]), device_bytes).device_bytes_per_byte
        };
        let touched = Condition { aligned: false, consume: Consume::Touch, ..condition(Workload::Random, page + 1) };
        let one_byte = Condition { aligned: false, consume: Consume::Touch, ..condition(Workload::Random, 4096) };
        assert_eq!(share("mmap+random", &one_byte, 50), 0.5, "a byte lies in one page");
        assert!(share("pread", &one_byte, 50) < 0.45, "a block often lies in two");
        assert_eq!(share("pread", &touched, 100), 0.5);
        let small = condition(Workload::Random, page / 8);
        assert_eq!([share("pread", &small, 100), share("direct", &small, 100)], [1.0, 8.0], "no page, but the block");
        for workload in [Workload::Random, Workload::Scan] {
            let quarter = Condition { consumed_percent: 25, ..condition(workload, 8 * page) };
            for (arm, pages) in [("mmap", 2), ("jvm/mapped", 2), ("jvm/mapped+get", 8), ("stdio-mmap", 8), ("pread", 8)]
            {
                assert_eq!(share(arm, &quarter, 50 * pages), 0.5, "{arm}, {workload}");
            }
        }
        let half_a_page = Condition { consumed_percent: 50, ..condition(Workload::Scan, page) };
        assert_eq!(share("mmap", &half_a_page, 50), 0.5);
        let nothing = Condition { consumed_percent: 1, ..condition(Workload::Scan, 10) };
        assert!(share("mmap", &nothing, 1).is_finite());
    }

    /// As `in_sequence` and `pages_of_a_block`, by looking at every block.
    fn reached(condition: &Condition, ops: u64) -> f64 {
        let (range, block, page) = (condition.range, condition.block_bytes, sys::page_bytes());
        if condition.workload == Workload::Scan {
            let blocks = range.bytes.div_ceil(block);
            return (0..ops).map(|op| block.min(range.bytes - op % blocks * block)).sum::<u64>() as f64;
        }
        let (places, stride) =
            if condition.aligned { (range.bytes / block, block) } else { (range.bytes - block + 1, 1) };
        let pages = |place: u64| {
            let offset = range.offset + place * stride;
            (offset + block).div_ceil(page) - offset / page
        };
        ops as f64 * ((0..places).map(pages).sum::<u64>() * page) as f64 / places as f64
    }

    #[test]
    fn what_a_pass_reaches_is_what_looking_at_every_block_counts() {
        let page = sys::page_bytes();
        let once_each = |workload, aligned, offset: u64, block_bytes: u64, blocks: u64| {
            let range = Span { offset, bytes: block_bytes * blocks };
            Condition { aligned, range, ..condition(workload, block_bytes) }
        };
        let mut all = Vec::new();
        for offset in [0, 1, 100, page / 2, page, page + 512] {
            for block in [1, 64, 100, page / 2, page - 1, page, page + 1, page * 3 / 2, 3 * page, 10 * page + 7] {
                // So many blocks begin everywhere in a page, each place as often as any other.
                all.push((once_each(Workload::Random, true, offset, block, page), 50));
            }
        }
        // As many places as a page has bytes: so do these.
        all.push((Condition { aligned: false, ..condition(Workload::Random, 300) }, 50));
        for block in [1000, page] {
            let mut scan = once_each(Workload::Scan, true, 3, block, 20);
            scan.range.bytes -= block / 3;
            all.extend([1, 19, 20, 21, 47].map(|ops| (scan.clone(), ops)));
        }
        for (mut condition, ops) in all {
            if !condition.aligned {
                condition.range.bytes = page + condition.block_bytes - 1;
            }
            let misses =
                Misses::of(&"pread".parse().unwrap(), &condition, &done(ops, 1, [0, 0]), reached(&condition, ops));
            let share = misses.device_bytes_per_byte;
            assert!((share - 1.0).abs() < 1e-12, "{share} of {condition:?}, {ops} blocks");
        }
    }

    /// Of a pass of 100 blocks.
    fn misses_of(arm: &str, workload: Workload, done: &Done) -> Reading<f64> {
        Misses::of(&arm.parse().unwrap(), &condition(workload, 4096), done, 0.0).misses_per_block
    }

    #[test]
    fn a_miss_is_a_major_fault_or_a_wait_and_known_only_of_random_reads_one_by_one() {
        let misses = |arm: &str, workload, queue_depth| {
            misses_of(arm, workload, &done(100, queue_depth, [20, 40])).value().copied()
        };
        assert_eq!(misses("mmap+random", Workload::Random, 1), Some(0.2));
        assert_eq!(misses("jvm/mapped", Workload::Random, 1), Some(0.2));
        assert_eq!(misses("jvm/mapped+safepoints", Workload::Random, 1), Some(0.2));
        assert_eq!(misses("jvm/channel-positional+safepoints", Workload::Random, 1), None, "its thread is stopped");
        assert_eq!(misses("pread", Workload::Random, 1), Some(0.4));
        assert_eq!(misses("python/preadv", Workload::Random, 1), Some(0.4));
        assert_eq!(misses("go/mmap", Workload::Random, 1), None, "its process waits for more than its passes");
        assert_eq!(misses("uring", Workload::Random, 32), None);
        assert_eq!(misses("pread", Workload::Scan, 1), None);
    }

    #[test]
    fn waits_of_the_threads_of_a_runtime_for_each_other_are_no_misses() {
        let mut four = done(100, 1, [20, 40]);
        four.tally.threads = 4;
        let misses = |arm: &str| misses_of(arm, Workload::Random, &four);
        assert_eq!(misses("pread"), Reading::Value(0.4));
        assert_eq!(misses("jvm/channel-positional"), Reading::Value(0.4));
        let reason = misses("python/preadv").reason().expect("they wait for the interpreter's lock").to_string();
        assert!(reason.contains("wait for each other"), "{reason}");
        assert_eq!(misses("python/mmap"), Reading::Value(0.2), "a lock is no page that a fault brings in");
    }

    #[test]
    fn sleeps_of_a_beat_are_no_misses_where_the_switches_are_those_of_the_process() {
        let mut beside = done(100, 1, [20, 40]);
        beside.beats =
            Some(Box::new(Beats { period_ns: PERIOD_NS, pass: Lateness::default(), idle: Lateness::default() }));
        for arm in ["pread", "python/preadv"] {
            let known = |done: &Done| misses_of(arm, Workload::Random, done).value().copied();
            assert_eq!(known(&done(100, 1, [20, 40])), Some(0.4), "{arm}, as in a warm pass");
            assert_eq!(known(&beside), None, "{arm}");
        }
        for (arm, misses) in [("mmap", 0.2), ("python/mmap", 0.2), ("jvm/mapped", 0.2), ("jvm/channel-positional", 0.4)]
        {
            assert_eq!(misses_of(arm, Workload::Random, &beside), Reading::Value(misses), "{arm}");
        }
    }

    #[test]
    fn what_is_read_ahead_decides_nothing_where_misses_are_known() {
        let mut warm_up = WarmUp::new(1000);
        for device_bytes_per_byte in [0.8, 1.0] {
            warm_up.add(1000.0, Misses { device_bytes_per_byte, misses_per_block: Reading::Value(0.47) });
        }
        assert_eq!(warm_up.steady(Duration::ZERO, LONG), Some(Ok(())));
        let readings = warm_up.readings();
        assert_eq!(readings["warm_passes"], Reading::Value(2.0));
        assert_eq!(readings["warm_device_bytes_per_byte"], Reading::Value(1.0));
        assert_eq!(readings["warm_misses_per_block"], Reading::Value(0.47));
    }
}
