//! Folio sizes in the page cache, with root: /proc/self/pagemap gives the frame of each mapped page and
//! /proc/kpageflags says which frames head a compound page (Documentation/admin-guide/mm/pagemap.rst).

use std::{collections::BTreeMap, fs::File, io, os::unix::fs::FileExt};

use crate::{
    cache::{ReadOnlyMapping, Way},
    page_bytes,
};

pub(crate) const PRESENT: u64 = 1 << 63;
/// A page of a file, or of shared memory, and no copy of the process's own.
pub(crate) const OF_FILE: u64 = 1 << 61;
const FRAME: u64 = (1 << 55) - 1;
const COMPOUND_TAIL: u64 = 1 << 16;

/// Of a part of a file with more pages none is looked at one by one: 256 GiB with 4 KiB pages. A sparse file may have 2^51 pages,
/// and to look at them would not end.
pub const PAGES_MAX: u64 = 1 << 26;

/// Whether so many bytes of a file are few enough for each of their pages to be looked at.
///
/// # Errors
/// They are more (`ErrorKind::FileTooLarge`).
pub fn check_length(bytes: u64) -> io::Result<()> {
    let pages = bytes.div_ceil(page_bytes());
    match pages <= PAGES_MAX {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has {pages} pages, and no more than {PAGES_MAX} of a file are looked at one by one"),
        )),
    }
}

/// Why the folios of a file are not known, in words.
pub fn why_unknown(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::FileTooLarge => error.to_string(),
        _ => format!("folio sizes need root and /proc/kpageflags: {error}"),
    }
}

/// Whether one call, which takes no longer for a longer file, finds that no page of a part is in the page cache.
fn is_uncached(file: &File, offset: u64, bytes: u64) -> bool {
    let way = Way::Cachestat;
    way.shows(file) && way.resident_pages(file, offset, bytes).is_ok_and(|pages| pages == 0)
}

/// Pages by folio order (0: a single page, 4: 64 KiB with 4 KiB pages, 9: 2 MiB) of what is resident of a part of a
/// file; nothing is read in. Folios that stick out of the range count with the pages that lie inside, rounded down to
/// an order.
///
/// # Errors
/// Not root, or a kernel without /proc/kpageflags; or, of what is in the page cache at all, a part of more than `PAGES_MAX` pages
/// (`ErrorKind::FileTooLarge`).
pub fn orders(file: &File, offset: u64, bytes: u64) -> io::Result<BTreeMap<u32, u64>> {
    // Small windows: mapped pages count as this process's memory, and the controller stays small.
    const WINDOW: u64 = 8 << 20;
    let page = page_bytes();
    let is_uncached = is_uncached(file, offset, bytes);
    if !is_uncached {
        check_length(bytes)?;
    }
    let flags = File::open("/proc/kpageflags")?;
    let pagemap = File::open("/proc/self/pagemap")?;
    let mut orders = BTreeMap::new();
    if is_uncached {
        return Ok(orders);
    }
    let mut run = 0u64;
    let mut previous = 0u64;
    let end = offset + bytes;
    let mut at = offset / page * page;
    while at < end {
        let length = (end - at).min(WINDOW);
        let pages = length.div_ceil(page) as usize;
        let mapping = ReadOnlyMapping::of(file, at, length)?;
        // Pages that were looked at are not to count as used (mm/memory.c, vma_has_recency), nor to bring neighbours.
        mapping.advise(0, mapping.bytes, libc::MADV_RANDOM)?;
        for run in resident_runs(&mapping.resident()?) {
            // MADV_POPULATE_READ (Linux 5.14) reports a hole in the cache as an error instead of a signal.
            mapping.advise(run.start * page as usize, run.len() * page as usize, libc::MADV_POPULATE_READ)?;
        }
        let mut entries = vec![0u8; pages * 8];
        pagemap.read_exact_at(&mut entries, mapping.start as u64 / page * 8)?;
        for entry in entries.chunks_exact(8).map(|chunk| u64::from_ne_bytes(chunk.try_into().expect("eight bytes"))) {
            if entry & PRESENT == 0 {
                close(&mut orders, run);
                run = 0;
                continue;
            }
            if entry & FRAME == 0 {
                return Err(io::Error::other("/proc/self/pagemap hides frame numbers (needs CAP_SYS_ADMIN)"));
            }
            let frame = entry & FRAME;
            let mut flag = [0u8; 8];
            flags.read_exact_at(&mut flag, frame * 8)?;
            let continues = u64::from_ne_bytes(flag) & COMPOUND_TAIL != 0 && frame == previous + 1 && run > 0;
            if !continues {
                close(&mut orders, run);
                run = 0;
            }
            run += 1;
            previous = frame;
        }
        at += length;
    }
    close(&mut orders, run);
    Ok(orders)
}

