//! Other processes, through /proc; and how a child is tied to its parent.

use std::{
    fs,
    io::{self, Write},
    os::{fd::FromRawFd, unix::process::CommandExt},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

/// Cumulative counters of /proc/PID/io (proc_pid_io(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Io {
    /// Bytes that read calls returned, from wherever.
    pub read_call_bytes: u64,
    /// read(2), pread(2), preadv2(2), …; not io_uring and not page faults.
    pub read_calls: u64,
    /// write(2), pwrite(2), …; not io_uring and not stores to a mapping.
    pub write_calls: u64,
    /// Bytes whose read from a block device this process caused, read-ahead included.
    pub device_read_bytes: u64,
    pub device_write_bytes: u64,
}

/// # Errors
/// The process is gone, or belongs to another user.
pub fn io(pid: u32) -> io::Result<Io> {
    parse_io(&fs::read_to_string(format!("/proc/{pid}/io"))?)
}

/// Of the calling thread.
///
/// # Errors
/// This kernel does not count it.
pub(crate) fn io_of_thread() -> io::Result<Io> {
    parse_io(&fs::read_to_string("/proc/thread-self/io")?)
}

pub(crate) fn parse_io(text: &str) -> io::Result<Io> {
    let field = |name: &str| number_after(text, name).ok_or_else(|| io::Error::other(format!("no {name} in io")));
    Ok(Io {
        read_call_bytes: field("rchar:")?,
        read_calls: field("syscr:")?,
        write_calls: field("syscw:")?,
        device_read_bytes: field("read_bytes:")?,
        device_write_bytes: field("write_bytes:")?,
    })
}

/// Of all children of this process that have ended and were waited for, and of theirs: the kernel adds those to the
/// process as a whole (kernel/exit.c, `wait_task_zombie`), and to none of its threads.
///
/// # Errors
/// This process cannot look at itself, or has more threads than the calling one.
pub fn io_of_children() -> io::Result<Io> {
    if fs::read_dir("/proc/self/task")?.count() > 1 {
        return Err(io::Error::other(
            "the reads of this process's threads and those of its children cannot be separated",
        ));
    }
    let own = io_of_thread()?;
    let all = parse_io(&fs::read_to_string("/proc/self/io")?)?;
    // The one reading is itself counted by the other.
    Ok(all.since(&own))
}

impl Io {
    /// The difference since `before`.
    pub fn since(&self, before: &Io) -> Io {
        Io {
            read_call_bytes: self.read_call_bytes.saturating_sub(before.read_call_bytes),
            read_calls: self.read_calls.saturating_sub(before.read_calls),
            write_calls: self.write_calls.saturating_sub(before.write_calls),
            device_read_bytes: self.device_read_bytes.saturating_sub(before.device_read_bytes),
            device_write_bytes: self.device_write_bytes.saturating_sub(before.device_write_bytes),
        }
    }
}

/// Peak resident memory, from VmHWM. Not ru_maxrss: through exec that carries the parent's peak into the child.
///
/// # Errors
/// The process is gone.
pub fn peak_memory_bytes(pid: u32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    number_after(&text, "VmHWM:").map(|kib| kib * 1024).ok_or_else(|| io::Error::other("no VmHWM in status"))
}

/// Lets the peak begin anew, at what is resident now (proc(5), clear_refs, 5).
///
/// # Errors
/// The process is gone, or this kernel has no such file.
pub fn reset_peak_memory(pid: u32) -> io::Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5")
}

/// The number behind the name that a line begins with, in texts such as /proc/PID/status and /proc/meminfo.
pub fn number_after(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// What a process has mapped of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mapped {
    pub mappings: u32,
    /// In the page table, all mappings together.
    pub resident_bytes: u64,
    pub locked_bytes: u64,
}

/// A file, to be found among the mappings of processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedFile {
    device: [u32; 2],
    inode: u64,
    /// As the kernel writes it: a line feed is `\012`, and nothing else is escaped (fs/proc/task_mmu.c, `show_map_vma`).
    name: String,
}

