//! Tables about the names of a run that plugins and queries read: the category that a rule gives a name, and the group
//! of a name that holds ids.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};
use trueno_engine::closed_types;
use trueno_engine::frame::Rows as FrameRows;
use trueno_engine::query::{Database, QueryError, collect};
use trueno_format::schema::interval_tables;
use trueno_model::categories::CategoryRules;
use trueno_model::name_groups::{NameCounts, NameGroups};
use trueno_plugin::Table;

use crate::rows::Rows;

/// The table `(name, category)` of names, and of groups of names, that a rule matches.
pub const CATEGORIES: &str = "category_rules";
/// The table `(name, name_group)` of names that belong to a group.
pub const GROUPS: &str = "name_groups";

/// Interval tables whose names are only levels or kinds, which no rule matches.
const UNNAMED: [&str; 2] = ["tiles", "syncs"];

const NAMED: [&str; 3] = ["bricks", "kernels", "calls"];

/// Publishes [`CATEGORIES`] and [`GROUPS`] for a run and its baseline. A name that contains ids in one of the two
/// is grouped in both.
///
/// # Errors
/// The names cannot be read; the message says why.
pub fn publish(
    rules: &CategoryRules,
    run: &mut Database,
    baseline: Option<&mut Database>,
) -> Result<(), String> {
    let rows = Rows::One(Box::new(run.clone()));
    let tables = NameTables::make(rules, &rows, None, baseline.as_deref())?;
    tables.publish(run);
    if let Some(baseline) = baseline {
        tables.publish_of_baseline(baseline);
    }
    Ok(())
}

pub(crate) struct NameTables {
    of_run: OfNames,
    of_baseline: Option<OfNames>,
}

/// The distinct names of a run, and the groups of those that hold ids.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct RunNames {
    names: BTreeSet<String>,
    groups: NameGroups,
}

impl RunNames {
    pub(crate) fn read(rows: &Rows<'_>) -> Result<Self, String> {
        let read = || {
            let names = Names::read(rows)?;
            let groups = names.groups(rows)?;
            let names = names.all();
            Ok(Self { names, groups })
        };
        read().map_err(|error: QueryError| error.to_string())
    }
}

struct OfNames {
    groups: DataFrame,
    categories: DataFrame,
}

impl NameTables {
    pub(crate) fn make(
        rules: &CategoryRules,
        run: &Rows<'_>,
        known: Option<&RunNames>,
        baseline: Option<&Database>,
    ) -> Result<Self, String> {
        let RunNames {
            names: of_run,
            mut groups,
        } = match known {
            Some(known) => known.clone(),
            None => RunNames::read(run)?,
        };
        let of_baseline = match baseline {
            Some(baseline) => {
                let of_baseline = RunNames::read(&Rows::One(Box::new(baseline.clone())))?;
                groups.merge(&of_baseline.groups);
                Some(of_baseline.names)
            }
            None => None,
        };
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

    pub(crate) fn publish(&self, database: &mut Database) {
        self.of_run.publish(database);
    }

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

/// Finds groups in a run's names. Counts rows only if some names look as if they contain ids.
///
/// # Errors
/// The engine could not run a query.
pub fn learn(database: &Database) -> Result<NameGroups, QueryError> {
    let rows = Rows::One(Box::new(database.clone()));
    Names::read(&rows)?.groups(&rows)
}

struct Names(BTreeMap<&'static str, BTreeSet<String>>);

impl Names {
    fn read(rows: &Rows<'_>) -> Result<Self, QueryError> {
        let mut names: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        let named = || interval_tables().filter(|table| !UNNAMED.contains(&table.name));
        let tables: Vec<&str> = named().map(|table| table.name).collect();
        rows.each(&tables, |database| {
            for table in named() {
                // A transfer has no name and goes by its direction.
                let column = table.label().unwrap_or("name");
                let of = names.entry(table.name).or_default();
                of.extend(distinct(database, table.name, column)?);
            }
            Ok(())
        })?;
        Ok(Self(names))
    }

    fn all(self) -> BTreeSet<String> {
        self.0.into_values().flatten().collect()
    }

    fn groups(&self, rows: &Rows<'_>) -> Result<NameGroups, QueryError> {
        let mut counts = NameCounts::default();
        for name in NAMED.iter().filter_map(|table| self.0.get(table)).flatten() {
            // With one row each, more are ids than with as many as there are.
            counts.add(name, 1);
        }
        if counts.groups().is_empty() {
            return Ok(NameGroups::default());
        }
        let mut rows_of: BTreeMap<(usize, String), u64> = BTreeMap::new();
        rows.each(&NAMED, |database| {
            for (place, table) in NAMED.iter().enumerate() {
                let sql = format!(
                    "SELECT CAST(name AS VARCHAR) AS name, COUNT(*) AS n FROM {table} GROUP BY name"
                );
                let frame = collect(database, &sql)?;
                let rows = FrameRows::new(&frame);
                let (names, n) = (rows.text("name")?, rows.u64("n")?);
                for (name, n) in names.iter().zip(n.iter()) {
                    if let (Some(name), Some(n)) = (name, n) {
                        let rows = rows_of.entry((place, name.to_owned())).or_default();
                        *rows = rows.saturating_add(n);
                    }
                }
            }
            Ok(())
        })?;
        let mut counts = NameCounts::default();
        for ((_, name), rows) in rows_of {
            counts.add(&name, rows);
        }
        Ok(counts.groups())
    }
}

fn distinct(database: &Database, table: &str, column: &str) -> Result<Vec<String>, QueryError> {
    let list = format!("SELECT DISTINCT {column}_id AS id, {column} AS name FROM {table}");
    // Without numbers of its texts it is a column of another type.
    let names = collect(database, &list).or_else(|_| {
        let sql = format!("SELECT DISTINCT CAST({column} AS VARCHAR) AS name FROM {table}");
        collect(database, &sql)
    })?;
    let names = FrameRows::new(&names);
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
    // Words of the field mean other things in a program of another one: `sort` is no lookup of embeddings there.
    let is_of_field = !rules.are_default() || !are_of_plain_python(names);
    let fits = all.into_iter().filter(|_| is_of_field);
    let fits = fits.filter_map(|name| Some((name.as_str(), rules.category(name)?)));
    let fits: Vec<(&str, &str)> = fits.collect();
    texts_table(CATEGORIES, ["name", "category"], &fits)
}

/// Whether these are names of a Python program without any sign of machine learning or a device.
fn are_of_plain_python(names: &BTreeSet<String>) -> bool {
    const OF_FIELD: [&str; 11] = [
        "aten::",
        "c10",
        "torch",
        "nccl",
        "tensorflow",
        "jax",
        "xla",
        "cuda",
        "hip",
        "triton",
        "numpy.core",
    ];
    const DIRECTIONS: [&str; 6] = ["h2d", "d2h", "d2d", "p2p", "h2h", "memset"];
    let is_of_field = |name: &String| {
        let name = name.to_ascii_lowercase();
        OF_FIELD.iter().any(|part| name.contains(part)) || DIRECTIONS.contains(&name.as_str())
    };
    names.iter().any(|name| name.contains(".py")) && !names.iter().any(is_of_field)
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
