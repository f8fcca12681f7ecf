//! Follows a command and everything that it starts through its system calls on files, by ptrace(2) and a seccomp filter:
//! it is stopped only at selected calls. No root is needed, nothing is loaded into the program, and tracing ends with the
//! thread that traces.
//!
//! What a descriptor refers to is looked up in /proc while the program is stopped. The listener interprets the calls.

mod calls;
mod filter;
mod inject;
mod opened;
mod ptrace;
mod received;
mod recorded;
mod touches;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs, io,
    io::{Read, Write},
    os::unix::{
        fs::{FileExt, MetadataExt},
        process::{CommandExt, ExitStatusExt},
    },
    path::Path,
    process::{Command, ExitStatus},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

pub use calls::{At, CALLS, Call, Does};
use opened::NotSeen;
pub use opened::Opened;
use ptrace::Stop;
pub use received::Given;
use recorded::{Processes, Recorder};
use touches::{Faults, Touches};
pub use touches::{MAPPING_BYTES_MIN, TouchesAsked, TouchesSeen};

use crate::{folder::Identity, process::number_after};

/// How calls become known.
#[derive(Clone, Copy)]
pub enum WatchedBy {
    /// The program is stopped at each of them.
    Stopped,
    /// Only at the rare ones; the kernel records the others.
    Recorded,
}

/// What happened. Numbers of threads are the kernel's; a process has that of its first thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The first one has no parent.
    Began {
        thread: i32,
        process: i32,
        parent: Option<i32>,
        shares_files: bool,
    },
    /// A program took the process over; these are all the descriptors that it has.
    Executed {
        thread: i32,
        path: String,
        /// By what its file says of itself.
        is_go: bool,
        runs_as_other: bool,
        files: Vec<(i32, Opened)>,
    },
    Called(Called),
    /// A descriptor that no call of the thread has opened is an open file that another thread has too, under this descriptor:
    /// they share its position. Without that it is not known whether it is.
    Shared {
        thread: i32,
        descriptor: i32,
        with: Option<(i32, i32)>,
    },
    /// What a thread has open may not be looked at: what its call opened, or read at a position that is looked up, if it is of one
    /// descriptor. The call follows.
    Hidden {
        thread: i32,
        descriptor: Option<i32>,
    },
    /// A thread ended within a call that moves the position of an open file: it may have moved.
    Unplaced {
        /// The listener's number.
        open: usize,
    },
    /// A page was touched where something is mapped, for the first time or once more.
    Touched {
        thread: i32,
        address: u64,
    },
    Ended {
        thread: i32,
    },
    /// What follows happened at that time, or up to some milliseconds before (CLOCK_MONOTONIC).
    Clock {
        ns: u64,
    },
    /// A call of a program for another architecture. It is not decoded.
    Foreign {
        thread: i32,
    },
}

/// A call with its result: errors are negative; absent where it was not waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    pub thread: i32,
    pub call: &'static Call,
    pub arguments: [u64; 6],
    pub result: Option<i64>,
    /// What the new descriptor of an opening call is, or a descriptor that the listener did not have.
    pub opened: Option<Opened>,
    /// Another thread was in a call that moves the position at which this one begins. The kernel makes one after the other
    /// (fs/file.c, `f_pos_lock`), and which of them came first is not known; a position that was looked up after this one may be
    /// that after both.
    pub is_beside: bool,
}

/// What is looked at beside the calls.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    /// How much of every file is in the page cache when it is first seen.
    pub residency: bool,
    /// The program is stopped at every call then.
    pub touches: Option<TouchesAsked>,
}

/// Between two events `Clock`.
const TICK_NS: u64 = 1_000_000;

/// CLOCK_MONOTONIC.
fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Receives the events of a followed command.
pub trait Listener {
    fn receive(&mut self, event: Event);

    /// Whether it is known what a descriptor is; if not, it is looked up.
    fn has_descriptor(&self, thread: i32, descriptor: i32) -> bool;

    /// Whether the position of what a descriptor is follows from the calls; if not, it is looked up after each call that reads
    /// there.
    fn has_position(&self, thread: i32, descriptor: i32) -> bool;

    /// The open file that a descriptor is of, by the listener's number; `Some(None)` of what is no file, or does not matter.
    fn open_file(&self, thread: i32, descriptor: i32) -> Option<Option<usize>>;
}

/// How the command ended.
#[derive(Debug)]
pub struct Followed {
    pub status: ExitStatus,
    /// From its start to the end of its own process.
    pub took: Duration,
    /// It was killed at the time limit.
    pub expired: bool,
    /// Processes that still ran when it had ended, and were killed.
    pub left: usize,
    /// Frequent calls that were made after the last that a recording holds.
    pub beyond: u64,
    /// The same of writes, which move the positions of files that are open for both.
    pub beyond_writes: u64,
    /// If touches were asked for.
    pub touches: Option<TouchesSeen>,
}

