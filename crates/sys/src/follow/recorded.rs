//! The frequent calls, recorded by the kernel without stopping the program. A recording does not say what a descriptor
//! refers to, so the program is still stopped at the rare calls that open files. Both are put in order by the position
//! of the recording at each stop.
//!
//! An event costs as much as a small read, so each call is recorded once, and a BPF program selects calls and processes in the
//! kernel: at its end, where its result is known. One that takes something away is recorded at its entry, before another thread
//! can have it, where there is one; a program at the entry costs every call of a process that has no other thread for nothing.

use std::{
    ffi::CStr,
    fs,
    os::unix::fs::MetadataExt,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rustix::fs::{major, minor};

use super::{CALLS, Call, Called, Event, Listener};
use crate::bpf::{
    Access, Attached, FRAME, Helper, Instruction, LEAVE, Mark, PAIR, Pairs, Program, R0, R1, R2, R3, R4, R6, R7, R8,
    R9, Ring, add, add_at, call, copy, keep_bits, load, load_half, point, set, set_wide, skip, skip_if, skip_if_same,
    skip_unless, store, store_half,
};

/// Three times the calls of one pause, where they are cheap.
const RING_BYTES: u32 = 4 << 20;
/// The most that recorded calls take in memory: some 10 bytes each of reads anywhere in a file.
const TAPE_BYTES_MAX: usize = 160 << 20;
/// The most calls: those that are alike take a byte each, and all of them are gone through once the program has ended.
const CALLS_MAX: usize = 20_000_000;
/// Of recorded writes, which only move positions.
const WRITES_MAX: usize = 500_000;
/// Interval at which the ring is emptied. Emptying it takes CPU time from the program where there are few processors.
const PAUSE: Duration = Duration::from_millis(5);
/// A power of two. Processes that live at the same time, and whose numbers differ by a multiple of it, are not recorded both.
const PROCESSES: u32 = 1 << 17;

/// Beside the number of a process: it shares its descriptors, or its memory, with another thread.
const SHARES: u64 = 1 << 32;
/// Where the two are, each of four bytes (on a machine with little-endian numbers, as all are that are recorded on).
const NUMBER_AND_SHARES: [i16; 2] = [PAIR[0], PAIR[0] + 4];

/// The inode of the PID namespace that has all processes (linux/proc_ns.h). Asking for numbers in any other takes longer.
const FIRST_NAMESPACE: u64 = 0xeffffffc;

/// What the program leaves of a call: who, which, and four arguments, which all frequent calls are content with; at its end the
/// result too.
const WORDS: usize = 2 + 4;
/// Where the arguments are in `struct pt_regs` (asm/ptrace.h, asm/syscall.h): the place of some that are neighbours, and
/// which these are. A record has them in this order. The result takes the place of the first one, which is kept elsewhere.
const PLACES: &[(i32, &[usize])] = if cfg!(target_arch = "x86_64") {
    &[(56, &[3]), (96, &[2, 1, 0])]
} else if cfg!(target_arch = "aarch64") {
    &[(8, &[1, 2, 3]), (272, &[0])]
} else {
    &[(88, &[1, 2, 3]), (280, &[0])]
};
/// Where the call's number is at its end, and how many bytes it has.
const NUMBER: (i32, i32) = if cfg!(target_arch = "x86_64") {
    (120, 8)
} else if cfg!(target_arch = "aarch64") {
    (280, 4)
} else {
    (136, 8)
};

/// Where the frequent calls go.
pub(super) struct Recorder {
    ring: Ring,
    _at_end: Attached,
}

/// When a call is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Entry,
    End,
}

impl Moment {
    fn of(call: &Call) -> Moment {
        if call.known_at_entry() { Moment::Entry } else { Moment::End }
    }

    fn tracepoint(self) -> &'static CStr {
        match self {
            Moment::Entry => c"sys_enter",
            Moment::End => c"sys_exit",
        }
    }
}

/// The processes whose calls are recorded.
pub(super) struct Processes {
    table: Table,
    at_entry: Program,
    /// Once a process has a second thread.
    attached: Option<Attached>,
    are_writes_admitted: bool,
    /// Device and inode of the PID namespace in which they are numbered here.
    namespace: (u64, u64),
    lost: u64,
}

