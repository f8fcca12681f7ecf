//! Commands of the user's as arms: what is compared, what is refused, and that nothing is left running.

use std::{os::unix::process::CommandExt, process::Stdio, time::Duration};

use schema::{
    Record, Skip, Span, State,
    command::Spec,
    findings::{Status, Verdict},
    protocol::{Hold, Job, Permit, Reply, Request},
    record::{Outcome, Reading, Sample},
};

use crate::support::{Output, Running, Sandbox, children, failure, limit};

/// Two commands on one file, in one state.
fn ab(sandbox: &Sandbox, file: &str, commands: [&str; 2], more: &[&str]) -> Output {
    let file = format!("--file={file}");
    let fixed = ["--state=as-is", "--rounds=2", "--budget=5m", "--json"];
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
fn started_with_ended_children_ignored_all_passes_count_and_commands_wait_for_theirs() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    // The sixteenth bit of the mask is SIGCHLD, 17 (proc_pid_status(5)).
    let command = format!("grep -q '^SigIgn:.*[02468ace]....$' /proc/self/status && cat {file}");
    let named = format!("--file={file}");
    let args = ["ab", &command, &command, &named, "--state=as-is", "--rounds=2", "--budget=5m", "--json"];
    let mut started = sandbox.command(&args);
    let ignore = || {
        // SAFETY: signal(2) is async-signal-safe and touches no memory of this process.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        Ok(())
    };
    // SAFETY: the closure makes one async-signal-safe call.
    unsafe { started.pre_exec(ignore) };
    let record = Running::new(started).end().document().record;
    assert_eq!(record.samples.iter().filter(|it| matches!(it.outcome, Outcome::Ok { .. })).count(), 6);
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
    // It does not lie among the runs of this machine, so its file is named.
    let target = format!("--target={file}");
    let refusal = sandbox.run(&["rerun", &saved, &target, "--rounds=2"]);
    assert!(!refusal.stderr.contains("\\n"), "{refusal:#?}");
    assert!(refusal.stderr.contains(&format!("  line: {command}\n")), "{refusal:#?}");
    refusal.expect(2).says(&["touch", "--run-commands"]);
    assert!(!trace.exists());
    sandbox.run(&["rerun", &saved, &target, "--size=1MiB", "--run-commands"]).expect(2).says(&["--size", "commands"]);
    assert!(!trace.exists());
    // However long it is, all of it is shown, also before it is executed.
    let padding = "x".repeat(3000);
    let long = std::fs::read_to_string(&saved).unwrap().replace("&& touch", &format!("&& true {padding} && touch"));
    let long = sandbox.write("long.json", long);
    for more in [&[][..], &["--run-commands"]] {
        let output = sandbox.run(&[&["rerun", &long, &target, "--rounds=2"], more].concat());
        assert!(output.stderr.contains(&format!("&& true {padding} && touch")), "{output:#?}");
    }
    assert!(trace.exists());
    std::fs::remove_file(&trace).unwrap();
    sandbox.run(&["rerun", &saved, &target, "--rounds=2", "--run-commands"]);
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
    let reason = report::words::reasons(&cell.reasons).unwrap_or_default();
    assert!(words.iter().all(|it| reason.contains(it)), "{reason}");
}

#[test]
fn a_command_that_is_not_there_is_named() {
    unavailable("no-such-command-of-anybody", &[], &["no such command"]);
    unavailable("true", &["--shell=/no/such/shell"], &["/no/such/shell", "--shell"]);
    unavailable("no-such-command-of-anybody", &["--shell=none"], &["cannot be started", "No such file"]);
}

#[test]
fn a_command_that_may_not_be_executed_is_named() {
    unavailable("/etc/passwd", &[], &["126"]);
    unavailable("/etc/passwd", &["--shell=none"], &["cannot be started", "ermission"]);
}

#[test]
fn a_command_that_fails_says_how() {
    unavailable("echo too bad >&2; exit 3", &[], &["status 3", "too bad", "--anyway"]);
}

#[test]
fn a_command_that_hangs_is_killed_with_all_it_started() {
    unavailable("sleep 3117 & sleep 3118", &["--timeout=1s"], &["did not exit within 1 s"]);
    assert!(!anybody_runs("3117") && !anybody_runs("3118"));
}

