//! Processes of one cell that were compiled differently are found, shown one by one, and never averaged away.

use schema::{
    Findings, State,
    caution::Caution,
    findings::{ClaimVerdict, Verdict},
    reason::Reason,
    warning::Warning,
};

use crate::support::{Lab, Pass, scan};

/// Twelve rounds of `native/mmap` at 1000 ns and `jvm/mapped`, whose forks are as `fork` has them.
fn run(fork: impl Fn(u32, &mut Pass)) -> Findings {
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64 KiB", State::Cached));
    let cells = [lab.cell(condition, "native/mmap"), lab.cell(condition, "jvm/mapped")];
    lab.measure(cells[0], 12, 1000.0, |_, pass| {
        pass.reads("loop_bytes_per_s", 10e9);
    });
    lab.measure(cells[1], 12, 1200.0, |round, pass| {
        pass.reads("warm_pass_ns_per_op", 1150.0).reads("first_pass_ns_per_op", 11_500.0);
        pass.reads("loop_bytes_per_s", 4e9).reads("collections", 0.0).reads("compile_ns", 0.0);
        fork(round, pass);
    });
    lab.analyze()
}

#[test]
fn forks_that_agree_are_nothing_to_speak_of() {
    let findings = run(|_, _| {});
    assert_eq!(findings.splits, []);
    assert_eq!(findings.comparisons[0].verdict, Verdict::Slower);
    assert_eq!(findings.comparisons[0].warnings, []);
}

#[test]
fn one_fork_that_was_slow_over_its_warm_up_file_too_is_marked() {
    let findings = run(|round, pass| {
        if round == 4 {
            pass.ns_per_op *= 14.0;
            pass.reads("warm_pass_ns_per_op", 16_000.0).reads("loop_bytes_per_s", 0.3e9);
        }
    });
    let [split] = &findings.splits[..] else { panic!("{:?}", findings.splits) };
    assert_eq!((split.arm.as_str(), split.in_code, split.forks.len()), ("jvm/mapped", true, 12));
    assert!((13.0..15.0).contains(&split.factor), "{}", split.factor);
    let slow: Vec<u32> = split.forks.iter().filter(|it| it.slow).map(|it| it.round).collect();
    assert_eq!(slow, [4]);
    assert_eq!((split.says.slow, split.says.forks, split.says.in_code), (1, 12, true));
    let marked = findings.cells.iter().find(|it| it.arm.name == "jvm/mapped").unwrap();
    assert!(matches!(marked.reasons[..], [Reason::ForksDisagree { slow: 1, forks: 12, .. }]), "{marked:?}");
    // Slower in either group, so the verdict stands, with the warning.
    assert_eq!(findings.comparisons[0].verdict, Verdict::Slower);
    assert_eq!(findings.comparisons[0].warnings[0], Caution::ForksDisagree(split.says.clone()));
    assert!(findings.warnings.contains(&Warning::ForksDisagree { first: split.says.clone(), more: 0 }));
}

#[test]
fn one_slow_process_of_a_runtime_that_compiles_nothing_is_interference() {
    let splits = |arm: &str, slow: u32| {
        let mut lab = Lab::new();
        let condition = lab.condition(scan("64 KiB", State::Cached));
        let cell = lab.cell(condition, arm);
        lab.measure(cell, 12, 1200.0, |round, pass| {
            let is_slow = round < slow;
            pass.ns_per_op *= if is_slow { 2.2 } else { 1.0 };
            pass.reads("warm_pass_ns_per_op", if is_slow { 2600.0 } else { 1150.0 });
        });
        lab.analyze().splits.iter().map(|it| it.in_code).collect::<Vec<bool>>()
    };
    assert_eq!(splits("jvm/stream", 1), [true]);
    assert_eq!(splits("python/mmap", 1), [false; 0]);
    assert_eq!(splits("python/mmap", 2), [false]);
}

#[test]
fn forks_of_a_control_are_not_those_of_the_arm() {
    let splits = |is_control: bool| {
        let mut lab = Lab::new();
        let condition = lab.condition(scan("64 KiB", State::Cached));
        let cells = [lab.cell(condition, "jvm/stream"), lab.control(condition, "jvm/stream")];
        for (at, cell) in cells.into_iter().enumerate() {
            lab.measure(cell, 12, 1200.0, |round, pass| {
                let is_slow = round == 4 && is_control == (at == 1);
                pass.ns_per_op *= if is_slow { 14.0 } else { 1.0 };
                pass.reads("warm_pass_ns_per_op", if is_slow { 16_000.0 } else { 1150.0 });
            });
        }
        lab.analyze().splits.len()
    };
    assert_eq!([false, true].map(splits), [1, 0]);
}

