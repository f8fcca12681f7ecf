use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use history::{Imported, Store};
use schema::{
    Condition, Experiment, Fill, Reading, Record, SCHEMA_VERSION, Span,
    machine::Origin,
    protocol::{Phases, Tally},
    record::{Cell, Environment, Invalid, Outcome, Sample, Target},
};
use tempfile::TempDir;

use crate::seen_from;

fn text(value: &str) -> Reading<String> {
    Reading::Value(value.into())
}

pub(crate) fn record(id: &str) -> Record {
    Record {
        schema_version: SCHEMA_VERSION,
        id: id.into(),
        tool_version: "0.1.0".into(),
        started: "2026-11-20T22:51:04Z".into(),
        elapsed_s: 0.1 + 0.2,
        partial: None,
        ending: None,
        rounds_ended: Default::default(),
        cells_ended: Default::default(),
        folder: None,
        seed: 7,
        budget_s: 60.0,
        experiment: Experiment {
            name: "smoke".into(),
            title: "Smoke".into(),
            question: None,
            source: None,
            budget_s: None,
            study: None,
            comparisons: vec![],
            claims: vec![],
            figures: vec![],
            written: vec![],
            filtered_claims: vec![],
        },
        environment: Environment {
            host: "lab".into(),
            machine: None,
            kernel: "6.18.5".into(),
            architecture: "x86_64".into(),
            cpu: text("some CPU"),
            cpus: 2,
            online_cpus: Reading::Value(2),
            cpu_caches: Reading::unavailable("sysfs describes no cache"),
            page_bytes: 4096,
            memory_bytes: 1 << 34,
            memory_available_bytes: 1 << 33,
            memory_limit_bytes: Reading::unavailable("no limit is set"),
            swap_bytes: 0,
            virtualisation: text("none"),
            mitigations: BTreeMap::new(),
            transparent_hugepage: text("madvise"),
            fault_around_bytes: Reading::Value(65_536),
            lru_gen: text("0x0007"),
            reclaim_schemes: Reading::Value(Vec::new()),
            clocksource: text("tsc"),
            tick_ns: Reading::Value(4_000_000),
            governor: text("performance"),
            c_library: text("glibc 2.39"),
            root: false,
            steal_share: Reading::Value(0.0),
            load: 0.31,
        },
        target: Target {
            path: "/data/file".into(),
            bytes: 1 << 30,
            allocated_bytes: 1 << 30,
            made_here: false,
            files: None,
            residency: text("cachestat"),
            file_system: "ext4".into(),
            mount_options: "rw".into(),
            read_ahead_most_bytes: None,
            device: Reading::unavailable("tmpfs has none"),
        },
        origins: vec![],
        scenarios: Default::default(),
        conditions: vec![Condition::plain(1 << 30)],
        cells: vec![Cell {
            arm: "read".parse().unwrap(),
            condition: 0,
            own_condition: None,
            baseline: true,
            control: false,
            skipped: None,
        }],
        samples: vec![],
        fills: vec![],
        confirmations: vec![],
        ceiling: Reading::unavailable("no cold cells"),
        calibration: Reading::unavailable("not calibrated"),
        counted: vec![],
        observations: vec![],
        advised: None,
        timeline: None,
        runtimes: Default::default(),
        limits: vec![],
    }
}

/// The record after so many passes; `who` tells the passes of two runs apart.
fn after(id: &str, passes: u32, who: &str) -> Record {
    let sample = |order: u32| Sample {
        cell: 0,
        round: order,
        order,
        host: "lab".into(),
        outcome: Outcome::Failed { reason: format!("pass {order} of {who}") },
        resident_before: Reading::unavailable("not asked"),
        window_offset: None,
        resident_after: Reading::unavailable("not asked"),
        readings: BTreeMap::new(),
        beats: None,
    };
    Record { samples: (0..passes).map(sample).collect(), ..record(id) }
}

fn store(folder: &Path) -> Store {
    Store::open(Some(folder.into())).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
}

