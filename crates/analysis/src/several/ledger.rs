//! Claims over several runs: which run's verdict counts. A run answers for its own machine alone.
//!
//! The newest run that could decide a claim counts. A run that could not (another arm or condition, an interruption, too
//! few rounds) says nothing about the claim, so it does not replace one that could; it is named beside it. Neither does a
//! run that decided it from less than the experiment asks replace one that measured all of that.

use schema::{
    Experiment, Record,
    claims::{Later, LaterRun, Ledger, LedgerEntry},
    experiment::{Claim, Competitor},
    findings::{CellFinding, ClaimFinding, ClaimMeasured, ClaimVerdict},
    machine::MadeOn,
};

use super::runs::AskedUnder;
use crate::{claims, verdict::LEAST_PAIRS};

/// What the runs so far said of claims.
#[derive(Debug, Default)]
pub struct Claims {
    /// As they are written now.
    built_in: Vec<Experiment>,
    entries: Vec<Entered>,
}

/// What a run said of a claim.
#[derive(Debug)]
struct Entered {
    rank: Rank,
    asked: Asked,
    rows: Vec<Row>,
    entry: LedgerEntry,
}

/// What a claim has its verdict from: a condition, and the one that it is held against.
#[derive(Debug)]
struct Row {
    under: Vec<AskedUnder>,
    verdict: ClaimVerdict,
}

impl Row {
    fn of(record: &Record, cells: &[CellFinding], measured: &ClaimMeasured) -> Row {
        let sides = [Some(measured.id.cell), measured.against_cell].into_iter().flatten();
        let under = sides.filter_map(|side| cells.iter().find(|it| it.id.cell == side));
        Row { under: under.map(|it| AskedUnder::of(record, it)).collect(), verdict: measured.verdict }
    }

    /// Whatever the two are called: labels depend on which other conditions a run has.
    fn is_under_those_of(&self, other: &Row) -> bool {
        self.under.len() == other.under.len() && self.under.iter().zip(&other.under).all(|(a, b)| a.is_as(b))
    }
}

/// A claim of a run. Options change what is measured of a claim, and not the claim.
#[derive(Debug)]
struct Asked {
    study: String,
    title: String,
    /// As the run had it.
    claim: Claim,
    /// What it calls its arms, which another version of the file may define otherwise.
    arms: [Option<Competitor>; 2],
    of: Of,
}

impl Asked {
    fn has_the_arms_of(&self, other: &Asked) -> bool {
        let mut both = self.arms.iter().zip(&other.arms);
        both.all(|(a, b)| a.as_ref().zip(b.as_ref()).is_none_or(|(a, b)| a.does_as(b)))
    }
}

/// Whose claim it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// Of a built-in study, which asks the same.
    Study,
    /// Of an experiment with the name of a built-in study, which asks something else.
    ChangedStudy,
    /// No study that is built in has such a claim.
    Experiment,
}

/// What a run could say of a claim, and when: the greatest counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    standing: Standing,
    started: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// It ended before it had anything about the claim.
    Unreached,
    /// It lacks an arm, a condition, a passable state.
    NotTestable,
    /// It has something about the claim, and not enough to decide it.
    Incomplete,
    /// It could decide it, whether or not its intervals did, from a part of what the experiment asks.
    Partial,
    /// It could decide it from all of that.
    Decisive,
}

fn standing(claim: &ClaimFinding, is_partial: bool) -> Standing {
    let decisive = if claim.complete { Standing::Decisive } else { Standing::Partial };
    match claim.verdict {
        ClaimVerdict::NotTestableHere => Standing::NotTestable,
        _ if is_partial && claim.measured.is_empty() => Standing::Unreached,
        _ if is_partial => Standing::Incomplete,
        ClaimVerdict::Holds | ClaimVerdict::Reversed | ClaimVerdict::NoDifference | ClaimVerdict::Mixed => decisive,
        ClaimVerdict::Undecided if claim.measured.iter().any(|it| it.decides && it.rounds >= LEAST_PAIRS) => decisive,
        ClaimVerdict::Undecided => Standing::Incomplete,
    }
}

impl Claims {
    /// Nothing yet, of studies as they are written now.
    pub fn new(built_in: Vec<Experiment>) -> Claims {
        Claims { built_in, entries: Vec::new() }
    }

