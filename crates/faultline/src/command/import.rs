//! `faultline import`: records that were made elsewhere, into a place of their own.

use anyhow::Result;
use history::Imported;

use crate::{cli::ImportArgs, exit::Exit, output};

pub fn run(args: &ImportArgs) -> Result<Exit> {
    let store = history::Store::open(None)?;
    let mut failed = 0;
    for file in &args.files {
        // The others are records as well.
        match store.import(file) {
            Ok(Imported::New(id)) => output::print(&format!("{id}: imported\n"))?,
            Ok(Imported::Longer(id)) => {
                output::print(&format!("{id}: imported; it is longer than the version that was there\n"))?
            }
            Ok(Imported::Known(id)) => output::print(&format!("{id}: already in the data folder\n"))?,
            Ok(Imported::Own(id)) => {
                output::print(&format!("{id}: already in the data folder; this machine made it\n"))?
            }
            Err(error) => {
                failed += 1;
                output::warn(&format!("{error:#}"));
            }
        }
    }
    anyhow::ensure!(failed == 0, "{failed} of {} files could not be imported", args.files.len());
    Ok(Exit::Answered)
}