fn ids(store: &Store) -> Vec<String> {
    store.list().unwrap().into_iter().map(|(id, _)| id).collect()
}

fn error_of<T: std::fmt::Debug>(result: anyhow::Result<T>) -> String {
    format!("{:#}", result.unwrap_err())
}

#[test]
fn what_is_saved_is_found_by_id_by_its_beginning_by_path_and_as_the_last() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    assert_eq!(ids(&store), Vec::<String>::new());
    let older = record("20261120T225104Z-3f9a");
    let newer = record("20261121T080000Z-11aa");
    let path = store.save(&newer).unwrap();
    store.save(&older).unwrap();
    assert_eq!(path, folder.path().join("runs/20261121T080000Z-11aa.json"));
    assert_eq!(ids(&store), ["20261121T080000Z-11aa", "20261120T225104Z-3f9a"]);
    assert_eq!(store.load("20261120T225104Z-3f9a").unwrap(), older);
    assert_eq!(store.load("20261120").unwrap(), older);
    assert_eq!(store.load("last").unwrap(), newer);
    assert_eq!(store.load(path.to_str().unwrap()).unwrap(), newer);
}

#[test]
fn of_runs_that_began_in_one_second_the_last_is_the_one_that_was_written_last() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let [first, second] = ["20261121T080000Z-ffff", "20261121T080000Z-11aa"].map(record);
    let path = store.save(&first).unwrap();
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(2);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(earlier).unwrap();
    store.save(&second).unwrap();
    assert_eq!(store.load("last").unwrap(), second);
}

#[test]
fn what_is_no_regular_file_among_the_runs_is_none_and_nothing_waits_for_it() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    store.save(&record("20261120T225104Z-3f9a")).unwrap();
    let pipe = folder.path().join("runs/20271120T225104Z-3f9a.json");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("runs/20281120T225104Z-3f9a.json")).unwrap();
    assert_eq!(ids(&store), ["20261120T225104Z-3f9a"]);
    assert_eq!(store.load("last").unwrap().id, "20261120T225104Z-3f9a");
}

#[test]
fn a_pipe_in_the_place_of_a_record_is_refused_and_nothing_waits_for_it() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let (own, imported) = ("20261120T225104Z-3f9a", "20261121T080000Z-11aa");
    let paths = [store.folder().join(format!("{own}.json")), store.imported_folder().join(format!("{imported}.json"))];
    let link = folder.path().join("link.json");
    std::os::unix::fs::symlink(&paths[0], &link).unwrap();
    for path in &paths {
        fs::create_dir(path.parent().unwrap()).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(error_of(store.load_file(path)).contains("it is no regular file"));
    }
    for path in paths.iter().chain([&link]) {
        assert!(error_of(store.load(path.to_str().unwrap())).contains("it is no regular file"), "{}", path.display());
    }
    let import = |id: &str| store.import(&file_of(folder.path(), &record(id)));
    assert!(error_of(import(own)).contains("was made here"));
    assert!(error_of(import(imported)).contains("it is no regular file"));
    assert_eq!(store.save(&record(own)).unwrap(), store.folder().join(format!("{own}-2.json")));
}

#[test]
fn a_pipe_that_was_named_is_read_to_its_end() {
    use std::{io::Write, os::fd::AsRawFd};
    let folder = TempDir::new().unwrap();
    let (store, record) = (store(folder.path()), record("20261120T225104Z-3f9a"));
    let json = serde_json::to_vec(&record).unwrap();
    // As of `faultline report <(…)`, also when its writer has ended.
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&json).unwrap();
    drop(writer);
    assert_eq!(store.load(&format!("/proc/self/fd/{}", reader.as_raw_fd())).unwrap(), record);
    // One with a name, whose writer comes later.
    let pipe = folder.path().join("pipe.json");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| fs::write(&pipe, &json).unwrap());
        assert_eq!(store.load(pipe.to_str().unwrap()).unwrap(), record);
    });
}

