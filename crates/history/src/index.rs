//! An index over the saved records, so that a list of many does not read them all: SQLite, in a file beside their folder.
//! The records are the truth. The index may be deleted at any time, by anyone; it is made again from them.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior, params, types::Type};
use schema::{
    Record,
    findings::Estimate,
    saved::{CellPattern, Damaged, SavedCell, SavedRun, Wanted},
};

use crate::Store;

/// Of the tables below. An index of another layout is thrown away.
const LAYOUT: i64 = 1;

const TABLES: &str = "
    CREATE TABLE file (name TEXT PRIMARY KEY, modified_ns INTEGER NOT NULL, bytes INTEGER NOT NULL, damage TEXT);
    CREATE TABLE run (
        id TEXT PRIMARY KEY REFERENCES file(name) ON DELETE CASCADE, started TEXT NOT NULL, elapsed_s REAL NOT NULL,
        machine TEXT NOT NULL, kernel TEXT NOT NULL, experiment TEXT NOT NULL, target TEXT NOT NULL,
        target_bytes INTEGER NOT NULL, file_system TEXT NOT NULL, partial TEXT, samples INTEGER NOT NULL);
    CREATE TABLE cell (
        run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, arm TEXT NOT NULL, workload TEXT NOT NULL,
        consume TEXT NOT NULL, state TEXT NOT NULL, block_bytes INTEGER NOT NULL, condition TEXT NOT NULL,
        median REAL NOT NULL, ci_low REAL NOT NULL, ci_high REAL NOT NULL);
    CREATE INDEX cell_by_arm ON cell (arm, run);";

/// The index of one store.
pub struct Index {
    connection: Connection,
    /// Why it lives in memory only and will be made again the next time.
    pub only_in_memory: Option<String>,
}

/// The cells of a record, in their order; the statistics are the caller's. `run`, `started` and `machine` may be empty.
pub type Digest<'a> = &'a dyn Fn(&Record) -> Vec<SavedCell>;

impl Index {
    /// Beside the store's folder. Where nothing can be written, in memory: slower, and otherwise the same.
    ///
    /// # Errors
    /// Only when SQLite cannot even do that.
    pub fn open(store: &Store) -> Result<Index> {
        let path = place(store);
        let opened = on_disk(&path).or_else(|error| match is_damaged(&error) {
            // Nothing is in it that is not in the records.
            true => fs::remove_file(&path).map_or(Err(error), |()| on_disk(&path)),
            false => Err(error),
        });
        match opened {
            Ok(connection) => Ok(Index { connection, only_in_memory: None }),
            Err(error) => {
                let connection = Connection::open_in_memory().and_then(prepared);
                let reason = format!("{} cannot be written: {error}", path.display());
                Ok(Index {
                    connection: connection.context("SQLite cannot keep an index in memory")?,
                    only_in_memory: Some(reason),
                })
            }
        }
    }

