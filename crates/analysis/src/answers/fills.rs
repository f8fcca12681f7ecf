//! What the ways of filling the page cache do to mappings: the same comparisons, fill by fill.

use schema::{
    Arm, Condition, Fill, Reading, Record, State, Workload,
    fields::{self, Role},
    findings::{
        CellFinding, Comparison, FillFinding, FilledComparison, Refill, StateNoise, UnjudgedCause, UnjudgedRefill,
        Verdict,
    },
    record::FilledRange,
};

use crate::{
    stats::ratio_of_medians,
    verdict::{LEAST_PAIRS, MARGIN},
};

/// Empty where a run has only one fill.
pub(crate) fn all(
    record: &Record,
    cells: &[CellFinding],
    comparisons: &[Comparison],
    noise_floors: &[StateNoise],
) -> Vec<FillFinding> {
    let of_cached = noise_floors.iter().find(|it| it.state == State::Cached).and_then(|it| it.floor.half_width);
    // Two conditions are held against each other: two floors, added as squares.
    let width = of_cached.map_or(0.0, |it| (it.ln_1p() * 2_f64.sqrt()).exp_m1());
    let least = 1.0 + width.max(MARGIN);
    let mut fills: Vec<Fill> = comparisons.iter().filter_map(|it| it.condition.fill()).collect();
    fills.sort_unstable();
    fills.dedup();
    if fills.len() < 2 {
        return Vec::new();
    }
    let with_rows = |fill: &Fill| {
        // For what writes the file is made anew, and a part of it: what is read was filled otherwise.
        let (writing, reading): (Vec<_>, Vec<_>) = comparisons
            .iter()
            .map(|it| &it.condition)
            .filter(|it| it.fill() == Some(*fill))
            .partition(|it| it.workload.writes());
        let made = reading.into_iter().chain(writing).find_map(|it| made_for(record, it))?;
        Some((*fill, made, rows(*fill, cells, comparisons)))
    };
    let rows: Vec<(Fill, &FilledRange, Vec<FilledComparison>)> = fills.iter().filter_map(with_rows).collect();
    let finding = |(fill, made, own): &(Fill, &FilledRange, Vec<FilledComparison>)| {
        // A copy is another file, and what was found cannot be made.
        let others =
            rows.iter().filter(|(other, ..)| other != fill && other.copied_by().is_none() && *other != Fill::Found);
        let judged =
            others.flat_map(|(other, _, others)| refills(record, (cells, comparisons), own, (*other, others), least));
        let (refills, not_judged): (Vec<_>, Vec<_>) = judged.partition(Result::is_ok);
        FillFinding {
            fill: *fill,
            elapsed_ns: made.elapsed_ns,
            range_bytes: made.range.bytes,
            folio_orders: made.folio_orders.clone(),
            pages_per_fault: made.pages_per_fault,
            comparisons: own.clone(),
            refill: refills.into_iter().flatten().min_by(|a, b| a.passes.total_cmp(&b.passes)),
            not_judged: not_judged.into_iter().filter_map(Result::err).map(|it| *it).collect(),
        }
    };
    rows.iter().map(finding).collect()
}

/// The fill that the rounds of a condition were measured after: of those that cover its range the first, because passes at
/// the size of the job had a larger one made later, and what writes comes last. One that did not stay as it was
/// lost its passes, unless it had been looked at before, and they were made again after the next. What writes has the file made
/// anew, and fills no more of it than its passes reach.
pub(crate) fn made_for<'a>(record: &'a Record, condition: &Condition) -> Option<&'a FilledRange> {
    let (fill, range) = (condition.fill()?, condition.range);
    let covers = |it: &&FilledRange| it.fill.unwrap_or(Fill::Sequential) == fill && it.range.covers(&range);
    let made = || record.fills.iter().filter(covers);
    match condition.workload.writes() {
        // Of several that are as large, the last.
        true => made().rev().min_by_key(|it| it.range.bytes),
        false => made().find(|it| it.stayed() || it.kept).or_else(|| made().next()),
    }
}

/// The plainest mapping of each condition of a fill; of several, the first that was entered.
fn rows(fill: Fill, cells: &[CellFinding], comparisons: &[Comparison]) -> Vec<FilledComparison> {
    let ns_per_op = |index: usize| {
        let cell = cells.iter().find(|it| it.id.cell == index)?;
        Some(cell.ns_per_op?.median)
    };
    let maps = |it: &Comparison| cells.iter().find(|cell| cell.id == it.id).filter(|it| it.arm.maps());
    // One that does what is asked about comes before one with work of its own.
    let rank = |it: &CellFinding| (it.own_condition.is_some(), it.arm.options_set());
    let of_fill =
        comparisons.iter().filter(|it| it.condition.fill() == Some(fill) && it.condition.state == State::Cached);
    let mut plainest: Vec<(&Comparison, &CellFinding)> = Vec::new();
    for (comparison, cell) in of_fill.filter_map(|it| Some((it, maps(it)?))) {
        match plainest.iter_mut().find(|it| it.0.id.condition == comparison.id.condition) {
            Some(known) if rank(cell) < rank(known.1) => *known = (comparison, cell),
            Some(_) => {}
            None => plainest.push((comparison, cell)),
        }
    }
    let row = |(comparison, cell): (&Comparison, &CellFinding)| FilledComparison {
        id: comparison.id,
        condition: comparison.condition.clone(),
        baseline: comparison.baseline.clone(),
        arm: comparison.arm.clone(),
        baseline_ns_per_op: ns_per_op(comparison.baseline_cell),
        arm_ns_per_op: ns_per_op(comparison.id.cell),
        speedup: comparison.speedup,
        verdict: comparison.verdict,
        answer_of: comparison.answer_of,
        minor_faults: cell.minor_faults.clone(),
        system_ns_per_fault: system_ns_per_fault(cell),
    };
    plainest.into_iter().map(row).collect()
}

