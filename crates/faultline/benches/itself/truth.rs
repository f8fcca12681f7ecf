//! The survey against programs of their own: `xtask/bench/fill.c` brings a file into the page cache, `xtask/bench/truth.c`
//! makes one pass over the whole file, or as many random reads as the survey made, from offsets of its own. No decided
//! verdict may have the other sign, and nine of ten ratios should lie within 15 %.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use schema::{
    Arm, Bytes, Condition, Fill, State, Workload,
    findings::{Comparison, Confirmed, Document},
};
use serde_json::Value;

use super::{compile, document, fill, median, root};

/// How often the programs go over all comparisons of a run. The memory bandwidth that other tenants leave changes within
/// minutes, and with it the ratio of one comparison by a fifth.
const SWEEPS: usize = 3;
/// Pairs of passes of the programs in a sweep, for each comparison.
const PAIRS: usize = 3;
/// A whole pass that is slower is made less often.
const SLOW_NS: f64 = 1e9;
const PAIRS_OF_SLOW: usize = 2;
const TOLERANCE: f64 = 1.15;

/// How a file may have come into the page cache before anybody measures it, and what `fill.c` calls that.
const HISTORIES: [(&str, &str); 3] =
    [("copied", "written=131072"), ("built, in writes of 4 KiB", "written=4096"), ("read at random", "random-queued")];

pub(crate) fn table(tool: &Path, folder: &Path, sizes: &[u64]) -> Result<String> {
    let [fill, truth] = ["fill", "truth"].map(|name| (folder.join(name), root().join(format!("xtask/bench/{name}.c"))));
    for (program, source) in [&fill, &truth] {
        compile(Command::new("cc").args(["-O3", "-falign-loops=64", "-pthread", "-o"]).arg(program).arg(source))?;
    }
    let copy = folder.join("truth-copy");
    let mut programs = Programs { fill: fill.0, truth: truth.0, copy, found: None, filled: None, seed: 1000 };
    let mut page = format!(
        "## What is shown against programs of their own\n\n\
         Each decided comparison whose two arms `xtask/bench/truth.c` has, and the same by that program: whole files, \
         as many random reads as the answer rests on, other offsets, in {SWEEPS} sweeps of {PAIRS} pairs each \
         ({PAIRS_OF_SLOW} where a pass takes a second).\n\n"
    );
    for &bytes in sizes {
        let file = folder.join(format!("truth-{bytes}"));
        std::fs::write(&file, super::noise(bytes))?;
        std::fs::File::open(&file)?.sync_all()?;
        for experiment in ["survey", "fills"] {
            let (shown, took) = document(tool, folder, &[&"run", &file.display(), &"-e", &experiment])?;
            let heading = format!("`run -e {experiment}` on a file of {}, {:.0} s", Bytes(bytes), took.as_secs_f64());
            page += &of_file(&mut programs, &file, &heading, &shown)?;
        }
        for (history, how) in HISTORIES {
            programs.found = Some(how);
            programs.make(&file, how)?;
            let found = programs.made(&file, how).to_path_buf();
            let (shown, took) = document(
                tool,
                folder,
                &[&"run", &found.display(), &"--state=cached", &"--fill=found", &"--budget=40s"],
            )?;
            let heading =
                format!("`run --fill found` on a file of {}, {history}, {:.0} s", Bytes(bytes), took.as_secs_f64());
            page += &of_file(&mut programs, &file, &heading, &shown)?;
            programs.found = None;
        }
        std::fs::remove_file(&file)?;
        let _ = std::fs::remove_file(&programs.copy);
    }
    Ok(page)
}

