//! Published claims, compared with what was measured: by the interval, with the margin.
//!
//! A claim is asked under every condition that it selects. Where a study was run as published and corrected, the
//! corrected conditions decide, and the published ones are listed beside them. Of a claim that was asked on the folios of the
//! study's time and on those of today, today's decide: the question is whether it holds here.

mod conclusion;
mod judge;
mod outlook;
mod question;

use schema::{
    Fill,
    conclusion::Conclusion,
    experiment::{Claim, Metric, Study, Variant},
    findings::{ClaimFinding, ClaimMeasured, ClaimOnFolios, ClaimVerdict, PublishedClaim},
    reason::{NotInRun, Reason},
};

use crate::measured::Run;

pub use outlook::outlook;

use conclusion::middle_folio_pages;
use question::{AskedCondition, ClaimOutcome, Question};

const DECIDED: [ClaimVerdict; 3] = [ClaimVerdict::Holds, ClaimVerdict::Reversed, ClaimVerdict::NoDifference];

pub(crate) fn all(run: &Run) -> Vec<ClaimFinding> {
    run.record.experiment.claims.iter().map(|claim| finding(run, claim)).collect()
}

/// The cells, the one that is held against first, that claims about times are decided by: those with passes.
pub(crate) fn timed_pairs(run: &Run) -> Vec<[usize; 2]> {
    let claims = run.record.experiment.claims.iter().filter(|it| it.metric == Metric::Time);
    let questions: Vec<Question> = claims.filter_map(|it| Question::of(run, it).ok()).collect();
    let asked = questions.iter().flat_map(|it| it.asked(run));
    asked.filter(|it| it.variant != Some(Variant::AsPublished)).flat_map(|it| it.pairs()).collect()
}

struct ClaimAnswer {
    verdict: ClaimVerdict,
    reasons: Vec<Reason>,
    measured: Vec<ClaimMeasured>,
    folios: Vec<ClaimOnFolios>,
    /// Nothing that was asked lacks its passes.
    complete: bool,
}

impl ClaimAnswer {
    fn new(verdict: ClaimVerdict, reason: impl Into<Reason>) -> ClaimAnswer {
        let complete = verdict != ClaimVerdict::NotTestableHere;
        ClaimAnswer { verdict, reasons: vec![reason.into()], measured: Vec::new(), folios: Vec::new(), complete }
    }
}

fn finding(run: &Run, claim: &Claim) -> ClaimFinding {
    let mut answer = answer(run, claim);
    if let Some(partial) = &run.record.partial {
        answer = unfinished(answer, partial);
    }
    let experiment = &run.record.experiment;
    let mut finding = ClaimFinding {
        id: claim.id.clone(),
        study: experiment.name.clone(),
        source: experiment.source.clone().unwrap_or_default(),
        says: claim.says.clone(),
        published: PublishedClaim { words: claim.published.clone(), ratio: claim.ratio },
        measured: answer.measured,
        verdict: answer.verdict,
        reasons: answer.reasons,
        folios: answer.folios,
        complete: answer.complete,
    };
    // Conditions that were skipped are named with their reasons already.
    if experiment.filtered_claims.contains(&claim.id) {
        of_part(&mut finding);
    }
    finding
}

/// Says of a verdict that it does not come from all that the experiment asks: options left out some of it.
pub(crate) fn of_part(finding: &mut ClaimFinding) {
    incomplete(finding, Conclusion::OfPart);
}

/// What depends on how often each page is reached is another question on a file of another size.
pub(crate) fn of_other_size(finding: &mut ClaimFinding, file_bytes: u64, study: &Study) {
    let (study_bytes, full_bytes) = (study.file_bytes.0, study.full_file_bytes.0);
    if !finding.measured.is_empty() && !study.is_of(file_bytes) {
        incomplete(finding, Conclusion::OfOtherSize { file_bytes, study_bytes, full_bytes });
    }
}

pub(crate) fn is_of_other_size(finding: &ClaimFinding) -> bool {
    finding.reasons.iter().any(|it| matches!(it, Reason::Conclusion(Conclusion::OfOtherSize { .. })))
}

fn incomplete(finding: &mut ClaimFinding, why: Conclusion) {
    finding.complete = false;
    let why = Reason::from(why);
    if finding.verdict.is_decided() && !finding.reasons.contains(&why) {
        finding.reasons.push(why);
    }
}

/// A run that ended early decides nothing; what it measured is still there.
fn unfinished(answer: ClaimAnswer, partial: &str) -> ClaimAnswer {
    let mut reasons = vec![Reason::from(Conclusion::Partial { partial: partial.into() })];
    if answer.verdict == ClaimVerdict::NotTestableHere {
        reasons.extend(answer.reasons);
    }
    let undecided = |it: ClaimMeasured| ClaimMeasured { verdict: ClaimVerdict::Undecided, ..it };
    let measured = answer.measured.into_iter().map(undecided).collect();
    ClaimAnswer { verdict: ClaimVerdict::Undecided, reasons, measured, folios: Vec::new(), complete: false }
}

