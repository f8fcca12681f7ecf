//! The worker in Java. Its source is part of this executable; the machine's own `javac` compiles it once into the cache
//! folder. Starting from source each time would cost a second, and leave the compiler's threads busy during the pass.

use std::{path::Path, process::Command};

use schema::{
    Arm,
    runtime::{JVM, RuntimeSpec},
};

use super::Runtime;

mod classes;
mod jdk;

pub use jdk::{FLOOR, Jdk, all, find, prefer};

pub struct Jvm;

/// What every worker's JVM is started with. One collector thread, a heap that does not grow within a pass, no file of
/// performance data that is written meanwhile; and whatever the JVM itself has to say goes to stderr, because stdout is
/// for replies. A crash leaves its last words there too, and nothing in the folder that somebody happened to be in.
pub const FLAGS: &[&str] = &[
    "-XX:+UseSerialGC",
    "-Xms256m",
    "-Xmx1g",
    "-XX:-UsePerfData",
    "-Xshare:auto",
    "-XX:+DisplayVMOutputToStderr",
    "-Xlog:disable",
    "-Xlog:all=warning:stderr",
    // That the JDK's own archive was made without a flag of ours is nobody's last word.
    "-Xlog:cds=off:stderr",
    "-XX:ErrorFile=/dev/null",
    "-XX:-CreateCoredumpOnCrash",
];

/// For arms that are asked for safepoints: a look at the wish to stop in every turn of every counted loop. The collector that
/// workers have leaves those looks out (LoopStripMiningIter is 0 with it), so that a loop over 256 blocks was seen to hold a
/// safepoint up for all the faults in it; with others there is one in a thousand turns. One each is the least that a fault
/// can cost.
const POLLS: &[&str] = &["-XX:+UseCountedLoopSafepoints", "-XX:LoopStripMiningIter=1"];

/// From here on the JDK has the foreign-function API, which wants to be allowed by name.
const FOREIGN: u32 = 22;
/// From here on sun.misc.Unsafe does too; its `invokeCleaner` is the only way to unmap a MappedByteBuffer.
const GUARDED: u32 = 23;

impl Runtime for Jvm {
    fn spec(&self) -> &'static RuntimeSpec {
        &JVM
    }

    fn described(&self) -> Result<String, String> {
        jdk::described()
    }

    fn worker(&self, arm: &Arm) -> Result<Command, String> {
        worker_of(&find(wanted(arm))?, arm, &classes::cache()?)
    }

    fn present(&self, arm: &Arm) -> Result<(), String> {
        find(wanted(arm))?.fits()
    }

    /// It compiles while it runs, and has a heap: 10 to 20 MiB beyond what it had before it was moved to its limits.
    fn room_bytes(&self) -> u64 {
        512 << 20
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
    let mut command = java(jdk);
    if arm.word("meanwhile") == "safepoints" {
        command.args(POLLS);
    }
    if let Some(archive) = &made.archive {
        command.arg(format!("-XX:SharedArchiveFile={}", archive.display()));
    }
    command.arg("-cp").arg(made.jar).arg(classes::MAIN);
    Ok(command)
}

fn java(jdk: &Jdk) -> Command {
    let mut command = Command::new(jdk.home.join("bin/java"));
    command.args(FLAGS);
    if jdk.feature >= FOREIGN {
        command.arg("--enable-native-access=ALL-UNNAMED");
    }
    if jdk.feature >= GUARDED {
        command.arg("--sun-misc-unsafe-memory-access=allow");
    }
    command
}
