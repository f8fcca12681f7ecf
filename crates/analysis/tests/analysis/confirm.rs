//! Answers that were measured again at the size of the job.

use schema::{
    Condition, State, Workload,
    caution::Caution,
    conclusion::Conclusion,
    findings::{AnswerOf, ClaimVerdict, Verdict},
    line::LineAnswer,
    protocol::Tally,
    reason::{Difference, Reason},
    record::{ColdPass, Confirmation, Outcome},
};

use crate::support::{Lab, MIB, Pass, scan};

/// The rounds say that the mapping is 1.28 times faster; the job says this, pair by pair.
fn job(ratios: &[f64]) -> Lab {
    let mut lab = Lab::duel(scan("1 MiB", State::Cold), ("read", 128.0), ("mmap", 100.0));
    for sample in &mut lab.record.samples {
        sample.readings.insert("read_calls".into(), schema::Reading::Value([64.0, 0.0][sample.cell]));
    }
    let range = lab.record.conditions[0].range;
    lab.record.confirmations.push(Confirmation {
        condition: 0,
        baseline_cell: 0,
        arm_cell: 1,
        range: schema::Span { bytes: 512 * MIB, ..range },
        ops: 512,
        pairs: ratios.iter().map(|ratio| [1e9 * ratio, 1e9]).collect(),
        cold: vec![],
        invalid: vec![],
    });
    lab
}

#[test]
fn an_answer_that_holds_at_the_size_of_the_job_is_confirmed() {
    let findings = job(&[1.2, 1.3, 1.15, 1.25, 1.2]).analyze();
    let comparison = &findings.comparisons[0];
    assert_eq!((comparison.verdict, comparison.answer_of), (Verdict::Faster, AnswerOf::RoundsAndJob));
    assert!((1.25..1.31).contains(&comparison.speedup.unwrap().median), "the rounds' own figure stays");
    assert_eq!(findings.map[0].answer_of, AnswerOf::RoundsAndJob);
    assert_eq!(findings.map[0].winner.as_deref(), Some("native/mmap"));
}

#[test]
fn an_answer_that_does_not_hold_is_replaced_by_what_holds() {
    let findings = job(&[0.8, 0.85, 0.9, 0.84, 0.86]).analyze();
    let comparison = &findings.comparisons[0];
    let confirmed = comparison.confirmed.as_ref().unwrap();
    assert_eq!((comparison.verdict, comparison.answer_of), (Verdict::Slower, AnswerOf::Job));
    assert_eq!((comparison.answer_of, confirmed.rounds_verdict), (AnswerOf::Job, Verdict::Faster));
    assert!((comparison.speedup.unwrap().median - 0.85).abs() < 1e-9);
    let is_named = |it: &Caution| matches!(it, Caution::JobDecides { .. });
    assert!(comparison.warnings.iter().any(is_named), "{:?}", comparison.warnings);
    assert_eq!((findings.map[0].winner.as_deref(), findings.map[0].answer_of), (Some("native/read"), AnswerOf::Job));
    assert_eq!(
        (&comparison.explanation, &findings.map[0].explanation),
        (&None, &None),
        "what was counted explains the rounds"
    );
    assert!(job(&[1.2, 1.3, 1.15, 1.25, 1.2]).analyze().comparisons[0].explanation.is_some());
}

#[test]
fn pairs_that_lie_elsewhere_and_decide_nothing_leave_the_answer_open() {
    // Fewer than five, and five whose interval reaches across the margin.
    for ratios in [&[0.8, 0.85, 0.9][..], &[0.8, 0.8], &[0.8, f64::NAN, f64::INFINITY, 0.8], &[0.8, 0.9, 1.0, 0.7, 1.2]]
    {
        let findings = job(ratios).analyze();
        let comparison = &findings.comparisons[0];
        assert_eq!((comparison.verdict, comparison.answer_of), (Verdict::Undecided, AnswerOf::Neither), "{ratios:?}");
        assert!(comparison.reason.is_some());
        let line = &findings.map[0];
        assert_eq!((line.verdict, &line.winner, line.answer_of), (Verdict::Undecided, &None, AnswerOf::Neither));
    }
}

#[test]
fn pairs_that_decide_nothing_on_the_side_of_the_rounds_and_outside_their_interval_leave_the_answer_open() {
    // Five whose interval reaches across the margin, and fewer, below and above what the rounds say.
    for ratios in [&[1.16, 0.99, 1.18, 1.1, 1.28][..], &[1.1, 1.2], &[1.6, 1.7, 1.5]] {
        let findings = job(ratios).analyze();
        let comparison = &findings.comparisons[0];
        let rounds = comparison.speedup.unwrap();
        let again = comparison.confirmed.as_ref().unwrap();
        assert!(!(rounds.ci_low..=rounds.ci_high).contains(&again.speedup.median) && again.speedup.median > 1.05);
        assert_eq!((comparison.verdict, comparison.answer_of), (Verdict::Undecided, AnswerOf::Neither), "{ratios:?}");
        assert_eq!((findings.map[0].verdict, &findings.map[0].winner), (Verdict::Undecided, &None));
    }
}

#[test]
fn what_the_rounds_leave_open_has_no_bound_where_the_job_lies_beyond_it() {
    let comparison = |ratios: &[f64]| {
        let mut lab = job(ratios);
        lab.record.samples.clear();
        lab.measure(0, 12, 10_000.0, |round, pass| pass.ns_per_op *= if round.is_multiple_of(2) { 1.15 } else { 0.98 });
        lab.measure(1, 12, 10_000.0, |_, _| {});
        lab.analyze().comparisons.remove(0)
    };
    let beyond = comparison(&[0.96, 1.38, 2.3, 1.3, 1.5]);
    assert_eq!((beyond.verdict, beyond.answer_of, beyond.bounds()), (Verdict::Undecided, AnswerOf::Neither, None));
    let fits = comparison(&[0.98, 1.08, 1.15, 1.06, 1.04]);
    assert_eq!((fits.verdict, fits.answer_of), (Verdict::Undecided, AnswerOf::RoundsUnconfirmed));
    assert!(fits.bounds().is_some());
    // Around the margin the two are on no side of it.
    for ratios in [[0.97, 1.045, 1.1, 1.02, 1.08], [0.97, 1.075, 1.14, 1.02, 1.1], [0.8, 1.1, 1.4, 0.9, 1.2]] {
        assert_eq!(comparison(&ratios).answer_of, AnswerOf::RoundsUnconfirmed, "{ratios:?}");
    }
}

#[test]
fn pairs_that_decide_nothing_and_fit_the_rounds_confirm_nothing() {
    for ratios in [&[0.8, 1.3, 1.27][..], &[1.25, 1.3, 1.1, 1.27]] {
        assert!(job(ratios).analyze().comparisons[0].is_unconfirmed(), "{ratios:?}");
    }
    for ratios in [&[0.8, 1.3, 1.27][..], &[1.25, 1.3, 1.1, 1.27], &[1.27], &[]] {
        let findings = job(ratios).analyze();
        assert_eq!(
            (findings.comparisons[0].verdict, findings.comparisons[0].answer_of),
            (Verdict::Faster, AnswerOf::RoundsUnconfirmed),
            "{ratios:?}"
        );
        assert_eq!(findings.map[0].answer_of, AnswerOf::RoundsUnconfirmed);
    }
}

#[test]
fn an_answer_of_which_no_two_pairs_counted_is_not_confirmed_and_says_why() {
    for ratios in [&[1.27][..], &[]] {
        let mut lab = job(ratios);
        lab.record.confirmations[0].invalid = vec!["the page cache lost pages".into(), "another reason".into()];
        let comparison = lab.analyze().comparisons.remove(0);
        assert!(comparison.is_unconfirmed() && comparison.confirmed.is_none());
        let pairs = ratios.len() as u32;
        let failed = Caution::JobFailed { pairs, least: 5, invalid: Some("the page cache lost pages".into()) };
        assert!(comparison.warnings.contains(&failed), "{:?}", comparison.warnings);
    }
}

/// A job that says the opposite of the rounds; of what each arm covers there such a share came from the device.
fn from_device(shares: [f64; 2]) -> Lab {
    let mut lab = job(&[0.8, 0.85, 0.9, 0.84, 0.86]);
    let Outcome::Ok { tally, .. } = lab.record.samples[0].outcome.clone() else { panic!("a pass that counts") };
    let (bytes, page_bytes) = (512 * MIB, lab.record.environment.page_bytes);
    let tally = Tally { distinct_bytes: bytes, distinct_pages: Some(bytes / page_bytes), ..tally };
    let pass = |share: f64| ColdPass { tally: tally.clone(), device_read_bytes: Some(share * bytes as f64) };
    lab.record.confirmations[0].cold = vec![shares.map(pass); 5];
    lab
}

#[test]
fn what_is_written_over_need_not_come_from_the_device_at_the_size_of_the_job() {
    for workload in [schema::Workload::Overwrite, schema::Workload::Append] {
        let mut lab = from_device([0.0, 1.0]);
        lab.record.conditions[0].workload = workload;
        let comparison = lab.analyze().comparisons.remove(0);
        let is_unequal = |it: &Caution| matches!(it, Caution::JobUnequal(_));
        assert!(comparison.confirmed.is_some() && !comparison.warnings.iter().any(is_unequal), "{comparison:?}");
    }
}

