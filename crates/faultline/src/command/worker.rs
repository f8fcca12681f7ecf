//! `faultline worker`: the native worker, started by the controller.

use std::process::ExitCode;

pub fn run() -> ExitCode {
    sys::process::end_on_panic();
    worker::serve(std::io::stdin().lock(), std::io::stdout().lock(), std::io::stderr())
}
