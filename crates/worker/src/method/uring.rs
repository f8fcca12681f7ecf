//! io_uring with a full queue: as many reads in flight as the option says, each block consumed when it completes.
//!
//! The ring is a plain one, without flags that only newer kernels have. One system call submits whatever is free and
//! waits for at least one completion; a kernel that answers from the page cache completes a whole batch within it.
//! Blocks are consumed in the order of completion, which no checksum depends on.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::AsRawFd,
};

use io_uring::{IoUring, Probe, opcode, types};
use schema::{Span, Workload};

use super::{Method, direct};
use crate::{
    access::{Access, Way, became_shorter, open_plain, out_of_range},
    buffer::Buffer,
    mapping::lock_refused,
    session::{self, Session},
    source::Spans,
    task::{Fault, Place, Refusal, Task, at},
};

/// Memory for blocks in flight, per thread. Deeper queues of larger blocks are cut to fit, and the tally says so.
const MAX_BUFFER: usize = 256 << 20;
/// One request moves at most this much (the kernel's own limit is just below 2 GiB).
pub(crate) const MAX_REQUEST: usize = 1 << 30;

pub(super) struct Uring;

impl Method for Uring {
    fn name(&self) -> &'static str {
        "uring"
    }

    /// Builds the same ring as the pass, registers its buffers, and checks that it supports the operation.
    fn support(&self, task: &Task) -> Result<(), String> {
        if task.arm.word("io") == "direct" {
            direct::try_one(task)?;
        }
        let way = UringWay::new(task).map_err(|fault| fault.to_string())?;
        let read = if way.registered { opcode::ReadFixed::CODE } else { opcode::Read::CODE };
        way.try_rings(task.job.threads, way.buffer_bytes(task), &[read])
    }

    fn session(&self, task: Task) -> Result<Box<dyn Session>, Refusal> {
        let way = UringWay::new(&task)?;
        session::prepare(way, task)
    }
}

/// Found out before the clock starts: O_DIRECT's alignment takes an open of its own.
#[derive(Clone, Copy)]
pub(crate) struct UringWay {
    pub(crate) depth: u32,
    /// In flight of each thread: of those of a replay, which make more accesses or less, in the mean.
    each: u32,
    pub(crate) registered: bool,
    /// Offsets and lengths are multiples of it with O_DIRECT; 1 otherwise.
    alignment: u64,
    pub(crate) direct: bool,
    /// Each block in flight has a place of its own that begins at a page.
    pub(crate) stride: usize,
}

impl UringWay {
    pub(crate) fn new(task: &Task) -> Result<UringWay, Fault> {
        let direct = task.arm.word("io") == "direct";
        let registered = task.arm.word("buffers") == "registered";
        let alignment = if direct { direct::alignment(task)? } else { 1 };
        let page = rustix::param::page_size();
        let stride = (task.pattern.block.next_multiple_of(alignment) as usize).next_multiple_of(page);
        let fitting = (MAX_BUFFER / stride).max(1) as u64;
        let ops: Vec<u64> = match task.pattern.workload {
            Workload::Replay => task.pattern.accesses.most().into_iter().map(|it| it as u64).collect(),
            _ => vec![task.pattern.share(0).0],
        };
        let asked = u64::from(task.arm.number("queue_depth").unwrap_or(1).max(1)).min(fitting);
        let depth = asked.min(ops.iter().copied().max().unwrap_or(1)) as u32;
        let threads = if task.pattern.workload == Workload::Replay { task.job.threads.into() } else { 1 };
        let each = ops.iter().map(|it| asked.min(*it)).sum::<u64>() / threads;
        Ok(UringWay { depth, each: each.max(1) as u32, registered, alignment, direct, stride })
    }

