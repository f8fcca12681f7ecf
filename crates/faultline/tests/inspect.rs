//! `faultline inspect`: files and processes, one's own and strangers'.

use std::{
    fs,
    fs::File,
    io::Read,
    os::fd::AsRawFd,
    process::{Command, Stdio},
    time::Duration,
};

use lab::runtime::{go, python};
use schema::inspection::{
    AdviceCost, Inspection, MappedFile, MappedRuntime, MappingAdvice, ProcessView, Shape, WatchEnd,
};

use crate::{
    predict::keep,
    runtimes::is_here,
    support::{Output, Running, Sandbox, is_root},
};

#[track_caller]
fn shows(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text}");
    }
}

#[test]
fn a_file_is_shown_with_its_residency_and_its_bytes_stay() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("data", 1 << 20);
    let before = std::fs::read(&file).unwrap();
    shows(&sandbox.run(&["inspect", &file]).expect(0).stdout, &["of 256 pages", "Mapped by"]);
    let output = sandbox.run(&["inspect", &file, "--json"]).expect(0);
    let Inspection::File(view) = serde_json::from_str(&output.stdout).unwrap() else { panic!("{}", output.stdout) };
    assert_eq!(view.bytes, 1 << 20);
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

fn view(sandbox: &Sandbox, file: &str) -> schema::inspection::FileView {
    let output = sandbox.run(&["inspect", file, "--json"]).expect(0);
    match serde_json::from_str(&output.stdout).unwrap() {
        Inspection::File(view) => *view,
        Inspection::Process(_) => panic!("{}", output.stdout),
    }
}

#[test]
fn runs_of_other_machines_however_many_do_not_hide_the_unit_costs_of_this_one() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("pages", 1 << 20);
    let here = lab::host::detect(&|| None);
    let theirs = serde_json::json!({
        "key": "fedcba9876543210fedcba9876543210", "hardware": "0011223344556677", "source": "machine-id"
    });
    let ours = serde_json::to_value(&here.machine).unwrap();
    for number in 0..25 {
        keep(&sandbox, "runs", &format!("20991121T000000Z-{number:04}"), &theirs, "field");
    }
    let seen = view(&sandbox, &file);
    let why = seen.faults.reason().expect("none of these runs is of this machine").to_string();
    assert!(why.contains("no complete saved run of this machine"), "{why}");
    keep(&sandbox, "runs", "20261121T000000Z-0004", &ours, &here.host);
    // A reclaim scheme (DAMON) may have taken its pages meanwhile.
    std::fs::read(&file).unwrap();
    let seen = view(&sandbox, &file);
    let of = seen.faults.value().map_or_else(|| seen.faults.reason().unwrap().to_string(), |it| it.run.clone());
    match seen.can_be_evicted {
        true => assert!(of.contains("20261121T000000Z-0004"), "{of}"),
        false => assert!(of.contains("the one complete saved run of this machine"), "{of}"),
    }
}

#[test]
fn a_file_in_memory_is_not_to_be_evicted() {
    let sandbox = Sandbox::new();
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return println!("skipped: there is no /dev/shm") };
    if !sys::mount::file_system(folder.path()).is_ok_and(|it| it.is_memory()) {
        return println!("skipped: /dev/shm is on a device");
    }
    let here = lab::host::detect(&|| None);
    keep(&sandbox, "runs", "20261121T000000Z-0004", &serde_json::to_value(&here.machine).unwrap(), &here.host);
    let file = folder.path().join("data");
    std::fs::write(&file, vec![1; 1 << 20]).unwrap();
    let file = file.display().to_string();
    assert!(!view(&sandbox, &file).can_be_evicted);
    let text = sandbox.run(&["inspect", &file]).expect(0).stdout;
    assert!(!text.contains("evict the file"), "{text}");
}

#[test]
fn a_process_is_shown_by_its_number() {
    let sandbox = Sandbox::new();
    let me = std::process::id().to_string();
    shows(&sandbox.run(&["inspect", &me]).expect(0).stdout, &[&me, "First", "mappings", "private"]);
}

fn process(output: &Output) -> ProcessView {
    match serde_json::from_str(&output.stdout) {
        Ok(Inspection::Process(view)) => *view,
        other => panic!("{other:?} in {output:#?}"),
    }
}

#[test]
fn a_process_that_is_watched_is_shown_with_its_faults_and_nothing_is_drawn_in_a_pipe() {
    let sandbox = Sandbox::new();
    let me = std::process::id().to_string();
    let output = sandbox.run(&["inspect", &me, "--for=200ms", "--json"]).expect(0);
    assert_eq!(output.stderr, "");
    let view = process(&output);
    let watched = view.watched.unwrap();
    assert_eq!((watched.ended, watched.asked_s), (None, 0.2));
    assert!(view.files.iter().all(|it| it.meanwhile.is_some()));
    shows(&sandbox.run(&["inspect", &me, "--for=200ms"]).expect(0).stdout, &["Watched", "major fault", "minor fault"]);
}

