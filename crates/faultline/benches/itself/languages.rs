//! Cells in Python and in Go against loops that were written by hand, `xtask/bench/loop.py` and `loop.go`: scans of a file whose
//! pages are mapped, in turn. A run leaves other folios behind than its passes had, and small ones make a loop a third slower: the
//! file is brought in anew before the loops.

use std::{
    collections::BTreeMap, ffi::OsString, fmt::Write as _, path::Path, process::Command, sync::atomic::AtomicBool,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use lab::{
    Target,
    link::{Link, Trouble},
    runtime,
};
use schema::{Arm, Bytes, Consume, Span, findings::Document, protocol::Job};

use super::{FILE_BYTES, compile, document, fill, median, root};

const SWEEPS: usize = 3;
const PASSES: usize = 5;
const STARTS: usize = 21;
const STARTED: [&str; 4] = ["go/mmap", "python/mmap", "python/mmap+numpy", "jvm/mapped"];
const BLOCKS: [u64; 3] = [4 << 10, 64 << 10, 1 << 20];
/// Arm, what the program calls it, consume.
type Loop = (&'static str, &'static str, &'static str);
const PYTHON: [Loop; 8] = [
    ("python/preadv", "preadv", "touch"),
    ("python/read", "read", "touch"),
    ("python/read", "read", "lines"),
    ("python/mmap", "mmap", "touch"),
    ("python/mmap+view", "view", "touch"),
    ("python/mmap+view", "view", "copy"),
    ("python/preadv", "preadv", "sum"),
    ("python/mmap+numpy", "numpy", "sum"),
];
const GO: [Loop; 8] = [
    ("go/readat", "readat", "touch"),
    ("go/readat", "readat", "sum"),
    ("go/readat", "readat", "copy"),
    ("go/readat", "readat", "lines"),
    ("go/mmap", "mmap", "touch"),
    ("go/mmap", "mmap", "sum"),
    ("go/mmap", "mmap", "copy"),
    ("go/mmap", "mmap", "lines"),
];

/// The section of `docs/BENCHMARKS.md`. `python`: the interpreter of both sides.
pub(crate) fn table(tool: &Path, folder: &Path, file: &Path, python: &str) -> Result<String> {
    let source = |name: &str| root().join("xtask/bench").join(name);
    let go = folder.join("loop-go");
    let filled = folder.join("fill");
    compile(Command::new("cc").args(["-O3", "-pthread", "-o"]).arg(&filled).arg(source("fill.c")))?;
    let is_built = Command::new("go").args(["build", "-o"]).arg(&go).arg(source("loop.go")).status();
    let python = [python.into(), source("loop.py").into()];
    let mut languages: Vec<(&[Loop], Vec<OsString>)> = vec![(&PYTHON, python.to_vec())];
    if is_built.is_ok_and(|it| it.success()) {
        languages.push((&GO, vec![go.into()]));
    }
    let mut page = format!(
        "## Cells in Python and Go against loops written by hand\n\n\
         Scans of a {} file, state `mapped`, one thread; `xtask/bench/loop.py` and `loop.go`. Both sides in turn, {SWEEPS} \
         times; medians.\n\nTarget: within 5 %.\n\n\
         | arm | consume | block | by hand, ns/block | faultline, ns/block | ratio | least to most |\n|---|---|---|--:|--:|--:|---|\n",
        Bytes(FILE_BYTES)
    );
    for (arms, program) in languages {
        let mut found: BTreeMap<(usize, u64), Vec<[f64; 2]>> = BTreeMap::new();
        for _ in 0..SWEEPS {
            let shown = shown(tool, folder, file, arms, &program[0])?;
            fill(Command::new(&filled).arg(file).arg("sequential"))?;
            for (at, (arm, called, consume)) in arms.iter().enumerate() {
                for block in BLOCKS {
                    let by_hand = by_hand(&program, file, block, called, consume)?;
                    let cell = shown.findings.cells.iter().find(|it| {
                        let of = &it.condition;
                        !it.control
                            && it.arm.name == *arm
                            && of.block_bytes == block
                            && of.consume.to_string() == *consume
                    });
                    let cell = cell.and_then(|it| it.ns_per_op).map(|it| it.median);
                    found.entry((at, block)).or_default().extend(cell.map(|it| [by_hand, it]));
                }
            }
        }
        for ((at, block), pairs) in found {
            let (arm, _, consume) = arms[at];
            if pairs.is_empty() {
                writeln!(page, "| `{arm}` | {consume} | {} | not here | | | |", Bytes(block))?;
                continue;
            }
            let side = |side: usize| median(&mut pairs.iter().map(|it| it[side]).collect::<Vec<f64>>());
            let mut ratios: Vec<f64> = pairs.iter().map(|it| it[1] / it[0]).collect();
            let ratio = median(&mut ratios);
            writeln!(
                page,
                "| `{arm}` | {consume} | {} | {:.0} | {:.0} | {ratio:.3} | {:.3} to {:.3} |",
                Bytes(block),
                side(0),
                side(1),
                ratios[0],
                ratios[ratios.len() - 1],
            )?;
        }
    }
    Ok(page)
}

/// From the start of a worker until it answers, and until it is ready for a pass of one block; what has to be built was built
/// before.
pub(crate) fn starts(file: &Path, python: &str) -> Result<String> {
    let said = |trouble: Trouble| anyhow::anyhow!("{trouble:?}");
    for (runtime, choice) in runtime::choices().filter(|it| it.0.spec().name == "python") {
        runtime::prefer(runtime, choice, python.into()).map_err(anyhow::Error::msg)?;
    }
    let target = Target::open(file, true)?;
    let interrupted = AtomicBool::new(false);
    let mut page = format!(
        "## How long a worker takes to start\n\nMedians of {STARTS}, in turn.\n\n| arm | answers, ms | ready, ms |\n|---|--:|--:|\n"
    );
    let mut took: Vec<[Vec<f64>; 2]> = vec![Default::default(); STARTED.len()];
    for _ in 0..=STARTS {
        for (arm, took) in STARTED.iter().zip(&mut took) {
            let arm: Arm = arm.parse().map_err(anyhow::Error::msg)?;
            let Ok(worker) = runtime::worker(&arm) else { continue };
            let job = Job { consume: Consume::Touch, ..Job::new(&arm, &target.path, Span { offset: 0, bytes: 4096 }) };
            let began = Instant::now();
            let (mut link, _) = Link::start(worker, &interrupted).map_err(said)?;
            took[0].push(began.elapsed().as_secs_f64() * 1e3);
            link.prepare(&job).map_err(said)?;
            took[1].push(began.elapsed().as_secs_f64() * 1e3);
            link.bye().map_err(said)?;
        }
    }
    for (arm, mut took) in STARTED.iter().zip(took) {
        // The first builds what there is to build.
        let [answers, ready] = [0, 1].map(|part| median(took[part].get_mut(1..).unwrap_or_default()));
        writeln!(page, "| `{arm}` | {answers:.1} | {ready:.1} |")?;
    }
    Ok(page)
}

/// All cells of a language, in one run.
fn shown(tool: &Path, folder: &Path, file: &Path, arms: &[Loop], program: &OsString) -> Result<Document> {
    let mut experiment = String::from("title = \"Cells against loops written by hand\"\n");
    let mut consumes: Vec<&str> = arms.iter().map(|it| it.2).collect();
    consumes.sort_unstable();
    consumes.dedup();
    for consume in consumes {
        let of: Vec<String> = arms.iter().filter(|it| it.2 == consume).map(|it| format!("{:?}", it.0)).collect();
        // One arm alone is compared with nothing.
        let of = if of.len() > 1 { of.join(", ") } else { format!("{}, \"native/mmap\"", of[0]) };
        write!(
            experiment,
            "[[compare]]\nworkload = \"scan\"\nblock = [\"4 KiB\", \"64 KiB\", \"1 MiB\"]\nconsume = \"{consume}\"\n\
             state = \"mapped\"\nrange = {{ share = 1.0 }}\narms = [{of}]\n"
        )?;
    }
    let path = folder.join("languages.toml");
    std::fs::write(&path, experiment)?;
    let mut options: Vec<&dyn std::fmt::Display> = Vec::new();
    let (file, path, program) = (file.display(), path.display(), program.to_string_lossy());
    let rounds = format!("--rounds={PASSES}");
    options.extend::<[&dyn std::fmt::Display; 5]>([&"run", &file, &"-e", &path, &rounds]);
    let python = format!("--python={program}");
    if arms[0].0.starts_with("python") {
        options.push(&python);
    }
    Ok(document(tool, folder, &options)?.0)
}

/// As a cell: the median of as many processes as it has passes.
fn by_hand(program: &[OsString], file: &Path, block: u64, called: &str, consume: &str) -> Result<f64> {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).arg(file).args([FILE_BYTES.to_string(), block.to_string()]).args([called, consume]);
    let mut passes = Vec::new();
    for _ in 0..PASSES {
        let output = command.output()?;
        ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8_lossy(&output.stdout);
        let ns: f64 = printed.trim().parse().with_context(|| format!("{command:?} printed {printed}"))?;
        passes.push(ns);
    }
    Ok(median(&mut passes))
}
