//! Everything that must hold before a change lands. Tests that could not run here are counted, with their reasons:
//! a test says `skipped: why` and passes, and this shows it.

use std::{collections::BTreeMap, process::Command, thread::available_parallelism};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

pub fn run() -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(crate::root());
    cmd!(shell, "cargo fmt --all --check").run().context("formatting; `cargo fmt --all` mends it")?;
    cmd!(shell, "cargo clippy --workspace --all-targets --quiet -- -D warnings").run()?;
    let skipped = tests()?;
    smoke(&shell)?;
    println!("\nskipped: {}", skipped.values().sum::<usize>());
    for (reason, count) in skipped {
        println!("  {count} x {reason}");
    }
    Ok(())
}

/// Runs all tests and returns the reasons of those that could not run.
fn tests() -> Result<BTreeMap<String, usize>> {
    let output = Command::new("cargo")
        .args(["test", "--workspace", "--", "--show-output"])
        // Many tests wait for processes, so twice as many as processors run at once.
        .env("RUST_TEST_THREADS", (2 * available_parallelism().map_or(1, |it| it.get())).to_string())
        .current_dir(crate::root())
        .output()
        .context("cannot start cargo")?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        println!("{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
        bail!("a test failed");
    }
    for line in stdout.lines().filter(|line| line.starts_with("test result:") || line.starts_with("test ")) {
        println!("{line}");
    }
    let mut skipped = BTreeMap::new();
    for reason in stdout.lines().filter_map(|line| line.strip_prefix("skipped: ")) {
        *skipped.entry(reason.to_string()).or_default() += 1;
    }
    Ok(skipped)
}

/// A short run of everything, through the executable that the tests have built; its record is read back by the same.
fn smoke(shell: &Shell) -> Result<()> {
    let folder = shell.create_temp_dir()?;
    let (folder, store) = (folder.path(), folder.path().join("runs"));
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| crate::root().join("target").into());
    let tool = crate::root().join(target).join("debug/faultline");
    let json = cmd!(shell, "{tool} run {folder} -e smoke --size 16MiB --budget 20s --json")
        .env("FAULTLINE_DATA_DIR", &store)
        .read()?;
    let document: Value = serde_json::from_str(&json).context("the document cannot be parsed back")?;
    let length = |path: &str| document.pointer(path).and_then(Value::as_array).map_or(0, Vec::len);
    let (passes, cells) = (length("/record/samples"), length("/record/cells"));
    let samples = document.pointer("/record/samples").and_then(Value::as_array).into_iter().flatten();
    let valid = samples.filter(|it| it["outcome"]["status"] == "ok").count();
    ensure!(passes > 100, "only {passes} passes were made");
    ensure!(valid * 10 > passes * 9, "only {valid} of {passes} passes are valid");
    ensure!(length("/findings/cells") >= cells / 2, "cells are missing");
    let comparisons = length("/findings/comparisons");
    ensure!(comparisons > 0, "nothing was compared");
    let left = std::fs::read_dir(folder)?.filter_map(|entry| entry.ok()).filter(|it| it.path() != store).count();
    ensure!(left == 0, "{left} files were left behind in {}", folder.display());
    let saved = folder.join("run.json");
    shell.write_file(&saved, &json)?;
    let again = cmd!(shell, "{tool} report {saved} --json").env("FAULTLINE_DATA_DIR", &store).read()?;
    let again: Value = serde_json::from_str(&again)?;
    ensure!(again["findings"] == document["findings"], "the record read back does not give the same findings");
    println!("smoke: {passes} passes, {valid} valid, {comparisons} comparisons");
    Ok(())
}
