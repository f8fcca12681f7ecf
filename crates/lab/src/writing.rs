//! The file that a pass writes to: one that faultline made itself, and nothing else ever. How it is laid before a pass,
//! so that every pass begins with the same bytes on the device, and settled after it.

use std::{
    fs::File,
    os::unix::fs::{FileExt, MetadataExt},
};

use rustix::fs::FallocateFlags;
use schema::{Condition, Layout, Span, Workload};

use crate::Target;

/// Whether this target may be written.
///
/// # Errors
/// Why not, and what to do instead.
pub(crate) fn possible(condition: &Condition, target: &Target) -> Result<(), String> {
    match condition.workload.writes() && !target.made_here {
        true => Err(format!(
            "workload {} writes, and a file of yours is never written; name a folder, and faultline makes a file of its \
             own there",
            condition.workload
        )),
        false => Ok(()),
    }
}

/// Brings the file into its layout, synced: the same bytes before every pass.
pub(crate) fn lay(target: &Target, condition: &Condition, seed: u64) -> Result<(), String> {
    let file = own(target)?;
    let laid = |error: std::io::Error| format!("the file could not be laid out for a pass that writes: {error}");
    if condition.workload == Workload::Append {
        file.set_len(0).map_err(laid)?;
        return file.sync_all().map_err(laid);
    }
    match condition.layout.unwrap_or(Layout::Written) {
        Layout::Written => {
            file.set_len(target.bytes).map_err(laid)?;
            fill(&file, condition.range, seed).map_err(laid)?;
        }
        Layout::Preallocated => {
            file.set_len(0).map_err(laid)?;
            rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, target.bytes)
                .map_err(|errno| format!("space could not be reserved (fallocate(2)): {errno}"))?;
        }
        Layout::Sparse => {
            file.set_len(0).map_err(laid)?;
            file.set_len(target.bytes).map_err(laid)?;
        }
    }
    file.sync_all().map_err(laid)
}

/// Everything that was written is on the device afterwards.
pub(crate) fn settle(target: &Target) -> Result<(), String> {
    own(target)?.sync_all().map_err(|error| format!("fsync(2): {error}"))
}

/// The file for writing. Asked once more, because a mistake here would cost somebody their data.
fn own(target: &Target) -> Result<File, String> {
    let refused = |what: &str| format!("{} is not written: {what}", target.path);
    if !target.made_here {
        return Err(refused("faultline did not make it"));
    }
    let file =
        File::options().read(true).write(true).open(&target.path).map_err(|error| refused(&error.to_string()))?;
    let inode = file.metadata().map_err(|error| refused(&error.to_string()))?.ino();
    if inode == target.inode { Ok(file) } else { Err(refused("another file took its name during the run")) }
}

/// The bytes that a pass finds: of the seed, the same for all arms.
fn fill(file: &File, range: Span, seed: u64) -> std::io::Result<()> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut chunk = vec![0u8; 1 << 20];
    let mut at = range.offset;
    while at < range.end() {
        let length = (range.end() - at).min(chunk.len() as u64) as usize;
        random.fill(&mut chunk[..length]);
        file.write_all_at(&chunk[..length], at)?;
        at += length as u64;
    }
    Ok(())
}
