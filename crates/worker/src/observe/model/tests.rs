use std::panic::catch_unwind;

use planted::{Effort, Random};
use schema::observation::{self, FILES_MAX, MappingCount, Means, Observation};
use sys::follow::{CALLS, Call};

use super::*;
use crate::observe::{access::FileId, counts::Counts};

fn call(name: &str) -> &'static Call {
    CALLS.iter().find(|it| it.name == name).unwrap()
}

fn a_file(inode: u64) -> Opened {
    Opened {
        is_file: true,
        device: 1,
        inode,
        generation: Vec::new(),
        path: format!("/data/{inode}"),
        bytes: 1 << 20,
        flags: 0,
        position: 0,
        resident_pages: None,
        resident_parts: Vec::new(),
    }
}

/// One process that has executed its program; `/data/7` is named.
struct TestModel<S>(Model<S>);

impl TestModel<Counts> {
    fn new() -> TestModel<Counts> {
        TestModel::to(Counts::new([(1, 7)]))
    }

    fn finish(self) -> Observation {
        self.0.sink.finish(Means::Ptrace, self.0.program)
    }

    fn named(self) -> observation::Access {
        self.finish().named
    }
}

impl<S: Sink> TestModel<S> {
    fn to(sink: S) -> TestModel<S> {
        let mut model = Model::new(sink, HashSet::from([(1, 9)]), 4096, false);
        model.receive(Event::Began { thread: 10, process: 10, parent: None, shares_files: false });
        model.receive(Event::Executed {
            thread: 10,
            path: "/bin/p".into(),
            is_go: false,
            runs_as_other: false,
            files: Vec::new(),
        });
        TestModel(model)
    }

    fn call(&mut self, thread: i32, name: &str, arguments: &[u64], result: impl Into<Option<i64>>) {
        self.call_with(thread, name, arguments, result, None);
    }

    fn call_with(
        &mut self,
        thread: i32,
        name: &str,
        arguments: &[u64],
        result: impl Into<Option<i64>>,
        opened: Option<Opened>,
    ) {
        self.receive(thread, name, arguments, result, (opened, false));
    }

    /// A call beside one of another thread that moves the same position.
    fn beside(&mut self, thread: i32, name: &str, arguments: &[u64], result: i64, opened: Option<Opened>) {
        self.receive(thread, name, arguments, result, (opened, true));
    }

    fn receive(
        &mut self,
        thread: i32,
        name: &str,
        arguments: &[u64],
        result: impl Into<Option<i64>>,
        (opened, is_beside): (Option<Opened>, bool),
    ) {
        let result = result.into();
        let mut six = [0; 6];
        six[..arguments.len()].copy_from_slice(arguments);
        self.0.receive(Event::Called(Called { thread, call: call(name), arguments: six, result, opened, is_beside }));
    }

    fn open(&mut self, thread: i32, descriptor: i64, inode: u64) {
        self.call_with(thread, "openat", &[], descriptor, Some(a_file(inode)));
    }
}

#[test]
fn processes_that_read_at_once_are_told_from_those_that_read_one_after_the_other() {
    let readers = |at_once: bool| {
        let mut model = TestModel::new();
        model.open(10, 3, 7);
        model.open(10, 4, 8);
        for child in 11..15 {
            model.0.receive(Event::Began { thread: child, process: child, parent: Some(10), shares_files: false });
            model.call(child, "pread64", &[3, 0, 100, 0], 100);
            // Of a file that is not named.
            model.call(10, "read", &[4, 0, 100], 100);
            if !at_once {
                model.0.receive(Event::Ended { thread: child });
            }
        }
        model.finish().readers_at_once
    };
    assert_eq!([readers(false), readers(true)], [Some(1), Some(4)]);
}

#[test]
fn threads_that_share_an_open_file_read_in_order_if_each_of_them_does() {
    let mut model = TestModel::new();
    model.open(10, 3, 7);
    model.0.receive(Event::Began { thread: 11, process: 10, parent: Some(10), shares_files: true });
    // Each its own half, as the scheduler has it.
    for (thread, at) in [(10, 0), (11, 500), (10, 100), (11, 600), (11, 700), (10, 200)] {
        model.call(thread, "pread64", &[3, 0, 100, at], 100);
    }
    // Where the other one reads on is not in order of one that was elsewhere, and nowhere is of none.
    model.call(10, "pread64", &[3, 0, 100, 900], 100);
    model.call(10, "pread64", &[3, 0, 100, 800], 100);
    let calls = &model.named().calls["pread64"];
    assert_eq!((calls.count, calls.sequential), (8, 5));
}

#[test]
fn a_call_that_asks_for_more_than_the_file_has_asks_for_all_of_it() {
    let mut model = TestModel::new();
    model.0.receive(Event::Executed {
        thread: 10,
        path: "/bin/cp".into(),
        is_go: false,
        runs_as_other: false,
        files: vec![(3, Opened { bytes: 300, ..a_file(7) })],
    });
    model.call(10, "copy_file_range", &[3, 0, 4, 0, i64::MAX as u64, 0], 300);
    model.call(10, "copy_file_range", &[3, 0, 4, 0, i64::MAX as u64, 0], 0);
    let calls = &model.named().calls["copy_file_range"];
    assert_eq!((calls.count, calls.bytes, calls.asked_bytes), (2, 300, 600));
    // One that was empty when it was first seen.
    let mut model = TestModel::new();
    model.call_with(10, "read", &[5, 0, u64::MAX], 0, Some(Opened { bytes: 0, ..a_file(7) }));
    assert_eq!(model.named().calls["read"].asked_bytes, 1 << 31);
}

#[test]
fn reads_follow_the_position_that_duplicates_and_children_share() {
    let mut model = TestModel::new();
    model.open(10, 3, 7);
    model.call(10, "read", &[3, 0, 100], 100);
    model.call(10, "dup", &[3], 4);
    model.call(10, "read", &[4, 0, 100], 100);
    model.0.receive(Event::Began { thread: 11, process: 11, parent: Some(10), shares_files: false });
    model.call(11, "read", &[3, 0, 100], 100);
    model.call(11, "close", &[3], 0);
    model.call(10, "read", &[3, 0, 100], 100);
    model.call(10, "lseek", &[3, 0, 0], 0);
    model.call(10, "read", &[3, 0, 100], 100);
    let named = model.named();
    assert_eq!(named.opens, 1);
    let calls = &named.calls["read"];
    assert_eq!((calls.count, calls.bytes, calls.sequential), (5, 500, 4));
}

#[test]
fn threads_share_a_table_and_children_have_their_own() {
    let mut model = TestModel::new();
    model.0.receive(Event::Began { thread: 11, process: 10, parent: Some(10), shares_files: true });
    model.0.receive(Event::Began { thread: 12, process: 12, parent: Some(10), shares_files: false });
    model.open(11, 3, 7);
    model.call(10, "pread64", &[3, 0, 50, 4096], 50);
    model.call(12, "pread64", &[3, 0, 50, 4096], 50);
    let observation = model.finish();
    assert_eq!((observation.processes, observation.threads), (2, 3));
    assert_eq!(observation.named.calls["pread64"].count, 1, "the child has no descriptor 3");
}

