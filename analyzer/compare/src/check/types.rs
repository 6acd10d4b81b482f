//! Interfaces of a type of assertion: its keys in a file, and the condition made of them.

use serde::de::DeserializeOwned;
use toml::{Table, Value};
use trueno_engine::query::nearest;
use trueno_host::plugin::Registry;

use super::loss::Tables;
use super::outcome::Found;
use super::subject::Subject;

/// A condition on a run, read from a file.
pub(super) trait Condition: std::fmt::Debug {
    /// Tables that it rests on.
    fn tables(&self, registry: &Registry) -> Tables;

    /// Checks it.
    ///
    /// # Errors
    /// It cannot mean anything for this run.
    fn check(&self, subject: &Subject<'_>) -> Result<Found, String>;
}

/// A type of assertion: a struct of the keys that its table may have.
pub(super) trait Declared: Condition + DeserializeOwned + 'static {
    /// Words for it in a file; the first is shown.
    const WORDS: &[&str];
    /// Key that no other type has: a table with it needs no `type`.
    const SHORT_FORM: Option<&str> = None;

    /// Refuses keys whose values mean nothing together.
    ///
    /// # Errors
    /// The mistake, in words.
    fn checked(self) -> Result<Self, String> {
        Ok(self)
    }
}

/// A line of the list of types.
pub(super) struct AssertionType {
    pub words: &'static [&'static str],
    pub short_form: Option<&'static str>,
    /// Makes a condition of the table of an assertion.
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

/// `, did you mean X?`, for a name or pattern that is nowhere; empty where nothing known is like it.
pub(super) fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = nearest(word, known);
    near.first()
        .map_or_else(String::new, |near| format!(", did you mean {near}?"))
}

/// Refuses a share that does not lie between 0 and 1.
pub(super) fn share(key: &str, value: Option<f64>) -> Result<(), String> {
    match value {
        Some(value) if !(0.0..=1.0).contains(&value) => {
            Err(format!("{key} must lie between 0 and 1, not {value}"))
        }
        _ => Ok(()),
    }
}
