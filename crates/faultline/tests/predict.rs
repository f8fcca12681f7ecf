//! `faultline predict`: from a saved run's unit costs, without measuring.

use serde_json::Value;

use std::path::Path;

use crate::support::{Sandbox, test_file};

/// A measured run with unit costs.
const MEASURED: &str = include_str!("../../analysis/tests/records/crossover.json");

const QUESTION: [&str; 5] = ["predict", "--block=200", "--ops=10000000", "--file-size=40GB", "--memory=16GB"];

fn ask(sandbox: &Sandbox, more: &[&str]) -> crate::support::Output {
    let args: Vec<&str> = QUESTION.iter().chain(more).copied().collect();
    sandbox.run(&args)
}

#[test]
fn a_question_is_answered_in_words_and_in_json() {
    let sandbox = Sandbox::new();
    let saved = sandbox.write("saved.json", MEASURED);
    let text = ask(&sandbox, &["--run", &saved]).expect(0).stdout;
    assert!(text.contains("10,000,000 random blocks of 200 B"), "{text}");
    assert!(text.contains(" expected to ") && text.contains("device"), "{text}");
    let json: Value = serde_json::from_str(&ask(&sandbox, &["--run", &saved, "--json"]).expect(0).stdout).unwrap();
    let arms = json["arms"].as_array().unwrap();
    assert_eq!(arms.len(), 3);
    for arm in arms {
        let of = |name: &str| arm["seconds"][name].as_f64().unwrap();
        assert!(0.0 < of("ci_low") && of("ci_low") <= of("median") && of("median") <= of("ci_high"), "{arm}");
    }
    assert_eq!(json["resident_share"], 0.4);
}

#[test]
fn what_cannot_be_predicted_says_why_and_what_makes_no_sense_is_a_usage_error() {
    let sandbox = Sandbox::new();
    let saved = sandbox.write("saved.json", MEASURED);
    let text = ask(&sandbox, &["--run", &saved, "--method=stdio"]).expect(3).stdout;
    assert!(text.contains("stdio was not calibrated"), "{text}");
    ask(&sandbox, &["--run", &saved, "--state=nowhere"]).expect(2);
    sandbox.run(&["predict", "--file-size=0", "--run", &saved]).expect(2);
    sandbox.run(&["predict", "--run", &saved]).expect(2);
    for (size, block, workload) in [("4MiB", "64MiB", "random"), ("5000B", "4KiB", "random"), ("3B", "4KiB", "scan")] {
        let [size, block, workload] =
            [format!("--file-size={size}"), format!("--block={block}"), format!("--workload={workload}")];
        sandbox.run(&["predict", "--run", &saved, &size, &block, &workload]).expect(2);
    }
}

#[test]
fn a_question_that_makes_no_sense_is_refused_before_anything_is_measured_for_it() {
    let sandbox = Sandbox::new();
    let dir = format!("--dir={}", sandbox.folder("folder"));
    let of_no_costs = ["--workload=overwrite", "--state=limited", "--consume=copy"].map(|it| ["--file-size=1GiB", it]);
    let wrong = [&["--file-size=0"][..], &["--file-size=1GiB", "--fill=random", "--state=cold"]];
    for wrong in wrong.into_iter().chain(of_no_costs.iter().map(|it| &it[..])) {
        sandbox.run(&[&["predict", &dir][..], wrong].concat()).expect(2);
        assert!(!sandbox.data().join("runs").exists(), "{wrong:?}");
    }
}

#[test]
fn a_run_that_was_not_calibrated_is_refused_with_its_reason() {
    let sandbox = Sandbox::new();
    let mut record: Value = serde_json::from_str(MEASURED).unwrap();
    record["calibration"] = serde_json::json!({ "unavailable": "a budget of 5 s leaves no time for it" });
    let saved = sandbox.write("saved.json", record.to_string());
    let output = ask(&sandbox, &["--run", &saved]).expect(1);
    assert!(output.stderr.contains("a budget of 5 s leaves no time for it"), "{output:?}");
}

