//! The answer of a run as a whole: what to choose where nothing more is known.

use schema::{Skip, State, answer::Choice, findings::Verdict, record::Confirmation};

use crate::support::{Lab, random, scan};

/// Three conditions: a mapping is twice as fast in one, four times as slow in the next, and neither in the last.
fn mixed() -> Lab {
    let mut lab = Lab::new();
    let arms = [
        (scan("64 KiB", State::Cached), ("read", 1000.0), 500.0),
        (random("64 B", State::Cached), ("pread", 1000.0), 4000.0),
        (random("4 KiB", State::Cached), ("pread", 1000.0), 1000.0),
    ];
    for (condition, (baseline, baseline_ns), mmap_ns) in arms {
        let condition = lab.condition(condition);
        for (arm, ns) in [(baseline, baseline_ns), ("mmap", mmap_ns)] {
            let cell = lab.cell(condition, arm);
            lab.measure(cell, 12, ns, |_, _| {});
        }
    }
    lab
}

fn worst(choice: &Choice) -> Option<(usize, i64)> {
    choice.losses.first().map(|it| (it.id.condition_index, it.times.round() as i64))
}

#[test]
fn in_doubt_the_arm_is_taken_that_loses_least_where_it_loses_most() {
    let choices = mixed().analyze().answer.choices;
    let [calls, mapping] = &choices[..] else { panic!("{choices:#?}") };
    assert_eq!(calls.arms, ["native/read", "native/pread"]);
    assert_eq!((worst(calls), calls.losses.len(), calls.known, calls.conditions), (Some((0, 2)), 1, 3, 3));
    assert_eq!(calls.losses[0].fastest, "native/mmap");
    assert_eq!(mapping.arms, ["native/mmap"]);
    assert_eq!((worst(mapping), mapping.losses.len()), (Some((1, 4)), 1));
    assert_eq!(mapping.losses[0].fastest, "native/pread");
}

#[test]
fn what_is_undecided_and_can_lose_no_more_than_is_known_elsewhere_is_no_gap() {
    let mut lab = mixed();
    let open = lab.condition(random("1 KiB", State::Cached));
    for (arm, ns) in [("pread", 1000.0), ("direct", 500.0)] {
        let cell = lab.cell(open, arm);
        lab.measure(cell, 12, ns, |_, _| {});
    }
    let undecided = lab.cell(open, "mmap");
    lab.measure(undecided, 12, 1000.0, |round, pass| pass.ns_per_op *= if round.is_multiple_of(2) { 1.2 } else { 0.9 });
    let findings = lab.analyze();
    let mapping = of_arms(&findings.answer.choices, "native/mmap");
    assert_eq!((mapping.known, mapping.conditions), (4, 4), "{mapping:#?}");
    let bounds: Vec<_> = mapping.losses.iter().filter(|it| it.at_most).collect();
    assert!(bounds.len() == 1 && bounds[0].times > 2.0 && bounds[0].times < mapping.losses[0].times, "{bounds:#?}");
}

#[test]
fn an_arm_that_can_lose_less_where_it_was_not_decided_than_all_others_do_loses_least() {
    let of = |mmap_ns: f64| {
        let mut lab = Lab::new();
        let scans = lab.condition(scan("64 KiB", State::Cached));
        let reads = lab.condition(random("64 B", State::Cached));
        for (condition, arm, ns) in
            [(scans, "read", 1000.0), (scans, "mmap", mmap_ns), (reads, "pread", 1000.0), (reads, "direct", 500.0)]
        {
            let cell = lab.cell(condition, arm);
            lab.measure(cell, 12, ns, |_, _| {});
        }
        let open = lab.cell(reads, "mmap");
        lab.measure(open, 12, 1000.0, |round, pass| pass.ns_per_op *= if round.is_multiple_of(2) { 1.2 } else { 0.9 });
        lab.analyze().answer.choices.into_iter().next().unwrap()
    };
    let mapping = of(250.0);
    assert_eq!((&mapping.arms[..], mapping.known, mapping.conditions), (&["native/mmap".to_string()][..], 2, 2));
    let [only] = &mapping.losses[..] else { panic!("{mapping:#?}") };
    assert!(only.at_most && only.times > 2.0 && only.times < 3.0, "{only:#?}");
    // The baselines lose 2.0 at worst, which is less than the mapping may.
    assert_eq!(of(800.0).arms, ["native/read", "native/pread"]);
}

