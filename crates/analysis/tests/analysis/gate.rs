//! `compare --fail-if`: what is a breach, and that a gate which compares nothing is never kept.

use analysis::Analyzed;
use schema::{
    Fill, Findings, Reading, Record, State,
    across::{Across, Differs, Fact},
    gate::{Basis, BreachCause, Gate, NotJudged, NotJudgedCause, Presence, Threshold},
    reason::Reason,
};

use crate::support::{Lab, random, scan};

/// `read` and `mmap` under two conditions, ten rounds each; `mmap` at this time.
fn run(id: &str, mmap: f64) -> Lab {
    let mut lab = Lab::new();
    lab.record.id = id.into();
    for condition in [scan("64 KiB", State::Cached), random("4 KiB", State::Cached)] {
        let condition = lab.condition(condition);
        let cells = [lab.cell(condition, "read"), lab.cell(condition, "mmap")];
        lab.measure(cells[0], 10, 1000.0, |_, _| {});
        lab.measure(cells[1], 10, mmap, |_, _| {});
    }
    lab
}

/// `scan 64 KiB cached mmap` in a run of `run`.
const SCAN_MMAP: usize = 1;

fn gate(threshold: &str, first: &Record, others: &[&Record]) -> Option<Gate> {
    let others: Vec<Vec<&Record>> = others.iter().map(|it| vec![*it]).collect();
    gate_of_sides(threshold, &[first], &others)
}

fn gate_of_sides(threshold: &str, first: &[&Record], others: &[Vec<&Record>]) -> Option<Gate> {
    let analyzed = |side: &[&Record]| -> Vec<Findings> { side.iter().map(|it| analysis::analyze(it)).collect() };
    let (found, of_others) = (analyzed(first), others.iter().map(|it| analyzed(it)).collect::<Vec<_>>());
    let others: Vec<Vec<Analyzed>> =
        others.iter().zip(&of_others).map(|(side, found)| side.iter().copied().zip(found).collect()).collect();
    let first: Vec<Analyzed> = first.iter().copied().zip(&found).collect();
    analysis::gate(&threshold.parse::<Threshold>().unwrap(), &first, &others)
}

/// Of `mmap`, against a run in which one thing was done to the cell `scan 64 KiB cached mmap`.
#[track_caller]
fn cause(change: impl Fn(&mut Lab)) -> (BreachCause, BreachCause) {
    let (before, mut after) = (run("first", 2000.0), run("second", 2000.0));
    change(&mut after);
    let only = |first: &Lab, second: &Lab| {
        let gate = gate("mmap slower 10%", &first.record, &[&second.record]).unwrap();
        let [breach] = &gate.breaches[..] else { panic!("{:?}", gate.breaches) };
        assert_eq!((breach.arm.as_str(), breach.condition.block_bytes), ("native/mmap", 65_536));
        assert_eq!(gate.checked, 1, "the other cell was compared");
        breach.cause.clone()
    };
    (only(&before, &after), only(&after, &before))
}

fn lost(lab: &mut Lab, cell: usize) {
    lab.record.samples.retain(|sample| sample.cell != cell);
}

fn lacks(first: Presence, second: Presence) -> BreachCause {
    BreachCause::NotCompared { first, second }
}

#[test]
fn what_one_arm_measured_twice_differs_by_is_no_breach() {
    let breached = |control_ns: f64, runs: usize| {
        let side = |mmap: f64| -> Vec<Record> {
            let one = |nth: usize| {
                let mut lab = run(&format!("{mmap} {nth}"), mmap);
                let control = lab.control(0, "read");
                lab.measure(control, 10, control_ns, |_, _| {});
                lab.record
            };
            (0..runs).map(one).collect()
        };
        let (before, after) = (side(2000.0), side(2400.0));
        let of_after: Vec<&Record> = after.iter().collect();
        let gate = gate_of_sides("mmap slower 10%", &before.iter().collect::<Vec<_>>(), &[of_after]).unwrap();
        (gate.is_breached(), gate.unsure)
    };
    assert_eq!(breached(1000.0, 1), (true, 0));
    assert_eq!(breached(1300.0, 1), (false, 2));
    // What runs differ by is known of several.
    assert_eq!(breached(1300.0, 3), (true, 0));
}

