//! A plot as SVG. Places along x are shares of the width and places along y are pixels, so the same drawing fits a
//! phone and a wide screen and its text has one size on both. The margins, in pixels, are the padding of the element;
//! text stands there with negative places. Text gets in through maud, which escapes it.
//!
//! Widths of text are estimated (`axis::width`): no label is cut, and of two that would overlap one is left out. A
//! label that has room on a wide screen only has a class that says so.

use maud::{Markup, PreEscaped, Render, html};

use super::{
    axis::{Range, Tick, ticks, width},
    figure::{Axis, Guide, Kind, Look, Plot, Point, Scale, Series, Symbol},
};
use crate::layout::text;

/// Of text, in pixels.
const FONT: f64 = 12.0;
const LINE: f64 = 14.0;
/// Between two labels beside each other.
const GAP: f64 = 10.0;
/// The narrowest page that is provided for, without its padding.
const NARROW: f64 = 400.0 - 24.0;
/// Pages, from narrow to wide, with the class of the labels that have room from there on. The style sheet hides the
/// others below 640 and 1000 pixels.
const PAGES: [(f64, &str); 3] = [(NARROW, "middle"), (640.0 - 40.0, "middle wide"), (1000.0 - 64.0, "middle broad")];
/// Columns of a row's name, before it is broken into lines.
const NAME: usize = 28;
const ROW: f64 = 20.0;
const BAR: f64 = 10.0;
const PLANE: f64 = 280.0;
/// Of a picture, in pixels.
const PICTURE: f64 = 800.0;

/// A place along x, or a width.
struct Share(f64);

impl Render for Share {
    fn render_to(&self, buffer: &mut String) {
        let text = format!("{:.2}", self.0 * 100.0);
        buffer.push_str(text.trim_end_matches('0').trim_end_matches('.'));
        buffer.push('%');
    }
}

/// A place along y, or a height.
struct Pixels(f64);

impl Render for Pixels {
    fn render_to(&self, buffer: &mut String) {
        let text = format!("{:.1}", self.0);
        buffer.push_str(text.trim_end_matches('0').trim_end_matches('.'));
    }
}

/// The outlines of all marks, once for each page.
pub(super) fn symbols() -> Markup {
    html! {
        svg.symbols width="0" height="0" aria-hidden="true" { (outlines()) }
    }
}

fn outlines() -> Markup {
    html! { defs { @for symbol in Symbol::ALL { path id=(symbol.id()) d=(symbol.path()) {} } } }
}

/// What the series are called, where there are several.
pub(super) fn legend(plot: &Plot) -> Markup {
    html! {
        @if plot.series.len() > 1 { ul.legend { @for series in &plot.series { li {
            svg class=(series.look.colour.word()) width="12" height="12" aria-hidden="true" { (mark(series.look, "50%", 6.0, "")) }
            " " (series.name)
        } } } }
    }
}

/// `says` is what is read out in its place.
pub(super) fn drawn(plot: &Plot, says: &str) -> Markup {
    let frame = Frame::of(plot);
    let [top, right, bottom, left] = frame.margins.map(f64::ceil);
    html! {
        svg.plot role="img" aria-label=(says) width="100%" height=(Pixels(top + frame.height + bottom))
            style={ "padding:" (top) "px " (right) "px " (bottom) "px " (left) "px" } { (content(plot, &frame)) }
    }
}

/// A plot as a picture of its own, with what its series are called: a file that needs no page around it.
pub(super) fn picture(plot: &Plot, says: &str, style: &str) -> Markup {
    let frame = Frame::of(plot);
    let [top, right, bottom, left] = frame.margins.map(f64::ceil);
    let legend = LINE + 2.0 * GAP;
    let height = legend + top + frame.height + bottom + GAP;
    let mut next = GAP;
    let entries: Vec<(&Series, f64)> = plot
        .series
        .iter()
        .map(|series| {
            let at = next;
            next += width(&series.name, FONT) + 3.0 * GAP;
            (series, at)
        })
        .collect();
    html! {
        svg.plot xmlns="http://www.w3.org/2000/svg" width=(Pixels(PICTURE)) height=(Pixels(height))
            viewBox={ "0 0 " (Pixels(PICTURE)) " " (Pixels(height)) } font-family="system-ui, sans-serif" role="img" aria-label=(says) {
            style { (PreEscaped(style)) }
            (outlines())
            rect width="100%" height="100%" fill="var(--paper)" {}
            g.ticks { @for (series, at) in &entries {
                g class=(series.look.colour.word()) fill="currentColor" { (mark(series.look, Pixels(at + 4.0), GAP + 6.0, "")) }
                text x=(Pixels(at + 14.0)) y=(Pixels(GAP + 10.0)) { (series.name) }
            } }
            svg x=(Pixels(left)) y=(Pixels(legend + top)) width=(Pixels(PICTURE - left - right - GAP))
                height=(Pixels(frame.height)) { (content(plot, &frame)) }
        }
    }
}

