//! Cells, verdicts, crossovers, the map and its reasons.

use expect_test::{Expect, expect};
use report::words;
use schema::{
    Condition, Reading, State,
    condition::Storage,
    explanation::{Count, Explanation},
    findings::{AnswerOf, MapLine, Status, Verdict},
    gate::NotJudgedCause,
    line::{LineAnswer, LineSays},
    reason::{Limit, Noisy, Reason, Unseen},
    record::{ColdPass, Confirmation, Outcome},
    unit_cost::{Calibration, Loop},
    warning::Warning,
};

use crate::support::{Lab, MIB, Pass, random, scan};

fn nothing(_: u32, _: &mut Pass) {}

/// The map, as a report would begin it.
#[track_caller]
fn check_map(lab: &Lab, expected: Expect) {
    let line = |line: &schema::findings::MapLine| {
        let explanation = line.explanation.as_ref().map_or("no reason".to_string(), words::explanation);
        format!("{} ({}): {}\n  {explanation}\n", line.condition.label(), line.verdict.words(), words::line(&line.says))
    };
    expected.assert_eq(&lab.analyze().map.iter().map(line).collect::<String>());
}

#[track_caller]
fn check_crossovers(lab: &Lab, expected: Expect) {
    let line = |it: &schema::findings::Crossover| {
        let at =
            it.at.map_or("null".to_string(), |at| format!("{:.0} [{:.0}, {:.0}]", at.median, at.ci_low, at.ci_high));
        format!("{at}: {}\n", words::crossover(it))
    };
    expected.assert_eq(&lab.analyze().crossovers.iter().map(line).collect::<String>());
}

// --- Cells ----------------------------------------------------------------------------------------------------------

#[test]
fn cold_passes_on_a_device_that_is_read_through_the_page_cache_are_warned_of() {
    let warned = |state: State, through_page_cache: bool| {
        let mut lab = Lab::duel(scan("64 KiB", state), ("read", 1000.0), ("mmap", 1000.0));
        let Reading::Value(device) = &mut lab.record.target.device else { panic!("a device is planted") };
        device.through_page_cache = through_page_cache;
        lab.analyze().warnings.iter().any(|it| matches!(it, Warning::ThroughPageCache { .. }))
    };
    assert!(warned(State::Cold, true));
    assert!(!warned(State::Cached, true) && !warned(State::Cold, false));
}

#[test]
fn what_was_reached_of_what_came_from_the_device_is_counted_in_pages() {
    let reads = |_: u32, pass: &mut Pass| {
        (pass.tally.distinct_bytes, pass.tally.distinct_pages) = (93 << 10, Some(93));
        pass.reads("device_read_bytes", 92.95 * MIB as f64).reads("read_calls", 0.0);
    };
    let lab = Lab::duel_with(random("1 KiB", State::Cold), ("pread", 3000.0), reads, ("mmap", 1000.0), reads);
    let findings = lab.analyze();
    let text = words::explanation(findings.comparisons[0].explanation.as_ref().unwrap());
    assert!(text.contains("256x what it reached"), "{text}");
}

#[test]
fn what_reads_much_faster_than_the_ceiling_shows_that_it_is_none() {
    let seen = |share: f64| {
        let reads = |_: u32, pass: &mut Pass| {
            pass.reads("device_read_bytes", 64.0 * MIB as f64);
        };
        // Of a ceiling of 2 GB/s. The other arm is near it in any case.
        let lab =
            Lab::duel_with(scan("64 KiB", State::Cold), ("read", 32_768.0 / share), reads, ("mmap", 34_000.0), reads);
        let findings = lab.analyze();
        let warned = findings.warnings.iter().find_map(|it| match it {
            Warning::AtTheCeiling { more, .. } => Some(more + 1),
            Warning::LowCeiling { .. } => Some(0),
            _ => None,
        });
        (warned, findings.cells[1].ceiling_share.is_some())
    };
    assert_eq!(seen(0.5), (Some(1), true));
    assert_eq!(seen(0.97), (Some(2), true));
    assert_eq!(seen(1.09), (Some(2), true));
    assert_eq!(seen(1.2), (Some(0), false));
    assert_eq!(seen(2.3), (Some(0), false));
}

#[test]
fn a_cell_sums_up_its_passes() {
    let lab = Lab::duel_with(
        scan("64 KiB", State::Cold),
        ("read", 1000.0),
        |round, pass| {
            pass.ns_per_op = 65_536.0 * f64::from(round + 1);
            pass.reads("user_ns", 1024.0 * f64::from(round)).reads("minor_faults", f64::from(round));
            pass.reads("device_read_bytes", 64.0 * MIB as f64);
        },
        ("mmap", 1000.0),
        nothing,
    );
    let cell = &lab.analyze().cells[0];
    assert_eq!((cell.status, cell.samples, &cell.reasons[..]), (Status::Ok, 10, &[][..]));
    let ns = cell.ns_per_op.unwrap();
    // Of 1 to 10 (times 65,536 ns): the geometric mean of 5 and 6, between the second and third from each end.
    assert!((ns.median / 65_536.0 - 30f64.sqrt()).abs() < 1e-9);
    assert!((2.0..=3.0).contains(&(ns.ci_low / 65_536.0)) && (8.0..=9.0).contains(&(ns.ci_high / 65_536.0)));
    // A block of 64 KiB in 65,536 ns is a byte per nanosecond.
    assert!((cell.bytes_per_s.unwrap().median - 1e9 / 30f64.sqrt()).abs() < 1.0);
    assert_eq!(cell.user_ns_per_op, Reading::Value(4.5));
    assert_eq!(cell.minor_faults, Reading::Value(4.5));
    assert_eq!(cell.major_faults, Reading::unavailable(Unseen::NotObserved));
    // Of a ceiling of 2 GB/s.
    assert!((cell.ceiling_share.unwrap() - 0.5 / 5.5).abs() < 0.01, "{:?}", cell.ceiling_share);
}

/// Most of a time without a tick, or with a few, is given to user time.
#[test]
fn how_the_time_of_short_passes_divides_is_not_known() {
    let of = |user_ms: f64, system_ms: f64| {
        let spends = |_: u32, pass: &mut Pass| {
            pass.reads("user_ns", user_ms * 1e6).reads("system_ns", system_ms * 1e6);
        };
        let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 1000.0), spends, ("mmap", 1000.0), nothing);
        lab.analyze().cells[0].system_ns_per_op.clone()
    };
    assert_eq!(of(10.0, 10.24), Reading::Value(10.24e6 / 1024.0));
    let few = Unseen::FewTicks { cpu_ns: 2_000_000, tick_ns: 4_000_000, threads: 1 };
    assert_eq!(of(1.5, 0.5), Reading::unavailable(few));
}

#[test]
fn the_time_of_a_jvm_is_divided_where_each_of_its_threads_has_ticks() {
    let of = |arm: &str, threads: u32, all_ms: f64| {
        let mut lab = Lab::new();
        let condition = lab.condition(Condition { threads, ..random("4 KiB", State::Cached) });
        let cell = lab.cell(condition, arm);
        lab.measure(cell, 10, 1000.0, |_, pass| {
            pass.reads("user_ns", all_ms * 0.2e6).reads("system_ns", all_ms * 0.8e6);
        });
        lab.analyze().cells[cell].system_ns_per_op.clone()
    };
    let few = |ms: u64, tick_ms: u64, threads: u32| {
        Reading::unavailable(Unseen::FewTicks { cpu_ns: ms * 1_000_000, tick_ns: tick_ms * 1_000_000, threads })
    };
    // The first thread is there before the pass, and the others are not.
    assert!(matches!(of("jvm/channel-positional", 1, 26.0), Reading::Value(_)));
    assert_eq!(of("jvm/channel-positional", 1, 5.0), few(5, 10, 1), "five ticks in all passes are mostly chance");
    assert_eq!(of("jvm/channel-positional", 8, 390.0), few(390, 10, 8));
    assert!(matches!(of("jvm/channel-positional", 8, 410.0), Reading::Value(_)));
    // getrusage(2) divides the time of the process.
    assert!(matches!(of("pread", 8, 21.0), Reading::Value(_)));
    assert_eq!(of("pread", 8, 19.0), few(19, 4, 1));
}

#[test]
fn random_reads_of_4_kib_are_held_against_the_ceiling_of_such_reads() {
    let lab = Lab::duel_with(
        random("4 KiB", State::Cold),
        ("pread", 1000.0),
        |_, pass| {
            pass.ns_per_op = 40_000.0;
            pass.reads("device_read_bytes", 64.0 * MIB as f64);
        },
        ("mmap", 1000.0),
        nothing,
    );
    let findings = lab.analyze();
    assert!((findings.cells[0].ceiling_share.unwrap() - 0.25).abs() < 1e-9);
    assert_eq!(findings.cells[1].ceiling_share, None);
}

