//! Saved runs: listed, one cell of them over time, and run once more.

use std::fs;

use schema::{
    Record,
    machine::{KeySource, Machine, Origin},
    saved::History,
};

use crate::support::Sandbox;

const SAVED: &str = include_str!("../../schema/tests/records/version-1.json");

/// As if an earlier version, which gave machines no identity, had run it here.
fn with_saved_run() -> Sandbox {
    let sandbox = Sandbox::new();
    save(&sandbox, "20261120T000000Z-aaaa", |_| {});
    sandbox
}

/// Among the own runs.
fn save(sandbox: &Sandbox, name: &str, change: impl Fn(&mut Record)) {
    let runs = sandbox.data().join("runs");
    fs::create_dir_all(&runs).unwrap();
    let mut record: Record = serde_json::from_str(SAVED).unwrap();
    record.environment.host = lab::host::detect(&|| None).host;
    change(&mut record);
    fs::write(runs.join(format!("{name}.json")), serde_json::to_string(&record).unwrap()).unwrap();
}

/// A file with a record that was not made here, whatever it says.
fn stranger(sandbox: &Sandbox, id: &str, change: impl Fn(&mut Record)) -> String {
    let mut record: Record = serde_json::from_str(SAVED).unwrap();
    record.id = id.into();
    change(&mut record);
    sandbox.write("stranger.json", serde_json::to_string(&record).unwrap())
}

fn history(sandbox: &Sandbox, more: &[&str]) -> History {
    let output = sandbox.run(&[&["history", "--json"], more].concat());
    output.sane();
    serde_json::from_str(&output.stdout).unwrap()
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
    // None is said, too.
    let written: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&written["of_others"], &written["damaged"]), (&0.into(), &serde_json::json!([])));
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
    sandbox.run(&["history", "--since=2999-01-01"]).expect(3).shows(&["0 of 1 run in"]);
    let output = sandbox.run(&["history", "--since=2999-01-01", "--json"]).expect(3);
    assert_eq!(output.stderr.lines().count(), 1, "{output:#?}");
    assert_eq!(serde_json::from_str::<History>(&output.stdout).unwrap().runs.len(), 0);
}

#[test]
fn a_test_file_is_listed_by_its_folder_and_not_by_its_hidden_name() {
    let sandbox = Sandbox::new();
    save(&sandbox, "20261120T000000Z-aaaa", |record| {
        (record.target.path, record.target.made_here) = ("/var/tmp/.hidden-1234".into(), true);
    });
    let json = sandbox.run(&["history", "--target=/var/tmp", "--json"]).expect(0);
    let history: History = serde_json::from_str(&json.stdout).unwrap();
    assert!(history.runs[0].target.ends_with("/var/tmp"), "{}", history.runs[0].target);
}

#[test]
fn series_of_two_files_are_told_apart_by_the_file_and_not_by_what_the_runs_chose() {
    let sandbox = Sandbox::new();
    for (id, path, ops) in [("a", "/d/one.dat", 717_512), ("b", "/d/two.dat", 899_842)] {
        save(&sandbox, &format!("20261120T000000Z-aaa{id}"), |record| {
            record.target.path = path.into();
            record.conditions.iter_mut().for_each(|it| it.ops = ops);
        });
    }
    let output = sandbox.run(&["history", "--cell", "native/mmap scan"]).expect(0);
    output.shows(&["one.dat", "two.dat"]);
    assert!(!output.stdout.contains("ops"), "{}", output.stdout);
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
fn a_quiet_rerun_says_nothing_beside_its_answer() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("input", 300_000);
    sandbox.run_short(&file, &["--seed=11", "--rounds=5"]);
    let output = sandbox.run(&["rerun", "last", "--rounds", "5", "--quiet"]);
    assert!(matches!(output.code(), Some(0 | 3)), "{output:#?}");
    let says_more = output.stderr.lines().any(|it| !it.starts_with("exit code"));
    assert!(!says_more, "{output:#?}");
    output.shows(&["against", "2 shared cells"]);
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
        .map(|it| serde_json::from_slice::<Record>(&fs::read(it.unwrap().path()).unwrap()).unwrap().seed)
        .collect();
    assert_eq!(seeds, [11, 11]);
}

