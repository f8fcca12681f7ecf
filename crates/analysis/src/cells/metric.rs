//! What claims and figures are about: a metric of one arm, or how many times lower it is than another arm's.

use schema::{
    beats::P99_DEADLINES,
    experiment::Metric,
    findings::{Estimate, Status},
    reason::{Reason, Unseen},
};

use crate::{
    cells,
    measured::{Cell, Pass, Run},
    stats::{self, SortedValues},
};

/// Fewer ticks in a pass give a median that is biased: sums over all rounds are compared instead.
const FINE_TICKS: f64 = 10.0;

/// A hundredth of the deadlines.
const ONE_STALLED: f64 = 0.01;

#[derive(Debug)]
pub(crate) struct MetricResult {
    pub(crate) estimate: Option<Estimate>,
    /// Rounds, or passes, that it comes from.
    pub(crate) rounds: u32,
    /// Why there is no estimate; or what to know of the one there is.
    pub(crate) remark: Option<Reason>,
    /// No pass could see it, on this machine or for this user.
    pub(crate) unseen: bool,
}

impl MetricResult {
    fn none(rounds: usize, reason: Reason) -> MetricResult {
        MetricResult { estimate: None, rounds: rounds as u32, remark: Some(reason), unseen: false }
    }

    fn unseen(metric: Metric, reason: impl Into<Reason>) -> MetricResult {
        let reason = Box::new(reason.into());
        MetricResult { unseen: true, ..MetricResult::none(0, Reason::NoMetric { metric, reason }) }
    }

    fn some(estimate: Estimate, rounds: usize, remark: Option<Reason>) -> MetricResult {
        MetricResult { estimate: Some(estimate), rounds: rounds as u32, remark, unseen: false }
    }
}

/// How many times lower the arm's metric is than the other's, round by round; above 1: lower.
pub(crate) fn times_lower(run: &Run, metric: Metric, than: &Cell, arm: &Cell) -> MetricResult {
    if let Some(none) = without_mapping(metric, &[than, arm]) {
        return none;
    }
    let pairs = than.pairs(arm);
    if pairs.is_empty() {
        return MetricResult::none(0, Reason::NoCommonRound);
    }
    if let Some(none) = undivided(metric, &[than, arm]) {
        return none;
    }
    let of_both = |a: &Pass, b: &Pass| Some((of_cell(run, metric, than, a)?, of_cell(run, metric, arm, b)?));
    let seen: Vec<(&Pass, &Pass, f64, f64)> = pairs
        .iter()
        .filter_map(|(a, b)| {
            let (than, arm) = of_both(a, b)?;
            Some((*a, *b, than, arm))
        })
        .collect();
    let rounds = seen.len();
    let values = || seen.iter().map(|&(_, _, than, arm)| (than, arm));
    if rounds == 0 {
        return missing(run, metric, &[than, arm]);
    }
    let names = readings(metric);
    if [than, arm].iter().any(|cell| is_coarse(metric, cell)) {
        let mut totals = [0.0; 2];
        for (a, b, ..) in &seen {
            totals = [totals[0] + total(a, names), totals[1] + total(b, names)];
        }
        let pairs: Vec<(f64, f64)> = values().collect();
        return by_sums(metric, &pairs, totals, rounds, grain_ns(metric, &[than, arm]));
    }
    // A fault, a page, or a hundredth.
    let one = match metric {
        Metric::MinorFaults => Some(1.0),
        Metric::DeviceReadBytes | Metric::DeviceWriteBytes => Some(run.page_bytes() as f64),
        Metric::StalledShare => Some(ONE_STALLED),
        _ => None,
    };
    let added = one.filter(|_| values().any(|(a, b)| a == 0.0 || b == 0.0));
    let ratios = ratios(values(), added.unwrap_or(0.0));
    let used = ratios.iter().filter(|ratio| ratio.is_finite() && **ratio > 0.0).count();
    match stats::median_of_positive(ratios) {
        Some(estimate) => MetricResult::some(estimate, used, added.map(|_| Reason::OneAdded { metric })),
        None if used == 0 => MetricResult::none(0, Reason::NoneTaken { metric }),
        None => MetricResult::none(used, few(used)),
    }
}

