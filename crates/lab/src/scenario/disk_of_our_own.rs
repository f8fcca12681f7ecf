//! A disk in memory for what must not happen to a real one: write errors, foreign file systems, limits on dirty pages.

use sys::memory_disk::{MemoryDisk, Mount};

use super::Scene;

/// # Errors
/// What is missing, and how to allow it.
pub(super) fn bare(scene: &Scene, bytes: u64) -> Result<MemoryDisk, String> {
    if !scene.may_set_up {
        return Err(
            "it needs a disk in memory, which is removed when this process ends; allow it with --allow-setup, as root"
                .into(),
        );
    }
    MemoryDisk::new(bytes)
        .map_err(|error| format!("a disk in memory (a loop device, as root) is not available: {error}"))
}

/// With a new file system, mounted where no path leads.
///
/// # Errors
/// As above; or there is no such file system here, or no program that makes it.
pub(super) fn with(scene: &Scene, kind: &str, options: &[&str]) -> Result<(MemoryDisk, Mount), String> {
    let disk = bare(scene, FILE_SYSTEM_BYTES)?;
    disk.format(kind, options)?;
    let mount = disk.mount(kind).map_err(|error| format!("{kind} cannot be mounted: {error}"))?;
    Ok((disk, mount))
}

/// xfs takes no less than 300 MiB; memory is taken for what is written alone.
const FILE_SYSTEM_BYTES: u64 = 512 << 20;
