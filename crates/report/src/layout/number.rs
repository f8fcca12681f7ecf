//! Numbers as people read them: three significant digits, a unit that fits, thousands separated.
//! A number and its unit are glued, so that no line ends between them.

use schema::findings::Estimate;

/// Joins what must stay on one line, such as a number and its unit. Reports print it as a space.
pub(crate) const GLUE: char = '\u{a0}';

/// What stands where a number is missing.
pub(crate) const MISSING: &str = "–";

/// A duration: `812 ns`, `1.23 µs`, `45.6 ms`, `2.10 s`.
pub fn duration(ns: f64) -> String {
    plain(&duration_glued(ns))
}

/// A duration that is given in seconds: `2.10 s`, `4 min 20 s`, `1 h 5 min`.
pub fn seconds(s: f64) -> String {
    if !s.is_finite() || s < 99.5 {
        // A budget is given in whole seconds.
        return if s >= 1.0 && s.fract() == 0.0 { format!("{s:.0} s") } else { duration(s * 1e9) };
    }
    let whole = s.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, rest) => format!("{minutes} min {rest} s"),
        (hours, 0, _) => format!("{} h", count(hours as f64)),
        (hours, minutes, _) => format!("{} h {minutes} min", count(hours as f64)),
    }
}

/// An amount of bytes, measured: `1.46 GiB`, `812 B`.
pub fn bytes(amount: f64) -> String {
    plain(&bytes_glued(amount))
}

/// `3.10 GiB/s`.
pub fn throughput(bytes_per_s: f64) -> String {
    plain(&throughput_glued(bytes_per_s))
}

/// A count: `262,144`; below 100 with its fraction, if it has one.
pub fn count(amount: f64) -> String {
    if !amount.is_finite() {
        return MISSING.into();
    }
    if amount.abs() >= 100.0 || amount.fract() == 0.0 {
        // As everywhere: a half is rounded up, and not to the even neighbour.
        separated(amount.round(), 0)
    } else {
        separated(amount, decimals(amount))
    }
}

/// `1.83x [1.79, 1.88]`; below 1 the arm is slower.
pub fn speedup(estimate: &Estimate) -> String {
    plain(&speedup_glued(estimate))
}

/// `1.2 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = below_all(share) * 100.0;
    let digits = match percent.abs() {
        // Little is not shown as nothing.
        it if 0.0 < it && it < 0.05 => decimals(percent),
        ..9.95 => 1,
        _ => 0,
    };
    format!("{}{GLUE}%", separated(percent, digits))
}

/// What is not all is not rounded to all.
pub(crate) fn below_all(share: f64) -> f64 {
    if share < 1.0 { share.min(0.99) } else { share }
}

/// Of what lacks something, however little.
pub(crate) fn part(share: f64) -> String {
    const NEARLY: f64 = 0.99;
    if share > NEARLY { format!("more than {}", percent(NEARLY)) } else { percent(share) }
}

pub(crate) fn duration_glued(ns: f64) -> String {
    let (scale, unit) = duration_unit(ns);
    format!("{}{GLUE}{unit}", significant(ns / scale))
}

/// `1.23 µs [1.21, 1.25]`, all three in the unit of the median.
pub(crate) fn duration_interval(estimate: &Estimate) -> String {
    let (scale, unit) = duration_unit(estimate.median);
    let digits = decimals(estimate.median / scale);
    let [low, high] = ends(estimate, |ns| separated(ns / scale, digits));
    format!("{}{GLUE}{unit}{GLUE}[{low},{GLUE}{high}]", separated(estimate.median / scale, digits))
}

/// The ends of an interval of what has no sign. Student's t of two or three rounds gives ends that are thousands of times
/// apart: their digits say nothing.
fn ends(estimate: &Estimate, shown: impl Fn(f64) -> String) -> [String; 2] {
    const APART: f64 = 1000.0;
    let Estimate { median, ci_low, ci_high } = *estimate;
    let low = if ci_low * APART < median { "0".into() } else { shown(ci_low) };
    let high = if ci_high > median * APART && median > 0.0 { "∞".into() } else { shown(ci_high) };
    [low, high]
}

pub(crate) fn speedup_glued(estimate: &Estimate) -> String {
    // 0.55x, not 0.553x: the second decimal is the share of the baseline's time, and that is what people compare.
    let digits = if (0.0995..1.0).contains(&estimate.median) { 2 } else { decimals(estimate.median) };
    let [low, high] = ends(estimate, |times| separated(times, digits));
    format!("{}x{GLUE}[{low},{GLUE}{high}]", separated(estimate.median, digits))
}

