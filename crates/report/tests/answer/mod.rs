//! The first screen: what it says of the made-up run, and of changes to it.

use schema::{
    Skip, State, Workload,
    answer::{Choice, Loss, MainCause, Part},
    caution::Caution,
    findings::{AnswerOf, Comparison, Confirmed, Verdict},
    line::LineAnswer,
    record::{Outcome, Resident},
    unit_cost::Cause,
    warning::Warning,
};

use crate::{
    costs::with_costs,
    overview, squeezed,
    support::{Run, estimate, run},
};

/// Without line breaks, and without the spaces that keep words together.
fn first_screen(run: &Run) -> String {
    squeezed(&overview(run))
}

/// The condition of that workload and state.
fn condition(run: &Run, workload: Workload, state: State) -> usize {
    run.record.conditions.iter().position(|it| (it.workload, it.state) == (workload, state)).unwrap()
}

#[test]
fn that_reads_of_a_file_with_holes_reach_no_device_is_on_the_first_screen() {
    let mut run = run();
    let left_out = |run: &Run| first_screen(run).matches("file with holes").count();
    run.findings.warnings = vec![Warning::Sparse { allocated_bytes: 0, bytes: 1 << 20 }];
    let text = first_screen(&run);
    assert!(text.contains("Limit: the file has holes, or is compressed: 0 B of"), "{text}");
    assert_eq!(left_out(&run), 0, "it is said, and not left out");
    run.findings.warnings.push(Warning::StolenTime { share: 0.5 });
    assert!(first_screen(&run).contains("1 warning (stolen"), "{}", first_screen(&run));
}

#[test]
fn an_arm_that_is_not_known_everywhere_is_not_called_the_fastest() {
    let mut run = run();
    let id = run.findings.map[0].id;
    let choice = |arm: &str, times: Option<f64>, known: u32| Choice {
        arms: vec![arm.into()],
        losses: times
            .map(|times| Loss {
                id,
                fastest: "native/direct".into(),
                times,
                than_baseline: None,
                by_trial: false,
                at_most: false,
            })
            .into_iter()
            .collect(),
        known,
        conditions: 3,
        measured: 3,
    };
    run.findings.answer.choices = vec![choice("native/read", Some(1.5), 3), choice("native/mmap+random", None, 1)];
    let text = first_screen(&run);
    assert!(
        text.contains(
            "read loses least: at worst 1.5x slower than direct (scan 64 KiB, cold), elsewhere no known loss;"
        ),
        "{text}"
    );
    assert!(text.contains("mmap+random (known for 1 of 3 conditions): no loss there"), "{text}");
    // Where one loses most of what is known, the rest is not known.
    run.findings.answer.choices = vec![choice("native/mmap", Some(1.5), 2)];
    let text = first_screen(&run);
    assert!(text.contains("mmap (known for 2 of 3 conditions): at worst 1.5x slower") && !text.contains("elsewhere"));
    run.findings.answer.choices = vec![choice("native/mmap+random", None, 3)];
    assert!(first_screen(&run).contains("mmap+random: no other arm is known to be faster"));
    // Baselines of several comparisons: one of them may be the slow one where another is the baseline.
    let both = Choice { arms: vec!["native/pread".into(), "native/mmap".into()], ..choice("", Some(1.5), 3) };
    run.findings.answer.choices = vec![both];
    let text = first_screen(&run);
    assert!(text.contains("each condition's baseline (pread or mmap): at worst 1.5x"), "{text}");
    run.findings.answer.choices = vec![choice("native/mmap+random", None, 3)];
    // What other conditions would say is not known.
    run.findings.answer.choices[0].measured = 20;
    let text = first_screen(&run);
    assert!(
        text.contains("y the 3 of 20 conditions that have an answer, and what is slower in the others, mmap+random"),
        "{text}"
    );
}

#[test]
fn the_legend_names_the_baselines_that_the_numbers_are_over() {
    let mut run = run();
    assert!(first_screen(&run).contains("number: speedup over read or pread; where read wins, over the runner-up"));
    let id = run.record.condition_id(condition(&run, Workload::Scan, State::Cached));
    run.findings.map.retain(|it| it.id == id || it.verdict == Verdict::Undecided);
    assert!(first_screen(&run).contains("number: speedup of read over the runner-up"));
    for it in &mut run.record.cells {
        it.baseline = it.arm.name == "native/mmap";
    }
    for it in &mut run.findings.map {
        it.margin = Some(estimate(1.5, 0.01));
    }
    let text = first_screen(&run);
    assert!(text.contains("number: speedup over mmap") && !text.contains("over read"), "{text}");
}

#[test]
fn the_legend_says_what_every_state_means_and_how_much_was_found() {
    for state in State::ALL {
        let mut run = run();
        let at = run.findings.map[0].id.condition_index;
        (run.record.conditions[at].state, run.findings.map[0].condition.state) = (*state, *state);
        run.findings.found = (*state == State::AsFound).then_some(Resident { pages: 410, of: 1000 });
        let text = first_screen(&run);
        assert!(text.contains(&format!("; {state}: ")) || text.contains(&format!(" {state}: ")), "{state}: {text}");
        assert_eq!(text.contains("as-found: 41 % of it in the page cache"), *state == State::AsFound, "{text}");
    }
}

