//! What a claim comes to, and what a run lacks that a claim or a figure asks.

use schema::{
    Bytes,
    conclusion::{ClaimNumbers, Conclusion, Ours, VerdictIn},
    experiment::{Expect, Metric},
    reason::NotInRun,
    replaced::Replaced,
};

use super::{
    UNCONFIRMED, metric,
    numbers::{digits, list, percent, size, thousands},
};

/// So many conditions are named in a sentence.
const NAMED: usize = 6;

pub(super) fn conclusion(of: &Conclusion) -> String {
    match of {
        Conclusion::Verdicts(verdicts) => match &verdicts[..] {
            [one] => format!("{} in {} measured", one.verdict.words(), all_of(one.labels.len())),
            several => several.iter().map(verdict_in).collect::<Vec<String>>().join(", "),
        },
        Conclusion::Numbers(numbers) => match numbers.across || numbers.than.is_some() {
            true => ratios(numbers),
            false => values(numbers),
        },
        Conclusion::OfJob { labels } if labels.is_empty() => "by passes at the size of the job".into(),
        Conclusion::OfJob { labels } => {
            format!("by passes at the size of the job in {}, by passes of the rounds in the others", named(labels))
        }
        Conclusion::Unconfirmed { labels } if labels.is_empty() => UNCONFIRMED.into(),
        Conclusion::Unconfirmed { labels } => format!("{UNCONFIRMED} in {}", named(labels)),
        Conclusion::Leans { labels } => {
            format!("{} leans the other way by its middle, and may be decided so by another run", named(labels))
        }
        Conclusion::OnlyPublished => "decided by the published variant: no corrected variant was run".into(),
        Conclusion::Folios { pages, around_bytes } => {
            let of = if *pages == 1 { "single pages".into() } else { format!("folios of {} pages", thousands(*pages)) };
            let around = around_bytes
                .map(|bytes| format!(", and this kernel maps {} around a fault", size(bytes as f64)))
                .unwrap_or_default();
            format!("most of the cached file lies in {of}{around}")
        }
        Conclusion::ContainsClaimed => "the interval contains the claimed value".into(),
        Conclusion::MapsUnreached { at_most, is_ratio } => format!(
            "these are pages that were reached, and a fault may map others beside them: {} {}{}, if each page of the range was \
             mapped once",
            if *is_ratio { "the ratio may be up to" } else { "up to" },
            digits(*at_most),
            if *is_ratio { "x" } else { " in all" },
        ),
        Conclusion::CrossesMargin { margin } => format!("the interval crosses the margin of {}", percent(*margin)),
        Conclusion::DependsOnFork { forks_of, fast, slow, metric } => {
            let [fast, slow] = [fast, slow].map(|it| match metric {
                Some(metric) => metric::value(*metric, *it),
                None => format!("{}x", digits(*it)),
            });
            format!("the verdict depends on the fork: {fast} where {forks_of} is fast, {slow} where it is slow")
        }
        Conclusion::NoRatio => "what is 0 has no ratio".into(),
        Conclusion::ReachesZero => "an interval reaches 0, so no ratio is given".into(),
        Conclusion::OfPart => "from a part of what the experiment asks for it".into(),
        Conclusion::OfOtherSize { file_bytes, study_bytes, full_bytes } => {
            format!("from a file of {}; {}", Bytes(*file_bytes).exact(), of_study(*study_bytes, *full_bytes))
        }
        Conclusion::Partial { partial } => format!("the run is partial: {partial}"),
    }
}

/// Of conditions: two or more.
fn all_of(conditions: usize) -> String {
    if conditions == 2 { "both conditions".to_string() } else { format!("all {conditions} conditions") }
}

fn verdict_in(of: &VerdictIn) -> String {
    of.verdict.words().to_string() + &in_conditions(&of.labels)
}

/// ` in 2 (scan cached, scan cold)`; nothing without any.
pub(super) fn in_conditions(labels: &[String]) -> String {
    if labels.is_empty() { String::new() } else { format!(" in {} ({})", labels.len(), named(labels)) }
}

fn named(labels: &[String]) -> String {
    let mut shown: Vec<String> = labels.iter().take(NAMED).cloned().collect();
    if labels.len() > NAMED {
        shown.push(format!("{} more", labels.len() - NAMED));
    }
    // Labels have commas of their own.
    let between = if shown.iter().any(|it| it.contains(',')) { "; " } else { ", " };
    shown.join(between)
}

