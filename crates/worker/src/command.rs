//! A pass that executes a command of the user: start it, read its output, wait for it. The clock runs from before fork until
//! the command's own process has ended.
//!
//! It runs in a session of its own, without a terminal. This process is the subreaper of all its descendants. It kills them
//! when they outlive the command, at the time limit, and when the controller ends, which closes standard input.
//!
//! Standard output is a pipe that is read to its end and summed, never /dev/null: some programs (grep, ripgrep) detect
//! /dev/null and stop at the first match.

use std::{
    cell::Cell,
    collections::BTreeMap,
    hash::Hasher,
    io::{self, Read},
    os::unix::process::ExitStatusExt,
    process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, set_parent_process_death_signal},
};
use schema::{
    command::{Compared, LAST_CLEANUP, Spec},
    observation::Watch,
    protocol::{Job, Permit, Phases, Tally, Usage},
    record::Reading,
};
use sys::{
    guard::Guarded,
    process::{adopt_orphans, end_children},
};
use twox_hash::XxHash3_64;

use crate::{
    observe::{self, Watched},
    process_tree::ProcessTree,
    session::{PassResult, Session},
    task::{Fault, Refusal, at},
    usage,
};

/// How long processes that end together with the command may take.
const GRACE: Duration = Duration::from_millis(60);

/// Of a command that ended then.
fn rest_of_grace(ended: Instant) -> Duration {
    GRACE.saturating_sub(ended.elapsed())
}

/// How much of standard error is kept for the reason of a failure.
const TAIL_BYTES: usize = 400;

struct Execution {
    spec: Spec,
    watch: Option<Watch>,
    permit: Permit,
    /// A --prepare or an execution has begun, and no --cleanup has run since.
    unclean: Cell<bool>,
    guard: Option<Guarded>,
}

pub(crate) fn session(job: &Job) -> Result<Box<dyn Session>, Refusal> {
    let spec = Spec::of(&job.options).map_err(Fault::new)?;
    // Children of children come to this process when their parents end, so that none is left behind.
    adopt_orphans().map_err(at("prctl(PR_SET_CHILD_SUBREAPER)"))?;
    // When the controller ends, this process must clean up first; see `Leash`.
    set_parent_process_death_signal(None).map_err(at("prctl(PR_SET_PDEATHSIG)"))?;
    let guard = Guarded::from_environment();
    let execution = Execution { spec, watch: job.watch.clone(), permit: job.permit, unclean: Cell::new(false), guard };
    execution.prepare()?;
    Ok(Box::new(execution))
}

impl Execution {
    /// In a session of its own, which ends with this process, or with the guard.
    fn tie(&self, command: &mut Command) {
        sys::process::tie_in_own_session(command);
        self.guard.iter().for_each(|it| it.guard(command));
    }

    /// Everything that was started and has not ended by itself; the names.
    fn end_all(&self) -> Vec<String> {
        self.end_all_within(GRACE)
    }

    fn end_all_within(&self, grace: Duration) -> Vec<String> {
        let left = end_children(grace);
        self.guard.iter().for_each(Guarded::all_ended);
        left
    }

    fn prepare(&self) -> Result<(), Fault> {
        self.unclean.set(true);
        let limit = Duration::from_secs(self.spec.timeout_s.into());
        self.spec.prepare.as_ref().map_or(Ok(()), |line| self.beside(line, "--prepare", limit))
    }

    fn clean_up(&self) -> Result<(), Fault> {
        let limit = Duration::from_secs(self.spec.timeout_s.into());
        self.clean_up_within(limit)
    }

    /// A failed preparation is not repeated.
    fn clean_up_within(&self, limit: Duration) -> Result<(), Fault> {
        match self.spec.cleanup.as_ref().filter(|_| self.unclean.replace(false)) {
            Some(line) => self.beside(line, "--cleanup", limit),
            None => Ok(()),
        }
    }
}

/// Runs in every case: also after a failure, and when the controller has gone.
impl Drop for Execution {
    fn drop(&mut self) {
        // A failure cannot be reported any more.
        let _ = self.clean_up_within(LAST_CLEANUP);
    }
}

