//! What single things cost on this machine: what `analysis` fits from a calibration and accounts for with it (part of the
//! findings, never stored).

use serde::{Deserialize, Serialize};

use crate::{
    CellId, Condition, Fill, State, Workload, estimate::Estimate, reading::Reading, reason::Reason, record::Target,
};

pub use crate::calibration::{Calibration, CalibrationPass, CalibrationPoint, Loop};

/// Pages whose entries of the page table share a line of the cache.
pub const NEIGHBOURHOOD_PAGES: u64 = 8;

/// A cost that depends on a size: piecewise linear between what was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Size in bytes and nanoseconds, by ascending size.
    pub points: Vec<(f64, f64)>,
}

/// A cost that has a fixed part and one for each page of 4 KiB (or what the machine's pages are).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PerPage {
    pub fixed_ns: f64,
    pub page_ns: f64,
}

/// Requests that go around the page cache, so many in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceCost {
    pub queue_depth: u32,
    /// Nanoseconds for each request, by its size.
    pub request: Curve,
}

/// What single things cost here. What could not be fitted is absent, and what needs it is not accounted for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnitCosts {
    /// The window of the file in which all this was measured.
    pub range_bytes: u64,
    pub clock_ns: Option<f64>,
    pub bare_call_ns: Option<f64>,
    /// A read of a few bytes of a page in the CPU caches.
    pub read_call_ns: Option<f64>,
    /// A block in ascending order through pread(2), without the call: finding pages and copying, by block (and so by
    /// destination).
    pub copy: Curve,
    /// A block of 32 KiB copied, without the call, by how large the part of the file is that it comes from.
    pub copy_from: Curve,
    /// What a block at a random place costs beyond one in ascending order, by block.
    pub read_random: Curve,
    /// The same for the smallest block, by span.
    pub read_random_in: Curve,
    /// What the first visit to a neighbourhood (`NEIGHBOURHOOD_PAGES`) costs beyond that.
    pub read_first_ns: f64,
    /// Summing a block that a read brought into a buffer, by block.
    pub sum_buffer: Curve,
    /// Summing a mapped block in ascending order, by block.
    pub sum_mapped: Curve,
    /// Summing a mapped block of 32 KiB, by how large the part of the file is.
    pub sum_mapped_in: Curve,
    /// What a mapped block at a random place costs beyond one in ascending order, by block.
    pub mapped_random: Curve,
    /// The same for the smallest block, by span: misses of the TLB and the caches.
    pub mapped_random_in: Curve,
    /// As `read_first_ns`.
    pub mapped_first_ns: f64,
    /// One byte of each page of a mapped block in ascending order, a page.
    pub touch_mapped_page_ns: Option<f64>,
    /// One byte of a mapped page at a random place. Many of them are under way at once, of sums of whole blocks few.
    pub touch_random_ns: Option<f64>,
    /// The same in a part of the file that the first-level cache holds.
    pub touch_cached_ns: Option<f64>,
    /// As `read_first_ns`.
    pub touch_first_ns: f64,
    /// open(2) and close(2).
    pub open_ns: Option<f64>,
    pub close_ns: Option<f64>,
    /// open(2), mmap(2).
    pub map_ns: Option<f64>,
    /// MADV_POPULATE_READ beyond that.
    pub populate: Option<PerPage>,
    /// munmap(2), close(2).
    pub unmap: Option<PerPage>,
    /// Minor faults that a scan from the start of the range takes, and what they take, by how far it goes: a file's first
    /// folios are smaller than those that follow.
    pub faults: Curve,
    pub faults_ns: Curve,
    /// A minor fault in ascending order with the pages it maps, over the whole range; and how many pages that are.
    pub fault_ns: Option<f64>,
    pub pages_per_fault: Option<f64>,
    /// Of such a fault, what populating those pages would cost; the rest is the trap.
    pub fault_pages_ns: Option<f64>,
    /// A minor fault at a random place.
    pub fault_random_ns: Option<f64>,
    pub device: Vec<DeviceCost>,
    /// A page that comes from the device into the page cache, beyond the device's own work: allocated, entered, and its part of
    /// a request.
    pub page_in_ns: Option<f64>,
    /// A byte that comes from the device through read-ahead, in ascending order, with the copying that goes on meanwhile.
    pub stream_byte_ns: Option<f64>,
}

