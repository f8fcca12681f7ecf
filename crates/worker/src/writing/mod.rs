//! Workloads that change the file. The controller gives them a file of faultline's own, and nothing else.
//!
//! **What is written** is the same whatever writes it (docs/FORMATS.md, "What is written"): `overwrite` and `append` put
//! blocks of one source, stamped with their offset; `update` changes every byte `b` to `(b + 5) % 250`. The
//! controller verifies the result: it has the range read once more, by another worker.
//!
//! **Where the time goes.** `open` maps or opens, `work` writes and syncs as far as the durability asks, `close` unmaps
//! and closes. An `update` also reads the clock four times a block, and says what that costs.

use std::{io, path::Path, time::Instant};

use rustix::fs::OFlags;
use schema::{
    Durability, Span, Workload,
    leftover::FileIdentity,
    protocol::{Hold, Parts, Permit, Phases, Tally},
};

use crate::{
    buffer::Buffer,
    method::direct,
    session::{PassResult, REHEARSAL_OPS, Session, nanoseconds},
    source::{Pattern, Source, SplitMix64, with_source},
    task::{Fault, Refusal, Task, at},
    usage,
};

mod calls;
mod mapped;
mod uring;

use calls::{By, Calls};
use mapped::MappedWriter;
use uring::RingWriter;

/// What the timed loop sees of a file that is written. `own` is the program's own memory, the same in every call of a
/// session: `memory` bytes, which hold the source before a pass.
trait Writer {
    /// A block, whole, from the program's own memory; what is in flight afterwards, `finish` waits for.
    fn put(&mut self, span: Span, own: &mut [u8]) -> io::Result<()>;

    /// A block as it is, to be changed in place; `store` follows.
    fn load<'a>(&'a mut self, span: Span, own: &'a mut [u8]) -> io::Result<&'a mut [u8]>;

    fn store(&mut self, span: Span, own: &mut [u8]) -> io::Result<()>;

    /// The end of the work, with the sync of `sync-end`.
    fn finish(&mut self, own: &mut [u8]) -> io::Result<()>;

    /// Blocks in flight.
    fn queue_depth(&self) -> u32 {
        1
    }

    fn lock(&mut self) -> Result<(), Refusal>;
}

type Prepared = Result<Box<dyn Session>, Refusal>;

/// The program's memory: a place for each block in flight.
pub(super) struct Places {
    count: usize,
    /// From the start of one to the start of the next.
    stride: usize,
}

/// Everything that happens before the clock starts.
pub(crate) fn session(task: Task) -> Prepared {
    if task.job.permit.write.is_none() {
        return Err(Fault::new("the job writes, and has no permission to").into());
    }
    match task.arm.method.as_str() {
        "mmap" => mapped::support(&task)
            .map_err(Refusal::Unavailable)
            .and_then(|()| one_block(task, |task, _| MappedWriter::open(task))),
        "write" => by_calls(task, |task, _| Calls::open(task, By::Position, false)),
        "pwrite" => by_calls(task, |task, _| Calls::open(task, By::Offset, false)),
        "direct" => {
            direct::fits_writes(&task).map_err(Refusal::Unavailable)?;
            by_calls(task, |task, _| Calls::open(task, By::Offset, true))
        }
        "uring" => {
            calls::support(&task).map_err(Refusal::Unavailable)?;
            let (places, way) = uring::support(&task)?;
            prepare(task, places, move |task, own| RingWriter::open(task, way, own))
        }
        other => Err(Refusal::Unavailable(format!("{other} does not write in this version"))),
    }
}

fn by_calls(task: Task, open: impl Fn(&Task, &mut [u8]) -> Result<Calls, Fault> + 'static) -> Prepared {
    calls::support(&task).map_err(Refusal::Unavailable)?;
    one_block(task, open)
}

/// Memory for a block.
fn one_block<W: Writer + 'static>(
    task: Task,
    open: impl Fn(&Task, &mut [u8]) -> Result<W, Fault> + 'static,
) -> Prepared {
    let places = Places { count: 1, stride: task.block() };
    prepare(task, places, open)
}

fn open(task: &Task, flags: OFlags) -> Result<std::fs::File, Fault> {
    open_permitted(&task.path, task.job.permit, flags)
}

/// A file for reading and writing: the one that the job permits to write. Whatever else the path leads to by now is closed
/// again as it is.
pub(crate) fn open_permitted(path: &Path, permit: Permit, flags: OFlags) -> Result<std::fs::File, Fault> {
    let flags = flags | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = std::fs::File::from(
        rustix::fs::open(path, flags, rustix::fs::Mode::empty()).map_err(at("open(2) for writing"))?,
    );
    let (device, inode) = sys::folder::identity(&file).map_err(at("fstat(2)"))?;
    match permit.write == Some(FileIdentity { device, inode }) {
        true => Ok(file),
        false => Err(Fault::new(format!("{} is not the file that the job may write", path.display()))),
    }
}

