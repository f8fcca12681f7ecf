//! Whether mapping files uses up the address space until things fail, while reading goes on: one worker under
//! RLIMIT_AS maps a window of the file in more and more threads, each with a mapping of its own, until the kernel
//! refuses; then the same number of threads reads the same window.

use std::{sync::atomic::AtomicBool, time::Duration};

use schema::{
    Arm, Bytes, Span,
    protocol::{Done, Job},
    record::Observation,
};

use super::{Scenario, Scene};
use crate::{
    Target,
    link::{Link, Trouble},
    runtime,
};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "address-space",
    about: "mappings exhaust a limited address space, and reads go on under the same limit",
    observe,
};

/// Enough for the worker itself with a few threads.
const LIMIT_BYTES: u64 = 512 << 20;
const WINDOW_BYTES: u64 = 64 << 20;
const THREADS_MAX: u32 = 64;

fn observe(scene: &Scene) -> Result<Observation, String> {
    let window = scene.target.bytes.min(WINDOW_BYTES);
    let mut mapped = 0;
    let mut threads = 1;
    let refusal = loop {
        match attempt(scene.target, "mmap", threads, window, scene.interrupted) {
            Ok(_) => mapped = threads,
            Err(Trouble::Interrupted) => return Err("interrupted".into()),
            Err(Trouble::Failed(reason) | Trouble::Unavailable(reason)) => break Some(reason),
        }
        if threads >= THREADS_MAX {
            break None;
        }
        threads *= 2;
    };
    let limit = Bytes(LIMIT_BYTES);
    let window_shown = Bytes(window);
    let Some(refusal) = refusal else {
        return Ok(Observation {
            holds: false,
            evidence: format!("{threads} mappings of {window_shown} fit under an address-space limit of {limit}"),
        });
    };
    let read = attempt(scene.target, "pread", threads, window, scene.interrupted);
    let evidence = format!(
        "under an address-space limit of {limit}, {mapped} mappings of {window_shown} worked and {threads} did not ({refusal})"
    );
    Ok(match read {
        Ok(done) => Observation {
            holds: true,
            evidence: format!(
                "{evidence}; pread in {threads} threads read {} bytes under the same limit",
                done.tally.bytes
            ),
        },
        Err(Trouble::Failed(reason) | Trouble::Unavailable(reason)) => Observation {
            holds: false,
            evidence: format!("{evidence}; but pread in {threads} threads failed too: {reason}"),
        },
        Err(Trouble::Interrupted) => return Err("interrupted".into()),
    })
}

fn attempt(target: &Target, arm: &str, threads: u32, window: u64, interrupted: &AtomicBool) -> Result<Done, Trouble> {
    let arm: Arm = arm.parse().expect("a method of ours");
    let mut command = runtime::worker(&arm).map_err(Trouble::Unavailable)?;
    sys::process::limit_address_space(&mut command, LIMIT_BYTES);
    let block_bytes = 64 << 10;
    let blocks = window.div_ceil(block_bytes);
    let job = Job {
        block_bytes,
        ops: blocks * u64::from(threads),
        threads,
        ..Job::new(&arm, &target.path, Span { offset: 0, bytes: window })
    };
    Link::one_pass(command, &job, Duration::from_secs(60), interrupted)
}
