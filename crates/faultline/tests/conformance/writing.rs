//! Writing: whatever writes it, a file holds the same bytes afterwards; and no file is written that the job does not permit.

use std::{collections::BTreeSet, fs::File, path::Path};

use lab::link::Trouble;
use schema::{
    Arm, Durability, Span, Workload,
    leftover::FileIdentity,
    protocol::{Hold, Job, Permit},
    runtime::Can,
};

use super::{
    arms,
    reading::LIMIT,
    reference,
    workers::{self, refusal},
};

const WORKLOADS: [Workload; 4] = [Workload::Overwrite, Workload::OverwriteRandom, Workload::Append, Workload::Update];
/// Of a block and of the file.
const SHAPES: [(u64, u64); 4] = [(4096, 65_536), (512, 5000), (65_536, (1 << 20) + 1029), (1000, 5000)];

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The bytes of a file before a pass.
fn before(bytes: u64) -> Vec<u8> {
    (0..bytes).map(|at| (at % 251) as u8).collect()
}

/// A job that overwrites a file, with the permission to; it names the file by a descriptor, which must stay open.
fn job(arm: &Arm, file: &File, bytes: u64) -> Job {
    let (device, inode) = sys::folder::identity(file).unwrap();
    let job = Job::new(arm, sys::folder::path_of(file).to_str().unwrap(), Span { offset: 0, bytes });
    let permit = Permit { execute: false, write: Some(FileIdentity { device, inode }) };
    Job {
        untimed: true,
        permit,
        workload: Workload::Overwrite,
        block_bytes: 4096,
        ops: bytes.div_ceil(4096),
        seed: 7,
        ..job
    }
}

fn made(path: &Path, content: &[u8]) -> File {
    std::fs::write(path, content).unwrap();
    File::options().read(true).write(true).open(path).unwrap()
}

#[test]
fn every_way_of_writing_leaves_the_bytes_that_the_reference_says() {
    workers::each(|worker| {
        let folder = folder();
        let file = made(&folder.path().join("data"), b"");
        let mut jobs: Vec<(Workload, Durability, Hold, (u64, u64))> = Vec::new();
        for workload in WORKLOADS {
            for &durability in Durability::ALL {
                let shape = SHAPES[jobs.len() % SHAPES.len()];
                // What is written twice is seen of an update alone.
                let holds: &[Hold] = match workload {
                    Workload::Update => &[Hold::Rehearse, Hold::Warm, Hold::No],
                    _ => &[Hold::No, Hold::Rehearse],
                };
                jobs.push((workload, durability, holds[jobs.len() % holds.len()], shape));
            }
        }
        for (at, arm) in
            arms::of(worker.runtime, Workload::Overwrite).iter().enumerate().filter(|it| worker.jobs(it.1) > 0)
        {
            let (mut done, mut reasons) = (0, BTreeSet::new());
            let (mut link, _) = worker.start(arm);
            for &(workload, durability, hold, (block_bytes, bytes)) in jobs.iter().cycle().skip(at * 5).take(jobs.len())
            {
                if done >= worker.jobs(arm) {
                    break;
                }
                let ops = if workload == Workload::OverwriteRandom { 9 } else { bytes.div_ceil(block_bytes) };
                let untimed = worker.untimed(arm, done);
                let job = Job { workload, durability, hold, block_bytes, ops, untimed, ..job(arm, &file, bytes) };
                let content = if workload == Workload::Append { Vec::new() } else { before(bytes) };
                std::fs::write(folder.path().join("data"), &content).unwrap();
                if let Err(reason) = refusal(link.prepare(&job)) {
                    reasons.insert(reason);
                    continue;
                }
                let pass = link.go(job.pass, LIMIT).unwrap();
                // Where the file is held, a pass before the timed one has written too; a rehearsal leaves nothing in it.
                let times = if hold == Hold::Warm { 2 } else { 1 };
                let expected = (0..times).fold(content, |content, _| reference::written(&job, content));
                let found = std::fs::read(folder.path().join("data")).unwrap();
                assert!(found == expected, "{} {arm}: {job:?}", worker.name);
                assert_eq!((pass.tally.ops, pass.tally.checksum.as_str()), (ops, "0000000000000000"));
                assert_eq!(pass.parts.is_some(), workload == Workload::Update, "{} {arm}", worker.name);
                done += 1;
            }
            link.bye().unwrap();
            assert!(done > 0 || reasons.iter().any(|it| worker.excuses(it)), "{}: {arm}: {reasons:?}", worker.name);
            if done == 0 {
                println!("skipped: {arm} in {}: {}", worker.name, reasons.first().map_or("", |it| it));
            }
        }
    });
}

#[test]
fn a_file_that_the_job_does_not_permit_to_write_is_left_as_it_is() {
    const BYTES: u64 = 65_536;
    workers::each(|worker| {
        let folder = folder();
        let content = before(BYTES);
        let paths = ["data", "other"].map(|name| folder.path().join(name));
        let files = paths.each_ref().map(|path| made(path, &content));
        let link_to = folder.path().join("link");
        std::os::unix::fs::symlink(&paths[0], &link_to).unwrap();
        for method in worker.runtime.methods.iter().filter(|it| it.can != Can::Read) {
            let arm = worker.arm(method.name);
            let (mut link, _) = worker.start(&arm);
            let fine = job(&arm, &files[0], BYTES);
            let of_other = job(&arm, &files[1], BYTES).permit;
            for (hold, permit, file) in [
                (Hold::No, Permit::default(), fine.file.as_str()),
                (Hold::No, Permit { execute: true, write: None }, &fine.file),
                (Hold::No, of_other, &fine.file),
                (Hold::Rehearse, of_other, &fine.file),
                (Hold::Warm, of_other, &fine.file),
                (Hold::No, of_other, link_to.to_str().unwrap()),
                (Hold::No, fine.permit, paths[1].to_str().unwrap()),
            ] {
                let job = Job { hold, permit, file: file.to_string(), ..fine.clone() };
                // Some see it when they open the file, within the pass.
                let refused = link.prepare(&job).and_then(|()| link.go(job.pass, LIMIT));
                assert!(
                    matches!(refused, Err(Trouble::Failed(_) | Trouble::Unavailable(_))),
                    "{}: {job:?}",
                    worker.name
                );
                assert!(paths.iter().all(|it| std::fs::read(it).unwrap() == content), "{}: {job:?}", worker.name);
            }
        }
    });
}

#[test]
fn a_method_does_no_workload_that_is_not_its_own() {
    let folder = folder();
    workers::each(|worker| {
        let file = made(&folder.path().join(&worker.name), &before(4096));
        for method in worker.runtime.methods {
            let arm = worker.arm(method.name);
            let (mut link, _) = worker.start(&arm);
            for workload in [Workload::Scan, Workload::Overwrite].into_iter().filter(|&it| !method.can.does(it)) {
                let refused = link.prepare(&Job { workload, ..job(&arm, &file, 4096) });
                let is_refused = matches!(refused, Err(Trouble::Failed(_) | Trouble::Unavailable(_)));
                assert!(is_refused, "{} {arm} {workload}: {refused:?}", worker.name);
            }
        }
        assert!(std::fs::read(folder.path().join(&worker.name)).unwrap() == before(4096));
    });
}
