//! `faultline worker`: the native worker, started by the controller.

use std::process::ExitCode;

pub fn run() -> ExitCode {
    worker::serve(std::io::stdin().lock(), std::io::stdout().lock(), std::io::stderr())
}
