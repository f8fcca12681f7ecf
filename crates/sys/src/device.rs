//! The block device under a file system, and what it counted.

use std::{fs, io, path::PathBuf};

/// A whole disk, found through its partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// `vda`, `nvme0n1`, `loop0`.
    pub name: String,
    folder: PathBuf,
}

/// Cumulative counters of a disk (Documentation/admin-guide/iostats.rst); sectors are 512 bytes there, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskCounters {
    pub read_requests: u64,
    pub read_bytes: u64,
    pub write_requests: u64,
    pub write_bytes: u64,
    /// Flush requests; `None` where they are not counted (`Disk::why_no_flushes`).
    pub flush_requests: Option<u64>,
    /// How long requests were in flight.
    pub busy_ms: u64,
}

impl Disk {
    /// The disk of a `major:minor` as in mountinfo.
    ///
    /// # Errors
    /// There is no block device of that number (network and memory file systems, overlays, btrfs).
    pub fn of(device: &str) -> io::Result<Disk> {
        let folder = fs::canonicalize(format!("/sys/dev/block/{device}"))?;
        // A partition's folder lies inside its disk's.
        let folder = match folder.join("partition").exists() {
            true => folder.parent().expect("a partition lies below its disk").to_path_buf(),
            false => folder,
        };
        let name = folder.file_name().expect("a device has a name").to_string_lossy().into_owned();
        Ok(Disk { name, folder })
    }

    /// The disk of a device file such as `/dev/loop0`; for file systems that hide their device's number (btrfs).
    ///
    /// # Errors
    /// The file is missing or no block device.
    pub fn of_source(source: &str) -> io::Result<Disk> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let metadata = fs::metadata(source)?;
        if !metadata.file_type().is_block_device() {
            return Err(io::Error::other(format!("{source} is no block device")));
        }
        let number = metadata.rdev();
        Disk::of(&format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number)))
    }

    /// `major:minor` of the whole disk, the form that cgroup throttles use.
    ///
    /// # Errors
    /// The disk has gone.
    pub fn number(&self) -> io::Result<String> {
        fs::read_to_string(self.folder.join("dev")).map(|text| text.trim().to_string())
    }

    /// A file of the device's `queue` folder, such as `read_ahead_kb`.
    ///
    /// # Errors
    /// The kernel has no such attribute for this device.
    pub fn queue(&self, attribute: &str) -> io::Result<String> {
        fs::read_to_string(self.folder.join("queue").join(attribute)).map(|text| text.trim().to_string())
    }

    /// Whether it is, or is made of, a loop device that reads its file through the page cache (drivers/block/loop.c, `dio`): what
    /// was evicted of files on it is found there.
    pub fn is_through_page_cache(&self) -> bool {
        let below = fs::read_dir(self.folder.join("slaves")).into_iter().flatten().flatten();
        let below = || below.filter_map(|it| Disk::of(fs::read_to_string(it.path().join("dev")).ok()?.trim()).ok());
        let is_buffered = fs::read_to_string(self.folder.join("loop/dio")).is_ok_and(|it| it.trim() == "0");
        is_buffered || below().any(|it| it.is_through_page_cache())
    }

    /// # Errors
    /// The counters cannot be read, or count nothing: those of NVMe with several paths, before its driver had any (Linux 6.2).
    pub fn counters(&self) -> io::Result<DiskCounters> {
        let text = fs::read_to_string(self.folder.join("stat"))?;
        let counters = parse_counters(&text);
        let counters =
            counters.ok_or_else(|| io::Error::other(format!("unknown format of {}'s counters", self.name)))?;
        if counters.are_none() && !self.has_requests() {
            return Err(io::Error::other(format!("this kernel counts no requests of {}", self.name)));
        }
        Ok(DiskCounters { flush_requests: counters.flush_requests.filter(|_| self.has_requests()), ..counters })
    }

    /// Linux counts flushes as requests of a queue (block/blk-flush.c, blk_account_io_flush). A disk that is made of others
    /// (LVM, dm-crypt, md, NVMe with several paths) has none, and shows 0 of them whatever is flushed.
    fn has_requests(&self) -> bool {
        self.folder.join("mq").exists()
    }

    /// Where flushes are not counted.
    pub fn why_no_flushes(&self) -> String {
        match self.has_requests() {
            true => "this kernel does not count flushes (Linux 5.5)".into(),
            false => format!("{} has no request queue of its own, and flushes are counted in one only", self.name),
        }
    }
}

impl DiskCounters {
    /// Of a disk with a file on it, which was read at least once.
    fn are_none(&self) -> bool {
        self.read_requests == 0 && self.write_requests == 0 && self.busy_ms == 0
    }
}

pub(crate) fn parse_counters(text: &str) -> Option<DiskCounters> {
    let fields: Vec<u64> = text.split_whitespace().map(|field| field.parse().ok()).collect::<Option<_>>()?;
    Some(DiskCounters {
        read_requests: *fields.first()?,
        read_bytes: fields.get(2)?.checked_mul(512)?,
        write_requests: *fields.get(4)?,
        write_bytes: fields.get(6)?.checked_mul(512)?,
        flush_requests: fields.get(15).copied(),
        busy_ms: *fields.get(9)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_of_the_kernel_are_512_bytes() {
        let counters = parse_counters("  100 5 4000 70 200 6 8000 90 0 1 2\n").unwrap();
        let expected = DiskCounters {
            read_requests: 100,
            read_bytes: 2_048_000,
            write_requests: 200,
            write_bytes: 4_096_000,
            flush_requests: None,
            busy_ms: 1,
        };
        assert_eq!(counters, expected);
        let newer = parse_counters("100 5 4000 70 200 6 8000 90 0 1 2 0 0 0 0 33 4").unwrap();
        assert_eq!(newer, DiskCounters { flush_requests: Some(33), ..expected });
        assert_eq!(parse_counters("nonsense"), None);
    }

    #[test]
    fn flushes_are_counted_where_there_is_a_queue_of_requests() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("mq")).unwrap();
        fs::write(folder.path().join("stat"), "100 5 4000 70 200 6 8000 90 0 1 2 0 0 0 0 33 4").unwrap();
        let disk = Disk { name: "dm-0".into(), folder: folder.path().into() };
        let with_queue = disk.counters().unwrap();
        fs::remove_dir(folder.path().join("mq")).unwrap();
        let without = (disk.counters().unwrap(), disk.why_no_flushes());
        assert_eq!(with_queue.flush_requests, Some(33));
        assert_eq!(without.0, DiskCounters { flush_requests: None, ..with_queue });
        assert!(without.1.starts_with("dm-0 has no request queue"), "{}", without.1);
    }

    #[test]
    fn a_disk_without_a_queue_that_counts_nothing_has_no_counters() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("stat"), "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0").unwrap();
        let disk = Disk { name: "nvme0n1".into(), folder: folder.path().into() };
        assert!(disk.counters().is_err());
        fs::create_dir(folder.path().join("mq")).unwrap();
        assert_eq!(disk.counters().unwrap().read_requests, 0, "of one that was not read yet");
    }

    #[test]
    fn a_number_without_a_device_is_an_error() {
        assert!(Disk::of("0:12345").is_err());
        assert!(Disk::of_source("/dev/null").is_err());
    }
}
