//! What a descriptor of another process refers to, from /proc.

use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt,
};

use crate::{
    cache::{Way, resident_parts},
    page_bytes,
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

    /// `None` when the process is gone, or has no such descriptor.
    pub(super) fn of(thread: i32, descriptor: i32) -> Option<Opened> {
        let link = format!("/proc/{thread}/fd/{descriptor}");
        let metadata = fs::metadata(&link).ok()?;
        let path = fs::read_link(&link).ok()?.to_string_lossy().into_owned();
        let info = fs::read_to_string(format!("/proc/{thread}/fdinfo/{descriptor}")).unwrap_or_default();
        let (position, flags) = parse(&info);
        let is_file = metadata.is_file();
        Some(Opened {
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

    /// All that a thread has open.
    pub(super) fn all(thread: i32) -> Vec<(i32, Opened)> {
        descriptors(thread).filter_map(|it| Some((it, Opened::of(thread, it)?))).collect()
    }
}

/// Of a thread; none where it is gone.
pub(super) fn descriptors(thread: i32) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir(format!("/proc/{thread}/fd")).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
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
        assert_eq!(Opened::of(me, 1 << 30), None);
    }

    proptest! {
        #[test]
        fn no_text_can_make_it_fail(info in "((pos|flags):\t?-?[0-9]{0,25}.{0,5}\n|.{0,20}\n){0,6}") {
            let _ = parse(&info);
        }
    }
}
