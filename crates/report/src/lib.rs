//! Record and findings → text. Every function here is pure: the same input gives the same string, without I/O,
//! without a clock, and without statistics (those are `analysis`'s).
//!
//! What a report says is in `contents`: the map (state → winner → margin → why), the summary (noise floor, ceiling,
//! crossovers, what was lost), studies and claims (published against measured), a table per condition, the environment.
//! `terminal`, `markdown` and `html` lay the same contents out, with what is in `layout`; `export` lists the documents that
//! a run can be written as. `ledger`, `across` and `saved` report on several runs. File names, reasons and everything else in
//! a record are untrusted text: `layout::page` and `markdown` let nothing through that could move a cursor or become markup.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod across;
mod contents;
mod csv;
mod export;
mod html;
mod inspection;
mod json;
mod layout;
mod ledger;
mod listing;
mod markdown;
mod outlook;
mod plan;
mod saved;
mod shell;
mod terminal;
mod trace;
pub mod words;

pub use across::{across, across_markdown, gate_breaches, gate_checked, gate_not_judged};
pub use contents::{claim::variant, costs::forecast, study::studies};
pub use csv::csv;
pub use export::{EXPORTS, Export};
pub use html::{across_html, html, picture};
pub use inspection::{inspection, inspection_json};
pub use json::{across_json, forecast_json, json};
pub use layout::{
    number::{bytes, count, duration, seconds, speedup, throughput},
    text::{ascii, visible, width},
};
pub use ledger::{claims, claims_json};
pub use listing::listing;
pub use markdown::markdown;
pub use outlook::outlook;
pub use plan::{plan, plan_json};
pub use saved::{history, history_json};
pub use shell::command_line;
pub use terminal::{has_matrix, so_far, terminal};
pub use trace::{trace, trace_gaps};

/// A command line, safe to print on a terminal, of which nothing is left out.
pub fn whole(text: &str) -> String {
    layout::number::plain(&layout::text::whole(text))
}

/// How a text for a terminal, or for a pipe, is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns. No line is longer; below 40 it counts as 40.
    pub width: usize,
    pub colour: bool,
    /// The table of every condition and the environment follow the map.
    pub details: bool,
}

impl Default for Style {
    /// For a pipe or a file.
    fn default() -> Style {
        Style { width: 100, colour: false, details: true }
    }
}
