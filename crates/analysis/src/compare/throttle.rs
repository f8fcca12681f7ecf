//! What an I/O throttle let through beyond its limit. The kernel lets some of it through free at the start of a pass, so
//! that short passes measure what it saved up, and not the storage that the condition says.

use schema::{
    Record,
    findings::{AnswerOf, Comparison, Estimate, Verdict},
    reason::Reason,
    record::{ColdPass, Confirmation},
};

use super::confirm;
use crate::{
    measured::{Cell, Run},
    rate::{self, Had, LEEWAY, Rate},
    verdict::verdict,
};

/// Of the passes at the size of the job.
fn rate_of_job(run: &Run, cell: &Cell, job: &Confirmation) -> Option<Rate> {
    let side = usize::from(cell.id.cell == job.arm_cell);
    let passes = job.pairs.iter().zip(&job.cold).filter_map(|(ns, cold)| {
        let ColdPass { tally, device_read_bytes } = &cold[side];
        Some(Had { ns: ns[side], tally, device_read_bytes: (*device_read_bytes)?, range_bytes: job.range.bytes })
    });
    rate::of_passes(run, cell, &passes.collect::<Vec<Had>>())
}

/// How many times the ratio of two cells it would be had both been held to their limits, and the reason to ask; nothing where
/// both were, but for the leeway. An arm that got more than its limit would have got the limit, no less: it could do more.
fn held(both: [(&str, Option<Rate>); 2]) -> Option<(f64, Reason)> {
    let share = |it: Option<Rate>| it.map_or(1.0, |it| it.share().max(1.0));
    let shares = both.map(|it| share(it.1));
    let (arm, most) = both[usize::from(shares[1] > shares[0])];
    most.filter(Rate::is_beyond)?;
    Some((shares[0] / shares[1], most?.reason(arm)))
}

/// Of two cells of one run.
pub(crate) fn held_to(run: &Run, cells: [&Cell; 2], rates: [Option<Rate>; 2]) -> Option<(f64, Reason)> {
    let [first, second] = cells.map(|it| run.name(it.arm()));
    held([(first, rates[0]), (second, rates[1])])
}

/// Why what is said of a cell of two runs is none of it: with both of them held to their limits it would be something else.
pub(crate) fn opens_across(
    cells: [(&Record, usize); 2],
    said: Verdict,
    speedup: Estimate,
    pairs: u32,
) -> Option<Reason> {
    let runs = cells.map(|(record, cell)| one_cell(record, cell));
    let [first, second] = runs.each_ref().map(|run| {
        let cell = run.cells.first()?;
        Some((run.name(cell.arm()), rate::of_rounds(run, cell)))
    });
    let (by, reason) = held([first?, second?])?;
    is_another(said, speedup, pairs, by).then_some(reason)
}

/// Whether something else is said of a ratio that is so many times what it is.
fn is_another(said: Verdict, speedup: Estimate, pairs: u32, by: f64) -> bool {
    verdict(Some(scaled(speedup, by)), pairs).unwrap_or(Verdict::Undecided) != said
}

fn one_cell(record: &Record, cell: usize) -> Run<'_> {
    Run::of(record, |it| std::ptr::eq(it, &record.cells[cell]))
}

/// How many times its limit a cell got that is judged by its own time, and the reason to ask; nothing where it kept the limit.
pub(crate) fn beyond(record: &Record, cell: usize) -> Option<(f64, Reason)> {
    let run = one_cell(record, cell);
    let of = run.cells.first()?;
    held_to(&run, [of; 2], [rate::of_rounds(&run, of), None])
}

/// Whether two sides that got such shares of their limits differ by what came free.
pub(crate) fn are_apart(shares: [f64; 2]) -> bool {
    shares[0].max(shares[1]) > (1.0 + LEEWAY) * shares[0].min(shares[1])
}

pub(crate) fn scaled(estimate: Estimate, by: f64) -> Estimate {
    let Estimate { median, ci_low, ci_high } = estimate;
    Estimate { median: median * by, ci_low: ci_low * by, ci_high: ci_high * by }
}

/// What would be another answer had both arms been held to the throttle is none: of 200 random reads with 1000 allowed a second
/// about 100 come free, and `pread` was 1.63 times as fast as `direct` of which the throttle let through fewer.
pub(crate) fn leave_open_what_came_free(run: &Run, [baseline, arm]: [&Cell; 2], finding: &mut Comparison) {
    let Some(rounds) = finding.speedup.filter(|_| finding.bounds().is_some()) else { return };
    let cells = [baseline, arm];
    // Also what is undecided either way is the throttle's doing only where it would be decided without it.
    let open = |rates: [Option<Rate>; 2], said: Verdict, speedup: Estimate, pairs: u32| {
        let (by, reason) = held_to(run, cells, rates)?;
        is_another(said, speedup, pairs, by).then_some(reason)
    };
    let of_rounds = cells.map(|it| rate::of_rounds(run, it));
    let job = confirm::job_of(run.record, finding).filter(|_| finding.answer_of.is_confirmed());
    let why = match finding.confirmed.as_mut().zip(job) {
        Some((said, job)) => {
            said.rounds_came_free =
                said.rounds_speedup.and_then(|it| open(of_rounds, said.rounds_verdict, it, finding.pairs));
            open(cells.map(|it| rate_of_job(run, it, job)), finding.verdict, said.speedup, said.pairs)
        }
        None => open(of_rounds, finding.verdict, rounds, finding.pairs),
    };
    // Both say which arm is faster, and by how much the rounds do not.
    let by_job = finding.confirmed.as_ref().filter(|it| it.rounds_came_free.is_some());
    if let Some((speedup, verdict, ops)) = by_job.map(|it| (it.speedup, it.verdict, it.ops))
        && finding.answer_of == AnswerOf::RoundsAndJob
    {
        confirm::answer_by_job(finding, speedup, verdict, ops);
    }
    if let Some(why) = why {
        (finding.verdict, finding.reason) = (Verdict::Undecided, Some(why));
    }
}

/// Why a comparison is undecided, where that is what came free.
pub(crate) fn reason_of(finding: &Comparison) -> Option<&Reason> {
    finding.reason.as_ref().filter(|it| matches!(it, Reason::ThrottleExceeded { .. }))
}

/// The same of its rounds, whatever answers.
pub(crate) fn reason_of_rounds(finding: &Comparison) -> Option<&Reason> {
    match &finding.confirmed {
        Some(job) if finding.answer_of.is_confirmed() => job.rounds_came_free.as_ref(),
        _ => reason_of(finding),
    }
}
