//! The accesses of a trace, in their order. They are read and checked before the pass, and lie in memory within it: 16 bytes
//! each, one after the other. A trace is not trusted: whatever it says, no access leaves the range of its job.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufReader},
    ops::Range,
    path::PathBuf,
    sync::Arc,
};

use schema::{
    Span,
    leftover::FileIdentity,
    protocol::{Job, ReplayedFile, TraceOf},
    trace::{Access, FILES_MAX, Overlaps, Reader, Refused, Via},
};

use super::{InMemory, Pattern, Reached, Source, Spans, Union};

/// The accesses of a pass. Those that one thread makes in one part (`ReplayThreads`) lie one after the other, in their order.
#[derive(Debug, Clone)]
pub(crate) struct Accesses {
    list: Arc<[Span]>,
    /// All of them lie in it.
    within: Span,
    /// Where the share of each thread ends: those of the first part by thread, of the second, and so on.
    ends: Arc<[usize]>,
    threads: usize,
    /// Of one file.
    header: Header,
}

/// What a program reads of a file by calls before it touches it in a mapping. The kernel begins to read ahead there, and the faults go
/// on with that, a window ahead (do_async_mmap_readahead in mm/filemap.c): with one read of 4 KiB before it, MADV_POPULATE_READ of
/// 44 MiB took 14 ms from the device, and 21 without. So a method that maps the file makes these calls, too.
pub(crate) type Header = Arc<[Span]>;

/// So many calls at most are made again, and so many bytes of each.
const HEADER_CALLS_MAX: usize = 16;
pub(crate) const HEADER_BYTES_MAX: usize = 64 << 10;

/// The headers of the files of a trace, while it is read.
#[derive(Default)]
struct Headers(Vec<(Vec<Span>, bool)>);

impl Headers {
    fn add(&mut self, file: u32, access: &Access) {
        let file = file as usize;
        if self.0.len() <= file {
            self.0.resize_with(file + 1, Default::default);
        }
        let (calls, is_mapped) = &mut self.0[file];
        if access.via == Via::Mapping {
            *is_mapped = true;
        } else if !*is_mapped && calls.len() < HEADER_CALLS_MAX {
            calls.push(span(access));
        }
    }

    /// Nothing of one that is not mapped.
    fn of(&mut self, file: usize) -> Header {
        let of = self.0.get_mut(file).map(std::mem::take);
        of.filter(|it| it.1).map_or_else(Header::default, |it| it.0.into())
    }
}

impl Default for Accesses {
    fn default() -> Accesses {
        Accesses::of_one_thread(Arc::new([]))
    }
}

impl Accesses {
    /// For a rehearsal: each thread makes one of them again and again.
    pub(crate) fn again(span: Span, times: usize, threads: u32) -> Accesses {
        let threads = threads as usize;
        let ends = (1..=threads).map(|it| it * times).collect();
        Accesses::new(vec![span; times * threads].into(), ends, threads)
    }

    pub(crate) fn of_one_thread(list: Arc<[Span]>) -> Accesses {
        let ends = Arc::new([list.len()]);
        Accesses::new(list, ends, 1)
    }

    fn new(list: Arc<[Span]>, ends: Arc<[usize]>, threads: usize) -> Accesses {
        Accesses { within: hull(&list), list, ends, threads, header: Header::default() }
    }

    pub(crate) fn header(&self) -> &[Span] {
        &self.header
    }

    /// Of all threads.
    pub(crate) fn list(&self) -> &[Span] {
        &self.list
    }

    /// Between two parts the threads wait for each other.
    pub(crate) fn parts(&self) -> usize {
        self.ends.len() / self.threads
    }

    /// So many of each thread, part by part.
    #[cfg(test)]
    pub(crate) fn planted<const THREADS: usize>(shares: &[[usize; THREADS]]) -> Accesses {
        let mut end = 0;
        let ends = shares.as_flattened().iter().map(|it| {
            end += it;
            end
        });
        let ends = ends.collect();
        Accesses::new(vec![Span { offset: 0, bytes: 10 }; end].into(), ends, THREADS)
    }

