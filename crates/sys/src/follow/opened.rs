//! What a descriptor of another process refers to, from /proc.

use std::{
    ffi::CString,
    fs::{self, File},
    io,
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
};

use rustix::process::{Pid, test_kill_process};

use crate::{
    cache::{Way, is_overlay, resident_parts},
    folder::Identity,
    page_bytes,
    process::stat,
};

/// An open file of a stopped process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Pipes, sockets, terminals and folders are none.
    pub is_file: bool,
    pub device: u64,
    pub inode: u64,
    /// Tells it from a file that had its inode before: some file systems give that of a deleted file to the next one. Empty where
    /// it is not to be had.
    pub generation: Vec<u8>,
    pub path: String,
    pub bytes: u64,
    /// As in open(2): O_DIRECT, and whether it may be written to.
    pub flags: i32,
    pub position: u64,
    /// In the page cache when it was first seen; absent where that is not asked for, or not to be known.
    pub resident_pages: Option<u64>,
    /// Where these were, in bytes; empty where none or all of them were, or that is not to be known.
    pub resident_parts: Vec<(u64, u64)>,
}

/// Why it is not known what a descriptor refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotSeen {
    /// The thread is gone, or has no such descriptor.
    Gone,
    /// It has one, and this process may not look at it: the program is not dumpable, its file may not be read, or it runs as another
    /// user (ptrace(2), "Ptrace access mode checking"). To have attached to it is not enough: the kernel asks again at each look.
    Hidden,
}

impl NotSeen {
    /// Of a look at a thread in /proc. Mounted with `hidepid` it has no thread that one may not look at (proc(5)). What is ending
    /// has no memory any more and belongs to root there (fs/proc/base.c, `task_dump_owner`).
    pub(super) fn of(thread: i32, error: &io::Error) -> NotSeen {
        let of_thread = format!("/proc/{thread}");
        let is_gone = match error.raw_os_error() {
            Some(libc::ESRCH) => true,
            Some(libc::ENOENT) => Path::new(&of_thread).exists() || !is_there(thread),
            _ => stat(&format!("{of_thread}/stat")).is_some_and(|it| it.is_ending),
        };
        if is_gone { NotSeen::Gone } else { NotSeen::Hidden }
    }
}

fn is_there(thread: i32) -> bool {
    Pid::from_raw(thread).is_some_and(|it| test_kill_process(it) != Err(rustix::io::Errno::SRCH))
}

/// A header of a trace has no more.
const PARTS_MAX: usize = 1 << 14;

impl Opened {
    /// The same for all names of a file, and as long as it is open or mapped without one.
    pub fn identity(&self) -> (Identity, Vec<u8>) {
        ((self.device, self.inode), self.generation.clone())
    }

    pub fn reads_and_writes(&self) -> bool {
        self.flags & libc::O_ACCMODE == libc::O_RDWR
    }

    /// Asks how much of it is in the page cache, without reading any of it.
    pub(super) fn look_at_cache(&mut self, thread: i32, descriptor: i32) {
        if !self.is_file || self.bytes == 0 {
            return;
        }
        let Ok(file) = File::open(format!("/proc/{thread}/fd/{descriptor}")) else { return };
        let way = [Way::Cachestat, Way::Mincore].into_iter().find(|it| it.shows(&file));
        self.resident_pages = way.and_then(|it| it.resident_pages(&file, 0, self.bytes).ok());
        let is_part = self.resident_pages.is_some_and(|it| 0 < it && it < self.bytes.div_ceil(page_bytes()));
        if is_part && Way::Mincore.shows(&file) {
            self.resident_parts = resident_parts(&file, self.bytes, PARTS_MAX).ok().flatten().unwrap_or_default();
        }
    }

    /// # Errors
    /// Why it is not known.
    pub(super) fn of(thread: i32, descriptor: i32) -> Result<Opened, NotSeen> {
        Opened::look_up(thread, descriptor).map_err(|error| NotSeen::of(thread, &error))
    }

    fn look_up(thread: i32, descriptor: i32) -> io::Result<Opened> {
        let link = format!("/proc/{thread}/fd/{descriptor}");
        let metadata = fs::metadata(&link)?;
        let path = fs::read_link(&link)?.to_string_lossy().into_owned();
        let is_file = metadata.is_file();
        // Only of a file they count.
        let (position, flags) = if is_file { parse(&information(thread, descriptor)?) } else { (0, 0) };
        let generation = if is_file { generation(&link, &metadata) } else { Vec::new() };
        Ok(Opened {
            is_file,
            device: metadata.dev(),
            inode: metadata.ino(),
            generation,
            path,
            bytes: metadata.len(),
            flags,
            position,
            resident_pages: None,
            resident_parts: Vec::new(),
        })
    }

    /// All that a thread has open; none where it is gone.
    ///
    /// # Errors
    /// One of them, or all, may not be looked at.
    pub(super) fn all(thread: i32) -> Result<Vec<(i32, Opened)>, NotSeen> {
        let mut all = Vec::new();
        for descriptor in descriptors(thread)? {
            match Opened::of(thread, descriptor) {
                Ok(opened) => all.push((descriptor, opened)),
                Err(NotSeen::Gone) => {}
                Err(hidden) => return Err(hidden),
            }
        }
        Ok(all)
    }
}

/// Of a thread; none where it is gone.
///
/// # Errors
/// They may not be looked at.
pub(super) fn descriptors(thread: i32) -> Result<Vec<i32>, NotSeen> {
    match fs::read_dir(format!("/proc/{thread}/fd")) {
        Ok(entries) => Ok(entries.filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok()).collect()),
        Err(error) => match NotSeen::of(thread, &error) {
            NotSeen::Gone => Ok(Vec::new()),
            hidden => Err(hidden),
        },
    }
}

