//! What happens to the bytes of a block, exactly as `schema::Consume` words it. Every checksum is a wrapping sum over
//! blocks, so that neither the order of blocks nor their distribution over threads shows in it.
//!
//! Consumers are types, not a `match`: the timed loop is compiled once for each of them. They look at bytes that are
//! lent to them and do not depend on where those came from, except for `copy`, which checks whether they are private
//! already.

use std::{
    hint::black_box,
    sync::atomic::{Ordering, compiler_fence},
};

use crate::buffer::Buffer;

/// Takes blocks, one after the other.
pub(crate) trait Consumer {
    /// `private`: the bytes are already in a buffer of this process, so a program that needs a copy has one.
    fn take(&mut self, bytes: &[u8], private: bool);
    fn checksum(self) -> u64;
    /// Bytes that were looked at, where that is not all that was taken.
    fn consumed(&self) -> Option<u64> {
        None
    }
}

/// The distance between the bytes that `touch` looks at.
const TOUCH_BYTES: usize = schema::Consume::Touch.looks_every() as usize;

/// One byte every 4096 bytes of a block, from its first.
#[derive(Default)]
pub(crate) struct Touch(u64);

impl Consumer for Touch {
    /// Of random accesses as many miss at once as fit into the processor's window, so those within a page have few instructions: the
    /// compiler unrolls a loop, and then counts its rounds before each.
    #[inline(always)]
    fn take(&mut self, bytes: &[u8], _: bool) {
        let Some(first) = bytes.first() else { return };
        self.0 = self.0.wrapping_add(u64::from(*first));
        if let Some(more) = bytes.get(TOUCH_BYTES..).filter(|it| !it.is_empty()) {
            self.0 = self.0.wrapping_add(touched(more));
        }
    }

    fn checksum(self) -> u64 {
        self.0
    }
}

/// Not cold because it is rare: what is called in a cold block leaves the registers of the loop to the loop.
#[cold]
#[inline(never)]
fn touched(bytes: &[u8]) -> u64 {
    bytes.iter().step_by(TOUCH_BYTES).map(|it| u64::from(*it)).sum()
}

/// All bytes, as 64-bit little-endian words counted from the start of the block; a tail is filled up with zeros.
///
/// How this compiles was read in the machine code, and compared with C. A long block is summed by a function of its
/// own, because only there LLVM can be relied on to use vector registers: within some of the loops around a system
/// call it added word by word, and a 4 KiB `pread` took 6 % longer than in C. A short block is summed in line, where
/// a call would show, and in plain registers: gathering the parts of a vector costs more than adding up 64 bytes.
#[derive(Default)]
pub(crate) struct Sum(u64);

/// From this size on, a call costs nothing that could be seen: at 512 bytes out of a mapping it was 6 %, because fewer
/// of those reads are under way at once.
const LONG: usize = 1024;

impl Consumer for Sum {
    #[inline(always)]
    fn take(&mut self, bytes: &[u8], _: bool) {
        let sum = if bytes.len() < LONG { sum_of_short(bytes) } else { sum_of_long(bytes) };
        self.0 = self.0.wrapping_add(sum);
    }

    fn checksum(self) -> u64 {
        self.0
    }
}

/// Most short blocks are one line of a processor's cache, which needs no loop: where lengths differ, it took 1.4 times as long.
#[inline(always)]
fn sum_of_short(bytes: &[u8]) -> u64 {
    let Some((first, more)) = bytes.split_first_chunk::<64>() else {
        let (words, tail) = bytes.as_chunks();
        let sum = sum_of_words(words);
        return if tail.is_empty() { sum } else { sum.wrapping_add(sum_of_rest(tail)) };
    };
    let mut sum = sum_of_words(first.as_chunks().0);
    if more.is_empty() {
        return sum;
    }
    let (lines, rest) = more.as_chunks::<64>();
    sum = sum.wrapping_add(sum_of_lines(lines));
    if rest.is_empty() { sum } else { sum.wrapping_add(sum_of_rest(rest)) }
}

/// Cold as `touched` is.
#[cold]
#[inline(never)]
fn sum_of_long(bytes: &[u8]) -> u64 {
    let (lines, rest) = bytes.as_chunks::<64>();
    sum_of_lines(lines).wrapping_add(sum_of_rest(rest))
}

/// Eight independent sums are added at the end: independent additions are as fast as memory.
#[inline(always)]
fn sum_of_lines(lines: &[[u8; 64]]) -> u64 {
    let mut lanes = [0u64; 8];
    for line in lines {
        for (lane, word) in lanes.iter_mut().zip(line.as_chunks().0) {
            *lane = lane.wrapping_add(u64::from_le_bytes(*word));
        }
    }
    lanes.into_iter().fold(0, u64::wrapping_add)
}

#[inline(always)]
fn sum_of_words(words: &[[u8; 8]]) -> u64 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

#[cold]
#[inline(never)]
fn sum_of_rest(rest: &[u8]) -> u64 {
    let (words, tail) = rest.as_chunks();
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    sum_of_words(words).wrapping_add(u64::from_le_bytes(last))
}

/// All bytes end in a private buffer. Bytes that a method read into its own buffer are there already: a second copy
/// would charge `read` for something no program does. The checksum is the first and the last byte of each copy, added
/// up.
pub(crate) struct CopyOut<'a> {
    destination: &'a mut Buffer,
    checksum: u64,
}