    /// After each access, so that all of it takes so long: threads are at work at once, and a part takes as long as the one with the
    /// most bytes in it.
    pub(crate) fn work_ps_per_byte(&self, own_work_ns: u64) -> u64 {
        let bytes = |part, thread| self.of(part, thread).map(|it| it.bytes).sum::<u64>();
        let most = |part| (0..self.threads as u32).map(|thread| bytes(part, thread)).max().unwrap_or(0);
        let all = (0..self.parts()).map(most).sum::<u64>();
        let work_ps = u128::from(own_work_ns) * 1000;
        u64::try_from(work_ps.checked_div(u128::from(all)).unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// The most accesses that each thread makes in a part.
    pub(crate) fn most(&self) -> Vec<usize> {
        let of = |thread| (0..self.parts()).map(|part| self.share(part, thread).len()).max().unwrap_or(0);
        (0..self.threads as u32).map(of).collect()
    }

    /// What a thread does in a part, in one file.
    pub(crate) fn of(&self, part: usize, thread: u32) -> List<'_> {
        List { spans: &self.list[self.share(part, thread)], within: self.within }
    }

    /// Of a thread in a part; a pass may have more threads than are at work.
    pub(crate) fn share(&self, part: usize, thread: u32) -> Range<usize> {
        match thread as usize {
            thread if thread < self.threads => share(&self.ends, part * self.threads + thread),
            _ => 0..0,
        }
    }
}

/// From the end of the share before.
fn share(ends: &[usize], at: usize) -> Range<usize> {
    at.checked_sub(1).map_or(0, |before| ends[before])..ends[at]
}

/// The smallest span in which all of them lie.
fn hull(spans: &[Span]) -> Span {
    let offset = spans.iter().map(|it| it.offset).min().unwrap_or(0);
    let end = spans.iter().map(Span::end).max().unwrap_or(0);
    Span { offset, bytes: end - offset }
}

/// Accesses of one file in their order, and a span in which they lie. That is found before the pass: a method with the whole file
/// in memory need not hold each access against its end, which a program that reads its own file does not do either. It took a
/// third of the time of those that look at one byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List<'a> {
    spans: &'a [Span],
    within: Span,
}

impl Iterator for List<'_> {
    type Item = Span;

    #[inline(always)]
    fn next(&mut self) -> Option<Span> {
        let (first, more) = self.spans.split_first()?;
        self.spans = more;
        Some(*first)
    }
}

impl Spans for List<'_> {
    #[inline(always)]
    fn each_in(self, memory: InMemory<'_>, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        if self.spans.is_empty() {
            return Ok(());
        }
        let within = memory.part(self.within)?;
        // Where the file would begin: that saves each access a subtraction.
        let file = within.as_ptr().wrapping_sub(self.within.offset as usize);
        for span in self.spans {
            // SAFETY: each access lies in `within`, all of which is there. Lists are made in this file alone.
            each(unsafe { std::slice::from_raw_parts(file.wrapping_add(span.offset as usize), span.bytes as usize) });
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Replay {
    list: Arc<[Span]>,
    next: usize,
    end: usize,
}

impl Iterator for Replay {
    type Item = Span;

    #[inline(always)]
    fn next(&mut self) -> Option<Span> {
        let span = self.list.get(self.next).filter(|_| self.next < self.end).copied();
        self.next += 1;
        span
    }
}

impl Spans for Replay {}

impl Source for Replay {
    /// In the first part.
    fn of(pattern: &Pattern, thread: u32) -> Replay {
        let Range { start, end } = pattern.accesses.share(0, thread);
        Replay { list: Arc::clone(&pattern.accesses.list), next: start, end }
    }

    fn bytes(pattern: &Pattern) -> u64 {
        pattern.accesses.list.iter().map(|span| span.bytes).sum()
    }

    fn reach(pattern: &Pattern, union: &mut Union) {
        let mut spans = pattern.accesses.list.to_vec();
        spans.sort_unstable();
        spans.into_iter().for_each(|span| union.add(span));
    }
}

/// The accesses of a trace over several files.
pub(crate) struct Several {
    pub files: Vec<SeveralFile>,
    pub accesses: Accesses,
    /// By the shares of the accesses, and of each share in its order.
    stretches: Vec<Stretch>,
    /// Where those of each share end.
    ends: Vec<usize>,
}

/// One of them. Its range is all of it, as it was when it was named.
pub(crate) struct SeveralFile {
    pub path: PathBuf,
    pub identity: FileIdentity,
    pub range: Span,
    pub header: Header,
}

/// Accesses of one file that a thread makes one after the other. It opens a file at its first stretch, and closes it after its last
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Its place among the files.
    pub file: usize,
    /// Where it ends in the list; it begins where the one before it ended.
    pub end: usize,
    pub is_last: bool,
    /// Its accesses lie in it.
    within: Span,
}

impl Several {
    /// The file that is opened first.
    pub(crate) fn first(&self) -> &SeveralFile {
        &self.files[self.stretches[0].file]
    }

