//! The verdicts of studies about time against programs of their own: `xtask/bench/study.c` and `Study.java`, a process for
//! each pass, over whole files that `xtask/bench/fill.c` brought where they are. No decided verdict may have the other sign,
//! and ratios should lie within a fifth. Of one that does not, workers make the program's passes beside it, in turn: then it is
//! the loops that differ, or it is the hour.

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use lab::{link::Link, runtime, state};
use schema::{
    Arm, Bytes, Condition, Durability, Fill, Layout, Span, State, Workload, builtin,
    experiment::Metric,
    findings::{ClaimMeasured, Document},
    leftover::FileIdentity,
    protocol::{Job, Permit},
};
use serde_json::Value;

use super::{compile, document, fill, java, languages::said, root};

const PAIRS: usize = 7;
/// As many at most, until the interval of their median is no wider than what is compared.
const PAIRS_MOST: usize = 41;
/// A pass that is slower is made less often.
const SLOW_NS: f64 = 1e9;
const PAIRS_OF_SLOW: usize = 3;
const PAIRS_OF_SLOW_MOST: usize = 9;
const TOLERANCE: f64 = 1.2;
/// More than any pass takes.
const LIMIT: Duration = Duration::from_secs(120);
/// Faults of the program's own code and stack while it reads what is mapped already.
const OWN_FAULTS: u64 = 8;
/// What a Java program warms up over, in bytes: a block of the largest.
const WARM_BYTES: u64 = 64 << 20;
/// What a program has beside the page cache: buffers, and the page table of a mapping. The tool allows what a worker needs
/// and 1 MiB; with 8 MiB more page cache than the study had, a mapping took 1.4 instead of 1.8 times as long as calls.
const BESIDE_BYTES: u64 = 2 << 20;

/// `which`: studies by name, or documents that `reproduce --json=FILE` wrote; all studies when there is none.
pub(crate) fn table(tool: &Path, folder: &Path, which: &[String]) -> Result<String> {
    let source = |name: &str| root().join("xtask/bench").join(name);
    for name in ["fill", "study"] {
        let source = source(&format!("{name}.c"));
        compile(
            Command::new("cc").args(["-O3", "-falign-loops=64", "-pthread", "-o"]).arg(folder.join(name)).arg(source),
        )?;
    }
    let java = java(folder, "Study");
    let mut page = String::from("## What the studies say against programs of their own\n\n");
    let all: Vec<String> = builtin::STUDIES.iter().map(|(name, _)| (*name).to_string()).collect();
    for which in if which.is_empty() { &all } else { which } {
        let shown = match which.ends_with(".json") {
            true => serde_json::from_slice(&fs::read(which)?).with_context(|| format!("{which} is no document"))?,
            false => document(tool, folder, &[&"reproduce", which, &"--dir", &folder.display()])?.0,
        };
        page += &of_study(&mut Programs { tool, folder, java: java.as_deref(), lies_as: None }, &shown)?;
    }
    Ok(page)
}

