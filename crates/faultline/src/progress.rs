//! What is done at the moment, how long it still takes, and the answer so far: on stderr, when that is a terminal.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use lab::execute::Progress;
use schema::{Findings, Record};

use crate::stderr::{self, Size};

/// Progress on a terminal; silent in a pipe and with `--quiet`. Nothing is drawn while a pass is timed: the run calls this
/// between passes, and no thread does anything in the meantime.
pub struct Line {
    shown: bool,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    drawn: Option<Instant>,
    size: Option<Size>,
    answer: Answer,
}

/// Drawing more often would show nothing more.
const BETWEEN: Duration = Duration::from_millis(100);
const BAR: usize = 20;
/// Below this width there is no bar, and what is measured has a line of its own.
const WIDE: usize = 60;
/// Below this height nothing has.
const HIGH: usize = 4;

impl Line {
    pub fn new(quiet: bool) -> Line {
        Line { shown: !quiet && stderr::terminal().is_some(), state: RefCell::default() }
    }

    /// Where the work stands; `share` from 0 to 1.
    pub fn show(&self, what: &str, share: f64) {
        self.draw(|_, size| text(what, share, None, size));
    }

    /// Where a run stands, and its answer so far.
    pub fn show_run(&self, progress: &Progress, record: &Record) {
        self.draw(|answer, size| {
            let mut lines = answer.lines(record, size);
            lines.extend(text(&progress.what, progress.share, Some(progress.left), size));
            lines
        });
    }

    fn draw(&self, lines: impl FnOnce(&mut Answer, Size) -> Vec<String>) {
        let mut state = self.state.borrow_mut();
        if !self.shown || state.drawn.is_some_and(|it| it.elapsed() < BETWEEN) {
            return;
        }
        let Some(size) = stderr::terminal() else { return };
        state.drawn = Some(Instant::now());
        // A window that is being resized has another size each time; what is drawn for one of them would stay.
        if state.size.replace(size).is_some_and(|before| before.width != size.width) {
            return;
        }
        let lines = lines(&mut state.answer, size);
        stderr::draw(&lines, size);
    }

    pub fn done(&self) {
        if self.state.take().drawn.is_some() {
            stderr::clear();
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.done();
    }
}

/// The answer as far as the run has come.
#[derive(Default)]
struct Answer {
    findings: Option<Findings>,
    /// When it may be worked out anew.
    next: Option<Instant>,
    /// For which size it was laid out.
    laid_out: Option<(Size, Vec<String>)>,
}

/// The answer is worked out this often at most, and so that it takes 1 / SHARE of the run at most.
const ANEW: Duration = Duration::from_secs(2);
const SHARE: u32 = 200;

impl Answer {
    /// As many lines as leave room for the progress below them.
    fn lines(&mut self, record: &Record, size: Size) -> Vec<String> {
        let now = Instant::now();
        let is_due = report::has_matrix(record) && self.next.is_none_or(|it| now >= it);
        if is_due {
            self.findings = Some(analysis::analyze(record));
        }
        let Some(findings) = &self.findings else { return Vec::new() };
        if is_due || self.laid_out.as_ref().is_none_or(|(of, _)| *of != size) {
            let lines = lay_out(record, findings, size);
            self.laid_out = Some((size, lines.unwrap_or_default()));
        }
        if is_due {
            self.next = Some(Instant::now() + pause(now.elapsed()));
        }
        self.laid_out.as_ref().map_or_else(Vec::new, |(_, lines)| lines.clone())
    }
}

fn pause(took: Duration) -> Duration {
    (took * SHARE).max(ANEW)
}

fn lay_out(record: &Record, findings: &Findings, size: Size) -> Option<Vec<String>> {
    let style = report::Style { width: size.width, colour: stderr::is_coloured(), details: false };
    let [matrix, legend] = report::so_far(record, findings, style)?;
    Some(fitting(&matrix, &legend, size.height))
}

/// The matrix with what its signs mean, or by itself, or nothing: a part of it could not be erased again.
fn fitting(matrix: &str, legend: &str, height: usize) -> Vec<String> {
    let lines = |parts: &[&str]| -> Vec<String> { parts.iter().flat_map(|it| it.lines()).map(String::from).collect() };
    let all = [lines(&["The answer so far:", matrix, legend]), lines(&["The answer so far:", matrix])];
    // Less the progress, and one line that shows what stood there before.
    all.into_iter().find(|it| it.len() + 3 <= height).unwrap_or_default()
}

/// `left` is of what has an end that is known: absent, or at most so long, or as long as it takes.
fn text(what: &str, share: f64, left: Option<Option<Duration>>, size: Size) -> Vec<String> {
    let share = share.clamp(0.0, 1.0);
    let full = (share * BAR as f64) as usize;
    let head = if full < BAR { ">" } else { "" };
    let is_wide = size.width >= WIDE;
    let bar = if is_wide { format!("{:BAR$} ", "=".repeat(full) + head) } else { String::new() };
    let percent = format!("{bar}{:>3}%", (share * 100.0) as u32);
    let what = report::visible(what);
    let lead = match left {
        None => percent,
        Some(Some(left)) => format!("{percent}  {} s left", left.as_secs()),
        Some(None) => return vec![what],
    };
    match is_wide || size.height < HIGH {
        true => vec![format!("{lead}  {what}")],
        false => vec![lead, what],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Size = Size { width: 80, height: 24 };

    #[test]
    fn a_line_is_a_bar_a_share_the_time_left_and_harmless_text() {
        let line = |share| text("a\x1b[2Jb", share, Some(Some(Duration::from_secs(7))), USUAL);
        assert_eq!(line(0.5), ["==========>           50%  7 s left  a\\u{1b}[2Jb"]);
        assert_eq!(line(7.0), ["==================== 100%  7 s left  a\\u{1b}[2Jb"]);
        assert_eq!(line(f64::NAN)[0].len(), line(0.0)[0].len());
    }

    #[test]
    fn a_narrow_terminal_has_no_bar_and_what_has_no_known_end_has_no_share() {
        let narrow = |height| text("mmap", 0.5, Some(Some(Duration::from_secs(7))), Size { width: 40, height });
        assert_eq!(narrow(24), [" 50%  7 s left", "mmap"]);
        assert_eq!(narrow(3), [" 50%  7 s left  mmap"]);
        assert_eq!(text("mmap", 0.5, Some(None), USUAL), ["mmap"]);
        assert_eq!(text("writing", 0.5, None, Size { width: 40, height: 3 }), [" 50%  writing"]);
    }

    #[test]
    fn what_is_too_high_for_the_terminal_is_left_out() {
        let lines = |height| fitting("a\nb\n", "c\n", height).len();
        assert_eq!([24, 7, 6, 5].map(lines), [4, 4, 3, 0]);
    }

    #[test]
    fn an_answer_that_is_not_there_yet_may_come() {
        let record = planted::Planting::default().plant().record;
        let size = Size { width: 500, height: 1000 };
        let mut early = record.clone();
        early.samples.retain(|it| record.cells[it.cell].condition == 0);
        let mut answer = Answer::default();
        assert_eq!(answer.lines(&early, size), Vec::<String>::new());
        assert!(!answer.lines(&record, size).is_empty());
    }

    #[test]
    fn working_out_the_answer_takes_less_than_one_percent_of_a_run() {
        assert_eq!(pause(Duration::from_millis(1)), ANEW);
        let slow = Duration::from_millis(300);
        assert!(slow.as_secs_f64() / pause(slow).as_secs_f64() < 0.01);
    }
}
