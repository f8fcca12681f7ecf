//! Where results go: the store, stdout, and the files that the user named.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use schema::{Findings, Record, across::RunComparison};
use sys::whole::{AccessRights, Taken, Whole};

pub use crate::stderr::note;
use crate::{browser, cli::OutputArgs, exit::UsageError};

impl OutputArgs {
    /// Whether every file can be written, before anything is measured.
    ///
    /// # Errors
    /// A file exists already and `--force` was not given, or its folder does not.
    pub fn check(&self) -> Result<()> {
        let json = self.json.as_ref().map(|path| path.as_deref().unwrap_or(Path::new(STDOUT)));
        let [markdown, csv, html] = [&self.markdown, &self.csv, &self.html].map(Option::as_deref);
        check(&[("--json", json), ("--markdown", markdown), ("--csv", csv), ("--html", html)], self.force)?;
        check_open(self.open, html)
    }

    /// As `check`, for a dry run: of what has not been measured there is a plan, as text or as JSON, and nothing else.
    ///
    /// # Errors
    /// As `check`, or the option that asks for more.
    pub fn check_plan(&self) -> Result<()> {
        let asked = [("--markdown", &self.markdown), ("--csv", &self.csv), ("--html", &self.html)];
        if let Some((option, _)) = asked.into_iter().find(|(_, path)| path.is_some()) {
            return Err(UsageError(format!(
                "a dry run measures nothing, so {option} has nothing to show; --json has the plan"
            ))
            .into());
        }
        self.check()
    }

    /// Whether none of the files is the one that is measured, under any of its names: that is never changed, not even with
    /// `--force`.
    ///
    /// # Errors
    /// Which one.
    pub fn spare(&self, target: &Path) -> Result<()> {
        self.spare_all(|path| is_same_file(path, target))
    }

    /// As `spare`, of several.
    ///
    /// # Errors
    /// Which one.
    pub fn spare_all(&self, is_measured: impl Fn(&Path) -> bool) -> Result<()> {
        self.files().find(|path| is_measured(path)).map_or(Ok(()), |path| Err(refused(path)))
    }

    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let json = self.json.as_ref().and_then(Option::as_ref);
        let paths = [json, self.markdown.as_ref(), self.csv.as_ref(), self.html.as_ref()];
        paths.into_iter().flatten().filter(|path| !is_stdout(path))
    }

    /// The documents that are asked for on stdout, by the option that does: `--json`, or any of them with `-`.
    pub fn on_stdout(&self) -> Vec<&'static str> {
        let dash = |path: &Option<PathBuf>| path.as_deref().is_some_and(is_stdout);
        let asked = [
            ("--json", self.json_on_stdout()),
            ("--markdown", dash(&self.markdown)),
            ("--csv", dash(&self.csv)),
            ("--html", dash(&self.html)),
        ];
        asked.into_iter().filter(|(_, asked)| *asked).map(|(option, _)| option).collect()
    }

    /// Whether a document of one run was asked for, by the option that does.
    pub fn of_one_run(&self) -> Option<&'static str> {
        let asked = [
            ("--json", self.json.is_some()),
            ("--markdown", self.markdown.is_some()),
            ("--csv", self.csv.is_some()),
            ("--html", self.html.is_some()),
        ];
        asked.into_iter().find(|(_, asked)| *asked).map(|(option, _)| option)
    }

    fn json_on_stdout(&self) -> bool {
        self.json.as_ref().is_some_and(|path| path.as_deref().is_none_or(is_stdout))
    }
}