/// So dense that read-ahead brings them at the rate of a scan.
#[test]
fn random_reads_through_the_page_cache_show_no_ceiling_to_be_too_low() {
    let seen = |arm: &str| {
        let reads = |_: u32, pass: &mut Pass| {
            pass.reads("device_read_bytes", 64.0 * MIB as f64);
        };
        // Of a ceiling of 100,000 a second: 2.0 and 0.5.
        let lab = Lab::duel_with(random("4 KiB", State::Cold), (arm, 5_000.0), reads, ("pread", 20_000.0), reads);
        let findings = lab.analyze();
        let low = findings.warnings.iter().find(|it| matches!(it, Warning::LowCeiling { .. }));
        let is_low = low.is_some_and(|it| words::warning(it).contains("fewer requests at once than the arm makes"));
        (is_low, [0, 1].map(|it: usize| findings.cells[it].ceiling_share.is_some()))
    };
    assert_eq!(seen("mmap"), (false, [false, true]));
    assert_eq!(seen("direct"), (true, [false, false]));
}

#[test]
fn random_reads_that_meet_cached_pages_or_read_ahead_are_not_taken_for_requests_of_4_kib() {
    let share = |reached: u64, device_pages: u64| {
        let lab = Lab::duel_with(
            random("4 KiB", State::Cold),
            ("pread", 1000.0),
            move |_, pass| {
                pass.ns_per_op = 40_000.0;
                pass.tally.distinct_pages = Some(reached);
                pass.reads("device_read_bytes", (device_pages * 4096) as f64);
            },
            ("mmap", 1000.0),
            nothing,
        );
        lab.analyze().cells[0].ceiling_share
    };
    // 16,384 blocks on half as many pages are half as many requests.
    assert!((share(8192, 8192).unwrap() - 0.125).abs() < 1e-9);
    assert_eq!(share(1024, 16_384), None);
}

#[test]
fn reads_of_4_kib_are_held_against_the_ceiling_whatever_a_page_is() {
    let share = |arm: &str, page_bytes: u64| {
        let mut lab = Lab::duel_with(
            random("4 KiB", State::Cold),
            (arm, 1000.0),
            move |_, pass| {
                pass.ns_per_op = 40_000.0;
                pass.reads("device_read_bytes", 64.0 * MIB as f64);
            },
            ("mmap", 1000.0),
            nothing,
        );
        lab.record.environment.page_bytes = page_bytes;
        lab.analyze().cells[0].ceiling_share.map(|it| (it * 1e6).round())
    };
    assert_eq!([4096, 16 << 10, 64 << 10].map(|page| share("direct", page)), [Some(250_000.0); 3]);
    // Through the page cache such a read brings a whole page.
    assert_eq!([4096, 16 << 10].map(|page| share("pread", page)), [Some(250_000.0), None]);
}

#[test]
fn calls_for_parts_of_two_pages_are_no_requests_of_4_kib() {
    let share = |arm: &str, change: fn(&mut schema::Condition)| {
        let mut condition = random("4 KiB", State::Cold);
        change(&mut condition);
        let reads = |_: u32, pass: &mut Pass| {
            pass.ns_per_op = 40_000.0;
            pass.tally.distinct_pages = Some(2 * pass.tally.ops);
            pass.reads("device_read_bytes", (2 * pass.tally.ops * 4096) as f64);
        };
        let lab = Lab::duel_with(condition, (arm, 1000.0), reads, ("stdio", 1000.0), nothing);
        lab.analyze().cells[0].ceiling_share.map(|it| (it * 1e6).round())
    };
    // 16,384 calls of 40 us are a quarter of the ceiling's rate, and their pages a half.
    assert_eq!(share("pread", |it| it.aligned = false), None);
    assert_eq!(share("pread", |it| it.range.offset = 512), None);
    assert_eq!(share("pread", |_| {}), Some(500_000.0));
    assert_eq!(share("mmap+random", |it| it.aligned = false), Some(500_000.0), "each page has a fault of its own");
    assert_eq!(share("direct", |it| it.range.offset = 512), Some(250_000.0));
}

#[test]
fn a_limit_of_bytes_is_one_of_random_reads_too_and_one_of_requests_says_nothing_of_a_scan() {
    let share = |mut condition: schema::Condition, read_bytes_per_s, read_ops_per_s| {
        condition.storage = Some(Storage { read_bytes_per_s, read_ops_per_s });
        let block = condition.block_bytes as f64;
        // At 100 MB/s.
        let lab = Lab::duel_with(
            condition,
            ("direct", 1000.0),
            move |_, pass| {
                pass.ns_per_op = block * 10.0;
                pass.reads("device_read_bytes", 64.0 * MIB as f64);
            },
            ("mmap", 1000.0),
            nothing,
        );
        lab.analyze().cells[0].ceiling_share.map(|it| (it * 1e6).round())
    };
    let reads = || random("4 KiB", State::Cold);
    assert_eq!(share(reads(), Some(100_000_000), None), Some(1e6));
    assert_eq!(share(reads(), Some(200_000_000), Some(1_000_000)), Some(5e5));
    assert_eq!(share(reads(), None, Some(25_000)), Some(976_563.0));
    let scans = || scan("64 KiB", State::Cold);
    assert_eq!(share(scans(), Some(200_000_000), None), Some(5e5));
    assert_eq!(share(scans(), None, Some(10_000)), None);
    assert_eq!(share(scans(), Some(200_000_000), Some(10_000)), None);
}

#[test]
fn what_did_not_come_from_the_device_is_no_share_of_its_ceiling() {
    let share = |arm: &str, condition: schema::Condition, device_share: f64| {
        let lab = Lab::duel_with(
            condition,
            (arm, 40_000.0),
            move |_, pass| {
                pass.reads("device_read_bytes", device_share * 64.0 * MIB as f64);
            },
            ("mmap", 40_000.0),
            nothing,
        );
        lab.analyze().cells[0].ceiling_share.unwrap()
    };
    for (arm, condition) in [
        ("read", scan("64 KiB", State::Cold)),
        ("direct", scan("64 KiB", State::Cold)),
        ("pread", random("4 KiB", State::Cold)),
        ("direct", random("4 KiB", State::Cold)),
    ] {
        let [whole, half] = [1.0, 0.5].map(|it| share(arm, condition.clone(), it));
        assert!((half / whole - 0.5).abs() < 0.01, "{arm}: {half} of {whole}");
    }
}

#[test]
fn what_a_fault_brought_is_said_where_faults_go_through_the_file_in_order() {
    let explanation = |condition: schema::Condition, arm: &str| {
        let calls = |calls: f64, faults: f64| {
            move |_: u32, pass: &mut Pass| {
                pass.reads("read_calls", calls).reads("minor_faults", faults);
            }
        };
        let lab = Lab::duel_with(condition, ("read", 1000.0), calls(1024.0, 0.0), (arm, 500.0), calls(0.0, 1024.0));
        words::explanation(lab.analyze().comparisons[0].explanation.as_ref().unwrap())
    };
    assert!(explanation(scan("64 KiB", State::Cached), "mmap").contains("1,024 minor faults of 64 KiB"));
    for (condition, arm) in [(scan("64 KiB", State::Cached), "uring"), (random("4 KiB", State::Cached), "mmap")] {
        let explanation = explanation(condition, arm);
        assert!(
            explanation.contains("1,024 minor faults") && !explanation.contains("minor faults of"),
            "{explanation}"
        );
    }
}

#[test]
fn what_a_fault_brought_is_not_said_where_pages_did_not_come_by_one_fault_each() {
    let explanation = |arm: &str, change: &dyn Fn(&mut schema::Condition)| {
        let calls = |calls: f64, faults: f64| {
            move |_: u32, pass: &mut Pass| {
                pass.reads("read_calls", calls).reads("minor_faults", faults);
            }
        };
        let mut condition = scan("64 KiB", State::Cached);
        change(&mut condition);
        let lab = Lab::duel_with(condition, ("read", 1000.0), calls(1024.0, 0.0), (arm, 500.0), calls(0.0, 846.0));
        words::explanation(lab.analyze().comparisons[0].explanation.as_ref().unwrap())
    };
    assert!(explanation("mmap+populate-read", &|_| {}).contains("846 minor faults of 77 KiB"));
    assert!(explanation("mmap", &|it| it.threads = 3).contains("846 minor faults of 77 KiB"));
    for of in [
        explanation("mmap+populate-read", &|it| it.threads = 3),
        explanation("mmap", &|it| it.workload = schema::Workload::Update),
    ] {
        assert!(of.contains("846 minor faults") && !of.contains("minor faults of"), "{of}");
    }
}

#[test]
fn throughput_is_of_blocks_as_long_as_they_are_where_a_part_of_each_is_looked_at() {
    // Two blocks, of which the file ends in the second: 5 MiB in a millisecond.
    let mut condition = scan("4 MiB", State::Cached);
    (condition.file_bytes, condition.range.bytes, condition.ops) = (5 * MIB, 5 * MIB, 2);
    condition.consumed_percent = 50;
    let half = |_: u32, pass: &mut Pass| {
        pass.ns_per_op = 500_000.0;
        (pass.tally.bytes, pass.tally.distinct_block_bytes) = (5 * MIB / 2, Some(5 * MIB));
    };
    let findings = Lab::duel_with(condition, ("read", 1.0), half, ("mmap", 1.0), half).analyze();
    assert_eq!(findings.cells[0].bytes, Some(5.0 * MIB as f64));
    let bytes_per_s = findings.cells[0].bytes_per_s.unwrap().median;
    assert!((bytes_per_s / (5e3 * MIB as f64) - 1.0).abs() < 1e-9, "{bytes_per_s}");
}

