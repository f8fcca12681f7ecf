//! Records, one JSON file each. A record is saved again after every round, so a save replaces the one before it;
//! it never replaces a record that has something the new one has not.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Mutex,
};

use anyhow::{Context, Result, anyhow, bail};
use rustix::fs::OFlags;
use schema::{
    Bytes, Record, SCHEMA_VERSION,
    loaded::{Holder, Versions, is_id},
    machine::{Machine, Origin},
    record::{Outcome, Sample},
    units::nearest,
};

use sys::{
    folder::Folder,
    whole::{Taken, folder_of},
};

use crate::{atomic, places};

/// Larger than any record; larger files are refused.
const LARGEST_BYTES: u64 = 1 << 30;
/// More values than any record of that size has. A list of zeros or of empty texts takes up to sixteen times its bytes in
/// memory, and this bounds it.
const VALUES_MAX: usize = 1 << 25;

/// As much as a record of an ordinary run has.
const ROOM_BYTES: usize = 1 << 20;

/// A folder of records, and beside it one of records that were made elsewhere. Which of the two a record lies in decides
/// what it may answer for.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    imported: PathBuf,
    /// The names under which this store has saved runs, by id.
    names: Mutex<HashMap<String, String>>,
}

impl Store {
    /// The store in `dir`, in `$FAULTLINE_DATA_DIR` or in the user's data folder. Nothing is made until a save.
    ///
    /// # Errors
    /// When there is neither a folder nor a home to put one in.
    pub fn open(dir: Option<PathBuf>) -> Result<Store> {
        let folder = places::runs(dir)?;
        Ok(Store { imported: folder.with_file_name("imported"), folder, names: Mutex::default() })
    }

    /// Where the records of runs lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the records lie that were made elsewhere.
    pub fn imported_folder(&self) -> &Path {
        &self.imported
    }