#[test]
fn a_thread_has_its_own_descriptors_only_once_the_call_for_it_has_succeeded() {
    let position_of_main = |result: i64| {
        let mut model = TestModel::to(Kept::default());
        model.open(10, 3, 7);
        model.0.receive(Event::Began { thread: 11, process: 10, parent: Some(10), shares_files: true });
        model.call(10, "read", &[3, 0, 100], 100);
        model.call(11, "unshare", &[(libc::CLONE_FILES | libc::CLONE_NEWUSER) as u64], result);
        model.call(11, "close", &[3], None);
        model.open(11, 3, 7);
        model.call(10, "read", &[3, 0, 100], 100);
        offsets(&model)[1]
    };
    assert_eq!(position_of_main(-i64::from(libc::EINVAL)), Some(0));
    assert_eq!(position_of_main(0), Some(100));
}

#[test]
fn a_runtime_is_told_by_the_program_or_by_the_code_that_it_maps() {
    use schema::mapped_runtime::MappedRuntime::{Cpython, Go, Jvm};
    let mut model = TestModel::new();
    let execute = |path: &str, is_go| Event::Executed {
        thread: 10,
        path: path.into(),
        is_go,
        runs_as_other: false,
        files: Vec::new(),
    };
    model.0.receive(execute("/usr/bin/grep", false));
    model.call_with(10, "openat", &[], 3, Some(Opened { path: "/j/libjvm.so".into(), ..a_file(9) }));
    let map = |protection: i32| [0, 4096, protection as u64, libc::MAP_PRIVATE as u64, 3, 0];
    model.call(10, "mmap", &map(libc::PROT_READ), 0x1000);
    model.0.receive(execute("/usr/bin/python3.12", false));
    model.call_with(10, "openat", &[], 3, Some(Opened { path: "/j/libjvm.so".into(), ..a_file(9) }));
    let mut with_code = TestModel::new();
    with_code.0.receive(execute("/opt/tool", true));
    with_code.call_with(10, "openat", &[], 3, Some(Opened { path: "/j/libjvm.so".into(), ..a_file(9) }));
    with_code.call(10, "mmap", &map(libc::PROT_READ | libc::PROT_EXEC), 0x1000);
    let runtimes = |it: TestModel<Counts>| it.finish().runtimes;
    assert_eq!(runtimes(model), [Cpython], "the library was not mapped as code");
    assert_eq!(runtimes(with_code), [Jvm, Go]);
}

#[test]
fn a_descriptor_that_comes_with_the_program_keeps_its_place() {
    let mut model = TestModel::new();
    model.open(10, 3, 7);
    model.call(10, "read", &[3, 0, 100], 100);
    let files = vec![(3, Opened { position: 100, ..a_file(7) })];
    model.0.receive(Event::Executed { thread: 10, path: "/bin/q".into(), is_go: false, runs_as_other: false, files });
    model.call(10, "read", &[3, 0, 100], 100);
    assert_eq!(model.named().calls["read"].sequential, 2);
}

#[test]
fn a_file_that_has_the_inode_of_a_deleted_one_is_seen_by_itself() {
    let mut model = TestModel::new();
    model.open(10, 3, 8);
    model.call(10, "read", &[3, 0, 100], 100);
    let next = || Opened { generation: vec![1], path: "/data/next".into(), ..a_file(8) };
    model.call_with(10, "openat", &[], 4, Some(next()));
    model.call(10, "read", &[4, 0, 200], 200);
    // What stays open over exec(2) is the one that it was.
    let files = vec![(3, Opened { position: 100, ..a_file(8) }), (4, Opened { position: 200, ..next() })];
    model.0.receive(Event::Executed { thread: 10, path: "/bin/q".into(), is_go: false, runs_as_other: false, files });
    model.call(10, "read", &[4, 0, 200], 200);
    let seen = model.finish().files;
    let read: Vec<_> = seen.iter().map(|it| (it.path.as_str(), it.access.read_bytes(), it.access.opens)).collect();
    assert_eq!(read, [("/data/next", 400, 1), ("/data/8", 100, 1)]);
}

#[test]
fn a_descriptor_that_nobody_saw_being_opened_is_what_it_was_found_to_be() {
    let mut model = TestModel::new();
    model.call_with(10, "read", &[5, 0, 100], 40, Some(Opened { position: 540, ..a_file(7) }));
    model.call(10, "read", &[5, 0, 100], 60);
    let calls = &model.named().calls["read"];
    assert_eq!((calls.count, calls.bytes, calls.sequential), (2, 100, 2));
}

#[test]
fn what_may_not_be_looked_at_is_said_to_be_missing_and_what_was_known_before_is_kept() {
    let mut model = TestModel::new();
    model.open(10, 3, 7);
    model.call_with(10, "openat", &[], 4, Some(Opened { flags: libc::O_RDWR, ..a_file(7) }));
    assert!(model.0.program.incomplete.is_empty());
    model.0.receive(Event::Hidden { thread: 10, descriptor: Some(5) });
    model.call(10, "openat", &[], 5);
    model.call(10, "read", &[5, 0, 100], 100);
    assert_eq!(model.0.program.incomplete.len(), 1);
    model.call(10, "read", &[3, 0, 100], 100);
    // Of one that is open for both, writes may have moved it unseen.
    model.0.receive(Event::Hidden { thread: 10, descriptor: Some(4) });
    model.call(10, "read", &[4, 0, 100], 100);
    let calls = &model.named().calls["read"];
    assert_eq!((calls.count, calls.sequential, calls.unplaced), (2, 1, 1));
}

#[test]
fn pipes_other_files_failed_calls_and_closed_descriptors_are_not_the_named_file() {
    let mut model = TestModel::new();
    model.call_with(10, "openat", &[], 3, Some(Opened { is_file: false, ..a_file(7) }));
    model.call(10, "read", &[3, 0, 100], 100);
    model.open(10, 4, 8);
    model.call(10, "read", &[4, 0, 100], 100);
    model.open(10, 5, 7);
    model.call(10, "read", &[5, 0, 100], -11);
    model.call(10, "close_range", &[3, u64::from(u32::MAX), 0], 0);
    model.call(10, "read", &[5, 0, 100], 100);
    let observation = model.finish();
    assert_eq!(observation.named.read_calls(), 0);
    assert_eq!(observation.named_opened, 1);
    let others: Vec<&str> = observation.files.iter().filter(|it| !it.named).map(|it| it.path.as_str()).collect();
    assert_eq!(others, ["/data/8"]);
}

