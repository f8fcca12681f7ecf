//! The cost breakdown of a pass: counts times unit costs.
//!
//! Together with `fit` the only place in the analysis that refers to methods by name, because the steps by which a method
//! reaches a block are added up here. A method that is not here has no breakdown, with a reason.

use schema::{
    Arm, Condition, Consume, Descriptor, State, Workload,
    condition::bytes_in_order,
    no_cost::{NoCost, Operation},
    record::Target,
    unit_cost::{Cause, CostComponent, Curve, Quantity, UnitCosts},
};

use super::{device, fit, threads::Threads};

/// The pass that is added up.
pub(crate) struct ModelledPass<'a> {
    pub(crate) arm: &'a Arm,
    pub(crate) condition: &'a Condition,
    pub(crate) page_bytes: f64,
    pub(crate) read_ahead_bytes: f64,
    /// What the device gives in ascending order at most.
    pub(crate) ceiling_bytes_per_s: Option<f64>,
    /// What was counted of it; where nothing is given, what is to be expected.
    pub(crate) counts: PassCounts,
    /// What the page cache can hold; infinite where the whole range is known to fit.
    pub(crate) memory_bytes: f64,
    pub(crate) threads: Threads,
    /// How many requests were in flight; where no pass was made, as many as the arm asks for.
    pub(crate) queue_depth: Option<u32>,
}

/// How much read-ahead fetches at a time; where the file system does not say it, the most that any of the machine does, as
/// for cold windows. Linux has 128 KiB where nothing else is set.
pub(crate) fn read_ahead_bytes(target: &Target) -> f64 {
    let described = target.device.value().and_then(|it| it.read_ahead_bytes.value().copied());
    described.or(target.read_ahead_most_bytes).unwrap_or(128 << 10) as f64
}

impl ModelledPass<'_> {
    /// The share of the range that the page cache can hold.
    pub(crate) fn capacity(&self) -> f64 {
        (self.memory_bytes / self.condition.range.bytes.max(1) as f64).min(1.0)
    }

    /// How many requests the device has of it at a time, of one thread.
    pub(super) fn depth(&self) -> u32 {
        // Of few or large blocks no more are in flight than there are, or than memory is given for.
        match (self.arm.method.as_str(), self.arm.word("io")) {
            ("uring", "direct") => self.queue_depth.or(self.arm.number("queue_depth")).unwrap_or(1),
            _ => 1,
        }
    }

    /// The share of the range that is in the page cache when the pass starts.
    pub(crate) fn resident_share(&self) -> f64 {
        if self.condition.state == State::Cold { 0.0 } else { self.capacity() }
    }
}

/// Of one pass.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PassCounts {
    pub(crate) minor_faults: Option<f64>,
    pub(crate) device_bytes: Option<f64>,
    pub(crate) device_requests: Option<f64>,
}

/// The least that O_DIRECT reads of any device (block/blk-settings.c, `SECTOR_SIZE`).
const SECTOR_BYTES: u64 = 512;

