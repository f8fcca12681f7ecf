//! Derives from system calls what was done to each file: which open file a descriptor refers to, its position, and what
//! is mapped where. Pure; it makes no system call.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    rc::Rc,
};

use schema::observation::{Access, FILES_MAX, FileAccess, MappingCount, Means, Observation};
use sys::follow::{Called, Does, Event, Listener, Opened};

/// Device and inode.
type Identity = (u64, u64);
/// Descriptors of a process; `None` for what is no file. Threads share one.
type Table = Rc<RefCell<HashMap<i32, Option<usize>>>>;
/// Where files are mapped: from the first address to the one after the last.
type Maps = BTreeMap<u64, (u64, usize)>;

pub(crate) struct Model {
    named: HashSet<Identity>,
    files: Vec<File>,
    places: HashMap<Identity, usize>,
    open: Vec<Open>,
    tasks: HashMap<i32, Task>,
    maps: HashMap<i32, Maps>,
    processes: BTreeSet<i32>,
    threads: u64,
    /// Threads that have read or mapped a named file and have not ended.
    readers: HashSet<i32>,
    readers_at_once: u64,
    rings: u64,
    incomplete: BTreeSet<String>,
    remarks: BTreeSet<String>,
}

struct File {
    path: String,
    named: bool,
    access: Access,
}

/// What open(2) makes and dup(2) and fork(2) share.
struct Open {
    file: usize,
    /// Of the file, when it was opened.
    bytes: u64,
    position: u64,
    /// Where the last read ended.
    ended: u64,
    direct: bool,
}

impl Open {
    /// The target of an lseek(2) whose result was not waited for.
    fn sought(&self, [_, offset, whence, ..]: &[u64; 6]) -> u64 {
        match *whence as i32 {
            libc::SEEK_CUR => self.position.wrapping_add(*offset),
            libc::SEEK_END => self.bytes.wrapping_add(*offset),
            _ => *offset,
        }
    }
}

struct Task {
    process: i32,
    table: Table,
}

/// A call that reads, as far as it is known.
struct Read {
    /// A vector says it in memory.
    asked: Option<u64>,
    /// Where, if not at the file's position.
    at: Option<u64>,
    delivered: Option<u64>,
}

impl Listener for Model {
    fn hear(&mut self, event: Event) {
        match event {
            Event::Began { thread, process, parent, shares_files } => {
                self.begin(thread, process, parent, shares_files);
            }
            Event::Executed { thread, path, runs_as_other, files } => self.execute(thread, path, runs_as_other, files),
            Event::Called(called) => self.call(&called),
            Event::Ended { thread } => self.end(thread),
            Event::Foreign { .. } => self.miss("a program of another architecture ran, whose calls are not understood"),
        }
    }

    fn knows(&self, thread: i32, descriptor: i32) -> bool {
        self.tasks.get(&thread).is_none_or(|task| task.table.borrow().contains_key(&descriptor))
    }
}

impl Model {
    pub(crate) fn new(named: impl IntoIterator<Item = Identity>) -> Model {
        Model {
            named: named.into_iter().collect(),
            files: Vec::new(),
            places: HashMap::new(),
            open: Vec::new(),
            tasks: HashMap::new(),
            maps: HashMap::new(),
            processes: BTreeSet::new(),
            threads: 0,
            readers: HashSet::new(),
            readers_at_once: 0,
            rings: 0,
            incomplete: BTreeSet::new(),
            remarks: BTreeSet::new(),
        }
    }

    pub(crate) fn miss(&mut self, why: impl Into<String>) {
        self.incomplete.insert(why.into());
    }

    pub(crate) fn remark(&mut self, what: impl Into<String>) {
        self.remarks.insert(what.into());
    }

