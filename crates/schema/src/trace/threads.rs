//! The threads that replay a trace. A trace has the order of its accesses, the thread of each, and no times. Two of its threads
//! were at work at once where each has an access before the last one of the other; one that begins when another has made its
//! last access takes its place, as a process of `xargs` does. So a replay has as many threads as were at work at once, and not
//! as many as there were. Threads that take turns of many accesses are one: so a runtime such as Go's moves one flow of control
//! from thread to thread, while two that run side by side have accesses between each other's all the time.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashMap},
};

/// Of more at once, several share one.
pub const REPLAY_THREADS_MAX: u32 = 256;
/// Threads of a trace are numbered by their first accesses: those from the last of these numbers on count as one.
const NUMBERS: u32 = 1 << 20;
/// A thread that comes back after so many accesses of others, for each thread that there is, was at work meanwhile.
const SOON: u64 = 8;
/// Where of so many accesses fewer than one comes back so soon, the threads took turns.
const TURNS: u64 = 1000;
/// So many at most: each wait takes tens of microseconds, which is no time of an access.
const PARTS_MAX: u64 = 64;
/// Each has a buffer as long as the longest access, and all of them together have at most so much memory.
const BUFFER_BYTES_MAX: u64 = 1 << 30;

/// Of one thread of the trace: the places of its first and its last access in the order, and how many it makes.
#[derive(Debug, Clone, Copy)]
struct Seen {
    first: u64,
    last: u64,
    accesses: u64,
}

/// When each thread was at work, by the order of all accesses.
#[derive(Debug, Default)]
pub struct Overlaps {
    threads: HashMap<u32, Seen>,
    accesses: u64,
    /// Of these, the ones by which a thread came back soon.
    returns: u64,
    longest_bytes: u64,
    /// Most accesses are of the same thread as the one before.
    now: Option<(u32, Seen)>,
}

impl Overlaps {
    /// The next access in the order.
    pub fn add(&mut self, thread: u32, bytes: u64) {
        let (thread, place) = (thread.min(NUMBERS - 1), self.accesses);
        self.accesses += 1;
        self.longest_bytes = self.longest_bytes.max(bytes);
        match &mut self.now {
            Some((now, seen)) if *now == thread => (seen.last, seen.accesses) = (place, seen.accesses + 1),
            _ => {
                self.keep();
                let before = self.threads.get(&thread).copied();
                let soon = SOON.saturating_mul(self.threads.len() as u64);
                self.returns += u64::from(before.is_some_and(|it| place - it.last <= soon));
                let seen = before.unwrap_or(Seen { first: place, last: 0, accesses: 0 });
                self.now = Some((thread, Seen { last: place, accesses: seen.accesses + 1, ..seen }));
            }
        }
    }

    fn keep(&mut self) {
        if let Some((thread, seen)) = self.now.take() {
            self.threads.insert(thread, seen);
        }
    }

    /// As many as were at work at once, or as the buffers of a replay leave room for.
    pub fn threads(self) -> ReplayThreads {
        let room = BUFFER_BYTES_MAX / self.longest_bytes.max(1);
        self.at_most(room.clamp(1, REPLAY_THREADS_MAX.into()) as u32)
    }

