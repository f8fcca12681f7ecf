//! `--dry-run`: what would be measured and written, and how long it takes. It makes the checks of a run that change nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Duration,
};

use anyhow::{Context, Result};
use lab::{Named, Plan, Target, cgroups::Cgroups, fixture, plan::Stage, possible, runtime};
use schema::{
    Condition, Experiment, Layout, SCHEMA_VERSION, Skip, Span, State, Workload,
    plan::{PlannedCell, PlannedCondition},
    record::{Cell, missing_arms},
    trace::Traced,
};

use crate::{cli::OutputArgs, exit::Exit, output, replay};

/// What a plan is made for.
pub struct Planned<'a> {
    pub experiment: &'a Experiment,
    pub target: &'a Path,
    /// Those in the target that are measured, where it is a folder with the files of a trace.
    pub files: &'a [PathBuf],
    /// Of the test file, where the target is a directory.
    pub size: Option<u64>,
    pub budget: Duration,
    /// Whether that ends the run.
    pub budget_binds: bool,
    /// That were asked for by number.
    pub rounds: Option<u32>,
    pub seed: u64,
    /// Passes under tracepoints come after the timed ones.
    pub counted: bool,
    /// The arms were asked for by name.
    pub asked_for: bool,
}

/// Prints the plan; nothing is measured or written, but for the JSON document where a file for it was named.
///
/// # Errors
/// The target cannot be measured, the test file cannot be made, or the plan cannot be written.
pub fn show(planned: &Planned, output: &OutputArgs) -> Result<Exit> {
    let place = Place::open(planned)?;
    if planned.files.len() < 2 {
        replay::fits(planned.experiment, &place.name, place.file_bytes)?;
    }
    let plan = place.plan(planned);
    let outcome = match planned.asked_for && !missing_arms(&plan.cells).is_empty() {
        true => Exit::Unavailable,
        false => Exit::Answered,
    };
    output::emit_plan(&place.describe(planned, &plan), output)?;
    if place.made_here {
        fixture::fits(planned.target, place.file_bytes)?;
    }
    Ok(outcome)
}

/// The cells of a run, with the reasons for which they would be left out, as far as they are known before any pass.
///
/// # Errors
/// The target cannot be measured, or there is no room for the test file.
pub fn plan_of(planned: &Planned) -> Result<Plan> {
    let place = Place::open(planned)?;
    if place.made_here {
        fixture::fits(planned.target, place.file_bytes)?;
    }
    Ok(place.plan(planned))
}