    fn begin(&mut self, thread: i32, process: i32, parent: Option<i32>, shares_files: bool) {
        let parent = parent.and_then(|it| self.tasks.get(&it));
        let table = match parent {
            Some(task) if shares_files => Rc::clone(&task.table),
            Some(task) => Rc::new(RefCell::new(task.table.borrow().clone())),
            None => Table::default(),
        };
        // A thread that executes a program takes over the id of its process; it is not a new one.
        let is_new = !(thread == process && parent.is_some_and(|it| it.process == process));
        if let Some(of_parent) = parent.map(|it| it.process).filter(|&it| it != process) {
            let copy = self.maps.get(&of_parent).cloned().unwrap_or_default();
            self.maps.insert(process, copy);
        }
        self.threads += u64::from(is_new);
        self.processes.insert(process);
        self.tasks.insert(thread, Task { process, table });
    }

    fn execute(&mut self, thread: i32, path: String, runs_as_other: bool, files: Vec<(i32, Opened)>) {
        if runs_as_other {
            self.remark(format!(
                "{path} is set-uid or set-gid: watched by an ordinary user it runs without those rights"
            ));
        }
        let Some(task) = self.tasks.get(&thread) else { return };
        let (process, before) = (task.process, Rc::clone(&task.table));
        let mut table = HashMap::new();
        for (descriptor, opened) in files {
            let identity = (opened.device, opened.inode);
            // What stays open over exec(2) stays the same open file.
            let kept = before.borrow().get(&descriptor).copied().flatten();
            let kept = kept.filter(|&it| self.places.get(&identity) == Some(&self.open[it].file));
            let open = kept.or_else(|| self.open(&opened, opened.position));
            table.insert(descriptor, open);
        }
        self.maps.remove(&process);
        self.tasks.insert(thread, Task { process, table: Rc::new(RefCell::new(table)) });
    }

    fn end(&mut self, thread: i32) {
        self.readers.remove(&thread);
        let Some(task) = self.tasks.remove(&thread) else { return };
        if !self.tasks.values().any(|it| it.process == task.process) {
            self.maps.remove(&task.process);
        }
    }

    /// A new open file, at the position that it already had.
    fn open(&mut self, opened: &Opened, position: u64) -> Option<usize> {
        let file = self.file(opened)?;
        let direct = opened.flags & libc::O_DIRECT != 0;
        self.open.push(Open { file, bytes: opened.bytes, position, ended: position, direct });
        Some(self.open.len() - 1)
    }

    fn file(&mut self, opened: &Opened) -> Option<usize> {
        if !opened.is_file {
            return None;
        }
        let identity = (opened.device, opened.inode);
        Some(*self.places.entry(identity).or_insert_with(|| {
            let named = self.named.contains(&identity);
            self.files.push(File { path: opened.path.clone(), named, access: Access::default() });
            self.files.len() - 1
        }))
    }

    /// The open file of a descriptor; one whose opening was not seen is taken as it was found.
    fn find(&mut self, called: &Called, descriptor: i32) -> Option<usize> {
        let known = self.tasks.get(&called.thread)?.table.borrow().get(&descriptor).copied();
        if let Some(known) = known {
            return known;
        }
        let opened = called.opened.as_ref()?;
        // It was looked at after the call.
        let moved = match called.call.does {
            Does::Read { offset: None, .. } => called.result.map_or(0, |it| it.max(0) as u64),
            _ => 0,
        };
        let found = self.open(opened, opened.position.saturating_sub(moved));
        self.set(called.thread, descriptor, found);
        found
    }

    fn set(&mut self, thread: i32, descriptor: i32, open: Option<usize>) {
        if let Some(task) = self.tasks.get(&thread) {
            task.table.borrow_mut().insert(descriptor, open);
        }
    }

