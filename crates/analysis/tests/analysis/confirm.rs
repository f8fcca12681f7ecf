//! Answers that were measured again at the size of the job.

use schema::{State, findings::Verdict, record::Confirmation};

use crate::support::{Lab, MIB, scan};

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
        invalid: vec![],
    });
    lab
}

#[test]
fn an_answer_that_holds_at_the_size_of_the_job_is_confirmed() {
    let findings = job(&[1.2, 1.3, 1.1]).analyze();
    let comparison = &findings.comparisons[0];
    assert_eq!((comparison.verdict, comparison.confirmed.as_ref().unwrap().holds), (Verdict::Faster, Some(true)));
    assert!((1.25..1.31).contains(&comparison.speedup.unwrap().median), "the rounds' own figure stays");
    assert!(findings.map[0].confirmed);
    assert_eq!(findings.map[0].winner.as_deref(), Some("native/mmap"));
}

#[test]
fn an_answer_that_does_not_hold_is_replaced_by_what_holds() {
    let findings = job(&[0.8, 0.85, 0.9]).analyze();
    let comparison = &findings.comparisons[0];
    let confirmed = comparison.confirmed.as_ref().unwrap();
    assert_eq!((comparison.verdict, confirmed.holds), (Verdict::Slower, Some(false)));
    assert_eq!(confirmed.rounds_verdict, Verdict::Faster);
    assert!((comparison.speedup.unwrap().median - 0.85).abs() < 1e-9);
    assert!(comparison.warnings.iter().any(|it| it.contains("size of the job")), "{:?}", comparison.warnings);
    assert_eq!((findings.map[0].winner.as_deref(), findings.map[0].confirmed), (Some("native/read"), true));
    assert_eq!((&comparison.because, &findings.map[0].because), (&None, &None), "what was counted explains the rounds");
    assert!(job(&[1.2, 1.3, 1.1]).analyze().comparisons[0].because.is_some());
}

#[test]
fn pairs_that_contradict_each_other_and_too_few_of_them_confirm_nothing() {
    for ratios in [&[0.8, 1.3, 1.2][..], &[0.8, 0.8], &[0.8, f64::NAN, f64::INFINITY, 0.8]] {
        let findings = job(ratios).analyze();
        assert_eq!(findings.comparisons[0].verdict, Verdict::Faster, "{ratios:?}");
        assert!(!findings.map[0].confirmed, "{ratios:?}");
    }
}

#[test]
fn where_an_answer_turned_an_arm_that_was_not_measured_at_that_size_does_not_win() {
    let mut lab = job(&[0.8, 0.85, 0.9]);
    let third = lab.cell(0, "mmap+sequential");
    lab.measure(third, 10, 110.0, |_, _| {});
    let map = &lab.analyze().map[0];
    assert_eq!(map.winner.as_deref().filter(|it| it.contains("mmap")), None, "{}", map.says);
}

#[test]
fn the_answer_to_be_measured_again_is_the_winner_against_the_baseline() {
    let mut lab = Lab::duel(scan("1 MiB", State::Cold), ("read", 128.0), ("mmap", 100.0));
    let slow = lab.cell(0, "direct");
    lab.measure(slow, 10, 500.0, |_, _| {});
    assert_eq!(analysis::headlines(&lab.record), [[0, 1]]);
    let lab = Lab::duel(scan("1 MiB", State::Cold), ("read", 100.0), ("mmap", 300.0));
    assert_eq!(analysis::headlines(&lab.record), [[0, 1]], "where the baseline wins, the arm that comes closest");
}

#[test]
fn a_cold_scan_of_few_read_ahead_windows_decides_nothing_unless_the_whole_job_was_measured() {
    let text = "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"1 MiB\"\nstate = \"cold\"\narms = [\"read\", \"mmap\"]\n";
    let small = |file_bytes: u64, confirmed: bool| {
        let mut lab = if confirmed { job(&[1.2, 1.3, 1.1]) } else { job(&[]) };
        lab.record.experiment = schema::Experiment::parse("t", text).unwrap();
        lab.record.origins = vec![0];
        lab.record.conditions[0].file_bytes = file_bytes;
        lab.record.target.device = schema::Reading::Value(schema::record::Device {
            name: "vda".into(),
            read_ahead_bytes: schema::Reading::Value(8 << 20),
            scheduler: schema::Reading::unavailable("none"),
            rotational: schema::Reading::unavailable("none"),
        });
        lab.analyze().comparisons[0].verdict
    };
    let whole = scan("1 MiB", State::Cold).file_bytes;
    assert_eq!(small(whole, false), Verdict::Faster, "the whole file is the job");
    assert_eq!(small(1 << 30, false), Verdict::Undecided);
    assert_eq!(small(1 << 30, true), Verdict::Faster);
}
