//! Saved runs as `faultline history` lists them, and one cell of them over time: what its `--json` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Condition, Consume, State, Workload,
    arm::Options,
    estimate::Estimate,
    experiment::SizeAsked,
    fields::{self, Filter, Role},
    machine::{MadeOn, Origin, Whose},
    record::{FilledRange, Resident, Target},
    work::Work,
};

/// What there is, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    pub schema_version: u32,
    pub runs: Vec<SavedRun>,
    /// Time per block of the requested cells, oldest first; empty when none were requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<SavedCell>,
    /// Files among the records that cannot be used, each with the reason.
    #[serde(default)]
    pub damaged: Vec<Damaged>,
    /// Runs that all else was asked of as well, and that are of other machines.
    #[serde(default)]
    pub of_others: u64,
    /// All that are saved, asked for or not.
    #[serde(default)]
    pub all: u64,
}

/// The machine that a run was made on, as far as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedMachine {
    /// Its nodename.
    pub machine: String,
    /// As in `environment.machine`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<String>,
    #[serde(default = "own")]
    pub origin: Origin,
}

fn own() -> Origin {
    Origin::Own
}

impl SavedMachine {
    pub fn made_on(&self) -> MadeOn {
        let identity = self.key.clone().zip(self.hardware.clone());
        MadeOn { origin: self.origin, host: self.machine.clone(), identity }
    }
}

/// A record, as far as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedRun {
    /// The name to load it by.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    pub elapsed_s: f64,
    #[serde(flatten)]
    pub on: SavedMachine,
    pub kernel: String,
    pub experiment: String,
    pub target: String,
    pub target_bytes: u64,
    pub file_system: String,
    /// Why it ended before its plan did.
    pub partial: Option<String>,
    pub samples: u64,
}

/// What a file lies on: under one path there may be another file system tomorrow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub file_system: String,
    /// Kernel name of the whole disk, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_bytes: Option<u64>,
}

impl Place {
    pub fn of(target: &Target) -> Place {
        let device = target.device.value();
        Place {
            file_system: target.file_system.clone(),
            device: device.map(|it| it.name.clone()),
            read_ahead_bytes: device.and_then(|it| it.read_ahead_bytes.value().copied()),
        }
    }
}

/// One cell in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedCell {
    pub run: String,
    pub started: String,
    /// Why its run ended before its plan did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    #[serde(flatten)]
    pub on: SavedMachine,
    pub arm: String,
    /// Of a command: its line, and how it is run. Under one name there may be another one tomorrow.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub command: Options,
    pub workload: Workload,
    pub consume: Consume,
    pub state: State,
    pub block_bytes: u64,
    /// `scan 4 KiB cached`
    pub condition: String,
    /// Time of open, work and close together.
    pub ns_per_op: Estimate,
    /// All of the condition, and what the arm did where that is something else.
    pub under: Condition,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_condition: Option<Condition>,
    /// The file; of one that faultline made, the folder.
    pub target: String,
    /// What that lay on.
    #[serde(default)]
    pub place: Place,
    /// Name and variant of the comparison; empty where it has none.
    pub comparison: [String; 2],
    /// Which one it is of several of its run that agree in all of this.
    #[serde(default)]
    pub occurrence: u32,
    /// The size of a pass that the experiment asked for.
    #[serde(default, skip_serializing_if = "SizeAsked::is_open")]
    pub asked: SizeAsked,
    /// In state `as-found`: the pages that were in the page cache before its passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Resident>,
    /// Of passes on the file as it was found in the page cache: the pages that one fault mapped of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_pages_per_fault: Option<f64>,
    /// What the runtime of the arm was, by what it calls itself (`python 3.11.7`), with its `vm`. Empty where it is native.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub runtime: BTreeMap<String, String>,
    /// What a pass delivers of each block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_block: Option<f64>,
    /// As `Work::checksums`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checksums: BTreeMap<u64, String>,
}

impl SavedCell {
    /// Whether two cells of two runs are the same one at two times. On another machine it is another one.
    pub fn continues(&self, other: &SavedCell) -> bool {
        let same_machine = self.on.made_on().may_be(&other.on.made_on());
        self.occurrence == other.occurrence && same_machine && self.series() == other.series()
    }

    /// What it is one of.
    pub fn series(&self) -> Series<'_> {
        let [name, variant] = &self.comparison;
        Series {
            arm: &self.arm,
            command: self.command.clone(),
            target: &self.target,
            place: self.place.clone(),
            comparison: [name, variant],
            asked: self.asked,
            found: self.found,
            found_pages_per_fault: self.found_pages_per_fault,
            runtime: &self.runtime,
            under: &self.under,
            work: Work {
                does: self.own_condition.as_ref().unwrap_or(&self.under),
                bytes_per_block: self.bytes_per_block,
                checksums: &self.checksums,
            },
        }
    }
}

/// What cells of several runs have in common that are the same one at several times. A run may have it twice.
#[derive(Debug, Clone)]
pub struct Series<'a> {
    pub arm: &'a str,
    pub command: Options,
    pub target: &'a str,
    pub place: Place,
    /// Name and variant.
    pub comparison: [&'a str; 2],
    pub asked: SizeAsked,
    /// As `SavedCell::found`.
    pub found: Option<Resident>,
    /// As `SavedCell::found_pages_per_fault`.
    pub found_pages_per_fault: Option<f64>,
    pub runtime: &'a BTreeMap<String, String>,
    pub under: &'a Condition,
    pub work: Work<'a>,
}

