//! `faultline advise`: a command's accesses replayed beside the command, from a trace that is there and by recording it.

use std::{collections::BTreeSet, fs};

use schema::{
    Fill, Skip, State, Workload,
    advice::{AdviceReason, AdviceVerdict, Switched},
    advised::{Advised, Group, Reach},
    findings::Document,
    reason::{Difference, Reason},
    record::Outcome,
};

use crate::{
    ab::anybody_runs,
    observing::reader,
    support::{Output, Sandbox},
};

const BYTES: usize = 4 << 20;
const READS: u64 = 64;

/// What strace shows of a program that reads a file here and there.
fn log(file: &str) -> String {
    let reads = (0..READS).map(|at| {
        let offset = at * 7919 % 1000 * 4096;
        format!("7 pread64(3<{file}>, \"\"..., 4096, {offset}) = 4096\n")
    });
    format!("7 openat(AT_FDCWD</>, \"q\", O_RDONLY) = 3<{file}>\n{}", reads.collect::<String>())
}

fn imported(sandbox: &Sandbox) -> (String, String) {
    let file = sandbox.file("q", BYTES);
    let (log, trace) = (sandbox.write("log", log(&file)), sandbox.at("q.trace"));
    sandbox.run(&["trace", "import", &log, "-o", &trace]).expect(0);
    (file, trace)
}

fn advise(sandbox: &Sandbox, options: &[&str], command: &[&str]) -> Output {
    let fixed = ["advise", "--rounds=2", "--budget=5m", "--json"];
    sandbox.run(&[&fixed[..], options, &["--"], command].concat())
}

/// Where a file can be cold, and a command be watched.
fn is_possible(document: &Document) -> bool {
    let skipped = document.record.cells.iter().find_map(|it| it.skipped.as_ref());
    if let Some(why) = skipped.filter(|_| document.record.samples.is_empty()) {
        println!("skipped: {why}");
    }
    !document.record.samples.is_empty()
}

#[test]
fn a_file_of_another_mount_namespace_is_not_taken_for_the_one_that_has_its_path_here() {
    let sandbox = Sandbox::new();
    let (real, other) = (sandbox.folder("real"), sandbox.folder("x"));
    let files = [format!("{real}/f"), format!("{other}/f")];
    files.iter().for_each(|it| fs::write(it, vec![7; 1 << 20]).unwrap());
    let script = format!("mount --bind {real} {other} && exec {} read {other}/f 4096 100", reader());
    let unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", &script];
    let is_possible = std::process::Command::new(unshare[0]).args(&unshare[1..]).output();
    if !is_possible.is_ok_and(|it| it.status.success()) {
        return println!("skipped: no mount namespace of one's own here");
    }
    let output = advise(&sandbox, &["--once"], &unshare);
    if output.stderr.contains("it cannot be watched") {
        return println!("skipped: {}", output.stderr.trim_end());
    }
    output.sane();
    assert!(output.code() != Some(0) && output.stdout.is_empty(), "{output:#?}");
    output.says(&[&files[1]]);
    assert_eq!(sandbox.saved(), None);
}

#[test]
fn a_command_is_measured_beside_replays_of_its_trace_from_the_same_states() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let output = advise(&sandbox, &["--trace", &trace, &file], &["cksum", &file]);
    output.says(&["the command is run several times"]);
    let document = output.document();
    let (record, findings) = (&document.record, &document.findings);
    let advised = record.advised.as_deref().expect("it is a run of advise");
    assert_eq!((advised.file.as_str(), &advised.reach), (file.as_str(), &Reach::Calls));
    assert_eq!((advised.pattern.accesses, advised.pattern.bytes), (READS, READS * 4096));
    assert_eq!(advised.recorded, "native/pread");
    let traced = record.conditions.iter().filter_map(|it| it.trace.as_ref());
    assert!(traced.into_iter().all(|it| it.digest == advised.digest) && advised.digest.len() == 64);
    if !is_possible(&document) {
        return;
    }
    assert_eq!(findings.advice.iter().map(|it| it.state).collect::<Vec<_>>(), [State::Cold, State::Cached]);
    let replayed = |state: State| {
        let cells = record.cells.iter().filter(move |it| record.conditions[it.condition].state == state);
        cells.map(|it| it.arm.short_name()).collect::<Vec<_>>()
    };
    // Anywhere in the file, so nothing is gained by a larger window; cached, there is none.
    assert!(replayed(State::Cold).contains(&"pread+random"), "{:?}", replayed(State::Cold));
    assert!(!replayed(State::Cold).contains(&"pread+sequential"));
    assert!(!replayed(State::Cached).contains(&"pread+random"));
    // Two rounds decide nothing, whatever they say.
    assert!(findings.advice.iter().all(|it| it.verdict != AdviceVerdict::Switch), "{:?}", findings.advice);
    for workload in [Workload::Command, Workload::Replay] {
        let of_kind =
            |it: &&schema::record::Sample| record.conditions[record.cells[it.cell].condition].workload == workload;
        let rounds = record.samples.iter().filter(of_kind).map(|it| it.round);
        assert_eq!(rounds.collect::<BTreeSet<u32>>(), [0, 1].into(), "{workload}");
    }
    // A record is shown again as it was.
    let saved = sandbox.saved().unwrap();
    let again = sandbox.run(&["report", &saved.display().to_string(), "--json"]).expect(0).document();
    assert_eq!(again.findings.advice, findings.advice);
    let text = fs::read_to_string(saved).unwrap();
    assert!(!text.contains("q.trace"), "a record names the digest, and no file of a trace");
}

