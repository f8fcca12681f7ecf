//! The files that the user named for commands: one by one, or by their folders. Each is evicted, filled, looked at and
//! watched for changes by itself, and only one of them is open at a time, whatever their number.
//!
//! Threat: a command that writes to a named file measures something else from then on. Defence: identity, size and the
//! times of change of every file and folder, before the run and after every execution. The allocated blocks are not
//! compared: some file systems move them without a write, and every write changes ctime too.

mod gathering;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt,
    fs::{self, File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, bail};
use schema::{
    Span, State,
    leftover::FileIdentity,
    protocol::ReplayedFile,
    record::{Files, NamedPath, Reading, Resident},
    trace::TracedFile,
};
use sys::{cache::Way, folder::lies_in};

use self::gathering::Gathering;
use super::file::{Stamp, measurable, prove, stayed};
use crate::link::Trouble;

/// Names that sentences list.
const NAMES_SHOWN: usize = 3;
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(4);

/// Everything that was named.
pub struct Named {
    files: Vec<Entry>,
    /// Watched for files that come and go.
    folders: Vec<Entry>,
    classes: Vec<FileClass>,
    paths: Vec<NamedPath>,
    /// What was found in folders and left out, one sentence each.
    pub notes: Vec<String>,
    /// What of all files was in the page cache when they were named.
    pub(crate) found: Reading<Resident>,
}

struct Entry {
    path: PathBuf,
    stamp: Stamp,
    /// Index into `classes`.
    class: usize,
    /// What of it was in the page cache when it was named, in whole pages; nothing where that is not known.
    found: Option<Vec<Span>>,
}

/// Files of one file system and owner that this user may write to, or not: what residency can be asked of them, as proved on
/// one of them. To others than the owner and who may write, mincore(2) calls every page resident.
struct FileClass {
    device: u64,
    owner: u32,
    writable: bool,
    /// The file system, when its files are never anywhere but in memory.
    in_memory: Option<String>,
    /// The kernel name of the whole disk under it, where that is known.
    disk: Option<String>,
    /// How residency can be asked for before anything is evicted.
    believed: Result<Way, String>,
    proved: OnceLock<Result<Way, String>>,
    /// The file that it is proved on.
    tried: PathBuf,
}

/// Files that do not lie on one disk: one of each disk, with its name, and one of each file system of which it is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spread(Vec<(PathBuf, Option<String>)>);

impl Spread {
    /// Files that are in memory alone lie on none.
    fn of(classes: &[FileClass]) -> Option<Spread> {
        let mut places: BTreeMap<Result<&str, u64>, &FileClass> = BTreeMap::new();
        for class in classes.iter().filter(|it| it.in_memory.is_none()) {
            places.entry(class.disk.as_deref().ok_or(class.device)).or_insert(class);
        }
        let of_each = places.values().map(|it| (it.tried.clone(), it.disk.clone()));
        (places.len() > 1).then(|| Spread(of_each.collect()))
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let places = self.0.iter().map(|(path, disk)| match disk {
            Some(disk) => format!("{} on {disk}", path.display()),
            None => format!("{} on one that is not known", path.display()),
        });
        let places: Vec<String> = places.collect();
        let lie = if self.0.iter().all(|it| it.1.is_some()) { "lie" } else { "may lie" };
        write!(f, "the named files {lie} on more than one disk: {}; try files of one", places.join(", "))
    }
}

impl FileClass {
    fn way(&self) -> &Result<Way, String> {
        self.proved.get().unwrap_or(&self.believed)
    }

    fn prove(&self) {
        if self.in_memory.is_none() {
            let tried = || open(&self.tried).map_err(|error| format!("{}: {error}", self.tried.display()));
            self.proved.get_or_init(|| prove(&tried()?));
        }
    }
}

impl Named {
    /// Every file's path, for people and for comparing.
    pub fn files(&self) -> Vec<String> {
        self.files.iter().map(|it| it.path.display().to_string()).collect()
    }

