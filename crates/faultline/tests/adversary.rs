//! Another user owns the folder that root measures in, and exchanges file, folder and links as fast as it goes. No file
//! elsewhere may change. `cargo xtask fault adversary` goes on until there were as many exchanges as it is asked for.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

use planted::Effort;

use crate::support::{NOBODY, Sandbox, is_root, test_file};

/// At least. The first of each three is killed as soon as its file is there, so that there is something to clean; the last
/// is the one before once more.
const RUNS: u64 = 3;

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
    let swap_folder = || {
        let is_aside = fs::rename(folder, &aside).is_ok();
        if is_aside {
            let _ = symlink(canary.parent().unwrap(), folder);
            let _ = fs::remove_file(folder);
            let _ = fs::rename(&aside, folder);
        }
        is_aside
    };
    let mut turn = 0u64;
    while !stop.load(Ordering::Relaxed) {
        turn += 1;
        let found = if folder.is_dir() { test_file_of(folder) } else { None };
        let Some(file) = found else {
            // Before there is a file, the folder is exchanged.
            if turn.is_multiple_of(8) {
                swap_folder();
            }
            continue;
        };
        let kept = folder.join("kept");
        if turn.is_multiple_of(3) {
            swaps.fetch_add(u64::from(swap_folder()), Ordering::Relaxed);
        } else if fs::rename(&file, &kept).is_ok() {
            let _ = if links_hard && turn.is_multiple_of(2) {
                fs::hard_link(canary, &file)
            } else {
                symlink(canary, &file)
            };
            thread::yield_now();
            let _ = fs::remove_file(&file);
            let _ = fs::rename(&kept, &file);
            swaps.fetch_add(1, Ordering::Relaxed);
        }
    }
    let _ = fs::rename(&aside, folder);
}

/// Sets a flag when it is dropped.
struct AtEnd<'a>(&'a AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn test_file_of(folder: &Path) -> Option<PathBuf> {
    let names = fs::read_dir(folder).ok()?.filter_map(|it| Some(it.ok()?.path()));
    names.into_iter().find(|it| it.extension().is_some_and(|it| it == "data"))
}

fn attack(arms: &str, links_hard: bool) {
    if !is_root() {
        println!("skipped: only root measures in a folder of another user that it can write to");
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
    // The workers are compiled before: meanwhile there is no file to exchange, and the adversary would take a processor.
    let calm = sandbox.folder("calm");
    sandbox.run(&["run", &calm, "-e", &experiment, "--size=1MiB", "--rounds=1", "--budget=2s", "--quiet"]).sane();
    let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    let made = || swaps.load(Ordering::Relaxed);
    let effort = Effort::of(0);
    let (mut runs, mut reached) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| swap(&folder, &canary.path, links_hard, &stop, &swaps));
        // The flag is set also when an assertion fails below.
        let _stop = AtEnd(&stop);
        for seed in effort.endless() {
            if runs >= RUNS && made() >= effort.count() {
                break;
            }
            let before = made();
            let seed = format!("--seed={seed}");
            let arguments = ["-e", &experiment, &seed, "--size=1MiB", "--rounds=1", "--budget=2s", "--quiet"];
            let run = [&["run", folder.to_str().unwrap()], &arguments[..]].concat();
            let mut running = match runs % 3 {
                2 => sandbox.start(&["rerun", "last", "--target", folder.to_str().unwrap(), "--quiet"]),
                _ => sandbox.start(&run),
            };
            // Whether there was anything to measure is the adversary's to decide.
            if runs % 3 == 0 {
                if running.until(|| (made() > before + 10).then_some(())).is_some() {
                    running.signal(libc::SIGKILL);
                }
                running.end();
            } else {
                running.end().sane();
            }
            sandbox.run(&["clean"]).sane();
            runs += 1;
            reached += u64::from(made() > before);
        }
    });
    println!("adversary, {arms}: {} swaps of {} during {reached} of {runs} runs", made(), effort.count());
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

#[test]
fn a_go_worker_that_writes_changes_no_file_elsewhere_when_the_folders_owner_swaps_links_in() {
    attack("\"go/pwrite\", \"go/mmap-store\"", false);
}
