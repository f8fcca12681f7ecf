//! The only live output: one line on stderr with the time left, when stderr is a terminal.

use std::{
    cell::Cell,
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

/// A progress line; silent in a pipe and with `--quiet`.
pub struct Line {
    shown: bool,
    drawn: Cell<Option<Instant>>,
}

/// Drawing more often would show nothing more.
const BETWEEN: Duration = Duration::from_millis(100);
const BAR: usize = 20;

impl Line {
    pub fn new(quiet: bool) -> Line {
        Line { shown: std::io::stderr().is_terminal() && !quiet, drawn: Cell::new(None) }
    }

    /// Where the work stands; `share` from 0 to 1.
    pub fn show(&self, what: &str, share: f64, left: Option<Duration>) {
        if !self.shown || self.drawn.get().is_some_and(|it| it.elapsed() < BETWEEN) {
            return;
        }
        self.drawn.set(Some(Instant::now()));
        // Without line wrap (DECAWM, mode 7) the terminal cuts what is too wide, whatever its width is.
        self.write(&format!("\r\x1b[?7l{}\x1b[K\x1b[?7h", text(what, share, left)));
    }

    pub fn done(&self) {
        if self.drawn.take().is_some() {
            self.write("\r\x1b[K");
        }
    }

    fn write(&self, text: &str) {
        // A terminal that is gone is no reason to end a run.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.done();
    }
}

fn text(what: &str, share: f64, left: Option<Duration>) -> String {
    let share = share.clamp(0.0, 1.0);
    let full = (share * BAR as f64) as usize;
    let head = if full < BAR { ">" } else { "" };
    let left = left.map_or_else(String::new, |left| format!("{} s left", left.as_secs()));
    let bar = "=".repeat(full) + head;
    format!("{bar:BAR$} {:>3}%  {left}  {}", (share * 100.0) as u32, report::visible(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_bar_a_share_the_time_left_and_harmless_text() {
        let line = |share| text("a\x1b[2Jb", share, Some(Duration::from_secs(7)));
        assert_eq!(line(0.5), "==========>           50%  7 s left  a\\u{1b}[2Jb");
        assert_eq!(line(7.0), "==================== 100%  7 s left  a\\u{1b}[2Jb");
        assert_eq!(line(f64::NAN).len(), line(0.0).len());
    }
}
