//! The frequent calls, recorded by the kernel without stopping the program. A recording does not say what a descriptor
//! refers to, so the program is still stopped at the rare calls that open files. Both are put in order by the position
//! of the recording at each stop.
//!
//! An event costs as much as a small read, so each call is recorded once, and a BPF program selects calls and processes in the
//! kernel: at its end, where its result is known; one that takes something away, at its entry, before others can have it.

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
    Access, Attached, Counts, FRAME, Helper, Instruction, LEAVE, Mark, R0, R1, R2, R3, R4, R6, R7, R8, R9, Ring, add,
    add_at, call, copy, load, load_half, point, set, set_wide, skip_if, skip_unless, store,
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
/// Of those that live at the same time.
const PROCESSES_MAX: u32 = 1 << 15;

/// The key of the one entry.
const WRITES: i32 = 0;

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
    _programs: [Attached; 2],
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

/// The processes whose calls are recorded, each with a count of calls that did not fit into the ring.
pub(super) struct Processes {
    counts: Counts,
    /// Has an entry once writes are recorded, of all processes: a file that one of them opened may be open in others.
    writes: Counts,
    are_writes_admitted: bool,
    /// Device and inode of the PID namespace in which they are numbered here.
    namespace: (u64, u64),
    lost: u64,
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

impl Processes {
    fn new() -> Result<Processes, String> {
        const OWN: &str = "/proc/self/ns/pid";
        let namespace = namespace(OWN).ok_or_else(|| format!("{OWN} cannot be looked at"))?;
        let (counts, writes) = (Counts::new(PROCESSES_MAX)?, Counts::new(1)?);
        Ok(Processes { counts, writes, are_writes_admitted: false, namespace, lost: 0 })
    }

    /// From now on, as long as it has not begun.
    pub(super) fn admit(&mut self, process: i32) {
        self.dismiss(process);
        // In a PID namespace below, the kernel's number for it would not be found.
        let is_below = namespace(&format!("/proc/{process}/ns/pid")).is_some_and(|it| it != self.namespace);
        if is_below || self.counts.add(process).is_err() {
            self.lost += 1;
        }
    }

    /// Writes of all processes from now on.
    pub(super) fn admit_writes(&mut self) {
        if !self.are_writes_admitted {
            self.are_writes_admitted = true;
            self.lost += u64::from(self.writes.add(WRITES).is_err());
        }
    }

    pub(super) fn dismiss(&mut self, process: i32) {
        self.lost += self.counts.remove(process).unwrap_or(0);
    }

