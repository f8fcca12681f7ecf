//! The output of `strace -f -y`. Offsets are the arguments, or follow from the position of the descriptor: from its opening
//! on, every read, write and seek is followed, and so is each duplicate of it, which has the same position (`descriptors`).

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
    io::BufRead,
};

use super::{Found, LINE_BYTES_MAX, Lines, Wrong, descriptors::Descriptors};

pub(super) const RECORDER: &str = "strace";

/// Calls that make threads and processes, and the flag with which these have the descriptors of the one that made them.
const MAKE: [&str; 4] = ["clone", "clone3", "fork", "vfork"];
const SHARES: &str = "CLONE_FILES";

/// Calls that may begin at the position of a descriptor, and move it.
const MOVE: [&str; 12] = [
    "read",
    "readv",
    "preadv2",
    "write",
    "writev",
    "pwritev2",
    "lseek",
    "_llseek",
    "sendfile",
    "sendfile64",
    "splice",
    "copy_file_range",
];

/// The flag with which each write goes to the end of the file first (open(2)).
const APPENDS: &str = "O_APPEND";

/// Where a call reads.
enum At {
    Position,
    /// The argument of that place, counted from the last.
    Argument(usize),
}

/// Names of more lengths are not kept: each is looked for at each mark, and hashing takes as long as the name is.
const LENGTHS_MAX: usize = 64;

/// Files that were opened by a name that ends as older versions of strace mark what was deleted, by the lengths of their names: to
/// hash what stands before each mark of a line would take the square of its length.
#[derive(Default)]
struct SoCalled(HashMap<usize, HashSet<String>>);

impl SoCalled {
    fn has(&self, name: &str) -> bool {
        self.0.get(&name.len()).is_some_and(|it| it.contains(name))
    }

    /// A line in which marks of deleted files stand behind the bracket, as newer versions of strace put them, and never within,
    /// where they are like the end of a name.
    fn marked_behind<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let Some(last) = text.rfind(MARK_WITHIN) else { return Cow::Borrowed(text) };
        let is_opened = text.starts_with("open") || text.starts_with("creat(");
        if is_opened
            && text.contains(" (deleted)\"")
            && let Some(begin) = text[..last].rfind('<')
        {
            let name = &text[begin + 1..last];
            let is_kept = self.0.len() < LENGTHS_MAX || self.0.contains_key(&name.len());
            if is_kept {
                self.0.entry(name.len()).or_default().insert(name.to_string());
            }
        }
        let (mut marked, mut from) = (String::new(), 0);
        // Where the path before a mark begins. Each part of the line is searched for it once.
        let (mut begin, mut searched) = (None, 0);
        for (at, mark) in text.match_indices(MARK_WITHIN) {
            begin = text[searched..at].rfind('<').map(|it| searched + it + 1).or(begin);
            searched = at;
            if begin.is_some_and(|it| !self.has(&text[it..at])) {
                marked.extend([&text[from..at], ">", DELETED]);
                from = at + mark.len();
            }
        }
        marked.push_str(&text[from..]);
        Cow::Owned(marked)
    }
}

/// Which thread each line is of. Without -o a line has no number as long as there is one thread, which need not be the first one.
#[derive(Default)]
struct Threads {
    /// A line without a number was of it.
    has_first: bool,
    /// Its number, once a line has it.
    first: Option<u64>,
    first_is_gone: bool,
    /// Numbers of the others that live.
    others: BTreeSet<u64>,
}

impl Threads {
    /// 0 is the first one that has had no number. `may_be_first`: it is no child, and can have made this line.
    fn of(&mut self, number: Option<u64>, may_be_first: bool) -> u64 {
        let Some(number) = number else {
            let mut others = self.others.iter();
            return match (self.first_is_gone, others.next(), others.next()) {
                (true, Some(only), None) => *only,
                _ => {
                    self.has_first = true;
                    0
                }
            };
        };
        if self.has_first && !self.first_is_gone && may_be_first && !self.others.contains(&number) {
            self.first.get_or_insert(number);
        }
        if self.first == Some(number) {
            return 0;
        }
        self.others.insert(number);
        number
    }

