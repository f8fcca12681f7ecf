//! Which bytes a pass reads or writes, in which order. A source is a file here and a line in `with_source!`; it is an
//! iterator over the accesses of one thread. It does not depend on the method, which is what makes arms comparable.
//! What all runtimes share is specified in docs/FORMATS.md ("Offsets").
//!
//! **Threads** share `ops` as evenly as possible; the first `ops % threads` of them make one more.

mod prng;
mod random;
mod replay;
mod scan;

use std::io;

use schema::{Span, Workload, protocol::Job};

pub(crate) use prng::SplitMix64;
pub(crate) use random::Random;
pub(crate) use replay::{Accesses, HEADER_BYTES_MAX, List, Replay, Several, SeveralFile, accesses, several};
pub(crate) use scan::Scan;

/// A part of a file that lies in memory from `base` on.
#[derive(Clone, Copy)]
pub(crate) struct InMemory<'a> {
    pub bytes: &'a [u8],
    pub base: u64,
}

impl<'a> InMemory<'a> {
    /// # Errors
    /// It is not all of it there.
    #[inline(always)]
    pub(crate) fn part(self, span: Span) -> io::Result<&'a [u8]> {
        // Before the memory is beyond its end, too.
        let (start, length) = (span.offset.wrapping_sub(self.base) as usize, span.bytes as usize);
        let all = self.bytes.len();
        // Asked this way round the bound is the same for every block of a pass, and one comparison is left in the loop.
        if length > all || start > all - length {
            return Err(out_of_range());
        }
        // SAFETY: start + length is at most the length of the memory.
        Ok(unsafe { self.bytes.get_unchecked(start..start + length) })
    }
}

#[cold]
pub(crate) fn out_of_range() -> io::Error {
    io::Error::other("a span outside of the prepared range: a bug in faultline")
}

/// Accesses in their order.
pub(crate) trait Spans: Iterator<Item = Span> + Sized {
    /// As many of the next ones as lie side by side and are equally long: where they lie together, and how many bytes each has.
    #[inline(always)]
    fn stretch(&mut self) -> Option<(Span, u64)> {
        self.next().map(|span| (span, span.bytes))
    }

    /// The bytes of each. A program that scans a mapping does not hold each block against its end: the check took 4.2 ns for
    /// copies of 64 bytes where 3.8 do.
    #[inline(always)]
    fn each_in(mut self, memory: InMemory<'_>, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        while let Some((stretch, bytes)) = self.stretch() {
            let lent = memory.part(stretch)?;
            // Known when this is compiled where accesses come one by one: without a division, which takes as long as some of
            // them.
            if stretch.bytes == bytes {
                each(lent);
            } else {
                lent.chunks_exact(bytes.max(1) as usize).for_each(&mut each);
            }
        }
        Ok(())
    }
}

impl Spans for std::iter::Copied<std::slice::Iter<'_, Span>> {}

/// The accesses of one thread, in their order. The timed loop is compiled once for each source: `next` allocates nothing and
/// reads no clock (`drive`).
pub(crate) trait Source: Spans + Sized {
    /// Accesses lie within the range of the pattern, and none is longer than its block.
    fn of(pattern: &Pattern, thread: u32) -> Self;

    /// Whether a pass surely reaches every byte of its range.
    fn covers_its_range(_: &Pattern) -> bool {
        false
    }

    /// Of all accesses, repetitions counted.
    fn bytes(pattern: &Pattern) -> u64 {
        all::<Self>(pattern).map(|span| span.bytes).sum()
    }

    /// Adds the accesses of all threads in the order of their offsets. As it is here it takes 16 bytes of memory for each.
    fn reach(pattern: &Pattern, union: &mut Union) {
        let mut spans: Vec<Span> = all::<Self>(pattern).collect();
        spans.sort_unstable();
        spans.into_iter().for_each(|span| union.add(span));
    }
}

/// Of one thread after the other.
fn all<S: Source>(pattern: &Pattern) -> impl Iterator<Item = Span> {
    (0..pattern.threads).flat_map(|thread| S::of(pattern, thread))
}

