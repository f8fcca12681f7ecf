//! A log of fio (`write_iolog`), versions 2 and 3, and back to version 3. Version 3 has a time before each entry. Each job
//! writes a log of its own, and a job is one thread.

use std::{fmt, io::BufRead};

use schema::{
    Bytes,
    trace::{Access, Header},
};

use super::{Found, Lines, Wrong};

pub(super) const RECORDER: &str = "fio iolog";

/// Which version a log of fio is of, by its first line.
pub(super) fn version(first: &str) -> Option<u32> {
    let version = first.trim().strip_prefix("fio version ")?.strip_suffix(" iolog")?;
    version.parse().ok().filter(|it| matches!(it, 2 | 3))
}

/// Everything after the first line. It is always known as what it is.
pub(super) fn parse(version: u32, lines: &mut Lines<impl BufRead>, found: &mut Found) -> Result<bool, Wrong> {
    while let Some(line) = lines.next().map_err(|it| it.wrong)? {
        let mut words = line.split_ascii_whitespace();
        let wrong = || Wrong::Iolog { found: line.chars().take(80).collect() };
        let number = |word: Option<&str>| word.and_then(|it| it.parse::<u64>().ok()).ok_or_else(wrong);
        if line.trim().is_empty() {
            continue;
        }
        if version == 3 {
            number(words.next())?;
        }
        let (path, action) = (words.next().ok_or_else(wrong)?, words.next().ok_or_else(wrong)?);
        match action {
            "read" => {
                let (offset, bytes) = (number(words.next())?, number(words.next())?);
                match bytes {
                    0 => found.at_end(path),
                    _ => found.read(0, path, offset, bytes)?,
                }
            }
            // A trim takes bytes away, as a write does that replaces them.
            "write" | "trim" => {
                number(words.next())?;
                number(words.next())?;
                found.written(path);
            }
            "add" | "open" | "close" | "wait" | "sync" | "datasync" => {}
            _ => return Err(wrong()),
        }
    }
    Ok(true)
}

/// Why there is no iolog of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoIolog {
    /// Its words are separated by spaces, and this path has one.
    Path(String),
    /// Each access has the path of its file, so that a small trace may be a log of any size.
    TooLong,
}

impl std::error::Error for NoIolog {}

impl fmt::Display for NoIolog {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            NoIolog::Path(path) => write!(
                f,
                "an iolog cannot name {path:?}: its words are separated by spaces; give the file another name and record it \
                 again"
            ),
            NoIolog::TooLong => write!(
                f,
                "the iolog would be longer than {}, because each access in it has the path of its file; record a shorter time",
                Bytes(LOG_MAX as u64)
            ),
        }
    }
}

/// It is made in memory.
const LOG_MAX: usize = 2 << 30;

/// As fio replays it (`read_iolog`), without waiting between accesses.
///
/// # Errors
/// The trace cannot be written as an iolog.
pub fn write(header: &Header, accesses: impl Iterator<Item = Access>) -> Result<String, NoIolog> {
    let is_word = |it: &str| !it.contains(|it: char| it.is_whitespace() || it.is_control());
    if let Some(file) = header.files.iter().find(|it| !is_word(&it.path)) {
        return Err(NoIolog::Path(file.path.clone()));
    }
    let mut text = String::from("fio version 3 iolog\n");
    let all = |action: &str| -> String { header.files.iter().map(|it| format!("0 {} {action}\n", it.path)).collect() };
    text += &all("add");
    text += &all("open");
    for Access { file, offset, bytes, .. } in accesses {
        let path = &header.files[file as usize].path;
        text += &format!("0 {path} read {offset} {bytes}\n");
        if text.len() > LOG_MAX {
            return Err(NoIolog::TooLong);
        }
    }
    text += &all("close");
    Ok(text)
}