/// What the programs look up.
struct Table {
    /// Each at its number's place: its number and `SHARES`; calls that did not fit into the ring.
    processes: Pairs,
    /// The one pair begins with 1 once writes are recorded, of all processes: a file that one of them opened may be open in others.
    writes: Pairs,
}

/// What a recording holds: a call as it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RecordedCall {
    place: u64,
    thread: i32,
    call: &'static Call,
    arguments: [u64; 6],
    result: Option<i64>,
}

/// All that was recorded.
#[derive(Default)]
pub(super) struct Tape {
    calls: Calls,
    /// When the ring was emptied, and how many calls there were then.
    emptied: Vec<(usize, u64)>,
    /// Of the calls.
    writes: usize,
    /// Calls after the last that is kept.
    pub beyond: u64,
    /// The same of writes.
    pub beyond_writes: u64,
}

/// Recorded calls in the order of their places, each as what it differs in from the one before: a program makes most of its
/// calls alike.
#[derive(Default)]
struct Calls {
    count: usize,
    /// None ends within a call.
    chunks: Vec<Vec<u8>>,
    last: Fields,
    last_place: u64,
}

/// From the place of the call before to its own; its thread, its number, its first four arguments, its result.
type Fields = [u64; 8];

/// A byte that says which fields follow, and those.
const FIELDS_BYTES_MAX: usize = 1 + size_of::<Fields>();
const CHUNK_BYTES: usize = 1 << 20;

impl Table {
    fn new() -> Result<Table, String> {
        Ok(Table { processes: Pairs::new(PROCESSES)?, writes: Pairs::new(1)? })
    }

    /// Its number and whether it shares; how many of its calls were lost.
    fn of(&self, process: i32) -> Option<(bool, u64)> {
        let [who, lost] = self.processes.get(place_of(process)).ok()?;
        (who & !SHARES == process as u64).then_some((who & SHARES != 0, lost))
    }

    fn set(&self, process: i32, shares: bool, lost: u64) -> Result<(), String> {
        let who = process as u64 | if shares { SHARES } else { 0 };
        self.processes.set(place_of(process), [who, lost])
    }
}

fn place_of(process: i32) -> u32 {
    process as u32 & (PROCESSES - 1)
}

impl Processes {
    /// From now on, as long as it has not begun.
    pub(super) fn admit(&mut self, process: i32) {
        self.dismiss(process);
        // In a PID namespace below, the kernel's number for it would not be found.
        let is_below = namespace(&format!("/proc/{process}/ns/pid")).is_some_and(|it| it != self.namespace);
        let has_place = self.table.processes.get(place_of(process)).is_ok_and(|it| it[0] == 0);
        if is_below || !has_place || self.table.set(process, false, 0).is_err() {
            self.lost += 1;
        }
    }

    /// From now on a process shares descriptors or memory with another thread. Call it while it is stopped, and before there is
    /// the other one.
    pub(super) fn shares(&mut self, process: i32) {
        let Some((false, lost)) = self.table.of(process) else { return };
        if self.attached.is_none() {
            self.attached = self.at_entry.attach().ok();
        }
        if self.attached.is_none() || self.table.set(process, true, lost).is_err() {
            self.lost += 1;
        }
    }

    /// Writes of all processes from now on.
    pub(super) fn admit_writes(&mut self) {
        if !self.are_writes_admitted {
            self.are_writes_admitted = true;
            self.lost += u64::from(self.table.writes.set(0, [1, 0]).is_err());
        }
    }

    pub(super) fn dismiss(&mut self, process: i32) {
        if let Some((_, lost)) = self.table.of(process) {
            self.lost += lost + u64::from(self.table.processes.set(place_of(process), [0; 2]).is_err());
        }
    }

