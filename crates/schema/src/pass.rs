//! What one pass took and did.

use serde::{Deserialize, Serialize};

/// Wall-clock time on the worker's monotonic clock. `open` and `close` are absent when the file was held open,
/// and of several files, which are opened and closed within the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    pub open_ns: Option<u64>,
    pub work_ns: u64,
    pub close_ns: Option<u64>,
}

impl Phases {
    /// Everything that was timed.
    pub fn total_ns(&self) -> u64 {
        self.work_ns.saturating_add(self.open_ns.unwrap_or(0)).saturating_add(self.close_ns.unwrap_or(0))
    }
}

/// The work that was done, so that arms which did different work are found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub ops: u64,
    /// Bytes handed to the consume, or written; repetitions counted.
    pub bytes: u64,
    /// Bytes of the file that were reached at least once: those that were handed to the consume, or written.
    pub distinct_bytes: u64,
    /// The same of the whole blocks, of which the consume looks at a part. Absent where it looks at all of them, and in
    /// records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_block_bytes: Option<u64>,
    /// Pages of the file of which the consume looked at a byte, or that were written to, each once: of the size that
    /// pages have where the worker runs. Absent in records of older versions, and of commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_pages: Option<u64>,
    /// Sixteen hexadecimal digits; what it sums depends on the consume, never on the order of blocks. Of a pass
    /// that wrote: zeros from the worker; in the record the sum of the whole range as a reader finds it afterwards.
    pub checksum: String,
    pub threads: u32,
    /// Reads in flight per thread.
    pub queue_depth: u32,
}

impl Tally {
    /// Reads in flight of all threads together.
    pub fn in_flight(&self) -> u32 {
        self.queue_depth.saturating_mul(self.threads.max(1))
    }
}
