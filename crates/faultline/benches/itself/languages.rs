//! Workers in Python, Go and Java against loops that were written by hand, `xtask/bench/loop.py`, `loop.go` and `Loop.java`: scans of a file
//! whose pages are mapped. A process of either makes some scans, in turn, over the same pages: within minutes the bandwidth of
//! memory changes by more than what is looked for, and so it does with where pages lie.

use std::{
    ffi::OsString,
    fmt::Write as _,
    path::Path,
    process::Command,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use lab::{
    Target,
    link::{Link, Trouble},
    runtime,
};
use schema::{
    Arm, Bytes, Consume, Span,
    protocol::{Hold, Job},
};

use super::{FILE_BYTES, compile, fill, go, java, median, root};

/// A process of either side, one after the other.
const PAIRS: usize = 9;
/// Passes of a process. The first are those of an interpreter that has seen little of the loop.
const PASSES: u64 = 9;
const FIRST: u64 = 2;
/// Scans of a pass, where one takes about a millisecond.
const SCANS_OF_SHORT: u64 = 10;
/// More than any pass takes.
const LIMIT: Duration = Duration::from_secs(60);
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
const JAVA: [Loop; 9] = [
    ("jvm/mapped", "mapped", "touch"),
    ("jvm/mapped", "mapped", "sum"),
    ("jvm/mapped", "mapped", "copy"),
    ("jvm/mapped", "mapped", "lines"),
    ("jvm/channel-positional", "channel", "touch"),
    ("jvm/channel-positional", "channel", "sum"),
    ("jvm/channel-positional", "channel", "copy"),
    ("jvm/random-access-file", "file", "sum"),
    ("jvm/random-access-file", "file", "lines"),
];

/// The section of `docs/BENCHMARKS.md`. `python`: the interpreter of both sides. `only`: the arms whose names have it.
pub(crate) fn table(folder: &Path, file: &Path, python: &str, only: &str) -> Result<String> {
    let source = |name: &str| root().join("xtask/bench").join(name);
    let of_go = folder.join("loop-go");
    let filled = folder.join("fill");
    compile(Command::new("cc").args(["-O3", "-pthread", "-o"]).arg(&filled).arg(source("fill.c")))?;
    fill(Command::new(&filled).arg(file).arg("sequential"))?;
    prefer_python(python)?;
    let python = [python.into(), source("loop.py").into()];
    let mut languages: Vec<(&[Loop], Vec<OsString>)> = vec![(&PYTHON, python.to_vec())];
    if go(&source("loop.go"), &of_go) {
        languages.push((&GO, vec![of_go.into()]));
    }
    languages.extend(java(folder, "Loop").map(|program| (&JAVA[..], program)));
    let mut page = format!(
        "## Workers in Python, Go and Java against loops written by hand\n\n\
         Scans of a {} file, state `mapped`, one thread; `xtask/bench/loop.py`, `loop.go` and `Loop.java`. {PAIRS} pairs of processes, in turn, \
         each the median of {} passes.\n\nTarget: within 5 %.\n\n\
         | arm | consume | block | by hand, ns/block | faultline, ns/block | ratio | 95 % interval |\n|---|---|---|--:|--:|--:|---|\n",
        Bytes(FILE_BYTES),
        PASSES - FIRST
    );
    for (arms, program) in languages {
        for (arm, called, consume) in arms.iter().filter(|it| it.0.contains(only)) {
            // A mapping that is touched: what a processor does slower after a pause is not the loop.
            let scans = if *consume == "touch" && ["mmap", "view"].contains(called) { SCANS_OF_SHORT } else { 1 };
            let arm: Arm = arm.parse().map_err(anyhow::Error::msg)?;
            let consumed: Consume = consume.parse().map_err(anyhow::Error::msg)?;
            for block in BLOCKS {
                if let Err(why) = by_worker(&arm, file, block, consumed, scans) {
                    writeln!(page, "| `{arm}` | {consume} | {} | not here: {why} | | | |", Bytes(block))?;
                    continue;
                }
                let mut sides: [Vec<f64>; 2] = Default::default();
                for pair in 0..PAIRS {
                    for side in [pair % 2, (pair + 1) % 2] {
                        sides[side].push(match side {
                            0 => by_hand(&program, file, block, [called, consume], scans)?,
                            _ => by_worker(&arm, file, block, consumed, scans)?,
                        });
                    }
                }
                let ratios: Vec<f64> = sides[1].iter().zip(&sides[0]).map(|(worker, hand)| worker / hand).collect();
                let ratio = analysis::stats::median_of_positive(ratios).context("too few pairs")?;
                let [hand, worker] = sides.each_mut().map(|it| median(it));
                writeln!(
                    page,
                    "| `{arm}` | {consume} | {} | {hand:.0} | {worker:.0} | {:.3} | {:.3} to {:.3} |",
                    Bytes(block),
                    ratio.median,
                    ratio.ci_low,
                    ratio.ci_high,
                )?;
            }
        }
    }
    Ok(page)
}

fn prefer_python(python: &str) -> Result<()> {
    for (runtime, choice) in runtime::choices().filter(|it| it.0.spec().name == "python") {
        runtime::prefer(runtime, choice, python.into()).map_err(anyhow::Error::msg)?;
    }
    Ok(())
}

pub(crate) fn said(trouble: Trouble) -> anyhow::Error {
    anyhow::anyhow!("{trouble:?}")
}

/// From the start of a worker until it answers, and until it is ready for a pass of one block; what has to be built was built
/// before.
pub(crate) fn starts(file: &Path, python: &str) -> Result<String> {
    prefer_python(python)?;
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
            let answered = began.elapsed();
            // Without numpy.
            if link.prepare(&job).is_err() {
                continue;
            }
            took[0].push(answered.as_secs_f64() * 1e3);
            took[1].push(began.elapsed().as_secs_f64() * 1e3);
            link.bye().map_err(said)?;
        }
    }
    for (arm, mut took) in STARTED.iter().zip(took) {
        if took[0].is_empty() {
            writeln!(page, "| `{arm}` | not here | |")?;
            continue;
        }
        // The first builds what there is to build.
        let [answers, ready] = [0, 1].map(|part| median(took[part].get_mut(1..).unwrap_or_default()));
        writeln!(page, "| `{arm}` | {answers:.1} | {ready:.1} |")?;
    }
    Ok(page)
}