#[test]
fn a_job_for_which_less_came_from_the_device_for_one_arm_says_nothing() {
    for shares in [[1.0, 0.3], [0.3, 1.0], [0.5, 0.3]] {
        let comparison = from_device(shares).analyze().comparisons.remove(0);
        assert_eq!((comparison.verdict, comparison.answer_of), (Verdict::Faster, AnswerOf::RoundsUnconfirmed));
        assert!(comparison.confirmed.is_none(), "{shares:?}");
        let is_said = comparison.warnings.iter().any(|it| match it {
            Caution::JobUnequal(Reason::UnequalWork { differences, .. }) => {
                matches!(differences[..], [Difference::FromDevice { .. }])
            }
            _ => false,
        });
        assert!(is_said, "{:?}", comparison.warnings);
    }
}

#[test]
fn a_job_for_which_as_little_came_from_the_device_for_both_arms_answers_with_a_caution() {
    for (shares, said) in [([1.0, 0.95], None), ([0.5, 0.45], Some(0.5))] {
        let comparison = from_device(shares).analyze().comparisons.remove(0);
        assert_eq!((comparison.verdict, comparison.answer_of), (Verdict::Slower, AnswerOf::Job), "{shares:?}");
        let share = comparison.warnings.iter().find_map(|it| match it {
            Caution::LittleFromDevice { share } => Some(*share),
            _ => None,
        });
        assert_eq!(share, said, "{:?}", comparison.warnings);
    }
}

/// The rounds leave the mapping between slower and no faster: nothing beats the baseline.
fn no_faster(ratios: &[f64]) -> schema::findings::MapLine {
    let mut lab = job(ratios);
    for sample in lab.record.samples.iter_mut().filter(|it| it.cell == 0) {
        if let schema::record::Outcome::Ok { phases, .. } = &mut sample.outcome {
            phases.work_ns = (phases.work_ns as f64 * if sample.round % 2 == 0 { 0.7 } else { 0.8 }) as u64;
        }
    }
    let mut findings = lab.analyze();
    let rounds = findings.comparisons[0].confirmed.as_ref().unwrap();
    assert_eq!(rounds.rounds_verdict, Verdict::Undecided);
    assert!(rounds.rounds_speedup.unwrap().ci_high <= 1.05);
    findings.map.remove(0)
}

#[test]
fn that_nothing_is_faster_is_open_where_the_job_decides_nothing_and_does_not_fit() {
    let line = no_faster(&[0.9, 1.2, 1.35, 1.4, 1.6]);
    assert_eq!((line.verdict, line.answer_of, line.winner), (Verdict::Undecided, AnswerOf::Neither, None));
    let line = no_faster(&[0.93, 0.96, 0.97]);
    assert_eq!((line.verdict, line.answer_of), (Verdict::Same, AnswerOf::RoundsUnconfirmed));
}

#[test]
fn what_the_rounds_left_open_the_job_may_decide() {
    let mut lab = job(&[1.2, 1.3, 1.15, 1.25, 1.2]);
    for sample in lab.record.samples.iter_mut().filter(|it| it.cell == 0) {
        if let schema::record::Outcome::Ok { phases, .. } = &mut sample.outcome {
            phases.work_ns = (phases.work_ns as f64 * if sample.round % 2 == 0 { 0.7 } else { 1.1 }) as u64;
        }
    }
    let findings = lab.analyze();
    let comparison = &findings.comparisons[0];
    assert_eq!(comparison.confirmed.as_ref().unwrap().rounds_verdict, Verdict::Undecided);
    assert_eq!((comparison.verdict, comparison.answer_of), (Verdict::Faster, AnswerOf::Job));
    assert_eq!(findings.map[0].winner.as_deref(), Some("native/mmap"));
}

#[test]
fn where_an_answer_turned_arms_that_were_not_measured_at_that_size_neither_win_nor_lose() {
    for (third_ns, verdict) in [(110.0, Verdict::Undecided), (128.0, Verdict::Undecided), (500.0, Verdict::Faster)] {
        let mut lab = job(&[0.8, 0.85, 0.9, 0.84, 0.86]);
        let third = lab.cell(0, "mmap+sequential");
        lab.measure(third, 10, third_ns, |_, _| {});
        let map = &lab.analyze().map[0];
        assert_eq!(map.verdict, verdict, "{:?}", map.says);
        assert_eq!(map.winner.as_deref().filter(|it| it.contains("mmap")), None, "{:?}", map.says);
    }
}

#[test]
fn an_answer_of_the_job_names_the_arms_that_were_not_measured_at_that_size() {
    let line = |uring_ns: f64, ratios: &[f64]| {
        let mut lab = job(ratios);
        let third = lab.cell(0, "uring");
        lab.measure(third, 10, uring_ns, |_, _| {});
        let without_passes = lab.cell(0, "direct");
        lab.record.cells[without_passes].skipped = Some("not here".into());
        lab.analyze().map.remove(0)
    };
    let slower = line(500.0, &[0.5; 5]);
    let LineAnswer::BaselineWins { next, of_job: true, .. } = &slower.says.answer else { panic!("{slower:?}") };
    assert_eq!((next.as_str(), &slower.says.not_at_job[..]), ("mmap", &["uring".to_string()][..]));
    let same = line(500.0, &[1.0; 5]);
    let LineAnswer::NoneFaster { ties, of_job: true, .. } = &same.says.answer else { panic!("{same:?}") };
    assert_eq!((&ties[..], &same.says.not_at_job[..]), (&["mmap".to_string()][..], &["uring".to_string()][..]));
    // That it ties by its rounds is no tie at the size of the job.
    let mut lab = Lab::duel(scan("1 MiB", State::Cold), ("read", 100.0), ("mmap", 120.0));
    let third = lab.cell(0, "uring");
    lab.measure(third, 10, 100.0, |_, _| {});
    lab.record.confirmations = job(&[1.0; 5]).record.confirmations;
    let both = lab.analyze().map.remove(0);
    let LineAnswer::NoneFaster { ties, of_job: true, .. } = &both.says.answer else { panic!("{both:?}") };
    assert_eq!((&ties[..], &both.says.not_at_job[..]), (&["mmap".to_string()][..], &["uring".to_string()][..]));
    assert_eq!((both.ties, both.not_told_apart), (vec!["native/mmap".to_string()], vec!["native/uring".to_string()]));
    // Held: the figures are of the rounds, in which all were measured.
    let held = line(500.0, &[1.25; 5]);
    assert_eq!((held.answer_of, &held.says.not_at_job[..]), (AnswerOf::RoundsAndJob, &[][..]));
    let mut lab = Lab::duel(scan("1 MiB", State::Cold), ("read", 100.0), ("mmap", 128.0));
    let third = lab.cell(0, "direct");
    lab.measure(third, 10, 500.0, |_, _| {});
    lab.record.confirmations = job(&[1.2; 5]).record.confirmations;
    let wins = lab.analyze().map.remove(0);
    let LineAnswer::ArmWins { of_job: true, .. } = &wins.says.answer else { panic!("{wins:?}") };
    assert_eq!(wins.says.not_at_job, ["direct"]);
}

#[test]
fn where_an_answer_turned_an_arm_that_is_not_told_apart_in_the_rounds_leaves_it_open() {
    let mut lab = job(&[0.8, 0.85, 0.9, 0.84, 0.86]);
    let third = lab.cell(0, "mmap+sequential");
    // From 0.91 to 1.0 times as fast: across the lower edge of the margin alone.
    lab.measure(third, 10, 134.0, |_, _| {});
    for sample in lab.record.samples.iter_mut().filter(|it| it.cell == third) {
        if let schema::record::Outcome::Ok { phases, .. } = &mut sample.outcome {
            phases.work_ns = (phases.work_ns as f64 * if sample.round % 2 == 0 { 0.96 } else { 1.05 }) as u64;
        }
    }
    let findings = lab.analyze();
    assert_eq!(findings.comparisons[1].verdict, Verdict::Undecided, "{:?}", findings.comparisons[1].speedup);
    assert!(findings.comparisons[1].speedup.unwrap().ci_high < 1.05);
    let map = &findings.map[0];
    assert_eq!(
        (map.verdict, &map.winner, map.answer_of),
        (Verdict::Undecided, &None, AnswerOf::Neither),
        "{:?}",
        map.says
    );
}

#[test]
fn beside_an_arm_that_wins_at_the_size_of_the_job_alone_no_other_ties_by_its_rounds() {
    let mut lab = Lab::duel(scan("1 MiB", State::Cold), ("read", 100.0), ("mmap", 128.0));
    let third = lab.cell(0, "direct");
    lab.measure(third, 10, 100.0, |_, _| {});
    lab.record.confirmations = job(&[1.2, 1.3, 1.15, 1.25, 1.2]).record.confirmations;
    let map = &lab.analyze().map[0];
    assert_eq!((map.winner.as_deref(), map.answer_of), (Some("native/mmap"), AnswerOf::Job), "{:?}", map.says);
    assert_eq!((&map.ties[..], &map.not_told_apart[..]), (&[][..], &["native/direct".to_string()][..]));
}

