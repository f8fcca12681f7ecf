//! A pass over several files. Each is opened where its first access is, and closed after its last one, as programs do that
//! search a tree: there opening, mapping and unmapping are a large part of what a method costs. So all of it is one phase, the
//! work, and the clock is read at its ends alone. Between two stretches nothing is allocated beyond what is open and what open(2)
//! needs for a path; within one the loop is that of every other pass (`drive`).

use std::{
    io,
    sync::{Arc, Barrier, Mutex, Weak},
    time::Instant,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use schema::protocol::{Hold, Phases, Usage};

use super::{
    PassResult, REHEARSAL_OPS, Room, Session, ThreadResult, each_in_a_thread, joins::Joins, result, summarize,
};
use crate::{
    access::Way,
    buffer::Buffer,
    drive::{self, Count},
    source::{Several, SeveralFile},
    task::{Fault, Place, Refusal, Task},
    usage,
};

/// What a worker has open beside the files of a pass, and some more.
const OTHER_DESCRIPTORS: u64 = 64;

/// A file while it is open. Fields are dropped in this order.
struct Opened<W: Way> {
    own: W::Own,
    shared: Arc<W::Shared>,
    /// Of a method that keeps what is in it, while there was one left; otherwise the thread's.
    buffer: Option<Buffer>,
}

/// What one thread has open.
struct OpenFiles<W: Way> {
    /// By the places of the files.
    files: Vec<Option<Opened<W>>>,
    /// Of files that are not open.
    buffers: Vec<Buffer>,
    /// The place of the file whose accesses were the last in the thread's own buffer.
    last_in_own: Option<usize>,
}

/// Of the buffers that the threads have together beside one for each. A program with more files open keeps most of them open after it
/// has read them through: few of its files are read in turn.
const BUFFERS_BYTES_MAX: usize = 128 << 20;

struct SeveralFiles<W: Way> {
    /// Of each thread.
    opened: Vec<OpenFiles<W>>,
    rooms: Vec<Room>,
    way: W,
    task: Task,
}

/// The rooms of the threads are there already; `buffer` makes one more.
pub(super) fn prepare<W: Way>(
    way: W,
    mut task: Task,
    rooms: Vec<Room>,
    buffer: impl Fn() -> Result<Buffer, Fault>,
) -> Result<Box<dyn Session>, Refusal> {
    let Some(several) = task.several.as_ref() else {
        return Err(Fault::new("a replay of several files without any").into());
    };
    let most_open: Vec<u64> = (0..task.job.threads).map(|thread| several.most_open(thread)).collect();
    allow(most_open.iter().sum())?;
    let of_thread = BUFFERS_BYTES_MAX / rooms.len().max(1) / way.buffer_bytes(&task).max(1);
    let open_files = |most_open: &u64| {
        // One file after the other has the thread's own.
        let needed = if W::KEEPS && *most_open > 1 { *most_open as usize } else { 0 };
        let buffers = (0..needed.min(of_thread)).map(|_| buffer()).collect::<Result<_, Fault>>()?;
        Ok(OpenFiles { files: several.files.iter().map(|_| None).collect(), buffers, last_in_own: None })
    };
    let opened = most_open.iter().map(open_files).collect::<Result<_, Fault>>()?;
    let few = match task.job.hold {
        Hold::No => None,
        Hold::Rehearse => Some(several.shortened(REHEARSAL_OPS as usize, task.job.threads)),
        Hold::Open | Hold::Warm | Hold::Locked => {
            let why = "a replay of several files opens and closes them in each pass, so nothing of them is held open";
            return Err(Refusal::Unavailable(why.into()));
        }
    };
    let whole = task.several.take();
    let work = std::mem::take(&mut task.pattern.work_ps_per_byte);
    let mut session = SeveralFiles { opened, rooms, way, task };
    if let Some(few) = few {
        session.replay(&few).map_err(|(_, fault)| fault)?;
    }
    session.task.several = whole;
    session.task.pattern.work_ps_per_byte = work;
    Ok(Box::new(session))
}

/// Has so many files open at once allowed. What mappings there may be is of the same order, and more than there are files in a
/// trace.
fn allow(files: u64) -> Result<(), Refusal> {
    let needed = files.saturating_add(OTHER_DESCRIPTORS);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|it| it >= needed) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(needed), ..limit };
    let is_allowed = limit.maximum.is_none_or(|it| it >= needed) && setrlimit(Resource::Nofile, raised).is_ok();
    is_allowed.then_some(()).ok_or_else(|| {
        Refusal::Unavailable(format!("{files} files are open at once, and this process may have no more (ulimit -n)"))
    })
}

impl<W: Way> Session for SeveralFiles<W> {
    fn pass(&mut self, warm: u32) -> Result<PassResult, (&'static str, Fault)> {
        let several = self.task.several.take().ok_or_else(|| ("work", Fault::new("there are no files")))?;
        let outcome = self.replay(&several);
        self.task.several = Some(several);
        let (phases, usage, count) = outcome?;
        Ok(result(&self.task, self.way.queue_depth(), warm, phases, usage, count))
    }
}