impl MappedFile {
    /// Of a file with an absolute path; `device` as stat(2) has it.
    pub fn new(device: u64, inode: u64, path: &str) -> MappedFile {
        let device = [rustix::fs::major(device), rustix::fs::minor(device)];
        MappedFile { device, inode, name: path.replace('\n', "\\012") }
    }

    pub fn of(metadata: &fs::Metadata, path: &str) -> MappedFile {
        use std::os::unix::fs::MetadataExt;
        MappedFile::new(metadata.dev(), metadata.ino(), path)
    }

    /// Device and inode decide. Where the mapping has another device it may still be the file: mappings show the device of
    /// the file system, stat(2) that of the subvolume (btrfs); and on overlayfs a mapping is of the file below, whose
    /// inode is another one. Then the name decides.
    fn is_of(&self, mapping: &ProcessMapping) -> bool {
        match mapping.device == self.device {
            true => mapping.inode == self.inode,
            false => mapping.name == self.name,
        }
    }

    /// Whether its name is that of this file for a process, too: in another mount namespace another one may have it.
    fn is_seen_by(&self, pid: u32) -> bool {
        let path = format!("/proc/{pid}/root{}", self.name.replace("\\012", "\n"));
        fs::metadata(path).is_ok_and(|it| {
            let seen = MappedFile::of(&it, &self.name);
            (seen.device, seen.inode) == (self.device, self.inode)
        })
    }
}

/// Sums a process's mappings of a file, from /proc/PID/smaps.
///
/// # Errors
/// The process is gone, or belongs to another user.
pub fn mapped(pid: u32, file: &MappedFile) -> io::Result<Mapped> {
    Ok(parse_smaps(&read_lossy(format!("/proc/{pid}/smaps"))?, file))
}

/// Names of other files need not be UTF-8.
pub(crate) fn read_lossy(path: impl AsRef<std::path::Path>) -> io::Result<String> {
    Ok(lossy(fs::read(path)?))
}

/// Not copied where it is text: the smaps of a process with many mappings are tens of megabytes.
pub(crate) fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|it| String::from_utf8_lossy(it.as_bytes()).into_owned())
}

pub(crate) fn parse_smaps(text: &str, file: &MappedFile) -> Mapped {
    parse_mappings(text).iter().filter(|it| file.is_of(it)).fold(Mapped::default(), |sum, it| Mapped {
        mappings: sum.mappings + 1,
        resident_bytes: sum.resident_bytes.saturating_add(it.resident_bytes),
        locked_bytes: sum.locked_bytes.saturating_add(it.locked_bytes),
    })
}

/// One mapping of a process (proc_pid_smaps(5)). Bytes are of this mapping alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessMapping {
    /// Addresses: `7f0000000000-7f0000100000`.
    pub addresses: String,
    pub bytes: u64,
    /// `r--s`: read, write, execute, shared or private.
    pub permissions: String,
    pub offset: u64,
    /// Major and minor number.
    pub device: [u32; 2],
    pub inode: u64,
    /// A path, `[heap]`, or nothing for anonymous memory.
    pub name: String,
    /// In the page table.
    pub resident_bytes: u64,
    pub dirty_bytes: u64,
    /// Memory of the process's own: in a private mapping of a file, the pages that were written and so copied.
    pub anonymous_bytes: u64,
    pub locked_bytes: u64,
    /// Mapped by huge page-table entries: anonymous, shared-memory and file pages.
    pub huge_bytes: u64,
    /// Of those, pages of a file in the page cache that is not memory alone (FilePmdMapped).
    pub file_huge_bytes: u64,
    pub swapped_bytes: u64,
    /// Pages whose entry is marked as accessed. On x86 those too that the kernel mapped around a fault and that were not touched
    /// (`arch_wants_old_prefaulted_pte`).
    pub referenced_bytes: u64,
    /// Of two letters each, as proc(5) lists them; `None` of a kernel that shows none.
    pub flags: Option<Vec<String>>,
}