impl Session for Execution {
    /// Executions are alike. Each one needs a `prepare` of its own before it.
    fn pass(&mut self, _warm: u32) -> Result<PassResult, (&'static str, Fault)> {
        let spec = &self.spec;
        if let Some(watch) = &self.watch {
            return self.watched(watch).map_err(|fault| ("work", fault));
        }
        let mut command = command(spec, &spec.line).map_err(|fault| ("open", fault))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.tie(&mut command);
        let before = (usage::of_children(), sys::process::io_of_children());
        let began = Instant::now();
        let mut child = command.spawn().map_err(|error| ("open", unstartable(spec, &spec.line, error)))?;
        let started = Instant::now();
        let mut tree = ProcessTree::of(Pid::from_child(&child));
        let mut ended = self.attend(&mut child, &mut tree);
        let left = self.end_all_within(ended.as_ref().map_or(GRACE, |it| rest_of_grace(it.when)));
        if let (Ok(ended), []) = (&mut ended, &left[..]) {
            ended.read_rest().map_err(|error| ("work", at("reading its output")(error)))?;
        }
        let usage = usage::between(&before.0, &usage::of_children());
        let mut seen = tree.readings();
        if let Ok(ended) = &ended {
            seen.insert("output_bytes".to_string(), Reading::Value(ended.output.bytes as f64));
        }
        seen.extend(io_readings(&before.1, &sys::process::io_of_children()));
        if tree.lacks_children(&usage) {
            let names = Usage::READINGS.iter().chain(&IO_READINGS);
            seen.extend(names.map(|name| (name.to_string(), Reading::unavailable(DISOWNED))));
        }
        let ended = ended.map_err(|fault| ("work", fault))?;
        ended.judge(spec, &left).map_err(|fault| ("work", fault))?;
        let ns = |from: Instant, to: Instant| to.duration_since(from).as_nanos() as u64;
        Ok(PassResult {
            phases: Phases { open_ns: Some(ns(began, started)), work_ns: ns(started, ended.when), close_ns: Some(0) },
            tally: tally(spec, &ended),
            usage,
            parts: None,
            seen,
            observation: None,
        })
    }

    /// Not before: between `go` and `done` its reads would be counted as those of the command, and what it evicts would have
    /// left the page cache during the pass.
    fn end(&mut self) -> Result<(), Fault> {
        self.clean_up()
    }
}

impl Execution {
    /// One traced execution, by the first means that sees all calls. Its phases are the time of the traced program;
    /// no verdict is made of that.
    fn watched(&self, watch: &Watch) -> Result<PassResult, Fault> {
        let spec = &self.spec;
        let (mut given_up, mut again) = (Vec::new(), false);
        for &by in &watch.by {
            let pipe = || io::pipe().map_err(at("a pipe"));
            let ((mut stdout, output), (mut stderr, errors)) = (pipe()?, pipe()?);
            let mut command = command(spec, &spec.line)?;
            command.stdin(Stdio::null()).stdout(output).stderr(errors);
            self.tie(&mut command);
            let before = usage::of_children();
            let waiting = observe::begin(command, by, watch, (self.permit, again))?;
            // Both end when the other side is closed: with the command and all processes that it has started.
            let (seen, output, stderr) = thread::scope(|scope| {
                let output = scope.spawn(move || summed(&mut stdout));
                let stderr = scope.spawn(move || begun(&mut stderr));
                let over = AtomicBool::new(false);
                let seen = thread::scope(|scope| {
                    scope.spawn(|| end_with_controller(&over));
                    let seen = waiting.observe(Duration::from_secs(spec.timeout_s.into()), &given_up);
                    over.store(true, Ordering::Relaxed);
                    seen
                });
                (seen, output.join().expect("it does not panic"), stderr.join().expect("it does not panic"))
            });
            let when = Instant::now();
            let mut left = self.end_all();
            let usage = usage::between(&before, &usage::of_children());
            let (followed, observation) = match seen? {
                Watched::Seen(followed, observation) => (followed, observation),
                Watched::Nothing { why, ran } => {
                    given_up.push(why);
                    again |= ran;
                    if ran {
                        self.clean_up()?;
                        self.prepare()?;
                    }
                    continue;
                }
            };
            let ended = Ended { status: followed.status, when, output, stderr, pipes: None };
            // A trace is of what there was, however it ended, and says so.
            if watch.trace.is_none() {
                if followed.expired {
                    return Err(too_long(spec.timeout_s, None));
                }
                left.extend((followed.left > 0).then(|| format!("{} that were watched", followed.left)));
                ended.judge(spec, &left)?;
            }
            return Ok(PassResult {
                phases: Phases { open_ns: None, work_ns: followed.took.as_nanos() as u64, close_ns: None },
                tally: tally(spec, &ended),
                usage,
                parts: None,
                seen: BTreeMap::new(),
                observation: Some(observation),
            });
        }
        Err(Fault::new(format!("it cannot be watched: {}", given_up.join("; "))))
    }

