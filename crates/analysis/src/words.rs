//! Numbers as people read them.

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

/// Sizes that were counted: `64 MiB`, `1.50 GiB`.
pub(crate) fn size(bytes: f64) -> String {
    Bytes(bytes.round().max(0.0) as u64).to_string()
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

/// `71 %`, `0.4 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent != 0.0 && percent.abs() < 1.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_string(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!([23_600.0, 184_000.0, 2.44e6, 64.0].map(rough_size), ["23 KiB", "180 KiB", "2.3 MiB", "64 B"]);
        assert_eq!([0.8, 1.618, 9.996, 99.96, 32_807.0].map(digits), ["0.80", "1.62", "10.0", "100", "32,807"]);
        assert_eq!([0.71, 0.004, 0.0].map(percent), ["71 %", "0.4 %", "0 %"]);
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    }
}
