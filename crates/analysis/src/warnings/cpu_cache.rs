//! Conditions so small that the processor's caches may have answered instead of memory.

use schema::{State, findings::WithinCpuCache};

use crate::{
    measured::Run,
    words::{count, size},
};

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

pub(crate) fn warning(within: &[WithinCpuCache]) -> Option<String> {
    let widest = within.iter().max_by_key(|it| it.range_bytes)?;
    let conditions = count(within.len() as u64, "condition reads", "conditions read");
    Some(format!(
        "{conditions} at most {} of the file, which fits into the CPU's last-level cache of {}: reads may have hit \
         this cache instead of memory. This holds for all arms; use a larger range to measure memory",
        size(widest.range_bytes as f64),
        size(widest.cache_bytes as f64)
    ))
}
