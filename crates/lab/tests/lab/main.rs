//! Workers as the lab starts them and talks to them.

mod go;
mod jvm;
mod link;
mod python;
mod requests;
