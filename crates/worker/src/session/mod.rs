//! Everything around the timed loop: opening, phases, threads, keeping a file open between passes.
//!
//! Phases begin when the first thread begins them and end when the last one ends them; between phases all threads
//! wait for each other. Buffers and threads exist before the first clock is read. No policy here: what to do is in
//! the task.

mod joins;
mod several;

use std::{
    io,
    sync::{Arc, Barrier, Mutex},
    time::{Duration, Instant},
};

use joins::Joins;
use rustix::mm::MapFlags;
use schema::{
    Descriptor, Span, Workload,
    protocol::{Hold, Phases, Tally, Usage, warm_seed},
};

use crate::{
    access::{
        Access, Way, open_plain,
        positional::{Positional, PreadCall},
    },
    buffer::Buffer,
    consume::Sum,
    drive::{self, Count},
    mapping::{Mapping, lock_refused},
    source::Scan,
    task::{Fault, Refusal, Task, at},
    usage,
};

/// The state that one `prepare` creates.
pub(crate) trait Session {
    /// The timed pass, or the given warm one before it (from 1).
    ///
    /// # Errors
    /// Which phase failed (`open`, `work`), and why.
    fn pass(&mut self, warm: u32) -> Result<PassResult, (&'static str, Fault)>;

    /// After the last pass, once the controller has looked at what it left: what is to be reported if it fails. Everything else
    /// is released when the session is dropped.
    ///
    /// # Errors
    /// What failed.
    fn end(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// The result of one `go`.
pub(crate) struct PassResult {
    pub phases: Phases,
    pub tally: Tally,
    pub usage: Usage,
    pub parts: Option<schema::protocol::Parts>,
    /// Of processes that the session started.
    pub seen: std::collections::BTreeMap<String, schema::Reading<f64>>,
    /// Of a command that was watched.
    pub observation: Option<Box<schema::observation::Observation>>,
}

/// Allocates, and opens and warms what is to be held.
pub(crate) fn prepare<W: Way>(way: W, task: Task) -> Result<Box<dyn Session>, Refusal> {
    let lends_file = !<W::Access<'static> as Access>::PRIVATE;
    let destination_bytes = match task.job.consume {
        schema::Consume::Copy if lends_file => task.block(),
        _ => 0,
    };
    let buffer = |made: fn(usize) -> io::Result<Buffer>, bytes: usize| {
        made(bytes).map_err(at(format!("a buffer of {bytes} bytes")))
    };
    let of_arm = if task.arm.word("buffer") == "malloc" { Buffer::as_of_malloc } else { Buffer::new };
    let buffer_bytes = way.buffer_bytes(&task);
    let rooms = (0..task.job.threads)
        .map(|_| {
            let destination = buffer(Buffer::new, destination_bytes)?;
            Ok(Room { buffer: buffer(of_arm, buffer_bytes)?, destination })
        })
        .collect::<Result<Vec<Room>, Fault>>()?;
    if task.several.is_some() {
        return several::prepare(way, task, rooms, || buffer(of_arm, buffer_bytes));
    }
    let mut session = Reading { held: None, pinned: None, rooms, way, task };
    match session.task.job.hold {
        Hold::No => {}
        Hold::Rehearse => session.rehearse()?,
        Hold::Open | Hold::Warm | Hold::Locked => session.hold()?,
    }
    Ok(Box::new(session))
}

/// One thread's memory.
struct Room {
    /// What the method reads into.
    buffer: Buffer,
    /// What `copy` copies to, when bytes are lent out of the file.
    destination: Buffer,
}

/// What one thread works with while the file is open. Fields are dropped in this order.
struct Opened<W: Way> {
    own: W::Own,
    shared: Arc<W::Shared>,
}

/// The session of method `W`. Fields are dropped in this order: rings before the buffers they write to.
struct Reading<W: Way> {
    /// One for each thread, between passes; `None` if each pass opens the file itself.
    held: Option<Vec<Opened<W>>>,
    /// Pins the pages for methods that have no mapping of their own.
    pinned: Option<Mapping>,
    rooms: Vec<Room>,
    way: W,
    task: Task,
}

impl<W: Way> Session for Reading<W> {
    fn pass(&mut self, warm: u32) -> Result<PassResult, (&'static str, Fault)> {
        self.task.pattern.seed = warm_seed(self.task.job.seed, warm);
        let (phases, usage, count) = run(&self.way, &self.task, &mut self.rooms, self.held.as_mut())?;
        Ok(result(&self.task, self.way.queue_depth(), warm, phases, usage, count))
    }
}

fn result(task: &Task, queue_depth: u32, warm: u32, phases: Phases, usage: Usage, count: Count) -> PassResult {
    // Another pass reaches other places.
    let reached = (warm == 0).then_some(task.reached);
    let tally = Tally {
        ops: count.ops,
        bytes: count.bytes,
        distinct_bytes: reached.map_or(0, |it| it.bytes),
        distinct_block_bytes: reached.filter(|_| task.job.consumed_percent < 100).map(|it| it.block_bytes),
        distinct_pages: reached.map(|it| it.pages),
        checksum: format!("{:016x}", count.checksum),
        threads: task.pattern.threads,
        queue_depth,
    };
    PassResult { phases, tally, usage, parts: None, seen: Default::default(), observation: None }
}

/// Blocks of a rehearsal.
pub(crate) const REHEARSAL_OPS: u64 = 16;

impl<W: Way> Reading<W> {
    /// One short pass, opened and closed. Without it the first blocks of the timed pass would include the worker's faults
    /// on its own code.
    fn rehearse(&mut self) -> Result<(), Refusal> {
        let few = self.task.pattern.shortened(REHEARSAL_OPS);
        let whole = std::mem::replace(&mut self.task.pattern, few);
        let rehearsed = run(&self.way, &self.task, &mut self.rooms, None);
        self.task.pattern = whole;
        rehearsed.map_err(|(_, fault)| fault)?;
        Ok(())
    }

    /// Opens the file, pins its pages if asked for, and brings it into the state that `Hold` promises.
    fn hold(&mut self) -> Result<(), Refusal> {
        let Reading { held, pinned, rooms, way, task, .. } = self;
        let mut common = None;
        let mut opened: Vec<Opened<W>> = Vec::new();
        for room in &mut *rooms {
            let shared = match &common {
                Some(shared) => Arc::clone(shared),
                None => Arc::new(way.open(task.place())?),
            };
            if task.job.descriptor == Descriptor::Shared {
                common = Some(Arc::clone(&shared));
            }
            opened.push(Opened { own: way.own(&shared, &mut room.buffer)?, shared });
        }
        let different = if common.is_some() { 1 } else { opened.len() };
        let range = task.pattern.range;
        if task.job.hold == Hold::Locked {
            let refused = |error: io::Error| Refusal::Unavailable(lock_refused(range.bytes, &error));
            for thread in &opened[..different] {
                if !way.lock(&thread.shared).map_err(refused)? && pinned.is_none() {
                    let mapping =
                        Mapping::new(&open_plain(task.place())?, range, MapFlags::SHARED).map_err(at("mmap(2)"))?;
                    mapping.lock().map_err(refused)?;
                    *pinned = Some(mapping);
                }
            }
        }
        if task.job.hold != Hold::Open {
            // First the job's own pass: its pages are mapped; the code, the ring and the C library's buffers are in
            // use. Then a part of the range: otherwise the lines of exactly these blocks would lie in the CPU's caches,
            // which makes a mapping appear faster, much more than a system call. A scan of as many bytes has replaced
            // them itself.
            run(way, task, rooms, Some(&mut opened)).map_err(|(_, fault)| fault)?;
            if !sweeps(task) && !way.is_uncached() {
                sweep(way, task, rooms, &mut opened[..different])?;
            }
        }
        *held = Some(opened);
        Ok(())
    }
}

/// Larger than the last-level cache of most machines, small enough to be swept before every pass.
const SWEEP_BYTES: u64 = 64 << 20;

/// Whether a pass does itself what a sweep would: it looks at every byte up to the end of a range that is as large.
fn sweeps(task: &Task) -> bool {
    task.pattern.covers_its_range()
        && task.job.consume.looks_every() == 1
        && task.pattern.consumed_percent == 100
        && task.pattern.range.bytes >= SWEEP_BYTES
}

/// Reads the end of the range once, in every mapping of it, or else by `pread`: the CPU's caches see the same bytes
/// either way.
fn sweep<W: Way>(way: &W, task: &Task, rooms: &mut [Room], opened: &mut [Opened<W>]) -> Result<(), Fault> {
    const BLOCK: u64 = 1 << 20;
    let whole = task.pattern.range;
    let skipped = whole.bytes.saturating_sub(SWEEP_BYTES) / BLOCK * BLOCK;
    let range = Span { offset: whole.offset + skipped, bytes: whole.bytes - skipped };
    let block = BLOCK.min(range.bytes);
    let warming = || at("sweeping the range before a pass");
    if !<W::Access<'static> as Access>::PRIVATE {
        for (thread, room) in opened.iter_mut().zip(rooms) {
            way.forget(&mut thread.own);
            let mut access = way.access(&thread.shared, &mut thread.own, &mut room.buffer);
            drive::drive(&mut access, Scan::once(range, block), Sum::default).map_err(warming())?;
        }
        return Ok(());
    }
    let file = open_plain(task.place())?;
    let mut buffer = Buffer::new(block as usize).map_err(warming())?;
    let mut nothing = ();
    let mut access = Positional::<PreadCall>::WAY.access(&file, &mut nothing, &mut buffer);
    drive::drive(&mut access, Scan::once(range, block), Sum::default).map_err(warming())?;
    Ok(())
}

/// When a thread began and ended a phase.
type Interval = (Instant, Instant);

/// The result of one thread.
struct ThreadResult {
    open: Option<Interval>,
    work: Option<Interval>,
    close: Option<Interval>,
    usage: Option<Usage>,
    outcome: Result<Count, (&'static str, Fault)>,
}

/// One pass over all threads.
fn run<W: Way>(
    way: &W,
    task: &Task,
    rooms: &mut [Room],
    held: Option<&mut Vec<Opened<W>>>,
) -> Result<(Phases, Usage, Count), (&'static str, Fault)> {
    let joins = Joins::new(&task.pattern.accesses, task.job.threads);
    let team = Team { way, task, joins, barrier: Barrier::new(rooms.len()), common: Mutex::new(Vec::new()) };
    let held: Vec<Option<&mut Opened<W>>> = match held {
        Some(opened) => opened.iter_mut().map(Some).collect(),
        None => rooms.iter().map(|_| None).collect(),
    };
    summarize(each_in_a_thread(rooms.iter_mut().zip(held).collect(), |thread, (room, held)| {
        team.thread(thread, room, held)
    })?)
}

/// What each thread makes of what it has: this one and as many more as are needed.
fn each_in_a_thread<M: Send>(
    members: Vec<M>,
    body: impl Fn(u32, M) -> ThreadResult + Sync,
) -> Result<Vec<ThreadResult>, (&'static str, Fault)> {
    let mut members = members.into_iter().enumerate();
    let (_, own) = members.next().expect("a task has at least one thread");
    if members.len() == 0 {
        return Ok(vec![body(0, own)]);
    }
    // Spawn all threads before releasing the first barrier: it would wait for ever for a thread that cannot be created.
    let complete = Mutex::new(false);
    std::thread::scope(|scope| {
        let mut complete_now = complete.lock().expect("no thread panics while it holds the lock");
        let mut others = Vec::new();
        for (index, member) in members {
            let (body, complete) = (&body, &complete);
            let in_thread = move || {
                let go = *complete.lock().expect("no thread panics while it holds the lock");
                go.then(|| body(index as u32, member))
            };
            let spawned = std::thread::Builder::new().spawn_scoped(scope, in_thread);
            others.push(spawned.map_err(|error| ("open", at(format!("starting thread {index}"))(error)))?);
        }
        *complete_now = true;
        drop(complete_now);
        let mut parts = vec![body(0, own)];
        parts.extend(others.into_iter().filter_map(|other| other.join().expect("a pass does not panic")));
        Ok(parts)
    })
}

fn summarize(parts: Vec<ThreadResult>) -> Result<(Phases, Usage, Count), (&'static str, Fault)> {
    let elapsed = |intervals: Vec<Option<Interval>>| -> Option<u64> {
        let intervals: Vec<Interval> = intervals.into_iter().flatten().collect();
        let begin = intervals.iter().map(|(begin, _)| *begin).min()?;
        let end = intervals.iter().map(|(_, end)| *end).max()?;
        Some(nanoseconds(end - begin))
    };
    let open_ns = elapsed(parts.iter().map(|part| part.open).collect());
    let work_ns = elapsed(parts.iter().map(|part| part.work).collect());
    let close_ns = elapsed(parts.iter().map(|part| part.close).collect());
    let mut usage = None;
    let mut count = Count::default();
    for part in parts {
        count = count.add(part.outcome?);
        usage = usage.or(part.usage);
    }
    let missing = |what: &str| ("work", Fault::new(format!("no thread reported {what}")));
    let phases = Phases { open_ns, work_ns: work_ns.ok_or_else(|| missing("a time"))?, close_ns };
    Ok((phases, usage.ok_or_else(|| missing("its usage"))?, count))
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).expect("a pass does not take centuries")
}

/// What the threads of a pass have in common.
struct Team<'a, W: Way> {
    way: &'a W,
    task: &'a Task,
    joins: Joins,
    barrier: Barrier,
    /// With a shared descriptor: what the first thread opened, once for each of the others.
    common: Mutex<Vec<Arc<W::Shared>>>,
}

impl<W: Way> Team<'_, W> {
    /// Waits until every thread is here. A single thread makes no system call for it.
    fn wait_for_all(&self) {
        if self.task.job.threads > 1 {
            self.barrier.wait();
        }
    }

