//! What went on around the passes, and is warned of.

use schema::{
    Condition, Reading, State, Workload,
    reason::Unseen,
    record::{CacheKind, CpuCache, Outcome, ReclaimScheme, Resident},
    warning::Warning,
};

use report::words::warning;

use crate::support::{Lab, MIB, random, scan};

fn warned(lab: &Lab, words: &str) -> Option<String> {
    let warnings = lab.analyze().warnings;
    let mut found: Vec<String> = warnings.iter().map(warning).filter(|it| it.contains(words)).collect();
    assert!(found.len() < 2, "{found:?}");
    found.pop()
}

/// Ten cold passes of each of two arms that read 64 MiB each, while others read and wrote so many MiB in each.
fn shared_disk(state: State, read_mib: f64, written_mib: f64) -> Lab {
    let bytes = 64.0 * MIB as f64;
    let mib = MIB as f64;
    let with = move |_: u32, pass: &mut crate::support::Pass| {
        pass.reads("device_read_bytes", bytes);
        pass.reads("disk_read_bytes", bytes + read_mib * mib);
        pass.reads("disk_write_bytes", written_mib * mib);
    };
    Lab::duel_with(scan("64 KiB", state), ("read", 90_000.0), with, ("mmap", 80_000.0), with)
}

#[test]
fn others_at_the_disk_are_named_with_what_they_moved() {
    let says = warned(&shared_disk(State::Cold, 6.0, 2.0), "other processes used vda").unwrap();
    assert!(says.contains("20 passes") && says.contains("120 MiB read and 40 MiB written"), "{says}");
    assert!(says.contains("besides 1.25 GiB that the passes read themselves"), "{says}");
    for state in [State::Limited, State::AsFound] {
        assert!(warned(&shared_disk(state, 6.0, 2.0), "other processes used vda").is_some(), "{state}");
    }
    assert_eq!(warned(&shared_disk(State::Cold, 2.0, 1.0), "other processes used"), None, "below a twentieth");
    assert_eq!(
        warned(&shared_disk(State::Cached, 60.0, 60.0), "other processes used"),
        None,
        "passes over cached pages do not use the disk"
    );
    // A command's passes over cached pages do, where it reads around the page cache.
    let mut commands = shared_disk(State::Cached, 6.0, 2.0);
    commands.record.conditions[0].workload = schema::Workload::Command;
    assert!(warned(&commands, "other processes used vda").is_some_and(|it| it.contains("20 passes")));
    for sample in &mut commands.record.samples {
        sample.readings.insert("device_read_bytes".into(), Reading::Value(4096.0));
    }
    assert_eq!(warned(&commands, "other processes used"), None, "its own code is next to nothing");
    // Beside a beat the disk's counters go on while its idle deadlines follow the pass.
    let mut beside = shared_disk(State::Cold, 60.0, 60.0);
    beside.record.conditions[0].beside = schema::Beside::Beat;
    assert_eq!(warned(&beside, "other processes used"), None);
}

#[test]
fn what_writers_bring_to_the_disk_is_nobody_elses_and_pages_that_they_dirty_excuse_no_reads_of_others() {
    // A command may write, too.
    for workload in [schema::Workload::Overwrite, schema::Workload::Command] {
        let mut lab = shared_disk(State::Cold, 6.0, 60.0);
        for it in &mut lab.record.conditions {
            it.workload = workload;
        }
        for sample in &mut lab.record.samples {
            sample.readings.insert("device_write_bytes".into(), Reading::Value(1e3 * MIB as f64));
        }
        let warnings = lab.analyze().warnings;
        let shared = warnings.iter().find_map(|it| match it {
            schema::warning::Warning::DiskShared { read_bytes, written_bytes, own_bytes, .. } => {
                Some((*read_bytes, *written_bytes, *own_bytes))
            }
            _ => None,
        });
        let mib = MIB as f64;
        assert_eq!(shared, Some((120.0 * mib, 0.0, 20.0 * 64.0 * mib)), "{workload}");
        let says = warned(&lab, "other processes used vda").unwrap();
        assert!(!says.contains("written"), "{says}");
        for sample in &mut lab.record.samples {
            sample.readings.insert("device_write_bytes".into(), Reading::Value(0.0));
        }
        let says = warned(&lab, "other processes used vda").unwrap();
        assert_eq!(says.contains("written"), workload == schema::Workload::Command, "one that writes nothing: {says}");
    }
}

