//! A file that is read by calls: opened, and advised as the arm says.

use std::{fs::File, num::NonZero};

use rustix::fs::Advice;
use schema::Span;

use super::open_plain;
use crate::task::{Fault, Place, Task, at};

/// What posix_fadvise(2) says after open(2): one call, as programs make it, and none where nothing is said. Linux reads
/// nothing ahead after `RANDOM` and up to twice as far after `SEQUENTIAL`, and notes both at the open file, whatever the range
/// is (mm/fadvise.c). After `WILLNEED` it reads the range, but no more than max(read-ahead, largest request of the device) of
/// it: what one call achieves is what is measured. A file in memory has nothing to read ahead; there each succeeds and does
/// nothing.
#[derive(Clone, Copy)]
pub(crate) struct Hint(Option<(Advice, &'static str)>);

impl Hint {
    /// No call, not POSIX_FADV_NORMAL: the open file is left as the kernel made it.
    pub(crate) const NONE: Hint = Hint(None);

    pub(crate) fn new(task: &Task) -> Result<Hint, String> {
        Ok(Hint(match task.arm.word("advice") {
            "normal" => None,
            "random" => Some((Advice::Random, "RANDOM")),
            "sequential" => Some((Advice::Sequential, "SEQUENTIAL")),
            "willneed" => Some((Advice::WillNeed, "WILLNEED")),
            other => return Err(format!("{} does not know advice = {other:?}", task.arm.method)),
        }))
    }

    /// Does once what the pass will do, to one byte.
    pub(crate) fn support(self, task: &Task) -> Result<(), String> {
        match self.0 {
            None => Ok(()),
            Some(_) => {
                let first = Span { bytes: 1, ..task.pattern.range };
                self.open(Place { range: first, ..task.place() }).map(drop).map_err(|fault| fault.to_string())
            }
        }
    }

    pub(crate) fn open(self, place: Place) -> Result<File, Fault> {
        let file = open_plain(place)?;
        if let Some((advice, name)) = self.0 {
            rustix::fs::fadvise(&file, place.range.offset, NonZero::new(place.range.bytes), advice)
                .map_err(at(format!("posix_fadvise(POSIX_FADV_{name})")))?;
        }
        Ok(file)
    }
}
