//! What outlives a run: its record (`store`, with an `index` that can be thrown away), and a note of whatever it put
//! elsewhere (`ledger`). Both are folders of small JSON files that are only ever replaced whole (`atomic`), so that processes may work in
//! them side by side and be killed at any moment.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod atomic;
mod index;
mod ledger;
mod places;
mod process;
mod store;

pub use index::{Digest, Index};
pub use ledger::{Entry, Found, Ledger, Owner, Removal};
pub use store::Store;
