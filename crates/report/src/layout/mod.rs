//! How texts are laid out: numbers and counted nouns, lines of a width, tables, pages for a terminal.

pub(crate) mod number;
pub(crate) mod page;
pub(crate) mod paint;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod words;