#[test]
fn a_command_that_leaves_processes_behind_is_refused_and_they_are_named_and_ended() {
    // On a busy machine the process may still be `setsid`, or the shell, when it is found.
    unavailable("setsid sleep 3119 & true", &[], &["left processes behind"]);
    assert!(!anybody_runs("3119"));
    // One that keeps the pipe of its output full is no reason to wait either.
    unavailable("setsid yes 3126 & true", &[], &["left processes behind"]);
    assert!(!anybody_runs("3126"));
}

#[test]
fn what_is_written_just_after_the_command_has_ended_is_its_output_too() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    // It writes once its parent has been waited for.
    let late = "(while kill -0 $$ 2> /dev/null; do :; done; echo late) &";
    let document = ab(&sandbox, &file, [late, late], &[]).document();
    let mut seen = 0;
    for sample in &document.record.samples {
        // On a busy machine the process may still run when its time is over, and then the execution has failed.
        if let Outcome::Ok { .. } = &sample.outcome {
            assert_eq!(sample.readings["output_bytes"], Reading::Value(5.0));
            seen += 1;
        }
    }
    println!("{seen} of {} executions", document.record.samples.len());
}

#[test]
fn nothing_runs_on_when_the_user_stops_the_run_or_somebody_kills_it() {
    for (signal, code, seconds) in [(libc::SIGINT, Some(130), "3121"), (libc::SIGKILL, None, "3122")] {
        let sandbox = Sandbox::new();
        let file = sandbox.file("file", 4096);
        let (waits, detached) = (format!("sleep {seconds} | cat"), format!("(setsid sleep {seconds}; true) & wait"));
        let named = format!("--file={file}");
        let mut running = sandbox.start(&["ab", &waits, &detached, &named, "--state=as-is", "--budget=44s"]);
        running.until(|| is_there(seconds).then_some(())).expect("it started");
        running.signal(signal);
        let output = running.end();
        assert_eq!(output.code(), code, "{output:?}");
        assert!(!anybody_runs(seconds), "{signal}");
    }
}

#[test]
fn nothing_runs_on_when_the_run_and_its_worker_are_killed_at_once() {
    for more in ["--observe=none", "--observe=ptrace"] {
        let seconds = if more == "--observe=none" { "3127" } else { "3128" };
        let sandbox = Sandbox::new();
        let named = format!("--file={}", sandbox.file("file", 4096));
        let waits = format!("(sleep {seconds}; true) & wait");
        let mut running = sandbox.start(&["ab", &waits, &waits, &named, "--state=as-is", "--budget=44s", more]);
        running.until(|| is_there(seconds).then_some(())).expect("it started");
        let workers = children(running.pid());
        // A worker that is stopped cannot end anything before it is killed itself.
        let signal = |pid: u32, signal| {
            // SAFETY: kill(2) touches no memory; both processes are this test's, and have not been waited for.
            unsafe { libc::kill(pid as i32, signal) };
        };
        workers.iter().for_each(|it| signal(it.0, libc::SIGSTOP));
        signal(running.pid(), libc::SIGKILL);
        workers.iter().for_each(|it| signal(it.0, libc::SIGKILL));
        running.end();
        assert!(!anybody_runs(seconds), "{more}");
    }
}

#[test]
fn a_preparation_that_hangs_is_ended_too() {
    unavailable("true", &["--prepare=sleep 3123 | cat", "--timeout=1s"], &["--prepare", "did not exit within 1 s"]);
    assert!(!anybody_runs("3123"));
}

#[test]
fn a_preparation_that_fails_is_as_one_that_hangs_and_is_not_tried_for_each_command() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    let trace = sandbox.at("trace");
    let prepare = format!("--prepare=echo x >> {trace}; exit 3");
    let record = ab(&sandbox, &file, ["true", "false"], &[&prepare]).expect(4).document().record;
    assert!(record.cells.iter().all(|it| matches!(it.skipped, Some(Skip::Failed(_)))), "{:?}", record.cells);
    assert_eq!(std::fs::read_to_string(trace).unwrap().lines().count(), 1);
}

