//! The descriptors of the processes of a log, and the positions of the files that they are of.
//!
//! A descriptor belongs to a process, and a log names threads. What a thread has of the one that made it, a copy of its
//! descriptors or the same ones (CLONE_FILES of clone(2)), is known by the call that made it, where the log has these calls.
//! Otherwise, what a thread did not open is the descriptor of that number and path that another one opened, if that was once, and
//! what it did open is its own if no other one has opened the same: threads of one process close and open for each other. Of
//! several it is not known which one it is, so that the position of none of them is known from then on.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    rc::Rc,
};

/// Of processes that make processes and so on; beyond that nothing is inherited, so that a log with a long chain is read in a
/// time that is in proportion to its length.
const DEPTH_MAX: u32 = 64;
/// Under so many numbers and paths one open file is known. A position that more share is not.
const NAMES_MAX: usize = 256;
/// A child that closes what it was born with, as a daemon does, has some of these: a log of ten thousand children a million.
pub(super) const CLOSED_IN_RANGES_MAX: usize = 4 << 20;
/// Numbers that are in a range and closed already are looked at by each call for the range. It takes some ten seconds to look
/// at so many, and without a limit the square of the length of the log.
const LOOKED_AT_IN_RANGES_MAX: usize = 1 << 28;

/// What was opened: a place in `positions`.
#[derive(Debug, Clone)]
struct Opened {
    path: Rc<str>,
    place: usize,
}

/// The descriptors of a process.
#[derive(Debug, Default)]
struct Table {
    /// By number and step, what it was from then on. Nothing: it was closed.
    history: BTreeMap<(u64, u64), Option<Opened>>,
    /// All numbers that were ever in it.
    numbers: BTreeSet<u64>,
    /// It began as this one was at that step.
    copy_of: Option<(usize, u64)>,
    depth: u32,
    /// Threads that have it.
    threads: BTreeSet<u64>,
    /// What it does not have was open before the log begins, or came through a socket.
    is_complete: bool,
}

impl Table {
    fn note(&mut self, number: u64, step: u64, opened: Option<Opened>) {
        self.numbers.insert(number);
        self.history.insert((number, step), opened);
    }
}

#[derive(Debug)]
struct Position {
    at: Option<u64>,
    /// The step at which it became known.
    since: u64,
    /// It is one of several others.
    is_unsure: bool,
    /// A write goes to the end of the file first, wherever that is. Of what was not seen to be opened that is not known.
    may_append: bool,
    /// Places in `doubts`.
    names: Vec<usize>,
}

/// What was opened under a number and a path.
#[derive(Debug)]
struct Named {
    /// The first, and the thread that has it.
    place: usize,
    thread: u64,
    is_only: bool,
    /// All of them are of one thread.
    is_of_one: bool,
    /// In `doubts`.
    doubt: usize,
}

/// What a table has under a number.
enum Has<'a> {
    Open(&'a Opened),
    Closed,
    /// Neither it nor the first of those that it is a copy of was seen to open or close it.
    Nothing {
        first: usize,
    },
}

/// Where the position of a descriptor is.
enum Place {
    Of(usize),
    OneOfSeveral,
    /// It was opened before the log begins, or came through a socket.
    Unknown,
}

/// For each number and path, the last step at which one of several may have been moved. Those that may be other names of the
/// same open files have it together.
#[derive(Debug, Default)]
struct Doubts {
    /// A step, or the place of those that it is together with.
    steps: Vec<Result<u64, usize>>,
}

impl Doubts {
    fn add(&mut self) -> usize {
        self.steps.push(Ok(0));
        self.steps.len() - 1
    }

    /// Its group, and the step.
    fn of(&mut self, mut at: usize) -> (usize, u64) {
        loop {
            match self.steps[at] {
                Ok(step) => return (at, step),
                // Half as far the next time.
                Err(to) => {
                    if let Err(next) = self.steps[to] {
                        self.steps[at] = Err(next);
                    }
                    at = to;
                }
            }
        }
    }

    fn raise(&mut self, at: usize, step: u64) {
        let (group, _) = self.of(at);
        self.steps[group] = Ok(step);
    }