fn of_study(programs: &mut Programs, shown: &Document) -> Result<String> {
    let mut rows = String::new();
    let (mut all, mut turned, mut near, mut spread, mut moved, mut without) = (0, 0, 0, 0, 0, 0);
    let file_bytes = shown.record.target.bytes;
    fs::write(programs.file(), super::noise(file_bytes))?;
    fs::write(programs.warm(), super::noise(WARM_BYTES))?;
    fs::File::open(programs.file())?.sync_all()?;
    for (claim, asked) in shown.findings.claims.iter().zip(&shown.record.experiment.claims) {
        let Some(part) = part(asked.metric) else { continue };
        // On the folios of the study's time, too, which do not decide the claim.
        let variant = claim.measured.iter().find(|it| it.decides).map(|it| it.variant);
        let mut measured: Vec<&ClaimMeasured> = claim
            .measured
            .iter()
            .filter(|it| Some(it.variant) == variant && it.verdict.is_decided() && it.against_cell.is_none())
            .collect();
        measured.sort_by_key(|it| shown.record.conditions[it.id.condition.condition_index].fill());
        for it in measured {
            let Some(than) = it.than_cell else { continue };
            let cells = [than, it.id.cell].map(|cell| &shown.record.cells[cell]);
            let condition = &shown.record.conditions[it.id.condition.condition_index];
            let comparison =
                it.id.condition.comparison_index.and_then(|at| shown.record.experiment.comparisons.get(at));
            let part_of_file = comparison.and_then(|it| it.range).is_some_and(|it| it.share != Some(1.0));
            let question = Question { condition, part_of_file, arms: cells.map(|it| &it.arm), part };
            let Some([[low, ratio, high]]) = programs.ratios(&question, [Side::Program])? else {
                without += 1;
                continue;
            };
            let is_turned = (it.value.ci_low > 1.05 && high < 1.0) || (it.value.ci_high < 1.0 / 1.05 && low > 1.0);
            let is_near = are_near(it.value.median, ratio);
            // The median of the program's own pairs is not known to a fifth.
            let is_spread = !is_near && high / low > TOLERANCE;
            (all, turned, near) = (all + 1, turned + usize::from(is_turned), near + usize::from(is_near));
            spread += usize::from(is_spread);
            let beside = if is_near { None } else { programs.ratios(&question, [Side::Worker, Side::Program])? };
            let of_both = beside.map(|it| it.map(|[_, middle, _]| middle));
            moved += usize::from(!is_spread && of_both.is_some_and(|[worker, program]| are_near(worker, program)));
            let said = of_both.map(|[worker, program]| format!("; in turn {worker:.2} and {program:.2}"));
            writeln!(
                rows,
                "| {} | {} | {} | {:.2} [{:.2}, {:.2}] | {ratio:.2} [{low:.2}, {high:.2}] | {}{} |",
                claim.id,
                it.condition,
                it.verdict.words(),
                it.value.median,
                it.value.ci_low,
                it.value.ci_high,
                match (is_turned, is_near) {
                    (true, _) => "**the other sign**",
                    (false, true) => "",
                    (false, false) if is_spread => "more than a fifth off, as the program's own interval",
                    (false, false) => "more than a fifth off",
                },
                said.unwrap_or_default()
            )?;
        }
    }
    let name = &shown.record.experiment.name;
    eprintln!(
        "{name}: {all} verdicts, {turned} with the other sign, {near} within a fifth, {spread} of the others where the \
         program's own interval is wider, {moved} of the others within a fifth in turn, {without} without a program"
    );
    Ok(format!(
        "### {name}, a file of {}\n\n{all} verdicts, {turned} with the other sign, {near} within a fifth, {spread} of the \
         others where the program's own interval is wider; {moved} of the others within a fifth where workers and programs \
         take turns; {without} without a program.\n\n| claim | condition | verdict | faultline | the program | |\n|---|---|---|---|---|---|\n{rows}\n",
        Bytes(file_bytes)
    ))
}

/// What the program prints of a metric, if it is a time.
fn part(metric: Metric) -> Option<&'static str> {
    match metric {
        Metric::Time => Some("ns"),
        Metric::ReadPart => Some("read_ns"),
        Metric::LoopPart => Some("loop_ns"),
        Metric::WritePart => Some("write_ns"),
        _ => None,
    }
}

/// What the programs call an arm under a condition.
fn method(arm: &Arm, condition: &Condition) -> Option<&'static str> {
    let name = arm.name.split(' ').next()?;
    let writes = condition.workload.writes();
    Some(match name {
        "native/read" => "read",
        "native/pread" => "pread",
        "native/stdio" => "stdio",
        "native/stdio-mmap" => "stdio-mmap",
        "native/mmap" => "mmap",
        "native/mmap+willneed" => "mmap+willneed",
        "native/mmap+private" => "mmap+private",
        "native/mmap+per-block" if writes => "mmap",
        "native/write" => "write",
        "native/write+o-sync" => "write+o-sync",
        "native/pwrite" => "pwrite",
        // Its program makes one pass, and none before that.
        "jvm/stream" if condition.state != State::Mapped => "stream",
        "jvm/channel-direct" | "jvm/channel-write" => "channel",
        "jvm/channel-heap" => "heap",
        "jvm/mapped" | "jvm/mapped-put" => "mapped",
        _ => return None,
    })
}

/// What a verdict is about: a condition and two arms, and which time of theirs.
struct Question<'a> {
    condition: &'a Condition,
    part_of_file: bool,
    arms: [&'a Arm; 2],
    part: &'a str,
}

