//! Cells, verdicts, map, claims, forks and noise of one run.

use planted::{CellKind, MARGIN, Planted, Planting, SPLIT};
use schema::{
    Findings, Reading,
    findings::{AnswerOf, ClaimVerdict, Status, Verdict},
};

use crate::{exact, measured_again, near, plans};

fn is_measured(kind: CellKind) -> bool {
    matches!(kind, CellKind::Measured | CellKind::Split)
}

#[test]
fn the_same_plan_makes_the_same_record_and_another_seed_another_one() {
    let plan = Planting { noise: 0.05, ..Planting::default() };
    assert_eq!(plan.plant().record, plan.plant().record);
    assert_ne!(plan.plant().record, Planting { seed: 2, ..plan }.plant().record);
}

#[test]
fn every_cell_has_the_cost_and_the_counts_that_were_planted_or_the_reason_why_not() {
    for planted in exact() {
        let findings = analysis::analyze(&planted.record);
        assert_eq!(findings.cells.len(), planted.truth.len());
        for ((found, truth), cell) in findings.cells.iter().zip(&planted.truth).zip(&planted.record.cells) {
            assert_eq!((&found.arm, found.control), (&cell.arm, cell.control));
            assert_eq!(found.condition, planted.record.conditions[cell.condition]);
            let status = match truth.kind {
                CellKind::Measured | CellKind::Split => Status::Ok,
                CellKind::Skipped => Status::Skipped,
                CellKind::Invalid => Status::Invalid,
                CellKind::Failed => Status::Failed,
            };
            assert_eq!(
                (found.status, found.invalid_samples.min(1)),
                (
                    status,
                    match truth.kind {
                        CellKind::Invalid => 1,
                        _ => truth.lost.min(1),
                    }
                )
            );
            assert_eq!(found.ns_per_op.is_some(), is_measured(truth.kind));
            let Some(ns) = found.ns_per_op else { continue };
            let expected = if truth.kind == CellKind::Split { truth.ns_per_op * SPLIT.sqrt() } else { truth.ns_per_op };
            near(ns.median, expected);
            near(found.bytes_per_s.unwrap().median, bytes_per_op(&planted, cell.condition) * 1e9 / expected);
            assert_eq!(found.minor_faults.value(), Some(&truth.minor_faults));
            assert_eq!(found.device_read_bytes.value(), Some(&truth.device_read_bytes));
            assert_eq!(found.peak_memory_bytes.value(), Some(&truth.peak_memory_bytes));
            assert_eq!(found.major_faults, Reading::unavailable(planted::REASON));
        }
    }
}

/// A scan's last block may be short.
fn bytes_per_op(planted: &Planted, condition: usize) -> f64 {
    let it = &planted.record.conditions[condition];
    let all = (it.ops * it.block_bytes) as f64;
    let bytes = if it.workload.is_ascending() { all.min(it.range.bytes as f64) } else { all };
    bytes / it.ops as f64
}

