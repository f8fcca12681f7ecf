//! What a run answers, and what it leaves untouched.

use std::{fs, os::unix::fs::MetadataExt};

use schema::{
    State,
    record::{Outcome, Reading},
};
use serde_json::Value;

use crate::support::{Sandbox, failure};

#[test]
fn json_is_one_document_with_everything_that_is_promised() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 2 << 20);
    let output = sandbox.run_short(&file, &["--json", "--rounds=6"]);
    output.sane();
    let document = output.document();
    // The exit code says what the document says.
    let decided = document.findings.comparisons.iter().any(|it| it.verdict.is_decided());
    assert_eq!(output.code(), Some(if decided { 0 } else { 3 }));
    assert_eq!(document.record, sandbox.record(), "what is printed is what is saved");

    let value: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(value["schema_version"], 1);
    has(&value, &["schema_version", "record", "findings"]);
    let findings = &value["findings"];
    has(findings, &["cells", "comparisons", "crossovers", "noise_floor", "claims"]);
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
    let file = sandbox.file("file", 1 << 20);
    let output = sandbox.run_short(&file, &["--json", "--rounds=6", "--block=4KiB,64KiB,1MiB"]);
    output.sane();
    let value: Value = serde_json::from_str(&output.stdout).unwrap();
    for crossover in value["findings"]["crossovers"].as_array().unwrap() {
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
        "--budget=20s",
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
fn the_folder_one_stands_in_is_the_default_target() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["run", "--dry-run", "--size=2MiB"]).expect(0);
    assert!(output.stdout.contains("a test file in ."), "{}", output.stdout);
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
            "--budget=30s",
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
        "--budget=20s",
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
            State::Limited | State::AsIs => unreachable!("not asked for"),
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
            "--budget=20s",
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
        "--budget=30s",
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
    let run = sandbox.run_short(&file, &[]);
    run.sane();
    let without_place =
        |text: &str| text.lines().filter(|it| !it.starts_with("Saved:")).map(str::to_string).collect::<Vec<_>>();
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
fn a_dry_run_measures_and_writes_nothing() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let output = sandbox.run(&["run", &folder, "--dry-run", "--size=3MiB"]).expect(0);
    assert!(output.stdout.contains("3 MiB") && output.stdout.contains("free"), "{}", output.stdout);
    let file = sandbox.file("file", 4096);
    let before = fs::metadata(&file).unwrap().accessed().ok();
    sandbox.run(&["run", &file, "--dry-run", "--json=out.json"]).expect(0);
    assert_eq!(fs::metadata(&file).unwrap().accessed().ok(), before, "nobody read the file");
    assert_eq!(sandbox.left(), ["file", "folder"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert!(!sandbox.data().exists());
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
