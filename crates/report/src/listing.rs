//! Names and what they mean, one below the other.

use crate::{
    Style,
    layout::{
        page::Page,
        paint::Paint,
        text::{self, visible},
    },
};

/// Wrapped to a width; without one, as in a pipe, every entry is one line, which other programs can read.
pub fn listing(entries: &[(String, String)], width: Option<usize>) -> String {
    let columns = entries.iter().map(|(name, _)| text::width(&visible(name))).max().unwrap_or(0);
    let Some(width) = width else {
        let line = |(name, about): &(String, String)| format!("{:<columns$}  {}\n", visible(name), visible(about));
        return entries.iter().map(line).collect();
    };
    let mut page = Page::new(Style { width, colour: false, details: true });
    for (name, about) in entries {
        let indent = name.len() - name.trim_start_matches(' ').len();
        page.item(indent, columns.saturating_sub(indent), name.trim_start_matches(' '), Paint::Plain, about);
    }
    page.finish()
}
