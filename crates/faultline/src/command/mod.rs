//! One file per command.

pub mod clean;
pub mod doctor;
pub mod list;
pub mod report;
pub mod run;
pub mod worker;