#[test]
fn a_kept_gate_says_how_many_cells_it_checked_and_which_changed_most() {
    let (before, mut after) = (run("first", 2000.0), run("second", 2000.0));
    lost(&mut after, SCAN_MMAP);
    after.measure(SCAN_MMAP, 10, 2400.0, |_, _| {});
    let kept = gate("mmap slower 50%", &before.record, &[&after.record]).unwrap();
    assert_eq!((kept.checked, kept.unsure, kept.is_breached()), (2, 0, false));
    let largest = kept.largest.unwrap();
    assert_eq!((largest.run.as_str(), largest.condition.block_bytes), ("second", 65_536));
    assert!((0.80..0.86).contains(&largest.speedup.median), "{largest:?}");
    let faster = gate("mmap faster 50%", &before.record, &[&after.record]).unwrap();
    // It is the largest change in this direction alone.
    assert!(report::gate_checked(&faster).contains("furthest towards faster: "));
    assert_eq!(faster.largest.unwrap().condition.block_bytes, 4096, "the cell that became slower least");
}

#[test]
fn a_difference_is_a_breach_only_beyond_the_limit_and_in_the_forbidden_direction() {
    let (before, after) = (run("first", 2000.0), run("second", 3000.0));
    let breaches = |threshold: &str, first: &Lab, second: &Lab| {
        gate(threshold, &first.record, &[&second.record]).unwrap().breaches.len()
    };
    assert_eq!(breaches("mmap slower 10%", &before, &after), 2);
    assert_eq!(breaches("mmap scan slower 10%", &before, &after), 1);
    assert_eq!(breaches("mmap slower 60%", &before, &after), 0);
    assert_eq!(breaches("mmap faster 10%", &before, &after), 0);
    assert_eq!(breaches("mmap faster 10%", &after, &before), 2);
}

/// A run in which the machine takes so many times as long for everything.
fn on_a_machine(id: &str, drift: f64) -> Lab {
    let mut lab = Lab::new();
    lab.record.id = id.into();
    let condition = lab.condition(scan("64 KiB", State::Cached));
    let cells = [lab.cell(condition, "read"), lab.cell(condition, "mmap")];
    lab.measure(cells[0], 10, 1000.0 * drift, |_, _| {});
    lab.measure(cells[1], 10, 2000.0 * drift, |_, _| {});
    lab
}

#[test]
fn a_machine_that_drifts_between_two_runs_breaches_nothing() {
    let (before, after) = (on_a_machine("first", 1.0), on_a_machine("second", 1.3));
    let kept = gate("mmap slower 10%", &before.record, &[&after.record]).unwrap();
    assert_eq!((kept.checked, kept.absolute, kept.unsure, kept.is_breached()), (1, 0, 0, false));
    let largest = kept.largest.unwrap();
    assert_eq!(largest.basis, Basis::AgainstBaseline { first_runs: 1, second_runs: 1 });
    assert!((largest.speedup.median - 1.0).abs() < 0.02);
}

#[test]
fn a_baseline_is_not_judged_with_fewer_than_three_runs_on_each_side() {
    let runs = [1.0, 1.1, 0.95, 1.05].map(|drift| on_a_machine(&drift.to_string(), drift).record);
    let [a, b, c, d] = &runs;
    let two = gate_of_sides("read slower 10%", &[a, b], &[vec![c, d]]).unwrap();
    assert!(two.judged_nothing() && two.not_judged.len() == 2);
    assert_eq!(two.not_judged[0].cause, NotJudgedCause::TooFewRuns { first: 1, second: 1, least: 3, reason: None });
    // Where it is no baseline it is judged.
    let with_another = |drift: f64| {
        let mut lab = on_a_machine(&format!("other {drift}"), drift);
        let condition = lab.condition(random("4 KiB", State::Cached));
        for arm in ["mmap", "read"] {
            let cell = lab.cell(condition, arm);
            lab.measure(cell, 10, 1000.0 * drift, |_, _| {});
        }
        lab.record
    };
    let both = gate("read slower 10%", &with_another(1.0), &[&with_another(1.2)]).unwrap();
    assert_eq!((both.checked, both.not_judged.len(), both.is_breached()), (1, 1, false));
}

#[test]
fn three_runs_a_side_judge_a_baseline_by_how_far_runs_drift() {
    let side = |name: &str, factor: f64| [1.0, 1.04, 0.97].map(|it| on_a_machine(&format!("{name}{it}"), it * factor));
    let judged = |factor: f64| {
        let (before, after) = (side("a", 1.0), side("b", factor));
        let [before, after] = [&before, &after].map(|it| it.iter().map(|it| &it.record).collect::<Vec<_>>());
        gate_of_sides("read slower 10%", &before, &[after]).unwrap()
    };
    let kept = judged(1.05);
    assert_eq!((kept.checked, kept.absolute, kept.is_breached()), (1, 1, false));
    assert_eq!(kept.largest.unwrap().basis, Basis::Absolute { first_runs: 3, second_runs: 3 });
    let BreachCause::Beyond { speedup, .. } = &judged(1.4).breaches[0].cause else { panic!() };
    assert!((speedup.median - 1.0 / 1.4).abs() < 0.02, "{speedup:?}");
}