    /// Reads the command's output until its process has ended, and then the rest.
    fn attend(&self, child: &mut Child, tree: &mut ProcessTree) -> Result<Ended, Fault> {
        let limit = Duration::from_secs(self.spec.timeout_s.into());
        let leash = Leash::new(self);
        let pid = Pid::from_child(child);
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(at("pidfd_open"))?;
        let mut stdout = child.stdout.take().expect("stdout is a pipe");
        let mut stderr = child.stderr.take().expect("stderr is a pipe");
        let mut output = Output::new();
        let mut words = Vec::new();
        let mut open = [true, true];
        let mut chunk = vec![0; 64 << 10];
        let began = Instant::now();
        let mut ended = None;
        loop {
            let left = match ended {
                // Its processes may still write; who holds the pipes for longer is ended.
                Some((when, _)) => rest_of_grace(when),
                None => limit.saturating_sub(began.elapsed()),
            };
            if left.is_zero() && ended.is_none() {
                return Err(too_long(limit.as_secs(), abandoned(child)));
            }
            let left = if ended.is_none() { left.min(tree.due_in()) } else { left };
            let mut waiting = vec![(3, leash.fd())];
            if ended.is_none() {
                waiting.push((2, PollFd::new(&process, PollFlags::IN)));
            }
            if open[0] {
                waiting.push((0, PollFd::new(&stdout, PollFlags::IN)));
            }
            if open[1] {
                waiting.push((1, PollFd::new(&stderr, PollFlags::IN)));
            }
            let (which, mut fds): (Vec<usize>, Vec<PollFd>) = waiting.into_iter().unzip();
            let patience = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            match poll(&mut fds, Some(&patience)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(at("poll")(error)),
            }
            if Leash::is_cut(&fds[0]) {
                leash.follow(pid);
            }
            let ready: Vec<usize> =
                which.into_iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty()).map(|(it, _)| it).collect();
            drop(fds);
            if ready.contains(&2) {
                let when = Instant::now();
                tree.head_ended();
                ended = Some((when, child.wait().map_err(at("wait"))?));
            }
            if ended.is_none() {
                tree.look();
            }
            if ready.contains(&0) {
                let read = stdout.read(&mut chunk).map_err(at("reading its output"))?;
                output.add(&chunk[..read]);
                open[0] = read > 0;
            }
            if ready.contains(&1) {
                let read = stderr.read(&mut chunk).map_err(at("reading its errors"))?;
                words.extend_from_slice(&chunk[..read.min(TAIL_BYTES.saturating_sub(words.len()))]);
                open[1] = read > 0;
            }
            if let Some((when, status)) = ended
                && (open == [false, false] || rest_of_grace(when).is_zero())
            {
                let pipes = Some((stdout, stderr));
                return Ok(Ended { status, when, output, stderr: words, pipes });
            }
        }
    }

    /// `--prepare` and `--cleanup`: outside the timing, and no part of the work.
    fn beside(&self, line: &str, option: &str, limit: Duration) -> Result<(), Fault> {
        let mut command = command(&self.spec, line)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.tie(&mut command);
        let mut child = command.spawn().map_err(|error| unstartable(&self.spec, line, error))?;
        let pid = Pid::from_child(&child);
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(at("pidfd_open"))?;
        let leash = Leash::new(self);
        // A preparation ends with the controller; what cleans up after it does not, and has less time.
        let mut held = true;
        let mut deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let abandoned = abandoned(&mut child).map(|it| format!("; {it}")).unwrap_or_default();
                self.end_all();
                return Err(Fault::new(format!(
                    "{option} {line:?} did not exit within {} s (--timeout){abandoned}",
                    limit.as_secs()
                )));
            }
            let patience = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            let mut fds = vec![PollFd::new(&process, PollFlags::IN)];
            fds.extend(held.then(|| leash.fd()));
            match poll(&mut fds, Some(&patience)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(at("poll")(error)),
            }
            if !fds[0].revents().is_empty() {
                break;
            }
            if fds.get(1).is_some_and(Leash::is_cut) {
                if self.unclean.get() {
                    leash.follow(pid);
                }
                held = false;
                deadline = deadline.min(Instant::now() + LAST_CLEANUP);
            }
        }
        let status = child.wait().map_err(at(option))?;
        self.end_all();
        match status.success() {
            true => Ok(()),
            false => Err(Fault::new(format!("{option} {line:?} failed ({status})"))),
        }
    }
}

