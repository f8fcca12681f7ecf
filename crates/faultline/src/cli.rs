//! The command line. Values are checked here; nothing is executed.

use std::{error::Error, ffi::OsStr, marker::PhantomData, path::PathBuf, str::FromStr, time::Duration};

use clap::{
    Arg, ArgMatches, Args, FromArgMatches, Parser, Subcommand, ValueEnum,
    builder::{PossibleValue, TypedValueParser},
};
use clap_complete::Shell;
use report::{EXPORTS, Export};
use schema::{
    Arm, Beside, Bytes, Consume, Descriptor, Fill, State, Workload, builtin,
    experiment::{BUDGET_MAX_S, ROUNDS_ASKED_MAX},
    runtime,
};

use crate::runtime::RuntimeArgs;

/// mmap or read? Measures both on your machine, explains the difference by what was counted, checks published claims.
#[derive(Parser)]
#[command(version, propagate_version = true, max_term_width = 100, after_help = format!("Exit codes: {EXIT_CODES}"))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

pub const EXIT_CODES: &str = "\
0 answered, 1 failed, 2 usage, 3 nothing decided, 4 a requested arm is unavailable,
5 a threshold was breached, 130 interrupted (what was measured is kept).";

#[derive(Subcommand)]
pub enum Command {
    /// Measure which way of reading a file is fastest, from which cache state, by how much, and why
    Run(Box<RunArgs>),
    /// Run published comparisons of mmap and read here, as published and corrected, with a verdict for each claim
    Reproduce(Box<ReproduceArgs>),
    /// Compare your own commands, interleaved, each from a verified cache state of the files they read
    Ab(Box<AbArgs>),
    /// Record a command, replay what it reads by other methods, and say what to change and what it gains
    Advise(Box<AdviseArgs>),
    /// Show every claim with its verdict on this machine, from its saved runs
    Claims(ClaimsArgs),
    /// Compare saved runs side by side, for example from two machines, kernels, file systems or versions
    Compare(CompareArgs),
    /// List the saved runs of this machine, or show one cell of them over time
    History(HistoryArgs),
    /// Add records of other machines to the data folder; they are never used as measurements of this machine
    Import(ImportArgs),
    /// Repeat a saved run here with the same seed, and show both side by side; --rounds, --allow-setup, --counted and
    /// --timeline of that run are not repeated
    Rerun(Box<RerunArgs>),
    /// Predict the time of reads that were not measured, from the unit costs of this machine
    Predict(PredictArgs),
    /// Record which bytes of which files a program reads, or take that from what other programs recorded, and show it
    #[command(disable_help_subcommand = true)]
    Trace(TraceArgs),
    /// Show a saved run again
    Report(ReportArgs),
    /// Show which pages of a file are in memory, or what a process has mapped
    Inspect(InspectArgs),
    /// List methods, workloads, states, consumes, probes, scenarios, experiments, studies or runs
    List(ListArgs),
    /// Show what this machine can and cannot measure, and what would change that
    Doctor(DoctorArgs),
    /// Remove what a killed run left behind, and compiled workers of other versions
    Clean(CleanArgs),
    /// Print what a shell needs to complete command lines: source <(faultline completions bash)
    Completions(CompletionsArgs),
    /// Print a manual page, or write all of them to a folder: faultline man run | man -l -
    Man(ManArgs),
}

impl Command {
    /// What runtimes are started with, for commands that use some.
    pub fn runtimes(&self) -> Option<&RuntimeArgs> {
        match self {
            Command::Run(args) => Some(&args.runtimes),
            Command::Reproduce(args) => Some(&args.runtimes),
            Command::Rerun(args) => Some(&args.runtimes),
            Command::List(args) => Some(&args.runtimes),
            Command::Doctor(args) => Some(&args.runtimes),
            _ => None,
        }
    }
}