#[test]
fn a_disk_whose_counters_are_missing_accuses_nobody() {
    let mut lab = shared_disk(State::Cold, 6.0, 60.0);
    for sample in &mut lab.record.samples {
        sample.readings.insert("disk_write_bytes".into(), Reading::unavailable("no block device"));
    }
    assert_eq!(warned(&lab, "other processes used"), None);
}

#[test]
fn arms_at_the_ceiling_of_the_device_are_named() {
    // The ceiling of these records is 2 GB/s: 65,536 bytes in 32,768 ns.
    let with = |ns: f64| {
        Lab::duel_with(
            scan("64 KiB", State::Cold),
            ("read", ns),
            |_, pass| {
                pass.reads("device_read_bytes", 64.0 * MIB as f64);
            },
            ("mmap", 90_000.0),
            |_, pass| {
                pass.reads("device_read_bytes", 64.0 * MIB as f64);
            },
        )
    };
    let says = warned(&with(34_000.0), "ceiling").unwrap();
    assert!(says.contains("read with 9"), "{says}");
    assert_eq!(warned(&with(40_000.0), "ceiling"), None);
}

#[test]
fn the_read_ahead_of_the_device_matters_wherever_passes_wait_for_it() {
    for state in State::ALL {
        let mut lab = shared_disk(*state, 0.0, 0.0);
        let Reading::Value(device) = &mut lab.record.target.device else { unreachable!() };
        device.read_ahead_bytes = Reading::Value(8 * MIB);
        let is_warned = lab.analyze().warnings.iter().any(|it| matches!(it, Warning::UnusualReadAhead { .. }));
        assert_eq!(is_warned, [State::Cold, State::Limited, State::AsFound].contains(state), "{state}");
    }
    let mut lab = shared_disk(State::Cold, 0.0, 0.0);
    let Reading::Value(device) = &mut lab.record.target.device else { unreachable!() };
    device.read_ahead_bytes = Reading::Value(8 * MIB);
    lab.record.conditions.iter_mut().for_each(|it| it.workload = schema::Workload::Append);
    let warnings = lab.analyze().warnings;
    assert!(!warnings.iter().any(|it| matches!(it, Warning::UnusualReadAhead { .. })), "it is emptied first");
}

#[test]
fn an_arm_with_a_state_of_its_own_is_warned_of_by_what_it_did() {
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64 KiB", State::Cached));
    let cell = lab.cell(condition, "read");
    lab.own(cell, |it| it.state = State::Cold);
    lab.measure(cell, 10, 34_000.0, |_, pass| {
        pass.reads("device_read_bytes", 64.0 * MIB as f64);
    });
    let says = warned(&lab, "ceiling").unwrap();
    assert!(says.contains("scan 64 KiB cached, cold instead of cached"), "{says}");
}

#[test]
fn an_arm_that_looks_at_a_part_of_each_block_is_at_the_ceiling_by_all_that_it_read() {
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64 KiB", State::Cold));
    let cell = lab.cell(condition, "read");
    lab.own(cell, |it| it.consumed_percent = 25);
    lab.measure(cell, 10, 34_000.0, |_, pass| {
        pass.reads("device_read_bytes", 64.0 * MIB as f64);
    });
    for sample in &mut lab.record.samples {
        if let Outcome::Ok { tally, .. } = &mut sample.outcome {
            tally.bytes /= 4;
        }
    }
    let share = lab.analyze().cells[0].ceiling_share.unwrap();
    assert!((0.9..1.0).contains(&share), "{share}");
    assert!(warned(&lab, "ceiling").is_some());
    // Its rate is the one that the share is of.
    let rate = lab.analyze().cells[0].bytes_per_s.unwrap().median;
    let ceiling = lab.record.ceiling.value().unwrap().bytes_per_s;
    assert!((rate / ceiling - share).abs() < 0.001, "{rate} {ceiling} {share}");
}

fn with_residency(state: State, pages: [(u64, u64); 3]) -> Lab {
    residency_of(random("4KiB", state), "mmap", pages)
}

fn residency_of(condition: Condition, arm: &str, pages: [(u64, u64); 3]) -> Lab {
    let mut lab = Lab::new();
    let condition = lab.condition(condition);
    let cell = lab.cell(condition, arm);
    lab.measure(cell, 3, 1000.0, |_, _| {});
    for (sample, (before, after)) in lab.record.samples.iter_mut().zip(pages) {
        let resident = |pages| Reading::Value(Resident { pages, of: 16_384 });
        (sample.resident_before, sample.resident_after) = (resident(before), resident(after));
    }
    lab
}

