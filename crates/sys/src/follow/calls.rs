//! The system calls by which a program reaches its files: what each of them means, and which argument is what.

use super::received::Given;

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
    /// Gives the process descriptors that another one has.
    Receive(Given),
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
    /// To the descriptor of argument 0, at an offset, or at the file's position, which moves.
    Write {
        offset: Option<usize>,
    },
    /// Within the kernel, to another descriptor; offsets are addresses, 0 for the file's position. Without one, the other file
    /// is written to at its position.
    Transfer {
        from: usize,
        offset: usize,
        to: usize,
        to_offset: Option<usize>,
        size: usize,
    },
    Map,
    Unmap,
    Remap,
    /// remap_file_pages(2): pages of a mapping are those of other places of the file from then on.
    Rearrange,
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

/// Where a call reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// Of the open file, which moves.
    Position,
    Offset(u64),
    /// In the program's memory.
    Unseen,
}

/// Which of its uses matter; others are not stopped at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Only {
    Always,
    /// Not with `never` among the bits of that argument, and with `seldom` only together with `but`.
    Flags {
        argument: usize,
        never: u32,
        seldom: u32,
        but: u32,
    },
    /// With one of these values in that argument.
    With(usize, &'static [u32]),
}

const fn call(number: libc::c_long, name: &'static str, does: Does) -> Call {
    Call { number, name, does, only: Only::Always }
}

const fn read(number: libc::c_long, name: &'static str, size: Option<usize>, offset: Option<usize>) -> Call {
    call(number, name, Does::Read { size, offset })
}

/// Not those of the dynamic loader, some four for each library: it says MAP_DENYWRITE (glibc, elf/dl-load.h), which the kernel
/// ignores (mmap(2)). Those of no file only with MAP_FIXED, which takes away what was mapped there.
const MAPPINGS: Only = Only::Flags {
    argument: 3,
    never: libc::MAP_DENYWRITE as u32,
    seldom: libc::MAP_ANONYMOUS as u32,
    but: libc::MAP_FIXED as u32,
};

const fn transfer(
    number: libc::c_long,
    name: &'static str,
    [from, offset, size]: [usize; 3],
    to: usize,
    to_offset: Option<usize>,
) -> Call {
    call(number, name, Does::Transfer { from, offset, to, to_offset, size })
}

/// All of them. Of writes only the position that they leave matters to what is read: whether a file was written to shows in the
/// file. At an offset they leave it as it was.
pub const CALLS: &[Call] = &[
    read(libc::SYS_read, "read", Some(2), None),
    read(libc::SYS_pread64, "pread64", Some(2), Some(3)),
    read(libc::SYS_readv, "readv", None, None),
    read(libc::SYS_preadv, "preadv", None, Some(3)),
    read(libc::SYS_preadv2, "preadv2", None, Some(3)),
    call(libc::SYS_lseek, "lseek", Does::Seek),
    call(libc::SYS_write, "write", Does::Write { offset: None }),
    call(libc::SYS_writev, "writev", Does::Write { offset: None }),
    call(libc::SYS_pwritev2, "pwritev2", Does::Write { offset: Some(3) }),
    transfer(libc::SYS_sendfile, "sendfile", [1, 2, 3], 0, None),
    transfer(libc::SYS_copy_file_range, "copy_file_range", [0, 1, 4], 2, Some(3)),
    transfer(libc::SYS_splice, "splice", [0, 1, 4], 2, Some(3)),
    Call { only: MAPPINGS, ..call(libc::SYS_mmap, "mmap", Does::Map) },
    call(libc::SYS_munmap, "munmap", Does::Unmap),
    call(libc::SYS_mremap, "mremap", Does::Remap),
    call(libc::SYS_remap_file_pages, "remap_file_pages", Does::Rearrange),
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
    call(libc::SYS_memfd_create, "memfd_create", Does::Open),
    call(libc::SYS_recvmsg, "recvmsg", Does::Receive(Given::Message)),
    call(libc::SYS_recvmmsg, "recvmmsg", Does::Receive(Given::Messages)),
    call(libc::SYS_pidfd_getfd, "pidfd_getfd", Does::Receive(Given::Result)),
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
    // Others only ask what the kernel can do.
    Call {
        only: Only::With(0, &[libc::SECCOMP_SET_MODE_STRICT, libc::SECCOMP_SET_MODE_FILTER]),
        ..call(libc::SYS_seccomp, "seccomp", Does::Filter)
    },
    Call { only: Only::With(0, &[libc::PR_SET_SECCOMP as u32]), ..call(libc::SYS_prctl, "prctl", Does::Filter) },
];

impl Call {
    pub(super) fn only(&self) -> Only {
        self.only
    }

