//! The index says what the records say, whatever happened to it.

use std::{fs, thread};

use history::{Index, Store};
use schema::{
    Record,
    findings::Estimate,
    machine::{Machine, MadeOn, Origin, Whose},
    saved::{SavedCell, SavedMachine, Wanted},
};
use tempfile::TempDir;

use crate::store::record;

fn one_cell(record: &Record) -> Vec<SavedCell> {
    vec![SavedCell {
        run: String::new(),
        started: String::new(),
        partial: None,
        on: SavedMachine { machine: String::new(), key: None, hardware: None, origin: schema::machine::Origin::Own },
        arm: "native/mmap".into(),
        command: Default::default(),
        workload: schema::Workload::Scan,
        consume: schema::Consume::Sum,
        state: schema::State::Cached,
        block_bytes: 4096,
        condition: "scan 4 KiB cached".into(),
        ns_per_op: Estimate { median: record.budget_s, ci_low: 1.0, ci_high: 99.0 },
        under: schema::Condition {
            block_bytes: 4096,
            state: schema::State::Cached,
            ..schema::Condition::plain(1 << 30)
        },
        own_condition: None,
        target: "/data".into(),
        place: Default::default(),
        comparison: Default::default(),
        occurrence: 0,
        asked: Default::default(),
        found: None,
        found_pages_per_fault: None,
        runtime: Default::default(),
        bytes_per_block: None,
        checksums: Default::default(),
    }]
}

fn never(_: &Record) -> Vec<SavedCell> {
    panic!("a record that did not change is not read again")
}

/// Two runs of two machines.
fn store(folder: &TempDir) -> Store {
    let store = Store::open(Some(folder.path().into())).unwrap();
    for (id, host, started) in
        [("20261120T000000Z-aaaa", "lab", "2026-11-20"), ("20261121T000000Z-bbbb", "field", "2026-11-21")]
    {
        let mut record = record(id);
        record.environment.host = host.into();
        record.started = format!("{started}T00:00:00Z");
        store.save(&record).unwrap();
    }
    store
}

fn ids(index: &Index, wanted: &Wanted) -> Vec<String> {
    index.runs(wanted).unwrap().0.into_iter().map(|it| it.id).collect()
}

fn refreshed(store: &Store) -> Index {
    let mut index = Index::open(store).unwrap();
    index.refresh(store, "1", &one_cell).unwrap();
    index
}

#[test]
fn runs_are_found_by_machine_target_experiment_and_day() {
    let folder = TempDir::new().unwrap();
    let index = refreshed(&store(&folder));
    let all = Wanted::default();
    let first = ["20261120T000000Z-aaaa".to_string()];
    assert_eq!(ids(&index, &all).len(), 2);
    assert_eq!(ids(&index, &all)[1], first[0], "the newest comes first");
    let some = |text: &str| Some(text.to_string());
    assert_eq!(ids(&index, &Wanted { machine: Whose::Named("lab".into()), ..all.clone() }), first);
    assert_eq!(ids(&index, &Wanted { until: some("2026-11-20"), ..all.clone() }), first);
    assert_eq!(ids(&index, &Wanted { since: some("2026-11-21"), ..all.clone() }).len(), 1);
    assert_eq!(ids(&index, &Wanted { target: some("/data"), experiment: some("smoke"), ..all.clone() }).len(), 2);
    assert_eq!(ids(&index, &Wanted { target: some("%"), ..all }), [] as [String; 0], "a sign is no wildcard");
}

/// A record of a machine.
fn made_on(id: &str, host: &str, key: &str) -> Record {
    let mut record = record(id);
    record.environment.host = host.into();
    record.environment.machine = Some(Machine {
        key: key.into(),
        boot: None,
        hardware: "0011223344556677".into(),
        source: schema::machine::KeySource::MachineId,
    });
    record
}