    fn call(&mut self, called: &Called) {
        let Called { thread, call, arguments, result, .. } = *called;
        if result.is_some_and(|it| it < 0) {
            return;
        }
        let known = result;
        let result = known.unwrap_or(0);
        let found = call.descriptor(&arguments).and_then(|it| self.find(called, it));
        match call.does {
            Does::Open => self.opened(called),
            Does::Close => {
                if let Some(task) = self.tasks.get(&thread) {
                    task.table.borrow_mut().remove(&(arguments[0] as i32));
                }
            }
            Does::CloseRange => self.close_range(thread, arguments),
            Does::Duplicate => self.set(thread, result as i32, found),
            Does::Control => match arguments[1] as i32 {
                libc::F_SETFL => self.set_flags(found, arguments[2] as i32),
                _ => self.set(thread, result as i32, found),
            },
            Does::Seek => {
                if let Some(open) = found {
                    let open = &mut self.open[open];
                    open.position = known.map_or_else(|| open.sought(&arguments), |it| it as u64);
                }
            }
            Does::Read { size, offset } => {
                let Some(open) = found else { return };
                self.reads(thread, open);
                // -1: preadv2(2) at the file's position.
                let at = offset.map(|it| arguments[it]).filter(|&it| it != u64::MAX);
                let asked = size.map(|it| arguments[it]);
                self.read(open, call.name, Read { asked, at, delivered: known.map(|it| it as u64) });
            }
            Does::Transfer { offset, size, .. } => {
                let Some(open) = found else { return };
                self.reads(thread, open);
                // What stands at an address of the program's is not known; then the last one's end is as good as any.
                let at = (arguments[offset] != 0).then(|| self.open[open].ended);
                let asked = Some(arguments[size]);
                self.read(open, call.name, Read { asked, at, delivered: known.map(|it| it as u64) });
            }
            Does::Map => self.map(called, found),
            Does::Unmap => self.unmap(thread, arguments[0], arguments[1]),
            Does::Remap => {
                let file = self.mapped(thread, arguments[0], 1).first().copied();
                self.unmap(thread, arguments[0], arguments[1]);
                self.unmap(thread, result as u64, arguments[2]);
                if let Some(file) = file {
                    self.map_at(thread, result as u64, arguments[2], file);
                }
            }
            Does::AdviseMemory => {
                for file in self.mapped(thread, arguments[0], arguments[1]) {
                    self.hint(file, format!("madvise({})", madvise(arguments[2])));
                }
            }
            Does::AdviseFile => {
                if let Some(open) = found {
                    self.hint(self.open[open].file, format!("posix_fadvise({})", fadvise(arguments[3])));
                }
            }
            Does::ReadAhead => {
                if let Some(open) = found {
                    self.hint(self.open[open].file, "readahead".into());
                }
            }
            Does::Unshare => {
                if arguments[0] & libc::CLONE_FILES as u64 != 0 {
                    self.own_table(thread);
                }
            }
            Does::Ring | Does::Aio => self.rings += 1,
            Does::Trace => self.miss("the command traces processes itself, which only one can do at a time"),
            Does::Filter => self.remark("a program filters its own system calls (seccomp)"),
        }
    }

    fn opened(&mut self, called: &Called) {
        let descriptor = called.result.unwrap_or(-1) as i32;
        let Some(opened) = &called.opened else {
            // Another thread closed it before it could be looked up.
            self.set(called.thread, descriptor, None);
            return;
        };
        let open = self.open(opened, 0);
        self.set(called.thread, descriptor, open);
        if let Some(open) = open {
            let access = &mut self.files[self.open[open].file].access;
            access.opens += 1;
            access.opens_for_writing += u64::from(opened.flags & libc::O_ACCMODE != libc::O_RDONLY);
            access.opens_direct += u64::from(opened.flags & libc::O_DIRECT != 0);
        }
    }

    fn set_flags(&mut self, open: Option<usize>, flags: i32) {
        let Some(open) = open.map(|it| &mut self.open[it]) else { return };
        let direct = flags & libc::O_DIRECT != 0;
        if direct && !open.direct {
            self.files[open.file].access.opens_direct += 1;
        }
        open.direct = direct;
    }

    fn close_range(&mut self, thread: i32, arguments: [u64; 6]) {
        let (first, last, flags) = (arguments[0] as u32, arguments[1] as u32, arguments[2] as u32);
        if flags & libc::CLOSE_RANGE_UNSHARE != 0 {
            self.own_table(thread);
        }
        // With the other flag they go at exec(2), after which all is looked up anew.
        if let Some(task) = self.tasks.get(&thread).filter(|_| flags & libc::CLOSE_RANGE_CLOEXEC == 0) {
            task.table.borrow_mut().retain(|&it, _| !(first..=last).contains(&(it as u32)));
        }
    }

