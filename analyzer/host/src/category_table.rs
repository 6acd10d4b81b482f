//! The table that plugins read: the names of a run that a rule fits.

use std::collections::BTreeMap;

use trueno_engine::closed_types;
use trueno_engine::query::{Database, collect};
use trueno_format::schema::interval_tables;
use trueno_model::categories::CategoryRules;
use trueno_plugin::Table;

/// The table `(name, category)` of a run's names.
pub const TABLE: &str = "category_rules";

/// Intervals that are named by their level or kind, which no rule is about.
const UNNAMED: [&str; 2] = ["tiles", "syncs"];

/// Publishes [`TABLE`]: every distinct name of the run that a rule fits, in order.
///
/// # Errors
/// The names cannot be read; the message says why.
pub fn publish(rules: &CategoryRules, database: &mut Database) -> Result<(), String> {
    let mut fits: BTreeMap<String, &str> = BTreeMap::new();
    for table in interval_tables().filter(|table| !UNNAMED.contains(&table.name)) {
        // A transfer has no name and goes by its direction.
        let (table, column) = (table.name, table.label().unwrap_or("name"));
        let list = format!("SELECT DISTINCT {column}_id AS id, {column} AS name FROM {table}");
        // Without numbers of its texts it is a column of another type.
        let names = collect(database, &list).or_else(|_| {
            let sql = format!("SELECT DISTINCT CAST({column} AS VARCHAR) AS name FROM {table}");
            collect(database, &sql)
        });
        let names = names.map_err(|error| error.to_string())?;
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
