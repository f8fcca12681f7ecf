//! Answers that were measured again at the size of the job: what the map, crossovers, reports, gates and comparisons of runs
//! say of them.

use planted::{CellKind, JobAnswer, Planted, Planting};
use report::Style;
use schema::{
    Names,
    findings::{AnswerOf, Verdict},
    gate::BreachCause,
};

use crate::{measured_again, near, rendered::numbers};

#[test]
fn the_map_says_what_came_out_at_the_size_of_the_job() {
    let mut seen: Vec<(Verdict, AnswerOf)> = Vec::new();
    let mut in_rounds_alone = 0;
    for planted in measured_again() {
        let findings = analysis::analyze(&planted.record);
        for (index, line) in findings.map.iter().enumerate() {
            let cells: Vec<usize> = planted.cells_of(index).collect();
            let Some(answer) = planted.answer(cells[1]).filter(|_| planted.truth[cells[1]].job.is_some()) else {
                continue;
            };
            let name = |at: usize| Some(planted.record.cells[at].arm.name.clone());
            let at_work = |at: usize| planted.record.cells[at].arm.at_work(line.condition.state);
            let is_of_rounds = |at: &usize| {
                let is_new = cells[..2].iter().all(|it| at_work(*it) != at_work(*at));
                line.answer_of == AnswerOf::Job && planted.truth[*at].kind == CellKind::Measured && is_new
            };
            let names = Names::of(&planted.record);
            let arms = cells[2..].iter().copied().filter(is_of_rounds);
            let of_rounds: Vec<&str> = arms.map(|it| names.short(&planted.record.cells[it].arm.name)).collect();
            assert_eq!(line.says.not_at_job, of_rounds, "{line:?}");
            in_rounds_alone += of_rounds.len();
            if cells.len() > 2 {
                // What was measured in smaller passes alone wins over no answer of the job.
                if matches!(answer.of, AnswerOf::Job | AnswerOf::Neither) {
                    assert_ne!(line.winner, name(cells[2]), "{line:?}");
                }
                continue;
            }
            seen.push((answer.verdict, answer.of));
            let winner = match answer.verdict {
                Verdict::Faster => name(cells[1]),
                Verdict::Undecided => None,
                _ => name(cells[0]),
            };
            // The baseline that is ahead is faster than what it is compared with.
            let verdict = if answer.verdict == Verdict::Slower { Verdict::Faster } else { answer.verdict };
            assert_eq!((&line.winner, line.verdict, line.answer_of), (&winner, verdict, answer.of), "{line:?}");
            if answer.verdict == Verdict::Faster {
                near(line.margin.unwrap().median, answer.ratio);
            }
        }
    }
    for of in [AnswerOf::RoundsUnconfirmed, AnswerOf::RoundsAndJob, AnswerOf::Job, AnswerOf::Neither] {
        assert!(seen.iter().any(|it| it.1 == of), "{of:?} was planted");
    }
    assert!(in_rounds_alone > 0);
}

#[test]
fn a_speedup_that_is_not_of_the_times_in_its_row_says_so() {
    for jobs in [false, true] {
        let planted = Planting { jobs, ..Planting::default() }.plant();
        let findings = analysis::analyze(&planted.record);
        let of_job = findings.comparisons.iter().filter(|it| it.answer_of == AnswerOf::Job && it.speedup.is_some());
        let expected = of_job.count();
        assert_eq!(expected > 0, jobs);
        assert_eq!(report::markdown(&planted.record, &findings).matches(", job |").count(), expected);
    }
}

#[test]
fn an_answer_that_the_job_does_not_confirm_says_so_in_row_matrix_and_table() {
    let mut seen = 0;
    for planted in measured_again() {
        let findings = analysis::analyze(&planted.record);
        let is_silent = |at: usize| planted.truth[at].job == Some(JobAnswer::Silent);
        let is_decided = |at: usize| planted.answer(at).is_some_and(|it| it.verdict.is_decided());
        let silent: Vec<usize> = (0..planted.truth.len()).filter(|&at| is_silent(at) && is_decided(at)).collect();
        let found = findings.comparisons.iter().filter(|it| it.is_unconfirmed()).map(|it| it.id.cell);
        assert_eq!(found.collect::<Vec<usize>>(), silent);
        let markdown = report::markdown(&planted.record, &findings);
        assert_eq!(markdown.matches(", unconfirmed |").count(), silent.len());
        assert_eq!(markdown.contains("§"), !silent.is_empty(), "the matrix and its legend");
        assert_eq!(markdown.contains("(not confirmed at the size of the job)"), !silent.is_empty(), "the sentence");
        seen += silent.len();
    }
    assert!(seen > 0);
}

