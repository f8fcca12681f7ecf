//! What the JVM worker can do: the names are those of `workers/java/faultline/Methods.java`.

use super::{Can, MethodSpec, OptionSpec, RuntimeSpec, Values, native::ADVICE};

pub const JVM: RuntimeSpec = RuntimeSpec { name: "jvm", replays: false, methods: METHODS };

const JDK: OptionSpec = OptionSpec {
    name: "jdk",
    values: Values::Number { min: 17, max: 99, default: 0 },
    about: "the version of Java that runs it; 0 is the newest that fits, or the one of --java",
    can: Can::Both,
};
const MEANWHILE: OptionSpec = OptionSpec {
    name: super::MEANWHILE,
    values: Values::Words(&["alone", "safepoints"]),
    about: "alone, or with a second thread that requests a safepoint every millisecond, to measure its delay",
    can: Can::Both,
};
pub(super) const CHARSET: OptionSpec = OptionSpec {
    name: "charset",
    values: Values::Words(&["latin1", "utf-8"]),
    about: "how bytes are decoded: ISO 8859-1, in which every byte is a character, or UTF-8",
    can: Can::Both,
};
const USE: OptionSpec = OptionSpec {
    name: "use",
    values: Values::Words(&["in-place", "get"]),
    about: "bytes consumed where they are mapped, or got into an array first, as copy and decode-lines do in any case",
    can: Can::Both,
};
const LOAD: OptionSpec = OptionSpec {
    name: "load",
    values: Values::Words(&["no", "load"]),
    about: "MappedByteBuffer.load while opening: madvise(2) WILLNEED, and a byte of each page",
    can: Can::Both,
};
const WINDOW: OptionSpec = OptionSpec {
    name: "window_mib",
    values: Values::Number { min: 1, max: 2047, default: 512 },
    about: "MiB of the file in one MappedByteBuffer, which ends at 2 GiB; a block more overlaps the next",
    can: Can::Both,
};
const POPULATE: OptionSpec = OptionSpec {
    name: "populate",
    values: Values::Words(&["no", "populate-read"]),
    about: "fill the page table while opening: MADV_POPULATE_READ (Linux 5.14)",
    can: Can::Both,
};
const SYNC: OptionSpec = OptionSpec {
    name: "sync",
    values: Values::Words(&["force", "o-dsync", "o-sync"]),
    about: "how durability is reached: FileChannel.force, or DSYNC or SYNC when opening",
    can: Can::Write,
};

const fn reads(name: &'static str, about: &'static str) -> MethodSpec {
    MethodSpec { options: &[MEANWHILE, JDK], ..MethodSpec::reads(name, about) }
}

/// In the order in which the worker's hello names them.
const METHODS: &[MethodSpec] = &[
    reads("stream", "FileInputStream.read into an array"),
    MethodSpec {
        options: &[CHARSET, MEANWHILE, JDK],
        from_start: true,
        ..reads(
            "reader-lines",
            "BufferedReader.readLine: every line decoded and made a String; for scans that count lines",
        )
    },
    reads("random-access-file", "RandomAccessFile.read into an array; seek when the workload jumps"),
    reads("channel-direct", "FileChannel.read into a direct buffer, at the channel's own position"),
    reads("channel-heap", "FileChannel.read into a heap buffer, at the channel's own position"),
    reads("channel-positional", "FileChannel.read into a direct buffer, at an explicit offset"),
    MethodSpec {
        direct: true,
        ..reads("channel-odirect", "FileChannel.read with ExtendedOpenOption.DIRECT, at an explicit offset")
    },
    MethodSpec {
        name: "mapped",
        about: "MappedByteBuffer, in windows",
        options: &[USE, LOAD, WINDOW, MEANWHILE, JDK],
        can: Can::Read,
        direct: false,
        maps: true,
        in_place: true,
        from_start: false,
        replays_several: false,
    },
    MethodSpec {
        name: "segment",
        about: "MemorySegment of a confined Arena, bytes consumed in place (JDK 22)",
        options: &[ADVICE, POPULATE, MEANWHILE, JDK],
        can: Can::Read,
        direct: false,
        maps: true,
        in_place: true,
        from_start: false,
        replays_several: false,
    },
    MethodSpec {
        name: "channel-write",
        about: "FileChannel.write from a direct buffer, at the channel's own position",
        options: &[SYNC, MEANWHILE, JDK],
        can: Can::Write,
        direct: false,
        maps: false,
        in_place: false,
        from_start: false,
        replays_several: false,
    },
    MethodSpec {
        name: "mapped-put",
        about: "MappedByteBuffer.put from a direct buffer; force where durability is requested",
        options: &[WINDOW, MEANWHILE, JDK],
        can: Can::Write,
        direct: false,
        maps: true,
        in_place: false,
        from_start: false,
        replays_several: false,
    },
];
