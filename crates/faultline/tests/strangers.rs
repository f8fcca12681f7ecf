//! Without root, and on files of somebody else: it answers, and says what it lost.

use std::{fs, os::unix::fs::PermissionsExt};

use schema::{
    Arm,
    arm::{Options, Setting},
    command::COMMAND,
};

use crate::support::{Sandbox, failure, is_root};

/// A record of the first format, as it was saved then.
const SAVED: &str = include_str!("../../schema/tests/records/version-1.json");

#[test]
fn an_ordinary_user_gets_an_answer_about_a_file_of_their_own_and_what_was_lost() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let file = sandbox.file("file", 1 << 20);
    let output = sandbox.run_short(&file, &["--state=cold,cached,mapped", "--json"]);
    output.sane();
    let record = output.document().record;
    assert!(!record.environment.root);
    assert!(record.limits.iter().any(|it| it.contains("not root")), "{:?}", record.limits);
    assert_eq!(record.samples.iter().filter_map(failure).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(record.samples.len(), 9);
    assert_eq!(sandbox.left(), ["file"]);
}

#[test]
fn an_ordinary_user_gets_a_test_file_in_a_folder_of_their_own() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let folder = sandbox.folder("folder");
    sandbox.run_short(&folder, &["--size=1MiB"]).sane();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    sandbox.run(&["doctor", &folder]).expect(0);
}

#[test]
fn doctor_looks_at_all_that_needs_no_file_in_a_folder_that_cannot_be_written_to() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let folder = sandbox.folder("folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let output = sandbox.run(&["doctor", &folder]).expect(0);
    output.shows(&["ok  runtime native", "--  method read", "--  state cold", "cannot make a test file", "ok  memory"]);
    sandbox.run(&["doctor", &sandbox.at("nowhere")]).refused(1, &["nowhere"]);
}

#[test]
fn a_file_of_somebody_else_is_answered_about_as_far_as_its_residency_can_be_seen() {
    if !is_root() {
        println!("skipped: only root can make a file of another user");
        return;
    }
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let file = sandbox.file("file", 1 << 20);
    std::os::unix::fs::chown(&file, Some(0), Some(0)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let output = sandbox.run_short(&file, &["--state=cold,cached,as-is", "--json"]);
    output.sane();
    let record = output.document().record;
    // Whatever could not be verified is skipped, with the reason; nothing is measured blindly, and as-is always is.
    for cell in &record.cells {
        let state = record.conditions[cell.condition].state;
        match (&cell.skipped, state) {
            (Some(reason), schema::State::AsIs) => panic!("as-is was skipped: {reason}"),
            (Some(reason), _) => assert!(reason.to_string().contains("verif"), "{reason}"),
            (None, _) => {}
        }
    }
    assert!(
        record.samples.iter().any(|it| record.conditions[record.cells[it.cell].condition].state == schema::State::AsIs)
    );
    let quiet = record.target.residency.value().is_none();
    assert!(!quiet || record.limits.len() > 1, "what was lost is named: {:?}", record.limits);
}

#[test]
fn a_record_whose_arms_are_in_no_vocabulary_is_shown_and_nothing_of_it_is_executed() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("input", 300_000);
    let trace = sandbox.at("trace");
    let word = |text: String| Setting::Word(text);
    let options: Options = [
        ("line".to_string(), word(format!("touch {trace}-line"))),
        ("prepare".to_string(), word(format!("touch {trace}-prepare"))),
        ("cleanup".to_string(), word(format!("touch {trace}-cleanup"))),
        ("shell".to_string(), word("/bin/sh".into())),
        ("timeout_s".to_string(), Setting::Number(5)),
        ("output".to_string(), word("compared".into())),
    ]
    .into();
    for (runtime, method) in [("native", COMMAND), ("jvm", COMMAND), (COMMAND, "read"), (COMMAND, COMMAND)] {
        let mut record: schema::Record = serde_json::from_str(SAVED).unwrap();
        for competitor in record.experiment.comparisons.iter_mut().flat_map(|it| &mut it.arms) {
            competitor.arm = Arm {
                runtime: runtime.into(),
                method: method.into(),
                options: options.clone(),
                ..competitor.arm.clone()
            };
        }
        let saved = sandbox.write("saved.json", serde_json::to_string(&record).unwrap());
        sandbox.run(&["report", &saved]).expect(0);
        let consents: &[&[&str]] =
            if (runtime, method) == (COMMAND, COMMAND) { &[&[]] } else { &[&[], &["--run-commands"]] };
        for consent in consents {
            let rerun = ["rerun", &saved, "--target", &file, "--rounds=1"];
            // Commands are shown before the refusal.
            assert_eq!(sandbox.run(&[&rerun, *consent].concat()).expect(2).stdout, "");
        }
        assert_eq!(sandbox.left(), ["input", "saved.json"], "{runtime}/{method}");
    }
}
