//! One verdict of a claim for all conditions, and why, with the published number beside ours.

use schema::{
    Condition,
    conclusion::{ClaimNumbers, Conclusion, Ours, VerdictIn},
    experiment::{Expect, Metric, Variant},
    findings::{AnswerOf, ClaimVerdict, Estimate},
    reason::{Reason, Unseen},
};

use super::{
    DECIDED, judge,
    question::{ClaimOutcome, Question},
};
use crate::{answers::fills, measured::Run};

impl Question<'_> {
    /// One verdict for all conditions, and why.
    pub(super) fn conclude(&self, run: &Run, outcomes: &[&ClaimOutcome]) -> (ClaimVerdict, Vec<Reason>) {
        let with = |verdict: ClaimVerdict| -> Vec<&ClaimOutcome> {
            outcomes.iter().filter(|it| it.verdict == verdict).copied().collect()
        };
        let untestable = with(ClaimVerdict::NotTestableHere);
        let testable: Vec<&ClaimOutcome> =
            outcomes.iter().filter(|it| it.verdict != ClaimVerdict::NotTestableHere).copied().collect();
        let (unmeasured, untestable): (Vec<&ClaimOutcome>, Vec<&ClaimOutcome>) =
            untestable.into_iter().partition(|it| it.only_unmeasured);
        let why = |it: &ClaimOutcome| Some(it.why.clone().unwrap_or_else(|| Unseen::NoValidPass.into()));
        let not_measured = each_once(&unmeasured, why, unmeasured.len() == outcomes.len(), |labels, reason| {
            Reason::NotMeasured { labels, reason }
        });
        let not_testable = each_once(&untestable, why, false, |labels, reason| Reason::NotTestable { labels, reason });
        if testable.is_empty() {
            return match (&not_measured[..], &not_testable[..]) {
                ([], []) => (ClaimVerdict::NotTestableHere, vec![Unseen::NoValidPass.into()]),
                ([], [Reason::NotTestable { reason, .. }]) => (ClaimVerdict::NotTestableHere, vec![(**reason).clone()]),
                ([], _) => (ClaimVerdict::NotTestableHere, not_testable),
                _ => (ClaimVerdict::Undecided, [not_measured, not_testable].concat()),
            };
        }
        let open = with(ClaimVerdict::Undecided);
        let groups: Vec<(ClaimVerdict, Vec<&ClaimOutcome>)> =
            DECIDED.iter().map(|&it| (it, with(it))).filter(|(_, group)| !group.is_empty()).collect();
        let decided: usize = groups.iter().map(|(_, group)| group.len()).sum();
        // What was not measured for want of time is as open as what was and decided nothing.
        let open_count = open.len() + unmeasured.len();
        let most = groups.iter().find(|(_, group)| 2 * group.len() > decided + open_count);
        let is_both = |one, other| [one, other].iter().all(|it| groups.iter().any(|(verdict, _)| verdict == it));
        // What is open for another reason than its interval leans nowhere.
        let is_between = |it: &ClaimOutcome| {
            matches!(it.why, Some(Reason::Conclusion(Conclusion::CrossesMargin { .. } | Conclusion::ContainsClaimed)))
        };
        let leaning = |it: &&ClaimOutcome| {
            it.estimate.filter(|_| is_between(it)).map(|estimate| judge::leaning(self.expect, estimate))
        };
        let leans = |to: ClaimVerdict| open.iter().filter(|it| leaning(it) == Some(to)).copied().collect::<Vec<_>>();
        let is_split = is_both(ClaimVerdict::Holds, ClaimVerdict::Reversed);
        let against = match most {
            _ if decided < open_count || is_split => Vec::new(),
            Some((ClaimVerdict::Holds, _)) => leans(ClaimVerdict::Reversed),
            Some((ClaimVerdict::Reversed, _)) => leans(ClaimVerdict::Holds),
            _ => Vec::new(),
        };
        let verdict = match most {
            _ if decided < open_count => ClaimVerdict::Undecided,
            _ if is_split => ClaimVerdict::Mixed,
            // It may be mixed.
            Some(_) if !against.is_empty() => ClaimVerdict::Undecided,
            Some((verdict, _)) => *verdict,
            None if groups.len() > 1 => ClaimVerdict::Mixed,
            None => ClaimVerdict::Undecided,
        };
        let verdicts = || {
            let open = (!open.is_empty()).then_some((ClaimVerdict::Undecided, &open));
            let of_groups = groups.iter().map(|(verdict, group)| (*verdict, group));
            of_groups.chain(open).map(|(verdict, of)| VerdictIn { verdict, labels: labels(of) }).collect()
        };
        let spread = (testable.len() > 1).then(|| Conclusion::Verdicts(verdicts()));
        let published = (testable[0].variant == Some(Variant::AsPublished)).then_some(Conclusion::OnlyPublished);
        // The verdicts have the labels of what is open.
        let open = each_once(&open, |it| it.why.clone(), true, in_conditions);
        let remarked: Vec<&ClaimOutcome> = testable.iter().filter(|it| it.remark.is_some()).copied().collect();
        let remarks = each_once(&remarked, |it| it.remark.clone(), remarked.len() == testable.len(), in_conditions);
        // Of several fills, or ranges, the folios of one would be said of all.
        let of_all = |pages: &u64| testable.iter().all(|it| folio_pages(run, it.condition) == Some(*pages));
        let says_folios = self.claim.metric == Metric::PagesPerFault;
        let folios = says_folios.then(|| folio_pages(run, testable[0].condition).filter(of_all)).flatten();
        let around_bytes = run.record.environment.fault_around_bytes.value().copied();
        // What decides how many pages a fault maps: these folios, and the kernel's window around a fault.
        let folios = folios.map(|pages| Conclusion::Folios { pages, around_bytes });
        // Without labels: under all conditions.
        let by = |is_by: &dyn Fn(&ClaimOutcome) -> bool| {
            let by: Vec<&ClaimOutcome> = testable.iter().filter(|it| is_by(it)).copied().collect();
            (!by.is_empty()).then(|| if by.len() == testable.len() { Vec::new() } else { labels(&by) })
        };
        let sizes = by(&|it| it.answer_of == AnswerOf::Job).map(|labels| Conclusion::OfJob { labels });
        let unconfirmed = by(&|it| it.is_unconfirmed()).filter(|_| verdict.is_decided());
        let unconfirmed = unconfirmed.map(|labels| Conclusion::Unconfirmed { labels });
        let leans = (!against.is_empty()).then(|| Conclusion::Leans { labels: labels(&against) });
        let numbers = self.numbers(&testable, verdict).map(|it| Conclusion::Numbers(Box::new(it)));
        let [spread, numbers, sizes, unconfirmed, leans, published, folios] =
            [spread, numbers, sizes, unconfirmed, leans, published, folios].map(|it| it.map(Reason::Conclusion));
        let parts = [
            [spread, numbers, sizes, unconfirmed, leans].into_iter().flatten().collect(),
            open,
            not_measured,
            not_testable,
            published.into_iter().collect(),
            remarks,
            folios.into_iter().collect::<Vec<Reason>>(),
        ];
        (verdict, parts.concat())
    }

    /// The published number beside ours. A ratio is turned so that it is above 1 where the claim holds.
    fn numbers(&self, outcomes: &[&ClaimOutcome], verdict: ClaimVerdict) -> Option<ClaimNumbers> {
        let first = outcomes.iter().find(|it| it.estimate.is_some())?;
        let across = first.against_cell.is_some();
        let is_ratio = first.than.is_some() || across;
        let this_way = |estimate: Estimate| match is_ratio && self.expect == Expect::Higher {
            true => turned(&estimate),
            false => estimate,
        };
        let ours =
            |of: &[&ClaimOutcome]| -> Vec<Estimate> { of.iter().filter_map(|it| it.estimate).map(this_way).collect() };
        let here = match &ours(outcomes)[..] {
            [one] => Ours::One(*one),
            several => Ours::Between(ends(several)),
        };
        let published = self.claim.ratio.filter(|it| is_ratio && it.is_finite() && *it > 0.0);
        let holds = verdict == ClaimVerdict::Holds && self.expect != Expect::Same;
        let effect = published.filter(|_| holds).map(|published| {
            let held: Vec<&ClaimOutcome> =
                outcomes.iter().filter(|it| it.verdict == ClaimVerdict::Holds).copied().collect();
            ends(&ours(&held)).map(|it| (it / published).min(f64::MAX))
        });
        Some(ClaimNumbers {
            metric: self.claim.metric,
            expect: self.expect,
            arm: first.arm.to_string(),
            than: first.than.map(str::to_string),
            across,
            here,
            published,
            effect,
        })
    }
}