#[test]
fn only_a_process_is_watched_and_not_for_an_instant() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("data", 4096);
    sandbox.run(&["inspect", &file, "--for=5s"]).refused(2, &["--for watches a process"]);
    sandbox.run(&["inspect", "1", "--for=0s"]).expect(2).says(&["100ms"]);
    sandbox.run(&["inspect", "1", "--for=soon"]).expect(2).says(&["write it as 5s"]);
}

/// A mapping of a whole file, with advice or without, unmapped at its end.
struct Mapped {
    at: *mut u8,
    bytes: usize,
}

impl Mapped {
    fn new(path: &str, advice: Option<libc::c_int>) -> Mapped {
        use rustix::mm::{MapFlags, ProtFlags};
        let file = File::open(path).unwrap();
        let bytes = file.metadata().unwrap().len() as usize;
        // SAFETY: a mapping of its own, at an address that the kernel chooses.
        let at = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, &file, 0).unwrap()
        };
        if let Some(advice) = advice {
            // SAFETY: the mapping that was just made; the advice is a hint.
            assert_eq!(unsafe { libc::madvise(at, bytes, advice) }, 0);
        }
        Mapped { at: at.cast(), bytes }
    }

    fn touch(&self, page: usize) {
        let place = page * sys::page_bytes() as usize % self.bytes;
        // SAFETY: it lies within the mapping, and the file is not cut off while it is mapped.
        std::hint::black_box(unsafe { self.at.add(place).read_volatile() });
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: made in `new`, and nothing refers to it.
        let _ = unsafe { libc::munmap(self.at.cast(), self.bytes) };
    }
}

/// How often a process has waited for something.
fn waits(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    sys::process::number_after(&status, "voluntary_ctxt_switches:")
}

/// Until it has a file open and then has waited several times: it does that while it watches.
fn watches(running: &mut Running, file: &str) {
    let pid = running.pid();
    let opened = || fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    running
        .until(|| opened().any(|it| fs::read_link(it.path()).is_ok_and(|it| it.to_str() == Some(file))).then_some(()))
        .expect("it opens what is mapped");
    let before = waits(pid).unwrap();
    running.until(|| (waits(pid)? > before + 5).then_some(())).expect("it waits");
}

#[test]
fn the_file_without_advice_comes_first_with_what_came_in_and_ctrl_c_shows_what_was_counted() {
    let sandbox = Sandbox::new();
    let paths = ["without", "random"].map(|it| sandbox.file(it, 16 << 20));
    for path in &paths {
        sys::cache::evict(&File::open(path).unwrap(), 0, 0).unwrap();
    }
    let mapped = [Mapped::new(&paths[0], None), Mapped::new(&paths[1], Some(libc::MADV_RANDOM))];
    let me = std::process::id().to_string();
    let mut running = sandbox.start(&["inspect", &me, "--for=1h", "--json"]);
    watches(&mut running, &paths[0]);
    // Far apart, so that no two of them share what is mapped around one.
    for page in (0..4096).step_by(128) {
        mapped.iter().for_each(|it| it.touch(page));
    }
    running.signal(libc::SIGINT);
    let view = process(&running.end().expect(130));
    let watched = view.watched.clone().unwrap();
    assert_eq!(watched.ended, Some(WatchEnd::Interrupted));
    let of = |path: &str| -> (usize, &MappedFile) {
        view.files.iter().enumerate().find(|(_, it)| it.name == path).unwrap_or_else(|| panic!("{path} is missing"))
    };
    let [(first, without), (second, random)] = [of(&paths[0]), of(&paths[1])];
    assert!(first < second, "{without:?} {random:?}");
    assert_eq!((without.advice.as_deref(), without.unadvised_bytes), (Some(&[][..]), Some(16 << 20)));
    assert_eq!((random.advice.as_deref(), random.unadvised_bytes), (Some(&[MappingAdvice::Random][..]), Some(0)));
    let resident = [without, random].map(|it| (it.resident_bytes > 0, it.unadvised_resident_bytes));
    assert_eq!(resident, [(true, Some(without.resident_bytes)), (true, Some(0))]);
    assert_eq!(random.cost, None);
    assert_eq!((&random.places, random.pattern, &random.miss), (&None, None, &None), "it has advice");
    let places = without.meanwhile.clone().unwrap().new_places.expect("its advice is a question");
    let places = *places.value().expect("the page table of a process of one's own can be read");
    assert!(places.pages >= 32 && places.places >= 1 && places.places <= places.pages, "{places:?}");
    match without.pattern {
        Some(pattern) => assert_eq!((pattern.shape, pattern.meanwhile, pattern.places), (Shape::Apart, true, 32)),
        None => println!("skipped: {places:?} and {:?} show no pattern", without.cost),
    }
    let [more, more_random] = [without, random].map(|it| it.meanwhile.clone().unwrap().unmapped_more_bytes);
    let (Some(more), Some(more_random)) = (more.value(), more_random.value()) else {
        return println!("skipped: {more:?}, {more_random:?}");
    };
    println!("{more} and {more_random} bytes came in that were not mapped");
    match &without.read_ahead_bytes {
        // This process is that of all tests, and what their children have read is counted with it when they end.
        _ if watched.children_ended => println!("skipped: children of other tests ended meanwhile"),
        // Of a window of this size a part lies beyond what is mapped around a fault.
        schema::Reading::Value(window) if *window >= 128 << 10 && !is_in_memory(&paths[0]) => {
            assert!(
                matches!(without.cost, Some(AdviceCost::Counted { unmapped_bytes }) if unmapped_bytes == *more),
                "{without:?}"
            );
            assert!(more > more_random, "{without:?} {random:?}");
        }
        other => println!("skipped: read-ahead is {other:?}"),
    }
}

