//! Commands of which one system call fails: they end with a sentence and a documented exit code, no record is lost, and
//! `faultline clean` leaves nothing. A few calls here; `cargo xtask fault sweep` has each of them fail with each error.

use std::{collections::BTreeMap, os::unix::process::ExitStatusExt};

use planted::{Effort, Planting, Random};

use crate::{
    injector::{self, CallKind, Fault, Intercepted},
    scene::{AB, CLEAN, Case, HISTORY, LIMITED, REPRODUCE, RUN, Scene, WRITING},
    support::{Output, Running},
};

/// How many commands share the faults and the time.
const CASES: u64 = 8;

const IMPORT: Case = Case {
    name: "import",
    prepare: |scene| {
        let file = scene.sandbox.at("stranger.json");
        let record = Planting { seed: 9, rounds: 2, ..Planting::default() }.plant().record;
        std::fs::write(&file, serde_json::to_string(&record).unwrap()).unwrap();
        vec!["import".to_string(), file]
    },
};

/// A command that is watched has a filter of its own, and there can be only one.
const UNWATCHED: Case = Case {
    name: AB.name,
    prepare: |scene| {
        let mut typed = (AB.prepare)(scene);
        typed.push("--observe=none".into());
        typed
    },
};

#[test]
fn a_run_of_which_any_call_fails_says_so_and_loses_and_leaves_nothing() {
    sweep(&RUN);
}

#[test]
fn a_run_under_limits_of_which_any_call_fails_says_so_and_loses_and_leaves_nothing() {
    sweep_if_asked(&LIMITED);
}

#[test]
fn a_writing_run_of_which_any_call_fails_says_so_and_loses_and_leaves_nothing() {
    sweep_if_asked(&WRITING);
}

#[test]
fn ab_of_which_any_call_fails_says_so_and_loses_and_leaves_nothing() {
    sweep_if_asked(&UNWATCHED);
}

#[test]
fn reproduce_of_which_any_call_fails_says_so_and_loses_and_leaves_nothing() {
    sweep_if_asked(&REPRODUCE);
}

#[test]
fn clean_of_which_any_call_fails_says_so_and_another_clean_leaves_nothing() {
    sweep(&CLEAN);
}

#[test]
fn history_of_which_any_call_fails_says_so_and_another_history_lists_all_runs() {
    sweep(&HISTORY);
}

#[test]
fn import_of_which_any_call_fails_says_so_and_leaves_half_of_nothing() {
    sweep(&IMPORT);
}

fn sweep_if_asked(case: &Case) {
    match Effort::is_asked() {
        true => sweep(case),
        false => println!("skipped: {} takes seconds; `cargo xtask fault sweep` has its calls fail", case.name),
    }
}

