//! What the file of a program says of itself (elf(5)): whether it was built by Go. The file is anybody's, so every number in it
//! may be wrong. Only files of this machine's byte order are read, which is what it can execute.

use std::{
    io,
    mem::{offset_of, size_of},
};

/// Of more entries of a table, and of more bytes of notes or names, nothing is looked at.
const ENTRIES: usize = 1024;
const TEXT: usize = 64 << 10;

/// Where the numbers stand in files of one word size.
struct Layout {
    /// Bytes of an address.
    word: usize,
    programs: Table,
    sections: Table,
    /// Of the section with the sections' names, in the header.
    names: usize,
    /// In an entry for a part of the program: its offset and its size in the file. Its kind comes first.
    program: [usize; 2],
    /// The same of a section. Where its name begins comes first.
    section: [usize; 2],
}

/// In the header: where a table begins, what an entry takes, and how many there are.
struct Table {
    at: usize,
    entry: usize,
    count: usize,
    /// An entry that is smaller is none.
    least: usize,
}

macro_rules! layout {
    ($word:expr, $header:ident, $program:ident, $section:ident) => {
        Layout {
            word: $word,
            programs: Table {
                at: offset_of!(libc::$header, e_phoff),
                entry: offset_of!(libc::$header, e_phentsize),
                count: offset_of!(libc::$header, e_phnum),
                least: size_of::<libc::$program>(),
            },
            sections: Table {
                at: offset_of!(libc::$header, e_shoff),
                entry: offset_of!(libc::$header, e_shentsize),
                count: offset_of!(libc::$header, e_shnum),
                least: size_of::<libc::$section>(),
            },
            names: offset_of!(libc::$header, e_shstrndx),
            program: [offset_of!(libc::$program, p_offset), offset_of!(libc::$program, p_filesz)],
            section: [offset_of!(libc::$section, sh_offset), offset_of!(libc::$section, sh_size)],
        }
    };
}

const WIDE: Layout = layout!(8, Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr);
const NARROW: Layout = layout!(4, Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr);

/// Whether Go built it: by the note with its build id, which is loaded with the program, or by the section that
/// `go version -m` reads, which is there without a build id too. `read` gives so many bytes from an offset on, or fewer where
/// the file ends.
///
/// # Errors
/// What `read` says; a file that is none of a program is no error.
pub fn is_go(read: impl Fn(u64, usize) -> io::Result<Vec<u8>>) -> io::Result<bool> {
    let header = read(0, size_of::<libc::Elf64_Ehdr>())?;
    let Some(layout) = layout_of(&header) else { return Ok(false) };
    for part in entries(&layout.programs, layout, &header, &read)? {
        if number(&part, 0, 4) == Some(u64::from(libc::PT_NOTE))
            && has_note_of_go(&text(layout.program, layout, &part, &read)?)
        {
            return Ok(true);
        }
    }
    let sections = entries(&layout.sections, layout, &header, &read)?;
    let named = number(&header, layout.names, 2).and_then(|it| sections.get(it as usize));
    let Some(names) = named.map(|it| text(layout.section, layout, it, &read)).transpose()? else { return Ok(false) };
    let is_named = |section: &Vec<u8>| {
        let at = number(section, 0, 4).map_or(usize::MAX, |it| it as usize);
        names.get(at..).is_some_and(|it| it.starts_with(b".go.buildinfo\0"))
    };
    Ok(sections.iter().any(is_named))
}

fn layout_of(header: &[u8]) -> Option<&'static Layout> {
    let order = if cfg!(target_endian = "little") { libc::ELFDATA2LSB } else { libc::ELFDATA2MSB };
    let is_ours = header.starts_with(b"\x7fELF") && header.get(libc::EI_DATA) == Some(&order);
    match *header.get(libc::EI_CLASS).filter(|_| is_ours)? {
        libc::ELFCLASS64 => Some(&WIDE),
        libc::ELFCLASS32 => Some(&NARROW),
        _ => None,
    }
}

/// Of so many bytes; `None` where they do not lie within.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let mut wide = [0; 8];
    let found = bytes.get(at..at.checked_add(size)?)?;
    let into = if cfg!(target_endian = "little") { &mut wide[..size] } else { &mut wide[8 - size..] };
    into.copy_from_slice(found);
    Some(u64::from_ne_bytes(wide))
}

type Read<'a> = &'a dyn Fn(u64, usize) -> io::Result<Vec<u8>>;

fn entries(of: &Table, layout: &Layout, header: &[u8], read: Read) -> io::Result<Vec<Vec<u8>>> {
    let at = number(header, of.at, layout.word).unwrap_or(0);
    let [entry, count] = [of.entry, of.count].map(|it| number(header, it, 2).unwrap_or(0) as usize);
    if at == 0 || entry < of.least || entry > TEXT {
        return Ok(Vec::new());
    }
    let bytes = read(at, entry * count.min(ENTRIES).min((16 * TEXT) / entry))?;
    Ok(bytes.chunks_exact(entry).map(<[u8]>::to_vec).collect())
}

/// What an entry of a table refers to.
fn text([offset, size]: [usize; 2], layout: &Layout, entry: &[u8], read: Read) -> io::Result<Vec<u8>> {
    match (number(entry, offset, layout.word), number(entry, size, layout.word)) {
        (Some(offset), Some(size)) => read(offset, usize::try_from(size).unwrap_or(usize::MAX).min(TEXT)),
        _ => Ok(Vec::new()),
    }
}

