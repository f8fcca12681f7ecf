//! The consume's loop by itself, over bytes in the CPU caches. Loops in Rust and in other runtimes differ, and a comparison
//! across runtimes includes that difference.

use std::{io, time::Instant};

use schema::{Reading, Span, Workload, protocol::Job};

use crate::{
    access::Access,
    buffer::Buffer,
    drive,
    source::{Accesses, Pattern, SplitMix64},
};

/// Fits into every first-level cache.
const BYTES: u64 = 32 << 10;
/// Bytes of one stretch. The fastest stretch counts, because interference only makes others slower.
const STRETCH_BYTES: u64 = 1 << 20;
const STRETCHES: u32 = 8;

/// The name of the reading and its value; nothing where memory is short.
pub(crate) fn reading(job: &Job) -> Option<(String, Reading<f64>)> {
    let block = job.block_bytes.clamp(1, BYTES);
    let range = range_of(block);
    let mut buffer = Buffer::new(range.bytes as usize).ok()?;
    let mut words = SplitMix64::new(job.seed);
    for chunk in buffer.chunks_mut(8) {
        let word = words.output().to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
    let mut destination = Buffer::new(0).ok()?;
    let ops = (STRETCH_BYTES / block).max(1);
    let pattern = Pattern {
        workload: Workload::Scan,
        range,
        block,
        ops,
        aligned: true,
        threads: 1,
        consumed_percent: 100,
        seed: 0,
        accesses: Accesses::default(),
        work_ps_per_byte: 0,
    };
    let fastest = (0..STRETCHES).filter_map(|_| {
        let begun = Instant::now();
        let count = drive::pass(&mut RepeatedBytes(&buffer), &pattern, 0, job.consume, &mut destination).ok()?;
        Some(count.bytes as f64 / begun.elapsed().as_secs_f64().max(1e-9))
    });
    fastest.max_by(f64::total_cmp).map(|rate| ("loop_bytes_per_s".to_string(), Reading::Value(rate)))
}

/// As many blocks as fit: where a scan ends and begins anew it takes longer, and one of a single block does so at each.
fn range_of(block: u64) -> Span {
    Span { offset: 0, bytes: BYTES / block * block }
}

/// The same bytes again and again.
struct RepeatedBytes<'a>(&'a [u8]);

impl Access for RepeatedBytes<'_> {
    const PRIVATE: bool = true;

    #[inline(always)]
    fn view(&mut self, span: Span) -> io::Result<&[u8]> {
        Ok(std::hint::black_box(&self.0[span.offset as usize..span.end() as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_goes_over_many_small_blocks_before_it_begins_anew() {
        for (block, bytes) in [(1, 32 << 10), (64, 32 << 10), (5000, 30_000), (32 << 10, 32 << 10)] {
            assert_eq!(range_of(block), Span { offset: 0, bytes }, "{block}");
        }
    }
}
