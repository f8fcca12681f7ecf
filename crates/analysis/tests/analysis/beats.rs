//! Who else stopped while an arm was at work, told from how late a second thread was.

use schema::{
    Beside, Condition, Consume, State, Workload,
    beats::{Beats, Lateness, PERIOD_NS, bin_of},
    findings::{BeatFinding, BeatSays, ClaimVerdict, Findings, StallArm, StallFinding, StallSays},
};

use crate::support::{Lab, Pass, random};

const CALL: &str = "python/preadv";
const MAP: &str = "python/mmap";

/// Deadlines that were so many microseconds late: the time, and how many.
fn late(of: &[(u64, u64)]) -> Lateness {
    let mut late = Lateness::default();
    for &(us, count) in of {
        let ns = 1000 * us;
        late.bins.resize(late.bins.len().max(bin_of(ns) + 1), 0);
        late.bins[bin_of(ns)] += count;
        late.max_ns = late.max_ns.max(ns);
        late.deadlines += count;
        late.wake_ups += 1;
    }
    late
}

fn beats(of: &[(u64, u64)], idle_us: u64) -> Option<Box<Beats>> {
    Some(Box::new(Beats { period_ns: PERIOD_NS, pass: late(of), idle: late(&[(idle_us, 100)]) }))
}

/// Deadlines by how many microseconds they were late.
type Late = &'static [(u64, u64)];

/// One pass of a thread that nothing stops, and of one that is stopped half of the time.
const FREE: Late = &[(70, 190), (200, 10)];
const STALLED: Late = &[(70, 100), (4000, 90), (12_000, 10)];

fn under(state: State) -> Condition {
    Condition { consume: Consume::Touch, beside: Beside::Beat, ..random("4 KiB", state) }
}

/// One arm, and in another state.
fn run(cold: &[(u64, u64)], control: Option<(State, &[(u64, u64)])>, idle_us: u64) -> Findings {
    let mut lab = Lab::new();
    let all = [Some((State::Cold, cold)), control];
    for (state, of) in all.into_iter().flatten() {
        let condition = lab.condition(under(state));
        let cell = lab.cell(condition, MAP);
        lab.measure(cell, 5, 5000.0, |_, pass: &mut Pass| pass.beats = beats(of, idle_us));
    }
    lab.analyze()
}

fn first(findings: &Findings) -> &BeatFinding {
    &findings.beats[0]
}

#[test]
fn the_beats_of_all_passes_are_one_and_stand_beside_the_control() {
    let found = run(STALLED, Some((State::Mapped, FREE)), 70);
    let [cold, mapped] = &found.beats[..] else { panic!("{:?}", found.beats) };
    assert_eq!((cold.passes, cold.late.deadlines, cold.late.wake_ups, cold.late.max_ns), (5, 1000, 15, 12_000_000));
    assert_eq!((cold.idle.deadlines, cold.idle.max_ns), (500, 70_000));
    let near = |found: Option<f64>, ns: f64| assert!((found.unwrap() / ns - 1.0).abs() < 1.0 / 16.0, "{found:?} {ns}");
    near(cold.late.p99_ns, 12e6);
    near(cold.late.median_ns, 70e3);
    assert_eq!(cold.late.stalled_share, Some(0.5));
    let control = cold.control.as_ref().unwrap();
    assert_eq!((control.id, control.condition.state, control.late), (mapped.id, State::Mapped, mapped.late));
    assert_eq!((cold.says, mapped.says), (BeatSays::Waiting, BeatSays::Nobody));
    assert_eq!(mapped.control, None);
    let shares: Vec<f64> = cold.curve.iter().map(|it| it.later_share).collect();
    assert_eq!(shares, [0.5, 0.05, 0.0]);
    assert!(cold.curve.is_sorted_by_key(|it| it.late_ns) && cold.curve.last().unwrap().late_ns == 12e6);
}

