//! Whether a MappedByteBuffer is bound by MaxDirectMemorySize, as a direct buffer is: a JVM with little of it is asked for
//! either, of the same size.

use std::time::Duration;

use schema::{
    Arm, Bytes, Span,
    protocol::{Done, Job},
    record::ScenarioResult,
};

use super::{Scenario, Scene, scratch::Scratch};
use crate::{
    link::{Link, Trouble},
    runtime,
};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "mapping-beyond-direct-memory",
    about: "a JVM whose direct memory is used up can still map a file",
    scratch_bytes: |_| BLOCK_BYTES,
    observe,
};

const LIMIT_BYTES: u64 = 1 << 20;
const BLOCK_BYTES: u64 = 4 << 20;

fn observe(scene: &Scene) -> Result<ScenarioResult, String> {
    let scratch = Scratch::beside(scene.target, BLOCK_BYTES.div_ceil(sys::page_bytes()))?;
    let by_buffer = attempt(scene, "jvm/channel-direct", &scratch);
    let by_mapping = attempt(scene, "jvm/mapped", &scratch);
    let described = |outcome: Result<Done, Trouble>| match outcome {
        Ok(done) => Ok((true, format!("{} were read", Bytes(done.tally.bytes)))),
        Err(Trouble::Unavailable(reason)) if reason.contains("OutOfMemoryError") => Ok((false, reason)),
        Err(Trouble::Failed(reason) | Trouble::Unavailable(reason)) => Err(reason),
        Err(Trouble::Interrupted) => Err("interrupted".to_string()),
    };
    judged(described(by_buffer)?, described(by_mapping)?)
}

/// By whether each of both was had, and what was seen of it.
///
/// # Errors
/// The direct buffer was had, too: nothing is known of a limit that does not bind.
fn judged(buffer: (bool, String), mapping: (bool, String)) -> Result<ScenarioResult, String> {
    let (limit, block) = (Bytes(LIMIT_BYTES), Bytes(BLOCK_BYTES));
    let evidence = format!(
        "with MaxDirectMemorySize of {limit}, through a direct buffer of {block}: {}; through a mapping of {block}: {}",
        buffer.1, mapping.1
    );
    match buffer.0 {
        true => Err(format!("{evidence}; the limit does not bind here (_JAVA_OPTIONS may set another one)")),
        false => Ok(ScenarioResult { holds: mapping.0, evidence }),
    }
}

fn attempt(scene: &Scene, arm: &str, scratch: &Scratch) -> Result<Done, Trouble> {
    let arm: Arm = arm.parse().expect("a method of ours");
    let mut command = runtime::worker(&arm).map_err(Trouble::Unavailable)?;
    command.env("JDK_JAVA_OPTIONS", format!("-XX:MaxDirectMemorySize={LIMIT_BYTES}"));
    let job = Job::new(&arm, &scratch.path(), Span { offset: 0, bytes: BLOCK_BYTES });
    Link::one_pass(command, &job, Duration::from_secs(20), scene.interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_limit_that_does_not_bind_nothing_is_known() {
        let holds = |buffer: bool, mapping: bool| {
            let of = |works: bool| (works, "seen".to_string());
            judged(of(buffer), of(mapping)).map(|it| it.holds).ok()
        };
        assert_eq!([holds(false, true), holds(false, false)], [Some(true), Some(false)]);
        assert_eq!([holds(true, true), holds(true, false)], [None, None]);
    }
}
