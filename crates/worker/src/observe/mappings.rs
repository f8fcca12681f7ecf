//! Where files are mapped in the memory of each process.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::access::{FileId, MappingKind};

/// What is mapped at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mapped {
    pub file: FileId,
    /// Where in the file, in bytes.
    pub offset: u64,
    pub kind: MappingKind,
    /// Every touch of one of its pages is seen.
    pub exact: bool,
}

impl Mapped {
    /// The same, so many bytes further on.
    fn after(self, bytes: u64) -> Mapped {
        Mapped { offset: self.offset.wrapping_add(bytes), ..self }
    }
}

/// From the first address to the one after the last; ranges do not overlap each other.
type Ranges = BTreeMap<u64, (u64, Mapped)>;

/// By process.
#[derive(Default)]
pub(super) struct Mappings(HashMap<i32, Ranges>);

impl Mappings {
    /// fork(2).
    pub(super) fn copy(&mut self, from: i32, to: i32) {
        let copy = self.0.get(&from).cloned().unwrap_or_default();
        self.0.insert(to, copy);
    }

    /// The process ends, or executes another program.
    pub(super) fn forget(&mut self, process: i32) {
        self.0.remove(&process);
    }

    pub(super) fn map(&mut self, process: i32, from: u64, bytes: u64, mapped: Mapped) {
        if bytes > 0 {
            self.0.entry(process).or_default().insert(from, (from.saturating_add(bytes), mapped));
        }
    }

    pub(super) fn unmap(&mut self, process: i32, from: u64, bytes: u64) {
        let Some(ranges) = self.0.get_mut(&process) else { return };
        let to = from.saturating_add(bytes);
        for (start, (end, mapped)) in overlapping(ranges, from, to) {
            ranges.remove(&start);
            // What lies before and behind stays.
            if start < from {
                ranges.insert(start, (from, mapped));
            }
            if end > to {
                ranges.insert(to, (end, mapped.after(to - start)));
            }
        }
    }

    /// The files that are mapped in this range of addresses.
    pub(super) fn files(&self, process: i32, from: u64, bytes: u64) -> BTreeSet<FileId> {
        let there = self.0.get(&process).map(|it| overlapping(it, from, from.saturating_add(bytes)));
        there.unwrap_or_default().into_iter().map(|(_, (_, mapped))| mapped.file).collect()
    }

    /// What is mapped at an address.
    pub(super) fn at(&self, process: i32, address: u64) -> Option<Mapped> {
        let (start, (_, mapped)) = overlapping(self.0.get(&process)?, address, address.saturating_add(1)).pop()?;
        Some(mapped.after(address - start))
    }
}

/// Those that have a byte within.
fn overlapping(ranges: &Ranges, from: u64, to: u64) -> Vec<(u64, (u64, Mapped))> {
    let mut found: Vec<_> =
        ranges.range(..to).rev().map(|(&start, &it)| (start, it)).take_while(|&(_, (end, _))| end > from).collect();
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_mapped_is_what_a_list_of_single_bytes_would_say(
            steps in proptest::collection::vec((any::<bool>(), 0u64..40, 1u64..12, 0usize..3), 1..30),
        ) {
            let mut mappings = Mappings::default();
            let kind = MappingKind { shared: true, writable: false, executable: false, populate: false };
            let mut bytes: [Option<Mapped>; 64] = [None; 64];
            for (maps, from, length, file) in steps {
                let there = from as usize..(from + length) as usize;
                mappings.unmap(1, from, length);
                bytes[there.clone()].fill(None);
                if maps {
                    let mapped = Mapped { file: FileId(file), offset: 100, kind, exact: false };
                    mappings.map(1, from, length, mapped);
                    bytes[there].iter_mut().zip(0..).for_each(|(byte, at)| *byte = Some(mapped.after(at)));
                }
            }
            for (at, expected) in bytes.into_iter().enumerate() {
                let seen: Vec<FileId> = mappings.files(1, at as u64, 1).into_iter().collect();
                prop_assert_eq!(seen, Vec::from_iter(expected.map(|it| it.file)));
                prop_assert_eq!(mappings.at(1, at as u64), expected);
            }
        }
    }
}
