//! Tables about the names of a run that plugins and queries read: the category that a rule gives a name, and the group
//! of a name that holds ids.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::DataFrame;
use trueno_engine::closed_types;
use trueno_engine::frame::Rows;
use trueno_engine::query::{Database, QueryError, collect};
use trueno_format::schema::interval_tables;
use trueno_model::categories::CategoryRules;
use trueno_model::name_groups::{NameCounts, NameGroups};
use trueno_plugin::Table;

/// The table `(name, category)` of names, and groups of names, that a rule fits.
pub const CATEGORIES: &str = "category_rules";
/// The table `(name, name_group)` of names that are in a group.
pub const GROUPS: &str = "name_groups";

/// Intervals that are named by their level or kind, which no rule is about.
const UNNAMED: [&str; 2] = ["tiles", "syncs"];

/// Tables whose names may hold ids.
const NAMED: [&str; 3] = ["bricks", "kernels", "calls"];

/// Publishes [`CATEGORIES`] and [`GROUPS`] for a run, and for its baseline. What holds ids in one of the two does
/// so in the other.
///
/// # Errors
/// The names cannot be read; the message says why.
pub fn publish(
    rules: &CategoryRules,
    run: &mut Database,
    baseline: Option<&mut Database>,
) -> Result<(), String> {
    let tables = NameTables::make(rules, std::slice::from_ref(run), baseline.as_deref())?;
    tables.publish(run);
    if let Some(baseline) = baseline {
        tables.publish_of_baseline(baseline);
    }
    Ok(())
}

/// The tables, made.
pub(crate) struct NameTables {
    of_run: OfNames,
    of_baseline: Option<OfNames>,
}

struct OfNames {
    groups: DataFrame,
    categories: DataFrame,
}

impl NameTables {
    /// As [`publish`], of a run whose rows are in several databases, those of each rank in one.
    pub(crate) fn make(
        rules: &CategoryRules,
        run: &[Database],
        baseline: Option<&Database>,
    ) -> Result<Self, String> {
        let text = |error: QueryError| error.to_string();
        let mut groups = learn_all(run).map_err(text)?;
        if let Some(baseline) = baseline {
            groups.merge(&learn(baseline).map_err(text)?);
        }
        let of_run = names(run).map_err(text)?;
        let of_baseline = baseline.map(|of| names(std::slice::from_ref(of)));
        let of_baseline = of_baseline.transpose().map_err(text)?;
        // The analysis of a run also reads names of the baseline.
        let both = of_run.iter().chain(of_baseline.iter().flatten());
        Ok(Self {
            of_run: OfNames {
                groups: groups_table(&groups, both)?,
                categories: categories_table(rules, &groups, &of_run)?,
            },
            of_baseline: match &of_baseline {
                Some(names) => Some(OfNames {
                    groups: groups_table(&groups, names.iter())?,
                    categories: categories_table(rules, &groups, names)?,
                }),
                None => None,
            },
        })
    }

    /// Publishes those of the run.
    pub(crate) fn publish(&self, database: &mut Database) {
        self.of_run.publish(database);
    }

    /// Publishes those of the baseline.
    pub(crate) fn publish_of_baseline(&self, database: &mut Database) {
        if let Some(tables) = &self.of_baseline {
            tables.publish(database);
        }
    }
}

impl OfNames {
    fn publish(&self, database: &mut Database) {
        database.register(GROUPS, self.groups.clone());
        database.register(CATEGORIES, self.categories.clone());
    }
}

/// Learns the groups of a run's names. Rows are counted only where names look as if some held ids.
///
/// # Errors
/// The engine could not run a query.
pub fn learn(database: &Database) -> Result<NameGroups, QueryError> {
    learn_all(std::slice::from_ref(database))
}

