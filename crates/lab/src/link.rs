//! One worker process and the conversation with it. A worker may die, stall, babble or lie about its version: all of
//! that ends as a sentence, never as a panic and never as a hang.

use std::{
    io::Read,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    fs::OFlags,
    io::Errno,
};
use schema::{
    Beside,
    command::LAST_CLEANUP,
    protocol::{Done, Hello, Job, PROTOCOL, Reply, Request},
};

/// A reply longer than this is no reply.
const LINE_BYTES_MAX: usize = 1 << 20;
/// How much of a worker's stderr is kept for the reason of a failure.
const TAIL_BYTES: usize = 2000;
/// A pipe holds 64 KiB, and 1 MiB at most where a process without privileges enlarged it (pipe(7)).
const PIPE_BYTES_MAX: usize = 1 << 20;
/// How often a wait looks at the interrupt flag.
const GLANCE: Duration = Duration::from_millis(100);
/// What ending other processes may take.
const CLEANING_UP: Duration = Duration::from_secs(3);
/// How long anything but a pass may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a worker may take to make ready, at least.
const PREPARED: Duration = Duration::from_secs(120);

/// How long a worker that said something wrong is listened to, and how much of it is repeated.
const AFTERTHOUGHT: Duration = Duration::from_secs(1);
const STRAY_OUTPUT_BYTES: usize = 200;

/// The beginning of the reason when a mapped page could not be read.
pub(crate) const NO_PAGE: &str = "the worker was killed by SIGBUS";

/// Why a conversation ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The arm is unavailable here.
    Unavailable(String),
    /// This pass failed; others may not.
    Failed(String),
    /// The user interrupted the run.
    Interrupted,
}

/// A started worker. Dropping it ends it.
pub struct Link<'a> {
    child: Child,
    input: Option<ChildStdin>,
    /// Of the last request, as it was sent.
    request_bytes: u64,
    /// Bytes received that are no whole line yet.
    pending: Vec<u8>,
    stderr: Vec<u8>,
    stderr_open: bool,
    interrupted: &'a AtomicBool,
    /// How long a worker whose input ends has, before it is killed, to end what it started itself.
    grace: Duration,
    /// It has a command to execute after its last pass.
    cleans_up: bool,
    /// Of the job that is prepared.
    beside: Beside,
}

impl<'a> Link<'a> {
    /// Starts a worker and greets it.
    ///
    /// # Errors
    /// It cannot be started, or does not answer as a worker of this protocol.
    pub fn start(command: Command, interrupted: &'a AtomicBool) -> Result<(Link<'a>, Hello), Trouble> {
        Link::start_within(PATIENCE, command, interrupted)
    }

    /// As `start`, with a time limit for the reply to `hello`.
    ///
    /// # Errors
    /// As `start`.
    pub fn start_within(
        patience: Duration,
        mut command: Command,
        interrupted: &'a AtomicBool,
    ) -> Result<(Link<'a>, Hello), Trouble> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        sys::process::tie_to_parent(&mut command);
        let mut child =
            command.spawn().map_err(|error| Trouble::Failed(format!("the worker cannot be started: {error}")))?;
        let input = child.stdin.take();
        if let Some(input) = &input {
            let unready = |error: Errno| Trouble::Failed(format!("the pipe to the worker cannot be prepared: {error}"));
            rustix::fs::fcntl_setfl(input, OFlags::NONBLOCK).map_err(unready)?;
        }
        let mut link = Link {
            child,
            input,
            request_bytes: 0,
            pending: Vec::new(),
            stderr: Vec::new(),
            stderr_open: true,
            interrupted,
            grace: Duration::ZERO,
            cleans_up: false,
            beside: Beside::Nothing,
        };
        match link.exchange(&Request::Hello { protocol: PROTOCOL }, patience)? {
            Reply::Hello(hello) if hello.protocol == PROTOCOL => Ok((link, hello)),
            Reply::Hello(hello) => Err(Trouble::Failed(format!(
                "the worker has protocol version {}, and this controller {PROTOCOL}",
                hello.protocol
            ))),
            other => Err(link.nonsense(&other)),
        }
    }