impl CopyOut<'_> {
    /// `destination` must hold a block, unless all bytes are private.
    pub(crate) fn new(destination: &mut Buffer) -> CopyOut<'_> {
        CopyOut { destination, checksum: 0 }
    }
}

impl Consumer for CopyOut<'_> {
    #[inline(always)]
    fn take(&mut self, bytes: &[u8], private: bool) {
        let copy = match private {
            true => bytes,
            false => {
                let destination = &mut self.destination[..bytes.len()];
                destination.copy_from_slice(bytes);
                // Only two bytes of the copy are looked at: without this the compiler might make only those two. A slice
                // that is handed through `black_box` goes through memory, which takes some ns of a copy of 64 bytes.
                compiler_fence(Ordering::SeqCst);
                &*destination
            }
        };
        if let (Some(first), Some(last)) = (copy.first(), copy.last()) {
            self.checksum = self.checksum.wrapping_add(u64::from(*first) + u64::from(*last));
        }
    }

    fn checksum(self) -> u64 {
        self.checksum
    }
}

/// Newlines are counted; their number is the checksum.
#[derive(Default)]
pub(crate) struct Lines(u64);

impl Consumer for Lines {
    #[inline(always)]
    fn take(&mut self, bytes: &[u8], _: bool) {
        self.0 = self.0.wrapping_add(memchr::memchr_iter(b'\n', bytes).count() as u64);
    }

    fn checksum(self) -> u64 {
        self.0
    }
}

/// All bytes, one at a time: what a loop over characters says, whatever the compiler makes of it.
#[derive(Default)]
pub(crate) struct SumBytes(u64);

impl Consumer for SumBytes {
    #[inline(always)]
    fn take(&mut self, bytes: &[u8], _: bool) {
        self.0 = bytes.iter().fold(self.0, |sum, byte| sum.wrapping_add(u64::from(*byte)));
    }

    fn checksum(self) -> u64 {
        self.0
    }
}

/// What a reader of lines does: UTF-8 is decoded and every line becomes a string of its own. A line that crosses the
/// end of a block becomes two. The only consume that allocates; that is what it is there to show.
#[derive(Default)]
pub(crate) struct DecodeLines(u64);

impl Consumer for DecodeLines {
    #[inline(always)]
    fn take(&mut self, bytes: &[u8], _: bool) {
        let mut lines = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            lines += u64::from(line.last() == Some(&b'\n'));
            black_box(String::from_utf8_lossy(line).into_owned());
        }
        self.0 = self.0.wrapping_add(lines);
    }

    fn checksum(self) -> u64 {
        self.0
    }
}

/// Only the first part of each block is looked at: a published mistake, not a way of saving time.
pub(crate) struct PartOfBlock<C> {
    pub percent: u64,
    pub bytes: u64,
    pub inner: C,
}

impl<C: Consumer> Consumer for PartOfBlock<C> {
    #[inline(always)]
    fn take(&mut self, bytes: &[u8], private: bool) {
        let part = &bytes[..(bytes.len() as u64 * self.percent / 100) as usize];
        self.bytes += part.len() as u64;
        self.inner.take(part, private);
    }

    fn checksum(self) -> u64 {
        self.inner.checksum()
    }

    fn consumed(&self) -> Option<u64> {
        Some(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checksum<C: Consumer>(mut consumer: C, blocks: &[&[u8]]) -> u64 {
        blocks.iter().for_each(|block| consumer.take(block, false));
        consumer.checksum()
    }

    #[test]
    fn touch_adds_the_first_byte_of_every_4096() {
        let mut bytes = vec![9; 8193];
        (bytes[0], bytes[4096], bytes[8192]) = (1, 20, 255);
        assert_eq!(checksum(Touch::default(), &[&bytes, &bytes[..1]]), 1 + 20 + 255 + 1);
        assert_eq!(checksum(Touch::default(), &[&bytes[..4096]]), 1);
    }

    #[test]
    fn sum_adds_little_endian_words_and_fills_the_tail_with_zeros() {
        assert_eq!(checksum(Sum::default(), &[&[1, 0, 0, 0, 0, 0, 0, 0, 5, 1]]), 1 + 5 + 256);
        assert_eq!(checksum(Sum::default(), &[&[0xFF; 8], &[2]]), 1, "the sum wraps");
        for length in (0..300).chain([1023, 1024, 1025, 1087, 4096, 4103]) {
            let bytes: Vec<u8> = (0..length).map(|index| (index * 31 + 7) as u8).collect();
            let plain = bytes.iter().enumerate().map(|(index, byte)| u64::from(*byte) << (8 * (index % 8)));
            assert_eq!(checksum(Sum::default(), &[&bytes]), plain.fold(0, u64::wrapping_add), "{length} bytes");
        }
    }

    #[test]
    fn copy_adds_the_ends_of_each_block_and_leaves_the_bytes_in_the_buffer() {
        let mut buffer = Buffer::new(3).unwrap();
        assert_eq!(checksum(CopyOut::new(&mut buffer), &[&[7], &[1, 2, 3]]), 7 + 7 + 1 + 3);
        assert_eq!(buffer[..3], [1, 2, 3]);
    }

    #[test]
    fn lines_counts_newlines() {
        assert_eq!(checksum(Lines::default(), &[b"a\nb\n\n", b"", b"no", b"\n"]), 4);
    }
}
