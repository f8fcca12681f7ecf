//! Measures the tool itself and prints the first tables of `docs/BENCHMARKS.md`, which has others too: how far its numbers are from a bare loop's, how often it
//! sees a difference where there is none, whether a second run agrees, and what it costs. Ratios, interleaved; never
//! run it beside anything else.

mod languages;
mod loops;
mod observe;
mod probes;
mod stalls;
mod studies;
mod truth;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use lab::runtime;
use schema::{
    Bytes,
    findings::{Document, Findings, Verdict},
};

const FILE_BYTES: u64 = 256 << 20;
const ROUNDS: usize = 31;
const CONTROL_RUNS: u64 = 5;
const SEED: u64 = 7;

fn main() -> Result<()> {
    // Cargo adds an option of its own.
    if let Some(option) = std::env::args().skip(1).find(|it| it.starts_with('-') && it != "--bench") {
        bail!("{option} is no option; `cargo xtask` without words says what can be measured");
    }
    let folder = tempfile::tempdir()?;
    let tool = PathBuf::from(env!("CARGO_BIN_EXE_faultline"));
    let bare = folder.path().join("bare");
    let bare_c = root().join("crates/faultline/benches/itself/bare.c");
    compile(Command::new("cc").arg("-O3").arg("-o").arg(&bare).arg(bare_c))
        .context("a C compiler is needed for the bare loop")?;
    let reader = folder.path().join("reader");
    let reader_rs = root().join("crates/faultline/tests/programs/reader.rs");
    compile(Command::new("rustc").args(["--edition=2024", "-O", "-o"]).arg(&reader).arg(reader_rs))?;
    let file = folder.path().join("file");
    std::fs::write(&file, noise(FILE_BYTES))?;

    match std::env::args().skip(1).find(|it| !it.starts_with('-')).as_deref() {
        Some("loops") => {
            let words = std::env::args().skip_while(|it| it != "loops").skip(1);
            let words: Vec<String> = words.filter(|it| !it.starts_with('-')).collect();
            return loops::table(&tool, &bare, folder.path(), &file, &words).map(|table| print!("{table}"));
        }
        Some("observe") => return observe::table(&tool, &reader, &file).map(|table| print!("{table}")),
        Some("truth") => {
            // In MiB; whole files are read, so large ones take minutes.
            let sizes = std::env::args().skip(1).filter_map(|it| it.parse::<u64>().ok()).map(|it| it << 20);
            let sizes: Vec<u64> = sizes.collect();
            let sizes = if sizes.is_empty() { &[100 << 20, 1 << 30][..] } else { &sizes };
            return truth::table(&tool, folder.path(), sizes).map(|table| print!("{table}"));
        }
        Some("studies") => {
            let which: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).skip(1).collect();
            return studies::table(&tool, folder.path(), &which).map(|table| print!("{table}"));
        }
        Some("languages") => {
            let words: Vec<String> = std::env::args().skip_while(|it| it != "languages").skip(1).collect();
            let mut words = words.iter().map(String::as_str).filter(|it| !it.starts_with('-'));
            let (python, only) = (words.next().unwrap_or("python3"), words.next().unwrap_or_default());
            print!("{}", languages::starts(&file, python)?);
            return languages::table(folder.path(), &file, python, only).map(|table| print!("\n{table}"));
        }
        Some("stalls") => {
            let shown = std::env::args().skip(1).find(|it| it.ends_with(".json"));
            return stalls::table(&tool, folder.path(), &file, shown.as_deref()).map(|table| print!("{table}"));
        }
        Some("probes") => return probes::table(&tool, &file).map(|table| print!("{table}")),
        Some(other) => bail!("{other} is no table; `cargo xtask` without words says which there are"),
        None => {}
    }
    let mut page = String::from("# Benchmarks of faultline itself\n\n");
    let survey = |seed: u64| document(&tool, folder.path(), &[&"run", &file.display(), &"--seed", &seed]);
    eprintln!("1/6  cells against the bare loop");
    let loops = loops::table(&tool, &bare, folder.path(), &file, &[])?;
    eprintln!("2/6  passes with and without probes");
    let probes = probes::table(&tool, &file)?;
    eprintln!("3/6  programs that are watched");
    let watched = observe::table(&tool, &reader, &file)?;
    eprintln!("4/6  the survey, twice");
    let (first, cost) = costs(&tool, &file, survey)?;
    let (second, _) = survey(2)?;
    eprintln!("5/6  controls");
    let controls = controls(&tool, folder.path(), &file)?;
    eprintln!("6/6  start-up");
    let startup = startup(&tool)?;

    let environment = &first.record.environment;
    writeln!(
        page,
        "{}, {} CPUs, kernel {}, {} on {}, {}.\n",
        environment.cpu.value().map_or("unknown CPU", String::as_str),
        environment.cpus,
        environment.kernel,
        first.record.target.file_system,
        first.record.target.device.value().map_or("no device", |it| it.name.as_str()),
        &first.record.started[..10],
    )?;
    page += &loops;
    page += &probes;
    page += &watched;
    page += &controls;
    page += &agreement(&first.findings, &second.findings)?;
    writeln!(page, "## What it costs\n\n| | measured | target |\n|---|---|---|")?;
    page += &cost;
    writeln!(page, "| `faultline --help`, median of 51 | {:.1} ms | below 20 ms |", startup.as_secs_f64() * 1e3)?;
    print!("{page}");
    Ok(())
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Fills the page cache by `fill.c`, again where pages left it meanwhile.
fn fill(program: &mut Command) -> Result<()> {
    const ATTEMPTS: u32 = 5;
    for attempt in 1.. {
        let output = program.output()?;
        if output.status.success() {
            break;
        }
        let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        ensure!(attempt < ATTEMPTS, "{program:?} failed: {printed}");
    }
    Ok(())
}

