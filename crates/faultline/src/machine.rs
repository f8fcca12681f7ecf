//! This machine, and whose saved runs are meant.

use std::path::PathBuf;

use anyhow::Result;
use history::{Listed, Store};
use schema::{
    Record,
    machine::{MadeOn, Origin, Whose},
    record::Environment,
};

/// Nothing is made for it: a data folder without a key has no runs with one.
pub fn here(store: &Store) -> Environment {
    lab::host::detect(&|| store.machine_key(false))
}

/// What `--machine` means here.
pub fn whose(described: Option<&str>, store: &Store) -> Whose {
    Whose::selected(described, || MadeOn::new(&here(store), Origin::Own))
}

/// Ids and files of saved runs, the newest first, of the places where the machine that is meant may have runs.
///
/// # Errors
/// A folder is there and cannot be read.
pub fn runs(store: &Store, whose: &Whose) -> Result<Vec<Listed>> {
    let of_here = |runs: Vec<(String, PathBuf)>| runs.into_iter().map(|(id, path)| (id, path, Origin::Own)).collect();
    match whose.goes_beyond() {
        true => store.list_all(),
        false => store.list().map(of_here),
    }
}

/// Of the newest runs of a machine, so many are looked at for unit costs.
pub const LOOKED_AT: usize = 50;

/// The newest runs of the machine that is meant, the newest first. Others are not counted, however many of them there are:
/// runs of other machines, those that were stopped, and damaged records.
///
/// # Errors
/// A folder is there and cannot be read.
pub fn newest<'a>(store: &'a Store, whose: &'a Whose) -> Result<impl Iterator<Item = (Record, Origin)> + 'a> {
    let records = runs(store, whose)?.into_iter().filter_map(move |(_, path, origin)| {
        let record = store.load_file(&path).ok().filter(|it| it.partial.is_none())?;
        whose.includes(&MadeOn::new(&record.environment, origin)).then_some((record, origin))
    });
    Ok(records.take(LOOKED_AT))
}
