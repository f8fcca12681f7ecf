//! Where a value stands on an axis, which values have ticks, and how they are written. Pure numbers: `svg` draws them.

use super::figure::{Axis, Scale, Unit};
use crate::layout::{number, text};

/// What an axis shows, from its beginning to its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    low: f64,
    high: f64,
    log: bool,
}

/// The share of a range that stays free on either side, so that no mark stands on the edge.
const MARGIN: f64 = 0.04;
/// Beyond this a margin could be more than a number can say.
const LARGEST: f64 = 1e250;

impl Range {
    /// The range that shows all of these values, but for those that have no place on this scale.
    pub(super) fn of(scale: &Scale, values: impl Iterator<Item = f64>) -> Range {
        let log = matches!(scale, Scale::Log | Scale::LogAt(_));
        let shown = values.filter(|it| it.abs() <= LARGEST && (!log || *it >= 1.0 / LARGEST));
        let edges = shown.fold(None, |edges: Option<(f64, f64)>, it| {
            Some(edges.map_or((it, it), |(low, high)| (low.min(it), high.max(it))))
        });
        let (low, high) = edges.unwrap_or((1.0, 1.0));
        match scale {
            Scale::Log | Scale::LogAt(_) => {
                let (low, high) = if high / low < 1.001 { (low / 1.2, high * 1.2) } else { (low, high) };
                let margin = (high.ln() - low.ln()) * MARGIN;
                Range { low: (low.ln() - margin).exp(), high: (high.ln() + margin).exp(), log }
            }
            Scale::FromZero => {
                let high = if high > 0.0 { high } else { 1.0 };
                Range { low: 0.0, high: high * (1.0 + MARGIN), log }
            }
            Scale::Linear | Scale::Rows(_) => {
                let around = (low.abs() / 10.0).max(1.0);
                let (low, high) = if low < high { (low, high) } else { (low - around, high + around) };
                let margin = (high - low) * MARGIN;
                Range { low: low - margin, high: high + margin, log }
            }
        }
    }

    /// From 0 at the beginning to 1 at the end; what lies beyond is put at the nearer end. None for what has no place.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        if value.is_nan() || (self.log && value <= 0.0) {
            return None;
        }
        let share = match self.log {
            true => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            false => (value - self.low) / (self.high - self.low),
        };
        Some(share.clamp(0.0, 1.0))
    }

    /// Where something begins or ends that may begin outside: an error bar below 0 on a logarithmic axis.
    pub(super) fn place_or_edge(&self, value: f64) -> f64 {
        self.place(value).unwrap_or(0.0)
    }

    fn shows(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// A value with a line across the plot.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    /// From 0 to 1.
    pub(super) place: f64,
    pub(super) label: String,
    /// Of two labels that overlap, the lesser gives way.
    pub(super) lesser: bool,
}

/// About so many ticks, at round values.
pub(super) fn ticks(axis: &Axis, range: &Range, about: usize) -> Vec<Tick> {
    let values = match &axis.scale {
        Scale::Rows(_) => Vec::new(),
        Scale::LogAt(values) => values.clone(),
        Scale::Log => on_log(axis.unit, range, about),
        Scale::Linear | Scale::FromZero => evenly(axis.unit, range, about),
    };
    let tick = |value: f64| {
        let place = range.place(value)?;
        let (amount, _) = axis.unit.scaled(value);
        let lesser = matches!(axis.scale, Scale::Log) && !format!("{amount:e}").starts_with("1e");
        Some(Tick { place, label: axis.unit.tick(value), lesser })
    };
    values.into_iter().filter(|it| range.shows(*it)).filter_map(tick).collect()
}

/// Multiples of 1, 2 or 5 times a power of ten, in the unit of the largest.
fn evenly(unit: Unit, range: &Range, about: usize) -> Vec<f64> {
    let largest = range.high.abs().max(range.low.abs());
    let (amount, _) = unit.scaled(largest);
    let scale = if amount == 0.0 { 1.0 } else { largest / amount };
    let (low, high) = (range.low / scale, range.high / scale);
    let rough = (high - low) / about.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let Some(step) = [1.0, 2.0, 5.0, 10.0].into_iter().map(|it| it * power).find(|it| *it >= rough * 0.999) else {
        return Vec::new();
    };
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    if !(first.abs() < 1e15 && last.abs() < 1e15 && last - first < 1000.0) {
        return Vec::new();
    }
    (first as i64..=last as i64).map(|it| it as f64 * step * scale).collect()
}

/// Powers of the unit's base, times 1, 10 and 100 or finer where that gives not too many; within less than a decade evenly.
fn on_log(unit: Unit, range: &Range, about: usize) -> Vec<f64> {
    const STEPS: [&[f64]; 3] = [&[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0], &[1.0, 10.0, 100.0], &[1.0]];
    let base: f64 = unit.base();
    let first = range.low.log(base).floor().max(-100.0) as i32;
    let last = range.high.log(base).ceil().min(100.0) as i32;
    let mut values = Vec::new();
    for steps in STEPS {
        let all = (first..=last).flat_map(|power| steps.iter().map(move |step| step * base.powi(power)));
        values = all.filter(|it| range.shows(*it)).collect();
        if values.len() <= about {
            break;
        }
    }
    match values.len() {
        0..3 if range.high / range.low < 20.0 => evenly(unit, range, about),
        many if many > about => values.iter().step_by(many.div_ceil(about)).copied().collect(),
        _ => values,
    }
}

