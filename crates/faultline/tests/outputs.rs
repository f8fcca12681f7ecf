//! Where results go, and where they cannot go.

use std::{
    fs,
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    process::Stdio,
};

use schema::{Consume, State, Workload};

use crate::support::{Running, Sandbox, short};

#[test]
fn a_timeline_shows_what_the_machine_did_and_when_the_passes_were() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("input", 300_000);
    let page = sandbox.at("page.html");
    let output = sandbox.run_short(&file, &["--rounds=12", "--timeline=50", "--json", "--html", &page]);
    output.sane();
    let record = output.document().record;
    let timeline = record.timeline.as_ref().unwrap();
    assert_eq!((timeline.per_second, timeline.passes.len()), (50, record.samples.len()));
    assert!(timeline.passes.iter().all(|it| it.from_s < it.to_s && it.to_s <= record.elapsed_s));
    assert!(timeline.moments.windows(2).all(|it| it[0].at_s < it[1].at_s));
    let plain = sandbox.run_short(&file, &["--rounds=5", "--json"]).document().record;
    assert_eq!(plain.timeline, None, "nobody asked");
}

#[test]
fn without_a_place_to_save_in_there_is_a_warning_and_the_answer() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let usual = sandbox.run_short(&file, &[]);
    let mut command = sandbox.command(&short(&file, &[]));
    command.env("FAULTLINE_DATA_DIR", format!("{file}/below"));
    let output = Running::new(command).end();
    output.sane();
    output.says(&["warning: ", "not saved", "--json=FILE"]);
    assert_eq!(output.stderr.matches("warning: ").count(), 1, "said once: {}", output.stderr);
    assert!(output.stdout.contains("scan 64 KiB"), "{output:#?}");
    assert!(!output.stdout.contains("faultline report"), "it cannot be shown again: {}", output.stdout);
    assert_eq!(output.code().map(|it| it == 0 || it == 3), usual.code().map(|it| it == 0 || it == 3));
}

#[test]
fn without_a_place_for_notes_no_test_file_is_made() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let file = sandbox.write("file", "x");
    let mut command = sandbox.command(&short(&folder, &["--size=1MiB"]));
    command.env("FAULTLINE_DATA_DIR", format!("{file}/below"));
    let output = Running::new(command).end().expect(1);
    output.says(&["nothing was created", "FAULTLINE_DATA_DIR"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn files_that_exist_are_overwritten_only_when_forced() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    for export in report::EXPORTS {
        let name = format!("out.{}", export.name);
        let path = sandbox.write(&name, "mine");
        let option = format!("--{}={path}", export.name);
        sandbox.run_short(&file, &[&option]).refused(2, &[&name, "exists already", "--force"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(sandbox.saved(), None, "nothing was measured");
    }
    let written = sandbox.at("out.json");
    sandbox.run_short(&file, &[&format!("--json={written}"), "--force"]).sane();
    assert_eq!(
        serde_json::from_str::<schema::findings::Document>(&fs::read_to_string(&written).unwrap()).unwrap().record,
        sandbox.record()
    );
}

#[test]
fn the_measured_file_is_never_overwritten_not_even_when_forced() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    std::os::unix::fs::symlink(&file, sandbox.path().join("link")).unwrap();
    let before = fs::read(&file).unwrap();
    for option in ["--json=file", "--csv=link", "--markdown=./file"] {
        sandbox.run_short(&file, &[option, "--force"]).refused(2, &["never changed"]);
    }
    sandbox.run_short(&file, &[]);
    let id = sandbox.record().id;
    sandbox.run(&["report", &id, "--csv=link", "--force"]).refused(2, &["never changed"]);
    sandbox.run(&["compare", &id, &id, "--anyway", "--markdown=file", "--force"]).refused(2, &["never changed"]);
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn nothing_in_a_folder_that_is_measured_is_overwritten_and_that_is_said_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let files = ["a", "b"].map(|it| sandbox.file(&format!("folder/{it}"), 4096));
    let reads = files
        .iter()
        .map(|it| format!("7 openat(AT_FDCWD</>, \"q\", O_RDONLY) = 3<{it}>\n7 read(3<{it}>, \"\"..., 99) = 99\n"));
    let (log, trace) = (sandbox.write("log", reads.collect::<String>()), sandbox.at("q.trace"));
    sandbox.run(&["trace", "import", &log, "-o", &trace]).expect(0);
    let other = format!("--json={}", sandbox.write("folder/other", "mine"));
    sandbox.run(&["run", &folder, "--trace", &trace, &other, "--force"]).refused(2, &["never changed"]);
    assert_eq!((fs::read_to_string(sandbox.at("folder/other")).unwrap().as_str(), sandbox.saved()), ("mine", None));
}

#[test]
fn a_saved_run_is_overwritten_by_no_document_that_is_made_of_it() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    sandbox.run_short(&file, &[]);
    let id = sandbox.record().id;
    let saved = sandbox.saved().unwrap();
    let before = fs::read(&saved).unwrap();
    let over = format!("--markdown={}", saved.display());
    for which in [&id, "last", saved.to_str().unwrap()] {
        sandbox.run(&["report", which, &over, "--force"]).refused(2, &["never changed"]);
        sandbox.run(&["compare", which, &id, "--anyway", &over, "--force"]).refused(2, &["never changed"]);
        sandbox.run(&["rerun", which, &over, "--force"]).refused(2, &["never changed"]);
    }
    assert!(fs::read(&saved).unwrap() == before);
}

#[test]
fn what_a_command_reads_itself_is_never_overwritten() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let log = sandbox.write(
        "log",
        format!("7 openat(AT_FDCWD</>, \"q\", O_RDONLY) = 3<{file}>\n7 read(3<{file}>, \"\"..., 99) = 99\n"),
    );
    let trace = sandbox.at("q.trace");
    sandbox.run(&["trace", "import", &log, "-o", &trace]).expect(0);
    let before = fs::read(&trace).unwrap();
    let over = format!("--csv={trace}");
    sandbox.run(&["run", &file, "--trace", &trace, &over, "--force"]).refused(2, &["never changed"]);
    let advise = ["advise", "--once", &over, "--force", "--trace", &trace, &file, "--", "true"];
    sandbox.run(&advise).refused(2, &["never changed"]);
    assert!(fs::read(&trace).unwrap() == before);
    let text = "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = \"as-is\"\narms = [\"read\", \"mmap\"]\n";
    let experiment = sandbox.write("own.toml", text);
    let over = format!("--json={experiment}");
    sandbox.run(&["run", &file, "-e", &experiment, &over, "--force"]).refused(2, &["never changed"]);
    assert_eq!(fs::read_to_string(&experiment).unwrap(), text);
}

