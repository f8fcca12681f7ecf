//! A table whose numbers are never cut. Where it is wider than the page, the columns that do not fit go on in a second
//! table beneath it, with the first column repeated; only text cells are broken into lines. Where that would take three tables
//! or more, each row is a list of its own: the title of a column in each line, and the cell beside it.

use super::{
    paint::{Paint, Piece},
    text::{visible, widest_word, width, wrap},
};

const GAP: usize = 2;
const MOST_PARTS: usize = 2;

#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    /// As many cells in each row as there are columns.
    pub(crate) rows: Vec<Vec<Cell>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) right: bool,
    /// A table that is too wide is split here rather than further on.
    pub(crate) begins_group: bool,
    /// Its cells are broken into lines rather than made wider than this.
    pub(crate) at_most: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) paint: Paint,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>, paint: Paint) -> Cell {
        Cell { text: text.into(), paint }
    }

    /// Where there is no value.
    pub(crate) fn absent() -> Cell {
        Cell::new("–", Paint::Quiet)
    }

    pub(crate) fn plain(text: impl Into<String>) -> Cell {
        Cell::new(text, Paint::Plain)
    }
}

impl Column {
    pub(crate) fn left(title: impl Into<String>) -> Column {
        Column { title: title.into(), right: false, begins_group: false, at_most: usize::MAX }
    }

    pub(crate) fn right(title: impl Into<String>) -> Column {
        Column { title: title.into(), right: true, begins_group: false, at_most: usize::MAX }
    }
}

impl Table {
    /// The table, or its parts, as lines of pieces no wider than `available` columns.
    pub(crate) fn layout(&self, available: usize) -> Vec<Vec<Vec<Piece>>> {
        if self.columns.is_empty() {
            return Vec::new();
        }
        let natural: Vec<usize> = (0..self.columns.len()).map(|column| self.natural(column)).collect();
        // What no line break can make narrower: a glued number is one word.
        let narrowest = |column: usize| self.widest_word(column).min(available / 2);
        let widest =
            (1..self.columns.len()).map(|column| natural[column].min(available / 2).max(narrowest(column))).max();
        let first = natural[0].min((available / 3).max(available.saturating_sub(widest.unwrap_or(0) + GAP)).max(8));
        let room = available.saturating_sub(first + GAP);
        let widths: Vec<usize> =
            (0..self.columns.len()).map(|column| if column == 0 { first } else { natural[column].min(room) }).collect();

        let later = self.rows.iter().filter(goes_on).map(|row| width(&visible(&row[0].text))).max();
        let later = later.map_or(first, |columns| columns.max(width(&self.columns[0].title)).min(first));

        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut taken = 0;
        for (column, columns) in widths.iter().enumerate().skip(1) {
            if parts.is_empty() || taken + GAP + columns > available {
                taken = if parts.is_empty() { first } else { later };
                parts.push(vec![0]);
            }
            taken += GAP + columns;
            parts.last_mut().expect("pushed above").push(column);
        }
        if parts.is_empty() {
            parts.push(vec![0]);
        }
        if parts.len() > MOST_PARTS {
            return vec![self.lists(available)];
        }
        // A split between two groups of columns reads better than one inside a group, where it costs no more parts.
        let wide = |part: &[usize]| later + part.iter().skip(1).map(|&column| GAP + widths[column]).sum::<usize>();
        if let [left, right] = &mut parts[..]
            && let Some(start) = left.iter().position(|&column| self.columns[column].begins_group)
            && wide(right) + wide(&left[start..]) - later + GAP + widths[left[start]] <= available
        {
            right.splice(1..1, left.drain(start..));
        }
        let mut widths = widths;
        let parts = parts.iter().enumerate().map(|(i, part)| {
            widths[0] = if i == 0 { first } else { later };
            self.part(part, &widths)
        });
        parts.collect()
    }

    /// What all columns but the first take, gaps included.
    pub(crate) fn columns_after_first(&self) -> usize {
        (1..self.columns.len()).map(|column| self.natural(column) + GAP).sum()
    }

    /// What no line break can make narrower.
    pub(crate) fn widest_word(&self, column: usize) -> usize {
        self.measure(column, widest_word)
    }

    fn natural(&self, column: usize) -> usize {
        self.measure(column, width).min(self.columns[column].at_most)
    }

