//! What a run says, the saved record says again: every built-in experiment and study, run as briefly as possible. How much
//! of it the budget, the machine or the user's rights leave out does not matter; what is left out is in the record too.

use schema::builtin;

use crate::support::{Sandbox, short};

fn is_said_again(sandbox: &Sandbox, args: &[&str]) {
    let live = sandbox.run(args);
    live.sane();
    let document = live.document();
    let saved = sandbox.record();
    assert_eq!(saved, document.record);
    // With the sentences that the report makes of them.
    let said = report::json(&saved, &analysis::analyze(&saved), None);
    assert_eq!(serde_json::from_str::<schema::findings::Document>(&said).unwrap().findings, document.findings);
    let again = sandbox.run(&["report", &saved.id, "--json"]).expect(0);
    // To the last byte, which also tells -0.0 from 0.0.
    assert_eq!(again.stdout, live.stdout);
    if saved.samples.is_empty() {
        let reason = saved.cells.iter().find_map(|it| it.skipped.as_ref()).map(ToString::to_string);
        println!("skipped: no pass was made: {}", reason.unwrap_or_default());
    }
}

fn of_built_in(experiment: &str) {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    // One size of blocks, so that passes fit into the time; two rounds, so that there are intervals.
    let brief = ["--size=256KiB", "--block=4KiB", "--rounds=2", "--budget=2s", "--json"];
    is_said_again(&sandbox, &[&["run", &folder, "-e", experiment][..], &brief].concat());
}

#[test]
fn findings_of_a_saved_run_with_arms_in_java_and_a_timeline_are_the_live_ones() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let more = ["--method=read,jvm/mapped", "--rounds=2", "--timeline", "--json"];
    is_said_again(&sandbox, &short(&file, &more));
}

#[test]
fn findings_of_saved_commands_are_the_live_ones() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let brief = ["--state=cached", "--rounds=2", "--budget=44s", "--json"];
    is_said_again(&sandbox, &[&["ab", "cat file", "wc -l file", "--file", &file][..], &brief].concat());
}

macro_rules! each {
    ($($test:ident: $experiment:literal,)*) => {
        mod findings_of_the_saved_record_are_the_live_ones_of {
            $(#[test]
            fn $test() {
                super::of_built_in($experiment);
            })*
        }
        const EACH: &[&str] = &[$($experiment),*];
    };
}

// Tests of their own, so that they run side by side.
each! {
    survey: "survey",
    crossover: "crossover",
    calibrate: "calibrate",
    fills: "fills",
    write_back: "write-back",
    safepoints: "safepoints",
    threads: "threads",
    stalls: "stalls",
    python: "python",
    go: "go",
    smoke: "smoke",
    dillon_2001: "dillon-2001",
    cse221_2003: "cse221-2003",
    random_4k_2021: "random-4k-2021",
    line_count_boards: "line-count-boards",
    line_count_boards_java: "line-count-boards-java",
    channel_vs_mapped: "channel-vs-mapped",
    channel_vs_mapped_writing: "channel-vs-mapped-writing",
    channel_vs_mapped_java: "channel-vs-mapped-java",
    channel_vs_mapped_java_writing: "channel-vs-mapped-java-writing",
}

#[test]
fn every_built_in_experiment_is_one_of_those() {
    let all: Vec<&str> = builtin::all().map(|(name, _)| name).collect();
    assert_eq!(EACH, all);
}
