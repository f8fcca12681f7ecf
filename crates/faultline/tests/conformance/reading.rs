//! Reading: tallies and checksums of every method, over sizes, blocks, offsets, consumes, threads, states and ranges.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::{Duration, Instant},
};

use lab::link::{Link, Trouble};
use schema::{
    Arm, Consume, Descriptor, Span, Workload,
    protocol::{Hold, Job, Tally, warm_seed},
};

use super::{
    arms,
    reference::{self, Prng},
    workers::{self, Worker, refusal},
};

pub const LIMIT: Duration = Duration::from_secs(60);
const SIZES: [u64; 6] = [1, 4095, 4096, 4097, (64 << 10) + 3, (1 << 20) + 1];
const BLOCKS: [u64; 5] = [1, 64, 4096, 64 << 10, 2 << 20];
const ORDERS: [(Workload, bool); 3] = [(Workload::Scan, true), (Workload::Random, true), (Workload::Random, false)];
const THREADS: [(u32, Descriptor); 5] = [
    (1, Descriptor::PerThread),
    (2, Descriptor::PerThread),
    (2, Descriptor::Shared),
    (5, Descriptor::PerThread),
    (5, Descriptor::Shared),
];
const HOLDS: [Hold; 5] = [Hold::No, Hold::Rehearse, Hold::Open, Hold::Warm, Hold::Locked];
const PERCENTS: [u32; 3] = [100, 100, 25];
const SEEDS: [u64; 3] = [7, 0xF000_0000_0000_0007, u64::MAX];

/// Files of one content, by their sizes.
pub struct Files {
    folder: tempfile::TempDir,
    pub contents: BTreeMap<u64, Vec<u8>>,
}

impl Files {
    /// On the disk that holds the build: a temporary folder may be in memory, where O_DIRECT is not possible.
    pub fn new(sizes: &[u64]) -> Files {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut contents = BTreeMap::new();
        for &size in sizes {
            std::fs::write(folder.path().join(size.to_string()), content(size)).unwrap();
            contents.insert(size, content(size));
        }
        Files { folder, contents }
    }

    pub fn path(&self, size: u64) -> PathBuf {
        self.folder.path().join(size.to_string())
    }
}

/// Bytes that hold no pattern. None is a carriage return, which a reader of lines in Java takes for the end of one.
fn content(size: u64) -> Vec<u8> {
    let mut prng = Prng(size);
    let byte = |_| match (prng.next() >> 13) as u8 {
        b'\r' => b'r',
        byte => byte,
    };
    (0..size).map(byte).collect()
}

/// The jobs of all methods: a plain one of each consume, and so many that each two values meet in one of them.
fn jobs(files: &Files) -> Vec<(u64, Job)> {
    let anything: Arm = "pread".parse().unwrap();
    let whole =
        |size: u64| Job { ..Job::new(&anything, files.path(size).to_str().unwrap(), Span { offset: 0, bytes: size }) };
    let plain = Consume::ALL.iter().map(|&consume| {
        let size = SIZES[4];
        (size, Job { consume, block_bytes: 4096, ops: size.div_ceil(4096) + 3, ..whole(size) })
    });
    let mut prng = Prng(20);
    let mut pick = |of: usize| prng.slot(of as u64) as usize;
    let drawn = (0..240).map(|_| {
        let size = SIZES[pick(SIZES.len())];
        let (workload, aligned) = ORDERS[pick(ORDERS.len())];
        let (threads, descriptor) = THREADS[pick(THREADS.len())];
        let block_bytes = BLOCKS[pick(BLOCKS.len())];
        let whole = whole(size);
        let range = match pick(4) {
            0 if size > 4096 => Span { offset: 4096, bytes: (size - 4096).min(20_001) },
            1 if size > 1 => Span { offset: 1, bytes: size.min(9000) - 1 },
            _ => whole.range,
        };
        let blocks = range.bytes.div_ceil(block_bytes);
        let job = Job {
            workload,
            aligned,
            threads,
            descriptor,
            block_bytes,
            range,
            consume: Consume::ALL[pick(Consume::ALL.len())],
            consumed_percent: PERCENTS[pick(PERCENTS.len())],
            hold: HOLDS[pick(HOLDS.len())],
            seed: SEEDS[pick(SEEDS.len())],
            // The whole range and a little more, so that a scan starts over, unless that would be very many blocks.
            ops: if blocks <= 256 { blocks + 3 } else { 192 },
            ..whole
        };
        (size, job)
    });
    plain.chain(drawn).collect()
}

