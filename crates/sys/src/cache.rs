//! The page cache of one file: which pages are resident, and how to evict them.
//!
//! Three ways to query residency, none of which reads the whole file: cachestat(2) (Linux 6.5), mincore(2), preadv2(2)
//! with RWF_NOWAIT. Each can be wrong or refused. cachestat and mincore work only for the owner of a file and for users
//! who may write it (for others mincore reports every page as resident, mm/mincore.c `can_do_mincore`), and on overlayfs
//! the cache belongs to another inode than the one that cachestat queries. Therefore a way is used only after
//! `Way::prove` has tested it on the file itself.

use std::{
    fs::File,
    io,
    num::NonZero,
    os::fd::{AsFd, AsRawFd},
    time::Duration,
};

use rustix::{
    fs::Advice,
    mm::{MapFlags, ProtFlags},
};

use crate::{folder, page_bytes, process};

/// A way to query which pages are resident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Cachestat,
    Mincore,
    /// Tries to read one byte of each page without waiting. A miss starts read-ahead, so this can verify that all
    /// pages are resident, but must not be used on a file of which pages may be missing.
    Nowait,
}

impl Way {
    pub const ALL: [Way; 3] = [Way::Cachestat, Way::Mincore, Way::Nowait];

    pub fn word(self) -> &'static str {
        match self {
            Way::Cachestat => "cachestat",
            Way::Mincore => "mincore",
            Way::Nowait => "preadv2-nowait",
        }
    }

    /// Resident pages of `bytes` bytes at `offset`.
    ///
    /// # Errors
    /// What the system call said: EPERM for a file of another user, ENOSYS on older kernels.
    pub fn resident_pages(self, file: &File, offset: u64, bytes: u64) -> io::Result<u64> {
        match self {
            Way::Cachestat => cachestat(file, offset, bytes).map(|stat| stat.cached),
            Way::Mincore => mincore(file, offset, bytes),
            Way::Nowait => nowait(file, offset, bytes),
        }
    }

    /// Whether the way shows what of this file is resident, as far as that is seen without evicting anything. mincore(2)
    /// calls every page resident for a process that neither owns the file nor may write to it (mm/mincore.c,
    /// `can_do_mincore`), also a page beyond the file's end, where there is none. On overlayfs cachestat(2) counts 0 pages of
    /// every file.
    pub fn shows(self, file: &File) -> bool {
        if self == Way::Cachestat && is_on_overlay(file) {
            return false;
        }
        let Ok(metadata) = file.metadata() else { return false };
        // Beyond a huge page, too, that holds the end (tmpfs with `huge=always`).
        const HUGE_BYTES: u64 = 2 << 20;
        let beyond = metadata.len().next_multiple_of(HUGE_BYTES);
        self.resident_pages(file, 0, 1).is_ok() && self.resident_pages(file, beyond, 1).is_ok_and(|pages| pages == 0)
    }

    /// Tests the way on this file: a page just read must be reported resident, and not resident after the file was
    /// evicted. A look at a missing page starts read-ahead, which may have ended before the look answers, and others may
    /// read or evict the file at the same time; so a way that can show a missing page has several tries.
    ///
    /// # Errors
    /// A sentence saying which of the two went wrong at last, or what cannot be done.
    pub fn prove(self, file: &File) -> Result<(), String> {
        let tries = if self.shows(file) { PROOF_TRIES } else { 1 };
        self.prove_within(
            tries,
            &mut || rustix::io::pread(file, &mut [0u8], 0).map(drop).map_err(io::Error::from),
            &mut || evict(file, 0, 0),
            &mut || self.resident_pages(file, 0, 1),
        )
    }

    fn prove_within(
        self,
        tries: u32,
        read: &mut dyn FnMut() -> io::Result<()>,
        evict: &mut dyn FnMut() -> io::Result<()>,
        look: &mut dyn FnMut() -> io::Result<u64>,
    ) -> Result<(), String> {
        let mut look = || look().map_err(|error| format!("{}: {error}", self.word()));
        let mut wrong = String::new();
        for attempt in 0..tries {
            if attempt > 0 {
                // A page that is being read stays.
                std::thread::sleep(PROOF_PAUSE);
            }
            read().map_err(|error| format!("the file cannot be read: {error}"))?;
            if look()? == 0 {
                wrong = format!("{} does not report a page as resident that was just read", self.word());
                continue;
            }
            evict().map_err(|error| format!("the file cannot be evicted: {error}"))?;
            if look()? == 0 {
                return Ok(());
            }
            wrong = format!("{} reports a page as resident after it was to be evicted", self.word());
        }
        Err(wrong)
    }
}

