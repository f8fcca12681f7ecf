//! Why a cell is not measured. Code asks for the kind; people read the text, which is made here and nowhere else.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// The reason for which a cell has no passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skip {
    /// A pass of the least useful size does not fit into the budget, as a trial showed. The arm itself is there.
    TooSlow {
        ns_per_block: f64,
        /// Of the least useful pass.
        blocks: u64,
        /// What such a pass takes.
        pass_ns: f64,
        /// About so many times the budget are needed.
        budgets: f64,
    },
    /// The machine lacks what the arm needs.
    Unavailable(String),
    /// The state, the limits or the workload cannot be had of this target.
    Impossible(String),
    /// The range of the experiment has no byte of the file in it.
    EmptyRange { offset_bytes: u64, file_bytes: u64 },
    /// It failed in a trial, in a way that a second time does not change.
    Failed(String),
    /// As a record of an earlier version has it.
    #[serde(untagged)]
    Other(String),
}

impl Skip {
    /// Whether a larger budget is all that is needed.
    pub fn is_for_want_of_time(&self) -> bool {
        matches!(self, Skip::TooSlow { .. })
    }
}

impl From<String> for Skip {
    fn from(reason: String) -> Skip {
        Skip::Other(reason)
    }
}

impl From<&str> for Skip {
    fn from(reason: &str) -> Skip {
        Skip::Other(reason.into())
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Skip::TooSlow { ns_per_block, blocks, pass_ns, budgets } => write!(
                f,
                "too slow for this budget: {} per block in a trial, so {} for one pass of {blocks} blocks; it fits with \
                 about {budgets:.0} times the --budget",
                duration(*ns_per_block),
                duration(*pass_ns)
            ),
            Skip::EmptyRange { offset_bytes: 0, .. } => f.write_str("the range of this comparison has no byte in it"),
            Skip::EmptyRange { offset_bytes, file_bytes } => write!(
                f,
                "the range of this comparison has no byte in it: it begins at {} of a file of {}",
                Bytes(*offset_bytes),
                Bytes(*file_bytes)
            ),
            Skip::Unavailable(reason) | Skip::Impossible(reason) | Skip::Failed(reason) | Skip::Other(reason) => {
                f.write_str(reason)
            }
        }
    }
}

fn duration(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.1} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_read_back_as_it_was_written_and_text_of_older_records_is_kept() {
        let skips = [
            Skip::TooSlow { ns_per_block: 45_900.5, blocks: 1024, pass_ns: 98.2e6, budgets: 3.0 },
            Skip::Unavailable("io_uring is not allowed here".into()),
            Skip::Impossible("never cold".into()),
            Skip::EmptyRange { offset_bytes: 1 << 40, file_bytes: 10_000 },
            Skip::Failed("exit code 1".into()),
            Skip::Other("too slow for this budget: 3 ms per block".into()),
        ];
        for skip in skips {
            let json = serde_json::to_string(&skip).unwrap();
            assert_eq!(serde_json::from_str::<Skip>(&json).unwrap(), skip, "{json}");
        }
        assert_eq!(serde_json::from_str::<Skip>("\"too-slow\"").unwrap(), Skip::Other("too-slow".into()));
    }
}
