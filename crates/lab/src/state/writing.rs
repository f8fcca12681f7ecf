//! The file that a pass writes to: one that faultline made itself, and nothing else ever. It is created before a pass,
//! so that every pass begins with the same bytes on the device, and synced after it.

use std::{
    fs::File,
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::fs::FallocateFlags;
use schema::{Bytes, Condition, Fill, Layout, Span, Workload};

use super::cold;
use crate::{
    link::{NO_PAGE, Trouble},
    target::{Target, fixture},
};

/// Whether this target may be written.
///
/// # Errors
/// Why not, and what to do instead.
pub(crate) fn possible(condition: &Condition, target: &Target) -> Result<(), String> {
    match condition.workload.writes() && target.made.is_none() {
        true => Err(format!(
            "workload {} writes, and faultline never writes to a file of yours; name a folder, in which it creates its \
             own file",
            condition.workload
        )),
        false => Ok(()),
    }
}

/// Brings the file into its layout, synced: the same bytes before every pass.
pub(crate) fn create(
    target: &Target,
    condition: &Condition,
    seed: u64,
    interrupted: &AtomicBool,
) -> Result<(), Trouble> {
    let file = own(target).map_err(Trouble::Failed)?;
    let is_interrupted = || interrupted.load(Ordering::Relaxed);
    let failed = |error: io::Error| match is_interrupted() {
        true => Trouble::Interrupted,
        false => Trouble::Failed(format!("the file could not be created for a pass that writes: {error}")),
    };
    if condition.workload == Workload::Append {
        sys::folder::empty(file).map_err(failed)?;
        return file.sync_all().map_err(failed);
    }
    match condition.layout.unwrap_or(Layout::Written) {
        Layout::Written => {
            file.set_len(target.bytes).map_err(failed)?;
            let block_bytes = condition.fill().and_then(Fill::copied_by);
            // Writing to pages that are in the page cache already leaves their folios as they are.
            if block_bytes.is_some() {
                cold::evict(target, interrupted)?;
            }
            let block_bytes = block_bytes.unwrap_or(fixture::CHUNK);
            let go_on = |_| if is_interrupted() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) };
            fixture::write(file, condition.range, seed, block_bytes, go_on).map_err(failed)?;
        }
        Layout::Preallocated => {
            sys::folder::empty(file).map_err(failed)?;
            rustix::fs::fallocate(file, FallocateFlags::empty(), 0, target.bytes)
                .map_err(|errno| Trouble::Failed(format!("space could not be reserved (fallocate(2)): {errno}")))?;
        }
        Layout::Sparse => {
            sys::folder::empty(file).map_err(failed)?;
            file.set_len(target.bytes).map_err(failed)?;
        }
    }
    file.sync_all().map_err(failed)
}

/// Brings the whole file back to what it was when it was made.
pub(crate) fn restore(target: &Target, seed: u64) -> Result<(), String> {
    let refill = |file: &File| {
        file.set_len(target.bytes)?;
        fixture::write(file, Span { offset: 0, bytes: target.bytes }, seed, fixture::CHUNK, |_| Ok(()))?;
        file.sync_all()
    };
    refill(own(target)?).map_err(|error| format!("the file's content could not be restored: {error}"))
}

/// Everything that was written is on the device afterwards.
pub(crate) fn sync(target: &Target) -> Result<(), String> {
    own(target)?.sync_all().map_err(|error| format!("fsync(2): {error}"))
}

/// A store to a page that the file system has no room for is answered with SIGBUS, which does not say why; what is missing
/// and what is free do.
pub(crate) fn blame(target: &Target, condition: &Condition, trouble: Trouble) -> Trouble {
    let allocated = target.file.metadata().map(|it| it.blocks() * 512);
    let free = fixture::free_bytes(Path::new(&target.path).parent().unwrap_or(Path::new("/")));
    match (trouble, allocated, free) {
        (Trouble::Failed(reason), Ok(allocated), Ok(free)) => {
            Trouble::Failed(no_space(reason, condition.range.bytes.saturating_sub(allocated), free))
        }
        (trouble, ..) => trouble,
    }
}

fn no_space(reason: String, missing: u64, free: u64) -> String {
    match reason.starts_with(NO_PAGE) && free < missing {
        true => format!(
            "no space: {NO_PAGE} at a store to a mapped page; {} of the file had no blocks yet, and {} are free",
            Bytes(missing),
            Bytes(free)
        ),
        false => reason,
    }
}

/// The file for writing: the descriptor that it was made with, and never a name, which may lead elsewhere by now.
fn own(target: &Target) -> Result<&File, String> {
    target.made.as_ref().ok_or_else(|| format!("{} is not written: faultline did not create it", target.path))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use schema::State;

    use super::*;

    const PAGES: u64 = 64;

    /// Whether all that a pass writes to a file that was made ready is still dirty when it has closed the file. The kernel may write
    /// back at any time by itself, so one time of several decides.
    fn stays_dirty(make_ready: impl Fn(&Target)) -> bool {
        let bytes = PAGES * sys::page_bytes() as u64;
        let folder = tempfile::tempdir().unwrap();
        (0..5).any(|_| {
            let Ok(target) = Target::unnamed(folder.path(), bytes) else { return false };
            make_ready(&target);
            let mut pass = File::options().write(true).open(&target.path).unwrap();
            pass.write_all(&vec![1; bytes as usize]).unwrap();
            drop(pass);
            let seen = sys::cache::cachestat(own(&target).unwrap(), 0, bytes);
            seen.is_ok_and(|it| it.dirty == PAGES && it.writeback == 0)
        })
    }

    #[test]
    fn a_file_that_was_emptied_for_a_pass_is_not_written_back_when_the_pass_closes_it() {
        if !stays_dirty(|_| ()) {
            println!("skipped: in the temporary folder it cannot be seen which pages are dirty (cachestat(2))");
            return;
        }
        for (workload, layout) in [
            (Workload::Append, None),
            (Workload::Overwrite, Some(Layout::Sparse)),
            (Workload::Overwrite, Some(Layout::Preallocated)),
        ] {
            let emptied = |target: &Target| {
                let condition = Condition { workload, layout, state: State::Cold, ..Condition::plain(target.bytes) };
                // As left by the pass before.
                fixture::write(own(target).unwrap(), condition.range, 1, fixture::CHUNK, |_| Ok(())).unwrap();
                create(target, &condition, 1, &AtomicBool::new(false)).unwrap();
            };
            assert!(stays_dirty(emptied), "{workload} {layout:?}");
        }
    }

    #[test]
    fn a_sigbus_is_for_lack_of_space_only_where_space_is_lacking() {
        let killed = || format!("{NO_PAGE}: a mapped page could not be read");
        let described = no_space(killed(), 8 << 20, 4096);
        assert!(
            described.starts_with("no space: ") && described.contains("8 MiB") && described.contains("4 KiB"),
            "{described}"
        );
        assert_eq!(no_space(killed(), 8 << 20, 16 << 20), killed());
        assert_eq!(no_space(killed(), 0, 0), killed());
        assert_eq!(no_space("status 3".into(), 8 << 20, 0), "status 3");
    }
}