/// How many pages one touch of a fresh mapping maps, at `samples` places of a part of a file that is resident:
/// what any user can see of folio sizes. The kernel maps the whole folio, or `fault_around_bytes` (64 KiB) where that is
/// more (mm/filemap.c, `filemap_map_pages`), so folios of 64 KiB and less look alike. Nothing is read in: a place that is not
/// resident is left out.
///
/// # Errors
/// No mapping, or a /proc/self/pagemap that cannot be read.
pub fn pages_per_fault(file: &File, offset: u64, bytes: u64, samples: usize) -> io::Result<Vec<u64>> {
    /// One entry of a page table of the second level covers so much; no folio is mapped beyond it.
    const AROUND: u64 = 2 << 20;
    let page = page_bytes();
    let pagemap = File::open("/proc/self/pagemap")?;
    let first = offset / page * page;
    let pages = (offset + bytes).saturating_sub(first).div_ceil(page);
    let mut counts = Vec::with_capacity(samples);
    for place in places(pages, samples as u64) {
        let at = first + place * page;
        // A mapping of its own for each touch, so that nothing is mapped before it.
        let start = (at / AROUND * AROUND).max(first);
        // Also beyond the file's end: the kernel aligns a mapping of this size, so that what is mapped around a fault does
        // not lie across two folios.
        let length = AROUND;
        let mapping = ReadOnlyMapping::of(file, start, length)?;
        if !mapping.resident()?.get(((at - start) / page) as usize).is_some_and(|it| *it) {
            continue;
        }
        // No read-ahead, even at a read-ahead mark; pages around the fault are mapped nevertheless.
        mapping.advise(0, mapping.bytes, libc::MADV_RANDOM)?;
        mapping.advise((at - start) as usize, page as usize, libc::MADV_POPULATE_READ)?;
        let mut entries = vec![0u8; length.div_ceil(page) as usize * 8];
        pagemap.read_exact_at(&mut entries, mapping.start as u64 / page * 8)?;
        let entries = entries.chunks_exact(8).map(|it| u64::from_ne_bytes(it.try_into().expect("eight bytes")));
        counts.push(entries.filter(|entry| entry & PRESENT != 0).count() as u64);
    }
    counts.sort_unstable();
    Ok(counts)
}

/// One page of each of `samples` stretches of equal length, the same ones each time: what is looked at twice is compared. Places
/// at one distance from each other would all be alike in a file whose folios repeat at a part of it.
fn places(pages: u64, samples: u64) -> impl Iterator<Item = u64> {
    /// The fractions of multiples of the golden ratio, here times 2^64, lie evenly between 0 and 1 (Knuth, "The Art of Computer
    /// Programming", 6.4).
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let samples = samples.min(pages);
    (0..samples).map(move |index| {
        let [from, to] = [index, index + 1].map(|it| (u128::from(pages) * u128::from(it) / u128::from(samples)) as u64);
        from + ((u128::from(index.wrapping_mul(GOLDEN)) * u128::from(to - from)) >> 64) as u64
    })
}

/// What a touch at a random place maps on average; nothing where no place was resident.
pub fn mean(counts: &[u64]) -> Option<f64> {
    (!counts.is_empty()).then(|| counts.iter().sum::<u64>() as f64 / counts.len() as f64)
}