/// Why a command was not followed.
#[derive(Debug)]
pub enum FollowError {
    /// It cannot be started, followed or not.
    Unstartable(io::Error),
    /// The kernel does not allow it; what would change that.
    Refused(String),
    /// It ran to its end, and the recording has gaps: so many events are missing.
    Lost(u64),
}

/// How long children that are about to end may take. Traced, and on a busy machine, some take long.
const GRACE: Duration = Duration::from_secs(1);
/// Interval at which they are polled. Each of their stops waits for one.
const NAP: Duration = Duration::from_micros(100);

/// A command whose process is there and has executed nothing yet. Without `follow` it ends when this is dropped.
pub struct Waiting {
    started: Started,
    calls: Vec<&'static Call>,
    how: WatchedBy,
}

/// Forks the process of a command. Call it before this process starts threads: until it executes its program the child
/// allocates and reads the environment, and a thread that is in the middle of either has no counterpart in the child.
///
/// # Errors
/// No pipe, no process.
pub fn start(command: Command, how: WatchedBy) -> Result<Waiting, FollowError> {
    let is_stopped_at = |it: &&Call| match how {
        WatchedBy::Stopped => !it.writes() && !it.receives(),
        WatchedBy::Recorded => !it.is_frequent(),
    };
    let calls: Vec<&'static Call> = CALLS.iter().filter(is_stopped_at).collect();
    let started = fork(command, filter::of(&calls))?;
    Ok(Waiting { started, calls, how })
}

impl Waiting {
    /// Runs the command to its end. Its streams, its group and its session are as it says; nothing of it is left when this
    /// returns. Call it in the thread that has started it: only that one may trace it.
    ///
    /// # Errors
    /// It cannot be started, or must not be followed in this way here; or the recording has gaps.
    pub fn follow(
        self,
        limit: Duration,
        beside: &Beside,
        listener: &mut dyn Listener,
    ) -> Result<Followed, FollowError> {
        follow(self, limit, beside, listener)
    }
}

fn follow(
    waiting: Waiting,
    limit: Duration,
    beside: &Beside,
    listener: &mut dyn Listener,
) -> Result<Followed, FollowError> {
    let Waiting { started: Started { process, mut gate, word }, calls, how } = waiting;
    let ready = || {
        ptrace::seize(process).map_err(|error| explain(&error))?;
        let pid = Pid::from_raw(process).expect("a child has a number");
        let held = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| format!("pidfd_open: {error}"))?;
        let recorder = match how {
            WatchedBy::Stopped => None,
            WatchedBy::Recorded => Some(Recorder::start()?),
        };
        Ok((held, recorder.unzip()))
    };
    let (held, (recorder, recording)) = match ready() {
        Ok(ready) => ready,
        Err(reason) => {
            // The gate closes unopened, and the child ends.
            drop(gate);
            while !matches!(ptrace::wait(true), Ok(Some((_, Stop::Ended(_)))) | Err(_)) {}
            return Err(FollowError::Refused(reason));
        }
    };
    let (recorded, mut stops) = recording.unzip();
    let asked = beside.touches.as_ref();
    let (faults, refused) = match asked.map(|_| Faults::of(process)) {
        Some(Ok(faults)) => (Some(faults), None),
        Some(Err(why)) => (None, Some(why)),
        None => (None, None),
    };
    let received: &mut dyn Listener = match &mut stops {
        Some(stops) => stops,
        None => &mut *listener,
    };
    let mut follower = Follower {
        calls,
        listener: received,
        recorded,
        touches: asked.zip(faults.as_ref()).map(|(asked, faults)| Touches::of(faults, &asked.files)),
        looked_at: beside.residency.then(HashSet::new),
        tasks: BTreeMap::new(),
        movers: BTreeSet::new(),
        early: BTreeSet::new(),
        told_ns: 0,
    };
    follower.begin(process, process, None, false);
    let (expired, all_ended) = (AtomicBool::new(false), AtomicBool::new(false));
    let (over, is_over) = mpsc::channel::<()>();
    let (status, took, left, tape) = std::thread::scope(|scope| {
        let (expired, all_ended, held) = (&expired, &all_ended, &held);
        scope.spawn(move || {
            if is_over.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                expired.store(true, Ordering::Relaxed);
                let _ = pidfd_send_signal(held, Signal::KILL);
            }
        });
        let recording = recorder.map(|it| scope.spawn(move || it.run(all_ended)));
        if let Some((asked, faults)) = asked.zip(faults.as_ref()) {
            scope.spawn(move || faults.watch(asked.budget, all_ended));
        }
        let began = Instant::now();
        let _ = gate.write_all(&[1]);
        drop(gate);
        let status = follower.until_end(process);
        let took = began.elapsed();
        drop(over);
        let patience = if expired.load(Ordering::Relaxed) { Duration::ZERO } else { GRACE };
        let left = follower.end_the_rest(patience);
        follower.tell_touches();
        all_ended.store(true, Ordering::Release);
        (status, took, left, recording.map(|it| it.join().expect("it does not panic")))
    });
    match described(word) {
        Some(Word::Exec(error)) => return Err(FollowError::Unstartable(error)),
        Some(Word::Filter(error)) => {
            return Err(FollowError::Refused(format!("a seccomp filter cannot be set: {error}")));
        }
        None => {}
    }
    let expired = expired.into_inner();
    let lost = follower.recorded.as_ref().map_or(0, Processes::lost);
    let touches = match follower.touches {
        Some(touches) => Some(touches.seen()),
        None => refused.map(|why| TouchesSeen { refused: Some(why), ..TouchesSeen::default() }),
    };
    let (mut beyond, mut beyond_writes) = (0, 0);
    if let Some((tape, stops)) = tape.zip(stops) {
        if lost > 0 && !expired {
            return Err(FollowError::Lost(lost));
        }
        (beyond, beyond_writes) = (tape.beyond + lost + stops.beyond, tape.beyond_writes);
        beyond += tape.replay(stops.received(), listener);
    }
    Ok(Followed { status, took, expired, left, beyond, beyond_writes, touches })
}