#[derive(Args)]
pub struct RunArgs {
    /// A file (opened for reading only), or a directory: a test file is created there and removed afterwards. Without it
    /// nothing is measured, and what could be measured here is shown
    pub target: Option<PathBuf>,
    /// A built-in experiment (see `faultline list experiments`) or a TOML file
    #[arg(short, long, default_value = "survey", value_name = "NAME|FILE")]
    pub experiment: String,
    #[arg(long, value_delimiter = ',', value_name = "STATE,…", help = one_of("Measure only these states (as-found: with --trace and a folder), with the usual fill or with those of --fill", State::ALL), value_parser = states(), hide_possible_values = true)]
    pub state: Vec<State>,
    #[arg(long, value_delimiter = ',', value_name = "FILL,…", help = fills(), value_parser = filled(), hide_possible_values = true)]
    pub fill: Vec<Fill>,
    /// Measure only these arms; the first is the baseline: read, mmap+sequential, uring+queue_depth=64 …
    #[arg(long, value_delimiter = ',', value_name = "ARM,…", value_parser = arms(), hide_possible_values = true)]
    pub method: Vec<Arm>,
    /// Only these runtimes
    #[arg(long, value_delimiter = ',', value_name = "RUNTIME,…", value_parser = schema::runtime::names())]
    pub runtime: Vec<String>,
    #[arg(long, value_delimiter = ',', value_name = "WORKLOAD,…", help = one_of("Only these workloads", Workload::of_experiments()), value_parser = workloads(), hide_possible_values = true)]
    pub workload: Vec<Workload>,
    #[arg(long, value_delimiter = ',', value_name = "CONSUME,…", help = one_of("What happens to each byte", Consume::ALL), value_parser = consumes(), hide_possible_values = true)]
    pub consume: Vec<Consume>,
    /// Make the accesses of this trace (`faultline trace`) instead of the workloads and blocks of the experiment; where TARGET is
    /// a folder with files of it, those are measured
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workload", "block", "ops", "threads"])]
    pub trace: Option<PathBuf>,
    /// Block sizes, such as 64B,4KiB,1MiB
    #[arg(long, value_delimiter = ',', value_name = "SIZE,…")]
    pub block: Vec<Bytes>,
    /// Blocks per pass: the size of the job, such as 100,10000,1000000 [default: what the budget allows]
    #[arg(long, value_delimiter = ',', value_name = "N,…", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000_000))]
    pub ops: Vec<u64>,
    /// Threads that share the work
    #[arg(long, value_delimiter = ',', value_name = "N,…", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Vec<u32>,
    #[arg(long, value_delimiter = ',', value_name = "DESCRIPTOR,…", help = one_of("How several threads share the file", Descriptor::ALL), value_parser = descriptors(), hide_possible_values = true)]
    pub descriptor: Vec<Descriptor>,
    #[arg(long, value_delimiter = ',', value_name = "BESIDE,…", help = one_of("What a second thread does during each pass", Beside::ALL), value_parser = beside(), hide_possible_values = true)]
    pub beside: Vec<Beside>,
    /// Size of the test file, when TARGET is a directory [default: 1 GiB or a tenth of the free space]
    #[arg(long, value_parser = size)]
    pub size: Option<Bytes>,
    /// Make exactly this many rounds instead of stopping on precision, and measure no answer again at the size of the job;
    /// --budget still ends the run
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_ASKED_MAX)))]
    pub rounds: Option<u32>,
    /// After the timed passes, as long as the budget lasts, one untimed pass of every arm but those of Go counts faults and, where
    /// tracepoints can be read, system calls and block requests
    #[arg(long)]
    pub counted: bool,
    /// As root: mount tracefs for --counted where it is not mounted, and use an in-memory disk for scenarios; both are private to
    /// the run and end with it
    #[arg(long)]
    pub allow_setup: bool,
    /// About how long the run may take [default: what the experiment says, mostly 60s; or as long as --rounds takes]
    #[arg(long, value_parser = budget)]
    pub budget: Option<Duration>,
    /// Seed for the order of passes, the random offsets and the contents of the test file
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Record machine-wide disk bytes, CPU shares and dirty pages, this many times a second
    #[arg(long, value_name = "PER_SECOND", num_args = 0..=1, require_equals = true, default_missing_value = "10", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub timeline: Option<u32>,
    /// Show the plan (cells, bytes to be written, expected time) without measuring
    #[arg(long)]
    pub dry_run: bool,
    /// Also show every answer with its interval and its reason, the table of every condition and the environment
    #[arg(long, conflicts_with = "quiet")]
    pub details: bool,
    #[command(flatten)]
    pub runtimes: RuntimeArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args)]