/// A scan at about 1 GB/s of a device that is throttled to `allowed`.
fn throttled(allowed: u64) -> Lab {
    let mut condition = scan("64 KiB", State::Cold);
    condition.storage = Some(Storage { read_bytes_per_s: Some(allowed), read_ops_per_s: None });
    Lab::duel_with(
        condition,
        ("read", 65_536.0),
        |_, pass| {
            pass.reads("device_read_bytes", 64.0 * MIB as f64);
        },
        ("mmap", 65_536.0),
        nothing,
    )
}

#[test]
fn a_throttled_cell_is_held_against_its_throttle_and_not_against_the_device() {
    let findings = throttled(1_000_000_000).analyze();
    assert!((findings.cells[0].ceiling_share.unwrap() - 1.0).abs() < 0.02, "{:?}", findings.cells[0].ceiling_share);
    assert!(findings.warnings.is_empty(), "{:?}", findings.warnings);
    // A throttle above the device's 2 GB/s decides nothing.
    let idle = throttled(9_000_000_000).analyze();
    assert!((idle.cells[0].ceiling_share.unwrap() - 0.5).abs() < 0.01);
    // Of what came free nothing is a share.
    assert_eq!(throttled(800_000_000).analyze().cells[0].ceiling_share, None);
}

#[test]
fn a_throttle_that_lets_more_through_is_named() {
    let warnings = throttled(900_000_000).analyze().warnings;
    let Warning::ThrottleExceeded { arm, limit: Limit::Bytes, allowed_per_s, per_s, more: 0, .. } = &warnings[0] else {
        panic!("{warnings:?}")
    };
    assert_eq!((arm.as_str(), *allowed_per_s), ("read", 9e8));
    assert!((0.95e9..1.05e9).contains(per_s), "{per_s}");
}

const READS: Storage = Storage { read_bytes_per_s: None, read_ops_per_s: Some(1000) };
const BYTES: Storage = Storage { read_bytes_per_s: Some(100_000_000), read_ops_per_s: None };

fn few_reads() -> Condition {
    Condition { ops: 200, ..random("4 KiB", State::Cold) }
}

#[test]
fn what_a_throttle_let_through_free_decides_nothing() {
    let verdict = |condition: Condition, storage: Storage, arms: [(&str, f64); 2]| {
        let findings = Lab::throttled(condition, storage, arms).analyze();
        let comparison = findings.comparisons[0].clone();
        let came_free = matches!(comparison.reason, Some(Reason::ThrottleExceeded { .. }));
        assert_eq!(came_free, comparison.verdict == Verdict::Undecided, "{comparison:?}");
        assert!(!came_free || findings.map[0].winner.is_none(), "{:?}", findings.map[0]);
        (comparison.verdict, findings.warnings.iter().filter(|it| words::warning(it).contains("throttle")).count())
    };
    let random = |shares: [f64; 2]| verdict(few_reads(), READS, [("direct", shares[0]), ("pread", shares[1])]);
    assert_eq!(random([1.04, 1.69]), (Verdict::Undecided, 1));
    assert_eq!(random([1.69, 1.04]), (Verdict::Undecided, 1));
    assert_eq!(random([1.0, 1.0]), (Verdict::Same, 0));
    let scans =
        |shares: [f64; 2]| verdict(scan("64 KiB", State::Cold), BYTES, [("read", shares[0]), ("mmap", shares[1])]);
    assert_eq!(scans([1.10, 1.34]), (Verdict::Undecided, 1));
    assert_eq!(scans([0.99, 1.11]), (Verdict::Undecided, 1));
    // What both got free makes no difference between them, and so it is with a difference that it is too small to make.
    assert_eq!(scans([1.12, 1.12]), (Verdict::Same, 1));
    assert_eq!(scans([0.30, 1.12]), (Verdict::Faster, 1));
    assert_eq!(scans([1.12, 0.30]), (Verdict::Slower, 1));
    assert_eq!(scans([0.75, 1.00]), (Verdict::Faster, 0));
    assert_eq!(scans([1.00, 1.00]), (Verdict::Same, 0));
}

#[test]
fn a_throttle_of_reads_that_lets_more_through_is_named_with_the_number_of_cells() {
    let mut lab = Lab::throttled(few_reads(), READS, [("direct", 1.2), ("pread", 1.69)]);
    let control = lab.control(0, "direct");
    lab.measure(control, 10, 5e5, |_, pass| {
        pass.reads("device_read_bytes", 200.0 * 4096.0);
    });
    let findings = lab.analyze();
    let says: Vec<String> = findings.warnings.iter().map(words::warning).collect();
    let says = says.iter().find(|it| it.contains("throttle")).unwrap();
    assert!(says.starts_with("the I/O throttle of 1,000 reads/s was exceeded: pread got 1,6"), "{says}");
    assert!(says.ends_with(" and 1 more"), "the control is no arm: {says}");
    let why = words::reason(findings.comparisons[0].reason.as_ref().unwrap());
    assert!(why.contains("allows 1,000 reads/s, and pread got 1,6") && why.contains("longer passes"), "{why}");
}

#[test]
fn requests_that_may_have_brought_many_pages_are_held_against_no_throttle_of_reads() {
    let warned = |condition: Condition, arm: &str, device_bytes: f64| {
        // At 50,000 blocks a second, with 1,000 requests allowed.
        let mut lab = Lab::throttled(condition, READS, [(arm, 50.0), ("stdio", 1.0)]);
        for it in &mut lab.record.samples {
            it.readings.insert("device_read_bytes".into(), Reading::Value(device_bytes));
        }
        lab.analyze().warnings.iter().any(|it| matches!(it, Warning::ThrottleExceeded { .. }))
    };
    let (few, all) = (200.0 * 4096.0, 64.0 * MIB as f64);
    for arm in ["pread", "mmap", "mmap+random", "direct"] {
        assert!(warned(few_reads(), arm, few), "{arm}");
        assert!(!warned(few_reads(), arm, 0.0), "{arm}");
    }
    assert!(!warned(few_reads(), "mmap", 32.0 * few), "by read-ahead");
    assert!(!warned(random("4 KiB", State::Cold), "mmap", all), "of a range of which all comes, any number at once");
    assert!(!warned(Condition { ops: 50, ..random("64 KiB", State::Cold) }, "pread", 50.0 * 65_536.0));
    assert!(!warned(scan("64 KiB", State::Cold), "read", all));
    assert!(warned(scan("64 KiB", State::Cold), "direct", all), "a call is one request or more");
}

#[test]
fn what_came_free_in_the_rounds_does_not_open_what_long_passes_confirm() {
    let mut lab = Lab::throttled(few_reads(), READS, [("direct", 0.99), ("pread", 1.3)]);
    assert_eq!(lab.analyze().comparisons[0].verdict, Verdict::Undecided);
    let reads = |share: f64| 1e9 / 1000.0 / share;
    let pass = |share: f64| {
        let Outcome::Ok { tally, .. } = lab.record.samples[0].outcome.clone() else { unreachable!() };
        (ColdPass { tally, device_read_bytes: Some(200.0 * 4096.0) }, 200.0 * reads(share))
    };
    let ((ours, our_ns), (theirs, their_ns)) = (pass(0.8), pass(1.0));
    lab.record.confirmations.push(Confirmation {
        condition: 0,
        baseline_cell: 0,
        arm_cell: 1,
        range: lab.record.conditions[0].range,
        ops: 200,
        pairs: vec![[our_ns, their_ns]; 5],
        cold: vec![[ours, theirs]; 5],
        invalid: vec![],
    });
    let confirmed = lab.analyze().comparisons.remove(0);
    assert_eq!((confirmed.verdict, confirmed.answer_of), (Verdict::Faster, AnswerOf::Job));
    // By how much is what the job says: the rounds would say less at their limit.
    let job = their_ns / our_ns;
    assert!((confirmed.speedup.unwrap().median * job - 1.0).abs() < 1e-9, "{:?}", confirmed.speedup);
    // What is held against another run are the rounds.
    let rounds = confirmed.confirmed.and_then(|it| it.rounds_came_free);
    assert!(matches!(rounds, Some(Reason::ThrottleExceeded { .. })), "{rounds:?}");
    let findings = lab.analyze();
    let run = (&lab.record, &findings);
    let gate = analysis::gate(&"pread slower 1%".parse().unwrap(), &[run], &[vec![run]]).unwrap();
    assert!(matches!(gate.not_judged[0].cause, NotJudgedCause::ThrottleExceeded { .. }), "{gate:?}");
}