#[test]
fn a_baseline_that_wins_is_marked_where_the_same_arm_wins_over_another_baseline() {
    // Random reads of 4 KiB, from the same start as the cached scan that read wins as the baseline.
    let with = |change: &dyn Fn(&mut Run, usize)| {
        let mut run = run();
        let at = condition(&run, Workload::Random, State::Cached);
        let cells = run.record.cells.iter().enumerate().filter(|(_, it)| it.condition == at && !it.baseline);
        let winner = cells.map(|(index, _)| index).next().unwrap();
        let line = run.findings.map.iter_mut().find(|it| it.id.condition_index == at).unwrap();
        (line.verdict, line.winner_cell) = (Verdict::Faster, Some(winner));
        (line.winner, line.margin) = (Some("native/read".into()), Some(estimate(1.3, 0.01)));
        change(&mut run, at);
        first_screen(&run)
    };
    let text = with(&|_, _| ());
    assert!(
        text.contains("read‡ 1.5x") && text.contains("read 1.3x") && text.contains("‡ over the runner-up"),
        "{text}"
    );
    assert!(!text.contains("where read wins"), "{text}");
    // The name alone says it where it is that of another arm.
    let text = with(&|run, at| {
        run.findings.map.iter_mut().find(|it| it.id.condition_index == at).unwrap().winner = Some("native/mmap".into());
    });
    assert!(!text.contains('‡') && text.contains("where read wins, over the runner-up"), "{text}");
}

#[test]
fn answers_over_two_baselines_are_two_answers() {
    // Two sizes of one workload: of one read is the baseline and wins, of the other it is an arm that wins over mmap.
    let mut run = run();
    let [first, second] = [State::Cached, State::Mapped].map(|it| condition(&run, Workload::Scan, it));
    run.findings.map.retain(|it| (it.condition.workload, it.condition.state) != (Workload::Scan, State::Cold));
    let template = run.findings.map.iter().find(|it| it.id.condition_index == first).unwrap().clone();
    run.record.conditions[second].state = State::Cached;
    for cell in run.record.cells.iter_mut().filter(|it| it.condition == second) {
        cell.baseline = cell.arm.name == "native/mmap";
    }
    let is_winner = |it: &schema::record::Cell| it.condition == second && it.arm.name == "native/read";
    let winner_cell = run.record.cells.iter().position(is_winner);
    let line = run.findings.map.iter_mut().find(|it| it.id.condition_index == second).unwrap();
    let condition = schema::Condition { state: State::Cached, ..line.condition.clone() };
    let margin = Some(estimate(1.52, 0.01));
    *line = schema::findings::MapLine { id: line.id, condition, winner_cell, margin, ..template };
    let text = first_screen(&run);
    assert!(text.contains("scans: read 1.5x at 4 KiB, read 1.5x at 1 MiB"), "{text}");
}

#[test]
fn an_answer_of_the_job_is_marked_and_is_not_of_the_reads_of_the_rounds() {
    let mut run = run();
    assert!(!first_screen(&run).contains('†'));
    for it in run.findings.map.iter_mut().filter(|it| it.condition.workload == Workload::Random) {
        it.answer_of = AnswerOf::Job;
    }
    let text = first_screen(&run);
    assert!(text.contains("† at the size of the job") && !text.contains("a pass of random reads"), "{text}");
    assert!(text.contains("mmap 28x at 64 B (at the size of the job)"), "{text}");
}

#[test]
fn of_an_answer_of_the_job_no_arm_is_called_slower_that_was_not_measured_at_that_size() {
    let mut run = run();
    let at = condition(&run, Workload::Scan, State::Cached);
    let line = run.findings.map.iter_mut().find(|it| it.id.condition_index == at).unwrap();
    let LineAnswer::BaselineWins { of_job, .. } = &mut line.says.answer else { panic!("{line:?}") };
    *of_job = true;
    (line.answer_of, line.says.not_at_job) = (AnswerOf::Job, vec!["mmap".into()]);
    for it in run.findings.comparisons.iter_mut().filter(|it| it.id.condition.condition_index == at) {
        it.answer_of = if it.arm == "native/mmap" { AnswerOf::Rounds } else { AnswerOf::Job };
    }
    let text = first_screen(&run);
    assert!(
        text.contains("† at the size of the job; where read wins there, over the closest arm that was measured"),
        "{text}"
    );
    assert!(!text.contains(", the runner-up"), "{text}");
    let text = squeezed(&report::markdown(&run.record, &run.findings));
    assert!(text.contains("at the size of the job, where mmap was not measured"), "{text}");
    assert!(!text.contains("no arm is faster than read; read") && !text.contains(", the runner-up"), "{text}");
    let line = run.findings.map.iter_mut().find(|it| it.id.condition_index == at).unwrap();
    line.says.answer = LineAnswer::NoneFaster {
        baseline: "read".into(),
        margin: 0.05,
        ties: vec!["mmap+populate-read".into()],
        not_told_apart: vec![],
        of_job: true,
    };
    let text = report::words::line(&line.says);
    assert!(!text.contains("no arm") && text.ends_with("mmap was not measured at the size of the job"), "{text}");
}

/// Reads of 64 B from mapped pages, of which the baseline and two mappings that do the same work were measured: each
/// mapping's speedup and verdict.
fn of_one_work(verdict: Verdict, [kept, copy]: [(f64, Verdict); 2]) -> Run {
    let mut run = run();
    let at = condition(&run, Workload::Random, State::Mapped);
    let cell = |run: &Run, arm: &str| {
        let is_it = |it: &schema::record::Cell| it.condition == at && it.arm.name == arm;
        run.record.cells.iter().position(is_it).unwrap()
    };
    let [baseline, first] = ["native/pread", "native/mmap"].map(|it| cell(&run, it));
    for it in run.findings.comparisons.iter_mut().filter(|it| it.id.condition.condition_index == at) {
        let (speedup, verdict) = if it.id.cell == first { kept } else { copy };
        (it.speedup, it.verdict) = (Some(estimate(speedup, 0.01)), verdict);
    }
    let line = run.findings.map.iter_mut().find(|it| it.id.condition_index == at).unwrap();
    (line.winner, line.winner_cell) = (Some("native/pread".into()), Some(baseline));
    (line.verdict, line.margin, line.compared_cells) = (verdict, None, vec![first]);
    line.next_cell = Some(first);
    (line.ties, line.tie_cells) = (vec![], vec![]);
    run
}

