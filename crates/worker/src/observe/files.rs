//! Files, and what open(2) makes of them: a position, and where the last read ended.

use std::collections::{BTreeMap, HashMap};

use schema::Span;
use sys::follow::{At, MAPPING_BYTES_MIN, Opened};

use super::{
    access::{FileId, Identity, MappingKind, Sink, Under},
    advice::Advice,
};

/// Of so many threads that read an open file in turn it is known where each ended.
const READERS_MAX: usize = 1024;

/// What open(2) makes and dup(2) and fork(2) share.
pub(super) struct OpenFile {
    pub file: FileId,
    /// Absent after a write that appends: it is at the end of the file then, wherever that is.
    position: Option<u64>,
    /// Where the last read ended, and whose it was.
    ended: u64,
    reader: Option<i32>,
    /// Where the reads of the other threads ended.
    others_ended: HashMap<i32, u64>,
    direct: bool,
    /// About the order of reads (`Advice::is_about_order`).
    advice: Option<Advice>,
    reads_and_writes: bool,
    appends: bool,
    /// Others may move its position unseen: it is known where it was looked up.
    moves_unseen: bool,
}

/// An open file, by the order of their openings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenId(usize);

impl OpenId {
    pub(super) fn number(self) -> usize {
        self.0
    }
}

/// A call that reads.
pub(super) struct ReadCall {
    /// A vector's size is in memory only.
    pub asked: Option<u64>,
    pub at: At,
    pub delivered: u64,
    /// Others moved the position meanwhile, before it or after it.
    pub is_beside: bool,
}

/// What a call read.
pub(super) struct Delivered {
    pub span: Span,
    pub asked_bytes: u64,
    pub sequential: Option<bool>,
    /// It began at the position at which another thread's read ended.
    pub follows_other: bool,
}

impl OpenFile {
    /// lseek(2) moved the position.
    pub(super) fn seek(&mut self, position: u64) {
        self.position = Some(position).filter(|_| !self.moves_unseen);
    }

    /// The position was looked up.
    pub(super) fn found_at(&mut self, position: u64) {
        self.position = Some(position);
    }

    /// The position was looked up while nothing is known to move it; one that followed from the calls and is another one is not known.
    pub(super) fn is_at(&mut self, position: u64) {
        self.position = self.position.filter(|it| *it == position);
    }

    /// It cannot be looked up.
    pub(super) fn lose_position(&mut self) {
        self.position = None;
    }

    /// A write at the position moved it. With O_APPEND it goes to the end of the file first (write(2)).
    pub(super) fn wrote(&mut self, bytes: u64, may_append: bool) {
        if bytes > 0 {
            let known = self.position.filter(|_| !self.appends && !may_append);
            self.position = known.map(|it| it.saturating_add(bytes));
        }
    }

    /// One whose offset was not seen is taken to begin where the last one ended. Where threads that share an open file read its
    /// parts, each is in order that begins where the last one of its thread ended: how they alternate is the scheduler's.
    pub(super) fn read(&mut self, thread: i32, read: &ReadCall) -> Delivered {
        let seen = match read.at {
            At::Position => self.position.filter(|_| !read.is_beside),
            At::Offset(offset) => Some(offset),
            At::Unseen => None,
        };
        let began = seen.unwrap_or(self.ended);
        let is_of_other = self.reader.is_some_and(|it| it != thread);
        let follows_other = is_of_other && read.at == At::Position && seen == Some(self.ended);
        let own = self.others_ended.get(&thread).copied().filter(|_| self.reader != Some(thread));
        let sequential = seen.map(|it| it == self.ended || Some(it) == own);
        if let Some(other) = self.reader.filter(|&it| it != thread && self.others_ended.len() < READERS_MAX) {
            self.others_ended.insert(other, self.ended);
        }
        (self.ended, self.reader) = (began.saturating_add(read.delivered), Some(thread));
        if read.at == At::Position {
            let after = self.position.map(|it| it.saturating_add(read.delivered));
            self.position = after.filter(|_| !self.moves_unseen);
        }
        let span = Span { offset: began, bytes: read.delivered };
        Delivered { span, asked_bytes: read.asked.unwrap_or(read.delivered), sequential, follows_other }
    }

    /// Sets the flags of fcntl(2); whether the file goes around the page cache from now on, and did not before.
    pub(super) fn turns_direct(&mut self, flags: i32) -> bool {
        self.appends = flags & libc::O_APPEND != 0;
        let was_direct = std::mem::replace(&mut self.direct, flags & libc::O_DIRECT != 0);
        self.direct && !was_direct
    }

    /// What its reads are under.
    fn under(&self) -> impl Iterator<Item = Under> {
        let direct = self.direct.then_some(Under::Direct);
        direct.into_iter().chain(self.advice.map(Under::Advice))
    }
}

struct Seen {
    identity: Identity,
    /// When it was first seen.
    bytes: u64,
    /// What was asked to be brought in by each advice, and by all of them within these bytes.
    ahead: Vec<(Advice, Spans)>,
    asked: Spans,
}

/// Parts of a file that do not touch each other, by where they begin: where they end.
#[derive(Default)]
struct Spans(BTreeMap<u64, u64>);