#[test]
fn the_control_is_the_same_work_where_the_pages_are_mapped_before_where_they_are_cached() {
    let mut lab = Lab::new();
    let mut add = |condition: Condition, arm: &str| {
        let condition = lab.condition(condition);
        let cell = lab.cell(condition, arm);
        lab.measure(cell, 5, 5000.0, |_, pass: &mut Pass| pass.beats = beats(FREE, 70));
        cell
    };
    let throttle = schema::condition::Storage { read_bytes_per_s: Some(40_000_000), read_ops_per_s: None };
    let cold = add(Condition { storage: Some(throttle), ops: 7, ..under(State::Cold) }, MAP);
    add(under(State::Mapped), CALL);
    add(Condition { threads: 2, ..under(State::Mapped) }, MAP);
    add(Condition { workload: Workload::Scan, ..under(State::Mapped) }, MAP);
    let cached = add(under(State::Cached), MAP);
    let control = |lab: &Lab| {
        let found = lab.analyze();
        let cold = found.beats.iter().find(|it| it.id.cell == cold).unwrap();
        cold.control.as_ref().map(|it| it.id.cell)
    };
    let mapped = lab.record.conditions.len();
    assert_eq!(control(&lab), Some(cached));
    lab.condition(under(State::Mapped));
    let cell = lab.cell(mapped, MAP);
    lab.measure(cell, 5, 5000.0, |_, pass: &mut Pass| pass.beats = beats(FREE, 70));
    assert_eq!(control(&lab), Some(cell));
}

#[test]
fn what_stopped_others_follows_from_the_control_and_is_not_said_of_a_busy_machine_or_too_few_deadlines() {
    let few: &[(u64, u64)] = &[(70, 9), (4000, 10)];
    let computing: &[(u64, u64)] = &[(2300, 150), (5200, 50)];
    let long: &[(u64, u64)] = &[(70, 50), (60_000, 150)];
    let mapped = |of| Some((State::Mapped, of));
    for (says, cold, control, idle_us) in [
        (BeatSays::Nobody, FREE, mapped(FREE), 70),
        (BeatSays::Nobody, FREE, None, 70),
        (BeatSays::Waiting, STALLED, mapped(FREE), 70),
        (BeatSays::AsInMemory, STALLED, mapped(computing), 70),
        (BeatSays::AsInMemory, &[(70, 979), (5000, 21)], mapped(&[(70, 981), (5000, 19)]), 70),
        (BeatSays::LongerThanInMemory, long, mapped(computing), 70),
        (BeatSays::LongerThanInMemory, long, mapped(&[(70, 150), (30_000, 50)]), 70),
        (BeatSays::NoControl, STALLED, None, 70),
        (BeatSays::Busy, STALLED, mapped(FREE), 5000),
        (BeatSays::TooFewDeadlines, few, mapped(FREE), 70),
    ] {
        let found = run(cold, control, idle_us);
        assert_eq!(first(&found).says, says, "{:?}", first(&found));
    }
    // Other work comes and goes: the idle deadlines of all passes of the run say how much there was.
    let mut lab = Lab::new();
    for (state, of, idle_us) in [(State::Cold, STALLED, 70), (State::Mapped, FREE, 70), (State::Cached, FREE, 5000)] {
        let condition = lab.condition(under(state));
        let cell = lab.cell(condition, MAP);
        lab.measure(cell, 5, 5000.0, |_, pass: &mut Pass| pass.beats = beats(of, idle_us));
    }
    let found = lab.analyze();
    assert_eq!((first(&found).says, first(&found).idle.stalled_share), (BeatSays::Busy, Some(0.0)));
    assert!((first(&found).busy_share - 1.0 / 3.0).abs() < 1e-9);
    // A hundred deadlines are asked of all passes together.
    assert_eq!(first(&run(few, None, 70)).late.p99_ns, None);
    assert!(first(&run(&[(70, 20)], None, 70)).late.p99_ns.is_some());
    let mapped = run(FREE, mapped(computing), 70);
    assert_eq!(mapped.beats[1].says, BeatSays::InMemory);
    assert!(Lab::duel(random("4 KiB", State::Cold), (CALL, 1.0), (MAP, 1.0)).analyze().beats.is_empty());
}

/// The verdict on a claim about the second arm, of which each pass has these beats.
fn claimed(claim: &str, call: &[(u64, u64)], map: &[(u64, u64)]) -> ClaimVerdict {
    claimed_beside(70, claim, call, map)
}