    /// The effect is known at entry, so the command is not stopped again at the result. That of unshare(2) is not: it may refuse
    /// for a flag beside the one that matters.
    pub(super) fn known_at_entry(&self) -> bool {
        matches!(self.does, Does::Close | Does::CloseRange | Does::Unmap | Does::Trace)
    }

    /// Many of them may come, and four arguments and the result say all. Those can be recorded without stopping the program.
    pub(super) fn is_frequent(&self) -> bool {
        use Does::*;
        matches!(self.does, Close | Seek | Read { .. } | Write { .. } | Unmap | AdviseMemory | AdviseFile | ReadAhead)
    }

    /// It is of no interest until a file is open for reading and writing, and not at all where the program is stopped at each
    /// read: the position is looked up then.
    pub(super) fn writes(&self) -> bool {
        matches!(self.does, Does::Write { .. })
    }

    /// It is of no interest where the program is stopped at each read: what it reads from is looked up then.
    pub(super) fn receives(&self) -> bool {
        matches!(self.does, Does::Receive(_))
    }

    /// Where it reads, or writes what it does not read.
    pub fn at(&self, arguments: &[u64; 6]) -> Option<At> {
        match self.does {
            // -1: preadv2(2) and pwritev2(2) at the file's position.
            Does::Read { offset, .. } | Does::Write { offset } => match offset.map(|it| arguments[it]) {
                None | Some(u64::MAX) => Some(At::Position),
                Some(offset) => Some(At::Offset(offset)),
            },
            Does::Transfer { offset, .. } if arguments[offset] == 0 => Some(At::Position),
            Does::Transfer { .. } => Some(At::Unseen),
            _ => None,
        }
    }

    /// The descriptor that it writes to at the file's position.
    pub fn moves(&self, arguments: &[u64; 6]) -> Option<i32> {
        match self.does {
            Does::Write { .. } if self.at(arguments) == Some(At::Position) => Some(arguments[0] as i32),
            Does::Transfer { to, to_offset, .. } if to_offset.is_none_or(|it| arguments[it] == 0) => {
                Some(arguments[to] as i32)
            }
            _ => None,
        }
    }

    /// The descriptors whose positions it moves: that of what it reads or seeks in, which it begins at, and that of what it writes
    /// to.
    pub(super) fn moved(&self, arguments: &[u64; 6]) -> impl Iterator<Item = (i32, bool)> {
        let is_at_it = self.at(arguments) == Some(At::Position) || self.does == Does::Seek;
        let of = self.descriptor(arguments).filter(|_| is_at_it).map(|it| (it, true));
        of.into_iter().chain(self.moves(arguments).map(|it| (it, false)))
    }

    /// The address that it reads to; those of a vector are in memory.
    pub fn buffer(&self, arguments: &[u64; 6]) -> Option<u64> {
        matches!(self.does, Does::Read { size: Some(_), .. }).then_some(arguments[1])
    }

    /// Bytes that a read at the position asks for; those of a vector are in memory.
    pub(super) fn asked(&self, arguments: &[u64; 6]) -> Option<u64> {
        match self.does {
            Does::Read { size: Some(size), offset: None } => Some(arguments[size]),
            _ => None,
        }
    }

    /// The same, if it got all of them.
    pub(super) fn whole(&self, arguments: &[u64; 6], result: i64) -> Option<u64> {
        self.asked(arguments).filter(|it| u64::try_from(result) == Ok(*it))
    }

    /// Whether its result is another descriptor of the same open file.
    pub(super) fn duplicates(&self, arguments: &[u64; 6]) -> bool {
        match self.does {
            Does::Duplicate => true,
            Does::Control => arguments[1] as i32 != libc::F_SETFL,
            _ => false,
        }
    }

    /// The descriptor of the file that it is about.
    pub fn descriptor(&self, arguments: &[u64; 6]) -> Option<i32> {
        use Does::*;
        let at = match self.does {
            Close | Duplicate | Control | Seek | Read { .. } | Write { .. } | AdviseFile | ReadAhead => 0,
            Transfer { from, .. } => from,
            // Of a mapping of no file it means nothing, and need not be -1 (mmap(2)).
            Map if arguments[3] & libc::MAP_ANONYMOUS as u64 == 0 => 4,
            _ => return None,
        };
        // Descriptors are 32 bits wide; what stands above them in a register means nothing.
        Some(arguments[at] as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_a_thread_has_its_own_descriptors_is_known_by_the_result() {
        let known = |does| CALLS.iter().find(|it| it.does == does).unwrap().known_at_entry();
        assert_eq!([Does::Unshare, Does::CloseRange, Does::Trace, Does::Filter].map(known), [false, true, true, false]);
    }
}
