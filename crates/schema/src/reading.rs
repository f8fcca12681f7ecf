//! A reading: what was seen, or why it could not be.

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

/// A value, or the reason why there is none, mostly in words. A missing value is never 0.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Reading<T, W = String> {
    Unavailable { unavailable: W },
    Value(T),
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

impl Value for u64 {}
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
}

impl<T> Reading<T> {
    pub fn unavailable(reason: impl Into<String>) -> Reading<T> {
        Reading::Unavailable { unavailable: reason.into() }
    }

    /// The value changed, the reason kept.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reading<U> {
        match self {
            Reading::Value(value) => Reading::Value(change(value)),
            Reading::Unavailable { unavailable } => Reading::Unavailable { unavailable },
        }
    }

    pub fn reason(&self) -> Option<&str> {
        match self {
            Reading::Value(_) => None,
            Reading::Unavailable { unavailable } => Some(unavailable),
        }
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
