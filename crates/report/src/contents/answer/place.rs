//! What a condition is called where the answer speaks of it.

use schema::{Bytes, Condition, ConditionId, Fill, Labels, Names, Record, State, Workload, fields, findings::MapLine};

use crate::layout::{number::GLUE, words::counted};

pub(super) struct Words<'a> {
    pub(super) record: &'a Record,
    pub(super) names: &'a Names,
    pub(super) labels: &'a Labels,
    pub(super) map: &'a [MapLine],
}

impl Words<'_> {
    /// `random 64 B, cached`.
    pub(super) fn place(&self, id: ConditionId) -> Option<String> {
        Some(self.place_of(id, self.record.conditions.get(id.condition_index)?))
    }

    /// Of arms that have settings of their own.
    pub(super) fn place_of(&self, id: ConditionId, own: &Condition) -> String {
        let work = match own.block().as_str() {
            "" => own.work(),
            _ => format!("{} {}", own.workload, size(own.block_bytes)),
        };
        format!("{work}, {}", start(self.labels, id, own))
    }
}

/// What a start is called: the state, and how the cache was filled where that is not the usual way.
pub(crate) fn start(labels: &Labels, id: ConditionId, condition: &Condition) -> String {
    let fill_words = fields::FIELDS.iter().find(|it| it.name == "fill").map(|it| (it.words)(condition));
    let state = match (condition.state, condition.fill()) {
        (State::Cached, Some(Fill::Found)) => "now".to_string(),
        (state, None | Some(Fill::Sequential)) => state.to_string(),
        (state, Some(Fill::Found)) => format!("now, {state}"),
        (state, Some(fill)) => format!("{state}, fill {fill}"),
    };
    let also = labels.also(id.condition_index);
    let also = also.split(", ").filter(|it| !it.is_empty() && Some(*it) != fill_words.as_deref());
    [state.as_str()].into_iter().chain(also).collect::<Vec<&str>>().join(", ")
}

/// Where the answers to a condition stand.
pub(super) fn column(condition: &Condition) -> (Workload, u64) {
    match condition.workload.has_blocks() {
        true => (condition.workload, condition.block_bytes),
        false => (condition.workload, condition.ops),
    }
}

/// `random 64 KiB`, `replay of 19,616 accesses`.
pub(super) fn work(workload: Workload, of: u64) -> String {
    let joint = if workload == Workload::Replay { " of " } else { " " };
    format!("{workload}{joint}{}", size_of(workload, of))
}

/// What distinguishes columns of one workload.
pub(super) fn size_of(workload: Workload, of: u64) -> String {
    match workload {
        Workload::Replay => counted(of as usize, "access", "accesses"),
        _ => size(of),
    }
}

/// `64 KiB`, not to be broken.
pub(super) fn size(bytes: u64) -> String {
    Bytes(bytes).exact().replace(' ', &GLUE.to_string())
}