    fn asked(&self, experiment: &Experiment, claim: &Claim) -> Asked {
        let written = self.built_in.iter().find(|it| it.name == experiment.name);
        let of = match written.filter(|it| it.claims.iter().any(|of_study| of_study.id == claim.id)) {
            Some(study) if experiment.asks_as(claim, study) => Of::Study,
            Some(_) => Of::ChangedStudy,
            None => Of::Experiment,
        };
        let (study, title) = (experiment.name.clone(), experiment.title.clone());
        let arms = experiment.claimed(claim).map(Option::<&Competitor>::cloned);
        Asked { study, title, claim: claim.clone(), arms, of }
    }

    /// Whether a run asks a claim under all that its study asks it under. Older records do not say what was left out;
    /// for other experiments there is only the record's own statement.
    fn asks_all(&self, experiment: &Experiment, Asked { claim, of, .. }: &Asked) -> bool {
        let written = self.built_in.iter().find(|it| it.name == experiment.name);
        written.filter(|_| *of != Of::ChangedStudy).is_none_or(|written| {
            let full = || {
                let mut full = written.clone();
                full.full();
                full
            };
            experiment.asks_all(written, claim) || experiment.asks_all(&full(), claim)
        })
    }

    /// Takes in a run, in whatever order they come. `run` is what the record is loaded by.
    pub fn add(&mut self, run: &str, record: &Record, answers_for: &MadeOn) {
        let experiment = &record.experiment;
        let asked: Vec<Asked> = experiment.claims.iter().map(|it| self.asked(experiment, it)).collect();
        let decided = |claim: &Asked| {
            self.entries.iter().any(|Entered { rank, asked, entry, .. }| {
                is_same(asked, claim)
                    && entry.made_on.machine() == answers_for.machine()
                    && rank.standing == Standing::Decisive
                    && rank.started >= record.started
            })
        };
        // An older run adds nothing to what a newer one decided.
        if asked.iter().all(decided) {
            return;
        }
        let findings = crate::analyze(record);
        for (mut claim, asked) in findings.claims.into_iter().zip(asked) {
            if !self.asks_all(experiment, &asked) {
                claims::of_part(&mut claim);
            }
            if let (Of::Study, Some(study)) = (asked.of, &experiment.study) {
                claims::of_other_size(&mut claim, record.target.bytes, study);
            }
            let standing = standing(&claim, record.partial.is_some());
            let rank = Rank { standing, started: record.started.clone() };
            let decide = claim.measured.iter().filter(|it| it.decides);
            let rows = decide.map(|it| Row::of(record, &findings.cells, it)).collect();
            let entry = LedgerEntry {
                claim,
                title: experiment.title.clone(),
                asks_otherwise: asked.of == Of::ChangedStudy,
                run: run.to_string(),
                when: record.started.clone(),
                made_on: answers_for.clone(),
                kernel: record.environment.kernel.clone(),
                target: record.target.described(),
                file_system: record.target.file_system.clone(),
                later: None,
            };
            self.entries.push(Entered { rank, asked, rows, entry });
        }
    }

    /// Of one study or of all: built-in studies in their order, then all others; each claim once for each machine. `None` where no study has this name.
    pub fn ledger(self, only: Option<&str>) -> Option<Ledger> {
        let studies = self.built_in;
        let mut of_claims: Vec<Vec<Entered>> = Vec::new();
        for entered in self.entries {
            let same = |it: &Entered| {
                it.entry.made_on.machine() == entered.entry.made_on.machine() && is_same(&it.asked, &entered.asked)
            };
            match of_claims.iter_mut().find(|it| it.iter().all(same)) {
                Some(same) => same.push(entered),
                None => of_claims.push(vec![entered]),
            }
        }
        let mut entries: Vec<LedgerEntry> = of_claims.into_iter().filter_map(counted).collect();
        let wanted = |name: &str| only.is_none_or(|only| only == name);
        entries.retain(|it| wanted(&it.claim.study));
        let place = |name: &str| studies.iter().position(|it| it.name == name).unwrap_or(studies.len());
        // Stable: claims of one run stay in the order in which they were written. A study that is built in is one, however it
        // was titled; what asks something else under its name follows it.
        entries.sort_by_cached_key(|it| {
            let study = place(&it.claim.study);
            let is_titled = study == studies.len() || it.asks_otherwise;
            let title = if is_titled { it.title.clone() } else { String::new() };
            (study, it.claim.study.clone(), it.asks_otherwise, title)
        });
        let is_of = |entry: &LedgerEntry, study: &str| entry.claim.study == study && !entry.asks_otherwise;
        let never = |it: &&Experiment| wanted(&it.name) && !entries.iter().any(|entry| is_of(entry, &it.name));
        let not_run: Vec<(String, String)> =
            studies.iter().filter(never).map(|it| (it.name.clone(), it.title.clone())).collect();
        let found = only.is_none() || !entries.is_empty() || !not_run.is_empty();
        found.then_some(Ledger { entries, not_run })
    }

