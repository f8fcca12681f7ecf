//! What the user may type. Values are checked here; nothing is done.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use schema::{Arm, Bytes, Consume, State, Workload};

/// mmap or read? Measured on your machine, explained by its mechanism, checked against what people have published.
#[derive(Parser)]
#[command(version, propagate_version = true, max_term_width = 100, after_help = AFTER)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const AFTER: &str = "\
Exit codes: 0 answered, 1 failed, 2 usage, 3 nothing decided, 4 an arm that was asked for is unavailable,
5 a threshold was breached, 130 interrupted (what was measured is kept).";

#[derive(Subcommand)]
pub enum Command {
    /// Which way to reach a file is fastest, from which start, by how much, and why
    Run(Box<RunArgs>),
    /// Published measurements of mmap against read, run here as published and corrected, each claim with its verdict
    Reproduce(Box<ReproduceArgs>),
    /// Commands of your own, interleaved, each from a verified state of the file they read
    Ab(Box<AbArgs>),
    /// Every claim with its verdict on this machine, from all saved runs
    Claims(ClaimsArgs),
    /// Saved runs side by side: another machine, kernel, file system or version
    Compare(CompareArgs),
    /// All saved runs, and one of their cells over time
    History(HistoryArgs),
    /// A saved run once more: the same experiment with the same seed, here, and both beside each other
    Rerun(Box<RerunArgs>),
    /// What something would take that was not measured, at the unit costs of this machine
    Predict(PredictArgs),
    /// Show a saved run again
    Report(ReportArgs),
    /// Where the pages of a file are, or what a process has mapped
    Inspect(InspectArgs),
    /// What there is to choose from
    List(ListArgs),
    /// What this machine can and cannot measure, and what would change that
    Doctor(DoctorArgs),
    /// Remove what a killed run left behind
    Clean(CleanArgs),
    /// Measure on behalf of a controller (speaks the worker protocol on stdin and stdout)
    #[command(hide = true)]
    Worker,
}

impl Command {
    /// The JDK that was asked for, of commands that look for one.
    pub fn java(&self) -> Option<&PathBuf> {
        let args = match self {
            Command::Run(args) => &args.jdk,
            Command::Reproduce(args) => &args.jdk,
            Command::Rerun(args) => &args.jdk,
            Command::List(args) => &args.jdk,
            Command::Doctor(args) => &args.jdk,
            _ => return None,
        };
        args.java.as_ref()
    }
}

#[derive(Args)]
pub struct JdkArgs {
    /// The JDK for arms of runtime jvm: its folder or its bin/java [default: the newest that fits]
    #[arg(long, value_name = "PATH")]
    pub java: Option<PathBuf>,
}