pub struct ReproduceArgs {
    /// Studies by name, or `all`; without any, they are listed
    #[arg(value_name = "STUDY", value_parser = studies(), hide_possible_values = true)]
    pub studies: Vec<String>,
    /// Folder in which each study creates its test file, removed afterwards
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    pub dir: PathBuf,
    /// Use the published sizes, which take more time and space
    #[arg(long)]
    pub full: bool,
    #[arg(long, value_delimiter = ',', value_name = "STATE,…", help = one_of("Only these states", State::ALL), value_parser = states(), hide_possible_values = true)]
    pub state: Vec<State>,
    #[arg(long, value_delimiter = ',', value_name = "FILL,…", help = fills(), value_parser = filled(), hide_possible_values = true)]
    pub fill: Vec<Fill>,
    /// Make exactly this many rounds instead of stopping on precision, and measure no answer again at the size of the job;
    /// --budget still ends the run
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_ASKED_MAX)))]
    pub rounds: Option<u32>,
    /// About how long each study may take [default: what its claims need, at most 4m; 1m with --quick, 15m with --full, or as long as --rounds takes]
    #[arg(long, value_parser = budget)]
    pub budget: Option<Duration>,
    /// A minute for each study, in which fewer claims are decided
    #[arg(long, conflicts_with_all = ["full", "budget", "rounds"])]
    pub quick: bool,
    /// Seed for the order of passes, the random offsets and the contents of the test file
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// As root: use an in-memory disk for scenarios that need one; it is private to the run and ends with it
    #[arg(long)]
    pub allow_setup: bool,
    /// Record machine-wide disk bytes, CPU shares and dirty pages, this many times a second
    #[arg(long, value_name = "PER_SECOND", num_args = 0..=1, require_equals = true, default_missing_value = "10", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub timeline: Option<u32>,
    /// Show the plan (cells, bytes to be written, expected time) without measuring
    #[arg(long)]
    pub dry_run: bool,
    /// Also show the table of every condition and the environment
    #[arg(long, conflicts_with = "quiet")]
    pub details: bool,
    #[command(flatten)]
    pub runtimes: RuntimeArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args)]
pub struct AbArgs {
    /// Command lines; the first is the baseline and also runs as the A/A control
    #[arg(required = true, num_args = 2.., value_name = "COMMAND", value_parser = not_blank)]
    pub commands: Vec<String>,
    /// A file that the commands read (repeatable); it is only opened for reading, and evicted for state cold
    #[arg(long, value_name = "PATH", required_unless_present = "dir")]
    pub file: Vec<PathBuf>,
    /// A folder whose files the commands read, with all subfolders (repeatable); links are not followed
    #[arg(long, value_name = "PATH")]
    pub dir: Vec<PathBuf>,
    /// Cache state of these files when a command starts: cold, cached, as-found, limited, as-is
    #[arg(long, value_delimiter = ',', value_name = "STATE,…", default_value = "cold,cached", value_parser = state_of_a_file)]
    pub state: Vec<State>,
    #[arg(long, value_delimiter = ',', value_name = "FILL,…", default_value = "sequential", help = fills_of_commands(), value_parser = filled().try_map(of_commands), hide_possible_values = true)]
    pub fill: Vec<Fill>,
    /// Name of a command in reports; given once for each command, in order (--name grep --name cat)
    #[arg(long, value_name = "NAME", value_parser = not_blank)]
    pub name: Vec<String>,
    /// Run this before every execution, untimed, before the state is set (limited: after the eviction, within the
    /// limit); if it fails or hangs, the commands are unavailable (exit code 4)
    #[arg(long, value_name = "COMMAND", value_parser = not_blank)]
    pub prepare: Option<String>,
    /// Run this after every execution, neither timed nor counted; also after a failure or an interrupt, then for at most 10s
    #[arg(long, value_name = "COMMAND", value_parser = not_blank)]
    pub cleanup: Option<String>,
    /// Shell that executes the command lines; `none` splits them into words
    #[arg(long, value_name = "PATH", default_value = "/bin/sh", value_parser = not_blank)]
    pub shell: String,
    /// Time limit of one execution, at most 50s
    #[arg(long, default_value = "50s", value_parser = timeout)]
    pub timeout: u32,
    /// Compare even when exit codes are not 0 (126 and 127 of a shell stay failures: it could not start what it was given) or standard output differs
    #[arg(long)]
    pub anyway: bool,
    /// How to trace one execution of each command before the rounds: auto, tracepoints, ptrace, none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub observe: Observe,
    /// Make exactly this many rounds instead of stopping on precision; --budget still ends the run
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_ASKED_MAX)))]
    pub rounds: Option<u32>,
    /// About how long the run may take [default: 60s, or as long as --rounds takes]
    #[arg(long, value_parser = budget)]
    pub budget: Option<Duration>,
    /// Seed for the order of executions
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Also show every answer with its interval and its reason, the table of every condition and the environment
    #[arg(long, conflicts_with = "quiet")]
    pub details: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args)]
