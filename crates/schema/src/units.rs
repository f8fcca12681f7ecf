//! Sizes and durations as people write them ("64 KiB", "60s") and as they are shown again.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number of bytes. Written as `"64 KiB"`, `"21.8 MB"` or a plain integer; stored as an integer in records
/// (every field that holds one says `_bytes`), as text in experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// Powers of two first: what divides evenly by one of them is shown in it.
const UNITS: [(&str, u64); 5] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

impl FromStr for Bytes {
    type Err = String;

    /// Exact: no number passes through floating point. A fraction of a byte is cut off.
    fn from_str(text: &str) -> Result<Bytes, String> {
        parse(text.trim())
            .map(Bytes)
            .ok_or_else(|| format!("{text:?} is not a size; write it as \"64 KiB\", \"1 GiB\", \"21.8 MB\" or 4096"))
    }
}

fn parse(size: &str) -> Option<u64> {
    let digits = size.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(size.len());
    let (number, unit) = (&size[..digits], size[digits..].trim_start().to_ascii_lowercase());
    let power = |letter: &str| "kmgtpe".find(letter).map(|at| at as u32 + 1);
    let unit: u128 = match unit.as_str() {
        "" | "b" => 1,
        unit => {
            let (prefix, rest) = unit.split_at_checked(1)?;
            match rest {
                "" | "b" => 1000u128.pow(power(prefix)?),
                "i" | "ib" => 1024u128.pow(power(prefix)?),
                _ => return None,
            }
        }
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // Eighteen decimals of the largest unit are less than a byte.
    let fraction = &fraction[..fraction.len().min(18)];
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let value = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u128>().ok() };
    let of_fraction = value(fraction)?.checked_mul(unit)? / 10u128.pow(fraction.len() as u32);
    u64::try_from(value(whole)?.checked_mul(unit)?.checked_add(of_fraction)?).ok()
}

impl Bytes {
    /// For labels, files and everything else that is typed or read back: the largest binary unit in which the number
    /// has at most two decimals, or else bytes: `4 KiB`, `1.50 GiB`, `4999 B`.
    pub fn exact(self) -> String {
        let hundredths = |unit: u64| u128::from(self.0) * 100 / u128::from(unit);
        let fits = |unit: u64| unit <= self.0 && u128::from(self.0) * 100 % u128::from(unit) == 0;
        match UNITS.into_iter().find(|&(_, unit)| fits(unit)) {
            Some((name, unit)) if self.0.is_multiple_of(unit) => format!("{} {name}", self.0 / unit),
            Some((name, unit)) => format!("{}.{:02} {name}", hundredths(unit) / 100, hundredths(unit) % 100),
            None => format!("{} B", self.0),
        }
    }

    /// A rate, exact too; disks and networks are sold in decimal units: `21.8 MB/s`.
    pub fn exact_rate(self) -> String {
        let (whole, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let decimals = format!("{whole}.{rest:06}");
        format!("{} MB/s", decimals.trim_end_matches('0').trim_end_matches('.'))
    }

    /// Whether this is what an earlier version made of `exact` when it saved it: it kept two decimals.
    pub fn is_rounded(self, exact: Bytes) -> bool {
        self != exact && exact.to_string().parse() == Ok(self)
    }
}

impl fmt::Display for Bytes {
    /// For people: the largest binary unit, with two decimals unless it divides the number: `4 KiB`, `1.50 GiB`,
    /// `65 B`. This rounds; what must be read back is written with `exact`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (name, unit) = UNITS.into_iter().find(|&(_, unit)| self.0 >= unit).unwrap_or(("B", 1));
        let text = if self.0.is_multiple_of(unit) {
            format!("{} {name}", self.0 / unit)
        } else {
            format!("{:.2} {name}", self.0 as f64 / unit as f64)
        };
        f.pad(&text)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.exact())
    }
}

struct BytesVisitor {
    /// A size per second: `"21.8 MB/s"` reads better than `"21.8 MB"`, and both are taken.
    is_rate: bool,
}