fn learn_all(databases: &[Database]) -> Result<NameGroups, QueryError> {
    let mut counts = NameCounts::default();
    for table in NAMED {
        for name in distinct_of(databases, table, "name")? {
            // With one row each, more are ids than with as many as there are.
            counts.add(&name, 1);
        }
    }
    if counts.groups().is_empty() {
        return Ok(NameGroups::default());
    }
    let mut counts = NameCounts::default();
    for table in NAMED {
        let sql = format!(
            "SELECT CAST(name AS VARCHAR) AS name, COUNT(*) AS n FROM {table} GROUP BY name"
        );
        let mut rows_of: BTreeMap<String, u64> = BTreeMap::new();
        for database in databases {
            let frame = collect(database, &sql)?;
            let rows = Rows::new(&frame);
            let (names, n) = (rows.text("name")?, rows.u64("n")?);
            for (name, n) in names.iter().zip(n.iter()) {
                if let (Some(name), Some(n)) = (name, n) {
                    let rows = rows_of.entry(name.to_owned()).or_default();
                    *rows = rows.saturating_add(n);
                }
            }
        }
        for (name, rows) in rows_of {
            counts.add(&name, rows);
        }
    }
    Ok(counts.groups())
}

/// Distinct names of intervals.
fn names(databases: &[Database]) -> Result<BTreeSet<String>, QueryError> {
    let mut names = BTreeSet::new();
    for table in interval_tables().filter(|table| !UNNAMED.contains(&table.name)) {
        // A transfer has no name and goes by its direction.
        let column = table.label().unwrap_or("name");
        names.extend(distinct_of(databases, table.name, column)?);
    }
    Ok(names)
}

/// As [`distinct`], of all of these together.
fn distinct_of(
    databases: &[Database],
    table: &str,
    column: &str,
) -> Result<BTreeSet<String>, QueryError> {
    let mut all = BTreeSet::new();
    for database in databases {
        all.extend(distinct(database, table, column)?);
    }
    Ok(all)
}

/// Distinct texts of a column.
fn distinct(database: &Database, table: &str, column: &str) -> Result<Vec<String>, QueryError> {
    let list = format!("SELECT DISTINCT {column}_id AS id, {column} AS name FROM {table}");
    // Without numbers of its texts it is a column of another type.
    let names = collect(database, &list).or_else(|_| {
        let sql = format!("SELECT DISTINCT CAST({column} AS VARCHAR) AS name FROM {table}");
        collect(database, &sql)
    })?;
    let names = Rows::new(&names);
    let names = names.text("name")?;
    Ok(names.iter().flatten().map(str::to_owned).collect())
}

fn categories_table(
    rules: &CategoryRules,
    groups: &NameGroups,
    names: &BTreeSet<String>,
) -> Result<DataFrame, String> {
    let of_groups: BTreeSet<String> = names.iter().filter_map(|name| groups.group(name)).collect();
    let all: BTreeSet<&String> = names.iter().chain(&of_groups).collect();
    let fits = all.into_iter();
    let fits = fits.filter_map(|name| Some((name.as_str(), rules.category(name)?)));
    let fits: Vec<(&str, &str)> = fits.collect();
    texts_table(CATEGORIES, ["name", "category"], &fits)
}

fn groups_table<'a>(
    groups: &NameGroups,
    names: impl Iterator<Item = &'a String>,
) -> Result<DataFrame, String> {
    let grouped = names.filter_map(|name| Some((name.as_str(), groups.group(name)?)));
    let grouped: BTreeMap<&str, String> = grouped.collect();
    let grouped = grouped.iter().map(|(name, group)| (*name, group.as_str()));
    let grouped: Vec<(&str, &str)> = grouped.collect();
    texts_table(GROUPS, ["name", "name_group"], &grouped)
}

/// A table of two columns of text.
fn texts_table(
    table: &str,
    columns: [&str; 2],
    rows: &[(&str, &str)],
) -> Result<DataFrame, String> {
    let made = Table::build(table)
        .text(columns[0], rows.iter().map(|row| Some(row.0)))
        .text(columns[1], rows.iter().map(|row| Some(row.1)))
        .finish()
        .map_err(|error| error.to_string())?;
    closed_types::to_frame(&made)
}
