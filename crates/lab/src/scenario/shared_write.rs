//! Whether a store through a shared mapping is seen by read(2), by another process, and reaches the device.

use std::process::Command;

use schema::record::ScenarioResult;
use sys::{
    cache::Way,
    pages::{Pages, Sharing},
};

use super::{
    Scenario, Scene,
    scratch::{NEW, Scratch, no_store},
};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "shared-write",
    about: "a store through MAP_SHARED is seen by read(2) and by other processes, and reaches the file",
    observe,
};

fn observe(scene: &Scene) -> Result<ScenarioResult, String> {
    let page = sys::page_bytes();
    let scratch = Scratch::beside(scene.target, 2)?;
    let mut mapping = Pages::map(&scratch.file, scratch.bytes, Sharing::Shared).map_err(|error| error.to_string())?;
    mapping.store(page, NEW).map_err(no_store)?;
    let by_read = scratch.read(page)?;
    let other = Command::new("cat")
        .arg(scratch.path())
        .output()
        .map_err(|error| format!("another process (cat) is needed: {error}"))?;
    let by_other = *other.stdout.get(page as usize).ok_or_else(|| {
        format!("another process could not read the file: {}", String::from_utf8_lossy(&other.stderr).trim())
    })?;
    mapping.sync().map_err(|error| format!("msync(2): {error}"))?;
    drop(mapping);
    // Read in anew: what comes back now comes from the file.
    sys::cache::evict(&scratch.file, 0, 0).map_err(|error| format!("the scratch file cannot be evicted: {error}"))?;
    let way = [Way::Cachestat, Way::Mincore].into_iter().find(|it| it.shows(&scratch.file));
    let is_evicted = way.is_some_and(|it| it.resident_pages(&scratch.file, 0, scratch.bytes).is_ok_and(|it| it == 0));
    let eviction = if is_evicted { " and eviction" } else { "" };
    let from_file = scratch.read(page)?;
    Ok(ScenarioResult {
        holds: [by_read, by_other, from_file].iter().all(|&it| it == NEW),
        evidence: format!(
            "after storing {:?}, read(2) sees {:?}, another process {:?}, and after msync(2){eviction} the file holds \
             {:?}",
            NEW as char, by_read as char, by_other as char, from_file as char
        ),
    })
}