/// Arms beside their baseline, in the order of comparisons: indexes of cells.
fn pairs(planted: &Planted) -> Vec<(usize, usize)> {
    (0..planted.record.conditions.len())
        .flat_map(|condition| {
            let cells: Vec<usize> = planted.cells_of(condition).collect();
            cells[1..].iter().map(|&arm| (cells[0], arm)).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn comparisons_have_the_planted_ratio_and_without_noise_the_planted_verdict() {
    for planted in exact().chain(measured_again()) {
        let findings = analysis::analyze(&planted.record);
        let pairs = pairs(&planted);
        assert_eq!(findings.comparisons.len(), pairs.len());
        for (found, (baseline, arm)) in findings.comparisons.iter().zip(pairs) {
            assert_eq!(found.arm, planted.record.cells[arm].arm.name);
            assert_eq!(found.baseline, planted.record.cells[baseline].arm.name);
            let truth = &planted.truth[arm];
            let answer = planted.answer(arm);
            let verdict = answer.map_or(Verdict::Undecided, |it| it.verdict);
            assert_eq!(found.verdict, verdict, "{} {}: {found:?}", found.arm, found.condition.label());
            assert_eq!(found.answer_of, answer.map_or(AnswerOf::Rounds, |it| it.of), "{:?}: {found:?}", truth.job);
            assert_eq!(
                (found.speedup.is_some(), found.confirmed.is_some()),
                (is_measured(truth.kind), truth.job.is_some())
            );
            if truth.kind == CellKind::Measured {
                near(found.speedup.unwrap().median, answer.unwrap().ratio);
                assert_eq!(found.pairs, planted_rounds(&planted) - truth.lost);
            }
        }
    }
}

fn planted_rounds(planted: &Planted) -> u32 {
    planted.record.samples.iter().map(|it| it.round + 1).max().unwrap()
}

#[test]
fn noise_never_decides_for_the_wrong_side() {
    let mut decided = 0;
    for planted in plans() {
        let findings = analysis::analyze(&planted.record);
        for (found, (baseline, arm)) in findings.comparisons.iter().zip(pairs(&planted)) {
            let ratio = planted.truth[baseline].ns_per_op / planted.truth[arm].ns_per_op;
            decided += u32::from(found.verdict.is_decided());
            match found.verdict {
                Verdict::Faster => assert!(ratio > 1.0, "{ratio}: {found:?}"),
                Verdict::Slower => assert!(ratio < 1.0, "{ratio}: {found:?}"),
                Verdict::Same => assert!((1.0 / 1.1..1.1).contains(&ratio), "{ratio}: {found:?}"),
                Verdict::Undecided => {}
                Verdict::NotComparable => panic!("equal work was planted: {found:?}"),
            }
        }
        for claim in &findings.claims {
            let wrong = match planted.claims[&claim.id] {
                ClaimVerdict::Holds => ClaimVerdict::Reversed,
                ClaimVerdict::Reversed => ClaimVerdict::Holds,
                _ => continue,
            };
            assert_ne!(claim.verdict, wrong, "{claim:?}");
        }
    }
    assert!(decided > 100, "{decided}");
}

#[test]
fn the_map_names_the_planted_winner_of_each_condition_with_its_own_margin() {
    for planted in exact() {
        let findings = analysis::analyze(&planted.record);
        assert_eq!(findings.map.len(), planted.record.conditions.len());
        for (index, line) in findings.map.iter().enumerate() {
            assert_eq!(line.condition, planted.record.conditions[index]);
            the_winner(&planted, &findings, index);
        }
    }
}

fn the_winner(planted: &Planted, findings: &Findings, index: usize) {
    let line = &findings.map[index];
    let measured: Vec<usize> =
        planted.cells_of(index).filter(|&at| planted.truth[at].kind == CellKind::Measured).collect();
    let ns = |at: usize| planted.truth[at].ns_per_op;
    let baseline = measured[0];
    let best = measured.iter().map(|&at| ns(at)).fold(f64::INFINITY, f64::min);
    let name = |at: usize| planted.record.cells[at].arm.name.clone();
    let arm = |at: usize| &planted.record.cells[at].arm;
    let at_work = |at: usize| arm(at).at_work(line.condition.state);
    // The first that was measured is the result for all that do the same.
    let is_first = |at: &usize| measured.iter().find(|other| at_work(**other) == at_work(*at)) == Some(at);
    let entrants: Vec<usize> = measured.iter().copied().filter(is_first).collect();
    let names = |cells: &[usize]| cells.iter().map(|&at| name(at)).collect::<Vec<String>>();
    let near_to = |one: usize, other: usize| (1.0 / MARGIN..=MARGIN).contains(&(ns(one) / ns(other)));
    let answer = if ns(baseline) / best > MARGIN {
        // Of those that are not beaten, the plainest, and of these the first in the experiment.
        let ahead = |at: &usize| ns(*at) / best <= MARGIN && ns(baseline) / ns(*at) > MARGIN;
        let winner = entrants.iter().copied().filter(ahead).min_by_key(|&at| arm(at).options_set()).unwrap();
        assert_eq!((line.verdict, line.winner.clone()), (Verdict::Faster, Some(name(winner))), "{line:?}");
        near(line.margin.unwrap().median, ns(baseline) / ns(winner));
        winner
    } else {
        let is_split = planted.cells_of(index).any(|at| planted.truth[at].kind == CellKind::Split);
        if entrants.len() < 2 || is_split {
            return;
        }
        assert_eq!(line.winner, Some(name(baseline)), "{line:?}");
        let all_slower = entrants[1..].iter().all(|&at| ns(at) / ns(baseline) > MARGIN);
        assert_eq!(line.verdict, if all_slower { Verdict::Faster } else { Verdict::Same });
        baseline
    };
    let ties: Vec<usize> = entrants.iter().copied().filter(|&at| at != answer && near_to(at, answer)).collect();
    assert_eq!((&line.ties, &line.tie_cells), (&names(&ties), &ties), "{line:?}");
    assert!(line.not_told_apart.is_empty(), "without noise everything is told apart: {line:?}");
    let same_work: Vec<usize> =
        planted.cells_of(index).filter(|&at| at != answer && at_work(at) == at_work(answer)).collect();
    assert_eq!((&line.same_work, &line.same_work_cells), (&names(&same_work), &same_work), "{line:?}");
}

#[test]
fn claims_have_the_planted_verdict() {
    for planted in exact().chain(measured_again()) {
        let findings = analysis::analyze(&planted.record);
        assert_eq!(findings.claims.len(), planted.claims.len());
        for claim in &findings.claims {
            assert_eq!(claim.verdict, planted.claims[&claim.id], "{claim:?}");
        }
    }
}

#[test]
fn controls_show_the_planted_noise_and_the_cell_in_two_groups_is_the_only_one() {
    for planted in exact().chain(plans()) {
        let findings = analysis::analyze(&planted.record);
        let floor = findings.noise_floor;
        let controls = planted.record.cells.iter().filter(|it| it.control).count() as u32;
        assert_eq!(floor.pairs, controls);
        assert!(floor.half_width.unwrap() < 0.1, "{floor:?}");
        let split: Vec<&str> = findings.splits.iter().map(|it| it.arm.as_str()).collect();
        assert_eq!(split, ["jvm/mapped"]);
        assert!(findings.splits[0].in_code);
        assert!((findings.splits[0].factor / SPLIT - 1.0).abs() < 0.1, "{:?}", findings.splits[0]);
    }
    let exact = analysis::analyze(&Planting::default().plant().record);
    assert!(exact.noise_floor.half_width.unwrap() < 1e-6);
}
