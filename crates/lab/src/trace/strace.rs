//! The output of `strace -f -y`. Offsets are the arguments, or follow from the position of the descriptor: from its opening
//! on, every read, write and seek is followed, and so is each duplicate of it, which has the same position.
//!
//! A descriptor belongs to a process, and strace names threads. What a thread has of the one that made it, a copy of its
//! descriptors or the same ones (CLONE_FILES of clone(2)), is known by the call that made it, where it is in the output
//! (`-e trace=%process`). Otherwise, what a thread did not open is the descriptor of that number and path that another one
//! opened, if that was once: of two it is not known which one it is, nor whether the position of the later one moves.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    io::BufRead,
};

use super::{Found, Lines, Wrong};

pub(super) const RECORDER: &str = "strace";

/// Where a call reads.
enum At {
    Position,
    /// The argument of that place, counted from the last.
    Argument(usize),
}

/// Where the position of a descriptor is, in `Descriptors::positions`.
enum Place {
    Of(usize),
    OneOfSeveral,
    /// It was opened before the output begins, or came through a socket.
    Unheard,
}

#[derive(Default)]
struct Descriptors {
    /// The thread whose descriptors are also those of another.
    shared: HashMap<u64, u64>,
    /// By thread and number: the path, and the place of the position in `positions`.
    open: HashMap<(u64, u64), (String, usize)>,
    /// Absent where a thread has moved it or that of another one.
    positions: Vec<Option<u64>>,
    /// By number and path, the last that was opened, and whether it is the only one.
    last: HashMap<(u64, String), (usize, bool)>,
    /// Those whose descriptors are all known, but for what was open before the output begins.
    complete: HashSet<u64>,
    /// Files that were opened by a name that ends as older versions of strace mark what was deleted.
    so_called: HashSet<String>,
}

impl Descriptors {
    /// The thread under which its descriptors are kept.
    fn owner(&self, thread: u64) -> u64 {
        self.shared.get(&thread).copied().unwrap_or(thread)
    }

    /// A call returns after what it made has begun, which may have opened some already.
    fn share(&mut self, thread: u64, with: u64) {
        let (owner, early) = (self.owner(thread), self.owner(with));
        if owner == early {
            return;
        }
        for it in self.shared.values_mut().filter(|it| **it == early) {
            *it = owner;
        }
        self.shared.insert(with, owner);
        let numbers: Vec<u64> = self.open.keys().filter(|it| it.0 == early).map(|it| it.1).collect();
        for number in numbers {
            let Some(opened) = self.open.remove(&(early, number)) else { continue };
            self.open.insert((owner, number), opened);
        }
    }

    /// Another process has a copy of the descriptors of its parent, with the same positions.
    fn copied(&mut self, thread: u64, to: u64) {
        let (owner, child) = (self.owner(thread), self.owner(to));
        let inherited: Vec<_> =
            self.open.iter().filter(|(it, _)| it.0 == owner).map(|(it, at)| (it.1, at.clone())).collect();
        for (number, opened) in inherited {
            // Not what it has opened before its parent's call returned.
            self.open.entry((child, number)).or_insert(opened);
        }
        if self.complete.contains(&owner) {
            self.complete.insert(child);
        }
    }

    /// The kernel gives its number to another one.
    fn ended(&mut self, thread: u64) {
        self.shared.remove(&thread);
        if !self.shared.values().any(|it| *it == thread) {
            self.open.retain(|it, _| it.0 != thread);
            self.complete.remove(&thread);
        }
    }

