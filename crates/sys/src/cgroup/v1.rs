//! The files of cgroup v1: the `memory` and `blkio` controllers (Documentation/admin-guide/cgroup-v1).

use std::{io, path::Path};

use super::{Limits, Memory, field, get, not_in_force, number, set};
use crate::page_bytes;

const BYTES: &str = "blkio.throttle.read_bps_device";
const OPERATIONS: &str = "blkio.throttle.read_iops_device";

pub(super) fn limit_memory(group: &Path, limits: &Limits) -> io::Result<()> {
    const FILE: &str = "memory.limit_in_bytes";
    let Some(bytes) = limits.memory_bytes else { return Ok(()) };
    // The worker's own memory must not go to swap: swap traffic would be counted as the file's. Without swap in the
    // kernel there is no such file, and nothing to prevent.
    let _ = set(group, "memory.swappiness", "0");
    set(group, FILE, &bytes.to_string())?;
    match number(group, FILE) {
        // The kernel counts in pages.
        Some(found) if found <= bytes && bytes - found < page_bytes() => Ok(()),
        found => Err(not_in_force(group, FILE, &bytes.to_string(), &found.map_or(String::new(), |it| it.to_string()))),
    }
}

pub(super) fn throttle(group: &Path, limits: &Limits) -> io::Result<()> {
    let device = limits.device.as_deref().unwrap_or_default();
    for (file, limit) in [(BYTES, limits.read_bytes_per_s), (OPERATIONS, limits.read_ops_per_s)] {
        let Some(limit) = limit else { continue };
        let rule = format!("{device} {limit}");
        set(group, file, &rule)?;
        let found = get(group, file)?;
        if !found.lines().any(|line| line == rule) {
            return Err(not_in_force(group, file, &rule, &found));
        }
    }
    Ok(())
}

/// Releases throttled requests; a failure costs time only.
pub(super) fn release(group: &Path, device: &str) {
    for file in [BYTES, OPERATIONS] {
        let _ = set(group, file, &format!("{device} 0"));
    }
}

pub(super) fn memory(group: &Path) -> Memory {
    let stat = get(group, "memory.stat").unwrap_or_default();
    let control = get(group, "memory.oom_control").unwrap_or_default();
    // With the groups below it, as its usage is, and as v2 counts everything.
    let total = |name: &str| field(&stat, &format!("total_{name}"));
    Memory {
        used_bytes: number(group, "memory.usage_in_bytes"),
        peak_bytes: number(group, "memory.max_usage_in_bytes"),
        file_bytes: total("cache"),
        anonymous_bytes: total("rss"),
        mapped_bytes: total("mapped_file"),
        dirty_bytes: total("dirty"),
        writeback_bytes: total("writeback"),
        faults: total("pgfault"),
        major_faults: total("pgmajfault"),
        // One field for both kinds before Linux 5.9.
        refaulted_pages: total("workingset_refault_file").or_else(|| total("workingset_refault")),
        limit_hits: number(group, "memory.failcnt"),
        out_of_memory_kills: field(&control, "oom_kill"),
    }
}

/// Lines read `254:0 Read 4096`; a device that was never read has none.
pub(super) fn device_read_bytes(group: &Path, device: &str) -> io::Result<u64> {
    let text = get(group, "blkio.throttle.io_service_bytes")?;
    Ok(field(&text, &format!("{device} Read")).unwrap_or(0))
}
