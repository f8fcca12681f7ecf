//! Everything that crosses a process or the disk: experiments as people write them, the conversation with a
//! worker, the record of a run, and the findings that `--json` prints. The only crate that derives serde.
//! It defines names and formats, and no behaviour.

pub mod across;
pub mod advice;
pub mod advised;
pub mod answer;
pub mod arm;
pub mod beats;
pub mod builtin;
pub mod calibration;
pub mod caution;
pub mod claims;
pub mod command;
pub mod conclusion;
pub mod condition;
pub mod counted;
pub mod environment;
pub mod estimate;
pub mod experiment;
pub mod explanation;
pub mod fields;
pub mod fill;
pub mod findings;
pub mod gate;
pub mod identity;
pub mod inspection;
pub mod label;
pub mod leftover;
pub mod line;
pub mod loaded;
pub mod machine;
pub mod mapped_runtime;
pub mod names;
pub mod no_cost;
pub mod noise;
pub mod observation;
pub mod own;
pub mod pass;
pub mod plan;
pub mod protocol;
pub mod reading;
pub mod reason;
pub mod record;
pub mod replaced;
pub mod runtime;
pub mod saved;
pub mod skip;
mod span;
pub mod timeline;
pub mod trace;
pub mod unit_cost;
pub mod units;
pub mod warning;
pub mod work;

pub use arm::Arm;
pub use condition::{Beside, Condition, Consume, Descriptor, Durability, Layout, State, Workload};
pub use experiment::Experiment;
pub use fill::Fill;
pub use findings::Findings;
pub use identity::{CellId, ConditionId};
pub use label::Labels;
pub use names::Names;
pub use record::{Reading, Record};
pub use skip::Skip;
pub use span::Span;
pub use units::Bytes;

/// Each value once, in the order in which they first appear. For lists that a person writes: it compares each with all.
pub fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen: Vec<T> = Vec::new();
    for it in all {
        if !seen.contains(&it) {
            seen.push(it);
        }
    }
    seen
}

/// The values of each key, in the order in which they first appear; for short lists, as `distinct`.
pub fn grouped<K: PartialEq, V>(all: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in all {
        match groups.iter_mut().find(|it| it.0 == key) {
            Some(known) => known.1.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// The version that records and `--json` documents carry. Older ones keep loading (`crates/schema/tests/records`).
pub const SCHEMA_VERSION: u32 = 1;
