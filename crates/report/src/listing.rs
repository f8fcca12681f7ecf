//! Names and what they mean, one below the other.

use crate::{
    Style,
    layout::{page::Page, paint::Paint, text::visible},
};

/// Wrapped to a width; without one, as in a pipe, every entry is one line, which other programs can read.
pub fn listing(entries: &[(String, String)], columns: usize, width: Option<usize>) -> String {
    let Some(width) = width else {
        let line = |(name, about): &(String, String)| format!("{:<columns$} {}\n", visible(name), visible(about));
        return entries.iter().map(line).collect();
    };
    let mut page = Page::new(Style { width, colour: false, details: true });
    for (name, about) in entries {
        // The two columns between them are the page's.
        page.item(0, columns.saturating_sub(1), name, Paint::Plain, about);
    }
    page.finish()
}
