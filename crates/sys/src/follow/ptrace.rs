//! ptrace(2) and waitpid(2), as little of them as is needed. (`nix` has wrappers; its waitpid fails on real-time signals,
//! which threads of glibc send each other.)

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    ptr,
    sync::LazyLock,
    time::{Duration, Instant},
};

use crate::processors;

/// linux/ptrace.h; `libc` has it for some systems only.
const EVENT_STOP: i32 = 128;
/// Words of `struct ptrace_syscall_info`, with room to spare.
const INFO_WORDS: usize = 12;
/// The two kinds that are used here.
const INFO_EXIT: u8 = 2;
const INFO_SECCOMP: u8 = 3;
/// Distinguishes a system-call stop from a SIGTRAP (PTRACE_O_TRACESYSGOOD).
const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;

/// What the kernel says of a traced thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It ended, with this status of wait(2).
    Ended(i32),
    /// At a call that the filter selects.
    Filtered,
    /// A call that was waited for has its result.
    Finished,
    /// It started another thread or process.
    Started {
        process: bool,
    },
    Executed,
    /// A signal is about to be delivered.
    Signal(i32),
    /// It is stopped, as SIGSTOP does it; or it is new.
    Halted,
    New,
}

/// For how long the next stop is polled for before this thread sleeps. Stops come in pairs (a call and its result), and the
/// processor of a thread that sleeps halts: in a virtual machine it takes tens of microseconds to wake it.
const POLL: Duration = Duration::from_micros(50);

/// The next thing that happens to any thread that this thread traces, or to its children; nothing when `patient` is
/// false and nothing has happened; an error (ECHILD) when no child is left.
pub(super) fn wait(patient: bool) -> io::Result<Option<(i32, Stop)>> {
    let began = Instant::now();
    // With one processor, those that are waited for need it.
    while patient && *HAS_PROCESSORS && began.elapsed() < POLL {
        if let Some(stopped) = next(libc::WNOHANG)? {
            return Ok(Some(stopped));
        }
    }
    next(if patient { 0 } else { libc::WNOHANG })
}

/// Whether this process may use more than one.
static HAS_PROCESSORS: LazyLock<bool> = LazyLock::new(|| processors::allowed() > 1);

