//! What `faultline advise` found out about a command before anything was timed: the file that matters to it, and how the command
//! reaches it. The accesses themselves lie in the trace, which is known by its digest.

use serde::{Deserialize, Serialize};

use crate::{Fill, State, counted::Bin, trace};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advised {
    /// The one with the most bytes reached; of several the folder that has them.
    pub file: String,
    /// Of several files, which are replayed together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// What is asked about. Others are measured for the self-check alone.
    pub states: Vec<State>,
    /// Of state `cached`. Empty in older records, which have the sequential one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fills: Vec<Fill>,
    /// The trace was there before, and may be of another run than the command makes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub given: bool,
    /// Of the trace, what recorded it, and which share of the program's accesses it has.
    pub digest: String,
    pub recorder: String,
    pub coverage: f64,
    /// Ways to reach files that its recorder cannot see into.
    #[serde(default, skip_serializing_if = "trace::NotSeen::is_empty")]
    pub not_seen: trace::NotSeen,
    /// The name of the arm that replays what the command did.
    pub recorded: String,
    pub reach: Reach,
    pub pattern: Pattern,
    /// Files that were reached too, with the most bytes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherReached>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub others_left_out: u64,
    /// What calls delivered and mappings cover of all files together, this one too. Absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_bytes: Option<u64>,
    /// Pages were touched by other threads than the one that mapped their file, or may have been: of what counts as touched whole it
    /// is not known.
    #[serde(default, skip_serializing_if = "is_false")]
    pub touched_elsewhere: bool,
    /// The command itself was not run again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub once: bool,
}

/// How the command reaches the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    Calls,
    /// All pages that were touched are known.
    Mapping,
    /// Through mappings, and which pages were touched is not known: why, in words.
    UnseenMapping {
        why: String,
    },
    /// Both, each of them too often to be by the way.
    Both,
}

/// Several files that a command reaches alike, by calls or through mappings, and of which none has most of the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    pub files: u64,
    /// The size of the one in the middle.
    pub median_bytes: u64,
    /// How often they were opened, all together. A replay opens each once.
    pub opens: u64,
    /// Mapped files whose pages are not recorded, because they are too small for that: they count as touched whole.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub touched_whole: u64,
}

impl Group {
    /// Whether they are read in parts, and not each by a call or two.
    pub fn is_in_parts(&self, pattern: &Pattern) -> bool {
        pattern.accesses > self.files.saturating_mul(2)
    }
}

/// What the trace has of the file, or of several together: then the first access of one, at its start, is in order, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    pub file_bytes: u64,
    pub accesses: u64,
    /// Repetitions counted.
    pub bytes: u64,
    pub page_bytes: u64,
    pub distinct_pages: u64,
    /// Accesses that begin where the one before them ended: of the same thread, or of all in the order of the trace, whichever are
    /// more.
    pub in_order: u64,
    pub threads: u64,
    pub mappings: u64,
    /// Lengths and how many accesses have them. Of many, neighbours together, by the longest of them.
    pub sizes: Vec<Bin>,
}

impl Pattern {
    /// Of the accesses: from this share on they follow each other.
    pub const IN_ORDER: f64 = 0.8;
    /// Below this one they lie anywhere.
    pub const ANYWHERE: f64 = 0.2;
    /// Of the file: less is little.
    pub const LITTLE: f64 = 0.3;
    /// Accesses of so many bytes cost more by their number than by their size.
    pub const SMALL_BYTES: f64 = 8192.0;

    pub fn touched_bytes(&self) -> f64 {
        trace::bytes_of_pages(self.distinct_pages, self.page_bytes, self.file_bytes) as f64
    }

    /// Of the file.
    pub fn touched_share(&self) -> f64 {
        self.touched_bytes() / self.file_bytes.max(1) as f64
    }

    /// Half of the bytes are reached by accesses of at most this size; 0 without one. By their number, programs that read a header
    /// before each large block would read small ones.
    pub fn access_bytes(&self) -> f64 {
        let bytes = |it: &Bin| it.events as f64 * it.value as f64;
        let all = self.sizes.iter().map(bytes).sum::<f64>();
        let mut sizes = self.sizes.clone();
        sizes.sort_by_key(|it| it.value);
        let mut before = 0.0;
        let middle = sizes.iter().find(|it| {
            before += bytes(it);
            before * 2.0 >= all
        });
        middle.map_or(0.0, |it| it.value as f64)
    }

    /// Small accesses that follow each other: a larger buffer makes fewer calls of them.
    pub fn is_small_in_order(&self) -> bool {
        self.in_order_share() > Pattern::IN_ORDER && self.access_bytes() <= Pattern::SMALL_BYTES
    }

    /// Of the accesses that follow one, those that begin where it ended.
    pub fn in_order_share(&self) -> f64 {
        // Of several files, the first access of one may be in order, too.
        (self.in_order as f64 / self.accesses.saturating_sub(1).max(1) as f64).min(1.0)
    }
}

/// A file that is not replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherReached {
    pub path: String,
    /// By calls, or mapped.
    pub bytes: u64,
    /// Of these, mapped ones of which it is not known whether they were touched.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mapped_bytes: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(accesses: u64, in_order: u64) -> Pattern {
        Pattern {
            file_bytes: 10_000,
            accesses,
            bytes: 10_000,
            page_bytes: 4096,
            distinct_pages: 3,
            in_order,
            threads: 1,
            mappings: 0,
            sizes: Vec::new(),
        }
    }

    #[test]
    fn the_first_access_follows_none_so_few_reads_can_be_in_order_too() {
        assert_eq!(pattern(3, 2).in_order_share(), 1.0);
        assert_eq!(pattern(5, 2).in_order_share(), 0.5);
        assert_eq!((pattern(1, 0).in_order_share(), pattern(0, 0).in_order_share()), (0.0, 0.0));
        assert_eq!(pattern(8, 8).in_order_share(), 1.0, "of eight files");
    }

    #[test]
    fn no_more_is_touched_than_the_files_have() {
        assert_eq!((pattern(3, 2).touched_bytes(), pattern(3, 2).touched_share()), (10_000.0, 1.0));
        let part = Pattern { distinct_pages: 1, file_bytes: 8192, ..pattern(3, 2) };
        assert_eq!((part.touched_bytes(), part.touched_share()), (4096.0, 0.5));
    }
}