/// What single things cost where the page cache was filled in another way than in ascending order, and so holds the file in
/// folios of another size. What folios do not change is as there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FillCosts {
    pub fill: Fill,
    /// The window of the file that was filled so for the calibration.
    pub calibrated_bytes: u64,
    #[serde(flatten)]
    pub costs: UnitCosts,
}

/// A fault at a random place of a fresh mapping, with what `munmap` takes for the pages that it mapped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FaultCost {
    pub pages: f64,
    pub ns: f64,
}

impl UnitCosts {
    /// Absent where faults or unmapping were not calibrated.
    pub fn fault_and_unmap(&self) -> Option<FaultCost> {
        let pages = self.pages_per_fault?;
        Some(FaultCost { pages, ns: self.fault_random_ns.or(self.fault_ns)? + pages * self.unmap?.page_ns })
    }
}

/// What a component of a cost breakdown is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    SystemCalls,
    Copies,
    /// Places that are neither in the CPU caches nor in the TLB.
    Misses,
    /// What the consume does with the bytes.
    Bytes,
    Faults,
    /// Opening, mapping, populating, unmapping, closing.
    Mapping,
    Device,
}

impl Cause {
    pub const ALL: [Cause; 7] =
        [Cause::SystemCalls, Cause::Copies, Cause::Misses, Cause::Bytes, Cause::Faults, Cause::Mapping, Cause::Device];

    pub fn words(self) -> &'static str {
        match self {
            Cause::SystemCalls => "system calls",
            Cause::Copies => "copies",
            Cause::Misses => "TLB and cache misses",
            Cause::Bytes => "bytes consumed",
            Cause::Faults => "faults",
            Cause::Mapping => "open, map, unmap, close",
            Cause::Device => "device",
        }
    }
}

/// What a component counts. The words are those of `--json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Quantity {
    #[serde(rename = "reads")]
    Reads,
    #[serde(rename = "seeks")]
    Seeks,
    #[serde(rename = "bytes copied")]
    BytesCopied,
    #[serde(rename = "random places")]
    RandomPlaces,
    #[serde(rename = "bytes summed")]
    BytesSummed,
    #[serde(rename = "bytes summed in place")]
    BytesSummedInPlace,
    #[serde(rename = "pages touched")]
    PagesTouched,
    #[serde(rename = "open and close")]
    OpenAndClose,
    #[serde(rename = "open, map, unmap, close")]
    MapAndUnmap,
    #[serde(rename = "pages populated")]
    PagesPopulated,
    #[serde(rename = "pages unmapped")]
    PagesUnmapped,
    #[serde(rename = "faults")]
    Faults,
    #[serde(rename = "bytes from the device")]
    BytesFromDevice,
    /// Of `request_bytes` each.
    #[serde(rename = "requests")]
    Requests,
    #[serde(rename = "pages brought in")]
    PagesBroughtIn,
}

/// One part of a cost breakdown: a count times a unit cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostComponent {
    pub cause: Cause,
    pub what: Quantity,
    /// Of requests: how large each one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<f64>,
    pub count: f64,
    /// Its share of `ns`, which several threads that are at work at once take together.
    pub unit_ns: f64,
    /// Of a pass.
    pub ns: f64,
}

/// The cost breakdown of one cell, of a pass: what was counted, times calibrated unit costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostBreakdown {
    #[serde(flatten)]
    pub id: CellId,
    pub arm: String,
    pub condition: Condition,
    #[serde(rename = "terms")]
    pub components: Vec<CostComponent>,
    /// The sum of the components.
    #[serde(rename = "accounted_ns")]
    pub components_ns: f64,
    pub measured_ns: f64,
}

