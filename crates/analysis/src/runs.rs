//! One run against another. Their passes were not taken side by side, so nothing is paired: the interval of a ratio comes
//! from the intervals of the two medians.

use std::{cmp::Reverse, collections::BTreeMap};

use schema::{
    Condition, Findings, Record,
    across::{Differs, SharedAnswer, SharedCell, Versus},
    command::COMMAND,
    experiment::Compare,
    fields::{self, Role},
    findings::{CellFinding, Estimate, Status, Verdict},
    record::Reading,
};

use crate::compare::verdict;

/// The second run against the first. Above 1 the second is faster.
pub fn across(first: (&Record, &Findings), second: (&Record, &Findings)) -> Versus {
    let pairs = pair_up(first, second);
    let mut cells = Vec::new();
    let mut not_comparable: Vec<String> = Vec::new();
    let (mut only_first, mut only_second) = (0, 0);
    for pair in &pairs {
        match (pair.first.filter(|it| is_measured(it)), pair.second.filter(|it| is_measured(it))) {
            (Some(a), Some(b)) => {
                for (field, ours, theirs) in fields::differences(Role::Subject, own(a), own(b)) {
                    let said = |words: String| if words.is_empty() { "none".to_string() } else { words };
                    let (name, ours, theirs) = (field.name, said(ours), said(theirs));
                    let reason = format!("{name} is not the same: {ours} in one run, {theirs} in the other");
                    if !not_comparable.contains(&reason) {
                        not_comparable.push(reason);
                    }
                }
                // A command keeps its name while its line, its shell or its preparation changes.
                if a.arm.runtime == COMMAND && a.arm.options != b.arm.options {
                    let reason = format!("{} is not the same command in both runs", a.arm.name);
                    if !not_comparable.contains(&reason) {
                        not_comparable.push(reason);
                    }
                }
                cells.extend(shared(a, b, first.0));
            }
            (Some(_), None) => only_first += 1,
            (None, Some(_)) => only_second += 1,
            (None, None) => {}
        }
    }
    if cells.is_empty() {
        not_comparable.push("they have no measured cell in common".into());
    }
    if first.0 == second.0 {
        not_comparable.push(format!("both are the run {}", first.0.id));
    }
    Versus {
        first: first.0.id.clone(),
        second: second.0.id.clone(),
        differs: environment(first.0, second.0),
        not_comparable,
        only_first,
        only_second,
        drift: drift(&cells),
        answers: answers(first.1, second.1, &pairs),
        cells,
    }
}

/// The same cell in two runs; one of them may lack it.
pub(crate) struct Pair<'a> {
    pub(crate) first: Option<&'a CellFinding>,
    pub(crate) second: Option<&'a CellFinding>,
}

impl<'a> Pair<'a> {
    /// Of the first run, if it is there.
    pub(crate) fn any(&self) -> Option<&'a CellFinding> {
        self.first.or(self.second)
    }

    /// How many times faster the second run is.
    pub(crate) fn speedup(&self) -> Option<Estimate> {
        ratio(self.first?.ns_per_op?, self.second?.ns_per_op?)
    }
}

/// Every cell of two runs, measured or not, each with the one of the other run that asks the same and is most like it, in
/// the order of the first; then those that only the second has.
pub(crate) fn pair_up<'a>(first: (&'a Record, &'a Findings), second: (&'a Record, &'a Findings)) -> Vec<Pair<'a>> {
    let entered = |it: &'a Findings| it.cells.iter().filter(|cell| !cell.control).collect::<Vec<&CellFinding>>();
    let (ours, theirs) = (entered(first.1), entered(second.1));
    let mut candidates: Vec<(u32, usize, usize)> = Vec::new();
    for (a, one) in ours.iter().enumerate() {
        let of_one = compare_of(first.0, one);
        for (b, other) in theirs.iter().enumerate() {
            let of_other = compare_of(second.0, other);
            if asks_the_same((one, of_one), (other, of_other)) {
                candidates.push((likeness((one, of_one), (other, of_other)), a, b));
            }
        }
    }
    candidates.sort_by_key(|&(likeness, a, b)| (Reverse(likeness), a, b));
    let mut partners = vec![None; ours.len()];
    let mut taken = vec![false; theirs.len()];
    for (_, a, b) in candidates {
        if partners[a].is_none() && !taken[b] {
            (partners[a], taken[b]) = (Some(b), true);
        }
    }
    let paired =
        ours.iter().zip(partners).map(|(it, partner)| Pair { first: Some(it), second: partner.map(|at| theirs[at]) });
    let left = theirs.iter().zip(&taken).filter(|(_, taken)| !**taken);
    paired.chain(left.map(|(it, _)| Pair { first: None, second: Some(it) })).collect()
}

fn is_measured(cell: &CellFinding) -> bool {
    cell.status == Status::Ok && cell.ns_per_op.is_some()
}

/// The comparison that a cell comes from.
fn compare_of<'a>(record: &'a Record, cell: &CellFinding) -> Option<&'a Compare> {
    record.experiment.comparisons.get(cell.id.condition.comparison_index?)
}

