//! Lines on stderr.

use std::io::Write;

/// What a script that sees only the exit code should still have in its log. Where that cannot be written (its disk is full, or
/// the other end of the pipe is closed) the exit code is all there is.
pub fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", report::visible(text));
}
