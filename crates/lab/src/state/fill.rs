//! How the page cache comes to hold a file before passes in states that live there.
//!
//! Threat: two files whose pages are all resident are not in the same state. The calls that brought the pages in decide
//! how large the folios are (mm/readahead.c, `page_cache_ra_order`; mm/filemap.c, `__filemap_get_folio` for writes),
//! and these decide how much a fault maps: the same comparison was reversed, by a factor of ten. Defence: the fill is a
//! word of the condition, made anew from an evicted file by the calls it names, and looked at afterwards. What remains:
//! without root, folio sizes are not seen.

use std::{
    collections::BTreeMap,
    fs::File,
    num::NonZero,
    os::{fd::AsFd, unix::fs::FileExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::fs::Advice;
use schema::{Fill, Reading, Span, record::Resident};

use crate::{
    link::Trouble,
    target::{Target, fixture},
};

/// A fill reads, and touches, this much at a time.
const REQUEST: u64 = 1 << 20;
/// Of the pages, so many must lie in folios as the fill makes them: at the edges of a file and of a window they may not.
const SHARE_WANTED: f64 = 0.98;

/// Whether a fill can be had of this target.
///
/// # Errors
/// Why not, and what would help.
pub(crate) fn possible(fill: Fill, target: &Target, bytes: u64) -> Result<(), String> {
    let only = |what: &str| format!("fill {fill} {what}; use fill sequential");
    match fill {
        Fill::Sequential => return Ok(()),
        Fill::Found => return as_found(target),
        _ => {}
    }
    if target.file_system.is_memory() {
        return Err(only(&format!(
            "needs a file that can be evicted, and files on {} cannot",
            target.file_system.kind
        )));
    }
    if fill.copied_by().is_some() {
        if target.named.is_some() {
            return Err(only("is made on a copy, and files that were named are read themselves"));
        }
        let folder = folder(target);
        fixture::fits(&folder, bytes).map_err(|error| only(&format!("needs a copy of the file: {error:#}")))?;
        // It has no name, so nothing is left behind whatever happens.
        drop(unnamed(target, 1)?);
    }
    Ok(())
}

/// Whether folios can be as large as a fill says, also where it is not made on a copy.
///
/// # Errors
/// They cannot.
pub(crate) fn folio_of(fill: Fill) -> Result<(), String> {
    match fill {
        // struct folio: 2^order pages (include/linux/mm.h, folio_order()).
        Fill::ReadAhead(bytes) if !bytes.is_power_of_two() || bytes < sys::page_bytes() => {
            let page = schema::Bytes(sys::page_bytes());
            Err(format!("fill {fill} cannot be made: a folio has {page} times a power of two"))
        }
        _ => Ok(()),
    }
}

/// What was found can be measured where all of it was in the page cache: passes would change anything else.
fn as_found(target: &Target) -> Result<(), String> {
    if target.made.is_some() {
        return Err("faultline made this file, so it was not found in any state".into());
    }
    match &target.found {
        Reading::Value(Resident { pages, of }) if pages == of => Ok(()),
        Reading::Value(Resident { pages, of }) => {
            // A share would be rounded, and read as all of it where only a few pages are missing.
            Err(format!(
                "{pages} of its {of} pages were in the page cache when the run began; fill found needs all of them, \
                 because the passes would read in the rest"
            ))
        }
        Reading::Unavailable { unavailable } => Err(unavailable.clone()),
    }
}

/// How the pages of fill `random` are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Page by page: neighbours in the file are none in memory, as after a database has read its pages.
    Pages,
    /// In requests of 1 MiB in random order, where single pages take the device too long: some neighbours stay neighbours,
    /// which makes a mapping up to a fifth cheaper (docs/FOLIOS.md).
    Requests,
}

impl Order {
    /// What is done, in a sentence.
    pub(crate) fn method(self, fill: Fill) -> String {
        match (fill, self) {
            (Fill::Random, Order::Requests) => {
                "evicted, then read under POSIX_FADV_RANDOM in requests of 1 MiB, in random order: folios of one page; page \
                 by page would have taken a large part of the budget"
                    .into()
            }
            _ => fill.about().into(),
        }
    }
}

/// Brings a window of an evicted target into the page cache; of named files each one as a whole.
///
/// # Errors
/// What cannot be read or mapped; an interruption.
pub(crate) fn bring_in_target(
    target: &Target,
    range: Span,
    fill: Fill,
    order: Order,
    interrupted: &AtomicBool,
) -> Result<(), Trouble> {
    match &target.named {
        Some(named) => named.each(|file, whole| bring_in(file, whole, fill, order, interrupted)),
        None => bring_in(&target.file, range, fill, order, interrupted),
    }
}

/// Reads, or touches, a part of an evicted file.
///
/// # Errors
/// What cannot be read or mapped; an interruption.
pub(crate) fn bring_in(
    file: &File,
    range: Span,
    fill: Fill,
    order: Order,
    interrupted: &AtomicBool,
) -> Result<(), Trouble> {
    let cannot = |error: std::io::Error| Trouble::Failed(format!("fill {fill}: the file cannot be read: {error}"));
    let page = sys::page_bytes();
    let step = match (fill, order) {
        (Fill::Random, Order::Pages) => page,
        (Fill::Faults | Fill::HugePages, _) => MAPPED_AT_ONCE,
        _ => REQUEST,
    };
    let first = range.offset / page * page;
    let pieces = (range.end() - first).div_ceil(step);
    let at = |piece: u64| first + piece * step;
    let length = |piece: u64| (range.end() - at(piece)).min(step);
    let mut buffer = vec![0; if step == MAPPED_AT_ONCE { 0 } else { step as usize }];
    let bring = |piece: u64, buffer: &mut Vec<u8>| match fill {
        Fill::Faults => sys::cache::fault_in(file, at(piece), length(piece), false),
        Fill::HugePages => sys::cache::fault_in(file, at(piece), length(piece), true).map_err(no_huge_pages),
        _ => read_at(file, &mut buffer[..length(piece) as usize], at(piece)),
    };
    let go_on = || if interrupted.load(Ordering::Relaxed) { Err(Trouble::Interrupted) } else { Ok(()) };
    if fill != Fill::Random {
        return (0..pieces).try_for_each(|piece| go_on().and_then(|()| bring(piece, &mut buffer).map_err(cannot)));
    }
    let will_need = |piece: u64| {
        let bytes = NonZero::new(length(piece));
        rustix::fs::fadvise(file.as_fd(), at(piece), bytes, Advice::WillNeed).map_err(|errno| cannot(errno.into()))
    };
    let mut pieces: Vec<u64> = (0..pieces).collect();
    fastrand::shuffle(&mut pieces);
    without_read_ahead(file, cannot, || {
        pieces.chunks(QUEUED).try_for_each(|batch| {
            go_on()?;
            if order == Order::Pages {
                // Many requests at once; one after the other took three to seven times as long.
                batch.iter().try_for_each(|piece| will_need(*piece))?;
            }
            batch.iter().try_for_each(|piece| bring(*piece, &mut buffer).map_err(cannot))
        })
    })
}

/// Reads parts of the file into the page cache and nothing beside them, each in ascending order.
///
/// # Errors
/// They cannot be read.
pub(crate) fn read_exactly(file: &File, parts: &[Span]) -> std::io::Result<()> {
    let mut buffer = vec![0; REQUEST as usize];
    let requests = parts.iter().flat_map(|part| {
        let starts = (part.offset..part.end()).step_by(REQUEST as usize);
        starts.map(|at| (at, (part.end() - at).min(REQUEST) as usize))
    });
    without_read_ahead(
        file,
        |error| error,
        || { requests }.try_for_each(|(at, length)| read_at(file, &mut buffer[..length], at)),
    )
}

/// With POSIX_FADV_RANDOM the kernel reads what was asked for (mm/readahead.c, `page_cache_sync_ra`). The advice is that of
/// the open file, so it is taken back however the reads end: later fills use the same descriptor.
fn without_read_ahead<E>(
    file: &File,
    cannot: impl Fn(std::io::Error) -> E,
    reads: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let advise = |advice| rustix::fs::fadvise(file.as_fd(), 0, None, advice).map_err(|errno| cannot(errno.into()));
    advise(Advice::Random)?;
    let done = reads();
    advise(Advice::Normal).and(done)
}

/// All of a part, unless the file has become shorter.
fn read_at(file: &File, mut room: &mut [u8], mut at: u64) -> std::io::Result<()> {
    while !room.is_empty() {
        match file.read_at(room, at)? {
            0 => break,
            got => {
                at += got as u64;
                room = &mut room[got..];
            }
        }
    }
    Ok(())
}

/// Requests that the device may have at once.
const QUEUED: usize = 1024;

/// Mapped pages count as this process's memory, and the controller stays small.
const MAPPED_AT_ONCE: u64 = 32 << 20;

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
    fixture::fits(&folder, bytes).map_err(|error| Trouble::Unavailable(format!("{error:#}")))?;
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
    Target::unnamed(&folder, bytes).map_err(|error| {
        format!(
            "a copy of the file cannot be made in {} ({error}): it needs a folder that you may write to, on a file \
             system that supports O_TMPFILE",
            folder.display()
        )
    })
}