    fn own_table(&mut self, thread: i32) {
        if let Some(task) = self.tasks.get_mut(&thread) {
            let copy = task.table.borrow().clone();
            task.table = Rc::new(RefCell::new(copy));
        }
    }

    /// A thread reads or maps.
    fn reads(&mut self, thread: i32, open: usize) {
        if self.files[self.open[open].file].named {
            self.readers.insert(thread);
            self.readers_at_once = self.readers_at_once.max(self.readers.len() as u64);
        }
    }

    fn read(&mut self, open: usize, name: &str, read: Read) {
        let open = &mut self.open[open];
        let began = read.at.unwrap_or(open.position);
        let sequential = began == open.ended;
        // A file delivers what is asked for, as far as it goes.
        let there = open.bytes.saturating_sub(began);
        let delivered = read.delivered.unwrap_or_else(|| read.asked.unwrap_or(0).min(there));
        open.ended = began.saturating_add(delivered);
        if read.at.is_none() {
            open.position = open.ended;
        }
        let asked = read.asked.unwrap_or(delivered);
        self.files[open.file].access.count_call(name, asked, delivered, sequential);
    }

    fn map(&mut self, called: &Called, open: Option<usize>) {
        let [_, bytes, protection, flags, ..] = called.arguments;
        let (protection, flags) = (protection as i32, flags as i32);
        // Whatever was there is not there any more.
        let address = called.result.unwrap_or(0) as u64;
        self.unmap(called.thread, address, bytes);
        if flags & libc::MAP_ANONYMOUS != 0 {
            return;
        }
        let Some(open) = open else { return };
        self.reads(called.thread, open);
        let file = self.open[open].file;
        self.files[file].access.count_mapping(&MappingCount {
            shared: flags & libc::MAP_TYPE != libc::MAP_PRIVATE,
            writable: protection & libc::PROT_WRITE != 0,
            executable: protection & libc::PROT_EXEC != 0,
            populate: flags & libc::MAP_POPULATE != 0,
            count: 1,
            bytes,
        });
        self.map_at(called.thread, address, bytes, file);
    }

    fn map_at(&mut self, thread: i32, from: u64, bytes: u64, file: usize) {
        if let Some(task) = self.tasks.get(&thread).filter(|_| bytes > 0) {
            self.maps.entry(task.process).or_default().insert(from, (from.saturating_add(bytes), file));
        }
    }

    fn unmap(&mut self, thread: i32, from: u64, bytes: u64) {
        let Some(maps) = self.tasks.get(&thread).and_then(|task| self.maps.get_mut(&task.process)) else { return };
        let to = from.saturating_add(bytes);
        for (start, (end, file)) in overlapping(maps, from, to) {
            maps.remove(&start);
            // What lies before and behind stays.
            if start < from {
                maps.insert(start, (from, file));
            }
            if end > to {
                maps.insert(to, (end, file));
            }
        }
    }

    /// The files that are mapped in this range of addresses.
    fn mapped(&self, thread: i32, from: u64, bytes: u64) -> BTreeSet<usize> {
        let maps = self.tasks.get(&thread).and_then(|task| self.maps.get(&task.process));
        let there = maps.map(|it| overlapping(it, from, from.saturating_add(bytes))).unwrap_or_default();
        there.into_iter().map(|(_, (_, file))| file).collect()
    }

    fn hint(&mut self, file: usize, hint: String) {
        *self.files[file].access.hints.entry(hint).or_default() += 1;
    }

