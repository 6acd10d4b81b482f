//! `expression`: SQL that must return true.

use polars::prelude::AnyValue;
use serde::Deserialize;
use trueno_engine::closed_types;
use trueno_engine::query::{QueryError, collect};
use trueno_host::plugin::Registry;

use super::loss::Tables;
use super::outcome::Found;
use super::subject::Subject;
use super::types::{Condition, Declared};

/// A query that returns one boolean. It may read tables of the run, and of plugins as `plugin.table`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expression {
    #[serde(alias = "sql")]
    expression: String,
}

impl Declared for Expression {
    const WORDS: &[&str] = &["expression", "custom"];
}

impl Condition for Expression {
    fn tables(&self, registry: &Registry) -> Tables {
        Tables::from_sql(&self.expression, registry)
    }

    fn check(&self, subject: &Subject<'_>) -> Result<Found, String> {
        let expected = "true".to_owned();
        let place = self.expression.clone();
        let mut database = subject.database.clone();
        for plugin in &subject.registry.plugins {
            let id = &plugin.descriptor.id;
            if !self.expression.contains(&format!("{id}.")) {
                continue;
            }
            match subject.tables(id, None) {
                Ok(tables) => {
                    for table in &tables {
                        let name = format!("{id}.{}", table.name());
                        database.register(&name, closed_types::to_frame(table)?);
                    }
                }
                Err(why) => return Ok(Found::not_measurable(expected, why, place)),
            }
        }
        let frame = match collect(&database, &self.expression) {
            Ok(frame) => frame,
            // The plugin may come another day; a wrong query does not.
            Err(QueryError::UnknownTable { name, .. }) if name.contains('.') => {
                let why = format!("there is no table {name}: its plugin is not available");
                return Ok(Found::not_measurable(expected, why, place));
            }
            Err(error) => return Err(error.to_string()),
        };
        if frame.width() != 1 || frame.height() > 1 {
            return Err(format!(
                "it returns {} rows of {} columns (hint: one row with one value, true or false)",
                frame.height(),
                frame.width()
            ));
        }
        let value = frame
            .columns()
            .first()
            .and_then(|column| column.get(0).ok());
        Ok(match value {
            Some(AnyValue::Boolean(value)) => Found::new(value, expected, value.to_string(), place),
            None => Found::not_measurable(expected, "it returns no row", place),
            Some(AnyValue::Null) => Found::not_measurable(
                expected,
                "it returns null: something in it was not recorded",
                place,
            ),
            Some(other) => {
                return Err(format!(
                    "it returns {other} (hint: one value, true or false)"
                ));
            }
        })
    }
}
