//! What only the worker in Go does, with every Go of this machine that fits. That it does what every worker must stands in
//! `faultline/tests/conformance`.

use std::{fs::File, path::Path, process::Command, sync::atomic::AtomicBool, time::Duration};

use lab::{
    link::{Link, Trouble},
    runtime::go,
};
use schema::{
    Arm, Consume, Descriptor, Span, Workload,
    leftover::FileIdentity,
    protocol::{Done, Hold, Job, Permit, Tally},
};

static NEVER: AtomicBool = AtomicBool::new(false);
const MIB: u64 = 1 << 20;
const LIMIT: Duration = Duration::from_secs(60);

/// Built once for all tests of a build, those of the command line too, and kept for the next.
fn command(go: &go::Toolchain, arm: &str) -> Command {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faultline");
    go::worker_of(go, &format!("go/{arm}").parse().unwrap(), &cache).unwrap()
}

/// Runs `test` with each Go that fits; says so when there is none.
fn with_each_go(test: impl Fn(&go::Toolchain)) {
    let fitting: Vec<go::Toolchain> = go::all().into_iter().filter(|go| go.fits().is_ok()).collect();
    if fitting.is_empty() {
        println!("skipped: no Go that fits on this machine");
    }
    fitting.iter().for_each(test);
}

fn start(go: &go::Toolchain, arm: &str) -> Link<'static> {
    Link::start(command(go, arm), &NEVER).unwrap().0
}

fn job(arm: &str, file: &Path, bytes: u64) -> Job {
    let arm: Arm = format!("go/{arm}").parse().unwrap();
    Job {
        consume: Consume::Sum,
        block_bytes: 4096,
        ops: bytes.div_ceil(4096).max(1),
        ..Job::new(&arm, file.to_str().unwrap(), Span { offset: 0, bytes })
    }
}