fn of_file(programs: &mut Programs, file: &Path, heading: &str, shown: &Document) -> Result<String> {
    let mut rows = String::new();
    let (mut turned, mut near, mut alike) = (0, 0, 0);
    let mut decided: Vec<&Comparison> = shown
        .findings
        .comparisons
        .iter()
        .filter(|it| it.verdict.is_decided() && is_here(it, shown, programs.found))
        .collect();
    // Fills are made once in a sweep.
    decided.sort_by_key(|it| (it.condition.fill(), it.id.cell));
    let mut found: Vec<Vec<Vec<f64>>> = vec![Vec::new(); decided.len()];
    for _ in 0..SWEEPS {
        programs.filled = None;
        for (comparison, found) in decided.iter().zip(&mut found) {
            let ops = reads_of_the_file(comparison);
            let arms = [comparison.baseline_cell, comparison.id.cell].map(|cell| &shown.record.cells[cell].arm);
            found.push(programs.ratios(file, &comparison.condition, ops, arms)?);
        }
    }
    for (comparison, mut found) in decided.iter().zip(found) {
        let said =
            job(comparison).map(|it| it.speedup).or(comparison.speedup).context("a decided comparison has a ratio")?;
        let [low, true_ratio, high] = spread(&mut found.concat());
        let mut others = found.split_off(1).concat();
        let is_alike = is_near(median(&mut found.concat()), median(&mut others));
        // Pairs of the program that lie on both sides of 1 contradict no verdict.
        let is_turned = (said.median > 1.0 && high < 1.0) || (said.median < 1.0 && low > 1.0);
        let is_near = is_near(said.median, true_ratio);
        turned += usize::from(is_turned);
        near += usize::from(is_near);
        alike += usize::from(is_alike);
        writeln!(
            rows,
            "| {} | {} | {} | {:.2} [{:.2}, {:.2}]{} | {true_ratio:.2} [{low:.2}, {high:.2}] | {} |",
            comparison.condition.label(),
            comparison.arm,
            comparison.baseline,
            said.median,
            said.ci_low,
            said.ci_high,
            if job(comparison).is_some() { ", whole job" } else { "" },
            match (is_turned, is_near, is_alike) {
                (true, ..) => "**the other sign**",
                (false, true, _) => "",
                (false, false, true) => "more than 15 % off",
                (false, false, false) => "more than 15 % off, as is the program's first sweep",
            }
        )?;
    }
    let all = decided.len();
    rows += &break_evens(programs, file, shown)?;
    eprintln!(
        "{heading}: {all} comparisons, {turned} with the other sign, {near} near, {alike} of the program with itself"
    );
    Ok(format!(
        "### {heading}\n\n{all} comparisons, {turned} with the other sign, {near} within 15 %; of the program's first sweep \
         {alike} are within 15 % of its others.\n\n\
         | condition | arm | than | faultline says | the program | |\n|---|---|---|---|---|---|\n{rows}\n"
    ))
}

/// The answer at the size of the job, where the verdict is by that.
fn job(comparison: &Comparison) -> Option<&Confirmed> {
    comparison.confirmed.as_ref().filter(|_| comparison.answer_of.is_confirmed())
}

/// So many blocks of the whole file: reads of a part of it in the page cache are as dense as these.
fn reads_of_the_file(comparison: &Comparison) -> u64 {
    let condition = &comparison.condition;
    let (ops, bytes) = job(comparison).map_or((condition.ops, condition.range.bytes), |it| (it.ops, it.bytes));
    let is_dense = condition.workload == Workload::Random && condition.state == State::Cached;
    match is_dense && bytes > 0 {
        true => (ops as f64 * (condition.file_bytes as f64 / bytes as f64).max(1.0)).round() as u64,
        false => ops,
    }
}

fn is_near(one: f64, other: f64) -> bool {
    (one / other).max(other / one) <= TOLERANCE
}

/// The least, the median and the most.
fn spread(ratios: &mut [f64]) -> [f64; 3] {
    let middle = median(ratios);
    [ratios.iter().copied().fold(f64::INFINITY, f64::min), middle, ratios.iter().copied().fold(0.0, f64::max)]
}

/// On both sides of each number of reads from which a mapping should be faster, what the program finds. Only of blocks of a
/// page: others take long.
fn break_evens(programs: &mut Programs, file: &Path, shown: &Document) -> Result<String> {
    let mut rows = String::new();
    let all = shown.findings.costs.iter().flat_map(|it| &it.break_evens);
    for it in all.filter(|it| it.block_bytes == 4096) {
        let arm = &shown.record.cells[it.id.cell].arm;
        let condition = &shown.record.conditions[it.id.condition.condition_index];
        let baseline: Arm = "pread".parse().map_err(anyhow::Error::msg)?;
        for reads in [it.reads.ci_low / 1.5, it.reads.median, it.reads.ci_high * 1.5] {
            let mut ratios = Vec::new();
            for _ in 0..SWEEPS {
                ratios.extend(programs.ratios(file, condition, reads as u64, [&baseline, arm])?);
            }
            let [low, middle, high] = spread(&mut ratios);
            writeln!(
                rows,
                "| {} reads of {}, cold | {} | {} | 1 near {:.0} [{:.0}, {:.0}] | {middle:.2} [{low:.2}, {high:.2}] | |",
                reads as u64,
                Bytes(it.block_bytes),
                it.arm,
                it.baseline,
                it.reads.median,
                it.reads.ci_low,
                it.reads.ci_high
            )?;
        }
    }
    Ok(rows)
}