#[test]
fn a_name_that_fits_nothing_or_too_much_says_what_there_is() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    assert!(error_of(store.load("last")).contains("`faultline run FILE` makes one"));
    for id in ["20261120T225104Z-3f9a", "20261120T225105Z-77b0"] {
        store.save(&record(id)).unwrap();
    }
    let typo = error_of(store.load("20261120T225104Z-3f9b"));
    assert!(typo.contains("did you mean \"20261120T225104Z-3f9a\"?"), "{typo}");
    let ambiguous = error_of(store.load("2026"));
    assert!(
        ambiguous.contains("2 runs begin with \"2026\": 20261120T225105Z-77b0, 20261120T225104Z-3f9a"),
        "{ambiguous}"
    );
    assert!(error_of(store.load("zzz")).contains("`faultline list runs` lists all 2"));
    assert!(error_of(store.load("/no/such/file.json")).contains("/no/such/file.json cannot be used"));
}

#[test]
fn whether_there_is_room_is_known_before_a_run_and_nothing_is_left_of_the_question() {
    let folder = TempDir::new().unwrap();
    let place = |it: &str| Store::open(Some(folder.path().join(it))).unwrap();
    assert!(place("data").has_room().is_ok() && place("a/b/c").has_room().is_ok());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    fs::write(folder.path().join("file"), "x").unwrap();
    assert!(place("file").has_room().is_err() && place("file/below").has_room().is_err());
    if Path::new("/proc/self").exists() {
        assert!(Store::open(Some("/proc/none".into())).unwrap().has_room().is_err());
    }
}

#[test]
fn a_run_is_saved_again_after_every_round_also_by_another_store() {
    let folder = TempDir::new().unwrap();
    let first = store(folder.path());
    for passes in 1..5 {
        first.save(&after("20261120T225104Z-3f9a", passes, "one")).unwrap();
    }
    store(folder.path()).save(&after("20261120T225104Z-3f9a", 6, "one")).unwrap();
    assert_eq!(ids(&first), ["20261120T225104Z-3f9a"]);
    assert_eq!(first.load("last").unwrap().samples.len(), 6);
}

#[test]
fn two_runs_with_one_id_are_both_kept() {
    let folder = TempDir::new().unwrap();
    let (one, two) = (store(folder.path()), store(folder.path()));
    let id = "20261120T225104Z-3f9a";
    for passes in 1..4 {
        one.save(&after(id, passes, "one")).unwrap();
        let path = two.save(&after(id, passes, "two")).unwrap();
        assert_eq!(path, folder.path().join("runs/20261120T225104Z-3f9a-2.json"));
    }
    assert_eq!(one.load(id).unwrap(), after(id, 3, "one"));
    let other = one.load("20261120T225104Z-3f9a-2").unwrap();
    assert_eq!(other.id, "20261120T225104Z-3f9a-2");
    assert_eq!(other.samples, after(id, 3, "two").samples);
}

#[test]
fn threads_that_save_at_once_lose_nothing_and_leave_nothing() {
    let folder = TempDir::new().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let path = folder.path();
            scope.spawn(move || {
                let store = store(path);
                for passes in 1..6 {
                    store.save(&after("20261120T225104Z-3f9a", passes, &format!("thread {thread}"))).unwrap();
                    store.save(&after(&format!("20261120T22510{thread}Z-0000"), passes, "own")).unwrap();
                }
            });
        }
    });
    let store = store(folder.path());
    let mut who: Vec<String> = Vec::new();
    for (id, _) in store.list().unwrap() {
        let record = store.load(&id).unwrap();
        assert_eq!(record.samples.len(), 5, "{id}");
        if id.starts_with("20261120T225104Z-3f9a") {
            who.push(format!("{:?}", record.samples[0].outcome));
        }
    }
    who.sort();
    who.dedup();
    assert_eq!(who.len(), 8);
    assert_eq!(ids(&store).len(), 16);
    assert_eq!(fs::read_dir(store.folder()).unwrap().count(), 16);
}

