//! A sink that counts: the observation of a command, file by file.

use std::collections::{BTreeSet, HashSet};

use schema::{
    mapped_runtime::MappedRuntime,
    observation::{self, FILES_MAX, FileAccess, MappingCount, Means, Observation},
};

use sys::{
    follow::{CALLS, Does, Opened},
    mount::is_of_the_system,
};

use super::access::{FileId, Identity, MappingKind, Mark, ObservedAccess, Sink, Under, Via};

pub(super) struct Counts {
    named: HashSet<Identity>,
    files: Vec<FileAccess>,
    /// Threads that have read or mapped a named file and have not ended.
    readers: HashSet<i32>,
    readers_at_once: u64,
    /// Of files that were mapped as code.
    runtimes: BTreeSet<MappedRuntime>,
}

/// What was seen of the program as a whole.
#[derive(Default)]
pub(super) struct Program {
    pub processes: BTreeSet<i32>,
    pub threads: u64,
    pub rings: u64,
    /// Of the programs that were executed.
    pub runtimes: BTreeSet<MappedRuntime>,
    /// It was ended when its time was over.
    pub expired: bool,
    pub incomplete: BTreeSet<String>,
    pub remarks: BTreeSet<String>,
}

impl Program {
    /// So many writes were made beyond those that were recorded. Those at the position of a file move what is read there.
    pub(super) fn lacks_writes(&mut self, writes: u64, counts: &Counts) {
        if writes > 0 && counts.reads_where_writes_move() {
            self.incomplete.insert(format!(
                "{writes} writes are missing, so where files that were open for reading and writing were read is not known"
            ));
        }
    }
}

/// Whether a file that may be written to was read at its position.
pub(super) fn is_moved_by_writes(of: &observation::Access) -> bool {
    let moves = |name: &String| {
        let call = CALLS.iter().find(|it| it.name == name);
        call.is_some_and(|it| matches!(it.does, Does::Read { offset: None, .. } | Does::Transfer { .. }))
    };
    of.opens_for_writing > 0 && of.calls.keys().any(moves)
}

impl Counts {
    pub(super) fn new(named: impl IntoIterator<Item = Identity>) -> Counts {
        Counts {
            named: named.into_iter().collect(),
            files: Vec::new(),
            readers: HashSet::new(),
            readers_at_once: 0,
            runtimes: BTreeSet::new(),
        }
    }

    /// What was done to each file so far, in the order in which they were seen.
    pub(super) fn files(&self) -> &[FileAccess] {
        &self.files
    }

    /// Whether a file that may be written to was read at its position.
    fn reads_where_writes_move(&self) -> bool {
        self.files.iter().any(|it| is_moved_by_writes(&it.access))
    }

    /// The result.
    pub(super) fn finish(self, by: Means, program: Program) -> Observation {
        let is_touched = |it: &FileAccess| it.access != observation::Access::default();
        let mut touched: Vec<FileAccess> = self.files.into_iter().filter(is_touched).collect();
        // What every program opens when it starts is not listed first.
        let is_usual = |it: &FileAccess| is_of_the_system(&it.path) || it.access.is_code();
        touched.sort_by_cached_key(|it| {
            (!it.named, is_usual(it), std::cmp::Reverse(it.access.reached_bytes()), it.path.clone())
        });
        let mut named = observation::Access::default();
        touched.iter().filter(|it| it.named).for_each(|it| named.add(&it.access));
        let named_opened = touched.iter().filter(|it| it.named).count() as u64;
        let files_left_out = touched.len().saturating_sub(FILES_MAX) as u64;
        touched.truncate(FILES_MAX);
        Observation {
            by,
            processes: program.processes.len() as u64,
            threads: program.threads,
            readers_at_once: Some(self.readers_at_once),
            named_opened,
            named,
            files: touched,
            files_left_out,
            rings: program.rings,
            runtimes: program.runtimes.union(&self.runtimes).copied().collect(),
            expired: program.expired,
            incomplete: program.incomplete.into_iter().collect(),
            remarks: program.remarks.into_iter().collect(),
        }
    }
}

impl Sink for Counts {
    fn file(&mut self, _: FileId, found: &Opened) {
        let named = self.named.contains(&(found.device, found.inode));
        self.files.push(FileAccess { path: found.path.clone(), named, access: Default::default() });
    }

    fn access(&mut self, access: &ObservedAccess) {
        let file = &mut self.files[access.file.0];
        if file.named {
            self.readers.insert(access.thread);
            self.readers_at_once = self.readers_at_once.max(self.readers.len() as u64);
        }
        let bytes = access.span.bytes;
        match access.via {
            Via::Call { name, asked_bytes, sequential } => match sequential {
                Some(sequential) => file.access.count_call(name, asked_bytes, bytes, sequential),
                None => file.access.count_unplaced(name, asked_bytes, bytes),
            },
            Via::Mapping(kind) => {
                self.runtimes.extend(MappedRuntime::of_code(&file.path).filter(|_| kind.executable));
                file.access.count_mapping(&mapping_count(kind, 1, bytes));
            }
            Via::Growth(kind) => file.access.count_mapping(&mapping_count(kind, 0, bytes)),
            Via::Touch => {}
        }
    }

    fn mark(&mut self, file: FileId, mark: Mark) {
        let access = &mut self.files[file.0].access;
        match mark {
            Mark::Opened { writable, direct } => {
                access.opens += 1;
                access.opens_for_writing += u64::from(writable);
                if direct {
                    access.turn_direct();
                }
            }
            Mark::TurnedDirect => access.turn_direct(),
            Mark::Advised(advice) => {
                let advice = advice.to_string();
                // Nothing may follow.
                access.count_under(&advice, 0);
                *access.hints.entry(advice).or_default() += 1;
            }
            Mark::Reached { under: Under::Direct, bytes } => access.count_under(observation::Access::DIRECT, bytes),
            Mark::Reached { under: Under::BehindPage, bytes } => {
                access.count_under(observation::Access::BEHIND_PAGE, bytes);
            }
            Mark::Reached { under: Under::Advice(advice), bytes } => access.count_under(&advice.to_string(), bytes),
            Mark::AskedAhead { bytes } => access.count_ahead(bytes),
            Mark::FailedRead | Mark::TouchedUnseen => {}
        }
    }

    fn ended(&mut self, thread: i32) {
        self.readers.remove(&thread);
    }
}

fn mapping_count(kind: MappingKind, count: u64, bytes: u64) -> MappingCount {
    let MappingKind { shared, writable, executable, populate } = kind;
    MappingCount { shared, writable, executable, populate, count, bytes }
}
