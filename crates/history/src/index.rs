//! An index over the saved records, so that listing them does not read them all: SQLite, in a file beside their folder.
//! Only the records are authoritative. The index may be deleted at any time and is then rebuilt from them.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, TransactionBehavior, params, types::Type};
use rustix::{
    fs::{CWD, RenameFlags},
    process::geteuid,
};
use schema::{
    Record,
    machine::Origin,
    saved::{CellPattern, Damaged, SavedCell, SavedMachine, SavedRun, Wanted},
};
use sys::{folder::Folder, whole::folder_of};

use crate::Store;

/// Of the tables below. An index of another layout is made again.
const LAYOUT: i64 = 3;

/// What the file's header says that it is (PRAGMA application_id): "fltl". Nothing is changed in a file that says
/// something else.
const APPLICATION: i32 = 0x666c_746c;

/// How the names of imported records begin, none of which is one of the own runs. (No id has a slash.)
const IMPORTED: &str = "imported/";

/// How long a process waits for the transaction of another. Transactions are short, because records are read before them.
const PATIENCE: Duration = Duration::from_secs(3);

/// Records are read for this long before their contents are entered.
const BATCH: Duration = Duration::from_millis(200);

const TABLES: &str = "
    CREATE TABLE file (name TEXT PRIMARY KEY, modified_ns INTEGER NOT NULL, bytes INTEGER NOT NULL, damage TEXT);
    CREATE TABLE run (
        id TEXT PRIMARY KEY REFERENCES file(name) ON DELETE CASCADE, started TEXT NOT NULL, elapsed_s REAL NOT NULL,
        machine TEXT NOT NULL, key TEXT, hardware TEXT, imported INTEGER NOT NULL, kernel TEXT NOT NULL, experiment TEXT NOT NULL, target TEXT NOT NULL,
        target_bytes INTEGER NOT NULL, file_system TEXT NOT NULL, partial TEXT, samples INTEGER NOT NULL);
    CREATE TABLE cell (
        run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, arm TEXT NOT NULL, digest TEXT NOT NULL);
    CREATE TABLE derived (version TEXT NOT NULL);
    CREATE INDEX cell_by_arm ON cell (arm, run);";

/// The index of one store.
pub struct Index {
    connection: Connection,
    /// Why it is in memory only, to be rebuilt the next time.
    pub only_in_memory: Option<String>,
}

/// How refreshing ended.
#[derive(Debug, PartialEq, Eq)]
enum Refreshed {
    Here,
    /// Nothing was entered into an index whose cells another version derives meanwhile.
    ByAnotherVersion,
}

/// The cells of a record, in their order; the statistics are the caller's. `run`, `started` and `machine` may be empty.
pub type Digest<'a> = &'a dyn Fn(&Record) -> Vec<SavedCell>;

impl Index {
    /// Beside the store's folder. Where nothing can be written, or something else has its name, in memory: slower, and
    /// otherwise the same.
    ///
    /// # Errors
    /// Only when SQLite cannot even do that.
    pub fn open(store: &Store) -> Result<Index> {
        let path = place(store);
        let opened = on_disk(&path).or_else(|why| match why {
            // A damaged file is moved aside and not deleted, because it may not have been an index.
            Unusable::Damaged(_) => put_aside(&path).map_err(|_| why).and_then(|()| on_disk(&path)),
            other => Err(other),
        });
        match opened {
            Ok(connection) => Ok(Index { connection, only_in_memory: None }),
            Err(why) => Index::in_memory(why.of(&path)),
        }
    }

    fn in_memory(why: String) -> Result<Index> {
        let connection = Connection::open_in_memory().and_then(|mut it| create_tables(&mut it).map(|()| it));
        Ok(Index {
            connection: connection.context("SQLite cannot keep an index in memory")?,
            only_in_memory: Some(why),
        })
    }

    /// Brings the index up to date with the files: what is gone is forgotten, what is new or changed is read. What
    /// was derived by another `version` of the digest is derived again. Where another process keeps it from that, the
    /// index goes on in memory.
    ///
    /// # Errors
    /// When the folder cannot be listed, or the index cannot be written although it could be opened (a full disk).
    pub fn refresh(&mut self, store: &Store, version: &str, digest: Digest) -> Result<()> {
        let imported = store.list_imported()?.into_iter().map(|(id, path)| (format!("{IMPORTED}{id}"), path));
        let files: Vec<(String, PathBuf)> = store.list()?.into_iter().chain(imported).collect();
        let path = place(store);
        let context =
            || format!("{} cannot be updated; it may be deleted, the records are not affected", path.display());
        let why = match self.bring_up_to_date(store, &files, version, digest) {
            Ok(Refreshed::Here) => return Ok(()),
            Ok(Refreshed::ByAnotherVersion) => "another version of faultline writes to it",
            Err(error) if is(&error, ErrorCode::DatabaseBusy) && self.only_in_memory.is_none() => {
                "another process writes to it"
            }
            Err(error) => return Err(error).with_context(context),
        };
        *self = Index::in_memory(format!("{} is busy: {why}", path.display()))?;
        self.bring_up_to_date(store, &files, version, digest).map(drop).with_context(context)
    }

