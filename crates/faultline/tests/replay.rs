//! `faultline trace`, and what it makes as the workload of a run.

use std::{fs, path::Path};

use schema::{
    Record, Skip, Workload,
    reason::{NotInRun, Reason},
    record::{Outcome, Sample},
    trace::{Access, Exact, Header, Inexact, LeftOut, TracedFile, Writer},
};

use crate::support::{Sandbox, failure};

const BYTES: usize = 256 << 10;

/// What strace shows of a program that reads a file here and there, and another one.
fn log(file: &str) -> String {
    let head = format!("7 openat(AT_FDCWD</>, \"q\", O_RDONLY) = 3<{file}>\n7 read(3<{file}>, \"\"..., 100) = 100\n");
    let reads = (0..50).map(|at| {
        let offset = at * 7919 % 60 * 4096;
        format!("7 pread64(3<{file}>, \"\"..., 4096, {offset}) = 4096\n")
    });
    let tail = format!(
        "7 pread64(3<{file}>, \"\", 4096, {BYTES}) = 0\n7 mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3<{file}>, 0) = 0x7f0\n7 \
         pread64(4</etc/other>, \"\", 10, 0) = 10\n7 +++ exited with 0 +++\n"
    );
    head + &reads.collect::<String>() + &tail
}

/// A file, and a trace of it alone.
fn imported(sandbox: &Sandbox) -> (String, String) {
    let file = sandbox.file("q", BYTES);
    let (log, trace) = (sandbox.write("log", log(&file)), sandbox.at("q.trace"));
    let output = sandbox.run(&["trace", "import", &log, "--file", &file, "-o", &trace]).expect(0);
    output.shows(&[
        "51 accesses of 1 file",
        "recorded by strace",
        "mapped once",
        "1 read that found no byte",
        "1 read of other",
    ]);
    (file, trace)
}

#[test]
fn a_trace_is_written_over_neither_the_log_nor_the_trace_that_it_is_made_of() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("q", BYTES);
    let log = sandbox.write("log", log(&file));
    sandbox.run(&["trace", "import", &log, "-o", &log, "--force"]).refused(2, &["never changed"]);
    let trace = sandbox.at("q.trace");
    sandbox.run(&["trace", "import", &log, "-o", &trace]).expect(0);
    sandbox.run(&["trace", "export", &trace, "-o", &trace, "--force"]).refused(2, &["never changed"]);
    sandbox.run(&["trace", "show", &trace]).expect(0);
}

#[test]
fn a_log_becomes_a_trace_that_is_shown_and_exported_and_imported_again() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    sandbox.run(&["trace", "show", &trace]).expect(0).shows(&[&file, "51 accesses", "4 KiB (50), 100 B (1)"]);
    let iolog = sandbox.run(&["trace", "export", &trace]).expect(0).stdout;
    assert!(iolog.starts_with("fio version 3 iolog\n") && iolog.contains(&format!("0 {file} read 0 100\n")), "{iolog}");
    let (written, again) = (sandbox.write("iolog", &iolog), sandbox.at("again.trace"));
    sandbox.run(&["trace", "import", &written, "-o", &again]).expect(0).shows(&["51 accesses", "fio iolog"]);
    assert_eq!(sandbox.run(&["trace", "export", &again]).expect(0).stdout, iolog);
    // What is there is kept.
    sandbox.run(&["trace", "import", &written, "-o", &again]).refused(2, &["exists already", "--force"]);
    sandbox.run(&["trace", "import", &written, "-o", &again, "--force"]).expect(0);
}

#[test]
fn a_redacted_trace_has_the_accesses_and_no_name() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let (log, redacted) = (sandbox.write("log", log(&file)), sandbox.at("redacted.trace"));
    sandbox.run(&["trace", "import", &log, "--file", &file, "--redact", "-o", &redacted]).expect(0);
    let bytes = fs::read(&redacted).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains(&file));
    assert!(String::from_utf8_lossy(&fs::read(&trace).unwrap()).contains(&file), "the other one has it");
    let iolog = |trace: &str| sandbox.run(&["trace", "export", trace]).expect(0).stdout;
    assert_eq!(iolog(&redacted), iolog(&trace).replace(&file, "1"));
    sandbox.run(&["run", &file, "--trace", &redacted, "--dry-run"]).expect(0).shows(&["replay of 51 accesses"]);
}

