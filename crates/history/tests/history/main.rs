//! The store and the ledger as other processes, full disks and careless hands leave them.

mod index;
mod ledger;
mod store;