/// Everything a process has mapped, in the order of its addresses, from /proc/PID/smaps.
///
/// # Errors
/// The process is gone, or belongs to another user.
pub fn mappings(pid: u32) -> io::Result<Vec<ProcessMapping>> {
    Ok(parse_mappings(&read_lossy(format!("/proc/{pid}/smaps"))?))
}

/// A header reads `start-end perms offset dev inode path`; the fields below it read `Name:  123 kB`.
pub(crate) fn parse_mappings(text: &str) -> Vec<ProcessMapping> {
    let mut mappings: Vec<ProcessMapping> = Vec::new();
    // Not `lines`: a name may end with a carriage return.
    for line in text.split('\n') {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if let Some(field) = first.strip_suffix(':') {
            let Some(last) = mappings.last_mut() else { continue };
            let bytes = words.next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0).saturating_mul(1024);
            match field {
                "Size" => last.bytes = bytes,
                "Rss" => last.resident_bytes = bytes,
                "Shared_Dirty" | "Private_Dirty" => last.dirty_bytes = last.dirty_bytes.saturating_add(bytes),
                "Anonymous" => last.anonymous_bytes = bytes,
                "Referenced" => last.referenced_bytes = bytes,
                "VmFlags" => {
                    let flags: Vec<String> = line.split_whitespace().skip(1).map(str::to_string).collect();
                    // Not "Locked": that is the share of a page which several mappings have, cut to whole KiB
                    // (fs/proc/task_mmu.c, `pss_locked`).
                    if flags.iter().any(|it| it == "lo") {
                        last.locked_bytes = last.resident_bytes;
                    }
                    last.flags = Some(flags);
                }
                "AnonHugePages" | "ShmemPmdMapped" => last.huge_bytes = last.huge_bytes.saturating_add(bytes),
                "FilePmdMapped" => {
                    last.file_huge_bytes = bytes;
                    last.huge_bytes = last.huge_bytes.saturating_add(bytes);
                }
                // Pages of hugetlb (hugetlbfs, or MAP_HUGETLB); Rss does not contain them (proc_pid_smaps(5)).
                "Shared_Hugetlb" | "Private_Hugetlb" => {
                    last.resident_bytes = last.resident_bytes.saturating_add(bytes);
                    last.huge_bytes = last.huge_bytes.saturating_add(bytes);
                }
                "Swap" => last.swapped_bytes = bytes,
                _ => {}
            }
        } else if first.contains('-') {
            let mut fields = line.splitn(6, ' ').skip(1);
            let permissions = fields.next().unwrap_or_default().to_string();
            let hexadecimal = |it: &str| u64::from_str_radix(it, 16).ok();
            let offset = fields.next().and_then(hexadecimal).unwrap_or(0);
            let number = |it: &str| u32::from_str_radix(it, 16).ok();
            let device = fields.next().and_then(|it| it.split_once(':'));
            let device = device.and_then(|(major, minor)| Some([number(major)?, number(minor)?])).unwrap_or_default();
            let inode = fields.next().and_then(|it| it.parse().ok()).unwrap_or(0);
            // The path may have blanks in it; only those that align it are not its own.
            let name = fields.next().unwrap_or_default().trim_start_matches(' ').to_string();
            let addresses = first.into();
            mappings.push(ProcessMapping {
                addresses,
                permissions,
                offset,
                device,
                inode,
                name,
                ..ProcessMapping::default()
            });
        }
    }
    mappings
}

/// Processes that have a file mapped, as far as this user may look: `pid (name)`.
pub fn mappers(file: &MappedFile) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let maps = read_lossy(format!("/proc/{pid}/maps")).unwrap_or_default();
        parse_mappings(&maps).iter().any(|it| file.is_of(it) && (it.device == file.device || file.is_seen_by(*pid)))
    })
    .map(|pid| format!("{pid} ({})", fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim()))
    .collect()
}

