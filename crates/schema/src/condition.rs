//! What arms are compared under. One word per idea; the words are the ones of docs/ARCHITECTURE.md.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{Fill, Span, trace::Traced, units::expected};

/// Random reads of a part as large as this cost what they cost in the whole file.
const DENSE_LEAST_OPS: u64 = 1000;

/// A closed set of words that are written the same in TOML, JSON, on the command line and in reports.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal : $about:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name { $($(#[$variant_doc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every member, in the order they are listed to people.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The word in files and reports.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            /// One sentence for `faultline list`.
            pub fn about(self) -> &'static str {
                match self { $($name::$variant => $about),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<$name, String> {
                let words: Vec<&str> = $name::ALL.iter().map(|it| it.word()).collect();
                $name::ALL.iter().copied().find(|it| it.word() == text)
                    .ok_or_else(|| format!("unknown {} {text:?}; {}", stringify!($name).to_lowercase(), expected(text, &words)))
            }
        }
    };
}

words! {
    /// What is done with the file.
    Workload {
        Scan = "scan": "blocks in ascending order, each once",
        Random = "random": "blocks at random offsets, with repetition",
        Replay = "replay": "the accesses of a trace, in their order, each at its offset and of its length",
        Overwrite = "overwrite": "blocks are overwritten in ascending order",
        OverwriteRandom = "overwrite-random": "blocks are overwritten at random offsets",
        Append = "append": "blocks are written one after the other at the end of an empty file",
        Update = "update": "each block in ascending order is read, changed in every byte and written back",
        Command = "command": "a command of the user's, executed once (`faultline ab`)",
    }
}

/// What kind of work a pass does; what each of them is like stands in `lab/src/execute/pass`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkloadKind {
    Reads,
    /// Changes the file: only ever one that faultline made itself.
    Writes,
    /// Executes a command of the user's.
    Command,
}

impl Workload {
    pub fn kind(self) -> WorkloadKind {
        match self {
            Workload::Scan | Workload::Random | Workload::Replay => WorkloadKind::Reads,
            Workload::Overwrite | Workload::OverwriteRandom | Workload::Append | Workload::Update => {
                WorkloadKind::Writes
            }
            Workload::Command => WorkloadKind::Command,
        }
    }

    /// All that an experiment may name by the word alone; commands are `faultline ab`'s, and a replay needs its trace.
    pub fn of_experiments() -> impl Iterator<Item = Workload> {
        Workload::ALL.iter().copied().filter(|it| it.has_blocks())
    }

    /// Its accesses are blocks of one size, whose offsets follow from the condition.
    pub fn has_blocks(self) -> bool {
        match self {
            Workload::Scan | Workload::Random => true,
            Workload::Overwrite | Workload::OverwriteRandom | Workload::Append | Workload::Update => true,
            Workload::Replay | Workload::Command => false,
        }
    }

    /// Changes the file: only ever one that faultline made itself.
    pub fn writes(self) -> bool {
        self.kind() == WorkloadKind::Writes
    }

    /// Something looks at what was reached: nothing does at what is written, and what a command does is its own matter.
    pub fn consumes(self) -> bool {
        self.kind() == WorkloadKind::Reads
    }

    /// What the file has in it before can be chosen: what is appended to is empty.
    pub fn has_layout(self) -> bool {
        self.writes() && self != Workload::Append
    }

    /// It reads, and what it reads lies anywhere.
    pub fn reads_anywhere(self) -> bool {
        !self.is_ascending() && !self.writes()
    }

    /// Blocks follow each other; otherwise they lie anywhere.
    pub fn is_ascending(self) -> bool {
        match self {
            Workload::Scan | Workload::Overwrite | Workload::Append | Workload::Update | Workload::Command => true,
            Workload::Random | Workload::Replay | Workload::OverwriteRandom => false,
        }
    }
}

