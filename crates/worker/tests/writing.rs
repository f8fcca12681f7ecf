//! Whatever writes it, a file holds the same bytes afterwards, and they are those that docs/FORMATS.md says; no code of
//! the worker is used to say what is right.
//!
//! What a machine cannot do is skipped and printed with its reason.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use schema::{
    Arm, Consume, Durability, Span, Workload,
    leftover::FileIdentity,
    protocol::{Done, Hold, Job, Permit, Reply, Request},
};

const ARMS: &[&str] = &[
    "write",
    "pwrite",
    "pwrite+o-dsync",
    "write+o-sync",
    "mmap",
    "mmap+per-block",
    "mmap+populate-write",
    "mmap+map-populate",
    "mmap+per-block+populate-write",
    "direct",
    "direct+o-dsync",
    "uring",
    "uring+queue_depth=1",
    "uring+registered+o-dsync",
    "uring+direct+queue_depth=4",
];
const SEED: u64 = 7;

struct Prng(u64);

impl Prng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E3779B97F4A7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB);
        z ^ (z >> 31)
    }
}

/// The file's bytes before, and where it lies: on the disk that holds the build.
fn before(bytes: u64) -> (Vec<u8>, tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("data");
    let content: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
    fs::write(&path, &content).unwrap();
    (content, folder, path)
}

/// The file's bytes afterwards, the long way.
fn reference(job: &Job, mut file: Vec<u8>) -> Vec<u8> {
    let block = job.block_bytes.min(job.range.bytes);
    let end = job.range.offset + job.range.bytes;
    let mut spans = Vec::new();
    let mut at = job.range.offset;
    let mut prng = Prng(Prng(job.seed).next());
    for _ in 0..job.ops {
        if job.workload == Workload::OverwriteRandom {
            let slots = job.range.bytes / block;
            let slot = (u128::from(prng.next()) * u128::from(slots)) >> 64;
            spans.push((job.range.offset + slot as u64 * block, block));
        } else {
            let bytes = block.min(end - at);
            spans.push((at, bytes));
            at = if at + bytes == end { job.range.offset } else { at + bytes };
        }
    }
    let mut words = Prng(job.seed);
    let source: Vec<u8> = (0..block.div_ceil(8)).flat_map(|_| words.next().to_le_bytes()).collect();
    if job.workload == Workload::Append {
        file = vec![0; end as usize];
    }
    for (offset, bytes) in spans {
        let (start, length) = (offset as usize, bytes as usize);
        let block = &mut file[start..start + length];
        if job.workload == Workload::Update {
            block.iter_mut().for_each(|byte| *byte = ((u16::from(*byte) + 5) % 250) as u8);
            continue;
        }
        block.copy_from_slice(&source[..length]);
        let stamp = offset.to_le_bytes();
        let stamped = length.min(8);
        block[..stamped].copy_from_slice(&stamp[..stamped]);
    }
    file
}