/// A cell as the calibration predicts it, with nothing counted or timed of the cell itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictedCell {
    #[serde(flatten)]
    pub id: CellId,
    pub arm: String,
    pub condition: Condition,
    pub predicted_ns_per_op: f64,
    pub measured_ns_per_op: f64,
    /// 0.1: a tenth too much; -0.1: a tenth too little.
    pub error: f64,
    /// Drawn by the run's seed to be the tenth that is spoken of.
    pub held_out: bool,
    /// Why its error is none of those that are reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_counted: Option<NotCounted>,
}

/// Why a predicted cell says nothing about predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotCounted {
    /// Blocks of this size, in this order and after this fill, were calibrated: it is looked up.
    Calibrated,
    /// The same prediction for the same condition stands in the list already, for another arm.
    Repeated,
}

/// How well the run's own cells are predicted by its calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predictions {
    pub cells: Vec<PredictedCell>,
    /// Median and largest absolute error of the held-out tenth.
    pub held_out_median: Option<f64>,
    pub held_out_worst: Option<f64>,
    /// Of all cells that are counted.
    pub median: Option<f64>,
    pub worst: Option<f64>,
    /// What most of the worst tenth have in common and others have not.
    #[serde(rename = "worst_have_data", default)]
    pub worst_have: Vec<Trait>,
}

/// What predicted cells may have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trait {
    Block { bytes: u64 },
    State(State),
    Arm(String),
    TooHigh,
    TooLow,
    Workload(Workload),
}

/// All that follows from a calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    pub unit_costs: UnitCosts,
    /// The same after other fills than `sequential`, those that were calibrated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fills: Vec<FillCosts>,
    #[serde(rename = "accounts")]
    pub breakdowns: Vec<CostBreakdown>,
    pub predictions: Predictions,
    /// Of comparisons between two accounted cells, the share of the difference that is explained, in the middle.
    pub explained_median: Option<f64>,
    /// Of cold random reads: from how many reads on another arm is the faster one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub break_evens: Vec<BreakEven>,
}

/// From how many reads of a cold file on the arm takes less time than the baseline, by unit costs. What a mapping reads ahead
/// with each miss stays in memory, so the more reads there are, the fewer of them miss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BreakEven {
    /// The condition that was measured with fewer reads, and the arm's cell in it.
    pub id: CellId,
    pub baseline: String,
    pub arm: String,
    /// All of the file is read from.
    pub file_bytes: u64,
    pub block_bytes: u64,
    /// The number of reads for which both are expected to take the same time; the interval is from where either may be the
    /// faster one, by how far off predictions for this run's own cells are.
    pub reads: Estimate,
    /// What is expected on the way, from few reads to many.
    pub points: Vec<BreakEvenPoint>,
    /// The numbers of reads that were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<BreakEvenMeasured>,
}

/// How many times faster the arm was with so many reads, and what is expected of that from all that was measured but these
/// passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BreakEvenMeasured {
    pub reads: u64,
    pub speedup: f64,
    pub expected: f64,
}

/// So many reads, and what they are expected to take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BreakEvenPoint {
    pub reads: u64,
    pub baseline_s: f64,
    pub arm_s: f64,
}

/// A question that was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    pub schema_version: u32,
    /// The run whose calibration answers.
    pub run: String,
    pub target: Target,
    pub memory_bytes: u64,
    /// Of the file's pages, the share that is in memory when the pass starts: as much as memory holds; 0 in state `cold`.
    pub resident_share: f64,
    pub arms: Vec<ForecastArm>,
    /// What the answer rests on, and where it leaves what was measured.
    #[serde(rename = "remarks_data", default)]
    pub remarks: Vec<ForecastRemark>,
}