/// What /proc/PID/stat, or that of a thread, says (proc_pid_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// `R` runs or could, `D` waits for a device, `Z` has ended, …
    pub state: char,
    pub parent: i32,
    /// It is a part of the kernel and has no memory of its own (PF_KTHREAD in include/linux/sched.h).
    pub is_kernels: bool,
    /// It has no memory and no open file any more, or is about to let go of them (PF_EXITING in include/linux/sched.h).
    pub is_ending: bool,
    /// Without its children's.
    pub minor_faults: u64,
    /// Those that waited for a device.
    pub major_faults: u64,
    /// Of both kinds, of children that ended and were waited for: what they read is in its `io` since then.
    pub children_faults: u64,
    pub threads: u32,
    /// In ticks since boot: with its number this is the process, or the thread, and no later one of that number.
    pub started: u64,
}

/// `None` when it is gone or cannot be parsed.
pub fn stat(path: &str) -> Option<Stat> {
    parse_stat(&fs::read_to_string(path).ok()?)
}

/// The name, in brackets, may hold anything.
pub(crate) fn parse_stat(text: &str) -> Option<Stat> {
    const PF_KTHREAD: u64 = 0x0020_0000;
    const PF_EXITING: u64 = 0x4;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        is_kernels: number(6)? & PF_KTHREAD != 0,
        is_ending: number(6)? & PF_EXITING != 0,
        minor_faults: number(7)?,
        major_faults: number(9)?,
        children_faults: number(8)?.saturating_add(number(10)?),
        threads: fields.get(17)?.parse().ok()?,
        started: number(19)?,
    })
}

/// Of all processes, as far as they may be seen.
pub fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// From here on, processes below this one whose parent ends become its children instead of init's.
///
/// # Errors
/// What prctl(2) said.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Waits so long for all children to end by themselves, then ends the others and whatever comes of them; their names. One
/// that cannot be ended (of another user, or in the middle of a request to a device) is left, and named. For a process that
/// waits for no child of its own any more.
pub fn end_children(grace: Duration) -> Vec<String> {
    use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};
    let me = getpid().as_raw_nonzero().get();
    let (mut ended, mut abandoned) = (Vec::new(), Vec::new());
    let deadline = Instant::now() + grace;
    loop {
        while let Ok(Some(_)) = waitpid(None, WaitOptions::NOHANG) {}
        let mine = |pid: &i32| stat(&format!("/proc/{pid}/stat")).is_some_and(|it| it.parent == me);
        let child = pids().find(|pid| !abandoned.contains(pid) && mine(pid));
        let Some((child, pid)) = child.and_then(|it| Some((it, Pid::from_raw(it)?))) else { return ended };
        if Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        let name = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default().trim().to_string();
        let killed = kill_process(pid, Signal::KILL);
        let gone = || !matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None));
        match killed.is_ok() && within(KILLED, gone) {
            true => ended.push(name),
            false => {
                let why = killed.map_or_else(|error| error.to_string(), |()| why_alive(child as u32));
                ended.push(format!("{name}, process {child}, which was abandoned: {why}"));
                abandoned.push(child);
            }
        }
    }
}

/// Another descriptor of what this process has open under a number, at the same position.
///
/// # Errors
/// Nothing is open under it.
pub fn duplicate(descriptor: i32) -> io::Result<fs::File> {
    // SAFETY: no memory is touched, and the result is a descriptor of its own.
    match unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: it was made just now, and nothing else has it.
        own => Ok(unsafe { fs::File::from_raw_fd(own) }),
    }
}

/// Whether no limit holds for locked memory: with CAP_IPC_LOCK, which root of a container may lack and another user may have. The
/// kernel asks for that of its first user namespace (mm/mlock.c, `can_do_mlock`).
pub fn may_lock_without_limit() -> bool {
    let [status, users] =
        ["/proc/self/status", "/proc/self/uid_map"].map(|it| fs::read_to_string(it).unwrap_or_default());
    has_capability(&status, CAP_IPC_LOCK) && is_first_namespace(&users)
}

/// include/uapi/linux/capability.h
const CAP_IPC_LOCK: u32 = 14;

