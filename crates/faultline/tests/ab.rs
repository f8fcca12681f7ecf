//! Commands of the user's as arms: what is compared, what is refused, and that nothing is left running.

use std::time::Duration;

use schema::{
    findings::{Status, Verdict},
    record::Outcome,
};

use crate::support::{Output, Sandbox, failure};

/// Two commands on one file, in one state.
fn ab(sandbox: &Sandbox, file: &str, commands: [&str; 2], more: &[&str]) -> Output {
    let file = format!("--file={file}");
    let fixed = ["--state=as-is", "--rounds=2", "--budget=20s", "--json"];
    let args: Vec<&str> =
        ["ab"].into_iter().chain(commands).chain([file.as_str()]).chain(fixed).chain(more.iter().copied()).collect();
    sandbox.run(&args)
}

#[test]
fn a_command_and_itself_are_measured_side_by_side_with_a_control() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let command = format!("cksum {file}");
    let record = ab(&sandbox, &file, [&command, &command], &["--shell=none"]).document().record;
    let names: Vec<&str> = record.cells.iter().map(|it| it.arm.short_name()).collect();
    assert_eq!(names, [command.as_str(), command.as_str(), format!("{command} (2)").as_str()]);
    assert!(record.cells[1].control);
    assert_eq!(record.samples.len(), 6);
    let sums: Vec<&str> = record
        .samples
        .iter()
        .map(|it| match &it.outcome {
            Outcome::Ok { tally, .. } => tally.checksum.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(sums.iter().all(|it| *it == sums[0] && *it != "0000000000000000"), "{sums:?}");
}

#[test]
fn the_commands_of_a_record_are_shown_and_not_executed_until_the_user_says_so() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let trace = std::path::PathBuf::from(sandbox.at("trace"));
    let command = format!("cat {file} && touch {}", trace.display());
    let output = ab(&sandbox, &file, [&command, &command], &[]);
    let saved = sandbox.write("saved.json", serde_json::to_string(&output.document().record).unwrap());
    std::fs::remove_file(&trace).unwrap();
    sandbox.run(&["rerun", &saved, "--rounds=2"]).refused(2, &["touch", "--run-commands"]);
    assert!(!trace.exists());
    sandbox.run(&["rerun", &saved, "--rounds=2", "--run-commands"]);
    assert!(trace.exists());
}

#[test]
fn commands_that_print_different_things_are_not_comparable_unless_told_so() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let commands = [format!("cat {file} && echo a"), format!("cat {file} && echo b")];
    let verdicts = |more: &[&str]| -> Vec<Verdict> {
        let findings = ab(&Sandbox::new(), &file, [&commands[0], &commands[1]], more).document().findings;
        let of_rival = |it: &&schema::findings::Comparison| it.arm.contains("echo b");
        findings.comparisons.iter().filter(of_rival).map(|it| it.verdict).collect()
    };
    assert_eq!(verdicts(&[]), [Verdict::NotComparable]);
    assert_ne!(verdicts(&["--anyway"]), [Verdict::NotComparable]);
}

/// Both ways in which an arm is not there: its reason, and exit code 4.
#[track_caller]
fn unavailable(command: &str, more: &[&str], words: &[&str]) {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    let output = ab(&sandbox, &file, [&format!("cat {file}"), command], more).expect(4);
    let document = output.document();
    let cell =
        document.findings.cells.iter().find(|it| it.arm.name.contains(command)).expect("the arm is in the findings");
    assert_eq!(cell.status, Status::Skipped);
    let reason = cell.reason.clone().unwrap_or_default();
    assert!(words.iter().all(|it| reason.contains(it)), "{reason}");
}

#[test]
fn a_command_that_is_not_there_is_named() {
    unavailable("no-such-command-of-anybody", &[], &["no such command"]);
    unavailable("no-such-command-of-anybody", &["--shell=none"], &["cannot be started", "No such file"]);
}

#[test]
fn a_command_that_may_not_be_executed_is_named() {
    unavailable("/etc/passwd", &[], &["126"]);
    unavailable("/etc/passwd", &["--shell=none"], &["cannot be started", "ermission"]);
}

#[test]
fn a_command_that_fails_says_how() {
    unavailable("echo too bad >&2; exit 3", &[], &["status 3", "too bad"]);
}

#[test]
fn a_command_that_hangs_is_killed_with_all_it_started() {
    unavailable("sleep 3117 & sleep 3118", &["--timeout=1s"], &["did not end within 1 s"]);
    assert!(!anybody_runs("3117") && !anybody_runs("3118"));
}

#[test]
fn a_command_that_leaves_processes_behind_is_refused_and_they_are_ended() {
    unavailable("setsid sleep 3119 & true", &[], &["left", "behind"]);
    assert!(!anybody_runs("3119"));
}

/// Whether a sleep of so many seconds is alive, for a moment of patience: it is killed, not yet gone.
fn anybody_runs(seconds: &str) -> bool {
    let runs = || {
        std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            line == format!("sleep\0{seconds}\0").into_bytes()
        })
    };
    (0..50).all(|_| {
        std::thread::sleep(Duration::from_millis(20));
        runs()
    })
}

#[test]
fn a_command_that_writes_to_the_file_ends_the_run() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    let output = ab(&sandbox, &file, [&format!("cat {file}"), &format!("echo x >> {file}")], &["--anyway"]);
    output.sane();
    let record = output.document().record;
    let reasons: Vec<&str> = record
        .samples
        .iter()
        .filter_map(failure)
        .chain(record.cells.iter().filter_map(|it| it.skipped.as_deref()))
        .collect();
    assert!(reasons.iter().any(|it| it.contains("the run ends here")), "{reasons:?}");
    assert!(record.samples.len() < 6, "it went on");
}

#[test]
fn a_command_that_never_reads_the_file_counts_for_nothing_when_it_starts_cold() {
    let sandbox = Sandbox::on(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")));
    let file = sandbox.file("file", 1 << 20);
    let named = format!("--file={file}");
    let args = ["ab", "true", "true", &named, "--state=cold", "--rounds=1", "--budget=20s", "--json"];
    let output = sandbox.run(&args);
    output.sane();
    let record = output.document().record;
    if let Some(reason) = record.cells.iter().find_map(|it| it.skipped.as_deref()) {
        println!("skipped: {reason}");
        return;
    }
    let never = |it: &schema::record::Sample| match &it.outcome {
        Outcome::Invalid { reason } => reason.contains("never read the named file"),
        _ => false,
    };
    assert!(record.samples.iter().all(never), "{:?}", record.samples);
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_runs() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    let named = format!("--file={file}");
    sandbox.run(&["ab", "true", "true", "--file=."]).refused(2, &["folder"]);
    sandbox.run(&["ab", "true", "true", &named, "--name=one"]).refused(2, &["--name"]);
    assert_eq!(sandbox.run(&["ab", "true", &named]).code(), Some(2));
    assert_eq!(sandbox.run(&["ab", "true", "true", &named, "--state=mapped"]).code(), Some(2));
}
