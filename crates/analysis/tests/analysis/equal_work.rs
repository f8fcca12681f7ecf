//! The mistakes of published comparisons, found without knowing them.

use crate::support::{GIB, Lab, MIB, Pass, random, scan};
use report::words;
use schema::{
    Consume, Durability, Experiment, Layout, State, Workload,
    caution::Caution,
    findings::{Comparison, Verdict},
    line::LineAnswer,
    reason::{Difference, Inconsistent, Reason},
    record::Outcome,
    warning::Warning,
};

fn only(lab: &Lab) -> Comparison {
    let findings = lab.analyze();
    assert_eq!(findings.comparisons.len(), 1);
    findings.comparisons[0].clone()
}

#[track_caller]
fn not_comparable(lab: &Lab, reason: &str) {
    let comparison = only(lab);
    assert_eq!(comparison.verdict, Verdict::NotComparable, "{comparison:#?}");
    assert_eq!(comparison.reason.as_ref().map(words::reason).as_deref(), Some(reason));
    assert_eq!(comparison.speedup, None);
}

#[track_caller]
fn comparable_with(lab: &Lab, warnings: &[&str]) {
    let comparison = only(lab);
    assert_ne!(comparison.verdict, Verdict::NotComparable, "{:?}", comparison.reason);
    assert_eq!(comparison.warnings.iter().map(words::caution).collect::<Vec<String>>(), warnings);
}

fn nothing(_: u32, _: &mut Pass) {}

/// As a device and a cache would: everything that is covered comes from the device.
fn from_device(bytes: f64) -> impl Fn(u32, &mut Pass) {
    move |_, pass| {
        pass.reads("device_read_bytes", bytes);
    }
}

#[test]
fn an_arm_that_sums_a_quarter_of_the_bytes_is_found() {
    // The reading arm declared its buffer as char and summed n/4 of them; zeros made the checksums agree.
    let mut condition = scan("32 KiB", State::Cached);
    (condition.file_bytes, condition.range.bytes, condition.ops) = (GIB, GIB, GIB / 32_768);
    let quarter = |_: u32, pass: &mut Pass| pass.tally.bytes = 268_435_456;
    let lab = Lab::duel_with(condition, ("read", 100.0), quarter, ("mmap+willneed", 140.0), nothing);
    not_comparable(&lab, "the read arm consumed 268 MB of 1,074 MB");
    let line = &lab.analyze().map[0];
    assert_eq!(line.verdict, Verdict::NotComparable);
    assert_eq!(words::line(&line.says), "no arm can be compared with read: the read arm consumed 268 MB of 1,074 MB");
}

#[test]
fn an_arm_that_visits_the_first_block_again_and_again_is_found() {
    let first_block = |_: u32, pass: &mut Pass| pass.tally.distinct_bytes = 65_536;
    let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 100.0), nothing, ("mmap", 9.0), first_block);
    not_comparable(
        &lab,
        "the mmap arm reached 65,536 bytes of the file where the read arm reached 67 MB, although both consumed 67 MB",
    );
}

#[test]
fn an_arm_whose_bytes_never_reach_the_device_is_found_by_what_the_disk_counted() {
    let mut condition = scan("64 KiB", State::Cached);
    (condition.workload, condition.durability) = (Workload::Overwrite, Durability::SyncEnd);
    let covered = condition.range.bytes as f64;
    let counted = |bytes: f64, flushes: f64| {
        move |_: u32, pass: &mut Pass| {
            pass.reads("disk_write_bytes", bytes);
            pass.reads("disk_flushes", flushes);
        }
    };
    let duel = |mapped: f64| {
        let (writes, stores) = (counted(covered, 1.0), counted(mapped, 0.0));
        Lab::duel_with(condition.clone(), ("pwrite", 100.0), writes, ("mmap", 9.0), stores)
    };
    not_comparable(
        &duel(0.0),
        "when its passes ended, of the 64 MiB that pwrite covered 64 MiB had reached the device, 1 flush; \
         of the 64 MiB that mmap covered nothing had reached the device, no flush",
    );
    // Others write to the same disk: a little less, and any amount more, is no difference.
    comparable_with(&duel(covered * 0.95), &[]);
    comparable_with(&duel(covered * 40.0), &[]);
    // Bytes on the device that were not counted, or that are few of both arms, may not be equal work.
    let little = Lab::duel_with(
        condition.clone(),
        ("pwrite", 100.0),
        counted(covered * 0.5, 1.0),
        ("mmap", 9.0),
        counted(covered * 0.45, 1.0),
    );
    assert_eq!(only(&little).warnings, [Caution::LittleOnDevice { share: 0.5 }]);
    let apart = (counted(covered * 0.8, 1.0), counted(covered * 0.1, 1.0));
    let apart = Lab::duel_with(condition.clone(), ("pwrite", 100.0), apart.0, ("mmap", 9.0), apart.1);
    assert_eq!(only(&apart).verdict, Verdict::NotComparable);
    let neither = Lab::duel_with(condition.clone(), ("pwrite", 100.0), nothing, ("mmap", 9.0), nothing);
    assert!(matches!(only(&neither).warnings[..], [Caution::UnseenOnDevice { arm: None, .. }]));
    let one = Lab::duel_with(condition.clone(), ("pwrite", 100.0), counted(covered, 1.0), ("mmap", 9.0), nothing);
    assert_eq!(only(&one).warnings, [Caution::UnseenOnDevice { arm: Some("mmap".into()), reason: None }]);
    // Where nothing has to be durable, nothing is asked.
    let cached = schema::Condition { durability: Durability::None, ..condition.clone() };
    let (writes, stores) = (counted(covered, 1.0), counted(0.0, 0.0));
    comparable_with(&Lab::duel_with(cached, ("pwrite", 100.0), writes, ("mmap", 9.0), stores), &[]);
}