    /// Calls that were made and are in no ring; at least one for a process that could not be recorded.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}

/// The PID namespace in which processes are numbered here.
fn own_namespace() -> Result<(u64, u64), String> {
    const OWN: &str = "/proc/self/ns/pid";
    namespace(OWN).ok_or_else(|| format!("{OWN} cannot be looked at"))
}

fn namespace(path: &str) -> Option<(u64, u64)> {
    let it = fs::metadata(path).ok()?;
    // As the kernel numbers devices within itself (linux/kdev_t.h).
    Some((u64::from(major(it.dev()) << 20 | minor(it.dev())), it.ino()))
}

/// Leaves a frequent call by one of the processes in the ring.
fn program(moment: Moment, access: Access, table: &Table, namespace: (u64, u64), ring: &Ring) -> Vec<Instruction> {
    let numbers = |is_it: &dyn Fn(&Call) -> bool| {
        CALLS.iter().filter(|it| it.is_frequent() && is_it(it)).map(|it| it.number as i32).collect::<Vec<i32>>()
    };
    let taking_away = numbers(&|it| Moment::of(it) == Moment::Entry);
    // The tracepoint's arguments: the registers; then the number of the call, or at its end the result
    // (trace/events/syscalls.h).
    let mut program = vec![copy(R6, R1)];
    match moment {
        Moment::Entry => {
            program.push(load(R7, R6, 8));
            program.extend(only(&[(taking_away, Vec::new())]));
            program.extend(of_one_of(&table.processes, namespace));
            program.extend(if_shared(true));
        }
        // What belongs to no process that is followed costs least: the number may take a call to be read. A read costs what it
        // costs without those that are looked at after it.
        Moment::End => {
            program.extend(of_one_of(&table.processes, namespace));
            program.extend(number_at_end(access));
            let writes = numbers(&|it| it.writes());
            let others = numbers(&|it| Moment::of(it) == Moment::End && !it.writes());
            program.extend(only(&[
                (others, Vec::new()),
                (writes, if_admitted(&table.writes)),
                (taking_away, if_shared(false)),
            ]));
        }
    }
    program.extend(point(R1, ring));
    let words = WORDS + usize::from(moment == Moment::End);
    program.extend([set(R2, 8 * words as i32), set(R3, 0), call(Helper::RingReserve)]);
    let count = [set(R1, 1), add_at(R8, PAIR[1], R1)];
    program.push(skip_unless(R0, 0, count.len() + LEAVE.len()));
    program.extend(count);
    program.extend(LEAVE);
    program.extend([copy(R9, R0), load(R1, FRAME, -8), store(R9, 0, R1), store(R9, 8, R7)]);
    if moment == Moment::End {
        program.extend([load(R1, R6, 8), store(R9, 8 * WORDS as i16, R1)]);
    }
    program.extend(arguments(access));
    // No wake-up is needed: the ring is polled every few milliseconds.
    const NO_WAKEUP: i32 = 1;
    program.extend([copy(R1, R9), set(R2, NO_WAKEUP), call(Helper::RingSubmit)]);
    program.extend(LEAVE);
    program
}

/// Into R7, from the registers that are the first argument in R6.
fn number_at_end(access: Access) -> Vec<Instruction> {
    let (from, bytes) = NUMBER;
    match access {
        Access::Typed if bytes == 4 => vec![load(R3, R6, 0), load_half(R7, R3, from as i16)],
        Access::Typed => vec![load(R3, R6, 0), load(R7, R3, from as i16)],
        Access::Copied => {
            let to = [set(R1, 0), store(FRAME, -16, R1), copy(R1, FRAME), add(R1, -16), set(R2, bytes)];
            let from = [load(R3, R6, 0), add(R3, from), call(Helper::ReadKernel), load(R7, FRAME, -16)];
            to.into_iter().chain(from).collect()
        }
    }
}

/// The arguments of the call into the record that R9 points to.
fn arguments(access: Access) -> Vec<Instruction> {
    let mut program = Vec::new();
    let mut word = 2;
    for (from, arguments) in PLACES {
        let (to, bytes) = (8 * word, 8 * arguments.len() as i32);
        match access {
            Access::Typed => {
                program.push(load(R3, R6, 0));
                for at in (0..bytes).step_by(8) {
                    program.extend([load(R1, R3, (from + at) as i16), store(R9, (to + at) as i16, R1)]);
                }
            }
            Access::Copied => {
                program.extend([load(R3, R6, 0), add(R3, *from), copy(R1, R9), add(R1, to)]);
                program.extend([set(R2, bytes), call(Helper::ReadKernel)]);
            }
        }
        word += arguments.len() as i32;
    }
    program
}

/// Leaves unless R7 is a number of one of these groups, and what is said of the group does not leave.
fn only(groups: &[(Vec<i32>, Vec<Instruction>)]) -> Vec<Instruction> {
    // Behind all comparisons: what to do if none holds, then what is said of each group.
    let mut following: Vec<Instruction> = LEAVE.to_vec();
    let mut comparisons: Vec<(i32, usize)> = Vec::new();
    let all: usize = groups.iter().map(|it| it.1.len() + 1).sum();
    for (numbers, then) in groups {
        comparisons.extend(numbers.iter().map(|&it| (it, following.len())));
        following.extend(then);
        following.push(skip(all + LEAVE.len() - following.len() - 1));
    }
    let count = comparisons.len();
    let comparisons = comparisons.into_iter().enumerate();
    let comparisons = comparisons.map(|(at, (number, place))| skip_if(R7, number, count - 1 - at + place));
    comparisons.chain(following).collect()
}

/// Leaves unless writes are recorded.
fn if_admitted(writes: &Pairs) -> Vec<Instruction> {
    let mut program = vec![set(R1, 0), store(FRAME, -24, R1)];
    program.extend(point(R1, writes));
    program.extend([copy(R2, FRAME), add(R2, -24), call(Helper::MapLookup), skip_unless(R0, 0, LEAVE.len())]);
    program.extend(LEAVE);
    program.extend([load(R1, R0, PAIR[0]), skip_unless(R1, 0, LEAVE.len())]);
    program.extend(LEAVE);
    program
}

/// Leaves unless the process of R8 shares, or does not.
fn if_shared(shares: bool) -> Vec<Instruction> {
    let skip = if shares { skip_unless } else { skip_if };
    let mut program = vec![load_half(R1, R8, NUMBER_AND_SHARES[1]), skip(R1, 0, LEAVE.len())];
    program.extend(LEAVE);
    program
}

/// Leaves unless it is one of the processes: who it is then lies below the frame, and what is known of it is where R8 points.
fn of_one_of(processes: &Pairs, (device, inode): (u64, u64)) -> Vec<Instruction> {
    let mut program = Vec::new();
    // The thread in the lower half, the process in the upper.
    if inode == FIRST_NAMESPACE {
        program.extend([call(Helper::ThreadAndProcess), store(FRAME, -8, R0)]);
    } else {
        program.extend(set_wide(R1, device));
        program.extend(set_wide(R2, inode));
        program.extend([copy(R3, FRAME), add(R3, -8), set(R4, 8), call(Helper::ThreadAndProcessIn)]);
        program.push(skip_if(R0, 0, LEAVE.len()));
        program.extend(LEAVE);
    }
    program.extend([load_half(R9, FRAME, -4), copy(R1, R9), keep_bits(R1, PROCESSES as i32 - 1)]);
    program.push(store_half(FRAME, -16, R1));
    program.extend(point(R1, processes));
    program.extend([copy(R2, FRAME), add(R2, -16), call(Helper::MapLookup), skip_unless(R0, 0, LEAVE.len())]);
    program.extend(LEAVE);
    program.extend([copy(R8, R0), load_half(R1, R8, NUMBER_AND_SHARES[0]), skip_if_same(R1, R9, LEAVE.len())]);
    program.extend(LEAVE);
    program
}

impl Recorder {
    /// Of processes that have not begun yet.
    ///
    /// # Errors
    /// Why the kernel does not record them.
    pub(super) fn start() -> Result<(Recorder, (Processes, Stops)), String> {
        let (table, namespace, ring) = (Table::new()?, own_namespace()?, Ring::new(RING_BYTES)?);
        let load = |moment: Moment, access| {
            Program::load(moment.tracepoint(), access, &program(moment, access, &table, namespace, &ring))
        };
        // Three calls less for each event, where the kernel describes its types.
        let load = |moment| load(moment, Access::Typed).or_else(|_| load(moment, Access::Copied));
        let (at_entry, at_end) = (load(Moment::Entry)?, load(Moment::End)?.attach()?);
        let stops = Stops { mark: ring.mark()?, received: Vec::new(), beyond: 0, cut: None };
        let processes = Processes { table, at_entry, attached: None, are_writes_admitted: false, namespace, lost: 0 };
        Ok((Recorder { ring, _at_end: at_end }, (processes, stops)))
    }