    /// Writes the record whole, or not at all, and says where. The file's stem is the id to load it by: the record's own,
    /// unless another run has that id (two runs with one seed in one second) and got there first.
    ///
    /// # Errors
    /// What happened, to which file, and what to try. What was saved before is untouched.
    pub fn save(&self, record: &Record) -> Result<PathBuf> {
        if !is_id(&record.id) {
            bail!("{:?} is not a run id: 1 to 100 letters, digits, - or _", record.id);
        }
        let advice = || {
            format!(
                "the run {} was not saved in {}; use `--json=FILE` to keep it elsewhere, or set {} to another \
                 folder",
                record.id,
                self.folder.display(),
                places::VARIABLE
            )
        };
        let folder = Folder::made(&self.folder).with_context(advice)?;
        let mut names = self.names.lock().expect("no save panics while it holds the lock");
        if let Some(name) = names.get(&record.id) {
            return self.write(&folder, record, name, Taken::Replace).with_context(advice);
        }
        for attempt in 1..100 {
            let name = if attempt == 1 { record.id.clone() } else { format!("{}-{attempt}", record.id) };
            let path = match self.write(&folder, record, &name, Taken::Refuse) {
                // Another `Store` may have saved an earlier state of this very run.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match read_file(&self.path_of(&name)) {
                    Ok(earlier) if goes_on(&earlier, record) => self.write(&folder, record, &name, Taken::Replace),
                    Ok(_) | Err(_) => continue,
                },
                other => other,
            };
            let path = path.with_context(advice)?;
            names.insert(record.id.clone(), name);
            return Ok(path);
        }
        Err(anyhow!("a hundred other runs have the id {}", record.id)).with_context(advice)
    }

    /// Whether there is room for a record, in the folder or where that would be made: a file without a name is written there.
    ///
    /// # Errors
    /// Why none can be saved, and what to try.
    pub fn has_room(&self) -> Result<()> {
        let folder = self.folder.ancestors().find(|it| it.exists()).unwrap_or(Path::new("."));
        let written =
            Folder::open_own(folder).and_then(|it| atomic::written(&it, "room", &vec![1; ROOM_BYTES])).map(drop);
        written.with_context(|| {
            format!(
                "no run can be saved in {}; set {} to another folder, or use `--json=FILE`",
                self.folder.display(),
                places::VARIABLE
            )
        })
    }

    /// A record by its id, by the beginning of its id if that is unique, by `last` (of the own runs), or by the path of its
    /// file; and where it lies. The file may also be what `--json` printed.
    ///
    /// # Errors
    /// Names what was not found and the nearest id, or the file and what is wrong with it.
    pub fn find(&self, which: &str) -> Result<(Record, Origin)> {
        let (path, origin) = self.place(which)?;
        let record = match self.is_kept(&path) {
            true => read_file(&path)?,
            false => read(&path)?,
        };
        Ok((record, origin))
    }

    /// The file of a record, named as for `find`; it may be none.
    ///
    /// # Errors
    /// As `find`.
    pub fn place(&self, which: &str) -> Result<(PathBuf, Origin)> {
        if which == "last" {
            let runs = self.list()?;
            let Some((_, path)) = runs.into_iter().next() else {
                bail!("no run is saved in {}; `faultline run FILE` makes one", self.folder.display());
            };
            return Ok((path, Origin::Own));
        }
        let all = self.list_all()?;
        if let Some((_, path, origin)) = all.iter().find(|(id, ..)| id == which) {
            return Ok((path.clone(), *origin));
        }
        let path = Path::new(which);
        if which.contains('/') || path.extension().is_some_and(|extension| extension == "json") || path.is_file() {
            return Ok((path.to_path_buf(), self.origin(path)));
        }
        let begins: Vec<&Listed> = all.iter().filter(|(id, ..)| !which.is_empty() && id.starts_with(which)).collect();
        match begins[..] {
            [(_, path, origin)] => Ok((path.clone(), *origin)),
            [] => bail!("no run {which:?} in {}{}", self.folder.display(), hint(which, &all)),
            [..] => {
                let ids: Vec<&str> = begins.iter().take(5).map(|(id, ..)| id.as_str()).collect();
                let more = if begins.len() > 5 { ", …" } else { "" };
                bail!("{} runs begin with {which:?}: {}{more}", begins.len(), ids.join(", "))
            }
        }
    }

    /// As `find`, wherever it lies.
    ///
    /// # Errors
    /// As `find`.
    pub fn load(&self, which: &str) -> Result<Record> {
        Ok(self.find(which)?.0)
    }

    /// Of a file: its folder says it, whatever the path to it looks like.
    fn origin(&self, path: &Path) -> Origin {
        let folder = path.canonicalize().ok().and_then(|it| it.parent().map(Path::to_path_buf));
        match folder.is_some() && folder == self.folder.canonicalize().ok() {
            true => Origin::Own,
            false => Origin::Imported,
        }
    }

    /// Whether a path is one in the two folders, or leads there.
    fn is_kept(&self, path: &Path) -> bool {
        let folders = [&self.folder, &self.imported].map(|it| it.canonicalize().ok());
        let named = folder_of(path).canonicalize().ok();
        let led_to = path.canonicalize().ok().and_then(|it| it.parent().map(Path::to_path_buf));
        [named, led_to].into_iter().any(|it| it.is_some() && folders.contains(&it))
    }

    /// The record in a file that `list` named.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub fn load_file(&self, path: &Path) -> Result<Record> {
        read_file(path)
    }

    /// Ids and files of the own runs, the newest first. Files are not opened, so a damaged one is listed too; loading it says what is wrong.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn list(&self) -> Result<Vec<(String, PathBuf)>> {
        Ok(without_origin(newest_first(listed(&self.folder, Origin::Own)?)))
    }

    /// The same of the records that were imported.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn list_imported(&self) -> Result<Vec<(String, PathBuf)>> {
        Ok(without_origin(newest_first(listed(&self.imported, Origin::Imported)?)))
    }

    /// The same of both, the newest first of all.
    ///
    /// # Errors
    /// When a folder is there and cannot be read.
    pub fn list_all(&self) -> Result<Vec<Listed>> {
        let own = listed(&self.folder, Origin::Own)?;
        let imported = listed(&self.imported, Origin::Imported)?;
        Ok(newest_first(own.into_iter().chain(imported).collect()))
    }

    /// Copies the record in a file, which may also be what `--json` printed, to those that were made elsewhere. The name is
    /// that of the checked id.
    ///
    /// # Errors
    /// The file holds no record, or another run has its id, or it cannot be saved. What was there is untouched.
    pub fn import(&self, file: &Path) -> Result<Imported> {
        // Opening a pipe blocks until its other end is opened for writing (fifo(7)).
        if fs::metadata(file).is_ok_and(|it| !it.is_file()) {
            bail!("{} is not a regular file; a record is one JSON file", file.display());
        }
        let record = read_file(file)?;
        let own = self.path_of(&record.id);
        if own.exists() {
            return match read_file(&own).is_ok_and(|it| goes_on(&record, &it)) {
                true => Ok(Imported::Own(record.id)),
                false => bail!("{}: a run that was made here has the id {}", file.display(), record.id),
            };
        }
        let advice = || format!("{} was not imported into {}", file.display(), self.imported.display());
        let folder = Folder::made(&self.imported).with_context(advice)?;
        let name = format!("{}.json", record.id);
        let mut content = serde_json::to_vec(&record)?;
        content.push(b'\n');
        let write = |taken| atomic::write(&folder, &name, &content, taken);
        match write(Taken::Refuse) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other.map(|_| Imported::New(record.id)).with_context(advice),
        }
        let there = read_file(&self.imported.join(&name)).with_context(advice)?;
        let length = |it: &Record| (it.samples.len(), it.elapsed_s);
        match () {
            () if record == there || goes_on(&record, &there) && length(&record) <= length(&there) => {
                Ok(Imported::Known(record.id))
            }
            () if goes_on(&there, &record) => {
                write(Taken::Replace).with_context(advice)?;
                Ok(Imported::Longer(record.id))
            }
            () => bail!("{}: another run with the id {} was imported before", file.display(), record.id),
        }
    }

    /// A key of this data folder, for a machine that has no id of its own; made when that is asked for.
    pub fn machine_key(&self, make: bool) -> Option<String> {
        const NAME: &str = "machine-key";
        let folder = self.folder.parent()?;
        let kept = || {
            let path = folder.join(NAME);
            let is_text = fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() < 4096);
            let text = is_text.then(|| fs::read_to_string(path))?.ok()?;
            Some(sys::machine::hex(&sys::machine::parse(&text).ok()?))
        };
        kept().or_else(|| {
            let bits = sys::machine::random().ok().filter(|_| make)?;
            let held = Folder::made(folder).ok()?;
            // Another process may come first, and its key counts then.
            let _ = atomic::write(&held, NAME, format!("{}\n", sys::machine::hex(&bits)).as_bytes(), Taken::Refuse);
            kept()
        })
    }

    /// What killed processes left half-written: it never had a record's name and may be deleted. Of a folder that cannot be listed,
    /// why.
    pub fn abandoned(&self) -> Vec<Result<PathBuf>> {
        self.folders().flat_map(atomic::abandoned).collect()
    }

    /// All that it writes to.
    fn folders(&self) -> impl Iterator<Item = &Path> {
        [Some(self.folder.as_path()), Some(&self.imported), self.folder.parent()].into_iter().flatten()
    }

    /// Deletes what `abandoned` lists: each that it deleted, and why another could not be.
    pub fn remove_abandoned(&self) -> Vec<Result<PathBuf>> {
        self.folders().flat_map(atomic::remove_abandoned).collect()
    }

    fn path_of(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    fn write(&self, folder: &Folder, record: &Record, name: &str, taken: Taken) -> io::Result<PathBuf> {
        let mut content = if name == record.id {
            serde_json::to_vec(record)?
        } else {
            serde_json::to_vec(&Record { id: name.to_string(), ..record.clone() })?
        };
        content.push(b'\n');
        atomic::write(folder, &format!("{name}.json"), &content, taken)?;
        Ok(self.path_of(name))
    }
}

