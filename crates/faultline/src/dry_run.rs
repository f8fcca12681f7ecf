//! `--dry-run`: what would be measured, written and waited for.

use std::{path::Path, time::Duration};

use anyhow::Result;
use lab::{Plan, Target, fixture};
use schema::{Experiment, State};

use crate::{exit::Outcome, output};

/// What a plan is made for.
pub struct Planned<'a> {
    pub experiment: &'a Experiment,
    pub target: &'a Path,
    /// Of the test file, where the target is a directory.
    pub size: Option<u64>,
    pub budget: Duration,
    /// Whether that ends the run.
    pub budget_binds: bool,
    /// That were asked for by number.
    pub rounds: Option<u32>,
    pub seed: u64,
}

/// Prints the plan; nothing is measured or written.
///
/// # Errors
/// The target cannot be measured, or nobody reads.
pub fn show(planned: &Planned) -> Result<Outcome> {
    let Planned { experiment, target, .. } = planned;
    let directory = target.is_dir();
    let (file_bytes, name) = match directory {
        true => (
            planned.size.map_or_else(|| fixture::default_bytes(target), Ok)?,
            format!("a test file in {}, removed again", target.display()),
        ),
        // Opened and looked at; `keep_cache` evicts nothing.
        false => {
            let target = Target::open(target, false, true)?;
            (target.bytes, target.path.clone())
        }
    };
    let memory = sys::mount::file_system(target).is_ok_and(|it| it.is_memory());
    let groups = sys::cgroup::Hierarchy::detect();
    let plan = Plan::new(experiment, file_bytes, lab::plan::RANGE_BYTES_MAX, |condition| match condition.state {
        State::Cold if memory => {
            Err("files here live in the page cache and nowhere else, so they are never cold".into())
        }
        State::Limited => groups.can_limit_memory(),
        _ => Ok(()),
    });
    let conditions = plan.conditions.iter().enumerate().map(|(index, condition)| {
        let cells = || plan.cells.iter().filter(move |cell| cell.condition == index && !cell.control);
        let variant = plan.origins.get(index).and_then(|&origin| experiment.comparisons.get(origin)?.variant);
        report::PlannedCondition {
            label: match variant {
                Some(variant) => format!("{}, {}", condition.label(), report::variant(variant)),
                None => condition.label(),
            },
            arms: cells().filter(|it| it.skipped.is_none()).map(|it| it.arm.short_name().to_string()).collect(),
            skips: cells()
                .filter_map(|it| Some((it.arm.short_name().to_string(), it.skipped.as_ref()?.to_string())))
                .collect(),
        }
    });
    let shown = report::Plan {
        title: experiment.title.clone(),
        target: name,
        file_bytes,
        conditions: conditions.collect(),
        written_bytes: if directory { file_bytes } else { 0 },
        written_to: target.display().to_string(),
        free_bytes: directory.then(|| fixture::free_bytes(target).ok()).flatten(),
        duration: match planned.rounds.filter(|_| !planned.budget_binds) {
            Some(rounds) => report::Expected::Rounds(rounds),
            None => report::Expected::Seconds(planned.budget.as_secs_f64()),
        },
        seed: planned.seed,
    };
    output::print(&report::plan(&shown, output::style(true)))?;
    Ok(Outcome::Answered)
}
