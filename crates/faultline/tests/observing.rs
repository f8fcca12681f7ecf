//! What is seen of programs that read in known ways, by both means of watching. They are watched by a worker, as in a run.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
};

use schema::{
    Span, Workload,
    command::Spec,
    observation::{Access, Likeness, MappingCount, Means, Observation, Watch},
    protocol::{Done, Job, PROTOCOL, Permit, Reply, Request},
    record::Cell,
};

use crate::{ab::anybody_runs, runtimes::is_here, support::Sandbox};

const BOTH: [Means; 2] = [Means::Ptrace, Means::Tracepoints];

/// The program of `programs/reader.rs`, compiled once.
pub fn reader() -> String {
    static READER: LazyLock<String> = LazyLock::new(|| {
        let path = format!("{}/reader", env!("CARGO_TARGET_TMPDIR"));
        compile(&path, &[]).unwrap_or_else(|error| panic!("the program of the tests cannot be compiled: {error}"));
        path
    });
    READER.clone()
}

/// Into a file of another name first: another run of the tests may be using it.
fn compile(path: &str, more: &[&str]) -> Result<(), String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/reader.rs");
    let own = format!("{path}-{}", std::process::id());
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let output = Command::new(rustc).args(["--edition=2024", "-o", &own]).args(more).arg(source).output();
    let output = output.map_err(|error| error.to_string())?;
    match output.status.success() {
        true => std::fs::rename(&own, path).map_err(|error| error.to_string()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// What a command does, as typed; `sh` if it is for a shell.
struct Asked<'a> {
    line: &'a str,
    sh: bool,
    timeout_s: u32,
}

fn words(line: &str) -> Asked<'_> {
    Asked { line, sh: false, timeout_s: 30 }
}

fn script(line: &str) -> Asked<'_> {
    Asked { line, sh: true, timeout_s: 30 }
}

fn arm(asked: &Asked) -> schema::Arm {
    let spec = Spec {
        line: asked.line.into(),
        name: "it".into(),
        shell: asked.sh.then(|| "/bin/sh".into()),
        prepare: None,
        cleanup: None,
        timeout_s: asked.timeout_s,
        compared: schema::command::Compared::Output,
    };
    spec.arm()
}

/// One execution by a worker of its own.
fn execute(asked: &Asked, watch: Option<Watch>) -> Result<Done, String> {
    let permit = Permit { execute: true, write: None };
    let job =
        Job { workload: Workload::Command, watch, permit, ..Job::new(&arm(asked), "/", Span { offset: 0, bytes: 1 }) };
    let mut worker = Command::new(env!("CARGO_BIN_EXE_faultline"));
    let mut worker = worker.arg("worker").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = worker.stdin.take().unwrap();
    for request in [
        Request::Hello { protocol: PROTOCOL },
        Request::Prepare(Box::new(job)),
        Request::Go { pass: 1, warm: 0 },
        Request::Bye {},
    ] {
        writeln!(input, "{}", serde_json::to_string(&request).unwrap()).unwrap();
    }
    let replies: Vec<Reply> = BufReader::new(worker.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    assert!(worker.wait().unwrap().success());
    match replies.into_iter().nth(2).unwrap() {
        Reply::Done(done) => Ok(*done),
        Reply::Failed(failed) => Err(failed.message),
        other => panic!("{other:?}"),
    }
}

fn watch(by: Means, named: &str) -> Watch {
    Watch { by: vec![by], named: vec![named.into()], trace: None }
}

/// What is seen by each of the means that there are here.
#[track_caller]
fn observe(asked: &Asked, named: &str) -> Vec<Observation> {
    let mut seen = Vec::new();
    for by in BOTH {
        match execute(asked, Some(watch(by, named))) {
            Ok(done) => seen.push(*done.observation.expect("an observation")),
            Err(reason) if reason.contains("it cannot be watched") => println!("skipped: {reason}"),
            Err(reason) => panic!("{reason}"),
        }
    }
    seen
}

/// The calls of one name: how many, how many bytes, how many in sequence.
fn calls(access: &Access, name: &str) -> (u64, u64, u64) {
    access.calls.get(name).map_or((0, 0, 0), |it| (it.count, it.bytes, it.sequential))
}

#[test]
fn reads_of_one_size_are_counted_each_with_its_bytes_and_in_sequence() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    for seen in observe(&words(&format!("{} read {file} 4096 200", reader())), &file) {
        assert_eq!(calls(&seen.named, "read"), (200, 200 * 4096, 200), "{seen:?}");
        let sizes = &seen.named.calls["read"].sizes;
        assert_eq!(sizes.iter().map(|bin| (bin.value, bin.events)).collect::<Vec<_>>(), [(4096, 200)]);
        assert_eq!((seen.processes, seen.threads, seen.named_opened, seen.named.opens), (1, 1, 1, 1));
        assert_eq!((seen.named.mapped_bytes(), seen.rings), (0, 0));
        assert!(seen.incomplete.is_empty() && seen.named.hints.is_empty(), "{seen:?}");
    }
}