/// A baseline, and an arm of which its rounds decide nothing.
fn measure_undecided(lab: &mut Lab, condition: usize) {
    let baseline = lab.cell(condition, "pread");
    lab.measure(baseline, 12, 1000.0, |_, _| {});
    let undecided = lab.cell(condition, "direct");
    lab.measure(undecided, 12, 1000.0, |round, pass| pass.ns_per_op *= if round.is_multiple_of(2) { 1.2 } else { 0.9 });
}

#[test]
fn an_arm_that_is_proved_slower_where_others_are_undecided_loses_that_much() {
    let mut lab = mixed();
    let open = lab.condition(random("1 KiB", State::Cold));
    measure_undecided(&mut lab, open);
    let slower = lab.cell(open, "mmap");
    lab.measure(slower, 12, 64_000.0, |_, _| {});
    let findings = lab.analyze();
    let line = findings.map.iter().find(|it| it.id.condition_index == open).unwrap();
    assert_eq!(line.verdict, Verdict::Undecided, "{line:#?}");
    let mapping = of_arms(&findings.answer.choices, "native/mmap");
    assert_eq!((worst(mapping), mapping.conditions), (Some((open, 64)), 3), "{mapping:#?}");
}

#[test]
fn an_arm_loses_no_more_than_the_one_that_stands_for_its_work() {
    let worst_of = |arms: [(&str, f64); 3], name: &str| {
        let mut lab = Lab::new();
        for state in [State::Mapped, State::Locked] {
            let condition = lab.condition(scan("64 KiB", state));
            for (arm, ns) in arms {
                let cell = lab.cell(condition, arm);
                lab.measure(cell, 12, ns, |_, _| {});
            }
        }
        worst(of_arms(&lab.analyze().answer.choices, name)).map(|(_, times)| times)
    };
    // Of an arm that wins, and of a baseline that loses.
    let wins = [("read", 1000.0), ("mmap", 500.0), ("mmap+random", 800.0)];
    let loses = [("mmap", 1000.0), ("mmap+random", 1500.0), ("read", 500.0)];
    let of_both = |arms| ["native/mmap", "native/mmap+random"].map(|it| worst_of(arms, it));
    assert_eq!(of_both(wins), [None, None]);
    assert_eq!(of_both(loses), [Some(2), Some(2)]);
}

/// A block takes 20 µs in a pass, and took 80 µs in a trial of fewer.
fn too_slow() -> Skip {
    Skip::TooSlow {
        ns_per_block: 80_000.0,
        blocks: 50_000,
        twice: true,
        around_ns: 3e6,
        pass_ns: 3e6 + 2.0 * 50_000.0 * 20_000.0,
        budgets: 4.0,
    }
}

#[test]
fn an_arm_that_is_too_slow_where_others_are_undecided_loses_that_much_by_its_trial() {
    let mut lab = mixed();
    let open = lab.condition(random("1 KiB", State::Cached));
    measure_undecided(&mut lab, open);
    let slow = lab.cell(open, "mmap");
    lab.record.cells[slow].skipped = Some(too_slow());
    let findings = lab.analyze();
    let line = findings.map.iter().find(|it| it.id.condition_index == open).unwrap();
    assert_eq!(line.verdict, Verdict::Undecided, "{line:#?}");
    let mapping = of_arms(&findings.answer.choices, "native/mmap");
    // 20 µs a block.
    assert_eq!(worst(mapping), Some((open, 20)), "{mapping:#?}");
    assert!(mapping.losses[0].by_trial && mapping.losses[1..].iter().all(|it| !it.by_trial), "{mapping:#?}");
}

#[test]
fn an_arm_that_was_too_slow_by_an_unknown_factor_is_not_the_one_to_take_in_doubt() {
    let mut lab = mixed();
    let before = lab.analyze().answer.choices;
    let known = of_arms(&before, "native/mmap").clone();
    assert_eq!(known.known, known.conditions, "{before:#?}");
    // A trial of 50,000 cold reads says nothing of passes with many more.
    let open = lab.condition(schema::Condition { ops: 600_000, ..random("1 KiB", State::Cold) });
    measure_undecided(&mut lab, open);
    let slow = lab.cell(open, "mmap");
    lab.record.cells[slow].skipped = Some(too_slow());
    let choices = lab.analyze().answer.choices;
    let mapping = of_arms(&choices, "native/mmap");
    assert_eq!((mapping.known, mapping.conditions), (known.known, known.conditions + 1), "{choices:#?}");
    assert_ne!(choices[0].arms, ["native/mmap"], "what is not known may be worse");
}

