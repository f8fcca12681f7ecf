//! Scenarios: small experiments with yes or no as their outcome, and evidence in numbers. Claims name them.
//!
//! A new scenario is one file here and one line in `SCENARIOS`.

use std::{collections::BTreeMap, sync::atomic::AtomicBool};

use schema::{
    Experiment,
    record::{Reading, ScenarioResult},
};

use crate::{cgroups::Note, target::Target};

mod address_space;
mod direct_memory;
mod direct_write;
mod disk_of_our_own;
mod private_libraries;
mod private_write;
mod scratch;
mod shared_memory;
mod shared_write;
mod throttled;
mod truncated;
mod under_write_back;
mod write_back;
mod write_error;
mod write_faults;
mod written_back;

/// A question about what the kernel does.
pub struct Scenario {
    pub name: &'static str,
    /// What `holds` means, in one sentence.
    pub about: &'static str,
    /// What the file has that it makes beside the target, without a name, by the size of a page.
    pub scratch_bytes: fn(u64) -> u64,
    /// # Errors
    /// Why it cannot be tested here.
    pub observe: fn(&Scene) -> Result<ScenarioResult, String>,
}

/// Where a scenario plays.
pub struct Scene<'a> {
    pub target: &'a Target,
    pub interrupted: &'a AtomicBool,
    /// The user allows setting something up that goes with this process (`--allow-setup`).
    pub may_set_up: bool,
    /// Is called with the path of everything that gets a name, before it is made.
    pub note: Note<'a>,
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
    direct_memory::SCENARIO,
    truncated::SCENARIO,
    write_error::SCENARIO,
    under_write_back::SCENARIO,
    throttled::SCENARIO,
    write_back::EXT4,
    write_back::XFS,
    write_back::BTRFS,
];

/// Whether the target's own file was read, whose pages are then no longer as they were found. Other scenarios make files of their
/// own.
pub fn read_target(observed: &BTreeMap<String, Reading<ScenarioResult>>) -> bool {
    observed.contains_key(address_space::SCENARIO.name)
}

/// What the scenarios of an experiment write beside the target, each once.
pub fn scratch_bytes(experiment: &Experiment) -> u64 {
    let asked = schema::distinct(experiment.claims.iter().filter_map(|claim| claim.scenario.as_deref()));
    let page = sys::page_bytes();
    let bytes = |name: &str| SCENARIOS.iter().find(|it| it.name == name).map_or(0, |it| (it.scratch_bytes)(page));
    asked.into_iter().map(bytes).sum()
}

/// Runs what the claims of an experiment ask for, each scenario once.
pub fn observe(experiment: &Experiment, scene: &Scene) -> BTreeMap<String, Reading<ScenarioResult>> {
    let asked = experiment.claims.iter().filter_map(|claim| claim.scenario.as_deref());
    asked
        .map(|name| {
            let found = SCENARIOS.iter().find(|it| it.name == name);
            let observed = match found {
                Some(scenario) => (scenario.observe)(scene),
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

    const DEPENDS: [&str; 5] =
        ["direct-write", "stall-under-write-back", "write-back-ext4", "write-back-xfs", "write-back-btrfs"];

    #[test]
    fn the_scenarios_here_are_those_that_claims_may_name() {
        let names: Vec<&str> = SCENARIOS.iter().map(|it| it.name).collect();
        assert_eq!(names, schema::experiment::SCENARIOS);
    }

    /// What the man pages and the kernel's own documentation promise; where a scenario cannot be had, it says why.
    #[test]
    fn every_scenario_that_writes_comes_out_as_documented_or_says_why_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file.as_file(), &[1u8; 4096]).unwrap();
        let target = Target::open(file.path(), true).unwrap();
        let scene =
            Scene { target: &target, interrupted: &AtomicBool::new(false), may_set_up: true, note: &|_| Ok(()) };
        for scenario in SCENARIOS.iter().filter(|it| !["address-space", "truncated-mapping"].contains(&it.name)) {
            match (scenario.observe)(&scene) {
                Err(reason) => println!("skipped: {}: {reason}", scenario.name),
                Ok(seen) if scenario.name == "munmap-syncs" => assert!(!seen.holds, "{}", seen.evidence),
                // Of a device that others write to at the same time, or of what a file system may do as it likes.
                Ok(seen) if DEPENDS.contains(&scenario.name) => println!("{}: {}", scenario.name, seen.evidence),
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
