//! Published claims, compared with what was measured: by the interval, with the margin.
//!
//! A claim is asked under every condition that it selects. Where a study was run as published and corrected, the
//! corrected conditions decide, and the published ones are listed beside them. Conditions that disagree are no answer.

use schema::{
    CellId, Condition, Labels,
    experiment::{Claim, Compare, Expect, Metric, Variant},
    findings::{AnswerOf, ClaimFinding, ClaimMeasured, ClaimVerdict, Estimate, PublishedClaim, Verdict},
};

use crate::{
    compare::{LEAST_PAIRS, MARGIN, compare, verdict},
    equal_work, fills, forks,
    measured::{Cell, Run, most_frequent},
    metric::{self, MetricResult},
    words::{digits, list, percent, size, thousands},
};

/// So many conditions are named in a sentence.
const NAMED: usize = 4;

pub(crate) fn all(run: &Run) -> Vec<ClaimFinding> {
    run.record.experiment.claims.iter().map(|claim| finding(run, claim)).collect()
}

struct Answer {
    verdict: ClaimVerdict,
    reason: String,
    measured: Vec<ClaimMeasured>,
    /// Nothing that was asked lacks its passes.
    complete: bool,
}

impl Answer {
    fn new(verdict: ClaimVerdict, reason: impl Into<String>) -> Answer {
        let complete = verdict != ClaimVerdict::NotTestableHere;
        Answer { verdict, reason: reason.into(), measured: Vec::new(), complete }
    }
}

fn finding(run: &Run, claim: &Claim) -> ClaimFinding {
    let mut answer = answer(run, claim);
    if let Some(partial) = &run.record.partial {
        answer = unfinished(answer, partial);
    }
    let experiment = &run.record.experiment;
    ClaimFinding {
        id: claim.id.clone(),
        study: experiment.name.clone(),
        source: experiment.source.clone().unwrap_or_default(),
        says: claim.says.clone(),
        published: PublishedClaim { words: claim.published.clone(), ratio: claim.ratio },
        measured: answer.measured,
        verdict: answer.verdict,
        reason: answer.reason,
        complete: answer.complete && !experiment.narrowed.contains(&claim.id),
    }
}

/// A run that ended early decides nothing; what it measured is still there.
fn unfinished(answer: Answer, partial: &str) -> Answer {
    let mut reason = format!("the run is partial: {partial}");
    if answer.verdict == ClaimVerdict::NotTestableHere {
        reason.push_str(&format!("; {}", answer.reason));
    }
    let undecided = |it: ClaimMeasured| ClaimMeasured { verdict: ClaimVerdict::Undecided, ..it };
    let measured = answer.measured.into_iter().map(undecided).collect();
    Answer { verdict: ClaimVerdict::Undecided, reason, measured, complete: false }
}

fn answer(run: &Run, claim: &Claim) -> Answer {
    if let Some(reason) = &claim.not_testable {
        return Answer::new(ClaimVerdict::NotTestableHere, reason);
    }
    if let Some(name) = &claim.scenario {
        return scenario(run, name);
    }
    let question = match Question::of(run, claim) {
        Ok(question) => question,
        Err(reason) => return Answer::new(ClaimVerdict::NotTestableHere, reason),
    };
    let asked = question.asked(run);
    if asked.is_empty() {
        return Answer::new(ClaimVerdict::NotTestableHere, question.never_asked(run));
    }
    let deciding = deciding(asked.iter().map(|it| it.variant));
    let outcomes: Vec<Outcome> = asked.iter().map(|it| question.outcome(run, it, it.variant == deciding)).collect();
    let measured = outcomes.iter().filter_map(|it| {
        Some(ClaimMeasured {
            id: it.id,
            than_cell: it.than_cell,
            condition: it.label.clone(),
            variant: it.variant,
            value: it.estimate?,
            rounds: it.rounds,
            answer_of: it.answer_of,
            verdict: it.verdict,
            decides: it.decides,
        })
    });
    let decide: Vec<&Outcome> = outcomes.iter().filter(|it| it.decides).collect();
    let (verdict, reason) = question.conclude(run, &decide);
    let complete = decide.iter().all(|it| it.verdict != ClaimVerdict::NotTestableHere);
    Answer { verdict, reason, measured: measured.collect(), complete }
}

