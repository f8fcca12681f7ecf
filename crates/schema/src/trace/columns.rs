//! What both directions share: the names of the columns, whole numbers as bytes, and runs.

use super::Access;

/// The columns of a block, in their order; each has an entry for every run.
///
/// `distance` is from the end of the last access of that file (from 0 for the first one), `gap` from the end of one access of
/// the run to the start of the next.
pub(super) const NAMES: [&str; 5] = ["file", "count", "distance", "length", "gap"];

/// A block has no more runs.
pub(super) const RUNS_MAX: usize = 65_536;
/// Of one number.
pub(super) const NUMBER_BYTES_MAX: usize = 10;

/// Accesses of one file and one length, at constant distances.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) first: Access,
    pub(super) count: u64,
    /// From the end of one to the start of the next.
    pub(super) gap: i64,
}

impl Run {
    pub(super) fn of(first: Access) -> Run {
        Run { first, count: 1, gap: 0 }
    }

    /// The access of a place. Nothing where it cannot be.
    pub(super) fn at(&self, index: u64) -> Option<Access> {
        let stride = i128::from(self.gap) + i128::from(self.first.bytes);
        let offset = i128::from(self.first.offset) + stride.checked_mul(i128::from(index))?;
        let access = Access { offset: u64::try_from(offset).ok()?, ..self.first };
        access.is_possible().then_some(access)
    }

    /// Takes one more access, if it goes on as those before.
    pub(super) fn takes(&mut self, access: Access) -> bool {
        let Some(last) = self.at(self.count - 1) else { return false };
        let gap = access.offset as i64 - (last.offset + last.bytes) as i64;
        let goes_on = access.file == last.file && access.bytes == last.bytes && (self.count == 1 || gap == self.gap);
        if goes_on {
            (self.count, self.gap) = (self.count + 1, gap);
        }
        goes_on
    }
}

/// Seven bits a byte, the lowest first; the highest bit says that another byte follows (LEB128).
pub(super) fn put(column: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        column.push(number as u8 | 0x80);
        number >>= 7;
    }
    column.push(number as u8);
}

/// The number that a column begins with, taken off it. Nothing where there is none that 64 bits can hold.
pub(super) fn take(column: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for at in 0..NUMBER_BYTES_MAX {
        let byte = *column.get(at)?;
        let bits = u64::from(byte & 0x7f);
        let shifted = bits << (7 * at);
        if shifted >> (7 * at) != bits {
            return None;
        }
        number |= shifted;
        if byte < 0x80 {
            *column = &column[at + 1..];
            return Some(number);
        }
    }
    None
}

/// Small numbers of either sign as small numbers: 0, -1, 1, -2, 2 … are 0, 1, 2, 3, 4 …
pub(super) fn folded(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

pub(super) fn unfolded(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
