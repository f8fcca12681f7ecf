//! What is possible with a target, checked before anything is measured. A run and its dry run make the same checks.

use std::sync::atomic::AtomicBool;

use schema::{Arm, Bytes, Condition, Fill, Skip, Span, State, Workload, protocol::Job};

use crate::{
    cgroups::Cgroups,
    link::{Link, Trouble},
    runtime,
    state::{self, fill, writing},
    target::Target,
};

/// Whether the state, the limits and the workload of a condition can be had of this target.
///
/// # Errors
/// Why not, and what would help.
pub fn condition(condition: &Condition, target: &Target, cgroups: &Cgroups) -> Result<(), String> {
    state::possible(condition.state, target)?;
    condition.fill().map_or(Ok(()), fill::folio_of)?;
    // A file that passes write to is written that way itself.
    let copied = |it: &Fill| it.copied_by().is_some() && condition.workload.writes();
    condition.fill().filter(|it| !copied(it)).map_or(Ok(()), |it| fill::possible(it, target, condition.range.end()))?;
    writing::possible(condition, target)?;
    several_files(condition, target)?;
    beyond_memory(condition)?;
    lockable(condition, lockable_bytes())?;
    cgroups.possible(condition, target)
}

/// Whether what a condition begins with fits into memory: a fill of more would push out what it read first, and all else.
///
/// # Errors
/// Both numbers, and what would help.
pub fn fits(condition: &Condition, target: &Target, memory_bytes: u64) -> Result<(), String> {
    // Its pages are in memory already, or how much there is is not known.
    if target.file_system.is_memory() || condition.fill() == Some(Fill::Found) || memory_bytes == 0 {
        return Ok(());
    }
    if let Some(limit) = condition.memory_bytes.filter(|it| *it > memory_bytes) {
        return Err(format!(
            "state {} is a limit of {} of memory, and {} are available: it would never be reached; try a smaller file, or less \
             `memory` in the experiment",
            condition.state,
            Bytes(limit),
            Bytes(memory_bytes)
        ));
    }
    let bytes = if target.named.is_some() { target.all_bytes() } else { condition.range.bytes };
    match condition.fill().is_some() && bytes > memory_bytes {
        true => Err(format!(
            "state {} needs {} in the page cache, and {} of memory are available; try another state",
            condition.state,
            Bytes(bytes),
            Bytes(memory_bytes)
        )),
        false => Ok(()),
    }
}

/// Whether the files of a replay over several can be had, and the state with each of them opened and closed in every pass.
///
/// # Errors
/// Why not.
fn several_files(condition: &Condition, target: &Target) -> Result<(), String> {
    if !condition.trace.as_ref().is_some_and(|it| it.is_of_several()) {
        return Ok(());
    }
    match condition.state {
        State::Cold | State::Cached | State::AsIs | State::AsFound if target.named.is_some() => Ok(()),
        State::Cold | State::Cached | State::AsIs | State::AsFound => {
            Err("the trace is of several files, and one is measured".into())
        }
        state => Err(format!(
            "a replay of several files opens and closes them in each pass, so state {state} cannot be held; try cold or cached"
        )),
    }
}

/// Whether a pass in state `limited` reads more than the limit leaves in memory, as far as the experiment says how much that
/// is. The passes before the timed one have read the same blocks.
///
/// # Errors
/// It reads less.
fn beyond_memory(condition: &Condition) -> Result<(), String> {
    let Some(memory_bytes) = condition.memory_bytes.filter(|_| condition.workload == Workload::Scan) else {
        return Ok(());
    };
    let bytes = condition.ops.saturating_mul(condition.block_bytes);
    match bytes > 0 && bytes <= memory_bytes {
        true => Err(format!(
            "the first {} of the range are read, and {} of it fit into the limit; read more of it, or lower `memory`",
            Bytes(bytes),
            Bytes(memory_bytes)
        )),
        false => Ok(()),
    }
}

/// Whether the range of a condition may be locked: every pass of it would fail.
///
/// # Errors
/// Both numbers, and what would help.
fn lockable(condition: &Condition, most: Option<u64>) -> Result<(), String> {
    match most.filter(|it| condition.state == State::Locked && *it < condition.range.bytes) {
        Some(bytes) => Err(format!(
            "the range has {}, and this user may lock {} (RLIMIT_MEMLOCK); raise that with `ulimit -l`, or measure a smaller file",
            Bytes(condition.range.bytes),
            Bytes(bytes)
        )),
        None => Ok(()),
    }
}

/// How much memory this process and its children may lock (mlock(2)); nothing where that is without limit.
pub(crate) fn lockable_bytes() -> Option<u64> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    limit.filter(|_| !sys::process::may_lock_without_limit())
}

/// Whether an arm of any runtime can do what its name says with files of this file system. Since Linux 6.6 tmpfs accepts
/// O_DIRECT and ignores it (mm/shmem.c, `shmem_file_open`): its files have no other place than the page cache.
///
/// # Errors
/// Why not.
pub fn on_this_file_system(arm: &Arm, target: &Target) -> Result<(), String> {
    match arm.is_direct() && target.file_system.is_memory() {
        true => Err(format!(
            "O_DIRECT is not possible here: files on {} exist only in the page cache",
            target.file_system.kind
        )),
        false => Ok(()),
    }
}