/// Prepares once, makes a pass before where the file is open, and goes twice.
///
/// # Errors
/// The worker cannot do this here, or another reason than a refusal for which a pass did not do what was asked.
pub fn check(
    link: &mut Link,
    sent: &Job,
    expected: &Tally,
    before: Option<&Tally>,
) -> Result<Result<(), String>, String> {
    if let Err(reason) = refusal(link.prepare(sent)) {
        return Ok(Err(reason));
    }
    let mut go = |warm: u32, expected: &Tally| -> Result<(), String> {
        let from = Instant::now();
        let done = link.go_warm(sent.pass, warm, LIMIT).map_err(|trouble| format!("{trouble:?}"))?;
        let took = from.elapsed();
        let depth = done.tally.queue_depth;
        let most = match sent.options.get("queue_depth") {
            Some(schema::arm::Setting::Number(most)) => *most,
            _ => 1,
        };
        // Several files are opened and closed within the work.
        let is_of_several = sent.trace.as_ref().is_some_and(|it| !it.files.is_empty());
        let is_held = is_of_several || !matches!(sent.hold, Hold::No | Hold::Rehearse);
        let phases = &done.phases;
        match () {
            () if done.tally != (Tally { queue_depth: depth, ..expected.clone() }) => {
                Err(format!("{:?}, and not {expected:?}", done.tally))
            }
            () if !(1..=most.max(1)).contains(&depth) => Err(format!("a queue depth of {depth}, of {most}")),
            () if [phases.open_ns, phases.close_ns].iter().any(|it| it.is_none() != is_held) => {
                Err(format!("{phases:?} with hold {:?}", sent.hold))
            }
            () if phases.work_ns == 0 || u128::from(phases.total_ns()) > took.as_nanos() => {
                Err(format!("{phases:?} within {took:?}"))
            }
            () => Ok(()),
        }
    };
    if let Some(before) = before {
        go(1, before)?;
    }
    // Nothing of the first pass is in the second.
    go(0, expected)?;
    go(0, expected).map(Ok)
}

/// What a warm pass comes to, where there is one.
fn before(job: &Job, content: &[u8]) -> Option<Tally> {
    let warm = Job { seed: warm_seed(job.seed, 1), ..job.clone() };
    let uncounted = |tally| Tally { distinct_bytes: 0, distinct_block_bytes: None, distinct_pages: None, ..tally };
    (job.hold == Hold::Open).then(|| uncounted(reference::tally(&warm, content)))
}

#[test]
fn every_method_does_the_work_that_the_reference_says() {
    let files = Files::new(&SIZES);
    // Computed once for all arms: the reference is by far the slowest of them.
    let jobs: Vec<(Job, Tally, Option<Tally>)> = jobs(&files)
        .into_iter()
        .map(|(size, job)| {
            let content = &files.contents[&size];
            let (expected, before) = (reference::tally(&job, content), before(&job, content));
            (job, expected, before)
        })
        .collect();
    workers::each(|worker| {
        let mut checked: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, arm) in arms::of(worker.runtime, Workload::Scan).iter().enumerate().filter(|it| worker.jobs(it.1) > 0)
        {
            let (mut done, mut reasons) = (0, BTreeSet::new());
            let (mut link, _) = worker.start(arm);
            // Each arm begins elsewhere, so that a few jobs of each arm are most jobs of all arms.
            for (job, expected, before) in jobs.iter().cycle().skip(at * 11).take(jobs.len()) {
                if done >= worker.jobs(arm) {
                    break;
                }
                let (method, options) = (arm.method.clone(), arm.options.clone());
                let untimed = worker.untimed(arm, done);
                let job = Job { method, options, untimed, ..job.clone() };
                let mut outcome = check(&mut link, &job, expected, before.as_ref());
                // What an ordinary user may lock is for all processes together, and the kernel gives back that of a ring some time
                // after its end (io_uring/io_uring.c, `io_ring_exit_work`).
                for _ in 0..50 {
                    if !outcome.as_ref().is_err_and(|it| it.to_string().contains("registering buffers")) {
                        break;
                    }
                    std::thread::sleep(std::time::Duration::from_millis(100));
                    link = worker.start(arm).0;
                    outcome = check(&mut link, &job, expected, before.as_ref());
                }
                match outcome {
                    Ok(Ok(())) => done += 1,
                    Ok(Err(reason)) => drop(reasons.insert(reason)),
                    Err(wrong) => panic!("{}: {arm}: {wrong}: {job:?}", worker.name),
                }
            }
            link.bye().unwrap();
            assert!(done > 0 || reasons.iter().any(|it| worker.excuses(it)), "{}: {arm}: {reasons:?}", worker.name);
            if done == 0 {
                println!("skipped: {} in {}: {}", arm, worker.name, reasons.first().map_or("", |it| it));
            }
            let method = worker.runtime.method(&arm.method).unwrap().name;
            *checked.entry(method).or_default() += done;
        }
        println!("{}: jobs checked by method: {checked:?}", worker.name);
    });
}