#[test]
fn reads_at_offsets_that_run_backwards_are_not_sequential() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    for seen in observe(&words(&format!("{} backwards {file} 8192 100", reader())), &file) {
        assert_eq!(calls(&seen.named, "pread64"), (100, 100 * 8192, 0));
    }
}

#[test]
fn reads_behind_writes_at_the_position_are_not_in_sequence() {
    let sandbox = Sandbox::new();
    let (file, other) = (sandbox.file("file", 1 << 20), sandbox.file("other", 1 << 20));
    for seen in observe(&words(&format!("{} update {file} {other}", reader())), &file) {
        // The first one; and the one behind a write at an offset, which moves nothing.
        assert_eq!(calls(&seen.named, "read"), (7, 7 * 4096, 2), "{seen:?}");
        assert!(seen.incomplete.is_empty(), "{seen:?}");
    }
}

#[test]
fn a_mapping_is_seen_with_its_flags_and_its_advice() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 100_000);
    for seen in observe(&words(&format!("{} map {file}", reader())), &file) {
        let expected =
            MappingCount { shared: true, populate: true, count: 1, bytes: 100_000, ..MappingCount::default() };
        assert_eq!(seen.named.mappings, [expected]);
        assert_eq!(seen.named.hints.get("madvise(MADV_RANDOM)"), Some(&1));
        assert_eq!(seen.named.read_calls(), 0);
    }
}

#[test]
fn threads_that_share_a_descriptor_are_counted_together() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    for seen in observe(&words(&format!("{} threads {file} 4096 4", reader())), &file) {
        let (count, bytes, _) = calls(&seen.named, "pread64");
        assert_eq!((count, bytes), (256, 1 << 20));
        assert_eq!((seen.processes, seen.threads), (1, 5));
    }
}

#[test]
fn a_child_that_is_handed_the_open_file_goes_on_where_it_stands() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    for seen in observe(&words(&format!("{} hand-on {file} 1000 40", reader())), &file) {
        let (_, bytes, _) = calls(&seen.named, "read");
        assert_eq!(bytes, seen.named.read_bytes());
        // The child's standard input has a buffer, which fetches more than it is asked for.
        assert!((20_000 + 20_000..=20_000 + 20_000 + 8192).contains(&bytes), "{seen:?}");
        assert_eq!(seen.named.calls["read"].sequential, seen.named.calls["read"].count);
        assert_eq!((seen.processes, seen.named.opens), (2, 1));
    }
}

#[test]
fn a_pipeline_of_a_shell_is_followed_through_all_its_processes() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 300_000);
    let line = format!("wc -c < {file} | cat; cat {file} | wc -c; {} read {file} 1000 10", reader());
    for seen in observe(&script(&line), &file) {
        assert!(seen.processes >= 5, "{seen:?}");
        // `wc -c` may ask for the size only, and `cat` may copy within the kernel.
        assert!(seen.named.read_bytes() >= 310_000, "{seen:?}");
        assert!(seen.named.opens >= 3);
    }
}

#[test]
fn processes_with_numbers_of_their_own_are_left_to_ptrace() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let line = format!("unshare --user --map-root-user --pid --fork {} read {file} 4096 50", reader());
    let watch = Watch { by: vec![Means::Tracepoints, Means::Ptrace], named: vec![file.clone()], trace: None };
    match execute(&words(&line), Some(watch)) {
        Ok(done) => {
            let seen = *done.observation.expect("an observation");
            assert_eq!((seen.by, calls(&seen.named, "read").0), (Means::Ptrace, 50), "{seen:?}");
            assert!(seen.remarks.iter().any(|it| it.starts_with("not by tracepoints")), "{seen:?}");
        }
        Err(reason) if reason.contains("unshare") || reason.contains("it cannot be watched") => {
            println!("skipped: {reason}")
        }
        Err(reason) => panic!("{reason}"),
    }
}

