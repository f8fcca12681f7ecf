//! From plan to record, stage by stage. `stage.rs` has the order of a stage, `trials.rs` and `rounds.rs` its passes, and `pass`
//! makes one.

mod bench;
pub mod calibrate;
pub mod ceiling;
mod clock;
mod commands;
mod confirm;
mod count;
mod filled;
mod filling;
pub mod observe;
mod pass;
mod record;
mod replays;
mod rounds;
mod stage;
mod trials;

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use schema::{
    Experiment, Record,
    advised::Advised,
    observation::Means,
    record::{Confirmation, Ending},
    timeline::Timeline,
};
use sys::guard::Guard;

use crate::{
    cgroups::{Cgroups, Note},
    link,
    machine::host,
    plan::{self, Plan, Stage, possible},
    scenario::{self, Scene},
    target::Target,
    timeline::Sampler,
    trace::TraceFile,
};

pub use bench::Bench;
use bench::{Around, Draw, Stop, Times};
use clock::Clock;
pub use filling::LOST_MOST;
pub use record::{Scenarios, planned};
pub use rounds::ROUNDS_MAX;

/// Why a record is partial when the user stopped its run.
pub const INTERRUPTED: &str = "interrupted";

/// Callbacks during a run.
pub struct Hooks<'a> {
    pub interrupted: &'a AtomicBool,
    /// Called between passes only, with everything that was measured so far.
    pub progress: &'a mut dyn FnMut(&Progress, &Record),
    /// A good moment to save what there is.
    pub checkpoint: &'a mut dyn FnMut(&Record),
    /// Whether a cell's comparison with its baseline is precise enough; asked of the analysis, after every round.
    pub is_precise: &'a dyn Fn(&Record, usize) -> bool,
    /// The two cells, baseline and arm, that decide the answer to each of some conditions as it is now.
    pub headlines: &'a Headlines,
    /// Whether passes at the size of the job leave open what they were made for.
    pub is_open: &'a dyn Fn(&Confirmation) -> bool,
}

/// From a record and the indexes of some conditions to two cells of each.
pub type Headlines = dyn Fn(&Record, &[usize]) -> Vec<[usize; 2]>;

/// Where a run is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub what: String,
    /// Of the budget, 0 to 1.
    pub share: f64,
    /// At most; absent where no budget ends the run.
    pub left: Option<Duration>,
}

/// What to run.
pub struct Settings<'a> {
    pub seed: u64,
    pub budget: Duration,
    /// Whether the budget ends the run. Without that it only decides how much a pass covers.
    pub budget_binds: bool,
    /// This number of rounds, instead of stopping on precision.
    pub rounds: Option<u32>,
    /// Passes under tracepoints after the timed ones.
    pub counted: bool,
    /// Tracefs and disks in memory may be set up; they go with this process.
    pub may_set_up: bool,
    /// Commands among the arms may be executed: the user typed them, or said so.
    pub may_execute: bool,
    /// One watched execution of every command before the rounds, by these means, in the order to try them.
    pub observed: Option<&'a [Means]>,
    /// Those that the experiment replays.
    pub traces: &'a [TraceFile],
    /// What was recorded of a command before, to be kept with the run.
    pub advised: Option<&'a Advised>,
    /// Looks at the whole machine a second, beside everything else.
    pub timeline: Option<u32>,
    /// Told of everything that is made outside the data folder, before it is made.
    pub note: Note<'a>,
    pub kept_key: host::KeptKey<'a>,
}

