//! Valid documents with something exchanged at random: each is refused or used, and none ends the program.
//! `cargo xtask fault fuzz` makes as many of them as it is asked for.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use history::{CleanupJournal, Owner, Removal};
use planted::{Effort, Random, mutated};
use schema::{Record, leftover::LeftoverKind};
use serde_json::{Value, json};

use crate::hostile;

#[test]
fn any_record_is_refused_or_shown_by_every_report() {
    let corpus: Vec<Value> = hostile::records().collect();
    let (mut shown, mut refused, mut failed) = (0, 0, Vec::new());
    for seed in Effort::of(60).seeds() {
        match serde_json::from_value::<Record>(mutated(&corpus, &mut Random(seed))) {
            Ok(record) if record.check().is_ok() => {
                shown += 1;
                if catch_unwind(AssertUnwindSafe(|| hostile::say_everything(&record))).is_err() {
                    failed.push(seed);
                }
            }
            _ => refused += 1,
        }
    }
    println!("records: {} inputs, {shown} shown, {refused} refused, {} panics", shown + refused, failed.len());
    assert!(failed.is_empty(), "panics at the seeds {failed:?}");
}

/// What must be there afterwards: name, inode and content.
fn canaries(folder: &Path) -> Vec<(PathBuf, u64, Option<Vec<u8>>)> {
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path())
        .map(|path| (path.clone(), fs::symlink_metadata(&path).unwrap().ino(), fs::read(&path).ok()))
        .collect();
    all.sort();
    all
}

#[test]
fn no_entry_of_the_cleanup_journal_removes_what_has_no_name_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("mine");
    fs::create_dir(&mine).unwrap();
    for name in ["precious", ".faultline-", "faultline-1.data", ".faultline-x.data.bak"] {
        fs::write(mine.join(name), name).unwrap();
    }
    for name in [".faultline-folder.data", "faultline-group"] {
        fs::create_dir(mine.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(mine.join("precious"), mine.join(".faultline-link.data")).unwrap();
    let before = canaries(&mine);
    let corpus = entries(folder.path(), &mine);
    let data = folder.path().join("data");
    let leftovers = data.join("leftovers");
    fs::create_dir_all(&leftovers).unwrap();
    let journal = CleanupJournal::open(Some(data)).unwrap();
    let (mut deleted, mut gone, mut stay, mut failed) = (0, 0, 0, Vec::new());
    for seed in Effort::of(400).seeds() {
        let mut random = Random(seed);
        // What an entry may delete is there each time.
        let ours = mine.join(".faultline-ours.data");
        fs::write(&ours, "ours").unwrap();
        let mut text = mutated(&corpus, &mut random).to_string().into_bytes();
        if random.below(8) == 0 {
            text.truncate(random.below(text.len() as u64) as usize);
        }
        let entry = leftovers.join("entry.json");
        fs::write(&entry, text).unwrap();
        let removed = catch_unwind(AssertUnwindSafe(|| {
            let found = journal.entries().unwrap().pop().expect("an entry is there");
            match &found.owner {
                Owner::Gone => journal.remove(&found).ok(),
                Owner::Running | Owner::Unknown(_) => None,
            }
        }));
        match removed {
            Ok(Some(Removal::Deleted { .. })) => deleted += 1,
            Ok(Some(Removal::WasGone)) => gone += 1,
            Ok(Some(Removal::Refused(_)) | None) => stay += 1,
            Err(_) => failed.push(seed),
        }
        let _ = (fs::remove_file(&ours), fs::remove_file(&entry));
        if canaries(&mine) != before {
            failed.push(seed);
            break;
        }
    }
    let inputs = deleted + gone + stay + failed.len();
    println!("journal entries: {inputs} inputs, {deleted} removed a file of ours, {gone} found it gone, {stay} stay");
    assert!(failed.is_empty(), "panics, or something else was removed, at the seeds {failed:?}");
}

/// Entries of a process that is gone, about everything in a folder.
fn entries(folder: &Path, mine: &Path) -> Vec<Value> {
    let journal = CleanupJournal::open(Some(folder.join("corpus"))).unwrap();
    let _entry = journal.enter(LeftoverKind::File, &mine.join(".faultline-ours.data")).unwrap();
    let found = journal.entries().unwrap().pop().unwrap();
    let whole: Value = serde_json::from_slice(&fs::read(found.entry).unwrap()).unwrap();
    // Those that are removed are few by themselves: half of all.
    let ours = std::iter::repeat_n(mine.join(".faultline-ours.data"), 8);
    let names = canaries(mine).into_iter().map(|it| it.0).chain(ours);
    let about = |path: PathBuf, kind: &str, locked: bool| {
        let mut entry = whole.clone();
        entry["path"] = json!(path);
        entry["kind"] = json!(kind);
        entry["locked"] = json!(locked);
        // No process has this pid (proc_sys_kernel(5): pid_max is at most 2^22).
        entry["owner"]["pid"] = json!(1 << 22);
        entry
    };
    let kinds = [("file", true), ("file", false), ("cgroup", true)];
    names.flat_map(|path| kinds.map(|(kind, locked)| about(path.clone(), kind, locked))).collect()
}