#[test]
fn different_bytes_are_found_by_their_checksum() {
    let other = |_: u32, pass: &mut Pass| pass.tally.checksum = "00000000deadbeef".into();
    let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 100.0), nothing, ("mmap", 90.0), other);
    not_comparable(
        &lab,
        "different bytes: checksums 00000000c0ffee00 (read) and 00000000deadbeef (mmap) although the same amount was read",
    );
    // One round is enough to void it, and the sentence says that it was one.
    let once = |round: u32, pass: &mut Pass| {
        if round == 3 {
            pass.tally.checksum = "00000000deadbeef".into();
        }
    };
    let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 100.0), nothing, ("mmap", 90.0), once);
    assert!(
        words::reason(&only(&lab).reason.unwrap()).ends_with("although the same amount was read (in 1 of 10 rounds)")
    );
}

#[test]
fn offsets_drawn_anew_in_every_round_are_equal_work_as_long_as_both_arms_draw_the_same() {
    let drawn = |round: u32, pass: &mut Pass| {
        pass.tally.checksum = format!("{round:016x}");
        pass.tally.distinct_bytes = 42 * MIB + u64::from(round) * 4096;
    };
    let lab = Lab::duel_with(random("4 KiB", State::Cached), ("pread", 900.0), drawn, ("mmap", 400.0), drawn);
    comparable_with(&lab, &[]);
    assert_eq!(lab.analyze().cells[0].reasons, []);
}

#[test]
fn as_many_bytes_on_other_pages_are_other_work_where_both_counted_them() {
    let pages = |pages: Option<u64>| move |_: u32, pass: &mut Pass| pass.tally.distinct_pages = pages;
    let duel =
        |a, b| Lab::duel_with(random("64 B", State::Cached), ("pread", 900.0), pages(a), ("mmap", 400.0), pages(b));
    not_comparable(&duel(Some(512), Some(640)), "the pread arm reached 512 pages of the file, the mmap arm 640 pages");
    comparable_with(&duel(Some(512), Some(512)), &[]);
    comparable_with(&duel(None, Some(512)), &[]);
}

#[test]
fn small_blocks_that_start_cold_must_bring_their_pages_from_the_device() {
    // 8,192 blocks of 64 bytes on 5,176 pages, of which one arm found four fifths in the page cache: still far more than
    // the bytes that it reached.
    let from_device = |pages: u64| {
        move |_: u32, pass: &mut Pass| {
            (pass.tally.distinct_bytes, pass.tally.distinct_pages) = (8192 * 64, Some(5176));
            pass.reads("device_read_bytes", (pages * 4096) as f64);
        }
    };
    let duel = |a, b| {
        let (a, b) = (from_device(a), from_device(b));
        Lab::duel_with(random("64 B", State::Cold), ("pread", 900.0), a, ("mmap", 400.0), b)
    };
    assert_eq!(only(&duel(5176, 1035)).verdict, Verdict::NotComparable);
    assert_ne!(only(&duel(5176, 5176)).verdict, Verdict::NotComparable);
}