fn compile(compiler: &mut Command) -> Result<()> {
    let status = compiler.status().with_context(|| format!("cannot start {:?}", compiler.get_program()))?;
    ensure!(status.success(), "{:?} failed: {status}", compiler.get_program());
    Ok(())
}

/// How a program in Java is started, where there is a JDK: by the one whose worker it is held against. What the library copies by
/// differs between versions (64 MiB out of a `MappedByteBuffer`: 25 ms with 17, 19 with 25).
fn java(folder: &Path, class: &str) -> Option<Vec<OsString>> {
    let bin = runtime::jvm::find(None).ok()?.home.join("bin");
    let source = root().join(format!("xtask/bench/{class}.java"));
    compile(Command::new(bin.join("javac")).arg("-d").arg(folder).arg(source)).ok()?;
    Some(vec![bin.join("java").into(), "-cp".into(), folder.into(), class.into()])
}

/// Builds a program in Go, by what its workers are built with; whether that is possible.
fn go(source: &Path, program: &Path) -> bool {
    let toolchain = runtime::go::find().map(|it| it.home.join("bin/go"));
    toolchain.is_ok_and(|it| compile(Command::new(it).args(["build", "-o"]).arg(program).arg(source)).is_ok())
}

fn noise(bytes: u64) -> Vec<u8> {
    let mut state = SEED;
    (0..bytes / 8)
        .flat_map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        })
        .collect()
}

/// One run with `--json`.
fn document(tool: &Path, store: &Path, args: &[&dyn std::fmt::Display]) -> Result<(Document, Duration)> {
    let begun = Instant::now();
    let output = Command::new(tool)
        .args(args.iter().map(|it| it.to_string()))
        .args(["--json", "--quiet"])
        .env("FAULTLINE_DATA_DIR", store.join("runs"))
        .stderr(Stdio::inherit())
        .output()?;
    let document = serde_json::from_slice(&output.stdout).context("no document")?;
    Ok((document, begun.elapsed()))
}

/// (b) Arms compared with themselves.
fn controls(tool: &Path, store: &Path, file: &Path) -> Result<String> {
    let experiment = root().join("crates/faultline/benches/itself/controls.toml");
    let (mut pairs, mut rejected, mut widths) = (0, 0, Vec::new());
    for seed in 1..=CONTROL_RUNS {
        let (run, _) =
            document(tool, store, &[&"run", &file.display(), &"-e", &experiment.display(), &"--seed", &seed])?;
        let floor = run.findings.noise_floor;
        pairs += floor.pairs;
        rejected += floor.rejected;
        widths.extend(floor.half_width);
    }
    Ok(format!(
        "## Arms against themselves (A/A)\n\n\
         {pairs} controls over {CONTROL_RUNS} runs of `crates/faultline/benches/itself/controls.toml`, each with its own seed: in {rejected} of them ({:.1} %; target at most 5 %) the interval did not contain 1.\n\
         Noise floor of the runs: ±{:.1} % (median of the runs).\n\n",
        100.0 * f64::from(rejected) / f64::from(pairs.max(1)),
        100.0 * median(&mut widths),
    ))
}

