//! Arms in Python beside native ones: the real interpreter where there is one, and scripts that only look like one.

use std::{fs, os::unix::fs::PermissionsExt};

use lab::runtime::python;
use schema::findings::Status;

use crate::{
    runtimes::{Unfit, is_here, listed, measured, refused, run, status, unavailable},
    support::{Running, Sandbox, failure, short},
};

fn has_python(version: Option<u32>) -> bool {
    is_here(python::find(version))
}

#[test]
fn native_arms_and_those_in_python_stand_in_one_comparison_from_the_same_states() {
    if !has_python(None) {
        return;
    }
    let methods = "read,python/read,python/preadv,python/mmap+view";
    let (document, _) = run(methods, &["--state=cold,cached,mapped", "--consume=touch"]);
    measured(&document, "python", 9, &["collections", "collection_ns", "first_pass_ns_per_op", "minor_faults"]);
    // One name in two runtimes is two methods.
    assert!(["native/read", "python/read"].iter().all(|it| status(&document, it).0 != Status::Skipped));
    // What it was.
    let [(name, about)] = &document.record.runtimes.iter().collect::<Vec<_>>()[..] else { panic!("one Python") };
    assert!(name.starts_with("python 3.") && about["flags"].contains("-I"), "{name} {about:?}");
}

#[test]
fn two_pythons_are_arms_of_one_experiment() {
    let mut versions: Vec<u32> = python::all().iter().filter(|it| it.fits().is_ok()).map(|it| it.number).collect();
    versions.sort_unstable();
    versions.dedup();
    let [older, .., newer] = versions[..] else {
        println!("skipped: no two versions of Python on this machine");
        return;
    };
    let methods = format!("python/preadv+python={older},python/preadv+python={newer}");
    let (document, _) = run(&methods, &["--state=as-is", "--consume=touch"]);
    assert_eq!(document.record.runtimes.len(), 2, "{:?}", document.record.runtimes);
    assert!(document.findings.cells.iter().all(|it| it.status == Status::Ok), "{:?}", document.findings.cells);
}

#[test]
fn an_option_that_is_not_of_the_method_is_refused_with_those_of_its_own_runtime() {
    let refused = |arm: &str, words: &[&str]| {
        let why = arm.parse::<schema::Arm>().unwrap_err();
        assert!(words.iter().all(|it| why.contains(it)), "{why}");
    };
    refused("python/read+queue_depth=4", &["no option \"queue_depth\"", "switch_us, gil, python"]);
    refused("python/mmap+use=viewx", &["viewx", "view"]);
    refused("python/memmap+random", &["no option \"random\"", "switch_us, gil, python"]);
    refused("python/stdio", &["unknown method \"stdio\" of runtime python"]);
}