    /// Builds the same rings as the pass, registers as much memory, and checks that they support the operations. What is
    /// missing comes back in words. Registered memory counts against the user's limit of locked memory until a while after its
    /// ring was closed, so there are as many rings more: those of a rehearsal.
    pub(crate) fn try_rings(&self, threads: u32, buffer_bytes: usize, operations: &[u8]) -> Result<(), String> {
        let is_limited = self.registered && !sys::process::may_lock_without_limit();
        let wanted = if is_limited { 2 * threads as usize } else { 1 };
        // A ring is dropped before what it registered.
        let mut rings: Vec<(Ring, Buffer)> = Vec::with_capacity(wanted);
        for _ in 0..wanted {
            let mut buffer = Buffer::new(buffer_bytes).map_err(|error| format!("buffers: {error}"))?;
            let ring = self.ring(&mut buffer).map_err(|fault| why_no_ring(&fault, wanted * buffer_bytes))?;
            rings.push((ring, buffer));
        }
        let mut probe = Probe::new();
        for (at, (ring, _)) in rings.iter().enumerate() {
            let ring = ring.ring.submitter();
            if at == 0 {
                ring.register_probe(&mut probe).map_err(|error| format!("io_uring probe: {error}"))?;
            }
            if self.registered {
                ring.unregister_buffers().map_err(|error| format!("unregistering buffers: {error}"))?;
            }
        }
        match operations.iter().all(|&it| probe.is_supported(it)) {
            true => Ok(()),
            false => Err("this kernel's io_uring lacks plain reads and writes (it needs Linux 5.6)".into()),
        }
    }

    pub(crate) fn ring(&self, buffer: &mut [u8]) -> Result<Ring, Fault> {
        let ring = IoUring::new(self.depth).map_err(at("io_uring_setup(2)"))?;
        if self.registered {
            // One registration for all blocks; each request names its own part of it.
            let all = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
            // SAFETY: the session keeps the buffer until after it dropped the ring, and nothing else writes to it
            // meanwhile.
            unsafe { ring.submitter().register_buffers(&[all]) }.map_err(at("registering buffers with io_uring"))?;
        }
        let depth = self.depth as usize;
        Ok(Ring { ring, slots: vec![Slot::default(); depth], free: (0..depth).collect() })
    }
}

fn why_no_ring(fault: &Fault, registered_bytes: usize) -> String {
    match (fault.errno(), fault.what.as_str(), &fault.error) {
        (Some(libc::EPERM), "io_uring_setup(2)", _) => {
            "io_uring is not allowed here (seccomp, or the sysctl kernel.io_uring_disabled)".to_string()
        }
        (Some(libc::ENOSYS), ..) => "this kernel has no io_uring (it needs Linux 5.6)".to_string(),
        (Some(libc::ENOMEM | libc::EPERM), what, Some(error)) => {
            format!("{what}: {}", lock_refused(registered_bytes as u64, error))
        }
        _ => fault.to_string(),
    }
}

/// One block in flight.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) span: Span,
    pub(crate) done: usize,
}

impl Default for Slot {
    fn default() -> Slot {
        Slot { span: Span { offset: 0, bytes: 0 }, done: 0 }
    }
}

pub(crate) struct Ring {
    pub(crate) ring: IoUring,
    pub(crate) slots: Vec<Slot>,
    /// Slots with nothing in flight; the last is used next, while its memory is still in the CPU's caches.
    pub(crate) free: Vec<usize>,
}

impl Way for UringWay {
    type Shared = File;
    type Own = Ring;
    type Access<'a> = RingReader<'a>;

    fn buffer_bytes(&self, _: &Task) -> usize {
        self.stride * self.depth as usize
    }

    fn open(&self, place: Place) -> Result<File, Fault> {
        if self.direct { direct::open_direct(place) } else { open_plain(place) }
    }

    fn own(&self, _: &File, buffer: &mut Buffer) -> Result<Ring, Fault> {
        self.ring(buffer)
    }

    fn access<'a>(&'a self, file: &'a File, ring: &'a mut Ring, buffer: &'a mut Buffer) -> RingReader<'a> {
        RingReader { way: self, file, ring, buffer }
    }

    fn is_uncached(&self) -> bool {
        self.direct
    }

    fn queue_depth(&self) -> u32 {
        self.each
    }
}