/// While nothing is at work, deadlines are so many microseconds late.
fn claimed_beside(idle_us: u64, claim: &str, call: &[(u64, u64)], map: &[(u64, u64)]) -> ClaimVerdict {
    let text = format!(
        r#"
        title = "Duel"
        [[compare]]
        arms = ["{CALL}", "{MAP}"]
        workload = "random"
        block = "4 KiB"
        consume = "touch"
        state = "cold"
        beside = "beat"
        [[claim]]
        id = "it"
        says = "it is so"
        arm = "{MAP}"
        {claim}"#
    );
    let mut lab = Lab::of_experiment(&text);
    lab.measure(0, 10, 5000.0, |_, pass: &mut Pass| pass.beats = beats(call, idle_us));
    lab.measure(1, 10, 5000.0, |_, pass: &mut Pass| pass.beats = beats(map, idle_us));
    lab.analyze().claims[0].verdict
}

#[test]
fn claims_are_about_the_99th_of_100_and_the_stalled_share_of_passes() {
    let than = format!("than = \"{CALL}\"");
    let share = |expect: &str| format!("metric = \"stalled-share\"\nexpect = {expect}");
    let p99 = |expect: &str| format!("metric = \"beat-p99\"\nexpect = {expect}");
    assert_eq!(claimed(&share("{ at-most = 0.02 }"), FREE, FREE), ClaimVerdict::Holds);
    assert_eq!(claimed(&share("{ at-most = 0.02 }"), FREE, STALLED), ClaimVerdict::Reversed);
    assert_eq!(claimed(&format!("{than}\n{}", share("\"higher\"")), FREE, STALLED), ClaimVerdict::Holds);
    assert_eq!(claimed(&format!("{than}\n{}", p99("\"higher\"")), FREE, STALLED), ClaimVerdict::Holds);
    assert_eq!(claimed(&format!("{than}\n{}", p99("\"higher\"")), FREE, FREE), ClaimVerdict::NoDifference);
    assert_eq!(claimed(&p99("{ at-most = 1000000 }"), FREE, FREE), ClaimVerdict::Holds);
    // One of a hundred is asked of each pass, of which there are too few here.
    assert_eq!(claimed(&p99("{ at-most = 1000000 }"), FREE, &[(70, 50)]), ClaimVerdict::NotTestableHere);
    assert_eq!(claimed(&share("{ at-most = 0.02 }"), FREE, &[(70, 50)]), ClaimVerdict::Holds);
    // A share of fewer than a hundred of all passes together is none.
    assert_eq!(claimed(&share("{ at-most = 0.02 }"), FREE, &[(70, 5)]), ClaimVerdict::NotTestableHere);
}

/// One condition with arms: what their deadlines were. The control in memory of each is free.
fn stalls(of: &[(&str, Late)]) -> Vec<StallFinding> {
    stalls_beside(of.iter().map(|it| (it.0, it.1, FREE)))
}

/// With what the deadlines of the controls were.
fn stalls_beside<'a>(of: impl IntoIterator<Item = (&'a str, Late, Late)>) -> Vec<StallFinding> {
    let mut lab = Lab::new();
    let states = [State::Cold, State::Mapped].map(|state| (state, lab.condition(under(state))));
    for (arm, cold, mapped) in of {
        for (state, condition) in states {
            let cell = lab.cell(condition, arm);
            let late = if state == State::Cold { cold } else { mapped };
            lab.measure(cell, 5, 5000.0, |_, pass: &mut Pass| pass.beats = beats(late, 70));
        }
    }
    let found = lab.analyze();
    assert!(found.stalls.iter().all(|it| it.id.condition_index == 0), "{:?}", found.stalls);
    found.stalls
}

fn names(of: &[StallArm]) -> Vec<&str> {
    of.iter().map(|it| it.name.as_str()).collect()
}

#[test]
fn a_runtime_is_told_which_of_its_calls_stops_others_and_which_does_not() {
    const LONGER: Late = &[(70, 100), (60_000, 100)];
    let found = stalls(&[
        ("native/mmap", FREE),
        (CALL, &[(90, 200)]),
        (MAP, STALLED),
        ("python/mmap+random", LONGER),
        ("python/mmap+view", FREE),
    ]);
    let [native, python] = &found[..] else { panic!("{found:?}") };
    assert_eq!((native.runtime.as_str(), native.says, &native.instead), ("native", StallSays::Nobody, &None));
    assert_eq!(native.arms.len(), 1);
    assert_eq!((python.runtime.as_str(), python.says), ("python", StallSays::Others));
    assert_eq!(names(&python.arms), ["python/mmap+random", MAP], "the longest first");
    assert_eq!(python.instead.as_ref().map(|it| it.name.as_str()), Some(CALL), "a call before a mapping");
}