words! {
    /// What happens to each byte that was reached. The consume is part of the work: without it a mapping looks free.
    Consume {
        Touch = "touch": "one byte every 4096 bytes of a block, from its first",
        Sum = "sum": "all bytes, as wrapping 64-bit little-endian words",
        Copy = "copy": "all bytes are copied into a private buffer",
        Lines = "lines": "newlines are counted",
        SumBytes = "sum-bytes": "all bytes, one at a time",
        DecodeLines = "decode-lines": "UTF-8 is decoded, and every line becomes a string of its own, in Java out of an array; newlines are counted",
    }
}

impl Consume {
    /// Its loop goes over every byte: runtimes differ in that.
    pub fn looks_at_all(self) -> bool {
        !matches!(self, Consume::Touch | Consume::Copy)
    }

    /// The distance between the bytes of a block that it looks at.
    pub const fn looks_every(self) -> u64 {
        if matches!(self, Consume::Touch) { 4096 } else { 1 }
    }
}

words! {
    /// Where the pages are when the pass starts.
    State {
        Cold = "cold": "no page of the file in the page cache (cold for this kernel; a guest's host may still hold it)",
        Cached = "cached": "every page in the page cache, none in the page table: each pass creates a new mapping",
        Mapped = "mapped": "in the page cache and in the page table: an untimed pass over the same mapping came first",
        Locked = "locked": "as mapped, and the mapping is mlocked",
        Limited = "limited": "partly in the page cache: the worker's memory is limited to a share of the range beside what it needs itself; measured in steady state",
        AsIs = "as-is": "the residency is left as it is and recorded",
        AsFound = "as-found": "the pages that were in the page cache when the run began, or the command was recorded, and no others: they are brought back before each pass",
    }
}

impl State {
    /// In these states the file is opened, and read once, before the clock starts, and stays open.
    pub fn is_held(self) -> bool {
        matches!(self, State::Mapped | State::Locked)
    }

    /// Pages are missing in the page cache, and what is read or touched of them waits for the device.
    pub fn waits_for_device(self) -> bool {
        matches!(self, State::Cold | State::Limited | State::AsFound)
    }

    /// Every page is in the page cache, put there by a fill.
    pub fn is_filled(self) -> bool {
        self == State::Cached || self.is_held()
    }
}

words! {
    /// How threads share the file.
    Descriptor {
        PerThread = "per-thread": "each thread opens the file itself",
        Shared = "shared": "all threads use one open file, and one mapping",
    }
}

words! {
    /// What a second thread of the worker does during a pass.
    Beside {
        Nothing = "nothing": "there is no second thread",
        Beat = "beat": "it has a deadline every millisecond, and records how late it is for each: what an arm does to other threads",
    }
}

impl Beside {
    pub fn is_nothing(&self) -> bool {
        *self == Beside::Nothing
    }
}

/// As of all conditions before there was another one.
pub(crate) fn nothing_beside() -> Beside {
    Beside::Nothing
}

words! {
    /// When a write counts as done. Reading has `none`.
    Durability {
        None = "none": "nothing is synced",
        SyncEach = "sync-each": "every block is on the device before the next one is begun",
        SyncEnd = "sync-end": "everything is on the device before the pass ends; one sync",
    }
}

words! {
    /// What a file that is written has in it before.
    Layout {
        Written = "written": "every block was written before, and is on the device",
        Preallocated = "preallocated": "space on the device is reserved, nothing was written (fallocate)",
        Sparse = "sparse": "a hole of the file's size",
    }
}

/// Emulated storage: what the block I/O cgroup lets the worker read from the disk under the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Storage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes_per_s: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ops_per_s: Option<u64>,
}

/// A cold scan of fewer read-ahead windows does not answer for a whole file: what the first windows cost is a large part of
/// it, and independent programs contradicted such verdicts.
pub const WINDOWS_LEAST: u64 = 20;

