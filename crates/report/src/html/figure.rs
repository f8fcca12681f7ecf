//! What a chart is made of: traces and a layout as the charting library takes them, and the same numbers as a table.

use serde_json::{Value, json};

use crate::{number, table::Table, text};

/// The figures of a chart, or why there are none, in one sentence.
pub(super) type Drawn = Result<Vec<Figure>, String>;

pub(super) struct Figure {
    pub(super) title: String,
    /// Sentences above it.
    pub(super) notes: Vec<String>,
    pub(super) traces: Vec<Value>,
    pub(super) layout: Value,
    /// In pixels.
    pub(super) height: usize,
    pub(super) table: Table,
}

impl Figure {
    pub(super) fn data(&self) -> Value {
        json!({ "traces": self.traces, "layout": self.layout })
    }
}

/// Text inside a chart. The library reads markup there, so nothing of it may be left; and it has little room.
pub(super) fn label(said: &str) -> String {
    let said = number::plain(&text::visible(&text::shortened(said, 120)));
    said.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Colours that people who see fewer colours tell apart too (Okabe and Ito, 2008), readable on white and on black.
const COLOURS: &[&str] =
    &["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f", "#a6761d", "#b2182b"];
/// Colour is never the only difference.
const SYMBOLS: &[&str] = &["circle", "square", "diamond", "cross", "triangle-up", "x", "star", "pentagon", "hexagon2"];

/// One look per arm throughout the page, in the order in which arms first appear.
pub(super) struct Looks<'a> {
    arms: Vec<&'a str>,
}

impl<'a> Looks<'a> {
    pub(super) fn of(arms: impl Iterator<Item = &'a str>) -> Looks<'a> {
        let mut seen: Vec<&str> = Vec::new();
        for arm in arms {
            if !seen.contains(&arm) {
                seen.push(arm);
            }
        }
        Looks { arms: seen }
    }

    pub(super) fn arms(&self) -> &[&'a str] {
        &self.arms
    }

    pub(super) fn colour(&self, arm: &str) -> &'static str {
        COLOURS[self.index(arm) % COLOURS.len()]
    }

    pub(super) fn symbol(&self, arm: &str) -> &'static str {
        SYMBOLS[self.index(arm) % SYMBOLS.len()]
    }

    fn index(&self, arm: &str) -> usize {
        self.arms.iter().position(|it| *it == arm).unwrap_or(0)
    }
}

/// Room for so many rows of a horizontal chart.
pub(super) fn height_of_rows(rows: usize) -> usize {
    (150 + rows * 22).min(6000)
}

/// Names of rows from top to bottom: the library begins at the bottom.
pub(super) fn rows_axis(names: &[String]) -> Value {
    let from_below: Vec<&String> = names.iter().rev().collect();
    json!({ "type": "category", "categoryorder": "array", "categoryarray": from_below, "automargin": true, "ticklabelstandoff": 4 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_short_and_has_no_markup() {
        let shown = label(&format!("<a href='javascript:x'>&{}", "y".repeat(10 << 20)));
        assert!(shown.starts_with("&lt;a href='javascript:x'&gt;&amp;y") && shown.len() < 400, "{shown}");
    }
}
