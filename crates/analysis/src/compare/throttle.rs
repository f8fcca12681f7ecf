//! What an I/O throttle let through beyond its limit. The kernel lets some of it through free at the start of a pass, so
//! that short passes measure what it saved up, and not the storage that the condition says.

use schema::{
    Record, Workload,
    findings::{Comparison, Estimate, Verdict},
    protocol::Tally,
    reason::{Limit, Reason},
    record::{ColdPass, Confirmation},
};

use super::confirm;
use crate::{
    measured::{Cell, Run},
    stats::SortedValues,
    verdict::verdict,
};

/// More than this over what an I/O throttle allows, and storage was not what the condition says.
const LEEWAY: f64 = 0.05;

/// What passes of a throttled cell got, by the limit that they were furthest above.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    pub(crate) limit: Limit,
    pub(crate) allowed_per_s: f64,
    pub(crate) per_s: f64,
}

impl Rate {
    pub(crate) fn share(&self) -> f64 {
        self.per_s / self.allowed_per_s
    }

    pub(crate) fn is_beyond(&self) -> bool {
        self.share() > 1.0 + LEEWAY
    }
}

/// What one pass had.
struct Had<'a> {
    ns: f64,
    tally: &'a Tally,
    device_read_bytes: f64,
    range_bytes: u64,
}

/// Of the rounds.
pub(crate) fn rate(run: &Run, cell: &Cell) -> Option<Rate> {
    let passes = cell.passes.iter().filter_map(|pass| {
        let device_read_bytes = pass.reading("device_read_bytes")?;
        Some(Had { ns: pass.ns, tally: pass.tally, device_read_bytes, range_bytes: cell.own.range.bytes })
    });
    rate_of(run, cell, &passes.collect::<Vec<Had>>())
}

/// Of the passes at the size of the job.
fn rate_of_job(run: &Run, cell: &Cell, job: &Confirmation) -> Option<Rate> {
    let side = usize::from(cell.id.cell == job.arm_cell);
    let passes = job.pairs.iter().zip(&job.cold).filter_map(|(ns, cold)| {
        let ColdPass { tally, device_read_bytes } = &cold[side];
        Some(Had { ns: ns[side], tally, device_read_bytes: (*device_read_bytes)?, range_bytes: job.range.bytes })
    });
    rate_of(run, cell, &passes.collect::<Vec<Had>>())
}

/// Bytes from the device over time, for mappings and read-ahead as for system calls, and requests as far as they are known.
fn rate_of(run: &Run, cell: &Cell, passes: &[Had]) -> Option<Rate> {
    let storage = cell.own.storage?;
    let of = |limit, allowed: Option<u64>, count: &dyn Fn(&Had) -> Option<f64>| {
        let rates = passes.iter().filter_map(|pass| Some(count(pass)? * 1e9 / pass.ns)).collect();
        let (allowed_per_s, per_s) = (allowed? as f64, SortedValues::new(rates)?.median());
        Some(Rate { limit, allowed_per_s, per_s }).filter(|it| it.share().is_finite())
    };
    let bytes = of(Limit::Bytes, storage.read_bytes_per_s, &|pass| Some(pass.device_read_bytes));
    let reads = of(Limit::Reads, storage.read_ops_per_s, &|pass| least_requests(run, cell, pass));
    bytes.into_iter().chain(reads).max_by(|a, b| a.share().total_cmp(&b.share()))
}

/// The requests that a pass made at least; `None` where one may have brought any number of pages.
fn least_requests(run: &Run, cell: &Cell, pass: &Had) -> Option<f64> {
    let (own, page_bytes) = (cell.own, run.page_bytes());
    if cell.arm().is_direct() && matches!(own.workload, Workload::Scan | Workload::Random) {
        return Some((pass.tally.ops as f64).min(pass.device_read_bytes / own.block_bytes as f64));
    }
    let is_apart = own.workload == Workload::Random
        && own.block_bytes <= page_bytes
        && (cell.arm().maps() || !own.lies_across_pages(page_bytes));
    let (reached, came) = (pass.tally.distinct_pages? as f64, pass.device_read_bytes / page_bytes as f64);
    // Read-ahead brings the neighbours of a page. Where at most half of the pages are reached, it brings as many that are not
    // as such that are.
    let by_read_ahead = (came - reached).max(0.0);
    let is_sparse = 2.0 * reached * page_bytes as f64 <= pass.range_bytes as f64;
    (is_apart && is_sparse).then(|| (reached - by_read_ahead).clamp(0.0, came))
}

/// How many times the ratio of two cells it would be had both been held to their limits, and the reason to ask; nothing where
/// both were, but for the leeway. An arm that got more than its limit would have got the limit, no less: it could do more.
fn held(both: [(&str, Option<Rate>); 2]) -> Option<(f64, Reason)> {
    let share = |it: Option<Rate>| it.map_or(1.0, |it| it.share().max(1.0));
    let shares = both.map(|it| share(it.1));
    let (arm, most) = both[usize::from(shares[1] > shares[0])];
    let Rate { limit, allowed_per_s, per_s } = most.filter(Rate::is_beyond)?;
    let reason = Reason::ThrottleExceeded { arm: arm.to_string(), limit, allowed_per_s, per_s };
    Some((shares[0] / shares[1], reason))
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
        Some((run.name(cell.arm()), rate(run, cell)))
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
    held_to(&run, [of; 2], [rate(&run, of), None])
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
    let of_rounds = cells.map(|it| rate(run, it));
    let job = confirm::job_of(run.record, finding).filter(|_| finding.answer_of.is_confirmed());
    let why = match finding.confirmed.as_mut().zip(job) {
        Some((said, job)) => {
            said.rounds_came_free =
                said.rounds_speedup.and_then(|it| open(of_rounds, said.rounds_verdict, it, finding.pairs));
            open(cells.map(|it| rate_of_job(run, it, job)), finding.verdict, said.speedup, said.pairs)
        }
        None => open(of_rounds, finding.verdict, rounds, finding.pairs),
    };
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
