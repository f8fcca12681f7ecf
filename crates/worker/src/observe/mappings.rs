//! Where files are mapped in the memory of each process.

use std::collections::{BTreeMap, HashMap};

use super::{
    access::{FileId, MappingKind},
    advice::Advice,
};

/// What is mapped at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mapped {
    pub file: FileId,
    /// Where in the file, in bytes.
    pub offset: u64,
    pub kind: MappingKind,
    /// The last advice about the order of touches.
    pub in_order: Option<Advice>,
    /// The last that brought pages in.
    pub brought_in: Option<Advice>,
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
        // What lies before and behind stays.
        for start in within(ranges, from, bytes) {
            ranges.remove(&start);
        }
    }

    /// Advice for a range of addresses: the files that are mapped there, and of each the bytes that did not have it before. `of_file`:
    /// what so many bytes from the beginning of a mapping have of its file.
    pub(super) fn advise(
        &mut self,
        process: i32,
        from: u64,
        bytes: u64,
        advice: Advice,
        of_file: impl Fn(&Mapped, u64) -> u64,
    ) -> BTreeMap<FileId, u64> {
        let mut files = BTreeMap::new();
        let Some(ranges) = self.0.get_mut(&process) else { return files };
        for start in within(ranges, from, bytes) {
            let Some((end, mapped)) = ranges.get_mut(&start) else { continue };
            let reached = files.entry(mapped.file).or_default();
            let place = match () {
                () if advice.is_about_order() => &mut mapped.in_order,
                () if advice.brings_in() => &mut mapped.brought_in,
                () => continue,
            };
            let is_new = place.replace(advice) != Some(advice);
            if is_new {
                *reached += of_file(mapped, *end - start);
            }
        }
        files
    }

    /// What is mapped at an address.
    pub(super) fn at(&self, process: i32, address: u64) -> Option<Mapped> {
        let (start, (_, mapped)) = overlapping(self.0.get(&process)?, address, address.saturating_add(1)).pop()?;
        Some(mapped.after(address - start))
    }
}

/// The starts of those that lie in so many bytes from an address, after those that cross a border of it were split there.
fn within(ranges: &mut Ranges, from: u64, bytes: u64) -> Vec<u64> {
    let to = from.saturating_add(bytes);
    for border in [from, to] {
        if let Some((&start, &(end, mapped))) = ranges.range(..border).next_back()
            && border < end
        {
            ranges.insert(start, (border, mapped));
            ranges.insert(border, (end, mapped.after(border - start)));
        }
    }
    ranges.range(from..to).map(|it| *it.0).collect()
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
                    let mapped = Mapped { file: FileId(file), offset: 100, kind, in_order: None, brought_in: None, exact: false };
                    mappings.map(1, from, length, mapped);
                    bytes[there].iter_mut().zip(0..).for_each(|(byte, at)| *byte = Some(mapped.after(at)));
                }
            }
            for (at, expected) in bytes.into_iter().enumerate() {
                                prop_assert_eq!(mappings.at(1, at as u64), expected);
            }
        }
    }
}
