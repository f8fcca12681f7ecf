//! Where a program gets the error of a device that refused its bytes: not at the store or at write(2), which only reach
//! the page cache, but at msync(2) and fsync(2).

use std::os::unix::fs::FileExt;

use schema::record::ScenarioResult;
use sys::pages::{Pages, Sharing};

use super::{Scenario, Scene, disk_of_our_own};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "write-error-at-sync",
    about: "a write error is reported at msync(2) and fsync(2), and not before",
    scratch_bytes: |_| 0,
    observe,
};

fn observe(scene: &Scene) -> Result<ScenarioResult, String> {
    // One disk each: an error is reported once, to the first call that checks.
    let (written, synced) = refused(scene, |disk| {
        let written = disk.write_all_at(b"n", 0);
        Ok((written, disk.sync_all()))
    })?;
    let (unmapped, msynced) = refused(scene, |disk| {
        let page = sys::page_bytes();
        let mut mapping = Pages::map(disk, page, Sharing::Shared).map_err(|error| format!("mmap(2): {error}"))?;
        // A store returns nothing: that this line is passed is its success.
        mapping.store(0, b'n').map_err(|error| format!("the store: {error}"))?;
        Ok((Ok(()), mapping.sync()))
    })?;
    let described = |result: &std::io::Result<()>| match result {
        Ok(()) => "succeeded".to_string(),
        Err(error) => format!("said {error}"),
    };
    Ok(ScenarioResult {
        holds: written.is_ok() && synced.is_err() && unmapped.is_ok() && msynced.is_err(),
        evidence: format!(
            "on a disk that refuses every write: write(2) {}, fsync(2) {}; a store into a mapping succeeded, msync(2) \
             {}",
            described(&written),
            described(&synced),
            described(&msynced)
        ),
    })
}

type WriteResults = (std::io::Result<()>, std::io::Result<()>);

fn refused(
    scene: &Scene,
    act: impl Fn(&std::fs::File) -> Result<WriteResults, String>,
) -> Result<WriteResults, String> {
    let disk = disk_of_our_own::bare(scene, 4 << 20)?;
    // In the page cache, so that nothing has to be read any more.
    disk.device().read_exact_at(&mut [0; 4096], 0).map_err(|error| format!("pread(2): {error}"))?;
    disk.refuse_writes().map_err(|error| format!("fcntl(2) F_ADD_SEALS: {error}"))?;
    act(disk.device())
}