pub struct AdviseArgs {
    /// The file that --trace is of, or a folder with its files
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Cache state of the file when the command starts: cold, cached, as-found (as it was when the command was recorded); all are
    /// checked against cached, which is measured too
    #[arg(long, value_delimiter = ',', value_name = "STATE,…", default_value = "cold,cached", value_parser = state_of_advice)]
    pub state: Vec<State>,
    #[arg(long, value_delimiter = ',', value_name = "FILL,…", default_value = "sequential", help = fills_of_commands(), value_parser = filled().try_map(of_commands), hide_possible_values = true)]
    pub fill: Vec<Fill>,
    /// The command with a switch of its own set, measured beside what is predicted (repeatable); one line, without a shell
    #[arg(long, value_name = "COMMAND", value_parser = not_blank, conflicts_with = "once")]
    pub switch: Vec<String>,
    /// Accept an exit code other than 0, if every execution has the same, and a switch whose standard output differs
    #[arg(long, conflicts_with = "once")]
    pub anyway: bool,
    /// Run the command for the recording alone: what it does is only replayed, and every verdict is "don't know" (exit code 3)
    #[arg(long)]
    pub once: bool,
    /// Take the accesses of this trace instead of recording the command
    #[arg(long, value_name = "TRACE", conflicts_with = "save_trace")]
    pub trace: Option<PathBuf>,
    /// Keep the trace that is recorded
    #[arg(long, value_name = "TRACE")]
    pub save_trace: Option<PathBuf>,
    /// Leave out of the trace the command and the names of files, which are numbered then
    #[arg(long, requires = "save_trace")]
    pub redact: bool,
    /// How long the command may take while every page that it touches through a mapping is recorded
    #[arg(long, value_name = "TIME", conflicts_with = "trace", default_value = "30s", value_parser = budget)]
    pub exact_budget: Duration,
    /// Time limit of one execution, at most 50s; while pages are recorded, --exact-budget is added
    #[arg(long, default_value = "50s", value_parser = timeout)]
    pub timeout: u32,
    /// Make exactly this many rounds instead of stopping on precision; --budget still ends the run
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_ASKED_MAX)))]
    pub rounds: Option<u32>,
    /// About how long the measurement may take after the recording [default: 60s, or as long as --rounds takes]
    #[arg(long, value_parser = budget)]
    pub budget: Option<Duration>,
    /// Seed for the order of executions
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Also show every replay with its interval and its reason, the table of every condition and the environment
    #[arg(long, conflicts_with = "quiet")]
    pub details: bool,
    #[command(flatten)]
    pub output: OutputArgs,
    /// The program and its arguments, without a shell
    #[arg(required = true, last = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// How a command is traced.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Observe {
    Auto,
    Tracepoints,
    Ptrace,
    None,
}