    fn ended(&mut self, thread: u64) {
        if thread == 0 {
            (self.first, self.first_is_gone) = (None, true);
        }
        self.others.remove(&thread);
    }
}

/// What a line is.
enum Line<'t> {
    Ended,
    Signal,
    Superseded(u64),
    /// What has begun, and the number under which it ends.
    Changed(&'t str, u64),
    Begun(&'t str),
    Resumed(&'t str),
    Whole,
}

impl Line<'_> {
    /// Nothing of lines that are no calls, as of the data that is read (-e read=) and of stacks (-k).
    fn of(text: &str) -> Option<Line<'_>> {
        let is_call = || text.split_once('(').is_some_and(|it| is_name(it.0));
        if let Some(by) = superseder(text) {
            Some(Line::Superseded(by))
        } else if text.starts_with("+++") {
            Some(Line::Ended)
        } else if text.starts_with("---") {
            Some(Line::Signal)
        } else if let Some((_, rest)) = text.strip_prefix("<... ").and_then(|it| it.split_once(" resumed>")) {
            Some(Line::Resumed(rest))
        } else if !is_call() {
            None
        } else if let Some((begun, process)) = pid_changed(text) {
            Some(Line::Changed(begun, process))
        } else if let Some(begun) = text.strip_suffix("<unfinished ...>") {
            Some(Line::Begun(begun))
        } else {
            text.contains(" = ").then_some(Line::Whole)
        }
    }
}

const CLOSE: &str = "close(";

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// Whether anything in it was a line of strace.
pub(super) fn parse(first: String, lines: &mut Lines<impl BufRead>, found: &mut Found) -> Result<bool, Wrong> {
    let (mut descriptors, mut so_called) = (Descriptors::default(), SoCalled::default());
    let (mut threads, mut unfinished): (Threads, HashMap<u64, String>) = Default::default();
    let (mut is_known, mut first) = (false, Some(first));
    // What stands before a line that says that a thread is attached, and the threads that are once it is whole.
    let (mut interrupted, mut attaching): (String, Vec<u64>) = Default::default();
    let mut next = || first.take().map_or_else(|| lines.next(), |it| Ok(Some(it)));
    while let Some(mut line) = next().map_err(|it| it.wrong)? {
        // What was interrupted and what goes on are one line.
        if !interrupted.is_empty() && (interrupted.len() + line.len()) as u64 > LINE_BYTES_MAX {
            return Err(Wrong::LongLine);
        }
        if let Some((before, number)) = attached(&line) {
            interrupted.push_str(before);
            attaching.push(number);
            found.heard.insert(number);
            // One that was there before the log begins was not made, and has no number as long as it is alone.
            if is_known || !interrupted.is_empty() {
                found.child(number);
            } else {
                threads.first_is_gone = true;
            }
            if interrupted.is_empty() {
                threads.others.extend(attaching.drain(..));
            }
            continue;
        }
        line.insert_str(0, &std::mem::take(&mut interrupted));
        let (number, text) = prefix(&line);
        let Some(kind) = Line::of(text) else { continue };
        let is_child = number.is_some_and(|it| found.children.contains(&it));
        // Of a thread that is in a call the next line is the end of this call.
        let is_elsewhere = unfinished.contains_key(&0) && !matches!(kind, Line::Resumed(_));
        let thread = threads.of(number, !is_child && !is_elsewhere);
        threads.others.extend(attaching.drain(..));
        found.heard.insert(thread);
        if !matches!(kind, Line::Ended | Line::Superseded(_)) {
            descriptors.appears(thread);
        }
        let is_whole = matches!(kind, Line::Whole);
        match kind {
            Line::Superseded(by) => {
                let by = threads.of(Some(by), false);
                threads.ended(by);
                descriptors.superseded(thread, by);
                if let Some(begun) = unfinished.remove(&by) {
                    unfinished.insert(thread, begun);
                }
            }
            Line::Ended => {
                threads.ended(thread);
                found.ended(thread);
                descriptors.ended(thread);
            }
            Line::Signal => {}
            // It goes on under the number of its process.
            Line::Changed(begun, process) => {
                let process = threads.of(Some(process), !found.children.contains(&process));
                unfinished.insert(process, begun.trim_end().into());
            }
            Line::Begun(begun) => {
                // The space behind a comma is that of the arguments, which the other half begins without.
                let begun = begun.trim_end();
                if begun.split_once('(').is_some_and(|it| MAKE.contains(&it.0)) {
                    descriptors.makes(thread, begun.contains(SHARES));
                }
                // Its number is free as soon as it begins, for what another thread opens meanwhile.
                if let Some((number, ..)) = begun.strip_prefix(CLOSE).and_then(descriptor) {
                    descriptors.closed(thread, number);
                }
                for (number, path) in may_move(&so_called.marked_behind(begun)) {
                    descriptors.begins_to_move(thread, number, &path);
                }
                unfinished.insert(thread, if begun.ends_with(',') { format!("{begun} ") } else { begun.into() });
            }
            Line::Resumed(rest) => {
                if let Some(begun) = unfinished.remove(&thread).filter(|it| !it.starts_with(CLOSE)) {
                    call(thread, &format!("{begun}{rest}"), &mut descriptors, &mut so_called, found)?;
                    descriptors.has_moved(thread);
                }
            }
            Line::Whole => is_known |= call(thread, text, &mut descriptors, &mut so_called, found)?,
        }
        is_known |= !is_whole;
    }
    Ok(is_known)
}

