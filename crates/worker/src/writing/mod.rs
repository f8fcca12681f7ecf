//! Workloads that change the file. The controller gives them a file of faultline's own, and nothing else.
//!
//! **What is written** is the same whatever writes it (docs/FORMATS.md, "What is written"): `overwrite` and `append` put
//! blocks of one source buffer, stamped with their offset; `update` changes every byte `b` to `(b + 5) % 250`. What came
//! of it is the controller's to look at: it has the range read once more, by another worker.
//!
//! **Where the time goes.** `open` maps or opens, `work` writes and syncs as far as the durability asks, `close` unmaps
//! and closes. An `update` also reads the clock four times a block, and says what that costs.

use std::{io, time::Instant};

use rustix::fs::OFlags;
use schema::{
    Durability, Span, Workload,
    protocol::{Hold, Parts, Phases, Tally},
};

use crate::{
    buffer::Buffer,
    method::direct,
    offsets::{Pattern, SplitMix64},
    session::{Measured, Session, nanoseconds},
    task::{Fault, Refusal, Task, at},
    usage,
};

mod calls;
mod mapped;

use calls::{By, Calls};
use mapped::Mapped;

/// What the timed loop sees of a file that is written.
trait Writer {
    /// A block, whole, from the program's own memory.
    fn put(&mut self, span: Span, source: &[u8]) -> io::Result<()>;

    /// A block as it is, to be changed in place; `store` follows.
    fn load(&mut self, span: Span) -> io::Result<&mut [u8]>;

    fn store(&mut self, span: Span) -> io::Result<()>;

    /// The sync of `sync-end`.
    fn finish(&mut self) -> io::Result<()>;

    fn lock(&mut self) -> Result<(), Refusal>;
}

/// Everything that comes before the clock.
pub(crate) fn session(task: Task) -> Result<Box<dyn Session>, Refusal> {
    match task.arm.method.as_str() {
        "mmap" => mapped::support(&task).map_err(Refusal::Unavailable).and_then(|()| prepare(task, Mapped::open)),
        "write" => by_calls(task, |task| Calls::open(task, By::Position, false)),
        "pwrite" => by_calls(task, |task| Calls::open(task, By::Offset, false)),
        "direct" => {
            direct::fits_writes(&task).map_err(Refusal::Unavailable)?;
            by_calls(task, |task| Calls::open(task, By::Offset, true))
        }
        other => Err(Refusal::Unavailable(format!("{other} does not write in this version"))),
    }
}

fn by_calls(task: Task, open: fn(&Task) -> Result<Calls, Fault>) -> Result<Box<dyn Session>, Refusal> {
    calls::support(&task).map_err(Refusal::Unavailable)?;
    prepare(task, open)
}

/// The file for reading and writing; faultline's own.
fn open(task: &Task, flags: OFlags) -> Result<std::fs::File, Fault> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::File::options();
    options.read(true).write(true).custom_flags(flags.bits() as i32);
    options.open(&task.path).map_err(at("open(2) for writing"))
}

/// Blocks of a rehearsal.
const REHEARSAL_OPS: u64 = 16;

fn prepare<W: Writer + 'static>(task: Task, open: fn(&Task) -> Result<W, Fault>) -> Result<Box<dyn Session>, Refusal> {
    let source = source(&task)?;
    let mut session = Writing { held: None, source, open, task };
    match session.task.job.hold {
        Hold::No => {}
        // An append would leave something behind, and there is no second end of the file.
        Hold::Rehearse if session.task.job.workload == Workload::Append => {}
        Hold::Rehearse => {
            let pattern = session.task.pattern;
            let few = Pattern { ops: pattern.ops.min(REHEARSAL_OPS), ..pattern };
            let mut writer = (session.open)(&session.task)?;
            work(&mut writer, &session.task, &few, &mut session.source).map_err(at("rehearsing"))?;
            session.settle()?;
        }
        hold @ (Hold::Warm | Hold::Locked) => {
            let mut writer = (session.open)(&session.task)?;
            if hold == Hold::Locked {
                writer.lock()?;
            }
            let pattern = session.task.pattern;
            work(&mut writer, &session.task, &pattern, &mut session.source).map_err(at("the pass before"))?;
            session.settle()?;
            session.held = Some(writer);
        }
    }
    Ok(Box::new(session))
}

