//! `faultline trace`: traces from what other programs recorded, shown, and as an iolog.

use std::{fs::File, io::BufReader, path::Path};

use anyhow::{Context, Result, anyhow};
use lab::trace::{self, TraceFile};

use crate::{
    cli::{TraceCommand, TraceExportArgs, TraceImportArgs},
    exit::{Exit, UsageError},
    output,
};

pub fn run(command: &TraceCommand) -> Result<Exit> {
    match command {
        TraceCommand::Import(args) => import(args)?,
        TraceCommand::Show(args) => show(&args.trace)?,
        TraceCommand::Export(args) => export(args)?,
    }
    Ok(Exit::Answered)
}

fn import(args: &TraceImportArgs) -> Result<()> {
    if output::is_stdout(&args.output) {
        return Err(UsageError("a trace is no text; name a file for it with -o".into()).into());
    }
    output::check(&[("output", Some(&args.output))], args.force)?;
    let log = File::open(&args.log).with_context(|| format!("cannot open {}", args.log.display()))?;
    // As it was typed, and as strace shows it.
    let typed = args.file.iter().cloned();
    let whole = args.file.iter().filter_map(|it| std::fs::canonicalize(it).ok());
    let only: Vec<String> = typed.chain(whole).map(|it| it.to_string_lossy().into_owned()).collect();
    let imported = trace::import(BufReader::new(log), &only).with_context(|| args.log.display().to_string())?;
    output::write_bytes(&args.output, &imported.bytes()?, args.force)?;
    show(&args.output)
}

fn show(path: &Path) -> Result<()> {
    let trace = TraceFile::open(path)?;
    output::print(&report::trace(&analysis::summary(&trace.header, &trace.digest, &trace.accesses()?)))
}

fn export(args: &TraceExportArgs) -> Result<()> {
    output::check(&[("output", Some(&args.output))], args.force)?;
    let trace = TraceFile::open(&args.trace)?;
    let text = trace::iolog(&trace.header, trace.accesses()?.into_iter()).map_err(|path| {
        anyhow!("an iolog cannot name {path:?}: its words are separated by spaces; give the file another name and record it \
                 again")
    })?;
    output::write(&args.output, &text, args.force)
}