/// The result of importing a file; each with the run's id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Imported {
    New(String),
    /// It replaced an earlier state of the run.
    Longer(String),
    /// It is there already, or a later state of it.
    Known(String),
    /// It was made here, and is among the own runs.
    Own(String),
}

/// Whether `later` has everything that `earlier` has: the same run, some rounds on.
fn goes_on(earlier: &Record, later: &Record) -> bool {
    fn which(it: &Record) -> (&str, u64, &str, Option<&Machine>) {
        (&it.started, it.seed, &it.environment.host, it.environment.machine.as_ref())
    }
    // A pass that counted may be found invalid later, when its fill is looked at again.
    fn is_same(earlier: &Sample, later: &Sample) -> bool {
        let invalidated = matches!((&earlier.outcome, &later.outcome), (Outcome::Ok { .. }, Outcome::Invalid { .. }));
        earlier == later || invalidated && Sample { outcome: earlier.outcome.clone(), ..later.clone() } == *earlier
    }
    which(earlier) == which(later)
        && earlier.samples.len() <= later.samples.len()
        && earlier.samples.iter().zip(&later.samples).all(|(earlier, later)| is_same(earlier, later))
}

/// The id of a run, its file, and whose folder that is in.
pub type Listed = (String, PathBuf, Origin);

fn without_origin(runs: Vec<Listed>) -> Vec<(String, PathBuf)> {
    runs.into_iter().map(|(id, path, _)| (id, path)).collect()
}

fn listed(folder: &Path, origin: Origin) -> Result<Vec<Listed>> {
    let files = atomic::files(folder).with_context(|| {
        format!("the saved runs in {} cannot be listed; check the value of {}", folder.display(), places::VARIABLE)
    })?;
    let runs = files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_string(), path, origin)))
        .filter(|(id, ..)| !id.starts_with('.'))
        // Opening a pipe need not end.
        .filter(|(_, path, _)| fs::metadata(path).is_ok_and(|it| it.is_file()));
    Ok(runs.collect())
}

