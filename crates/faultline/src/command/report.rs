//! `faultline report`: a saved run, looked at again.

use anyhow::Result;

use crate::{cli::ReportArgs, exit::Exit, output};

pub fn run(args: &ReportArgs) -> Result<Exit> {
    args.output.check()?;
    let store = history::Store::open(None)?;
    args.output.spare_read([store.place(&args.run)?.0.as_path()])?;
    let record = store.load(&args.run)?;
    let findings = analysis::analyze(&record);
    output::emit(&record, &findings, None, &args.output, !args.output.quiet)?;
    Ok(Exit::Answered)
}
