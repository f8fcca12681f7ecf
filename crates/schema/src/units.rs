//! Sizes and durations as people write them ("64 KiB", "60s") and as they are shown again.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number of bytes. Written as `"64 KiB"`, `"21.8 MB"` or a plain integer; stored as an integer in records
/// (every field that holds one says `_bytes`), as text in experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        // A rate is a size per second; `"21.8 MB/s"` reads better than `"21.8 MB"` where one is meant.
        let size = text.trim();
        bytesize::ByteSize::from_str(size.strip_suffix("/s").unwrap_or(size))
            .map(|size| Bytes(size.as_u64()))
            .map_err(|_| format!("{text:?} is no size; write it as \"64 KiB\", \"1 GiB\", \"21.8 MB\" or 4096"))
    }
}

impl fmt::Display for Bytes {
    /// The largest binary unit that divides the number exactly, or else two decimals: `4 KiB`, `1.50 GiB`, `65 B`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];
        let (name, shift) = UNITS.into_iter().find(|&(_, shift)| self.0 >> shift > 0).unwrap_or(("B", 0));
        let text = if self.0.trailing_zeros() >= shift || self.0 == 0 {
            format!("{} {name}", self.0 >> shift)
        } else {
            format!("{:.2} {name}", self.0 as f64 / (1u64 << shift) as f64)
        };
        f.pad(&text)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a size such as \"64 KiB\" or 4096")
            }
            fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }
            fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Bytes, E> {
                u64::try_from(bytes).map(Bytes).map_err(|_| E::custom("a size cannot be negative"))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// The closest of `known` to what was typed, for "did you mean"; `None` when nothing is near.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(typed, name), name))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// `expected one of a, b, c`, with the nearest name first when there is one.
pub fn expected(typed: &str, known: &[&str]) -> String {
    let list = format!("expected one of {}", known.join(", "));
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
        assert!("4 chickens".parse::<Bytes>().is_err());
    }

    #[test]
    fn a_typo_finds_its_word_and_noise_finds_none() {
        assert_eq!(nearest("cahced", ["cold", "cached", "mapped"]), Some("cached"));
        assert_eq!(nearest("zzz", ["cold", "cached", "mapped"]), None);
    }
}
