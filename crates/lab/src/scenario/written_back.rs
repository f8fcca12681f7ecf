//! Which calls take stored bytes from the page cache to the device, seen by the pages that stay dirty.

use std::io::Write;

use schema::record::Observation;
use sys::pages::{Pages, Sharing};

use super::{
    Scenario, Scene,
    scratch::{NEW, Scratch},
};

pub(super) const WRITE: Scenario = Scenario {
    name: "write-is-cached",
    about: "write(2) leaves its bytes in the page cache until fsync(2)",
    observe: write,
};

pub(super) const MUNMAP: Scenario =
    Scenario { name: "munmap-syncs", about: "munmap(2) writes dirty pages to the device", observe: munmap };

pub(super) const ASYNC: Scenario =
    Scenario { name: "msync-async", about: "msync(2) with MS_ASYNC starts no write-back", observe: msync_async };

pub(super) const BEFORE: Scenario = Scenario {
    name: "dirty-before-store",
    about: "a write fault marks a mapped page dirty before anything is stored",
    observe: dirty_before_store,
};

const PAGES: u64 = 16;

fn write(scene: &Scene) -> Result<Observation, String> {
    let mut scratch = Scratch::beside(scene.target, PAGES)?;
    rustix::fs::seek(&scratch.file, rustix::fs::SeekFrom::Start(0)).map_err(|error| format!("lseek(2): {error}"))?;
    scratch.file.write_all(&vec![NEW; scratch.bytes as usize]).map_err(|error| format!("write(2): {error}"))?;
    let written = dirty(&scratch)?;
    scratch.file.sync_all().map_err(|error| format!("fsync(2): {error}"))?;
    let synced = dirty(&scratch)?;
    Ok(Observation {
        holds: written > 0 && synced == 0,
        evidence: format!("of {PAGES} pages {written} were dirty after write(2) and {synced} after fsync(2)"),
    })
}

fn munmap(scene: &Scene) -> Result<Observation, String> {
    let scratch = Scratch::beside(scene.target, PAGES)?;
    drop(stored(&scratch)?);
    let unmapped = dirty(&scratch)?;
    scratch.file.sync_all().map_err(|error| format!("fsync(2): {error}"))?;
    let synced = dirty(&scratch)?;
    Ok(Observation {
        holds: unmapped == 0,
        evidence: format!("of {PAGES} pages {unmapped} were dirty after munmap(2) and {synced} after fsync(2)"),
    })
}

fn msync_async(scene: &Scene) -> Result<Observation, String> {
    let scratch = Scratch::beside(scene.target, PAGES)?;
    let mapping = stored(&scratch)?;
    mapping.sync_async().map_err(|error| format!("msync(2) with MS_ASYNC: {error}"))?;
    let started = dirty(&scratch)?;
    mapping.sync().map_err(|error| format!("msync(2) with MS_SYNC: {error}"))?;
    let synced = dirty(&scratch)?;
    Ok(Observation {
        holds: started == PAGES && synced == 0,
        evidence: format!("of {PAGES} pages {started} were dirty after MS_ASYNC and {synced} after MS_SYNC"),
    })
}

fn dirty_before_store(scene: &Scene) -> Result<Observation, String> {
    let scratch = Scratch::beside(scene.target, PAGES)?;
    let mapping = scratch.map(Sharing::Shared)?;
    mapping.populate_write().map_err(|error| format!("MADV_POPULATE_WRITE (Linux 5.14): {error}"))?;
    let faulted = dirty(&scratch)?;
    Ok(Observation {
        holds: faulted == PAGES,
        evidence: format!("of {PAGES} pages {faulted} were dirty after write faults that stored nothing"),
    })
}

/// A shared mapping with a byte stored in each page.
fn stored(scratch: &Scratch) -> Result<Pages, String> {
    let mut mapping = scratch.map(Sharing::Shared)?;
    for page in 0..PAGES {
        mapping.store(page * sys::page_bytes(), NEW);
    }
    Ok(mapping)
}

/// Dirty or on their way to the device.
fn dirty(scratch: &Scratch) -> Result<u64, String> {
    scratch.cache().map(|stat| stat.dirty + stat.writeback)
}
