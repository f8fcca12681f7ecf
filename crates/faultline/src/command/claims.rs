//! `faultline claims`: what people have claimed, and what came of it in the runs so far.

use anyhow::Result;
use report::{Ledger, LedgerEntry};
use schema::{Experiment, Record, builtin, findings::ClaimFinding, units::nearest};

use crate::{
    cli::ClaimsArgs,
    exit::{Outcome, Usage},
    experiment, output,
};

pub fn run(args: &ClaimsArgs) -> Result<Outcome> {
    let store = history::Store::open(None)?;
    let mut found = Found::default();
    for (id, _) in store.list()? {
        // One record at a time: a folder of them is larger than memory should be.
        match store.load(&id) {
            Ok(record) => found.add(&id, &record),
            Err(error) => output::warn(&format!("left out: {error:#}")),
        }
    }
    let ledger = found.ledger(args.study.as_deref())?;
    output::print(&if args.json {
        report::claims_json(&ledger)
    } else {
        report::claims(&ledger, output::style(false))
    })?;
    Ok(Outcome::Answered)
}

/// The claims met so far, each as it was last answered.
#[derive(Default)]
struct Found {
    entries: Vec<(Age, LedgerEntry)>,
}

/// Complete runs count before those that were interrupted, newer ones before older ones.
type Age = (bool, String);

impl Found {
    fn add(&mut self, run: &str, record: &Record) {
        let study = &record.experiment.name;
        let age: Age = (record.partial.is_none(), record.started.clone());
        let news = |id: &str| {
            !self.entries.iter().any(|(known, it)| it.claim.study == *study && it.claim.id == id && *known >= age)
        };
        if !record.experiment.claims.iter().any(|claim| news(&claim.id)) {
            return;
        }
        for claim in analysis::analyze(record).claims {
            let same = |it: &ClaimFinding| it.study == claim.study && it.id == claim.id;
            if self.entries.iter().any(|(known, it)| same(&it.claim) && *known >= age) {
                continue;
            }
            self.entries.retain(|(_, it)| !same(&it.claim));
            let entry = LedgerEntry {
                claim,
                title: record.experiment.title.clone(),
                run: run.to_string(),
                when: record.started.clone(),
                host: record.environment.host.clone(),
                kernel: record.environment.kernel.clone(),
            };
            self.entries.push((age.clone(), entry));
        }
    }

    /// Built-in studies in their order, then everybody else's.
    fn ledger(self, only: Option<&str>) -> Result<Ledger> {
        let studies: Vec<Experiment> = experiment::built_in(builtin::STUDIES).collect();
        let mut entries: Vec<LedgerEntry> = self.entries.into_iter().map(|(_, entry)| entry).collect();
        let wanted = |name: &str| only.is_none_or(|only| only == name);
        if let Some(only) = only {
            let known =
                || studies.iter().map(|it| it.name.as_str()).chain(entries.iter().map(|it| it.claim.study.as_str()));
            if !known().any(|name| name == only) {
                let hint = nearest(only, known()).map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
                return Err(
                    Usage(format!("no study {only:?} is built in, and no saved run has claims of it{hint}")).into()
                );
            }
        }
        entries.retain(|it| wanted(&it.claim.study));
        let place = |name: &str| studies.iter().position(|it| it.name == name).unwrap_or(studies.len());
        // Stable: claims of one run stay in the order in which they were written down.
        entries.sort_by(|a, b| {
            let key = |it: &LedgerEntry| (place(&it.claim.study), it.claim.study.clone());
            key(a).cmp(&key(b))
        });
        let never = |it: &Experiment| wanted(&it.name) && !entries.iter().any(|entry| entry.claim.study == it.name);
        let not_run = studies.iter().filter(|it| never(it)).map(|it| (it.name.clone(), it.title.clone())).collect();
        Ok(Ledger { entries, not_run })
    }
}
