//! Requests with random changes, to a worker that is no native one.

use std::{path::Path, process::Command, time::Duration};

use planted::{Effort, Random, mutated};
use schema::protocol::{Job, Reply, Request};
use serde_json::{Value, json};

/// Requests that one worker has to answer.
const AT_ONCE: usize = 500;

/// Every request is answered, or ends the worker with these last words, and the file stays as it is. A permit is the controller's
/// to give, and these have none.
pub(crate) fn are_answered(name: &str, worker: impl Fn() -> Command, jobs: &[Job], file: &Path, ending: Option<&str>) {
    let before = std::fs::read(file).unwrap();
    let mut corpus: Vec<Value> =
        jobs.iter().map(|it| serde_json::to_value(Request::Prepare(Box::new(it.clone()))).unwrap()).collect();
    corpus.push(json!({ "hello": { "protocol": 1 } }));
    let request = |seed: u64| {
        let mut request = mutated(&corpus, &mut Random(seed));
        // How many blocks there is time for is the controller's to say too.
        if let Some(job) = request.pointer_mut("/prepare").and_then(|it| it.as_object_mut()) {
            job.insert("permit".into(), json!({}));
            job.entry("ops").and_modify(|ops| *ops = ops.as_u64().map_or(ops.clone(), |it| it.min(10_000).into()));
        }
        request.to_string()
    };
    let (mut ready, mut refused, mut ended, mut failed) = (0, 0, 0, Vec::new());
    let mut seeds = Effort::of(300).seeds().peekable();
    while let Some(&first) = seeds.peek() {
        let requests: Vec<String> = seeds.by_ref().take(AT_ONCE).map(request).collect();
        let (replies, last_words) = said(worker(), &file.with_extension("requests"), &requests);
        for reply in &replies {
            match serde_json::from_str(reply) {
                Ok(Reply::Prepared { .. }) => ready += 1,
                Ok(_) => refused += 1,
                Err(error) => failed.push(format!("seed {first} and later: {error}: {reply}")),
            }
        }
        if replies.len() < requests.len() {
            ended += 1;
            if !ending.is_some_and(|it| last_words.contains(it)) {
                failed.push(format!("ended by {}: {last_words}", requests[replies.len()]));
            }
        }
    }
    let inputs = ready + refused + ended + failed.len();
    println!("requests in {name}: {inputs} inputs, {ready} prepared, {refused} refused, {ended} ended the worker");
    assert!(failed.is_empty() && ready > 0 && refused > 0, "{failed:#?}");
    assert_eq!(std::fs::read(file).unwrap(), before);
}

/// The lines of its replies, and what it wrote to stderr.
fn said(worker: Command, input: &Path, requests: &[String]) -> (Vec<String>, String) {
    std::fs::write(input, requests.join("\n") + "\n").unwrap();
    let requests = std::fs::File::open(input).unwrap();
    let output = sys::process::output_of(worker, requests.into(), Duration::from_secs(120)).unwrap();
    let lines = String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect();
    (lines, String::from_utf8_lossy(&output.stderr).into_owned())
}