/// Who makes the passes.
#[derive(Clone, Copy)]
enum Side {
    Program,
    Worker,
}

/// Of few pairs all are in the interval.
fn of_pairs(ratios: &[f64]) -> Option<[f64; 3]> {
    let interval = analysis::stats::median_of_positive(ratios.iter().copied())?;
    let end = |end: fn(f64, f64) -> f64| ratios.iter().copied().reduce(end).unwrap_or(interval.median);
    Some(match ratios.len() < PAIRS {
        true => [end(f64::min), interval.median, end(f64::max)],
        false => [interval.ci_low, interval.median, interval.ci_high],
    })
}

fn are_near(one: f64, other: f64) -> bool {
    (one / other).max(other / one) <= TOLERANCE
}

struct Programs<'a> {
    tool: &'a Path,
    folder: &'a Path,
    java: Option<&'a [OsString]>,
    /// What the file lies in memory as.
    lies_as: Option<Fill>,
}

impl Programs<'_> {
    fn file(&self) -> PathBuf {
        self.folder.join("study-file")
    }

    fn copy(&self) -> PathBuf {
        self.folder.join("study-copy")
    }

    fn warm(&self) -> PathBuf {
        self.folder.join("study-warm")
    }

    /// How many times faster the second arm is, of each side: the median of some pairs, whose passes are made in turn, between
    /// the ends of its interval. Nothing where the programs lack an arm or a state.
    fn ratios<const N: usize>(&mut self, question: &Question, sides: [Side; N]) -> Result<Option<[[f64; 3]; N]>> {
        let mut ratios = [const { Vec::new() }; N];
        for pair in 0..PAIRS_MOST {
            let mut times = [[0.0; 2]; N];
            let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
            for at in order {
                for (side, times) in sides.iter().zip(&mut times) {
                    let Some(ns) = self.pass(question, *side, at, 1000 + 2 * pair + at)? else { return Ok(None) };
                    times[at] = ns;
                }
            }
            ratios.iter_mut().zip(times).for_each(|(ratios, times)| ratios.push(times[0] / times[1]));
            let is_slow = times.iter().flatten().any(|&it| it > SLOW_NS);
            let (few, most) = if is_slow { (PAIRS_OF_SLOW, PAIRS_OF_SLOW_MOST) } else { (PAIRS, PAIRS_MOST) };
            let is_wide = |it: &Vec<f64>| of_pairs(it).is_none_or(|[low, _, high]| high / low > TOLERANCE);
            if pair + 1 >= most || pair + 1 >= few && !ratios.iter().any(is_wide) {
                break;
            }
        }
        let ratios: Option<Vec<[f64; 3]>> = ratios.iter().map(|it| of_pairs(it)).collect();
        Ok(ratios.and_then(|it| it.try_into().ok()))
    }

    /// Nanoseconds of a pass of one of the arms.
    fn pass(&mut self, question: &Question, side: Side, at: usize, seed: usize) -> Result<Option<f64>> {
        let &Question { condition, part, .. } = question;
        let arm = question.arms[at];
        let Some(method) = method(arm, condition) else { return Ok(None) };
        let is_java = arm.runtime != "native";
        let is_held = condition.state == State::Mapped;
        let known = [State::Cached, State::Mapped, State::Cold, State::Limited].contains(&condition.state);
        if !known || is_java && (self.java.is_none() || condition.durability != Durability::None) {
            return Ok(None);
        }
        let work = match condition.workload {
            Workload::Scan => "scan",
            Workload::Random if condition.aligned => "random",
            Workload::Random => "unaligned",
            Workload::Update => "update",
            Workload::Overwrite => "overwrite",
            Workload::Replay | Workload::OverwriteRandom | Workload::Append | Workload::Command => return Ok(None),
        };
        let file = self.bring(condition)?;
        // The whole file, unless the study asks for a part of it; where each block waits for the device, as many as the rounds
        // had.
        let given = condition.workload == Workload::Random || condition.durability == Durability::SyncEach;
        let ops = match (given, question.part_of_file) {
            (true, _) => condition.ops,
            (false, true) => condition.range.bytes / condition.block_bytes,
            (false, false) => 0,
        };
        let group = Group::of(condition, &file)?;
        let from = match (condition.workload, condition.durability) {
            (Workload::Update, Durability::SyncEach) => {
                place(fs::metadata(&file)?.len(), ops * condition.block_bytes, seed as u64)
            }
            _ => 0,
        };
        if let Side::Worker = side {
            let worker = if is_java {
                runtime::worker(arm).map_err(anyhow::Error::msg)?
            } else {
                let mut worker = Command::new(self.tool);
                worker.arg("worker");
                worker
            };
            return by_worker(worker, &group, &file, question, (arm, ops, from, seed as u64)).map(Some);
        }
        let [block, ops, seed] = [condition.block_bytes, ops, seed as u64].map(|it| it.to_string());
        let mut words: Vec<OsString> = match self.java.filter(|_| is_java) {
            Some(java) => java.to_vec(),
            None => vec![self.folder.join("study").into()],
        };
        words.extend([file.into(), method.into(), work.into(), block.into(), ops.into()]);
        words.push(if is_java { self.warm().into() } else { seed.into() });
        words.push(condition.consume.to_string().into());
        if is_held {
            words.push("held".into());
        }
        if from > 0 {
            words.push(format!("from={from}").into());
        }
        match condition.durability {
            Durability::None => {}
            Durability::SyncEach => words.push("sync=each".into()),
            Durability::SyncEnd => words.push("sync=end".into()),
        }
        let mut answer = group.run(&words)?;
        if condition.state == State::Limited {
            // The first pass found the file evicted.
            answer = group.run(&words)?;
        }
        // After a sync each page is mapped for reading alone, and the first store to it is a fault.
        if is_held && !is_java && !condition.workload.writes() {
            let faults = answer["minor_faults"].as_u64().context("no count of minor faults")?;
            ensure!(faults <= OWN_FAULTS, "{faults} minor faults: the pages were not mapped before the clock started");
        }
        answer[part].as_f64().with_context(|| format!("no {part}")).map(Some)
    }

    /// Brings a file where the pages of a condition are, and says which file that is.
    fn bring(&mut self, condition: &Condition) -> Result<PathBuf> {
        let fill = condition.fill();
        if condition.workload.writes() {
            self.lies_as = None;
            if condition.layout == Some(Layout::Sparse) {
                fs::File::create(self.copy())?.set_len(condition.file_bytes)?;
            } else {
                let copied_by = fill.and_then(Fill::copied_by);
                self.make(&format!("written={}", copied_by.unwrap_or(1 << 20)), true)?;
                // What a call costs in a page cache that was read in is that of the folios which reading makes.
                if let (Some(fill), None) = (fill, copied_by) {
                    self.fill(&self.copy(), &fill.to_string())?;
                }
            }
            return Ok(self.copy());
        }
        let Some(fill) = fill else {
            self.make("evict", false)?;
            self.lies_as = None;
            return Ok(self.file());
        };
        if self.lies_as != Some(fill) {
            match fill.copied_by() {
                Some(bytes) => self.make(&format!("written={bytes}"), true)?,
                None => self.make(&fill.to_string(), false)?,
            }
            self.lies_as = Some(fill);
        }
        Ok(if fill.copied_by().is_some() { self.copy() } else { self.file() })
    }

    fn fill(&self, file: &Path, how: &str) -> Result<()> {
        fill(Command::new(self.folder.join("fill")).arg(file).arg(how))
    }

    fn make(&self, how: &str, copies: bool) -> Result<()> {
        let mut program = Command::new(self.folder.join("fill"));
        program.arg(self.file()).arg(how);
        if copies {
            program.arg(self.copy());
        }
        fill(&mut program)
    }
}

