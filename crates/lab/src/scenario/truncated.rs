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
    observe,
};

fn observe(scene: &Scene) -> Result<ScenarioResult, String> {
    let page = sys::page_bytes();
    let scratch = Scratch::beside(scene.target, 4)?;
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
    let by_mapping = match link.go(1, Duration::from_secs(20)) {
        Ok(_) => "read on".to_string(),
        Err(trouble) => in_words(trouble),
    };
    let mut byte = [0u8];
    let by_read = rustix::io::pread(scratch.file.as_fd(), &mut byte, 2 * page);
    Ok(ScenarioResult {
        holds: by_mapping.contains("SIGBUS") && by_read == Ok(0),
        evidence: format!(
            "with the file cut to one page: {by_mapping}; pread(2) there {}",
            match by_read {
                Ok(count) => format!("returned {count}"),
                Err(error) => format!("said {error}"),
            }
        ),
    })
}
