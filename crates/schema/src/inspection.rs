//! What `faultline inspect` sees at one moment, of a file or of a process. Nothing is measured, so this is no record.

use serde::{Deserialize, Serialize};

use crate::{
    Fill,
    reading::{Reading, Value},
    record::FolioOrder,
    unit_cost::FaultCost,
};

/// What `faultline inspect --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inspection {
    File(Box<FileView>),
    Process(ProcessView),
}

/// Where the pages of a file are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileView {
    pub path: String,
    pub bytes: u64,
    pub page_bytes: u64,
    pub file_system: String,
    pub residency: Reading<Residency>,
    /// The share that is resident of each of so many equal stretches of the file, 0 to 1.
    pub stretches: Reading<Vec<f64>>,
    /// Resident pages by folio size, with root.
    pub folio_orders: Reading<Vec<FolioOrder>>,
    /// Pages that one fault maps, as the median of some places; for any user to whom the kernel reports the residency.
    pub pages_per_fault: Reading<f64>,
    /// What that means for mappings of it here, by the unit costs of a saved run.
    pub faults: Reading<FaultView>,
    /// Processes that have it mapped, as far as this user may look: `4711 (mongod)`.
    pub mapped_by: Vec<String>,
}

/// A fault on the folios that a file has, and on those that it would have, with the unmapping of what it maps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultView {
    /// The run whose unit costs these are.
    pub run: String,
    /// What it costs after this fill, whose faults map as much as here.
    pub like: Fill,
    pub here: FaultCost,
    /// After the file was evicted and read once in ascending order.
    pub in_order: FaultCost,
}

impl Value for FaultView {
    fn is_finite(&self) -> bool {
        [self.here, self.in_order].iter().all(|it| it.pages.is_finite() && it.ns.is_finite())
    }
}

/// Pages of a file, by what the page cache says of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Residency {
    /// `cachestat` or `mincore`.
    pub asked: String,
    pub pages: u64,
    pub resident: u64,
    /// The rest is reported only by cachestat(2) (Linux 6.5).
    pub dirty: Reading<u64>,
    pub under_writeback: Reading<u64>,
    /// Were resident before, and still have a shadow entry in the kernel.
    pub evicted: Reading<u64>,
    /// … so recently that reading them now would count as a refault of the working set.
    pub recently_evicted: Reading<u64>,
}

impl Value for Residency {}

/// What a process has mapped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessView {
    pub pid: u32,
    pub command: String,
    pub mappings: Vec<MappingView>,
}

/// One mapping. Bytes are of the page table: a page can be in the page cache and not be resident here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingView {
    /// A path, `[heap]`, or nothing for anonymous memory.
    pub name: String,
    /// Of a file, and not of anonymous memory.
    pub is_file: bool,
    pub addresses: String,
    pub offset: u64,
    pub bytes: u64,
    /// `rw-`
    pub protection: String,
    pub shared: bool,
    pub resident_bytes: u64,
    pub dirty_bytes: u64,
    pub locked_bytes: u64,
    pub huge_bytes: u64,
    pub swapped_bytes: u64,
}