#[test]
fn what_was_measured_of_the_same_work_under_another_name_says_more_than_a_trial() {
    for (arms, lost) in [([("read", 1000.0), ("mmap", 500.0)], None), ([("mmap", 1000.0), ("read", 500.0)], Some(2))] {
        let mut lab = Lab::new();
        for state in [State::Mapped, State::Locked] {
            let condition = lab.condition(scan("64 KiB", state));
            for (arm, ns) in arms {
                let cell = lab.cell(condition, arm);
                lab.measure(cell, 12, ns, |_, _| {});
            }
            let hinted = lab.cell(condition, "mmap+random");
            lab.record.cells[hinted].skipped = Some(too_slow());
        }
        let choices = lab.analyze().answer.choices;
        let hinted = of_arms(&choices, "native/mmap+random");
        assert_eq!((hinted.known, worst(hinted).map(|it| it.1)), (2, lost), "{hinted:#?}");
        assert!(hinted.losses.iter().all(|it| !it.by_trial), "{hinted:#?}");
        // One that cannot be had is no choice, whatever stands for its work.
        for cell in lab.record.cells.iter_mut().filter(|it| it.skipped.is_some()) {
            cell.skipped = Some(Skip::Unavailable("no".into()));
        }
        let findings = lab.analyze();
        let choices = findings.answer.choices;
        assert!(choices.iter().all(|it| it.arms != ["native/mmap+random"]), "{choices:#?}");
        for line in findings.map {
            assert!(line.same_work.is_empty() && line.says.same_work.is_empty(), "{line:#?}");
            assert!(line.says.not_measured.iter().any(|it| it.contains("mmap+random")), "{line:#?}");
        }
    }
}

#[test]
fn an_arm_that_was_too_slow_for_rounds_loses_what_its_trial_showed() {
    let mut lab = mixed();
    lab.record.samples.retain(|it| it.cell != 3);
    lab.record.cells[3].skipped = Some(too_slow());
    let choices = lab.analyze().answer.choices;
    // The condition has no other arm, so nothing is the fastest there.
    assert!(choices.iter().all(|it| it.conditions == 2), "{choices:#?}");
    let direct = lab.cell(1, "direct");
    lab.measure(direct, 12, 5000.0, |_, _| {});
    let choices = lab.analyze().answer.choices;
    let mapping = choices.iter().find(|it| it.arms == ["native/mmap"]).unwrap();
    assert_eq!(worst(mapping), Some((1, 20)));
    assert!(mapping.losses[0].by_trial);
}

#[test]
fn cold_random_reads_of_a_trial_say_nothing_of_a_pass_with_many_more() {
    let loss = |state: State, ops: u64| {
        let mut lab = Lab::new();
        for block in ["4 KiB", "64 KiB"] {
            let condition = lab.condition(schema::Condition { ops, ..random(block, state) });
            for (arm, ns) in [("pread", 1000.0), ("direct", 900.0)] {
                let cell = lab.cell(condition, arm);
                lab.measure(cell, 12, ns, |_, _| {});
            }
            let slow = lab.cell(condition, "mmap");
            lab.record.cells[slow].skipped = Some(too_slow());
        }
        let choices = lab.analyze().answer.choices;
        let mapping = of_arms(&choices, "native/mmap");
        mapping.losses.first().and_then(|it| it.than_baseline).map(|it| it.round() as i64)
    };
    assert_eq!(loss(State::Cold, 60_000), Some(20));
    assert_eq!(loss(State::Cold, 600_000), None, "there the pages stay that it brought in");
    assert_eq!(loss(State::Cached, 600_000), Some(20));
}

#[test]
fn a_trial_of_other_work_says_nothing_of_what_an_arm_loses() {
    let known = |change: fn(&mut schema::Condition)| {
        let mut lab = mixed();
        lab.record.samples.retain(|it| it.cell != 3);
        lab.record.cells[3].skipped = Some(too_slow());
        lab.own(3, change);
        let direct = lab.cell(1, "direct");
        lab.measure(direct, 12, 5000.0, |_, _| {});
        let choices = lab.analyze().answer.choices;
        let mapping = of_arms(&choices, "native/mmap");
        (mapping.known, mapping.losses.iter().any(|it| it.by_trial))
    };
    assert_eq!(known(|_| {}), (3, true));
    assert_eq!(known(|it| it.state = State::Cold), (2, false));
    assert_eq!(known(|it| it.block_bytes *= 2), (2, false));
}

