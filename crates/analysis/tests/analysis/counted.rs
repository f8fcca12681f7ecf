//! Counted passes: what follows from the counts, and what they warn of.

use std::collections::BTreeMap;

use schema::{
    Reading, State,
    counted::{Bin, Counted, Histogram},
    reason::Unseen,
};

use crate::support::{Lab, MIB, random, scan};

fn counts(cell: usize, system_calls: u64, faults: u64, device_bytes: f64) -> Counted {
    let value = |name: &str, count| (name.to_string(), Reading::Value(count));
    Counted {
        cell,
        bytes: 64 * MIB,
        distinct_bytes: 64 * MIB,
        distinct_block_bytes: None,
        distinct_pages: Some(16_384),
        device_read_bytes: Reading::Value(device_bytes),
        invalid: None,
        counts: BTreeMap::from([value("system_calls", system_calls), value("user_faults", faults)]),
        histograms: BTreeMap::new(),
    }
}

fn folios(order: u64) -> BTreeMap<String, Reading<Histogram>> {
    // Many small ones beside: what counts is where most pages lie.
    let bins = vec![Bin { value: 0, events: 3 }, Bin { value: order, events: 8 }];
    BTreeMap::from([("folio_order".to_string(), Reading::Value(Histogram { bins, lost: 0 }))])
}

fn duel(arms: [&str; 2], counted: [Counted; 2]) -> Lab {
    let mut lab = Lab::new();
    let condition = lab.condition(random("4KiB", State::Cold));
    for arm in arms {
        lab.cell(condition, arm);
    }
    lab.record.counted = counted.to_vec();
    lab
}

fn warnings(lab: &Lab, word: &str) -> usize {
    lab.analyze().warnings.iter().filter(|it| report::words::warning(it).contains(word)).count()
}

#[test]
fn counts_become_rates_of_what_was_delivered() {
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64KiB", State::Cold));
    let cell = lab.cell(condition, "mmap");
    lab.record.counted = vec![counts(cell, 128, 1024, 96.0 * MIB as f64)];
    let found = lab.analyze().counted.remove(0);
    assert_eq!(found.system_calls_per_mib, Reading::Value(2.0));
    assert_eq!(found.faults_per_mib, Reading::Value(16.0));
    assert_eq!(found.pages_per_fault, Reading::Value(16.0));
    assert_eq!(found.amplification, Reading::Value(1.5));
    assert_eq!(found.folio_orders, Reading::unavailable(Unseen::NotObserved));
}

#[test]
fn an_arm_that_reads_by_calls_has_no_pages_per_fault() {
    let lab = duel(["pread", "mmap"], [counts(0, 128, 5, 0.0), counts(1, 128, 1024, 0.0)]);
    let found = lab.analyze().counted;
    assert!(found[0].pages_per_fault.value().is_none() && found[0].faults_per_mib.value().is_some());
    assert_eq!(found[1].pages_per_fault, Reading::Value(16.0));
}

#[test]
fn faults_of_several_mappings_are_not_of_pages_that_count_once() {
    let of = |workload: schema::Workload, descriptor: schema::Descriptor| {
        let mut lab = duel(["mmap", "read"], [counts(0, 128, 1024, 0.0), counts(1, 1, 0, 0.0)]);
        let condition = &mut lab.record.conditions[0];
        (condition.threads, condition.workload, condition.descriptor) = (4, workload, descriptor);
        lab.analyze().counted[0].pages_per_fault.clone()
    };
    use schema::{Descriptor::*, Workload::*};
    assert_eq!(of(Random, PerThread), Reading::unavailable(Unseen::MappingsOfThreads));
    assert_eq!(of(Random, Shared), Reading::Value(16.0), "one mapping for all");
    assert_eq!(of(Scan, PerThread), Reading::Value(16.0), "a part of the range for each");
}

#[test]
fn faults_of_stores_are_not_of_pages_that_count_once() {
    let mut lab = duel(["mmap", "read"], [counts(0, 128, 17_324, 0.0), counts(1, 1, 0, 0.0)]);
    lab.record.conditions[0].workload = schema::Workload::Update;
    let found = &lab.analyze().counted[0];
    assert_eq!(found.pages_per_fault, Reading::unavailable(Unseen::StoresFault));
    assert!(found.faults_per_mib.value().is_some());
}

#[test]
fn faults_of_pages_that_memory_dropped_meanwhile_are_not_of_pages_that_count_once() {
    let mut lab = duel(["mmap", "read"], [counts(0, 128, 17_324, 0.0), counts(1, 1, 0, 0.0)]);
    let condition = &mut lab.record.conditions[0];
    (condition.workload, condition.state) = (schema::Workload::Random, State::Limited);
    assert_eq!(lab.analyze().counted[0].pages_per_fault, Reading::unavailable(Unseen::FaultedAgain));
}