#[test]
fn what_is_no_log_and_what_is_no_trace_is_refused_with_what_to_try() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let out = sandbox.at("out.trace");
    sandbox.run(&["trace", "import", &file, "-o", &out]).refused(1, &["strace -f -y"]);
    sandbox.run(&["trace", "import", "/nowhere/log", "-o", &out]).refused(1, &["/nowhere/log"]);
    let log = sandbox.write("log", log("/data/q"));
    sandbox.run(&["trace", "import", &log, "--file", "/data/x", "-o", &out]).refused(1, &["/data/x", "/data/q"]);
    sandbox.run(&["trace", "import", &log, "-o", "-"]).refused(2, &["-o"]);
    assert!(fs::metadata(&out).is_err());
    sandbox.run(&["trace", "show", &file]).refused(1, &["no trace of faultline"]);
    sandbox.run(&["trace", "show", "/dev/zero"]).refused(1, &["no regular file"]);
    sandbox.run(&["run", &file, "--trace", &file]).refused(2, &["no trace of faultline"]);
    sandbox.run(&["run", &file, "--trace", &trace, "--block=4KiB"]).expect(2).says(&["--trace", "--block"]);
    sandbox
        .run(&["predict", "--file-size=1GiB", "--block=4KiB", "--workload=replay"])
        .refused(2, &["blocks of one size", "replay"]);
}

#[test]
fn a_claim_about_a_replay_is_decided_by_no_other_trace_and_by_any_state_of_its_own() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let of_file = TracedFile { path: file.clone(), ..TracedFile::default() };
    let mut writer = Writer::new(Vec::new(), &Header::new("test", vec![of_file], LeftOut::default())).unwrap();
    for at in 0..60 {
        writer.push(Access { thread: (at % 4) as u32, ..Access::call(0, at * 4096, 4096) }).unwrap();
    }
    let other = sandbox.write("other.trace", writer.finish().unwrap());
    let mine = sandbox.write(
        "my.toml",
        format!(
            "title = \"Mine\"\n[[compare]]\nworkload = {{ replay = {other:?} }}\nstate = [\"cached\", \"as-is\"]\narms = \
             [\"pread\", \"mmap\"]\n[[claim]]\nid = \"calls\"\nsays = \"It makes calls\"\narm = \"pread\"\nmetric = \
             \"minor-faults\"\nexpect = {{ at-least = 0.0 }}\n"
        ),
    );
    let reasons = |option: &str| {
        let options = ["run", &file, "-e", &mine, option, "--rounds=1", "--budget=44s", "--json"];
        let document = sandbox.run(&options).document();
        (document.findings.claims[0].reasons.clone(), document.record.conditions[0].threads)
    };
    let (other_trace, _) = reasons(&format!("--trace={trace}"));
    let written = [format!("trace {other}")];
    let is_replaced =
        |it: &Reason| matches!(it, Reason::NotInRun(NotInRun::Replaced { values }) if values[0].written == written);
    assert!(other_trace.iter().all(is_replaced) && !other_trace.is_empty(), "{other_trace:?}");
    let spelled = other.replace("other.trace", "./other.trace");
    for same in ["--state=cached", &format!("--trace={other}"), &format!("--trace={spelled}")] {
        let (reasons, threads) = reasons(same);
        assert_eq!(threads, 4);
        assert!(!reasons.iter().any(|it| matches!(it, Reason::NotInRun(_))), "{same}: {reasons:?}");
    }
}