fn next(flags: i32) -> io::Result<Option<(i32, Stop)>> {
    let mut status = 0;
    let flags = libc::__WALL | libc::__WNOTHREAD | flags;
    loop {
        // SAFETY: the status is written to a variable of ours.
        let thread = unsafe { libc::waitpid(-1, &raw mut status, flags) };
        match thread {
            0 => return Ok(None),
            1.. => return Ok(Some((thread, stop(status)))),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

fn stop(status: i32) -> Stop {
    if !libc::WIFSTOPPED(status) {
        return Stop::Ended(status);
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        0 if signal == SYSCALL_STOP => Stop::Finished,
        0 => Stop::Signal(signal),
        libc::PTRACE_EVENT_SECCOMP => Stop::Filtered,
        libc::PTRACE_EVENT_CLONE => Stop::Started { process: false },
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => Stop::Started { process: true },
        libc::PTRACE_EVENT_EXEC => Stop::Executed,
        EVENT_STOP if signal == libc::SIGTRAP => Stop::New,
        EVENT_STOP => Stop::Halted,
        _ => Stop::New,
    }
}

fn request(request: libc::c_uint, thread: i32, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: the kernel writes at most to `data`, which is an address only where the callers below pass one of theirs.
    let result = unsafe { libc::ptrace(request as _, thread, address as *mut libc::c_void, data as *mut libc::c_void) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Begins to trace a process, and with it all that it will start; when the tracing thread ends, all of them do.
pub(super) fn seize(process: i32) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_EXITKILL;
    request(libc::PTRACE_SEIZE as _, process, 0, options as usize)
}

// Errors of resuming are ignored: a thread that was killed meanwhile cannot be resumed, and its end is reported.

/// Resumes a thread until its next stop, delivering a signal (0: none).
pub(super) fn go_on(thread: i32, signal: i32) {
    let _ = request(libc::PTRACE_CONT as _, thread, 0, signal as usize);
}

/// Resumes a thread until the end of its current call.
pub(super) fn go_on_to_result(thread: i32, signal: i32) {
    let _ = request(libc::PTRACE_SYSCALL as _, thread, 0, signal as usize);
}

/// Leaves it stopped (group stop), as a stop signal demands.
pub(super) fn let_halt(thread: i32) {
    let _ = request(libc::PTRACE_LISTEN as _, thread, 0, 0);
}

/// The thread that was started, or the number that a thread had before it executed a program.
pub(super) fn message(thread: i32) -> io::Result<i32> {
    let mut message: libc::c_ulong = 0;
    request(libc::PTRACE_GETEVENTMSG as _, thread, 0, ptr::from_mut(&mut message) as usize)?;
    Ok(message as i32)
}

/// The call that a thread is about to make: its arguments, and the value from the filter.
pub(super) fn asked(thread: i32) -> io::Result<([u64; 6], u16)> {
    let info = info(thread, INFO_SECCOMP)?;
    let mut arguments = [0; 6];
    arguments.copy_from_slice(&info[4..10]);
    Ok((arguments, info[10] as u16))
}

/// The result of the call; errors are negative.
pub(super) fn result(thread: i32) -> io::Result<i64> {
    Ok(info(thread, INFO_EXIT)?[3] as i64)
}

/// Reads (PTRACE_GETREGSET) or writes (PTRACE_SETREGSET) the general registers of a stopped thread.
pub(super) fn registers(how: libc::c_uint, thread: i32, place: &mut libc::user_regs_struct) -> io::Result<()> {
    const GENERAL: usize = 1;
    let mut vector = libc::iovec { iov_base: ptr::from_mut(place).cast(), iov_len: size_of_val(place) };
    request(how, thread, GENERAL, ptr::from_mut(&mut vector) as usize)
}

/// linux/ptrace.h; `libc` has them for some systems only.
const GET_SIGNAL_MASK: libc::c_uint = 0x420a;
const SET_SIGNAL_MASK: libc::c_uint = 0x420b;

/// Gives a stopped thread another signal mask, and returns the one that it had.
pub(super) fn swap_signal_mask(thread: i32, mask: u64) -> io::Result<u64> {
    let (mut before, mut after) = (0u64, mask);
    request(GET_SIGNAL_MASK, thread, size_of::<u64>(), ptr::from_mut(&mut before) as usize)?;
    request(SET_SIGNAL_MASK, thread, size_of::<u64>(), ptr::from_mut(&mut after) as usize)?;
    Ok(before)
}

/// Bytes of a stopped thread's memory.
pub(super) fn memory<const BYTES: usize>(thread: i32, address: u64) -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    read_memory(thread, address, &mut bytes)?;
    Ok(bytes)
}

/// The same, of as many bytes as there is room for.
pub(super) fn read_memory(thread: i32, address: u64, bytes: &mut [u8]) -> io::Result<()> {
    File::open(format!("/proc/{thread}/mem"))?.read_exact_at(bytes, address)
}

/// The first byte says the kind; the data of the kind begin with the fourth word (linux/ptrace.h).
fn info(thread: i32, kind: u8) -> io::Result<[u64; INFO_WORDS]> {
    let mut info = [0u64; INFO_WORDS];
    let bytes = size_of_val(&info);
    request(libc::PTRACE_GET_SYSCALL_INFO as _, thread, bytes, ptr::from_mut(&mut info) as usize)?;
    match info[0].to_ne_bytes()[0] == kind {
        true => Ok(info),
        false => Err(io::Error::other("the thread is not at the stop that was reported")),
    }
}
