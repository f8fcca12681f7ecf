//! How the page cache came to hold a file. It decides how large the folios are, and these decide what a mapping costs: a
//! fault on a folio of 2 MiB maps all of it with one entry of the page table, a fault among single pages maps up to 16
//! (mm/filemap.c, `filemap_map_pages`).

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{Bytes, units::expected};

/// For states that live in the page cache: how the pages got there. Written the same in TOML, JSON, on the command line and
/// in reports: `sequential`, `written=128 KiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Fill {
    /// As the file was when the run began. The first, because every other fill ends it.
    Found,
    Sequential,
    Random,
    Faults,
    HugePages,
    /// A copy of the file, written in blocks of so many bytes.
    Written(u64),
    /// Folios as a read-ahead window of so many bytes leaves them.
    ReadAhead(u64),
}

/// The fills without a size: word, and what it means.
const PLAIN: [(Fill, &str, &str); 5] = [
    (Fill::Found, "found", "as the file was in the page cache when the run began, if all of it was"),
    (Fill::Sequential, "sequential", "evicted, then read(2) in ascending order, 1 MiB requests"),
    (Fill::Random, "random", "evicted, then every page read under POSIX_FADV_RANDOM: folios of one page"),
    (Fill::Faults, "faults", "evicted, then every page touched in ascending order through a mapping"),
    (Fill::HugePages, "huge-pages", "as faults, with MADV_HUGEPAGE before the first touch: folios of 2 MiB"),
];

type SizedFill = (fn(u64) -> Fill, &'static str, &'static str);

/// The fills with a size, the same way.
const SIZED: [SizedFill; 2] = [
    (Fill::Written, "written", "a copy of the file, written by write(2) in blocks of that size, synced, not evicted"),
    (Fill::ReadAhead, "read-ahead", "folios as a read-ahead window of that size leaves them, made by writing a copy"),
];

/// Larger blocks make no larger folios.
const SIZE_MAX: u64 = 64 << 20;

impl Fill {
    /// Word and meaning of every fill, in the order they are listed to people.
    pub fn all() -> impl Iterator<Item = (String, &'static str)> {
        let sized = SIZED.iter().map(|(_, word, about)| (format!("{word}=SIZE"), *about));
        PLAIN.iter().map(|(_, word, about)| (word.to_string(), *about)).chain(sized)
    }

    /// What is done, in a sentence.
    pub fn about(self) -> &'static str {
        match self.size() {
            Some((row, _)) => SIZED[row].2,
            None => PLAIN.iter().find(|it| it.0 == self).expect("every plain fill is in the table").2,
        }
    }

    /// Folios are of one size, wherever in the file they lie.
    pub fn is_uniform(self) -> bool {
        match self {
            Fill::Random | Fill::ReadAhead(_) | Fill::Written(_) => true,
            Fill::Found | Fill::Sequential | Fill::Faults | Fill::HugePages => false,
        }
    }

    /// It needs a copy of the file, written in blocks of so many bytes.
    pub fn copied_by(self) -> Option<u64> {
        self.size().map(|(_, bytes)| bytes)
    }

    /// The row of `SIZED`, and the size.
    fn size(self) -> Option<(usize, u64)> {
        match self {
            Fill::Written(bytes) => Some((0, bytes)),
            Fill::ReadAhead(bytes) => Some((1, bytes)),
            _ => None,
        }
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.size() {
            Some((row, bytes)) => f.pad(&format!("{}={}", SIZED[row].1, Bytes(bytes).exact())),
            None => f.pad(PLAIN.iter().find(|it| it.0 == *self).expect("every plain fill is in the table").1),
        }
    }
}

impl FromStr for Fill {
    type Err = String;

    fn from_str(text: &str) -> Result<Fill, String> {
        if let Some((fill, ..)) = PLAIN.iter().find(|(_, word, _)| *word == text) {
            return Ok(*fill);
        }
        let (word, size) = text.split_once('=').unwrap_or((text, ""));
        let Some((fill, ..)) = SIZED.iter().find(|it| it.1 == word) else {
            let words: Vec<String> = Fill::all().map(|(word, _)| word).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            return Err(format!("unknown fill {text:?}; {}", expected(text, &words)));
        };
        match size.parse::<Bytes>() {
            Ok(Bytes(bytes @ 1..=SIZE_MAX)) => Ok(fill(bytes)),
            Ok(_) => Err(format!("fill {text:?}: the size lies between 1 B and {}", Bytes(SIZE_MAX))),
            Err(_) => Err(format!("fill {text:?} needs a size: {word}=128KiB")),
        }
    }
}

impl TryFrom<String> for Fill {
    type Error = String;
    fn try_from(text: String) -> Result<Fill, String> {
        text.parse()
    }
}

impl From<Fill> for String {
    fn from(fill: Fill) -> String {
        fill.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_is_read_back_as_it_is_shown() {
        let sized = [1, 4096, 4097, 128 << 10, SIZE_MAX].map(|it| [Fill::Written(it), Fill::ReadAhead(it)]);
        for fill in PLAIN.iter().map(|it| it.0).chain(sized.into_iter().flatten()) {
            assert_eq!(fill.to_string().parse(), Ok(fill));
        }
        assert_eq!("written=128KiB".parse(), Ok(Fill::Written(128 << 10)));
    }

    #[test]
    fn a_fill_that_is_none_is_refused() {
        for text in ["", "randon", "written", "written=", "written=0", "written=1 GiB", "sequential=4 KiB"] {
            assert!(text.parse::<Fill>().is_err(), "{text}");
        }
    }
}