/// The table of sources. `$body` is compiled once for each of them, with `$source` as its type: the choice is made before
/// the first access, and costs none of them anything.
macro_rules! with_source {
    ($pattern:expr, $source:ident => $body:expr) => {{
        use schema::Workload as W;
        match $pattern.workload {
            W::Scan | W::Overwrite | W::Append | W::Update => {
                type $source = $crate::source::Scan;
                $body
            }
            W::Random | W::OverwriteRandom => {
                type $source = $crate::source::Random;
                $body
            }
            W::Replay => {
                type $source = $crate::source::Replay;
                $body
            }
            W::Command => unreachable!("a command has no blocks"),
        }
    }};
}
pub(crate) use with_source;

/// The accesses of one pass, of all its threads.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub workload: Workload,
    pub range: Span,
    /// Never larger than the range: a larger block is cut to it.
    pub block: u64,
    pub ops: u64,
    pub aligned: bool,
    pub threads: u32,
    /// Of each block, from its start; what is beyond is reached and not looked at.
    pub consumed_percent: u32,
    pub seed: u64,
    /// Of a replay: `ops` of them.
    pub accesses: Accesses,
    /// Of a replay: of own work after each access, for each of its bytes.
    pub work_ps_per_byte: u64,
}

/// Far less than a last-level cache, and more than 16 blocks of usual sizes.
const REHEARSED_BYTES: u64 = 1 << 20;

impl Pattern {
    /// The pattern of a job whose range and block are not empty, and the accesses that it replays.
    pub(crate) fn new(job: &Job, accesses: Accesses) -> Pattern {
        Pattern {
            workload: job.workload,
            range: job.range,
            block: job.block_bytes.min(job.range.bytes),
            ops: job.ops,
            aligned: job.aligned,
            threads: job.threads,
            consumed_percent: job.consumed_percent,
            seed: job.seed,
            work_ps_per_byte: accesses.work_ps_per_byte(job.own_work_ns),
            accesses,
        }
    }

    /// How many blocks thread `thread` reads, and how many the threads before it read together.
    pub(crate) fn share(&self, thread: u32) -> (u64, u64) {
        let (threads, thread) = (u64::from(self.threads), u64::from(thread));
        let (each, rest) = (self.ops / threads, self.ops % threads);
        (each + u64::from(thread < rest), each * thread + thread.min(rest))
    }

    /// How many of its accesses a rehearsal makes, of `ops` at most.
    pub(crate) fn rehearsed(&self, ops: u64) -> u64 {
        // What it leaves in the CPU caches is what the pass begins with. JVM and Python rehearse with another file.
        let few_bytes = (REHEARSED_BYTES / self.block.max(1)).max(self.threads.into());
        self.ops.min(ops).min(few_bytes)
    }

    /// For the rehearsal of a pass that reads, of about a mebibyte: no more accesses than `ops`, in a range of as many blocks, alike otherwise.
    /// What populates its range would take as long as in the pass itself.
    pub(crate) fn shortened(&self, ops: u64) -> Pattern {
        let ops = self.rehearsed(ops);
        if let Some(&first) = self.accesses.list().first() {
            // Others may lie far apart; so it is one of them, again and again.
            let accesses = Accesses::again(first, ops as usize, self.threads);
            return Pattern { ops, range: first, accesses, work_ps_per_byte: 0, ..self.clone() };
        }
        let bytes = self.range.bytes.min(ops.saturating_mul(self.block));
        Pattern { ops, range: Span { bytes, ..self.range }, ..self.clone() }
    }

    /// Whether a pass surely reaches every byte of its range.
    pub(crate) fn covers_its_range(&self) -> bool {
        with_source!(self, S => S::covers_its_range(self))
    }

    /// Of all accesses, repetitions counted.
    pub(crate) fn bytes(&self) -> u64 {
        with_source!(self, S => S::bytes(self))
    }

    /// What the pass reaches of the file, computed from its offsets outside the timed phases. `looks_every` is the distance
    /// between the bytes that the consume looks at, from the first of each block: 1 for all of them, at most a page.
    pub(crate) fn reached(&self, page_bytes: u64, looks_every: u64) -> Reached {
        let mut union = Union::new(self.consumed_percent, page_bytes, looks_every);
        with_source!(self, S => S::reach(self, &mut union));
        union.reached()
    }
}