#[derive(Args)]
pub struct ClaimsArgs {
    /// Only the claims of this study or experiment
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
    /// Runs of another machine: its host name, the beginning of its key, or `all` [default: this machine]
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    /// Print a JSON array of the claims instead of the table
    #[arg(long)]
    pub json: bool,
}

/// How stdout is written where a file may be named, as for other programs.
pub const STDOUT: &str = "-";

#[derive(Args)]
pub struct OutputArgs {
    #[command(flatten)]
    pub documents: Documents,
    /// Open the page of --html in a browser: that of $BROWSER, or what xdg-open takes
    #[arg(long, requires = "html")]
    pub open: bool,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
    /// Print the answer only: no progress, no detailed tables
    #[arg(short, long)]
    pub quiet: bool,
}

/// The documents of a run that were asked for, and where each is to go: every row of `report::EXPORTS` is an option.
pub struct Documents(pub Vec<(&'static Export, PathBuf)>);

impl Args for Documents {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(EXPORTS.iter().map(|export| {
            let option = Arg::new(export.name).long(export.name).help(export.about);
            let option = option.value_name("FILE").value_parser(clap::value_parser!(PathBuf));
            match export.file_is_optional {
                true => option.num_args(0..=1).require_equals(true).default_missing_value(STDOUT),
                false => option,
            }
        }))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Documents::augment_args(command)
    }
}

impl FromArgMatches for Documents {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Documents, clap::Error> {
        let given = |export: &'static Export| Some((export, matches.get_one::<PathBuf>(export.name)?.clone()));
        Ok(Documents(EXPORTS.iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Documents::from_arg_matches(matches)?;
        Ok(())
    }
}

#[derive(Args)]
pub struct PredictArgs {
    /// Order in which blocks are read: scan or random
    #[arg(long, default_value = "random")]
    pub workload: Workload,
    /// Block size
    #[arg(long, default_value = "4KiB", value_name = "SIZE")]
    pub block: Bytes,
    /// Number of blocks read [default: as many as the file has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000_000))]
    pub ops: Option<u64>,
    /// File size
    #[arg(long, value_name = "SIZE")]
    pub file_size: Bytes,
    /// Memory available to the page cache [default: what was available when the run began]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,
    /// State of the pages before the reads: cached, mapped or locked, as far as they fit into memory, or cold
    #[arg(long, default_value = "cached")]
    pub state: State,
    #[arg(long, value_name = "FILL", default_value = "sequential", help = fills(), value_parser = filled(), hide_possible_values = true)]
    pub fill: Fill,
    /// What happens to each byte: sum or touch
    #[arg(long, default_value = "sum")]
    pub consume: Consume,
    /// Number of threads that share the blocks
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: u32,
    /// Arms to predict
    #[arg(long, value_delimiter = ',', value_name = "ARM,…", default_value = "pread,mmap,mmap+random", value_parser = arms(), hide_possible_values = true)]
    pub method: Vec<Arm>,
    /// Saved run whose unit costs are used [default: of the machine's newest 50 runs, the one that fits the question
    /// best]
    #[arg(long, value_name = "RUN", conflicts_with = "machine")]
    pub run: Option<String>,
    /// Unit costs of another machine: its host name, the beginning of its key, or `all` [default: this machine]
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    /// Folder for the test file that is measured, and then removed, if no saved run has unit costs
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    pub dir: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ReportArgs {
    /// A run's id or its beginning, `last`, or the file of a record
    #[arg(default_value = "last")]
    pub run: String,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args)]
pub struct InspectArgs {
    /// A file, or a process id
    #[arg(value_name = "PATH|PID")]
    pub what: PathBuf,
    /// Watch a process for so long, such as 5s: its faults, its bytes from the device, and what came into the page cache
    #[arg(long = "for", value_name = "TIME", value_parser = watch)]
    pub watch: Option<Duration>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct CompareArgs {
    /// Run ids or their beginnings, `last`, or files of records; the first is the baseline. Several runs of one side are
    /// separated by commas
    #[arg(required = true, num_args = 2.., value_name = "RUN[,RUN…]")]
    pub runs: Vec<String>,
    /// Compare even when the runs' conditions differ
    #[arg(long)]
    pub anyway: bool,
    /// Exit with code 5 when one of these cells is slower (or faster) by more than this over its whole interval, and by
    /// more than the runs' noise, or when one of them cannot be compared: 'native/mmap scan cached slower 10%'. An arm is
    /// compared with the baseline of its own run. The baseline itself is judged only with three or more runs on each side.
    /// When one of the cells could not be judged, the exit code is 3
    #[arg(long, value_name = "CELLS slower N%")]
    pub fail_if: Vec<schema::gate::Threshold>,
    /// Print one JSON document instead of the tables
    #[arg(long)]
    pub json: bool,
    /// Write a summary for a pull request; - is stdout
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write a self-contained page with charts; - is stdout
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Open the page of --html in a browser: that of $BROWSER, or what xdg-open takes
    #[arg(long, requires = "html")]
    pub open: bool,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
}

#[derive(Args)]
pub struct HistoryArgs {
    /// Runs of another machine: its host name, the beginning of its key, or `all` [default: this machine]
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    /// Only runs whose target path contains this text
    #[arg(long, value_name = "TEXT")]
    pub target: Option<String>,
    /// Only runs of this experiment or study
    #[arg(long, value_name = "NAME")]
    pub experiment: Option<String>,
    /// Only runs since this year, month, day, hour, minute or second: 2026-11-20
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub since: Option<String>,
    /// Only runs up to and including this year, month, day, hour, minute or second
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub until: Option<String>,
    /// Show the times of these cells over all runs instead of the list: 'native/mmap scan cached 64KiB'
    #[arg(long, value_name = "CELLS")]
    pub cell: Vec<schema::saved::CellPattern>,
    /// One JSON document instead of the tables
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ImportArgs {
    /// Files with a record, or with the output of `--json`
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

#[derive(Args)]
pub struct TraceArgs {
    #[command(subcommand)]
    pub command: TraceCommand,
}

#[derive(Subcommand)]
pub enum TraceCommand {
    /// Run a program and write a trace of its accesses to files
    Record(TraceRecordArgs),
    /// Make a trace of the output of strace -f -y, or of an iolog of fio (versions 2 and 3)
    Import(TraceImportArgs),
    /// Show a trace: how many accesses, bytes and pages, how many in order, of which sizes, for each file
    Show(TraceShowArgs),
    /// Write a trace as an iolog of fio, version 3, whose accesses follow each other without waiting
    Export(TraceExportArgs),
}

#[derive(Args)]
pub struct TraceImportArgs {
    /// What strace wrote: strace -f -y -o LOG -e 'trace=%desc,%process,?unshare,?close_range,?io_setup,?io_submit' COMMAND; or what fio wrote with write_iolog
    pub log: PathBuf,
    /// Only the accesses of this file
    #[arg(long, value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// The trace
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Leave out of the trace the command and the names of files, which are numbered then
    #[arg(long)]
    pub redact: bool,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

#[derive(Args)]
pub struct TraceRecordArgs {
    /// The trace
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Leave out of the trace the command and the names of files, which are numbered then
    #[arg(long)]
    pub redact: bool,
    /// Only accesses of this file (repeatable) [default: of all files]
    #[arg(long, value_name = "PATH")]
    pub file: Vec<PathBuf>,
    /// End the program after this time and keep what it did until then [default: wait for its end]
    #[arg(long = "for", value_name = "TIME", value_parser = budget)]
    pub limit: Option<Duration>,
    /// Evict the files of --file and record every page that is touched through a mapping of them, for so long at most; each
    /// first touch of a page is slow then
    #[arg(long, value_name = "TIME", value_parser = budget, requires = "file")]
    pub exact_budget: Option<Duration>,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
    /// The program and its arguments, without a shell; its standard input is empty and its output is not shown
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Args)]
pub struct TraceShowArgs {
    pub trace: PathBuf,
}

#[derive(Args)]
pub struct TraceExportArgs {
    pub trace: PathBuf,
    /// The iolog; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = STDOUT)]
    pub output: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

#[derive(Args)]
pub struct RerunArgs {
    /// A run's id or its beginning, `last`, or the file of a record
    pub run: String,
    /// Another file, or a folder for a test file [default: the run's own target; required if the run was not made here]
    #[arg(long)]
    pub target: Option<PathBuf>,
    /// The trace that the run replayed (repeatable); its record has the digest alone
    #[arg(long, value_name = "FILE")]
    pub trace: Vec<PathBuf>,
    /// Size of the test file [default: the run's own, if that is at most half of the free space]
    #[arg(long, value_parser = size)]
    pub size: Option<Bytes>,
    /// Make exactly this many rounds instead of stopping on precision or the run's budget
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_ASKED_MAX)))]
    pub rounds: Option<u32>,
    /// Execute the commands that the record contains; read them first if the record is not yours
    #[arg(long)]
    pub run_commands: bool,
    #[command(flatten)]
    pub runtimes: RuntimeArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args)]
pub struct ListArgs {
    #[arg(value_enum)]
    pub what: Listed,
    #[command(flatten)]
    pub runtimes: RuntimeArgs,
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
    /// The directory or file whose file system and permissions are examined
    #[arg(default_value = ".")]
    pub target: PathBuf,
    /// Show instead which claims of these studies, or of all, can be decided in this directory, and what the others need
    #[arg(long = "for", value_delimiter = ',', value_name = "STUDY,…")]
    pub studies: Vec<String>,
    /// With --for: ask as `reproduce --allow-setup` does
    #[arg(long, requires = "studies")]
    pub allow_setup: bool,
    #[command(flatten)]
    pub runtimes: RuntimeArgs,
}

#[derive(Args)]
pub struct CleanArgs {
    /// Only list what would be removed
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args)]
pub struct CompletionsArgs {
    /// Whose completions: bash, elvish, fish, powershell, zsh
    #[arg(hide_possible_values = true)]
    pub shell: Shell,
}

#[derive(Args)]
pub struct ManArgs {
    /// A command, for its own page [default: the page of faultline]
    pub command: Option<String>,
    /// Write the pages of all commands to this folder instead
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    pub dir: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "dir")]
    pub force: bool,
}

