//! Interfaces of a type of assertion: its keys in a file, and the condition made of them.

use serde::de::DeserializeOwned;
use toml::{Table, Value};
use trueno_engine::query::nearest;
use trueno_host::plugin::Registry;

use super::loss::Tables;
use super::outcome::Found;
use super::subject::Subject;

pub(super) trait Condition: std::fmt::Debug {
    /// Tables that it depends on. Missing rows in them make it not measurable.
    fn tables(&self, registry: &Registry) -> Tables;

    fn check(&self, subject: &Subject<'_>) -> Result<Found, String>;
}

/// A type of assertion. Its fields are the keys of its table.
pub(super) trait Declared: Condition + DeserializeOwned + 'static {
    /// Names of the type in a file. Messages show the first.
    const WORDS: &[&str];
    /// A key that no other type has. A table with it needs no `type`.
    const SHORT_FORM: Option<&str> = None;

    /// Rejects combinations of keys that make no sense.
    ///
    /// # Errors
    /// The mistake, in words.
    fn checked(self) -> Result<Self, String> {
        Ok(self)
    }
}

pub(super) struct AssertionType {
    pub words: &'static [&'static str],
    pub short_form: Option<&'static str>,
    pub read: fn(Table) -> Result<Box<dyn Condition>, String>,
}

impl AssertionType {
    pub const fn declare<T: Declared>() -> Self {
        Self {
            words: T::WORDS,
            short_form: T::SHORT_FORM,
            read: read::<T>,
        }
    }
}

fn read<T: Declared>(table: Table) -> Result<Box<dyn Condition>, String> {
    let keys: T = Value::Table(table)
        .try_into()
        .map_err(|error: toml::de::Error| error.to_string().trim().to_owned())?;
    Ok(Box::new(keys.checked()?))
}

/// `, did you mean X?` for an unknown name or pattern; empty if no known name is similar.
pub(super) fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = nearest(word, known);
    near.first()
        .map_or_else(String::new, |near| format!(", did you mean {near}?"))
}

pub(super) fn share(key: &str, value: Option<f64>) -> Result<(), String> {
    match value {
        Some(value) if !(0.0..=1.0).contains(&value) => {
            Err(format!("{key} must lie between 0 and 1, not {value}"))
        }
        _ => Ok(()),
    }
}
