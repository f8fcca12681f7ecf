use std::{
    fs,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use history::{CleanupJournal, Owner, Removal};
use schema::leftover::{Leftover, LeftoverKind};
use tempfile::TempDir;

use crate::seen_from;

struct Scene {
    _folder: TempDir,
    journal: CleanupJournal,
    entries: PathBuf,
    place: PathBuf,
}

fn scene() -> Scene {
    let folder = TempDir::new().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let place = root.join("place");
    fs::create_dir(&place).unwrap();
    let journal = CleanupJournal::open(Some(root.join("state"))).unwrap();
    Scene { _folder: folder, journal, entries: root.join("state/leftovers"), place }
}

fn identity(path: &Path) -> (u64, u64) {
    let about = fs::symlink_metadata(path).unwrap();
    (about.dev(), about.ino())
}

impl Scene {
    /// A test file that was made and noted by a process that is gone.
    fn left_behind(&self, name: &str) -> PathBuf {
        let path = self.place.join(name);
        let mut entry = self.journal.enter(LeftoverKind::File, &path).unwrap();
        fs::write(&path, [1; 5000]).unwrap();
        entry.created(identity(&path)).unwrap();
        drop(entry);
        self.change(|leftover| leftover.owner.started_ticks += 1);
        path
    }

    fn change(&self, change: impl Fn(&mut Leftover)) {
        for entry in self.journal.entries().unwrap() {
            let mut leftover = entry.leftover.unwrap();
            change(&mut leftover);
            fs::write(entry.entry, serde_json::to_vec(&leftover).unwrap()).unwrap();
        }
    }

    fn clean(&self) -> Vec<Removal> {
        let remove = |found: &history::Found| {
            let (kept, removal) = (self.journal.kept(found), self.journal.remove(found).unwrap());
            // What would be done was said before.
            match &removal {
                Removal::Deleted { .. } => assert_eq!(kept, None),
                other => assert_eq!(kept.as_ref(), Some(other)),
            }
            removal
        };
        self.journal.stale().unwrap().iter().map(remove).collect()
    }

    fn refusal(&self) -> String {
        match &self.clean()[..] {
            [Removal::Refused(reason)] => reason.clone(),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_is_no_regular_file_among_the_entries_is_refused_and_nothing_waits_for_it() {
    let scene = scene();
    scene.left_behind(".faultline-1.data");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, scene.entries.join("a.json"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    std::os::unix::fs::symlink("/dev/zero", scene.entries.join("b.json")).unwrap();
    let known: Vec<bool> = scene.journal.entries().unwrap().iter().map(|it| it.leftover.is_some()).collect();
    assert_eq!((known.len(), known.iter().filter(|it| **it).count()), (3, 1));
}

#[test]
fn an_entry_lives_as_long_as_its_file() {
    let scene = scene();
    assert!(scene.journal.entries().unwrap().is_empty());
    let path = scene.place.join(".faultline-1.data");
    let mut entry = scene.journal.enter(LeftoverKind::File, &path).unwrap();
    assert_eq!(entry.path(), path);
    let noted = scene.journal.entries().unwrap();
    assert_eq!(noted.len(), 1);
    assert_eq!(noted[0].owner, Owner::Running);
    assert_eq!(noted[0].leftover.as_ref().unwrap().identity, None);
    fs::write(&path, "x").unwrap();
    entry.created(identity(&path)).unwrap();
    assert!(scene.journal.entries().unwrap()[0].leftover.as_ref().unwrap().identity.is_some());
    assert!(scene.journal.stale().unwrap().is_empty());
    fs::remove_file(&path).unwrap();
    entry.done().unwrap();
    assert_eq!(fs::read_dir(&scene.entries).unwrap().count(), 0);
}

#[test]
fn what_a_killed_run_left_is_deleted_with_its_entry() {
    let scene = scene();
    let path = scene.left_behind(".faultline-1.data");
    assert!(matches!(scene.clean()[..], [Removal::Deleted { .. }]));
    assert!(!path.exists());
    assert!(scene.journal.entries().unwrap().is_empty());
    // Killed after it had removed its file, or before it made it.
    let path = scene.left_behind(".faultline-2.data");
    fs::remove_file(path).unwrap();
    assert_eq!(scene.clean(), [Removal::WasGone]);
    assert!(scene.journal.entries().unwrap().is_empty());
}

#[test]
fn a_run_that_died_between_its_note_and_its_file_is_cleaned_up_too() {
    let scene = scene();
    let path = scene.left_behind(".faultline-1.data");
    scene.change(|leftover| leftover.identity = None);
    assert!(matches!(scene.clean()[..], [Removal::Deleted { .. }]));
    assert!(!path.exists());
}

#[test]
fn of_an_entry_of_another_user_root_deletes_what_that_user_could_delete() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root is misled by others");
        return;
    }
    use std::os::unix::fs::chown;
    let forged = || {
        let scene = scene();
        let path = scene.left_behind(".faultline-1.data");
        scene.change(|leftover| leftover.identity = None);
        for entry in fs::read_dir(&scene.entries).unwrap() {
            chown(entry.unwrap().path(), Some(65_534), None).unwrap();
        }
        (scene, path)
    };
    let (scene, path) = forged();
    assert!(scene.refusal().contains("of user 65534"));
    assert!(path.exists());
    let (scene, path) = forged();
    chown(&path, Some(65_534), None).unwrap();
    assert!(matches!(scene.clean()[..], [Removal::Deleted { .. }]));
    let (in_theirs, file) = forged();
    chown(&in_theirs.place, Some(65_534), None).unwrap();
    assert!(matches!(in_theirs.clean()[..], [Removal::Deleted { .. }]));
    assert!(!path.exists() && !file.exists());
}

#[test]
fn nothing_is_deleted_that_is_not_the_very_file() {
    let users = |scene: &Scene| {
        let path = scene.place.join("thesis.tex");
        fs::write(&path, "years of work").unwrap();
        path
    };

    let replaced = scene();
    let path = replaced.left_behind(".faultline-1.data");
    let other = replaced.place.join("other");
    fs::write(&other, "of somebody else").unwrap();
    fs::rename(&other, &path).unwrap();
    assert!(replaced.refusal().contains("another file has its name now"));
    assert!(path.exists());

    let linked = scene();
    let path = linked.left_behind(".faultline-1.data");
    fs::remove_file(&path).unwrap();
    let thesis = users(&linked);
    std::os::unix::fs::symlink(&thesis, &path).unwrap();
    assert!(linked.refusal().contains("not a regular file"));
    assert!(thesis.exists() && path.is_symlink());

    let renamed = scene();
    renamed.left_behind(".faultline-1.data");
    let thesis = users(&renamed);
    let forged = thesis.to_str().unwrap().to_string();
    renamed.change(|leftover| leftover.path = forged.clone());
    assert!(renamed.refusal().contains("not named .faultline-*.data"));
    assert!(thesis.exists());

    let moved = scene();
    moved.left_behind(".faultline-1.data");
    let elsewhere = moved.place.with_file_name("elsewhere");
    fs::rename(&moved.place, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &moved.place).unwrap();
    assert!(moved.refusal().contains("its folder is"));
    assert!(elsewhere.join(".faultline-1.data").exists());

    let folder = scene();
    let path = folder.left_behind(".faultline-1.data");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(folder.refusal().contains("not a regular file"));
    assert_eq!(folder.journal.entries().unwrap().len(), 1);
}

#[test]
fn what_may_still_be_in_use_is_not_stale() {
    let scene = scene();
    let path = scene.left_behind(".faultline-1.data");
    let gone = scene.journal.stale().unwrap();
    let elsewhere = |leftover: &mut Leftover| {
        leftover.owner.host = "another".into();
        leftover.owner.boot_id = "another".into();
    };
    scene.change(elsewhere);
    assert!(scene.journal.stale().unwrap().is_empty());
    assert!(matches!(scene.journal.entries().unwrap()[0].owner, Owner::Unknown(_)));
    // The entry was stale when it was listed, and its owner is not known to be gone when it is removed.
    let mut found = gone[0].clone();
    elsewhere(found.leftover.as_mut().unwrap());
    assert!(matches!(scene.journal.remove(&found).unwrap(), Removal::Refused(_)));
    assert!(path.exists());
}

/// Another process over the same folder, which this one cannot see: in a container, on another host, or under hidepid.
#[test]
fn a_process_that_cannot_be_seen_lives_as_long_as_it_holds_its_entry() {
    let scene = scene();
    let path = scene.place.join(".faultline-1.data");
    let mut entry = scene.journal.enter(LeftoverKind::File, &path).unwrap();
    fs::write(&path, "x").unwrap();
    entry.created(identity(&path)).unwrap();
    let invisible: [fn(&mut Leftover); 3] = [
        |it| it.owner.pid = u32::MAX,
        |it| it.owner.pid_namespace = "pid:[1]".into(),
        |it| it.owner.boot_id = "another".into(),
    ];
    for change in invisible {
        scene.change(change);
        let found = scene.journal.entries().unwrap().remove(0);
        assert_eq!(found.owner, Owner::Running);
        assert!(matches!(scene.journal.remove(&found).unwrap(), Removal::Refused(_)));
        assert!(path.exists());
    }
    drop(entry);
    // Its boot is this one, so this kernel would show the lock.
    scene.change(|it| it.owner.boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().into());
    assert!(matches!(scene.clean()[..], [Removal::Deleted { .. }]));
    assert!(!path.exists());
}

/// As an earlier version noted it, and where the folder has no locks.
#[test]
fn an_entry_without_a_lock_is_judged_by_its_process() {
    let scene = scene();
    scene.left_behind(".faultline-1.data");
    scene.change(|leftover| {
        leftover.locked = false;
        leftover.owner.started_ticks -= 1;
    });
    assert_eq!(scene.journal.entries().unwrap()[0].owner, Owner::Running);
    scene.change(|leftover| leftover.owner.started_ticks += 1);
    assert!(matches!(scene.clean()[..], [Removal::Deleted { .. }]));
}

#[test]
fn a_damaged_entry_is_listed_and_does_not_hide_the_others() {
    let scene = scene();
    scene.left_behind(".faultline-1.data");
    fs::write(scene.entries.join("0.json"), "{\"kind\":\"mo").unwrap();
    let entries = scene.journal.entries().unwrap();
    assert_eq!(entries.len(), 2);
    let damaged = entries.iter().find(|found| found.leftover.is_none()).unwrap();
    assert!(matches!(&damaged.owner, Owner::Unknown(reason) if reason.contains("0.json cannot be read")));
    assert_eq!(scene.clean().len(), 1);
    assert!(scene.entries.join("0.json").exists());
}

#[test]
fn a_folder_with_a_name_that_is_no_text_can_be_cleaned_too() {
    let scene = scene();
    let folder = scene.place.join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&folder).unwrap();
    let path = folder.join(".faultline-1.data");
    let mut entry = scene.journal.enter(LeftoverKind::File, &path).unwrap();
    fs::write(&path, [1; 5000]).unwrap();
    entry.created(identity(&path)).unwrap();
    assert_eq!(entry.path(), path);
    drop(entry);
    scene.change(|leftover| leftover.owner.started_ticks += 1);
    assert!(matches!(scene.clean()[..], [Removal::Deleted { .. }]));
    assert!(!path.exists());
}

#[test]
fn what_cannot_be_noted_must_not_be_made() {
    let scene = scene();
    let error = scene.journal.enter(LeftoverKind::File, &scene.place.join("big.bin")).unwrap_err();
    assert!(error.to_string().contains("could never be cleaned up"));
    let file = scene.place.join("a file");
    fs::write(&file, "").unwrap();
    let journal = CleanupJournal::open(Some(file)).unwrap();
    let error = journal.enter(LeftoverKind::File, &scene.place.join(".faultline-1.data")).unwrap_err();
    assert!(error.to_string().contains("nothing was created") && error.to_string().contains("FAULTLINE_DATA_DIR"));
    assert!(scene.journal.enter(LeftoverKind::File, Path::new("/no/such/.faultline-1.data")).is_err());
}

impl Scene {
    /// A directory that was made and noted as a cgroup by a process that is gone.
    fn group_left_behind(&self, path: &Path) {
        let mut entry = self.journal.enter(LeftoverKind::Cgroup, path).unwrap();
        fs::create_dir(path).unwrap();
        entry.created(identity(path)).unwrap();
        drop(entry);
        self.change(|leftover| leftover.owner.started_ticks += 1);
    }
}

/// A place where groups can really be made, with a name for one.
fn real_group(name: &str) -> Option<PathBuf> {
    let hierarchy = sys::cgroup::Hierarchy::detect();
    if let Err(reason) = hierarchy.can_limit_memory(Some(&|_| Ok(()))) {
        println!("skipped: {reason}");
        return None;
    }
    let limits = sys::cgroup::Limits { memory_bytes: Some(1 << 20), ..Default::default() };
    let name = format!("{}{}-{name}", sys::cgroup::PREFIX, std::process::id());
    hierarchy.paths(&name, &limits).into_iter().next()
}

#[test]
fn the_cgroup_of_a_killed_run_is_removed_with_its_entry() {
    let scene = scene();
    let Some(path) = real_group("removed") else { return };
    scene.group_left_behind(&path);
    assert_eq!(scene.clean(), [Removal::Deleted { bytes: 0 }]);
    assert!(!path.exists());
    assert!(scene.journal.entries().unwrap().is_empty());
    scene.group_left_behind(&path);
    fs::remove_dir(&path).unwrap();
    assert_eq!(scene.clean(), [Removal::WasGone]);
}

#[test]
fn a_cgroup_with_anything_in_it_stays() {
    let scene = scene();
    let Some(path) = real_group("busy") else { return };
    scene.group_left_behind(&path);
    let inner = path.join("of-somebody-else");
    fs::create_dir(&inner).unwrap();
    let refusal = scene.refusal();
    let stayed = inner.exists();
    fs::remove_dir(&inner).unwrap();
    assert!(refusal.contains("still in it") && stayed, "{refusal}");
    assert_eq!(scene.clean(), [Removal::Deleted { bytes: 0 }]);
}

#[test]
fn no_directory_is_removed_that_is_not_the_very_cgroup() {
    let ordinary = scene();
    let path = ordinary.place.join("faultline-1-0");
    ordinary.group_left_behind(&path);
    assert!(ordinary.refusal().contains("not in a cgroup file system"));
    assert!(path.exists());

    let replaced = scene();
    let path = replaced.place.join("faultline-1-0");
    replaced.group_left_behind(&path);
    fs::create_dir(replaced.place.join("other")).unwrap();
    fs::rename(replaced.place.join("other"), &path).unwrap();
    assert!(replaced.refusal().contains("another directory has its name now"));

    let linked = scene();
    let path = linked.place.join("faultline-1-0");
    linked.group_left_behind(&path);
    fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink("/sys", &path).unwrap();
    assert!(linked.refusal().contains("not a directory"));

    let forged = scene();
    forged.group_left_behind(&forged.place.join("faultline-1-0"));
    let users = forged.place.join("thesis");
    fs::create_dir(&users).unwrap();
    forged.change(|leftover| leftover.path = users.to_str().unwrap().into());
    assert!(forged.refusal().contains("not named faultline-*"));
    assert!(users.exists());
}

#[test]
fn of_an_entry_of_another_user_root_removes_a_group_only_where_it_is_theirs() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root is misled by others");
        return;
    }
    use std::os::unix::fs::chown;
    let scene = scene();
    let path = scene.place.join("faultline-1-0");
    scene.group_left_behind(&path);
    for entry in fs::read_dir(&scene.entries).unwrap() {
        if chown(entry.unwrap().path(), Some(65_534), None).is_err() {
            return println!("skipped: no file can be given to another user");
        }
    }
    chown(&scene.place, Some(65_534), None).unwrap();
    assert!(scene.refusal().contains("of user 65534"));
    // It is theirs now, and stays for being no group.
    chown(&path, Some(65_534), None).unwrap();
    assert!(scene.refusal().contains("not in a cgroup file system"));
}

