//! A sink that writes a trace: every access with its offset and length, as they come. What it holds of them is compressed and
//! bounded; what comes after that is counted.

use std::collections::{HashMap, HashSet};

use schema::{
    Span,
    leftover::FileIdentity,
    observation::FileAccess,
    trace::{
        self, ACCESS_BYTES_MAX, Body, Exact, FILES_MAX, Header, Inexact, LeftOut, NotSeen, RecordedRun, TracedFile,
    },
};
use sys::{
    follow::{MAPPING_BYTES_MIN, Opened, TouchesSeen},
    mount::is_made_up,
};

use super::{
    access::{FileId, Identity, MappingKind, Mark, ObservedAccess, Pages, Sink, Via},
    counts::is_moved_by_writes,
};

/// Of all files, so that the header stays within its bound (`schema::trace`).
const PARTS_MAX: usize = 1 << 15;

/// The most that paths and counts of files take of the first line.
const TABLE_BYTES_MAX: usize = 6 << 20;
/// Of a file's counts in it, and of a path's escaped letters.
const COUNTS_BYTES: usize = 800;
const ESCAPED: usize = 2;
/// Of the command in it.
const COMMAND_BYTES_MAX: usize = 64 << 10;

/// How the pages of a file's mappings are to be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// It has no page in the page cache, so each touch is seen.
    Exact,
    Not(Inexact),
}

pub(super) struct Stream {
    /// All files of a file system where it is empty.
    named: HashSet<Identity>,
    wanted: HashMap<Identity, Wanted>,
    page_bytes: u64,
    /// By `FileId`.
    files: Vec<Streamed>,
    /// Files of the table, in its order.
    table: Vec<FileId>,
    table_bytes: usize,
    /// Numbers of threads by those of the kernel, which gives them to later ones too.
    threads: HashMap<i32, u32>,
    next_thread: u32,
    /// The times of the first and of the last event `Clock`.
    began_ns: Option<u64>,
    now_ns: u64,
    body: Body,
    is_full: bool,
    left_out: LeftOut,
    /// Of these, accesses and mappings of files for which the table has no room: the trace does not have their names.
    of_no_place: u64,
    /// Of mappings that are too small to be seen page by page, if each page was touched.
    unseen_pages: u64,
    parts_left: usize,
    bytes: u64,
}

struct Streamed {
    file: TracedFile,
    is_named: bool,
    /// In the table.
    place: Option<u32>,
    /// Those that an access explains, or that are counted otherwise.
    pages: Pages,
}

/// What the follower knows of an execution.
pub(super) struct Ended<'a> {
    pub recorder: &'a str,
    pub run: RecordedRun,
    pub not_seen: NotSeen,
    /// Calls that are in no recording.
    pub beyond: u64,
    /// Writes that are in none.
    pub beyond_writes: u64,
    pub touches: Option<&'a TouchesSeen>,
    pub budget_ms: u64,
    /// Of each file that could be looked at, pages that were in the page cache in the end and that no access explains
    /// (`Stream::explained`). Whether they were touched is not known.
    pub unexplained: HashMap<Identity, u64>,
}

impl Stream {
    pub(super) fn new(
        named: impl IntoIterator<Item = Identity>,
        wanted: HashMap<Identity, Wanted>,
        page_bytes: u64,
    ) -> Stream {
        Stream {
            named: named.into_iter().collect(),
            wanted,
            page_bytes,
            files: Vec::new(),
            table: Vec::new(),
            table_bytes: 0,
            threads: HashMap::new(),
            next_thread: 0,
            began_ns: None,
            now_ns: 0,
            body: Body::default(),
            is_full: false,
            left_out: LeftOut::default(),
            of_no_place: 0,
            unseen_pages: 0,
            parts_left: PARTS_MAX,
            bytes: 0,
        }
    }