#[test]
fn a_direct_read_of_a_file_that_ends_within_a_page_is_comparable() {
    // Three pages and 100 bytes: through the page cache four pages come from the device, around it one sector of the last.
    let bytes = 3 * 4096 + 100;
    let mut condition = scan("64 KiB", State::Cold);
    (condition.file_bytes, condition.range.bytes, condition.ops) = (bytes, bytes, 1);
    let from_device = |device: f64| {
        move |_: u32, pass: &mut Pass| {
            (pass.tally.bytes, pass.tally.distinct_bytes, pass.tally.distinct_pages) = (bytes, bytes, Some(4));
            pass.reads("device_read_bytes", device);
        }
    };
    let (read, direct) = (from_device(16_384.0), from_device(12_800.0));
    let lab = Lab::duel_with(condition, ("read", 900.0), read, ("direct", 400.0), direct);
    assert_ne!(only(&lab).verdict, Verdict::NotComparable, "{:?}", only(&lab).reason);
}

#[test]
fn threads_and_operations_are_work_too() {
    let two = |_: u32, pass: &mut Pass| pass.tally.threads = 2;
    let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 100.0), nothing, ("mmap", 60.0), two);
    not_comparable(&lab, "the read arm used 1 thread, the mmap arm 2 threads");
    let halves = |_: u32, pass: &mut Pass| pass.tally.ops *= 2;
    let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 100.0), nothing, ("mmap", 60.0), halves);
    not_comparable(&lab, "the read arm made 1,024 operations, the mmap arm 2,048 operations");
}

#[test]
fn a_deeper_queue_is_said_and_does_not_void_anything() {
    let deep = |_: u32, pass: &mut Pass| pass.tally.queue_depth = 32;
    let lab = Lab::duel_with(random("64 KiB", State::Cached), ("pread", 9000.0), nothing, ("uring", 3000.0), deep);
    comparable_with(&lab, &["uring keeps 32 reads in flight, pread one"]);
    assert_eq!(
        words::line(&lab.analyze().map[0].says),
        "uring is 3.0x faster than pread (with 32 in flight; pread: 1)"
    );
}

#[test]
fn arms_that_start_from_different_places_are_not_compared() {
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64 KiB", State::Cold));
    let (read, mmap) = (lab.cell(condition, "read"), lab.cell(condition, "mmap"));
    lab.own(mmap, |own| own.state = State::Mapped);
    lab.measure(read, 10, 100.0, from_device(64.0 * MIB as f64));
    lab.measure(mmap, 10, 10.0, nothing);
    not_comparable(&lab, "different states: the read arm starts cold, the mmap arm mapped");
}

#[test]
fn random_offsets_that_end_half_way_are_found_by_what_they_reach() {
    // rand() ends at 2^31 - 1: a million blocks over a file of 4 GiB stay in its first half.
    let million = || {
        let mut condition = random("4 KiB", State::Cached);
        (condition.file_bytes, condition.range.bytes, condition.ops) = (4 * GIB, 4 * GIB, 1_000_000);
        condition
    };
    let half = |_: u32, pass: &mut Pass| pass.tally.distinct_bytes = (0.4257 * 4.0 * GIB as f64) as u64;
    let lab = Lab::duel_with(million(), ("read", 2137.0), half, ("mmap", 952.0), half);
    comparable_with(
        &lab,
        &[
            "both arms reach only 43 % of the file (1.70 GiB of 4 GiB), where as many uniform offsets would have reached \
           2.46 GiB: these offsets are not uniform",
        ],
    );
    let whole = |_: u32, pass: &mut Pass| pass.tally.distinct_bytes = (0.6147 * 4.0 * GIB as f64) as u64;
    let lab = Lab::duel_with(million(), ("read", 2137.0), whole, ("mmap", 952.0), whole);
    comparable_with(&lab, &[]);
    // Of blocks of which a quarter is looked at, a quarter is counted as reached.
    let quarter = |_: u32, pass: &mut Pass| pass.tally.distinct_bytes = (0.6147 * GIB as f64) as u64;
    let mut lab = Lab::duel_with(million(), ("read", 2137.0), quarter, ("mmap", 952.0), quarter);
    for cell in [0, 1] {
        lab.own(cell, |it| it.consumed_percent = 25);
    }
    comparable_with(&lab, &[]);
}

