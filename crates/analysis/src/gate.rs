//! Whether cells changed by more than a limit from one run to another. A cell that cannot be judged fails the gate like
//! one that changed too much: a regression must not pass by removing the cell that would show it.

use schema::{
    Findings, Labels, Record,
    findings::{CellFinding, Status},
    gate::{Breach, BreachCause, Change, Direction, Gate, Presence, Threshold},
};

use crate::{
    compare::LEAST_PAIRS,
    runs::{self, Pair},
};

/// The first run against each of the others. `None` where the pattern means no cell of any run.
pub fn gate(threshold: &Threshold, first: (&Record, &Findings), others: &[(&Record, &Findings)]) -> Option<Gate> {
    let mut gate =
        Gate { threshold: threshold.text.clone(), checked: 0, unsure: 0, largest: None, breaches: Vec::new() };
    let of_first = Labels::of(first.0);
    for (record, findings) in others {
        let of_second = Labels::of(record);
        for pair in runs::pair_up(first, (record, findings)) {
            if let Some(cell) = pair.any().filter(|it| threshold.cells.is_about(&it.arm.name, &it.condition)) {
                let labels = if pair.first.is_some() { &of_first } else { &of_second };
                let label = labels.label(cell.id.condition.condition_index);
                judge(threshold, &pair, cell, &label, &record.id, &mut gate);
            }
        }
    }
    (gate.checked > 0 || gate.is_breached()).then_some(gate)
}

fn judge(threshold: &Threshold, pair: &Pair, cell: &CellFinding, label: &str, run: &str, gate: &mut Gate) {
    let (id, arm, condition) = (cell.id, cell.arm.name.clone(), cell.condition.clone());
    let (label, run) = (label.to_string(), run.to_string());
    let (first, second) = (presence(pair.first), presence(pair.second));
    let measured = (first == Presence::Measured && second == Presence::Measured).then(|| pair.speedup()).flatten();
    let Some(speedup) = measured else {
        let cause = BreachCause::NotCompared { first, second };
        gate.breaches.push(Breach { id, run, arm, condition, label, cause });
        return;
    };
    gate.checked += 1;
    // How many times more than before: above 1 it went in the forbidden direction.
    let forbidden = |speedup: f64| match threshold.forbids {
        Direction::Slower => 1.0 / speedup,
        Direction::Faster => speedup,
    };
    let limit = 1.0 + threshold.share;
    let (least, most) = match threshold.forbids {
        Direction::Slower => (forbidden(speedup.ci_high), forbidden(speedup.ci_low)),
        Direction::Faster => (forbidden(speedup.ci_low), forbidden(speedup.ci_high)),
    };
    // Only the whole interval beyond the limit is a breach: noise alone must not fail a build.
    if least > limit {
        let cause = BreachCause::Beyond { speedup };
        let (run, arm, condition, label) = (run.clone(), arm.clone(), condition.clone(), label.clone());
        gate.breaches.push(Breach { id, run, arm, condition, label, cause });
    } else if most > limit {
        gate.unsure += 1;
    }
    if gate.largest.as_ref().is_none_or(|it| forbidden(speedup.median) > forbidden(it.speedup.median)) {
        gate.largest = Some(Change { id, run, arm, condition, label, speedup });
    }
}

fn presence(cell: Option<&CellFinding>) -> Presence {
    let Some(cell) = cell else { return Presence::Absent };
    let reason = cell.reason.clone().unwrap_or_default();
    match cell.status {
        Status::Skipped => Presence::Skipped { reason },
        Status::Invalid => Presence::Invalid { reason },
        Status::Failed => Presence::Failed { reason },
        Status::Ok if cell.ns_per_op.is_none() || cell.samples < LEAST_PAIRS => {
            Presence::TooFewPasses { passes: cell.samples, least: LEAST_PAIRS }
        }
        Status::Ok => Presence::Measured,
    }
}