/// `strace: Process 101 attached`, which is put at the end of what was written of a call where both go to one place: this, and the
/// number.
fn attached(line: &str) -> Option<(&str, u64)> {
    let (before, rest) = line.rsplit_once("strace: Process ")?;
    let (number, rest) = rest.split_once(" attached")?;
    (rest.is_empty() || rest.starts_with(" with ")).then_some((before, number.parse().ok()?))
}

/// The kernel gives no thread a larger number (proc(5), pid_max).
const NUMBER_MAX: u64 = 1 << 22;

/// The thread, where there is a number, and the text behind it and behind a time.
fn prefix(line: &str) -> (Option<u64>, &str) {
    let mut rest = line.trim_start();
    let mut thread = None;
    if let Some((number, after)) = rest.strip_prefix("[pid").and_then(|it| it.split_once(']')) {
        (thread, rest) = (number.trim().parse().ok(), after.trim_start());
    } else if let Some((word, after)) = rest.split_once(' ')
        // A larger one is a time in seconds.
        && let Some(number) = word.parse().ok().filter(|it| (1..=NUMBER_MAX).contains(it))
    {
        (thread, rest) = (Some(number), after.trim_start());
    }
    match rest.split_once(' ') {
        Some((time, after))
            if time.contains(|it: char| it.is_ascii_digit())
                && time.chars().all(|it| it.is_ascii_digit() || ".:+".contains(it)) =>
        {
            (thread, after.trim_start())
        }
        _ => (thread, rest),
    }
}

/// `+++ superseded by execve in pid 101 +++`: the thread that goes on under this one's number.
fn superseder(text: &str) -> Option<u64> {
    text.strip_prefix("+++ superseded by execve in pid ")?.split(' ').next()?.parse().ok()
}

/// `execve("p", ["p"], 0x7f <pid changed to 100 ...>`
fn pid_changed(text: &str) -> Option<(&str, u64)> {
    let (begun, process) = text.strip_suffix(" ...>")?.rsplit_once("<pid changed to ")?;
    Some((begun, process.parse().ok()?))
}