    /// One thread's part. Every path through it waits at the same number of barriers, also after a failure.
    fn thread(&self, thread: u32, room: &mut Room, held: Option<&mut Opened<W>>) -> ThreadResult {
        self.wait_for_all();
        let before = (thread == 0).then(usage::now);
        self.wait_for_all();
        let mut part = match held {
            Some(opened) => self.held_pass(thread, room, opened),
            None => self.whole_pass(thread, room),
        };
        self.wait_for_all();
        part.usage = before.map(|before| usage::since(&before));
        part
    }

    fn held_pass(&self, thread: u32, room: &mut Room, opened: &mut Opened<W>) -> ThreadResult {
        let (work, outcome) = self.work(thread, room, opened);
        ThreadResult { open: None, work: Some(work), close: None, usage: None, outcome }
    }

    fn whole_pass(&self, thread: u32, room: &mut Room) -> ThreadResult {
        let opening = Instant::now();
        let opened = self.open(thread, &mut room.buffer);
        let open = Some((opening, Instant::now()));
        self.wait_for_all();
        let done = opened.map(|mut opened| (self.work(thread, room, &mut opened), opened));
        let done = done.map_err(|fault| self.joins.nothing(&self.task.pattern.accesses, thread, fault));
        self.wait_for_all();
        match done {
            Ok(((work, outcome), opened)) => {
                let closing = Instant::now();
                drop(opened);
                let close = Some((closing, Instant::now()));
                ThreadResult { open, work: Some(work), close, usage: None, outcome }
            }
            Err(fault) => ThreadResult { open, work: None, close: None, usage: None, outcome: Err(("open", fault)) },
        }
    }