    /// Has the worker make ready for a job.
    ///
    /// # Errors
    /// The arm is unavailable, or the worker failed.
    pub fn prepare(&mut self, job: &Job) -> Result<(), Trouble> {
        self.prepare_within(PREPARED, job)
    }

    /// As `prepare`, where a pass may take `pass` and the state may need one before the clock starts.
    ///
    /// # Errors
    /// As `prepare`.
    pub fn prepare_within(&mut self, pass: Duration, job: &Job) -> Result<(), Trouble> {
        self.beside = job.beside;
        match self.exchange(&Request::Prepare(Box::new(job.clone())), pass.max(PREPARED))? {
            Reply::Prepared { pass, .. } if pass == job.pass => Ok(()),
            Reply::Unavailable { reason, .. } => Err(Trouble::Unavailable(reason)),
            other => Err(self.nonsense(&other)),
        }
    }

    /// The timed pass.
    ///
    /// # Errors
    /// The pass failed, the worker died, or it took longer than `limit`.
    pub fn go(&mut self, pass: u64, limit: Duration) -> Result<Done, Trouble> {
        self.go_warm(pass, 0, limit)
    }

    /// A pass before the timed one, by its number from 1.
    ///
    /// # Errors
    /// As `go`.
    pub fn go_warm(&mut self, pass: u64, warm: u32, limit: Duration) -> Result<Done, Trouble> {
        match self.exchange(&Request::Go { pass, warm }, limit)? {
            Reply::Done(done) if done.pass == pass => match warm {
                0 => beats(self.beside, &done).map(|()| *done).map_err(Trouble::Failed),
                _ => Ok(*done),
            },
            other => Err(self.nonsense(&other)),
        }
    }

    /// The whole life of a worker that makes one pass.
    ///
    /// # Errors
    /// As `start`, `prepare`, `go` and `bye`.
    pub fn one_pass(command: Command, job: &Job, limit: Duration, interrupted: &AtomicBool) -> Result<Done, Trouble> {
        let (mut link, _) = Link::start(command, interrupted)?;
        link.prepare(job)?;
        let done = link.go(job.pass, limit)?;
        link.bye()?;
        Ok(done)
    }

    /// Says goodbye and waits for the process to be gone, with all its mappings.
    ///
    /// # Errors
    /// The process did not end by itself, and was killed; or what it did after its last pass failed.
    pub fn bye(self) -> Result<(), Trouble> {
        self.bye_within(PATIENCE)
    }