#[test]
fn an_arm_that_could_not_be_measured_somewhere_is_no_choice_for_everywhere() {
    let mut lab = mixed();
    lab.record.cells[5].skipped = Some(Skip::Unavailable("no".into()));
    lab.record.samples.retain(|it| it.cell != 5);
    let other = lab.cell(2, "direct");
    lab.measure(other, 12, 3000.0, |_, _| {});
    let choices = lab.analyze().answer.choices;
    assert_eq!(choices.len(), 1);
    assert_eq!(choices[0].arms, ["native/read", "native/pread"]);
}

#[test]
fn what_is_undecided_is_neither_won_nor_lost() {
    let mut lab = mixed();
    // Too few rounds for a verdict.
    lab.record.samples.retain(|it| it.cell / 2 != 1 || it.round < 3);
    let choices = lab.analyze().answer.choices;
    assert!(choices.iter().all(|it| (it.conditions, it.known, it.measured) == (2, 2, 3)), "{choices:#?}");
    assert_eq!(choices[0].arms, ["native/mmap"]);
    assert!(choices[0].losses.is_empty());
    lab.record.samples.retain(|it| it.cell / 2 == 0);
    assert!(lab.analyze().answer.choices.is_empty());
}

/// What is known, and where the most is lost: of one arm, or of the baselines.
fn of_arms<'c>(choices: &'c [Choice], first: &str) -> &'c Choice {
    choices.iter().find(|it| it.arms[0] == first).unwrap_or_else(|| panic!("{first}: {choices:#?}"))
}

#[test]
fn an_arm_that_is_not_decided_somewhere_comes_after_those_that_are_known_everywhere() {
    let mut lab = Lab::new();
    // A hint that wins the second condition, and is not decided in the first, where the plain mapping is faster.
    let arms = [(scan("64 KiB", State::Cached), 667.0, None), (scan("64 KiB", State::Cold), 900.0, Some(500.0))];
    for (condition, mmap_ns, hinted_ns) in arms {
        let condition = lab.condition(condition);
        let [read, mmap, hinted] = ["read", "mmap", "mmap+random"].map(|it| lab.cell(condition, it));
        lab.measure(read, 12, 1000.0, |_, _| {});
        lab.measure(mmap, 12, mmap_ns, |_, _| {});
        lab.measure(hinted, 12, hinted_ns.unwrap_or(920.0), |round, pass| {
            // From 0.7 to 1.3 times as fast: across the margin, and it may lose more there than the others do elsewhere.
            pass.ns_per_op *= if hinted_ns.is_none() { [0.84, 1.6][round as usize % 2] } else { 1.0 };
        });
    }
    let choices = lab.analyze().answer.choices;
    let hinted = of_arms(&choices, "native/mmap+random");
    assert_eq!((hinted.known, hinted.conditions, hinted.losses.len()), (1, 2, 0), "{choices:#?}");
    assert_eq!(choices.last(), Some(hinted), "what is not known bounds nothing");
    assert_eq!(choices.len(), 3);
    assert!(choices[..2].iter().all(|it| it.known == it.conditions && !it.losses.is_empty()));
}

#[test]
fn an_arm_that_is_not_told_apart_from_the_fastest_loses_nothing_that_is_known() {
    let mut lab = Lab::new();
    for (condition, scatter) in
        [(scan("64 KiB", State::Cached), [0.85, 1.4]), (scan("64 KiB", State::Cold), [1.25, 1.25])]
    {
        let condition = lab.condition(condition);
        let [read, mmap, hinted] = ["read", "mmap", "mmap+random"].map(|it| lab.cell(condition, it));
        lab.measure(read, 12, 1000.0, |_, _| {});
        lab.measure(mmap, 12, 300.0, |_, _| {});
        // Always faster than the baseline; beside the fastest, across the margin under the first condition.
        lab.measure(hinted, 12, 300.0, |round, pass| pass.ns_per_op *= scatter[round as usize % 2]);
    }
    let findings = lab.analyze();
    assert_eq!(findings.map[0].not_told_apart, ["native/mmap+random"], "{:#?}", findings.map[0]);
    let hinted = of_arms(&findings.answer.choices, "native/mmap+random");
    assert_eq!((hinted.known, hinted.conditions), (2, 2), "{hinted:#?}");
    let lost: Vec<usize> = hinted.losses.iter().map(|it| it.id.condition_index).collect();
    assert_eq!(lost, [1], "{hinted:#?}");
}