#[test]
fn each_two_values_meet_in_a_job() {
    let files = Files::new(&SIZES);
    let mut met: BTreeSet<(usize, usize, usize, usize)> = BTreeSet::new();
    for (size, job) in jobs(&files) {
        let at = |found: Option<usize>| found.unwrap();
        let values = [
            at(SIZES.iter().position(|&it| it == size)),
            at(BLOCKS.iter().position(|&it| it == job.block_bytes)),
            at(ORDERS.iter().position(|&it| it == (job.workload, job.aligned))),
            at(THREADS.iter().position(|&it| it == (job.threads, job.descriptor))),
            at(HOLDS.iter().position(|&it| it == job.hold)),
            at(Consume::ALL.iter().position(|&it| it == job.consume)),
            usize::from(job.consumed_percent != 100),
        ];
        for (a, &x) in values.iter().enumerate() {
            met.extend(values.iter().enumerate().skip(a + 1).map(|(b, &y)| (a, x, b, y)));
        }
    }
    let sizes = [SIZES.len(), BLOCKS.len(), ORDERS.len(), THREADS.len(), HOLDS.len(), Consume::ALL.len(), 2];
    let pairs: usize = (0..sizes.len()).flat_map(|a| (a + 1..sizes.len()).map(move |b| sizes[a] * sizes[b])).sum();
    assert_eq!(met.len(), pairs);
}

#[test]
fn work_that_differs_a_little_is_found() {
    let size = SIZES[4];
    let files = Files::new(&[size]);
    let content = &files.contents[&size];
    let worker = |name: &str| workers::all().iter().find(|it| it.runtime.name == name).unwrap();
    let arm = worker("native").arm("pread");
    let path = files.path(size);
    let asked = Job {
        workload: Workload::Random,
        consume: Consume::Sum,
        block_bytes: 64,
        ops: 100,
        ..Job::new(&arm, path.to_str().unwrap(), Span { offset: 0, bytes: size })
    };
    let expected = reference::tally(&asked, content);
    let (mut link, _) = worker("native").start(&arm);
    assert_eq!(check(&mut link, &asked, &expected, None), Ok(Ok(())));
    let scan = Job { workload: Workload::Scan, ops: size.div_ceil(64), ..asked.clone() };
    let whole = reference::tally(&scan, content);
    for (job, expected) in [
        // The generator is off by one; the last block is not read; every other byte is not looked at.
        (Job { seed: asked.seed + 1, ..asked.clone() }, &expected),
        (Job { ops: scan.ops - 1, ..scan.clone() }, &whole),
        (Job { consumed_percent: 50, ..scan.clone() }, &whole),
        (Job { consume: Consume::SumBytes, ..scan.clone() }, &whole),
        (Job { threads: 2, ..asked.clone() }, &expected),
    ] {
        assert!(check(&mut link, &job, expected, None).is_err(), "{job:?}");
    }
}

#[test]
fn a_read_around_the_page_cache_brings_no_more_than_its_range_whose_last_block_is_short() {
    const BLOCK: u64 = 64 << 10;
    // The file goes on behind the range, so that it is not its end that stops the last read.
    let size = 1 << 20;
    let files = Files::new(&[size]);
    std::fs::File::open(files.path(size)).unwrap().sync_all().unwrap();
    workers::one_of_each(|worker| {
        for method in ["direct", "uring+direct", "channel-odirect"] {
            if !has(worker, method.split('+').next().unwrap()) {
                continue;
            }
            let arm = worker.arm(method);
            let range = Span { offset: 0, bytes: 5 * BLOCK / 2 };
            let job = Job {
                untimed: true,
                block_bytes: BLOCK,
                ops: 3,
                ..Job::new(&arm, files.path(size).to_str().unwrap(), range)
            };
            let (mut link, _) = worker.start(&arm);
            if let Err(reason) = refusal(link.prepare(&job)) {
                println!("skipped: {arm} in {}: {reason}", worker.name);
                continue;
            }
            // What else the process reads, a class say, it reads once.
            let read = (0..4).map(|_| {
                let before = sys::process::io(link.pid()).unwrap();
                link.go(job.pass, LIMIT).unwrap();
                sys::process::io(link.pid()).unwrap().since(&before).device_read_bytes
            });
            match read.min().unwrap() {
                0 => println!("skipped: {arm} in {}: reads from this device are not counted", worker.name),
                bytes => assert_eq!(bytes, range.bytes, "{} {arm}", worker.name),
            }
        }
    });
}