#[derive(Args)]
pub struct RunArgs {
    /// A file (opened for reading only) or a directory, which gets a test file that is removed again
    #[arg(default_value = ".")]
    pub target: PathBuf,
    /// A built-in experiment (see `faultline list experiments`) or a TOML file
    #[arg(short, long, default_value = "survey", value_name = "NAME|FILE")]
    pub experiment: String,
    #[arg(long, value_delimiter = ',', value_name = "STATE,…", help = one_of("Only these states", State::ALL))]
    pub state: Vec<State>,
    /// Only these arms, the first of them the baseline: read, mmap+sequential, uring+queue_depth=64 …
    #[arg(long, value_delimiter = ',', value_name = "ARM,…")]
    pub method: Vec<Arm>,
    /// Only these runtimes
    #[arg(long, value_delimiter = ',', value_name = "RUNTIME,…", value_parser = schema::runtime::names())]
    pub runtime: Vec<String>,
    #[arg(long, value_delimiter = ',', value_name = "WORKLOAD,…", help = one_of("Only these workloads", Workload::of_experiments()))]
    pub workload: Vec<Workload>,
    #[arg(long, value_delimiter = ',', value_name = "CONSUME,…", help = one_of("What happens to each byte", Consume::ALL))]
    pub consume: Vec<Consume>,
    /// Block sizes, such as 64B,4KiB,1MiB
    #[arg(long, value_delimiter = ',', value_name = "SIZE,…")]
    pub block: Vec<Bytes>,
    /// Threads that share the work
    #[arg(long, value_delimiter = ',', value_name = "N,…", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Vec<u32>,
    /// Size of the test file, when TARGET is a directory [default: 1 GiB or a tenth of the free space]
    #[arg(long, value_parser = size)]
    pub size: Option<Bytes>,
    /// So many rounds, instead of as many as precision wants; all of them, unless --budget ends them
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// After the timed passes, one more of every arm in which its system calls, faults and requests are counted
    #[arg(long)]
    pub counted: bool,
    /// As root: tracepoints for --counted and a disk in memory for scenarios; nobody else sees them, they end with the run
    #[arg(long)]
    pub allow_setup: bool,
    /// About how long the run may take [default: 60s, or as long as --rounds takes]
    #[arg(long, value_parser = budget)]
    pub budget: Option<Duration>,
    /// Of the order of passes, the random offsets and the test file
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// What the whole machine does meanwhile, so many times a second: bytes of the disk, shares of CPU time, dirty pages
    #[arg(long, value_name = "PER_SECOND", num_args = 0..=1, require_equals = true, default_missing_value = "10", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub timeline: Option<u32>,
    /// Show the plan: cells, bytes to be written, expected time; measure nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub jdk: JdkArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args)]
pub struct ReproduceArgs {
    /// Studies by name, or `all`; without any, they are listed
    #[arg(value_name = "STUDY")]
    pub studies: Vec<String>,
    /// Where each study makes its test file, which is removed again
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    pub dir: PathBuf,
    /// At the published sizes, which take longer and more space
    #[arg(long)]
    pub full: bool,
    #[arg(long, value_delimiter = ',', value_name = "STATE,…", help = one_of("Only these states", State::ALL))]
    pub state: Vec<State>,
    /// So many rounds, instead of as many as precision wants; all of them, unless --budget ends them
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// About how long each study may take [default: 110s, or 15m with --full, or as long as --rounds takes]
    #[arg(long, value_parser = budget)]
    pub budget: Option<Duration>,
    /// Of the order of passes, the random offsets and the test file
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// As root: a disk in memory for scenarios that need one; nobody else sees it, it ends with the run
    #[arg(long)]
    pub allow_setup: bool,
    /// What the whole machine does meanwhile, so many times a second: bytes of the disk, shares of CPU time, dirty pages
    #[arg(long, value_name = "PER_SECOND", num_args = 0..=1, require_equals = true, default_missing_value = "10", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub timeline: Option<u32>,
    /// Show the plan: cells, bytes to be written, expected time; measure nothing
    #[arg(long)]
    pub dry_run: bool,
    /// The table of every condition and the environment too
    #[arg(long, conflicts_with = "quiet")]
    pub details: bool,
    #[command(flatten)]
    pub jdk: JdkArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args)]
pub struct AbArgs {
    /// Command lines; the first is the baseline, and is entered twice as the A/A control
    #[arg(required = true, num_args = 2.., value_name = "COMMAND", value_parser = not_blank)]
    pub commands: Vec<String>,
    /// A file they read (may be said again): only ever opened for reading, and evicted from the cache for state cold
    #[arg(long, value_name = "PATH", required_unless_present = "dir")]
    pub file: Vec<PathBuf>,
    /// A folder whose files they read, with everything below it (may be said again); what links lead to is not followed
    #[arg(long, value_name = "PATH")]
    pub dir: Vec<PathBuf>,
    /// Where the pages of all these files are when a command starts: cold, cached, limited, as-is
    #[arg(long, value_delimiter = ',', value_name = "STATE,…", default_value = "cold,cached", value_parser = state_of_a_file)]
    pub state: Vec<State>,
    /// What reports call the commands, in their order
    #[arg(long, value_name = "NAME", value_parser = not_blank)]
    pub name: Vec<String>,
    /// Run before every execution, outside the timing and before the state is reached; where it fails or hangs, the
    /// commands are unavailable (exit code 4)
    #[arg(long, value_name = "COMMAND", value_parser = not_blank)]
    pub prepare: Option<String>,
    /// Run after every execution, outside the timing; for up to 10s also after a failure, and when the run is stopped
    #[arg(long, value_name = "COMMAND", value_parser = not_blank)]
    pub cleanup: Option<String>,
    /// What the command lines are given to, or `none`
    #[arg(long, value_name = "PATH", default_value = "/bin/sh", value_parser = not_blank)]
    pub shell: String,
    /// How long one execution may take, up to 50s
    #[arg(long, default_value = "50s", value_parser = timeout)]
    pub timeout: u32,
    /// Compare also when exit codes or standard output differ
    #[arg(long)]
    pub anyway: bool,
    /// How one execution of each command is watched before the rounds: auto, tracepoints, ptrace, none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub observe: Observe,
    /// So many rounds, instead of as many as precision wants; all of them, unless --budget ends them
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// About how long the run may take [default: 60s, or as long as --rounds takes]
    #[arg(long, value_parser = budget)]
    pub budget: Option<Duration>,
    /// Of the order of executions
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// How a command is watched.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Observe {
    Auto,
    Tracepoints,
    Ptrace,
    None,
}