    /// What a thread does in a part, with the accesses of each stretch.
    pub(crate) fn share(&self, part: usize, thread: u32) -> impl Iterator<Item = (Stretch, List<'_>)> {
        let start = self.accesses.share(part, thread).start;
        let threads = self.accesses.threads;
        let stretches = match thread as usize {
            thread if thread < threads => share(&self.ends, part * threads + thread),
            _ => 0..0,
        };
        self.with_accesses(stretches, start)
    }

    /// Of all threads.
    fn stretches(&self) -> impl Iterator<Item = (Stretch, List<'_>)> {
        self.with_accesses(0..self.stretches.len(), 0)
    }

    /// `start`: where the first of them begins in the list.
    fn with_accesses(&self, stretches: Range<usize>, mut start: usize) -> impl Iterator<Item = (Stretch, List<'_>)> {
        self.stretches[stretches].iter().map(move |it| {
            let accesses = List { spans: &self.accesses.list[start..it.end], within: it.within };
            start = it.end;
            (*it, accesses)
        })
    }

    /// How many files a thread has open at once, at most.
    pub(crate) fn most_open(&self, thread: u32) -> u64 {
        let mut is_open = vec![false; self.files.len()];
        let (mut open, mut most) = (0, 0);
        for part in 0..self.accesses.parts() {
            for (stretch, _) in self.share(part, thread) {
                open += u64::from(!std::mem::replace(&mut is_open[stretch.file], true));
                most = most.max(open);
                open -= u64::from(stretch.is_last);
            }
        }
        most
    }

    /// For a rehearsal: one access of the file that is opened first, again and again by each thread.
    pub(crate) fn shortened(&self, ops: usize, threads: u32) -> Several {
        let (first, ops) = (self.accesses.list[0], self.accesses.list.len().min(ops));
        let SeveralFile { path, identity, .. } = self.first();
        let accesses = Accesses::again(first, ops, threads);
        let stretch = |end: &usize| Stretch { file: 0, end: *end, is_last: true, within: first };
        Several {
            files: vec![SeveralFile {
                path: path.clone(),
                identity: *identity,
                range: first,
                header: Header::default(),
            }],
            stretches: accesses.ends.iter().map(stretch).collect(),
            ends: (1..=accesses.threads).collect(),
            accesses,
        }
    }

    /// Of all files together.
    pub(crate) fn reached(&self, consumed_percent: u32, page_bytes: u64, looks_every: u64) -> Reached {
        let mut starts = vec![0; self.files.len() + 1];
        self.stretches().for_each(|(stretch, part)| starts[stretch.file + 1] += part.spans.len());
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let (mut next, mut sorted) = (starts.clone(), vec![Span::default(); self.accesses.list.len()]);
        for (stretch, part) in self.stretches() {
            let at = next[stretch.file];
            sorted[at..at + part.spans.len()].copy_from_slice(part.spans);
            next[stretch.file] += part.spans.len();
        }
        let mut all = Reached { bytes: 0, block_bytes: 0, pages: 0 };
        for of in starts.windows(2) {
            let own = &mut sorted[of[0]..of[1]];
            own.sort_unstable();
            let mut union = Union::new(consumed_percent, page_bytes, looks_every);
            own.iter().for_each(|span| union.add(*span));
            let Reached { bytes, block_bytes, pages } = union.reached();
            all.bytes += bytes;
            all.block_bytes += block_bytes;
            all.pages += pages;
        }
        all
    }
}

/// The first `ops` accesses that a job replays.
///
/// # Errors
/// There is no such trace, it is another one by now, or its accesses do not fit the job.
pub(crate) fn accesses(job: &Job) -> Result<Accesses, String> {
    let of = trace(job)?;
    let (mut accesses, _, mut headers) = shared_out(job, |access| Ok((access.file == of.file).then_some(0)))?;
    accesses.header = headers.of(0);
    match accesses.list.iter().find(|it| !job.range.covers(it) || it.bytes > job.block_bytes) {
        Some(Span { offset, bytes }) => Err(format!(
            "the trace has an access of {bytes} bytes at {offset}, outside of what the job allows: it was recorded of a \
             larger file"
        )),
        None => Ok(accesses),
    }
}