    /// Empties the ring until it is over.
    pub(super) fn run(mut self, over: &AtomicBool) -> Tape {
        let mut tape = Tape::default();
        loop {
            // Looked at first: what comes in before the end is drained after it.
            let is_over = over.load(Ordering::Acquire);
            self.ring.drain(|place, record| tape.keep(place, record));
            tape.emptied(super::now_ns());
            if is_over {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        tape
    }
}

fn frequent(number: u64) -> Option<&'static Call> {
    CALLS.iter().find(|it| it.is_frequent() && it.number as u64 == number)
}

impl RecordedCall {
    /// `None` if it is no selected call.
    fn of(place: u64, record: &[u8]) -> Option<RecordedCall> {
        let word = |at: usize| Some(u64::from_ne_bytes(*record.get(8 * at..)?.first_chunk()?));
        let (who, number) = (word(0)?, word(1)?);
        let call = frequent(number)?;
        let result = match Moment::of(call) {
            Moment::Entry => None,
            Moment::End => Some(word(WORDS)? as i64),
        };
        let mut arguments = [0; 6];
        for (at, &argument) in PLACES.iter().flat_map(|it| it.1).enumerate() {
            arguments[argument] = word(2 + at)?;
        }
        Some(RecordedCall { place, thread: who as i32, call, arguments, result })
    }
}

impl Calls {
    fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK_BYTES
    }

