//! What is observed around passes, and counted in passes of their own: there, or a reason; and nothing stays behind.

use std::fs;

use schema::Reading;

use crate::support::Sandbox;

#[test]
fn every_pass_has_every_reading_or_its_reason_and_the_table_has_their_columns() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let csv = sandbox.at("out.csv");
    let output = sandbox.run_short(&file, &["--json", &format!("--csv={csv}")]);
    let record = output.document().record;
    let text = fs::read_to_string(csv).unwrap();
    let columns: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    for name in lab::probe::PROBES.iter().flat_map(|kind| kind.readings) {
        assert!(columns.contains(name), "{name}");
        for sample in &record.samples {
            match &sample.readings[*name] {
                Reading::Value(value) => assert!(value.is_finite() && *value >= 0.0, "{name}: {value}"),
                Reading::Unavailable { unavailable } => assert!(!unavailable.is_empty(), "{name}"),
            }
        }
    }
    assert!(record.samples.iter().all(|it| it.readings["run_ns"].value().is_none_or(|&ns| ns > 0.0)));
}

#[test]
fn a_counted_run_leaves_no_mount_and_nothing_to_clean() {
    let tracefs = || {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        mounts.lines().filter(|line| line.contains(" - tracefs ")).count()
    };
    let before = tracefs();
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let record = sandbox.run_short(&file, &["--counted", "--allow-setup", "--json"]).document().record;
    assert_eq!(tracefs(), before);
    let cleaned = sandbox.run(&["clean"]).expect(0);
    assert!(cleaned.stdout.contains("nothing was left"), "{}", cleaned.stdout);
    for counted in &record.counted {
        // What the worker itself reads of a file of sixteen blocks, in either way.
        if let Reading::Value(calls) = counted.counts["system_calls"] {
            assert!((1..200).contains(&calls), "{calls}");
        }
        assert!(counted.histograms.contains_key("request_bytes_flush"), "{counted:?}");
    }
    assert_eq!(record.counted.len(), 2, "{:?}", record.limits);
}

#[test]
fn an_ordinary_user_is_told_what_was_not_counted_and_gets_the_rest() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let file = sandbox.file("file", 1 << 20);
    let output = sandbox.run_short(&file, &["--counted", "--allow-setup", "--json"]);
    output.sane();
    let record = output.document().record;
    assert_eq!(record.counted.len(), 2);
    for counted in &record.counted {
        for (name, count) in &counted.counts {
            assert!(count.value().is_some() || count.reason().is_some_and(|it| !it.is_empty()), "{name}");
        }
        if let Some(reason) = counted.counts["system_calls"].reason() {
            assert!(!reason.is_empty());
            assert!(record.limits.iter().any(|it| it.contains("tracepoints were not counted")), "{:?}", record.limits);
        }
    }
    assert!(record.samples.iter().all(|it| it.readings["run_wait_ns"].value().is_some()));
}
