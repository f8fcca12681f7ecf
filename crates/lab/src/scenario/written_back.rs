//! Which calls take stored bytes from the page cache to the device, seen by the pages that stay dirty. A page that is
//! under write-back is no longer dirty: the device is being given it.

use std::io::Write;

use schema::record::ScenarioResult;
use sys::{
    cache::Cachestat,
    pages::{Pages, Sharing},
};

use super::{
    Scenario, Scene,
    scratch::{NEW, Scratch, no_store},
};

pub(super) const WRITE: Scenario = Scenario {
    name: "write-is-cached",
    about: "write(2) leaves its bytes in the page cache until fsync(2)",
    scratch_bytes: |page| PAGES * page,
    observe: write,
};

pub(super) const MUNMAP: Scenario = Scenario {
    name: "munmap-syncs",
    about: "munmap(2) writes dirty pages to the device",
    scratch_bytes: |page| PAGES * page,
    observe: munmap,
};

pub(super) const ASYNC: Scenario = Scenario {
    name: "msync-async",
    about: "msync(2) with MS_ASYNC starts no write-back",
    scratch_bytes: |page| PAGES * page,
    observe: msync_async,
};

pub(super) const BEFORE: Scenario = Scenario {
    name: "dirty-before-store",
    about: "a write fault marks a mapped page dirty before anything is stored",
    scratch_bytes: |page| PAGES * page,
    observe: dirty_before_store,
};

const PAGES: u64 = 16;

fn write(scene: &Scene) -> Result<ScenarioResult, String> {
    let mut scratch = observable(scene)?;
    rustix::fs::seek(&scratch.file, rustix::fs::SeekFrom::Start(0)).map_err(|error| format!("lseek(2): {error}"))?;
    scratch.file.write_all(&vec![NEW; scratch.bytes as usize]).map_err(|error| format!("write(2): {error}"))?;
    let written = not_stored(scratch.cache()?);
    scratch.file.sync_all().map_err(|error| format!("fsync(2): {error}"))?;
    let synced = not_stored(scratch.cache()?);
    Ok(ScenarioResult {
        holds: written > 0 && synced == 0,
        evidence: format!("of {PAGES} pages {written} were dirty after write(2) and {synced} after fsync(2)"),
    })
}

fn munmap(scene: &Scene) -> Result<ScenarioResult, String> {
    let scratch = observable(scene)?;
    let mapping = stored(&scratch)?;
    let before = scratch.cache()?;
    drop(mapping);
    let unmapped = not_stored(scratch.cache()?);
    scratch.file.sync_all().map_err(|error| format!("fsync(2): {error}"))?;
    let synced = not_stored(scratch.cache()?);
    all_dirty(&before)?;
    Ok(ScenarioResult {
        holds: unmapped == 0,
        evidence: format!("of {PAGES} pages {unmapped} were dirty after munmap(2) and {synced} after fsync(2)"),
    })
}

fn msync_async(scene: &Scene) -> Result<ScenarioResult, String> {
    starts_nothing(scene, "MS_ASYNC", |_, mapping| {
        mapping.sync_async().map_err(|error| format!("msync(2) with MS_ASYNC: {error}"))
    })
}

/// Whether a call leaves dirty pages dirty, so that none is even under write-back.
fn starts_nothing(
    scene: &Scene,
    name: &str,
    call: impl Fn(&Scratch, &Pages) -> Result<(), String>,
) -> Result<ScenarioResult, String> {
    let scratch = observable(scene)?;
    let mapping = stored(&scratch)?;
    let before = scratch.cache()?;
    call(&scratch, &mapping)?;
    let after = scratch.cache()?;
    mapping.sync().map_err(|error| format!("msync(2) with MS_SYNC: {error}"))?;
    let synced = not_stored(scratch.cache()?);
    all_dirty(&before)?;
    Ok(ScenarioResult {
        holds: after.dirty == PAGES && after.writeback == 0 && synced == 0,
        evidence: format!(
            "of {PAGES} pages {} were dirty and {} under write-back after {name}, and {synced} were dirty or under \
             write-back after MS_SYNC",
            after.dirty, after.writeback
        ),
    })
}