#[test]
fn a_cell_without_a_number_says_why() {
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64 KiB", State::Cold));
    let [ok, skipped, invalid, failed] = ["read", "mmap", "pread", "direct"].map(|arm| lab.cell(condition, arm));
    lab.measure(ok, 8, 1000.0, nothing);
    lab.invalid(ok, 8, "3 pages resident");
    lab.failed(ok, 9, "worker died");
    lab.invalid(ok, 10, "3 pages resident");
    lab.record.cells[skipped].skipped = Some("no such system call".into());
    for round in 0..3 {
        lab.invalid(invalid, round, "37 of 16384 pages stayed resident");
        lab.failed(failed, round, if round == 1 { "signal 9" } else { "O_DIRECT is not supported here" });
    }
    let cells = lab.analyze().cells;
    let described: Vec<(Status, &[Reason])> = cells.iter().map(|it| (it.status, &it.reasons[..])).collect();
    let lost = |lost, passes, reason: &str| [Reason::LostPasses { lost, passes, reason: reason.into() }];
    assert_eq!(
        described,
        [
            (Status::Ok, &lost(2, 11, "3 pages resident")[..]),
            (Status::Skipped, &[Reason::Skipped("no such system call".into())]),
            (Status::Invalid, &lost(3, 3, "37 of 16384 pages stayed resident")),
            (Status::Failed, &lost(2, 3, "O_DIRECT is not supported here")),
        ]
    );
    assert_eq!((cells[0].invalid_samples, cells[0].failed_samples), (2, 1));
    assert!(cells[1].ns_per_op.is_none());
    assert_eq!(cells[2].minor_faults, Reading::unavailable(Unseen::NoValidPass));
    let reasons: Vec<String> =
        lab.analyze().comparisons.into_iter().filter_map(|it| it.reason.as_ref().map(report::words::reason)).collect();
    assert_eq!(
        reasons,
        [
            "mmap has no valid pass: no such system call",
            "pread has no valid pass: 3 of 3 passes: 37 of 16384 pages stayed resident",
            "direct has no valid pass: 2 of 3 passes: O_DIRECT is not supported here",
        ]
    );
}

#[test]
fn a_reading_that_is_missing_gives_the_reason_most_passes_give() {
    let lab = Lab::duel_with(
        scan("64 KiB", State::Cached),
        ("read", 1000.0),
        |round, pass| {
            let reason = if round == 0 { "the process was gone" } else { "/proc/PID/io needs the same user" };
            pass.readings.insert("device_read_bytes".into(), Reading::unavailable(reason));
            pass.readings.insert("minor_faults".into(), Reading::Value(f64::NAN));
        },
        ("mmap", 1000.0),
        nothing,
    );
    let cell = &lab.analyze().cells[0];
    assert_eq!(cell.device_read_bytes, Reading::unavailable("/proc/PID/io needs the same user"));
    assert_eq!(cell.minor_faults, Reading::unavailable(Unseen::NotObserved));
}

// --- Comparisons ----------------------------------------------------------------------------------------------------

#[test]
fn a_clear_difference_is_decided_and_a_small_one_is_the_same() {
    let verdict = |ns| {
        let comparison =
            Lab::duel(scan("64 KiB", State::Cached), ("read", 1000.0), ("mmap", ns)).analyze().comparisons.remove(0);
        (comparison.verdict, comparison.pairs)
    };
    assert_eq!(verdict(500.0), (Verdict::Faster, 10));
    assert_eq!(verdict(2000.0), (Verdict::Slower, 10));
    assert_eq!(verdict(1010.0), (Verdict::Same, 10));
    assert_eq!(verdict(952.0), (Verdict::Undecided, 10));
}

#[test]
fn few_rounds_are_undecided_however_clear_they_look() {
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64 KiB", State::Cached));
    for (arm, ns) in [("read", 1000.0), ("mmap", 100.0)] {
        let cell = lab.cell(condition, arm);
        lab.measure(cell, 3, ns, nothing);
    }
    let findings = lab.analyze();
    assert_eq!(findings.comparisons[0].verdict, Verdict::Undecided);
    let reason = Some(Reason::TooFewRounds { rounds: 3, least: 5 });
    assert_eq!(findings.comparisons[0].reason, reason);
    assert!(findings.comparisons[0].speedup.is_some());
    let undecided = LineAnswer::Undecided { reason };
    assert_eq!(findings.map[0].says.answer, undecided);
    assert_eq!(findings.map[0].winner, None);
}

#[test]
fn a_machine_that_drifts_does_not_change_a_paired_comparison() {
    // 30 % slower from the first round to the last, for both arms: the cells spread, their ratio does not.
    let drift =
        |center: f64| move |round: u32, pass: &mut Pass| pass.ns_per_op = center * (1.0 + 0.03 * f64::from(round));
    let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 1.0), drift(1e6), ("mmap", 1.0), drift(5e5));
    let findings = lab.analyze();
    let speedup = findings.comparisons[0].speedup.unwrap();
    assert!((speedup.ci_low - 2.0).abs() < 1e-6 && (speedup.ci_high - 2.0).abs() < 1e-6, "{speedup:?}");
    let cell = findings.cells[0].ns_per_op.unwrap();
    assert!(cell.ci_high / cell.ci_low > 1.1);
}

#[test]
fn only_rounds_in_which_both_were_measured_count() {
    let mut lab = Lab::duel(scan("64 KiB", State::Cached), ("read", 1000.0), ("mmap", 500.0));
    lab.record.samples.retain(|sample| !(sample.cell == 1 && sample.round < 3));
    assert_eq!(lab.analyze().comparisons[0].pairs, 7);
    lab.record.samples.retain(|sample| (sample.cell == 1) == (sample.round > 5));
    let comparison = lab.analyze().comparisons.remove(0);
    assert_eq!(comparison.reason, Some(Reason::NoCommonRound));
}

#[test]
fn controls_make_the_noise_floor_and_are_not_listed() {
    let mut lab = Lab::duel(scan("64 KiB", State::Cached), ("read", 1000.0), ("mmap", 500.0));
    let control = lab.control(0, "read");
    lab.measure(control, 10, 1000.0, nothing);
    let findings = lab.analyze();
    assert_eq!(findings.comparisons.len(), 1);
    assert_eq!((findings.noise_floor.pairs, findings.noise_floor.rejected), (1, 0));
    assert!(findings.noise_floor.half_width.unwrap() < 0.01);
    assert!(findings.cells[2].control);

    let other = lab.condition(scan("4 KiB", State::Cached));
    let cells = [lab.cell(other, "read"), lab.control(other, "read")];
    lab.measure(cells[0], 10, 1000.0, nothing);
    lab.measure(cells[1], 10, 1200.0, nothing);
    let findings = lab.analyze();
    assert_eq!((findings.noise_floor.pairs, findings.noise_floor.rejected), (2, 1));
    let Warning::WideNoise { states, .. } = &findings.warnings[0] else { panic!("{:?}", findings.warnings) };
    assert_eq!(states[0].floor.width().as_deref(), Some("±19 %"));
}

#[test]
fn a_state_is_judged_by_its_own_controls() {
    let mut lab = Lab::new();
    for (state, ns) in [(State::Cached, 1000.0), (State::Cold, 1300.0)] {
        let condition = lab.condition(scan("64 KiB", state));
        let cells = [lab.cell(condition, "read"), lab.control(condition, "read")];
        lab.measure(cells[0], 10, 1000.0, nothing);
        lab.measure(cells[1], 10, ns, nothing);
    }
    let without = lab.condition(scan("64 KiB", State::Mapped));
    lab.cell(without, "read");
    let findings = lab.analyze();
    let [cached, cold] = &findings.noise_floors[..] else { panic!("{:?}", findings.noise_floors) };
    assert_eq!((cached.state, cached.floor.pairs, cached.floor.rejected), (State::Cached, 1, 0));
    assert_eq!((cold.state, cold.floor.pairs, cold.floor.rejected), (State::Cold, 1, 1));
    assert!(cached.floor.half_width.unwrap() < 0.01 && cold.floor.half_width.unwrap() > 0.25);
    let Warning::WideNoise { states, .. } = &findings.warnings[0] else { panic!("{:?}", findings.warnings) };
    assert_eq!(states, std::slice::from_ref(cold));
}

#[test]
fn a_noise_floor_is_of_the_state_that_the_passes_of_its_controls_started_from() {
    // Two arms with a state of their own; the control of an arm has what that has.
    let of = |control_ns: f64| {
        let mut lab = Lab::new();
        let condition = lab.condition(scan("64 KiB", State::Locked));
        let cells = [lab.cell(condition, "pread"), lab.cell(condition, "mmap"), lab.control(condition, "pread")];
        for (cell, ns) in cells.into_iter().zip([1000.0, 800.0, control_ns]) {
            lab.own(cell, |it| it.state = State::Cached);
            lab.measure(cell, 10, ns, nothing);
        }
        lab.analyze()
    };
    let noisy = of(1300.0);
    let [only] = &noisy.noise_floors[..] else { panic!("{:?}", noisy.noise_floors) };
    assert_eq!((only.state, only.floor.pairs), (State::Cached, 1), "none of them was locked");
    // What is judged by it is what started there.
    let Some(Reason::WithinNoise { under, .. }) = &noisy.comparisons[0].reason else { panic!("{noisy:?}") };
    assert_eq!(under.iter().map(|it| it.state).collect::<Vec<_>>(), [State::Cached]);
    assert_eq!(of(1000.0).comparisons[0].verdict, Verdict::Faster);
}