#[test]
fn a_baseline_is_ahead_of_the_arm_that_stands_for_its_work_and_not_of_a_copy() {
    let run = of_one_work(Verdict::Faster, [(0.50, Verdict::Slower), (0.53, Verdict::Slower)]);
    assert!(first_screen(&run).contains("pread 2.0x"), "{}", first_screen(&run));
    assert!(!first_screen(&run).contains("pread 1.9x"), "{}", first_screen(&run));
    let text = squeezed(&report::markdown(&run.record, &run.findings));
    assert!(text.contains("vs mmap ") && !text.contains("vs mmap+random"), "{text}");
}

#[test]
fn an_arm_that_is_proved_slower_is_named_where_the_others_are_undecided() {
    let with = |mapping: (f64, Verdict)| {
        let mut run = of_one_work(Verdict::Undecided, [mapping, (1.0, Verdict::Undecided)]);
        let at = condition(&run, Workload::Random, State::Mapped);
        let line = run.findings.map.iter_mut().find(|it| it.id.condition_index == at).unwrap();
        (line.winner, line.winner_cell) = (None, None);
        first_screen(&run)
    };
    let text = with((0.02, Verdict::Slower));
    assert!(text.contains("undecided, but for what is slower (mmap 50x)"), "{text}");
    let text = with((1.0, Verdict::Undecided));
    assert!(text.contains("undecided") && !text.contains("but mmap"), "{text}");
}

#[test]
fn a_copy_that_chance_left_open_is_no_arm_of_which_equality_was_not_proved() {
    let equal = |copy: Verdict| {
        let mut run = of_one_work(Verdict::Same, [(1.0, Verdict::Same), (0.97, copy)]);
        let is_it = |it: &&mut schema::findings::MapLine| it.winner.as_deref() == Some("native/pread");
        let line = run.findings.map.iter_mut().filter(|it| it.verdict == Verdict::Same).find(is_it).unwrap();
        (line.ties, line.tie_cells) = (vec!["native/mmap".into()], line.compared_cells.clone());
        !first_screen(&run).contains("no difference between pread and mmap")
    };
    assert!(equal(Verdict::Same) && equal(Verdict::Undecided) && equal(Verdict::Slower));
}

#[test]
fn an_arm_that_others_were_not_told_apart_from_is_not_called_the_fastest() {
    let fastest = |not_told_apart: &[&str]| {
        let mut run = of_one_work(Verdict::Same, [(1.0, Verdict::Same), (1.0, Verdict::Same)]);
        let is_it = |it: &&mut schema::findings::MapLine| it.winner.as_deref() == Some("native/pread");
        let line = run.findings.map.iter_mut().filter(|it| it.verdict == Verdict::Same).find(is_it).unwrap();
        line.not_told_apart = not_told_apart.iter().map(ToString::to_string).collect();
        report::markdown(&run.record, &run.findings).matches("nothing beats pread |").count()
    };
    assert_eq!([fastest(&[]), fastest(&["native/mmap"])], [0, 1]);
}

#[test]
fn a_state_of_which_nothing_was_tried_is_named_with_its_reason() {
    let mut run = run();
    let skip = |run: &mut Run, state: State, keep: usize| {
        let of_state = |it: &schema::record::Cell| run.record.conditions[it.condition].state == state;
        let cells: Vec<usize> = (0..run.record.cells.len()).filter(|&it| of_state(&run.record.cells[it])).collect();
        for &cell in &cells[keep..] {
            run.record.cells[cell].skipped = Some(Skip::Unavailable("RLIMIT_MEMLOCK is 8 MiB".into()));
        }
        run.record.samples.retain(|it| !cells[keep..].contains(&it.cell));
        cells.len()
    };
    skip(&mut run, State::Cached, 1);
    // One of the cells of one of its conditions was measured, and nothing of the others.
    let of_cached = run.record.conditions.iter().filter(|it| it.state == State::Cached).count();
    let text = squeezed(&first_screen(&run));
    assert!(of_cached > 1 && text.contains("RLIMIT_MEMLOCK is 8 MiB"), "{text}");
    assert!(!text.contains("Not measured cached: "), "{text}");
    assert!(skip(&mut run, State::Cached, 0) > 0);
    let text = first_screen(&run);
    assert!(text.contains("Not measured cached: ") && text.contains("RLIMIT_MEMLOCK is 8 MiB"), "{text}");
    // A run that ended before it came to them left them out, too.
    let skipped: Vec<usize> =
        (0..run.record.cells.len()).filter(|it| run.record.cells[*it].skipped.is_some()).collect();
    skipped.iter().for_each(|it| run.record.cells[*it].skipped = None);
    run.record.partial = Some("interrupted by the user (SIGINT)".into());
    let text = first_screen(&run);
    assert!(text.contains("Not measured cached: the run ended before its first pass"), "{text}");
    let untried = run.record.untried();
    assert!(skipped.iter().all(|it| untried[*it].is_some()));
}

#[test]
fn an_arm_that_is_not_there_is_named_with_its_reason() {
    let mut run = run();
    let skip = |run: &mut Run, skip: Skip| {
        for (at, cell) in run.record.cells.iter_mut().enumerate().filter(|it| it.1.arm.name == "native/direct") {
            cell.skipped = Some(skip.clone());
            run.record.samples.retain(|it| it.cell != at);
        }
    };
    skip(&mut run, Skip::Unavailable("it has no O_DIRECT".into()));
    let text = squeezed(&first_screen(&run));
    assert!(text.contains("direct: it has no O_DIRECT"), "{text}");
    skip(&mut run, Skip::Untried);
    let text = squeezed(&first_screen(&run));
    assert!(!text.contains("direct: the budget"), "it is there: {text}");
}