    /// Brings the index up to date with the files: what is gone is forgotten, what is new or changed is read.
    ///
    /// # Errors
    /// When the folder cannot be listed, or the index cannot be written although it could be opened (a full disk).
    pub fn refresh(&mut self, store: &Store, digest: Digest) -> Result<()> {
        let files = store.list()?;
        let context = || {
            let path = place(store);
            format!("{} cannot be brought up to date; it may be deleted, the records are untouched", path.display())
        };
        // Two processes refreshing at once take turns.
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).with_context(context)?;
        forget_others(&transaction, &files).with_context(context)?;
        for (name, path) in &files {
            let Ok(about) = fs::metadata(path) else { continue };
            let modified = about.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
            let modified_ns = modified.map_or(0, |it| it.as_nanos() as i64);
            let known = transaction
                .query_row("SELECT modified_ns, bytes FROM file WHERE name = ?1", [name], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
                })
                .optional()
                .with_context(context)?;
            if known == Some((modified_ns, about.len() as i64)) {
                continue;
            }
            let loaded = store.load_file(path);
            let damage = loaded.as_ref().err().map(|error| format!("{error:#}"));
            transaction.execute("DELETE FROM file WHERE name = ?1", [name]).with_context(context)?;
            transaction
                .execute(
                    "INSERT INTO file VALUES (?1, ?2, ?3, ?4)",
                    params![name, modified_ns, about.len() as i64, damage],
                )
                .with_context(context)?;
            if let Ok(record) = loaded {
                enter(&transaction, name, &record, &digest(&record)).with_context(context)?;
            }
        }
        transaction.commit().with_context(context)
    }

    /// Runs, the newest first.
    ///
    /// # Errors
    /// When the index was damaged since it was opened.
    pub fn runs(&self, wanted: &Wanted) -> Result<Vec<SavedRun>> {
        let sql = format!("SELECT run.* FROM run WHERE {WANTED} ORDER BY started DESC, id DESC");
        let mut statement = self.connection.prepare(&sql)?;
        let rows = statement.query_map(parameters(wanted), |row| {
            Ok(SavedRun {
                id: row.get("id")?,
                started: row.get("started")?,
                elapsed_s: row.get("elapsed_s")?,
                machine: row.get("machine")?,
                kernel: row.get("kernel")?,
                experiment: row.get("experiment")?,
                target: row.get("target")?,
                target_bytes: row.get::<_, i64>("target_bytes")? as u64,
                file_system: row.get("file_system")?,
                partial: row.get("partial")?,
                samples: row.get::<_, i64>("samples")? as u64,
            })
        })?;
        rows.collect::<rusqlite::Result<Vec<SavedRun>>>().context("the index of saved runs cannot be read")
    }

    /// One cell over time, oldest first.
    ///
    /// # Errors
    /// When the index was damaged since it was opened.
    pub fn cells(&self, wanted: &Wanted, pattern: &CellPattern) -> Result<Vec<SavedCell>> {
        let sql = format!(
            "SELECT cell.*, run.started, run.machine FROM cell JOIN run ON run.id = cell.run WHERE {WANTED} AND arm = ?6
             AND (?7 IS NULL OR workload = ?7) AND (?8 IS NULL OR consume = ?8) AND (?9 IS NULL OR state = ?9)
             AND (?10 IS NULL OR block_bytes = ?10) ORDER BY condition, started, run.id"
        );
        let [machine, target, experiment, since, until] = parameters(wanted);
        let parameters = params![
            machine,
            target,
            experiment,
            since,
            until,
            pattern.arm,
            pattern.workload.map(|it| it.word()),
            pattern.consume.map(|it| it.word()),
            pattern.state.map(|it| it.word()),
            pattern.block_bytes.map(|it| it as i64),
        ];
        let mut statement = self.connection.prepare(&sql)?;
        let rows = statement.query_map(parameters, |row| {
            Ok(SavedCell {
                run: row.get("run")?,
                started: row.get("started")?,
                machine: row.get("machine")?,
                arm: row.get("arm")?,
                workload: word(row, "workload")?,
                consume: word(row, "consume")?,
                state: word(row, "state")?,
                block_bytes: row.get::<_, i64>("block_bytes")? as u64,
                condition: row.get("condition")?,
                ns_per_op: Estimate {
                    median: row.get("median")?,
                    ci_low: row.get("ci_low")?,
                    ci_high: row.get("ci_high")?,
                },
            })
        })?;
        rows.collect::<rusqlite::Result<Vec<SavedCell>>>().context("the index of saved runs cannot be read")
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

const WANTED: &str = "(?1 IS NULL OR machine = ?1) AND (?2 IS NULL OR instr(target, ?2) > 0)
    AND (?3 IS NULL OR experiment = ?3) AND (?4 IS NULL OR started >= ?4)
    AND (?5 IS NULL OR substr(started, 1, length(?5)) <= ?5)";

fn parameters(wanted: &Wanted) -> [Option<&str>; 5] {
    let Wanted { machine, target, experiment, since, until } = wanted;
    [machine, target, experiment, since, until].map(Option::as_deref)
}

fn word<T: std::str::FromStr<Err = String>>(row: &rusqlite::Row, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error: String| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, error.into()))
}

fn place(store: &Store) -> PathBuf {
    store.folder().with_file_name("index.sqlite")
}

fn on_disk(path: &Path) -> rusqlite::Result<Connection> {
    if let Some(folder) = path.parent() {
        // If that fails, opening says why.
        let _ = fs::create_dir_all(folder);
    }
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    prepared(connection)
}

fn prepared(mut connection: Connection) -> rusqlite::Result<Connection> {
    connection.pragma_update(None, "foreign_keys", true)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let layout: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if layout != LAYOUT {
        transaction.execute_batch("DROP TABLE IF EXISTS cell; DROP TABLE IF EXISTS run; DROP TABLE IF EXISTS file;")?;
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "user_version", LAYOUT)?;
    }
    transaction.commit()?;
    Ok(connection)
}

fn is_damaged(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

fn forget_others(connection: &Connection, files: &[(String, PathBuf)]) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT name FROM file")?;
    let known = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    let there: std::collections::HashSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    for name in known.iter().filter(|name| !there.contains(name.as_str())) {
        connection.execute("DELETE FROM file WHERE name = ?1", [name])?;
    }
    Ok(())
}

fn enter(connection: &Connection, id: &str, record: &Record, cells: &[SavedCell]) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO run VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            id,
            record.started,
            record.elapsed_s,
            record.environment.host,
            record.environment.kernel,
            record.experiment.name,
            record.target.path,
            record.target.bytes as i64,
            record.target.file_system,
            record.partial,
            record.samples.len() as i64,
        ],
    )?;
    let mut statement = connection.prepare("INSERT INTO cell VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    for cell in cells {
        let Estimate { median, ci_low, ci_high } = cell.ns_per_op;
        statement.execute(params![
            id,
            cell.arm,
            cell.workload.word(),
            cell.consume.word(),
            cell.state.word(),
            cell.block_bytes as i64,
            cell.condition,
            median,
            ci_low,
            ci_high
        ])?;
    }
    Ok(())
}