#[test]
fn a_noise_floor_is_said_to_be_of_no_more_than_the_kind_of_passes_that_it_was_measured_on() {
    let mut lab = Lab::new();
    let plain = lab.condition(scan("64 KiB", State::Cold));
    let storage = Some(Storage { read_bytes_per_s: Some(100 << 20), read_ops_per_s: None });
    let throttled = lab.condition(Condition { storage, ..scan("64 KiB", State::Cold) });
    for (condition, control_ns) in [(plain, 1500.0), (throttled, 1010.0)] {
        let cells = [lab.cell(condition, "read"), lab.cell(condition, "mmap"), lab.control(condition, "read")];
        for (cell, ns) in cells.into_iter().zip([1000.0, 800.0, control_ns]) {
            lab.measure(cell, 10, ns, nothing);
        }
    }
    let findings = lab.analyze();
    let of_throttled = findings.comparisons.iter().find(|it| it.id.condition.condition_index == throttled).unwrap();
    let Some(Reason::WithinNoise { under, .. }) = &of_throttled.reason else { panic!("{of_throttled:?}") };
    assert!(matches!(under[..], [Noisy { throttled: false, .. }]), "{under:?}");
}

#[test]
fn a_difference_within_the_noise_floor_of_its_state_decides_nothing() {
    let of = |arm_ns: f64, control_ns: f64, controlled: State| {
        let mut lab = Lab::duel(scan("64 KiB", State::Cold), ("read", 1000.0), ("mmap", arm_ns));
        let condition = lab.condition(scan("4 KiB", controlled));
        let cells = [lab.cell(condition, "read"), lab.control(condition, "read")];
        lab.measure(cells[0], 10, 1000.0, nothing);
        lab.measure(cells[1], 10, control_ns, nothing);
        let findings = lab.analyze();
        assert_eq!(findings.map[0].verdict, findings.comparisons[0].verdict, "the map says the same");
        findings.comparisons[0].verdict
    };
    assert_eq!(of(800.0, 1010.0, State::Cold), Verdict::Faster);
    assert_eq!(of(800.0, 1300.0, State::Cold), Verdict::Undecided);
    assert_eq!(of(1250.0, 1300.0, State::Cold), Verdict::Undecided);
    assert_eq!(of(500.0, 1300.0, State::Cold), Verdict::Faster, "what is far beyond it is decided");
    assert_eq!(of(800.0, 1300.0, State::Cached), Verdict::Faster, "another state's noise is not this one's");
}

#[test]
fn a_line_that_is_open_although_its_interval_would_decide_has_the_reason() {
    let between = |lab: &Lab| match lab.analyze().map.remove(0) {
        MapLine { says: LineSays { answer: LineAnswer::Between { promising, reason, .. }, .. }, answer_of, .. } => {
            (promising.unwrap(), reason, answer_of)
        }
        line => panic!("{line:?}"),
    };
    let noisy = |ns: f64| {
        let mut lab = Lab::duel(scan("64 KiB", State::Cold), ("read", 1000.0), ("mmap", ns));
        let control = lab.control(0, "read");
        lab.measure(control, 10, 1300.0, nothing);
        lab
    };
    let (promising, reason, of) = between(&noisy(850.0));
    assert!(promising.ci_low > 1.05, "{promising:?}");
    assert!(matches!(reason, Some(Reason::WithinNoise { .. })), "{reason:?}");
    assert_eq!(of, AnswerOf::Rounds);
    // Slower beyond the margin by its interval.
    let (promising, reason, _) = between(&noisy(1200.0));
    assert!(promising.ci_high < 1.0 / 1.05 && matches!(reason, Some(Reason::WithinNoise { .. })), "{reason:?}");
    // Of passes at the size of the job.
    let mut lab = noisy(2000.0);
    let range = lab.record.conditions[0].range;
    lab.record.confirmations.push(Confirmation {
        condition: 0,
        baseline_cell: 0,
        arm_cell: 1,
        range,
        ops: 4096,
        pairs: vec![[1.15e9, 1e9]; 5],
        cold: vec![],
        invalid: vec![],
    });
    let (promising, reason, of) = between(&lab);
    assert!(promising.ci_low > 1.05 && matches!(reason, Some(Reason::WithinNoise { .. })), "{reason:?}");
    assert_eq!(of, AnswerOf::Job);
    // Across the margin the interval is the reason.
    let uneven = |round: u32, pass: &mut Pass| pass.ns_per_op *= if round.is_multiple_of(2) { 1.2 } else { 0.9 };
    let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 1000.0), nothing, ("mmap", 1000.0), uneven);
    let (promising, reason, _) = between(&lab);
    assert!(promising.ci_low < 1.0 && promising.ci_high > 1.05 && reason.is_none(), "{promising:?} {reason:?}");
}

#[test]
fn an_arm_that_only_the_noise_floor_keeps_from_being_slower_is_not_passed_over() {
    let lines = |wins: bool, control_ns: f64| {
        let mut lab = Lab::duel(scan("64 KiB", State::Cold), ("read", 1000.0), ("mmap", 1150.0));
        let stdio = lab.cell(0, "stdio");
        lab.measure(stdio, 10, 3000.0, nothing);
        if wins {
            let uring = lab.cell(0, "uring");
            lab.measure(uring, 10, 100.0, nothing);
            let direct = lab.cell(0, "direct");
            lab.measure(direct, 10, 115.0, nothing);
        }
        let control = lab.control(0, "read");
        lab.measure(control, 10, control_ns, nothing);
        lab.analyze().map.remove(0)
    };
    let line = lines(false, 1000.0);
    assert_eq!((line.winner.as_deref(), line.verdict), (Some("native/read"), Verdict::Faster));
    let line = lines(false, 1300.0);
    assert_eq!(
        (line.winner, line.verdict, line.not_told_apart),
        (None, Verdict::Undecided, vec!["native/mmap".into()])
    );
    let line = lines(true, 1000.0);
    assert_eq!((line.winner.as_deref(), line.not_told_apart.len()), (Some("native/uring"), 0));
    let line = lines(true, 1300.0);
    assert_eq!(line.winner.as_deref(), Some("native/uring"));
    assert_eq!(line.not_told_apart, ["native/direct"]);
}

#[test]
fn an_interval_that_ends_at_the_margin_passes_nobody_over_where_one_arm_differs_from_itself_by_more() {
    let line = |control_ns: f64| {
        let uneven = |round: u32, pass: &mut Pass| pass.ns_per_op *= if round.is_multiple_of(2) { 1.0 } else { 2.0 };
        let mut lab = Lab::duel_with(scan("64 KiB", State::Cold), ("read", 1000.0), nothing, ("mmap", 1000.0), uneven);
        let control = lab.control(0, "read");
        lab.measure(control, 10, control_ns, nothing);
        let findings = lab.analyze();
        assert_eq!(findings.comparisons[0].verdict, Verdict::Undecided);
        findings.map[0].clone()
    };
    let (quiet, noisy) = (line(1000.0), line(1500.0));
    assert_eq!((quiet.winner.as_deref(), quiet.verdict), (Some("native/read"), Verdict::Same));
    assert_eq!((noisy.winner, noisy.verdict), (None, Verdict::Undecided));
    let LineAnswer::Between { reason, .. } = noisy.says.answer else { panic!("{:?}", noisy.says) };
    assert!(matches!(reason, Some(Reason::WithinNoise { .. })), "{reason:?}");
}

// --- Crossovers -----------------------------------------------------------------------------------------------------

const SIZES: [&str; 5] = ["1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB"];

/// mmap against pread at each size, as mmap's speedups.
fn curve(speedups: &[f64]) -> Lab {
    let mut lab = Lab::new();
    for (size, speedup) in SIZES.iter().zip(speedups) {
        let condition = lab.condition(scan(size, State::Cached));
        let cells = [lab.cell(condition, "pread"), lab.cell(condition, "mmap")];
        lab.measure(cells[0], 10, 100_000.0 * speedup, nothing);
        lab.measure(cells[1], 10, 100_000.0, nothing);
    }
    lab
}

