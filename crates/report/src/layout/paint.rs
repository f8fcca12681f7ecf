//! Pieces of a line, and their colours.

/// What a text is, which decides its colour. Colour never says what the words do not say too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Heading,
    Good,
    Bad,
    Unsure,
    Quiet,
}

impl Paint {
    pub(crate) fn style(self) -> anstyle::Style {
        let style = anstyle::Style::new();
        match self {
            Paint::Plain => style,
            Paint::Heading => style.bold(),
            Paint::Good => style.bold().fg_color(Some(anstyle::AnsiColor::Green.into())),
            Paint::Bad => style.fg_color(Some(anstyle::AnsiColor::Red.into())),
            Paint::Unsure => style.fg_color(Some(anstyle::AnsiColor::Yellow.into())),
            Paint::Quiet => style.dimmed(),
        }
    }
}

/// A piece of a line whose place was worked out before; it is padded to `columns`.
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) columns: usize,
    pub(crate) right: bool,
    pub(crate) paint: Paint,
}

impl Piece {
    pub(crate) fn of(text: String, paint: Paint) -> Piece {
        Piece { text, columns: 0, right: false, paint }
    }

    pub(crate) fn padded(text: String, columns: usize, paint: Paint) -> Piece {
        Piece { text, columns, right: false, paint }
    }
}
