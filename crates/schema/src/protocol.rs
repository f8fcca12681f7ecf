//! The conversation between controller and worker: one JSON object per line on the worker's stdin and stdout.
//!
//! ```text
//! controller                                   worker
//! {"hello":{"protocol":1}}                 ->
//!                                          <-  {"hello":{"protocol":1,"runtime":"native","methods":["read",…]}}
//! {"prepare":{…}}                          ->  buffers allocated and touched; file opened only if `hold` says so
//!                                          <-  {"prepared":{…}} or {"unavailable":{…}}
//! (the controller completes and verifies the state)
//! {"go":{"pass":1}}                        ->  one pass
//!                                          <-  {"done":{…}} or {"failed":{…}}
//! (the controller looks at the process and at the state again)
//! {"bye":{}}                               ->  everything released, exit 0; of a command, after what cleans up
//! ```
//!
//! `go` may be said several times, also with `warm`: a pass before the timed one. Nothing here assumes that both sides share a clock or a memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Arm, Beside, Consume, Descriptor, Durability, Span, Workload,
    arm::Options,
    beats::Beats,
    leftover::FileIdentity,
    observation::{Observation, Watch},
    reading::Reading,
};

pub use crate::pass::{Phases, Tally};

/// Spoken by this version; a worker that answers another number is not used.
pub const PROTOCOL: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    Hello {
        protocol: u32,
    },
    Prepare(Box<Job>),
    Go {
        pass: u64,
        /// From 1: the number of a pass before the timed one, with offsets of its own (`warm_seed`). Its tally counts no
        /// distinct bytes. 0 is the timed pass.
        #[serde(default, skip_serializing_if = "is_timed")]
        warm: u32,
    },
    Bye {},
}

fn is_timed(warm: &u32) -> bool {
    *warm == 0
}

/// The seed of a warm pass's offsets, by that of the job: other than the timed pass's, and the same for every arm. Threads
/// add less than 2^16 to a seed, rounds 2^32.
pub fn warm_seed(seed: u64, warm: u32) -> u64 {
    seed.wrapping_add(u64::from(warm) << 16)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    Hello(Hello),
    Prepared {
        pass: u64,
        pid: u32,
    },
    /// The arm cannot do this here; never an approximation of it.
    Unavailable {
        pass: u64,
        reason: String,
    },
    Done(Box<Done>),
    Failed(Failed),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    /// `native`, and for other runtimes their version too: `jvm 25.0.3`.
    pub runtime: String,
    pub methods: Vec<String>,
    /// The thread that makes the passes and starts their other threads, where it is not the process's first: a JVM's first
    /// one only waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// What a runtime that is not this executable is: `vm`, `home`, `flags`, …
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub about: BTreeMap<String, String>,
}

/// One arm under one condition, as a worker needs to know it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub pass: u64,
    pub method: String,
    pub options: Options,
    pub workload: Workload,
    pub consume: Consume,
    pub file: String,
    pub block_bytes: u64,
    /// Only these bytes of the file are touched.
    pub range: Span,
    /// Blocks of all threads together.
    pub ops: u64,
    pub aligned: bool,
    pub threads: u32,
    pub descriptor: Descriptor,
    /// The share of each block that is consumed, from its start.
    #[serde(default = "crate::condition::whole")]
    pub consumed_percent: u32,
    /// When a block that was written counts as written.
    #[serde(default = "crate::condition::nothing_synced")]
    pub durability: Durability,
    /// Of the offsets and of what is written (docs/FORMATS.md, "Offsets", "What is written").
    pub seed: u64,
    pub hold: Hold,
    /// Of a command: its execution is watched, and not timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
    /// A job without one reads its file and does nothing else.
    #[serde(default, skip_serializing_if = "Permit::is_empty")]
    pub permit: Permit,
    /// Before `prepared`, the consume's loop is timed by itself: where runtimes are compared, theirs differ.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub times_its_loop: bool,
    /// Its times are not used: a runtime that compiles while it runs makes one pass before `prepared` and does not wait for its
    /// compiler.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untimed: bool,
    /// Of workload `replay`: where its accesses are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceOf>,
    /// What a second thread does during the timed pass. With `beat`, `done` has `beats`.
    #[serde(default = "crate::condition::nothing_beside", skip_serializing_if = "Beside::is_nothing")]
    pub beside: Beside,
    /// Of workload `replay`: so much own work of a program, between its accesses, is part of the time of the pass.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own_work_ns: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A trace that a worker reads before `prepared`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceOf {
    pub path: String,
    /// What is read there must have it.
    pub digest: String,
    /// The place of the measured file in its table.
    pub file: u32,
    /// Of a replay over several files: all of them. Those of the trace have no other way to a worker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ReplayedFile>,
}

