//! What a program does to its files, as data: one `ObservedAccess` for each call that reads, for each mapping and for each page
//! that is touched in one, and a `Mark` for what else matters to one file. The model makes them in the order of the calls; a
//! `Sink` takes them: it counts (`counts`), or writes a trace (`stream`).

use std::collections::HashMap;

use schema::Span;
use sys::follow::Opened;

use super::advice::Advice;

/// A file, by the order in which files were first seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FileId(pub usize);

/// Device and inode.
pub(super) type Identity = (u64, u64);

/// Bytes of a file that a thread read or mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObservedAccess {
    pub thread: i32,
    pub file: FileId,
    /// In bytes from the start of the file: delivered by a call, or covered by a mapping, also beyond the file's end.
    pub span: Span,
    pub via: Via,
}

/// How a thread came to the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Via {
    Call {
        name: &'static str,
        /// For vectors, whose sizes are not seen, the delivered bytes.
        asked_bytes: u64,
        /// It began where the call before on the same open file had ended, or at the start of the file; absent where its
        /// offset was not seen.
        sequential: Option<bool>,
    },
    /// Which of these bytes the program looks at is not seen.
    Mapping(MappingKind),
    /// A mapping became longer by these bytes (mremap(2)).
    Growth(MappingKind),
    /// A page of a mapping was touched for the first time, where that is seen.
    Touch,
}

/// As mmap(2) was asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MappingKind {
    pub shared: bool,
    pub writable: bool,
    pub executable: bool,
    pub populate: bool,
}

/// What happened to a file beside accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Opened {
        writable: bool,
        direct: bool,
    },
    /// O_DIRECT was set after open(2), with fcntl(2).
    TurnedDirect,
    Advised(Advice),
    /// So many of its bytes were read under it, or mapped.
    Reached {
        under: Under,
        bytes: u64,
    },
    /// Calls have asked for so many of its bytes in advance, beside those that they had asked for before.
    AskedAhead {
        bytes: u64,
    },
    FailedRead,
    /// A page of it came into a page table together with one that was touched, so that touches of it there are not seen.
    TouchedUnseen,
}

/// What changes how bytes are brought in, or how long it takes to copy them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Under {
    /// O_DIRECT.
    Direct,
    /// Into a buffer that begins up to 31 bytes behind the beginning of a page.
    BehindPage,
    Advice(Advice),
}

/// Pages of a file by their numbers, 64 of them together.
#[derive(Default)]
pub(super) struct Pages(HashMap<u64, u64>);

impl Pages {
    /// Those that have a byte of it.
    pub(super) fn insert(&mut self, span: Span, page_bytes: u64) {
        let (first, end) = (span.offset / page_bytes, span.end().div_ceil(page_bytes));
        if span.bytes > 0 {
            for word in first / 64..end.div_ceil(64) {
                let (from, to) = (first.saturating_sub(word * 64), (end - word * 64).min(64));
                *self.0.entry(word).or_default() |= (u64::MAX << from) & (u64::MAX >> (64 - to));
            }
        }
    }

    pub(super) fn contains(&self, page: u64) -> bool {
        self.0.get(&(page / 64)).is_some_and(|it| it >> (page % 64) & 1 == 1)
    }
}

/// Takes what the model finds out, in the order of the calls.
pub(super) trait Sink {
    /// A file is seen for the first time; `file` counts up from 0.
    fn file(&mut self, file: FileId, found: &Opened);

    fn access(&mut self, access: &ObservedAccess);

    fn mark(&mut self, file: FileId, mark: Mark);

    /// A thread ended.
    fn ended(&mut self, thread: i32);

    /// About when what follows happened (CLOCK_MONOTONIC).
    fn clock(&mut self, _ns: u64) {}
}

/// Both of them.
impl<A: Sink, B: Sink> Sink for (A, B) {
    fn file(&mut self, file: FileId, found: &Opened) {
        self.0.file(file, found);
        self.1.file(file, found);
    }

    fn access(&mut self, access: &ObservedAccess) {
        self.0.access(access);
        self.1.access(access);
    }

    fn mark(&mut self, file: FileId, mark: Mark) {
        self.0.mark(file, mark);
        self.1.mark(file, mark);
    }

    fn ended(&mut self, thread: i32) {
        self.0.ended(thread);
        self.1.ended(thread);
    }

    fn clock(&mut self, ns: u64) {
        self.0.clock(ns);
        self.1.clock(ns);
    }
}

/// Nothing where there is none.
impl<S: Sink> Sink for Option<S> {
    fn file(&mut self, file: FileId, found: &Opened) {
        self.iter_mut().for_each(|it| it.file(file, found));
    }

    fn access(&mut self, access: &ObservedAccess) {
        self.iter_mut().for_each(|it| it.access(access));
    }

    fn mark(&mut self, file: FileId, mark: Mark) {
        self.iter_mut().for_each(|it| it.mark(file, mark));
    }

    fn ended(&mut self, thread: i32) {
        self.iter_mut().for_each(|it| it.ended(thread));
    }

    fn clock(&mut self, ns: u64) {
        self.iter_mut().for_each(|it| it.clock(ns));
    }
}
