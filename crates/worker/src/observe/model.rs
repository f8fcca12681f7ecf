//! Derives from system calls and page faults what was done to each file: which open file a descriptor refers to, its position,
//! what is mapped where, and what was touched there. Pure: it makes no system call and counts nothing; its results go to a
//! `Sink`.

use std::collections::{BTreeMap, HashMap, HashSet, btree_map};

use schema::{Span, inspection::FAULT_AROUND_BYTES, mapped_runtime::MappedRuntime};
use sys::follow::{At, Called, Does, Event, Listener, MAPPING_BYTES_MIN, Opened};

use super::{
    access::{FileId, Identity, MappingKind, Mark, ObservedAccess, Pages, Sink, Under, Via},
    advice::Advice,
    counts::Program,
    files::{Delivered, Files, OpenFile, OpenId, ReadCall},
    mappings::{Mapped, Mappings},
    tasks::{Table, TracedThreads},
};

pub(super) struct Model<S> {
    pub sink: S,
    pub program: Program,
    files: Files,
    tasks: TracedThreads,
    mappings: Mappings,
    /// Files whose pages are seen one by one.
    exact: HashSet<Identity>,
    page_bytes: u64,
    is_recorded: bool,
    /// What page tables have of them, by process and address.
    entries: BTreeMap<(i32, u64), Entry>,
    /// Of their pages that are in the page cache because they were touched: how many page tables have each.
    resident: HashMap<(FileId, u64), u64>,
    /// Of their pages that are in the page cache because a call has read them since the file was mapped.
    read: HashMap<FileId, Pages>,
}

/// A page of a file in the page table of a process.
struct Entry {
    file: FileId,
    page: u64,
    /// A touch brought it there. Writing to it afterwards faults once more. Otherwise it came with a page beside it, and touching
    /// it does not fault.
    seen: bool,
    /// It may have been written to. Then it is not evicted.
    may_be_dirty: bool,
}

/// No call reads more (fs/read_write.c, `MAX_RW_COUNT`).
const CALL_BYTES_MAX: u64 = 1 << 31;

impl<S: Sink> Listener for Model<S> {
    fn receive(&mut self, event: Event) {
        match event {
            Event::Began { thread, process, parent, shares_files } => {
                self.begin(thread, process, parent, shares_files);
            }
            Event::Executed { thread, path, is_go, runs_as_other, files } => {
                let by_head = is_go.then_some(MappedRuntime::Go);
                self.program.runtimes.extend(MappedRuntime::of_code(&path).or(by_head));
                self.execute(thread, path, runs_as_other, files);
            }
            Event::Called(called) => self.call(&called),
            Event::Shared { thread, descriptor, with } => self.share((thread, descriptor), with),
            Event::Hidden { thread, descriptor } => self.hidden(thread, descriptor),
            Event::Unplaced { open } => self.files.lose(open),
            Event::Touched { thread, address } => self.touch(thread, address),
            Event::Ended { thread } => self.end(thread),
            Event::Clock { ns } => self.sink.clock(ns),
            Event::Foreign { .. } => self.miss("a program of another architecture ran, whose calls cannot be decoded"),
        }
    }

    fn has_descriptor(&self, thread: i32, descriptor: i32) -> bool {
        self.tasks.table(thread).is_none_or(|it| it.contains_key(&descriptor))
    }

    /// Writes move it too, and the program is not stopped at them.
    fn has_position(&self, thread: i32, descriptor: i32) -> bool {
        self.known(thread, descriptor).flatten().is_none_or(|it| self.files.has_position(it))
    }

    fn open_file(&self, thread: i32, descriptor: i32) -> Option<Option<usize>> {
        self.known(thread, descriptor).map(|it| it.map(OpenId::number))
    }
}

impl<S: Sink> Model<S> {
    /// `is_recorded`: of reads and seeks the ends are recorded, and not the beginnings.
    pub(super) fn new(sink: S, exact: HashSet<Identity>, page_bytes: u64, is_recorded: bool) -> Model<S> {
        Model {
            sink,
            is_recorded,
            program: Program::default(),
            files: Files::default(),
            tasks: TracedThreads::default(),
            mappings: Mappings::default(),
            exact,
            page_bytes,
            entries: BTreeMap::new(),
            resident: HashMap::new(),
            read: HashMap::new(),
        }
    }

    fn miss(&mut self, why: impl Into<String>) {
        self.program.incomplete.insert(why.into());
    }

