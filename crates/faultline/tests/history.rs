//! Saved runs: listed, one cell of them over time, and run once more.

use std::fs;

use schema::saved::History;

use crate::support::Sandbox;

const SAVED: &str = include_str!("../../schema/tests/records/version-1.json");

/// As if it had been run here.
fn with_saved_run() -> Sandbox {
    let sandbox = Sandbox::new();
    let runs = sandbox.data().join("runs");
    fs::create_dir_all(&runs).unwrap();
    fs::write(runs.join("20261120T000000Z-aaaa.json"), SAVED).unwrap();
    sandbox
}

#[test]
fn history_lists_saved_runs_and_filters_them() {
    let sandbox = with_saved_run();
    let output = sandbox.run(&["history"]).expect(0);
    output.shows(&["20261120T000000Z-aaaa", "1 run in"]);
    sandbox.run(&["history", "--machine", "nobody"]).expect(3).shows(&["0 runs in"]);
    let json = sandbox.run(&["history", "--json"]).expect(0);
    let history: History = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(history.runs.len(), 1);
    assert!(sandbox.data().join("faultline-index.sqlite").is_file());
}

#[test]
fn a_day_is_a_date_and_one_without_runs_is_said_to_have_none() {
    let sandbox = with_saved_run();
    for word in ["tomorrow", "2026-13", "2026-02-30", "2026-11-31", "2026-11-200", "20261120", "", "2026-11-20 10:00"] {
        for option in ["--since", "--until"] {
            let output = sandbox.run(&["history", &format!("{option}={word}")]).expect(2);
            assert_eq!(output.stdout, "");
        }
    }
    for date in ["2026", "2026-11", "2026-11-20", "2026-11-20T00:00:00Z"] {
        sandbox.run(&["history", "--until=2999", "--since", date]).sane();
    }
    let output = sandbox.run(&["history", "--since=2999-01-01", "--json"]).expect(3);
    assert_eq!(output.stderr.lines().count(), 1, "{output:#?}");
    assert_eq!(serde_json::from_str::<History>(&output.stdout).unwrap().runs.len(), 0);
}

#[test]
fn a_test_file_is_listed_by_its_folder_and_not_by_its_hidden_name() {
    let sandbox = Sandbox::new();
    let runs = sandbox.data().join("runs");
    fs::create_dir_all(&runs).unwrap();
    let mut record: schema::Record = serde_json::from_str(SAVED).unwrap();
    (record.target.path, record.target.made_here) = ("/var/tmp/.hidden-1234".into(), true);
    fs::write(runs.join("20261120T000000Z-aaaa.json"), serde_json::to_string(&record).unwrap()).unwrap();
    let json = sandbox.run(&["history", "--target=/var/tmp", "--json"]).expect(0);
    let history: History = serde_json::from_str(&json.stdout).unwrap();
    assert!(history.runs[0].target.ends_with("/var/tmp"), "{}", history.runs[0].target);
}

#[test]
fn one_cell_is_shown_over_time() {
    let sandbox = with_saved_run();
    let output = sandbox.run(&["history", "--cell", "native/mmap scan"]).expect(0);
    output.shows(&["native/mmap · scan", "1.00x"]);
    sandbox.run(&["history", "--cell", "native/uring+queue_depth=7"]).expect(3).shows(&["No saved run has measured"]);
    sandbox.run(&["history", "--cell", "native/mmap sideways"]).expect(2).says(&["sideways", "write it as"]);
}

#[test]
fn a_run_is_made_once_more_and_stands_beside_the_first() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("input", 300_000);
    sandbox.run_short(&file, &["--seed=11", "--rounds=5"]);
    let output = sandbox.run(&["rerun", "last", "--rounds", "5"]);
    // Decided or not: that depends on the machine.
    assert!(matches!(output.code(), Some(0 | 3)), "{output:#?}");
    output.shows(&["against", "2 shared cells"]);
    let seeds: Vec<u64> = fs::read_dir(sandbox.data().join("runs"))
        .unwrap()
        .map(|it| serde_json::from_slice::<schema::Record>(&fs::read(it.unwrap().path()).unwrap()).unwrap().seed)
        .collect();
    assert_eq!(seeds, [11, 11]);
}

#[test]
fn what_was_measured_elsewhere_needs_a_target() {
    let sandbox = Sandbox::new();
    let mut record: schema::Record = serde_json::from_str(SAVED).unwrap();
    record.target.path = "/nowhere/file".into();
    record.target.made_here = false;
    let saved = sandbox.write("saved.json", serde_json::to_string(&record).unwrap());
    sandbox.run(&["rerun", &saved]).refused(2, &["/nowhere/file", "--target"]);
    record.budget_s = -1.0;
    let saved = sandbox.write("saved.json", serde_json::to_string(&record).unwrap());
    let file = sandbox.file("input", 300_000);
    sandbox.run(&["rerun", &saved, "--target", &file]).refused(2, &["budget"]);
    record.budget_s = 10.0;
    record.experiment.comparisons[0].threads = vec![u32::MAX];
    let saved = sandbox.write("saved.json", serde_json::to_string(&record).unwrap());
    sandbox.run(&["rerun", &saved, "--target", &file]).refused(2, &["threads", "1024"]);
}

#[test]
fn a_record_does_not_fill_a_disk_by_what_it_says() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let mut record: schema::Record = serde_json::from_str(SAVED).unwrap();
    record.target.made_here = true;
    let free = rustix::fs::statvfs(sandbox.path()).unwrap();
    record.target.bytes = free.f_bavail * free.f_frsize / 10 * 7;
    let saved = sandbox.write("saved.json", serde_json::to_string(&record).unwrap());
    sandbox.run(&["rerun", &saved, "--target", &folder]).refused(2, &["are free", "--size"]);
    let file = sandbox.file("input", 300_000);
    sandbox.run(&["rerun", &saved, "--target", &file, "--size=1MiB"]).refused(2, &["--size"]);
    let output = sandbox.run(&["rerun", &saved, "--target", &folder, "--size=1MiB", "--rounds=1"]);
    output.sane();
    assert_eq!(sandbox.record().target.bytes, 1 << 20);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}
