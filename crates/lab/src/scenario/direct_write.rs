//! Whether O_DIRECT alone makes the device flush its cache, and whether it does with O_DSYNC.

use std::{fs::File, os::fd::AsFd};

use rustix::fs::{Mode, OFlags};
use schema::record::ScenarioResult;

use super::{Scenario, Scene, scratch::Scratch};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "direct-write",
    about: "writes with O_DIRECT reach the device without a flush of its cache; with O_DSYNC each is flushed",
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
    Ok(ScenarioResult {
        // Others may write to the device too; they would have to flush it as often as we write.
        holds: plain < WRITES / 2 && synchronous >= WRITES,
        evidence: format!(
            "{WRITES} writes of a page: {} flushed {plain} times with O_DIRECT, {synchronous} times with O_DIRECT and \
             O_DSYNC",
            disk.name
        ),
    })
}

/// Flushes that the device saw while the file was overwritten page by page.
fn flushes(disk: &sys::device::Disk, scratch: &Scratch, more: OFlags) -> Result<u64, String> {
    let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC | more;
    let file: File = rustix::fs::open(scratch.path(), flags, Mode::empty())
        .map_err(|error| format!("open(2) with O_DIRECT: {error}"))?
        .into();
    let counted = || {
        let counters = disk.counters().map_err(|error| format!("the device's counters: {error}"))?;
        counters.flush_requests.ok_or("this kernel does not count flushes (Linux 5.5)".to_string())
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