#[test]
fn a_damaged_file_is_named_and_does_not_hide_the_others() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let good = store.save(&record("20261120T225104Z-3f9a")).unwrap();
    let whole = fs::read(&good).unwrap();
    let cases: [(&str, &[u8], &str); 7] = [
        ("20261120T225105Z-half", &whole[..whole.len() / 2], "it is truncated"),
        ("20261120T225106Z-none", b"", "it is empty"),
        ("20261120T225107Z-bits", b"\x00\xff\x1b[2J", "it is not JSON"),
        ("20261120T225108Z-else", b"{\"name\":\"something else\"}", "it is no record of faultline"),
        ("20261120T225109Z-deep", &[b'['; 100_000], "it is no record of faultline"),
        ("20261120T225110Z-list", b"[1,2,3]", "it is no record of faultline"),
        ("20261120T225111Z-zero", b"[0,0,0,0]", "it is no record of faultline"),
    ];
    for (id, content, _) in &cases {
        fs::write(store.folder().join(format!("{id}.json")), content).unwrap();
    }
    assert_eq!(ids(&store).len(), 8);
    for (id, _, expected) in cases {
        let error = error_of(store.load(id));
        assert!(error.contains(&format!("{id}.json cannot be used: {expected}")), "{error}");
    }
    assert!(error_of(store.load(folder.path().to_str().unwrap())).contains("it is a folder"));
    assert_eq!(store.load("20261120T225104Z").unwrap().id, "20261120T225104Z-3f9a");
}

#[test]
fn a_newer_record_is_refused_and_a_printed_document_is_accepted() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let newer = Record { schema_version: SCHEMA_VERSION + 1, ..record("20261120T225104Z-3f9a") };
    let path = store.save(&newer).unwrap();
    let expected = format!("it has schema version {} and this faultline reads", SCHEMA_VERSION + 1);
    assert!(error_of(store.load("last")).contains(&expected));
    fs::write(&path, format!("{{\"schema_version\":{},\"all\":\"different\"}}", SCHEMA_VERSION + 1)).unwrap();
    assert!(error_of(store.load("last")).contains(&expected));

    let record = record("20261120T225105Z-3f9a");
    let record_json = serde_json::to_string(&record).unwrap();
    let document = folder.path().join("printed.json");
    fs::write(&document, format!("{{\"schema_version\":1,\"record\":{record_json},\"findings\":{{}}}}")).unwrap();
    assert_eq!(store.load(document.to_str().unwrap()).unwrap(), record);
}

#[test]
fn a_folder_that_cannot_be_written_to_says_what_to_try() {
    // Root may write to a read-only folder, but nobody can make a folder below a file.
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a file");
    fs::write(&file, "").unwrap();
    let store = store(&file.join("below"));
    let error = error_of(store.save(&record("20261120T225104Z-3f9a")));
    assert!(error.contains("was not saved in") && error.contains("a file/below/runs"), "{error}");
    assert!(error.contains("--json=FILE") && error.contains("FAULTLINE_DATA_DIR"), "{error}");
    assert!(error.contains("Not a directory"), "{error}");
    assert!(error_of(store.list()).contains("cannot be listed"));
}