/// A value that is parsed as everywhere else. Completions offer the words.
#[derive(Clone)]
struct Words<T> {
    words: Vec<PossibleValue>,
    parsed: PhantomData<fn() -> T>,
}

/// Each word with what it means.
fn words<T>(all: impl IntoIterator<Item = (impl ToString, &'static str)>) -> Words<T> {
    let word = |(word, about): (_, &'static str)| PossibleValue::new(ToString::to_string(&word)).help(about);
    Words { words: all.into_iter().map(word).collect(), parsed: PhantomData }
}

impl<T> TypedValueParser for Words<T>
where
    T: FromStr<Err: Into<Box<dyn Error + Send + Sync>>> + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(&self, command: &clap::Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        T::from_str.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.words.iter().cloned()))
    }
}

fn states() -> Words<State> {
    words(State::ALL.iter().map(|it| (it, it.about())))
}

fn workloads() -> Words<Workload> {
    words(Workload::of_experiments().map(|it| (it, it.about())))
}

fn consumes() -> Words<Consume> {
    words(Consume::ALL.iter().map(|it| (it, it.about())))
}

fn descriptors() -> Words<Descriptor> {
    words(Descriptor::ALL.iter().map(|it| (it, it.about())))
}

fn beside() -> Words<Beside> {
    words(Beside::ALL.iter().map(|it| (it, it.about())))
}