#[test]
fn an_arm_that_its_job_shows_behind_the_winner_ties_with_it_by_no_rounds() {
    let line = |held: f64, other: f64| {
        let mut lab = Lab::duel(scan("1 MiB", State::Cold), ("read", 120.0), ("mmap", 100.0));
        let third = lab.cell(0, "mmap+populate-read");
        lab.measure(third, 10, 100.0, |_, _| {});
        let of = |speedup: f64| [0.98, 1.0, 1.02, 0.99, 1.01].map(|it| it * speedup);
        let first = job(&of(held)).record.confirmations.remove(0);
        let mut second = job(&of(other)).record.confirmations.remove(0);
        second.arm_cell = third;
        lab.record.confirmations = vec![first, second];
        let map = lab.analyze().map.remove(0);
        assert_eq!(
            (map.winner.as_deref(), map.answer_of),
            (Some("native/mmap"), AnswerOf::RoundsAndJob),
            "{:?}",
            map.says
        );
        (map.ties, map.not_told_apart)
    };
    let other = || vec!["native/mmap+populate-read".to_string()];
    assert_eq!(line(1.2, 1.0), (vec![], vec![]));
    assert_eq!(line(1.2, 1.2), (other(), vec![]));
}

#[test]
fn an_answer_of_the_job_has_no_reads_in_flight_because_those_of_its_passes_are_not_known() {
    let found = |uring_ns: f64, ratios: &[f64]| {
        let deep = |_: u32, pass: &mut Pass| pass.tally.queue_depth = 32;
        let condition = scan("1 MiB", State::Cold);
        let mut lab = Lab::duel_with(condition, ("read", 100.0), |_, _| {}, ("uring", uring_ns), deep);
        lab.record.confirmations = job(ratios).record.confirmations;
        let findings = lab.analyze();
        let cautions = &findings.comparisons[0].warnings;
        let in_flight = match &findings.map[0].says.answer {
            LineAnswer::ArmWins { in_flight, .. } => *in_flight,
            _ => None,
        };
        (findings.map[0].answer_of, cautions.iter().any(|it| matches!(it, Caution::QueueDepths { .. })), in_flight)
    };
    let faster = &[1.2, 1.3, 1.15, 1.25, 1.2];
    assert_eq!(found(80.0, &[]), (AnswerOf::RoundsUnconfirmed, true, Some([32, 1])));
    assert_eq!(found(80.0, faster), (AnswerOf::RoundsAndJob, true, Some([32, 1])), "the figures are the rounds' own");
    assert_eq!(found(128.0, faster), (AnswerOf::Job, false, None));
    assert_eq!(found(80.0, &[0.8, 0.85, 0.9, 0.84, 0.86]), (AnswerOf::Job, false, None));
}

#[test]
fn a_claim_says_what_its_comparison_says_after_it_was_measured_again_whichever_arm_is_the_baseline() {
    let text = "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"1 MiB\"\nstate = \"cold\"\narms = [\"read\", \"mmap\"]\n\
                [[claim]]\nid = \"mapping\"\nsays = \"s\"\narm = \"mmap\"\nthan = \"read\"\nexpect = \"lower\"\n\
                [[claim]]\nid = \"reading\"\nsays = \"s\"\narm = \"read\"\nthan = \"mmap\"\nexpect = \"lower\"\n";
    let verdicts = |ratios: &[f64]| {
        let mut lab = job(ratios);
        lab.record.experiment = schema::Experiment::parse("t", text).unwrap_or_else(|it| panic!("{}", it.at("t")));
        lab.record.origins = vec![0];
        let claims = lab.analyze().claims;
        assert!(claims.iter().all(|it| it.measured[0].answer_of == claims[0].measured[0].answer_of));
        ([claims[0].verdict, claims[1].verdict], claims[0].measured[0].answer_of, claims[1].measured[0].value.median)
    };
    use ClaimVerdict::{Holds, Reversed, Undecided};
    let (held, of, _) = verdicts(&[1.2, 1.3, 1.15, 1.25, 1.2]);
    assert_eq!((held, of), ([Holds, Reversed], AnswerOf::RoundsAndJob));
    let (turned, of, value) = verdicts(&[0.8, 0.85, 0.9, 0.84, 0.86]);
    assert_eq!((turned, of), ([Reversed, Holds], AnswerOf::Job));
    assert!((value * 0.85 - 1.0).abs() < 1e-9, "{value}");
    let (open, of, _) = verdicts(&[0.8, 0.85, 0.9]);
    assert_eq!((open, of), ([Undecided; 2], AnswerOf::Neither));
}

/// Speedups of a mapping over blocks of 4 KiB, 8 KiB … by the rounds, and of some sizes by the job.
fn curve(rounds: &[f64], of_job: &[(usize, &[f64])]) -> Lab {
    let mut lab = Lab::new();
    for (at, speedup) in rounds.iter().enumerate() {
        let condition = lab.condition(scan(&format!("{} KiB", 4 << at), State::Cached));
        for (arm, ns) in [("pread", 1000.0 * speedup), ("mmap", 1000.0)] {
            let cell = lab.cell(condition, arm);
            lab.measure(cell, 10, ns, |_, _| {});
        }
    }
    for (at, ratios) in of_job {
        let condition = &lab.record.conditions[*at];
        lab.record.confirmations.push(Confirmation {
            condition: *at,
            baseline_cell: 2 * at,
            arm_cell: 2 * at + 1,
            range: condition.range,
            ops: 8 * condition.ops,
            pairs: ratios.iter().map(|ratio| [1e9 * ratio, 1e9]).collect(),
            cold: vec![],
            invalid: vec![],
        });
    }
    lab
}

#[test]
fn a_crossover_lies_between_points_of_one_size_of_pass_alone() {
    let crossing = |lab: Lab| {
        let crossovers = lab.analyze().crossovers;
        assert_eq!(crossovers.len(), 1, "{crossovers:?}");
        (crossovers[0].changes, crossovers[0].at.is_some(), crossovers[0].of_job.clone())
    };
    let (fast, slow) = (&[2.0; 5][..], &[0.5; 5][..]);
    assert_eq!(crossing(curve(&[2.0, 1.5, 0.5], &[])), (true, true, vec![]));
    // Held: the figures are the rounds'.
    assert_eq!(crossing(curve(&[2.0, 1.5, 0.5], &[(0, fast), (2, slow)])), (true, true, vec![]));
    // Turned at one end of the change, so that it may be the size of the pass that turns it.
    assert_eq!(crossing(curve(&[2.0, 1.5, 2.0], &[(2, slow)])), (true, false, vec![5]));
    // Turned away from the change.
    assert_eq!(crossing(curve(&[0.5, 1.5, 0.7, 0.6], &[(0, fast)])), (true, true, vec![1]));
    // Turned everywhere: one size again.
    assert_eq!(crossing(curve(&[0.5, 0.5, 2.0], &[(0, fast), (1, fast), (2, slow)])), (true, true, vec![]));
    // Doubted: no point at all, and nothing changes beside it.
    assert_eq!(crossing(curve(&[2.0, 1.5, 0.5], &[(2, &[2.0, 2.0])])), (false, false, vec![]));
}

#[test]
fn memory_that_grows_with_the_range_leaves_a_curve_one() {
    let mut lab = curve(&[2.0, 1.5, 0.5], &[]);
    for (at, it) in lab.record.conditions.iter_mut().enumerate() {
        (it.state, it.range.bytes) = (State::Limited, (1 << 20) << at);
        it.memory_bytes = Some(it.range.bytes / 2);
    }
    let points: Vec<usize> = lab.analyze().crossovers.iter().map(|it| it.points.len()).collect();
    assert_eq!(points, [3]);
}

#[test]
fn a_point_of_a_curve_that_the_job_does_not_confirm_is_marked() {
    let unconfirmed = |lab: Lab| {
        let crossovers = lab.analyze().crossovers;
        assert_eq!(crossovers.len(), 1, "{crossovers:?}");
        crossovers[0].points.iter().map(|it| it.unconfirmed).collect::<Vec<bool>>()
    };
    let rounds = &[2.0, 1.5, 0.5];
    assert_eq!(unconfirmed(curve(rounds, &[])), [false; 3], "it was not measured again");
    assert_eq!(unconfirmed(curve(rounds, &[(0, &[2.0; 5]), (2, &[0.5; 2])])), [false, false, true]);
    assert_eq!(unconfirmed(curve(rounds, &[(1, &[1.5; 2]), (2, &[2.0; 2])])), [false, true, false], "one is open");
}

#[test]
fn the_faster_arm_may_change_with_the_size_of_the_job() {
    let text = r#"
        title = "How many reads?"
        [[compare]]
        arms = ["pread", "mmap"]
        workload = "random"
        block = ["512 B", "4 KiB"]
        state = "cold"
        ops = [100, 1000, 10000]
    "#;
    let mut lab = Lab::of_experiment(text);
    // From 512 B blocks the mapping is slower throughout.
    let slower = [8.0, 4.0, 2.0, 4.0, 2.0, 0.25];
    for (index, ratio) in slower.into_iter().enumerate() {
        let cells: Vec<usize> =
            (0..lab.record.cells.len()).filter(|&it| lab.record.cells[it].condition == index).collect();
        lab.measure(cells[0], 10, 100.0, |_, _| {});
        lab.measure(*cells.last().unwrap(), 10, 100.0 * ratio, |_, _| {});
    }
    let crossovers = lab.analyze().crossovers;
    let axes: Vec<(&str, bool)> = crossovers.iter().map(|it| (it.axis.as_str(), it.changes)).collect();
    assert_eq!(axes, [("ops", false), ("ops", true)], "two blocks are no curve, and sizes of jobs are never mixed");
    let at = crossovers[1].at.unwrap();
    // Twice as slow with 1,000 reads, four times as fast with 10,000: a third of the way, on a logarithmic scale.
    assert!((at.median / 10f64.powf(3.0 + 1.0 / 3.0) - 1.0).abs() < 0.05, "{at:?}");
    assert_eq!(crossovers[1].cells.len(), 3);
}