impl Unit {
    fn base(self) -> f64 {
        match self {
            Unit::Bytes | Unit::BytesPerSecond => 1024.0,
            Unit::Number | Unit::Times | Unit::Nanoseconds => 1000.0,
        }
    }

    /// The amount in the unit that fits, and what that is called.
    fn scaled(self, value: f64) -> (f64, String) {
        match self {
            Unit::Number => (value, String::new()),
            Unit::Times => (value, "x".into()),
            Unit::Nanoseconds => {
                let (scale, unit) = number::duration_unit(value);
                (value / scale, format!(" {unit}"))
            }
            Unit::Bytes | Unit::BytesPerSecond => {
                let (amount, unit) = number::binary(value);
                (amount, format!(" {unit}{}", if self == Unit::Bytes { "" } else { "/s" }))
            }
        }
    }

    fn tick(self, value: f64) -> String {
        if value == 0.0 {
            return "0".into();
        }
        let (amount, unit) = self.scaled(value);
        number::short(amount) + &unit
    }
}

/// At most how many pixels a text takes in a font of so many: fonts differ, so these are the widths of DejaVu Sans,
/// the widest that is common.
pub(super) fn width(text: &str, font: f64) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '|' | '\'' | '.' | ',' | ':' | ';' | ' ' | '·' => 0.34,
        'f' | 't' | 'r' | 's' | '(' | ')' | '[' | ']' | '/' | '-' | '"' => 0.53,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
        'A'..='Z' | '+' | '=' | '<' | '>' | '~' | '#' | '_' => 0.84,
        c if c.is_ascii() => 0.64,
        c => 1.05 * text::width(c.encode_utf8(&mut [0; 4])) as f64,
    };
    text.chars().map(of).sum::<f64>() * font
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, unit: Unit, low: f64, high: f64, about: usize) -> String {
        let range = Range::of(&scale, [low, high].into_iter());
        let axis = Axis::new("", scale, unit);
        ticks(&axis, &range, about).into_iter().map(|it| it.label).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn ticks_stand_at_round_values_in_units_that_fit() {
        assert_eq!(labels(Scale::FromZero, Unit::Number, 0.0, 187.0, 5), "0, 50, 100, 150");
        assert_eq!(labels(Scale::FromZero, Unit::Number, 0.0, 0.37, 5), "0, 0.1, 0.2, 0.3");
        assert_eq!(labels(Scale::FromZero, Unit::Number, 0.0, 120_000.0, 5), "0, 50,000, 100,000");
        assert_eq!(labels(Scale::FromZero, Unit::BytesPerSecond, 0.0, 3.3e9, 5), "0, 1 GiB/s, 2 GiB/s, 3 GiB/s");
        assert_eq!(labels(Scale::Linear, Unit::Number, -4.0, 100.0, 5), "0, 50, 100");
        assert_eq!(labels(Scale::Log, Unit::BytesPerSecond, 2e6, 3.3e9, 6), "10 MiB/s, 100 MiB/s, 1 GiB/s");
        assert_eq!(labels(Scale::Log, Unit::Nanoseconds, 80.0, 4.2e6, 8), "100 ns, 1 µs, 10 µs, 100 µs, 1 ms");
        assert_eq!(labels(Scale::Log, Unit::Times, 0.52, 6.3, 8), "0.5x, 1x, 2x, 5x");
        assert_eq!(labels(Scale::Log, Unit::Times, 0.95, 1.21, 8), "0.95x, 1x, 1.05x, 1.1x, 1.15x, 1.2x");
        let blocks = [64.0, 4096.0, 65536.0, 1048576.0];
        assert_eq!(labels(Scale::LogAt(blocks.into()), Unit::Bytes, 64.0, 1048576.0, 2), "64 B, 4 KiB, 64 KiB, 1 MiB");
    }

    #[test]
    fn a_range_shows_its_values_whatever_they_are() {
        let values =
            [0.0, -1.0, 1e-300, 5e-324, 1.0, 1.0000001, 1e18, 1e300, f64::MAX, f64::INFINITY, f64::NAN, f64::MIN];
        for scale in [Scale::Linear, Scale::FromZero, Scale::Log] {
            for low in values {
                for high in values {
                    let range = Range::of(&scale, [low, high].into_iter());
                    assert!(range.low.is_finite() && range.high.is_finite() && range.low < range.high, "{range:?}");
                    for value in values {
                        assert!(range.place(value).is_none_or(|it| (0.0..=1.0).contains(&it)), "{value} in {range:?}");
                    }
                    for unit in [Unit::Number, Unit::Nanoseconds, Unit::BytesPerSecond] {
                        let scale = match scale {
                            Scale::Log => Scale::Log,
                            Scale::FromZero => Scale::FromZero,
                            _ => Scale::Linear,
                        };
                        let ticks = ticks(&Axis::new("", scale, unit), &range, 6);
                        assert!(ticks.len() < 20 && ticks.iter().all(|it| it.label.len() < 30), "{ticks:?}");
                    }
                }
            }
        }
    }
}