/// Everything but the arm. `range` is the window the pass may touch and whose residency is set and verified;
/// `ops` blocks of it are read in one pass.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Condition {
    pub workload: Workload,
    pub consume: Consume,
    pub block_bytes: u64,
    pub state: State,
    pub file_bytes: u64,
    pub threads: u32,
    pub descriptor: Descriptor,
    pub durability: Durability,
    pub storage: Option<Storage>,
    pub range: Span,
    /// Random offsets are multiples of the block. A scan always is.
    pub aligned: bool,
    /// Blocks per pass, all threads together. Chosen by the planner to fit the budget unless the experiment says it.
    pub ops: u64,
    /// The share of each block that is consumed, from its start; below 100 only in experiments that repeat a mistake.
    #[serde(default = "whole")]
    pub consumed_percent: u32,
    /// For workloads that write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// In state `limited`: the worker's memory for pages of the file. What it needs itself is added to the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// In states that live in the page cache; `sequential` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    /// Of a replay. Its block is then the longest access.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Traced>,
    #[serde(default = "nothing_beside", skip_serializing_if = "Beside::is_nothing")]
    pub beside: Beside,
    /// Of a replay beside the program that it replays: the program's own work, in nanoseconds of a pass, which goes on between the
    /// accesses. What was measured in memory says how much it is.
    #[serde(default, skip_serializing_if = "no_work")]
    pub own_work_ns: u64,
}

pub(crate) fn no_work(ns: &u64) -> bool {
    *ns == 0
}

/// `19,616`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|it| String::from_utf8_lossy(it).into_owned());
    groups.collect::<Vec<String>>().join(",")
}

fn plural(number: u64) -> &'static str {
    if number == 1 { "" } else { "es" }
}

/// What a reader's job has.
pub(crate) fn nothing_synced() -> Durability {
    Durability::None
}

/// Of a block, in percent.
pub(crate) fn whole() -> u32 {
    100
}

/// Where the pages of the file are when a pass begins, and how they came into the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    pub state: State,
    pub fill: Option<Fill>,
}

/// Of a job, what is as good as all of it.
const WHOLE: f64 = 0.75;

/// What so many blocks that follow each other have together: the last one of a range is short where it ends, each time around.
pub fn bytes_in_order(ops: u64, block_bytes: u64, range_bytes: u64) -> f64 {
    let (block, range) = (block_bytes as f64, range_bytes as f64);
    let round = range_bytes.div_ceil(block_bytes.max(1)).max(1);
    (ops / round) as f64 * range + ((ops % round) as f64 * block).min(range)
}

impl Condition {
    /// Whether random blocks begin anywhere, or are counted from a place within a page that is no multiple of their size.
    pub fn begins_within_pages(&self, page_bytes: u64) -> bool {
        let step = self.block_bytes.min(page_bytes).max(1);
        self.workload == Workload::Random && (!self.aligned || !self.range.offset.is_multiple_of(step))
    }

    /// Whether many random blocks lie in one more page than they would fit into: they begin anywhere, or at multiples of a size
    /// that no page is a multiple of, or the range that they are counted from begins within a page.
    pub fn lies_across_pages(&self, page_bytes: u64) -> bool {
        /// Of blocks of 200 B 4.7 % do, which no cost shows.
        const MANY: f64 = 0.05;
        self.workload == Workload::Random && self.share_across_pages(page_bytes) > MANY
    }

    /// Of blocks at random, those that lie in one more page than they would fit into. The size of a page is a power of two.
    fn share_across_pages(&self, page_bytes: u64) -> f64 {
        let (block, page) = (self.block_bytes.max(1), page_bytes.max(1));
        // Blocks begin in a page wherever this step, of which both are multiples, comes to.
        let step = if self.aligned { 1u64 << block.trailing_zeros().min(page.trailing_zeros()) } else { 1 };
        let (starts, first) = (page / step, self.range.offset % step);
        let room = (page - block % page) % page;
        let within = if room < first { 0 } else { (room - first) / step + 1 };
        (starts - within) as f64 / starts as f64
    }

    /// All but how much a pass does, and where: that a planner may choose.
    #[must_use]
    pub fn without_size(&self) -> Condition {
        Condition { ops: 0, range: Span { offset: 0, bytes: 0 }, ..self.clone() }
    }

