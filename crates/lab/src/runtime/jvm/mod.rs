//! The worker in Java. Its source is part of this executable; the machine's own `javac` compiles it once into the cache
//! folder. Starting from source each time would cost a second, and leave the compiler's threads busy during the pass.

use std::{fs::File, io, os::fd::AsRawFd, path::Path, process::Command};

use rustix::fs::MemfdFlags;
use schema::{
    Arm,
    protocol::Done,
    runtime::{JVM, RuntimeSpec},
};

use super::{
    Choice, Runtime,
    compiled::{self, Kind},
};

mod classes;
mod jdk;

pub use jdk::{FLOOR, Jdk, all, find};

pub struct Jvm;

/// Flags of every worker's JVM. One collector thread, a heap that does not grow within a pass, and no file of performance
/// data written meanwhile. Messages of the JVM go to stderr, because stdout is for replies. A crash is reported there too,
/// and leaves no file in the current folder.
pub const FLAGS: &[&str] = &[
    "-XX:+UseSerialGC",
    "-Xms256m",
    "-Xmx1g",
    "-XX:-UsePerfData",
    "-Xshare:auto",
    "-XX:+DisplayVMOutputToStderr",
    "-Xlog:disable",
    "-Xlog:all=warning:stderr",
    // The JDK's own archive was made without one of these flags; that warning is not of interest.
    "-Xlog:cds=off:stderr",
    "-XX:ErrorFile=/dev/null",
    "-XX:-CreateCoredumpOnCrash",
];

/// For arms with `+safepoints`: a safepoint poll in every turn of every counted loop. The serial collector omits these polls
/// (LoopStripMiningIter is 0 with it), and a loop over 256 blocks was seen to delay a safepoint for all the faults in it;
/// other collectors poll once in a thousand turns. With one poll per turn a delay is that of one fault.
const POLLS: &[&str] = &["-XX:+UseCountedLoopSafepoints", "-XX:LoopStripMiningIter=1"];

/// From this version on the JDK has the foreign-function API, which a flag must enable.
const FOREIGN: u32 = 22;
/// From this version on sun.misc.Unsafe needs a flag too; its `invokeCleaner` is the only way to unmap a MappedByteBuffer.
const GUARDED: u32 = 23;

impl Runtime for Jvm {
    fn spec(&self) -> &'static RuntimeSpec {
        &JVM
    }

    fn described(&self) -> Result<String, String> {
        jdk::described()
    }

    fn choice(&self) -> Option<&'static Choice> {
        Some(&jdk::CHOICE)
    }

    fn worker(&self, arm: &Arm) -> Result<Command, String> {
        worker_of(&find(wanted(arm))?, arm, &compiled::cache()?)
    }

    fn present(&self, arm: &Arm) -> Result<(), String> {
        find(wanted(arm))?.fits()
    }

    fn compiled(&self) -> Option<&'static Kind> {
        Some(&classes::KIND)
    }

    /// Each thread of a pass counts its own, and no others are added.
    fn switches_are_waits(&self, _: &Done) -> Result<(), &'static str> {
        Ok(())
    }

    /// Its loop is compiled before the pass.
    fn around_pass_s(&self) -> f64 {
        0.5
    }

    /// Each thread opens, looks at, reads and closes two files of /proc, before and after; the line with `go` has four calls beside
    /// its read, and `done` is one. Each that reads into a heap buffer reads zeros once before the pass. What a JVM does at safepoints
    /// comes on top.
    fn own_calls(&self, method: &str, threads: u32) -> u64 {
        (16 + u64::from(method == "channel-heap")) * u64::from(threads) + 5
    }
}

/// The version that an arm names.
fn wanted(arm: &Arm) -> Option<u32> {
    arm.number("jdk").filter(|&version| version > 0)
}

/// A command for an arm on one certain JDK, with its classes in `cache`.
///
/// # Errors
/// Why this JDK will not do, or why its classes cannot be made.
pub fn worker_of(jdk: &Jdk, arm: &Arm, cache: &Path) -> Result<Command, String> {
    jdk.fits()?;
    let made = classes::of(jdk, cache)?;
    let mut command = java(jdk).map_err(|error| format!("no file for the warm-up of a JVM can be made: {error}"))?;
    if arm.word("meanwhile") == "safepoints" {
        command.args(POLLS);
    }
    if let Some(archive) = &made.archive {
        command.arg(format!("-XX:SharedArchiveFile={}", archive.display()));
    }
    command.arg("-cp").arg(made.jar).arg(classes::MAIN);
    Ok(command)
}

fn java(jdk: &Jdk) -> io::Result<Command> {
    let mut command = Command::new(jdk.home.join("bin/java"));
    command.args(FLAGS);
    for used_as in ["warm-up", "safepoints"] {
        let file = unnamed()?;
        // With the identity of the file: under this number a JVM that did not get it has a file of its own, or of the JDK.
        let (device, inode) = sys::folder::identity(&file)?;
        command.arg(format!("-Dfaultline.{used_as}={}:{device}:{inode}", file.as_raw_fd()));
        sys::process::give(&mut command, file.into());
    }
    if jdk.feature >= FOREIGN {
        command.arg("--enable-native-access=ALL-UNNAMED");
    }
    if jdk.feature >= GUARDED {
        command.arg("--sun-misc-unsafe-memory-access=allow");
    }
    Ok(command)
}

/// A file that never has a name, so that nothing is left however the worker ends. Java itself can only make files with one.
fn unnamed() -> io::Result<File> {
    // The folder may be read-only, or on a file system without O_TMPFILE.
    let in_memory = |_| Ok(rustix::fs::memfd_create("faultline", MemfdFlags::CLOEXEC)?.into());
    sys::folder::unnamed(&std::env::temp_dir()).or_else(in_memory)
}
