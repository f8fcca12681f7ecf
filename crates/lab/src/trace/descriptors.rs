//! The descriptors of the processes of a log, and the positions of the files that they are of.
//!
//! A descriptor belongs to a process, and a log names threads. What a thread has of the one that made it, a copy of its
//! descriptors or the same ones (CLONE_FILES of clone(2)), is known by the call that made it, where the log has these calls.
//! Otherwise, what a thread did not open is the descriptor of that number and path that another one opened, if that was once, and
//! what it did open is its own if no other one has opened the same: threads of one process close and open for each other. Of
//! several it is not known which one it is, so that the position of none of them is known from then on.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

/// Of processes that make processes and so on; beyond that nothing is inherited, so that a log with a long chain is read in a
/// time that is in proportion to its length.
const DEPTH_MAX: u32 = 64;
/// Under so many numbers and paths one open file is known. A position that more share is not.
const NAMES_MAX: usize = 256;

/// What was opened: a place in `positions`.
#[derive(Debug, Clone)]
struct Opened {
    path: Rc<str>,
    place: usize,
}

/// The descriptors of a process.
#[derive(Debug, Default)]
struct Table {
    /// By number, what it was from each step on. Nothing: it was closed.
    history: HashMap<u64, Vec<(u64, Option<Opened>)>>,
    /// It began as this one was at that step.
    copy_of: Option<(usize, u64)>,
    depth: u32,
    /// What it does not have was open before the log begins, or came through a socket.
    is_complete: bool,
}

#[derive(Debug)]
struct Position {
    at: Option<u64>,
    /// The step at which it became known.
    since: u64,
    /// It is one of several others.
    is_unsure: bool,
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

/// Where the position of a descriptor is.
enum Place {
    Of(usize),
    OneOfSeveral,
    Unheard,
}

#[derive(Debug, Default)]
pub(super) struct Descriptors {
    step: u64,
    tables: Vec<Table>,
    /// The table of each thread that lives.
    of: HashMap<u64, usize>,
    positions: Vec<Position>,
    named: HashMap<(u64, Rc<str>), Named>,
    /// For each number and path, the last step at which one of several may have been moved.
    doubts: Vec<u64>,
    /// Threads in a call that makes another one, and whether that has the same descriptors.
    making: HashMap<u64, bool>,
    /// Those that were heard before the call that made them returned: with a table by it, and without one.
    adopted: HashSet<u64>,
    orphans: HashSet<u64>,
    /// A thread came from nowhere: the log has not the calls that make them.
    lacks_calls: bool,
}

impl Descriptors {
    /// The log has a line of this thread. Where it is the first one, its descriptors are those of the thread that is making one.
    /// `is_child`: another one made it. One that has a number only since there are others is the first.
    pub(super) fn hear(&mut self, thread: u64, is_child: bool) {
        if self.of.contains_key(&thread) {
            return;
        }
        let numberless = self.of.get(&0).filter(|_| !is_child).copied();
        let mut makers = self.making.iter();
        let maker = makers.next().filter(|_| makers.next().is_none()).map(|(maker, shares)| (*maker, *shares));
        if let Some(table) = numberless {
            self.of.insert(thread, table);
        } else if let Some((maker, shares)) = maker {
            self.begin(thread, maker, shares);
            self.adopted.insert(thread);
        } else {
            self.lacks_calls |= !self.tables.is_empty() && self.making.is_empty();
            if !self.tables.is_empty() {
                self.orphans.insert(thread);
            }
            self.add(thread, Table::default());
        }
    }

    /// The first thread executes the command: what it has is what it opens, and what was open before the log.
    pub(super) fn executed(&mut self, thread: u64) {
        let table = self.table(thread);
        if self.tables.len() == 1 && self.of.len() == 1 && thread != 0 {
            self.tables[table].is_complete = true;
        }
        self.parted(thread);
    }

    /// It shares its descriptors with no other one from now on: unshare(CLONE_FILES), execve(2).
    pub(super) fn parted(&mut self, thread: u64) {
        self.step += 1;
        let table = self.table(thread);
        if self.of.iter().any(|(other, of)| *other != thread && *of == table) {
            let own = self.copy(table);
            self.add(thread, own);
        }
    }

    /// A call that makes a thread, or a process, has begun.
    pub(super) fn makes(&mut self, thread: u64, shares: bool) {
        self.making.insert(thread, shares);
    }

    pub(super) fn made_none(&mut self, thread: u64) {
        self.making.remove(&thread);
    }

    /// It has returned.
    pub(super) fn made(&mut self, thread: u64, child: u64, shares: bool) {
        self.step += 1;
        self.making.remove(&thread);
        if self.adopted.remove(&child) {
            return;
        }
        if !self.orphans.remove(&child) {
            return self.begin(child, thread, shares);
        }
        // It was heard before, and may have ended since.
        let Some(&early) = self.of.get(&child) else { return };
        let table = self.table(thread);
        if !shares {
            let copy = self.copy(table);
            let Table { copy_of, depth, is_complete, .. } = copy;
            let own = &mut self.tables[early];
            (own.copy_of, own.depth, own.is_complete) = (copy_of, depth, is_complete);
            return;
        }
        let opened = std::mem::take(&mut self.tables[early].history);
        for (number, history) in opened {
            let last = history.into_iter().last().and_then(|it| it.1);
            self.set(table, number, last);
        }
        self.of.insert(child, table);
    }

    /// The kernel gives its number to another one.
    pub(super) fn ended(&mut self, thread: u64) {
        self.of.remove(&thread);
        self.making.remove(&thread);
    }

