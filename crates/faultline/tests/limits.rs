//! Machines that allow less: small files only, little memory, few descriptors, no ring.

use std::{io, os::unix::process::CommandExt, process::Command};

use rustix::process::Resource;
use schema::{State, findings::Status};

use crate::support::{Running, Sandbox, failure, limit, short};

#[test]
fn a_limit_on_file_sizes_ends_in_a_sentence_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["run", ".", "--size=4MiB"]);
    limit(&mut command, Resource::Fsize, 1 << 20);
    Running::new(command).end().refused(1, &["test file of 4 MiB", "File too large", "removed again"]);
    assert_eq!(sandbox.left(), [""; 0]);
    assert_eq!(sandbox.noted(), 0);
}

#[test]
fn a_record_that_cannot_be_saved_is_a_warning_and_the_answer_is_printed() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let mut command = sandbox.command(&short(&file, &[]));
    limit(&mut command, Resource::Fsize, 512);
    let output = Running::new(command).end();
    output.sane();
    assert!(output.stdout.contains("scan 64 KiB"), "{output:#?}");
    output.says(&["warning: ", "was not saved", "File too large"]);
    assert!(!output.stdout.contains("Saved:"), "{}", output.stdout);
    assert_eq!(sandbox.saved(), None);
}

#[test]
fn too_little_address_space_for_a_mapping_fails_the_mapping_and_reading_answers() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("holes", "");
    std::fs::File::options().write(true).open(&file).unwrap().set_len(256 << 20).unwrap();
    let experiment = sandbox.write(
        "large.toml",
        "title = \"A large window\"\n[[compare]]\nworkload = \"random\"\nblock = \"4 KiB\"\nstate = \"as-is\"\n\
         arms = [\"pread\", \"mmap\"]\nrange = { bytes = \"256 MiB\" }\nops = 64\n",
    );
    let mut command = sandbox.command(&["run", &file, "-e", &experiment, "--rounds=1", "--budget=44s", "--json"]);
    limit(&mut command, Resource::As, 192 << 20);
    let output = Running::new(command).end();
    output.sane();
    let document = output.document();
    let of = |method: &str| -> Vec<Option<String>> {
        let record = &document.record;
        let samples = record.samples.iter().filter(|it| record.cells[it.cell].arm.method == method);
        samples.map(|it| failure(it).map(str::to_string)).collect()
    };
    assert_eq!(of("pread"), [None, None]);
    let mapping = document.findings.cells.iter().find(|it| it.arm.method == "mmap").unwrap();
    assert!(matches!(mapping.status, Status::Failed | Status::Skipped), "{mapping:?}");
    assert!(report::words::reasons(&mapping.reasons).unwrap().contains("Cannot allocate memory"), "{mapping:?}");
}

#[test]
fn a_range_that_ends_within_a_sector_leaves_out_the_arm_that_cannot_read_it_to_its_end() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 16 << 20);
    // A trial reads the first 8 MiB.
    let experiment = sandbox.write(
        "odd.toml",
        "title = \"An odd end\"\n[[compare]]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = \"cold\"\n\
         arms = [\"pread\", \"direct\", \"mmap\"]\nrange = { bytes = 12583012 }\nops = 3073\n",
    );
    let output = sandbox.run(&["run", &file, "-e", &experiment, "--rounds=1", "--budget=44s", "--json", "--quiet"]);
    output.sane();
    let record = output.document().record;
    for cell in record.cells.iter().filter(|it| !it.control) {
        let is_refused = matches!(cell.skipped, Some(schema::Skip::Unavailable(_)));
        assert_eq!(is_refused, cell.arm.is_direct(), "{}: {:?}", cell.arm, cell.skipped);
    }
    assert!(record.samples.iter().all(|it| failure(it).is_none()), "{record:?}");
}

#[test]
fn too_few_descriptors_end_in_sentences_and_never_in_a_panic() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    // With fewer than four not even its libraries can be loaded.
    for descriptors in [4, 5, 6, 7, 8, 9, 10, 12, 16] {
        let mut command = sandbox.command(&short(&file, &["--json"]));
        limit(&mut command, Resource::Nofile, descriptors);
        let output = Running::new(command).end();
        output.sane();
        let described = output.stderr.contains("error: ") || output.stderr.contains("warning: ");
        let recorded = output.stdout.contains("Too many open files");
        let answered = matches!(output.code(), Some(0 | 3));
        assert!(described || recorded || answered, "{descriptors}: {output:#?}");
    }
}

#[test]
fn more_threads_than_there_is_room_for_fail_the_pass_with_the_reason() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let mut command = sandbox.command(&short(&file, &["--method=read", "--block=4KiB", "--threads=256", "--json"]));
    // A thread for which there is no memory needs some to say so.
    command.env("RUST_BACKTRACE", "1");
    limit(&mut command, Resource::As, 192 << 20);
    let output = Running::new(command).end();
    output.sane();
    let record = output.document().record;
    let failures: Vec<&str> = record.samples.iter().filter_map(failure).collect();
    // Which of the two is lacking first, a stack for the next thread or memory to start it with, is the allocator's choice.
    let lacks_room = |it: &&str| it.contains("thread") || it.contains("memory");
    assert!(failures.len() == 2 && failures.iter().all(lacks_room), "{:#?}", record.samples);
}

/// The same number on every architecture but alpha.
const IO_URING_SETUP: u32 = 425;
const CACHESTAT: u32 = 451;
const FADVISE: u32 = libc::SYS_fadvise64 as u32;

