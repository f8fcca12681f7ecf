//! One verdict of a claim for all conditions, and the sentence that says why, with the published number beside ours.

use schema::{
    Condition,
    experiment::{Expect, Metric, Variant},
    findings::{AnswerOf, ClaimVerdict, Estimate},
    reason::Reason,
};

use super::{
    DECIDED,
    question::{ClaimOutcome, Question},
};
use crate::{
    answers::fills,
    cells::metric,
    measured::{Run, most_frequent},
    words::{digits, size, thousands},
};

/// So many conditions are named in a sentence.
const NAMED: usize = 4;

impl Question<'_> {
    /// One verdict for all conditions, and why.
    pub(super) fn conclude(&self, run: &Run, outcomes: &[&ClaimOutcome]) -> (ClaimVerdict, Vec<Reason>) {
        let with = |verdict: ClaimVerdict| -> Vec<&ClaimOutcome> {
            outcomes.iter().filter(|it| it.verdict == verdict).copied().collect()
        };
        let why = |of: &[&ClaimOutcome]| {
            most_frequent(of.iter().filter_map(|it| it.why.as_ref())).map(|(reason, _)| reason.clone())
        };
        let untestable = with(ClaimVerdict::NotTestableHere);
        let testable: Vec<&ClaimOutcome> =
            outcomes.iter().filter(|it| it.verdict != ClaimVerdict::NotTestableHere).copied().collect();
        let (unmeasured, untestable): (Vec<&ClaimOutcome>, Vec<&ClaimOutcome>) =
            untestable.into_iter().partition(|it| it.only_unmeasured);
        if testable.is_empty() {
            return match why(&unmeasured) {
                Some(reason) => {
                    let of = "not measured".to_string();
                    (ClaimVerdict::Undecided, vec![Reason::Of { of, reason: Box::new(reason) }])
                }
                None => {
                    (ClaimVerdict::NotTestableHere, vec![why(&untestable).unwrap_or_else(|| "no valid pass".into())])
                }
            };
        }
        let open = with(ClaimVerdict::Undecided);
        let groups: Vec<(ClaimVerdict, Vec<&ClaimOutcome>)> =
            DECIDED.iter().map(|&it| (it, with(it))).filter(|(_, group)| !group.is_empty()).collect();
        let decided: usize = groups.iter().map(|(_, group)| group.len()).sum();
        let verdict = match &groups[..] {
            // What was not measured for want of time is as open as what was and decided nothing.
            _ if decided < open.len() + unmeasured.len() => ClaimVerdict::Undecided,
            [] => ClaimVerdict::Undecided,
            [(verdict, _)] => *verdict,
            _ => ClaimVerdict::Mixed,
        };
        let spread = match &groups[..] {
            _ if testable.len() == 1 => None,
            [] => Some(format!("undecided in {}", all_of(testable.len()))),
            [(verdict, group)] if open.is_empty() => Some(format!("{} in {}", verdict.words(), all_of(group.len()))),
            _ => {
                let counted = |verdict: ClaimVerdict, group: &[&ClaimOutcome]| {
                    format!("{} in {} ({})", verdict.words(), group.len(), named(group))
                };
                let mut counts: Vec<String> = groups.iter().map(|(verdict, group)| counted(*verdict, group)).collect();
                if !open.is_empty() {
                    counts.push(counted(ClaimVerdict::Undecided, &open));
                }
                Some(counts.join(", "))
            }
        };
        let left_out = |what: &str, of: &[&ClaimOutcome]| {
            let reason = Box::new(why(of).unwrap_or_default());
            (!of.is_empty()).then(|| Reason::Of { of: format!("{what} in {} ({})", of.len(), named(of)), reason })
        };
        let unmeasured = left_out("not measured", &unmeasured);
        let left_out = left_out("not testable here", &untestable);
        let published = (testable[0].variant == Some(Variant::AsPublished))
            .then(|| "decided by the published variant: no corrected variant was run".to_string());
        let remark =
            most_frequent(testable.iter().filter_map(|it| it.remark.as_ref())).map(|(remark, _)| remark.clone());
        // Of several fills the folios of one would be said of all.
        let one_fill = testable.iter().all(|it| it.condition.fill() == testable[0].condition.fill());
        let says_folios = self.claim.metric == Metric::PagesPerFault && one_fill;
        let folios = says_folios.then(|| folios(run, testable[0].condition)).flatten();
        let of_job: Vec<&ClaimOutcome> = testable.iter().filter(|it| it.answer_of == AnswerOf::Job).copied().collect();
        let sizes = (!of_job.is_empty()).then(|| match of_job.len() == testable.len() {
            true => "by passes at the size of the job".to_string(),
            false => format!("by passes at the size of the job in {}, by smaller passes in the others", named(&of_job)),
        });
        let numbers = self.numbers(&testable, verdict);
        let [spread, numbers, sizes, published, folios] =
            [spread, numbers, sizes, published, folios].map(|it| it.map(Reason::Text));
        let parts = [spread, numbers, sizes, why(&open), unmeasured, left_out, published, remark, folios];
        (verdict, parts.into_iter().flatten().collect())
    }

    /// The published number beside ours: `mmap faster than read: published 1.35x, here 1.62x [1.58, 1.66]; …`
    fn numbers(&self, outcomes: &[&ClaimOutcome], verdict: ClaimVerdict) -> Option<String> {
        let estimates: Vec<Estimate> = outcomes.iter().filter_map(|it| it.estimate).collect();
        let first = outcomes.iter().find(|it| it.estimate.is_some())?;
        let is_across = first.against_cell.is_some();
        if first.than.is_none() && !is_across {
            return Some(self.plain_numbers(first.arm, &estimates));
        }
        let this_way = |estimate: &Estimate| if self.expect == Expect::Higher { turned(estimate) } else { *estimate };
        let ours: Vec<Estimate> = estimates.iter().map(this_way).collect();
        let (arm, metric) = (first.arm, self.claim.metric);
        let than = first.than.unwrap_or_default();
        let lead = match (self.expect, metric) {
            _ if is_across => self.lead_across(first),
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

    /// What the ratio is of, where conditions are held against each other.
    fn lead_across(&self, of: &ClaimOutcome) -> String {
        let (metric, a_byte) =
            (metric::words(self.claim.metric), if metric::is_quotient(self.claim.metric) { "" } else { " a byte" });
        let (arm, less) = (of.arm, if self.expect == Expect::Higher { "more" } else { "less" });
        match of.than {
            Some(than) => {
                format!("{less} {metric} of {arm} relative to {than} in the first condition than in the second")
            }
            None => format!("{less} {metric}{a_byte} with {arm} in the first condition than in the second"),
        }
    }

    fn plain_numbers(&self, arm: &str, estimates: &[Estimate]) -> String {
        let metric = self.claim.metric;
        let described = |value: f64| metric::described(metric, value);
        let claimed = match self.expect {
            Expect::AtMost(most) => format!("at most {}", described(most)),
            Expect::AtLeast(least) => format!("at least {}", described(least)),
            Expect::Lower | Expect::Higher | Expect::Same => "something else".to_string(),
        };
        let here = match estimates {
            [one] => format!("{} [{}, {}]", described(one.median), described(one.ci_low), described(one.ci_high)),
            several => {
                let (low, high) = ends(several);
                range(described(low), described(high))
            }
        };
        format!("{} of {arm}{}: claimed {claimed}, here {here}", metric::words(metric), metric::unit(metric))
    }
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

fn named(outcomes: &[&ClaimOutcome]) -> String {
    let mut labels: Vec<String> = outcomes.iter().take(NAMED).map(|it| it.label.clone()).collect();
    if outcomes.len() > NAMED {
        labels.push(format!("{} more", outcomes.len() - NAMED));
    }
    // Labels have commas of their own.
    let between = if labels.iter().any(|it| it.contains(',')) { "; " } else { ", " };
    labels.join(between)
}

/// Of conditions: two or more.
fn all_of(conditions: usize) -> String {
    if conditions == 2 { "both conditions".to_string() } else { format!("all {conditions} conditions") }
}

/// What decides how many pages a fault maps: the folios that the fill left, if most are of one size, and the kernel's window
/// around a fault.
fn folios(run: &Run, condition: &Condition) -> Option<String> {
    let pages = folio_pages(run, condition)?;
    let of = if pages == 1 { "single pages".to_string() } else { format!("folios of {} pages", thousands(pages)) };
    let around = match run.record.environment.fault_around_bytes.value() {
        Some(bytes) => format!(", and this kernel maps {} around a fault", size(*bytes as f64)),
        None => String::new(),
    };
    Some(format!("most of the cached file lies in {of}{around}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(ci_low: f64, ci_high: f64) -> Estimate {
        Estimate { median: (ci_low * ci_high).sqrt(), ci_low, ci_high }
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
