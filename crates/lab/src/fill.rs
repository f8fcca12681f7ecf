//! How the page cache comes to hold a file before passes in states that live there.
//!
//! Threat: two files whose pages are all resident are not in the same state. The calls that brought the pages in decide
//! how large the folios are (mm/readahead.c, `page_cache_ra_order`; mm/filemap.c, `__filemap_get_folio` for writes), and
//! these decide how much a fault maps: the same comparison was seen to turn around by a factor of ten. Defence: the fill
//! is a word of the condition, made anew from an evicted file by the calls it names, and looked at afterwards. What
//! remains: without root, folio sizes are not seen.

use std::{
    collections::BTreeMap,
    fs::File,
    os::{fd::AsFd, unix::fs::FileExt},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::fs::Advice;
use schema::{Fill, Span};

use crate::{Target, fixture, link::Trouble};

/// A fill reads, and touches, this much at a time.
const REQUEST: u64 = 1 << 20;
/// Of the pages, so many must lie in folios as the fill makes them: at the edges of a file and of a window they may not.
const SHARE_WANTED: f64 = 0.98;

/// Whether a fill can be had of this target.
///
/// # Errors
/// Why not, and what would help.
pub(crate) fn possible(fill: Fill, target: &Target, bytes: u64) -> Result<(), String> {
    let only = |what: &str| format!("fill {fill} {what}; fill sequential is possible");
    if fill == Fill::Sequential {
        return Ok(());
    }
    if target.file_system.is_memory() {
        return Err(only(&format!(
            "needs a file that can be evicted, and files on {} cannot",
            target.file_system.kind
        )));
    }
    if fill.copied_by().is_some() {
        if target.named.is_some() {
            return Err(only("is made on a copy, and commands open the file itself"));
        }
        let folder = folder(target);
        fixture::fits(folder, bytes).map_err(|error| only(&format!("needs a copy of the file: {error:#}")))?;
        // It has no name, so nothing is left behind whatever happens.
        drop(unnamed(target, 1)?);
    }
    Ok(())
}

/// Reads, or touches, a part of an evicted file.
///
/// # Errors
/// What cannot be read or mapped; an interruption.
pub(crate) fn bring_in(file: &File, range: Span, fill: Fill, interrupted: &AtomicBool) -> Result<(), Trouble> {
    let page = sys::page_bytes();
    let first = range.offset / page * page;
    let cannot = |error: std::io::Error| Trouble::Failed(format!("fill {fill}: the file cannot be read: {error}"));
    let advise = |advice| rustix::fs::fadvise(file.as_fd(), 0, None, advice).map_err(|errno| cannot(errno.into()));
    if fill == Fill::Random {
        advise(Advice::Random)?;
    }
    let mut buffer = vec![0; if matches!(fill, Fill::Faults | Fill::HugePages) { 0 } else { REQUEST as usize }];
    let mut at = first;
    while at < range.end() {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Trouble::Interrupted);
        }
        let want = (range.end() - at).min(REQUEST.max(HUGE_PAGE));
        let got = match fill {
            Fill::Faults => sys::cache::fault_in(file, at, want, false).map(|()| want),
            Fill::HugePages => sys::cache::fault_in(file, at, want, true).map(|()| want).map_err(no_huge_pages),
            _ => {
                let want = want.min(REQUEST) as usize;
                rustix::io::pread(file, &mut buffer[..want], at).map(|it| it as u64).map_err(Into::into)
            }
        };
        match got.map_err(cannot)? {
            0 => break,
            got => at += got,
        }
    }
    if fill == Fill::Random { advise(Advice::Normal) } else { Ok(()) }
}

/// The largest that a mapping is made of.
const HUGE_PAGE: u64 = 32 << 20;

fn no_huge_pages(error: std::io::Error) -> std::io::Error {
    match error.raw_os_error() {
        Some(libc::EINVAL) => std::io::Error::other("this kernel has no huge pages for it (madvise MADV_HUGEPAGE)"),
        _ => error,
    }
}

