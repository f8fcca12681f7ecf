//! Making a window of a file cold, and keeping read-ahead inside it.
//!
//! Threat: a pass over a part of a file also reads what lies beside that part. A mapping's read-around begins half a
//! read-ahead window before the faulting page, a reader's read-ahead runs up to two windows past the last byte
//! (mm/filemap.c, mm/readahead.c), and where a window is 8 MiB that decides the comparison: a throttled scan of 16 MiB
//! was seen to favour the mapping by 1.25 with the window at the file's start, and the reader by 1.3 at its end.
//! Defence: a read-ahead guard. The pages on both sides of the window stay in the page cache, and read-ahead skips what is there
//! already, so each method fetches what it would of a file that is exactly as large as the window. What remains: files
//! whose residency cannot be asked for get their guard anew before each pass, unverified.

use std::{sync::atomic::AtomicBool, time::Duration};

use schema::{
    Span,
    record::{Reading, Resident},
};
use sys::cache;

use super::{fill, known};
use crate::{
    link::Trouble,
    target::{Target, stayed},
};

const EVICTION_TRIES: u32 = 50;
const EVICTION_PAUSE: Duration = Duration::from_millis(4);

/// Drops every page of the file, or of all that were named.
///
/// # Errors
/// How many stayed, and who holds them; an interruption.
pub(crate) fn evict(target: &Target, interrupted: &AtomicBool) -> Result<(), Trouble> {
    match &target.named {
        Some(named) => named.evict(interrupted),
        None => evict_around(target, &[]).map_err(Trouble::Failed),
    }
}

/// Drops every page of the file but the window's guard, which is read where it is missing.
///
/// # Errors
/// How many pages stayed, and who holds them; or that the guard cannot be read; an interruption.
pub(crate) fn make_cold(target: &Target, window: Span, interrupted: &AtomicBool) -> Result<(), Trouble> {
    if target.named.is_some() {
        return evict(target, interrupted);
    }
    let guard = guard(window, target.bytes, target.window_bytes());
    let stands =
        |part: &Span| matches!(target.residency(*part), Reading::Value(resident) if resident.pages == resident.of);
    let may_ask = !target.look_reads_ahead();
    if may_ask && guard.iter().all(stands) && evict_around(target, &guard).is_ok() && guard.iter().all(stands) {
        return Ok(());
    }
    // A folio may lie across the window's edge, left by whoever read the file before.
    evict(target, interrupted)?;
    let unread = |error| Trouble::Failed(format!("the pages beside the window cannot be read: {error}"));
    fill::read_exactly(&target.file, &guard).map_err(unread)?;
    if !may_ask {
        return Ok(());
    }
    verified(&target.residency(window)).map_err(Trouble::Failed)
}

/// Brings back what of the named files was in the page cache when the run began, and nothing else.
///
/// # Errors
/// As `make_cold`.
pub(crate) fn make_as_found(target: &Target, interrupted: &AtomicBool) -> Result<(), Trouble> {
    evict(target, interrupted)?;
    let named = target.named.as_ref().ok_or_else(|| Trouble::Failed("no files were named".into()))?;
    named.each_found(|file, parts| {
        let unread = |error| Trouble::Failed(format!("what was found in the page cache cannot be read again: {error}"));
        fill::read_exactly(file, parts).map_err(unread)
    })
}

/// Whether no page of a window is in the page cache.
fn verified(window: &Reading<Resident>) -> Result<(), String> {
    match known(window)?.pages {
        0 => Ok(()),
        pages => Err(format!("{pages} pages of the window were read in together with the read-ahead guard beside it")),
    }
}

/// A call that asks for more than a read-ahead window reads up to so much at once (mm/readahead.c, `ractl_max_pages`: `io_pages`, which
/// is max_sectors_kb of the disk; 4 MiB is the most that it has by itself, block/blk-settings.c, `BLK_DEF_MAX_SECTORS_CAP`).
const REQUEST_BYTES: u64 = 4 << 20;

/// What must be resident beside a window so that no read-ahead leaves it. Before it that is one read-ahead window. After it, two of
/// the largest that a pass can have: the one that holds the last byte may begin right before it, and its first page starts the
/// next. That is twice the window of the disk, with POSIX_FADV_SEQUENTIAL (mm/fadvise.c), or one request. Whole pages.
fn guard(window: Span, file_bytes: u64, read_ahead_bytes: u64) -> Vec<Span> {
    let page = sys::page_bytes();
    let first = window.offset / page * page;
    let end = window.end().div_ceil(page) * page;
    let before = Span { offset: first.saturating_sub(read_ahead_bytes) / page * page, bytes: 0 };
    let before = Span { bytes: first - before.offset, ..before };
    let largest = read_ahead_bytes.saturating_mul(2).max(REQUEST_BYTES);
    let after = Span { offset: end, bytes: file_bytes.saturating_sub(end).min(largest.saturating_mul(2)) };
    [before, after].into_iter().filter(|part| part.bytes > 0).collect()
}