fn system_ns_per_fault(cell: &CellFinding) -> Option<f64> {
    let (Reading::Value(faults), Reading::Value(system)) = (&cell.minor_faults, &cell.system_ns_per_op) else {
        return None;
    };
    // With few faults, the start of the pass is what the kernel's time went into.
    let ops = cell.does().ops;
    (*faults >= 100.0).then(|| system * ops as f64 / faults)
}

/// What another fill would bring random reads: the time that it saves on each, and how many pay for making it. Costs of
/// unequal work say nothing of that, and less than `least` times as fast, by the whole interval, is no saving: the passes
/// after two fills were not taken side by side.
fn refills(
    record: &Record,
    (cells, comparisons): (&[CellFinding], &[Comparison]),
    now: &[FilledComparison],
    (fill, then): (Fill, &[FilledComparison]),
    least: f64,
) -> Vec<Result<Refill, Box<UnjudgedRefill>>> {
    let fastest = |of: &dyn Fn(&CellFinding) -> bool| {
        let measured = cells.iter().filter(|it| of(it) && !it.control && it.own_condition.is_none());
        let each = measured.filter_map(|it| Some((&it.arm, it.ns_per_op?, it.samples)));
        each.min_by(|a, b| a.1.median.total_cmp(&b.1.median))
    };
    let judged = |now: &FilledComparison| {
        // What has no size was not measured, which its comparison says.
        let is_sized = |it: &FilledComparison| it.condition.ops > 0;
        let asked = then.iter().filter(|it| is_sized(it) && asks_the_same(&now.condition, &it.condition));
        let mut asked = asked.filter(|_| is_sized(now)).collect::<Vec<_>>();
        // Of several comparisons that ask the same, its own.
        asked.sort_by_key(|it| it.id.condition.comparison_index != now.id.condition.comparison_index);
        let same_passes = |it: &&&FilledComparison| fields::agree(Role::Size, &now.condition, &it.condition);
        let id = now.id.condition;
        let unjudged =
            |cause| Some(Err(Box::new(UnjudgedRefill { id, fill, condition: now.condition.clone(), cause })));
        let Some(then) = asked.iter().find(same_passes) else {
            let (now, then) = (&now.condition, &asked.first()?.condition);
            return unjudged(UnjudgedCause::OtherPasses {
                now_ops: now.ops,
                then_ops: then.ops,
                now_bytes: now.range.bytes,
                then_bytes: then.range.bytes,
            });
        };
        if [now.verdict, then.verdict].contains(&Verdict::NotComparable) {
            return unjudged(UnjudgedCause::UnequalWork);
        }
        let equal = |them: &FilledComparison| -> Vec<usize> {
            let all = comparisons.iter().filter(|it| it.id.condition == them.id.condition);
            let equal = all.filter(|it| it.verdict != Verdict::NotComparable);
            equal.flat_map(|it| [it.baseline_cell, it.id.cell]).collect()
        };
        let [equal_now, equal_then] = [now, *then].map(equal);
        let is_one = |of: &[usize], it: &CellFinding| of.contains(&it.id.cell);
        // What was not measured now may be as fast now.
        let was_measured =
            |arm: &Arm| cells.iter().any(|it| is_one(&equal_now, it) && it.arm == *arm && it.ns_per_op.is_some());
        let of_now = fastest(&|it| is_one(&equal_now, it));
        let of_then = fastest(&|it| is_one(&equal_then, it) && was_measured(&it.arm));
        let made = made_for(record, &then.condition)?;
        if of_now.is_some() && of_then.is_none() && fastest(&|it| is_one(&equal_then, it)).is_some() {
            return unjudged(UnjudgedCause::NoSharedArm);
        }
        let ((now_arm, now_ns, now_passes), (arm, then_ns, then_passes)) = (of_now?, of_then?);
        let faster = ratio_of_medians(now_ns, then_ns).filter(|_| now_passes.min(then_passes) >= LEAST_PAIRS)?;
        (faster.ci_low > least).then(|| {
            let (now_ns_per_op, then_ns_per_op) = (now_ns.median, then_ns.median);
            let (elapsed_ns, filled_bytes) = (made.elapsed_ns, made.range.bytes);
            let ops = elapsed_ns as f64 / (now_ns_per_op - then_ns_per_op);
            let passes = ops / now.condition.ops.max(1) as f64;
            let condition = now.condition.clone();
            Ok(Refill {
                id,
                fill,
                elapsed_ns,
                filled_bytes,
                condition,
                arm: arm.name.clone(),
                now_arm: now_arm.name.clone(),
                now_ns_per_op,
                then_ns_per_op,
                ops,
                passes,
            })
        })
    };
    now.iter().filter_map(judged).collect()
}

/// Random reads of the same question but for their fill.
fn asks_the_same(a: &Condition, b: &Condition) -> bool {
    let b = Condition { fill: a.fill, ..b.clone() };
    a.workload == Workload::Random && [Role::Asked, Role::Subject].into_iter().all(|role| fields::agree(role, a, &b))
}