#[test]
fn a_cell_that_is_not_compared_with_its_baseline_is_not_said_to_have_none() {
    let held = |pattern: &str, change: fn(&mut Lab)| {
        let [mut first, mut second] = ["first", "second"].map(|id| on_a_machine(id, 1.0));
        change(&mut first);
        change(&mut second);
        gate(&format!("{pattern} slower 10%"), &first.record, &[&second.record]).unwrap()
    };
    let said = |gate: &Gate| {
        let [line] = &report::gate_not_judged(gate)[..] else { panic!("{gate:?}") };
        line.clone()
    };
    let other_work = held("mmap", |lab| lab.own(1, |own| own.aligned = false));
    let few_rounds = held("mmap", |lab| {
        lab.record.samples.iter_mut().filter(|it| it.cell == 1).for_each(|it| it.round += 6);
    });
    for (gate, why) in [(&other_work, "offsets"), (&few_rounds, "4 ")] {
        let NotJudgedCause::TooFewRuns { reason: Some(_), .. } = &gate.not_judged[0].cause else { panic!("{gate:?}") };
        let line = said(gate);
        assert!(!line.contains("no baseline"), "{line}");
        let (before, reason) = line.split_once("it is not compared with its baseline: ").unwrap();
        assert!(before.contains("needs 3 runs on each side, there are 1 and 1") && reason.contains(why), "{line}");
    }
    assert!(
        said(&other_work).starts_with("scan 64 KiB cached, unaligned instead of aligned native/mmap in run second")
    );
    let of_baseline = held("read", |_| {});
    assert!(said(&of_baseline).contains("it has no baseline to be compared with"), "{of_baseline:?}");
    let document = |gate: Gate| {
        let across = Across { schema_version: schema::SCHEMA_VERSION, versus: Vec::new(), gates: vec![gate] };
        report::across_json(&across)
    };
    let has_reason = |gate: Gate| ["\"reason_data\": ", "\"reason\": \""].map(|it| document(gate.clone()).contains(it));
    assert_eq!((has_reason(other_work), has_reason(of_baseline)), ([true; 2], [false; 2]));
}

#[test]
fn a_cell_whose_baseline_is_another_arm_in_each_run_is_not_judged_and_both_are_named() {
    let [before, mut after] = ["first", "second"].map(|id| on_a_machine(id, 1.0).record);
    after.cells[0].arm = "pread".parse().unwrap();
    let line = report::gate_not_judged(&gate("mmap slower 10%", &before, &[&after]).unwrap()).remove(0);
    let says = "it is not compared with its baseline: that is native/read in one run and native/pread in another";
    assert!(line.ends_with(says), "{line}");
}

#[test]
fn an_arm_that_lost_its_baseline_in_one_run_alone_is_a_breach() {
    let (before, mut after) = (on_a_machine("first", 1.0), on_a_machine("second", 1.0));
    after.record.samples.retain(|it| it.cell != 0);
    let gate = gate("mmap slower 10%", &before.record, &[&after.record]).unwrap();
    let BreachCause::NotCompared { first, second } = &gate.breaches[0].cause else { panic!("{gate:?}") };
    assert!(matches!((first, second), (Presence::Measured, Presence::NoBaseline { .. })), "{gate:?}");
}

#[test]
fn an_arm_that_lost_its_baseline_on_one_side_is_a_breach_however_many_runs_there_are() {
    let sides = ["a", "b"].map(|side| [1.0, 1.04, 0.97].map(|it| on_a_machine(&format!("{side}{it}"), it)));
    let [before, mut after] = sides;
    for run in &mut after {
        run.record.samples.retain(|it| it.cell != 0);
    }
    let [before, after] = [&before, &after].map(|it| it.iter().map(|it| &it.record).collect::<Vec<_>>());
    let gate = gate_of_sides("mmap slower 10%", &before, &[after]).unwrap();
    let [breach] = &gate.breaches[..] else { panic!("{gate:?}") };
    let BreachCause::NotCompared { first, second } = &breach.cause else { panic!("{gate:?}") };
    assert!(matches!((first, second), (Presence::Measured, Presence::NoBaseline { .. })), "{gate:?}");
}