    fn join(&mut self, one: usize, other: usize) {
        let [(one, step), (other, others)] = [one, other].map(|it| self.of(it));
        if one != other {
            self.steps[one] = Ok(step.max(others));
            self.steps[other] = Err(one);
        }
    }
}

/// A call that makes a thread, or a process.
#[derive(Debug)]
struct Making {
    /// What is made has the same descriptors.
    shares: bool,
    /// It has a line in the log before the call returned.
    made: Option<u64>,
    /// When the call began. What is made has the descriptors of then, whatever other threads do until it returns.
    step: u64,
}

/// Calls that may move a position and have not returned.
#[derive(Debug, Default)]
struct AtOnce {
    calls: usize,
    /// Threads of those since whose beginning no other one has returned here.
    alone: HashSet<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Descriptors {
    step: u64,
    tables: Vec<Table>,
    /// The table of each thread that lives.
    of: HashMap<u64, usize>,
    positions: Vec<Position>,
    named: HashMap<(u64, Rc<str>), Named>,
    doubts: Doubts,
    /// Threads in a call that makes another one; those whose child has no line in the log yet, and how many of them share.
    making: HashMap<u64, Making>,
    expecting: BTreeSet<u64>,
    expecting_shared: usize,
    /// Threads whose first line came while several were being made: the table that they began with, and whether another one may
    /// have the same descriptors.
    orphans: HashMap<u64, (usize, bool)>,
    /// How many of them may.
    sharing: usize,
    /// The flag was set of one of several open files.
    any_may_append: bool,
    closed_in_ranges: usize,
    looked_at_in_ranges: usize,
    /// Threads in a call that may move the position of an open file: which, and by its place those that are in one.
    moving: HashMap<u64, Vec<usize>>,
    moved_by: HashMap<usize, AtOnce>,
    /// A thread appeared without a call that made it: the log lacks such calls.
    lacks_calls: bool,
}

impl Descriptors {
    /// The log has a line of this thread. Where it is its first, its descriptors are those of the thread that is making one.
    pub(super) fn appears(&mut self, thread: u64) {
        if self.of.contains_key(&thread) {
            return;
        }
        let mut makers = self.expecting.iter();
        let maker = makers.next().filter(|_| makers.next().is_none()).copied();
        if let Some((maker, making)) = maker.and_then(|it| Some((it, self.take_call(it)?))) {
            self.begin(thread, maker, making.shares, making.step);
            self.making.insert(maker, Making { made: Some(thread), ..making });
        } else {
            if !self.tables.is_empty() {
                self.lacks_calls |= self.expecting.is_empty();
                let shares = self.expecting_shared > 0;
                self.sharing += usize::from(shares);
                self.orphans.insert(thread, (self.tables.len(), shares));
            }
            self.add(thread, Table::default());
        }
    }

    /// The first thread executes the command: what it has is what it opens, and what was open before the log.
    pub(super) fn executed(&mut self, thread: u64) {
        let table = self.table(thread);
        if self.tables.len() == 1 && self.of.len() == 1 {
            self.tables[table].is_complete = true;
        }
        self.parted(thread);
    }

    /// It shares its descriptors with no other one from now on: unshare(CLONE_FILES), execve(2).
    pub(super) fn parted(&mut self, thread: u64) {
        self.step += 1;
        let table = self.table(thread);
        // It is not known which it has had until now.
        self.lacks_calls |= self.orphans.contains_key(&thread);
        if self.tables[table].threads.len() > 1 {
            let own = self.copy(table, self.step);
            self.add(thread, own);
        }
    }

    /// A call that makes a thread, or a process, has begun.
    pub(super) fn makes(&mut self, thread: u64, shares: bool) {
        self.step += 1;
        self.take_call(thread);
        self.making.insert(thread, Making { shares, made: None, step: self.step });
        self.expecting.insert(thread);
        self.expecting_shared += usize::from(shares);
    }

    pub(super) fn made_none(&mut self, thread: u64) {
        self.take_call(thread);
    }