/// What to know of a forecast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForecastRemark {
    /// Memory holds a share of the file, so the others of the random reads through the page cache come from the device.
    RandomMisses {
        memory_bytes: u64,
        file_bytes: u64,
        resident_share: f64,
        /// Those that go through the page cache; empty where all do.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        arms: Vec<String>,
    },
    /// The same of what repeated scans read: they evict each page before it is read again.
    ScansEvict {
        memory_bytes: u64,
        range_bytes: u64,
        resident_share: f64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        arms: Vec<String>,
    },
    /// The calibration covered less than the file.
    BeyondCalibration { calibrated_bytes: u64, file_bytes: u64 },
    /// Requests far larger than any that was calibrated are bounded by the device's ceiling.
    BeyondRequests { bytes: u64, calibrated_bytes: u64 },
    /// Unit costs are of one thread.
    Threads { threads: u32, cpus: u32 },
    /// The device is assumed to be that of the run.
    Device { name: String },
    /// Too few cells show the error of the unit costs: the interval is this factor in each direction.
    TooFewCells { waits: Waits, factor: f64 },
    /// The interval spans the errors of so many cells.
    Interval { cells: usize, waits: Waits, fill: Option<Fill> },
    /// Nearly all of these errors lie on one side.
    OneSided(Lean),
    /// The kernel of the run, and this one.
    OtherKernel { then: String, now: String },
    /// The run is of another machine than the one that asks: its nodename.
    OtherMachine { host: String },
}

/// What a pass waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waits {
    Memory,
    /// The device, through the page cache.
    PageCache,
    /// The device alone, whatever is in memory.
    Around,
}

/// What unit costs predict for nearly all cells of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lean {
    TooShort,
    TooLong,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForecastArm {
    pub arm: String,
    pub condition: Condition,
    /// The whole pass, in seconds; or why it cannot be predicted.
    pub seconds: Reading<Estimate, Reason>,
    #[serde(rename = "terms")]
    pub components: Vec<CostComponent>,
}

impl Curve {
    /// At a size: straight between two points, level below the first, in proportion beyond the last.
    pub fn at(&self, size: f64) -> Option<f64> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        if size <= first.0 {
            return Some(first.1);
        }
        if size >= last.0 {
            return Some(last.1 * size / last.0.max(1.0));
        }
        let right = self.points.iter().position(|it| it.0 >= size)?;
        let ((x0, y0), (x1, y1)) = (self.points[right - 1], self.points[right]);
        Some(if x1 > x0 { y0 + (y1 - y0) * (size - x0) / (x1 - x0) } else { y1 })
    }

    /// For what changes from one cache to the next and does not grow with size: straight over the logarithm of the size,
    /// level at both ends.
    pub fn level_at(&self, size: f64) -> Option<f64> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        if size <= first.0 {
            return Some(first.1);
        }
        let Some(right) = self.points.iter().position(|it| it.0 >= size) else { return Some(last.1) };
        let ((x0, y0), (x1, y1)) = (self.points[right - 1], self.points[right]);
        let share = (size / x0).ln() / (x1 / x0).ln();
        Some(if share.is_finite() { y0 + (y1 - y0) * share } else { y1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_straight_between_its_points_level_before_and_in_proportion_after_them() {
        let curve = Curve { points: vec![(64.0, 100.0), (2048.0, 300.0), (32_768.0, 3300.0)] };
        assert_eq!(curve.at(1.0), Some(100.0));
        assert_eq!(curve.at(64.0), Some(100.0));
        assert_eq!(curve.at(1056.0), Some(200.0));
        assert_eq!(curve.at(2048.0), Some(300.0));
        assert_eq!(curve.at(65_536.0), Some(6600.0));
        assert_eq!(curve.level_at(65_536.0), Some(3300.0));
        assert_eq!(curve.level_at(1.0), Some(100.0));
        assert!((curve.level_at(8192.0).unwrap() - 1800.0).abs() < 1e-9);
        assert_eq!(Curve::default().at(64.0), None);
        assert_eq!(Curve::default().level_at(64.0), None);
    }
}