/// What blocks are made of: the words of the generator started at the seed.
fn source(task: &Task) -> Result<Buffer, Refusal> {
    let mut buffer = Buffer::new(task.block()).map_err(at("a buffer"))?;
    let mut words = SplitMix64::new(task.job.seed);
    for chunk in buffer.chunks_mut(8) {
        let word = words.output().to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
    Ok(buffer)
}

struct Writing<W> {
    /// Between passes, in states that hold the file.
    held: Option<W>,
    source: Buffer,
    open: fn(&Task) -> Result<W, Fault>,
    task: Task,
}

impl<W> Writing<W> {
    /// What was done before the clock started is on the device when it starts.
    fn settle(&self) -> Result<(), Fault> {
        let file = std::fs::File::open(&self.task.path).map_err(at("open(2)"))?;
        file.sync_all().map_err(at("fsync(2) before the pass"))
    }
}

impl<W: Writer> Session for Writing<W> {
    fn pass(&mut self) -> Result<Measured, (&'static str, Fault)> {
        let clock_ns = clock_ns();
        let pattern = self.task.pattern;
        let before = usage::now();
        let opening = Instant::now();
        let mut opened = match &mut self.held {
            Some(_) => None,
            None => Some((self.open)(&self.task).map_err(|fault| ("open", fault))?),
        };
        let open_ns = opened.is_some().then(|| nanoseconds(opening.elapsed()));
        let writer = opened.as_mut().or(self.held.as_mut()).expect("it is open now, or was before");
        let working = Instant::now();
        let worked = work(writer, &self.task, &pattern, &mut self.source);
        let work_ns = nanoseconds(working.elapsed());
        let parts = worked.map_err(|error| ("work", at(format!("writing with {}", self.task.job.method))(error)))?;
        let closing = Instant::now();
        let close_ns = opened.map(|writer| {
            drop(writer);
            nanoseconds(closing.elapsed())
        });
        let usage = usage::since(&before);
        let parts = parts.map(|parts| Parts { clock_ns, ..parts });
        let tally = Tally {
            ops: pattern.ops,
            bytes: bytes(&pattern),
            distinct_bytes: pattern.distinct_bytes(),
            // Read by somebody else, when this pass is over: reading it here would be counted as the pass's own.
            checksum: format!("{:016x}", 0),
            threads: 1,
            queue_depth: 1,
        };
        Ok(Measured { phases: Phases { open_ns, work_ns, close_ns }, tally, usage, parts, observation: None })
    }
}

/// Of all blocks, repetitions counted.
fn bytes(pattern: &Pattern) -> u64 {
    match pattern.workload.is_ascending() {
        true => pattern.scan(0).map(|span| span.bytes).sum(),
        false => pattern.ops * pattern.block,
    }
}

/// The work of a pass. The parts only of an `update`.
#[inline(never)]
fn work<W: Writer>(writer: &mut W, task: &Task, pattern: &Pattern, source: &mut [u8]) -> io::Result<Option<Parts>> {
    let parts = match task.job.workload {
        Workload::Update => Some(update(writer, pattern.scan(0))?),
        Workload::OverwriteRandom => put(writer, pattern.random(0), source).map(|()| None)?,
        _ => put(writer, pattern.scan(0), source).map(|()| None)?,
    };
    let finishing = Instant::now();
    writer.finish()?;
    let finish_ns = if task.job.durability == Durability::SyncEnd { nanoseconds(finishing.elapsed()) } else { 0 };
    Ok(parts.map(|parts| Parts { write_ns: parts.write_ns + finish_ns, ..parts }))
}

fn put<W: Writer>(writer: &mut W, spans: impl Iterator<Item = Span>, source: &mut [u8]) -> io::Result<()> {
    for span in spans {
        let block = &mut source[..span.bytes as usize];
        let stamp = span.offset.to_le_bytes();
        let length = block.len().min(stamp.len());
        block[..length].copy_from_slice(&stamp[..length]);
        writer.put(span, block)?;
    }
    Ok(())
}

fn update<W: Writer>(writer: &mut W, spans: impl Iterator<Item = Span>) -> io::Result<Parts> {
    let mut parts = Parts { read_ns: 0, loop_ns: 0, write_ns: 0, clock_ns: 0 };
    for span in spans {
        let begun = Instant::now();
        let block = writer.load(span)?;
        let loaded = Instant::now();
        for byte in block.iter_mut() {
            *byte = ((u16::from(*byte) + 5) % 250) as u8;
        }
        // A buffer of our own is not read again by anybody the compiler can see.
        std::hint::black_box(block);
        let changed = Instant::now();
        writer.store(span)?;
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
