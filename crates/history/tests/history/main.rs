//! The store and the journal as other processes, full disks and careless hands leave them.

mod index;
mod journal;
mod store;