/// In the effective set (proc_pid_status(5)).
fn has_capability(status: &str, which: u32) -> bool {
    let effective = status.lines().find_map(|it| it.strip_prefix("CapEff:"));
    effective.and_then(|it| u64::from_str_radix(it.trim(), 16).ok()).is_some_and(|it| it >> which & 1 == 1)
}

/// All users, each as itself (user_namespaces(7)).
fn is_first_namespace(map: &str) -> bool {
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// What SIGKILL may take. A process that waits for a device does not end before the device answers.
pub const KILLED: Duration = Duration::from_secs(2);

/// Polls until the condition holds or the time is over.
pub fn within(limit: Duration, mut answer: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_micros(100);
    loop {
        if answer() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

/// Runs a program with empty input, and kills it at the time limit.
///
/// # Errors
/// It cannot be started, or did not end in time (`ErrorKind::TimedOut`).
pub fn output_within(command: Command, limit: Duration) -> io::Result<Output> {
    output_of(command, Stdio::null(), limit)
}

/// The same with other input.
///
/// # Errors
/// As above.
pub fn output_of(mut command: Command, input: Stdio, limit: Duration) -> io::Result<Output> {
    tie_to_parent(&mut command);
    collected(command, input, limit)
}

/// The same of a command that leads a process group: at the time limit, all of it is killed.
pub(crate) fn collected(mut command: Command, input: Stdio, limit: Duration) -> io::Result<Output> {
    let mut child = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let collect = |stream: Option<Box<dyn io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stream.map(|mut it| it.read_to_end(&mut bytes));
            bytes
        })
    };
    let stdout = collect(child.stdout.take().map(|it| Box::new(it) as _));
    let stderr = collect(child.stderr.take().map(|it| Box::new(it) as _));
    if !within(limit, || !matches!(child.try_wait(), Ok(None))) {
        // With what it has started: a compiler starts others.
        let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
        group.map(|it| rustix::process::kill_process_group(it, rustix::process::Signal::KILL));
        let _ = child.kill();
        within(KILLED, || !matches!(child.try_wait(), Ok(None)));
        let what = format!("it did not exit within {} s and was killed", limit.as_secs_f64());
        return Err(io::Error::new(io::ErrorKind::TimedOut, what));
    }
    let status = child.wait()?;
    Ok(Output { status, stdout: stdout.join().unwrap_or_default(), stderr: stderr.join().unwrap_or_default() })
}

/// What a process that was killed is still there for.
pub fn why_alive(pid: u32) -> String {
    match stat(&format!("/proc/{pid}/stat")).map(|it| it.state) {
        Some('D') => "it waits for a disk".to_string(),
        Some(state) => format!("it is in state {state}"),
        None => "it cannot be seen".to_string(),
    }
}

/// Sends SIGKILL to every child without waiting for any; the thread that traces them waits.
pub fn kill_children() {
    use rustix::process::{Pid, Signal, getpid, kill_process};
    let me = getpid().as_raw_nonzero().get();
    let children = pids().filter(|pid| stat(&format!("/proc/{pid}/stat")).is_some_and(|it| it.parent == me));
    for pid in children.filter_map(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Makes a child die with its parent, also when the parent is killed, and keeps a terminal's Ctrl-C from reaching it:
/// the parent decides when a worker ends. Call from the thread that spawns (prctl(2), PR_SET_PDEATHSIG).
pub fn tie_to_parent(command: &mut Command) {
    command.process_group(0);
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only two system calls are made, both async-signal-safe; nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            // The parent may have died before the request was in force.
            if rustix::process::getppid() != Some(parent) {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        });
    }
}

/// As `tie_to_parent`, in a session of its own: it has no terminal to ask, and whatever it starts can be ended with it.
pub fn tie_in_own_session(command: &mut Command) {
    let parent = rustix::process::getpid();
    // SAFETY: as in `tie_to_parent`.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            if rustix::process::getppid() != Some(parent) {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        });
    }
}

