//! A second thread beside a pass: it has a deadline every millisecond and records how late it is for each, counted from
//! the deadline's own time. One that cannot run for 200 ms was late for 200 deadlines, and not for one.
//!
//! The thread and its counters exist before `prepared`. Between two deadlines it sleeps, and its loop neither allocates nor
//! locks. When the pass is over, the deadlines that are still open are served, and then some more while the worker has
//! nothing else to do: those say how late deadlines are on this machine anyway. It has no file open, so that the calls of the
//! pass take no longer because of it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use schema::{
    Beside,
    beats::{BINS, Beats, IDLE_DEADLINES, Lateness, PERIOD_NS, bin_of},
};

use crate::{
    session::nanoseconds,
    task::{Fault, at},
};

/// Instead of the pass's end, until it has one.
const GOES_ON: u64 = u64::MAX;

/// What a job asks for.
///
/// # Errors
/// The thread cannot be started.
pub(crate) fn beside(beside: Beside) -> Result<Option<Beat>, Fault> {
    match beside {
        Beside::Nothing => Ok(None),
        Beside::Beat => Beat::start().map(Some),
    }
}

/// The thread, which waits for a pass. It ends with this.
pub(crate) struct Beat {
    /// When the pass begins.
    go: Option<SyncSender<Instant>>,
    /// When it has ended, in nanoseconds from then.
    ended_ns: Arc<AtomicU64>,
    counted: Receiver<Beats>,
    thread: Option<JoinHandle<()>>,
}

impl Beat {
    fn start() -> Result<Beat, Fault> {
        let (go, begins) = sync_channel::<Instant>(1);
        let (counts, counted) = sync_channel(1);
        let ended_ns = Arc::new(AtomicU64::new(GOES_ON));
        let ended = Arc::clone(&ended_ns);
        let (mut pass, mut idle) = (Counters::new(), Counters::new());
        let (ready, is_ready) = sync_channel::<()>(1);
        let body = move || {
            sys::process::leave_descriptors();
            drop(ready);
            while let Ok(began) = begins.recv() {
                pass.clear();
                idle.clear();
                beat(began, &ended, &mut pass, &mut idle);
                let beats = Beats { period_ns: PERIOD_NS, pass: pass.lateness(), idle: idle.lateness() };
                if counts.send(beats).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("beat".into()).spawn(body).map_err(at("starting the beat"))?;
        // Dropped, and nothing was sent.
        let _ = is_ready.recv();
        Ok(Beat { go: Some(go), ended_ns, counted, thread: Some(thread) })
    }

    /// Makes a pass beside the beat. The beats are put into `beats`, and are all there when this returns.
    pub(crate) fn beside<T>(&mut self, beats: &mut Option<Box<Beats>>, pass: impl FnOnce() -> T) -> T {
        self.ended_ns.store(GOES_ON, Ordering::Release);
        let began = Instant::now();
        if let Some(go) = &self.go {
            // It receives until this is dropped; otherwise there are no beats, which the controller takes for a failure.
            let _ = go.send(began);
        }
        let passed = pass();
        self.ended_ns.store(nanoseconds(began.elapsed()), Ordering::Release);
        *beats = self.counted.recv().ok().map(Box::new);
        passed
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        self.go = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// From GO until the last of the idle deadlines.
pub(crate) fn beat(began: Instant, ended: &AtomicU64, pass: &mut Counters, idle: &mut Counters) {
    let mut next = PERIOD_NS;
    let now = loop {
        sleep_until(began, next);
        pass.wake_ups += 1;
        // Before the clock, so that what has ended by then ended before it.
        let end = ended.load(Ordering::Acquire);
        let now = nanoseconds(began.elapsed());
        while next <= now.min(end) {
            pass.add(now - next);
            next += PERIOD_NS;
        }
        if end != GOES_ON {
            break now;
        }
    };
    next = now + PERIOD_NS;
    let mut open = IDLE_DEADLINES;
    while open > 0 {
        sleep_until(began, next);
        idle.wake_ups += 1;
        let now = nanoseconds(began.elapsed());
        while open > 0 && next <= now {
            idle.add(now - next);
            next += PERIOD_NS;
            open -= 1;
        }
    }
}

fn sleep_until(began: Instant, ns: u64) {
    let left = Duration::from_nanos(ns).saturating_sub(began.elapsed());
    if !left.is_zero() {
        std::thread::sleep(left);
    }
}

pub(crate) struct Counters {
    deadlines: u64,
    wake_ups: u64,
    max_ns: u64,
    bins: Vec<u64>,
}

impl Counters {
    /// With all their memory, touched.
    pub(crate) fn new() -> Counters {
        let mut new = Counters { deadlines: 0, wake_ups: 0, max_ns: 0, bins: vec![1; BINS] };
        new.clear();
        new
    }

    fn clear(&mut self) {
        (self.deadlines, self.wake_ups, self.max_ns) = (0, 0, 0);
        self.bins.fill(0);
    }

    fn add(&mut self, late_ns: u64) {
        self.deadlines += 1;
        self.max_ns = self.max_ns.max(late_ns);
        self.bins[bin_of(late_ns)] += 1;
    }

    fn lateness(&self) -> Lateness {
        let used = self.bins.iter().rposition(|it| *it > 0).map_or(0, |last| last + 1);
        Lateness {
            deadlines: self.deadlines,
            wake_ups: self.wake_ups,
            max_ns: self.max_ns,
            bins: self.bins[..used].to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_deadline_of_a_pass_is_counted_whether_the_pass_is_long_or_shorter_than_a_period() {
        let mut beat = Beat::start().unwrap();
        for length in [Duration::ZERO, Duration::from_millis(30), Duration::ZERO] {
            let outside = Instant::now();
            let (mut beats, mut least) = (None, 0);
            beat.beside(&mut beats, || {
                let inside = Instant::now();
                std::thread::sleep(length);
                least = inside.elapsed().as_millis() as u64;
            });
            let most = outside.elapsed().as_millis() as u64;
            let beats = beats.unwrap();
            assert_eq!(beats.check(), Ok(()));
            let deadlines = beats.pass.deadlines;
            assert!(least <= deadlines && deadlines + IDLE_DEADLINES <= most, "{least} {most} {beats:?}");
            assert!((1..=deadlines + 1).contains(&beats.pass.wake_ups), "{beats:?}");
        }
    }

    #[test]
    fn a_thread_that_was_kept_from_running_was_late_for_each_deadline_by_its_own_time() {
        let (mut pass, mut idle) = (Counters::new(), Counters::new());
        let began = Instant::now().checked_sub(Duration::from_millis(200)).unwrap();
        beat(began, &AtomicU64::new(200_000_000), &mut pass, &mut idle);
        let (pass, idle) = (pass.lateness(), idle.lateness());
        assert_eq!((pass.deadlines, pass.wake_ups, idle.deadlines), (200, 1, IDLE_DEADLINES));
        assert!(pass.max_ns >= 199_000_000, "{pass:?}");
        let above = |ns: u64| pass.bins[bin_of(ns)..].iter().sum::<u64>();
        assert!(above(2_000_000) >= 197 && above(100_000_000) >= 99, "{pass:?}");
    }
}