#[test]
fn faults_that_the_kernel_makes_while_it_populates_are_not_counted_and_not_said_to_be_none() {
    let of = |arm: &str, state: State| {
        let mut lab = duel([arm, "read"], [counts(0, 4, 1, 0.0), counts(1, 1, 0, 0.0)]);
        lab.record.conditions[0].state = state;
        let found = lab.analyze().counted.remove(0);
        (found.faults_per_mib, found.pages_per_fault)
    };
    let unseen = || Reading::unavailable(Unseen::KernelPopulates);
    for arm in ["mmap+populate-read", "mmap+map-populate", "python/mmap+populate-read"] {
        assert_eq!(of(arm, State::Cached), (unseen(), unseen()), "{arm}");
        // Populated before the counted pass, as any mapping is in this state: its faults are not of the file's pages.
        assert_eq!(of(arm, State::Mapped).1, Reading::unavailable(Unseen::MappedBefore));
        assert_eq!(of(arm, State::Mapped).0, Reading::Value(1.0 / 64.0), "{arm}");
    }
    assert_eq!(of("jvm/mapped+load", State::Cached).0, Reading::Value(1.0 / 64.0), "its own thread touches the pages");
}

#[test]
fn rates_are_of_blocks_as_long_as_they_are_where_a_part_of_each_is_looked_at() {
    // A block of 4 MiB and the last one of 1 MiB.
    let [mut half, read] = [counts(0, 5, 10, 0.0), counts(1, 1, 0, 0.0)];
    (half.bytes, half.distinct_bytes, half.distinct_block_bytes) = (5 * MIB / 2, 5 * MIB / 2, Some(5 * MIB));
    let mut lab = Lab::new();
    let mut condition = scan("4MiB", State::Cached);
    (condition.file_bytes, condition.range.bytes, condition.ops) = (5 * MIB, 5 * MIB, 2);
    let condition = lab.condition(condition);
    for arm in ["mmap", "read"] {
        lab.cell(condition, arm);
    }
    lab.own(0, |it| it.consumed_percent = 50);
    lab.record.counted = vec![half, read];
    assert_eq!(lab.analyze().counted[0].faults_per_mib, Reading::Value(2.0));
}

#[test]
fn counts_of_a_pass_that_left_its_state_are_not_used() {
    let mut broken = counts(0, 128, 1024, 0.0);
    broken.invalid = Some("5 pages left".into());
    let lab = duel(["mmap", "read"], [broken, counts(7, 1, 1, 1.0)]);
    let found = lab.analyze().counted;
    assert_eq!(found.len(), 1, "a cell that is not there is left out");
    assert!(found[0].system_calls_per_mib == Reading::unavailable(Unseen::InvalidPass("5 pages left".into())));
    assert!(found[0].amplification.why().is_some());
}

#[test]
fn no_fault_and_no_device_are_reasons_and_not_infinity_or_zero() {
    let lab = duel(["mmap", "read"], [counts(0, 1, 0, 0.0), counts(1, 1, 0, 0.0)]);
    let found = &lab.analyze().counted[0];
    assert_eq!(found.pages_per_fault, Reading::unavailable(Unseen::NoFault));
    assert_eq!(found.amplification, Reading::unavailable(Unseen::NothingFromDevice));
}

#[test]
fn more_than_four_bytes_read_for_one_used_are_named() {
    let with = |times: f64| {
        duel(["mmap", "read"], [counts(0, 1, 9, times * 64.0 * MIB as f64), counts(1, 9, 1, 64.0 * MIB as f64)])
    };
    assert_eq!(warnings(&with(4.0), "for each byte that"), 0);
    assert_eq!(warnings(&with(4.1), "4.1 bytes were read from the device for each byte that mmap used"), 1);
}

#[test]
fn what_was_counted_of_an_arm_with_a_block_of_its_own_is_said_of_that_block() {
    let [mut plain, mut advised] = [counts(0, 5, 10_000, 0.0), counts(1, 6, 10_000, 0.0)];
    for it in [&mut plain, &mut advised] {
        it.device_read_bytes = Reading::Value(5.0 * 64.0 * MIB as f64);
    }
    let mut lab = duel(["mmap", "mmap+random"], [plain, advised]);
    for cell in [0, 1] {
        lab.own(cell, |it| it.block_bytes = 65_536);
    }
    let said: Vec<String> = lab.analyze().warnings.iter().map(report::words::warning).collect();
    for of in ["for each byte that", "an advice changed none of the counts"] {
        let is_it = |it: &&String| it.contains(of) && it.contains("random 4 KiB cold, 64 KiB instead of 4 KiB");
        assert_eq!(said.iter().filter(is_it).count(), 1, "{of}: {said:?}");
    }
}

