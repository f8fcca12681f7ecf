//! The same comparisons, fill by fill.

use schema::{
    Fill, Reading, Span, State, Workload,
    findings::{UnjudgedCause, Verdict},
    record::{FilledRange, LookedAgain},
};

use crate::support::{Lab, random};

/// Random reads of 64 B under a fill: what a read takes with pread and with a mapping, in nanoseconds.
fn lab(fills: &[(Fill, f64, f64)]) -> Lab {
    let mut lab = Lab::new();
    fills.iter().for_each(|&(fill, pread_ns, mmap_ns)| read(&mut lab, fill, &[("pread", pread_ns), ("mmap", mmap_ns)]));
    lab
}

/// 64 MiB, made in a second.
fn filled(fill: Fill) -> FilledRange {
    FilledRange {
        range: Span { offset: 0, bytes: 64 << 20 },
        fill: Some(fill),
        method: String::new(),
        elapsed_ns: 1_000_000_000,
        folio_orders: Reading::unavailable("not root"),
        pages_per_fault: Some(16.0),
        looked_again: None,
        kept: false,
    }
}

fn read(lab: &mut Lab, fill: Fill, arms: &[(&str, f64)]) {
    let mut condition = random("64 B", State::Cached);
    condition.fill = Some(fill);
    let index = lab.condition(condition);
    for &(arm, ns) in arms {
        let cell = lab.cell(index, arm);
        let faults = if arm.contains("mmap") { 1000.0 } else { 0.0 };
        lab.measure(cell, 10, ns, |_, pass| {
            pass.reads("minor_faults", faults);
        });
    }
    lab.record.fills.push(filled(fill));
}

#[test]
fn a_mapping_that_loses_on_one_fill_and_wins_on_another_is_shown_on_both() {
    let findings = lab(&[(Fill::Random, 500.0, 1500.0), (Fill::Sequential, 500.0, 100.0)]).analyze();
    let verdicts: Vec<(Fill, Verdict)> = findings.fills.iter().map(|it| (it.fill, it.comparisons[0].verdict)).collect();
    assert_eq!(verdicts, [(Fill::Sequential, Verdict::Faster), (Fill::Random, Verdict::Slower)]);
}

#[test]
fn of_two_fills_of_a_kind_the_one_is_shown_that_stayed_as_it_was() {
    let shown_of = |changed: [bool; 2], kept: bool| {
        let mut lab = lab(&[(Fill::Random, 500.0, 1500.0), (Fill::Sequential, 500.0, 100.0)]);
        let again =
            FilledRange { pages_per_fault: Some(1.0), elapsed_ns: 3_000_000_000, ..lab.record.fills[0].clone() };
        lab.record.fills.push(again);
        for (at, changed) in [0, 2].into_iter().zip(changed) {
            lab.record.fills[at].looked_again = Some(Reading::Value(LookedAgain {
                folio_orders: Reading::unavailable("not root"),
                pages_per_fault: Some(8.0),
                changed_share: if changed { 0.5 } else { 0.0 },
                is_the_fill: !changed,
            }));
        }
        lab.record.fills[0].kept = kept;
        let findings = lab.analyze();
        let random = findings.fills.iter().find(|it| it.fill == Fill::Random).unwrap();
        (random.pages_per_fault, random.elapsed_ns)
    };
    let shown = |changed: [bool; 2]| shown_of(changed, false);
    let (first, second) = ((Some(16.0), 1_000_000_000), (Some(1.0), 3_000_000_000));
    // Its passes did not count, and were made again after the second.
    assert_eq!(shown([true, false]), second);
    assert_eq!(shown([false, false]), first);
    assert_eq!(shown([true, true]), first, "none is better than the other");
    assert_eq!(shown_of([true, false], true), first, "passes before an earlier look count");
}

#[test]
fn filling_anew_pays_back_after_what_it_takes_over_what_a_read_saves() {
    let findings = lab(&[(Fill::Random, 500.0, 1500.0), (Fill::Sequential, 500.0, 100.0)]).analyze();
    let refill = findings.fills[1].refill.as_ref().unwrap();
    assert_eq!(refill.fill, Fill::Sequential);
    // A second for 400 ns a read.
    assert!((refill.ops / 2_500_000.0 - 1.0).abs() < 0.05, "{refill:?}");
    assert_eq!(refill.passes, refill.ops / refill.condition.ops as f64);
    assert_eq!(findings.fills[0].refill, None, "nothing is better than the better one");
}

