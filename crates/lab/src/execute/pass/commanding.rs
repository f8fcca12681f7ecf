//! Passes that execute a command of the user's: its processes outlive no pass, and what it read is not known.

use std::{collections::BTreeMap, process::Command, time::Duration};

use schema::{Arm, Condition, Names, State, record::Reading};

use super::{super::Bench, Work, kind::PassSteps};
use crate::{
    link::{Link, Trouble},
    runtime,
    state::{self, Evidence},
};

pub(super) struct Commanding;

impl PassSteps for Commanding {
    fn calibration_refused(&self) -> Option<&'static str> {
        Some("the cost model does not include commands")
    }

    fn fails_for_good(&self) -> bool {
        true
    }

    fn worker(&self, bench: &Bench, arm: &Arm) -> Result<Command, String> {
        runtime::guarded_worker(arm, bench.around.guard.as_ref())
    }

    fn started(&self, link: &mut Link, arm: &Arm) {
        link.let_it_clean_up(arm.options.contains_key("cleanup"));
    }

    /// Each execution has a preparation of its own, also the one that is timed.
    fn between(&self, bench: &Bench, link: &mut Link, work: &Work) -> Result<(), Trouble> {
        link.prepare_within(bench.pass_limit(work.arm), &bench.job(work.arm, work.condition, work.target))
    }

    fn during(&self, bench: &Bench, arm: &Arm) -> String {
        format!(", while {} ran", Names::of(&bench.record).short(&arm.name))
    }

    /// What probes saw is the worker's own: the command was another process, and is gone.
    fn readings(&self, bench: &Bench, condition: &Condition) -> BTreeMap<String, Reading<f64>> {
        bench.around.cgroups.readings(condition)
    }

    fn verify(&self, condition: &Condition, seen: &Evidence) -> Result<(), String> {
        if condition.state == State::Cold { state::verify_touched(seen) } else { Ok(()) }
    }

    /// The peak of a group would be that of all executions so far.
    fn keeps_limits(&self) -> bool {
        false
    }

    /// A worker that was killed, for lack of memory say, could not end what it had started.
    fn clean_up(&self, bench: &Bench) {
        sys::process::end_children(Duration::ZERO);
        bench.around.guard.as_ref().inspect(|it| it.all_ended());
    }
}
