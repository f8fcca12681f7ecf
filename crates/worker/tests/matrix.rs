//! Every method with its options, over every workload, consume and number of threads, gives the tally of a plain
//! reference that is written here on its own: no code of the worker is used to say what is right.
//!
//! What a machine cannot do is skipped, counted and printed with its reason (`cargo test -- --nocapture` shows it).

use std::{collections::BTreeMap, fs, path::PathBuf};

use schema::{
    Arm, Consume, Descriptor, Span, Workload,
    protocol::{Hold, Job, Reply, Request, Tally},
};

const ARMS: &[&str] = &[
    "read",
    "pread",
    "stdio",
    "stdio-mmap",
    "mmap",
    "mmap+private",
    "mmap+sequential",
    "mmap+random",
    "mmap+willneed",
    "mmap+hugepage",
    "mmap+map-populate",
    "mmap+populate-read",
    "mmap+sequential+populate-read+private",
    "direct",
    "uring",
    "uring+queue_depth=1",
    "uring+queue_depth=3+registered",
    "uring+direct",
    "uring+direct+registered+queue_depth=4",
    "dontcache",
];
const SIZES: &[u64] = &[1, 4095, 4096, 4097, (64 << 10) + 3, (1 << 20) + 1];

/// A file of incompressible bytes on the disk that holds the build (a temporary folder may be in memory).
struct TestFile {
    path: PathBuf,
    bytes: Vec<u8>,
    _folder: tempfile::TempDir,
}

impl TestFile {
    fn new(size: u64) -> TestFile {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut prng = Prng(size);
        let bytes: Vec<u8> = (0..size).map(|_| (prng.next() >> 13) as u8).collect();
        let path = folder.path().join("data");
        fs::write(&path, &bytes).unwrap();
        TestFile { path, bytes, _folder: folder }
    }
}

struct Prng(u64);

impl Prng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E3779B97F4A7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB);
        z ^ (z >> 31)
    }
}

/// What the job comes to, computed the long way.
fn reference(job: &Job, file: &[u8]) -> Tally {
    let block = job.block_bytes.min(job.range.bytes);
    let end = job.range.offset + job.range.bytes;
    let mut spans: Vec<(u64, u64)> = Vec::new();
    match job.workload {
        Workload::Scan => {
            let mut offset = job.range.offset;
            for _ in 0..job.ops {
                let bytes = block.min(end - offset);
                spans.push((offset, bytes));
                offset = if offset + bytes == end { job.range.offset } else { offset + bytes };
            }
        }
        Workload::Random => {
            for thread in 0..u64::from(job.threads) {
                let mut prng = Prng(Prng(job.seed + thread).next());
                let (slots, stride) = match job.aligned {
                    true => (job.range.bytes / block, block),
                    false => (job.range.bytes - block + 1, 1),
                };
                let extra = u64::from(thread < job.ops % u64::from(job.threads));
                for _ in 0..job.ops / u64::from(job.threads) + extra {
                    let slot = (u128::from(prng.next()) * u128::from(slots)) >> 64;
                    spans.push((job.range.offset + slot as u64 * stride, block));
                }
            }
        }
        other => unreachable!("{other} writes: tests/writing.rs"),
    }
    let page = sys::page_bytes() as usize;
    let mut reached = vec![false; file.len()];
    let mut pages = vec![false; file.len().div_ceil(page)];
    let (mut bytes, mut checksum) = (0, 0u64);
    for (offset, length) in spans {
        let span = offset as usize..(offset + length) as usize;
        let span = span.start..span.start + span.len() * job.consumed_percent as usize / 100;
        reached[span.clone()].fill(true);
        let looks_every = if job.consume == Consume::Touch { 4096 } else { 1 };
        if let Some(last) = span.clone().step_by(looks_every).next_back() {
            pages[span.start / page..=last / page].fill(true);
        }
        let block = &file[span];
        bytes += block.len() as u64;
        for (index, byte) in block.iter().enumerate() {
            let value = u64::from(*byte);
            checksum = checksum.wrapping_add(match job.consume {
                Consume::Touch => value * u64::from(index % 4096 == 0),
                Consume::Sum => value << (8 * (index % 8)),
                Consume::Copy => value * u64::from(index == 0) + value * u64::from(index == block.len() - 1),
                Consume::Lines | Consume::DecodeLines => u64::from(*byte == b'\n'),
                Consume::SumBytes => value,
            });
        }
    }
    let distinct_bytes = reached.iter().filter(|&&byte| byte).count() as u64;
    let distinct_pages = Some(pages.iter().filter(|&&page| page).count() as u64);
    let checksum = format!("{checksum:016x}");
    Tally { ops: job.ops, bytes, distinct_bytes, distinct_pages, checksum, threads: job.threads, queue_depth: 1 }
}

