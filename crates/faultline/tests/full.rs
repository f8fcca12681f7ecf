//! Disks that are full, in steps: a command that finds no room says so, keeps what was there, and leaves nothing. One step
//! here; `cargo xtask fault full` makes them on ext4, xfs and btrfs.

use std::{fs, path::PathBuf};

use planted::{Effort, Planting, several};

use crate::{
    disk::{self, Disk},
    scene::typed,
    support::{Output, Running, Sandbox},
};

/// Records and the measured folder are on the full disk.
fn run(sandbox: &Sandbox, disk: &Disk, args: &[String]) -> Output {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut command = sandbox.command(&args);
    command.env("FAULTLINE_DATA_DIR", disk.at.join("data")).env("TMPDIR", &disk.at);
    Running::new(command).end()
}

#[test]
fn a_disk_without_room_ends_commands_with_a_sentence_and_keeps_what_was_there() {
    several(disk::kinds().iter(), |(kind, mebibytes)| {
        if let Some(disk) = Disk::new(kind, *mebibytes) {
            steps(kind, &disk);
        }
    });
}

fn steps(kind: &str, disk: &Disk) {
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
    assert!(store.has_room().is_ok(), "{kind}");
    disk.fill_but(64 << 10);
    // Also what is kept for root.
    let rest = disk.at.join("rest");
    assert!(fs::write(&rest, vec![1; 16 << 20]).is_err(), "{kind}");
    assert!(store.has_room().is_err(), "{kind}");
    fs::remove_file(&rest).unwrap();
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
        "{kind}: {tried} commands on a disk with {} to {} bytes free, to the end, {} wrong or left something",
        sizes[0],
        sizes[sizes.len() - 1],
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}