/// Where in the file the part lies that is updated block by block, each time elsewhere, as in the rounds of a study: the first
/// folios of a file are smaller than the others.
fn place(file_bytes: u64, part_bytes: u64, seed: u64) -> u64 {
    const STEP: u64 = 2 << 20;
    const GOLDEN: f64 = 0.618_034;
    let places = file_bytes.saturating_sub(part_bytes) / STEP + 1;
    ((seed as f64 * GOLDEN).fract() * places as f64) as u64 * STEP
}

/// Nanoseconds of a pass that is the program's; no blocks are all of the file.
fn by_worker(
    worker: Command,
    group: &Group,
    file: &Path,
    question: &Question,
    (arm, ops, from, seed): (&Arm, u64, u64, u64),
) -> Result<f64> {
    use std::os::{fd::AsRawFd, unix::fs::MetadataExt};
    let condition = question.condition;
    let about = fs::metadata(file)?;
    let block = condition.block_bytes;
    let whole = Span { offset: 0, bytes: about.len() };
    let covers = question.part_of_file && condition.workload != Workload::Random;
    let identity = FileIdentity { device: about.dev(), inode: about.ino() };
    // A worker that writes is given the file by a descriptor, as by the tool.
    let held = fs::File::options().read(true).write(condition.workload.writes()).open(file)?;
    let held_as = format!("/proc/{}/fd/{}", std::process::id(), held.as_raw_fd());
    let job = Job {
        workload: condition.workload,
        consume: condition.consume,
        block_bytes: block,
        ops: if ops == 0 { about.len() / block } else { ops },
        range: if covers || from > 0 { Span { offset: from, bytes: ops * block } } else { whole },
        aligned: condition.aligned,
        durability: condition.durability,
        seed,
        hold: state::hold(condition.state),
        permit: Permit { execute: false, write: condition.workload.writes().then_some(identity) },
        ..Job::new(arm, &held_as, whole)
    };
    let interrupted = AtomicBool::new(false);
    let (mut link, _) = Link::start(worker, &interrupted).map_err(said)?;
    group.admit(link.pid())?;
    link.prepare_within(LIMIT, &job).map_err(said)?;
    let warm = u32::from(condition.state == State::Limited);
    if warm > 0 {
        link.go_warm(job.pass, warm, LIMIT).map_err(said)?;
    }
    let done = link.go(job.pass, LIMIT).map_err(said)?;
    link.bye_within(LIMIT).map_err(said)?;
    let of_parts = |part: fn(schema::protocol::Parts) -> u64| done.parts.map(part).context("no parts");
    Ok(match question.part {
        "read_ns" => of_parts(|it| it.read_ns)?,
        "loop_ns" => of_parts(|it| it.loop_ns)?,
        "write_ns" => of_parts(|it| it.write_ns)?,
        _ => done.phases.total_ns(),
    } as f64)
}