/// What passes of all arms did, and that it is the same.
fn tallies(record: &Record) -> Vec<(u64, u64, u64, Option<u64>, String)> {
    let done = |sample: &Sample| match &sample.outcome {
        Outcome::Ok { tally, .. } => {
            let checksum = tally.checksum.clone();
            Some((tally.ops, tally.bytes, tally.distinct_bytes, tally.distinct_pages, checksum))
        }
        _ => None,
    };
    let mut all: Vec<_> = record.samples.iter().filter_map(done).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn an_incomplete_trace_is_exported_with_a_warning() {
    let sandbox = Sandbox::new();
    let export = |missing: u64| {
        let file = TracedFile { path: "/data/a".into(), ..TracedFile::default() };
        let header = Header::new("test", vec![file], LeftOut::default()).lacking(1, missing);
        let mut writer = Writer::new(Vec::new(), &header).unwrap();
        writer.push(Access::call(0, 0, 100)).unwrap();
        let trace = sandbox.write("t.trace", writer.finish().unwrap());
        let output = sandbox.run(&["trace", "export", &trace]).expect(0);
        assert!(output.stdout.starts_with("fio version 3 iolog\n"));
        output.stderr.contains("incomplete")
    };
    assert_eq!([0, 1].map(export), [false, true]);
}

#[test]
fn files_that_were_called_alike_are_exported_with_a_warning_that_an_iolog_has_them_as_one() {
    let sandbox = Sandbox::new();
    let export = |paths: [&str; 2]| {
        let file = |path: &str| TracedFile { path: path.into(), ..TracedFile::default() };
        let header = Header::new("test", paths.map(file).into(), LeftOut::default());
        let mut writer = Writer::new(Vec::new(), &header).unwrap();
        (0..2).for_each(|file| writer.push(Access::call(file, 0, 100)).unwrap());
        let trace = sandbox.write("t.trace", writer.finish().unwrap());
        sandbox.run(&["trace", "export", &trace]).expect(0).stderr.contains("/data/a")
    };
    assert_eq!([["/data/a", "/data/b"], ["/data/a", "/data/a"]].map(export), [false, true]);
}

#[test]
fn a_replay_of_a_file_whose_pages_are_not_all_known_is_warned_of_once() {
    let sandbox = Sandbox::new();
    let path = sandbox.file("a", BYTES);
    let warnings = |mappings, exact, inexact| {
        let file = TracedFile { path: path.clone(), mappings, exact, inexact, ..TracedFile::default() };
        let mut writer = Writer::new(Vec::new(), &Header::new("test", vec![file], LeftOut::default())).unwrap();
        writer.push(Access::call(0, 0, 100)).unwrap();
        let trace = sandbox.write("t.trace", writer.finish().unwrap());
        let run = sandbox.run(&["run", &path, "--trace", &trace, "--state=cold,cached", "--dry-run"]).expect(0);
        let lines = |text: &str| text.lines().filter(|it| it.contains("incomplete")).count();
        let export = sandbox.run(&["trace", "export", &trace]).expect(0);
        let show = sandbox.run(&["trace", "show", &trace]).expect(0);
        [lines(&run.stderr), lines(&export.stderr), lines(&show.stdout)]
    };
    let over = Inexact::BudgetOver { budget_ms: 1000 };
    assert_eq!(warnings(1, Exact::None, Some(over)), [1; 3]);
    assert_eq!(warnings(1, Exact::None, None), [1; 3]);
    assert_eq!(warnings(1, Exact::Order, None), [0; 3]);
    assert_eq!(warnings(0, Exact::None, None), [0; 3]);
}

#[test]
fn a_rerun_warns_of_what_the_run_of_a_folder_warned_of() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.file("c", BYTES);
    let folder = Path::new(&elsewhere).with_file_name("d");
    fs::create_dir(&folder).unwrap();
    let folder = folder.to_str().unwrap().to_string();
    let (a, b, mapped) = (sandbox.file("d/a", BYTES), sandbox.file("d/b", BYTES), sandbox.file("d/m", BYTES));
    let file = |path: &String, mappings| TracedFile { path: path.clone(), mappings, ..TracedFile::default() };
    let files = vec![file(&a, 0), file(&b, 0), file(&elsewhere, 0), file(&mapped, 1)];
    let mut writer = Writer::new(Vec::new(), &Header::new("test", files, LeftOut::default())).unwrap();
    (0..3).for_each(|file| writer.push(Access::call(file, 0, 4096)).unwrap());
    let trace = sandbox.write("t.trace", writer.finish().unwrap());
    let options = ["--state=cached", "--method=pread,mmap", "--rounds=2", "--budget=20s"];
    let run = sandbox.run(&[&["run", &folder, "--trace", &trace], &options[..]].concat());
    let again = sandbox.run(&["rerun", "last", "--rounds=2", "--trace", &trace, "--target", &folder]);
    for shown in [run, again] {
        let lines: Vec<&str> = shown.stderr.lines().filter(|it| it.contains("incomplete")).collect();
        assert!(matches!(lines[..], [line] if line.contains("d/m")), "{}", shown.stderr);
    }
}