#[test]
fn the_files_as_they_are_found_are_measured_first_and_beside_another_fill() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let command = ["cksum", &file];
    let output = advise(&sandbox, &["--state=cached", "--fill=found,random", "--trace", &trace, &file], &command);
    let document = output.document();
    if !is_possible(&document) {
        return;
    }
    let fills: Vec<_> = document.findings.advice.iter().map(|it| (it.state, it.fill)).collect();
    assert_eq!(fills, [(State::Cached, Some(Fill::Found)), (State::Cached, Some(Fill::Random))], "{output:#?}");
    let condition = |cell: usize| &document.record.conditions[document.record.cells[cell].condition];
    let is_found = document.record.fills.iter().any(|it| it.fill == Some(Fill::Found));
    assert!(!is_found || condition(document.record.samples[0].cell).fill() == Some(Fill::Found));
    // What the recording brings in was not found.
    let large = sandbox.file("large", 4 << 20);
    let file = fs::File::open(&large).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let options = ["advise", "--fill=found", "--state=cached", "--rounds=2", "--budget=5m", "--"];
    let refused = sandbox.run(&[&options[..], &[&reader(), "read", &large, "65536", "64"]].concat());
    let is_watched = refused.status.code() == Some(2);
    if !is_watched {
        println!("skipped: the file was in the page cache, or who reads it cannot be watched: {}", refused.stderr);
        return;
    }
    assert!(refused.stderr.contains("found"), "{refused:#?}");
    // Its pages are recorded after an eviction, so that they are no longer as they were.
    sandbox.run(&["advise", "--fill=found", "--", &reader(), "map", &large]).expect(2).says(&["--trace"]);
}

#[test]
fn a_trace_of_one_file_that_is_here_is_not_taken_for_one_of_another() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let other = sandbox.file("other", BYTES);
    let output = advise(&sandbox, &["--trace", &trace, &other], &["cat", &other]);
    output.expect(2).says(&["no access of", &other, &file]);
}

#[test]
fn a_file_that_a_trace_has_by_two_names_is_one_file() {
    let sandbox = Sandbox::new();
    let (file, other) = (sandbox.file("q", BYTES), sandbox.at("linked"));
    fs::hard_link(&file, &other).unwrap();
    let third = sandbox.at("not in the trace");
    fs::hard_link(&file, &third).unwrap();
    let (log, trace) = (sandbox.write("log", log(&file) + &log(&other)), sandbox.at("q.trace"));
    sandbox.run(&["trace", "import", &log, "-o", &trace]).expect(0);
    for target in [&file, &third, &sandbox.path().display().to_string()] {
        let options = ["--once", "--state=cached", "--trace", &trace, target];
        let document = advise(&sandbox, &options, &["cksum", &file]).document();
        assert_eq!(document.record.advised.map(|it| it.pattern.accesses), Some(2 * READS), "{target}");
    }
}

#[test]
fn a_run_of_advise_is_made_again_with_its_trace_and_consent() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    if !is_possible(&advise(&sandbox, &["--state=cached", "--trace", &trace, &file], &["cksum", &file]).document()) {
        return;
    }
    sandbox.run(&["rerun", "last", "--rounds=2"]).expect(2).says(&["--run-commands"]);
    sandbox.run(&["rerun", "last", "--rounds=2", "--run-commands"]).expect(2).says(&["--trace"]);
    let again = ["rerun", "last", "--rounds=2", "--run-commands", "--trace", &trace, "--json"];
    assert_eq!(sandbox.run(&again).document().findings.advice.len(), 1);
    // Of another file, advice is about that one.
    let larger = sandbox.file("larger", 2 * BYTES);
    let document = sandbox.run(&[&again[..], &["--target", &larger]].concat()).document();
    let advised = document.record.advised.unwrap();
    assert_eq!((&advised.file, advised.pattern.file_bytes), (&larger, 2 * BYTES as u64));
    let [advice] = &document.findings.advice[..] else { panic!("one state was asked about") };
    assert_eq!(advice.file, larger);
    let smaller = sandbox.file("smaller", 100);
    sandbox.run(&[&again[..], &["--target", &smaller]].concat()).expect(2).says(&["recorded of a larger file"]);
}

