//! What writes more than once, and what is refused. That every way of writing leaves the same bytes stands in
//! `faultline/tests/conformance`.

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
    worker::serve(input.concat().as_bytes(), &mut output, std::io::sink());
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
fn a_pass_that_is_rehearsed_or_held_open_writes_as_often_as_it_is_told() {
    for (hold, times) in [(Hold::No, 1), (Hold::Rehearse, 1), (Hold::Warm, 2)] {
        for arm in ["mmap", "pwrite", "write"] {
            let (content, _folder, path) = before(40_960);
            let mut job = on(&path, job(arm, Workload::Update, Durability::None, 4096, 40_960));
            job.hold = hold;
            run(&job).unwrap();
            let expected = (0..times).fold(content, |content, _| reference(&job, content));
            assert!(fs::read(&path).unwrap() == expected, "{arm} {hold:?}");
        }
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
    for hold in [Hold::Warm, Hold::Locked] {
        let (_, _folder, path) = before(8192);
        let job = on(&path, job("mmap+per-block", Workload::Overwrite, Durability::None, 4096, 8192));
        let reason = run(&Job { hold, ..job }).unwrap_err();
        assert!(reason.contains("none is there before the pass"), "{hold:?}: {reason}");
    }
}

#[test]
fn with_sync_each_io_uring_begins_no_block_before_the_last_one_is_on_the_device() {
    let depth = |arm: &str, durability| {
        let (content, _folder, path) = before(65_536);
        let job = on(&path, job(arm, Workload::Overwrite, durability, 4096, 65_536));
        let done = run(&job)?;
        assert!(fs::read(&path).unwrap() == reference(&job, content), "{arm}");
        Ok::<u32, String>(done.tally.queue_depth)
    };
    match depth("uring", Durability::None) {
        Ok(deep) => assert!(deep > 1),
        Err(why) => return println!("skipped: {why}"),
    }
    for arm in ["uring", "uring+o-dsync"] {
        assert_eq!(depth(arm, Durability::SyncEach), Ok(1), "{arm}");
    }
}