/// What a pass reaches of its file: each byte and each page once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Of blocks, as far as they are consumed.
    pub bytes: u64,
    /// Of whole blocks.
    pub block_bytes: u64,
    /// In which a byte lies that the consume looks at.
    pub pages: u64,
}

/// What blocks cover together, when they are added in the order of their offsets: both their bytes and their pages are then
/// intervals of ascending starts, so that each adds what lies beyond those before it.
pub(crate) struct Union {
    consumed_percent: u32,
    page_bytes: u64,
    looks_every: u64,
    bytes: Covered,
    blocks: Covered,
    pages: Covered,
}

impl Union {
    fn new(consumed_percent: u32, page_bytes: u64, looks_every: u64) -> Union {
        let looks_every = looks_every.min(page_bytes);
        let [bytes, blocks, pages] = Default::default();
        Union { consumed_percent, page_bytes, looks_every, bytes, blocks, pages }
    }

    fn add(&mut self, block: Span) {
        let bytes = (u128::from(block.bytes) * u128::from(self.consumed_percent) / 100) as u64;
        self.blocks.add(block.offset, block.end());
        if bytes > 0 {
            self.add_consumed(block.offset, Span { bytes, ..block });
        }
    }

    /// Blocks without a gap between them, all of them consumed: from the start of the first to the end of `last`.
    fn add_joined(&mut self, first: u64, last: Span) {
        self.blocks.add(first, last.end());
        self.add_consumed(first, last);
    }

    fn add_consumed(&mut self, first: u64, last: Span) {
        let last_look = last.offset + (last.bytes - 1) / self.looks_every * self.looks_every;
        self.bytes.add(first, last.end());
        self.pages.add(first / self.page_bytes, last_look / self.page_bytes + 1);
    }

    fn reached(&self) -> Reached {
        Reached { bytes: self.bytes.counted, block_bytes: self.blocks.counted, pages: self.pages.counted }
    }
}

/// The length of a union of intervals whose starts ascend.
#[derive(Default)]
struct Covered {
    counted: u64,
    end: u64,
}

