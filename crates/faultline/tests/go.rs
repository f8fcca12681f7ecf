//! Arms in Go beside native ones: the real Go where there is one, and folders that only look like one.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use lab::runtime::go;
use schema::findings::{CellFinding, Document, Status};

use crate::support::{Output, Running, Sandbox, short};

/// Whether there is a Go; its worker is built then, which on a busy machine would take the budget of a short run.
pub fn has_go() -> bool {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faultline");
    let found = go::find().and_then(|go| go::worker_of(&go, &"go/mmap".parse()?, &cache));
    if let Err(reason) = &found {
        println!("skipped: {reason}");
    }
    found.is_ok()
}

/// A short run, as a document, with a Go that the environment names.
fn run(methods: &str, more: &[&str], go: &str) -> (Document, Output) {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 2 << 20);
    let methods = format!("--method={methods}");
    let mut args = vec!["--json", "--rounds=1", "--budget=60s", &methods];
    args.extend(more);
    let mut command = sandbox.command(&short(&file, &args));
    command.env("FAULTLINE_GO", go);
    let output = Running::new(command).end();
    output.sane();
    (output.document(), output)
}

#[track_caller]
fn status(document: &Document, arm: &str) -> (Status, String) {
    let cell = document.findings.cells.iter().find(|it| it.arm.name == arm).expect("a cell of that arm");
    (cell.status, report::words::reasons(&cell.reasons).unwrap_or_default())
}

#[test]
fn native_arms_and_those_in_go_stand_in_one_comparison_from_the_same_states() {
    if !has_go() {
        return;
    }
    let arms = "mmap,go/mmap,go/readat+procs=1,go/mmap+syscall";
    let (document, _) = run(arms, &["--state=cold,cached,mapped"], "");
    assert_eq!(document.findings.comparisons.len(), 9);
    // A busy machine may take a page away, which is seen and makes a pass invalid; nothing else goes wrong.
    for cell in &document.findings.cells {
        let lost = report::words::reasons(&cell.reasons).unwrap_or_default();
        let disturbed = cell.status == Status::Invalid && lost.contains("page cache");
        assert!(cell.status == Status::Ok || disturbed, "{} {lost}", cell.arm);
    }
    let good = |it: &&CellFinding| it.arm.runtime == "go" && it.status == Status::Ok;
    assert!(document.findings.cells.iter().filter(good).count() >= 6, "{:?}", document.findings.cells);
    // What it was, and what it did. One arm had another number of processors, so that is not of the runtime.
    let [(name, about)] = &document.record.runtimes.iter().collect::<Vec<_>>()[..] else { panic!("one Go") };
    assert!(name.starts_with("go 1.") && about["flags"].contains("GOGC=100"), "{name} {about:?}");
    assert!(!about["flags"].contains("GOMAXPROCS=1"), "{about:?}");
    let of_go = |cell: usize| document.record.cells[cell].arm.runtime == "go";
    let sample = document.record.samples.iter().find(|it| of_go(it.cell)).unwrap();
    for name in ["collections", "collection_ns", "loop_bytes_per_s", "minor_faults"] {
        assert!(sample.readings.contains_key(name), "{name} is not in {:?}", sample.readings);
    }
    assert!(document.findings.runtimes.iter().all(|it| it.loop_bytes_per_s.unwrap() > 1e6));
}