/// Stretches of resident pages.
fn resident_runs(resident: &[bool]) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for (page, _) in resident.iter().enumerate().filter(|(_, resident)| **resident) {
        match runs.last_mut() {
            Some(run) if run.end == page => run.end += 1,
            _ => runs.push(page..page + 1),
        }
    }
    runs
}

fn close(orders: &mut BTreeMap<u32, u64>, run: u64) {
    if run > 0 {
        *orders.entry(run.ilog2()).or_default() += run;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn stretches_begin_and_end_where_residency_does() {
        assert_eq!(resident_runs(&[false, true, true, false, true]), [1..3, 4..5]);
        assert_eq!(resident_runs(&[]), []);
    }

    #[test]
    fn pages_that_are_not_resident_are_neither_counted_nor_read_in() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![1u8; 1 << 20]).unwrap();
        crate::cache::evict(file.as_file(), 0, 0).unwrap();
        let way = crate::cache::Way::Mincore;
        match (way.resident_pages(file.as_file(), 0, 1 << 20), orders(file.as_file(), 0, 1 << 20)) {
            (Ok(0), Ok(orders)) => {
                assert_eq!(orders.values().sum::<u64>(), 0);
                assert_eq!(way.resident_pages(file.as_file(), 0, 1 << 20).unwrap(), 0);
            }
            (resident, orders) => println!("skipped: {resident:?} pages resident after eviction, {orders:?}"),
        }
    }

    #[test]
    fn a_part_with_more_pages_than_are_looked_at_one_by_one_is_refused() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"in the page cache").unwrap();
        let error = orders(file.as_file(), 0, (PAGES_MAX + 1) * page_bytes()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("67108865 pages"), "{error}");
        assert!(check_length(PAGES_MAX * page_bytes()).is_ok());
    }

    #[test]
    fn a_sparse_file_without_a_page_in_the_page_cache_has_no_folios_however_long_it_is() {
        let file = tempfile::tempfile().unwrap();
        let longest = [1u64 << 62, 1 << 43].into_iter().find(|it| file.set_len(*it).is_ok());
        let Some(bytes) = longest.filter(|_| Way::Cachestat.shows(&file)) else {
            println!("skipped: no long file can be made here, or cachestat(2) does not show what is resident of it");
            return;
        };
        assert!(is_uncached(&file, 0, bytes));
        match orders(&file, 0, bytes) {
            Ok(orders) => assert_eq!(orders, BTreeMap::new()),
            Err(error) => assert_ne!(error.kind(), io::ErrorKind::FileTooLarge),
        }
    }

    #[test]
    fn each_stretch_has_one_place_and_a_layout_that_repeats_has_all_its_parts_among_them() {
        for (pages, samples) in [(1, 200), (7, 7), (200, 200), (25_600, 200), (25_601, 200), (1 << 40, 200)] {
            let places: Vec<u64> = places(pages, samples).collect();
            assert_eq!(places.len() as u64, samples.min(pages));
            assert!(places.is_sorted_by(|one, next| one < next) && places[places.len() - 1] < pages, "{places:?}");
        }
        // Segments of 512 KiB in 100 MiB: one of 16 pages in 128 is of the first eighth of a segment.
        let first = places(25_600, 200).filter(|it| it % 128 < 16).count();
        assert!((13..=37).contains(&first), "{first} of 200");
    }

    #[test]
    fn a_touch_maps_one_page_at_least_and_no_more_than_there_are() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![1u8; (1 << 20) + 1]).unwrap();
        let pages = (1u64 << 20) / page_bytes() + 1;
        match pages_per_fault(file.as_file(), 0, (1 << 20) + 1, 40) {
            Ok(counts) => {
                assert_eq!(counts.len(), 40);
                assert!(counts.iter().all(|count| (1..=pages).contains(count)), "{counts:?}");
            }
            Err(error) => println!("skipped: {error}"),
        }
    }

    #[test]
    fn the_histogram_covers_every_page_or_says_why_not() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![1u8; 1 << 20]).unwrap();
        match orders(file.as_file(), 0, 1 << 20) {
            Ok(orders) => assert_eq!(orders.values().sum::<u64>(), (1 << 20) / page_bytes()),
            Err(error) => println!("skipped: {error}"),
        }
    }
}