/// The kernel's handle of a file, which has the generation of its inode; or else when it was made. That goes by ticks, in which a
/// file may be deleted and another one made.
fn generation(link: &str, metadata: &fs::Metadata) -> Vec<u8> {
    /// Linux 2.6.39 (linux/exportfs.h, MAX_HANDLE_SZ).
    const HANDLE_BYTES_MAX: usize = 128;
    #[repr(C)]
    struct Handle {
        bytes: u32,
        kind: i32,
        handle: [u8; HANDLE_BYTES_MAX],
    }
    let mut handle = Handle { bytes: HANDLE_BYTES_MAX as u32, kind: 0, handle: [0; HANDLE_BYTES_MAX] };
    let mut mount = 0i32;
    let Ok(path) = CString::new(link) else { return Vec::new() };
    // SAFETY: the path ends with a zero, and the kernel writes no more than the handle has room for, and one number.
    let named = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            libc::AT_FDCWD,
            path.as_ptr(),
            &raw mut handle,
            &raw mut mount,
            libc::AT_SYMLINK_FOLLOW,
        )
    };
    if named == 0 {
        let bytes = (handle.bytes as usize).min(HANDLE_BYTES_MAX);
        return [&handle.kind.to_ne_bytes()[..], &handle.handle[..bytes]].concat();
    }
    // Not of this file system, or not allowed in this container.
    // There a file of a lower layer gets another birth when it is opened for writing, and is the same file.
    let is_layered = rustix::fs::statfs(link).is_ok_and(|it| is_overlay(&it));
    let born = metadata.created().ok().filter(|_| !is_layered);
    let born = born.and_then(|it| it.duration_since(std::time::UNIX_EPOCH).ok());
    born.map_or_else(Vec::new, |it| it.as_nanos().to_ne_bytes().to_vec())
}

/// What fdinfo begins with: locks and what else there is follow.
fn information(thread: i32, descriptor: i32) -> io::Result<String> {
    const FIRST: usize = 256;
    let mut first = [0; FIRST];
    let length = File::open(format!("/proc/{thread}/fdinfo/{descriptor}"))?.read_at(&mut first, 0)?;
    Ok(String::from_utf8_lossy(&first[..length]).into_owned())
}

/// `pos:` is decimal, `flags:` octal (proc_pid_fdinfo(5)).
fn parse(info: &str) -> (u64, i32) {
    let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let position = field("pos:").and_then(|it| it.parse().ok()).unwrap_or(0);
    let flags = field("flags:").and_then(|it| i32::from_str_radix(it, 8).ok()).unwrap_or(0);
    (position, flags)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Seek, SeekFrom},
        os::fd::AsRawFd,
    };

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_of_ones_own_is_seen_with_its_position_and_flags() {
        let mut file = tempfile::tempfile().unwrap();
        file.seek(SeekFrom::Start(4711)).unwrap();
        let me = rustix::process::getpid().as_raw_nonzero().get();
        let seen = Opened::of(me, file.as_raw_fd()).unwrap();
        let metadata = file.metadata().unwrap();
        assert!(seen.is_file);
        assert_eq!((seen.device, seen.inode, seen.position), (metadata.dev(), metadata.ino(), 4711));
        assert_eq!(seen.flags & libc::O_ACCMODE, libc::O_RDWR);
        assert_eq!(Opened::of(me, 1 << 30), Err(NotSeen::Gone));
    }

    #[test]
    fn a_descriptor_that_may_not_be_looked_at_is_not_taken_for_one_that_is_gone() {
        let of = |number| {
            NotSeen::of(rustix::process::getpid().as_raw_nonzero().get(), &io::Error::from_raw_os_error(number))
        };
        assert_eq!([libc::ENOENT, libc::ESRCH].map(of), [NotSeen::Gone; 2]);
        assert_eq!([libc::EACCES, libc::EPERM, libc::EIO].map(of), [NotSeen::Hidden; 3]);
        let gone = NotSeen::of(i32::MAX, &io::Error::from_raw_os_error(libc::ENOENT));
        assert_eq!(gone, NotSeen::Gone);
    }

    #[test]
    fn a_file_that_gets_the_inode_of_a_deleted_one_is_another_file_and_two_names_are_of_one() {
        let me = rustix::process::getpid().as_raw_nonzero().get();
        let of = |file: &File| Opened::of(me, file.as_raw_fd()).unwrap().identity();
        let folder = tempfile::tempdir().unwrap();
        let (path, name) = (folder.path().join("a"), folder.path().join("b"));
        let (file, mut before) = (File::create(&path).unwrap(), Vec::new());
        fs::hard_link(&path, &name).unwrap();
        before.push(of(&file));
        assert_eq!(of(&File::open(&name).unwrap()), before[0]);
        fs::remove_file(&path).unwrap();
        fs::remove_file(&name).unwrap();
        assert_eq!(of(&file), before[0], "it is open");
        drop(file);
        if before[0].1.is_empty() {
            return println!("skipped: the file system has neither handles nor births of files");
        }
        for _ in 0..100 {
            let file = File::create(&path).unwrap();
            let identity = of(&file);
            assert!(!before.contains(&identity), "{identity:?}");
            before.push(identity);
            fs::remove_file(&path).unwrap();
        }
    }

    proptest! {
        #[test]
        fn no_text_can_make_it_fail(info in "((pos|flags):\t?-?[0-9]{0,25}.{0,5}\n|.{0,20}\n){0,6}") {
            let _ = parse(&info);
        }
    }
}