#[test]
fn the_end_of_a_file_where_no_whole_block_fits_is_nothing_that_random_offsets_miss() {
    // Three blocks of 1 MiB, and half a one that no aligned block reaches.
    let survey = |aligned: bool, distinct_bytes: u64| {
        let mut condition = random("1 MiB", State::Cached);
        (condition.file_bytes, condition.range.bytes) = (7 * MIB / 2, 7 * MIB / 2);
        (condition.aligned, condition.ops) = (aligned, 36);
        let reaches = move |_: u32, pass: &mut Pass| pass.tally.distinct_bytes = distinct_bytes;
        Lab::duel_with(condition, ("read", 2e5), reaches, ("mmap", 1e5), reaches)
    };
    comparable_with(&survey(true, 3 * MIB), &[]);
    let warning = |reached: &str, would: &str| {
        format!(
            "both arms reach only {reached}, where as many uniform offsets would have reached {would}: these offsets \
             are not uniform"
        )
    };
    comparable_with(&survey(true, 2 * MIB), &[&warning("57 % of the file (2 MiB of 3.50 MiB)", "3.00 MiB")]);
    // Of five places five draws reach three by chance in every second pass, and of a hundred at most eighty in none.
    let few = |mib: u64, reached: u64| {
        let mut condition = random("1 MiB", State::Cached);
        (condition.file_bytes, condition.range.bytes, condition.ops) = (mib * MIB, mib * MIB, mib);
        let reaches = move |_: u32, pass: &mut Pass| pass.tally.distinct_bytes = reached * MIB;
        Lab::duel_with(condition, ("read", 2e5), reaches, ("mmap", 1e5), reaches)
    };
    comparable_with(&few(5, 3), &[]);
    comparable_with(&few(100, 50), &[&warning("50 % of the file (50 MiB of 100 MiB)", "63.40 MiB")]);
    // Blocks that begin anywhere reach the end, too.
    comparable_with(&survey(false, 3 * MIB), &[&warning("86 % of the file (3 MiB of 3.50 MiB)", "3.50 MiB")]);
}

#[test]
fn calls_bring_whole_blocks_also_where_a_part_of_each_is_looked_at() {
    let amplified = |arms: [&str; 2]| {
        let part = |_: u32, pass: &mut Pass| {
            pass.reads("device_read_bytes", 64.0 * MIB as f64);
            pass.tally.bytes /= 10;
            pass.tally.distinct_bytes /= 10;
            pass.tally.distinct_pages = pass.tally.distinct_pages.map(|it| it / 10);
        };
        let mut lab = Lab::duel_with(scan("64 KiB", State::Cold), (arms[0], 1e4), part, (arms[1], 9e3), part);
        for cell in [0, 1] {
            lab.own(cell, |it| it.consumed_percent = 10);
        }
        let is_amplified = |it: &Caution| matches!(it, Caution::Amplified { .. });
        lab.analyze().comparisons[0].warnings.iter().filter(|it| is_amplified(it)).count()
    };
    assert_eq!(amplified(["read", "pread"]), 0);
    assert_eq!(amplified(["read", "mmap"]), 1, "a mapping brings in what is looked at, and read-ahead the rest");
}

#[test]
fn a_range_of_half_the_file_is_said_whether_the_arms_or_the_experiment_set_it() {
    let warning = [
        "both arms reach only 50 % of the file (32 MiB of 64 MiB): as many offsets over the whole would have reached 40.46 MiB, these reached 27.67 MiB",
    ];
    let half = |_: u32, pass: &mut Pass| pass.tally.distinct_bytes = (27.67 * MIB as f64) as u64;
    let mut lab = Lab::new();
    let condition = lab.condition(random("4 KiB", State::Cached));
    for arm in ["read", "mmap"] {
        let cell = lab.cell(condition, arm);
        lab.own(cell, |own| own.range.bytes = 32 * MIB);
        lab.measure(cell, 10, 100.0, half);
    }
    comparable_with(&lab, &warning);

    let mut condition = random("4 KiB", State::Cached);
    condition.range.bytes = 32 * MIB;
    let mut lab = Lab::duel_with(condition, ("read", 100.0), half, ("mmap", 90.0), half);
    // A window that the planner took is said once, for the run.
    comparable_with(&lab, &[]);
    let small = Warning::SmallWindow { bytes: 32 * MIB, file_bytes: 64 * MIB };
    assert_eq!(lab.analyze().warnings[0], small);
    let half_of_it = r#"
        title = "Half"
        [[compare]]
        arms = ["read", "mmap"]
        workload = "random"
        block = "4 KiB"
        state = "cached"
        range = { share = 0.5 }"#;
    lab.record.experiment = Experiment::parse("half", half_of_it).unwrap();
    comparable_with(&lab, &warning);
}

