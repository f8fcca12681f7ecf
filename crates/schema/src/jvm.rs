//! What the JVM worker can do: the names are those of `workers/java/faultline/Access.java`.

use crate::arm::{Can, MethodSpec};

const fn reads(name: &'static str, about: &'static str) -> MethodSpec {
    MethodSpec { name, about, options: &[], can: Can::Read }
}

/// In the order of the worker's greeting.
pub const METHODS: &[MethodSpec] = &[
    reads("stream", "FileInputStream.read into an array"),
    reads("random-access-file", "RandomAccessFile.readFully into an array; seek when the workload jumps"),
    reads("channel-direct", "FileChannel.read into a direct buffer, at the channel's own position"),
    reads("channel-heap", "FileChannel.read into a heap buffer, at the channel's own position"),
    reads("channel-positional", "FileChannel.read into a direct buffer, at an explicit offset"),
    reads("mapped", "MappedByteBuffer in windows of 512 MiB, bytes consumed in place"),
];