/// The number of blocks of each point of the only curve.
fn points(text: &str, change: impl Fn(&mut schema::Condition)) -> Vec<f64> {
    let mut lab = Lab::of_experiment(text);
    lab.record.conditions.iter_mut().for_each(change);
    for cell in 0..lab.record.cells.len() {
        lab.measure(cell, 10, 100.0, |_, _| {});
    }
    let crossovers = lab.analyze().crossovers;
    assert_eq!(crossovers.len(), 1, "{crossovers:?}");
    crossovers[0].points.iter().map(|it| it.at).collect()
}

const NUMBERS_OF_READS: &str = r#"
    title = "t"
    [[compare]]
    arms = ["pread", "mmap"]
    workload = "random"
    block = "4 KiB"
    state = "cached"
    ops = [1000, 80000, 800000]
"#;

#[test]
fn a_crossover_over_numbers_of_reads_is_of_reads_of_the_whole_file() {
    // A window of an eleventh has as many less, and a thousand at least.
    let in_window = |it: &mut schema::Condition| {
        it.range.bytes = it.file_bytes / 11;
        it.ops = it.dense_ops(it.ops);
    };
    let [first, rest @ ..] = &points(NUMBERS_OF_READS, in_window)[..] else { panic!() };
    assert!((first / 11000.0 - 1.0).abs() < 1e-3, "{first}");
    assert_eq!(rest, [80000.0, 800000.0]);
}

#[test]
fn scans_of_as_many_blocks_as_there_are_make_a_curve_over_their_sizes() {
    let text = r#"
        title = "t"
        [[compare]]
        arms = ["read", "mmap"]
        workload = "scan"
        block = ["512 B", "4 KiB", "1 MiB"]
        state = "cached"
        ops = [10000000]
    "#;
    assert_eq!(points(text, |_| ()), [512.0, 4096.0, 1048576.0]);
}

#[test]
fn the_answer_to_be_measured_again_is_the_winner_against_the_baseline() {
    let mut lab = Lab::duel(scan("1 MiB", State::Cold), ("read", 128.0), ("mmap", 100.0));
    let slow = lab.cell(0, "direct");
    lab.measure(slow, 10, 500.0, |_, _| {});
    assert_eq!(analysis::headlines(&lab.record, &[0]), [[0, 1]]);
    let lab = Lab::duel(scan("1 MiB", State::Cold), ("read", 100.0), ("mmap", 300.0));
    assert_eq!(analysis::headlines(&lab.record, &[0]), [[0, 1]], "where the baseline wins, the arm that comes closest");
}

#[test]
fn only_the_conditions_that_are_asked_about_have_an_answer_to_be_measured_again() {
    let lab = curve(&[2.0, 0.5, 1.5], &[]);
    assert_eq!(analysis::headlines(&lab.record, &[2, 0]), [[4, 5], [0, 1]]);
    assert_eq!(analysis::headlines(&lab.record, &[]), [[0; 2]; 0]);
}

#[test]
fn a_cold_scan_of_few_read_ahead_windows_decides_nothing_unless_the_whole_job_was_measured() {
    let text = "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"1 MiB\"\nstate = \"cold\"\narms = [\"read\", \"mmap\"]\n";
    let small = |file_bytes: u64, job_bytes: Option<u64>| {
        let mut lab = if job_bytes.is_some() { job(&[1.2, 1.3, 1.15, 1.25, 1.2]) } else { job(&[]) };
        lab.record.confirmations[0].range.bytes = job_bytes.unwrap_or(0);
        lab.record.experiment = schema::Experiment::parse("t", text).unwrap();
        lab.record.origins = vec![0];
        lab.record.conditions[0].file_bytes = file_bytes;
        lab.record.target.device = schema::Reading::Value(schema::record::Device {
            name: "vda".into(),
            read_ahead_bytes: schema::Reading::Value(8 << 20),
            scheduler: schema::Reading::unavailable("none"),
            rotational: schema::Reading::unavailable("none"),
            through_page_cache: false,
        });
        lab.analyze().comparisons[0].verdict
    };
    let whole = scan("1 MiB", State::Cold).file_bytes;
    assert_eq!(small(whole, None), Verdict::Faster, "the whole file is the job");
    assert_eq!(small(1 << 30, None), Verdict::Undecided);
    assert_eq!(small(1 << 30, Some(512 * MIB)), Verdict::Faster);
    assert_eq!(small(1 << 30, Some(128 * MIB)), Verdict::Undecided, "of sixteen windows the job says no more");
    let mut lab = job(&[]);
    lab.record.experiment = schema::Experiment::parse("t", text).unwrap();
    lab.record.origins = vec![0];
    lab.record.conditions[0].file_bytes = 1 << 30;
    let verdict = |lab: &Lab| lab.analyze().comparisons[0].verdict;
    assert_eq!(verdict(&lab), Verdict::Faster, "an older record, of a file without a device");
    lab.record.target.read_ahead_most_bytes = Some(8 << 20);
    assert_eq!(verdict(&lab), Verdict::Undecided, "the largest window of the machine stands for an unknown one");
}

#[test]
fn of_random_reads_the_fastest_mappings_are_asked_again_beside_the_arm_that_answers() {
    let text = |state: &str| {
        format!(
            "title = \"t\"\n[[compare]]\nworkload = \"random\"\nblock = \"4 KiB\"\nstate = \"{state}\"\n\
             arms = [\"pread\", \"uring\", \"mmap\", \"mmap+random\", \"mmap+populate-read\"]\n"
        )
    };
    let asked = |state: &str, ns: [f64; 5]| {
        let mut lab = Lab::of_experiment(&text(state));
        for (cell, ns) in ns.into_iter().enumerate() {
            lab.measure(cell, 10, ns, |_, _| {});
        }
        analysis::headlines(&lab.record, &[0])
    };
    assert_eq!(asked("cached", [1000.0, 500.0, 3000.0, 2000.0, 4000.0]), [[0, 1], [0, 3], [0, 4]]);
    assert_eq!(asked("cached", [1000.0, 1500.0, 500.0, 2000.0, 4000.0]), [[0, 2], [0, 4]]);
    let slower_mappings = [1000.0, 500.0, 3000.0, 2000.0, 4000.0];
    assert_eq!(asked("mapped", slower_mappings), [[0, 1]]);
    assert_eq!(asked("cold", slower_mappings), [[0, 1], [0, 2], [0, 4]], "those that read around");
    // Of a cold scan the mappings lose by more in its first part than in all of it.
    let scans = text("cold").replace("random", "scan").replace("mmap+scan", "mmap+random");
    let mut lab = Lab::of_experiment(&scans);
    for (cell, ns) in [1000.0, 990.0, 1100.0, 1200.0, 1300.0].into_iter().enumerate() {
        lab.measure(cell, 10, ns, |_, _| {});
    }
    assert_eq!(analysis::headlines(&lab.record, &[0]), [[0, 1], [0, 2], [0, 4]]);
    // What a mapping is stored to depends on the size, too.
    let text = "title = \"t\"\n[[compare]]\nworkload = \"overwrite\"\nblock = \"4 KiB\"\nstate = \"cold\"\n\
                arms = [\"write\", \"pwrite\", \"mmap\"]\n";
    let mut lab = Lab::of_experiment(text);
    for (cell, ns) in [1000.0, 500.0, 3000.0].into_iter().enumerate() {
        lab.measure(cell, 10, ns, |_, _| {});
    }
    assert_eq!(analysis::headlines(&lab.record, &[0]), [[0, 1], [0, 2]]);
}

