//! From what the user typed to a checked experiment: found by name or file, then narrowed by options.

use std::path::Path;

use anyhow::Result;
use schema::{Experiment, builtin, experiment::Competitor, units::nearest};

use crate::{cli::RunArgs, exit::Usage};

/// The experiment of a run.
///
/// # Errors
/// Unknown names and mistakes in a file are usage errors, with the nearest name or the line.
pub fn load(args: &RunArgs) -> Result<Experiment> {
    let mut experiment = find(&args.experiment)?;
    narrow(&mut experiment, args).map_err(Usage)?;
    Ok(experiment)
}

fn find(name: &str) -> Result<Experiment> {
    if let Some(text) = builtin::find(name) {
        return Ok(Experiment::parse(name, text).expect("a test parses every built-in experiment"));
    }
    let path = Path::new(name);
    let names = || builtin::EXPERIMENTS.iter().map(|(name, _)| *name);
    if !path.exists() {
        let hint = match nearest(name, names()) {
            Some(near) => format!("did you mean {near:?}?"),
            None => format!("built in are {}", names().collect::<Vec<_>>().join(", ")),
        };
        return Err(Usage(format!("{name:?} is neither a built-in experiment nor a file; {hint}")).into());
    }
    let bytes = std::fs::read(path).map_err(|error| Usage(format!("cannot read {name}: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|&&it| it == b'\n').count() + 1;
        Usage(format!("{name}:{line}: an experiment is a text in UTF-8, and this is not"))
    })?;
    let stem = path.file_stem().map_or_else(|| name.to_string(), |stem| stem.to_string_lossy().into_owned());
    Experiment::parse(&stem, &text).map_err(|problem| Usage(problem.at(name)).into())
}

/// Options replace the lists of every comparison in the experiment.
fn narrow(experiment: &mut Experiment, args: &RunArgs) -> Result<(), String> {
    for compare in &mut experiment.comparisons {
        replace(&mut compare.state, &args.state);
        replace(&mut compare.consume, &args.consume);
        replace(&mut compare.block, &args.block);
        replace(&mut compare.threads, &args.threads);
        if !args.method.is_empty() {
            compare.arms =
                args.method.iter().map(|arm| Competitor { arm: arm.clone(), own: Default::default() }).collect();
        }
        if !args.runtime.is_empty() {
            compare.arms.retain(|competitor| args.runtime.contains(&competitor.arm.runtime));
        }
        // A comparison is written for its workloads; asking for one of them keeps those that have it.
        if !args.workload.is_empty() {
            compare.workload.retain(|workload| args.workload.contains(workload));
        }
    }
    experiment.comparisons.retain(|compare| !compare.workload.is_empty());
    if experiment.comparisons.is_empty() {
        return Err(format!("experiment {:?} has no such workload", experiment.name));
    }
    experiment.comparisons.iter().try_for_each(|compare| compare.validate().map_err(|(_, message)| message))
}

fn replace<T: Clone>(list: &mut Vec<T>, wanted: &[T]) {
    if !wanted.is_empty() {
        *list = wanted.to_vec();
    }
}
