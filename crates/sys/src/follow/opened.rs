//! What a descriptor of another process refers to, from /proc.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
};

use rustix::process::{Pid, test_kill_process};

use crate::{
    cache::{Way, resident_parts},
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
        let info = fs::read_to_string(format!("/proc/{thread}/fdinfo/{descriptor}"))?;
        let (position, flags) = parse(&info);
        let is_file = metadata.is_file();
        Ok(Opened {
            is_file,
            device: metadata.dev(),
            inode: metadata.ino(),
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

    proptest! {
        #[test]
        fn no_text_can_make_it_fail(info in "((pos|flags):\t?-?[0-9]{0,25}.{0,5}\n|.{0,20}\n){0,6}") {
            let _ = parse(&info);
        }
    }
}