/// Together a tenth of a second. Of 4000 looks at a page that had just been evicted, up to 1551 found what their own
/// read-ahead had brought in.
const PROOF_TRIES: u32 = 50;
const PROOF_PAUSE: Duration = Duration::from_millis(2);

fn is_on_overlay(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|it| is_overlay(&it))
}

pub(crate) fn is_overlay(of: &rustix::fs::StatFs) -> bool {
    // The type of the field is another one on each architecture.
    of.f_type as u64 & 0xFFFF_FFFF == libc::OVERLAYFS_SUPER_MAGIC as u64
}

/// Pages of a range by what the page cache says of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Cachestat {
    pub cached: u64,
    pub dirty: u64,
    pub writeback: u64,
    pub evicted: u64,
    pub recently_evicted: u64,
}

/// cachestat(2), Linux 6.5.
///
/// # Errors
/// ENOSYS before 6.5; EPERM for a file one neither owns nor may write; EOPNOTSUPP for hugetlbfs.
pub fn cachestat(file: &File, offset: u64, bytes: u64) -> io::Result<Cachestat> {
    // The same number on every architecture (include/uapi/asm-generic/unistd.h).
    const SYS_CACHESTAT: libc::c_long = 451;
    #[repr(C)]
    struct Range {
        offset: u64,
        bytes: u64,
    }
    let range = Range { offset, bytes };
    let mut stat = Cachestat::default();
    // SAFETY: both structures have the kernel's layout and outlive the call; the descriptor is open.
    let rc = unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut stat, 0) };
    if rc == 0 { Ok(stat) } else { Err(io::Error::last_os_error()) }
}

/// Resident pages by mincore(2) over a mapping that is never touched.
///
/// # Errors
/// What mmap(2) or mincore(2) said.
pub fn mincore(file: &File, offset: u64, bytes: u64) -> io::Result<u64> {
    let mut resident = 0;
    each_resident(file, offset, bytes, |_| resident += 1)?;
    Ok(resident)
}

/// Hands out the resident pages of a part of a file by their numbers within it, in order (mincore(2)).
///
/// # Errors
/// What mmap(2) or mincore(2) said.
pub fn each_resident(file: &File, offset: u64, bytes: u64, mut each: impl FnMut(u64)) -> io::Result<()> {
    const WINDOW: u64 = 1 << 30;
    let page = page_bytes();
    let end = offset + bytes;
    let mut at = offset / page * page;
    while at < end {
        let length = (end - at).min(WINDOW);
        let resident = ReadOnlyMapping::of(file, at, length)?.resident()?;
        (at / page..).zip(resident).filter(|it| it.1).for_each(|it| each(it.0));
        at += length;
    }
    Ok(())
}

/// Of a longer file, which is sparse or that of a very large machine, `each_resident` takes seconds.
pub const LOOKED_AT_BYTES_MAX: u64 = 1 << 40;