/// Folders in which no Go is that could be used, and what is said of each.
fn unfit(sandbox: &Sandbox) -> [(String, &'static str); 2] {
    let old = home(sandbox, "old", "go1.21.13", "");
    [
        (old, "Go 1.21.13 is too old; install Go 1.22 or later"),
        (sandbox.folder("nothing"), "is not a Go installation; name the folder of Go 1.22 or later"),
    ]
}

/// A folder that looks like a Go, whose program is this shell script.
fn home(sandbox: &Sandbox, name: &str, version: &str, script: &str) -> String {
    let home = sandbox.folder(name);
    sandbox.folder(&format!("{name}/bin"));
    sandbox.write(&format!("{name}/VERSION"), format!("{version}\n"));
    let path = sandbox.write(&format!("{name}/bin/go"), format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    home
}

#[test]
fn without_a_fitting_go_its_arms_are_unavailable_and_everything_else_runs() {
    for (go, words) in unfit(&Sandbox::new()) {
        let (document, output) = run("read,mmap,go/mmap", &[], &go);
        assert_eq!(output.code(), Some(4), "an arm that was asked for is unavailable");
        assert_eq!(status(&document, "native/read").0, Status::Ok);
        let (skipped, reason) = status(&document, "go/mmap");
        assert!(skipped == Status::Skipped && reason.contains(words), "{reason}");
    }
}

#[test]
fn a_go_that_cannot_be_used_is_a_usage_error_wherever_it_may_be_named() {
    let sandbox = Sandbox::new();
    let (file, folder) = (sandbox.file("file", 1 << 20), sandbox.folder("here"));
    let mut unfit = unfit(&sandbox).to_vec();
    unfit.push(("/no/such/go".into(), "/no/such/go (--go) is not a Go installation"));
    let commands: [&[&str]; 6] = [
        &["run", &file, "--method=read,mmap"],
        &["run", &file, "--dry-run"],
        &["list", "methods"],
        &["doctor", &folder],
        &["reproduce"],
        &["rerun", "last"],
    ];
    for command in commands {
        for (go, words) in &unfit {
            sandbox.run(&[command, &["--go", go]].concat()).refused(2, &["--go", words]);
        }
    }
    assert_eq!(sandbox.saved(), None);
}

#[test]
fn the_lists_say_which_go_is_used_or_what_to_install() {
    let sandbox = Sandbox::new();
    let (old, _) = unfit(&sandbox)[0].clone();
    let with_old = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command.env("FAULTLINE_GO", &old);
        Running::new(command).end()
    };
    let listed = with_old(&["list", "methods"]).expect(0);
    listed.shows(&["go/mmap", "go/scanner", "procs", "not available here: Go 1.21.13 is too old"]);
    let folder = sandbox.folder("here");
    with_old(&["doctor", &folder]).shows(&["--  runtime go", "install Go 1.22 or later"]);
}

/// What a Go that would have to load something says, as `GOPROXY=off` makes it; and one that was not asked for that.
#[test]
fn a_go_that_cannot_build_without_the_network_is_quoted_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let script = "test \"$GOPROXY $GOTOOLCHAIN $GOENV $CGO_ENABLED$GOFLAGS\" = 'off local off 0' || exit 9\n\
                  : > \"$GOCACHE.of\"; mkdir \"$GOCACHE\"; : > \"$GOTMPDIR/b001\"\n\
                  echo '# faultline' >&2; echo 'go: module lookup disabled by GOPROXY=off' >&2; exit 1";
    let go = home(&sandbox, "go", "go1.99", script);
    let cache = sandbox.folder("cache");
    let file = sandbox.file("file", 1 << 20);
    let mut command = sandbox.command(&short(&file, &["--json", "--method=read,mmap,go/mmap", "--go", &go]));
    // Of the user's own programs.
    command.env("GOFLAGS", "-mod=mod").env("GOPROXY", "direct").env("XDG_CACHE_HOME", &cache);
    let output = Running::new(command).end();
    output.sane();
    assert_eq!(output.code(), Some(4));
    let document = output.document();
    assert_eq!(status(&document, "native/read").0, Status::Ok, "the run went on");
    let reason = status(&document, "go/mmap").1;
    assert!(reason.contains("Go 1.99 could not build the worker: go: module lookup disabled"), "{reason}");
    assert_eq!(fs::read_dir(format!("{cache}/faultline")).unwrap().count(), 0);
}

#[test]
fn a_dry_run_says_that_the_worker_is_compiled_first_and_makes_nothing() {
    let sandbox = Sandbox::new();
    let go = home(&sandbox, "go", "go1.99", "exit 9");
    let cache = sandbox.folder("cache");
    let file = sandbox.file("file", 1 << 20);
    let dry = |method: &str| {
        let mut command = sandbox.command(&["run", &file, "--dry-run", "--go", &go, method]);
        command.env("XDG_CACHE_HOME", &cache);
        Running::new(command).end().expect(0)
    };
    dry("--method=read,go/mmap").shows(&["The worker of runtime go is compiled before its first pass"]);
    assert!(!dry("--method=read,mmap").stdout.contains("is compiled"));
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 0);
}