#[test]
fn threads_are_part_of_the_question() {
    let sandbox = Sandbox::new();
    let saved = sandbox.write("saved.json", MEASURED);
    let seconds = |threads: &str| {
        let json = ask(&sandbox, &["--run", &saved, "--json", threads]).expect(0).stdout;
        serde_json::from_str::<Value>(&json).unwrap()["arms"][0]["seconds"]["median"].as_f64().unwrap()
    };
    assert!(seconds("--threads=8") < seconds("--threads=1"));
    let text = ask(&sandbox, &["--run", &saved, "--threads=8"]).expect(0).stdout;
    assert!(text.contains("8 threads"), "{text}");
    ask(&sandbox, &["--run", &saved, "--threads=0"]).expect(2);
}

#[test]
fn a_machine_without_unit_costs_is_calibrated_first_and_stopping_that_leaves_nothing() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let dir = format!("--dir={folder}");
    let mut running = sandbox.start(&["predict", "--file-size=40GB", &dir]);
    assert!(running.until(|| test_file(Path::new(&folder))).is_some(), "it makes a file to calibrate on");
    running.signal(libc::SIGINT);
    let output = running.end().expect(130);
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(test_file(Path::new(&folder)).is_none());
    assert_eq!(sandbox.noted(), 0);
}

/// Saves the measured run under an id, as of this kernel, in the folder of the own runs or that of imported ones.
pub(crate) fn keep(sandbox: &Sandbox, folder: &str, id: &str, machine: &Value, host: &str) {
    let mut record: Value = serde_json::from_str(MEASURED).unwrap();
    record["id"] = id.into();
    record["environment"]["host"] = host.into();
    record["environment"]["machine"] = machine.clone();
    record["environment"]["kernel"] = lab::host::detect(&|| None).kernel.into();
    std::fs::create_dir_all(sandbox.data().join(folder)).unwrap();
    std::fs::write(sandbox.data().join(folder).join(format!("{id}.json")), record.to_string()).unwrap();
}

#[test]
fn unit_costs_are_of_the_own_runs_of_this_machine_or_of_the_machine_that_is_named() {
    let sandbox = Sandbox::new();
    let here = lab::host::detect(&|| None);
    let ours = serde_json::to_value(&here.machine).unwrap();
    let theirs = serde_json::json!({
        "key": "fedcba9876543210fedcba9876543210", "hardware": "0011223344556677", "source": "machine-id"
    });
    // Forged: it says that it was made here.
    keep(&sandbox, "imported", "20991121T000000Z-0001", &ours, &here.host);
    keep(&sandbox, "imported", "20991121T000000Z-0002", &theirs, "field");
    keep(&sandbox, "runs", "20991121T000000Z-0003", &theirs, &here.host);
    keep(&sandbox, "runs", "20261121T000000Z-0004", &ours, &here.host);
    keep(&sandbox, "imported", "20991121T000000Z-0005", &Value::Null, &here.host);
    let of = |more: &[&str]| {
        let json = ask(&sandbox, &[&["--json"], more].concat()).expect(0).stdout;
        serde_json::from_str::<Value>(&json).unwrap()["run"].as_str().unwrap().to_string()
    };
    let other_machine = |more: &[&str]| {
        let json = ask(&sandbox, &[&["--json"], more].concat()).expect(0).stdout;
        let json: Value = serde_json::from_str(&json).unwrap();
        let hosts = json["remarks_data"].as_array().unwrap().iter().filter_map(|it| it.get("other-machine"));
        hosts.map(|it| it["host"].as_str().unwrap().to_string()).collect::<Vec<String>>()
    };
    assert_eq!(other_machine(&["--run=20261121T000000Z-0004"]), [""; 0]);
    for field in ["--run=20991121T000000Z-0002", "--machine=field"] {
        assert_eq!(other_machine(&[field]), ["field"]);
    }
    for other in ["0003", "0001", "0005"] {
        let run = format!("--run=20991121T000000Z-{other}");
        assert_eq!(other_machine(&[&run]), [here.host.as_str()], "{other}: another one of that name, or a forged one");
    }
    assert_eq!(of(&[]), "20261121T000000Z-0004");
    assert_eq!(of(&["--machine=field"]), "20991121T000000Z-0002");
    ask(&sandbox, &["--machine=nobody"]).refused(1, &["\"nobody\"", "--machine all"]);
    ask(&sandbox, &["--machine=field", "--run=last"]).expect(2);
}