/// Has one system call answer EPERM, as containers and hardened kernels do.
fn without(call: u32, command: &mut Command) {
    let statement = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let program = [
        // The number of the system call is the first word of what a filter sees.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, call),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    // SAFETY: between fork and exec two system calls are made, both async-signal-safe; the program lives in the closure,
    // and the kernel copies it.
    unsafe {
        command.pre_exec(move || {
            let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
            {
                return Ok(());
            }
            Err(io::Error::last_os_error())
        });
    }
}

#[test]
fn without_cachestat_residency_is_verified_by_mincore_and_without_both_by_what_is_left() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let run = |calls: &[u32]| {
        let mut command = sandbox.command(&short(&file, &["--state=cold,cached", "--json"]));
        calls.iter().for_each(|&call| without(call, &mut command));
        let output = Running::new(command).end();
        output.sane();
        output.document().record
    };
    let record = run(&[CACHESTAT]);
    assert_eq!(record.target.residency.value().map(String::as_str), Some("mincore"));
    assert_eq!(record.samples.iter().filter_map(failure).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(record.samples.len(), 6);
    let record = run(&[CACHESTAT, libc::SYS_mincore as u32]);
    assert_ne!(record.target.residency.value().map(String::as_str), Some("mincore"));
    for cell in record.cells.iter().filter(|it| it.skipped.is_some()) {
        assert!(cell.skipped.as_ref().unwrap().to_string().contains("verif"), "{cell:?}");
    }
}

#[test]
fn without_io_uring_the_ring_is_unavailable_with_the_reason_and_that_is_exit_code_4() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let mut command = sandbox.command(&short(&file, &["--method=read,mmap,uring", "--json"]));
    without(IO_URING_SETUP, &mut command);
    let document = Running::new(command).end().expect(4).document();
    let ring = document.findings.cells.iter().find(|it| it.arm.method == "uring").unwrap();
    assert_eq!(ring.status, Status::Skipped);
    let reason = report::words::reasons(&ring.reasons).unwrap();
    assert!(reason.contains("io_uring") && reason.contains("not allowed"), "{reason}");
    assert_eq!(document.record.samples.len(), 3, "read, its control and the mapping were measured");
}

#[test]
fn rings_whose_buffers_are_more_than_may_be_locked_are_unavailable_and_the_limit_is_named() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let file = sandbox.file("file", 8 << 20);
    // Of each of four threads two blocks of 64 KiB: one ring fits, and not those of all.
    let arm = "--method=read,uring+registered+queue_depth=2";
    let more = [arm, "--block=64KiB", "--threads=4", "--workload=random", "--state=cached", "--json"];
    let mut command = sandbox.command(&short(&file, &more));
    limit(&mut command, Resource::Memlock, 384 << 10);
    let document = Running::new(command).end().expect(4).document();
    let ring = document.findings.cells.iter().find(|it| it.arm.method == "uring").unwrap();
    let reason = report::words::reasons(&ring.reasons).unwrap();
    assert_eq!(ring.status, Status::Skipped, "{reason}");
    assert!(reason.contains("RLIMIT_MEMLOCK") || reason.contains("not allowed"), "{reason}");
    assert!(document.record.samples.iter().all(|it| failure(it).is_none()), "{:?}", document.record.samples);
}

#[test]
fn advice_that_is_refused_makes_its_arm_unavailable_and_those_without_it_are_measured() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let advised = ["read+sequential", "pread+random", "pread+willneed"];
    let methods = format!("--method=pread,read,{}", advised.join(","));
    let mut command = sandbox.command(&short(&file, &[&methods, "--state=as-is", "--json"]));
    without(FADVISE, &mut command);
    let document = Running::new(command).end().expect(4).document();
    for (arm, says) in advised.into_iter().zip(["SEQUENTIAL", "RANDOM", "WILLNEED"]) {
        let cell = document.findings.cells.iter().find(|it| it.arm.short_name() == arm).unwrap();
        assert_eq!(cell.status, Status::Skipped, "{cell:?}");
        let reason = report::words::reasons(&cell.reasons).unwrap();
        let expected = format!("posix_fadvise(POSIX_FADV_{says}): Operation not permitted");
        assert!(reason.contains(&expected), "{reason}");
    }
    for arm in ["pread", "read"] {
        let plain = document.findings.cells.iter().find(|it| it.arm.short_name() == arm).unwrap();
        assert_ne!(plain.status, Status::Skipped, "{:?}", plain.reasons);
    }
}

#[test]
fn doctor_says_that_there_is_no_ring() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["doctor"]);
    without(IO_URING_SETUP, &mut command);
    let output = Running::new(command).end().expect(0);
    let line = output.stdout.lines().find(|it| it.contains("method uring ")).unwrap();
    assert!(line.starts_with("--") && line.contains("not allowed"), "{line}");
    assert_eq!(sandbox.left(), [""; 0]);
}

#[test]
fn rounds_that_the_budget_ended_are_named_by_the_state_of_their_passes() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    for states in ["mapped", "cached,mapped"] {
        let args = [&format!("--state={states}"), "--rounds=10000", "--budget=3s", "--json"];
        let record = sandbox.run_short(&file, &args).document().record;
        // On a busy machine the time is over before the last condition is tried.
        let is_measured = |state: State| {
            record.samples.iter().any(|it| record.conditions[record.cells[it.cell].condition].state == state)
        };
        let words = match [State::Cached, State::Mapped].map(is_measured) {
            [true, true] => "in states cached and mapped, in round",
            [true, false] => "in state cached, in round",
            [false, true] => "in state mapped, in round",
            [false, false] => continue,
        };
        assert!(record.limits.iter().any(|it| it.contains(words)), "{:?}", record.limits);
    }
}