    fn remark(&mut self, what: impl Into<String>) {
        self.program.remarks.insert(what.into());
    }

    fn begin(&mut self, thread: i32, process: i32, parent: Option<i32>, shares_files: bool) {
        let of_parent = parent.and_then(|it| self.tasks.process(it));
        self.tasks.begin(thread, process, parent, shares_files);
        if let Some(of_parent) = of_parent.filter(|&it| it != process) {
            self.mappings.copy(of_parent, process);
        }
        // A thread that executes a program takes over the id of its process; it is not a new one.
        let is_new = !(thread == process && of_parent == Some(process));
        self.program.threads += u64::from(is_new);
        self.program.processes.insert(process);
    }

    fn execute(&mut self, thread: i32, path: String, runs_as_other: bool, files: Vec<(i32, Opened)>) {
        if runs_as_other {
            self.remark(format!(
                "{path} is set-uid, set-gid, or has file capabilities: watched by an ordinary user it runs without those rights"
            ));
        }
        let Some(process) = self.tasks.process(thread) else { return };
        let mut table = Table::new();
        for (descriptor, opened) in files {
            // What stays open over exec(2) stays the same open file.
            let before = self.tasks.table(thread).and_then(|it| it.get(&descriptor).copied().flatten());
            let kept = before.filter(|&it| self.files.is_of(it, &opened));
            // Threads that ended with the old program may have moved it.
            kept.into_iter().for_each(|it| self.files.of(it).is_at(opened.position));
            let open = kept.or_else(|| self.files.open(&opened, opened.position, &mut self.sink));
            table.insert(descriptor, open);
        }
        self.forget(process);
        self.tasks.replace(thread, table);
    }

    fn end(&mut self, thread: i32) {
        self.sink.ended(thread);
        if let Some(process) = self.tasks.end(thread) {
            self.forget(process);
        }
    }

    /// Nothing is mapped in the process any more.
    fn forget(&mut self, process: i32) {
        self.mappings.forget(process);
        self.clear(process, 0, u64::MAX);
    }

    /// What is mapped there from now on was not touched yet.
    fn clear(&mut self, process: i32, from: u64, bytes: u64) {
        for (_, entry) in self.take_entries(process, from, bytes) {
            self.drop_entry(entry);
        }
    }

    fn take_entries(&mut self, process: i32, from: u64, bytes: u64) -> Vec<(u64, Entry)> {
        let there = self.entries.range((process, from)..(process, from.saturating_add(bytes)));
        let there: Vec<u64> = there.map(|it| it.0.1).collect();
        there.into_iter().filter_map(|at| Some((at, self.entries.remove(&(process, at))?))).collect()
    }

    /// Its page stays in the page cache.
    fn drop_entry(&mut self, Entry { file, page, seen, may_be_dirty }: Entry) {
        if !may_be_dirty {
            self.resident.entry((file, page)).and_modify(|tables| *tables = tables.saturating_sub(1));
        }
        if !seen {
            self.sink.mark(file, Mark::TouchedUnseen);
        }
    }

    /// Whether it was not seen there before.
    fn enter(&mut self, process: i32, address: u64, mapped: Mapped, seen: bool) -> bool {
        let (file, page) = (mapped.file, mapped.offset / self.page_bytes);
        let may_be_dirty = mapped.kind.shared && mapped.kind.writable;
        match self.entries.entry((process, address)) {
            btree_map::Entry::Occupied(mut there) => seen && !std::mem::replace(&mut there.get_mut().seen, true),
            btree_map::Entry::Vacant(place) => {
                place.insert(Entry { file, page, seen, may_be_dirty });
                *self.resident.entry((file, page)).or_default() += 1;
                true
            }
        }
    }

    fn touch(&mut self, thread: i32, address: u64) {
        let Some(process) = self.tasks.process(thread) else { return };
        let address = address - address % self.page_bytes;
        let Some(mapped) = self.mappings.at(process, address).filter(|it| it.exact) else { return };
        if self.enter(process, address, mapped, true) {
            let there = self.files.bytes(mapped.file).saturating_sub(mapped.offset);
            // A file that grew meanwhile has more.
            let bytes = if there == 0 { self.page_bytes } else { self.page_bytes.min(there) };
            let span = Span { offset: mapped.offset, bytes };
            self.sink.access(&ObservedAccess { thread, file: mapped.file, span, via: Via::Touch });
            self.map_around(process, address, mapped);
        }
    }