fn scenario(run: &Run, name: &str) -> Answer {
    match run.record.scenarios.get(name) {
        None => Answer::new(ClaimVerdict::NotTestableHere, "the scenario did not run in this run"),
        Some(schema::Reading::Unavailable { unavailable }) => Answer::new(ClaimVerdict::NotTestableHere, unavailable),
        Some(schema::Reading::Value(seen)) => {
            let verdict = if seen.holds { ClaimVerdict::Holds } else { ClaimVerdict::Reversed };
            Answer::new(verdict, &seen.evidence)
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

/// A claim whose words were found in the experiment.
struct Question<'a> {
    claim: &'a Claim,
    expect: Expect,
    /// Arm names.
    arm: &'a str,
    than: Option<&'a str>,
}

/// A condition that a claim is asked under.
struct Asked<'a, 'r> {
    condition: usize,
    variant: Option<Variant>,
    arm: &'r Cell<'a>,
    than: Option<&'r Cell<'a>>,
}

/// What came of it.
struct Outcome<'a> {
    id: CellId,
    than_cell: Option<usize>,
    condition: &'a Condition,
    label: String,
    variant: Option<Variant>,
    decides: bool,
    /// What the arms are called in sentences.
    arm: &'a str,
    than: Option<&'a str>,
    estimate: Option<Estimate>,
    rounds: u32,
    /// What the comparison of the two says after it was measured again, where the claim is about their times.
    answer_of: AnswerOf,
    verdict: ClaimVerdict,
    /// It has no passes, and time is all that was lacking: another run may test it here.
    only_unmeasured: bool,
    /// Why it is undecided or not testable.
    why: Option<String>,
    /// What to know of the estimate.
    remark: Option<String>,
}

impl<'a> Question<'a> {
    fn of(run: &Run<'a>, claim: &'a Claim) -> Result<Question<'a>, String> {
        let name = |written: &str| {
            let found = run.record.experiment.arm_name(written);
            found.ok_or_else(|| format!("the arm {written:?} was not part of this run"))
        };
        let (Some(arm), Some(expect)) = (&claim.arm, claim.expect) else {
            return Err("the claim names no arm, or does not say what it expects".to_string());
        };
        let than = match (expect, &claim.than) {
            (Expect::AtMost(_) | Expect::AtLeast(_), _) => None,
            (_, Some(than)) => Some(name(than)?),
            (_, None) => return Err("the claim expects a direction, and does not say than which arm".to_string()),
        };
        Ok(Question { claim, expect, arm: name(arm)?, than })
    }

    fn asked<'r>(&self, run: &'r Run<'a>) -> Vec<Asked<'a, 'r>> {
        let conditions = run.record.conditions.iter().enumerate();
        let asked = conditions.filter_map(|(condition, it)| {
            let origin = run.origin(condition);
            let named = match &self.claim.compare {
                Some(name) => origin?.name.as_ref() == Some(name),
                None => true,
            };
            if !named || !self.claim.only.selects(it) {
                return None;
            }
            let cell = |arm: &str| cell_of(run, condition, origin, arm);
            let than = match self.than {
                Some(than) => Some(cell(than)?),
                None => None,
            };
            Some(Asked { condition, variant: origin.and_then(|it| it.variant), arm: cell(self.arm)?, than })
        });
        asked.collect()
    }

    fn never_asked(&self, run: &Run) -> String {
        let rounded = run.record.conditions.iter().find_map(|it| self.claim.only.rounded(it));
        if let Some((saved, exact)) = rounded {
            return format!(
                "the record says {saved} where the run had {}: the version that saved it rounded sizes, so the claim cannot \
                 find its condition; measured again, it can",
                exact.exact()
            );
        }
        let arms: Vec<&String> = [&self.claim.arm, &self.claim.than].into_iter().flatten().collect();
        let under = match &self.claim.compare {
            Some(name) => format!("the comparison {name:?}"),
            None => "this run".to_string(),
        };
        format!("{under} has no condition that the claim is about with {} in it", list(&arms))
    }

    fn outcome(&self, run: &Run<'a>, asked: &Asked<'a, '_>, decides: bool) -> Outcome<'a> {
        let mut outcome = Outcome {
            id: asked.arm.id,
            than_cell: asked.than.map(|it| it.id.cell),
            condition: asked.arm.condition,
            label: label(run, asked),
            variant: asked.variant,
            decides,
            arm: run.name(asked.arm.arm()),
            than: asked.than.map(|than| run.name(than.arm())),
            estimate: None,
            rounds: 0,
            answer_of: AnswerOf::Rounds,
            verdict: ClaimVerdict::NotTestableHere,
            only_unmeasured: false,
            why: None,
            remark: None,
        };
        let without: Vec<&Cell> =
            [Some(asked.arm), asked.than].into_iter().flatten().filter(|cell| cell.passes.is_empty()).collect();
        if let Some(cell) = without.first() {
            let reason = metric::untestable(run, cell).unwrap_or_default();
            // A reason of the arm's own needs its name; one of the condition is the same for all.
            let one_of_two = asked.than.is_some() && without.len() == 1;
            outcome.only_unmeasured = without.iter().all(|cell| cell.lacked_time());
            outcome.why = Some(if one_of_two { format!("{}: {reason}", run.name(cell.arm())) } else { reason });
            return outcome;
        }
        let MetricResult { estimate, rounds, remark, unseen } = match asked.than {
            Some(than) => metric::times_lower(run, self.claim.metric, than, asked.arm),
            None => metric::of_arm(self.claim.metric, asked.arm),
        };
        if unseen {
            outcome.why = remark;
            return outcome;
        }
        outcome.verdict = ClaimVerdict::Undecided;
        outcome.rounds = rounds;
        if let Some(unequal) = asked.than.filter(|_| decides).and_then(|than| unequal(run, than, asked.arm)) {
            // What was published is printed all the same; other ratios of unequal work are no numbers.
            outcome.estimate = estimate.filter(|_| asked.variant == Some(Variant::AsPublished));
            outcome.why = Some(unequal);
            return outcome;
        }
        let Some(estimate) = estimate else {
            outcome.why = if (1..LEAST_PAIRS).contains(&rounds) { verdict(None, rounds).1 } else { remark };
            return outcome;
        };
        let said = asked.than.filter(|_| self.claim.metric == Metric::Time).map(|than| compare(run, than, asked.arm));
        let answer_of = said.as_ref().map_or(AnswerOf::Rounds, |it| it.answer_of);
        let (estimate, rounds) = match said.as_ref().map(|it| (it.answer_of, it.speedup, &it.confirmed)) {
            Some((AnswerOf::Job, Some(speedup), Some(job))) => (speedup, job.pairs),
            _ => (estimate, rounds),
        };
        let (verdict, why) = match said {
            Some(said) if answer_of == AnswerOf::Neither => (ClaimVerdict::Undecided, said.reason),
            _ => judge(self.expect, estimate, rounds),
        };
        let (verdict, why) = match self.depends_on_fork(run, asked).filter(|_| DECIDED.contains(&verdict)) {
            Some(why) => (ClaimVerdict::Undecided, Some(why)),
            None => (verdict, why),
        };
        Outcome { estimate: Some(estimate), rounds, answer_of, verdict, why, remark, ..outcome }
    }

    /// Why nothing is decided where the forks of a cell fall into two groups: each of them would decide it differently.
    /// The rule of comparisons (`forks::judge`), for every metric that is a time of single passes.
    fn depends_on_fork(&self, run: &Run, asked: &Asked) -> Option<String> {
        let metric = self.claim.metric;
        if !metric::is_time_of_passes(metric) {
            return None;
        }
        [Some(asked.arm), asked.than].into_iter().flatten().find_map(|cell| {
            let split = forks::split(run, cell)?;
            let [fast, slow] = [false, true].map(|slow| {
                let rounds: Vec<u32> = split.forks.iter().filter(|it| it.slow == slow).map(|it| it.round).collect();
                metric::middle_of_rounds(metric, asked.than, asked.arm, &rounds)
            });
            let (fast, slow) = (fast?, slow?);
            let lies = |value: f64| match self.expect {
                Expect::AtMost(most) => i8::from(value <= most),
                Expect::AtLeast(least) => i8::from(value >= least),
                Expect::Lower | Expect::Higher | Expect::Same => forks::side(value),
            };
            let show = |value: f64| match asked.than {
                Some(_) => format!("{}x", digits(value)),
                None => metric::said(metric, value),
            };
            (lies(fast) != lies(slow)).then(|| {
                format!(
                    "it depends on the fork: {} where {} is fast, {} where it is slow",
                    show(fast),
                    run.name(cell.arm()),
                    show(slow)
                )
            })
        })
    }

    /// One verdict for all conditions, and why.
    fn conclude(&self, run: &Run, outcomes: &[&Outcome]) -> (ClaimVerdict, String) {
        let with = |verdict: ClaimVerdict| -> Vec<&Outcome> {
            outcomes.iter().filter(|it| it.verdict == verdict).copied().collect()
        };
        let why = |of: &[&Outcome]| {
            most_frequent(of.iter().filter_map(|it| it.why.as_deref())).map(|(reason, _)| reason.to_string())
        };
        let untestable = with(ClaimVerdict::NotTestableHere);
        let testable: Vec<&Outcome> =
            outcomes.iter().filter(|it| it.verdict != ClaimVerdict::NotTestableHere).copied().collect();
        let (unmeasured, untestable): (Vec<&Outcome>, Vec<&Outcome>) =
            untestable.into_iter().partition(|it| it.only_unmeasured);
        if testable.is_empty() {
            return match why(&unmeasured) {
                Some(reason) => (ClaimVerdict::Undecided, format!("not measured: {reason}")),
                None => {
                    (ClaimVerdict::NotTestableHere, why(&untestable).unwrap_or_else(|| "no valid pass".to_string()))
                }
            };
        }
        let open = with(ClaimVerdict::Undecided);
        let groups: Vec<(ClaimVerdict, Vec<&Outcome>)> =
            DECIDED.iter().map(|&it| (it, with(it))).filter(|(_, group)| !group.is_empty()).collect();
        let verdict = match &groups[..] {
            [(verdict, group)] if group.len() >= open.len() => *verdict,
            _ => ClaimVerdict::Undecided,
        };
        let spread = match &groups[..] {
            _ if testable.len() == 1 => None,
            [] => Some(format!("undecided in all {} conditions", testable.len())),
            [(verdict, group)] if open.is_empty() => {
                Some(format!("{} in all {} conditions", verdict.words(), group.len()))
            }
            _ => {
                let counted = |verdict: ClaimVerdict, group: &[&Outcome]| {
                    format!("{} in {} ({})", verdict.words(), group.len(), named(group))
                };
                let mut counts: Vec<String> = groups.iter().map(|(verdict, group)| counted(*verdict, group)).collect();
                if !open.is_empty() {
                    counts.push(counted(ClaimVerdict::Undecided, &open));
                }
                Some(counts.join(", "))
            }
        };
        let left_out = |what: &str, of: &[&Outcome]| {
            let reason = why(of).unwrap_or_default();
            (!of.is_empty()).then(|| format!("{what} in {} ({}): {reason}", of.len(), named(of)))
        };
        let unmeasured = left_out("not measured", &unmeasured);
        let left_out = left_out("not testable here", &untestable);
        let published = (testable[0].variant == Some(Variant::AsPublished))
            .then(|| "decided as published: nothing corrected was run".to_string());
        let remark =
            most_frequent(testable.iter().filter_map(|it| it.remark.as_deref())).map(|(remark, _)| remark.to_string());
        let folios = (self.claim.metric == Metric::PagesPerFault).then(|| folios(run, testable[0].condition)).flatten();
        let of_job: Vec<&Outcome> = testable.iter().filter(|it| it.answer_of == AnswerOf::Job).copied().collect();
        let sizes = (!of_job.is_empty()).then(|| match of_job.len() == testable.len() {
            true => "by passes at the size of the job".to_string(),
            false => format!("by passes at the size of the job in {}, by smaller ones elsewhere", named(&of_job)),
        });
        let numbers = self.numbers(&testable, verdict);
        let parts = [spread, numbers, sizes, why(&open), unmeasured, left_out, published, remark, folios];
        (verdict, parts.into_iter().flatten().collect::<Vec<String>>().join("; "))
    }

    /// The published number beside ours: `mmap faster than read: published 1.35x, here 1.62x [1.58, 1.66]; …`
    fn numbers(&self, outcomes: &[&Outcome], verdict: ClaimVerdict) -> Option<String> {
        let estimates: Vec<Estimate> = outcomes.iter().filter_map(|it| it.estimate).collect();
        let first = outcomes.iter().find(|it| it.estimate.is_some())?;
        let Some(than) = first.than else {
            return Some(self.plain_numbers(first.arm, &estimates));
        };
        let this_way = |estimate: &Estimate| if self.expect == Expect::Higher { turned(estimate) } else { *estimate };
        let ours: Vec<Estimate> = estimates.iter().map(this_way).collect();
        let (arm, metric) = (first.arm, self.claim.metric);
        let lead = match (self.expect, metric) {
            (Expect::Same, _) => format!("{} of {than} over {arm}", metric::words(metric)),
            (Expect::Higher, Metric::Time) => format!("{arm} slower than {than}"),
            (_, Metric::Time) => format!("{arm} faster than {than}"),
            (expect, _) => {
                let more = match (expect, metric) {
                    (Expect::Higher, _) => "more",
                    (_, Metric::MinorFaults | Metric::DeviceReadBytes | Metric::PagesPerFault) => "fewer",
                    _ => "less",
                };
                format!("{more} {} with {arm} than with {than}", metric::words(metric))
            }
        };
        let here = match &ours[..] {
            [one] => format!("{}x [{}, {}]", digits(one.median), digits(one.ci_low), digits(one.ci_high)),
            several => {
                let (low, high) = ends(several);
                range(format!("{}x", digits(low)), format!("{}x", digits(high)))
            }
        };
        let Some(published) = self.claim.ratio.filter(|it| it.is_finite() && *it > 0.0) else {
            return Some(format!("{lead}: here {here}"));
        };
        let effect = match verdict {
            ClaimVerdict::Holds if self.expect != Expect::Same => {
                let held = outcomes.iter().filter(|it| it.verdict == ClaimVerdict::Holds);
                let held: Vec<Estimate> = held.filter_map(|it| it.estimate.as_ref()).map(this_way).collect();
                format!("; {}", effect(published, &held))
            }
            _ => String::new(),
        };
        Some(format!("{lead}: published {}x, here {here}{effect}", digits(published)))
    }

    fn plain_numbers(&self, arm: &str, estimates: &[Estimate]) -> String {
        let metric = self.claim.metric;
        let said = |value: f64| metric::said(metric, value);
        let claimed = match self.expect {
            Expect::AtMost(most) => format!("at most {}", said(most)),
            Expect::AtLeast(least) => format!("at least {}", said(least)),
            Expect::Lower | Expect::Higher | Expect::Same => "something else".to_string(),
        };
        let here = match estimates {
            [one] => format!("{} [{}, {}]", said(one.median), said(one.ci_low), said(one.ci_high)),
            several => {
                let (low, high) = ends(several);
                range(said(low), said(high))
            }
        };
        format!("{} of {arm}{}: claimed {claimed}, here {here}", metric::words(metric), metric::unit(metric))
    }
}