/// `mmap faster than read: published 1.35x, here 1.62x [1.58, 1.66]; the ratio is 1.2 times the published one`
fn ratios(of: &ClaimNumbers) -> String {
    let (lead, times) = (lead(of), |it: f64| format!("{}x", digits(it)));
    let here = match of.here {
        Ours::One(one) => format!("{} [{}, {}]", times(one.median), digits(one.ci_low), digits(one.ci_high)),
        Ours::Between(ends) => range(ends.map(times)),
    };
    let Some(published) = of.published else { return format!("{lead}: here {here}") };
    let effect = of.effect.map(|shares| format!("; {}", effect(shares))).unwrap_or_default();
    format!("{lead}: published {}, here {here}{effect}", times(published))
}

/// What the ratio is of.
fn lead(of: &ClaimNumbers) -> String {
    let (arm, metric, than) = (&of.arm, metric::name(of.metric), of.than.as_deref().unwrap_or_default());
    let less = match (of.expect, of.metric) {
        (Expect::Higher, _) => "more",
        _ if of.across => "less",
        (_, Metric::MinorFaults | Metric::DeviceReadBytes | Metric::PagesPerFault) => "fewer",
        _ => "less",
    };
    let a_byte = if of.metric.is_quotient() { "" } else { " a byte" };
    match (of.expect, of.metric) {
        (Expect::Same, _) if of.across && of.than.is_some() => {
            format!("{metric} of {arm} relative to {than} in the second condition over that in the first")
        }
        (Expect::Same, _) if of.across => {
            format!("{metric}{a_byte} with {arm} in the second condition over that in the first")
        }
        _ if of.across && of.than.is_some() => {
            format!("{less} {metric} of {arm} relative to {than} in the first condition than in the second")
        }
        _ if of.across => {
            format!("{less} {metric}{a_byte} with {arm} in the first condition than in the second")
        }
        (Expect::Same, _) => format!("{metric} of {than} over {arm}"),
        (Expect::Higher, Metric::Time) => format!("{arm} slower than {than}"),
        (_, Metric::Time) => format!("{arm} faster than {than}"),
        _ => format!("{less} {metric} with {arm} than with {than}"),
    }
}

/// What differs in no more digits than these is called the same.
const DIGITS_MORE: usize = 4;

/// `pages per fault of mmap: claimed at least 16.0, here 16.2 [16.1, 16.3]`
fn values(of: &ClaimNumbers) -> String {
    // What lies on one side of the limit must not read like the limit.
    let limit = match of.expect {
        Expect::AtMost(limit) | Expect::AtLeast(limit) => Some(limit),
        Expect::Lower | Expect::Higher | Expect::Same => None,
    };
    let value = |it: f64| {
        let is_apart = |more: &usize| {
            let shown = |it: f64| metric::precise(of.metric, it, *more);
            limit.is_none_or(|limit| it == limit || shown(it) != shown(limit))
        };
        metric::precise(of.metric, it, (0..DIGITS_MORE).find(is_apart).unwrap_or(0))
    };
    let claimed = match of.expect {
        Expect::AtMost(most) => format!("at most {}", value(most)),
        Expect::AtLeast(least) => format!("at least {}", value(least)),
        Expect::Lower | Expect::Higher | Expect::Same => "something else".to_string(),
    };
    let here = match of.here {
        Ours::One(one) => format!("{} [{}, {}]", value(one.median), value(one.ci_low), value(one.ci_high)),
        Ours::Between(ends) => range(ends.map(value)),
    };
    let (name, unit) = (metric::name(of.metric), metric::unit(of.metric));
    format!("{name} of {}{unit}: claimed {claimed}, here {here}", of.arm)
}

/// A ratio may differ from the published one although its direction holds.
fn effect(shares: [f64; 2]) -> String {
    let word = |share: f64| if share < 0.095 { digits(share) } else { format!("{share:.1}") };
    match range(shares.map(word)).as_str() {
        "1.0" => "the ratio is as published".to_string(),
        share => format!("the ratio is {share} times the published one"),
    }
}

/// `1.30x to 3.00x`; one of them where they read the same.
fn range([low, high]: [String; 2]) -> String {
    if low == high { low } else { format!("{low} to {high}") }
}

/// Of which sizes a study's numbers are.
fn of_study(study_bytes: u64, full_bytes: u64) -> String {
    format!("the study is of {}, or of {}", Bytes(study_bytes).exact(), Bytes(full_bytes).exact())
}