/// One call, whole. Whether it looks like one.
fn call(
    thread: u64,
    text: &str,
    descriptors: &mut Descriptors,
    so_called: &mut SoCalled,
    found: &mut Found,
) -> Result<bool, Wrong> {
    let text = &*so_called.marked_behind(text);
    let Some((name, rest)) = text.split_once('(').filter(|it| is_name(it.0)) else { return Ok(false) };
    // Data and paths may have a " = " in them, also the path of the result.
    let parts = rest.rmatch_indices(" = ").map(|(at, sign)| (rest[..at].trim_end(), &rest[at + sign.len()..]));
    let whole = { parts }.find_map(|(arguments, result)| Some((arguments.strip_suffix(')')?, result)));
    let Some((arguments, result)) = whole else { return Ok(false) };
    let wrong = || Wrong::Call { name: name.into() };
    // The kernel did not answer before the program ended.
    if result.starts_with('?') {
        // Other than alone it stands before a call that is made again.
        if result.trim() == "?" {
            descriptors.ended_within(thread);
        }
        return Ok(true);
    }
    let failed = result.starts_with('-');
    match name {
        "open" | "openat" | "openat2" | "creat" if failed => {}
        "open" | "openat" | "openat2" | "creat" => {
            let (number, path, _) = descriptor(result).ok_or_else(wrong)?;
            let path = path.ok_or_else(|| Wrong::NoPath { descriptor: number.to_string() })?;
            // Behind the name.
            let appends = arguments.rsplit('"').next().is_some_and(|it| it.contains(APPENDS));
            descriptors.opened(thread, number, &path, appends);
        }
        // With any other error the descriptor is closed nevertheless (close(2)).
        "close" if !result.contains("EBADF") => {
            let (number, ..) = descriptor(arguments).ok_or_else(wrong)?;
            descriptors.closed(thread, number);
        }
        "close_range" if !failed => {
            let mut parts = arguments.split(", ");
            let mut number = || descriptor(parts.next()?).map(|it| it.0);
            let (first, last) = number().zip(number()).ok_or_else(wrong)?;
            if arguments.contains("CLOSE_RANGE_UNSHARE") {
                descriptors.parted(thread);
            }
            // With the other flag they go at execve(2).
            if !arguments.contains("CLOSE_RANGE_CLOEXEC") {
                let few = descriptors.closed_range(thread, first, last);
                few.then_some(()).ok_or(Wrong::TooManyClosed)?;
            }
        }
        name if MAKE.contains(&name) && failed => descriptors.made_none(thread),
        name if MAKE.contains(&name) => {
            let (child, ..) = descriptor(result).ok_or_else(wrong)?;
            found.child(child);
            descriptors.made(thread, child, arguments.contains(SHARES));
        }
        "execve" | "execveat" if !failed => descriptors.executed(thread),
        "unshare" if !failed && arguments.contains(SHARES) => descriptors.parted(thread),
        "io_uring_setup" | "io_setup" if !failed => found.rings += 1,
        // Those that were set up before are not in the log.
        "io_uring_enter" | "io_submit" if !failed => found.uses_rings = true,
        "dup" | "dup2" | "dup3" | "fcntl" | "fcntl64" if failed => {}
        "fcntl" | "fcntl64" if arguments.contains(", F_SETFL, ") => {
            if let Some((number, Some(path), flags)) = descriptor(arguments) {
                descriptors.appends(thread, number, &path, flags.contains(APPENDS));
            }
        }
        "fcntl" | "fcntl64" if !duplicates(arguments) => {}
        "dup" | "dup2" | "dup3" | "fcntl" | "fcntl64" => {
            let (from, path, _) = descriptor(arguments).ok_or_else(wrong)?;
            let path = path.ok_or_else(|| Wrong::NoPath { descriptor: from.to_string() })?;
            let (number, ..) = descriptor(result).ok_or_else(wrong)?;
            descriptors.duplicated(thread, from, number, &path);
        }
        "sendfile" | "sendfile64" | "splice" | "copy_file_range" => {
            return between(thread, name, arguments, result, descriptors, found).map(|()| true);
        }
        "mmap" | "mmap2" => {
            // The fifth argument; none before it has a path.
            let fifth = arguments.match_indices(", ").nth(3).map(|(at, _)| &arguments[at + 2..]);
            let path = fifth.and_then(|it| descriptor(it)?.1);
            if let Some(path) = path.filter(|path| !failed && is_file(path)) {
                let is_code = arguments.split(", ").nth(2).is_some_and(|it| it.contains("PROT_EXEC"));
                found.mapped(&path, is_code)?;
            }
        }
        "lseek" | "_llseek" | "read" | "readv" | "pread64" | "preadv" | "preadv2" | "write" | "writev" | "pwrite64"
        | "pwritev" | "pwritev2" => {
            if failed {
                // A descriptor that is none has no path.
                let path = descriptor(arguments).and_then(|it| it.1);
                path.filter(|it| name.contains("read") && is_file(it)).into_iter().for_each(|it| found.failed(&it));
                return Ok(true);
            }
            let (number, path, rest) = descriptor(arguments).ok_or_else(wrong)?;
            let path = path.ok_or_else(|| Wrong::NoPath { descriptor: number.to_string() })?;
            if !is_file(&path) {
                return Ok(true);
            }
            let end = result.find(|it: char| !it.is_ascii_digit()).unwrap_or(result.len());
            let given: u64 = result[..end].parse().map_err(|_| wrong())?;
            let at = match name {
                "lseek" => {
                    descriptors.seek(thread, number, &path, given);
                    return Ok(true);
                }
                // Of 32 bits: the new position is in brackets, and the result is 0 (llseek(2)).
                "_llseek" => {
                    let to =
                        rest.rsplit(", ").nth(1).and_then(|it| it.strip_prefix('[')?.strip_suffix(']')?.parse().ok());
                    descriptors.seek(thread, number, &path, to.ok_or_else(wrong)?);
                    return Ok(true);
                }
                "pread64" | "preadv" | "pwrite64" | "pwritev" => At::Argument(0),
                "preadv2" | "pwritev2" => At::Argument(1),
                _ => At::Position,
            };
            let argument = match at {
                At::Position => None,
                At::Argument(place) => {
                    let offset = rest.rsplit(", ").nth(place).ok_or_else(wrong)?;
                    // -1: the position, of preadv2 and pwritev2.
                    if offset == "-1" { None } else { Some(offset.parse::<u64>().map_err(|_| wrong())?) }
                }
            };
            let offset = match argument {
                Some(offset) => Some(offset),
                None if name.contains("write") => {
                    let appends = rest.rsplit(", ").next().is_some_and(|it| it.contains("RWF_APPEND"));
                    descriptors.wrote(thread, number, &path, given, appends);
                    None
                }
                None => descriptors.moved(thread, number, &path, given),
            };
            match (name.contains("write"), offset) {
                (true, _) => found.written(&path),
                (false, _) if given == 0 => found.at_end(&path),
                (false, None) => found.unplaced(&path)?,
                (false, Some(offset)) => found.read(thread, &path, offset, given)?,
            }
        }
        _ => {}
    }
    Ok(true)
}