impl de::Visitor<'_> for BytesVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(if self.is_rate { "a rate such as \"21.8 MB/s\"" } else { "a size such as \"64 KiB\" or 4096" })
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Bytes, E> {
        Ok(Bytes(bytes))
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Bytes, E> {
        u64::try_from(bytes).map(Bytes).map_err(|_| E::custom("a size cannot be negative"))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
        let size = text.trim();
        let size = if self.is_rate { size.strip_suffix("/s").unwrap_or(size) } else { size };
        size.parse().map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        deserializer.deserialize_any(BytesVisitor { is_rate: false })
    }
}

/// A size per second, read from text.
struct Rate(Bytes);

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        deserializer.deserialize_any(BytesVisitor { is_rate: true }).map(Rate)
    }
}

pub(crate) fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
    Ok(Option::<Rate>::deserialize(deserializer)?.map(|it| it.0))
}

pub(crate) fn rates<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Bytes>, D::Error> {
    Ok(Vec::<Rate>::deserialize(deserializer)?.into_iter().map(|it| it.0).collect())
}

/// No name that can be mistyped is longer.
const WORD_BYTES_MAX: usize = 200;
/// So many names are listed; the nearest one is named all the same.
const LISTED: usize = 30;

/// The closest of `known` to what was typed, for "did you mean"; `None` when nothing is near.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing takes time in proportion to both lengths, and nothing that long is a slip of a finger.
    known
        .into_iter()
        .filter(|name| name.len().max(typed.len()) <= WORD_BYTES_MAX)
        .map(|name| (strsim::jaro_winkler(typed, name), name))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// `expected one of a, b, c`, with the nearest name first when there is one.
pub fn expected(typed: &str, known: &[&str]) -> String {
    let more = if known.len() > LISTED { ", …" } else { "" };
    let list = match known {
        [] => "there is none to choose from".to_string(),
        [only] => format!("expected {only}"),
        _ => format!("expected one of {}{more}", known[..known.len().min(LISTED)].join(", ")),
    };
    match nearest(typed, known.iter().copied()) {
        Some(name) => format!("did you mean {name:?}? ({list})"),
        None => list,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_as_they_are_written() {
        for text in ["0 B", "64 B", "4 KiB", "65 B", "1 MiB", "3 GiB", "1.50 GiB"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
        assert_eq!("21.8 MB".parse::<Bytes>().unwrap(), Bytes(21_800_000));
        assert_eq!("4096".parse::<Bytes>().unwrap(), Bytes(4096));
        for text in ["4 chickens", "", "B", ".", "-1", "1e3", "1..2", "99999999999 TiB", "4 ÄiB", "4 Kx", "4 KiB/s"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        let sizes = [".5 KiB", "1k", "1K", "1KiB", "1ki", "16EiB", "18446744073709551615", "0.000000000000000000001 B"];
        let parsed = sizes.map(|it| it.parse::<Bytes>().ok().map(|it| it.0));
        let expected = [Some(512), Some(1000), Some(1000), Some(1024), Some(1024), None, Some(u64::MAX), Some(0)];
        assert_eq!(parsed, expected);
    }

    #[test]
    fn an_exact_size_is_short_where_it_can_be() {
        let shown = [0, 1, 4096, 4999, 1280, 3 << 29, 22_858_199, u64::MAX].map(|it| Bytes(it).exact());
        let expected =
            ["0 B", "1 B", "4 KiB", "4999 B", "1.25 KiB", "1.50 GiB", "22858199 B", "18446744073709551615 B"];
        assert_eq!(shown, expected);
        let rates = [21_800_000, 110_163_394, 0, 1].map(|it| Bytes(it).exact_rate());
        assert_eq!(rates, ["21.8 MB/s", "110.163394 MB/s", "0 MB/s", "0.000001 MB/s"]);
    }

    #[test]
    fn what_an_earlier_version_saved_is_known_as_rounded() {
        let exact: Bytes = "21.799 MiB".parse().unwrap();
        let saved: Bytes = "21.80 MiB".parse().unwrap();
        assert!(saved.is_rounded(exact));
        assert!(!exact.is_rounded(exact) && !saved.is_rounded(Bytes(21 << 20)));
    }

    #[test]
    fn a_typo_finds_its_word_and_noise_finds_none() {
        assert_eq!(nearest("cahced", ["cold", "cached", "mapped"]), Some("cached"));
        assert_eq!(nearest("zzz", ["cold", "cached", "mapped"]), None);
    }
}
