//! What the passes of a cell did, and whether those of another run did the same: `compare` refuses, and `history` keeps apart,
//! what did something else.

use std::collections::BTreeMap;

use crate::{
    Condition,
    fields::{self, Role},
};

/// As far as the tallies of the passes say it.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    pub does: &'a Condition,
    /// Delivered. Absent where there is no pass.
    pub bytes_per_block: Option<f64>,
    /// Of each window of ascending reads, by where it begins, or of what a command printed: where all passes found the same.
    /// Without those of files of faultline's own, which hold random bytes, and of commands whose output is ignored.
    pub checksums: &'a BTreeMap<u64, String>,
}

/// What two runs did otherwise, in the order of the two.
#[derive(Debug, Clone, PartialEq)]
pub enum OtherWork {
    BytesPerBlock([f64; 2]),
    Checksums([String; 2]),
}

impl Work<'_> {
    /// Whether the passes of another run did as much with each block, and found the same bytes.
    pub fn other(&self, other: &Work) -> Option<OtherWork> {
        /// Random blocks at the end of a file are cut off there, in one run more often than in another.
        const ALIKE: f64 = 0.01;
        let does = [self.does, other.does];
        let is_as_large = fields::agree(Role::Size, does[0], does[1]);
        // Of passes of two sizes, the block that the end of the range cuts off is a larger part of the smaller one; and accesses
        // of a trace have a size each.
        let cut_off = does.iter().filter(|_| !is_as_large).map(|it| match it.trace {
            Some(_) => 1.0,
            None => it.block_bytes as f64 / it.range.bytes.max(1) as f64,
        });
        let alike = ALIKE + cut_off.fold(0.0, f64::max);
        let per_block = self.bytes_per_block.zip(other.bytes_per_block);
        if let Some((ours, theirs)) = per_block.filter(|(a, b)| (a - b).abs() > alike * a.max(*b)) {
            return Some(OtherWork::BytesPerBlock([ours, theirs]));
        }
        let differ = self.checksums.iter().find_map(|(window, ours)| {
            let theirs = other.checksums.get(window)?;
            // Of what commands printed, older versions have another kind of sum.
            (ours != theirs && ours.len() == theirs.len()).then(|| [ours.clone(), theirs.clone()])
        });
        // Passes of two sizes find other bytes.
        differ.filter(|_| is_as_large).map(OtherWork::Checksums)
    }
}