    fn push(&mut self, call: RecordedCall) {
        let RecordedCall { place, thread, call, arguments, result } = call;
        let [first, second, third, fourth, ..] = arguments;
        let result = result.unwrap_or(0) as u64;
        let step = place.wrapping_sub(self.last_place);
        let fields = [step, thread as u64, call.number as u64, first, second, third, fourth, result];
        if self.chunks.last().is_none_or(|it| it.len() + FIELDS_BYTES_MAX > CHUNK_BYTES) {
            self.chunks.push(Vec::with_capacity(CHUNK_BYTES));
        }
        let chunk = self.chunks.last_mut().expect("there is one with room");
        let at = chunk.len();
        chunk.push(0);
        for (bit, (field, last)) in fields.iter().zip(&self.last).enumerate() {
            if field != last {
                chunk[at] |= 1 << bit;
                chunk.extend(field.to_ne_bytes());
            }
        }
        (self.last, self.last_place, self.count) = (fields, place, self.count + 1);
    }

    /// In their order. What was taken leaves memory.
    fn into_each(self, mut each: impl FnMut(usize, RecordedCall)) {
        let (mut fields, mut place, mut at) = (Fields::default(), 0u64, 0);
        for chunk in self.chunks {
            let mut rest = &chunk[..];
            while let Some((differ, mut following)) = rest.split_first() {
                for (_, field) in fields.iter_mut().enumerate().filter(|(bit, _)| differ & 1 << bit != 0) {
                    let (number, after) = following.split_first_chunk().expect("no call ends in another chunk");
                    (*field, following) = (u64::from_ne_bytes(*number), after);
                }
                rest = following;
                let [step, thread, number, first, second, third, fourth, result] = fields;
                place = place.wrapping_add(step);
                let call = frequent(number).expect("only such are pushed");
                let result = (Moment::of(call) == Moment::End).then_some(result as i64);
                let arguments = [first, second, third, fourth, 0, 0];
                each(at, RecordedCall { place, thread: thread as i32, call, arguments, result });
                at += 1;
            }
        }
    }
}

impl Tape {
    fn keep(&mut self, place: u64, record: &[u8]) {
        let Some(seen) = RecordedCall::of(place, record) else { return };
        match seen.call.writes() {
            true if self.writes < WRITES_MAX => {
                self.writes += 1;
                self.calls.push(seen);
            }
            true => self.beyond_writes += 1,
            false if self.calls.bytes() < TAPE_BYTES_MAX && self.calls.count < CALLS_MAX => self.calls.push(seen),
            false => self.beyond += 1,
        }
    }