    /// A line in which marks of deleted files stand behind the bracket, as newer versions of strace put them, and never within,
    /// where they are like the end of a name.
    fn marked_behind<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let mut marks = text.match_indices(MARK_WITHIN).map(|(at, _)| at).peekable();
        if marks.peek().is_none() {
            return Cow::Borrowed(text);
        }
        let path_before = |at: usize| text[..at].rfind('<').map(|begin| &text[begin + 1..at]);
        let is_opened = text.starts_with("open") || text.starts_with("creat(");
        if is_opened && text.contains("(deleted)\"") {
            let result = text.rfind(MARK_WITHIN).and_then(path_before);
            self.so_called.extend(result.map(str::to_string));
        }
        let (mut marked, mut from) = (String::new(), 0);
        for at in marks.filter(|at| path_before(*at).is_some_and(|it| !self.so_called.contains(it))) {
            marked.extend([&text[from..at], ">", DELETED]);
            from = at + MARK_WITHIN.len();
        }
        marked.push_str(&text[from..]);
        Cow::Owned(marked)
    }

    fn closed(&mut self, thread: u64, number: u64) {
        self.open.remove(&(self.owner(thread), number));
    }

    fn opened(&mut self, thread: u64, number: u64, path: &str) {
        let place = self.positions.len();
        self.positions.push(Some(0));
        self.names(thread, number, path, place);
    }

    fn names(&mut self, thread: u64, number: u64, path: &str, place: usize) {
        self.open.insert((self.owner(thread), number), (path.into(), place));
        self.last
            .entry((number, path.into()))
            .and_modify(|(last, only)| (*last, *only) = (place, *only && *last == place))
            .or_insert((place, true));
    }

    /// `number` is another name of the same open file. Where its position is not known, neither is that of the duplicate.
    fn duplicated(&mut self, thread: u64, from: u64, number: u64, path: &str) {
        let place = match self.place(thread, from, path) {
            Place::Of(place) => place,
            Place::OneOfSeveral | Place::Unheard => {
                self.positions.push(None);
                self.positions.len() - 1
            }
        };
        self.names(thread, number, path, place);
    }

    fn place(&mut self, thread: u64, number: u64, path: &str) -> Place {
        let owner = self.owner(thread);
        match self.open.get(&(owner, number)) {
            Some((known, place)) if known == path => return Place::Of(*place),
            _ if self.complete.contains(&owner) => return Place::Unheard,
            _ => {}
        }
        // What is inherited is looked up each time: the thread that opened it may have opened it again.
        match self.last.get(&(number, path.to_string())) {
            None => Place::Unheard,
            Some((place, true)) => Place::Of(*place),
            Some((place, false)) => {
                self.positions[*place] = None;
                Place::OneOfSeveral
            }
        }
    }

    /// Where a call that moves the position begins.
    fn moved(&mut self, thread: u64, number: u64, path: &str, by: u64) -> Option<u64> {
        let Place::Of(place) = self.place(thread, number, path) else { return None };
        let position = &mut self.positions[place];
        let offset = *position;
        *position = offset.map(|it| it.saturating_add(by));
        offset
    }

    fn seek(&mut self, thread: u64, number: u64, path: &str, to: u64) {
        if let Place::Unheard = self.place(thread, number, path) {
            self.opened(thread, number, path);
        }
        if let Place::Of(place) = self.place(thread, number, path) {
            self.positions[place] = Some(to);
        }
    }
}

/// Whether anything in it was a line of strace.
pub(super) fn parse(first: String, lines: &mut Lines<impl BufRead>, found: &mut Found) -> Result<bool, Wrong> {
    let mut descriptors = Descriptors::default();
    let mut unfinished: HashMap<u64, String> = HashMap::new();
    let (mut is_known, mut next) = (false, Some(first));
    while let Some(line) = next {
        let (thread, text) = prefix(&line);
        found.heard.insert(thread);
        if text.starts_with("+++") || text.starts_with("---") {
            is_known = true;
            if text.starts_with("+++") {
                found.ended(thread);
                descriptors.ended(thread);
            }
        } else if let Some((number, _)) =
            text.strip_prefix("strace: Process ").and_then(|it| it.split_once(" attached"))
        {
            if let Ok(it) = number.parse() {
                found.child(it);
                found.heard.insert(it);
            }
        } else if let Some(begun) = text.strip_suffix("<unfinished ...>") {
            // The space behind a comma is that of the arguments, which the other half begins without.
            let begun = begun.trim_end();
            unfinished.insert(thread, if begun.ends_with(',') { format!("{begun} ") } else { begun.into() });
            is_known = true;
        } else if let Some((_, rest)) = text.strip_prefix("<... ").and_then(|it| it.split_once(" resumed>")) {
            is_known = true;
            if let Some(begun) = unfinished.remove(&thread) {
                call(thread, &format!("{begun}{rest}"), &mut descriptors, found)?;
            }
        } else {
            is_known |= call(thread, text, &mut descriptors, found)?;
        }
        next = lines.next().map_err(|it| it.wrong)?;
    }
    Ok(is_known)
}

