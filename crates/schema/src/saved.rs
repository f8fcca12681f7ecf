//! Saved runs as `faultline history` lists them, and one cell of them over time: what its `--json` prints.

use serde::{Deserialize, Serialize};

use crate::{Consume, State, Workload, findings::Estimate};

/// What there is, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    pub schema_version: u32,
    pub runs: Vec<SavedRun>,
    /// Time per block of the cells that were asked for, oldest first; empty when none were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<SavedCell>,
    /// Files among the records that cannot be used, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damaged>,
}

/// A record, as far as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedRun {
    /// The name to load it by.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    pub elapsed_s: f64,
    pub machine: String,
    pub kernel: String,
    pub experiment: String,
    pub target: String,
    pub target_bytes: u64,
    pub file_system: String,
    /// Why it ended before its plan did.
    pub partial: Option<String>,
    pub samples: u64,
}

/// One cell in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedCell {
    pub run: String,
    pub started: String,
    pub machine: String,
    pub arm: String,
    pub workload: Workload,
    pub consume: Consume,
    pub state: State,
    pub block_bytes: u64,
    /// `scan 4 KiB cached`
    pub condition: String,
    /// Time of open, work and close together.
    pub ns_per_op: Estimate,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damaged {
    pub file: String,
    pub reason: String,
}

/// Which runs: everything that is given must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The name of the host.
    pub machine: Option<String>,
    /// A part of the target's path.
    pub target: Option<String>,
    pub experiment: Option<String>,
    /// RFC 3339, or the beginning of it: a day, a month. Both ends are included.
    pub since: Option<String>,
    pub until: Option<String>,
}

/// Which cells: an arm, and what else was said about its condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPattern {
    pub arm: String,
    pub workload: Option<Workload>,
    pub consume: Option<Consume>,
    pub state: Option<State>,
    pub block_bytes: Option<u64>,
}

impl CellPattern {
    pub fn is_about(&self, arm: &str, condition: &crate::Condition) -> bool {
        self.arm == arm
            && self.workload.is_none_or(|it| it == condition.workload)
            && self.consume.is_none_or(|it| it == condition.consume)
            && self.state.is_none_or(|it| it == condition.state)
            && self.block_bytes.is_none_or(|it| it == condition.block_bytes)
    }
}

impl std::str::FromStr for CellPattern {
    type Err = String;

    /// An arm, and words about its condition on either side of it, in any order: `ARM [WORKLOAD] [CONSUME] [STATE]
    /// [BLOCK]`, and also `scan 64 KiB cached mmap`, as reports print it. What stands between the words is the arm, so the
    /// name of a command may have spaces in it.
    fn from_str(text: &str) -> Result<CellPattern, String> {
        const FORM: &str = "write it as 'native/mmap scan cached 64KiB'";
        let mut pattern =
            CellPattern { arm: String::new(), workload: None, consume: None, state: None, block_bytes: None };
        let mut words: Vec<&str> = text.split_whitespace().collect();
        // An arm comes first or last, so words before it come without an arm before them.
        while let Some(taken) = pattern.take(&words) {
            words.drain(..taken);
        }
        while let Some(taken) = pattern.take_last(&words) {
            words.truncate(words.len() - taken);
        }
        let arm = words.join(" ");
        pattern.arm = match &words[..] {
            [] => return Err(format!("{text:?} names no arm; {FORM}")),
            [first, ..] if first.starts_with(COMMANDS) => arm,
            [arm] => arm.parse::<crate::Arm>().map_err(|error| format!("{error}; {FORM}"))?.name,
            [arm, word, ..] => {
                let word = if arm.parse::<crate::Arm>().is_ok() { word } else { arm };
                return Err(format!(
                    "{word:?} is no workload, state, consume or block size, or is there twice; {FORM}"
                ));
            }
        };
        Ok(pattern)
    }
}

/// How the names of arms begin that are commands.
const COMMANDS: &str = "command/";

impl CellPattern {
    /// Takes the first word, or the first two where they are a number and its unit. How many were taken.
    fn take(&mut self, words: &[&str]) -> Option<usize> {
        let two = words
            .get(1)
            .filter(|unit| unit.starts_with(char::is_alphabetic))
            .map(|unit| format!("{} {unit}", words[0]));
        match two {
            Some(two) if self.takes_size(&two) => Some(2),
            _ => self.takes(words.first()?).then_some(1),
        }
    }

    /// As `take`, from the end.
    fn take_last(&mut self, words: &[&str]) -> Option<usize> {
        let [.., last] = words else { return None };
        match words {
            [.., number, unit] if self.takes_size(&format!("{number} {unit}")) => Some(2),
            _ => self.takes(last).then_some(1),
        }
    }

    /// Whether a word says something that was not said yet.
    fn takes(&mut self, word: &str) -> bool {
        fn set<T: std::str::FromStr>(slot: &mut Option<T>, word: &str) -> bool {
            match word.parse() {
                Ok(value) if slot.is_none() => slot.replace(value).is_none(),
                _ => false,
            }
        }
        set(&mut self.workload, word)
            || set(&mut self.state, word)
            || set(&mut self.consume, word)
            || self.takes_size(word)
    }

    fn takes_size(&mut self, text: &str) -> bool {
        match text.parse::<crate::Bytes>() {
            Ok(size) if self.block_bytes.is_none() => self.block_bytes.replace(size.0).is_none(),
            _ => false,
        }
    }
}