fn newest_first(mut runs: Vec<Listed>) -> Vec<Listed> {
    // Ids begin with the time; files with other names come after them.
    let key = |id: &str| (id.starts_with(|c: char| c.is_ascii_digit()), id.to_string());
    runs.sort_by_cached_key(|(id, ..)| std::cmp::Reverse(key(id)));
    // Of those that began in one second, the one that was written last.
    let second = |id: &str| id.split('-').next().map(str::to_string);
    let newest = runs.first().and_then(|(id, ..)| second(id));
    let in_it = runs.iter().take_while(|(id, ..)| second(id) == newest).count();
    let written = |path: &Path| fs::metadata(path).and_then(|it| it.modified()).ok();
    if in_it > 1 {
        runs[..in_it].sort_by_cached_key(|(_, path, _)| std::cmp::Reverse(written(path)));
    }
    runs
}

fn hint(which: &str, runs: &[Listed]) -> String {
    match nearest(which, runs.iter().map(|(id, ..)| id.as_str())) {
        Some(id) => format!("; did you mean {id:?}?"),
        None if runs.is_empty() => "; nothing is saved there yet".into(),
        None => format!("; `faultline list runs` lists all {}", runs.len()),
    }
}

/// The record in a file that the user named. It may be a pipe, whose writer is waited for: `faultline report <(…)`.
fn read(path: &Path) -> Result<Record> {
    let file = File::open(path).map_err(anyhow::Error::from);
    file.and_then(parse).with_context(|| format!("{} cannot be used", path.display()))
}

/// The record in a regular file. Another user who may write to a folder can put a pipe there: to open one need not end.
fn read_file(path: &Path) -> Result<Record> {
    opened(path).and_then(parse).with_context(|| format!("{} cannot be used", path.display()))
}

fn opened(path: &Path) -> Result<File> {
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
    let about = file.metadata()?;
    // Of a folder `parse` says more.
    match about.is_file() || about.is_dir() {
        true => Ok(file),
        false => bail!("it is no regular file"),
    }
}

fn parse(file: File) -> Result<Record> {
    if file.metadata()?.is_dir() {
        bail!("it is a folder; a record is one JSON file");
    }
    let mut content = Vec::new();
    // One byte more shows that there are more. The size that the system gives may be wrong: of a pipe it is 0.
    file.take(LARGEST_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > LARGEST_BYTES {
        bail!("it is larger than {}, which no record is", Bytes(LARGEST_BYTES));
    }
    if content.iter().all(u8::is_ascii_whitespace) {
        bail!("it is empty");
    }
    // Every value but the first of a list or an object follows a comma.
    if content.iter().filter(|&&byte| byte == b',').count() > VALUES_MAX {
        bail!("it has more than {VALUES_MAX} values, which no record has");
    }
    let record: Record = match serde_json::from_slice(&content) {
        Ok(record) => record,
        Err(error) => held(&content, error)?,
    };
    check_version(Some(record.schema_version.into()))?;
    record.check().map_err(|why| anyhow!("no run has measured this: {why}"))?;
    Ok(record)
}

/// The record in what `--json` prints, or why there is none; `error` is what kept the whole from being a record.
fn held(content: &[u8], error: serde_json::Error) -> Result<Record> {
    match serde_json::from_slice::<Versions>(content) {
        // A newer record may differ in anything, so versions come first.
        Ok(versions) => {
            check_version(versions.schema_version)?;
            let Some(record) = versions.record else { return Err(error).context("it is no record of faultline") };
            check_version(record.schema_version)?;
            let holder: Holder =
                serde_json::from_slice(content).context("its record is not in a form that faultline writes")?;
            Ok(*holder.record)
        }
        Err(error) if error.is_eof() || is_at_end(content, &error) => {
            Err(error).context("it is truncated: an incomplete copy, or a full disk")
        }
        Err(error) if error.is_data() => Err(error).context("it is no record of faultline"),
        Err(error) => Err(error).context("it is not JSON"),
    }
}

/// What was cut within a number or a word is no JSON up to its last byte.
fn is_at_end(content: &[u8], error: &serde_json::Error) -> bool {
    let begun = content.iter().rposition(|it| *it == b'\n').map_or(0, |it| it + 1);
    let lines = content[..begun].iter().filter(|it| **it == b'\n').count() + 1;
    error.is_syntax()
        && content.first() == Some(&b'{')
        && (error.line(), error.column()) == (lines, content.len() - begun)
}

fn check_version(version: Option<u64>) -> Result<()> {
    match version {
        Some(version) if version > u64::from(SCHEMA_VERSION) => bail!(
            "it has schema version {version} and this faultline reads versions up to {SCHEMA_VERSION}; use the newer \
             faultline that wrote it"
        ),
        _ => Ok(()),
    }
}