#[test]
fn advice_is_the_files_that_lie_under_it_and_goes_with_the_mapping() {
    const SHARED: u64 = libc::MAP_SHARED as u64;
    let mut model = TestModel::new();
    model.open(10, 3, 7);
    model.open(10, 4, 8);
    model.call(10, "mmap", &[0, 0x3000, 1, SHARED | libc::MAP_POPULATE as u64, 3, 0], 0x10_000);
    model.call(10, "mmap", &[0, 0x1000, 1, SHARED, 4, 0], 0x20_000);
    model.call(10, "madvise", &[0x20_000, 0x1000, 1], 0);
    model.call(10, "madvise", &[0x12_000, 0x1000, 2], 0);
    model.call(10, "munmap", &[0x11_000, 0x1000], 0);
    model.call(10, "madvise", &[0x11_000, 0x1000, 2], 0);
    model.call(10, "mremap", &[0x10_000, 0x1000, 0x5000, 1], 0x40_000);
    model.call(10, "madvise", &[0x44_000, 1, 14], 0);
    model.call(10, "mmap", &[0, 0x5000, 1, SHARED | libc::MAP_ANONYMOUS as u64, u64::MAX, 0], 0x40_000);
    model.call(10, "madvise", &[0x44_000, 1, 14], 0);
    model.call(10, "posix_fadvise", &[3, 0, 0, 1], 0);
    let named = model.named();
    let mapping = MappingCount { shared: true, populate: true, count: 1, bytes: 0x7000, ..MappingCount::default() };
    assert_eq!(named.mappings, [mapping]);
    let hints: Vec<(&str, u64)> = named.hints.iter().map(|(hint, times)| (hint.as_str(), *times)).collect();
    let expected =
        [("madvise(MADV_HUGEPAGE)", 1), ("madvise(MADV_SEQUENTIAL)", 1), ("posix_fadvise(POSIX_FADV_RANDOM)", 1)];
    assert_eq!(hints, expected);
}

#[test]
fn advice_beyond_the_end_of_a_mapping_is_given_to_all_of_it() {
    let mut model = TestModel::new();
    model.open(10, 3, 7);
    model.call(10, "mmap", &[0, 0x3000, 1, libc::MAP_SHARED as u64, 3, 0], 0x10_000);
    for advice in [libc::MADV_RANDOM, libc::MADV_POPULATE_READ] {
        model.call(10, "madvise", &[0x10_000, 0x5000, advice as u64], -i64::from(libc::ENOMEM));
        model.call(10, "madvise", &[0x10_000, 0x5000, advice as u64], -i64::from(libc::EINVAL));
    }
    let named = model.named();
    let hints: Vec<(&str, u64)> = named.hints.iter().map(|(hint, times)| (hint.as_str(), *times)).collect();
    assert_eq!(hints, [("madvise(MADV_RANDOM)", 1)]);
}

#[test]
fn a_mapping_that_is_locked_is_populated() {
    let mut model = TestModel::new();
    model.open(10, 3, 7);
    for flag in [libc::MAP_POPULATE, libc::MAP_LOCKED, libc::MAP_NORESERVE] {
        let flags = (libc::MAP_SHARED | flag) as u64;
        model.call(10, "mmap", &[0, 0x1000, 1, flags, 3, 0], 0x10_000);
    }
    let mut counts: Vec<(bool, u64)> = model.named().mappings.iter().map(|it| (it.populate, it.count)).collect();
    counts.sort_unstable();
    assert_eq!(counts, [(false, 1), (true, 2)]);
}

#[test]
fn bytes_are_counted_under_the_advice_that_they_were_reached_under() {
    const SHARED: u64 = libc::MAP_SHARED as u64;
    let under = |model: TestModel<Counts>| -> Vec<(String, u64)> { model.named().under.into_iter().collect() };
    let is = |it: &[(&str, u64)]| it.iter().map(|it| (it.0.to_string(), it.1)).collect::<Vec<_>>();
    let (random, sequential, ahead) =
        ("posix_fadvise(POSIX_FADV_RANDOM)", "posix_fadvise(POSIX_FADV_SEQUENTIAL)", "readahead");
    // Of two open files, only one is advised, and until it is advised otherwise.
    let mut model = TestModel::new();
    model.open(10, 3, 7);
    model.open(10, 4, 7);
    model.call(10, "pread64", &[3, 0, 100, 0], 100);
    model.call(10, "posix_fadvise", &[3, 0, 0, 1], 0);
    model.call(10, "pread64", &[3, 0, 100, 0], 100);
    model.call(10, "pread64", &[4, 0, 100, 0], 100);
    model.call(10, "posix_fadvise", &[3, 0, 0, 4], 0);
    model.call(10, "dup", &[3], 5);
    model.call(10, "pread64", &[5, 0, 50, 0], 50);
    model.call(10, "posix_fadvise", &[5, 0, 0, 2], 0);
    model.call(10, "pread64", &[3, 0, 7, 0], 7);
    model.call(10, "posix_fadvise", &[4, 0, 0, 2], 0);
    assert_eq!(under(model), is(&[("posix_fadvise(POSIX_FADV_DONTNEED)", 0), (random, 150), (sequential, 7)]));
    // What was asked to be brought in is there for every open file.
    let mut model = TestModel::new();
    model.open(10, 3, 7);
    model.open(10, 4, 7);
    model.call(10, "readahead", &[3, 100, 200], 0);
    for offset in [50, 100, 200, 201] {
        model.call(10, "pread64", &[4, 0, 100, offset], 100);
    }
    assert_eq!(under(model), is(&[(ahead, 200)]));
    // Of a mapping, the bytes that are advised for the first time.
    let mut model = TestModel::new();
    model.open(10, 3, 7);
    model.call(10, "mmap", &[0, 0x4000, 1, SHARED, 3, 0], 0x10_000);
    for number in [1, 1, 22, 22] {
        model.call(10, "madvise", &[0x11_000, 0x2000, number], 0);
    }
    model.call(10, "madvise", &[0x10_000, 0x4000, 1], 0);
    model.call(10, "mremap", &[0x10_000, 0x4000, 0x5000, 1], 0x40_000);
    assert_eq!(under(model), is(&[("madvise(MADV_POPULATE_READ)", 0x2000), ("madvise(MADV_RANDOM)", 0x5000)]));
    // Around the page cache.
    let mut model = TestModel::new();
    model.open(10, 3, 7);
    model.call(10, "pread64", &[3, 0, 100, 0], 100);
    model.call(10, "fcntl", &[3, libc::F_SETFL as u64, libc::O_DIRECT as u64], 0);
    model.call(10, "pread64", &[3, 0, 512, 0], 512);
    assert_eq!(under(model), is(&[("O_DIRECT", 512)]));
}

#[test]
fn going_around_the_cache_is_seen_at_open_and_later() {
    let mut model = TestModel::new();
    let direct = Opened { flags: libc::O_DIRECT | libc::O_RDWR, ..a_file(7) };
    model.call_with(10, "openat", &[], 3, Some(direct));
    model.call(10, "fcntl", &[3, libc::F_SETFL as u64, libc::O_DIRECT as u64], 0);
    model.open(10, 4, 7);
    model.call(10, "fcntl", &[4, libc::F_SETFL as u64, libc::O_DIRECT as u64], 0);
    model.call(10, "io_uring_setup", &[], 9);
    let observation = model.finish();
    let named = &observation.named;
    assert_eq!((named.opens, named.opens_direct, named.opens_for_writing, observation.rings), (2, 2, 1, 1));
}