/// A copy of the first bytes of a target, written in blocks of `block_bytes` and synced. Its pages stay in the page
/// cache. It has no name: it is gone with its descriptor.
///
/// # Errors
/// No unnamed file can be made beside the target, no space, an interruption.
pub(crate) fn copy(target: &Target, bytes: u64, block_bytes: u64, interrupted: &AtomicBool) -> Result<Target, Trouble> {
    let folder = folder(target);
    fixture::fits(folder, bytes).map_err(|error| Trouble::Unavailable(format!("{error:#}")))?;
    let copy = unnamed(target, bytes).map_err(Trouble::Unavailable)?;
    let cannot = |error: std::io::Error| Trouble::Failed(format!("the copy of the file cannot be written: {error}"));
    let mut buffer = vec![0; REQUEST.max(block_bytes).next_multiple_of(block_bytes) as usize];
    let mut at = 0;
    while at < bytes {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Trouble::Interrupted);
        }
        let want = (bytes - at).min(buffer.len() as u64) as usize;
        target.file.read_exact_at(&mut buffer[..want], at).map_err(cannot)?;
        for (index, block) in buffer[..want].chunks(block_bytes as usize).enumerate() {
            copy.file.write_all_at(block, at + index as u64 * block_bytes).map_err(cannot)?;
        }
        at += want as u64;
    }
    copy.file.sync_all().map_err(cannot)?;
    Ok(copy)
}

fn unnamed(target: &Target, bytes: u64) -> Result<Target, String> {
    let folder = folder(target);
    Target::unnamed(folder, bytes).map_err(|error| {
        format!(
            "a copy of the file cannot be made in {} ({error}): it needs a folder that you may write to, on a file system \
             that has files without a name",
            folder.display()
        )
    })
}

fn folder(target: &Target) -> &Path {
    Path::new(&target.path).parent().unwrap_or(Path::new("/"))
}

