//! Replays over several files: every method that makes them does what a plain reference does, file by file, and what is no
//! longer what it was is refused by name.

use std::{collections::BTreeSet, os::unix::fs::MetadataExt, path::Path};

use lab::link::{Link, Trouble};
use schema::{
    Arm, Consume, Descriptor, Span, Workload,
    leftover::FileIdentity,
    protocol::{Hold, Job, ReplayedFile, Tally, TraceOf},
    trace::{Access, Header, LeftOut, Reader, TracedFile, Via, Writer},
};

use super::{
    arms,
    reading::{Files, check},
    reference::{self, Prng},
    replay::{AT_ONCE, thread},
    workers::{self, Worker},
};

const SIZES: [u64; 6] = [1, 4095, 4096, 4097, 20_000, (64 << 10) + 3];
/// That replay several files.
const METHODS: [&str; 3] = ["mmap", "pread", "read"];
const HOLDS: [Hold; 2] = [Hold::No, Hold::Rehearse];

/// The place of the file in `SIZES`, offset and length.
type Accesses = Vec<(usize, u64, u64)>;

fn cases() -> Vec<Accesses> {
    let mut prng = Prng(5);
    let anywhere = (0..300).map(|_| {
        let file = prng.slot(SIZES.len() as u64) as usize;
        let offset = prng.slot(SIZES[file]);
        (file, offset, 1 + prng.slot((SIZES[file] - offset).min(9000)))
    });
    vec![
        // One after the other, each as a whole.
        (0..SIZES.len()).rev().map(|file| (file, 0, SIZES[file])).collect(),
        anywhere.collect(),
        // One stays open while others come and go, and is met again.
        vec![(5, 0, 100), (1, 0, 50), (5, 8192, 100), (2, 5, 7), (5, 0, 100), (1, 50, 50), (0, 0, 1)],
        vec![(3, 4096, 1)],
    ]
}

struct Several {
    files: Files,
    folder: tempfile::TempDir,
}

impl Several {
    fn new() -> Several {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Several { files: Files::new(&SIZES), folder }
    }

    /// The table has a file before each that is read, so that numbers are no places.
    fn trace(&self, name: &str, accesses: &Accesses) -> TraceOf {
        self.trace_mapped_from(accesses.len(), name, accesses)
    }

    /// From one of the accesses on they are touches in a mapping.
    fn trace_mapped_from(&self, first: usize, name: &str, accesses: &Accesses) -> TraceOf {
        let file = |at: usize| TracedFile { path: format!("/{at}"), ..TracedFile::default() };
        let table = (0..2 * SIZES.len()).map(file).collect();
        let mut writer = Writer::new(Vec::new(), &Header::new("test", table, LeftOut::default())).unwrap();
        for (at, &(file, offset, bytes)) in accesses.iter().enumerate() {
            let thread = thread(at, accesses.len());
            let via = if at < first { Via::Call } else { Via::Mapping };
            writer.push(Access { thread, via, ..Access::call(2 * file as u32 + 1, offset, bytes) }).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let digest = Reader::new(&bytes[..]).unwrap().digest().unwrap();
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let files = SIZES.iter().enumerate().map(|(at, &size)| self.file(2 * at as u32 + 1, size)).collect();
        TraceOf { path: path.to_str().unwrap().into(), digest, file: 0, files }
    }

    fn file(&self, place: u32, size: u64) -> ReplayedFile {
        let path = self.files.path(size);
        let metadata = std::fs::metadata(&path).unwrap();
        let identity = FileIdentity { device: metadata.dev(), inode: metadata.ino() };
        ReplayedFile { place, path: path.to_str().unwrap().into(), identity, bytes: size }
    }

    fn job(&self, arm: &Arm, accesses: &Accesses, trace: TraceOf) -> Job {
        let all = SIZES.iter().sum();
        Job {
            workload: Workload::Replay,
            block_bytes: accesses.iter().map(|it| it.2).max().unwrap_or(1),
            ops: accesses.len().max(1) as u64,
            trace: Some(trace),
            ..Job::new(arm, self.files.path(SIZES[5]).to_str().unwrap(), Span { offset: 0, bytes: all })
        }
    }

    /// Of each file by itself, added up.
    fn tally(&self, accesses: &Accesses, job: &Job) -> Tally {
        let sum = |mut all: Tally, it: Tally| {
            let checksums = [&all, &it].map(|it| u64::from_str_radix(&it.checksum, 16).unwrap());
            all.checksum = format!("{:016x}", checksums[0].wrapping_add(checksums[1]));
            all.bytes += it.bytes;
            all.distinct_bytes += it.distinct_bytes;
            all.distinct_block_bytes = all.distinct_block_bytes.zip(it.distinct_block_bytes).map(|(a, b)| a + b);
            all.distinct_pages = all.distinct_pages.zip(it.distinct_pages).map(|(a, b)| a + b);
            all
        };
        let own = |file: usize| {
            let own: Vec<(u64, u64)> = accesses.iter().filter(|it| it.0 == file).map(|it| (it.1, it.2)).collect();
            reference::tally_of(&own, job, &self.files.contents[&SIZES[file]])
        };
        (0..SIZES.len()).map(own).reduce(sum).unwrap()
    }
}

fn native() -> &'static Worker {
    workers::all().iter().find(|it| it.runtime.name == "native").unwrap()
}