const DECIDED: [ClaimVerdict; 3] = [ClaimVerdict::Holds, ClaimVerdict::Reversed, ClaimVerdict::NoDifference];

/// The cell of an arm, by its name. What was published is often done by an arm that does something of its own, under a
/// name of its own: there, the one that a figure names beside this arm stands for it, or else the only one with the same
/// method and options.
fn cell_of<'a, 'r>(run: &'r Run<'a>, condition: usize, origin: Option<&Compare>, name: &str) -> Option<&'r Cell<'a>> {
    let entered = || run.of_condition(condition).filter(|cell| !cell.entry.control);
    let by_name = |name: &str| entered().find(|cell| cell.arm().name == name);
    if let Some(cell) = by_name(name) {
        return Some(cell);
    }
    let origin = origin.filter(|it| it.variant == Some(Variant::AsPublished))?;
    let experiment = &run.record.experiment;
    let by_figure = experiment.figures.iter().filter(|it| Some(&it.compare) == origin.name.as_ref()).find_map(|it| {
        let corrected = experiment.arm_name(it.corrected.as_deref()?)?;
        by_name(experiment.arm_name(it.as_published.as_deref()?)?).filter(|_| corrected == name)
    });
    by_figure.or_else(|| {
        let meant = experiment.comparisons.iter().flat_map(|it| &it.arms).find(|it| it.arm.name == name)?;
        let same = |cell: &&Cell| {
            let (a, b) = (cell.arm(), &meant.arm);
            a.runtime == b.runtime && a.method == b.method && a.options == b.options
        };
        entered().find(same).filter(|_| entered().filter(same).count() == 1)
    })
}

