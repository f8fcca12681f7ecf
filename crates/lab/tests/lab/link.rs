//! The conversation with workers that misbehave, played by a few lines of shell: each ends as a sentence, none as a hang.

use std::{
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use lab::link::{Link, Trouble};
use planted::{Effort, Random, mutated};
use schema::{Beside, Span, protocol::Job};

static NEVER: AtomicBool = AtomicBool::new(false);

const HELLO: &str = r#"read request; echo '{"hello":{"protocol":1,"runtime":"script","methods":["read"]}}'"#;
const PREPARED: &str = r#"read request; echo '{"prepared":{"pass":1,"pid":1}}'"#;

fn script(text: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", text]);
    command
}

fn done(pass: u64) -> String {
    format!(
        r#"read request; echo '{{"done":{{"pass":{pass},"phases":{{"open_ns":null,"work_ns":1,"close_ns":null}},"tally":{{"ops":1,"bytes":1,"distinct_bytes":1,"checksum":"0","threads":1,"queue_depth":1}},"usage":{{"user_ns":0,"system_ns":0,"minor_faults":0,"major_faults":0,"voluntary_switches":0,"involuntary_switches":0}}}}}}'"#
    )
}

fn job() -> Job {
    Job::new(&"read".parse().unwrap(), "/dev/null", Span { offset: 0, bytes: 4096 })
}

/// A whole conversation with a script, and where it ended.
fn talk(text: &str) -> Result<(), Trouble> {
    let (mut link, _) = Link::start(script(text), &NEVER)?;
    link.prepare(&job())?;
    link.go(1, Duration::from_secs(60))?;
    link.bye()
}

#[track_caller]
fn fails(text: &str, words: &[&str]) {
    match talk(text) {
        Err(Trouble::Failed(reason)) => {
            for word in words {
                assert!(reason.contains(word), "{word:?} is not in {reason:?}");
            }
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_worker_that_keeps_to_the_protocol_is_content() {
    assert_eq!(talk(&format!("{HELLO}; {PREPARED}; {}; read request", done(1))), Ok(()));
}

#[test]
fn a_worker_that_leaves_out_beats_that_were_asked_for_or_counts_them_wrong_is_not_believed() {
    let counted = |beats: &str| done(1).replacen("\"usage\":", &format!("{beats}\"usage\":"), 1);
    let fine = r#""beats":{"period_ns":1000000,"deadlines":1,"wake_ups":1,"max_ns":5,"bins":[1],"idle":{"deadlines":100,"wake_ups":100,"max_ns":5,"bins":[100]}},"#;
    let beside = |beside: Beside, beats: &str| {
        let text = format!("{HELLO}; {PREPARED}; {}; read request", counted(beats));
        let (mut link, _) = Link::start(script(&text), &NEVER).unwrap();
        link.prepare(&Job { beside, ..job() }).unwrap();
        link.go(1, Duration::from_secs(60)).map(|done| done.beats.is_some())
    };
    assert_eq!(beside(Beside::Beat, fine), Ok(true));
    assert_eq!(beside(Beside::Nothing, ""), Ok(false));
    let wrong = [
        (Beside::Beat, String::new()),
        (Beside::Nothing, fine.into()),
        (Beside::Beat, fine.replacen("\"deadlines\":1,", "\"deadlines\":2,", 1)),
        (Beside::Beat, fine.replace("\"deadlines\":100", "\"deadlines\":0").replace("[100]", "[]")),
    ];
    for (asked, beats) in wrong {
        assert!(matches!(beside(asked, &beats), Err(Trouble::Failed(_))), "{asked} {beats}");
    }
}

/// As after Ctrl-Z: the time is over, and the worker has answered meanwhile.
#[test]
fn an_answer_that_came_while_this_process_was_stopped_counts() {
    let folder = tempfile::tempdir().unwrap();
    let answered = folder.path().join("answered");
    let early = done(1).replacen("read request; ", "sleep 0.05; ", 1);
    let text = format!("{HELLO}; {PREPARED}; {early}; touch {}; read request; read request", answered.display());
    let (mut link, _) = Link::start(script(&text), &NEVER).unwrap();
    link.prepare(&job()).unwrap();
    while !answered.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(link.go(1, Duration::ZERO).map(|done| done.pass), Ok(1));
    link.bye().unwrap();
}

#[test]
fn a_worker_that_dies_before_hello() {
    fails("exit 3", &["status 3"]);
    fails("echo 'no such library' >&2; exit 127", &["status 127", "no such library"]);
}

#[test]
fn a_worker_that_dies_after_it_was_prepared() {
    fails(&format!("{HELLO}; {PREPARED}; exit 0"), &["status 0"]);
}

#[test]
fn a_worker_that_dies_in_the_middle_of_a_pass_leaves_its_last_words() {
    fails(
        &format!("{HELLO}; {PREPARED}; read request; echo 'the disk is on fire' >&2; kill -9 $$"),
        &["SIGKILL", "the disk is on fire"],
    );
    fails(&format!("{HELLO}; {PREPARED}; read request; kill -BUS $$"), &["SIGBUS", "truncated"]);
    fails(&format!("{HELLO}; {PREPARED}; read request; kill -SEGV $$"), &["signal 11"]);
}

#[test]
fn a_worker_that_fails_after_it_was_done_is_not_believed() {
    fails(&format!("{HELLO}; {PREPARED}; {}; read request; exit 5", done(1)), &["status 5"]);
}

#[test]
fn a_worker_that_closes_its_output_and_stays_is_killed() {
    fails(&format!("{HELLO}; exec >&-; exec sleep 1000"), &["closed its output", "killed"]);
}

#[test]
fn a_worker_that_speaks_garbage_is_quoted_and_no_more_than_needed() {
    fails(&format!("{HELLO}; read request; echo 'Hello, world'"), &["not a reply", "Hello, world"]);
    fails(r"read request; printf '\377\376\000garbage\n'", &["not a reply", "garbage"]);
    fails("read request; echo '{}'", &["not a reply"]);
    fails("read request; echo", &["not a reply"]);
    let long = talk("read request; head -c 100000 /dev/zero | tr '\\0' x; echo").unwrap_err();
    let Trouble::Failed(reason) = long else { panic!("{long:?}") };
    assert!(reason.len() < 300, "{} bytes", reason.len());
}

#[test]
fn a_worker_that_speaks_another_protocol_is_not_used() {
    fails(
        r#"read request; echo '{"hello":{"protocol":99,"runtime":"script","methods":[]}}'; read request"#,
        &["protocol version 99", "this controller 1"],
    );
}

#[test]
fn a_line_without_end_is_cut_off() {
    fails("read request; head -c 2097152 /dev/zero; exec sleep 1000", &["without a line's end"]);
}

#[test]
fn a_worker_that_complains_a_lot_does_not_stall() {
    let babble = "head -c 1000000 /dev/zero | tr '\\0' x >&2";
    assert_eq!(talk(&format!("{babble}; {HELLO}; {babble}; {PREPARED}; {babble}; {}; read request", done(1))), Ok(()));
    // Also when the last of it comes after the work.
    assert_eq!(talk(&format!("{HELLO}; {PREPARED}; {}; read request; {babble}", done(1))), Ok(()));
    let trouble = talk(&format!("{HELLO}; {babble}; echo 'the point' >&2; exit 1")).unwrap_err();
    let Trouble::Failed(reason) = trouble else { panic!("{trouble:?}") };
    assert!(reason.contains("the point") && reason.len() < 3000, "only the tail is kept: {} bytes", reason.len());
}

#[test]
fn a_worker_that_reads_nothing_is_given_up() {
    let (mut link, _) = Link::start(script(&format!("{HELLO}; exec sleep 1000")), &NEVER).unwrap();
    // More than a pipe holds.
    let job = Job { file: "x".repeat(1 << 21), ..job() };
    let interrupted = AtomicBool::new(false);
    assert!(matches!(link.prepare(&job), Err(Trouble::Failed(_))));
    drop(link);
    let (mut link, _) = Link::start(script(&format!("{HELLO}; exec sleep 1000")), &interrupted).unwrap();
    interrupted.store(true, Ordering::Relaxed);
    assert_eq!(link.prepare(&job), Err(Trouble::Interrupted));
}

#[test]
fn an_answer_to_another_question_is_not_taken() {
    fails(
        &format!("{HELLO}; read request; echo '{{\"prepared\":{{\"pass\":2,\"pid\":1}}}}'"),
        &["a different request"],
    );
    fails(&format!("{HELLO}; {PREPARED}; {}", done(7)), &["\"done\"", "a different request"]);
    fails(&format!("{HELLO}; {}", done(1)), &["\"done\"", "a different request"]);
    fails(PREPARED, &["\"prepared\"", "a different request"]);
}

#[test]
fn what_a_worker_cannot_do_is_no_failure() {
    let script = format!(
        r#"{HELLO}; read request; echo '{{"unavailable":{{"pass":1,"reason":"no ring here"}}}}'; read request"#
    );
    assert_eq!(talk(&script), Err(Trouble::Unavailable("no ring here".into())));
}

#[test]
fn a_failure_is_told_in_the_workers_words() {
    fails(
        &format!(
            r#"{HELLO}; {PREPARED}; read request; echo '{{"failed":{{"pass":1,"during":"work","errno":5,"message":"Input/output error"}}}}'"#
        ),
        &["during work", "Input/output error"],
    );
}

#[test]
fn a_worker_that_stalls_is_killed_in_any_phase() {
    let patience = Duration::from_millis(300);
    let stalled = |trouble: Trouble| match trouble {
        Trouble::Failed(reason) => assert!(reason.contains("did not answer within 0.3 s"), "{reason}"),
        other => panic!("{other:?}"),
    };
    stalled(Link::start_within(patience, script("exec sleep 1000"), &NEVER).err().unwrap());
    let (mut link, _) = Link::start(script(&format!("{HELLO}; {PREPARED}; exec sleep 1000")), &NEVER).unwrap();
    link.prepare(&job()).unwrap();
    let pid = link.pid();
    stalled(link.go(1, patience).unwrap_err());
    drop(link);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "the stalled worker is gone");
}

#[test]
fn an_interruption_ends_the_wait() {
    let interrupted = AtomicBool::new(false);
    let (mut link, _) = Link::start(script(&format!("{HELLO}; exec sleep 1000")), &interrupted).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            interrupted.store(true, Ordering::Relaxed);
        });
        assert_eq!(link.prepare(&job()), Err(Trouble::Interrupted));
    });
}