/// Whether a command whose `--cleanup` takes away what its `--prepare` made leaves nothing behind.
#[track_caller]
fn cleans_up(command: &str, prepare: &str, more: &[&str], stopped_while: Option<&str>) {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    let made = sandbox.at("made");
    let prepare = format!("--prepare=touch {made}; {prepare}");
    let (named, cleanup) = (format!("--file={file}"), format!("--cleanup=rm {made}"));
    let fixed = ["ab", command, command, &named, &prepare, &cleanup, "--state=as-is", "--rounds=2"];
    let mut running = sandbox.start(&[&fixed, more].concat());
    if let Some(seconds) = stopped_while {
        running.until(|| is_there(seconds).then_some(())).expect("it started");
        running.signal(libc::SIGINT);
    }
    let output = running.end();
    output.sane();
    assert_eq!(output.code() == Some(130), stopped_while.is_some(), "{output:?}");
    assert!(!std::path::Path::new(&made).exists(), "{output:?}");
    assert!(stopped_while.is_none_or(|it| !anybody_runs(it)));
}

#[test]
fn what_was_prepared_is_cleaned_up_after_a_failure_and_when_the_user_stops_the_run() {
    cleans_up("sleep 3133", "true", &["--observe=none", "--timeout=5s"], None);
    cleans_up("kill -9 $$", "true", &["--observe=none"], None);
    cleans_up("true", "false", &[], None);
    cleans_up("sleep 3134", "true", &["--observe=none"], Some("3134"));
    cleans_up("true", "sleep 3135", &["--observe=none"], Some("3135"));
    // While it is watched, too.
    cleans_up("sleep 3136", "true", &["--observe=ptrace"], Some("3136"));
    cleans_up("sleep 3137", "true", &[], Some("3137"));
}

#[test]
fn every_execution_under_a_memory_limit_has_a_preparation_of_its_own_before_it() {
    use std::io::{BufRead, BufReader, Write};
    let sandbox = Sandbox::new();
    let trace = sandbox.at("trace");
    let says = |what: &str| format!("echo {what} >> {trace}");
    let spec = Spec {
        line: says("command"),
        name: "command".into(),
        shell: Some("/bin/sh".into()),
        prepare: Some(says("prepare")),
        cleanup: Some(says("cleanup")),
        timeout_s: 20,
        compared: schema::command::Compared::Output,
    };
    let job = Job {
        hold: Hold::Open,
        permit: Permit { execute: true, ..Permit::default() },
        ..Job::new(&spec.arm(), "/dev/null", Span { offset: 0, bytes: 1 })
    };
    let mut command = sandbox.command(&["worker"]);
    let mut worker = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (worker.stdin.take().unwrap(), BufReader::new(worker.stdout.take().unwrap()));
    let say = |input: &mut std::process::ChildStdin, request: Request| {
        writeln!(input, "{}", serde_json::to_string(&request).unwrap()).unwrap();
    };
    let mut ask = |request: Request| -> Reply {
        say(&mut input, request);
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    let traced = || std::fs::read_to_string(&trace).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    for (warm, before) in [(1, "prepare"), (0, "prepare command cleanup prepare")] {
        let prepared = ask(Request::Prepare(Box::new(job.clone())));
        assert!(matches!(prepared, Reply::Prepared { .. }), "{prepared:?}");
        assert_eq!(traced(), before);
        let done = ask(Request::Go { pass: 1, warm });
        assert!(matches!(done, Reply::Done(_)), "{done:?}");
        // What cleans up comes after everything that is looked at once a pass is done.
        assert_eq!(traced(), format!("{before} command"));
    }
    say(&mut input, Request::Bye {});
    assert!(worker.wait().unwrap().success());
    assert_eq!(traced(), "prepare command cleanup prepare command cleanup");
}

#[test]
fn a_cleanup_that_fails_makes_its_command_unavailable() {
    unavailable("true", &["--cleanup=exit 3", "--observe=none"], &["--cleanup \"exit 3\" failed"]);
}

/// Takes a file out of the page cache, where it lies on a disk.
fn evicts(file: &str) -> String {
    format!("dd if={file} iflag=nocache count=0 status=none")
}

fn cached(record: &Record) -> Vec<&Sample> {
    let state = |it: &&Sample| record.conditions[record.cells[it.cell].condition].state;
    record.samples.iter().filter(|it| state(it) == State::Cached).collect()
}

#[test]
fn a_command_finds_its_file_in_the_page_cache_whatever_its_preparation_and_its_cleanup_evict() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let cat = format!("cat {file}");
    for option in ["prepare", "cleanup"] {
        let evicts = format!("--{option}={}", evicts(&file));
        let record =
            ab(&sandbox, &file, [&cat, &cat], &["--state=cached", "--observe=none", &evicts]).document().record;
        let cached = cached(&record);
        assert_eq!(cached.len(), 6, "{option}");
        // The kernel may take a page away before some passes; what a command evicts is missing in each that follows.
        let valid = cached.iter().filter(|it| matches!(it.outcome, Outcome::Ok { .. })).count();
        assert!(valid >= 3, "{option}: {cached:?}");
    }
}