#[test]
fn a_switch_is_measured_beside_the_command() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let switch = format!("cksum '{file}'");
    let options = ["--state=cached", "--switch", &switch, "--trace", &trace, &file];
    let document = advise(&sandbox, &options, &["cksum", &file]).document();
    if !is_possible(&document) {
        return;
    }
    let [advice] = &document.findings.advice[..] else { panic!("one state was asked about") };
    assert_eq!(advice.switched.iter().map(|it| it.line.as_str()).collect::<Vec<_>>(), [switch.as_str()]);
    assert!(advice.switched[0].real.is_some() || advice.switched[0].reason.is_some());
}

#[test]
fn with_anyway_a_switch_that_ends_with_another_exit_code_is_not_held_against_the_command() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let switch = |end: &str| {
        let line = format!("sh -c 'cksum \"$0\"; echo more; {end}' '{file}'");
        let options = ["--state=cached", "--anyway", "--switch", &line, "--trace", &trace, &file];
        let output = advise(&sandbox, &options, &["cksum", &file]);
        let document = output.document();
        is_possible(&document).then(|| document.findings.advice[0].switched[0].clone())
    };
    let (Some(same), Some(other)) = (switch("exit 0"), switch("exit 3")) else { return };
    let is_of_codes = |it: &Switched| match &it.reason {
        Some(Reason::UnequalWork { differences, .. }) => {
            differences.iter().any(|it| matches!(it, Difference::Statuses { .. }))
        }
        _ => false,
    };
    assert!(!is_of_codes(&same), "{:?}", same.reason);
    assert!(other.real.is_none() && is_of_codes(&other), "{:?}", other.reason);
}

#[test]
fn a_switch_that_cannot_run_takes_nothing_from_the_command() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let nowhere = ["advise", "--switch=no-such-program --fast", "--trace", &trace, &file, "--", "cksum", &file];
    sandbox.run(&nowhere).refused(2, &["--switch", "no-such-program --fast", "there is no program"]);
    // There, and none that may be executed.
    let switch = format!("--switch='{file}'");
    let options = ["--state=cached", &switch, "--trace", &trace, &file];
    let document = advise(&sandbox, &options, &["cksum", &file]).document();
    if !is_possible(&document) {
        return;
    }
    let cells = &document.record.cells;
    let of_program = |it: &&schema::record::Cell| it.arm.is_command() && it.baseline;
    assert!(cells.iter().filter(of_program).all(|it| it.skipped.is_none()), "{cells:#?}");
    let [advice] = &document.findings.advice[..] else { panic!("one state was asked about") };
    assert!(advice.program_ns.is_some());
    assert!(matches!(advice.switched[0].reason, Some(Reason::Skipped(Skip::Failed(_)))), "{:?}", advice.switched);
}

#[test]
fn a_command_is_run_as_often_as_was_said_before() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let script = sandbox.write("script", "echo x >> \"$1\"; exec cksum \"$2\"");
    let [command, switch] = ["command", "switch"].map(|it| sandbox.at(it));
    let line = format!("sh '{script}' '{switch}' '{file}'");
    let options = ["--switch", &line, "--trace", &trace, &file];
    let output = advise(&sandbox, &options, &["sh", &script, &command, &file]);
    output.says(&[
        "once, and its switch once to see how it reaches the file",
        "from state cold and from state cached twice, and its switch once, in a trial (a slow switch in two) and in each of at \
         most 2 rounds",
    ]);
    if !is_possible(&output.document()) {
        return;
    }
    let runs = |of: &str| fs::read_to_string(of).unwrap_or_default().lines().count();
    // Watching may not be allowed here.
    assert!(
        (12..=13).contains(&runs(&command)),
        "twice in a trial and two rounds, from two states: {}",
        runs(&command)
    );
    assert!(runs(&switch) <= 9, "{}", runs(&switch));
}

#[test]
fn a_command_that_takes_longer_than_the_budget_is_run_no_more_often_than_was_said() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let script = sandbox.write("script", "echo x >> \"$1\"; sleep 0.9; exec cksum \"$2\"");
    let command = sandbox.at("command");
    let options = ["advise", "--budget=2s", "--state=cached", "--json", "--trace", &trace, &file, "--"];
    let output = sandbox.run(&[&options[..], &["sh", &script, &command, &file]].concat());
    let watched = usize::from(!output.stderr.contains("cannot be watched"));
    let runs = fs::read_to_string(&command).unwrap_or_default().lines().count();
    let rounds = output.document().record.samples.iter().map(|it| it.round + 1).max().unwrap_or(0) as usize;
    assert!(runs <= watched + 2 + 2 * rounds, "{runs} executions, {rounds} rounds");
}

