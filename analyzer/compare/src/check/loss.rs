//! Rows that are missing of the tables that an assertion rests on.

use std::collections::BTreeSet;

use trueno_engine::query::tables_of;
use trueno_engine::run::Run;
use trueno_engine::spans::is_computed;
use trueno_format::schema;
use trueno_host::REFERENCE;
use trueno_host::plugin::Registry;
use trueno_model::Losses;

use crate::golden::Opened;

const BASELINE: &str = "baseline.";

/// Table names. Those of a golden run begin with [`BASELINE`], those of a third run with [`REFERENCE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tables {
    /// Possibly any table, because they could not be determined.
    All,
    Named(BTreeSet<String>),
}

impl Tables {
    pub(super) fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Tables::Named(names.into_iter().map(str::to_owned).collect())
    }

    /// Tables that a query reads. Tables of plugins are replaced by what their inputs read.
    pub(super) fn from_sql(sql: &str, registry: &Registry) -> Self {
        let mut all = Reached::default();
        match all.sql(sql, registry) {
            Some(()) => Tables::Named(all.tables),
            None => Tables::All,
        }
    }

    pub(super) fn from_plugin(id: &str, registry: &Registry) -> Self {
        let mut all = Reached::default();
        match all.plugin(id, registry) {
            Some(()) => Tables::Named(all.tables),
            None => Tables::All,
        }
    }

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

    /// Only tables of the run: what a plugin says about the run does not depend on the other runs.
    pub(super) fn without_others(self) -> Self {
        match self {
            Tables::All => Tables::All,
            Tables::Named(mut tables) => {
                tables.retain(|name| !name.starts_with(BASELINE) && !name.starts_with(REFERENCE));
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

/// Tables found so far, and plugins already followed.
#[derive(Default)]
struct Reached {
    tables: BTreeSet<String>,
    plugins: BTreeSet<String>,
}

impl Reached {
    /// `None` if the tables of the query cannot be determined.
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

pub(super) struct Missing {
    pub words: String,
    /// Only rows after the end of the recordings are missing.
    pub is_end_only: bool,
}

/// `None` if nothing is known to be missing.
pub(super) fn missing(
    tables: &Tables,
    run: &Run,
    golden: Option<&Opened>,
    reference: Option<&Run>,
) -> Option<Missing> {
    let of = |run: &Run, prefix: &str| {
        let concerns = |name: &str| tables.has(prefix, name);
        let is_concerned = tables.has_any(prefix);
        is_concerned
            .then(|| Losses::find(run.facts(), run.problems(), &concerns))
            .flatten()
    };
    let golden_file = golden.filter(|golden| golden.is_of_incomplete() && tables.has_any(BASELINE));
    let golden_run = golden.filter(|golden| !golden.is_golden());
    let all = [
        (of(run, ""), "the run"),
        (
            golden_run.and_then(|golden| of(golden.run(), BASELINE)),
            "the golden run",
        ),
        (
            reference.and_then(|run| of(run, REFERENCE)),
            "the reference run",
        ),
    ];
    let found = || {
        all.iter()
            .filter_map(|(losses, called)| Some((losses.as_ref()?, *called)))
    };
    let words = found().map(|(losses, called)| losses.words(called));
    let of_file = golden_file.map(|_| {
        "the golden file is of a run that was not complete (hint: record it again and save it)"
            .to_owned()
    });
    let parts: Vec<String> = words.chain(of_file).collect();
    (!parts.is_empty()).then(|| Missing {
        words: parts.join("; "),
        is_end_only: golden_file.is_none() && found().all(|(losses, _)| losses.is_end_only()),
    })
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
}