    /// Calls that were made and are in no ring; at least one for a process that could not be recorded.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}

fn namespace(path: &str) -> Option<(u64, u64)> {
    let it = fs::metadata(path).ok()?;
    // As the kernel numbers devices within itself (linux/kdev_t.h).
    Some((u64::from(major(it.dev()) << 20 | minor(it.dev())), it.ino()))
}

/// Leaves a frequent call by one of the processes in the ring.
fn program(moment: Moment, access: Access, processes: &Processes, ring: &Ring) -> Vec<Instruction> {
    let wanted = CALLS.iter().filter(|it| it.is_frequent() && Moment::of(it) == moment);
    let (writes, others): (Vec<&Call>, Vec<&Call>) = wanted.partition(|it| it.writes());
    let [wanted, writes] = [others, writes].map(|it| it.iter().map(|it| it.number as i32).collect::<Vec<i32>>());
    // The tracepoint's arguments: the registers; then the number of the call, or at its end the result
    // (trace/events/syscalls.h).
    let mut program = vec![copy(R6, R1)];
    match moment {
        Moment::Entry => {
            program.push(load(R7, R6, 8));
            program.extend(only(&wanted, &writes, processes));
            program.extend(of_one_of(processes));
        }
        // What belongs to no process that is followed costs least: the number may take a call to be read.
        Moment::End => {
            program.extend(of_one_of(processes));
            program.extend(number_at_end(access));
            program.extend(only(&wanted, &writes, processes));
        }
    }
    program.extend(point(R1, ring));
    let words = WORDS + usize::from(moment == Moment::End);
    program.extend([set(R2, 8 * words as i32), set(R3, 0), call(Helper::RingReserve)]);
    let count = [set(R1, 1), add_at(R8, 0, R1)];
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

/// Leaves unless R7 is one of these numbers, or, once writes are recorded, one of theirs. Those are looked at last: a read costs
/// what it costs without them.
fn only(wanted: &[i32], writes: &[i32], processes: &Processes) -> Vec<Instruction> {
    let mut of_writes = Vec::new();
    if !writes.is_empty() {
        of_writes.extend([set(R1, WRITES), store(FRAME, -24, R1)]);
        of_writes.extend(point(R1, &processes.writes));
        of_writes.extend([copy(R2, FRAME), add(R2, -24), call(Helper::MapLookup), skip_unless(R0, 0, LEAVE.len())]);
        of_writes.extend(LEAVE);
    }
    // After the others, the last ones with what follows if they are not.
    let after = |at: usize| wanted.len() + writes.len() - 1 - at + LEAVE.len();
    let reads = wanted.iter().enumerate().map(|(at, &it)| skip_if(R7, it, after(at) + of_writes.len()));
    let others = writes.iter().zip(wanted.len()..).map(|(&it, at)| skip_if(R7, it, after(at)));
    let mut program: Vec<Instruction> = reads.chain(others).chain(LEAVE).collect();
    program.extend(of_writes);
    program
}

/// Leaves unless it is one of the processes: who it is then lies below the frame, and its count is in R8.
fn of_one_of(processes: &Processes) -> Vec<Instruction> {
    let (device, inode) = processes.namespace;
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
    program.extend(point(R1, &processes.counts));
    program.extend([copy(R2, FRAME), add(R2, -4), call(Helper::MapLookup), skip_unless(R0, 0, LEAVE.len())]);
    program.extend(LEAVE);
    program.push(copy(R8, R0));
    program
}

impl Recorder {
    /// Of processes that have not begun yet.
    ///
    /// # Errors
    /// Why the kernel does not record them.
    pub(super) fn start() -> Result<(Recorder, (Processes, Stops)), String> {
        let (processes, ring) = (Processes::new()?, Ring::new(RING_BYTES)?);
        let attach = |moment: Moment, access| {
            Attached::at(moment.tracepoint(), access, &program(moment, access, &processes, &ring))
        };
        // Three calls less for each event, where the kernel describes its types.
        let attach = |moment| attach(moment, Access::Typed).or_else(|_| attach(moment, Access::Copied));
        let programs = [attach(Moment::Entry)?, attach(Moment::End)?];
        let stops = Stops { mark: ring.mark()?, received: Vec::new() };
        Ok((Recorder { ring, _programs: programs }, (processes, stops)))
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

    /// Passes all events to the listener in the order in which they happened.
    pub(super) fn replay(self, stops: Vec<(u64, Event)>, listener: &mut dyn Listener) {
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
            listener.receive(Event::Called(Called { thread, call, arguments, result, opened: None }));
        });
        stops.for_each(|(_, event)| listener.receive(event));
    }
}

/// What was heard at stops, and how far the recording was then.
pub(super) struct Stops {
    mark: Mark,
    received: Vec<(u64, Event)>,
}

impl Stops {
    pub(super) fn received(self) -> Vec<(u64, Event)> {
        self.received
    }
}

impl Listener for Stops {
    fn receive(&mut self, event: Event) {
        self.received.push((self.mark.now(), event));
    }

    /// It is worked out afterwards; nothing is looked up but what was opened.
    fn has_descriptor(&self, _thread: i32, _descriptor: i32) -> bool {
        true
    }

    fn has_position(&self, _thread: i32, _descriptor: i32) -> bool {
        true
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
        tape.replay(stops, &mut received);
        let called = |thread, number| {
            let arguments = [number, number, number, number, 0, 0];
            Event::Called(Called { thread, call: call("read"), arguments, result: Some(9), opened: None })
        };
        let [first, second] = [1000, 2000].map(|ns| Event::Clock { ns });
        let [foreign, ended] = [Event::Foreign { thread: 1 }, Event::Ended { thread: 1 }];
        let expected = [first, foreign, called(2, 7), called(1, 5), second, ended, called(2, 6)];
        assert_eq!(received.0, expected);
    }

    #[test]
    fn programs_of_either_access_are_taken_by_a_kernel_that_has_it() {
        let Ok((processes, ring)) = Processes::new().and_then(|it| Ok((it, Ring::new(RING_BYTES)?))) else {
            println!("skipped: this user may not record calls");
            return;
        };
        for moment in [Moment::Entry, Moment::End] {
            let attach = |access| {
                Attached::at(moment.tracepoint(), access, &program(moment, access, &processes, &ring)).map(drop)
            };
            assert_eq!(attach(Access::Copied), Ok(()), "{moment:?}");
            match Path::new("/sys/kernel/btf/vmlinux").exists() {
                true => assert_eq!(attach(Access::Typed), Ok(()), "{moment:?}"),
                false => println!("skipped: this kernel does not describe its types"),
            }
        }
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
