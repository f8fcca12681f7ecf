//! More than one run: runs against runs, what a gate forbids, claims over many runs, cells of saved runs.

pub(crate) mod gate;
pub(crate) mod ledger;
pub(crate) mod runs;
pub(crate) mod saved;
