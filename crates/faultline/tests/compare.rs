//! Saved runs looked at again and side by side. The record is one that the first schema version saved.

use std::fs;

use schema::{Record, across::Across, findings::Verdict};

use crate::support::Sandbox;

const SAVED: &str = include_str!("../../schema/tests/records/version-1.json");

fn record() -> Record {
    serde_json::from_str(SAVED).unwrap()
}

/// Every pass of the second run takes `percent` of the time.
fn taking(percent: u64) -> String {
    let mut record = record();
    record.id = "20261122T000000Z-aaaa".into();
    for sample in &mut record.samples {
        if let schema::record::Outcome::Ok { phases, .. } = &mut sample.outcome {
            phases.work_ns = phases.work_ns * percent / 100;
            phases.open_ns = phases.open_ns.map(|it| it * percent / 100);
            phases.close_ns = phases.close_ns.map(|it| it * percent / 100);
        }
    }
    serde_json::to_string(&record).unwrap()
}

#[test]
fn a_run_of_the_first_schema_version_opens_as_a_page() {
    let sandbox = Sandbox::new();
    let saved = sandbox.write("saved.json", SAVED);
    let page = format!("{}.html", sandbox.write("page", ""));
    let output = sandbox.run(&["report", &saved, "--html", &page]);
    assert_eq!(output.code(), Some(0), "{output:#?}");
    assert!(fs::read_to_string(&page).unwrap().contains("The answer"));
    assert_eq!(sandbox.run(&["report", &saved, "--html", &page]).code(), Some(2), "it is there already");
}

#[test]
fn a_threshold_is_breached_only_by_what_it_is_about() {
    let sandbox = Sandbox::new();
    let first = sandbox.write("first.json", SAVED);
    let slow = sandbox.write("slow.json", taking(400));
    let exit = |limit: &str| sandbox.run(&["compare", &first, &slow, "--fail-if", limit]).code();
    assert_eq!(exit("native/mmap scan cached slower 10%"), Some(5));
    assert_eq!(exit("native/mmap scan cached slower 900%"), Some(0));
    assert_eq!(exit("native/mmap faster 10%"), Some(0));
    assert_eq!(exit("native/mmap cold slower 10%"), Some(2), "a threshold that looks at nothing is a mistake");
    let output = sandbox.run(&["compare", &first, &slow, "--json"]);
    let across: Across = serde_json::from_str(&output.stdout).unwrap();
    assert!(across.versus[0].cells.iter().all(|it| it.verdict == Verdict::Slower), "{output:#?}");
}

#[test]
fn runs_of_different_conditions_are_compared_only_when_told_to() {
    let sandbox = Sandbox::new();
    let mut other = record();
    other.conditions[0].file_bytes += 4096;
    let first = sandbox.write("first.json", SAVED);
    let other = sandbox.write("other.json", serde_json::to_string(&other).unwrap());
    let refused = sandbox.run(&["compare", &first, &other]);
    assert_eq!(refused.code(), Some(2));
    assert!(
        refused.stderr.contains("not comparable: the file has") && refused.stderr.contains("--anyway"),
        "{refused:#?}"
    );
    let told = sandbox.run(&["compare", &first, &other, "--anyway"]);
    assert_eq!(told.code(), Some(0));
    assert!(told.stdout.contains("Not comparable:"), "{told:#?}");
}

#[test]
fn runs_beside_each_other_make_a_page_and_overwrite_none() {
    let sandbox = Sandbox::new();
    let first = sandbox.write("first.json", SAVED);
    let slow = sandbox.write("slow.json", taking(400));
    let page = sandbox.at("page.html");
    assert_eq!(sandbox.run(&["compare", &first, &slow, "--html", &page]).code(), Some(0));
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("20261122T000000Z-aaaa against") && text.contains("native/mmap") && text.len() < 6_000_000);
    assert_eq!(sandbox.run(&["compare", &first, &slow, "--html", &page]).code(), Some(2), "it is there already");
}