/// The descriptors of which a call that has begun may move the position. Whether one with an offset does is not looked at: its
/// arguments need not be there yet.
fn may_move(begun: &str) -> Vec<(u64, String)> {
    let Some((name, arguments)) = begun.split_once('(') else { return Vec::new() };
    let named = |text: &str| descriptor(text).and_then(|(number, path, rest)| Some((number, path?, rest.to_string())));
    let Some((number, path, rest)) = named(arguments).filter(|_| MOVE.contains(&name)) else { return Vec::new() };
    let other = match name {
        "sendfile" | "sendfile64" => rest.strip_prefix(", ").and_then(named),
        "splice" | "copy_file_range" => rest.match_indices(", ").nth(1).and_then(|(at, _)| named(&rest[at + 2..])),
        _ => None,
    };
    [Some((number, path)), other.map(|it| (it.0, it.1))].into_iter().flatten().filter(|it| is_file(&it.1)).collect()
}

/// Whether the result of fcntl(2) is a descriptor. That of F_DUPFD_QUERY is none.
fn duplicates(arguments: &str) -> bool {
    let operation = arguments.rsplit(", ").find(|it| it.starts_with("F_"));
    operation.is_some_and(|it| ["F_DUPFD", "F_DUPFD_CLOEXEC"].contains(&it))
}