/// What the passes of a cell did.
fn own(cell: &CellFinding) -> &Condition {
    cell.own_condition.as_ref().unwrap_or(&cell.condition)
}

type Side<'a> = (&'a CellFinding, Option<&'a Compare>);

/// How large a pass was made is the planner's choice, and other files and memory are the same question (`Role::Subject`).
fn asks_the_same((a, of_a): Side, (b, of_b): Side) -> bool {
    let variant = |compare: Option<&Compare>| compare.and_then(|it| it.variant);
    a.arm.name == b.arm.name
        && variant(of_a) == variant(of_b)
        && fields::agree(Role::Asked, &a.condition, &b.condition)
        && fields::agree(Role::Asked, own(a), own(b))
}

/// Of several that ask the same, which one is meant: the things that count most come first.
fn likeness((a, of_a): Side, (b, of_b): Side) -> u32 {
    let name = |compare: Option<&Compare>| compare.and_then(|it| it.name.clone());
    let alike = [
        fields::agree(Role::Subject, own(a), own(b)),
        name(of_a) == name(of_b),
        fields::agree(Role::Size, own(a), own(b)),
    ];
    alike.into_iter().fold(0, |sum, it| 2 * sum + u32::from(it))
}

/// The median of the cells' ratios.
fn drift(cells: &[SharedCell]) -> Option<f64> {
    let mut ratios: Vec<f64> = cells.iter().filter_map(|it| Some(it.speedup?.median)).collect();
    ratios.sort_by(f64::total_cmp);
    let middle = ratios.len() / 2;
    match ratios.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(ratios[middle]),
        _ => Some((ratios[middle - 1] * ratios[middle]).sqrt()),
    }
}

/// Comparisons that were made in both runs: of cells that are paired, arm with arm and baseline with baseline.
fn answers(first: &Findings, second: &Findings, pairs: &[Pair]) -> Vec<SharedAnswer> {
    let pairs: BTreeMap<usize, usize> =
        pairs.iter().filter_map(|it| Some((it.first?.id.cell, it.second?.id.cell))).collect();
    let shared = first.comparisons.iter().filter_map(|a| {
        let (arm, baseline) = (pairs.get(&a.id.cell)?, pairs.get(&a.baseline_cell)?);
        let b = second.comparisons.iter().find(|b| (b.id.cell, b.baseline_cell) == (*arm, *baseline))?;
        Some(SharedAnswer {
            first_id: a.id,
            second_id: b.id,
            condition: a.condition.clone(),
            baseline: a.baseline.clone(),
            arm: a.arm.clone(),
            first: a.speedup,
            second: b.speedup,
            first_verdict: a.verdict,
            second_verdict: b.verdict,
        })
    });
    shared.collect()
}

fn shared(a: &CellFinding, b: &CellFinding, first_run: &Record) -> Option<SharedCell> {
    let (first, second) = (a.ns_per_op?, b.ns_per_op?);
    let speedup = ratio(first, second);
    let (verdict, mut reason) = verdict(speedup, a.samples.min(b.samples));
    let sizes = fields::differences(Role::Size, own(a), own(b));
    if verdict != Verdict::Undecided && !sizes.is_empty() {
        let (ours, theirs): (Vec<String>, Vec<String>) = sizes.into_iter().map(|(_, a, b)| (a, b)).unzip();
        reason = Some(format!("passes of {} against {}", ours.join(", "), theirs.join(", ")));
    }
    Some(SharedCell {
        first_id: a.id,
        second_id: b.id,
        comparison: compare_of(first_run, a).map_or_else(Vec::new, |it| it.words(a.id.condition.comparison_index)),
        arm: a.arm.clone(),
        condition: a.condition.clone(),
        first,
        second,
        speedup,
        verdict,
        reason,
    })
}

/// The ratio of two independent medians with its 95 % interval: on the logarithmic scale the distances from each median
/// to the end of its interval are squared and added (MOVER; Zou and Donner, Statistics in Medicine 27, 2008), which
/// keeps intervals that are longer on one side as they are.
fn ratio(above: Estimate, below: Estimate) -> Option<Estimate> {
    let logs = |it: Estimate| [it.ci_low.ln(), it.median.ln(), it.ci_high.ln()];
    let ([a_low, a, a_high], [b_low, b, b_high]) = (logs(above), logs(below));
    let estimate = Estimate {
        median: (a - b).exp(),
        ci_low: (a - b - (a - a_low).hypot(b_high - b)).exp(),
        ci_high: (a - b + (a_high - a).hypot(b - b_low)).exp(),
    };
    [estimate.median, estimate.ci_low, estimate.ci_high]
        .iter()
        .all(|it| it.is_finite() && *it > 0.0)
        .then_some(estimate)
}