/// What a stranger may send: read as JSON of any shape it would take sixteen times its size in memory, and its numbers would
/// be divided by and multiplied.
#[test]
fn a_record_that_no_run_can_have_measured_is_refused_in_words() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let path = folder.path().join("record.json");
    let refused = |content: &[u8], words: &str| {
        fs::write(&path, content).unwrap();
        let error = error_of(store.load(path.to_str().unwrap()));
        assert!(error.contains("record.json cannot be used") && error.contains(words), "{error}");
    };
    let plain = record("20261120T225104Z-3f9a");
    let json = |record: &Record| serde_json::to_vec(record).unwrap();
    refused(&[b"{\"limits\":[0".as_slice(), &b",0".repeat((1 << 25) + 1), b"]}"].concat(), "values");
    for id in ["../x", "x; y", "-x", "--run-commands", "last", ""] {
        refused(&json(&Record { id: id.into(), ..plain.clone() }), "is not a run id");
    }
    let condition = Condition::plain(1 << 20);
    for hostile in [
        Condition { block_bytes: 0, ..condition.clone() },
        Condition { block_bytes: u64::MAX, ..condition.clone() },
        Condition { ops: u64::MAX, ..condition.clone() },
        Condition { threads: 0, ..condition.clone() },
        Condition { threads: u32::MAX, ..condition.clone() },
        Condition { consumed_percent: 0, ..condition.clone() },
        Condition { file_bytes: u64::MAX, ..condition.clone() },
        Condition { range: Span { offset: u64::MAX, bytes: u64::MAX }, ..condition.clone() },
    ] {
        refused(&json(&Record { conditions: vec![hostile], ..plain.clone() }), "no run has measured this");
    }
    // Each number of a cell or a condition is of one that there is.
    let mut strays = [(); 4].map(|()| after("20261120T225104Z-3f9a", 1, "anyone"));
    strays[0].cells[0].condition = plain.conditions.len();
    strays[1].samples[0].cell = plain.cells.len();
    strays[2].elapsed_s = -3.0;
    strays[3].target.bytes = u64::MAX;
    strays.iter().for_each(|it| refused(&json(it), "no run has measured this"));
    let many = Record { conditions: vec![condition; 10_001], ..plain };
    refused(&json(&many), "10001 conditions");
}

#[test]
fn an_id_cannot_lead_out_of_the_folder() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    for id in ["", "last", "../x", "a/b", ".hidden", "a\nb", &"x".repeat(101)] {
        assert!(error_of(store.save(&record(id))).contains("is not a run id"), "{id:?}");
    }
    assert!(!folder.path().join("runs").exists());
}

/// A child of this test that saves under a limit on the size of files: the same error path as a full disk, for every
/// user and without one.
#[test]
fn a_save_that_runs_out_of_room_leaves_what_was_saved_before() {
    const CHILD: &str = "FAULTLINE_TEST_SAVE_IN";
    let id = "20261120T225104Z-3f9a";
    if let Some(folder) = std::env::var_os(CHILD) {
        let error = error_of(store(Path::new(&folder)).save(&after(id, 4000, "one")));
        assert!(error.contains("was not saved in") && error.contains("File too large"), "{error}");
        return;
    }
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    store.save(&after(id, 1, "one")).unwrap();
    // SIGXFSZ ignored makes write(2) fail with EFBIG once 64 KiB are there; `ulimit -f` counts in 512 or 1024 bytes.
    let output = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "store::a_save_that_runs_out_of_room_leaves_what_was_saved_before", "--nocapture"])
        .env(CHILD, folder.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    assert_eq!(store.load("last").unwrap(), after(id, 1, "one"));
    assert_eq!(fs::read_dir(store.folder()).unwrap().count(), 1);
}