    /// As many as were at work at once, or `most`. The first accesses of a trace alone have no more than all of them.
    pub fn at_most(mut self, most: u32) -> ReplayThreads {
        self.keep();
        if self.returns.saturating_mul(TURNS) < self.accesses {
            let of = self.threads.into_keys().map(|it| (it, 0)).collect();
            return ReplayThreads { count: 1, ends: vec![self.accesses], of };
        }
        let mut all: Vec<(u32, Seen)> = self.threads.into_iter().collect();
        all.sort_unstable_by_key(|it| it.1.first);
        // How many are at work at once in each part, and its accesses; of each thread its part and which of these it is.
        let (mut parts, mut placed) = (Vec::<(u32, u64)>::new(), Vec::with_capacity(all.len()));
        let (mut free, mut busy) = (BTreeSet::new(), BinaryHeap::new());
        let (mut used, mut end) = (0, None);
        for (thread, seen) in all {
            if end.is_none_or(|end| seen.first > end) {
                // No thread that began before is at work any more.
                (used, free, busy) = (0, BTreeSet::new(), BinaryHeap::new());
                parts.push((0, 0));
            }
            while let Some(&Reverse((ended, own))) = busy.peek()
                && ended < seen.first
            {
                free.insert(own);
                busy.pop();
            }
            let own = match free.pop_first() {
                Some(own) => own,
                None if used < most => {
                    used += 1;
                    used - 1
                }
                None => busy.pop().map_or(0, |Reverse((_, own))| own),
            };
            busy.push(Reverse((seen.last, own)));
            end = end.max(Some(seen.last));
            placed.push((thread, seen, parts.len() - 1, own));
            if let Some(part) = parts.last_mut() {
                *part = (used, part.1 + seen.accesses);
            }
        }
        let count = parts.iter().map(|it| it.0).max().unwrap_or(1);
        // Threads that follow each other need not wait, and a short part is one with the next.
        let least = self.accesses.div_ceil(PARTS_MAX);
        let (mut after, mut accesses, mut joined) = (0, 0, Vec::with_capacity(parts.len()));
        for (at, part) in parts.iter().enumerate() {
            let is_alone = at == 0 || part.0 == 1 && parts[at - 1].0 == 1;
            if !is_alone && accesses >= least {
                (after, accesses) = (after + 1, 0);
            }
            accesses += part.1;
            joined.push(after);
        }
        let share = |part: usize, own: u32| joined[part] * count as usize + own as usize;
        let mut ends = vec![0; (after + 1) * count as usize];
        placed.iter().for_each(|(_, seen, part, own)| ends[share(*part, *own)] += seen.accesses);
        (1..ends.len()).for_each(|at| ends[at] += ends[at - 1]);
        ReplayThreads { count, ends, of: placed.into_iter().map(|it| (it.0, share(it.2, it.3))).collect() }
    }
}

/// Which thread of a replay makes which accesses, in parts: no thread begins with its accesses of a part before all have made theirs
/// of the parts before.
#[derive(Debug, PartialEq, Eq)]
pub struct ReplayThreads {
    pub count: u32,
    /// Where the share of each thread ends if they lie one after the other: those of the first part by thread, of the second, and so
    /// on.
    pub ends: Vec<u64>,
    of: HashMap<u32, usize>,
}