fn sweep(case: &Case) {
    if let Err(reason) = injector::is_possible() {
        return println!("skipped: {reason}");
    }
    let name = case.name;
    let (untouched, calls) = {
        let mut scene = Scene::new();
        let typed = (case.prepare)(&mut scene);
        let (output, calls) = with(&mut scene, &typed, None);
        assert_eq!(scene.left(), [""; 0], "{output:#?}");
        (output, calls)
    };
    if !matches!(untouched.code(), Some(0 | 3 | 4)) {
        return println!("skipped: {name} does not run here: {untouched:#?}");
    }
    let effort = Effort::shared(16, CASES);
    let (faults, necessary) = faults(&calls, effort.seeds().next().unwrap_or(0));
    let (mut tried, mut missed, mut codes, mut wrong) = (0, 0, BTreeMap::<i32, u32>::new(), Vec::new());
    for (fault, _) in faults.iter().zip(effort.seeds()) {
        let mut scene = Scene::new();
        let typed = (case.prepare)(&mut scene);
        let before = scene.records().len();
        let (output, calls) = with(&mut scene, &typed, Some(*fault));
        let Some(about) = calls.hit else {
            missed += 1;
            continue;
        };
        tried += 1;
        *codes.entry(output.code().unwrap_or(-1)).or_default() += 1;
        // What could not be written to stderr is not there.
        let is_quiet = about.starts_with("descriptor 2,");
        let mut found = ending(case, &output, scene.records().len() > before, is_quiet);
        found.extend(scene.left());
        if !found.is_empty() {
            wrong.push(format!("{name}, {fault} ({about}): {}", found.join("; ")));
        }
    }
    println!(
        "{name}: {tried} faults tried of {necessary} (first and last call of each purpose, each error) and {} in all \
         (calls: {:?}), {missed} without their call, exit codes {codes:?}, {} wrong",
        faults.len(),
        CallKind::ALL.into_iter().zip(calls.calls.map(|it| it.len())).collect::<Vec<_>>(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every call with every error, the first and the last one of each purpose before all others, and how many those are. What
/// is called again in each pass, for the same kind of file, runs the same code in between.
fn faults(calls: &Intercepted, seed: u64) -> (Vec<Fault>, usize) {
    let (mut necessary, mut rest) = (Vec::new(), Vec::new());
    for (kind, calls) in CallKind::ALL.into_iter().zip(&calls.calls) {
        let purposes: Vec<(String, bool)> = calls.iter().map(|it| (purpose(&it.about), it.only_reads)).collect();
        for (at, of) in purposes.iter().enumerate() {
            let is_last = !purposes[at + 1..].contains(of);
            let is_first = !purposes[..at].contains(of);
            let each = kind.errors(&calls[at]).iter().map(|&errno| Fault { kind, nth: at as u64 + 1, errno });
            if is_first || is_last { necessary.extend(each) } else { rest.extend(each) }
        }
    }
    // In any order: what there is time for is a fair part of all.
    let mut random = Random(seed);
    for faults in [&mut necessary, &mut rest] {
        for at in (1..faults.len()).rev() {
            faults.swap(at, random.below(at as u64 + 1) as usize);
        }
        // One of each kind of call in turn: most calls are opens of files that are only read.
        let mut drawn = [0; 8];
        faults.sort_by_cached_key(|it: &Fault| {
            drawn[it.kind as usize] += 1;
            drawn[it.kind as usize]
        });
    }
    let count = necessary.len();
    necessary.append(&mut rest);
    (necessary, count)
}

/// The path or descriptor without the numbers and random names in it.
fn purpose(about: &str) -> String {
    let part = |part: &str| if part.bytes().any(|it| it.is_ascii_digit()) { "#".to_string() } else { part.to_string() };
    about.split('/').map(part).collect::<Vec<_>>().join("/")
}

fn with(scene: &mut Scene, typed: &[String], fault: Option<Fault>) -> (Output, Intercepted) {
    let mut command = scene.command(typed);
    let prepared = injector::prepare(&mut command, fault);
    let running = Running::new(command);
    scene.note(running.pid());
    let interception = prepared.intercept(running.pid());
    let output = running.end();
    let left = scene.wait_for_processes();
    let calls = interception.end();
    assert_eq!(left, [""; 0], "{fault:?}");
    (output, calls)
}

/// What is wrong with how it ended.
fn ending(case: &Case, output: &Output, has_saved: bool, is_quiet: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let code = output.code();
    if output.status.signal().is_some() || output.stderr.contains("panicked") || !matches!(code, Some(0..=5)) {
        wrong.push(format!("it ended by {}: {}", output.status, output.stderr));
    }
    if code != Some(0) && !is_quiet && output.stderr.trim().is_empty() {
        wrong.push(format!("exit code {code:?} without a sentence"));
    }
    // A run that measured something has saved it, or says that it could not.
    let measures = !["clean", "history", "import"].contains(&case.name);
    let says_so =
        is_quiet || ["not saved", "cannot be saved", "not be saved"].iter().any(|it| output.stderr.contains(it));
    if measures && matches!(code, Some(0 | 3 | 4)) && !has_saved && !says_so {
        wrong.push(format!("its record is lost: {}", output.stderr));
    }
    wrong
}
