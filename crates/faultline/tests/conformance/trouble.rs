//! What goes wrong under a pass: a file that gets shorter, and a worker that is stopped.

use std::{fs::File, process::Command, time::Duration};

use lab::link::Trouble;
use schema::{
    Workload,
    protocol::{Hold, Job},
};

use super::{
    reading::{Files, LIMIT, expected, plain},
    workers,
};

const SIZE: u64 = 64 << 10;

#[test]
fn a_file_that_becomes_shorter_under_its_reader_is_a_failure_and_never_a_smaller_tally() {
    workers::one_of_each(|worker| {
        for method in worker.runtime.methods.iter().filter(|it| it.can.does(Workload::Scan)) {
            let arm = worker.arm(method.name);
            for hold in [Hold::No, Hold::Warm] {
                let files = Files::new(&[SIZE]);
                let (mut link, _) = worker.start(&arm);
                // A page that is missing is another thing to code that was compiled.
                let job = Job { hold, untimed: hold == Hold::No, ..plain(&arm, &files, SIZE) };
                if let Err(refused) = link.prepare(&job) {
                    assert!(matches!(refused, Trouble::Unavailable(_)), "{}: {refused:?}", worker.name);
                    continue;
                }
                File::options().write(true).open(files.path(SIZE)).unwrap().set_len(10_000).unwrap();
                let failed = link.go(job.pass, LIMIT);
                // A page of a mapping that is not there any more is SIGBUS, which a runtime may turn into a failure.
                let in_words =
                    |why: &str| why.contains("the worker failed during") || (method.maps && why.contains("SIGBUS"));
                assert!(
                    matches!(&failed, Err(Trouble::Failed(why)) if in_words(why)),
                    "{} {arm}, {hold:?}: {failed:?}",
                    worker.name
                );
            }
        }
    });
}

#[test]
fn a_worker_that_was_stopped_for_a_while_goes_on_with_its_pass() {
    let files = Files::new(&[SIZE]);
    workers::one_of_each(|worker| {
        let arm = worker.arm(worker.runtime.methods[0].name);
        let (mut link, _) = worker.start(&arm);
        let job = plain(&arm, &files, SIZE);
        link.prepare(&job).unwrap();
        signal(link.pid(), "-STOP");
        until_stopped(link.pid());
        let silent = std::thread::scope(|scope| {
            let pid = link.pid();
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(100));
                signal(pid, "-CONT");
            });
            link.go(job.pass, LIMIT)
        });
        assert_eq!(silent.map(|it| it.tally), Ok(expected(&files, SIZE, &job)), "{}", worker.name);

        // One that stays stopped is given up, and killed.
        link.prepare(&job).unwrap();
        signal(link.pid(), "-STOP");
        until_stopped(link.pid());
        let stalled = link.go(job.pass, Duration::from_millis(100));
        assert!(matches!(&stalled, Err(Trouble::Failed(why)) if why.contains("did not answer")), "{stalled:?}");
        let process = format!("/proc/{}", link.pid());
        drop(link);
        assert!(!std::path::Path::new(&process).exists(), "{}", worker.name);
    });
}

pub fn signal(pid: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

/// A signal takes effect some time after kill(1) has returned: in every thread, whose state is behind its name.
pub fn until_stopped(pid: u32) {
    let state = |task: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    };
    let tasks = || std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    while !tasks().filter_map(state).all(|it| it == 'T') {
        std::thread::sleep(Duration::from_millis(1));
    }
}