#[derive(Args)]
pub struct ClaimsArgs {
    /// Only the claims of this study, or of an experiment of your own
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
    /// A JSON array of the claims, instead of the table
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct OutputArgs {
    /// One JSON document (record and findings) on stdout and nothing else there, or into FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub json: Option<Option<PathBuf>>,
    /// A summary for a pull request
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// One row per sample
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// A page with charts that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long)]
    pub force: bool,
    /// The answer only: no progress, no tables of details
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Args)]
pub struct PredictArgs {
    /// In what order blocks are read
    #[arg(long, default_value = "random")]
    pub workload: Workload,
    /// Bytes of a block
    #[arg(long, default_value = "4KiB", value_name = "SIZE")]
    pub block: Bytes,
    /// How many blocks are read [default: as many as the file has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000_000))]
    pub ops: Option<u64>,
    /// Bytes of the file
    #[arg(long, value_name = "SIZE")]
    pub file_size: Bytes,
    /// What there is for the page cache [default: this machine's memory]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,
    /// Where pages are that memory holds: cached, mapped; or cold, with nothing in memory
    #[arg(long, default_value = "cached")]
    pub state: State,
    /// What happens to each byte: sum or touch
    #[arg(long, default_value = "sum")]
    pub consume: Consume,
    /// How many threads share the blocks
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: u32,
    /// For these arms
    #[arg(long, value_delimiter = ',', value_name = "ARM,…", default_value = "pread,mmap,mmap+random")]
    pub method: Vec<Arm>,
    /// A saved run whose unit costs are taken [default: the newest of this machine that has some]
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Where a test file is made, and removed again, if there is no such run yet
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    pub dir: PathBuf,
    /// One JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ReportArgs {
    /// A run's id, the beginning of one, `last`, or a record's file
    #[arg(default_value = "last")]
    pub run: String,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args)]
pub struct InspectArgs {
    /// A file, or the number of a process
    #[arg(value_name = "PATH|PID")]
    pub what: PathBuf,
    /// One JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct CompareArgs {
    /// Runs by id, the beginning of one, `last`, or a record's file; the first is what the others are held against
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub runs: Vec<String>,
    /// Compare runs whose conditions differ all the same
    #[arg(long)]
    pub anyway: bool,
    /// Exit with 5 when a later run is surely slower (or faster) than that, or one of these cells cannot be compared:
    /// 'native/mmap scan cached slower 10%'
    #[arg(long, value_name = "CELLS slower N%")]
    pub fail_if: Vec<schema::gate::Threshold>,
    /// One JSON document on stdout instead of the tables
    #[arg(long)]
    pub json: bool,
    /// A summary for a pull request
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// A page with charts that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long)]
    pub force: bool,
}

