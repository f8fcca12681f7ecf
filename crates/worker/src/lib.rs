//! The worker: a short-lived process that reads or writes the data. It takes requests on stdin and replies on stdout.
//!
//! `serve` is the conversation of `schema::protocol`. Below it: `task` checks a job, `method` holds the ways of
//! reading a file and `access` what they have in common, `session` opens, times and closes, `drive` is the timed loop with `source` on one side and
//! `consume` on the other; `writing` is the same for workloads that change the file, `beat` a thread beside a pass. The worker has one job at a time. It sets no state, sees no other pass, and computes no
//! statistic.

mod access;
mod alone;
mod at_work;
mod beat;
mod buffer;
mod command;
mod consume;
mod drive;
mod mapping;
mod method;
mod observe;
mod process_tree;
mod session;
mod source;
mod task;
mod usage;
mod writing;

use std::{
    io::{self, BufRead, Write},
    process::ExitCode,
};

use schema::{
    Reading,
    protocol::{Done, Failed, Hello, Job, PROTOCOL, Reply, Request},
    runtime::NATIVE,
};

use crate::{
    beat::Beat,
    method::METHODS,
    session::Session,
    task::{Fault, Refusal, Task},
};

/// Answers requests until `bye` or the end of the input. Exits with 0, unless its own pipes break or what follows the last
/// pass fails; why it fails is then written to `errors`, because the controller reads no reply after `bye`.
pub fn serve(mut input: impl BufRead, mut output: impl Write, mut errors: impl Write) -> ExitCode {
    let mut worker = Worker { session: None, alone: None, beat: None, pass: 0 };
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) => return ExitCode::SUCCESS,
            Ok(_) => {}
            Err(_) => return ExitCode::FAILURE,
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let reply = match serde_json::from_slice(&line) {
            Ok(Request::Bye {}) => {
                return match worker.end() {
                    Ok(()) => ExitCode::SUCCESS,
                    Err(fault) => {
                        // Without a reader of it the exit code is all that can be said.
                        let _ = writeln!(errors, "{fault}");
                        ExitCode::FAILURE
                    }
                };
            }
            Ok(request) => worker.answer(request),
            Err(error) => {
                let shown = String::from_utf8_lossy(&line[..line.len().min(80)]).trim_end().to_string();
                failed(worker.pass, "prepare", Fault::new(format!("not a request: {error}: {shown:?}")))
            }
        };
        // A closed stdout means that the controller is gone, so there is no one to report to.
        if send(&mut output, &reply).is_err() {
            return ExitCode::FAILURE;
        }
    }
}

fn send(output: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// The state of the conversation.
struct Worker {
    session: Option<Box<dyn Session>>,
    /// How fast the loop of the job is by itself, where that is asked for.
    alone: Option<(String, Reading<f64>)>,
    /// Beside the timed pass, where that is asked for.
    beat: Option<Beat>,
    /// The last one heard of, for replies to lines that name none.
    pass: u64,
}

impl Worker {
    fn answer(&mut self, request: Request) -> Reply {
        match request {
            // For any version requested: the controller compares, and ends the conversation if it does not support this one.
            Request::Hello { protocol: _ } => Reply::Hello(Hello {
                protocol: PROTOCOL,
                runtime: NATIVE.name.to_string(),
                methods: METHODS.iter().map(|method| method.name().to_string()).collect(),
                thread: None,
                about: Default::default(),
            }),
            Request::Prepare(job) => {
                let pass = job.pass;
                self.pass = pass;
                // The old session's memory and mappings are freed before the new session is created.
                if let Err(fault) = self.end() {
                    return failed(pass, "close", fault);
                }
                // Probes look from `go` to `done`.
                self.alone = job.times_its_loop.then(|| alone::reading(&job)).flatten();
                let beside = job.beside;
                match prepare(*job).and_then(|session| Ok((session, beat::beside(beside)?))) {
                    Ok((session, beat)) => {
                        (self.session, self.beat) = (Some(session), beat);
                        Reply::Prepared { pass, pid: std::process::id() }
                    }
                    Err(Refusal::Unavailable(reason)) => Reply::Unavailable { pass, reason },
                    Err(Refusal::Failed(fault)) => failed(pass, "prepare", fault),
                }
            }
            Request::Go { pass, warm } => {
                self.pass = pass;
                let beat = self.beat.as_mut().filter(|_| warm == 0);
                let mut beats = None;
                let passed = self.session.as_mut().map(|session| match beat {
                    Some(beat) => beat.beside(&mut beats, || session.pass(warm)),
                    None => session.pass(warm),
                });
                match passed {
                    Some(Ok(measured)) => {
                        let session::PassResult { phases, tally, usage, parts, mut seen, observation } = measured;
                        seen.extend(self.alone.clone().filter(|_| warm == 0));
                        Reply::Done(Box::new(Done {
                            pass,
                            phases,
                            tally,
                            usage,
                            parts,
                            seen,
                            own_reads: None,
                            observation,
                            beats,
                        }))
                    }
                    Some(Err((during, fault))) => failed(pass, during, fault),
                    None => failed(pass, "prepare", Fault::new("`go` came, but nothing is prepared")),
                }
            }
            Request::Bye {} => unreachable!("serve returns on bye"),
        }
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.beat = None;
        self.session.take().map_or(Ok(()), |mut session| session.end())
    }
}

fn prepare(job: Job) -> Result<Box<dyn Session>, Refusal> {
    if job.method == schema::command::COMMAND {
        return match job.permit.execute {
            true => command::session(&job),
            false => Err(Fault::new("the job is a command without the permission to execute it").into()),
        };
    }
    let task = Task::new(job)?;
    let method = METHODS
        .iter()
        .find(|method| method.name() == task.arm.method)
        .ok_or_else(|| Refusal::Unavailable(format!("this worker has no method {:?}", task.arm.method)))?;
    if task.job.workload.writes() {
        return writing::session(task);
    }
    if task.several.is_some() {
        task.arm.replays_several().map_err(Refusal::Unavailable)?;
    }
    method.support(&task).map_err(Refusal::Unavailable)?;
    method.session(task)
}

fn failed(pass: u64, during: &str, fault: Fault) -> Reply {
    Reply::Failed(Failed { pass, during: during.to_string(), errno: fault.errno(), message: fault.to_string() })
}