fn content(plot: &Plot, frame: &Frame) -> Markup {
    html! {
        (grid(plot, frame))
        (guides(plot, frame))
        @for (at, series) in plot.series.iter().enumerate() {
            g class={ "series " (series.kind.word()) " " (series.look.colour.word()) } {
                title { (series.name) }
                @match series.kind {
                    Kind::Line | Kind::Curve => (line(series, frame)),
                    Kind::Dots => (dots(series, frame)),
                    Kind::Bars => (bars(plot, at, frame)),
                    Kind::Stack => (stack(plot, at, frame)),
                }
            }
        }
    }
}

/// Where everything stands.
struct Frame {
    /// Top, right, bottom, left.
    margins: [f64; 4],
    height: f64,
    x: Range,
    y: Range,
    /// Of a plot with names beneath each other.
    rows: Vec<PlacedRow>,
    across: Vec<Tick>,
    up: Vec<Tick>,
}

struct PlacedRow {
    lines: Vec<String>,
    /// The middle.
    y: f64,
    height: f64,
}

impl Frame {
    fn of(plot: &Plot) -> Frame {
        let x = Range::of(&plot.x.scale, values_of_x(plot));
        let y = Range::of(&plot.y.scale, plot.series.iter().flat_map(along_y));
        let bars = plot.series.iter().filter(|it| it.kind == Kind::Bars).count();
        let mut rows: Vec<PlacedRow> = Vec::new();
        let mut below = 0.0;
        if let Scale::Rows(names) = &plot.y.scale {
            for name in names {
                let lines = lines_of(name);
                let height = ROW.max(lines.len() as f64 * LINE + 6.0).max(bars as f64 * BAR + 8.0);
                rows.push(PlacedRow { lines, y: below + height / 2.0, height });
                below += height;
            }
        }
        let height = if rows.is_empty() { PLANE } else { below };
        let across = ticks(&plot.x, &x, 8);
        let up = ticks(&plot.y, &y, 6);
        let names = rows.iter().flat_map(|it| it.lines.iter()).chain(up.iter().map(|it| &it.label));
        let left = names.map(|it| width(it, FONT)).fold(0.0, f64::max) + 10.0;
        let top = if plot.y.title.is_empty() { 6.0 } else { LINE + 12.0 };
        let bottom = LINE + 10.0 + if plot.x.title.is_empty() { 0.0 } else { LINE + 4.0 };
        // Half of the last label may stand beyond the plot.
        let beyond = |it: &Tick| width(&it.label, FONT) / 2.0 - (1.0 - it.place) * (NARROW - left);
        let right = across.iter().map(beyond).fold(10.0, f64::max);
        Frame { margins: [top, right, bottom, left], height, x, y, rows, across, up }
    }

    fn y(&self, value: f64) -> Option<f64> {
        match self.rows.is_empty() {
            true => Some((1.0 - self.y.place(value)?) * self.height),
            false => self.rows.get(value as usize).map(|row| row.y),
        }
    }
}

/// A name is broken between its parts (`4 KiB · mmap`) rather than within one.
fn lines_of(name: &str) -> Vec<String> {
    match text::width(name) <= NAME {
        true => vec![name.to_string()],
        false => name.split(" · ").flat_map(|it| text::wrap(it, NAME)).collect(),
    }
}

fn values_of_x(plot: &Plot) -> impl Iterator<Item = f64> {
    let points = plot.series.iter().flat_map(|series| {
        let ranges = series.points.iter().filter(|_| series.kind == Kind::Dots).filter_map(|it| it.range);
        series.points.iter().map(|it| it.x).chain(ranges.flat_map(|(low, high)| [low, high]))
    });
    let guides = plot.guides.iter().flat_map(|guide| match guide {
        Guide::Line(at) => [*at, *at],
        Guide::Band(low, high) => [*low, *high],
    });
    let stacks = (0..plot.series.len()).flat_map(move |at| ends(plot, at));
    points.chain(guides).chain(stacks)
}

fn along_y(series: &Series) -> impl Iterator<Item = f64> {
    let ranges = series.points.iter().filter(|_| series.kind == Kind::Line).filter_map(|it| it.range);
    series.points.iter().map(|it| it.y).chain(ranges.flat_map(|(low, high)| [low, high]))
}