#[test]
fn every_later_run_is_checked() {
    let (before, slow) = (run("first", 2000.0), run("slow", 3000.0));
    let same = run("same", 2000.0);
    let gate = gate("mmap slower 10%", &before.record, &[&same.record, &slow.record]).unwrap();
    assert_eq!(gate.checked, 4);
    assert!(gate.breaches.iter().all(|it| it.run == "slow") && gate.breaches.len() == 2, "{:?}", gate.breaches);
}

#[test]
fn a_cell_that_one_run_skipped_is_a_breach() {
    let slow = "too slow for this budget: 3 ms per block";
    let (gone, new) = cause(|lab| {
        lost(lab, SCAN_MMAP);
        lab.record.cells[SCAN_MMAP].skipped = Some(slow.into());
    });
    let skipped = Presence::Skipped { reasons: vec![Reason::Skipped(slow.into())] };
    assert_eq!(gone, lacks(Presence::Measured, skipped.clone()));
    assert_eq!(new, lacks(skipped, Presence::Measured));
}

#[test]
fn a_cell_whose_passes_failed_or_are_invalid_is_a_breach() {
    let once = |reason: &str| vec![Reason::LostPasses { lost: 1, passes: 1, reason: reason.into() }];
    let (failed, _) = cause(|lab| {
        lost(lab, SCAN_MMAP);
        lab.failed(SCAN_MMAP, 0, "SIGBUS");
    });
    assert_eq!(failed, lacks(Presence::Measured, Presence::Failed { reasons: once("SIGBUS") }));
    let (invalid, _) = cause(|lab| {
        lost(lab, SCAN_MMAP);
        lab.invalid(SCAN_MMAP, 0, "3 pages were resident");
    });
    assert_eq!(invalid, lacks(Presence::Measured, Presence::Invalid { reasons: once("3 pages were resident") }));
}

#[test]
fn a_cell_with_too_few_passes_to_decide_anything_is_a_breach() {
    let few = |passes: u32| cause(|lab| lab.record.samples.retain(|it| it.cell != SCAN_MMAP || it.round < passes)).0;
    for passes in [1, 4] {
        assert_eq!(few(passes), lacks(Presence::Measured, Presence::TooFewPasses { passes, least: 5 }));
    }
}

#[test]
fn a_cell_that_is_not_in_the_other_run_at_all_is_a_breach() {
    let (gone, new) = cause(|lab| {
        // No sample of the cell, and the cell is one of an arm that the gate is not about.
        lost(lab, SCAN_MMAP);
        lab.record.cells[SCAN_MMAP].arm = "stdio".parse().unwrap();
    });
    assert_eq!(gone, lacks(Presence::Measured, Presence::Absent));
    assert_eq!(new, lacks(Presence::Absent, Presence::Measured));
}

#[test]
fn a_cell_that_some_runs_of_both_sides_lack_is_a_breach_whichever_runs_these_are() {
    let whole = |id: &str| run(id, 2000.0).record;
    // Has no random reads.
    let fewer = |id: &str| on_a_machine(id, 1.0).record;
    let all = [["a1", "a2", "a3"], ["b1", "b2", "b3"]];
    for lacking in [&["a1", "b1"][..], &["a2", "b3"], &["a1", "a2", "b1", "b2"], &["a1", "a2", "a3", "b1"]] {
        let sides = all.map(|side| side.map(|id| if lacking.contains(&id) { fewer(id) } else { whole(id) }));
        let [before, after] = sides.each_ref().map(|it| it.iter().collect::<Vec<&Record>>());
        let gate = gate_of_sides("mmap random slower 10%", &before, &[after]).expect("some runs have such a cell");
        let [breach] = &gate.breaches[..] else { panic!("{lacking:?}: {gate:?}") };
        assert_eq!((gate.checked, &breach.cause), (0, &lacks(Presence::Absent, Presence::Absent)));
        assert_eq!((breach.arm.as_str(), breach.condition.block_bytes), ("native/mmap", 4096));
        assert_eq!(breach.label, "random 4 KiB cached");
    }
    let lacked_by_one =
        [["a1", "a2", "a3"].map(whole), ["b1", "b2", "b3"].map(|it| if it == "b2" { fewer(it) } else { whole(it) })];
    let [before, after] = lacked_by_one.each_ref().map(|it| it.iter().collect::<Vec<&Record>>());
    let gate = gate_of_sides("mmap slower 10%", &before, &[after]).unwrap();
    assert_eq!((gate.checked, gate.breaches.len()), (1, 1), "the cell that all have is judged");
    assert_eq!(gate.breaches[0].cause, lacks(Presence::Measured, Presence::Absent));
}

