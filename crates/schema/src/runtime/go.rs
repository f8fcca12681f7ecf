//! What the Go worker can do: the names are those of `methods` in `workers/go/access.go`.

use super::{
    Can, MethodSpec, OptionSpec, RuntimeSpec, Values,
    native::{ADVICE, SYNC},
};

pub const GO: RuntimeSpec = RuntimeSpec { name: "go", methods: METHODS, replays: false };

const PROCS: OptionSpec = OptionSpec {
    name: "procs",
    values: Values::Number { min: 1, max: 1024, default: 0 },
    about: "GOMAXPROCS: how many goroutines run at a time; 0 is as many as the machine has processors",
    can: Can::Both,
};
const MEANWHILE: OptionSpec = OptionSpec {
    name: super::MEANWHILE,
    values: Values::Words(&["alone", "stops"]),
    about: "alone, or with a second goroutine that stops all others every millisecond by runtime.ReadMemStats, to measure how long that takes",
    can: Can::Both,
};
const USE: OptionSpec = OptionSpec {
    name: "use",
    values: Values::Words(&["in-place", "copy"]),
    about: "bytes consumed where they are mapped, or copied to a slice first",
    can: Can::Read,
};
const POPULATE: OptionSpec = OptionSpec {
    name: "populate",
    values: Values::Words(&["no", "map-populate", "populate-read"]),
    about: "fill the page table while opening: MAP_POPULATE, or MADV_POPULATE_READ (Linux 5.14)",
    can: Can::Read,
};
const FAULT: OptionSpec = OptionSpec {
    name: "fault",
    values: Values::Words(&["go", "syscall"]),
    about: "pages come by page faults, or before each block by MADV_POPULATE_READ (Linux 5.14), a system call, during which other goroutines can run",
    can: Can::Read,
};

const fn reads(name: &'static str, about: &'static str) -> MethodSpec {
    MethodSpec { options: &[MEANWHILE, PROCS], ..MethodSpec::reads(name, about) }
}

/// In the order in which the worker's hello names them.
const METHODS: &[MethodSpec] = &[
    reads("read", "os.File.Read at the file's own position; Seek when the workload jumps"),
    reads("readat", "os.File.ReadAt"),
    reads("pread", "syscall.Pread at an explicit offset"),
    reads(
        "bufio",
        "io.ReadFull from a bufio.Reader of 4 KiB, which larger blocks go around; Seek when the workload jumps",
    ),
    MethodSpec {
        from_start: true,
        ..reads("scanner", "bufio.Scanner; with decode-lines every line is a string; for scans that count lines")
    },
    MethodSpec { direct: true, ..reads("direct", "syscall.Pread of a file opened with O_DIRECT") },
    MethodSpec {
        options: &[USE, ADVICE, POPULATE, FAULT, MEANWHILE, PROCS],
        maps: true,
        in_place: true,
        ..reads("mmap", "syscall.Mmap, bytes consumed in place")
    },
    MethodSpec {
        options: &[SYNC, MEANWHILE, PROCS],
        can: Can::Write,
        ..reads("pwrite", "syscall.Pwrite at an explicit offset")
    },
    MethodSpec {
        can: Can::Write,
        maps: true,
        ..reads("mmap-store", "stores to a shared mapping by copy; msync(2) where durability is requested")
    },
];