#[test]
fn conditions_of_one_start_that_were_not_tried_for_different_reasons_each_have_their_own() {
    let mut run = run();
    let reason = |condition: usize| format!("reason of condition {condition}");
    let conditions: Vec<usize> =
        (0..run.record.conditions.len()).filter(|&it| run.record.conditions[it].state == State::Cached).collect();
    assert!(conditions.len() > 1);
    let cells = run.record.cells.iter_mut().filter(|it| conditions.contains(&it.condition));
    cells.for_each(|it| it.skipped = Some(Skip::Unavailable(reason(it.condition))));
    let of_others = |cell: usize| !conditions.contains(&run.record.cells[cell].condition);
    run.record.samples.retain(|it| of_others(it.cell));
    let text = squeezed(&first_screen(&run));
    for it in conditions {
        assert!(text.contains(&reason(it)), "{text}");
    }
    assert!(text.contains("Not measured scan 4 KiB, cached: "), "{text}");
}

#[test]
fn each_arm_of_a_start_has_its_own_reason_and_consequences_are_none() {
    let not_measured = |reasons: [&str; 2]| {
        let mut run = run();
        let cached = |run: &Run, condition: usize| run.record.conditions[condition].state == State::Cached;
        let cells: Vec<usize> =
            (0..run.record.cells.len()).filter(|&it| cached(&run, run.record.cells[it].condition)).collect();
        let mut others = reasons.into_iter().cycle();
        for &it in &cells {
            let cell = &mut run.record.cells[it];
            cell.skipped = Some(match cell.baseline {
                true => Skip::NothingToCompare,
                false => Skip::Unavailable(others.next().unwrap().into()),
            });
        }
        run.record.samples.retain(|it| !cells.contains(&it.cell));
        squeezed(&first_screen(&run))
    };
    let text = not_measured(["io_uring is off", "too old a kernel"]);
    assert!(text.contains("mmap and direct: too old a kernel; mmap+populate-read: io_uring is off"), "{text}");
    assert!(!text.contains("nothing to compare"), "{text}");
    let text = not_measured(["io_uring is off"; 2]);
    assert!(text.contains("Not measured cached: io_uring is off"), "{text}");
}

#[test]
fn a_loss_that_passes_at_the_size_of_the_job_do_not_confirm_is_marked() {
    let mut run = run();
    let worst = run.findings.map.iter().find(|it| it.verdict.is_decided()).unwrap().id;
    run.findings.answer.choices = vec![Choice {
        arms: vec!["native/read".into()],
        losses: vec![Loss {
            id: worst,
            fastest: "native/direct".into(),
            times: 1.5,
            than_baseline: None,
            by_trial: false,
            at_most: false,
        }],
        known: 2,
        conditions: 2,
        measured: 2,
    }];
    let with_marks = |run: &Run| squeezed(&first_screen(run)).split("If unsure").nth(1).unwrap().matches(MARK).count();
    const MARK: &str = "not confirmed at the size of the job";
    assert_eq!(with_marks(&run), 0);
    let line = run.findings.map.iter_mut().find(|it| it.id == worst).unwrap();
    line.answer_of = AnswerOf::RoundsUnconfirmed;
    assert!(with_marks(&run) > 0, "{}", first_screen(&run));
    // What it loses against the plain way is another figure where a third arm is the fastest.
    let choice = &mut run.findings.answer.choices[0];
    (choice.arms, choice.losses[0].than_baseline) = (vec!["native/mmap".into()], Some(1.3));
    let text = squeezed(&first_screen(&run));
    assert!(text.contains("1.5x slower than direct and 1.3x slower than "), "{text}");
    // And where it is not the most that the arm loses.
    let other = run.findings.map.iter().find(|it| it.id != worst).unwrap().id;
    let losses = &mut run.findings.answer.choices[0].losses;
    losses.insert(
        0,
        Loss {
            id: other,
            fastest: "native/direct".into(),
            times: 3.0,
            than_baseline: None,
            by_trial: false,
            at_most: false,
        },
    );
    let text = squeezed(&first_screen(&run));
    assert!(text.contains(&format!("elsewhere at most 1.5x ({MARK})")), "{text}");
    // Each figure stands before its place, and with what to know of it.
    run.findings.answer.choices[0].losses[1].than_baseline = Some(1.4);
    let text = squeezed(&first_screen(&run));
    let places = ["3.0x slower than direct (", "elsewhere at most 1.5x (", "; 1.4x slower than "];
    assert!(places.map(|it| text.find(it).unwrap()).is_sorted(), "{text}");
    run.findings.answer.choices[0].losses[1].by_trial = true;
    let text = squeezed(&first_screen(&run));
    let said = text.split("; 1.4x slower than ").nth(1).unwrap();
    assert!(said.split(')').next().unwrap().contains(", expected from a short pass"), "{text}");
    run.findings.answer.choices[0].losses[1].by_trial = false;
    run.findings.answer.choices[0].losses[1].than_baseline = None;
    run.findings.answer.choices[0].losses[1].by_trial = true;
    let text = squeezed(&first_screen(&run));
    assert!(text.contains(&format!("elsewhere at most 1.5x (expected from a short pass, {MARK})")), "{text}");
    // What is less than the worst is not said to be more.
    for (losses, said) in [([10.153, 10.006], "10x"), ([12.0, 10.2], "11x")] {
        let of = &mut run.findings.answer.choices[0].losses;
        (of[0].times, of[1].times) = (losses[0], losses[1]);
        let text = squeezed(&first_screen(&run));
        assert!(text.contains(&format!("elsewhere at most {said} (")), "{text}");
    }
}

#[test]
fn what_a_choice_can_lose_at_most_is_neither_a_loss_that_was_measured_nor_rounded_down() {
    let mut run = run();
    let decided: Vec<_> = run.findings.map.iter().filter(|it| it.verdict.is_decided()).map(|it| it.id).collect();
    let loss = |at: usize, times: f64, than_baseline: f64, at_most: bool| Loss {
        id: decided[at],
        fastest: "native/direct".into(),
        times,
        than_baseline: Some(than_baseline),
        by_trial: false,
        at_most,
    };
    let mut text_of = |losses: Vec<Loss>| {
        let arms = vec!["native/uring".into()];
        run.findings.answer.choices = vec![Choice { arms, losses, known: 2, conditions: 2, measured: 2 }];
        first_screen(&run)
    };
    // The same figure stands in both places.
    let measured = text_of(vec![loss(0, 4.0, 3.34, false)]);
    assert!(measured.contains("uring up to 3.3x slower than"), "{measured}");
    assert!(squeezed(&measured).contains("and 3.3x slower than"), "{measured}");
    let bounded = text_of(vec![loss(0, 4.0, 3.34, true)]);
    assert!(!bounded.contains("uring up to"), "{bounded}");
    let both = text_of(vec![loss(0, 4.0, 1.0, false), loss(1, 1.54, 1.0, false)]);
    assert!(both.contains("elsewhere at most 1.6x"), "{both}");
}

