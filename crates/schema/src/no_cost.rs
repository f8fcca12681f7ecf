//! Why the time of a pass does not follow from unit costs, as data; `report` makes the words.

use serde::{Deserialize, Serialize};

use crate::{Consume, Fill, State};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoCost {
    /// The model is of reading passes.
    Writes,
    /// It is of blocks of one size.
    Replay,
    /// Unit costs are of native code.
    Runtime {
        runtime: String,
    },
    /// Unit costs are of one thread.
    Threads,
    /// A pass was calibrated by itself, and one beside a second thread takes what that costs, too.
    Beside,
    /// Calibrated blocks lie within as few pages as they fit into.
    AcrossPages,
    /// The device was calibrated without a throttle.
    Throttled,
    /// It is unknown where the pages are.
    State {
        state: State,
    },
    TooLargeToLock,
    /// O_DIRECT reads no blocks but multiples of at least so many bytes.
    Unaligned {
        sector_bytes: u64,
    },
    NotFinite,
    NotCalibrated(Operation),
    /// The folios of this fill were not calibrated.
    Fill {
        fill: Fill,
    },
    /// Folios of this size were not.
    Folios {
        bytes: u64,
    },
    /// Folios of the size here were, and faults mapped another number of pages than here.
    PagesPerFault {
        pages: u64,
    },
    /// Requests so large were not calibrated, and nothing else says what the device gives.
    RequestSize {
        bytes: u64,
        largest: u64,
    },
    /// Of the newest saved runs of a machine, so many were looked at, and none has unit costs of this kernel and of files
    /// on a file system of its kind.
    NoRun {
        looked_at: u64,
        /// Of the file.
        file_system: String,
        /// It is nowhere but in memory.
        in_memory: bool,
    },
    /// The same of a disk.
    NoRunOfDisk {
        looked_at: u64,
        disk: String,
    },
    /// No single disk is known that a file lies on.
    NoDisk,
    /// How far is read ahead of a file is not known.
    NoWindow,
    NoUnitCosts {
        run: String,
    },
    NoFaults {
        run: String,
    },
}

/// What a calibration may lack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    ReadCall,
    BareCall,
    Copying,
    RandomReads,
    Summing,
    Opening,
    Populating,
    Mapping,
    TouchingPages,
    RandomAccess,
    Faults,
    AscendingReads,
    Device,
    InFlight {
        requests: u32,
    },
    Consume {
        consume: Consume,
    },
    /// Of each block, so much is consumed.
    Part {
        percent: u32,
    },
    Method {
        method: String,
    },
    Advice {
        advice: String,
    },
}

impl From<Operation> for NoCost {
    fn from(operation: Operation) -> NoCost {
        NoCost::NotCalibrated(operation)
    }
}