#[test]
fn a_cell_says_that_its_run_ended_before_its_plan_did() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    let mut stopped = record("20261122T000000Z-cccc");
    stopped.partial = Some("interrupted".into());
    store.save(&stopped).unwrap();
    let cells = refreshed(&store).cells(&Wanted::default(), &"native/mmap".parse().unwrap()).unwrap();
    assert_eq!(cells.iter().filter(|it| it.partial.is_some()).count(), 1);
}

#[test]
fn runs_of_this_machine_are_those_that_lie_in_its_own_folder_and_have_its_identity() {
    const OURS: &str = "0123456789abcdef0123456789abcdef";
    const THEIRS: &str = "fedcba9876543210fedcba9876543210";
    let folder = TempDir::new().unwrap();
    let store = Store::open(Some(folder.path().into())).unwrap();
    let ours = made_on("20261122T000000Z-ours", "lab", OURS);
    store.save(&ours).unwrap();
    store.save(&made_on("20261122T000001Z-copied", "lab", THEIRS)).unwrap();
    store.save(&record("20261119T000000Z-older")).unwrap();
    for stranger in [
        made_on("20261122T000002Z-theirs", "field", THEIRS),
        // It says that it was made here.
        made_on("20261122T000003Z-forged", "lab", OURS),
        // As does one of an older version.
        record("20261122T000004Z-plain"),
    ] {
        let file = folder.path().join("stranger.json");
        fs::write(&file, serde_json::to_string(&stranger).unwrap()).unwrap();
        store.import(&file).unwrap();
    }
    let index = refreshed(&store);
    let of = |machine: Whose| {
        let wanted = Wanted { machine, ..Wanted::default() };
        let mut found = ids(&index, &wanted);
        let cells = index.cells(&wanted, &"native/mmap".parse().unwrap()).unwrap();
        assert_eq!(cells.len(), found.len());
        found.iter_mut().for_each(|it| drop(it.drain(..17)));
        found.sort();
        found
    };
    let here = || MadeOn::new(&ours.environment, Origin::Own);
    assert_eq!(of(Whose::selected(None, here)), ["older", "ours"]);
    assert_eq!(of(Whose::selected(Some(OURS), here)), ["older", "ours"]);
    assert_eq!(of(Whose::selected(Some("field"), here)), ["theirs"]);
    assert_eq!(of(Whose::selected(Some(&THEIRS[..8]), here)), ["copied", "theirs"]);
    assert_eq!(of(Whose::selected(Some("all"), here)), ["copied", "forged", "older", "ours", "plain", "theirs"]);
    let wanted = Wanted { machine: Whose::selected(None, here), ..Wanted::default() };
    assert_eq!(index.runs(&wanted).unwrap().1, 4);
}

#[test]
fn a_cell_over_time_is_the_oldest_first_and_only_what_was_asked_for() {
    let folder = TempDir::new().unwrap();
    let index = refreshed(&store(&folder));
    let cells = |text: &str| index.cells(&Wanted::default(), &text.parse().unwrap()).unwrap();
    let found = cells("native/mmap scan 4KiB cached sum");
    assert_eq!(found.iter().map(|it| it.on.machine.as_str()).collect::<Vec<_>>(), ["lab", "field"]);
    assert_eq!(found[0].ns_per_op.median, 60.0);
    assert!(cells("native/mmap random").is_empty() && cells("native/read").is_empty());
}

#[test]
fn only_what_changed_is_read_again_and_what_is_gone_is_forgotten() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    drop(refreshed(&store));
    let mut index = Index::open(&store).unwrap();
    index.refresh(&store, "1", &never).unwrap();
    fs::remove_file(store.folder().join("20261120T000000Z-aaaa.json")).unwrap();
    index.refresh(&store, "1", &never).unwrap();
    assert_eq!(ids(&index, &Wanted::default()), ["20261121T000000Z-bbbb"]);
    let found = index.cells(&Wanted::default(), &"native/mmap".parse().unwrap()).unwrap();
    assert_eq!(found.len(), 1, "its cells go with it");
}