    pub(super) fn closed(&mut self, thread: u64, number: u64) {
        let table = self.table(thread);
        self.set(table, number, None);
    }

    pub(super) fn opened(&mut self, thread: u64, number: u64, path: &str) {
        let place = self.new_place(Some(0), false);
        self.name(thread, number, path, place);
    }

    /// `number` is another name of the same open file. Where its position is not known, neither is that of the duplicate.
    pub(super) fn duplicated(&mut self, thread: u64, from: u64, number: u64, path: &str) {
        let found = self.place(thread, from, path);
        let place = match found {
            Place::Of(place) => place,
            Place::OneOfSeveral | Place::Unheard => {
                let place = self.new_place(None, matches!(found, Place::OneOfSeveral));
                self.name(thread, from, path, place);
                place
            }
        };
        self.name(thread, number, path, place);
    }

    /// Where a call that moves the position begins.
    pub(super) fn moved(&mut self, thread: u64, number: u64, path: &str, by: u64) -> Option<u64> {
        let Place::Of(place) = self.place(thread, number, path) else { return None };
        let Position { at, since, names, .. } = &mut self.positions[place];
        let offset = at.filter(|_| names.iter().all(|it| self.doubts[*it] < *since));
        *at = offset.map(|it| it.saturating_add(by));
        offset
    }

    pub(super) fn seek(&mut self, thread: u64, number: u64, path: &str, to: u64) {
        if let Place::Unheard = self.place(thread, number, path) {
            self.opened(thread, number, path);
        }
        if let Place::Of(place) = self.place(thread, number, path) {
            self.step += 1;
            let it = &mut self.positions[place];
            (it.at, it.since) = (Some(to).filter(|_| it.names.len() < NAMES_MAX && !it.is_unsure), self.step);
        }
    }

    fn table(&mut self, thread: u64) -> usize {
        self.hear(thread, false);
        self.of[&thread]
    }

    fn add(&mut self, thread: u64, table: Table) {
        self.tables.push(table);
        self.of.insert(thread, self.tables.len() - 1);
    }

    /// A thread that begins with the descriptors of its maker.
    fn begin(&mut self, thread: u64, maker: u64, shares: bool) {
        let table = self.table(maker);
        if shares {
            self.of.insert(thread, table);
        } else {
            let copy = self.copy(table);
            self.add(thread, copy);
        }
    }

    fn copy(&self, table: usize) -> Table {
        let Table { history, copy_of, depth, is_complete } = &self.tables[table];
        let (is_empty, depth, is_complete) = (history.is_empty(), *depth, *is_complete);
        match (is_empty, copy_of) {
            // A shell's child that makes another one at once.
            (true, copy_of @ Some(_)) => Table { copy_of: *copy_of, depth, is_complete, ..Table::default() },
            _ if depth >= DEPTH_MAX => Table::default(),
            _ => Table { copy_of: Some((table, self.step)), depth: depth + 1, is_complete, ..Table::default() },
        }
    }

    fn set(&mut self, table: usize, number: u64, opened: Option<Opened>) {
        self.step += 1;
        self.tables[table].history.entry(number).or_default().push((self.step, opened));
    }

    fn new_place(&mut self, at: Option<u64>, is_unsure: bool) -> usize {
        self.step += 1;
        self.positions.push(Position { at, since: self.step, is_unsure, names: Vec::new() });
        self.positions.len() - 1
    }

    fn name(&mut self, thread: u64, number: u64, path: &str, place: usize) {
        let (table, path) = (self.table(thread), Rc::<str>::from(path));
        self.set(table, number, Some(Opened { path: Rc::clone(&path), place }));
        let doubts = &mut self.doubts;
        let named = self.named.entry((number, path)).or_insert_with(|| {
            doubts.push(0);
            Named { place, thread, is_only: true, is_of_one: true, doubt: doubts.len() - 1 }
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

    fn has(&self, mut table: usize, number: u64) -> Option<&Opened> {
        let mut until = u64::MAX;
        loop {
            let it = &self.tables[table];
            let history = it.history.get(&number).map_or(&[][..], |it| it);
            let before = &history[..history.partition_point(|it| it.0 <= until)];
            match (before.last(), it.copy_of) {
                (Some((_, opened)), _) => return opened.as_ref(),
                (None, Some((from, step))) => (table, until) = (from, until.min(step)),
                (None, None) => return None,
            }
        }
    }

    fn place(&mut self, thread: u64, number: u64, path: &str) -> Place {
        let table = self.table(thread);
        let own = self.has(table, number).filter(|it| *it.path == *path).map(|it| it.place);
        let is_known = !self.lacks_calls && self.orphans.is_empty();
        let named = self.named.get(&(number, Rc::from(path)));
        let found = match (own, named) {
            (Some(place), _) if is_known => Place::Of(place),
            (None, _) if is_known && self.tables[table].is_complete => Place::Unheard,
            (_, Some(Named { place, is_only: true, .. })) => Place::Of(*place),
            (Some(place), Some(it)) if it.is_of_one && it.thread == thread => Place::Of(place),
            (_, Some(_)) => Place::OneOfSeveral,
            (_, None) => Place::Unheard,
        };
        // Whichever it is, it may be moved now.
        let names: Vec<usize> = match &found {
            Place::OneOfSeveral => named.map(|it| it.doubt).into_iter().collect(),
            Place::Of(place) if self.positions[*place].is_unsure => self.positions[*place].names.clone(),
            _ => Vec::new(),
        };
        if !names.is_empty() {
            self.step += 1;
            names.into_iter().for_each(|it| self.doubts[it] = self.step);
        }
        found
    }
}