/// `open` is how a method opens the file; it may register the program's memory. It is timed.
fn prepare<W: Writer + 'static>(
    task: Task,
    places: Places,
    open: impl Fn(&Task, &mut [u8]) -> Result<W, Fault> + 'static,
) -> Prepared {
    let own = source(&task, &places)?;
    let clock_ns = clock_ns();
    let mut session = Writing { held: None, own, open, task, clock_ns };
    match session.task.job.hold {
        Hold::No => {}
        // State `limited` has reading workloads alone.
        Hold::Open => return Err(Fault::new("a workload that writes has no warm passes of its own").into()),
        // An append would leave something behind, and there is no second end of the file.
        Hold::Rehearse if session.task.job.workload == Workload::Append => {}
        Hold::Rehearse => {
            let pattern = session.task.pattern.clone();
            let few = Pattern { ops: pattern.rehearsed(REHEARSAL_OPS), ..pattern };
            let mut writer = (session.open)(&session.task, &mut session.own)?;
            work(&mut writer, &session.task, &few, &mut session.own, Changes::Undone).map_err(at("rehearsing"))?;
            session.sync()?;
        }
        hold @ (Hold::Warm | Hold::Locked) => {
            let mut writer = (session.open)(&session.task, &mut session.own)?;
            if hold == Hold::Locked {
                writer.lock()?;
            }
            work(&mut writer, &session.task, &session.task.pattern, &mut session.own, Changes::Kept)
                .map_err(at("the pass before"))?;
            session.sync()?;
            session.held = Some(writer);
        }
    }
    Ok(Box::new(session))
}