#[test]
fn what_no_test_file_can_answer_is_refused_before_one_is_made() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    sandbox.run(&["run", &folder, "--fill=found", "--state=cached"]).refused(2, &["name a file of yours"]);
    let study = ["reproduce", "dillon-2001", "--dir", &folder, "--state=cached", "--fill=found"];
    sandbox.run(&study).refused(2, &["name a file of yours"]);
    let log = sandbox.write(
        "log",
        "7 openat(AT_FDCWD</>, \"q\", O_RDONLY) = 3</x>\n7 pread64(3</x>, \"\"..., 9, 9000000000000) = 9\n",
    );
    let trace = sandbox.at("q.trace");
    sandbox.run(&["trace", "import", &log, "-o", &trace]).expect(0);
    sandbox.run(&["run", &folder, "--trace", &trace]).refused(2, &["--size"]);
    assert_eq!((fs::read_dir(&folder).unwrap().count(), sandbox.saved()), (0, None));
}

#[test]
fn another_name_of_the_measured_file_is_never_overwritten_either() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    fs::hard_link(&file, sandbox.path().join("other")).unwrap();
    let before = fs::read(&file).unwrap();
    for option in ["--json=other", "--csv=other", "--markdown=./other", "--html=other"] {
        sandbox.run_short(&file, &[option, "--force"]).refused(2, &["never changed"]);
    }
    let folder = sandbox.folder("folder");
    fs::hard_link(&file, sandbox.path().join("folder/inside")).unwrap();
    sandbox.run(&["ab", "true", "true", "--dir", &folder, "--csv=other", "--force"]).refused(2, &["never changed"]);
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn a_file_of_a_folder_that_was_measured_is_never_overwritten_by_a_report() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("tree");
    let paths: Vec<String> = (0..30).map(|it| sandbox.write(&format!("tree/f{it}"), "some words")).collect();
    let (cat, dir) = (format!("cat {folder}/f0"), format!("--dir={folder}"));
    sandbox.run(&["ab", &cat, &cat, &dir, "--state=as-is", "--rounds=1", "--budget=44s"]).sane();
    // The record has the names of some of them.
    for path in &paths {
        sandbox.run(&["report", "last", "--markdown", path, "--force"]).refused(2, &["measured"]);
    }
    assert!(paths.iter().all(|it| fs::read(it).unwrap() == b"some words"));
}