    fn open(&self, thread: u32, buffer: &mut Buffer) -> Result<Opened<W>, Fault> {
        let shared = if self.task.is_shared() {
            let mine = (thread == 0).then(|| self.way.open(self.task.place()).map(Arc::new)).transpose();
            if let Ok(Some(shared)) = &mine {
                let others = self.task.job.threads as usize - 1;
                self.common
                    .lock()
                    .expect("no thread panics while it holds the lock")
                    .extend(vec![Arc::clone(shared); others]);
            }
            self.wait_for_all();
            let given = || self.common.lock().expect("no thread panics while it holds the lock").pop();
            match mine? {
                Some(shared) => shared,
                None => given().ok_or_else(|| Fault::new("the thread that opens the shared file failed"))?,
            }
        } else {
            Arc::new(self.way.open(self.task.place())?)
        };
        Ok(Opened { own: self.way.own(&shared, buffer)?, shared })
    }

    fn work(
        &self,
        thread: u32,
        room: &mut Room,
        opened: &mut Opened<W>,
    ) -> (Interval, Result<Count, (&'static str, Fault)>) {
        self.way.forget(&mut opened.own);
        let mut access = self.way.access(&opened.shared, &mut opened.own, &mut room.buffer);
        let job = &self.task.job;
        let pattern = &self.task.pattern;
        let begin = Instant::now();
        let outcome = match pattern.workload {
            Workload::Replay => self.joins.each(&pattern.accesses, thread, Ok(Count::default()), |part, before| {
                let spans = pattern.accesses.of(part, thread);
                let count = drive::replay(&mut access, spans, pattern, job.consume, &mut room.destination);
                Ok(before.add(count?))
            }),
            _ => drive::pass(&mut access, pattern, thread, job.consume, &mut room.destination),
        };
        let end = Instant::now();
        ((begin, end), outcome.map_err(|error| ("work", at(format!("reading with {}", job.method))(error))))
    }
}
