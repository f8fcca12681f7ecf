//! What a run answers, and what it leaves untouched.

use std::{fs, os::unix::fs::MetadataExt};

use schema::{
    Consume, Skip, State,
    record::{Outcome, Reading},
};
use serde_json::Value;

use crate::support::{Output, Sandbox, failure};

#[test]
fn json_is_one_document_with_everything_that_is_promised() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 2 << 20);
    let output = sandbox.run_short(&file, &["--json", "--rounds=6"]);
    output.sane();
    let document = output.document();
    // The exit code says what the map of the document says. The map may say that no arm is faster than the baseline where
    // every comparison alone is undecided between slower and the same.
    let answered = document.findings.map.iter().any(|it| it.verdict.is_decided());
    assert_eq!(output.code(), Some(if answered { 0 } else { 3 }));
    assert_eq!(document.record, sandbox.record(), "what is printed is what is saved");

    let value: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(value["schema_version"], 1);
    has(&value, &["schema_version", "record", "findings"]);
    let findings = &value["findings"];
    has(findings, &["cells", "comparisons", "map", "crossovers", "noise_floor", "claims"]);
    has(&findings["noise_floor"], &["half_width", "pairs", "rejected"]);
    assert!(findings["crossovers"].is_array() && findings["claims"].is_array());
    assert_eq!(findings["cells"].as_array().unwrap().len(), 3);
    for cell in findings["cells"].as_array().unwrap() {
        has(
            cell,
            &[
                "arm",
                "condition",
                "status",
                "reason",
                "samples",
                "ns_per_op",
                "bytes_per_s",
                "user_ns_per_op",
                "system_ns_per_op",
                "minor_faults",
                "major_faults",
                "device_read_bytes",
                "device_write_bytes",
            ],
        );
        has(&cell["arm"], &["runtime", "method", "options", "name"]);
        condition(&cell["condition"]);
        assert_eq!(cell["status"], "ok");
        has(&cell["ns_per_op"], &["median", "ci_low", "ci_high"]);
        has(&cell["bytes_per_s"], &["median"]);
    }
    assert!(!findings["comparisons"].as_array().unwrap().is_empty());
    for comparison in findings["comparisons"].as_array().unwrap() {
        has(
            comparison,
            &["condition", "baseline", "arm", "speedup", "verdict", "reason", "warnings", "because", "explained_share"],
        );
        condition(&comparison["condition"]);
        has(&comparison["speedup"], &["median", "ci_low", "ci_high"]);
        let verdict = comparison["verdict"].as_str().unwrap();
        assert!(["faster", "slower", "same", "undecided", "not_comparable"].contains(&verdict), "{verdict}");
    }
}

#[track_caller]
fn has(value: &Value, keys: &[&str]) {
    let object = value.as_object().unwrap_or_else(|| panic!("{keys:?} are expected in {value}"));
    for key in keys {
        assert!(object.contains_key(*key), "{key} is not in {:?}", object.keys());
    }
}

#[track_caller]
fn condition(value: &Value) {
    has(value, &["workload", "consume", "block_bytes", "state", "file_bytes", "threads", "durability", "storage"]);
}