/// (c) Whether a second run with another seed says the same.
fn agreement(first: &Findings, second: &Findings) -> Result<String> {
    let verdicts = |findings: &Findings| -> BTreeMap<String, Verdict> {
        let key = |it: &schema::findings::Comparison| format!("{} {}", it.condition.label(), it.arm);
        findings.comparisons.iter().map(|it| (key(it), it.verdict)).collect()
    };
    let winners = |findings: &Findings| -> BTreeMap<String, (Option<String>, Vec<String>)> {
        findings
            .map
            .iter()
            .map(|it| (it.condition.label(), (it.winner.clone(), [&it.ties[..], &it.not_told_apart].concat())))
            .collect()
    };
    let (a, b) = (verdicts(first), verdicts(second));
    let both: Vec<(&String, Verdict, Verdict)> = a
        .iter()
        .filter_map(|(key, one)| Some((key, *one, *b.get(key)?)))
        .filter(|(_, one, other)| one.is_decided() && other.is_decided())
        .collect();
    let same = both.iter().filter(|(_, one, other)| one == other).count();
    let (a, b) = (winners(first), winners(second));
    let agree = a
        .iter()
        .filter(|(label, (winner, ties))| {
            let Some((other, other_ties)) = b.get(*label) else { return false };
            winner == other
                || other.as_ref().is_some_and(|it| ties.contains(it))
                || winner.as_ref().is_some_and(|it| other_ties.contains(it))
        })
        .count();
    let mut text = format!(
        "## A second run\n\nThe survey twice, seeds 1 and 2. Comparisons decided in both runs: {}, of which {same} have the same verdict ({:.1} %; target at least 95 %).\n\
         Conditions whose winner is the same, or tied with the other run's, or not told apart from it: {agree} of {}.\n\n",
        both.len(),
        100.0 * same as f64 / both.len().max(1) as f64,
        a.len(),
    );
    for (key, one, other) in both.iter().filter(|(_, one, other)| one != other) {
        writeln!(text, "* {key}: {}, then {}", one.words(), other.words())?;
    }
    text.push('\n');
    Ok(text)
}

type Run = Result<(Document, Duration)>;

/// (d) Time to answer and the controller's memory.
fn costs(tool: &Path, file: &Path, survey: impl Fn(u64) -> Run) -> Result<(Document, String)> {
    let watch = std::thread::spawn({
        let tool: PathBuf = tool.to_path_buf();
        move || peak_of_controller(&tool)
    });
    let (document, elapsed) = survey(1)?;
    let peak = watch.join().expect("the watcher does not panic");
    let mut widths: Vec<f64> = (document.findings.comparisons.iter())
        .filter_map(|it| it.speedup)
        .map(|it| (it.ci_high / it.ci_low).sqrt() - 1.0)
        .collect();
    let rows = format!(
        "| survey of a {} file, wall time | {:.1} s | 60 s |\n\
         | half-width of its comparisons' intervals, median | ±{:.1} % | ±5 % |\n\
         | controller's peak memory during it | {} | below 64 MiB |\n",
        Bytes(std::fs::metadata(file)?.len()),
        elapsed.as_secs_f64(),
        100.0 * median(&mut widths),
        Bytes(peak >> 10 << 10),
    );
    Ok((document, rows))
}

/// Watches the controller (not its workers) until it is gone.
fn peak_of_controller(tool: &Path) -> u64 {
    let is_controller = |pid: u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with(tool.as_os_str().as_encoded_bytes()) && line.split(|&it| it == 0).nth(1) == Some(b"run")
    };
    let find = || {
        let pids = std::fs::read_dir("/proc").ok()?.filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok());
        pids.into_iter().find(|&pid| is_controller(pid))
    };
    let begun = Instant::now();
    let mut peak = 0;
    let mut pid = None;
    loop {
        std::thread::sleep(Duration::from_millis(500));
        pid = pid.or_else(find);
        match pid.map(sys::process::peak_memory_bytes) {
            Some(Ok(bytes)) => peak = peak.max(bytes),
            Some(Err(_)) => return peak,
            None if begun.elapsed() > Duration::from_secs(20) => return peak,
            None => {}
        }
    }
}

fn startup(tool: &Path) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..51 {
        let begun = Instant::now();
        Command::new(tool).arg("--help").stdout(Stdio::null()).status()?;
        times.push(begun.elapsed().as_secs_f64());
    }
    Ok(Duration::from_secs_f64(median(&mut times)))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