#[test]
fn what_another_version_of_the_analysis_derived_is_derived_again() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    drop(refreshed(&store));
    let mut index = Index::open(&store).unwrap();
    let other = |record: &Record| {
        let mut cells = one_cell(record);
        cells[0].ns_per_op.median = 7.0;
        cells
    };
    index.refresh(&store, "2", &other).unwrap();
    let found = index.cells(&Wanted::default(), &"native/mmap".parse().unwrap()).unwrap();
    assert_eq!(found.iter().map(|it| it.ns_per_op.median).collect::<Vec<_>>(), [7.0, 7.0]);
    index.refresh(&store, "2", &never).unwrap();
}

#[test]
fn what_another_version_derives_while_records_are_read_stays_whole() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    let other = |record: &Record| {
        let mut cells = one_cell(record);
        cells[0].ns_per_op.median = 7.0;
        cells
    };
    let meanwhile = |record: &Record| {
        Index::open(&store).unwrap().refresh(&store, "2", &other).unwrap();
        one_cell(record)
    };
    let medians = |index: &Index| -> Vec<f64> {
        let found = index.cells(&Wanted::default(), &"native/mmap".parse().unwrap()).unwrap();
        found.iter().map(|it| it.ns_per_op.median).collect()
    };
    let mut index = Index::open(&store).unwrap();
    index.refresh(&store, "1", &meanwhile).unwrap();
    assert!(index.only_in_memory.is_some());
    assert!(medians(&index).len() == 2 && !medians(&index).contains(&7.0));
    let mut newer = Index::open(&store).unwrap();
    newer.refresh(&store, "2", &never).unwrap();
    assert_eq!(medians(&newer), [7.0, 7.0]);
}

#[test]
fn cells_of_one_run_that_agree_in_everything_are_told_apart_by_their_number() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    let mut index = Index::open(&store).unwrap();
    let second = |it: SavedCell| SavedCell { occurrence: 1, ..it };
    let twice =
        |record: &Record| one_cell(record).into_iter().chain(one_cell(record).into_iter().map(second)).collect();
    index.refresh(&store, "1", &twice).unwrap();
    let found = index.cells(&Wanted::default(), &"native/mmap".parse().unwrap()).unwrap();
    assert_eq!(found.iter().map(|it| it.occurrence).collect::<Vec<_>>(), [0, 1, 0, 1]);
    let here = |at: usize| SavedCell { on: found[0].on.clone(), ..found[at].clone() };
    assert!(found[0].continues(&here(2)) && !found[0].continues(&here(3)));
    assert!(!found[0].continues(&found[2]), "of another machine");
}

#[test]
fn a_damaged_record_is_named_and_the_others_are_listed() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    let half = fs::read(store.folder().join("20261120T000000Z-aaaa.json")).unwrap();
    fs::write(store.folder().join("20261122T000000Z-cccc.json"), &half[..half.len() / 2]).unwrap();
    let index = refreshed(&store);
    assert_eq!(ids(&index, &Wanted::default()).len(), 2);
    let damaged = index.damaged().unwrap();
    assert_eq!(damaged.len(), 1);
    assert!(damaged[0].reason.contains("cccc.json") && damaged[0].reason.contains("it is truncated"), "{damaged:?}");
}

#[test]
fn an_index_that_is_deleted_damaged_or_of_another_layout_is_made_again() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    let file = folder.path().join("faultline-index.sqlite");
    for harm in [
        &|| fs::remove_file(&file).unwrap() as (),
        &|| fs::write(&file, b"no database at all, but long enough to be taken for one").unwrap(),
        &|| fs::write(&file, b"").unwrap(),
        &|| {
            let other = rusqlite::Connection::open(&file).unwrap();
            other.pragma_update(None, "user_version", 77).unwrap();
        },
    ] as [&dyn Fn(); 4]
    {
        drop(refreshed(&store));
        harm();
        let index = refreshed(&store);
        assert_eq!((ids(&index, &Wanted::default()).len(), index.only_in_memory), (2, None));
    }
}

