//! The store and the ledger as other processes, full disks and careless hands leave them.

mod ledger;
mod store;
