//! Runs that are ended from outside: nothing is left but what `faultline clean` finds, and what was measured is kept.

use std::{fs, path::Path, time::Duration};

use crate::support::{Running, Sandbox, children, failure, lives, long_passes, state, test_file};

/// When a signal comes.
#[derive(Debug, Clone, Copy)]
enum Moment {
    TestFileAppears,
    WorkerStarts,
    FirstSave,
    After(u64),
}

const MOMENTS: [Moment; 7] = [
    Moment::After(1),
    Moment::TestFileAppears,
    Moment::WorkerStarts,
    Moment::FirstSave,
    Moment::After(50),
    Moment::After(300),
    Moment::After(900),
];

/// A run on a folder that would go on for long.
fn start(sandbox: &Sandbox, folder: &str) -> Running {
    sandbox.start(&[
        "run",
        folder,
        "--size=24MiB",
        "--method=read,mmap",
        "--workload=scan",
        "--block=64KiB",
        "--state=cold,cached",
        "--rounds=10000",
        "--budget=44s",
    ])
}

fn reach(moment: Moment, running: &mut Running, sandbox: &Sandbox, folder: &str) {
    let pid = running.pid();
    match moment {
        Moment::After(ms) => std::thread::sleep(Duration::from_millis(ms)),
        Moment::TestFileAppears => drop(running.until(|| test_file(Path::new(folder)))),
        Moment::WorkerStarts => drop(running.until(|| children(pid).pop())),
        Moment::FirstSave => drop(running.until(|| sandbox.saved())),
    }
}

fn stopped_by(signal: i32) {
    for moment in MOMENTS {
        let sandbox = Sandbox::new();
        let folder = sandbox.folder("folder");
        let mut running = start(&sandbox, &folder);
        reach(moment, &mut running, &sandbox, &folder);
        let workers = children(running.pid());
        running.signal(signal);
        let output = running.end();
        assert!(!output.stderr.contains("panicked"), "{moment:?}: {output:#?}");
        // Before it listens for signals nothing has begun yet, and the signal does what it always does.
        if output.code().is_none() {
            assert!(matches!(moment, Moment::After(_)) && !sandbox.data().exists(), "{moment:?}: {output:#?}");
        } else {
            assert_eq!(output.code(), Some(130), "{moment:?}: {output:#?}");
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{moment:?}");
        assert_eq!(sandbox.noted(), 0, "{moment:?}");
        assert!(workers.iter().all(|&(pid, started)| !lives(pid, started)), "{moment:?}");
        // A run that was stopped before its first pass is not kept, and says so in one line.
        let kept = sandbox.saved().is_some();
        assert!(kept || output.stdout.is_empty() && output.stderr.lines().count() <= 1, "{moment:?}: {output:#?}");
        if matches!(moment, Moment::FirstSave) && kept {
            let record = sandbox.record();
            assert_eq!(record.partial.as_deref(), Some("interrupted"));
            let again = sandbox.run(&["report", "last"]).expect(0);
            assert!(again.stdout.contains(&record.id) && again.stdout.contains("interrupted"), "{}", again.stdout);
        }
        sandbox.run(&["clean"]).expect(0);
    }
}

#[test]
fn ctrl_c_at_any_moment_leaves_no_test_file_and_keeps_what_was_measured() {
    stopped_by(libc::SIGINT);
}

#[test]
fn termination_at_any_moment_leaves_no_test_file_and_keeps_what_was_measured() {
    stopped_by(libc::SIGTERM);
}

#[test]
fn a_second_signal_ends_the_run_at_once_and_clean_finds_what_that_leaves() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let mut running = start(&sandbox, &folder);
    running.until(|| sandbox.saved());
    running.signal(libc::SIGINT);
    running.signal(libc::SIGTERM);
    let output = running.end();
    assert_eq!(output.code(), Some(130), "{output:#?}");
    sandbox.run(&["clean"]).expect(0);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(sandbox.noted(), 0);
}

