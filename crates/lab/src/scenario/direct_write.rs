//! Whether O_DIRECT alone makes the device flush its cache, and whether it does with O_DSYNC.

use std::{fs::File, os::fd::AsFd};

use rustix::fs::{Mode, OFlags};
use schema::record::ScenarioResult;

use super::{Scenario, Scene, scratch::Scratch};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "direct-write",
    about: "writes with O_DIRECT reach the device without a flush of its cache; with O_DSYNC each is flushed",
    scratch_bytes: |page| WRITES * page,
    observe,
};

const WRITES: u64 = 32;

fn observe(scene: &Scene) -> Result<ScenarioResult, String> {
    let disk = scene.target.disk.as_ref().map_err(Clone::clone)?;
    // Without a volatile cache nothing is flushed; a device that takes FUA gets that instead, which no counter shows.
    let cache = disk.queue("write_cache").map_err(|error| format!("the device's write cache is unknown: {error}"))?;
    if cache != "write back" {
        return Err(format!("{} has no volatile write cache ({cache}), so there are no flushes", disk.name));
    }
    if disk.queue("fua").is_ok_and(|it| it == "1") {
        return Err(format!("{} supports FUA writes, which are not counted as flushes", disk.name));
    }
    let scratch = Scratch::beside(scene.target, WRITES)?;
    let plain = flushes(disk, &scratch, OFlags::empty())?;
    let synchronous = flushes(disk, &scratch, OFlags::DSYNC)?;
    judged(&disk.name, plain, synchronous)
}

/// By the flushes without O_DSYNC and with it.
///
/// # Errors
/// There are none with it either: then they are not seen here, or the file system keeps them back (nobarrier), and that there
/// are none without it says nothing.
fn judged(disk: &str, plain: u64, synchronous: u64) -> Result<ScenarioResult, String> {
    let evidence = format!(
        "{WRITES} writes of a page: {disk} flushed {plain} times with O_DIRECT, {synchronous} times with O_DIRECT and O_DSYNC"
    );
    // Others may write to the device too; they would have to flush it as often as we write.
    let many = WRITES / 2;
    match synchronous < many {
        true => Err(format!("{evidence}; so flushes of these writes are not seen here")),
        false => Ok(ScenarioResult { holds: plain < many && synchronous >= WRITES, evidence }),
    }
}

/// Flushes that the device saw while the file was overwritten page by page.
fn flushes(disk: &sys::device::Disk, scratch: &Scratch, more: OFlags) -> Result<u64, String> {
    let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC | more;
    let file: File = rustix::fs::open(scratch.path(), flags, Mode::empty())
        .map_err(|error| format!("open(2) with O_DIRECT: {error}"))?
        .into();
    let counted = || {
        let counters = disk.counters().map_err(|error| format!("the device's counters: {error}"))?;
        counters.flush_requests.ok_or_else(|| disk.why_no_flushes())
    };
    let page = sys::page_bytes();
    // O_DIRECT needs memory aligned to a sector.
    let room = vec![0u8; 2 * page as usize];
    let begin = room.as_ptr().align_offset(page as usize);
    let buffer = &room[begin..begin + page as usize];
    let before = counted()?;
    for index in 0..WRITES {
        rustix::io::pwrite(file.as_fd(), buffer, index * page)
            .map_err(|error| format!("pwrite(2) with O_DIRECT: {error}"))?;
    }
    Ok(counted()? - before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_flush_is_seen_with_o_dsync_nothing_is_known_of_writes_without_it() {
        let holds = |plain: u64, synchronous: u64| judged("dm-0", plain, synchronous).map(|it| it.holds).ok();
        assert_eq!([holds(0, WRITES), holds(1, WRITES + 1)], [Some(true); 2]);
        assert_eq!(holds(WRITES, WRITES), Some(false));
        assert_eq!([holds(0, 0), holds(0, 1)], [None; 2]);
    }
}