/// Where copies are made: beside the file. One without a name is reached by a link to where it was made.
fn folder(target: &Target) -> PathBuf {
    let path = PathBuf::from(&target.path);
    let path = if path.starts_with("/proc") { std::fs::read_link(&path).unwrap_or(path) } else { path };
    path.parent().unwrap_or(Path::new("/")).to_path_buf()
}

/// Places at which pages are counted that a fault maps.
pub(crate) const SAMPLES: usize = 200;

/// Whether the folios are as the fill makes them: by their sizes, which root sees, or by the pages that single faults map.
///
/// # Errors
/// What is otherwise.
pub(crate) fn verify(fill: Fill, folios: &Folios) -> Result<(), String> {
    let page = sys::page_bytes();
    // How large folios get is the kernel's and the file system's choice; how small they are kept is the fill's.
    let (largest, exactly) = match fill {
        Fill::Found | Fill::Sequential | Fill::Faults | Fill::HugePages => return Ok(()),
        Fill::Random => (page, false),
        Fill::Written(bytes) => (bytes.max(page), false),
        Fill::ReadAhead(bytes) => (bytes, true),
    };
    let (all, larger, just, what) = match folios {
        Folios::Orders(orders) => {
            let sum = |wanted: &dyn Fn(u64) -> bool| -> u64 {
                orders.iter().filter(|(order, _)| wanted(page << **order)).map(|(_, pages)| pages).sum()
            };
            (sum(&|_| true), sum(&|size| size > largest), sum(&|size| size == largest), "pages are in larger folios")
        }
        Folios::PerFault(counts) => {
            // As many are mapped whatever the folios are.
            let mapped = (largest / page).max((AROUND_A_FAULT / page).max(1));
            let count = |wanted: &dyn Fn(u64) -> bool| counts.iter().filter(|&&it| wanted(it)).count() as u64;
            // Where mappings are not aligned, what is mapped around a fault lies across two folios.
            let most = mapped + if largest > page { largest / page } else { 0 };
            (counts.len() as u64, count(&|it| it > most), count(&|it| it == mapped), "faults map more pages")
        }
    };
    let size = schema::Bytes(largest);
    if larger as f64 > all as f64 * (1.0 - SHARE_WANTED) {
        return Err(format!("fill {fill} should give folios of at most {size}, but {larger} of {all} {what}"));
    }
    if exactly && (just as f64) < all as f64 * SHARE_WANTED {
        return Err(format!("fill {fill} could not be made here: only {just} of {all} are of that size"));
    }
    Ok(())
}