impl<W: Way> SeveralFiles<W> {
    /// Nothing stays open, whatever the outcome.
    fn replay(&mut self, several: &Several) -> Result<(Phases, Usage, Count), (&'static str, Fault)> {
        let SeveralFiles { opened, rooms, way, task } = self;
        let common = several.files.iter().filter(|_| task.is_shared()).map(|_| Mutex::new(Weak::new())).collect();
        let joins = Joins::new(&several.accesses, task.job.threads);
        let team = Team { way, task, several, joins, barrier: Barrier::new(rooms.len()), common };
        let members = rooms.iter_mut().zip(opened.iter_mut()).collect();
        let outcome = each_in_a_thread(members, |thread, (room, opened)| team.thread(thread, room, opened));
        let outcome = outcome.and_then(summarize);
        if outcome.is_err() {
            self.opened.iter_mut().for_each(OpenFiles::close_all);
        }
        outcome
    }
}

impl<W: Way> OpenFiles<W> {
    fn close(&mut self, place: usize) {
        self.buffers.extend(self.files[place].take().and_then(|it| it.buffer));
    }

    fn close_all(&mut self) {
        (0..self.files.len()).for_each(|it| self.close(it));
    }
}

/// What the threads of a pass have in common.
struct Team<'a, W: Way> {
    way: &'a W,
    task: &'a Task,
    several: &'a Several,
    joins: Joins,
    barrier: Barrier,
    /// With shared descriptors: what is open of each file.
    common: Vec<Mutex<Weak<W::Shared>>>,
}

impl<W: Way> Team<'_, W> {
    fn thread(&self, thread: u32, room: &mut Room, opened: &mut OpenFiles<W>) -> ThreadResult {
        self.wait_for_all();
        let before = (thread == 0).then(usage::now);
        self.wait_for_all();
        let begin = Instant::now();
        let outcome = self.joins.each(&self.several.accesses, thread, Ok(Count::default()), |part, count: Count| {
            Ok(count.add(self.stretches(part, thread, room, opened)?))
        });
        let work = Some((begin, Instant::now()));
        self.wait_for_all();
        ThreadResult { open: None, work, close: None, usage: before.map(|it| usage::since(&it)), outcome }
    }

    fn wait_for_all(&self) {
        if self.task.job.threads > 1 {
            self.barrier.wait();
        }
    }

    fn stretches(
        &self,
        part: usize,
        thread: u32,
        room: &mut Room,
        opened: &mut OpenFiles<W>,
    ) -> Result<Count, (&'static str, Fault)> {
        let mut all = Count::default();
        for (stretch, part) in self.several.share(part, thread) {
            let file = &self.several.files[stretch.file];
            let OpenFiles { files, buffers, last_in_own } = opened;
            let slot = &mut files[stretch.file];
            if slot.is_none() {
                let own = self.open(stretch.file).and_then(|shared| {
                    Ok(Opened { own: self.way.own(&shared, &mut room.buffer)?, shared, buffer: buffers.pop() })
                });
                *slot = Some(own.map_err(|fault| ("open", of(file, fault)))?);
            }
            if let Some(Opened { own, shared, buffer }) = slot {
                if buffer.is_none() && last_in_own.replace(stretch.file) != Some(stretch.file) {
                    self.way.forget(own);
                }
                let mut access = self.way.access(shared, own, buffer.as_mut().unwrap_or(&mut room.buffer));
                let count =
                    drive::replay(&mut access, part, &self.task.pattern, self.task.job.consume, &mut room.destination);
                all = all.add(count.map_err(|error| ("work", unread(file, self.task, error)))?);
            }
            if stretch.is_last {
                opened.close(stretch.file);
            }
        }
        Ok(all)
    }

    /// With shared descriptors the one that another thread has open.
    fn open(&self, place: usize) -> Result<Arc<W::Shared>, Fault> {
        let file = &self.several.files[place];
        let open = || self.way.open(Place { path: &file.path, range: file.range, header: &file.header }).map(Arc::new);
        let Some(common) = self.common.get(place) else { return open() };
        let mut known = common.lock().expect("no thread panics while it holds the lock");
        match known.upgrade() {
            Some(shared) => Ok(shared),
            None => {
                let shared = open()?;
                *known = Arc::downgrade(&shared);
                Ok(shared)
            }
        }
    }
}

#[cold]
fn of(file: &SeveralFile, fault: Fault) -> Fault {
    Fault { what: format!("{}: {}", file.path.display(), fault.what), ..fault }
}

#[cold]
fn unread(file: &SeveralFile, task: &Task, error: io::Error) -> Fault {
    Fault { what: format!("reading {} with {}", file.path.display(), task.job.method), error: Some(error) }
}
