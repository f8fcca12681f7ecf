//! Lines on stderr.

use std::io::Write;

/// What a script that sees only the exit code should still have in its log. Where that cannot be written (its disk is full, or
/// nobody reads it) the exit code says what there is to say.
pub fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", report::visible(text));
}
