//! The comparisons of a planted record.

use schema::{Consume, Fill, Layout, State, Workload};

pub(crate) struct Block {
    pub(crate) name: &'static str,
    /// The first is the baseline.
    pub(crate) arms: &'static [&'static str],
    pub(crate) workload: Workload,
    pub(crate) state: State,
    pub(crate) sizes: &'static [u64],
    pub(crate) consumes: &'static [Consume],
    pub(crate) threads: &'static [u32],
    pub(crate) layouts: &'static [Layout],
    /// None: the usual one, unsaid.
    pub(crate) fills: &'static [Fill],
    pub(crate) file_bytes: u64,
    pub(crate) offset: u64,
    /// How many times as long as the first the second arm takes, condition by condition; drawn where there is none.
    pub(crate) factors: &'static [f64],
    /// The second arm's processes fall into two groups.
    pub(crate) splits: bool,
}

const PLAIN: Block = Block {
    name: "",
    arms: &[],
    workload: Workload::Scan,
    state: State::Cached,
    sizes: &[4096, 65_536],
    consumes: &[Consume::Sum],
    threads: &[1],
    layouts: &[Layout::Written],
    fills: &[],
    file_bytes: 64 << 20,
    offset: 0,
    factors: &[],
    splits: false,
};

/// Has the conditions of the first comparison, and other arms.
pub(crate) const REPEATED: &str = "second";

pub(crate) const BLOCKS: &[Block] = &[
    Block { name: "first", arms: &["stdio", "pread", "mmap"], ..PLAIN },
    Block { name: REPEATED, arms: &["pread", "mmap"], ..PLAIN },
    Block {
        name: "odd",
        arms: &["pread", "mmap", "mmap+random"],
        workload: Workload::Random,
        state: State::Mapped,
        sizes: &[200, 4999],
        file_bytes: 21_799_123,
        offset: 4096,
        ..PLAIN
    },
    Block { name: "consumes", arms: &["pread", "mmap"], consumes: &[Consume::Touch, Consume::Lines], ..PLAIN },
    Block { name: "threads", arms: &["pread", "mmap"], workload: Workload::Random, threads: &[1, 3], ..PLAIN },
    Block { name: "cold", arms: &["read", "mmap+sequential", "direct"], state: State::Cold, sizes: &[65_536], ..PLAIN },
    Block {
        name: "writing",
        arms: &["pwrite", "mmap"],
        workload: Workload::Overwrite,
        state: State::AsIs,
        sizes: &[65_536],
        layouts: &[Layout::Written, Layout::Preallocated, Layout::Sparse],
        ..PLAIN
    },
    Block { name: "limited", arms: &["pread", "mmap"], state: State::Limited, sizes: &[65_536], ..PLAIN },
    Block { name: "forks", arms: &["jvm/channel-heap", "jvm/mapped"], sizes: &[16_384], splits: true, ..PLAIN },
    Block {
        name: "fills",
        arms: &["pread", "mmap"],
        workload: Workload::Random,
        sizes: &[64],
        fills: &[Fill::Sequential, Fill::Random, Fill::Faults, Fill::Written(4096)],
        factors: &[0.25, 2.0, 0.5, 1.0],
        ..PLAIN
    },
    Block {
        name: "sizes",
        arms: &["pread", "mmap"],
        sizes: &[8192, 32_768, 131_072],
        factors: &[0.5, 0.8, 2.0],
        ..PLAIN
    },
];
