//! Whether a writer is made to wait when too much is dirty (`balance_dirty_pages` in mm/page-writeback.c). The machine's own
//! limits stay as they are: a btrfs has dirty pages of its own account, which can be given a limit and goes with the mount.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
};

use schema::{Bytes, record::ScenarioResult};

use super::{Scenario, Scene, disk_of_our_own};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "stall-when-dirty",
    about: "a writer waits while there are more dirty pages than allowed",
    scratch_bytes: |_| 0,
    observe,
};

const LIMIT_BYTES: u64 = 1 << 20;
const WRITTEN_BYTES: u64 = 32 << 20;
/// A writer also sleeps for a lock or for memory now and then. The limit is reached up to thirty times.
const BY_CHANCE: u64 = 3;
const REQUEST_BYTES: u64 = 64 << 10;

fn observe(scene: &Scene) -> Result<ScenarioResult, String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/uuid").map_err(|error| format!("no new uuid: {error}"))?;
    let id = id.trim();
    let (_disk, mount) = disk_of_our_own::with(scene, "btrfs", &["-q", "-f", "-U", id])?;
    let waits = |name: &str| -> Result<u64, String> {
        let file = mount.create(name).map_err(|error| format!("a file on the disk in memory: {error}"))?;
        waits_of_a_writer(&file).map_err(|error| format!("pwrite(2): {error}"))
    };
    let free = waits("free")?;
    mount.sync().map_err(|error| format!("syncfs(2): {error}"))?;
    let limits_folder = format!("/sys/fs/btrfs/{id}/bdi");
    for (name, value) in [("strict_limit", 1), ("max_bytes", LIMIT_BYTES)] {
        fs::write(format!("{limits_folder}/{name}"), value.to_string())
            .map_err(|error| format!("{limits_folder}/{name} (Linux 6.2): {error}"))?;
    }
    let limited = waits("limited")?;
    let evidence = format!(
        "a writer of {} slept {free} times in pwrite(2), and {limited} times once {} may be dirty",
        Bytes(WRITTEN_BYTES),
        Bytes(LIMIT_BYTES)
    );
    if limited <= free + BY_CHANCE {
        // Beside other jobs the pages of a slow writer are written back as fast as it makes them dirty.
        return Err(format!("{evidence}: too few to tell whether the limit was reached. Try it on a quiet machine"));
    }
    Ok(ScenarioResult { holds: true, evidence })
}

/// How often the thread gave the processor away by itself.
fn waits_of_a_writer(file: &File) -> std::io::Result<u64> {
    let block = vec![b'n'; REQUEST_BYTES as usize];
    let before = sys::pages::waits_of_this_thread();
    (0..WRITTEN_BYTES / REQUEST_BYTES).try_for_each(|index| file.write_all_at(&block, index * REQUEST_BYTES))?;
    Ok(sys::pages::waits_of_this_thread() - before)
}
