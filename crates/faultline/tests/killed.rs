//! Commands whose controller is killed at any moment: the user's folder is as it was, what was saved can be read, and
//! `faultline clean` leaves nothing. A few kills of each command here; `cargo xtask fault kill` makes as many as it is asked for.

use std::{
    collections::VecDeque,
    os::unix::process::ExitStatusExt,
    process::Child,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use planted::{Effort, Random, several};

use crate::scene::{AB, CLEAN, Case, GO, HISTORY, JVM, LIMITED, REPRODUCE, RUN, Scene, WRITING, normal};

/// One case of so many is not killed, and shows how long the command takes beside the others.
const SPARED: usize = 8;
/// Of those, the latest that count.
const LATEST: usize = 8;
/// Moments are drawn from so many times the longest life, which the next one may exceed.
const BEYOND: f64 = 1.1;
/// Of a command that ends before most moments, not more cases than this for each kill.
const MOST_CASES: u64 = 8;
const GLANCE: Duration = Duration::from_millis(1);

#[test]
fn a_run_that_is_killed_at_any_moment_leaves_nothing_that_clean_does_not_find() {
    sweep(&RUN);
}

#[test]
fn a_run_under_limits_that_is_killed_at_any_moment_leaves_nothing_that_clean_does_not_find() {
    sweep(&LIMITED);
}

#[test]
fn a_writing_run_that_is_killed_at_any_moment_leaves_nothing_that_clean_does_not_find() {
    sweep(&WRITING);
}

#[test]
fn ab_that_is_killed_at_any_moment_leaves_nothing_that_clean_does_not_find() {
    sweep(&AB);
}

#[test]
fn reproduce_that_is_killed_at_any_moment_leaves_nothing_that_clean_does_not_find() {
    sweep(&REPRODUCE);
}

#[test]
fn clean_that_is_killed_at_any_moment_leaves_nothing_that_another_clean_does_not_find() {
    sweep(&CLEAN);
}

#[test]
fn history_that_is_killed_at_any_moment_leaves_an_index_that_another_history_can_use() {
    sweep(&HISTORY);
}

#[test]
fn a_jvm_run_that_is_killed_at_any_moment_leaves_nothing_that_clean_does_not_find() {
    if !Effort::is_asked() {
        println!("skipped: it compiles a worker for each kill; `cargo xtask fault kill` makes them");
    } else if crate::jvm::has_jdk(None) {
        sweep(&JVM);
    }
}

#[test]
fn a_run_that_is_killed_while_go_builds_its_worker_leaves_nothing_that_clean_does_not_find() {
    if !Effort::is_asked() {
        println!("skipped: it builds a worker for each kill; `cargo xtask fault kill` makes them");
    } else if crate::go::has_go() {
        sweep(&GO);
    }
}

/// What became of a command.
enum Fate {
    /// Killed in one of the four quarters of its life.
    Killed(usize),
    /// It ended before its moment, or was not to be killed.
    Ended,
}

fn sweep(case: &Case) {
    let name = case.name;
    let alone = match normal(case) {
        Ok(alone) => alone,
        Err(reason) => return println!("skipped: {name} is not killed: {reason}"),
    };
    let (lives, kills) = (Mutex::new(VecDeque::from([alone])), AtomicU64::new(0));
    let longest = || *lives.lock().unwrap().iter().max().expect("one at least");
    let effort = Effort::of(3);
    let cases = effort.endless().enumerate().take((MOST_CASES * effort.count()) as usize);
    let tried = several(cases.take_while(|_| kills.load(Ordering::Relaxed) < effort.count()), |(at, seed)| {
        let life = longest();
        let moment = life.mul_f64(BEYOND * Random(seed).share());
        let is_spared = at % SPARED == SPARED - 1;
        let mut scene = Scene::new();
        let typed = (case.prepare)(&mut scene);
        let began = Instant::now();
        let is_killed = killed(&mut scene.start(&typed), (!is_spared).then_some(moment));
        if is_spared {
            let mut lives = lives.lock().unwrap();
            lives.push_back(began.elapsed());
            if lives.len() > LATEST {
                lives.pop_front();
            }
        }
        let fate = match is_killed {
            true => Fate::Killed(((moment.as_secs_f64() / life.as_secs_f64() * 4.0) as usize).min(3)),
            false => Fate::Ended,
        };
        kills.fetch_add(u64::from(is_killed), Ordering::Relaxed);
        let found = scene.left();
        let about = || format!("{name}, killed after {moment:?} (seed {seed}): {}", found.join("; "));
        (fate, (!found.is_empty()).then(about))
    });
    let mut quarters = [0u64; 4];
    for (fate, _) in &tried {
        if let Fate::Killed(quarter) = fate {
            quarters[*quarter] += 1;
        }
    }
    let kills: u64 = quarters.iter().sum();
    let left: Vec<&String> = tried.iter().filter_map(|it| it.1.as_ref()).collect();
    println!(
        "{name}: {} of {} kills, {quarters:?} in the quarters of a life of {alone:.1?} alone and {:.1?} beside others; {} \
         commands ended before or were not killed; {} left something",
        kills,
        effort.count(),
        longest(),
        tried.len() as u64 - kills,
        left.len()
    );
    assert!(left.is_empty(), "{left:#?}");
}

/// Whether it was killed when its moment came, and had not ended.
fn killed(child: &mut Child, moment: Option<Duration>) -> bool {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        let left = moment.map(|it| it.saturating_sub(began.elapsed()));
        if left.is_some_and(|it| it.is_zero()) {
            child.kill().unwrap();
            break;
        }
        std::thread::sleep(left.unwrap_or(GLANCE).min(GLANCE));
    }
    child.wait().unwrap().signal() == Some(libc::SIGKILL)
}
