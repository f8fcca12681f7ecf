//! Random reads in state `mapped`, and the replay of such, against a loop in C.

use std::{fmt::Write as _, fs, path::Path, process::Command, sync::atomic::AtomicBool, time::Duration};

use anyhow::{Context, Result, anyhow, ensure};
use lab::link::{Link, Trouble};
use schema::{
    Arm, Bytes, Consume, Span, Workload,
    protocol::{Hold, Job, TraceOf},
    trace::{Access, Header, LeftOut, Reader, TracedFile, Writer},
};

use super::{FILE_BYTES, ROUNDS, SEED, median};

const LIMIT: Duration = Duration::from_secs(60);
const BLOCKS: [u64; 5] = [64, 512, 4096, 64 << 10, 1 << 20];
/// Of a replay. Each access has a length of its own, so no loop is compiled for one.
const REPLAYED: [u64; 3] = [64, 512, 4096];
/// With one byte looked at in each block, blocks of other sizes are no different.
const TOUCHED: u64 = 64;
/// Accesses of a pass.
const OPS_MAX: u64 = 200_000;

/// What either side does.
struct Row {
    method: &'static str,
    block: u64,
    ops: u64,
    consume: Consume,
    /// In a trace, and for the bare loop in a list.
    replayed: Option<(TraceOf, String)>,
}

/// The section of `docs/BENCHMARKS.md`: in each round one pass of the bare loop and one of a worker, in turn first. Of rows that
/// have all of `words` in their first columns, if there are some.
pub(crate) fn table(tool: &Path, bare: &Path, folder: &Path, file: &Path, words: &[String]) -> Result<String> {
    let fio = fio();
    let mut table = format!(
        "## A cell against a bare loop\n\n\
         Random reads of a {} file, state `mapped`, one thread; and replays of such reads, which the bare loop has in a list.\n\
         The bare loop is `crates/faultline/benches/itself/bare.c`; both sides run in turn, {ROUNDS} rounds, and the ratio is the median of the rounds' ratios with its 95 % interval.\n\
         Target: within 3 %.\n\n\
         | method | consume | block | bare loop, ns/op | faultline, ns/op | ratio | 95 % interval |{}\n|---|---|---|---|---|---|---|{}\n",
        Bytes(FILE_BYTES),
        if fio.is_some() { " fio, ns/op | fio / bare |" } else { "" },
        if fio.is_some() { "---|---|" } else { "" },
    );
    for row in rows(folder)? {
        let Row { method, block, ops, consume, .. } = row;
        let named = format!("{method}{} | {consume}", if row.replayed.is_some() { ", replay" } else { "" });
        if !words.iter().all(|it| named.contains(it.as_str())) {
            continue;
        }
        let (mut of_bare, mut of_tool, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let (first, second) = match round % 2 {
                0 => (by_bare(bare, file, &row)?, by_worker(tool, file, &row)?),
                _ => {
                    let second = by_worker(tool, file, &row)?;
                    (by_bare(bare, file, &row)?, second)
                }
            };
            ensure!(first.1 == second.1, "{method} {block}: checksums {} and {} differ", first.1, second.1);
            of_bare.push(first.0);
            of_tool.push(second.0);
            ratios.push(second.0 / first.0);
        }
        let ratio = analysis::stats::median_of_positive(ratios).context("too few rounds")?;
        write!(
            table,
            "| {named} | {} | {:.1} | {:.1} | {:.3} | {:.3} to {:.3} |",
            Bytes(block),
            median(&mut of_bare),
            median(&mut of_tool),
            ratio.median,
            ratio.ci_low,
            ratio.ci_high
        )?;
        match (&fio, row.replayed.is_none() && consume == Consume::Sum) {
            (Some(version), true) => match fio_ns(file, method, block, ops) {
                Ok(ns) => write!(table, " {ns:.0} | {:.2} |", ns / median(&mut of_bare))?,
                Err(error) => write!(table, " {version}: {error} | |")?,
            },
            (Some(_), false) => table.push_str(" | |"),
            (None, _) => {}
        }
        table.push('\n');
    }
    table.push('\n');
    Ok(table)
}

