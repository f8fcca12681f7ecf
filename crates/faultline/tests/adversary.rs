//! Another user owns the folder that root measures in, and exchanges file, folder and links as fast as it goes. No file
//! elsewhere may change.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

use crate::support::{NOBODY, Sandbox, is_root, test_file};

/// Each exchange is a few system calls; the adversary gives up then, should the runs take longer.
const MOST_SWAPS: u64 = 2_000_000;
/// The first is killed as soon as its file is there, so that there is something to clean.
const RUNS: usize = 3;

/// Ways of writing against each other, in small passes.
const WRITING: &str = "title = \"Writing\"\n[[compare]]\nworkload = \"overwrite\"\nblock = \"64 KiB\"\n\
                       state = [\"cold\", \"cached\"]\narms = [ARMS]\n";

/// A file of root's in a folder of root's, and how it was.
struct Canary {
    path: PathBuf,
    before: (Vec<u8>, i64, i64, u64),
}

impl Canary {
    fn new(folder: &Path) -> Canary {
        let path = folder.join("canary");
        fs::write(&path, vec![b'c'; 1 << 20]).unwrap();
        // Whoever may write the file may also make links to it, whatever `fs.protected_hardlinks` says.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let before = Canary::look(&path);
        Canary { path, before }
    }

    fn look(path: &Path) -> (Vec<u8>, i64, i64, u64) {
        let about = fs::metadata(path).unwrap();
        (fs::read(path).unwrap(), about.ctime(), about.ctime_nsec(), about.ino())
    }

    /// Content and place; a hard link, which the adversary may make, changes ctime as every write does.
    #[track_caller]
    fn lives(&self, linked: bool) {
        let now = Canary::look(&self.path);
        assert!(now.0 == self.before.0, "the canary's content changed");
        assert_eq!(now.3, self.before.3);
        assert!(linked || now == self.before, "the canary was touched");
    }
}

/// Makes this thread, and no other, one of an ordinary user.
fn become_nobody() {
    // SAFETY: the system call is made directly, and so changes this thread alone; it touches no memory.
    let failed = unsafe {
        libc::syscall(libc::SYS_setresgid, NOBODY, NOBODY, NOBODY) != 0
            || libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) != 0
    };
    assert!(!failed, "the adversary could not become another user");
}

/// Exchanges what is in `folder`, and the folder, until told to stop. Any call may fail: root is at work there.
fn swap(folder: &Path, canary: &Path, links_hard: bool, stop: &AtomicBool, swaps: &AtomicU64) {
    become_nobody();
    let aside = folder.with_file_name("aside");
    let elsewhere = canary.parent().unwrap();
    for turn in 0..MOST_SWAPS {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let found = if folder.is_dir() { test_file_of(folder) } else { None };
        let Some(file) = found else {
            // Before there is a file, the folder is exchanged.
            if turn % 8 == 0 && fs::rename(folder, &aside).is_ok() {
                let _ = symlink(elsewhere, folder);
                let _ = fs::remove_file(folder);
                let _ = fs::rename(&aside, folder);
            }
            continue;
        };
        let kept = folder.join("kept");
        if turn % 3 == 0 {
            if fs::rename(folder, &aside).is_ok() {
                let _ = symlink(elsewhere, folder);
                let _ = fs::remove_file(folder);
                let _ = fs::rename(&aside, folder);
            }
        } else if fs::rename(&file, &kept).is_ok() {
            let _ = if links_hard && turn % 2 == 0 { fs::hard_link(canary, &file) } else { symlink(canary, &file) };
            thread::yield_now();
            let _ = fs::remove_file(&file);
            let _ = fs::rename(&kept, &file);
        }
        swaps.fetch_add(1, Ordering::Relaxed);
    }
    let _ = fs::rename(&aside, folder);
}

fn test_file_of(folder: &Path) -> Option<PathBuf> {
    let names = fs::read_dir(folder).ok()?.filter_map(|it| Some(it.ok()?.path()));
    names.into_iter().find(|it| it.extension().is_some_and(|it| it == "data"))
}

fn attack(arms: &str, links_hard: bool) {
    if !is_root() {
        println!("skipped: only root measures in a folder of somebody else that it can write to");
        return;
    }
    let sandbox = Sandbox::new();
    fs::set_permissions(sandbox.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let experiment = sandbox.write("writing.toml", WRITING.replace("ARMS", arms));
    let canary = Canary::new(Path::new(&sandbox.folder("of-root")));
    let theirs = PathBuf::from(sandbox.folder("theirs"));
    let folder = theirs.join("folder");
    fs::create_dir(&folder).unwrap();
    for path in [&theirs, &folder] {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut reached = 0;
    thread::scope(|scope| {
        scope.spawn(|| swap(&folder, &canary.path, links_hard, &stop, &swaps));
        for run in 0..RUNS {
            let before = swaps.load(Ordering::Relaxed);
            let seed = format!("--seed={run}");
            let arguments = ["-e", &experiment, &seed, "--size=1MiB", "--rounds=1", "--budget=2s", "--quiet"];
            // Whether there was anything to measure is the adversary's to decide.
            let mut running = sandbox.start(&[&["run", folder.to_str().unwrap()], &arguments[..]].concat());
            if run == 0 {
                if running.until(|| (swaps.load(Ordering::Relaxed) > before + 10).then_some(())).is_some() {
                    running.signal(libc::SIGKILL);
                }
                running.end();
            } else {
                running.end().sane();
            }
            sandbox.run(&["clean"]).sane();
            reached += u64::from(swaps.load(Ordering::Relaxed) > before);
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("{} swaps during {reached} of {RUNS} runs", swaps.into_inner());
    canary.lives(links_hard);
    // What was killed may stay: the owner can hide a file while `clean` looks for it.
    sandbox.run(&["clean"]).sane();
    assert!(test_file(canary.path.parent().unwrap()).is_none(), "a test file was left beside the canary");
}

#[test]
fn a_run_that_writes_changes_no_file_elsewhere_when_the_folders_owner_swaps_links_in() {
    attack("\"write\", \"pwrite\", \"mmap\", \"uring\", \"direct\"", false);
}

#[test]
fn a_run_that_writes_changes_no_file_elsewhere_when_the_folders_owner_swaps_hard_links_in() {
    attack("\"write\", \"mmap+per-block\"", true);
}

#[test]
fn a_jvm_that_writes_changes_no_file_elsewhere_when_the_folders_owner_swaps_links_in() {
    attack("\"jvm/channel-write\", \"jvm/mapped-put\"", false);
}
