//! Processes that do not go on: a worker that is frozen, a compiler that is stopped, a command that no signal ends, a request
//! that a throttle holds back. The controller ends all the same, soon after it is asked to.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};

use planted::{Effort, Random};

use crate::{
    disk::Disk,
    support::{Running, Sandbox, children, is_root, lives, long_passes, state},
};

/// After Ctrl-C: what a command may take to end what it started, and what a busy machine adds.
const SOON: Duration = Duration::from_secs(120);

fn signal(pid: u32, signal: i32) {
    // SAFETY: kill(2) touches no memory; the process's parent waits for it, so that the number is still its own.
    unsafe { libc::kill(pid as i32, signal) };
}

fn ends_soon(running: Running, code: i32) {
    running.signal(libc::SIGINT);
    let began = Instant::now();
    running.end().expect(code);
    assert!(began.elapsed() < SOON, "it took {:?}", began.elapsed());
}

#[test]
fn a_run_whose_worker_is_frozen_at_any_moment_ends_when_it_is_asked_to() {
    let (mut frozen, mut early) = (0, 0);
    let effort = Effort::of(2);
    for seed in effort.seeds() {
        let sandbox = Sandbox::new();
        let bytes = 4 << 20;
        let file = sandbox.file("file", bytes);
        let experiment = sandbox.write("long.toml", long_passes("\"pread\"", bytes as u64));
        let mut running = sandbox.start(&["run", &file, "-e", &experiment, "--rounds=100", "--budget=44s"]);
        std::thread::sleep(Duration::from_millis(Random(seed).below(1500)));
        let controller = running.pid();
        let Some((pid, started)) = running.until(|| children(controller).pop()) else {
            early += 1;
            continue;
        };
        signal(pid, libc::SIGSTOP);
        std::thread::sleep(Duration::from_millis(50));
        frozen += 1;
        ends_soon(running, 130);
        assert!(!lives(pid, started), "seed {seed}");
        sandbox.run(&["clean"]).expect(0).shows(&["nothing was left behind"]);
    }
    println!("frozen workers: {frozen} of {}, {early} runs had ended before", effort.count());
}

/// The first Ctrl-C takes effect when the compiler has ended, or its time limit is over; the second at once.
#[test]
fn a_run_whose_compiler_is_stopped_ends_when_it_is_asked_to_twice() {
    let sandbox = Sandbox::new();
    let home = sandbox.folder("jdk");
    fs::create_dir(sandbox.path().join("jdk/bin")).unwrap();
    sandbox.write("jdk/release", "JAVA_VERSION=\"21.0.1\"\n");
    for program in ["java", "javac", "jar"] {
        let path = sandbox.write(&format!("jdk/bin/{program}"), "#!/bin/sh\n: > \"$0.began\"\nkill -STOP $$\n");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let file = sandbox.file("file", 1 << 20);
    let mut command =
        sandbox.command(&["run", &file, "--java", &home, "--method=jvm/mapped,read", "--rounds=1", "--budget=44s"]);
    command.env("XDG_CACHE_HOME", sandbox.folder("cache"));
    let mut running = Running::new(command);
    let began = sandbox.path().join("jdk/bin/javac.began");
    if running.until(|| began.exists().then_some(())).is_none() {
        return println!("skipped: this version does not compile with that JDK: {:?}", running.end());
    }
    let mut stopped: Vec<(u32, u64)> = children(running.pid());
    running.signal(libc::SIGINT);
    std::thread::sleep(Duration::from_millis(300));
    ends_soon(running, 130);
    let until = Instant::now() + SOON;
    while !stopped.is_empty() && Instant::now() < until {
        stopped.retain(|(pid, started)| lives(*pid, *started));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(stopped, []);
}

/// A write to a frozen file system waits for as long as it is frozen.
#[test]
fn a_command_that_no_signal_ends_is_abandoned_by_name_when_its_time_is_over() {
    if !Effort::is_asked() {
        println!("skipped: it waits for time limits; `cargo xtask fault hang` does");
        return;
    }
    if !is_root() {
        println!("skipped: only root can freeze a file system");
        return;
    }
    // One that is watched keeps its worker, so that only the controller can tell that it does not end.
    for watched in ["--observe=none", "--observe=auto"] {
        let Some(disk) = Disk::new("ext4", 16) else { return };
        let sandbox = Sandbox::new();
        let file = sandbox.file("file", 1 << 16);
        let there = disk.at.join("there");
        fs::write(&there, "x").unwrap();
        assert!(disk.freeze());
        let began = Instant::now();
        let line = format!("echo more >> {}; cat {file}", there.display());
        let named = ["ab", &line, "cat file", "--file=file", watched];
        let output = sandbox.run(&[&named[..], &["--timeout=2s", "--state=cached", "--rounds=1"]].concat());
        let took = began.elapsed();
        assert!(disk.thaw());
        std::thread::sleep(Duration::from_millis(300));
        output.sane();
        println!("a command that no signal ends, {watched}: exit code {:?} after {took:.1?}", output.code());
        let record = serde_json::to_string(&sandbox.record()).unwrap();
        assert!(record.contains("was abandoned"), "{output:?}");
        sandbox.run(&["clean"]).expect(0);
    }
}

/// A request of 1 MiB at 1 KiB/s takes 17 minutes. What reads through the page cache can be killed meanwhile; what reads with
/// O_DIRECT cannot, until the throttle is lifted.
#[test]
fn a_run_whose_request_a_throttle_holds_back_ends_when_it_is_asked_to() {
    let arms = if Effort::is_asked() { &["read", "mmap", "direct"][..] } else { &["direct"] };
    for arm in arms {
        let sandbox = Sandbox::new();
        let file = sandbox.file("file", 4 << 20);
        let text = format!(
            "title = \"Slow\"\n[[compare]]\nworkload = \"scan\"\nblock = \"1 MiB\"\nstate = \"cold\"\n\
             storage = {{ read_bps = \"1 KiB\" }}\narms = [\"{arm}\"]\n"
        );
        let experiment = sandbox.write("slow.toml", text);
        let mut running = sandbox.start(&["run", &file, "-e", &experiment, "--rounds=1", "--budget=44s"]);
        let Some((pid, started)) = held_back(&mut running) else {
            let _ = running.end().expect(3);
            let skipped = sandbox.record().cells.into_iter().find_map(|it| it.skipped);
            return println!("skipped: {}", skipped.expect("a reason why nothing was throttled"));
        };
        let began = Instant::now();
        ends_soon(running, 130);
        println!("{arm} at 1 KiB/s: it ended {:.1?} after it was asked to", began.elapsed());
        assert!(!lives(pid, started), "{arm}");
        sandbox.run(&["clean"]).expect(0).shows(&["nothing was left behind"]);
    }
}

/// The worker, once it has waited for a disk for a second; nothing when the command ends before.
fn held_back(running: &mut Running) -> Option<(u32, u64)> {
    let controller = running.pid();
    let mut since = Instant::now();
    running.until(|| {
        let waiting = children(controller).into_iter().find(|(pid, _)| state(*pid) == Some('D'));
        if waiting.is_none() {
            since = Instant::now();
        }
        waiting.filter(|_| since.elapsed() > Duration::from_secs(1))
    })
}