#[test]
fn what_the_job_says_is_not_divided_by_what_the_rounds_say() {
    let mut lab = mixed();
    // By the rounds the first baseline loses to the mapping. The job says three times as much, of this arm alone.
    let slow = lab.cell(0, "mmap+random");
    lab.record.cells[slow].skipped = Some(too_slow());
    for (index, arm, ns) in [(0, "direct", 700.0), (1, "direct", 900.0), (2, "direct", 900.0)] {
        let cell = lab.cell(index, arm);
        lab.measure(cell, 12, ns, |_, _| {});
    }
    for index in [1, 2] {
        let cell = lab.cell(index, "mmap+random");
        lab.measure(cell, 12, 3000.0, |_, _| {});
    }
    let range = lab.record.conditions[0].range;
    let job = |arm_cell: usize, ratio: f64| Confirmation {
        condition: 0,
        baseline_cell: 0,
        arm_cell,
        range,
        ops: 1 << 20,
        pairs: [0.99, 1.0, 1.0, 1.0, 1.01].map(|it| [1e9 * ratio * it, 1e9]).to_vec(),
        cold: vec![],
        invalid: vec![],
    };
    // The rounds leave the mapping open, and the job decides.
    for sample in lab.record.samples.iter_mut().filter(|it| it.cell == 1) {
        if let schema::record::Outcome::Ok { phases, .. } = &mut sample.outcome {
            phases.work_ns = (phases.work_ns as f64 * if sample.round % 2 == 0 { 1.2 } else { 3.0 }) as u64;
        }
    }
    lab.record.confirmations = vec![job(1, 3.0)];
    let at_first = |choice: &Choice| {
        let loss = choice.losses.iter().find(|it| it.id.condition_index == 0);
        loss.map(|it| (it.times * 10.0).round() as i64)
    };
    let findings = lab.analyze();
    assert_eq!(findings.map[0].answer_of, schema::findings::AnswerOf::Job, "{:?}", findings.map[0].says);
    let choices = findings.answer.choices;
    assert_eq!(at_first(of_arms(&choices, "native/read")), Some(30));
    for arm in ["native/direct", "native/mmap+random"] {
        let of_rounds = of_arms(&choices, arm);
        assert_eq!((at_first(of_rounds), of_rounds.known, of_rounds.conditions), (None, 2, 3), "{arm}: {choices:#?}");
    }
    // Where the job was measured for both, its own figures are divided.
    let direct = lab.record.cells.iter().position(|it| it.condition == 0 && it.arm.name == "native/direct").unwrap();
    lab.record.confirmations.push(job(direct, 1.5));
    let choices = lab.analyze().answer.choices;
    let direct = of_arms(&choices, "native/direct");
    assert_eq!((at_first(direct), direct.known), (Some(20), 3), "{choices:#?}");
}

#[test]
fn a_trial_says_nothing_of_an_arm_where_another_one_that_does_the_same_was_measured() {
    let mut lab = Lab::new();
    for (block, state, is_open) in
        [("64 KiB", State::Mapped, false), ("64 KiB", State::Locked, false), ("4 KiB", State::Mapped, true)]
    {
        let condition = lab.condition(scan(block, state));
        let [read, mapping, hinted] = ["read", "mmap", "mmap+random"].map(|it| lab.cell(condition, it));
        lab.measure(read, 12, 1000.0, |_, _| {});
        if is_open {
            lab.measure(mapping, 12, 1000.0, |round, pass| {
                pass.ns_per_op *= if round.is_multiple_of(2) { 1.2 } else { 0.9 }
            });
            lab.record.cells[hinted].skipped = Some(too_slow());
        } else {
            lab.measure(mapping, 12, 500.0, |_, _| {});
            lab.measure(hinted, 12, 500.0, |_, _| {});
        }
    }
    let choices = lab.analyze().answer.choices;
    let hinted = of_arms(&choices, "native/mmap+random");
    assert!(hinted.losses.iter().all(|it| !it.by_trial), "{hinted:#?}");
}