/// Whether `How::Recorded` is to be had here.
///
/// # Errors
/// Why not, and what would change that.
pub fn can_record() -> Result<(), String> {
    Recorder::start().map(drop)
}

fn explain(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
            let scope = if scope.trim().is_empty() { "not there" } else { scope.trim() };
            format!(
                "this user may not trace a child of its own (kernel.yama.ptrace_scope is {scope}; a container may forbid \
                 it too, then --cap-add=SYS_PTRACE helps)"
            )
        }
        _ => format!("ptrace: {error}"),
    }
}

/// A child that waits before its gate.
struct Started {
    process: i32,
    gate: io::PipeWriter,
    /// Through this pipe it reports why exec failed.
    word: io::PipeReader,
}

enum Word {
    Exec(io::Error),
    Filter(io::Error),
}

/// An error's number with this added is one of the filter's.
const OF_FILTER: i32 = 1 << 16;

fn fork(mut command: Command, program: Vec<libc::sock_filter>) -> Result<Started, FollowError> {
    let pipe = || io::pipe().map_err(FollowError::Unstartable);
    let ((mut waits, gate), (word, mut tells)) = (pipe()?, pipe()?);
    // SAFETY: fork(2) touches no memory of ours. The child is left by exec or _exit only. What it does until then allocates
    // and reads the environment; `start` is called in a process with one thread, of which the child is a whole copy.
    let process = unsafe { libc::fork() };
    if process == 0 {
        drop(gate);
        // If this fails, no tracer follows: the parent is gone, or may not trace.
        if waits.read_exact(&mut [0]).is_ok() {
            let filter = move || {
                filter::install(&program).map_err(|error| {
                    io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EINVAL) | OF_FILTER)
                })
            };
            // SAFETY: the closure is called in this child, before exec; the filter is set by system calls alone.
            let error = unsafe { command.pre_exec(filter) }.exec();
            let _ = tells.write_all(&error.raw_os_error().unwrap_or(libc::EINVAL).to_ne_bytes());
        }
        // SAFETY: ends the child without running the parent's exit handlers.
        unsafe { libc::_exit(127) }
    }
    if process < 0 {
        return Err(FollowError::Unstartable(io::Error::last_os_error()));
    }
    Ok(Started { process, gate, word })
}

/// What the child said, if it did not get to its program.
fn described(mut word: io::PipeReader) -> Option<Word> {
    let mut number = [0; 4];
    word.read_exact(&mut number).ok()?;
    let number = i32::from_ne_bytes(number);
    Some(match number & OF_FILTER != 0 {
        true => Word::Filter(io::Error::from_raw_os_error(number & !OF_FILTER)),
        false => Word::Exec(io::Error::from_raw_os_error(number)),
    })
}

/// A descriptor whose position a call begins at or moves.
#[derive(Clone, Copy)]
struct Mover {
    descriptor: i32,
    /// As the listener had it when the call began.
    open: Option<usize>,
    begins: bool,
    moves: bool,
}

