//! Tables about the names of a run that plugins and queries read: the category that a rule gives a name, and the group
//! of a name that holds ids.

use std::collections::{BTreeMap, BTreeSet};

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
    let mut groups = learn(run).map_err(|error| error.to_string())?;
    if let Some(baseline) = baseline.as_deref() {
        groups.merge(&learn(baseline).map_err(|error| error.to_string())?);
    }
    let names = |database: &Database| names(database).map_err(|error| error.to_string());
    let of_run = names(run)?;
    let of_baseline = baseline.as_deref().map(names).transpose()?;
    // The analysis of a run also reads names of the baseline.
    let both = of_run.iter().chain(of_baseline.iter().flatten());
    publish_groups(&groups, both, run)?;
    publish_categories(rules, &groups, of_run, run)?;
    if let (Some(names), Some(baseline)) = (of_baseline, baseline) {
        publish_groups(&groups, names.iter(), baseline)?;
        publish_categories(rules, &groups, names, baseline)?;
    }
    Ok(())
}

/// Learns the groups of a run's names. Rows are counted only where names look as if some held ids.
///
/// # Errors
/// The engine could not run a query.
pub fn learn(database: &Database) -> Result<NameGroups, QueryError> {
    let mut counts = NameCounts::default();
    for table in NAMED {
        for name in distinct(database, table, "name")? {
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
        let frame = collect(database, &sql)?;
        let rows = Rows::new(&frame);
        let (names, n) = (rows.text("name")?, rows.u64("n")?);
        for (name, n) in names.iter().zip(n.iter()) {
            if let (Some(name), Some(n)) = (name, n) {
                counts.add(name, n);
            }
        }
    }
    Ok(counts.groups())
}

/// Distinct names of intervals.
fn names(database: &Database) -> Result<BTreeSet<String>, QueryError> {
    let mut names = BTreeSet::new();
    for table in interval_tables().filter(|table| !UNNAMED.contains(&table.name)) {
        // A transfer has no name and goes by its direction.
        names.extend(distinct(
            database,
            table.name,
            table.label().unwrap_or("name"),
        )?);
    }
    Ok(names)
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

fn publish_categories(
    rules: &CategoryRules,
    groups: &NameGroups,
    mut names: BTreeSet<String>,
    database: &mut Database,
) -> Result<(), String> {
    let of_groups: Vec<String> = names.iter().filter_map(|name| groups.group(name)).collect();
    names.extend(of_groups);
    let fits = names.iter();
    let fits = fits.filter_map(|name| Some((name.as_str(), rules.category(name)?)));
    let fits: Vec<(&str, &str)> = fits.collect();
    register(database, CATEGORIES, ["name", "category"], &fits)
}

fn publish_groups<'a>(
    groups: &NameGroups,
    names: impl Iterator<Item = &'a String>,
    database: &mut Database,
) -> Result<(), String> {
    let grouped = names.filter_map(|name| Some((name.as_str(), groups.group(name)?)));
    let grouped: BTreeMap<&str, String> = grouped.collect();
    let grouped = grouped.iter().map(|(name, group)| (*name, group.as_str()));
    let grouped: Vec<(&str, &str)> = grouped.collect();
    register(database, GROUPS, ["name", "name_group"], &grouped)
}

/// Publishes a table of two columns of text.
fn register(
    database: &mut Database,
    table: &str,
    columns: [&str; 2],
    rows: &[(&str, &str)],
) -> Result<(), String> {
    let made = Table::build(table)
        .text(columns[0], rows.iter().map(|row| Some(row.0)))
        .text(columns[1], rows.iter().map(|row| Some(row.1)))
        .finish()
        .map_err(|error| error.to_string())?;
    database.register(table, closed_types::to_frame(&made)?);
    Ok(())
}
