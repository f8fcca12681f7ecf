//! Everything that must hold before a change lands. Tests that could not run here are counted, with their reasons:
//! a test says `skipped: why` and passes, and this shows it.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Mutex,
    thread::{self, available_parallelism},
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

pub fn run() -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(crate::root());
    cmd!(shell, "cargo fmt --all --check").run().context("formatting; run `cargo fmt --all`")?;
    let skipped = tests()?;
    println!("\nskipped: {}", skipped.values().sum::<usize>());
    for (reason, count) in skipped {
        println!("  {count} x {reason}");
    }
    Ok(())
}

/// A test binary, and the folder that cargo would run it in.
struct Binary {
    path: PathBuf,
    folder: PathBuf,
    bytes: u64,
}

/// Runs all tests and returns the reasons of those that could not run. Cargo runs one binary after the other; these run
/// beside each other, because many tests wait for processes, disks and time limits while those of others calculate. The smoke run
/// begins as soon as no binary is left to be started: the longest one goes on for minutes, and leaves processors unused.
fn tests() -> Result<BTreeMap<String, usize>> {
    let processors = available_parallelism().map_or(1, |it| it.get());
    let built = build()?;
    let (queue, smoke_run) = (Mutex::new(built.binaries), Mutex::new(Some(smoke)));
    let failed = Mutex::new(if built.has_warnings { vec!["clippy".to_string()] } else { Vec::new() });
    let skipped = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..processors.clamp(2, 8) {
            scope.spawn(|| {
                while let Some(binary) = next(&queue) {
                    let name = binary.path.file_name().unwrap_or_default().display().to_string();
                    let began = Instant::now();
                    let output = Command::new(&binary.path)
                        .arg("--show-output")
                        .env("RUST_TEST_THREADS", (2 * processors).to_string())
                        // Those who see the last lines alone see why each test failed.
                        .env("RUST_BACKTRACE", "0")
                        // As cargo sets it: snapshots are found by it.
                        .env("CARGO_MANIFEST_DIR", &binary.folder)
                        .current_dir(&binary.folder)
                        .output();
                    let took = began.elapsed().as_secs_f64();
                    let stdout = output.as_ref().map_or_else(|_| "".into(), |it| String::from_utf8_lossy(&it.stdout));
                    let mut text = format!("{name}: {took:.0} s\n");
                    if output.as_ref().is_ok_and(|it| it.status.success()) {
                        let results = stdout.lines().filter(|it| it.starts_with("test "));
                        results.for_each(|it| text.extend([it, "\n"]));
                    } else {
                        let stderr = match &output {
                            Ok(it) => format!("{}\n{}", String::from_utf8_lossy(&it.stderr), it.status),
                            Err(error) => format!("it cannot be started: {error}"),
                        };
                        text.extend([&stdout, "\n", &stderr[..], "\n"]);
                        failed.lock().expect("no panic with it").push(name);
                    }
                    print!("{text}");
                    for reason in stdout.lines().filter_map(|line| line.strip_prefix("skipped: ")) {
                        *skipped.lock().expect("no panic with it").entry(reason.to_string()).or_default() += 1;
                    }
                }
                let run = smoke_run.lock().expect("no panic with it").take();
                if let Some(Err(why)) = run.map(|it| it()) {
                    println!("the smoke run: {why:#}");
                    failed.lock().expect("no panic with it").push("the smoke run".into());
                }
            });
        }
    });
    match &failed.into_inner().expect("no panic with it")[..] {
        [] => Ok(skipped.into_inner().expect("no panic with it")),
        failed => bail!("failed: {}", failed.join(", ")),
    }
}

fn next<T>(queue: &Mutex<Vec<T>>) -> Option<T> {
    queue.lock().expect("no panic with it").pop()
}

struct Built {
    /// The largest, which has the longest tests, comes last and is taken first.
    binaries: Vec<Binary>,
    has_warnings: bool,
}

/// Builds all tests, with clippy as the compiler: looking at everything once more, only to lint, takes a quarter of the build.
fn build() -> Result<Built> {
    const COMPILER: &str = "clippy-driver";
    ensure!(
        Command::new(COMPILER).arg("--version").output().is_ok_and(|it| it.status.success()),
        "{COMPILER} cannot be started; `rustup component add clippy` installs it"
    );
    let output = Command::new("cargo")
        .args(["test", "--workspace", "--no-run", "--message-format=json"])
        .env("RUSTC_WORKSPACE_WRAPPER", COMPILER)
        .current_dir(crate::root())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    let mut built = Built { binaries: Vec::new(), has_warnings: false };
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Value = serde_json::from_str(line).context("cargo wrote something else than JSON")?;
        if let Some(text) = message["message"]["rendered"].as_str() {
            eprint!("{text}");
            built.has_warnings = true;
        }
        let of_test = message["profile"]["test"] == true;
        let (Some(path), true) = (message["executable"].as_str().map(PathBuf::from), of_test) else { continue };
        let manifest = PathBuf::from(message["manifest_path"].as_str().unwrap_or_default());
        let folder = manifest.parent().context("a manifest lies in a folder")?.to_path_buf();
        built.binaries.push(Binary { bytes: fs::metadata(&path)?.len(), path, folder });
    }
    ensure!(output.status.success(), "the tests cannot be built");
    ensure!(built.binaries.len() > 10, "only {} test binaries were built", built.binaries.len());
    built.binaries.sort_by_key(|it| it.bytes);
    Ok(built)
}

/// A short run of everything, through the executable that the tests have built; its record is read back by the same.
fn smoke() -> Result<()> {
    let shell = Shell::new()?;
    let folder = shell.create_temp_dir()?;
    let (folder, store) = (folder.path(), folder.path().join("runs"));
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| crate::root().join("target").into());
    let tool = crate::root().join(target).join("debug/faultline");
    let json = cmd!(shell, "{tool} run {folder} -e smoke --size 16MiB --rounds 6 --budget 30s --json")
        .env("FAULTLINE_DATA_DIR", &store)
        // 3: a busy machine left everything open. What must hold even then is asked of the document.
        .ignore_status()
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
    let again = cmd!(shell, "{tool} report {saved} --json").env("FAULTLINE_DATA_DIR", &store).ignore_status().read()?;
    let again: Value = serde_json::from_str(&again)?;
    ensure!(again["findings"] == document["findings"], "the record read back does not give the same findings");
    println!("smoke: {passes} passes, {valid} valid, {comparisons} comparisons");
    Ok(())
}
