//! What something in the findings is about. Conditions of two comparisons may be equal, arms may be entered twice, and
//! labels are for people: things belong together when their ids are the same, and for no other reason.

use serde::{Deserialize, Serialize};

/// A condition of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ConditionId {
    /// Index into the record's `conditions`.
    pub condition_index: usize,
    /// Index of the `[[compare]]` that it comes from, in the record's experiment; absent where the record does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison_index: Option<usize>,
}

/// A cell of a run: an arm under a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellId {
    #[serde(flatten)]
    pub condition: ConditionId,
    /// Index into the record's `cells`.
    pub cell: usize,
}