impl Spans {
    /// How many of these bytes it did not have.
    fn add(&mut self, from: u64, to: u64) -> u64 {
        if to <= from {
            return 0;
        }
        let (mut first, mut last, mut known) = (from, to, 0);
        while let Some((&begin, &end)) = self.0.range(..=last).next_back().filter(|it| *it.1 >= first) {
            known += end.min(to).saturating_sub(begin.max(from));
            (first, last) = (first.min(begin), last.max(end));
            self.0.remove(&begin);
        }
        self.0.insert(first, last);
        to - from - known
    }

    fn covers(&self, span: &Span) -> bool {
        self.0.range(..=span.offset).next_back().is_some_and(|it| *it.1 >= span.end())
    }
}

/// All files, and all that were opened.
#[derive(Default)]
pub(super) struct Files {
    places: HashMap<(Identity, Vec<u8>), FileId>,
    seen: Vec<Seen>,
    open: Vec<OpenFile>,
}

impl Files {
    /// A new open file, at the position that it already had; `None` for what is no file.
    pub(super) fn open(&mut self, opened: &Opened, position: u64, sink: &mut impl Sink) -> Option<OpenId> {
        if !opened.is_file {
            return None;
        }
        let identity = (opened.device, opened.inode);
        let next = FileId(self.places.len());
        let file = *self.places.entry(opened.identity()).or_insert_with(|| {
            sink.file(next, opened);
            self.seen.push(Seen { identity, bytes: opened.bytes, ahead: Vec::new(), asked: Spans::default() });
            next
        });
        // It may have grown since.
        let seen = &mut self.seen[file.0];
        seen.bytes = seen.bytes.max(opened.bytes);
        let [direct, appends] = [libc::O_DIRECT, libc::O_APPEND].map(|it| opened.flags & it != 0);
        let (reads_and_writes, position, ended) = (opened.reads_and_writes(), Some(position), position);
        let moves_unseen = false;
        self.open.push(OpenFile {
            file,
            position,
            ended,
            reader: None,
            others_ended: HashMap::new(),
            direct,
            advice: None,
            reads_and_writes,
            appends,
            moves_unseen,
        });
        Some(OpenId(self.open.len() - 1))
    }

    pub(super) fn identity(&self, file: FileId) -> Identity {
        self.seen[file.0].identity
    }

    /// As it was when it was opened, the largest.
    pub(super) fn bytes(&self, file: FileId) -> u64 {
        self.seen[file.0].bytes
    }

    /// What a mapping, or a part of one, has of its file, rounded up to pages: databases map a reserve, behind the end of which there is
    /// nothing to reach. One through which the file may be written may be of a file that was made larger since. None is less than what
    /// is seen page by page. Nothing where all of it lies behind the end.
    pub(super) fn within(&self, of: (FileId, MappingKind), offset: u64, bytes: u64, page_bytes: u64) -> Option<u64> {
        let (file, kind) = of;
        let end = self.bytes(file).next_multiple_of(page_bytes);
        match end.saturating_sub(offset) {
            _ if end == 0 || kind.shared && kind.writable => Some(bytes),
            0 => None,
            left => Some(bytes.min(left.max(MAPPING_BYTES_MIN))),
        }
    }

    /// posix_fadvise(2), or readahead(2), of these bytes; none are all up to the end. How many of the file's are asked for in
    /// advance that were not before.
    pub(super) fn advise(&mut self, open: OpenId, advice: Advice, span: Span) -> Option<u64> {
        let open = &mut self.open[open.0];
        if advice.is_about_order() {
            open.advice = Some(advice);
            None
        } else if advice.brings_in() {
            // The kernel makes the one of the other (mm/readahead.c, `ksys_readahead`).
            let bytes = if span.bytes == 0 { u64::MAX } else { span.bytes };
            let Seen { ahead, asked, bytes: of_file, .. } = &mut self.seen[open.file.0];
            let (from, to) = (span.offset, span.offset.saturating_add(bytes));
            let at = ahead.iter().position(|it| it.0 == advice).unwrap_or_else(|| {
                ahead.push((advice, Spans::default()));
                ahead.len() - 1
            });
            // The file may have grown since.
            ahead[at].1.add(from, to);
            Some(asked.add(from, to.min(*of_file)))
        } else {
            None
        }
    }

    /// What a read of these bytes is under.
    pub(super) fn under(&self, open: OpenId, read: Span) -> impl Iterator<Item = Under> {
        let open = &self.open[open.0];
        let ahead = &self.seen[open.file.0].ahead;
        open.under().chain(ahead.iter().filter(move |it| it.1.covers(&read)).map(|it| Under::Advice(it.0)))
    }

    pub(super) fn of(&mut self, open: OpenId) -> &mut OpenFile {
        &mut self.open[open.0]
    }

    /// Whether its position follows from its reads and seeks.
    pub(super) fn has_position(&self, open: OpenId) -> bool {
        let of = &self.open[open.0];
        of.position.is_some() && !of.reads_and_writes && !of.moves_unseen
    }

    /// Of that number.
    pub(super) fn lose(&mut self, open: usize) {
        self.open.get_mut(open).into_iter().for_each(OpenFile::lose_position);
    }

    /// Of the open files of a file it is not known which are one.
    pub(super) fn confuse(&mut self, file: FileId) {
        for open in self.open.iter_mut().filter(|it| it.file == file) {
            (open.position, open.moves_unseen) = (None, true);
        }
    }

    /// Whether this open file is of the file that was found.
    pub(super) fn is_of(&self, open: OpenId, found: &Opened) -> bool {
        self.places.get(&found.identity()) == Some(&self.open[open.0].file)
    }
}