#[test]
fn a_fill_is_looked_at_again_before_a_pass_that_lost_it_has_it_made_anew() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let stays = format!("cat {file}");
    let evicts = format!("{stays}; {}", evicts(&file));
    let record = ab(&sandbox, &file, [&stays, &evicts], &["--state=cached", "--observe=none"]).document().record;
    let lost = cached(&record).iter().filter(|it| matches!(it.outcome, Outcome::Invalid { .. })).count();
    // The kernel may take a page away, too.
    assert!(lost >= 2 && record.fills.len() > 1, "{:?}", record.samples);
    assert!(record.fills.iter().all(|it| it.looked_again.is_some()), "{:?}", record.fills);
}

#[test]
fn a_command_that_wants_a_terminal_gets_none_and_the_reason_says_so() {
    unavailable("cat /dev/tty", &[], &["/dev/tty", "commands have no terminal here"]);
}

#[test]
fn a_command_finds_nothing_on_its_standard_input() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    // What is named is opened too, or there would be nothing to measure.
    let [given, nothing] = ["cat | cksum", "cksum < /dev/null"].map(|it| format!("{it}; : < {file}"));
    let record = ab(&sandbox, &file, [&given, &nothing], &[]).document().record;
    let sums = record.samples.iter().map(|it| match &it.outcome {
        Outcome::Ok { tally, .. } => tally.checksum.clone(),
        other => panic!("{other:?}"),
    });
    assert_eq!(sums.collect::<std::collections::BTreeSet<String>>().len(), 1);
}

/// A command that works for a third of a second, in the user's time and with memory of its own, which it keeps for two
/// seconds, so that it is seen on a busy machine, too.
const BUSY: &str =
    "awk 'BEGIN { for (i = 0; i < 2000000; i++) { n += i % 7; a[i % 300000] = i } system(\"sleep 2\") }'";

#[test]
fn what_a_command_used_is_its_own_and_its_childrens_and_bounds_what_reading_can_be() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let work = format!("cat {file} > /dev/null; {BUSY}");
    let document = ab(&sandbox, &file, [&work, &work], &["--name=one", "--name=other"]).document();
    let of = |name: &str| -> Vec<f64> {
        document
            .record
            .samples
            .iter()
            .map(|it| *it.readings[name].value().unwrap_or_else(|| panic!("{name}")))
            .collect()
    };
    // cat reads the file in some calls; this program's own reading of /proc and of pipes is not in it.
    assert!(
        of("read_call_bytes").iter().all(|&it| (1048576.0..1200000.0).contains(&it)),
        "{:?}",
        of("read_call_bytes")
    );
    assert!(of("peak_anonymous_bytes").iter().all(|&it| it > 5e6), "{:?}", of("peak_anonymous_bytes"));
    let sums = of("peak_anonymous_bytes").into_iter().zip(of("peak_file_bytes")).zip(of("peak_memory_bytes"));
    assert!(sums.into_iter().all(|((anonymous, file), all)| all <= anonymous + file && all >= anonymous.max(file)));
    let commands = &document.findings.commands;
    assert_eq!(commands.len(), 2);
    for command in commands {
        let time = command.time.value().unwrap();
        assert!(time.user_share > 0.0 && (0.0..=1.0).contains(&time.reading_at_most), "{time:?}");
    }
}