/// Keeps everything, as a recorder would.
#[derive(Default)]
struct Kept {
    paths: Vec<String>,
    accesses: Vec<ObservedAccess>,
    marks: Vec<(FileId, Mark)>,
}

impl Sink for Kept {
    fn file(&mut self, file: FileId, found: &Opened) {
        assert_eq!(file.0, self.paths.len());
        self.paths.push(found.path.clone());
    }

    fn access(&mut self, access: &ObservedAccess) {
        self.accesses.push(*access);
    }

    fn mark(&mut self, file: FileId, mark: Mark) {
        self.marks.push((file, mark));
    }

    fn ended(&mut self, _: i32) {}
}

#[test]
fn a_mapping_that_is_larger_than_its_file_has_what_the_file_has() {
    const MIB: u64 = 1 << 20;
    let of = |file_bytes: u64, protection: u64, advised: [u64; 2]| {
        let mut model = TestModel::new();
        model.call_with(10, "openat", &[], 3, Some(Opened { bytes: file_bytes, ..a_file(7) }));
        model.call(10, "mmap", &[0, 1024 * MIB, protection, libc::MAP_SHARED as u64, 3, 0], 0x10_0000_0000);
        model.call(10, "madvise", &[0x10_0000_0000 + advised[0], advised[1], libc::MADV_RANDOM as u64], 0);
        let seen = model.named();
        (seen.mapped_bytes(), seen.under.get("madvise(MADV_RANDOM)").copied())
    };
    let read = libc::PROT_READ as u64;
    assert_eq!(of(300 * MIB, read, [0, 300 * MIB]), (300 * MIB, Some(300 * MIB)));
    assert_eq!(of(300 * MIB, read, [180 * MIB, 844 * MIB]), (300 * MIB, Some(120 * MIB)), "to the end of the reserve");
    assert_eq!(of(300 * MIB, read, [400 * MIB, MIB]), (300 * MIB, Some(0)), "behind the end of the file");
    // A small one has as much as mappings have whose touches are seen.
    assert_eq!(of(8192, read, [0, 1024 * MIB]), (MIB, Some(MIB)));
    let written = read | libc::PROT_WRITE as u64;
    assert_eq!(of(8192, written, [0, MIB]), (1024 * MIB, Some(MIB)), "it may have been made larger");
}

