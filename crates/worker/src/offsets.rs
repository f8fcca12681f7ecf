//! Which bytes a pass reads, in which order: the PRNG that all runtimes share and the iterators over spans.
//! It is specified in docs/FORMATS.md ("Offsets"), and the vectors in the tests below are the ones printed there.
//! It knows nothing of files: a pattern is the same for every method, which is what makes arms comparable.
//!
//! **The PRNG** is SplitMix64: 64 bits of state; each output adds `0x9E3779B97F4A7C15` to the state and mixes a copy of
//! it: `z = (z ^ z>>30) * 0xBF58476D1CE4E5B9`, `z = (z ^ z>>27) * 0x94D049BB133111EB`, `z ^ z>>31`, all modulo 2⁶⁴.
//! **A slot** out of `slots` is the high half of the 128-bit product `output * slots`: one multiplication, no division.
//! **Threads** share `ops` as evenly as possible; the first `ops % threads` of them make one more. In `random`, thread
//! `t` (from 0, also when it is the only one) starts its own PRNG at the first output of a PRNG started at `seed + t`.

use schema::{Span, Workload, protocol::Job};

/// SplitMix64 (Steele, Lea, Flood 2014): a few cycles for an output, any seed will do, trivial to write in any
/// language.
#[derive(Debug, Clone, Copy)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    #[inline(always)]
    pub fn output(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `slots`. The bias of at most `slots / 2⁶⁴` is far below anything that could be measured.
    #[inline(always)]
    pub fn slot(&mut self, slots: u64) -> u64 {
        ((u128::from(self.output()) * u128::from(slots)) >> 64) as u64
    }
}

/// The spans of one pass, of all its threads.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
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
}

impl Pattern {
    /// The pattern of a job whose range and block are not empty.
    pub fn new(job: &Job) -> Pattern {
        Pattern {
            workload: job.workload,
            range: job.range,
            block: job.block_bytes.min(job.range.bytes),
            ops: job.ops,
            aligned: job.aligned,
            threads: job.threads,
            consumed_percent: job.consumed_percent,
            seed: job.seed,
        }
    }

    /// The number of places where a random block may begin, and the distance between them.
    ///
    /// Aligned blocks begin at multiples of the block, counted from the start of the range; a tail shorter than a
    /// block is never read. Unaligned blocks begin at any byte from which a whole block fits.
    pub fn slots(&self) -> (u64, u64) {
        match self.aligned {
            true => ((self.range.bytes / self.block).max(1), self.block),
            false => (self.range.bytes - self.block + 1, 1),
        }
    }

    /// How many blocks thread `thread` reads, and how many the threads before it read together.
    pub fn share(&self, thread: u32) -> (u64, u64) {
        let (threads, thread) = (u64::from(self.threads), u64::from(thread));
        let (each, rest) = (self.ops / threads, self.ops % threads);
        (each + u64::from(thread < rest), each * thread + thread.min(rest))
    }

    /// The spans of `scan`: thread `thread`'s contiguous share of the sequence of blocks 0, 1, 2 … `ops - 1`. The range
    /// ends with a short block if need be; after it the sequence goes on at the start of the range.
    pub fn scan(&self, thread: u32) -> Scan {
        let (ops, first) = self.share(thread);
        let blocks = self.range.bytes.div_ceil(self.block);
        let start = self.range.offset;
        let next = start + first % blocks * self.block;
        Scan { next, start, end: self.range.end(), block: self.block, left: ops }
    }

    /// The spans of `random` for one thread.
    pub fn random(&self, thread: u32) -> Random {
        let (left, _) = self.share(thread);
        let (slots, stride) = self.slots();
        let seed = SplitMix64::new(self.seed.wrapping_add(u64::from(thread))).output();
        Random { prng: SplitMix64::new(seed), slots, stride, base: self.range.offset, bytes: self.block, left }
    }