#[test]
fn what_was_read_in_two_threads_at_once_is_replayed_so() {
    let threads_of = |threads: &[u32]| {
        let sandbox = Sandbox::new();
        let path = sandbox.file("a", BYTES);
        let file = TracedFile { path: path.clone(), ..TracedFile::default() };
        let header = Header::new("test", vec![file], LeftOut::default());
        let mut writer = Writer::new(Vec::new(), &header).unwrap();
        for (at, &thread) in threads.iter().enumerate() {
            writer.push(Access { thread, ..Access::call(0, at as u64 * 4096, 4096) }).unwrap();
        }
        let trace = sandbox.write("t.trace", writer.finish().unwrap());
        let run =
            ["run", &path, "--trace", &trace, "--state=cached", "--method=pread,mmap", "--rounds=2", "--budget=20s"];
        sandbox.run(&run).expect(3);
        let record = sandbox.record();
        let of_samples = record.samples.iter().filter_map(|it| match &it.outcome {
            Outcome::Ok { tally, .. } => Some((tally.threads, tally.ops)),
            _ => None,
        });
        let done = schema::distinct(of_samples);
        (record.conditions[0].threads, record.conditions[0].trace.as_ref().unwrap().threads, done)
    };
    assert_eq!(threads_of(&[0, 0, 1, 2, 1, 2, 3]), (2, 2, vec![(2, 7)]));
    assert_eq!(threads_of(&[0, 0, 1, 1, 2, 2, 3]), (1, 1, vec![(1, 7)]), "one after the other");
}

#[test]
fn a_run_replays_a_trace_by_every_method_and_a_rerun_needs_the_trace_again() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let short = ["--state=cached,mapped", "--method=pread,mmap,jvm/mapped", "--rounds=2", "--budget=44s"];
    let output = sandbox.run(&[&["run", &file, "--trace", &trace][..], &short].concat());
    output.sane();
    assert!(output.stdout.contains("replay of 51 accesses"), "{output:#?}");
    let record = sandbox.record();
    let digest = &record.conditions[0].trace.as_ref().unwrap().digest;
    assert_eq!(digest.len(), 64);
    assert!(sandbox.run(&["trace", "show", &trace]).expect(0).stdout.contains(digest.as_str()));
    for condition in &record.conditions {
        assert_eq!((condition.workload, condition.ops), (Workload::Replay, 51));
        assert_eq!(condition.trace.as_ref().map(|it| (it.bytes, it.longest_bytes)), Some((100 + 50 * 4096, 4096)));
    }
    let distinct: std::collections::BTreeSet<u64> = (0..50).map(|at| at * 7919 % 60).collect();
    let pages = if distinct.contains(&0) { distinct.len() } else { distinct.len() + 1 } as u64;
    let all = tallies(&record);
    assert_eq!(all.len(), 1, "all arms did the same: {all:?}");
    assert_eq!((all[0].0, all[0].1), (51, 100 + 50 * 4096));
    if sys::page_bytes() == 4096 {
        assert_eq!(all[0].3, Some(pages));
    }
    let of_java = record.cells.iter().filter(|it| it.arm.runtime == "jvm").map(|it| it.skipped.clone());
    assert!(of_java.into_iter().all(|it| it == Some(Skip::NoReplay { runtime: "jvm".into() })));
    let text = fs::read_to_string(sandbox.saved().unwrap()).unwrap();
    assert!(!text.contains("q.trace"), "a record names the digest, and no file");

    let report = sandbox.run(&["report", "last"]);
    report.sane();
    report.shows(&["replay of 51 accesses", "runtime jvm cannot replay a trace"]);
    sandbox.run(&["rerun", "last"]).refused(2, &[&digest[..12], "--trace"]);
    let other = sandbox.write("other", log("/data/q"));
    sandbox.run(&["trace", "import", &other, "-o", &sandbox.at("other.trace")]).expect(0);
    sandbox.run(&["rerun", "last", "--trace", &sandbox.at("other.trace")]).refused(2, &[&digest[..12], "--trace"]);
    let again = sandbox.run(&["rerun", "last", "--trace", &trace, "--rounds=1", "--json"]);
    again.sane();
    assert_eq!(tallies(&again.document().record), all);
    let csv = sandbox.run(&["report", "last", "--csv", "-"]);
    csv.sane();
    csv.shows(&[digest]);
}

