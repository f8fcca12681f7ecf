//! What is kept after a run: its record (`store`, which also has a place for records of other machines, with an `index` that can be rebuilt), and the cleanup journal of the
//! files and groups that it created elsewhere (`journal`). Both are folders of small JSON files that are only ever replaced whole (`atomic`), so that processes may work in
//! them side by side and be killed at any moment.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod atomic;
mod index;
mod journal;
mod places;
mod process;
mod store;

pub use index::{Digest, Index};
pub use journal::{CleanupJournal, Entry, Found, Owner, Removal, kind_of};
pub use store::{Imported, Listed, Store};
