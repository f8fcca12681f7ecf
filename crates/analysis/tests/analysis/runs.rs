//! Runs beside each other, and cells over time: what is the same cell, and what is another.

use schema::{
    Condition, Labels, Reading, Record, State, Workload,
    across::{Fact, FactSays, NotComparable, RunComparison, SharedCell},
    arm::Setting,
    command::Spec,
    condition::Storage,
    findings::Verdict,
    reason::Reason,
    record::{Device, Files, NamedPath, Outcome, Resident},
    saved::SavedCell,
};

use crate::support::{Lab, MIB, random, scan};

fn across(first: &Record, second: &Record) -> RunComparison {
    let (a, b) = (analysis::analyze(first), analysis::analyze(second));
    analysis::across((first, &a), (second, &b))
}

fn duel(id: &str) -> Lab {
    let mut lab = Lab::duel(scan("64 KiB", State::Cached), ("read", 8_000.0), ("mmap", 5_000.0));
    (lab.record.id, lab.record.target.made_here) = (id.into(), false);
    lab
}

/// Changes the tallies of every pass of a run.
fn with_tallies(lab: &Lab, change: impl Fn(usize, &mut schema::protocol::Tally)) -> Record {
    let mut record = lab.record.clone();
    record.id.push_str("-changed");
    for sample in &mut record.samples {
        if let Outcome::Ok { tally, .. } = &mut sample.outcome {
            change(sample.cell, tally);
        }
    }
    record
}