#[test]
fn a_gate_whose_cells_neither_run_measured_is_breached() {
    let mut labs = [run("first", 2000.0), run("second", 2000.0)];
    for lab in &mut labs {
        lab.record.samples.clear();
        lab.record.partial = Some("interrupted".into());
    }
    let gate = gate("mmap scan slower 10%", &labs[0].record, &[&labs[1].record]).unwrap();
    assert_eq!((gate.checked, gate.breaches.len(), gate.largest), (0, 1, None));
}

#[test]
fn a_pattern_that_means_no_cell_has_no_gate() {
    let (before, after) = (run("first", 2000.0), run("second", 2000.0));
    for nothing in ["stdio slower 10%", "mmap cold slower 10%", "mmap 64 B slower 10%"] {
        assert_eq!(gate(nothing, &before.record, &[&after.record]), None, "{nothing}");
    }
}

#[test]
fn an_interval_on_both_sides_of_the_limit_is_kept_and_counted() {
    let before = run("first", 2000.0);
    let mut after = run("second", 2000.0);
    lost(&mut after, SCAN_MMAP);
    after.measure(SCAN_MMAP, 10, 2000.0, |round, pass| pass.ns_per_op *= if round % 2 == 0 { 0.8 } else { 1.4 });
    let gate = gate("mmap scan slower 10%", &before.record, &[&after.record]).unwrap();
    assert_eq!((gate.checked, gate.unsure, gate.is_breached()), (1, 1, false));
}

#[test]
fn a_run_against_itself_is_not_comparable() {
    let lab = run("first", 2000.0);
    let findings = lab.analyze();
    let itself = analysis::across((&lab.record, &findings), (&lab.record, &findings));
    assert_eq!(itself.not_comparable.len(), 1, "{:?}", itself.not_comparable);
    let other = run("second", 2000.0);
    let versus = analysis::across((&lab.record, &findings), (&other.record, &other.analyze()));
    assert_eq!(versus.not_comparable, []);
}

/// `read` and `mmap` over so many bytes of a cold file of 1 GiB, which is read ahead in windows of 8 MiB.
fn cold_scan(id: &str, bytes: u64, [read, mmap]: [f64; 2]) -> Record {
    let text = "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"1 MiB\"\nstate = \"cold\"\narms = [\"read\", \"mmap\"]\n";
    let mut lab = Lab::duel(scan("1 MiB", State::Cold), ("read", read), ("mmap", mmap));
    lab.record.id = id.into();
    lab.record.experiment = schema::Experiment::parse("t", text).unwrap();
    lab.record.origins = vec![0];
    lab.record.conditions[0].file_bytes = 1 << 30;
    lab.record.conditions[0].range.bytes = bytes;
    lab.record.target.device = schema::Reading::Value(schema::record::Device {
        name: "vda".into(),
        read_ahead_bytes: schema::Reading::Value(8 << 20),
        scheduler: schema::Reading::unavailable("none"),
        rotational: schema::Reading::unavailable("none"),
        through_page_cache: false,
    });
    lab.record
}

#[test]
fn random_reads_in_memory_through_a_mapping_are_held_against_as_many_alone() {
    let run = |id: &str, reads: u64, mmap: f64, state: State| {
        let mut record = cold_scan(id, 1 << 30, [100.0, mmap]);
        let under = &mut record.conditions[0];
        (under.workload, under.state, under.block_bytes, under.ops) = (schema::Workload::Random, state, 4096, reads);
        record
    };
    let judged = |reads: [u64; 2], state: State| {
        let [first, second] = [run("first", reads[0], 100.0, state), run("second", reads[1], 300.0, state)];
        let gate = gate("mmap slower 10%", &first, &[&second]).unwrap();
        let is_too_small = |it: &schema::gate::NotJudged| {
            matches!(
                it.cause,
                NotJudgedCause::OtherSizes {
                    reason: Reason::FewBlocks { blocks: 8192, job_blocks: 262_144, writes: false }
                }
            )
        };
        (gate.checked, gate.is_breached(), gate.not_judged.iter().any(is_too_small))
    };
    assert_eq!(judged([76_800, 8192], State::Cached), (0, false, true));
    assert_eq!(judged([8192, 76_800], State::Cached), (0, false, true));
    assert_eq!(judged([8192, 9000], State::Cached), (1, true, false), "nearly as many");
    assert_eq!(
        judged([8192, 76_800], State::Cold),
        (0, false, true),
        "what each miss reads ahead serves those that follow"
    );
    assert_eq!(judged([8192, 76_800], State::Mapped), (1, true, false), "none faults");
    let more_than_the_job = gate(
        "mmap slower 10%",
        &run("first", 4 << 20, 100.0, State::Cached),
        &[&run("second", 262_144, 300.0, State::Cached)],
    );
    assert!(matches!(more_than_the_job.unwrap().not_judged[0].cause, NotJudgedCause::OtherSizes { .. }));
    // A baseline that maps has no comparison of its own.
    let side = |name: &str, reads: u64| {
        [0, 1, 2].map(|at| {
            let mut record = run(&format!("{name}{at}"), reads, 100.0 + f64::from(at), State::Cached);
            record.cells[0].arm = "mmap+random".parse().unwrap();
            record
        })
    };
    let [before, after] = [side("a", 8192), side("b", 76_800)];
    let [before, after] = [&before, &after].map(|it| it.iter().collect::<Vec<&Record>>());
    let gate = gate_of_sides("mmap+random slower 10%", &before, &[after]).unwrap();
    assert!(gate.judged_nothing(), "{gate:?}");
    assert!(matches!(gate.not_judged[0].cause, NotJudgedCause::OtherSizes { .. }), "{gate:?}");
}