#[test]
fn no_output_goes_over_a_file_that_the_trace_of_a_folder_says_the_command_reads() {
    let sandbox = Sandbox::new();
    let (folder, _) = tree(&sandbox, &[50, 50, 50]);
    let other = sandbox.file("other", 100);
    let files = [format!("{folder}/000"), format!("{folder}/001"), other.clone()];
    let reads = files
        .iter()
        .map(|it| format!("7 openat(AT_FDCWD</>, \"q\", O_RDONLY) = 3<{it}>\n7 read(3<{it}>, \"\"..., 50) = 50\n"));
    let (log, trace) = (sandbox.write("log", reads.collect::<String>()), sandbox.at("q.trace"));
    sandbox.run(&["trace", "import", &log, "-o", &trace]).expect(0);
    let csv = format!("--csv={other}");
    let options = ["advise", "--once", "--rounds=1", "--force", &csv, "--trace", &trace, &folder, "--", "true"];
    sandbox.run(&options).refused(2, &["never changed"]);
    assert_eq!(fs::read(&other).unwrap().len(), 100);
}

#[test]
fn with_once_the_command_is_not_measured_and_nothing_is_advised() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let marker = sandbox.at("ran");
    let document = advise(&sandbox, &["--once", "--trace", &trace, &file], &["touch", &marker]).expect(3).document();
    assert!(fs::metadata(&marker).is_err(), "it was run although it need not be");
    if is_possible(&document) {
        assert!(document.findings.advice.iter().all(|it| it.because == [AdviceReason::RanOnce]));
    }
}

#[test]
fn a_command_that_fails_is_advised_nothing() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let document = advise(&sandbox, &["--trace", &trace, &file], &["false"]).expect(1).document();
    assert!(document.record.samples.is_empty(), "replays say nothing of it");
    let is_lost = |it: &AdviceReason| matches!(it, AdviceReason::NotMeasured { .. });
    assert!(document.findings.advice.iter().all(|it| it.because.iter().all(is_lost)));
}

#[test]
fn of_a_command_that_fails_before_it_reads_a_file_its_end_is_said() {
    let output = Sandbox::new().run(&["advise", "--", "false"]);
    if output.stderr.contains("not permitted") {
        return println!("skipped: {}", output.stderr);
    }
    output.expect(1).says(&["exit status: 1"]);
}

#[test]
fn a_start_that_cannot_be_had_takes_no_other_one_with_it_and_is_no_failure() {
    let Some(sandbox) = Sandbox::in_memory() else { return };
    let (file, trace) = imported(&sandbox);
    let output = advise(&sandbox, &["--trace", &trace, &file], &["cksum", &file]);
    assert_ne!(output.status.code(), Some(1));
    let document = output.document();
    let state = |it: &schema::record::Cell| document.record.conditions[it.condition].state;
    let cells = &document.record.cells;
    let is_impossible = |it: &schema::record::Cell| matches!(it.skipped, Some(Skip::Impossible(_)));
    assert!(cells.iter().filter(|it| state(it) == State::Cold && it.arm.is_command()).all(is_impossible));
    let cached = cells.iter().position(|it| state(it) == State::Cached && it.arm.is_command()).unwrap();
    assert!(cells[cached].skipped.is_none(), "{:?}", cells[cached].skipped);
    assert!(document.record.samples.iter().any(|it| it.cell == cached));
}

#[test]
fn what_cannot_be_asked_is_refused_before_anything_runs() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let marker = sandbox.at("ran");
    let refused = |options: &[&str], words: &[&str]| {
        sandbox.run(&[&["advise"], options, &["--", "touch", &marker]].concat()).expect(2).says(words);
        assert!(fs::metadata(&marker).is_err());
    };
    refused(&["--trace", &trace], &["FILE"]);
    refused(&[&file], &["belongs to --trace"]);
    refused(&["--state=limited"], &["cold, cached or as-found"]);
    refused(&["--trace", &file, &file], &["no trace of faultline"]);
    refused(&["--save-trace", "-"], &["--save-trace"]);
    refused(&["--save-trace", &marker, &format!("--json={marker}")], &["--save-trace", "--json", "cannot both"]);
    refused(&["--once", "--switch=x"], &["--once"]);
}

#[test]
fn a_command_is_recorded_and_the_file_with_the_most_bytes_matters() {
    let sandbox = Sandbox::new();
    let (small, large) = (sandbox.file("small", 128 << 10), sandbox.file("large", BYTES));
    let saved = sandbox.at("saved.trace");
    let output = advise(&sandbox, &["--state=cached", "--save-trace", &saved], &["cat", &small, &large]);
    if output.stderr.contains("was not recorded") {
        println!("skipped: {}", output.stderr.trim());
        return;
    }
    let document = output.document();
    let advised = document.record.advised.as_deref().unwrap();
    assert_eq!((advised.file.as_str(), advised.pattern.bytes), (large.as_str(), BYTES as u64));
    let other = advised.others.iter().find(|it| it.path == small);
    assert_eq!(other.map(|it| it.bytes), Some(128 << 10), "{:?}", advised.others);
    assert!(advised.all_bytes >= Some((BYTES + (128 << 10)) as u64), "{:?}", advised.all_bytes);
    // Some versions of cat(1) give advice, which the watch sees, too.
    let seen = document.record.observations.iter().find_map(|it| it.seen.value());
    let hints = seen.map(|it| it.named.hints.clone()).unwrap_or_default();
    let recorded = match hints.contains_key("posix_fadvise(POSIX_FADV_SEQUENTIAL)") {
        true => "native/read+sequential",
        false => "native/read",
    };
    assert_eq!(advised.recorded, recorded, "{hints:?}");
    sandbox.run(&["trace", "show", &saved]).expect(0).shows(&[&large]);
}

