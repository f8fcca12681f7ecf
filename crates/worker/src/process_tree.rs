//! The processes of a command while it runs: what memory they have, of which kind, and how many threads work at once.
//! They are looked at from outside every few milliseconds, so a peak is what was seen, and a short one may be missed.
//!
//! Not ru_maxrss: exec carries the parent's peak into it. Not smaps: reading that locks the address space of a process
//! that is being timed; the counters of /proc/PID/status do not.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    time::{Duration, Instant},
};

use rustix::{
    process::Pid,
    time::{ClockId, clock_gettime},
};
use schema::{protocol::Usage, record::Reading};
use sys::process::{Stat, number_after, pids, stat};

const FIRST_LOOK: Duration = Duration::from_millis(2);
/// Between two looks: at least this, and so many times what a look takes of a processor. The time that a look waits for one
/// on a busy machine costs the command nothing.
const PAUSE: Duration = Duration::from_millis(8);
const REST: u32 = 40;

/// The readings of `ProcessTree`.
pub(crate) const PEAKS: [&str; 3] = ["peak_memory_bytes", "peak_anonymous_bytes", "peak_file_bytes"];
pub(crate) const AT_ONCE: &str = "threads_at_once";

pub(crate) struct ProcessTree {
    head: i32,
    next: Instant,
    looks: u32,
    peak: MemoryUse,
    at_work: AtWork,
    /// A process of it has let the kernel reap its children, as far as that is seen from outside.
    disowns_children: bool,
    /// Minor faults of each process, by its number and when it began, at the last look at it.
    faults: HashMap<(i32, u64), u64>,
}

/// The two largest numbers of threads that were at work at a look. One look alone may see a shell and the program that it
/// has just started; two of them hardly do.
#[derive(Debug, Clone, Copy, Default)]
struct AtWork([u32; 2]);

impl AtWork {
    fn add(&mut self, threads: u32) {
        let [most, second] = self.0;
        self.0 = [most.max(threads), second.max(most.min(threads))];
    }

    fn at_once(self) -> u32 {
        self.0[1]
    }
}

/// Bytes of all processes together; what two of them share counts twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct MemoryUse {
    all: u64,
    anonymous: u64,
    /// Mapped pages of files, and shared memory.
    file: u64,
}

impl ProcessTree {
    pub(crate) fn of(head: Pid) -> ProcessTree {
        let next = Instant::now() + FIRST_LOOK;
        ProcessTree {
            head: head.as_raw_nonzero().get(),
            next,
            looks: 0,
            peak: MemoryUse::default(),
            at_work: AtWork::default(),
            disowns_children: false,
            faults: HashMap::new(),
        }
    }

    /// How long until the next look.
    pub(crate) fn due_in(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Looks, if it is time.
    pub(crate) fn look(&mut self) {
        if Instant::now() < self.next {
            return;
        }
        let used = processor_time();
        let mut sum = MemoryUse::default();
        let mut working = 0;
        let members = members(self.head);
        for (pid, stat) in &members {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let is_parent = || members.iter().any(|(_, it)| it.parent == *pid);
            self.disowns_children |= ignores_children(&status) && is_parent();
            if let Some(memory) = memory(&status) {
                sum.all += memory.all;
                sum.anonymous += memory.anonymous;
                sum.file += memory.file;
            }
            self.faults.insert((*pid, stat.started), stat.minor_faults);
            working += working_threads(*pid, stat);
        }
        if sum != MemoryUse::default() {
            self.looks += 1;
            let peak = &mut self.peak;
            *peak = MemoryUse {
                all: peak.all.max(sum.all),
                anonymous: peak.anonymous.max(sum.anonymous),
                file: peak.file.max(sum.file),
            };
            self.at_work.add(working);
        }
        self.next = Instant::now() + PAUSE.max(processor_time().saturating_sub(used) * REST);
    }

    /// Call it when the head has ended, before it is waited for: its status can still be read.
    pub(crate) fn head_ended(&mut self) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.head));
        self.disowns_children |= status.is_ok_and(|it| ignores_children(&it));
    }

    /// Whether what all children spent lacks some of them: what the kernel reaps by itself is added to no parent (kernel/exit.c,
    /// `wait_task_zombie`). With SA_NOCLDWAIT (sigaction(2)) that is not seen from outside, but fewer faults than were seen are.
    pub(crate) fn lacks_children(&self, spent: &Usage) -> bool {
        self.disowns_children || self.faults.values().sum::<u64>() > spent.minor_faults
    }

    pub(crate) fn readings(&self) -> BTreeMap<String, Reading<f64>> {
        let seen = |value: u64| match self.looks {
            0 => Reading::unavailable("the command exited before it could be sampled"),
            _ => Reading::Value(value as f64),
        };
        // Two looks at a program that takes turns may miss one of its threads.
        let threads = match self.looks {
            0..3 => Reading::unavailable("the command was too short to count the threads that run at once"),
            _ => Reading::Value(f64::from(self.at_work.at_once())),
        };
        let peaks = [self.peak.all, self.peak.anonymous, self.peak.file];
        let peaks = PEAKS.iter().zip(peaks).map(|(name, value)| (name.to_string(), seen(value)));
        peaks.chain([(AT_ONCE.to_string(), threads)]).collect()
    }
}