    /// The result.
    pub(crate) fn finish(self, by: Means) -> Observation {
        let mut touched: Vec<File> = self.files.into_iter().filter(|it| it.access != Access::default()).collect();
        let bytes = |it: &File| it.access.read_bytes().saturating_add(it.access.mapped_bytes());
        touched.sort_by_cached_key(|it| {
            (!it.named, is_of_the_system(&it.path), std::cmp::Reverse(bytes(it)), it.path.clone())
        });
        let mut named = Access::default();
        touched.iter().filter(|it| it.named).for_each(|it| named.add(&it.access));
        Observation {
            by,
            processes: self.processes.len() as u64,
            threads: self.threads,
            readers_at_once: Some(self.readers_at_once),
            named_opened: touched.iter().filter(|it| it.named).count() as u64,
            named,
            files_left_out: touched.len().saturating_sub(FILES_MAX) as u64,
            files: touched
                .into_iter()
                .take(FILES_MAX)
                .map(|File { path, named, access }| FileAccess { path, named, access })
                .collect(),
            rings: self.rings,
            incomplete: self.incomplete.into_iter().collect(),
            remarks: self.remarks.into_iter().collect(),
        }
    }
}

/// Files that every program opens when it starts; they are not listed first.
fn is_of_the_system(path: &str) -> bool {
    ["/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/dev/", "/nix/store/"].iter().any(|it| path.starts_with(it))
}

/// Those that have a byte within; ranges do not overlap each other.
fn overlapping(maps: &Maps, from: u64, to: u64) -> Vec<(u64, (u64, usize))> {
    let mut found: Vec<_> =
        maps.range(..to).rev().map(|(&start, &it)| (start, it)).take_while(|&(_, (end, _))| end > from).collect();
    found.reverse();
    found
}

/// linux/mman.h
fn madvise(advice: u64) -> String {
    const NAMES: &[(u64, &str)] = &[
        (0, "MADV_NORMAL"),
        (1, "MADV_RANDOM"),
        (2, "MADV_SEQUENTIAL"),
        (3, "MADV_WILLNEED"),
        (4, "MADV_DONTNEED"),
        (8, "MADV_FREE"),
        (9, "MADV_REMOVE"),
        (10, "MADV_DONTFORK"),
        (11, "MADV_DOFORK"),
        (12, "MADV_MERGEABLE"),
        (13, "MADV_UNMERGEABLE"),
        (14, "MADV_HUGEPAGE"),
        (15, "MADV_NOHUGEPAGE"),
        (16, "MADV_DONTDUMP"),
        (17, "MADV_DODUMP"),
        (20, "MADV_COLD"),
        (21, "MADV_PAGEOUT"),
        (22, "MADV_POPULATE_READ"),
        (23, "MADV_POPULATE_WRITE"),
        (25, "MADV_COLLAPSE"),
    ];
    name(NAMES, advice)
}

/// linux/fadvise.h
fn fadvise(advice: u64) -> String {
    const NAMES: &[(u64, &str)] = &[
        (0, "POSIX_FADV_NORMAL"),
        (1, "POSIX_FADV_RANDOM"),
        (2, "POSIX_FADV_SEQUENTIAL"),
        (3, "POSIX_FADV_WILLNEED"),
        (4, "POSIX_FADV_DONTNEED"),
        (5, "POSIX_FADV_NOREUSE"),
    ];
    name(NAMES, advice)
}