#[test]
fn crossovers_have_the_keys_that_are_promised() {
    let sandbox = Sandbox::new();
    let saved = sandbox.write("saved.json", include_str!("../../analysis/tests/records/crossover.json"));
    let output = sandbox.run(&["report", &saved, "--json"]);
    output.sane();
    let value: Value = serde_json::from_str(&output.stdout).unwrap();
    let crossovers = value["findings"]["crossovers"].as_array().unwrap();
    assert!(!crossovers.is_empty());
    for crossover in crossovers {
        has(crossover, &["arms", "workload", "consume", "state", "axis", "at", "statement"]);
        assert_eq!(crossover["axis"], "block_bytes");
        assert_eq!(crossover["arms"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn the_file_is_the_same_afterwards() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 2_000_003);
    let before = (fs::read(&file).unwrap(), fs::metadata(&file).unwrap());
    let output = sandbox.run(&[
        "run",
        &file,
        "--method=read,mmap,direct,stdio-mmap",
        "--workload=scan",
        "--block=64KiB",
        "--state=cold,cached,mapped,locked,as-is",
        "--rounds=1",
        "--budget=44s",
    ]);
    output.sane();
    let after = fs::metadata(&file).unwrap();
    assert!(fs::read(&file).unwrap() == before.0, "its bytes changed");
    let of = |it: &fs::Metadata| {
        (it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec(), it.ino(), it.blocks(), it.mode())
    };
    assert_eq!(of(&after), of(&before.1));
    assert_eq!(sandbox.left(), ["file"]);
}

#[test]
fn pages_that_several_threads_lock_are_locked_whatever_their_number() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1_000_003);
    for threads in ["--threads=3", "--threads=5"] {
        let more = ["--method=mmap", "--workload=scan", "--block=64KiB", "--state=locked", threads, "--json"];
        let output = sandbox.run_short(&file, &more);
        output.sane();
        let record = output.document().record;
        assert!(!record.samples.is_empty(), "{threads}");
        assert_eq!(record.samples.iter().filter_map(failure).collect::<Vec<_>>(), [""; 0], "{threads}");
    }
}

#[test]
fn a_folder_gets_a_test_file_and_is_as_it_was_afterwards() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let output = sandbox.run_short(&folder, &["--size=2MiB", "--json"]);
    output.sane();
    let target = output.document().record.target;
    assert!(target.made_here);
    assert_eq!((target.bytes, target.allocated_bytes >= target.bytes), (2 << 20, true), "never sparse");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(sandbox.noted(), 0);
}

#[test]
fn one_seed_gives_one_order_of_passes_and_another_seed_another() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let order = |seed: &str| -> Vec<(usize, u32)> {
        let output = sandbox.run(&[
            "run",
            &file,
            "--method=read,pread,stdio",
            "--workload=scan",
            "--block=64KiB,256KiB",
            "--state=cached",
            "--rounds=2",
            "--budget=44s",
            "--json",
            seed,
        ]);
        output.sane();
        let samples = output.document().record.samples;
        assert!(samples.iter().enumerate().all(|(index, sample)| sample.order as usize == index));
        samples.iter().map(|it| (it.cell, it.round)).collect()
    };
    let first = order("--seed=7");
    assert_eq!(first.len(), 16);
    assert_eq!(first, order("--seed=7"));
    // Sixteen passes in eight-factorial and more orders: two seeds that agree would be a generator that ignores them.
    assert_ne!(first, order("--seed=8"));
    // Within a round every cell comes once.
    for round in 0..2 {
        let mut cells: Vec<usize> = first.iter().filter(|it| it.1 == round).map(|it| it.0).collect();
        cells.sort_unstable();
        assert_eq!(cells, (0..8).collect::<Vec<_>>());
    }
}

#[test]
fn every_pass_that_counts_started_from_its_state() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 2 << 20);
    let output = sandbox.run(&[
        "run",
        &file,
        "--method=read,mmap,uring",
        "--workload=scan",
        "--block=64KiB",
        "--state=cold,cached,mapped,locked",
        "--rounds=2",
        "--budget=44s",
        "--json",
    ]);
    output.sane();
    let record = output.document().record;
    let mut counted = 0;
    for sample in &record.samples {
        let state = record.conditions[record.cells[sample.cell].condition].state;
        let (Outcome::Ok { tally, .. }, Reading::Value(before)) = (&sample.outcome, &sample.resident_before) else {
            continue;
        };
        counted += 1;
        assert!(tally.distinct_bytes > 0);
        match state {
            State::Cold => assert_eq!(before.pages, 0, "{sample:?}"),
            State::Cached | State::Mapped | State::Locked => {
                assert_eq!(before.pages, before.of, "{sample:?}");
                assert_eq!(sample.resident_after.value().unwrap().pages, before.of, "{sample:?}");
            }
            State::Limited | State::AsIs | State::AsFound => unreachable!("not asked for"),
        }
    }
    if record.target.residency.value().is_none() {
        println!("skipped: residency cannot be verified on this file system");
        return;
    }
    assert!(counted * 2 > record.samples.len(), "{counted} of {} passes could be verified", record.samples.len());
    for cell in record.cells.iter().filter(|it| it.skipped.is_some()) {
        assert!(!cell.skipped.as_ref().unwrap().to_string().is_empty());
    }
}