#[test]
fn what_was_found_of_one_file_is_not_brought_back() {
    let sandbox = Sandbox::new();
    let (file, trace) = imported(&sandbox);
    let asked = ["run", &file, "--trace", &trace, "--method=pread,mmap", "--state=cached,as-found"];
    sandbox.run(&asked).refused(2, &["as-found", "advise"]);
    assert_eq!(sandbox.saved(), None);
}

#[test]
fn the_files_of_a_trace_are_measured_where_their_folder_is_named() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("tree");
    let [first, second] = ["tree/a", "tree/b"].map(|it| sandbox.file(it, BYTES));
    let read = |file: &str, at: usize| format!("7 pread64(3<{file}>, \"\"..., 4096, {}) = 4096\n", at * 4096);
    let of_both: String = (0..40).map(|at| read(if at % 3 == 0 { &first } else { &second }, at)).collect();
    let (log, trace) = (sandbox.write("log", &of_both), sandbox.at("both.trace"));
    sandbox.run(&["trace", "import", &log, "-o", &trace]).expect(0).shows(&["40 accesses of 2 files"]);

    let short = ["--state=cold,cached,mapped", "--method=pread,mmap", "--rounds=2", "--budget=44s"];
    let asked = [&["run", &folder, "--trace", &trace][..], &short].concat();
    sandbox.run(&["run", &folder, "--trace", &trace, "--state=as-found", "--dry-run"]).expect(0);
    sandbox.run(&[&asked[..], &["--dry-run"]].concat()).expect(0).shows(&[
        "2 files in",
        "512 KiB",
        "replay of 40 accesses",
    ]);
    let output = sandbox.run(&asked);
    output.sane();
    let record = sandbox.record();
    let files = record.target.files.as_ref().expect("several files");
    assert_eq!((files.count, files.folders, record.target.made_here), (2, 1, false));
    assert_eq!(
        files.named.iter().map(|it| (it.path.as_str(), it.folder)).collect::<Vec<_>>(),
        [(folder.as_str(), true)]
    );
    assert!(record.conditions.iter().all(|it| it.trace.as_ref().is_some_and(|it| it.files == 2)));
    let all = tallies(&record);
    assert_eq!(all.len(), 1, "all arms did the same: {all:?}");
    assert_eq!((all[0].0, all[0].1), (40, 40 * 4096));
    // A mapping that a pass makes anew is not there before it.
    let is_mapped = |it: &&schema::record::Cell| record.conditions[it.condition].state == schema::State::Mapped;
    assert!(record.cells.iter().filter(is_mapped).all(|it| it.skipped.is_some()));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing was made beside them");
    let report = sandbox.run(&["report", "last"]);
    report.sane();
    assert!(!report.stdout.contains("held open"), "each pass opens and closes them: {report:#?}");
    let missing = record.calibration.value().map_or(&[][..], |it| &it.missing);
    assert!(missing.iter().all(|it| !it.contains("beyond")), "unit costs are of a file's own range: {missing:?}");

    let again = sandbox.run(&["rerun", "last", "--trace", &trace, "--rounds=1", "--json"]);
    again.sane();
    assert_eq!(tallies(&again.document().record), all);

    // What lies elsewhere is left out, and so is what a link leads to.
    let other = sandbox.file("c", BYTES);
    let log = sandbox.write("log", of_both + &read(&other, 1));
    let of_three = sandbox.at("three.trace");
    sandbox.run(&["trace", "import", &log, "-o", &of_three]).expect(0).shows(&["41 accesses of 3 files"]);
    let asked = [&["run", &folder, "--trace", &of_three][..], &short].concat();
    let output = sandbox.run(&[&asked[..], &["--json"]].concat());
    output.sane();
    output.says(&["2 of 3", "left out: 1"]);
    assert_eq!(tallies(&output.document().record), all);
    let again = ["rerun", "last", "--trace", &of_three, "--rounds=1", "--json"];
    let record = sandbox.run(&again);
    record.sane();
    assert_eq!(tallies(&record.document().record), all, "the files that the record of this machine has");
    let again = sandbox.run(&[&again[..], &["--target", &folder]].concat());
    again.sane();
    assert_eq!(tallies(&again.document().record), all);
    fs::remove_file(&second).unwrap();
    std::os::unix::fs::symlink(&other, &second).unwrap();
    let plan = sandbox.run(&[&asked[..], &["--dry-run"]].concat()).expect(0);
    plan.says(&["1 of 3"]);
    plan.shows(&["replay of 14 accesses"]);
    // One file alone can be held mapped.
    let output = sandbox.run(&[&asked[..], &["--json"]].concat());
    output.sane();
    let record = output.document().record;
    assert_eq!((&record.target.path, &record.target.files), (&first, &None));
    assert!(record.cells.iter().all(|it| it.skipped.is_none()), "{:?}", record.cells);
    let saved = sandbox.at("one.json");
    fs::write(&saved, serde_json::to_string(&record).unwrap()).unwrap();
    let again = sandbox.run(&["rerun", &saved, "--trace", &of_three, "--rounds=1", "--json", "--target", &folder]);
    again.sane();
    assert_eq!(tallies(&again.document().record), tallies(&record));
    // A second name of the one file, and a file that became too short.
    fs::remove_file(&second).unwrap();
    std::os::unix::fs::symlink(&first, &second).unwrap();
    let plan = sandbox.run(&[&asked[..], &["--dry-run"]].concat()).expect(0);
    plan.shows(&["replay of 40 accesses", &first]);
    fs::remove_file(&second).unwrap();
    fs::write(&second, "short").unwrap();
    for more in [&["--dry-run"][..], &[]] {
        sandbox.run(&[&asked[..], more].concat()).refused(2, &["tree/b", "larger file"]);
    }
}

