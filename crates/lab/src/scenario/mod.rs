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
pub const SCENARIOS: &[Scenario] = &[address_space::SCENARIO];

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