#[test]
fn a_program_that_reads_into_large_blocks_of_malloc_is_replayed_with_such_a_buffer_and_beside_one_at_a_page() {
    const SIZE: u64 = 256 << 10;
    let sandbox = Sandbox::new();
    let file = sandbox.file("q", BYTES);
    let program = reader();
    let command = [&program, "read", &file, &SIZE.to_string(), &(BYTES as u64 / SIZE).to_string()];
    let output = advise(&sandbox, &["--state=cached"], &command);
    if output.stderr.contains("was not recorded") {
        println!("skipped: {}", output.stderr.trim());
        return;
    }
    let document = output.document();
    let record = &document.record;
    assert_eq!(record.advised.as_deref().unwrap().recorded, "native/read+malloc");
    let replays = record.cells.iter().filter(|it| record.conditions[it.condition].workload == Workload::Replay);
    let arms: BTreeSet<&str> = replays.map(|it| it.arm.short_name()).collect();
    assert!(["read", "read+malloc", "pread+malloc", "mmap"].iter().all(|it| arms.contains(it)), "{arms:?}");
    assert!(!arms.contains("pread"), "it would be another call and another buffer at once: {arms:?}");
}

#[test]
fn a_file_that_is_partly_in_the_page_cache_is_measured_as_it_was_when_the_command_was_recorded() {
    use std::os::unix::fs::FileExt;
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", BYTES);
    // Nothing of it is in the page cache afterwards, where that is possible.
    sandbox.run(&["ab", "--state=cold", "--rounds=1", "--file", &file, "true", ":"]);
    let of = fs::File::open(&file).unwrap();
    of.read_exact_at(&mut [0; 4096], BYTES as u64 / 2).unwrap();
    let command = [&reader(), "map", &file];
    let trace = sandbox.at("t.trace");
    let output = advise(&sandbox, &["--state=as-found", "--save-trace", &trace], &command);
    if output.stderr.contains("was not recorded") {
        println!("skipped: {}", output.stderr.trim());
        return;
    }
    let document = output.document();
    let record = &document.record;
    let is_of = |state: State| {
        move |it: &&schema::record::Sample| record.conditions[record.cells[it.cell].condition].state == state
    };
    let found: Vec<_> = record.samples.iter().filter(is_of(State::AsFound)).collect();
    if found.is_empty() {
        let skipped = record.cells.iter().find_map(|it| it.skipped.as_ref());
        println!("skipped: {skipped:?}");
        return;
    }
    let pages = |it: &schema::record::Sample| it.resident_before.value().map(|it| (it.pages, it.of));
    for sample in &found {
        assert!(matches!(sample.outcome, Outcome::Ok { .. }), "{sample:?}");
        assert_eq!(pages(sample), pages(found[0]), "the same from every pass to the next");
    }
    assert!(pages(found[0]).is_some_and(|(pages, of)| 0 < pages && pages < of), "{:?}", found[0]);
    let [advice] = &document.findings.advice[..] else { panic!("{:?}", document.findings.advice) };
    assert_eq!(advice.state, State::AsFound);
    assert_eq!(document.findings.found, found[0].resident_before.value().copied());
    // More of it is there by now, and the command was recorded before that.
    of.read_exact_at(&mut [0; 1 << 20], 0).unwrap();
    let again = ["rerun", "last", "--rounds=1", "--run-commands", "--trace", &trace, "--json"];
    assert_eq!(sandbox.run(&again).document().findings.found, document.findings.found);
    // To see the pages of a mapping, a recording evicts its file.
    let exact = sandbox.at("exact.trace");
    let record = ["trace", "record", "-o", &exact, "--exact-budget=60s", "--file", &file, "--", &reader()];
    let shown = sandbox.run(&[&record[..], &["map", &file]].concat());
    shown.expect(0).shows(&["evicted before it was recorded"]);
}

#[test]
fn a_command_that_writes_to_its_file_or_reads_none_is_refused_with_the_reason() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", BYTES);
    let program = sandbox.write("w.sh", format!("#!/bin/sh\ncat {file}\nprintf x >> {file}\n"));
    let output = sandbox.run(&["advise", "--", "sh", &program]);
    if output.stderr.contains("was not recorded") {
        println!("skipped: {}", output.stderr.trim());
        return;
    }
    output.expect(1).says(&["writes to", &file]);
    assert_eq!(fs::metadata(&file).unwrap().len(), BYTES as u64 + 1, "it ran once");
    sandbox.run(&["advise", "--", "cat", "/dev/null"]).expect(1).says(&["advise about"]);
}

