//! The user's options: a JSON object into the plugin's own type.
//!
//! serde ignores unknown keys unless told otherwise, and does not say which
//! key held a wrong value. A user who mistypes a key must learn it, so the
//! object is read through a thin layer that does both.

use std::cell::Cell;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess,
    Visitor,
};
use serde_json::{Error as JsonError, Map, Value};

use crate::error::{Error, Result};
use crate::table::list;

/// Parses options. Without any, they are the default.
///
/// # Errors
/// [`Error::BadOption`]: not a JSON object, an unknown key, or a value of another type.
pub(crate) fn parse<O: DeserializeOwned + Default>(text: &str) -> Result<O> {
    if text.trim().is_empty() {
        return Ok(O::default());
    }
    let value = serde_json::from_str(text)
        .map_err(|error| Error::bad_option(format!("the options are not JSON: {error}")))?;
    let Value::Object(object) = value else {
        return Err(Error::bad_option(format!(
            "the options are not a JSON object: {text}"
        )));
    };
    if object.is_empty() {
        return Ok(O::default());
    }
    let known = Cell::new(None);
    O::deserialize(Options {
        object,
        known: &known,
    })
    .map_err(|error| {
        Error::bad_option(match known.get() {
            Some(known) => format!("{error} (known options: {})", list(known.iter().copied())),
            None => error.to_string(),
        })
    })
}

/// The options object. `known` receives the field names of the options type.
struct Options<'a> {
    object: Map<String, Value>,
    known: &'a Cell<Option<&'static [&'static str]>>,
}

impl Options<'_> {
    fn first_key(&self) -> &str {
        self.object.keys().next().map_or("", String::as_str)
    }
}

impl<'de> Deserializer<'de> for Options<'_> {
    type Error = JsonError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, JsonError> {
        self.known.set(Some(fields));
        match self
            .object
            .keys()
            .find(|key| !fields.contains(&key.as_str()))
        {
            Some(key) => Err(JsonError::custom(format!("unknown option `{key}`"))),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> std::result::Result<V::Value, JsonError> {
        visitor.visit_map(Entries {
            entries: self.object.into_iter(),
            current: None,
        })
    }

    fn deserialize_unit<V: Visitor<'de>>(
        self,
        _visitor: V,
    ) -> std::result::Result<V::Value, JsonError> {
        Err(JsonError::custom(format!(
            "unknown option `{}`: this plugin takes none",
            self.first_key()
        )))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> std::result::Result<V::Value, JsonError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> std::result::Result<V::Value, JsonError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> std::result::Result<V::Value, JsonError> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Keys with their values. Errors in a value name its key.
struct Entries {
    entries: serde_json::map::IntoIter,
    current: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Entries {
    type Error = JsonError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> std::result::Result<Option<K::Value>, JsonError> {
        self.current = self.entries.next();
        let Some((key, _)) = &self.current else {
            return Ok(None);
        };
        let key: StrDeserializer<'_, JsonError> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> std::result::Result<V::Value, JsonError> {
        let Some((key, value)) = self.current.take() else {
            return Err(JsonError::custom("a value without a key"));
        };
        seed.deserialize(value)
            .map_err(|error| JsonError::custom(format!("option `{key}`: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(default)]
    struct Limits {
        top: u64,
        min_share: f64,
        names: Vec<String>,
    }

    impl Default for Limits {
        fn default() -> Self {
            Self {
                top: 10,
                min_share: 0.01,
                names: Vec::new(),
            }
        }
    }

    fn refused<O: DeserializeOwned + Default + std::fmt::Debug>(text: &str) -> String {
        match parse::<O>(text).unwrap_err() {
            Error::BadOption(message) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn absent_options_keep_their_defaults() {
        for none in ["", "{}", " { } "] {
            assert_eq!(parse::<Limits>(none).unwrap(), Limits::default());
        }
        let some = parse::<Limits>(r#"{"top": 3, "names": ["a"]}"#).unwrap();
        assert_eq!(
            some,
            Limits {
                top: 3,
                names: vec!["a".into()],
                ..Limits::default()
            }
        );
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_known_ones() {
        assert_eq!(
            refused::<Limits>(r#"{"topp": 3}"#),
            "unknown option `topp` (known options: `top`, `min_share`, `names`)"
        );
        assert_eq!(
            refused::<()>(r#"{"top": 3}"#),
            "unknown option `top`: this plugin takes none"
        );
    }

    #[test]
    fn a_wrong_value_names_its_key() {
        assert_eq!(
            refused::<Limits>(r#"{"top": "many"}"#),
            "option `top`: invalid type: string \"many\", expected u64 (known options: `top`, `min_share`, `names`)"
        );
    }

    #[test]
    fn options_are_one_json_object() {
        assert!(refused::<Limits>("[1]").contains("not a JSON object: [1]"));
        assert!(refused::<Limits>("{top").contains("not JSON"));
    }

    #[test]
    fn a_free_map_takes_any_key() {
        let map =
            parse::<std::collections::BTreeMap<String, f64>>(r#"{"QkvProjection": 0.5}"#).unwrap();
        assert_eq!(map["QkvProjection"], 0.5);
    }
}