    /// Looks at every file, and proves how residency can be verified, which evicts one file of each class unless
    /// `keep_cache`.
    ///
    /// # Errors
    /// In words for people: what was named and cannot be measured; a folder with nothing in it; too many files; an
    /// interruption.
    pub fn gather(files: &[PathBuf], folders: &[PathBuf], keep_cache: bool, interrupted: &AtomicBool) -> Result<Named> {
        let mut gathering = Gathering::new(keep_cache, interrupted);
        for path in files {
            measurable(path)?;
            let file = open(path).with_context(|| format!("cannot open {} for reading", path.display()))?;
            let metadata = file.metadata().with_context(|| format!("cannot look at {}", path.display()))?;
            if metadata.len() == 0 {
                bail!("{} is empty; name a file with content", path.display())
            }
            let full = fs::canonicalize(path).with_context(|| format!("cannot look at {}", path.display()))?;
            // A link whose name is UTF-8 may lead to a file whose name is not.
            let path = if full.to_str().is_some() { full } else { std::path::absolute(path)? };
            gathering.enter(path, &file, &metadata)?;
        }
        for folder in folders {
            let before = gathering.seen_bytes;
            let is_within_another = gathering.walk(folder)?;
            if gathering.seen_bytes == before && !is_within_another {
                let left_out = gathering.notes();
                let but = if left_out.is_empty() { String::new() } else { format!(" ({})", left_out.join("; ")) };
                bail!("{} contains no file with content{but}; name another folder", folder.display())
            }
        }
        let named = |paths: &[PathBuf], folder| -> Vec<NamedPath> {
            let full = |it: &PathBuf| fs::canonicalize(it).unwrap_or_else(|_| it.clone()).display().to_string();
            paths.iter().take(Files::NAMES_KEPT).map(|it| NamedPath { path: full(it), folder }).collect()
        };
        let mut paths = named(files, false);
        paths.extend(named(folders, true));
        paths.truncate(Files::NAMES_KEPT);
        let notes = gathering.notes();
        let Gathering { files, folders, classes, found, .. } = gathering;
        let named = Named { files, folders, classes, paths, notes, found };
        if !keep_cache {
            named.prove();
        }
        Ok(named)
    }

