//! Two arms under one condition, round by round.

pub(crate) mod confirm;
pub(crate) mod equal_work;
pub(crate) mod explanation;
pub(crate) mod noise;

use schema::findings::{AnswerOf, Comparison, Estimate, Verdict};

use crate::{
    cells::forks,
    measured::{Cell, Run},
    stats,
    words::{percent, times},
};

/// Differences below this do not matter for choosing a method.
pub const MARGIN: f64 = 0.05;

/// With fewer rounds nothing is decided: four of four rounds go the same way by chance once in eight times.
pub(crate) const LEAST_PAIRS: u32 = 5;

/// A comparison as it is listed, with the cells it came from.
pub(crate) struct Compared<'a, 'r> {
    pub(crate) baseline: &'r Cell<'a>,
    pub(crate) arm: &'r Cell<'a>,
    pub(crate) finding: Comparison,
}

/// Every arm against the baseline of its condition, in the order of the record. The A/A controls are not among them.
pub(crate) fn against_baselines<'a, 'r>(run: &'r Run<'a>) -> Vec<Compared<'a, 'r>> {
    (0..run.record.conditions.len()).flat_map(|condition| against_baseline(run, condition)).collect()
}

/// The same for one condition.
pub(crate) fn against_baseline<'a, 'r>(run: &'r Run<'a>, condition: usize) -> Vec<Compared<'a, 'r>> {
    let Some(baseline) = run.baseline(condition) else { return Vec::new() };
    let others = run.of_condition(condition).filter(|cell| !std::ptr::eq(*cell, baseline) && !cell.entry.control);
    others.map(|arm| Compared { baseline, arm, finding: compare(run, baseline, arm) }).collect()
}

pub(crate) fn compare(run: &Run, baseline: &Cell, arm: &Cell) -> Comparison {
    let pairs = baseline.pairs(arm);
    let work = equal_work::check(run, baseline, arm, &pairs);
    let ratios: Vec<f64> =
        pairs.iter().filter_map(|(baseline, arm)| Some(baseline.ns_per_op()? / arm.ns_per_op()?)).collect();
    let rounds = ratios.len() as u32;
    let speedup = stats::median_of_positive(ratios);
    let (speedup, verdict, reason) = if !work.unequal.is_empty() {
        (None, Verdict::NotComparable, Some(work.unequal.join("; ")))
    } else if let Some(reason) = not_measured(run, baseline, arm, pairs.len(), rounds) {
        (speedup, Verdict::Undecided, Some(reason))
    } else {
        let (verdict, reason) = verdict(speedup, rounds);
        // Of a run that was stopped, more rounds are no advice: it would have made them.
        (speedup, verdict, reason.map(|it| if run.record.was_stopped() { it.replace(&advice(rounds), "") } else { it }))
    };
    let mut warnings = work.warnings;
    let (split, undecided) = forks::judge(run, baseline, arm);
    warnings.extend(split);
    let depends_on_fork = undecided.is_some();
    let (verdict, reason) = match undecided {
        Some(why) if verdict.is_decided() => (Verdict::Undecided, Some(why)),
        _ => (verdict, reason),
    };
    let mut finding = Comparison {
        id: arm.id,
        baseline_cell: baseline.id.cell,
        condition: baseline.condition.clone(),
        baseline: baseline.arm().name.clone(),
        arm: arm.arm().name.clone(),
        because: (verdict != Verdict::NotComparable).then(|| explanation::explanation(run, baseline, arm)).flatten(),
        speedup,
        pairs: pairs.len() as u32,
        verdict,
        reason,
        warnings,
        explained_share: None,
        answer_of: AnswerOf::Rounds,
        confirmed: None,
    };
    confirm::confirm(run.record, &mut finding, depends_on_fork);
    confirm::leave_open_what_is_too_small(run.record, &mut finding);
    // The controls are what noise is known by.
    if !arm.entry.control {
        noise::leave_open_what_is_noise(run, &mut finding);
    }
    finding
}

