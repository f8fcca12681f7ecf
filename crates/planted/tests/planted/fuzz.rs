//! Valid documents with something exchanged at random: each is refused or used, and none ends the program.
//! `cargo xtask fault fuzz` makes as many of them as it is asked for.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use history::{CleanupJournal, Owner, Removal};
use planted::{Effort, Planting, Random, extremes, mutated, mutated_bytes};
use schema::{Record, leftover::LeftoverKind};
use serde_json::{Number, Value, json};

use crate::hostile;

#[test]
fn any_record_is_refused_or_shown_by_every_report() {
    // The first is short: more of it can be tried, and more of what is exchanged in it is no pass.
    let corpus: Vec<Value> = hostile::records().collect();
    let corpus = [vec![corpus[0].clone(); 12], corpus].concat();
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

/// Exchanges every number that has this name.
fn set(value: &mut Value, name: &str, to: &Number) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(|it| set(it, name, to)),
        Value::Object(all) => all.iter_mut().for_each(|(key, it)| match it {
            Value::Number(number) if key == name => *number = to.clone(),
            _ => set(it, name, to),
        }),
        _ => {}
    }
}

/// The names of all numbers.
fn named(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|it| named(it, names)),
        Value::Object(all) => all.iter().for_each(|(key, it)| {
            if it.is_number() {
                names.insert(key.clone());
            }
            named(it, names);
        }),
        _ => {}
    }
}

/// One number alone does not make a sum too large.
#[test]
fn a_record_that_has_a_number_everywhere_is_refused_or_shown_by_every_report() {
    let corpus: Vec<Value> = hostile::records().collect();
    let mut names = BTreeSet::new();
    corpus.iter().for_each(|it| named(it, &mut names));
    let names: Vec<String> = names.into_iter().collect();
    let values: Vec<Number> = extremes().collect();
    let (mut inputs, mut shown, mut failed) = (0, 0, Vec::new());
    // Passes after the last number, folios of an order that no size has, and more pages than can be added up.
    let known = [("round", u64::from(u32::MAX)), ("order", 64), ("pages", u64::MAX)];
    let known = known.map(|(name, to)| (name.to_string(), Number::from(to)));
    let drawn = Effort::of(3).seeds().map(|seed| {
        let mut random = Random(seed);
        let mut below = |end: usize| random.below(end as u64) as usize;
        (names[below(names.len())].clone(), values[below(values.len())].clone())
    });
    for (name, to) in known.into_iter().chain(drawn) {
        for whole in &corpus {
            let mut document = whole.clone();
            set(&mut document, &name, &to);
            inputs += 1;
            let Ok(record) = serde_json::from_value::<Record>(document) else { continue };
            if record.check().is_err() {
                continue;
            }
            shown += 1;
            if catch_unwind(AssertUnwindSafe(|| hostile::say_everything(&record))).is_err() {
                failed.push(format!("{name} = {to}"));
            }
        }
    }
    println!("records with a number everywhere: {inputs} inputs, {shown} shown, {} panics", failed.len());
    assert!(failed.is_empty(), "{failed:#?}");
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

#[test]
fn any_index_is_used_or_replaced_and_the_records_stay() {
    let folder = tempfile::tempdir().unwrap();
    let store = history::Store::open(Some(folder.path().to_path_buf())).unwrap();
    let record = Planting { rounds: 2, ..Planting::default() }.plant().record;
    let saved = store.save(&record).unwrap();
    let path = folder.path().join("faultline-index.sqlite");
    let look = || {
        let mut index = history::Index::open(&store).unwrap();
        index.refresh(&store, analysis::VERSION, &analysis::saved_cells)?;
        let wanted = schema::saved::Wanted::default();
        let cells = index.cells(&wanted, &"native/mmap".parse().unwrap())?.len();
        Ok::<_, anyhow::Error>((
            index.runs(&wanted)?.0.len(),
            cells,
            index.damaged()?.len(),
            index.only_in_memory.is_some(),
        ))
    };
    look().unwrap();
    let (whole, content) = (fs::read(&path).unwrap(), fs::read(&saved).unwrap());
    let (mut same, mut other, mut aside, mut failed, mut panics) = (0, 0, 0, 0, Vec::new());
    for seed in Effort::of(60).seeds() {
        fs::write(&path, mutated_bytes(&whole, &mut Random(seed))).unwrap();
        match catch_unwind(AssertUnwindSafe(look)) {
            Ok(Ok((1, _, 0, _))) => same += 1,
            // What the database does not notice: the index is no record, and can be deleted.
            Ok(Ok(_)) => other += 1,
            Ok(Err(_)) => failed += 1,
            Err(_) => panics.push(seed),
        }
        for it in fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path()) {
            if it.to_string_lossy().contains("sqlite") {
                aside += u32::from(it.to_string_lossy().contains("damaged"));
                fs::remove_file(it).unwrap();
            }
        }
    }
    println!(
        "indices: {} inputs, {same} say what the record says ({aside} made again), {other} something else, {failed} \
         refused, {} panics",
        same + other + failed,
        panics.len()
    );
    assert!(panics.is_empty(), "panics at the seeds {panics:?}");
    assert_eq!(fs::read(saved).unwrap(), content);
}