    /// The same files, where a folder was named, and they are what is meant of it.
    #[must_use]
    pub fn found_in(self, folder: &Path) -> Named {
        let path = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf()).display().to_string();
        Named { paths: vec![NamedPath { path, folder: true }], ..self }
    }

    pub(crate) fn is_unproved(&self) -> bool {
        self.classes.iter().any(|it| it.in_memory.is_none() && it.proved.get().is_none())
    }

    /// Whether a look at any of them starts read-ahead (`Way::Nowait`).
    pub(crate) fn look_reads_ahead(&self) -> bool {
        self.classes.iter().any(|it| *it.way() == Ok(Way::Nowait))
    }

    /// Proves how residency can be verified, which evicts one file of each class.
    pub(crate) fn prove(&self) {
        self.classes.iter().for_each(FileClass::prove);
    }

    /// The one that represents all: the largest of those on a disk, which can be evicted and filled, and on which the device's
    /// ceiling is measured; of files in memory alone the largest.
    pub fn largest(&self) -> &Path {
        let rank = |it: &&Entry| (!self.is_in_memory(it) && it.stamp.bytes > 0, it.stamp.bytes);
        &self.files.iter().max_by_key(rank).expect("nothing is gathered without a file").path
    }

    fn is_in_memory(&self, entry: &Entry) -> bool {
        self.classes[entry.class].in_memory.is_some()
    }

    /// Why nothing that is set or counted of a disk holds for all of them.
    pub(crate) fn spread(&self) -> Option<Spread> {
        Spread::of(&self.classes)
    }

    pub(crate) fn inodes(&self) -> BTreeSet<u64> {
        self.files.iter().map(|it| it.stamp.inode).collect()
    }

    pub fn is_several(&self) -> bool {
        self.files.len() > 1
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|it| it.stamp.bytes).sum()
    }

    /// Whether a path leads to one of the files.
    pub fn holds(&self, path: &Path) -> bool {
        let Ok(metadata) = fs::metadata(path) else { return false };
        let stamp = Stamp::of(&metadata);
        self.files.iter().any(|it| it.stamp.is_same_file(&stamp))
    }

    /// Whether a file is one of them, or lies in a folder that was named: a record has the names of some of them alone, and any may be
    /// one of the others.
    pub fn may_hold(&self, path: &Path) -> bool {
        self.holds(path) || self.paths.iter().any(|it| it.folder && lies_in(path, Path::new(&it.path)))
    }

    /// Those that the table of a trace has, for a worker: known by what they are, or, of a trace of another machine or of a copy, by
    /// their paths. The paths that the worker opens are those that were named.
    pub(crate) fn replayed(&self, table: &[TracedFile]) -> Vec<ReplayedFile> {
        let identity = Entry::identity;
        let known = Known::of(table);
        let named = || self.readable().filter_map(|it| Some((it.path.to_str()?, it)));
        let by_path: HashMap<&str, &Entry> = named().collect();
        let by_identity: HashMap<FileIdentity, &Entry> = named().map(|(_, it)| (identity(it), it)).collect();
        let found = |of: &TracedFile| {
            let may_be = |it: &&&Entry| it.path.to_str().is_some_and(|path| known.may_be(of, path, Some(identity(it))));
            let alike = of.identity.and_then(|it| by_identity.get(&it)).filter(may_be);
            alike.or_else(|| by_path.get(of.path.as_str()).filter(may_be)).copied()
        };
        let replayed = |(place, of): (usize, &TracedFile)| {
            let entry = found(of)?;
            let path = entry.path.to_str()?.to_string();
            Some(ReplayedFile { place: place as u32, path, identity: identity(entry), bytes: entry.stamp.bytes })
        };
        table.iter().enumerate().filter_map(replayed).collect()
    }

    /// As the record says it; nothing of a single file, which is the target itself.
    pub fn describe(&self) -> Option<Files> {
        // Those that were walked, or that files were found in otherwise.
        let folders = self.folders.len().max(self.paths.iter().filter(|it| it.folder).count()) as u64;
        let lone = self.files.len() == 1 && folders == 0;
        (!lone).then(|| Files {
            named: self.paths.clone(),
            count: self.files.len() as u64,
            folders,
            first: self.files.iter().take(Files::NAMES_KEPT).map(|it| it.path.display().to_string()).collect(),
        })
    }

    /// Whether a state can be had of all of them.
    ///
    /// # Errors
    /// Of which it cannot, why not, and what would help.
    pub fn possible(&self, state: State) -> Result<(), String> {
        if state == State::AsIs {
            return Ok(());
        }
        for class in &self.classes {
            let shown = class.tried.display();
            if state != State::Cached
                && let Some(name) = &class.in_memory
            {
                return Err(format!(
                    "{shown} is on {name}: files there exist only in the page cache, so they are never cold; use a \
                     file on a disk"
                ));
            }
            let believed = match class.way() {
                Ok(Way::Nowait) if state != State::Cached => Err(format!(
                    "{shown} cannot be verified as cold: the kernel reports its residency only to its owner. Try a \
                     copy of your own, or root"
                )),
                Ok(_) => Ok(()),
                Err(reason) => Err(format!(
                    "{shown}: {reason}; state {state} cannot be verified, so it is not measured. Try state as-is, or a \
                     copy of your own"
                )),
            };
            // Who has a file mapped keeps its pages, and that is a better reason than what three system calls say.
            believed.map_err(|reason| kept_by_mappings(&class.tried).unwrap_or(reason))?;
        }
        Ok(())
    }

    /// Drops every page of every file on a disk, and sees that none stays. Files in memory have their pages nowhere else.
    ///
    /// # Errors
    /// Which files keep pages, and who holds them; an interruption.
    pub(crate) fn evict(&self, interrupted: &AtomicBool) -> Result<(), Trouble> {
        let go_on = || if interrupted.load(Ordering::Relaxed) { Err(Trouble::Interrupted) } else { Ok(()) };
        let mut stay = Vec::new();
        for entry in self.readable().filter(|it| !self.is_in_memory(it)) {
            go_on()?;
            let file = entry.open().map_err(Trouble::Failed)?;
            if self.drop_all(entry, &file).map_err(Trouble::Failed)? > 0 {
                stay.push(entry);
            }
        }
        // Dirty pages, read-ahead under way, pages in another CPU's batch (`cold.rs`).
        for _ in 0..TRIES {
            if stay.is_empty() {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
            let mut still = Vec::new();
            for entry in stay {
                go_on()?;
                let file = entry.open().map_err(Trouble::Failed)?;
                let unsynced = |error| Trouble::Failed(format!("{}: {error}", entry.path.display()));
                sys::cache::write_back(&file).map_err(unsynced)?;
                if self.drop_all(entry, &file).map_err(Trouble::Failed)? > 0 {
                    still.push(entry);
                }
            }
            stay = still;
        }
        match stay.as_slice() {
            [] => Ok(()),
            stay => Err(Trouble::Failed(format!("pages stay in the page cache after eviction: {}", blame(stay)))),
        }
    }

    /// Drops the pages of a file: how many were seen to stay.
    fn drop_all(&self, entry: &Entry, file: &File) -> Result<u64, String> {
        drop_pages(file, entry)?;
        if *self.classes[entry.class].way() != Ok(Way::Nowait) {
            return self.resident(entry, file);
        }
        // A look at each page would have the file read ahead, and a fill would find its pages there.
        let stayed = stayed(file, entry.stamp.bytes)
            .map_err(|error| format!("it cannot be seen whether {} was evicted: {error}", entry.path.display()))?;
        drop_pages(file, entry)?;
        Ok(stayed)
    }

    /// Opens the files with something in them one after the other, and does something to each.
    ///
    /// # Errors
    /// Which one cannot be opened, or what was done to it failed.
    pub(crate) fn each(&self, mut act: impl FnMut(&File, Span) -> Result<(), Trouble>) -> Result<(), Trouble> {
        for entry in self.readable() {
            let file = entry.open().map_err(Trouble::Failed)?;
            act(&file, Span { offset: 0, bytes: entry.stamp.bytes }).map_err(|trouble| match trouble {
                Trouble::Failed(reason) => Trouble::Failed(format!("{}: {reason}", entry.path.display())),
                other => other,
            })?;
        }
        Ok(())
    }

    /// As `each`, with what of the file was in the page cache when it was named.
    ///
    /// # Errors
    /// As `each`.
    pub(crate) fn each_found(&self, mut act: impl FnMut(&File, &[Span]) -> Result<(), Trouble>) -> Result<(), Trouble> {
        for entry in self.readable() {
            if let Some(parts @ [_, ..]) = entry.found.as_deref() {
                act(&entry.open().map_err(Trouble::Failed)?, parts)?;
            }
        }
        Ok(())
    }

    /// Pages of all files that were in the page cache when they were named, as far as that is known.
    pub(crate) fn found_pages(&self) -> u64 {
        let pages = |of: &Span| of.end().div_ceil(sys::page_bytes()) - of.offset / sys::page_bytes();
        self.readable().filter_map(|it| it.found.as_ref()).flatten().map(pages).sum()
    }

    /// What was in the page cache when a trace of the same files was recorded, instead of what is there now. What a file has
    /// beyond its end is not asked for.
    pub fn take_found(&mut self, table: &[TracedFile]) {
        let page = sys::page_bytes();
        let known = Known::of(table);
        for entry in &mut self.files {
            let (path, identity) = (entry.path.to_str().unwrap_or_default(), Some(entry.identity()));
            let of = table.iter().find(|it| it.identity == identity && known.may_be(it, path, identity));
            let whole = Span { offset: 0, bytes: entry.stamp.bytes };
            let of = of.filter(|it| !it.evicted);
            entry.found = of.and_then(|of| match of.resident_before? {
                share if of.found.is_empty() && share <= 0.0 => Some(Vec::new()),
                share if of.found.is_empty() && share >= 1.0 => Some(vec![whole]),
                _ if of.found.is_empty() => None,
                _ => {
                    let is_within =
                        |it: &&Span| it.offset.is_multiple_of(page) && it.end() <= whole.bytes.next_multiple_of(page);
                    Some(of.found.iter().filter(is_within).copied().collect())
                }
            });
        }
    }

    /// Whether it is known what of the files was in the page cache, and it was neither nothing nor all.
    ///
    /// # Errors
    /// Why that is no state of its own.
    pub(crate) fn is_found_in_part(&self) -> Result<(), String> {
        if let Some(entry) = self.readable().find(|it| it.found.is_none()) {
            return Err(format!("it is not known which pages of {} were in the page cache", entry.path.display()));
        }
        match (self.found_pages(), self.readable().map(|it| it.stamp.bytes.div_ceil(sys::page_bytes())).sum::<u64>()) {
            (0, _) => Err("no page of the files was in the page cache; that is state cold".into()),
            (pages, of) if pages >= of => {
                Err("all pages of the files were in the page cache; that is state cached, with fill found".into())
            }
            _ => Ok(()),
        }
    }

    /// Pages of all files together.
    pub(crate) fn residency(&self) -> Reading<Resident> {
        let page = sys::page_bytes();
        let mut sum = Resident { pages: 0, of: 0 };
        for entry in self.readable() {
            match entry.open().and_then(|file| self.resident(entry, &file)) {
                Ok(pages) => sum.pages += pages,
                Err(reason) => return Reading::unavailable(reason),
            }
            sum.of += entry.stamp.bytes.div_ceil(page);
        }
        Reading::Value(sum)
    }

    /// Whether everything is still what it was when the run began.
    ///
    /// # Errors
    /// What changed, and which file it was.
    pub fn unchanged(&self) -> Result<(), String> {
        for entry in &self.files {
            entry.unchanged().map_err(|change| format!("{} {change}", entry.path.display()))?;
        }
        for entry in &self.folders {
            if entry.unchanged().is_err() {
                return Err(format!("a file was made, renamed or removed in {}", entry.path.display()));
            }
        }
        Ok(())
    }

    /// Files with something in them.
    fn readable(&self) -> impl Iterator<Item = &Entry> {
        self.files.iter().filter(|it| it.stamp.bytes > 0)
    }

    fn resident(&self, entry: &Entry, file: &File) -> Result<u64, String> {
        let class = &self.classes[entry.class];
        let way = class.way().as_ref().map_err(|reason| format!("{}: {reason}", entry.path.display()))?;
        way.resident_pages(file, 0, entry.stamp.bytes).map_err(|error| format!("{}: {error}", entry.path.display()))
    }
}