impl PartialEq for Series<'_> {
    fn eq(&self, other: &Self) -> bool {
        let agree = |a: &Condition, b: &Condition| {
            fields::agree(Role::Asked, a, b) && fields::other_subject(a, b, self.asked.range).is_empty()
        };
        (self.arm, &self.command, self.runtime, self.target, &self.place, self.comparison, self.asked)
            == (other.arm, &other.command, other.runtime, other.target, &other.place, other.comparison, other.asked)
            && self.work.other(&other.work).is_none()
            && self.found.zip(other.found).is_none_or(|(a, b)| a.is_like(&b))
            && self
                .found_pages_per_fault
                .zip(other.found_pages_per_fault)
                .is_none_or(|(a, b)| FilledRange::are_alike(a, b))
            && agree(self.under, other.under)
            && agree(self.work.does, other.work.does)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damaged {
    pub file: String,
    pub reason: String,
}

/// Which runs: everything that is given must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub machine: Whose,
    /// A part of the target's path.
    pub target: Option<String>,
    pub experiment: Option<String>,
    /// RFC 3339, or the beginning of it: a day, a month. Both ends are included.
    pub since: Option<String>,
    pub until: Option<String>,
}

/// Which cells: an arm, and what else was said about its condition.
#[derive(Debug, Clone, PartialEq)]
pub struct CellPattern {
    pub arm: String,
    pub conditions: Filter,
}

impl CellPattern {
    pub fn is_about(&self, arm: &str, condition: &crate::Condition) -> bool {
        self.arm == arm && self.conditions.selects(condition)
    }
}

impl std::str::FromStr for CellPattern {
    type Err = String;

    /// An arm, and what labels say of its condition on either side of it, in any order: `native/mmap scan cached 64KiB`,
    /// and also `scan 64 KiB cached, 4 threads mmap`, as reports print it. What stands between is the arm, so the name of
    /// a command may have spaces in it. In double quotes it is taken as it is: it may have several spaces together, or end
    /// in a word that a condition may have.
    fn from_str(text: &str) -> Result<CellPattern, String> {
        const FORM: &str = "write it as 'native/mmap scan cached 64KiB'";
        let unknown = |word: &str| {
            format!(
                "{word:?} is not a workload, state, consume, block size or other part of a condition, or is repeated; \
                 {FORM}"
            )
        };
        if let Some((before, arm, behind)) = quoted(text) {
            let words: Vec<&str> = before.split_whitespace().chain(behind.split_whitespace()).collect();
            return match Filter::parse(&words) {
                (conditions, []) => Ok(CellPattern { arm: arm.into(), conditions }),
                (_, [word, ..]) => Err(unknown(word)),
            };
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let (conditions, words) = Filter::parse(&words);
        let arm = match words {
            [] => return Err(format!("{text:?} names no arm; {FORM}")),
            [first, ..] if first.starts_with(COMMANDS) => words.join(" "),
            // As compare prints it, without the native runtime, or in full.
            [arm, own, .., last] | [arm, own @ last] if own.starts_with('(') && last.ends_with(')') => {
                let arm = arm.parse::<crate::Arm>().map_or_else(|_| arm.to_string(), |it| it.name);
                format!("{arm} {}", words[1..].join(" "))
            }
            [arm] => arm.parse::<crate::Arm>().map_err(|error| format!("{error}; {FORM}"))?.name,
            [arm, word, ..] => {
                return Err(unknown(if arm.parse::<crate::Arm>().is_ok() { word } else { arm }));
            }
        };
        Ok(CellPattern { arm, conditions })
    }
}

/// How the names of arms begin that are commands. An arm that does something of its own ends in `(its label)`.
const COMMANDS: &str = "command/";

/// The name of a command in double quotes, with what stands before and behind them. The name may have quotes in it.
fn quoted(text: &str) -> Option<(&str, &str, &str)> {
    let opening = text.match_indices('"').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let is_first = |before: &str| before.is_empty() || before.ends_with(char::is_whitespace);
    let (before, rest) = { opening }.find(|(before, rest)| is_first(before) && rest.starts_with(COMMANDS))?;
    let (name, behind) = rest.rsplit_once('"')?;
    (behind.is_empty() || behind.starts_with(char::is_whitespace)).then_some((before, name, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> CellPattern {
        text.parse().unwrap()
    }

    #[test]
    fn the_name_of_a_command_in_quotes_is_taken_as_it_is() {
        let of = |state| Condition { workload: Workload::Command, state, ..Condition::plain(1 << 20) };
        for name in ["command/grep  x", "command/grep cached", "command/grep \"x\" f", "command/grep"] {
            for text in [format!("\"{name}\" cold"), format!("cold \"{name}\"")] {
                assert!(pattern(&text).is_about(name, &of(State::Cold)), "{text}");
                assert!(!pattern(&text).is_about(name, &of(State::Cached)), "{text}");
            }
            assert!(pattern(&format!("\"{name}\"")).is_about(name, &of(State::Cached)), "{name}");
        }
        let words = "\"command/grep\" nowhere".parse::<CellPattern>().unwrap_err();
        assert!(words.contains("nowhere"), "{words}");
    }

    #[test]
    fn the_name_of_a_command_without_quotes_is_what_no_condition_has() {
        assert_eq!(pattern("command/grep \"x\" f cold").arm, "command/grep \"x\" f");
        assert_eq!(pattern("cold command/grep  x").arm, "command/grep x");
    }
}