/// Those without a size: a completion cannot know which.
fn filled() -> Words<Fill> {
    words(Fill::all().filter(|(word, _)| word.parse::<Fill>().is_ok()))
}

fn arms() -> Words<Arm> {
    words(runtime::RUNTIMES.iter().flat_map(|it| it.methods.iter().map(|method| (it.short(method.name), method.about))))
}

fn studies() -> Words<String> {
    words(builtin::STUDIES.iter().map(|(name, _)| (*name, "a published comparison")).chain([("all", "every study")]))
}

/// Help text that lists all values.
fn one_of<T: ToString>(what: &str, all: impl IntoIterator<Item = T>) -> String {
    format!("{what}: {}", all.into_iter().map(|it| it.to_string()).collect::<Vec<_>>().join(", "))
}

/// A prefix of a timestamp as records have it; it is compared as text.
fn date(text: &str) -> Result<String, String> {
    const FORM: &str = "0000-00-00T00:00:00Z";
    let fits = |(typed, form): (char, char)| if form == '0' { typed.is_ascii_digit() } else { typed == form };
    let whole = [4, 7, 10, 13, 16, 19, 20].contains(&text.len()) && text.chars().zip(FORM.chars()).all(fits);
    if !whole {
        return Err("write it as 2026-11-20, 2026-11 or 2026-11-20T14:30:00Z".into());
    }
    // The first second of what was written must be one that there is.
    let second = format!("{text}{}", &"0000-01-01T00:00:00Z"[text.len()..]);
    match humantime::parse_rfc3339(&second) {
        Ok(_) => Ok(text.to_string()),
        Err(_) => Err("this day or time does not exist, or lies before 1970".into()),
    }
}

