//! `faultline claims`: published claims, with their verdicts in the runs so far.

use analysis::Claims;
use anyhow::Result;
use schema::{builtin, machine::MadeOn, units::nearest};

use crate::{
    cli::ClaimsArgs,
    exit::{Exit, UsageError},
    experiment, machine, output,
};

pub fn run(args: &ClaimsArgs) -> Result<Exit> {
    let store = history::Store::open(None)?;
    let mut found = Claims::new(experiment::built_in(builtin::STUDIES).collect());
    let whose = machine::whose(args.machine.as_deref(), &store);
    for (id, path, origin) in machine::runs(&store, &whose)? {
        // One record at a time: a folder of them is larger than memory should be.
        match store.load_file(&path) {
            Ok(record) => {
                if let Some(machine) = whose.answers_for(&MadeOn::new(&record.environment, origin)) {
                    found.add(&id, &record, &machine);
                }
            }
            Err(error) => output::warn(&format!("left out: {error:#}")),
        }
    }
    let names: Vec<String> = found.studies().map(String::from).collect();
    let ledger = found.ledger(args.study.as_deref()).ok_or_else(|| {
        let study = args.study.as_deref().unwrap_or_default();
        let near = nearest(study, names.iter().map(String::as_str));
        let hint = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
        UsageError(format!("no study {study:?} is built in, and no saved run has claims of it{hint}"))
    })?;
    match args.json {
        true => output::print(&report::claims_json(&ledger))?,
        false => output::show(&report::claims(&ledger, output::style(false)))?,
    }
    // As of other filters that leave nothing.
    let nothing = (args.study.is_some() || args.machine.is_some()) && ledger.entries.is_empty();
    Ok(if nothing { Exit::NothingDecided } else { Exit::Answered })
}