/// A traced thread.
struct Task {
    process: i32,
    /// The call whose result is waited for.
    inside: Option<(&'static Call, [u64; 6])>,
    /// Of this call; none where there is no file.
    movers: Vec<Mover>,
    /// Meanwhile a call of another thread that moves a position at which this one begins has ended.
    is_beside: bool,
    /// A call that it makes for its tracer.
    injected: Option<inject::Injected>,
    /// An argument of its call that was replaced, and what it was: the kernel leaves these registers to the program as they are.
    replaced: Option<(usize, u64)>,
    /// Its program is of another architecture.
    is_foreign: bool,
}

impl Task {
    fn of(process: i32) -> Task {
        Task {
            process,
            inside: None,
            movers: Vec::new(),
            is_beside: false,
            injected: None,
            replaced: None,
            is_foreign: false,
        }
    }
}

struct Follower<'a> {
    /// In the filter's order.
    calls: Vec<&'static Call>,
    listener: &'a mut dyn Listener,
    /// Whose frequent calls the kernel records.
    recorded: Option<Processes>,
    touches: Option<Touches<'a>>,
    /// Files whose residency is known, if that is asked for.
    looked_at: Option<HashSet<(Identity, Vec<u8>)>>,
    tasks: BTreeMap<i32, Task>,
    /// Those that are in a call that moves the position of a file.
    movers: BTreeSet<i32>,
    /// Threads that stopped before the stop of their parent announced them.
    early: BTreeSet<i32>,
    /// The time of the last event `Clock`.
    told_ns: u64,
}

