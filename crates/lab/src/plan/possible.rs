//! What is possible with a target, checked before anything is measured. A run and its dry run make the same checks.

use std::sync::atomic::AtomicBool;

use schema::{Arm, Condition, Consume, Skip, Span, protocol::Job};

use crate::{
    cgroups::Cgroups,
    link::{Link, Trouble},
    runtime,
    state::{self, fill, writing},
    target::Target,
};

/// Whether the state, the limits and the workload of a condition can be had of this target.
///
/// # Errors
/// Why not, and what would help.
pub fn condition(condition: &Condition, target: &Target, cgroups: &Cgroups) -> Result<(), String> {
    state::possible(condition.state, target)?;
    condition.fill().map_or(Ok(()), |it| fill::possible(it, target, condition.range.end()))?;
    writing::possible(condition, target)?;
    cgroups.possible(condition, target)
}

/// Whether a worker can make ready to read one block of this size and to do this with its bytes; no pass is made.
///
/// # Errors
/// What the machine or the file system lacks.
pub fn arm(
    arm: &Arm,
    target: &Target,
    (block_bytes, consume): (u64, Consume),
    interrupted: &AtomicBool,
) -> Result<(), Skip> {
    let block_bytes = target.bytes.min(block_bytes);
    let job = Job { consume, ..Job::new(arm, &target.path, Span { offset: 0, bytes: block_bytes }) };
    let worker = runtime::worker(arm).map_err(Skip::Unavailable)?;
    let asked = Link::start(worker, interrupted).and_then(|(mut link, _)| {
        link.prepare(&job)?;
        link.bye()
    });
    match asked {
        Ok(()) => Ok(()),
        Err(Trouble::Unavailable(reason)) => Err(Skip::Unavailable(reason)),
        Err(Trouble::Failed(reason)) => Err(Skip::Failed(reason)),
        Err(Trouble::Interrupted) => Err(Skip::Failed("interrupted".into())),
    }
}