    /// The trace's first line, and everything else of it.
    pub(super) fn finish(mut self, counts: &[FileAccess], ended: Ended) -> (Header, Body) {
        let Ended { recorder, mut run, not_seen, beyond, beyond_writes, touches, budget_ms, unexplained } = ended;
        let mut of_any_file = beyond;
        // Where a file that is written to is read after them is not known.
        let is_moved = |id: &FileId| counts.get(id.0).is_some_and(|it| is_moved_by_writes(&it.access));
        if self.table.iter().any(is_moved) {
            of_any_file += beyond_writes;
        }
        self.left_out.beyond_limit += of_any_file;
        let kept = self.body.accesses();
        run.bytes = self.bytes;
        cut(&mut run.command);
        let (mut files, mut unseen) = (Vec::new(), self.unseen_pages);
        for id in &self.table {
            let mut file = std::mem::take(&mut self.files[id.0].file);
            file.counts = counts.get(id.0).map(|it| it.access.clone());
            let identity = file.identity.map(|it| (it.device, it.inode)).unwrap_or_default();
            let wanted = self.wanted.get(&identity);
            file.evicted = wanted.is_some();
            (file.exact, file.inexact) = known(wanted, identity, touches, budget_ms, &unexplained, file.mappings);
            file.unseen_touches = match file.exact {
                // None of its touches is known, and that is said.
                Exact::None => 0,
                _ => file.unseen_touches.saturating_add(unexplained.get(&identity).copied().unwrap_or(0)),
            };
            file.missing = file.missing.saturating_add(file.unseen_touches);
            unseen = unseen.saturating_add(file.unseen_touches);
            files.push(file);
        }
        let LeftOut { beyond_limit, unknown_offset, .. } = self.left_out;
        let lost = touches.map_or(0, |it| it.lost);
        let missing = [beyond_limit, unknown_offset, unseen, lost].into_iter().fold(0, u64::saturating_add);
        let header = Header::new(recorder, files, self.left_out).lacking(kept, missing);
        let of_any_file = Some(of_any_file.saturating_add(lost).saturating_add(self.of_no_place));
        let header = Header { of_any_file, not_seen, run: Some(run), ..header };
        (header, self.body)
    }

    /// Pages of a file that are in the page cache because of an access, or whose touches are counted otherwise.
    pub(super) fn explained(&self, identity: Identity) -> Option<&Pages> {
        let is_it = |it: &&Streamed| it.file.identity.is_some_and(|it| (it.device, it.inode) == identity);
        self.files.iter().find(is_it).map(|it| &it.pages)
    }

    /// Pages of files whose touches are to be known.
    fn explain(&mut self, id: FileId, span: Span) {
        let file = &mut self.files[id.0];
        let identity = file.file.identity.map(|it| (it.device, it.inode)).unwrap_or_default();
        if self.wanted.get(&identity) == Some(&Wanted::Exact) {
            file.pages.insert(span, self.page_bytes);
        }
    }

    /// Its place in the table; nothing where that is full.
    fn place(&mut self, id: FileId) -> Option<u32> {
        let file = &mut self.files[id.0];
        if file.place.is_none() && self.table.len() < FILES_MAX {
            let bytes = ESCAPED * file.file.path.len() + COUNTS_BYTES;
            if self.table_bytes + bytes <= TABLE_BYTES_MAX {
                self.table_bytes += bytes;
                file.place = Some(self.table.len() as u32);
                self.table.push(id);
            }
        }
        file.place
    }

    fn number(&mut self, thread: i32) -> u32 {
        *self.threads.entry(thread).or_insert_with(|| {
            self.next_thread += 1;
            self.next_thread - 1
        })
    }

    /// An access now, or a mapping.
    fn reached(&mut self, id: FileId) {
        let Some(began_ns) = self.began_ns else { return };
        let now_ns = self.now_ns.saturating_sub(began_ns);
        let [_, last_ns] = self.files[id.0].file.reached_ns.get_or_insert([now_ns; 2]);
        *last_ns = now_ns.max(*last_ns);
    }