#[test]
fn how_far_a_choice_is_behind_at_most_is_not_said_of_less_than_what_stands_beside_it() {
    let mut run = run();
    let cold: Vec<_> = run.findings.map.iter().filter(|it| it.condition.state == State::Cold).collect();
    let [one, other] = [cold[0].id, cold[1].id];
    let at = run.findings.map.iter().position(|it| it.id == other).unwrap();
    let loss = |id, times: f64, by_trial| {
        let (fastest, than_baseline) = ("native/direct".into(), Some(times));
        Loss { id, fastest, times, than_baseline, by_trial, at_most: false }
    };
    let mut says = |is_answered: bool, by_trial: bool| {
        run.findings.map[at].winner = is_answered.then(|| "native/mmap".into());
        let losses = vec![loss(other, 62.0, by_trial), loss(one, 17.0, false)];
        run.findings.answer.choices =
            vec![Choice { arms: vec!["native/uring".into()], losses, known: 2, conditions: 2, measured: 2 }];
        let text = first_screen(&run);
        ["uring up to 62x slower", "uring up to 17x slower"].map(|it| text.contains(it))
    };
    assert_eq!(says(true, false), [true, false]);
    assert_eq!(says(false, true), [true, false], "what a trial says of a condition stands nowhere else");
    assert_eq!(says(false, false), [false, false], "the sentence of the condition has the larger one");
}

#[test]
fn arms_beside_the_fastest_one_are_named_with_the_number_of_their_answers() {
    let mut run = run();
    run.findings.map.iter_mut().for_each(|it| (it.ties, it.not_told_apart) = Default::default());
    assert!(!first_screen(&run).contains("from the fastest:"));
    let won: Vec<usize> =
        run.findings.map.iter().enumerate().filter(|it| it.1.winner.is_some()).map(|it| it.0).collect();
    let all = won.len();
    assert!(all > 2);
    run.findings.map[won[0]].not_told_apart = vec!["native/uring".into()];
    run.findings.map[won[1]].not_told_apart = vec!["native/mmap+random".into(), "native/uring".into()];
    run.findings.map[won[1]].verdict = Verdict::Faster;
    run.findings.map[won[1]].ties = vec!["native/stdio".into()];
    let text = first_screen(&run);
    let names = format!("from the fastest: uring in 2 of {all} and mmap+random in 1 of {all} answers");
    assert!(text.contains(&names), "{text}");
    assert!(text.contains(&format!("within 5 % of the fastest: stdio in 1 of {all} answers")), "{text}");
}

#[test]
fn times_in_a_table_that_contradict_their_ratio_are_said_to_be_over_all_rounds() {
    const SAYS: &str = "over all rounds; the ratio is that within rounds";
    let mut run = run();
    let shown = |run: &Run| report::markdown(&run.record, &run.findings).matches(SAYS).count();
    let Comparison { id, baseline_cell, .. } = run.findings.comparisons[0];
    let cell = |run: &Run, cell: usize| run.findings.cells.iter().position(|it| it.id.cell == cell).unwrap();
    let (own, baseline) = (cell(&run, id.cell), cell(&run, baseline_cell));
    let baseline_ns = run.findings.cells[baseline].ns_per_op.unwrap().median;
    run.findings.comparisons[0].speedup = Some(estimate(1.17, 0.03));
    let mut with = |times: f64, answer_of: AnswerOf| {
        run.findings.cells[own].ns_per_op = Some(estimate(baseline_ns / times, 0.02));
        run.findings.comparisons[0].answer_of = answer_of;
        shown(&run)
    };
    assert_eq!([with(1.18, AnswerOf::Rounds), with(1.71, AnswerOf::Rounds)], [0, 1]);
    assert_eq!(with(1.71, AnswerOf::Job), 0, "a ratio of the job is marked");
}

#[test]
fn only_arms_that_were_measured_and_wait_alone_are_said_to_read_one_after_the_other() {
    let mut run = run();
    let at = condition(&run, Workload::Random, State::Cold);
    let cells: Vec<usize> = (0..run.record.cells.len()).filter(|&it| run.record.cells[it].condition == at).collect();
    let [pread, winner, direct] = cells[..] else { panic!("{cells:?}") };
    let line = run.findings.map.iter_mut().find(|it| it.id.condition_index == at).unwrap();
    (line.verdict, line.winner, line.winner_cell) = (Verdict::Faster, Some("native/uring".into()), Some(winner));
    line.margin = Some(estimate(3.0, 0.01));
    run.record.cells[winner].arm = crate::support::arm("uring+queue_depth=32");
    for sample in run.record.samples.iter_mut().filter(|it| it.cell == winner) {
        if let Outcome::Ok { tally, .. } = &mut sample.outcome {
            tally.queue_depth = 32;
        }
    }
    // This one has no valid pass.
    let says = |run: &Run| {
        let text = first_screen(run);
        text.contains("at the same time")
            .then(|| text.split("at the same time, and those of ").nth(1).unwrap().to_string())
    };
    assert!(says(&run).unwrap().starts_with("pread one after the other"), "{:?}", says(&run));
    let of_pread: Vec<_> = run.record.samples.iter().filter(|it| it.cell == pread).cloned().collect();
    let measured = of_pread.into_iter().map(|it| schema::record::Sample { cell: direct, ..it });
    run.record.samples.extend(measured);
    run.record.cells[direct].arm = crate::support::arm("mmap+random");
    assert!(says(&run).unwrap().starts_with("pread and mmap+random one after the other"), "{:?}", says(&run));
    // The kernel fetches ahead of these.
    for ahead in ["mmap+willneed", "mmap+populate-read", "pread+willneed", "jvm/mapped+load"] {
        run.record.cells[direct].arm = crate::support::arm(ahead);
        let text = says(&run).unwrap();
        assert!(!text.contains(ahead.trim_start_matches("jvm/")) && text.contains("one after the other"), "{text}");
    }
    run.record.samples.retain(|it| it.cell != pread);
    assert_eq!(says(&run), None, "{}", first_screen(&run));
}