/// A call from one descriptor to another: each has its own offset, in memory, or none where it begins at its position.
fn between(
    thread: u64,
    name: &str,
    arguments: &str,
    result: &str,
    descriptors: &mut Descriptors,
    found: &mut Found,
) -> Result<(), Wrong> {
    let wrong = || Wrong::Call { name: name.into() };
    let ends = |text| {
        let (number, path, rest) = descriptor(text).ok_or_else(wrong)?;
        Ok((number, path.ok_or_else(|| Wrong::NoPath { descriptor: number.to_string() })?, rest))
    };
    if result.starts_with('-') {
        let from = match name.starts_with("sendfile") {
            true => descriptor(arguments).and_then(|(.., rest)| descriptor(rest.strip_prefix(", ")?)),
            false => descriptor(arguments),
        };
        let path = from.and_then(|it| it.1).filter(|it| is_file(it));
        path.into_iter().for_each(|it| found.failed(&it));
        return Ok(());
    }
    let (first, first_path, rest) = ends(arguments)?;
    let rest = rest.strip_prefix(", ").ok_or_else(wrong)?;
    // sendfile(to, from, offset, count); the others (from, offset, to, offset, …).
    let (from, to) = match name.starts_with("sendfile") {
        true => {
            let (number, path, rest) = ends(rest)?;
            ((number, path, offset(rest.strip_prefix(", ").ok_or_else(wrong)?)), (first, first_path, None))
        }
        false => {
            let (begins, rest) = (offset(rest), rest.split_once(", ").ok_or_else(wrong)?.1);
            let (number, path, rest) = ends(rest)?;
            let to = offset(rest.strip_prefix(", ").ok_or_else(wrong)?);
            ((first, first_path, begins), (number, path, to))
        }
    };
    let end = result.find(|it: char| !it.is_ascii_digit()).unwrap_or(result.len());
    let given: u64 = result[..end].parse().map_err(|_| wrong())?;
    let mut begin = |(number, path, argument): &(u64, String, Option<u64>)| match argument {
        Some(offset) => Some(*offset),
        None => descriptors.moved(thread, *number, path, given),
    };
    if is_file(&from.1) {
        match begin(&from) {
            _ if given == 0 => found.at_end(&from.1),
            None => found.unplaced(&from.1)?,
            Some(offset) => found.read(thread, &from.1, offset, given)?,
        }
    }
    if is_file(&to.1) {
        begin(&to);
        found.written(&to.1);
    }
    Ok(())
}

/// `[8192]` or `[8192] => [12288]` at the start of a text: the number before the call. Absent of `NULL`.
fn offset(text: &str) -> Option<u64> {
    text.strip_prefix('[')?.split_once(']')?.0.parse().ok()
}

/// How strace marks a file that has no name any more.
const DELETED: &str = "(deleted)";
/// Before version 5.19 it stood within the bracket, as in /proc (proc(5)).
const MARK_WITHIN: &str = " (deleted)>";

/// `3</data/q.db>` at the start of a text: the number, the path where there is one, and what follows.
fn descriptor(text: &str) -> Option<(u64, Option<String>, &str)> {
    let end = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse().ok()?;
    let Some(rest) = text[end..].strip_prefix('<') else { return Some((number, None, &text[end..])) };
    // A path may have a > in it, and what follows a descriptor is a comma or the end.
    let behind = |at: usize| &rest[at + 1..];
    let closing = rest.match_indices('>').map(|(at, _)| at).find(|at| {
        let after = behind(*at).strip_prefix(DELETED).unwrap_or(behind(*at));
        after.is_empty() || after.starts_with([',', ')', ' '])
    })?;
    let after = behind(closing).strip_prefix(DELETED).unwrap_or(behind(closing));
    Some((number, Some(unescaped(&rest[..closing])), after))
}

/// Octal numbers and letters behind a backslash are the bytes that they stand for.
fn unescaped(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.iter().take(3).take_while(|it| (b'0'..=b'7').contains(it)).count();
        if digits > 0 {
            let number = rest[..digits].iter().fold(0u32, |sum, digit| sum * 8 + u32::from(digit - b'0'));
            bytes.push(number as u8);
            rest = &rest[digits..];
        } else if let [letter, after @ ..] = rest {
            bytes.push(match letter {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                other => *other,
            });
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Not a pipe, a socket, a device, or a file that the kernel makes up.
fn is_file(path: &str) -> bool {
    path.starts_with('/') && !sys::mount::is_made_up(path)
}