/// Of this thread.
fn processor_time() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), used.tv_nsec.unsigned_abs() as u32)
}

/// A process and all its descendants. Process ids ascend, so a child has a higher one than its parent, except after they
/// wrap around.
fn members(head: i32) -> Vec<(i32, Stat)> {
    let last = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let last: i32 = last.split_whitespace().last().and_then(|it| it.parse().ok()).unwrap_or(0);
    let begun_anew = last < head;
    let mut found: Vec<(i32, Stat)> = pids()
        .filter(|&pid| begun_anew || pid >= head)
        .filter_map(|pid| Some((pid, stat(&format!("/proc/{pid}/stat"))?)))
        .collect();
    let mut tree = vec![head];
    loop {
        let before = tree.len();
        for (pid, stat) in &found {
            if tree.contains(&stat.parent) && !tree.contains(pid) {
                tree.push(*pid);
            }
        }
        if tree.len() == before {
            found.retain(|(pid, _)| tree.contains(pid));
            return found;
        }
    }
}

fn memory(status: &str) -> Option<MemoryUse> {
    let bytes = |name: &str| number_after(status, name).map(|kib| kib * 1024);
    let (anonymous, file) = (bytes("RssAnon:")?, bytes("RssFile:")? + bytes("RssShmem:").unwrap_or(0));
    Some(MemoryUse { all: anonymous + file, anonymous, file })
}

/// Whether SIGCHLD is ignored: children then leave nothing to wait for (wait(2)).
fn ignores_children(status: &str) -> bool {
    let mask = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok()).unwrap_or(0);
    mask & 1 << (libc::SIGCHLD - 1) != 0
}

/// Threads that run, could run, or wait for a device.
fn working_threads(pid: i32, stat: &Stat) -> u32 {
    let works = |stat: &Stat| matches!(stat.state, 'R' | 'D');
    if stat.threads < 2 {
        return works(stat).into();
    }
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_threads = entries.filter_map(|it| sys::process::stat(it.path().join("stat").to_str()?));
    of_threads.filter(works).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_work_at_once_when_two_looks_saw_it() {
        let seen = |looks: &[u32]| {
            let mut at_work = AtWork::default();
            looks.iter().for_each(|&threads| at_work.add(threads));
            at_work.at_once()
        };
        assert_eq!(seen(&[2, 1, 1, 1]), 1, "a shell, and what it has just started");
        assert_eq!(seen(&[1, 4, 2, 4]), 4);
        assert_eq!(seen(&[0, 1, 0]), 0);
    }

    #[test]
    fn memory_is_told_apart_by_kind() {
        let status =
            "Name:\tx\nVmHWM:\t  99 kB\nRssAnon:\t     100 kB\nRssFile:\t      20 kB\nRssShmem:\t       4 kB\n";
        assert_eq!(memory(status), Some(MemoryUse { all: 124 << 10, anonymous: 100 << 10, file: 24 << 10 }));
        assert_eq!(memory("Name:\tkthread\n"), None);
    }

    #[test]
    fn children_are_ignored_by_the_bit_of_their_signal_and_no_other() {
        // As Python shows it, beside SIGPIPE and SIGXFSZ.
        assert!(ignores_children("State:\tZ (zombie)\nSigIgn:\t0000000001011000\n"));
        assert!(!ignores_children("SigBlk:\t0000000000010000\nSigIgn:\t0000000001001000\n"));
        assert!(!ignores_children("SigIgn:\tnonsense\n") && !ignores_children(""));
    }

    #[test]
    fn fewer_faults_than_were_seen_lack_a_child() {
        let mut tree = ProcessTree::of(rustix::process::getpid());
        tree.faults = HashMap::from([((1, 5), 100), ((2, 5), 30), ((1, 9), 7)]);
        let spent = |minor_faults| Usage {
            user_ns: 0,
            system_ns: 0,
            minor_faults,
            major_faults: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
        };
        assert!(tree.lacks_children(&spent(136)) && !tree.lacks_children(&spent(137)));
    }

    #[test]
    fn a_process_that_was_never_seen_has_no_peak_and_says_so() {
        let tree = ProcessTree::of(rustix::process::getpid());
        assert!(tree.readings().values().all(|it| it.value().is_none()));
    }

    #[test]
    fn this_very_process_is_seen_with_its_memory() {
        let mut tree = ProcessTree::of(rustix::process::getpid());
        tree.next = Instant::now();
        tree.look();
        let readings = tree.readings();
        let bytes = |name: &str| *readings[name].value().unwrap();
        assert!(bytes("peak_anonymous_bytes") > 10_000.0 && bytes("peak_file_bytes") > 10_000.0);
        assert_eq!(bytes("peak_memory_bytes"), bytes("peak_anonymous_bytes") + bytes("peak_file_bytes"));
    }
}