#[test]
fn the_first_method_is_the_baseline() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    for (methods, baseline) in [("pread,read", "native/pread"), ("read,pread", "native/read")] {
        let output = sandbox.run(&[
            "run",
            &file,
            "--method",
            methods,
            "--workload=scan",
            "--block=64KiB",
            "--state=cached",
            "--rounds=1",
            "--budget=44s",
            "--json",
        ]);
        output.sane();
        let comparisons = output.document().findings.comparisons;
        assert!(!comparisons.is_empty());
        assert!(comparisons.iter().all(|it| it.baseline == baseline && it.arm != baseline), "{comparisons:?}");
    }
}

#[test]
fn every_arm_of_a_condition_does_the_same_work() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1_000_003);
    let output = sandbox.run(&[
        "run",
        &file,
        "--method=read,pread,stdio,stdio-mmap,mmap,mmap+sequential,uring",
        "--consume=touch,sum,copy,lines",
        "--workload=scan",
        "--block=64KiB",
        "--state=cached",
        "--rounds=1",
        "--budget=44s",
        "--json",
    ]);
    output.sane();
    let record = output.document().record;
    for index in 0..record.conditions.len() {
        let mut tallies: Vec<(u64, u64, u64, &str)> = record
            .samples
            .iter()
            .filter(|it| record.cells[it.cell].condition == index)
            .filter_map(|it| match &it.outcome {
                Outcome::Ok { tally, .. } => {
                    Some((tally.ops, tally.bytes, tally.distinct_bytes, tally.checksum.as_str()))
                }
                Outcome::Invalid { .. } | Outcome::Failed { .. } => None,
            })
            .collect();
        assert!(tallies.len() > 5, "{:?}", record.conditions[index]);
        tallies.dedup();
        assert_eq!(tallies.len(), 1, "{:?}: {tallies:?}", record.conditions[index]);
    }
    assert_eq!(record.samples.iter().filter_map(failure).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_report_shows_a_run_as_the_run_showed_itself() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let run = sandbox.run_short(&file, &["--details"]);
    run.sane();
    // A run also says where it was saved and how to show it again.
    let without_place = |text: &str| -> String {
        let shown: Vec<&str> =
            text.lines().filter(|it| !it.starts_with("Saved:") && !it.starts_with("Again:")).collect();
        shown.join("\n").trim_end().to_string()
    };
    let id = sandbox.record().id;
    for which in ["last", &id, &id[..12], sandbox.saved().unwrap().to_str().unwrap()] {
        let report = sandbox.run(&["report", which]).expect(0);
        assert_eq!(without_place(&report.stdout), without_place(&run.stdout), "{which}");
    }
    assert_eq!(sandbox.run(&["report"]).expect(0).stdout, sandbox.run(&["report", "last"]).stdout);
    let listed = sandbox.run(&["list", "runs"]).expect(0);
    assert!(listed.stdout.starts_with(&id), "{}", listed.stdout);
}

#[test]
fn a_run_ends_with_its_answer_and_names_the_command_that_shows_the_rest() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let run = sandbox.run_short(&file, &[]);
    run.sane();
    assert!(!run.stdout.contains("Environment"), "{}", run.stdout);
    // Behind words on what was lost, it may begin at the end of a line.
    let words = run.stdout.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(words.contains(&format!("faultline report {}", &sandbox.record().id[..24])), "{}", run.stdout);
    // What is not saved cannot be shown later.
    let unsaved = Sandbox::new();
    std::fs::write(unsaved.at("data"), "no folder").unwrap();
    let file = unsaved.file("file", 1 << 20);
    let all = unsaved.run_short(&file, &[]);
    assert!(all.stdout.contains("Environment"), "{all:#?}");
}

