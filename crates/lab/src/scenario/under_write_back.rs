//! Whether a writer waits for its page while that is on its way to the device. Linux makes it wait only where the device or
//! the file system needs pages that hold still (`folio_wait_stable` in mm/page-writeback.c; `stable_pages_required` of the
//! device). Told without a clock: a store that returned while its page was still under write-back did not wait for it.

use std::os::unix::fs::FileExt;

use schema::record::ScenarioResult;
use sys::pages::{Pages, Sharing};

use super::{
    Scenario, Scene,
    scratch::{NEW, OLD, Scratch, no_store},
};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "stall-under-write-back",
    about: "a writer waits while its page is under write-back",
    scratch_bytes: |page| PAGES * page,
    observe,
};

const PAGES: u64 = 4096;

/// So many stores of each kind must have been to a page under write-back.
const ENOUGH: u64 = 8;

/// Stores of one kind.
#[derive(Default)]
struct StoreCounts {
    /// To a page under write-back.
    met: u64,
    /// Of those, that returned before it was written back.
    passed: u64,
}

fn observe(scene: &Scene) -> Result<ScenarioResult, String> {
    let mapped = stores(scene, |_, mapping, offset| mapping.store(offset, NEW))?;
    let written = stores(scene, |scratch, _, offset| scratch.file.write_all_at(&[NEW], offset))?;
    Ok(ScenarioResult {
        holds: holds(&mapped, &written)?,
        evidence: format!(
            "{} of {} stores and {} of {} write(2) to a page under write-back returned before it was written back",
            mapped.passed, mapped.met, written.passed, written.met
        ),
    })
}

/// One store that passed shows that none has to wait. That none passed shows something only of many: write-back may end
/// between a store and the look at its page.
fn holds(mapped: &StoreCounts, written: &StoreCounts) -> Result<bool, String> {
    let passed = mapped.passed + written.passed > 0;
    if !passed && mapped.met.min(written.met) < ENOUGH {
        let (mapped, written) = (mapped.met, written.met);
        return Err(format!(
            "write-back had ended for all but {mapped} and {written} pages before the stores; try a target on a slower \
             device"
        ));
    }
    Ok(!passed)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_stores_that_waited_show_nothing_and_one_that_did_not_shows_all() {
        let of = |met: u64, passed: u64| StoreCounts { met, passed };
        assert_eq!(holds(&of(100, 0), &of(100, 0)), Ok(true));
        assert_eq!(holds(&of(1, 1), &of(0, 0)), Ok(false));
        assert_eq!(holds(&of(100, 0), &of(100, 3)), Ok(false));
        assert!(holds(&of(100, 0), &of(1, 0)).is_err() && holds(&of(0, 0), &of(0, 0)).is_err());
    }
}
