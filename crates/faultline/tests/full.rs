//! Disks that are full, in steps: a command that finds no room says so, keeps what was there, and leaves nothing. One step
//! here; `cargo xtask fault full` makes them on ext4, xfs and btrfs.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use planted::{Effort, Planting};

use crate::{
    scene::typed,
    support::{Output, Sandbox, is_root},
};

/// A file system in a file, mounted until it is dropped.
struct Mounted {
    at: PathBuf,
    _folder: tempfile::TempDir,
}

impl Mounted {
    /// `None`, with the reason on stdout, where it cannot be had.
    fn new(kind: &str, mebibytes: u64) -> Option<Mounted> {
        let folder = tempfile::tempdir().unwrap();
        let (image, at) = (folder.path().join("image"), folder.path().join("mounted"));
        File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
        fs::create_dir(&at).unwrap();
        let image = image.to_str().unwrap();
        let quiet: &[&str] = if kind == "ext4" { &["-q", "-F"] } else { &["-q"] };
        if !does(&format!("mkfs.{kind}"), &[quiet, &[image]].concat()) {
            println!("skipped: mkfs.{kind} is not here");
            return None;
        }
        if !does("mount", &["-o", "loop", image, at.to_str().unwrap()]) {
            println!("skipped: no {kind} can be mounted here");
            return None;
        }
        Some(Mounted { at, _folder: folder })
    }

    fn free(&self) -> u64 {
        let about = rustix::fs::statvfs(&self.at).unwrap();
        about.f_bavail * about.f_frsize
    }

    /// All but so many bytes are taken.
    fn fill_but(&self, bytes: u64) {
        let ballast = self.at.join("ballast");
        let _ = fs::remove_file(&ballast);
        sync(&self.at);
        let file = File::create(&ballast).unwrap();
        let mut piece = self.free().saturating_sub(bytes);
        let mut at = 0;
        // What the file system needs for itself is not known before.
        while piece >= 4096 {
            match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), at, piece) {
                Ok(()) => at += piece,
                Err(_) => piece /= 2,
            }
            piece = piece.min(self.free().saturating_sub(bytes));
        }
        sync(&self.at);
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        assert!(does("umount", &[self.at.to_str().unwrap()]) || std::thread::panicking());
    }
}

fn does(program: &str, args: &[&str]) -> bool {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(program);
    command.args(args).env("PATH", path).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|it| it.success())
}

fn sync(folder: &Path) {
    rustix::fs::syncfs(File::open(folder).unwrap()).unwrap();
}

/// Records and the measured folder are on the full disk.
fn run(sandbox: &Sandbox, disk: &Mounted, args: &[String]) -> Output {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut command = sandbox.command(&args);
    command.env("FAULTLINE_DATA_DIR", disk.at.join("data")).env("TMPDIR", &disk.at);
    crate::support::Running::new(command).end()
}

#[test]
fn a_disk_without_room_ends_commands_with_a_sentence_and_keeps_what_was_there() {
    if !is_root() {
        println!("skipped: only root can mount a disk of its own");
        return;
    }
    let kinds: &[(&str, u64)] = match Effort::is_asked() {
        true => &[("ext4", 48), ("xfs", 320), ("btrfs", 128)],
        false => &[("ext4", 48)],
    };
    for (kind, mebibytes) in kinds {
        if let Some(disk) = Mounted::new(kind, *mebibytes) {
            steps(kind, &disk);
        }
    }
}

fn steps(kind: &str, disk: &Mounted) {
    let sandbox = Sandbox::new();
    let store = history::Store::open(Some(disk.at.join("data"))).unwrap();
    let before = store.save(&Planting { rounds: 2, ..Planting::default() }.plant().record).unwrap();
    let content = fs::read(&before).unwrap();
    let mine = disk.at.join("mine");
    fs::create_dir(&mine).unwrap();
    let text = "title = \"Writing\"\n[[compare]]\nworkload = \"overwrite\"\nblock = \"64 KiB\"\nstate = \"cached\"\n\
                range = { bytes = \"1 MiB\" }\nops = 16\narms = [\"pwrite\", \"mmap\"]\n";
    let writes = sandbox.write("writes.toml", text);
    let folder = mine.to_str().unwrap();
    let commands = [
        typed(&["run", folder, "--size=2MiB", "--method=read,mmap", "--block=64KiB"], &["--rounds=1", "--budget=10s"]),
        typed(&["run", folder, "-e", &writes, "--size=2MiB"], &["--rounds=1", "--budget=10s"]),
        typed(&["history"], &[]),
        typed(&["clean"], &[]),
    ];
    let sizes: &[u64] = match Effort::is_asked() {
        true => &[0, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 3 << 20, 4 << 20],
        false => &[64 << 10],
    };
    let (mut tried, mut wrong) = (0, Vec::new());
    for &bytes in sizes {
        for command in &commands {
            disk.fill_but(bytes);
            let output = run(&sandbox, disk, command);
            tried += 1;
            let mut found = Vec::new();
            if !matches!(output.code(), Some(0..=5)) || output.stderr.contains("panicked") {
                found.push(format!("{output:?}"));
            }
            if output.code() != Some(0) && output.stderr.trim().is_empty() {
                found.push(format!("no sentence: {output:?}"));
            }
            // With room again, what was there is there, and nothing else.
            fs::remove_file(disk.at.join("ballast")).unwrap();
            let clean = run(&sandbox, disk, &typed(&["clean"], &[]));
            let again = run(&sandbox, disk, &typed(&["clean"], &[]));
            if clean.code() != Some(0) || again.stdout != "nothing was left behind\n" {
                found.push(format!("{clean:?} {again:?}"));
            }
            if fs::read(&before).ok().as_ref() != Some(&content) {
                found.push("the record of before is another one".to_string());
            }
            for (id, path) in store.list().unwrap() {
                if let Err(error) = store.load_file(&path) {
                    found.push(format!("{id}: {error:#}"));
                }
                if path != before {
                    fs::remove_file(path).unwrap();
                }
            }
            let left: Vec<PathBuf> = fs::read_dir(&mine).unwrap().map(|it| it.unwrap().path()).collect();
            found.extend((!left.is_empty()).then(|| format!("{left:?}")));
            if !found.is_empty() {
                wrong.push(format!("{kind} with {bytes} bytes free, {command:?}: {}", found.join("; ")));
            }
        }
    }
    println!(
        "{kind}: {tried} commands on a disk with 0 to {} bytes free, {} wrong",
        sizes[sizes.len() - 1],
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}
