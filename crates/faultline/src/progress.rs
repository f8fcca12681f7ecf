//! The only live output: one line on stderr with the time left, when somebody is looking.

use std::{io::IsTerminal, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress line; silent in a pipe and with `--quiet`.
pub struct Line(ProgressBar);

impl Line {
    pub fn new(quiet: bool) -> Line {
        let target = match std::io::stderr().is_terminal() && !quiet {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let style =
            ProgressStyle::with_template("{bar:20} {percent:>3}%  {prefix}  {wide_msg}").expect("a valid template");
        Line(ProgressBar::with_draw_target(Some(1000), target).with_style(style.progress_chars("=> ")))
    }

    /// Where the work stands; `share` from 0 to 1.
    pub fn show(&self, what: &str, share: f64, left: Option<Duration>) {
        self.0.set_position((share * 1000.0) as u64);
        self.0.set_prefix(left.map_or_else(String::new, |left| format!("{} s left", left.as_secs())));
        self.0.set_message(report::visible(what));
    }

    pub fn done(&self) {
        self.0.finish_and_clear();
    }
}