fn replies(requests: &[Request]) -> Vec<Reply> {
    let input: Vec<String> = requests.iter().map(|request| serde_json::to_string(request).unwrap() + "\n").collect();
    let mut output = Vec::new();
    worker::serve(input.concat().as_bytes(), &mut output);
    let output = String::from_utf8(output).unwrap();
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Jobs that were measured, and reasons of those that were not.
#[derive(Default)]
struct Outcomes {
    checked: BTreeMap<String, u32>,
    skipped: BTreeMap<(String, String), u32>,
}

impl Outcomes {
    fn check(&mut self, arm: &Arm, job: &Job, file: &TestFile) {
        self.check_against(arm, job, &reference(job, &file.bytes));
    }

    /// Prepares once, goes twice, and compares both tallies with what is expected.
    fn check_against(&mut self, arm: &Arm, job: &Job, expected: &Tally) {
        let go = |pass| Request::Go { pass, warm: 0 };
        let answers = replies(&[Request::Prepare(Box::new(job.clone())), go(1), go(2), Request::Bye {}]);
        match &answers[..] {
            [Reply::Prepared { .. }, Reply::Done(first), Reply::Done(second)] => {
                let expected = Tally { queue_depth: first.tally.queue_depth, ..expected.clone() };
                let asked = arm.number("queue_depth").unwrap_or(1);
                assert!((1..=asked).contains(&first.tally.queue_depth), "{}: {:?}", arm.name, first.tally);
                assert_eq!(first.tally, expected, "{}: {job:?}", arm.name);
                assert_eq!(second.tally, expected, "{}, second pass: {job:?}", arm.name);
                assert_eq!((first.pass, second.pass), (1, 2));
                let timed = job.hold == Hold::No;
                assert_eq!((first.phases.open_ns.is_some(), first.phases.close_ns.is_some()), (timed, timed));
                *self.checked.entry(arm.name.clone()).or_default() += 1;
            }
            [Reply::Unavailable { reason, .. }, ..] => {
                *self.skipped.entry((arm.name.clone(), reason.clone())).or_default() += 1;
            }
            other => panic!("{}: {other:?} to {job:?}", arm.name),
        }
    }

    fn print(&self) {
        for (arm, count) in &self.checked {
            println!("{count:>6} checked  {arm}");
        }
        for ((arm, reason), count) in &self.skipped {
            println!("skipped: {arm} in {count} jobs: {reason}");
        }
    }

    fn skipped(&self, arm: &str) -> u32 {
        self.skipped.iter().filter(|((name, _), _)| name == arm).map(|(_, count)| count).sum()
    }
}

fn job(arm: &Arm, file: &TestFile, block_bytes: u64) -> Job {
    let range = Span { offset: 0, bytes: file.bytes.len() as u64 };
    let blocks = range.bytes.div_ceil(block_bytes);
    Job {
        pass: 0,
        consume: Consume::Sum,
        block_bytes,
        // The whole file and a little more, so that a scan starts over, unless that would be very many blocks.
        ops: if blocks < 64 { blocks + 3 } else { 41 },
        seed: 7,
        ..Job::new(arm, file.path.to_str().unwrap(), range)
    }
}

fn arms() -> Vec<Arm> {
    ARMS.iter().map(|name| name.parse().unwrap()).collect()
}

/// Every combination of what may be asked for, of one file. The method is still to be filled in.
fn conditions(file: &TestFile) -> Vec<Job> {
    let base = job(&"pread".parse().unwrap(), file, 1);
    let mut jobs = Vec::new();
    for block_bytes in [1, 64, 4096, 64 << 10] {
        let ops = job(&"pread".parse().unwrap(), file, block_bytes).ops;
        for (workload, aligned) in [(Workload::Scan, true), (Workload::Random, true), (Workload::Random, false)] {
            for (threads, descriptor) in
                [(1, Descriptor::PerThread), (2, Descriptor::PerThread), (2, Descriptor::Shared)]
            {
                for &consume in Consume::ALL {
                    let base = base.clone();
                    jobs.push(Job { block_bytes, ops, workload, aligned, threads, descriptor, consume, ..base });
                }
            }
        }
    }
    jobs
}

#[test]
fn a_quarter_of_each_block_is_a_quarter_of_the_bytes_and_shows_in_the_tally() {
    let file = TestFile::new(64 << 10);
    let mut outcomes = Outcomes::default();
    for arm in ["read", "mmap"].map(|name| name.parse().unwrap()) {
        let job = Job { consumed_percent: 25, ops: 16, consume: Consume::SumBytes, ..job(&arm, &file, 4096) };
        let expected = reference(&job, &file.bytes);
        assert_eq!((expected.bytes, expected.distinct_bytes), (16 << 10, 16 << 10));
        outcomes.check(&arm, &job, &file);
    }
    outcomes.print();
}

#[test]
fn every_method_agrees_with_the_reference() {
    let mut outcomes = Outcomes::default();
    for size in SIZES {
        let file = TestFile::new(*size);
        for base in conditions(&file) {
            // Computed once for all arms: the reference is by far the slowest of them.
            let expected = reference(&base, &file.bytes);
            for arm in arms() {
                // What is held open does not depend on the consume.
                let holds: &[Hold] = if base.consume == Consume::Sum { &[Hold::No, Hold::Warm] } else { &[Hold::No] };
                for &hold in holds {
                    let (method, options) = (arm.method.clone(), arm.options.clone());
                    outcomes.check_against(&arm, &Job { method, options, hold, ..base.clone() }, &expected);
                }
            }
        }
    }
    outcomes.print();
    for arm in ["native/pread", "native/mmap", "native/mmap+sequential", "native/mmap+map-populate"] {
        assert_eq!(outcomes.skipped(arm), 0, "{arm} works everywhere");
    }
    for arm in ["native/read", "native/stdio"] {
        assert!(outcomes.checked[arm] > 0, "{arm} works with a descriptor for each thread");
    }
}

#[test]
fn a_range_within_the_file_is_all_that_is_reached() {
    let file = TestFile::new((64 << 10) + 3);
    let mut outcomes = Outcomes::default();
    for arm in arms() {
        for range in [(1, 1), (4095, 2), (5000, 20_000), (8192, 16_384), (4096, (60 << 10) + 3), (65_538, 1)] {
            let range = Span { offset: range.0, bytes: range.1 };
            for (workload, aligned) in [(Workload::Scan, true), (Workload::Random, true), (Workload::Random, false)] {
                for (block_bytes, ops) in [(100, 500), (512, 33), (4096, 7), (1 << 20, 3)] {
                    let base = job(&arm, &file, block_bytes);
                    outcomes.check(&arm, &Job { range, workload, aligned, ops, threads: 3, ..base }, &file);
                }
            }
        }
    }
    outcomes.print();
}

#[test]
fn locked_pages_are_read_like_any_others() {
    let file = TestFile::new((64 << 10) + 3);
    let mut outcomes = Outcomes::default();
    for arm in arms() {
        for descriptor in [Descriptor::PerThread, Descriptor::Shared] {
            let base = job(&arm, &file, 4096);
            outcomes.check(&arm, &Job { hold: Hold::Locked, threads: 2, descriptor, ..base }, &file);
        }
    }
    outcomes.print();
}

#[test]
fn more_threads_than_blocks_leave_some_without_work() {
    let file = TestFile::new(4097);
    let mut outcomes = Outcomes::default();
    for arm in arms() {
        for workload in [Workload::Scan, Workload::Random] {
            let base = job(&arm, &file, 4096);
            outcomes.check(&arm, &Job { workload, ops: 2, threads: 5, ..base }, &file);
        }
    }
    outcomes.print();
}

#[test]
fn a_warm_pass_reads_other_offsets_than_the_one_before_and_the_timed_pass_reads_the_jobs_own() {
    let file = TestFile::new(1 << 20);
    for arm in arms() {
        let job = Job { workload: Workload::Random, hold: Hold::Open, threads: 2, ..job(&arm, &file, 4096) };
        let go = |warm| Request::Go { pass: 1, warm };
        let answers = replies(&[Request::Prepare(Box::new(job.clone())), go(1), go(2), go(0), Request::Bye {}]);
        let [Reply::Prepared { .. }, rest @ ..] = &answers[..] else {
            println!("skipped: {}: {:?}", arm.name, answers.first());
            continue;
        };
        let [Reply::Done(first), Reply::Done(second), Reply::Done(timed)] = rest else {
            panic!("{}: {rest:?}", arm.name)
        };
        let expected = |warm: u64| reference(&Job { seed: job.seed + (warm << 16), ..job.clone() }, &file.bytes);
        let queue_depth = timed.tally.queue_depth;
        assert_eq!(timed.tally, Tally { queue_depth, ..expected(0) }, "{}", arm.name);
        for (done, warm) in [(first, 1), (second, 2)] {
            let uncounted = Tally { queue_depth, distinct_bytes: 0, distinct_pages: None, ..expected(warm) };
            assert_eq!(done.tally, uncounted, "{}, warm pass {warm}", arm.name);
            assert_eq!(done.phases.open_ns, None, "{}: it is open already", arm.name);
        }
        let sums = [first, second, timed].map(|it| it.tally.checksum.as_str());
        assert!(sums[0] != sums[1] && sums[1] != sums[2] && sums[0] != sums[2], "{}: {sums:?}", arm.name);
    }
}

#[test]
fn a_file_that_became_shorter_is_an_error_and_never_a_smaller_tally() {
    for arm in arms() {
        // A mapping ends with SIGBUS instead, which takes the whole process.
        if arm.method == "mmap" || arm.method == "stdio-mmap" {
            continue;
        }
        let file = TestFile::new(64 << 10);
        let job = job(&arm, &file, 4096);
        let (mut worker_end, controller_end) = std::io::pipe().map(|(reader, writer)| (Some(reader), writer)).unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        let input = std::io::BufReader::new(worker_end.take().unwrap());
        let worker = std::thread::spawn(move || worker::serve(input, writer));
        let mut answers = std::io::BufRead::lines(std::io::BufReader::new(reader));
        let mut ask = |request: Request| -> Reply {
            use std::io::Write;
            writeln!(&controller_end, "{}", serde_json::to_string(&request).unwrap()).unwrap();
            serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap()
        };
        let prepared = ask(Request::Prepare(Box::new(job)));
        if let Reply::Unavailable { reason, .. } = prepared {
            println!("skipped  {}: {reason}", arm.name);
            continue;
        }
        fs::File::options().write(true).open(&file.path).unwrap().set_len(10_000).unwrap();
        match ask(Request::Go { pass: 1, warm: 0 }) {
            Reply::Failed(failed) => {
                assert_eq!(failed.during, "work", "{}: {failed:?}", arm.name);
                assert!(failed.message.contains("became shorter"), "{}: {failed:?}", arm.name);
            }
            other => panic!("{}: {other:?}", arm.name),
        }
        drop(controller_end);
        worker.join().unwrap();
    }
}
