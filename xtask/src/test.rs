//! Everything that must hold before a change lands. Tests that could not run here are counted, with their reasons:
//! a test says `skipped: why` and passes, and this shows it.

use std::{collections::BTreeMap, process::Command};

use anyhow::{Context, Result, bail, ensure};
use schema::{findings::Document, record::Outcome};
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

/// A short run of everything, through the executable as a user has it; its record is parsed back.
fn smoke(shell: &Shell) -> Result<()> {
    let folder = shell.create_temp_dir()?;
    let (folder, store) = (folder.path(), folder.path().join("runs"));
    let json =
        cmd!(shell, "cargo run --quiet --package faultline -- run {folder} -e smoke --size 16MiB --budget 20s --json")
            .env("FAULTLINE_DATA_DIR", &store)
            .read()?;
    let document: Document = serde_json::from_str(&json).context("the document cannot be parsed back")?;
    let findings = &document.findings;
    let passes = document.record.samples.len();
    let valid = document.record.samples.iter().filter(|it| matches!(it.outcome, Outcome::Ok { .. })).count();
    ensure!(passes > 100, "only {passes} passes were made");
    ensure!(valid * 10 > passes * 9, "only {valid} of {passes} passes are valid");
    ensure!(findings.cells.len() >= document.record.cells.len() / 2, "cells are missing");
    ensure!(!findings.comparisons.is_empty(), "nothing was compared");
    let left = std::fs::read_dir(folder)?.filter_map(|entry| entry.ok()).filter(|it| it.path() != store).count();
    ensure!(left == 0, "{left} files were left behind in {}", folder.display());
    let analysed = analysis::analyze(&document.record);
    ensure!(&analysed == findings, "the record read back does not give the same findings");
    println!("smoke: {passes} passes, {valid} valid, {} comparisons", findings.comparisons.len());
    Ok(())
}