fn summed(stream: &mut impl Read) -> Output {
    let mut sum = Output::new();
    let mut chunk = vec![0; 64 << 10];
    while let Ok(read @ 1..) = stream.read(&mut chunk) {
        sum.add(&chunk[..read]);
    }
    sum
}

/// The beginning of the output; the rest is read too, so that the command never blocks on the pipe.
fn begun(stream: &mut impl Read) -> Vec<u8> {
    let mut words = Vec::new();
    let _ = stream.take(TAIL_BYTES as u64).read_to_end(&mut words);
    let _ = io::copy(stream, &mut io::sink());
    words
}

fn tally(spec: &Spec, ended: &Ended) -> Tally {
    Tally {
        ops: 1,
        // What it read, and reached of the file, is not known from outside.
        bytes: 0,
        distinct_bytes: 0,
        distinct_block_bytes: None,
        distinct_pages: None,
        checksum: ended.checksum(spec.compared),
        threads: 1,
        queue_depth: 1,
    }
}

fn too_long(limit_s: impl std::fmt::Display, abandoned: Option<String>) -> Fault {
    let so = abandoned.unwrap_or_else(|| "it was killed with all its child processes".into());
    Fault::new(format!("it did not exit within {limit_s} s (--timeout); {so}"))
}

/// Kills a command and its session. One that waits for a device does not end then, and is named.
fn abandoned(child: &mut Child) -> Option<String> {
    let pid = child.id();
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let gone = sys::process::within(sys::process::KILLED, || !matches!(child.try_wait(), Ok(None)));
    (!gone).then(|| format!("process {pid} was abandoned: {}", sys::process::why_alive(pid)))
}

struct Ended {
    status: ExitStatus,
    when: Instant,
    output: Output,
    stderr: Vec<u8>,
    /// Open until all processes have ended, which would be killed by what they write otherwise.
    pipes: Option<(ChildStdout, ChildStderr)>,
}

impl Ended {
    /// What lies in the pipe once nothing writes to it any more.
    fn read_rest(&mut self) -> io::Result<()> {
        let Some((mut stdout, _)) = self.pipes.take() else { return Ok(()) };
        let mut chunk = vec![0; 64 << 10];
        while poll(&mut [PollFd::new(&stdout, PollFlags::IN)], Some(&Timespec::default()))? > 0 {
            match stdout.read(&mut chunk)? {
                0 => break,
                read => self.output.add(&chunk[..read]),
            }
        }
        Ok(())
    }

    /// Of output and exit code. Those of versions before were shorter, and cannot be held against it.
    fn checksum(&self, of: Compared) -> String {
        let mut all = match of {
            Compared::Output => self.output.hash.clone(),
            Compared::Status => XxHash3_64::new(),
            Compared::Nothing => return format!("{:016x}", 0),
        };
        all.write(&self.status.code().unwrap_or(-1).to_le_bytes());
        // Of another length: the two are not held against each other.
        let what = if of == Compared::Status { "status" } else { "xxh3" };
        format!("{what}-{:016x}", all.finish())
    }

    fn judge(&self, spec: &Spec, left: &[String]) -> Result<(), Fault> {
        if !left.is_empty() {
            return Err(Fault::new(format!(
                "{:?} left processes behind when it exited ({}); they were killed. A command must wait for the \
                 processes that it starts",
                spec.line,
                left.join(", ")
            )));
        }
        let why = match (self.status.code(), self.status.signal()) {
            (Some(0), _) => return Ok(()),
            (Some(126), _) if spec.shell.is_some() => "ended with status 126 (it cannot be executed)".to_string(),
            (Some(127), _) if spec.shell.is_some() => "ended with status 127 (no such command)".to_string(),
            (Some(_), _) if spec.compared != Compared::Output => return Ok(()),
            (Some(code), _) => format!("ended with status {code}; --anyway accepts that"),
            (None, Some(libc::SIGKILL)) => {
                "was killed by SIGKILL (by itself, by another process, or by the kernel for lack of memory)".to_string()
            }
            (None, Some(signal)) => format!("was killed by signal {signal}"),
            (None, None) => "ended in an unknown way".to_string(),
        };
        let described = String::from_utf8_lossy(&self.stderr).trim().to_string();
        let wants_terminal = ["tty", "terminal", "TERM"].iter().any(|word| described.contains(word));
        let hint =
            if wants_terminal { "; commands have no terminal here, and their standard input is empty" } else { "" };
        let described = if described.is_empty() { String::new() } else { format!(", saying: {described}{hint}") };
        Err(Fault::new(format!("{:?} {why}{described}", spec.line)))
    }
}

