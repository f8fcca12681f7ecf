//! Who else stops, by programs of their own: `xtask/bench/stall.c`, `.py`, `.go` and `Stall.java` read random blocks of a cold
//! file, and of the same file in memory, while a second thread says how late it is.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use lab::runtime;
use schema::{
    State,
    findings::{BeatFinding, Document},
};
use serde_json::Value;

use super::{FILE_BYTES, compile, document, fill, go, java, median, root};

const ROUNDS: usize = 7;
const READS_COLD: u64 = 20_000;
/// In memory, so many that a pass has some hundreds of deadlines.
const READS_CALL: u64 = 400_000;
const READS_MAP: u64 = 20_000_000;
/// A slice of Python's.
const READS_SLICE: u64 = 1_000_000;

/// A program of one language, and the arm of the tool that does the same.
struct Row {
    arm: &'static str,
    language: &'static str,
    /// Its last arguments: how, and whether something stops all threads meanwhile.
    how: &'static [&'static str],
    processors: &'static str,
    in_memory: u64,
}

const ROWS: [Row; 12] = [
    row("native/pread", "c", &["call"], "", READS_CALL),
    row("native/mmap", "c", &["map"], "", READS_MAP),
    row("jvm/channel-positional", "java", &["call"], "", READS_CALL),
    row("jvm/mapped", "java", &["map"], "", READS_MAP),
    row("jvm/mapped+safepoints", "java", &["map", "stops"], "", READS_MAP),
    row("python/preadv+switch_us=100", "python", &["call"], "", READS_CALL),
    row("python/mmap+switch_us=100", "python", &["map"], "", READS_SLICE),
    row("go/readat+procs=1", "go", &["call"], "1", READS_CALL),
    row("go/mmap+procs=1", "go", &["map"], "1", READS_MAP),
    row("go/mmap+procs=2", "go", &["map"], "2", READS_MAP),
    row("go/readat+stops+procs=2", "go", &["call", "stops"], "2", READS_CALL),
    row("go/mmap+stops+procs=2", "go", &["map", "stops"], "2", READS_MAP),
];

const fn row(
    arm: &'static str,
    language: &'static str,
    how: &'static [&'static str],
    processors: &'static str,
    in_memory: u64,
) -> Row {
    Row { arm, language, how, processors, in_memory }
}

/// The section of `docs/BENCHMARKS.md`. `shown`: what `run -e stalls --json=FILE` wrote, if it was measured before.
pub(crate) fn table(tool: &Path, folder: &Path, file: &Path, shown: Option<&str>) -> Result<String> {
    let shown: Document = match shown {
        Some(path) => {
            serde_json::from_slice(&std::fs::read(path)?).with_context(|| format!("{path} is no document"))?
        }
        None => document(tool, folder, &[&"run", &file.display(), &"-e", &"stalls"])?.0,
    };
    let programs = programs(folder)?;
    let evict = folder.join("fill");
    compile(Command::new("cc").args(["-O3", "-pthread", "-o"]).arg(&evict).arg(source("fill.c")))?;
    let mut page = format!(
        "## Who else stops, by programs of their own\n\n\
         `xtask/bench/stall.c`, `stall.py`, `stall.go` and `Stall.java`: {READS_COLD} random blocks of 4 KiB of a cold file of \
         256 MiB, and more of the same file in memory; medians of {ROUNDS} processes, in turn. 99 of 100 deadlines were so \
         late at most, in ms, and so many were stalled.\n\n\
         | arm | program: 99 of 100 | stalled | in memory | faultline: 99 of 100 | stalled | in memory |\n|---|--:|--:|--:|--:|--:|--:|\n"
    );
    let mut found: BTreeMap<&str, [Vec<[f64; 2]>; 2]> = BTreeMap::new();
    for _ in 0..ROUNDS {
        for row in &ROWS {
            let Some(program) = programs.get(row.language) else { continue };
            for (at, (way, reads)) in [("evict", READS_COLD), ("sequential", row.in_memory)].into_iter().enumerate() {
                fill(Command::new(&evict).arg(file).arg(way))?;
                found.entry(row.arm).or_default()[at].push(one(program, file, reads, row)?);
            }
        }
    }
    for row in &ROWS {
        let Some(of) = found.get(row.arm) else {
            writeln!(page, "| {} | not here | | | | | |", row.arm)?;
            continue;
        };
        let middle = |at: usize, part: usize| median(&mut of[at].iter().map(|it| it[part]).collect::<Vec<f64>>());
        let cold = |it: &&BeatFinding| it.condition.state == State::Cold && it.condition.storage.is_none();
        let said = shown.findings.beats.iter().filter(|it| it.arm == row.arm).find(cold);
        let said = said.map(|it| {
            let share = |share: Option<f64>| share.map_or("–".into(), |it| format!("{:.1} %", 100.0 * it));
            let control = it.control.as_ref().and_then(|it| it.late.stalled_share);
            let late = it.late.p99_ns.unwrap_or(it.late.max_ns as f64) / 1e6;
            format!("{late:.1} | {} | {}", share(it.late.stalled_share), share(control))
        });
        writeln!(
            page,
            "| `{}` | {:.1} | {:.1} % | {:.1} % | {} |",
            row.arm,
            middle(0, 0),
            100.0 * middle(0, 1),
            100.0 * middle(1, 1),
            said.unwrap_or_else(|| "– | – | –".into())
        )?;
    }
    Ok(page)
}

fn source(name: &str) -> PathBuf {
    root().join("xtask/bench").join(name)
}

/// How each language is started, of those that are installed.
fn programs(folder: &Path) -> Result<BTreeMap<&'static str, Vec<OsString>>> {
    let mut programs = BTreeMap::new();
    let c = folder.join("stall");
    compile(Command::new("cc").args(["-O2", "-pthread", "-o"]).arg(&c).arg(source("stall.c")))?;
    programs.insert("c", vec![c.into()]);
    if let Some(java) = java(folder, "Stall") {
        programs.insert("java", java);
    }
    let of_go = folder.join("stall-go");
    if go(&source("stall.go"), &of_go) {
        programs.insert("go", vec![of_go.into()]);
    }
    if let Ok(python) = runtime::python::find(None) {
        programs.insert("python", vec![python.program.into(), source("stall.py").into()]);
    }
    Ok(programs)
}

/// 99 of 100, in ms, and the stalled share.
fn one(program: &[OsString], file: &Path, reads: u64, row: &Row) -> Result<[f64; 2]> {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).arg(file).args([FILE_BYTES.to_string(), reads.to_string()]).args(row.how);
    if !row.processors.is_empty() {
        command.env("GOMAXPROCS", row.processors);
    }
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    let printed: Value = serde_json::from_slice(&output.stdout)?;
    let number = |name: &str| printed[name].as_f64().with_context(|| format!("{command:?} printed no {name}"));
    Ok([number("p99_ms")?, number("stalled")?])
}