#[test]
fn a_copy_that_the_command_makes_is_left_out_and_what_it_was_given_is_measured() {
    let sandbox = Sandbox::new();
    let (given, made) = (sandbox.file("given", BYTES), sandbox.at("made"));
    let program = sandbox.write("copy.sh", format!("#!/bin/sh\ncat {given} > {made}\ncat {made} > /dev/null\n"));
    // The second time it is there already, and written over.
    for time in ["first", "second"] {
        let output = advise(&sandbox, &["--once", "--state=cached"], &["sh", &program]);
        if output.stderr.contains("was not recorded") {
            return println!("skipped: {}", output.stderr.trim());
        }
        assert!(output.stderr.contains("is written meanwhile"), "{time}: {}", output.stderr);
        assert_eq!(output.document().record.advised.map(|it| it.file), Some(given.clone()), "{time}");
    }
}

#[test]
fn a_trace_is_saved_over_no_file_that_the_command_reads() {
    let sandbox = Sandbox::new();
    let (small, large) = (sandbox.file("small", 128 << 10), sandbox.file("large", BYTES));
    let before = fs::read(&small).unwrap();
    for options in [vec!["--save-trace", &small], vec![&*format!("--csv={small}")]] {
        let options = [&options[..], &["--force", "--once"]].concat();
        let output = sandbox.run(&[&["advise"], &options[..], &["--", "cat", &small, &large]].concat());
        if output.stderr.contains("was not recorded") {
            return println!("skipped: {}", output.stderr.trim());
        }
        output.expect(2).says(&[&small, "never changed"]);
        assert!(fs::read(&small).unwrap() == before, "it has its bytes");
    }
}

#[test]
fn a_command_that_ends_otherwise_while_its_pages_are_recorded_is_not_advised() {
    let sandbox = Sandbox::new();
    let (file, ran) = (sandbox.file("large", BYTES), sandbox.at("ran"));
    // As one with a time limit of its own would: the second execution fails.
    let script = format!("'{}' map '{file}' && test ! -e '{ran}' && touch '{ran}'", reader());
    let output = advise(&sandbox, &["--anyway"], &["sh", "-c", &script]);
    if output.stderr.contains("it cannot be watched") || output.stderr.contains("is not known") {
        return println!("skipped: {}", output.stderr.trim_end());
    }
    output.expect(1).says(&["another exit code"]);
}

#[test]
fn a_file_in_shared_memory_is_one_to_advise_about() {
    let sandbox = Sandbox::new();
    let Ok(shared) = tempfile::Builder::new().prefix("faultline").tempdir_in("/dev/shm") else {
        return println!("skipped: there is no /dev/shm");
    };
    let file = shared.path().join("file");
    fs::write(&file, vec![7; BYTES]).unwrap();
    let file = file.display().to_string();
    let output = advise(&sandbox, &["--once", "--state=cached"], &["cat", &file]);
    if output.stderr.contains("was not recorded") {
        return println!("skipped: {}", output.stderr.trim());
    }
    let document = output.document();
    assert_eq!(document.record.advised.map(|it| it.file), Some(file));
}

#[test]
fn a_command_that_does_not_end_is_ended_while_it_is_recorded() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["advise", "--timeout", "1s", "--", "sleep", "3143"]);
    if output.stderr.contains("was not recorded") {
        println!("skipped: {}", output.stderr.trim());
        return;
    }
    output.expect(1).says(&["--timeout", "--for"]);
    assert!(!anybody_runs("3143"));
    assert!(sandbox.saved().is_none());
}

#[test]
fn a_file_that_is_read_at_offsets_that_are_not_seen_is_named_as_the_one_that_matters() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", BYTES);
    let output = sandbox.run(&["advise", "--", &reader(), "send", &file, "65536", "20"]);
    if output.stderr.contains("was not recorded") {
        println!("skipped: {}", output.stderr.trim());
        return;
    }
    output.expect(1).says(&["is not seen", &file]);
    let trace = sandbox.at("t.trace");
    let shown =
        sandbox.run(&["trace", "record", "-o", &trace, "--file", &file, "--", &reader(), "send", &file, "65536", "20"]);
    shown.expect(0).shows(&["incomplete", "0 accesses of 1 file", "20 reads at offsets that were not seen"]);
}

#[test]
fn a_command_that_only_reads_may_open_its_file_for_writing() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", BYTES);
    let program = sandbox.write("rw.sh", format!("#!/bin/sh\nexec 3<>{file}\ncat <&3\n"));
    let output = advise(&sandbox, &["--state=cached"], &["sh", &program]);
    if output.stderr.contains("was not recorded") {
        println!("skipped: {}", output.stderr.trim());
        return;
    }
    assert_eq!(output.document().record.advised.map(|it| it.file), Some(file));
}