/// Runs an experiment on a target.
pub fn execute(experiment: &Experiment, target: &Target, settings: &Settings, hooks: &mut Hooks) -> Record {
    let started = Instant::now();
    // Without one, what two killed processes leave runs on; that is no reason to measure nothing.
    let guard = target.named.as_ref().and_then(|_| Guard::start().ok());
    if target.named.is_some() {
        // Fails on no kernel that this runs on (Linux 3.4); what it is for is a second line of defence.
        let _ = sys::process::adopt_orphans();
    }
    let ticks = host::cpu_ticks();
    let record = record::begin(experiment, target, (settings.seed, settings.budget), host::detect(settings.kept_key));
    let mut bench = Bench {
        target,
        settings,
        record,
        clock: Clock { started, budget: settings.budget, binds: settings.budget_binds },
        times: Times::default(),
        stop: Stop { interrupted: hooks.interrupted, changed: None },
        draw: Draw::new(settings.seed),
        around: Around { cgroups: Cgroups::new(Some(settings.note)), guard },
        filled: None,
        unfit_as_found: None,
        changed: Vec::new(),
        failures: BTreeMap::new(),
        underway: None,
    };
    bench.record.advised = settings.advised.cloned().map(Box::new);
    let sampler = settings.timeline.and_then(|per_second| {
        let sampler = Sampler::start(target.disk.clone(), per_second, started);
        if let Err(error) = &sampler {
            bench.record.limits.push(format!("no timeline: {error}"));
        }
        Some((per_second, sampler.ok()?))
    });
    bench.show("the device's ceiling".into(), hooks);
    let began = Instant::now();
    bench.record.ceiling = ceiling::measure(&mut bench);
    bench.times.ceiling = began.elapsed();

    let unknown = (!target.file_system.is_memory()).then_some(plan::UNKNOWN_DISK_BYTES_PER_S);
    let device = bench.record.ceiling.value().map(|it| it.bytes_per_s).or(unknown);
    let range_limit = plan::range_limit(experiment, &bench.record.environment, device, settings.budget);
    let memory_bytes = bench.record.environment.cache_memory_bytes();
    let plan = Plan::new(experiment, target.all_bytes(), range_limit, |condition| {
        possible::condition(condition, target, &bench.around.cgroups)?;
        possible::fits(condition, target, memory_bytes)
    });
    bench.record.limits.extend(record::lost(&bench.record, &plan));
    bench.record.limits.extend(target.named.iter().flat_map(|it| it.notes.iter().cloned()));
    bench.record.conditions = plan.conditions;
    bench.record.origins = plan.origins;
    bench.record.cells = plan.cells;
    bench.compile(hooks);
    // Also where the file is measured as it was found: what a command brings in or drops while it is watched, it does in its
    // trial as well, and one that is refused is not measured at all.
    if let Some(by) = settings.observed {
        bench.observe_commands(by, hooks);
    }
    bench.begin_as_found();
    bench.begin_calibration();
    let evicts = bench.record.conditions.iter().any(|it| !Stage::of(it).is_as_found());
    let (as_found, others): (Vec<Stage>, Vec<Stage>) =
        Stage::all(&bench.record.conditions).into_iter().partition(|it| it.is_as_found());
    for stage in as_found {
        bench.stage(stage, &plan.given, hooks);
    }
    // Some of them read the file, which brings in more of it than passes do.
    if !bench.is_interrupted() {
        let scene =
            Scene { target, interrupted: hooks.interrupted, may_set_up: settings.may_set_up, note: settings.note };
        bench.record.scenarios = scenario::observe(experiment, &scene);
    }
    for stage in others {
        if evicts && target.is_unproved() {
            bench.prove_target();
        }
        bench.stage(stage, &plan.given, hooks);
        // The host behind a guest, or the device's own cache, may answer faster the second time; the larger one is a
        // ceiling.
        let visited = bench.measured_conditions().iter().any(|it| Stage::of(it) == Stage::Cold);
        if stage == Stage::Cold && visited && !bench.is_interrupted() && bench.clock.left() >= bench.times.ceiling {
            bench.record.ceiling = ceiling::larger(bench.record.ceiling.clone(), ceiling::measure(&mut bench));
        }
    }
    if settings.counted {
        bench.count(hooks);
    }
    if let Some((per_second, sampler)) = sampler {
        let (moments, passes) = (sampler.stop(), std::mem::take(&mut bench.times.passings));
        bench.record.timeline = Some(Timeline { per_second, moments, passes });
    }
    bench.record.limits.extend(record::no_ceiling(&bench.record));
    bench.record.limits.extend(record::part_of_file(&bench.record));
    bench.record.limits.extend(link::abandoned());
    bench.record.elapsed_s = started.elapsed().as_secs_f64();
    // Once more: a store through a mapping changes the file's times only when it is written back.
    bench.record.partial = bench.stop.changed.take().or_else(|| bench.unchanged().err());
    if bench.record.partial.is_some() {
        bench.record.ending = Some(Ending::TargetChanged);
    }
    // What the user stopped after its file had changed is about the change: it decides what the passes are worth.
    if hooks.interrupted.load(Ordering::Relaxed) && bench.record.partial.is_none() {
        bench.record.partial = Some(INTERRUPTED.into());
        bench.record.ending = Some(Ending::Interrupted);
    }
    bench.record.environment.steal_share = ticks.and_then(|before| Ok(host::cpu_ticks()?.stolen_since(&before))).into();
    (hooks.checkpoint)(&bench.record);
    bench.record
}
