//! One process, by a descriptor of its folder in /proc. A number may be given to a new process when the old one has ended; the
//! descriptor stays that of the old one, and what is read through it fails then (fs/proc/base.c, `get_proc_task`).

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read},
    ops::Range,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{
            ffi::OsStrExt,
            fs::{FileExt, MetadataExt},
        },
    },
    path::Path,
};

use rustix::fs::{CWD, Dir, Mode, OFlags, openat, readlinkat};

use crate::{
    folio::{OF_FILE, PRESENT},
    mount, page_bytes,
    process::{self, Io, ProcessMapping, Stat},
};

pub struct Held {
    folder: OwnedFd,
    /// Of the process, also where a thread of it was asked for.
    pub pid: u32,
}

/// A thread, as its folder shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub tid: u32,
    pub name: String,
    pub stat: Stat,
}

/// Why the file behind a mapping was not opened.
#[derive(Debug)]
pub enum NotOpened {
    /// Nothing that can be reached by the name is the mapped file: it was deleted or replaced, or lies elsewhere.
    Gone,
    /// A device, a pipe: to open one can do anything.
    NotRegular,
    Refused(io::Error),
}

impl Held {
    /// The process of that number, or the one that the thread of that number belongs to.
    ///
    /// # Errors
    /// There is none, or it is hidden from this user (`hidepid` in proc(5)).
    pub fn open(number: u32) -> io::Result<Held> {
        let folder = folder(number)?;
        let own = own_number(&text(&folder, "status")?).unwrap_or(number);
        // A thread's folder can be opened by its number, though it is not listed (proc(5)).
        let folder = if own == number { folder } else { self::folder(own)? };
        Ok(Held { folder, pid: own })
    }

    /// # Errors
    /// It has ended, or may not be looked at.
    pub fn text(&self, name: &str) -> io::Result<String> {
        text(&self.folder, name)
    }

    /// # Errors
    /// As `text`.
    pub fn stat(&self) -> io::Result<Stat> {
        process::parse_stat(&self.text("stat")?).ok_or_else(|| io::Error::other("unknown format of stat"))
    }

    /// # Errors
    /// As `text`.
    pub fn io(&self) -> io::Result<Io> {
        process::parse_io(&self.text("io")?)
    }

    /// None where the process has no memory: a thread of the kernel, or one that has ended.
    ///
    /// # Errors
    /// As `text`.
    pub fn mappings(&self) -> io::Result<Vec<ProcessMapping>> {
        let text = self.text("smaps")?;
        if !text.is_empty() {
            return Ok(self.named(process::parse_mappings(&text)));
        }
        // The first thread may have ended before the others (pthread_exit(3)); they still have the memory.
        let of_others = self.threads()?.into_iter().find_map(|it| {
            let text = self.text(&format!("task/{}/smaps", it.tid)).ok()?;
            Some(process::parse_mappings(&text)).filter(|it| !it.is_empty())
        });
        Ok(self.named(of_others.unwrap_or_default()))
    }

    /// With their names as they are: smaps shows a line feed as it shows these four characters, and the link to the file does not
    /// (fs/proc/base.c, `proc_pid_readlink`).
    fn named(&self, mut mappings: Vec<ProcessMapping>) -> Vec<ProcessMapping> {
        for mapping in mappings.iter_mut().filter(|it| it.name.contains(LINE_FEED)) {
            let target = link(mapping).and_then(|it| readlinkat(&self.folder, it.as_str(), Vec::new()).ok());
            if let Some(Ok(name)) = target.map(std::ffi::CString::into_string) {
                mapping.name = name;
            }
        }
        mappings
    }

