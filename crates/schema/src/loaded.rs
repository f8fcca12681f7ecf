//! What a record must be to be used. It may come from anywhere: everything that is saved here passes, and what no run can
//! have measured is refused when it is loaded, so that nothing behind it has to ask.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::{
    Condition, Record,
    experiment::{CELLS_MAX, possible_block, possible_ops},
    record::Outcome,
};

/// Longer ids are no file names.
const ID_BYTES_MAX: usize = 100;
/// A run makes one fill for each stage, and again only where its folios have changed; and answers a condition at the size of the
/// job at most a few times.
const MADE_MAX: usize = 100_000;
/// Probes have a few dozen names.
const READING_NAMES_MAX: usize = 1_000;
/// As of `--threads` and of a prediction.
const THREADS_MAX: u32 = 4096;

/// A file has as many bytes as its offsets can name.
const LARGEST: u64 = i64::MAX as u64;
const TOO_LARGE: &str = "its file is larger than any file can be";

/// Whether a text can be a run's id. It becomes a file name and a word of a command line, so it is no path, no option and
/// nothing else than itself to a shell.
pub fn is_id(id: &str) -> bool {
    let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    let begins = id.starts_with(|it: char| it.is_ascii_alphanumeric());
    begins && id.len() <= ID_BYTES_MAX && id != "last" && id.chars().all(plain)
}

/// A document that may hold a record, as `--json` prints it. Read without the record first: a newer one may differ in
/// anything.
#[derive(Debug, Deserialize)]
pub struct Versions {
    pub schema_version: Option<u64>,
    pub record: Option<VersionOfRecord>,
}

#[derive(Debug, Deserialize)]
pub struct VersionOfRecord {
    pub schema_version: Option<u64>,
}

/// The record in such a document.
#[derive(Debug, Deserialize)]
pub struct Holder {
    pub record: Box<Record>,
}

impl Record {
    /// Whether a run can have measured it.
    ///
    /// # Errors
    /// What cannot be, in a sentence.
    pub fn check(&self) -> Result<(), String> {
        if !is_id(&self.id) {
            return Err(format!("{:?} is not a run id: it has letters, digits, - and _", shortened(&self.id)));
        }
        if let Some((count, what, most)) = self.lists().into_iter().find(|(count, _, most)| count > most) {
            return Err(format!("it has {count} {what}, and a run has at most {most}"));
        }
        if self.cells.iter().any(|it| it.condition >= self.conditions.len()) {
            return Err("a cell is of a condition that it does not have".into());
        }
        if self.samples.iter().any(|it| it.cell >= self.cells.len()) {
            return Err("a pass is of a cell that it does not have".into());
        }
        if self.has_more_readings_than(READING_NAMES_MAX) {
            return Err(format!("its passes have more than {READING_NAMES_MAX} different readings, which no run has"));
        }
        let mut rounds = BTreeSet::new();
        let mut that_count = self.samples.iter().filter(|it| matches!(it.outcome, Outcome::Ok { .. }));
        if let Some(twice) = that_count.find(|it| !rounds.insert((it.cell, it.round))) {
            return Err(format!("cell {} has two passes of round {} that count", twice.cell, twice.round));
        }
        if !(self.elapsed_s.is_finite() && self.elapsed_s >= 0.0) {
            return Err(format!("it cannot have taken {} s", self.elapsed_s));
        }
        if self.target.bytes > LARGEST {
            return Err(TOO_LARGE.into());
        }
        let own = self.cells.iter().filter_map(|it| it.own_condition.as_ref());
        self.conditions.iter().chain(own).try_for_each(Condition::check)
    }

    /// How many it has of something, what that is, and how many a run has at most. Reports look for some of it for each cell.
    fn lists(&self) -> [(usize, &'static str, usize); 6] {
        [
            (self.cells.len(), "cells", CELLS_MAX),
            (self.conditions.len(), "conditions", CELLS_MAX),
            // One of a cell, and one of a command, at most.
            (self.counted.len(), "counted passes", CELLS_MAX),
            (self.observations.len(), "observed commands", CELLS_MAX),
            (self.fills.len(), "fills", MADE_MAX),
            (self.confirmations.len(), "answers at the size of the job", MADE_MAX),
        ]
    }

    /// By their names: in a table of all passes each of them is a column, also where most passes lack it.
    fn has_more_readings_than(&self, most: usize) -> bool {
        let mut names = BTreeSet::new();
        self.samples.iter().flat_map(|it| it.readings.keys()).any(|it| names.insert(it) && names.len() > most)
    }
}

impl Condition {
    /// All bytes that it is about can be counted, and each of its divisors is more than 0.
    fn check(&self) -> Result<(), String> {
        possible_block(crate::Bytes(self.block_bytes))?;
        if self.ops > 0 {
            possible_ops(self.ops, self.block_bytes)?;
        }
        if !(1..=THREADS_MAX).contains(&self.threads) {
            return Err(format!("{} threads are not possible", self.threads));
        }
        if !(1..=100).contains(&self.consumed_percent) {
            return Err(format!("{} % of a block cannot be consumed", self.consumed_percent));
        }
        match self.range.offset.checked_add(self.range.bytes) {
            Some(end) if end.max(self.file_bytes) <= LARGEST => Ok(()),
            _ => Err(TOO_LARGE.into()),
        }
    }
}

fn shortened(id: &str) -> String {
    id.chars().take(ID_BYTES_MAX).collect()
}
