//! Ends commands when everything that watches over them was killed. A worker ends what its command has started, also when
//! the controller is gone; when both are killed at once, only a third process can. It belongs to no group and no terminal of
//! theirs, holds nothing open but one end of a pipe, and ends when the pipe's other ends are closed.

use std::{
    ffi::CStr,
    fs::File,
    io::{self, PipeReader, PipeWriter, Write},
    mem::MaybeUninit,
    os::fd::{AsRawFd, BorrowedFd, RawFd},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

use rustix::{
    fs::{Mode, OFlags, RawDir},
    io::Errno,
    process::{Pid, Signal, getpid, kill_process, setsid},
};

use crate::process::{collected, tie_in_own_session};

/// Sessions that there can be at once: of a command, and of what runs beside it.
const SESSIONS: usize = 8;
/// How often what is in them is looked for: a process can start others until it is killed.
const ROUNDS: u32 = 200;

/// Says to a worker where its guard is (`Guard::path`).
pub const VARIABLE: &str = "FAULTLINE_GUARD";

/// The process, as long as it is needed.
#[derive(Debug)]
pub struct Guard(PipeWriter);

impl Guard {
    /// Starts it. Call before this process adopts orphans, or it becomes a child of this one.
    ///
    /// # Errors
    /// No pipe, no process.
    pub fn start() -> io::Result<Guard> {
        let (reader, writer) = io::pipe()?;
        // SAFETY: fork(2) touches no memory of ours. What the child does until it ends, `stand_apart`, neither allocates nor
        // takes a lock, so it may be forked from a process with threads.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => stand_apart(&reader),
            child => {
                let mut status = 0;
                // SAFETY: the status is written to a variable of ours.
                while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1
                    && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
                {}
                Ok(Guard(writer))
            }
        }
    }

    /// By which another process of this user reaches it, while this one lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }

    /// Nothing runs any more.
    pub fn all_ended(&self) {
        let _ = (&self.0).write_all(&0i32.to_ne_bytes());
    }
}

/// A process that starts commands.
#[derive(Debug)]
pub struct Guarded(File);

impl Guarded {
    /// As the environment says; nothing where it says nothing.
    pub fn from_environment() -> Option<Guarded> {
        Guarded::by(Path::new(&std::env::var_os(VARIABLE)?)).ok()
    }

    /// # Errors
    /// The guard's process has no such end.
    pub fn by(path: &Path) -> io::Result<Guarded> {
        File::options().write(true).open(path).map(Guarded)
    }

    /// Has the command name its session before it executes anything; call after what makes the session.
    pub fn guard(&self, command: &mut Command) {
        use std::os::unix::process::CommandExt;
        command.env_remove(VARIABLE);
        let pipe: RawFd = self.0.as_raw_fd();
        // SAFETY: between fork and exec two system calls are made; nothing is allocated. The descriptor is open: the child
        // has a copy of each of its parent's, and `self` lives while the parent spawns.
        unsafe {
            command.pre_exec(move || {
                let pipe = BorrowedFd::borrow_raw(pipe);
                // A guard that is gone is no reason to run nothing.
                let _ = rustix::io::write(pipe, &getpid().as_raw_nonzero().get().to_ne_bytes());
                Ok(())
            });
        }
    }

    /// Nothing runs any more.
    pub fn all_ended(&self) {
        let _ = (&self.0).write_all(&0i32.to_ne_bytes());
    }
}

/// Runs a program with empty input, and kills it at the time limit, with all that it has started; and also when this process is
/// killed meanwhile. A compiler starts others, which its own end would leave running.
///
/// # Errors
/// It cannot be started, or did not end in time (`ErrorKind::TimedOut`).
pub fn output_within(mut command: Command, limit: Duration) -> io::Result<Output> {
    let guard = Guard::start()?;
    let guarded = Guarded::by(&guard.path())?;
    tie_in_own_session(&mut command);
    guarded.guard(&mut command);
    let output = collected(command, Stdio::null(), limit);
    guarded.all_ended();
    output
}

fn stand_apart(reader: &PipeReader) -> ! {
    // SAFETY: as in `start`; the parent of the second child ends at once, so that nothing waits for the guard.
    if unsafe { libc::fork() } == 0 {
        let _ = setsid();
        let _ = rustix::process::chdir(c"/");
        close_all_but(reader.as_raw_fd());
        let sessions = reported(reader);
        for _ in 0..ROUNDS {
            if !kill_members(&sessions) {
                break;
            }
            // SAFETY: sleeps; touches no memory.
            unsafe { libc::usleep(5_000) };
        }
    }
    // SAFETY: ends the process without running the parent's exit handlers.
    unsafe { libc::_exit(0) }
}