#[test]
fn a_mapped_file_that_was_never_evicted_is_found_by_its_device_bytes() {
    // fio's trap: DONTNEED returns 0 and leaves the pages of a mapped file where they are.
    let lab = Lab::duel_with(
        scan("64 KiB", State::Cold),
        ("read", 30_000.0),
        from_device(64.0 * MIB as f64),
        ("mmap", 5_000.0),
        from_device(0.0),
    );
    not_comparable(
        &lab,
        "both should start cold: the mmap arm read nothing from the device, although it covered 64 MiB; the read arm had 64 MiB",
    );
}

#[test]
fn what_updates_a_cold_file_reads_it_first_and_what_overwrites_it_does_not() {
    let duel = |workload: Workload, layout: Layout| {
        let condition = schema::Condition { workload, layout: Some(layout), ..scan("64 KiB", State::Cold) };
        let whole = from_device(64.0 * MIB as f64);
        Lab::duel_with(condition, ("pwrite", 30_000.0), whole, ("mmap", 5_000.0), from_device(0.0))
    };
    not_comparable(
        &duel(Workload::Update, Layout::Written),
        "both should start cold: the mmap arm read nothing from the device, although it covered 64 MiB; the pwrite arm had 64 MiB",
    );
    // A store faults the whole page in, which a call that overwrites it need not.
    comparable_with(&duel(Workload::Overwrite, Layout::Written), &[]);
    // There is nothing to read.
    [Layout::Preallocated, Layout::Sparse].into_iter().for_each(|it| comparable_with(&duel(Workload::Update, it), &[]));
}

#[test]
fn cold_arms_may_fall_short_of_the_device_by_a_tenth_and_no_more() {
    let with = |share: f64| {
        Lab::duel_with(
            scan("64 KiB", State::Cold),
            ("read", 30_000.0),
            from_device(64.0 * MIB as f64),
            ("mmap", 20_000.0),
            from_device(share * 64.0 * MIB as f64),
        )
    };
    comparable_with(&with(0.901), &[]);
    not_comparable(
        &with(0.899),
        "both should start cold: only 57.54 MiB of the 64 MiB that the mmap arm covered came from the device; the read arm had 64 MiB",
    );
}

#[test]
fn a_hole_is_found_by_device_bytes_that_stay_at_zero_for_both() {
    let mut lab = Lab::duel_with(
        scan("64 KiB", State::Cold),
        ("read", 8_000.0),
        from_device(0.0),
        ("mmap", 5_000.0),
        from_device(0.0),
    );
    lab.record.target.allocated_bytes = 0;
    comparable_with(
        &lab,
        &[
            "cold, but no byte came from the device for either arm: the file is a hole, or a cache below the page cache held it",
        ],
    );
    assert_eq!(lab.analyze().warnings[0], Warning::Sparse { allocated_bytes: 0, bytes: 64 * MIB });
    assert_eq!(lab.analyze().cells[0].ceiling_share, None);
}

#[test]
fn bytes_from_the_device_in_a_warm_pass_are_said_unless_the_arm_goes_around_the_cache() {
    let device = 1_000_000.0;
    let duel = |arm: &str| {
        Lab::duel_with(
            scan("64 KiB", State::Cached),
            ("read", 8_000.0),
            from_device(0.0),
            (arm, 9_000.0),
            from_device(device),
        )
    };
    comparable_with(
        &duel("mmap"),
        &["mmap: 976.56 KiB were read from the device during passes that start cached, 1 % of what they cover"],
    );
    comparable_with(&duel("direct"), &[]);
    comparable_with(&duel("uring+direct"), &[]);
    let below = from_device(0.0099 * 64.0 * MIB as f64);
    let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 1e4), nothing, ("mmap", 9e3), below);
    comparable_with(&lab, &[]);
}

#[test]
fn pages_that_left_the_page_table_are_seen_by_their_faults() {
    let faults = |number: f64| {
        move |_: u32, pass: &mut Pass| {
            pass.reads("minor_faults", number);
        }
    };
    let duel =
        |state, number| Lab::duel_with(scan("64 KiB", state), ("read", 8e3), nothing, ("mmap", 9e3), faults(number));
    comparable_with(&duel(State::Mapped, 163.0), &[]);
    comparable_with(
        &duel(State::Mapped, 165.0),
        &[
            "mmap: 165 minor faults in passes over 16,384 pages that start mapped: pages left the page table during the pass, or were not in it before",
        ],
    );
    comparable_with(&duel(State::Cached, 1024.0), &[]);
}