#[test]
fn what_children_spent_that_the_kernel_reaped_is_unknown_and_not_nothing() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let reader = crate::observing::reader();
    let commands = ["disowned {file}", "read {file} 4096 256"].map(|it| it.replace("{file}", &file));
    let commands = commands.map(|it| format!("{reader} {it}"));
    let document = ab(&sandbox, &file, [&commands[0], &commands[1]], &["--shell=none"]).document();
    let record = &document.record;
    for sample in &record.samples {
        let is_disowned = format!("{:?}", record.cells[sample.cell].arm.options).contains("disowned");
        for name in schema::protocol::Usage::READINGS.iter().chain(&["read_calls", "read_call_bytes"]) {
            assert_eq!(sample.readings[*name].value().is_none(), is_disowned, "{name}: {:?}", sample.readings[*name]);
        }
    }
    assert!(document.findings.commands.iter().any(|it| it.time.value().is_none()), "{:?}", document.findings.commands);
}

#[test]
fn a_limit_on_memory_is_seen_in_the_group_of_the_command() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 32 << 20);
    let read = format!("cat {file} | cksum");
    let record = ab(&sandbox, &file, [&read, &read], &["--state=limited"]).document().record;
    if let Some(reason) = record.cells.iter().find_map(|it| it.skipped.as_ref()) {
        println!("skipped: {reason}");
        return;
    }
    let limited = |it: &&schema::record::Sample| {
        let condition = &record.conditions[record.cells[it.cell].condition];
        condition.state == schema::State::Limited && matches!(it.outcome, Outcome::Ok { .. })
    };
    let samples: Vec<_> = record.samples.iter().filter(limited).collect();
    assert!(!samples.is_empty(), "{:?}", record.samples);
    for sample in samples {
        let reading = |name: &str| *sample.readings[name].value().unwrap();
        assert_eq!(reading("cgroup_limit_bytes"), f64::from((16 + 8) << 20));
        assert!(reading("cgroup_memory_bytes") <= reading("cgroup_limit_bytes"), "{sample:?}");
        assert!(reading("device_read_bytes") > 0.0, "{sample:?}");
    }
}

#[test]
fn every_report_of_commands_names_them_and_no_block() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let [html, markdown, csv] = ["page.html", "report.md", "samples.csv"].map(|it| sandbox.at(it));
    let args = [
        "ab",
        &format!("cksum {file}"),
        &format!("cksum < {file}; true"),
        "--name=by name",
        "--name=by input",
        &format!("--file={file}"),
        "--state=as-is",
        "--rounds=5",
        "--budget=44s",
        "--anyway",
        &format!("--html={html}"),
        &format!("--markdown={markdown}"),
        &format!("--csv={csv}"),
    ];
    let output = sandbox.run(&args);
    output.sane();
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let page = read(&html);
    let page = page.split("<footer").next().unwrap().to_string();
    for text in [&output.stdout, &read(&markdown), &page] {
        assert!(text.contains("by name") && text.contains("by input"), "{text}");
        // A block of one byte; the output may have 51.
        for wrong in [" 1 B", " 1\u{a0}B", "block, with its share", "time/op", "1 ops"] {
            assert!(!text.contains(wrong), "{wrong:?} in {text}");
        }
    }
    assert!(page.contains("faultline rerun "));
    let csv = read(&csv);
    let row = csv.lines().nth(1).unwrap();
    assert!(row.contains(",command/by ") && row.contains(",command,,,as-is,"), "{row}");
}

#[test]
fn a_run_of_commands_can_be_run_again_on_what_it_named() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("tree");
    sandbox.write("tree/words", "some words");
    let read = format!("cat {folder}/words");
    let dir = format!("--dir={folder}");
    sandbox.run(&["ab", &read, &read, &dir, "--state=as-is", "--rounds=2", "--budget=44s"]).sane();
    let output = sandbox.run(&["rerun", "last", "--run-commands", "--rounds=1", "--json"]);
    output.sane();
    let document = output.document();
    let record = document.record;
    assert_eq!(record.target.files.as_ref().map(|it| (it.count, it.folders)), Some((1, 1)));
    assert_eq!(record.samples.len(), 3);
    let across = document.across.expect("both runs are beside each other");
    assert_eq!(across.second, record.id);
    assert_ne!(across.first, record.id);
    let here = std::fs::canonicalize(sandbox.path()).unwrap().display().to_string();
    assert_eq!(record.folder.as_deref(), Some(here.as_str()));
    let warned = format!("executed in {here}");
    assert!(!output.stderr.contains(&warned), "{}", output.stderr);
    // From elsewhere, the folder is named.
    let mut elsewhere = sandbox.command(&["rerun", &across.first, "--run-commands", "--rounds=1"]);
    elsewhere.current_dir(&folder);
    Running::new(elsewhere).end().says(&[&warned]);
}