/// Files of a folder of their own, and what they have together.
fn tree(sandbox: &Sandbox, sizes: &[usize]) -> (String, u64) {
    let folder = sandbox.at("tree");
    fs::create_dir(&folder).unwrap();
    for (at, &bytes) in sizes.iter().enumerate() {
        let content: Vec<u8> = (0..bytes).map(|it| (it * 31 + at) as u8).collect();
        fs::write(format!("{folder}/{at:03}"), content).unwrap();
    }
    (folder, sizes.iter().map(|&it| it as u64).sum())
}

fn small_files() -> Vec<usize> {
    (0..40).map(|at| 1000 + at * 331).collect()
}

/// Of a group; nothing where a command cannot be recorded here.
fn group_of(output: Output) -> Option<(Document, Advised, Group)> {
    if output.stderr.contains("was not recorded") {
        println!("skipped: {}", output.stderr.trim());
        return None;
    }
    let document = output.document();
    let advised = document.record.advised.as_deref().unwrap().clone();
    let group = advised.group.clone().expect("several files");
    Some((document, advised, group))
}

/// Work of all replays of one condition, which is that of all files.
fn assert_replayed(document: &Document, (ops, bytes): (u64, u64)) {
    let record = &document.record;
    let mut replayed = 0;
    for (at, _) in record.conditions.iter().enumerate().filter(|(_, it)| it.workload == Workload::Replay) {
        let mut checksums = BTreeSet::new();
        for sample in record.samples.iter().filter(|it| record.cells[it.cell].condition == at) {
            let tally = match &sample.outcome {
                Outcome::Ok { tally, .. } => tally,
                // Others use memory, too.
                Outcome::Invalid { .. } => continue,
                Outcome::Failed { .. } => panic!("{:?}", sample.outcome),
            };
            assert_eq!((tally.ops, tally.bytes), (ops, bytes));
            checksums.insert(&tally.checksum);
            replayed += 1;
        }
        assert!(checksums.len() <= 1, "{checksums:?}");
    }
    assert!(replayed > 0);
}

#[test]
fn small_files_that_are_mapped_one_by_one_are_replayed_together() {
    let sandbox = Sandbox::new();
    let sizes = small_files();
    let (folder, bytes) = tree(&sandbox, &sizes);
    let switch = format!("{} tree read {folder}", reader());
    let saved = sandbox.at("saved.trace");
    let output = advise(&sandbox, &["--switch", &switch, "--save-trace", &saved], &[&reader(), "tree", "map", &folder]);
    if output.stderr.contains("was not recorded") {
        println!("skipped: {}", output.stderr.trim());
        return;
    }
    output.says(&["40 files below", &folder]);
    let Some((document, advised, group)) = group_of(output) else { return };
    let median_bytes = sizes[20] as u64;
    assert_eq!(group, Group { files: 40, median_bytes, opens: 40, touched_whole: 40 });
    assert_eq!((advised.file.as_str(), &advised.reach), (folder.as_str(), &Reach::Mapping));
    assert_eq!(advised.recorded, "native/mmap");
    let pattern = &advised.pattern;
    assert_eq!((pattern.accesses, pattern.bytes, pattern.file_bytes), (40, bytes, bytes));
    assert_eq!((pattern.mappings, pattern.in_order, pattern.threads), (40, 40, 1));
    if !is_possible(&document) {
        return;
    }
    assert_replayed(&document, (40, bytes));
    let arms: BTreeSet<&str> = document.record.cells.iter().map(|it| it.arm.short_name()).collect();
    assert!(arms.contains("pread") && !arms.contains("uring"), "{arms:?}");
    let is_cold = |it: &&schema::record::Cell| document.record.conditions[it.condition].state == State::Cold;
    let cold = document.record.cells.iter().filter(is_cold).map(|it| it.arm.short_name());
    assert!(arms.contains("mmap+populate-read") && !cold.into_iter().any(|it| it == "mmap+populate-read"));
    let advice = &document.findings.advice;
    assert!(advice.iter().all(|it| (it.file.as_str(), it.files) == (folder.as_str(), 40)), "{advice:?}");
    assert!(advice.iter().all(|it| it.switched[0].like.as_deref().is_some_and(|it| it.ends_with("read"))));
    // By the saved trace it is the same, and the folder says which files may be opened.
    let command = [&reader(), "tree", "map", &folder];
    let output = advise(&sandbox, &["--state=cached", "--trace", &saved, &folder], &command);
    let again = output.document().record.advised.unwrap();
    assert_eq!((again.group.as_ref(), &again.digest), (Some(&group), &advised.digest));
    let target = ["rerun", "last", "--rounds=2", "--run-commands", "--trace", &saved, "--target", &folder, "--json"];
    assert_replayed(&sandbox.run(&target).document(), (40, bytes));
}

