//! Processes that do not go on: a worker that is frozen, a compiler that is stopped, a command that no signal ends. The
//! controller ends all the same, soon after it is asked to.

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use planted::{Effort, Random};

use crate::support::{Running, Sandbox, children, is_root, lives, long_passes};

/// After Ctrl-C: what a command may take to end what it started, and what a busy machine adds.
const SOON: Duration = Duration::from_secs(20);

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
    for seed in Effort::of(2).seeds() {
        let sandbox = Sandbox::new();
        let bytes = 4 << 20;
        let file = sandbox.file("file", bytes);
        let experiment = sandbox.write("long.toml", long_passes("\"pread\"", bytes as u64));
        let mut running = sandbox.start(&["run", &file, "-e", &experiment, "--rounds=2"]);
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
    println!("frozen workers: {frozen}, {early} runs had ended before");
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
    let mut command = sandbox.command(&["run", &file, "--java", &home, "--method=jvm/mapped,read", "--rounds=1"]);
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

/// A write to a frozen file system waits without looking at signals (fs/super.c, `sb_start_write`).
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
    let sandbox = Sandbox::new();
    let (image, at) = (sandbox.at("image"), sandbox.folder("mounted"));
    File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let does = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|it| it.success())
    };
    if !does("mkfs.ext4", &["-q", "-F", &image]) || !does("mount", &["-o", "loop", &image, &at]) {
        return println!("skipped: no file system of one's own can be mounted here");
    }
    let file = sandbox.file("file", 1 << 16);
    fs::write(format!("{at}/there"), "x").unwrap();
    assert!(does("fsfreeze", &["-f", &at]));
    let began = Instant::now();
    let line = format!("echo more >> {at}/there; cat {file}");
    let args =
        ["ab", &line, "cat file", "--file=file", "--timeout=2s", "--observe=none", "--state=cached", "--rounds=1"];
    let output = sandbox.run(&args);
    let took = began.elapsed();
    let thawed = does("fsfreeze", &["-u", &at]);
    std::thread::sleep(Duration::from_millis(300));
    let gone = does("umount", &[&at]);
    assert!(thawed && gone);
    output.sane();
    println!("a command that no signal ends: exit code {:?} after {took:.1?}", output.code());
    assert!(took < Duration::from_secs(50), "{took:?}: {output:?}");
    sandbox.run(&["clean"]).expect(0);
}
