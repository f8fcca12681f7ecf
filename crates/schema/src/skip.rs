//! Why a cell is not measured. Code uses the kind; the text for users is made here only.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Condition, Span, Workload};

/// The reason for which a cell has no passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skip {
    /// A pass of the least useful size does not fit into the budget, as a trial showed. The arm itself is there.
    TooSlow {
        /// Of the trial, which may have fewer blocks: see `ns_per_block_of_pass`.
        ns_per_block: f64,
        /// Of the least useful pass.
        blocks: u64,
        /// Every block is read once more before the clock starts (states that hold the file).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        twice: bool,
        /// What a pass takes beside its blocks: the worker starts, the state is reached and verified.
        #[serde(default)]
        around_ns: f64,
        /// What such a pass takes.
        pass_ns: f64,
        /// About so many times the budget are needed.
        budgets: f64,
    },
    /// Not even one pass fits into what was left when it was tried.
    TooLong {
        blocks: u64,
        /// What the pass takes, as a trial showed.
        pass_ns: f64,
        left_ns: f64,
        /// Whether a budget was the limit; otherwise it is what any pass may take.
        budget: bool,
    },
    /// The fewest rounds of its condition, of a size that was written down, do not fit beside those of the others.
    LeavesTime {
        /// What those of all its arms take together.
        rounds_ns: f64,
        /// For those of all conditions from the same start.
        left_ns: f64,
    },
    /// The budget was spent before it could be tried.
    Untried,
    /// The machine lacks what the arm needs.
    Unavailable(String),
    /// This target does not support the state, the limits or the workload.
    Impossible(String),
    /// The range of the experiment has no byte of the file in it.
    EmptyRange { offset_bytes: u64, file_bytes: u64 },
    /// The range is smaller than the fewest blocks that the workload needs.
    NoRoom { block_bytes: u64, blocks: u64, range_bytes: u64 },
    /// The runtime has no way to make the accesses of a trace.
    NoReplay { runtime: String },
    /// Every other arm of its condition is left out.
    NothingToCompare,
    /// Of a replay of what a command did: a pass of it takes so many times as long as one of the recorded way, by its first one or
    /// by its first accesses.
    SlowerReplay { times: f64 },
    /// Of a command and the replays of what it did, where the fewest rounds of all do not fit: a pass takes so many times as long as
    /// one of the recorded way (of the command that is measured twice: as the other), and one of another method so many times.
    LeftToFaster { times: f64, fastest: f64 },
    /// It failed in a trial, in a way that a second time does not change.
    Failed(String),
    /// As a record of an earlier version has it.
    #[serde(untagged)]
    Other(String),
}

impl Skip {
    /// Why the range of a condition is too small for its workload. A pass over no bytes measures nothing. A worker cuts a
    /// block that is larger than the range, and a pass over such blocks is not what its label says; with one place only,
    /// no place is random.
    pub fn for_its_size(condition: &Condition) -> Option<Skip> {
        let Span { offset, bytes } = condition.range;
        if bytes == 0 {
            return Some(Skip::EmptyRange { offset_bytes: offset, file_bytes: condition.file_bytes });
        }
        let blocks = match condition.workload {
            Workload::Command | Workload::Replay => return None,
            workload if workload.is_ascending() => 1,
            _ => 2,
        };
        let no_room = condition.block_bytes.saturating_mul(blocks) > bytes;
        no_room.then_some(Skip::NoRoom { block_bytes: condition.block_bytes, blocks, range_bytes: bytes })
    }

    /// Whether the arm itself is not there: with more time, another range or from another state it would not be, either.
    pub fn is_of_the_arm(&self) -> bool {
        matches!(self, Skip::Unavailable(_) | Skip::NoReplay { .. } | Skip::Failed(_) | Skip::Other(_))
    }

    /// Of an arm that was too slow: what a block takes in a pass of a useful size, by its trial. It is less than in the trial
    /// where the first blocks bring in what the others find.
    pub fn ns_per_block_of_pass(&self) -> Option<f64> {
        let Skip::TooSlow { blocks, twice, around_ns, pass_ns, .. } = self else { return None };
        let times = if *twice { 2.0 } else { 1.0 };
        let each = (pass_ns - around_ns) / (*blocks as f64 * times);
        (each.is_finite() && each > 0.0).then_some(each)
    }