/// A script that answers, when it is asked what it is, with this version and numpy's, and does this when it is started as a worker.
fn script(sandbox: &Sandbox, name: &str, version: [u32; 3], kind: &str, then: &str) -> String {
    let path = sandbox.write(name, "");
    let libraries = std::path::Path::new(&path).parent().unwrap();
    let [major, minor, patch] = version;
    let answer = serde_json::json!({
        "program": path,
        "kind": kind,
        "version": format!("{major}.{minor}.{patch}"),
        "number": major * 100 + minor,
        "libraries": libraries,
        "free_threaded": false,
        "numpy": null,
    });
    // The question has four words, and a worker more.
    let text = format!("#!/bin/sh\nif [ $# = 4 ]; then echo '{answer}'; exit; fi\n{then}\n");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Programs that are no Python that could be used, and what is said of each.
fn unfit(sandbox: &Sandbox) -> Vec<Unfit> {
    let old = script(sandbox, "old", [3, 8, 18], "cpython", "");
    let other = script(sandbox, "other", [3, 10, 13], "pypy", "");
    let mute = sandbox.write("mute", "#!/bin/sh\nexit 3\n");
    let babbler = sandbox.write("babbler", "#!/bin/sh\necho hello\n");
    for program in [&mute, &babbler] {
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    vec![
        (old, "Python 3.8.18 is too old; install Python 3.9 or later"),
        (other, "Python 3.10.13 is pypy; install CPython"),
        (mute, "is not a Python that can be used: it ended with exit status: 3"),
        (babbler, "is not a Python that can be used: it does not say what it is"),
        (sandbox.folder("nothing"), "name a Python of version 3.9 or later, or the folder of an environment"),
    ]
}

#[test]
fn without_a_fitting_python_its_arms_are_unavailable_and_everything_else_runs() {
    let sandbox = Sandbox::new();
    unavailable("FAULTLINE_PYTHON", "python/preadv", &unfit(&sandbox));
    // A version that nobody has.
    let (document, output) = run("read,python/preadv+python=399", &["--state=as-is"]);
    assert_eq!(output.code(), Some(4));
    let reason = status(&document, "python/preadv+python=399").1;
    assert!(reason.contains("no Python 3.99 was found") || reason.contains("no Python was found"), "{reason}");
}

#[test]
fn a_python_that_cannot_be_used_is_a_usage_error_wherever_it_may_be_named() {
    let sandbox = Sandbox::new();
    refused("--python", &unfit(&sandbox));
}

#[test]
fn the_lists_say_which_python_is_used_or_what_to_install() {
    let sandbox = Sandbox::new();
    let (old, _) = unfit(&sandbox).swap_remove(0);
    let methods = ["python/preadv", "python/lines", "not available here: Python 3.8.18 is too old"];
    listed("FAULTLINE_PYTHON", &old, &methods, &["--  runtime python", "install Python 3.9 or later"]);
    let fits = script(&sandbox, "fits", [3, 13, 0], "cpython", "");
    listed("FAULTLINE_PYTHON", &fits, &["Python 3.13.0", "without numpy"], &["runtime python"]);
}

/// What becomes of passes whose worker is this script instead of Python.
fn runs_on(then: &str, words: &[&str]) {
    let sandbox = Sandbox::new();
    let python = script(&sandbox, "python", [3, 13, 0], "cpython", then);
    let file = sandbox.file("file", 1 << 20);
    let args =
        ["--json", "--rounds=2", "--method=read,python/preadv", "--state=as-is", "--budget=44s", "--python", &python];
    let output = Running::new(sandbox.command(&short(&file, &args))).end();
    output.sane();
    let document = output.document();
    assert_eq!(status(&document, "native/read").0, Status::Ok, "the run went on");
    let failed: Vec<&str> = document.record.samples.iter().filter_map(failure).collect();
    assert!(!failed.is_empty(), "passes in Python failed");
    for word in words {
        assert!(failed.iter().all(|it| it.contains(word)), "{word:?} is not in {failed:?}");
    }
}

const HELLO: &str = r#"read request; echo '{"hello":{"protocol":1,"runtime":"python 3.13.0","methods":[]}}'"#;

#[test]
fn a_python_that_is_another_one_than_it_says_is_named_and_the_run_goes_on() {
    let Ok(real) = python::find(None) else { return println!("skipped: there is no Python that could be another one") };
    let lie = format!("exec '{}' \"$@\"", real.program.display());
    let truth = format!("says it is Python 3.13.0 is Python {}", real.version);
    match real.version.as_str() {
        "3.13.0" => println!("skipped: the Python here is the one that the script says it is"),
        _ => runs_on(&lie, &["status 1", &truth, "name another one with --python"]),
    }
}

#[test]
fn a_python_that_dies_or_babbles_leaves_its_last_words_and_the_run_goes_on() {
    runs_on(
        "read request; echo 'Fatal Python error: init_sys_streams'; read more",
        &["not a reply", "Fatal Python error"],
    );
    runs_on(&format!("{HELLO}; read request; echo 'MemoryError' >&2; exit 3"), &["status 3", "MemoryError"]);
    runs_on(&format!("{HELLO}; read request; kill -BUS $$"), &["killed by SIGBUS", "truncated"]);
}

#[test]
fn variables_that_change_an_interpreter_reach_none() {
    let sandbox = Sandbox::new();
    let seen = sandbox.folder("seen");
    // Of the question, and of a worker.
    let python = sandbox.write("python", format!("#!/bin/sh\necho \"$@\" > '{seen}'/$#\nenv >> '{seen}'/$#\nexit 1\n"));
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let answering = script(&sandbox, "answering", [3, 13, 0], "cpython", &format!("exec '{python}' \"$@\""));
    let file = sandbox.file("file", 1 << 20);
    for program in [&python, &answering] {
        let mut command =
            sandbox.command(&short(&file, &["--method=read,python/preadv", "--state=as-is", "--rounds=1"]));
        command.env("FAULTLINE_PYTHON", program).env("PYTHONHOME", "/nowhere").env("PYTHONSAFEPATH", "");
        Running::new(command).end().sane();
    }
    let files: Vec<_> = fs::read_dir(&seen).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("-I -B -c ") && text.contains("\nHOME="), "{text}");
        assert!(!text.contains("\nPYTHON"), "{text}");
        assert_eq!(text.contains("\nOPENBLAS_NUM_THREADS=1\n"), !path.ends_with("4"), "{text}");
    }
}

#[test]
fn of_a_pass_in_python_the_reads_are_counted_and_not_those_of_the_worker() {
    if !has_python(None) {
        return;
    }
    let (document, _) = run("python/mmap+view,python/pread", &["--state=cached", "--threads=1,4", "--consume=touch"]);
    let record = &document.record;
    let mut counted = 0;
    for sample in record.samples.iter().filter(|it| matches!(it.outcome, schema::record::Outcome::Ok { .. })) {
        let cell = &record.cells[sample.cell];
        let Some(calls) = sample.readings["read_calls"].value() else { continue };
        let of_pass = if cell.arm.method == "mmap" { 0 } else { record.conditions[cell.condition].ops };
        assert_eq!(*calls, of_pass as f64, "{}", cell.arm);
        counted += 1;
    }
    assert!(counted > 0);
}