/// The components of a pass, or why there are none.
pub(crate) fn components(costs: &UnitCosts, pass: &ModelledPass) -> Result<Vec<CostComponent>, NoCost> {
    if pass.condition.workload.writes() {
        return Err(NoCost::Writes);
    }
    if pass.condition.workload == Workload::Replay {
        return Err(NoCost::Replay);
    }
    let condition = pass.condition;
    if pass.arm.runtime != "native" {
        return Err(NoCost::Runtime { runtime: pass.arm.runtime.clone() });
    }
    if condition.threads != 1 {
        return Err(NoCost::Threads);
    }
    if !condition.beside.is_nothing() {
        return Err(NoCost::Beside);
    }
    // How many of them reach into one more page depends on the block, and so does what each part costs.
    let page_bytes = pass.page_bytes as u64;
    if condition.begins_within_pages(page_bytes) || condition.lies_across_pages(page_bytes) {
        return Err(NoCost::AcrossPages);
    }
    if pass.arm.is_direct() && !condition.block_bytes.is_multiple_of(SECTOR_BYTES) && condition.blocks_in_range() > 1 {
        return Err(NoCost::Unaligned { sector_bytes: SECTOR_BYTES });
    }
    if condition.storage.is_some() {
        return Err(NoCost::Throttled);
    }
    if !matches!(condition.consume, Consume::Sum | Consume::Touch) {
        return Err(Operation::Consume { consume: condition.consume }.into());
    }
    if condition.consumed_percent != 100 {
        return Err(Operation::Part { percent: condition.consumed_percent }.into());
    }
    if !matches!(condition.state, State::Cold | State::Cached | State::Mapped | State::Locked) {
        return Err(NoCost::State { state: condition.state });
    }
    if condition.state == State::Locked && pass.capacity() < 1.0 {
        return Err(NoCost::TooLargeToLock);
    }
    let mut sum = Adding { costs, pass, components: Vec::new() };
    match pass.arm.method.as_str() {
        "read" | "pread" => sum.read()?,
        "mmap" => sum.mapping()?,
        "direct" => sum.around_the_cache()?,
        "uring" if pass.arm.word("io") == "direct" => sum.around_the_cache()?,
        method => return Err(Operation::Method { method: method.into() }.into()),
    }
    let finite = sum.components.iter().all(|it| it.ns.is_finite() && it.ns >= 0.0);
    if finite { Ok(sum.components) } else { Err(NoCost::NotFinite) }
}

/// How many of `places` are reached by `draws` at random.
fn met(places: f64, draws: f64) -> f64 {
    if places <= 1.0 { places.min(draws) } else { places * -(draws * (-1.0 / places).ln_1p()).exp_m1() }
}

/// How many of `draws` at random find their place missing: `resident` is the share of the places in memory at first, and
/// `capacity` the largest share that memory can hold. Each miss brings one place in; once memory is full, another leaves
/// for it and the share stays.
///
/// Checked with a cgroup (Linux 6.18, 4 KiB reads after POSIX_FADV_RANDOM, as many draws as pages): a file of twice the
/// memory missed 64 % in the first pass and 44 % in each later one, as computed here.
fn misses(places: f64, draws: f64, resident: f64, capacity: f64) -> f64 {
    let absent = 1.0 - resident;
    if absent <= 0.0 {
        return 0.0;
    }
    // Draw number n finds its place missing with absent × (1 − 1/places)^n until memory is full, and then with 1 − capacity.
    let until_full = match places > 1.0 {
        true => (((1.0 - capacity) / absent).ln() / (-1.0 / places).ln_1p()).ceil(),
        false => f64::from(u8::from(capacity > resident)),
    };
    let filling = draws.min(until_full.max(0.0));
    absent * met(places, filling) + (draws - filling) * (1.0 - capacity)
}

/// What `draws` at random bring into memory where each miss reads around its place.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ReadAround {
    misses: f64,
    /// In windows.
    windows: f64,
}

