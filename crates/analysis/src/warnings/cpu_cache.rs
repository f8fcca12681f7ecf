//! Conditions so small that the processor's caches may have answered instead of memory.

use schema::{State, findings::WithinCpuCache, warning::Warning};

use crate::measured::Run;

/// Every condition under which an arm was measured whose range fits into the last-level cache and is in memory before a pass:
/// the largest of such ranges. What comes from the device came through memory during the pass, and a command covers files of
/// its own choice.
pub(crate) fn all(run: &Run) -> Vec<WithinCpuCache> {
    let Some(cache_bytes) = run.record.environment.last_level_cache_bytes() else { return Vec::new() };
    let in_memory = [State::Cached, State::Mapped, State::Locked, State::AsIs];
    let mut within: Vec<WithinCpuCache> = Vec::new();
    for cell in run.cells.iter().filter(|it| !it.passes.is_empty()) {
        let (id, own, range_bytes) = (cell.id.condition, cell.own, cell.own.range.bytes);
        if !in_memory.contains(&own.state) || own.is_of_commands() || own.workload.writes() || range_bytes > cache_bytes
        {
            continue;
        }
        match within.iter_mut().find(|it| it.id == id) {
            Some(known) => known.range_bytes = known.range_bytes.max(range_bytes),
            None => within.push(WithinCpuCache { id, range_bytes, cache_bytes }),
        }
    }
    within
}

pub(crate) fn warning(within: &[WithinCpuCache]) -> Option<Warning> {
    let widest = within.iter().max_by_key(|it| it.range_bytes)?;
    let WithinCpuCache { range_bytes, cache_bytes, .. } = *widest;
    Some(Warning::WithinCpuCache { conditions: within.len(), range_bytes, cache_bytes })
}
