//! What a line of the map says.

use schema::line::{LineAnswer, LineSays};

use super::{
    numbers::{list, percent, thousands, times},
    reason::{beside, direction, reason},
};
use crate::layout::words::were;

/// `mmap+sequential is 1.8x faster than read`: the line in words.
pub fn line(says: &LineSays) -> String {
    let also = match says.same_work.is_empty() {
        true => String::new(),
        false => format!("; also {}: it does the same work here", list(&says.same_work)),
    };
    answer(&says.answer)
        + &also
        + &are(&says.not_comparable, "not comparable")
        + &are(&says.not_measured, "not measured")
        + &are(&says.too_few, "measured too few times beside the baseline to be compared")
        + &match says.not_at_job.is_empty() {
            true => String::new(),
            false => format!("; {} not measured at the size of the job", were(&says.not_at_job)),
        }
}

/// Of an answer at the size of the job, with the arms that it is not over.
pub(crate) fn at_size_of_job(not_measured: &[String]) -> String {
    let others = match not_measured.is_empty() {
        true => String::new(),
        false => format!(", where {} not measured", were(not_measured)),
    };
    format!("at the size of the job{others}")
}

fn answer(answer: &LineAnswer) -> String {
    match answer {
        LineAnswer::NoBaseline => "nothing to compare with: the condition has no baseline".into(),
        LineAnswer::OnlyArm { arm } => format!("{arm} is the only arm: there is nothing to compare it with"),
        LineAnswer::OneWork { baseline } => format!("every arm does the same work as {baseline} here"),
        LineAnswer::ArmWins { arm, baseline, times: by, of_job, in_flight, ties, not_told_apart } => {
            let depths = in_flight.map(|[own, other]| {
                let [own, other] = [own, other].map(|depth| thousands(depth.into()));
                format!(" (with {own} in flight; {baseline}: {other})")
            });
            format!(
                "{arm} is {} faster than {baseline}{}{}{}{}",
                times(*by),
                at_job(*of_job),
                depths.unwrap_or_default(),
                tie(ties, " with it"),
                are(not_told_apart, "not told apart from it")
            )
        }
        LineAnswer::BaselineWins { baseline, next, times: by, of_job, several } => {
            let (by, job) = (times(*by), at_job(*of_job));
            match several {
                // Of that size few arms are known.
                true if !of_job => {
                    format!("no arm is faster than {baseline}; {baseline} is {by} faster than {next}, the runner-up")
                }
                _ => format!("{baseline} is {by} faster than {next}{job}"),
            }
        }
        LineAnswer::NoneFaster { baseline, margin, ties, not_told_apart, of_job: true } => {
            let apart = format!("not told apart from {baseline}");
            match ties.is_empty() {
                true => format!("{}{}", is(not_told_apart, &apart), at_job(true)),
                false => format!(
                    "no difference of {} or more between {baseline} and {}{}{}",
                    percent(*margin),
                    list(ties),
                    at_job(true),
                    are(not_told_apart, &apart)
                ),
            }
        }
        LineAnswer::NoneFaster { baseline, margin, ties, not_told_apart, of_job: false } => format!(
            "no arm is faster than {baseline} by {} or more{}{}",
            percent(*margin),
            tie(ties, ""),
            are(not_told_apart, "not told apart from it")
        ),
        LineAnswer::NoneComparable { baseline, reason: why } => {
            let why = why.as_ref().map_or_else(|| "different work".to_string(), reason);
            format!("no arm can be compared with {baseline}: {why}")
        }
        LineAnswer::Undecided { reason: why } => {
            format!("undecided: {}", why.as_ref().map_or_else(|| "no valid pass".to_string(), reason))
        }
        LineAnswer::NotAtJob { arm, baseline, speedup, not_measured } => {
            format!("undecided: {arm} was {} {}", beside(*speedup, Some(baseline)), at_size_of_job(not_measured))
        }
        LineAnswer::Between { baseline, arms, promising, reason: why, ties } => {
            let range = match (why, promising) {
                // Of several arms, it is the reason of one.
                (Some(why), Some(of)) if arms.len() > 1 => format!(": of {}, {}", of.arm, reason(why)),
                (Some(why), _) => format!(": {}", reason(why)),
                (None, Some(of)) => {
                    format!(": {} is between {} and {}", of.arm, direction(of.ci_low), direction(of.ci_high))
                }
                (None, None) => String::new(),
            };
            let ties = ties.as_ref().map(|arm| format!("; {arm} ties with {baseline}"));
            format!("undecided between {baseline} and {}{range}{}", list(arms), ties.unwrap_or_default())
        }
    }
}

fn at_job(of_job: bool) -> &'static str {
    if of_job { " at the size of the job" } else { "" }
}

fn tie(arms: &[String], with: &str) -> String {
    match arms {
        [] => String::new(),
        [arm] => format!("; {arm} ties{with}"),
        arms => format!("; {} tie{with}", list(arms)),
    }
}

fn are(arms: &[String], what: &str) -> String {
    if arms.is_empty() { String::new() } else { format!("; {}", is(arms, what)) }
}

fn is(arms: &[String], what: &str) -> String {
    format!("{} {} {what}", list(arms), if arms.len() == 1 { "is" } else { "are" })
}
