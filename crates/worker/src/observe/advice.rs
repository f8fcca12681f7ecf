//! The names of advice.

use std::fmt;

/// Advice about a file, by the call that gave it and the number that it was given as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advice {
    Memory(u64),
    File(u64),
    ReadAhead,
}

impl Advice {
    /// One of these holds for an open file, or for a range of memory, until another does.
    pub(super) fn is_about_order(self) -> bool {
        let (Advice::Memory(number) | Advice::File(number)) = self else { return false };
        // NORMAL, RANDOM and SEQUENTIAL have the same numbers in both.
        number & LOWER_HALF <= 2
    }

    /// Bytes of a file come into the page cache at once.
    pub(super) fn brings_in(self) -> bool {
        match self {
            Advice::Memory(number) => matches!(number & LOWER_HALF, 3 | 22 | 23),
            Advice::File(number) => number & LOWER_HALF == 3,
            Advice::ReadAhead => true,
        }
    }
}

/// The upper half of the register means nothing.
const LOWER_HALF: u64 = u32::MAX as u64;

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Advice::Memory(number) => write!(f, "madvise({})", name(MADVISE, *number)),
            Advice::File(number) => write!(f, "posix_fadvise({})", name(FADVISE, *number)),
            Advice::ReadAhead => f.write_str("readahead"),
        }
    }
}

/// linux/mman.h
const MADVISE: &[(u64, &str)] = &[
    (0, "MADV_NORMAL"),
    (1, "MADV_RANDOM"),
    (2, "MADV_SEQUENTIAL"),
    (3, "MADV_WILLNEED"),
    (4, "MADV_DONTNEED"),
    (8, "MADV_FREE"),
    (9, "MADV_REMOVE"),
    (10, "MADV_DONTFORK"),
    (11, "MADV_DOFORK"),
    (12, "MADV_MERGEABLE"),
    (13, "MADV_UNMERGEABLE"),
    (14, "MADV_HUGEPAGE"),
    (15, "MADV_NOHUGEPAGE"),
    (16, "MADV_DONTDUMP"),
    (17, "MADV_DODUMP"),
    (20, "MADV_COLD"),
    (21, "MADV_PAGEOUT"),
    (22, "MADV_POPULATE_READ"),
    (23, "MADV_POPULATE_WRITE"),
    (25, "MADV_COLLAPSE"),
];

/// linux/fadvise.h
const FADVISE: &[(u64, &str)] = &[
    (0, "POSIX_FADV_NORMAL"),
    (1, "POSIX_FADV_RANDOM"),
    (2, "POSIX_FADV_SEQUENTIAL"),
    (3, "POSIX_FADV_WILLNEED"),
    (4, "POSIX_FADV_DONTNEED"),
    (5, "POSIX_FADV_NOREUSE"),
];

fn name(names: &[(u64, &str)], number: u64) -> String {
    let number = number & LOWER_HALF;
    names.iter().find(|it| it.0 == number).map_or_else(|| number.to_string(), |it| it.1.to_string())
}
