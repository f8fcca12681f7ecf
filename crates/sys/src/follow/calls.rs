//! The system calls by which a program reaches its files: what each of them means, and which argument is what.

/// One system call that is looked at.
#[derive(Debug, PartialEq, Eq)]
pub struct Call {
    pub number: libc::c_long,
    pub name: &'static str,
    pub does: Does,
    only: Only,
}

/// What a call does to files; numbers are of arguments, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// Its result is a new file descriptor.
    Open,
    Close,
    CloseRange,
    /// Its result is another descriptor of the open file of argument 0.
    Duplicate,
    Control,
    Seek,
    /// From the descriptor of argument 0. Vectors say their size in memory; without an offset the file's position counts.
    Read {
        size: Option<usize>,
        offset: Option<usize>,
    },
    /// Within the kernel, to another descriptor; `offset` is an address, 0 for the file's position.
    Transfer {
        from: usize,
        offset: usize,
        size: usize,
    },
    Map,
    Unmap,
    Remap,
    /// madvise(2), posix_fadvise(2), readahead(2).
    AdviseMemory,
    AdviseFile,
    ReadAhead,
    /// The thread gets a table of descriptors of its own.
    Unshare,
    /// io_uring_setup(2), io_setup(2): what is read that way is not seen.
    Ring,
    Aio,
    /// The program traces others, or filters its own calls.
    Trace,
    Filter,
}

/// Which of its uses matter; others are not stopped at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Only {
    Always,
    /// Not with these bits in that argument.
    Without(usize, u32),
    /// With one of these values in that argument.
    With(usize, &'static [u32]),
}

const fn call(number: libc::c_long, name: &'static str, does: Does) -> Call {
    Call { number, name, does, only: Only::Always }
}

const fn read(number: libc::c_long, name: &'static str, size: Option<usize>, offset: Option<usize>) -> Call {
    call(number, name, Does::Read { size, offset })
}

/// Those of no file, and those of the dynamic loader, some four for each library: it says MAP_DENYWRITE (glibc,
/// elf/dl-load.h), which the kernel ignores (mmap(2)).
const UNTOLD_MAPPINGS: u32 = (libc::MAP_ANONYMOUS | libc::MAP_DENYWRITE) as u32;

/// All of them. Writes are not among them: whether a file was written to shows in the file.
pub const CALLS: &[Call] = &[
    read(libc::SYS_read, "read", Some(2), None),
    read(libc::SYS_pread64, "pread64", Some(2), Some(3)),
    read(libc::SYS_readv, "readv", None, None),
    read(libc::SYS_preadv, "preadv", None, Some(3)),
    read(libc::SYS_preadv2, "preadv2", None, Some(3)),
    call(libc::SYS_lseek, "lseek", Does::Seek),
    call(libc::SYS_sendfile, "sendfile", Does::Transfer { from: 1, offset: 2, size: 3 }),
    call(libc::SYS_copy_file_range, "copy_file_range", Does::Transfer { from: 0, offset: 1, size: 4 }),
    call(libc::SYS_splice, "splice", Does::Transfer { from: 0, offset: 1, size: 4 }),
    Call { only: Only::Without(3, UNTOLD_MAPPINGS), ..call(libc::SYS_mmap, "mmap", Does::Map) },
    call(libc::SYS_munmap, "munmap", Does::Unmap),
    call(libc::SYS_mremap, "mremap", Does::Remap),
    call(libc::SYS_madvise, "madvise", Does::AdviseMemory),
    call(libc::SYS_fadvise64, "posix_fadvise", Does::AdviseFile),
    call(libc::SYS_readahead, "readahead", Does::ReadAhead),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_open, "open", Does::Open),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_creat, "creat", Does::Open),
    call(libc::SYS_openat, "openat", Does::Open),
    call(libc::SYS_openat2, "openat2", Does::Open),
    call(libc::SYS_open_by_handle_at, "open_by_handle_at", Does::Open),
    call(libc::SYS_close, "close", Does::Close),
    call(libc::SYS_close_range, "close_range", Does::CloseRange),
    call(libc::SYS_dup, "dup", Does::Duplicate),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_dup2, "dup2", Does::Duplicate),
    call(libc::SYS_dup3, "dup3", Does::Duplicate),
    Call {
        only: Only::With(1, &[libc::F_DUPFD as u32, libc::F_DUPFD_CLOEXEC as u32, libc::F_SETFL as u32]),
        ..call(libc::SYS_fcntl, "fcntl", Does::Control)
    },
    call(libc::SYS_unshare, "unshare", Does::Unshare),
    call(libc::SYS_io_uring_setup, "io_uring_setup", Does::Ring),
    call(libc::SYS_io_setup, "io_setup", Does::Aio),
    call(libc::SYS_ptrace, "ptrace", Does::Trace),
    call(libc::SYS_seccomp, "seccomp", Does::Filter),
    Call { only: Only::With(0, &[libc::PR_SET_SECCOMP as u32]), ..call(libc::SYS_prctl, "prctl", Does::Filter) },
];

impl Call {
    pub(super) fn only(&self) -> Only {
        self.only
    }

    /// The effect is known at entry, so the command is not stopped again at the result.
    pub(super) fn known_at_entry(&self) -> bool {
        matches!(self.does, Does::Close | Does::CloseRange | Does::Unmap | Does::Unshare | Does::Trace | Does::Filter)
    }

    /// Many of them may come, and four arguments and the result say all. Those can be recorded without stopping the program.
    pub(super) fn is_frequent(&self) -> bool {
        use Does::*;
        matches!(self.does, Close | Seek | Read { .. } | Unmap | AdviseMemory | AdviseFile | ReadAhead)
    }

    /// The descriptor of the file that it is about.
    pub fn descriptor(&self, arguments: &[u64; 6]) -> Option<i32> {
        use Does::*;
        let at = match self.does {
            Close | Duplicate | Control | Seek | Read { .. } | AdviseFile | ReadAhead => 0,
            Transfer { from, .. } => from,
            Map => 4,
            _ => return None,
        };
        // Descriptors are 32 bits wide; what stands above them in a register means nothing.
        Some(arguments[at] as i32)
    }
}
