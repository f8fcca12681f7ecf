//! Exit codes: documented in the README, tested in `tests/`.

use std::process::ExitCode;

use crate::stderr;

/// How a command ended, when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The question was answered.
    Answered = 0,
    /// Every pass failed, or what was measured changed meanwhile; the report says why.
    EveryPassFailed = 1,
    /// It was not said what to do, as for options that clap refuses.
    Usage = 2,
    /// It ran, and no comparison was decided.
    NothingDecided = 3,
    /// An arm that was requested by name is unavailable here.
    Unavailable = 4,
    /// A difference that `--fail-if` forbids.
    Breached = 5,
    /// Stopped by the user; what was measured is kept.
    Interrupted = 130,
}

/// A usage error: exit code 2, as for options that clap refuses.
#[derive(Debug)]
pub struct UsageError(pub String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// The user stopped it before there was anything to keep: exit code 130, as for a run that was stopped later.
#[derive(Debug)]
pub struct Stopped(pub &'static str);

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Stopped {}

impl Exit {
    /// Why the exit code is not 0, where the command has not said it itself. Stderr has it in every mode: who reads JSON
    /// from stdout sees it too.
    fn says(self) -> Option<&'static str> {
        match self {
            Exit::Answered | Exit::Usage | Exit::Breached => None,
            Exit::EveryPassFailed => Some("every pass failed, or the measured file changed; the report has the reason"),
            Exit::NothingDecided => {
                Some("there is no answer: nothing was found, or it is not decided; the report has the reason")
            }
            Exit::Unavailable => {
                Some("an arm that was requested by name is unavailable here; the report has the reason")
            }
            Exit::Interrupted => Some("interrupted; what was measured until then is kept or shown"),
        }
    }
}

/// The process's exit code; what it means is printed on the way, unless it is 0.
pub fn code(result: anyhow::Result<Exit>) -> ExitCode {
    match result {
        Ok(outcome) => {
            if let Some(says) = outcome.says() {
                stderr::note(&format!("exit code {}: {says}", outcome as u8));
            }
            ExitCode::from(outcome as u8)
        }
        Err(error) => {
            stderr::note(&format!("error: {error:#}"));
            ExitCode::from(match () {
                () if error.is::<UsageError>() => 2,
                () if error.is::<Stopped>() => Exit::Interrupted as u8,
                () => 1,
            })
        }
    }
}