#[test]
fn replays_with_other_own_work_of_the_program_are_not_held_against_each_other() {
    let replayed = |id: &str, own_work_share: f64, mmap: f64| {
        let mut record = run(id, mmap).record;
        for it in &mut record.conditions {
            it.workload = schema::Workload::Replay;
            it.own_work_ns = (own_work_share * 1000.0 * it.ops as f64) as u64;
        }
        record
    };
    let compared = |own_work_share: f64| {
        let [first, second] = [replayed("first", 0.0, 1000.0), replayed("second", own_work_share, 3000.0)];
        let gate = gate("mmap slower 10%", &first, &[&second]).unwrap();
        let [a, b] = [&first, &second].map(analysis::analyze);
        let across = analysis::across((&first, &a), (&second, &b));
        let is_apart = |it: &schema::across::SharedCell| matches!(it.reason, Some(Reason::OtherOwnWork { .. }));
        let not_judged = gate.not_judged.iter().any(|it| matches!(it.cause, NotJudgedCause::OtherOwnWork { .. }));
        let answers = (across.answers.len(), across.answers_left_out);
        (gate.is_breached(), not_judged, across.cells.iter().any(is_apart), answers)
    };
    assert_eq!(compared(0.04), (true, false, false, (2, 0)));
    assert_eq!(compared(0.5), (false, true, true, (0, 2)));
}

#[test]
fn a_file_that_was_found_in_other_folios_is_not_held_against_itself() {
    let found = |id: &str, pages: f64, mmap: f64| {
        let mut record = run(id, mmap).record;
        for it in &mut record.conditions {
            (it.state, it.fill) = (State::Cached, Some(Fill::Found));
        }
        record.fills = vec![schema::record::FilledRange {
            range: record.conditions[0].range,
            fill: Some(Fill::Found),
            method: "as it was found".into(),
            elapsed_ns: 0,
            folio_orders: Reading::unavailable("no root"),
            pages_per_fault: Some(pages),
            looked_again: None,
            kept: false,
        }];
        record
    };
    let compared = |pages: [f64; 2]| {
        let [first, second] = [found("first", pages[0], 1000.0), found("second", pages[1], 3000.0)];
        let gate = gate("mmap slower 10%", &first, &[&second]).unwrap();
        let [a, b] = [&first, &second].map(analysis::analyze);
        let across = analysis::across((&first, &a), (&second, &b));
        let is_of_folios = |it: &schema::across::SharedCell| matches!(it.reason, Some(Reason::OtherFolios { .. }));
        let [before, after] = [&first, &second].map(analysis::saved_cells);
        let continues = before.iter().zip(&after).all(|(a, b)| a.continues(b));
        assert_eq!(continues, across.drift.is_some(), "a cell over time");
        let not_judged = gate.not_judged.iter().any(|it| matches!(it.cause, NotJudgedCause::OtherFolios { .. }));
        (
            gate.is_breached(),
            not_judged,
            across.cells.iter().any(is_of_folios),
            across.drift.is_some(),
            across.answers.len(),
        )
    };
    assert_eq!(compared([16.0, 16.5]), (true, false, false, true, 2));
    assert_eq!(compared([16.0, 490.0]), (false, true, true, false, 0));
}

