//! What a worker is asked to do, and what it may do.

use schema::{
    Arm, Condition,
    leftover::FileIdentity,
    protocol::{Job, Permit, TraceOf},
    runtime::NATIVE,
    trace::Traced,
};

use super::super::Bench;
use crate::{state, target::Target};

impl Bench<'_> {
    /// What a worker is asked to do with the target, or with a copy of it.
    pub(in crate::execute) fn job(&self, arm: &Arm, condition: &Condition, target: &Target) -> Job {
        let made = target.made.as_ref().and_then(|file| Some((file, sys::folder::identity(file).ok()?)));
        let identity = made.map(|(_, (device, inode))| FileIdentity { device, inode });
        let permit = permit(arm, condition, identity, self.settings.may_execute);
        let file = match made {
            // A path could lead to another file by now.
            Some((file, _)) if permit.write.is_some() => sys::folder::path_of(file).display().to_string(),
            _ => target.path.clone(),
        };
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
            untimed: false,
            trace: condition.trace.as_ref().and_then(|it| self.trace(it, target)),
            beside: condition.beside,
            own_work_ns: own_work_ns(condition),
        }
    }

    /// Among those that the user named. Without it the worker refuses the job.
    fn trace(&self, traced: &Traced, target: &Target) -> Option<TraceOf> {
        let trace = self.settings.traces.iter().find(|it| it.digest == traced.digest)?;
        Some(trace.job(traced, target.named.as_ref()))
    }

    /// Whether loops in other languages than that of the native worker are among what is compared.
    fn compares_runtimes(&self) -> bool {
        let mut arms = self.record.cells.iter().map(|it| &it.arm);
        arms.any(|it| it.runtime != NATIVE.name && !it.is_command())
    }
}

/// A trial makes a part of the accesses.
fn own_work_ns(condition: &Condition) -> u64 {
    let all = condition.trace.as_ref().map_or(1, |it| it.accesses.max(1));
    (u128::from(condition.own_work_ns) * u128::from(condition.ops.min(all)) / u128::from(all)) as u64
}

/// What a job may do beyond reading: the one place where that is decided. Commands are executed where the user said so, and
/// the only file that is written is the one that faultline made.
fn permit(arm: &Arm, condition: &Condition, made: Option<FileIdentity>, may_execute: bool) -> Permit {
    Permit { execute: arm.is_command() && may_execute, write: made.filter(|_| condition.workload.writes()) }
}

#[cfg(test)]
mod tests {
    use planted::{Effort, Random, mutated};
    use schema::{
        Experiment, Fill, State, builtin,
        command::{self, COMMAND, Spec},
    };
    use serde_json::Value;

    use super::*;
    use crate::plan::{Plan, RANGE_BYTES_MAX};

    /// Experiments as records have them: of reads, of writes, and of commands.
    fn corpus() -> Vec<Value> {
        let built_in = builtin::all().map(|(name, text)| Experiment::parse(name, text).unwrap());
        let writes = |it: &Experiment| it.comparisons.iter().any(|it| it.workload.iter().any(|it| it.writes()));
        let (writing, reading): (Vec<Experiment>, Vec<Experiment>) = built_in.partition(writes);
        let spec = |line: &str| Spec {
            line: line.into(),
            name: line.into(),
            shell: Some("/bin/sh".into()),
            prepare: Some("touch prepared".into()),
            cleanup: None,
            timeout_s: 5,
            compared: schema::command::Compared::Output,
        };
        let commands = command::experiment(&[spec("touch a"), spec("touch b")], &[State::Cold], &[Fill::Sequential]);
        [&reading[..2], &writing[..2], &[commands]]
            .concat()
            .iter()
            .map(|it| serde_json::to_value(it).unwrap())
            .collect()
    }

    #[test]
    fn no_record_of_a_stranger_gives_a_job_that_executes_or_that_writes_to_a_file_not_made_here() {
        let corpus = corpus();
        let made = FileIdentity { device: 1, inode: 2 };
        let (mut jobs, mut writing, mut commands, mut refused) = (0, 0, 0, 0);
        for seed in Effort::of(300).seeds() {
            let any = serde_json::from_value::<Experiment>(mutated(&corpus, &mut Random(seed)));
            let Some(experiment) = any.ok().and_then(|it| it.resolved().ok()) else {
                refused += 1;
                continue;
            };
            let plan = Plan::new(&experiment, 1 << 20, RANGE_BYTES_MAX, |_| Ok(()));
            for cell in plan.cells {
                let condition = &plan.conditions[cell.condition];
                jobs += 1;
                writing += u64::from(condition.workload.writes());
                commands += u64::from(cell.arm.runtime == COMMAND);
                assert!(permit(&cell.arm, condition, None, false).is_empty(), "seed {seed}");
                let of_made = permit(&cell.arm, condition, Some(made), false);
                assert!(
                    !of_made.execute && of_made.write == condition.workload.writes().then_some(made),
                    "seed {seed}"
                );
            }
        }
        println!("experiments: {jobs} jobs, {writing} that write, {commands} that execute, {refused} inputs refused");
        assert!(writing > 0 && commands > 0 && jobs > writing + commands && refused > 0);
    }
}