#[test]
fn what_a_read_takes_before_and_after_filling_anew_stands_beside_the_arm_that_takes_it() {
    for (pread_ns, now_arm) in [(500.0, "native/pread"), (2500.0, "native/mmap")] {
        let findings = lab(&[(Fill::Random, pread_ns, 1500.0), (Fill::Sequential, 500.0, 100.0)]).analyze();
        let refill = findings.fills[1].refill.as_ref().unwrap();
        assert_eq!((refill.now_arm.as_str(), refill.arm.as_str()), (now_arm, "native/mmap"));
        let of = |arm: &str, condition: usize| {
            let cell =
                findings.cells.iter().find(|it| it.arm.name == arm && it.id.condition.condition_index == condition);
            cell.unwrap().ns_per_op.unwrap().median
        };
        assert_eq!((refill.now_ns_per_op, refill.then_ns_per_op), (of(now_arm, 0), of("native/mmap", 1)));
    }
}

#[test]
fn the_fastest_read_after_filling_anew_may_be_a_call() {
    let findings = lab(&[(Fill::Random, 2500.0, 2900.0), (Fill::Sequential, 400.0, 600.0)]).analyze();
    let refill = findings.fills[1].refill.as_ref().unwrap();
    assert_eq!((refill.now_arm.as_str(), refill.arm.as_str()), ("native/pread", "native/pread"));
    assert!((refill.now_ns_per_op / refill.then_ns_per_op - 2500.0 / 400.0).abs() < 0.3, "{refill:?}");
}

#[test]
fn the_fastest_read_is_of_all_arms_and_the_mapping_that_is_shown_is_the_plainest() {
    let mut lab = Lab::new();
    for (fill, plain_ns, populated_ns) in [(Fill::Random, 900.0, 1500.0), (Fill::Sequential, 600.0, 500.0)] {
        read(
            &mut lab,
            fill,
            &[("pread", 1200.0), ("mmap+map-populate", populated_ns), ("mmap", plain_ns), ("uring", 950.0)],
        );
    }
    let findings = lab.analyze();
    assert!(findings.fills.iter().all(|it| it.comparisons.len() == 1 && it.comparisons[0].arm == "native/mmap"));
    let refill = findings.fills[1].refill.as_ref().unwrap();
    assert_eq!((refill.now_arm.as_str(), refill.arm.as_str()), ("native/mmap", "native/mmap+map-populate"));
    assert!((refill.now_ns_per_op - refill.then_ns_per_op - 400.0).abs() < 20.0, "{refill:?}");
}

#[test]
fn the_gain_of_other_arms_is_none_of_the_fill() {
    let mut lab = Lab::new();
    for (fill, mapped_ns) in [(Fill::Random, 2000.0), (Fill::Sequential, 1500.0)] {
        read(&mut lab, fill, &[("pread", 1000.0), ("mmap", mapped_ns)]);
    }
    let second = lab.record.conditions.len();
    for (fill, mapped_ns) in [(Fill::Random, 2000.0), (Fill::Sequential, 1500.0)] {
        read(&mut lab, fill, &[("direct", 9000.0), ("mmap", mapped_ns)]);
    }
    let refill = lab.analyze().fills.iter().find(|it| it.fill == Fill::Random).unwrap().refill.clone();
    let refill = refill.unwrap();
    assert_eq!(
        (refill.id.condition_index, refill.now_arm.as_str(), refill.arm.as_str()),
        (second, "native/mmap", "native/mmap")
    );
    assert!((refill.now_ns_per_op / refill.then_ns_per_op - 2000.0 / 1500.0).abs() < 0.01, "{refill:?}");
}

#[test]
fn what_may_be_noise_is_no_saving() {
    let reads = |swing: f64| {
        let fills = [(Fill::Random, 500.0, 560.0), (Fill::Sequential, 500.0, 440.0)];
        let mut lab = lab(&fills);
        // Each read takes more or less by so much, from round to round.
        for sample in lab.record.samples.iter_mut().filter(|it| it.round % 2 == 0) {
            if let schema::record::Outcome::Ok { phases, .. } = &mut sample.outcome {
                phases.work_ns = (phases.work_ns as f64 * swing) as u64;
            }
        }
        lab
    };
    let gains = |lab: &Lab| lab.analyze().fills[1].refill.is_some();
    assert!(gains(&reads(1.0)), "500 ns beside 440 ns");
    assert!(!gains(&reads(1.4)), "the intervals of the two overlap");
    let mut few = reads(1.0);
    few.record.samples.retain(|it| it.round < 4);
    assert!(!gains(&few), "four passes decide nothing");
    let noisy = |control_ns: f64| {
        let mut lab = reads(1.0);
        let control = lab.control(0, "pread");
        lab.measure(control, 10, control_ns, |_, _| {});
        lab
    };
    assert!(gains(&noisy(515.0)));
    assert!(!gains(&noisy(600.0)), "the same arm, measured twice, differs by more");
    // 1.1 times under each of two conditions is 1.14 times between them.
    assert!(!gains(&noisy(550.0)));
}