#[test]
fn forks_of_an_arm_with_a_state_of_its_own_are_said_to_be_of_that_state() {
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64 KiB", State::Locked));
    let cell = lab.cell(condition, "jvm/mapped");
    lab.own(cell, |it| it.state = State::Cached);
    lab.measure(cell, 12, 1200.0, |round, pass| {
        pass.reads("warm_pass_ns_per_op", 1150.0);
        pass.ns_per_op *= if round % 3 == 0 { 3.0 } else { 1.0 };
    });
    assert_eq!(lab.analyze().splits[0].says.label, "scan 64 KiB locked, cached instead of locked");
}

#[test]
fn one_slow_pass_of_a_fork_that_was_fast_over_its_warm_up_file_is_a_hiccup() {
    let findings = run(|round, pass| pass.ns_per_op *= if round == 4 { 14.0 } else { 1.0 });
    assert_eq!(findings.splits, []);
}

#[test]
fn a_warm_up_file_that_was_a_little_slower_is_a_busy_machine() {
    let findings = run(|round, pass| {
        if round == 4 {
            pass.ns_per_op *= 14.0;
            pass.reads("warm_pass_ns_per_op", 1600.0);
        }
    });
    assert_eq!(findings.splits, []);
}

#[test]
fn several_slow_forks_are_marked_whatever_their_warm_up_files_showed() {
    let findings = run(|round, pass| pass.ns_per_op *= if round % 3 == 0 { 3.0 } else { 1.0 });
    let [split] = &findings.splits[..] else { panic!("{:?}", findings.splits) };
    assert_eq!((split.says.slow, split.says.forks, split.says.in_code), (4, 12, false));
}

#[test]
fn where_the_groups_would_decide_differently_nothing_is_decided() {
    // Two of twelve would not move the median: it would say "faster" and no more.
    let findings = run(|round, pass| {
        pass.ns_per_op *= 0.5;
        if round < 2 {
            pass.ns_per_op *= 10.0;
            pass.reads("warm_pass_ns_per_op", 12_000.0);
        }
    });
    let comparison = &findings.comparisons[0];
    assert_eq!(comparison.verdict, Verdict::Undecided);
    let reason = report::words::reason(comparison.reason.as_ref().unwrap());
    assert!(reason.contains("depends on the fork") && reason.contains("1.7x faster"), "{reason}");
    assert!(reason.contains("6.0x slower"), "{reason}");
}

/// A claim about `jvm/mapped`, in most of whose forks it is twice as fast as `native/mmap`.
fn claimed(claim: &str, slow: impl Fn(u32) -> bool, factor: f64) -> (ClaimVerdict, ClaimVerdict) {
    let mut lab = Lab::of_experiment(&format!(
        r#"
        title = "Forks"
        source = "a test"
        [[compare]]
        arms = ["native/mmap", "jvm/mapped"]
        workload = "scan"
        block = "64 KiB"
        state = "cached"
        [[claim]]
        id = "it"
        says = "it is so"
        arm = "jvm/mapped"
        {claim}"#
    ));
    lab.measure(0, 12, 1000.0, |_, _| {});
    lab.measure(1, 12, 500.0, |round, pass| {
        pass.reads("warm_pass_ns_per_op", 500.0);
        if slow(round) {
            pass.ns_per_op *= factor;
            pass.reads("warm_pass_ns_per_op", 500.0 * factor);
        }
    });
    let findings = lab.analyze();
    (findings.claims[0].verdict, findings.claims[0].measured[0].verdict)
}

