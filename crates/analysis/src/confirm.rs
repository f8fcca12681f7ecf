//! Answers at the size of the job: what was measured again there, and whether it says the same.

use schema::{
    Record, State, Workload,
    condition::WINDOWS_LEAST,
    findings::{Comparison, Confirmed, Estimate, Verdict},
    record::Confirmation,
};

use crate::{
    compare::{Compared, MARGIN, against_baselines},
    map,
    measured::Run,
    words::{amount, count, thousands, times},
};

/// The two cells, baseline and arm, that decide the answer to each condition: the winner, or where the baseline wins the
/// arm that comes closest.
pub fn headlines(record: &Record) -> Vec<[usize; 2]> {
    let run = Run::new(record);
    let compared = against_baselines(&run);
    (0..record.conditions.len()).filter_map(|index| decisive(&run, &compared, index)).collect()
}

fn decisive(run: &Run, compared: &[Compared], index: usize) -> Option<[usize; 2]> {
    let of_condition: Vec<&Compared> = compared.iter().filter(|it| it.arm.entry.condition == index).collect();
    let of_condition = map::one_for_each_work(run.baseline(index), &of_condition);
    let usable = of_condition.iter().filter(|it| it.finding.speedup.is_some() && !it.arm.entry.control);
    let winner = map::fastest(run, &of_condition);
    let median = |it: &Compared| it.finding.speedup.map_or(0.0, |it| it.median);
    let arm = winner.or_else(|| usable.copied().max_by(|a, b| median(a).total_cmp(&median(b))))?;
    Some([arm.baseline.id.cell, arm.arm.id.cell])
}

/// Puts what the job says in the place of what the rounds said, where the two contradict.
pub(crate) fn confirm(record: &Record, finding: &mut Comparison) {
    let job = |it: &&Confirmation| it.baseline_cell == finding.baseline_cell && it.arm_cell == finding.id.cell;
    let Some(job) = record.confirmations.iter().find(job) else { return };
    let mut ratios: Vec<f64> = job.pairs.iter().map(|[baseline, arm]| baseline / arm).collect();
    ratios.retain(|it| it.is_finite() && *it > 0.0);
    if ratios.len() < Confirmation::PAIRS_LEAST as usize || finding.verdict == Verdict::NotComparable {
        return;
    }
    ratios.sort_by(f64::total_cmp);
    let (ci_low, ci_high) = (ratios[0], ratios[ratios.len() - 1]);
    let median = (ratios[(ratios.len() - 1) / 2] * ratios[ratios.len() / 2]).sqrt();
    let verdict = verdict(ci_low, median, ci_high);
    let holds = (verdict.is_decided() && finding.verdict.is_decided()).then(|| verdict == finding.verdict);
    let confirmed = Confirmed {
        bytes: job.range.bytes,
        ops: job.ops,
        speedup: Estimate { median, ci_low, ci_high },
        pairs: ratios.len() as u32,
        verdict,
        holds,
        rounds_speedup: finding.speedup,
        rounds_verdict: finding.verdict,
    };
    if holds == Some(false) {
        finding.warnings.push(format!(
            "passes of {} said {}; at the size of the job, {} blocks, it is {}",
            count(finding.condition.ops, "block", "blocks"),
            finding.speedup.map_or_else(String::new, |it| times(it.median)),
            thousands(job.ops),
            times(median)
        ));
        finding.speedup = Some(confirmed.speedup);
        finding.verdict = verdict;
        // The counts are of the rounds, whose answer this is not.
        finding.because = None;
    }
    finding.confirmed = Some(confirmed);
}

/// The answer is that of the job, and the rounds, with everything that was counted in them, said another.
pub(crate) fn has_turned(finding: &Comparison) -> bool {
    finding.confirmed.as_ref().is_some_and(|it| it.holds == Some(false))
}

/// A cold scan of a few read-ahead windows answers another question than one of the whole file: independent programs
/// contradicted its verdict. Where the planner chose so small a pass and the job was not measured, nothing is decided.
pub(crate) fn leave_open_what_is_too_small(record: &Record, finding: &mut Comparison) {
    let condition = &finding.condition;
    let compare = finding.id.condition.comparison_index.and_then(|it| record.experiment.comparisons.get(it));
    let is_planned = compare.is_some_and(|it| it.ops.is_none() && it.range.is_none());
    let window = record.target.device.value().and_then(|it| it.read_ahead_bytes.value().copied()).unwrap_or(0);
    let is_small = condition.state == State::Cold
        && condition.workload == Workload::Scan
        && condition.range.bytes < condition.file_bytes
        && condition.range.bytes < WINDOWS_LEAST * window;
    let answered = finding.confirmed.as_ref().is_some_and(|it| it.verdict == finding.verdict);
    if is_planned && is_small && finding.verdict.is_decided() && !answered {
        finding.verdict = Verdict::Undecided;
        finding.reason = Some(format!(
            "a pass covered {}, and read-ahead fetches {} at a time: fewer than {WINDOWS_LEAST} windows do not answer for the \
             whole file (--budget)",
            amount(condition.range.bytes),
            amount(window)
        ));
    }
}

/// All pairs must agree: of five pairs of equals that happens once in sixteen times.
fn verdict(low: f64, median: f64, high: f64) -> Verdict {
    let margin = 1.0 + MARGIN;
    match () {
        () if low > 1.0 && median >= margin => Verdict::Faster,
        () if high < 1.0 && median <= 1.0 / margin => Verdict::Slower,
        () if low > 1.0 / margin && high < margin => Verdict::Same,
        () => Verdict::Undecided,
    }
}