/// The kernel may write back at any time by itself; what it began before a call is not the call's.
fn all_dirty(before: &Cachestat) -> Result<(), String> {
    match before.dirty {
        PAGES => Ok(()),
        _ => Err("the kernel began to write the pages back before the call; try again".into()),
    }
}

fn dirty_before_store(scene: &Scene) -> Result<ScenarioResult, String> {
    let scratch = observable(scene)?;
    let mapping = scratch.map(Sharing::Shared)?;
    mapping.populate_write().map_err(|error| format!("MADV_POPULATE_WRITE (Linux 5.14): {error}"))?;
    let faulted = not_stored(scratch.cache()?);
    Ok(ScenarioResult {
        holds: faulted == PAGES,
        evidence: format!("of {PAGES} pages {faulted} were dirty after write faults that stored nothing"),
    })
}

/// A clean file whose dirty pages are counted: on a file system in memory none ever is, and every question about them
/// would have the same answer.
pub(super) fn observable(scene: &Scene) -> Result<Scratch, String> {
    let scratch = Scratch::beside(scene.target, PAGES)?;
    let mapping = stored(&scratch)?;
    let counted = not_stored(scratch.cache()?);
    mapping.sync().map_err(|error| format!("msync(2) with MS_SYNC: {error}"))?;
    match counted {
        0 => {
            Err("the file system beside the target counts no dirty pages (tmpfs has none); try a target on a disk"
                .into())
        }
        _ => Ok(scratch),
    }
}

/// A shared mapping with a byte stored in each page.
fn stored(scratch: &Scratch) -> Result<Pages, String> {
    let mut mapping = scratch.map(Sharing::Shared)?;
    for page in 0..PAGES {
        mapping.store(page * sys::page_bytes(), NEW).map_err(no_store)?;
    }
    Ok(mapping)
}

/// Pages that the device does not have yet: dirty, or on their way.
fn not_stored(stat: Cachestat) -> u64 {
    stat.dirty + stat.writeback
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::target::Target;

    #[test]
    fn a_call_that_starts_write_back_is_told_from_one_that_does_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file.as_file(), &[1u8; 4096]).unwrap();
        let target = Target::open(file.path(), true).unwrap();
        let scene =
            Scene { target: &target, interrupted: &AtomicBool::new(false), may_set_up: false, note: &|_| Ok(()) };
        let started = starts_nothing(&scene, "sync_file_range(2)", |scratch, _| {
            sys::cache::start_write_back(&scratch.file, 0, scratch.bytes).map_err(|error| error.to_string())
        });
        let nothing = starts_nothing(&scene, "nothing", |_, _| Ok(()));
        match (started, nothing) {
            (Ok(started), Ok(nothing)) => {
                assert!(!started.holds, "{}", started.evidence);
                assert!(nothing.holds, "{}", nothing.evidence);
            }
            (started, nothing) => println!("skipped: {started:?}, {nothing:?}"),
        }
    }

    #[test]
    fn in_memory_no_question_about_dirty_pages_has_an_answer() {
        let Ok(file) = tempfile::NamedTempFile::new_in("/dev/shm") else { return println!("skipped: no /dev/shm") };
        std::io::Write::write_all(&mut file.as_file(), &[1u8; 4096]).unwrap();
        let target = Target::open(file.path(), true).unwrap();
        let scene =
            Scene { target: &target, interrupted: &AtomicBool::new(false), may_set_up: false, note: &|_| Ok(()) };
        for scenario in [WRITE, MUNMAP, ASYNC, BEFORE, super::super::write_faults::SCENARIO] {
            let seen = (scenario.observe)(&scene);
            assert!(seen.is_err(), "{}: {seen:?}", scenario.name);
        }
    }
}