#[test]
fn every_method_that_replays_several_files_makes_the_accesses_as_the_reference_does() {
    let (several, cases) = (Several::new(), cases());
    let of: Vec<TraceOf> = cases.iter().enumerate().map(|(at, it)| several.trace(&at.to_string(), it)).collect();
    let mut methods = BTreeSet::new();
    for (index, arm) in arms::of(native().runtime, Workload::Replay).iter().enumerate() {
        let (mut link, _) = native().start(arm);
        for (at, accesses) in cases.iter().enumerate() {
            for turn in 0..3 {
                let job = Job {
                    consume: Consume::ALL[(at + index + turn) % Consume::ALL.len()],
                    hold: HOLDS[(at + index + turn) % HOLDS.len()],
                    consumed_percent: if turn == 2 { 25 } else { 100 },
                    threads: [1, AT_ONCE - 1 + at as u32 % 2, AT_ONCE + 2][turn],
                    descriptor: Descriptor::ALL[(at + turn) % Descriptor::ALL.len()],
                    ..several.job(arm, accesses, of[at].clone())
                };
                match check(&mut link, &job, &several.tally(accesses, &job), None) {
                    Ok(Ok(())) => drop(methods.insert(arm.method.clone())),
                    // Also of a method that does, options may be refused here.
                    Ok(Err(why)) => {
                        let is_excused = why.contains("one file") || why.contains("one position");
                        assert!(METHODS.contains(&arm.method.as_str()) || is_excused, "{arm}: {why}");
                    }
                    Err(wrong) => panic!("{arm}: {wrong}: {job:?}"),
                }
            }
        }
        link.bye().unwrap();
    }
    assert_eq!(methods.iter().map(String::as_str).collect::<Vec<_>>(), METHODS);
}

#[test]
fn a_pass_of_fewer_accesses_makes_the_first_ones_and_a_held_state_is_refused() {
    let several = Several::new();
    let accesses = cases().swap_remove(2);
    for arm in ["read", "pread+buffer_kib=128", "mmap"].map(|it| native().arm(it)) {
        let (mut link, _) = native().start(&arm);
        let job = several.job(&arm, &accesses, several.trace("t", &accesses));
        for ops in 1..=accesses.len() {
            let job = Job { ops: ops as u64, ..job.clone() };
            let expected = several.tally(&accesses[..ops].to_vec(), &job);
            assert_eq!(check(&mut link, &job, &expected, None), Ok(Ok(())), "{arm} {ops}");
        }
        for hold in [Hold::Open, Hold::Warm, Hold::Locked] {
            let held = link.prepare(&Job { hold, ..job.clone() });
            assert!(matches!(&held, Err(Trouble::Unavailable(why)) if why.contains("several files")), "{held:?}");
        }
    }
}

/// What a process has read by calls, where the kernel counts it.
fn read_bytes(pid: u32) -> Option<u64> {
    sys::process::io(pid).ok().map(|it| it.read_call_bytes)
}

#[test]
fn files_that_find_no_buffer_of_their_own_share_one_and_read_what_is_theirs() {
    let several = Several::new();
    // Of 16 MiB: of six files in turn each of three threads has room for two more than its own.
    let arm = native().arm("pread+buffer_kib=16384");
    let (mut link, _) = native().start(&arm);
    let in_turn = |at: u64| (0..SIZES.len()).rev().map(move |file| (file, at * 7 % SIZES[file], 1));
    let accesses: Accesses = (0..40).flat_map(in_turn).collect();
    for threads in [1, AT_ONCE] {
        let job = Job { threads, ..several.job(&arm, &accesses, several.trace("t", &accesses)) };
        let expected = several.tally(&accesses, &job);
        assert_eq!(check(&mut link, &job, &expected, None), Ok(Ok(())), "{threads}");
    }
    link.bye().unwrap();
}