    fn push(&mut self, thread: i32, id: FileId, offset: u64, bytes: u64, via: trace::Via) {
        self.bytes = self.bytes.saturating_add(bytes);
        if !self.files[id.0].is_named {
            self.left_out.other_files += 1;
            return;
        }
        let thread = self.number(thread);
        self.reached(id);
        let Some(file) = self.place(id).filter(|_| !self.is_full) else {
            self.beyond(id);
            return;
        };
        // One call may read more than an access has.
        let mut at = offset;
        let end = offset.saturating_add(bytes);
        while at < end {
            let part = (end - at).min(ACCESS_BYTES_MAX);
            if self.body.push(trace::Access { file, offset: at, bytes: part, thread, via }).is_err() {
                // Smaller ones may still fit; a trace has what came first.
                self.is_full = true;
                self.beyond(id);
                return;
            }
            at += part;
        }
    }

    fn beyond(&mut self, id: FileId) {
        self.left_out.beyond_limit += 1;
        self.lacks(id);
    }

    /// One access, or mapping, that is not in the trace.
    fn lacks(&mut self, id: FileId) {
        match self.place(id) {
            Some(_) => self.files[id.0].file.missing += 1,
            None => self.of_no_place += 1,
        }
    }

    /// Where a call read was not seen, but that it did is known.
    fn unplaced(&mut self, id: FileId, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.files[id.0].is_named {
            self.left_out.unknown_offset += 1;
            self.lacks(id);
        } else {
            self.left_out.other_files += 1;
        }
    }

    fn mapped(&mut self, thread: i32, id: FileId, span: Span, kind: MappingKind) {
        let bytes = span.bytes;
        let file = &mut self.files[id.0];
        file.file.mappings += 1;
        let identity = file.file.identity.map(|it| (it.device, it.inode)).unwrap_or_default();
        let is_exact = self.wanted.get(&identity) == Some(&Wanted::Exact);
        let is_named = file.is_named;
        // Programs map what they execute; that is no reading of data.
        if is_named && !kind.executable {
            let thread = self.number(thread);
            self.files[id.0].file.mapped_by.get_or_insert(thread);
            // Where touches are seen, these say when it is reached.
            if !is_exact {
                self.reached(id);
            }
            if is_exact && bytes < MAPPING_BYTES_MIN {
                let pages = bytes.div_ceil(self.page_bytes);
                self.left_out.small_mappings += 1;
                self.unseen_pages = self.unseen_pages.saturating_add(pages);
                let missing = &mut self.files[id.0].file.missing;
                *missing = missing.saturating_add(pages);
                self.explain(id, span);
            }
            if self.place(id).is_none() {
                self.beyond(id);
            }
        }
    }

    /// The parts of a file that were in the page cache, as long as the header has room for them.
    fn found(&mut self, found: &Opened) -> Vec<Span> {
        let left = self.parts_left.checked_sub(found.resident_parts.len());
        self.parts_left = left.unwrap_or(self.parts_left);
        let parts = found.resident_parts.iter().filter(|_| left.is_some());
        parts.map(|&(offset, bytes)| Span { offset, bytes }).collect()
    }
}

impl Sink for Stream {
    fn file(&mut self, _: FileId, found: &Opened) {
        let pages = found.bytes.div_ceil(self.page_bytes);
        let share = |resident: u64| share(resident, pages);
        let identity = (found.device, found.inode);
        let file = TracedFile {
            path: found.path.clone(),
            bytes: Some(found.bytes),
            identity: Some(FileIdentity { device: found.device, inode: found.inode }),
            resident_before: found.resident_pages.map(share),
            found: self.found(found),
            ..TracedFile::default()
        };
        let is_named = match self.named.is_empty() {
            true => !is_made_up(&found.path),
            false => self.named.contains(&identity),
        };
        self.files.push(Streamed { file, is_named, place: None, pages: Pages::default() });
    }

