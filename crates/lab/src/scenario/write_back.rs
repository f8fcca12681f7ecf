//! How much is written back for a few stored bytes. write(2) marks the blocks dirty that it wrote; a store through a mapping is
//! known to the kernel by its fault alone, which marks the whole folio dirty (`iomap_page_mkwrite` in
//! fs/iomap/buffered-io.c, `ext4_page_mkwrite`). The fill of the page cache decides how large folios are.

use std::{fs::File, os::unix::fs::FileExt};

use schema::{Bytes, record::ScenarioResult};
use sys::{
    memory_disk::{MemoryDisk, Mount},
    pages::{Pages, Sharing},
};

use super::{Scenario, Scene, disk_of_our_own};

pub(super) const EXT4: Scenario = Scenario {
    name: "write-back-ext4",
    about: ABOUT,
    scratch_bytes: |_| 0,
    observe: |scene| observe(scene, "ext4", &["-q", "-F"]),
};
pub(super) const XFS: Scenario = Scenario {
    name: "write-back-xfs",
    about: ABOUT,
    scratch_bytes: |_| 0,
    observe: |scene| observe(scene, "xfs", &["-q", "-f"]),
};
pub(super) const BTRFS: Scenario = Scenario {
    name: "write-back-btrfs",
    about: ABOUT,
    scratch_bytes: |_| 0,
    observe: |scene| observe(scene, "btrfs", &["-q", "-f"]),
};

const ABOUT: &str = "a store through a mapping causes more write-back than the same bytes by pwrite(2)";

const STORES: u64 = 64;
const APART: u64 = 256 << 10;
const STORED: [u8; 8] = *b"changed!";

fn observe(scene: &Scene, kind: &str, options: &[&str]) -> Result<ScenarioResult, String> {
    let (disk, mount) = disk_of_our_own::with(scene, kind, options)?;
    let lab = Lab { disk, mount };
    // Page by page, with read-ahead off; with requests of 1 MiB it makes folios as large as it can.
    let small = [lab.per_store("a", sys::page_bytes(), false)?, lab.per_store("b", sys::page_bytes(), true)?];
    let large = [lab.per_store("c", 1 << 20, false)?, lab.per_store("d", 1 << 20, true)?];
    let says = |[called, mapped]: &[WrittenBack; 2]| {
        format!(
            "{} by pwrite(2) and {} through a mapping, into folios of {}",
            Bytes(called.bytes),
            Bytes(mapped.bytes),
            mapped.folio_bytes.map_or("unknown size".into(), |it| Bytes(it).to_string())
        )
    };
    let evidence =
        format!("{kind}, written back for each {} stored bytes: {}; {}", STORED.len(), says(&small), says(&large));
    let holds = is_more(&large).map_err(|reason| format!("{reason} ({evidence})"))?;
    Ok(ScenarioResult { holds, evidence })
}

/// Metadata and the journal are written back too, so what differs by less shows nothing.
const FACTOR: u64 = 2;

/// Whether stores through a mapping caused more write-back than calls did.
///
/// # Errors
/// Why that cannot be decided.
fn is_more([called, mapped]: &[WrittenBack; 2]) -> Result<bool, &'static str> {
    match mapped.folio_bytes {
        // Both were synced, so something of them was written.
        _ if called.bytes.min(mapped.bytes) == 0 => Err("the disk does not count what is written to it"),
        _ if mapped.bytes >= called.bytes.saturating_mul(FACTOR) => Ok(true),
        None => Err("the sizes of folios are not seen here, and folios of one page would explain the same"),
        Some(folio) if folio <= sys::page_bytes() => {
            Err("the page cache has folios of one page here, of which a store makes as little dirty as a call does")
        }
        Some(_) if mapped.bytes > called.bytes => Err("the two differ by no more than metadata may"),
        Some(_) => Ok(false),
    }
}

struct Lab {
    disk: MemoryDisk,
    mount: Mount,
}

struct WrittenBack {
    /// Written to the device for one store, metadata included.
    bytes: u64,
    /// The size of the folios that most pages are in, where it is seen.
    folio_bytes: Option<u64>,
}

impl Lab {
    fn per_store(&self, name: &str, request_bytes: u64, mapped: bool) -> Result<WrittenBack, String> {
        let described = |error: std::io::Error| format!("{name} on the disk in memory: {error}");
        let file = self.mount.create(name).map_err(described)?;
        let bytes = STORES * APART;
        let chunk = vec![b'o'; 1 << 20];
        (0..bytes / chunk.len() as u64)
            .try_for_each(|index| file.write_all_at(&chunk, index * chunk.len() as u64))
            .map_err(described)?;
        sys::cache::evict(&file, 0, bytes).map_err(described)?;
        fill(&file, bytes, request_bytes).map_err(described)?;
        let folio_bytes = usual_folio_bytes(&file, bytes);
        let mut mapping = Pages::map(&file, bytes, Sharing::Shared).map_err(described)?;
        self.mount.sync().map_err(described)?;
        let before = self.disk.counters().map_err(described)?.write_bytes;
        for offset in (0..STORES).map(|index| index * APART) {
            match mapped {
                true => {
                    (0..).zip(STORED).try_for_each(|(at, byte)| mapping.store(offset + at, byte)).map_err(described)?
                }
                false => file.write_all_at(&STORED, offset).map_err(described)?,
            }
        }
        file.sync_data().map_err(described)?;
        let after = self.disk.counters().map_err(described)?.write_bytes;
        Ok(WrittenBack { bytes: (after - before) / STORES, folio_bytes })
    }
}

fn fill(file: &File, bytes: u64, request_bytes: u64) -> std::io::Result<()> {
    let advice = match request_bytes > sys::page_bytes() {
        true => rustix::fs::Advice::Normal,
        false => rustix::fs::Advice::Random,
    };
    rustix::fs::fadvise(file, 0, None, advice)?;
    let mut buffer = vec![0; request_bytes as usize];
    (0..bytes / request_bytes).try_for_each(|index| file.read_exact_at(&mut buffer, index * request_bytes))
}

fn usual_folio_bytes(file: &File, bytes: u64) -> Option<u64> {
    let (order, _) = sys::folio::orders(file, 0, bytes).ok()?.into_iter().max_by_key(|(_, pages)| *pages)?;
    Some(sys::page_bytes() << order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_little_more_write_back_decides_nothing() {
        let page = sys::page_bytes();
        let is_more = |called, mapped, folio_bytes| {
            is_more(&[called, mapped].map(|bytes| WrittenBack { bytes, folio_bytes })).ok()
        };
        let large = Some(64 * page);
        assert_eq!(is_more(page, 64 * page, large), Some(true));
        assert_eq!(is_more(page, 64 * page, None), Some(true));
        assert_eq!(is_more(page, page, large), Some(false));
        assert_eq!(is_more(page, page + 1, large), None);
        assert_eq!(is_more(page, page, Some(page)), None);
        assert_eq!(is_more(page, page, None), None);
    }

    #[test]
    fn a_disk_that_counts_nothing_decides_nothing() {
        for bytes in [[0, 0], [0, 4096], [4096, 0]] {
            let stores = bytes.map(|bytes| WrittenBack { bytes, folio_bytes: Some(64 * sys::page_bytes()) });
            assert!(is_more(&stores).is_err(), "{bytes:?}");
        }
    }
}