/// Streams of the user's that stay open here would keep their readers waiting.
fn close_all_but(kept: RawFd) {
    let kept = kept as libc::c_uint;
    let close = |first: libc::c_uint, last: libc::c_uint| {
        // SAFETY: only closes descriptors, and this process uses none of them.
        if first <= last && unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } != 0 {
            // Before Linux 5.9.
            for descriptor in first..=last.min(1 << 12) {
                // SAFETY: as above.
                unsafe { libc::close(descriptor as RawFd) };
            }
        }
    };
    if kept > 0 {
        close(0, kept - 1);
    }
    close(kept + 1, libc::c_uint::MAX);
}

/// Waits until all other ends of the pipe are closed; the sessions that were named and not taken back by then.
fn reported(reader: &PipeReader) -> [i32; SESSIONS] {
    let mut sessions = [0; SESSIONS];
    let mut next = 0;
    loop {
        let mut word = [0; 4];
        match rustix::io::read(reader, &mut word) {
            Ok(4) => match i32::from_ne_bytes(word) {
                0 => sessions = [0; SESSIONS],
                session => {
                    sessions[next % SESSIONS] = session;
                    next += 1;
                }
            },
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => return sessions,
        }
    }
}

/// Whether there were any. The number of a session belongs to no other while a process is in it.
fn kill_members(sessions: &[i32; SESSIONS]) -> bool {
    let Ok(folder) = rustix::fs::open(c"/proc", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) else {
        return false;
    };
    let mut room = [MaybeUninit::<u8>::uninit(); 8192];
    let mut entries = RawDir::new(folder, &mut room);
    let mut found = false;
    while let Some(Ok(entry)) = entries.next() {
        let Some(pid) = number(entry.file_name()).and_then(Pid::from_raw) else { continue };
        // SAFETY: the call touches no memory. (Threads of the kernel have session 0, for which rustix has no number.)
        let session = unsafe { libc::getsid(pid.as_raw_nonzero().get()) };
        if session > 0 && sessions.contains(&session) {
            found |= kill_process(pid, Signal::KILL).is_ok();
        }
    }
    found
}

fn number(name: &CStr) -> Option<i32> {
    name.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{stat, within};

    /// A shell whose child outlives it; the number of that child.
    fn shell(guarded: &Guarded) -> (std::process::Child, i32) {
        use std::io::{BufRead, BufReader};
        let mut command = Command::new("sh");
        command
            .args(["-c", "sleep 3191 & echo $!; wait"])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null());
        tie_in_own_session(&mut command);
        guarded.guard(&mut command);
        let mut shell = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (shell, line.trim().parse().unwrap())
    }

    fn lives(pid: i32) -> bool {
        stat(&format!("/proc/{pid}/stat")).is_some_and(|it| it.state != 'Z')
    }

    #[test]
    fn what_a_command_left_is_ended_when_nothing_else_can_and_not_before() {
        let guard = Guard::start().unwrap();
        let guarded = Guarded::by(&guard.path()).unwrap();
        let (mut first, taken_back) = shell(&guarded);
        guarded.all_ended();
        let (mut second, left) = shell(&guarded);
        for shell in [&mut first, &mut second] {
            shell.kill().unwrap();
            shell.wait().unwrap();
        }
        drop(guard);
        assert!(lives(left) && lives(taken_back), "one end of the pipe is still open");
        drop(guarded);
        let ended = within(Duration::from_secs(20), || !lives(left));
        let spared = lives(taken_back);
        for pid in [left, taken_back] {
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
        assert_eq!((ended, spared), (true, true));
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended_with_what_it_has_started() {
        let folder = tempfile::tempdir().unwrap();
        let noted = folder.path().join("pid");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 3192 & echo $! > \"$0\"; wait"]).arg(&noted);
        let late = output_within(command, Duration::from_millis(500));
        assert_eq!(late.map_err(|error| error.kind()).map(|it| it.status), Err(io::ErrorKind::TimedOut));
        // A shell that had no time to start it has left nothing either.
        let Ok(pid) = std::fs::read_to_string(&noted).unwrap_or_default().trim().parse::<i32>() else { return };
        assert!(within(Duration::from_secs(20), || !lives(pid)));
    }

    #[test]
    fn what_a_program_said_is_there_and_what_it_left_goes_on() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 3193 > /dev/null 2>&1 & echo $!; echo no >&2; exit 3"]);
        let output = output_within(command, Duration::from_secs(60)).unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(3), &b"no\n"[..]));
        let pid: i32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        assert!(lives(pid), "it ended well, so nothing is killed");
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
}