/// One of several files whose accesses are made in one pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayedFile {
    /// Its place in the table of the trace.
    pub place: u32,
    pub path: String,
    /// As it was when it was named; what is another file by now, or has another size, is not read.
    pub identity: FileIdentity,
    pub bytes: u64,
}

impl Job {
    /// A range in one block, touched once by one thread; everything else at its plainest.
    pub fn new(arm: &Arm, file: &str, range: Span) -> Job {
        Job {
            pass: 1,
            method: arm.method.clone(),
            options: arm.options.clone(),
            workload: Workload::Scan,
            consume: Consume::Touch,
            file: file.into(),
            block_bytes: range.bytes,
            range,
            ops: 1,
            aligned: true,
            threads: 1,
            descriptor: Descriptor::PerThread,
            consumed_percent: 100,
            durability: Durability::None,
            seed: 1,
            hold: Hold::No,
            watch: None,
            permit: Permit::default(),
            times_its_loop: false,
            untimed: false,
            trace: None,
            beside: Beside::Nothing,
            own_work_ns: 0,
        }
    }
}

/// What a job may do beyond reading its file. The controller decides it in one place, from what the user typed and from
/// what faultline made itself, never from a record or an experiment; the worker refuses everything else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permit {
    /// The command lines among its options may be executed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub execute: bool,
    /// This file may be written, and no other; it is compared with the open file before the first write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<FileIdentity>,
}

impl Permit {
    pub fn is_empty(&self) -> bool {
        *self == Permit::default()
    }
}

/// What happens before `prepared`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// Nothing: the file is opened within the pass, and closed.
    No,
    /// As `no`, after a short untimed pass of a few blocks, closed again: the worker's code is warm, and neither a
    /// mapping nor an open file is left (state `cached`).
    Rehearse,
    /// The file is opened and stays open; passes before the timed one are asked for by `go` (state `limited`).
    Open,
    /// The file is opened and one untimed pass is made; it stays open (state `mapped`).
    Warm,
    /// As `warm`, and the pages are mlocked through the method's own mapping, or through one on the side for
    /// methods that have none (state `locked`).
    Locked,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    pub pass: u64,
    pub phases: Phases,
    pub tally: Tally,
    pub usage: Usage,
    /// Of an `update`: where the time of its work went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
    /// What the worker saw, by the names of readings, and where probes see that too, instead of them: of processes that it
    /// started, of its own runtime (docs/FORMATS.md, "Readings").
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, Reading<f64>>,
    /// Reads that the worker made for itself between `go` and this reply: they are none of the pass's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_reads: Option<OwnReads>,
    /// Of an execution that was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<Box<Observation>>,
    /// Of the timed pass of a job that asks for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beats: Option<Box<Beats>>,
}

/// System calls that read, and what they read: a runtime that cannot call getrusage(2) looks into /proc instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnReads {
    pub calls: u64,
    pub bytes: u64,
}

/// The parts of an `update`, summed over all blocks. The clock is read four times a block for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// Until the block's bytes are there, or look as if they were.
    pub read_ns: u64,
    /// The change of every byte.
    pub loop_ns: u64,
    /// Until the block is as durable as requested; the one sync of `sync-end` is included.
    pub write_ns: u64,
    /// What reading the clock once takes, and is in the other numbers four times a block.
    pub clock_ns: u64,
}

/// What the worker's process spent from just before `open` to just after `close` (getrusage(2), RUSAGE_SELF).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub user_ns: u64,
    pub system_ns: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

impl Usage {
    /// What its fields are called among the readings of a pass.
    pub const READINGS: [&str; 6] =
        ["user_ns", "system_ns", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches"];

    /// In the order of `READINGS`.
    pub fn values(&self) -> [u64; 6] {
        let Usage { user_ns, system_ns, minor_faults, major_faults, voluntary_switches, involuntary_switches } = *self;
        [user_ns, system_ns, minor_faults, major_faults, voluntary_switches, involuntary_switches]
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failed {
    pub pass: u64,
    /// `prepare`, `open`, `work` or `close`.
    pub during: String,
    pub errno: Option<i32>,
    pub message: String,
}