/// Folders of cgroups made by hand (version 1), for less memory or a slower disk.
struct Group {
    folders: Vec<PathBuf>,
}

impl Group {
    fn of(condition: &Condition, file: &Path) -> Result<Group> {
        let mut group = Group { folders: Vec::new() };
        let mut limit = |controller: &str, key: &str, value: String| -> Result<()> {
            let folder =
                Path::new("/sys/fs/cgroup").join(controller).join(format!("faultline-bench-{}", std::process::id()));
            fs::create_dir_all(&folder).with_context(|| format!("no cgroup {controller} of version 1"))?;
            group.folders.push(folder.clone());
            fs::write(folder.join(key), value).with_context(|| format!("{controller}: {key}"))
        };
        if let Some(bytes) = condition.memory_bytes {
            limit("memory", "memory.limit_in_bytes", (bytes + BESIDE_BYTES).to_string())?;
        }
        if let Some(rate) = condition.storage.and_then(|it| it.read_bytes_per_s) {
            use std::os::unix::fs::MetadataExt;
            let device = fs::metadata(file)?.dev();
            let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
            limit("blkio", "blkio.throttle.read_bps_device", format!("{major}:{minor} {rate}"))?;
        }
        Ok(group)
    }

    fn admit(&self, pid: u32) -> Result<()> {
        self.folders.iter().try_for_each(|it| Ok(fs::write(it.join("cgroup.procs"), pid.to_string())?))
    }

    /// Runs a program in it; what it prints is its answer.
    fn run(&self, words: &[OsString]) -> Result<Value> {
        let mut shell = Command::new("sh");
        let enter: String =
            self.folders.iter().map(|it| format!("echo $$ > {}/cgroup.procs && ", it.display())).collect();
        shell.arg("-c").arg(format!("{enter}exec \"$@\"")).arg("sh").args(words);
        let output = shell.output()?;
        ensure!(output.status.success(), "{words:?} failed: {}", String::from_utf8_lossy(&output.stderr));
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            let _ = fs::remove_dir(folder);
        }
    }
}