#[test]
fn a_mapping_that_loses_by_fewer_random_reads_than_the_job_has_is_not_decided_unless_hardly_any_of_them_fault() {
    let text = |more: &str| {
        format!(
            "title = \"t\"\n[[compare]]\nworkload = \"random\"\nblock = \"4 KiB\"\nstate = \"cached\"\n\
             fill = \"random\"\narms = [\"pread\", \"mmap\"]\n{more}"
        )
    };
    let lab = |more: &str, reads: u64, mmap_ns: f64, faults: f64| {
        let mut lab = Lab::of_experiment(&text(more));
        lab.record.conditions[0].ops = reads;
        lab.measure(0, 10, 1000.0, |_, _| {});
        lab.measure(1, 10, mmap_ns, |_, pass| {
            pass.readings.insert("minor_faults".into(), schema::Reading::Value(faults));
        });
        lab
    };
    let says = |lab: &Lab| {
        let found = lab.analyze();
        let first = &found.comparisons[0];
        let few = first.reason.as_ref().map(|it| matches!(it, Reason::FewBlocks { .. }));
        (first.verdict, few.unwrap_or_default())
    };
    let pages = 16_384;
    for mmap_ns in [3000.0, 1000.0] {
        assert_eq!(says(&lab("", 1000, mmap_ns, 500.0)), (Verdict::Undecided, true), "{mmap_ns}");
    }
    assert_eq!(says(&lab("", 1000, 500.0, 500.0)), (Verdict::Faster, false), "of more of them fewer fault");
    assert_eq!(says(&lab("", 1000, 3000.0, 5.0)), (Verdict::Slower, false), "hardly any fault");
    assert_eq!(says(&lab("", pages, 3000.0, 500.0)), (Verdict::Slower, false), "as many as there are pages");
    assert_eq!(says(&lab("ops = 1000\n", 1000, 3000.0, 500.0)), (Verdict::Slower, false), "so many were asked for");
    let named = |reads: u64| {
        let mut lab = lab("range = { bytes = \"16 MiB\" }\n", reads, 3000.0, 500.0);
        lab.record.conditions[0].range.bytes = 16 * MIB;
        says(&lab)
    };
    assert_eq!(named(1000), (Verdict::Undecided, true), "the range was named, and not how many reads of it");
    assert_eq!(named(4096), (Verdict::Slower, false), "as many as the range has pages");
    let mut asked_again = lab("", 1000, 3000.0, 500.0);
    let mut again = job(&[0.5; 5]).record.confirmations.remove(0);
    (again.baseline_cell, again.arm_cell, again.ops) = (0, 1, pages);
    again.range = asked_again.record.conditions[0].range;
    asked_again.record.confirmations = vec![again];
    assert_eq!(says(&asked_again), (Verdict::Slower, false), "the job answered");
    asked_again.record.confirmations[0].ops = 4000;
    assert_eq!(says(&asked_again), (Verdict::Undecided, true), "by a quarter of it");
    // What is left open has the ratio of its rounds, as its times are.
    let open = asked_again.analyze().comparisons.remove(0);
    assert!((open.speedup.unwrap().median - 1.0 / 3.0).abs() < 0.01, "{:?}", open.speedup);
    assert!(!open.warnings.iter().any(|it| matches!(it, Caution::JobDecides { .. })), "{:?}", open.warnings);
}

#[test]
fn what_a_mapping_loses_by_the_first_of_many_cold_reads_is_not_confirmed_for_all_of_them() {
    let lab = |more: &str, reads: u64| {
        let mut lab = Lab::of_experiment(&format!(
            "title = \"t\"\n[[compare]]\nworkload = \"random\"\nblock = \"4 KiB\"\nstate = \"cold\"\n\
             arms = [\"pread\", \"mmap\", \"mmap+random\"]\n{more}"
        ));
        lab.record.conditions[0].ops = reads;
        for (cell, ns) in [(0, 1000.0), (1, 3000.0), (2, 2000.0)] {
            lab.measure(cell, 10, ns, |_, _| {});
        }
        lab
    };
    let of = |lab: &Lab| {
        let found = lab.analyze().comparisons;
        [0, 1].map(|it| (found[it].verdict, found[it].answer_of))
    };
    let (slower, pages) = (Verdict::Slower, 16_384);
    let by_rounds = (slower, AnswerOf::Rounds);
    // Without read-ahead, those that follow find nothing.
    assert_eq!(of(&lab("", 418)), [(slower, AnswerOf::RoundsUnconfirmed), by_rounds]);
    assert_eq!(of(&lab("", pages)), [by_rounds; 2], "as many as there are pages");
    assert_eq!(of(&lab("ops = 418\n", 418)), [by_rounds; 2], "so many were asked for");
    let again = |ops: u64, ratio: f64| {
        let mut lab = lab("", 418);
        let mut again = job(&[ratio; 5]).record.confirmations.remove(0);
        (again.baseline_cell, again.arm_cell, again.ops) = (0, 1, ops);
        again.range = lab.record.conditions[0].range;
        lab.record.confirmations = vec![again];
        of(&lab)[0]
    };
    for ratio in [0.33, 0.7] {
        assert_eq!(again(762, ratio), (slower, AnswerOf::RoundsUnconfirmed), "a part as well");
    }
    // So is what answers for all arms, whichever was measured again.
    assert_eq!(lab("", 418).analyze().map[0].answer_of, AnswerOf::RoundsUnconfirmed);
    assert_eq!(again(pages, 0.33), (slower, AnswerOf::RoundsAndJob));
    assert_eq!(again(pages, 0.7), (slower, AnswerOf::Job), "how much slower depends on how many there are");
    assert_eq!(again(pages, 4.8), (Verdict::Faster, AnswerOf::Job));
}

#[test]
fn more_reads_than_a_small_file_has_pages_do_not_confirm_that_a_mapping_wins() {
    let of = |mmap_ns: f64, faults: f64| {
        let mut lab = Lab::duel(
            Condition { workload: Workload::Random, block_bytes: 4096, ..scan("4 KiB", State::Cached) },
            ("pread", 1000.0),
            ("mmap", mmap_ns),
        );
        let text = "title = \"t\"\n[[compare]]\nworkload = \"random\"\nblock = \"4 KiB\"\nstate = \"cached\"\n\
                    arms = [\"pread\", \"mmap\"]\n";
        lab.record.experiment = schema::Experiment::parse("t", text).unwrap();
        lab.record.origins = vec![0];
        let under = &mut lab.record.conditions[0];
        (under.file_bytes, under.range.bytes, under.ops) = (MIB, MIB, 8192);
        for sample in &mut lab.record.samples {
            sample.readings.insert("minor_faults".into(), schema::Reading::Value(faults));
        }
        let found = lab.analyze().comparisons.remove(0);
        (found.verdict, found.answer_of)
    };
    assert_eq!(of(500.0, 500.0), (Verdict::Faster, AnswerOf::RoundsUnconfirmed));
    assert_eq!(of(500.0, 5.0), (Verdict::Faster, AnswerOf::Rounds), "hardly any fault");
    assert_eq!(of(3000.0, 500.0), (Verdict::Slower, AnswerOf::Rounds), "of fewer of them more fault");
}

#[test]
fn pairs_of_which_one_was_disturbed_leave_open_what_more_of_them_decide() {
    let is_open = |ratios: &[f64]| analysis::is_open(&job(ratios).record.confirmations[0]);
    assert!(!is_open(&[1.2, 1.3, 1.15, 1.25, 1.2]) && !is_open(&[1.0, 0.99, 1.01, 1.0, 1.0]));
    assert!(is_open(&[1.2, 1.3, 1.15, 1.25]), "four decide nothing");
    let disturbed = [1.2, 1.3, 0.39, 1.25, 1.2];
    assert!(is_open(&disturbed));
    assert!(!is_open(&[&disturbed[..], &[1.2, 1.22, 1.18, 1.3, 1.2, 1.21, 2.5]].concat()));
    assert!(is_open(&[]));
}

#[test]
fn an_arm_that_is_behind_by_the_rounds_and_not_ahead_by_the_job_leaves_the_baseline_the_fastest() {
    let of = |ratios: &[f64]| {
        let mut lab = Lab::duel(scan("1 MiB", State::Cold), ("read", 100.0), ("mmap", 300.0));
        let pread = lab.cell(0, "pread");
        lab.measure(pread, 10, 101.0, |_, _| {});
        let again = job(ratios).record.confirmations.remove(0);
        lab.record.confirmations.push(again);
        let found = lab.analyze();
        (found.comparisons[0].verdict, found.map[0].winner.clone())
    };
    let read = Some("native/read".to_string());
    assert_eq!(of(&[0.7, 0.8, 0.75, 0.98, 0.72]), (Verdict::Undecided, read), "by how much is not known");
    assert_eq!(of(&[0.7, 0.8, 0.75, 1.4, 0.72]), (Verdict::Undecided, None), "it may be ahead");
}

#[test]
fn a_condition_that_left_its_time_to_the_others_takes_no_arm_out_of_the_choice() {
    let mut lab = Lab::of_experiment(NUMBERS_OF_READS);
    for (cell, ns) in [1000.0, 500.0, 1000.0, 400.0].into_iter().enumerate() {
        lab.measure(cell, 10, ns, |_, _| {});
    }
    for cell in &mut lab.record.cells[4..] {
        cell.leave_out(schema::Skip::LeavesTime { rounds_ns: 170e9, left_ns: 40e9 });
    }
    let choices = lab.analyze().answer.choices;
    let mapping = choices.iter().find(|it| it.arms == ["native/mmap"]).unwrap();
    assert_eq!((mapping.known, mapping.conditions, mapping.losses.len()), (2, 2, 0), "{choices:?}");
}

#[test]
fn claims_about_two_arms_that_are_no_baseline_are_asked_again_too() {
    let text = r#"
        title = "t"
        [[compare]]
        name = "scan"
        workload = "scan"
        block = "1 MiB"
        state = "cached"
        arms = ["read", "pread", "mmap"]
        [[claim]]
        id = "a"
        says = "mmap is faster than pread"
        compare = "scan"
        arm = "mmap"
        than = "pread"
        expect = "lower"
    "#;
    let mut lab = Lab::of_experiment(text);
    for (cell, ns) in [100.0, 120.0, 300.0].into_iter().enumerate() {
        lab.measure(cell, 10, ns, |_, _| {});
    }
    assert_eq!(analysis::headlines(&lab.record, &[0]), [[0, 1], [1, 2]]);
    lab.record.experiment.claims[0].metric = schema::experiment::Metric::Cpu;
    assert_eq!(analysis::headlines(&lab.record, &[0]), [[0, 1]], "passes at the size of the job have times");
}

