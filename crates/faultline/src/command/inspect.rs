//! `faultline inspect`: where the pages of a file are, or what a process has mapped. It reads; it changes nothing.

use anyhow::{Context, Result};
use schema::inspection::Inspection;

use crate::{cli::InspectArgs, exit::Outcome, output};

pub fn run(args: &InspectArgs) -> Result<Outcome> {
    let seen = look(args)?;
    output::print(&match args.json {
        true => report::inspection_json(&seen),
        false => report::inspection(&seen, output::style(false)),
    })?;
    Ok(Outcome::Answered)
}

/// A file of that name comes before a process of that number; `./4711` is always the file.
fn look(args: &InspectArgs) -> Result<Inspection> {
    let pid = args.what.to_str().and_then(|it| it.parse::<u32>().ok()).filter(|_| !args.what.exists());
    match pid {
        Some(pid) => lab::inspect::process(pid).map(Inspection::Process),
        None => lab::inspect::file(&args.what)
            .map(|it| Inspection::File(Box::new(it)))
            .with_context(|| format!("cannot inspect {}", args.what.display())),
    }
}
