//! Arms in Go beside native ones: the real Go where there is one, and folders that only look like one.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use lab::runtime::go;
use schema::findings::Status;

use crate::{
    runtimes::{Unfit, is_here, listed, measured, refused, run, status, unavailable},
    support::{Running, Sandbox, short},
};

/// Whether there is a Go; its worker is built then, which on a busy machine would take the budget of a short run.
pub fn has_go() -> bool {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faultline");
    is_here(go::find().and_then(|go| go::worker_of(&go, &"go/mmap".parse()?, &cache)))
}

#[test]
fn native_arms_and_those_in_go_stand_in_one_comparison_from_the_same_states() {
    if !has_go() {
        return;
    }
    let arms = "mmap,go/mmap,go/readat+procs=1,go/mmap+syscall";
    let (document, _) = run(arms, &["--state=cold,cached,mapped"]);
    measured(&document, "go", 9, &["collections", "collection_ns", "loop_bytes_per_s", "minor_faults"]);
    // What it was. One arm had another number of processors, so that is not of the runtime.
    let [(name, about)] = &document.record.runtimes.iter().collect::<Vec<_>>()[..] else { panic!("one Go") };
    assert!(name.starts_with("go 1.") && about["flags"].contains("GOGC=100"), "{name} {about:?}");
    assert!(!about["flags"].contains("GOMAXPROCS=1"), "{about:?}");
    assert!(document.findings.runtimes.iter().all(|it| it.loop_bytes_per_s.unwrap() > 1e6));
}

/// Folders in which no Go is that could be used, and what is said of each.
fn unfit(sandbox: &Sandbox) -> [Unfit; 2] {
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
    unavailable("FAULTLINE_GO", "go/mmap", &unfit(&Sandbox::new()));
}

#[test]
fn a_go_that_cannot_be_used_is_a_usage_error_wherever_it_may_be_named() {
    let sandbox = Sandbox::new();
    let mut unfit = unfit(&sandbox).to_vec();
    unfit.push(("/no/such/go".into(), "/no/such/go (--go) is not a Go installation"));
    refused("--go", &unfit);
}

#[test]
fn the_lists_say_which_go_is_used_or_what_to_install() {
    let sandbox = Sandbox::new();
    let (old, _) = &unfit(&sandbox)[0];
    let methods = ["go/mmap", "go/scanner", "procs", "not available here: Go 1.21.13 is too old"];
    listed("FAULTLINE_GO", old, &methods, &["--  runtime go", "install Go 1.22 or later"]);
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
    dry("--method=read,go/mmap").shows(&["The worker of runtime go is compiled first"]);
    assert!(!dry("--method=read,mmap").stdout.contains("is compiled"));
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 0);
}