#[test]
fn clean_names_what_it_must_leave_to_somebody_else() {
    let sandbox = Sandbox::new();
    let leftovers = sandbox.data().join("leftovers");
    fs::create_dir_all(&leftovers).unwrap();
    fs::write(leftovers.join("damaged.json"), "garbage").unwrap();
    let output = sandbox.run(&["clean"]).expect(0);
    assert!(output.stdout.contains("damaged.json") && output.stdout.contains("stays"), "{}", output.stdout);
    assert_eq!(sandbox.noted(), 1);
}

#[test]
fn an_interrupted_run_prints_one_document_where_one_was_asked_for() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4 << 20);
    let mut running = sandbox.start(&[
        "run",
        &file,
        "--method=read",
        "--workload=scan",
        "--block=64KiB",
        "--state=cached",
        "--rounds=10000",
        "--budget=44s",
        "--json",
    ]);
    running.until(|| sandbox.saved().filter(|_| !sandbox.record().samples.is_empty()));
    running.signal(libc::SIGINT);
    let document = running.end().expect(130).document();
    assert_eq!(document.record.partial.as_deref(), Some("interrupted"));
    assert_eq!(document.record, sandbox.record());
}

#[test]
fn doctor_takes_its_test_file_away_when_it_is_stopped() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let mut running = sandbox.start(&["doctor", &folder]);
    let pid = running.pid();
    running.until(|| children(pid).pop());
    running.signal(libc::SIGINT);
    let output = running.end();
    output.sane();
    assert!(matches!(output.code(), Some(130 | 0)), "{output:#?}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn what_a_killed_run_leaves_is_named_and_removed_by_clean_and_no_worker_survives() {
    for moment in [Moment::TestFileAppears, Moment::WorkerStarts, Moment::FirstSave] {
        let sandbox = Sandbox::new();
        let folder = sandbox.folder("folder");
        let mut running = start(&sandbox, &folder);
        reach(moment, &mut running, &sandbox, &folder);
        let workers = children(running.pid());
        running.signal(libc::SIGKILL);
        let output = running.end();
        assert_eq!(output.code(), None, "{output:#?}");
        // A worker dies with its parent, a moment after it.
        for _ in 0..6000 {
            if !workers.iter().any(|&(pid, started)| lives(pid, started)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!workers.iter().any(|&(pid, started)| lives(pid, started)), "{moment:?}: a worker survived");
        let left = test_file(Path::new(&folder)).unwrap_or_else(|| panic!("{moment:?}: no file was left"));
        let shown = left.canonicalize().unwrap().display().to_string();

        let would = sandbox.run(&["clean", "--dry-run"]).expect(0);
        assert!(would.stdout.contains(&shown), "{}", would.stdout);
        assert!(left.exists(), "a dry run removes nothing");
        let did = sandbox.run(&["clean"]).expect(0);
        assert!(did.stdout.contains(&format!("removed {shown}")), "{}", did.stdout);
        assert!(!left.exists());
        assert_eq!(sandbox.noted(), 0);
        let again = sandbox.run(&["clean"]).expect(0);
        assert!(again.stdout.contains("nothing was left"), "{}", again.stdout);
        if matches!(moment, Moment::FirstSave) {
            let record = sandbox.record();
            assert!(record.partial.unwrap().contains("killed") && record.elapsed_s > 0.0, "{}", record.elapsed_s);
        }
    }
}

#[test]
fn a_run_that_is_killed_says_how_much_of_the_file_its_passes_touched() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 24 << 20);
    let options = ["--method=read,mmap", "--workload=scan", "--block=64KiB", "--ops=16", "--state=cached"];
    let mut running = sandbox.start(&[&["run", &file, "--rounds=10000", "--budget=44s"], &options[..]].concat());
    running.until(|| sandbox.saved().map(|_| sandbox.record()).filter(|it| !it.samples.is_empty()));
    running.signal(libc::SIGKILL);
    running.end();
    let limits = sandbox.record().limits;
    assert!(limits.iter().any(|it| it.contains("at most 1 MiB")), "{limits:?}");
}