/// How many of the folios that a fill left are not as they were, as a share: of the pages, or, where folio sizes are not
/// seen, of the places where one fault maps other numbers of pages.
pub(crate) fn changed_share(was: &Folios, is: &Folios) -> Option<f64> {
    /// Beside a page that is locked or marked for read-ahead a fault maps fewer.
    const ALIKE: f64 = 1.5;
    match (was, is) {
        (Folios::Orders(was), Folios::Orders(is)) => {
            let all = |of: &BTreeMap<u32, u64>| of.values().sum::<u64>();
            let stayed: u64 = was.iter().map(|(order, pages)| *pages.min(is.get(order).unwrap_or(&0))).sum();
            let all = all(was).max(all(is));
            (all > 0).then(|| 1.0 - stayed as f64 / all as f64)
        }
        (Folios::PerFault(was), Folios::PerFault(is)) => {
            let alike = |(was, is): (&u64, &u64)| (*was.max(is)) as f64 <= ALIKE * *was.min(is) as f64;
            // Both are sorted.
            let stayed = was.iter().zip(is).filter(|(was, is)| alike((was, is))).count();
            let all = was.len().max(is.len());
            (all > 0).then(|| 1.0 - stayed as f64 / all as f64)
        }
        _ => None,
    }
}

/// So large a share of the folios may change, and it is the fill still.
pub(crate) fn may_change(folios: &Folios) -> f64 {
    match folios {
        Folios::Orders(_) => 1.0 - SHARE_WANTED,
        // Of 200 places.
        Folios::PerFault(_) => 0.1,
    }
}

