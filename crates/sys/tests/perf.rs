//! What is counted of a child is what the child did.

use std::{collections::BTreeMap, fs::File, io::Write, os::fd::AsRawFd};

use sys::perf::{CountedEvent, Counter, Format, Recording, Tracefs};

const TIMES: usize = 64;

/// A child that reads and touches 64 times for every byte it is sent, and answers each byte with one.
/// Its first turn brings in the pages of its own code and stack.
struct Child {
    pid: libc::pid_t,
    orders: File,
    answers: File,
}

impl Child {
    fn start() -> Child {
        use std::os::fd::{FromRawFd, OwnedFd};
        let pipe = || {
            let mut ends = [0; 2];
            // SAFETY: the array has room for two descriptors, and both are owned by nobody else.
            unsafe {
                assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
                (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
            }
        };
        let (orders, answers) = (pipe(), pipe());
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 4096]).unwrap();
        let page = sys::page_bytes() as usize;
        // SAFETY: anonymous and private; the child alone writes into it, within its bounds, by system calls and plain
        // stores that are allowed after fork(2) in a process with threads.
        unsafe {
            let bytes = 2 * TIMES * page;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let map = libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
            assert_ne!(map, libc::MAP_FAILED);
            // A huge page would be one fault for all.
            libc::madvise(map, bytes, libc::MADV_NOHUGEPAGE);
            let pid = libc::fork();
            assert!(pid >= 0);
            if pid == 0 {
                let mut byte = [0u8; 1];
                for turn in 0..2 {
                    if libc::read(orders.0.as_raw_fd(), byte.as_mut_ptr().cast(), 1) != 1 {
                        break;
                    }
                    for time in 0..TIMES {
                        libc::pread(file.as_raw_fd(), byte.as_mut_ptr().cast(), 1, time as i64);
                        map.cast::<u8>().add((turn * TIMES + time) * page).write_volatile(1);
                    }
                    libc::write(answers.1.as_raw_fd(), byte.as_ptr().cast(), 1);
                }
                libc::read(orders.0.as_raw_fd(), byte.as_mut_ptr().cast(), 1);
                libc::_exit(0);
            }
            libc::munmap(map, bytes);
            let mut child = Child { pid, orders: orders.1.into(), answers: answers.0.into() };
            child.turn();
            child
        }
    }

    fn turn(&mut self) {
        use std::io::Read;
        self.orders.write_all(&[1]).unwrap();
        self.answers.read_exact(&mut [0]).unwrap();
    }

    /// Each CPU has a ring of its own.
    fn stay_on_one_cpu(&self) {
        let pid = rustix::process::Pid::from_raw(self.pid);
        let allowed = rustix::thread::sched_getaffinity(pid).unwrap();
        let mut one = rustix::thread::CpuSet::new();
        one.set((0..rustix::thread::CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).unwrap());
        rustix::thread::sched_setaffinity(pid, &one).unwrap();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: the child of this test, which nobody else waits for.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

fn tracefs() -> Result<Tracefs, String> {
    Tracefs::mounted().or_else(|_| Tracefs::detached())
}

macro_rules! or_skip {
    ($result:expr) => {
        match $result {
            Ok(it) => it,
            Err(reason) => {
                println!("skipped: {reason}");
                return;
            }
        }
    };
}

#[test]
fn sixty_four_first_touches_are_sixty_four_faults() {
    // Its own code adds faults where the kernel has taken pages of it away.
    let mut least = u64::MAX;
    for _ in 0..3 {
        let mut child = Child::start();
        let mut faults = or_skip!(Counter::of(CountedEvent::MinorFaults, child.pid as u32));
        faults.enable().unwrap();
        child.turn();
        faults.disable().unwrap();
        least = least.min(faults.read().unwrap());
    }
    assert_eq!(least, TIMES as u64);
}

#[test]
fn sixty_four_reads_are_sixty_four_system_calls_each_with_its_number() {
    let mut child = Child::start();
    let entry = or_skip!(or_skip!(tracefs()).tracepoint("raw_syscalls", "sys_enter"));
    let mut count = or_skip!(Counter::of(CountedEvent::Tracepoint(entry.id), child.pid as u32));
    let mut recording = or_skip!(Recording::of(entry.id, child.pid as u32, 256 << 10));
    count.enable().unwrap();
    recording.enable().unwrap();
    child.turn();
    count.disable().unwrap();
    recording.disable().unwrap();

    let number = entry.format.field("id").unwrap();
    let mut calls: BTreeMap<u64, usize> = BTreeMap::new();
    recording.drain(|it| {
        assert_eq!((it.pid, it.thread), (child.pid as u32, child.pid as u32));
        *calls.entry(number.number(it.fields).unwrap()).or_default() += 1;
    });
    assert_eq!(recording.lost(), 0);
    assert_eq!(calls.get(&(libc::SYS_pread64 as u64)), Some(&TIMES));
    // The answer; and perhaps already the wait for the next order.
    let others = count.read().unwrap() - TIMES as u64;
    assert!((1..=2).contains(&others), "{others}");
}

#[test]
fn a_ring_that_is_too_small_says_how_much_it_lost() {
    let mut child = Child::start();
    let entry = or_skip!(or_skip!(tracefs()).tracepoint("raw_syscalls", "sys_enter"));
    let mut recording = or_skip!(Recording::of(entry.id, child.pid as u32, 1));
    child.stay_on_one_cpu();
    recording.enable().unwrap();
    child.turn();
    recording.disable().unwrap();
    let mut seen = 0;
    recording.drain(|_| seen += 1);
    assert!(seen < TIMES as u64, "{seen} of them fit into one page");
    // The answer; and perhaps already the wait for the next order.
    let others = seen + recording.lost() - TIMES as u64;
    assert!((1..=2).contains(&others), "{others}");
}

#[test]
fn a_process_that_is_not_there_is_an_error_and_not_oneself() {
    assert!(Counter::of(CountedEvent::MinorFaults, 0).is_err());
    assert!(Counter::of(CountedEvent::MinorFaults, u32::MAX).is_err());
}

#[test]
fn a_tracepoint_that_no_kernel_has_is_an_error_that_names_it() {
    let tracefs = or_skip!(tracefs());
    let reason = tracefs.tracepoint("no_such", "event").unwrap_err();
    assert!(reason.contains("no_such:event"), "{reason}");
    assert_eq!(Format::parse("").field("id").ok(), None);
}

#[test]
fn the_table_of_tracepoints_is_reached_without_a_mount_that_anybody_sees_or_that_could_stay() {
    let mounts = || {
        let all = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        all.lines().filter(|line| line.contains(" - tracefs ")).count()
    };
    let before = mounts();
    let tracefs = or_skip!(Tracefs::detached());
    assert!(tracefs.tracepoint("raw_syscalls", "sys_enter").is_ok());
    assert_eq!(mounts(), before, "attached nowhere, so that it ends with the process that holds it");
}