#[test]
fn what_is_open_is_written_to_where_it_stands() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    sandbox.run_short(&file, &[]).sane();
    for (name, path) in [("a", "/dev/stdout"), ("b", "/dev/fd/1"), ("c", "/proc/self/fd/1")] {
        let written = sandbox.write(name, "");
        let mut to = fs::File::create(&written).unwrap();
        std::io::Write::write_all(&mut to, b"before\n").unwrap();
        let mut command = sandbox.command(&["report", "last", "--quiet", "--markdown", path]);
        command.stdout(to.try_clone().unwrap()).stderr(Stdio::null());
        assert!(command.status().unwrap().code().is_some_and(|it| it == 0 || it == 3), "{path}");
        std::io::Write::write_all(&mut to, b"after\n").unwrap();
        let text = fs::read_to_string(written).unwrap();
        assert!(text.starts_with("before\n### ") && text.ends_with("\nafter\n"), "{path}: {text}");
    }
    sandbox.run(&["report", "last", "--markdown=/dev/fd/99"]).refused(2, &["/dev/fd/99"]);
}

#[test]
fn a_pipe_that_nothing_reads_is_an_error_at_once_and_one_that_is_read_gets_the_document() {
    use rustix::fs::{CWD, FileType, Mode, OFlags};
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    sandbox.run_short(&file, &[]).sane();
    let pipe = sandbox.at("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, 0o600.into(), 0).unwrap();
    let report = ["report", "last", "--markdown", &pipe];
    sandbox.run(&report).expect(1).says(&["pipe", "nothing reads it"]);
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut reader = fs::File::from(rustix::fs::open(&pipe, flags, Mode::empty()).unwrap());
    // It is read after the command has ended, so all of the document is to have room.
    rustix::pipe::fcntl_setpipe_size(&reader, 1 << 20).unwrap();
    let output = sandbox.run(&report);
    output.sane();
    assert_ne!(output.code(), Some(1), "{output:#?}");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
    assert_eq!(text, sandbox.run(&["report", "last", "--markdown=-"]).stdout);
}

#[test]
fn what_was_there_stays_until_all_of_the_new_is_written() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    sandbox.run_short(&file, &[]).sane();
    let (page, other) = (sandbox.write("page.html", "old"), sandbox.at("other.html"));
    fs::hard_link(&page, &other).unwrap();
    std::os::unix::fs::symlink(&page, sandbox.path().join("link")).unwrap();
    fs::set_permissions(&page, fs::Permissions::from_mode(0o640)).unwrap();
    // As on a full disk: no file may grow beyond a page.
    let mut command = sandbox.command(&["report", "--html", &page, "--force"]);
    crate::support::limit(&mut command, rustix::process::Resource::Fsize, 4096);
    Running::new(command).end().expect(1).says(&["page.html"]);
    assert_eq!(fs::read_to_string(&page).unwrap(), "old");
    assert_eq!(sandbox.left(), ["file", "link", "other.html", "page.html"]);
    sandbox.run(&["report", "--html", &sandbox.at("link"), "--force"]).expect(0);
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!DOCTYPE html>"));
    assert_eq!(fs::read_to_string(&other).unwrap(), "old");
    assert!(fs::symlink_metadata(sandbox.at("link")).unwrap().is_symlink());
    assert_eq!(fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(sandbox.left(), ["file", "link", "other.html", "page.html"]);
}

#[test]
fn records_the_index_and_notes_are_for_their_user_alone() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    sandbox.run_short(&file, &[]).sane();
    sandbox.run(&["history"]).expect(0);
    let mut open = vec![sandbox.data()];
    let mut seen = 0;
    while let Some(path) = open.pop() {
        let about = fs::symlink_metadata(&path).unwrap();
        assert_eq!(about.permissions().mode() & 0o077, 0, "{}", path.display());
        seen += 1;
        if about.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|it| it.unwrap().path()));
        }
    }
    assert!(seen >= 4, "the folder, its runs, a record and the index");
}

#[test]
fn two_runs_at_once_do_not_disturb_each_others_files_and_records() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let args = short(&folder, &["--size=1MiB"]);
    let (one, two) = (sandbox.start(&args), sandbox.start(&args));
    one.end().sane();
    two.end().sane();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(sandbox.run(&["list", "runs"]).expect(0).stdout.lines().count(), 2);
}

#[test]
fn names_cannot_play_with_the_terminal() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("evil\u{1b}[31mname\n2", 4096);
    for args in [short(&file, &[]), short(&file, &["--dry-run"]), short(&sandbox.at("not\u{1b}there"), &[])] {
        let output = sandbox.run(&args);
        output.sane();
        assert!(!output.stdout.contains('\u{1b}') && !output.stderr.contains('\u{1b}'), "{output:#?}");
    }
}

