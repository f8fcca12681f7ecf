//! Claims over all saved runs: what `faultline claims` shows.

use serde::{Deserialize, Serialize};

use crate::{
    findings::{ClaimFinding, ClaimVerdict},
    machine::MadeOn,
    reason::Reason,
};

/// A claim on one machine, and the run that its verdict is from.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerEntry {
    pub claim: ClaimFinding,
    /// Of the study or experiment.
    pub title: String,
    /// A study of this name is built in, and asks something else under the claim's id.
    pub asks_otherwise: bool,
    pub run: String,
    /// When the run began; RFC 3339, UTC.
    pub when: String,
    pub made_on: MadeOn,
    pub kernel: String,
    /// What was measured, as lists of runs show it, and the file system that it lay on.
    pub target: String,
    pub file_system: String,
    /// The newest later run that does not count, if there is one; of those, one that contradicts before all others.
    pub later: Option<LaterRun>,
}

/// A run that has a claim and does not count.
#[derive(Debug, Clone, PartialEq)]
pub struct LaterRun {
    pub run: String,
    pub when: String,
    pub verdict: ClaimVerdict,
    pub reasons: Vec<Reason>,
    pub why: Later,
}

/// Why a later run does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Later {
    /// It could not decide the claim.
    Undecided,
    /// It measured less than the experiment asks, and decided under each of its conditions what the run that counts did.
    #[serde(rename = "narrower-agrees")]
    PartialAgrees,
    /// It measured less, and decided under some of them what the run that counts left open there.
    #[serde(rename = "narrower-decides")]
    PartialDecides,
    /// It measured less, and decided it otherwise under a condition that both have.
    #[serde(rename = "narrower-contradicts")]
    PartialContradicts,
    /// It decided it under conditions for which the run that counts has no answer, and contradicts it under no other.
    Elsewhere,
    /// It tested it on a file of another size than its study is about, which is another question.
    OtherSize,
}

/// Claims study by study, and studies that were never run, with their titles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    pub entries: Vec<LedgerEntry>,
    pub not_run: Vec<(String, String)>,
}

/// What a machine can say of a claim, known before a run: a run may still have too little time or too much noise.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimOutlook {
    pub id: String,
    pub says: String,
    /// Conditions, or pairs of them, that decide it; 1 for a scenario.
    pub asked: u32,
    /// Those of them that cannot be measured here.
    pub lost: u32,
    /// What these need, each once.
    pub needs: Vec<Reason>,
}

impl ClaimOutlook {
    /// One condition is enough for a verdict: what is lost is named beside it.
    pub fn is_decidable(&self) -> bool {
        self.lost < self.asked
    }
}