#[test]
fn stores_to_a_part_of_a_file_decide_no_more_than_that_the_mapping_is_ahead() {
    let of = |workload: &str, more: &str, blocks: u64, mmap_ns: f64| {
        let state = if more.contains("fill") { "cached" } else { "cold" };
        let text = format!(
            "title = \"t\"\n[[compare]]\nworkload = \"{workload}\"\nblock = \"4 KiB\"\nstate = \"{state}\"\n\
             arms = [\"pwrite\", \"mmap\"]\n{more}"
        );
        let mut lab = Lab::of_experiment(&text);
        let under = &mut lab.record.conditions[0];
        (under.file_bytes, under.ops) = (200 * MIB, blocks);
        under.range.bytes = blocks * 4096;
        (under.durability, under.layout) =
            (lab.record.experiment.comparisons[0].durability[0], Some(lab.record.experiment.comparisons[0].layout[0]));
        under.fill = lab.record.experiment.comparisons[0].fill.first().copied();
        lab.measure(0, 10, 1000.0, |_, _| {});
        lab.measure(1, 10, mmap_ns, |_, _| {});
        let found = lab.analyze().comparisons.remove(0);
        let is_of_part = matches!(found.reason, Some(Reason::FewBlocks { job_blocks: 51_200, writes: true, .. }));
        (found.verdict, found.answer_of, is_of_part)
    };
    let (undecided, slower) =
        ((Verdict::Undecided, AnswerOf::Neither, true), (Verdict::Slower, AnswerOf::Rounds, false));
    for workload in ["overwrite", "overwrite-random", "update"] {
        assert_eq!(of(workload, "", 4096, 1420.0), undecided, "{workload}");
        assert_eq!(of(workload, "", 4096, 1000.0), undecided, "{workload}");
        assert_eq!(of(workload, "", 4096, 500.0), (Verdict::Faster, AnswerOf::RoundsUnconfirmed, false), "{workload}");
        assert_eq!(of(workload, "", 51_200, 1420.0), slower, "{workload}");
    }
    assert_eq!(of("update", "ops = 4096\n", 4096, 1420.0), slower, "so many were asked for");
    assert_eq!(of("update", "durability = \"sync-each\"\n", 4096, 1420.0), slower, "each waits for the device");
    assert_eq!(of("append", "", 4096, 1420.0), slower, "each page is new");
    assert_eq!(of("update", "fill = \"written=4KiB\"\n", 4096, 1420.0), slower, "folios are as large everywhere");
    assert_eq!(of("update", "fill = \"sequential\"\n", 4096, 1420.0), undecided);
    assert_eq!(of("overwrite", "layout = \"sparse\"\n", 4096, 1420.0), slower, "each page is new");
}

#[test]
fn few_random_reads_do_not_decide_between_a_mapping_and_one_that_is_populated() {
    let says = |arms: [&str; 2], ns: f64, faults: f64| {
        let text = format!(
            "title = \"t\"\n[[compare]]\nworkload = \"random\"\nblock = \"4 KiB\"\nstate = \"cached\"\narms = {arms:?}\n"
        );
        let mut lab = Lab::of_experiment(&text);
        lab.record.conditions[0].ops = 1000;
        lab.measure(0, 10, 1000.0, |_, pass| {
            pass.readings.insert("minor_faults".into(), schema::Reading::Value(faults));
        });
        lab.measure(1, 10, ns, |_, pass| {
            pass.readings.insert("minor_faults".into(), schema::Reading::Value(faults));
        });
        lab.analyze().comparisons.remove(0).verdict
    };
    const POPULATED: &str = "mmap+populate-read";
    assert_eq!(says(["mmap", POPULATED], 3000.0, 500.0), Verdict::Undecided);
    assert_eq!(says(["mmap", POPULATED], 500.0, 500.0), Verdict::Faster, "the more reads, the more it gains");
    assert_eq!(says([POPULATED, "mmap"], 500.0, 500.0), Verdict::Undecided);
    assert_eq!(says([POPULATED, "mmap"], 3000.0, 500.0), Verdict::Slower);
    assert_eq!(says(["mmap", "mmap+random"], 3000.0, 500.0), Verdict::Slower, "both fault");
}

/// Random reads in memory by several arms, over a small part of the job; the third and the fourth were asked again there, and were so
/// many times as fast as the first.
fn asked_again(ns: [f64; 4], jobs: [f64; 2], ops: u64) -> Lab {
    let text = "title = \"t\"\n[[compare]]\nworkload = \"random\"\nblock = \"4 KiB\"\nstate = \"cached\"\n\
                arms = [\"pread\", \"uring\", \"mmap\", \"mmap+populate-read\"]\n";
    let mut lab = Lab::of_experiment(text);
    lab.record.conditions[0].ops = 1000;
    for (cell, ns) in ns.into_iter().enumerate() {
        lab.measure(cell, 10, ns, |_, _| {});
    }
    for (cell, times) in [2, 3].into_iter().zip(jobs) {
        let mut again = job(&[times; 5]).record.confirmations.remove(0);
        (again.baseline_cell, again.arm_cell, again.ops, again.range) = (0, cell, ops, lab.record.conditions[0].range);
        lab.record.confirmations.push(again);
    }
    lab
}

#[test]
fn of_two_arms_that_the_job_answers_the_faster_one_there_is_named() {
    let line = asked_again([1000.0, 1000.0, 500.0, 900.0], [1.7, 2.9], 16_384).analyze().map.remove(0);
    assert_eq!(line.winner.as_deref(), Some("native/mmap+populate-read"));
    assert!(!line.not_told_apart.iter().any(|it| it == "native/mmap"), "{:?}", line.not_told_apart);
}

#[test]
fn that_a_mapping_made_few_reads_takes_nothing_from_the_arm_that_wins_by_the_rounds() {
    let line = asked_again([1000.0, 500.0, 3000.0, 3000.0], [0.5, 0.5], 4000).analyze().map.remove(0);
    assert_eq!((line.winner.as_deref(), line.verdict), (Some("native/uring"), Verdict::Faster));
}

#[test]
fn the_runner_up_of_a_baseline_is_what_comes_closest_whichever_was_asked_again() {
    let uring = |line: &schema::findings::MapLine, times: f64| {
        let LineAnswer::BaselineWins { next, times: by, of_job: false, .. } = &line.says.answer else {
            panic!("{line:?}")
        };
        assert_eq!((next.as_str(), line.next_cell), ("uring", Some(1)));
        assert!((by - times).abs() < 0.01, "{by}");
    };
    uring(&asked_again([1000.0, 1100.0, 3000.0, 3000.0], [0.32, 0.32], 16_384).analyze().map[0], 1.1);
    // A loss of another size is no answer that turned.
    uring(&asked_again([1000.0, 1100.0, 3000.0, 3000.0], [0.5, 0.32], 16_384).analyze().map[0], 1.1);
    // Of two that were asked again the one that comes closer there.
    let line = asked_again([1000.0, 3000.0, 1700.0, 1100.0], [0.45, 0.6], 16_384).analyze().map.remove(0);
    assert_eq!((line.next_cell, line.answer_of), (Some(3), AnswerOf::Job), "{line:?}");
}

#[test]
fn a_runner_up_among_those_that_were_asked_again_is_said_to_be_one_of_them() {
    // By the rounds one that was not asked again comes closer.
    let line = asked_again([1000.0, 1060.0, 1000.0, 1087.0], [0.9, 0.9], 16_384).analyze().map.remove(0);
    let LineAnswer::BaselineWins { next, times: by, of_job: true, .. } = &line.says.answer else { panic!("{line:?}") };
    assert_eq!((next.as_str(), line.next_cell), ("mmap+populate-read", Some(3)));
    assert!((by - 1.0 / 0.9).abs() < 0.01, "{by}: of the passes at that size, as it says");
    assert_eq!((line.says.not_at_job, line.answer_of), (vec!["uring".to_string()], AnswerOf::Job));
    assert_eq!(line.explanation, None, "its counts are of the rounds");
    // Of two, the one that comes closest there, although the other does by the rounds.
    for uring_ns in [1060.0, 3000.0] {
        let lab = asked_again([1000.0, uring_ns, 1000.0, 1075.0], [0.9, 0.8], 16_384);
        let findings = lab.analyze();
        let line = &findings.map[0];
        let LineAnswer::BaselineWins { times: by, of_job: true, .. } = line.says.answer else { panic!("{line:?}") };
        assert_eq!((line.next_cell, line.answer_of), (Some(2), AnswerOf::Job), "{uring_ns}");
        assert!((by - 1.0 / 0.9).abs() < 0.01, "{by}");
        let page = report::markdown(&lab.record, &findings);
        assert!(page.contains("1.11x") && !page.contains("1.08x"), "{page}");
    }
}

#[test]
fn what_an_arm_was_at_the_size_of_the_job_is_said_by_its_passes_there() {
    let mut lab = asked_again([1000.0, 3000.0, 1000.0, 1250.0], [1.0, 1.0], 16_384);
    // It decides nothing, and is not what the rounds decided.
    lab.record.confirmations[1].pairs = [0.93, 1.04, 0.98, 0.96, 1.0].map(|it| [1e9 * it, 1e9]).to_vec();
    let random = lab.cell(0, "mmap+random");
    lab.measure(random, 10, 1000.0, |_, _| {});
    let line = lab.analyze().map.remove(0);
    let LineAnswer::NotAtJob { arm, speedup, .. } = &line.says.answer else { panic!("{:?}", line.says) };
    assert_eq!(arm, "mmap+populate-read");
    assert!((speedup - 0.98).abs() < 0.001, "{speedup}");
}