    /// What the pass reaches of the file, computed from its offsets outside the timed phases. `looks_every` is the distance
    /// between the bytes that the consume looks at, from the first of each block: 1 for all of them, at most a page.
    ///
    /// Blocks are taken in the order of their offsets. Both what they cover and the pages of it are then intervals of
    /// ascending starts and ends, so that each adds what lies beyond the one before it.
    pub fn reached(&self, page_bytes: u64, looks_every: u64) -> Reached {
        let looks_every = looks_every.min(page_bytes);
        let last_look = |offset: u64, bytes: u64| offset + (bytes - 1) / looks_every * looks_every;
        let consumed = |bytes: u64| (u128::from(bytes) * u128::from(self.consumed_percent) / 100) as u64;
        let mut union = Union { page_bytes, bytes: Covered::default(), pages: Covered::default() };
        let add = |union: &mut Union, offset: u64, bytes: u64| match consumed(bytes) {
            0 => {}
            bytes => union.add(offset, offset + bytes, last_look(offset, bytes)),
        };
        let (base, block) = (self.range.offset, self.block);
        if self.workload.is_ascending() {
            let covered = self.ops.saturating_mul(block).min(self.range.bytes);
            let mut offset = base;
            // Whole blocks leave no gap, so that all but the last are one interval. One by one, a pass over 40 GiB in blocks
            // of 64 bytes would be 671 million of them.
            let joined = covered.saturating_sub(1) / block * block;
            if self.consumed_percent == 100 && joined > 0 {
                offset += joined;
                union.add(base, offset, last_look(offset - block, block));
            }
            while offset < base + covered {
                add(&mut union, offset, block.min(base + covered - offset));
                offset += block;
            }
        } else {
            let (slots, stride) = self.slots();
            // One bit per slot, or eight bytes per operation: whatever is smaller, because it is the worker's memory.
            match slots.div_ceil(64) <= self.ops {
                true => self.slots_by_bitmap(slots, stride, |slot| add(&mut union, base + slot * stride, block)),
                false => self.slots_by_sorting(stride, |slot| add(&mut union, base + slot * stride, block)),
            }
        }
        Reached { bytes: union.bytes.counted, pages: union.pages.counted }
    }

    fn random_slots(&self, stride: u64) -> impl Iterator<Item = u64> {
        let base = self.range.offset;
        (0..self.threads).flat_map(|thread| self.random(thread)).map(move |span| (span.offset - base) / stride)
    }

    /// Every slot once, ascending.
    fn slots_by_bitmap(&self, slots: u64, stride: u64, mut each: impl FnMut(u64)) {
        let mut bitmap = vec![0u64; slots.div_ceil(64) as usize];
        for slot in self.random_slots(stride) {
            bitmap[(slot / 64) as usize] |= 1 << (slot % 64);
        }
        for (index, mut word) in bitmap.into_iter().enumerate() {
            while word != 0 {
                each(index as u64 * 64 + u64::from(word.trailing_zeros()));
                word &= word - 1;
            }
        }
    }

    /// Every slot in ascending order, as often as it was drawn.
    fn slots_by_sorting(&self, stride: u64, each: impl FnMut(u64)) {
        let mut slots: Vec<u64> = self.random_slots(stride).collect();
        slots.sort_unstable();
        slots.into_iter().for_each(each);
    }
}

/// What a pass reaches of its file: each byte and each page once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    /// Of blocks, as far as they are consumed.
    pub bytes: u64,
    /// In which a byte lies that the consume looks at.
    pub pages: u64,
}

struct Union {
    page_bytes: u64,
    bytes: Covered,
    pages: Covered,
}

impl Union {
    /// The bytes from `start` to `end`, of which the consume looks at none behind the one at `last_look`.
    fn add(&mut self, start: u64, end: u64, last_look: u64) {
        self.bytes.add(start, end);
        self.pages.add(start / self.page_bytes, last_look / self.page_bytes + 1);
    }
}

/// The length of a union of intervals whose starts and ends ascend.
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

/// Blocks in ascending order, starting over at the end of the range.
#[derive(Debug, Clone)]
pub struct Scan {
    next: u64,
    start: u64,
    end: u64,
    block: u64,
    left: u64,
}

impl Iterator for Scan {
    type Item = Span;

    #[inline(always)]
    fn next(&mut self) -> Option<Span> {
        self.left = self.left.checked_sub(1)?;
        let span = Span { offset: self.next, bytes: self.block.min(self.end - self.next) };
        self.next = if span.end() == self.end { self.start } else { span.end() };
        Some(span)
    }
}

/// Blocks of one size at random places.
#[derive(Debug, Clone)]
pub struct Random {
    prng: SplitMix64,
    slots: u64,
    stride: u64,
    base: u64,
    bytes: u64,
    left: u64,
}

impl Iterator for Random {
    type Item = Span;