/// The resident parts of a file, in whole pages: where each begins, and how long it is, in bytes. Nothing where there are more
/// than `most`, or the file is longer than `LOOKED_AT_BYTES_MAX`.
///
/// # Errors
/// As `each_resident`.
pub fn resident_parts(file: &File, bytes: u64, most: usize) -> io::Result<Option<Vec<(u64, u64)>>> {
    if bytes > LOOKED_AT_BYTES_MAX {
        return Ok(None);
    }
    let (page, mut parts) = (page_bytes(), Vec::<(u64, u64)>::new());
    each_resident(file, 0, bytes, |number| {
        let is_full = parts.len() > most;
        match parts.last_mut() {
            Some((start, length)) if *start + *length == number * page => *length += page,
            _ if is_full => {}
            _ => parts.push((number * page, page)),
        }
    })?;
    Ok((parts.len() <= most).then_some(parts))
}

fn nowait(file: &File, offset: u64, bytes: u64) -> io::Result<u64> {
    let page = page_bytes();
    let mut resident = 0;
    let mut byte = 0u8;
    let vector = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    for at in (offset / page * page..offset + bytes).step_by(page as usize) {
        // SAFETY: one vector over one byte that outlives the call.
        let read =
            unsafe { libc::preadv2(file.as_raw_fd(), &raw const vector, 1, at as libc::off_t, libc::RWF_NOWAIT) };
        match read {
            1 => resident += 1,
            0 => break,
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => {}
                error => return Err(error),
            },
        }
    }
    Ok(resident)
}

/// How many of the pages at some places are resident, whoever the file belongs to. Those that are not are read, each alone, and
/// no read is under way afterwards: so this may be asked of a file that is to have no page in the page cache, which is evicted
/// again. A look that finds a page has not always found it before: its own read may have ended by then, and shows in what
/// this thread has read from the device. The places lie further apart than what a file system reads together.
///
/// # Errors
/// The file cannot be opened again or read; or what a thread reads from the device is not counted here.
pub fn resident_at(file: &File, places: impl IntoIterator<Item = u64>) -> io::Result<u64> {
    // Its own open file: the hint is not for other readers.
    let file = File::open(folder::path_of(file))?;
    rustix::fs::fadvise(&file, 0, None, Advice::Random)?;
    let mut resident = 0;
    for place in places {
        let before = process::io_of_thread()?.device_read_bytes;
        let found = nowait(&file, place, 1)?;
        rustix::io::pread(&file, &mut [0u8], place)?;
        if process::io_of_thread()?.device_read_bytes == before {
            resident += found;
        }
    }
    Ok(resident)
}