/// Nanoseconds of a block.
///
/// # Errors
/// The interpreter lacks what the arm needs, such as numpy.
fn by_worker(arm: &Arm, file: &Path, block: u64, consume: Consume, scans: u64) -> Result<f64> {
    let interrupted = AtomicBool::new(false);
    let whole = Span { offset: 0, bytes: FILE_BYTES };
    let job = Job {
        consume,
        block_bytes: block,
        ops: scans * FILE_BYTES / block,
        hold: Hold::Warm,
        ..Job::new(arm, &file.display().to_string(), whole)
    };
    let (mut link, _) = Link::start(runtime::worker(arm).map_err(anyhow::Error::msg)?, &interrupted).map_err(said)?;
    let mut passes = Vec::new();
    for pass in 1..=PASSES {
        link.prepare(&Job { pass, ..job.clone() }).map_err(said)?;
        passes.push(link.go(pass, LIMIT).map_err(said)?.phases.work_ns as f64 / job.ops as f64);
    }
    link.bye().map_err(said)?;
    Ok(median(&mut passes[FIRST as usize..]))
}

/// Nanoseconds of a block; the program takes the median of as many scans.
fn by_hand(program: &[OsString], file: &Path, block: u64, words: [&str; 2], scans: u64) -> Result<f64> {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).arg(file).args([FILE_BYTES.to_string(), block.to_string()]);
    command.args(words).arg(scans.to_string());
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout);
    printed.trim().parse().with_context(|| format!("{command:?} printed {printed}"))
}