#[test]
fn a_static_program_is_seen_like_any_other() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let program = sandbox.at("static");
    if let Err(reason) = compile(&program, &["-Ctarget-feature=+crt-static"]) {
        return println!("skipped: no static program: {reason}");
    }
    for seen in observe(&words(&format!("{program} read {file} 4096 64")), &file) {
        assert_eq!(calls(&seen.named, "read"), (64, 64 * 4096, 64));
        assert!(seen.files.iter().all(|it| !it.path.contains("libc")), "it is not static: {seen:?}");
    }
}

#[test]
fn a_ring_is_seen_although_its_reads_are_not() {
    let asked = format!("{} ring", reader());
    if let Err(reason) = execute(&words(&asked), None) {
        return println!("skipped: no io_uring: {reason}");
    }
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    for seen in observe(&words(&asked), &file) {
        assert_eq!(seen.rings, 1);
    }
}

#[test]
fn going_around_the_page_cache_is_seen() {
    let sandbox = Sandbox::on(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let file = sandbox.file("file", 1 << 16);
    let line = format!("dd if={file} of=/dev/null bs=4096 iflag=direct");
    if let Err(reason) = execute(&words(&line), None) {
        return println!("skipped: no O_DIRECT here: {reason}");
    }
    for seen in observe(&words(&line), &file) {
        assert!(seen.named.opens_direct > 0, "{seen:?}");
        assert_eq!(calls(&seen.named, "read").1, 1 << 16);
    }
}

#[test]
fn what_a_command_says_and_how_it_ends_is_the_same_under_watch() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 100_000);
    for line in
        [format!("cksum {file}; echo $((1 + 1)); exec cat {file}"), format!("trap 'echo bye' EXIT; cksum < {file}")]
    {
        let plain = execute(&script(&line), None).unwrap();
        for by in BOTH {
            match execute(&script(&line), Some(watch(by, &file))) {
                Ok(done) => assert_eq!(done.tally, plain.tally),
                Err(reason) => println!("skipped: {reason}"),
            }
        }
    }
    let fails = execute(&script("echo too bad >&2; exit 3"), Some(watch(Means::Ptrace, &file))).unwrap_err();
    assert!(
        fails.contains("cannot be watched") || (fails.contains("status 3") && fails.contains("too bad")),
        "{fails}"
    );
    let gone = execute(&words("/no/such/program"), Some(watch(Means::Ptrace, &file))).unwrap_err();
    assert!(gone.contains("cannot be watched") || gone.contains("cannot be started"), "{gone}");
}

#[test]
fn a_program_that_is_stopped_and_continued_stops_and_continues_under_watch() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 10_000);
    let line = format!(
        "rm -f {file}.over; (until test -e {file}.over; do sleep 0.02; kill -CONT $$; done) & \
         kill -STOP $$; : > {file}.over; wait; {} read {file} 1000 10",
        reader()
    );
    for seen in observe(&script(&line), &file) {
        assert_eq!(calls(&seen.named, "read"), (10, 10_000, 10));
    }
}

#[test]
fn a_program_that_hangs_is_ended_with_all_that_it_started() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    for by in BOTH {
        let asked = Asked { line: "setsid sleep 3127 & sleep 3128 & sleep 3128", sh: true, timeout_s: 1 };
        let reason = execute(&asked, Some(watch(by, &file))).unwrap_err();
        assert!(reason.contains("did not exit within 1 s") || reason.contains("cannot be watched"), "{reason}");
        assert!(!anybody_runs("3127") && !anybody_runs("3128"));
    }
}

#[test]
fn a_program_that_leaves_others_behind_is_told_on() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    for by in BOTH {
        let reason = execute(&script("setsid sleep 3129 & true"), Some(watch(by, &file))).unwrap_err();
        assert!(reason.contains("left processes behind") || reason.contains("cannot be watched"), "{reason}");
        assert!(!anybody_runs("3129"));
    }
}

#[test]
fn a_program_has_no_terminal_to_ask_under_watch() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    let line = format!("{} read {file} 4096 1; if (: < /dev/tty) 2>&-; then exit 9; fi", reader());
    for seen in observe(&script(&line), &file) {
        assert_eq!(calls(&seen.named, "read"), (1, 4096, 1));
    }
}

#[test]
fn a_set_uid_program_is_named() {
    let program = "/usr/bin/su";
    let is_set_uid = std::fs::metadata(program).is_ok_and(|it| it.permissions().mode() & 0o4000 != 0);
    if !is_set_uid || execute(&words("/usr/bin/su --version"), None).is_err() {
        return println!("skipped: no set-uid program here that anybody may run");
    }
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    for seen in observe(&words("/usr/bin/su --version"), &file) {
        assert!(seen.remarks.iter().any(|it| it.contains(program) && it.contains("set-uid")), "{seen:?}");
    }
}

