//! What a worker is asked to do, and what it may do.

use schema::{
    Arm, Condition,
    leftover::FileIdentity,
    protocol::{Job, Permit},
    runtime::NATIVE,
};

use super::super::Bench;
use crate::{state, target::Target};

impl Bench<'_> {
    /// What a worker is asked to do with the target, or with a copy of it.
    pub(in crate::execute) fn job(&self, arm: &Arm, condition: &Condition, target: &Target) -> Job {
        let (permit, file) = self.permit(arm, condition, target);
        Job {
            pass: self.draw.passes,
            method: arm.method.clone(),
            options: arm.options.clone(),
            workload: condition.workload,
            consume: condition.consume,
            file,
            block_bytes: condition.block_bytes,
            range: condition.range,
            ops: condition.ops,
            aligned: condition.aligned,
            threads: condition.threads,
            descriptor: condition.descriptor,
            consumed_percent: condition.consumed_percent,
            durability: condition.durability,
            seed: self.draw.seed_of(condition, self.record.seed),
            hold: state::hold(condition.state),
            watch: None,
            permit,
            times_its_loop: condition.consume.looks_at_all()
                && !condition.workload.writes()
                && self.compares_runtimes(),
        }
    }

    /// Whether loops in other languages than that of the native worker are among what is compared.
    fn compares_runtimes(&self) -> bool {
        let mut arms = self.record.cells.iter().map(|it| &it.arm);
        arms.any(|it| it.runtime != NATIVE.name && !it.is_command())
    }

    /// What a job may do beyond reading, and the path to its file: the one place where that is decided. Commands are
    /// executed where the user said so, and the only file that is written is one that faultline made; it is reached by its
    /// descriptor.
    fn permit(&self, arm: &Arm, condition: &Condition, target: &Target) -> (Permit, String) {
        let execute = arm.is_command() && self.settings.may_execute;
        let written = target.made.as_ref().filter(|_| condition.workload.writes());
        match written.and_then(|file| Some((file, sys::folder::identity(file).ok()?))) {
            Some((file, (device, inode))) => {
                let permit = Permit { execute, write: Some(FileIdentity { device, inode }) };
                (permit, sys::folder::path_of(file).display().to_string())
            }
            None => (Permit { execute, write: None }, target.path.clone()),
        }
    }
}
