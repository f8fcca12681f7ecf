//! `pread(2)` of a file opened with `O_DIRECT`: from the device into the buffer, around the page cache.
//!
//! The device dictates the alignment of offsets, lengths and memory. Where a job does not fit it, the method is
//! unavailable: reading more than was asked for, or through the page cache, would be another method under this one's
//! name.

use std::{fs::File, io};

use rustix::fs::{AtFlags, OFlags, StatxFlags};
use schema::Span;
use sys::cache::Way as Residency;

use super::Method;
use crate::{
    access::{Access, Way, fill, open, out_of_range},
    buffer::Buffer,
    session::{self, Session},
    task::{Fault, Place, Refusal, Task, at},
};

/// Used when neither statx(2) nor the file system reports an alignment. Sufficient for all known disks.
const USUAL_ALIGNMENT: u64 = 4096;

pub(super) struct Direct;

impl Method for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn support(&self, task: &Task) -> Result<(), String> {
        try_one(task)
    }

    fn session(&self, task: Task) -> Result<Box<dyn Session>, Refusal> {
        let alignment = alignment(&task)?;
        session::prepare(DirectWay { alignment }, task)
    }
}

/// Why a job that writes does not fit O_DIRECT here.
pub(crate) fn fits_writes(task: &Task) -> Result<(), String> {
    let align = alignment(task).map_err(|fault| format!("O_DIRECT is not possible here: {fault}"))?;
    let range = task.pattern.range;
    match [task.pattern.block, range.offset, range.bytes].iter().all(|it| it.is_multiple_of(align)) {
        true if task.pattern.aligned => Ok(()),
        _ => Err(format!("O_DIRECT here writes blocks at multiples of {align} bytes, in multiples of {align} bytes")),
    }
}

