//! A value, or a list of them.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Of a list without an entry.
pub(super) const EMPTY: &str = "the list is empty; it needs at least one entry";

/// A value, or a list of one or more: every key that is crossed with the others takes either.
pub(super) struct OneOrMany<T>(pub(super) Vec<T>);

impl<T> OneOrMany<T> {
    pub(super) fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    /// By hand, because the error of a derived one does not say which entry is wrong.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneOrMany<T>, D::Error> {
        struct OneOrManyVisitor<T>(std::marker::PhantomData<T>);
        fn one<'de, T: Deserialize<'de>, E: de::Error>(
            value: impl de::IntoDeserializer<'de, E>,
        ) -> Result<OneOrMany<T>, E> {
            T::deserialize(value.into_deserializer()).map(|it| OneOrMany(vec![it]))
        }
        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for OneOrManyVisitor<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("one value or a list of them")
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
                one(value)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                one(value)
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
                one(value)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
                one(value)
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
                one(value.to_string())
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(de::value::MapAccessDeserializer::new(map)).map(|it| OneOrMany(vec![it]))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                match values.is_empty() {
                    true => Err(de::Error::custom(EMPTY)),
                    false => Ok(OneOrMany(values)),
                }
            }
        }
        deserializer.deserialize_any(OneOrManyVisitor(std::marker::PhantomData))
    }
}

/// One value as itself, several as a list.
pub(super) fn serialize<T: Serialize, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    match values {
        [one] => one.serialize(serializer),
        many => many.serialize(serializer),
    }
}

pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    OneOrMany::deserialize(deserializer).map(OneOrMany::into_vec)
}