    /// Takes the call that a thread is in out of both lists.
    fn take_call(&mut self, maker: u64) -> Option<Making> {
        let making = self.making.remove(&maker)?;
        if self.expecting.remove(&maker) {
            self.expecting_shared -= usize::from(making.shares);
        }
        Some(making)
    }

    /// It has returned.
    pub(super) fn made(&mut self, thread: u64, child: u64, shares: bool) {
        self.step += 1;
        let making = self.take_call(thread);
        let step = making.as_ref().map_or(self.step, |it| it.step);
        match making.and_then(|it| it.made) {
            Some(made) if made == child => return,
            // Another one was taken for it, and no call that made that one is known.
            Some(_) => self.lacks_calls = true,
            None => {}
        }
        // It had lines before, and may have ended since. Those that it has made go on.
        let Some((early, may_share)) = self.orphans.remove(&child) else {
            return self.begin(child, thread, shares, step);
        };
        self.sharing -= usize::from(may_share);
        let table = self.table(thread);
        if early == table {
            return;
        }
        if !shares {
            let Table { copy_of, depth, is_complete, .. } = self.copy(table, step);
            let own = &mut self.tables[early];
            (own.copy_of, own.depth, own.is_complete) = (copy_of, depth, is_complete);
            return;
        }
        let own = &mut self.tables[early];
        let (history, numbers) = (std::mem::take(&mut own.history), std::mem::take(&mut own.numbers));
        // It may have made others already.
        let threads = std::mem::take(&mut own.threads);
        self.tables[table].history.extend(history);
        self.tables[table].numbers.extend(numbers);
        threads.into_iter().for_each(|it| self.assign(it, table));
    }

    /// The kernel gives its number to another one.
    pub(super) fn ended(&mut self, thread: u64) {
        if let Some(table) = self.of.remove(&thread) {
            self.tables[table].threads.remove(&thread);
        }
        self.take_call(thread);
        self.ended_within(thread);
    }

    /// A thread executes a program: it goes on under the number of its process, whose first thread ends.
    pub(super) fn superseded(&mut self, process: u64, by: u64) {
        let table = self.of.get(&by).copied();
        self.ended(process);
        self.ended(by);
        table.into_iter().for_each(|it| self.assign(process, it));
    }

    pub(super) fn closed(&mut self, thread: u64, number: u64) {
        let table = self.table(thread);
        self.set(table, number, None);
    }

    /// Whether what ranges close is still few enough to be kept, and what lies in them to be looked at.
    pub(super) fn closed_range(&mut self, thread: u64, first: u64, last: u64) -> bool {
        let table = self.table(thread);
        // The kernel refuses such a range (close_range(2)), and `BTreeSet::range` panics at one. A log may have it as closed.
        if first > last {
            return true;
        }
        let (mut numbers, mut tables, mut next) = (BTreeSet::new(), 0, Some(table));
        for _ in 0..=DEPTH_MAX {
            let Some(it) = next.map(|it| &self.tables[it]) else { break };
            numbers.extend(it.numbers.range(first..=last));
            tables += 1;
            next = it.copy_of.map(|it| it.0);
        }
        // Each of them in each table, at most.
        self.looked_at_in_ranges += numbers.len() * tables;
        let is_open = |it: &u64| !matches!(self.has(table, *it), Has::Closed);
        let open: Vec<u64> = numbers.into_iter().filter(is_open).collect();
        self.closed_in_ranges += open.len();
        open.into_iter().for_each(|it| self.set(table, it, None));
        self.closed_in_ranges <= CLOSED_IN_RANGES_MAX && self.looked_at_in_ranges <= LOOKED_AT_IN_RANGES_MAX
    }

    pub(super) fn opened(&mut self, thread: u64, number: u64, path: &str, appends: bool) {
        let place = self.new_place(Some(0), false);
        self.positions[place].may_append = appends;
        self.name(thread, number, path, place);
    }

