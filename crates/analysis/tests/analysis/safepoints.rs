//! How long safepoints were held up, told from what the JVM said and from whether an arm's bytes came through calls.

use report::words::safepoints;
use schema::{
    State, Workload,
    condition::Storage,
    findings::{ClaimVerdict, Findings, SafepointTail, SafepointsOpen},
};

use crate::support::{Lab, Pass, random};

const CALLS: &str = "jvm/channel-direct+safepoints";
const FAULTS: &str = "jvm/mapped+safepoints";

/// A hundred safepoints a pass, delayed by so many microseconds.
fn delays(pass: &mut Pass, us: [f64; 3], calls: bool) {
    let [median, p99, longest] = us.map(|it| it * 1e3);
    pass.reads("safepoints", 100.0).reads("safepoint_median_ns", median).reads("safepoint_p99_ns", p99);
    pass.reads("safepoint_max_ns", longest).reads("safepoint_stopped_ns", 10.0 * median);
    pass.reads("read_call_bytes", if calls { pass.tally.bytes as f64 } else { 4000.0 });
}

fn run(state: State, faulting_us: [f64; 3]) -> Findings {
    let calls = |_, pass: &mut Pass| delays(pass, [1.0, 70.0, 90.0], true);
    let faults = |round, pass: &mut Pass| {
        delays(pass, faulting_us, false);
        if round == 3 {
            pass.reads("safepoint_max_ns", 9e6);
        }
    };
    Lab::duel_with(random("4 KiB", state), (CALLS, 5000.0), calls, (FAULTS, 5000.0), faults).analyze()
}

#[test]
fn delays_stand_beside_each_other_and_their_meaning_is_said() {
    let found = run(State::Cold, [2000.0, 5000.0, 6000.0]).safepoints.unwrap();
    let [calls, faults] = &found.cells[..] else { panic!("{:?}", found.cells) };
    assert_eq!((calls.arm.as_str(), calls.name.as_str()), (CALLS, "jvm/channel-direct"));
    assert_eq!((calls.passes, calls.asked, calls.through_calls), (10, 1000, Some(true)));
    assert_eq!((faults.median_ns, faults.p99_ns, faults.max_ns), (2e6, 5e6, 9e6));
    assert_eq!(faults.through_calls, Some(false));
    // Ten times two of the eighty milliseconds that a pass takes.
    assert!((0.2..0.3).contains(&faults.stopped_share.unwrap()), "{:?}", faults.stopped_share);
    let says = safepoints(&found);
    let [seen, meaning] = &says[..] else { panic!("{says:?}") };
    for words in
        ["random 4 KiB cold", "within 70 µs (jvm/channel-direct)", "within 5.0 ms (jvm/mapped)", "90 µs and 9.0 ms"]
    {
        assert!(seen.contains(words), "{words:?} is not in {seen:?}");
    }
    assert!(meaning.contains("in a page fault") && meaning.contains("(random 4 KiB cold)"), "{meaning}");
}

#[test]
fn that_99_of_100_were_reached_is_said_only_where_a_pass_had_100() {
    let calls = |_, pass: &mut Pass| delays(pass, [1.0, 70.0, 90.0], true);
    let faults = |_, pass: &mut Pass| {
        delays(pass, [2000.0, 5000.0, 6000.0], false);
        pass.reads("safepoints", 99.0).reads("safepoint_p99_ns", 6e6);
    };
    let found = Lab::duel_with(random("4 KiB", State::Cold), (CALLS, 5000.0), calls, (FAULTS, 5000.0), faults);
    let found = found.analyze().safepoints.unwrap();
    let tails: Vec<SafepointTail> = found.cells.iter().map(|it| it.p99_is).collect();
    assert_eq!(tails, [SafepointTail::NinetyNine, SafepointTail::Longest]);
    let says = &safepoints(&found)[0];
    assert!(
        says.contains("by system calls, 99 of 100 safepoints were reached within 70 µs (jvm/channel-direct);")
            && says.contains(
                "through a mapping, the longest delay of a pass was, in the middle pass, 6.0 ms (jvm/mapped);"
            ),
        "{says}"
    );
}

#[test]
fn of_passes_of_both_kinds_the_longest_delay_is_shown() {
    let calls = |_, pass: &mut Pass| delays(pass, [1.0, 70.0, 90.0], true);
    let faults = |round, pass: &mut Pass| {
        delays(pass, [2000.0, 5000.0, 6000.0], false);
        // More than 100 in the mean, and fewer in most passes.
        pass.reads("safepoints", if round == 1 { 2000.0 } else { 20.0 });
    };
    let lab = Lab::duel_with(random("4 KiB", State::Cold), (CALLS, 5000.0), calls, (FAULTS, 5000.0), faults);
    let cells = lab.analyze().safepoints.unwrap().cells;
    let tails: Vec<(SafepointTail, f64)> = cells.iter().map(|it| (it.p99_is, it.p99_ns)).collect();
    assert_eq!(tails, [(SafepointTail::NinetyNine, 70e3), (SafepointTail::Longest, 6e6)]);
}

#[test]
fn what_was_not_seen_is_not_said() {
    let found = run(State::Mapped, [66.0, 80.0, 100.0]).safepoints.unwrap();
    let seen: Vec<(&str, bool)> = found.seen.iter().map(|it| (it.label.as_str(), it.held_up)).collect();
    assert_eq!(seen, [("random 4 KiB mapped", false)]);
}