/// Where the bars of a stacked series end.
fn ends(plot: &Plot, at: usize) -> Vec<f64> {
    let series = &plot.series[at];
    match series.kind {
        Kind::Stack => series.points.iter().map(|it| begin(plot, at, it.y) + it.x).collect(),
        _ => Vec::new(),
    }
}

/// Where a stacked series begins in a row: where those before it ended.
fn begin(plot: &Plot, at: usize, row: f64) -> f64 {
    let before = plot.series[..at].iter().flat_map(|it| &it.points).filter(|it| it.y == row);
    before.map(|it| it.x).filter(|it| it.is_finite()).sum()
}

/// The class of each label that has room beside the others on some page. One that narrow pages show stays on wide ones.
fn classes(labels: &[Tick], margins: f64) -> Vec<Option<&'static str>> {
    let mut classes = vec![None; labels.len()];
    for (page, class) in PAGES {
        let wide = page - margins;
        let span = |tick: &Tick| {
            let half = width(&tick.label, FONT) / 2.0 + GAP / 2.0;
            (tick.place * wide - half, tick.place * wide + half)
        };
        let mut taken: Vec<(f64, f64)> =
            labels.iter().zip(&classes).filter(|(_, class)| class.is_some()).map(|(it, _)| span(it)).collect();
        for lesser in [false, true] {
            for (at, tick) in labels.iter().enumerate().filter(|(_, it)| it.lesser == lesser) {
                let (from, to) = span(tick);
                if classes[at].is_none() && taken.iter().all(|(begin, end)| to <= *begin || from >= *end) {
                    classes[at] = Some(class);
                    taken.push((from, to));
                }
            }
        }
    }
    classes
}

fn grid(plot: &Plot, frame: &Frame) -> Markup {
    let [_, right, _, left] = frame.margins;
    let classes = classes(&frame.across, left + right);
    let bottom = frame.height + LINE + 2.0;
    html! {
        g.grid {
            @for tick in &frame.across { line x1=(Share(tick.place)) x2=(Share(tick.place)) y2=(Pixels(frame.height)) {} }
            @for tick in &frame.up { @let y = Pixels((1.0 - tick.place) * frame.height); line x2="100%" y1=(y) y2=(y) {} }
            @for row in &frame.rows { line.faint x2="100%" y1=(Pixels(row.y)) y2=(Pixels(row.y)) {} }
            line.base x2="100%" y1=(Pixels(frame.height)) y2=(Pixels(frame.height)) {}
        }
        g.ticks {
            @for (tick, class) in frame.across.iter().zip(classes) { @if let Some(class) = class {
                text class=(class) x=(Share(tick.place)) y=(Pixels(bottom)) { (tick.label) }
            } }
            @for tick in &frame.up { text.end x="-7" y=(Pixels((1.0 - tick.place) * frame.height + 4.0)) { (tick.label) } }
            @for row in &frame.rows { @for (at, words) in row.lines.iter().enumerate() {
                text.end x="-7" y=(Pixels(row.y + 4.0 + LINE * (at as f64 - (row.lines.len() - 1) as f64 / 2.0))) { (words) }
            } }
            (titles(&plot.x, &plot.y, frame, bottom))
        }
    }
}

fn titles(x: &Axis, y: &Axis, frame: &Frame, bottom: f64) -> Markup {
    let [_, _, _, left] = frame.margins;
    html! {
        @if !x.title.is_empty() { text.end x="100%" y=(Pixels(bottom + LINE + 4.0)) { (x.title) } }
        @if !y.title.is_empty() { text x=(Pixels(4.0 - left)) y="-14" { (y.title) } }
    }
}

fn guides(plot: &Plot, frame: &Frame) -> Markup {
    html! {
        @for guide in &plot.guides { @match guide {
            Guide::Line(at) => { @let at = frame.x.place_or_edge(*at); line.guide x1=(Share(at)) x2=(Share(at)) y2=(Pixels(frame.height)) {} }
            Guide::Band(low, high) => {
                @let (low, high) = (frame.x.place_or_edge(*low), frame.x.place_or_edge(*high));
                rect.margin x=(Share(low)) width=(Share(high - low)) height=(Pixels(frame.height)) {}
            }
        } }
    }
}

fn mark(look: Look, x: impl Render, y: f64, says: &str) -> Markup {
    html! { use href={ "#" (look.symbol.id()) } x=(x) y=(Pixels(y)) { @if !says.is_empty() { title { (says) } } } }
}

