//! One file per command.

pub mod ab;
pub mod advise;
pub mod claims;
pub mod clean;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod history;
pub mod import;
pub mod inspect;
pub mod list;
pub mod man;
pub mod predict;
pub mod report;
pub mod reproduce;
pub mod rerun;
pub mod run;
pub mod trace;
pub mod worker;