#[test]
fn reads_share_page_faults_only_where_something_is_mapped() {
    let mut run = run();
    const SHARE: &str = "the more of them share a page fault";
    assert!(first_screen(&run).contains(SHARE));
    let mut populated = self::run();
    for it in populated.record.cells.iter_mut().filter(|it| it.arm.maps()) {
        it.arm = "mmap+populate-read".parse().unwrap();
    }
    assert!(!first_screen(&populated).contains(SHARE), "its faults are before its reads");
    for it in &mut run.record.cells {
        it.skipped = it.skipped.take().or(it.arm.maps().then(|| Skip::Unavailable("not asked".into())));
    }
    let text = first_screen(&run);
    assert!(text.contains("a pass of random reads makes") && !text.contains(SHARE), "{text}");
}

#[test]
fn without_choices_a_large_loss_is_said_with_its_condition() {
    let mut run = run();
    run.findings.answer.choices.clear();
    let id = run.record.condition_id(condition(&run, Workload::Scan, State::Cold));
    let line = run.findings.map.iter_mut().find(|it| it.id == id).unwrap();
    (line.winner, line.next_cell) = (Some("native/read".into()), None);
    for it in run.findings.comparisons.iter_mut().filter(|it| it.verdict == Verdict::Slower) {
        it.verdict = Verdict::Undecided;
    }
    let slow = run.findings.comparisons.iter_mut().find(|it| it.id.condition == id).unwrap();
    slow.verdict = Verdict::Slower;
    slow.speedup = Some(schema::findings::Estimate { median: 0.1, ci_low: 0.09, ci_high: 0.11 });
    let text = squeezed(&first_screen(&run));
    let said = text.split(" 10x slower than ").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(said.split(')').next().unwrap().contains("(scan"), "{text}");
}

#[test]
fn how_many_reads_answer_at_the_size_of_the_job_is_said_beside_those_of_the_rounds() {
    let mut run = run();
    let id = run.record.condition_id(condition(&run, Workload::Random, State::Cold));
    run.findings.map.iter_mut().filter(|it| it.id == id).for_each(|it| it.answer_of = AnswerOf::Job);
    let comparison =
        run.findings.comparisons.iter_mut().find(|it| it.id.condition == id && it.speedup.is_some()).unwrap();
    let (speedup, verdict) = (comparison.speedup.unwrap(), comparison.verdict);
    let (rounds_speedup, rounds_verdict) = (comparison.speedup, verdict);
    let (bytes, ops, pairs) = (1 << 30, 12_345, 5);
    comparison.confirmed =
        Some(Confirmed { bytes, ops, speedup, pairs, verdict, rounds_speedup, rounds_verdict, rounds_came_free: None });
    let text = first_screen(&run);
    assert!(text.contains("size of the job (†) makes 12,345"), "{text}");
}

#[test]
fn how_many_reads_are_in_flight_is_what_the_passes_had() {
    let mut run = run();
    let winner = run.findings.map[0].winner_cell.unwrap();
    run.record.cells[winner].arm = crate::support::arm("uring+queue_depth=32");
    for sample in run.record.samples.iter_mut().filter(|it| it.cell == winner) {
        if let Outcome::Ok { tally, .. } = &mut sample.outcome {
            tally.queue_depth = 16;
        }
    }
    let text = first_screen(&run);
    assert!(text.contains("(16 in flight)") && text.contains("* 16 reads in flight"), "{text}");
    // Another depth elsewhere.
    let other = run.findings.map.iter().rev().find_map(|it| it.winner_cell).unwrap();
    for sample in run.record.samples.iter_mut().filter(|it| it.cell == other) {
        if let Outcome::Ok { tally, .. } = &mut sample.outcome {
            tally.queue_depth = 4;
        }
    }
    assert!(first_screen(&run).contains("* 4 or 16 reads in flight"));
}

#[test]
fn reads_in_flight_of_several_threads_are_counted_together_and_single_ones_are_not_marked() {
    let with = |depth: u32| {
        let mut run = run();
        let winner = run.findings.map[0].winner_cell.unwrap();
        for sample in run.record.samples.iter_mut().filter(|it| it.cell == winner) {
            if let Outcome::Ok { tally, .. } = &mut sample.outcome {
                (tally.queue_depth, tally.threads) = (depth, 4);
            }
        }
        first_screen(&run)
    };
    let text = with(16);
    assert!(text.contains("(64 in flight)") && text.contains("* 64 reads in flight"), "{text}");
    assert!(!with(1).contains("in flight"));
}

#[test]
fn an_answer_of_the_job_shows_no_reads_in_flight() {
    let mut run = run();
    for sample in &mut run.record.samples {
        if let Outcome::Ok { tally, .. } = &mut sample.outcome {
            tally.queue_depth = 16;
        }
    }
    assert!(first_screen(&run).contains("* 16 reads in flight"));
    run.findings.map.iter_mut().for_each(|it| it.answer_of = AnswerOf::Job);
    let text = first_screen(&run);
    assert!(text.contains('†') && !text.contains("in flight") && !text.contains("direct*"), "{text}");
}