#[test]
fn half_written_files_of_killed_processes_are_ignored_and_can_be_removed() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    store.save(&record("20261120T225104Z-3f9a")).unwrap();
    // What a process that is gone would have left, what a living one is writing, and a file of somebody else.
    let of = |from: &str, pid: u32, started: &str| {
        store.folder().join(format!(".20261120T225104Z-3f9a.json.{from}.{pid}.{started}.0.tmp"))
    };
    let here = seen_from();
    let gone = of(&here, u32::MAX, "1");
    let alive = of(&here, std::process::id(), &started());
    // Of another host or container, whose processes cannot be seen from here: one may be written now, and one is not.
    let [elsewhere, long_ago] = ["01234567-1", "76543210-1"].map(|it| of(it, u32::MAX, "1"));
    let other = store.folder().join(".notes.tmp");
    for path in [&gone, &alive, &elsewhere, &long_ago, &other] {
        fs::write(path, "{\"schema_ver").unwrap();
    }
    let two_days_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 86_400);
    fs::File::options().write(true).open(&long_ago).unwrap().set_modified(two_days_ago).unwrap();
    assert_eq!(ids(&store), ["20261120T225104Z-3f9a"]);
    // None of ours, and in the way of nothing.
    std::os::unix::fs::symlink("/etc/passwd", of(&here, u32::MAX, "2")).unwrap();
    fs::create_dir(of(&here, u32::MAX, "3")).unwrap();
    // In every folder that the store writes to.
    fs::create_dir(store.imported_folder()).unwrap();
    let name = gone.file_name().unwrap();
    let beside = [store.imported_folder().join(name), store.folder().with_file_name(name)];
    beside.iter().for_each(|it| fs::write(it, "{").unwrap());
    let mut of_runs = [gone.clone(), long_ago.clone()];
    of_runs.sort();
    let abandoned = [&of_runs[..], &beside].concat();
    let whole = |all: Vec<anyhow::Result<PathBuf>>| all.into_iter().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(whole(store.abandoned()), abandoned);
    assert_eq!(whole(store.remove_abandoned()), abandoned);
    assert!(beside.iter().all(|it| !it.exists()));
    let are_there = [&gone, &long_ago, &alive, &elsewhere, &other].map(|it| it.exists());
    assert_eq!(are_there, [false, false, true, true, true]);
}

fn started() -> String {
    let stat = fs::read_to_string(PathBuf::from("/proc/self/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_string()
}

/// A file with that record, outside of the store.
fn file_of(folder: &Path, record: &Record) -> PathBuf {
    let file = folder.join("stranger.json");
    fs::write(&file, serde_json::to_string(record).unwrap()).unwrap();
    file
}

#[test]
fn what_is_imported_has_a_place_of_its_own_and_its_id_finds_it_there() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let id = "20261120T225104Z-3f9a";
    assert_eq!(store.import(&file_of(folder.path(), &record(id))).unwrap(), Imported::New(id.into()));
    assert_eq!(names(store.imported_folder()), [format!("{id}.json")]);
    assert_eq!(store.find(id).unwrap(), (record(id), Origin::Imported));
    assert_eq!(ids(&store), [""; 0]);
    assert!(error_of(store.load("last")).contains("no run is saved"), "the last run is one that was made here");
    store.save(&record("20261120T225105Z-77b0")).unwrap();
    assert_eq!(store.find("last").unwrap().1, Origin::Own);
    assert_eq!(store.find("20261120T225105Z").unwrap().1, Origin::Own);
}

#[test]
fn own_runs_and_imported_ones_have_one_order_in_which_names_that_are_no_times_are_the_oldest() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    for id in ["laptop", "20261120T225104Z-3f9a", "20261122T080000Z-11aa"] {
        store.import(&file_of(folder.path(), &record(id))).unwrap();
    }
    for id in ["home", "20261121T080000Z-77b0"] {
        store.save(&record(id)).unwrap();
    }
    let listed = store.list_all().unwrap();
    let listed: Vec<(&str, Origin)> = listed.iter().map(|(id, _, origin)| (id.as_str(), *origin)).collect();
    let expected = [
        ("20261122T080000Z-11aa", Origin::Imported),
        ("20261121T080000Z-77b0", Origin::Own),
        ("20261120T225104Z-3f9a", Origin::Imported),
        ("laptop", Origin::Imported),
        ("home", Origin::Own),
    ];
    assert_eq!(listed, expected);
}

#[test]
fn where_a_record_lies_decides_whose_it_is_and_not_the_path_to_it() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let own = store.save(&record("20261120T225104Z-3f9a")).unwrap();
    let other = file_of(folder.path(), &record("20261120T225104Z-3f9a"));
    let link = folder.path().join("link.json");
    std::os::unix::fs::symlink(&own, &link).unwrap();
    let origin = |path: &Path| store.find(path.to_str().unwrap()).unwrap().1;
    assert_eq!((origin(&own), origin(&link), origin(&other)), (Origin::Own, Origin::Own, Origin::Imported));
}

