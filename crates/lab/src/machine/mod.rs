//! The machine that is measured on: what it is (`host`), what can be measured there and what would change that (`doctor`),
//! and where the pages of a file or a process are (`inspect`). Nothing here changes anything.

pub mod doctor;
pub mod host;
pub mod inspect;