/// `places` is the range in windows, empty at first; `capacity` is the share of it that memory can hold.
///
/// Linux begins a window half of it before the page that was missing (do_sync_mmap_readahead in mm/filemap.c), so windows
/// lie anywhere and overlap. A place misses if no earlier miss lies within half a window of it, as in the problem of cars
/// that park at random (Rényi 1958). After `t` draws per half window a draw misses with exp(-2 Ein(t)), where Ein(t) is the
/// integral of (1 - e^-v)/v from 0 to t. It takes up to 1.495 misses per window of the range, where windows side by side
/// would take one, and the last gaps are found late: 0.3/t² of the range is left, where windows side by side leave e^-2t.
fn read_around(places: f64, draws: f64, capacity: f64) -> ReadAround {
    /// By the midpoint rule, in steps that grow with `t`: errors of 0.1 %.
    const STEP: f64 = 1.0 / 16.0;
    /// From here on a draw misses with (t₀/t)² of what it misses with here: e^-t is nothing beside 1/t.
    const FAR: f64 = 12.0;
    let halves = (2.0 * places).max(f64::MIN_POSITIVE);
    let end = draws / halves;
    let (mut t, mut ein, mut misses) = (0.0, 0.0, 0.0);
    let missing = |ein: f64| (-2.0f64 * ein).exp();
    // Where as much of the range is in memory as memory can hold.
    let full = -(1.0 - capacity).ln() / 2.0;
    while t < end.min(FAR) && ein < full {
        let slope = |v: f64| -(-v).exp_m1() / v;
        let whole = STEP * (1.0 + t);
        let step = whole.min(end - t).min((full - ein) / slope(t + whole / 2.0));
        misses += step * missing(ein + slope(t + step / 4.0) * step / 2.0);
        ein += slope(t + step / 2.0) * step;
        t += step;
    }
    let mut left = missing(ein);
    if t >= FAR && ein < full {
        // Until memory is full, or for all draws.
        let until = (t * (left / (1.0 - capacity)).sqrt()).min(end);
        misses += left * t * (1.0 - t / until);
        left *= (t / until).powi(2);
        t = until;
    }
    // Once memory is full, another page leaves for each that comes.
    let again = (end - t).max(0.0) * halves * (1.0 - capacity);
    let found =
        ReadAround { misses: misses * halves + again, windows: places * (1.0 - left) + again * places.min(1.0) };
    // The first draw misses, and a small range comes with it.
    let first = ReadAround { misses: draws.min(1.0), windows: draws.min(1.0) * places.min(1.0) };
    if found.misses > first.misses { found } else { first }
}

struct Adding<'a> {
    costs: &'a UnitCosts,
    pass: &'a ModelledPass<'a>,
    components: Vec<CostComponent>,
}