    /// As `bye`, where a pass may take `pass` and a command that cleans up after it as long.
    ///
    /// # Errors
    /// As `bye`; the user interrupted the command that cleans up, or a worker that does not end.
    pub fn bye_within(mut self, pass: Duration) -> Result<(), Trouble> {
        let _ = self.send(&Request::Bye {}, PATIENCE);
        // A worker whose input has ended cuts short what it cleans up.
        let limit = if self.cleans_up { pass.max(PATIENCE) } else { PATIENCE };
        if !self.cleans_up {
            drop(self.input.take());
        }
        let began = Instant::now();
        let deadline = began + limit;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(_)) | Err(_) => return Err(self.exit_report()),
                Ok(None) if Instant::now() > deadline => {
                    return Err(Trouble::Failed("the worker did not exit after its work and was killed".into()));
                }
                // One that cleans up nothing only ends; if that takes long, it does not go on.
                Ok(None)
                    if (self.cleans_up || began.elapsed() > GLANCE) && self.interrupted.load(Ordering::Relaxed) =>
                {
                    return Err(Trouble::Interrupted);
                }
                // The process is tearing down its mappings; the pipe's end would come before that.
                Ok(None) => {
                    // One that still has much to say would wait for a reader.
                    self.receive(Duration::ZERO);
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        }
    }

    /// For a worker with processes of its own, and perhaps a command that cleans up after them.
    pub fn let_it_clean_up(&mut self, cleanup: bool) {
        self.cleans_up = cleanup;
        self.grace = CLEANING_UP + if cleanup { LAST_CLEANUP } else { Duration::ZERO };
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the worker read of its standard input for the last request, by one call.
    pub fn request_bytes(&self) -> u64 {
        self.request_bytes
    }

    fn exchange(&mut self, request: &Request, limit: Duration) -> Result<Reply, Trouble> {
        self.send(request, PATIENCE)?;
        let line = self.line(Instant::now() + limit, limit)?;
        match serde_json::from_slice(&line) {
            Ok(Reply::Failed(failed)) => {
                Err(Trouble::Failed(format!("the worker failed during {}: {}", failed.during, failed.message)))
            }
            Ok(reply) => Ok(reply),
            Err(_) => {
                let shown = self.stray_output(line);
                Err(Trouble::Failed(format!("the worker wrote a line that is not a reply: {shown:?}")))
            }
        }
    }

    /// The beginning of what is no reply. A runtime that crashes prints its last words to stdout, and its first line
    /// there is no more than a rule.
    fn stray_output(&mut self, mut output: Vec<u8>) -> String {
        let until = Instant::now() + AFTERTHOUGHT;
        while output.len() + self.pending.len() < STRAY_OUTPUT_BYTES && Instant::now() < until && self.receive(GLANCE) {
        }
        output.push(b'\n');
        output.append(&mut self.pending);
        output.truncate(STRAY_OUTPUT_BYTES);
        String::from_utf8_lossy(&output).trim_end().to_string()
    }

    /// A pipe is full when the worker does not read, and a write to it would wait for as long as that takes.
    fn send(&mut self, request: &Request, limit: Duration) -> Result<(), Trouble> {
        let failed = |what: String| Trouble::Failed(format!("a request could not be sent to the worker: {what}"));
        let mut line = serde_json::to_vec(request).map_err(|error| failed(error.to_string()))?;
        line.push(b'\n');
        self.request_bytes = line.len() as u64;
        let (deadline, mut rest) = (Instant::now() + limit, &line[..]);
        while !rest.is_empty() {
            let Some(input) = &self.input else { return Err(self.exit_report()) };
            match rustix::io::write(input, rest) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.interrupted.load(Ordering::Relaxed) => return Err(Trouble::Interrupted),
                Err(Errno::AGAIN) if Instant::now() >= deadline => {
                    return Err(failed(format!("it read nothing for {} s, and was killed", limit.as_secs_f64())));
                }
                Err(Errno::AGAIN) => {
                    let patience = Timespec { tv_sec: 0, tv_nsec: GLANCE.subsec_nanos().into() };
                    let _ = rustix::event::poll(&mut [PollFd::new(input, PollFlags::OUT)], Some(&patience));
                    // It may wait for a reader itself.
                    self.receive(Duration::ZERO);
                }
                // It has ended. What it had to say is in its output, which is read next.
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// The next line of stdout; stderr is drained meanwhile, so that a worker that complains a lot does not stall.
    fn line(&mut self, deadline: Instant, limit: Duration) -> Result<Vec<u8>, Trouble> {
        loop {
            if let Some(end) = self.pending.iter().position(|&byte| byte == b'\n') {
                let mut line: Vec<u8> = self.pending.drain(..=end).collect();
                line.pop();
                return Ok(line);
            }
            if self.pending.len() > LINE_BYTES_MAX {
                return Err(Trouble::Failed(format!("the worker sent {LINE_BYTES_MAX} bytes without a line's end")));
            }
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(Trouble::Interrupted);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let before = self.pending.len();
            if !self.receive(left.min(GLANCE)) {
                return Err(self.exit_report());
            }
            // While this process was stopped (Ctrl-Z) the worker went on, and what it said then is in the pipe.
            if left.is_zero() && self.pending.len() == before {
                return Err(Trouble::Failed(format!(
                    "the worker did not answer within {} s; it was killed",
                    limit.as_secs_f64()
                )));
            }
        }
    }

    /// Waits for output and takes it in; false when stdout has ended.
    fn receive(&mut self, patience: Duration) -> bool {
        let stdout = self.child.stdout.as_ref().expect("stdout is a pipe");
        let stderr = self.child.stderr.as_ref().expect("stderr is a pipe");
        let mut waiting = vec![PollFd::new(stdout, PollFlags::IN)];
        if self.stderr_open {
            waiting.push(PollFd::new(stderr, PollFlags::IN));
        }
        let patience = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        if rustix::event::poll(&mut waiting, Some(&patience)).is_err() {
            return true;
        }
        let ready: Vec<bool> = waiting.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut chunk = [0u8; 4096];
        if ready.get(1) == Some(&true) {
            self.take_complaints();
        }
        if ready[0] {
            let read = self.child.stdout.as_mut().map_or(Ok(0), |it| it.read(&mut chunk)).unwrap_or(0);
            self.pending.extend_from_slice(&chunk[..read]);
            return read > 0;
        }
        true
    }

    /// Reads once from stderr, and keeps the end of all that came; how many bytes it were.
    fn take_complaints(&mut self) -> usize {
        let mut chunk = [0u8; 4096];
        let read = self.child.stderr.as_mut().map_or(Ok(0), |it| it.read(&mut chunk)).unwrap_or(0);
        self.stderr_open = read > 0;
        self.stderr.extend_from_slice(&chunk[..read]);
        let surplus = self.stderr.len().saturating_sub(TAIL_BYTES);
        self.stderr.drain(..surplus);
        read
    }

    /// Whether there is something to read on stderr now, or it has ended.
    fn complains(&self) -> bool {
        let Some(stderr) = &self.child.stderr else { return false };
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(rustix::event::poll(&mut [PollFd::new(stderr, PollFlags::IN)], Some(&at_once)), Ok(1))
    }

    fn nonsense(&self, reply: &Reply) -> Trouble {
        let kind = match reply {
            Reply::Hello(_) => "hello",
            Reply::Prepared { .. } => "prepared",
            Reply::Unavailable { .. } => "unavailable",
            Reply::Done(_) => "done",
            Reply::Failed(_) => "failed",
        };
        Trouble::Failed(format!("the worker sent the reply {kind:?} to a different request"))
    }

    /// What the end of the process says.
    fn exit_report(&mut self) -> Trouble {
        use std::os::unix::process::ExitStatusExt;
        let deadline = Instant::now() + Duration::from_secs(2);
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
                _ => break None,
            }
        };
        // All that it wrote is in the pipe. A process that it left behind may go on writing.
        let mut left = PIPE_BYTES_MAX;
        while self.stderr_open && status.is_some() && left > 0 && self.complains() {
            left = left.saturating_sub(self.take_complaints());
        }
        let death = match status {
            None => "the worker closed its output without exiting and was killed".to_string(),
            Some(status) => match status.signal() {
                Some(libc::SIGBUS) => format!(
                    "{NO_PAGE}: a mapped page could not be read (the file was truncated, or a read from the device \
                     failed)"
                ),
                Some(libc::SIGKILL) => {
                    "the worker was killed by SIGKILL (by another process, or for lack of memory)".into()
                }
                Some(signal) => format!("the worker was killed by signal {signal}"),
                None => format!("the worker ended with status {}", status.code().unwrap_or(-1)),
            },
        };
        let last_words = String::from_utf8_lossy(&self.stderr).trim().to_string();
        Trouble::Failed(if last_words.is_empty() { death } else { format!("{death}; its last output: {last_words}") })
    }
}

