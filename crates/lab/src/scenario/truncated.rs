//! What happens to a reader when the file gets shorter: a mapping raises SIGBUS, a system call returns fewer bytes.

use std::{os::fd::AsFd, time::Duration};

use schema::{
    Arm, Span,
    protocol::{Hold, Job},
    record::ScenarioResult,
};

use super::{Scenario, Scene, scratch::Scratch};
use crate::{
    link::{Link, Trouble},
    runtime,
};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "truncated-mapping",
    about: "reading a mapping past the end of a truncated file is SIGBUS, where read(2) returns 0",
    scratch_bytes: |page| PAGES * page,
    observe,
};

const PAGES: u64 = 4;

fn observe(scene: &Scene) -> Result<ScenarioResult, String> {
    let page = sys::page_bytes();
    let scratch = Scratch::beside(scene.target, PAGES)?;
    let arm: Arm = "mmap".parse().expect("a method of ours");
    let job = Job {
        block_bytes: page,
        ops: 4,
        // Mapped before the file gets shorter.
        hold: Hold::Warm,
        ..Job::new(&arm, &scratch.path(), Span { offset: 0, bytes: scratch.bytes })
    };
    let command = runtime::worker(&arm)?;
    let in_words = |trouble| match trouble {
        Trouble::Failed(reason) | Trouble::Unavailable(reason) => reason,
        Trouble::Interrupted => "interrupted".to_string(),
    };
    let (mut link, _) = Link::start(command, scene.interrupted).map_err(in_words)?;
    link.prepare(&job).map_err(in_words)?;
    scratch.file.set_len(page).map_err(|error| format!("ftruncate(2): {error}"))?;
    let by_mapping = link.go(1, Duration::from_secs(20)).map(drop).map_err(in_words);
    let mut byte = [0u8];
    let by_read = rustix::io::pread(scratch.file.as_fd(), &mut byte, 2 * page);
    judged(by_mapping, by_read.map_err(|error| format!("pread(2): {error}")))
}

/// By how the worker that reads the mapping ended, and how many bytes a call returned.
///
/// # Errors
/// One of them failed in another way, which says nothing of a file that is shorter.
fn judged(by_mapping: Result<(), String>, by_read: Result<usize, String>) -> Result<ScenarioResult, String> {
    let (is_stopped, mapping) = match by_mapping {
        Ok(()) => (false, "read on".to_string()),
        Err(reason) if reason.contains("SIGBUS") => (true, reason),
        Err(reason) => return Err(reason),
    };
    let count = by_read?;
    Ok(ScenarioResult {
        holds: is_stopped && count == 0,
        evidence: format!("with the file cut to one page: {mapping}; pread(2) there returned {count}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::NO_PAGE;

    #[test]
    fn a_worker_that_fails_in_another_way_says_nothing_of_a_shorter_file() {
        let holds = |by_mapping: Result<(), &str>, by_read: Result<usize, &str>| {
            judged(by_mapping.map_err(str::to_string), by_read.map_err(str::to_string)).map(|it| it.holds).ok()
        };
        assert_eq!(holds(Err(NO_PAGE), Ok(0)), Some(true));
        assert_eq!([holds(Ok(()), Ok(0)), holds(Err(NO_PAGE), Ok(1))], [Some(false); 2]);
        assert_eq!([holds(Err("no answer within 20 s"), Ok(0)), holds(Err(NO_PAGE), Err("EIO"))], [None; 2]);
    }
}