#[test]
fn that_a_mapping_loses_by_less_at_the_size_of_the_job_takes_nothing_from_the_arm_that_wins() {
    let line = asked_again([1000.0, 500.0, 3000.0, 3000.0], [0.5, 0.5], 16_384).analyze().map.remove(0);
    assert_eq!((line.winner.as_deref(), line.verdict), (Some("native/uring"), Verdict::Faster), "{:?}", line.says);
}

#[test]
fn what_rounds_and_job_both_decide_is_no_noise_although_they_differ_in_size() {
    let of = |times: f64| {
        let mut lab = asked_again([1000.0, 1000.0, 500.0, 900.0], [times, 1.0], 16_384);
        let control = lab.control(0, "pread");
        lab.measure(control, 10, 1300.0, |_, _| {});
        let found = lab.analyze();
        let mapping = found.comparisons.iter().find(|it| it.arm == "native/mmap").unwrap();
        (mapping.answer_of, mapping.verdict)
    };
    assert_eq!(of(1.2), (AnswerOf::Job, Verdict::Faster));
    assert_eq!(of(0.85), (AnswerOf::Job, Verdict::Undecided), "decided once");
}

#[test]
fn no_arm_that_was_measured_at_the_size_of_the_job_is_said_not_to_have_been() {
    let mut lab = asked_again([1000.0, 3000.0, 800.0, 2000.0], [0.4, 1.0], 16_384);
    // Pairs that decide nothing, and do not fit the rounds.
    lab.record.confirmations[1].pairs = [0.9, 1.1, 0.95, 1.2, 1.0].map(|it| [1e9 * it, 1e9]).to_vec();
    let line = lab.analyze().map.remove(0);
    let LineAnswer::Undecided { reason: Some(reason) } = &line.says.answer else { panic!("{:?}", line.says) };
    assert!(matches!(reason, Reason::JobDoubts { .. }), "{reason:?}");
    // Pairs that decide nothing, and fit them: of the others that were not measured there it is open.
    let mut lab = asked_again([1000.0, 900.0, 800.0, 1100.0], [0.4, 1.0], 16_384);
    lab.record.confirmations[1].pairs = [0.88, 0.9, 0.93, 0.97, 0.91].map(|it| [1e9 * it, 1e9]).to_vec();
    let line = lab.analyze().map.remove(0);
    let LineAnswer::NotAtJob { not_measured, .. } = &line.says.answer else { panic!("{:?}", line.says) };
    assert_eq!(not_measured, &["uring"]);
}

#[test]
fn where_the_size_of_a_difference_depends_on_that_of_the_job_the_job_says_it() {
    let of = |times: f64| {
        let found = asked_again([1000.0, 1000.0, 500.0, 900.0], [times, 1.0], 16_384).analyze();
        let mapping = found.comparisons.iter().find(|it| it.arm == "native/mmap").unwrap();
        (mapping.answer_of, (10.0 * mapping.speedup.unwrap().median).round() / 10.0)
    };
    assert_eq!(of(1.9), (AnswerOf::RoundsAndJob, 2.0));
    assert_eq!(of(1.4), (AnswerOf::Job, 1.4));
    assert_eq!(of(3.0), (AnswerOf::Job, 3.0));
    // Not of a scan.
    assert_eq!(job(&[1.8, 1.82, 1.81, 1.8, 1.81]).analyze().comparisons[0].answer_of, AnswerOf::RoundsAndJob);
}

/// The first 64 MiB of a file of 1 GiB, cold, that is read ahead in windows of 8 MiB: eight windows. The job says how many
/// times faster `direct` is than `read`; of `mmap` there are the rounds alone.
fn eight_windows(direct: f64, mmap_ns: f64, adjust_mmap: impl Fn(u32, &mut Pass)) -> Lab {
    let text = "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"1 MiB\"\nstate = \"cold\"\n\
                arms = [\"read\", \"mmap\", \"direct\"]\n";
    let mut lab = Lab::of_experiment(text);
    lab.record.conditions[0].file_bytes = 1 << 30;
    lab.record.target.read_ahead_most_bytes = Some(8 << 20);
    lab.measure(0, 10, 1000.0, |_, _| {});
    lab.measure(1, 10, mmap_ns, adjust_mmap);
    lab.measure(2, 10, 1000.0 / direct, |_, _| {});
    let mut again = job(&[direct; 5]).record.confirmations.remove(0);
    again.arm_cell = 2;
    lab.record.confirmations = vec![again];
    lab
}

#[test]
fn an_arm_of_which_a_scan_of_few_windows_says_nothing_is_neither_behind_nor_beside_the_answer() {
    let few = |it: &Option<Reason>| matches!(it, Some(Reason::FewWindows { .. }));
    // It is 1.3 times slower by its rounds, by as much as the margin has, or within it.
    for (mmap_ns, scatter) in [(1300.0, 1.0), (1050.0, 1.02), (1000.0, 1.0)] {
        let scattered = |round: u32, pass: &mut Pass| pass.ns_per_op *= [1.0 / scatter, scatter][round as usize % 2];
        let findings = eight_windows(0.8, mmap_ns, scattered).analyze();
        let [mmap, direct] = &findings.comparisons[..] else { panic!() };
        assert_eq!((mmap.verdict, mmap.answer_of), (Verdict::Undecided, AnswerOf::Neither), "{mmap_ns}");
        assert!(few(&mmap.reason), "{:?}", mmap.reason);
        assert_eq!((direct.verdict, direct.answer_of), (Verdict::Slower, AnswerOf::RoundsAndJob));
        let line = &findings.map[0];
        let LineAnswer::Between { arms, reason, .. } = &line.says.answer else { panic!("{:?}", line.says) };
        assert_eq!((line.verdict, &line.winner, &arms[..]), (Verdict::Undecided, &None, &["mmap".to_string()][..]));
        assert!(few(reason), "{reason:?}");
    }
    // Nor is it told apart from another one that wins.
    let line = eight_windows(1.5, 1300.0, |_, _| {}).analyze().map.remove(0);
    assert_eq!((line.winner.as_deref(), line.verdict), (Some("native/direct"), Verdict::Faster), "{:?}", line.says);
    assert_eq!(line.not_told_apart, ["native/mmap"]);
}

#[test]
fn what_a_scan_of_few_windows_says_bounds_no_loss_of_an_arm() {
    let known = |range_bytes: u64| {
        let mut lab = eight_windows(1.3, 1300.0, |_, _| {});
        // Elsewhere the mapping loses more than its rounds allow here.
        let origin = lab.condition(schema::Condition { state: State::Cached, ..scan("1 MiB", State::Cached) });
        for (arm, ns) in [("read", 1000.0), ("mmap", 3000.0), ("direct", 2000.0)] {
            let cell = lab.cell(origin, arm);
            lab.measure(cell, 10, ns, |_, _| {});
        }
        lab.record.target.read_ahead_most_bytes = Some(range_bytes / 8);
        let choices = lab.analyze().answer.choices;
        let mapping = choices.iter().find(|it| it.arms == ["native/mmap"]).unwrap();
        (mapping.known, mapping.conditions, mapping.losses.len())
    };
    assert_eq!(known(64 * MIB), (1, 2, 1));
    assert_eq!(known(MIB), (2, 2, 2), "of 512 windows the rounds answer");
}

#[test]
fn a_claim_decides_nothing_either_by_a_cold_scan_of_few_read_ahead_windows() {
    let text = "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"1 MiB\"\nstate = \"cold\"\narms = [\"read\", \"mmap\"]\n\
                [[claim]]\nid = \"mapping\"\nsays = \"s\"\narm = \"mmap\"\nthan = \"read\"\nexpect = \"lower\"\n";
    let mut lab = job(&[]);
    lab.record.experiment = schema::Experiment::parse("t", text).unwrap_or_else(|it| panic!("{}", it.at("t")));
    lab.record.origins = vec![0];
    let verdict = |lab: &Lab| lab.analyze().claims[0].verdict;
    assert_eq!(verdict(&lab), ClaimVerdict::Holds, "the whole file is the job");
    lab.record.conditions[0].file_bytes = 1 << 30;
    lab.record.target.read_ahead_most_bytes = Some(8 << 20);
    assert_eq!(verdict(&lab), ClaimVerdict::Undecided);
    // Nor does what is no comparison of times.
    let alone = "metric = \"ceiling-share\"\nexpect = { at-least = 0.1 }\n";
    let text = text.replace("than = \"read\"\nexpect = \"lower\"\n", alone);
    lab.record.experiment = schema::Experiment::parse("t", &text).unwrap_or_else(|it| panic!("{}", it.at("t")));
    let bytes = lab.record.conditions[0].range.bytes as f64;
    for sample in &mut lab.record.samples {
        sample.readings.insert("device_read_bytes".into(), schema::Reading::Value(bytes));
    }
    let rates = lab.analyze().cells.into_iter().filter_map(|it| Some(it.bytes_per_s?.median));
    lab.record.ceiling = schema::Reading::Value(schema::record::Ceiling {
        bytes_per_s: rates.fold(0.0, f64::max),
        random_ops_per_s: schema::Reading::unavailable("not measured"),
        how: "uring".into(),
        random_how: None,
    });
    assert_eq!(verdict(&lab), ClaimVerdict::Undecided);
    lab.record.target.read_ahead_most_bytes = Some(64 << 10);
    assert_eq!(verdict(&lab), ClaimVerdict::Holds);
}