/// Whether the folios are as the fill makes them, by what root sees of them.
///
/// # Errors
/// What is otherwise.
pub(crate) fn verify(fill: Fill, orders: &BTreeMap<u32, u64>) -> Result<(), String> {
    let page = sys::page_bytes();
    // How large folios get is the kernel's and the file system's choice; how small they are kept is the fill's.
    let largest = match fill {
        Fill::Sequential | Fill::Faults | Fill::HugePages => return Ok(()),
        Fill::Random => page,
        Fill::Written(bytes) | Fill::ReadAhead(bytes) => bytes.max(page),
    };
    let all: u64 = orders.values().sum();
    let larger: u64 = orders.iter().filter(|(order, _)| page << **order > largest).map(|(_, pages)| pages).sum();
    if larger as f64 > all as f64 * (1.0 - SHARE_WANTED) {
        return Err(format!(
            "fill {fill} should leave folios of at most {}, and {larger} of {all} pages lie in larger ones",
            schema::Bytes(largest)
        ));
    }
    if let Fill::ReadAhead(bytes) = fill {
        let just = orders.iter().filter(|(order, _)| page << **order == bytes).map(|(_, pages)| *pages).sum::<u64>();
        if (just as f64) < all as f64 * SHARE_WANTED {
            return Err(format!(
                "fill {fill} could not be made here: only {just} of {all} pages lie in folios of that size",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = (5 << 20) + 5;

    /// A file that can be evicted.
    fn target() -> Option<(tempfile::NamedTempFile, Target)> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), (0..BYTES).map(|at| (at % 251) as u8).collect::<Vec<u8>>()).unwrap();
        let target = Target::open(file.path(), false).unwrap();
        if target.file_system.is_memory() || matches!(target.way, Err(_) | Ok(sys::cache::Way::Nowait)) {
            println!("skipped: files in the temporary folder cannot be evicted, or their residency is not shown");
            return None;
        }
        Some((file, target))
    }

    fn resident(target: &Target) -> (u64, u64) {
        let reading = crate::state::residency(target, Span { offset: 0, bytes: BYTES });
        let resident = reading.value().unwrap();
        (resident.pages, resident.of)
    }

    #[test]
    fn every_fill_brings_in_every_page_in_folios_of_its_own_size() {
        let Some((_file, target)) = target() else { return };
        let go_on = AtomicBool::new(false);
        let (mut looked, mut fills) = (0, vec![Fill::Sequential, Fill::Random, Fill::Faults]);
        fills.extend([4096, 64 << 10].map(Fill::Written));
        for fill in fills {
            crate::cold::evict(&target).unwrap();
            let copy = match fill.copied_by() {
                Some(block) => Some(copy(&target, BYTES, block, &go_on).map_err(|_| "no copy").unwrap()),
                None => {
                    bring_in(&target.file, Span { offset: 0, bytes: BYTES }, fill, &go_on).map_err(|_| "").unwrap();
                    None
                }
            };
            let filled = copy.as_ref().unwrap_or(&target);
            let (pages, of) = resident(filled);
            assert_eq!(pages, of, "{fill}");
            if let Ok(orders) = sys::folio::orders(&filled.file, 0, BYTES) {
                assert_eq!(verify(fill, &orders), Ok(()), "{orders:?}");
                looked += 1;
            }
        }
        if looked == 0 {
            println!("skipped: folio sizes are not seen without root");
        }
    }

    #[test]
    fn a_copy_has_the_same_bytes_and_no_name() {
        let Some((file, target)) = target() else { return };
        let copy = copy(&target, BYTES, 4099, &AtomicBool::new(false)).map_err(|_| "no copy").unwrap();
        let name = std::fs::read_link(&copy.path).unwrap();
        assert!(!name.exists(), "{}", name.display());
        assert_eq!(std::fs::read(&copy.path).unwrap(), std::fs::read(file.path()).unwrap());
    }

    #[test]
    fn folios_of_another_size_are_found_out() {
        let orders = |pages: &[(u32, u64)]| pages.iter().copied().collect::<BTreeMap<u32, u64>>();
        let page = sys::page_bytes();
        assert!(verify(Fill::Random, &orders(&[(0, 1000), (9, 512)])).is_err());
        assert_eq!(verify(Fill::Random, &orders(&[(0, 100_000), (9, 512)])), Ok(()));
        assert!(verify(Fill::Written(4 * page), &orders(&[(3, 800)])).is_err());
        assert_eq!(verify(Fill::Written(4 * page), &orders(&[(0, 3), (2, 800)])), Ok(()));
        assert!(verify(Fill::ReadAhead(4 * page), &orders(&[(0, 300), (2, 800)])).is_err());
        assert_eq!(verify(Fill::Sequential, &orders(&[(0, 7)])), Ok(()));
    }

    #[test]
    fn a_fill_that_cannot_be_had_is_refused_with_a_reason() {
        let Some((_file, target)) = target() else { return };
        assert_eq!(possible(Fill::Random, &target, BYTES), Ok(()));
        assert!(possible(Fill::Written(4096), &target, 1 << 60).is_err(), "no file system has room for that");
        let Ok(memory) = tempfile::NamedTempFile::new_in("/dev/shm") else {
            println!("skipped: there is no /dev/shm");
            return;
        };
        std::fs::write(memory.path(), "some text").unwrap();
        let in_memory = Target::open(memory.path(), false).unwrap();
        assert_eq!(possible(Fill::Sequential, &in_memory, 9), Ok(()));
        assert!(possible(Fill::Random, &in_memory, 9).is_err());
    }

    #[test]
    fn an_interruption_ends_a_fill() {
        let Some((_file, target)) = target() else { return };
        let stop = AtomicBool::new(true);
        let whole = Span { offset: 0, bytes: BYTES };
        assert!(matches!(bring_in(&target.file, whole, Fill::Random, &stop), Err(Trouble::Interrupted)));
        assert!(matches!(copy(&target, BYTES, 4096, &stop), Err(Trouble::Interrupted)));
    }
}