/// Whether a sleep of so many seconds is alive, for a moment of patience: it is killed, not yet gone.
pub fn anybody_runs(seconds: &str) -> bool {
    (0..1000).all(|_| {
        std::thread::sleep(Duration::from_millis(20));
        is_there(seconds)
    })
}

pub fn is_there(seconds: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line == format!("sleep\0{seconds}\0").into_bytes()
    })
}

#[test]
fn a_command_that_writes_to_the_file_ends_the_run() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    let output = ab(&sandbox, &file, [&format!("cat {file}"), &format!("echo x >> {file}")], &["--anyway"]);
    output.sane();
    let record = output.document().record;
    let reasons: Vec<String> = record
        .samples
        .iter()
        .filter_map(|it| failure(it).map(String::from))
        .chain(record.cells.iter().filter_map(|it| Some(it.skipped.as_ref()?.to_string())))
        .collect();
    assert!(reasons.iter().any(|it| it.contains("the run ends here")), "{reasons:?}");
    assert!(record.samples.len() < 6, "it went on");
}

#[test]
fn a_folder_and_files_are_read_and_watched_together_within_few_open_files() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("tree");
    for number in 0..200 {
        sandbox.write(&format!("tree/{number}"), "some words\n".repeat(300));
    }
    std::os::unix::fs::symlink("/etc/passwd", sandbox.at("tree/link")).unwrap();
    let file = sandbox.file("file", 10_000);
    let commands = [format!("cat {folder}/* {file} | cksum"), format!("cat {file} {folder}/* > /dev/null")];
    let mut command = sandbox.command(&[
        "ab",
        &commands[0],
        &commands[1],
        &format!("--dir={folder}"),
        &format!("--file={file}"),
        "--state=cached",
        "--rounds=2",
        "--budget=44s",
        "--json",
        "--anyway",
    ]);
    limit(&mut command, rustix::process::Resource::Nofile, 48);
    let record = Running::new(command).end().document().record;
    if let Some(reason) = record.cells.iter().find_map(|it| it.skipped.as_ref()) {
        println!("skipped: {reason}");
        return;
    }
    let files = record.target.files.as_ref().unwrap();
    assert_eq!((files.count, files.folders, files.first.len()), (201, 1, 20));
    assert_eq!(record.target.bytes, 200 * 3300 + 10_000);
    assert!(record.limits.iter().any(|it| it.contains("1 symbolic link was not followed")), "{:?}", record.limits);
    let pages = |it: &schema::record::Sample| it.resident_before.value().map(|it| (it.pages, it.of));
    assert!(record.samples.iter().all(|it| pages(it) == Some((203, 203))), "{:?}", record.samples);
}

#[test]
fn a_file_that_a_process_has_mapped_is_named_with_that_process() {
    let sandbox = Sandbox::on(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")));
    let path = sandbox.file("file", 1 << 20);
    let (named, reads) = (format!("--file={path}"), format!("cat {path}"));
    let of_commands = ["ab", &reads, &reads, &named, "--state=cold", "--rounds=1", "--budget=44s", "--json"];
    let of_methods = ["run", &path, "--workload=random", "--state=cold", "--rounds=1", "--budget=44s", "--json"];
    let look = |args: &[&str]| {
        let record = sandbox.run(args).document().record;
        record.cells.iter().find_map(|it| Some(it.skipped.as_ref()?.to_string()))
    };
    if let Some(reason) = look(&of_commands) {
        println!("skipped: {reason}");
        return;
    }
    let file = std::fs::File::open(&path).unwrap();
    use std::os::fd::AsRawFd;
    // SAFETY: a new mapping of a file that nobody truncates; it goes with the test's process.
    let address = unsafe {
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, flags, file.as_raw_fd(), 0)
    };
    assert_ne!(address, libc::MAP_FAILED);
    for args in [&of_commands[..], &of_methods] {
        let reason = look(args).expect("skipped");
        assert!(reason.contains(&format!("it is mapped by process {}", std::process::id())), "{reason}");
    }
}