fn labels(of: &[&ClaimOutcome]) -> Vec<String> {
    of.iter().map(|it| it.brief.clone()).collect()
}

/// Each reason once, with the labels of its conditions; without labels where there is one, and it is that of all.
fn each_once(
    of: &[&ClaimOutcome],
    why: impl Fn(&ClaimOutcome) -> Option<Reason>,
    is_of_all: bool,
    to_reason: fn(Vec<String>, Box<Reason>) -> Reason,
) -> Vec<Reason> {
    let mut reasons: Vec<(Reason, Vec<String>)> = Vec::new();
    for (why, label) in of.iter().filter_map(|it| Some((why(it)?, it.brief.clone()))) {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, labels)) => labels.push(label),
            None => reasons.push((why, vec![label])),
        }
    }
    let is_one = is_of_all && reasons.len() == 1;
    let labels = |of: Vec<String>| if is_one { Vec::new() } else { of };
    reasons.into_iter().map(|(reason, of)| to_reason(labels(of), Box::new(reason))).collect()
}

fn in_conditions(labels: Vec<String>, reason: Box<Reason>) -> Reason {
    if labels.is_empty() { *reason } else { Reason::In { labels, reason } }
}

fn turned(estimate: &Estimate) -> Estimate {
    let turn = |value: f64| (1.0 / value).min(f64::MAX);
    Estimate { median: turn(estimate.median), ci_low: turn(estimate.ci_high), ci_high: turn(estimate.ci_low) }
}

