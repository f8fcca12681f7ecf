//! Whether looking disturbs: the same pass with the probes of every timed pass around it and with none, in turn, against what
//! two passes without probes differ by.

use std::{
    fmt::Write as _,
    fs::File,
    path::Path,
    process::Command,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use lab::{
    Target,
    link::{Link, Trouble},
    probe::Probes,
};
use schema::{
    Arm, Bytes, Consume, Span, Workload,
    protocol::{Done, Hold, Job},
};

use crate::{FILE_BYTES, SEED, median};

const ROUNDS: usize = 41;
const LIMIT: Duration = Duration::from_secs(60);

struct Pass {
    says: &'static str,
    arm: &'static str,
    workload: Workload,
    block_bytes: u64,
    ops: u64,
    hold: Hold,
    cold: bool,
}

/// What a probe could disturb: bare loads, system calls, faults, and waiting for the device with its context switches.
const PASSES: [Pass; 6] = [
    Pass::new("loads: mapped, random 64 B", "mmap", Workload::Random, 64, 200_000, Hold::Warm),
    Pass::new("system calls: mapped, random 4 KiB", "pread", Workload::Random, 4096, 20_000, Hold::Warm),
    Pass::new("a pass of a hundred microseconds", "pread", Workload::Random, 64, 256, Hold::Warm),
    Pass::new("faults: cached, scan 64 KiB", "mmap", Workload::Scan, 65_536, 1024, Hold::Rehearse),
    Pass::new("faults: cached, random 4 KiB", "mmap+random", Workload::Random, 4096, 20_000, Hold::Rehearse),
    Pass { cold: true, ..Pass::new("device: cold, random 4 KiB", "pread", Workload::Random, 4096, 128, Hold::No) },
];

impl Pass {
    const fn new(
        says: &'static str,
        arm: &'static str,
        workload: Workload,
        block_bytes: u64,
        ops: u64,
        hold: Hold,
    ) -> Pass {
        Pass { says, arm, workload, block_bytes, ops, hold, cold: false }
    }
}

/// The section of `docs/BENCHMARKS.md`.
pub(crate) fn table(tool: &Path, file: &Path) -> Result<String> {
    File::open(file)?.sync_all()?;
    let target = Target::open(file, true)?;
    let mut table = format!(
        "## Passes with probes on against off\n\n\
         Every timed pass has all probes of `faultline list probes` around it. Here each of {ROUNDS} rounds makes three passes of a \
         {} file, one with probes and two without, in an order that rotates. Open, work and close together; ratios are medians of \
         the rounds' ratios with their 95 % intervals.\n\
         Target: no slower than the noise floor, which is what *off against off* shows.\n\n\
         | pass | arm | off, per op | on / off | 95 % interval | off / off | 95 % interval |\n|---|---|---|---|---|---|---|\n",
        Bytes(FILE_BYTES)
    );
    let mut looking = Vec::new();
    for pass in &PASSES {
        let (mut off_ns, mut on_ratios, mut off_ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let mut ns = [0.0; 3];
            for turn in 0..3 {
                let which = (turn + round) % 3;
                let (done, looked) = one(tool, &target, pass, which == 0)?;
                ns[which] = done.phases.total_ns() as f64 / pass.ops as f64;
                looking.extend((which == 0).then_some(looked.as_secs_f64()));
            }
            let [on, off, other] = ns;
            off_ns.push(off);
            on_ratios.push(on / off);
            off_ratios.push(other / off);
        }
        let on = analysis::stats::median_of_positive(on_ratios).context("too few rounds")?;
        let off = analysis::stats::median_of_positive(off_ratios).context("too few rounds")?;
        writeln!(
            table,
            "| {} | {} | {:.1} ns | {:.3} | {:.3} to {:.3} | {:.3} | {:.3} to {:.3} |",
            pass.says,
            pass.arm,
            median(&mut off_ns),
            on.median,
            on.ci_low,
            on.ci_high,
            off.median,
            off.ci_low,
            off.ci_high
        )?;
    }
    writeln!(
        table,
        "\nBoth looks of all probes together take {:.1} ms, outside every pass.\n",
        median(&mut looking) * 1e3
    )?;
    Ok(table)
}

/// One pass, and how long its probes looked.
fn one(tool: &Path, target: &Target, pass: &Pass, with_probes: bool) -> Result<(Done, Duration)> {
    let said = |trouble: Trouble| anyhow::anyhow!("{}: {trouble:?}", pass.says);
    let arm: Arm = pass.arm.parse().map_err(anyhow::Error::msg)?;
    let job = Job {
        workload: pass.workload,
        consume: Consume::Sum,
        block_bytes: pass.block_bytes,
        ops: pass.ops,
        seed: SEED,
        hold: pass.hold,
        ..Job::new(&arm, &target.path, Span { offset: 0, bytes: FILE_BYTES })
    };
    let interrupted = AtomicBool::new(false);
    let mut command = Command::new(tool);
    command.arg("worker");
    let (mut link, _) = Link::start(command, &interrupted).map_err(said)?;
    link.prepare(&job).map_err(said)?;
    match pass.cold {
        true => sys::cache::evict(&target.file, 0, 0)?,
        false => fill(target)?,
    }
    // The lab verifies the state here, and walks the page table for it, with probes or without.
    if pass.hold == Hold::Warm {
        sys::process::mapped(link.pid(), &target.identity())?;
    }
    let mut looked = Duration::ZERO;
    let mut timed = |begun: Instant| looked += begun.elapsed();
    let begun = Instant::now();
    let probes = with_probes.then(|| Probes::start(target, link.pid()));
    timed(begun);
    let done = link.go(1, LIMIT).map_err(said)?;
    let begun = Instant::now();
    drop(probes.map(|probes| probes.stop(link.pid())));
    timed(begun);
    link.bye().map_err(said)?;
    Ok((done, looked))
}

/// Something on this machine may push out what nobody has touched for a minute.
fn fill(target: &Target) -> Result<()> {
    let resident = || -> Result<bool> {
        let way = target.way().map_err(anyhow::Error::msg)?;
        Ok(way.resident_pages(&target.file, 0, FILE_BYTES)? == FILE_BYTES.div_ceil(sys::page_bytes()))
    };
    if !resident()? {
        std::io::copy(&mut File::open(&target.path)?, &mut std::io::sink())?;
        ensure!(resident()?, "the file does not stay in the page cache");
    }
    Ok(())
}