#[test]
fn names_of_records_cannot_play_with_the_terminal_either() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.data().join("runs")).unwrap();
    fs::write(sandbox.data().join("runs/20260101T000000Z-\u{1b}[31m.json"), "{}").unwrap();
    for args in [&["list", "runs"][..], &["history"], &["report", "last"], &["claims"]] {
        let output = sandbox.run(args);
        output.sane();
        assert!(!output.stdout.contains('\u{1b}') && !output.stderr.contains('\u{1b}'), "{output:#?}");
    }
}

#[test]
fn places_that_cannot_be_written_are_found_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    sandbox.run_short(&file, &["--csv=no/such/folder.csv"]).refused(2, &["there is no folder no/such"]);
    sandbox.run_short(&file, &["--csv=."]).refused(2, &["it is a folder"]);
    assert_eq!(sandbox.saved(), None);
}

#[test]
fn an_output_that_could_not_be_written_is_refused_before_anything_is_measured() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let file = sandbox.file("file", 1 << 20);
    let link = sandbox.at("link");
    std::os::unix::fs::symlink(sandbox.at("nowhere"), &link).unwrap();
    let closed = sandbox.folder("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    for path in [link, format!("{closed}/page.html")] {
        sandbox.run_short(&file, &["--html", &path]).refused(2, &[&path]);
        sandbox.run_short(&file, &["--html", &path, "--force"]).refused(2, &[&path]);
    }
    assert_eq!(sandbox.saved(), None);
}

#[test]
fn tables_and_summaries_are_written_beside_the_answer() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let (csv, markdown, json) = (sandbox.at("out.csv"), sandbox.at("out.md"), sandbox.at("out.json"));
    let output = sandbox.run_short(&file, &["--csv", &csv, "--markdown", &markdown, &format!("--json={json}")]);
    output.sane();
    assert!(output.stdout.contains("scan 64 KiB"), "the terminal shows the answer too");
    let rows = fs::read_to_string(&csv).unwrap();
    let record = sandbox.record();
    assert_eq!(rows.lines().count(), 1 + record.samples.len(), "{rows}");
    assert!(fs::read_to_string(&markdown).unwrap().contains("| "));
    let document: schema::findings::Document = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(document.record, record);
}

#[test]
fn quiet_prints_the_answer_and_nothing_else() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let output = sandbox.run_short(&file, &["--quiet"]);
    output.sane();
    assert_eq!(output.stderr.lines().count(), usize::from(output.code() != Some(0)), "{}", output.stderr);
    assert!(output.stdout.contains("Trust: ") && !output.stdout.contains("Environment"), "{}", output.stdout);
}

