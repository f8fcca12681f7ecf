//! Claims over all saved runs: what `faultline claims` shows.

use crate::findings::{ClaimFinding, ClaimVerdict};

/// A claim, and the run that its verdict is from.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerEntry {
    pub claim: ClaimFinding,
    /// Of the study or experiment.
    pub title: String,
    pub run: String,
    /// When the run began; RFC 3339, UTC.
    pub when: String,
    pub host: String,
    pub kernel: String,
    /// The newest later run that could not decide the claim, if there is one.
    pub later: Option<LaterRun>,
}

/// A run that has a claim and could not decide it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaterRun {
    pub run: String,
    pub when: String,
    pub verdict: ClaimVerdict,
    pub reason: String,
}

/// Claims study by study, and studies that were never run, with their titles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    pub entries: Vec<LedgerEntry>,
    pub not_run: Vec<(String, String)>,
}