/// Whether the timed pass counted the beats that were asked for, and no others.
fn beats(beside: Beside, done: &Done) -> Result<(), String> {
    match (beside, &done.beats) {
        (Beside::Nothing, None) => Ok(()),
        (Beside::Nothing, Some(_)) => Err("the worker counted beats that were not asked for".into()),
        (Beside::Beat, None) => Err("the worker did not count the beats that were asked for".into()),
        (Beside::Beat, Some(beats)) => beats.check().map_err(|why| format!("the worker miscounted: {why}")),
    }
}

impl Drop for Link<'_> {
    fn drop(&mut self) {
        drop(self.input.take());
        let deadline = Instant::now() + self.grace;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let gone = || !matches!(self.child.try_wait(), Ok(None));
            if !sys::process::within(sys::process::KILLED, gone) {
                let pid = self.child.id();
                let report = format!("process {pid} was abandoned: {}", sys::process::why_alive(pid));
                ABANDONED.lock().unwrap_or_else(PoisonError::into_inner).push(report);
            }
        }
    }
}

/// Workers that did not end when they were killed, a sentence each.
static ABANDONED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Workers that did not end since the last call.
pub(crate) fn abandoned() -> Vec<String> {
    std::mem::take(&mut ABANDONED.lock().unwrap_or_else(PoisonError::into_inner))
}