    /// The memory in state `limited` as a part of the range, in thousandths.
    pub(crate) fn memory_share(&self) -> Option<u64> {
        let share = self.memory_bytes? as f64 / self.range.bytes.max(1) as f64;
        Some((share * 1000.0).round() as u64)
    }

    /// It is of commands: there is no block, no consume and no thread that faultline could say anything about.
    pub fn is_of_commands(&self) -> bool {
        self.workload.kind() == WorkloadKind::Command
    }

    /// Blocks that a scan of the whole window reads.
    pub fn blocks_in_range(&self) -> u64 {
        self.range.bytes.div_ceil(self.block_bytes.max(1)).max(1)
    }

    /// How many blocks a pass has of those that were asked for. A scan and an append end where their window does: what is
    /// written once more is overwritten, and not appended. A pass that overwrites or updates may go over its window repeatedly:
    /// some programs do.
    pub fn covered_ops(&self, asked: u64) -> u64 {
        match matches!(self.workload, Workload::Scan | Workload::Append) {
            true => asked.max(1).min(self.blocks_in_range()),
            false => asked.max(1),
        }
    }

    /// How many reads share a fault depends on how densely they lie. Where a pass of so many random reads of a file has a part
    /// of it, it makes as many of them as would come to that part.
    pub fn dense_ops(&self, asked: u64) -> u64 {
        match self.dense_share() {
            Some(share) => ((asked as f64 * share).round() as u64).max(DENSE_LEAST_OPS.min(asked)),
            None => asked,
        }
    }

    /// The other way round: how many reads of the whole file lie as densely as those of a pass.
    pub fn dense_ops_of_file(&self) -> f64 {
        self.ops as f64 / self.dense_share().unwrap_or(1.0)
    }

    /// Of the file, where the density of reads decides what they cost.
    fn dense_share(&self) -> Option<f64> {
        let is_dense = self.state == State::Cached && self.workload == Workload::Random && self.range.bytes > 0;
        is_dense.then(|| (self.range.bytes as f64 / self.file_bytes.max(1) as f64).min(1.0))
    }

    /// How the page cache was filled; nothing where it was not.
    pub fn fill(&self) -> Option<Fill> {
        self.state.is_filled().then(|| self.fill.unwrap_or(Fill::Sequential))
    }

    /// The random reads of a whole job within so many bytes: as many as there are pages, or blocks where these are larger.
    pub fn job_reads(&self, bytes: u64, page_bytes: u64) -> u64 {
        bytes / self.block_bytes.max(page_bytes).max(1)
    }

    /// The blocks of a whole job within so many bytes: all of them in order, or as many at random as there are pages.
    pub fn job_blocks(&self, bytes: u64, page_bytes: u64) -> u64 {
        match self.workload.is_ascending() {
            true => bytes.div_ceil(self.block_bytes.max(1)),
            false => self.job_reads(bytes, page_bytes),
        }
    }

    /// The blocks of the whole job within so many bytes, where so many of a pass are a part of it that leaves open what depends on its
    /// size.
    pub fn job_of_part(&self, blocks: u64, bytes: u64, page_bytes: u64) -> Option<u64> {
        /// Of stores in order: what is read into small folios first counts for little beside it.
        const ENOUGH_BYTES: u64 = 1 << 30;
        let job_blocks = self.job_blocks(bytes, page_bytes);
        let stored = blocks.saturating_mul(self.block_bytes);
        let is_large = self.workload.writes() && self.workload.is_ascending() && stored >= ENOUGH_BYTES;
        ((blocks as f64) < WHOLE * job_blocks as f64 && !is_large).then_some(job_blocks)
    }

    /// Whether so many blocks are more than the whole job within so many bytes: passes over a small file are as long as can be timed.
    pub fn exceeds_job(&self, blocks: u64, bytes: u64, page_bytes: u64) -> bool {
        WHOLE * blocks as f64 > self.job_blocks(bytes, page_bytes) as f64
    }

    /// The file has its content, which lies on the device before a cold pass: it is neither appended to, nor has it holes.
    pub fn is_on_device(&self) -> bool {
        self.workload != Workload::Append && self.has_its_blocks()
    }

