//! Commands whose controller is killed at any moment: the user's folder is as it was, what was saved can be read, and
//! `faultline clean` leaves nothing. A few kills of each command here; `cargo xtask fault kill` makes as many as it is asked for.

use planted::{Effort, Random};

use crate::scene::{AB, CLEAN, Case, HISTORY, JVM, LIMITED, REPRODUCE, RUN, Scene, WRITING, kill, normal};

/// How many commands share the kills and the time.
const CASES: u64 = 8;

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

fn sweep(case: &Case) {
    let name = case.name;
    let normal = match normal(case) {
        Ok(normal) => normal,
        Err(reason) => return println!("skipped: {name} is not killed: {reason}"),
    };
    let (mut kills, mut early, mut left) = (0, 0, Vec::new());
    for seed in Effort::shared(24, CASES).seeds() {
        let moment = normal.mul_f64(Random(seed).share());
        let mut scene = Scene::new();
        let typed = (case.prepare)(&mut scene);
        let mut child = scene.start(&typed);
        std::thread::sleep(moment);
        if child.try_wait().unwrap().is_some() {
            early += 1;
        } else {
            kills += 1;
        }
        kill(&mut child);
        let found = scene.left();
        if !found.is_empty() {
            left.push(format!("{name}, killed after {moment:?} (seed {seed}): {}", found.join("; ")));
        }
    }
    println!("{name}: {kills} killed within {normal:.1?}, {early} ended before, {} left something", left.len());
    assert!(left.is_empty(), "{left:#?}");
}
