//! What watching costs the program that is watched: the same program alone and watched by either means, in turn.

use std::{fmt::Write as _, path::Path, process::Command, sync::atomic::AtomicBool, time::Duration};

use analysis::stats::median_of_positive;
use anyhow::{Context, Result};
use lab::{
    Target,
    link::{Link, Trouble},
};
use schema::{
    Consume, Span,
    command::Spec,
    observation::{Means, Watch},
    protocol::{Job, Permit},
};

use crate::median;

const ROUNDS: usize = 31;
const LIMIT: Duration = Duration::from_secs(60);
const READS: u64 = 20_000;
const BLOCKS: [u64; 3] = [64, 512, 4096];
/// None: not watched.
const WAYS: [Option<Means>; 3] = [None, Some(Means::Tracepoints), Some(Means::Ptrace)];

/// The section of `docs/BENCHMARKS.md`.
pub(crate) fn table(tool: &Path, reader: &Path, file: &Path) -> Result<String> {
    let target = Target::open(file, true)?;
    let mut table = format!(
        "## What watching costs a program\n\n\
         A program that calls read(2) {READS} times, from its start to its end: alone, watched by tracepoints, stopped at each \
         call by ptrace; in turn, {ROUNDS} rounds. Ratios are medians of the rounds' ratios with their 95 % intervals.\n\
         Target: with tracepoints at most 1.6 for 64 B and 1.4 for 4 KiB.\n\n\
         | block | alone | tracepoints / alone | 95 % interval | ptrace / alone | 95 % interval |\n|---|---|---|---|---|---|\n"
    );
    for block in BLOCKS {
        let line = format!("{} read {} {block} {READS}", reader.display(), file.display());
        let (mut alone, mut ratios) = (Vec::new(), [const { Vec::new() }; 2]);
        for round in 0..ROUNDS {
            let mut seconds = [0.0; WAYS.len()];
            for turn in 0..WAYS.len() {
                let which = (turn + round) % WAYS.len();
                seconds[which] = one(tool, &target, &line, WAYS[which])?.as_secs_f64();
            }
            alone.push(seconds[0]);
            ratios[0].push(seconds[1] / seconds[0]);
            ratios[1].push(seconds[2] / seconds[0]);
        }
        let [by_tracepoints, by_ptrace] = ratios.map(|it| median_of_positive(it).context("too few rounds"));
        let (tracepoints, ptrace) = (by_tracepoints?, by_ptrace?);
        writeln!(
            table,
            "| {block} B | {:.1} ms | {:.2} | {:.2} to {:.2} | {:.1} | {:.1} to {:.1} |",
            median(&mut alone) * 1e3,
            tracepoints.median,
            tracepoints.ci_low,
            tracepoints.ci_high,
            ptrace.median,
            ptrace.ci_low,
            ptrace.ci_high,
        )?;
    }
    table.push('\n');
    Ok(table)
}

/// One execution.
fn one(tool: &Path, target: &Target, line: &str, by: Option<Means>) -> Result<Duration> {
    let spec = Spec {
        name: "reader".into(),
        line: line.into(),
        shell: None,
        prepare: None,
        cleanup: None,
        timeout_s: 30,
        compared: schema::command::Compared::Nothing,
    };
    let watch = by.map(|by| Watch { by: vec![by], named: vec![target.path.clone()], trace: None });
    let whole = Span { offset: 0, bytes: target.bytes };
    let permit = Permit { execute: true, write: None };
    let job = Job { consume: Consume::Touch, watch, permit, ..Job::new(&spec.arm(), &target.path, whole) };
    let said = |trouble: Trouble| anyhow::anyhow!("{line}: {trouble:?}");
    let mut command = Command::new(tool);
    // Cargo's libraries: the loader looks for those of the program in each of their folders, which are stops.
    command.arg("worker").env_remove("LD_LIBRARY_PATH");
    let interrupted = AtomicBool::new(false);
    let done = Link::one_pass(command, &job, LIMIT, &interrupted).map_err(said)?;
    Ok(Duration::from_nanos(done.phases.total_ns()))
}