#[test]
fn a_file_that_is_held_open_did_not_start_from_the_page_cache_alone() {
    let held = |_: u32, pass: &mut Pass| pass.opened = false;
    let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 8e3), held, ("mmap", 9e3), held);
    let warning =
        "the file was held open in passes that start cached, so its pages may have been in the page table already";
    comparable_with(&lab, &[&format!("read: {warning}"), &format!("mmap: {warning}")]);
    let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 8e3), nothing, ("mmap", 9e3), held);
    not_comparable(&lab, "only the read arm opened the file during its passes");
}

#[test]
fn reading_far_more_than_is_used_is_said_with_the_factor() {
    let device = |factor: f64| from_device(factor * 64.0 * MIB as f64);
    let duel = |factor| {
        Lab::duel_with(random("64 KiB", State::Cold), ("pread", 9e4), device(1.0), ("mmap", 9e5), device(factor))
    };
    comparable_with(&duel(4.0), &[]);
    comparable_with(&duel(16.0), &["mmap read 1 GiB from the device for 64 MiB that it reached: 16 times as much"]);
}

#[test]
fn arms_that_end_lines_differently_found_other_numbers_of_lines_and_no_other_bytes() {
    let found = |lines: u64| move |_: u32, pass: &mut Pass| pass.tally.checksum = format!("{lines:016x}");
    let condition = schema::Condition { consume: Consume::Lines, ..scan("64 KiB", State::Cached) };
    let lab = Lab::duel_with(condition, ("read", 1e4), found(60_001), ("mmap", 9e3), found(69_988));
    let [Reason::UnequalWork { differences, .. }] = &only(&lab).reason.into_iter().collect::<Vec<_>>()[..] else {
        panic!()
    };
    assert!(matches!(differences[..], [Difference::Lines { lines: [60_001, 69_988], .. }]), "{differences:?}");
}

#[test]
fn a_file_that_changes_between_passes_is_a_reason() {
    let changed = |round: u32, pass: &mut Pass| {
        if round > 4 {
            pass.tally.checksum = "00000000deadbeef".into();
        }
    };
    let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 1e4), changed, ("mmap", 9e3), changed);
    let reason = "its 10 passes did not all read the same bytes (checksums 00000000c0ffee00 and 00000000deadbeef)";
    assert_eq!(words::reasons(&lab.analyze().cells[0].reasons).as_deref(), Some(reason));
    not_comparable(&lab, &format!("read: {reason}"));
}

#[test]
fn a_command_that_prints_something_else_each_time_read_no_other_bytes() {
    let mut lab = Lab::new();
    let condition = schema::Condition { workload: Workload::Command, ops: 1, ..schema::Condition::plain(MIB) };
    let condition = lab.condition(condition);
    let cell = lab.cell(condition, "read");
    let arm = &mut lab.record.cells[cell].arm;
    (arm.runtime, arm.method) = ("command".into(), "command".into());
    lab.measure(cell, 10, 1e6, |round, pass| pass.tally.checksum = format!("{round:016x}"));
    let [Reason::Inconsistent(what)] = &lab.analyze().cells[0].reasons[..] else { panic!() };
    assert!(matches!(what, Inconsistent::Outputs { passes: 10, .. }), "{what:?}");
}

#[test]
fn windows_that_move_hold_other_bytes_and_each_of_them_the_same() {
    let of_window = |round: u32, pass: &mut Pass| pass.tally.checksum = format!("{:016x}", round % 3);
    let mut lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 1e4), of_window, ("mmap", 5e3), of_window);
    let not = lab.analyze();
    assert_eq!(not.comparisons[0].verdict, Verdict::NotComparable);
    for sample in &mut lab.record.samples {
        sample.window_offset = Some(u64::from(sample.round % 3) * MIB).filter(|it| *it > 0);
    }
    assert_eq!(lab.analyze().comparisons[0].verdict, Verdict::Faster);
    // One window is found with other bytes later on.
    let last = lab.record.samples.iter_mut().rfind(|it| it.cell == 1).unwrap();
    if let Outcome::Ok { tally, .. } = &mut last.outcome {
        tally.checksum = "00000000deadbeef".into();
    }
    assert_eq!(lab.analyze().comparisons[0].verdict, Verdict::NotComparable);
}

