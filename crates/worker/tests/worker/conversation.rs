//! Conversations with the worker, as text: what goes in on stdin, what comes out on stdout.

use planted::{Effort, Random, mutated};
use schema::protocol::{PROTOCOL, Reply};
use serde_json::{Value, json};

fn say(input: &str) -> Vec<Reply> {
    say_bytes(input.as_bytes())
}

fn say_bytes(input: &[u8]) -> Vec<Reply> {
    let mut output = Vec::new();
    worker::serve(input, &mut output, std::io::sink());
    let output = String::from_utf8(output).unwrap();
    output.lines().map(|line| serde_json::from_str(line).expect("stdout carries nothing but replies")).collect()
}

/// A request to prepare; `changes` replace fields of a job that would work if `file` had 100 bytes.
fn prepare(file: &str, changes: &[(&str, &str)]) -> String {
    let mut fields = vec![
        ("pass", "3".to_string()),
        ("method", r#""pread""#.to_string()),
        ("options", "{}".to_string()),
        ("workload", r#""scan""#.to_string()),
        ("consume", r#""sum""#.to_string()),
        ("file", serde_json::to_string(file).unwrap()),
        ("block_bytes", "64".to_string()),
        ("range", r#"{"offset":0,"bytes":100}"#.to_string()),
        ("ops", "2".to_string()),
        ("aligned", "true".to_string()),
        ("threads", "1".to_string()),
        ("descriptor", r#""per-thread""#.to_string()),
        ("seed", "1".to_string()),
        ("hold", r#""no""#.to_string()),
        ("permit", "{}".to_string()),
        ("times_its_loop", "false".to_string()),
    ];
    for (name, value) in changes {
        fields.iter_mut().find(|(field, _)| field == name).unwrap().1 = value.to_string();
    }
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
    format!("{{\"prepare\":{{{}}}}}\n", fields.join(","))
}

fn file_of(bytes: usize) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, vec![b'\n'; bytes]).unwrap();
    let path = path.to_str().unwrap().to_string();
    (folder, path)
}

/// What a job is refused with.
#[track_caller]
fn refused(file: &str, changes: &[(&str, &str)], expected: &str) {
    let replies = say(&prepare(file, changes));
    match &replies[..] {
        [Reply::Failed(failed)] => {
            assert_eq!((failed.pass, failed.during.as_str()), (3, "prepare"));
            assert!(failed.message.contains(expected), "{:?} does not say {expected:?}", failed.message);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn hello_is_answered_with_the_methods_of_the_schema() {
    let replies = say("{\"hello\":{\"protocol\":1}}\n");
    let [Reply::Hello(hello)] = &replies[..] else { panic!("{replies:?}") };
    assert_eq!((hello.protocol, hello.runtime.as_str()), (PROTOCOL, "native"));
    let known: Vec<&str> = schema::runtime::NATIVE.methods.iter().map(|method| method.name).collect();
    assert_eq!(hello.methods, known);
}

#[test]
fn another_protocol_number_is_answered_with_our_own() {
    let replies = say("{\"hello\":{\"protocol\":99}}\n");
    assert!(matches!(&replies[..], [Reply::Hello(hello)] if hello.protocol == PROTOCOL), "{replies:?}");
}

#[test]
fn a_line_that_is_no_request_is_answered_and_the_conversation_goes_on() {
    let replies =
        say_bytes(b"what?\n{\"dance\":{}}\n\xff\xfe\n\n{\"go\":{\"pass\":\"one\"}}\n{\"hello\":{\"protocol\":1}}\n");
    let [Reply::Failed(what), Reply::Failed(dance), Reply::Failed(_), Reply::Failed(_), Reply::Hello(_)] = &replies[..]
    else {
        panic!("{replies:?}")
    };
    assert!(what.message.contains("not a request") && what.message.contains("what?"), "{}", what.message);
    assert!(dance.message.contains("dance"), "{}", dance.message);
}

#[test]
fn go_before_prepare_is_refused() {
    let replies = say("{\"go\":{\"pass\":5}}\n");
    let [Reply::Failed(failed)] = &replies[..] else { panic!("{replies:?}") };
    assert_eq!(failed.pass, 5);
    assert!(failed.message.contains("nothing is prepared"));
}

#[test]
fn a_refused_job_leaves_nothing_to_go_with() {
    let (_folder, file) = file_of(100);
    let input = [prepare(&file, &[]), prepare(&file, &[("ops", "0")]), "{\"go\":{\"pass\":4}}\n".to_string()].concat();
    let replies = say(&input);
    assert!(
        matches!(&replies[..], [Reply::Prepared { pass: 3, .. }, Reply::Failed(_), Reply::Failed(_)]),
        "{replies:?}"
    );
}

#[test]
fn bye_and_the_end_of_the_input_end_quietly() {
    assert_eq!(say("{\"bye\":{}}\n{\"hello\":{\"protocol\":1}}\n"), []);
    assert_eq!(say(""), []);
    let mut output = Vec::new();
    let code = worker::serve(&b"{\"bye\":{}}\n"[..], &mut output, std::io::sink());
    assert_eq!(format!("{code:?}"), format!("{:?}", std::process::ExitCode::SUCCESS));
}

#[test]
fn files_that_cannot_be_read_are_refused_with_words() {
    let (folder, file) = file_of(100);
    let missing = folder.path().join("nothing").to_str().unwrap().to_string();
    refused(&missing, &[], "No such file or directory");
    refused(folder.path().to_str().unwrap(), &[], "is a directory");
    refused("/dev/null", &[], "is a character device");
    refused(&format!("{file}\0"), &[], "NUL byte");
    let (_folder, empty) = file_of(0);
    refused(&empty, &[], "the file is empty: there is nothing to read");
}

#[test]
fn jobs_that_make_no_sense_are_refused_with_words() {
    let (_folder, file) = file_of(100);
    refused(&file, &[("block_bytes", "0")], "block of 0 bytes");
    refused(&file, &[("ops", "0")], "at least one block");
    refused(&file, &[("threads", "0")], "0 threads");
    refused(&file, &[("threads", "1000000")], "1000000 threads");
    refused(&file, &[("range", r#"{"offset":0,"bytes":0}"#)], "the range is empty");
    refused(&file, &[("range", r#"{"offset":1,"bytes":100}"#)], "ends beyond the file's 100 bytes");
    refused(&file, &[("range", r#"{"offset":18446744073709551615,"bytes":2}"#)], "ends beyond");
    refused(&file, &[("method", r#""nmap""#)], "did you mean \"mmap\"?");
    refused(&file, &[("method", r#""stdio""#), ("options", r#"{"advice":"random"}"#)], "takes no options");
    refused(&file, &[("options", r#"{"advice":"hugepage"}"#)], "option advice cannot be hugepage");
}

#[test]
fn a_command_is_executed_only_with_permission() {
    let (folder, file) = file_of(100);
    let trace = folder.path().join("trace");
    let options = |key: &str| format!(r#"{{"line":"true","{key}":"touch {}","timeout_s":5}}"#, trace.display());
    for key in ["line", "prepare", "cleanup"] {
        for permit in ["{}", r#"{"execute":false}"#, r#"{"write":{"device":1,"inode":1}}"#] {
            let line = options(key).replace(r#""line":"true","line""#, r#""line""#);
            refused(
                &file,
                &[("method", r#""command""#), ("options", &line), ("permit", permit)],
                "without the permission",
            );
        }
    }
    assert!(!trace.exists());
}

#[test]
fn a_job_that_the_method_cannot_do_is_unavailable_with_the_reason() {
    let (_folder, file) = file_of(100);
    let shared = [("method", r#""read""#), ("threads", "2"), ("descriptor", r#""shared""#)];
    let replies = say(&prepare(&file, &shared));
    let [Reply::Unavailable { pass: 3, reason }] = &replies[..] else { panic!("{replies:?}") };
    assert!(reason.contains("use pread"), "{reason}");
}

#[test]
fn a_pass_reports_its_phases_and_its_tally() {
    let (_folder, file) = file_of(100);
    let lines = [("consume", r#""lines""#)];
    let replies = say(&[&prepare(&file, &lines), "{\"go\":{\"pass\":8}}\n", "{\"go\":{\"pass\":9}}\n"].concat());
    let [Reply::Prepared { pass: 3, pid }, Reply::Done(first), Reply::Done(second)] = &replies[..] else {
        panic!("{replies:?}")
    };
    assert_eq!(*pid, std::process::id());
    assert_eq!((first.pass, second.pass), (8, 9));
    assert!(first.phases.open_ns.is_some() && first.phases.close_ns.is_some());
    let tally = &first.tally;
    assert_eq!(
        (tally.ops, tally.bytes, tally.distinct_bytes, tally.checksum.as_str()),
        (2, 100, 100, "0000000000000064")
    );
    assert_eq!(first.tally, second.tally);
}

#[test]
fn the_loop_by_itself_is_timed_before_the_passes_and_not_with_each() {
    let (_folder, file) = file_of(100);
    let go = |pass: u32| format!("{{\"go\":{{\"pass\":{pass}}}}}\n");
    let replies = say(&[&prepare(&file, &[("times_its_loop", "true")]), &go(8)[..], &go(9)].concat());
    let [Reply::Prepared { .. }, Reply::Done(first), Reply::Done(second)] = &replies[..] else { panic!("{replies:?}") };
    assert!(first.seen["loop_bytes_per_s"].value().is_some());
    assert_eq!(first.seen, second.seen);
}

/// A file on disk that this user can evict, or why there is none.
fn evictable(pages: u64) -> Result<(tempfile::NamedTempFile, sys::cache::Way), String> {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(file.path(), vec![1; (pages * PAGE) as usize]).unwrap();
    file.as_file().sync_all().unwrap();
    let way = sys::cache::Way::Mincore;
    way.prove(file.as_file()).map(|()| (file, way))
}

const PAGE: u64 = 4096;

#[test]
fn advice_decides_what_comes_in_beside_the_page_that_a_call_reads() {
    const PAGES: u64 = 64;
    let (file, way) = match evictable(PAGES) {
        Ok(it) if rustix::param::page_size() as u64 == PAGE => it,
        other => return println!("skipped: {:?}", other.err()),
    };
    let path = file.path().to_str().unwrap();
    let resident = || way.resident_pages(file.as_file(), 0, PAGES * PAGE).unwrap();
    let range = format!(r#"{{"offset":0,"bytes":{}}}"#, PAGES * PAGE);
    for method in ["read", "pread"] {
        let pages_of = |options: &str, range: &str| {
            let evicted = sys::process::within(std::time::Duration::from_secs(60), || {
                sys::cache::evict(file.as_file(), 0, 0).unwrap();
                resident() == 0
            });
            assert!(evicted);
            let method = format!("{method:?}");
            let job = [("method", &method[..]), ("options", options), ("block_bytes", "4096"), ("ops", "1")];
            let job = [&job[..], &[("range", range)]].concat();
            let replies = say(&[&prepare(path, &job), "{\"go\":{\"pass\":8}}\n"].concat());
            assert!(matches!(&replies[..], [Reply::Prepared { .. }, Reply::Done(_)]), "{replies:?}");
            resident()
        };
        let pages = |advice: &str| pages_of(&format!(r#"{{"advice":"{advice}"}}"#), &range);
        assert_eq!(pages("random"), 1, "nothing is read ahead");
        if method == "pread" {
            let buffered = r#"{"advice":"random","buffer_kib":64}"#;
            assert_eq!(pages_of(buffered, &range), 16, "one call fills the buffer");
            assert_eq!(pages_of(buffered, r#"{"offset":8192,"bytes":20480}"#), 5, "and reads nothing beyond its range");
        }
        // The first page of a file is taken for the start of a scan.
        assert!(pages("normal") <= pages("sequential").max(1), "the window is larger");
        pages("willneed");
        let is_whole = sys::process::within(std::time::Duration::from_secs(60), || resident() == PAGES);
        assert!(is_whole, "{} of {PAGES} pages of the range came in", resident());
    }
}

/// A worker prepares what it is asked for; what it may execute and write is said by its permit, which these do not have.
#[test]
fn any_request_is_answered_and_nothing_is_executed_or_written_without_a_permit() {
    let (folder, file) = file_of(4096);
    let canary = folder.path().join("canary");
    let line =
        format!(r#"{{"line":"touch {0}","prepare":"touch {0}","shell":"/bin/sh","timeout_s":5}}"#, canary.display());
    let changes: [&[(&str, &str)]; 5] = [
        &[],
        &[("method", r#""mmap""#), ("options", r#"{"advice":"random"}"#), ("threads", "2")],
        &[("method", r#""pwrite""#), ("workload", r#""overwrite""#)],
        &[("method", r#""mmap""#), ("workload", r#""overwrite-random""#)],
        &[("method", r#""command""#), ("workload", r#""command""#), ("options", &line)],
    ];
    let mut corpus: Vec<Value> =
        changes.iter().map(|it| serde_json::from_str(&prepare(&file, it)).expect("it is a request")).collect();
    corpus.push(json!({ "hello": { "protocol": 1 } }));
    corpus.push(json!({ "bye": {} }));
    let (mut ready, mut refused, mut panics) = (0, 0, Vec::new());
    let before = std::fs::read(&file).unwrap();
    for seed in Effort::of(200).seeds() {
        let mut request = mutated(&corpus, &mut Random(seed));
        // A permit is the controller's to give, and how many blocks there is time for is its to say: making ready takes as
        // long as it takes to go through them.
        if let Some(job) = request.pointer_mut("/prepare").and_then(|it| it.as_object_mut()) {
            job.insert("permit".into(), json!({}));
            job.entry("ops").and_modify(|ops| *ops = ops.as_u64().map_or(ops.clone(), |it| it.min(10_000).into()));
        }
        let text = format!("{request}\n");
        match std::panic::catch_unwind(|| say(&text)) {
            Ok(replies) if replies.iter().any(|it| matches!(it, Reply::Prepared { .. })) => ready += 1,
            Ok(_) => refused += 1,
            Err(_) => panics.push(seed),
        }
        assert!(!canary.exists(), "{text}");
    }
    println!("requests: {} inputs, {ready} prepared, {refused} refused, {} panics", ready + refused, panics.len());
    assert!(panics.is_empty(), "panics at the seeds {panics:?}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}