/// What a command printed. One that prints much waits until the pipe is read, so that the sum of a byte must cost next to nothing
/// beside the pipe's own copies.
struct Output {
    hash: XxHash3_64,
    bytes: u64,
}

impl Output {
    fn new() -> Output {
        Output { hash: XxHash3_64::new(), bytes: 0 }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.hash.write(bytes);
        self.bytes += bytes.len() as u64;
    }
}

/// Ends everything and this process when the controller goes away: it holds the other end of standard input.
struct Leash<'a> {
    input: io::Stdin,
    execution: &'a Execution,
}

impl<'a> Leash<'a> {
    fn new(execution: &'a Execution) -> Leash<'a> {
        Leash { input: io::stdin(), execution }
    }

    fn fd(&self) -> PollFd<'_> {
        // Nothing is asked for; a hang-up is reported all the same.
        PollFd::new(&self.input, PollFlags::empty())
    }

    fn is_cut(looked: &PollFd) -> bool {
        looked.revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    fn follow(&self, group: Pid) -> ! {
        let _ = kill_process_group(group, Signal::KILL);
        self.execution.end_all();
        let _ = self.execution.clean_up_within(LAST_CLEANUP);
        std::process::exit(1)
    }
}

/// Kills what is watched when the controller goes away, so that watching ends. What its children leave behind comes to
/// this process, and is seen again.
fn end_with_controller(over: &AtomicBool) {
    let input = io::stdin();
    let glance = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    while !over.load(Ordering::Relaxed) {
        let mut fds = [PollFd::new(&input, PollFlags::empty())];
        if poll(&mut fds, Some(&glance)).is_ok() && Leash::is_cut(&fds[0]) {
            sys::process::kill_children();
            thread::sleep(Duration::from_millis(1));
        }
    }
}

const IO_READINGS: [&str; 5] =
    ["read_calls", "read_call_bytes", "write_calls", "device_read_bytes", "device_write_bytes"];
const DISOWNED: &str =
    "the command waits for no child: the kernel reaps those that it has, and adds what they spent to nothing (wait(2))";

fn io_readings(
    before: &io::Result<sys::process::Io>,
    after: &io::Result<sys::process::Io>,
) -> Vec<(String, Reading<f64>)> {
    let spent = match (before, after) {
        (Ok(before), Ok(after)) => Ok(after.since(before)),
        (Err(error), _) | (_, Err(error)) => Err(format!("/proc/self/io: {error}")),
    };
    let fields: [fn(&sys::process::Io) -> u64; 5] = [
        |it| it.read_calls,
        |it| it.read_call_bytes,
        |it| it.write_calls,
        |it| it.device_read_bytes,
        |it| it.device_write_bytes,
    ];
    let reading = |of: fn(&sys::process::Io) -> u64| Reading::from(spent.as_ref().map(|it| of(it) as f64));
    IO_READINGS.iter().zip(fields).map(|(name, of)| (name.to_string(), reading(of))).collect()
}

fn command(spec: &Spec, line: &str) -> Result<Command, Fault> {
    if let Some(shell) = &spec.shell {
        let mut command = Command::new(shell);
        command.args(["-c", line]);
        return Ok(command);
    }
    let words = shlex::split(line).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| Fault::new(format!("{line:?} cannot be split into words: a quote is open")))?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    Ok(command)
}

fn unstartable(spec: &Spec, line: &str, error: io::Error) -> Fault {
    match &spec.shell {
        Some(shell) => at(format!("the shell {shell:?} (--shell) cannot be started"))(error),
        None => at(format!("{line:?} cannot be started"))(error),
    }
}