/// What the table of a trace says that files are. Two files of it may have one path, in several mount namespaces, or one inode, if
/// one was deleted before the other was made.
pub(crate) struct Known<'a>(HashSet<(&'a str, FileIdentity)>);

impl<'a> Known<'a> {
    pub(crate) fn of(table: &'a [TracedFile]) -> Known<'a> {
        Known(table.iter().filter_map(|it| Some((it.path.as_str(), it.identity?))).collect())
    }

    /// Whether a file of the table can be the one that has this path here: not if another one of the table is that by both.
    pub(crate) fn may_be(&self, of: &TracedFile, path: &str, identity: Option<FileIdentity>) -> bool {
        let is_known = identity.is_some_and(|it| self.0.contains(&(path, it)));
        !is_known || (of.path == path && of.identity == identity)
    }
}

impl Entry {
    fn identity(&self) -> FileIdentity {
        FileIdentity { device: self.stamp.device, inode: self.stamp.inode }
    }

    fn open(&self) -> Result<File, String> {
        let file = open(&self.path).map_err(|error| format!("{} cannot be opened: {error}", self.path.display()))?;
        match file.metadata() {
            Ok(now) if Stamp::of(&now).is_same_file(&self.stamp) => Ok(file),
            Ok(_) => Err(format!("another file took the name of {} during the run", self.path.display())),
            Err(error) => Err(format!("{} cannot be examined: {error}", self.path.display())),
        }
    }