/// What is seen of the folios of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Folios {
    /// Pages by order, as root sees them.
    Orders(BTreeMap<u32, u64>),
    /// Pages that one fault maps, at some places.
    PerFault(Vec<u64>),
}

/// Bytes that the kernel maps around a fault by default (`fault_around_bytes`).
const AROUND_A_FAULT: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = (5 << 20) + 5;

    /// A file that can be evicted.
    fn target() -> Option<(tempfile::NamedTempFile, Target)> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), (0..BYTES).map(|at| (at % 251) as u8).collect::<Vec<u8>>()).unwrap();
        let target = Target::open(file.path(), false).unwrap();
        if target.file_system.is_memory() || matches!(target.way(), Err(_) | Ok(sys::cache::Way::Nowait)) {
            println!("skipped: files in the temporary folder cannot be evicted, or their residency is not shown");
            return None;
        }
        Some((file, target))
    }

    #[test]
    fn a_copy_of_a_file_without_a_name_is_made_where_that_file_is() {
        let folder = tempfile::tempdir().unwrap();
        match Target::unnamed(folder.path(), 4096) {
            Ok(target) => assert_eq!(super::folder(&target), folder.path().canonicalize().unwrap()),
            Err(error) => println!("skipped: no file without a name can be made here: {error}"),
        }
    }

    fn resident(target: &Target) -> (u64, u64) {
        let reading = target.residency(Span { offset: 0, bytes: BYTES });
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
            crate::state::cold::evict(&target, &AtomicBool::new(false)).unwrap();
            let copy = match fill.copied_by() {
                Some(block) => Some(copy(&target, BYTES, block, &go_on).map_err(|_| "no copy").unwrap()),
                None => {
                    bring_in(&target.file, Span { offset: 0, bytes: BYTES }, fill, Order::Pages, &go_on)
                        .map_err(|_| "")
                        .unwrap();
                    None
                }
            };
            let filled = copy.as_ref().unwrap_or(&target);
            let (pages, of) = resident(filled);
            assert_eq!(pages, of, "{fill}");
            if let Ok(orders) = sys::folio::orders(&filled.file, 0, BYTES) {
                assert_eq!(verify(fill, &Folios::Orders(orders.clone())), Ok(()), "{orders:?}");
                looked += 1;
            }
            if let Ok(counts) = sys::folio::pages_per_fault(&filled.file, 0, BYTES, SAMPLES) {
                assert_eq!(
                    verify(fill, &Folios::PerFault(counts.clone())),
                    Ok(()),
                    "{fill} {:?} {counts:?}",
                    sys::folio::orders(&filled.file, 0, BYTES)
                );
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
        let orders = |pages: &[(u32, u64)]| Folios::Orders(pages.iter().copied().collect());
        let counts = |counts: &[u64]| Folios::PerFault(counts.repeat(100));
        assert_eq!(verify(Fill::Random, &counts(&[1, 16])), Ok(()));
        assert!(verify(Fill::Random, &counts(&[16, 16, 512])).is_err());
        assert_eq!(verify(Fill::ReadAhead(128 << 10), &counts(&[32])), Ok(()));
        assert!(verify(Fill::ReadAhead(128 << 10), &counts(&[16, 32])).is_err());
        let page = sys::page_bytes();
        assert!(verify(Fill::Random, &orders(&[(0, 1000), (9, 512)])).is_err());
        assert_eq!(verify(Fill::Random, &orders(&[(0, 100_000), (9, 512)])), Ok(()));
        assert!(verify(Fill::Written(4 * page), &orders(&[(3, 800)])).is_err());
        assert_eq!(verify(Fill::Written(4 * page), &orders(&[(0, 3), (2, 800)])), Ok(()));
        assert!(verify(Fill::ReadAhead(4 * page), &orders(&[(0, 300), (2, 800)])).is_err());
        assert_eq!(verify(Fill::Sequential, &orders(&[(0, 7)])), Ok(()));
    }

    #[test]
    fn folios_that_changed_after_a_fill_are_found_out_by_either_way_of_looking() {
        let share = |was: &Folios, is: &Folios| changed_share(was, is).unwrap();
        let orders = |pages: &[(u32, u64)]| Folios::Orders(pages.iter().copied().collect());
        let first = orders(&[(0, 900), (4, 160)]);
        assert_eq!(share(&first, &first), 0.0);
        assert!(
            share(&first, &orders(&[(0, 890), (4, 160), (3, 8)])) <= may_change(&first),
            "a few pages of a thousand"
        );
        let collapsed = orders(&[(9, 1024), (0, 36)]);
        assert!(share(&first, &collapsed) > may_change(&first) && share(&collapsed, &first) > may_change(&first));
        let counts = |counts: &[u64]| Folios::PerFault(counts.repeat(50));
        let few = counts(&[14, 15, 16, 16]);
        assert_eq!(share(&few, &counts(&[16, 16, 16, 16])), 0.0, "what is locked at that moment is not mapped");
        assert!(share(&few, &counts(&[16, 16, 512, 512])) > may_change(&few));
        assert!(share(&few, &Folios::PerFault(vec![16; 100])) > may_change(&few), "half of the places are gone");
        assert_eq!(changed_share(&first, &few), None, "two ways of looking cannot be held against each other");
    }

    #[test]
    fn a_fill_that_cannot_be_had_is_refused_with_a_reason() {
        let Some((_file, target)) = target() else { return };
        assert_eq!(possible(Fill::Random, &target, BYTES), Ok(()));
        assert!(possible(Fill::Written(4096), &target, 1 << 60).is_err(), "no file system has room for that");
        for (bytes, is_one) in [(5 << 10, false), (1, false), (3 << 20, false), (64 << 10, true), (2 << 20, true)] {
            assert_eq!(folio_of(Fill::ReadAhead(bytes)).is_ok(), is_one, "{bytes}");
        }
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
    fn a_fill_that_took_a_shorter_way_says_so() {
        assert_eq!(Order::Pages.method(Fill::Random), Fill::Random.about());
        assert_ne!(Order::Requests.method(Fill::Random), Fill::Random.about());
        assert_eq!(Order::Requests.method(Fill::Faults), Fill::Faults.about());
    }

    #[test]
    fn a_random_fill_that_is_interrupted_leaves_read_ahead_to_those_that_follow() {
        let Some((_file, target)) = target() else { return };
        if target.read_ahead_bytes().unwrap_or(0) <= sys::page_bytes() {
            println!("skipped: the device under the temporary folder has no read-ahead, or does not show it");
            return;
        }
        let whole = Span { offset: 0, bytes: BYTES };
        drop(bring_in(&target.file, whole, Fill::Random, Order::Requests, &AtomicBool::new(true)));
        crate::state::cold::evict(&target, &AtomicBool::new(false)).unwrap();
        target.file.read_exact_at(&mut [0; 1], 0).unwrap();
        assert!(resident(&target).0 > 1);
    }

    #[test]
    fn an_interruption_ends_a_fill() {
        let Some((_file, target)) = target() else { return };
        let stop = AtomicBool::new(true);
        let whole = Span { offset: 0, bytes: BYTES };
        assert!(matches!(bring_in(&target.file, whole, Fill::Random, Order::Pages, &stop), Err(Trouble::Interrupted)));
        assert!(matches!(copy(&target, BYTES, 4096, &stop), Err(Trouble::Interrupted)));
    }
}
