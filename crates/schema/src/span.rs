//! A part of a file.

use serde::{Deserialize, Serialize};

/// A window on the file, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    pub offset: u64,
    pub bytes: u64,
}

impl Span {
    /// In line: a worker's timed loop asks it for each block, from another crate.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    /// Whether all of another window lies in this one.
    pub fn covers(&self, other: &Span) -> bool {
        self.offset <= other.offset && other.end() <= self.end()
    }
}