#[derive(Args)]
pub struct HistoryArgs {
    /// Only runs of this host
    #[arg(long, value_name = "HOST")]
    pub machine: Option<String>,
    /// Only runs whose target's path has this in it
    #[arg(long, value_name = "TEXT")]
    pub target: Option<String>,
    /// Only runs of this experiment or study
    #[arg(long, value_name = "NAME")]
    pub experiment: Option<String>,
    /// Only runs from this day (or month, or second) on: 2026-11-20
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub since: Option<String>,
    /// Only runs up to this day (or month, or second), which is included
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub until: Option<String>,
    /// The time of these cells over all runs, instead of the list: 'native/mmap scan cached 64KiB'
    #[arg(long, value_name = "CELLS")]
    pub cell: Vec<schema::saved::CellPattern>,
    /// One JSON document instead of the tables
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct RerunArgs {
    /// A run's id, the beginning of one, `last`, or a record's file
    pub run: String,
    /// Another file to measure, or a folder for a test file [default: the run's own]
    #[arg(long)]
    pub target: Option<PathBuf>,
    /// So many rounds, instead of as many as precision and the run's budget want
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// Execute the commands that the record names; read them first, if it is not yours
    #[arg(long)]
    pub run_commands: bool,
    #[command(flatten)]
    pub jdk: JdkArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args)]
pub struct ListArgs {
    #[arg(value_enum)]
    pub what: Listed,
    #[command(flatten)]
    pub jdk: JdkArgs,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Listed {
    Methods,
    Workloads,
    Consumes,
    States,
    Probes,
    Scenarios,
    Experiments,
    Studies,
    Runs,
}

#[derive(Args)]
pub struct DoctorArgs {
    /// Where to look: a directory, or a file whose file system and permissions matter
    #[arg(default_value = ".")]
    pub target: PathBuf,
    #[command(flatten)]
    pub jdk: JdkArgs,
}

#[derive(Args)]
pub struct CleanArgs {
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
}

/// A text for the help that lists all there is.
fn one_of<T: ToString>(what: &str, all: impl IntoIterator<Item = T>) -> String {
    format!("{what}: {}", all.into_iter().map(|it| it.to_string()).collect::<Vec<_>>().join(", "))
}

/// The beginning of a time as records have it: compared with theirs as text.
fn date(text: &str) -> Result<String, String> {
    const FORM: &str = "0000-00-00T00:00:00Z";
    let fits = |(typed, form): (char, char)| if form == '0' { typed.is_ascii_digit() } else { typed == form };
    let whole = [4, 7, 10, 13, 16, 19, 20].contains(&text.len()) && text.chars().zip(FORM.chars()).all(fits);
    let number = |range: std::ops::Range<usize>| text.get(range).and_then(|it| it.parse::<u32>().ok());
    let within =
        |range: std::ops::Range<usize>, least, most| number(range).is_none_or(|it| (least..=most).contains(&it));
    let possible = within(5..7, 1, 12) && within(8..10, 1, 31) && within(11..13, 0, 23) && within(14..16, 0, 59);
    match whole && possible {
        true => Ok(text.to_string()),
        false => Err("write it as 2026-11-20, 2026-11 or 2026-11-20T14:30:00Z".into()),
    }
}

fn size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse()?;
    if size.0 == 0 { Err("a test file of 0 bytes has nothing in it to read".into()) } else { Ok(size) }
}

fn not_blank(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("there is nothing in it".into()) } else { Ok(text.into()) }
}

fn budget(text: &str) -> Result<Duration, String> {
    let budget = humantime::parse_duration(text).map_err(|error| format!("{error}; write it as 60s, 5m or 1h"))?;
    match budget {
        _ if budget < Duration::from_secs(1) => Err("a run needs at least one second".into()),
        // Times are computed with; this leaves room for every factor.
        _ if budget > Duration::from_secs(365 * 86_400) => Err("a run takes at most a year".into()),
        _ => Ok(budget),
    }
}

fn state_of_a_file(text: &str) -> Result<State, String> {
    let state: State = text.parse()?;
    match state {
        State::Mapped | State::Locked => Err(format!(
            "state {state} is one of a mapping, and a command makes its own; expected cold, cached, limited or as-is"
        )),
        _ => Ok(state),
    }
}

/// Whole seconds, below what a pass may take at all (`lab::execute`).
fn timeout(text: &str) -> Result<u32, String> {
    let limit = humantime::parse_duration(text).map_err(|error| format!("{error}; write it as 30s"))?;
    match limit.as_secs() {
        seconds @ 1..=50 => Ok(seconds as u32),
        _ => Err("an execution may take from 1s to 50s".into()),
    }
}