impl ReplayThreads {
    /// The share, by its place in `ends`, that the accesses of a thread of the trace belong to.
    pub fn share(&self, thread: u32) -> usize {
        self.of.get(&thread.min(NUMBERS - 1)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(order: &[u32]) -> ReplayThreads {
        let mut overlaps = Overlaps::default();
        order.iter().for_each(|it| overlaps.add(*it, 1));
        overlaps.threads()
    }

    /// The part and the thread of the replay that each access belongs to.
    fn shares(order: &[u32]) -> Vec<(usize, usize)> {
        let threads = of(order);
        let count = threads.count as usize;
        let mut ends = vec![0; threads.ends.len()];
        order.iter().for_each(|it| ends[threads.share(*it)] += 1);
        (1..ends.len()).for_each(|at| ends[at] += ends[at - 1]);
        assert_eq!(threads.ends, ends);
        order.iter().map(|it| (threads.share(*it) / count, threads.share(*it) % count)).collect()
    }

    fn in_one_part(order: &[u32]) -> Vec<usize> {
        let shares = shares(order);
        assert!(shares.iter().all(|it| it.0 == 0), "{shares:?}");
        shares.into_iter().map(|it| it.1).collect()
    }

    #[test]
    fn threads_one_after_the_other_are_one() {
        assert_eq!(in_one_part(&[0, 0, 1, 1, 2, 5]), [0; 6]);
        assert_eq!((of(&[]).count, of(&[]).ends), (1, vec![0]));
        assert_eq!(of(&[7]).share(7), 0);
    }

    #[test]
    fn threads_whose_accesses_lie_between_each_other_are_at_work_at_once() {
        assert_eq!(in_one_part(&[0, 1, 0, 1]), [0, 1, 0, 1]);
        assert_eq!(in_one_part(&[0, 1, 2, 2, 1, 0]), [0, 1, 2, 2, 1, 0]);
        // The main thread reads meanwhile, too.
        assert_eq!(in_one_part(&[0, 1, 2, 1, 2, 0]), [0, 1, 2, 1, 2, 0]);
    }

    #[test]
    fn threads_that_take_turns_of_many_accesses_are_one() {
        // A goroutine that reads goes on in another thread every ten milliseconds.
        let turns = |each: usize| (0..40).flat_map(|at| vec![at % 4; each]).collect::<Vec<u32>>();
        assert_eq!(in_one_part(&turns(1000)), vec![0; 40_000]);
        assert_eq!(of(&turns(2)).count, 4);
        // Two at once, whose processors go to two others for a while.
        let two = |a: u32| vec![[a, a + 1]; 500].concat();
        assert_eq!(of(&[two(0), two(2), two(0), two(2)].concat()).count, 4);
        // After a long time alone.
        assert_eq!(of(&[vec![0; 100_000], two(1), vec![0]].concat()).count, 3);
    }

    #[test]
    fn one_that_begins_takes_the_place_of_one_that_ended() {
        // Two processes at a time, of four.
        assert_eq!(in_one_part(&[0, 1, 0, 2, 1, 3, 2, 3]), [0, 1, 0, 0, 1, 1, 0, 1]);
    }

    #[test]
    fn what_one_thread_reads_before_others_begin_and_after_they_ended_is_waited_for() {
        let parts = [(0, 0), (0, 0), (1, 0), (1, 1), (1, 0), (1, 1), (2, 0), (2, 0), (2, 0), (2, 0)];
        assert_eq!(shares(&[0, 0, 1, 2, 1, 2, 3, 4, 4, 5]), parts);
    }

    #[test]
    fn more_at_once_than_a_replay_has_share_its_threads() {
        let order: Vec<u32> = (0..1000).chain(0..1000).collect();
        assert_eq!(of(&order).count, REPLAY_THREADS_MAX);
        in_one_part(&order);
        // Large accesses need large buffers.
        let mut overlaps = Overlaps::default();
        [0, 1, 2, 0, 1, 2].into_iter().for_each(|it| overlaps.add(it, 1 << 29));
        assert_eq!(overlaps.threads().count, 2);
    }

    #[test]
    fn short_parts_are_one_and_numbers_beyond_are_one_thread() {
        // Two threads, four accesses each, again and again: 2 x 8,000.
        let order: Vec<u32> = (0..2000).flat_map(|at| [0, 1, 0, 1, 0, 1, 0, 1].map(|it| 2 * at + it)).collect();
        let parts = shares(&order).last().unwrap().0 + 1;
        assert!((32..=64).contains(&parts), "{parts}");
        assert_eq!(of(&order).count, 2);
        // Processes one after the other.
        let many: Vec<u32> = (NUMBERS - 5..NUMBERS + 5).collect();
        assert_eq!(of(&many).count, 1);
    }

    #[test]
    fn the_first_accesses_have_no_more_threads_than_their_job() {
        let order = [0, 1, 2, 3, 0, 1, 2, 3];
        for most in 1..=5 {
            let mut overlaps = Overlaps::default();
            order.iter().for_each(|it| overlaps.add(*it, 1));
            let threads = overlaps.at_most(most);
            assert_eq!((threads.count, threads.ends.last()), (most.min(4), Some(&8)));
        }
    }

    proptest::proptest! {
        #[test]
        fn threads_at_once_are_apart_and_parts_do_not_overlap(order in proptest::collection::vec(0..12_u32, 1..60)) {
            let shares = shares(&order);
            // Whether a thread comes back soon, counted anew.
            let comes_back = |at: usize| {
                let before = order[..at].iter().rposition(|it| *it == order[at]);
                let threads = order[..at].iter().collect::<std::collections::HashSet<_>>().len();
                before.is_some_and(|before| at - before > 1 && (at - before) as u64 <= SOON * threads as u64)
            };
            let take_turns = !(0..order.len()).any(comes_back);
            proptest::prop_assert!(!take_turns || shares.iter().all(|it| *it == (0, 0)), "{:?}", shares);
            let interval = |thread: u32| {
                let places = || order.iter().enumerate().filter(move |it| *it.1 == thread).map(|it| it.0);
                Some((places().next()?, places().next_back()?))
            };
            for (a, b) in (0..12).flat_map(|a| (0..a).map(move |b| (a, b))) {
                let Some((a, b)) = interval(a).zip(interval(b)) else { continue };
                let is_at_once = a.0 < b.1 && b.0 < a.1;
                proptest::prop_assert!(take_turns || !is_at_once || shares[a.0].0 == shares[b.0].0 && shares[a.0] != shares[b.0]);
            }
            proptest::prop_assert!(shares.is_sorted_by_key(|it| it.0), "{:?}", shares);
        }
    }
}