/// `0.32x`, `4.7x`.
pub(crate) fn ratio_glued(ratio: f64) -> String {
    let digits = if (0.0995..1.0).contains(&ratio) { 2 } else { decimals(ratio) };
    format!("{}x", separated(ratio, digits))
}

/// `1.25x faster`, `1.25x slower`: without a unit that runs the other way below 1. `as fast` where the digits show no more.
pub(crate) fn times_faster(ratio: f64) -> String {
    let (times, word) = if ratio < 1.0 { (1.0 / ratio, "slower") } else { (ratio, "faster") };
    match separated(times, decimals(times)) {
        times if times == separated(1.0, decimals(1.0)) => "as fast".into(),
        times => format!("{times}x{GLUE}{word}"),
    }
}

/// `4,812 [4,700, 4,930]`: a number whose unit stands elsewhere.
pub(crate) fn estimate_glued(estimate: &Estimate) -> String {
    // Of a count nothing stands behind the point.
    let whole = [estimate.median, estimate.ci_low, estimate.ci_high].iter().all(|it| it.fract() == 0.0);
    let digits = if whole { 0 } else { decimals(estimate.median) };
    let part = |amount: f64| separated(amount, digits);
    if estimate.ci_low == estimate.ci_high {
        // Counts that were the same in every pass.
        return part(estimate.median);
    }
    format!("{}{GLUE}[{},{GLUE}{}]", part(estimate.median), part(estimate.ci_low), part(estimate.ci_high))
}

/// `18,000 [9,600, 41,000]`: what is derived has no more than two digits.
pub(crate) fn rough(estimate: &Estimate) -> String {
    let [median, low, high] = [estimate.median, estimate.ci_low, estimate.ci_high].map(two_digits);
    format!("{median} [{low}, {high}]")
}

/// `18,000`
pub(crate) fn two_digits(amount: f64) -> String {
    let step = 10f64.powf(amount.abs().max(1.0).log10().floor() - 1.0).max(1.0);
    count((amount / step).round() * step)
}

/// `0.25`, `1,500`, `1e12`: a number without digits that say nothing, for the ticks of an axis.
pub(crate) fn short(amount: f64) -> String {
    // Six digits: what arithmetic leaves behind them is no part of the number.
    let rounded: f64 = format!("{amount:.5e}").parse().unwrap_or(amount);
    match rounded.abs() {
        0.0 | 1e-4..1e7 => given(rounded),
        _ => format!("{rounded:e}"),
    }
}

/// A published number, with the digits that it was given with: `24.788`, `32,807`.
pub(crate) fn given(amount: f64) -> String {
    let text = format!("{amount}");
    separated(amount, text.split_once('.').map_or(0, |(_, fraction)| fraction.len()))
}

pub(crate) fn bytes_glued(amount: f64) -> String {
    let (amount, unit) = binary(amount);
    let number = if amount.fract() == 0.0 { separated(amount, 0) } else { significant(amount) };
    format!("{number}{GLUE}{unit}")
}

/// The amount in the largest binary unit that leaves at least 1 of it.
pub(crate) fn binary(amount: f64) -> (f64, &'static str) {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut amount = amount;
    let mut unit = 0;
    // 1,023 KiB reads well enough; 1,023.7 KiB would round to 1,024.
    while amount.abs() >= 1023.5 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    (amount, UNITS[unit])
}

pub(crate) fn throughput_glued(bytes_per_s: f64) -> String {
    let (amount, unit) = binary(bytes_per_s);
    format!("{}{GLUE}{unit}/s", significant(amount))
}

/// A text whose numbers were glued, as it leaves this crate.
pub(crate) fn plain(text: &str) -> String {
    text.replace(GLUE, " ")
}