#[test]
fn folders_in_which_there_is_nothing_to_read_are_refused() {
    let sandbox = Sandbox::new();
    let folder = format!("--dir={}", sandbox.folder("tree"));
    sandbox.run(&["ab", "true", "true", &folder]).refused(1, &["contains no file with content"]);
    sandbox.run(&["ab", "true", "true", "--dir=/no/such"]).refused(1, &["No such file"]);
}

#[test]
fn a_command_that_makes_a_file_in_a_named_folder_ends_the_run() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("tree");
    sandbox.write("tree/words", "some words");
    let write = format!("echo x > {folder}/new");
    let dir = format!("--dir={folder}");
    let output =
        sandbox.run(&["ab", "true", &write, &dir, "--state=as-is", "--rounds=2", "--budget=44s", "--json", "--anyway"]);
    output.sane();
    assert_eq!(output.code(), Some(1));
    let record = output.document().record;
    let partial = record.partial.as_deref().unwrap();
    assert!(partial.contains("made, renamed or removed") && partial.contains("the run ends here"), "{partial}");
    assert_eq!(record.samples.len(), 0, "it went on");
}

#[test]
fn a_command_that_never_reads_the_file_counts_for_nothing_when_it_starts_cold() {
    let sandbox = Sandbox::on(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")));
    let file = sandbox.file("file", 1 << 20);
    let named = format!("--file={file}");
    let args = ["ab", "true", "true", &named, "--state=cold", "--observe=none", "--rounds=1", "--budget=44s", "--json"];
    let output = sandbox.run(&args);
    output.sane();
    let record = output.document().record;
    if let Some(reason) = record.cells.iter().find_map(|it| it.skipped.as_ref()) {
        println!("skipped: {reason}");
        return;
    }
    let never = |it: &schema::record::Sample| match &it.outcome {
        Outcome::Invalid { reason } => reason.to_string().contains("did not read the named files"),
        _ => false,
    };
    assert!(record.samples.iter().all(never), "{:?}", record.samples);
}

#[test]
fn a_state_that_no_command_can_begin_in_decides_nothing_and_is_no_command_that_is_missing() {
    let place = std::path::Path::new("/dev/shm");
    if !sys::mount::file_system(place).is_ok_and(|it| it.kind == "tmpfs") || lab::Target::unnamed(place, 4096).is_err()
    {
        return println!("skipped: no tmpfs at /dev/shm that can be written to");
    }
    let sandbox = Sandbox::on(place);
    let file = sandbox.file("file", 1 << 20);
    let (cat, named) = (format!("cat {file}"), format!("--file={file}"));
    for state in ["cold", "as-found"] {
        let state = format!("--state={state}");
        let args = ["ab", &cat, &cat, &named, &state, "--observe=none", "--rounds=1", "--budget=44s", "--json"];
        let record = sandbox.run(&args).expect(3).document().record;
        let impossible = |it: &schema::record::Cell| matches!(it.skipped, Some(Skip::Impossible(_)));
        assert!(record.cells.iter().all(impossible), "{state} {:?}", record.cells);
    }
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_runs() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    let named = format!("--file={file}");
    sandbox.run(&["ab", "true", "true", "--file=."]).refused(2, &["folder", "--dir"]);
    sandbox.run(&["ab", "true", "true", &format!("--dir={file}")]).refused(2, &["is a file", "--file"]);
    assert_eq!(sandbox.run(&["ab", "true", "true"]).code(), Some(2));
    let json = format!("--json={file}");
    sandbox.run(&["ab", "true", "true", &named, &json, "--force"]).refused(2, &["never changed"]);
    sandbox.run(&["ab", "true", "true", &named, "--name=one"]).refused(2, &["--name"]);
    assert_eq!(sandbox.run(&["ab", "true", &named]).code(), Some(2));
    for blank in ["", "  "] {
        assert_eq!(sandbox.run(&["ab", "true", blank, &named]).code(), Some(2));
        for option in ["name", "prepare", "cleanup", "shell"] {
            let option = format!("--{option}={blank}");
            assert_eq!(sandbox.run(&["ab", "true", "true", &named, "--name=a", &option]).code(), Some(2), "{option}");
        }
    }
    assert_eq!(sandbox.run(&["ab", "true", "true", &named, "--state=mapped"]).code(), Some(2));
}