    /// A fault brings pages beside its own into the page table, if they are in the page cache: those that were touched through
    /// another mapping, or that a call has read.
    fn map_around(&mut self, process: i32, address: u64, mapped: Mapped) {
        let from = address - address % FAULT_AROUND_BYTES;
        for beside in (from..from.saturating_add(FAULT_AROUND_BYTES)).step_by(self.page_bytes as usize) {
            let offset = mapped.offset.checked_add(beside).and_then(|it| it.checked_sub(address));
            let is_resident = |offset: u64| {
                let page = offset / self.page_bytes;
                self.resident.contains_key(&(mapped.file, page))
                    || self.read.get(&mapped.file).is_some_and(|it| it.contains(page))
            };
            if self.entries.contains_key(&(process, beside)) || !offset.is_some_and(is_resident) {
                continue;
            }
            let there = self.mappings.at(process, beside);
            if let Some(there) = there.filter(|it| it.exact && it.file == mapped.file && Some(it.offset) == offset) {
                self.enter(process, beside, there, false);
            }
        }
    }

    fn known(&self, thread: i32, descriptor: i32) -> Option<Option<OpenId>> {
        self.tasks.table(thread)?.get(&descriptor).copied()
    }

    /// The open file of a descriptor; one whose opening was not seen is taken as it was found. What was looked at once more is
    /// where it was found.
    fn find(&mut self, called: &Called, descriptor: i32) -> Option<OpenId> {
        let known = self.known(called.thread, descriptor);
        let Some(opened) = &called.opened else { return known.flatten() };
        let is_at_position = called.call.at(&called.arguments) == Some(At::Position);
        // It was looked at after the call.
        let moved = if is_at_position { called.result.map_or(0, |it| it.max(0) as u64) } else { 0 };
        let position = opened.position.saturating_sub(moved);
        let found_at = |of: &mut OpenFile| match called.is_beside {
            true => of.lose_position(),
            false => of.found_at(position),
        };
        if let Some(known) = known {
            // Meanwhile another thread may have opened another file under the same number.
            let is_looked_up = |it: &OpenId| !self.files.has_position(*it) && self.files.is_of(*it, opened);
            let looked_up = known.filter(|it| is_at_position && is_looked_up(it));
            looked_up.into_iter().for_each(|it| found_at(self.files.of(it)));
            return known;
        }
        self.tasks.table(called.thread)?;
        let found = self.files.open(opened, position, &mut self.sink);
        found.into_iter().for_each(|it| found_at(self.files.of(it)));
        self.tasks.set(called.thread, descriptor, found);
        found
    }

    /// A descriptor that a thread was given is an open file that another has too.
    fn share(&mut self, (thread, descriptor): (i32, i32), with: Option<(i32, i32)>) {
        // Nothing where the call that shows it is still to come.
        let given = self.known(thread, descriptor).flatten();
        let file = given.map(|it| self.files.of(it).file);
        let Some((other, of_other)) = with else {
            return file.into_iter().for_each(|it| self.files.confuse(it));
        };
        match self.known(other, of_other) {
            // It may be another one since.
            Some(Some(open)) if file.is_none_or(|it| it == self.files.of(open).file) => {
                self.tasks.set(thread, descriptor, Some(open));
            }
            None if given.is_some() => self.tasks.set(other, of_other, given),
            _ => {}
        }
    }

    /// Files that it opens are not known, nor is a position that others may have moved.
    fn hidden(&mut self, thread: i32, descriptor: Option<i32>) {
        self.miss(
            "a program may not be looked at (it is not dumpable, its file may not be read, or it runs as another user), so which \
             files it reads is not known",
        );
        let open = descriptor.and_then(|it| self.known(thread, it).flatten());
        if let Some(open) = open.filter(|it| !self.files.has_position(*it)) {
            self.files.of(open).lose_position();
        }
    }

    /// A write at the position of a file.
    fn wrote(&mut self, called: &Called) {
        let written = called.result.map_or(0, |it| it.max(0) as u64);
        let to = called.call.moves(&called.arguments).and_then(|it| self.known(called.thread, it).flatten());
        if let Some(open) = to {
            // pwritev2(2) may append by a flag (RWF_APPEND), which no recording has.
            let may_append = matches!(called.call.does, Does::Write { offset: Some(_) });
            self.files.of(open).wrote(written, may_append);
        }
    }

