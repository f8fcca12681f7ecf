//! Commands in the documents do what is said there.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use crate::support::{Output, Running, Sandbox};

/// The script of a step of the workflow in docs/CI.md.
fn step(name: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/CI.md")).unwrap();
    let (_, step) = text.split_once(&format!("- name: {name}\n")).expect("the workflow has the step");
    let (_, script) = step.split_once("run: |\n").unwrap();
    let lines = script.lines().map_while(|it| it.strip_prefix("          "));
    lines.map(|it| format!("{it}\n")).collect()
}

fn run(sandbox: &Sandbox, script: &str) -> Output {
    let executable = Path::new(env!("CARGO_BIN_EXE_faultline")).parent().unwrap();
    let path = format!("{}:{}", executable.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = std::process::Command::new("bash");
    shell.args(["-e", "-c", script]).current_dir(sandbox.path());
    shell.envs(sandbox.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("PATH", path).env("GITHUB_STEP_SUMMARY", sandbox.at("summary.md")).stdin(std::process::Stdio::null());
    Running::new(shell).end()
}

#[test]
fn the_workflow_for_pull_requests_measures_both_versions_and_has_a_summary() {
    if !std::process::Command::new("bash")
        .args(["-c", "seq 1 | grep -c 1"])
        .output()
        .is_ok_and(|it| it.status.success())
    {
        return println!("skipped: no bash, seq or grep");
    }
    let sandbox = Sandbox::new();
    for version in ["before", "after"] {
        let path = sandbox.write(version, "#!/bin/sh\nexec grep -c \"$1\" \"$2\"\n");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let measure = step("Measure both versions").replace("20000000", "200000").replace("60s", "60s --rounds 6");
    run(&sandbox, &measure).expect(0);
    let output = run(&sandbox, &step("Compare them"));
    output.sane();
    // Executions as short as these may differ by chance.
    assert!(matches!(output.code(), Some(0 | 5)), "{output:#?}");
    let summary = fs::read_to_string(sandbox.at("summary.md")).unwrap();
    assert!(summary.contains("command/search") && summary.contains("--fail-if"), "{summary}");
    fs::remove_file(sandbox.at("after.json")).unwrap();
    assert_ne!(run(&sandbox, &step("Compare them")).code(), Some(0), "a job without a measurement fails");
}
