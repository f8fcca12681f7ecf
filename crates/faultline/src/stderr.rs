//! What is written to stderr: lines that stay, and above the cursor of a terminal some that are drawn again and again.

use std::{
    io::{IsTerminal, Write},
    sync::Mutex,
};

use crate::locale;

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub width: usize,
    pub height: usize,
}

/// What is drawn at the moment: the columns that each of its lines takes.
static DRAWN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// What a script that sees only the exit code should still have in its log. Where that cannot be written (its disk is full, or
/// the other end of the pipe is closed) the exit code is all there is.
pub fn note(text: &str) {
    say(&report::visible(text));
}

/// A command line, of which nothing is left out, as a line of its own.
pub fn note_whole(text: &str) {
    say(&format!("  {}", report::whole(text)));
}

fn say(text: &str) {
    clear();
    let text = if std::io::stderr().is_terminal() { locale::shown(text) } else { text.into() };
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// The size of the terminal, if stderr is one whose cursor can be moved.
pub fn terminal() -> Option<Size> {
    let stderr = std::io::stderr();
    if !stderr.is_terminal() || std::env::var_os("TERM").is_none_or(|it| it == "dumb") {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stderr).ok();
    // A terminal that does not say how large it is has 0 of both.
    let or = |cells: Option<u16>, usual: usize| cells.map(usize::from).filter(|&it| it > 0).unwrap_or(usual);
    Some(Size { width: or(size.map(|it| it.ws_col), 80), height: or(size.map(|it| it.ws_row), 24) })
}

/// Whether colours are wanted there.
pub fn is_coloured() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// Draws lines in place of those that were drawn before.
pub fn draw(lines: &[String], size: Size) {
    let lines: Vec<String> = lines.iter().map(|it| locale::shown(it).into_owned()).collect();
    write(|drawn| {
        let text = erased(drawn, size.width) + &shown(&lines);
        let columns = |line: &String| report::width(&anstream::adapter::strip_str(line).to_string()).min(size.width);
        *drawn = lines.iter().map(columns).collect();
        text
    });
}

/// Erases what was drawn.
pub fn clear() {
    write(|drawn| match drawn.is_empty() {
        true => String::new(),
        false => erased(&std::mem::take(drawn), terminal().map_or(usize::MAX, |it| it.width)),
    });
}

fn write(text: impl FnOnce(&mut Vec<usize>) -> String) {
    let mut drawn = DRAWN.lock().unwrap_or_else(|it| it.into_inner());
    // A terminal that is gone is no reason to end a run.
    let _ = std::io::stderr().write_all(text(&mut drawn).as_bytes());
}

/// From the end of the last line to the beginning of the first, and nothing after it. Terminals break lines that became
/// too wide, each in its own way: then what was drawn stays, and the next begins below it.
fn erased(drawn: &[usize], width: usize) -> String {
    match drawn {
        [] => String::new(),
        lines if lines.iter().any(|&it| it > width) => "\r\n".into(),
        [_] => "\r\x1b[J".into(),
        lines => format!("\r\x1b[{}A\x1b[J", lines.len() - 1),
    }
}

/// Without line wrap (DECAWM, mode 7) the terminal cuts what is too wide.
fn shown(lines: &[String]) -> String {
    format!("\x1b[?7l{}\x1b[?7h", lines.join("\r\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_drawn_is_erased_unless_the_terminal_became_too_narrow_for_it() {
        assert_eq!(erased(&[], 80), "");
        assert_eq!(erased(&[80], 80), "\r\x1b[J");
        assert_eq!(erased(&[20, 40, 30], 40), "\r\x1b[2A\x1b[J");
        assert_eq!(erased(&[20, 40, 30], 39), "\r\n");
    }
}