#[test]
fn a_crossover_has_a_place_where_its_points_are_of_passes_of_one_size() {
    let (mut placed, mut of_two_sizes) = (0, 0);
    for seed in 1..=12 {
        for jobs in [false, true] {
            let planted = Planting { seed, jobs, ..Planting::default() }.plant();
            let findings = analysis::analyze(&planted.record);
            let named = |it: usize| planted.record.experiment.comparisons[planted.record.origins[it]].name.as_deref();
            let conditions = (0..planted.record.conditions.len()).filter(|&it| named(it) == Some("sizes"));
            let points: Vec<(usize, f64, planted::Answer)> = conditions
                .map(|it| {
                    let arm = planted.cells_of(it).nth(1).unwrap();
                    let block = planted.record.conditions[it].block_bytes as f64;
                    (arm, block, planted.answer(arm).unwrap())
                })
                .collect();
            let found = findings.crossovers.iter().find(|it| it.cells[0].cell == points[0].0).unwrap();
            let decided: Vec<usize> = (0..points.len()).filter(|&it| points[it].2.verdict.is_decided()).collect();
            let changes = |pair: &&[usize]| points[pair[0]].2.verdict != points[pair[1]].2.verdict;
            let change = decided.windows(2).find(changes);
            assert_eq!(found.changes, change.is_some(), "{found:?}");
            let of_job = |at: usize| points[at].2.of == AnswerOf::Job;
            let all = (0..points.len()).filter(|&at| of_job(at)).count();
            assert_eq!(found.of_job.len(), if all < points.len() { all } else { 0 }, "{found:?}");
            let Some(&[from, to]) = change else { continue };
            if of_job(from) != of_job(to) {
                assert_eq!(found.at, None, "{found:?}");
                of_two_sizes += 1;
            } else if points[from..=to].iter().all(|it| it.2.of != AnswerOf::Neither) && to == from + 1 {
                let [(_, x0, a), (_, x1, b)] = [points[from], points[to]];
                let (y0, y1) = (a.ratio.ln(), b.ratio.ln());
                near(found.at.unwrap().median, (x0.ln() + (x1.ln() - x0.ln()) * y0 / (y0 - y1)).exp());
                placed += 1;
            }
        }
    }
    assert!(placed > 12 && of_two_sizes > 0, "{placed} placed, {of_two_sizes} of two sizes");
}

#[test]
fn every_report_counts_what_held_what_is_replaced_and_what_is_open() {
    let mut strayed = 0.0;
    for planted in measured_again() {
        let findings = analysis::analyze(&planted.record);
        let count = |job: JobAnswer| planted.truth.iter().filter(|it| it.job == Some(job)).count() as f64;
        strayed += count(JobAnswer::Strays);
        let open = count(JobAnswer::Doubts) + count(JobAnswer::Strays);
        let mut expected = vec![count(JobAnswer::Holds), count(JobAnswer::Turns), open, count(JobAnswer::Silent)];
        let all: f64 = expected.iter().sum();
        expected.retain(|it| *it > 0.0);
        let style = Style { width: 1000, colour: false, details: true };
        let texts = [
            report::markdown(&planted.record, &findings),
            report::html(&planted.record, &findings),
            report::terminal(&planted.record, &findings, style, None),
        ];
        for text in texts {
            // The first screen says it too.
            let at = text.rfind("comparisons were measured again, at").unwrap();
            let from = text[..at].rfind(['>', '\n']).unwrap() + 1;
            let to = at + text[at..].find(['<', '\n']).unwrap();
            let shown: Vec<f64> = numbers(&text[from..to]).into_iter().map(|it| it.value).collect();
            assert_eq!(shown, [&[all][..], &expected].concat());
        }
    }
    assert!(strayed > 0.0);
}

/// The same run without what was measured again.
fn of_rounds(planted: &Planted) -> Planted {
    let mut other = planted.clone();
    other.record.id.push_str("-rounds");
    other.record.confirmations.clear();
    other.truth.iter_mut().for_each(|it| it.job = None);
    other
}

#[test]
fn two_runs_are_compared_by_answers_of_one_size_of_pass() {
    for first in measured_again() {
        let second = of_rounds(&first);
        let [a, b] = [&first, &second].map(|it| analysis::analyze(&it.record));
        let versus = analysis::across((&first.record, &a), (&second.record, &b));
        for found in &versus.answers {
            let [before, after] = [&first, &second].map(|it| it.answer(found.first_id.cell));
            let (Some(before), Some(after)) = (before, after) else { continue };
            assert_eq!((found.first_verdict, found.second_verdict), (before.verdict, after.verdict));
            assert_eq!((found.first_of, found.second_of), (before.of, after.of));
            assert_eq!(found.is_of_one_size(), before.of != AnswerOf::Job, "{found:?}");
            // Of one size, the unchanged passes say the same in both.
            if found.is_decided() && found.is_of_one_size() {
                assert_eq!(found.first_verdict, found.second_verdict, "{found:?}");
            }
        }
        let turned = first.truth.iter().filter(|it| it.job == Some(JobAnswer::Turns)).count();
        let across = schema::across::Across { schema_version: 1, versus: vec![versus], gates: Vec::new() };
        for text in
            [report::across(&across, Style { width: 1000, ..Default::default() }), report::across_markdown(&across)]
        {
            let left_out = text.split("Left out ").nth(1).map(|it| numbers(&it.replace(':', " "))[0].value);
            assert_eq!(left_out, (turned > 0).then_some(turned as f64), "{text}");
        }
    }
}

#[test]
fn a_gate_holds_rounds_against_rounds_whatever_was_measured_again() {
    for first in measured_again() {
        let second = of_rounds(&first);
        let [a, b] = [&first, &second].map(|it| analysis::analyze(&it.record));
        for (one, other) in [((&first, &a), (&second, &b)), ((&second, &b), (&first, &a))] {
            for arm in ["native/mmap", "native/pread", "native/mmap+sequential"] {
                let threshold = format!("{arm} slower 10%").parse().unwrap();
                let sides = [(&one.0.record, one.1)];
                let Some(gate) = analysis::gate(&threshold, &sides, &[vec![(&other.0.record, other.1)]]) else {
                    continue;
                };
                let beyond = gate.breaches.iter().filter(|it| matches!(it.cause, BreachCause::Beyond { .. })).count();
                assert_eq!((beyond, gate.unsure), (0, 0), "{gate:?}");
            }
        }
    }
}

#[test]
fn what_was_measured_again_changes_no_cell() {
    for first in measured_again() {
        let second = of_rounds(&first);
        let [a, b] = [&first, &second].map(|it| analysis::analyze(&it.record));
        assert_eq!(a.cells, b.cells);
        assert!(first.truth.iter().any(|it| it.kind == CellKind::Measured && it.job.is_some()));
    }
}