fn rows(folder: &Path) -> Result<Vec<Row>> {
    let ops = |block: u64| ((64 << 20) / block).clamp(256, OPS_MAX);
    let mut rows = Vec::new();
    for method in ["pread", "mmap"] {
        let row = |block, consume, replayed| Row { method, block, ops: ops(block), consume, replayed };
        rows.extend(BLOCKS.map(|block| row(block, Consume::Sum, None)));
        rows.push(row(TOUCHED, Consume::Touch, None));
        for (block, consume) in REPLAYED.map(|it| (it, Consume::Sum)).into_iter().chain([(TOUCHED, Consume::Touch)]) {
            rows.push(row(block, consume, Some(planned(folder, block, ops(block))?)));
        }
    }
    Ok(rows)
}

/// The same random accesses as a trace and as a list of numbers.
fn planned(folder: &Path, block: u64, ops: u64) -> Result<(TraceOf, String)> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let offsets: Vec<u64> = (0..ops).map(|_| random.u64(0..FILE_BYTES / block) * block).collect();
    let of_file = TracedFile { path: "file".into(), ..TracedFile::default() };
    let refused = |why: schema::trace::Refused| anyhow!("the trace: {why}");
    let mut writer =
        Writer::new(Vec::new(), &Header::new("bench", vec![of_file], LeftOut::default())).map_err(refused)?;
    for &offset in &offsets {
        writer.push(Access::call(0, offset, block)).map_err(refused)?;
    }
    let trace = writer.finish().map_err(refused)?;
    let digest = Reader::new(&trace[..]).and_then(Reader::digest).map_err(refused)?;
    let place = |name: &str| folder.join(format!("{name}-{block}"));
    fs::write(place("trace"), trace)?;
    fs::write(
        place("list"),
        offsets.iter().flat_map(|it| [*it, block]).flat_map(u64::to_le_bytes).collect::<Vec<u8>>(),
    )?;
    let path = place("trace").display().to_string();
    Ok((TraceOf { path, digest, file: 0, files: Vec::new() }, place("list").display().to_string()))
}

/// Nanoseconds an access, and the checksum.
fn by_bare(bare: &Path, file: &Path, row: &Row) -> Result<(f64, String)> {
    let numbers = [row.block, row.ops, SEED].map(|it| it.to_string());
    let list = row.replayed.as_ref().map(|it| &it.1);
    let mut command = Command::new(bare);
    let output = command.arg(row.method).arg(file).args(numbers).arg(row.consume.word()).args(list).output()?;
    let text = String::from_utf8(output.stdout)?;
    let (ns, checksum) = text.trim().split_once(' ').context("the bare loop failed")?;
    Ok((ns.parse::<f64>()? / row.ops as f64, checksum.to_string()))
}

/// The same of a pass of a worker, as the controller would have it.
fn by_worker(tool: &Path, file: &Path, row: &Row) -> Result<(f64, String)> {
    let arm: Arm = row.method.parse().map_err(anyhow::Error::msg)?;
    let job = Job {
        workload: if row.replayed.is_some() { Workload::Replay } else { Workload::Random },
        trace: row.replayed.as_ref().map(|it| it.0.clone()),
        consume: row.consume,
        block_bytes: row.block,
        ops: row.ops,
        seed: SEED,
        hold: Hold::Warm,
        ..Job::new(&arm, &file.display().to_string(), Span { offset: 0, bytes: FILE_BYTES })
    };
    let mut command = Command::new(tool);
    command.arg("worker");
    let failed = |why: Trouble| anyhow!("{}: {why:?}", row.method);
    let done = Link::one_pass(command, &job, LIMIT, &AtomicBool::new(false)).map_err(failed)?;
    Ok((done.phases.work_ns as f64 / done.tally.ops as f64, done.tally.checksum))
}

fn fio() -> Option<String> {
    let output = Command::new("fio").arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// fio's own idea of the same: resident file, psync or mmap engine, without its hints and invalidation.
fn fio_ns(file: &Path, method: &str, block: u64, ops: u64) -> Result<f64> {
    let engine = if method == "mmap" { "mmap" } else { "psync" };
    let output = Command::new("fio")
        .args(["--name=cell", "--rw=randread", "--output-format=json", "--invalidate=0", "--fadvise_hint=0"])
        .args(["--norandommap", "--gtod_reduce=1", "--loops=1", "--pre_read=0"])
        .arg(format!("--ioengine={engine}"))
        .arg(format!("--filename={}", file.display()))
        .arg(format!("--bs={block}"))
        .arg(format!("--size={FILE_BYTES}"))
        .arg(format!("--io_size={}", block * ops * 4))
        .output()?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).context("fio refused")?;
    let iops = report["jobs"][0]["read"]["iops"].as_f64().filter(|it| *it > 0.0).context("fio reported no reads")?;
    Ok(1e9 / iops)
}
