//! A pass over several files. Each is opened where its first access is, and closed after its last one, as programs do that
//! search a tree: there opening, mapping and unmapping are a large part of what a method costs. So all of it is one phase, the
//! work, and the clock is read at its ends alone. Between two stretches nothing is allocated beyond what open(2) needs for a
//! path; within one the loop is that of every other pass (`drive`).

use std::{io, time::Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use schema::protocol::{Hold, Phases};

use super::{PassResult, REHEARSAL_OPS, Room, Session, nanoseconds, result};
use crate::{
    access::Way,
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
    shared: W::Shared,
}

struct SeveralFiles<W: Way> {
    /// By their places in the table of files.
    opened: Vec<Option<Opened<W>>>,
    room: Room,
    way: W,
    task: Task,
}

/// The room of the one thread is there already.
pub(super) fn prepare<W: Way>(way: W, mut task: Task, rooms: Vec<Room>) -> Result<Box<dyn Session>, Refusal> {
    let Some((room, several)) = rooms.into_iter().next().zip(task.several.as_ref()) else {
        return Err(Fault::new("a replay of several files without any").into());
    };
    allow(several.most_open())?;
    let opened = several.files.iter().map(|_| None).collect();
    let few = match task.job.hold {
        Hold::No => None,
        Hold::Rehearse => Some(several.shortened(REHEARSAL_OPS as usize)),
        Hold::Open | Hold::Warm | Hold::Locked => {
            let why = "a replay of several files opens and closes them in each pass, so nothing of them is held open";
            return Err(Refusal::Unavailable(why.into()));
        }
    };
    let whole = task.several.take();
    let mut session = SeveralFiles { opened, room, way, task };
    if let Some(few) = few {
        session.replay(&few).map_err(|(_, fault)| fault)?;
    }
    session.task.several = whole;
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
        let before = usage::now();
        let begin = Instant::now();
        let outcome = self.replay(&several);
        let phases = Phases { open_ns: None, work_ns: nanoseconds(begin.elapsed()), close_ns: None };
        let usage = usage::since(&before);
        self.task.several = Some(several);
        Ok(result(&self.task, self.way.queue_depth(), warm, phases, usage, outcome?))
    }
}

impl<W: Way> SeveralFiles<W> {
    /// Nothing stays open, whatever the outcome.
    fn replay(&mut self, several: &Several) -> Result<Count, (&'static str, Fault)> {
        let outcome = self.stretches(several);
        if outcome.is_err() {
            self.opened.iter_mut().for_each(|it| *it = None);
        }
        outcome
    }

    fn stretches(&mut self, several: &Several) -> Result<Count, (&'static str, Fault)> {
        let SeveralFiles { opened, room, way, task } = self;
        let (consume, percent) = (task.job.consume, task.job.consumed_percent);
        let mut all = Count::default();
        for (stretch, part) in several.parts() {
            let file = &several.files[stretch.file];
            let slot = &mut opened[stretch.file];
            if slot.is_none() {
                let shared = way.open(Place { path: &file.path, range: file.range });
                let own = shared.and_then(|shared| Ok(Opened { own: way.own(&shared, &mut room.buffer)?, shared }));
                *slot = Some(own.map_err(|fault| ("open", of(file, fault)))?);
            }
            if let Some(opened) = slot {
                let mut access = way.access(&opened.shared, &mut opened.own, &mut room.buffer);
                let spans = part.iter().copied();
                let count = drive::with_spans(&mut access, spans, percent, consume, &mut room.destination);
                all = all.add(count.map_err(|error| ("work", unread(file, task, error)))?);
            }
            if stretch.is_last {
                *slot = None;
            }
        }
        Ok(all)
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