/// The ring itself is broken, which no kernel has been seen to do: requests are in flight whose completions cannot be waited
/// for. The kernel would write to, or read from, memory that has been given to something else by then; so this process ends,
/// and its memory with it. The controller reports its stderr.
#[cold]
pub(crate) fn end_with_requests_in_flight(error: &io::Error) -> ! {
    let _ = writeln!(io::stderr(), "io_uring_enter(2) failed with requests in flight: {error}");
    std::process::exit(1)
}

pub(crate) struct RingReader<'a> {
    way: &'a UringWay,
    file: &'a File,
    ring: &'a mut Ring,
    buffer: &'a mut [u8],
}

impl RingReader<'_> {
    /// The request for what is still missing of a slot.
    #[inline(always)]
    fn request(
        way: &UringWay,
        file: &File,
        buffer: &mut [u8],
        index: usize,
        slot: Slot,
    ) -> io::Result<io_uring::squeue::Entry> {
        let whole = slot.span.bytes.next_multiple_of(way.alignment) as usize;
        let place = index * way.stride;
        let room = buffer.get_mut(place + slot.done..place + whole).ok_or_else(out_of_range)?;
        let (file, bytes) = (types::Fd(file.as_raw_fd()), room.len().min(MAX_REQUEST) as u32);
        let offset = slot.span.offset + slot.done as u64;
        let entry = match way.registered {
            true => opcode::ReadFixed::new(file, room.as_mut_ptr(), bytes, 0).offset(offset).build(),
            false => opcode::Read::new(file, room.as_mut_ptr(), bytes).offset(offset).build(),
        };
        Ok(entry.user_data(index as u64))
    }
}

impl Access for RingReader<'_> {
    const PRIVATE: bool = true;

    /// One read alone.
    fn view(&mut self, span: Span) -> io::Result<&[u8]> {
        let slot = *self.ring.free.last().expect("between calls nothing is in flight");
        self.view_each([span].iter().copied(), |_| ())?;
        Ok(&self.buffer[slot * self.way.stride..][..span.bytes as usize])
    }

    #[inline(always)]
    fn view_each(&mut self, spans: impl Spans, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let mut spans = spans.fuse();
        let Ring { ring, slots, free } = &mut *self.ring;
        let (submitter, mut submissions, mut completions) = ring.split();
        let mut in_flight = 0;
        let mut failure = None;
        loop {
            while failure.is_none()
                && let Some(&index) = free.last()
                && let Some(span) = spans.next()
            {
                let slot = Slot { span, done: 0 };
                match Self::request(self.way, self.file, self.buffer, index, slot) {
                    // SAFETY: file and buffer outlive the request: this function returns when nothing is in flight
                    // any more, and ends the process when that cannot be waited for.
                    Ok(request) => unsafe { submissions.push(&request) }.expect("the queue has room for every slot"),
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                }
                free.pop();
                slots[index] = slot;
                in_flight += 1;
            }
            if in_flight == 0 {
                return failure.map_or(Ok(()), Err);
            }
            submissions.sync();
            match submitter.submit_and_wait(1) {
                Ok(_) => {}
                // EBUSY: completions have to be taken out first, which is what comes next.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {}
                Err(error) => end_with_requests_in_flight(&error),
            }
            submissions.sync();
            completions.sync();
            for completion in &mut completions {
                let index = completion.user_data() as usize;
                let slot = &mut slots[index];
                match completion.result() {
                    0 => failure = failure.or_else(|| Some(became_shorter())),
                    code if code == -libc::EINTR || code == -libc::EAGAIN => {}
                    code if code < 0 => failure = failure.or_else(|| Some(io::Error::from_raw_os_error(-code))),
                    bytes => slot.done += bytes as usize,
                }
                if slot.done >= slot.span.bytes as usize {
                    each(&self.buffer[index * self.way.stride..][..slot.span.bytes as usize]);
                } else if failure.is_none() {
                    // A short read: what is missing is asked for again, in the same slot.
                    match Self::request(self.way, self.file, self.buffer, index, *slot) {
                        Ok(request) => {
                            // SAFETY: as above.
                            unsafe { submissions.push(&request) }.expect("the queue has room for every slot");
                            continue;
                        }
                        Err(error) => failure = Some(error),
                    }
                }
                free.push(index);
                in_flight -= 1;
            }
        }
    }
}