#[test]
fn a_dry_run_measures_and_writes_nothing() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let output = sandbox.run(&["run", &folder, "--dry-run", "--size=3MiB"]).expect(0);
    assert!(output.stdout.contains("3 MiB") && output.stdout.contains("free"), "{}", output.stdout);
    let file = sandbox.file("file", 4096);
    let before = fs::metadata(&file).unwrap().accessed().ok();
    sandbox.run(&["run", &file, "--dry-run", "--json"]).expect(0);
    assert_eq!(fs::metadata(&file).unwrap().accessed().ok(), before, "nobody read the file");
    assert_eq!(sandbox.left(), ["file", "folder"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert!(!sandbox.data().exists());
}

#[track_caller]
fn plan_of(output: &Output) -> schema::plan::PlannedRun {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:#?}"))
}

#[test]
fn a_dry_run_gives_its_plan_as_json_on_stdout_or_in_a_file() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let args = ["run", &folder, "--dry-run", "--size=3MiB", "--method=read,mmap", "--state=cached", "--budget=7s"];
    let plan = plan_of(&sandbox.run(&[&args[..], &["--json"]].concat()).expect(0));
    assert_eq!((plan.made_here, plan.file_bytes, plan.written_bytes), (true, 3 << 20, 3 << 20));
    assert_eq!((plan.expected_s, plan.seed, plan.experiment.as_str()), (Some(7.0), 1, "survey"));
    assert!(plan.conditions.iter().all(|it| it.condition.state == schema::State::Cached && it.cells.len() == 2));
    let output = sandbox.run(&[&args[..], &["--json=plan.json"]].concat()).expect(0);
    output.shows(&["scan 4 KiB cached"]);
    let written = fs::read_to_string(sandbox.at("plan.json")).unwrap();
    let again: schema::plan::PlannedRun = serde_json::from_str(&written).unwrap();
    assert_eq!(again.conditions, plan.conditions);
    let study = sandbox.run(&["reproduce", "random-4k-2021", "--dry-run", "--json"]).expect(0);
    assert!(plan_of(&study).conditions.iter().all(|it| it.variant.is_some()));
}

#[test]
fn what_only_writes_is_consumed_by_nothing_and_what_reads_beside_it_is() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let plan = |more: &[&str]| {
        sandbox.run(&[&["run", &folder, "--dry-run", "--json", "--size=8MiB", "--consume=copy"], more].concat())
    };
    for written in [&["-e", "write-back"][..], &["-e", "fills", "--workload=overwrite-random"]] {
        plan(written).expect(2).says(&["--consume", "only writes"]);
    }
    let compare = |name: &str, arms: &str, workload: &str| {
        format!(
            "[[compare]]\nname = '{name}'\narms = [{arms}]\nworkload = '{workload}'\nstate = 'cached'\nblock = '4 KiB'\n"
        )
    };
    let writes = compare("w", "'pwrite', 'write'", "overwrite");
    let both = format!("title = 'Both'\n{writes}{}", compare("r", "'read', 'mmap'", "scan"));
    let file = sandbox.at("both.toml");
    fs::write(&file, both).unwrap();
    let plan = plan_of(&plan(&["-e", &file]).expect(0));
    let consumes: Vec<(bool, Consume)> =
        plan.conditions.iter().map(|it| (it.condition.workload.writes(), it.condition.consume)).collect();
    assert!(consumes.contains(&(true, Consume::Sum)) && consumes.contains(&(false, Consume::Copy)), "{consumes:?}");
}

#[test]
fn a_dry_run_says_what_passes_that_write_have_written_in_a_round() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let of = |more: &[&str]| {
        let args = [&["run", &folder, "--dry-run", "--size=8MiB", "--json"], more].concat();
        let plan = plan_of(&sandbox.run(&args).expect(0));
        assert_eq!((plan.written_bytes, plan.file_bytes), (8 << 20, 8 << 20));
        plan
    };
    let plan = of(&["-e", "write-back", "--state=cold"]);
    let measured = |plan: &schema::plan::PlannedRun| -> u64 {
        let cells = plan.conditions.iter().flat_map(|it| &it.cells);
        cells.filter(|it| it.skipped.is_none()).map(|it| if it.baseline { 2 } else { 1 }).sum()
    };
    // With the control; each has its file made anew, and writes 256 blocks of 64 bytes.
    assert_eq!(plan.round_bytes, measured(&plan) * ((8 << 20) + 256 * 64));
    assert_eq!(of(&["--method=read,mmap", "--state=cached"]).round_bytes, 0);
}

