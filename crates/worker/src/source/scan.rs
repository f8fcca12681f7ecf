//! Blocks in ascending order. Thread `t` has a contiguous share of the sequence of blocks 0, 1, 2 … `ops - 1`. The range
//! ends with a short block if need be; after it the sequence goes on at the start of the range.

use schema::Span;

use super::{Pattern, Source, Union};

#[derive(Debug, Clone)]
pub(crate) struct Scan {
    next: u64,
    start: u64,
    end: u64,
    block: u64,
    left: u64,
}

impl Scan {
    /// All blocks of a range once.
    pub(crate) fn once(range: Span, block: u64) -> Scan {
        let left = range.bytes.div_ceil(block);
        Scan { next: range.offset, start: range.offset, end: range.end(), block, left }
    }
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

impl Source for Scan {
    fn of(pattern: &Pattern, thread: u32) -> Scan {
        let (ops, before) = pattern.share(thread);
        let once = Scan::once(pattern.range, pattern.block);
        Scan { next: once.start + before % once.left * once.block, left: ops, ..once }
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
    use schema::Workload;

    use super::{super::tests::*, *};

    #[test]
    fn a_scan_ends_with_a_short_block_and_starts_over() {
        let pattern = pattern(Workload::Scan, (100, 10), 4, 5, 1);
        let spans: Vec<(u64, u64)> = Scan::of(&pattern, 0).map(|span| (span.offset, span.bytes)).collect();
        assert_eq!(spans, [(100, 4), (104, 4), (108, 2), (100, 4), (104, 4)]);
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