#[test]
fn clean_leaves_the_file_of_a_running_run_alone() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let mut running = start(&sandbox, &folder);
    let file = running.until(|| test_file(Path::new(&folder))).unwrap();
    let output = sandbox.run(&["clean"]).expect(0);
    assert!(file.exists(), "{}", output.stdout);
    assert!(!output.stdout.contains("removed"), "{}", output.stdout);
    running.signal(libc::SIGINT);
    running.end().expect(130);
    assert!(!file.exists());
}

#[test]
fn a_worker_that_is_killed_is_a_failed_pass_and_the_run_goes_on() {
    let sandbox = Sandbox::new();
    let bytes = 4 << 20;
    let file = sandbox.file("file", bytes);
    let experiment = sandbox.write("long.toml", long_passes("\"pread\"", bytes as u64));
    let mut running = sandbox.start(&["run", &file, "-e", &experiment, "--rounds=2", "--budget=300s", "--json"]);
    let controller = running.pid();
    let measured = fs::canonicalize(&file).unwrap();
    let signal = |pid: u32, signal: i32| {
        // SAFETY: kill(2) touches no memory; the worker's parent waits for nothing but its reply or its end.
        unsafe { libc::kill(pid as i32, signal) };
    };
    // The first save comes after the trials. A worker that is stopped with the file open is in the middle of a pass that
    // counts; another one goes on.
    let met = running.until(|| {
        sandbox.saved()?;
        let (pid, _) = children(controller).pop()?;
        signal(pid, libc::SIGSTOP);
        while state(pid).is_some_and(|it| !['T', 'Z', 'X'].contains(&it)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let opened = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let reads = opened.filter_map(|it| fs::read_link(it.path()).ok()).any(|it| it == measured);
        signal(pid, if reads { libc::SIGKILL } else { libc::SIGCONT });
        reads.then_some(())
    });
    met.expect("a worker was met");
    let output = running.end();
    output.sane();
    let samples = output.document().record.samples;
    let failures: Vec<&str> = samples.iter().filter_map(failure).collect();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].contains("killed by SIGKILL"), "{failures:?}");
    assert_eq!(samples.len(), 4, "the run went on to its end");
}

#[test]
fn clean_removes_workers_of_other_versions_and_nothing_that_may_be_another_programs() {
    let sandbox = Sandbox::new();
    let cache = std::path::PathBuf::from(sandbox.folder("cache")).join("faultline");
    std::fs::create_dir(&cache).unwrap();
    let at = |name: &str| cache.join(name);
    for (name, program, content) in [
        ("jvm-25-5ca0e83528c2d612", "worker.jar", "PK faultline/Worker.class"),
        ("jvm-25-0000000000000000", "worker.jar", "PK other"),
        ("go-1.26-5ca0e83528c2d612", "worker", "ELF faultline-worker-in-go"),
        ("go-1.26-0000000000000000", "worker", "ELF other"),
        // Of a process that is gone: the largest number is one that no process has.
        ("go-making-4294967295-ThreadId(1)", "cache", ""),
    ] {
        std::fs::create_dir(at(name)).unwrap();
        match content {
            "" => std::fs::create_dir_all(at(name).join(program).join("0f")).unwrap(),
            content => std::fs::write(at(name).join(program), content).unwrap(),
        }
    }
    let clean = |more: &[&str]| {
        let mut command = sandbox.command(&[&["clean"], more].concat());
        command.env("XDG_CACHE_HOME", cache.parent().unwrap());
        Running::new(command).end().expect(0)
    };
    let removed = ["jvm-25-5ca0e83528c2d612", "go-1.26-5ca0e83528c2d612", "go-making-4294967295-ThreadId(1)"];
    clean(&["--dry-run"]).shows(&[&["would remove", "stays"], &removed[..]].concat());
    assert!(removed.iter().all(|it| at(it).exists()));
    clean(&[]).shows(&[&["removed", "stays"], &removed[..]].concat());
    let left = std::fs::read_dir(&cache).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    let left: std::collections::BTreeSet<String> = left.collect();
    assert_eq!(left, ["go-1.26-0000000000000000", "jvm-25-0000000000000000"].map(String::from).into());
}