#[test]
fn pages_that_left_during_a_pass_are_counted_and_warned_of() {
    let lab = with_residency(State::Cached, [(16_384, 16_384), (16_384, 16_300), (16_384, 16_383)]);
    let says = warned(&lab, "left the page cache").unwrap();
    assert!(says.contains("2 of 3 passes") && says.contains("up to 84"), "{says}");
    let whole = with_residency(State::Cached, [(16_384, 16_384); 3]);
    assert_eq!(warned(&whole, "left the page cache"), None);
    let cold = with_residency(State::Cold, [(0, 100), (0, 0), (5, 0)]);
    assert_eq!(warned(&cold, "left the page cache"), None, "what a cold pass leaves behind is the method's business");
    let writing = |arm: &str| {
        let condition = Condition { workload: Workload::OverwriteRandom, ..random("4KiB", State::Cached) };
        warned(&residency_of(condition, arm, [(16_384, 16_300); 3]), "left the page cache").is_some()
    };
    assert_eq!([writing("pwrite"), writing("direct")], [true, false], "writes with O_DIRECT drop their pages");
}

#[test]
fn passes_as_is_that_began_differently_are_warned_of() {
    let lab = with_residency(State::AsIs, [(10, 500), (500, 500), (500, 900)]);
    let says = warned(&lab, "as-is").unwrap();
    assert!(says.contains("2 of 3 passes") && says.contains("10 to 500"), "{says}");
    assert_eq!(warned(&with_residency(State::AsIs, [(10, 10); 3]), "as-is"), None);
}

#[test]
fn passes_as_is_over_windows_of_different_sizes_begin_differently_in_any_case() {
    let mut lab = with_residency(State::AsIs, [(4000, 4000), (4000, 4000), (7349, 24_415)]);
    let windows = |lab: &mut Lab, of: [u64; 3]| {
        for (sample, of) in lab.record.samples.iter_mut().zip(of) {
            for it in [&mut sample.resident_before, &mut sample.resident_after] {
                let Reading::Value(resident) = it else { panic!("{it:?}") };
                resident.of = of;
            }
        }
        lab.analyze().warnings.into_iter().filter(|it| matches!(it, Warning::UnevenStarts { .. })).collect::<Vec<_>>()
    };
    assert_eq!(windows(&mut lab, [4000, 4000, 24_415]), []);
    let uneven = Warning::UnevenStarts { changed: 1, passes: 2, least_pages: 4000, most_pages: 7349 };
    assert_eq!(windows(&mut lab, [4000, 24_415, 24_415]), [uneven]);
}

#[test]
fn a_kernel_that_pushes_pages_out_by_itself_is_named_with_its_pace() {
    let with = |action: &str| {
        let mut lab = Lab::new();
        lab.record.environment.reclaim_schemes = Reading::Value(vec![ReclaimScheme {
            kdamond: 3,
            action: action.into(),
            idle_s: 60.0,
            quota_bytes_per_s: Some(128.0 * MIB as f64),
        }]);
        lab
    };
    let says = warned(&with("pageout"), "DAMON").unwrap();
    assert!(says.contains("for 60 s, up to 128 MiB/s") && says.contains("kdamond.3"), "{says}");
    assert_eq!(warned(&with("stat"), "DAMON"), None, "a scheme that only counts changes nothing");
}

#[test]
fn a_range_that_fits_into_the_last_level_cache_is_named_where_it_is_in_memory_before_a_pass() {
    let within = |state, cache_mib: u64| {
        let nothing = |_: u32, _: &mut crate::support::Pass| {};
        let mut lab = Lab::duel_with(scan("64 KiB", state), ("read", 90_000.0), nothing, ("mmap", 80_000.0), nothing);
        let cache = |level, kind, bytes| CpuCache { level, kind, bytes, count: 2 };
        lab.record.environment.cpu_caches = Reading::Value(vec![
            cache(1, CacheKind::Data, 48 << 10),
            cache(3, CacheKind::Unified, cache_mib * MIB),
            cache(4, CacheKind::Instruction, u64::MAX),
        ]);
        let range_bytes = lab.record.conditions[0].range.bytes;
        let findings = lab.analyze();
        let warned = findings.warnings.iter().any(|it| matches!(it, schema::warning::Warning::WithinCpuCache { .. }));
        assert_eq!(warned, !findings.within_cpu_cache.is_empty(), "{:?}", findings.warnings);
        (findings.within_cpu_cache, range_bytes)
    };
    let (found, range_bytes) = within(State::Cached, 1 << 20);
    let [one] = &found[..] else { panic!("{found:?}") };
    assert_eq!((one.id.condition_index, one.range_bytes, one.cache_bytes), (0, range_bytes, (1 << 20) * MIB));
    assert_eq!(within(State::Mapped, range_bytes / MIB).0.len(), 1, "it just fits");
    assert_eq!(within(State::Cached, range_bytes / MIB - 1).0, [], "it does not");
    assert_eq!(within(State::Cold, 1 << 20).0, [], "it comes from the device");
    assert_eq!(Lab::new().analyze().within_cpu_cache, [], "sizes are not known");
}