fn is_in_memory(path: &str) -> bool {
    sys::mount::file_system(std::path::Path::new(path)).is_ok_and(|it| it.is_memory())
}

#[test]
fn a_process_that_ends_while_it_is_watched_is_shown_all_the_same() {
    let sandbox = Sandbox::new();
    let mut command = Command::new("cat");
    let Ok(mut child) = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn() else {
        return println!("skipped: there is no cat");
    };
    let program = fs::read_link(format!("/proc/{}/exe", child.id())).unwrap();
    let mut running = sandbox.start(&["inspect", &child.id().to_string(), "--for=1h"]);
    watches(&mut running, program.to_str().unwrap());
    drop(child.stdin.take());
    // It is not waited for before it was seen.
    let output = running.end().expect(0);
    child.wait().unwrap();
    output.shows(&["until the process ended", "private"]);
}

#[test]
fn somebody_elses_process_is_an_error_in_words() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    if !is_root() && fs::read_dir("/proc/1/fd").is_ok() {
        return println!("skipped: process 1 is this user's own");
    }
    let output = sandbox.run(&["inspect", "1"]).expect(1);
    let hidden = output.stderr.contains("there is no process 1");
    assert!(hidden || output.stderr.contains("root can"), "{output:#?}");
}

#[test]
fn what_is_not_there_is_named() {
    let sandbox = Sandbox::new();
    sandbox.run(&["inspect", "/no/such/file"]).refused(1, &["/no/such/file", "No such file"]);
    for number in ["4194305", "0", "4294967296", "99999999999999999999999999"] {
        sandbox.run(&["inspect", number]).refused(1, &[&format!("there is no process {number}")]);
    }
    sandbox.run(&["inspect", ""]).expect(2);
    sandbox.run(&["inspect", "/"]).refused(1, &["not a regular file"]);
}

/// While it waits for input.
fn runtimes_of(mut command: Command) -> Option<Vec<MappedRuntime>> {
    let sandbox = Sandbox::new();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let path = format!("/proc/{}/stat", child.id());
    // It maps its code before it waits.
    sys::process::within(Duration::from_secs(60), || sys::process::stat(&path).is_some_and(|it| it.state == 'S'));
    let output = sandbox.run(&["inspect", &child.id().to_string(), "--json"]).expect(0);
    drop(child.stdin.take());
    child.wait().unwrap();
    Some(process(&output).runtimes)
}

#[test]
fn the_runtime_of_a_process_is_named_and_another_program_has_none() {
    let Some(none) = runtimes_of(Command::new("cat")) else { return println!("skipped: there is no cat") };
    assert_eq!(none, []);
    let found = python::find(None);
    if let Ok(python) = &found {
        let mut command = Command::new(&python.program);
        command.args(["-I", "-c", "import sys; sys.stdin.read()"]);
        let expected = if python.kind == "cpython" { vec![MappedRuntime::Cpython] } else { Vec::new() };
        assert_eq!(runtimes_of(command), Some(expected), "{python:?}");
    }
    is_here(found);
    let found = go::find();
    if let Ok(go) = &found {
        match runtimes_of(Command::new(go.home.join("bin/gofmt"))) {
            Some(runtimes) => assert_eq!(runtimes, [MappedRuntime::Go]),
            None => println!("skipped: this Go has no gofmt"),
        }
    }
    is_here(found);
}

