//! Conditions so small that the processor's caches may have answered instead of memory.

use schema::{State, findings::WithinCpuCache, warning::Warning};

use crate::measured::Run;

/// Every measured condition whose range fits into the last-level cache and is in memory before a pass. What comes from the
/// device came through memory during the pass, and a command covers files of its own choice.
pub(crate) fn all(run: &Run) -> Vec<WithinCpuCache> {
    let Some(cache_bytes) = run.record.environment.last_level_cache_bytes() else { return Vec::new() };
    let in_memory = [State::Cached, State::Mapped, State::Locked, State::AsIs];
    let mut within: Vec<WithinCpuCache> = Vec::new();
    for cell in run.cells.iter().filter(|it| !it.passes.is_empty()) {
        let condition = cell.condition;
        if !in_memory.contains(&condition.state)
            || condition.is_of_commands()
            || condition.workload.writes()
            || condition.range.bytes > cache_bytes
            || within.iter().any(|it| it.id == cell.id.condition)
        {
            continue;
        }
        within.push(WithinCpuCache { id: cell.id.condition, range_bytes: condition.range.bytes, cache_bytes });
    }
    within
}

pub(crate) fn warning(within: &[WithinCpuCache]) -> Option<Warning> {
    let widest = within.iter().max_by_key(|it| it.range_bytes)?;
    let WithinCpuCache { range_bytes, cache_bytes, .. } = *widest;
    Some(Warning::WithinCpuCache { conditions: within.len(), range_bytes, cache_bytes })
}
