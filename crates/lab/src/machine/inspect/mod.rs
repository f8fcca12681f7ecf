//! Looking at where the pages of a file are, or at what a process has mapped. Changes nothing: no page is read in,
//! evicted, or marked as used, but the first ones of the program that a process executes.

mod places;
mod process;

use std::{fs::File, io, path::Path};

use anyhow::Result;
use schema::{
    Reading,
    inspection::{FileView, Residency},
    record::FolioOrder,
};
use sys::cache::{self, Way};

pub use process::process;

use crate::{state::fill, target::Target};

/// A file is shown in so many stretches at most.
const STRETCHES: u64 = 48;

/// Where the pages of a file are.
///
/// # Errors
/// It cannot be opened, or is no file with pages.
pub fn file(path: &Path) -> Result<FileView> {
    // Kept as it is: proving a way of asking would evict the file.
    let target = Target::open(path, true)?;
    let residency = residency(&target);
    let way = residency.value().map(|it| if it.asked == Way::Cachestat.word() { Way::Cachestat } else { Way::Mincore });
    Ok(FileView {
        path: target.path.clone(),
        bytes: target.bytes,
        page_bytes: sys::page_bytes(),
        file_system: target.file_system.kind.clone(),
        can_be_evicted: !target.file_system.is_memory(),
        stretches: match (way, residency.reason()) {
            (Some(way), _) => stretches(&target, way).map_err(|error| error.to_string()).into(),
            (None, reason) => Reading::unavailable(reason.unwrap_or_default()),
        },
        folio_orders: folio_orders(&target.file, target.bytes).map_err(|error| sys::folio::why_unknown(&error)).into(),
        pages_per_fault: match residency.reason() {
            // A user who cannot see the residency cannot avoid reading in the other pages.
            Some(reason) => Reading::unavailable(reason),
            None => pages_per_fault(&target.file, target.bytes)
                .map_err(|error| format!("the pages that a fault maps cannot be seen: {error}"))
                .and_then(|pages| pages.ok_or_else(|| "none of the places that were looked at is resident".into()))
                .into(),
        },
        faults: Reading::unavailable("unit costs were not requested"),
        mapped_by: sys::process::mappers(&target.identity()),
        residency,
    })
}

fn folio_orders(file: &File, bytes: u64) -> io::Result<Vec<FolioOrder>> {
    let orders = sys::folio::orders(file, 0, bytes)?;
    Ok(orders.into_iter().map(|(order, pages)| FolioOrder { order, pages }).collect())
}

/// The mean over some places, as it is recorded of fills; nothing where no page is resident.
fn pages_per_fault(file: &File, bytes: u64) -> io::Result<Option<f64>> {
    Ok(sys::folio::mean(&sys::folio::pages_per_fault(file, 0, bytes, fill::SAMPLES)?))
}

fn residency(target: &Target) -> Reading<Residency> {
    let told = "the kernel reports the residency of a file only to its owner and to those who may write it; try as that \
                user, or as root";
    match page_cache(&target.file, target.bytes) {
        Ok(residency) => Reading::Value(residency),
        Err(Untold::Stranger) => Reading::unavailable(told),
        Err(Untold::Failed(error)) => Reading::unavailable(error.to_string()),
    }
}

/// Why it is not known what of a file is in the page cache.
enum Untold {
    Stranger,
    Failed(io::Error),
}

