//! The conversation itself: what a worker says of itself, what it answers to nonsense, and how it ends.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use lab::link::Trouble;
use schema::{
    Arm, Span,
    protocol::{Job, PROTOCOL, Reply, Request},
};

use super::{
    reading::{Files, LIMIT, expected, plain, tally_of},
    workers::{self, Worker},
};

/// The first method of a runtime, as it is.
fn some_arm(worker: &Worker) -> Arm {
    worker.arm(worker.runtime.methods[0].name)
}

/// What a worker answers to these lines, until its input ends; it must end by itself, and well.
pub fn answers(mut command: Command, input: &[u8]) -> Vec<Reply> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may end at `bye` before all is written.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines = output.stdout.split(|&byte| byte == b'\n').filter(|it| !it.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("stdout carries nothing but replies")).collect()
}

pub fn described(request: &Request) -> String {
    serde_json::to_string(request).unwrap() + "\n"
}

#[test]
fn hello_names_the_methods_of_the_table_in_its_order() {
    workers::one_of_each(|worker| {
        let (link, hello) = worker.start(&some_arm(worker));
        let table: Vec<&str> = worker.runtime.methods.iter().map(|it| it.name).collect();
        assert_eq!((hello.protocol, hello.methods), (PROTOCOL, table.iter().map(|it| it.to_string()).collect()));
        assert_eq!(hello.runtime, worker.name);
        assert_eq!(hello.runtime.split(' ').next(), Some(worker.runtime.name), "its version may follow");
        link.bye().unwrap();
    });
}

#[test]
fn nonsense_is_answered_with_a_failure_each_and_the_conversation_goes_on() {
    workers::one_of_each(|worker| {
        let input = b"what?\n{\"dance\":{}}\n\xff\xfe\n\n{\"go\":{\"pass\":\"one\"}}\n{\"go\":{\"pass\":5}}\n{\"hello\":{\"protocol\":99}}\n";
        let replies = answers(worker.command(&some_arm(worker)), input);
        let [refusals @ .., Reply::Failed(gone), Reply::Hello(hello)] = &replies[..] else {
            panic!("{}: {replies:?}", worker.name)
        };
        assert!(refusals.len() == 4 && refusals.iter().all(|it| matches!(it, Reply::Failed(_))), "{replies:?}");
        assert_eq!((gone.pass, gone.during.as_str()), (5, "prepare"), "{}: nothing is prepared", worker.name);
        // The controller compares, and does not use one that answers another number than its own.
        assert_eq!(hello.protocol, PROTOCOL);
    });
}

#[test]
fn bye_and_the_end_of_the_input_end_quietly() {
    workers::one_of_each(|worker| {
        let arm = some_arm(worker);
        assert_eq!(answers(worker.command(&arm), b""), []);
        let bye = [described(&Request::Bye {}), described(&Request::Hello { protocol: PROTOCOL })].concat();
        assert_eq!(answers(worker.command(&arm), bye.as_bytes()), []);
    });
}

#[test]
fn a_job_that_makes_no_sense_is_refused_and_leaves_nothing_to_go_with() {
    const SIZE: u64 = 4097;
    let files = Files::new(&[0, SIZE]);
    let folder = files.path(0).parent().unwrap().to_str().unwrap().to_string();
    workers::one_of_each(|worker| {
        let arm = some_arm(worker);
        let fine = plain(&arm, &files, SIZE);
        let with = |change: &dyn Fn(&mut Job)| {
            let mut job = fine.clone();
            change(&mut job);
            job
        };
        let refused = [
            with(&|it| it.method = "nothing-of-the-kind".into()),
            with(&|it| it.file = files.path(0).to_str().unwrap().into()),
            with(&|it| it.file = files.path(1).to_str().unwrap().into()),
            with(&|it| it.file = folder.clone()),
            with(&|it| it.range = Span { offset: 0, bytes: 0 }),
            with(&|it| it.range = Span { offset: 1, bytes: SIZE }),
            with(&|it| it.range = Span { offset: u64::MAX, bytes: 2 }),
            with(&|it| it.block_bytes = 0),
            with(&|it| it.ops = 0),
            with(&|it| it.threads = 0),
            with(&|it| it.threads = 1_000_000),
            with(&|it| it.consumed_percent = 0),
            with(&|it| it.consumed_percent = 101),
        ];
        let (mut link, _) = worker.start(&arm);
        for job in refused {
            link.prepare(&fine).unwrap();
            let answer = link.prepare(&job);
            assert!(matches!(answer, Err(Trouble::Failed(_) | Trouble::Unavailable(_))), "{}: {job:?}", worker.name);
            let gone = link.go(job.pass, LIMIT);
            assert!(matches!(gone, Err(Trouble::Failed(_))), "{}: {gone:?} after {job:?}", worker.name);
        }
        assert_eq!(tally_of(&mut link, &fine), Ok(expected(&files, SIZE, &fine)), "{}", worker.name);
    });
}