fn answer(run: &Run, claim: &Claim) -> ClaimAnswer {
    if let Some(reason) = &claim.not_testable {
        return ClaimAnswer::new(ClaimVerdict::NotTestableHere, reason.as_str());
    }
    if let Some(name) = &claim.scenario {
        return scenario(run, name);
    }
    let question = match Question::of(run, claim) {
        Ok(question) => question,
        Err(reason) => return ClaimAnswer::new(ClaimVerdict::NotTestableHere, reason),
    };
    let asked = question.asked(run);
    if asked.is_empty() {
        return ClaimAnswer::new(ClaimVerdict::NotTestableHere, question.never_asked(run));
    }
    let deciding = deciding(asked.iter().map(|it| it.variant));
    let mut outcomes: Vec<ClaimOutcome> =
        asked.iter().map(|it| question.outcome(run, it, it.variant == deciding)).collect();
    let decisive: Vec<&AskedCondition> = asked.iter().filter(|it| it.variant == deciding).collect();
    let then = fill_then(run, &decisive);
    let is_then = |fill: Option<Fill>| then.is_some() && fill == then;
    for of_then in [false, true] {
        let asked: Vec<&AskedCondition> = decisive.iter().copied().filter(|it| is_then(it.fill()) == of_then).collect();
        let of_those = outcomes.iter_mut().filter(|it| it.decides && is_then(it.condition.fill()) == of_then);
        of_those.zip(question::brief(run, &asked)).for_each(|(it, brief)| it.brief = brief);
    }
    let of_variant: Vec<&ClaimOutcome> = outcomes.iter().filter(|it| it.decides).collect();
    let mut asked_of_it = of_variant.iter().filter(|it| !it.is_replaced).peekable();
    let complete = asked_of_it.peek().is_some() && asked_of_it.all(|it| it.verdict != ClaimVerdict::NotTestableHere);
    let folios = then.map(|then| on_folios(run, &question, &of_variant, then)).unwrap_or_default();
    // Where today's cannot be tested here, those of the study's time are all there is.
    let on_todays = |it: &ClaimOutcome| !is_then(it.condition.fill());
    let is_open = |it: &&ClaimOutcome| it.verdict != ClaimVerdict::NotTestableHere || it.only_unmeasured;
    if of_variant.iter().filter(|it| on_todays(it)).any(is_open) {
        outcomes.iter_mut().filter(|it| !on_todays(it)).for_each(|it| it.decides = false);
    }
    let decide: Vec<&ClaimOutcome> = outcomes.iter().filter(|it| it.decides).collect();
    let (verdict, reasons) = question.conclude(run, &decide);
    let measured = outcomes.iter().filter_map(|it| {
        Some(ClaimMeasured {
            id: it.id,
            than_cell: it.than_cell,
            against_cell: it.against_cell,
            condition: it.label.clone(),
            variant: it.variant,
            value: it.estimate?,
            rounds: it.rounds,
            answer_of: it.answer_of,
            verdict: it.verdict,
            decides: it.decides,
        })
    });
    ClaimAnswer { verdict, reasons, measured: measured.collect(), folios, complete }
}

/// The fill that makes the folios of the study's time, of a claim that was asked on them and on others.
fn fill_then(run: &Run, asked: &[&AskedCondition]) -> Option<Fill> {
    let then = run.record.experiment.study.as_ref()?.fill_then?;
    // Where a page is larger, no fill makes the folios of that time.
    let is_made = then.copied_by().is_none_or(|bytes| bytes >= run.page_bytes());
    let fills = || asked.iter().filter_map(|it| it.fill());
    (is_made && fills().any(|it| it == then) && fills().any(|it| it != then)).then_some(then)
}

/// The verdict on each kind of folios, today's first.
fn on_folios(run: &Run, question: &Question, outcomes: &[&ClaimOutcome], then: Fill) -> Vec<ClaimOnFolios> {
    let mut fills: Vec<Fill> = outcomes.iter().filter_map(|it| it.condition.fill()).collect();
    fills.sort_unstable_by_key(|it| (*it == then, *it));
    fills.dedup();
    let on = |fill: Fill| {
        let of_fill: Vec<&ClaimOutcome> =
            outcomes.iter().copied().filter(|it| it.condition.fill() == Some(fill)).collect();
        // Of a condition that was not measured no fill may have been made.
        let bytes = |it: &&ClaimOutcome| middle_folio_pages(run, it.condition)?.checked_mul(run.page_bytes());
        let each: Vec<u64> = of_fill.iter().filter_map(bytes).collect();
        let (least, most) = (each.iter().min().copied(), each.iter().max().copied());
        let (verdict, reasons) = question.conclude(run, &of_fill);
        let least_folio_bytes = least.filter(|_| least != most);
        ClaimOnFolios { fill, then: fill == then, folio_bytes: most, least_folio_bytes, verdict, reasons }
    };
    fills.into_iter().map(on).collect()
}

fn scenario(run: &Run, name: &str) -> ClaimAnswer {
    match run.record.scenarios.get(name) {
        None => ClaimAnswer::new(ClaimVerdict::NotTestableHere, NotInRun::Scenario),
        Some(schema::Reading::Unavailable { unavailable }) => {
            ClaimAnswer::new(ClaimVerdict::NotTestableHere, unavailable.as_str())
        }
        Some(schema::Reading::Value(seen)) => {
            let verdict = if seen.holds { ClaimVerdict::Holds } else { ClaimVerdict::Reversed };
            ClaimAnswer::new(verdict, seen.evidence.as_str())
        }
    }
}

/// The corrected form, if it is among them; else what belongs to no study; else what was published.
fn deciding(variants: impl Iterator<Item = Option<Variant>>) -> Option<Variant> {
    let rank = |variant: &Option<Variant>| match variant {
        Some(Variant::Corrected) => 2,
        None => 1,
        Some(Variant::AsPublished) => 0,
    };
    variants.max_by_key(rank).flatten()
}