/// The metric of one arm, in the middle of its passes.
pub(crate) fn of_arm(run: &Run, metric: Metric, cell: &Cell) -> MetricResult {
    of_passes(run, metric, cell, |_| Some(1.0))
}

/// The same per byte, so that conditions with other blocks, or other numbers of them, can be held against each other. What
/// is a quotient, or a quantile, stays as it is.
pub(crate) fn per_byte(run: &Run, metric: Metric, cell: &Cell) -> MetricResult {
    let scale = |pass: &Pass| {
        let bytes = Some(pass.tally.bytes as f64).filter(|&bytes| bytes > 0.0)?;
        Some(match metric {
            _ if metric.is_quotient() => 1.0,
            Metric::MinorFaults | Metric::DeviceReadBytes | Metric::DeviceWriteBytes => 1.0 / bytes,
            _ => pass.tally.ops as f64 / bytes,
        })
    };
    of_passes(run, metric, cell, scale)
}

fn of_passes(run: &Run, metric: Metric, cell: &Cell, scale: impl Fn(&Pass) -> Option<f64>) -> MetricResult {
    if let Some(none) = without_mapping(metric, &[cell]) {
        return none;
    }
    let value = |pass: &Pass| Some(of_cell(run, metric, cell, pass)? * scale(pass)?);
    let seen: Vec<(&Pass, f64)> = cell.passes.iter().filter_map(|pass| Some((pass, value(pass)?))).collect();
    let rounds = seen.len();
    let values = || seen.iter().map(|&(_, value)| value);
    if rounds == 0 {
        return missing(run, metric, &[cell]);
    }
    if let Some(none) = undivided(metric, &[cell]) {
        return none;
    }
    let names = readings(metric);
    if is_coarse(metric, cell) {
        let spent = seen.iter().map(|(pass, _)| total(pass, names)).sum();
        let pairs: Vec<(f64, f64)> = values().map(|value| (value, 1.0)).collect();
        return by_sums(metric, &pairs, [spent, f64::INFINITY], rounds, grain_ns(metric, &[cell]));
    }
    let estimate = match metric {
        // Counts, and quotients of counts, stay what they are: logarithms would move a threshold by a rounding error.
        Metric::MinorFaults | Metric::DeviceReadBytes | Metric::DeviceWriteBytes => counted(values()),
        Metric::PagesPerFault | Metric::StalledShare => counted(values()),
        _ => stats::median_of_positive(values()),
    };
    match estimate {
        Some(estimate) => MetricResult::some(estimate, rounds, None),
        None if rounds > 1 => MetricResult::none(rounds, Reason::NoneTaken { metric }),
        None => MetricResult::none(rounds, few(rounds)),
    }
}

/// Whether it is a time that each pass has for itself: neither a count, nor cut in two by ticks.
pub(crate) fn is_time_of_passes(metric: Metric) -> bool {
    matches!(metric, Metric::Time | Metric::Cpu | Metric::ReadPart | Metric::LoopPart | Metric::WritePart)
}

/// A part of the time that passed in an arm's passes.
pub(crate) fn is_part_of_time(metric: Metric) -> bool {
    matches!(metric, Metric::ReadPart | Metric::LoopPart | Metric::WritePart)
}

/// The middle of the passes of these rounds: of one arm, or how many times lower it is than another's.
pub(crate) fn middle_of_rounds(metric: Metric, than: Option<&Cell>, arm: &Cell, rounds: &[u32]) -> Option<f64> {
    let value = |pass: &Pass| of_pass(metric, pass);
    let values: Vec<f64> = match than {
        Some(than) => {
            let pairs = than.pairs(arm);
            let pairs = pairs.iter().filter(|(pass, _)| rounds.contains(&pass.round));
            pairs.filter_map(|(than, arm)| Some(value(than)? / value(arm)?)).collect()
        }
        None => arm.passes.iter().filter(|pass| rounds.contains(&pass.round)).filter_map(value).collect(),
    };
    SortedValues::new(values.into_iter().filter(|it| it.is_finite() && *it > 0.0).collect()).map(|it| it.median())
}