impl Adding<'_> {
    fn ops(&self) -> f64 {
        self.pass.condition.ops as f64
    }

    fn range(&self) -> f64 {
        self.pass.condition.range.bytes.max(1) as f64
    }

    fn block(&self) -> f64 {
        (self.pass.condition.block_bytes.max(1) as f64).min(self.range())
    }

    fn is_random(&self) -> bool {
        self.pass.condition.workload == Workload::Random
    }

    fn bytes(&self) -> f64 {
        let Condition { ops, block_bytes, range, .. } = *self.pass.condition;
        // The last block of a scan may be short.
        if self.is_random() { self.ops() * self.block() } else { bytes_in_order(ops, block_bytes, range.bytes) }
    }

    /// The share of the range that is reached at all.
    fn reached(&self) -> f64 {
        let places = self.range() / self.block();
        if self.is_random() { met(places, self.ops()) / places } else { (self.bytes() / self.range()).min(1.0) }
    }

    fn first_visits(&self) -> f64 {
        fit::first_visits(self.range(), self.pass.page_bytes, self.ops())
    }

    /// How often the file is opened, and mapped: each thread may have a mapping of its own.
    fn mappings(&self) -> f64 {
        match self.pass.condition.descriptor {
            Descriptor::PerThread => f64::from(self.pass.threads.count.max(1)),
            Descriptor::Shared => 1.0,
        }
    }

    /// Adds what one thread would take, shared out over the threads; of mappings, what each of them takes.
    fn add(&mut self, cause: Cause, what: Quantity, count: f64, ns: f64) {
        let mappings = if cause == Cause::Mapping { self.mappings() } else { 1.0 };
        let count = count * mappings;
        let share = match (cause, what) {
            // Where there is one, one thread maps and unmaps for all.
            (Cause::Mapping, _) => (mappings / self.pass.threads.at_once()).max(1.0),
            // The device has its own pace; `device` has divided by what is in flight already.
            (Cause::Device, Quantity::BytesFromDevice | Quantity::Requests) => 1.0,
            _ => 1.0 / self.pass.threads.at_once(),
        };
        let ns = (ns * share).max(0.0);
        if count > 0.0 && ns > 0.0 {
            self.components.push(CostComponent { cause, what, request_bytes: None, count, unit_ns: ns / count, ns });
        }
    }

    fn add_requests(&mut self, bytes: f64, depth: u32, count: f64, blocks: f64) -> Result<(), NoCost> {
        let each = self.device(depth, bytes)?;
        self.add(Cause::Device, Quantity::Requests, count, blocks * each);
        if let Some(term) = self.components.last_mut().filter(|it| it.what == Quantity::Requests) {
            term.request_bytes = Some(bytes);
        }
        Ok(())
    }

    fn read(&mut self) -> Result<(), NoCost> {
        self.file_advice()?;
        if self.pass.arm.number("buffer_kib").is_some_and(|it| it > 0) || self.pass.arm.word("buffer") == "malloc" {
            return Err(Operation::Method { method: self.pass.arm.short_name().into() }.into());
        }
        let costs = self.costs;
        let call = costs.read_call_ns.ok_or(Operation::ReadCall)?;
        self.add(Cause::SystemCalls, Quantity::Reads, self.ops(), self.ops() * call);
        if self.is_random() && self.pass.arm.method == "read" {
            let seek = costs.bare_call_ns.ok_or(Operation::BareCall)?;
            self.add(Cause::SystemCalls, Quantity::Seeks, self.ops(), self.ops() * seek);
        }
        let block = costs.copy.at(self.block()).ok_or(Operation::Copying)?;
        let from = self.of_span(&costs.copy_from);
        self.add(Cause::Copies, Quantity::BytesCopied, self.bytes(), self.bytes() / self.block() * block * from);
        if self.is_random() {
            let extra = costs.read_random.level_at(self.block()).ok_or(Operation::RandomReads)?;
            let extra = self.ops() * extra + self.first_visits() * costs.read_first_ns;
            self.add(Cause::Misses, Quantity::RandomPlaces, self.ops(), extra * self.of_span(&costs.read_random_in));
        }
        if self.pass.condition.consume == Consume::Sum {
            let sum = costs.sum_buffer.at(self.block()).ok_or(Operation::Summing)?;
            self.add(Cause::Bytes, Quantity::BytesSummed, self.bytes(), self.bytes() / self.block() * sum);
        }
        if !self.pass.condition.state.is_held() {
            let around = costs.open_ns.zip(costs.close_ns).map(|(open, close)| open + close);
            self.add(Cause::Mapping, Quantity::OpenAndClose, 1.0, around.ok_or(Operation::Opening)?);
        }
        self.waiting(self.pass.resident_share())
    }

    /// Which advice has the account of none: that of random reads has them bring in what they ask for, with it and without,
    /// and where every page is in memory nothing is read ahead. WILLNEED goes over the pages of the range when the file is
    /// opened.
    fn file_advice(&self) -> Result<(), NoCost> {
        let state = self.pass.condition.state;
        let is_in_memory = self.pass.resident_share() >= 1.0 && self.pass.capacity() >= 1.0;
        match self.pass.arm.word("advice") {
            "" | "normal" => Ok(()),
            "willneed" if is_in_memory && state.is_held() => Ok(()),
            "random" | "sequential" if is_in_memory => Ok(()),
            "random" if self.is_random() => Ok(()),
            advice => Err(Operation::Advice { advice: advice.into() }.into()),
        }
    }

    fn mapping(&mut self) -> Result<(), NoCost> {
        let advice = self.pass.arm.word("advice");
        if !matches!(advice, "normal" | "random" | "sequential" | "") {
            return Err(Operation::Advice { advice: advice.into() }.into());
        }
        // It needs a mapping that may be written to, and none that is read from may.
        if self.pass.arm.word("populate") == "populate-write" {
            return Err(Operation::Method { method: self.pass.arm.short_name().into() }.into());
        }
        self.in_place()?;
        let costs = self.costs;
        let all_pages = self.pages(self.range());
        let populated = self.pass.arm.fills_page_table();
        let held = self.pass.condition.state.is_held();
        let mapped = match (held, populated) {
            (true, _) => {
                self.faults_of_missing()?;
                return self.waiting(self.pass.resident_share());
            }
            (false, true) => {
                let populate = costs.populate.ok_or(Operation::Populating)?;
                let ns = populate.fixed_ns * self.share_of_least(all_pages) + all_pages * populate.page_ns;
                self.add(Cause::Mapping, Quantity::PagesPopulated, all_pages, ns);
                all_pages
            }
            (false, false) => self.faults()?,
        };
        let (map, unmap) = costs.map_ns.zip(costs.unmap).ok_or(Operation::Mapping)?;
        let once = (unmap.fixed_ns * self.share_of_least(mapped)).max(costs.close_ns.unwrap_or(0.0));
        self.add(Cause::Mapping, Quantity::MapAndUnmap, 1.0, map + once);
        self.add(Cause::Mapping, Quantity::PagesUnmapped, mapped, mapped * unmap.page_ns);
        if !populated {
            return self.waiting(self.pass.resident_share());
        }
        if self.pass.resident_share() >= 1.0 {
            return Ok(());
        }
        // Populating goes over the whole range in ascending order before the pass reads anything.
        self.streaming(self.pass.counts.device_bytes.unwrap_or(all_pages * self.pass.page_bytes), self.range())?;
        if self.pass.counts.device_bytes.is_some() {
            return Ok(());
        }
        self.faults_of_missing()?;
        self.waiting(self.pass.capacity())
    }

    /// Lines through what whole ranges took say nothing below the smallest of them: a file's first folios are small, and
    /// what they cost is in the fixed part. There that part is in proportion.
    fn share_of_least(&self, pages: f64) -> f64 {
        let least = self.costs.faults.points.first().map_or(0.0, |it| it.0);
        if least > 0.0 { (pages * self.pass.page_bytes / least).min(1.0) } else { 1.0 }
    }

    fn pages(&self, bytes: f64) -> f64 {
        (bytes / self.pass.page_bytes).ceil()
    }

    /// Reaching and consuming bytes that are in the page table.
    fn in_place(&mut self) -> Result<(), NoCost> {
        let costs = self.costs;
        let blocks = self.bytes() / self.block();
        match self.pass.condition.consume {
            Consume::Touch => {
                let page = costs.touch_mapped_page_ns.ok_or(Operation::TouchingPages)?;
                let at_random = if self.is_random() { self.ops() } else { 0.0 };
                // One for each page of a block, of which the last one of a scan may have fewer.
                let each = (self.block() / self.pass.page_bytes).ceil();
                let in_order = if self.is_random() { self.ops() * each - at_random } else { (blocks * each).ceil() };
                self.add(Cause::Bytes, Quantity::PagesTouched, in_order, in_order * page);
                if self.is_random() {
                    let each = costs.touch_random_ns.ok_or(Operation::RandomAccess)?;
                    // Where nothing misses, a touch takes something still.
                    let cached = costs.touch_cached_ns.unwrap_or(0.0).min(each);
                    self.add(Cause::Bytes, Quantity::PagesTouched, at_random, at_random * cached);
                    self.misses_of_random(each - cached, costs.touch_first_ns);
                }
            }
            _ => {
                let sum = costs.sum_mapped.at(self.block()).ok_or(Operation::Summing)?;
                let sum = sum * self.of_span(&costs.sum_mapped_in);
                self.add(Cause::Bytes, Quantity::BytesSummedInPlace, self.bytes(), blocks * sum);
                if self.is_random() {
                    let each = costs.mapped_random.level_at(self.block()).ok_or(Operation::RandomAccess)?;
                    self.misses_of_random(each, costs.mapped_first_ns);
                }
            }
        }
        Ok(())
    }

    /// Of a mapping, what each random place costs beyond one in ascending order, and each first visit beyond that.
    fn misses_of_random(&mut self, each_ns: f64, first_ns: f64) {
        let ns = self.ops() * each_ns + self.first_visits() * first_ns;
        self.add(Cause::Misses, Quantity::RandomPlaces, self.ops(), ns * self.of_span(&self.costs.mapped_random_in));
    }

    /// What a scan of so many bytes from the start of a fresh mapping takes: faults, and their time. Below the smallest
    /// calibrated reach both are in proportion, and one fault at least.
    fn scan_faults(&self, reach: f64) -> Option<(f64, f64)> {
        let costs = self.costs;
        let (least, _) = *costs.faults.points.first()?;
        let (faults, ns) = costs.faults.at(reach).zip(costs.faults_ns.at(reach)).filter(|it| it.0 > 0.0)?;
        let share = if reach < least { (reach / least).max(1.0 / faults).min(1.0) } else { 1.0 };
        Some((faults * share, ns * share))
    }

    /// Adds the faults, counted or expected, and returns how many pages they map in each mapping.
    fn faults(&mut self) -> Result<f64, NoCost> {
        let (costs, mappings) = (self.costs, self.mappings());
        let reach = self.range() * self.reached();
        let (scan_faults, scan_ns) = self.scan_faults(reach).ok_or(Operation::Faults)?;
        if !self.is_random() {
            let faults = self.pass.counts.minor_faults.unwrap_or(scan_faults);
            self.add(Cause::Faults, Quantity::Faults, faults, faults * scan_ns / scan_faults);
            return Ok(self.pages(reach) / mappings);
        }
        // A page that was evicted was unmapped too, so each access that finds it missing is a fault.
        let windows = mappings * self.windows_met(self.ops() / mappings).ok_or(Operation::Faults)?;
        let expected = windows.max(self.random_misses(self.pass.resident_share()).0);
        let faults = self.pass.counts.minor_faults.unwrap_or(expected);
        // The first fault of a block jumps; those after it go on from there.
        let jumps = faults.min(self.ops());
        let ascending = costs.fault_ns.unwrap_or(scan_ns / scan_faults);
        let jump = costs.fault_random_ns.unwrap_or(ascending);
        self.add(Cause::Faults, Quantity::Faults, faults, jumps * jump + (faults - jumps) * ascending);
        let (all, _) = self.scan_faults(self.range()).ok_or(Operation::Faults)?;
        Ok((faults / mappings / all).min(1.0) * self.range() / self.pass.page_bytes)
    }

    /// Adds the faults of a pass whose pages were mapped before: on those that memory could not keep.
    fn faults_of_missing(&mut self) -> Result<(), NoCost> {
        if self.pass.capacity() >= 1.0 {
            return Ok(());
        }
        if !self.is_random() {
            return self.faults().map(|_| ());
        }
        let each = self.costs.fault_random_ns.or(self.costs.fault_ns).ok_or(Operation::Faults)?;
        let (faults, _) = self.random_misses(self.pass.capacity());
        self.add(Cause::Faults, Quantity::Faults, faults, faults * each);
        Ok(())
    }

    /// How many windows, each mapped by one fault, so many random blocks come to. They are small where the file begins, and large
    /// after that. A larger file never takes fewer faults than its beginning alone would.
    fn windows_met(&self, ops: f64) -> Option<f64> {
        let range = self.range();
        let mut edges: Vec<f64> = self.costs.faults.points.iter().map(|it| it.0).filter(|&it| it < range).collect();
        edges.push(range);
        let up_to = |end: usize| -> Option<f64> {
            let (mut before, mut faults_before, mut all) = (0.0, 0.0, 0.0);
            for &edge in &edges[..=end] {
                let (faults, _) = self.scan_faults(edge)?;
                let (part, windows) = (edge - before, faults - faults_before);
                if part > 0.0 && windows > 0.0 {
                    let places = part / self.block().max(part / windows);
                    all += windows * met(places, ops * part / edges[end]) / places;
                }
                (before, faults_before) = (edge, faults);
            }
            // A block comes to all windows that it reaches over.
            Some(all.min(ops * (self.block() * faults_before / edges[end]).max(1.0)))
        };
        (0..edges.len()).map(up_to).try_fold(0.0, |most: f64, all| Some(most.max(all?)))
    }

    /// Whole pages of one block.
    fn needed(&self) -> f64 {
        self.pages(self.block()) * self.pass.page_bytes
    }

    /// A mapping without advice reads around the place that was missing.
    fn reads_around(&self) -> bool {
        self.pass.arm.method == "mmap" && self.pass.arm.word("advice") != "random"
    }

    /// How many random blocks are missing, and the bytes that come with them.
    fn random_misses(&self, resident: f64) -> (f64, f64) {
        let capacity = self.pass.capacity();
        let around = self.pass.read_ahead_bytes;
        let whole = self.pages(self.range()) * self.pass.page_bytes;
        // Memory that is full of the range at first stays so.
        if self.reads_around() && around > self.needed() && resident == 0.0 {
            let found = read_around(whole / around, self.ops(), capacity);
            return (found.misses, found.windows * around);
        }
        let window = if self.reads_around() { around.max(self.needed()).min(whole) } else { self.needed() };
        let misses = misses((self.range() / window).max(1.0), self.ops(), resident, capacity);
        (misses, misses * window)
    }

    /// Of a scan, the bytes that are not in memory when it reaches them. Linux evicts what was read longest ago, and in
    /// ascending order that is what is read next: of a file larger than memory nothing is found again. (Checked as
    /// `misses`, with read(2) and with a mapping: all of a file of 1.15 times the memory comes from the device in each pass.)
    fn scan_misses(&self, resident: f64) -> f64 {
        let fits = self.pass.capacity() >= 1.0;
        let first = self.bytes().min(self.range());
        let again = self.bytes() - first;
        let missing = if resident >= 1.0 { 0.0 } else { first } + if fits { 0.0 } else { again };
        if missing > 0.0 { self.pages(missing) * self.pass.page_bytes } else { 0.0 }
    }

    /// Waiting for the device, where pages are not in memory; `resident` is the share that is.
    fn waiting(&mut self, resident: f64) -> Result<(), NoCost> {
        let counted = self.pass.counts;
        if resident >= 1.0 && self.pass.capacity() >= 1.0 {
            return Ok(());
        }
        let page = self.pass.page_bytes;
        let by_page = self.pass.arm.method == "mmap" && !self.reads_around();
        if !self.is_random() && !by_page {
            let bytes = counted.device_bytes.unwrap_or_else(|| self.scan_misses(resident));
            return self.streaming(bytes, self.bytes());
        }
        let (draws, bytes) = match (self.is_random(), self.scan_misses(resident)) {
            (true, _) => self.random_misses(resident),
            (false, missing) => (missing / self.needed(), missing),
        };
        let (requests, request) = match (by_page, counted.device_requests, counted.device_bytes) {
            (_, Some(requests), Some(bytes)) if requests >= 1.0 => (requests, bytes / requests),
            (true, ..) => (draws * self.needed() / page, page),
            _ => (draws, if draws > 0.0 { bytes / draws } else { 0.0 }),
        };
        self.add_requests(request, 1, requests, requests)?;
        // Within the place that was asked for each page counts; what read-ahead brings beside it comes while the device works.
        let pages = draws * self.needed() / page;
        self.add(Cause::Device, Quantity::PagesBroughtIn, pages, pages * self.costs.page_in_ns.unwrap_or(0.0));
        Ok(())
    }

    /// Waiting for bytes that come in ascending order, of `all` that the pass goes over. Read-ahead fetches the next pages
    /// while a read call works on those that are there, so the device costs what it takes beyond the work on the same
    /// bytes; that pages are brought in is work of the processor, and the first request is waited for. A mapping waits for
    /// each window.
    fn streaming(&mut self, bytes: f64, all: f64) -> Result<(), NoCost> {
        if bytes <= 0.0 {
            return Ok(());
        }
        // What was calibrated has the copying in it.
        let ceiling = self.pass.ceiling_bytes_per_s.filter(|&rate| rate > 0.0).map(|rate| 1e9 / rate);
        let byte = self.costs.stream_byte_ns.or(ceiling).ok_or(Operation::AscendingReads)?;
        let work = self.components.iter().filter(|it| it.cause != Cause::Mapping).map(|it| it.ns).sum::<f64>();
        let hidden = if self.pass.arm.method == "mmap" { 0.0 } else { work * (bytes / all.max(1.0)).min(1.0) };
        let brought_in = self.pages(bytes) * self.costs.page_in_ns.unwrap_or(0.0) / self.pass.threads.at_once();
        let first = self.device(1, bytes.min(self.pass.read_ahead_bytes)).unwrap_or(0.0);
        let ns = (bytes * byte - hidden).max(brought_in).max(first);
        self.add(Cause::Device, Quantity::BytesFromDevice, bytes, ns);
        Ok(())
    }

    fn around_the_cache(&mut self) -> Result<(), NoCost> {
        self.add_requests(self.block(), self.pass.depth(), self.ops(), self.bytes() / self.block())?;
        if self.pass.condition.consume == Consume::Sum {
            let sum = self.costs.sum_buffer.at(self.block()).ok_or(Operation::Summing)?;
            self.add(Cause::Bytes, Quantity::BytesSummed, self.bytes(), self.bytes() / self.block() * sum);
        }
        Ok(())
    }

    /// What a request of so many bytes takes where each thread has `depth` in flight.
    fn device(&self, depth: u32, bytes: f64) -> Result<f64, NoCost> {
        let found = self.costs.device.iter().find(|it| it.queue_depth == depth);
        let ceiling = self.pass.ceiling_bytes_per_s;
        let each = device::request_ns(found.ok_or(Operation::InFlight { requests: depth })?, bytes, ceiling)?;
        Ok(each * self.pass.threads.request_share(self.costs, bytes, depth, ceiling))
    }

    /// How much more or less something costs in this range than in the one of the calibration.
    fn of_span(&self, by_span: &Curve) -> f64 {
        fit::of_span(by_span, self.range(), self.costs.range_bytes as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::read_around;

    /// Random reads of 4 KiB in a fresh mapping of an evicted file: their number, major faults, MiB from the device.
    /// (Linux 6.18, medians of three C processes; with a read-ahead of 8 MiB of 1 GiB, and of 128 KiB of 916 MiB.)
    const MEASURED: [(f64, f64, [f64; 3]); 6] = [
        (1024.0, 8.0, [100.0, 73.0, 548.0]),
        (1024.0, 8.0, [400.0, 139.0, 912.0]),
        (1024.0, 8.0, [1600.0, 180.0, 1016.0]),
        (1024.0, 8.0, [6400.0, 189.0, 1023.0]),
        (1024.0, 8.0, [25_600.0, 188.0, 1024.0]),
        (916.0, 0.125, [2000.0, 1753.0, 214.0]),
    ];

    #[test]
    fn reading_around_brings_in_what_a_program_was_seen_to_bring_in() {
        for (range, window, [draws, misses, brought]) in MEASURED {
            let found = read_around(range / window, draws, 1.0);
            assert!((found.misses / misses - 1.0).abs() < 0.04, "{draws}: {found:?}, {misses} seen");
            assert!((found.windows * window / brought - 1.0).abs() < 0.06, "{draws}: {found:?}, {brought} MiB seen");
        }
    }

    #[test]
    fn where_memory_is_full_a_share_of_all_reads_misses() {
        for capacity in [0.0, 0.25, 0.9] {
            let found = [1e6, 2e6].map(|draws| read_around(128.0, draws, capacity).misses);
            assert!(((found[1] - found[0]) / 1e6 - (1.0 - capacity)).abs() < 1e-9, "{capacity}: {found:?}");
        }
        let one = read_around(0.1, 50.0, 1.0);
        assert_eq!((one.misses, one.windows), (1.0, 0.1));
    }
}
