//! Exit codes: documented in the README, tested in `tests/`.

use std::process::ExitCode;

/// How a command ended, when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The question was answered.
    Answered = 0,
    /// Every pass failed, or what was measured changed meanwhile; the report says why.
    EveryPassFailed = 1,
    /// It ran, and no comparison was decided.
    NothingDecided = 3,
    /// An arm that was asked for by name is unavailable here.
    Unavailable = 4,
    /// A difference that `--fail-if` forbids.
    Breached = 5,
    /// Stopped by the user; what was measured is kept.
    Interrupted = 130,
}

/// What the user asked for cannot be understood: exit code 2, as for options that clap refuses.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The user stopped it before there was anything to keep: exit code 130, as for a run that was stopped later.
#[derive(Debug)]
pub struct Stopped(pub &'static str);

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Stopped {}

/// The process's exit code; an error is printed on the way.
pub fn code(result: anyhow::Result<Outcome>) -> ExitCode {
    match result {
        Ok(outcome) => ExitCode::from(outcome as u8),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("error: {}", report::visible(&format!("{error:#}")));
            ExitCode::from(match () {
                () if error.is::<Usage>() => 2,
                () if error.is::<Stopped>() => Outcome::Interrupted as u8,
                () => 1,
            })
        }
    }
}

/// The reader of our output went away (`faultline list methods | head -1`): nothing is wrong.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref::<std::io::Error>().map(|it| it.kind());
    error.chain().any(|cause| kind(cause) == Some(std::io::ErrorKind::BrokenPipe))
}