#[test]
fn a_cold_scan_of_few_read_ahead_windows_is_not_held_against_one_of_the_whole_file() {
    let run = |id: &str, bytes: u64, mmap: f64| cold_scan(id, bytes, [100.0, mmap]);
    let (small, whole) = (run("small", 16 << 20, 50.0), run("whole", 1 << 30, 110.0));
    for (first, second) in [(&small, &whole), (&whole, &small)] {
        let gate = gate("mmap slower 10%", first, &[second]).unwrap();
        assert!(matches!(gate.not_judged[0].cause, NotJudgedCause::TooSmall { .. }), "{gate:?}");
        assert!(gate.judged_nothing() && !gate.is_breached());
    }
    let slower = run("slower", 16 << 20, 110.0);
    let gate = gate("mmap slower 10%", &small, &[&slower]).unwrap();
    assert!(gate.is_breached(), "both ask the same");
}

/// Its second arm is the baseline of its first.
fn as_baseline(mut record: Record) -> Record {
    for cell in &mut record.cells {
        cell.baseline = cell.arm.method == "pread";
    }
    record
}

#[test]
fn what_a_throttle_let_through_free_is_neither_judged_nor_a_breach() {
    let run = |id: &str, share: f64| {
        let condition = schema::Condition { ops: 200, ..random("4 KiB", State::Cold) };
        let storage = schema::condition::Storage { read_bytes_per_s: None, read_ops_per_s: Some(1000) };
        let mut lab = Lab::throttled(condition, storage, [("direct", 1.0), ("pread", share)]);
        lab.record.id = id.into();
        lab.record
    };
    let (first, second) = (run("first", 2.03), run("second", 1.56));
    let free = gate("pread slower 10%", &first, &[&second]).unwrap();
    assert!(matches!(free.not_judged[0].cause, NotJudgedCause::ThrottleExceeded { .. }), "{free:?}");
    assert!(!free.is_breached() && report::gate_not_judged(&free)[0].contains("longer passes"), "{free:?}");
    let slower = gate("pread slower 10%", &run("whole", 1.0), &[&run("half", 0.5)]).unwrap();
    assert!(slower.is_breached(), "{slower:?}");
    // A baseline is judged by its time.
    let side = |share: f64| -> Vec<Record> {
        ["a", "b", "c"].map(|id| run(&format!("{id}{share}"), share)).into_iter().map(as_baseline).collect()
    };
    let sides = [1.25, 0.95, 0.7].map(side);
    let [over, held, slow] = [0, 1, 2].map(|at| sides[at].iter().collect::<Vec<&Record>>());
    let free = gate_of_sides("pread slower 10%", &over, std::slice::from_ref(&held)).unwrap();
    assert!(
        matches!(free.not_judged[..], [NotJudged { cause: NotJudgedCause::ThrottleExceeded { .. }, .. }]),
        "{free:?}"
    );
    assert!(!free.is_breached());
    assert!(gate_of_sides("pread slower 10%", &held, &[slow]).unwrap().is_breached());
}

#[test]
fn a_gate_says_of_how_many_cells_the_passes_are_of_other_sizes() {
    let of = |ops: u64| {
        let mut lab = run("it", 2000.0);
        // In memory, where a mapping takes as long for each block whatever their number.
        (lab.record.conditions[1].ops, lab.record.conditions[1].state) = (ops, State::Mapped);
        lab.record
    };
    let sizes = |first: &Record, second: &Record| {
        let gate = gate("mmap slower 10%", first, &[second]).unwrap();
        (gate.checked, gate.other_sizes)
    };
    assert_eq!(sizes(&of(59_000), &of(8192)), (2, 1));
    assert_eq!(sizes(&of(59_000), &of(50_000)), (2, 0));
}

#[test]
fn a_gate_is_incomplete_where_one_of_its_cells_was_not_judged() {
    let [first, mut second] = ["first", "second"].map(|id| run(id, 2000.0).record);
    let whole = gate("mmap slower 10%", &first, &[&second]).unwrap();
    assert!(whole.checked == 2 && !whole.is_incomplete(), "{whole:?}");
    // Under one of the two conditions.
    second.cells[0].arm = "pread".parse().unwrap();
    let part = gate("mmap slower 10%", &first, &[&second]).unwrap();
    assert_eq!((part.checked, part.not_judged.len(), part.is_breached()), (1, 1, false), "{part:?}");
    assert!(part.is_incomplete() && !part.judged_nothing());
}