#[test]
fn both_arms_doing_less_than_they_say_is_a_warning() {
    let half = |_: u32, pass: &mut Pass| {
        pass.tally.ops /= 2;
        pass.tally.bytes /= 2;
        pass.tally.distinct_bytes /= 2;
    };
    let lab = Lab::duel_with(scan("64 KiB", State::Cached), ("read", 1e4), half, ("mmap", 9e3), half);
    comparable_with(&lab, &["both arms consumed 34 MB instead of the 67 MB of the experiment"]);
}

#[test]
fn each_time_around_a_window_ends_with_its_short_block() {
    // 4 MiB and 1 MiB in turn.
    let written = |ops: u64, bytes: u64, workload: Workload| {
        let mut condition = schema::Condition { workload, ..scan("4 MiB", State::Cached) };
        (condition.file_bytes, condition.range.bytes, condition.ops) = (5 * MIB, 5 * MIB, ops);
        let whole = move |_: u32, pass: &mut Pass| {
            (pass.tally.bytes, pass.tally.distinct_bytes) = (bytes, bytes.min(5 * MIB));
        };
        Lab::duel_with(condition, ("pwrite", 1e4), whole, ("mmap", 9e3), whole)
    };
    for workload in [Workload::Overwrite, Workload::Update] {
        comparable_with(&written(10, 25 * MIB, workload), &[]);
        comparable_with(&written(9, 24 * MIB, workload), &[]);
        comparable_with(
            &written(10, 20 * MIB, workload),
            &["both arms consumed 21 MB instead of the 26 MB of the experiment"],
        );
    }
}

#[test]
fn an_arm_that_is_told_to_look_at_a_quarter_of_each_block_is_found_by_its_tally() {
    let mut lab = Lab::new();
    let mut condition = scan("32 KiB", State::Cached);
    (condition.file_bytes, condition.range.bytes, condition.ops) = (GIB, GIB, GIB / 32_768);
    let condition = lab.condition(condition);
    let [read, mmap] = ["read", "mmap+willneed"].map(|arm| lab.cell(condition, arm));
    lab.own(read, |own| own.consumed_percent = 25);
    lab.measure(read, 10, 100.0, nothing);
    lab.measure(mmap, 10, 140.0, nothing);
    not_comparable(&lab, "the read arm consumed 268 MB of 1,074 MB");
    // Both alike is said, and voids nothing.
    lab.own(mmap, |own| own.consumed_percent = 25);
    lab.record.samples.clear();
    for cell in [read, mmap] {
        lab.measure(cell, 10, 100.0, nothing);
    }
    comparable_with(&lab, &["both arms consumed 268 MB instead of the 1,074 MB of the experiment"]);
}

#[test]
fn decoding_every_line_is_other_work_than_counting_newlines() {
    let lines = |reads: f64, mmaps: f64| {
        let mut condition = scan("64 KiB", State::Cached);
        condition.consume = Consume::Lines;
        let mut lab = Lab::new();
        let condition = lab.condition(condition);
        for (arm, user_ns) in [("read", reads), ("mmap", mmaps)] {
            let cell = lab.cell(condition, arm);
            if arm == "read" {
                lab.own(cell, |own| own.consume = Consume::DecodeLines);
            }
            lab.measure(cell, 10, 1e5, |_, pass| {
                pass.reads("user_ns", user_ns);
            });
        }
        lab
    };
    let difference = "what happens to each byte differs: read decode-lines (UTF-8 is decoded, and every line becomes a \
                      string of its own, in Java out of an array; newlines are counted), mmap lines (newlines are \
                      counted)";
    let spent = "; they spend 2.00 and 0.05 ns of user time on a byte";
    not_comparable(&lines(128.0 * MIB as f64, 3.2 * MIB as f64), &format!("{difference}{spent}"));
    // What ticks did not see is not said.
    not_comparable(&lines(128.0 * MIB as f64, 0.0), difference);
}