fn unequal(run: &Run, than: &Cell, arm: &Cell) -> Option<String> {
    let work = equal_work::check(run, than, arm, &than.pairs(arm));
    (!work.unequal.is_empty()).then(|| work.unequal.join("; "))
}

/// By the whole interval. Ratios by the rule that comparisons are judged by: lower is what is called faster there. A claim
/// that two arms are the same is reversed by a clear difference, whichever way it goes.
fn judge(expect: Expect, estimate: Estimate, rounds: u32) -> (ClaimVerdict, Option<String>) {
    let (of_ratio, why) = verdict(Some(estimate), rounds);
    if rounds < LEAST_PAIRS {
        return (ClaimVerdict::Undecided, why);
    }
    let Estimate { ci_low, ci_high, .. } = estimate;
    let claimed = match (expect, of_ratio) {
        (Expect::Lower, Verdict::Faster) | (Expect::Higher, Verdict::Slower) => ClaimVerdict::Holds,
        (Expect::Lower, Verdict::Slower) | (Expect::Higher, Verdict::Faster) => ClaimVerdict::Reversed,
        (Expect::Lower | Expect::Higher, Verdict::Same) => ClaimVerdict::NoDifference,
        (Expect::Same, Verdict::Same) => ClaimVerdict::Holds,
        (Expect::Same, Verdict::Faster | Verdict::Slower) => ClaimVerdict::Reversed,
        (Expect::AtMost(most), _) if ci_high <= most => ClaimVerdict::Holds,
        (Expect::AtMost(most), _) if ci_low > most => ClaimVerdict::Reversed,
        (Expect::AtLeast(least), _) if ci_low >= least => ClaimVerdict::Holds,
        (Expect::AtLeast(least), _) if ci_high < least => ClaimVerdict::Reversed,
        _ => ClaimVerdict::Undecided,
    };
    let why = (claimed == ClaimVerdict::Undecided).then(|| match expect {
        Expect::AtMost(_) | Expect::AtLeast(_) => "the interval lies on both sides of what was claimed".to_string(),
        _ => format!("the interval crosses the margin of {}", percent(MARGIN)),
    });
    (claimed, why)
}