    fn emptied(&mut self, ns: u64) {
        if self.emptied.last().map_or(0, |it| it.0) < self.calls.count {
            self.emptied.push((self.calls.count, ns));
        }
    }

    /// Passes all events to the listener in the order in which they happened; how many calls were after `cut`, which it does not
    /// get.
    pub(super) fn replay(self, (stops, cut): (Vec<(u64, Event)>, Option<u64>), listener: &mut dyn Listener) -> u64 {
        let mut beyond = 0;
        let mut stops = stops.into_iter().peekable();
        let mut emptied = self.emptied.into_iter().peekable();
        let mut until = 0;
        self.calls.into_each(|at, RecordedCall { place, thread, call, arguments, result }| {
            if at == until
                && let Some((end, ns)) = emptied.next()
            {
                until = end;
                listener.receive(Event::Clock { ns });
            }
            while let Some((_, event)) = stops.next_if(|(at, _)| *at <= place) {
                listener.receive(event);
            }
            if cut.is_some_and(|it| place > it) {
                beyond += 1;
                return;
            }
            listener.receive(Event::Called(Called { thread, call, arguments, result, opened: None, is_beside: false }));
        });
        stops.for_each(|(_, event)| listener.receive(event));
        beyond
    }
}

/// What was heard at stops, and how far the recording was then.
pub(super) struct Stops {
    mark: Mark,
    received: Vec<(u64, Event)>,
    /// Calls that were not kept, because there were more than `STOPS_MAX`; and where the first of them was. Descriptors are
    /// not known from then on.
    pub beyond: u64,
    cut: Option<u64>,
}

/// Calls that were stopped at, each with what it opened, are kept until the end: some hundred bytes each.
const STOPS_MAX: usize = 1 << 20;

impl Stops {
    /// And the place after which the files of recorded calls are not known.
    pub(super) fn received(self) -> (Vec<(u64, Event)>, Option<u64>) {
        (self.received, self.cut)
    }
}

impl Listener for Stops {
    fn receive(&mut self, event: Event) {
        match event {
            Event::Called(_) if self.received.len() >= STOPS_MAX => {
                self.beyond += 1;
                let now = self.mark.now();
                self.cut.get_or_insert(now);
            }
            event => self.received.push((self.mark.now(), event)),
        }
    }

    /// It is worked out afterwards; nothing is looked up but what was opened.
    fn has_descriptor(&self, _thread: i32, _descriptor: i32) -> bool {
        true
    }

    fn has_position(&self, _thread: i32, _descriptor: i32) -> bool {
        true
    }

    /// Of most calls only the end is recorded.
    fn open_file(&self, _thread: i32, _descriptor: i32) -> Option<Option<usize>> {
        Some(None)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    fn call(name: &str) -> &'static Call {
        CALLS.iter().find(|it| it.name == name).unwrap()
    }

    #[derive(Default)]
    struct Received(Vec<Event>);

    impl Listener for Received {
        fn receive(&mut self, event: Event) {
            self.0.push(event);
        }

        fn has_descriptor(&self, _thread: i32, _descriptor: i32) -> bool {
            true
        }

        fn has_position(&self, _thread: i32, _descriptor: i32) -> bool {
            true
        }

        fn open_file(&self, _thread: i32, _descriptor: i32) -> Option<Option<usize>> {
            None
        }
    }