pub(super) fn not_in_run(why: &NotInRun) -> String {
    match why {
        NotInRun::Arm { arm } => format!("the arm {arm:?} was not part of this run"),
        NotInRun::NoArm => "the experiment names no arm for this figure".into(),
        NotInRun::NoExpectation => "the claim names no arm, or no expectation".into(),
        NotInRun::NoOtherArm => "the claim expects a direction, and names no arm to compare with".into(),
        NotInRun::NoCondition => "this run has no condition that the figure selects".into(),
        NotInRun::OtherFileSize { file_bytes, study_bytes, full_bytes } => {
            format!("the file has {}; {}", Bytes(*file_bytes).exact(), of_study(*study_bytes, *full_bytes))
        }
        NotInRun::SeveralConditions { conditions } => {
            format!("the figure selects {} conditions and must select one", thousands(*conditions as u64))
        }
        NotInRun::NoConditionWith { compare, arms } => {
            let under = compare.as_ref().map_or("this run".into(), |name| format!("the comparison {name:?}"));
            format!("{under} has no condition that the claim selects with {} in it", list(arms))
        }
        NotInRun::NoPair { arms } => format!(
            "this run has no two conditions with {} that differ in what the claim names and in nothing else",
            list(arms)
        ),
        NotInRun::Rounded { saved_bytes, exact_bytes } => format!(
            "the record has {} where the run had {}: the version that saved it rounded sizes, so the claim cannot find \
             its condition; run it again",
            Bytes(*saved_bytes),
            Bytes(*exact_bytes).exact()
        ),
        NotInRun::Replaced { values } => {
            let instead = |it: &Replaced| {
                let mut written: Vec<&str> = it.written.iter().take(NAMED).map(String::as_str).collect();
                if it.written.len() > NAMED {
                    written.push("others");
                }
                let written = match written[..] {
                    [] => "what the planner chooses".into(),
                    _ => written.join(" or "),
                };
                format!("{} instead of {written}", it.measured)
            };
            format!("options measure {}", values.iter().map(instead).collect::<Vec<String>>().join(", "))
        }
        NotInRun::Scenario => "the scenario did not run in this run".into(),
        NotInRun::ScenarioNotTried => "the scenario was not tried".into(),
    }
}

#[cfg(test)]
mod tests {
    use schema::findings::Estimate;

    use super::*;

    #[test]
    fn what_is_close_to_a_limit_does_not_read_like_it() {
        let of = |metric, limit, [ci_low, median, ci_high]: [f64; 3]| {
            values(&ClaimNumbers {
                metric,
                expect: Expect::AtMost(limit),
                arm: "mmap".into(),
                than: None,
                across: false,
                here: Ours::One(Estimate { median, ci_low, ci_high }),
                published: None,
                effect: None,
            })
        };
        let share = |ends| of(Metric::StalledShare, 0.02, ends);
        assert!(share([0.021, 0.023, 0.0245]).ends_with("claimed at most 2 %, here 2.3 % [2.1 %, 2.5 %]"));
        assert!(share([0.3, 0.4, 0.5]).ends_with("claimed at most 2 %, here 40 % [30 %, 50 %]"));
        let pages = |ends| of(Metric::PagesPerFault, 1.5, ends);
        assert!(pages([1.52, 1.53, 1.56]).ends_with("claimed at most 1.5, here 1.53 [1.52, 1.6]"));
        let times = |ends| of(Metric::Time, 1000.0, ends);
        assert!(times([999.8, 1000.4, 1300.0]).ends_with("at most 1,000, here 1,000.40 [999.80, 1,300]"));
        assert!(pages([1.5, 1.5, 1.5]).ends_with("claimed at most 1.5, here 1.5 [1.5, 1.5]"), "the limit itself");
        let bytes = of(Metric::DeviceReadBytes, 4096.0, [4097.0, 4097.0, 4097.0]);
        assert!(bytes.contains("at most 4 KiB, here 4,097 bytes"), "{bytes}");
    }

    #[test]
    fn the_size_of_an_effect_is_said() {
        assert_eq!(effect([1.62 / 1.35; 2]), "the ratio is 1.2 times the published one");
        assert_eq!(effect([1.36 / 1.35; 2]), "the ratio is as published");
        assert_eq!(effect([0.6, 1.5]), "the ratio is 0.6 to 1.5 times the published one");
        assert_eq!(effect([0.05; 2]), "the ratio is 0.050 times the published one");
        assert_eq!(effect([3.12 / 800.0; 2]), "the ratio is 0.0039 times the published one");
    }
}