    /// The inode of the program that it executes.
    ///
    /// # Errors
    /// As `text`; a thread of the kernel has none.
    pub fn program(&self) -> io::Result<u64> {
        let program = openat(&self.folder, "exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(File::from(program).metadata()?.ino())
    }

    /// What mappings of a file have in the page table, as pages of the file, one run after the other in the order of the
    /// mappings; copies of the process's own are left out. Frame numbers, which only root is shown, are not needed
    /// (Documentation/admin-guide/mm/pagemap.rst).
    ///
    /// # Errors
    /// As `text`.
    pub fn present(&self, mappings: &[&ProcessMapping]) -> io::Result<Vec<Range<u64>>> {
        const ENTRY: u64 = 8;
        const AT_ONCE: u64 = 8192;
        let pagemap = File::from(openat(&self.folder, "pagemap", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
        let page = page_bytes();
        let mut runs: Vec<Range<u64>> = Vec::new();
        let mut entries = vec![0; (AT_ONCE * ENTRY) as usize];
        for mapping in mappings {
            let Some([start, end]) = range(mapping).map(|it| it.map(|at| at / page)) else { continue };
            let (mut at, mut run) = (start, None::<Range<u64>>);
            while at < end {
                let wanted = ((end - at).min(AT_ONCE) * ENTRY) as usize;
                // Nothing more comes of a process that has ended.
                let read = pagemap.read_at(&mut entries[..wanted], at.saturating_mul(ENTRY))? / ENTRY as usize;
                if read == 0 {
                    break;
                }
                for entry in entries[..read * ENTRY as usize].chunks_exact(ENTRY as usize) {
                    let entry = u64::from_ne_bytes(entry.try_into().expect("eight bytes"));
                    let of_file = (mapping.offset / page).saturating_add(at - start);
                    match run.as_mut() {
                        _ if entry & (PRESENT | OF_FILE) != PRESENT | OF_FILE => runs.extend(run.take()),
                        Some(run) => run.end += 1,
                        None => run = Some(of_file..of_file + 1),
                    }
                    at += 1;
                }
            }
            runs.extend(run);
        }
        Ok(runs)
    }

    /// Those that live; one that ends meanwhile is left out.
    ///
    /// # Errors
    /// As `text`.
    pub fn threads(&self) -> io::Result<Vec<Thread>> {
        let tasks = openat(&self.folder, "task", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let numbers = Dir::read_from(&tasks)?.filter_map(|it| it.ok()?.file_name().to_str().ok()?.parse::<u32>().ok());
        Ok(numbers
            .filter_map(|tid| {
                let line = text(&tasks, &format!("{tid}/stat")).ok()?;
                // The name stands in brackets, and may have some itself.
                let name = line.split_once('(')?.1.rsplit_once(')')?.0.to_string();
                Some(Thread { tid, name, stat: process::parse_stat(&line)? })
            })
            .collect())
    }

    /// Opens the file behind a mapping for reading, if it is a regular one and the mapped one. Nothing else is opened: until
    /// that is known there is only a descriptor that can be used for nothing but to look (O_PATH in open(2)).
    ///
    /// # Errors
    /// Why not.
    pub fn open_mapped(&self, mapping: &ProcessMapping) -> Result<File, NotOpened> {
        let look = OFlags::PATH | OFlags::CLOEXEC;
        // The kernel's own link to the file, which needs no name; with CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN
        // (`proc_map_files_get_link`). Its device need not be the one that stat(2) has: on btrfs it is not.
        let linked = link(mapping).map(|it| openat(&self.folder, it.as_str(), look, Mode::empty()));
        if let Some(Ok(found)) = linked {
            let found = File::from(found);
            let metadata = found.metadata().map_err(NotOpened::Refused)?;
            if metadata.ino() == mapping.inode {
                return opened(&found, &metadata);
            }
        }
        // As the process sees it, whose names these are.
        let mounts = self.text("mountinfo").map(String::into_bytes).unwrap_or_default();
        let mut refused = None;
        for name in names(&mapping.name) {
            // As the process sees it, which may be in a container or behind chroot(2); and as it is seen from here.
            let inside = openat(&self.folder, format!("root{name}").as_str(), look | OFlags::NOFOLLOW, Mode::empty());
            let outside = || openat(CWD, name.as_str(), look | OFlags::NOFOLLOW, Mode::empty());
            for found in [inside, outside()] {
                let found = match found {
                    Ok(found) => File::from(found),
                    Err(error) => {
                        let error = io::Error::from(error);
                        let is_absent = matches!(
                            error.kind(),
                            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidInput
                        );
                        if !is_absent {
                            refused = Some(error);
                        }
                        continue;
                    }
                };
                let metadata = found.metadata().map_err(NotOpened::Refused)?;
                let device = [rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev())];
                let is_it = device == mapping.device || is_of_subvolume(&mounts, &name, mapping.device);
                if metadata.ino() == mapping.inode && is_it {
                    return opened(&found, &metadata);
                }
            }
        }
        Err(refused.map_or(NotOpened::Gone, NotOpened::Refused))
    }
}

/// Whether a path lies on a btrfs of this device: there stat(2) has the device of a subvolume, and mappings have that of the file
/// system.
fn is_of_subvolume(mounts: &[u8], path: &str, device: [u32; 2]) -> bool {
    let device = format!("{}:{}", device[0], device[1]);
    mount::find(mounts, Path::new(path), &device).is_some_and(|it| it.kind == "btrfs" && it.device == device)
}

/// Whether an error says that the process has ended: its folder is empty then (ENOENT), or what was opened before answers no
/// more (ESRCH).
pub fn has_ended(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

fn folder(number: u32) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(CWD, format!("/proc/{number}").as_str(), flags, Mode::empty())?)
}

fn text(folder: &OwnedFd, name: &str) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::from(openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?).read_to_end(&mut bytes)?;
    Ok(process::lossy(bytes))
}

/// The number of the process in a text of status, also in that of a thread.
pub(crate) fn own_number(status: &str) -> Option<u32> {
    process::number_after(status, "Tgid:")?.try_into().ok()
}

/// The name of a mapping below map_files: without the zeros that smaps puts in front of low addresses.
pub(crate) fn link(mapping: &ProcessMapping) -> Option<String> {
    let [start, end] = range(mapping)?;
    Some(format!("map_files/{start:x}-{end:x}"))
}

/// Where it begins and ends in the memory of the process.
fn range(mapping: &ProcessMapping) -> Option<[u64; 2]> {
    let (start, end) = mapping.addresses.split_once('-')?;
    let [start, end] = [start, end].map(|it| u64::from_str_radix(it, 16).ok());
    Some([start?, end?])
}

/// How smaps shows a line feed.
const LINE_FEED: &str = "\\012";

/// What a file may be called that stands so in smaps: the kernel writes a line feed as `\012` and escapes no backslash
/// (fs/proc/task_mmu.c, `show_map_vma`), and ` (deleted)` may be a part of the name.
pub(crate) fn names(shown: &str) -> Vec<String> {
    let absolute = Path::new(OsStr::from_bytes(shown.as_bytes())).is_absolute();
    let mut names = vec![shown.to_string()];
    if shown.contains(LINE_FEED) {
        names.push(shown.replace(LINE_FEED, "\n"));
    }
    names.retain(|it| absolute && !it.contains('\0'));
    names
}

/// By its descriptor, so that it is the file that was looked at. No time of access changes where this user may ask for that,
/// and O_NONBLOCK: a lease that another process holds is not waited for (fcntl(2), "Leases").
fn opened(found: &File, metadata: &std::fs::Metadata) -> Result<File, NotOpened> {
    if !metadata.is_file() {
        return Err(NotOpened::NotRegular);
    }
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = openat(CWD, path.as_str(), flags | OFlags::NOATIME, Mode::empty())
        .or_else(|_| openat(CWD, path.as_str(), flags, Mode::empty()));
    opened.map(File::from).map_err(|error| NotOpened::Refused(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn on_btrfs_a_mapping_has_the_device_of_the_file_system() {
        let mounts = b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:38 /home /home rw - btrfs /dev/sdb rw\n";
        assert!(is_of_subvolume(mounts, "/home/me/file", [0, 38]));
        assert!(!is_of_subvolume(mounts, "/home/me/file", [0, 39]) && !is_of_subvolume(mounts, "/file", [0, 38]));
        assert!(!is_of_subvolume(mounts, "/file", [8, 1]), "ext4 has one device");
    }

    fn me() -> Held {
        Held::open(std::process::id()).unwrap()
    }

    /// A mapping of a file in this process, while it is looked at.
    fn with_mapping<T>(file: &File, look: impl FnOnce(&ProcessMapping) -> T) -> T {
        let bytes = 4096;
        let (protection, flags) = (rustix::mm::ProtFlags::READ, rustix::mm::MapFlags::SHARED);
        // SAFETY: a mapping of its own, at an address that the kernel chooses, and unmapped below.
        let at = unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, flags, file, 0).unwrap() };
        let mappings = me().mappings().unwrap();
        let address = format!("{:x}-", at as usize);
        let seen = look(mappings.iter().find(|it| it.addresses.starts_with(&address)).unwrap());
        // SAFETY: made above, and nothing refers to it.
        unsafe { rustix::mm::munmap(at, bytes).unwrap() };
        seen
    }

    #[test]
    fn a_thread_leads_to_its_process() {
        let tid = std::thread::spawn(|| rustix::thread::gettid().as_raw_nonzero().get() as u32);
        // It may have ended; the main thread has not.
        drop(tid.join());
        let (ours, number) = (std::process::id(), rustix::thread::gettid().as_raw_nonzero().get() as u32);
        assert_eq!(Held::open(number).unwrap().pid, ours);
        assert!(me().threads().unwrap().iter().any(|it| it.tid == number));
    }

    #[test]
    fn what_has_ended_is_no_other_process_of_its_number() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let held = Held::open(child.id()).unwrap();
        assert!(!held.mappings().unwrap().is_empty());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(has_ended(&held.stat().unwrap_err()));
        assert!(has_ended(&held.mappings().unwrap_err()));
    }

