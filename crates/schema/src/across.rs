//! Runs beside each other: what `faultline compare --json` prints.

use serde::{Deserialize, Serialize};

use crate::{
    Arm, CellId, Condition, Span,
    environment::ReclaimScheme,
    estimate::{AnswerOf, Estimate, Verdict},
    gate::Gate,
    reason::Reason,
    record::Resident,
};

/// The first run against each of the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Across {
    pub schema_version: u32,
    pub versus: Vec<RunComparison>,
    /// One entry for each `--fail-if`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunComparison {
    /// Ids of runs.
    pub first: String,
    pub second: String,
    /// What is not the same about the machine, the target and the tool.
    pub differs: Vec<Differs>,
    /// Why the two are not comparable; empty when they are.
    #[serde(rename = "not_comparable_data", default)]
    pub not_comparable: Vec<NotComparable>,
    pub cells: Vec<SharedCell>,
    /// How many times faster the second run was on the whole: the median over the shared cells. Machines drift, and other
    /// machines are other machines; what the arms are to each other (`answers`) does not move with it.
    #[serde(default)]
    pub drift: Option<f64>,
    /// The same of the lower and of the upper ends of the cells' intervals: with 1 between them there is no significant
    /// drift.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_ends: Option<[f64; 2]>,
    /// Comparisons between arms that both runs made.
    #[serde(default)]
    pub answers: Vec<SharedAnswer>,
    /// Comparisons that were decided in both runs and are left out there: the file was found in other folios, or the program's own work
    /// between the accesses of replays took another time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub answers_left_out: u64,
    /// Cells of which only one of the runs has a valid pass.
    pub only_first: u32,
    pub only_second: u32,
    /// Those of which both have one, and too few in at least one of them for an interval.
    #[serde(default)]
    pub no_interval: u32,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Why two runs are not comparable, as data; `report` makes the words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotComparable {
    NoSharedCell,
    /// Both sides are one run.
    OneRun {
        run: String,
    },
    /// A field of the condition, in words.
    Subject {
        field: String,
        first: String,
        second: String,
    },
    /// Of the files, in the page cache before the passes of state `as-found`.
    Found {
        pages: [Resident; 2],
    },
    /// One name for two commands.
    Command {
        arm: String,
    },
    /// Bytes of each block.
    Consumed {
        arm: String,
        bytes_per_block: [f64; 2],
    },
    /// Output or exit code of a command.
    Output {
        arm: String,
    },
    /// Bytes of one file.
    Bytes {
        arm: String,
        checksums: [String; 2],
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Differs {
    #[serde(rename = "what_data")]
    pub what: Fact,
    #[serde(rename = "first_data")]
    pub first: FactSays,
    #[serde(rename = "second_data")]
    pub second: FactSays,
}

/// What is known of the machine, the target and the tool of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    Machine,
    Faultline,
    Experiment,
    EndedEarly,
    Host,
    Kernel,
    Architecture,
    Cpu,
    Cpus,
    MemoryBytes,
    MemoryLimitBytes,
    Virtualisation,
    Mitigations,
    PageBytes,
    TransparentHugepage,
    FaultAroundBytes,
    Governor,
    CLibrary,
    Clocksource,
    TickNs,
    LruGen,
    ReclaimSchemes,
    Runtimes,
    Root,
    Target,
    TargetBytes,
    Files,
    Folder,
    FileSystem,
    Device,
    ReadAheadBytes,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactSays {
    /// For this reason.
    NotKnown(String),
    Schemes(Vec<ReclaimScheme>),
    /// So many, below these paths.
    Files {
        count: u64,
        named: Vec<String>,
    },
    #[serde(untagged)]
    Text(String),
}

impl<T: ToString> From<T> for FactSays {
    fn from(text: T) -> FactSays {
        FactSays::Text(text.to_string())
    }
}

/// A cell that both runs measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedCell {
    /// In the first run and in the second.
    pub first_id: CellId,
    pub second_id: CellId,
    /// Which it is of the conditions that read alike, where some do: the comparison's name, its variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparison: Vec<String>,
    pub arm: Arm,
    /// As the first run had it.
    pub condition: Condition,
    /// Where its arm does something else than the condition says: what it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_condition: Option<Condition>,
    /// Nanoseconds per block.
    pub first: Estimate,
    pub second: Estimate,
    /// How many times faster the second run is (above 1: faster).
    pub speedup: Option<Estimate>,
    pub verdict: Verdict,
    /// Why undecided, or what else must be known.
    #[serde(rename = "reason_data")]
    pub reason: Option<Reason>,
    /// Of a pass in the first run and in the second, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<[PassSize; 2]>,
}

/// How much one pass was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassSize {
    /// Blocks.
    pub ops: u64,
    /// The part of the file that they lie in.
    pub range: Span,
}

