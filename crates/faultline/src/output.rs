//! Where results go: the store, stdout, and the files that the user named.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    os::{
        fd::AsRawFd,
        unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use rustix::{
    fs::{Access, OFlags},
    io::Errno,
    process::geteuid,
};
use schema::{Findings, Record, across::RunComparison, leftover::FileIdentity};
use sys::{
    folder::{Folder, lies_in},
    whole::{AccessRights, Place, Taken, Whole, folder_of},
};

pub use crate::stderr::{note, note_whole};
use crate::{
    browser,
    cli::{OutputArgs, STDOUT},
    exit::UsageError,
    locale,
};

impl OutputArgs {
    /// Whether every file can be written, before anything is measured.
    ///
    /// # Errors
    /// A file exists already and `--force` was not given, or its folder does not.
    pub fn check(&self) -> Result<()> {
        self.check_with(&[])
    }

    /// As `check`, with files that are written beside these.
    ///
    /// # Errors
    /// As `check`.
    pub fn check_with(&self, others: &[(&str, Option<&Path>)]) -> Result<()> {
        let documents = self.documents.0.iter().map(|(export, path)| (export.name, Some(&**path)));
        check(&documents.chain(others.iter().copied()).collect::<Vec<_>>(), self.force)?;
        check_open(self.open, self.place_of("html"))
    }