    /// Records are read outside of transactions, which would keep others waiting. Two processes that refresh at once may
    /// both read a record; it is entered once.
    fn bring_up_to_date(
        &mut self,
        store: &Store,
        files: &[(String, PathBuf)],
        derived_by: &str,
        digest: Digest,
    ) -> rusqlite::Result<Refreshed> {
        if derived(&self.connection)?.as_deref() != Some(derived_by) {
            self.forget_other_versions(derived_by)?;
        }
        // Both of one moment: another version may be done with all files a moment later.
        let transaction = self.connection.transaction()?;
        let (derived, known) = (derived(&transaction)?, known(&transaction)?);
        drop(transaction);
        if derived.as_deref() != Some(derived_by) {
            return Ok(Refreshed::ByAnotherVersion);
        }
        let there: HashSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        let gone: Vec<&String> = known.keys().filter(|name| !there.contains(name.as_str())).collect();
        let changed = files.iter().filter_map(|(name, path)| {
            let version = version(path)?;
            (known.get(name) != Some(&version)).then_some((name, path, version))
        });
        let mut batch = Vec::new();
        let mut begun = Instant::now();
        for (name, path, version) in changed {
            let read = store.load_file(path).map(|record| {
                let cells = digest(&record);
                (record, cells)
            });
            batch.push((name, version, read));
            if begun.elapsed() > BATCH {
                if let it @ Refreshed::ByAnotherVersion =
                    self.enter_all(derived_by, &[], &std::mem::take(&mut batch))?
                {
                    return Ok(it);
                }
                begun = Instant::now();
            }
        }
        match gone.is_empty() && batch.is_empty() {
            true => Ok(Refreshed::Here),
            false => self.enter_all(derived_by, &gone, &batch),
        }
    }

    fn forget_other_versions(&mut self, derived_by: &str) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have done it already.
        if derived(&transaction)?.as_deref() != Some(derived_by) {
            transaction.execute_batch("DELETE FROM file; DELETE FROM derived;")?;
            transaction.execute("INSERT INTO derived VALUES (?1)", [derived_by])?;
        }
        transaction.commit()
    }

    fn enter_all(&mut self, derived_by: &str, gone: &[&String], batch: &[Read]) -> rusqlite::Result<Refreshed> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // While these were read, another version may have begun to derive all of them anew.
        if derived(&transaction)?.as_deref() != Some(derived_by) {
            return Ok(Refreshed::ByAnotherVersion);
        }
        for name in gone.iter().copied().chain(batch.iter().map(|it| it.0)) {
            transaction.execute("DELETE FROM file WHERE name = ?1", [name])?;
        }
        for (name, (modified_ns, bytes), read) in batch {
            let damage = read.as_ref().err().map(|error| format!("{error:#}"));
            // What kept it from being read says nothing about the file, which is tried again next time.
            let was_read = read.as_ref().err().is_none_or(|error| !error.chain().any(|it| it.is::<io::Error>()));
            let modified_ns = if was_read { *modified_ns } else { NEVER };
            transaction
                .execute("INSERT INTO file VALUES (?1, ?2, ?3, ?4)", params![name, modified_ns, bytes, damage])?;
            if let Ok((record, cells)) = read {
                enter(&transaction, name, record, cells)?;
            }
        }
        transaction.commit()?;
        Ok(Refreshed::Here)
    }

    /// How many runs there are, asked for or not.
    ///
    /// # Errors
    /// When the index was damaged since it was opened.
    pub fn count(&self) -> Result<u64> {
        let count = self.connection.query_row("SELECT count(*) FROM run", [], |row| row.get::<_, i64>(0));
        Ok(count.context("the index of saved runs cannot be read")?.unsigned_abs())
    }

    /// Runs, the newest first, and how many more there are of other machines.
    ///
    /// # Errors
    /// When the index was damaged since it was opened.
    pub fn runs(&self, wanted: &Wanted) -> Result<(Vec<SavedRun>, u64)> {
        let sql = format!("SELECT run.* FROM run WHERE {WANTED} ORDER BY started DESC, id DESC");
        let mut statement = self.connection.prepare(&sql)?;
        let rows = statement.query_map(parameters(wanted), saved_run)?;
        let all =
            rows.collect::<rusqlite::Result<Vec<SavedRun>>>().context("the index of saved runs cannot be read")?;
        let (runs, others): (Vec<SavedRun>, Vec<SavedRun>) =
            all.into_iter().partition(|it| wanted.machine.includes(&it.on.made_on()));
        Ok((runs, others.len() as u64))
    }

    /// One cell over time, oldest first.
    ///
    /// # Errors
    /// When the index was damaged since it was opened.
    pub fn cells(&self, wanted: &Wanted, pattern: &CellPattern) -> Result<Vec<SavedCell>> {
        let sql = format!(
            "SELECT cell.digest, run.* FROM cell JOIN run ON run.id = cell.run
             WHERE {WANTED} AND arm = ?5 ORDER BY started, run.id, cell.rowid"
        );
        let [target, experiment, since, until] = parameters(wanted);
        let mut statement = self.connection.prepare(&sql)?;
        let rows = statement.query_map(params![target, experiment, since, until, pattern.arm], |row| {
            let text: String = row.get("digest")?;
            let cell: SavedCell = serde_json::from_str(&text)
                .map_err(|error| rusqlite::Error::FromSqlConversionFailure(1, Type::Text, error.into()))?;
            Ok((saved_run(row)?, cell))
        })?;
        let mut cells = Vec::new();
        for row in rows {
            let (run, cell) = row.context("the index of saved runs cannot be read")?;
            if wanted.machine.includes(&run.on.made_on()) && pattern.is_about(&cell.arm, &cell.under) {
                let SavedRun { id, started, partial, on, .. } = run;
                cells.push(SavedCell { run: id, started, partial, on, ..cell });
            }
        }
        Ok(cells)
    }

    /// Files among the records that cannot be used.
    ///
    /// # Errors
    /// When the index was damaged since it was opened.
    pub fn damaged(&self) -> Result<Vec<Damaged>> {
        let mut statement =
            self.connection.prepare("SELECT name, damage FROM file WHERE damage IS NOT NULL ORDER BY name")?;
        let rows = statement.query_map([], |row| Ok(Damaged { file: row.get(0)?, reason: row.get(1)? }))?;
        rows.collect::<rusqlite::Result<Vec<Damaged>>>().context("the index of saved runs cannot be read")
    }
}