/// The alignment of offsets and lengths. Buffers begin at pages, which satisfies every known rule for memory.
pub(super) fn alignment(task: &Task) -> Result<u64, Fault> {
    let file = open_direct(task.place())?;
    let stat = rustix::fs::statx(&file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
    match stat {
        Ok(stat) if stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0 => match stat.stx_dio_offset_align {
            // The kernel's way to say that the file cannot be read directly, although open(2) took the flag.
            0 => Err(Fault::new("the file system does not read this file with O_DIRECT (statx: alignment 0)")),
            align => Ok(u64::from(align)),
        },
        // Before Linux 6.1, and on file systems that do not report it: their block size. `try_one` finds out if it
        // will do.
        _ => match rustix::fs::fstat(&file) {
            Ok(stat) if stat.st_blksize > 0 => Ok((stat.st_blksize as u64).min(USUAL_ALIGNMENT)),
            _ => Ok(USUAL_ALIGNMENT),
        },
    }
}

/// The file around the page cache.
pub(super) fn open_direct(place: Place) -> Result<File, Fault> {
    open(place, OFlags::DIRECT).map_err(at("open(2) with O_DIRECT"))
}

/// Makes the smallest transfer that there is: a cache below the kernel holds what was read just before a pass.
pub(super) fn try_one(task: &Task) -> Result<(), String> {
    let reason = |fault: Fault| format!("O_DIRECT is not possible here: {fault}");
    let align = alignment(task).map_err(reason)?;
    fits(task, align)?;
    let file = open_direct(task.place()).map_err(reason)?;
    let offset = task.pattern.range.offset;
    let way = Residency::ALL[..2].iter().find(|way| way.shows(&file));
    let resident = || way?.resident_pages(&file, offset, 1).ok();
    let before = resident();
    let bytes = align as usize;
    let mut buffer = Buffer::new(bytes).map_err(|error| format!("a buffer of {bytes} bytes: {error}"))?;
    if let Err(errno) = rustix::io::pread(&file, &mut buffer[..bytes], offset) {
        return Err(format!("O_DIRECT is not possible here: a read of {bytes} bytes failed: {errno}"));
    }
    // Some file systems (btrfs with checksums, for one) take the flag and read through the page cache all the same.
    // That shows here if the page was not cached before; otherwise the check after a cold pass shows it.
    match (before, resident()) {
        (Some(0), Some(1..)) => {
            Err("O_DIRECT is not possible here: the file system read through the page cache in spite of it".into())
        }
        _ => Ok(()),
    }
}

/// Whether offsets and lengths of the job are multiples of the alignment that the device requires.
fn fits(task: &Task, align: u64) -> Result<(), String> {
    let pattern = &task.pattern;
    let range = pattern.range;
    let is_aligned =
        |it: &Span| it.offset.is_multiple_of(align) && (it.bytes.is_multiple_of(align) || it.end() == task.file_bytes);
    if let Some(Span { offset, bytes }) = pattern.accesses.list().iter().find(|it| !is_aligned(it)) {
        return Err(format!(
            "O_DIRECT here reads multiples of {align} bytes at multiples of {align} bytes, and the trace has {bytes} bytes \
             at {offset}"
        ));
    }
    if !pattern.accesses.list().is_empty() {
        return Ok(());
    }
    if !range.offset.is_multiple_of(align) {
        return Err(format!(
            "O_DIRECT here needs offsets in multiples of {align} bytes; {} is not a multiple",
            range.offset
        ));
    }
    // The kernel reads a whole number of sectors and stops at the end of the file, so a short last block is possible
    // there and nowhere else.
    let ends_with_file = range.end() == task.file_bytes;
    let one_block = pattern.block == range.bytes;
    let fits = pattern.block.is_multiple_of(align) || (one_block && ends_with_file);
    if !fits {
        return Err(format!(
            "O_DIRECT here needs blocks in multiples of {align} bytes; {} B is not a multiple",
            pattern.block
        ));
    }
    if !pattern.workload.is_ascending() && !pattern.aligned && !one_block {
        return Err(format!("O_DIRECT here needs offsets in multiples of {align} bytes; unaligned ones are not"));
    }
    // Aligned random blocks never read an end that is shorter than one.
    let reads_end = pattern.workload.is_ascending() && pattern.ops.saturating_mul(pattern.block) >= range.bytes;
    if reads_end && !range.end().is_multiple_of(align) && !ends_with_file {
        return Err(format!("O_DIRECT here needs a range that ends at a multiple of {align} bytes or with the file"));
    }
    Ok(())
}

struct DirectWay {
    alignment: u64,
}

impl Way for DirectWay {
    type Shared = File;
    type Own = ();
    type Access<'a> = DirectReader<'a>;

    fn buffer_bytes(&self, task: &Task) -> usize {
        task.pattern.block.next_multiple_of(self.alignment) as usize
    }

    fn open(&self, place: Place) -> Result<File, Fault> {
        open_direct(place)
    }

    fn own(&self, _: &File, _: &mut Buffer) -> Result<(), Fault> {
        Ok(())
    }

    fn access<'a>(&'a self, file: &'a File, _: &'a mut (), buffer: &'a mut Buffer) -> DirectReader<'a> {
        DirectReader { file, buffer, alignment: self.alignment }
    }

    fn is_uncached(&self) -> bool {
        true
    }
}

struct DirectReader<'a> {
    file: &'a File,
    buffer: &'a mut [u8],
    alignment: u64,
}

impl Access for DirectReader<'_> {
    const PRIVATE: bool = true;

    #[inline(always)]
    fn view(&mut self, span: Span) -> io::Result<&[u8]> {
        // Longer than the span only for the file's last bytes; the read then ends with the file.
        let whole = span.bytes.next_multiple_of(self.alignment) as usize;
        let room = self.buffer.get_mut(..whole).ok_or_else(out_of_range)?;
        fill(room, span.bytes as usize, |rest, done| rustix::io::pread(self.file, rest, span.offset + done))?;
        Ok(&room[..span.bytes as usize])
    }
}

#[cfg(test)]
mod tests {
    use schema::{Arm, Workload, protocol::Job};

    use super::*;

    #[test]
    fn a_range_may_end_within_a_sector_where_no_block_reaches_its_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let arm: Arm = "direct".parse().unwrap();
        let fits = |workload: Workload, ops: u64| {
            let range = Span { offset: 0, bytes: 100_000 };
            let job = Job::new(&arm, &file.path().display().to_string(), range);
            let task = Task::new(Job { workload, block_bytes: 4096, ops, ..job }).unwrap();
            super::fits(&task, 512).is_ok()
        };
        assert!(fits(Workload::Random, 1000) && fits(Workload::Scan, 24));
        assert!(!fits(Workload::Scan, 25), "its last block is a short one");
    }
}