fn turned(estimate: &Estimate) -> Estimate {
    let turn = |value: f64| (1.0 / value).min(f64::MAX);
    Estimate { median: turn(estimate.median), ci_low: turn(estimate.ci_high), ci_high: turn(estimate.ci_low) }
}

/// The smallest and the largest median.
fn ends(estimates: &[Estimate]) -> (f64, f64) {
    let medians = || estimates.iter().map(|it| it.median);
    (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max))
}

/// The size of an effect may differ from the published one although its direction holds.
fn effect(published: f64, ours: &[Estimate]) -> String {
    let (low, high) = ends(ours);
    let [low, high] = [low / published, high / published].map(|it| it.min(f64::MAX));
    let word = |share: f64| if share < 0.095 { format!("{share:.2}") } else { format!("{share:.1}") };
    match range(word(low), word(high)).as_str() {
        "1.0" => "the effect is as large as published".to_string(),
        share => format!("the effect is {share} times as large"),
    }
}

/// `1.30x to 3.00x`; one of them where they read the same.
fn range(low: String, high: String) -> String {
    if low == high { low } else { format!("{low} to {high}") }
}

fn named(outcomes: &[&Outcome]) -> String {
    let mut labels: Vec<String> = outcomes.iter().take(NAMED).map(|it| it.label.clone()).collect();
    if outcomes.len() > NAMED {
        labels.push(format!("{} more", outcomes.len() - NAMED));
    }
    labels.join(", ")
}