#[test]
fn a_process_may_look_at_itself() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&[]);
    let program = command.get_program().to_os_string();
    command = {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" inspect $$ --for=100ms --json"]).arg(program);
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell
    };
    let running = Running::new(command);
    let pid = running.pid();
    let view = process(&running.end().expect(0));
    assert_eq!((view.pid, view.runtimes), (pid, Vec::new()));
    assert!(view.watched.is_some());
}

/// A process with so many mappings of one file, which does nothing until it is dropped.
struct Crowded(libc::pid_t);

impl Crowded {
    fn new(file: &File, mappings: usize) -> Crowded {
        file.set_len((mappings as u64) * sys::page_bytes()).unwrap();
        let (mut ready, tells) = std::io::pipe().unwrap();
        let page = sys::page_bytes() as usize;
        let (descriptor, tells) = (file.as_raw_fd(), tells);
        // SAFETY: between fork and _exit the child makes system calls alone, which are async-signal-safe, and changes only a
        // mapping of its own.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: as above.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                let (flags, none) = (libc::MAP_SHARED, std::ptr::null_mut());
                let at = libc::mmap(none, mappings * page, libc::PROT_READ, flags, descriptor, 0);
                let mut done = at != libc::MAP_FAILED;
                let mut page_number = 1;
                while done && page_number < mappings {
                    done = libc::mprotect(at.byte_add(page_number * page), page, libc::PROT_NONE) == 0;
                    page_number += 2;
                }
                libc::write(tells.as_raw_fd(), (&raw const done).cast(), 1);
                loop {
                    libc::pause();
                }
            }
        }
        assert!(pid > 0);
        drop(tells);
        let child = Crowded(pid);
        let mut done = [0];
        ready.read_exact(&mut done).unwrap();
        assert_eq!(done, [1], "it has its mappings");
        child
    }
}

impl Drop for Crowded {
    fn drop(&mut self) {
        // SAFETY: neither touches memory; the child was not waited for, so the number is still its own.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

#[test]
fn a_process_with_very_many_mappings_is_a_bounded_answer() {
    let most = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default().trim().parse().unwrap_or(65_530);
    let mappings = usize::min(20_000, most / 10 * 9) & !1;
    let sandbox = Sandbox::new();
    let path = sandbox.at("file");
    let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    let crowded = Crowded::new(&file, mappings);
    let output = sandbox.run(&["inspect", &crowded.0.to_string()]).expect(0);
    assert!(output.stdout.lines().count() < 200, "{}", output.stdout.lines().count());
    let view = process(&sandbox.run(&["inspect", &crowded.0.to_string(), "--for=100ms", "--json"]).expect(0));
    let of_file = view.files.iter().find(|it| it.name == path).unwrap();
    assert_eq!((of_file.mappings, of_file.bytes), (mappings as u64, mappings as u64 * sys::page_bytes()));
    assert!(view.mappings.len() >= mappings);
}

#[test]
fn a_name_with_control_characters_moves_no_cursor() {
    let sandbox = Sandbox::new();
    let name = "a\u{1b}[2J\r\nb\u{202e}";
    let file = sandbox.file(name, 4 << 20);
    let _mapped = Mapped::new(&file, None);
    let me = std::process::id().to_string();
    let text = sandbox.run(&["inspect", &me]).expect(0).stdout;
    assert!(text.chars().all(|it| it == '\n' || !it.is_control() && it != '\u{202e}'), "{text:?}");
    let view = process(&sandbox.run(&["inspect", &me, "--json"]).expect(0));
    let seen = view.files.iter().find(|it| it.name == file).expect("it is mapped");
    assert_eq!(seen.file_bytes.value(), Some(&(4 << 20)), "{seen:?}");
}

#[test]
fn doctor_brings_no_page_of_the_users_file_into_the_page_cache() {
    let sandbox = Sandbox::new();
    let path = sandbox.file("file", 1 << 20);
    let file = std::fs::File::open(&path).unwrap();
    file.sync_all().unwrap();
    sys::cache::evict(&file, 0, 0).unwrap();
    let way = sys::cache::Way::ALL.into_iter().find(|it| it.shows(&file)).unwrap();
    let before = way.resident_pages(&file, 0, 1 << 20).unwrap();
    let examined = sandbox.run(&["doctor", &path]).expect(0);
    examined.shows(&["ok  method stdio-mmap"]);
    assert_eq!(way.resident_pages(&file, 0, 1 << 20).unwrap(), before);
}

#[test]
fn a_stranger_is_told_why_there_is_no_residency() {
    if !is_root() {
        println!("skipped: making a file of somebody else's takes root");
        return;
    }
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    // Of the package that this is: readable by all, root's.
    let file = "/etc/passwd";
    shows(&sandbox.run(&["inspect", file]).expect(0).stdout, &["only to its owner", "root"]);
}