#[test]
fn the_mapping_that_is_shown_is_one_that_does_what_is_asked() {
    let mut lab = Lab::new();
    for fill in [Fill::Random, Fill::Sequential] {
        let index = lab.condition(schema::Condition { fill: Some(fill), ..random("64 B", State::Cached) });
        for (arm, ns) in [("pread", 500.0), ("mmap", 50.0), ("mmap+random", 300.0)] {
            let cell = lab.cell(index, arm);
            if arm == "mmap" {
                lab.own(cell, |it| it.state = State::Mapped);
            }
            lab.measure(cell, 10, ns, |_, _| {});
        }
        lab.record.fills.push(filled(fill));
    }
    let shown: Vec<String> = lab.analyze().fills.iter().map(|it| it.comparisons[0].arm.clone()).collect();
    assert_eq!(shown, ["native/mmap+random"; 2]);
}

#[test]
fn the_kernels_time_for_a_fault_is_of_the_blocks_that_the_arm_read() {
    let mut lab = Lab::new();
    for fill in [Fill::Random, Fill::Sequential] {
        let index = lab.condition(schema::Condition { fill: Some(fill), ..random("64 B", State::Cached) });
        lab.cell(index, "pread");
        let mapped = lab.cell(index, "mmap");
        lab.own(mapped, |it| it.ops = 2000);
        lab.measure(mapped, 10, 500.0, |_, pass| {
            pass.reads("minor_faults", 1000.0).reads("user_ns", 0.0).reads("system_ns", 30e6);
        });
        lab.record.fills.push(filled(fill));
    }
    let found = lab.analyze().fills[0].comparisons[0].system_ns_per_fault.unwrap();
    assert!((found - 30_000.0).abs() < 1e-6, "30 milliseconds for a thousand faults, and not {found}");
}

#[test]
fn of_two_equal_conditions_the_one_whose_reads_gain_is_named() {
    let fills = [(Fill::Random, 500.0, 450.0), (Fill::Random, 2000.0, 1500.0), (Fill::Sequential, 500.0, 440.0)];
    let lab = lab(&fills);
    assert_eq!(lab.record.conditions[0], lab.record.conditions[1]);
    let findings = lab.analyze();
    let random = findings.fills.iter().find(|it| it.fill == Fill::Random).unwrap();
    assert_eq!(random.refill.as_ref().unwrap().id.condition_index, 1);
}

#[test]
fn a_copy_and_what_was_found_are_no_advice_and_one_fill_is_no_table() {
    let findings =
        lab(&[(Fill::Random, 500.0, 1500.0), (Fill::Written(1 << 20), 500.0, 100.0), (Fill::Found, 500.0, 90.0)])
            .analyze();
    assert!(findings.fills.len() == 3 && findings.fills.iter().all(|it| it.refill.is_none()));
    assert!(lab(&[(Fill::Random, 500.0, 1500.0)]).analyze().fills.is_empty());
}

#[test]
fn a_larger_fill_for_passes_at_the_size_of_the_job_is_not_what_the_rounds_were_measured_after() {
    let mut lab = lab(&[(Fill::Random, 500.0, 1500.0), (Fill::Sequential, 500.0, 100.0)]);
    let larger = FilledRange {
        range: Span { offset: 0, bytes: 1 << 30 },
        elapsed_ns: 16_000_000_000,
        pages_per_fault: Some(512.0),
        ..lab.record.fills[1].clone()
    };
    let beside = FilledRange { range: Span { offset: 64 << 20, bytes: 1 << 20 }, ..larger.clone() };
    lab.record.fills.extend([larger, beside]);
    let findings = lab.analyze();
    let sequential = &findings.fills[0];
    assert_eq!((sequential.range_bytes, sequential.pages_per_fault), (64 << 20, Some(16.0)));
    assert_eq!(findings.fills[1].refill.as_ref().unwrap().elapsed_ns, 1_000_000_000);
}