/// Among the conditions of its variant: that one is named beside it.
fn label(run: &Run, asked: &Asked) -> String {
    let variant = |condition: usize| run.origin(condition).and_then(|it| it.variant);
    Labels::of_some(run.record, |it| variant(it) == asked.variant).label(asked.condition)
}

/// What decides how many pages a fault maps: the folios that the fill left, and the kernel's window around a fault.
fn folios(run: &Run, condition: &Condition) -> Option<String> {
    let most =
        fills::made_for(run.record, condition)?.folio_orders.value()?.iter().max_by_key(|it| (it.pages, it.order))?;
    let pages = 1u64.checked_shl(most.order)?;
    let of = if pages == 1 { "single pages".to_string() } else { format!("folios of {} pages", thousands(pages)) };
    let around = match run.record.environment.fault_around_bytes.value() {
        Some(bytes) => format!(", and this kernel maps {} around a fault", size(*bytes as f64)),
        None => String::new(),
    };
    Some(format!("most of the cached file lies in {of}{around}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(ci_low: f64, ci_high: f64) -> Estimate {
        Estimate { median: (ci_low * ci_high).sqrt(), ci_low, ci_high }
    }

    #[test]
    fn verdicts_change_exactly_at_the_margin() {
        use ClaimVerdict::{Holds, NoDifference, Reversed, Undecided};
        let low_edge = 1.0 / 1.05;
        let cases = [
            // interval, lower, higher, same
            ((1.0501, 1.2), Holds, Reversed, Reversed),
            ((1.05, 1.2), Undecided, Undecided, Undecided),
            ((0.8, 0.9523), Reversed, Holds, Reversed),
            ((0.8, low_edge), Undecided, Undecided, Undecided),
            ((low_edge, 1.05), NoDifference, NoDifference, Holds),
            ((low_edge, 1.0501), Undecided, Undecided, Undecided),
            ((0.9523, 1.05), Undecided, Undecided, Undecided),
        ];
        for ((low, high), lower, higher, same) in cases {
            let judged = |expect| judge(expect, estimate(low, high), 5).0;
            let all = [Expect::Lower, Expect::Higher, Expect::Same].map(judged);
            assert_eq!(all, [lower, higher, same], "{low} to {high}");
        }
    }

    #[test]
    fn a_number_is_judged_by_the_side_the_interval_lies_on() {
        use ClaimVerdict::{Holds, Reversed, Undecided};
        let judged = |expect, low, high| judge(expect, estimate(low, high), 5).0;
        let most = Expect::AtMost(1.5);
        assert_eq!(
            [(1.0, 1.5), (1.0, 1.51), (1.5, 1.6), (1.51, 1.6)].map(|(low, high)| judged(most, low, high)),
            [Holds, Undecided, Undecided, Reversed]
        );
        let least = Expect::AtLeast(16.0);
        assert_eq!(
            [(16.0, 17.0), (15.9, 17.0), (15.0, 16.0), (15.0, 15.9)].map(|(low, high)| judged(least, low, high)),
            [Holds, Undecided, Undecided, Reversed]
        );
    }

    #[test]
    fn four_rounds_decide_no_claim() {
        for expect in [Expect::Lower, Expect::Higher, Expect::Same, Expect::AtMost(9.0), Expect::AtLeast(1.0)] {
            let (verdict, why) = judge(expect, estimate(2.0, 2.1), 4);
            assert_eq!(verdict, ClaimVerdict::Undecided);
            assert_eq!(why.as_deref(), Some("only 4 rounds; 5 are the least that decide anything"));
        }
    }

    #[test]
    fn the_size_of_an_effect_is_said() {
        let ours = |medians: &[f64]| -> Vec<Estimate> { medians.iter().map(|it| estimate(*it, *it)).collect() };
        assert_eq!(effect(1.35, &ours(&[1.62])), "the effect is 1.2 times as large");
        assert_eq!(effect(1.35, &ours(&[1.36])), "the effect is as large as published");
        assert_eq!(effect(2.0, &ours(&[1.2, 3.0])), "the effect is 0.6 to 1.5 times as large");
        assert_eq!(effect(800.0, &ours(&[40.0])), "the effect is 0.05 times as large");
    }
}
