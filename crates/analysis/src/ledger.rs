//! Claims over several runs: which run's verdict counts.
//!
//! The newest run that could decide a claim counts. A run that could not (another arm or condition, an interruption, too
//! few rounds) says nothing about the claim, so it does not replace one that could; it is named beside it.

use schema::{
    Experiment, Record,
    claims::{LaterRun, Ledger, LedgerEntry},
    findings::{ClaimFinding, ClaimVerdict},
};

use crate::compare::LEAST_PAIRS;

/// The claims met so far.
#[derive(Debug, Default)]
pub struct Claims {
    entries: Vec<(Rank, LedgerEntry)>,
}

/// What a run could say of a claim, and when: the greatest counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    standing: Standing,
    started: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// It lacks an arm, a condition, a passable state.
    NotTestable,
    /// It has something about the claim, and not enough to decide it.
    Incomplete,
    /// It could decide it, whether or not its intervals did.
    Decisive,
}

fn standing(claim: &ClaimFinding, is_partial: bool) -> Standing {
    match claim.verdict {
        ClaimVerdict::NotTestableHere => Standing::NotTestable,
        _ if is_partial => Standing::Incomplete,
        ClaimVerdict::Holds | ClaimVerdict::Reversed | ClaimVerdict::NoDifference => Standing::Decisive,
        ClaimVerdict::Undecided if claim.measured.iter().any(|it| it.decides && it.rounds >= LEAST_PAIRS) => {
            Standing::Decisive
        }
        ClaimVerdict::Undecided => Standing::Incomplete,
    }
}

impl Claims {
    /// Takes in a run, in whatever order they come. `run` is what the record is loaded by.
    pub fn add(&mut self, run: &str, record: &Record) {
        let experiment = &record.experiment;
        let settled = |id: &str| {
            self.entries.iter().any(|(rank, it)| {
                it.claim.study == experiment.name
                    && it.claim.id == id
                    && rank.standing == Standing::Decisive
                    && rank.started >= record.started
            })
        };
        // An older run adds nothing to what a newer one decided.
        if experiment.claims.iter().all(|claim| settled(&claim.id)) {
            return;
        }
        for claim in crate::analyze(record).claims {
            let rank = Rank { standing: standing(&claim, record.partial.is_some()), started: record.started.clone() };
            let entry = LedgerEntry {
                claim,
                title: experiment.title.clone(),
                run: run.to_string(),
                when: record.started.clone(),
                host: record.environment.host.clone(),
                kernel: record.environment.kernel.clone(),
                later: None,
            };
            self.enter(rank, entry);
        }
    }

    fn enter(&mut self, rank: Rank, mut entry: LedgerEntry) {
        let same = |it: &LedgerEntry| it.claim.study == entry.claim.study && it.claim.id == entry.claim.id;
        let Some((known, counted)) = self.entries.iter_mut().find(|(_, it)| same(it)) else {
            self.entries.push((rank, entry));
            return;
        };
        if rank <= *known {
            note_later(counted, &entry);
            return;
        }
        *known = rank;
        std::mem::swap(counted, &mut entry);
        // What was counted before may be the later of the two.
        counted.later = entry.later.take().filter(|it| it.when > counted.when);
        note_later(counted, &entry);
    }

    /// Of one study or of all: built-in studies in their order, then all others. `None` where no study has this name.
    pub fn ledger(self, studies: &[Experiment], only: Option<&str>) -> Option<Ledger> {
        let mut entries: Vec<LedgerEntry> = self.entries.into_iter().map(|(_, entry)| entry).collect();
        let wanted = |name: &str| only.is_none_or(|only| only == name);
        entries.retain(|it| wanted(&it.claim.study));
        let place = |name: &str| studies.iter().position(|it| it.name == name).unwrap_or(studies.len());
        // Stable: claims of one run stay in the order in which they were written.
        entries.sort_by_cached_key(|it| (place(&it.claim.study), it.claim.study.clone()));
        let never = |it: &&Experiment| wanted(&it.name) && !entries.iter().any(|entry| entry.claim.study == it.name);
        let not_run: Vec<(String, String)> =
            studies.iter().filter(never).map(|it| (it.name.clone(), it.title.clone())).collect();
        let found = only.is_none() || !entries.is_empty() || !not_run.is_empty();
        found.then_some(Ledger { entries, not_run })
    }

    /// The studies and experiments that have a claim here.
    pub fn studies(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(_, it)| it.claim.study.as_str())
    }
}

/// Keeps the newest run that came after the one that counts.
fn note_later(counted: &mut LedgerEntry, other: &LedgerEntry) {
    if other.when > counted.when && counted.later.as_ref().is_none_or(|it| other.when > it.when) {
        counted.later = Some(LaterRun {
            run: other.run.clone(),
            when: other.when.clone(),
            verdict: other.claim.verdict,
            reason: other.claim.reason.clone(),
        });
    }
}
