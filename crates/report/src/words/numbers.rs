//! Numbers as sentences give them: two or three digits, without the glue that tables need.

use crate::layout::number::below_all;
pub(crate) use crate::layout::words::list;
use schema::Bytes;

/// `16,384`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 fault`, `1,024 faults`, `no fault`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    match number {
        0 => format!("no {one}"),
        1 => format!("1 {one}"),
        _ => format!("{} {many}", thousands(number)),
    }
}

/// Amounts of work, in decimal megabytes so that small differences show: `268 MB`, `1,074 MB`, `4,096 bytes`.
pub(crate) fn amount(bytes: u64) -> String {
    match bytes {
        10_000_000.. => format!("{} MB", thousands(bytes.saturating_add(500_000) / 1_000_000)),
        _ => count(bytes, "byte", "bytes"),
    }
}

/// A part and its whole in one unit: `0.26 MB` and `67 MB`.
pub(crate) fn amounts(part: u64, whole: u64) -> [String; 2] {
    let (rounded, is_close) = match (part, whole) {
        // Hundredths of a megabyte, where there is one; what is near it would look like all of it.
        (10_000..9_990_000, 10_000_000..) => (format!("{:.2} MB", part as f64 / 1e6), false),
        (..10_000_000, 10_000_000..) => (amount(part), part >= 9_990_000 && whole < 10_500_000),
        _ => (amount(part), false),
    };
    match amount(whole) {
        whole_rounded if is_close || part != whole && rounded == whole_rounded => {
            [part, whole].map(|it| count(it, "byte", "bytes"))
        }
        whole_rounded => [rounded, whole_rounded],
    }
}

/// Sizes that were counted: `64 MiB`, `1.50 GiB`.
pub(crate) fn size(bytes: f64) -> String {
    Bytes(bytes.round().max(0.0) as u64).to_string()
}

/// Two sizes that are held against each other.
pub(crate) fn sizes(of: [u64; 2]) -> [String; 2] {
    apart(of, |it| Bytes(it).to_string())
}

/// Two amounts as `shown`, or in bytes where they would look the same otherwise.
pub(crate) fn apart(of: [u64; 2], shown: impl Fn(u64) -> String) -> [String; 2] {
    let [a, b] = of.map(shown);
    match of[0] != of[1] && a == b {
        true => of.map(|it| count(it, "byte", "bytes")),
        false => [a, b],
    }
}

/// Sizes that were estimated, with two or three digits: `23 KiB`, `180 KiB`, `2.4 MiB`.
pub(crate) fn rough_size(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes.max(0.0);
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value < 10.0 && unit > 0 && (value - value.round()).abs() > 0.05 {
        format!("{value:.1} {}", UNITS[unit])
    } else {
        format!("{value:.0} {}", UNITS[unit])
    }
}

/// Three digits or more, to be held against a published number: `1.62`, `23.4`, `32,807`.
pub(crate) fn digits(number: f64) -> String {
    match number {
        // A small ratio is not nothing: its first two digits.
        it if it > 0.0 && it < 0.0995 => format!("{number:.*}", (1.0 - it.log10().floor()).min(9.0) as usize),
        ..9.995 => format!("{number:.2}"),
        ..99.95 => format!("{number:.1}"),
        _ => thousands(number.round() as u64),
    }
}

/// How many times: `1.07x`, `1.6x`, `23x`.
pub(crate) fn times(factor: f64) -> String {
    match factor {
        it if it > 0.0 && it < 0.0995 => format!("{}x", digits(it)),
        ..1.095 => format!("{factor:.2}x"),
        ..9.95 => format!("{factor:.1}x"),
        _ => format!("{factor:.0}x"),
    }
}

/// As `times`, of a bound: it is not rounded below what it bounds.
pub(crate) fn times_at_most(factor: f64) -> String {
    let unit = match factor {
        ..=1.09 => 100.0,
        ..=9.9 => 10.0,
        _ => 1.0,
    };
    times(rounded_up(factor, unit))
}

