//! What a pass comes to at unit costs: so many of each thing, at so much each.
//!
//! The only place in the analysis that knows methods by name, because what a method does to reach a block is what is
//! added up here. A method that is not here has no account, and says so.

use schema::{
    Arm, Condition, Consume, State, Workload,
    unit_cost::{Cause, Curve, Term, UnitCosts},
};

use crate::words::rough_size;

use super::fit;

/// The pass that is added up.
pub(crate) struct Pass<'a> {
    pub(crate) arm: &'a Arm,
    pub(crate) condition: &'a Condition,
    pub(crate) page_bytes: f64,
    pub(crate) read_ahead_bytes: f64,
    /// What the device gives in ascending order at most.
    pub(crate) ceiling_bytes_per_s: Option<f64>,
    /// What was counted of it; where nothing is given, what is to be expected.
    pub(crate) counts: Counts,
    /// Of the pages that it reaches, the share that is in the page cache when it starts.
    pub(crate) resident_share: f64,
}

/// Of one pass.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) minor_faults: Option<f64>,
    pub(crate) device_bytes: Option<f64>,
    pub(crate) device_requests: Option<f64>,
}

/// The terms of a pass, or why there are none.
pub(crate) fn terms(costs: &UnitCosts, pass: &Pass) -> Result<Vec<Term>, String> {
    if pass.condition.workload.writes() {
        return Err("writing is not in the model".into());
    }
    let condition = pass.condition;
    if pass.arm.runtime != "native" {
        return Err(format!("unit costs are of native code, not of {}", pass.arm.runtime));
    }
    if condition.threads != 1 {
        return Err("unit costs are of one thread".into());
    }
    if condition.storage.is_some() {
        return Err("the device is throttled, and was calibrated as it is".into());
    }
    if !matches!(condition.consume, Consume::Sum | Consume::Touch) || condition.consumed_percent != 100 {
        return Err(format!("what {} does with bytes was not calibrated", condition.consume));
    }
    if !matches!(condition.state, State::Cold | State::Cached | State::Mapped | State::Locked) {
        return Err(format!("in state {} it is not known where pages are", condition.state));
    }
    let mut sum = Adding { costs, pass, terms: Vec::new() };
    match pass.arm.method.as_str() {
        "read" | "pread" => sum.read()?,
        "mmap" => sum.mapping()?,
        "direct" => sum.around_the_cache(1)?,
        "uring" if pass.arm.word("io") == "direct" => {
            sum.around_the_cache(pass.arm.number("queue_depth").unwrap_or(1))?;
        }
        other => return Err(format!("{other} was not calibrated")),
    }
    let finite = sum.terms.iter().all(|it| it.ns.is_finite() && it.ns >= 0.0);
    if finite { Ok(sum.terms) } else { Err("its costs are no finite number".into()) }
}

/// How many of `places` are met by `draws` at random.
fn met(places: f64, draws: f64) -> f64 {
    if places <= 1.0 { places.min(draws) } else { places * -(draws * (-1.0 / places).ln_1p()).exp_m1() }
}

