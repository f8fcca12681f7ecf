//! Which claims a machine can decide, from the record that a run would begin with.

use schema::{
    Reading, Record, Skip,
    claims::ClaimOutlook,
    experiment::Claim,
    reason::{NotInRun, Reason},
};

use super::{
    deciding,
    question::{AskedCondition, Question},
};
use crate::measured::Run;

/// Every claim, in the order of the experiment.
pub fn outlook(record: &Record) -> Vec<ClaimOutlook> {
    let run = Run::new(record);
    record.experiment.claims.iter().map(|claim| of_claim(&run, claim)).collect()
}

fn of_claim(run: &Run, claim: &Claim) -> ClaimOutlook {
    let (asked, lost) = match (&claim.not_testable, &claim.scenario) {
        (Some(reason), _) => (1, vec![reason.as_str().into()]),
        (None, Some(name)) => match run.record.scenarios.get(name) {
            Some(Reading::Value(_)) => (1, Vec::new()),
            Some(Reading::Unavailable { unavailable }) => (1, vec![unavailable.as_str().into()]),
            None => (1, vec![NotInRun::ScenarioNotTried.into()]),
        },
        (None, None) => asked(run, claim).unwrap_or_else(|reason| (1, vec![reason.into()])),
    };
    let mut needs: Vec<Reason> = Vec::new();
    for reason in &lost {
        if !needs.contains(reason) {
            needs.push(reason.clone());
        }
    }
    ClaimOutlook { id: claim.id.clone(), says: claim.says.clone(), asked, lost: lost.len() as u32, needs }
}

/// How many conditions decide it, and for each that is lost why.
fn asked(run: &Run, claim: &Claim) -> Result<(u32, Vec<Reason>), NotInRun> {
    let question = Question::of(run, claim)?;
    let mut asked = question.asked(run);
    if asked.is_empty() {
        return Err(question.never_asked(run));
    }
    let variant = deciding(asked.iter().map(|it| it.variant));
    asked.retain(|it| it.variant == variant);
    // As of an answer: those on the folios of the study's time decide only where none on today's can be had.
    let then = super::fill_then(run, &asked.iter().collect::<Vec<_>>());
    let is_todays = |it: &AskedCondition| then.is_none() || it.fill() != then;
    let lost = |it: &AskedCondition| question.replaced(run, it).map(Reason::from).or_else(|| lost(run, it));
    if asked.iter().any(|it| is_todays(it) && lost(it).is_none()) {
        asked.retain(is_todays);
    }
    Ok((asked.len() as u32, asked.iter().filter_map(lost).collect()))
}

/// Why one of its conditions cannot be measured here.
fn lost(run: &Run, asked: &AskedCondition) -> Option<Reason> {
    let skipped = asked.cells().filter_map(|cell| Some((cell, cell.entry.skipped.as_ref()?)));
    // That there is nothing left to compare with follows from the reason of the other arm.
    let (cell, skip) = skipped.min_by_key(|(_, skip)| **skip == Skip::NothingToCompare)?;
    let of_the_arm = asked.cells().any(|other| other.entry.skipped.is_none());
    let reason = Reason::Skipped(skip.clone());
    Some(if of_the_arm { reason.of(run.name(cell.arm())) } else { reason })
}
