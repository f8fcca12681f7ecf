//! `faultline doctor`: what can be measured here.

use std::sync::atomic::Ordering;

use anyhow::Result;

use crate::{
    cli::DoctorArgs,
    exit::{Exit, Stopped},
    measure::interrupt_flag,
    output,
    progress::Line,
    subject::Subject,
};

/// Large enough for every alignment, small enough to be made anywhere.
const TEST_FILE_BYTES: u64 = 4 << 20;

pub fn run(args: &DoctorArgs) -> Result<Exit> {
    let interrupted = interrupt_flag()?;
    let store = history::Store::open(None);
    let subject = Subject::open(&args.target, Some(TEST_FILE_BYTES), 1, true, &interrupted, &Line::new(true))?;
    let mut checks = lab::doctor::examine(&subject.target, &interrupted);
    if interrupted.load(Ordering::Relaxed) {
        return Err(Stopped("interrupted; what was not looked at is not shown").into());
    }
    checks.push(lab::doctor::Check {
        what: "saving runs".into(),
        found: match &store {
            Ok(store) => Ok(format!("in {}", store.folder().display())),
            Err(error) => Err(format!("{error:#}")),
        },
    });
    let entry = |check: &lab::doctor::Check| {
        let (mark, text) = match &check.found {
            Ok(found) => ("ok", found),
            Err(reason) => ("--", reason),
        };
        (format!("{mark}  {}", check.what), text.clone())
    };
    let entries: Vec<(String, String)> = checks.iter().map(entry).collect();
    output::print(&report::listing(&entries, 30, output::terminal_width()))?;
    Ok(Exit::Answered)
}