/// Three blocks of which rounds and job say this: by how many times the mapping is faster, round by round and pair by pair.
fn claimed(blocks: [(&[f64], &[f64]); 3]) -> schema::findings::ClaimFinding {
    let text = "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = [\"64 KiB\", \"1 MiB\", \"4 MiB\"]\nstate = \"cold\"\n\
                arms = [\"read\", \"mmap\"]\n\
                [[claim]]\nid = \"it\"\nsays = \"s\"\narm = \"mmap\"\nthan = \"read\"\nexpect = \"lower\"\n";
    let mut lab = Lab::of_experiment(text);
    for (condition, (rounds, pairs)) in blocks.into_iter().enumerate() {
        let [read, mmap] = [2 * condition, 2 * condition + 1];
        lab.measure(read, 10, 1000.0, |round, pass| pass.ns_per_op *= rounds[round as usize % rounds.len()]);
        lab.measure(mmap, 10, 1000.0, |_, _| {});
        let Condition { range, ops, .. } = lab.record.conditions[condition];
        lab.record.confirmations.push(Confirmation {
            condition,
            baseline_cell: read,
            arm_cell: mmap,
            range,
            ops,
            pairs: pairs.iter().map(|ratio| [1e9 * ratio, 1e9]).collect(),
            cold: vec![],
            invalid: vec![],
        });
    }
    lab.analyze().claims.remove(0)
}

#[test]
fn what_a_part_of_the_job_leaves_open_in_time_it_leaves_open_in_processor_time() {
    let asked_again = |metric: &str, state: &str, reads: u64, mmap_ns: f64, pairs: &[[f64; 2]]| {
        let text = format!(
            "title = \"t\"\n[[compare]]\nworkload = \"random\"\nblock = \"4 KiB\"\nstate = \"{state}\"\n\
             arms = [\"pread\", \"mmap\"]\n[[claim]]\nid = \"it\"\nsays = \"s\"\narm = \"mmap\"\nthan = \"pread\"\n\
             metric = \"{metric}\"\nexpect = \"lower\"\n"
        );
        let mut lab = Lab::of_experiment(&text);
        lab.record.conditions[0].ops = reads;
        for (cell, ns) in [(0, 1000.0), (1, mmap_ns)] {
            lab.measure(cell, 10, ns, |_, pass| {
                pass.reads("user_ns", ns * 1e3).reads("system_ns", 0.0);
            });
        }
        if !pairs.is_empty() {
            lab.record.confirmations.push(schema::record::Confirmation {
                baseline_cell: 0,
                arm_cell: 1,
                condition: 0,
                range: schema::Span { offset: 0, bytes: 64 << 20 },
                ops: 16_384,
                pairs: pairs.to_vec(),
                cold: vec![],
                invalid: vec![],
            });
        }
        lab.analyze().claims[0].verdict
    };
    let verdict = |metric: &str, state: &str, reads: u64| asked_again(metric, state, reads, 3000.0, &[]);
    for metric in ["time", "cpu"] {
        for state in ["cached", "as-is"] {
            assert_eq!(verdict(metric, state, 1000), ClaimVerdict::Undecided, "{metric} {state}");
            assert_eq!(verdict(metric, state, 16_384), ClaimVerdict::Reversed, "{metric} {state}");
        }
        assert_eq!(verdict(metric, "mapped", 1000), ClaimVerdict::Reversed, "{metric}");
        assert_eq!(
            asked_again(metric, "cached", 1000, 500.0, &[]),
            ClaimVerdict::Holds,
            "{metric}: a part shows it ahead"
        );
        assert_eq!(asked_again(metric, "cached", 1000, 970.0, &[]), ClaimVerdict::Undecided, "{metric}: it ties");
    }
    // All of the job has times alone.
    for (pairs, in_time) in [([[2e9, 1e9]; 5], ClaimVerdict::Holds), ([[1e9, 1e9]; 5], ClaimVerdict::NoDifference)] {
        assert_eq!(asked_again("time", "cached", 1000, 3000.0, &pairs), in_time);
        assert_eq!(asked_again("cpu", "cached", 1000, 3000.0, &pairs), ClaimVerdict::Undecided);
    }
}

#[test]
fn a_claim_is_not_confirmed_only_under_conditions_that_it_is_decided_under() {
    let (faster, crossing) = (&[1.28][..], &[0.9, 1.3][..]);
    let (holds, says_nothing) = (&[1.28; 5][..], &[1.28, 1.1, 1.3][..]);
    let found = |blocks| {
        let claim = claimed(blocks);
        assert_eq!(claim.verdict, ClaimVerdict::Holds, "{:?}", claim.reasons);
        let labels = claim.reasons.iter().find_map(|it| match it {
            Reason::Conclusion(Conclusion::Unconfirmed { labels }) => Some(labels.clone()),
            _ => None,
        });
        let measured: Vec<_> = claim.measured.into_iter().map(|it| (it.condition, it.answer_of, it.verdict)).collect();
        let open = (AnswerOf::RoundsUnconfirmed, ClaimVerdict::Undecided);
        assert_eq!((measured[2].1, measured[2].2), open, "nothing is decided there");
        labels
    };
    let labels = found([(faster, holds), (faster, holds), (crossing, says_nothing)]);
    assert_eq!(labels, None, "what is decided is confirmed");
    let labels = found([(faster, says_nothing), (faster, holds), (crossing, says_nothing)]);
    assert_eq!(labels, Some(vec!["64 KiB".to_string()]), "the conditions differ in their blocks alone");
}

/// `read` and `mmap` with settings of their own scan a part of a file of 1 GiB that is read ahead in windows of 8 MiB, in
/// blocks of 64 KiB and of 1 MiB: eight windows. The claim holds one block against the other.
fn few_windows(state: &str, own: &str) -> Lab {
    let text = format!(
        "title = \"t\"\n[arms]\nr = {{ method = \"read\", own = {{ {own} }} }}\nm = {{ method = \"mmap\", own = {{ {own} }} }}\n\
         [[compare]]\nworkload = \"scan\"\nblock = [\"64 KiB\", \"1 MiB\"]\nstate = \"{state}\"\narms = [\"r\", \"m\"]\n\
         [[claim]]\nid = \"it\"\nsays = \"s\"\narm = \"m\"\nthan = \"r\"\nexpect = \"lower\"\n\
         where = {{ block = [\"64 KiB\"] }}\nthan_where = {{ block = [\"1 MiB\"] }}\n"
    );
    let mut lab = Lab::of_experiment(&text);
    lab.record.target.read_ahead_most_bytes = Some(8 << 20);
    let own = lab.record.cells.iter_mut().filter_map(|it| it.own_condition.as_mut());
    own.chain(&mut lab.record.conditions).for_each(|it| it.file_bytes = 1 << 30);
    for (cell, ns) in [100.0, 20.0, 100.0, 80.0].into_iter().enumerate() {
        lab.measure(cell, 10, ns, |_, _| {});
    }
    lab
}

#[test]
fn a_window_of_more_bytes_than_can_be_counted_is_larger_than_any_scan() {
    let mut lab = few_windows("cold", "state = \"cold\"");
    lab.record.target.read_ahead_most_bytes = Some(u64::MAX);
    let few = |it: &Reason| matches!(it, Reason::FewWindows { window_bytes: u64::MAX, .. });
    assert!(lab.analyze().comparisons.iter().all(|it| it.reason.as_ref().is_some_and(few)));
}

#[test]
fn whether_a_scan_is_of_few_read_ahead_windows_is_asked_of_what_its_arms_did() {
    let cold_by_their_own = few_windows("cached", "state = \"cold\"").analyze();
    let few = |it: &Reason| matches!(it, Reason::FewWindows { covered_bytes, .. } if *covered_bytes == 64 * MIB);
    for it in &cold_by_their_own.comparisons {
        assert_eq!(it.verdict, Verdict::Undecided);
        assert!(it.reason.as_ref().is_some_and(few), "{:?}", it.reason);
    }
    let claim = &cold_by_their_own.claims[0];
    assert_eq!(claim.verdict, ClaimVerdict::Undecided);
    let cached_by_their_own = few_windows("cold", "state = \"cached\"").analyze();
    let verdicts: Vec<Verdict> = cached_by_their_own.comparisons.iter().map(|it| it.verdict).collect();
    assert_eq!(verdicts, [Verdict::Faster; 2], "{:?}", cached_by_their_own.comparisons[0].reason);
    assert_eq!(cached_by_their_own.claims[0].verdict, ClaimVerdict::Holds, "{:?}", cached_by_their_own.claims[0]);
}

#[test]
fn a_size_that_an_arm_was_given_is_the_question_and_not_too_small() {
    let verdict = |own: &str| few_windows("cold", own).analyze().comparisons[0].verdict;
    assert_eq!(verdict("range = { bytes = \"64 MiB\" }"), Verdict::Faster);
    assert_eq!(verdict("consume = \"sum-bytes\""), Verdict::Undecided);
}