struct Adding<'a> {
    costs: &'a UnitCosts,
    pass: &'a Pass<'a>,
    terms: Vec<Term>,
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
        let all = self.ops() * self.block();
        // The last block of a scan may be short.
        if self.is_random() || all >= self.range() + self.block() { all } else { all.min(self.range()) }
    }

    /// The share of the range that is reached at all.
    fn reached(&self) -> f64 {
        let places = self.range() / self.block();
        if self.is_random() { met(places, self.ops()) / places } else { (self.bytes() / self.range()).min(1.0) }
    }

    fn first_visits(&self) -> f64 {
        fit::first_visits(self.range(), self.pass.page_bytes, self.ops())
    }

    fn add(&mut self, cause: Cause, what: &str, count: f64, ns: f64) {
        let ns = ns.max(0.0);
        if count > 0.0 && ns > 0.0 {
            self.terms.push(Term { cause, what: what.to_string(), count, unit_ns: ns / count, ns });
        }
    }

    fn read(&mut self) -> Result<(), String> {
        let costs = self.costs;
        let call = costs.read_call_ns.ok_or("a read call was not calibrated")?;
        self.add(Cause::SystemCalls, "reads", self.ops(), self.ops() * call);
        if self.is_random() && self.pass.arm.method == "read" {
            let seek = costs.bare_call_ns.ok_or("a bare system call was not calibrated")?;
            self.add(Cause::SystemCalls, "seeks", self.ops(), self.ops() * seek);
        }
        let block = costs.copy.at(self.block()).ok_or("copying was not calibrated")?;
        let from = self.of_span(&costs.copy_from);
        self.add(Cause::Copies, "bytes copied", self.bytes(), self.bytes() / self.block() * block * from);
        if self.is_random() {
            let extra = costs.read_random.level_at(self.block()).ok_or("random reads were not calibrated")?;
            let extra = self.ops() * extra + self.first_visits() * costs.read_first_ns;
            self.add(Cause::Misses, "random places", self.ops(), extra * self.of_span(&costs.read_random_in));
        }
        if self.pass.condition.consume == Consume::Sum {
            let sum = costs.sum_buffer.at(self.block()).ok_or("summing was not calibrated")?;
            self.add(Cause::Bytes, "bytes summed", self.bytes(), self.bytes() / self.block() * sum);
        }
        if !self.pass.condition.state.is_held() {
            let around = costs.open_ns.zip(costs.close_ns).map(|(open, close)| open + close);
            self.add(Cause::Mapping, "open and close", 1.0, around.ok_or("opening was not calibrated")?);
        }
        self.waiting(false)
    }

    fn mapping(&mut self) -> Result<(), String> {
        let advice = self.pass.arm.word("advice");
        if !matches!(advice, "normal" | "random" | "sequential" | "") {
            return Err(format!("what advice {advice} does was not calibrated"));
        }
        self.in_place()?;
        if self.pass.condition.state.is_held() {
            return Ok(());
        }
        let costs = self.costs;
        let (map, unmap) = costs.map_ns.zip(costs.unmap).ok_or("mapping was not calibrated")?;
        let all_pages = (self.range() / self.pass.page_bytes).ceil();
        let populated = !matches!(self.pass.arm.word("populate"), "no" | "");
        let mapped = if populated {
            let populate = costs.populate.ok_or("populating was not calibrated")?;
            self.add(Cause::Mapping, "pages populated", all_pages, populate.fixed_ns + all_pages * populate.page_ns);
            all_pages
        } else {
            self.faults(all_pages)?
        };
        self.add(Cause::Mapping, "open, map, unmap, close", 1.0, map + unmap.fixed_ns);
        self.add(Cause::Mapping, "pages unmapped", mapped, mapped * unmap.page_ns);
        self.waiting(populated)
    }

    /// Reaching and consuming bytes that are in the page table.
    fn in_place(&mut self) -> Result<(), String> {
        let costs = self.costs;
        let blocks = self.bytes() / self.block();
        match self.pass.condition.consume {
            Consume::Touch => {
                let page = costs.touch_mapped_page_ns.ok_or("touching a mapped page was not calibrated")?;
                let touched = self.ops() * (self.block() / self.pass.page_bytes).ceil();
                self.add(Cause::Bytes, "pages touched", touched, touched * page);
            }
            _ => {
                let sum = costs.sum_mapped.at(self.block()).ok_or("summing was not calibrated")?;
                let sum = sum * self.of_span(&costs.sum_mapped_in);
                self.add(Cause::Bytes, "bytes summed in place", self.bytes(), blocks * sum);
            }
        }
        if self.is_random() {
            let extra = costs.mapped_random.level_at(self.block()).ok_or("random access was not calibrated")?;
            let extra = self.ops() * extra + self.first_visits() * costs.mapped_first_ns;
            self.add(Cause::Misses, "random places", self.ops(), extra * self.of_span(&costs.mapped_random_in));
        }
        Ok(())
    }

    /// Adds the faults, counted or expected, and returns how many pages they map.
    fn faults(&mut self, all_pages: f64) -> Result<f64, String> {
        let costs = self.costs;
        let missing = || "faults were not calibrated".to_string();
        let reach = self.range() * self.reached();
        let (scan_faults, scan_ns) =
            costs.faults.at(reach).zip(costs.faults_ns.at(reach)).filter(|it| it.0 > 0.0).ok_or_else(missing)?;
        if !self.is_random() {
            let faults = self.pass.counts.minor_faults.unwrap_or(scan_faults);
            self.add(Cause::Faults, "faults", faults, faults * scan_ns / scan_faults);
            return Ok((reach / self.pass.page_bytes).ceil());
        }
        let expected = self.windows_met().ok_or_else(missing)?;
        let faults = self.pass.counts.minor_faults.unwrap_or(expected);
        // The first fault of a block jumps; those after it go on from there.
        let jumps = faults.min(self.ops());
        let jump = costs.fault_random_ns.unwrap_or(scan_ns / scan_faults);
        self.add(Cause::Faults, "faults", faults, jumps * jump + (faults - jumps) * scan_ns / scan_faults);
        let all = costs.faults.at(self.range()).filter(|&all| all > 0.0).ok_or_else(missing)?;
        Ok((faults / all).min(1.0) * all_pages)
    }

    /// How many windows, each mapped by one fault, random blocks come to. They are small where the file begins, and large
    /// after that.
    fn windows_met(&self) -> Option<f64> {
        let range = self.range();
        let mut edges: Vec<f64> = self.costs.faults.points.iter().map(|it| it.0).filter(|&it| it < range).collect();
        edges.push(range);
        let (mut before, mut faults_before, mut all) = (0.0, 0.0, 0.0);
        for edge in edges {
            let faults = self.costs.faults.at(edge)?;
            let (part, windows) = (edge - before, faults - faults_before);
            if part > 0.0 && windows > 0.0 {
                let places = part / self.block().max(part / windows);
                all += windows * met(places, self.ops() * part / range) / places;
            }
            (before, faults_before) = (edge, faults);
        }
        Some(all)
    }

    /// Waiting for the device, where pages are not in memory.
    fn waiting(&mut self, whole_range: bool) -> Result<(), String> {
        let missing = if self.pass.condition.state == State::Cold { 1.0 } else { 1.0 - self.pass.resident_share };
        if missing <= 0.0 {
            return Ok(());
        }
        let page = self.pass.page_bytes;
        if whole_range || !self.is_random() {
            let bytes = if whole_range { self.range() } else { self.range() * self.reached() } * missing;
            let bytes = self.pass.counts.device_bytes.unwrap_or(bytes);
            // Read-ahead keeps the device busy while a read call copies, and what was calibrated has both; a mapping waits
            // for each window.
            let ceiling = self.pass.ceiling_bytes_per_s.filter(|&rate| rate > 0.0).map(|rate| 1e9 / rate);
            let byte = self.costs.stream_byte_ns.or(ceiling).ok_or("reading in ascending order was not calibrated")?;
            let working: f64 = self.terms.iter().map(|it| it.ns).sum();
            let hidden = if self.pass.arm.method == "mmap" { 0.0 } else { working };
            self.add(Cause::Device, "bytes from the device", bytes, bytes * byte - hidden);
            return Ok(());
        }
        let one = self.device(1)?;
        let around = self.pass.arm.method == "mmap" && self.pass.arm.word("advice") != "random";
        let by_page = self.pass.arm.method == "mmap" && !around;
        let needed = (self.block() / page).ceil() * page;
        let request = if around { self.pass.read_ahead_bytes.max(needed) } else { needed };
        let places = (self.range() / request).max(1.0);
        // Memory that holds only a part of the file forgets: every draw may miss again.
        let draws = if self.pass.resident_share > 0.0 { self.ops() * missing } else { met(places, self.ops()) };
        let (requests, request) = match (by_page, self.pass.counts.device_requests, self.pass.counts.device_bytes) {
            (_, Some(requests), Some(bytes)) if requests >= 1.0 => (requests, bytes / requests),
            (true, ..) => (draws * needed / page, page),
            _ => (draws, request),
        };
        let each = one.at(request).ok_or("the device was not calibrated")?;
        self.add(Cause::Device, &format!("requests of {}", rough_size(request)), requests, requests * each);
        // Within the place that was asked for each page counts; what read-ahead brings beside it comes while the device works.
        let pages = draws * needed / page;
        self.add(Cause::Device, "pages brought in", pages, pages * self.costs.page_in_ns.unwrap_or(0.0));
        Ok(())
    }

    fn around_the_cache(&mut self, depth: u32) -> Result<(), String> {
        let each = self.device(depth)?.at(self.block()).ok_or("the device was not calibrated")?;
        let what = format!("requests of {}", rough_size(self.block()));
        self.add(Cause::Device, &what, self.ops(), self.bytes() / self.block() * each);
        if self.pass.condition.consume == Consume::Sum {
            let sum = self.costs.sum_buffer.at(self.block()).ok_or("summing was not calibrated")?;
            self.add(Cause::Bytes, "bytes summed", self.bytes(), self.bytes() / self.block() * sum);
        }
        Ok(())
    }

    fn device(&self, depth: u32) -> Result<&Curve, String> {
        let found = self.costs.device.iter().find(|it| it.queue_depth == depth).map(|it| &it.request);
        found.ok_or_else(|| format!("the device was not calibrated with {depth} in flight"))
    }

    /// How much more or less something costs in this range than in the one of the calibration.
    fn of_span(&self, by_span: &Curve) -> f64 {
        let at = |span: f64| by_span.level_at(span);
        match at(self.range()).zip(at(self.costs.range_bytes as f64)) {
            Some((here, there)) if there > 0.0 => here / there,
            _ => 1.0,
        }
    }
}