/// The thread, 0 where there is no number, and the text behind it and behind a time.
fn prefix(line: &str) -> (u64, &str) {
    let mut rest = line.trim_start();
    let mut thread = 0;
    if let Some((number, after)) = rest.strip_prefix("[pid").and_then(|it| it.split_once(']')) {
        (thread, rest) = (number.trim().parse().unwrap_or(0), after.trim_start());
    } else if let Some((word, after)) = rest.split_once(' ')
        && let Ok(number) = word.parse()
    {
        (thread, rest) = (number, after.trim_start());
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

fn numbered(thread: u64) -> Option<u64> {
    (thread != 0).then_some(thread)
}

/// One call, whole. Whether it looks like one.
fn call(thread: u64, text: &str, descriptors: &mut Descriptors, found: &mut Found) -> Result<bool, Wrong> {
    let text = &*descriptors.marked_behind(text);
    let Some((name, rest)) = text.split_once('(') else { return Ok(false) };
    // Data and paths may have a " = " in them, also the path of the result.
    let parts = rest.rmatch_indices(" = ").map(|(at, sign)| (rest[..at].trim_end(), &rest[at + sign.len()..]));
    let whole = { parts }.find_map(|(arguments, result)| Some((arguments.strip_suffix(')')?, result)));
    let Some((arguments, result)) = whole else { return Ok(false) };
    if name.is_empty() || !name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_') {
        return Ok(false);
    }
    let wrong = || Wrong::Call { name: name.into() };
    // The kernel did not answer before the program ended.
    if result.starts_with('?') {
        return Ok(true);
    }
    let failed = result.starts_with('-');
    match name {
        "open" | "openat" | "openat2" | "creat" if failed => {}
        "open" | "openat" | "openat2" | "creat" => {
            let (number, path, _) = descriptor(result).ok_or_else(wrong)?;
            let path = path.ok_or_else(|| Wrong::NoPath { descriptor: number.to_string() })?;
            descriptors.opened(thread, number, &path);
        }
        "close" if !failed => {
            let (number, ..) = descriptor(arguments).ok_or_else(wrong)?;
            descriptors.closed(thread, number);
        }
        "clone" | "clone3" | "fork" | "vfork" if !failed => {
            let (child, ..) = descriptor(result).ok_or_else(wrong)?;
            found.child(child);
            match arguments.contains("CLONE_FILES") {
                true => descriptors.share(thread, child),
                false => descriptors.copied(thread, child),
            }
        }
        // The output begins with the command.
        "execve" | "execveat" if !failed && thread != 0 && found.heard.len() == 1 => {
            descriptors.complete.insert(thread);
        }
        "io_uring_setup" | "io_setup" if !failed => found.rings += 1,
        // Those that were set up before are not in the log.
        "io_uring_enter" | "io_submit" if !failed => found.uses_rings = true,
        "dup" | "dup2" | "dup3" | "fcntl" | "fcntl64" if failed => {}
        "fcntl" | "fcntl64" if !arguments.contains(", F_DUPFD") => {}
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
            let paths = arguments.match_indices(", ").filter_map(|(at, _)| descriptor(&arguments[at + 2..])?.1);
            if let Some(path) = paths.last().filter(|path| !failed && is_file(path)) {
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
                None => descriptors.moved(thread, number, &path, given),
            };
            match (name.contains("write"), offset) {
                (true, _) => found.written(&path),
                (false, _) if given == 0 => found.at_end(&path),
                (false, None) => found.unplaced(&path)?,
                (false, Some(offset)) => found.read(numbered(thread), &path, offset, given)?,
            }
        }
        _ => {}
    }
    Ok(true)
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
            Some(offset) => found.read(numbered(thread), &from.1, offset, given)?,
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
const MARK_WITHIN: &str = "(deleted)>";

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