    /// What it writes to, or updates, was written before.
    pub fn has_its_blocks(&self) -> bool {
        self.layout.is_none_or(|it| it == Layout::Written)
    }

    /// Random reads of pages in memory, or of those that are found, of which a fault through a mapping serves several.
    pub fn reads_share_faults(&self) -> bool {
        self.workload == Workload::Random && matches!(self.state, State::Cached | State::AsIs)
    }

    /// A scan during which read-ahead starts and grows.
    pub fn is_cold_scan(&self) -> bool {
        self.workload == Workload::Scan && self.state == State::Cold
    }

    /// It writes over what the file has, and is not synced block by block, which waits for the device.
    pub fn writes_over(&self) -> bool {
        self.workload.has_layout() && self.has_its_blocks() && self.durability != Durability::SyncEach
    }

    /// Whether a pass reads from the file all that it covers: what overwrites or appends has nothing to read but the pages that
    /// it writes a part of, and of space that was only reserved nothing comes from the device.
    pub fn reads_what_it_covers(&self) -> bool {
        match self.workload {
            Workload::Update => self.has_its_blocks(),
            workload => !workload.writes(),
        }
    }

    pub fn start(&self) -> Start {
        Start { state: self.state, fill: self.fill() }
    }

    /// Of all accesses of a pass together.
    pub fn pass_bytes(&self) -> f64 {
        self.bytes_of(self.ops)
    }

    /// Of so many accesses together. Blocks that follow each other end with a short one where the window does, each time
    /// around.
    pub fn bytes_of(&self, ops: u64) -> f64 {
        match &self.trace {
            Some(trace) => trace.bytes as f64 * (ops as f64 / trace.accesses.max(1) as f64),
            None if self.workload.has_blocks() && self.workload.is_ascending() => {
                bytes_in_order(ops, self.block_bytes, self.range.bytes)
            }
            None => ops as f64 * self.block_bytes as f64,
        }
    }

    /// The workload, and of a replay what it is of: `random`, `replay of 19,616 accesses`.
    pub fn work(&self) -> String {
        match &self.trace {
            Some(trace) => format!("replay of {} access{}", grouped(trace.accesses), plural(trace.accesses)),
            None => self.workload.to_string(),
        }
    }

    /// The size of a block; nothing where there is none.
    pub fn block(&self) -> String {
        if self.workload.has_blocks() { crate::Bytes(self.block_bytes).exact() } else { String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_across_pages_are_counted_as_if_each_were_looked_at() {
        const PAGE: u64 = 4096;
        let shares = |block_bytes: u64, offset: u64, aligned: bool| {
            let range = Span { offset, bytes: 1 << 40 };
            let of = Condition { workload: Workload::Random, block_bytes, range, aligned, ..Condition::plain(1 << 41) };
            // So many blocks come to each place in a page equally often.
            let starts = (0..PAGE).map(|nth| offset + if aligned { nth * block_bytes } else { nth });
            let pages = |start: u64| (start + block_bytes - 1) / PAGE - start / PAGE + 1;
            let across = starts.filter(|it| pages(*it) > block_bytes.div_ceil(PAGE)).count();
            (of.share_across_pages(PAGE), across as f64 / PAGE as f64, of.lies_across_pages(PAGE))
        };
        for block_bytes in [1, 64, 200, 1000, 3072, 4095, 4096, 4097, 6144, 10_240, 1 << 20] {
            for (offset, aligned) in [(0, true), (0, false), (100, true), (512, true), (4096, true), (8200, false)] {
                let (share, counted, _) = shares(block_bytes, offset, aligned);
                assert!((share - counted).abs() < 1e-12, "{block_bytes} {offset} {aligned}: {share} {counted}");
            }
        }
        let many = [(64, true), (200, true), (3072, true), (4096, true), (4096, false), (10_240, true)];
        let many = many.map(|(block_bytes, aligned)| shares(block_bytes, 0, aligned).2);
        assert_eq!(many, [false, false, true, false, true, false]);
        assert!(shares(4096, 512, true).2);
    }
}