#[test]
fn a_replay_of_more_files_than_a_record_names_is_made_again_in_their_folder() {
    const FILES: usize = 25;
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("tree");
    let read = |at: usize| {
        let file = sandbox.file(&format!("tree/{at}"), 8192);
        format!("7 pread64(3<{file}>, \"\"..., 4096, 4096) = 4096\n")
    };
    let (log, trace) = (sandbox.write("log", (0..FILES).map(read).collect::<String>()), sandbox.at("many.trace"));
    sandbox.run(&["trace", "import", &log, "-o", &trace]).expect(0);
    let short = ["--trace", &trace, "--state=cached", "--method=pread,mmap", "--rounds=2", "--budget=44s"];
    sandbox.run(&[&["run", &folder][..], &short].concat()).sane();
    let record = sandbox.record();
    assert_eq!(record.target.files.as_ref().map(|it| it.count), Some(FILES as u64));
    assert_eq!(record.target.described(), format!("{FILES} files of {folder}"));
    let again = sandbox.run(&["rerun", "last", "--trace", &trace, "--rounds=1", "--json"]);
    again.sane();
    assert_eq!(tallies(&again.document().record), tallies(&record));
}

#[test]
fn a_file_that_a_trace_has_by_several_names_is_one_file() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("tree");
    let [first, second] = ["tree/b", "tree/c"].map(|it| sandbox.file(it, BYTES));
    let same = ["tree/a", "tree/d"].map(|it| sandbox.at(it));
    same.iter().for_each(|it| fs::hard_link(&first, it).unwrap());
    let names = [&same[1], &second, &first, &same[0]];
    let read = |at: usize| format!("7 pread64(3<{}>, \"\"..., 4096, {}) = 4096\n", names[at % 4], at * 4096);
    let (log, trace) = (sandbox.write("log", (0..40).map(read).collect::<String>()), sandbox.at("names.trace"));
    sandbox.run(&["trace", "import", &log, "-o", &trace]).expect(0).shows(&["40 accesses of 4 files"]);

    let short = ["--trace", &trace, "--state=cached", "--method=pread,mmap", "--rounds=2", "--budget=44s"];
    let replay = |target: &str, files: u32, ops: u64| {
        let output = sandbox.run(&[&["run", target, "--json"][..], &short].concat());
        output.sane();
        let record = output.document().record;
        assert!(record.conditions.iter().all(|it| it.trace.as_ref().is_some_and(|it| it.files == files)));
        let all = tallies(&record);
        assert_eq!(all.iter().map(|it| (it.0, it.1)).collect::<Vec<_>>(), [(ops, ops * 4096)], "{target}");
        let failed: Vec<&str> = record.samples.iter().filter_map(failure).collect();
        assert!(failed.is_empty(), "{failed:?}");
        let again = sandbox.run(&["rerun", "last", "--trace", &trace, "--rounds=1", "--json"]);
        again.sane();
        assert_eq!(tallies(&again.document().record), all);
    };
    replay(&folder, 2, 40);
    // By whatever name it is measured.
    replay(&first, 1, 30);
    replay(&same[1], 1, 30);
    replay(&second, 1, 10);
}

