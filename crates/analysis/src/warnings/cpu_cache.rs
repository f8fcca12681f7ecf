//! Conditions so small that the processor's caches may have answered instead of memory.

use schema::{State, findings::WithinCpuCache, warning::Warning};

use crate::measured::{Cell, Run};

/// Every condition under which an arm was measured whose range fits into the last-level cache and is in memory before a pass:
/// the largest of such ranges. What comes from the device, also around the page cache, came through memory during the pass, and
/// a command covers files of its own choice.
pub(crate) fn all(run: &Run) -> Vec<WithinCpuCache> {
    let Some(cache_bytes) = run.record.environment.last_level_cache_bytes() else { return Vec::new() };
    let in_memory = [State::Cached, State::Mapped, State::Locked, State::AsIs];
    let mut within: Vec<WithinCpuCache> = Vec::new();
    for cell in run.cells.iter().filter(|it| !it.passes.is_empty()) {
        let (id, own, range_bytes) = (cell.id.condition, cell.own, cell.own.range.bytes);
        let is_there = in_memory.contains(&own.state) && !cell.arm().is_direct() && may_be_there(cell);
        if !is_there || own.is_of_commands() || own.workload.writes() || range_bytes > cache_bytes {
            continue;
        }
        match within.iter_mut().find(|it| it.id == id) {
            Some(known) => known.range_bytes = known.range_bytes.max(range_bytes),
            None => within.push(WithinCpuCache { id, range_bytes, cache_bytes }),
        }
    }
    within
}

/// In state as-is the range may be anywhere.
fn may_be_there(cell: &Cell) -> bool {
    let known = cell.passes.iter().filter_map(|it| it.resident_before);
    cell.own.state != State::AsIs || known.clone().count() == 0 || known.into_iter().any(|it| it.pages == it.of)
}

pub(crate) fn warning(within: &[WithinCpuCache]) -> Option<Warning> {
    let widest = within.iter().max_by_key(|it| it.range_bytes)?;
    let WithinCpuCache { range_bytes, cache_bytes, .. } = *widest;
    Some(Warning::WithinCpuCache { conditions: within.len(), range_bytes, cache_bytes })
}
