//! io_uring writes with a full queue, or one at a time, through the page cache or around it.
//!
//! A block has a place in the program's memory as long as it is in flight: `put` stamps it there, hands it to the kernel and
//! goes on; it waits when all places are taken. Under `sync-each` there is one place, which is free when the block is on the
//! device: the next one is begun after that. `finish` waits for all.

use std::{fs::File, io, os::fd::AsRawFd};

use io_uring::{opcode, squeue::Entry, types};
use schema::{Durability, Span, Workload};

use crate::{
    access::out_of_range,
    method::{
        direct,
        uring::{MAX_REQUEST, Ring, Slot, UringWay, end_with_requests_in_flight},
    },
    task::{Fault, Refusal, Task},
};

use super::{Places, Writer, calls, stamped};

/// The ring goes before the file.
pub(super) struct RingWriter {
    ring: Ring,
    file: File,
    way: UringWay,
    /// Slots whose write is done and whose fsync is in flight.
    syncing: Vec<bool>,
    syncs_each: bool,
    syncs_at_end: bool,
}

/// Whether this job can be done here, the memory that it takes, and how it is done.
pub(super) fn support(task: &Task) -> Result<(Places, UringWay), Refusal> {
    if task.job.workload == Workload::Update {
        let reason = "an update handles one block after the other, so a queue has no use; use pwrite";
        return Err(Refusal::Unavailable(reason.into()));
    }
    let mut way = UringWay::new(task)?;
    if task.job.durability == Durability::SyncEach {
        way.depth = 1;
    }
    if way.direct {
        direct::fits_writes(task).map_err(Refusal::Unavailable)?;
    }
    let write = if way.registered { opcode::WriteFixed::CODE } else { opcode::Write::CODE };
    let places = Places { count: way.depth as usize, stride: way.stride };
    way.try_rings(1, places.count * places.stride, &[write, opcode::Fsync::CODE]).map_err(Refusal::Unavailable)?;
    Ok((places, way))
}

impl RingWriter {
    pub(super) fn open(task: &Task, way: UringWay, own: &mut [u8]) -> Result<RingWriter, Fault> {
        let mut flags = calls::sync_flags(task);
        let by_flag = !flags.is_empty();
        if way.direct {
            flags |= rustix::fs::OFlags::DIRECT;
        }
        let file = super::open(task, flags)?;
        let ring = way.ring(own).map_err(|fault| Fault { what: format!("{}, for writing", fault.what), ..fault })?;
        Ok(RingWriter {
            syncing: vec![false; way.depth as usize],
            ring,
            file,
            way,
            syncs_each: task.job.durability == Durability::SyncEach && !by_flag,
            syncs_at_end: task.job.durability == Durability::SyncEnd,
        })
    }

    /// The request for what is still missing of a slot.
    fn request(&self, index: usize, own: &[u8]) -> io::Result<Entry> {
        let slot = self.ring.slots[index];
        let place = index * self.way.stride;
        let rest = own.get(place + slot.done..place + slot.span.bytes as usize).ok_or_else(out_of_range)?;
        let (file, bytes) = (types::Fd(self.file.as_raw_fd()), rest.len().min(MAX_REQUEST) as u32);
        let offset = slot.span.offset + slot.done as u64;
        let entry = match self.way.registered {
            true => opcode::WriteFixed::new(file, rest.as_ptr(), bytes, 0).offset(offset).build(),
            false => opcode::Write::new(file, rest.as_ptr(), bytes).offset(offset).build(),
        };
        Ok(entry.user_data(index as u64))
    }

    fn sync_request(&self, index: usize) -> Entry {
        opcode::Fsync::new(types::Fd(self.file.as_raw_fd()))
            .flags(types::FsyncFlags::DATASYNC)
            .build()
            .user_data(index as u64)
    }

    fn push(&mut self, request: &Entry) {
        // SAFETY: the file is this value's own, the memory the session's, and both outlive the request: this value
        // is dropped only after everything in flight was waited for (`finish`, or `reap` before an error is returned).
        unsafe { self.ring.ring.submission().push(request) }.expect("the queue has room for every slot");
    }

    fn in_flight(&self) -> usize {
        self.ring.slots.len() - self.ring.free.len()
    }

    /// Submits what was pushed and takes in at least one completion.
    fn reap(&mut self, own: &[u8]) -> io::Result<()> {
        match self.ring.ring.submit_and_wait(1) {
            Ok(_) => {}
            // EBUSY: completions have to be taken out first, which is what comes next.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {}
            Err(error) => end_with_requests_in_flight(&error),
        }
        let done: Vec<(usize, i32)> =
            self.ring.ring.completion().map(|it| (it.user_data() as usize, it.result())).collect();
        let mut failure = None;
        for (index, result) in done {
            if let Err(error) = self.completed(index, result, own) {
                self.ring.free.push(index);
                failure = failure.or(Some(error));
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// What a slot does next: the rest of a short write, its sync, or nothing.
    fn completed(&mut self, index: usize, result: i32, own: &[u8]) -> io::Result<()> {
        let again = result == -libc::EINTR || result == -libc::EAGAIN;
        match result {
            _ if again => {}
            0 if !self.syncing[index] => {
                return Err(io::Error::new(io::ErrorKind::WriteZero, "the kernel wrote nothing"));
            }
            code if code < 0 => return Err(io::Error::from_raw_os_error(-code)),
            bytes => self.ring.slots[index].done += bytes as usize,
        }
        let Slot { span, done } = self.ring.slots[index];
        let is_written = done >= span.bytes as usize;
        match (is_written, self.syncing[index]) {
            (false, _) => {
                let request = self.request(index, own)?;
                self.push(&request);
            }
            (true, true) if !again => {
                self.syncing[index] = false;
                self.ring.free.push(index);
            }
            (true, false) if !self.syncs_each => self.ring.free.push(index),
            (true, _) => {
                self.syncing[index] = true;
                let request = self.sync_request(index);
                self.push(&request);
            }
        }
        Ok(())
    }

    /// Until nothing is in flight; the first failure is returned. Each failure of a request takes it out of flight.
    fn drain(&mut self, own: &[u8]) -> io::Result<()> {
        let mut outcome = Ok(());
        while self.in_flight() > 0 {
            outcome = outcome.and(self.reap(own));
        }
        outcome
    }
}

impl Writer for RingWriter {
    fn put(&mut self, span: Span, own: &mut [u8]) -> io::Result<()> {
        while self.ring.free.is_empty() {
            if let Err(error) = self.reap(own) {
                let _ = self.drain(own);
                return Err(error);
            }
        }
        let index = self.ring.free.pop().expect("one is free");
        self.ring.slots[index] = Slot { span, done: 0 };
        stamped(&mut own[index * self.way.stride..], span);
        let request = self.request(index, own)?;
        self.push(&request);
        Ok(())
    }

    fn load<'a>(&'a mut self, _: Span, _: &'a mut [u8]) -> io::Result<&'a mut [u8]> {
        Err(io::Error::other("an update with io_uring: `support` refuses it"))
    }

    fn store(&mut self, _: Span, _: &mut [u8]) -> io::Result<()> {
        Err(io::Error::other("an update with io_uring: `support` refuses it"))
    }

    fn finish(&mut self, own: &mut [u8]) -> io::Result<()> {
        self.drain(own)?;
        if self.syncs_at_end { self.file.sync_data() } else { Ok(()) }
    }

    /// Has no mapping, so no pages of the page cache are pinned.
    fn lock(&mut self) -> Result<(), Refusal> {
        Ok(())
    }

    fn queue_depth(&self) -> u32 {
        self.way.depth
    }
}
