//! Where the threads of a replay wait for each other. Who makes accesses in a part waits until all accesses of the parts before are
//! made; who makes none is not woken. A pass of one part makes no call for it.

use std::{
    convert::Infallible,
    sync::{Condvar, Mutex},
};

use crate::source::Accesses;

pub(super) struct Joins {
    /// Shares that were made, of all parts.
    made: Mutex<usize>,
    parts: Vec<Part>,
}

struct Part {
    /// Shares of the parts before.
    before: usize,
    begins: Condvar,
}

impl Joins {
    /// `threads`: of the pass.
    pub(super) fn new(accesses: &Accesses, threads: u32) -> Joins {
        let mut before = 0;
        let part = |at: usize| {
            let part = Part { before, begins: Condvar::new() };
            before += (0..threads).filter(|it| !accesses.share(at, *it).is_empty()).count();
            part
        };
        Joins { made: Mutex::new(0), parts: (0..accesses.parts()).map(part).collect() }
    }

    /// Does what a thread has to do in each part, one after the other. After a failure it does nothing more, and no other
    /// thread waits for it.
    pub(super) fn each<T, E>(
        &self,
        accesses: &Accesses,
        thread: u32,
        mut first: Result<T, E>,
        mut share: impl FnMut(usize, T) -> Result<T, E>,
    ) -> Result<T, E> {
        for part in (0..self.parts.len()).filter(|it| !accesses.share(*it, thread).is_empty()) {
            first = first.and_then(|before| {
                self.wait_for(part);
                share(part, before)
            });
            self.made();
        }
        first
    }

    /// Of a thread that cannot begin.
    pub(super) fn nothing<E>(&self, accesses: &Accesses, thread: u32, why: E) -> E {
        match self.each(accesses, thread, Err(why), |_, never: Infallible| Ok(never)) {
            Err(why) => why,
            Ok(never) => match never {},
        }
    }

    fn wait_for(&self, part: usize) {
        let Part { before, begins } = &self.parts[part];
        if *before > 0 {
            let made = self.made.lock().expect(NO_PANIC);
            drop(begins.wait_while(made, |it| *it < *before).expect(NO_PANIC));
        }
    }

    fn made(&self) {
        if self.parts.len() > 1 {
            let mut made = self.made.lock().expect(NO_PANIC);
            *made += 1;
            let begins = self.parts.iter().filter(|it| it.before == *made);
            begins.for_each(|it| it.begins.notify_all());
        }
    }
}

const NO_PANIC: &str = "no thread panics while it holds the lock";

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    #[test]
    fn no_thread_begins_a_part_before_the_ones_before_are_made_and_none_waits_for_one_that_failed() {
        // Accesses of three threads in four parts; one of them has none in two.
        let shares = [[2, 0, 1], [1, 1, 1], [0, 3, 1], [1, 0, 0]];
        let accesses = Accesses::planted(&shares);
        for fails in [None, Some((1, 1)), Some((0, 0)), Some((2, 2))] {
            let joins = Joins::new(&accesses, 4);
            let made = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for thread in 0..4_u32 {
                    let (joins, accesses, made) = (&joins, &accesses, &made);
                    scope.spawn(move || {
                        let done = joins.each(accesses, thread, Ok(0), |part, before| {
                            let needed = shares[..part].iter().flatten().filter(|it| **it > 0).count();
                            assert!(fails.is_some() || made.load(SeqCst) >= needed);
                            if fails == Some((part, thread)) {
                                return Err(());
                            }
                            made.fetch_add(1, SeqCst);
                            Ok(before + accesses.share(part, thread).len())
                        });
                        let all = shares.iter().filter_map(|it| it.get(thread as usize)).sum::<usize>();
                        assert_eq!(done, if fails.is_some_and(|it| it.1 == thread) { Err(()) } else { Ok(all) });
                    });
                }
            });
        }
    }
}