impl PassSize {
    /// Below this factor the planner's choice is as good as the same.
    const OTHER: f64 = 2.0;
    /// What is measured again at the size of the job is so many times larger at least: what is hardly larger asks the same question.
    pub const LARGER: f64 = 1.25;

    pub fn of(condition: &Condition) -> PassSize {
        PassSize { ops: condition.ops, range: condition.range }
    }

    fn is_part_of(&self, job: &PassSize) -> bool {
        let is_less = |a: u64, b: u64| a as f64 * PassSize::LARGER <= b as f64;
        is_less(self.ops, job.ops) || is_less(self.range.bytes, job.range.bytes)
    }

    /// Of passes that differ so much one may say of a block what the other does not.
    pub fn is_far_from(&self, other: &PassSize) -> bool {
        let apart = |a: u64, b: u64| a.max(b) as f64 >= PassSize::OTHER * a.min(b).max(1) as f64;
        apart(self.ops, other.ops) || apart(self.range.bytes, other.range.bytes)
    }
}

/// What two arms were to each other, in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedAnswer {
    pub first_id: CellId,
    pub second_id: CellId,
    pub condition: Condition,
    pub baseline: String,
    pub arm: String,
    /// Speedup of the arm over the baseline, and what followed from it.
    pub first: Option<Estimate>,
    pub second: Option<Estimate>,
    pub first_verdict: Verdict,
    pub second_verdict: Verdict,
    /// Which passes they are of.
    #[serde(default)]
    pub first_of: AnswerOf,
    #[serde(default)]
    pub second_of: AnswerOf,
    /// Of the passes that answer, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<[PassSize; 2]>,
}

impl SharedAnswer {
    /// Neither is of passes at the size of the job where the other is of smaller ones alone, nor of far smaller ones: those are two
    /// questions. Rounds may have the whole job themselves.
    pub fn is_of_one_size(&self) -> bool {
        let Some([first, second]) = self.sizes else { return true };
        let is_of_rounds = |of: AnswerOf| matches!(of, AnswerOf::Rounds | AnswerOf::RoundsUnconfirmed);
        let is_part = |(of, size): (AnswerOf, PassSize), (other, job): (AnswerOf, PassSize)| {
            is_of_rounds(of) && other == AnswerOf::Job && size.is_part_of(&job)
        };
        let (one, other) = ((self.first_of, first), (self.second_of, second));
        !first.is_far_from(&second) && !is_part(one, other) && !is_part(other, one)
    }

    pub fn is_decided(&self) -> bool {
        self.first_verdict.is_decided() && self.second_verdict.is_decided()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConditionId;

    #[test]
    fn rounds_that_have_the_whole_job_answer_the_same_question_as_passes_at_its_size() {
        let of = |first_of: AnswerOf, sizes: [u64; 2]| {
            let size = |ops: u64| PassSize { ops, range: Span { offset: 0, bytes: ops * 4096 } };
            let [first, second] = sizes.map(size);
            let id = CellId { condition: ConditionId { condition_index: 0, comparison_index: None }, cell: 0 };
            SharedAnswer {
                first_id: id,
                second_id: id,
                condition: Condition::plain(1 << 30),
                baseline: "native/pread".into(),
                arm: "native/mmap".into(),
                first: None,
                second: None,
                first_verdict: Verdict::Faster,
                second_verdict: Verdict::Slower,
                first_of,
                second_of: AnswerOf::Job,
                sizes: (first != second).then_some([first, second]),
            }
            .is_of_one_size()
        };
        let rounds = AnswerOf::Rounds;
        assert!(of(rounds, [1000, 1000]) && of(rounds, [990, 1000]));
        assert!(!of(rounds, [700, 1000]), "a part of it");
        assert!(of(AnswerOf::Job, [700, 1000]) && !of(AnswerOf::Job, [100, 1000]));
    }
}
