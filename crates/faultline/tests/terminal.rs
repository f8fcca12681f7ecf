//! Progress on a terminal: what stays on the screen, how wide it is, and that nothing of it is in a pipe.

use std::{
    fs::File,
    io::Read,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    process::{Command, Stdio},
    thread::JoinHandle,
    time::Duration,
};

use crate::support::{Output, Running, Sandbox, short};

/// The screen of a terminal that cuts lines instead of breaking them, as far as faultline uses one.
struct Screen {
    columns: usize,
    rows: Vec<String>,
    at: usize,
    column: usize,
    /// Every row as it once was.
    seen: Vec<String>,
}

impl Screen {
    fn new(columns: usize) -> Screen {
        Screen { columns, rows: vec![String::new()], at: 0, column: 0, seen: Vec::new() }
    }

    #[track_caller]
    fn feed(&mut self, text: &str) {
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '\r' => self.column = 0,
                '\n' => {
                    self.at += 1;
                    self.rows.resize(self.rows.len().max(self.at + 1), String::new());
                }
                '\u{1b}' => {
                    assert_eq!(rest.next(), Some('['), "{text:?}");
                    let mut parameters = String::new();
                    while let Some(c) = rest.next_if(|it| !it.is_ascii_alphabetic()) {
                        parameters.push(c);
                    }
                    let final_byte = rest.next().unwrap();
                    self.control(&parameters, final_byte);
                }
                c => {
                    assert!(!c.is_control(), "{c:?} in {text:?}");
                    let mut row: Vec<char> = self.rows[self.at].chars().collect();
                    let column = self.column.min(self.columns - 1);
                    row.resize(row.len().max(column + 1), ' ');
                    row[column] = c;
                    self.rows[self.at] = row.into_iter().collect();
                    self.column = column + 1;
                }
            }
        }
    }

    #[track_caller]
    fn control(&mut self, parameters: &str, final_byte: char) {
        match (parameters, final_byte) {
            (up, 'A') => self.at = self.at.checked_sub(up.parse().unwrap()).expect("it stays on the screen"),
            ("", 'J') => {
                self.seen.extend(self.rows[self.at..].iter().cloned());
                self.rows.truncate(self.at + 1);
                let kept = self.rows[self.at].chars().take(self.column).collect();
                self.rows[self.at] = kept;
            }
            ("?7", 'l' | 'h') | (_, 'm') => {}
            other => panic!("{other:?} is not known here"),
        }
    }
}

/// A command whose stderr is a terminal.
struct OnTerminal {
    running: Running,
    terminal: OwnedFd,
    stderr: JoinHandle<String>,
}

impl OnTerminal {
    fn start(sandbox: &Sandbox, args: &[&str], size: [u16; 2]) -> OnTerminal {
        OnTerminal::with(sandbox.command(args), size)
    }

    fn with(mut command: Command, size: [u16; 2]) -> OnTerminal {
        let (mut ours, mut theirs) = (0, 0);
        let size = winsize(size);
        let nothing = std::ptr::null_mut();
        // SAFETY: openpty(3) writes two descriptors and reads a size, all of which outlive the call.
        let opened = unsafe { libc::openpty(&mut ours, &mut theirs, nothing, nothing.cast(), &size) };
        assert_eq!(opened, 0);
        // SAFETY: both were just opened, and nothing else has them.
        let (ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        command.env("TERM", "xterm").env_remove("COLUMNS").env_remove("NO_COLOR");
        let running = Running::with_stderr(command, Stdio::from(theirs));
        let mut reader = File::from(ours.try_clone().unwrap());
        let stderr = std::thread::spawn(move || {
            let mut all = Vec::new();
            // A terminal whose other end is closed is an error, and not an end.
            let _ = reader.read_to_end(&mut all);
            String::from_utf8(all).expect("it is UTF-8, also where a line is cut")
        });
        OnTerminal { running, terminal: ours, stderr }
    }

    /// What stdout has, and what was written to the terminal.
    fn end(self) -> (Output, String) {
        let output = self.running.end();
        (output, self.stderr.join().unwrap())
    }
}

fn resize(terminal: &OwnedFd, size: [u16; 2]) {
    let size = winsize(size);
    // SAFETY: TIOCSWINSZ reads the size, which outlives the call.
    assert_eq!(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &size) }, 0);
}