#[test]
fn a_cell_that_found_other_bytes_or_consumed_less_of_a_block_is_not_the_same_cell() {
    let first = duel("first");
    let same = with_tallies(&first, |_, _| {});
    assert!(across(&first.record, &same).not_comparable.is_empty());
    let other_bytes = with_tallies(&first, |_, it| it.checksum = "0000000000000bad".into());
    let found = across(&first.record, &other_bytes).not_comparable;
    let NotComparable::Bytes { checksums, .. } = &found[0] else { panic!("{found:?}") };
    assert!(found.len() == 2 && checksums[1] == "0000000000000bad", "{found:?}");
    let half = with_tallies(&first, |cell, it| it.bytes /= if cell == 1 { 2 } else { 1 });
    let found = across(&first.record, &half).not_comparable;
    let NotComparable::Consumed { arm, .. } = &found[0] else { panic!("{found:?}") };
    assert_eq!((found.len(), arm.as_str()), (1, "native/mmap"));
    // What is consumed of a block does not depend on how many there are in a pass, as the bytes that are found do.
    let smaller = |record: &Record, percent: u64| {
        let mut record = record.clone();
        record.id.push_str("-smaller");
        record.conditions[0].range.bytes /= 2;
        record.conditions[0].ops /= 2;
        for sample in &mut record.samples {
            let Outcome::Ok { tally, .. } = &mut sample.outcome else { continue };
            (tally.ops, tally.bytes) = (tally.ops / 2, tally.bytes / 2 * percent / 100);
        }
        record
    };
    let found = across(&first.record, &smaller(&other_bytes, 100)).not_comparable;
    assert!(found.is_empty(), "{found:?}");
    let found = across(&first.record, &smaller(&other_bytes, 50)).not_comparable;
    assert!(matches!(found[..], [NotComparable::Consumed { .. }, NotComparable::Consumed { .. }]), "{found:?}");
    // A last block that is cut off is half of what one of two is, and a thousandth of a thousand.
    let mut short = smaller(&first.record, 75);
    (short.conditions[0].range.bytes, short.conditions[0].ops) = (96 << 10, 2);
    let found = across(&first.record, &short).not_comparable;
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_shared_cell_with_a_block_of_its_own_is_called_by_that_block() {
    let [first, second] = ["first", "second"].map(|id| {
        let mut lab = duel(id);
        lab.own(1, |it| it.block_bytes = 4096);
        lab.record
    });
    let across = across(&first, &second);
    assert_eq!(across.cells[1].own_condition.as_ref().map(|it| it.block_bytes), Some(4096));
    let across = schema::across::Across { schema_version: 1, versus: vec![across], gates: Vec::new() };
    let markdown = report::across_markdown(&across);
    assert!(markdown.contains("| scan 64 KiB cached, 4 KiB instead of 64 KiB mmap |"), "{markdown}");
    assert!(markdown.contains("| scan 64 KiB cached read |"), "{markdown}");
}

#[test]
fn bytes_that_faultline_drew_or_that_changed_from_pass_to_pass_are_not_held_against_each_other() {
    let mut first = duel("first");
    let mut drawn = with_tallies(&first, |_, it| it.checksum = "0000000000000bad".into());
    (first.record.target.made_here, drawn.target.made_here) = (true, true);
    assert!(across(&first.record, &drawn).not_comparable.is_empty());
    let mut random = duel("first");
    random.record.conditions[0].workload = Workload::Random;
    let other = with_tallies(&random, |_, it| it.checksum = "0000000000000bad".into());
    assert!(across(&random.record, &other).not_comparable.is_empty());
}

#[test]
fn what_a_throttle_let_through_free_in_one_run_decides_nothing_about_two() {
    let run = |id: &str, share: f64| {
        let condition = Condition { ops: 200, ..random("4 KiB", State::Cold) };
        let storage = Storage { read_bytes_per_s: None, read_ops_per_s: Some(1000) };
        let mut lab = Lab::throttled(condition, storage, [("direct", 1.0), ("pread", share)]);
        (lab.record.id, lab.record.target.made_here) = (id.into(), true);
        lab.record
    };
    let of = |first: f64, second: f64| {
        let cells = across(&run("first", first), &run("second", second)).cells;
        let came_free = |it: &SharedCell| matches!(it.reason, Some(Reason::ThrottleExceeded { .. }));
        assert!(!came_free(&cells[0]), "both got their limit: {:?}", cells[0]);
        (cells[1].verdict, came_free(&cells[1]))
    };
    assert_eq!(of(1.0, 1.69), (Verdict::Undecided, true));
    assert_eq!(of(1.69, 1.0), (Verdict::Undecided, true));
    assert_eq!(of(1.69, 0.5), (Verdict::Slower, false));
    assert_eq!(of(1.69, 1.69), (Verdict::Same, false));
    assert_eq!(of(0.5, 1.0), (Verdict::Faster, false));
}

#[test]
fn two_machines_of_one_nodename_are_two() {
    let on = |id: &str, key: &str, hardware: &str| {
        let mut record = duel(id).record;
        let source = schema::machine::KeySource::MachineId;
        let (key, hardware) = (key.to_string(), hardware.to_string());
        record.environment.machine = Some(schema::machine::Machine { key, boot: Some(id.into()), hardware, source });
        record
    };
    let differs = |a: &Record, b: &Record| across(a, b).differs.into_iter().map(|it| it.what).collect::<Vec<Fact>>();
    let first = on("first", "0123", "aa");
    assert_eq!(differs(&first, &on("second", "0123", "aa")), [], "another boot is no other machine");
    assert_eq!(differs(&first, &on("second", "4567", "aa")), [Fact::Machine]);
    assert_eq!(differs(&first, &on("second", "0123", "bb")), [Fact::Machine]);
    assert_eq!(differs(&first, &duel("older").record), [], "an older record does not say");
}

#[test]
fn what_differs_names_the_folder_of_the_commands_and_the_schemes_of_the_kernel() {
    let (mut first, mut second) = (duel("first"), duel("second"));
    first.record.folder = Some("/here".into());
    second.record.folder = Some("/there".into());
    let vm = [("vm".to_string(), "HotSpot".to_string())].into();
    second.record.runtimes.insert("jvm 25".into(), vm);
    let scheme =
        schema::record::ReclaimScheme { kdamond: 0, action: "pageout".into(), idle_s: 5.0, quota_bytes_per_s: None };
    first.record.environment.reclaim_schemes = Reading::Value(vec![]);
    second.record.environment.reclaim_schemes = Reading::Value(vec![scheme.clone()]);
    let versus = across(&first.record, &second.record);
    let differs_in = |what: Fact| {
        let it = versus.differs.iter().find(|it| it.what == what).unwrap_or_else(|| panic!("{:?}", versus.differs));
        [it.first.clone(), it.second.clone()]
    };
    assert_eq!(differs_in(Fact::Folder), ["/here", "/there"].map(FactSays::from));
    assert_eq!(differs_in(Fact::Runtimes), ["none", "jvm 25 (vm: HotSpot)"].map(FactSays::from));
    assert_eq!(differs_in(Fact::ReclaimSchemes), [vec![], vec![scheme]].map(FactSays::Schemes));
}

#[test]
fn the_drift_of_two_runs_has_the_ends_of_their_intervals() {
    let versus = across(&duel("first").record, &duel("second").record);
    let (drift, [low, high]) = (versus.drift.unwrap(), versus.drift_ends.unwrap());
    assert!(low < 1.0 && 1.0 < high && low <= drift && drift <= high, "{low} {drift} {high}");
}

/// A run of one command, under the name `grep`.
fn command(line: &str) -> Record {
    let mut lab = Lab::new();
    let condition = Condition { workload: Workload::Command, ops: 1, ..Condition::plain(1 << 20) };
    let condition = lab.condition(condition);
    let cell = lab.cell(condition, "read");
    let spec = Spec {
        line: line.into(),
        name: "grep".into(),
        shell: None,
        prepare: None,
        cleanup: None,
        timeout_s: 7,
        compared: schema::command::Compared::Output,
    };
    lab.record.cells[cell].arm = spec.arm();
    lab.measure(cell, 10, 1e6, |_, _| {});
    lab.record
}

#[test]
fn another_command_under_the_same_name_is_another_series() {
    let [one, same, other] =
        ["grep x f", "grep x f", "grep y f"].map(|it| analysis::saved_cells(&command(it)).remove(0));
    assert!(one.continues(&same) && !one.continues(&other));
}

#[test]
fn a_command_with_another_time_limit_is_the_same_command() {
    let (first, mut second) = (command("grep x f"), command("grep x f"));
    second.id = "second".into();
    for (key, setting) in [("timeout_s", Setting::Number(120)), ("output", Setting::Word("ignored".into()))] {
        second.cells[0].arm.options.insert(key.into(), setting);
    }
    assert_eq!(across(&first, &second).not_comparable, []);
    assert!(analysis::saved_cells(&first)[0].continues(&analysis::saved_cells(&second)[0]));
}

#[test]
fn an_output_that_one_of_two_runs_ignored_is_not_held_against_that_of_the_other() {
    let of = |id: &str, output: &str, checksum: &str| {
        let mut record = command("grep x f");
        (record.id, record.target.made_here) = (id.into(), false);
        record.cells[0].arm.options.insert("output".into(), Setting::Word(output.into()));
        for sample in &mut record.samples {
            if let Outcome::Ok { tally, .. } = &mut sample.outcome {
                tally.checksum = checksum.into();
            }
        }
        record
    };
    const NONE: &str = "0000000000000000";
    let compared = of("compared", "compared", "0000000000000bad");
    let ignored = of("ignored", "ignored", NONE);
    assert_eq!(across(&compared, &ignored).not_comparable, []);
    assert_eq!(across(&ignored, &compared).not_comparable, []);
    let newer = of("newer", "compared", "xxh3-0000000000000bad");
    assert_eq!(across(&compared, &newer).not_comparable, [], "sums of two kinds");
    let other = across(&compared, &of("other", "compared", NONE)).not_comparable;
    assert!(matches!(other[..], [NotComparable::Output { .. }]), "{other:?}");
}

#[test]
fn other_files_beside_the_first_are_another_series_and_another_order_is_not() {
    let of = |names: [&str; 2]| {
        let mut record = command("scan");
        let named = names.map(|it| NamedPath { path: it.into(), folder: false }).to_vec();
        record.target.files = Some(Files { named, count: 2, folders: 0, first: Vec::new() });
        analysis::saved_cells(&record).remove(0)
    };
    let one = of(["/a", "/b"]);
    assert!(one.continues(&of(["/b", "/a"])) && !one.continues(&of(["/a", "/c"])));
}

#[test]
fn other_bytes_in_the_same_windows_are_another_series() {
    let lab = duel("first");
    let changed = |lab: &Lab| with_tallies(lab, |_, tally| tally.checksum = "0000000000000bad".into());
    let continues =
        |one: &Record, other: &Record| analysis::saved_cells(one)[0].continues(&analysis::saved_cells(other)[0]);
    assert!(continues(&lab.record, &with_tallies(&lab, |_, _| {})));
    assert!(!continues(&lab.record, &changed(&lab)), "as `compare` says");
    let mut smaller = changed(&lab);
    smaller.conditions[0].ops /= 2;
    assert!(continues(&lab.record, &smaller), "passes of two sizes find other bytes");
    let mut moved = changed(&lab);
    moved.samples.iter_mut().for_each(|it| it.window_offset = Some(MIB));
    assert!(continues(&lab.record, &moved), "other windows");
    let mut own = duel("own");
    own.record.target.made_here = true;
    assert!(continues(&own.record, &changed(&own)), "faultline's own bytes are of a seed");
    let random = Lab::duel(random("4 KiB", State::Cached), ("read", 8_000.0), ("mmap", 5_000.0));
    assert!(continues(&random.record, &changed(&random)), "offsets are of a seed");
    let mut half = with_tallies(&random, |_, tally| tally.bytes /= 2);
    assert!(!continues(&random.record, &half), "they consumed less of each block, as `compare` says");
    half.id = "half".into();
    assert!(matches!(across(&random.record, &half).not_comparable[..], [NotComparable::Consumed { .. }, ..]));
}

#[test]
fn a_command_that_prints_something_else_is_another_series_as_runs_of_it_are_not_comparable() {
    let of = |id: &str, checksums: [&str; 2]| {
        let mut record = command("grep x f");
        (record.id, record.target.made_here) = (id.into(), false);
        for (at, sample) in record.samples.iter_mut().enumerate() {
            let Outcome::Ok { tally, .. } = &mut sample.outcome else { unreachable!() };
            tally.checksum = checksums[at % 2].into();
        }
        record
    };
    const OLD: &str = "0000000000000bad";
    let (one, other, new) = ("xxh3-0000000000000001", "xxh3-0000000000000002", "xxh3-0000000000000003");
    let first = of("first", [one; 2]);
    let mut ignored = of("ignored", [other; 2]);
    ignored.cells[0].arm.options.insert("output".into(), Setting::Word("ignored".into()));
    for (second, did_the_same) in [
        (of("same", [one; 2]), true),
        (of("other", [other; 2]), false),
        (of("older", [OLD; 2]), true),
        (of("changing", [other, new]), true),
        (ignored, true),
    ] {
        let continues = analysis::saved_cells(&first)[0].continues(&analysis::saved_cells(&second)[0]);
        assert_eq!(continues, did_the_same, "{}", second.id);
        assert_eq!(across(&first, &second).not_comparable.is_empty(), did_the_same, "{}", second.id);
    }
}

#[test]
fn another_file_system_device_or_read_ahead_under_one_path_is_another_series() {
    let of = |file_system: &str, name: &str, read_ahead: u64| {
        let mut lab = duel("first");
        lab.record.target.file_system = file_system.into();
        lab.record.target.device = Reading::Value(Device {
            name: name.into(),
            read_ahead_bytes: Reading::Value(read_ahead),
            scheduler: Reading::unavailable("not looked at"),
            rotational: Reading::unavailable("not looked at"),
            through_page_cache: false,
        });
        analysis::saved_cells(&lab.record).remove(0)
    };
    let first = of("ext4", "vda", 128 << 10);
    assert!(first.continues(&of("ext4", "vda", 128 << 10)));
    for other in [of("xfs", "vda", 128 << 10), of("ext4", "vdb", 128 << 10), of("ext4", "vda", 4 << 20)] {
        assert!(!first.continues(&other), "{:?}", other.place);
    }
}

#[test]
fn another_version_of_the_runtime_of_an_arm_is_another_series_and_that_of_other_arms_is_not() {
    let of = |name: &str, vm: &str, home: &str| {
        let mut lab = Lab::duel(scan("64 KiB", State::Cached), ("read", 8_000.0), ("python/read", 9_000.0));
        let facts = [("vm", vm), ("home", home)].map(|(key, it)| (key.to_string(), it.to_string()));
        lab.record.runtimes.insert(name.into(), facts.into());
        analysis::saved_cells(&lab.record)
    };
    let first = of("python 3.9.18", "cpython", "/usr");
    let continued = |other: &[SavedCell]| [0, 1].map(|at| first[at].continues(&other[at]));
    assert_eq!(continued(&of("python 3.9.18", "cpython", "/usr/local")), [true, true]);
    assert_eq!(continued(&of("python 3.11.7", "cpython", "/usr")), [true, false]);
    assert_eq!(continued(&of("python 3.9.18", "pypy", "/usr")), [true, false]);
    let saved = serde_json::to_value(&first).unwrap();
    assert_eq!(saved[1]["runtime"], serde_json::json!({ "python 3.9.18": "cpython" }));
}

/// One comparison in state limited; the range is so many MiB.
fn limited(id: &str, mib: u64, memory: &str) -> Record {
    let text = format!(
        "title = \"x\"\n[[compare]]\narms = [\"pread\", \"mmap\"]\nworkload = \"random\"\nblock = \"4 KiB\"\n\
         state = \"limited\"\n{memory}\n"
    );
    let mut lab = Lab::of_experiment(&text);
    lab.record.id = id.into();
    let share = lab.record.experiment.comparisons[0].memory.unwrap_or(0.5);
    for it in &mut lab.record.conditions {
        it.range.bytes = mib << 20;
        it.memory_bytes = Some((it.range.bytes as f64 * share) as u64);
    }
    for cell in 0..lab.record.cells.len() {
        lab.measure(cell, 10, 1_000.0, |_, _| {});
    }
    lab.record
}

#[test]
fn the_memory_that_follows_from_a_range_of_the_planners_is_no_other_subject() {
    let written = "range = { bytes = \"32 MiB\" }";
    let is_same = |first: &Record, second: &Record| {
        let continues = analysis::saved_cells(first)[0].continues(&analysis::saved_cells(second)[0]);
        let comparable = across(first, second).not_comparable.is_empty();
        assert_eq!(continues, comparable);
        comparable
    };
    assert!(is_same(&limited("first", 64, ""), &limited("second", 63, "")));
    assert!(!is_same(&limited("first", 64, ""), &limited("second", 64, "memory = 0.25")), "another share");
    assert!(!is_same(&limited("first", 32, written), &limited("second", 31, written)), "the range was written down");
}

#[test]
fn a_file_of_which_another_part_was_found_is_another_start() {
    let run = |state: State, percent: u64| {
        let mut lab = Lab::new();
        let condition = lab.condition(Condition { ops: 1, state, ..Condition::plain(1 << 26) });
        let cell = lab.cell(condition, "read");
        lab.measure(cell, 10, 1e6, |_, _| {});
        lab.record.id = format!("{state} {percent}");
        for it in &mut lab.record.samples {
            it.resident_before = Reading::Value(Resident { pages: 100 * percent, of: 10_000 });
        }
        lab.record
    };
    let [tenth, about, most] = [10, 11, 90].map(|it| run(State::AsFound, it));
    let pages = |pages| Resident { pages, of: 10_000 };
    assert_eq!(analysis::analyze(&tenth).found, Some(pages(1000)));
    assert_eq!(across(&tenth, &about).not_comparable, []);
    assert_eq!(across(&tenth, &most).not_comparable, [NotComparable::Found { pages: [pages(1000), pages(9000)] }]);
    let saved = [&tenth, &about, &most].map(|it| analysis::saved_cells(it).remove(0));
    assert!(saved[0].continues(&saved[1]) && !saved[0].continues(&saved[2]));
    // What a pass of another state begins with is the state's doing.
    let limited = [10, 90].map(|it| run(State::Limited, it));
    assert_eq!(across(&limited[0], &limited[1]).not_comparable, []);
    assert!(analysis::saved_cells(&limited[0])[0].continues(&analysis::saved_cells(&limited[1])[0]));
    assert_eq!(analysis::analyze(&limited[0]).found, None);
}

#[test]
fn a_cell_that_was_not_measured_keeps_its_number_and_is_not_kept() {
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64 KiB", State::Cached));
    let cells = [lab.cell(condition, "read"), lab.cell(condition, "read")];
    lab.measure(cells[1], 10, 8_000.0, |_, _| {});
    let saved = analysis::saved_cells(&lab.record);
    assert_eq!(saved.iter().map(|it| it.occurrence).collect::<Vec<u32>>(), [1]);
    assert!(saved[0].ns_per_op.median > 0.0);
}

#[test]
fn a_gate_calls_its_cells_what_tells_the_conditions_of_the_run_apart() {
    let run = |id: &str, ns: f64| {
        let mut lab = Lab::new();
        lab.record.id = id.into();
        for threads in [1, 4] {
            let condition = lab.condition(Condition { threads, ..scan("64 KiB", State::Cached) });
            let cells = [lab.cell(condition, "read"), lab.cell(condition, "mmap")];
            lab.measure(cells[0], 10, 1_000.0, |_, _| {});
            lab.measure(cells[1], 10, ns, |_, _| {});
        }
        lab.record
    };
    let (first, second) = (run("first", 1_000.0), run("second", 3_000.0));
    let (a, b) = (analysis::analyze(&first), analysis::analyze(&second));
    let gate = analysis::gate(&"mmap slower 10%".parse().unwrap(), &[(&first, &a)], &[vec![(&second, &b)]]).unwrap();
    let labels = Labels::of(&first);
    let breached: Vec<String> = gate.breaches.iter().map(|it| it.label.clone()).collect();
    assert_eq!(breached, [labels.label(0), labels.label(1)]);
    assert_ne!(breached[0], breached[1]);
}

/// One comparison of random reads, with these sizes of a pass.
fn sized(id: &str, size: &str) -> Record {
    let text = format!(
        "title = \"x\"\n[[compare]]\narms = [\"pread\", \"mmap\"]\nworkload = \"random\"\nblock = \"4 KiB\"\n\
         state = \"cached\"\n{size}\n"
    );
    let mut lab = Lab::of_experiment(&text);
    lab.record.id = id.into();
    for cell in 0..lab.record.cells.len() {
        lab.measure(cell, 10, 1_000.0, |_, _| {});
    }
    lab.record
}

#[test]
fn what_both_runs_made_is_not_said_to_be_only_in_one_where_there_are_too_few_rounds_for_an_interval() {
    let long = sized("long", "");
    let mut short = Lab { record: Record { id: "short".into(), samples: Vec::new(), ..long.clone() } };
    short.measure(0, 1, 1_000.0, |_, _| {});
    let counts = |it: &schema::across::RunComparison| (it.cells.len(), it.only_first, it.only_second, it.no_interval);
    let of_first = |it: &str| long.cells.iter().filter(|cell| !cell.control && (cell.arm.name == it)).count() as u32;
    let (made, all) = (1, of_first("native/pread") + of_first("native/mmap"));
    assert_eq!(counts(&across(&long, &short.record)), (0, all - made, 0, made));
    assert_eq!(counts(&across(&short.record, &long)), (0, 0, all - made, made));
}

#[test]
fn a_size_that_was_written_down_is_part_of_the_question() {
    let whole = sized("whole", "");
    let other = sized("other", "range = { bytes = \"16 MiB\" }");
    let apart = across(&whole, &other);
    assert_eq!((apart.cells.len(), apart.only_first, apart.only_second), (0, 2, 2));
    assert_eq!(across(&other, &sized("again", "range = { bytes = \"16 MiB\" }")).cells.len(), 2);
    let jobs = across(&sized("jobs", "ops = [10, 1000]"), &sized("one", "ops = 1000"));
    assert_eq!((jobs.cells.len(), jobs.only_first), (2, 2));
    assert!(jobs.cells.iter().all(|it| it.condition.ops == 1000 && it.sizes.is_none()));
}

#[test]
fn passes_of_other_sizes_are_said_beside_each_other() {
    let (first, mut second) = (sized("first", ""), sized("second", ""));
    assert!(across(&first, &second).cells.iter().all(|it| it.sizes.is_none()));
    second.conditions[0].ops /= 8;
    let sizes = across(&first, &second).cells[0].sizes.unwrap();
    assert_eq!(sizes.map(|it| it.ops), [16_384, 2048]);
}

#[test]
fn a_number_of_reads_that_was_written_down_is_a_series_of_its_own() {
    let both = analysis::saved_cells(&sized("jobs", "ops = [10, 1000]"));
    let one = analysis::saved_cells(&sized("one", "ops = 1000"));
    let continued: Vec<u64> = both.iter().filter(|it| it.continues(&one[0])).map(|it| it.under.ops).collect();
    assert_eq!(continued, [1000]);
}

#[test]
fn a_cell_that_two_comparisons_have_is_paired_with_the_one_of_its_baseline() {
    let of = |id: &str, baselines: [&str; 2]| {
        let compare = |baseline: &str| {
            format!(
                "[[compare]]\narms = [\"{baseline}\", \"mmap\"]\nworkload = \"scan\"\nblock = [\"4 KiB\"]\nstate = \"cached\"\n"
            )
        };
        let mut lab = Lab::of_experiment(&format!("title = \"Two\"\n{}", baselines.map(compare).concat()));
        lab.record.id = id.into();
        for cell in 0..lab.record.cells.len() {
            lab.measure(cell, 10, 5_000.0, |_, _| {});
        }
        lab.record
    };
    let found = across(&of("first", ["pread", "read"]), &of("second", ["read", "pread"]));
    let answers: Vec<[usize; 2]> = found.answers.iter().map(|it| [it.first_id.cell, it.second_id.cell]).collect();
    assert_eq!(answers, [[1, 3], [3, 1]], "{:?}", found.answers);
}