#[test]
fn what_calls_ask_for_in_advance_is_counted_once_and_ends_with_the_file() {
    let asked = |calls: &[(&'static str, [u64; 4])]| {
        let mut model = TestModel::new();
        model.call_with(10, "openat", &[], 3, Some(Opened { bytes: 1000, ..a_file(7) }));
        calls.iter().for_each(|(name, arguments)| model.call(10, name, arguments, 0));
        model.named().ahead_bytes
    };
    assert_eq!(asked(&[("posix_fadvise", [3, 0, 0, 1])]), None, "it brings nothing in");
    assert_eq!(asked(&[("readahead", [3, 100, 200, 0])]), Some(200));
    assert_eq!(asked(&[("readahead", [3, 100, 200, 0]), ("posix_fadvise", [3, 200, 200, 3])]), Some(300));
    let apart = [("readahead", [3, 0, 10, 0]), ("readahead", [3, 990, 10, 0])];
    assert_eq!(asked(&apart), Some(20), "what lies between them is not asked for");
    assert_eq!(asked(&[&apart[..], &[("readahead", [3, 5, 990, 0])]].concat()), Some(1000));
    assert_eq!(asked(&[("readahead", [3, 100, 0, 0])]), Some(900), "to the end");
    // No length: up to the end.
    assert_eq!(asked(&[("posix_fadvise", [3, 900, 0, 3]), ("readahead", [3, 950, 5000, 0])]), Some(100));
    assert_eq!(asked(&[("posix_fadvise", [3, 2000, u64::MAX, 3])]), Some(0), "beyond the end");
}

#[test]
fn every_access_is_handed_out_with_its_file_its_place_and_its_way() {
    let mut model = TestModel::to(Kept::default());
    model.open(10, 3, 8);
    model.open(10, 4, 7);
    model.call(10, "read", &[4, 0, 400], 100);
    model.call(10, "read", &[4, 0, 400], -4);
    model.call(10, "read", &[4, 0, 400], 400);
    model.call(10, "pread64", &[4, 0, 64, 512], 64);
    model.call(10, "lseek", &[3, 900, libc::SEEK_SET as u64], 900);
    model.call(10, "readv", &[3, 0, 2], 30);
    model.call(10, "mmap", &[0, 0x3000, 1, libc::MAP_SHARED as u64, 3, 0x2000], 0x10_000);
    model.call(10, "posix_fadvise", &[3, 0, 0, 1], 0);
    let Kept { paths, accesses, marks } = model.0.sink;
    assert_eq!(paths, ["/data/8", "/data/7"]);
    let [of_8, of_7] = [FileId(0), FileId(1)];
    let call = |file, offset, bytes, name, asked_bytes, sequential| ObservedAccess {
        thread: 10,
        file,
        span: Span { offset, bytes },
        via: Via::Call { name, asked_bytes, sequential: Some(sequential) },
    };
    let mapping = Via::Mapping(SHARED);
    let expected = [
        call(of_7, 0, 100, "read", 400, true),
        call(of_7, 100, 400, "read", 400, true),
        call(of_7, 512, 64, "pread64", 64, false),
        call(of_8, 900, 30, "readv", 30, false),
        ObservedAccess { thread: 10, file: of_8, span: Span { offset: 0x2000, bytes: 0x3000 }, via: mapping },
    ];
    assert_eq!(accesses, expected);
    let opened = Mark::Opened { writable: false, direct: false };
    let advised = Mark::Advised(Advice::File(1));
    assert_eq!(marks, [(of_8, opened), (of_7, opened), (of_7, Mark::FailedRead), (of_8, advised)]);
}

#[test]
fn a_mapping_is_populated_if_the_kernel_populates_it() {
    let of = |flags: i32| {
        let mut model = TestModel::new();
        model.open(10, 3, 7);
        let flags = (libc::MAP_SHARED | flags) as u64;
        model.call(10, "mmap", &[0, 0x3000, 1, flags, 3, 0], 0x10_000);
        model.named().mappings[0].populate
    };
    assert!(!of(0) && of(libc::MAP_POPULATE) && of(libc::MAP_LOCKED));
    assert!(!of(libc::MAP_POPULATE | libc::MAP_NONBLOCK) && of(libc::MAP_LOCKED | libc::MAP_NONBLOCK));
}

#[test]
fn what_is_copied_right_behind_the_beginning_of_a_page_is_counted() {
    let behind = |calls: &[(&'static str, [u64; 4])]| {
        let mut model = TestModel::new();
        model.open(10, 3, 7);
        calls.iter().for_each(|(name, arguments)| model.call(10, name, arguments, arguments[2] as i64));
        model.named().under.get(schema::observation::Access::BEHIND_PAGE).copied()
    };
    let at = |address: u64| behind(&[("read", [3, address, 100, 0])]);
    assert_eq!([at(0x7000_0001), at(0x7000_0010), at(0x7000_001f)], [Some(100); 3]);
    assert_eq!([at(0x7000_0000), at(0x7000_0020), at(0x7000_0fff)], [None; 3]);
    assert_eq!(behind(&[("read", [3, 16, 100, 0]), ("pread64", [3, 4112, 20, 0]), ("read", [3, 64, 5, 0])]), Some(120));
    assert_eq!(behind(&[("readv", [3, 16, 2, 0])]), None, "where its parts go is in memory");
}

const SHARED: MappingKind = MappingKind { shared: true, writable: false, executable: false, populate: false };

#[test]
fn what_a_mapping_grows_by_is_mapped_too() {
    const MIB: u64 = 1 << 20;
    let mut model = TestModel::to(Kept::default());
    model.open(10, 3, 7);
    model.call(10, "mmap", &[0, MIB, 1, libc::MAP_SHARED as u64, 3, 4096], 0x1000_0000);
    model.call(10, "mremap", &[0x1000_0000, MIB, 2 * MIB, 1], 0x2000_0000);
    // Shorter; then from its second half on; a second mapping of the same; and of no file.
    model.call(10, "mremap", &[0x2000_0000, 2 * MIB, MIB, 1], 0x2000_0000);
    model.call(10, "mremap", &[0x2008_0000, MIB / 2, MIB, 1], 0x3000_0000);
    model.call(10, "mremap", &[0x2000_0000, 0, MIB / 2, 1], 0x4000_0000);
    model.call(10, "mremap", &[0x5000_0000, MIB, 2 * MIB, 1], 0x6000_0000);
    let seen: Vec<(u64, u64, Via)> =
        model.0.sink.accesses.iter().map(|it| (it.span.offset, it.span.bytes, it.via)).collect();
    let expected = [
        (4096, MIB, Via::Mapping(SHARED)),
        (4096 + MIB, MIB, Via::Growth(SHARED)),
        (4096 + MIB, MIB / 2, Via::Growth(SHARED)),
        (4096, MIB / 2, Via::Mapping(SHARED)),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_mapping_that_grew_is_one_mapping_of_all_its_bytes() {
    let mut model = TestModel::new();
    model.open(10, 3, 7);
    model.call(10, "mmap", &[0, 1 << 20, 1, libc::MAP_SHARED as u64, 3, 0], 0x1000_0000);
    model.call(10, "mremap", &[0x1000_0000, 1 << 20, 2 << 20, 1], 0x2000_0000);
    let mapping = MappingCount { shared: true, count: 1, bytes: 2 << 20, ..MappingCount::default() };
    assert_eq!(model.named().mappings, [mapping]);
}

#[test]
fn a_transfer_at_an_offset_in_memory_has_no_order_that_is_known() {
    let mut model = TestModel::to(Kept::default());
    model.open(10, 3, 8);
    model.call(10, "sendfile", &[5, 3, 0, 400], 400);
    model.call(10, "sendfile", &[5, 3, 0x7fff_0000, 400], 400);
    let incomplete = model.0.program.incomplete.len();
    let orders = model.0.sink.accesses.iter().map(|it| match it.via {
        Via::Call { sequential, .. } => sequential,
        Via::Mapping(_) | Via::Growth(_) | Via::Touch => None,
    });
    assert_eq!((orders.collect::<Vec<_>>(), incomplete), (vec![Some(true), None], 1));
}

#[test]
fn a_read_that_found_no_byte_has_no_place_that_is_missing() {
    let incomplete = |delivered: i64| {
        let mut model = TestModel::new();
        model.open(10, 3, 7);
        model.call(10, "sendfile", &[5, 3, 0x7fff_0000, 400], delivered);
        model.0.program.incomplete.len()
    };
    assert_eq!([0, 400].map(incomplete), [0, 1]);
}

/// Offsets of what was read; nothing where they were not seen.
fn offsets(model: &TestModel<Kept>) -> Vec<Option<u64>> {
    let offset = |it: &ObservedAccess| match it.via {
        Via::Call { sequential, .. } => sequential.map(|_| it.span.offset),
        Via::Mapping(_) | Via::Growth(_) | Via::Touch => None,
    };
    model.0.sink.accesses.iter().map(offset).collect()
}

#[test]
fn a_write_at_the_position_moves_it_for_the_reads_that_follow() {
    let mut model = TestModel::to(Kept::default());
    model.call_with(10, "openat", &[], 3, Some(Opened { flags: libc::O_RDWR, ..a_file(8) }));
    model.open(10, 4, 7);
    model.call(10, "read", &[3, 0, 100], 100);
    model.call(10, "write", &[3, 0, 1000], 1000);
    model.call(10, "read", &[3, 0, 100], 100);
    model.call(10, "dup", &[3], 5);
    model.call(10, "writev", &[5, 0, 2], 30);
    model.call(10, "write", &[3, 0, 1000], -28);
    model.call(10, "pwritev2", &[3, 0, 2, 9000], 500);
    model.call(10, "read", &[3, 0, 100], 100);
    // What goes from one file to the other moves both.
    model.call(10, "sendfile", &[3, 4, 0, 4000], 4000);
    model.call(10, "copy_file_range", &[4, 0, 3, 0, 50], 50);
    model.call(10, "splice", &[4, 0, 3, 0x7fff_0000, 7], 7);
    model.call(10, "read", &[3, 0, 100], 100);
    let expected = [0, 1100, 1230, 0, 4000, 4050, 5380];
    assert_eq!(offsets(&model), expected.map(Some));
    assert!(!model.0.has_position(10, 3) && model.0.has_position(10, 4));
}

#[test]
fn after_a_write_that_may_append_the_position_is_not_known_until_the_next_seek() {
    for appends in [libc::O_APPEND, 0] {
        let mut model = TestModel::to(Kept::default());
        let flags = libc::O_RDWR | appends;
        model.call_with(10, "openat", &[], 3, Some(Opened { flags, ..a_file(8) }));
        model.call(10, "read", &[3, 0, 100], 100);
        model.call(10, "write", &[3, 0, 0], 0);
        model.call(10, "read", &[3, 0, 100], 100);
        match appends {
            0 => model.call(10, "pwritev2", &[3, 0, 2, u64::MAX], 10),
            _ => model.call(10, "write", &[3, 0, 10], 10),
        }
        model.call(10, "read", &[3, 0, 100], 100);
        model.call(10, "pread64", &[3, 0, 100, 40], 100);
        model.call(10, "read", &[3, 0, 100], 100);
        model.call(10, "lseek", &[3, 50, libc::SEEK_SET as u64], 50);
        model.call(10, "read", &[3, 0, 100], 100);
        model.call(10, "fcntl", &[3, libc::F_SETFL as u64, 0], 0);
        model.call(10, "write", &[3, 0, 10], 10);
        model.call(10, "read", &[3, 0, 100], 100);
        assert_eq!(offsets(&model), [Some(0), Some(100), None, Some(40), None, Some(50), Some(160)]);
        assert_eq!(model.0.program.incomplete.len(), 1);
    }
}

#[test]
fn writes_that_are_missing_are_said_where_they_move_what_is_read() {
    for (flags, read, writes, is_said) in [
        (libc::O_RDWR, "read", 9, true),
        (libc::O_RDWR, "read", 0, false),
        (libc::O_RDWR, "pread64", 9, false),
        (libc::O_RDONLY, "read", 9, false),
    ] {
        let mut model = TestModel::new();
        model.call_with(10, "openat", &[], 3, Some(Opened { flags, ..a_file(7) }));
        model.call(10, read, &[3, 0, 100, 0], 100);
        let Model { sink, program, .. } = &mut model.0;
        program.lacks_writes(writes, sink);
        let incomplete = model.finish().incomplete;
        assert_eq!(!incomplete.is_empty(), is_said, "{flags} {read} {writes}: {incomplete:?}");
    }
}

#[test]
fn a_position_that_was_looked_up_is_where_the_call_ended() {
    let mut model = TestModel::to(Kept::default());
    model.call_with(10, "openat", &[], 3, Some(Opened { flags: libc::O_RDWR, ..a_file(8) }));
    let at = |position| Some(Opened { position, ..a_file(8) });
    model.call_with(10, "read", &[3, 0, 100], 100, at(100));
    model.call_with(10, "read", &[3, 0, 100], 100, at(1200));
    model.call_with(10, "sendfile", &[5, 3, 0, 100], 100, at(2300));
    // At its end; and of another file, which took the number meanwhile.
    model.call_with(10, "read", &[3, 0, 100], 0, at(3000));
    model.call_with(10, "read", &[3, 0, 100], 50, Some(a_file(9)));
    assert_eq!(offsets(&model), [0, 1100, 2200, 3000, 3000].map(Some));
}

#[test]
fn each_first_touch_of_a_page_of_an_exact_mapping_is_one_access_in_order() {
    const MIB: u64 = 1 << 20;
    let mut model = TestModel::to(Kept::default());
    let exact = |bytes| Opened { bytes, ..a_file(9) };
    model.call_with(10, "openat", &[], 3, Some(exact(MIB + 4096 + 100)));
    model.open(10, 4, 7);
    let touch = |address| Event::Touched { thread: 10, address };
    let shared = libc::MAP_SHARED as u64;
    model.call(10, "mmap", &[0, MIB + 8192, 1, shared, 3, 0], 0x1000_0000);
    model.call(10, "mmap", &[0, MIB, 1, shared, 4, 0], 0x2000_0000);
    model.call(10, "mmap", &[0, MIB / 2, 1, shared, 3, 0], 0x3000_0000);
    // The second page, the first one, the first once more, the last one.
    for address in [0x1000_1234, 0x1000_0fff, 0x1000_0000, 0x1010_1000] {
        model.0.receive(touch(address));
    }
    // Another file, a small mapping, and nowhere.
    for address in [0x2000_0000, 0x3000_0000, 0x4000_0000] {
        model.0.receive(touch(address));
    }
    // It moves: what was touched stays so. Mapped anew it is not.
    model.call(10, "mremap", &[0x1000_0000, MIB + 8192, MIB + 8192, 1], 0x5000_0000);
    model.0.receive(touch(0x5000_0000));
    model.0.receive(touch(0x5000_2000));
    model.call(10, "munmap", &[0x5000_0000, MIB + 8192], None);
    model.0.receive(touch(0x5000_3000));
    model.call(10, "mmap", &[0, MIB, 1, shared, 3, 4096], 0x5000_0000);
    model.0.receive(touch(0x5000_0000));
    let touches = model.0.sink.accesses.iter().filter(|it| it.via == Via::Touch);
    let seen: Vec<(usize, u64, u64)> = touches.map(|it| (it.file.0, it.span.offset, it.span.bytes)).collect();
    let last = MIB + 4096;
    assert_eq!(seen, [(0, 4096, 4096), (0, 0, 4096), (0, last, 100), (0, 8192, 4096), (0, 4096, 4096)]);
}

#[test]
fn a_page_that_was_cut_off_and_is_mapped_again_is_touched_again() {
    const MIB: u64 = 1 << 20;
    let mut model = TestModel::to(Kept::default());
    model.call_with(10, "openat", &[], 3, Some(Opened { bytes: 2 * MIB, ..a_file(9) }));
    model.call(10, "mmap", &[0, 2 * MIB, 1, libc::MAP_SHARED as u64, 3, 0], 0x1000_0000);
    [0, MIB].into_iter().for_each(|at| model.touch(10, 0x1000_0000 + at));
    model.call(10, "mremap", &[0x1000_0000, 2 * MIB, MIB, 1], 0x1000_0000);
    model.call(10, "mremap", &[0x1000_0000, MIB, 2 * MIB, 1], 0x1000_0000);
    [0, MIB].into_iter().for_each(|at| model.touch(10, 0x1000_0000 + at));
    assert_eq!(touches(&model), 3);
}

/// Two mappings of the pages of one file, 20 pages of the first of which were touched: by process 10, and by 11, its child.
fn mapped_twice() -> TestModel<Kept> {
    const MIB: u64 = 1 << 20;
    let mut model = TestModel::to(Kept::default());
    model.call_with(10, "openat", &[], 3, Some(Opened { bytes: MIB, ..a_file(9) }));
    model.call(10, "mmap", &[0, MIB, 1, libc::MAP_SHARED as u64, 3, 0], 0x1000_0000);
    model.0.receive(Event::Began { thread: 11, process: 11, parent: Some(10), shares_files: false });
    (0..20).for_each(|page| model.touch(10, 0x1000_0000 + page * 4096));
    model
}

impl<S: Sink> TestModel<S> {
    fn touch(&mut self, thread: i32, address: u64) {
        self.0.receive(Event::Touched { thread, address });
    }
}

fn touches(model: &TestModel<Kept>) -> usize {
    model.0.sink.accesses.iter().filter(|it| it.via == Via::Touch).count()
}

fn unseen(model: &TestModel<Kept>) -> usize {
    model.0.sink.marks.iter().filter(|it| it.1 == Mark::TouchedUnseen).count()
}

#[test]
fn what_comes_into_a_page_table_with_the_page_beside_it_may_be_touched_unseen() {
    let mut model = mapped_twice();
    // The first 16 pages come together. One of them faults nevertheless; the page behind the touched ones brings in four.
    [0, 1, 20].into_iter().for_each(|page| model.touch(11, 0x1000_0000 + page * 4096));
    assert_eq!((touches(&model), unseen(&model)), (23, 0));
    model.call(11, "munmap", &[0x1000_0000, 8 * 4096], None);
    assert_eq!(unseen(&model), 6);
    model.0.receive(Event::Ended { thread: 11 });
    assert_eq!(unseen(&model), 14 + 4);
    model.0.receive(Event::Ended { thread: 10 });
    assert_eq!(unseen(&model), 14 + 4);
}

#[test]
fn what_a_call_has_read_since_it_was_mapped_may_be_touched_unseen_beside_a_page_that_faults() {
    const MIB: u64 = 1 << 20;
    let read = |before: bool, direct: i32| {
        let mut model = TestModel::to(Kept::default());
        model.call_with(10, "openat", &[], 3, Some(Opened { bytes: MIB, flags: direct, ..a_file(9) }));
        let calls = |model: &mut TestModel<Kept>| {
            model.call(10, "pread64", &[3, 0, 8 * 4096, 0], 8 * 4096);
            model.call(10, "pread64", &[3, 0, 100, 40 * 4096 - 1], 100);
            model.call(10, "pread64", &[3, 0, 100, MIB - 100], 0);
        };
        if before {
            calls(&mut model);
        }
        model.call(10, "mmap", &[0, MIB, 1, libc::MAP_SHARED as u64, 3, 0], 0x1000_0000);
        if !before {
            calls(&mut model);
        }
        // Of the first 8 pages one is seen later, as one that another mapping brought in may be; two of the third 16 were read.
        [3, 5, 35, 255].into_iter().for_each(|page| model.touch(10, 0x1000_0000 + page * 4096));
        model.0.receive(Event::Ended { thread: 10 });
        (touches(&model), unseen(&model))
    };
    assert_eq!(read(false, 0), (4, 6 + 2));
    assert_eq!(read(true, 0), (4, 0), "they were evicted when it was mapped");
    assert_eq!(read(false, libc::O_DIRECT), (4, 0));
}

#[test]
fn when_a_file_is_mapped_anew_only_pages_that_a_page_table_has_may_be_touched_unseen() {
    for (kind, expected) in [(libc::PROT_READ, 0), (libc::PROT_READ | libc::PROT_WRITE, 15)] {
        let mut model = mapped_twice();
        // The pages go with their mappings, but for those that may have been written to: they are not evicted.
        let arguments = [0, 1 << 20, kind as u64, libc::MAP_SHARED as u64, 3, 0];
        model.call(10, "mmap", &arguments, 0x2000_0000);
        (0..10).for_each(|page| model.touch(10, 0x2000_0000 + page * 4096));
        model.call(10, "munmap", &[0x2000_0000, 1 << 20], None);
        model.call(10, "munmap", &[0x1000_0000, 1 << 20], None);
        let before = unseen(&model);
        model.call(11, "mmap", &[0, 1 << 20, 1, libc::MAP_SHARED as u64, 3, 0], 0x3000_0000);
        model.touch(11, 0x3000_0000);
        model.0.receive(Event::Ended { thread: 11 });
        assert_eq!(unseen(&model) - before, expected);
    }
}

#[test]
fn a_small_mapping_that_becomes_large_is_seen_page_by_page_from_then_on() {
    let mut model = TestModel::to(Kept::default());
    model.call_with(10, "openat", &[], 3, Some(Opened { bytes: 1 << 21, ..a_file(9) }));
    model.call(10, "mmap", &[0, 4096, 1, libc::MAP_SHARED as u64, 3, 0], 0x1000_0000);
    model.touch(10, 0x1000_0000);
    assert_eq!(touches(&model), 0);
    model.call(10, "mremap", &[0x1000_0000, 4096, 1 << 20, 1], 0x2000_0000);
    (0..9).for_each(|page| model.touch(10, 0x2000_0000 + page * 4096));
    assert_eq!((touches(&model), unseen(&model)), (9, 0));
}

#[test]
fn a_descriptor_that_another_process_gave_is_read_where_it_was() {
    let mut model = TestModel::to(Kept::default());
    model.call_with(10, "recvmsg", &[5, 0x7fff_0000], 6, Some(Opened { position: 500, ..a_file(7) }));
    model.call_with(10, "pidfd_getfd", &[5, 3], 7, Some(a_file(8)));
    model.call(10, "read", &[6, 0, 100], 100);
    model.call(10, "pread64", &[7, 0, 100, 20], 100);
    assert_eq!(offsets(&model), [Some(500), Some(20)]);
    assert_eq!(model.0.sink.marks, []);
}

/// What two processes read by turns of one open file that the second one was given.
fn given(with: Option<(i32, i32)>) -> TestModel<Kept> {
    let mut model = TestModel::to(Kept::default());
    model.0.receive(Event::Began { thread: 11, process: 11, parent: Some(10), shares_files: false });
    model.open(10, 3, 7);
    model.call(10, "read", &[3, 0, 100], 100);
    model.call_with(11, "recvmsg", &[5, 0x7fff_0000], 6, Some(Opened { position: 100, ..a_file(7) }));
    model.0.receive(Event::Shared { thread: 11, descriptor: 6, with });
    model.call(11, "read", &[6, 0, 30], 30);
    model.call(10, "read", &[3, 0, 100], 100);
    model
}

#[test]
fn who_gives_a_descriptor_to_another_process_shares_its_position_with_it() {
    assert_eq!(offsets(&given(Some((10, 3)))), [0, 100, 130].map(Some));
    // The opening of that one was not seen; what is read through it then begins where the other ended.
    let mut model = given(Some((10, 4)));
    model.call(10, "read", &[4, 0, 100], 100);
    assert_eq!(offsets(&model), [0, 100, 100, 130].map(Some));
    // The same where the first call that reads through it shows that it was given.
    let mut model = TestModel::to(Kept::default());
    model.0.receive(Event::Began { thread: 11, process: 11, parent: Some(10), shares_files: false });
    model.open(10, 3, 7);
    model.0.receive(Event::Shared { thread: 11, descriptor: 6, with: Some((10, 3)) });
    model.call_with(11, "read", &[6, 0, 30], 30, Some(Opened { position: 30, ..a_file(7) }));
    model.call(10, "read", &[3, 0, 100], 100);
    assert_eq!(offsets(&model), [0, 30].map(Some));
    // Of another file meanwhile.
    let mut model = given(None);
    model.open(10, 3, 8);
    model.call_with(11, "recvmsg", &[5, 0x7fff_0000], 6, Some(Opened { position: 50, ..a_file(7) }));
    model.0.receive(Event::Shared { thread: 11, descriptor: 6, with: Some((10, 3)) });
    model.call(11, "read", &[6, 0, 30], 30);
    assert_eq!(offsets(&model).last(), Some(&Some(50)));
}

#[test]
fn where_it_is_not_known_who_shares_a_position_only_reads_after_which_it_was_looked_up_have_an_offset() {
    let mut model = given(None);
    assert_eq!(offsets(&model), [Some(0), None, None]);
    assert!(!model.0.has_position(10, 3) && !model.0.has_position(11, 6));
    model.call(10, "lseek", &[3, 0, 0], 0);
    model.call(10, "read", &[3, 0, 100], 100);
    model.call(10, "pread64", &[3, 0, 100, 70], 100);
    model.call_with(10, "read", &[3, 0, 100], 100, Some(Opened { position: 400, ..a_file(7) }));
    model.call(11, "read", &[6, 0, 100], 100);
    assert_eq!(offsets(&model)[3..], [None, Some(70), Some(300), None]);
}

#[test]
fn a_position_that_another_thread_may_have_moved_meanwhile_is_not_known() {
    let mut model = TestModel::to(Kept::default());
    let both = Opened { flags: libc::O_RDWR, ..a_file(7) };
    model.call_with(10, "openat", &[], 3, Some(both.clone()));
    let looked_up = |position: u64| Some(Opened { position, ..both.clone() });
    model.beside(10, "read", &[3, 0, 100], 100, looked_up(200));
    model.call_with(10, "read", &[3, 0, 100], 100, looked_up(300));
    // The same of a descriptor whose opening was not seen.
    model.beside(10, "read", &[5, 0, 100], 100, looked_up(200));
    assert_eq!(offsets(&model), [None, Some(200), None]);
    // Of one that is only read it is known where both ended, if both are reads.
    model.0.receive(Event::Began { thread: 11, process: 10, parent: Some(10), shares_files: true });
    model.open(10, 4, 8);
    model.beside(10, "read", &[4, 0, 100], 30, None);
    model.beside(11, "read", &[4, 0, 100], 70, None);
    model.call(10, "read", &[4, 0, 100], 5);
    assert_eq!(offsets(&model)[3..], [None, None, Some(100)]);
    model.beside(10, "read", &[4, 0, 100], 30, None);
    model.beside(11, "lseek", &[4, 500, 0], 500, None);
    assert!(!model.0.has_position(10, 4));
    model.call_with(10, "read", &[4, 0, 100], 5, Some(Opened { position: 535, ..a_file(8) }));
    assert_eq!(offsets(&model)[6..], [None, Some(530)]);
}

#[test]
fn a_position_that_a_thread_may_have_moved_when_it_ended_is_not_known() {
    let mut model = TestModel::to(Kept::default());
    model.open(10, 3, 7);
    let open = model.0.open_file(10, 3).flatten().unwrap();
    assert_eq!((model.0.open_file(10, 9), model.0.has_position(10, 3)), (None, true));
    model.0.receive(Event::Unplaced { open });
    assert!(!model.0.has_position(10, 3));
    // The same where a program is executed and its threads are gone.
    for (position, is_known) in [(0, true), (50, false)] {
        let mut model = TestModel::to(Kept::default());
        model.open(10, 3, 7);
        let files = vec![(3, Opened { position, ..a_file(7) })];
        let (path, is_go, runs_as_other) = ("/bin/a".to_string(), false, false);
        model.0.receive(Event::Executed { thread: 10, path, is_go, runs_as_other, files });
        assert_eq!(model.0.has_position(10, 3), is_known);
    }
}

#[test]
fn where_only_the_ends_of_calls_are_recorded_reads_at_a_shared_position_are_said_to_be_in_their_order() {
    let remarks = |is_recorded: bool, at: &[(i32, &[u64])]| {
        let mut model = TestModel::to(Kept::default());
        model.0.is_recorded = is_recorded;
        model.0.receive(Event::Began { thread: 11, process: 10, parent: Some(10), shares_files: true });
        model.open(10, 3, 7);
        for (thread, arguments) in at {
            model.call(*thread, if arguments.len() == 3 { "read" } else { "pread64" }, arguments, 100);
        }
        model.0.program.remarks.len()
    };
    let (read, elsewhere): (&[u64], &[u64]) = (&[3, 0, 100], &[3, 0, 100, 70]);
    assert_eq!(remarks(true, &[(10, read), (10, read), (11, read)]), 1);
    assert_eq!(remarks(false, &[(10, read), (10, read), (11, read)]), 0);
    assert_eq!(remarks(true, &[(10, read), (10, read)]), 0, "of one thread");
    assert_eq!(remarks(true, &[(10, read), (11, elsewhere)]), 0, "at an offset of its own");
    assert_eq!(remarks(true, &[(10, elsewhere), (11, read)]), 0, "after a read elsewhere");
}

#[test]
fn pages_of_a_mapping_that_is_rearranged_are_said_not_to_be_known() {
    let mut model = TestModel::new();
    model.open(10, 3, 7);
    model.call(10, "mmap", &[0, 1 << 20, 1, 1, 3, 0], 0x10_0000);
    assert!(model.0.program.incomplete.is_empty());
    model.call(10, "remap_file_pages", &[0x90_0000, 4096, 0, 9, 0], 0);
    assert!(model.0.program.incomplete.is_empty(), "nothing of a file lies there");
    model.call(10, "remap_file_pages", &[0x10_0000, 4096, 0, 9, 0], 0);
    assert_eq!(model.0.program.incomplete.len(), 1);
}

#[test]
fn a_descriptor_for_looking_alone_opens_nothing() {
    let mut model = TestModel::new();
    model.call_with(10, "openat", &[], 3, Some(Opened { flags: libc::O_PATH, ..a_file(7) }));
    model.open(10, 4, 7);
    model.call(10, "read", &[4, 0, 100], 100);
    assert_eq!(model.named().opens, 1);
}

#[test]
fn no_calls_in_any_order_can_make_it_fail() {
    let (mut inputs, mut failed) = (0, Vec::new());
    for seed in Effort::of(200).seeds() {
        inputs += 1;
        match catch_unwind(|| any_calls(&mut Random(seed))) {
            Ok(files) if files <= FILES_MAX => {}
            _ => failed.push(seed),
        }
    }
    println!("events of a watched command: {inputs} inputs, {} panics or too many files", failed.len());
    assert!(failed.is_empty(), "at the seeds {failed:?}");
}

/// How many files were observed.
fn any_calls(random: &mut Random) -> usize {
    let mut model = TestModel::new();
    let small = random.below(2) == 0;
    for _ in 0..random.below(60) {
        let mut any = || random.below(u64::MAX);
        let (mut arguments, mut result) = ([(); 6].map(|()| any()), any() as i64);
        if small {
            arguments = arguments.map(|it| it % 16);
            result = result.rem_euclid(16);
        }
        let (number, odd) = (any() % 12, any() % 2 == 1);
        let (thread, at) = (8 + (any() % 6) as i32, any() as usize % CALLS.len());
        let opened = odd.then(|| Opened { flags: any() as i32, position: arguments[0], ..a_file(number) });
        let called =
            Called { thread, call: &CALLS[at], arguments, result: odd.then_some(result), opened, is_beside: !odd };
        model.0.receive(Event::Called(called));
        match number {
            0 => model.0.receive(Event::Began { thread, process: 10, parent: Some(10), shares_files: odd }),
            1 => model.0.receive(Event::Began { thread, process: thread, parent: Some(10), shares_files: odd }),
            4 => model.0.receive(Event::Touched { thread, address: arguments[0] }),
            5 => {
                let with = odd.then_some((thread - 1, arguments[0] as i32));
                model.0.receive(Event::Shared { thread, descriptor: result as i32, with });
            }
            6 => model.0.receive(Event::Hidden { thread, descriptor: odd.then_some(result as i32) }),
            2 if thread != 10 => model.0.receive(Event::Ended { thread }),
            3 => model.0.receive(Event::Executed {
                thread,
                path: String::new(),
                is_go: odd,
                runs_as_other: odd,
                files: vec![(result as i32, a_file(7))],
            }),
            _ => {}
        }
    }
    model.finish().files.len()
}
