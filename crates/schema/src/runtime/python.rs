//! What the Python worker can do: the names are those of `workers/python/faultline/methods.py`.

use super::{
    Can, MethodSpec, OptionSpec, RuntimeSpec, Values,
    jvm::CHARSET,
    native::{ADVICE, SYNC},
};

pub const PYTHON: RuntimeSpec = RuntimeSpec { name: "python", methods: METHODS, replays: false };

const VERSION: OptionSpec = OptionSpec {
    name: "python",
    values: Values::Number { min: 309, max: 399, default: 0 },
    about: "the version of Python that runs it, 313 for 3.13; 0 is the one of --python, or the first that fits",
    can: Can::Both,
};
const GIL: OptionSpec = OptionSpec {
    name: "gil",
    values: Values::Words(&["on", "off"]),
    about: "with the global interpreter lock, or without it: -X gil=0 of a free-threaded build (Python 3.13)",
    can: Can::Both,
};
const SWITCH: OptionSpec = OptionSpec {
    name: "switch_us",
    values: Values::Number { min: 1, max: 1_000_000, default: 5000 },
    about: "sys.setswitchinterval in microseconds: after so long a thread is asked to give the lock to another one",
    can: Can::Both,
};
const USE: OptionSpec = OptionSpec {
    name: "use",
    values: Values::Words(&["slice", "view", "numpy"]),
    about: "a slice, which copies the block into new bytes; or in place, by a memoryview or as an array of numpy's",
    can: Can::Read,
};
const POPULATE: OptionSpec = OptionSpec {
    name: "populate",
    values: Values::Words(&["no", "map-populate", "populate-read", "populate-ctypes"]),
    about: "fill the page table while opening: MAP_POPULATE; MADV_POPULATE_READ (Linux 5.14) by mmap.madvise; the same by ctypes, which releases the lock",
    can: Can::Read,
};

const fn reads(name: &'static str, about: &'static str) -> MethodSpec {
    MethodSpec { options: &[SWITCH, GIL, VERSION], ..MethodSpec::reads(name, about) }
}

/// In the order in which the worker's hello names them.
const METHODS: &[MethodSpec] = &[
    reads("read", "os.read at the file's own position, into new bytes; os.lseek before it when the workload jumps"),
    reads("pread", "os.pread at an explicit offset, into new bytes"),
    reads("readinto", "FileIO.readinto at the file's own position, into one buffer; seek when the workload jumps"),
    reads("preadv", "os.preadv at an explicit offset, into one buffer"),
    reads("buffered", "open(path, \"rb\").read with the buffer that open makes; seek when the workload jumps"),
    MethodSpec {
        options: &[CHARSET, SWITCH, GIL, VERSION],
        from_start: true,
        ..reads(
            "lines",
            "iteration over open(path, newline=\"\\n\"): every line decoded and made a string; for scans that count lines",
        )
    },
    MethodSpec {
        direct: true,
        ..reads("direct", "os.preadv of a file opened with O_DIRECT, around the page cache, into one buffer")
    },
    MethodSpec {
        options: &[USE, ADVICE, POPULATE, SWITCH, GIL, VERSION],
        maps: true,
        in_place: true,
        ..reads("mmap", "mmap.mmap of the range")
    },
    reads("fromfile", "numpy.fromfile at the file's own position, into a new array; seek when the workload jumps"),
    MethodSpec { maps: true, in_place: true, ..reads("memmap", "numpy.memmap of the range, bytes consumed in place") },
    MethodSpec {
        can: Can::Write,
        options: &[SYNC, SWITCH, GIL, VERSION],
        ..reads("pwrite", "os.pwrite at an explicit offset")
    },
    MethodSpec {
        can: Can::Write,
        maps: true,
        ..reads("mmap-store", "assignment to a slice of mmap.mmap; flush where durability is requested")
    },
];