    fn measure(&self, column: usize, of: impl Fn(&str) -> usize) -> usize {
        // A title of several words stands in several lines rather than making its column wide.
        let title = widest_word(&visible(&self.columns[column].title));
        self.rows.iter().map(|row| of(&visible(&row[column].text))).max().unwrap_or(0).max(title)
    }

    fn part(&self, columns: &[usize], widths: &[usize]) -> Vec<Vec<Piece>> {
        let titles: Vec<Cell> =
            self.columns.iter().map(|column| Cell::new(column.title.clone(), Paint::Quiet)).collect();
        let later = columns.get(1).is_some_and(|&column| column > 1);
        let rows = self.rows.iter().filter(|row| !later || goes_on(row));
        let mut lines = self.lines(&titles, columns, widths, true);
        lines.extend(rows.flat_map(|row| self.lines(row, columns, widths, false)));
        lines
    }

    /// Every row as a list of what it has in each column.
    fn lists(&self, available: usize) -> Vec<Vec<Piece>> {
        let titles = self.columns.iter().skip(1).map(|column| width(&visible(&column.title))).max().unwrap_or(0);
        let titles = titles.min(available.saturating_sub(2 * GAP) / 2);
        // A title of several words gives way to a number that cannot be broken, where that makes room enough for it.
        let later = || 1..self.columns.len();
        let unbroken = later().map(|column| self.widest_word(column)).max().unwrap_or(0);
        let narrowest = later().map(|it| widest_word(&visible(&self.columns[it].title))).max();
        let titles = match available.saturating_sub(2 * GAP + unbroken) {
            left if left >= narrowest.unwrap_or(0) => titles.min(left),
            _ => titles,
        };
        let room = available.saturating_sub(titles + 2 * GAP).max(1);
        let piece = |text: &str, columns, paint| Piece { text: text.to_string(), columns, right: false, paint };
        let gap = || Piece::padded(String::new(), GAP, Paint::Plain);
        let mut lines = Vec::new();
        for row in &self.rows {
            let of_row = wrap(&visible(&row[0].text), available);
            lines.extend(of_row.iter().map(|line| vec![piece(line, width(line), row[0].paint)]));
            for (cell, column) in row.iter().zip(&self.columns).skip(1).filter(|(cell, _)| !cell.text.is_empty()) {
                let [title, text] = [wrap(&visible(&column.title), titles), wrap(&visible(&cell.text), room)];
                for at in 0..title.len().max(text.len()) {
                    let [title, text] = [&title, &text].map(|lines| lines.get(at).map_or("", String::as_str));
                    lines.push(vec![
                        gap(),
                        piece(title, titles, Paint::Quiet),
                        gap(),
                        piece(text, width(text), cell.paint),
                    ]);
                }
            }
        }
        lines
    }

    fn lines(&self, row: &[Cell], columns: &[usize], widths: &[usize], at_bottom: bool) -> Vec<Vec<Piece>> {
        let broken: Vec<Vec<String>> =
            columns.iter().map(|&column| wrap(&visible(&row[column].text), widths[column])).collect();
        let height = broken.iter().map(Vec::len).max().unwrap_or(1).max(1);
        let text = |lines: &Vec<String>, line: usize| {
            let above = if at_bottom { height - lines.len() } else { 0 };
            line.checked_sub(above).and_then(|line| lines.get(line)).cloned().unwrap_or_default()
        };
        (0..height)
            .map(|line| {
                let mut pieces = Vec::new();
                for (i, &column) in columns.iter().enumerate() {
                    if i > 0 {
                        pieces.push(Piece::padded(String::new(), GAP, Paint::Plain));
                    }
                    pieces.push(Piece {
                        text: text(&broken[i], line),
                        columns: widths[column],
                        right: self.columns[column].right,
                        paint: row[column].paint,
                    });
                }
                pieces
            })
            .collect()
    }
}

