//! Whether a store through a private mapping stays private, and copies just the page it hits.

use schema::record::ScenarioResult;
use sys::pages::{Pages, Sharing};

use super::{
    Scenario, Scene,
    scratch::{NEW, OLD, Scratch, no_store},
};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "private-write",
    about: "a store through MAP_PRIVATE is invisible to other processes, and copies one page",
    scratch_bytes: |page| PAGES * page,
    observe,
};

const PAGES: u64 = 16;

fn observe(scene: &Scene) -> Result<ScenarioResult, String> {
    let page = sys::page_bytes();
    let scratch = Scratch::beside(scene.target, PAGES)?;
    let mut mapping = Pages::map(&scratch.file, scratch.bytes, Sharing::Private).map_err(|error| error.to_string())?;
    let at = 3 * page;
    mapping.store(at, NEW).map_err(no_store)?;
    let here = mapping.load(at).map_err(no_store)?;
    let others = scratch.read(at)?;
    let smaps = sys::process::mappings(std::process::id()).map_err(|error| format!("/proc/self/smaps: {error}"))?;
    let ours = smaps.iter().find(|it| it.addresses.starts_with(&mapping.address()));
    let copied = ours.ok_or("the mapping is not in /proc/self/smaps")?.anonymous_bytes / page;
    Ok(ScenarioResult {
        holds: here == NEW && others == OLD && copied == 1,
        evidence: format!(
            "after storing {:?} through the mapping, it holds {:?} there and the file {:?}; {copied} of {PAGES} pages \
             became memory of this process",
            NEW as char, here as char, others as char
        ),
    })
}
