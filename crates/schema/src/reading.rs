//! A reading: what was seen, or why it could not be.

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

/// A value, or the reason why there is none: in words where it was measured, as data in findings. A missing value is
/// never 0.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Written<T, W>")]
pub enum Reading<T, W = String> {
    Unavailable { unavailable: W },
    Value(T),
}

/// With words beside its data, as `report` writes it, or without.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written<T, W> {
    Unavailable { unavailable: W, unavailable_data: Option<W> },
    Value(T),
}

impl<T, W> From<Written<T, W>> for Reading<T, W> {
    fn from(written: Written<T, W>) -> Reading<T, W> {
        match written {
            Written::Unavailable { unavailable, unavailable_data } => {
                Reading::Unavailable { unavailable: unavailable_data.unwrap_or(unavailable) }
            }
            Written::Value(value) => Reading::Value(value),
        }
    }
}

/// What a reading may be of.
pub trait Value: Serialize {
    /// JSON cannot represent infinite numbers and NaN (RFC 8259, section 6).
    fn is_finite(&self) -> bool {
        true
    }
}

impl Value for f64 {
    fn is_finite(&self) -> bool {
        f64::is_finite(*self)
    }
}

impl<T: Value> Value for Vec<T> {
    fn is_finite(&self) -> bool {
        self.iter().all(Value::is_finite)
    }
}

impl Value for u32 {}
impl Value for u64 {}
impl Value for i64 {}
impl Value for bool {}
impl Value for String {}

/// A number that cannot be written becomes its reason: what is written can be read back.
impl<T: Value, W: Serialize> Serialize for Reading<T, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut reason = match self {
            Reading::Value(value) if value.is_finite() => return value.serialize(serializer),
            _ => serializer.serialize_struct("Reading", 1)?,
        };
        match self {
            Reading::Value(_) => reason.serialize_field("unavailable", "the result is not a finite number")?,
            Reading::Unavailable { unavailable } => reason.serialize_field("unavailable", unavailable)?,
        }
        reason.end()
    }
}

impl<T, W> Reading<T, W> {
    pub fn value(&self) -> Option<&T> {
        match self {
            Reading::Value(value) => Some(value),
            Reading::Unavailable { .. } => None,
        }
    }

    pub fn unavailable(reason: impl Into<W>) -> Reading<T, W> {
        Reading::Unavailable { unavailable: reason.into() }
    }

    /// The value changed, the reason kept.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reading<U, W> {
        match self {
            Reading::Value(value) => Reading::Value(change(value)),
            Reading::Unavailable { unavailable } => Reading::Unavailable { unavailable },
        }
    }

    /// The reason as data.
    pub fn why(&self) -> Option<&W> {
        match self {
            Reading::Value(_) => None,
            Reading::Unavailable { unavailable } => Some(unavailable),
        }
    }
}

impl<T> Reading<T> {
    pub fn reason(&self) -> Option<&str> {
        self.why().map(String::as_str)
    }
}

impl<T, E: std::fmt::Display> From<Result<T, E>> for Reading<T> {
    fn from(result: Result<T, E>) -> Reading<T> {
        match result {
            Ok(value) => Reading::Value(value),
            Err(reason) => Reading::unavailable(reason.to_string()),
        }
    }
}