#[test]
fn a_gate_asks_what_the_arms_did_whether_a_scan_is_too_small() {
    let own = |id: &str, bytes: u64, [says, does]: [State; 2]| {
        let mut record = cold_scan(id, bytes, [100.0, 110.0]);
        record.conditions[0].state = does;
        record.cells.iter_mut().for_each(|it| it.own_condition = Some(record.conditions[0].clone()));
        record.conditions[0].state = says;
        record
    };
    let judged = |states: [State; 2]| {
        let [small, whole] = [own("small", 16 << 20, states), own("whole", 1 << 30, states)];
        let gate = gate("mmap slower 10%", &small, &[&whole]).unwrap();
        (gate.checked, matches!(gate.not_judged.first().map(|it| &it.cause), Some(NotJudgedCause::TooSmall { .. })))
    };
    assert_eq!(judged([State::Cached, State::Cold]), (0, true));
    assert_eq!(judged([State::Cold, State::Cached]), (1, false));
}

#[test]
fn no_arm_is_judged_over_runs_of_which_some_are_too_small_and_the_baseline_neither() {
    const SMALL: u64 = 16 << 20;
    const WHOLE: u64 = 1 << 30;
    let side = |name: &str, sizes: [u64; 3], times: [f64; 2]| {
        [0, 1, 2].map(|at| cold_scan(&format!("{name}{at}"), sizes[at], times.map(|it| it * (1.0 + 0.01 * at as f64))))
    };
    let judged = |arm: &str, first: [u64; 3], second: [u64; 3]| {
        let [before, after] = [side("a", first, [100.0, 50.0]), side("b", second, [200.0, 150.0])];
        let [before, after] = [&before, &after].map(|it| it.iter().collect::<Vec<&Record>>());
        gate_of_sides(&format!("{arm} scan cold slower 10%"), &before, &[after]).unwrap()
    };
    for arm in ["read", "mmap"] {
        for (first, second) in [
            ([SMALL; 3], [WHOLE; 3]),
            ([WHOLE; 3], [SMALL; 3]),
            ([WHOLE, SMALL, WHOLE], [WHOLE; 3]),
            ([WHOLE, WHOLE, SMALL], [SMALL, WHOLE, WHOLE]),
        ] {
            let gate = judged(arm, first, second);
            assert!(gate.judged_nothing(), "{arm}: {gate:?}");
            assert!(matches!(gate.not_judged[0].cause, NotJudgedCause::TooSmall { .. }), "{arm}: {gate:?}");
        }
        for size in [SMALL, WHOLE] {
            let gate = judged(arm, [size; 3], [size; 3]);
            assert_eq!((gate.checked, gate.not_judged.len(), gate.is_breached()), (1, 0, true), "{arm}: {gate:?}");
        }
    }
}

#[test]
fn a_gate_names_the_runs_that_ended_early_and_so_does_a_comparison_of_them() {
    let (whole, mut early) = (run("whole", 2000.0).record, run("early", 2000.0).record);
    early.partial = Some("interrupted".into());
    let held = gate("mmap slower 10%", &whole, &[&early]).unwrap();
    assert_eq!(held.partial.iter().collect::<Vec<_>>(), [(&"early".to_string(), &"interrupted".to_string())]);
    assert!(gate("mmap slower 10%", &whole, &[&whole]).unwrap().partial.is_empty());
    let [ours, theirs] = [&whole, &early].map(analysis::analyze);
    let versus = analysis::across((&whole, &ours), (&early, &theirs));
    let differs = Differs { what: Fact::EndedEarly, first: "no".into(), second: "interrupted".into() };
    assert!(versus.differs.contains(&differs));
}

#[test]
fn noise_of_another_kind_of_condition_keeps_no_gate() {
    let of = |id: &str, mmap: f64, plain_control_ns: f64| {
        let mut lab = Lab::new();
        lab.record.id = id.into();
        let throttle = schema::condition::Storage { read_bytes_per_s: Some(100 << 20), read_ops_per_s: None };
        for size in ["4 KiB", "16 KiB", "64 KiB"] {
            let plain = random(size, State::Cold);
            let throttled = schema::Condition { storage: Some(throttle), ..plain.clone() };
            for (condition, ns, control_ns) in [(throttled, mmap, 1000.0), (plain, 2000.0, plain_control_ns)] {
                let condition = lab.condition(condition);
                let cells = [lab.cell(condition, "read"), lab.cell(condition, "mmap"), lab.control(condition, "read")];
                for (cell, ns) in cells.into_iter().zip([1000.0, ns, control_ns]) {
                    lab.measure(cell, 10, ns, |_, _| {});
                }
            }
        }
        lab.record
    };
    for plain_control_ns in [1000.0, 1500.0] {
        let (before, after) = (of("a", 2000.0, plain_control_ns), of("b", 2600.0, plain_control_ns));
        let gate = gate("mmap slower 10%", &before, &[&after]).unwrap();
        assert_eq!((gate.breaches.len(), gate.unsure), (3, 0), "{plain_control_ns}");
    }
}