#[test]
fn an_arm_with_a_state_of_its_own_is_none_to_call_instead() {
    let mut lab = Lab::new();
    let [cold, mapped] = [State::Cold, State::Mapped].map(|state| lab.condition(under(state)));
    for (condition, arm, late) in [(cold, MAP, STALLED), (cold, CALL, FREE), (mapped, MAP, FREE), (mapped, CALL, FREE)]
    {
        let cell = lab.cell(condition, arm);
        lab.measure(cell, 5, 5000.0, |_, pass: &mut Pass| pass.beats = beats(late, 70));
    }
    let instead = |lab: &Lab| lab.analyze().stalls[0].instead.as_ref().map(|it| it.name.clone());
    assert_eq!(instead(&lab).as_deref(), Some(CALL));
    lab.own(1, |it| it.state = State::Cached);
    assert_eq!(instead(&lab), None);
}

#[test]
fn where_all_arms_stop_others_the_one_that_does_for_much_less_time_is_taken_instead() {
    const LONGER: Late = &[(70, 100), (60_000, 100)];
    let of = |all: &[(&str, Late)]| stalls(all)[0].instead.as_ref().map(|it| it.name.clone());
    assert_eq!(of(&[(MAP, LONGER), ("python/mmap+random", STALLED)]), Some("python/mmap+random".into()));
    assert_eq!(of(&[(MAP, STALLED), ("python/mmap+random", STALLED)]), None);
    assert_eq!(of(&[(MAP, LONGER)]), None);
}

#[test]
fn an_arm_is_no_answer_to_itself_with_something_that_stops_all_threads() {
    let stopped = stalls(&[("go/mmap+procs=2+stops", STALLED), ("go/mmap+procs=2", FREE)]);
    assert_eq!((stopped[0].says, &stopped[0].instead), (StallSays::Others, &None));
    let another = stalls(&[
        ("go/mmap+procs=2+stops", STALLED),
        ("go/mmap+procs=2", FREE),
        ("go/mmap+procs=2+fault=syscall+stops", FREE),
    ]);
    assert!(another[0].instead.as_ref().is_some_and(|it| it.name.contains("syscall")), "{another:?}");
}

#[test]
fn what_is_taken_instead_was_measured_beside_the_same() {
    const LATER: Late = &[(90, 200)];
    let found = stalls(&[
        ("jvm/mapped+safepoints", STALLED),
        ("jvm/channel-positional", FREE),
        ("jvm/channel-positional+safepoints", LATER),
    ]);
    let instead = found[0].instead.as_ref().map(|it| it.name.as_str());
    assert_eq!(instead, Some("jvm/channel-positional+safepoints"));
}

#[test]
fn missing_pages_show_beside_a_control_that_stops_others_most_of_the_time() {
    let stalled = |late: Late, control: Late| first(&run(late, Some((State::Mapped, control)), 70)).says;
    const CONTROL: Late = &[(70, 80), (4000, 120)];
    assert_eq!(stalled(&[(70, 10), (4000, 190)], CONTROL), BeatSays::LongerThanInMemory);
    assert_eq!(stalled(&[(70, 70), (4000, 130)], CONTROL), BeatSays::AsInMemory);
}

#[test]
fn other_work_of_the_machine_decides_no_claim_about_threads_that_stop() {
    let share = |expect: &str| format!("metric = \"stalled-share\"\nexpect = {expect}");
    let more = format!("than = \"{CALL}\"\n{}", share("\"higher\""));
    for (claim, quiet) in [(share("{ at-most = 0.02 }"), ClaimVerdict::Reversed), (more, ClaimVerdict::Holds)] {
        let of = |idle_us: u64| claimed_beside(idle_us, &claim, FREE, STALLED);
        assert_eq!([of(70), of(5000)], [quiet, ClaimVerdict::Undecided], "{claim}");
    }
    // What stops few although others work stops no more without them.
    assert_eq!(claimed_beside(5000, &share("{ at-most = 0.02 }"), FREE, FREE), ClaimVerdict::Holds);
}