/// Whether a worker can make ready to read a block for each thread as this condition says, and to have a choice of blocks; no pass is
/// made.
///
/// # Errors
/// What the machine or the file system lacks, or the arm.
pub fn arm(arm: &Arm, target: &Target, condition: &Condition, interrupted: &AtomicBool) -> Result<(), Skip> {
    on_this_file_system(arm, target).map_err(Skip::Unavailable)?;
    let Condition { consume, aligned, descriptor, .. } = *condition;
    let block_bytes = target.bytes.min(condition.block_bytes).max(1);
    let threads = u64::from(condition.threads).clamp(1, (target.bytes / block_bytes).max(1));
    // A replay needs its trace.
    let workload = if condition.workload.has_blocks() { condition.workload } else { Workload::Scan };
    let span = Span { offset: 0, bytes: (block_bytes * threads.max(2)).min(target.bytes) };
    let asked = Job {
        workload,
        consume,
        aligned,
        descriptor,
        block_bytes,
        threads: threads as u32,
        ops: threads,
        ..Job::new(arm, &target.path, span)
    };
    job(arm, &asked, interrupted)
}

/// Whether a worker can make ready for this job; no pass is made.
///
/// # Errors
/// What it refuses, and why.
pub(crate) fn job(arm: &Arm, job: &Job, interrupted: &AtomicBool) -> Result<(), Skip> {
    let worker = runtime::worker(arm).map_err(Skip::Unavailable)?;
    let asked = Link::start(worker, interrupted).and_then(|(mut link, _)| {
        link.prepare(&Job { untimed: true, ..job.clone() })?;
        link.bye()
    });
    match asked {
        Ok(()) => Ok(()),
        Err(Trouble::Unavailable(reason)) => Err(Skip::Unavailable(reason)),
        Err(Trouble::Failed(reason)) => Err(Skip::Failed(reason)),
        Err(Trouble::Interrupted) => Err(Skip::Failed("interrupted".into())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_range_that_is_larger_than_what_may_be_locked_is_not_measured_locked() {
        let of = |state: State, bytes: u64| Condition { state, ..Condition::plain(bytes) };
        let most = Some(8 << 20);
        assert!(lockable(&of(State::Locked, 8 << 20), most).is_ok());
        assert!(lockable(&of(State::Locked, 40 << 20), most).is_err());
        assert!(lockable(&of(State::Locked, 40 << 20), None).is_ok());
        assert!(lockable(&of(State::Mapped, 40 << 20), most).is_ok());
    }

    #[test]
    fn what_is_larger_than_memory_is_not_brought_into_the_page_cache() {
        let target = Target::unnamed(Path::new(env!("CARGO_MANIFEST_DIR")), 4096).unwrap();
        if target.file_system.is_memory() {
            return println!("skipped: the repository is in memory");
        }
        let of = |state: State| Condition { state, ..Condition::plain(4 << 30) };
        for state in [State::Cached, State::Mapped, State::Locked] {
            assert!(
                fits(&of(state), &target, 4 << 30).is_ok() && fits(&of(state), &target, 3 << 30).is_err(),
                "{state}"
            );
        }
        for state in [State::Cold, State::Limited, State::AsIs] {
            assert!(fits(&of(state), &target, 1 << 30).is_ok(), "{state}");
        }
        let limited = Condition { memory_bytes: Some(2 << 30), ..of(State::Limited) };
        assert!(fits(&limited, &target, 2 << 30).is_ok());
        assert!(fits(&limited, &target, 1 << 30).unwrap_err().contains("never be reached"));
        let found = Condition { fill: Some(Fill::Found), ..of(State::Cached) };
        assert!(fits(&found, &target, 1 << 30).is_ok() && fits(&of(State::Cached), &target, 0).is_ok());
        if let Ok(in_memory) = Target::unnamed(Path::new("/dev/shm"), 4096) {
            assert!(!in_memory.file_system.is_memory() || fits(&of(State::Cached), &in_memory, 1 << 30).is_ok());
        }
        let part = Condition { range: Span { offset: 3 << 30, bytes: 1 << 30 }, ..of(State::Cached) };
        assert!(fits(&part, &target, 1 << 30).is_ok());
    }

    #[test]
    fn a_scan_of_less_than_stays_in_memory_is_no_condition_of_state_limited() {
        let scan = Condition {
            state: State::Limited,
            block_bytes: 64 << 10,
            memory_bytes: Some(16 << 20),
            ..Condition::plain(32 << 20)
        };
        let with = |ops: u64, workload: Workload| beyond_memory(&Condition { ops, workload, ..scan.clone() }).is_ok();
        assert!(!with(100, Workload::Scan) && !with(256, Workload::Scan) && with(257, Workload::Scan));
        // Not known yet, or drawn from all of the range.
        assert!(with(0, Workload::Scan) && with(100, Workload::Random));
        assert!(beyond_memory(&Condition { memory_bytes: None, ops: 1, ..scan.clone() }).is_ok());
    }

    #[test]
    fn no_arm_of_any_runtime_goes_around_the_page_cache_where_files_exist_in_it_alone() {
        let direct = ["direct", "uring+direct", "jvm/channel-odirect"];
        for (folder, in_memory) in [(Path::new("/dev/shm"), true), (Path::new(env!("CARGO_MANIFEST_DIR")), false)] {
            let target = match Target::unnamed(folder, 4096) {
                Ok(target) if target.file_system.is_memory() == in_memory => target,
                Ok(target) => {
                    println!("skipped: {} is on {}", folder.display(), target.file_system.kind);
                    continue;
                }
                Err(error) => {
                    println!("skipped: no file can be made in {}: {error}", folder.display());
                    continue;
                }
            };
            for (arms, refused) in [(&direct[..], in_memory), (&["pread", "mmap", "uring", "jvm/mapped"], false)] {
                for arm in arms {
                    let arm: Arm = arm.parse().unwrap();
                    assert_eq!(on_this_file_system(&arm, &target).is_err(), refused, "{arm}");
                }
            }
        }
    }
}