#[test]
fn a_claim_that_each_group_of_forks_would_decide_differently_is_undecided() {
    use ClaimVerdict::{Holds, Reversed, Undecided};
    let lower = "than = \"native/mmap\"\nexpect = \"lower\"";
    assert_eq!(claimed(lower, |_| false, 1.0), (Holds, Holds));
    // Two of twelve forks would not move the median.
    assert_eq!(claimed(lower, |round| round < 2, 10.0), (Undecided, Undecided));
    let higher = "than = \"native/mmap\"\nexpect = \"higher\"";
    assert_eq!(claimed(higher, |round| round < 2, 10.0), (Undecided, Undecided));
    let at_most = "expect = { at-most = 800 }";
    assert_eq!(claimed(at_most, |_| false, 1.0), (Holds, Holds));
    assert_eq!(claimed(at_most, |round| round < 2, 10.0), (Undecided, Undecided));
    // Both groups are on the same side.
    assert_eq!(claimed(lower, |round| round < 2, 1.5), (Holds, Holds));
    assert_eq!(claimed(higher, |round| round < 2, 1.5), (Reversed, Reversed));
}

#[test]
fn noise_of_an_arm_without_a_warm_up_is_no_split() {
    let mut lab = Lab::duel(scan("64 KiB", State::Cold), ("read", 1000.0), ("mmap", 1000.0));
    lab.measure(1, 12, 1000.0, |round, pass| pass.ns_per_op *= if round % 2 == 0 { 4.0 } else { 1.0 });
    assert_eq!(lab.analyze().splits, []);
}

#[test]
fn the_loops_of_runtimes_stand_beside_each_other() {
    let compiling = |times: f64| {
        run(|round, pass| {
            pass.ns_per_op *= times;
            pass.reads("compile_ns", if round == 0 { 60_000_000.0 } else { 0.0 }).reads("collections", 1.0);
            pass.reads("warm_up_quiet", if round == 1 { 0.0 } else { 1.0 });
        })
    };
    let short = &compiling(1.0).runtimes[0];
    assert_eq!(
        (short.compile_share, short.not_quiet),
        (None, Some(1)),
        "passes of a millisecond are no whole for a share"
    );
    let findings = compiling(10.0);
    let [java, native] = &findings.runtimes[..] else { panic!("{:?}", findings.runtimes) };
    for it in [java, native] {
        let arms: Vec<&str> = it.cells.iter().map(|id| findings.cells[id.cell].arm.name.as_str()).collect();
        assert_eq!(arms, [it.arm.as_str()]);
    }
    assert_eq!((java.arm.as_str(), native.arm.as_str()), ("jvm/mapped", "native/mmap"));
    assert_eq!((java.loop_bytes_per_s, native.loop_bytes_per_s), (Some(4e9), Some(10e9)));
    assert_eq!((java.passes, java.not_quiet, java.collections), (12, Some(1), Some(12.0)));
    assert!((java.first_pass.unwrap() - 10.0).abs() < 1e-9 && native.first_pass.is_none());
    assert!(java.compile_share.unwrap() > 0.0 && native.compile_share.is_none());
}

#[test]
fn forks_that_disagree_leave_open_a_claim_about_two_conditions() {
    use ClaimVerdict::{Holds, Undecided};
    let verdict = |slow: &[usize], than: &str| {
        let mut lab = Lab::of_experiment(&format!(
            r#"
            title = "Forks"
            source = "a test"
            [[compare]]
            arms = ["native/mmap", "jvm/mapped"]
            workload = "scan"
            block = "64 KiB"
            state = ["cached", "mapped"]
            [[claim]]
            id = "it"
            says = "it is so"
            arm = "jvm/mapped"
            expect = "lower"
            where = {{ state = ["cached"] }}
            than_where = {{ state = ["mapped"] }}
            {than}"#
        ));
        for (cell, ns) in [(0, 1000.0), (1, 500.0), (2, 1000.0), (3, 750.0)] {
            lab.measure(cell, 12, ns, |round, pass| {
                // Fast ones where it is mapped would decide it the other way round, as slow ones where it is cached would.
                let factor = match slow.contains(&cell) && round < 2 {
                    true if cell == 1 => 10.0,
                    true => 0.1,
                    false => 1.0,
                };
                pass.ns_per_op *= factor;
                if cell % 2 == 1 {
                    pass.reads("warm_pass_ns_per_op", ns * factor);
                }
            });
        }
        lab.analyze().claims[0].verdict
    };
    for than in ["", "than = \"native/mmap\""] {
        assert_eq!(verdict(&[], than), Holds, "{than}");
        assert_eq!(verdict(&[1], than), Undecided, "{than}");
        assert_eq!(verdict(&[3], than), Undecided, "{than}");
    }
}
