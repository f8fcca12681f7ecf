//! Executions of a command beside replays of what it did, with known times: what is to be changed follows from them.

use schema::{
    Arm, Condition, Consume, Fill, Reading, Record, Skip, State, Workload,
    advice::{
        Advice, AdviceCaveat, AdviceCode, AdviceOption, AdviceReason, AdviceVerdict, CheckedBy, Effort, Grade, How,
        Settles, Unchecked,
    },
    advised::{Advised, Group, Pattern, Reach},
    command::Spec,
    counted::Bin,
    findings::Findings,
    observation::{Access, FileAccess, MappingCount, Means, Observation, Observed},
    reason::Reason,
    record::{self, Outcome, RoundsEnd},
    trace::{NotSeen, Traced},
};

use crate::support::{GIB, Lab, Pass};

const MS: f64 = 1e6;
const ROUNDS: u32 = 10;
const FILE: &str = "/data/t.db";

/// What is planted: times in milliseconds, cold and cached.
struct Plan {
    recorded: &'static str,
    program: [f64; 2],
    /// Each arm's replay; the first is that of the recorded one.
    replays: Vec<(&'static str, [f64; 2])>,
    switch: Option<([f64; 2], Access)>,
    other_switch: Option<([f64; 2], Access)>,
    pattern: Pattern,
    reach: Reach,
    states: Vec<State>,
    rounds: u32,
    once: bool,
    coverage: f64,
    not_seen: NotSeen,
    /// From the device, by the recorded arm's cold replay.
    brought_in: f64,
    /// The same replays where only one byte of each page is looked at, cached.
    touched: Option<Vec<(&'static str, [f64; 2])>>,
    /// Of several files.
    group: Option<Group>,
    /// System time of an execution and of a replay, in milliseconds.
    system: [f64; 2],
    /// How often the replays of some arms wait for the device, cold.
    waits: &'static [(&'static str, f64)],
    /// How many times as long the second measurement of what is entered twice takes.
    control: f64,
    /// Cached.
    fill: Option<Fill>,
    /// Of the replays.
    threads: u32,
    /// Between the accesses of cold replays, in milliseconds.
    own_work: u64,
}

fn points() -> Pattern {
    Pattern {
        file_bytes: GIB,
        accesses: 543,
        bytes: 543 * 4096,
        page_bytes: 4096,
        distinct_pages: 543,
        in_order: 3,
        threads: 1,
        mappings: 1,
        sizes: vec![Bin { value: 4096, events: 543 }],
    }
}

/// Points in a mapping: without read-ahead they take a third of the time.
fn mapped_points() -> Plan {
    Plan {
        recorded: "mmap",
        program: [80.0, 5.0],
        replays: vec![("mmap", [77.0, 0.4]), ("pread", [29.0, 0.9]), ("mmap+random", [29.0, 0.4])],
        switch: None,
        other_switch: None,
        pattern: points(),
        reach: Reach::Mapping,
        states: vec![State::Cold, State::Cached],
        rounds: ROUNDS,
        once: false,
        coverage: 1.0,
        not_seen: NotSeen::default(),
        brought_in: 19_592.0 * 4096.0,
        touched: None,
        group: None,
        system: [4.0, 0.3],
        waits: &[],
        control: 1.0,
        fill: None,
        threads: 1,
        own_work: 0,
    }
}

/// The same where hardly any time is left beside reaching the pages: the program touches each of them once.
fn points_touched_once() -> Plan {
    Plan { program: [77.2, 0.6], ..mapped_points() }
}

fn maps() -> Access {
    let mut access = Access { opens: 1, ..Access::default() };
    access.count_mapping(&MappingCount { count: 1, bytes: GIB, ..MappingCount::default() });
    access
}

fn reads() -> Access {
    let mut access = Access { opens: 1, ..Access::default() };
    (0..543).for_each(|_| access.count_call("pread64", 4096, 4096, false));
    access
}

impl Plan {
    fn lab(&self) -> Lab {
        let mut lab = Lab::new();
        self.plant(&mut lab);
        lab
    }

    fn plant(&self, lab: &mut Lab) {
        for (at, state) in [State::Cold, State::Cached].into_iter().enumerate() {
            if !self.once {
                self.commands(lab, state, at);
            }
            let usual = if self.recorded.starts_with("mmap") { Consume::Touch } else { Consume::Sum };
            self.replay(lab, state, at, (usual, &self.replays));
            if let Some(touched) = self.touched.as_ref().filter(|_| state == State::Cached) {
                self.replay(lab, state, at, (Consume::Touch, touched));
            }
        }
        lab.record.observations = [("command/now", self.access())]
            .into_iter()
            .chain(self.switch.iter().map(|(_, access)| ("command/switch", access.clone())))
            .chain(self.other_switch.iter().map(|(_, access)| ("command/switch 2", access.clone())))
            .map(|(arm, named)| Observed { arm: arm.into(), seen: Reading::Value(observation(named)) })
            .collect();
        lab.record.advised = Some(Box::new(Advised {
            file: FILE.into(),
            group: self.group.clone(),
            states: self.states.clone(),
            fills: Vec::new(),
            given: false,
            digest: "digest".into(),
            recorder: "test".into(),
            coverage: self.coverage,
            not_seen: self.not_seen.clone(),
            recorded: self.recorded.parse::<Arm>().unwrap().name,
            reach: self.reach.clone(),
            pattern: self.pattern.clone(),
            others: Vec::new(),
            others_left_out: 0,
            all_bytes: None,
            touched_elsewhere: false,
            once: self.once,
        }));
    }

    fn access(&self) -> Access {
        if self.recorded.starts_with("mmap") { maps() } else { reads() }
    }

    fn commands(&self, lab: &mut Lab, state: State, at: usize) {
        let condition = lab.condition(Condition {
            workload: Workload::Command,
            ops: 1,
            state,
            fill: self.fill,
            ..Condition::plain(GIB)
        });
        let mut enter = |name: &str, control: bool, ms: f64| {
            let spec = Spec {
                line: format!("program --{name}"),
                name: name.into(),
                shell: None,
                prepare: None,
                cleanup: None,
                timeout_s: 5,
                compared: schema::command::Compared::Output,
            };
            let cell = lab.cell(condition, "pread");
            lab.record.cells[cell].arm = spec.arm();
            lab.record.cells[cell].control = control;
            lab.measure(cell, self.rounds, ms * MS, |_, pass: &mut Pass| {
                // In memory it is at work all the time.
                let own = if state.waits_for_device() { 0.05 * ms } else { (ms - self.system[0]).max(0.05 * ms) };
                pass.reads("user_ns", own * MS).reads("system_ns", self.system[0] * MS).reads("minor_faults", 900.0);
                (pass.tally.ops, pass.tally.bytes, pass.tally.distinct_pages) = (1, 0, None);
            });
        };
        enter("now", false, self.program[at]);
        enter("now", true, self.program[at] * self.control);
        for (name, switch) in [("switch", &self.switch), ("switch 2", &self.other_switch)] {
            if let Some((times, _)) = switch {
                enter(name, false, times[at]);
            }
        }
    }