    fn call(&mut self, called: &Called) {
        let Called { thread, call, arguments, result, .. } = *called;
        if result.is_some_and(|it| it < 0) && !is_given_in_part(called) {
            if let Does::Read { .. } = call.does
                && let Some(open) = call.descriptor(&arguments).and_then(|it| self.find(called, it))
            {
                self.sink.mark(self.files.of(open).file, Mark::FailedRead);
            }
            return;
        }
        let known = result.map(|it| it as u64);
        let result = known.unwrap_or(0);
        let found = call.descriptor(&arguments).and_then(|it| self.find(called, it));
        match call.does {
            Does::Open => self.opened(called),
            Does::Receive(_) => {
                let opened = called.opened.as_ref();
                let open = opened.and_then(|it| self.files.open(it, it.position, &mut self.sink));
                self.tasks.set(thread, result as i32, open);
            }
            Does::Close => self.tasks.change(thread, |table| {
                table.remove(&(arguments[0] as i32));
            }),
            Does::CloseRange => self.close_range(thread, arguments),
            Does::Duplicate => self.tasks.set(thread, result as i32, found),
            Does::Control => match arguments[1] as i32 {
                libc::F_SETFL => self.set_flags(found, arguments[2] as i32),
                _ => self.tasks.set(thread, result as i32, found),
            },
            Does::Seek => {
                if let Some((open, position)) = found.zip(known) {
                    match called.is_beside {
                        true => self.files.of(open).lose_position(),
                        false => self.files.of(open).seek(position),
                    }
                }
            }
            Does::Read { size, .. } => self.read(called, found, size),
            Does::Write { .. } => self.wrote(called),
            Does::Transfer { size, .. } => {
                self.read(called, found, Some(size));
                self.wrote(called);
            }
            Does::Map => self.map(called, found),
            Does::Unmap => self.unmap(thread, arguments[0], arguments[1]),
            Does::Remap => self.remap(thread, result, arguments),
            Does::Rearrange => {
                let process = self.tasks.process(thread);
                if process.and_then(|it| self.mappings.at(it, arguments[0])).is_some() {
                    self.miss(
                        "the command rearranges the pages of a mapping (remap_file_pages), so which of the file it touches there is \
                         not known",
                    );
                }
            }
            Does::AdviseMemory => {
                let Some(process) = self.tasks.process(thread) else { return };
                let advice = Advice::Memory(arguments[2]);
                // It takes the pages out of the page table: what is touched there later faults again.
                if arguments[2] == libc::MADV_DONTNEED as u64 || arguments[2] == DONTNEED_LOCKED {
                    self.clear(process, arguments[0], arguments[1]);
                }
                let (files, page) = (&self.files, self.page_bytes);
                let within =
                    |it: &Mapped, bytes: u64| files.within((it.file, it.kind), it.offset, bytes, page).unwrap_or(0);
                for (file, bytes) in self.mappings.advise(process, arguments[0], arguments[1], advice, within) {
                    self.sink.mark(file, Mark::Advised(advice));
                    self.reached(file, Under::Advice(advice), bytes);
                }
            }
            Does::AdviseFile => self.advise(found, Advice::File(arguments[3]), &arguments),
            Does::ReadAhead => self.advise(found, Advice::ReadAhead, &arguments),
            Does::Unshare => {
                if arguments[0] & libc::CLONE_FILES as u64 != 0 {
                    self.tasks.unshare(thread);
                }
            }
            Does::Ring | Does::Aio => self.program.rings += 1,
            Does::Trace => self.miss("the command traces processes itself, and a process has only one tracer"),
            Does::Filter => self.remark("a program filters its own system calls (seccomp)"),
        }
    }

    fn opened(&mut self, called: &Called) {
        let descriptor = called.result.unwrap_or(-1) as i32;
        // Without it, another thread closed it before it could be looked up, or it may not be looked at (`hidden`).
        let opened = called.opened.as_ref();
        let open = opened.and_then(|it| Some((it, self.files.open(it, 0, &mut self.sink)?)));
        self.tasks.set(called.thread, descriptor, open.map(|it| it.1));
        // One with O_PATH is for looking alone (open(2)).
        if let Some((opened, open)) = open.filter(|(opened, _)| opened.flags & libc::O_PATH == 0) {
            let writable = opened.flags & libc::O_ACCMODE != libc::O_RDONLY;
            let direct = opened.flags & libc::O_DIRECT != 0;
            self.sink.mark(self.files.of(open).file, Mark::Opened { writable, direct });
        }
    }

