//! The cost breakdown of a cell, and how much of a comparison's difference it explains.

use schema::{
    explanation::{ArmCosts, Explanation},
    findings::{AnswerOf, Verdict},
    unit_cost::CostBreakdown,
};

use crate::{
    compare::Compared,
    measured::{Cell, Run},
};

use super::{
    fills::Known,
    model::{self, ModelledPass, PassCounts},
    threads::Threads,
};

/// Bytes of the whole disk are those of one pass up to this multiple of what its worker was charged for.
const OWN: f64 = 1.1;
/// Components with a smaller share of the larger breakdown are not listed.
const SHOWN: f64 = 0.02;

pub(crate) fn of_cell(run: &Run, known: &Known, cell: &Cell) -> Option<CostBreakdown> {
    let measured_ns = measured_ns(cell)?;
    let device_bytes = cell.count("device_read_bytes");
    // The disk counts the requests of all processes. They are the pass's own where the disk's bytes are.
    let is_own = device_bytes.zip(cell.count("disk_read_bytes")).is_some_and(|(own, all)| all <= OWN * own);
    let device_requests = cell.count("disk_read_requests").filter(|_| is_own);
    let counts = PassCounts { minor_faults: cell.count("minor_faults"), device_bytes, device_requests };
    let (costs, _) = known.under(cell.own).ok()?;
    let components = model::components(costs, &pass(run, cell, counts)).ok()?;
    Some(CostBreakdown {
        id: cell.id,
        arm: cell.arm().name.clone(),
        condition: cell.own.clone(),
        components_ns: components.iter().map(|it| it.ns).sum(),
        components,
        measured_ns,
    })
}

pub(super) fn pass<'a>(run: &Run, cell: &Cell<'a>, counts: PassCounts) -> ModelledPass<'a> {
    ModelledPass {
        arm: cell.arm(),
        condition: cell.own,
        page_bytes: run.page_bytes() as f64,
        read_ahead_bytes: model::read_ahead_bytes(&run.record.target),
        ceiling_bytes_per_s: run.record.ceiling.value().map(|it| it.bytes_per_s),
        counts,
        // Cells are not measured in a state that their range does not fit into.
        memory_bytes: f64::INFINITY,
        threads: Threads::ONE,
        queue_depth: cell.queue_depth(),
    }
}

/// The median pass.
pub(super) fn measured_ns(cell: &Cell) -> Option<f64> {
    let per_op = crate::stats::median_of_positive(cell.passes.iter().filter_map(|pass| pass.ns_per_op()))?.median;
    Some(per_op * cell.median_of(|tally| tally.ops)?)
}

/// Replaces the counted facts by the cost breakdowns of both arms, where both have one.
pub(crate) fn explain(
    run: &Run,
    compared: &mut Compared,
    baseline: Option<&CostBreakdown>,
    arm: Option<&CostBreakdown>,
) {
    let (Some(baseline), Some(arm)) = (baseline, arm) else { return };
    if compared.finding.verdict == Verdict::NotComparable || compared.finding.answer_of == AnswerOf::Job {
        return;
    }
    let decided = matches!(compared.finding.verdict, Verdict::Faster | Verdict::Slower);
    compared.finding.explained_share =
        decided.then(|| explained_share([baseline, arm].map(|it| (it.components_ns, it.measured_ns)))).flatten();
    let most = baseline.components_ns.max(arm.components_ns);
    let costs = |cell: &Cell, breakdown: &CostBreakdown| ArmCosts {
        arm: run.name(cell.arm()).to_string(),
        components: breakdown.components.iter().filter(|it| it.ns >= SHOWN * most).cloned().collect(),
        accounted_ns: breakdown.components_ns,
        measured_ns: breakdown.measured_ns,
    };
    let arms = [costs(compared.baseline, baseline), costs(compared.arm, arm)];
    compared.finding.explanation = Some(Explanation::Costs { arms, decided });
}

/// Of the difference between two measured times, the share that the cost breakdowns explain: 1 when their difference is
/// the measured one, less by what is missing, and less by what is too much.
pub(super) fn explained_share([(a, measured_a), (b, measured_b)]: [(f64, f64); 2]) -> Option<f64> {
    let measured = measured_a - measured_b;
    let share = 1.0 - ((a - b) - measured).abs() / measured.abs();
    share.is_finite().then(|| share.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_lost_by_what_is_missing_and_by_what_is_too_much() {
        let share = |explained: f64, measured: f64| {
            explained_share([(100.0 + explained, 500.0), (100.0, 500.0 - measured)]).unwrap()
        };
        assert_eq!(share(100.0, 100.0), 1.0);
        assert!((share(85.0, 100.0) - 0.85).abs() < 1e-12 && (share(115.0, 100.0) - 0.85).abs() < 1e-12);
        assert_eq!(share(-10.0, 100.0), 0.0);
        assert_eq!(share(300.0, 100.0), 0.0);
        assert_eq!(share(-85.0, -100.0), share(85.0, 100.0));
        assert_eq!(explained_share([(5.0, 7.0), (3.0, 7.0)]), None);
    }
}