/// Of a target: itself, or the one that it is in.
fn folder(target: &Path) -> &Path {
    let folder = if target.is_dir() { Some(target) } else { target.parent() };
    folder.filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file without a name beside a file of the user's: reading that one would change which pages are cached.
///
/// # Errors
/// Why it cannot be made, and so nothing be tried.
pub fn unnamed_beside(file: &Path, bytes: u64) -> Result<Target, String> {
    let folder = folder(file);
    Target::unnamed(folder, bytes).map_err(|error| {
        format!("not tried: a file without a name (O_TMPFILE) cannot be made in {}: {error}", folder.display())
    })
}

/// Where a run would be made.
struct Place {
    name: String,
    made_here: bool,
    file_bytes: u64,
    /// The file that states are checked on: the target, or one without a name in its folder.
    target: Option<Target>,
    /// The file that arms are checked on: reading the user's own file would change which pages are cached.
    unnamed: Option<Target>,
    limits: Vec<String>,
}

impl Place {
    fn open(planned: &Planned) -> Result<Place> {
        let path = planned.target;
        let made_here = path.is_dir() && planned.files.is_empty();
        // Opened and looked at; `keep_cache` evicts nothing.
        let target = match (made_here, planned.files) {
            (true, _) => None,
            (false, []) => Some(Target::open(path, true)?),
            (false, [only]) => Some(Target::open(only, true)?),
            (false, files) => Some(Target::of_named(Named::gather(files, &[], true, &AtomicBool::new(false))?, true)?),
        };
        let file_bytes = match &target {
            Some(target) => target.all_bytes(),
            None => planned.size.map_or_else(|| fixture::default_bytes(path), Ok)?,
        };
        let folder = folder(path);
        // A hole may be larger than the disk, but not than the file system can count.
        let mut limits = Vec::new();
        let unnamed = match Target::unnamed(folder, file_bytes) {
            Ok(target) => Some(target),
            Err(error) if made_here && is_refused(&error) => {
                return Err(error).with_context(|| format!("cannot make a test file in {}", folder.display()));
            }
            Err(error) => {
                limits.push(format!(
                    "Whether the methods work here was not tried: a file without a name (O_TMPFILE) cannot be made in \
                     {}: {error}",
                    folder.display()
                ));
                None
            }
        };
        let name = match (&target, planned.files.len()) {
            (None, _) => path.display().to_string(),
            (Some(target), 0 | 1) => target.path.clone(),
            (Some(_), files) => format!("{files} files in {}", path.display()),
        };
        Ok(Place { name, made_here, file_bytes, target, unnamed, limits })
    }

    /// Cells with the reasons for which they would be skipped, as far as they are known before any pass.
    fn plan(&self, planned: &Planned) -> Plan {
        let cgroups = Cgroups::new(None);
        let asked = self.target.as_ref().or(self.unnamed.as_ref());
        let environment = lab::host::detect(&|| None);
        let memory_bytes = environment.cache_memory_bytes();
        // As far as it is known without a look at the device, which may be so slow that a run takes less.
        let limit = lab::plan::range_limit(planned.experiment, &environment, None, planned.budget);
        let possible = |condition: &Condition, target: &Target| {
            possible::condition(condition, target, &cgroups)?;
            possible::fits(condition, target, memory_bytes)
        };
        let mut plan = Plan::new(planned.experiment, self.file_bytes, limit, |condition| match asked {
            Some(target) => possible(condition, target).or_else(|reason| {
                // A run may take less of the file, as the device is.
                let least = Span { bytes: lab::plan::RANGE_BYTES_MIN, ..condition.range };
                let smaller = Condition { range: least, ..condition.clone() };
                let is_limit = condition.range.bytes == limit && limit < self.file_bytes;
                if is_limit { possible(&smaller, target) } else { Err(reason) }
            }),
            None => Ok(()),
        });
        let mut tried: Vec<(String, Condition, Option<Skip>)> = Vec::new();
        for cell in plan.cells.iter_mut().filter(|it| it.skipped.is_none()) {
            let condition = cell.own_condition.as_ref().unwrap_or(&plan.conditions[cell.condition]);
            // From which state, and how much, `lacks` does not look at.
            let plain = Condition { state: State::AsIs, fill: None, ..condition.without_size() };
            let known = tried.iter().find(|(arm, like, _)| *arm == cell.arm.name && *like == plain);
            cell.skipped = match known {
                Some((.., skip)) => skip.clone(),
                None => {
                    let skip = self.lacks(cell, condition);
                    tried.push((cell.arm.name.clone(), plain, skip.clone()));
                    skip
                }
            };
        }
        lab::plan::leave_lone_baselines(&mut plan.cells);
        plan
    }

    fn lacks(&self, cell: &Cell, condition: &Condition) -> Option<Skip> {
        let runtime = runtime::find(&cell.arm.runtime).map_err(Skip::Unavailable);
        if let Err(skip) = runtime.and_then(|it| it.present(&cell.arm).map_err(Skip::Unavailable)) {
            return Some(skip);
        }
        let refused = self.unnamed.as_ref().and_then(|it| possible::on_this_file_system(&cell.arm, it).err());
        if let Some(reason) = refused {
            return Some(Skip::Unavailable(reason));
        }
        if condition.trace.as_ref().is_some_and(Traced::is_of_several)
            && let Err(reason) = cell.arm.replays_several()
        {
            return Some(Skip::Unavailable(reason));
        }
        // Workers of other runtimes are compiled first, and a method that writes is tried by writing.
        let target = self.unnamed.as_ref().filter(|_| cell.arm.runtime == "native" && !condition.workload.writes())?;
        possible::arm(&cell.arm, target, condition, &AtomicBool::new(false)).err()
    }

    /// What could not be tried, and what the run does before its first pass of a runtime.
    fn limits(&self, plan: &Plan) -> Vec<String> {
        let arms = plan.cells.iter().filter(|it| it.skipped.is_none()).map(|it| &it.arm);
        let compiled: BTreeMap<&str, Duration> = arms
            .filter_map(|arm| Some((arm.runtime.as_str(), runtime::find(&arm.runtime).ok()?.compiles(arm)?)))
            .collect();
        let compiled = compiled.into_iter().map(|(runtime, takes)| {
            format!(
                "The worker of runtime {runtime} is compiled first, which takes about {} s beside the budget; later runs \
                 use the same one.",
                takes.as_secs()
            )
        });
        self.limits.iter().cloned().chain(compiled).collect()
    }

    fn describe(&self, planned: &Planned, plan: &Plan) -> schema::plan::PlannedRun {
        let Planned { experiment, target, .. } = planned;
        let cell = |cell: &Cell| PlannedCell {
            arm: cell.arm.clone(),
            baseline: cell.baseline,
            own_condition: cell.own_condition.clone(),
            skipped: cell.skipped.clone(),
            reason: cell.skipped.as_ref().map(ToString::to_string),
        };
        let conditions = plan.conditions.iter().enumerate().map(|(index, condition)| {
            let origin = plan.origins.get(index).copied();
            let compare = origin.and_then(|it| experiment.comparisons.get(it));
            PlannedCondition {
                condition: condition.clone(),
                variant: compare.and_then(|it| it.variant),
                comparison: compare.map_or_else(Vec::new, |it| it.words(origin)),
                cells: plan.cells.iter().filter(|it| it.condition == index && !it.control).map(cell).collect(),
            }
        });
        let copied_bytes = copied_bytes(plan, planned.counted);
        let scratch_bytes = lab::scenario::scratch_bytes(experiment);
        let written_bytes = copied_bytes.saturating_add(if self.made_here { self.file_bytes } else { 0 });
        schema::plan::PlannedRun {
            schema_version: SCHEMA_VERSION,
            experiment: experiment.name.clone(),
            title: experiment.title.clone(),
            target: self.name.clone(),
            made_here: self.made_here,
            file_bytes: self.file_bytes,
            written_bytes,
            copied_bytes,
            round_bytes: round_bytes(plan),
            scratch_bytes,
            free_bytes: (written_bytes > 0 || scratch_bytes > 0)
                .then(|| fixture::free_bytes(folder(target)).ok())
                .flatten(),
            expected_s: match plan.cells.iter().any(|it| it.skipped.is_none()) {
                true => planned.budget_binds.then_some(planned.budget.as_secs_f64()),
                false => Some(0.0),
            },
            rounds: planned.rounds,
            seed: planned.seed,
            conditions: conditions.collect(),
            limits: self.limits(plan),
        }
    }
}

/// What the fills that are made on a copy of the file write. A file that passes write to is written that way itself.
fn copied_bytes(plan: &Plan, counted: bool) -> u64 {
    let measured = plan.cells.iter().filter(|it| it.skipped.is_none()).map(|it| &plan.conditions[it.condition]);
    let stages: BTreeSet<Stage> = measured.map(Stage::of).filter(|it| !it.is_as_found()).collect();
    // Counted passes go through the stages once more. What the only stage has filled is there still.
    let times = if counted && stages.len() > 1 { 2 } else { 1 };
    let copies = plan.filled().into_iter().filter(|(fill, _)| fill.copied_by().is_some());
    copies.fold(0, |sum: u64, (_, range)| sum.saturating_add(range.end().saturating_mul(times)))
}

/// What passes that write have written in one round, at most: their file before each of them, if it has content then, and their own
/// blocks, all of their range where trials find how many; twice where a pass before the timed one brings the state.
fn round_bytes(plan: &Plan) -> u64 {
    let measured = plan.cells.iter().filter(|it| it.skipped.is_none());
    let does = measured.map(|it| it.own_condition.as_ref().unwrap_or(&plan.conditions[it.condition]));
    does.filter(|it| it.workload.writes()).fold(0, |sum: u64, it| {
        let is_made = it.workload != Workload::Append && it.layout.unwrap_or(Layout::Written) == Layout::Written;
        let made = if is_made { it.range.bytes } else { 0 };
        let blocks = if it.ops == 0 { it.range.bytes } else { it.ops.saturating_mul(it.block_bytes) };
        let times = if it.state.is_held() { 2 } else { 1 };
        sum.saturating_add(made).saturating_add(blocks.saturating_mul(times))
    })
}

/// A test file would be refused for the same reason.
fn is_refused(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::NotADirectory)
}