    fn access(&mut self, access: &ObservedAccess) {
        let ObservedAccess { thread, file, span, via } = *access;
        if matches!(via, Via::Touch | Via::Call { sequential: Some(_), .. }) {
            self.explain(file, span);
        }
        match via {
            Via::Mapping(kind) => self.mapped(thread, file, span, kind),
            Via::Growth(_) => {}
            Via::Touch => self.push(thread, file, span.offset, span.bytes, trace::Via::Mapping),
            Via::Call { .. } if span.bytes == 0 => self.left_out.at_end += u64::from(self.files[file.0].is_named),
            Via::Call { sequential: None, .. } => self.unplaced(file, span.bytes),
            Via::Call { .. } => self.push(thread, file, span.offset, span.bytes, trace::Via::Call),
        }
    }

    fn mark(&mut self, file: FileId, mark: Mark) {
        match mark {
            Mark::FailedRead if self.files[file.0].is_named => self.left_out.failed += 1,
            Mark::TouchedUnseen => self.files[file.0].file.unseen_touches += 1,
            _ => {}
        }
    }

    fn ended(&mut self, thread: i32) {
        self.threads.remove(&thread);
    }

    fn clock(&mut self, ns: u64) {
        self.began_ns.get_or_insert(ns);
        self.now_ns = ns;
    }
}

/// A part is neither rounded to nothing nor to all.
fn share(part: u64, of: u64) -> f64 {
    const DIGITS: f64 = 1e4;
    match part {
        0 => 0.0,
        part if part >= of => 1.0,
        part => (part as f64 / of as f64 * DIGITS).round().clamp(1.0, DIGITS - 1.0) / DIGITS,
    }
}

/// What is known of the pages that were touched through the mappings of a file, and why it is not more.
fn known(
    wanted: Option<&Wanted>,
    identity: Identity,
    touches: Option<&TouchesSeen>,
    budget_ms: u64,
    unexplained: &HashMap<Identity, u64>,
    mappings: u64,
) -> (Exact, Option<Inexact>) {
    let (Some(wanted), Some(touches)) = (wanted, touches) else { return (Exact::None, None) };
    let inexact = match (wanted, touches) {
        (Wanted::Not(why), _) => Some(why.clone()),
        (Wanted::Exact, TouchesSeen { refused: Some(why), .. }) => Some(Inexact::NoFaults { why: why.clone() }),
        (Wanted::Exact, TouchesSeen { lost: 1.., .. }) => Some(Inexact::Lost { faults: touches.lost }),
        (Wanted::Exact, TouchesSeen { is_over_budget: true, .. }) => Some(Inexact::BudgetOver { budget_ms }),
        (Wanted::Exact, TouchesSeen { unadvised, .. }) => match unadvised.get(&identity) {
            Some(&mappings) => Some(Inexact::NotAdvised { mappings }),
            None => (!unexplained.contains_key(&identity)).then_some(Inexact::Unchecked),
        },
    };
    match inexact {
        // Nothing is unknown of what was never mapped.
        _ if mappings == 0 => (Exact::None, None),
        Some(why) => (Exact::None, Some(why)),
        None => (Exact::Order, None),
    }
}

/// A command line may be longer than a first line.
fn cut(command: &mut Vec<String>) {
    let mut left = COMMAND_BYTES_MAX;
    let fits = command.iter().take_while(|it| {
        let fits = it.len() <= left;
        left = left.saturating_sub(it.len() + 1);
        fits
    });
    let fits = fits.count();
    if fits < command.len() {
        command.truncate(fits);
        command.push("…".into());
    }
}

#[cfg(test)]
mod tests {
    use schema::trace::Reader;

    use super::*;

    const PAGE: u64 = 4096;