/// The median of counts, among which 0 is one: no interval of them reaches below it.
fn counted(values: impl Iterator<Item = f64>) -> Option<Estimate> {
    let estimate = stats::median(&SortedValues::new(values.collect())?)?;
    Some(Estimate { ci_low: estimate.ci_low.max(0.0), ..estimate })
}

/// Time by the kernel's ticks, as the mean of all passes: each pass as its time and what to divide it by.
pub(crate) fn mean_of_times(metric: Metric, passes: &[(f64, f64)], cell: &Cell) -> MetricResult {
    let spent = passes.iter().map(|(ns, _)| ns).sum();
    by_sums(metric, passes, [spent, f64::INFINITY], passes.len(), grain_ns(metric, &[cell]))
}

/// Why a cell gives no number; `None` when it has passes.
pub(crate) fn untestable(run: &Run, cell: &Cell) -> Option<Reason> {
    let finding = cells::finding(run, cell);
    (finding.status != Status::Ok).then(|| finding.reasons.into_iter().next().unwrap_or(Reason::NoPass))
}

/// What a metric is read from; nothing where the clock or the tally is enough.
fn readings(metric: Metric) -> &'static [&'static str] {
    match metric {
        Metric::Time | Metric::CeilingShare | Metric::BeatP99 | Metric::StalledShare => &[],
        Metric::Cpu => &["user_ns", "system_ns"],
        Metric::User => &["user_ns"],
        Metric::System => &["system_ns"],
        Metric::MinorFaults => &["minor_faults"],
        // A page that comes from the device is a major fault, and getrusage(2) counts it as no minor one.
        Metric::PagesPerFault => &["minor_faults", "major_faults"],
        Metric::DeviceReadBytes => &["device_read_bytes"],
        Metric::DeviceWriteBytes => &["disk_write_bytes"],
        Metric::ReadPart => &["read_part_ns"],
        Metric::LoopPart => &["loop_part_ns"],
        Metric::WritePart => &["write_part_ns"],
        Metric::SafepointP99 => &["safepoint_p99_ns"],
    }
}

/// Ticks decide, and not the scheduler's clock.
fn is_split_by_ticks(metric: Metric, cell: &Cell) -> bool {
    metric.is_part_of_cpu() || (metric == Metric::Cpu && cell.counts_ticks())
}

/// The grain of a metric that ticks decide, the coarsest of some cells.
fn grain_ns(metric: Metric, cells: &[&Cell]) -> Option<f64> {
    let split = cells.iter().filter(|cell| is_split_by_ticks(metric, cell));
    split.map(|cell| cell.tick_ns).max_by(f64::total_cmp)
}

/// Whether a median of single passes would say more about ticks than about the arm.
fn is_coarse(metric: Metric, cell: &Cell) -> bool {
    if !matches!(metric, Metric::Cpu | Metric::User | Metric::System) {
        return false;
    }
    let times: Vec<f64> = cell.passes.iter().map(|pass| total(pass, readings(metric))).collect();
    let short = |sample: SortedValues| sample.median() < FINE_TICKS * cell.tick_ns;
    times.contains(&0.0) || (is_split_by_ticks(metric, cell) && SortedValues::new(times).is_none_or(short))
}

fn total(pass: &Pass, names: &[&str]) -> f64 {
    names.iter().filter_map(|name| pass.reading(name)).sum()
}

/// Of a pass of a cell: what the pass alone does not say is known of its cell.
fn of_cell(run: &Run, metric: Metric, cell: &Cell, pass: &Pass) -> Option<f64> {
    match metric {
        Metric::CeilingShare => cell.ceiling_share_of(run, pass),
        // As where its beats are shown.
        Metric::StalledShare if deadlines(cell) < P99_DEADLINES => None,
        _ => of_pass(metric, pass),
    }
}

/// Of all passes together.
fn deadlines(cell: &Cell) -> u64 {
    cell.passes.iter().filter_map(|it| it.beats).map(|it| it.pass.deadlines).fold(0, u64::saturating_add)
}

