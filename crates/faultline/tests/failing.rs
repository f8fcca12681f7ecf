//! Disks that fail while a command works with files on them: it ends with a sentence and a documented exit code, and nothing
//! elsewhere is lost or left. One disk here; `cargo xtask fault full` has more of them fail, with ext4, xfs and btrfs.

use std::{collections::BTreeMap, fs, time::Duration};

use planted::{Effort, Random, several};

use crate::{
    disk::{self, Disk},
    scene::{Case, RUN, Scene, WRITING},
    support::Running,
    sweep::ending,
};

/// Within this a run has made its file and is at work, or has ended.
const MOMENTS_MS: u64 = 1200;

#[derive(Clone, Copy)]
enum OnDisk {
    /// The file that is measured, of the user's.
    File,
    /// The test file.
    Folder,
    /// The test file, written to, and the data folder.
    All,
}

#[test]
fn a_disk_that_starts_to_fail_ends_commands_with_a_sentence_and_nothing_elsewhere_is_lost_or_left() {
    // The missing ones say so once.
    let kinds: Vec<(&str, u64)> = disk::kinds().iter().copied().filter(|it| Disk::new(it.0, it.1).is_some()).collect();
    let effort = Effort::of(1);
    let cases = effort.seeds().filter_map(|seed| Some((kinds.get(seed as usize % kinds.len().max(1))?, seed)));
    let tried = several(cases, |(&(kind, mebibytes), seed)| attempt(kind, mebibytes, seed));
    let (mut early, mut codes, mut wrong) = (0, BTreeMap::<i32, u32>::new(), Vec::new());
    for (was_early, code, found) in &tried {
        early += u32::from(*was_early);
        *codes.entry(*code).or_default() += 1;
        wrong.extend(found);
    }
    println!(
        "disks that fail: {} of {}, on {kinds:?}, {early} commands had ended before, exit codes {codes:?}, {} wrong or left \
         something",
        tried.len(),
        effort.count(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether the command had ended before, how it ended, and what was wrong.
fn attempt(kind: &str, mebibytes: u64, seed: u64) -> (bool, i32, Option<String>) {
    let mut random = Random(seed);
    let disk = Disk::new(kind, mebibytes).expect("it could be had a moment ago");
    let mut scene = Scene::new();
    let folder = disk.at.join("folder");
    fs::create_dir(&folder).unwrap();
    let (what, case) = random.pick(&[(OnDisk::File, &RUN), (OnDisk::Folder, &RUN), (OnDisk::All, &WRITING)]);
    let typed = typed(case, what, &mut scene, folder.to_str().unwrap());
    let mut command = scene.command(&typed);
    if let OnDisk::All = what {
        command.env("FAULTLINE_DATA_DIR", disk.at.join("data"));
    }
    let mut running = Running::new(command);
    scene.note(running.pid());
    let moment = Duration::from_millis(random.below(MOMENTS_MS));
    std::thread::sleep(moment);
    let was_early = running.has_ended();
    disk.fail();
    let output = running.end();
    // A record on that disk cannot be looked at.
    let has_saved = matches!(what, OnDisk::All) || !scene.records().is_empty();
    let mut found = ending(case, &output, has_saved, false);
    let clean = scene.output(&["clean".to_string()]);
    if !matches!(clean.code(), Some(0..=5)) || clean.stderr.contains("panicked") {
        found.push(format!("clean: {clean:?}"));
    }
    drop(disk);
    found.extend(scene.left());
    let wrong = || format!("{} on {kind} that failed after {moment:?} (seed {seed}): {}", case.name, found.join("; "));
    (was_early, output.code().unwrap_or(-1), (!found.is_empty()).then(wrong))
}

/// The case's command, with files on the disk instead of the user's folder.
fn typed(case: &Case, what: OnDisk, scene: &mut Scene, folder: &str) -> Vec<String> {
    let target = match what {
        OnDisk::File => format!("{folder}/file"),
        OnDisk::Folder | OnDisk::All => folder.to_string(),
    };
    if let OnDisk::File = what {
        fs::copy(format!("{}/file", scene.mine()), &target).unwrap();
        fs::File::open(&target).unwrap().sync_all().unwrap();
    }
    let mine = scene.mine();
    let typed = (case.prepare)(scene).into_iter();
    let typed = typed.map(|it| if it == mine { target.clone() } else { it });
    // A file has its size.
    typed.filter(|it| !(matches!(what, OnDisk::File) && it.starts_with("--size="))).collect()
}
