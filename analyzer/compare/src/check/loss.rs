//! Rows that are missing of the tables that an assertion rests on.

use std::collections::{BTreeMap, BTreeSet};

use trueno_engine::query::tables_of;
use trueno_engine::run::Run;
use trueno_engine::spans::is_computed;
use trueno_format::schema;
use trueno_host::REFERENCE;
use trueno_host::plugin::Registry;
use trueno_model::{Level, TableFacts};

/// Problems that the counts of a table tell as well.
const COUNTED: [&str; 3] = ["segment_damaged", "rows_lost", "keys_beyond"];

/// Begins the names of tables of the golden run.
const BASELINE: &str = "baseline.";

/// Tables by name; those of a golden run with [`BASELINE`], those of a third run with [`REFERENCE`] before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tables {
    /// Any table: which ones is not known.
    All,
    /// These.
    Named(BTreeSet<String>),
}

impl Tables {
    /// Some of the run.
    pub(super) fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Tables::Named(names.into_iter().map(str::to_owned).collect())
    }

    /// Those that a query reads; of tables of plugins, those that their inputs read.
    pub(super) fn from_sql(sql: &str, registry: &Registry) -> Self {
        let mut all = Reached::default();
        match all.sql(sql, registry) {
            Some(()) => Tables::Named(all.tables),
            None => Tables::All,
        }
    }

    /// The tables that the inputs of a plugin read.
    pub(super) fn from_plugin(id: &str, registry: &Registry) -> Self {
        let mut all = Reached::default();
        match all.plugin(id, registry) {
            Some(()) => Tables::Named(all.tables),
            None => Tables::All,
        }
    }

    /// The same tables, and those of a golden run.
    pub(super) fn and_golden(self) -> Self {
        match self {
            Tables::All => Tables::All,
            Tables::Named(mut tables) => {
                let golden = tables.iter().map(|name| format!("{BASELINE}{name}"));
                let golden: Vec<String> = golden.collect();
                tables.extend(golden);
                Tables::Named(tables)
            }
        }
    }

    fn has(&self, prefix: &str, name: &str) -> bool {
        match self {
            Tables::All => true,
            Tables::Named(tables) => tables.contains(&format!("{prefix}{name}")),
        }
    }

    fn has_any(&self, prefix: &str) -> bool {
        match self {
            Tables::All => true,
            Tables::Named(tables) => tables.iter().any(|name| name.starts_with(prefix)),
        }
    }
}

/// Tables found so far, and plugins whose inputs were followed.
#[derive(Default)]
struct Reached {
    tables: BTreeSet<String>,
    plugins: BTreeSet<String>,
}

impl Reached {
    /// `None`: they cannot be told.
    fn sql(&mut self, sql: &str, registry: &Registry) -> Option<()> {
        for name in tables_of(sql)? {
            match name.split_once('.') {
                Some((plugin, _)) if registry.get(plugin).is_some() => {
                    self.plugin(plugin, registry)?
                }
                _ if is_computed(&name) => {
                    let tables = schema::interval_tables();
                    self.tables
                        .extend(tables.map(|table| table.name.to_owned()));
                }
                _ => {
                    self.tables.insert(name);
                }
            }
        }
        Some(())
    }

    fn plugin(&mut self, id: &str, registry: &Registry) -> Option<()> {
        if self.plugins.insert(id.to_owned())
            && let Some(plugin) = registry.get(id)
        {
            for input in &plugin.descriptor.inputs {
                if input.baseline {
                    let tables = tables_of(&input.sql)?.into_iter();
                    self.tables
                        .extend(tables.map(|name| format!("{BASELINE}{name}")));
                } else {
                    self.sql(&input.sql, registry)?;
                }
            }
        }
        Some(())
    }
}

/// Losses of some tables of a run, and of the runs it is compared with; `None`: nothing that is known.
pub(super) fn missing(
    tables: &Tables,
    run: &Run,
    golden: Option<&Run>,
    reference: Option<&Run>,
) -> Option<String> {
    let runs = [
        (Some(run), "", "the run"),
        (golden, BASELINE, "the golden run"),
        (reference, REFERENCE, "the reference run"),
    ];
    let mut all = Vec::new();
    for (run, prefix, called) in runs {
        let Some(run) = run.filter(|_| tables.has_any(prefix)) else {
            continue;
        };
        let mut found = Vec::new();
        for table in &run.facts().tables {
            if tables.has(prefix, &table.name) {
                found.extend(missing_rows(table));
            }
        }
        // Of which tables they would have been is not recorded.
        if run.facts().open > 0 {
            found.push(format!("{} still open at the end", run.facts().open));
        }
        let mut texts: BTreeMap<&str, &str> = BTreeMap::new();
        for problem in run.problems() {
            if problem.severity == Level::Error && !COUNTED.contains(&problem.code.as_ref()) {
                texts.entry(&problem.code).or_insert(&problem.text);
            }
        }
        found.extend(texts.into_values().map(str::to_owned));
        if !found.is_empty() {
            all.push(format!(
                "rows are missing from {called}: {}",
                found.join(", ")
            ));
        }
    }
    (!all.is_empty()).then(|| all.join("; "))
}

fn missing_rows(table: &TableFacts) -> Vec<String> {
    let mut found = Vec::new();
    match (table.rows_lost, table.rows_expected) {
        (Some(0), _) => {}
        (Some(lost), Some(all)) => found.push(format!("{} {lost} of {all} lost", table.name)),
        (Some(lost), None) => found.push(format!("{} {lost} lost", table.name)),
        (None, _) => found.push(format!(
            "{} damaged, how many rows it lost is not known",
            table.name
        )),
    }
    if let Some(dropped) = table.dropped.filter(|rows| *rows > 0) {
        found.push(format!("{} {dropped} dropped at recording", table.name));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_rests_on_all_its_tables_and_on_none_that_it_names_in_a_text() {
        let none = Registry::default();
        let tables = |sql| Tables::from_sql(sql, &none);
        let sql = "WITH a AS (SELECT id FROM bricks) SELECT COUNT(*) > 'edges' FROM a JOIN kernels k ON k.brick = a.id \
                   WHERE a.id IN (SELECT span FROM checksums)";
        for (name, expected) in [
            ("bricks", true),
            ("kernels", true),
            ("checksums", true),
            ("edges", false),
        ] {
            assert_eq!(tables(sql).has("", name), expected, "{name}");
        }
        assert_eq!(tables("SELECT id FROM bricks WHERE ("), Tables::All);
    }

    #[test]
    fn losses_are_named_and_counted() {
        let table = |lost, dropped| TableFacts {
            name: "bricks".into(),
            rows_expected: Some(9),
            rows_lost: lost,
            dropped,
            ..TableFacts::default()
        };
        assert!(missing_rows(&table(Some(0), Some(0))).is_empty());
        assert!(missing_rows(&table(Some(0), None)).is_empty());
        assert_eq!(
            missing_rows(&table(Some(4), Some(2))),
            ["bricks 4 of 9 lost", "bricks 2 dropped at recording"]
        );
        assert_eq!(
            missing_rows(&table(None, None)),
            ["bricks damaged, how many rows it lost is not known"]
        );
    }
}