#[test]
fn both_means_see_the_same() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let line = format!(
        "{0} read {file} 512 300; {0} backwards {file} 4096 70; {0} map {file}; {0} hand-on {file} 4096 8; cat {file}",
        reader()
    );
    let seen = observe(&script(&line), &file);
    if let [one, other] = &seen[..] {
        assert_eq!(one.named, other.named);
        assert_eq!((one.processes, one.threads), (other.processes, other.threads));
    }
}

/// The judgement of `ab` on two commands, or `None` after saying why there is none.
fn judged(sandbox: &Sandbox, file: &str, commands: [&str; 2], more: &[&str]) -> Option<(Likeness, String)> {
    let named = format!("--file={file}");
    let fixed = ["--state=as-is", "--rounds=1", "--budget=44s", "--json", "--anyway"];
    let args: Vec<&str> =
        ["ab"].into_iter().chain(commands).chain([named.as_str()]).chain(fixed).chain(more.iter().copied()).collect();
    let output = sandbox.run(&args);
    output.sane();
    let findings = output.document().findings;
    if let Some(unseen) = findings.mechanisms.iter().find(|it| it.says.contains("cannot be watched")) {
        println!("skipped: {}", unseen.says);
        return None;
    }
    let versus = findings.mechanisms[1].versus.clone().unwrap();
    Some((versus.likeness, versus.says))
}

#[test]
fn ab_says_whether_a_switch_did_anything() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let line = |what: &str| format!("{} {what}", reader());
    let reads = line(&format!("read {file} 65536 16"));
    let Some((likeness, says)) = judged(&sandbox, &file, [&reads, &reads], &[]) else { return };
    assert_eq!(likeness, Likeness::Identical, "{says}");
    assert!(says.contains("16 × read of 64 KiB, sequential"), "{says}");
    let (likeness, says) = judged(&sandbox, &file, [&reads, &line(&format!("map {file}"))], &[]).unwrap();
    assert_eq!(likeness, Likeness::Different);
    assert!(says.contains("maps 1 MiB, shared, populated") && says.contains("reads 1 MiB"), "{says}");
}

#[test]
fn a_command_that_reads_by_a_ring_is_not_said_to_differ_by_not_reading() {
    let ring = format!("{} ring", reader());
    if let Err(reason) = execute(&words(&ring), None) {
        return println!("skipped: no io_uring: {reason}");
    }
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let reads = format!("{} read {file} 65536 16", reader());
    if let Some((likeness, says)) = judged(&sandbox, &file, [&ring, &reads], &[]) {
        assert_eq!(likeness, Likeness::Unknown, "{says}");
    }
}

#[test]
fn ripgreps_switch_is_seen() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("big.log", "a line with a needle in it\n".repeat(40_000));
    if !installed("rg") {
        return println!("skipped: ripgrep is not installed");
    }
    let commands = [format!("rg --mmap -c needle {file}"), format!("rg --no-mmap -c needle {file}")];
    if let Some((likeness, says)) = judged(&sandbox, &file, [&commands[0], &commands[1]], &[]) {
        assert_eq!(likeness, Likeness::Different);
        assert!(says.contains("maps 1 MiB") && says.contains("reads 1 MiB"), "{says}");
    }
}

#[test]
fn sqlites_pragma_is_seen() {
    let sandbox = Sandbox::new();
    if !installed("sqlite3") {
        return println!("skipped: sqlite3 is not installed");
    }
    let path = sandbox.at("data.db");
    let made = Command::new("sqlite3")
        .arg(&path)
        .arg("create table t(k integer primary key, v text); with recursive n(i) as (select 1 union all select i+1 from n where i < 30000) insert into t select i, hex(randomblob(40)) from n;")
        .status();
    assert!(made.unwrap().success());
    let query = |bytes: u64| format!("sqlite3 -cmd 'pragma mmap_size={bytes}' {path} 'select sum(length(v)) from t'");
    if let Some((likeness, says)) = judged(&sandbox, &path, [&query(0), &query(1 << 30)], &[]) {
        assert_eq!(likeness, Likeness::Different);
        assert!(says.contains("pread64") && says.contains("maps"), "{says}");
    }
}

fn installed(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

#[test]
fn an_ordinary_user_gets_the_mechanism_too() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let file = sandbox.file("file", 1 << 18);
    let program = PathBuf::from(sandbox.at("reader"));
    std::fs::copy(reader(), &program).unwrap();
    let reads = format!("{} read {file} 4096 64", program.display());
    if let Some((likeness, says)) = judged(&sandbox, &file, [&reads, &reads], &[]) {
        assert_eq!(likeness, Likeness::Identical);
        assert!(says.contains("64 × read of 4 KiB"), "{says}");
    }
}