/// The smallest and the largest median.
fn ends(estimates: &[Estimate]) -> [f64; 2] {
    let medians = || estimates.iter().map(|it| it.median);
    [medians().fold(f64::MAX, f64::min), medians().fold(0.0, f64::max)]
}

/// Pages of the folios that most of the file lay in, if most are of one size.
fn folio_pages(run: &Run, condition: &Condition) -> Option<u64> {
    let orders = fills::made_for(run.record, condition)?.folio_orders.value()?;
    let all: f64 = orders.iter().map(|it| it.pages as f64).sum();
    let most = orders.iter().find(|it| it.pages as f64 > all / 2.0)?;
    1u64.checked_shl(most.order)
}

/// Pages of the folio in the middle: half of the file lay in folios of this size or larger ones.
pub(super) fn middle_folio_pages(run: &Run, condition: &Condition) -> Option<u64> {
    let mut orders = fills::made_for(run.record, condition)?.folio_orders.value()?.clone();
    orders.sort_unstable_by_key(|it| std::cmp::Reverse(it.order));
    let half = orders.iter().map(|it| it.pages as f64).sum::<f64>() / 2.0;
    let mut larger = 0.0;
    let middle = orders.iter().find(|it| {
        larger += it.pages as f64;
        larger >= half
    })?;
    1u64.checked_shl(middle.order)
}