#[test]
fn a_small_file_that_is_mapped_alone_is_said_to_be_unseen() {
    let sandbox = Sandbox::new();
    let (folder, _) = tree(&sandbox, &[200 << 10]);
    let output = advise(&sandbox, &[], &[&reader(), "tree", "map", &folder]);
    if output.stderr.contains("was not recorded") {
        println!("skipped: {}", output.stderr.trim());
        return;
    }
    output.expect(1).says(&["is not known", "smaller than"]);
}

#[test]
fn files_that_are_read_one_by_one_are_replayed_together() {
    let sandbox = Sandbox::new();
    let sizes: Vec<usize> = [100_000, 90_000, 70_000, 110_000].into();
    let (folder, bytes) = tree(&sandbox, &sizes);
    let output = advise(&sandbox, &["--state=cached"], &[&reader(), "tree", "read", &folder]);
    let Some((document, advised, group)) = group_of(output) else { return };
    assert_eq!((group.files, group.touched_whole, group.median_bytes), (4, 0, 100_000));
    assert_eq!((advised.reach, advised.recorded.as_str()), (Reach::Calls, "native/read"));
    // 64 KiB at a time.
    assert_eq!((advised.pattern.accesses, advised.pattern.in_order), (8, 8));
    if is_possible(&document) {
        assert_replayed(&document, (8, bytes));
    }
}

#[test]
fn pages_of_several_larger_mapped_files_are_recorded() {
    let sandbox = Sandbox::new();
    let (folder, _) = tree(&sandbox, &[3 << 20, 2 << 20, 9000, (2 << 20) + 5]);
    let output = advise(&sandbox, &["--state=cached"], &[&reader(), "tree", "map", &folder]);
    if output.stderr.contains("is not known") {
        println!("skipped: {}", output.stderr.trim());
        return;
    }
    let Some((document, advised, group)) = group_of(output) else { return };
    assert_eq!((group.files, group.touched_whole), (4, 1));
    if let Reach::UnseenMapping { why } = &advised.reach {
        println!("skipped: {why}");
        return;
    }
    // Every page of the large ones, and the small one as a whole.
    assert_eq!(advised.pattern.accesses, 768 + 512 + 513 + 1);
    if is_possible(&document) {
        let accesses = advised.pattern.accesses;
        assert_replayed(&document, (accesses, advised.pattern.bytes));
    }
}

#[test]
fn a_file_with_most_of_the_bytes_is_advised_alone_as_before() {
    let sandbox = Sandbox::new();
    let (folder, _) = tree(&sandbox, &[300_000, 9000, 9000, 9000]);
    let output = advise(&sandbox, &["--state=cached"], &[&reader(), "tree", "read", &folder]);
    if output.stderr.contains("was not recorded") {
        println!("skipped: {}", output.stderr.trim());
        return;
    }
    let advised = output.document().record.advised.unwrap();
    assert_eq!((advised.file, advised.group), (format!("{folder}/000"), None));
}

#[test]
fn of_a_trace_with_a_folder_nothing_is_opened_that_does_not_lie_in_it() {
    let sandbox = Sandbox::new();
    let (folder, _) = tree(&sandbox, &[50, 50, 50]);
    let outside = sandbox.file("outside", BYTES);
    let trace = sandbox.at("hostile.trace");
    let log = |files: &[&str]| {
        let line = |it: &&str| format!("7 pread64(3<{it}>, \"\"..., 50, 0) = 50\n");
        let opened = "7 openat(AT_FDCWD</>, \"q\", O_RDONLY) = 3</x>\n";
        let log = sandbox.write("log", format!("{opened}{}", files.iter().map(line).collect::<String>()));
        sandbox.run(&["trace", "import", &log, "-o", &trace, "--force"]).expect(0);
    };
    let marker = sandbox.at("ran");
    let advise = || {
        sandbox.run(&["advise", "--once", "--json", "--rounds=1", "--trace", &trace, &folder, "--", "touch", &marker])
    };
    let escaped = format!("{folder}/../outside");
    log(&[&outside, &outside, &escaped, "/etc/passwd", "/no\u{1b}[31mwhere"]);
    advise().expect(2).says(&["no file below"]);
    log(&[&outside, &escaped, &format!("{folder}/000"), &format!("{folder}/002"), &format!("{folder}/gone")]);
    let document = advise().expect(3).document();
    let advised = document.record.advised.as_deref().unwrap();
    assert_eq!((advised.file.as_str(), advised.group.as_ref().map(|it| it.files)), (folder.as_str(), Some(2)));
    assert_eq!((advised.pattern.accesses, document.record.target.bytes), (2, 100));
    if is_possible(&document) {
        assert_replayed(&document, (2, 100));
    }
    assert!(fs::metadata(&marker).is_err());
}
