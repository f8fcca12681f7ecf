//! `faultline clean`: removes what a killed run left behind, and compiled workers of other versions; nothing else.

use anyhow::Result;
use history::{Owner, Removal};
use lab::runtime;

use crate::{cli::CleanArgs, exit::Exit, output};

pub fn run(args: &CleanArgs) -> Result<Exit> {
    let journal = history::CleanupJournal::open(None)?;
    // Each removal is printed at once: a later failure must not hide it.
    let say = |text: String| output::print(&format!("{text}\n"));
    let mut failed = 0;
    // What keeps one folder from being cleaned says nothing of the others.
    let fails = |error: anyhow::Error| say(report::visible(&format!("{error:#}")));
    let listed = journal.stale().and_then(|stale| Ok((stale, journal.entries()?)));
    let (stale, entries) = match listed {
        Ok(listed) => listed,
        Err(error) => {
            failed += 1;
            fails(error)?;
            Default::default()
        }
    };
    let store = history::Store::open(None)?;
    let half_written = match args.dry_run {
        true => [store.abandoned(), journal.abandoned()],
        false => [store.remove_abandoned(), journal.remove_abandoned()],
    };
    let mut abandoned = 0;
    for half_written in half_written.into_iter().flatten() {
        match half_written {
            Ok(path) => {
                let verb = if args.dry_run { "would remove" } else { "removed" };
                say(format!("{verb} {}, which is half-written", report::visible(&path.display().to_string())))?;
                abandoned += 1;
            }
            Err(error) => {
                failed += 1;
                fails(error)?;
            }
        }
    }
    let mut unknown = 0;
    for found in entries {
        // Of another host or container, or damaged: the user must decide.
        if let Owner::Unknown(reason) = &found.owner {
            unknown += 1;
            let path = found.leftover.as_ref().map_or_else(|| found.entry.display().to_string(), |it| it.path.clone());
            say(format!("{} stays: {}", report::visible(&path), report::visible(reason)))?;
        }
    }
    let of_runs = stale.len() + abandoned + unknown + failed;
    for found in stale {
        let path = found.leftover.as_ref().map_or_else(|| found.entry.display().to_string(), |it| it.path.clone());
        let path = report::visible(&path);
        let removed = match args.dry_run {
            true => Ok(journal.kept(&found)),
            false => journal.remove(&found).map(Some),
        };
        match removed {
            Ok(None) => say(format!("would remove {path}"))?,
            Ok(Some(Removal::Deleted { bytes })) => say(format!("removed {path} ({})", schema::Bytes(bytes)))?,
            Ok(Some(Removal::WasGone)) => say(format!("{path} is gone already"))?,
            Ok(Some(Removal::Refused(reason))) => say(format!("{path} stays: {}", report::visible(&reason)))?,
            Err(error) => {
                failed += 1;
                say(format!("cannot remove {path}: {}", report::visible(&format!("{error:#}"))))?;
            }
        }
    }
    let old = old_workers(args, &say)?;
    failed += old.failed;
    if of_runs + old.found == 0 {
        say("nothing was left behind".into())?;
    }
    anyhow::ensure!(failed == 0, "{failed} leftovers or folders could not be cleaned");
    Ok(Exit::Answered)
}

/// Compiled workers of other versions.
struct OldWorkers {
    found: usize,
    /// They could not be removed.
    failed: usize,
}

/// They are made again when they are needed, so they are no leftovers of a run.
fn old_workers(args: &CleanArgs, say: &dyn Fn(String) -> Result<()>) -> Result<OldWorkers> {
    let mut failed = 0;
    let old = match runtime::old() {
        Ok(old) => old,
        Err(reason) => {
            say(format!("compiled workers were not checked: {}", report::visible(&reason)))?;
            return Ok(OldWorkers { found: 0, failed });
        }
    };
    let found = old.len();
    for old in old {
        let what = format!("the compiled worker {}", report::visible(&old.path.display().to_string()));
        let size = schema::Bytes(old.bytes);
        match (&old.doubt, args.dry_run) {
            (Some(doubt), _) => say(format!("{what} stays: {}", report::visible(doubt)))?,
            (None, true) => say(format!("would remove {what} of another version ({size})"))?,
            (None, false) => match runtime::remove(&old) {
                Ok(()) => say(format!("removed {what} of another version ({size})"))?,
                Err(error) => {
                    failed += 1;
                    say(format!("cannot remove {what}: {error}"))?;
                }
            },
        }
    }
    Ok(OldWorkers { found, failed })
}