#[test]
fn half_of_a_file_is_said_of_the_comparison_that_asks_for_it_and_of_no_other() {
    let both = r#"
        title = "Half and whole"
        [[compare]]
        name = "random"
        variant = "as-published"
        arms = ["read", "mmap"]
        workload = "random"
        block = "4 KiB"
        state = "cached"
        range = { share = 0.5 }
        [[compare]]
        name = "random"
        variant = "corrected"
        arms = ["read", "mmap"]
        workload = "random"
        block = "4 KiB"
        state = "cached"
        range = { share = 1.0 }"#;
    let mut lab = Lab::of_experiment(both);
    for cell in 0..4 {
        // As many blocks as there are slots leave 1/e of them untouched.
        lab.measure(cell, 10, 1e3, |_, pass| {
            pass.tally.distinct_bytes = (pass.tally.distinct_bytes as f64 * 0.632) as u64
        });
    }
    let comparisons = lab.analyze().comparisons;
    assert_eq!(comparisons.len(), 2);
    assert_eq!(
        comparisons[0].warnings.iter().map(words::caution).collect::<Vec<String>>(),
        [
            "both arms reach only 50 % of the file (32 MiB of 64 MiB): as many offsets over the whole would have reached 25.18 MiB, these reached 20.22 MiB"
        ]
    );
    assert!(comparisons[1].warnings.is_empty(), "{:?}", comparisons[1].warnings);
}

#[test]
fn arms_with_different_memory_are_not_compared() {
    let mut condition = scan("64 KiB", State::Limited);
    condition.memory_bytes = Some(8 * MIB);
    let mut lab = Lab::new();
    let condition = lab.condition(condition);
    let [read, mmap] = ["read", "mmap"].map(|arm| lab.cell(condition, arm));
    lab.own(mmap, |own| own.memory_bytes = None);
    lab.measure(read, 10, 1e5, nothing);
    lab.measure(mmap, 10, 1e4, nothing);
    not_comparable(&lab, "different memory: read 8 MiB, mmap no limit");
}

#[test]
fn cold_arms_of_which_nobody_knows_what_the_device_gave_are_said_to_be_of_unknown_work() {
    let unknown = |_: u32, pass: &mut Pass| {
        let reading = schema::Reading::unavailable("no task I/O accounting");
        pass.readings.insert("device_read_bytes".to_string(), reading);
    };
    let duel = |state| Lab::duel_with(scan("64 KiB", state), ("read", 8e3), unknown, ("mmap", 5e3), unknown);
    comparable_with(
        &duel(State::Cold),
        &[
            "cold, but it is unknown how many bytes of either arm came from the device, so equal work cannot be checked there: no task I/O accounting",
        ],
    );
    comparable_with(&duel(State::Cached), &[]);
}

#[test]
fn reads_in_flight_are_those_of_all_threads_together() {
    for threads in [1, 2, 8] {
        let condition = schema::Condition { threads, ..random("4 KiB", State::Cached) };
        let deep = |_: u32, pass: &mut Pass| pass.tally.queue_depth = 32;
        let findings = Lab::duel_with(condition, ("pread", 2e3), nothing, ("uring", 1e3), deep).analyze();
        let [depths] = &findings.comparisons[0].warnings[..] else { panic!("{findings:?}") };
        let Caution::QueueDepths { depths, .. } = depths else { panic!("{depths:?}") };
        assert_eq!(*depths, [threads, 32 * threads]);
        let LineAnswer::ArmWins { in_flight, .. } = &findings.map[0].says.answer else { panic!("{:?}", findings.map) };
        assert_eq!(*in_flight, Some([32 * threads, threads]));
    }
}

#[test]
fn what_did_other_work_does_not_bound_what_reading_may_cost() {
    let mut lab = Lab::new();
    let condition = schema::Condition { workload: Workload::Command, ops: 1, ..schema::Condition::plain(MIB) };
    let condition = lab.condition(condition);
    let names = ["command/slow", "command/other"];
    for (name, user_ns, checksum) in [(names[0], 80e6, "00000000000000aa"), (names[1], 1e6, "00000000000000bb")] {
        let cell = lab.cell(condition, "read");
        lab.record.cells[cell].arm = schema::Arm {
            runtime: "command".into(),
            method: "command".into(),
            name: name.into(),
            ..lab.record.cells[cell].arm.clone()
        };
        lab.measure(cell, 10, 100e6, |_, pass| {
            pass.tally.checksum = checksum.into();
            pass.reads("user_ns", user_ns).reads("system_ns", 1e6).reads("threads_at_once", 1.0);
        });
    }
    let own_work_of = |lab: &Lab| lab.analyze().commands[0].time.value().unwrap().own_work_of.clone();
    assert_eq!(own_work_of(&lab), names[0]);
    for sample in &mut lab.record.samples {
        if let schema::record::Outcome::Ok { tally, .. } = &mut sample.outcome {
            tally.checksum = "00000000000000aa".into();
        }
    }
    assert_eq!(own_work_of(&lab), names[1]);
}
