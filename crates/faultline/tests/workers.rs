//! Workers that misbehave, in place of the real one: every pass fails in words, the run goes on, and nothing hangs.

use std::{fs, os::unix::fs::PermissionsExt};

use schema::findings::Status;

use crate::support::{Output, Running, Sandbox, failure, short};

/// A run whose workers are this shell script.
fn run(script: &str) -> Output {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let worker = sandbox.write("worker", format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&worker, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = sandbox.command(&short(&file, &["--json", "--state=as-is"]));
    command.env("FAULTLINE_WORKER", worker);
    Running::new(command).end()
}

/// Every pass failed for a reason with these words, and so did the run.
#[track_caller]
fn fails(script: &str, words: &[&str]) {
    let document = run(script).expect(1).document();
    assert_eq!(document.record.samples.len(), 3, "the run went on to its end");
    for sample in &document.record.samples {
        let reason = failure(sample).expect("the pass failed");
        for word in words {
            assert!(reason.contains(word), "{word:?} is not in {reason:?}");
        }
    }
    for cell in &document.findings.cells {
        assert_eq!(cell.status, Status::Failed);
        assert_ne!(cell.reasons, []);
    }
}

const HELLO: &str = r#"read request; echo '{"hello":{"protocol":1,"runtime":"script","methods":[]}}'"#;

#[test]
fn a_worker_that_dies_at_once() {
    fails("exit 9", &["ended with status 9"]);
}

#[test]
fn a_worker_that_dies_with_last_words() {
    fails(&format!("{HELLO}; read request; echo 'out of luck' >&2; exit 7"), &["status 7", "out of luck"]);
}

#[test]
fn a_worker_that_speaks_garbage() {
    fails("read request; echo 'Segmentation fault'", &["not a reply", "Segmentation fault"]);
}

#[test]
fn a_worker_of_another_version() {
    fails(
        r#"read request; echo '{"hello":{"protocol":99,"runtime":"script","methods":[]}}'; read request"#,
        &["protocol version 99", "this controller 1"],
    );
}

#[test]
fn a_worker_that_can_do_nothing_is_unavailable_and_that_was_asked_for() {
    let script = format!(
        "{HELLO}; read request; pass=${{request#*pass\\\":}}; pass=${{pass%%,*}}; \
         echo \"{{\\\"unavailable\\\":{{\\\"pass\\\":$pass,\\\"reason\\\":\\\"out of order\\\"}}}}\"; read request"
    );
    let document = run(&script).expect(4).document();
    assert!(document.findings.cells.iter().all(|it| it.status == Status::Skipped), "{:?}", document.findings.cells);
    assert!(
        document.findings.cells.iter().all(|it| report::words::reasons(&it.reasons).as_deref() == Some("out of order"))
    );
}

#[test]
fn a_worker_that_is_not_there() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let mut command = sandbox.command(&short(&file, &["--json"]));
    command.env("FAULTLINE_WORKER", "/no/such/worker");
    let document = Running::new(command).end().expect(1).document();
    assert!(document.record.samples.iter().filter_map(failure).all(|it| it.contains("cannot be started")));
    assert_eq!(document.record.samples.len(), 3);
}