#[test]
fn an_answer_covers_no_block_that_was_not_measured() {
    let text = first_screen(&run());
    assert!(text.contains("Cold scans: direct 1.5x at 64 KiB"), "{text}");
    // Three blocks, the one in the middle without passes.
    let mut run = run();
    let id = run.record.condition_id(condition(&run, Workload::Scan, State::Cold));
    let line = run.findings.map.iter().find(|it| it.id == id).unwrap().clone();
    for (other, block_bytes) in [(State::Cached, 4096), (State::Mapped, 1 << 20)] {
        let index = condition(&run, Workload::Scan, other);
        run.record.conditions[index].state = State::Cold;
        let at = run.findings.map.iter().position(|it| it.id.condition_index == index).unwrap();
        let id = run.findings.map[at].id;
        let condition = schema::Condition { block_bytes, ..line.condition.clone() };
        run.findings.map[at] = schema::findings::MapLine { id, condition, ..line.clone() };
    }
    assert!(first_screen(&run).contains("Cold scans: direct 1.5x;"), "{}", first_screen(&run));
    let middle = run.findings.map.iter_mut().find(|it| it.id == id).unwrap();
    middle.condition.state = State::Cached;
    let text = first_screen(&run);
    assert!(text.contains("Cold scans: direct 1.5x at 4 KiB, direct 1.5x at 1 MiB"), "{text}");
}

#[test]
fn a_cell_of_a_condition_that_is_not_there_is_no_cause() {
    let mut run = run();
    run.record.target.read_ahead_most_bytes = Some(u64::MAX);
    let slow = schema::Skip::TooSlow {
        ns_per_block: 8e6,
        blocks: 16,
        twice: false,
        around_ns: 1e6,
        pass_ns: 1e8,
        budgets: 3.0,
    };
    let at = condition(&run, Workload::Random, State::Cold);
    let cell = run.record.cells.iter_mut().find(|it| it.condition == at && it.arm.name == "native/mmap").unwrap();
    cell.skipped = Some(slow);
    assert!(squeezed(&first_screen(&run)).contains("a page fault without advice reads ahead"));
    let cell = run.record.cells.iter_mut().find(|it| it.skipped.is_some() && it.condition == at).unwrap();
    cell.condition = usize::MAX;
    assert!(!squeezed(&first_screen(&run)).contains("a page fault without advice reads ahead"));
}

#[test]
fn what_a_read_of_a_slow_mapping_takes_is_the_same_number_wherever_it_is_said() {
    let mut run = run();
    run.record.target.read_ahead_most_bytes = Some(u64::MAX);
    // A block of the trial took longer than one of the pass that it stands for.
    let slow = schema::Skip::TooSlow {
        ns_per_block: 2_332_281.0,
        blocks: 36,
        twice: false,
        around_ns: 1e6,
        pass_ns: 1e6 + 36.0 * 2_200_000.0,
        budgets: 3.0,
    };
    let at = condition(&run, Workload::Random, State::Cold);
    let cell = run.record.cells.iter_mut().find(|it| it.condition == at && it.arm.name == "native/mmap").unwrap();
    assert!(slow.to_string().contains("2.2 ms per block"), "{slow}");
    cell.skipped = Some(slow);
    let text = squeezed(&first_screen(&run));
    assert!(text.contains("a read by mmap is expected to take 2.20 ms, from a short pass"), "{text}");
}

#[test]
fn the_number_from_which_on_an_arm_overtakes_is_said_with_its_size() {
    let run = with_costs();
    let text = first_screen(&run);
    assert!(text.contains("by an estimate mmap overtakes pread from about 18,000 (4 KiB) reads on"), "{text}");
}

#[test]
fn what_a_run_that_ended_early_did_not_reach_is_no_row() {
    let mut run = run();
    let cells = &run.record.cells;
    run.record.samples.retain(|it| cells[it.cell].condition == 0);
    let text = first_screen(&run);
    assert!(text.contains("Cold scan 64 KiB: direct 1.5x"), "{text}");
    assert!(!text.contains("Mapped") && !text.contains("Cached"), "{text}");
}

#[test]
fn what_was_measured_again_is_counted_by_what_came_of_it() {
    let mut run = run();
    let confirmed = |it: &Comparison| Confirmed {
        bytes: 1 << 30,
        ops: 1 << 14,
        speedup: it.speedup.unwrap(),
        pairs: 5,
        verdict: it.verdict,
        rounds_speedup: it.speedup,
        rounds_verdict: it.verdict,
        rounds_came_free: None,
    };
    let again = run.findings.comparisons.iter_mut().filter(|it| it.speedup.is_some()).take(2);
    // What the job decided is within the noise of the state.
    for (it, verdict) in again.zip([Verdict::Slower, Verdict::Undecided]) {
        it.confirmed = Some(Confirmed { rounds_verdict: Verdict::Undecided, ..confirmed(it) });
        (it.answer_of, it.verdict) = (AnswerOf::Job, verdict);
    }
    let text = squeezed(&report::markdown(&run.record, &run.findings));
    assert!(text.contains("time allowed: 1 replaced by the new answer, 1 now undecided "), "{text}");
    let text = first_screen(&run);
    assert!(
        text.contains("2 comparisons were measured again, at the size of the job as far as time allowed: 1 replaced")
    );
    // Both decided the same, which an I/O throttle leaves open.
    for it in run.findings.comparisons.iter_mut().filter(|it| it.confirmed.is_some()) {
        (it.answer_of, it.verdict) = (AnswerOf::RoundsAndJob, Verdict::Undecided);
    }
    let text = squeezed(&report::markdown(&run.record, &run.findings));
    assert!(text.contains("time allowed: 2 now undecided "), "{text}");
}