/// Lets a child have an open file, under the number that it has here: `/proc/self/fd/N` is its path there. Other children do
/// not get it.
pub fn give(command: &mut Command, file: std::os::fd::OwnedFd) {
    // SAFETY: between fork and exec one system call is made; nothing is allocated.
    unsafe {
        command.pre_exec(move || Ok(rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?));
    }
}

/// Takes the calling thread out of the process's table of file descriptors: it has one of its own then, with the first three
/// alone. As long as a table has one user, the kernel need not count who uses a file during a call (`fdget` in fs/file.c), so a
/// thread that needs no file costs the others nothing. Returns whether it was done: not before Linux 5.9, nor where it is not
/// allowed.
pub fn leave_descriptors() -> bool {
    const UNSHARE: libc::c_uint = 1 << 1;
    // SAFETY: closes descriptors in a table that no other thread uses, and where there is no such table, none.
    unsafe { libc::syscall(libc::SYS_close_range, 3 as libc::c_uint, libc::c_uint::MAX, UNSHARE) == 0 }
}

/// Has a panic end this process with its message, also one of a thread that others wait for.
///
/// The hook of the standard library holds a lock while it makes a backtrace, and the message about memory that could not be had
/// takes the same lock: a thread that could not be started for lack of memory waited for itself where RUST_BACKTRACE is set.
pub fn end_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        let _ = writeln!(io::stderr(), "{panic}");
        // SAFETY: ends the process and touches no memory. Other threads may hold what exit handlers need.
        unsafe { libc::_exit(101) }
    }));
}

/// A file that may not grow further (`ulimit -f`) is an error of the write, not the end of this process: a test file
/// would stay behind. An empty handler rather than SIG_IGN, because programs that are started later get the default back.
pub fn survive_file_size_limit() {
    extern "C" fn nothing(_signal: libc::c_int) {}
    // SAFETY: the action is zeroed, which is valid for the plain structure it is, and its handler does nothing at all.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // Fails only for a signal that there is not.
        libc::sigaction(libc::SIGXFSZ, &raw const action, std::ptr::null_mut());
    }
}