    /// `number` is another name of the same open file. Where its position is not known, neither is that of the duplicate.
    pub(super) fn duplicated(&mut self, thread: u64, from: u64, number: u64, path: &str) {
        let found = self.place(thread, from, path);
        let place = match found {
            Place::Of(place) => place,
            Place::OneOfSeveral | Place::Unknown => {
                let place = self.new_place(None, matches!(found, Place::OneOfSeveral));
                self.opened_before(thread, from, path, place);
                place
            }
        };
        self.name(thread, number, path, place);
        if self.positions[place].is_unsure {
            let doubts = [from, number].map(|it| self.named.get(&(it, Rc::from(path))).map(|it| it.doubt));
            if let [Some(one), Some(other)] = doubts {
                self.doubts.join(one, other);
            }
        }
    }

    /// A call that may move the position has begun, and the log has lines of other threads before it returns.
    pub(super) fn begins_to_move(&mut self, thread: u64, number: u64, path: &str) {
        // What is not known now may be when it returns.
        self.moving.entry(thread).or_default();
        let Place::Of(place) = self.place(thread, number, path) else { return };
        let places = self.moving.entry(thread).or_default();
        if !places.contains(&place) {
            places.push(place);
            let at_once = self.moved_by.entry(place).or_default();
            at_once.calls += 1;
            at_once.alone.insert(thread);
        }
    }

    /// The call has returned.
    pub(super) fn has_moved(&mut self, thread: u64) {
        for place in self.moving.remove(&thread).into_iter().flatten() {
            if let Some(at_once) = self.moved_by.get_mut(&place) {
                at_once.calls -= 1;
                at_once.alone.remove(&thread);
            }
        }
    }

    /// It ended within the call: what that moves may have moved.
    pub(super) fn ended_within(&mut self, thread: u64) {
        for &place in self.moving.get(&thread).into_iter().flatten() {
            self.positions[place].at = None;
        }
        self.has_moved(thread);
    }

    /// Whether another thread is, or was, in such a call at the same time. The kernel makes one after the other (`f_pos_lock`,
    /// fs/file.c), in an order that is not that of the log.
    fn is_shared(&mut self, thread: u64, place: usize) -> bool {
        let is_own = match self.moving.get(&thread) {
            // When it began this was another open file, or not known to be this one.
            Some(places) if !places.contains(&place) => {
                self.positions[place].at = None;
                return true;
            }
            places => places.is_some(),
        };
        let Some(at_once) = self.moved_by.get_mut(&place) else { return false };
        let was_alone = at_once.alone.remove(&thread);
        let has_others = at_once.calls > usize::from(is_own);
        if has_others {
            at_once.alone.clear();
        } else if was_alone {
            at_once.alone.insert(thread);
        }
        has_others || is_own && !was_alone
    }

    /// Where a call that moves the position begins. What reads and writes that are made at once move it by is known, and not where
    /// each of them begins.
    pub(super) fn moved(&mut self, thread: u64, number: u64, path: &str, by: u64) -> Option<u64> {
        let Place::Of(place) = self.place(thread, number, path) else { return None };
        let is_shared = self.is_shared(thread, place);
        let Position { at, since, names, .. } = &mut self.positions[place];
        let offset = at.filter(|_| names.iter().all(|it| self.doubts.of(*it).1 < *since));
        *at = offset.map(|it| it.saturating_add(by));
        offset.filter(|_| !is_shared)
    }

    /// A write at the position. `appends`: this one does, whatever the open file is.
    pub(super) fn wrote(&mut self, thread: u64, number: u64, path: &str, bytes: u64, appends: bool) {
        self.moved(thread, number, path, bytes);
        if let Place::Of(place) = self.place(thread, number, path) {
            let it = &mut self.positions[place];
            it.at = it.at.filter(|_| bytes == 0 || !(appends || it.may_append || self.any_may_append));
        }
    }

    /// The flags of an open file were set (fcntl(2)).
    pub(super) fn appends(&mut self, thread: u64, number: u64, path: &str, appends: bool) {
        match self.place(thread, number, path) {
            Place::Of(place) => self.positions[place].may_append = appends,
            Place::OneOfSeveral => self.any_may_append |= appends,
            Place::Unknown => {}
        }
    }

