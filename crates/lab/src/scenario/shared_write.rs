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
    scratch_bytes: |page| PAGES * page,
    observe,
};

const PAGES: u64 = 2;

fn observe(scene: &Scene) -> Result<ScenarioResult, String> {
    let page = sys::page_bytes();
    let scratch = Scratch::beside(scene.target, PAGES)?;
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
    judged([by_read, by_other, scratch.read(page)?], is_evicted)
}

/// By what read(2) saw, then another process, and then read(2) once the pages were gone.
///
/// # Errors
/// They stayed: what is read then is what the page cache holds, and not what reached the file.
fn judged(seen: [u8; 3], is_evicted: bool) -> Result<ScenarioResult, String> {
    let [by_read, by_other, from_file] = seen;
    // What read(2) or another process did not see is refuted, whatever reached the file.
    if !is_evicted && [by_read, by_other] == [NEW; 2] {
        return Err("the pages of the scratch file stay in memory, so what reached the file cannot be seen".into());
    }
    let from_file = match is_evicted {
        true => format!("after msync(2) and eviction the file holds {:?}", from_file as char),
        false => "its pages stayed in memory".into(),
    };
    Ok(ScenarioResult {
        holds: seen == [NEW; 3],
        evidence: format!(
            "after storing {:?}, read(2) sees {:?}, another process {:?}, and {from_file}",
            NEW as char, by_read as char, by_other as char
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::{super::scratch::OLD, *};

    #[test]
    fn what_stays_in_memory_says_nothing_of_the_file() {
        let holds = |seen: [u8; 3], is_evicted: bool| judged(seen, is_evicted).map(|it| it.holds).ok();
        assert_eq!([holds([NEW; 3], true), holds([NEW, NEW, OLD], true)], [Some(true), Some(false)]);
        assert_eq!(holds([NEW; 3], false), None);
        let refuted = judged([OLD, NEW, NEW], false).unwrap();
        assert!(!refuted.holds && !refuted.evidence.contains("eviction"), "{}", refuted.evidence);
    }
}