    /// The studies and experiments that are built in or have a claim here.
    pub fn studies(&self) -> impl Iterator<Item = &str> {
        let built_in = self.built_in.iter().map(|it| it.name.as_str());
        built_in.chain(self.entries.iter().map(|it| it.entry.claim.study.as_str()))
    }
}

/// Whether two runs have the same claim. Two files of experiments may have one name, and claims of one id and wording:
/// their titles, what they ask, and what they call their arms distinguish them. What the runs measured does not, because
/// options change that. What asks the same as a study that is built in is of that study, however it was worded; a changed copy
/// of it is not.
fn is_same(one: &Asked, other: &Asked) -> bool {
    (&one.study, &one.claim.id, one.of) == (&other.study, &other.claim.id, other.of)
        && (one.of == Of::Study
            || (&one.title, &one.claim) == (&other.title, &other.claim) && one.has_the_arms_of(other))
}

/// What a part that decided something says of a whole: by the conditions that both have, each for itself.
fn of_part(part: &[Row], whole: &[Row]) -> Later {
    let decided = part.iter().filter(|it| it.verdict.is_decided());
    let beside = decided.map(|it| (it.verdict, whole.iter().find(|there| it.is_under_those_of(there))));
    let pairs: Vec<(ClaimVerdict, Option<ClaimVerdict>)> =
        beside.map(|(verdict, there)| (verdict, there.map(|it| it.verdict))).collect();
    let contradicts = |pair: &(ClaimVerdict, Option<ClaimVerdict>)| match pair.1 {
        Some(there) => there.is_decided() && there != pair.0,
        None => false,
    };
    match () {
        () if pairs.iter().any(contradicts) => Later::PartialContradicts,
        () if pairs.iter().any(|(_, there)| there.is_none()) => Later::Elsewhere,
        () if pairs.iter().all(|(verdict, there)| *there == Some(*verdict)) => Later::PartialAgrees,
        () => Later::PartialDecides,
    }
}

/// The answer of a claim that counts, with what must be known of a later one: that it contradicts, or else the newest.
fn counted(mut answers: Vec<Entered>) -> Option<LedgerEntry> {
    answers.sort_by(|a, b| a.rank.cmp(&b.rank));
    let Entered { rows: whole, entry: counts, .. } = answers.pop()?;
    let later = answers.into_iter().filter(|it| it.entry.when > counts.when).map(
        |Entered { rank, rows, entry: it, .. }| {
            let why = match it.claim.verdict {
                _ if rank.standing < Standing::Partial => Later::Undecided,
                ClaimVerdict::Undecided => Later::Undecided,
                _ if claims::is_of_other_size(&it.claim) => Later::OtherSize,
                // Of a scenario there are no conditions, only the verdict.
                own if rows.is_empty() => match counts.claim.verdict {
                    whole if whole == own => Later::PartialAgrees,
                    whole if whole.is_decided() => Later::PartialContradicts,
                    _ => Later::PartialDecides,
                },
                _ => of_part(&rows, &whole),
            };
            LaterRun { run: it.run, when: it.when, verdict: it.claim.verdict, reasons: it.claim.reasons, why }
        },
    );
    let later = later.max_by_key(|it| (it.why == Later::PartialContradicts, it.when.clone()));
    Some(LedgerEntry { later, ..counts })
}