#[test]
fn files_that_are_read_in_turn_have_a_buffer_each() {
    let several = Several::new();
    // The first 16 KiB of two files, half a page of one and of the other, and of a third one at last.
    let half = 2048;
    let turns = (0..8).flat_map(|at| [(4, at * half, half), (5, at * half, half)]);
    let accesses: Accesses = turns.chain([(3, 0, 1)]).collect();
    let arm = native().arm("pread+buffer_kib=16");
    let (mut link, _) = native().start(&arm);
    let job = several.job(&arm, &accesses, several.trace("t", &accesses));
    for hold in HOLDS {
        let job = Job { hold, ..job.clone() };
        link.prepare(&job).unwrap();
        // Nothing of the first pass is left in the second.
        for _ in 0..2 {
            let before = read_bytes(link.pid());
            let done = link.go(job.pass, std::time::Duration::from_secs(60)).unwrap();
            assert_eq!(done.tally, several.tally(&accesses, &job));
            // With what the worker is asked. Filled at each change they are 8 times as many.
            let read = read_bytes(link.pid()).zip(before).map(|(after, before)| after - before);
            let filled = 2 * (16 << 10) + 4097;
            assert!(read.is_none_or(|it| (filled..2 * filled).contains(&it)), "{read:?}");
        }
    }
    link.bye().unwrap();
}

#[test]
fn a_mapping_reads_by_calls_what_the_program_read_before_it_mapped_the_file() {
    let several = Several::new();
    let accesses = vec![(5, 0, 60_000), (5, 4096, 4096), (5, 60_000, 4096)];
    let arm = native().arm("mmap");
    let (mut link, _) = native().start(&arm);
    let read = |link: &mut Link, trace: TraceOf| {
        let range = Span { offset: 0, bytes: SIZES[5] };
        let job = Job { range, ..several.job(&arm, &accesses, trace) };
        link.prepare(&job).unwrap();
        let before = read_bytes(link.pid());
        let done = link.go(job.pass, std::time::Duration::from_secs(60)).unwrap();
        assert_eq!(done.tally, several.tally(&accesses, &job));
        read_bytes(link.pid()).zip(before).map(|(after, before)| after - before)
    };
    let one = |files: TraceOf| TraceOf { file: 11, files: Vec::new(), ..files };
    for pick in [|it| it, one] {
        let mapped = read(&mut link, pick(several.trace_mapped_from(1, "mapped", &accesses)));
        let calls = read(&mut link, pick(several.trace("calls", &accesses)));
        assert!(mapped.is_none_or(|it| it >= 60_000) && calls.is_none_or(|it| it < 60_000), "{mapped:?} {calls:?}");
    }
    link.bye().unwrap();
}

/// What prepares a job, and why it does not.
fn refused(link: &mut Link, job: &Job, says: &[&str]) {
    match link.prepare(job) {
        Err(Trouble::Failed(why)) => assert!(says.iter().all(|it| why.contains(it)), "{why}: {says:?}"),
        other => panic!("{says:?}: {other:?}"),
    }
}

#[test]
fn files_that_are_gone_shorter_or_others_by_now_are_refused_by_their_names() {
    let several = Several::new();
    let accesses = cases().swap_remove(0);
    let path = |size: u64| several.files.path(size);
    let arm = native().arm("mmap");
    let (mut link, _) = native().start(&arm);
    let job = several.job(&arm, &accesses, several.trace("t", &accesses));
    let name = |path: &Path| path.to_str().unwrap().to_string();
    std::fs::write(path(4097), "short").unwrap();
    refused(&mut link, &job, &[&name(&path(4097)), "has 5 bytes"]);
    let other = several.folder.path().join("other");
    std::fs::write(&other, vec![7; 4097]).unwrap();
    std::fs::rename(other, path(4097)).unwrap();
    refused(&mut link, &job, &[&name(&path(4097)), "another file"]);
    std::fs::remove_file(path(4097)).unwrap();
    refused(&mut link, &job, &[&name(&path(4097)), "No such file"]);
    std::fs::create_dir(path(4097)).unwrap();
    refused(&mut link, &job, &[&name(&path(4097)), "a directory"]);
}

#[test]
fn a_file_that_goes_or_shrinks_after_it_was_prepared_is_a_failed_pass_with_its_name() {
    for threads in [1, AT_ONCE] {
        goes_or_shrinks(threads);
    }
}

