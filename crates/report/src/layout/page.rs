//! Text for a terminal, line by line. Nothing else in this crate writes to one, so this is where the two promises
//! are kept: no line is wider than the page, and no character of a record reaches the terminal unescaped.

use super::{
    number::{self, GLUE},
    paint::{Paint, Piece},
    table::Table,
    text::{visible, whole, width, wrap},
};
use crate::Style;

pub(crate) struct Page {
    text: String,
    width: usize,
    colour: bool,
}

impl Page {
    pub(crate) fn new(style: Style) -> Page {
        Page { text: String::new(), width: style.width.max(40), colour: style.colour }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// One empty line between what was written and what follows.
    pub(crate) fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A paragraph, wrapped.
    pub(crate) fn paragraph(&mut self, indent: usize, paint: Paint, text: &str) {
        for line in wrap(&visible(text), self.width - indent) {
            self.line(indent, &[Piece::of(line, paint)]);
        }
    }

    /// A paragraph that begins with a label in its own colour and hangs under its text.
    pub(crate) fn labelled(&mut self, indent: usize, label: &str, paint: Paint, text: &str) {
        self.item(indent, width(&visible(label)), label, paint, text);
    }

    /// As `labelled`, with the texts of several labels in one column.
    pub(crate) fn item(&mut self, indent: usize, columns: usize, label: &str, paint: Paint, text: &str) {
        self.visible_item(indent, columns, label, paint, &visible(text));
    }

    /// As `item`, of a text of which nothing is left out: a command line.
    pub(crate) fn whole_item(&mut self, indent: usize, columns: usize, label: &str, paint: Paint, text: &str) {
        self.visible_item(indent, columns, label, paint, &whole(text));
    }

    /// Of a text that is harmless already.
    pub(crate) fn visible_item(&mut self, indent: usize, columns: usize, label: &str, paint: Paint, text: &str) {
        let label = visible(label);
        let lead = indent + columns + 2;
        // Where the label leaves no room beside it, the text goes beneath.
        if lead * 2 > self.width {
            if !label.is_empty() {
                self.paragraph(indent, paint, &label);
            }
            for line in wrap(text, self.width - indent - 2) {
                self.line(indent + 2, &[Piece::of(line, Paint::Plain)]);
            }
            return;
        }
        let mut lines = wrap(text, self.width - lead).into_iter();
        let first = lines.next().unwrap_or_default();
        self.line(indent, &[Piece::padded(label, columns + 2, paint), Piece::of(first, Paint::Plain)]);
        for line in lines {
            self.line(lead, &[Piece::of(line, Paint::Plain)]);
        }
    }

    /// A paragraph that begins with a label in its own colour and goes on beneath it.
    pub(crate) fn run_in(&mut self, indent: usize, label: &str, paint: Paint, text: &str) {
        let label = visible(label).replace(' ', &GLUE.to_string());
        for (i, line) in wrap(&format!("{label} {}", visible(text)), self.width - indent).into_iter().enumerate() {
            match line.strip_prefix(&label).filter(|_| i == 0).map(str::to_string) {
                Some(rest) => self.line(indent, &[Piece::of(label.clone(), paint), Piece::of(rest, Paint::Plain)]),
                None => self.line(indent, &[Piece::of(line, Paint::Plain)]),
            }
        }
    }

    /// A paragraph in a list.
    pub(crate) fn bullet(&mut self, indent: usize, text: &str) {
        for (i, line) in wrap(&visible(text), self.width - indent - 2).into_iter().enumerate() {
            let mark = if i == 0 { "-" } else { "" };
            self.line(indent, &[Piece::padded(mark.into(), 2, Paint::Quiet), Piece::of(line, Paint::Plain)]);
        }
    }

    /// A line that is known to fit. Its pieces are visible already.
    pub(crate) fn line(&mut self, indent: usize, pieces: &[Piece]) {
        let mut line = " ".repeat(indent);
        for piece in pieces {
            let padding = " ".repeat(piece.columns.saturating_sub(width(&piece.text)));
            if piece.right {
                line.push_str(&padding);
            }
            if self.colour && piece.paint != Paint::Plain && !piece.text.is_empty() {
                let style = piece.paint.style();
                line.push_str(&format!("{style}{}{style:#}", piece.text));
            } else {
                line.push_str(&piece.text);
            }
            if !piece.right {
                line.push_str(&padding);
            }
        }
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    pub(crate) fn table(&mut self, indent: usize, table: &Table) {
        for (i, lines) in table.layout(self.width - indent).into_iter().enumerate() {
            if i > 0 {
                self.blank();
            }
            for pieces in lines {
                self.line(indent, &pieces);
            }
        }
    }

    /// A table with its title and what it is about.
    pub(crate) fn section(&mut self, title: &str, about: &str, table: &Table) {
        self.blank();
        self.paragraph(0, Paint::Heading, title);
        self.paragraph(0, Paint::Quiet, about);
        self.blank();
        self.table(0, table);
    }

    pub(crate) fn finish(self) -> String {
        number::plain(&self.text)
    }
}