    fn set_flags(&mut self, open: Option<OpenId>, flags: i32) {
        let Some(open) = open.map(|it| self.files.of(it)) else { return };
        if open.turns_direct(flags) {
            self.sink.mark(open.file, Mark::TurnedDirect);
        }
    }

    fn close_range(&mut self, thread: i32, arguments: [u64; 6]) {
        let (first, last, flags) = (arguments[0] as u32, arguments[1] as u32, arguments[2] as u32);
        if flags & libc::CLOSE_RANGE_UNSHARE != 0 {
            self.tasks.unshare(thread);
        }
        // With the other flag they go at exec(2), after which all is looked up anew.
        if flags & libc::CLOSE_RANGE_CLOEXEC == 0 {
            self.tasks.change(thread, |table| table.retain(|&it, _| !(first..=last).contains(&(it as u32))));
        }
    }

    fn read(&mut self, called: &Called, open: Option<OpenId>, size: Option<usize>) {
        let Some((open, result)) = open.zip(called.result) else { return };
        let (name, asked) = (called.call.name, size.map(|it| called.arguments[it]));
        let Some(at) = called.call.at(&called.arguments) else { return };
        let file = self.files.of(open).file;
        // cp(1) asks for all that there may be. A file of the kernel's own has no size, and one may be filled later.
        let most = Some(self.files.bytes(file).max(result as u64)).filter(|it| *it > 0).unwrap_or(CALL_BYTES_MAX);
        let (asked, is_beside) = (asked.map(|it| it.min(most)), called.is_beside);
        let read = ReadCall { asked, at, delivered: result as u64, is_beside };
        let delivered = self.files.of(open).read(called.thread, &read);
        let Delivered { span, asked_bytes, sequential, follows_other } = delivered;
        if follows_other && self.is_recorded {
            self.remark(
                "threads or processes read at a position that they share; such reads are taken in the order in which they ended, \
                 which at times is not the one in which the kernel made them",
            );
        }
        let via = Via::Call { name, asked_bytes, sequential };
        self.sink.access(&ObservedAccess { thread: called.thread, file, span, via });
        let under: Vec<Under> = self.files.under(open, span).collect();
        // What goes around the page cache brings nothing into it.
        let is_cached = sequential.is_some() && !under.contains(&Under::Direct);
        if is_cached && self.exact.contains(&self.files.identity(file)) {
            let span = Span { bytes: span.bytes.min(CALL_BYTES_MAX), ..span };
            self.read.entry(file).or_default().insert(span, self.page_bytes);
        }
        let is_behind = called.call.buffer(&called.arguments).is_some_and(|it| is_behind_page(it, self.page_bytes));
        let behind = is_behind.then_some(Under::BehindPage);
        under.into_iter().chain(behind).for_each(|it| self.reached(file, it, span.bytes));
        // One that delivered nothing has no place.
        if sequential.is_none() && read.delivered > 0 {
            self.miss(format!("calls of {name} read at offsets that were not seen, so their order is not known"));
        }
    }

    fn map(&mut self, called: &Called, open: Option<OpenId>) {
        let [_, bytes, protection, flags, _, offset] = called.arguments;
        let (protection, flags) = (protection as i32, flags as i32);
        // Whatever was there is not there any more.
        let address = called.result.unwrap_or(0) as u64;
        self.unmap(called.thread, address, bytes);
        if flags & libc::MAP_ANONYMOUS != 0 {
            return;
        }
        let Some(open) = open else { return };
        let (thread, file) = (called.thread, self.files.of(open).file);
        let kind = MappingKind {
            shared: flags & libc::MAP_TYPE != libc::MAP_PRIVATE,
            writable: protection & libc::PROT_WRITE != 0,
            executable: protection & libc::PROT_EXEC != 0,
            // The kernel fills the page table for both, and with MAP_NONBLOCK not for the first (mm/mmap.c, `do_mmap`).
            populate: flags & libc::MAP_LOCKED != 0
                || flags & (libc::MAP_POPULATE | libc::MAP_NONBLOCK) == libc::MAP_POPULATE,
        };
        let (via, span) = (Via::Mapping(kind), Span { offset, bytes: self.within(file, kind, offset, bytes) });
        self.sink.access(&ObservedAccess { thread, file, span, via });
        let exact = self.is_exact(file, bytes);
        if exact {
            // The follower has just evicted what no page table has (`sys::follow`).
            self.resident.retain(|of, tables| of.0 != file || *tables > 0);
            self.read.remove(&file);
        }
        if let Some(process) = self.tasks.process(thread) {
            let mapped = Mapped { file, offset, kind, in_order: None, brought_in: None, exact };
            self.mappings.map(process, address, bytes, mapped);
        }
    }