impl Covered {
    fn add(&mut self, start: u64, end: u64) {
        self.counted += end.saturating_sub(start.max(self.end));
        self.end = self.end.max(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn pattern(workload: Workload, range: (u64, u64), block: u64, ops: u64, threads: u32) -> Pattern {
        let range = Span { offset: range.0, bytes: range.1 };
        Pattern {
            workload,
            range,
            block: block.min(range.bytes),
            ops,
            aligned: true,
            threads,
            consumed_percent: 100,
            seed: 42,
            accesses: Accesses::default(),
            work_ps_per_byte: 0,
        }
    }

    pub(super) fn offsets<S: Source>(pattern: &Pattern) -> Vec<u64> {
        all::<S>(pattern).map(|span| span.offset).collect()
    }

    /// A source of a list, with nothing of its own: a scan from its end, in blocks that are not all of one length.
    struct Backwards(std::vec::IntoIter<Span>);

    impl Iterator for Backwards {
        type Item = Span;

        fn next(&mut self) -> Option<Span> {
            self.0.next()
        }
    }

    impl Spans for Backwards {}

    impl Source for Backwards {
        fn of(pattern: &Pattern, thread: u32) -> Backwards {
            let mut spans: Vec<Span> = scan::Scan::of(pattern, thread).collect();
            spans.reverse();
            Backwards(spans.into_iter())
        }
    }

    /// Every byte and every page marked, and the marks counted.
    fn marked(pattern: &Pattern, spans: impl Iterator<Item = Span>, page: u64, every: u64) -> Reached {
        let end = pattern.range.end();
        let [mut bytes, mut blocks] = [vec![false; end as usize], vec![false; end as usize]];
        let mut pages = vec![false; end.div_ceil(page) as usize];
        for span in spans {
            let consumed = span.bytes * u64::from(pattern.consumed_percent) / 100;
            bytes[span.offset as usize..][..consumed as usize].fill(true);
            blocks[span.offset as usize..][..span.bytes as usize].fill(true);
            for at in (0..consumed).step_by(every as usize) {
                pages[((span.offset + at) / page) as usize] = true;
            }
        }
        let count = |marks: &[bool]| marks.iter().filter(|&&it| it).count() as u64;
        Reached { bytes: count(&bytes), block_bytes: count(&blocks), pages: count(&pages) }
    }

    #[test]
    fn what_is_reached_is_what_marking_every_byte_counts() {
        const FIRST: u64 = 4090;
        let shapes = [(1, 1, 5), (4097, 64, 20), (4097, 64, 2000), (1000, 999, 3), (5000, 7, 300), (90_000, 9000, 6)];
        for (aligned, percent, page, every) in combinations([true, false], [100, 90, 10, 1], [512, 4096], [1, 512]) {
            for (bytes, block, ops) in shapes {
                for workload in [Workload::Scan, Workload::Random] {
                    let pattern = pattern(workload, (FIRST, bytes), block, ops, 2);
                    let pattern = Pattern { aligned, consumed_percent: percent, ..pattern };
                    let marked = with_source!(pattern, S => marked(&pattern, all::<S>(&pattern), page, every));
                    assert_eq!(pattern.reached(page, every), marked, "{pattern:?}, pages of {page}, every {every}");
                    let mut union = Union::new(percent, page, every);
                    // By sorting all accesses, as a source does that has no shorter way.
                    Backwards::reach(&pattern, &mut union);
                    let scanned = Pattern { workload: Workload::Scan, ..pattern.clone() };
                    assert_eq!(union.reached(), scanned.reached(page, every), "{pattern:?}, backwards");
                    assert_eq!(Backwards::bytes(&pattern), scanned.bytes());
                }
            }
        }
    }

    fn combinations(
        a: [bool; 2],
        b: [u32; 4],
        c: [u64; 2],
        d: [u64; 2],
    ) -> impl Iterator<Item = (bool, u32, u64, u64)> {
        let pairs = move |a, b| c.into_iter().flat_map(move |c| d.into_iter().map(move |d| (a, b, c, d)));
        a.into_iter().flat_map(move |a| b.into_iter().flat_map(move |b| pairs(a, b)))
    }

    #[test]
    fn a_rehearsal_has_a_range_of_its_few_blocks_within_that_of_the_pass() {
        for workload in [Workload::Scan, Workload::Random] {
            for (bytes, block, ops) in
                [(1 << 30, 4096, 9000), (1 << 30, 4096, 3), (100, 64, 9), (4097, 4096, 20), (7, 7, 1)]
            {
                for aligned in [true, false] {
                    let pass = Pattern { aligned, ..pattern(workload, (512, bytes), block, ops, 2) };
                    let few = pass.shortened(16);
                    assert_eq!(few.ops, ops.min(16));
                    assert_eq!(few.range, Span { offset: 512, bytes: bytes.min(few.ops * few.block) }, "{pass:?}");
                    let spans: Vec<Span> = with_source!(few, S => all::<S>(&few).collect());
                    assert_eq!(spans.len() as u64, few.ops);
                    assert!(spans.iter().all(|it| it.offset >= 512 && it.end() <= few.range.end()), "{few:?}");
                }
            }
        }
    }

    #[test]
    fn small_random_blocks_reach_far_more_pages_than_their_bytes_would_fill() {
        // 8,192 blocks of 64 bytes over 64 MiB: their bytes would fill 128 pages.
        let pattern = pattern(Workload::Random, (0, 64 << 20), 64, 8192, 1);
        let reached = pattern.reached(4096, 1);
        assert!(reached.bytes <= 8192 * 64);
        assert!((6000..=8192).contains(&reached.pages), "{reached:?}");
    }

    #[test]
    fn a_block_that_is_touched_reaches_the_page_of_its_first_byte() {
        // Ten bytes before the end of a page, six beyond it.
        let pattern = pattern(Workload::Scan, (4086, 16), 16, 1, 1);
        assert_eq!(pattern.reached(4096, 1), Reached { bytes: 16, block_bytes: 16, pages: 2 });
        assert_eq!(pattern.reached(4096, 4096), Reached { bytes: 16, block_bytes: 16, pages: 1 });
    }
}