#[test]
fn of_two_states_of_an_imported_run_the_longer_is_kept_and_another_run_of_its_id_is_refused() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let id = "20261120T225104Z-3f9a";
    let import = |record: &Record| store.import(&file_of(folder.path(), record));
    for (passes, expected) in [
        (2, Imported::New(id.into())),
        (2, Imported::Known(id.into())),
        (1, Imported::Known(id.into())),
        (3, Imported::Longer(id.into())),
    ] {
        assert_eq!(import(&after(id, passes, "one")).unwrap(), expected, "{passes}");
    }
    assert!(error_of(import(&after(id, 4, "two"))).contains("another run with the id"));
    assert_eq!(store.load(id).unwrap().samples.len(), 3);
    assert_eq!(names(store.imported_folder()).len(), 1);
}

#[test]
fn a_pass_that_was_found_invalid_later_makes_no_other_run() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let id = "20261120T225104Z-3f9a";
    let import = |record: &Record| store.import(&file_of(folder.path(), record));
    let counted = |passes| {
        let mut record = after(id, passes, "one");
        let phases = Phases { open_ns: None, work_ns: 7, close_ns: None };
        let tally = Tally {
            ops: 1,
            bytes: 1,
            distinct_bytes: 1,
            distinct_block_bytes: None,
            distinct_pages: None,
            checksum: "0".into(),
            threads: 1,
            queue_depth: 1,
        };
        record.samples[1].outcome = Outcome::Ok { phases, tally };
        record
    };
    assert_eq!(import(&counted(2)).unwrap(), Imported::New(id.into()));
    let mut later = counted(3);
    later.samples[1].outcome = Outcome::Invalid { reason: Invalid::FoliosChanged { fill: Fill::Random, share: 0.5 } };
    assert_eq!(import(&later).unwrap(), Imported::Longer(id.into()));
    later.samples[0].round += 1;
    assert!(error_of(import(&later)).contains("another run with the id"));
}

#[test]
fn an_own_run_is_never_replaced_by_an_imported_one() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let id = "20261120T225104Z-3f9a";
    store.save(&after(id, 2, "one")).unwrap();
    let import = |record: &Record| store.import(&file_of(folder.path(), record));
    assert_eq!(import(&after(id, 2, "one")).unwrap(), Imported::Own(id.into()));
    assert!(error_of(import(&after(id, 3, "one"))).contains("was made here"));
    assert!(error_of(import(&after(id, 2, "two"))).contains("was made here"));
    assert_eq!(store.find(id).unwrap(), (after(id, 2, "one"), Origin::Own));
    assert!(!store.imported_folder().exists());
}

#[test]
fn what_is_no_record_or_no_file_is_not_imported() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let file = folder.path().join("stranger.json");
    for (content, words) in [("", "it is empty"), ("{}", "no record of faultline"), ("[1,2]", "no record of faultline")]
    {
        fs::write(&file, content).unwrap();
        assert!(error_of(store.import(&file)).contains(words), "{content}");
    }
    let outside = Record { id: "../../outside".into(), ..record("x") };
    assert!(error_of(store.import(&file_of(folder.path(), &outside))).contains("is not a run id"));
    let pipe = folder.path().join("pipe.json");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    for path in [&pipe, folder.path()] {
        assert!(error_of(store.import(path)).contains("not a regular file"));
    }
    assert!(error_of(store.import(Path::new("/no/such/file"))).contains("/no/such/file cannot be used"));
    assert!(!store.imported_folder().exists());
}

#[test]
fn a_data_folder_has_one_key_for_a_machine_without_an_id() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    assert_eq!(store.machine_key(false), None, "reading makes none");
    let keys = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| store.machine_key(true).unwrap())).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect::<std::collections::BTreeSet<String>>()
    });
    assert_eq!(keys.len(), 1);
    assert_eq!(store.machine_key(false).as_ref(), keys.first());
    fs::write(folder.path().join("machine-key"), "damaged").unwrap();
    assert_eq!(store.machine_key(true), None);
}