    /// What a mapping has of its file; one behind its end may be of a file that was made larger since.
    fn within(&self, file: FileId, kind: MappingKind, offset: u64, bytes: u64) -> u64 {
        self.files.within((file, kind), offset, bytes, self.page_bytes).unwrap_or(bytes)
    }

    /// Whether the touches of a mapping of so many bytes are seen one by one.
    fn is_exact(&self, file: FileId, bytes: u64) -> bool {
        bytes >= MAPPING_BYTES_MIN && self.exact.contains(&self.files.identity(file))
    }

    fn unmap(&mut self, thread: i32, from: u64, bytes: u64) {
        if let Some(process) = self.tasks.process(thread) {
            self.mappings.unmap(process, from, bytes);
            self.clear(process, from, bytes);
        }
    }

    /// A mapping moves, or changes its length; one of length 0 is mapped a second time (mremap(2)).
    fn remap(&mut self, thread: i32, to: u64, [from, old_bytes, bytes, flags, ..]: [u64; 6]) {
        let Some(process) = self.tasks.process(thread) else { return };
        let there = self.mappings.at(process, from);
        if flags & libc::MREMAP_DONTUNMAP as u64 == 0 {
            self.mappings.unmap(process, from, old_bytes);
        }
        self.mappings.unmap(process, to, bytes);
        if from == to {
            // What is cut off is mapped no longer.
            self.clear(process, from.saturating_add(bytes), old_bytes.saturating_sub(bytes));
        } else {
            // Pages that move with it do not fault again.
            let moved = self.take_entries(process, from, old_bytes);
            self.clear(process, to, bytes);
            for (at, entry) in moved {
                match at - from < bytes {
                    true => drop(self.entries.insert((process, to.wrapping_add(at - from)), entry)),
                    false => self.drop_entry(entry),
                }
            }
        }
        let Some(mut mapped) = there else { return };
        mapped.exact |= self.is_exact(mapped.file, bytes);
        self.mappings.map(process, to, bytes, mapped);
        let grown = bytes.saturating_sub(old_bytes);
        let span = Span { offset: mapped.offset.wrapping_add(bytes - grown), bytes: grown };
        let via = if old_bytes == 0 { Via::Mapping(mapped.kind) } else { Via::Growth(mapped.kind) };
        if grown > 0 {
            // The advice about order is the mapping's, however long it is.
            let span = Span { bytes: self.within(mapped.file, mapped.kind, span.offset, grown), ..span };
            if let Some(advice) = mapped.in_order {
                self.reached(mapped.file, Under::Advice(advice), span.bytes);
            }
            self.sink.access(&ObservedAccess { thread, file: mapped.file, span, via });
        }
    }

    fn advise(&mut self, open: Option<OpenId>, advice: Advice, [_, offset, bytes, ..]: &[u64; 6]) {
        if let Some(open) = open {
            let file = self.files.of(open).file;
            self.sink.mark(file, Mark::Advised(advice));
            let ahead = self.files.advise(open, advice, Span { offset: *offset, bytes: *bytes });
            ahead.into_iter().for_each(|bytes| self.sink.mark(file, Mark::AskedAhead { bytes }));
        }
    }

    fn reached(&mut self, file: FileId, under: Under, bytes: u64) {
        if bytes > 0 {
            self.sink.mark(file, Mark::Reached { under, bytes });
        }
    }
}

/// Some processors copy a page several times slower to such a place than to any other (`buffer::Buffer::as_of_malloc`).
fn is_behind_page(address: u64, page_bytes: u64) -> bool {
    (1..32).contains(&(address % page_bytes))
}

/// MADV_DONTNEED_LOCKED (include/uapi/asm-generic/mman-common.h).
const DONTNEED_LOCKED: u64 = 24;

/// Advice over a range of which a part is not mapped goes to all that is, and ends with ENOMEM (madvise(2); mm/madvise.c,
/// `madvise_walk_vmas`). What populates ends at the first such place.
fn is_given_in_part(called: &Called) -> bool {
    let populates = matches!(called.arguments[2] as i32, libc::MADV_POPULATE_READ | libc::MADV_POPULATE_WRITE);
    matches!(called.call.does, Does::AdviseMemory) && called.result == Some(-i64::from(libc::ENOMEM)) && !populates
}

#[cfg(test)]
mod tests;