#[test]
fn nothing_is_waited_for_in_what_an_entry_calls_a_group() {
    let scene = scene();
    let path = scene.place.join("faultline-1-0");
    scene.group_left_behind(&path);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let pipe = path.join("cgroup.procs");
    rustix::fs::mknodat(rustix::fs::CWD, pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(scene.refusal().contains("not in a cgroup file system"));
}

#[test]
fn no_cgroup_outlives_its_boot() {
    let scene = scene();
    let path = scene.place.join("faultline-1-0");
    scene.group_left_behind(&path);
    scene.change(|leftover| leftover.owner.boot_id = "the one before".into());
    assert_eq!(scene.clean(), [Removal::WasGone]);
    assert!(path.exists());
    assert!(scene.journal.entries().unwrap().is_empty());
}

#[test]
fn a_cgroup_that_could_never_be_cleaned_up_must_not_be_made() {
    let scene = scene();
    for name in ["mine", "faultline-", ".faultline-1.data"] {
        let error = scene.journal.enter(LeftoverKind::Cgroup, &scene.place.join(name)).unwrap_err();
        assert!(error.to_string().contains("not named faultline-*"), "{error}");
    }
    assert!(scene.journal.enter(LeftoverKind::File, &scene.place.join("faultline-1-0")).is_err());
}

#[test]
fn an_entry_is_deleted_where_it_was_found_and_not_where_its_path_leads_by_then() {
    let scene = scene();
    fs::remove_file(scene.left_behind(".faultline-1.data")).unwrap();
    let stale = scene.journal.stale().unwrap().remove(0);
    let elsewhere = scene.place.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let same_name = elsewhere.join(stale.entry.file_name().unwrap());
    // Whoever may write into the folder of the entries puts a link to another one in its place: to what is no entry, or is one.
    fs::rename(&scene.entries, scene.place.join("away")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &scene.entries).unwrap();
    fs::write(&same_name, "mine").unwrap();
    assert!(matches!(scene.journal.remove(&stale).unwrap(), Removal::Refused(_)));
    assert!(same_name.exists());
}

#[test]
fn half_written_entries_of_killed_processes_are_no_entries_and_can_be_removed() {
    let scene = scene();
    let mine = scene.journal.enter(LeftoverKind::File, &scene.place.join(".faultline-1.data")).unwrap();
    let gone = scene.entries.join(format!(".1234abcd-5-6-0.json.{}.4294967295.1.0.tmp", seen_from()));
    let other = scene.entries.join(".notes.tmp");
    for path in [&gone, &other] {
        fs::write(path, "{").unwrap();
    }
    assert_eq!(scene.journal.entries().unwrap().len(), 1);
    let whole = |all: Vec<anyhow::Result<PathBuf>>| all.into_iter().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(whole(scene.journal.abandoned()), std::slice::from_ref(&gone));
    assert_eq!(whole(scene.journal.remove_abandoned()), std::slice::from_ref(&gone));
    assert_eq!((gone.exists(), other.exists()), (false, true));
    assert_eq!(scene.journal.entries().unwrap().len(), 1);
    mine.done().unwrap();
    let nowhere = CleanupJournal::open(Some(scene.place.join("no/such"))).unwrap();
    assert!(nowhere.remove_abandoned().is_empty());
}
