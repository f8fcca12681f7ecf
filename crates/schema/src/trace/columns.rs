//! What both directions share: the columns of each version, whole numbers as bytes, and runs.

use super::{Access, Via};

/// A column of a block; it has an entry for every run.
pub(super) struct Column {
    pub(super) name: &'static str,
    /// The first version that has it; in older ones it is 0 for every run.
    since: u32,
}

const fn column(name: &'static str, since: u32) -> Column {
    Column { name, since }
}

/// All columns in their order; `Run::numbers` has theirs in the same one.
///
/// `distance` is from the end of the last access of that file (from 0 for the first one), `gap` from the end of one access of
/// the run to the start of the next.
const COLUMNS: [Column; NUMBERS] = [
    column("file", 1),
    column("count", 1),
    column("distance", 1),
    column("length", 1),
    column("gap", 1),
    column("thread", 2),
    column("via", 2),
];
pub(super) const NUMBERS: usize = 7;

/// Those of a version.
pub(super) fn of(version: u32) -> &'static [Column] {
    let newer = COLUMNS.iter().position(|it| it.since > version).unwrap_or(NUMBERS);
    &COLUMNS[..newer]
}

/// A block has no more runs.
pub(super) const RUNS_MAX: usize = 65_536;
/// Of one number.
pub(super) const NUMBER_BYTES_MAX: usize = 10;

/// Accesses of one file, one thread, one way and one length, at constant distances.
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
        let is_alike = Access { offset: last.offset, ..access } == last;
        let goes_on = is_alike && (self.count == 1 || gap == self.gap);
        if goes_on {
            (self.count, self.gap) = (self.count + 1, gap);
        }
        goes_on
    }

    /// Of every column, where the access before of this file ended at `end`.
    pub(super) fn numbers(&self, end: u64) -> [u64; NUMBERS] {
        let Access { file, offset, bytes, thread, via } = self.first;
        // Both are below 2^63.
        let distance = offset as i64 - end as i64;
        let via = match via {
            Via::Call => 0,
            Via::Mapping => 1,
        };
        [file.into(), self.count - 1, folded(distance), bytes, folded(self.gap), thread.into(), via]
    }
}

/// What the column `via` says; nothing for what it never says.
pub(super) fn via(number: u64) -> Option<Via> {
    match number {
        0 => Some(Via::Call),
        1 => Some(Via::Mapping),
        _ => None,
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
