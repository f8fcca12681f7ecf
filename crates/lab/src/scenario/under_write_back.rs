//! Whether a writer waits for its page while that is on its way to the device. Linux makes it wait only where the device or
//! the file system needs pages that hold still (`folio_wait_stable` in mm/page-writeback.c; `stable_pages_required` of the
//! device). Told without a clock: a store that returned while its page was still under write-back did not wait for it.

use std::os::unix::fs::FileExt;

use schema::record::Observation;
use sys::pages::{Pages, Sharing};

use super::{
    Scenario, Scene,
    scratch::{NEW, OLD, Scratch, no_store},
};

pub(super) const SCENARIO: Scenario =
    Scenario { name: "stall-under-write-back", about: "a writer waits while its page is under write-back", observe };

const PAGES: u64 = 4096;

/// Stores of one kind.
#[derive(Default)]
struct StoreCounts {
    /// That met their page under write-back.
    met: u64,
    /// Of those, that returned before it was written back.
    passed: u64,
}

fn observe(scene: &Scene) -> Result<Observation, String> {
    let mapped = stores(scene, |_, mapping, offset| mapping.store(offset, NEW))?;
    let written = stores(scene, |scratch, _, offset| scratch.file.write_all_at(&[NEW], offset))?;
    if mapped.met.min(written.met) == 0 {
        return Err(
            "the device had written every page back before it could be stored to; try a target on a slower one".into(),
        );
    }
    Ok(Observation {
        holds: mapped.passed + written.passed == 0,
        evidence: format!(
            "{} of {} stores and {} of {} write(2) to a page under write-back returned before it was written back",
            mapped.passed, mapped.met, written.passed, written.met
        ),
    })
}

fn stores(
    scene: &Scene,
    store: impl Fn(&Scratch, &mut Pages, u64) -> std::io::Result<()>,
) -> Result<StoreCounts, String> {
    let scratch = Scratch::beside(scene.target, PAGES)?;
    let page = sys::page_bytes();
    let mut mapping = scratch.map(Sharing::Shared)?;
    for index in 0..PAGES {
        mapping.store(index * page, OLD + 1).map_err(no_store)?;
    }
    sys::cache::start_write_back(&scratch.file, 0, scratch.bytes)
        .map_err(|error| format!("sync_file_range(2): {error}"))?;
    let mut seen = StoreCounts::default();
    let under_write_back = |offset: u64| -> Result<bool, String> {
        let stat = sys::cache::cachestat(&scratch.file, offset, page);
        stat.map(|it| it.writeback > 0).map_err(|error| format!("cachestat(2), Linux 6.5: {error}"))
    };
    // From the end: what was submitted last is on its way longest.
    for index in (0..PAGES).rev() {
        let offset = index * page;
        if under_write_back(offset)? {
            store(&scratch, &mut mapping, offset).map_err(no_store)?;
            seen.met += 1;
            seen.passed += u64::from(under_write_back(offset)?);
        }
    }
    Ok(seen)
}