/// Lines and bands are paths, whose places cannot be shares: they are drawn 1000 wide and stretched.
fn line(series: &Series, frame: &Frame) -> Markup {
    let x = |point: &Point| frame.x.place(point.x).map(|it| it * 1000.0);
    let y = |point: &Point| frame.y(point.y).filter(|_| point.y.is_finite());
    let mut lines = String::new();
    let mut bands = Vec::new();
    for stretch in series.points.split(|it| x(it).is_none() || y(it).is_none()) {
        let placed = stretch.iter().filter_map(|it| Some((x(it)?, y(it)?)));
        let steps = placed.enumerate().map(|(at, (x, y))| format!("{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' }));
        lines.extend(steps);
        let end = |point: &Point, end: fn((f64, f64)) -> f64| {
            let height = 1.0 - frame.y.place_or_edge(end(point.range?));
            Some(format!("{:.1},{:.1}", x(point)?, height * frame.height))
        };
        let low = stretch.iter().filter_map(|it| end(it, |it| it.0));
        let outline: Vec<String> = low.chain(stretch.iter().rev().filter_map(|it| end(it, |it| it.1))).collect();
        bands.extend(Some(outline.join(" ")).filter(|it| !it.is_empty()));
    }
    let marks = if series.kind == Kind::Line { &series.points[..] } else { &[] };
    html! {
        svg width="100%" height=(Pixels(frame.height)) viewBox={ "0 0 1000 " (Pixels(frame.height)) } preserveAspectRatio="none" {
            @for band in bands { polygon points=(band) {} }
            path d=(lines) {}
        }
        @for it in marks { (point(series.look, it, frame)) }
    }
}

fn point(look: Look, point: &Point, frame: &Frame) -> Markup {
    html! {
        @if let (Some(x), Some(y)) = (frame.x.place(point.x), frame.y(point.y)) { (mark(look, Share(x), y, &point.says)) }
    }
}

fn dots(series: &Series, frame: &Frame) -> Markup {
    html! {
        @for it in &series.points {
            @if let (Some((low, high)), Some(y)) = (it.range, frame.y(it.y)) {
                line x1=(Share(frame.x.place_or_edge(low))) x2=(Share(frame.x.place_or_edge(high))) y1=(Pixels(y)) y2=(Pixels(y)) {}
            }
            (point(series.look, it, frame))
        }
    }
}

fn bars(plot: &Plot, at: usize, frame: &Frame) -> Markup {
    let of_kind = |it: &&Series| it.kind == Kind::Bars;
    let count = plot.series.iter().filter(of_kind).count() as f64;
    let before = plot.series[..at].iter().filter(of_kind).count() as f64;
    html! {
        @for it in &plot.series[at].points { @if let Some(y) = frame.y(it.y) {
            (bar(frame, (0.0, it.x), y + (before - count / 2.0) * BAR, BAR - 1.0, &it.says))
        } }
    }
}

fn stack(plot: &Plot, at: usize, frame: &Frame) -> Markup {
    html! {
        @for it in &plot.series[at].points { @if let Some(row) = frame.rows.get(it.y as usize) {
            @let begin = begin(plot, at, it.y);
            @let height = row.height.min(ROW) - 5.0;
            (bar(frame, (begin, begin + it.x), row.y - height / 2.0, height, &it.says))
        } }
    }
}

fn bar(frame: &Frame, (from, to): (f64, f64), y: f64, height: f64, says: &str) -> Markup {
    let (from, to) = (frame.x.place_or_edge(from), frame.x.place_or_edge(to));
    html! { rect x=(Share(from)) width=(Share((to - from).max(0.0))) y=(Pixels(y)) height=(Pixels(height)) { title { (says) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_a_page_shows_do_not_overlap_on_it() {
        let blocks: Vec<f64> = (6..27).map(|power| f64::from(1u32 << power)).collect();
        let scale = Scale::LogAt(blocks.clone());
        let range = Range::of(&scale, blocks.into_iter());
        let labels = ticks(&Axis::new("", scale, crate::html::figure::Unit::Bytes), &range, 8);
        let classes = classes(&labels, 100.0);
        let mut counts = Vec::new();
        for (at, (page, _)) in PAGES.iter().enumerate() {
            let here =
                |class: &Option<&str>| class.is_some_and(|it| PAGES[..=at].iter().any(|(_, class)| *class == it));
            let shown: Vec<&Tick> =
                labels.iter().zip(&classes).filter(|(_, class)| here(class)).map(|(it, _)| it).collect();
            let edge = |it: &Tick, side: f64| it.place * (page - 100.0) + side * width(&it.label, FONT) / 2.0;
            assert!(shown.windows(2).all(|pair| edge(pair[0], 1.0) < edge(pair[1], -1.0)), "{shown:?} at {page}");
            counts.push(shown.len());
        }
        assert!(
            counts.is_sorted() && counts[0] < counts[2],
            "a wide page shows what a narrow one shows, and more: {counts:?}"
        );
    }
}