    #[test]
    fn stops_and_recorded_calls_are_told_in_the_order_of_their_places() {
        let seen = |place, thread, number| RecordedCall {
            place,
            thread,
            call: call("read"),
            arguments: [number, number, number, number, 0, 0],
            result: Some(9),
        };
        let mut tape = Tape::default();
        tape.calls.push(seen(0, 2, 7));
        tape.calls.push(seen(56, 1, 5));
        tape.emptied(1000);
        tape.emptied(1500);
        tape.calls.push(seen(112, 2, 6));
        tape.emptied(2000);
        let stops = vec![(0, Event::Foreign { thread: 1 }), (112, Event::Ended { thread: 1 })];
        let mut received = Received::default();
        assert_eq!(tape.replay((stops, None), &mut received), 0);
        let called = |thread, number| {
            let arguments = [number, number, number, number, 0, 0];
            Event::Called(Called {
                thread,
                call: call("read"),
                arguments,
                result: Some(9),
                opened: None,
                is_beside: false,
            })
        };
        let [first, second] = [1000, 2000].map(|ns| Event::Clock { ns });
        let [foreign, ended] = [Event::Foreign { thread: 1 }, Event::Ended { thread: 1 }];
        let expected = [first, foreign, called(2, 7), called(1, 5), second, ended, called(2, 6)];
        assert_eq!(received.0, expected);
    }

    #[test]
    fn recorded_calls_after_the_last_stop_that_was_kept_are_counted_and_not_passed_on() {
        let seen = |place| RecordedCall {
            place,
            thread: 1,
            call: call("read"),
            arguments: [3, 0, 9, 0, 0, 0],
            result: Some(9),
        };
        let mut tape = Tape::default();
        [0, 56, 112, 168].into_iter().for_each(|it| tape.calls.push(seen(it)));
        let mut received = Received::default();
        assert_eq!(tape.replay((Vec::new(), Some(56)), &mut received), 2);
        assert_eq!(received.0.len(), 2);
    }

    #[test]
    fn programs_of_either_access_are_taken_by_a_kernel_that_has_it() {
        let Ok((table, ring)) = Table::new().and_then(|it| Ok((it, Ring::new(RING_BYTES)?))) else {
            println!("skipped: this user may not record calls");
            return;
        };
        let namespace = own_namespace().unwrap();
        for moment in [Moment::Entry, Moment::End] {
            let attach = |access| {
                let program = program(moment, access, &table, namespace, &ring);
                Program::load(moment.tracepoint(), access, &program)?.attach().map(drop)
            };
            assert_eq!(attach(Access::Copied), Ok(()), "{moment:?}");
            match Path::new("/sys/kernel/btf/vmlinux").exists() {
                true => assert_eq!(attach(Access::Typed), Ok(()), "{moment:?}"),
                false => println!("skipped: this kernel does not describe its types"),
            }
        }
    }

    #[test]
    fn what_takes_something_away_is_recorded_once_and_at_its_entry_where_there_is_another_thread() {
        let Ok((recorder, (mut processes, _))) = Recorder::start() else {
            println!("skipped: this user may not record calls");
            return;
        };
        let (mut ring, own) = (recorder.ring, std::process::id() as i32);
        let mut records_of_close = |processes: &mut Processes, is_admitted: bool| {
            const NONE: libc::c_int = -4711;
            // SAFETY: it is no descriptor.
            unsafe { libc::close(NONE) };
            assert_eq!(processes.table.of(own).is_some(), is_admitted);
            let mut words = Vec::new();
            ring.drain(|place, record| {
                let seen = RecordedCall::of(place, record).unwrap();
                if (seen.call.name, seen.arguments[0] as i32) == ("close", NONE) {
                    assert_eq!(seen.result, None);
                    words.push(record.len() / 8);
                }
            });
            words
        };
        assert_eq!(records_of_close(&mut processes, false), Vec::<usize>::new());
        processes.admit(own);
        assert_eq!(records_of_close(&mut processes, true), [WORDS + 1]);
        processes.shares(own);
        assert_eq!(records_of_close(&mut processes, true), [WORDS]);
        processes.admit(own);
        assert_eq!(records_of_close(&mut processes, true), [WORDS + 1], "a program that was executed has one thread");
        processes.dismiss(own);
        assert_eq!(records_of_close(&mut processes, false), Vec::<usize>::new());
        assert_eq!(processes.lost(), 0);
    }

    #[test]
    fn of_two_processes_that_have_one_place_the_second_one_is_not_recorded_and_that_is_known() {
        let Ok((_, (mut processes, _))) = Recorder::start() else {
            println!("skipped: this user may not record calls");
            return;
        };
        let (first, second) = (4711, 4711 + PROCESSES as i32);
        processes.admit(first);
        processes.admit(second);
        assert_eq!(processes.lost(), 1);
        processes.dismiss(second);
        assert_eq!((processes.table.of(first), processes.table.of(second)), (Some((false, 0)), None));
    }