    /// As `check`, for a dry run: of what has not been measured there is a plan, as text or as JSON, and nothing else.
    ///
    /// # Errors
    /// As `check`, or the option that asks for more.
    pub fn check_plan(&self) -> Result<()> {
        if let Some((export, _)) = self.documents.0.iter().find(|(export, _)| export.plan.is_none()) {
            return Err(UsageError(format!(
                "a dry run measures nothing, so --{} has nothing to show; --json has the plan",
                export.name
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

    /// As `spare_read`, of all files.
    ///
    /// # Errors
    /// Which one.
    pub fn spare_read<'a>(&self, read: impl IntoIterator<Item = &'a Path>) -> Result<()> {
        let read: Vec<FileIdentity> = read.into_iter().filter_map(identity).collect();
        self.files().try_for_each(|path| spare_read(path, read.iter().copied()))
    }

    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.documents.0.iter().map(|(_, path)| path).filter(|path| !is_stdout(path))
    }

    /// Where a document that was asked for is to go, by its name.
    fn place_of(&self, name: &str) -> Option<&Path> {
        self.documents.0.iter().find(|(export, _)| export.name == name).map(|(_, path)| &**path)
    }

    /// Whether a document is asked for on stdout.
    pub fn takes_stdout(&self) -> bool {
        self.documents.0.iter().any(|(_, path)| is_stdout(path))
    }
}

/// Whether all documents that are asked for, each by the name of its option, can be written where they are to go.
///
/// # Errors
/// Two of them go to one place, a file exists already and is not to be overwritten, or its folder does not exist.
pub fn check(documents: &[(&str, Option<&Path>)], force: bool) -> Result<()> {
    let asked: Vec<(&str, &Path)> = documents.iter().filter_map(|&(option, path)| Some((option, path?))).collect();
    for (at, (option, path)) in asked.iter().enumerate() {
        let Some((other, _)) = asked[..at].iter().find(|(_, other)| is_same_place(other, path)) else { continue };
        return Err(UsageError(match is_stdout(path) {
            true => format!("--{other} and --{option} cannot both go to stdout; name a file for one of them"),
            false => format!("--{other} and --{option} cannot both go to {}; name another file", path.display()),
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
        if path.is_file() && !force && descriptor(path).is_none() {
            return Err(UsageError(format!("{} exists already; --force overwrites it", path.display())).into());
        }
        possible(path).map_err(|error| UsageError(format!("cannot write {}: {error}", path.display())))?;
    }
    Ok(())
}

/// Whether it can be written, as far as that is known without writing it.
fn possible(path: &Path) -> io::Result<()> {
    if let Some(number) = descriptor(path) {
        return writable(number).map(drop);
    }
    let may_change = |folder: &Path| Ok(rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)?);
    match (fs::metadata(path), Place::of(path)) {
        (Ok(it), _) if it.file_type().is_block_device() => Err(is_a_disk()),
        (_, Err(error)) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        (Ok(it), Ok(place)) if it.is_file() => may_change(folder_of(&place.path())),
        (Ok(it), _) => check_owner(&it, None),
        (Err(_), _) if path.is_symlink() => Err(io::Error::other("it is a symbolic link that leads to no file")),
        (Err(_), _) => may_change(folder_of(path)),
    }
}

/// What is open in this process already, if it may be written to.
fn writable(descriptor: i32) -> io::Result<fs::File> {
    let open = sys::process::duplicate(descriptor)?;
    match () {
        () if open.metadata()?.file_type().is_block_device() => Err(is_a_disk()),
        () if rustix::fs::fcntl_getfl(&open)? & OFlags::RWMODE == OFlags::RDONLY => {
            Err(io::Error::other("it is open for reading only"))
        }
        () => Ok(open),
    }
}

/// Of what is open in this process already (proc_pid_fd(5)).
fn descriptor(path: &Path) -> Option<i32> {
    match path.to_str()? {
        "/dev/stdin" => Some(0),
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        path => path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?.parse().ok(),
    }
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
            let advice = if args.place_of("json").is_some() { "" } else { "; use --json=FILE to keep it" };
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
            WARNED.call_once(|| warn(&format!("{error:#}")));
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
    let (on_stdout, files): (Vec<_>, Vec<_>) = args.documents.0.iter().partition(|(_, path)| is_stdout(path));
    let mut first_error = Ok(());
    for (export, path) in files {
        first_error = first_error.and(write(path, &(export.text)(record, findings, across), args.force));
    }
    for (export, _) in &on_stdout {
        print(&(export.text)(record, findings, across))?;
    }
    if on_stdout.is_empty() {
        // What is not saved cannot be shown later.
        let details = details || (saved.is_none() && !args.quiet);
        let saved = saved.map(|path| path.display().to_string());
        show(&report::terminal(record, findings, style(details), saved.as_deref()))?;
    }
    first_error?;
    open(args.open, args.place_of("html"));
    Ok(())
}

/// The plan of a run, as JSON where that was asked for.
///
/// # Errors
/// The file cannot be written, or the reader of stdout went away.
pub fn emit_plan(plan: &schema::plan::PlannedRun, args: &OutputArgs) -> Result<()> {
    for (export, path) in &args.documents.0 {
        if let Some(text) = export.plan {
            write(path, &text(plan), args.force)?;
        }
    }
    if args.takes_stdout() { Ok(()) } else { show(&report::plan(plan, style(true))) }
}

fn is_same_file(path: &Path, other: &Path) -> bool {
    identity(path).is_some_and(|it| Some(it) == identity(other))
}

/// Which file that is; nothing where it is none.
pub fn identity(path: &Path) -> Option<FileIdentity> {
    fs::metadata(path).ok().map(|it| FileIdentity { device: it.dev(), inode: it.ino() })
}

fn refused(path: &Path) -> anyhow::Error {
    UsageError(format!("{} is, or may be, a file that is measured; those are never changed", path.display())).into()
}

/// Whether a file is none that this command reads itself, as an experiment, a trace or a record, nor one that a command of the
/// user's reaches meanwhile.
///
/// # Errors
/// It is one of them.
pub fn spare_read(path: &Path, mut read: impl Iterator<Item = FileIdentity>) -> Result<()> {
    match identity(path).is_some_and(|it| read.any(|read| read == it)) {
        true => {
            let shown = path.display();
            Err(UsageError(format!("{shown} is a file that is read, or that the command reaches; it is never changed"))
                .into())
        }
        false => Ok(()),
    }
}

/// Whether a file is none of those that a record is of, as far as they are still there.
///
/// # Errors
/// It is one of them.
pub fn spare_measured(record: &Record, path: &Path) -> Result<()> {
    let files = || record.target.files.iter();
    let named = || files().flat_map(|it| &it.named);
    let (folders, others) = (named().filter(|it| it.folder), named().filter(|it| !it.folder).map(|it| &it.path));
    let mut measured = std::iter::once(&record.target.path).chain(others).chain(files().flat_map(|it| &it.first));
    // The record has the names of some files alone, and any that is there may be one of the others.
    let is_in_folder = || folders.into_iter().any(|it| lies_in(path, Path::new(&it.path)));
    match measured.any(|it| is_same_file(path, Path::new(it))) || is_in_folder() {
        true => Err(refused(path)),
        false => Ok(()),
    }
}

/// A file that the user named; what was there stays until all of it is written.
///
/// # Errors
/// It is there already and is not to be overwritten, or it cannot be written.
pub fn write(path: &Path, text: &str, force: bool) -> Result<()> {
    match is_stdout(path) {
        true => print(text),
        false => write_bytes(path, text.as_bytes(), force),
    }
}

/// As `write`, of what is no text.
///
/// # Errors
/// As `write`.
pub fn write_bytes(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    put(path, bytes, force).with_context(|| format!("cannot write {}", path.display()))
}

fn put(path: &Path, bytes: &[u8], force: bool) -> io::Result<()> {
    // At its position: opened anew it would begin at the start of the file.
    if let Some(number) = descriptor(path) {
        return writable(number)?.write_all(bytes);
    }
    let there = fs::metadata(path).ok();
    let temporary = format!(".faultline-{}-{:08x}.tmp", std::process::id(), fastrand::u32(..));
    match there {
        Some(there) if !there.is_file() => special(path)?.write_all(bytes),
        // The file that a link leads to is replaced, and the link stays.
        Some(_) if force => {
            let place = Place::of(path)?;
            if !place.about().is_file() {
                return Err(changed());
            }
            let whole = Whole::write(place.folder(), &temporary, bytes, AccessRights::of(place.about()))?;
            whole.name(place.name(), Taken::Replace).map(drop)
        }
        _ => {
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let whole = Whole::write(&Folder::open(folder_of(path))?, &temporary, bytes, AccessRights::Usual)?;
            whole.name(name, Taken::Refuse).map(drop)
        }
    }
}

/// A pipe or a terminal is not overwritten by being written to, and a disk is.
fn special(path: &Path) -> io::Result<fs::File> {
    // To open a pipe that nothing reads would wait for a reader (fifo(7)).
    let open = |path: &Path, flags: OFlags| {
        let flags = (flags | OFlags::NONBLOCK).bits() as i32;
        fs::OpenOptions::new().write(true).custom_flags(flags).open(path)
    };
    let opened = match Place::of(path) {
        Ok(place) => open(&place.path(), OFlags::NOFOLLOW),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
        // A link to what is open (proc_pid_fd(5)) names no place.
        Err(_) => open(path, OFlags::empty()),
    };
    let file = opened.map_err(|error| without_reader(path, error))?;
    let about = file.metadata()?;
    match () {
        () if about.file_type().is_block_device() => return Err(is_a_disk()),
        () if about.is_file() => return Err(changed()),
        // Again, of what was opened: the name may lead to another pipe by now.
        () => check_owner(&about, Some(&file))?,
    }
    // What is written waits for its reader.
    rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// The error of opening a pipe that nothing reads, in words.
fn without_reader(path: &Path, error: io::Error) -> io::Error {
    let is_unread = error.raw_os_error() == Some(Errno::NXIO.raw_os_error());
    match is_unread && fs::metadata(path).is_ok_and(|it| it.file_type().is_fifo()) {
        true => io::Error::other("it is a pipe, and nothing reads it"),
        false => error,
    }
}

/// Whether a pipe or a socket is root's or this user's own, or was handed to this process: what is written to one that another
/// user made, that user may read. `opened`: the descriptor that was opened here to write to it.
fn check_owner(about: &fs::Metadata, opened: Option<&fs::File>) -> io::Result<()> {
    let owner = about.uid();
    match is_of_another(about.file_type(), owner, geteuid().as_raw()) && !is_handed_over(about, opened) {
        true => Err(io::Error::other(format!("it is a pipe or socket of user {owner}, who may read what is written"))),
        false => Ok(()),
    }
}

/// Devices are left out: none but root makes any.
fn is_of_another(kind: fs::FileType, owner: u32, user: u32) -> bool {
    (kind.is_fifo() || kind.is_socket()) && owner != 0 && owner != user
}

/// Whether this process has it open by another descriptor (proc_pid_fd(5)). `sudo` leaves it pipes that the calling user made.
fn is_handed_over(about: &fs::Metadata, opened: Option<&fs::File>) -> bool {
    let Ok(descriptors) = fs::read_dir("/proc/self/fd") else { return false };
    let opened = opened.map(|it| it.as_raw_fd().to_string());
    let mut others = descriptors.flatten().filter(|it| it.file_name().to_str() != opened.as_deref());
    let same = Some(FileIdentity { device: about.dev(), inode: about.ino() });
    others.any(|it| identity(&it.path()) == same)
}

fn is_a_disk() -> io::Error {
    io::Error::other("it is a disk, which is never written to")
}

fn changed() -> io::Error {
    io::Error::other("it became another file meanwhile")
}

/// Whether a file that was named is stdout.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == STDOUT || descriptor(path) == Some(1)
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

/// As `print`, of what is laid out for people: a terminal gets the characters that it shows.
///
/// # Errors
/// As `print`.
pub fn show(text: &str) -> Result<()> {
    match io::stdout().is_terminal() {
        true => print(&locale::shown(text)),
        false => print(text),
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

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        os::{fd::AsFd, unix::fs::chown},
    };

    use rustix::fs::{CWD, FileType, Mode, Uid};

    use super::*;

    fn pipe_in(folder: &Path) -> PathBuf {
        let path = folder.join("pipe");
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, 0o600.into(), 0).unwrap();
        path
    }

    fn reader_of(pipe: &Path) -> fs::File {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::open(pipe, flags, Mode::empty()).unwrap().into()
    }

    #[test]
    fn a_pipe_is_opened_where_something_reads_it_and_then_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = pipe_in(folder.path());
        assert!(special(&pipe).unwrap_err().to_string().contains("nothing reads it"));
        let mut reader = reader_of(&pipe);
        let mut file = special(&pipe).unwrap();
        assert!(!rustix::fs::fcntl_getfl(&file).unwrap().contains(OFlags::NONBLOCK));
        file.write_all(b"some words").unwrap();
        drop(file);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "some words");
    }

    #[test]
    fn only_pipes_and_sockets_of_others_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |path: &Path| fs::metadata(path).unwrap().file_type();
        let socket = folder.path().join("socket");
        let _listens = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for kind in [kind(&pipe_in(folder.path())), kind(&socket)] {
            let of = [(0, 1000), (1000, 1000), (1001, 1000), (1000, 0)].map(|it| is_of_another(kind, it.0, it.1));
            assert_eq!(of, [false, false, true, true]);
        }
        for path in [Path::new("/dev/null"), folder.path()] {
            assert!(!is_of_another(kind(path), 1001, 0), "{}", path.display());
        }
        special(Path::new("/dev/null")).unwrap();
    }

    #[test]
    fn a_pipe_of_another_user_is_refused_and_one_that_was_handed_over_is_not() {
        const OTHER: u32 = 65_534;
        let folder = tempfile::tempdir().unwrap();
        let pipe = pipe_in(folder.path());
        if !geteuid().is_root() || chown(&pipe, Some(OTHER), None).is_err() {
            return println!("skipped: only root has pipes of other users");
        }
        let reader = reader_of(&pipe);
        let own = fs::metadata(&pipe).unwrap();
        // A descriptor of it is open here, as if it had been handed over.
        check_owner(&own, None).unwrap();
        check_owner(&own, Some(&reader)).unwrap_err();
        drop(reader);
        let refused = check(&[("json", Some(pipe.as_path()))], false).unwrap_err();
        assert!(refused.is::<UsageError>() && refused.to_string().contains("of user 65534"), "{refused}");
        let (_kept, writer) = std::io::pipe().unwrap();
        if rustix::fs::fchown(writer.as_fd(), Some(Uid::from_raw(OTHER)), None).is_ok() {
            let path = format!("/proc/{}/fd/{}", std::process::id(), writer.as_raw_fd());
            special(Path::new(&path)).unwrap();
        }
    }
}