/// What of a file is in the page cache. Nothing is read in.
fn page_cache(file: &File, bytes: u64) -> Result<Residency, Untold> {
    let pages = bytes.div_ceil(sys::page_bytes());
    let only = |name: &str| Reading::unavailable(format!("only cachestat(2) reports {name} (Linux 6.5)"));
    let shows = Way::Cachestat.shows(file);
    match shows.then(|| cache::cachestat(file, 0, bytes).ok()).flatten() {
        Some(stat) => Ok(Residency {
            asked: Way::Cachestat.word().into(),
            pages,
            resident: stat.cached,
            dirty: Reading::Value(stat.dirty),
            under_writeback: Reading::Value(stat.writeback),
            evicted: Reading::Value(stat.evicted),
            recently_evicted: Reading::Value(stat.recently_evicted),
        }),
        // For other users mincore(2) reports every page as resident (mm/mincore.c, can_do_mincore).
        None if !is_told(file) => Err(Untold::Stranger),
        None => {
            // mincore(2) answers for each page, also for those of a hole.
            sys::folio::check_length(bytes).map_err(Untold::Failed)?;
            let resident = Way::Mincore.resident_pages(file, 0, bytes).map_err(Untold::Failed)?;
            Ok(Residency {
                asked: Way::Mincore.word().into(),
                pages,
                resident,
                dirty: only("dirty pages"),
                under_writeback: only("pages under write-back"),
                evicted: only("evicted pages"),
                recently_evicted: only("recently evicted pages"),
            })
        }
    }
}

/// Whether mincore(2) is truthful for this user: the owner, users who may write the file, and root, unless of a user namespace in
/// which the file's owner has no number.
fn is_told(file: &File) -> bool {
    // Why it says nothing at all, the look itself says.
    Way::Mincore.shows(file) || Way::Mincore.resident_pages(file, 0, 1).is_err()
}

/// The resident share of equal stretches, whole pages each.
fn stretches(target: &Target, way: Way) -> std::io::Result<Vec<f64>> {
    let page = sys::page_bytes();
    let pages = target.bytes.div_ceil(page);
    let count = pages.min(STRETCHES);
    let edge = |index: u64| (u128::from(pages) * u128::from(index) / u128::from(count)) as u64;
    (0..count)
        .map(|index| {
            let (from, to) = (edge(index), edge(index + 1));
            let bytes = (to * page).min(target.bytes) - from * page;
            Ok(way.resident_pages(&target.file, from * page, bytes)? as f64 / (to - from) as f64)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_stretches_add_up_to_what_is_resident() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![5u8; 3 << 20]).unwrap();
        let view = super::file(file.path()).unwrap();
        let Reading::Value(residency) = &view.residency else {
            println!("skipped: {}", view.residency.reason().unwrap());
            return;
        };
        let stretches = view.stretches.value().unwrap();
        let pages = residency.pages as f64;
        let sum: f64 = stretches.iter().sum::<f64>() / stretches.len() as f64 * pages;
        assert!((sum - residency.resident as f64).abs() < 1e-6 * pages, "{sum} {residency:?}");
        assert_eq!(residency.pages, (3 << 20) / sys::page_bytes());
    }

    #[test]
    fn a_sparse_file_of_which_nothing_is_resident_is_looked_at_however_long_it_is() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let longest = [1u64 << 62, 1 << 43].into_iter().find(|it| file.as_file().set_len(*it).is_ok());
        let Some(bytes) = longest else { return println!("skipped: no long file can be made here") };
        let view = super::file(file.path()).unwrap();
        assert_eq!(view.bytes, bytes);
        match &view.residency {
            Reading::Value(residency) => {
                assert_eq!((residency.asked.as_str(), residency.resident), (Way::Cachestat.word(), 0));
                assert!(view.folio_orders.value().is_none_or(Vec::is_empty), "{:?}", view.folio_orders);
            }
            Reading::Unavailable { unavailable } => assert!(unavailable.contains("one by one"), "{unavailable}"),
        }
    }

    #[test]
    fn what_is_too_long_for_its_folios_is_not_said_to_need_root() {
        let why = sys::folio::why_unknown(&sys::folio::check_length(u64::MAX).unwrap_err());
        assert!(why.contains("one by one") && !why.contains("root"), "{why}");
        assert!(sys::folio::why_unknown(&io::ErrorKind::PermissionDenied.into()).contains("need root"));
    }

    #[test]
    fn looking_reads_nothing_in() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![5u8; 1 << 20]).unwrap();
        cache::evict(file.as_file(), 0, 0).unwrap();
        let before = cache::cachestat(file.as_file(), 0, 1 << 20).map(|it| it.cached).ok();
        super::file(file.path()).unwrap();
        assert_eq!(cache::cachestat(file.as_file(), 0, 1 << 20).map(|it| it.cached).ok(), before);
    }
}