/// As `job`, on a file that it may write. The file stays open as long as the tests run.
fn writing(arm: &str, file: &Path, bytes: u64) -> Job {
    let open: &'static File = Box::leak(Box::new(File::options().read(true).write(true).open(file).unwrap()));
    let (device, inode) = sys::folder::identity(open).unwrap();
    let permit = Permit { execute: false, write: Some(FileIdentity { device, inode }) };
    Job { permit, workload: Workload::Overwrite, ..job(arm, &sys::folder::path_of(open), bytes) }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn done(link: &mut Link, job: &Job) -> Result<Done, Trouble> {
    link.prepare(job)?;
    link.go(job.pass, LIMIT)
}

fn tally(link: &mut Link, job: &Job) -> Result<Tally, Trouble> {
    done(link, job).map(|it| it.tally)
}

#[test]
fn a_worker_says_which_go_it_is_and_has_the_processors_that_its_arm_asks_for() {
    with_each_go(|go| {
        for (arm, flag) in [("mmap+procs=1", "GOMAXPROCS=1"), ("mmap+procs=3", "GOMAXPROCS=3"), ("mmap", "GOGC=100")] {
            let (link, hello) = Link::start(command(go, arm), &NEVER).unwrap();
            assert_eq!(hello.runtime, format!("go {}", go.version));
            assert!(hello.about["flags"].split(' ').any(|it| it == flag), "{arm}: {:?}", hello.about);
            assert_eq!(Path::new(&hello.about["home"]), go.home);
            assert!(hello.about["vm"].starts_with("gc linux/"), "{:?}", hello.about);
            link.bye().unwrap();
        }
    });
}

#[test]
fn a_loop_is_timed_by_itself_where_a_method_has_one() {
    let folder = folder();
    let file = folder.path().join("file");
    std::fs::write(&file, vec![b'\n'; MIB as usize]).unwrap();
    with_each_go(|go| {
        for (arm, has_one) in [("pread", true), ("mmap", true), ("scanner", false)] {
            let mut link = start(go, arm);
            let timed = Job { consume: Consume::Lines, times_its_loop: true, ..job(arm, &file, MIB) };
            let done = done(&mut link, &timed).unwrap();
            assert_eq!(done.seen.contains_key("loop_bytes_per_s"), has_one, "{arm}: {:?}", done.seen);
        }
    });
}

#[test]
fn what_the_user_has_set_for_other_programs_in_go_does_not_reach_a_worker() {
    with_each_go(|go| {
        let command = command(go, "mmap");
        for name in ["GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG"] {
            assert!(command.get_envs().any(|it| it == (name.as_ref(), None)), "{name}");
        }
    });
}

#[test]
fn a_truncated_mapping_is_named_whichever_goroutine_meets_it_and_the_worker_lives_on() {
    let folder = folder();
    let (file, other) = (folder.path().join("file"), folder.path().join("other"));
    std::fs::write(&other, vec![1; 4096]).unwrap();
    with_each_go(|go| {
        for arm in ["mmap", "mmap+copy", "mmap+syscall", "mmap+populate-read", "mmap+random"] {
            let mut link = start(go, arm);
            for (threads, descriptor) in
                [(1, Descriptor::PerThread), (4, Descriptor::PerThread), (4, Descriptor::Shared)]
            {
                for consume in [Consume::Touch, Consume::Sum, Consume::Lines, Consume::Copy, Consume::DecodeLines] {
                    std::fs::write(&file, vec![1; MIB as usize]).unwrap();
                    let held = Job { hold: Hold::Warm, threads, descriptor, consume, ..job(arm, &file, MIB) };
                    match link.prepare(&held) {
                        Err(Trouble::Unavailable(why)) => {
                            println!("skipped: {arm}: {why}");
                            continue;
                        }
                        prepared => prepared.unwrap(),
                    }
                    File::options().write(true).open(&file).unwrap().set_len(MIB - 4096).unwrap();
                    let failed = link.go(1, LIMIT);
                    let says = |why: &str| why.contains("failed during work") && why.contains("truncated");
                    assert!(
                        matches!(&failed, Err(Trouble::Failed(why)) if says(why)),
                        "{arm} {threads} {descriptor:?} {consume}: {failed:?}"
                    );
                    assert!(tally(&mut link, &job("mmap", &other, 4096)).is_ok());
                }
            }
        }
    });
}

#[test]
fn a_store_to_a_file_that_became_shorter_is_named_too() {
    let folder = folder();
    let file = folder.path().join("file");
    with_each_go(|go| {
        for workload in [Workload::Overwrite, Workload::Update] {
            std::fs::write(&file, vec![1; MIB as usize]).unwrap();
            let mut link = start(go, "mmap-store");
            let held = Job { workload, hold: Hold::Warm, ..writing("mmap-store", &file, MIB) };
            link.prepare(&held).unwrap();
            File::options().write(true).open(&file).unwrap().set_len(4096).unwrap();
            let failed = link.go(1, LIMIT);
            assert!(
                matches!(&failed, Err(Trouble::Failed(why)) if why.contains("truncated")),
                "{workload}: {failed:?}"
            );
        }
    });
}

#[test]
fn what_has_one_position_or_writes_has_one_thread() {
    let folder = folder();
    let file = folder.path().join("file");
    std::fs::write(&file, vec![1; MIB as usize]).unwrap();
    with_each_go(|go| {
        let mut link = start(go, "read");
        for (arm, words) in [("read", "one position"), ("bufio", "one position"), ("scanner", "one thread")] {
            let shared = Job { threads: 2, descriptor: Descriptor::Shared, ..job(arm, &file, MIB) };
            let refused = link.prepare(&Job { consume: Consume::Lines, ..shared });
            assert!(matches!(&refused, Err(Trouble::Unavailable(why)) if why.contains(words)), "{refused:?}");
        }
        for arm in ["readat", "pread", "mmap"] {
            let shared = Job { threads: 5, descriptor: Descriptor::Shared, ..job(arm, &file, MIB) };
            let alone = Job { threads: 1, ..shared.clone() };
            let [shared, alone] = [shared, alone].map(|it| tally(&mut link, &it).unwrap().checksum);
            assert_eq!(shared, alone, "{arm}");
        }
    });
}

#[test]
fn lines_of_a_scanner_are_the_ends_of_lines_however_long_they_are_and_wherever_the_text_or_the_pass_ends() {
    let folder = folder();
    let file = folder.path().join("file");
    let long = [b"x".repeat(200_000), b"\ny\n".to_vec()].concat();
    let texts: [&[u8]; 8] = [b"\n", b"x", b"x\n", b"x\ny", b"\r\n\r\n", b"x\r\ny\r", b"\n\n\nz", &long];
    with_each_go(|go| {
        let mut link = start(go, "scanner");
        for text in texts {
            std::fs::write(&file, text).unwrap();
            let bytes = text.len() as u64;
            let ends = text.iter().filter(|&&it| it == b'\n').count();
            for consume in [Consume::Lines, Consume::DecodeLines] {
                // More blocks than the file has: it is read once more.
                for times in [1, 3] {
                    let job = Job { consume, ops: times * bytes.div_ceil(4096), ..job("scanner", &file, bytes) };
                    let found = tally(&mut link, &job).unwrap();
                    assert_eq!(found.checksum, format!("{:016x}", ends * times as usize), "{bytes} bytes {consume}");
                    assert_eq!(found.bytes, bytes * times);
                }
            }
        }
    });
}

#[test]
fn what_the_collector_did_is_said_and_a_pass_without_strings_gives_it_nothing_to_do() {
    let folder = folder();
    let file = folder.path().join("file");
    std::fs::write(&file, b"a line of text\n".repeat(1 << 20)).unwrap();
    let bytes = 15 << 20;
    with_each_go(|go| {
        let collections = |arm: &str, consume| {
            let mut link = start(go, arm);
            let done = done(&mut link, &Job { consume, hold: Hold::Warm, ..job(arm, &file, bytes) }).unwrap();
            ["collections", "collection_ns"].map(|name| *done.seen[name].value().unwrap())
        };
        for arm in ["read", "readat", "pread", "bufio", "mmap", "mmap+copy"] {
            assert_eq!(collections(arm, Consume::Sum), [0.0, 0.0], "{arm}");
        }
        for arm in ["scanner", "mmap"] {
            let [count, ns] = collections(arm, Consume::DecodeLines);
            assert!(count > 0.0 && ns > 0.0, "{arm}: {count} {ns}");
        }
    });
}

#[test]
fn what_a_worker_reads_or_writes_by_is_there_before_the_clock_starts() {
    let folder = folder();
    let file = folder.path().join("file");
    with_each_go(|go| {
        for (arm, workload) in [
            ("readat", Workload::Scan),
            ("bufio", Workload::Scan),
            ("pwrite", Workload::Overwrite),
            ("pwrite", Workload::Update),
        ] {
            std::fs::write(&file, vec![1; 16 * MIB as usize]).unwrap();
            let mut link = start(go, arm);
            let whole = Job { workload, block_bytes: 16 * MIB, ops: 1, ..writing(arm, &file, 16 * MIB) };
            let faults = done(&mut link, &whole).unwrap().usage.minor_faults;
            assert!(faults < 2000, "{arm} {workload}: {faults} faults, where a block has 4096 pages");
        }
    });
}

#[test]
fn a_file_that_is_reached_by_a_link_is_not_written() {
    let folder = folder();
    let (file, link_to) = (folder.path().join("data"), folder.path().join("link"));
    std::fs::write(&file, vec![1; 65_536]).unwrap();
    std::os::unix::fs::symlink(&file, &link_to).unwrap();
    with_each_go(|go| {
        let mut link = start(go, "pwrite");
        for arm in ["pwrite", "mmap-store"] {
            // To the right file, for now: it could be another one at the next look.
            let by_link = Job { file: link_to.to_str().unwrap().into(), ..writing(arm, &file, 65_536) };
            let refused = link.prepare(&by_link);
            assert!(matches!(refused, Err(Trouble::Failed(_))), "{arm}: {refused:?}");
        }
        assert!(std::fs::read(&file).unwrap() == [1; 65_536]);
    });
}

#[test]
fn a_worker_that_is_killed_or_crashes_is_a_failure_in_words() {
    let folder = folder();
    let file = folder.path().join("file");
    std::fs::write(&file, vec![1; MIB as usize]).unwrap();
    with_each_go(|go| {
        for (signal, words) in [("-KILL", "SIGKILL"), ("-SEGV", "ended with status 2; its last output")] {
            let mut link = start(go, "read");
            link.prepare(&job("read", &file, MIB)).unwrap();
            assert!(Command::new("kill").args([signal, &link.pid().to_string()]).status().unwrap().success());
            let mut ended =
                || std::fs::read_to_string(format!("/proc/{}/stat", link.pid())).is_ok_and(|it| it.contains(") Z "));
            assert!(sys::process::within(LIMIT, &mut ended));
            let failed = link.go(1, LIMIT);
            assert!(matches!(&failed, Err(Trouble::Failed(why)) if why.contains(words)), "{signal}: {failed:?}");
        }
    });
}

#[test]
fn any_request_to_a_worker_in_go_is_answered_and_nothing_is_written_without_a_permit() {
    let folder = folder();
    let file = folder.path().join("file");
    std::fs::write(&file, vec![7; 4096]).unwrap();
    let write = Job { workload: Workload::Overwrite, ..job("pwrite", &file, 4096) };
    let jobs =
        [job("mmap", &file, 4096), job("bufio", &file, 4096), job("mmap+populate-read+copy", &file, 4096), write];
    with_each_go(|go| crate::requests::are_answered("Go", || command(go, "mmap"), &jobs, &file, None));
}
