//! What the native worker can do: the names are those of `METHODS` in `worker/src/method`.

use super::{Can, MethodSpec, OptionSpec, RuntimeSpec, Values};

pub const NATIVE: RuntimeSpec = RuntimeSpec { name: "native", replays: true, methods: METHODS };

pub(super) const ADVICE: OptionSpec = OptionSpec {
    name: "advice",
    values: Values::Words(&["normal", "sequential", "random", "willneed", "hugepage"]),
    about: "madvise(2) after mapping",
    can: Can::Read,
};
/// Of methods that read by calls.
const FILE_ADVICE: OptionSpec = OptionSpec {
    name: "advice",
    values: Values::Words(&["normal", "sequential", "random", "willneed"]),
    about: "posix_fadvise(2) after opening",
    can: Can::Read,
};
const BUFFER: OptionSpec = OptionSpec {
    name: "buffer_kib",
    values: Values::Number { min: 4, max: 16_384, default: 0 },
    about: "KiB that a call reads at least, where the range goes as far; what lies in the buffer needs no call",
    can: Can::Read,
};
const PLACE: OptionSpec = OptionSpec {
    name: "buffer",
    values: Values::Words(&["page", "malloc"]),
    about: "it begins at a page, or 16 bytes behind one, where glibc's malloc(3) puts 128 KiB and more",
    can: Can::Read,
};
const POPULATE: OptionSpec = OptionSpec {
    name: "populate",
    values: Values::Words(&["no", "map-populate", "populate-read", "populate-write"]),
    about: "fill the page table while opening: MAP_POPULATE, or MADV_POPULATE_READ or _WRITE (Linux 5.14)",
    can: Can::Both,
};
const SHARING: OptionSpec = OptionSpec {
    name: "sharing",
    values: Values::Words(&["shared", "private"]),
    about: "MAP_SHARED or MAP_PRIVATE",
    can: Can::Both,
};
const QUEUE_DEPTH: OptionSpec = OptionSpec {
    name: "queue_depth",
    values: Values::Number { min: 1, max: 4096, default: 32 },
    about: "blocks kept in flight; one with durability sync-each",
    can: Can::Both,
};
const IO: OptionSpec = OptionSpec {
    name: "io",
    values: Values::Words(&["buffered", "direct"]),
    about: "through the page cache, or around it with O_DIRECT",
    can: Can::Both,
};
const BUFFERS: OptionSpec = OptionSpec {
    name: "buffers",
    values: Values::Words(&["plain", "registered"]),
    about: "buffers pinned once with io_uring_register(2), or at every request",
    can: Can::Both,
};

pub(super) const SYNC: OptionSpec = OptionSpec {
    name: "sync",
    values: Values::Words(&["fdatasync", "o-dsync", "o-sync"]),
    about: "how durability is reached: by a call of its own, or by a flag of open(2)",
    can: Can::Write,
};
const WINDOW: OptionSpec = OptionSpec {
    name: "window",
    values: Values::Words(&["whole", "per-block"]),
    about: "when writing: the range is mapped once, or each block for itself and unmapped again",
    can: Can::Write,
};

/// In the order in which `faultline list methods` prints them.
const METHODS: &[MethodSpec] = &[
    MethodSpec {
        options: &[FILE_ADVICE, PLACE],
        replays_several: true,
        ..MethodSpec::reads("read", "read(2) at the file's own position; lseek(2) before it when the workload jumps")
    },
    MethodSpec {
        options: &[FILE_ADVICE, BUFFER, PLACE],
        replays_several: true,
        ..MethodSpec::reads("pread", "pread(2) at an explicit offset")
    },
    MethodSpec::reads("stdio", "fread(3) with the C library's own buffer"),
    MethodSpec {
        name: "stdio-mmap",
        about: "fread(3) of a stream opened with glibc's opt-in mode \"rm\", which maps the file",
        options: &[],
        can: Can::Read,
        direct: false,
        maps: true,
        in_place: false,
        from_start: false,
        replays_several: false,
    },
    MethodSpec {
        name: "mmap",
        about: "mmap(2), bytes consumed or stored in place",
        options: &[ADVICE, POPULATE, SHARING, WINDOW],
        can: Can::Both,
        direct: false,
        maps: true,
        in_place: true,
        from_start: false,
        replays_several: true,
    },
    MethodSpec {
        name: "direct",
        about: "pread(2), or pwrite(2), of a file opened with O_DIRECT, around the page cache",
        options: &[SYNC],
        can: Can::Both,
        direct: true,
        maps: false,
        in_place: false,
        from_start: false,
        replays_several: false,
    },
    MethodSpec {
        name: "uring",
        about: "io_uring with a full queue",
        options: &[QUEUE_DEPTH, IO, BUFFERS, SYNC],
        can: Can::Both,
        direct: false,
        maps: false,
        in_place: false,
        from_start: false,
        replays_several: false,
    },
    MethodSpec::reads(
        "dontcache",
        "preadv2(2) with RWF_DONTCACHE: through the page cache, whose pages are dropped after the read (Linux 6.14)",
    ),
    MethodSpec {
        name: "write",
        about: "write(2) at the file's own position; lseek(2) before it when the workload goes back",
        options: &[SYNC],
        can: Can::Write,
        direct: false,
        maps: false,
        in_place: false,
        from_start: false,
        replays_several: false,
    },
    MethodSpec {
        name: "pwrite",
        about: "pwrite(2) at an explicit offset",
        options: &[SYNC],
        can: Can::Write,
        direct: false,
        maps: false,
        in_place: false,
        from_start: false,
        replays_several: false,
    },
];