fn winsize([columns, rows]: [u16; 2]) -> libc::winsize {
    libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

const MEASURED: [&str; 4] = ["--block=4KiB,64KiB", "--state=cached,mapped", "--rounds=12", "--budget=44s"];

#[test]
fn a_narrow_terminal_shows_a_matrix_that_grows_and_has_only_the_answer_in_the_end() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4 << 20);
    let (output, stderr) = OnTerminal::start(&sandbox, &short(&file, &MEASURED), [40, 30]).end();
    output.sane();
    assert!(output.stdout.contains("Trust: ") && !output.stdout.contains("so far"), "{output:#?}");
    let mut screen = Screen::new(40);
    screen.feed("before\r\n");
    screen.feed(&stderr);
    let seen = |words: &str| screen.seen.iter().any(|it| it.contains(words));
    assert!(seen("The answer so far:") && seen("cached") && seen(", round "), "{:#?}", screen.seen);
    assert!(seen(" s left"), "{:#?}", screen.seen);
    let left: Vec<&str> = screen.rows.iter().map(|it| it.trim()).filter(|it| !it.is_empty()).collect();
    let expected: &[&str] = if output.code() == Some(0) { &["before"] } else { &["before", "exit code 3"] };
    assert!(left.len() == expected.len() && left[0] == "before", "{left:?}");
}

#[test]
fn a_terminal_that_shows_no_utf8_gets_none() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("größe", 1 << 20);
    let mut command = sandbox.command(&short(&file, &["--block=4KiB", "--state=cached,mapped", "--rounds=6"]));
    command.env("LC_ALL", "C");
    let (output, stderr) = OnTerminal::with(command, [80, 30]).end();
    output.sane();
    assert!(stderr.is_ascii() && stderr.contains("cached"), "{stderr}");
    let of_no_file = sandbox.at("größe, but not there");
    let mut command = sandbox.command(&["run", &of_no_file]);
    command.env("LC_ALL", "C");
    let (output, stderr) = OnTerminal::with(command, [80, 30]).end();
    assert_eq!(output.code(), Some(1));
    assert!(stderr.is_ascii() && stderr.contains("gr??e, but not there"), "{stderr}");
}

#[test]
fn a_terminal_that_is_resized_loses_no_line_that_stood_there_before() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4 << 20);
    let mut on = OnTerminal::start(&sandbox, &short(&file, &MEASURED), [100, 30]);
    let mut sizes = [[40, 8], [60, 30], [20, 4], [200, 3], [1, 1], [100, 30]].into_iter().cycle();
    // Until it ends.
    on.running.until(|| {
        resize(&on.terminal, sizes.next()?);
        std::thread::sleep(Duration::from_millis(60));
        None::<()>
    });
    let (output, stderr) = on.end();
    output.sane();
    let mut screen = Screen::new(200);
    screen.feed("before\r\n");
    screen.feed(&stderr);
    assert_eq!(screen.rows[0], "before");
}

#[test]
fn a_pipe_has_no_progress_and_neither_has_a_terminal_without_a_cursor_or_a_quiet_run() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let output = sandbox.run_short(&file, &[]);
    assert!(!output.stderr.contains("left") && !output.stderr.contains('\u{1b}'), "{output:#?}");
    let (output, stderr) = OnTerminal::start(&sandbox, &short(&file, &["--quiet"]), [80, 24]).end();
    output.sane();
    assert!(!stderr.contains(" s left") && !stderr.contains('\u{1b}'), "{stderr:?}");
}