/// Has dirty pages of a part written back, and does not wait for that (sync_file_range(2)).
///
/// # Errors
/// What the call said.
pub fn start_write_back(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let range = |it: u64| libc::off64_t::try_from(it).map_err(io::Error::other);
    let (offset, bytes) = (range(offset)?, range(bytes)?);
    // SAFETY: the call takes a descriptor, numbers and flags, and touches no memory of this process.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), offset, bytes, libc::SYNC_FILE_RANGE_WRITE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has the file's dirty pages written. A file system that is only ever read has no fsync(2) (fs/sync.c, `vfs_fsync_range`: EINVAL;
/// squashfs, erofs, iso9660), and no dirty pages.
///
/// # Errors
/// What fsync(2) said.
pub fn write_back(file: &File) -> io::Result<()> {
    match rustix::fs::fsync(file) {
        Err(rustix::io::Errno::INVAL) => Ok(()),
        other => Ok(other?),
    }
}

/// Writes the file's dirty pages and requests eviction of a part of it; with `bytes` 0 up to its end. Success proves
/// nothing: mapped pages stay (mm/fadvise.c drops only clean, unmapped ones), so query residency afterwards.
///
/// # Errors
/// What fsync(2) or posix_fadvise(2) said.
pub fn evict(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    write_back(file)?;
    rustix::fs::fadvise(file.as_fd(), offset, NonZero::new(bytes), Advice::DontNeed)?;
    Ok(())
}

/// Brings a part of a file into the page cache as a mapping does whose pages are touched in ascending order; with
/// MADV_HUGEPAGE first, where `huge`. `offset` is a multiple of the page size.
///
/// # Errors
/// No mapping, no MADV_POPULATE_READ (Linux 5.14), a kernel without transparent huge pages, or a page that cannot be read.
pub fn fault_in(file: &File, offset: u64, bytes: u64, huge: bool) -> io::Result<()> {
    let mapping = ReadOnlyMapping::of(file, offset, bytes)?;
    if huge {
        mapping.advise(0, mapping.bytes, libc::MADV_HUGEPAGE)?;
    }
    // The same faults as touches make, and an error instead of a signal where a page cannot be read.
    mapping.advise(0, mapping.bytes, libc::MADV_POPULATE_READ)
}

/// A read-only shared mapping of a part of a file.
pub(crate) struct ReadOnlyMapping {
    pub(crate) start: *mut u8,
    pub(crate) bytes: usize,
}

impl ReadOnlyMapping {
    /// `offset` is a multiple of the page size.
    pub(crate) fn of(file: &File, offset: u64, bytes: u64) -> io::Result<ReadOnlyMapping> {
        // SAFETY: a new mapping at an address of the kernel's choice overlays nothing.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                bytes as usize,
                ProtFlags::READ,
                MapFlags::SHARED,
                file.as_fd(),
                offset,
            )?
        };
        Ok(ReadOnlyMapping { start: start.cast(), bytes: bytes as usize })
    }

    /// For each page whether it is in the page cache (mincore(2)).
    pub(crate) fn resident(&self) -> io::Result<Vec<bool>> {
        let mut states = vec![0u8; self.bytes.div_ceil(page_bytes() as usize)];
        // SAFETY: the mapping covers `bytes` bytes and `states` has a byte for each of its pages.
        let rc = unsafe { libc::mincore(self.start.cast(), self.bytes, states.as_mut_ptr()) };
        if rc != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(states.into_iter().map(|state| state & 1 == 1).collect())
    }

    /// madvise(2) for a part of the mapping, both in bytes.
    pub(crate) fn advise(&self, offset: usize, bytes: usize, advice: libc::c_int) -> io::Result<()> {
        let bytes = bytes.min(self.bytes.saturating_sub(offset));
        // SAFETY: the part lies within the mapping, and the advices given here only read or hint.
        let rc = unsafe { libc::madvise(self.start.add(offset.min(self.bytes)).cast(), bytes, advice) };
        if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for ReadOnlyMapping {
    fn drop(&mut self) {
        // SAFETY: start and length are those of the mmap call, and no reference into it remains.
        let _ = unsafe { rustix::mm::munmap(self.start.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A file of `pages` pages in the temporary folder; tmpfs cannot be evicted.
    fn file(pages: usize) -> Option<tempfile::NamedTempFile> {
        let mut file = tempfile::NamedTempFile::new().ok()?;
        file.write_all(&vec![7u8; pages * page_bytes() as usize]).ok()?;
        file.as_file().sync_all().ok()?;
        if crate::mount::file_system(file.path()).ok()?.is_memory() {
            println!("skipped: the folder is in memory, where nothing can be evicted");
            return None;
        }
        Some(file)
    }

    /// An open file of an overlay that has no path; it needs root.
    fn on_overlay(folder: &std::path::Path, content: &[u8]) -> io::Result<File> {
        use rustix::{
            fs::{Mode, OFlags},
            mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen},
        };
        let layers = ["one", "two"].map(|it| folder.join(it));
        layers.iter().try_for_each(std::fs::create_dir)?;
        std::fs::write(layers[0].join("file"), content)?;
        let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        let lower = layers.map(|it| it.display().to_string()).join(":");
        fsconfig_set_string(context.as_fd(), "lowerdir", lower)?;
        fsconfig_create(context.as_fd())?;
        let mount = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
        Ok(File::from(rustix::fs::openat(&mount, "file", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?))
    }

    #[test]
    fn a_way_that_shows_a_cached_file_of_an_overlay_counts_its_pages() {
        let (folder, page) = (tempfile::tempdir().unwrap(), page_bytes());
        let file = match on_overlay(folder.path(), &vec![7; 16 * page as usize]) {
            Ok(file) => file,
            Err(error) => return println!("skipped: no overlay can be mounted: {error}"),
        };
        rustix::io::pread(&file, &mut vec![0u8; 16 * page as usize], 0).unwrap();
        let shown: Vec<Way> = Way::ALL.into_iter().filter(|it| it.shows(&file)).collect();
        assert!(!shown.contains(&Way::Cachestat) && shown.contains(&Way::Mincore), "{shown:?}");
        for way in shown {
            assert_eq!(way.resident_pages(&file, 0, 16 * page).unwrap(), 16, "{}", way.word());
        }
    }

    /// Answers of a look, one after the other; the last one stays.
    fn proved(answers: &[u64]) -> (Result<(), String>, u32) {
        let (mut looks, mut evictions) = (answers.iter(), 0);
        let mut last = 0;
        let result = Way::Nowait.prove_within(
            PROOF_TRIES,
            &mut || Ok(()),
            &mut || {
                evictions += 1;
                Ok(())
            },
            &mut || {
                last = looks.next().copied().unwrap_or(last);
                Ok(last)
            },
        );
        (result, evictions)
    }

    #[test]
    fn a_look_that_brought_the_page_in_itself_is_made_again_after_a_fresh_eviction() {
        assert_eq!(proved(&[1, 0]), (Ok(()), 1));
        // Brought in by the look; then evicted by another process; then as it should be.
        assert_eq!(proved(&[1, 1, 0, 1, 1, 1, 0]), (Ok(()), 3));
    }

    #[test]
    fn a_way_that_calls_every_page_resident_is_given_up_in_a_tenth_of_a_second() {
        let (result, evictions) = proved(&[1]);
        assert_eq!(result.unwrap_err(), "preadv2-nowait reports a page as resident after it was to be evicted");
        assert_eq!(evictions, PROOF_TRIES);
        assert!(PROOF_PAUSE * PROOF_TRIES <= Duration::from_millis(100));
        assert_eq!(proved(&[0]).1, 0);
    }

    #[test]
    fn every_provable_way_counts_the_pages_that_were_read() {
        let Some(file) = file(16) else { return };
        let file = std::fs::File::open(file.path()).unwrap();
        let page = page_bytes();
        for way in Way::ALL {
            if let Err(reason) = way.prove(&file) {
                println!("skipped: {reason}");
                continue;
            }
            // POSIX_FADV_RANDOM: no read-ahead beyond the requested page.
            rustix::fs::fadvise(&file, 0, None, Advice::Random).unwrap();
            let mut buffer = vec![0u8; 4 * page as usize];
            rustix::io::pread(&file, &mut buffer, 0).unwrap();
            assert_eq!(way.resident_pages(&file, 0, 4 * page).unwrap(), 4, "{}", way.word());
            if way != Way::Nowait {
                assert!(way.resident_pages(&file, 0, 16 * page).unwrap() >= 4, "{}", way.word());
            }
        }
    }

    #[test]
    fn a_mapped_page_survives_eviction_although_the_call_succeeds() {
        let Some(file) = file(4) else { return };
        let file = std::fs::File::open(file.path()).unwrap();
        if Way::Mincore.prove(&file).is_err() {
            println!("skipped: mincore is not believable here");
            return;
        }
        let mapping = ReadOnlyMapping::of(&file, 0, page_bytes()).unwrap();
        // SAFETY: the file has four pages, so its first byte is mapped.
        let byte = unsafe { mapping.start.read_volatile() };
        assert_eq!(byte, 7);
        evict(&file, 0, 0).unwrap();
        assert!(Way::Mincore.resident_pages(&file, 0, page_bytes()).unwrap() > 0);
        drop(mapping);
        // A page that the kernel is working on stays once.
        assert!(crate::process::within(std::time::Duration::from_secs(60), || {
            evict(&file, 0, 0).unwrap();
            Way::Mincore.resident_pages(&file, 0, 4 * page_bytes()).unwrap() == 0
        }));
    }
}
