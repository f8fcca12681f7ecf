//! What else than reading differs between two commands, and when a bound on reading is a number.

use schema::{
    Reading, Workload,
    findings::{CommandFinding, ConfounderKind},
    observation::{Access, MappingCount, Means, Observation, Observed},
};

use crate::support::{Lab, MIB, Pass};

const ARMS: [&str; 2] = ["command/A", "command/B"];

/// Two commands of 100 ms each.
fn commands(adjust: [&dyn Fn(&mut Pass); 2]) -> Lab {
    let mut lab = Lab::new();
    let condition = schema::Condition { workload: Workload::Command, ops: 1, ..schema::Condition::plain(MIB) };
    let condition = lab.condition(condition);
    for (name, adjust) in ARMS.into_iter().zip(adjust) {
        let cell = lab.cell(condition, "read");
        lab.record.cells[cell].arm = schema::Arm {
            runtime: "command".into(),
            method: "command".into(),
            name: name.into(),
            ..lab.record.cells[cell].arm.clone()
        };
        lab.measure(cell, 20, 100e6, |_, pass| {
            pass.reads("user_ns", 60e6).reads("system_ns", 30e6).reads("threads_at_once", 1.0);
            pass.reads("output_bytes", 10.0);
            adjust(pass);
        });
    }
    lab
}

fn same(_: &mut Pass) {}

#[test]
fn commands_of_which_none_is_proved_faster_or_the_same_have_no_answer() {
    let is_decided = |ratio: f64| {
        let slower = move |pass: &mut Pass| {
            pass.ns_per_op *= ratio;
        };
        commands([&same, &slower]).analyze().is_decided()
    };
    assert!(is_decided(1.3) && is_decided(0.7) && is_decided(1.0));
    let mut lab = commands([&same, &same]);
    for it in lab.record.samples.iter_mut().filter(|it| it.cell == 1 && it.round.is_multiple_of(2)) {
        let schema::record::Outcome::Ok { phases, .. } = &mut it.outcome else { unreachable!() };
        phases.work_ns += phases.work_ns / 5;
    }
    let findings = lab.analyze();
    assert_eq!(findings.comparisons[0].verdict, schema::findings::Verdict::Undecided);
    assert!(!findings.is_decided(), "that nothing beats the first of two commands is no answer: {:?}", findings.map);
}

fn observe(lab: &mut Lab, seen: [(u64, Access); 2]) {
    lab.record.observations = ARMS
        .into_iter()
        .zip(seen)
        .map(|(arm, (processes, named))| Observed {
            arm: arm.into(),
            seen: Reading::Value(Observation {
                by: Means::Ptrace,
                processes,
                threads: processes,
                readers_at_once: Some(1),
                named_opened: 1,
                named,
                files: Vec::new(),
                files_left_out: 0,
                rings: 0,
                runtimes: Vec::new(),
                expired: false,
                incomplete: Vec::new(),
                remarks: Vec::new(),
            }),
        })
        .collect();
}

fn copies() -> Access {
    let mut access = Access { opens: 1, ..Access::default() };
    (0..16).for_each(|_| access.count_call("read", 65_536, 65_536, true));
    access
}

fn maps() -> Access {
    let mut access = Access { opens: 1, ..Access::default() };
    access.count_mapping(&MappingCount { count: 1, bytes: MIB, ..MappingCount::default() });
    access
}

/// Of the second command; the first has none.
fn of_the_second(lab: &Lab) -> CommandFinding {
    let [first, second] = <[CommandFinding; 2]>::try_from(lab.analyze().commands).unwrap();
    assert_eq!(first.confounders, [], "it is the baseline");
    second
}

#[test]
fn commands_that_differ_in_nothing_else_have_no_confounder() {
    let mut lab = commands([&same, &|pass| {
        // More system time and waiting are what reading costs.
        pass.reads("system_ns", 5e6);
    }]);
    observe(&mut lab, [(1, copies()), (1, maps())]);
    assert_eq!(of_the_second(&lab).confounders, []);
}