/// Whether all documents that are asked for, each by its option, can be written where they are to go.
///
/// # Errors
/// Two of them go to one place, a file exists already and is not to be overwritten, or its folder does not exist.
pub fn check(documents: &[(&'static str, Option<&Path>)], force: bool) -> Result<()> {
    let asked: Vec<(&str, &Path)> = documents.iter().filter_map(|&(option, path)| Some((option, path?))).collect();
    for (at, (option, path)) in asked.iter().enumerate() {
        let Some((other, _)) = asked[..at].iter().find(|(_, other)| is_same_place(other, path)) else { continue };
        return Err(UsageError(match is_stdout(path) {
            true => format!("{other} and {option} cannot both go to stdout; name a file for one of them"),
            false => format!("{other} and {option} cannot both go to {}; name another file", path.display()),
        })
        .into());
    }
    for (_, path) in asked.into_iter().filter(|(_, path)| !is_stdout(path)) {
        let folder = folder_of(path);
        if !folder.is_dir() {
            return Err(UsageError(format!(
                "cannot write {}: there is no folder {}",
                path.display(),
                folder.display()
            ))
            .into());
        }
        if path.is_dir() {
            return Err(UsageError(format!("cannot write {}: it is a folder", path.display())).into());
        }
        if path.is_file() && !force {
            return Err(UsageError(format!("{} exists already; --force overwrites it", path.display())).into());
        }
    }
    Ok(())
}

/// Whether a page that is to be opened will be a file.
///
/// # Errors
/// It goes to stdout.
pub fn check_open(open: bool, html: Option<&Path>) -> Result<()> {
    match open && html.is_some_and(is_stdout) {
        true => Err(UsageError("--open opens a file, and --html - writes to stdout; name a file for it".into()).into()),
        false => Ok(()),
    }
}

/// Opens the page, where that was asked for. Without a browser the page is still there, so that is a warning.
pub fn open(open: bool, html: Option<&Path>) {
    if let (true, Some(page)) = (open, html) {
        browser::open(page).unwrap_or_else(|why| warn(&why));
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether two documents would replace or follow each other there, whether or not there is a file yet.
fn is_same_place(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| Some((fs::canonicalize(folder_of(path)).ok()?, path.file_name()?.to_owned()));
    match is_stdout(one) || is_stdout(other) {
        true => is_stdout(one) && is_stdout(other),
        false => is_same_file(one, other) || place(one).is_some_and(|it| Some(it) == place(other)),
    }
}

/// The store of records; without one the run goes on, and says that it will not be kept.
pub fn store(args: &OutputArgs) -> Option<history::Store> {
    history::Store::open(None)
        .inspect_err(|error| {
            let advice = if args.json.is_some() { "" } else { "; use --json=FILE to keep it" };
            warn(&format!("this run will not be saved: {error:#}{advice}"));
        })
        .ok()
}

/// Saves a record and returns where it lies; a failure is said once and does not end the run.
pub fn save(store: Option<&history::Store>, record: &Record) -> Option<PathBuf> {
    let store = store?;
    match store.save(record) {
        Ok(path) => Some(path),
        Err(error) => {
            static WARNED: std::sync::Once = std::sync::Once::new();
            WARNED.call_once(|| warn(&format!("the run cannot be saved: {error:#}")));
            None
        }
    }
}

/// All requested outputs.
///
/// # Errors
/// A file cannot be written; the others are.
pub fn emit(
    record: &Record,
    findings: &Findings,
    saved: Option<&Path>,
    args: &OutputArgs,
    details: bool,
) -> Result<()> {
    emit_across(record, findings, None, saved, args, details)
}

/// As `emit`, with an earlier run beside it in the JSON document.
///
/// # Errors
/// As `emit`.
pub fn emit_across(
    record: &Record,
    findings: &Findings,
    across: Option<&RunComparison>,
    saved: Option<&Path>,
    args: &OutputArgs,
    details: bool,
) -> Result<()> {
    args.files().try_for_each(|path| spare_measured(record, path))?;
    // Files first: a closed stdout (`| head`) must not prevent them from being written.
    let json = args.json.as_ref().and_then(Option::as_ref).filter(|path| !is_stdout(path));
    let files: [(Option<&PathBuf>, &dyn Fn() -> String); 4] = [
        (json, &|| report::json(record, findings, across)),
        (args.markdown.as_ref(), &|| report::markdown(record, findings)),
        (args.csv.as_ref(), &|| report::csv(record)),
        (args.html.as_ref(), &|| report::html(record, findings)),
    ];
    let mut first_error = Ok(());
    for (path, text) in files {
        if let Some(path) = path
            && let Err(error) = write(path, &text(), args.force)
            && first_error.is_ok()
        {
            first_error = Err(error);
        }
    }
    if args.json_on_stdout() {
        print(&report::json(record, findings, across))?;
    } else if args.on_stdout().is_empty() {
        let saved = saved.map(|path| path.display().to_string());
        print(&report::terminal(record, findings, style(details), saved.as_deref()))?;
    }
    first_error?;
    open(args.open, args.html.as_deref());
    Ok(())
}

/// The plan of a run, as JSON where that was asked for.
///
/// # Errors
/// The file cannot be written, or the reader of stdout went away.
pub fn emit_plan(plan: &schema::plan::PlannedRun, args: &OutputArgs) -> Result<()> {
    if let Some(path) = args.files().next() {
        write(path, &report::plan_json(plan), args.force)?;
    }
    print(&if args.json_on_stdout() { report::plan_json(plan) } else { report::plan(plan, style(true)) })
}

fn is_same_file(path: &Path, other: &Path) -> bool {
    let place = |path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    place(path).is_some_and(|it| Some(it) == place(other))
}

fn refused(path: &Path) -> anyhow::Error {
    UsageError(format!("{} is the file that is measured; it is never changed", path.display())).into()
}

/// Whether a file is none of those that a record is of, as far as they are still there.
///
/// # Errors
/// It is one of them.
pub fn spare_measured(record: &Record, path: &Path) -> Result<()> {
    let named = record.target.files.iter().flat_map(|it| &it.named).filter(|it| !it.folder).map(|it| &it.path);
    let mut measured = std::iter::once(&record.target.path).chain(named);
    match measured.any(|it| is_same_file(path, Path::new(it))) {
        true => Err(refused(path)),
        false => Ok(()),
    }
}

/// A file that the user named; what was there stays until all of it is written.
///
/// # Errors
/// It is there already and is not to be overwritten, or it cannot be written.
pub fn write(path: &Path, text: &str, force: bool) -> Result<()> {
    if is_stdout(path) {
        return print(text);
    }
    put(path, text, force).with_context(|| format!("cannot write {}", path.display()))
}

fn put(path: &Path, text: &str, force: bool) -> io::Result<()> {
    let there = fs::metadata(path).ok();
    // A device, a pipe or a descriptor that is open is there already and is not overwritten by being written to.
    let is_open =
        ["/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/proc"].iter().any(|it| path.starts_with(it));
    if there.as_ref().is_some_and(|it| !it.is_file() || is_open) {
        return fs::OpenOptions::new().write(true).truncate(true).open(path)?.write_all(text.as_bytes());
    }
    let (taken, access) = match there {
        Some(there) if force => (Taken::Replace, AccessRights::of(&there)),
        _ => (Taken::Refuse, AccessRights::Usual),
    };
    // The file that a link leads to is replaced, and the link stays.
    let path = if taken == Taken::Replace { fs::canonicalize(path)? } else { path.to_path_buf() };
    let folder = folder_of(&path);
    let temporary = format!(".faultline-{}-{:08x}.tmp", std::process::id(), fastrand::u32(..));
    Whole::write(folder, &temporary, text.as_bytes(), access)?.name(&path, taken).map(drop)
}

/// How stdout is written where a file may be named, as for other programs.
const STDOUT: &str = "-";

/// Whether a file that was named is stdout.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == STDOUT
}

/// Text on stdout; colour is taken out unless that is a terminal. A reader that closed the pipe (`| head`) has what it
/// wanted: the exit code stays that of the outcome.
///
/// # Errors
/// Stdout cannot be written to.
pub fn print(text: &str) -> Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("cannot write to stdout"),
        _ => Ok(()),
    }
}

/// A warning on stderr.
pub fn warn(text: &str) {
    note(&format!("warning: {text}"));
}

/// The terminal's width, or what COLUMNS says, or the report's own choice in a pipe.
pub fn style(details: bool) -> report::Style {
    let plain = report::Style::default();
    let width = columns().or_else(terminal_width).unwrap_or(plain.width);
    report::Style { width: width.min(WIDTH_MAX), colour: true, details }
}

/// Longer lines are hard to read.
const WIDTH_MAX: usize = 160;

/// What COLUMNS says, or the terminal's own width; nothing in a pipe.
pub fn terminal_width() -> Option<usize> {
    let stdout = std::io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten()?;
    columns().or(Some(usize::from(size.ws_col)).filter(|&it| it > 0)).map(|it| it.min(WIDTH_MAX))
}

fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok())
}
