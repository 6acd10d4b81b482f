//! The table that plugins read: the names of a run that a rule fits.

use std::collections::BTreeMap;

use trueno_engine::closed_types;
use trueno_engine::query::{Database, collect};
use trueno_model::categories::CategoryRules;
use trueno_plugin::Table;

/// The table `(name, category)` of a run's names.
pub const TABLE: &str = "category_rules";

/// Where names of rows stand; a transfer has none and goes by its direction.
const NAMES: [(&str, &str); 4] = [
    ("bricks", "name"),
    ("kernels", "name"),
    ("calls", "name"),
    ("transfers", "direction"),
];

/// Publishes [`TABLE`]: every distinct name of the run that a rule fits, in order.
///
/// # Errors
/// The names cannot be read; the message says why.
pub fn publish(rules: &CategoryRules, database: &mut Database) -> Result<(), String> {
    let mut fits: BTreeMap<String, &str> = BTreeMap::new();
    for (table, column) in NAMES {
        let sql = format!("SELECT DISTINCT CAST({column} AS VARCHAR) AS name FROM {table}");
        let names = collect(database, &sql).map_err(|error| error.to_string())?;
        let names = names.column("name").and_then(|names| names.str().cloned());
        for name in names.map_err(|error| error.to_string())?.iter().flatten() {
            if let Some(category) = rules.category(name) {
                fits.insert(name.to_owned(), category);
            }
        }
    }
    let table = Table::build(TABLE)
        .text("name", fits.keys().map(|name| Some(name.as_str())))
        .text("category", fits.values().map(|category| Some(*category)))
        .finish()
        .map_err(|error| error.to_string())?;
    database.register(TABLE, closed_types::to_frame(&table)?);
    Ok(())
}