/// The same of several files.
///
/// # Errors
/// As above, or of a file that the job does not name.
pub(crate) fn several(job: &Job) -> Result<Several, String> {
    let of = trace(job)?;
    let mut places = Vec::new();
    for (at, file) in of.files.iter().enumerate() {
        let place = file.place as usize;
        if place >= FILES_MAX {
            return Err(format!("the job names file {place} of the trace, which has at most {FILES_MAX}"));
        }
        places.resize(places.len().max(place + 1), None);
        if places[place].replace(at).is_some() {
            return Err(format!("the job names file {place} of the trace twice"));
        }
    }
    let (accesses, files, mut headers) = shared_out(job, |access| {
        let file = places.get(access.file as usize).copied().flatten().ok_or_else(|| {
            format!("the trace has accesses of file {} of its table, which the job does not name", access.file)
        })?;
        let Access { offset, bytes, .. } = access;
        // No sum of what an access says overflows.
        if offset + bytes > of.files[file].bytes || *bytes > job.block_bytes {
            return Err(format!(
                "the trace has an access of {bytes} bytes at {offset} of {}, which has {} bytes",
                of.files[file].path, of.files[file].bytes
            ));
        }
        Ok(Some(file as u32))
    })?;
    let (mut stretches, mut ends) = (Vec::new(), Vec::new());
    for at in 0..accesses.ends.len() {
        let own = share(&accesses.ends, at);
        let mut end = own.start;
        for same in files[own].chunk_by(|a, b| a == b) {
            let within = hull(&accesses.list[end..end + same.len()]);
            end += same.len();
            stretches.push(Stretch { file: same[0] as usize, end, is_last: false, within });
        }
        ends.push(stretches.len());
    }
    let mut closed = HashSet::new();
    for at in (0..ends.len()).rev() {
        for stretch in stretches[share(&ends, at)].iter_mut().rev() {
            stretch.is_last = closed.insert((at % accesses.threads, stretch.file));
        }
    }
    let file = |(at, it): (usize, &ReplayedFile)| SeveralFile {
        path: PathBuf::from(&it.path),
        identity: it.identity,
        range: Span { offset: 0, bytes: it.bytes },
        header: headers.of(at),
    };
    Ok(Several { files: of.files.iter().enumerate().map(file).collect(), accesses, stretches, ends })
}

/// The first `ops` accesses of what is picked, each with the file that it is picked as. A job of one thread makes them in the order
/// of the trace; otherwise each thread makes those of its threads. Then the trace is read twice: whose an access is, is known
/// when all are, and memory for them is there once.
fn shared_out(
    job: &Job,
    pick: impl Fn(&Access) -> Result<Option<u32>, String>,
) -> Result<(Accesses, Vec<u32>, Headers), String> {
    let is_several = !trace(job)?.files.is_empty();
    let (mut list, mut files) = (Vec::new(), Vec::new());
    if job.threads == 1 {
        let headers = first_ones(job, &pick, |access, file| {
            list.push(span(access));
            files.extend(is_several.then_some(file));
        })?;
        return Ok((Accesses::of_one_thread(list.into()), files, headers));
    }
    let mut overlaps = Overlaps::default();
    first_ones(job, &pick, |access, _| overlaps.add(access.thread, access.bytes))?;
    let threads = overlaps.at_most(job.threads);
    let ends: Vec<usize> = threads.ends.iter().map(|it| *it as usize).collect();
    let mut next: Vec<usize> = (0..ends.len()).map(|at| share(&ends, at).start).collect();
    let all = ends.last().copied().unwrap_or(0);
    (list, files) = (vec![Span::default(); all], vec![0; if is_several { all } else { 0 }]);
    let mut is_other = false;
    let headers = first_ones(job, &pick, |access, file| {
        let at = &mut next[threads.share(access.thread)];
        match list.get_mut(*at) {
            Some(place) => *place = span(access),
            None => is_other = true,
        }
        files.get_mut(*at).into_iter().for_each(|place| *place = file);
        *at += 1;
    })?;
    match is_other {
        // Its digest says so, too, unless it changed back.
        true => Err(CHANGED.into()),
        false => Ok((Accesses::new(list.into(), ends.into(), threads.count as usize), files, headers)),
    }
}

const CHANGED: &str = "the trace is not the one that the job names: it changed meanwhile";

fn first_ones(
    job: &Job,
    pick: impl Fn(&Access) -> Result<Option<u32>, String>,
    mut each: impl FnMut(&Access, u32),
) -> Result<Headers, String> {
    let (mut picked, mut headers) = (0, Headers::default());
    read(trace(job)?, |access| {
        if picked < job.ops
            && let Some(file) = pick(&access)?
        {
            picked += 1;
            headers.add(file, &access);
            each(&access, file);
        }
        Ok(())
    })?;
    enough(picked, job).map(|()| headers)
}

fn span(access: &Access) -> Span {
    Span { offset: access.offset, bytes: access.bytes }
}

