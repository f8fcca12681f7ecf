//! What the differences of the map come from: of each that is decided, the cause that makes the largest part of it.

use schema::{
    answer::{MainCause, Part},
    findings::{AnswerOf, Comparison, MapLine, Verdict},
    unit_cost::{Cause, CostBreakdown},
};

/// Where the breakdowns explain less of a difference, they do not say what it comes from.
const EXPLAINED: f64 = 0.5;

/// Of each line of the map that has a winner, the largest ratio first.
pub(crate) fn all(map: &[MapLine], comparisons: &[Comparison], accounts: &[CostBreakdown]) -> Vec<MainCause> {
    let mut causes: Vec<MainCause> = map.iter().filter_map(|line| of_line(line, comparisons, accounts)).collect();
    let ratio = |it: &MainCause| it.slower.pass_ns / it.faster.pass_ns;
    causes.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
    causes
}

fn of_line(line: &MapLine, comparisons: &[Comparison], accounts: &[CostBreakdown]) -> Option<MainCause> {
    let winner = line.winner_cell.filter(|_| line.verdict == Verdict::Faster)?;
    let of_line = comparisons.iter().filter(|it| line.is_made_of(it) && it.answer_of != AnswerOf::Job);
    let explained = of_line.filter(|it| it.explained_share.is_some_and(|share| share >= EXPLAINED));
    let beaten = |it: &Comparison| match it.verdict {
        Verdict::Faster => it.id.cell == winner,
        Verdict::Slower => it.baseline_cell == winner,
        _ => false,
    };
    // Of the arms that a baseline is ahead of, the closest.
    let speedup = |it: &Comparison| it.speedup.map_or(0.0, |it| it.median);
    let decisive = explained.filter(|it| beaten(it)).max_by(|a, b| speedup(a).total_cmp(&speedup(b)))?;
    let loser = if decisive.id.cell == winner { decisive.baseline_cell } else { decisive.id.cell };
    let account = |cell: usize| accounts.iter().find(|it| it.id.cell == cell);
    let (faster, slower) = (account(winner)?, account(loser)?);
    let behind = |cause: Cause| ns_of(slower, cause) - ns_of(faster, cause);
    let cause = Cause::ALL.into_iter().max_by(|a, b| behind(*a).total_cmp(&behind(*b)))?;
    let part = |it: &CostBreakdown| Part {
        cell: it.id.cell,
        arm: it.arm.clone(),
        pass_ns: it.measured_ns,
        cause_ns: ns_of(it, cause),
    };
    let cause = MainCause { id: line.id, cause, faster: part(faster), slower: part(slower) };
    let is_slower = cause.slower.pass_ns > cause.faster.pass_ns && cause.faster.pass_ns > 0.0;
    // Unit costs may come to more than was measured; no cause takes longer than the pass.
    let is_within = [&cause.slower, &cause.faster].iter().all(|it| it.cause_ns <= it.pass_ns);
    (is_slower && is_within).then_some(cause)
}

fn ns_of(account: &CostBreakdown, cause: Cause) -> f64 {
    // The sum of none is -0.
    account.components.iter().filter(|it| it.cause == cause).map(|it| it.ns).sum::<f64>() + 0.0
}