#[test]
fn an_experiment_names_its_trace_and_the_file_in_it() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("q", BYTES);
    let (log, trace) = (sandbox.write("log", log(&file)), sandbox.at("both.trace"));
    sandbox.run(&["trace", "import", &log, "-o", &trace]).expect(0).shows(&["52 accesses of 2 files"]);
    let experiment = |workload: &str, more: &str| {
        sandbox.write(
            "my.toml",
            format!(
                "title = \"Mine\"\n[[compare]]\nworkload = {workload}\nstate = \"cached\"\narms = [\"pread\", \"mmap\"]\n{more}"
            ),
        )
    };
    let dry = |target: &str, toml: &str| sandbox.run(&["run", target, "-e", toml, "--dry-run"]);
    // The measured file is one of them.
    let plain = format!("{{ replay = {trace:?} }}");
    dry(&file, &experiment(&plain, "")).expect(0).shows(&["replay of 51 accesses"]);
    let named = format!("{{ replay = {trace:?}, file = \"/etc/other\" }}");
    dry(&file, &experiment(&named, "")).expect(0).shows(&["replay of 1 access"]);
    let elsewhere = sandbox.file("elsewhere", BYTES);
    dry(&elsewhere, &experiment(&plain, "")).refused(2, &["2 files", "--file"]);
    let absent = format!("{{ replay = {trace:?}, file = \"/nowhere\" }}");
    dry(&file, &experiment(&absent, "")).refused(2, &["no file /nowhere"]);
    let smaller = sandbox.file("smaller", 4096);
    let of_file = format!("{{ replay = {trace:?}, file = {file:?} }}");
    // That it was mapped, too, is said before.
    dry(&smaller, &experiment(&of_file, "")).expect(2).says(&["larger file", "--size"]);
    sandbox.run(&["run", &smaller, "-e", &experiment(&of_file, "")]).expect(2).says(&["larger file"]);
    let parsed = |workload: &str, more: &str, says: &[&str]| dry(&file, &experiment(workload, more)).refused(2, says);
    parsed("\"replay\"", "block = \"4 KiB\"\n", &["my.toml:3", "{ replay = \"FILE\" }"]);
    parsed(&plain, "block = \"4 KiB\"\n", &["block", "of its trace"]);
    parsed(&plain, "threads = 2\n", &["threads", "of its trace"]);
    parsed(&plain, "ops = 5\n", &["ops", "of its trace"]);
    parsed(&format!("[{plain}, \"scan\"]"), "", &["no other workload"]);
    parsed("{ replay = 3 }", "", &["my.toml:3", "text in quotation marks"]);
    parsed("{ trace = \"x\" }", "", &["my.toml:3", "trace"]);
    parsed("\"scan\"", "", &["block", "missing"]);
}