#[test]
fn what_is_no_index_of_ours_keeps_its_content() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    let file = folder.path().join("faultline-index.sqlite");
    let bytes = || fs::read(&file).unwrap();
    // Tables with our names, in a layout of their own, with and without an application of their own.
    for (application, version) in [(0, 0), (0, 1), (0, 77), (7, 1), (7, 2)] {
        let _ = fs::remove_file(&file);
        let other = rusqlite::Connection::open(&file).unwrap();
        other.execute_batch("CREATE TABLE cell (mine TEXT); INSERT INTO cell VALUES ('data')").unwrap();
        other.pragma_update(None, "application_id", application).unwrap();
        other.pragma_update(None, "user_version", version).unwrap();
        drop(other);
        let before = bytes();
        let index = refreshed(&store);
        assert_eq!(ids(&index, &Wanted::default()).len(), 2);
        assert!(index.only_in_memory.is_some());
        assert!(bytes() == before, "{application} {version}");
    }
    fs::write(&file, "a letter, and no database").unwrap();
    let index = refreshed(&store);
    assert_eq!((ids(&index, &Wanted::default()).len(), index.only_in_memory), (2, None));
    let aside = folder.path().join("faultline-index.sqlite.damaged-1");
    assert_eq!(fs::read(aside).unwrap(), b"a letter, and no database");
}

#[test]
fn a_link_is_not_followed_to_a_database_elsewhere() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    let elsewhere = folder.path().join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, folder.path().join("faultline-index.sqlite")).unwrap();
    assert_eq!(ids(&refreshed(&store), &Wanted::default()).len(), 2);
    assert!(!elsewhere.exists());
}

#[test]
fn a_process_that_writes_to_the_index_for_long_keeps_no_other_from_its_answer() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    drop(refreshed(&store));
    let other = rusqlite::Connection::open(folder.path().join("faultline-index.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let index = refreshed(&store);
    assert_eq!((ids(&index, &Wanted::default()).len(), &index.only_in_memory), (2, &None), "nothing is to be written");
    store.save(&record("20261123T000000Z-dddd")).unwrap();
    let index = refreshed(&store);
    assert_eq!(ids(&index, &Wanted::default()).len(), 3);
    assert!(index.only_in_memory.is_some());
}

#[test]
fn records_are_read_while_no_other_process_has_to_wait() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    let mut index = Index::open(&store).unwrap();
    let file = folder.path().join("faultline-index.sqlite");
    let digest = |record: &Record| {
        let other = rusqlite::Connection::open(&file).unwrap();
        other.execute_batch("BEGIN IMMEDIATE; COMMIT").unwrap();
        one_cell(record)
    };
    index.refresh(&store, "1", &digest).unwrap();
    assert_eq!(ids(&index, &Wanted::default()).len(), 2);
}

#[test]
fn where_nothing_can_be_written_the_index_lives_in_memory_and_says_so() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    // Root may write anywhere, so a folder stands where the file would be.
    fs::create_dir(folder.path().join("faultline-index.sqlite")).unwrap();
    let index = refreshed(&store);
    assert_eq!(ids(&index, &Wanted::default()).len(), 2);
    assert!(index.only_in_memory.unwrap().contains("faultline-index.sqlite"));
}

#[test]
fn root_keeps_the_index_of_another_users_records_in_memory() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    if !rustix::process::geteuid().is_root() || std::os::unix::fs::chown(folder.path(), Some(65_534), None).is_err() {
        println!("skipped: only root is led elsewhere by others");
        return;
    }
    let index = refreshed(&store);
    assert_eq!(ids(&index, &Wanted::default()).len(), 2);
    assert!(index.only_in_memory.is_some() && !folder.path().join("faultline-index.sqlite").exists());
}

#[test]
fn several_processes_may_bring_it_up_to_date_at_once() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(ids(&refreshed(&store), &Wanted::default()).len(), 2));
        }
    });
}

#[test]
fn a_store_without_records_is_an_empty_list() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(Some(folder.path().join("new"))).unwrap();
    assert!(ids(&refreshed(&store), &Wanted::default()).is_empty());
}
