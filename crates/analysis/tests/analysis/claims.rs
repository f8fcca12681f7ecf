//! Claims and figures: frozen records on both sides of every threshold.

use expect_test::{Expect, expect};
use schema::{
    Condition, Reading,
    conclusion::Conclusion,
    experiment::{Metric, Unit, Variant},
    findings::{AnswerOf, ClaimFinding, ClaimVerdict, FigureFinding},
    reason::{NotInRun, Reason, Unseen},
    record::{FilledRange, FolioOrder, ScenarioResult},
    replaced::Replaced,
};

use crate::support::{Lab, MIB, Pass};

fn nothing(_: u32, _: &mut Pass) {}

/// An experiment with one claim, about two arms under one condition.
fn claimed([baseline, arm]: [&str; 2], claim: &str) -> String {
    format!(
        r#"
        title = "Duel"
        source = "somebody, somewhere"
        [[compare]]
        arms = ["{baseline}", "{arm}"]
        workload = "scan"
        block = "64 KiB"
        state = "cached"
        [[claim]]
        id = "it"
        says = "it is so"
        {claim}"#
    )
}

fn duel(claim: &str, adjust_read: impl Fn(u32, &mut Pass), adjust_mmap: impl Fn(u32, &mut Pass)) -> Lab {
    let mut lab = Lab::of_experiment(&claimed(["read", "mmap"], claim));
    lab.measure(0, 10, 10_000.0, adjust_read);
    lab.measure(1, 10, 10_000.0, adjust_mmap);
    lab
}

/// Both arms at exactly these nanoseconds per block.
fn timed(claim: &str, read: f64, mmap: f64) -> Lab {
    duel(claim, move |_, pass| pass.ns_per_op = read, move |_, pass| pass.ns_per_op = mmap)
}

fn reading(name: &'static str, value: f64) -> impl Fn(u32, &mut Pass) {
    move |_, pass| {
        pass.reads(name, value);
    }
}

const FASTER: &str = r#"arm = "mmap"
than = "read"
expect = "lower""#;

#[track_caller]
fn only(lab: &Lab) -> ClaimFinding {
    let claims = lab.analyze().claims;
    assert_eq!(claims.len(), 1);
    claims[0].clone()
}

/// Verdict and reason, and what was measured.
#[track_caller]
fn check(lab: &Lab, expected: Expect) {
    let mut text = String::new();
    for claim in lab.analyze().claims {
        text.push_str(&format!(
            "{} {}: {}\n",
            claim.id,
            claim.verdict.words(),
            report::words::reasons(&claim.reasons).unwrap_or_default()
        ));
        for it in claim.measured {
            let variant = match it.variant {
                Some(Variant::AsPublished) => ", as published",
                Some(Variant::Corrected) => ", corrected",
                None => "",
            };
            let decides = if it.decides { "decides" } else { "beside" };
            text.push_str(&format!(
                "  {}{variant}: {:.2} {} ({decides})\n",
                it.condition,
                it.value.median,
                it.verdict.words()
            ));
        }
    }
    expected.assert_eq(&text);
}

// --- Two arms -------------------------------------------------------------------------------------------------------

#[test]
fn a_direction_is_judged_on_both_sides_of_the_margin() {
    use ClaimVerdict::{Holds, NoDifference, Reversed};
    let verdict = |expect: &str, read, mmap| {
        only(&timed(&format!("arm = \"mmap\"\nthan = \"read\"\nexpect = \"{expect}\""), read, mmap)).verdict
    };
    for (read, mmap, lower, higher, same) in [
        (10_510.0, 10_000.0, Holds, Reversed, Reversed),
        (10_490.0, 10_000.0, NoDifference, NoDifference, Holds),
        (10_000.0, 10_490.0, NoDifference, NoDifference, Holds),
        (10_000.0, 10_510.0, Reversed, Holds, Reversed),
    ] {
        let all = ["lower", "higher", "same"].map(|expect| verdict(expect, read, mmap));
        assert_eq!(all, [lower, higher, same], "{read} against {mmap}");
    }
}