#[test]
fn the_file_as_it_was_written_later_is_not_what_was_read_before() {
    let written = Fill::Written(4096);
    for bytes in [32 << 20, 64 << 20] {
        let mut lab = lab(&[(Fill::Random, 500.0, 1500.0), (written, 500.0, 100.0)]);
        // Passes may be of less than what was filled before their sizes were known.
        for condition in &mut lab.record.conditions {
            condition.range.bytes = bytes;
        }
        let by_passes_that_write = FilledRange {
            range: Span { offset: 0, bytes },
            elapsed_ns: 0,
            pages_per_fault: Some(512.0),
            ..lab.record.fills[1].clone()
        };
        lab.record.fills.push(by_passes_that_write);
        let pages_per_fault = |lab: &Lab| {
            let findings = lab.analyze();
            findings.fills.iter().find(|it| it.fill == written).unwrap().pages_per_fault
        };
        assert_eq!(pages_per_fault(&lab), Some(16.0), "{bytes}");
        for condition in &mut lab.record.conditions {
            condition.workload = Workload::OverwriteRandom;
        }
        assert_eq!(pages_per_fault(&lab), Some(512.0), "{bytes}");
    }
}

#[test]
fn what_filling_anew_takes_is_of_what_is_read_and_not_of_what_is_written_beside_it() {
    let write = |lab: &mut Lab| {
        let mut condition = random("64 B", State::Cached);
        (condition.fill, condition.workload) = (Some(Fill::Sequential), Workload::OverwriteRandom);
        condition.range.bytes = 1 << 20;
        let index = lab.condition(condition);
        let cells = [lab.cell(index, "pwrite"), lab.cell(index, "mmap")];
        cells.into_iter().for_each(|it| lab.measure(it, 10, 700.0, |_, _| {}));
    };
    for writes_first in [false, true] {
        let mut lab = Lab::new();
        if writes_first {
            write(&mut lab);
        }
        read(&mut lab, Fill::Random, &[("pread", 500.0), ("mmap", 1500.0)]);
        read(&mut lab, Fill::Sequential, &[("pread", 500.0), ("mmap", 100.0)]);
        if !writes_first {
            write(&mut lab);
        }
        // What writes comes last.
        let made_anew = FilledRange {
            range: Span { offset: 0, bytes: 1 << 20 },
            elapsed_ns: 10_000_000,
            pages_per_fault: Some(1.0),
            ..lab.record.fills[1].clone()
        };
        lab.record.fills.push(made_anew);
        let findings = lab.analyze();
        let [sequential, random] = &findings.fills[..] else { panic!("{:?}", findings.fills) };
        assert_eq!((sequential.range_bytes, sequential.pages_per_fault), (64 << 20, Some(16.0)));
        assert_eq!(random.refill.as_ref().unwrap().elapsed_ns, 1_000_000_000);
    }
}

#[test]
fn what_another_fill_saves_is_said_of_equal_work_alone() {
    let of = |change: &dyn Fn(&mut Lab)| {
        let mut lab = lab(&[(Fill::Random, 500.0, 1500.0), (Fill::Sequential, 500.0, 100.0)]);
        change(&mut lab);
        let finding = lab.analyze().fills.remove(1);
        assert_eq!(finding.fill, Fill::Random);
        let causes: Vec<UnjudgedCause> = finding.not_judged.into_iter().map(|it| it.cause).collect();
        (finding.refill.is_some(), causes)
    };
    assert_eq!(of(&|_| {}), (true, vec![]));
    let (ops, bytes) = ((64 << 20) / 64, 64 << 20);
    let other =
        |then_ops, then_bytes| UnjudgedCause::OtherPasses { now_ops: ops, then_ops, now_bytes: bytes, then_bytes };
    assert_eq!(of(&|lab| lab.record.conditions[1].ops = 7), (false, vec![other(7, bytes)]));
    assert_eq!(of(&|lab| lab.record.conditions[1].range.bytes = 4096), (false, vec![other(ops, 4096)]));
    let unequal = |lab: &mut Lab| {
        for sample in lab.record.samples.iter_mut().filter(|it| it.cell == 3) {
            if let schema::record::Outcome::Ok { tally, .. } = &mut sample.outcome {
                tally.bytes /= 2;
            }
        }
    };
    assert_eq!(of(&unequal), (false, vec![UnjudgedCause::UnequalWork]));
    let others = |lab: &mut Lab| {
        for (cell, arm) in [(2, "pread+random"), (3, "mmap+random")] {
            lab.record.cells[cell].arm = arm.parse().unwrap();
        }
    };
    assert_eq!(of(&others), (false, vec![UnjudgedCause::NoSharedArm]));
    // Another question is none of the same: nothing to be said of it.
    assert_eq!(of(&|lab| lab.record.conditions[1].block_bytes = 4096), (false, vec![]));
}
