//! Whether mapping a file uses up the address space until things fail, while reading goes on. First the smallest limit
//! (RLIMIT_AS) is found under which a worker reads the file with all its threads; then as many threads map it under
//! that limit. So a failure for lack of address space is caused by the mappings, whatever the threads themselves need.

use std::{sync::atomic::AtomicBool, time::Duration};

use schema::{Arm, Bytes, Span, protocol::Job, record::ScenarioResult};

use super::{Scenario, Scene};
use crate::{
    link::{Link, Trouble},
    runtime,
    target::Target,
};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "address-space",
    about: "mappings exhaust a limited address space; reads still work under the same limit",
    scratch_bytes: |_| 0,
    observe,
};

/// What each thread maps, or reads.
const WINDOW_BYTES: u64 = 16 << 20;
const THREADS: u32 = 16;
/// All mappings together: the limit is found to half of this, and the needs of a process vary from one to the next.
const MAPPED_LEAST: u64 = 64 << 20;
/// Limits are looked for between these.
const LIMIT_LEAST: u64 = 32 << 20;
const LIMIT_MOST: u64 = 16 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Map,
}

fn observe(scene: &Scene) -> Result<ScenarioResult, String> {
    let window = scene.target.bytes.min(WINDOW_BYTES);
    decide(window, |way, limit| attempt(scene.target, way, limit, window, scene.interrupted))
}

/// `attempt` has every thread read or map a window under a limit.
fn decide(window: u64, mut attempt: impl FnMut(Way, u64) -> Result<(), Trouble>) -> Result<ScenarioResult, String> {
    let mapped = window * u64::from(THREADS);
    if mapped < MAPPED_LEAST {
        return Err(format!(
            "{THREADS} mappings of {} are too small compared to the memory of the threads themselves; try a target of \
             {} or more",
            Bytes(window),
            Bytes(MAPPED_LEAST / u64::from(THREADS))
        ));
    }
    let mut works = |way: Way, limit: u64| match attempt(way, limit) {
        Ok(()) => Ok(None),
        Err(Trouble::Interrupted) => Err("interrupted".to_string()),
        Err(Trouble::Failed(reason) | Trouble::Unavailable(reason)) => Ok(Some(reason)),
    };
    let (mut enough, mut too_little) = (LIMIT_LEAST, 0);
    while let Some(reason) = works(Way::Read, enough)? {
        too_little = enough;
        enough *= 2;
        if enough > LIMIT_MOST {
            return Err(format!(
                "{THREADS} threads that read cannot start even with {} of address space: {reason}",
                Bytes(too_little)
            ));
        }
    }
    while enough - too_little > mapped / 2 {
        let middle = too_little + (enough - too_little) / 2;
        match works(Way::Read, middle)? {
            None => enough = middle,
            Some(_) => too_little = middle,
        }
    }
    let read =
        format!("{THREADS} threads read {} each under an address-space limit of {}", Bytes(window), Bytes(enough));
    let Some(refusal) = works(Way::Map, enough)? else {
        return Ok(ScenarioResult {
            holds: false,
            evidence: format!("{read}, and as many mapped it under the same limit"),
        });
    };
    // More address space must be all that was missing. How much more is not only the mappings: the allocator of each
    // thread reserves what it can get.
    let mut more = enough + mapped;
    while let Some(reason) = works(Way::Map, more)? {
        more *= 2;
        if more > LIMIT_MOST {
            return Err(format!("mapping fails with {} of address space too: {reason}", Bytes(more / 2)));
        }
    }
    Ok(ScenarioResult {
        holds: true,
        evidence: format!(
            "{read}; mapping it failed under the same limit ({refusal}) and worked under one of {}",
            Bytes(more)
        ),
    })
}

fn attempt(target: &Target, way: Way, limit: u64, window: u64, interrupted: &AtomicBool) -> Result<(), Trouble> {
    let arm = match way {
        Way::Read => "pread",
        Way::Map => "mmap",
    };
    let arm: Arm = arm.parse().map_err(Trouble::Unavailable)?;
    let mut command = runtime::worker(&arm).map_err(Trouble::Unavailable)?;
    sys::process::limit_address_space(&mut command, limit);
    let block_bytes = 64 << 10;
    let blocks = window.div_ceil(block_bytes);
    let job = Job {
        block_bytes,
        ops: blocks * u64::from(THREADS),
        threads: THREADS,
        ..Job::new(&arm, &target.path, Span { offset: 0, bytes: window })
    };
    Link::one_pass(command, &job, Duration::from_secs(60), interrupted).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Processes that need so much to start, and so much for every mapping.
    fn with_needs(start: u64, mapping: u64, window: u64) -> Result<ScenarioResult, String> {
        decide(window, |way, limit| {
            let mapped = if way == Way::Map { mapping * u64::from(THREADS) } else { 0 };
            if start + mapped <= limit { Ok(()) } else { Err(Trouble::Failed("Cannot allocate memory".into())) }
        })
    }

    #[test]
    fn mappings_that_take_address_space_hold_whatever_the_threads_themselves_need() {
        for window in [4 * MIB, 5 * MIB, 16 * MIB] {
            for start in [MIB, 33 * MIB, 400 * MIB, 512 * MIB, 513 * MIB, 3000 * MIB] {
                let seen = with_needs(start, window, window).unwrap();
                assert!(seen.holds, "{start} {window}: {}", seen.evidence);
            }
        }
    }

    #[test]
    fn mappings_that_take_none_do_not() {
        for start in [MIB, 512 * MIB, 513 * MIB] {
            let seen = with_needs(start, 0, 16 * MIB).unwrap();
            assert!(!seen.holds, "{start}: {}", seen.evidence);
        }
    }

    #[test]
    fn what_could_not_start_and_what_fails_for_another_reason_is_not_testable() {
        assert!(with_needs(1 << 40, 16 * MIB, 16 * MIB).is_err(), "no thread starts");
        assert!(with_needs(33 * MIB, 1 << 40, 16 * MIB).is_err(), "more address space does not help");
        let interrupted = decide(16 * MIB, |_, _| Err(Trouble::Interrupted));
        assert_eq!(interrupted, Err("interrupted".to_string()));
    }

    #[test]
    fn a_file_too_small_to_tell_is_not_testable() {
        for window in [0, 4096, 3 * MIB] {
            assert!(with_needs(100 * MIB, window, window).is_err(), "{window}");
        }
    }
}