/// As `times`, of a bound from below: it is not rounded above what it bounds.
pub(crate) fn times_at_least(factor: f64) -> String {
    let unit = match factor {
        ..1.1 => 100.0,
        ..10.0 => 10.0,
        _ => 1.0,
    };
    times((factor * unit + 1e-9).floor() / unit)
}

/// To so many parts of 1.
pub(crate) fn rounded_up(factor: f64, parts: f64) -> f64 {
    // 1.1 has a tenth and an error of representation.
    (factor * parts - 1e-9).ceil() / parts
}

/// Two digits or three: `81 ms`, `4.1 µs`.
pub(crate) fn time(ns: f64) -> String {
    let (value, unit) = in_unit(ns);
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

fn in_unit(ns: f64) -> (f64, &'static str) {
    match ns {
        ..1e3 => (ns, "ns"),
        ..1e6 => (ns / 1e3, "µs"),
        ..1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    }
}

/// `1,024 reads × 45.9 µs = 47 ms`: what is shown as the product is the product of the two numbers that are shown.
pub(crate) fn product(count: f64, what: &str, unit_ns: f64) -> String {
    let count = count.round().max(1.0);
    let unit = rounded(unit_ns);
    format!("{} {what} × {} = {}", thousands(count as u64), precise_time(unit), time(count * unit))
}

/// To three digits.
fn rounded(number: f64) -> f64 {
    if number > 0.0 && number.is_finite() { format!("{number:.2e}").parse().unwrap_or(number) } else { number }
}

/// A rounded time with all of its digits: `45.9 µs`, `0.00412 ns`.
fn precise_time(ns: f64) -> String {
    let (value, unit) = in_unit(ns);
    // Dividing moves the last bit; what is shown has three digits.
    format!("{} {unit}", rounded(value))
}

/// `71 %`, `0.4 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = below_all(share) * 100.0;
    match percent.abs() {
        // Little is not shown as nothing.
        it if 0.0 < it && it < 0.05 => format!("{} %", digits(percent)),
        it if 0.0 < it && it < 1.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// As `percent`, of a bound: it is not rounded below what it bounds.
pub(crate) fn percent_at_most(share: f64) -> String {
    let parts = if (0.0..0.01).contains(&share) { 1000.0 } else { 100.0 };
    // Of nothing it is -0.
    percent(rounded_up(share, parts).abs())
}

/// As `percent`, of a lower bound.
pub(crate) fn percent_at_least(share: f64) -> String {
    percent(-rounded_up(-share, if (0.0..0.01).contains(&share) { 1000.0 } else { 100.0 }))
}

/// As `percent`; a part is never shown as nothing or as all.
pub(crate) fn percent_of_all(share: f64) -> String {
    match share {
        it if 0.0 < it && it < 0.001 => "less than 0.1 %".into(),
        it if 0.99 < it && it < 1.0 => "more than 99 %".into(),
        it => percent(it),
    }
}

/// `41 % of it in the page cache`.
pub(crate) fn in_page_cache(share: f64) -> String {
    format!("{} of it in the page cache", percent_of_all(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_that_is_shown_comes_out() {
        let number = |text: &str| text.replace(',', "").parse::<f64>().unwrap();
        let ns = |text: &str| {
            let (value, unit) = text.split_once(' ').unwrap();
            let scale = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)].iter().find(|it| it.0 == unit).unwrap().1;
            (number(value) * scale, if value.contains('.') { 0.05 * scale } else { 0.5 * scale })
        };
        for (count, unit_ns) in [(1024.0, 45_949.0), (3.4, 0.0123), (2.0, 999.96), (262_144.0, 309.9), (16.0, 9.949e8)]
        {
            let text = product(count, "reads", unit_ns);
            let (shown, total) = text.split_once(" = ").unwrap();
            let (counted, unit) = shown.split_once(" reads × ").unwrap();
            let ((total, half_a_digit), (unit, _)) = (ns(total), ns(unit));
            assert!((number(counted) * unit - total).abs() <= half_a_digit * 1.000_001, "{text}");
        }
    }

    #[test]
    fn a_small_ratio_keeps_two_digits_and_is_never_shown_as_nothing() {
        for (number, shown) in
            [(0.0, "0.00"), (0.0049, "0.0049"), (0.012, "0.012"), (0.05, "0.050"), (0.0996, "0.10"), (1.62, "1.62")]
        {
            assert_eq!(digits(number), shown);
        }
        assert!(digits(1e-300).parse::<f64>().is_ok());
    }

    #[test]
    fn numbers_read_like_numbers() {
        assert_eq!([0, 999, 1_000, 16_384, 1_234_567].map(thousands), ["0", "999", "1,000", "16,384", "1,234,567"]);
        assert_eq!([0, 1, 2].map(|it| count(it, "fault", "faults")), ["no fault", "1 fault", "2 faults"]);
        assert_eq!([268_435_456, 1_073_741_824, 4096].map(amount), ["268 MB", "1,074 MB", "4,096 bytes"]);
        assert_eq!(amounts(262_144, 67_108_864), ["0.26 MB", "67 MB"]);
        assert_eq!(amounts(4096, 8192), ["4,096 bytes", "8,192 bytes"]);
        assert_eq!(amounts(4096, 268_435_456), ["4,096 bytes", "268 MB"], "little is not nothing");
        assert_eq!(amounts(9_999_999, 10_000_000), ["9,999,999 bytes", "10,000,000 bytes"]);
        assert_eq!(amounts(9_999_999, 67_108_864), ["9,999,999 bytes", "67 MB"]);
        assert_eq!(amounts(50_000_000, 50_003_968), ["50,000,000 bytes", "50,003,968 bytes"]);
        assert_eq!(amounts(50_000_000, 50_000_000), ["50 MB", "50 MB"]);
        assert_eq!(sizes([64 << 20, 1 << 30]), ["64 MiB", "1 GiB"]);
        assert_eq!(sizes([11_534_337, 11_534_338]), ["11,534,337 bytes", "11,534,338 bytes"], "not 11.00 MiB twice");
        assert_eq!([23_600.0, 184_000.0, 2.44e6, 64.0].map(rough_size), ["23 KiB", "180 KiB", "2.3 MiB", "64 B"]);
        assert_eq!([0.8, 1.618, 9.996, 99.96, 32_807.0].map(digits), ["0.80", "1.62", "10.0", "100", "32,807"]);
        assert_eq!(
            [1.067, 1.097, 1.62, 9.97, 23.4, 0.004].map(times),
            ["1.07x", "1.1x", "1.6x", "10x", "23x", "0.0040x"]
        );
        assert_eq!([0.71, 0.004, 0.000_4, 0.0].map(percent), ["71 %", "0.4 %", "0.040 %", "0 %"]);
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    }

    #[test]
    fn a_bound_is_not_rounded_below_what_it_bounds() {
        let described = [1.0845, 1.09, 1.1, 1.3418, 8.03, 9.91, 14.4].map(times_at_most);
        assert_eq!(described, ["1.09x", "1.09x", "1.1x", "1.4x", "8.1x", "10x", "15x"]);
        let described = [1.0855, 1.1, 3.96, 4.0, 9.99, 14.9].map(times_at_least);
        assert_eq!(described, ["1.08x", "1.1x", "3.9x", "4.0x", "9.9x", "14x"]);
        assert_eq!([0.71, 0.712, 0.0041, 0.0, 1.0].map(percent_at_most), ["71 %", "72 %", "0.5 %", "0 %", "100 %"]);
        assert_eq!([0.71, 0.746, 0.0049, 0.0, 1.0].map(percent_at_least), ["71 %", "74 %", "0.4 %", "0 %", "100 %"]);
    }

    #[test]
    fn times_have_two_digits_at_least() {
        let described: Vec<String> = [0.0, 9.94, 12.3, 4100.0, 81e6, 2.5e9].map(time).to_vec();
        assert_eq!(described, ["0.0 ns", "9.9 ns", "12 ns", "4.1 µs", "81 ms", "2.5 s"]);
    }
}