fn size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse()?;
    if size.0 == 0 { Err("a test file needs at least 1 byte".into()) } else { Ok(size) }
}

fn not_blank(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("it is empty".into()) } else { Ok(text.into()) }
}

fn budget(text: &str) -> Result<Duration, String> {
    let budget = humantime::parse_duration(text).map_err(|error| format!("{error}; write it as 60s, 5m or 1h"))?;
    match budget {
        _ if budget < Duration::from_secs(1) => Err("a run needs at least one second".into()),
        _ if budget > Duration::from_secs(BUDGET_MAX_S.into()) => Err("a run takes at most a year".into()),
        _ => Ok(budget),
    }
}

fn watch(text: &str) -> Result<Duration, String> {
    let wait = humantime::parse_duration(text).map_err(|error| format!("{error}; write it as 5s, 2m or 500ms"))?;
    match wait {
        _ if wait < Duration::from_millis(100) => Err("in less than 100ms next to nothing happens".into()),
        _ if wait > Duration::from_secs(86_400) => Err("a process is watched for a day at most".into()),
        _ => Ok(wait),
    }
}

fn fills() -> String {
    filled_by(Fill::all().map(|(word, _)| word))
}

fn fills_of_commands() -> String {
    filled_by(Fill::all().map(|(word, _)| word).filter(|it| it.parse().is_ok_and(|it| of_commands(it).is_ok())))
}

fn filled_by(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    format!("How the page cache is filled, for states that begin with the pages in it: {}", words.join(", "))
}

fn of_commands(fill: Fill) -> Result<Fill, String> {
    match fill.copied_by() {
        None => Ok(fill),
        Some(_) => Err(format!("fill {fill} needs a copy of the file, and a command reads the file itself")),
    }
}

fn state_of_a_file(text: &str) -> Result<State, String> {
    let state: State = text.parse()?;
    match state {
        State::Mapped | State::Locked => Err(format!(
            "state {state} needs a mapping that faultline holds, and a command makes its own; expected cold, cached, \
             as-found, limited or as-is"
        )),
        _ => Ok(state),
    }
}

fn state_of_advice(text: &str) -> Result<State, String> {
    match text.parse()? {
        state @ (State::Cold | State::Cached | State::AsFound) => Ok(state),
        state => Err(format!("state {state} is not advised about; expected cold, cached or as-found")),
    }
}

/// Whole seconds, below the time limit of a pass (`lab::execute`).
fn timeout(text: &str) -> Result<u32, String> {
    let limit = humantime::parse_duration(text).map_err(|error| format!("{error}; write it as 30s"))?;
    match (limit.as_secs(), limit.subsec_nanos()) {
        (seconds @ 1..=50, 0) => Ok(seconds as u32),
        _ => Err("an execution may take from 1s to 50s, in whole seconds".into()),
    }
}