#[test]
fn offsets_beyond_4_gib_are_reached() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("sparse");
    let end = (5 << 30) + 3u64;
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(end).unwrap();
    // A hole, with something in the last block alone.
    std::os::unix::fs::FileExt::write_all_at(&file, b"last", end - 4).unwrap();
    workers::one_of_each(|worker| {
        for method in
            ["pread", "readat", "mmap", "channel-positional", "mapped"].into_iter().filter(|it| has(worker, it))
        {
            let arm = worker.arm(method);
            let range = Span { offset: end - (1 << 20) - 3, bytes: (1 << 20) + 3 };
            let job = Job {
                untimed: true,
                consume: Consume::SumBytes,
                block_bytes: 4096,
                ops: range.bytes.div_ceil(4096),
                ..Job::new(&arm, path.to_str().unwrap(), range)
            };
            let (mut link, _) = worker.start(&arm);
            refusal(link.prepare(&job)).unwrap();
            let tally = link.go(job.pass, LIMIT).unwrap().tally;
            let sum: u64 = b"last".iter().map(|&it| u64::from(it)).sum();
            assert_eq!((tally.bytes, tally.checksum), (range.bytes, format!("{sum:016x}")), "{} {arm}", worker.name);
        }
    });
}

fn has(worker: &Worker, method: &str) -> bool {
    worker.runtime.method(method).is_ok()
}

#[test]
fn after_a_pass_neither_descriptor_nor_mapping_of_the_file_is_left() {
    let size = SIZES[5];
    let files = Files::new(&[size]);
    let path = files.path(size);
    let identity = sys::process::MappedFile::of(&std::fs::metadata(&path).unwrap(), path.to_str().unwrap());
    let held = |link: &Link| {
        let folder = std::fs::read_dir(format!("/proc/{}/fd", link.pid())).unwrap();
        let links = folder.flatten().filter_map(|it| std::fs::read_link(it.path()).ok());
        let mapped = sys::process::mapped(link.pid(), &identity).unwrap().mappings as usize;
        links.filter(|it| *it == path).count() + mapped
    };
    workers::one_of_each(|worker| {
        for method in worker.runtime.methods.iter().filter(|it| it.can.does(Workload::Scan)) {
            let arm = worker.arm(method.name);
            let consume = Consume::Lines;
            let job = Job::new(&arm, path.to_str().unwrap(), Span { offset: 0, bytes: size });
            let job = Job { untimed: true, consume, block_bytes: 4096, ops: size.div_ceil(4096), ..job };
            let (mut link, _) = worker.start(&arm);
            if link.prepare(&job).is_err() {
                continue;
            }
            assert_eq!(held(&link), 0, "{} {arm}, prepared", worker.name);
            link.go(job.pass, LIMIT).unwrap();
            assert_eq!(held(&link), 0, "{} {arm}, done", worker.name);
            link.prepare(&Job { hold: Hold::Warm, ..job }).unwrap();
            assert!(held(&link) > 0, "{} {arm}, held", worker.name);
        }
    });
}

/// For other tests: a plain job that an arm surely can.
pub fn plain(arm: &Arm, files: &Files, size: u64) -> Job {
    let job = Job::new(arm, files.path(size).to_str().unwrap(), Span { offset: 0, bytes: size });
    Job { untimed: true, consume: Consume::Lines, block_bytes: 4096, ops: size.div_ceil(4096), ..job }
}

/// Its tally.
pub fn tally_of(link: &mut Link, job: &Job) -> Result<Tally, Trouble> {
    link.prepare(job)?;
    Ok(link.go(job.pass, LIMIT)?.tally)
}

/// What it must be.
pub fn expected(files: &Files, size: u64, job: &Job) -> Tally {
    reference::tally(job, &files.contents[&size])
}
