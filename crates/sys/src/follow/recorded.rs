//! The frequent calls, as the kernel records them: a program is not stopped for them. What a descriptor is cannot be
//! asked in a recording, so the rare calls that open files are stopped at all the same, and both are put in order by time.
//!
//! An event costs more than a small read does, so a call leaves one: its entry. What it delivers follows from the size of
//! the file.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

use super::{CALLS, Call, Called, Event, Listener};
use crate::perf::{Field, Recording, Tracefs};

/// Of all rings together, and at least of each.
const RINGS_BYTES: usize = 8 << 20;
const RING_BYTES_MIN: usize = 256 << 10;
/// More than this are kept of no program: 72 bytes each.
const EVENTS_MAX: usize = 2_000_000;
/// How long the rings are left alone: emptying them takes time of the program's where there are few processors.
const PAUSE: Duration = Duration::from_millis(5);

/// Where the entries of system calls go.
pub(super) struct Recorder {
    entries: Recording,
    number: Field,
    arguments: Field,
}

/// What a recording holds: a call as it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    time_ns: u64,
    thread: i32,
    call: &'static Call,
    arguments: [u64; 6],
}

/// All that was recorded.
#[derive(Default)]
pub(super) struct Tape {
    seen: Vec<Seen>,
    pub lost: u64,
}

impl Recorder {
    /// Of a process that has not begun yet.
    ///
    /// # Errors
    /// Why the kernel does not record it.
    pub(super) fn start(tracefs: &Tracefs, process: i32) -> Result<Recorder, String> {
        let entry = tracefs.tracepoint("raw_syscalls", "sys_enter")?;
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let ring_bytes = (RINGS_BYTES / cpus).max(RING_BYTES_MIN);
        let mut entries = Recording::of(entry.id, process as u32, ring_bytes)?;
        let wanted = CALLS.iter().filter(|it| it.is_frequent()).map(|it| format!("id=={}", it.number));
        entries.only(&wanted.collect::<Vec<String>>().join("||"))?;
        entries.enable()?;
        let field = |name| entry.format.field(name).cloned();
        Ok(Recorder { entries, number: field("id")?, arguments: field("args")? })
    }

    /// Empties the rings until it is over.
    pub(super) fn run(mut self, over: &AtomicBool) -> Tape {
        let mut tape = Tape::default();
        loop {
            // Looked at first: what comes in before the end is drained after it.
            let is_over = over.load(Ordering::Acquire);
            self.drain(&mut tape);
            if is_over {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        tape.lost += self.entries.missing();
        tape
    }

    fn drain(&mut self, tape: &mut Tape) {
        let Recorder { entries, number, arguments } = self;
        entries.drain(|it| {
            let said = number.number(it.fields).zip(six(arguments, it.fields));
            tape.keep(it.time_ns, it.thread, said);
        });
    }
}

fn six(field: &Field, record: &[u8]) -> Option<[u64; 6]> {
    let raw = record.get(field.offset..field.offset.checked_add(48)?)?;
    let mut words = raw.chunks_exact(8).map(|it| u64::from_ne_bytes(it.try_into().expect("eight bytes")));
    Some(std::array::from_fn(|_| words.next().unwrap_or(0)))
}

impl Tape {
    fn keep(&mut self, time_ns: u64, thread: u32, said: Option<(u64, [u64; 6])>) {
        let call = said.and_then(|(number, it)| Some((CALLS.iter().find(|call| call.number as u64 == number)?, it)));
        match call {
            Some((call, arguments)) if self.seen.len() < EVENTS_MAX => {
                self.seen.push(Seen { time_ns, thread: thread as i32, call, arguments });
            }
            Some(_) => self.lost += 1,
            None => {}
        }
    }

    /// Tells the listener everything in the order in which it happened.
    pub(super) fn replay(mut self, stops: Stops, listener: &mut dyn Listener) {
        // Each CPU has a ring of its own.
        self.seen.sort_by_key(|it| it.time_ns);
        let mut stops = stops.0.into_iter().peekable();
        for Seen { time_ns, thread, call, arguments } in self.seen {
            while let Some((_, event)) = stops.next_if(|(at, _)| *at <= time_ns) {
                listener.hear(event);
            }
            listener.hear(Event::Called(Called { thread, call, arguments, result: None, opened: None }));
        }
        stops.for_each(|(_, event)| listener.hear(event));
    }
}

/// What was heard at stops, with the clock of the recording.
#[derive(Default)]
pub(super) struct Stops(Vec<(u64, Event)>);

impl Listener for Stops {
    fn hear(&mut self, event: Event) {
        let now = clock_gettime(ClockId::Monotonic);
        self.0.push((now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64, event));
    }

    /// It is worked out afterwards; nothing is looked up but what was opened.
    fn knows(&self, _thread: i32, _descriptor: i32) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call(name: &str) -> &'static Call {
        CALLS.iter().find(|it| it.name == name).unwrap()
    }

    #[derive(Default)]
    struct Heard(Vec<Event>);

    impl Listener for Heard {
        fn hear(&mut self, event: Event) {
            self.0.push(event);
        }

        fn knows(&self, _thread: i32, _descriptor: i32) -> bool {
            true
        }
    }

    #[test]
    fn stops_and_recorded_calls_are_told_in_the_order_of_time_whatever_cpu_they_come_from() {
        let seen = |time_ns, thread, number| Seen { time_ns, thread, call: call("read"), arguments: [number; 6] };
        let tape = Tape { seen: vec![seen(30, 1, 5), seen(60, 2, 6), seen(20, 2, 7)], lost: 0 };
        let stops = Stops(vec![(10, Event::Foreign { thread: 1 }), (50, Event::Ended { thread: 1 })]);
        let mut heard = Heard::default();
        tape.replay(stops, &mut heard);
        let told = |thread, number| {
            let arguments = [number; 6];
            Event::Called(Called { thread, call: call("read"), arguments, result: None, opened: None })
        };
        let expected = [Event::Foreign { thread: 1 }, told(2, 7), told(1, 5), Event::Ended { thread: 1 }, told(2, 6)];
        assert_eq!(heard.0, expected);
    }

    #[test]
    fn a_number_that_is_no_call_of_interest_is_left_out() {
        let mut tape = Tape::default();
        tape.keep(1, 1, Some((u64::MAX, [0; 6])));
        tape.keep(1, 1, None);
        tape.keep(1, 1, Some((libc::SYS_read as u64, [0; 6])));
        assert_eq!((tape.seen.len(), tape.lost), (1, 0));
    }

    proptest! {
        #[test]
        fn arguments_of_any_record_are_there_or_not(offset in 0usize..80, record in proptest::collection::vec(any::<u8>(), 0..100)) {
            let field = Field { name: "args".into(), offset, bytes: 48, signed: false };
            prop_assert_eq!(six(&field, &record).is_some(), offset + 48 <= record.len());
        }
    }
}