fn name(names: &[(u64, &str)], number: u64) -> String {
    // The upper half of the register means nothing.
    let number = number & u64::from(u32::MAX);
    names.iter().find(|it| it.0 == number).map_or_else(|| number.to_string(), |it| it.1.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sys::follow::{CALLS, Call};

    use super::*;

    fn call(name: &str) -> &'static Call {
        CALLS.iter().find(|it| it.name == name).unwrap()
    }

    fn a_file(inode: u64) -> Opened {
        Opened { is_file: true, device: 1, inode, path: format!("/data/{inode}"), bytes: 1000, flags: 0, position: 0 }
    }

    /// One process that has executed its program; `/data/7` is named.
    struct Told(Model);

    impl Told {
        fn new() -> Told {
            let mut model = Model::new([(1, 7)]);
            model.hear(Event::Began { thread: 10, process: 10, parent: None, shares_files: false });
            model.hear(Event::Executed { thread: 10, path: "/bin/p".into(), runs_as_other: false, files: Vec::new() });
            Told(model)
        }

        fn call(&mut self, thread: i32, name: &str, arguments: &[u64], result: impl Into<Option<i64>>) {
            self.call_with(thread, name, arguments, result, None);
        }

        fn call_with(
            &mut self,
            thread: i32,
            name: &str,
            arguments: &[u64],
            result: impl Into<Option<i64>>,
            opened: Option<Opened>,
        ) {
            let result = result.into();
            let mut six = [0; 6];
            six[..arguments.len()].copy_from_slice(arguments);
            self.0.hear(Event::Called(Called { thread, call: call(name), arguments: six, result, opened }));
        }

        fn open(&mut self, thread: i32, descriptor: i64, inode: u64) {
            self.call_with(thread, "openat", &[], descriptor, Some(a_file(inode)));
        }

        fn named(self) -> Access {
            self.0.finish(Means::Ptrace).named
        }
    }

    #[test]
    fn processes_that_read_at_once_are_told_from_those_that_read_one_after_the_other() {
        let readers = |at_once: bool| {
            let mut told = Told::new();
            told.open(10, 3, 7);
            told.open(10, 4, 8);
            for child in 11..15 {
                told.0.hear(Event::Began { thread: child, process: child, parent: Some(10), shares_files: false });
                told.call(child, "pread64", &[3, 0, 100, 0], 100);
                // Of a file that is not named.
                told.call(10, "read", &[4, 0, 100], 100);
                if !at_once {
                    told.0.hear(Event::Ended { thread: child });
                }
            }
            told.0.finish(Means::Ptrace).readers_at_once
        };
        assert_eq!([readers(false), readers(true)], [Some(1), Some(4)]);
    }

    #[test]
    fn reads_follow_the_position_that_duplicates_and_children_share() {
        let mut told = Told::new();
        told.open(10, 3, 7);
        told.call(10, "read", &[3, 0, 100], 100);
        told.call(10, "dup", &[3], 4);
        told.call(10, "read", &[4, 0, 100], 100);
        told.0.hear(Event::Began { thread: 11, process: 11, parent: Some(10), shares_files: false });
        told.call(11, "read", &[3, 0, 100], 100);
        told.call(11, "close", &[3], 0);
        told.call(10, "read", &[3, 0, 100], 100);
        told.call(10, "lseek", &[3, 0, 0], 0);
        told.call(10, "read", &[3, 0, 100], 100);
        let named = told.named();
        assert_eq!(named.opens, 1);
        let calls = &named.calls["read"];
        assert_eq!((calls.count, calls.bytes, calls.sequential), (5, 500, 4));
    }

    #[test]
    fn threads_share_a_table_and_children_have_their_own() {
        let mut told = Told::new();
        told.0.hear(Event::Began { thread: 11, process: 10, parent: Some(10), shares_files: true });
        told.0.hear(Event::Began { thread: 12, process: 12, parent: Some(10), shares_files: false });
        told.open(11, 3, 7);
        told.call(10, "pread64", &[3, 0, 50, 4096], 50);
        told.call(12, "pread64", &[3, 0, 50, 4096], 50);
        let observation = told.0.finish(Means::Ptrace);
        assert_eq!((observation.processes, observation.threads), (2, 3));
        assert_eq!(observation.named.calls["pread64"].count, 1, "the child has no descriptor 3");
    }

    #[test]
    fn a_descriptor_that_comes_with_the_program_keeps_its_place() {
        let mut told = Told::new();
        told.open(10, 3, 7);
        told.call(10, "read", &[3, 0, 100], 100);
        let files = vec![(3, Opened { position: 100, ..a_file(7) })];
        told.0.hear(Event::Executed { thread: 10, path: "/bin/q".into(), runs_as_other: false, files });
        told.call(10, "read", &[3, 0, 100], 100);
        assert_eq!(told.named().calls["read"].sequential, 2);
    }

    #[test]
    fn a_descriptor_that_nobody_saw_being_opened_is_what_it_was_found_to_be() {
        let mut told = Told::new();
        told.call_with(10, "read", &[5, 0, 100], 40, Some(Opened { position: 540, ..a_file(7) }));
        told.call(10, "read", &[5, 0, 100], 60);
        let calls = &told.named().calls["read"];
        assert_eq!((calls.count, calls.bytes, calls.sequential), (2, 100, 2));
    }

    #[test]
    fn what_a_recorded_read_delivers_follows_from_the_size_of_the_file() {
        let mut told = Told::new();
        told.open(10, 3, 7);
        for _ in 0..4 {
            told.call(10, "read", &[3, 0, 400], None);
        }
        told.call(10, "lseek", &[3, 0, libc::SEEK_SET as u64], None);
        told.call(10, "lseek", &[3, 900, libc::SEEK_CUR as u64], None);
        told.call(10, "read", &[3, 0, 400], None);
        told.call(10, "lseek", &[3, -50i64 as u64, libc::SEEK_END as u64], None);
        told.call(10, "read", &[3, 0, 400], None);
        told.call(10, "pread64", &[3, 0, 400, 900], None);
        told.call(10, "pread64", &[3, 0, 400, 5000], None);
        let named = told.named();
        let calls = |name: &str| (named.calls[name].count, named.calls[name].bytes, named.calls[name].sequential);
        assert_eq!(calls("read"), (6, 1150, 4));
        assert_eq!(calls("pread64"), (2, 100, 0));
    }

    #[test]
    fn pipes_other_files_failed_calls_and_closed_descriptors_are_not_the_named_file() {
        let mut told = Told::new();
        told.call_with(10, "openat", &[], 3, Some(Opened { is_file: false, ..a_file(7) }));
        told.call(10, "read", &[3, 0, 100], 100);
        told.open(10, 4, 8);
        told.call(10, "read", &[4, 0, 100], 100);
        told.open(10, 5, 7);
        told.call(10, "read", &[5, 0, 100], -11);
        told.call(10, "close_range", &[3, u64::from(u32::MAX), 0], 0);
        told.call(10, "read", &[5, 0, 100], 100);
        let observation = told.0.finish(Means::Ptrace);
        assert_eq!(observation.named.read_calls(), 0);
        assert_eq!(observation.named_opened, 1);
        let others: Vec<&str> = observation.files.iter().filter(|it| !it.named).map(|it| it.path.as_str()).collect();
        assert_eq!(others, ["/data/8"]);
    }

    #[test]
    fn advice_is_the_files_that_lie_under_it_and_goes_with_the_mapping() {
        const SHARED: u64 = libc::MAP_SHARED as u64;
        let mut told = Told::new();
        told.open(10, 3, 7);
        told.open(10, 4, 8);
        told.call(10, "mmap", &[0, 0x3000, 1, SHARED | libc::MAP_POPULATE as u64, 3, 0], 0x10_000);
        told.call(10, "mmap", &[0, 0x1000, 1, SHARED, 4, 0], 0x20_000);
        told.call(10, "madvise", &[0x20_000, 0x1000, 1], 0);
        told.call(10, "madvise", &[0x12_000, 0x1000, 2], 0);
        told.call(10, "munmap", &[0x11_000, 0x1000], 0);
        told.call(10, "madvise", &[0x11_000, 0x1000, 2], 0);
        told.call(10, "mremap", &[0x10_000, 0x1000, 0x5000, 1], 0x40_000);
        told.call(10, "madvise", &[0x44_000, 1, 14], 0);
        told.call(10, "mmap", &[0, 0x5000, 1, SHARED | libc::MAP_ANONYMOUS as u64, u64::MAX, 0], 0x40_000);
        told.call(10, "madvise", &[0x44_000, 1, 14], 0);
        told.call(10, "posix_fadvise", &[3, 0, 0, 1], 0);
        let named = told.named();
        let mapping = MappingCount { shared: true, populate: true, count: 1, bytes: 0x3000, ..MappingCount::default() };
        assert_eq!(named.mappings, [mapping]);
        let hints: Vec<(&str, u64)> = named.hints.iter().map(|(hint, times)| (hint.as_str(), *times)).collect();
        let expected =
            [("madvise(MADV_HUGEPAGE)", 1), ("madvise(MADV_SEQUENTIAL)", 1), ("posix_fadvise(POSIX_FADV_RANDOM)", 1)];
        assert_eq!(hints, expected);
    }

    #[test]
    fn going_around_the_cache_is_seen_at_open_and_later() {
        let mut told = Told::new();
        let direct = Opened { flags: libc::O_DIRECT | libc::O_RDWR, ..a_file(7) };
        told.call_with(10, "openat", &[], 3, Some(direct));
        told.call(10, "fcntl", &[3, libc::F_SETFL as u64, libc::O_DIRECT as u64], 0);
        told.open(10, 4, 7);
        told.call(10, "fcntl", &[4, libc::F_SETFL as u64, libc::O_DIRECT as u64], 0);
        told.call(10, "io_uring_setup", &[], 9);
        let observation = told.0.finish(Means::Ptrace);
        let named = &observation.named;
        assert_eq!((named.opens, named.opens_direct, named.opens_for_writing, observation.rings), (2, 2, 1, 1));
    }

    proptest! {
        #[test]
        fn no_calls_in_any_order_can_make_it_fail(
            calls in proptest::collection::vec(
                (0..CALLS.len(), 8i32..14, any::<[u64; 6]>(), any::<i64>(), 0u64..12, any::<bool>()), 0..60),
            small in any::<bool>(),
        ) {
            let mut told = Told::new();
            for (at, thread, mut arguments, result, number, odd) in calls {
                if small {
                    arguments = arguments.map(|it| it % 16);
                }
                let opened = odd.then(|| Opened { flags: result as i32, position: arguments[0], ..a_file(number) });
                let result = if small { result.rem_euclid(16) } else { result };
                told.0.hear(Event::Called(Called { thread, call: &CALLS[at], arguments, result: odd.then_some(result), opened }));
                match number {
                    0 => told.0.hear(Event::Began { thread, process: 10, parent: Some(10), shares_files: odd }),
                    1 => told.0.hear(Event::Began { thread, process: thread, parent: Some(10), shares_files: odd }),
                    2 if thread != 10 => told.0.hear(Event::Ended { thread }),
                    3 => told.0.hear(Event::Executed {
                        thread, path: String::new(), runs_as_other: odd, files: vec![(result as i32, a_file(7))],
                    }),
                    _ => {}
                }
            }
            let observation = told.0.finish(Means::Ptrace);
            prop_assert!(observation.files.len() <= FILES_MAX);
        }

        #[test]
        fn what_is_mapped_is_what_a_list_of_single_bytes_would_say(
            steps in proptest::collection::vec((any::<bool>(), 0u64..40, 1u64..12, 7u64..10), 1..30),
        ) {
            let mut told = Told::new();
            for inode in 7..10 {
                told.open(10, inode as i64, inode);
            }
            let mut bytes: [Option<u64>; 64] = [None; 64];
            for (maps, from, length, inode) in steps {
                let there = from as usize..(from + length) as usize;
                if maps {
                    told.call(10, "mmap", &[0, length, 1, libc::MAP_SHARED as u64, inode, 0], from as i64);
                    bytes[there].fill(Some(inode));
                } else {
                    told.call(10, "munmap", &[from, length], 0);
                    bytes[there].fill(None);
                }
            }
            for (at, expected) in bytes.into_iter().enumerate() {
                let seen: Vec<String> =
                    told.0.mapped(10, at as u64, 1).into_iter().map(|it| told.0.files[it].path.clone()).collect();
                let expected: Vec<String> = expected.into_iter().map(|it| format!("/data/{it}")).collect();
                prop_assert_eq!(seen, expected);
            }
        }
    }
}