#[test]
fn the_published_ratio_stands_beside_ours() {
    let with_ratio = |ratio: &str| format!("{FASTER}\npublished = \"118 against 87 MB/s\"\n{ratio}");
    check(
        &timed(&with_ratio("ratio = 1.35"), 16_200.0, 10_000.0),
        expect![[r#"
            it holds: mmap faster than read: published 1.35x, here 1.62x [1.62, 1.62]; the ratio is 1.2 times the published one
              scan 64 KiB cached: 1.62 holds (decides)
        "#]],
    );
    check(
        &timed(&with_ratio("ratio = 1.35"), 8_000.0, 10_000.0),
        expect![[r#"
        it reversed: mmap faster than read: published 1.35x, here 0.80x [0.80, 0.80]
          scan 64 KiB cached: 0.80 reversed (decides)
    "#]],
    );
    check(
        &timed(&with_ratio(""), 10_100.0, 10_000.0),
        expect![[r#"
        it no difference: mmap faster than read: here 1.01x [1.01, 1.01]
          scan 64 KiB cached: 1.01 no difference (decides)
    "#]],
    );
    check(
        &timed("arm = \"mmap\"\nthan = \"read\"\nexpect = \"higher\"\nratio = 1.17", 10_000.0, 23_400.0),
        expect![[r#"
            it holds: mmap slower than read: published 1.17x, here 2.34x [2.34, 2.34]; the ratio is 2.0 times the published one
              scan 64 KiB cached: 0.43 holds (decides)
        "#]],
    );
    check(
        &timed("arm = \"mmap\"\nthan = \"read\"\nexpect = \"same\"\nratio = 1.0", 10_000.0, 13_000.0),
        expect![[r#"
            it reversed: time of read over mmap: published 1.00x, here 0.77x [0.77, 0.77]
              scan 64 KiB cached: 0.77 reversed (decides)
        "#]],
    );
    let finding = only(&timed(&with_ratio("ratio = 1.35"), 16_200.0, 10_000.0));
    assert_eq!((finding.study.as_str(), finding.source.as_str()), ("made-up", "somebody, somewhere"));
    assert_eq!(finding.published.words.as_deref(), Some("118 against 87 MB/s"));
    assert_eq!(finding.published.ratio, Some(1.35));
}

#[test]
fn an_interval_across_an_edge_and_few_rounds_decide_nothing() {
    let wide = |round: u32, pass: &mut Pass| pass.ns_per_op *= if round.is_multiple_of(2) { 0.8 } else { 0.99 };
    check(
        &duel(FASTER, nothing, wide),
        expect![[r#"
        it undecided: mmap faster than read: here 1.13x [1.01, 1.24]; the interval crosses the margin of 5 %
          scan 64 KiB cached: 1.13 undecided (decides)
    "#]],
    );
    let mut lab = timed(FASTER, 20_000.0, 10_000.0);
    lab.record.samples.retain(|sample| sample.round < 5);
    assert_eq!(only(&lab).verdict, ClaimVerdict::Holds);
    lab.record.samples.retain(|sample| sample.round < 4);
    let mut once = timed(FASTER, 20_000.0, 10_000.0);
    once.record.samples.retain(|sample| sample.round < 1);
    assert_eq!(
        report::words::reasons(&only(&once).reasons).unwrap_or_default(),
        "only 1 round; at least 5 are needed to decide anything"
    );
    check(
        &lab,
        expect![[r#"
        it undecided: mmap faster than read: here 2.00x [2.00, 2.00]; only 4 rounds; at least 5 are needed to decide anything
          scan 64 KiB cached: 2.00 undecided (decides)
    "#]],
    );
}

#[test]
fn faults_and_device_bytes_are_compared_per_pass() {
    let more = "arm = \"mmap\"\nthan = \"read\"\nmetric = \"minor-faults\"\nexpect = \"higher\"\nratio = 800.0";
    check(
        &duel(more, reading("minor_faults", 41.0), reading("minor_faults", 32_807.0)),
        expect![[r#"
            it holds: more minor faults with mmap than with read: published 800x, here 800x [800, 800]; the ratio is as published
              scan 64 KiB cached: 0.00 holds (decides)
        "#]],
    );
    check(
        &duel(more, reading("minor_faults", 0.0), reading("minor_faults", 1023.0)),
        expect![[r#"
            it holds: more minor faults with mmap than with read: published 800x, here 1,024x [1,024, 1,024]; the ratio is 1.3 times the published one; some passes took no fault, so one was added to all
              scan 64 KiB cached: 0.00 holds (decides)
        "#]],
    );
    check(
        &duel(more, reading("minor_faults", 0.0), reading("minor_faults", 0.0)),
        expect![[r#"
        it no difference: more minor faults with mmap than with read: published 800x, here 1.00x [1.00, 1.00]; some passes took no fault, so one was added to all
          scan 64 KiB cached: 1.00 no difference (decides)
    "#]],
    );
    check(
        &duel(more, nothing, nothing),
        expect![[r#"
            it not testable here: no minor faults: not observed in this run
        "#]],
    );
    let fewer = "arm = \"mmap\"\nthan = \"read\"\nmetric = \"device-read-bytes\"\nexpect = \"lower\"";
    check(
        &duel(fewer, reading("device_read_bytes", 40_960.0), reading("device_read_bytes", 0.0)),
        expect![[r#"
        it holds: fewer bytes from the device with mmap than with read: here 11.0x [11.0, 11.0]; some passes read nothing from the device, so one page was added to all
          scan 64 KiB cached: 11.00 holds (decides)
    "#]],
    );
}

#[test]
fn cpu_time_is_compared_round_by_round_and_coarse_time_by_its_sum() {
    let cpu = |metric: &str| format!("arm = \"mmap\"\nthan = \"read\"\nmetric = \"{metric}\"\nexpect = \"lower\"");
    let spends = |user_ms: f64, system_ms: f64| {
        move |_: u32, pass: &mut Pass| {
            pass.reads("user_ns", user_ms * 1e6).reads("system_ns", system_ms * 1e6);
        }
    };
    // The sum of both is exact, however short the pass.
    check(
        &duel(&cpu("cpu"), spends(0.0, 3.0), spends(1.0, 1.0)),
        expect![[r#"
        it holds: less CPU time with mmap than with read: here 1.50x [1.50, 1.50]
          scan 64 KiB cached: 1.50 holds (decides)
    "#]],
    );
    // Ten ticks of 4 ms in a pass are enough for a median.
    check(
        &duel(&cpu("user"), spends(80.0, 9.0), spends(40.0, 9.0)),
        expect![[r#"
        it holds: less user time with mmap than with read: here 2.00x [2.00, 2.00]
          scan 64 KiB cached: 2.00 holds (decides)
    "#]],
    );
    check(
        &duel(&cpu("user"), spends(80.0, 9.0), spends(39.9, 9.0)),
        expect![[r#"
            it holds: less user time with mmap than with read: here 2.01x [1.52, 2.65]; single passes are too short for the kernel's ticks, so the user time of all 10 rounds together is compared
              scan 64 KiB cached: 2.01 holds (decides)
        "#]],
    );
    // A tick in every third pass: the sums tell.
    let ticks = |every: u32| {
        move |round: u32, pass: &mut Pass| {
            pass.reads("user_ns", 30e6).reads("system_ns", if round.is_multiple_of(every) { 4e6 } else { 0.0 });
        }
    };
    check(
        &duel(&cpu("system"), spends(0.0, 40.0), ticks(3)),
        expect![[r#"
            it holds: less system time with mmap than with read: here 25.0x [7.89, 79.2]; single passes are too short for the kernel's ticks, so the system time of all 10 rounds together is compared
              scan 64 KiB cached: 25.00 holds (decides)
        "#]],
    );
    check(
        &duel(&cpu("system"), ticks(2), ticks(3)),
        expect![[r#"
            it undecided: less system time with mmap than with read: here 1.25x [0.27, 5.70]; the interval crosses the margin of 5 %; single passes are too short for the kernel's ticks, so the system time of all 10 rounds together is compared
              scan 64 KiB cached: 1.25 undecided (decides)
        "#]],
    );
    check(
        &duel(&cpu("system"), spends(0.0, 40.0), spends(30.0, 0.0)),
        expect![[r#"
            it undecided: too coarse: the kernel's ticks counted 0 ms of system time in all 10 passes together
        "#]],
    );
    // Below five ticks a pass the kernel gives most of the time to one of the two, and all passes together tell nothing.
    check(
        &duel(&cpu("system"), spends(0.0, 40.0), spends(19.9, 0.0)),
        expect![[r#"
            it undecided: a pass takes 19.9 ms of CPU time, and ticks of 4.00 ms do not show how that divides
        "#]],
    );
}

#[test]
fn pages_per_fault_are_the_distinct_pages_of_the_tally_over_the_faults() {
    let claim = "arm = \"mmap\"\nmetric = \"pages-per-fault\"\nexpect = { at-most = 1.5 }";
    // 8,192 random blocks of 64 bytes: their bytes would fill 128 pages.
    let pages = |pages: Option<u64>| {
        move |_: u32, pass: &mut Pass| {
            (pass.tally.distinct_bytes, pass.tally.distinct_pages) = (8192 * 64, pages);
            pass.reads("minor_faults", 265.0);
            pass.reads("major_faults", 0.0);
        }
    };
    let found = only(&duel(claim, pages(Some(5176)), pages(Some(5176))));
    assert_eq!(found.verdict, ClaimVerdict::Reversed);
    assert_eq!(found.measured[0].value.median, 5176.0 / 265.0);
    // A record of an older version: no guess.
    let found = only(&duel(claim, pages(None), pages(None)));
    assert_eq!(found.verdict, ClaimVerdict::NotTestableHere);
    assert!(report::words::reasons(&found.reasons).unwrap_or_default().contains("were not counted"));
    // What comes from the device is a fault too.
    let cold = |pages: u64| {
        move |_: u32, pass: &mut Pass| {
            pass.tally.distinct_pages = Some(pages);
            pass.reads("minor_faults", 276.0);
            pass.reads("major_faults", pages as f64 - 276.0);
        }
    };
    let found = only(&duel(claim, cold(16_384), cold(16_384)));
    assert_eq!(found.verdict, ClaimVerdict::Holds);
    assert_eq!(found.measured[0].value.median, 1.0);
    // A third of the range: a fault may have mapped two more that no read reached.
    let found = only(&duel(claim, cold(5176), cold(5176)));
    assert_eq!(found.verdict, ClaimVerdict::Undecided);
    let at_most = 16_384.0 / 5176.0;
    assert!(
        found.reasons.contains(&Conclusion::MapsUnreached { at_most, is_ratio: false }.into()),
        "{:?}",
        found.reasons
    );
    let found = only(&duel(&claim.replace("at-most = 1.5", "at-least = 0.9"), cold(5176), cold(5176)));
    assert_eq!(found.verdict, ClaimVerdict::Holds);
}

#[test]
fn pages_that_nobody_reached_leave_open_whether_two_arms_map_as_many_for_a_fault() {
    let verdict = |pages: u64| {
        let claim = "arm = \"mmap+random\"\nthan = \"mmap\"\nmetric = \"pages-per-fault\"\nexpect = \"same\"";
        let mut lab = Lab::of_experiment(&claimed(["mmap", "mmap+random"], claim));
        for cell in 0..2 {
            lab.measure(cell, 10, 1000.0, |_, pass| {
                pass.tally.distinct_pages = Some(pages);
                pass.reads("minor_faults", pages as f64).reads("major_faults", 0.0);
            });
        }
        only(&lab).verdict
    };
    assert_eq!([16_384, 1000].map(verdict), [ClaimVerdict::Holds, ClaimVerdict::Undecided]);
}

#[test]
fn where_no_pass_took_a_fault_that_is_why_there_are_no_pages_for_one() {
    let claim = "arm = \"mmap\"\nmetric = \"pages-per-fault\"\nexpect = { at-most = 1.5 }";
    let none = |_: u32, pass: &mut Pass| {
        pass.reads("minor_faults", 0.0);
        pass.reads("major_faults", 0.0);
    };
    let found = only(&duel(claim, none, none));
    assert_eq!(found.verdict, ClaimVerdict::Undecided);
    let why = Reason::NoMetric { metric: Metric::PagesPerFault, reason: Box::new(Unseen::NoFault.into()) };
    assert!(found.reasons.contains(&why), "{:?}", found.reasons);
}

// --- A number -------------------------------------------------------------------------------------------------------

#[test]
fn pages_per_fault_are_held_against_a_number() {
    let claim = |expect: &str| format!("arm = \"mmap\"\nmetric = \"pages-per-fault\"\nexpect = {{ {expect} }}");
    // 64 MiB are 16,384 pages.
    let faults = |number: f64| {
        move |_: u32, pass: &mut Pass| {
            pass.reads("minor_faults", number);
            pass.reads("major_faults", 0.0);
        }
    };
    let mut lab = duel(&claim("at-most = 1.5"), nothing, faults(1024.0));
    let made = FilledRange {
        fill: None,
        pages_per_fault: None,
        looked_again: None,
        kept: false,
        range: lab.record.conditions[0].range,
        method: "sequential read".into(),
        elapsed_ns: 1,
        folio_orders: Reading::Value(vec![FolioOrder { order: 0, pages: 64 }, FolioOrder { order: 9, pages: 16_320 }]),
    };
    let single_pages = Reading::Value(vec![FolioOrder { order: 0, pages: 16_384 }]);
    // Another fill of the same range says nothing of this condition.
    let other = FilledRange { fill: Some(schema::Fill::Random), folio_orders: single_pages, ..made.clone() };
    lab.record.fills.extend([other, made]);
    lab.record.environment.fault_around_bytes = Reading::Value(65_536);
    check(
        &lab,
        expect![[r#"
            it reversed: pages reached per fault of mmap: claimed at most 1.5, here 16.0 [16.0, 16.0]; most of the cached file lies in folios of 512 pages, and this kernel maps 64 KiB around a fault
              scan 64 KiB cached: 16.00 reversed (decides)
        "#]],
    );
    let verdict = |expect: &str, number| only(&duel(&claim(expect), nothing, faults(number))).verdict;
    assert_eq!(verdict("at-most = 16.0", 1024.0), ClaimVerdict::Holds);
    assert_eq!(verdict("at-most = 16.0", 1023.0), ClaimVerdict::Reversed);
    assert_eq!(verdict("at-least = 16.0", 1024.0), ClaimVerdict::Holds);
    assert_eq!(verdict("at-least = 16.0", 1025.0), ClaimVerdict::Reversed);
    let wavering = |round: u32, pass: &mut Pass| {
        pass.reads("minor_faults", if round.is_multiple_of(2) { 1000.0 } else { 1050.0 });
        pass.reads("major_faults", 0.0);
    };
    check(
        &duel(&claim("at-most = 16.0"), nothing, wavering),
        expect![[r#"
            it undecided: pages reached per fault of mmap: claimed at most 16.0, here 15.99 [15.6, 16.4]; the interval contains the claimed value
              scan 64 KiB cached: 15.99 undecided (decides)
        "#]],
    );
    check(
        &duel("arm = \"mmap\"\nexpect = { at-most = 20000.0 }", nothing, nothing),
        expect![[r#"
            it holds: time of mmap in ns per operation: claimed at most 20,000, here 10,008 [9,944, 10,063]
              scan 64 KiB cached: 10007.71 holds (decides)
        "#]],
    );
    check(
        &duel("arm = \"read\"\nmetric = \"minor-faults\"\nexpect = { at-most = 41.0 }", faults(0.0), nothing),
        expect![[r#"
            it holds: minor faults of read: claimed at most 41.0, here 0.0 [0.0, 0.0]
              scan 64 KiB cached: 0.00 holds (decides)
        "#]],
    );
}

// --- Several conditions ---------------------------------------------------------------------------------------------

/// Four sizes; mmap's speedup at each, and how much every other pass strays.
fn sizes(speedups: [(f64, f64); 4]) -> Lab {
    let mut lab = Lab::of_experiment(
        r#"
        title = "Sizes"
        [[compare]]
        name = "sizes"
        arms = ["read", "mmap"]
        workload = "scan"
        block = ["1 KiB", "4 KiB", "16 KiB", "64 KiB"]
        state = "cached"
        [[claim]]
        id = "it"
        says = "mapping is faster at every size"
        compare = "sizes"
        arm = "mmap"
        than = "read"
        expect = "lower"
        ratio = 2.0"#,
    );
    for (condition, (speedup, strays)) in speedups.into_iter().enumerate() {
        lab.measure(2 * condition, 10, 1.0, |_, pass| pass.ns_per_op = 10_000.0 * speedup);
        lab.measure(2 * condition + 1, 10, 1.0, |round, pass| {
            pass.ns_per_op = 10_000.0 * if round.is_multiple_of(2) { 1.0 + strays } else { 1.0 };
        });
    }
    lab
}

#[test]
fn conditions_that_agree_are_one_answer_and_those_that_contradict_are_mixed() {
    check(
        &sizes([(2.0, 0.0), (1.5, 0.0), (1.3, 0.0), (3.0, 0.0)]),
        expect![[r#"
            it holds: holds in all 4 conditions measured; mmap faster than read: published 2.00x, here 1.30x to 3.00x; the ratio is 0.7 to 1.5 times the published one
              scan 1 KiB cached: 2.00 holds (decides)
              scan 4 KiB cached: 1.50 holds (decides)
              scan 16 KiB cached: 1.30 holds (decides)
              scan 64 KiB cached: 3.00 holds (decides)
        "#]],
    );
    check(
        &sizes([(2.0, 0.0), (1.5, 0.0), (1.3, 0.0), (0.5, 0.0)]),
        expect![[r#"
            it mixed: holds in 3 (1 KiB, 4 KiB, 16 KiB), reversed in 1 (64 KiB); mmap faster than read: published 2.00x, here 0.50x to 2.00x
              scan 1 KiB cached: 2.00 holds (decides)
              scan 4 KiB cached: 1.50 holds (decides)
              scan 16 KiB cached: 1.30 holds (decides)
              scan 64 KiB cached: 0.50 reversed (decides)
        "#]],
    );
    check(
        &sizes([(2.0, 0.0), (1.5, 0.0), (1.0, 0.0), (3.0, 0.0)]),
        expect![[r#"
            it holds: holds in 3 (1 KiB, 4 KiB, 64 KiB), no difference in 1 (16 KiB); mmap faster than read: published 2.00x, here 1.00x to 3.00x; the ratio is 0.8 to 1.5 times the published one
              scan 1 KiB cached: 2.00 holds (decides)
              scan 4 KiB cached: 1.50 holds (decides)
              scan 16 KiB cached: 1.00 no difference (decides)
              scan 64 KiB cached: 3.00 holds (decides)
        "#]],
    );
}

#[test]
fn as_many_open_conditions_as_decided_ones_leave_a_claim_open() {
    let open = (1.05, 0.2);
    check(
        &sizes([(2.0, 0.0), (1.5, 0.0), open, open]),
        expect![[r#"
            it undecided: holds in 2 (1 KiB, 4 KiB), undecided in 2 (16 KiB, 64 KiB); mmap faster than read: published 2.00x, here 0.96x to 2.00x; the interval crosses the margin of 5 %
              scan 1 KiB cached: 2.00 holds (decides)
              scan 4 KiB cached: 1.50 holds (decides)
              scan 16 KiB cached: 0.96 undecided (decides)
              scan 64 KiB cached: 0.96 undecided (decides)
        "#]],
    );
    check(
        &sizes([(2.0, 0.0), open, open, open]),
        expect![[r#"
            it undecided: holds in 1 (1 KiB), undecided in 3 (4 KiB, 16 KiB, 64 KiB); mmap faster than read: published 2.00x, here 0.96x to 2.00x; the interval crosses the margin of 5 %
              scan 1 KiB cached: 2.00 holds (decides)
              scan 4 KiB cached: 0.96 undecided (decides)
              scan 16 KiB cached: 0.96 undecided (decides)
              scan 64 KiB cached: 0.96 undecided (decides)
        "#]],
    );
    check(
        &sizes([open; 4]),
        expect![[r#"
            it undecided: undecided in all 4 conditions measured; mmap faster than read: published 2.00x, here 0.96x; the interval crosses the margin of 5 %
              scan 1 KiB cached: 0.96 undecided (decides)
              scan 4 KiB cached: 0.96 undecided (decides)
              scan 16 KiB cached: 0.96 undecided (decides)
              scan 64 KiB cached: 0.96 undecided (decides)
        "#]],
    );
}

#[test]
fn conditions_that_could_not_be_run_are_named_and_decide_nothing() {
    let mut lab = sizes([(2.0, 0.0); 4]);
    lab.record.samples.retain(|sample| sample.cell >= 4);
    for cell in 0..4 {
        lab.record.cells[cell].skipped = Some("reads cannot be throttled: the disk is unknown".into());
    }
    check(
        &lab,
        expect![[r#"
            it holds: holds in both conditions measured; mmap faster than read: published 2.00x, here 2.00x; the ratio is as published; not testable here in 2 (1 KiB, 4 KiB): reads cannot be throttled: the disk is unknown
              scan 16 KiB cached: 2.00 holds (decides)
              scan 64 KiB cached: 2.00 holds (decides)
        "#]],
    );
    lab.record.samples.clear();
    for cell in 4..8 {
        lab.record.cells[cell].skipped = Some("reads cannot be throttled: the disk is unknown".into());
    }
    check(
        &lab,
        expect![[r#"
        it not testable here: reads cannot be throttled: the disk is unknown
    "#]],
    );
    // One arm of two: the reason is its own.
    let mut lab = timed(FASTER, 1.0, 1.0);
    lab.record.samples.retain(|sample| sample.cell == 0);
    for round in 0..3 {
        lab.invalid(1, round, "37 of 16384 pages stayed resident");
    }
    check(
        &lab,
        expect![[r#"
        it not testable here: mmap: 3 of 3 passes: 37 of 16384 pages stayed resident
    "#]],
    );
}

#[test]
fn conditions_that_were_left_out_for_different_reasons_each_have_their_own() {
    let mut lab = sizes([(2.0, 0.0); 4]);
    lab.record.samples.retain(|sample| sample.cell >= 4);
    for (cell, why) in [(0, "no limit can be set"), (1, "no limit can be set"), (2, "no key"), (3, "no key")] {
        lab.record.cells[cell].skipped = Some(why.into());
    }
    check(
        &lab,
        expect![[r#"
            it holds: holds in both conditions measured; mmap faster than read: published 2.00x, here 2.00x; the ratio is as published; not testable here in 1 (1 KiB): no limit can be set; not testable here in 1 (4 KiB): no key
              scan 16 KiB cached: 2.00 holds (decides)
              scan 64 KiB cached: 2.00 holds (decides)
        "#]],
    );
    lab.record.samples.clear();
    for cell in 4..8 {
        lab.record.cells[cell].skipped = Some("no key".into());
    }
    check(
        &lab,
        expect![[r#"
            it not testable here: not testable here in 1 (1 KiB): no limit can be set; not testable here in 3 (4 KiB, 16 KiB, 64 KiB): no key
        "#]],
    );
}

#[test]
fn conditions_that_are_open_for_different_reasons_each_have_their_own() {
    let mut lab = sizes([(2.0, 0.0), (2.0, 0.0), (1.04, 0.2), (2.0, 0.0)]);
    lab.record.samples.retain(|sample| sample.cell < 6 || sample.round < 3);
    check(
        &lab,
        expect![[r#"
            it undecided: holds in 2 (1 KiB, 4 KiB), undecided in 2 (16 KiB, 64 KiB); mmap faster than read: published 2.00x, here 0.95x to 2.00x; in 1 (16 KiB): the interval crosses the margin of 5 %; in 1 (64 KiB): only 3 rounds; at least 5 are needed to decide anything
              scan 1 KiB cached: 2.00 holds (decides)
              scan 4 KiB cached: 2.00 holds (decides)
              scan 16 KiB cached: 0.95 undecided (decides)
              scan 64 KiB cached: 2.00 undecided (decides)
        "#]],
    );
}

#[test]
fn conditions_of_one_shape_are_told_apart() {
    let mut lab = Lab::of_experiment(
        r#"
        title = "Shapes"
        [[compare]]
        arms = ["read", "mmap"]
        workload = "random"
        block = "4 KiB"
        consume = ["copy", "sum"]
        aligned = [false, true]
        state = ["cached", "mapped"]
        [[claim]]
        id = "it"
        says = "mapping is faster"
        arm = "mmap"
        than = "read"
        expect = "lower"
        where = { state = ["cached"] }"#,
    );
    for cell in 0..16 {
        let ns = if cell % 2 == 0 { 20_000.0 } else { 10_000.0 };
        lab.measure(cell, 10, 1.0, |_, pass| pass.ns_per_op = ns);
    }
    check(
        &lab,
        expect![[r#"
            it holds: holds in all 4 conditions measured; mmap faster than read: here 2.00x
              random 4 KiB cached, copy, unaligned: 2.00 holds (decides)
              random 4 KiB cached, copy, aligned: 2.00 holds (decides)
              random 4 KiB cached, sum, unaligned: 2.00 holds (decides)
              random 4 KiB cached, sum, aligned: 2.00 holds (decides)
        "#]],
    );
}

// --- Conditions against each other ------------------------------------------------------------------------------------

/// An arm under all conditions of these lists, each at so many nanoseconds a block.
fn across(lists: &str, claim: &str, ns: impl Fn(&schema::Condition, &str) -> f64) -> Lab {
    let text = format!(
        r#"
        title = "Across"
        [[compare]]
        name = "all"
        arms = ["read", "mmap"]
        workload = "random"
        {lists}
        [[claim]]
        id = "it"
        says = "it is so"
        arm = "mmap"
        {claim}"#
    );
    let mut lab = Lab::of_experiment(&text);
    for cell in 0..lab.record.cells.len() {
        let entry = lab.record.cells[cell].clone();
        let value = ns(&lab.record.conditions[entry.condition], entry.arm.short_name());
        lab.measure(cell, 10, value, nothing);
    }
    lab
}

#[track_caller]
fn ratios(lab: &Lab) -> (ClaimVerdict, Vec<(String, f64)>) {
    let claim = only(lab);
    let tenth = |it: f64| (it * 10.0).round() / 10.0;
    (claim.verdict, claim.measured.into_iter().map(|it| (it.condition, tenth(it.value.median))).collect())
}

#[test]
fn blocks_of_one_arm_are_held_against_each_other_by_what_a_byte_takes() {
    let lists = "block = [\"4 KiB\", \"64 KiB\", \"1 MiB\"]\nstate = \"cached\"";
    let claim = "expect = \"lower\"\nwhere = { block = [\"4 KiB\"] }\nthan_where = { block = [\"64 KiB\", \"1 MiB\"] }";
    // A byte takes twice and four times as long.
    let ns = |it: &schema::Condition, _: &str| match it.block_bytes {
        4096 => 1000.0,
        65_536 => 32_000.0,
        _ => 1_024_000.0,
    };
    let (verdict, measured) = ratios(&across(lists, claim, ns));
    assert_eq!(verdict, ClaimVerdict::Holds);
    let expected = [("random 4 KiB cached against 64 KiB", 2.0), ("random 4 KiB cached against 1 MiB", 4.0)];
    assert_eq!(measured, expected.map(|(label, ratio)| (label.to_string(), ratio)));
    assert_eq!(ratios(&across(lists, &claim.replace("lower", "higher"), ns)).0, ClaimVerdict::Reversed);
    assert_eq!(ratios(&across(lists, claim, |it, _| it.block_bytes as f64)).0, ClaimVerdict::NoDifference);
}

#[test]
fn what_is_held_against_several_is_called_by_them_alone() {
    let blocks = "block = [\"4 KiB\", \"64 KiB\", \"1 MiB\"]\nstate = \"cached\"";
    let claim = "expect = \"lower\"\nwhere = { block = [\"4 KiB\"] }\nthan_where = { block = [\"64 KiB\", \"1 MiB\"] }";
    let claim = only(&across(blocks, claim, |it, _| if it.block_bytes == 4096 { 1.0 } else { it.block_bytes as f64 }));
    let labels = claim.reasons.iter().find_map(|it| match it {
        Reason::Conclusion(schema::conclusion::Conclusion::Verdicts(verdicts)) => Some(verdicts[0].labels.clone()),
        _ => None,
    });
    assert_eq!(labels.unwrap(), ["against 64 KiB", "against 1 MiB"]);
}

#[test]
fn states_fills_and_numbers_of_reads_are_held_against_each_other_where_nothing_else_differs() {
    let both = "block = [\"4 KiB\", \"64 KiB\"]\nstate = [\"cached\", \"cold\"]";
    let claim = "expect = \"lower\"\nwhere = { state = [\"cached\"] }\nthan_where = { state = [\"cold\"] }";
    let slower = |it: &schema::Condition, _: &str| if it.state == schema::State::Cold { 9000.0 } else { 3000.0 };
    let expected = [("random 4 KiB cached against cold", 3.0), ("random 64 KiB cached against cold", 3.0)];
    let (verdict, measured) = ratios(&across(both, claim, slower));
    assert_eq!(
        (verdict, measured),
        (ClaimVerdict::Holds, expected.map(|(it, ratio)| (it.to_string(), ratio)).to_vec())
    );

    let fills = "block = \"4 KiB\"\nstate = \"cached\"\nfill = [\"sequential\", \"written=4KiB\"]";
    let claim = "expect = \"lower\"\nwhere = { fill = [\"sequential\"] }\nthan_where = { fill = [\"written=4KiB\"] }";
    let small = |it: &schema::Condition, _: &str| if it.fill == Some(schema::Fill::Written(4096)) { 4e3 } else { 2e3 };
    assert_eq!(ratios(&across(fills, claim, small)).0, ClaimVerdict::Holds);

    let jobs = "block = \"4 KiB\"\nstate = \"cold\"\nops = [100, 10000]";
    let claim = "expect = \"lower\"\nwhere = { ops = [10000] }\nthan_where = { ops = [100] }";
    let (verdict, measured) = ratios(&across(jobs, claim, |it, _| if it.ops == 100 { 5e3 } else { 1e3 }));
    assert_eq!((verdict, measured.len(), measured[0].1), (ClaimVerdict::Holds, 1, 5.0));
}

#[test]
fn of_conditions_of_several_sizes_those_of_one_size_are_held_against_each_other() {
    let compare = |states: &str, size: &str| format!("block = \"4 KiB\"\nstate = [{states}]\n{size}\n");
    let another = "[[compare]]\narms = [\"read\", \"mmap\"]\nworkload = \"random\"\n";
    let both =
        |states: [&str; 2], sizes: [&str; 2]| compare(states[0], sizes[0]) + another + &compare(states[1], sizes[1]);
    let (small, large) = ("range = { bytes = \"1 MiB\" }", "range = { bytes = \"8 MiB\" }");
    let states = "\"cached\", \"cold\"";
    // Three times as long where it is cold; and the first visits, or those of a larger part, take four times as long.
    let ns = |it: &schema::Condition, _: &str| {
        let of_state = if it.state == schema::State::Cold { 9000.0 } else { 3000.0 };
        if it.ops == 100 || it.range.bytes == 8 * MIB { 4.0 * of_state } else { of_state }
    };
    for lists in [compare(states, "ops = [100, 10000]"), both([states, states], [small, large])] {
        let (verdict, measured) = ratios(&across(&lists, CACHED_THAN_COLD, ns));
        assert_eq!(verdict, ClaimVerdict::Holds, "{measured:?}");
        assert_eq!(measured.iter().map(|it| it.1).collect::<Vec<f64>>(), [3.0, 3.0], "{measured:?}");
        assert_ne!(measured[0].0, measured[1].0);
    }
    // Of a size that only one side has, there is no pair while another size has one.
    let uneven = both(["\"cached\"", "\"cold\""], ["ops = [100, 10000]", "ops = [10000]"]);
    let (verdict, measured) = ratios(&across(&uneven, CACHED_THAN_COLD, ns));
    let seen: Vec<f64> = measured.iter().map(|it| it.1).collect();
    assert_eq!((verdict, seen), (ClaimVerdict::Holds, vec![3.0]), "{measured:?}");
    // Of one size alone there is no other one to be held against, and the label says so.
    let unlike = both(["\"cached\"", "\"cold\""], [small, large]);
    let (_, measured) = ratios(&across(&unlike, CACHED_THAN_COLD, ns));
    assert_eq!((measured.len(), measured[0].1), (1, 12.0));
    assert!(measured[0].0.ends_with(" against cold, range of 8 MiB"), "{measured:?}");
}

#[test]
fn the_advantage_of_an_arm_is_held_against_its_advantage_elsewhere() {
    let both = "block = \"4 KiB\"\nstate = [\"cached\", \"cold\"]";
    let claim =
        "than = \"read\"\nexpect = \"lower\"\nwhere = { state = [\"cached\"] }\nthan_where = { state = [\"cold\"] }";
    // Twice as fast where it is cached, half as fast where it is cold.
    let ns = |it: &schema::Condition, arm: &str| match (it.state, arm) {
        (schema::State::Cached, "mmap") => 1e3,
        (schema::State::Cached, _) => 2e3,
        (_, "mmap") => 90e3,
        _ => 45e3,
    };
    let (verdict, measured) = ratios(&across(both, claim, ns));
    assert_eq!((verdict, measured[0].1), (ClaimVerdict::Holds, 4.0));
    assert!(
        report::words::reasons(&only(&across(both, claim, ns)).reasons)
            .unwrap_or_default()
            .contains("relative to read")
    );
}

const CACHED_THAN_COLD: &str =
    "expect = \"lower\"\nwhere = { state = [\"cached\"] }\nthan_where = { state = [\"cold\"] }";

/// `mmap` takes 1.3 times as long where the file is cold.
fn slower_where_cold(it: &schema::Condition, arm: &str) -> f64 {
    if it.state == schema::State::Cold && arm == "mmap" { 1.3e3 } else { 1e3 }
}

#[test]
fn a_ratio_of_two_conditions_within_the_noise_of_one_is_undecided() {
    let both = "block = \"4 KiB\"\nstate = [\"cached\", \"cold\"]";
    let of = |claim: &str, control_ns: f64| {
        let mut lab = across(both, claim, slower_where_cold);
        let control = lab.control(0, "read");
        lab.measure(control, 10, control_ns, nothing);
        only(&lab).verdict
    };
    let relative = format!("than = \"read\"\n{CACHED_THAN_COLD}");
    for claim in [CACHED_THAN_COLD, &relative] {
        assert_eq!(of(claim, 1e3), ClaimVerdict::Holds, "{claim}");
        assert_eq!(of(claim, 1.4e3), ClaimVerdict::Undecided, "{claim}");
        let higher = claim.replace("lower", "higher");
        assert_eq!(of(&higher, 1e3), ClaimVerdict::Reversed, "{claim}");
        assert_eq!(of(&higher, 1.4e3), ClaimVerdict::Undecided, "{claim}");
        // That they are the same is no difference that noise could be.
        let same = claim.replace("lower", "same");
        assert_eq!(of(&same, 1.4e3), ClaimVerdict::Undecided, "{claim}");
    }
}

#[test]
fn a_part_of_the_time_of_passes_is_as_noisy_as_they_are() {
    let both = "block = [\"4 KiB\", \"64 KiB\"]\nstate = \"cached\"";
    let arms = "metric = \"loop-part\"\nthan = \"read\"\nexpect = \"lower\"\nwhere = { block = [\"4 KiB\"] }";
    let blocks = "metric = \"loop-part\"\nexpect = \"lower\"\nwhere = { block = [\"64 KiB\"] }\n\
                  than_where = { block = [\"4 KiB\"] }";
    for claim in [arms, blocks] {
        let of = |control_ns: f64| {
            let mut lab = across(both, claim, |_, arm| if arm == "mmap" { 1e3 } else { 1.2e3 });
            let control = lab.control(0, "read");
            lab.measure(control, 10, control_ns, nothing);
            for it in &mut lab.record.samples {
                let schema::record::Outcome::Ok { phases, .. } = &it.outcome else { unreachable!() };
                let part = Reading::Value(phases.work_ns as f64);
                it.readings.insert("loop_part_ns".into(), part);
            }
            only(&lab).verdict
        };
        assert_eq!([1.2e3, 20e3].map(of), [ClaimVerdict::Holds, ClaimVerdict::Undecided], "{claim}");
    }
}

#[test]
fn a_cold_scan_of_few_windows_decides_no_claim_about_two_conditions() {
    let both = "block = \"4 KiB\"\nstate = [\"cached\", \"cold\"]";
    let of = |window: u64| {
        let mut lab = across(both, CACHED_THAN_COLD, slower_where_cold);
        for condition in &mut lab.record.conditions {
            condition.workload = schema::Workload::Scan;
            condition.range.bytes = 32 * MIB;
        }
        lab.record.target.read_ahead_most_bytes = Some(window);
        only(&lab).verdict
    };
    assert_eq!([MIB, 8 * MIB].map(of), [ClaimVerdict::Holds, ClaimVerdict::Undecided]);
}

#[test]
fn two_conditions_are_held_against_each_other_by_passes_of_one_size() {
    let both = "block = \"4 KiB\"\nstate = [\"cached\", \"cold\"]";
    let claim = |jobs: &[(usize, f64)]| {
        let mut lab = across(both, &format!("than = \"read\"\n{CACHED_THAN_COLD}"), slower_where_cold);
        for &(condition, times) in jobs {
            confirm(&mut lab, condition, times);
        }
        let claim = only(&lab);
        let measured = &claim.measured[0];
        (claim.verdict, measured.answer_of, (10.0 * measured.value.median).round() / 10.0)
    };
    assert_eq!(claim(&[]), (ClaimVerdict::Holds, AnswerOf::Rounds, 1.3));
    // At the size of the job the cold mapping is five times as fast.
    assert_eq!(claim(&[(1, 5.0)]), (ClaimVerdict::Undecided, AnswerOf::Neither, 1.3));
    assert_eq!(claim(&[(0, 1.0), (1, 5.0)]), (ClaimVerdict::Reversed, AnswerOf::Job, 0.2));
    assert_eq!(claim(&[(0, 10.0), (1, 5.0)]), (ClaimVerdict::Holds, AnswerOf::Job, 2.0));
    // What the job confirms stays the answer of the rounds.
    assert_eq!(claim(&[(0, 1.0)]), (ClaimVerdict::Holds, AnswerOf::Rounds, 1.3));
}

#[test]
fn jobs_that_confirm_two_conditions_and_turn_their_ratio_leave_it_open() {
    let both = "block = \"4 KiB\"\nstate = [\"cached\", \"cold\"]";
    // Twice as fast cached, and 1.6 times cold.
    let ns = |it: &schema::Condition, arm: &str| match (arm, it.state) {
        ("read", _) => 2e3,
        (_, schema::State::Cold) => 2e3 / 1.6,
        _ => 1e3,
    };
    let claim = |jobs: [f64; 2], control_ns: f64| {
        let mut lab = across(both, &format!("than = \"read\"\n{CACHED_THAN_COLD}"), ns);
        for (condition, times) in jobs.into_iter().enumerate() {
            confirm(&mut lab, condition, times);
        }
        let control = lab.control(0, "read");
        lab.measure(control, 10, control_ns, nothing);
        let claim = only(&lab);
        (claim.verdict, claim.measured[0].answer_of)
    };
    assert_eq!(claim([2.0, 1.6], 2e3), (ClaimVerdict::Holds, AnswerOf::Rounds));
    assert_eq!(claim([1.75, 1.9], 2e3), (ClaimVerdict::Undecided, AnswerOf::Neither));
    // A ratio of two conditions may be noise although both of them are confirmed.
    assert_eq!(claim([2.0, 1.6], 2.8e3), (ClaimVerdict::Undecided, AnswerOf::Rounds));
}

/// Five pairs at the size of the job, by which the second arm is so many times as fast.
fn confirm(lab: &mut Lab, condition: usize, times: f64) {
    let (range, ops) = (lab.record.conditions[condition].range, 8 * lab.record.conditions[condition].ops);
    lab.record.confirmations.push(schema::record::Confirmation {
        condition,
        baseline_cell: 2 * condition,
        arm_cell: 2 * condition + 1,
        range,
        ops,
        pairs: vec![[times * 1e9, 1e9]; 5],
        cold: vec![],
        invalid: vec![],
    });
}

#[test]
fn a_time_that_is_held_against_another_condition_takes_rounds_until_it_is_precise() {
    let both = "block = \"4 KiB\"\nstate = [\"cached\", \"cold\"]";
    let with = |arm: &str, spread: f64| {
        let mut lab = across(both, CACHED_THAN_COLD, slower_where_cold);
        lab.record.experiment.claims[0].arm = Some(arm.into());
        lab.record.samples.clear();
        for cell in 0..4 {
            // Both arms alike, so that their comparison is precise.
            lab.measure(cell, 10, 1e3, |round, pass| pass.ns_per_op = 1e3 * spread.powi(round as i32 % 5));
        }
        [0, 1].map(|cell| analysis::is_precise(&lab.record, cell))
    };
    assert_eq!(with("mmap", 1.0), [true, true]);
    assert_eq!(with("mmap", 1.5), [true, false], "the claim is about the second arm");
    assert_eq!(with("read", 1.5), [false, true], "the claim is about the baseline");
}

#[test]
fn ratios_that_are_held_against_each_other_are_as_precise_as_one_near_1_needs() {
    let both = "block = \"4 KiB\"\nstate = [\"cached\", \"cold\"]";
    // Three times as fast under both conditions, known to some 4 %: narrow for a ratio of three.
    let with = |claim: &str| {
        let mut lab = across(both, claim, slower_where_cold);
        lab.record.samples.clear();
        for cell in 0..4 {
            let ns = [3e3, 1e3][cell % 2];
            let spread = [1.0, 1.04][cell % 2];
            lab.measure(cell, 10, ns, |round, pass| pass.ns_per_op = ns * f64::powi(spread, round as i32 % 3 - 1));
        }
        analysis::is_precise(&lab.record, 1)
    };
    assert!(with("than = \"read\"\nexpect = \"lower\""), "of one condition");
    for published in ["", "\nratio = 3.0"] {
        assert!(!with(&format!("than = \"read\"\n{CACHED_THAN_COLD}{published}")), "{published}");
    }
}

#[test]
fn a_ratio_to_an_interval_that_reaches_0_is_not_called_one_to_0() {
    let both = "block = \"4 KiB\"\nstate = [\"cold\", \"cached\"]";
    let claim = "metric = \"device-read-bytes\"\nexpect = \"higher\"\nwhere = { state = [\"cold\"] }\nthan_where = { state = [\"cached\"] }";
    let reasons = |few: [f64; 5]| {
        let mut lab = across(both, claim, |_, _| 1e3);
        lab.record.samples.clear();
        for cell in 0..4 {
            lab.measure(cell, 5, 1e3, |round, pass| {
                let read = if cell < 2 { 1e7 } else { few[round as usize] };
                pass.reads("device_read_bytes", read);
            });
        }
        only(&lab).reasons
    };
    let says = |reasons: &[Reason], it: &Conclusion| reasons.iter().any(|reason| *reason == it.clone().into());
    let few = reasons([4096.0, 8192.0, 12_288.0, 81_920.0, 4096.0]);
    assert!(says(&few, &Conclusion::ReachesZero) && !says(&few, &Conclusion::NoRatio), "{few:?}");
    let none = reasons([0.0; 5]);
    assert!(says(&none, &Conclusion::NoRatio), "{none:?}");
}

#[test]
fn each_fill_is_held_against_a_state_that_has_none() {
    let lists = "block = \"4 KiB\"\nstate = [\"cached\", \"limited\"]\nfill = [\"sequential\", \"written=4KiB\"]";
    let claim = "expect = \"lower\"\nwhere = { state = [\"cached\"] }\nthan_where = { state = [\"limited\"] }";
    let ns = |it: &schema::Condition, _: &str| if it.state == schema::State::Limited { 3e3 } else { 1e3 };
    let claim = only(&across(lists, claim, ns));
    assert_eq!((claim.verdict, claim.measured.len()), (ClaimVerdict::Holds, 2));
}

#[test]
fn conditions_without_time_are_as_open_as_undecided_ones() {
    let blocks = "block = [\"4 KiB\", \"64 KiB\", \"1 MiB\"]\nstate = \"cached\"";
    let lacking = |conditions: &[usize]| {
        let mut lab =
            across(blocks, "than = \"read\"\nexpect = \"lower\"", |_, arm| if arm == "mmap" { 1e3 } else { 2e3 });
        for cell in 0..6 {
            if conditions.contains(&lab.record.cells[cell].condition) {
                lab.record.samples.retain(|it| it.cell != cell);
                lab.record.cells[cell].skipped = Some(schema::Skip::Untried);
            }
        }
        only(&lab).verdict
    };
    assert_eq!(lacking(&[]), ClaimVerdict::Holds);
    assert_eq!(lacking(&[1]), ClaimVerdict::Holds);
    assert_eq!(lacking(&[1, 2]), ClaimVerdict::Undecided);
}

/// Near the margin a condition is undecided in one run and without a difference in the next. Neither turns the verdict.
#[test]
fn a_claim_has_the_verdict_of_more_than_half_of_its_conditions_unless_some_contradict() {
    use ClaimVerdict::{Holds, Mixed, NoDifference, Reversed, Undecided};
    let blocks = "block = [\"1 KiB\", \"4 KiB\", \"64 KiB\", \"1 MiB\"]\nstate = \"cached\"";
    let of_open = |verdicts: [ClaimVerdict; 4], open: [f64; 2]| {
        let mut lab = across(blocks, "than = \"read\"\nexpect = \"lower\"", |_, _| 1e3);
        lab.record.samples.clear();
        for (condition, verdict) in verdicts.into_iter().enumerate() {
            let [low, high] = match verdict {
                Holds => [500.0; 2],
                Reversed => [2e3; 2],
                NoDifference => [1e3; 2],
                _ => open,
            };
            lab.measure(2 * condition, 10, 1e3, |_, _| {});
            lab.measure(2 * condition + 1, 10, 1e3, |round, pass| {
                pass.ns_per_op = if round % 2 == 0 { low } else { high };
            });
        }
        let claim = only(&lab);
        assert_eq!(claim.measured.iter().map(|it| it.verdict).collect::<Vec<_>>(), verdicts);
        let leans = |it: &Reason| matches!(it, Reason::Conclusion(schema::conclusion::Conclusion::Leans { labels }) if labels.len() == 1);
        let says_so = claim.reasons.iter().any(leans);
        assert_eq!(says_so, claim.verdict == Undecided && verdicts.iter().filter(|it| **it == Undecided).count() == 1);
        claim.verdict
    };
    let of = |verdicts: [ClaimVerdict; 4]| of_open(verdicts, [700.0, 1300.0]);
    assert_eq!(of([Holds, Holds, Holds, Holds]), Holds);
    assert_eq!(of([Holds, Holds, Holds, NoDifference]), Holds);
    assert_eq!(of([Holds, Holds, Holds, Undecided]), Holds);
    assert_eq!(of([Holds, Holds, Holds, Reversed]), Mixed, "some contradict");
    assert_eq!(of([Reversed, Reversed, Reversed, NoDifference]), Reversed);
    assert_eq!(of([Holds, NoDifference, NoDifference, NoDifference]), NoDifference);
    assert_eq!(of([Holds, Holds, NoDifference, NoDifference]), Mixed, "no half is more than the other");
    assert_eq!(of([Holds, Holds, NoDifference, Undecided]), Mixed);
    assert_eq!(of([Holds, Holds, Undecided, Undecided]), Undecided, "the others may be as many");
    assert_eq!(of([Holds, Reversed, Undecided, Undecided]), Mixed);
    assert_eq!(of([Holds, Undecided, Undecided, Undecided]), Undecided);
    // Another run may find it decided there, and the claim mixed.
    assert_eq!(of_open([Holds, Holds, Holds, Undecided], [950.0, 1300.0]), Undecided, "it leans the other way");
    assert_eq!(of_open([Reversed, Reversed, Reversed, Undecided], [950.0, 1300.0]), Reversed);
    assert_eq!(of_open([Reversed, Reversed, Reversed, Undecided], [700.0, 1050.0]), Undecided);
}

#[test]
fn a_claim_across_conditions_names_what_it_lacks() {
    let both = "block = \"4 KiB\"\nstate = [\"cached\", \"cold\"]";
    let claim = "expect = \"lower\"\nwhere = { state = [\"cached\"] }\nthan_where = { state = [\"cold\"] }";
    let mut lab = across(both, claim, |_, _| 1e3);
    lab.record.samples.retain(|it| it.cell < 2);
    lab.record.cells[3].skipped = Some("never cold here".into());
    let claim = only(&lab);
    assert_eq!(
        (claim.verdict, report::words::reasons(&claim.reasons).unwrap_or_default().as_str()),
        (ClaimVerdict::NotTestableHere, "never cold here")
    );
    let outlook = analysis::outlook(&lab.record);
    assert_eq!((outlook[0].asked, outlook[0].lost, outlook[0].is_decidable()), (1, 1, false));
    assert_eq!(outlook[0].needs, [Reason::Skipped("never cold here".into()).of("mmap")]);
}

#[test]
fn a_share_of_the_ceiling_is_a_number_and_may_be_held_against_another_one() {
    let boards =
        "block = \"64 KiB\"\nstate = \"cold\"\nstorage = [{ read_bps = \"100 MB\" }, { read_bps = \"20 MB\" }]";
    let scans = |claim: &str| {
        let mut lab = across(boards, &format!("metric = \"ceiling-share\"\n{claim}"), |_, _| 1e3);
        for condition in &mut lab.record.conditions {
            condition.workload = schema::Workload::Scan;
        }
        lab.record.samples.clear();
        // Half of the faster disk, all of the slower one.
        for (cell, ns) in [(0, 1.3e6), (1, 1.31e6), (2, 3.3e6), (3, 3.28e6)] {
            lab.measure(cell, 10, ns, |_, pass| {
                pass.reads("device_read_bytes", 64.0 * MIB as f64);
            });
        }
        lab
    };
    let at_least = "expect = { at-least = 0.9 }\nwhere = { read_bps = [\"20 MB\"] }";
    assert_eq!(only(&scans(at_least)).verdict, ClaimVerdict::Holds);
    assert_eq!(only(&scans(&at_least.replace("20 MB", "100 MB"))).verdict, ClaimVerdict::Reversed);
    let lower = "expect = \"lower\"\nwhere = { read_bps = [\"100 MB\"] }\nthan_where = { read_bps = [\"20 MB\"] }";
    let (verdict, measured) = ratios(&scans(lower));
    assert_eq!((verdict, measured[0].1), (ClaimVerdict::Holds, 2.0));
}

#[test]
fn what_a_throttle_let_through_free_decides_no_claim() {
    let boards = "block = \"4 KiB\"\nstate = \"cold\"\nstorage = [{ read_bps = \"4 MB\" }, { read_bps = \"40 MB\" }]";
    // Each arm at such a share of each throttle, the slower one first.
    let claim = |text: &str, shares: [[f64; 2]; 2]| {
        let mut lab = across(boards, text, |_, _| 1e3);
        for it in &mut lab.record.conditions {
            it.ops = 200;
        }
        lab.record.samples.clear();
        for (condition, allowed) in [(0, 4e6), (1, 40e6)] {
            for (arm, share) in shares[condition].into_iter().enumerate() {
                lab.measure(2 * condition + arm, 10, 4096.0 * 1e9 / allowed / share, |_, pass| {
                    pass.reads("device_read_bytes", 200.0 * 4096.0);
                });
            }
        }
        only(&lab)
    };
    let open = |claim: schema::findings::ClaimFinding| {
        assert_eq!(claim.verdict, ClaimVerdict::Undecided);
        let why = report::words::reasons(&claim.reasons).unwrap_or_default();
        assert!(why.contains("comes free"), "{why}");
    };
    let than = "than = \"read\"\nmetric = \"time\"\nexpect = \"lower\"\nwhere = { read_bps = [\"4 MB\"] }";
    open(claim(than, [[1.0, 1.7], [1.0, 1.0]]));
    assert_eq!(claim(than, [[0.5, 1.0], [1.0, 1.0]]).verdict, ClaimVerdict::Holds);
    let between = |here: &str, there: &str| {
        format!(
            "metric = \"time\"\nexpect = \"lower\"\nwhere = {{ read_bps = [\"{here}\"] }}\nthan_where = {{ read_bps = [\"{there}\"] }}"
        )
    };
    let faster_disk = between("40 MB", "4 MB");
    open(claim(&format!("than = \"read\"\n{faster_disk}"), [[1.0, 1.0], [1.0, 1.7]]));
    // Of one arm: ten times as fast a disk makes it faster, whatever came free.
    assert_eq!(claim(&faster_disk, [[1.0, 1.0], [1.0, 1.7]]).verdict, ClaimVerdict::Holds);
    open(claim(&between("4 MB", "40 MB"), [[1.0, 1.7], [1.0, 0.125]]));
    let absolute = "metric = \"time\"\nexpect = { at-most = 900000 }\nwhere = { read_bps = [\"4 MB\"] }";
    open(claim(absolute, [[1.0, 1.7], [1.0, 1.0]]));
    let share = "metric = \"ceiling-share\"\nexpect = { at-least = 0.5 }\nwhere = { read_bps = [\"4 MB\"] }";
    assert_eq!(claim(share, [[1.0, 1.0], [1.0, 1.0]]).verdict, ClaimVerdict::Holds);
    let free = claim(share, [[1.0, 7.9], [1.0, 1.0]]);
    assert_ne!(free.verdict, ClaimVerdict::Holds);
    let why = report::words::reasons(&free.reasons).unwrap_or_default();
    assert!(why.contains("comes free"), "{why}");
}

#[test]
fn a_share_of_a_ceiling_that_was_exceeded_says_by_what() {
    let why = |read_ns: f64| {
        let claim = "arm = \"mmap\"\nmetric = \"ceiling-share\"\nexpect = { at-least = 0.1 }";
        let reads = |_: u32, pass: &mut Pass| {
            pass.reads("device_read_bytes", 64.0 * MIB as f64);
        };
        let mut lab = duel(claim, nothing, nothing);
        lab.record.conditions[0].state = schema::State::Cold;
        lab.record.samples.clear();
        lab.measure(0, 10, read_ns, reads);
        lab.measure(1, 10, 65_536.0, reads);
        report::words::reasons(&only(&lab).reasons).unwrap_or_default()
    };
    // The ceiling is 2 GB/s: 65,536 bytes in 32,768 ns.
    assert!(why(16_384.0).contains("read exceeded the ceiling that was measured"), "{}", why(16_384.0));
    assert!(!why(40_000.0).contains("exceeded"), "{}", why(40_000.0));
}

/// A claim about a cached file that is asked on today's folios and on those of a study's time, of blocks of these sizes.
fn on_two_fills(blocks: &str) -> Lab {
    Lab::of_experiment(&format!(
        r#"
        title = "Folios"
        [study]
        file_bytes = "64 MiB"
        full_file_bytes = "64 MiB"
        fill_then = "written=4KiB"
        [[compare]]
        arms = ["read", "mmap"]
        workload = "scan"
        block = {blocks}
        state = "cached"
        fill = ["sequential", "written=4KiB"]
        [[claim]]
        id = "it"
        says = "it is faster"
        arm = "mmap"
        than = "read"
        expect = "lower""#
    ))
}

/// A fill whose folios are all of one order.
fn made_fill(range: schema::Span, fill: schema::Fill, order: u32) -> FilledRange {
    FilledRange {
        range,
        fill: Some(fill),
        method: "made".into(),
        elapsed_ns: 1,
        folio_orders: Reading::Value(vec![FolioOrder { order, pages: range.bytes / 4096 }]),
        pages_per_fault: None,
        looked_again: None,
        kept: false,
    }
}

#[test]
fn a_claim_about_a_cached_file_is_judged_on_the_folios_of_its_time_and_of_today() {
    let mut lab = on_two_fills(r#"["64 KiB"]"#);
    for (cell, ns) in [(0, 20e3), (1, 10e3), (2, 20e3), (3, 40e3)] {
        lab.measure(cell, 10, ns, nothing);
    }
    let range = lab.record.conditions[0].range;
    let made = |fill, order| made_fill(range, fill, order);
    lab.record.fills = vec![made(schema::Fill::Sequential, 9), made(schema::Fill::Written(4096), 0)];
    let claim = only(&lab);
    // Whether it holds here is a question about today's.
    assert_eq!(claim.verdict, ClaimVerdict::Holds);
    let on: Vec<_> = claim.folios.iter().map(|it| (it.then, it.folio_bytes, it.verdict)).collect();
    assert_eq!(on, [(false, Some(2 << 20), ClaimVerdict::Holds), (true, Some(4096), ClaimVerdict::Reversed)]);
    let decides: Vec<bool> = claim.measured.iter().map(|it| it.decides).collect();
    assert_eq!(decides, [true, false], "both are listed");
    // What is said ahead counts those that decide.
    let ahead = |record: &schema::Record| analysis::outlook(record).remove(0);
    let lost = |cells: &[usize]| {
        let mut record = lab.record.clone();
        cells.iter().for_each(|&it| record.cells[it].skipped = Some("not here".into()));
        let it = ahead(&record);
        (it.asked, it.lost)
    };
    assert_eq!(lost(&[]), (1, 0));
    assert_eq!(lost(&[2, 3]), (1, 0), "those of its time decide nothing beside today's");
    assert_eq!(lost(&[0, 1]), (2, 1));
    assert_eq!(lost(&[0, 1, 2, 3]), (2, 2));
    // Today's that time left none for are open, and those of its time do not decide for them.
    let mut unmeasured = lab.record.clone();
    unmeasured.samples.retain(|it| it.cell >= 2);
    unmeasured.cells[..2].iter_mut().for_each(|it| it.skipped = Some(schema::Skip::Untried));
    assert_eq!(analysis::analyze(&unmeasured).claims[0].verdict, ClaimVerdict::Undecided);
    // Where they cannot be had here, those of its time are all there is.
    unmeasured.cells[..2].iter_mut().for_each(|it| it.skipped = Some("not here".into()));
    assert_eq!(analysis::analyze(&unmeasured).claims[0].verdict, ClaimVerdict::Reversed);
    // In pages of 64 KiB no fill makes folios of 4 KiB.
    lab.record.environment.page_bytes = 64 << 10;
    assert_eq!(only(&lab).folios, []);
}

#[test]
fn of_conditions_that_read_little_and_much_the_folios_of_neither_are_said_of_both() {
    let mut lab = on_two_fills(r#"["4 KiB", "64 KiB"]"#);
    let little = |it: &Condition| it.block_bytes == 4096;
    lab.record.conditions.iter_mut().filter(|it| little(it)).for_each(|it| it.range.bytes = 1 << 20);
    for cell in 0..8 {
        lab.measure(cell, 10, if cell % 2 == 0 { 20e3 } else { 10e3 }, nothing);
    }
    let made = |it: &Condition| {
        let fill = it.fill().unwrap();
        let order = if fill == schema::Fill::Sequential && !little(it) { 9 } else { 0 };
        made_fill(it.range, fill, order)
    };
    lab.record.fills = lab.record.conditions.iter().map(made).collect();
    let on = only(&lab).folios;
    let on: Vec<_> = on.iter().map(|it| (it.then, it.folio_bytes, it.least_folio_bytes)).collect();
    assert_eq!(on, [(false, Some(2 << 20), Some(4096)), (true, Some(4096), None)]);
}

// --- Studies --------------------------------------------------------------------------------------------------------

const STUDY: &str = r#"
title = "A study"
source = "a letter of 2001"
[arms]
quarter = { method = "read", own = { consume = "sum-bytes", consumed_percent = 25 } }
read = { method = "read" }
mmap = { method = "mmap" }
[[compare]]
name = "cached"
variant = "as-published"
arms = ["quarter", "mmap"]
workload = "scan"
block = "32 KiB"
state = "cached"
range = { bytes = "32 MiB" }
[[compare]]
name = "cached"
variant = "corrected"
arms = ["read", "mmap"]
workload = "scan"
block = "32 KiB"
state = ["cached", "mapped"]
range = { bytes = "32 MiB" }
"#;

fn study(more: &str) -> Lab {
    let mut lab = Lab::of_experiment(&format!("{STUDY}{more}"));
    // Conditions: as published; corrected cached, corrected mapped. Blocks of 32 KiB, 1,024 of them in a pass.
    for (cell, ns) in [(0, 8_000.0), (1, 10_000.0), (2, 16_000.0), (3, 10_000.0), (4, 16_000.0), (5, 5_000.0)] {
        lab.measure(cell, 10, 1.0, |_, pass| {
            pass.ns_per_op = ns;
            pass.reads("user_ns", 40e6).reads("system_ns", 10e6).reads("minor_faults", 512.0);
        });
    }
    lab
}

const STUDIED: &str = r#"
[[claim]]
id = "faster"
says = "mapping is faster"
compare = "cached"
arm = "mmap"
than = "read"
expect = "lower"
ratio = 1.35
where = { state = ["cached"] }
"#;

#[test]
fn the_corrected_form_decides_and_what_was_published_stands_beside_it() {
    check(
        &study(STUDIED),
        expect![[r#"
            faster holds: mmap faster than read: published 1.35x, here 1.60x [1.60, 1.60]; the ratio is 1.2 times the published one
              scan 32 KiB cached, as published: 0.80 reversed (beside)
              scan 32 KiB cached, corrected: 1.60 holds (decides)
        "#]],
    );
}

#[test]
fn unequal_work_decides_nothing() {
    // Without the corrected form, what was published would decide.
    let mut lab = study(STUDIED);
    lab.record.conditions.truncate(1);
    lab.record.origins.truncate(1);
    lab.record.cells.truncate(2);
    lab.record.samples.retain(|sample| sample.cell < 2);
    check(
        &lab,
        expect![[r#"
            faster undecided: mmap faster than read (quarter): published 1.35x, here 0.80x [0.80, 0.80]; what happens to each byte differs: read (quarter) sum-bytes (all bytes, one at a time), mmap sum (all bytes, as wrapping 64-bit little-endian words); they spend 4.77 and 1.19 ns of user time on a byte; the read (quarter) arm consumed 8.39 MB of 34 MB; decided by the published variant: no corrected variant was run
              scan 32 KiB cached, as published: 0.80 undecided (decides)
        "#]],
    );
    // In the corrected form the ratio is no number either.
    let mut lab = study(STUDIED);
    lab.own(3, |own| own.aligned = false);
    check(
        &lab,
        expect![[r#"
        faster undecided: only the read arm's offsets are multiples of the block
          scan 32 KiB cached, as published: 0.80 reversed (beside)
    "#]],
    );
}

#[test]
fn an_arm_of_another_method_stands_for_the_one_that_a_figure_names_beside_it() {
    let text = STUDY.replace("quarter = { method = \"read\"", "quarter = { method = \"pread\"");
    let figure = r#"
        [[figure]]
        says = "read"
        published = 87.3
        unit = "MiB/s"
        compare = "cached"
        as_published = "quarter"
        corrected = "read"
        where = { state = ["cached"] }"#;
    for (figure, conditions) in [("", 1), (figure, 2)] {
        let mut lab = Lab::of_experiment(&format!("{text}{STUDIED}{figure}"));
        for cell in 0..6 {
            lab.measure(cell, 10, 1e4, nothing);
        }
        assert_eq!(only(&lab).measured.len(), conditions);
    }
}

#[test]
fn what_was_not_part_of_the_run_is_not_testable_here() {
    let mut lab = study(STUDIED);
    lab.record.experiment.claims[0].only.state = vec![schema::State::Cold];
    check(
        &lab,
        expect![[r#"
            faster not testable here: the comparison "cached" has no condition that the claim selects with mmap and read in it
        "#]],
    );
    let mut lab = study(STUDIED);
    lab.record.experiment.claims[0].arm = Some("uring".into());
    check(
        &lab,
        expect![[r#"
        faster not testable here: the arm "uring" was not part of this run
    "#]],
    );
}

#[test]
fn scenarios_answer_yes_or_no_or_why_not() {
    let claim = "[[claim]]\nid = \"space\"\nsays = \"it runs out\"\nscenario = \"address-space\"";
    let mut lab = study(claim);
    check(
        &lab,
        expect![[r#"
        space not testable here: the scenario did not run in this run
    "#]],
    );
    let seen =
        |holds| Reading::Value(ScenarioResult { holds, evidence: "the 5th of 5 mappings failed: ENOMEM".into() });
    lab.record.scenarios.insert("address-space".into(), seen(true));
    check(
        &lab,
        expect![[r#"
        space holds: the 5th of 5 mappings failed: ENOMEM
    "#]],
    );
    lab.record.scenarios.insert("address-space".into(), seen(false));
    assert_eq!(only(&lab).verdict, ClaimVerdict::Reversed);
    lab.record.scenarios.insert("address-space".into(), Reading::unavailable("no RLIMIT_AS here"));
    check(
        &lab,
        expect![[r#"
        space not testable here: no RLIMIT_AS here
    "#]],
    );
}

#[test]
fn a_partial_run_decides_no_claim() {
    let more = "[[claim]]\nid = \"java\"\nsays = \"the same in Java\"\nnot_testable = \"no JVM in this version\"";
    let mut lab = study(&format!("{STUDIED}{more}"));
    check(
        &lab,
        expect![[r#"
            faster holds: mmap faster than read: published 1.35x, here 1.60x [1.60, 1.60]; the ratio is 1.2 times the published one
              scan 32 KiB cached, as published: 0.80 reversed (beside)
              scan 32 KiB cached, corrected: 1.60 holds (decides)
            java not testable here: no JVM in this version
        "#]],
    );
    lab.record.partial = Some("interrupted".into());
    check(
        &lab,
        expect![[r#"
        faster undecided: the run is partial: interrupted
          scan 32 KiB cached, as published: 0.80 undecided (beside)
          scan 32 KiB cached, corrected: 1.60 undecided (decides)
        java undecided: the run is partial: interrupted; no JVM in this version
    "#]],
    );
}

// --- Figures --------------------------------------------------------------------------------------------------------

fn figure(unit: &str, as_published: &str, corrected: &str, more: &str) -> FigureFinding {
    let text = format!(
        "[[figure]]\nsays = \"it\"\npublished = 87.295\nunit = \"{unit}\"\ncompare = \"cached\"\n\
         as_published = \"{as_published}\"\ncorrected = \"{corrected}\"\n{more}"
    );
    study(&text).analyze().figures.remove(0)
}

const CACHED: &str = "where = { state = [\"cached\"] }";

#[track_caller]
fn medians(figure: &FigureFinding, as_published: f64, corrected: f64) {
    for (reading, expected) in [(&figure.as_published, as_published), (&figure.corrected, corrected)] {
        let found = reading.value().unwrap_or_else(|| panic!("{reading:?}"));
        assert!((found.median / expected - 1.0).abs() < 1e-6, "{found:?} is not {expected}");
        assert!(found.ci_low <= found.median && found.median <= found.ci_high, "{found:?}");
    }
}

#[test]
fn figures_come_in_the_published_units() {
    let million = format!("blocks = 1_000_000\n{CACHED}");
    let finding = figure("s", "quarter", "read", CACHED);
    assert_eq!((finding.published, finding.unit), (87.295, Unit::Seconds));
    // 1,024 blocks of 8,000 and 16,000 ns.
    medians(&finding, 0.008192, 0.016384);
    medians(&figure("s", "quarter", "read", &million), 8.0, 16.0);
    medians(&figure("ms", "quarter", "read", CACHED), 8.192, 16.384);
    // The published program divided the file by its time, although it looked at a quarter of it.
    medians(&figure("MiB/s", "quarter", "read", CACHED), 32.0 / 0.008192, 32.0 / 0.016384);
    medians(&figure("user s", "quarter", "read", CACHED), 0.04, 0.04);
    medians(&figure("system s", "quarter", "read", CACHED), 0.01, 0.01);
    medians(&figure("cpu s", "quarter", "read", CACHED), 0.05, 0.05);
    medians(&figure("cpu s", "quarter", "read", &million), 50_000.0 / 1024.0, 50_000.0 / 1024.0);
    medians(&figure("minor faults", "quarter", "read", CACHED), 512.0, 512.0);
    medians(&figure("minor faults", "quarter", "read", &million), 500_000.0, 500_000.0);
    // As published, a ratio is a ratio whatever the arms did.
    medians(&figure("times faster", "mmap", "mmap", CACHED), 0.8, 1.6);
}

#[test]
fn a_figure_in_seconds_is_of_a_file_of_the_size_of_the_study() {
    let of = |unit: &str, file_bytes: u64| {
        let mut lab = study(&format!(
            "[[figure]]\nsays = \"it\"\npublished = 1.0\nunit = \"{unit}\"\ncompare = \"cached\"\ncorrected = \"read\"\n{CACHED}"
        ));
        lab.record.experiment.study = Some(schema::experiment::Study {
            file_bytes: schema::Bytes(file_bytes),
            full_file_bytes: schema::Bytes(1 << 40),
            needs: None,
            budget_s: None,
            fill_then: None,
        });
        lab.analyze().figures.remove(0).corrected
    };
    let own = study("").record.target.bytes;
    assert!(of("s", own).value().is_some() && of("MiB/s", own + 1).value().is_some());
    let why = of("s", own + 1).why().cloned();
    let other = schema::reason::NotInRun::OtherFileSize { file_bytes: own, study_bytes: own + 1, full_bytes: 1 << 40 };
    assert_eq!(why, Some(other.into()));
}

#[test]
fn faults_of_large_folios_are_not_multiplied() {
    let of = |arm: &str, pages: f64, blocks: &str| {
        let mut lab = study(&format!(
            "[[figure]]\nsays = \"it\"\npublished = 1.0\nunit = \"minor faults\"\ncompare = \"cached\"\ncorrected = \"{arm}\"\n\
             {blocks}{CACHED}"
        ));
        let range = lab.record.conditions[0].range;
        let made = made_fill(range, schema::Fill::Sequential, 0);
        lab.record.fills.push(FilledRange { pages_per_fault: Some(pages), ..made });
        lab.analyze().figures.remove(0).corrected
    };
    let million = "blocks = 1_000_000\n";
    assert_eq!(of("mmap", 16.0, million).value().map(|it| it.median), Some(500_000.0));
    let why = of("mmap", 505.0, million).why().cloned();
    assert_eq!(why, Some(schema::reason::Reason::FaultsOfLargeFolios { pages_per_fault: 505.0 }));
    assert_eq!(of("mmap", 505.0, "").value().map(|it| it.median), Some(512.0), "of one pass");
    assert_eq!(of("read", 505.0, million).value().map(|it| it.median), Some(500_000.0), "they are not of the file");
}

#[test]
fn a_short_last_block_is_not_counted_whole() {
    let mut lab = study(&format!(
        "[[figure]]\nsays = \"it\"\npublished = 1.0\nunit = \"MiB/s\"\ncompare = \"cached\"\ncorrected = \"read\"\n{CACHED}"
    ));
    for sample in &mut lab.record.samples {
        if let schema::record::Outcome::Ok { tally, .. } = &mut sample.outcome {
            tally.bytes = 32 * MIB - 1024;
        }
    }
    let rate = lab.analyze().figures[0].corrected.value().unwrap().median;
    assert!((rate - (32.0 - 1.0 / 1024.0) / 0.016384).abs() < 1e-6, "{rate}");
}

#[test]
fn a_figure_without_a_number_says_why() {
    let why = |figure: &FigureFinding| -> [String; 2] {
        [&figure.as_published, &figure.corrected].map(|it| match it {
            Reading::Value(_) => "a number".to_string(),
            Reading::Unavailable { unavailable } => report::words::reason(unavailable),
        })
    };
    assert_eq!(
        why(&figure("s", "quarter", "read", "")),
        ["a number", "the figure selects 2 conditions and must select one"]
    );
    assert_eq!(why(&figure("s", "read", "quarter", CACHED)), ["this run has no condition that the figure selects"; 2]);
    assert_eq!(why(&figure("times faster", "quarter", "read", CACHED)), ["the arm is the baseline itself"; 2]);
    let with = |unit: &str, change: &dyn Fn(&mut Lab)| {
        let mut lab = study(&format!(
            "[[figure]]\nsays = \"it\"\npublished = 1.0\nunit = \"{unit}\"\ncompare = \"cached\"\ncorrected = \"mmap\"\n\
             {CACHED}"
        ));
        change(&mut lab);
        why(&lab.analyze().figures[0])
    };
    let unnamed = "the experiment names no arm for this figure";
    assert_eq!(with("s", &|_| ()), [unnamed, "a number"]);
    let skip = |lab: &mut Lab| {
        lab.record.samples.clear();
        lab.record.cells[3].skipped = Some("needs a memory cgroup".into());
    };
    assert_eq!(with("s", &skip), [unnamed, "needs a memory cgroup"]);
    let unequal = |lab: &mut Lab| lab.own(3, |own| own.aligned = false);
    assert_eq!(with("times faster", &unequal), [unnamed, "only the read arm's offsets are multiples of the block"]);
    let forget = |lab: &mut Lab| lab.record.samples.iter_mut().for_each(|it| it.readings.clear());
    assert_eq!(with("cpu s", &forget), [unnamed, "not observed in this run"]);
    assert_eq!(with("minor faults", &forget), [unnamed, "no minor faults: not observed in this run"]);
    let idle = |lab: &mut Lab| {
        for sample in &mut lab.record.samples {
            sample.readings.insert("user_ns".into(), Reading::Value(0.0));
            sample.readings.insert("system_ns".into(), Reading::Value(50e6));
        }
    };
    assert_eq!(
        with("user s", &idle),
        [unnamed, "too coarse: the kernel's ticks counted 0 ms of user time in all 10 passes together"]
    );
    let one = |lab: &mut Lab| lab.record.samples.retain(|sample| sample.round == 0);
    assert_eq!(with("s", &one), [unnamed, "a single pass has no interval, so there is no number"]);
}

#[test]
fn a_claim_that_time_was_lacking_for_is_undecided_and_one_of_another_machine_is_not_testable() {
    let verdict = |skip: schema::Skip| {
        let mut lab = timed(FASTER, 16_200.0, 10_000.0);
        lab.record.samples.clear();
        lab.record.cells.iter_mut().for_each(|it| it.skipped = Some(skip.clone()));
        only(&lab).verdict
    };
    assert_eq!(verdict(schema::Skip::Untried), ClaimVerdict::Undecided);
    assert_eq!(verdict(schema::Skip::Unavailable("no ring".into())), ClaimVerdict::NotTestableHere);
}

#[test]
fn a_figure_says_which_cells_it_is_of() {
    let lab = study(&format!(
        "[[figure]]\nsays = \"it\"\npublished = 1.0\nunit = \"s\"\ncompare = \"cached\"\n\
         as_published = \"quarter\"\ncorrected = \"read\"\n{CACHED}"
    ));
    let figure = lab.analyze().figures.remove(0);
    let arm = |id: Option<schema::CellId>| lab.record.cells[id.unwrap().cell].clone();
    let (published, corrected) = (arm(figure.as_published_id), arm(figure.corrected_id));
    assert!(published.arm.name.contains("quarter") && published.own_condition.is_some(), "{published:?}");
    assert_eq!(corrected.arm.name, "native/read");
}

#[test]
fn processor_time_of_a_jvm_is_known_to_whole_ticks_and_so_is_its_sum() {
    let interval = |runtime: &str, [arm, than]: [&str; 2]| {
        let text = format!(
            "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"64 KiB\"\nstate = \"cached\"\n\
             arms = [\"{than}\", \"{arm}\"]\n[[claim]]\nid = \"it\"\nsays = \"s\"\narm = \"{arm}\"\n\
             than = \"{than}\"\nmetric = \"cpu\"\nexpect = \"lower\"\n"
        );
        let mut lab = Lab::of_experiment(&text);
        for (cell, ms) in [(0, 30.0), (1, 20.0)] {
            lab.measure(cell, 10, 1000.0, |_, pass| {
                pass.reads("user_ns", ms * 1e6).reads("system_ns", 0.0);
            });
        }
        let value = lab.analyze().claims[0].measured[0].value;
        assert!((value.median - 1.5).abs() < 1e-9, "{runtime}: {value:?}");
        value.ci_high / value.ci_low
    };
    assert!(interval("native", ["mmap", "read"]) < 1.001, "the scheduler's clock is exact");
    assert!(interval("jvm", ["jvm/mapped", "jvm/stream"]) > 1.1, "ten passes of two and three ticks");
}

#[test]
fn what_the_noise_floor_leaves_open_is_no_verdict_of_a_claim() {
    let of = |claim: &str, control_ns: f64| {
        let mut lab = timed(claim, 10_000.0, 8_000.0);
        let control = lab.control(0, "read");
        lab.measure(control, 10, 1.0, move |_, pass| pass.ns_per_op = control_ns);
        let comparison = lab.analyze().comparisons.remove(0).verdict;
        (comparison.is_decided(), only(&lab).verdict)
    };
    assert_eq!(of(FASTER, 10_000.0), (true, ClaimVerdict::Holds));
    assert_eq!(of(FASTER, 14_000.0), (false, ClaimVerdict::Undecided));
    let slower = FASTER.replace("lower", "higher");
    assert_eq!(of(&slower, 10_000.0), (true, ClaimVerdict::Reversed));
    assert_eq!(of(&slower, 14_000.0), (false, ClaimVerdict::Undecided));
}

#[test]
fn two_shares_of_a_ceiling_differ_by_no_more_than_their_times() {
    let claim = FASTER.replace("expect = \"lower\"", "metric = \"ceiling-share\"\nexpect = \"higher\"");
    let of = |control_ns: f64| {
        let from_device = |ns: f64| {
            move |_: u32, pass: &mut Pass| {
                pass.ns_per_op = ns;
                pass.reads("device_read_bytes", 64.0 * MIB as f64);
            }
        };
        let mut lab = duel(&claim, from_device(100_000.0), from_device(80_000.0));
        lab.record.conditions[0].state = schema::State::Cold;
        let control = lab.control(0, "read");
        lab.measure(control, 10, 1.0, from_device(control_ns));
        only(&lab).verdict
    };
    assert_eq!(of(100_000.0), ClaimVerdict::Holds);
    assert_eq!(of(140_000.0), ClaimVerdict::Undecided);
}

#[test]
fn an_arm_that_reads_by_calls_has_no_pages_per_fault() {
    let claim = |arm: &str| format!("arm = \"{arm}\"\nmetric = \"pages-per-fault\"\nexpect = {{ at-most = 1.5 }}");
    let few = |_: u32, pass: &mut Pass| {
        pass.reads("minor_faults", 5.0);
        pass.reads("major_faults", 0.0);
    };
    assert_eq!(only(&duel(&claim("mmap"), few, few)).verdict, ClaimVerdict::Reversed);
    assert_eq!(only(&duel(&claim("read"), few, few)).verdict, ClaimVerdict::NotTestableHere);
    let both = format!("{}\nthan = \"read\"", claim("mmap").replace("{ at-most = 1.5 }", "\"lower\""));
    assert_eq!(only(&duel(&both, few, few)).verdict, ClaimVerdict::NotTestableHere);
}

#[test]
fn threads_with_mappings_of_their_own_have_no_pages_per_fault() {
    let claim = "arm = \"mmap\"\nmetric = \"pages-per-fault\"\nexpect = { at-most = 1.5 }";
    // Four threads that reach the same 8,192 pages take a fault for each.
    let faults = |_: u32, pass: &mut Pass| {
        pass.tally.distinct_pages = Some(8192);
        pass.reads("minor_faults", 4.0 * 8192.0);
        pass.reads("major_faults", 0.0);
    };
    let verdict = |threads: u32, descriptor: schema::Descriptor| {
        let mut lab = duel(claim, faults, faults);
        for condition in &mut lab.record.conditions {
            condition.workload = schema::Workload::Random;
            (condition.threads, condition.descriptor) = (threads, descriptor);
        }
        only(&lab).verdict
    };
    use schema::Descriptor::*;
    assert_eq!(verdict(4, PerThread), ClaimVerdict::NotTestableHere);
    assert_eq!([verdict(1, PerThread), verdict(4, Shared)], [ClaimVerdict::Holds; 2]);
}

#[test]
fn threads_that_each_fill_a_mapping_of_the_whole_range_have_no_pages_per_fault() {
    let verdict = |arm: &str, threads: u32, descriptor: schema::Descriptor| {
        let claim = format!("arm = \"{arm}\"\nthan = \"mmap\"\nmetric = \"pages-per-fault\"\nexpect = \"same\"");
        let mut lab = Lab::of_experiment(&claimed(["mmap", arm], &claim));
        for cell in 0..2 {
            lab.measure(cell, 10, 1000.0, |_, pass| {
                // Of a populated mapping for each thread, each fault once for each of them.
                let times = if cell == 1 && descriptor == schema::Descriptor::PerThread { threads } else { 1 };
                pass.reads("minor_faults", 282.0 * f64::from(times)).reads("major_faults", 0.0);
            });
        }
        for condition in &mut lab.record.conditions {
            (condition.threads, condition.descriptor) = (threads, descriptor);
        }
        only(&lab).verdict
    };
    use schema::Descriptor::*;
    for arm in ["mmap+populate-read", "mmap+map-populate", "jvm/segment+populate-read", "jvm/mapped+load"] {
        assert_eq!(verdict(arm, 3, PerThread), ClaimVerdict::NotTestableHere, "{arm}");
        assert_eq!(verdict(arm, 1, PerThread), ClaimVerdict::Holds, "{arm}: one mapping");
        assert_eq!(verdict(arm, 3, Shared), ClaimVerdict::Holds, "{arm}: one mapping for all");
    }
    // Each thread faults in its own part of the range.
    assert_eq!(verdict("mmap+random", 3, PerThread), ClaimVerdict::Reversed);
}

#[test]
fn what_writes_has_no_pages_per_fault() {
    let claim = "arm = \"mmap\"\nmetric = \"pages-per-fault\"\nexpect = { at-least = 1 }";
    // 16,384 pages, most of which fault for the read and again for the store.
    let faults = |_: u32, pass: &mut Pass| {
        pass.reads("minor_faults", 17_324.0).reads("major_faults", 0.0);
    };
    let verdict = |workload: schema::Workload| {
        let mut lab = duel(claim, faults, faults);
        lab.record.conditions.iter_mut().for_each(|it| it.workload = workload);
        only(&lab).verdict
    };
    use schema::Workload::*;
    assert_eq!(verdict(Scan), ClaimVerdict::Reversed);
    for workload in [Update, Overwrite, OverwriteRandom, Append] {
        assert_eq!(verdict(workload), ClaimVerdict::NotTestableHere, "{workload}");
    }
}

#[test]
fn a_claim_speaks_of_folios_where_most_are_of_one_size_and_after_one_fill_alone() {
    let claim = "arm = \"mmap\"\nmetric = \"pages-per-fault\"\nexpect = { at-most = 1.5 }";
    let few = |_: u32, pass: &mut Pass| {
        pass.reads("minor_faults", 1024.0);
        pass.reads("major_faults", 0.0);
    };
    let mut lab = duel(claim, few, few);
    lab.record.fills.push(FilledRange {
        fill: None,
        pages_per_fault: None,
        looked_again: None,
        kept: false,
        range: lab.record.conditions[0].range,
        method: "sequential read".into(),
        elapsed_ns: 1,
        folio_orders: Reading::Value(vec![FolioOrder { order: 9, pages: 16_384 }]),
    });
    assert!(
        report::words::reasons(&only(&lab).reasons).unwrap_or_default().contains("most of the cached file lies in")
    );
    let of_sizes = [(0, 6000), (4, 5000), (9, 5384)].map(|(order, pages)| FolioOrder { order, pages });
    let of_one = std::mem::replace(&mut lab.record.fills[0].folio_orders, Reading::Value(of_sizes.to_vec()));
    assert!(
        !report::words::reasons(&only(&lab).reasons).unwrap_or_default().contains("most of the cached file lies in"),
        "less than half of it does"
    );
    lab.record.fills[0].folio_orders = of_one;
    let other =
        lab.condition(schema::Condition { fill: Some(schema::Fill::Random), ..lab.record.conditions[0].clone() });
    lab.record.origins.push(0);
    for arm in ["read", "mmap"] {
        let cell = lab.cell(other, arm);
        lab.measure(cell, 10, 10_000.0, few);
    }
    assert_eq!(only(&lab).measured.len(), 2);
    assert!(
        !report::words::reasons(&only(&lab).reasons).unwrap_or_default().contains("most of the cached file lies in"),
        "{}",
        report::words::reasons(&only(&lab).reasons).unwrap_or_default()
    );
}

// --- Options --------------------------------------------------------------------------------------------------------

/// Every cell: a mapping is twice as fast as what reads by calls.
fn measure_twice_as_fast(lab: &mut Lab) {
    for cell in 0..lab.record.cells.len() {
        let ns = if lab.record.cells[cell].arm.method == "mmap" { 5_000.0 } else { 10_000.0 };
        lab.measure(cell, 10, ns, |_, _| {});
    }
}

/// The experiment of a claim and a figure about random copies of 4 KiB and 16 KiB, with these changes of its comparison.
fn with_options(changes: &[(&str, &str)]) -> Lab {
    let written = r#"
        title = "Duel"
        [[compare]]
        name = "copies"
        arms = ["read", "mmap"]
        workload = "random"
        block = "4 KiB"
        full_block = ["4 KiB", "16 KiB"]
        consume = "copy"
        state = "cached"
        ops = 1000
        [[figure]]
        says = "a million reads"
        published = 2.0
        unit = "s"
        compare = "copies"
        corrected = "mmap"
        blocks = 1_000_000
        [[claim]]
        id = "it"
        says = "it is so"
        compare = "copies"
        arm = "mmap"
        than = "read"
        expect = "lower""#;
    let mut text = written.to_string();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    let mut lab = Lab::of_experiment(&text);
    lab.record.experiment.note_filtered(&Lab::of_experiment(written).record.experiment);
    let of = &lab.record.experiment.comparisons[0];
    let (threads, descriptor, beside) = (of.threads[0], of.descriptor[0], of.beside[0]);
    for it in &mut lab.record.conditions {
        (it.threads, it.descriptor, it.beside) = (threads, descriptor, beside);
    }
    measure_twice_as_fast(&mut lab);
    lab
}

fn replaced(values: &[(&str, &[&str])]) -> Reason {
    let values = values.iter().map(|(measured, written)| Replaced {
        measured: measured.to_string(),
        written: written.iter().map(|it| it.to_string()).collect(),
    });
    NotInRun::Replaced { values: values.collect() }.into()
}

#[test]
fn what_options_measure_instead_of_what_is_asked_decides_no_claim_and_is_no_figure() {
    let block = ("block = \"4 KiB\"", "block = \"64 B\"");
    let consume = ("consume = \"copy\"", "consume = \"touch\"");
    let ops = ("ops = 1000", "ops = 10");
    let state = ("state = \"cached\"", "state = \"mapped\"");
    let blocks: (&str, &[&str]) = ("64 B", &["4 KiB", "16 KiB"]);
    for (changes, values) in [
        (&[block, consume][..], &[blocks, ("touch", &["copy"])][..]),
        (&[ops], &[("10 ops", &["1000 ops"])]),
        (&[state], &[("mapped", &["cached"])]),
        (&[("workload = \"random\"", "workload = \"scan\"")], &[("scan", &["random"])]),
        (&[("ops = 1000", "ops = 1000\nthreads = 2")], &[("2 threads", &["1 thread"])]),
        (&[("ops = 1000", "ops = 1000\nfill = \"random\"")], &[("fill random", &["fill sequential"])]),
        (
            &[("ops = 1000", "ops = 1000\nthreads = 2\ndescriptor = \"shared\"")],
            &[("2 threads", &["1 thread"]), ("shared descriptor", &["per-thread descriptor"])],
        ),
        (&[("ops = 1000", "ops = 1000\nbeside = \"beat\"")], &[("beside a beat", &["nothing beside"])]),
    ] {
        let lab = with_options(changes);
        let claim = only(&lab);
        assert_eq!((claim.verdict, claim.complete), (ClaimVerdict::NotTestableHere, false), "{changes:?}");
        assert_eq!(claim.reasons, [replaced(values)], "{changes:?}");
        assert_eq!(claim.measured, []);
        assert_eq!(lab.analyze().figures[0].corrected, Reading::Unavailable { unavailable: replaced(values) });
    }
    assert!(with_options(&[]).record.experiment.written.is_empty());
    assert!(matches!(with_options(&[]).analyze().figures[0].corrected, Reading::Value(_)));
}

#[test]
fn what_options_replace_is_asked_by_no_other_comparison_that_differs_in_what_they_leave() {
    // Aligned where mapped, unaligned where cached: an option measures both in one state.
    let text = r#"
        title = "Duel"
        [[compare]]
        arms = ["read", "mmap"]
        workload = "random"
        block = "4 KiB"
        state = "mapped"
        [[compare]]
        arms = ["read", "mmap"]
        workload = "random"
        block = "4 KiB"
        state = "cached"
        aligned = false
        [[claim]]
        id = "it"
        says = "it is so"
        arm = "mmap"
        than = "read"
        expect = "lower"
        where = { aligned = [true] }"#;
    let mut lab = Lab::of_experiment(&text.replace("\"mapped\"", "\"cached\""));
    lab.record.experiment.note_filtered(&Lab::of_experiment(text).record.experiment);
    for (at, aligned) in [true, false].into_iter().enumerate() {
        lab.record.conditions[at].aligned = aligned;
    }
    measure_twice_as_fast(&mut lab);
    let claim = only(&lab);
    assert_eq!(claim.verdict, ClaimVerdict::NotTestableHere, "{claim:?}");
    assert_eq!(claim.reasons, [replaced(&[("cached", &["mapped"])])]);
}

#[test]
fn two_conditions_that_are_said_to_be_the_same_are_held_against_each_other_in_words_that_say_how() {
    let lists = "block = [\"64 KiB\", \"4 KiB\"]\nstate = \"cached\"";
    let claim =
        "metric = \"time\"\nexpect = \"same\"\nwhere = { block = [\"64 KiB\"] }\nthan_where = { block = [\"4 KiB\"] }";
    let lab = across(lists, claim, |condition, _| condition.block_bytes as f64);
    let claims = lab.analyze().claims;
    let says = report::words::reasons(&claims[0].reasons).unwrap_or_default();
    assert!(says.contains("in the second condition over that in the first") && !says.contains("less"), "{says}");
}

#[test]
fn what_is_asked_at_the_published_size_alone_decides_a_part_of_a_claim_and_what_stands_beside_it_nothing() {
    let published = only(&with_options(&[("block = \"4 KiB\"", "block = \"16 KiB\"")]));
    assert_eq!((published.verdict, published.complete), (ClaimVerdict::Holds, false));
    assert!(published.reasons.contains(&Conclusion::OfPart.into()));
    let more = only(&with_options(&[("block = \"4 KiB\"", "block = [\"64 B\", \"4 KiB\"]")]));
    assert_eq!((more.verdict, more.complete), (ClaimVerdict::Holds, true), "all that is asked was measured");
    assert!(!more.reasons.contains(&Conclusion::OfPart.into()));
    let untestable = |it: &&Reason| matches!(it, Reason::NotTestable { .. });
    let labels = vec!["64 B".to_string()];
    let reason = Box::new(replaced(&[("64 B", &["4 KiB", "16 KiB"])]));
    assert_eq!(more.reasons.iter().find(untestable), Some(&Reason::NotTestable { labels, reason }));
    assert_eq!(more.measured.len(), 1);
}

#[test]
fn a_size_that_options_name_is_another_question_than_what_the_planner_would_choose() {
    let written = Lab::of_experiment(&claimed(["read", "mmap"], FASTER)).record.experiment;
    let text = claimed(["read", "mmap"], FASTER).replace("state =", "ops = 100\nstate =");
    let mut lab = Lab::of_experiment(&text);
    lab.record.experiment.note_filtered(&written);
    lab.measure(0, 10, 10_000.0, nothing);
    lab.measure(1, 10, 5_000.0, nothing);
    let claim = only(&lab);
    assert_eq!((claim.verdict, claim.complete), (ClaimVerdict::NotTestableHere, false));
    assert_eq!(claim.reasons, [replaced(&[("100 ops", &[])])]);
}

#[test]
fn shares_of_a_ceiling_under_two_conditions_are_held_against_the_noise_of_both() {
    let lists = "block = [\"64 KiB\", \"4 KiB\"]\nstate = \"cold\"";
    let claim = "metric = \"ceiling-share\"\nexpect = \"higher\"\nwhere = { block = [\"64 KiB\"] }\nthan_where = { block = [\"4 KiB\"] }";
    let verdict = |control: f64| {
        let mut lab = across(lists, claim, |_, _| 1e3);
        lab.record.conditions.iter_mut().for_each(|it| it.workload = schema::Workload::Scan);
        lab.record.samples.clear();
        let measure = |lab: &mut Lab, cell: usize, ns: f64| {
            lab.measure(cell, 10, ns, |_, pass| {
                pass.reads("device_read_bytes", 64.0 * MIB as f64);
            });
        };
        for cell in 0..4 {
            let bytes = lab.record.conditions[lab.record.cells[cell].condition].block_bytes as f64;
            measure(&mut lab, cell, if bytes == 4096.0 { 1.25 * bytes } else { bytes });
        }
        let (cell, ns) = (lab.control(0, "read"), lab.record.conditions[0].block_bytes as f64 * control);
        measure(&mut lab, cell, ns);
        only(&lab).verdict
    };
    assert_eq!([1.0, 1.4].map(verdict), [ClaimVerdict::Holds, ClaimVerdict::Undecided]);
}
