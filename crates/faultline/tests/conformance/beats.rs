//! A thread beside a pass, which says how late it is for deadlines of its own.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use schema::{
    Beside, Consume, Workload,
    beats::{Beats, IDLE_DEADLINES, PERIOD_NS, bin_of},
    protocol::{Hold, Job, Reply, Request, Tally},
};

use super::{
    reading::{Files, LIMIT, expected, plain},
    talking::{answers, described},
    trouble::{signal, until_stopped},
    workers::{self, refusal},
};

const SIZE: u64 = 64 << 10;

/// Of a pass, as far as clocks on both sides of a pipe can say it: no fewer than fit into what was timed, and no more than
/// fit between GO and the reply without the idle ones.
fn fits(beats: &Beats, timed_ns: u64, between_ns: u64) -> bool {
    let most = (between_ns / PERIOD_NS).saturating_sub(IDLE_DEADLINES);
    (timed_ns / PERIOD_NS..=most).contains(&beats.pass.deadlines)
}

#[test]
fn a_pass_beside_a_beat_does_the_same_work_and_has_a_deadline_for_each_period() {
    let files = Files::new(&[SIZE]);
    workers::one_of_each(|worker| {
        for method in worker.runtime.methods.iter().filter(|it| it.can.does(Workload::Scan)) {
            let arm = worker.arm(method.name);
            let (mut link, _) = worker.start(&arm);
            for (hold, threads) in [(Hold::No, 2), (Hold::Warm, 1)] {
                // Of those that keep a position.
                let threads = if method.from_start { 1 } else { threads };
                let job = Job { hold, threads, beside: Beside::Beat, ..plain(&arm, &files, SIZE) };
                if let Err(why) = refusal(link.prepare(&job)) {
                    assert!(worker.excuses(&why), "{} {arm}: {why}", worker.name);
                    continue;
                }
                for go in 1..=2 {
                    let from = Instant::now();
                    let done = link.go(job.pass, LIMIT).unwrap_or_else(|it| panic!("{} {arm}: {it:?}", worker.name));
                    let between = from.elapsed().as_nanos() as u64;
                    let queue_depth = done.tally.queue_depth;
                    let tally = Tally { queue_depth, ..expected(&files, SIZE, &job) };
                    assert_eq!(done.tally, tally, "{} {arm}, {go}", worker.name);
                    let beats = done.beats.unwrap();
                    let timed = done.phases.total_ns();
                    assert!(fits(&beats, timed, between), "{} {arm}: {timed} {between} {beats:?}", worker.name);
                    assert!(beats.pass.wake_ups <= beats.pass.deadlines + 1, "{} {arm}: {beats:?}", worker.name);
                }
            }
        }
    });
}

/// Processor time of a process so far, in ticks.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[11..13].iter().map(|it| it.parse::<u64>().unwrap()).sum()
}

/// A worker that is stopped cannot serve its deadlines, as one cannot whose threads all wait for a page.
#[test]
fn a_worker_that_is_stopped_for_300_ms_was_late_for_every_deadline_in_it() {
    const BLOCK: u64 = 1 << 20;
    let size = 2 * BLOCK;
    let files = Files::new(&[size]);
    workers::one_of_each(|worker| {
        let methods = ["pread", "channel-positional", "preadv"];
        let has = |it: &&&str| worker.runtime.methods.iter().any(|method| method.name == **it);
        let arm = worker.arm(methods.iter().find(has).expect("a method that reads at an offset"));
        let (mut link, _) = worker.start(&arm);
        let pid = link.pid();
        let mut job = Job { beside: Beside::Beat, consume: Consume::Touch, ..plain(&arm, &files, size) };
        (job.block_bytes, job.ops) = (BLOCK, 64);
        // So much work that it is stopped in the middle of it: in processor time, whatever else this machine does.
        loop {
            link.prepare(&job).unwrap();
            let before = ticks(pid);
            link.go(job.pass, LIMIT).unwrap();
            job.ops *= 4;
            if ticks(pid) - before >= 16 {
                break;
            }
        }
        link.prepare(&job).unwrap();
        let (before, is_over) = (ticks(pid), AtomicBool::new(false));
        let done = std::thread::scope(|scope| {
            scope.spawn(|| {
                while ticks(pid) < before + 4 {
                    assert!(!is_over.load(Ordering::Relaxed), "{}: the pass was over first", worker.name);
                    std::thread::sleep(Duration::from_millis(1));
                }
                signal(pid, "-STOP");
                until_stopped(pid);
                std::thread::sleep(Duration::from_millis(300));
                signal(pid, "-CONT");
            });
            let done = link.go(job.pass, LIMIT);
            is_over.store(true, Ordering::Relaxed);
            done
        });
        let beats = done.unwrap().beats.unwrap();
        assert!(beats.pass.max_ns >= 290_000_000, "{}: {beats:?}", worker.name);
        let late: u64 = beats.pass.bins[bin_of(2_000_000) + 1..].iter().sum();
        assert!(late >= 280, "{}: {late} {beats:?}", worker.name);
    });
}

#[test]
fn what_a_worker_does_not_know_to_do_beside_a_pass_it_refuses() {
    let files = Files::new(&[SIZE]);
    workers::one_of_each(|worker| {
        let arm = worker.arm(worker.runtime.methods[0].name);
        let job = Job { beside: Beside::Beat, ..plain(&arm, &files, SIZE) };
        let line = described(&Request::Prepare(Box::new(job))).replace(r#""beside":"beat""#, r#""beside":"a-dance""#);
        let replies = answers(worker.command(&arm), line.as_bytes());
        assert!(matches!(&replies[..], [Reply::Unavailable { .. } | Reply::Failed(_)]), "{}: {replies:?}", worker.name);
    });
}
