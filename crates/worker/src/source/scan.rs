//! Blocks in ascending order. Thread `t` has a contiguous share of the sequence of blocks 0, 1, 2 … `ops - 1`. The range
//! ends with a short block if need be; after it the sequence goes on at the start of the range.

use schema::Span;

use super::{Pattern, Source, Spans, Union};

#[derive(Debug, Clone)]
pub(crate) struct Scan {
    range: Span,
    block: u64,
    next: u64,
    /// Whole blocks from `next` on, before the range ends or the sequence does.
    whole: u64,
    /// Blocks after those.
    left: u64,
}

impl Scan {
    /// All blocks of a range once.
    pub(crate) fn once(range: Span, block: u64) -> Scan {
        Scan::blocks(range, block, 0, range.bytes.div_ceil(block))
    }

    /// `count` blocks from the one with number `first` in the range.
    fn blocks(range: Span, block: u64, first: u64, count: u64) -> Scan {
        let whole = (range.bytes / block).saturating_sub(first).min(count);
        Scan { range, block, next: range.offset + first * block, whole, left: count - whole }
    }

    /// Where no whole block is left: the short block at the end of the range, or the first of the next round. By value, so that
    /// the loop has the parts of a scan in registers.
    #[cold]
    fn turn(self) -> (Option<Span>, Scan) {
        let Some(after) = self.left.checked_sub(1) else { return (None, self) };
        match self.range.end() - self.next {
            0 => {
                let mut round = Scan::blocks(self.range, self.block, 0, self.left);
                (round.next(), round)
            }
            bytes => (Some(Span { offset: self.next, bytes }), Scan::blocks(self.range, self.block, 0, after)),
        }
    }
}

impl Iterator for Scan {
    type Item = Span;

    #[inline(always)]
    fn next(&mut self) -> Option<Span> {
        match self.whole.checked_sub(1) {
            Some(whole) => {
                let span = Span { offset: self.next, bytes: self.block };
                self.whole = whole;
                self.next += self.block;
                Some(span)
            }
            None => {
                let (span, next) = self.clone().turn();
                *self = next;
                span
            }
        }
    }
}

impl Spans for Scan {
    #[inline(always)]
    fn stretch(&mut self) -> Option<(Span, u64)> {
        if self.whole == 0 {
            return self.next().map(|span| (span, span.bytes));
        }
        let span = Span { offset: self.next, bytes: self.whole * self.block };
        (self.next, self.whole) = (span.end(), 0);
        Some((span, self.block))
    }
}

impl Source for Scan {
    fn of(pattern: &Pattern, thread: u32) -> Scan {
        let (ops, before) = pattern.share(thread);
        let round = pattern.range.bytes.div_ceil(pattern.block);
        Scan::blocks(pattern.range, pattern.block, before % round, ops)
    }

    fn covers_its_range(pattern: &Pattern) -> bool {
        pattern.ops.saturating_mul(pattern.block) >= pattern.range.bytes
    }

    fn reach(pattern: &Pattern, union: &mut Union) {
        let (base, block) = (pattern.range.offset, pattern.block);
        let covered = pattern.ops.saturating_mul(block).min(pattern.range.bytes);
        let end = base + covered;
        let mut offset = base;
        // Whole blocks leave no gap, so that all but the last are one interval. One by one, a pass over 40 GiB in blocks
        // of 64 bytes would be 671 million of them.
        let joined = covered.saturating_sub(1) / block * block;
        if pattern.consumed_percent == 100 && joined > 0 {
            offset += joined;
            union.add_joined(base, Span { offset: offset - block, bytes: block });
        }
        while offset < end {
            union.add(Span { offset, bytes: block.min(end - offset) });
            offset += block;
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::{Condition, Workload};

    use super::{super::tests::*, *};

    /// What is computed of a record counts the same bytes.
    #[test]
    fn a_condition_knows_the_bytes_of_its_scan() {
        for (bytes, block, ops) in [(10, 4, 5), (10, 4, 3), (10, 4, 2), (8, 4, 7), (3, 4, 5), (10, 1, 25)] {
            let range = Span { offset: 0, bytes };
            let condition =
                Condition { workload: Workload::Overwrite, block_bytes: block, range, ops, ..Condition::plain(bytes) };
            let pattern = pattern(Workload::Overwrite, (0, bytes), block, ops, 2);
            assert_eq!(condition.pass_bytes(), pattern.bytes() as f64, "{pattern:?}");
        }
    }

    #[test]
    fn a_scan_ends_with_a_short_block_and_starts_over() {
        let pattern = pattern(Workload::Scan, (100, 10), 4, 5, 1);
        let spans: Vec<(u64, u64)> = Scan::of(&pattern, 0).map(|span| (span.offset, span.bytes)).collect();
        assert_eq!(spans, [(100, 4), (104, 4), (108, 2), (100, 4), (104, 4)]);
    }

    #[test]
    fn the_stretches_of_a_scan_have_its_blocks_in_their_order() {
        for (range, block, ops, threads) in
            [((100, 10), 4, 5, 1), ((0, 8), 4, 7, 1), ((3, 3), 8, 4, 1), ((0, 40), 4, 25, 3)]
        {
            let pattern = pattern(Workload::Scan, range, block, ops, threads);
            for thread in 0..threads {
                let mut stretched = Vec::new();
                let mut scan = Scan::of(&pattern, thread);
                while let Some((stretch, bytes)) = scan.stretch() {
                    let offsets = (stretch.offset..stretch.end()).step_by(bytes as usize);
                    stretched.extend(offsets.map(|offset| Span { offset, bytes }));
                }
                assert_eq!(stretched, Scan::of(&pattern, thread).collect::<Vec<_>>(), "{pattern:?}");
            }
        }
    }

    #[test]
    fn threads_share_a_scan_without_gap_or_overlap() {
        for (ops, threads) in [(7, 2), (7, 3), (2, 3), (25, 4)] {
            let pattern = pattern(Workload::Scan, (0, 10), 4, ops, threads);
            let alone = Pattern { threads: 1, ..pattern.clone() };
            assert_eq!(offsets::<Scan>(&pattern), offsets::<Scan>(&alone), "{ops} blocks over {threads} threads");
        }
    }
}