#[test]
fn a_dry_run_says_what_the_copies_of_fills_write() {
    let sandbox = Sandbox::new();
    let in_memory = sys::mount::file_system(sandbox.path()).is_ok_and(|it| it.is_memory());
    if in_memory || lab::Target::unnamed(sandbox.path(), 4096).is_err() {
        return println!("skipped: no copy can be made in the temporary folder");
    }
    let (file, folder) = (sandbox.file("file", 1 << 20), sandbox.folder("folder"));
    let options = ["--method=read,mmap", "--block=4KiB", "--workload=scan", "--state=cached", "--dry-run"];
    for (target, made_bytes) in [(&file, 0), (&folder, 1 << 20)] {
        let size: &[&str] = if made_bytes > 0 { &["--size=1MiB"] } else { &[] };
        // Passes that are counted come after all others, when the copy of another fill is there.
        let of_fills: [(&[&str], u64); 5] = [
            (&["--fill=sequential", "--counted"], 0),
            (&["--fill=written=4KiB"], 1),
            (&["--fill=written=4KiB", "--counted"], 1),
            (&["--fill=written=4KiB,written=64KiB"], 2),
            (&["--fill=written=4KiB,written=64KiB", "--counted"], 4),
        ];
        for (fills, copies) in of_fills {
            let args = [&["run", target][..], fills, size, &options].concat();
            let plan = plan_of(&sandbox.run(&[&args[..], &["--json"]].concat()).expect(0));
            let copied_bytes = copies << 20;
            assert_eq!((plan.copied_bytes, plan.written_bytes), (copied_bytes, copied_bytes + made_bytes));
            assert_eq!(plan.free_bytes.is_some(), plan.written_bytes > 0);
            let text = sandbox.run(&args).expect(0).stdout;
            let is_silent = text.lines().any(|it| it.starts_with("Writes:") && it.ends_with("nothing"));
            assert_eq!((is_silent, text.contains("copies")), (plan.written_bytes == 0, copies > 0), "{text}");
        }
    }
    assert_eq!(sandbox.left(), ["file", "folder"]);
}

#[test]
fn a_dry_run_has_nothing_for_a_page_a_summary_or_a_table() {
    let sandbox = Sandbox::new();
    for option in ["--html=out", "--markdown=out", "--csv=out"] {
        for more in [&[][..], &["--json=plan.json"]] {
            let args = ["run", ".", "--dry-run", "--size=1MiB", option];
            sandbox.run(&[&args[..], more].concat()).refused(2, &[option.split_once('=').unwrap().0]);
        }
    }
    assert_eq!(sandbox.left(), [""; 0]);
}

/// Of the cells of one arm in a plan.
fn skips<'a>(plan: &'a schema::plan::PlannedRun, arm: &str) -> Vec<Option<&'a Skip>> {
    let cells = plan.conditions.iter().flat_map(|it| &it.cells).filter(|it| it.arm.short_name() == arm);
    cells.map(|it| it.skipped.as_ref()).collect()
}