/// A row whose last cell is empty has said all it has to say in the first part, and is not repeated in the others.
fn goes_on(row: &&Vec<Cell>) -> bool {
    row.last().is_some_and(|cell| !cell.text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(table: &Table, available: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for part in table.layout(available) {
            for pieces in part {
                let line: String = pieces
                    .iter()
                    .map(|piece| {
                        let padding = " ".repeat(piece.columns.saturating_sub(width(&piece.text)));
                        if piece.right {
                            format!("{padding}{}", piece.text)
                        } else {
                            format!("{}{padding}", piece.text)
                        }
                    })
                    .collect();
                lines.push(line.trim_end().to_string());
            }
        }
        lines
    }

    #[test]
    fn columns_that_do_not_fit_go_on_beneath_with_the_first_one_repeated() {
        let row = |cells: [&str; 3]| cells.map(Cell::plain).to_vec();
        let table = Table {
            columns: vec![Column::left("arm"), Column::right("time"), Column::right("faults")],
            rows: vec![row(["mmap+populate-read", "1.23\u{a0}µs", "262,144"]), row(["read", "812\u{a0}ns", "0"])],
        };
        let wide: Vec<String> = plain(&table, 60);
        assert_eq!(wide.len(), 3);
        let narrow = plain(&table, 30);
        assert_eq!(
            narrow,
            [
                "arm                    time",
                "mmap+populate-read  1.23\u{a0}µs",
                "read                 812\u{a0}ns",
                "arm                  faults",
                "mmap+populate-read  262,144",
                "read                      0",
            ]
        );
        for available in 20..60 {
            for line in plain(&table, available) {
                assert!(width(&line) <= available, "{available}: {line:?}");
            }
            assert!(plain(&table, available).concat().contains("1.23\u{a0}µs"));
        }
    }

    #[test]
    fn a_table_that_would_take_three_parts_or_more_is_a_list_for_each_row() {
        let row = |cells: [&str; 5]| cells.map(Cell::plain).to_vec();
        let columns = ["mapping", "resident", "dirty pages", "advice", "faults"].map(Column::right).to_vec();
        let table = Table {
            columns,
            rows: vec![
                row(["/var/lib/db", "1.5\u{a0}GiB", "0", "random, and none besides", "12,345"]),
                row(["/usr/lib/a.so", "2\u{a0}MiB", "0", "normal", ""]),
            ],
        };
        assert_eq!(
            plain(&table, 30),
            [
                "/var/lib/db",
                "  resident     1.5\u{a0}GiB",
                "  dirty pages  0",
                "  advice       random, and",
                "               none besides",
                "  faults       12,345",
                "/usr/lib/a.so",
                "  resident     2\u{a0}MiB",
                "  dirty pages  0",
                "  advice       normal",
            ]
        );
        assert_eq!(
            plain(&table, 90).iter().filter(|line| line.contains("resident")).count(),
            1,
            "one table where there is room"
        );
    }

    #[test]
    fn a_size_in_a_title_is_not_broken_within_its_unit() {
        let columns = ["fill", "scan 64 KiB"].map(Column::right).to_vec();
        let table = Table { columns, rows: vec![["found", "1x"].map(Cell::plain).to_vec()] };
        assert_eq!(plain(&table, 40)[1], " fill  64\u{a0}KiB");
    }

    #[test]
    fn in_a_list_a_title_is_broken_rather_than_a_number() {
        let row = |cells: [&str; 5]| cells.map(Cell::plain).to_vec();
        let table = Table {
            columns: ["cell", "second is faster by", "verdict", "first", "second"].map(Column::left).to_vec(),
            rows: vec![row([
                "scan",
                "0.43x\u{a0}[0.01,\u{a0}4,345.01]",
                "undecided",
                "247\u{a0}ns\u{a0}[210,\u{a0}366]",
                "568\u{a0}ns\u{a0}[0,\u{a0}5,640]",
            ])],
        };
        assert_eq!(
            plain(&table, 35),
            [
                "scan",
                "  second is  0.43x\u{a0}[0.01,\u{a0}4,345.01]",
                "  faster by",
                "  verdict    undecided",
                "  first      247\u{a0}ns\u{a0}[210,\u{a0}366]",
                "  second     568\u{a0}ns\u{a0}[0,\u{a0}5,640]",
            ]
        );
        let paths = Table {
            rows: vec![row([
                "scan",
                "/a/path/that/fits/in/no/line/of/this/page",
                "many words here",
                "many more words",
                "and words",
            ])],
            columns: table.columns,
        };
        assert_eq!(plain(&paths, 44)[1], "  second is faster by  /a/path/that/fits/in/");
    }
}