    fn replay(&self, lab: &mut Lab, state: State, at: usize, of: (Consume, &[(&'static str, [f64; 2])])) {
        let (consume, replays) = of;
        let Pattern { accesses, bytes, .. } = self.pattern;
        let traced = Traced {
            digest: "digest".into(),
            file: 0,
            accesses,
            bytes,
            longest_bytes: 4096,
            end_bytes: GIB,
            files: 1,
            threads: self.threads,
            around_ns: None,
        };
        let condition = lab.condition(Condition {
            workload: Workload::Replay,
            consume,
            ops: accesses,
            block_bytes: 4096,
            state,
            fill: self.fill,
            threads: self.threads,
            own_work_ns: if state.waits_for_device() { self.own_work * 1_000_000 } else { 0 },
            trace: Some(traced),
            ..Condition::plain(GIB)
        });
        let (first, _) = replays[0];
        for (index, (arm, times)) in replays.iter().chain(&replays[..1]).enumerate() {
            let cell = lab.cell(condition, arm);
            lab.record.cells[cell].control = index == replays.len();
            assert!(index > 0 || *arm == first);
            let times = if index == replays.len() { times[at] * self.control } else { times[at] };
            lab.measure(cell, self.rounds, times * MS / accesses as f64, |_, pass: &mut Pass| {
                pass.reads("minor_faults", 545.0).reads("system_ns", self.system[1] * MS);
                let waits = self.waits.iter().find(|it| it.0 == *arm && state == State::Cold);
                pass.reads("voluntary_switches", waits.map_or(0.0, |it| it.1));
                let cold = if state == State::Cold { self.brought_in } else { 0.0 };
                pass.reads("device_read_bytes", cold).tally.distinct_pages = Some(self.pattern.distinct_pages);
            });
        }
    }

    fn findings(&self) -> Findings {
        self.lab().analyze()
    }

    /// Cold, and cached.
    fn advice(&self) -> [Advice; 2] {
        self.findings().advice.try_into().unwrap()
    }
}

fn observation(named: Access) -> Observation {
    Observation {
        by: Means::Ptrace,
        processes: 1,
        threads: 1,
        readers_at_once: Some(1),
        named_opened: 1,
        named,
        files: Vec::new(),
        files_left_out: 0,
        rings: 0,
        runtimes: Default::default(),
        expired: false,
        incomplete: Vec::new(),
        remarks: Vec::new(),
    }
}

#[test]
fn a_mapping_that_reads_ahead_in_vain_is_to_be_advised_otherwise() {
    let [cold, cached] = mapped_points().advice();
    assert_eq!((cold.verdict, cold.code), (AdviceVerdict::Switch, AdviceCode::M1));
    // One call does as much as another way of reading.
    assert_eq!(
        (cold.to.as_deref(), cold.effort, cold.grade),
        (Some("native/mmap+random"), Some(Effort::E1), Some(Grade::B))
    );
    assert_eq!(cold.how, Some(How::MadviseRandom));
    let (io, program) = (cold.io.unwrap(), cold.program.unwrap());
    assert!((io.median - 77.0 / 29.0).abs() < 0.1, "{io:?}");
    assert!((program.median - 80.0 / 33.7).abs() < 0.1 && program.ci_low > 2.3, "{program:?}");
    assert!(matches!(cold.because[..], [AdviceReason::BroughtIn { .. }]));
    let [once, _] = points_touched_once().advice();
    assert_eq!(once.to.as_deref(), Some("native/mmap+random"));
    assert_eq!(once.also.iter().map(|it| it.to.as_str()).collect::<Vec<_>>(), ["native/pread"]);
    // Eight percent of the time, of which nothing gains.
    assert_eq!((cached.verdict, cached.code, cached.to), (AdviceVerdict::NoDifference, AdviceCode::Ok, None));
    assert!(cached.share.unwrap().median < 0.1);
}

#[test]
fn by_calls_a_program_may_come_back_to_pages_of_which_a_mapping_shows_the_first_touch_alone() {
    let cached = |program_ms: f64| {
        let replays = vec![("mmap", [0.0, 8.0]), ("pread", [0.0, 0.9])];
        let plan = Plan { program: [0.0, program_ms], replays, states: vec![State::Cached], ..mapped_points() };
        plan.lab().analyze().advice.remove(0)
    };
    assert_eq!((cached(8.2).verdict, cached(8.2).to.as_deref()), (AdviceVerdict::Switch, Some("native/pread")));
    // In five milliseconds it may touch pages again and again, each time by a call then.
    let open = cached(13.0);
    assert_eq!(open.verdict, AdviceVerdict::Unknown);
    assert!(
        matches!(open.because[..], [AdviceReason::TouchedAgain { times, .. }] if times > 700.0),
        "{:?}",
        open.because
    );
}

/// A mapping that takes most of the program's time, cached, beside one that is populated.
fn populated(mapped_ms: f64, populated_ms: f64) -> Lab {
    let replays = vec![("mmap", [0.0, mapped_ms]), ("mmap+populate-read", [0.0, populated_ms])];
    let program = [0.0, mapped_ms + 0.2];
    Plan { program, replays, states: vec![State::Cached], ..mapped_points() }.lab()
}

fn seen(lab: &mut Lab) -> &mut Observation {
    let Reading::Value(seen) = &mut lab.record.observations[0].seen else { panic!("it was watched") };
    seen
}

#[test]
fn what_a_process_populates_is_not_mapped_in_its_children() {
    let of = |processes: u64, touched_elsewhere: bool| {
        let mut lab = populated(8.0, 1.0);
        seen(&mut lab).processes = processes;
        lab.record.advised.as_mut().unwrap().touched_elsewhere = touched_elsewhere;
        lab.analyze().advice.remove(0)
    };
    for (processes, elsewhere) in [(1, true), (2, false)] {
        assert_eq!(of(processes, elsewhere).to.as_deref(), Some("native/mmap+populate-read"));
    }
    let open = of(2, true);
    assert_eq!((open.verdict, open.settles), (AdviceVerdict::Unknown, Some(Settles::Switch)));
    assert!(matches!(open.because[..], [AdviceReason::MappedByAnother { .. }]), "{:?}", open.because);
}

#[test]
fn a_program_that_maps_a_part_of_its_file_is_not_said_to_gain_nothing_by_populating_it() {
    let of = |mapped: u64| {
        let mut lab = populated(8.0, 30.0);
        seen(&mut lab).named.mappings[0].bytes = mapped;
        lab.analyze().advice.remove(0)
    };
    assert_eq!(of(GIB).verdict, AdviceVerdict::NoDifference);
    assert_eq!(of(GIB / 4).verdict, AdviceVerdict::NoDifference, "it touches little of what it maps");
    let open = of(4 << 20);
    assert_eq!(open.verdict, AdviceVerdict::Unknown);
    let part = AdviceReason::PartMapped { bytes: 4 << 20, file_bytes: GIB };
    assert_eq!(open.because, [part]);
}

/// In 4.6 ms of its own work it may come back to its 543 pages 460,000 times, and in 0.4 ms 13,000 times.
#[test]
fn from_a_cold_start_too_calls_would_be_made_for_each_touch_of_a_page() {
    let plan = |own_ms: f64| Plan {
        program: [75.4 + own_ms, 0.4 + own_ms],
        replays: vec![
            ("mmap", [75.4, 0.4]),
            ("mmap+random", [40.0, 0.4]),
            ("pread", [29.0, 0.9]),
            ("uring", [20.0, 0.9]),
        ],
        ..mapped_points()
    };
    let names = |of: &[AdviceOption]| of.iter().map(|it| it.to.clone()).collect::<Vec<String>>();
    let [once, _] = plan(0.4).advice();
    assert_eq!(once.to.as_deref(), Some("native/pread"), "{once:?}");
    assert_eq!(names(&once.in_advance), ["native/uring"]);
    let [again, _] = plan(4.6).advice();
    assert_eq!(again.to.as_deref(), Some("native/mmap+random"), "a mapping takes the same touches");
    assert!(again.also.is_empty() && again.in_advance.is_empty(), "{again:?}");
    // By calls alone it would gain: what they would take is not known.
    let calls = Plan { replays: vec![("mmap", [75.4, 0.4]), ("pread", [29.0, 0.9])], ..plan(4.6) };
    let [open, _] = calls.advice();
    assert_eq!((open.verdict, open.settles), (AdviceVerdict::Unknown, Some(Settles::Switch)));
    assert!(matches!(open.because[..], [AdviceReason::TouchedAgain { times, .. }] if times > 700.0), "{open:?}");
    // Its own switch shows how many they are.
    let [switched, _] = Plan { switch: Some(([34.0, 5.5], reads())), ..calls }.advice();
    assert_eq!((switched.to.as_deref(), switched.grade), (Some("native/pread"), Some(Grade::A)));
}

#[test]
fn a_walk_in_order_has_the_time_to_look_at_all_bytes_before_it_comes_back_to_any() {
    let of = |in_order: u64, look_ms: f64| {
        let replays = vec![("mmap", [75.4, 0.4]), ("pread", [29.0, 0.9])];
        let pattern = Pattern { in_order, ..points() };
        let plan = Plan { program: [78.4, 3.4], replays, pattern, states: vec![State::Cold], ..mapped_points() };
        let mut lab = plan.lab();
        let looking = [("mmap", [0.0, 0.4 + look_ms]), ("pread", [0.0, 0.9 + look_ms])];
        plan.replay(&mut lab, State::Cached, 1, (Consume::Sum, &looking));
        lab.analyze().advice.remove(0).verdict
    };
    // Of its own work of 3 ms.
    assert_eq!(of(542, 2.2), AdviceVerdict::Switch);
    assert_eq!(of(542, 0.5), AdviceVerdict::Unknown);
    assert_eq!(of(3, 2.2), AdviceVerdict::Unknown, "what lies anywhere is looked at in part");
}

#[test]
fn the_low_end_of_a_gain_by_calls_allows_for_all_that_a_program_may_come_back_to() {
    let of = |cold_ms: f64| {
        let replays = vec![("mmap", [cold_ms, 0.4]), ("pread", [29.0, 0.9])];
        let plan = Plan { program: [cold_ms + 0.6, 1.0], replays, states: vec![State::Cold], ..mapped_points() };
        plan.advice_of_one()
    };
    // 0.6 ms, of which half a microsecond for each page is work with it: the rest is 33,000 touches, and calls for these take 16 ms.
    assert_eq!(of(42.0).verdict, AdviceVerdict::Unknown);
    let gains = of(77.0);
    assert_eq!(gains.to.as_deref(), Some("native/pread"));
    let gain = gains.program.unwrap();
    assert!((gain.median - 77.6 / 29.6).abs() < 0.1 && (gain.ci_low - 77.6 / 46.0).abs() < 0.1, "{gain:?}");
}

/// Its own work takes 364 ms, of which the device needs 30 more than it gets meanwhile.
#[test]
fn own_work_between_the_accesses_of_a_replay_is_none_of_its_time() {
    let plan = |read: f64, mmap: f64, own_work: u64| Plan {
        recorded: "pread",
        program: [430.0, 400.0],
        replays: vec![("pread", [read, 36.0]), ("mmap", [mmap, 36.0])],
        touched: Some(vec![("pread", [read, 36.0]), ("mmap", [mmap, 36.0])]),
        system: [36.0, 36.0],
        own_work,
        ..read_points()
    };
    let advice = |plan: Plan| {
        let findings = plan.findings();
        (findings.advice[0].clone(), findings.advice_self_check[0].clone())
    };
    let (cold, check) = advice(plan(430.0, 384.0, 364));
    assert!(check.passed && check.off.unwrap().abs() < 0.1, "{check:?}");
    assert!((cold.io_ns.unwrap().median / MS - 66.0).abs() < 1.0, "{:?}", cold.io_ns);
    // 20 of 66 ms.
    let gain = cold.program.or(cold.also.first().map(|it| it.program)).unwrap();
    assert!((gain.median - 430.0 / 384.0).abs() < 0.02, "{gain:?}");
    // Without it the replay waits for what the program does not wait for.
    let (_, check) = advice(plan(150.0, 130.0, 0));
    assert!(!check.passed && check.off.unwrap() > 2.0, "{check:?}");
}

#[test]
fn several_threads_have_as_many_times_the_time_to_come_back_to_pages() {
    // Half a microsecond of own work for each of its pages in one thread.
    let of = |threads: u32| {
        let replays = vec![("mmap", [0.0, 8.0]), ("pread", [0.0, 4.0])];
        let pattern = Pattern { accesses: 2000, distinct_pages: 2000, threads: threads.into(), ..points() };
        let states = vec![State::Cached];
        let plan = Plan { program: [0.0, 9.0], replays, pattern, threads, states, ..mapped_points() };
        let mut lab = with_own_time(plan.lab(), 9.0 * f64::from(threads) - 4.0);
        lab.record.environment.cpus = 4;
        lab.analyze().advice.remove(0)
    };
    assert_eq!(of(1).to.as_deref(), Some("native/pread"), "{:?}", of(1));
    for threads in [2, 4] {
        let open = of(threads);
        assert!(matches!(open.because[..], [AdviceReason::TouchedAgain { times, .. }] if times > 40.0), "{open:?}");
    }
}

#[test]
fn what_the_kernel_hands_to_another_descriptor_is_not_what_a_replay_reads() {
    let of = |handed_on: usize| {
        let mut lab = Plan { states: vec![State::Cached], ..cached_points() }.lab();
        let mut access = Access { opens: 1, ..Access::default() };
        for at in 0..500 {
            let call = if at < 5 * handed_on { "sendfile" } else { "pread64" };
            access.count_call(call, 4096, 4096, false);
        }
        lab.record.observations[0].seen = Reading::Value(observation(access));
        lab.analyze().advice.remove(0)
    };
    assert!(matches!(of(90).because[..], [AdviceReason::HandedOn { share }] if (share - 0.9).abs() < 0.01));
    let few = of(1).because;
    assert!(few.iter().all(|it| !matches!(it, AdviceReason::HandedOn { .. })), "{few:?}");
    // Beside a mapping of all that is reached it sends a header.
    let plan = mapped_points();
    let mut lab = plan.lab();
    let mut access = maps();
    access.count_call("sendfile", 4096, 4096, false);
    lab.record.observations[0].seen = Reading::Value(observation(access));
    let because = |of: Vec<Advice>| of.into_iter().map(|it| it.because).collect::<Vec<_>>();
    assert_eq!(because(lab.analyze().advice), because(plan.lab().analyze().advice));
}

#[test]
fn a_program_that_writes_to_copies_of_pages_is_not_what_a_replay_does() {
    for state in [State::Cached, State::Cold] {
        copies(state);
    }
}

fn copies(state: State) {
    let of = |writable: bool, shared: bool| {
        let states = if state == State::Cold { vec![state, State::Cached] } else { vec![state] };
        let mut lab = Plan { states, ..mapped_points() }.lab();
        let commands: Vec<bool> = lab.record.cells.iter().map(|it| it.arm.is_command()).collect();
        for sample in lab.record.samples.iter_mut().filter(|it| commands[it.cell]) {
            sample.readings.insert("minor_faults".into(), Reading::Value(8900.0));
        }
        let mut access = Access { opens: 1, ..Access::default() };
        access.count_mapping(&MappingCount { writable, shared, count: 1, bytes: GIB, ..MappingCount::default() });
        lab.record.observations[0].seen = Reading::Value(observation(access));
        let advice = lab.analyze().advice;
        advice.into_iter().find(|it| it.state == state).unwrap().because
    };
    assert_eq!(of(true, false), [AdviceReason::WritesToCopies], "{state}");
    assert!(!of(false, false).contains(&AdviceReason::WritesToCopies));
    assert!(!of(true, true).contains(&AdviceReason::WritesToCopies), "stores to the file itself are no copies");
}

#[test]
fn each_fill_has_its_advice_and_a_cold_start_is_held_against_the_sequential_one() {
    let plan = mapped_points();
    let mut lab = Lab::new();
    // In folios of one page a mapping takes longer than calls. It is measured first.
    let small = Plan { fill: Some(Fill::Random), program: [0.0, 8.4], ..mapped_points() };
    let replays = vec![("mmap", [0.0, 8.0]), ("pread", [0.0, 0.9]), ("mmap+random", [0.0, 8.0])];
    small.commands(&mut lab, State::Cached, 1);
    small.replay(&mut lab, State::Cached, 1, (Consume::Touch, &replays));
    plan.plant(&mut lab);
    let findings = lab.analyze();
    let of = |it: &Advice| (it.state, it.fill, it.verdict, it.to.clone());
    let to = |arm: &str| Some(arm.to_string());
    let expected = [
        (State::Cold, None, AdviceVerdict::Switch, to("native/mmap+random")),
        (State::Cached, Some(Fill::Random), AdviceVerdict::Switch, to("native/pread")),
        (State::Cached, Some(Fill::Sequential), AdviceVerdict::NoDifference, None),
    ];
    assert_eq!(findings.advice.iter().map(of).collect::<Vec<_>>(), expected);
    // As if the other fill were not there.
    let [share, alone] = [&findings.advice[0], &plan.advice()[0]].map(|it| it.share.unwrap().median);
    assert!((share - alone).abs() < 0.01, "{share} and {alone}");
    let checks: Vec<_> = findings.advice_self_check.iter().map(|it| (it.fill, it.passed)).collect();
    assert_eq!(checks, [(None, true), (Some(Fill::Random), true), (Some(Fill::Sequential), true)]);
}

#[test]
fn what_the_program_takes_longer_cold_is_what_its_replay_takes_longer() {
    let checks = mapped_points().findings().advice_self_check;
    assert_eq!(checks.iter().map(|it| it.by).collect::<Vec<_>>(), [CheckedBy::ColdLessCached, CheckedBy::Faults]);
    assert!(checks.iter().all(|it| it.passed), "{checks:?}");
    assert!(checks[0].off.unwrap().abs() < 0.05);
}

#[test]
fn a_replay_that_takes_a_third_less_than_the_program_advises_nothing() {
    let mut plan = mapped_points();
    plan.program = [120.0, 5.0];
    let [cold, _] = plan.advice();
    assert_eq!((cold.verdict, cold.to), (AdviceVerdict::Unknown, None));
    assert!(
        matches!(cold.because[..], [AdviceReason::SelfCheckFailed { off, .. }] if off < -0.3),
        "{:?}",
        cold.because
    );
}

#[test]
fn a_replay_that_takes_longer_than_its_program_is_none_of_it() {
    // Sixteen threads have as much system time as their replay in one, and take less.
    for arm in [130.0, 110.0] {
        let plan = Plan {
            recorded: "pread",
            program: [300.0, 30.0],
            replays: vec![("pread", [420.0, 150.0]), ("mmap", [420.0, arm])],
            touched: Some(vec![("pread", [420.0, 150.0]), ("mmap", [420.0, arm])]),
            pattern: Pattern { threads: 16, ..points() },
            system: [140.0, 140.0],
            reach: Reach::Calls,
            ..mapped_points()
        };
        let mut lab = plan.lab();
        let readers = Observation { threads: 16, readers_at_once: Some(16), ..observation(reads()) };
        lab.record.observations[0].seen = Reading::Value(readers);
        let findings = lab.analyze();
        let (cached, check) = (&findings.advice[1], &findings.advice_self_check[1]);
        assert_eq!((cached.verdict, cached.settles), (AdviceVerdict::Unknown, Some(Settles::Switch)), "{cached:?}");
        let [AdviceReason::LongerThanProgram { times, threads: 16 }] = cached.because[..] else { panic!("{cached:?}") };
        assert!((times - 5.0).abs() < 0.1, "{times}");
        assert_eq!((cached.share, cached.faster_at_most), (None, None));
        assert_eq!((check.by, check.passed), (CheckedBy::Time, false));
        assert!((check.off.unwrap() - 4.0).abs() < 0.1, "{check:?}");
    }
}

#[test]
fn a_replay_that_looks_at_more_than_the_program_may_take_longer() {
    let plan = |touch: f64| Plan {
        program: [34.0, 8.0],
        replays: vec![("pread", [29.0, 12.0]), ("mmap", [77.0, 14.0])],
        touched: Some(vec![("pread", [29.0, touch]), ("mmap", [77.0, 14.0])]),
        ..cached_points()
    };
    let findings = plan(6.0).findings();
    assert!(findings.advice_self_check[1].passed, "{:?}", findings.advice_self_check);
    assert_eq!(findings.advice[1].verdict, AdviceVerdict::NoDifference, "{:?}", findings.advice[1]);
    let [_, cached] = plan(8.8).advice();
    assert!(cached.share.unwrap().ci_high <= 1.0, "{:?}", cached.share);
}

#[test]
fn a_switch_that_gains_is_advised_although_the_replay_is_not_the_program() {
    let mut plan = mapped_points();
    plan.program = [120.0, 5.0];
    plan.switch = Some(([40.0, 5.0], reads()));
    let [cold, _] = plan.advice();
    assert_eq!((cold.verdict, cold.grade, cold.settles), (AdviceVerdict::Switch, Some(Grade::A), None));
    assert!(
        matches!(cold.because[..], [AdviceReason::SwitchMeasured, AdviceReason::SelfCheckFailed { .. }]),
        "{:?}",
        cold.because
    );
    plan.switch = Some(([119.0, 5.0], reads()));
    assert_eq!(plan.advice()[0].verdict, AdviceVerdict::Unknown, "it gains nothing");
}

#[test]
fn a_gain_is_large_where_there_was_no_time_to_measure_one_arm_twice() {
    let verdict = |pread_ms: f64| {
        let mut plan = points_touched_once();
        plan.replays = vec![("mmap", [77.0, 0.4]), ("pread", [pread_ms, 0.9])];
        let mut record = plan.lab().record;
        for (at, cell) in record.cells.iter_mut().enumerate().filter(|it| it.1.control) {
            cell.skipped = Some(Skip::LeftToFaster { times: 1.0, fastest: 0.2 });
            record.samples.retain(|it| it.cell != at || it.round == 0);
        }
        let cold = analysis::analyze(&record).advice[0].clone();
        (cold.verdict, matches!(cold.because[..], [AdviceReason::WithinAnyNoise { times: 1.5, .. }]))
    };
    assert_eq!([60.0, 20.0].map(verdict), [(AdviceVerdict::Unknown, true), (AdviceVerdict::Switch, false)]);
}

#[test]
fn a_gain_that_one_arm_measured_twice_differs_by_is_not_advised() {
    let mut plan = points_touched_once();
    plan.replays = vec![("mmap", [77.0, 0.4]), ("pread", [60.0, 0.9])];
    assert_eq!(plan.advice()[0].verdict, AdviceVerdict::Switch);
    plan.control = 3.0;
    let [cold, _] = plan.advice();
    assert_eq!(
        (cold.verdict, cold.settles),
        (AdviceVerdict::Unknown, Some(Settles::LargerBudget { seconds: Some(120) }))
    );
    assert!(
        matches!(cold.because[..], [AdviceReason::WithinNoise { ci_low, times, .. }] if ci_low > 1.0 && times > 2.5),
        "{:?}",
        cold.because
    );
    // Nor is its own switch, whose interval alone would not be open.
    plan.switch = Some(([50.0, 0.6], reads()));
    let [cold, _] = plan.advice();
    assert!(
        matches!(cold.because[..], [AdviceReason::WithinNoise { ci_low, .. }] if ci_low > 1.3),
        "{:?}",
        cold.because
    );
}

#[test]
fn the_programs_own_switch_is_the_least_effort_and_is_held_against_the_prediction() {
    let mut plan = mapped_points();
    plan.switch = Some(([34.0, 5.5], reads()));
    let [cold, _] = plan.advice();
    assert_eq!((cold.verdict, cold.effort, cold.grade), (AdviceVerdict::Switch, Some(Effort::E0), Some(Grade::A)));
    assert_eq!(cold.to.as_deref(), Some("native/pread"));
    assert_eq!(cold.how, Some(How::Switch { line: "program --switch".into() }));
    let [switched] = &cold.switched[..] else { panic!("{:?}", cold.switched) };
    assert_eq!(switched.like.as_deref(), Some("native/pread"));
    assert!((switched.real.unwrap().median - 80.0 / 34.0).abs() < 0.1);
    assert!((switched.predicted.unwrap().median - 80.0 / 33.7).abs() < 0.1);
}

#[test]
fn another_file_that_a_switch_reads_was_in_the_page_cache() {
    let mut plan = mapped_points();
    plan.switch = Some(([34.0, 5.5], reads()));
    let mut lab = plan.lab();
    let Reading::Value(seen) = &mut lab.record.observations[1].seen else { panic!() };
    seen.files.push(FileAccess { path: "/data/index".into(), named: false, access: reads() });
    let [cold, cached]: [Advice; 2] = lab.analyze().advice.try_into().unwrap();
    let caveat = AdviceCaveat::OtherFile { path: "/data/index".into(), bytes: 543 * 4096 };
    assert!(cold.caveats.contains(&caveat), "{:?}", cold.caveats);
    assert!(!cached.caveats.contains(&caveat), "it was cached, and so were all");
    // The command reads it as well as its switch does.
    let index = lab.record.observations[1].seen.value().unwrap().files.clone();
    let Reading::Value(seen) = &mut lab.record.observations[0].seen else { panic!() };
    seen.files = index;
    assert!(!lab.analyze().advice[0].caveats.contains(&caveat));
}

/// Points by calls, of which read-ahead brings in three times as much.
fn read_points() -> Plan {
    Plan {
        recorded: "pread",
        replays: vec![
            ("pread", [77.0, 0.4]),
            ("pread+random", [29.0, 0.4]),
            ("pread+sequential", [90.0, 0.4]),
            ("mmap+random", [29.0, 0.4]),
        ],
        reach: Reach::Calls,
        brought_in: 3.0 * 543.0 * 4096.0,
        ..mapped_points()
    }
}

#[test]
fn calls_that_bring_in_too_much_are_to_be_advised_by_one_line() {
    let [cold, _] = read_points().advice();
    assert_eq!((cold.verdict, cold.code), (AdviceVerdict::Switch, AdviceCode::R3));
    assert_eq!((cold.to.as_deref(), cold.effort), (Some("native/pread+random"), Some(Effort::E1)));
    assert_eq!(cold.how, Some(How::FadviseRandom));
    assert!(matches!(cold.because[..], [AdviceReason::BroughtIn { .. }]));
    assert_eq!(cold.also.iter().map(|it| it.to.as_str()).collect::<Vec<_>>(), ["native/mmap+random"]);
}

#[test]
fn what_to_know_of_the_other_way_of_reading_is_said_once_for_all_that_is_named() {
    let directions = |it: &Advice| -> Vec<AdviceCaveat> {
        let of = |it: &&AdviceCaveat| matches!(it, AdviceCaveat::TowardsMapping | AdviceCaveat::TowardsCalls);
        it.caveats.iter().filter(of).cloned().collect()
    };
    // The hint is the advice, and another option turns.
    let [to_calls, cached] = points_touched_once().advice();
    assert_eq!(
        (to_calls.to.as_deref(), directions(&to_calls)),
        (Some("native/mmap+random"), vec![AdviceCaveat::TowardsCalls])
    );
    assert_eq!((cached.to.clone(), directions(&cached)), (None, vec![]));
    assert_eq!(directions(&read_points().advice()[0]), [AdviceCaveat::TowardsMapping]);
    // Both do.
    let mut plan = read_points();
    plan.replays = vec![("pread", [77.0, 0.4]), ("mmap", [35.0, 0.4]), ("mmap+random", [29.0, 0.4])];
    let [both, _] = plan.advice();
    assert_eq!((both.also.len(), directions(&both)), (1, vec![AdviceCaveat::TowardsMapping]), "{both:?}");
    // None does.
    plan.replays = vec![("pread", [77.0, 0.4]), ("pread+random", [29.0, 0.4])];
    assert_eq!(directions(&plan.advice()[0]), []);
    // As its own switch does that no replay explains.
    let switched = Plan { switch: Some(([34.0, 4.0], reads())), ..mapped_points() };
    let [_, alone] = switched.advice();
    assert_eq!(
        (&alone.because[..], directions(&alone)),
        (&[AdviceReason::SwitchAlone][..], vec![AdviceCaveat::TowardsCalls])
    );
}

#[test]
fn a_switch_that_gives_advice_itself_is_like_the_arm_that_does() {
    let mut plan = read_points();
    let hints = [("posix_fadvise(POSIX_FADV_RANDOM)".to_string(), 1)].into();
    plan.switch = Some(([34.0, 5.5], Access { hints, ..reads() }));
    let [cold, _] = plan.advice();
    assert_eq!((cold.to.as_deref(), cold.effort), (Some("native/pread+random"), Some(Effort::E0)));
    let [switched] = &cold.switched[..] else { panic!("{:?}", cold.switched) };
    assert_eq!(switched.like.as_deref(), Some("native/pread+random"));
}

#[test]
fn a_measured_switch_that_gains_more_than_any_replay_is_advised() {
    let mut plan = mapped_points();
    plan.replays = vec![("mmap", [77.0, 0.4]), ("pread", [77.0, 0.9]), ("mmap+random", [60.0, 0.4])];
    plan.switch = Some(([34.0, 5.0], reads()));
    let [cold, _] = plan.advice();
    assert_eq!((cold.effort, cold.grade), (Some(Effort::E0), Some(Grade::A)), "{cold:?}");
    assert_eq!(cold.because, [AdviceReason::SwitchAsGood]);
    assert!((cold.program.unwrap().median - 80.0 / 34.0).abs() < 0.1);
    assert_eq!(cold.also.iter().map(|it| it.to.as_str()).collect::<Vec<_>>(), ["native/mmap+random"]);
}

#[test]
fn a_switch_of_which_it_is_open_whether_it_gains_stands_before_its_replay() {
    let mut plan = Plan { replays: vec![("mmap", [77.0, 0.4]), ("pread", [71.0, 0.9])], ..points_touched_once() };
    let [cold, _] = plan.advice();
    assert_eq!((cold.verdict, cold.to.as_deref()), (AdviceVerdict::Switch, Some("native/pread")));
    plan.switch = Some(([75.7, 0.6], reads()));
    let [cold, _] = plan.advice();
    assert_eq!(cold.verdict, AdviceVerdict::Unknown);
    assert!(matches!(cold.because[..], [AdviceReason::SwitchOpen { .. }]), "{:?}", cold.because);
    // One that is slower for certain leaves nothing open.
    plan.switch = Some(([78.5, 0.6], reads()));
    let [cold, _] = plan.advice();
    assert_eq!(cold.verdict, AdviceVerdict::NoDifference, "{:?}", cold.because);
    // However much its replay leaves untold.
    let replays = vec![("mmap", [77.0, 0.4]), ("pread", [71.0, 0.9])];
    let plan = |switch| Plan { replays: replays.clone(), switch, ..mapped_points() };
    let untold = plan(None).advice()[0].because.clone();
    assert!(matches!(untold[..], [AdviceReason::TouchedAgain { .. }]), "{untold:?}");
    let [cold, _] = plan(Some(([81.6, 5.0], reads()))).advice();
    assert_eq!(cold.verdict, AdviceVerdict::NoDifference, "{:?}", cold.because);
}

/// Of a program whose own work takes 14 ms, less than half a microsecond for each of its pages.
#[test]
fn an_arm_that_waits_more_often_may_have_the_own_work_take_longer() {
    let plan = |waits| Plan {
        program: [92.0, 14.4],
        replays: vec![("mmap", [78.0, 0.4]), ("pread", [29.0, 0.9])],
        waits,
        pattern: Pattern { accesses: 30_000, bytes: 30_000 * 4096, distinct_pages: 30_000, ..points() },
        ..mapped_points()
    };
    let [cold, _] = plan(&[("mmap", 8000.0), ("pread", 8000.0)]).advice();
    assert!(cold.program.unwrap().ci_low > 2.0, "{:?}", cold.program);
    assert!(!cold.caveats.iter().any(|it| matches!(it, AdviceCaveat::MoreWaits { .. })));
    let [cold, _] = plan(&[("mmap", 8000.0), ("pread", 30_000.0)]).advice();
    let gain = cold.program.unwrap();
    assert!(gain.median > 2.0 && gain.ci_low < 1.5 && gain.ci_low > 1.3, "{gain:?}");
    assert!(cold.caveats.iter().any(|it| matches!(it, AdviceCaveat::MoreWaits { .. })), "{:?}", cold.caveats);
}

/// 600 queries by calls: cold the replay waits 30 ms, and the program takes 56, of which it works 25.
fn working_longer_after_waits(program_works: f64) -> Findings {
    let plan = Plan {
        recorded: "pread",
        program: [56.0, 10.0],
        replays: vec![("pread", [31.0, 1.0]), ("mmap", [47.0, 0.5]), ("pread+random", [20.0, 1.0])],
        waits: &[("pread", 600.0), ("mmap", 150.0), ("pread+random", 600.0)],
        reach: Reach::Calls,
        ..mapped_points()
    };
    let mut record = plan.lab().record;
    for sample in &mut record.samples {
        let cell = &record.cells[sample.cell];
        let is_cold = record.conditions[cell.condition].state == State::Cold;
        let user_ms = match (cell.arm.is_command(), is_cold) {
            (true, true) => program_works,
            (true, false) => 10.0,
            (false, _) => 1.0,
        };
        sample.readings.insert("user_ns".into(), Reading::Value(user_ms * MS));
        sample.readings.insert("system_ns".into(), Reading::Value(0.0));
    }
    analysis::analyze(&record)
}

#[test]
fn a_program_that_works_longer_after_each_wait_is_checked_by_what_it_waits() {
    let findings = working_longer_after_waits(25.0);
    let cold = &findings.advice[0];
    let self_check = &findings.advice_self_check[0];
    assert_eq!((self_check.by, self_check.passed), (CheckedBy::Waits, true), "{self_check:?}");
    // A hint that leaves as many waits gains what its replay does, and no share of the work after them.
    assert_eq!(cold.to.as_deref(), Some("native/pread+random"), "{cold:?}");
    assert!((cold.program.unwrap().median - 56.0 / 45.0).abs() < 0.02, "{:?}", cold.program);
    // It waits for something else.
    let findings = working_longer_after_waits(10.0);
    let self_check = &findings.advice_self_check[0];
    assert_eq!((self_check.by, self_check.passed), (CheckedBy::ColdLessCached, false), "{self_check:?}");
    assert!(matches!(findings.advice[0].because[..], [AdviceReason::SelfCheckFailed { .. }]));
}

#[test]
fn a_switch_that_gains_nothing_contradicts_the_replay() {
    let mut plan = Plan { switch: Some(([79.0, 0.6], reads())), ..points_touched_once() };
    // What contradicts one arm says nothing of another.
    let [cold, _] = plan.advice();
    assert_eq!(cold.to.as_deref(), Some("native/mmap+random"));
    plan.replays.retain(|it| it.0 != "mmap+random");
    let [cold, _] = plan.advice();
    assert_eq!(cold.verdict, AdviceVerdict::Unknown);
    assert!(matches!(cold.because[..], [AdviceReason::SwitchContradicts { .. }]), "{:?}", cold.because);
}

#[test]
fn a_switch_that_gains_less_than_predicted_is_advised_by_what_was_measured() {
    let plan = Plan { switch: Some(([60.0, 0.6], reads())), ..points_touched_once() };
    let [cold, _] = plan.advice();
    assert_eq!((cold.to.as_deref(), cold.effort, cold.grade), (Some("native/pread"), Some(Effort::E0), Some(Grade::A)));
    assert!((cold.program.unwrap().median - 77.2 / 60.0).abs() < 0.03);
    assert!(cold.caveats.contains(&AdviceCaveat::SwitchApart));
    // The replay of another arm is as doubtful.
    assert_eq!(cold.also.iter().map(|it| it.grade).collect::<Vec<_>>(), [Grade::C]);
}

#[test]
fn a_switch_to_calls_may_gain_as_little_as_the_own_work_would_take_by_calls() {
    // Work of 5 ms on 543 pages may be touches, each of which is a call by the switch.
    let [cold, _] = Plan { switch: Some(([160.0, 86.0], reads())), ..mapped_points() }.advice();
    let [switched] = &cold.switched[..] else { panic!("{:?}", cold.switched) };
    let (real, predicted) = (switched.real.unwrap(), switched.predicted.unwrap());
    assert!(real.median < 0.6 && predicted.median > 2.0, "{real:?} {predicted:?}");
    assert!(predicted.ci_low < real.median, "{real:?} {predicted:?}");
    assert!(!cold.caveats.contains(&AdviceCaveat::SwitchApart), "{:?}", cold.caveats);
}

#[test]
fn a_switch_that_gains_where_no_replay_does_is_advised_all_the_same() {
    let mut plan = mapped_points();
    plan.switch = Some(([34.0, 4.0], reads()));
    let [_, cached] = plan.advice();
    assert_eq!(
        (cached.verdict, cached.effort, cached.grade),
        (AdviceVerdict::Switch, Some(Effort::E0), Some(Grade::A))
    );
    assert_eq!(cached.because, [AdviceReason::SwitchAlone]);
}

#[test]
fn of_several_switches_the_one_that_gains_most_is_advised() {
    let line = |it: &Advice| it.how.clone();
    let second = Some(How::Switch { line: "program --switch 2".into() });
    // Both do what one arm does; the first gains less, or nothing.
    for first in [60.0, 79.0] {
        let mut plan = mapped_points();
        plan.switch = Some(([first, 5.0], reads()));
        plan.other_switch = Some(([34.0, 5.0], reads()));
        let [cold, _] = plan.advice();
        assert_eq!((cold.verdict, cold.grade, line(&cold)), (AdviceVerdict::Switch, Some(Grade::A), second.clone()));
        assert!((cold.program.unwrap().median - 80.0 / 34.0).abs() < 0.1, "{:?}", cold.program);
    }
    // The first does what an arm does; the second does what none does, or what another one does.
    let mut otherwise = maps();
    otherwise.hints.insert("madvise(MADV_SEQUENTIAL)".into(), 1);
    for (real, is_second) in [(40.0, true), (69.4, false)] {
        let mut plan = points_touched_once();
        plan.switch = Some(([69.5, 0.6], reads()));
        plan.other_switch = Some(([real, 0.6], otherwise.clone()));
        let [cold, _] = plan.advice();
        assert_eq!((cold.verdict, cold.grade), (AdviceVerdict::Switch, Some(Grade::A)));
        assert_eq!(line(&cold) == second, is_second, "{cold:?}");
        if is_second {
            assert_eq!((&cold.because[..], &cold.to), (&[AdviceReason::SwitchGainsMost][..], &None));
            assert_eq!(cold.also[0].how, How::Switch { line: "program --switch".into() });
        }
    }
    // No replay gains.
    let mut plan = mapped_points();
    plan.switch = Some(([34.0, 4.8], reads()));
    plan.other_switch = Some(([34.0, 2.0], reads()));
    let [_, cached] = plan.advice();
    assert_eq!((&cached.because[..], line(&cached)), (&[AdviceReason::SwitchAlone][..], second));
}

#[test]
fn a_switch_that_does_what_no_arm_does_has_no_prediction() {
    let mut plan = mapped_points();
    let mut access = maps();
    access.hints.insert("madvise(MADV_SEQUENTIAL)".into(), 1);
    plan.switch = Some(([40.0, 5.0], access));
    let [cold, _] = plan.advice();
    assert_eq!((cold.switched[0].like.clone(), cold.switched[0].predicted), (None, None));
    assert!(cold.switched[0].real.unwrap().median > 1.9);
}

/// The same points by pread; a mapping with advice takes so many milliseconds of them cold.
fn calls_by_points(advised_ms: f64) -> Plan {
    Plan {
        recorded: "pread",
        program: [34.0, 5.5],
        replays: vec![("pread", [29.0, 0.9]), ("mmap", [77.0, 0.85]), ("mmap+random", [advised_ms, 0.88])],
        reach: Reach::Calls,
        brought_in: 560.0 * 4096.0,
        system: [4.0, 3.0],
        ..mapped_points()
    }
}

#[test]
fn reads_that_lie_anywhere_are_left_alone_where_a_mapping_is_slower() {
    for advice in calls_by_points(29.0).advice() {
        assert_eq!((advice.verdict, advice.code), (AdviceVerdict::NoDifference, AdviceCode::Ok), "{advice:?}");
        assert!(matches!(advice.because[..], [AdviceReason::BestGains { most, .. }] if most < 1.02), "{advice:?}");
    }
}

#[test]
fn threads_that_spin_while_another_one_reads_do_not_make_the_file_a_small_share() {
    let advised = |plan: Plan, state: State, threads: f64| {
        let mut lab = plan.lab();
        let commands: Vec<bool> = lab.record.cells.iter().map(|it| it.arm.is_command()).collect();
        for sample in lab.record.samples.iter_mut().filter(|it| commands[it.cell]) {
            let schema::record::Outcome::Ok { phases, .. } = &sample.outcome else { unreachable!() };
            let all_ns = phases.total_ns() as f64 * threads;
            for (name, value) in [("user_ns", all_ns), ("system_ns", 0.0), ("threads_at_once", threads)] {
                sample.readings.insert(name.into(), Reading::Value(value));
            }
        }
        let of_state = lab.analyze().advice.into_iter().find(|it| it.state == state).unwrap();
        (of_state.because.iter().any(|it| matches!(it, AdviceReason::SmallShare { .. })), of_state.because)
    };
    let (is_small, because) = advised(calls_by_points(12.0), State::Cold, 64.0);
    assert!(!is_small, "it takes 34 ms cold and 5.5 cached: {because:?}");
    let (is_small, because) = advised(cached_points(), State::Cached, 64.0);
    assert!(!is_small, "its replay takes 4.2 of its 8.7 ms: {because:?}");
}

#[test]
fn a_program_that_hardly_reaches_for_its_file_has_nothing_to_gain() {
    let mut plan = mapped_points();
    plan.program = [2000.0, 1926.0];
    let [cold, cached] = plan.advice();
    for advice in [cold, cached] {
        assert_eq!(advice.verdict, AdviceVerdict::NoDifference, "{:?}", advice.because);
        assert!(matches!(advice.because[..], [AdviceReason::SmallShare { share }] if share <= 0.05));
        assert!(advice.faster_at_most.unwrap() < 1.06);
    }
}

#[test]
fn a_switch_that_gains_no_more_than_the_small_share_of_the_file_is_not_said_to_change_more() {
    let mut plan = calls_by_points(29.0);
    (plan.program, plan.system) = ([100.0, 20.0], [4.0, 0.7]);
    plan.switch = Some(([99.0, 19.4], maps()));
    let mut record = plan.lab().record;
    record.environment.tick_ns = Reading::Value(1000);
    for sample in record.samples.iter_mut().filter(|it| record.cells[it.cell].arm.is_command()) {
        let Outcome::Ok { phases, .. } = &sample.outcome else { unreachable!() };
        let user_ns = phases.total_ns() as f64 * 0.99;
        for (name, value) in [("user_ns", user_ns), ("system_ns", user_ns / 99.0), ("threads_at_once", 1.0)] {
            sample.readings.insert(name.into(), Reading::Value(value));
        }
    }
    let cached = analysis::analyze(&record).advice.into_iter().find(|it| it.state == State::Cached).unwrap();
    assert_eq!(cached.verdict, AdviceVerdict::Switch, "{cached:?}");
    assert!(
        matches!(cached.because[..], [AdviceReason::SwitchAsGood, AdviceReason::SmallShare { .. }]),
        "{:?}",
        cached.because
    );
}

#[test]
fn a_program_whose_calls_cost_more_than_its_device_is_to_map_the_file_cold_too() {
    let plan = Plan {
        recorded: "pread",
        program: [100.0, 97.0],
        replays: vec![("pread", [60.0, 57.0]), ("mmap", [13.0, 10.0])],
        system: [60.0, 57.0],
        reach: Reach::Calls,
        brought_in: 560.0 * 4096.0,
        ..mapped_points()
    };
    let [cold, _] = plan.advice();
    assert_eq!((cold.verdict, cold.to.as_deref()), (AdviceVerdict::Switch, Some("native/mmap")), "{cold:?}");
    assert!((cold.program.unwrap().median - 100.0 / 53.0).abs() < 0.1, "{:?}", cold.program);
    // Without its file it would take forty of a hundred.
    assert!((cold.share.unwrap().median - 0.6).abs() < 0.02, "{:?}", cold.share);
    assert!(cold.faster_at_most.unwrap() >= cold.program.unwrap().median);
}

#[test]
fn no_method_gains_more_than_the_most_that_the_share_of_the_file_may_be() {
    let advice = mapped_points().advice();
    let [_, cached] = advice;
    // Its check is from one side: the program has 900 faults, and its replay 545.
    let most = cached.share.unwrap().ci_high * 900.0 / 545.0;
    assert!((cached.faster_at_most.unwrap() - 1.0 / (1.0 - most)).abs() < 1e-9, "{:?}", cached.faster_at_most);
}

#[test]
fn a_program_that_takes_no_longer_cold_than_cached_needs_no_check() {
    let mut plan = mapped_points();
    plan.program = [2000.0, 2004.0];
    plan.replays = vec![("mmap", [4.0, 0.4]), ("pread", [2.0, 0.9])];
    for advice in plan.advice() {
        assert_eq!(advice.verdict, AdviceVerdict::NoDifference, "{:?}", advice.because);
    }
}

#[test]
fn what_gains_without_a_rule_is_said_with_less_certainty() {
    let plan = Plan {
        recorded: "pread",
        program: [60.0, 30.0],
        replays: vec![("pread", [52.0, 22.0]), ("mmap", [45.0, 12.0])],
        reach: Reach::Calls,
        brought_in: 560.0 * 4096.0,
        ..mapped_points()
    };
    let mut lab = plan.lab();
    // As much system time as the calls of the replay.
    let is_command = |cell: usize, lab: &Lab| lab.record.cells[cell].arm.is_command();
    for at in 0..lab.record.samples.len() {
        let command = is_command(lab.record.samples[at].cell, &lab);
        let ns = if command { 22.0 * MS } else { 20.0 * MS };
        lab.record.samples[at].readings.insert("system_ns".into(), Reading::Value(ns));
    }
    let cached = lab.analyze().advice.remove(1);
    assert_eq!(
        (cached.verdict, cached.code, cached.grade),
        (AdviceVerdict::Switch, AdviceCode::Unknown, Some(Grade::C))
    );
    assert_eq!((cached.how, cached.effort), (Some(How::Mapping), Some(Effort::E2)));
}

/// Small reads from the page cache: a mapping gains where little of each is looked at, and loses where all is.
fn cached_points() -> Plan {
    Plan {
        recorded: "pread",
        program: [34.0, 8.7],
        replays: vec![("pread", [29.0, 4.2]), ("mmap", [77.0, 4.7])],
        reach: Reach::Calls,
        brought_in: 560.0 * 4096.0,
        touched: Some(vec![("pread", [29.0, 3.7]), ("mmap", [77.0, 1.2])]),
        ..mapped_points()
    }
}

#[test]
fn a_program_that_may_read_in_ways_that_were_not_seen_is_not_judged() {
    let plan = mapped_points();
    let with = |change: &dyn Fn(&mut Observation)| {
        let mut lab = plan.lab();
        let Reading::Value(seen) = &mut lab.record.observations[0].seen else { panic!("it was seen") };
        change(seen);
        lab.analyze().advice
    };
    for advice in with(&|seen| seen.rings = 1) {
        assert_eq!(
            (advice.verdict, &advice.because[..]),
            (AdviceVerdict::Unknown, &[AdviceReason::Rings { rings: 1 }][..])
        );
        assert_eq!(advice.faster_at_most, None);
    }
    for advice in with(&|seen| seen.incomplete = vec!["it was in a hurry".into()]) {
        assert!(matches!(advice.because[..], [AdviceReason::NotAllSeen { .. }]), "{:?}", advice.because);
    }
}

#[test]
fn a_command_that_was_not_seen_to_do_what_a_trace_has_is_not_judged_by_it() {
    let with = |is_given, seen: Reading<Observation>| {
        let mut lab = mapped_points().lab();
        lab.record.advised.as_mut().unwrap().given = is_given;
        lab.record.observations[0].seen = seen;
        lab.analyze().advice.remove(0)
    };
    // It opens the file, and looks at its size.
    for is_given in [true, false] {
        let opened = observation(Access { opens: 1, ..Access::default() });
        assert_eq!(with(is_given, Reading::Value(opened)).because, [AdviceReason::OtherReach]);
    }
    let unwatched = || Reading::Unavailable { unavailable: "no".into() };
    for is_given in [true, false] {
        let unseen = with(is_given, unwatched());
        assert_eq!((unseen.verdict, &unseen.because[..]), (AdviceVerdict::Unknown, &[AdviceReason::Unwatched][..]));
    }
}

#[test]
fn a_trace_of_other_calls_of_as_many_bytes_is_of_another_run() {
    let of = |is_given: bool, seen: &dyn Fn(&mut Access)| {
        let mut lab = read_points().lab();
        lab.record.advised.as_mut().unwrap().given = is_given;
        let mut access = Access { opens: 1, ..Access::default() };
        seen(&mut access);
        lab.record.observations[0].seen = Reading::Value(observation(access));
        lab.analyze().advice.remove(0)
    };
    let calls = |count: u64, bytes: u64, in_order: bool| {
        move |it: &mut Access| (0..count).for_each(|_| it.count_call("pread64", bytes, bytes, in_order))
    };
    let is_other = |it: Advice| it.because == [AdviceReason::OtherReach];
    assert_eq!(of(true, &calls(543, 4096, false)).verdict, AdviceVerdict::Switch);
    assert!(is_other(of(true, &calls(543, 4096, true))), "in order, and the trace lies anywhere");
    assert!(is_other(of(true, &calls(543 * 4, 1024, false))), "smaller ones");
    assert!(!is_other(of(false, &calls(543, 4096, true))), "it was recorded itself");
    let twice = |it: &mut Access| {
        it.opens = 2;
        (0..543).for_each(|_| it.count_call("pread64", 4096, 4096, true));
    };
    assert!(!is_other(of(true, &twice)), "each of two descriptors is read in order, and the trace has them by turns");
    // Each opening ends with a read that finds the end.
    let opened = |it: &mut Access| {
        it.opens = 300;
        (0..543).for_each(|_| it.count_call("pread64", 4096, 4096, false));
        (0..300).for_each(|_| it.count_call("pread64", 4096, 0, false));
    };
    assert_eq!(of(true, &opened).verdict, AdviceVerdict::Switch);
}

#[test]
fn a_trace_of_touches_is_of_this_run_where_its_replay_takes_as_long_cold() {
    let of = |plan: Plan| {
        let mut lab = plan.lab();
        lab.record.advised.as_mut().unwrap().given = true;
        lab.analyze().advice
    };
    let verdicts: Vec<_> = of(mapped_points()).iter().map(|it| it.verdict).collect();
    assert_eq!(verdicts, [AdviceVerdict::Switch, AdviceVerdict::NoDifference]);
    for advice in of(Plan { program: [120.0, 5.0], ..mapped_points() }) {
        assert_eq!((advice.verdict, advice.share), (AdviceVerdict::Unknown, None));
        assert_eq!(advice.because, [AdviceReason::TouchesUnwatched]);
    }
}

#[test]
fn where_it_depends_on_how_much_is_looked_at_only_the_programs_own_switch_tells() {
    let mut plan = cached_points();
    let [_, cached] = plan.advice();
    assert_eq!(cached.verdict, AdviceVerdict::Unknown);
    assert!(matches!(cached.because[..], [AdviceReason::DependsOnUse { .. }]), "{:?}", cached.because);
    plan.switch = Some(([100.0, 5.6], maps()));
    let [_, cached] = plan.advice();
    let [now, gain] = [cached.io_ns, cached.io].map(|it| it.unwrap().median);
    assert!((now / MS - 3.7).abs() < 0.1 && (gain - 3.7 / 1.2).abs() < 0.2, "of one replay: {now} by {gain}");
    assert_eq!(
        (cached.verdict, cached.effort, cached.grade),
        (AdviceVerdict::Switch, Some(Effort::E0), Some(Grade::A))
    );
    assert_eq!(cached.to.as_deref(), Some("native/mmap"));
    plan.switch = Some(([100.0, 9.5], maps()));
    let [_, cached] = plan.advice();
    assert_eq!(cached.verdict, AdviceVerdict::NoDifference, "its switch gains nothing: {:?}", cached.because);
    let [switched] = &cached.switched[..] else { panic!("one switch") };
    let [least, most] = [switched.predicted, switched.predicted_at_most].map(|it| it.unwrap().median);
    assert!(least < 1.02 && most > 1.2, "by how much is looked at: {least} to {most}");
}

/// A program that adds up all that it reads by small calls (512 MiB by 4 KiB): the copy leaves the bytes in a cache from which looking at
/// them takes longer than it does in a mapping.
#[test]
fn by_how_much_is_looked_at_a_program_gains_more_or_less_and_both_are_said() {
    let gain = |plan: &Plan| {
        let [_, cached] = plan.advice();
        assert_eq!((cached.verdict, cached.to.as_deref()), (AdviceVerdict::Switch, Some("native/mmap")));
        cached
    };
    let program = [400.0, 77.0];
    let replays = vec![("pread", [390.0, 75.8]), ("mmap", [390.0, 18.0])];
    let touched = Some(vec![("pread", [365.0, 51.0]), ("mmap", [365.0, 4.0])]);
    let plan = Plan { program, replays, touched, system: [45.0; 2], ..cached_points() };
    let cached = gain(&plan);
    let [least, most] = [cached.program, cached.program_at_most].map(|it| it.unwrap().median);
    assert!((least - 77.0 / 30.0).abs() < 0.2 && (most - 77.0 / 19.2).abs() < 0.3, "{least} to {most}");
    assert_eq!(cached.faster_at_most, None, "all of the program's time may go to the file");
    let looked_at_alike = Some(vec![("pread", [390.0, 75.0]), ("mmap", [390.0, 17.5])]);
    assert_eq!(gain(&Plan { touched: looked_at_alike, ..plan }).program_at_most, None);
}

#[test]
fn an_arm_that_was_left_out_as_slower_in_one_way_of_looking_depends_on_use_still() {
    let mut record = cached_points().lab().record;
    let is_of = |it: &record::Cell| {
        let under = &record.conditions[it.condition];
        it.arm.name == "native/mmap" && (under.state, under.consume) == (State::Cached, Consume::Sum)
    };
    let slower = record.cells.iter().position(is_of).unwrap();
    record.samples.retain(|it| it.cell != slower || it.round == 0);
    record.cells[slower].skipped = Some(Skip::SlowerReplay { times: 3.4 });
    let cached = analysis::analyze(&record).advice[1].clone();
    assert!(matches!(cached.because[..], [AdviceReason::DependsOnUse { .. }]), "{:?}", cached.because);
}

#[test]
fn where_both_ways_of_looking_gain_and_one_has_a_wide_interval_rounds_are_missing() {
    let plan = Plan {
        replays: vec![("pread", [29.0, 6.2]), ("mmap", [77.0, 3.0])],
        touched: Some(vec![("pread", [29.0, 6.0]), ("mmap", [77.0, 0.6])]),
        ..cached_points()
    };
    let mut record = plan.lab().record;
    let is_of = |it: &record::Cell| {
        let under = &record.conditions[it.condition];
        it.arm.name == "native/mmap" && (under.state, under.consume) == (State::Cached, Consume::Sum)
    };
    let slow = record.cells.iter().position(is_of).unwrap();
    for sample in record.samples.iter_mut().filter(|it| it.cell == slow && it.round % 3 == 0) {
        let Outcome::Ok { phases, .. } = &mut sample.outcome else { panic!("{sample:?}") };
        phases.work_ns *= 4;
    }
    let cached = analysis::analyze(&record).advice[1].clone();
    assert_eq!(cached.verdict, AdviceVerdict::Unknown);
    assert!(matches!(cached.because[..], [AdviceReason::Open { .. }]), "{:?}", cached.because);
    assert_ne!(cached.settles, Some(Settles::Switch));
}

#[test]
fn an_arm_that_takes_far_longer_and_has_few_rounds_leaves_nothing_open() {
    let keeps = |ms: f64| {
        let mut record = Plan {
            replays: vec![("mmap", [77.0, 0.4]), ("pread", [ms, 0.9]), ("mmap+random", [78.0, 0.4])],
            ..mapped_points()
        }
        .lab()
        .record;
        let is_of =
            |it: &record::Cell| it.arm.name == "native/pread" && record.conditions[it.condition].state == State::Cold;
        let slow = record.cells.iter().position(is_of).unwrap();
        record.samples.retain(|it| it.cell != slow || it.round < 3);
        analysis::analyze(&record).advice[0].clone()
    };
    let cold = keeps(290.0);
    assert_eq!(cold.verdict, AdviceVerdict::NoDifference, "{:?}", cold.because);
    assert!(matches!(keeps(78.0).because[..], [AdviceReason::TooFewRounds { rounds: 3, .. }]));
}

#[test]
fn one_round_is_said_to_be_too_few_and_not_none() {
    let advice = Plan { rounds: 1, states: vec![State::Cached], ..cached_points() }.findings().advice;
    for advice in &advice[1..] {
        assert_eq!(advice.because, [AdviceReason::TooFewRounds { rounds: 1, least: 5 }]);
    }
}

#[test]
fn rounds_go_on_until_the_gain_of_the_program_is_known() {
    let mut record = mapped_points().lab().record;
    let find = |record: &Record, is: &dyn Fn(&record::Cell) -> bool| {
        let is_cold = |it: &&record::Cell| record.conditions[it.condition].state == State::Cold && !it.control;
        record.cells.iter().position(|it| is_cold(&it) && is(it)).unwrap()
    };
    let arm = find(&record, &|it| it.arm.name == "native/pread");
    let program = find(&record, &|it| it.arm.is_command() && it.baseline);
    assert!(analysis::is_precise(&record, arm));
    for sample in record.samples.iter_mut().filter(|it| it.cell == program) {
        let Outcome::Ok { phases, .. } = &mut sample.outcome else { panic!("{sample:?}") };
        phases.work_ns += phases.work_ns / 3 * u64::from(sample.round % 3);
    }
    assert!(!analysis::is_precise(&record, arm));
    assert!(analysis::is_precise(&record, program));
}

#[test]
fn nothing_is_kept_because_of_an_arm_that_a_rule_speaks_for_and_that_was_not_measured() {
    let mut plan = mapped_points();
    plan.replays = vec![("mmap", [77.0, 0.4]), ("pread", [29.0, 0.9]), ("mmap+sequential", [77.0, 0.4])];
    let mut record = plan.lab().record;
    let of_arm = |record: &Record, cell: usize| record.cells[cell].arm.name == "native/pread";
    let without: Vec<usize> = (0..record.cells.len()).filter(|it| of_arm(&record, *it)).collect();
    record.samples.retain(|it| !without.contains(&it.cell) || it.round == 0);
    // One round has no interval.
    let cold = analysis::analyze(&record).advice.remove(0);
    assert_eq!(cold.verdict, AdviceVerdict::Unknown);
    assert!(matches!(cold.because[..], [AdviceReason::TooFewRounds { rounds: 1, .. }]), "{:?}", cold.because);
    record.samples.retain(|it| !without.contains(&it.cell));
    let mut skipped = |skip: Skip| {
        without.iter().for_each(|it| record.cells[*it].skipped = Some(skip.clone()));
        analysis::analyze(&record).advice[0].clone()
    };
    let cold = skipped(Skip::Unavailable("no".into()));
    assert_eq!(cold.verdict, AdviceVerdict::Unknown);
    assert!(matches!(cold.because[..], [AdviceReason::NotMeasured { .. }]), "{:?}", cold.because);
    // What took several times as long once is known to gain nothing.
    let cold = skipped(Skip::SlowerReplay { times: 3.4 });
    assert_eq!(cold.verdict, AdviceVerdict::NoDifference, "{:?}", cold.because);
}

#[test]
fn a_program_that_reads_the_device_although_all_is_in_memory_is_not_its_replay() {
    let with = |program_bytes: f64| {
        let mut record = cached_points().lab().record;
        for sample in &mut record.samples {
            let cell = &record.cells[sample.cell];
            let bytes = if cell.arm.is_command() { program_bytes } else { 0.0 };
            if record.conditions[cell.condition].state == State::Cached {
                sample.readings.insert("device_read_bytes".into(), Reading::Value(bytes));
            }
        }
        analysis::analyze(&record).advice[1].clone()
    };
    let reached = cached_points().pattern.bytes as f64;
    let little = with(0.05 * reached);
    assert!(!little.because.iter().any(|it| matches!(it, AdviceReason::FromDevice { .. })), "{:?}", little.because);
    let much = with(0.5 * reached);
    assert!(matches!(much.because[..], [AdviceReason::FromDevice { .. }]), "{:?}", much.because);
    assert_eq!((much.verdict, much.share, much.faster_at_most), (AdviceVerdict::Unknown, None, None));
}

#[test]
fn where_all_others_were_left_out_as_slower_nothing_gains() {
    let mut record = mapped_points().lab().record;
    let is_other = |it: &record::Cell| !it.arm.is_command() && !it.baseline && !it.control;
    let others: Vec<usize> = (0..record.cells.len()).filter(|it| is_other(&record.cells[*it])).collect();
    record.samples.retain(|it| !others.contains(&it.cell));
    for (cell, times) in others.into_iter().zip([7.0, 3.5].into_iter().cycle()) {
        record.cells[cell].skipped = Some(Skip::SlowerReplay { times });
    }
    let is_known = |record: &Record| {
        let cold = analysis::analyze(record).advice[0].clone();
        assert_eq!(cold.verdict, AdviceVerdict::NoDifference, "{:?}", cold.because);
        assert!(matches!(cold.because[..], [AdviceReason::AllSlower { times }] if times >= 3.5), "{:?}", cold.because);
    };
    is_known(&record);
    // By a pass of the first round.
    let of_first = |it: &record::Sample| record.cells[it.cell].skipped.is_none() || it.round == 0;
    let all = mapped_points().lab().record.samples;
    record.samples = all.into_iter().filter(of_first).collect();
    is_known(&record);
}

#[test]
fn passes_too_short_for_ticks_are_checked_by_all_of_their_processor_time() {
    let mut plan = cached_points();
    plan.switch = Some(([100.0, 5.6], maps()));
    let by = |user_ms: [f64; 2]| {
        let mut record = plan.lab().record;
        for sample in &mut record.samples {
            let is_command = record.cells[sample.cell].arm.is_command();
            let user = user_ms[usize::from(!is_command)] * 1e6;
            sample.readings.insert("user_ns".into(), Reading::Value(user));
            sample.readings.insert("system_ns".into(), Reading::Value(0.5e6));
        }
        let check = analysis::analyze(&record).advice_self_check[1].clone();
        (check.by, check.passed)
    };
    assert_eq!(by([4.0, 3.0]), (CheckedBy::CpuTime, true));
    assert_eq!(by([3.0, 6.0]), (CheckedBy::CpuTime, false));
    assert_eq!(by([90.0, 60.0]).0, CheckedBy::SystemTime);
}

#[test]
fn a_check_by_counts_of_few_passes_that_fails_asks_for_more_of_them() {
    let settles = |rounds: u32| {
        let plan = Plan { system: [40.0, 60.0], rounds, ..cached_points() };
        let findings = plan.findings();
        assert!(!findings.advice_self_check[1].passed, "{:?}", findings.advice_self_check[1]);
        assert_eq!(findings.advice[1].share, None, "the replay has more than the program");
        findings.advice[1].settles
    };
    assert!(Plan { system: [60.0, 57.0], ..cached_points() }.advice()[1].share.is_some());
    assert_eq!(settles(3), Some(Settles::LargerBudget { seconds: Some(120) }));
    assert_eq!(settles(1), Some(Settles::LargerBudget { seconds: Some(360) }));
    assert_eq!(settles(10), Some(Settles::Switch));
}

#[test]
fn what_calls_take_at_most_bounds_nothing_that_a_library_does_with_their_bytes() {
    let mut record = cached_points().lab().record;
    record.environment.tick_ns = Reading::Value(4_000_000);
    for sample in &mut record.samples {
        let is_command = record.cells[sample.cell].arm.is_command();
        let [user, system] = if is_command { [100.0, 60.0] } else { [1.0, 1.0] };
        if let (true, Outcome::Ok { phases, .. }) = (is_command, &mut sample.outcome) {
            phases.work_ns = 165 * MS as u64;
        }
        sample.readings.insert("user_ns".into(), Reading::Value(user * MS));
        sample.readings.insert("system_ns".into(), Reading::Value(system * MS));
    }
    let cached = analysis::analyze(&record).advice[1].clone();
    // A program that reads in place leaves out what `fread` and `getline` copy, and so it gained 2.9 times where 1.9 was the most.
    assert!(cached.share.is_some());
    assert_eq!(cached.faster_at_most, None);
}

#[test]
fn a_program_that_maps_its_file_part_by_part_is_not_bounded_by_one_mapping() {
    let mut lab = mapped_points().lab();
    let windows = |record: &mut schema::Record, faults: f64| {
        for seen in record.observations.iter_mut().filter_map(|it| match &mut it.seen {
            Reading::Value(seen) => Some(seen),
            Reading::Unavailable { .. } => None,
        }) {
            seen.named.mappings.iter_mut().for_each(|it| it.count = 5);
        }
        for sample in &mut record.samples {
            let is_command = record.cells[sample.cell].arm.is_command();
            let faults = if is_command { 600.0 } else { faults };
            sample.readings.insert("minor_faults".into(), Reading::Value(faults));
        }
        analysis::analyze(record).advice[1].because.clone()
    };
    let of = |because: &[AdviceReason]| matches!(because, [AdviceReason::MappedAgain { mappings: 5, .. }]);
    assert!(!of(&windows(&mut lab.record.clone(), 500.0)));
    assert!(of(&windows(&mut lab.record, 200.0)));
}

#[test]
fn nothing_is_kept_because_of_an_arm_that_a_rule_speaks_for_and_that_did_other_work() {
    let mut plan = mapped_points();
    plan.replays = vec![("mmap", [77.0, 0.4]), ("mmap+random", [29.0, 0.4]), ("mmap+sequential", [77.0, 0.4])];
    for others in [true, false] {
        plan.replays.truncate(if others { 3 } else { 2 });
        let mut record = plan.lab().record;
        for sample in &mut record.samples {
            let of = &record.cells[sample.cell];
            if of.arm.name == "native/mmap+random" && record.conditions[of.condition].state == State::Cold {
                // Sparse, or compressed: the device has less of it than is touched.
                sample.readings.insert("device_read_bytes".into(), Reading::Value(100.0 * 4096.0));
            }
        }
        let cold = &analysis::analyze(&record).advice[0];
        assert_eq!((cold.verdict, cold.settles), (AdviceVerdict::Unknown, Some(Settles::Reason)), "{cold:?}");
        let [AdviceReason::NotComparable { reason: Reason::UnequalWork { .. } }] = &cold.because[..] else {
            panic!("{:?}", cold.because)
        };
    }
}

#[test]
fn nothing_is_kept_where_an_arm_that_a_rule_speaks_for_was_measured_in_one_way_of_looking_alone() {
    let replays = vec![("pread", [29.0, 4.2]), ("mmap", [77.0, 4.7])];
    let again = Pattern { accesses: 5430, bytes: 5430 * 4096, ..points() };
    let plan = Plan { touched: Some(replays), pattern: again, ..cached_points() };
    let mut record = plan.with_reads(5430).record;
    let verdict = |record: &Record| analysis::analyze(record).advice[1].clone();
    assert_eq!(verdict(&record).verdict, AdviceVerdict::NoDifference, "{:?}", verdict(&record).because);
    let is_touch =
        |it: &record::Cell| it.arm.name == "native/mmap" && record.conditions[it.condition].consume == Consume::Touch;
    let without = record.cells.iter().position(is_touch).unwrap();
    record.samples.retain(|it| it.cell != without);
    record.cells[without].skipped = Some(Skip::Untried);
    let cached = verdict(&record);
    assert_eq!(
        (cached.verdict, cached.settles),
        (AdviceVerdict::Unknown, Some(Settles::LargerBudget { seconds: None }))
    );
    assert!(matches!(cached.because[..], [AdviceReason::NotMeasured { .. }]), "{:?}", cached.because);
}

#[test]
fn what_the_budget_did_not_end_asks_for_rounds_and_not_for_a_larger_budget() {
    let mut plan = mapped_points();
    plan.replays = vec![("mmap", [77.0, 0.4]), ("pread", [75.5, 0.9])];
    let mut record = plan.lab().record;
    let ends = |record: &mut Record, end| {
        record.rounds_ended = (0..record.conditions.len()).map(|it| (it, end)).collect();
    };
    ends(&mut record, RoundsEnd::Most);
    let made = record.samples.iter().map(|it| it.round + 1).max().unwrap();
    assert_eq!(analysis::analyze(&record).advice[0].settles, Some(Settles::MoreRounds { made }));
    // A stranger's record may say any number.
    record.samples.iter_mut().filter(|it| it.round + 1 == made).for_each(|it| it.round = u32::MAX);
    let advice = analysis::analyze(&record).advice;
    assert_eq!(advice[0].settles, Some(Settles::MoreRounds { made: u32::MAX }));
    assert!(!report::words::settles(Settles::MoreRounds { made: u32::MAX }).is_empty());
    ends(&mut record, RoundsEnd::Budget);
    assert_eq!(analysis::analyze(&record).advice[0].settles, Some(Settles::LargerBudget { seconds: Some(120) }));
    // Of a stranger's record, again.
    for budget_s in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
        record.budget_s = budget_s;
        let settles = analysis::analyze(&record).advice[0].settles;
        assert_eq!(settles, Some(Settles::LargerBudget { seconds: None }), "{budget_s}");
    }
}

#[test]
fn system_time_that_clock_ticks_do_not_show_checks_nothing() {
    let mut plan = cached_points();
    plan.switch = Some(([100.0, 5.6], maps()));
    plan.system = [0.4, 1.6];
    let mut record = plan.lab().record;
    record.environment.tick_ns = Reading::Value(4_000_000);
    let findings = analysis::analyze(&record);
    let [_, cached] = &findings.advice_self_check[..] else { panic!("{:#?}", findings.advice_self_check) };
    assert!(!cached.passed && cached.why == Some(Unchecked::TooCoarse), "{cached:?}");
    assert_eq!(findings.advice[1].faster_at_most, None);
}

#[test]
fn an_interval_around_the_edge_leaves_it_open() {
    let mut plan = mapped_points();
    plan.replays = vec![("mmap", [77.0, 0.4]), ("pread", [75.5, 0.9])];
    let [cold, _] = plan.advice();
    assert_eq!(cold.verdict, AdviceVerdict::Unknown, "{:?}", cold.program);
    assert!(matches!(&cold.because[..], [AdviceReason::Open { ci_high, .. }] if *ci_high > 1.02), "{:?}", cold.because);
}

#[test]
fn few_rounds_decide_nothing() {
    let mut plan = mapped_points();
    plan.rounds = 3;
    plan.switch = Some(([34.0, 4.0], reads()));
    for advice in plan.advice() {
        assert_eq!(advice.because, [AdviceReason::TooFewRounds { rounds: 3, least: 5 }]);
        assert!(advice.switched[0].real.is_none() && advice.switched[0].reason.is_some());
        assert_eq!(advice.switched[0].predicted, None);
    }
    // Nor that the file is a small share of the program.
    let replays = vec![("mmap", [4.0, 0.4]), ("pread", [2.0, 0.9])];
    let plan = Plan { program: [2000.0, 2004.0], replays, rounds: 4, ..mapped_points() };
    for advice in plan.advice() {
        assert_eq!(advice.because, [AdviceReason::TooFewRounds { rounds: 4, least: 5 }]);
    }
}

#[test]
fn what_is_not_known_of_the_program_is_not_advised_about() {
    type Change = fn(&mut Plan);
    let of = |change: Change| {
        let mut plan = mapped_points();
        change(&mut plan);
        let [cold, _] = plan.advice();
        assert_eq!((cold.verdict, cold.code), (AdviceVerdict::Unknown, AdviceCode::Unknown));
        cold.because
    };
    assert_eq!(of(|it| it.once = true), [AdviceReason::RanOnce]);
    assert_eq!(of(|it| it.coverage = 0.99), [AdviceReason::Incomplete { coverage: 0.99 }]);
    assert_eq!(of(|it| it.not_seen.rings = 2), [AdviceReason::Rings { rings: 2 }]);
    assert_eq!(of(|it| it.reach = Reach::Both), [AdviceReason::MixedReach]);
    let why = || "not cold".to_string();
    assert_eq!(
        of(|it| it.reach = Reach::UnseenMapping { why: "not cold".into() }),
        [AdviceReason::PagesUnseen { why: why() }]
    );
    // It maps the file, and the trace has calls.
    let [cold, _] = Plan { recorded: "pread", ..mapped_points() }.with_access(maps());
    assert_eq!(cold.because, [AdviceReason::OtherReach]);
    // Or it reads a part of what the trace has.
    let mut part = Access { opens: 1, ..Access::default() };
    (0..300).for_each(|_| part.count_call("pread64", 4096, 4096, false));
    let [_, cached] = Plan { recorded: "pread", reach: Reach::Calls, ..cached_points() }.with_access(part);
    assert_eq!(cached.because, [AdviceReason::OtherReach]);
}

#[test]
fn the_replay_of_a_part_of_the_accesses_bounds_nothing() {
    type Change = fn(&mut Plan);
    let of = |change: Change| {
        let mut plan = mapped_points();
        change(&mut plan);
        plan.advice().map(|it| (it.share.is_some(), it.faster_at_most.is_some()))
    };
    assert_eq!(of(|_| {}), [(true, true); 2]);
    assert_eq!(of(|it| it.coverage = 0.015), [(false, false); 2]);
    assert_eq!(of(|it| it.reach = Reach::Both), [(false, false); 2]);
}

#[test]
fn what_reaching_the_file_takes_in_memory_is_a_part_of_its_share_cold() {
    let plan = |program, replay| Plan {
        recorded: "pread",
        program,
        replays: vec![("pread", replay), ("mmap", [60.0, 8.0])],
        system: [50.0, 49.0],
        reach: Reach::Calls,
        ..mapped_points()
    };
    // Of small blocks, so that calls and copies take the time, and hardly anything is waited for.
    let [cold, cached] = plan([500.0, 490.0], [470.0, 460.0]).advice();
    let near = |share: Option<schema::findings::Estimate>, expected: f64| {
        assert!((share.unwrap().median - expected).abs() < 0.02, "{share:?}");
    };
    near(cached.share, 460.0 / 490.0);
    near(cold.share, 470.0 / 500.0);
    assert!(cold.faster_at_most.unwrap() > 10.0, "{:?}", cold.faster_at_most);
    assert_eq!((cold.verdict, cached.verdict), (AdviceVerdict::Switch, AdviceVerdict::Switch), "{:?}", cold.because);
    // Around the page cache, nothing is waited for any longer cold.
    let [cold, _] = plan([135.0, 141.0], [113.0, 118.0]).advice();
    near(cold.share, 1.0 - (141.0 - 118.0) / 135.0);
    assert_eq!(cold.because, [AdviceReason::NotChecked { why: Unchecked::NoColdTime }]);
    assert_eq!(cold.settles, Some(Settles::Switch), "both states were measured");
}

impl Plan {
    /// Its program was seen to make so many.
    fn with_reads(&self, count: u64) -> Lab {
        let mut lab = self.lab();
        let mut access = Access { opens: 1, ..Access::default() };
        (0..count).for_each(|_| access.count_call("pread64", 4096, 4096, false));
        lab.record.observations[0].seen = Reading::Value(observation(access));
        lab
    }

    /// Of the one state that is asked about.
    fn advice_of_one(&self) -> Advice {
        self.findings().advice.remove(0)
    }

    fn with_access(mut self, access: Access) -> [Advice; 2] {
        self.replays[0].0 = "pread";
        self.replays.remove(1);
        let mut lab = self.lab();
        lab.record.observations[0].seen = Reading::Value(observation(access));
        lab.analyze().advice.try_into().unwrap()
    }
}

#[test]
fn one_state_alone_cannot_be_checked_cold() {
    let lab = mapped_points().lab();
    let mut record = lab.record;
    let is_cold = |it: &Condition| it.state == State::Cold;
    record.cells.retain(|it| is_cold(&record.conditions[it.condition]));
    record.conditions.retain(is_cold);
    record.samples.retain(|it| it.cell < record.cells.len());
    record.advised.as_mut().unwrap().states = vec![State::Cold];
    let findings = analysis::analyze(&record);
    assert_eq!(findings.advice[0].because, [AdviceReason::NotChecked { why: Unchecked::NeedsBothStates }]);
    assert_eq!(findings.advice[0].settles, Some(Settles::LargerBudget { seconds: None }));
    // Its passes were made, and do not count.
    let mut lost = mapped_points().lab().record;
    for sample in &mut lost.samples {
        if !is_cold(&lost.conditions[lost.cells[sample.cell].condition]) {
            sample.outcome = Outcome::Invalid { reason: String::from("pages left").into() };
        }
    }
    assert_eq!(analysis::analyze(&lost).advice[0].settles, Some(Settles::Reason));
    // The other was asked for, and the budget ended before it.
    record.advised.as_mut().unwrap().states.push(State::Cached);
    assert_eq!(analysis::analyze(&record).advice[0].settles, Some(Settles::LargerBudget { seconds: None }));
    assert!(!findings.advice_self_check[0].passed);
}

#[test]
fn where_both_states_were_measured_neither_is_asked_for() {
    let mut plan = mapped_points();
    // A state of its own each, and the cold one takes no longer; its replay does.
    plan.program = [79.0, 80.0];
    let [cold, _] = plan.advice();
    assert_eq!(cold.because, [AdviceReason::NotChecked { why: Unchecked::NoColdTime }]);
    // However many rounds there are, a program may take as long cold: what its own switch does can be measured.
    assert_eq!(cold.settles, Some(Settles::Switch));
}

#[test]
fn a_run_without_a_recorded_command_has_no_advice() {
    let mut lab = mapped_points().lab();
    lab.record.advised = None;
    let findings = lab.analyze();
    assert!(findings.advice.is_empty() && findings.advice_self_check.is_empty());
}

#[test]
fn reads_that_may_be_in_flight_are_of_a_class_of_their_own() {
    let mut plan = points_touched_once();
    plan.replays.push(("uring", [5.0, 0.9]));
    let [cold, _] = plan.advice();
    assert_eq!(cold.to.as_deref(), Some("native/mmap+random"), "what needs the offsets in advance is not advised");
    assert_eq!(
        cold.in_advance.iter().map(|it| (it.to.as_str(), it.effort, it.grade)).collect::<Vec<_>>(),
        [("native/uring", Effort::E3, Grade::C)],
        "no rule explains it"
    );
}

#[test]
fn no_record_of_a_stranger_ends_the_analysis_or_the_report() {
    let mut plan = cached_points();
    plan.rounds = 2;
    plan.switch = Some(([100.0, 5.6], maps()));
    let corpus = [serde_json::to_value(&plan.lab().record).unwrap()];
    let mut read = 0;
    for seed in planted::Effort::of(150).seeds() {
        let any = planted::mutated(&corpus, &mut planted::Random(seed));
        let Ok(record) = serde_json::from_value::<schema::Record>(any) else { continue };
        let findings = analysis::analyze(&record);
        report::EXPORTS.iter().for_each(|it| drop((it.text)(&record, &findings, None)));
        report::terminal(&record, &findings, report::Style { details: false, ..Default::default() }, None);
        read += usize::from(record.advised.is_some());
    }
    assert!(read > 0);
}

/// Of 44 ms of a program that writes to each page of a private mapping, the replay has 0.9 ms, and 2 % of the faults.
#[test]
fn nothing_is_kept_where_the_file_may_be_much_more_of_the_program_than_its_replay() {
    let replays = || vec![("mmap", [77.0, 0.9]), ("pread", [29.0, 1.9]), ("mmap+populate-read", [77.0, 0.5])];
    let plan = |switch: Option<f64>| {
        let populated = Access { hints: [("madvise(MADV_POPULATE_READ)".to_string(), 1)].into(), ..maps() };
        Plan {
            program: [120.0, 44.0],
            replays: replays(),
            touched: Some(replays()),
            switch: switch.map(|it| ([120.0, it], populated)),
            states: vec![State::Cached],
            ..mapped_points()
        }
    };
    let with_faults = |plan: Plan, faults: f64| {
        let mut lab = plan.lab();
        for sample in &mut lab.record.samples {
            if lab.record.cells[sample.cell].arm.is_command() {
                sample.readings.insert("minor_faults".into(), Reading::Value(faults));
            }
        }
        lab.analyze().advice.remove(0)
    };
    let little = with_faults(plan(None), 27_000.0);
    assert_eq!((little.verdict, little.settles), (AdviceVerdict::Unknown, Some(Settles::Switch)), "{little:?}");
    let [AdviceReason::MoreThanReplayed { arm, share, most }] = &little.because[..] else { panic!("{little:?}") };
    assert!(arm == "native/mmap+populate-read" && *share > 0.9 && *most > 1.5, "{little:?}");
    // Its own switch was measured, and gains nothing.
    assert_eq!(with_faults(plan(Some(45.0)), 27_000.0).verdict, AdviceVerdict::NoDifference);
    // The program has hardly more faults than its replay.
    assert_eq!(with_faults(plan(None), 600.0).verdict, AdviceVerdict::NoDifference);
}

#[test]
fn a_replay_that_has_less_than_half_of_what_the_program_has_says_the_least_that_is_gained() {
    let at_least = |system: [f64; 2]| {
        let cached = Plan { system, ..by_calls_in_memory() }.advice_of_one();
        assert_eq!(cached.verdict, AdviceVerdict::Switch, "{cached:?}");
        cached.at_least
    };
    assert!(!at_least([19.0, 12.0]));
    assert!(at_least([19.0, 7.0]), "37 % of its system time");
}

#[test]
fn in_memory_no_hint_on_what_to_read_ahead_is_chosen() {
    // By noise the hints take a little less.
    let plan = |mmap: f64, hinted: f64| {
        let replays = || vec![("pread", [20.0, 20.0]), ("mmap+random", [5.0, hinted]), ("mmap", [5.0, mmap])];
        Plan { replays: replays(), touched: Some(replays()), ..by_calls_in_memory() }
    };
    let of = |plan: Plan| plan.lab().analyze().advice.remove(0);
    let cached = of(plan(5.2, 4.6));
    assert_eq!((cached.verdict, cached.to.as_deref()), (AdviceVerdict::Switch, Some("native/mmap")), "{cached:?}");
    assert!(cached.also.is_empty(), "{:?}", cached.also);
    let neither = of(plan(20.0, 18.0));
    assert_ne!(neither.verdict, AdviceVerdict::Switch, "{neither:?}");
    // Its own switch gives the hint.
    let random = Access { hints: [("madvise(MADV_RANDOM)".to_string(), 1)].into(), ..maps() };
    let cached = of(Plan { switch: Some(([15.0, 15.0], random)), ..plan(5.2, 4.6) });
    assert_eq!((cached.to.as_deref(), cached.effort), (Some("native/mmap"), Some(Effort::E0)), "{cached:?}");
    // What it gives now is not dropped either.
    let recorded = "mmap+random";
    let plan = Plan { recorded, replays: vec![(recorded, [77.0, 3.0]), ("mmap", [77.0, 2.5])], ..mapped_points() };
    assert_ne!(plan.advice()[1].verdict, AdviceVerdict::Switch);
}

/// Two thousand small files, each mapped by itself and touched as a whole.
fn mapped_tree() -> Plan {
    const FILES: u64 = 2000;
    let pattern = Pattern {
        file_bytes: FILES * 8192,
        accesses: FILES,
        bytes: FILES * 4096,
        page_bytes: 4096,
        distinct_pages: FILES,
        in_order: FILES,
        threads: 1,
        mappings: FILES,
        sizes: vec![Bin { value: 4096, events: FILES }],
    };
    Plan {
        recorded: "mmap",
        program: [120.0, 40.0],
        replays: vec![("mmap", [100.0, 20.0]), ("pread", [80.0, 5.0]), ("mmap+populate-read", [98.0, 19.0])],
        pattern,
        group: Some(Group { files: FILES, median_bytes: 8192, opens: FILES + 1, touched_whole: FILES }),
        brought_in: (FILES * 4096) as f64,
        touched: Some(vec![("mmap", [100.0, 20.0]), ("pread", [80.0, 5.0]), ("mmap+populate-read", [98.0, 19.0])]),
        ..mapped_points()
    }
}

/// Three thousand lookups, each of which maps the file and unmaps it.
#[test]
fn a_file_that_is_mapped_for_each_access_is_in_memory_not_what_a_replay_does() {
    let mut access = maps();
    (0..600).for_each(|_| access.count_mapping(&MappingCount { count: 1, bytes: GIB, ..MappingCount::default() }));
    let seen = |pattern: Pattern| -> [Advice; 2] {
        let mut lab = Plan { pattern, ..mapped_points() }.lab();
        lab.record.observations[0].seen = Reading::Value(observation(access.clone()));
        lab.analyze().advice.try_into().unwrap()
    };
    let [cold, cached] = seen(points());
    assert_eq!((cached.verdict, cached.settles), (AdviceVerdict::Unknown, Some(Settles::Switch)));
    assert_eq!(cached.because, [AdviceReason::MappedAgain { mappings: 601, files: 1 }]);
    assert_eq!((cached.share, cached.faster_at_most), (None, None));
    // What it takes longer cold is what its replay takes longer.
    assert_eq!(cold.verdict, AdviceVerdict::Switch, "{cold:?}");
    // Windows of many pages cost nothing beside them, unless each page is touched in several.
    let windows = |again: u64| Pattern { accesses: 601 * 100 * again, distinct_pages: 601 * 100, ..points() };
    assert!(seen(windows(1))[1].verdict.is_decided());
    assert!(matches!(seen(windows(2))[1].because[..], [AdviceReason::MappedAgain { .. }]));
}

/// In memory, with no cold time to hold the replay against.
fn by_calls_in_memory() -> Plan {
    Plan {
        program: [30.0, 30.0],
        replays: vec![("pread", [20.0, 20.0]), ("mmap", [5.0, 5.0])],
        touched: Some(vec![("pread", [20.0, 20.0]), ("mmap", [5.0, 5.0])]),
        system: [19.0, 19.0],
        states: vec![State::Cached],
        ..read_points()
    }
}

#[test]
fn the_low_end_of_a_gain_by_a_mapping_allows_for_memory_that_is_waited_for_at_each_place() {
    let gain = |in_order: u64| {
        let pattern = Pattern { accesses: 50_000, in_order, ..read_points().pattern };
        Plan { pattern, ..by_calls_in_memory() }.lab().analyze().advice.remove(0).program.unwrap()
    };
    let (anywhere, in_order) = (gain(0), gain(50_000));
    assert!((anywhere.median / in_order.median - 1.0).abs() < 0.01 && in_order.ci_low > 1.8, "{in_order:?}");
    assert!((anywhere.ci_low / in_order.ci_low - 15.0 / 20.0).abs() < 0.05, "5 ms more: {anywhere:?}");
}

#[test]
fn a_file_that_is_opened_for_each_read_would_be_mapped_as_often() {
    let opened = |opens: u64| {
        let mut lab = by_calls_in_memory().lab();
        lab.record.observations[0].seen = Reading::Value(observation(Access { opens, ..reads() }));
        lab.analyze().advice.remove(0)
    };
    let twice = opened(2);
    assert_eq!(twice.to.as_deref(), Some("native/mmap"), "{twice:?}");
    assert!(twice.caveats.contains(&AdviceCaveat::OpenedAgain { opens: 2, files: 1 }), "{:?}", twice.caveats);
    // Each page is read twenty times whenever it is opened.
    let mut lab = Plan { pattern: Pattern { distinct_pages: 2, ..points() }, ..by_calls_in_memory() }.lab();
    lab.record.observations[0].seen = Reading::Value(observation(Access { opens: 13, ..reads() }));
    assert_eq!(lab.analyze().advice[0].to.as_deref(), Some("native/mmap"));
    let again = opened(543);
    assert_eq!((again.verdict, again.settles), (AdviceVerdict::Unknown, Some(Settles::Switch)), "{again:?}");
    assert_eq!(again.because, [AdviceReason::OpenedAgain { arm: "native/mmap".into(), opens: 543, files: 1 }]);
}

#[test]
fn counts_of_a_stranger_that_no_number_holds_end_nothing() {
    for seen in [reads(), maps()] {
        let mut access = Access { opens: u64::MAX, ..seen };
        (0..3).for_each(|_| access.count_mapping(&MappingCount { count: u64::MAX, ..MappingCount::default() }));
        let mut lab = by_calls_in_memory().lab();
        let pattern = Pattern { distinct_pages: u64::MAX, accesses: u64::MAX, mappings: u64::MAX, ..points() };
        lab.record.advised.as_mut().unwrap().pattern = pattern;
        let strange = FileAccess { path: "/data/strange".into(), named: false, access: access.clone() };
        let seen = Observation { files: vec![strange], threads: u64::MAX, ..observation(access) };
        lab.record.observations[0].seen = Reading::Value(seen);
        lab.record.advised.as_mut().unwrap().group =
            Some(Group { files: u64::MAX, median_bytes: 0, opens: u64::MAX, touched_whole: 0 });
        assert_eq!(lab.analyze().advice.len(), 1);
        lab.record.advised.as_mut().unwrap().group = None;
        assert_eq!(lab.analyze().advice.len(), 1);
    }
    // Opened again and again, and with more pages than can be doubled.
    let mut lab = by_calls_in_memory().lab();
    lab.record.advised.as_mut().unwrap().pattern.distinct_pages = u64::MAX;
    lab.record.observations[0].seen = Reading::Value(observation(Access { opens: 543, ..reads() }));
    let advice = lab.analyze().advice.remove(0);
    assert_eq!(advice.because, [AdviceReason::OpenedAgain { arm: "native/mmap".into(), opens: 543, files: 1 }]);
}

/// With so much user time of each execution, in milliseconds.
fn with_own_time(mut lab: Lab, own_ms: f64) -> Lab {
    for sample in &mut lab.record.samples {
        if lab.record.conditions[lab.record.cells[sample.cell].condition].is_of_commands() {
            sample.readings.insert("user_ns".into(), Reading::Value(own_ms * MS));
        }
    }
    lab
}

#[test]
fn what_overlaps_in_memory_is_no_time_of_the_program() {
    // Of 30 ms, a program has so many of user time and 19 of system time.
    let with = |own_ms: f64, processes: u64, threads: u64| {
        let mut lab = with_own_time(by_calls_in_memory().lab(), own_ms);
        lab.record.observations[0].seen = Reading::Value(Observation { processes, threads, ..observation(reads()) });
        lab.analyze().advice.remove(0)
    };
    let is_advised = |it: Advice| it.to.as_deref() == Some("native/mmap");
    assert!(is_advised(with(11.0, 1, 1)), "one thread overlaps nothing");
    assert!(is_advised(with(11.0, 1, 2)), "two that wait for each other");
    assert!(is_advised(with(11.0, 2, 2)), "a shell waits for its command");
    for overlapping in [with(15.0, 1, 2), with(15.0, 2, 2)] {
        assert_eq!(overlapping.because, [AdviceReason::SeveralThreads], "{overlapping:?}");
    }
    // It gains whatever a replay says.
    let mut plan = by_calls_in_memory();
    plan.switch = Some(([15.0, 15.0], maps()));
    let mut lab = plan.lab();
    let Reading::Value(seen) = &mut lab.record.observations[0].seen else { panic!() };
    seen.threads = 2;
    assert_eq!(lab.analyze().advice[0].verdict, AdviceVerdict::Switch);
}

#[test]
fn threads_that_read_at_once_are_replayed_at_once_and_must_all_be_at_work() {
    // Of 30 ms, so many of user time and 19 of system time, on so many processors.
    let with = |own_ms: f64, threads: u32, cpus: u32| {
        let plan = Plan { threads, pattern: Pattern { threads: threads.into(), ..points() }, ..by_calls_in_memory() };
        let mut lab = with_own_time(plan.lab(), own_ms);
        lab.record.environment.cpus = cpus;
        let readers = Some(threads.into());
        let seen = Observation { threads: 8, readers_at_once: readers, ..observation(reads()) };
        lab.record.observations[0].seen = Reading::Value(seen);
        lab.analyze().advice.remove(0)
    };
    for at_work in [with(40.0, 2, 4), with(40.0, 2, 2), with(40.0, 3, 2)] {
        assert_eq!(at_work.to.as_deref(), Some("native/mmap"), "{at_work:?}");
    }
    let threads = AdviceCaveat::Threads { threads: 2, replayed: 2 };
    assert!(with(40.0, 2, 4).caveats.contains(&threads));
    let waits = with(25.0, 2, 4);
    assert!(matches!(waits.because[..], [AdviceReason::WaitsElsewhere { threads: 2, .. }]), "{waits:?}");
    let third = with(70.0, 2, 4);
    assert_eq!(third.because, [AdviceReason::SeveralThreads], "{third:?}");
}

/// A timer, a child that sleeps, another thread: what a program waits for in memory is not its reads.
#[test]
fn a_program_that_waits_in_memory_may_wait_as_long_however_fast_its_reads_are() {
    for (processes, threads) in [(1, 1), (2, 2), (1, 2)] {
        let mut lab = with_own_time(by_calls_in_memory().lab(), 2.0);
        lab.record.observations[0].seen = Reading::Value(Observation { processes, threads, ..observation(reads()) });
        let waiting = lab.analyze().advice.remove(0);
        assert_eq!((waiting.verdict, waiting.settles), (AdviceVerdict::Unknown, Some(Settles::Switch)));
        let [AdviceReason::WaitsElsewhere { busy, threads: 1 }] = waiting.because[..] else { panic!("{waiting:?}") };
        assert!((busy - 0.7).abs() < 0.03, "{busy}");
    }
    // With O_DIRECT it waits for the device whatever is cached.
    let direct = Plan {
        recorded: "direct",
        replays: vec![("direct", [20.0, 20.0]), ("mmap", [5.0, 5.0])],
        touched: Some(vec![("direct", [20.0, 20.0]), ("mmap", [5.0, 5.0])]),
        ..by_calls_in_memory()
    };
    let direct = with_own_time(direct.lab(), 2.0).analyze().advice.remove(0);
    assert!(!direct.because.iter().any(|it| matches!(it, AdviceReason::WaitsElsewhere { .. })), "{direct:?}");
    // Cold its replay takes as long as it does: so it does with reads that are made cold alone.
    let plan = Plan {
        program: [90.0, 30.0],
        replays: vec![("pread", [80.0, 20.0]), ("mmap", [65.0, 5.0])],
        states: vec![State::Cold, State::Cached],
        ..by_calls_in_memory()
    };
    let mut lab = with_own_time(plan.lab(), 2.0);
    lab.record.observations[0].seen = Reading::Value(Observation { threads: 2, ..observation(reads()) });
    let findings = lab.analyze();
    assert!(findings.advice_self_check[0].passed, "{:?}", findings.advice_self_check);
    assert!(matches!(findings.advice[1].because[..], [AdviceReason::WaitsElsewhere { .. }]), "{:?}", findings.advice);
}

#[test]
fn a_switch_that_contradicts_a_replay_in_memory_speaks_for_every_arm_that_reaches_the_file_as_it_does() {
    let replays = || {
        vec![
            ("pread", [20.0, 20.0]),
            ("mmap", [5.0, 5.0]),
            ("mmap+random", [5.0, 4.9]),
            ("mmap+populate-read", [5.0, 4.0]),
        ]
    };
    let plan = |real: f64| Plan {
        replays: replays(),
        touched: Some(replays()),
        switch: Some(([30.0, real], maps())),
        ..by_calls_in_memory()
    };
    let cached = plan(30.0).lab().analyze().advice.remove(0);
    assert_eq!((cached.verdict, cached.to), (AdviceVerdict::Unknown, None));
    assert!(matches!(cached.because[..], [AdviceReason::SwitchContradicts { .. }]), "{:?}", cached.because);
    assert_eq!(plan(15.0).lab().analyze().advice[0].verdict, AdviceVerdict::Switch);
}

#[test]
fn a_replay_of_more_than_the_user_time_leaves_is_not_the_program() {
    // 30 ms, on two processors at once: its own work takes 27, and the replay 26.
    let with = |user_ms: f64, of_replay_ms: f64| {
        let plan = Plan {
            replays: vec![("pread", [26.0, 26.0]), ("mmap", [5.0, 5.0])],
            touched: Some(vec![("pread", [26.0, 26.0]), ("mmap", [5.0, 5.0])]),
            system: [25.0, 26.0 - of_replay_ms],
            ..by_calls_in_memory()
        };
        let mut lab = plan.lab();
        for at in 0..lab.record.samples.len() {
            let cell = lab.record.samples[at].cell;
            let is_of_commands = lab.record.conditions[lab.record.cells[cell].condition].is_of_commands();
            let user = if is_of_commands { user_ms } else { of_replay_ms };
            lab.record.samples[at].readings.insert("user_ns".into(), Reading::Value(user * MS));
        }
        lab.analyze().advice.remove(0)
    };
    let parallel = with(27.0, 1.0);
    assert!(matches!(parallel.because[..], [AdviceReason::MoreThanUserTimeLeaves { .. }]), "{parallel:?}");
    assert_eq!((parallel.share, parallel.faster_at_most), (None, None));
    // Small reads spend much of their own time in user code: that is no other work of the program.
    let small = with(12.0, 13.0);
    assert_eq!(small.to.as_deref(), Some("native/mmap"), "{small:?}");
}

#[test]
fn as_many_threads_as_ever_read_are_not_at_work_at_once() {
    let plan = Plan { pattern: Pattern { threads: 600, ..points() }, ..mapped_points() };
    let [cold, _] = plan.advice();
    assert_eq!(cold.verdict, AdviceVerdict::Switch);
    assert!(!cold.caveats.iter().any(|it| matches!(it, AdviceCaveat::Threads { .. })), "{:?}", cold.caveats);
}

#[test]
fn a_switch_that_reads_at_the_position_as_before_is_not_taken_for_another_call() {
    let mut access = Access { opens: 1, ..Access::default() };
    (0..543).for_each(|_| access.count_call("read", 4096, 4096, false));
    let mut plan = Plan {
        recorded: "read",
        replays: vec![("read", [77.0, 0.4]), ("pread", [40.0, 0.4]), ("mmap+random", [29.0, 0.4])],
        ..read_points()
    };
    plan.switch = Some(([80.0, 5.0], access.clone()));
    let mut lab = plan.lab();
    lab.record.observations[0].seen = Reading::Value(observation(access));
    let cold = lab.analyze().advice.remove(0);
    assert_eq!(cold.switched[0].like.as_deref(), Some("native/read"));
    assert!(!cold.caveats.contains(&AdviceCaveat::SwitchApart), "{:?}", cold.caveats);
}

#[test]
fn many_small_mapped_files_are_to_be_read_whole_cold_and_cached() {
    for advice in mapped_tree().advice() {
        assert_eq!((advice.verdict, advice.code), (AdviceVerdict::Switch, AdviceCode::M3), "{advice:?}");
        assert_eq!((advice.to.as_deref(), advice.effort), (Some("native/pread"), Some(Effort::E2)));
        assert_eq!((advice.how, advice.files), (Some(How::ReadWhole), 2000));
        assert_eq!(advice.because, [AdviceReason::ManySmall { mappings: 2000, median_bytes: 8192 }]);
        assert!(advice.caveats.contains(&AdviceCaveat::TouchedWhole { files: 2000 }));
        assert!(advice.caveats.contains(&AdviceCaveat::OpenedAgain { opens: 2001, files: 2000 }));
    }
}

#[test]
fn the_switch_of_a_program_with_many_files_is_the_advice() {
    let mut plan = mapped_tree();
    plan.switch = Some(([98.0, 25.0], reads()));
    for advice in plan.advice() {
        assert_eq!((advice.effort, advice.grade), (Some(Effort::E0), Some(Grade::A)));
        assert_eq!(advice.how, Some(How::Switch { line: "program --switch".into() }));
        assert_eq!(advice.switched[0].like.as_deref(), Some("native/pread"));
    }
}
