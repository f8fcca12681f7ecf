//! Commands of which one system call fails: they end with a sentence and a documented exit code, no record is lost, and
//! `faultline clean` leaves nothing. A few calls here; `cargo xtask fault sweep` has each of them fail with each error.

use std::{collections::BTreeMap, os::unix::process::ExitStatusExt};

use planted::{Effort, Planting, Random, several};

use crate::{
    injector::{self, CallKind, Fault, Intercepted},
    scene::{AB, CLEAN, Case, HISTORY, LIMITED, REPRODUCE, RUN, Scene, WRITING},
    support::{Output, Running},
};

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
fn a_record_that_could_not_be_opened_once_is_listed_by_the_next_history() {
    if let Err(reason) = injector::is_possible() {
        return println!("skipped: {reason}");
    }
    let mut scene = Scene::new();
    let typed = (HISTORY.prepare)(&mut scene);
    let (_, calls) = with(&mut scene, &typed, None);
    let opens = &calls.calls[CallKind::Open as usize];
    let records: Vec<usize> = (0..opens.len()).filter(|&at| opens[at].about.contains("planted-2.json")).collect();
    assert!(!records.is_empty(), "{opens:?}");
    for nth in records {
        let tried = attempt(&HISTORY, Fault { kind: CallKind::Open, nth: nth as u64 + 1, errno: libc::EIO });
        assert!(matches!(tried, Some((_, None))), "{tried:?}");
    }
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

/// With one round and one state: each pass makes the same calls again.
fn prepare(case: &Case, scene: &mut Scene) -> Vec<String> {
    let shortened = |it: String| match &it[..] {
        "--state=cold,cached" => "--state=cold".to_string(),
        rounds if rounds.starts_with("--rounds=") => "--rounds=1".to_string(),
        _ => it,
    };
    (case.prepare)(scene).into_iter().map(shortened).collect()
}

fn sweep(case: &Case) {
    if let Err(reason) = injector::is_possible() {
        return println!("skipped: {reason}");
    }
    let name = case.name;
    let (untouched, calls) = {
        let mut scene = Scene::new();
        let typed = prepare(case, &mut scene);
        let (output, calls) = with(&mut scene, &typed, None);
        assert_eq!(scene.left(), [""; 0], "{output:#?}");
        (output, calls)
    };
    if !matches!(untouched.code(), Some(0 | 3 | 4)) {
        return println!("skipped: {name} does not run here: {untouched:#?}");
    }
    let effort = Effort::of(2);
    let faults = faults(&calls, effort.seeds().next().unwrap_or(0));
    let all: Vec<Fault> = faults.iter().flatten().copied().collect();
    let tried = several(all.iter().zip(effort.seeds()), |(fault, _)| attempt(case, *fault));
    let (mut codes, mut missed, mut wrong) = (BTreeMap::<i32, u32>::new(), 0, Vec::new());
    for it in &tried {
        match it {
            Some((code, found)) => {
                *codes.entry(*code).or_default() += 1;
                wrong.extend(found);
            }
            None => missed += 1,
        }
    }
    // Those of one kind are tried before any of the next.
    let mut left = tried.len();
    let [purposes, others, rest] = faults.map(|of_kind| {
        let of_kind = of_kind.len();
        let tried = left.min(of_kind);
        left -= tried;
        format!("{tried} of {of_kind}")
    });
    println!(
        "{name}: {} of {} faults, {}: first and last call of each purpose with each error {purposes}, each other call with \
         one error {others}, with each other error {rest}; {missed} did not come to their call, exit codes {codes:?}, {} \
         wrong or left something; calls {:?}",
        tried.len(),
        all.len(),
        if tried.len() == all.len() { "to the end" } else { "as far as asked for" },
        wrong.len(),
        CallKind::ALL.into_iter().zip(calls.calls.map(|it| it.len())).collect::<Vec<_>>(),
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// How a command ended of which a call failed, and what was wrong; nothing where it did not come to that call.
fn attempt(case: &Case, fault: Fault) -> Option<(i32, Option<String>)> {
    let mut scene = Scene::new();
    let typed = prepare(case, &mut scene);
    let before = scene.records().len();
    let (output, calls) = with(&mut scene, &typed, Some(fault));
    let about = calls.hit?;
    // What could not be written to stderr is not there.
    let is_quiet = about.starts_with("descriptor 2,");
    let mut found = ending(case, &output, scene.records().len() > before, is_quiet);
    found.extend(scene.left());
    let wrong = || format!("{}, {fault} ({about}): {}", case.name, found.join("; "));
    Some((output.code().unwrap_or(-1), (!found.is_empty()).then(wrong)))
}

/// Every call with every error, in the order in which they are tried: the first and the last call of each purpose with each
/// error, then every other call with one error, then the rest. What is called again in each pass, for the same kind of file,
/// runs the same code in between.
fn faults(calls: &Intercepted, seed: u64) -> [Vec<Fault>; 3] {
    let mut random = Random(seed);
    let [mut purposes, mut others, mut rest] = [const { Vec::new() }; 3];
    for (kind, calls) in CallKind::ALL.into_iter().zip(&calls.calls) {
        let names: Vec<(String, bool)> = calls.iter().map(|it| (purpose(&it.about), it.only_reads)).collect();
        for (at, of) in names.iter().enumerate() {
            let is_last = !names[at + 1..].contains(of);
            let is_first = !names[..at].contains(of);
            let errors = kind.errors(&calls[at]);
            let mut each: Vec<Fault> = errors.iter().map(|&errno| Fault { kind, nth: at as u64 + 1, errno }).collect();
            if is_first || is_last {
                purposes.append(&mut each);
            } else {
                others.push(each.swap_remove(random.below(each.len() as u64) as usize));
                rest.append(&mut each);
            }
        }
    }
    // In any order: what there is time for is a fair part of all.
    for faults in [&mut purposes, &mut others, &mut rest] {
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
    [purposes, others, rest]
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
pub fn ending(case: &Case, output: &Output, has_saved: bool, is_quiet: bool) -> Vec<String> {
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