/// A pipe whose reader has gone.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    OwnedFd::from(writer).into()
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    sandbox.run_short(&file, &[]).sane();
    for args in [
        &["list", "methods"][..],
        &["list", "experiments"],
        &["list", "probes"],
        &["list", "studies"],
        &["reproduce"],
        &["claims"],
        &["list", "runs"],
        &["clean"],
        &["doctor", &file],
        &["report"],
        &["report", "--json"],
        &["run", &file, "--dry-run"],
        &["--help"],
        &["run", "--help"],
    ] {
        let output = sandbox.command(args).stdout(closed_pipe()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stderr.as_ref()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn the_exit_code_is_that_of_the_outcome_also_when_the_reader_goes_away() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    // One arm beside itself decides nothing.
    for more in [&[][..], &["--json"]] {
        let args = short(&file, &[&["--method=read"], more].concat());
        let usual = sandbox.run(&args).expect(3);
        assert_eq!(usual.stderr.lines().count(), 1, "{usual:#?}");
        let output = sandbox.command(&args).stdout(closed_pipe()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{args:?}");
    }
}

#[test]
fn a_dash_is_stdout_and_takes_one_document() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    sandbox.run_short(&file, &[]).sane();
    for export in report::EXPORTS {
        let path = sandbox.at(export.name);
        let option = format!("--{}", export.name);
        sandbox.run(&["report", &format!("{option}={path}")]).expect(0);
        let document = sandbox.run(&["report", &format!("{option}=-")]).expect(0).stdout;
        assert!(!document.is_empty() && document == fs::read_to_string(&path).unwrap(), "{option}");
        fs::remove_file(path).unwrap();
    }
    let csv = sandbox.run(&["report", "--csv", "-"]).expect(0).stdout;
    assert!(csv.starts_with("run,") && csv.lines().count() == 1 + sandbox.record().samples.len(), "{csv}");
    assert!(sandbox.run(&["report", "--markdown=-"]).expect(0).stdout.contains("| "));
    assert_eq!(sandbox.run(&["report", "--json=-"]).stdout, sandbox.run(&["report", "--json"]).stdout);
    sandbox.run(&["report", "--json", "--csv=-"]).refused(2, &["--json", "--csv"]);
    assert_eq!(sandbox.left(), ["file"]);
}

#[test]
fn no_two_documents_go_to_one_place_and_nothing_is_measured_before_that_is_known() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    sandbox.run_short(&file, &[]).sane();
    let id = sandbox.record().id;
    fs::write(sandbox.at("there"), "there").unwrap();
    std::os::unix::fs::symlink("there", sandbox.at("link")).unwrap();
    for [one, other] in [["new", "./new"], ["there", "there"], ["there", "link"]] {
        let (html, csv) = (format!("--html={one}"), format!("--csv={other}"));
        sandbox.run(&["report", &html, &csv, "--force"]).refused(2, &["--html", "--csv"]);
        sandbox.run_short(&file, &[&html, &csv, "--force"]).refused(2, &["--html", "--csv"]);
        let markdown = format!("--markdown={other}");
        sandbox.run(&["compare", &id, &id, &html, &markdown, "--force"]).refused(2, &["--html", "--markdown"]);
    }
    for both in [["--html=-", "--markdown=-"], ["--json", "--markdown=-"], ["--json", "--html=-"]] {
        let options = both.map(|it| it.trim_end_matches("=-"));
        let output = sandbox.run(&[&["compare", &id, &id][..], &both].concat());
        assert_eq!(output.stdout, "");
        output.refused(2, &options);
    }
    assert_eq!(fs::read_to_string(sandbox.at("there")).unwrap(), "there");
    assert_eq!(sandbox.left(), ["file", "link", "there"]);
}

#[test]
fn the_help_lists_every_word_that_there_is() {
    let help = Sandbox::new().run(&["run", "--help"]).expect(0).stdout;
    let words = Consume::ALL.iter().map(|it| it.word()).chain(State::ALL.iter().map(|it| it.word()));
    let workloads: Vec<&str> = Workload::of_experiments().map(Workload::word).collect();
    for word in words.chain(workloads) {
        assert!(help.contains(word), "{word} is not in {help}");
    }
}

#[test]
fn files_are_written_also_when_the_reader_of_stdout_goes_away() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    sandbox.run_short(&file, &[]).sane();
    let csv = sandbox.at("out.csv");
    let output = sandbox.command(&["report", "--csv", &csv]).stdout(closed_pipe()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(fs::read_to_string(&csv).unwrap().lines().count() > 1);
}

#[test]
fn an_error_that_nobody_reads_is_still_an_exit_code() {
    let sandbox = Sandbox::new();
    let status = sandbox.command(&["run", "/no/such/file"]).stderr(closed_pipe()).status().unwrap();
    assert_eq!(status.code(), Some(1));
    let status = sandbox.command(&["run", "-e", "surwey"]).stderr(closed_pipe()).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn the_help_explains_every_exit_code() {
    let help = Sandbox::new().run(&["--help"]).expect(0).stdout;
    for words in
        ["0 answered", "1 failed", "2 usage", "3 nothing decided", "4 a requested arm", "5 a", "130 interrupted"]
    {
        assert!(help.contains(words), "{words:?} is not in {help}");
    }
}

#[test]
fn a_full_disk_behind_stdout_is_an_error() {
    let sandbox = Sandbox::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sandbox.command(&["list", "methods"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"));
}

#[test]
fn a_stderr_that_takes_nothing_changes_no_exit_code() {
    let sandbox = Sandbox::new();
    let codes = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command
            .stderr(fs::OpenOptions::new().write(true).open("/dev/full").unwrap())
            .stdout(std::process::Stdio::null());
        command.status().unwrap().code()
    };
    assert_eq!(codes(&["report", "/no/such/file"]), Some(1));
    assert_eq!(codes(&["history", "--target=nowhere"]), Some(3));
    assert_eq!(codes(&["reproduce", "no-such-study"]), Some(2));
}

#[test]
fn stdout_by_the_name_of_its_descriptor_is_stdout() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 300_000);
    sandbox.run_short(&file, &["--rounds=2"]);
    let json = |to: &str| sandbox.run(&["report", "last", &format!("--json={to}")]).stdout;
    let expected = json("-");
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        assert_eq!(json(name), expected, "{name}");
    }
}
