//! The same comparisons, fill by fill.

use schema::{
    Fill, Reading, Span, State,
    findings::{UnjudgedCause, Verdict},
    record::FilledRange,
};

use crate::support::{Lab, random};

/// Random reads of 64 B under a fill: what a read takes with pread and with a mapping, in nanoseconds.
fn lab(fills: &[(Fill, f64, f64)]) -> Lab {
    let mut lab = Lab::new();
    for &(fill, pread_ns, mmap_ns) in fills {
        let mut condition = random("64 B", State::Cached);
        condition.fill = Some(fill);
        let index = lab.condition(condition);
        let cells = [lab.cell(index, "pread"), lab.cell(index, "mmap")];
        lab.measure(cells[0], 10, pread_ns, |_, pass| {
            pass.reads("minor_faults", 0.0);
        });
        lab.measure(cells[1], 10, mmap_ns, |_, pass| {
            pass.reads("minor_faults", 1000.0);
        });
        lab.record.fills.push(FilledRange {
            range: Span { offset: 0, bytes: 64 << 20 },
            fill: Some(fill),
            method: String::new(),
            elapsed_ns: 1_000_000_000,
            folio_orders: Reading::unavailable("not root"),
            pages_per_fault: Some(16.0),
            looked_again: None,
        });
    }
    lab
}

#[test]
fn a_mapping_that_loses_on_one_fill_and_wins_on_another_is_shown_on_both() {
    let findings = lab(&[(Fill::Random, 500.0, 1500.0), (Fill::Sequential, 500.0, 100.0)]).analyze();
    let verdicts: Vec<(Fill, Verdict)> = findings.fills.iter().map(|it| (it.fill, it.comparisons[0].verdict)).collect();
    assert_eq!(verdicts, [(Fill::Sequential, Verdict::Faster), (Fill::Random, Verdict::Slower)]);
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
    // Another question is none of the same: nothing to be said of it.
    assert_eq!(of(&|lab| lab.record.conditions[1].block_bytes = 4096), (false, vec![]));
}