fn trace(job: &Job) -> Result<&TraceOf, String> {
    job.trace.as_ref().ok_or_else(|| "the job is a replay without a trace".into())
}

fn enough(accesses: u64, job: &Job) -> Result<(), String> {
    match accesses {
        few if few < job.ops => {
            Err(format!("the trace has {few} accesses of what is read, and the job asks for {}", job.ops))
        }
        _ => Ok(()),
    }
}

fn read(of: &TraceOf, mut each: impl FnMut(Access) -> Result<(), String>) -> Result<(), String> {
    let unreadable = |error: io::Error| format!("the trace: {error}");
    if !std::fs::metadata(&of.path).map_err(unreadable)?.is_file() {
        return Err("the trace is no regular file".into());
    }
    let file = File::open(&of.path).map_err(unreadable)?;
    let refused = |why: Refused| format!("the trace: {why}");
    let mut reader = Reader::new(BufReader::new(file)).map_err(refused)?;
    while let Some(access) = reader.next_access().map_err(refused)? {
        each(access)?;
    }
    match reader.digest().map_err(refused)? == of.digest {
        true => Ok(()),
        false => Err(CHANGED.into()),
    }
}

#[cfg(test)]
mod tests {
    use planted::Random;

    use super::*;

    #[test]
    fn out_of_memory_that_holds_all_of_them_accesses_are_what_they_are_one_by_one_and_out_of_less_an_error() {
        let file: Vec<u8> = (0..10_000).map(|it: u32| (it * 7 / 5) as u8).collect();
        let mut random = Random(3);
        for _ in 0..50 {
            let base = random.below(5000) as usize;
            let (first, end) = (base as u64, file.len() as u64);
            let spans: Vec<Span> = (0..random.below(9))
                .map(|_| {
                    let offset = first + random.below(end - first);
                    Span { offset, bytes: random.below(end - offset + 1) }
                })
                .collect();
            let accesses = Accesses::of_one_thread(spans.clone().into());
            let within = |memory: InMemory| {
                let mut lent: Vec<Vec<u8>> = Vec::new();
                accesses.of(0, 0).each_in(memory, |it| lent.push(it.to_vec())).map(|()| lent)
            };
            let memory = InMemory { bytes: &file[base..], base: first };
            let expected: Vec<Vec<u8>> = spans.iter().map(|it| memory.part(*it).unwrap().to_vec()).collect();
            assert_eq!(within(memory).unwrap(), expected);
            let Some(end) = spans.iter().map(Span::end).max().filter(|it| *it > first) else { continue };
            let start = spans.iter().map(|it| it.offset).min().unwrap();
            assert!(within(InMemory { bytes: &file[base..end as usize - 1], base: first }).is_err());
            assert!(within(InMemory { bytes: &file[start as usize + 1..], base: start + 1 }).is_err());
        }
    }

    #[test]
    fn the_header_of_a_mapped_file_is_what_is_read_by_calls_before_its_first_touch() {
        let mut headers = Headers::default();
        let call = |offset: u64, bytes: u64| Access::call(9, offset, bytes);
        let touch = |page: u64| Access { via: Via::Mapping, ..call(page * 4096, 4096) };
        for (file, access) in [(2, call(0, 100)), (0, call(0, 8)), (2, call(24, 16)), (2, touch(7)), (2, call(9, 9))] {
            headers.add(file, &access);
        }
        (0..100).for_each(|at| headers.add(3, &call(at, 1)));
        headers.add(3, &touch(0));
        let span = |offset: u64, bytes: u64| Span { offset, bytes };
        assert_eq!(headers.of(2)[..], [span(0, 100), span(24, 16)]);
        assert_eq!(headers.of(0)[..], [], "one that is not mapped has none");
        assert_eq!((headers.of(1).len(), headers.of(3).len(), headers.of(99).len()), (0, HEADER_CALLS_MAX, 0));
    }

    #[test]
    fn own_work_takes_as_long_whether_one_thread_makes_nearly_all_accesses_or_all_make_as_many() {
        let of = |shares: &[[usize; 2]]| Accesses::planted(shares).work_ps_per_byte(1_000_000);
        assert_eq!(of(&[[100, 0]]), 1_000_000);
        assert_eq!(of(&[[2, 100]]), 1_000_000, "the others are at work meanwhile");
        assert_eq!(of(&[[50, 50]]), 2_000_000);
        assert_eq!(of(&[[50, 50], [50, 0]]), 1_000_000);
        assert_eq!(Accesses::default().work_ps_per_byte(7), 0);
        assert_eq!(of(&[[0, 0]]), 0);
    }
}