#[test]
fn read_ahead_is_named_as_the_cause_of_what_is_more_than_whole_pages_alone() {
    // Blocks of 64 bytes, each in a page of its own: 64 bytes come for each that is used.
    let with = |arm: &str, times: f64| {
        let small = schema::counted::Counted { distinct_bytes: MIB, ..counts(0, 1, 9, times * MIB as f64) };
        duel([arm, "read"], [small, counts(1, 9, 1, 64.0 * MIB as f64)])
    };
    for (arm, times, named) in [("mmap+random", 64.0, 0), ("direct", 300.0, 0), ("mmap", 300.0, 1)] {
        assert_eq!(warnings(&with(arm, times), "for each byte that"), 1, "{arm}");
        assert_eq!(warnings(&with(arm, times), "read-ahead fetched"), named, "{arm}");
    }
}

#[test]
fn what_came_is_held_against_the_whole_blocks_of_which_a_part_was_looked_at() {
    // Blocks of 4 KiB that overlap, of each of which a quarter is looked at: 8 KiB would be too much for what they cover.
    let found = |blocks: Option<u64>, arm: &str| {
        let counted = Counted { distinct_bytes: 2048, distinct_block_bytes: blocks, ..counts(0, 1, 9, 40_960.0) };
        let mut lab = duel([arm, "read"], [counted, counts(1, 9, 1, MIB as f64)]);
        lab.own(0, |it| it.consumed_percent = 25);
        lab.measure(0, 10, 1000.0, |_, pass| {
            (pass.tally.distinct_bytes, pass.tally.distinct_block_bytes) = (2048, blocks);
        });
        let findings = lab.analyze();
        let amplification = findings.counted[0].amplification.value().copied();
        (findings.cells[0].distinct_bytes, amplification)
    };
    assert_eq!(found(Some(5120), "pread"), (Some(5120.0), Some(8.0)));
    assert_eq!(found(Some(5120), "mmap"), (Some(2048.0), Some(20.0)), "a mapping brings what is looked at");
    // A record of an older version.
    assert_eq!(found(None, "pread"), (Some(8192.0), Some(5.0)));
}

#[test]
fn an_advice_that_changed_nothing_is_named() {
    let with = |faults| duel(["mmap", "mmap+random"], [counts(0, 5, 10_000, 1e6), counts(1, 6, faults, 1e6)]);
    assert_eq!(warnings(&with(10_050), "an advice changed none of the counts"), 1);
    assert_eq!(warnings(&with(10_200), "an advice changed none of the counts"), 0);
    let other_method = duel(["read", "mmap+random"], [counts(0, 5, 10_000, 1e6), counts(1, 6, 10_000, 1e6)]);
    assert_eq!(warnings(&other_method, "an advice changed none"), 0);
}

#[test]
fn arms_that_filled_the_cache_differently_are_named() {
    let with = |order| {
        let [mut a, mut b] = [counts(0, 5, 10_000, 1e6), counts(1, 6, 20_000, 1e6)];
        (a.histograms, b.histograms) = (folios(4), folios(order));
        duel(["mmap", "read"], [a, b])
    };
    assert_eq!(warnings(&with(4), "folios of different sizes"), 0);
    assert_eq!(warnings(&with(9), "order 4 for mmap, order 9 for read"), 1);
}

#[test]
fn a_counted_pass_that_lost_events_says_so_and_how_many() {
    let with = |lost| {
        let mut lossy = counts(0, 5, 10_000, 1e6);
        let histogram = Histogram { bins: vec![Bin { value: 4096, events: 9 }], lost };
        lossy.histograms = BTreeMap::from([("request_bytes".to_string(), Reading::Value(histogram))]);
        duel(["mmap", "read"], [lossy, counts(1, 6, 20_000, 1e6)])
    };
    assert_eq!(warnings(&with(0), "rings could hold"), 0);
    assert_eq!(warnings(&with(12_345), "1 of 2 counted passes had more events than their rings could hold"), 1);
    assert_eq!(warnings(&with(12_345), "12,345 lost"), 1);
}

#[test]
fn flushes_and_durable_writes_are_counted_from_their_histograms() {
    let mut writing = counts(0, 5, 10_000, 1e6);
    let histogram = |bins: &[(u64, u64)]| {
        let bins = bins.iter().map(|&(value, events)| Bin { value, events }).collect();
        Reading::Value(Histogram { bins, lost: 0 })
    };
    writing.histograms = BTreeMap::from([
        ("request_bytes_flush".to_string(), histogram(&[(0, 3), (4096, 1)])),
        ("request_bytes_fua".to_string(), histogram(&[])),
    ]);
    let found = duel(["mmap", "read"], [writing, counts(1, 6, 20_000, 1e6)]).analyze().counted;
    assert_eq!((&found[0].flush_requests, &found[0].durable_requests), (&Reading::Value(4.0), &Reading::Value(0.0)));
    assert_eq!(found[1].flush_requests, Reading::unavailable(Unseen::NotObserved));
}
