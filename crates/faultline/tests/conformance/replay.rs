//! Replay: every arm of a runtime that can makes exactly the accesses of a trace, and what does not fit is refused.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Mutex,
};

use lab::link::Trouble;
use schema::{
    Arm, Consume, Descriptor, Span, Workload,
    protocol::{Hold, Job, Tally, TraceOf},
    trace::{Access, Header, LeftOut, Reader, TracedFile, Writer},
};

use super::{
    arms,
    reading::{Files, check},
    reference::{self, Prng},
    workers::{self, Worker},
};

const SMALL: u64 = (64 << 10) + 3;
const LARGE: u64 = (1 << 20) + 1;
const HOLDS: [Hold; 5] = [Hold::No, Hold::Rehearse, Hold::Open, Hold::Warm, Hold::Locked];

/// Offsets and lengths.
type Accesses = Vec<(u64, u64)>;

/// What a program may do, with the size of the file that it does it to.
fn cases() -> Vec<(u64, Accesses)> {
    let scan =
        |size: u64| (0..size.div_ceil(4096)).map(|at| (at * 4096, 4096.min(size - at * 4096))).collect::<Vec<_>>();
    let mut prng = Prng(11);
    let aligned = (0..200).map(|_| (prng.slot((LARGE - 1) >> 13) << 13, 8192)).collect();
    let anywhere = (0..300).map(|_| {
        let offset = prng.slot(SMALL);
        (offset, 1 + prng.slot((SMALL - offset).min(20_000)))
    });
    vec![
        (SMALL, vec![(SMALL - 1, 1)]),
        (SMALL, vec![(0, 1), (3, 7), (4095, 2), (4096, 1), (1, 13), (SMALL - 5, 5)]),
        (SMALL, vec![(100, 4096), (2000, 4096), (100, 4096), (99, 1), (100, 4096)]),
        (SMALL, vec![(0, SMALL), (1, SMALL - 1), (8192, 1)]),
        (LARGE, vec![(0, LARGE), (LARGE - 1, 1)]),
        (SMALL, anywhere.collect()),
        (SMALL, scan(SMALL)),
        (LARGE, scan(LARGE).into_iter().rev().collect()),
        (LARGE, aligned),
    ]
}

/// The thread of each of so many accesses: one, three at once, and another one in the end.
pub fn thread(at: usize, of: usize) -> u32 {
    match () {
        () if at < of / 4 => 0,
        () if at < of - of / 4 => 1 + at as u32 % 3,
        () => 4,
    }
}
pub const AT_ONCE: u32 = 3;

/// Traces in a folder. The measured file is the second of each table; of the first there are accesses in between.
struct Traces(tempfile::TempDir);