/// Notes follow each other: the sizes of a name and of a text, a kind, then both, each filled up to four bytes.
fn has_note_of_go(mut notes: &[u8]) -> bool {
    // cmd/link/internal/ld/elf.go: ELF_NOTE_GO_NAME, ELF_NOTE_GOBUILDID_TAG.
    const NAME: &[u8] = b"Go\0\0";
    const BUILD_ID: u64 = 4;
    loop {
        let [name, text, kind] = [0, 4, 8].map(|at| number(notes, at, 4));
        let (Some(name), Some(text), Some(kind)) = (name, text, kind) else { return false };
        let [name, text] = [name, text].map(|it| (it as usize).checked_next_multiple_of(4).unwrap_or(usize::MAX));
        let Some(rest) = notes.get(12..) else { return false };
        if kind == BUILD_ID && name == NAME.len() && rest.starts_with(NAME) {
            return true;
        }
        let Some(rest) = rest.get(name.saturating_add(text)..) else { return false };
        notes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(file: &[u8]) -> bool {
        let read = |at: u64, size: usize| {
            let from = usize::try_from(at).unwrap_or(usize::MAX).min(file.len());
            Ok(file[from..from.saturating_add(size).min(file.len())].to_vec())
        };
        is_go(read).unwrap()
    }

    fn put(file: &mut Vec<u8>, at: usize, size: usize, value: u64) {
        let bytes = value.to_ne_bytes();
        let bytes = if cfg!(target_endian = "little") { &bytes[..size] } else { &bytes[8 - size..] };
        file.resize(file.len().max(at + size), 0);
        file[at..at + size].copy_from_slice(bytes);
    }

    fn note(name: &[u8], kind: u32, text: &[u8]) -> Vec<u8> {
        let mut note: Vec<u8> =
            [name.len() as u32, text.len() as u32, kind].iter().flat_map(|it| it.to_ne_bytes()).collect();
        for part in [name, text] {
            note.extend(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    /// A file with these notes, and with one section of this name beside that of the names.
    fn program(layout: &Layout, notes: &[u8], section: &str) -> Vec<u8> {
        let order = if cfg!(target_endian = "little") { libc::ELFDATA2LSB } else { libc::ELFDATA2MSB };
        let class = if layout.word == 8 { libc::ELFCLASS64 } else { libc::ELFCLASS32 };
        let mut file = b"\x7fELF".to_vec();
        file.extend([class, order]);
        let (programs, sections, at_notes, at_names) = (0x100, 0x200, 0x400, 0x800);
        let tables = [(&layout.programs, programs, 1), (&layout.sections, sections, 2)];
        for (table, at, count) in tables {
            put(&mut file, table.at, layout.word, at as u64);
            put(&mut file, table.entry, 2, table.least as u64);
            put(&mut file, table.count, 2, count);
        }
        put(&mut file, layout.names, 2, 0);
        put(&mut file, programs, 4, libc::PT_NOTE.into());
        put(&mut file, programs + layout.program[0], layout.word, at_notes as u64);
        put(&mut file, programs + layout.program[1], layout.word, notes.len() as u64);
        let names = format!("\0{section}\0");
        put(&mut file, sections + layout.section[0], layout.word, at_names as u64);
        put(&mut file, sections + layout.section[1], layout.word, names.len() as u64);
        put(&mut file, sections + layout.sections.least, 4, 1);
        file.resize(at_names, 0);
        file[at_notes..at_notes + notes.len()].copy_from_slice(notes);
        file.extend(names.as_bytes());
        file.resize(file.len() + 64, 0);
        file
    }

    #[test]
    fn a_program_of_go_is_told_by_its_note_or_by_its_section() {
        let gnu = note(b"GNU\0", 3, &[7; 20]);
        let with_id = [gnu.clone(), note(b"Go\0\0", 4, b"abc")].concat();
        let other_kind = [gnu.clone(), note(b"Go\0\0", 1, b"abc")].concat();
        for layout in [&WIDE, &NARROW] {
            assert!(of(&program(layout, &with_id, ".text")));
            assert!(of(&program(layout, &gnu, ".go.buildinfo")));
            for (notes, section) in [(&gnu, ".text"), (&other_kind, ".go.buildinfo2"), (&gnu, "x.go.buildinfo")] {
                assert!(!of(&program(layout, notes, section)), "{section}");
            }
        }
    }

    #[test]
    fn what_is_no_program_is_none_of_go() {
        for file in [&b""[..], b"#!/bin/sh", b"\x7fELF", b"\x7fELF\x02\x01", &[0xff; 200]] {
            assert!(!of(file), "{file:?}");
        }
        let me = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(!of(&me));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_and_no_answer() {
        assert!(is_go(|_, _| Err(io::Error::other("no"))).is_err());
    }

    proptest! {
        #[test]
        fn no_content_can_make_it_fail_or_read_without_end(
            changes in proptest::collection::vec((0usize..0x900, any::<u8>()), 0..40),
            wide in any::<bool>(),
        ) {
            let layout = if wide { &WIDE } else { &NARROW };
            let mut file = program(layout, &note(b"GNU\0", 3, &[7; 20]), ".text");
            for (at, byte) in changes {
                let at = at % file.len();
                file[at] = byte;
            }
            let asked = std::cell::Cell::new(0);
            let read = |at: u64, size: usize| {
                asked.set(asked.get() + size);
                let from = usize::try_from(at).unwrap_or(usize::MAX).min(file.len());
                Ok(file[from..from.saturating_add(size).min(file.len())].to_vec())
            };
            let _ = is_go(read);
            // Two tables, the notes of every part, and the names.
            prop_assert!(asked.get() <= 2 * 16 * TEXT + (ENTRIES + 2) * TEXT, "{}", asked.get());
        }
    }
}