#[test]
fn more_threads_more_work_more_processes_and_more_output_are_named() {
    let mut lab = commands([&same, &|pass| {
        pass.reads("user_ns", 160e6).reads("output_bytes", 20.0);
    }]);
    observe(&mut lab, [(1, copies()), (3, copies())]);
    let second = of_the_second(&lab);
    let kinds: Vec<ConfounderKind> = second.confounders.iter().map(|it| it.what).collect();
    use ConfounderKind::{OutputBytes, Processes, ThreadsAtWork, UserTime};
    assert_eq!(kinds, [ThreadsAtWork, UserTime, Processes, OutputBytes]);
    assert!(second.confounders.iter().all(|it| (it.versus.as_str(), it.versus_cell) == (ARMS[0], 0)));
    let values: Vec<[f64; 2]> = second.confounders.iter().map(|it| [it.own, it.other]).collect();
    assert!((values[0][0] - 1.9).abs() < 0.05 && (values[0][1] - 0.9).abs() < 0.05, "{values:?}");
    assert_eq!(values[2..], [[3.0, 1.0], [20.0, 10.0]]);
}

/// As what the slower one spends more is.
#[test]
fn the_user_times_of_two_commands_are_shares_of_their_median_times() {
    let mut lab = commands([&same, &|pass| {
        pass.reads("user_ns", 160e6);
    }]);
    observe(&mut lab, [(1, copies()), (1, copies())]);
    let findings = lab.analyze();
    let of = |cell: usize| {
        let time = findings.commands[cell].time.value().unwrap();
        time.user_share * findings.cells[cell].ns_per_op.unwrap().median
    };
    let user = findings.commands[1].confounders.iter().find(|it| it.what == ConfounderKind::UserTime).unwrap();
    for (said, part) in [(user.own, of(1)), (user.other, of(0))] {
        assert!((said / part - 1.0).abs() < 1e-9, "{said} {part}");
    }
}

#[test]
fn how_much_faster_another_way_makes_it_is_a_number_only_where_one_copies_and_one_maps() {
    let at_most = |seen: [Access; 2]| {
        let mut lab = commands([&same, &same]);
        let [a, b] = seen;
        observe(&mut lab, [(1, a), (1, b)]);
        of_the_second(&lab).time.value().unwrap().clone()
    };
    let time = at_most([copies(), maps()]);
    assert_eq!(time.faster_at_most, Some(1.0 / (1.0 - time.reading_at_most)));
    assert!(time.reading_at_most > 0.3, "{time:?}");
    assert_eq!(at_most([copies(), copies()]).faster_at_most, None);
    let unobserved = commands([&same, &same]).analyze().commands[1].time.value().unwrap().faster_at_most;
    assert_eq!(unobserved, None);
}

#[test]
fn the_user_time_of_executions_too_short_for_ticks_bounds_nothing() {
    let short = |pass: &mut Pass| {
        pass.reads("user_ns", 3e6).reads("system_ns", 1e6);
    };
    let of = |lab: &Lab| lab.analyze().commands.into_iter().map(|it| it.time).collect::<Vec<_>>();
    let both = of(&commands([&short, &short]));
    assert!(both.iter().all(|it| it.value().is_none()), "{both:?}");
    // Nor does it bound the other one, whose own work may be as little as that.
    let [Reading::Value(long), Reading::Unavailable { .. }] = &of(&commands([&same, &short]))[..] else { panic!() };
    assert_eq!(long.reading_at_most, 1.0);
}

#[test]
fn a_command_whose_user_time_is_not_known_leaves_no_bound_for_the_other() {
    let unknown = |pass: &mut Pass| {
        let why = Reading::unavailable("its children were not waited for");
        pass.readings.insert("user_ns".to_string(), why);
    };
    let times = commands([&same, &unknown]).analyze().commands.into_iter().map(|it| it.time).collect::<Vec<_>>();
    let [Reading::Value(known), Reading::Unavailable { .. }] = &times[..] else { panic!("{times:?}") };
    assert_eq!(known.reading_at_most, 1.0);
}

#[test]
fn user_time_is_as_coarse_as_the_ticks_of_the_machine() {
    let bound = |tick_ns: u64| {
        let mut lab = commands([&same, &same]);
        lab.record.environment.tick_ns = Reading::Value(tick_ns);
        lab.analyze().commands[0].time.value().unwrap().reading_at_most
    };
    assert!(bound(1_000_000) < bound(10_000_000));
}

#[test]
fn what_a_command_used_at_most_is_the_largest_of_its_executions() {
    let mut lab = commands([&same, &same]);
    for sample in &mut lab.record.samples {
        let peak = if sample.round < 5 { 100.0 } else { 150.0 };
        for (name, mib) in [("limit", 200.0), ("memory", 90.0), ("peak", peak)] {
            sample.readings.insert(format!("cgroup_{name}_bytes"), Reading::Value(mib * 1_048_576.0));
        }
    }
    let command = of_the_second(&lab);
    assert_eq!(command.cgroup_peak_bytes.value(), Some(&(150.0 * 1_048_576.0)));
}
