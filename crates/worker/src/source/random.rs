//! Blocks of one size at random places. A slot out of `slots` is the high half of the 128-bit product `output * slots`: one
//! multiplication, no division. Thread `t` (from 0, also when it is the only one) starts its own PRNG at the first output of a
//! PRNG started at `seed + t`.

use schema::Span;

use super::{Pattern, Source, Spans, SplitMix64, Union};

#[derive(Debug, Clone)]
pub(crate) struct Random {
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

impl Spans for Random {}

impl Source for Random {
    fn of(pattern: &Pattern, thread: u32) -> Random {
        let (left, _) = pattern.share(thread);
        let (slots, stride) = slots(pattern);
        let seed = SplitMix64::new(pattern.seed.wrapping_add(u64::from(thread))).output();
        let prng = SplitMix64::new(seed);
        Random { prng, slots, stride, base: pattern.range.offset, bytes: pattern.block, left }
    }

    fn bytes(pattern: &Pattern) -> u64 {
        pattern.ops * pattern.block
    }

    fn reach(pattern: &Pattern, union: &mut Union) {
        let (slots, stride) = slots(pattern);
        let mut add = |slot| union.add(Span { offset: pattern.range.offset + slot * stride, bytes: pattern.block });
        // One bit per slot, or eight bytes per operation: whatever is smaller, because it is the worker's memory.
        match slots.div_ceil(64) <= pattern.ops {
            true => slots_by_bitmap(pattern, &mut add),
            false => slots_by_sorting(pattern, &mut add),
        }
    }
}

/// The number of places where a block may begin, and the distance between them.
///
/// Aligned blocks begin at multiples of the block, counted from the start of the range; a tail shorter than a block is never
/// read. Unaligned blocks begin at any byte from which a whole block fits.
fn slots(pattern: &Pattern) -> (u64, u64) {
    match pattern.aligned {
        true => ((pattern.range.bytes / pattern.block).max(1), pattern.block),
        false => (pattern.range.bytes - pattern.block + 1, 1),
    }
}

/// In the order in which they are drawn.
fn drawn(pattern: &Pattern) -> impl Iterator<Item = u64> {
    let (base, (_, stride)) = (pattern.range.offset, slots(pattern));
    let spans = (0..pattern.threads).flat_map(|thread| Random::of(pattern, thread));
    spans.map(move |span| (span.offset - base) / stride)
}

/// Every slot once, ascending.
fn slots_by_bitmap(pattern: &Pattern, mut each: impl FnMut(u64)) {
    let mut bitmap = vec![0u64; slots(pattern).0.div_ceil(64) as usize];
    for slot in drawn(pattern) {
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
fn slots_by_sorting(pattern: &Pattern, each: impl FnMut(u64)) {
    let mut slots: Vec<u64> = drawn(pattern).collect();
    slots.sort_unstable();
    slots.into_iter().for_each(each);
}

#[cfg(test)]
mod tests {
    use schema::Workload;

    use super::{super::tests::*, *};

    #[test]
    fn the_vectors_of_the_documentation_hold() {
        let pattern = |range, block, aligned| Pattern { aligned, ..pattern(Workload::Random, range, block, 12, 2) };
        let of = |pattern: &Pattern, thread| Random::of(pattern, thread).map(|it| it.offset).collect::<Vec<u64>>();
        // Seed 42, two threads, six blocks each; thread 0 has the same offsets when it is alone.
        let aligned = pattern((0, 1 << 20), 4096, true);
        assert_eq!(of(&aligned, 0), [356352, 999424, 507904, 69632, 708608, 69632]);
        assert_eq!(of(&aligned, 1), [884736, 114688, 262144, 229376, 540672, 602112]);
        let unaligned = pattern((8192, 1_000_003), 64, false);
        assert_eq!(of(&unaligned, 0), [351463, 963881, 494512, 75545, 685067, 75698]);
        assert_eq!(of(&unaligned, 1), [851896, 121316, 261321, 227205, 527456, 585764]);
        // seed + t wraps, and a range may be larger than 4 GiB.
        let large = Pattern { seed: u64::MAX, threads: 3, ..pattern((0, 1 << 40), 64, true) };
        assert_eq!(of(&large, 1), [717374697280, 770990867904, 425647494336, 721734503552]);
    }

    #[test]
    fn a_random_block_lies_within_the_range() {
        for aligned in [true, false] {
            for (bytes, block) in [(1, 1), (1, 64), (4097, 4096), (64, 64), (1000, 64)] {
                let pattern = Pattern { aligned, ..pattern(Workload::Random, (7, bytes), block, 500, 2) };
                for span in Random::of(&pattern, 0).chain(Random::of(&pattern, 1)) {
                    assert!(span.offset >= 7 && span.end() <= 7 + bytes, "{span:?} of {bytes} bytes");
                    assert!(!aligned || (span.offset - 7) % pattern.block == 0);
                }
            }
        }
    }

    #[test]
    fn both_ways_to_sort_slots_find_the_same_ones() {
        for (aligned, (bytes, block, ops)) in [true, false]
            .into_iter()
            .flat_map(|it| [(4097, 64, 20), (4097, 64, 2000), (90_000, 9000, 6)].map(|shape| (it, shape)))
        {
            let pattern = Pattern { aligned, ..pattern(Workload::Random, (4090, bytes), block, ops, 2) };
            let (mut marked, mut sorted) = (Vec::new(), Vec::new());
            slots_by_bitmap(&pattern, |slot| marked.push(slot));
            slots_by_sorting(&pattern, |slot| sorted.push(slot));
            sorted.dedup();
            assert_eq!(marked, sorted, "{pattern:?}");
        }
    }
}