#[test]
fn what_was_measured_elsewhere_needs_a_target() {
    let sandbox = Sandbox::new();
    let mut record: Record = serde_json::from_str(SAVED).unwrap();
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
    let mut record: Record = serde_json::from_str(SAVED).unwrap();
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

const THEIRS: &str = "fedcba9876543210fedcba9876543210";

fn made_on(record: &mut Record, host: &str, key: &str) {
    record.environment.host = host.into();
    record.environment.machine = Some(Machine {
        key: key.into(),
        boot: None,
        hardware: "0011223344556677".into(),
        source: KeySource::MachineId,
    });
}

#[test]
fn a_run_says_which_machine_made_it_and_has_an_id_that_no_other_has() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("input", 300_000);
    sandbox.run_short(&file, &[]).sane();
    let record = sandbox.record();
    assert_eq!(record.id.len(), "20261120T225104Z-".len() + 32, "{}", record.id);
    let here = lab::host::detect(&|| None).machine;
    assert!(here.is_none() || here == record.environment.machine, "{here:?}");
    let machine = record.environment.machine.as_ref().expect("the data folder holds a key where the machine has none");
    if let Ok(id) = fs::read_to_string("/etc/machine-id") {
        assert!(!serde_json::to_string(&record).unwrap().contains(id.trim()), "the machine-id itself is not stored");
    }
    let found = history(&sandbox, &[]);
    assert_eq!((found.runs[0].on.key.as_ref(), found.runs[0].on.origin), (Some(&machine.key), Origin::Own));
    assert_eq!(history(&sandbox, &["--machine", &machine.key[..8]]).runs, found.runs);
    // What people read and type is its beginning.
    sandbox.run(&["report", &record.id[..25]]).expect(0).shows(&[&record.id[..25]]);
}

#[test]
fn an_imported_record_is_found_by_its_id_and_answers_for_its_own_machine_alone() {
    let sandbox = with_saved_run();
    let id = "20261121T000000Z-beef";
    let file = stranger(&sandbox, id, |it| made_on(it, "field", THEIRS));
    sandbox.run(&["import", &file]).expect(0).shows(&[id, "imported"]);
    sandbox.run(&["import", &file]).expect(0).shows(&[id, "already in the data folder"]);
    sandbox.run(&["list", "runs"]).expect(0).shows(&[id]);
    assert!(sandbox.data().join(format!("imported/{id}.json")).is_file());
    sandbox.run(&["report", id]).expect(0);
    let ids = |more: &[&str]| history(&sandbox, more).runs.into_iter().map(|it| it.id).collect::<Vec<_>>();
    let own = "20261120T000000Z-aaaa";
    assert_eq!(ids(&[]), [own]);
    assert_eq!(history(&sandbox, &[]).of_others, 1);
    assert_eq!(ids(&["--machine=all"]), [id, own]);
    assert_eq!(ids(&["--machine=field"]), [id]);
    assert_eq!(ids(&["--machine", &THEIRS[..8]]), [id]);
    let cells = history(&sandbox, &["--cell=native/mmap scan"]).cells;
    assert!(!cells.is_empty() && cells.iter().all(|it| it.run == own), "{cells:?}");
    sandbox
        .run(&["history"])
        .expect(0)
        .shows(&["1 run in", "1 of a machine that was not asked for, with --machine all"]);
    sandbox.run(&["history", "--machine=all"]).expect(0).shows(&["field fedcba98, imported"]);
}

#[test]
fn a_strangers_record_that_says_it_was_made_here_does_not_answer_for_this_machine() {
    let sandbox = with_saved_run();
    let here = lab::host::detect(&|| None);
    let file = stranger(&sandbox, "20991121T000000Z-beef", |it| {
        (it.environment.host, it.environment.machine) = (here.host.clone(), here.machine.clone());
    });
    sandbox.run(&["import", &file]).expect(0);
    let is_own = |it: &schema::saved::SavedRun| it.on.origin == Origin::Own;
    let mut asked = vec![vec![]];
    asked.extend(here.machine.iter().map(|it| vec!["--machine", it.key.as_str()]));
    for more in asked {
        let found = history(&sandbox, &more).runs;
        assert!(!found.is_empty() && found.iter().all(is_own), "{found:?}");
    }
}

#[test]
fn what_is_to_be_imported_is_a_record_in_a_file_and_the_others_are_imported_all_the_same() {
    let sandbox = Sandbox::new();
    let id = "20261121T000000Z-beef";
    let good = stranger(&sandbox, id, |_| {});
    let bad = sandbox.write("bad.json", "{}");
    let output = sandbox.run(&["import", &bad, "/no/such/file", &good]).expect(1);
    output.shows(&[id]);
    output.says(&["bad.json", "no record of faultline", "/no/such/file", "2 of 3 files"]);
    let outside = stranger(&sandbox, "../../outside", |_| {});
    sandbox.run(&["import", &outside]).expect(1).says(&["not a run id"]);
    assert_eq!(fs::read_dir(sandbox.data().join("imported")).unwrap().count(), 1);
    sandbox.run(&["import"]).expect(2);
}

#[test]
fn a_record_that_was_not_made_here_is_run_again_on_a_target_that_the_user_names() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("input", 300_000);
    let id = "20261121T000000Z-beef";
    let saved = stranger(&sandbox, id, |it| (it.target.path, it.target.made_here) = (file.clone(), false));
    sandbox.run(&["rerun", &saved]).refused(2, &["data folder", &file, "--target"]);
    sandbox.run(&["import", &saved]).expect(0);
    sandbox.run(&["rerun", id]).refused(2, &["data folder", &file, "--target"]);
    let made = stranger(&sandbox, id, |it| it.target.made_here = true);
    sandbox.run(&["rerun", &made]).refused(2, &["--target"]);
    assert_eq!(sandbox.saved(), None);
}
