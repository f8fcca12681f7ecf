//! `faultline trace`: traces of programs and from what other programs recorded, shown, and as an iolog.

use std::{collections::BTreeSet, fs::File, io::BufReader, path::Path};

use anyhow::{Context, Result};
use lab::trace::{self, NotRecorded, Recording, TraceFile};
use schema::{observation::Means, trace::Header};

use crate::{
    cli::{TraceCommand, TraceExportArgs, TraceImportArgs, TraceRecordArgs},
    exit::{Exit, Stopped, UsageError},
    measure, output, replay,
};

pub fn run(command: &TraceCommand) -> Result<Exit> {
    match command {
        TraceCommand::Record(args) => record(args)?,
        TraceCommand::Import(args) => import(args)?,
        TraceCommand::Show(args) => show(&args.trace)?,
        TraceCommand::Export(args) => export(args)?,
    }
    Ok(Exit::Answered)
}

/// Whether a trace can be written where it is to go.
fn check(output: &Path, force: bool) -> Result<()> {
    if output::is_stdout(output) {
        return Err(UsageError("a trace is no text; name a file for it with -o".into()).into());
    }
    output::check(&[("output", Some(output))], force)
}

fn record(args: &TraceRecordArgs) -> Result<()> {
    check(&args.output, args.force)?;
    let interrupted = measure::interrupt_flag()?;
    let (command, files) = (&args.command, &args.file);
    // Before anything runs; and once more when it is known which files were read.
    output::spare_read(&args.output, files.iter().filter_map(|it| output::identity(it)))?;
    let (exact, limit) = (args.exact_budget, args.limit);
    let asked = Recording { command, files, exact, limit, whole: false, by: Means::ALL };
    let recorded = trace::record(&asked, &interrupted).map_err(|why| match why {
        NotRecorded::Interrupted => Stopped("interrupted; nothing is written").into(),
        why => anyhow::Error::from(why),
    })?;
    let (table, seen) = (&recorded.trace.header.files, &recorded.observation.files);
    let seen = seen.iter().filter_map(|it| output::identity(Path::new(&it.path)));
    output::spare_read(&args.output, table.iter().filter_map(|it| it.identity).chain(seen))?;
    let trace = if args.redact { recorded.trace.redacted()? } else { recorded.trace };
    output::write_bytes(&args.output, &trace.bytes()?, args.force)?;
    show_written(&args.output)
}

/// None of the files that a trace is of is overwritten by what is made of it.
fn spare_traced(output: &Path, header: &Header) -> Result<()> {
    let named = header.files.iter().filter_map(|it| output::identity(Path::new(&it.path)));
    // What was renamed since is the same file.
    output::spare_read(output, named.chain(header.files.iter().filter_map(|it| it.identity)))
}

fn import(args: &TraceImportArgs) -> Result<()> {
    check(&args.output, args.force)?;
    output::spare_read(&args.output, output::identity(&args.log).into_iter())?;
    let log = File::open(&args.log).with_context(|| format!("cannot open {}", args.log.display()))?;
    // As it was typed, and as strace shows it.
    let typed = args.file.iter().cloned();
    let whole = args.file.iter().filter_map(|it| std::fs::canonicalize(it).ok());
    let only: Vec<String> = typed.chain(whole).map(|it| it.to_string_lossy().into_owned()).collect();
    let mut imported = trace::import(BufReader::new(log), &only).with_context(|| args.log.display().to_string())?;
    spare_traced(&args.output, &imported.header)?;
    if args.redact {
        imported.header = imported.header.redacted();
    }
    output::write_bytes(&args.output, &imported.bytes()?, args.force)?;
    show_written(&args.output)
}

/// What was written; nothing where that went into a pipe.
fn show_written(path: &Path) -> Result<()> {
    if path.is_file() { show(path) } else { Ok(()) }
}

fn show(path: &Path) -> Result<()> {
    let trace = TraceFile::open(path)?;
    let summary = replay::summary(&trace)?;
    output::show(&report::trace(&summary, replay::is_of_interest))
}

fn export(args: &TraceExportArgs) -> Result<()> {
    output::check(&[("output", Some(&args.output))], args.force)?;
    output::spare_read(&args.output, output::identity(&args.trace).into_iter())?;
    let trace = TraceFile::open(&args.trace)?;
    spare_traced(&args.output, &trace.header)?;
    replay::warn_of_gaps(&trace);
    // As a file that was replaced, or that another program has under the same name in a namespace of its own.
    let (mut once, paths) = (BTreeSet::new(), trace.header.files.iter().map(|it| it.path.as_str()));
    let twice: BTreeSet<&str> = paths.filter(|it| !once.insert(*it)).collect();
    if let Some(path) = twice.first() {
        let others = match twice.len() - 1 {
            0 => String::new(),
            others => format!(" (and so for {others} more)"),
        };
        output::warn(&format!(
            "the trace has several files that were called {path}{others}; an iolog has names alone, so that they are one file in it"
        ));
    }
    let text = trace::iolog(&trace.header, trace.accesses()?.into_iter())?;
    output::write(&args.output, &text, args.force)
}