#[test]
fn what_comes_from_the_device_does_not_fit_into_the_last_level_cache() {
    let within = |arms: [&str; 2], state: State, resident: Option<u64>| {
        let mut lab = Lab::duel(scan("64 KiB", state), (arms[0], 90_000.0), (arms[1], 80_000.0));
        let cache = CpuCache { level: 3, kind: CacheKind::Unified, bytes: 1 << 40, count: 1 };
        lab.record.environment.cpu_caches = Reading::Value(vec![cache]);
        for sample in &mut lab.record.samples {
            sample.resident_before = match resident {
                Some(pages) => Reading::Value(Resident { pages, of: 100 }),
                None => Reading::unavailable("not looked at"),
            };
        }
        lab.analyze().within_cpu_cache.len()
    };
    assert_eq!(within(["direct", "uring+direct"], State::Cached, Some(100)), 0, "around the page cache");
    assert_eq!(within(["read", "direct"], State::Cached, Some(100)), 1);
    let as_is = |resident| within(["read", "mmap"], State::AsIs, resident);
    assert_eq!([as_is(Some(0)), as_is(Some(100)), as_is(None)], [0, 1, 1]);
}

#[test]
fn an_arm_with_a_state_or_a_range_of_its_own_fits_into_the_last_level_cache_by_these() {
    let within = |condition: Condition, changes: [fn(&mut Condition); 2]| {
        let mut lab = Lab::duel(condition, ("read", 90_000.0), ("mmap", 80_000.0));
        let cache = CpuCache { level: 3, kind: CacheKind::Unified, bytes: 8 * MIB, count: 1 };
        lab.record.environment.cpu_caches = Reading::Value(vec![cache]);
        for (cell, change) in changes.into_iter().enumerate() {
            lab.own(cell, change);
        }
        lab.analyze().within_cpu_cache.iter().map(|it| it.range_bytes).collect::<Vec<u64>>()
    };
    let (cold, cached) = (scan("64 KiB", State::Cold), scan("64 KiB", State::Cached));
    let small = Condition { range: schema::Span { offset: 0, bytes: MIB }, ..cached.clone() };
    assert_eq!(within(cached.clone(), [|it| it.range.bytes = 2 * MIB, |it| it.range.bytes = 4 * MIB]), [4 * MIB]);
    assert_eq!(within(cached, [|_| {}, |_| {}]), [0u64; 0], "all of the file does not fit");
    let in_memory: fn(&mut Condition) = |it| (it.state, it.range.bytes) = (State::Mapped, MIB);
    assert_eq!(within(cold, [in_memory, |_| {}]), [MIB]);
    assert_eq!(
        within(small, [|it| it.state = State::Cold, |it| it.state = State::Cold]),
        [0u64; 0],
        "it comes from the device"
    );
}

#[test]
fn misses_of_a_limited_pass_stand_in_its_cell() {
    let with = |_: u32, pass: &mut crate::support::Pass| {
        pass.reads("misses_per_block", 0.47);
        pass.reads("device_bytes_per_byte", 0.9);
        pass.reads("device_read_bytes", 1e6);
    };
    let mut lab = Lab::duel_with(random("4 KiB", State::Limited), ("pread", 90_000.0), with, ("mmap", 80_000.0), with);
    for cell in &lab.analyze().cells {
        assert_eq!(
            (&cell.misses_per_block, &cell.device_bytes_per_byte),
            (&Reading::Value(0.47), &Reading::Value(0.9))
        );
    }
    // A fault in a hole is a major one, and no wait for the device.
    lab.record.target.allocated_bytes = lab.record.target.bytes / 2;
    let [calls, mapping] = &lab.analyze().cells[..] else { panic!("two arms") };
    assert_eq!(calls.misses_per_block, Reading::Value(0.47));
    assert_eq!(mapping.misses_per_block, Reading::unavailable(Unseen::HolesFault));
    assert_eq!(mapping.device_bytes_per_byte, Reading::Value(0.9));
}