impl Follower<'_> {
    /// After what was touched before it.
    fn tell(&mut self, event: Event) {
        self.tell_touches();
        if matches!(event, Event::Called(_)) {
            self.tell_time(now_ns());
        }
        self.listener.receive(event);
    }

    fn tell_touches(&mut self) {
        for fault in self.touches.as_ref().map_or_else(Vec::new, |it| it.faults.until_now()) {
            self.tell_time(fault.time_ns);
            self.listener.receive(Event::Touched { thread: fault.thread, address: fault.address });
        }
    }

    /// Now and then is enough.
    fn tell_time(&mut self, ns: u64) {
        if ns.abs_diff(self.told_ns) >= TICK_NS {
            self.told_ns = ns;
            self.listener.receive(Event::Clock { ns });
        }
    }

    /// Asks for the residency of a file that is seen for the first time. Where calls are recorded, writes are from the first file
    /// on that can be read and written through one position.
    fn look(&mut self, thread: i32, descriptor: i32, opened: &mut Opened) {
        if let Some(recorded) = self.recorded.as_mut().filter(|_| opened.is_file && opened.reads_and_writes()) {
            recorded.admit_writes();
        }
        if self.looked_at.as_mut().is_some_and(|it| it.insert(opened.identity())) {
            opened.look_at_cache(thread, descriptor);
        }
    }

    /// What a descriptor of a stopped thread is, if it is known.
    fn look_up(&mut self, thread: i32, descriptor: i32) -> Option<Opened> {
        match Opened::of(thread, descriptor) {
            Ok(mut opened) => {
                self.look(thread, descriptor, &mut opened);
                Some(opened)
            }
            Err(NotSeen::Gone) => None,
            Err(NotSeen::Hidden) => {
                self.tell(Event::Hidden { thread, descriptor: Some(descriptor) });
                None
            }
        }
    }

    /// Until the command's own process has ended.
    fn until_end(&mut self, process: i32) -> ExitStatus {
        loop {
            match ptrace::wait(true) {
                Ok(Some((thread, Stop::Ended(status)))) => {
                    self.forget(thread);
                    if thread == process {
                        return ExitStatus::from_raw(status);
                    }
                }
                Ok(Some((thread, stop))) => self.attend(thread, stop),
                // No child is left although the end of this process was not reported. The kernel does not do that.
                Ok(None) | Err(_) => return ExitStatus::from_raw(libc::SIGKILL),
            }
        }
    }

    /// Waits a moment for children that are about to end, and ends the others; how many processes those were.
    fn end_the_rest(&mut self, patience: Duration) -> usize {
        let deadline = Instant::now() + patience;
        while !self.tasks.is_empty() && Instant::now() < deadline {
            match ptrace::wait(false) {
                Ok(Some((thread, Stop::Ended(_)))) => self.forget(thread),
                Ok(Some((thread, stop))) => self.attend(thread, stop),
                Ok(None) => std::thread::sleep(NAP),
                Err(_) => break,
            }
        }
        let left: BTreeSet<i32> = self.tasks.values().map(|task| task.process).collect();
        let kill = |thread: i32| {
            let _ = Pid::from_raw(thread).map(|pid| rustix::process::kill_process(pid, Signal::KILL));
        };
        left.iter().copied().for_each(kill);
        self.early.iter().copied().for_each(kill);
        // What they have started in their last moment is traced too, and ends here.
        while let Ok(Some((thread, stop))) = ptrace::wait(true) {
            match stop {
                Stop::Ended(_) => self.forget(thread),
                _ => kill(thread),
            }
        }
        left.len()
    }

    fn attend(&mut self, thread: i32, stop: Stop) {
        if !self.tasks.contains_key(&thread) && stop != Stop::Executed {
            self.early.insert(thread);
            return;
        }
        match stop {
            Stop::Ended(_) => self.forget(thread),
            Stop::Filtered => return self.enter(thread),
            Stop::Finished => self.leave(thread),
            Stop::Started { process } => self.tell_of_child(thread, process),
            Stop::Executed => self.execute(thread),
            Stop::Halted => return ptrace::let_halt(thread),
            Stop::Signal(signal) => return self.resume(thread, signal),
            Stop::New => {}
        }
        self.resume(thread, 0);
    }

    fn resume(&self, thread: i32, signal: i32) {
        match self.tasks.get(&thread).is_some_and(|task| task.inside.is_some()) {
            true => ptrace::go_on_to_result(thread, signal),
            false => ptrace::go_on(thread, signal),
        }
    }

    fn enter(&mut self, thread: i32) {
        if let Ok((arguments, described)) = ptrace::asked(thread) {
            match self.calls.get(usize::from(described)).copied() {
                Some(call) if call.known_at_entry() => {
                    if let (Does::Unmap, Some(touches), Some(task)) =
                        (call.does, &self.touches, self.tasks.get(&thread))
                    {
                        touches.unmapped(task.process, arguments[0], arguments[1]);
                    }
                    self.tell(Event::Called(Called {
                        thread,
                        call,
                        arguments,
                        result: None,
                        opened: None,
                        is_beside: false,
                    }));
                }
                Some(call) => self.begin_call(thread, call, arguments),
                None => self.find_foreign(thread),
            }
        }
        self.resume(thread, 0);
    }

    /// The numbers of its calls are those of others, as which they would be recorded until it executes another program.
    fn find_foreign(&mut self, thread: i32) {
        let Some(task) = self.tasks.get_mut(&thread).filter(|it| !it.is_foreign) else { return };
        task.is_foreign = true;
        let process = task.process;
        self.recorded.iter_mut().for_each(|it| it.dismiss(process));
        self.tell(Event::Foreign { thread });
    }

    /// A call whose result is waited for.
    fn begin_call(&mut self, thread: i32, call: &'static Call, arguments: [u64; 6]) {
        let Some(task) = self.tasks.get_mut(&thread) else { return };
        match task.injected.as_mut().filter(|it| it.is(call.number, &arguments)) {
            Some(injected) => injected.is_inside = true,
            None => {
                let who = (thread, task.process);
                let instead = self.touches.as_mut().and_then(|it| it.instead(who, call.does, &arguments));
                if let Some((at, value)) = instead {
                    // One that stays as it was brings in more than is touched; that shows in the faults.
                    let is_set = inject::set_argument(thread, at, value).is_ok();
                    task.replaced = is_set.then_some((at, arguments[at]));
                }
            }
        }
        task.inside = Some((call, arguments));
        let with_file = |(descriptor, begins): (i32, bool)| match self.listener.open_file(thread, descriptor) {
            Some(None) => None,
            open => Some(Mover { descriptor, open: open.flatten(), begins, moves: true }),
        };
        task.movers = call.moved(&arguments).filter_map(with_file).collect();
        if !task.movers.is_empty() {
            self.movers.insert(thread);
        }
    }

    fn leave(&mut self, thread: i32) {
        let Some(task) = self.tasks.get_mut(&thread) else { return };
        let (process, was_beside) = (task.process, std::mem::take(&mut task.is_beside));
        if let Some((at, before)) = task.replaced.take() {
            // If this fails, the thread is gone.
            let _ = inject::set_argument(thread, at, before);
        }
        // A thread that is gone has not left its call.
        let Ok(result) = ptrace::result(thread) else { return };
        let (Some((call, arguments)), mut movers) = (task.inside.take(), std::mem::take(&mut task.movers)) else {
            return;
        };
        if let Some(injected) = task.injected.take_if(|it| it.is_inside) {
            // If this fails, the thread is gone.
            let _ = injected.undo(thread);
            self.touches.iter_mut().for_each(|it| it.advised(process, &injected, result));
            return;
        }
        if let Does::Receive(given) = call.does {
            return self.receive(thread, call, arguments, given, result);
        }
        let descriptor = match call.does {
            Does::Open => Some(result as i32).filter(|&it| it >= 0),
            // The position is the one after the call; what it was before follows from the result.
            _ => call.descriptor(&arguments).filter(|&descriptor| {
                let is_at_position = call.at(&arguments) == Some(At::Position);
                let is_known = self.listener.has_descriptor(thread, descriptor)
                    && (!is_at_position || self.listener.has_position(thread, descriptor));
                descriptor >= 0 && !is_known
            }),
        };
        let opened = descriptor.and_then(|it| self.look_up(thread, it));
        self.movers.remove(&thread);
        // One that is looked up now has a position that others may have moved since.
        let looked_up = descriptor.filter(|_| opened.is_some() && call.does != Does::Open);
        let open = |it| self.listener.open_file(thread, it).flatten();
        let looked_up = looked_up.map(|it| Mover { descriptor: it, open: open(it), begins: true, moves: false });
        movers.extend(looked_up);
        let whole = call.whole(&arguments, result).filter(|_| opened.is_none());
        let is_beside = self.are_moved((thread, process), &movers, whole) || was_beside;
        if let (Some(descriptor), Some(opened), Does::Open, Some(touches)) =
            (descriptor, &opened, call.does, &mut self.touches)
        {
            touches.opened(process, descriptor, opened);
        }
        // Not one that was opened, nor one that is looked at for its position.
        let given = descriptor.filter(|&it| call.does != Does::Open && !self.listener.has_descriptor(thread, it));
        // What the call itself made is no other one that had it before.
        let made = call.duplicates(&arguments).then_some(result as i32);
        let shared = given.zip(opened.as_ref()).and_then(|(it, opened)| self.shared(thread, it, opened, made));
        // Where it is known, the call itself is at the position that they share.
        let (before, after): (Vec<Event>, Vec<Event>) =
            shared.into_iter().partition(|it| matches!(it, Event::Shared { with: Some(_), .. }));
        before.into_iter().for_each(|it| self.tell(it));
        self.tell(Event::Called(Called { thread, call, arguments, result: Some(result), opened, is_beside }));
        after.into_iter().for_each(|it| self.tell(it));
        let Some(touches) = &mut self.touches else { return };
        let mut is_hidden = false;
        let advises = match call.does {
            Does::Map => touches.mapped((thread, process), &arguments, result).unwrap_or_else(|why| {
                is_hidden = why == NotSeen::Hidden;
                None
            }),
            Does::Remap if result >= 0 => {
                touches.moved(process, arguments, result as u64);
                None
            }
            _ => None,
        };
        // A call that a signal interrupted is made again by the kernel, by what is in the registers (include/linux/errno.h).
        let is_made_again = (-516..=-512).contains(&result);
        let injected = advises.or_else(|| if is_made_again { None } else { touches.relieve(thread, process) });
        if let Some((task, injected)) = self.tasks.get_mut(&thread).zip(injected) {
            task.injected = Some(injected);
        }
        if is_hidden {
            self.tell(Event::Hidden { thread, descriptor: None });
        }
    }

    /// Whether another thread, or another process that has the same open file, is in a call that moves a position at which this one
    /// begins; and to those that begin where this one moves, the same of this one. `whole`: it read as many bytes as it asked for.
    /// Among reads of equal length the order does not matter: each place that is reported is that of one of them, perhaps another
    /// thread's.
    fn are_moved(&mut self, (thread, process): (i32, i32), own: &[Mover], whole: Option<u64>) -> bool {
        let mut are_moved = false;
        for other in self.movers.iter().filter(|_| !own.is_empty()) {
            let Some(task) = self.tasks.get_mut(other) else { continue };
            let Some((call, arguments)) = &task.inside else { continue };
            // A call that overlapped others may have come before them.
            if whole.is_some() && call.asked(arguments) == whole && !task.is_beside {
                continue;
            }
            for (one, theirs) in own.iter().flat_map(|one| task.movers.iter().map(move |it| (one, it))) {
                let is_same = || match (one.open, theirs.open) {
                    (Some(one), Some(theirs)) => one == theirs,
                    _ if process == task.process && one.descriptor == theirs.descriptor => true,
                    _ => is_same_file((thread, one.descriptor), (*other, theirs.descriptor)) == Some(true),
                };
                let (of_this, of_other) = (one.begins && theirs.moves, one.moves && theirs.begins);
                if (of_this || of_other) && is_same() {
                    are_moved |= of_this;
                    task.is_beside |= of_other;
                }
            }
        }
        are_moved
    }

    /// One event for each descriptor, as if it were the result.
    fn receive(&mut self, thread: i32, call: &'static Call, arguments: [u64; 6], given: Given, result: i64) {
        let descriptors = received::descriptors(thread, given, &arguments, result).unwrap_or_else(|why| {
            if why == NotSeen::Hidden {
                self.tell(Event::Hidden { thread, descriptor: None });
            }
            Vec::new()
        });
        for descriptor in descriptors {
            let opened = self.look_up(thread, descriptor);
            let shared = opened.as_ref().and_then(|it| self.shared(thread, descriptor, it, None));
            let result = Some(i64::from(descriptor));
            self.tell(Event::Called(Called { thread, call, arguments, result, opened, is_beside: false }));
            shared.into_iter().for_each(|it| self.tell(it));
        }
    }

    /// Whether a followed process has an open file that a thread, stopped, was given; but for a descriptor that it has just made of
    /// it.
    fn shared(&self, thread: i32, descriptor: i32, opened: &Opened, made: Option<i32>) -> Option<Event> {
        if !opened.is_file {
            return None;
        }
        let process = self.tasks.get(&thread)?.process;
        let of_processes: BTreeMap<i32, i32> =
            self.tasks.iter().map(|(&thread, task)| (task.process, thread)).collect();
        for (of, other) in of_processes {
            // One that may not be looked at may have it.
            let Ok(found) = opened::descriptors(other) else {
                return Some(Event::Shared { thread, descriptor, with: None });
            };
            let is_own = |it: i32| of == process && (it == descriptor || Some(it) == made);
            for found in found.into_iter().filter(|&it| !is_own(it)) {
                match is_same_file((thread, descriptor), (other, found)) {
                    Some(true) => return Some(Event::Shared { thread, descriptor, with: Some((other, found)) }),
                    Some(false) => {}
                    // Nor is it of any other, so those of the same file may be.
                    None => {
                        let is_of_it = |it: &Opened| (it.device, it.inode) == (opened.device, opened.inode);
                        let may_be = match Opened::of(other, found) {
                            Ok(it) => is_of_it(&it),
                            Err(why) => why == NotSeen::Hidden,
                        };
                        if may_be {
                            return Some(Event::Shared { thread, descriptor, with: None });
                        }
                    }
                }
            }
        }
        None
    }

    fn tell_of_child(&mut self, parent: i32, is_process: bool) {
        let Ok(child) = ptrace::message(parent) else { return };
        let of_parent = self.tasks[&parent].process;
        let process = match is_process {
            true => child,
            false => process_of(child).unwrap_or(of_parent),
        };
        let shares_files = shares_files(parent, child).unwrap_or(process == of_parent);
        self.begin(child, process, Some(parent), shares_files);
        // Any but fork(2) and vfork(2) may share memory; vfork's parent does nothing meanwhile.
        if let Some(recorded) = self.recorded.as_mut().filter(|_| !is_process || shares_files) {
            [of_parent, process].into_iter().for_each(|it| recorded.shares(it));
        }
        if self.early.remove(&child) {
            self.resume(child, 0);
        } else if process_of(child).is_none() {
            // It ended before this stop of its parent was attended to, and nothing says so again; its number may soon be another's.
            self.forget(child);
        }
    }

    fn begin(&mut self, thread: i32, process: i32, parent: Option<i32>, shares_files: bool) {
        if let Some(recorded) = self.recorded.as_mut().filter(|_| thread == process) {
            recorded.admit(process);
        }
        let of_parent = parent.and_then(|it| self.tasks.get(&it)).map(|it| it.process).filter(|&it| it != process);
        if let Some((touches, of_parent)) = self.touches.as_ref().zip(of_parent) {
            touches.forked(of_parent, process);
        }
        self.tasks.insert(thread, Task::of(process));
        self.tell(Event::Began { thread, process, parent, shares_files });
    }

    /// All other threads of the process are gone, and the one that did it has the process's number from now on.
    fn execute(&mut self, thread: i32) {
        let before = ptrace::message(thread).unwrap_or(thread);
        let gone: Vec<i32> =
            self.tasks.iter().filter(|(_, task)| task.process == thread).map(|(&thread, _)| thread).collect();
        for other in gone.into_iter().filter(|&other| other != before) {
            self.forget(other);
        }
        if before != thread {
            // The thread that continues began under another number.
            self.begin(thread, thread, Some(before), true);
            self.forget(before);
        } else {
            let was_foreign = self.tasks.insert(thread, Task::of(thread)).is_some_and(|it| it.is_foreign);
            self.recorded.iter_mut().filter(|_| was_foreign).for_each(|it| it.admit(thread));
        }
        self.touches.iter().for_each(|it| it.ended(thread));
        let path = fs::read_link(format!("/proc/{thread}/exe")).map(|it| it.to_string_lossy().into_owned());
        let runs_as_other = gains_rights(Path::new(&format!("/proc/{thread}/exe")));
        let is_go = is_go(thread).unwrap_or(false);
        let mut files = Opened::all(thread).unwrap_or_else(|_| {
            self.tell(Event::Hidden { thread, descriptor: None });
            Vec::new()
        });
        files.iter_mut().for_each(|(descriptor, opened)| self.look(thread, *descriptor, opened));
        let path = path.unwrap_or_default();
        self.tell(Event::Executed { thread, path, is_go, runs_as_other, files });
    }

    fn forget(&mut self, thread: i32) {
        self.early.remove(&thread);
        self.movers.remove(&thread);
        if let Some(task) = self.tasks.remove(&thread) {
            for open in task.movers.iter().filter(|_| task.inside.is_some()).filter_map(|it| it.open) {
                self.tell(Event::Unplaced { open });
            }
            if let Some(recorded) = self.recorded.as_mut().filter(|_| thread == task.process) {
                recorded.dismiss(thread);
            }
            let is_last = !self.tasks.values().any(|it| it.process == task.process);
            self.touches.iter().filter(|_| is_last).for_each(|it| it.ended(task.process));
            self.tell(Event::Ended { thread });
        }
    }
}

