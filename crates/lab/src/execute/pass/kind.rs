//! What distinguishes passes that read, that write, and that execute a command: a type in a file of its own for each, and
//! what all of them do alike in `mod.rs`.

use std::{collections::BTreeMap, process::Command};

use schema::{Arm, Condition, record::Reading};

use super::{super::Bench, Pass, Work};
use crate::{
    link::{Link, Trouble},
    runtime,
    state::Evidence,
};

/// The steps of a pass at which kinds differ, in the order in which they are taken.
pub(in crate::execute) trait PassSteps {
    /// Why unit costs cannot be measured beside passes of this kind.
    fn calibration_refused(&self) -> Option<&'static str> {
        None
    }

    /// Whether a pass that failed in its trial would fail again for the same reason.
    fn fails_for_good(&self) -> bool {
        false
    }

    /// Before anything else: the target as each pass of this kind finds it.
    fn prepare_target(&self, _: &mut Bench, _: &Condition) -> Result<(), Trouble> {
        Ok(())
    }

    /// How a worker is started.
    fn worker(&self, _: &Bench, arm: &Arm) -> Result<Command, String> {
        runtime::worker(arm)
    }

    /// Once the worker is there.
    fn started(&self, _: &mut Link, _: &Arm) {}

    /// After a warm pass: before the worker can make another one.
    fn between(&self, _: &Bench, _: &mut Link, _: &Work) -> Result<(), Trouble> {
        Ok(())
    }

    /// Of a change of the target that was found after a pass: what may have made it, after a comma.
    fn during(&self, _: &Bench, _: &Arm) -> String {
        String::new()
    }

    /// More about a timed pass that failed.
    fn explain(&self, _: &Work, trouble: Trouble) -> Trouble {
        trouble
    }

    /// What it adds to the readings of every pass.
    fn readings(&self, _: &Bench, _: &Condition) -> BTreeMap<String, Reading<f64>> {
        BTreeMap::new()
    }

    /// Whether the pass did what it says, beyond its state.
    ///
    /// # Errors
    /// Why it does not count.
    fn verify(&self, _: &Condition, _: &Evidence) -> Result<(), String> {
        Ok(())
    }

    /// Whether the next worker may have the limits of this one as they are.
    fn keeps_limits(&self) -> bool {
        true
    }

    /// After the worker has ended.
    fn finish(&self, _: &mut Bench, _: &Condition, _: &mut Pass) -> Result<(), Trouble> {
        Ok(())
    }

    /// After a pass that failed.
    fn clean_up(&self, _: &Bench) {}
}