#[test]
fn nothing_is_said_of_a_runtime_of_whose_arms_one_is_not_known() {
    let few: Late = &[(70, 9)];
    let found = stalls(&[("native/mmap", few), (CALL, FREE), (MAP, few)]);
    let is_unknown = |it: &StallFinding| (it.says, it.arms.len(), &it.instead) == (StallSays::Unknown, 0, &None);
    assert!(found.iter().all(is_unknown), "{found:?}");
    // What is known to stop others is said, whatever is known of the rest.
    let found = stalls(&[(CALL, few), (MAP, STALLED)]);
    assert_eq!((found[0].says, names(&found[0].arms)), (StallSays::Others, vec![MAP]));
    assert!(Lab::duel(random("4 KiB", State::Cold), (CALL, 1.0), (MAP, 1.0)).analyze().stalls.is_empty());
}

#[test]
fn what_stops_others_with_its_pages_in_memory_is_told_apart_from_what_waits_for_pages() {
    let computing: Late = &[(2300, 150), (5200, 50)];
    let of_memory = run(STALLED, Some((State::Mapped, computing)), 70);
    assert_eq!(of_memory.stalls[0].says, StallSays::OthersAsInMemory);
    assert_eq!(run(STALLED, None, 70).stalls[0].says, StallSays::OthersNoControl);
}

#[test]
fn what_waits_for_pages_is_said_although_another_arm_computes_for_longer() {
    const LONGER: Late = &[(2300, 100), (20_000, 100)];
    let computing = ("go/readat+procs=1", LONGER, LONGER);
    let found = stalls_beside([computing, ("go/mmap+procs=2+stops", STALLED, FREE)]);
    assert_eq!((found[0].says, names(&found[0].arms)), (StallSays::Others, vec!["go/mmap+stops+procs=2"]));
    let alone = stalls_beside([computing]);
    assert_eq!((alone[0].says, names(&alone[0].arms)), (StallSays::OthersAsInMemory, vec!["go/readat+procs=1"]));
}

#[test]
fn nothing_is_missing_where_pages_are_locked() {
    assert_eq!(run(STALLED, Some((State::Locked, FREE)), 70).beats[0].says, BeatSays::Waiting);
    let says = |state: State, late: Late| passes_of(&[(state, 5, late)]).stalls[0].says;
    assert_eq!(says(State::Locked, STALLED), StallSays::OthersInMemory);
    assert_eq!(says(State::Mapped, STALLED), StallSays::OthersInMemory);
    assert_eq!(says(State::Mapped, FREE), StallSays::NobodyInMemory);
}

#[test]
fn a_few_passes_decide_nothing_however_many_deadlines_they_have() {
    let of = |all: &[(State, u32, Late)]| {
        let found = passes_of(all);
        (found.beats[0].says, found.stalls[0].says)
    };
    assert_eq!(of(&[(State::Cold, 1, STALLED)]), (BeatSays::TooFewPasses, StallSays::Unknown));
    assert_eq!(of(&[(State::Cold, 4, FREE)]), (BeatSays::TooFewPasses, StallSays::Unknown));
    assert_eq!(of(&[(State::Mapped, 1, STALLED)]), (BeatSays::TooFewPasses, StallSays::Unknown));
    // A control of a few is none.
    let control = [(State::Cold, 5, STALLED), (State::Mapped, 4, FREE)];
    assert_eq!(of(&control), (BeatSays::NoControl, StallSays::OthersNoControl));
    let another = [(State::Cold, 5, STALLED), (State::Mapped, 4, FREE), (State::Cached, 5, FREE)];
    assert_eq!(of(&another), (BeatSays::Waiting, StallSays::Others));
    // What was measured for long enough with pages in memory says nothing of missing ones.
    let in_memory = [(State::Cold, 4, STALLED), (State::Mapped, 5, FREE)];
    assert_eq!(of(&in_memory), (BeatSays::TooFewPasses, StallSays::NobodyInMemory));
}

/// Of one arm: from which state, how many passes, and their deadlines.
fn passes_of(all: &[(State, u32, Late)]) -> Findings {
    let mut lab = Lab::new();
    for &(state, passes, late) in all {
        let condition = lab.condition(under(state));
        let cell = lab.cell(condition, MAP);
        lab.measure(cell, passes, 5000.0, |_, pass: &mut Pass| pass.beats = beats(late, 70));
    }
    lab.analyze()
}