/// The process that a thread belongs to.
fn process_of(thread: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    number_after(&status, "Tgid:")?.try_into().ok()
}

/// A program that runs with rights which an ordinary user's tracer, or a filter that such a user sets, takes from it: set-uid, set-gid,
/// or with file capabilities (execve(2), capabilities(7)).
fn gains_rights(program: &Path) -> bool {
    let changes_user = fs::metadata(program).is_ok_and(|it| it.mode() & 0o6000 != 0);
    changes_user || rustix::fs::getxattr(program, c"security.capability", &mut [0u8; 64]).is_ok()
}

/// Of the program that it has just begun to execute, which is a regular file.
fn is_go(thread: i32) -> io::Result<bool> {
    let program = fs::File::open(format!("/proc/{thread}/exe"))?;
    crate::elf::is_go(|at, bytes| {
        let mut read = vec![0; bytes];
        let length = program.read_at(&mut read, at)?;
        read.truncate(length);
        Ok(read)
    })
}

/// Whether two threads have one table of descriptors (kcmp(2), KCMP_FILES); unknown where the kernel has no kcmp.
fn shares_files(one: i32, other: i32) -> Option<bool> {
    const FILES: libc::c_int = 2;
    is_same(FILES, (one, 0), (other, 0)).ok()
}

