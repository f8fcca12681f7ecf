//! What `run` says without a target.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::support::Sandbox;

/// The command lines that were suggested.
fn suggested(stderr: &str) -> Vec<&str> {
    stderr.lines().filter_map(|it| Some(it.strip_prefix("  ")?.split_once("   #")?.0)).collect()
}

#[test]
fn without_a_target_nothing_is_measured_and_the_largest_file_is_suggested_with_the_options_as_typed() {
    let sandbox = Sandbox::new();
    sandbox.file("small", 4096);
    sandbox.file("a large one", 1 << 20);
    sandbox.file(".hidden", 2 << 20);
    sandbox.file("evil\u{1b}name", 2 << 20);
    std::os::unix::fs::symlink("/proc/self/exe", sandbox.at("link")).unwrap();
    let before = sandbox.left();
    for json in [&[][..], &["--json"]] {
        let output = sandbox.run(&[&["run", "--state=cold,cached", "--rounds", "7"], json].concat()).expect(2);
        assert_eq!(output.stdout, "");
        let typed = format!("faultline run --state=cold,cached --rounds 7{}", json.first().map_or("", |_| " --json"));
        assert_eq!(
            suggested(&output.stderr),
            [format!("{typed} 'a large one'"), format!("{typed} .")],
            "{}",
            output.stderr
        );
        output.says(&["1 MiB", "evicts", "test file"]);
        assert!(!output.stderr.contains('\u{1b}'));
    }
    assert_eq!(sandbox.left(), before);
    assert_eq!(sandbox.saved(), None);
}

#[test]
fn nothing_is_suggested_that_would_be_refused() {
    let sandbox = Sandbox::new();
    sandbox.file("file", 4096);
    sandbox.file("have.json", 1);
    let refused =
        [(&["run", "--dry-run", "--html", "x.html"][..], "--html"), (&["run", "--json=have.json"], "--force")];
    for (args, says) in refused {
        let output = sandbox.run(args).expect(2);
        assert!(output.stderr.contains(says) && suggested(&output.stderr).is_empty(), "{}", output.stderr);
    }
}

#[test]
fn a_dry_run_without_a_target_promises_no_pass() {
    let sandbox = Sandbox::new();
    sandbox.file("file", 4096);
    let output = sandbox.run(&["run", "--dry-run", "--state=cold"]).expect(2);
    assert_eq!(suggested(&output.stderr).len(), 2, "{}", output.stderr);
    assert!(!output.stderr.contains("evicts") && !output.stderr.contains("takes about"), "{}", output.stderr);
}

/// The command lines that are suggested for a dry run, each of which works.
fn works(sandbox: &Sandbox, asked: &[&str]) -> Vec<String> {
    let output = sandbox.run(&[&["run", "--dry-run", "--state", "cached"], asked].concat()).expect(2);
    // A file of the user's, where nothing here will do.
    for line in suggested(&output.stderr).into_iter().filter(|it| !it.ends_with(" FILE")) {
        let line = line.replacen("faultline", env!("CARGO_BIN_EXE_faultline"), 1);
        let mut shell = std::process::Command::new("sh");
        let status = shell.args(["-c", &line]).current_dir(sandbox.path()).stdout(std::process::Stdio::null()).status();
        assert_eq!(status.unwrap().code(), Some(0), "{line}");
    }
    suggested(&output.stderr).into_iter().map(String::from).collect()
}

#[test]
fn what_is_suggested_works() {
    let sandbox = Sandbox::new();
    sandbox.file("it's -- here", 1 << 20);
    assert_eq!(works(&sandbox, &[]).len(), 2);
}

#[test]
fn what_is_suggested_for_a_trace_is_large_enough_for_its_accesses() {
    let sandbox = Sandbox::new();
    let trace = |name: &str, path: &str, offset: u64| {
        let log = sandbox.write("log", format!("1 pread64(3<{path}>, \"x\", 10, {offset}) = 10\n"));
        sandbox.run(&["trace", "import", &log, "-o", &sandbox.at(name)]).expect(0);
        sandbox.at(name)
    };
    let file = sandbox.file("a large one", 1 << 20);
    let [fits, exceeds] = [("small", 1000), ("large", 8 << 30)].map(|(name, offset)| trace(name, "/elsewhere", offset));
    let ends =
        |lines: Vec<String>| lines.iter().map(|it| it.rsplit_once(' ').unwrap().1.to_string()).collect::<Vec<_>>();
    assert_eq!(ends(works(&sandbox, &["--trace", &fits])), ["one'", "."]);
    let lines = works(&sandbox, &["--trace", &exceeds]);
    let size = format!(" --size {} .", (8u64 << 30) + 10);
    // Where there is room for it.
    assert!(lines.iter().all(|it| it.ends_with(&size) || it.ends_with(" FILE")) && lines.len() == 1, "{lines:?}");
    // A size that was typed stays.
    sandbox.run(&["run", "--size=1MiB", "--trace", &exceeds]).refused(2, &["8589934602"]);
    // The files that it is of are here.
    let here = trace("here", &file, 1000);
    assert_eq!(ends(works(&sandbox, &["--trace", &here])), ["."]);
}

#[test]
fn an_experiment_that_only_writes_or_a_size_suggests_the_folder_alone() {
    let sandbox = Sandbox::new();
    sandbox.file("file", 1 << 20);
    for asked in [&["-e", "write-back"][..], &["--size=2MiB"]] {
        let output = sandbox.run(&[&["run"], asked].concat()).expect(2);
        assert_eq!(suggested(&output.stderr), [format!("faultline run {} .", asked.join(" "))], "{}", output.stderr);
    }
}

#[test]
fn fills_that_are_made_on_a_copy_are_said_to_write() {
    let sandbox = Sandbox::new();
    sandbox.file("file", 1 << 20);
    let says = |fill: &str| sandbox.run(&["run", fill, "--state=cached", "--block=4KiB"]).expect(2).stderr;
    assert_eq!(says("--fill=written=64KiB").matches("writes copies of it").count(), 2);
    assert!(!says("--fill=random").contains("copies"));
}

#[test]
fn an_experiment_of_the_file_as_it_is_evicts_nothing() {
    let sandbox = Sandbox::new();
    sandbox.file("file", 1 << 20);
    let says = |state: &str| sandbox.run(&["run", state, "--block=4KiB"]).expect(2).stderr;
    assert!(says("--state=as-is").contains("evicts nothing"), "{}", says("--state=as-is"));
    assert!(!says("--state=cached,as-is").contains("evicts nothing"));
}

#[test]
fn where_there_is_nothing_to_read_and_nothing_can_be_made_a_file_is_asked_for() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let folder = sandbox.folder("closed");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = sandbox.command(&["run"]);
    command.current_dir(&folder);
    let output = crate::support::Running::new(command).end().expect(2);
    assert_eq!(suggested(&output.stderr), ["faultline run FILE"], "{}", output.stderr);
}