fn environment(a: &Record, b: &Record) -> Vec<Differs> {
    fn said<T: std::fmt::Debug>(reading: &Reading<T>) -> String {
        match reading {
            Reading::Value(value) => format!("{value:?}").trim_matches('"').to_string(),
            Reading::Unavailable { unavailable } => format!("not known ({unavailable})"),
        }
    }
    let facts = |it: &Record| {
        let environment = &it.environment;
        let device = it.target.device.clone();
        vec![
            ("faultline", it.tool_version.clone()),
            ("experiment", it.experiment.name.clone()),
            ("host", environment.host.clone()),
            ("kernel", environment.kernel.clone()),
            ("architecture", environment.architecture.clone()),
            ("CPU", said(&environment.cpu)),
            ("CPUs", environment.cpus.to_string()),
            ("memory, bytes", environment.memory_bytes.to_string()),
            ("cgroup memory limit, bytes", said(&environment.memory_limit_bytes)),
            ("virtualisation", said(&environment.virtualisation)),
            ("mitigations", format!("{:?}", environment.mitigations)),
            ("page size, bytes", environment.page_bytes.to_string()),
            ("transparent huge pages", said(&environment.transparent_hugepage)),
            ("fault-around, bytes", said(&environment.fault_around_bytes)),
            ("governor", said(&environment.governor)),
            ("C library", said(&environment.c_library)),
            ("clock source", said(&environment.clocksource)),
            ("multi-generational LRU", said(&environment.lru_gen)),
            ("schemes that push pages out", format!("{:?}", environment.reclaim_schemes.value())),
            ("runtimes", format!("{:?}", it.runtimes)),
            ("root", environment.root.to_string()),
            ("target", it.target.path.clone()),
            ("target, bytes", it.target.bytes.to_string()),
            ("file system", format!("{} ({})", it.target.file_system, it.target.mount_options)),
            ("device", said(&device.clone().map(|it| it.name))),
            ("read-ahead, bytes", said(&device.map(|it| said(&it.read_ahead_bytes)))),
        ]
    };
    let differ = |((what, first), (_, second)): ((&str, String), (&str, String))| {
        (first != second).then(|| Differs { what: what.into(), first, second })
    };
    facts(a).into_iter().zip(facts(b)).filter_map(differ).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_of_two_medians_is_the_published_formula() {
        // By hand: logs 2 ± 0.3 and 1 ± 0.4 differ by 1 ± 0.5.
        let estimate = |log: f64, half: f64| Estimate {
            median: log.exp(),
            ci_low: (log - half).exp(),
            ci_high: (log + half).exp(),
        };
        let ratio = ratio(estimate(2.0, 0.3), estimate(1.0, 0.4)).unwrap();
        for (value, expected) in [(ratio.median, 1.0f64), (ratio.ci_low, 0.5), (ratio.ci_high, 1.5)] {
            assert!((value.ln() - expected).abs() < 1e-9, "{ratio:?}");
        }
    }

    #[test]
    fn the_drift_is_the_middle_of_the_cells_and_nothing_without_any() {
        let cell = |median: f64| {
            let estimate = Estimate { median, ci_low: median, ci_high: median };
            let record: Record =
                serde_json::from_str(include_str!("../../schema/tests/records/version-1.json")).unwrap();
            let (arm, condition) = (record.cells[0].arm.clone(), record.conditions[0].clone());
            let id = record.cell_id(0).unwrap();
            SharedCell {
                first_id: id,
                second_id: id,
                comparison: Vec::new(),
                arm,
                condition,
                first: estimate,
                second: estimate,
                speedup: Some(estimate),
                verdict: Verdict::Same,
                reason: None,
            }
        };
        assert_eq!(drift(&[]), None);
        assert_eq!(drift(&[cell(3.0), cell(0.5), cell(2.0)]), Some(2.0));
        assert_eq!(drift(&[cell(4.0), cell(1.0)]), Some(2.0));
    }

    #[test]
    fn a_run_gives_the_answers_it_gives() {
        let record: Record = serde_json::from_str(include_str!("../../schema/tests/records/version-1.json")).unwrap();
        let findings = crate::analyze(&record);
        let versus = across((&record, &findings), (&record, &findings));
        assert_eq!(versus.answers.len(), findings.comparisons.len());
        assert!(versus.answers.iter().all(|it| it.first_verdict == it.second_verdict && it.first == it.second));
    }

    #[test]
    fn an_interval_keeps_its_longer_side() {
        let even = Estimate { median: 1.0, ci_low: 1.0, ci_high: 1.0 };
        let skewed = Estimate { median: 1.0, ci_low: 0.9, ci_high: 3.0 };
        let ratio = ratio(even, skewed).unwrap();
        assert!((ratio.ci_low - 1.0 / 3.0).abs() < 1e-9 && (ratio.ci_high - 1.0 / 0.9).abs() < 1e-9, "{ratio:?}");
    }

    #[test]
    fn what_has_no_logarithm_has_no_ratio() {
        let zero = Estimate { median: 0.0, ci_low: 0.0, ci_high: 0.0 };
        assert_eq!(ratio(zero, zero), None);
    }
}