/// Whether descriptors of two threads are of one open file (kcmp(2), KCMP_FILE); unknown where the kernel has no kcmp.
fn is_same_file(one: (i32, i32), other: (i32, i32)) -> Option<bool> {
    const FILE: libc::c_int = 0;
    match is_same(FILE, one, other) {
        Ok(is_same) => Some(is_same),
        // It was closed meanwhile, or the process ended.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EBADF | libc::ESRCH)) => Some(false),
        Err(_) => None,
    }
}

fn is_same(kind: libc::c_int, one: (i32, i32), other: (i32, i32)) -> io::Result<bool> {
    let [of_one, of_other] = [one.1, other.1].map(|it| it as libc::c_ulong);
    // SAFETY: the call touches no memory.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, one.0, other.0, kind, of_one, of_other) };
    if order >= 0 { Ok(order == 0) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_program_gains_rights_by_its_mode_or_by_file_capabilities() {
        let program = tempfile::NamedTempFile::new().unwrap();
        let mode = |mode| fs::set_permissions(program.path(), fs::Permissions::from_mode(mode)).unwrap();
        mode(0o755);
        assert!(!gains_rights(program.path()));
        for with in [0o4755, 0o2755] {
            mode(with);
            assert!(gains_rights(program.path()), "{with:o}");
        }
        mode(0o755);
        // Revision 2, effective, CAP_DAC_READ_SEARCH (include/uapi/linux/capability.h): to set it takes CAP_SETFCAP.
        let mut capability = [0u8; 20];
        capability[..8].copy_from_slice(&[1, 0, 0, 2, 4, 0, 0, 0]);
        let set =
            rustix::fs::setxattr(program.path(), c"security.capability", &capability, rustix::fs::XattrFlags::empty());
        assert_eq!(gains_rights(program.path()), set.is_ok());
    }
}
