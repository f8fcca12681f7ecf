//! What a chart is made of: a plot as data, which `svg` draws, and the same numbers as a table.

use crate::layout::{number, table::Table, text};

/// The figures of a chart, or why there are none, in one sentence.
pub(super) type Drawn = Result<Vec<Figure>, String>;

pub(super) struct Figure {
    pub(super) title: String,
    /// Sentences above it.
    pub(super) notes: Vec<String>,
    /// Beneath each other.
    pub(super) plots: Vec<Plot>,
    pub(super) table: Table,
}

pub(super) struct Plot {
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
    /// Values of x that the marks are to be read against.
    pub(super) guides: Vec<Guide>,
}

pub(super) struct Axis {
    pub(super) title: String,
    pub(super) scale: Scale,
    pub(super) unit: Unit,
}

pub(super) enum Scale {
    Linear,
    /// Linear from 0, for bars and whatever else is compared by its length.
    FromZero,
    /// A value that is not positive has no place on it.
    Log,
    /// Logarithmic, with ticks at these values only.
    LogAt(Vec<f64>),
    /// Names from top to bottom, for y only; a value is the index of a name.
    Rows(Vec<String>),
}

/// What the values of an axis are, which decides how its ticks are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Number,
    Times,
    Nanoseconds,
    Bytes,
    BytesPerSecond,
}

pub(super) enum Guide {
    Line(f64),
    Band(f64, f64),
}

/// Points that belong together and look the same.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) look: Look,
    pub(super) kind: Kind,
    pub(super) points: Vec<Point>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Marks joined by a line. A point's range is a band along y. A value that is not finite interrupts the line.
    Line,
    /// The same without marks.
    Curve,
    /// A point's range is an error bar along x.
    Dots,
    /// From 0 to x. Several series stand beneath each other within a row.
    Bars,
    /// From where the series before ended, by x.
    Stack,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Kind::Line => "line",
            Kind::Curve => "curve",
            Kind::Dots => "dots",
            Kind::Bars => "bars",
            Kind::Stack => "stack",
        }
    }
}

pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) range: Option<(f64, f64)>,
    /// Shown while the pointer is on it.
    pub(super) says: String,
}

impl Axis {
    pub(super) fn new(title: impl Into<String>, scale: Scale, unit: Unit) -> Axis {
        Axis { title: title.into(), scale, unit }
    }

    /// Names beneath each other.
    pub(super) fn rows(names: &[String]) -> Axis {
        Axis::new("", Scale::Rows(names.to_vec()), Unit::Number)
    }
}

impl Point {
    pub(super) fn new(x: f64, y: f64, says: impl Into<String>) -> Point {
        Point { x, y, range: None, says: says.into() }
    }
}

/// Text inside a plot, where there is little room.
pub(super) fn label(text: &str) -> String {
    number::plain(&text::visible(&text::shortened(text, 120)))
}

/// Colours that are distinguishable with colour blindness (Okabe and Ito, 2008). The style sheet has their values
/// for light and dark pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    Blue,
    Vermilion,
    Green,
    Pink,
    Orange,
    Sky,
    Purple,
    Grey,
    Brown,
    Red,
    /// That of the text; no arm has it.
    Ink,
}

impl Colour {
    const ALL: [Colour; 10] = [
        Colour::Blue,
        Colour::Vermilion,
        Colour::Green,
        Colour::Pink,
        Colour::Orange,
        Colour::Sky,
        Colour::Purple,
        Colour::Grey,
        Colour::Brown,
        Colour::Red,
    ];

    /// The class that has it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Colour::Blue => "blue",
            Colour::Vermilion => "vermilion",
            Colour::Green => "green",
            Colour::Pink => "pink",
            Colour::Orange => "orange",
            Colour::Sky => "sky",
            Colour::Purple => "purple",
            Colour::Grey => "grey",
            Colour::Brown => "brown",
            Colour::Red => "red",
            Colour::Ink => "ink",
        }
    }
}

/// Colour is never the only difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbol {
    Circle,
    Square,
    Diamond,
    Cross,
    Triangle,
    Saltire,
    Star,
    Pentagon,
    Hexagon,
    /// A short upright line.
    Tick,
}

impl Symbol {
    pub(super) const ALL: [Symbol; 10] = [
        Symbol::Circle,
        Symbol::Square,
        Symbol::Diamond,
        Symbol::Cross,
        Symbol::Triangle,
        Symbol::Saltire,
        Symbol::Star,
        Symbol::Pentagon,
        Symbol::Hexagon,
        Symbol::Tick,
    ];
    /// Those that arms take in turn.
    const OF_ARMS: usize = Symbol::ALL.len() - 1;

    /// Its outline around the origin, about 8 pixels wide.
    pub(super) fn path(self) -> &'static str {
        match self {
            Symbol::Circle => "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
            Symbol::Square => "M-3.5-3.5h7v7h-7Z",
            Symbol::Diamond => "M0-4.8 4.8 0 0 4.8-4.8 0Z",
            Symbol::Cross => "M-1.4-4.2h2.8v2.8h2.8v2.8h-2.8v2.8h-2.8v-2.8h-2.8v-2.8h2.8Z",
            Symbol::Triangle => "M0-4.6 4.6 3.6h-9.2Z",
            Symbol::Saltire => "M-4-2.2-2.2-4 0-1.8 2.2-4 4-2.2 1.8 0 4 2.2 2.2 4 0 1.8-2.2 4-4 2.2-1.8 0Z",
            Symbol::Star => "M0-5 1.3-1.6 4.8-1.6 2 .7 3 4.2 0 2.1-3 4.2-2 .7-4.8-1.6-1.3-1.6Z",
            Symbol::Pentagon => "M0-4.5 4.3-1.4 2.6 3.6-2.6 3.6-4.3-1.4Z",
            Symbol::Hexagon => "M-2.2-3.9h4.4l2.2 3.9-2.2 3.9h-4.4l-2.2-3.9Z",
            Symbol::Tick => "M-.7-5h1.4v10h-1.4Z",
        }
    }

    /// The id of its outline within the page.
    pub(super) fn id(self) -> String {
        format!("m{}", self as usize)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) colour: Colour,
    pub(super) symbol: Symbol,
}

impl Look {
    /// Of what is drawn without marks.
    pub(super) fn of(colour: Colour) -> Look {
        Look { colour, symbol: Symbol::Square }
    }
}

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

    pub(super) fn look(&self, arm: &str) -> Look {
        let index = self.arms.iter().position(|it| *it == arm).unwrap_or(0);
        Look { colour: Colour::ALL[index % Colour::ALL.len()], symbol: Symbol::ALL[index % Symbol::OF_ARMS] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_short() {
        let shown = label(&format!("a\n{}", "y".repeat(10 << 20)));
        assert!(shown.starts_with("a\\nyy") && shown.len() < 400, "{shown}");
    }

    #[test]
    fn ninety_arms_have_ninety_looks() {
        let names: Vec<String> = (0..90).map(|it| it.to_string()).collect();
        let looks = Looks::of(names.iter().map(String::as_str));
        let all: Vec<Look> = names.iter().map(|it| looks.look(it)).collect();
        assert!((0..all.len()).all(|at| !all[..at].contains(&all[at])));
    }
}