#[test]
fn a_crossover_lies_where_the_interpolated_speedup_is_1() {
    // 1.44 at 16 KiB and 1/1.2 at 64 KiB: two thirds of the way on the logarithmic axis, 16 KiB * 4^(2/3) = 40.3 KiB.
    check_crossovers(
        &curve(&[2.0, 1.8, 1.44, 1.0 / 1.2, 0.6]),
        expect![[r#"
            41039 [40347, 42002]: mmap is faster up to 16 KiB, pread from 64 KiB; they cross near 40 KiB [39 KiB, 41 KiB]
        "#]],
    );
    check_crossovers(
        &curve(&[0.5, 0.8, 1.0, 1.25, 2.0]),
        expect![[r#"
            16528 [15893, 16831]: pread is faster up to 4 KiB, mmap from 64 KiB; they cross near 16 KiB [16 KiB, 16 KiB]
        "#]],
    );
}

#[test]
fn without_a_change_the_sizes_are_said() {
    check_crossovers(
        &curve(&[2.0, 1.8, 1.5]),
        expect![[r#"
        null: mmap is faster than pread at every size measured (1 KiB to 16 KiB)
    "#]],
    );
    check_crossovers(
        &curve(&[0.5, 0.6, 0.5]),
        expect![[r#"
        null: pread is faster than mmap at every size measured (1 KiB to 16 KiB)
    "#]],
    );
    check_crossovers(
        &curve(&[1.0, 1.0, 1.0]),
        expect![[r#"
        null: pread and mmap are the same at every size measured (1 KiB to 16 KiB)
    "#]],
    );
    check_crossovers(
        &curve(&[1.05, 1.05, 1.05]),
        expect![[r#"
            null: between pread and mmap no size is decided (1 KiB to 16 KiB)
        "#]],
    );
    // Wavering around 1 inside the margin crosses nothing.
    check_crossovers(
        &curve(&[2.0, 1.5, 1.01, 0.99, 1.01]),
        expect![[r#"
        null: mmap is faster than pread at 1 KiB to 4 KiB and they are the same at 16 KiB to 256 KiB
    "#]],
    );
}

#[test]
fn a_size_at_which_one_arm_was_not_measured_is_named() {
    let mut lab = curve(&[2.0, 1.8, 1.5]);
    let condition = lab.condition(scan("64 KiB", State::Cached));
    let cells = [lab.cell(condition, "pread"), lab.cell(condition, "mmap")];
    lab.measure(cells[0], 10, 100_000.0, nothing);
    check_crossovers(
        &lab,
        expect![[r#"
            null: mmap is faster than pread at every size measured (1 KiB to 16 KiB); at 64 KiB not both were measured
        "#]],
    );
}

#[test]
fn sizes_of_one_question_make_one_curve_also_where_some_have_fewer_arms() {
    let crossovers = |second: &str| {
        let compare = |more: &str| format!("[[compare]]\nworkload = \"scan\"\nstate = \"cached\"\n{more}\n");
        let few = compare("block = [\"64 KiB\", \"1 MiB\"]\narms = [\"read\", \"mmap\", \"uring\"]");
        let mut lab = Lab::of_experiment(&format!("title = \"t\"\n{few}{}", compare(second)));
        for cell in 0..lab.record.cells.len() {
            let (arm, block) =
                (&lab.record.cells[cell].arm.name, &lab.record.conditions[lab.record.cells[cell].condition]);
            let mapping = if block.block_bytes == 4096 { 500.0 } else { 2000.0 };
            let ns = if arm == "native/mmap" { mapping } else { 1000.0 };
            lab.measure(cell, 10, ns, |_, _| {});
        }
        lab.analyze().crossovers.iter().map(|it| (it.arms[1].clone(), it.cells.len())).collect::<Vec<_>>()
    };
    let split = crossovers("block = \"4 KiB\"\narms = [\"read\", \"mmap\"]");
    assert_eq!(split, [("native/mmap".to_string(), 3)]);
    assert_eq!(crossovers("name = \"another\"\nblock = \"4 KiB\"\narms = [\"read\", \"mmap\"]"), []);
    assert_eq!(crossovers("range = { bytes = \"1 MiB\" }\nblock = \"4 KiB\"\narms = [\"read\", \"mmap\"]"), []);
}

#[test]
fn two_changes_are_two_crossovers_and_two_sizes_are_none() {
    check_crossovers(
        &curve(&[2.0, 0.5, 2.0]),
        expect![[r#"
            2046 [2033, 2063]: between 1 KiB and 4 KiB the faster arm changes from mmap to pread; they cross near 2 KiB [2 KiB, 2 KiB] (one of 2 crossovers)
            8200 [8151, 8227]: between 4 KiB and 16 KiB the faster arm changes from pread to mmap; they cross near 8 KiB [8 KiB, 8 KiB] (one of 2 crossovers)
        "#]],
    );
    assert!(curve(&[2.0, 0.5]).analyze().crossovers.is_empty());
}

#[test]
fn a_crossover_of_several_says_nothing_of_the_sizes_beyond_its_neighbours() {
    let crossovers = curve(&[0.5, 2.0, 2.0, 0.5, 0.5]).analyze().crossovers;
    assert_eq!(crossovers.len(), 2);
    for says in crossovers.iter().map(words::crossover) {
        assert!(!says.contains("up to") && !says.contains(" from 4 KiB"), "pread is the faster one again: {says}");
    }
}

#[test]
fn a_curve_lies_along_what_its_arms_did_and_not_along_their_conditions() {
    let with = |change: fn(&mut schema::Condition)| {
        let mut lab = curve(&[2.0, 1.8, 0.6]);
        for cell in 0..lab.record.cells.len() {
            lab.own(cell, change);
        }
        lab.analyze().crossovers
    };
    assert_eq!(with(|it| it.block_bytes = 65_536), [], "three times one block is one point");
    let mapped = with(|it| it.state = State::Mapped);
    let [mapped] = &mapped[..] else { panic!("{mapped:?}") };
    assert_eq!((mapped.state, mapped.points.len(), mapped.changes), (State::Mapped, 3, true));
}

#[test]
fn sizes_that_cannot_be_compared_are_left_out_of_a_curve() {
    let mut lab = curve(&[2.0, 1.8, 1.4, 0.8, 0.6]);
    let cell = lab.record.cells.iter().position(|cell| cell.condition == 2 && !cell.baseline).unwrap();
    lab.own(cell, |own| own.aligned = false);
    check_crossovers(
        &lab,
        expect![[r#"
            30332 [29575, 31299]: mmap is faster up to 4 KiB, pread from 64 KiB; they cross near 30 KiB [29 KiB, 31 KiB]
        "#]],
    );
}

#[test]
fn what_bounds_nothing_is_no_point_of_a_curve() {
    let crossovers = |of_16_kib: [f64; 2]| {
        let mut lab = Lab::new();
        for (size, [pread, direct]) in [("4 KiB", [0.5, 0.25]), ("16 KiB", of_16_kib), ("64 KiB", [0.5, 1.0])] {
            let mut condition = random(size, State::Cold);
            (condition.ops, condition.storage) = (200, Some(READS));
            let condition = lab.condition(condition);
            for (arm, share) in [("pread", pread), ("direct", direct)] {
                let (cell, bytes) =
                    (lab.cell(condition, arm), 200.0 * lab.record.conditions[condition].block_bytes as f64);
                lab.measure(cell, 10, 1e6 / share, |_, pass| {
                    pass.reads("device_read_bytes", bytes);
                });
            }
        }
        lab.analyze().crossovers.iter().map(words::crossover).collect::<String>()
    };
    assert_eq!(
        crossovers([0.5, 0.25]),
        "pread is faster up to 16 KiB, direct from 64 KiB; they cross near 32 KiB [32 KiB, 32 KiB]"
    );
    // At 16 KiB, a throttle let more through.
    let of_two = "pread is faster up to 4 KiB, direct from 64 KiB; they cross near 16 KiB [16 KiB, 16 KiB]";
    assert_eq!(crossovers([1.0, 1.7]), of_two);
}

// --- The map --------------------------------------------------------------------------------------------------------

#[test]
fn the_fastest_arm_wins_and_what_it_is_not_faster_than_ties() {
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64 KiB", State::Cached));
    for (arm, ns) in [("read", 16_000.0), ("mmap", 10_000.0), ("mmap+sequential", 10_100.0), ("direct", 60_000.0)] {
        let cell = lab.cell(condition, arm);
        lab.measure(cell, 12, ns, |_, pass| {
            let read = arm == "read";
            pass.reads("read_calls", if read { 1024.0 } else { 0.0 });
            pass.reads("read_call_bytes", if read { 64.0 * MIB as f64 } else { 0.0 });
            pass.reads("minor_faults", if read { 3.0 } else { 1024.0 });
            pass.reads("user_ns", if read { 29e6 } else { 60e6 });
            pass.reads("system_ns", if read { 71e6 } else { 40e6 });
        });
    }
    check_map(
        &lab,
        expect![[r#"
            scan 64 KiB cached (faster): mmap is 1.6x faster than read; mmap+sequential ties with it
              read: 1,024 read calls for 64 MiB, 3 minor faults, 71 % of its CPU time in the kernel; mmap: no read call, 1,024 minor faults of 64 KiB, 40 % of its CPU time in the kernel
        "#]],
    );
    let line = &lab.analyze().map[0];
    assert_eq!(line.winner.as_deref(), Some("native/mmap"));
    assert_eq!(line.ties, ["native/mmap+sequential"]);
    assert!((line.margin.unwrap().median - 1.6).abs() < 0.02);
}

#[test]
fn as_many_calls_that_bring_in_many_times_as_much_differ() {
    let explained = |bytes: f64| {
        let mut lab = Lab::new();
        let condition = lab.condition(random("64 B", State::Cached));
        for (arm, ns, bytes) in [("read", 600.0, 1_280_000.0), ("stdio", 900.0, bytes)] {
            let cell = lab.cell(condition, arm);
            lab.measure(cell, 12, ns, |_, pass| {
                pass.reads("read_calls", 20_000.0);
                pass.reads("read_call_bytes", bytes);
            });
        }
        lab.analyze().comparisons.remove(0).explanation
    };
    assert!(matches!(explained(1_280_000.0), Some(Explanation::Alike { .. })));
    let Some(Explanation::Counts { counts, .. }) = explained(81_920_000.0) else { panic!("they differ by 64 times") };
    let of_calls = [1_280_000.0, 81_920_000.0].map(|it| vec![Count::ReadCalls { calls: 20_000.0, bytes: Some(it) }]);
    assert_eq!(counts, of_calls);
}

#[test]
fn a_baseline_that_nothing_beats_is_the_winner() {
    check_map(
        &Lab::duel(scan("64 KiB", State::Cached), ("read", 1000.0), ("mmap", 1005.0)),
        expect![[r#"
            scan 64 KiB cached (same): no arm is faster than read by 5 % or more; mmap ties
              no reason
        "#]],
    );
    check_map(
        &Lab::duel(scan("64 KiB", State::Cached), ("read", 1000.0), ("mmap", 1300.0)),
        expect![[r#"
        scan 64 KiB cached (faster): read is 1.3x faster than mmap
          no reason
    "#]],
    );
}

#[test]
fn an_open_question_is_said_to_be_open() {
    let noisy = |round: u32, pass: &mut Pass| pass.ns_per_op *= if round.is_multiple_of(2) { 1.2 } else { 0.9 };
    let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 1000.0), nothing, ("mmap", 1000.0), noisy);
    check_map(
        &lab,
        expect![[r#"
            scan 64 KiB cached (undecided): undecided between read and mmap: mmap is between 1.2x slower and 1.1x faster
              no reason
        "#]],
    );
    let mut lab = Lab::new();
    lab.condition(scan("64 KiB", State::Cached));
    let alone = lab.condition(scan("4 KiB", State::Cached));
    lab.cell(alone, "read");
    check_map(
        &lab,
        expect![[r#"
            scan 64 KiB cached (undecided): nothing to compare with: the condition has no baseline
              no reason
            scan 4 KiB cached (undecided): read is the only arm: there is nothing to compare it with
              no reason
        "#]],
    );
}

/// `read` and other arms under one condition, 24 rounds; each takes so many times as long, and every second round of it
/// that much more.
fn field(state: State, arms: &[(&str, f64, f64)]) -> schema::findings::MapLine {
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64 KiB", state));
    for (arm, ns, uneven) in arms.iter().copied() {
        let cell = lab.cell(condition, arm);
        lab.measure(cell, 24, 1000.0 * ns, |round, pass| {
            pass.ns_per_op *= if round.is_multiple_of(2) { uneven } else { 1.0 };
        });
    }
    lab.analyze().map.remove(0)
}

#[test]
fn an_arm_that_cannot_be_ahead_by_the_margin_leaves_no_question_open() {
    // Behind by 2 to 12 %: perhaps slower, perhaps the same, and not the winner.
    let line = field(State::Cached, &[("read", 1.0, 1.0), ("mmap", 1.02, 1.1), ("stdio", 2.0, 1.0)]);
    assert_eq!((line.winner.as_deref(), line.verdict), (Some("native/read"), Verdict::Same));
    assert_eq!((line.not_told_apart, line.not_told_apart_cells), (vec!["native/mmap".to_string()], vec![1]));
    assert!(line.ties.is_empty() && line.margin.is_none());
    let open = field(State::Cached, &[("read", 1.0, 1.0), ("mmap", 0.9, 1.15)]);
    assert_eq!((open.winner, open.verdict, open.not_told_apart.len()), (None, Verdict::Undecided, 1));
}

#[test]
fn an_arm_is_called_the_same_only_when_it_was_proved() {
    let arms =
        [("read", 1.0, 1.0), ("mmap", 0.5, 1.0), ("pread", 0.5, 1.0), ("stdio", 0.48, 1.15), ("uring", 0.9, 1.0)];
    let line = field(State::Cached, &arms);
    assert_eq!(line.winner.as_deref(), Some("native/mmap"));
    assert_eq!((line.ties, line.tie_cells), (vec!["native/pread".to_string()], vec![2]));
    assert_eq!((line.not_told_apart, line.not_told_apart_cells), (vec!["native/stdio".to_string()], vec![3]));
}

#[test]
fn of_arms_that_are_not_told_apart_the_plainest_is_the_answer_with_its_own_margin() {
    let line = field(
        State::Cached,
        &[("read", 1.0, 1.0), ("mmap+random", 0.49, 1.0), ("mmap", 0.5, 1.0), ("pread", 0.48, 1.12)],
    );
    assert_eq!(line.winner.as_deref(), Some("native/mmap"));
    assert!((line.margin.unwrap().median - 2.0).abs() < 0.05, "{:?}", line.margin);
    // What is beaten by another one is no answer, however plain.
    let beaten = field(State::Cached, &[("read", 1.0, 1.0), ("mmap", 0.5, 1.0), ("mmap+random", 0.3, 1.0)]);
    assert_eq!(beaten.winner.as_deref(), Some("native/mmap+random"));
}

#[test]
fn an_arm_that_fell_far_behind_and_has_few_rounds_hides_no_answer() {
    let mut lab = Lab::duel(scan("64 KiB", State::Cached), ("read", 1000.0), ("mmap", 1005.0));
    let behind = lab.cell(0, "stdio");
    lab.measure(behind, 3, 4000.0, nothing);
    let line = lab.analyze().map.remove(0);
    assert_eq!((line.winner.as_deref(), line.verdict), (Some("native/read"), Verdict::Same));
    assert!(line.not_told_apart.is_empty());
}

#[test]
fn advice_is_no_arm_of_its_own_where_the_pages_are_mapped_already() {
    // Equal work that fell apart by chance: it is neither ranked nor does it tie.
    let arms = [("read", 1.0, 1.0), ("mmap", 0.5, 1.0), ("mmap+random", 0.4, 1.0), ("mmap+populate-read", 0.45, 1.0)];
    let line = field(State::Mapped, &arms);
    assert_eq!(line.winner.as_deref(), Some("native/mmap"));
    assert_eq!(line.same_work, ["native/mmap+random", "native/mmap+populate-read"]);
    assert!(line.ties.is_empty() && line.not_told_apart.is_empty());
    assert_eq!(field(State::Cached, &arms).winner.as_deref(), Some("native/mmap+random"));
    let alone = field(State::Locked, &[("mmap", 1.0, 1.0), ("mmap+random", 0.5, 1.0)]);
    assert_eq!((alone.winner.as_deref(), alone.verdict), (Some("native/mmap"), Verdict::Same));
    // Where the baseline has no pass, none stands for it.
    let mut lab = Lab::duel(scan("64 KiB", State::Mapped), ("mmap", 1000.0), ("mmap+random", 1000.0));
    let mut without = |cells: &[usize]| {
        lab.record.samples.retain(|it| !cells.contains(&it.cell));
        lab.analyze().map.remove(0)
    };
    for line in [without(&[0]), without(&[0, 1])] {
        assert_eq!((line.verdict, &line.winner), (Verdict::Undecided, &None), "{:?}", line.says);
        let LineAnswer::Undecided { reason: Some(why) } = &line.says.answer else { panic!("{:?}", line.says) };
        assert!(matches!(why, Reason::NoValidPass { arm, .. } if arm == "mmap"), "{why:?}");
    }
}

#[test]
fn a_line_is_made_of_one_arm_for_each_work_that_is_not_the_baselines() {
    let cells = |state, arms: &[(&str, f64, f64)]| field(state, arms).compared_cells;
    // What was measured of a copy is no answer of its own, neither where it is ahead of the first nor where it is behind.
    let arms = [("pread", 1.0, 1.0), ("mmap", 2.0, 1.0), ("mmap+random", 1.9, 1.0), ("stdio", 3.0, 1.0)];
    assert_eq!(cells(State::Mapped, &arms), [1, 3]);
    assert_eq!(cells(State::Cached, &arms), [1, 2, 3]);
    let of_baseline = [("mmap", 1.0, 1.0), ("mmap+random", 2.0, 1.0), ("pread", 2.0, 1.0)];
    assert_eq!(cells(State::Mapped, &of_baseline), [2]);
    assert!(cells(State::Cached, &[("read", 1.0, 1.0)]).is_empty());
    let line = field(State::Mapped, &arms);
    let LineAnswer::BaselineWins { times, .. } = line.says.answer else { panic!("{line:?}") };
    assert!((times - 2.0).abs() < 0.05, "{times}");
}

#[test]
fn an_arm_that_did_other_work_is_not_ranked_and_named() {
    let mut lab = Lab::duel(scan("64 KiB", State::Cached), ("read", 1000.0), ("mmap", 500.0));
    let cheat = lab.cell(0, "mmap+random");
    lab.measure(cheat, 10, 10.0, |_, pass| pass.tally.bytes /= 4);
    check_map(
        &lab,
        expect![[r#"
        scan 64 KiB cached (faster): mmap is 2.0x faster than read; mmap+random is not comparable
          no reason
    "#]],
    );
}

#[test]
fn cold_reasons_are_about_the_device() {
    let device = |share: f64| {
        move |_: u32, pass: &mut Pass| {
            pass.reads("device_read_bytes", share * 64.0 * MIB as f64).reads("read_calls", 1024.0);
        }
    };
    let lab = Lab::duel_with(
        random("64 KiB", State::Cold),
        ("pread", 400_000.0),
        device(1.0),
        ("mmap", 4_000_000.0),
        device(32.0),
    );
    check_map(
        &lab,
        expect![[r#"
            random 64 KiB cold (faster): pread is 10x faster than mmap
              pread: 64 MiB from the device; mmap: 2 GiB from the device (32x what it reached)
        "#]],
    );
    let alike =
        Lab::duel_with(scan("64 KiB", State::Cold), ("read", 40_000.0), device(1.0), ("mmap", 40_100.0), device(1.0));
    check_map(
        &alike,
        expect![[r#"
            scan 64 KiB cold (same): no arm is faster than read by 5 % or more; mmap ties
              read: 64 MiB from the device (at 82 % of the ceiling); mmap: 64 MiB from the device (at 82 % of the ceiling)
        "#]],
    );
}

// --- The run --------------------------------------------------------------------------------------------------------

#[test]
fn what_disturbs_the_whole_run_is_said_once() {
    let threads = schema::Condition { threads: 4, ..random("4 KiB", State::Cold) };
    let mut lab = Lab::duel(threads, ("pread", 1000.0), ("mmap", 500.0));
    lab.record.partial = Some("interrupted after round 10".into());
    lab.record.environment.steal_share = Reading::Value(0.07);
    lab.record.environment.load = 1.9;
    let each = Loop { times: 1000, ns: 90_000 };
    let missing = vec!["native/direct random 4 KiB: no O_DIRECT here".to_string()];
    lab.record.calibration = Reading::Value(Calibration {
        elapsed_s: 1.0,
        clock: each,
        bare_call: each,
        offset: 0,
        points: vec![],
        missing,
    });
    if let Reading::Value(device) = &mut lab.record.target.device {
        device.read_ahead_bytes = Reading::Value(8 << 20);
    }
    expect![[r#"
        the run is not complete: interrupted after round 10
        7 % of the CPU time was stolen by the hypervisor during the run
        4 threads took turns on 2 CPUs
        the machine was busy when the run began: load 1.9 on 2 CPUs
        read-ahead is 8 MiB on this device (usually 128 KiB): reads from the device depend on it, most of all random reads through a mapping without advice
        unit costs are based on 0 of 1 calibrated operations: 1 could not be measured (the first: native/direct random 4 KiB: no O_DIRECT here)"#]]
    .assert_eq(&lab.analyze().warnings.iter().map(words::warning).collect::<Vec<String>>().join("\n"));
    let quiet = Lab::duel(random("4 KiB", State::Cached), ("pread", 1000.0), ("mmap", 500.0));
    assert!(quiet.analyze().warnings.is_empty());
    let mut steal = quiet;
    steal.record.environment.steal_share = Reading::Value(0.02);
    assert!(steal.analyze().warnings.is_empty());
}

#[test]
fn the_load_of_the_machine_is_held_against_all_its_processors() {
    let warned = |load: f64, online_cpus: Reading<u32>| {
        let mut lab = Lab::duel(random("4 KiB", State::Cached), ("pread", 1000.0), ("mmap", 500.0));
        lab.record.environment.load = load;
        lab.record.environment.cpus = 2;
        lab.record.environment.online_cpus = online_cpus;
        lab.analyze().warnings.iter().map(words::warning).collect::<Vec<String>>()
    };
    let busy = |load: &str| format!("the machine was busy when the run began: load {load} CPUs");
    assert!(warned(10.0, Reading::Value(64)).is_empty());
    assert_eq!(warned(33.0, Reading::Value(64)), [busy("33.0 on 64")]);
    assert_eq!(warned(10.0, Reading::unavailable("made by an older version")), [busy("10.0 on 2")]);
}

#[test]
fn the_noise_floor_has_one_rounding_and_a_run_that_was_stopped_no_advice() {
    let floor = |width| schema::findings::NoiseFloor { half_width: Some(width), pairs: 1, rejected: 0 };
    assert_eq!([0.0121, 0.0994, 0.124].map(|it| floor(it).width().unwrap()), ["±1.2 %", "±9.9 %", "±12 %"]);
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64 KiB", State::Cached));
    let cells = [lab.cell(condition, "read"), lab.cell(condition, "mmap")];
    lab.measure(cells[0], 10, 10_000.0, |_, _| {});
    lab.measure(cells[1], 10, 10_000.0, |round, pass| pass.ns_per_op *= if round % 2 == 0 { 0.8 } else { 1.1 });
    let advises = |lab: &Lab| match lab.analyze().comparisons[0].reason {
        Some(Reason::AcrossTheMargin { more_than, .. }) => more_than.is_some(),
        ref other => panic!("{other:?}"),
    };
    assert!(advises(&lab));
    lab.record.partial = Some("stopped".into());
    lab.record.ending = Some(schema::record::Ending::Interrupted);
    assert!(!advises(&lab));
}

#[test]
fn what_was_skipped_is_not_warned_of_and_hides_no_warning() {
    let mut lab = Lab::new();
    let small = schema::Span { offset: 0, bytes: 1 << 20 };
    let measured = lab.condition(schema::Condition { range: small, ..scan("64 KiB", State::Cached) });
    let skipped = lab.condition(schema::Condition { threads: 900, ..scan("64 KiB", State::Cached) });
    let cells = [lab.cell(measured, "read"), lab.cell(skipped, "read")];
    lab.measure(cells[0], 10, 1_000.0, |_, _| {});
    lab.record.cells[cells[1]].skipped = Some(schema::Skip::Untried);
    let warnings = lab.analyze().warnings;
    assert!(!warnings.iter().any(|it| matches!(it, Warning::FewCpus { threads: 900, .. })), "{warnings:?}");
    assert!(warnings.iter().any(|it| matches!(it, Warning::SmallWindow { bytes: MIB, .. })), "{warnings:?}");
}

#[test]
fn a_file_that_is_emptied_first_is_no_part_of_itself() {
    let mut lab = Lab::new();
    let small = schema::Span { offset: 0, bytes: MIB };
    let condition = schema::Condition { workload: schema::Workload::Append, ..scan("64 KiB", State::Cached) };
    let condition = lab.condition(schema::Condition { range: small, ..condition });
    let cells = [lab.cell(condition, "pwrite"), lab.cell(condition, "mmap")];
    cells.iter().for_each(|&cell| lab.measure(cell, 10, 1_000.0, |_, _| {}));
    let warnings = lab.analyze().warnings;
    assert!(!warnings.iter().any(|it| matches!(it, Warning::SmallWindow { .. })), "{warnings:?}");
}

#[test]
fn a_job_that_was_measured_over_the_whole_file_is_no_small_window() {
    let small = schema::Span { offset: 0, bytes: MIB };
    let mut lab = Lab::new();
    let condition = lab.condition(schema::Condition { range: small, ..scan("64 KiB", State::Cached) });
    let cells = [lab.cell(condition, "read"), lab.cell(condition, "mmap")];
    cells.iter().for_each(|&cell| lab.measure(cell, 10, 1_000.0, |_, _| {}));
    let is_warned = |lab: &Lab| lab.analyze().warnings.iter().any(|it| matches!(it, Warning::SmallWindow { .. }));
    assert!(is_warned(&lab));
    lab.record.confirmations.push(schema::record::Confirmation {
        condition,
        baseline_cell: cells[0],
        arm_cell: cells[1],
        range: schema::Span { bytes: lab.record.target.bytes, ..small },
        ops: 1024,
        pairs: vec![[1e9, 1e9]; 5],
        cold: vec![],
        invalid: vec![],
    });
    assert!(!is_warned(&lab));
}

#[test]
fn the_runner_up_is_the_closest_of_those_behind_however_few_rounds_it_has() {
    let mut lab = Lab::duel(scan("64 KiB", State::Cached), ("pread", 100.0), ("mmap", 300.0));
    let third = lab.cell(0, "uring");
    lab.measure(third, 4, 200.0, |_, _| {});
    let findings = lab.analyze();
    let schema::line::LineAnswer::BaselineWins { next, times, .. } = &findings.map[0].says.answer else { panic!() };
    assert_eq!((next.as_str(), times.round()), ("uring", 2.0));
}

#[test]
fn the_map_names_an_arm_that_has_too_few_passes_to_be_compared() {
    let mut lab = Lab::duel(scan("64 KiB", State::Cached), ("read", 100.0), ("mmap", 150.0));
    let third = lab.cell(0, "uring");
    lab.measure(third, 1, 50.0, |_, _| {});
    (1..10).for_each(|round| lab.invalid(third, round, "5 pages left"));
    let findings = lab.analyze();
    assert_eq!((&findings.map[0].winner, findings.comparisons[1].speedup), (&Some("native/read".to_string()), None));
    assert_eq!(findings.map[0].says.too_few, ["uring"]);
}