    pub(super) fn seek(&mut self, thread: u64, number: u64, path: &str, to: u64) {
        if let Place::Unknown = self.place(thread, number, path) {
            let place = self.new_place(None, false);
            self.opened_before(thread, number, path, place);
        }
        if let Place::Of(place) = self.place(thread, number, path) {
            self.step += 1;
            let is_shared = self.is_shared(thread, place);
            let it = &mut self.positions[place];
            let is_known = it.names.len() < NAMES_MAX && !it.is_unsure && !is_shared;
            (it.at, it.since) = (Some(to).filter(|_| is_known), self.step);
        }
    }

    fn table(&mut self, thread: u64) -> usize {
        self.appears(thread);
        self.of[&thread]
    }

    fn add(&mut self, thread: u64, table: Table) {
        self.tables.push(table);
        self.assign(thread, self.tables.len() - 1);
    }

    fn assign(&mut self, thread: u64, table: usize) {
        // It may be the same one.
        if let Some(before) = self.of.insert(thread, table) {
            self.tables[before].threads.remove(&thread);
        }
        self.tables[table].threads.insert(thread);
    }

    /// A thread that begins with the descriptors of its maker.
    fn begin(&mut self, thread: u64, maker: u64, shares: bool, step: u64) {
        let table = self.table(maker);
        if shares {
            self.assign(thread, table);
        } else {
            let copy = self.copy(table, step);
            self.add(thread, copy);
        }
    }

    fn copy(&self, table: usize, step: u64) -> Table {
        let Table { numbers, copy_of, depth, is_complete, .. } = &self.tables[table];
        let (is_empty, depth, is_complete) = (numbers.is_empty(), *depth, *is_complete);
        match (is_empty, copy_of) {
            // A shell's child that makes another one at once.
            (true, copy_of @ Some(_)) => Table { copy_of: *copy_of, depth, is_complete, ..Table::default() },
            _ if depth >= DEPTH_MAX => Table::default(),
            _ => Table { copy_of: Some((table, step)), depth: depth + 1, is_complete, ..Table::default() },
        }
    }

    fn set(&mut self, table: usize, number: u64, opened: Option<Opened>) {
        self.step += 1;
        self.tables[table].note(number, self.step, opened);
    }

    fn new_place(&mut self, at: Option<u64>, is_unsure: bool) -> usize {
        self.step += 1;
        self.positions.push(Position { at, since: self.step, is_unsure, may_append: true, names: Vec::new() });
        self.positions.len() - 1
    }

    fn name(&mut self, thread: u64, number: u64, path: &str, place: usize) {
        let (table, path) = (self.table(thread), Rc::<str>::from(path));
        self.set(table, number, Some(Opened { path: Rc::clone(&path), place }));
        let doubts = &mut self.doubts;
        let named = self.named.entry((number, path)).or_insert_with(|| Named {
            place,
            thread,
            is_only: true,
            is_of_one: true,
            doubt: doubts.add(),
        });
        named.is_only &= named.place == place;
        named.is_of_one &= named.thread == thread;
        let position = &mut self.positions[place];
        if !position.names.contains(&named.doubt) {
            position.names.push(named.doubt);
        }
        if position.names.len() >= NAMES_MAX {
            position.names.truncate(NAMES_MAX);
            position.at = None;
        }
    }

    /// What a descriptor is. A log may say of two that each made the other, so that this ends where no chain is longer.
    fn has(&self, mut table: usize, number: u64) -> Has<'_> {
        let mut until = u64::MAX;
        for _ in 0..=DEPTH_MAX {
            let it = &self.tables[table];
            let before = it.history.range((number, 0)..=(number, until)).next_back();
            match (before, it.copy_of) {
                (Some((_, opened)), _) => return opened.as_ref().map_or(Has::Closed, Has::Open),
                (None, Some((from, step))) => (table, until) = (from, until.min(step)),
                (None, None) => return Has::Nothing { first: table },
            }
        }
        Has::Closed
    }