    fn record(thread: u32, number: u64, arguments: [u64; 6], result: Option<i64>) -> Vec<u8> {
        let mut words = vec![7 << 32 | u64::from(thread), number];
        words.extend(PLACES.iter().flat_map(|it| it.1).map(|&it| arguments[it]));
        words.extend(result.map(|it| it as u64));
        words.iter().flat_map(|it| it.to_ne_bytes()).collect()
    }

    #[test]
    fn a_record_says_who_called_what_with_which_arguments_and_what_came_of_it() {
        let arguments = [3, 0x1000, 64, 4096, 0, 0];
        for (name, result) in [("pread64", Some(-4)), ("close", None)] {
            let seen = RecordedCall::of(42, &record(4711, call(name).number as u64, arguments, result));
            assert_eq!(seen, Some(RecordedCall { place: 42, thread: 4711, call: call(name), arguments, result }));
        }
        assert_eq!(RecordedCall::of(0, &record(1, libc::SYS_read as u64, arguments, None)), None, "without a result");
    }

    #[test]
    fn writes_take_no_place_from_the_calls_that_are_asked_about() {
        let mut tape = Tape::default();
        let calls = ["write", "read"].map(|it| record(1, call(it).number as u64, [0; 6], Some(1)));
        for at in 0..WRITES_MAX as u64 + 3 {
            tape.keep(56 * at, &calls[0]);
        }
        tape.keep(0, &calls[1]);
        assert_eq!((tape.calls.count, tape.writes), (WRITES_MAX + 1, WRITES_MAX));
        assert_eq!((tape.beyond, tape.beyond_writes), (0, 3));
    }

    #[test]
    fn a_number_that_is_no_call_of_interest_is_left_out() {
        let mut tape = Tape::default();
        tape.keep(0, &record(1, u64::MAX, [0; 6], Some(0)));
        tape.keep(56, &record(1, libc::SYS_read as u64, [0; 6], Some(0)));
        assert_eq!((tape.calls.count, tape.beyond), (1, 0));
    }

    #[test]
    fn ten_million_reads_anywhere_fit_into_memory() {
        let mut calls = Calls::default();
        for at in 0..100_000u64 {
            let arguments = [3, 0x7f00_0000, 4096, at * at * 7919 % (1 << 40), 0, 0];
            calls.push(RecordedCall {
                place: 64 * at,
                thread: 1,
                call: call("pread64"),
                arguments,
                result: Some(4096),
            });
        }
        let bytes: usize = calls.chunks.iter().map(Vec::len).sum();
        assert!(100 * bytes < TAPE_BYTES_MAX, "{bytes} B of 100,000 calls");
    }

    fn any_call() -> impl Strategy<Value = RecordedCall> {
        let frequent: Vec<&'static Call> = CALLS.iter().filter(|it| it.is_frequent()).collect();
        let number = || prop_oneof![Just(0), Just(4096), any::<u64>()];
        let arguments = (number(), number(), number(), number());
        (any::<u64>(), 1..3i32, proptest::sample::select(frequent), arguments, -1..3i64).prop_map(
            |(place, thread, call, (first, second, third, fourth), result)| {
                let result = (Moment::of(call) == Moment::End).then_some(result);
                RecordedCall { place, thread, call, arguments: [first, second, third, fourth, 0, 0], result }
            },
        )
    }

    proptest! {
        #[test]
        fn calls_come_back_in_their_order_as_they_were_recorded(all in proptest::collection::vec(any_call(), 0..100)) {
            let mut calls = Calls::default();
            all.iter().for_each(|it| calls.push(*it));
            let mut back = Vec::new();
            calls.into_each(|at, it| {
                assert_eq!(at, back.len());
                back.push(it);
            });
            prop_assert_eq!(back, all);
        }

        #[test]
        fn a_record_of_any_length_is_a_call_or_none(record in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(RecordedCall::of(0, &record).is_none_or(|_| record.len() / 8 >= WORDS));
        }
    }
}
