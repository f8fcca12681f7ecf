//! The types of the running kernel, as it describes them itself: Documentation/bpf/btf.rst.

use std::{fs, sync::OnceLock};

const KERNEL: &str = "/sys/kernel/btf/vmlinux";
const MAGIC: u16 = 0xeb9f;
/// Of a type: where its name is, what kind it is and how many members it has, and its size or another type.
const TYPE_BYTES: usize = 12;
const TYPEDEF: u32 = 8;

/// The number of the type that describes the arguments of a tracepoint. A program that names it may read what its arguments point
/// to like memory of its own. `None`: this kernel does not describe its types, or has no such tracepoint.
pub(super) fn tracepoint(name: &str) -> Option<u32> {
    static TYPES: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let types = TYPES.get_or_init(|| fs::read(KERNEL).ok()).as_deref()?;
    // include/trace/bpf_probe.h gives each tracepoint one of this name.
    typedef(types, &format!("btf_trace_{name}"))
}

/// The number of a typedef; the first type has number 1.
fn typedef(types: &[u8], name: &str) -> Option<u32> {
    let word = |at: usize| Some(u32::from_ne_bytes(*types.get(at..)?.first_chunk()?));
    let half = u16::from_ne_bytes(*types.first_chunk()?);
    let header = word(4)? as usize;
    let from_header = |at: usize| header.checked_add(word(at)? as usize);
    let (mut at, names) = (from_header(8)?, from_header(16)?);
    let end = at.checked_add(word(12)? as usize)?;
    for number in (half == MAGIC).then_some(1..)? {
        if at >= end {
            break;
        }
        let (named, info) = (word(at)? as usize, word(at + 4)?);
        let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        let is_it = || {
            let found = types.get(names.checked_add(named)?..)?;
            Some(found.starts_with(name.as_bytes()) && found.get(name.len()) == Some(&0))
        };
        if kind == TYPEDEF && is_it() == Some(true) {
            return Some(number);
        }
        at += TYPE_BYTES + following_bytes(kind, members)?;
    }
    None
}

/// What follows a type of a kind (include/uapi/linux/btf.h). `None`: a kind that is not known here.
fn following_bytes(kind: u32, members: usize) -> Option<usize> {
    Some(match kind {
        // A pointer, a forward declaration, a typedef, qualifiers, a function, a float, a type tag.
        2 | 7..=12 | 16 | 18 => 0,
        // An integer, a variable, a declaration tag.
        1 | 14 | 17 => 4,
        // An array; a structure, a union, a section, an enumeration of 64 bits.
        3 => 12,
        4 | 5 | 15 | 19 => 12 * members,
        // An enumeration, the arguments of a function.
        6 | 13 => 8 * members,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Types of a kind with so many members each, named so.
    fn types(of: &[(u32, usize, &str)]) -> Vec<u8> {
        let (mut section, mut names) = (Vec::new(), vec![0]);
        for &(kind, members, name) in of {
            let words = [names.len() as u32, kind << 24 | members as u32, 1];
            section.extend(words.iter().flat_map(|it| it.to_ne_bytes()));
            section.resize(section.len() + following_bytes(kind, members).unwrap(), 0xab);
            names.extend(name.bytes().chain([0]));
        }
        let header =
            [u32::from(MAGIC) | 1 << 16, 24, 0, section.len() as u32, section.len() as u32, names.len() as u32];
        let header = match cfg!(target_endian = "little") {
            true => header.iter().flat_map(|it| it.to_ne_bytes()).collect::<Vec<u8>>(),
            false => return Vec::new(),
        };
        [header, section, names].concat()
    }

    #[test]
    fn a_typedef_is_found_among_types_of_all_kinds_by_its_whole_name() {
        let kinds: Vec<(u32, usize, &str)> = (1..=19).map(|kind| (kind, 3, "enter")).filter(|it| it.0 != 8).collect();
        let all = [&kinds[..], &[(8, 0, "enter_other"), (8, 0, "enter"), (8, 0, "exit")]].concat();
        let found = types(&all);
        if found.is_empty() {
            println!("skipped: made for machines with little-endian numbers");
            return;
        }
        assert_eq!(typedef(&found, "enter"), Some(20));
        assert_eq!(typedef(&found, "exit"), Some(21));
        assert_eq!((typedef(&found, "ente"), typedef(&found, "enter_others")), (None, None));
        assert_eq!(typedef(&types(&[(8, 0, "exit"), (3, 0, "x")])[..30], "x"), None, "cut off");
    }

    #[test]
    fn a_kernel_that_describes_itself_describes_the_tracepoints_of_system_calls() {
        if !fs::exists(KERNEL).unwrap_or(false) {
            println!("skipped: this kernel has no {KERNEL}");
            return;
        }
        assert!(tracepoint("sys_enter").is_some() && tracepoint("sys_enter") != tracepoint("sys_exit"));
        assert_eq!(tracepoint("no_such_call"), None);
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_are_types_or_none(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            offsets in proptest::array::uniform4(any::<u32>()),
        ) {
            typedef(&bytes, "enter");
            let mut with_header = types(&[(8, 0, "other"), (4, 2, "enter")]);
            for (at, it) in [4, 8, 12, 16].into_iter().zip(offsets) {
                if let Some(place) = with_header.get_mut(at..at + 4) {
                    place.copy_from_slice(&it.to_ne_bytes());
                }
            }
            typedef(&with_header, "enter");
        }
    }
}
