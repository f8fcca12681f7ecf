//! What a report of one run says, part by part; `terminal`, `markdown` and `html` lay the parts out.

pub(crate) mod advice;
mod again;
pub(crate) mod answer;
pub(crate) mod beats;
pub(crate) mod claim;
pub(crate) mod commands;
pub(crate) mod costs;
pub(crate) mod counted;
mod crossovers;
pub(crate) mod details;
pub(crate) mod environment;
pub(crate) mod fills;
pub(crate) mod first;
pub(crate) mod map;
pub(crate) mod runtimes;
pub(crate) mod safepoints;
pub(crate) mod stalls;
pub(crate) mod stopped;
pub(crate) mod study;
pub(crate) mod summary;
pub(crate) mod timeline;
pub(crate) mod within_rounds;

pub(crate) use schema::own;

/// What a condition is called without one of its parts, where a sentence says that already.
fn without(label: &str, part: &str) -> String {
    label.split(", ").filter(|it| *it != part).collect::<Vec<&str>>().join(", ")
}