/// Of a file that could not be read: no file was modified then, so that it is always a changed one.
const NEVER: i64 = i64::MIN;

const WANTED: &str = "(?1 IS NULL OR instr(target, ?1) > 0) AND (?2 IS NULL OR experiment = ?2)
    AND (?3 IS NULL OR started >= ?3) AND (?4 IS NULL OR substr(started, 1, length(?4)) <= ?4)";

/// Which machine is meant is no matter of text.
fn parameters(wanted: &Wanted) -> [Option<&str>; 4] {
    let Wanted { machine: _, target, experiment, since, until } = wanted;
    [target, experiment, since, until].map(Option::as_deref)
}

fn saved_run(row: &Row) -> rusqlite::Result<SavedRun> {
    let id: String = row.get("id")?;
    let imported: bool = row.get("imported")?;
    Ok(SavedRun {
        id: id.strip_prefix(IMPORTED).filter(|_| imported).map_or(id.clone(), str::to_string),
        started: row.get("started")?,
        elapsed_s: row.get("elapsed_s")?,
        on: SavedMachine {
            machine: row.get("machine")?,
            key: row.get("key")?,
            hardware: row.get("hardware")?,
            origin: if imported { Origin::Imported } else { Origin::Own },
        },
        kernel: row.get("kernel")?,
        experiment: row.get("experiment")?,
        target: row.get("target")?,
        target_bytes: row.get::<_, i64>("target_bytes")? as u64,
        file_system: row.get("file_system")?,
        partial: row.get("partial")?,
        samples: row.get::<_, i64>("samples")? as u64,
    })
}

fn place(store: &Store) -> PathBuf {
    store.folder().with_file_name("faultline-index.sqlite")
}

/// Why there is no index in a file.
#[derive(Debug)]
enum Unusable {
    /// It is a database of something else.
    Foreign,
    /// It is no database, or one that is broken.
    Damaged(rusqlite::Error),
    Failed(rusqlite::Error),
    NoFolder(io::Error),
    /// Another user may exchange it, and this is root.
    OfAnother,
}