/// Whether the program has both arms, from the same start.
fn is_here(comparison: &Comparison, shown: &Document, found: Option<&str>) -> bool {
    let of_cell = |cell: usize| {
        let cell = &shown.record.cells[cell];
        cell.own_condition.is_none() && method(&cell.arm).is_some()
    };
    of_cell(comparison.baseline_cell)
        && of_cell(comparison.id.cell)
        && comparison.condition.block_bytes.is_multiple_of(8)
        && (comparison.condition.fill() == Some(Fill::Found)) == found.is_some()
}

/// What the program calls an arm.
fn method(arm: &Arm) -> Option<String> {
    (arm.runtime == "native").then_some(())?;
    let name = arm.name.strip_prefix("native/")?;
    let known = ["read", "pread", "mmap", "mmap+sequential", "mmap+random", "mmap+populate-read"];
    known.contains(&name).then(|| name.replace("populate-read", "populate"))
}

struct Programs {
    fill: PathBuf,
    truth: PathBuf,
    /// Where a fill goes that is a file of its own.
    copy: PathBuf,
    /// How a file that is found in the page cache came there.
    found: Option<&'static str>,
    /// What the file lies in memory as.
    filled: Option<Fill>,
    /// Of the offsets of the next pass. Blocks of all sizes would come to the same places by one seed, and what one
    /// comparison read, with its folios, would be in the CPU caches for the next one.
    seed: u64,
}

impl Programs {
    /// Time of the baseline over that of the arm, of some pairs.
    fn ratios(&mut self, file: &Path, condition: &Condition, ops: u64, [baseline, arm]: [&Arm; 2]) -> Result<Vec<f64>> {
        let mut ratios = Vec::new();
        for pair in 0..PAIRS {
            let mut one = |arm: &Arm| self.pass(file, condition, arm, ops);
            let (first, second) = match pair % 2 {
                0 => (one(baseline)?, one(arm)?),
                _ => {
                    let second = one(arm)?;
                    (one(baseline)?, second)
                }
            };
            ratios.push(first / second);
            if first.max(second) > SLOW_NS && ratios.len() >= PAIRS_OF_SLOW {
                break;
            }
        }
        Ok(ratios)
    }

    /// Nanoseconds of one pass.
    fn pass(&mut self, file: &Path, condition: &Condition, arm: &Arm, ops: u64) -> Result<f64> {
        self.seed += 1;
        let how = self.how(condition)?;
        if condition.fill().is_none() || self.filled != condition.fill() {
            self.make(file, &how)?;
            self.filled = condition.fill();
        }
        let workload = if condition.workload == Workload::Scan { "scan" } else { "random" };
        let mut program = Command::new(&self.truth);
        program.arg(self.made(file, &how)).arg(method(arm).context("the program has the arm")?).arg(workload);
        program.args([condition.block_bytes, ops, self.seed].map(|it| it.to_string()));
        if condition.state.is_held() {
            program.arg("held");
        }
        let output = program.output()?;
        ensure!(output.status.success(), "truth failed: {}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout)?;
        answer["ns"].as_f64().context("no time")
    }

    /// What the program calls the way in which a condition's pages came where they are.
    fn how(&self, condition: &Condition) -> Result<String> {
        Ok(match condition.fill() {
            None => {
                ensure!(condition.state == State::Cold, "state {} is not the program's", condition.state);
                "evict".into()
            }
            Some(Fill::Found) => self.found.context("it is known how the file came into memory")?.into(),
            Some(Fill::Random) => "random-queued".into(),
            Some(Fill::HugePages) => "hugepage".into(),
            Some(Fill::Written(bytes)) => format!("written={bytes}"),
            Some(Fill::ReadAhead(bytes)) => format!("read-ahead={bytes}"),
            Some(fill) => fill.to_string(),
        })
    }

    fn make(&self, file: &Path, how: &str) -> Result<()> {
        let mut program = Command::new(&self.fill);
        program.arg(file).arg(how);
        if how.starts_with("written") {
            program.arg(&self.copy);
        }
        fill(&mut program)
    }

    /// The file that lies in memory in this way.
    fn made<'a>(&'a self, file: &'a Path, how: &str) -> &'a Path {
        if how.starts_with("written") { &self.copy } else { file }
    }
}