fn goes_or_shrinks(threads: u32) {
    let several = Several::new();
    let accesses = cases().swap_remove(0);
    let gone = several.files.path(20_000);
    let arm = native().arm("pread");
    let (mut link, _) = native().start(&arm);
    let job = Job { threads, ..several.job(&arm, &accesses, several.trace("t", &accesses)) };
    let failed = |link: &mut Link| match link.go(job.pass, std::time::Duration::from_secs(60)) {
        Err(Trouble::Failed(why)) => assert!(why.contains(gone.to_str().unwrap()), "{why}"),
        other => panic!("{other:?}"),
    };
    link.prepare(&job).unwrap();
    std::fs::write(&gone, "short").unwrap();
    failed(&mut link);
    std::fs::remove_file(&gone).unwrap();
    // Nothing of the first pass is open still.
    failed(&mut link);
    link.bye().unwrap();
}

#[test]
fn a_trace_that_does_not_fit_the_files_of_its_job_is_refused_with_a_sentence() {
    let several = Several::new();
    let accesses = cases().swap_remove(0);
    let good = several.trace("good", &accesses);
    let arm = native().arm("read");
    let (mut link, _) = native().start(&arm);
    let plain = several.job(&arm, &accesses, good.clone());
    let with = |change: &dyn Fn(&mut TraceOf)| {
        let mut trace = good.clone();
        change(&mut trace);
        Job { trace: Some(trace), ..plain.clone() }
    };
    refused(&mut link, &with(&|it| drop(it.files.pop())), &["file 11 of its table", "does not name"]);
    refused(&mut link, &with(&|it| it.files[1].place = u32::MAX), &["at most 10000"]);
    refused(&mut link, &with(&|it| it.files[1].place = it.files[0].place), &["twice"]);
    refused(&mut link, &with(&|it| it.files[5].bytes -= 1), &["an access of 65539 bytes"]);
    refused(&mut link, &with(&|it| it.files[0].path = "/no\u{1b}[31m\nwhere".into()), &["No such file"]);
    refused(&mut link, &with(&|it| it.digest = "0".repeat(64)), &["changed meanwhile"]);
    refused(&mut link, &Job { ops: 100, ..plain.clone() }, &["has 6 accesses"]);
    refused(&mut link, &Job { block_bytes: 100, ..plain.clone() }, &["an access of"]);
    link.prepare(&plain).unwrap();
}

#[test]
fn ten_thousand_files_are_replayed_and_more_open_at_once_than_are_allowed_are_refused_with_a_sentence() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let count = schema::trace::FILES_MAX;
    let path = |at: usize| folder.path().join(at.to_string());
    let file = |at: usize| TracedFile { path: path(at).to_str().unwrap().into(), ..TracedFile::default() };
    let replayed = |at: usize| {
        std::fs::write(path(at), [at as u8]).unwrap();
        let metadata = std::fs::metadata(path(at)).unwrap();
        let identity = FileIdentity { device: metadata.dev(), inode: metadata.ino() };
        ReplayedFile { place: at as u32, path: path(at).to_str().unwrap().into(), identity, bytes: 1 }
    };
    let files: Vec<ReplayedFile> = (0..count).map(replayed).collect();
    let arm = native().arm("pread");
    let (mut link, _) = native().start(&arm);
    let job = |name: &str, order: &mut dyn Iterator<Item = usize>| {
        let header = Header::new("test", (0..count).map(file).collect(), LeftOut::default());
        let mut writer = Writer::new(Vec::new(), &header).unwrap();
        let mut ops = 0;
        for at in order {
            writer.push(Access::call(at as u32, 0, 1)).unwrap();
            ops += 1;
        }
        let bytes = writer.finish().unwrap();
        let digest = Reader::new(&bytes[..]).unwrap().digest().unwrap();
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let trace = folder.path().join(name).to_str().unwrap().into();
        let trace = TraceOf { path: trace, digest, file: 0, files: files.clone() };
        let range = Span { offset: 0, bytes: count as u64 };
        let job = Job::new(&arm, path(0).to_str().unwrap(), range);
        Job { workload: Workload::Replay, block_bytes: 1, ops, consume: Consume::SumBytes, trace: Some(trace), ..job }
    };
    let once = job("once", &mut (0..count));
    link.prepare(&once).unwrap();
    let done = link.go(once.pass, std::time::Duration::from_secs(120)).unwrap();
    assert_eq!((done.tally.ops, done.tally.distinct_pages), (count as u64, Some(count as u64)));
    let sum: u64 = (0..count).map(|at| u64::from(at as u8)).sum();
    assert_eq!(done.tally.checksum, format!("{sum:016x}"));
    // Each is open until all were read.
    let twice = job("twice", &mut (0..count).chain(0..count));
    match link.prepare(&twice) {
        Ok(()) => assert!(link.go(twice.pass, std::time::Duration::from_secs(120)).is_ok()),
        Err(Trouble::Unavailable(why)) => assert!(why.contains("open at once"), "{why}"),
        other => panic!("{other:?}"),
    }
}