#[test]
fn what_was_measured_again_without_an_answer_is_counted_on_the_first_screen_too() {
    let mut run = run();
    let decided = run.findings.comparisons.iter_mut().filter(|it| it.speedup.is_some()).take(2);
    let [held, failed] = decided.collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("two have an answer"));
    let (speedup, verdict) = (held.speedup.unwrap(), held.verdict);
    let (rounds_speedup, rounds_verdict) = (held.speedup, verdict);
    let (bytes, ops, pairs) = (1 << 30, 1 << 14, 5);
    held.confirmed =
        Some(Confirmed { bytes, ops, speedup, pairs, verdict, rounds_speedup, rounds_verdict, rounds_came_free: None });
    held.answer_of = AnswerOf::RoundsAndJob;
    failed.answer_of = AnswerOf::RoundsUnconfirmed;
    failed.warnings.push(Caution::JobFailed { pairs: 1, least: 5, invalid: None });
    let text = squeezed(&report::markdown(&run.record, &run.findings));
    assert!(text.contains("2 comparisons were measured again"), "{text}");
    let both = "1 confirmed, 1 without an answer at that size";
    assert!(text.contains(both), "{text}");
    assert!(squeezed(&first_screen(&run)).contains(both), "{}", first_screen(&run));
    // Where none has an answer at that size, that is no reason to say nothing.
    let held = run.findings.comparisons.iter_mut().find(|it| it.confirmed.is_some()).unwrap();
    (held.confirmed, held.answer_of) = (None, AnswerOf::Rounds);
    let said = squeezed(&first_screen(&run));
    assert!(said.contains("time allowed: 1 without an answer at that size"), "{said}");
}

#[test]
fn an_answer_that_the_job_contradicts_and_whose_processes_differ_is_not_one_without_an_answer() {
    let of_rounds = |verdict: Verdict| {
        let mut run = run();
        let it = run.findings.comparisons.iter_mut().find(|it| it.verdict == Verdict::Faster).unwrap();
        let (speedup, rounds_speedup, rounds_verdict) = (it.speedup.unwrap().inverse(), it.speedup, it.verdict);
        let (bytes, ops, pairs) = (1 << 30, 1 << 14, 5);
        it.confirmed = Some(Confirmed {
            bytes,
            ops,
            speedup,
            pairs,
            verdict,
            rounds_speedup,
            rounds_verdict,
            rounds_came_free: None,
        });
        it.answer_of = AnswerOf::RoundsUnconfirmed;
        squeezed(&report::markdown(&run.record, &run.findings))
    };
    let without = of_rounds(Verdict::Undecided);
    assert!(without.contains("1 without an answer at that size") && !without.contains("decided otherwise"));
    let otherwise = of_rounds(Verdict::Slower);
    assert!(otherwise.contains("time allowed: 1 decided otherwise at that size, which does not count"), "{otherwise}");
}

fn with_cause(mut run: Run) -> Run {
    let line = &run.findings.map[0];
    let part = |name: &str, pass_ns: f64, cause_ns: f64| {
        let is_it = |it: &&schema::findings::CellFinding| it.id.condition == line.id && it.arm.name == name;
        let cell = run.findings.cells.iter().find(is_it).unwrap();
        Part { cell: cell.id.cell, arm: name.into(), pass_ns, cause_ns }
    };
    let (faster, slower) = (part("native/direct", 1e5, 9e3), part("native/read", 2e5, 45e3));
    run.findings.answer.causes = vec![MainCause { id: line.id, cause: Cause::Mapping, faster, slower }];
    run
}

#[test]
fn a_cause_is_called_by_what_it_holds() {
    let text = first_screen(&with_cause(run()));
    assert!(text.contains("open, map, unmap, close: 45.0 µs of read's time, 9.00 µs of direct's"), "{text}");
}

/// Text as it is read: without markup, escapes and the spaces that keep words together.
fn read(markup: &str) -> String {
    let mut text = String::new();
    let mut is_tag = false;
    for c in markup.chars() {
        match c {
            '<' => is_tag = true,
            '>' if is_tag => is_tag = false,
            _ if is_tag => {}
            '\\' | '*' | '|' => {}
            c => text.push(c),
        }
    }
    squeezed(
        &text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&").replace('|', " "),
    )
}

#[test]
fn all_forms_of_a_report_say_what_the_first_screen_says() {
    let mut run = with_cause(with_costs());
    run.record.partial = Some("interrupted by the user (SIGINT)".into());
    run.record.ending = Some(schema::record::Ending::Interrupted);
    for it in &mut run.findings.comparisons {
        it.verdict = Verdict::Undecided;
    }
    let id = run.findings.map[0].id;
    run.findings.answer.choices = vec![Choice {
        arms: vec!["native/read".into()],
        losses: vec![Loss {
            id,
            fastest: "native/direct".into(),
            times: 1.5,
            than_baseline: None,
            by_trial: true,
            at_most: false,
        }],
        known: 2,
        conditions: 3,
        measured: 4,
    }];
    let style = report::Style { width: 4000, colour: false, details: false };
    let screen = report::terminal(&run.record, &run.findings, style, None);
    // Its last lines say where the rest is, which other forms have on the same page.
    let (screen, _) = screen.split_once("\nMore:").unwrap();
    // One paragraph there, and two elsewhere.
    let screen = &screen.replacen("? 60 passes", "?  60 passes", 1);
    let forms = [report::markdown(&run.record, &run.findings), report::html(&run.record, &run.findings)];
    let [markdown, html] = forms.map(|it| read(&it));
    // Columns are two spaces apart.
    let parts = screen.lines().flat_map(|it| it.split("  ")).map(squeezed).filter(|it| !it.is_empty());
    for part in parts {
        let part = part.trim_start_matches("- ").trim_end_matches(':').replace('*', "");
        for form in [&markdown, &html] {
            assert!(form.contains(&part), "{part:?}\n{screen}\n{form}");
        }
    }
    let dashes = |text: &str| text.matches('–').count();
    let matrix = |text: &str| dashes(text.split("Trust").next().unwrap());
    assert!(dashes(screen) > 0);
    assert_eq!((matrix(&markdown), matrix(&html)), (matrix(screen), matrix(screen)));
}
