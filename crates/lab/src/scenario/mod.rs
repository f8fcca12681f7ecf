//! Scenarios: small experiments with yes or no as their outcome, and evidence in numbers. Claims name them.
//!
//! A new scenario is one file here and one line in `SCENARIOS`.

use std::{collections::BTreeMap, sync::atomic::AtomicBool};

use schema::{
    Experiment,
    record::{Observation, Reading},
};

use crate::Target;

mod address_space;
mod direct_write;
mod private_libraries;
mod private_write;
mod scratch;
mod shared_memory;
mod shared_write;
mod truncated;
mod write_faults;
mod written_back;

/// A question about what the kernel does.
pub struct Scenario {
    pub name: &'static str,
    /// What `holds` means, in one sentence.
    pub about: &'static str,
    /// # Errors
    /// Why it cannot be tested here.
    pub observe: fn(&Target, &AtomicBool) -> Result<Observation, String>,
}

/// Every scenario, by the name that claims use.
pub const SCENARIOS: &[Scenario] = &[
    address_space::SCENARIO,
    private_write::SCENARIO,
    shared_write::SCENARIO,
    shared_memory::SCENARIO,
    private_libraries::SCENARIO,
    direct_write::SCENARIO,
    written_back::WRITE,
    written_back::MUNMAP,
    written_back::ASYNC,
    written_back::BEFORE,
    write_faults::SCENARIO,
    truncated::SCENARIO,
];

/// Runs what the claims of an experiment ask for, each scenario once.
pub fn observe(
    experiment: &Experiment,
    target: &Target,
    interrupted: &AtomicBool,
) -> BTreeMap<String, Reading<Observation>> {
    let asked = experiment.claims.iter().filter_map(|claim| claim.scenario.as_deref());
    asked
        .map(|name| {
            let found = SCENARIOS.iter().find(|it| it.name == name);
            let observed = match found {
                Some(scenario) => (scenario.observe)(target, interrupted),
                None => {
                    let names: Vec<&str> = SCENARIOS.iter().map(|it| it.name).collect();
                    Err(format!("there is no scenario {name:?}; {}", schema::units::expected(name, &names)))
                }
            };
            (name.to_string(), observed.into())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the man pages and the kernel's own documentation promise; where a scenario cannot be had, it says why.
    #[test]
    fn every_scenario_that_writes_comes_out_as_documented_or_says_why_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file.as_file(), &[1u8; 4096]).unwrap();
        let target = Target::open(file.path(), true, true).unwrap();
        let interrupted = AtomicBool::new(false);
        for scenario in SCENARIOS.iter().filter(|it| !["address-space", "truncated-mapping"].contains(&it.name)) {
            match (scenario.observe)(&target, &interrupted) {
                Err(reason) => println!("skipped: {}: {reason}", scenario.name),
                Ok(seen) if scenario.name == "munmap-syncs" => assert!(!seen.holds, "{}", seen.evidence),
                // Of the device, which others write to at the same time.
                Ok(seen) if scenario.name == "direct-write" => println!("{}", seen.evidence),
                Ok(seen) => assert!(seen.holds, "{}: {}", scenario.name, seen.evidence),
            }
        }
    }

    #[test]
    fn names_are_unique_and_every_scenario_a_built_in_claim_names_exists() {
        let mut names: Vec<&str> = SCENARIOS.iter().map(|it| it.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SCENARIOS.len());
        for (name, text) in schema::builtin::EXPERIMENTS.iter().chain(schema::builtin::STUDIES) {
            for claim in Experiment::parse(name, text).unwrap().claims {
                assert!(claim.scenario.iter().all(|it| names.contains(&it.as_str())), "{name}: {:?}", claim.scenario);
            }
        }
    }
}