#[test]
fn a_dry_run_does_not_promise_what_the_file_system_cannot_do() {
    let Some(sandbox) = Sandbox::in_memory() else { return };
    let (folder, file) = (sandbox.folder("folder"), sandbox.file("file", 1 << 20));
    for target in [&folder, &file] {
        let size: &[&str] = if *target == folder { &["--size=1MiB"] } else { &[] };
        let args = ["run", target, "--dry-run", "--json", "--block=4KiB", "--method=read,direct", "--workload=scan"];
        let output = sandbox.run(&[&args[..], size, &["--state=cold,cached"]].concat()).expect(4);
        let plan = plan_of(&output);
        assert!(
            matches!(skips(&plan, "read")[..], [Some(Skip::Impossible(_)), Some(Skip::NothingToCompare)]),
            "{plan:#?}"
        );
        let of_direct = skips(&plan, "direct");
        assert!(matches!(of_direct[..], [Some(Skip::Impossible(_)), Some(Skip::Unavailable(_))]), "{plan:#?}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_dry_run_says_of_an_arm_the_same_in_whatever_order_workloads_are_named() {
    let Some(sandbox) = Sandbox::in_memory() else { return };
    let folder = sandbox.folder("folder");
    for (name, workloads) in [("a.toml", r#""overwrite-random", "scan""#), ("b.toml", r#""scan", "overwrite-random""#)]
    {
        let text = format!(
            "title = \"t\"\n[[compare]]\narms = [\"mmap\", \"direct\"]\nworkload = [{workloads}]\n\
             block = \"4 KiB\"\nstate = \"cached\"\n"
        );
        let experiment = sandbox.write(name, text);
        let output = sandbox.run(&["run", &folder, "-e", &experiment, "--dry-run", "--json", "--size=1MiB"]).expect(4);
        let plan = plan_of(&output);
        let of_direct = skips(&plan, "direct");
        assert!(matches!(of_direct[..], [Some(Skip::Unavailable(_)), Some(Skip::Unavailable(_))]), "{name}: {plan:#?}");
    }
}

#[test]
fn a_dry_run_asks_an_arm_for_the_alignment_the_threads_and_the_descriptor_of_its_condition() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let skipped = |arm: &str, more: &str| {
        let text = format!(
            "title = \"t\"\n[[compare]]\narms = [\"pread\", \"{arm}\"]\nworkload = \"random\"\nblock = \"4 KiB\"\n\
             state = \"cached\"\n{more}\n"
        );
        let experiment = sandbox.write("e.toml", text);
        let plan = plan_of(&sandbox.run(&["run", &file, "-e", &experiment, "--dry-run", "--json"]));
        skips(&plan, arm)[0].is_some()
    };
    assert!(skipped("direct", "aligned = false"));
    assert!(skipped("read", "threads = 2\ndescriptor = \"shared\""));
    assert!(!skipped("read", "threads = 2") && !skipped("mmap", "aligned = false"));
}

#[test]
fn a_dry_run_does_not_promise_a_jdk_that_is_not_there_or_more_space_than_there_is() {
    let sandbox = Sandbox::new();
    let args = ["run", ".", "--dry-run", "--json", "--block=4KiB", "--workload=scan", "--state=cached", "--size=1MiB"];
    let output = sandbox.run(&[&args[..], &["--method=read,jvm/mapped+jdk=99"]].concat()).expect(4);
    let plan = plan_of(&output);
    assert!(matches!(skips(&plan, "jvm/mapped+jdk=99")[..], [Some(Skip::Unavailable(_))]), "{plan:#?}");
    assert_eq!(skips(&plan, "read"), [Some(&Skip::NothingToCompare)]);
    assert_eq!(plan.expected_s, Some(0.0));
    let output = sandbox.run(&["run", ".", "--dry-run", "--json", "--size=512PiB"]).expect(1);
    assert_eq!(plan_of(&output).written_bytes, 512 << 50);
    assert_eq!(output.stderr.lines().count(), 1, "{output:#?}");
}

#[test]
fn the_size_of_a_test_file_means_nothing_for_a_file_and_is_refused() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    for more in [&[][..], &["--dry-run"]] {
        sandbox.run(&[&["run", &file, "--size=1MiB"], more].concat()).refused(2, &["--size", &file]);
    }
}

#[test]
fn the_built_in_experiments_can_be_planned() {
    let sandbox = Sandbox::new();
    for (name, _) in schema::builtin::all() {
        let output = sandbox.run(&["run", ".", "-e", name, "--dry-run", "--size=4MiB"]).expect(0);
        assert!(output.stdout.contains("cells"), "{}", output.stdout);
    }
}

#[test]
fn doctor_looks_and_leaves_everything_as_it_was() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let output = sandbox.run(&["doctor", &folder]).expect(0);
    assert!(output.stdout.lines().all(|it| it.starts_with("ok  ") || it.starts_with("--  ")), "{}", output.stdout);
    for method in schema::runtime::NATIVE.methods {
        assert!(output.stdout.contains(&format!("method {}", method.name)), "{}", output.stdout);
    }
    assert!(!output.stdout.contains("only writes") && output.stdout.contains("watching by"), "{}", output.stdout);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(sandbox.saved(), None);
    assert_eq!(sandbox.noted(), 0);
}