    fn unchanged(&self) -> Result<(), String> {
        self.stamp.unchanged(&self.path)
    }
}

fn may_write(path: &Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// Never waits, should a pipe have taken the name meanwhile.
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

/// Without a sync, which would cost a flush of the device for each file: what stays gets one (`evict`).
fn drop_pages(file: &File, entry: &Entry) -> Result<(), String> {
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)
        .map_err(|error| format!("{} cannot be evicted: {error}", entry.path.display()))
}

/// `a (mapped by process 7 (cat)), b and 3 more`
fn blame(stay: &[&Entry]) -> String {
    let described = stay.iter().take(NAMES_SHOWN).map(|entry| match holders(&entry.path) {
        who if who.is_empty() => format!("{} (no process visible to this user has it mapped)", entry.path.display()),
        who => format!("{} ({who})", entry.path.display()),
    });
    let mut described: Vec<String> = described.collect();
    if stay.len() > NAMES_SHOWN {
        described.push(format!("and {} more files", stay.len() - NAMES_SHOWN));
    }
    described.join(", ")
}

/// Why a file cannot be evicted, where it is because processes have it mapped.
pub(crate) fn kept_by_mappings(path: &Path) -> Option<String> {
    let who = holders(path);
    let sentence = || format!("{} cannot be evicted: {who}. End that process, or try a copy", path.display());
    (!who.is_empty()).then(sentence)
}

/// Which processes have a file mapped; empty if none has.
fn holders(path: &Path) -> String {
    let (Some(utf8), Ok(metadata)) = (path.to_str(), fs::metadata(path)) else { return String::new() };
    match sys::process::mappers(&sys::process::MappedFile::of(&metadata, utf8)).as_slice() {
        [] => String::new(),
        who => format!("it is mapped by process {}", who.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use schema::{Condition, condition::Storage};
    use sys::pages::{Pages, Sharing};

    use super::{super::Target, *};
    use crate::{cgroups::Cgroups, probe::Probes};

    static GO_ON: AtomicBool = AtomicBool::new(false);

    #[test]
    fn an_interruption_ends_looking_at_files_and_evicting_them() {
        let (folder, interrupted) = (folder(), AtomicBool::new(true));
        for number in 0..3 {
            fs::write(folder.path().join(format!("{number}")), vec![7; 5000]).unwrap();
        }
        Named::gather(&[], &[folder.path().to_path_buf()], true, &interrupted).err().expect("interrupted");
        let named = Named::gather(&[], &[folder.path().to_path_buf()], true, &GO_ON).unwrap();
        assert_eq!(named.evict(&interrupted), Err(Trouble::Interrupted));
    }

    #[test]
    fn of_files_on_a_disk_and_in_memory_those_on_the_disk_are_evicted_and_represent_all() {
        let Ok(shared) = tempfile::Builder::new().prefix("faultline").tempdir_in("/dev/shm") else {
            return println!("skipped: there is no /dev/shm");
        };
        let folder = folder();
        let (small, large) = (folder.path().join("small"), shared.path().join("large"));
        fs::write(&small, vec![7; 8192]).unwrap();
        fs::write(&large, vec![7; 64 << 10]).unwrap();
        let named = Named::gather(&[large, small.clone()], &[], true, &GO_ON).unwrap();
        let in_memory = |at: usize| named.is_in_memory(&named.files[at]);
        if [0, 1].map(in_memory) != [true, false]
            || !matches!(named.classes[named.files[1].class].way(), Ok(Way::Cachestat | Way::Mincore))
        {
            return println!("skipped: not one file in memory and one that can be evicted");
        }
        assert_eq!(named.largest(), small);
        named.evict(&GO_ON).unwrap();
        let resident = |at: usize| {
            let entry = &named.files[at];
            named.resident(entry, &entry.open().unwrap()).unwrap()
        };
        assert_eq!([0, 1].map(resident), [(64 << 10) / sys::page_bytes(), 0]);
    }

    #[test]
    fn a_name_that_is_not_utf8_is_reached_by_a_link_and_left_out_of_a_folder_with_a_note() {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
        let folder = folder();
        let (odd, link) = (folder.path().join(OsStr::from_bytes(b"fi\xffle")), folder.path().join("link"));
        fs::write(&odd, "a long text").unwrap();
        std::os::unix::fs::symlink(&odd, &link).unwrap();
        let named = Named::gather(std::slice::from_ref(&link), &[], true, &GO_ON).unwrap();
        assert_eq!((named.largest(), named.bytes()), (link.as_path(), 11));
        fs::write(folder.path().join("file"), "text").unwrap();
        let named = Named::gather(&[], &[folder.path().to_path_buf()], true, &GO_ON).unwrap();
        assert_eq!((named.files.len(), named.bytes()), (1, 4));
        assert!(named.notes.iter().any(|it| it.contains("UTF-8")), "{:?}", named.notes);
    }

    #[test]
    fn a_folder_whose_only_file_was_named_already_is_no_empty_folder() {
        let folder = folder();
        let only = folder.path().join("only");
        fs::write(&only, "1234").unwrap();
        let named = Named::gather(&[only], &[folder.path().to_path_buf()], true, &GO_ON).unwrap();
        assert_eq!((named.files.len(), named.folders.len(), named.bytes()), (1, 1, 4));
    }

    fn class(tried: &str, device: u64, disk: Option<&str>) -> FileClass {
        FileClass {
            device,
            owner: 1000,
            writable: true,
            in_memory: None,
            disk: disk.map(str::to_string),
            believed: Err("not asked".into()),
            proved: OnceLock::new(),
            tried: tried.into(),
        }
    }

    #[test]
    fn files_lie_on_one_disk_whatever_its_file_systems_and_their_owners() {
        let in_memory = || FileClass { in_memory: Some("tmpfs".into()), ..class("/dev/shm/a", 9, None) };
        let vda = |tried: &str, device: u64| class(tried, device, Some("vda"));
        let one = [
            vec![],
            vec![in_memory()],
            vec![vda("/a", 1), vda("/b", 1), vda("/home/c", 2), in_memory()],
            vec![class("/a", 1, None), class("/b", 1, None)],
        ];
        assert!(one.iter().all(|it| Spread::of(it).is_none()));
        let said = |classes: &[FileClass]| Spread::of(classes).expect("more than one").to_string();
        let two = said(&[vda("/a", 1), class("/mnt/b", 2, Some("vdb")), vda("/c", 1)]);
        assert!(two.contains("more than one disk: /a on vda, /mnt/b on vdb;"), "{two}");
        let unknown = said(&[vda("/a", 1), class("/mnt/b", 2, None)]);
        assert!(unknown.contains("/a on vda, /mnt/b on one that is not known;"), "{unknown}");
        said(&[class("/a", 1, None), class("/b", 2, None)]);
    }

    #[test]
    fn of_files_on_more_than_one_disk_none_is_throttled_and_none_is_counted() {
        let folder = folder();
        fs::write(folder.path().join("a"), "aaaa").unwrap();
        let mut named = Named::gather(&[], &[folder.path().to_path_buf()], true, &GO_ON).unwrap();
        assert_eq!((named.spread(), &named.classes[0].disk), (None, &super::super::device_of(folder.path())));
        named.classes = vec![class("/a", 1, Some("vda")), class("/mnt/b", 2, Some("vdb"))];
        let target = Target::of_named(named, true).unwrap();
        let why = target.disk.as_ref().expect_err("there are two").clone();
        assert!(why.contains("/a on vda, /mnt/b on vdb"), "{why}");
        let storage = Some(Storage { read_bytes_per_s: Some(1 << 20), read_ops_per_s: None });
        let condition = Condition { storage, ..Condition::plain(4) };
        let refused = Cgroups::new(None).possible(&condition, &target).unwrap_err();
        assert!(refused.contains(&why), "{refused}");
        let pid = std::process::id();
        let readings = Probes::start(&target, pid).stop(pid);
        let of_disk: Vec<_> = readings.iter().filter(|it| it.0.starts_with("disk_")).collect();
        assert_eq!(of_disk.len(), 6);
        of_disk.iter().for_each(|(name, it)| assert_eq!(it.reason(), Some(why.as_str()), "{name}"));
    }

    #[test]
    fn of_a_file_that_one_may_not_write_to_nothing_is_believed_that_was_proved_on_another() {
        // Root may write to all files, so this thread, and no other, changes its user.
        let looked = std::thread::spawn(|| {
            // SAFETY: the system call itself changes the calling thread alone, and touches no memory.
            let changed = unsafe { libc::syscall(libc::SYS_setresuid, -1, 65_534, -1) };
            assert!(changed == 0 || rustix::process::geteuid().as_raw() != 0);
            let folder = folder();
            for (name, mode) in [("a", 0o644), ("b", 0o444), ("c", 0o644)] {
                fs::write(folder.path().join(name), vec![7; 5000]).unwrap();
                fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
            }
            let named = Named::gather(&[], &[folder.path().to_path_buf()], true, &GO_ON).unwrap();
            named.files.iter().map(|it| named.classes[it.class].writable).collect::<Vec<bool>>()
        });
        assert_eq!(looked.join().unwrap(), [true, false, true]);
    }

    #[test]
    fn of_a_traces_table_only_files_that_were_named_are_replayed_by_the_paths_that_they_were_named_by() {
        let (folder, elsewhere) = (folder(), folder());
        for name in ["a", "b", "empty"] {
            fs::write(folder.path().join(name), if name == "empty" { "" } else { "1234" }).unwrap();
        }
        let other = elsewhere.path().join("other");
        fs::write(&other, "1234").unwrap();
        let named = of(folder.path()).unwrap();
        let path = |name: &str| folder.path().join(name).canonicalize().unwrap().display().to_string();
        let traced = |path: String, of: &str| {
            let metadata = fs::metadata(of).unwrap();
            let identity = Some(FileIdentity { device: metadata.dev(), inode: metadata.ino() });
            TracedFile { path, identity, ..TracedFile::default() }
        };
        let plain = |path: String| TracedFile { path, ..TracedFile::default() };
        let table = [
            plain(other.display().to_string()),
            plain(path("b")),
            plain(format!("{}/../{}", path("a"), "a")),
            traced("/another\u{1b}[2J\nname".into(), &path("a")),
            traced(other.display().to_string(), other.to_str().unwrap()),
            plain(path("empty")),
        ];
        let replayed = named.replayed(&table);
        let found: Vec<(u32, &str, u64)> = replayed.iter().map(|it| (it.place, it.path.as_str(), it.bytes)).collect();
        assert_eq!(found, [(1, path("b").as_str(), 4), (3, path("a").as_str(), 4)]);
        assert_eq!(Some(replayed[1].identity), table[3].identity);
        // Of one path in another mount namespace, and of a deleted file with the same inode, others are.
        let (a, b) = (path("a"), path("b"));
        let table = [
            traced(a.clone(), other.to_str().unwrap()),
            traced(a.clone(), &a),
            traced("/gone".into(), &b),
            traced(b.clone(), &b),
        ];
        let places = |table: &[TracedFile]| named.replayed(table).iter().map(|it| it.place).collect::<Vec<u32>>();
        assert_eq!(places(&table), [1, 3]);
        // A trace of another machine, or of a copy, has paths alone.
        assert_eq!(places(&table[..1]), [0]);
    }

    #[test]
    fn of_a_file_that_was_evicted_for_its_recording_it_is_not_known_what_was_found() {
        let folder = folder();
        let path = folder.path().join("a");
        let page = sys::page_bytes();
        fs::write(&path, vec![7; 3 * page as usize]).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let traced = |evicted| TracedFile {
            identity: Some(FileIdentity { device: metadata.dev(), inode: metadata.ino() }),
            resident_before: Some(0.3333),
            found: vec![Span { offset: page, bytes: page }],
            evicted,
            ..TracedFile::default()
        };
        let mut named = Named::gather(&[path], &[], false, &GO_ON).unwrap();
        named.take_found(&[traced(false)]);
        assert_eq!((named.is_found_in_part(), named.found_pages()), (Ok(()), 1));
        named.take_found(&[traced(true)]);
        assert!(named.files[0].found.is_none() && named.is_found_in_part().is_err());
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn of(folder: &Path) -> Result<Named> {
        Named::gather(&[], &[folder.to_path_buf()], false, &GO_ON)
    }

    fn refusal(folder: &Path) -> String {
        format!("{:#}", of(folder).err().expect("refused"))
    }

    #[test]
    fn a_folder_names_every_file_below_it_once_and_says_what_was_left_out() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("deeper")).unwrap();
        fs::write(at("one"), "1234").unwrap();
        fs::write(at("deeper/two"), "12").unwrap();
        fs::write(at("deeper/empty"), "").unwrap();
        fs::hard_link(at("one"), at("same")).unwrap();
        std::os::unix::fs::symlink(at("one"), at("link")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let named = Named::gather(&[at("one")], &[folder.path().to_path_buf()], false, &GO_ON).unwrap();
        assert_eq!((named.files.len(), named.folders.len(), named.bytes()), (3, 2, 6));
        assert!(named.holds(&at("same")) && !named.holds(&at("pipe")));
        assert!(named.largest().ends_with("one"));
        let described = named.notes.join("\n");
        assert!(described.contains("1 symbolic link was not followed") && described.contains("pipe"), "{described}");
    }

    #[test]
    fn a_folder_without_anything_to_read_is_refused_in_words() {
        let folder = folder();
        assert!(refusal(folder.path()).contains("contains no file with content"));
        fs::write(folder.path().join("empty"), "").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        let described = refusal(folder.path());
        assert!(described.contains("contains no file") && described.contains("not followed"), "{described}");
        assert!(refusal(Path::new("/no/such/folder")).contains("No such file"));
        assert!(refusal(Path::new("/proc/self/attr")).contains("contains no file"));
    }

    #[test]
    fn whatever_is_written_replaced_added_or_removed_is_noticed_and_named() {
        type Change = fn(&Path);
        let changes: [(Change, &str); 6] = [
            (|at| fs::write(at.join("b"), "longer than before").unwrap(), "b changed its size"),
            (|at| fs::write(at.join("b"), "BBBB").unwrap(), "b was written to"),
            (|at| fs::remove_file(at.join("a")).unwrap(), "a was deleted"),
            (|at| fs::rename(at.join("a"), at.join("b")).unwrap(), "a was deleted"),
            (|at| fs::write(at.join("new"), "").unwrap(), "made, renamed or removed in"),
            (
                |at| {
                    let file = File::options().write(true).open(at.join("b")).unwrap();
                    let before = file.metadata().unwrap().modified().unwrap();
                    std::io::Write::write_all(&mut &file, b"BBBB").unwrap();
                    file.set_modified(before).unwrap();
                },
                "time set back",
            ),
        ];
        for (change, word) in changes {
            let folder = folder();
            fs::write(folder.path().join("a"), "aaaa").unwrap();
            fs::write(folder.path().join("b"), "bbbb").unwrap();
            // The kernel's clock for file times has ticks of up to 10 ms.
            std::thread::sleep(Duration::from_millis(30));
            let named = of(folder.path()).unwrap();
            assert_eq!(named.unchanged(), Ok(()));
            change(folder.path());
            let described = named.unchanged().unwrap_err();
            assert!(described.contains(word), "{word}: {described}");
        }
    }

    #[test]
    fn a_folder_that_was_named_before_or_lies_in_one_is_not_said_to_be_empty() {
        let folder = folder();
        let (outer, inner) = (folder.path().to_path_buf(), folder.path().join("inner"));
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("a"), "aaaa").unwrap();
        for folders in [[&outer, &outer], [&outer, &inner], [&inner, &outer]] {
            let named = Named::gather(&[], &folders.map(PathBuf::clone), false, &GO_ON).unwrap();
            assert_eq!(named.files().len(), 1, "{folders:?}");
        }
        fs::create_dir(outer.join("none")).unwrap();
        assert!(Named::gather(&[], &[inner, outer.join("none")], false, &GO_ON).is_err());
    }

    #[test]
    fn where_a_look_reads_ahead_no_page_of_named_files_stays_and_one_that_is_mapped_is_found() {
        const BYTES: u64 = 8 << 20;
        let folder = folder();
        for name in ["a", "b"] {
            fs::write(folder.path().join(name), vec![7; BYTES as usize]).unwrap();
            File::open(folder.path().join(name)).unwrap().sync_all().unwrap();
        }
        let named = Named::gather(&[], &[folder.path().to_path_buf()], true, &GO_ON).unwrap();
        let file = File::options().read(true).write(true).open(folder.path().join("a")).unwrap();
        if named.classes[0].in_memory.is_some() || Way::Mincore.prove(&file).is_err() {
            println!("skipped: eviction or residency is not available here");
            return;
        }
        named.classes[0].proved.set(Ok(Way::Nowait)).unwrap();
        let mapped = Pages::map(&file, BYTES / 2, Sharing::Shared).unwrap();
        (0..BYTES / 2).step_by(sys::page_bytes() as usize).for_each(|at| assert_eq!(mapped.load(at).unwrap(), 7));
        let described = named.evict(&GO_ON).unwrap_err();
        assert!(matches!(&described, Trouble::Failed(it) if it.contains("/a (it is mapped by")), "{described:?}");
        drop(mapped);
        for _ in 0..10 {
            named.evict(&GO_ON).unwrap();
            // What was read ahead would be there by now.
            std::thread::sleep(4 * PAUSE);
            named
                .each(|file, whole| {
                    assert_eq!(sys::cache::mincore(file, 0, whole.bytes).unwrap(), 0);
                    // As a pass leaves it.
                    std::io::copy(&mut { file }, &mut std::io::sink()).unwrap();
                    Ok(())
                })
                .unwrap();
        }
    }

    #[test]
    fn many_files_are_evicted_and_read_one_by_one_and_one_that_is_mapped_is_named() {
        let folder = folder();
        for number in 0..300 {
            fs::write(folder.path().join(format!("{number}")), vec![7; 5000]).unwrap();
        }
        let named = of(folder.path()).unwrap();
        if let Err(reason) = named.possible(State::Cold) {
            println!("skipped: {reason}");
            return;
        }
        named.evict(&GO_ON).unwrap();
        let pages = |named: &Named| named.residency().value().map(|it| (it.pages, it.of)).unwrap();
        assert_eq!(pages(&named), (0, 600));
        let failed = |error: std::io::Error| Trouble::Failed(error.to_string());
        // The kernel may reclaim pages meanwhile (DAMON): they are read again.
        let reads_all = |_| {
            named.each(|mut file, _| std::io::copy(&mut file, &mut std::io::sink()).map(drop).map_err(failed)).unwrap();
            pages(&named) == (600, 600)
        };
        assert!((0..20).any(reads_all), "{:?}", pages(&named));
        let held = File::open(folder.path().join("7")).unwrap();
        // SAFETY: a new mapping of a file that nobody truncates; it goes with the test's process.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                4096,
                libc::PROT_READ,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                {
                    use std::os::fd::AsRawFd;
                    held.as_raw_fd()
                },
                0,
            )
        };
        assert_ne!(address, libc::MAP_FAILED);
        let described = named.evict(&GO_ON).unwrap_err();
        assert!(
            matches!(&described, Trouble::Failed(it) if it.contains("/7 (it is mapped by process")),
            "{described:?}"
        );
    }
}