fn of_pass(metric: Metric, pass: &Pass) -> Option<f64> {
    let sum = || -> Option<f64> { readings(metric).iter().map(|name| pass.reading(name)).sum() };
    match metric {
        Metric::Time => pass.ns_per_op(),
        Metric::Cpu | Metric::User | Metric::System | Metric::ReadPart | Metric::LoopPart | Metric::WritePart => {
            let ops = Some(pass.tally.ops).filter(|&ops| ops > 0)?;
            Some(sum()? / ops as f64)
        }
        Metric::MinorFaults | Metric::DeviceReadBytes | Metric::DeviceWriteBytes | Metric::SafepointP99 => sum(),
        Metric::PagesPerFault => {
            let faults = sum().filter(|&faults| faults > 0.0)?;
            Some(pass.tally.distinct_pages? as f64 / faults)
        }
        Metric::CeilingShare => None,
        Metric::BeatP99 => pass.beats?.pass.p99_ns(),
        Metric::StalledShare => pass.beats.and_then(|it| it.pass.stalled_share(it.period_ns)),
    }
}

fn ratios(values: impl Iterator<Item = (f64, f64)>, added: f64) -> Vec<f64> {
    values.map(|(than, arm)| (than + added) / (arm + added)).collect()
}

/// The ratio of what all rounds took together. `totals` are in nanoseconds: what ticks saw of so little time is known no
/// better than a count of them.
fn by_sums(
    metric: Metric,
    pairs: &[(f64, f64)],
    totals: [f64; 2],
    rounds: usize,
    grain_ns: Option<f64>,
) -> MetricResult {
    let least = |grain: f64| totals.iter().map(|&ns| 1.0 / (ns / grain).max(1e-9)).sum();
    let least = grain_ns.map_or(0.0, least);
    match stats::ratio_of_sums(pairs, least) {
        Some(estimate) => MetricResult::some(estimate, rounds, Some(Reason::OfSums { metric, rounds })),
        None if rounds < 2 => MetricResult::none(rounds, few(rounds)),
        None => {
            let counted_ns = totals.into_iter().fold(f64::MAX, f64::min);
            MetricResult::none(rounds, Reason::TooCoarse { metric, counted_ns, passes: rounds })
        }
    }
}

fn few(rounds: usize) -> Reason {
    if rounds == 1 { Reason::SinglePass } else { Reason::NoInterval }
}

/// Pages for each fault, of an arm whose faults are not of the pages that it reached.
fn without_mapping(metric: Metric, cells: &[&Cell]) -> Option<MetricResult> {
    let asked = cells.iter().filter(|_| metric == Metric::PagesPerFault);
    Some(MetricResult::unseen(metric, asked.copied().find_map(Cell::why_no_faults_of_pages)?))
}

/// A part of CPU times of which it is not known how they divide.
fn undivided(metric: Metric, cells: &[&Cell]) -> Option<MetricResult> {
    let why = cells.iter().filter(|_| metric.is_part_of_cpu()).find_map(|it| it.why_undivided())?;
    Some(MetricResult::none(cells.iter().map(|it| it.passes.len()).min()?, why.into()))
}

fn missing(run: &Run, metric: Metric, cells: &[&Cell]) -> MetricResult {
    let uncounted = |cell: &&Cell| cell.passes.iter().any(|pass| pass.tally.distinct_pages.is_none());
    if metric == Metric::PagesPerFault && cells.iter().any(uncounted) {
        return MetricResult::unseen(metric, Unseen::PagesNotCounted);
    }
    if metric == Metric::CeilingShare {
        let why = cells.iter().find_map(|cell| cell.why_no_ceiling(run));
        return MetricResult::unseen(metric, why.unwrap_or_else(|| Unseen::NoCeiling.into()));
    }
    if metric.is_of_beats() {
        return MetricResult::unseen(metric, Unseen::FewBeats);
    }
    let reason = cells.iter().find_map(|cell| {
        let reasons = readings(metric).iter().map(|name| cell.reading(name, SortedValues::mean));
        reasons.filter_map(|reading| reading.why().cloned()).next()
    });
    match reason {
        Some(reason) => MetricResult::unseen(metric, reason),
        // It was seen that there is nothing to divide by.
        None if metric == Metric::PagesPerFault => {
            MetricResult::none(0, Reason::NoMetric { metric, reason: Box::new(Unseen::NoFault.into()) })
        }
        None => MetricResult::none(0, Reason::NoneTaken { metric }),
    }
}
