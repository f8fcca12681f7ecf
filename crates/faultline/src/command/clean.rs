//! `faultline clean`: removes what a killed run left behind, and nothing else.

use std::io::Write;

use anyhow::Result;
use history::Removal;

use crate::{cli::CleanArgs, exit::Outcome};

pub fn run(args: &CleanArgs) -> Result<Outcome> {
    let ledger = history::Ledger::open(None)?;
    let mut out = anstream::stdout().lock();
    let stale = ledger.stale()?;
    let store = history::Store::open(None)?;
    let abandoned = if args.dry_run { store.abandoned()?.len() } else { store.remove_abandoned()? };
    if abandoned > 0 {
        let verb = if args.dry_run { "would remove" } else { "removed" };
        writeln!(out, "{verb} {abandoned} half-written records in {}", store.folder().display())?;
    }
    if stale.is_empty() && abandoned == 0 {
        writeln!(out, "nothing was left behind")?;
    }
    for found in stale {
        let path = found.leftover.as_ref().map_or_else(|| found.entry.display().to_string(), |it| it.path.clone());
        let path = report::visible(&path);
        if args.dry_run {
            writeln!(out, "would remove {path}")?;
            continue;
        }
        match ledger.remove(&found) {
            Ok(Removal::Deleted { bytes }) => writeln!(out, "removed {path} ({})", schema::Bytes(bytes))?,
            Ok(Removal::WasGone) => writeln!(out, "{path} is gone already")?,
            Ok(Removal::Refused(reason)) => writeln!(out, "{path} stays: {}", report::visible(&reason))?,
            Err(error) => writeln!(out, "cannot remove {path}: {}", report::visible(&format!("{error:#}")))?,
        }
    }
    Ok(Outcome::Answered)
}