    #[inline(always)]
    fn next(&mut self) -> Option<Span> {
        self.left = self.left.checked_sub(1)?;
        Some(Span { offset: self.base + self.prng.slot(self.slots) * self.stride, bytes: self.bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(workload: Workload, range: (u64, u64), block: u64, ops: u64, threads: u32) -> Pattern {
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
        }
    }

    fn offsets(spans: impl Iterator<Item = Span>) -> Vec<u64> {
        spans.map(|span| span.offset).collect()
    }

    #[test]
    fn splitmix64_gives_the_published_outputs() {
        // For seed 1234567: the vector that circulates with the reference implementation (Vigna, splitmix64.c).
        let outputs = |seed| {
            let mut prng = SplitMix64::new(seed);
            [prng.output(), prng.output(), prng.output()]
        };
        assert_eq!(outputs(1234567), [6457827717110365317, 3203168211198807973, 9817491932198370423]);
        assert_eq!(outputs(0), [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]);
    }

    #[test]
    fn the_vectors_of_the_documentation_hold() {
        let pattern = |range, block, aligned| Pattern { aligned, ..pattern(Workload::Random, range, block, 12, 2) };
        // Seed 42, two threads, six blocks each; thread 0 has the same offsets when it is alone.
        let aligned = pattern((0, 1 << 20), 4096, true);
        assert_eq!(offsets(aligned.random(0)), [356352, 999424, 507904, 69632, 708608, 69632]);
        assert_eq!(offsets(aligned.random(1)), [884736, 114688, 262144, 229376, 540672, 602112]);
        let unaligned = pattern((8192, 1_000_003), 64, false);
        assert_eq!(offsets(unaligned.random(0)), [351463, 963881, 494512, 75545, 685067, 75698]);
        assert_eq!(offsets(unaligned.random(1)), [851896, 121316, 261321, 227205, 527456, 585764]);
        // seed + t wraps, and a range may be larger than 4 GiB.
        let large = Pattern { seed: u64::MAX, threads: 3, ..pattern((0, 1 << 40), 64, true) };
        assert_eq!(offsets(large.random(1)), [717374697280, 770990867904, 425647494336, 721734503552]);
    }

    #[test]
    fn a_scan_ends_with_a_short_block_and_starts_over() {
        let spans: Vec<(u64, u64)> =
            pattern(Workload::Scan, (100, 10), 4, 5, 1).scan(0).map(|span| (span.offset, span.bytes)).collect();
        assert_eq!(spans, [(100, 4), (104, 4), (108, 2), (100, 4), (104, 4)]);
    }

    #[test]
    fn threads_share_a_scan_without_gap_or_overlap() {
        for (ops, threads) in [(7, 2), (7, 3), (2, 3), (25, 4)] {
            let pattern = pattern(Workload::Scan, (0, 10), 4, ops, threads);
            let shared: Vec<u64> = (0..threads).flat_map(|thread| offsets(pattern.scan(thread))).collect();
            let alone = offsets(Pattern { threads: 1, ..pattern }.scan(0));
            assert_eq!(shared, alone, "{ops} blocks over {threads} threads");
        }
    }

    #[test]
    fn a_random_block_lies_within_the_range() {
        for aligned in [true, false] {
            for (bytes, block) in [(1, 1), (1, 64), (4097, 4096), (64, 64), (1000, 64)] {
                let pattern = Pattern { aligned, ..pattern(Workload::Random, (7, bytes), block, 500, 2) };
                for span in pattern.random(0).chain(pattern.random(1)) {
                    assert!(span.offset >= 7 && span.end() <= 7 + bytes, "{span:?} of {bytes} bytes");
                    assert!(!aligned || (span.offset - 7) % pattern.block == 0);
                }
            }
        }
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
                    let spans: Vec<Span> = match workload.is_ascending() {
                        true => (0..2).flat_map(|thread| pattern.scan(thread)).collect(),
                        false => (0..2).flat_map(|thread| pattern.random(thread)).collect(),
                    };
                    let mut reached = vec![false; (FIRST + bytes) as usize];
                    let mut pages = vec![false; (FIRST + bytes).div_ceil(page) as usize];
                    for span in spans {
                        let consumed = span.bytes * u64::from(percent) / 100;
                        reached[span.offset as usize..][..consumed as usize].fill(true);
                        for at in (0..consumed).step_by(every as usize) {
                            pages[((span.offset + at) / page) as usize] = true;
                        }
                    }
                    let count = |marks: &[bool]| marks.iter().filter(|&&it| it).count() as u64;
                    let counted = Reached { bytes: count(&reached), pages: count(&pages) };
                    assert_eq!(pattern.reached(page, every), counted, "{pattern:?}, pages of {page}, every {every}");
                    if workload == Workload::Random {
                        let (slots, stride) = pattern.slots();
                        let (mut marked, mut sorted) = (Vec::new(), Vec::new());
                        pattern.slots_by_bitmap(slots, stride, |slot| marked.push(slot));
                        pattern.slots_by_sorting(stride, |slot| sorted.push(slot));
                        sorted.dedup();
                        assert_eq!(marked, sorted, "{pattern:?}");
                    }
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
    fn small_random_blocks_reach_far_more_pages_than_their_bytes_would_fill() {
        // 8,192 blocks of 64 bytes over 64 MiB: their bytes would fill 128 pages.
        let pattern = Pattern { ops: 8192, ..pattern(Workload::Random, (0, 64 << 20), 64, 8192, 1) };
        let reached = pattern.reached(4096, 1);
        assert!(reached.bytes <= 8192 * 64);
        assert!((6000..=8192).contains(&reached.pages), "{reached:?}");
    }

    #[test]
    fn a_block_that_is_touched_reaches_the_page_of_its_first_byte() {
        // Ten bytes before the end of a page, six beyond it.
        let pattern = pattern(Workload::Scan, (4086, 16), 16, 1, 1);
        assert_eq!(pattern.reached(4096, 1), Reached { bytes: 16, pages: 2 });
        assert_eq!(pattern.reached(4096, 4096), Reached { bytes: 16, pages: 1 });
    }
}