#[test]
fn a_command_whose_program_may_not_be_read_is_measured_and_not_said_to_be_wholly_seen() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let (file, program, unreadable) = (sandbox.file("file", 1 << 18), sandbox.at("reader"), sandbox.at("unreadable"));
    for (path, mode) in [(&program, 0o755), (&unreadable, 0o111)] {
        std::fs::copy(reader(), path).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let reads = [program, unreadable].map(|it| format!("{it} read {file} 4096 64"));
    let named = format!("--file={file}");
    let args = ["ab", &reads[0], &reads[1], &named, "--state=as-is", "--rounds=1", "--budget=44s", "--json"];
    let record = sandbox.run(&args).document().record;
    let seen: Option<Vec<&Observation>> = record.observations.iter().map(|it| it.seen.value()).collect();
    let Some([plain, hidden]) = seen.as_deref() else {
        return println!("skipped: {:?}", record.observations.iter().map(|it| it.seen.reason()).collect::<Vec<_>>());
    };
    assert_eq!((calls(&plain.named, "read").0, plain.incomplete.len()), (64, 0));
    assert_eq!((calls(&hidden.named, "read").0, hidden.incomplete.len()), (0, 1));
    let skipped: Vec<_> = record.cells.iter().filter_map(|it| it.skipped.as_ref()).collect();
    assert!(skipped.is_empty(), "{skipped:?}");
}

#[test]
fn a_command_that_never_opens_the_named_file_is_refused_with_what_it_opened() {
    let sandbox = Sandbox::new();
    let (file, other) = (sandbox.file("file", 4096), sandbox.file("other", 4096));
    let reads = |path: &str| format!("{} read {path} 4096 1", reader());
    let named = format!("--file={file}");
    let args = ["ab", &reads(&file), &reads(&other), &named, "--state=as-is", "--rounds=1", "--budget=44s", "--json"];
    let output = sandbox.run(&args);
    output.sane();
    let document = output.document();
    if document.record.observations.iter().any(|it| it.seen.value().is_none()) {
        return println!("skipped: {:?}", document.record.observations[0].seen.reason());
    }
    assert_eq!(output.code(), Some(4));
    let (first, second): (Vec<&Cell>, Vec<&Cell>) =
        document.record.cells.iter().partition(|it| it.baseline || it.control);
    let nothing_to_compare = |it: &&Cell| it.skipped == Some(schema::Skip::NothingToCompare);
    assert!(first.iter().all(nothing_to_compare), "{first:?}");
    let skipped = second[0].skipped.as_ref().unwrap().to_string();
    assert!(skipped.contains("opened no named file") && skipped.contains(&other), "{skipped:?}");
}

#[test]
fn a_command_that_writes_to_the_named_file_is_found_out_before_the_first_round() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    let commands = [format!("echo x >> {file}"), format!("cat {file}")];
    let named = format!("--file={file}");
    let args =
        ["ab", &commands[0], &commands[1], &named, "--state=as-is", "--rounds=1", "--budget=44s", "--json", "--anyway"];
    let output = sandbox.run(&args);
    output.sane();
    assert_eq!(output.code(), Some(1));
    let record = output.document().record;
    assert!(record.samples.is_empty(), "{:?}", record.samples);
    assert!(
        record
            .cells
            .iter()
            .any(|it| it.skipped.as_ref().is_some_and(|it| it.to_string().contains("the run ends here")))
    );
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 4098, "it ran more than once");
}

#[test]
fn the_runtime_of_a_command_is_named_whatever_started_it() {
    use lab::runtime::{go, python};
    use schema::mapped_runtime::MappedRuntime;
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    let check = |line: &str, expected: &[MappedRuntime]| {
        for seen in observe(&script(line), &file) {
            assert_eq!(seen.runtimes, expected, "{line}");
        }
    };
    check(&format!("cat {file}"), &[]);
    let python = python::find(None);
    if let Some(python) = python.as_ref().ok().filter(|it| it.kind == "cpython") {
        let program = python.program.display();
        check(&format!("cat {file} | {program} -I -c 'import sys; sys.stdin.read()'"), &[MappedRuntime::Cpython]);
    }
    is_here(python);
    let go = go::find();
    if let Ok(go) = &go {
        check(&format!("{}/bin/go version; cat {file}", go.home.display()), &[MappedRuntime::Go]);
    }
    is_here(go);
}