pub(crate) fn duration_unit(ns: f64) -> (f64, &'static str) {
    match ns.abs() {
        ns if ns < 999.5 => (1.0, "ns"),
        ns if ns < 999.5e3 => (1e3, "µs"),
        ns if ns < 999.5e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

pub(crate) fn significant(amount: f64) -> String {
    separated(amount, decimals(amount))
}

/// Decimals that give three significant digits, and of what is small two: it is never shown as nothing.
fn decimals(amount: f64) -> usize {
    match amount.abs() {
        amount if amount >= 99.95 => 0,
        amount if amount >= 9.995 => 1,
        amount if amount >= 0.9995 || amount == 0.0 => 2,
        amount if amount >= 0.0995 => 3,
        amount => (1.0 - amount.log10().floor()).min(9.0) as usize,
    }
}

fn separated(amount: f64, decimals: usize) -> String {
    if !amount.is_finite() {
        return MISSING.into();
    }
    let text = format!("{:.decimals$}", amount.abs());
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let mut shown = String::new();
    if amount < 0.0 && text.bytes().any(|digit| digit.is_ascii_digit() && digit != b'0') {
        shown.push('-');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            shown.push(',');
        }
        shown.push(digit);
    }
    if let Some(fraction) = fraction {
        shown.push('.');
        shown.push_str(fraction);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_the_unit_that_fits() {
        let cases: [(f64, &str); 11] = [
            (0.0, "0.00 ns"),
            (0.4213, "0.421 ns"),
            (9.996, "10.0 ns"),
            (812.4, "812 ns"),
            (999.6, "1.00 µs"),
            (1234.0, "1.23 µs"),
            (99_960.0, "100 µs"),
            (45_600_000.0, "45.6 ms"),
            (2.1e9, "2.10 s"),
            (1234e9, "1,234 s"),
            (f64::NAN, "– s"),
        ];
        for (ns, expected) in cases {
            assert_eq!(duration(ns), expected);
        }
        assert_eq!(seconds(58.2), "58.2 s");
        assert_eq!(seconds(60.0), "60 s");
        assert_eq!(seconds(260.2), "4 min 20 s");
        assert_eq!(seconds(3900.0), "1 h 5 min");
    }

    #[test]
    fn bytes_are_binary_and_counts_are_separated() {
        assert_eq!(bytes(812.0), "812 B");
        assert_eq!(bytes(4096.0), "4 KiB");
        assert_eq!(bytes(1023.7), "1.00 KiB");
        assert_eq!(bytes(1_567_000_000.0), "1.46 GiB");
        assert_eq!(throughput(3.33e9), "3.10 GiB/s");
        assert_eq!(count(262_144.0), "262,144");
        assert_eq!(count(1_000.4), "1,000");
        assert_eq!(count(0.0), "0");
        assert_eq!(count(2.5), "2.50");
        assert_eq!(count(-1_234.0), "-1,234");
        assert_eq!([24.788, 21.17, 32_807.0, 0.0, 1e300].map(given)[..4], ["24.788", "21.17", "32,807", "0"]);
        assert_eq!(given(f64::NAN), MISSING);
        assert_eq!([0.1 + 0.2, 1_500.0, 2e12, 0.0, -4.0, 1e-7].map(short), ["0.3", "1,500", "2e12", "0", "-4", "1e-7"]);
        let estimate = |median, ci_low, ci_high| plain(&estimate_glued(&Estimate { median, ci_low, ci_high }));
        assert_eq!(estimate(2_825.3, 2_700.0, 2_900.0), "2,825 [2,700, 2,900]");
        assert_eq!(estimate(16_402.0, 16_402.0, 16_402.0), "16,402");
        assert_eq!([estimate(0.0, 0.0, 0.0), estimate(3.0, 2.0, 4.0)], ["0", "3 [2, 4]"]);
    }

    #[test]
    fn an_interval_is_written_in_the_unit_and_the_digits_of_its_median() {
        let estimate = |median, ci_low, ci_high| Estimate { median, ci_low, ci_high };
        assert_eq!(plain(&duration_interval(&estimate(1234.0, 998.0, 2001.0))), "1.23 µs [1.00, 2.00]");
        assert_eq!(speedup(&estimate(1.83, 1.79, 1.88)), "1.83x [1.79, 1.88]");
        assert_eq!(speedup(&estimate(0.0553, 0.05, 0.06)), "0.055x [0.050, 0.060]");
        assert_eq!(speedup(&estimate(0.553, 0.5, 0.6)), "0.55x [0.50, 0.60]");
        assert_eq!(speedup(&estimate(0.000_412, 0.000_4, 0.000_43)), "0.00041x [0.00040, 0.00043]");
        assert_eq!(speedup(&estimate(27.84, 26.0, 30.1)), "27.8x [26.0, 30.1]");
        assert_eq!(speedup(&estimate(1.83, 6e-7, 3_020_082.1)), "1.83x [0, ∞]", "of two rounds");
        assert_eq!(plain(&duration_interval(&estimate(568.0, 0.0, 5_640.0))), "568 ns [0, 5,640]");
        let faster = [1.25, 0.8, 1.006, 1.0 / 1.006, 1.004, 1.0, 1.0 / 1.004].map(|it| plain(&times_faster(it)));
        let equal = "as fast";
        assert_eq!(faster, ["1.25x faster", "1.25x slower", "1.01x faster", "1.01x slower", equal, equal, equal]);
        assert_eq!(plain(&percent(0.0123)), "1.2 %");
        assert_eq!([0.87, 0.0, 0.000_4, 0.000_6].map(|it| plain(&percent(it))), ["87 %", "0.0 %", "0.040 %", "0.1 %"]);
        assert_eq!([4095.0 / 4096.0, 1.0, 1.004].map(|it| plain(&percent(it))), ["99 %", "100 %", "100 %"]);
    }
}
