//! Types of assertions: what a type says of itself, and the list of all types.
//!
//! A type is a file with a struct of its keys that implements [`Declared`] and [`Condition`], and a line in [`TYPES`].

use serde::de::DeserializeOwned;
use toml::{Table, Value};
use trueno_host::plugin::Registry;

use super::anti_pattern::AntiPattern;
use super::category::CategoryShare;
use super::counts::SpanCount;
use super::coverage::Coverage;
use super::critical_path::CriticalPath;
use super::expression::Expression;
use super::loss::Tables;
use super::memory::MemoryUsage;
use super::outcome::Found;
use super::plugins::{Divergence, RooflineEfficiency};
use super::regression::Regression;
use super::subject::Subject;

/// All types, in the order in which messages list them.
pub(super) const TYPES: [AssertionType; 10] = [
    AssertionType::declare::<CriticalPath>(),
    AssertionType::declare::<SpanCount>(),
    AssertionType::declare::<MemoryUsage>(),
    AssertionType::declare::<CategoryShare>(),
    AssertionType::declare::<Coverage>(),
    AssertionType::declare::<AntiPattern>(),
    AssertionType::declare::<Regression>(),
    AssertionType::declare::<Expression>(),
    AssertionType::declare::<RooflineEfficiency>(),
    AssertionType::declare::<Divergence>(),
];

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

/// A line of [`TYPES`].
pub(super) struct AssertionType {
    pub words: &'static [&'static str],
    pub short_form: Option<&'static str>,
    /// Makes a condition of the table of an assertion.
    pub read: fn(Table) -> Result<Box<dyn Condition>, String>,
}

impl AssertionType {
    const fn declare<T: Declared>() -> Self {
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

/// Refuses a share that does not lie between 0 and 1.
pub(super) fn share(key: &str, value: Option<f64>) -> Result<(), String> {
    match value {
        Some(value) if !(0.0..=1.0).contains(&value) => {
            Err(format!("{key} must lie between 0 and 1, not {value}"))
        }
        _ => Ok(()),
    }
}