/// Has children that ended wait for being waited for. Where SIGCHLD is ignored, which a program may be started with, the kernel
/// forgets them at once and wait(2) has no status (sigaction(2)). What is started from here gets the default, too.
pub fn keep_ended_children() {
    // SAFETY: the call sets no handler and touches no memory. It fails only for a signal that there is not.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Gives a child an address space of its own size (setrlimit(2), RLIMIT_AS).
pub fn limit_address_space(command: &mut Command, bytes: u64) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // SAFETY: between fork and exec one system call is made; nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            setrlimit(Resource::As, Rlimit { current: Some(bytes), maximum: Some(bytes) })?;
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_leaves_the_descriptors_of_its_process_has_no_file_open_and_closes_none_of_the_others() {
        use std::{io::Read, os::fd::AsRawFd};
        let mut file = fs::File::open("/proc/self/stat").unwrap();
        let number = file.as_raw_fd();
        let open = move || fs::exists(format!("/proc/thread-self/fd/{number}")).unwrap();
        let of_thread = std::thread::spawn(move || (open(), leave_descriptors(), open())).join().unwrap();
        if !of_thread.1 {
            return println!("skipped: close_range(2) with CLOSE_RANGE_UNSHARE is not possible here");
        }
        assert_eq!(of_thread, (true, true, false));
        assert!(file.read(&mut [0; 8]).is_ok_and(|it| it == 8));
    }

    #[test]
    fn a_capability_is_a_bit_of_the_effective_set_and_the_first_namespace_has_all_users() {
        let status = |effective: &str| format!("Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t{effective}\n");
        assert!(has_capability(&status("0000000000004000"), CAP_IPC_LOCK));
        // What root of a container has by default.
        assert!(!has_capability(&status("00000000a80425fb"), CAP_IPC_LOCK));
        assert!(!has_capability("", CAP_IPC_LOCK) && !has_capability(&status("?"), CAP_IPC_LOCK));
        assert!(is_first_namespace("         0          0 4294967295\n"));
        assert!(!is_first_namespace("         0     100000      65536\n") && !is_first_namespace(""));
    }

    /// As a process in another mount namespace has.
    #[test]
    fn a_process_that_maps_another_file_of_that_name_is_no_mapper() {
        let program = std::env::current_exe().unwrap();
        let metadata = fs::metadata(&program).unwrap();
        let own = MappedFile::of(&metadata, program.to_str().unwrap());
        let is_mapper =
            |file: &MappedFile| mappers(file).iter().any(|it| it.starts_with(&format!("{} ", std::process::id())));
        assert!(is_mapper(&own));
        let [major, minor] = own.device;
        assert!(!is_mapper(&MappedFile { device: [major, minor + 1], ..own.clone() }));
        assert!(own.is_seen_by(std::process::id()));
    }

    #[test]
    fn only_the_mappings_of_the_file_are_summed() {
        let smaps = "\
7f0000000000-7f0000100000 r--s 00000000 fe:00 42                         /data/file
Size:               1024 kB
Rss:                 512 kB
Locked:               64 kB
VmFlags: rd sh mr lo
7f0000200000-7f0000300000 r--p 00000000 fe:00 43                         /lib/other
Rss:                 999 kB
7f0000400000-7f0000500000 r--s 00100000 fe:00 42                         /data/file
Rss:                   4 kB
Locked:                4 kB
VmFlags: rd sh mr
";
        let file = |device: [u32; 2], inode| MappedFile { device, inode, name: "/data/file".into() };
        let mapped = parse_smaps(smaps, &file([0xfe, 0], 42));
        assert_eq!(mapped, Mapped { mappings: 2, resident_bytes: 516 * 1024, locked_bytes: 512 * 1024 });
        // Another file has its name now.
        assert_eq!(parse_smaps(smaps, &file([0xfe, 0], 44)).mappings, 0);
        // Overlays and subvolumes show another device.
        assert_eq!(parse_smaps(smaps, &file([0, 31], 7)).mappings, 2);
    }

    #[test]
    fn the_mapping_of_a_file_is_found_whatever_its_name_has_in_it() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["plain", "two words", " blank", "a\nb", "back\\slash", "a\\012b", "return\r", "end ", "x (deleted)"]
        {
            let path = folder.path().join(name);
            fs::write(&path, [1; 4096]).unwrap();
            let file = fs::File::open(&path).unwrap();
            let identity = MappedFile::of(&file.metadata().unwrap(), path.to_str().unwrap());
            // By its name alone, as on an overlay.
            let by_name = MappedFile { device: [0xfff, 0xfff], ..identity.clone() };
            let flags = rustix::mm::MapFlags::SHARED;
            // SAFETY: a mapping of its own, at an address that the kernel chooses, and unmapped below.
            let address = unsafe {
                rustix::mm::mmap(std::ptr::null_mut(), 4096, rustix::mm::ProtFlags::READ, flags, &file, 0).unwrap()
            };
            let found = [&identity, &by_name].map(|it| mapped(std::process::id(), it).unwrap().mappings);
            // SAFETY: made above, and nothing refers to it.
            unsafe { rustix::mm::munmap(address, 4096).unwrap() };
            assert_eq!(found[0], 1, "{name:?}");
            assert_eq!(found[1], 1, "{name:?}, by its name");
        }
    }

    #[test]
    fn a_mapping_is_read_with_all_its_numbers_and_a_path_with_blanks() {
        let smaps = "\
7f0000000000-7f0000100000 rw-p 00002000 fe:00 42                         /data/a file (deleted)
Size:               1024 kB
Rss:                 512 kB
Shared_Dirty:          8 kB
Private_Dirty:         4 kB
Referenced:          300 kB
Anonymous:            20 kB
AnonHugePages:         0 kB
FilePmdMapped:       256 kB
Swap:                 16 kB
Locked:               64 kB
VmFlags: rd wr mr mw me lo rr 
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
7ffc10000000-7ffc10001000 rw-p 00000000 00:00 0
";
        let mappings = parse_mappings(smaps);
        assert_eq!(
            mappings[0],
            ProcessMapping {
                addresses: "7f0000000000-7f0000100000".into(),
                bytes: 1 << 20,
                permissions: "rw-p".into(),
                offset: 0x2000,
                device: [0xfe, 0],
                inode: 42,
                name: "/data/a file (deleted)".into(),
                resident_bytes: 512 << 10,
                dirty_bytes: 12 << 10,
                anonymous_bytes: 20 << 10,
                locked_bytes: 512 << 10,
                huge_bytes: 256 << 10,
                file_huge_bytes: 256 << 10,
                swapped_bytes: 16 << 10,
                referenced_bytes: 300 << 10,
                flags: Some(["rd", "wr", "mr", "mw", "me", "lo", "rr"].map(String::from).into()),
            }
        );
        assert_eq!((mappings[1].name.as_str(), mappings[2].name.as_str()), ("[stack]", ""));
    }

    #[test]
    fn pages_of_hugetlb_are_resident_although_the_kernel_counts_them_apart() {
        let smaps = "\
7f00c0000000-7f00c1000000 rw-s 00000000 00:0f 4711                       /anon_hugepage (deleted)
Size:              16384 kB
Rss:                   0 kB
FilePmdMapped:         0 kB
Shared_Hugetlb:     8192 kB
Private_Hugetlb:    2048 kB
VmFlags: rd wr sh mr lo ht
";
        let it = parse_mappings(smaps).remove(0);
        let seen = [it.resident_bytes, it.huge_bytes, it.locked_bytes, it.file_huge_bytes];
        assert_eq!(seen.map(|it| it >> 20), [10, 10, 10, 0]);
    }

    #[test]
    fn a_process_may_have_very_many_mappings() {
        let one = |at: u64| {
            let start = at << 13;
            format!(
                "{start:08x}-{:08x} r--p 00000000 08:01 {at} /data/{at}\nSize: 4 kB\nVmFlags: rd rr\n",
                start + 4096
            )
        };
        let text: String = (1..=100_000).map(one).collect();
        let mappings = parse_mappings(&text);
        assert_eq!(mappings.len(), 100_000);
        let last = mappings.last().unwrap();
        assert_eq!((last.name.as_str(), last.inode, last.bytes), ("/data/100000", 100_000, 4096));
    }

    #[test]
    fn a_process_is_known_by_its_line_whatever_it_is_called() {
        let line = "77 (a) R 1 (b)) D 42 77 77 0 -1 4194304 1 2 5 6 0 0 0 0 20 0 3 0 100 1 1\n";
        let expected = Stat {
            state: 'D',
            parent: 42,
            is_kernels: false,
            is_ending: false,
            minor_faults: 1,
            major_faults: 5,
            children_faults: 8,
            threads: 3,
            started: 100,
        };
        assert_eq!(parse_stat(line), Some(expected));
        let kernels = parse_stat(&line.replace("4194304", "2129984")).unwrap();
        assert!(kernels.is_kernels && !kernels.is_ending);
        assert!(parse_stat(&line.replace("4194304", "4194308")).unwrap().is_ending);
        assert_eq!((parse_stat("77 (a"), parse_stat("")), (None, None));
    }

    #[test]
    fn a_process_sees_itself() {
        let me = std::process::id();
        assert!(peak_memory_bytes(me).unwrap() > 100_000);
        let before = io(me).unwrap();
        fs::read("/proc/self/status").unwrap();
        assert!(io(me).unwrap().read_calls > before.read_calls);
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let error = output_within(command, Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let mut command = Command::new("sh");
        command.args(["-c", "head -c 200000 /dev/zero; head -c 200000 /dev/zero >&2; exit 3"]);
        let output = output_within(command, Duration::from_secs(60)).unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len(), output.status.code()), (200_000, 200_000, Some(3)));
    }

    #[test]
    fn a_tied_child_still_starts() {
        let mut command = Command::new("true");
        tie_to_parent(&mut command);
        assert!(command.status().unwrap().success());
    }
}