/// What lies outside the guard, in ascending order.
fn gaps(guard: &[Span], file_bytes: u64) -> Vec<Span> {
    let mut gaps = Vec::new();
    let mut at = 0;
    for part in guard {
        gaps.push(Span { offset: at, bytes: part.offset - at });
        at = part.end();
    }
    gaps.push(Span { offset: at, bytes: file_bytes.saturating_sub(at) });
    gaps.retain(|gap| gap.bytes > 0);
    gaps
}

fn evict_around(target: &Target, guard: &[Span]) -> Result<(), String> {
    let gaps = gaps(guard, target.bytes);
    let drop_pages = || {
        gaps.iter().try_for_each(|gap| {
            cache::evict(&target.file, gap.offset, gap.bytes)
                .map_err(|error| format!("the file cannot be evicted: {error}"))
        })
    };
    drop_pages()?;
    let resident = || {
        if target.look_reads_ahead() {
            let stayed = stayed(&target.file, target.bytes)
                .map_err(|error| format!("it cannot be seen whether the file was evicted: {error}"))?;
            // What the looks have read.
            drop_pages()?;
            return Ok(stayed);
        }
        gaps.iter().try_fold(0, |sum, gap| match target.residency(*gap) {
            Reading::Value(resident) => Ok(sum + resident.pages),
            Reading::Unavailable { unavailable } => Err(unavailable),
        })
    };
    let mut stayed = resident()?;
    // Read-ahead that the pass before began may still be under way; its pages are locked until it ends. Others sit in
    // another CPU's batch of the page lists. A guard is in vain where a folio lies across it, so it gets one try.
    let tries = if guard.is_empty() { EVICTION_TRIES } else { 1 };
    for _ in 0..tries {
        if stayed == 0 {
            break;
        }
        std::thread::sleep(EVICTION_PAUSE);
        drop_pages()?;
        stayed = resident()?;
    }
    if stayed == 0 {
        return Ok(());
    }
    let holders = sys::process::mappers(&target.identity());
    Err(match holders.as_slice() {
        [] => format!(
            "{stayed} pages of the file stay in the page cache after eviction, and no process visible to this user has \
             it mapped"
        ),
        holders => {
            format!("{stayed} pages of the file stay in the page cache: it is mapped by process {}", holders.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
    use schema::State;
    use sys::pages::{Pages, Sharing};

    use super::*;
    use crate::{state, target::named::Named};

    const MIB: u64 = 1 << 20;

    fn span(offset: u64, bytes: u64) -> Span {
        Span { offset, bytes }
    }

    #[test]
    fn a_window_is_cold_when_it_is_known_that_no_page_of_it_is_resident() {
        assert_eq!(verified(&Reading::Value(Resident { pages: 0, of: 4 })), Ok(()));
        assert!(verified(&Reading::Value(Resident { pages: 1, of: 4 })).is_err());
        assert!(verified(&Reading::unavailable("mincore failed")).is_err());
    }

    #[test]
    fn a_whole_file_needs_no_guard() {
        assert_eq!(guard(span(0, 10_000), 10_000, 8 * MIB), []);
    }

    #[test]
    fn a_window_in_the_middle_has_a_guard_on_both_sides_and_never_beyond_the_file() {
        assert_eq!(
            guard(span(32 * MIB, 16 * MIB), 256 * MIB, 8 * MIB),
            [span(24 * MIB, 8 * MIB), span(48 * MIB, 32 * MIB)]
        );
        assert_eq!(
            guard(span(32 * MIB, 16 * MIB), 256 * MIB, 128 << 10),
            [span(32 * MIB - (128 << 10), 128 << 10), span(48 * MIB, 8 * MIB)]
        );
        assert_eq!(guard(span(4 * MIB, 16 * MIB), 21 * MIB, 8 * MIB), [span(0, 4 * MIB), span(20 * MIB, MIB)]);
    }

    #[test]
    fn everything_but_the_guard_is_evicted() {
        let guard = guard(span(32 * MIB, 16 * MIB), 256 * MIB, 8 * MIB);
        assert_eq!(gaps(&guard, 256 * MIB), [span(0, 24 * MIB), span(32 * MIB, 16 * MIB), span(80 * MIB, 176 * MIB)]);
        assert_eq!(gaps(&[], 7), [span(0, 7)]);
    }

    #[test]
    fn pages_that_stay_are_found_where_a_look_reads_ahead_and_what_the_look_reads_does_not_stay() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let bytes = 8 * MIB;
        std::io::Write::write_all(&mut file, &vec![3u8; bytes as usize]).unwrap();
        file.as_file().sync_all().unwrap();
        let target = Target::open(file.path(), true).unwrap();
        if target.file_system.is_memory() || cache::Way::Mincore.prove(file.as_file()).is_err() {
            println!("skipped: eviction or residency is not available here");
            return;
        }
        target.prove_as(cache::Way::Nowait);
        let go_on = AtomicBool::new(false);
        let resident = || cache::mincore(file.as_file(), 0, bytes).unwrap();
        let half = Pages::map(file.as_file(), bytes / 2, Sharing::Shared).unwrap();
        (0..bytes / 2).step_by(sys::page_bytes() as usize).for_each(|at| assert_eq!(half.load(at).unwrap(), 3));
        match evict(&target, &go_on) {
            Err(Trouble::Failed(reason)) => assert!(reason.contains("stay in the page cache"), "{reason}"),
            other => panic!("{other:?} of {} pages that stay", resident()),
        }
        drop(half);
        evict(&target, &go_on).unwrap();
        assert_eq!(resident(), 0);
    }

    #[test]
    fn what_of_named_files_was_in_the_page_cache_is_brought_back_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a", "b", "c"].map(|it| folder.path().join(it));
        files.iter().for_each(|it| std::fs::write(it, vec![3u8; (2 * MIB + 1) as usize]).unwrap());
        let go_on = AtomicBool::new(false);
        let gather = |keep| Target::of_named(Named::gather(&files, &[], keep, &go_on).unwrap(), keep).unwrap();
        let before = gather(false);
        if state::possible(State::Cold, &before).is_err() || before.look_reads_ahead() {
            println!("skipped: eviction or residency is not available here");
            return;
        }
        evict(&before, &go_on).unwrap();
        let page = sys::page_bytes();
        let found = [span(0, page), span(5 * page, 3 * page), span(2 * MIB, 1)];
        fill::read_exactly(&std::fs::File::open(&files[0]).unwrap(), &found).unwrap();
        std::fs::read(&files[1]).unwrap();
        let target = gather(false);
        assert_eq!(state::possible(State::AsFound, &target), Ok(()));
        let parts = |path: &std::path::PathBuf| {
            let file = std::fs::File::open(path).unwrap();
            cache::resident_parts(&file, 2 * MIB + 1, 9).unwrap().unwrap()
        };
        for _ in 0..2 {
            files.iter().for_each(|it| drop(std::fs::read(it).unwrap()));
            make_as_found(&target, &go_on).unwrap();
            assert_eq!(parts(&files[0]), found.map(|it| (it.offset, it.bytes.next_multiple_of(page))));
            assert_eq!((parts(&files[1]), parts(&files[2])), (vec![(0, 2 * MIB + page)], vec![]));
            let resident = target.residency(span(0, 0));
            assert_eq!(state::verify_before(State::AsFound, &target, &resident), Ok(()));
        }
        evict(&target, &go_on).unwrap();
        assert!(state::verify_before(State::AsFound, &target, &target.residency(span(0, 0))).is_err());
        // Nothing, and all.
        assert!(state::possible(State::AsFound, &gather(true)).is_err());
        files.iter().for_each(|it| drop(std::fs::read(it).unwrap()));
        assert!(state::possible(State::AsFound, &gather(true)).is_err());
    }

    #[test]
    fn a_guarded_window_is_cold_and_the_pages_beside_it_are_not() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, &vec![3u8; 8 << 20]).unwrap();
        file.as_file().sync_all().unwrap();
        let target = Target::open(file.path(), false).unwrap();
        if target.file_system.is_memory() || target.way().is_err() || target.look_reads_ahead() {
            println!("skipped: eviction or residency is not available here");
            return;
        }
        if target.window_bytes() == 0 {
            println!("skipped: the device under the temporary folder does not say its read-ahead");
            return;
        }
        let window = span(2 * MIB, 4 * MIB);
        // Twice: reading the guard, and finding it resident.
        for _ in 0..2 {
            make_cold(&target, window, &AtomicBool::new(false)).unwrap();
            let pages = |part: Span| target.residency(part).value().unwrap().pages;
            assert_eq!(pages(window), 0);
            for part in guard(window, target.bytes, target.window_bytes()) {
                assert_eq!(pages(part), part.bytes / sys::page_bytes());
            }
        }
    }
}
