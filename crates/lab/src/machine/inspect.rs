//! Looking at where the pages of a file are, or at what a process has mapped. Changes nothing: no page is read in,
//! evicted, or marked as used.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use anyhow::{Context, Result, bail};
use schema::{
    Reading,
    inspection::{FileView, MappingView, ProcessView, Residency},
    record::FolioOrder,
};
use sys::cache::{self, Way};

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
        stretches: match (way, residency.reason()) {
            (Some(way), _) => stretches(&target, way).map_err(|error| error.to_string()).into(),
            (None, reason) => Reading::unavailable(reason.unwrap_or_default()),
        },
        folio_orders: sys::folio::orders(&target.file, 0, target.bytes)
            .map(|orders| orders.into_iter().map(|(order, pages)| FolioOrder { order, pages }).collect())
            .map_err(|error| format!("folio sizes need root and /proc/kpageflags: {error}"))
            .into(),
        pages_per_fault: match residency.reason() {
            // A user who cannot see the residency cannot avoid reading in the other pages.
            Some(reason) => Reading::unavailable(reason),
            None => pages_per_fault(&target).into(),
        },
        faults: Reading::unavailable("unit costs were not requested"),
        mapped_by: sys::process::mappers(&target.identity()),
        residency,
    })
}

/// The mean over some places, as it is recorded of fills.
fn pages_per_fault(target: &Target) -> Result<f64, String> {
    let counts = sys::folio::pages_per_fault(&target.file, 0, target.bytes, fill::SAMPLES);
    let counts = counts.map_err(|error| format!("the pages that a fault maps cannot be seen: {error}"))?;
    sys::folio::mean(&counts).ok_or_else(|| "no page of it is resident".into())
}

fn residency(target: &Target) -> Reading<Residency> {
    let pages = target.bytes.div_ceil(sys::page_bytes());
    let only = |name: &str| Reading::unavailable(format!("only cachestat(2) reports {name} (Linux 6.5)"));
    let shows = Way::Cachestat.shows(&target.file);
    match shows.then(|| cache::cachestat(&target.file, 0, target.bytes).ok()).flatten() {
        Some(stat) => Reading::Value(Residency {
            asked: Way::Cachestat.word().into(),
            pages,
            resident: stat.cached,
            dirty: Reading::Value(stat.dirty),
            under_writeback: Reading::Value(stat.writeback),
            evicted: Reading::Value(stat.evicted),
            recently_evicted: Reading::Value(stat.recently_evicted),
        }),
        // For other users mincore(2) reports every page as resident (mm/mincore.c, can_do_mincore).
        None if !is_told(target) => Reading::unavailable(
            "the kernel reports the residency of a file only to its owner and to those who may write it; try as that \
             user, or as root",
        ),
        None => Way::Mincore
            .resident_pages(&target.file, 0, target.bytes)
            .map(|resident| Residency {
                asked: Way::Mincore.word().into(),
                pages,
                resident,
                dirty: only("dirty pages"),
                under_writeback: only("pages under write-back"),
                evicted: only("evicted pages"),
                recently_evicted: only("recently evicted pages"),
            })
            .into(),
    }
}

/// Whether mincore(2) is truthful for this user: the owner, root, and users who may write the file.
fn is_told(target: &Target) -> bool {
    let me = rustix::process::geteuid();
    me.is_root()
        || target.file.metadata().is_ok_and(|it| it.uid() == me.as_raw())
        || rustix::fs::access(target.path.as_str(), rustix::fs::Access::WRITE_OK).is_ok()
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

/// What a process has mapped.
///
/// # Errors
/// There is no such process, or it belongs to another user.
pub fn process(pid: u32) -> Result<ProcessView> {
    let command = match fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(command) => command.trim_end().to_string(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!("there is no process {pid}"),
        Err(error) => return Err(error).with_context(|| format!("cannot read the data of process {pid}")),
    };
    let mappings = sys::process::mappings(pid).with_context(|| {
        format!("cannot read the mappings of process {pid} ({command}); only its owner and root can")
    })?;
    let view = |it: sys::process::ProcessMapping| MappingView {
        is_file: it.inode != 0,
        shared: it.permissions.as_bytes().get(3) == Some(&b's'),
        protection: it.permissions.chars().take(3).collect(),
        name: it.name,
        addresses: it.addresses,
        offset: it.offset,
        bytes: it.bytes,
        resident_bytes: it.resident_bytes,
        dirty_bytes: it.dirty_bytes,
        locked_bytes: it.locked_bytes,
        huge_bytes: it.huge_bytes,
        swapped_bytes: it.swapped_bytes,
    };
    Ok(ProcessView { pid, command, mappings: mappings.into_iter().map(view).collect() })
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
    fn looking_reads_nothing_in() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![5u8; 1 << 20]).unwrap();
        cache::evict(file.as_file(), 0, 0).unwrap();
        let before = cache::cachestat(file.as_file(), 0, 1 << 20).map(|it| it.cached).ok();
        super::file(file.path()).unwrap();
        assert_eq!(cache::cachestat(file.as_file(), 0, 1 << 20).map(|it| it.cached).ok(), before);
    }

    #[test]
    fn this_process_has_its_own_program_mapped_private() {
        let view = process(std::process::id()).unwrap();
        let program = std::env::current_exe().unwrap();
        let mine: Vec<_> = view.mappings.iter().filter(|it| Path::new(&it.name) == program).collect();
        assert!(!mine.is_empty());
        assert!(mine.iter().all(|it| it.is_file && !it.shared));
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error_in_words() {
        assert_eq!(process(u32::MAX).unwrap_err().to_string(), "there is no process 4294967295");
    }
}