    /// What was open before the log begins is open in all that have it from the first one.
    fn opened_before(&mut self, thread: u64, number: u64, path: &str, place: usize) {
        let table = self.table(thread);
        let first = match self.has(table, number) {
            Has::Nothing { first } if first != table => first,
            _ => return self.name(thread, number, path, place),
        };
        self.name(thread, number, path, place);
        // It was noted of this table at this step, and is moved to the first one.
        let Some(opened) = self.tables[table].history.remove(&(number, self.step)) else { return };
        self.tables[first].note(number, 0, opened);
    }

    fn place(&mut self, thread: u64, number: u64, path: &str) -> Place {
        let table = self.table(thread);
        // One that was closed, or is another file's, was given to it since in another way than by a call that opens.
        let (own, is_closed) = match self.has(table, number) {
            Has::Open(it) if *it.path == *path => (Some(it.place), false),
            Has::Open(_) | Has::Closed => (None, true),
            Has::Nothing { .. } => (None, false),
        };
        let is_known = !self.lacks_calls && self.sharing == 0;
        let named = self.named.get(&(number, Rc::from(path)));
        let found = match (own, named) {
            (Some(place), _) if is_known => Place::Of(place),
            (None, _) if is_known && (is_closed || self.tables[table].is_complete) => Place::Unknown,
            (_, Some(Named { place, is_only: true, .. })) => Place::Of(*place),
            (Some(place), Some(it)) if it.is_of_one && it.thread == thread => Place::Of(place),
            (_, Some(_)) => Place::OneOfSeveral,
            (_, None) => Place::Unknown,
        };
        // Whichever it is, it may be moved now.
        let names: Vec<usize> = match &found {
            Place::OneOfSeveral => named.map(|it| it.doubt).into_iter().collect(),
            Place::Of(place) if self.positions[*place].is_unsure => self.positions[*place].names.clone(),
            _ => Vec::new(),
        };
        if !names.is_empty() {
            self.step += 1;
            names.into_iter().for_each(|it| self.doubts.raise(it, self.step));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// To look at all numbers for each of the ranges takes minutes.
    #[test]
    fn of_a_range_only_what_is_in_it_is_looked_at() {
        const NUMBERS: u64 = 100_000;
        let mut descriptors = Descriptors::default();
        (0..NUMBERS).for_each(|it| descriptors.opened(1, it, "/f", false));
        assert!((0..NUMBERS).all(|it| descriptors.closed_range(1, it, it)));
        let table = descriptors.table(1);
        assert!((0..NUMBERS).all(|it| matches!(descriptors.has(table, it), Has::Closed)));
    }

    #[test]
    fn ranges_that_are_closed_again_and_again_are_refused_where_they_have_too_much() {
        let before = LOOKED_AT_IN_RANGES_MAX;
        let mut descriptors = Descriptors { looked_at_in_ranges: before, ..Descriptors::default() };
        assert!(descriptors.closed_range(1, 3, 9), "nothing is in it");
        descriptors.opened(1, 3, "/f", false);
        assert!(descriptors.closed_range(1, 9, 3), "nothing is in it");
        assert!(!descriptors.closed_range(1, 3, 9));
    }

    /// To sort what the process has, or to look at all threads, for each one that joins takes minutes.
    #[test]
    fn threads_that_had_lines_before_their_calls_returned_join_their_process_in_any_order() {
        const THREADS: u64 = 50_000;
        let mut descriptors = Descriptors::default();
        descriptors.appears(0);
        for thread in 1..=THREADS {
            descriptors.opened(thread, 3, "/f", false);
            descriptors.made(thread, THREADS + thread, true);
        }
        (1..=THREADS).rev().for_each(|it| descriptors.made(0, it, true));
        let table = descriptors.table(0);
        assert_eq!(descriptors.tables[table].threads.len() as u64, 2 * THREADS + 1);
        // In the order in which they were opened, whatever order they joined in.
        let Has::Open(last) = descriptors.has(table, 3) else { panic!("it is open") };
        assert_eq!(last.place as u64, THREADS - 1);
        let places = descriptors.tables[table].history.values().map(|it| it.as_ref().map(|it| it.place));
        assert!(places.eq((0..THREADS as usize).map(Some)));
    }
}