fn answers(job: &Job) -> Vec<Reply> {
    let requests = [Request::Prepare(Box::new(job.clone())), Request::Go { pass: 0, warm: 0 }];
    let input: Vec<String> = requests.iter().map(|request| serde_json::to_string(request).unwrap() + "\n").collect();
    let mut output = Vec::new();
    worker::serve(input.concat().as_bytes(), &mut output);
    String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn run(job: &Job) -> Result<Done, String> {
    for reply in answers(job) {
        match reply {
            Reply::Prepared { .. } => {}
            Reply::Done(done) => return Ok(*done),
            Reply::Unavailable { reason, .. } => return Err(reason),
            other => panic!("{job:?}: {other:?}"),
        }
    }
    panic!("{job:?}: no answer")
}

fn job(arm: &str, workload: Workload, durability: Durability, block_bytes: u64, bytes: u64) -> Job {
    let arm: Arm = arm.parse().unwrap();
    Job {
        pass: 0,
        workload,
        consume: Consume::Sum,
        block_bytes,
        ops: if workload == Workload::OverwriteRandom { 9 } else { bytes.div_ceil(block_bytes) },
        durability,
        seed: SEED,
        ..Job::new(&arm, "", Span { offset: 0, bytes })
    }
}

/// On a file that it may write.
fn on(path: &Path, job: Job) -> Job {
    let about = fs::metadata(path).unwrap();
    let write = Some(FileIdentity { device: about.dev(), inode: about.ino() });
    Job { file: path.to_str().unwrap().into(), permit: Permit { execute: false, write }, ..job }
}

#[test]
fn a_file_that_the_job_does_not_permit_to_write_is_left_as_it_is() {
    let (content, folder, path) = before(65_536);
    let other = folder.path().join("other");
    fs::write(&other, &content).unwrap();
    let fine = on(&path, job("write", Workload::Overwrite, Durability::None, 4096, 65_536));
    let of_other = on(&other, fine.clone()).permit;
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let link = link.to_str().unwrap().to_string();
    for arm in ARMS {
        for workload in [Workload::Overwrite, Workload::OverwriteRandom, Workload::Append, Workload::Update] {
            for (hold, permit, file) in [
                (Hold::No, Permit::default(), &fine.file),
                (Hold::No, Permit { execute: true, write: None }, &fine.file),
                (Hold::No, of_other, &fine.file),
                (Hold::Rehearse, of_other, &fine.file),
                (Hold::Warm, of_other, &fine.file),
                (Hold::No, of_other, &link),
            ] {
                let asked = job(arm, workload, Durability::SyncEach, 4096, 65_536);
                let asked = Job { hold, permit, file: file.clone(), ..asked };
                assert!(!matches!(answers(&asked).last(), Some(Reply::Done(_))), "{asked:?}");
                assert!(fs::read(&path).unwrap() == content, "{asked:?}");
            }
        }
    }
}

#[test]
fn every_way_of_writing_leaves_the_same_bytes() {
    let mut checked = 0;
    let mut skipped = std::collections::BTreeMap::new();
    for arm in ARMS {
        for workload in [Workload::Overwrite, Workload::OverwriteRandom, Workload::Append, Workload::Update] {
            for &durability in Durability::ALL {
                for (block_bytes, bytes) in [(512, 5000), (1000, 5000), (4096, 65536), (65536, 1 << 20)] {
                    let (content, _folder, path) = before(bytes);
                    let job = on(&path, job(arm, workload, durability, block_bytes, bytes));
                    if workload == Workload::Append {
                        fs::write(&path, b"").unwrap();
                    }
                    match run(&job) {
                        Ok(done) => {
                            let expected = reference(&job, content);
                            let is = fs::read(&path).unwrap();
                            assert!(is == expected, "{arm} {workload} {durability} {block_bytes} of {bytes}");
                            assert_eq!(done.tally.ops, job.ops);
                            assert_eq!(done.parts.is_some(), workload == Workload::Update);
                            checked += 1;
                        }
                        Err(reason) => *skipped.entry((arm, reason)).or_insert(0) += 1,
                    }
                }
            }
        }
    }
    for ((arm, reason), count) in skipped {
        println!("{arm} is not for {count} of the combinations: {reason}");
    }
    assert!(checked >= 200, "only {checked} combinations ran");
}

#[test]
fn a_pass_that_is_rehearsed_or_held_open_writes_as_often_as_it_is_told() {
    for (hold, times) in [(Hold::No, 1), (Hold::Warm, 2)] {
        let (content, _folder, path) = before(40_960);
        let mut job = on(&path, job("mmap", Workload::Update, Durability::None, 4096, 40_960));
        job.hold = hold;
        run(&job).unwrap();
        let expected = (0..times).fold(content, |content, _| reference(&job, content));
        assert!(fs::read(&path).unwrap() == expected, "{hold:?}");
    }
}

#[test]
fn one_block_again_and_again_is_counted_as_one_block() {
    let (content, _folder, path) = before(65_536);
    let mut job = on(&path, job("mmap+per-block", Workload::Update, Durability::None, 4096, 4096));
    job.ops = 16;
    let done = run(&job).unwrap();
    assert_eq!((done.tally.bytes, done.tally.distinct_bytes), (65_536, 4096));
    assert!(fs::read(&path).unwrap() == reference(&job, content));
}

#[test]
fn what_cannot_be_meant_is_unavailable_with_its_reason() {
    let (_, _folder, path) = before(8192);
    let update = on(&path, job("uring", Workload::Update, Durability::None, 4096, 8192));
    assert!(run(&update).unwrap_err().contains("one block after the other"));
    for (arm, durability, part) in [
        ("pwrite+o-sync", Durability::None, "sync-each"),
        ("write+o-dsync", Durability::SyncEnd, "sync-each"),
        ("mmap+private", Durability::None, "never changes the file"),
    ] {
        let (_, _folder, path) = before(8192);
        let job = on(&path, job(arm, Workload::Overwrite, durability, 4096, 8192));
        let reason = run(&job).unwrap_err();
        assert!(reason.contains(part), "{arm}: {reason}");
    }
}