    /// Whether time is all that was lacking: the arm itself is there.
    pub fn is_for_want_of_time(&self) -> bool {
        matches!(
            self,
            Skip::TooSlow { .. }
                | Skip::TooLong { .. }
                | Skip::LeavesTime { .. }
                | Skip::LeftToFaster { .. }
                | Skip::Untried
        )
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
            Skip::TooSlow { ns_per_block, blocks, twice, around_ns, pass_ns, budgets } => write!(
                f,
                "too slow for this budget: from a trial, {} per block are expected, so one pass of {blocks} blocks{} takes {}, {} \
                 around it included; about {budgets:.0} times the --budget are enough for it",
                duration(self.ns_per_block_of_pass().unwrap_or(*ns_per_block)),
                if *twice { ", made once more before the clock starts," } else { "" },
                duration(*pass_ns),
                duration(*around_ns)
            ),
            Skip::TooLong { blocks, pass_ns, left_ns, budget } => {
                let pass = duration(*pass_ns);
                // A command has no blocks, and its pass counts as one.
                let of = if *blocks == 1 { String::new() } else { format!(" of {blocks} blocks") };
                let pass = format!("one pass{of} takes about {pass} by its trial, and");
                match budget {
                    true if *left_ns > 0.0 => {
                        write!(f, "no time for it: {pass} {} were left of the budget", duration(*left_ns))
                    }
                    true => write!(f, "no time for it: {pass} nothing was left of the budget"),
                    false => write!(f, "too slow: {pass} {} is what a pass may take", duration(*left_ns)),
                }
            }
            Skip::LeavesTime { rounds_ns, left_ns } => write!(
                f,
                "no time for it beside the others: the fewest rounds that can decide anything take about {} here, and {} were left \
                 for all; try it alone, or a larger --budget",
                duration(*rounds_ns),
                duration(*left_ns)
            ),
            Skip::NothingToCompare => {
                f.write_str("every other arm is left out here, so there is nothing to compare it with")
            }
            Skip::NoReplay { runtime } => {
                write!(f, "runtime {runtime} cannot replay a trace; the native methods can")
            }
            Skip::SlowerReplay { times } => {
                write!(f, "a pass of it takes {times:.1} times as long as that of what the command did")
            }
            Skip::LeftToFaster { times, fastest } => write!(
                f,
                "a pass of it takes {times:.1} times as long as what it is held against, and one of another method less than a \
                 {} of that: there was no time for further rounds of both",
                if *fastest < 0.1 { "tenth" } else { "third" }
            ),
            Skip::Untried => f.write_str("the budget was spent before its first pass"),
            Skip::EmptyRange { offset_bytes, file_bytes } if offset_bytes >= file_bytes => {
                write!(f, "the range begins at or beyond the end of the file, which has {}", Bytes(*file_bytes))
            }
            Skip::EmptyRange { .. } => f.write_str("the range is empty"),
            Skip::NoRoom { block_bytes, blocks, range_bytes } => {
                let (block, range) = (Bytes(*block_bytes).exact(), Bytes(*range_bytes).exact());
                // No block is smaller than a byte.
                let smaller = range_bytes >= blocks;
                let hint = if smaller { "try a smaller --block" } else { "no --block is small enough for that" };
                match blocks {
                    1 => write!(f, "a block of {block} is larger than the range of {range}; {hint}"),
                    _ => write!(
                        f,
                        "random reads need a range of at least {blocks} blocks of {block}, and the range has {range}; \
                         {hint}"
                    ),
                }
            }
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
            Skip::TooSlow {
                ns_per_block: 45_900.5,
                blocks: 1024,
                twice: true,
                around_ns: 4.2e6,
                pass_ns: 98.2e6,
                budgets: 3.0,
            },
            Skip::TooLong { blocks: 1 << 31, pass_ns: 800e9, left_ns: 3.2e9, budget: true },
            Skip::LeavesTime { rounds_ns: 170e9, left_ns: 40e9 },
            Skip::Untried,
            Skip::NoReplay { runtime: "jvm".into() },
            Skip::NothingToCompare,
            Skip::Unavailable("io_uring is not allowed here".into()),
            Skip::Impossible("never cold".into()),
            Skip::EmptyRange { offset_bytes: 1 << 40, file_bytes: 10_000 },
            Skip::NoRoom { block_bytes: 4096, blocks: 2, range_bytes: 5000 },
            Skip::Failed("exit code 1".into()),
            Skip::Other("too slow for this budget: 3 ms per block".into()),
        ];
        for skip in skips {
            let json = serde_json::to_string(&skip).unwrap();
            assert_eq!(serde_json::from_str::<Skip>(&json).unwrap(), skip, "{json}");
        }
        let whole = Skip::TooLong { blocks: 1, pass_ns: 4.8e9, left_ns: 1e9, budget: true };
        assert!(!whole.to_string().contains("block"), "it may be one execution of a command: {whole}");
        assert_eq!(serde_json::from_str::<Skip>("\"too-slow\"").unwrap(), Skip::Other("too-slow".into()));
    }

    #[test]
    fn a_smaller_block_is_advised_only_where_there_is_one() {
        let advised = |block_bytes, blocks, range_bytes| {
            Skip::NoRoom { block_bytes, blocks, range_bytes }.to_string().contains("try a smaller --block")
        };
        assert!(advised(4096, 2, 5000) && advised(2, 2, 2) && advised(4096, 1, 1));
        assert!(!advised(1, 2, 1) && !advised(4096, 2, 1));
    }
}