impl Traces {
    fn new() -> Traces {
        Traces(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, accesses: &[(u64, u64)]) -> TraceOf {
        let file = |path: &str| TracedFile { path: path.into(), ..TracedFile::default() };
        let header = Header::new("test", vec![file("/other"), file("/measured")], LeftOut::default());
        let mut writer = Writer::new(Vec::new(), &header).unwrap();
        for (at, &(offset, bytes)) in accesses.iter().enumerate() {
            let thread = thread(at, accesses.len());
            writer.push(Access { thread, ..Access::call(1, offset, bytes) }).unwrap();
            // What is read of other files says nothing of who reads this one at once.
            writer.push(Access { thread: 7, ..Access::call(0, offset + 1, bytes + 1) }).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let digest = Reader::new(&bytes[..]).unwrap().digest().unwrap();
        std::fs::write(self.path(name), bytes).unwrap();
        TraceOf { path: self.path(name).to_str().unwrap().into(), digest, file: 1, files: Vec::new() }
    }
}

fn job(arm: &Arm, files: &Files, size: u64, accesses: &[(u64, u64)], trace: TraceOf) -> Job {
    let longest = accesses.iter().map(|it| it.1).max().unwrap_or(1);
    Job {
        workload: Workload::Replay,
        block_bytes: longest,
        ops: accesses.len().max(1) as u64,
        trace: Some(trace),
        ..Job::new(arm, files.path(size).to_str().unwrap(), Span { offset: 0, bytes: size })
    }
}

#[test]
fn every_arm_makes_the_accesses_of_a_trace_as_the_reference_does() {
    let files = Files::new(&[SMALL, LARGE]);
    let (traces, cases) = (Traces::new(), cases());
    let of: Vec<TraceOf> =
        cases.iter().enumerate().map(|(at, (_, accesses))| traces.write(&at.to_string(), accesses)).collect();
    // The reference is by far the slowest, and says the same of all arms.
    let known: Mutex<BTreeMap<_, Tally>> = Mutex::new(BTreeMap::new());
    workers::each(|worker| {
        let all = if worker.runtime.replays { arms::of(worker.runtime, Workload::Replay) } else { Vec::new() };
        for (index, arm) in all.iter().enumerate() {
            let (mut done, mut reasons) = (0, BTreeSet::new());
            let (mut link, _) = worker.start(arm);
            for (at, (size, accesses)) in cases.iter().enumerate() {
                let content = &files.contents[size];
                let plain = job(arm, &files, *size, accesses, of[at].clone());
                for turn in 0..3 {
                    // Over all cases and arms, every consume meets every way to hold the file.
                    let consume = Consume::ALL[(at + index + turn) % Consume::ALL.len()];
                    let hold = HOLDS[(at * 2 + index + turn) % HOLDS.len()];
                    let percent = if turn == 2 { 25 } else { 100 };
                    // In the order of the trace, or as many at once as there were; a pass may have fewer or more.
                    let threads = [1, AT_ONCE - 1 + at as u32 % 2, AT_ONCE + 2][turn];
                    let descriptor = Descriptor::ALL[(at + turn) % Descriptor::ALL.len()];
                    let (consumed_percent, untimed) = (percent, worker.untimed(arm, done));
                    let job = Job { consume, hold, consumed_percent, threads, descriptor, untimed, ..plain.clone() };
                    let of_reference = || reference::tally_of(accesses, &job, content);
                    let mut known = known.lock().unwrap();
                    let asked = (at, consume.to_string(), percent, threads);
                    let expected = known.entry(asked).or_insert_with(of_reference).clone();
                    drop(known);
                    // A warm pass makes the same accesses.
                    let warm = Tally {
                        distinct_bytes: 0,
                        distinct_block_bytes: None,
                        distinct_pages: None,
                        ..expected.clone()
                    };
                    match check(&mut link, &job, &expected, Some(&warm).filter(|_| hold == Hold::Open)) {
                        Ok(Ok(())) => done += 1,
                        Ok(Err(reason)) => drop(reasons.insert(reason)),
                        Err(wrong) => panic!("{}: {arm}: {wrong}: {job:?}", worker.name),
                    }
                }
            }
            link.bye().unwrap();
            assert!(done > 0 || reasons.iter().any(|it| worker.excuses(it)), "{}: {arm}: {reasons:?}", worker.name);
            println!("{}: {arm}: {done} replays, refused: {reasons:?}", worker.name);
        }
    });
}

fn native() -> &'static Worker {
    workers::all().iter().find(|it| it.runtime.name == "native").unwrap()
}

#[test]
fn a_pass_of_fewer_accesses_makes_the_first_ones() {
    let (files, traces) = (Files::new(&[SMALL]), Traces::new());
    let accesses = [(5, 10), (1000, 3), (7, 4096), (0, 1)];
    let arm = native().arm("pread");
    let (mut link, _) = native().start(&arm);
    for ops in 1..=accesses.len() {
        let job = Job { ops: ops as u64, ..job(&arm, &files, SMALL, &accesses, traces.write("t", &accesses)) };
        let expected = reference::tally_of(&accesses[..ops], &job, &files.contents[&SMALL]);
        assert_eq!(check(&mut link, &job, &expected, None), Ok(Ok(())));
    }
}

#[test]
fn an_unaligned_access_is_no_reason_for_a_direct_read_of_more() {
    let (files, traces) = (Files::new(&[LARGE]), Traces::new());
    let accesses = [(0, 4096), (4096, 100)];
    let arm = native().arm("direct");
    let (mut link, _) = native().start(&arm);
    match link.prepare(&job(&arm, &files, LARGE, &accesses, traces.write("t", &accesses))) {
        Err(Trouble::Unavailable(why)) => assert!(why.contains("O_DIRECT"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_trace_that_does_not_fit_its_job_is_refused_with_a_sentence() {
    let (files, traces) = (Files::new(&[SMALL]), Traces::new());
    let accesses = [(0, 100), (SMALL - 100, 100)];
    let good = traces.write("good", &accesses);
    let arm = native().arm("mmap");
    let (mut link, _) = native().start(&arm);
    let plain = job(&arm, &files, SMALL, &accesses, good.clone());
    let mut refused = |job: Job, says: &str| match link.prepare(&job) {
        Err(Trouble::Failed(why)) => assert!(why.contains(says), "{why}"),
        other => panic!("{says}: {other:?}"),
    };
    let with = |trace: TraceOf| Job { trace: Some(trace), ..plain.clone() };
    refused(with(traces.write("empty", &[])), "has 0 accesses");
    refused(with(traces.write("larger", &[(0, 100), (SMALL - 99, 100)])), "recorded of a larger file");
    refused(with(traces.write("far", &[(0, 100), (i64::MAX as u64 - 200, 100)])), "recorded of a larger file");
    refused(with(traces.write("long", &[(0, 100), (0, 101)])), "outside of what the job allows");
    refused(with(TraceOf { file: 2, ..good.clone() }), "has 0 accesses");
    refused(with(TraceOf { digest: "0".repeat(64), ..good.clone() }), "changed meanwhile");
    refused(Job { ops: 3, ..plain.clone() }, "has 2 accesses");
    refused(Job { trace: None, ..plain.clone() }, "without a trace");
    refused(
        with(TraceOf { path: files.path(SMALL).to_str().unwrap().into(), ..good.clone() }),
        "no trace of faultline",
    );
    refused(with(TraceOf { path: "/dev/zero".into(), ..good.clone() }), "no regular file");
    let cut = std::fs::read(&good.path).unwrap();
    std::fs::write(traces.path("cut"), &cut[..cut.len() - 1]).unwrap();
    refused(with(TraceOf { path: traces.path("cut").to_str().unwrap().into(), ..good }), "cut off");
    // And the worker goes on.
    link.prepare(&plain).unwrap();
}