/// The rule by which everything is judged, with a margin of 5 % on the ratio scale, which is the same both ways: the
/// whole interval above 1.05 is `faster`, below 1/1.05 `slower`, within both (edges included) `same`; an interval that
/// crosses an edge is `undecided`, and so is everything from fewer than five rounds. With the reason, if undecided.
pub fn verdict(speedup: Option<Estimate>, rounds: u32) -> (Verdict, Option<String>) {
    let (slower_edge, faster_edge) = (1.0 / (1.0 + MARGIN), 1.0 + MARGIN);
    let Some(Estimate { ci_low, ci_high, .. }) = speedup.filter(|_| rounds >= LEAST_PAIRS) else {
        let rounds = if rounds == 1 { "1 round".to_string() } else { format!("{rounds} rounds") };
        return (Verdict::Undecided, Some(format!("only {rounds}; {LEAST_PAIRS} are the least that decide anything")));
    };
    if ci_low > faster_edge {
        (Verdict::Faster, None)
    } else if ci_high < slower_edge {
        (Verdict::Slower, None)
    } else if ci_low >= slower_edge && ci_high <= faster_edge {
        (Verdict::Same, None)
    } else {
        let reach = if ci_low > 1.0 {
            "surely above 1, perhaps by less than the margin of"
        } else if ci_high < 1.0 {
            "surely below 1, perhaps by less than the margin of"
        } else {
            "across the margin of"
        };
        let reason = format!(
            "the speedup lies between {ci_low:.2} and {ci_high:.2}, {reach} {}{}",
            percent(MARGIN),
            advice(rounds)
        );
        (Verdict::Undecided, Some(reason))
    }
}

fn advice(rounds: u32) -> String {
    format!("; more than these {rounds} rounds would narrow it (--rounds)")
}

fn not_measured(run: &Run, baseline: &Cell, arm: &Cell, pairs: usize, rounds: u32) -> Option<String> {
    if rounds > 0 {
        return None;
    }
    let missing = [baseline, arm].into_iter().find(|cell| cell.passes.is_empty());
    Some(match missing {
        Some(cell) => {
            let finding = crate::cells::finding(run, cell);
            format!("{} has no valid pass: {}", run.name(cell.arm()), finding.reason.unwrap_or_default())
        }
        None if pairs > 0 => "no pass did any work that took time".to_string(),
        None => "both were measured, but never in the same round".to_string(),
    })
}

/// `1.2x faster`, `1.3x slower`, for one end of an interval.
pub(crate) fn direction(speedup: f64) -> String {
    if speedup >= 1.0 { format!("{} faster", times(speedup)) } else { format!("{} slower", times(1.0 / speedup)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(low: f64, high: f64) -> Verdict {
        verdict(Some(Estimate { median: (low * high).sqrt(), ci_low: low, ci_high: high }), 5).0
    }

    #[test]
    fn the_verdict_changes_exactly_at_the_margin() {
        assert_eq!(check(1.0501, 1.20), Verdict::Faster);
        assert_eq!(check(1.05, 1.20), Verdict::Undecided);
        assert_eq!(check(0.80, 0.9523), Verdict::Slower);
        assert_eq!(check(0.80, 1.0 / 1.05), Verdict::Undecided);
        assert_eq!(check(1.0 / 1.05, 1.05), Verdict::Same);
        assert_eq!(check(0.9523, 1.05), Verdict::Undecided);
        assert_eq!(check(1.0 / 1.05, 1.0501), Verdict::Undecided);
        assert_eq!(check(0.5, 2.0), Verdict::Undecided);
    }

    #[test]
    fn four_rounds_decide_nothing_and_five_may() {
        let clear = Some(Estimate { median: 2.0, ci_low: 1.9, ci_high: 2.1 });
        assert_eq!(verdict(clear, 5), (Verdict::Faster, None));
        let (four, reason) = verdict(clear, 4);
        assert_eq!(four, Verdict::Undecided);
        assert!(reason.unwrap().starts_with("only 4 rounds"));
        assert!(verdict(None, 1).1.unwrap().starts_with("only 1 round;"));
    }

    #[test]
    fn an_undecided_verdict_says_its_interval_and_what_would_help() {
        let (_, reason) = verdict(Some(Estimate { median: 1.04, ci_low: 1.01, ci_high: 1.09 }), 8);
        assert_eq!(
            reason.unwrap(),
            "the speedup lies between 1.01 and 1.09, surely above 1, perhaps by less than the margin of 5 %; more than \
             these 8 rounds would narrow it (--rounds)"
        );
    }
}