    fn found(inode: u64, path: &str) -> Opened {
        Opened {
            is_file: true,
            device: 1,
            inode,
            generation: Vec::new(),
            path: path.into(),
            bytes: 10 * PAGE + 1,
            flags: 0,
            position: 0,
            resident_pages: Some(3),
            resident_parts: vec![(0, PAGE), (4 * PAGE, 2 * PAGE)],
        }
    }

    fn access(thread: i32, file: usize, offset: u64, bytes: u64, via: Via) -> ObservedAccess {
        ObservedAccess { thread, file: FileId(file), span: Span { offset, bytes }, via }
    }

    const CALL: Via = Via::Call { name: "pread64", asked_bytes: 9, sequential: Some(true) };
    const MAPPED: Via = Via::Mapping(MappingKind { shared: true, writable: false, executable: false, populate: false });

    fn ended(touches: Option<&TouchesSeen>) -> Ended<'_> {
        Ended {
            recorder: "ptrace",
            run: RecordedRun::default(),
            not_seen: NotSeen::default(),
            beyond: 0,
            beyond_writes: 0,
            touches,
            budget_ms: 30_000,
            unexplained: HashMap::from([((1, 7), 0)]),
        }
    }

    /// As it is read again.
    fn written(header: &Header, body: Body) -> (Header, Vec<trace::Access>) {
        let mut bytes = Vec::new();
        body.finish(header, &mut bytes).unwrap();
        let mut reader = Reader::new(&bytes[..]).unwrap();
        let mut accesses = Vec::new();
        while let Some(access) = reader.next_access().unwrap() {
            accesses.push(access);
        }
        (reader.header().clone(), accesses)
    }

    #[test]
    fn accesses_are_written_with_their_files_and_threads_and_what_is_left_out_is_counted() {
        let mut stream = Stream::new([], HashMap::new(), PAGE);
        for (file, path) in ["/proc/1/maps", "/data/a", "/data/unread", "/data/b"].into_iter().enumerate() {
            stream.file(FileId(file), &found(file as u64, path));
        }
        stream.access(&access(70, 0, 0, 100, CALL));
        stream.clock(5000);
        stream.access(&access(70, 3, 8, 100, CALL));
        stream.clock(7000);
        stream.access(&access(71, 1, 4, 50, CALL));
        stream.access(&access(71, 1, 4, 0, CALL));
        let unplaced = Via::Call { name: "splice", asked_bytes: 9, sequential: None };
        stream.access(&access(71, 1, 4, 10, unplaced));
        stream.mark(FileId(1), Mark::FailedRead);
        // The kernel gives its number to another thread.
        stream.ended(70);
        stream.access(&access(70, 1, 0, 3 * ACCESS_BYTES_MAX / 2, CALL));
        stream.access(&access(72, 2, 0, 100, MAPPED));
        stream.access(&access(70, 2, 0, 100, MAPPED));
        let (header, body) = stream.finish(&[], ended(None));
        let (header, accesses) = written(&header, body);
        assert_eq!([0, 1, 2].map(|at| header.files[at].mapped_by), [None, None, Some(3)]);
        assert_eq!([0, 1].map(|at| header.files[at].reached_ns), [Some([0; 2]), Some([2000; 2])]);
        let paths: Vec<&str> = header.files.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["/data/b", "/data/a", "/data/unread"]);
        let file = &header.files[1];
        assert_eq!((file.bytes, file.resident_before), (Some(10 * PAGE + 1), Some(0.2727)));
        assert_eq!(file.found, [Span { offset: 0, bytes: PAGE }, Span { offset: 4 * PAGE, bytes: 2 * PAGE }]);
        let of = |thread, it| trace::Access { thread, ..it };
        let half = ACCESS_BYTES_MAX / 2;
        let expected = [
            of(0, trace::Access::call(0, 8, 100)),
            of(1, trace::Access::call(1, 4, 50)),
            of(2, trace::Access::call(1, 0, ACCESS_BYTES_MAX)),
            of(2, trace::Access::call(1, ACCESS_BYTES_MAX, half)),
        ];
        assert_eq!(accesses, expected);
        let left_out = LeftOut { failed: 1, at_end: 1, unknown_offset: 1, other_files: 1, ..LeftOut::default() };
        assert_eq!((header.left_out, header.coverage), (left_out, 0.8));
        let of = |meant: &[bool]| header.coverage_of([1, 3, 0].into_iter().zip(meant.iter().copied()));
        assert_eq!([of(&[true; 3]), of(&[true, false, false]), of(&[false, true, false])], [0.8, 1.0, 0.75]);
        assert_eq!(header.run.unwrap().bytes, 100 + 100 + 50 + 10 + 3 * half);
    }

    #[test]
    fn a_mapping_whose_touches_are_seen_is_reached_by_them() {
        let wanted = |how| HashMap::from([((1, 1), how)]);
        for (wanted, reached_ns) in [(wanted(Wanted::Exact), [2000; 2]), (HashMap::new(), [0, 2000])] {
            let mut stream = Stream::new([], wanted, PAGE);
            stream.file(FileId(0), &found(1, "/data/a"));
            stream.clock(5000);
            stream.access(&access(70, 0, 0, 2 << 20, MAPPED));
            stream.clock(7000);
            stream.access(&access(70, 0, 0, PAGE, Via::Touch));
            let (header, _) = stream.finish(&[], ended(None));
            assert_eq!(header.files[0].reached_ns, Some(reached_ns));
        }
    }

    #[test]
    fn of_a_file_that_is_nearly_all_in_the_page_cache_the_share_is_a_part() {
        let shares = [0, 1, 10_000, 19_999, 20_000, 30_000].map(|it| share(it, 20_000));
        assert_eq!(shares, [0.0, 0.0001, 0.5, 0.9999, 1.0, 1.0]);
        assert_eq!(share(0, 0), 0.0);
    }

    #[test]
    fn files_that_were_evicted_for_the_recording_are_marked_however_they_are_reached() {
        let not = Wanted::Not(Inexact::NotCold { why: "pid 7 has it mapped".into() });
        let mut stream = Stream::new([], HashMap::from([((1, 0), Wanted::Exact), ((1, 1), not)]), PAGE);
        for (file, via) in [CALL, MAPPED, CALL].into_iter().enumerate() {
            stream.file(FileId(file), &found(file as u64, &format!("/data/{file}")));
            stream.access(&access(70, file, 0, 2 * PAGE, via));
        }
        let (header, _) = stream.finish(&[], ended(Some(&TouchesSeen::default())));
        let seen: Vec<(Exact, bool)> = header.files.iter().map(|it| (it.exact, it.evicted)).collect();
        assert_eq!(seen, [(Exact::None, true), (Exact::None, true), (Exact::None, false)]);
    }

    #[test]
    fn a_file_that_was_only_read_at_offsets_that_were_not_seen_is_in_the_table() {
        let mut stream = Stream::new([(1, 1)], HashMap::new(), PAGE);
        (0..2).for_each(|file| stream.file(FileId(file), &found(file as u64, &format!("/data/{file}"))));
        let unplaced = Via::Call { name: "sendfile", asked_bytes: 9, sequential: None };
        (0..2).for_each(|file| stream.access(&access(70, file, 0, 9, unplaced)));
        stream.access(&access(70, 1, 0, 0, unplaced));
        let (header, body) = stream.finish(&[], ended(None));
        let (header, accesses) = written(&header, body);
        let left_out = LeftOut { at_end: 1, unknown_offset: 1, other_files: 1, ..LeftOut::default() };
        assert_eq!((header.left_out, header.coverage, accesses.len()), (left_out, 0.0, 0));
        assert_eq!(header.files.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["/data/1"]);
    }

    #[test]
    fn what_is_beyond_the_bounds_lowers_the_coverage() {
        let mut stream = Stream::new([(1, 7)], HashMap::new(), PAGE);
        stream.file(FileId(0), &found(7, "/data/a"));
        (0..30).for_each(|at| stream.access(&access(1, 0, at * PAGE, 10, CALL)));
        let (header, body) = stream.finish(&[], Ended { beyond: 70, beyond_writes: 9, ..ended(None) });
        let (header, accesses) = written(&header, body);
        assert_eq!((header.coverage, header.left_out.beyond_limit, accesses.len()), (0.3, 70, 30));
        assert_eq!(header.coverage_of([(30, true)].into_iter()), 0.3, "which may be of any file");
        // A full table of files.
        let mut stream = Stream::new([], HashMap::new(), PAGE);
        for file in 0..FILES_MAX + 2 {
            stream.file(FileId(file), &found(file as u64, "/data/a"));
            stream.access(&access(1, file, 0, 1, CALL));
        }
        let (header, body) = stream.finish(&[], ended(None));
        let (header, accesses) = written(&header, body);
        assert_eq!(header.left_out.beyond_limit as usize, FILES_MAX + 2 - accesses.len());
        assert!(header.coverage < 1.0 && header.files.len() == accesses.len(), "{}", header.coverage);
        let of_table = header.coverage_of(accesses.iter().map(|_| (1, true)));
        assert_eq!(of_table, header.coverage, "which files there are is not known");
        let of_one = header.coverage_of(accesses.iter().enumerate().map(|(at, _)| (1, at == 0)));
        assert!(of_one < 1.0, "nor whether that one matters: {of_one}");
    }

    #[test]
    fn pages_of_mappings_that_are_too_small_to_be_seen_lower_the_coverage() {
        let mut stream = Stream::new([], HashMap::from([((1, 7), Wanted::Exact)]), PAGE);
        stream.file(FileId(0), &found(7, "/data/a"));
        stream.access(&access(1, 0, 0, MAPPING_BYTES_MIN, MAPPED));
        (0..30).for_each(|at| stream.access(&access(1, 0, at * PAGE, PAGE, Via::Touch)));
        (0..10).for_each(|at| stream.access(&access(1, 0, at * 7 * PAGE, 6 * PAGE + 1, MAPPED)));
        let (header, _) = stream.finish(&[], ended(Some(&TouchesSeen::default())));
        assert_eq!((header.left_out.small_mappings, header.coverage, header.files[0].missing), (10, 0.3, 70));
    }

    #[test]
    fn pages_that_no_access_explains_lower_the_coverage_and_so_do_touches_that_are_not_seen() {
        let mut stream = Stream::new([], HashMap::from([((1, 7), Wanted::Exact)]), PAGE);
        stream.file(FileId(0), &found(7, "/data/a"));
        stream.access(&access(1, 0, 0, MAPPING_BYTES_MIN, MAPPED));
        stream.access(&access(1, 0, 2 * PAGE, PAGE, Via::Touch));
        stream.access(&access(1, 0, 5 * PAGE - 1, 2, CALL));
        stream.access(&access(1, 0, 8 * PAGE, PAGE, MAPPED));
        (0..3).for_each(|_| stream.mark(FileId(0), Mark::TouchedUnseen));
        let explained = stream.explained((1, 7)).unwrap();
        assert_eq!((0..10).filter(|it| explained.contains(*it)).collect::<Vec<u64>>(), [2, 4, 5, 8]);
        let unexplained = HashMap::from([((1, 7), 4)]);
        let touches = TouchesSeen::default();
        let (header, _) = stream.finish(&[], Ended { unexplained, ..ended(Some(&touches)) });
        let file = &header.files[0];
        // Two accesses; four pages, three touches, and the page of a small mapping.
        assert_eq!((file.exact, file.unseen_touches, header.coverage), (Exact::Order, 7, 0.2));
        assert_eq!(file.missing, 8);
    }

    #[test]
    fn pages_are_exact_only_where_each_touch_was_seen_and_the_reason_is_given_elsewhere() {
        let not_cold = Inexact::NotCold { why: "it is mapped".into() };
        let wanted = HashMap::from([((1, 7), Wanted::Exact), ((1, 8), Wanted::Not(not_cold.clone()))]);
        let seen = |touches: Option<TouchesSeen>, unexplained: HashMap<Identity, u64>| {
            let mut stream = Stream::new([], wanted.clone(), PAGE);
            for (file, inode) in [7, 8, 9].into_iter().enumerate() {
                stream.file(FileId(file), &found(inode, "/data/a"));
                stream.access(&access(1, file, 0, MAPPING_BYTES_MIN, MAPPED));
                stream.access(&access(1, file, 0, MAPPING_BYTES_MIN - 1, MAPPED));
                stream.access(&access(1, file, PAGE, PAGE, Via::Touch));
            }
            let (header, _) = stream.finish(&[], Ended { unexplained, ..ended(touches.as_ref()) });
            assert_eq!(header.left_out.small_mappings, 1);
            header.files.into_iter().map(|it| (it.exact, it.inexact)).collect::<Vec<_>>()
        };
        let none = (Exact::None, None);
        let finish = |touches| seen(touches, HashMap::from([((1, 7), 0)]));
        // Deleted, say.
        let unchecked = seen(Some(TouchesSeen::default()), HashMap::new());
        assert_eq!(unchecked[0], (Exact::None, Some(Inexact::Unchecked)));
        assert_eq!(finish(None), [none.clone(), none.clone(), none.clone()]);
        let cases = [
            (TouchesSeen::default(), (Exact::Order, None)),
            (
                TouchesSeen { refused: Some("no".into()), ..TouchesSeen::default() },
                (Exact::None, Some(Inexact::NoFaults { why: "no".into() })),
            ),
            (TouchesSeen { lost: 3, ..TouchesSeen::default() }, (Exact::None, Some(Inexact::Lost { faults: 3 }))),
            (
                TouchesSeen { is_over_budget: true, ..TouchesSeen::default() },
                (Exact::None, Some(Inexact::BudgetOver { budget_ms: 30_000 })),
            ),
            (
                TouchesSeen { unadvised: [((1, 7), 2)].into(), ..TouchesSeen::default() },
                (Exact::None, Some(Inexact::NotAdvised { mappings: 2 })),
            ),
        ];
        for (touches, of_cold) in cases {
            let others = [(Exact::None, Some(not_cold.clone())), none.clone()];
            assert_eq!(finish(Some(touches)), [&[of_cold][..], &others].concat());
        }
    }

    #[test]
    fn a_long_command_line_is_cut_between_its_words() {
        let mut command = vec!["a".to_string(), "b".repeat(COMMAND_BYTES_MAX), "c".into()];
        cut(&mut command);
        assert_eq!(command, ["a", "…"]);
        let mut short = vec!["a".to_string(), "b".into()];
        cut(&mut short);
        assert_eq!(short, ["a", "b"]);
    }

    #[test]
    fn mapped_files_that_the_table_does_not_hold_lower_the_coverage() {
        let of = |files: usize| {
            let mut stream = Stream::new([], HashMap::new(), PAGE);
            for at in 0..files {
                stream.file(FileId(at), &found(at as u64, &format!("/tree/{at}")));
                stream.access(&access(1, at, 0, PAGE, MAPPED));
            }
            let (header, _) = stream.finish(&[], ended(None));
            (header.files.len(), header.left_out.beyond_limit, header.of_any_file.unwrap(), header.coverage)
        };
        assert_eq!(of(2000), (2000, 0, 0, 1.0));
        let (held, beyond, of_any_file, coverage) = of(FILES_MAX + 1);
        assert_eq!((held as u64 + beyond, beyond), (FILES_MAX as u64 + 1, of_any_file));
        assert!(beyond > 0 && coverage < 1.0, "{beyond} {coverage}");
    }
}