/// What blocks are made of: the words of the generator started at the seed, once in every place.
fn source(task: &Task, places: &Places) -> Result<Buffer, Refusal> {
    let mut own = Buffer::new(places.count * places.stride).map_err(at("memory for blocks"))?;
    for place in own.chunks_mut(places.stride) {
        let mut words = SplitMix64::new(task.job.seed);
        for chunk in place[..task.block()].chunks_mut(8) {
            let word = words.output().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
    Ok(own)
}

/// A block of the source, as it is written to its offset.
fn stamped(place: &mut [u8], span: Span) -> &[u8] {
    let block = &mut place[..span.bytes as usize];
    let stamp = span.offset.to_le_bytes();
    let length = block.len().min(stamp.len());
    block[..length].copy_from_slice(&stamp[..length]);
    block
}

struct Writing<W, O> {
    /// Between passes, in states that hold the file.
    held: Option<W>,
    own: Buffer,
    open: O,
    task: Task,
    /// What reading the clock once takes.
    clock_ns: u64,
}

impl<W, O> Writing<W, O> {
    /// Syncs what was written before the clock starts.
    fn sync(&self) -> Result<(), Fault> {
        let file = open(&self.task, OFlags::empty())?;
        file.sync_all().map_err(at("fsync(2) before the pass"))
    }
}

impl<W: Writer, O: Fn(&Task, &mut [u8]) -> Result<W, Fault>> Session for Writing<W, O> {
    fn pass(&mut self, _warm: u32) -> Result<PassResult, (&'static str, Fault)> {
        let pattern = &self.task.pattern;
        let before = usage::now();
        let opening = Instant::now();
        let mut opened = match &mut self.held {
            Some(_) => None,
            None => Some((self.open)(&self.task, &mut self.own).map_err(|fault| ("open", fault))?),
        };
        let open_ns = opened.is_some().then(|| nanoseconds(opening.elapsed()));
        let writer = opened.as_mut().or(self.held.as_mut()).expect("it is open now, or was before");
        let working = Instant::now();
        let worked = work(writer, &self.task, pattern, &mut self.own, Changes::Kept);
        let work_ns = nanoseconds(working.elapsed());
        let queue_depth = writer.queue_depth();
        let parts = worked.map_err(|error| ("work", at(format!("writing with {}", self.task.job.method))(error)))?;
        let closing = Instant::now();
        let close_ns = opened.map(|writer| {
            drop(writer);
            nanoseconds(closing.elapsed())
        });
        let usage = usage::since(&before);
        let parts = parts.map(|parts| Parts { clock_ns: self.clock_ns, ..parts });
        let reached = self.task.reached;
        let tally = Tally {
            ops: pattern.ops,
            bytes: self.task.written_bytes,
            distinct_bytes: reached.bytes,
            distinct_block_bytes: None,
            distinct_pages: Some(reached.pages),
            // Another worker reads it after this pass; reading it here would count as the pass's own.
            checksum: format!("{:016x}", 0),
            threads: 1,
            queue_depth,
        };
        Ok(PassResult {
            phases: Phases { open_ns, work_ns, close_ns },
            tally,
            usage,
            parts,
            seen: Default::default(),
            observation: None,
        })
    }
}

/// What becomes of the bytes that an `update` changes. What the other workloads write is the same however often.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changes {
    Kept,
    /// Each block is stored as it was: of a rehearsal, nothing may be seen in the file. Not every runtime has one.
    Undone,
}

/// The work of a pass. The parts only of an `update`.
#[inline(never)]
fn work<W: Writer>(
    writer: &mut W,
    task: &Task,
    pattern: &Pattern,
    own: &mut [u8],
    changes: Changes,
) -> io::Result<Option<Parts>> {
    let parts = with_source!(pattern, S => match task.job.workload {
        Workload::Update => Some(update(writer, S::of(pattern, 0), own, changes)?),
        _ => put(writer, S::of(pattern, 0), own).map(|()| None)?,
    });
    let finishing = Instant::now();
    writer.finish(own)?;
    let finish_ns = if task.job.durability == Durability::SyncEnd { nanoseconds(finishing.elapsed()) } else { 0 };
    Ok(parts.map(|parts| Parts { write_ns: parts.write_ns + finish_ns, ..parts }))
}

fn put<W: Writer>(writer: &mut W, spans: impl Iterator<Item = Span>, own: &mut [u8]) -> io::Result<()> {
    for span in spans {
        writer.put(span, own)?;
    }
    Ok(())
}

fn update<W: Writer>(
    writer: &mut W,
    spans: impl Iterator<Item = Span>,
    own: &mut [u8],
    changes: Changes,
) -> io::Result<Parts> {
    let mut parts = Parts { read_ns: 0, loop_ns: 0, write_ns: 0, clock_ns: 0 };
    let mut as_it_was = Vec::new();
    for span in spans {
        let begun = Instant::now();
        let block = writer.load(span, own)?;
        if changes == Changes::Undone {
            as_it_was.clear();
            as_it_was.extend_from_slice(block);
        }
        let loaded = Instant::now();
        for byte in block.iter_mut() {
            *byte = ((u16::from(*byte) + 5) % 250) as u8;
        }
        // The compiler must not drop stores to a buffer that this function does not read again.
        let block = std::hint::black_box(block);
        if changes == Changes::Undone {
            block.copy_from_slice(&as_it_was);
        }
        let changed = Instant::now();
        writer.store(span, own)?;
        let stored = Instant::now();
        parts.read_ns += nanoseconds(loaded - begun);
        parts.loop_ns += nanoseconds(changed - loaded);
        parts.write_ns += nanoseconds(stored - changed);
    }
    Ok(parts)
}

/// What reading the clock once takes, over some thousand times.
fn clock_ns() -> u64 {
    const TIMES: u32 = 4096;
    let begun = Instant::now();
    for _ in 0..TIMES {
        std::hint::black_box(Instant::now());
    }
    nanoseconds(begun.elapsed() / TIMES)
}

#[cfg(test)]
mod tests {
    use rustix::fs::inotify;
    use schema::{Arm, protocol::Job};

    use super::*;

    /// What the worker computes between `go` and `done` is counted with the pass.
    #[test]
    fn what_a_pass_writes_is_computed_before_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [7; 65_536]).unwrap();
        let (device, inode) = sys::folder::identity(file.as_file()).unwrap();
        let arm: Arm = "pwrite".parse().unwrap();
        for workload in [Workload::Overwrite, Workload::OverwriteRandom, Workload::Update] {
            let job = Job {
                workload,
                block_bytes: 4096,
                ops: 20,
                permit: Permit { execute: false, write: Some(FileIdentity { device, inode }) },
                ..Job::new(&arm, file.path().to_str().unwrap(), Span { offset: 0, bytes: 65_536 })
            };
            let mut task = Task::new(job).unwrap();
            assert_eq!(task.written_bytes, 20 * 4096, "{workload}");
            // Nothing that a pass could compute.
            task.written_bytes = 1;
            let mut session = session(task).unwrap_or_else(|refusal| panic!("{refusal:?}"));
            assert_eq!(session.pass(0).unwrap().tally.bytes, 1, "{workload}");
        }
    }

    /// How often a file was opened since it is watched.
    fn opened(watch: &rustix::fd::OwnedFd) -> usize {
        let mut room = [std::mem::MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(watch, &mut room);
        std::iter::from_fn(|| events.next().ok().map(|it| it.events()))
            .filter(|it| it.contains(inotify::ReadFlags::OPEN))
            .count()
    }

    #[test]
    fn a_pass_opens_its_file_once_because_what_else_needs_an_open_comes_before_the_clock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [7; 65_536]).unwrap();
        let (device, inode) = sys::folder::identity(file.as_file()).unwrap();
        for arm in ["write", "pwrite", "mmap", "direct", "uring", "uring+direct"] {
            let job = Job {
                workload: Workload::Overwrite,
                block_bytes: 4096,
                ops: 16,
                permit: Permit { execute: false, write: Some(FileIdentity { device, inode }) },
                ..Job::new(&arm.parse().unwrap(), file.path().to_str().unwrap(), Span { offset: 0, bytes: 65_536 })
            };
            let mut session = match session(Task::new(job).unwrap()) {
                Ok(session) => session,
                Err(refusal) => {
                    println!("skipped: {arm}: {refusal:?}");
                    continue;
                }
            };
            let watch = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).unwrap();
            // With what closes it, because events that follow each other and are alike are one (inotify(7)).
            let flags = inotify::WatchFlags::OPEN | inotify::WatchFlags::CLOSE;
            inotify::add_watch(&watch, file.path(), flags).unwrap();
            session.pass(0).unwrap();
            assert_eq!(opened(&watch), 1, "{arm}");
        }
    }
}