#[test]
fn an_interruption_ends_the_wait_for_a_worker_that_does_not_end() {
    let interrupted = AtomicBool::new(false);
    let (link, _) = Link::start(script(&format!("{HELLO}; exec sleep 1000")), &interrupted).unwrap();
    interrupted.store(true, Ordering::Relaxed);
    assert_eq!(link.bye(), Err(Trouble::Interrupted));
}

#[test]
fn a_program_that_is_not_there_is_said_to_be() {
    let trouble = Link::start(Command::new("/no/such/worker"), &NEVER).err().unwrap();
    assert!(matches!(&trouble, Trouble::Failed(reason) if reason.contains("cannot be started")), "{trouble:?}");
}

/// Three answers, one of which has something exchanged in it; what they came to.
fn any_talk(seed: u64, answers: &[serde_json::Value; 3], described: &std::path::Path) -> Result<(), Trouble> {
    let mut random = Random(seed);
    let mut lines = answers.each_ref().map(|it| it.to_string().into_bytes());
    let which = random.below(3) as usize;
    let line = &mut lines[which];
    match random.below(3) {
        0 => {
            let at = random.below(line.len() as u64) as usize;
            line[at] ^= 1 << random.below(8);
        }
        1 => line.truncate(random.below(line.len() as u64) as usize),
        _ => *line = mutated(&answers[which..=which], &mut random).to_string().into_bytes(),
    }
    line.retain(|it| *it != b'\n');
    // More than is waited for when a line is no answer.
    std::fs::write(described, [&lines.join(&b'\n')[..], b"\n", &[b' '; 300]].concat()).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "cat \"$1\"; exec cat > /dev/null", "sh"]).arg(described);
    let (mut link, _) = Link::start(command, &NEVER)?;
    link.prepare(&job())?;
    link.go(1, Duration::from_secs(60))?;
    link.bye()
}

#[test]
fn any_answer_is_used_or_ends_the_conversation_with_a_sentence() {
    let done = done(1);
    let parse = |text: &str| {
        let json = text.split_once("echo '").unwrap().1.trim_end_matches('\'');
        serde_json::from_str::<serde_json::Value>(json).unwrap()
    };
    let answers = [parse(HELLO), parse(PREPARED), parse(&done)];
    let folder = tempfile::tempdir().unwrap();
    let (mut used, mut refused, mut failed) = (0, 0, Vec::new());
    for seed in Effort::of(60).seeds() {
        match std::panic::catch_unwind(|| any_talk(seed, &answers, &folder.path().join("said"))) {
            Ok(Ok(())) => used += 1,
            Ok(Err(Trouble::Failed(reason) | Trouble::Unavailable(reason))) if !reason.is_empty() => refused += 1,
            Ok(Err(_)) | Err(_) => failed.push(seed),
        }
    }
    println!("answers: {} inputs, {used} used, {refused} refused", used + refused + failed.len());
    assert!(failed.is_empty(), "panics, or no sentence, at the seeds {failed:?}");
}