impl Unusable {
    fn of(&self, path: &Path) -> String {
        let path = path.display();
        match self {
            Unusable::Foreign => format!("{path} is a database of another program; move it away"),
            Unusable::Damaged(error) => format!("{path} is damaged ({error}); move it away"),
            Unusable::Failed(error) => format!("{path} cannot be written: {error}"),
            Unusable::NoFolder(error) => format!("{path} cannot be written: {error}"),
            Unusable::OfAnother => format!("another user may exchange {path}, so root writes no database there"),
        }
    }
}

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Unusable {
        match is(&error, ErrorCode::NotADatabase) || is(&error, ErrorCode::DatabaseCorrupt) {
            true => Unusable::Damaged(error),
            false => Unusable::Failed(error),
        }
    }
}

fn is(error: &rusqlite::Error, code: ErrorCode) -> bool {
    error.sqlite_error_code() == Some(code)
}

fn on_disk(path: &Path) -> Result<Connection, Unusable> {
    let (folder, name) =
        (Folder::made(folder_of(path)).map_err(Unusable::NoFolder)?, path.file_name().unwrap_or_default());
    // SQLite opens its files by their paths, and by then another user may have made them lead elsewhere.
    if geteuid().is_root() && sys::folder::trusted(folder.path()).is_err() {
        return Err(Unusable::OfAnother);
    }
    // SQLite takes an empty file for a new database, and keeps who may read it.
    drop(folder.create(name));
    // A link in the last part of the path is refused, one above it is followed.
    let place = folder.path().join(name);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(place, flags)?;
    connection.busy_timeout(PATIENCE)?;
    if !has_tables(&connection)? {
        create_tables(&mut connection)?;
    }
    Ok(connection)
}

/// Reads only, so that no other process has to wait or is waited for.
fn has_tables(connection: &Connection) -> Result<bool, Unusable> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    connection.pragma_update(None, "foreign_keys", true)?;
    let things: i64 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    match (pragma("application_id")?, pragma("user_version")?) {
        // An empty database.
        (0, 0) if things == 0 => Ok(false),
        (application, layout) if application == i64::from(APPLICATION) => Ok(layout == LAYOUT),
        _ => Err(Unusable::Foreign),
    }
}

/// In a database that is empty or one of ours.
fn create_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "foreign_keys", true)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let layout: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    // Another process may have come first.
    if layout != LAYOUT {
        transaction.execute_batch(
            "DROP TABLE IF EXISTS cell; DROP TABLE IF EXISTS run; DROP TABLE IF EXISTS file;
             DROP TABLE IF EXISTS derived;",
        )?;
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", LAYOUT)?;
    }
    transaction.commit()
}

/// Gives the file a name that is free, and deletes nothing.
fn put_aside(path: &Path) -> io::Result<()> {
    for number in 1..100 {
        let aside = path.with_extension(format!("sqlite.damaged-{number}"));
        match rustix::fs::renameat_with(CWD, path, CWD, &aside, RenameFlags::NOREPLACE) {
            Err(rustix::io::Errno::EXIST) => {}
            other => return Ok(other?),
        }
    }
    Err(io::Error::other("there are a hundred damaged ones already"))
}

/// The modification time and size of a file when it was read.
type Version = (i64, i64);

/// A record's name, its file's version, and the record with its cells, or why there is none.
type Read<'a> = (&'a String, Version, Result<(Record, Vec<SavedCell>)>);

fn version(path: &Path) -> Option<Version> {
    let about = fs::metadata(path).ok()?;
    let modified = about.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    Some((modified.map_or(0, |it| it.as_nanos() as i64), about.len() as i64))
}

fn known(connection: &Connection) -> rusqlite::Result<HashMap<String, Version>> {
    let mut statement = connection.prepare("SELECT name, modified_ns, bytes FROM file")?;
    statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?.collect()
}

/// Which version of the digest the cells are of.
fn derived(connection: &Connection) -> rusqlite::Result<Option<String>> {
    connection.query_row("SELECT version FROM derived", [], |row| row.get(0)).optional()
}

fn enter(connection: &Connection, id: &str, record: &Record, cells: &[SavedCell]) -> rusqlite::Result<()> {
    let machine = record.environment.machine.as_ref();
    connection.execute(
        "INSERT INTO run VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        params![
            id,
            record.started,
            record.elapsed_s,
            record.environment.host,
            machine.map(|it| &it.key),
            machine.map(|it| &it.hardware),
            id.starts_with(IMPORTED),
            record.environment.kernel,
            record.experiment.name,
            record.target.described(),
            record.target.bytes as i64,
            record.target.file_system,
            record.partial,
            record.samples.len() as i64,
        ],
    )?;
    let mut statement = connection.prepare("INSERT INTO cell VALUES (?1, ?2, ?3)")?;
    for cell in cells {
        let digest =
            serde_json::to_string(cell).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        statement.execute(params![id, cell.arm, digest])?;
    }
    Ok(())
}
