//! The memory cgroup of the worker, v1 or v2: what it holds after the pass, and what happened in it meanwhile. In state
//! `limited` that is the worker's own group; otherwise the one that faultline runs in, with all other processes in it.

use schema::record::Reading;
use sys::cgroup::{self, Memory};

use super::{Probe, ProbeKind, difference};

/// A reading, and where its number stands.
type Row = (&'static str, fn(&Memory) -> Option<u64>);

/// What a group holds.
const LEVELS: &[Row] = &[
    ("group_used_bytes", |it| it.used_bytes),
    ("group_cache_bytes", |it| it.file_bytes),
    ("group_anonymous_bytes", |it| it.anonymous_bytes),
    ("group_mapped_bytes", |it| it.mapped_bytes),
    ("group_dirty_bytes", |it| it.dirty_bytes),
    ("group_writeback_bytes", |it| it.writeback_bytes),
];

/// What happened in it.
const COUNTERS: &[Row] = &[
    ("group_faults", |it| it.faults),
    ("group_major_faults", |it| it.major_faults),
    ("group_refaulted_pages", |it| it.refaulted_pages),
    ("group_limit_hits", |it| it.limit_hits),
];

pub(super) const KIND: ProbeKind = ProbeKind {
    name: "memory-group",
    about: "what the worker's memory cgroup holds after the pass, and faults, refaults and limit hits in it, from memory.stat",
    readings: &[
        LEVELS[0].0,
        LEVELS[1].0,
        LEVELS[2].0,
        LEVELS[3].0,
        LEVELS[4].0,
        LEVELS[5].0,
        COUNTERS[0].0,
        COUNTERS[1].0,
        COUNTERS[2].0,
        COUNTERS[3].0,
    ],
    make: |_| Box::new(MemoryGroup { before: Err("not started".into()) }),
};

struct MemoryGroup {
    before: Result<Memory, String>,
}

impl Probe for MemoryGroup {
    fn start(&mut self, pid: u32) {
        self.before = cgroup::memory_of(pid);
    }

    fn stop(&mut self, pid: u32) -> Vec<(&'static str, Reading<f64>)> {
        let after = cgroup::memory_of(pid);
        let field = |look: &Result<Memory, String>, of: fn(&Memory) -> Option<u64>| {
            look.as_ref()
                .map_err(String::clone)
                .and_then(|it| of(it).ok_or_else(|| "not counted for this group".into()))
        };
        let levels = LEVELS.iter().map(|&(name, of)| (name, Reading::from(field(&after, of)).map(|it| it as f64)));
        let counters =
            COUNTERS.iter().map(|&(name, of)| (name, difference(&field(&self.before, of), &field(&after, of))));
        levels.chain(counters).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_a_reading() {
        assert!(LEVELS.iter().chain(COUNTERS).map(|it| it.0).eq(KIND.readings.iter().copied()));
    }
}