#[test]
fn where_every_page_is_in_memory_no_fault_is_the_cause() {
    for (state, held_up, open) in [
        (State::Cold, true, None),
        (State::Cached, false, Some(SafepointsOpen::InMemory)),
        (State::Mapped, false, Some(SafepointsOpen::InMemory)),
    ] {
        let seen = run(state, [2000.0, 5000.0, 6000.0]).safepoints.unwrap().seen;
        assert_eq!((seen[0].held_up, seen[0].open), (held_up, open), "{state}");
    }
}

#[test]
fn of_few_passes_with_few_safepoints_nothing_is_said() {
    let open = |rounds: u32, asked: f64, faulting_us: [f64; 3]| {
        let mut lab = Lab::new();
        let condition = lab.condition(random("4 KiB", State::Cold));
        let quick = [1.0, 70.0, 90.0];
        // Calls have enough of them either way.
        for (arm, us, asked) in [(CALLS, quick, 100.0), (FAULTS, faulting_us, asked)] {
            let cell = lab.cell(condition, arm);
            lab.measure(cell, rounds, 5000.0, |_, pass| {
                delays(pass, us, arm == CALLS);
                pass.reads("safepoints", asked);
            });
        }
        let seen = lab.analyze().safepoints.unwrap().seen;
        (seen[0].held_up, seen[0].open.is_some())
    };
    let long = [2000.0, 5000.0, 6000.0];
    assert_eq!(open(1, 6.0, long), (false, true));
    assert_eq!(open(1, 6.0, [1.0, 70.0, 90.0]), (false, true));
    assert_eq!(open(5, 6.0, long), (true, false));
    assert_eq!(open(1, 100.0, long), (true, false));
}

#[test]
fn without_counted_calls_nobody_is_taken_for_either() {
    let mut lab = Lab::duel(random("4 KiB", State::Cold), (CALLS, 5000.0), (FAULTS, 5000.0));
    lab.measure(0, 6, 5000.0, |_, pass| {
        delays(pass, [1.0, 70.0, 90.0], true);
        pass.readings.remove("read_call_bytes");
    });
    let found = lab.analyze().safepoints.unwrap();
    assert_eq!((found.cells.len(), found.cells[0].through_calls), (1, None));
    assert_eq!(found.seen, []);
}

#[test]
fn where_nobody_asked_there_is_nothing() {
    let lab = Lab::duel(random("4 KiB", State::Cold), ("jvm/channel-direct", 5000.0), ("jvm/mapped", 5000.0));
    assert_eq!(lab.analyze().safepoints, None);
    // A pass that was over before the first one.
    let short = |_, pass: &mut Pass| {
        pass.reads("safepoints", 0.0);
    };
    let lab = Lab::duel_with(random("4 KiB", State::Cached), (CALLS, 5.0), short, (FAULTS, 5.0), short);
    assert_eq!(lab.analyze().safepoints, None);
}

#[test]
fn a_claim_may_be_about_the_delay() {
    let text = r#"
title = "t"
[[compare]]
workload = "random"
block = "4 KiB"
state = "cold"
arms = ["jvm/channel-direct+safepoints", "jvm/mapped+safepoints"]
[[claim]]
id = "more"
says = "x"
arm = "jvm/mapped+safepoints"
than = "jvm/channel-direct+safepoints"
metric = "safepoint-p99"
expect = "higher"
[[claim]]
id = "number"
says = "x"
arm = "jvm/channel-direct+safepoints"
metric = "safepoint-p99"
expect = { at-most = 60000 }
"#;
    let mut lab = Lab::of_experiment(text);
    lab.measure(0, 8, 5000.0, |_, pass| delays(pass, [1.0, 70.0, 90.0], true));
    lab.measure(1, 8, 5000.0, |_, pass| delays(pass, [2000.0, 7000.0, 9000.0], false));
    let claims = lab.analyze().claims;
    assert_eq!(claims[0].verdict, ClaimVerdict::Holds);
    assert!(
        report::words::reasons(&claims[0].reasons).unwrap_or_default().contains("delay of the 99th of 100 safepoints"),
        "{}",
        report::words::reasons(&claims[0].reasons).unwrap_or_default()
    );
    assert!(
        report::words::reasons(&claims[0].reasons).unwrap_or_default().contains("100x"),
        "{}",
        report::words::reasons(&claims[0].reasons).unwrap_or_default()
    );
    assert_eq!(claims[1].verdict, ClaimVerdict::Reversed);
    assert!(
        report::words::reasons(&claims[1].reasons)
            .unwrap_or_default()
            .contains("in ns: claimed at most 60,000, here 70,000"),
        "{}",
        report::words::reasons(&claims[1].reasons).unwrap_or_default()
    );
}

#[test]
fn a_throttled_disk_is_a_condition_of_its_own() {
    let mut lab = Lab::new();
    for storage in [None, Some(Storage { read_bytes_per_s: Some(40_000_000), read_ops_per_s: None })] {
        let mut condition = random("4 KiB", State::Cold);
        (condition.storage, condition.workload) = (storage, Workload::Scan);
        let condition = lab.condition(condition);
        let cells = [lab.cell(condition, CALLS), lab.cell(condition, FAULTS)];
        lab.measure(cells[0], 6, 5000.0, |_, pass| delays(pass, [1.0, 70.0, 90.0], true));
        lab.measure(cells[1], 6, 5000.0, |_, pass| delays(pass, [2000.0, 7000.0, 9000.0], false));
    }
    let says = safepoints(&lab.analyze().safepoints.unwrap());
    assert!(
        says[0].starts_with("scan 4 KiB cold, storage as it is: ")
            && says[1].starts_with("scan 4 KiB cold, at 40 MB/s: "),
        "{says:?}"
    );
    assert!(says[2].contains("(scan 4 KiB cold, storage as it is; and scan 4 KiB cold, at 40 MB/s)"), "{says:?}");
}