    #[test]
    fn faults_are_counted_and_the_start_stays() {
        let before = me().stat().unwrap();
        let mut pages = vec![0u8; 64 * 4096];
        (0..64).for_each(|page| pages[page * 4096] = 1);
        std::hint::black_box(&pages);
        let after = me().stat().unwrap();
        assert!(after.minor_faults > before.minor_faults && after.started == before.started);
    }

    #[test]
    fn the_mapped_file_is_opened_whatever_it_is_called_and_no_other_of_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["plain", "two words", "a\nb", "back\\slash", "a\\012b", "x (deleted)"] {
            let path = folder.path().join(name);
            std::fs::write(&path, [1; 4096]).unwrap();
            let file = File::open(&path).unwrap();
            with_mapping(&file, |mapping| {
                let opened = me().open_mapped(mapping).unwrap_or_else(|error| panic!("{name:?}: {error:?}"));
                assert_eq!(opened.metadata().unwrap().ino(), file.metadata().unwrap().ino(), "{name:?}");
                assert_eq!(mapping.name, path.to_str().unwrap());
                // Without the link of the kernel's, as for other users.
                let shown = mapping.name.replace('\n', LINE_FEED);
                let by_name = ProcessMapping { addresses: "0-1".into(), name: shown, ..mapping.clone() };
                assert!(me().open_mapped(&by_name).is_ok(), "{name:?}");
                std::fs::rename(&path, folder.path().join("kept")).unwrap();
                std::fs::write(&path, [2; 4096]).unwrap();
                assert!(matches!(me().open_mapped(&by_name), Err(NotOpened::Gone)), "{name:?}");
            });
        }
    }

    #[test]
    fn pages_are_present_where_they_were_touched_and_copies_are_none_of_the_file() {
        let page = page_bytes() as usize;
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &vec![1; 512 * page]).unwrap();
        let map = |sharing, pages: usize, first: usize| {
            let protection = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE;
            // SAFETY: a mapping of its own, at an address that the kernel chooses, and unmapped below.
            unsafe {
                rustix::mm::mmap(std::ptr::null_mut(), pages * page, protection, sharing, &file, (first * page) as u64)
            }
            .unwrap()
            .cast::<u8>()
        };
        let (first, pages) = (128, 256);
        let [shared, private] =
            [rustix::mm::MapFlags::SHARED, rustix::mm::MapFlags::PRIVATE].map(|it| map(it, pages, first));
        let seen = |at: *mut u8| {
            let address = format!("{:x}-", at as usize);
            let mappings = me().mappings().unwrap();
            let mapping = mappings.iter().find(|it| it.addresses.starts_with(&address)).unwrap();
            me().present(&[mapping]).unwrap()
        };
        assert_eq!(seen(shared), []);
        // SAFETY: both places lie within their mappings, and the file is as long.
        unsafe {
            std::hint::black_box(shared.add(100 * page).read_volatile());
            private.add(100 * page).write_volatile(2);
        }
        let (touched, copied) = (seen(shared), seen(private));
        // SAFETY: made above, and nothing refers to them.
        unsafe {
            for at in [shared, private] {
                rustix::mm::munmap(at.cast(), pages * page).unwrap();
            }
        }
        let place = (first + 100) as u64;
        let within = |it: &Range<u64>| it.start >= first as u64 && it.end <= (first + pages) as u64;
        assert!(touched.iter().any(|it| it.contains(&place)) && touched.iter().all(within), "{touched:?}");
        assert!(!copied.iter().any(|it| it.contains(&place)), "{copied:?}");
    }

    #[test]
    fn the_program_of_a_process_is_the_file_that_it_executes() {
        let program = std::fs::metadata(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(me().program().unwrap(), program.ino());
    }

    #[test]
    fn a_device_and_a_pipe_are_never_opened() {
        let zero = File::open("/dev/zero").unwrap();
        let metadata = zero.metadata().unwrap();
        let device = [rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev())];
        let mapping = |name: &str, device, inode| ProcessMapping {
            addresses: "0-1".into(),
            name: name.into(),
            device,
            inode,
            ..ProcessMapping::default()
        };
        let refused = me().open_mapped(&mapping("/dev/zero", device, metadata.ino()));
        assert!(matches!(refused, Err(NotOpened::NotRegular)), "{refused:?}");
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let metadata = std::fs::metadata(&pipe).unwrap();
        let device = [rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev())];
        let refused = me().open_mapped(&mapping(pipe.to_str().unwrap(), device, metadata.ino()));
        assert!(matches!(refused, Err(NotOpened::NotRegular)), "{refused:?}");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let refused = me().open_mapped(&mapping(link.to_str().unwrap(), device, 1));
        assert!(matches!(refused, Err(NotOpened::Gone)), "{refused:?}");
    }

    #[test]
    fn an_address_is_a_link_without_the_zeros_before_it() {
        let of = |addresses: &str| {
            link(&ProcessMapping { addresses: addresses.into(), ..ProcessMapping::default() }).unwrap_or_default()
        };
        assert_eq!(of("00400000-7f0000100000"), "map_files/400000-7f0000100000");
        assert_eq!(of("nonsense"), "");
        assert_eq!([names("[heap]"), names("/a\\012b")], [vec![], vec!["/a\\012b".to_string(), "/a\nb".into()]]);
    }
}
