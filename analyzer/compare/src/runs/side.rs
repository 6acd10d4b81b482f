//! Readings of a run to compare it by.

use std::collections::{BTreeMap, BTreeSet};

use trueno_engine::query::{Database, QueryError};
use trueno_engine::run::{Run, RunError};
use trueno_host::plugin::Registry;
use trueno_model::categories::CategoryRules;
use trueno_model::{Losses, RunFacts};

use super::operators::OperatorTree;
use super::samples::{Naming, names, sampled};
use super::totals::{self, Total};
use super::{categories, jobs, path, signatures, vendors};
use trueno_statistics::{Name, Options, Sampled};

/// One run of a side.
#[derive(Clone, Debug)]
pub struct Member {
    /// The path as typed.
    pub shown: String,
    pub facts: RunFacts,
    /// The vendor of its devices; `None`: not known, several, or of no concern.
    pub vendor: Option<&'static str>,
    /// Reasons why its rows or facts may be others than those that were recorded.
    pub doubts: Vec<String>,
    /// Rows that it lacks, or its end, in words; `None`: nothing is known to be missing.
    pub missing: Option<String>,
    pub spans: u64,
    /// Backends that computed its bricks and kernels.
    pub backends: BTreeSet<String>,
    pub names: BTreeMap<Name, Sampled>,
    /// Totals, one number a run.
    pub totals: BTreeMap<Total, f64>,
    /// Its critical path by kind and name, nanoseconds; `None`: not found.
    pub path: Option<BTreeMap<(String, String), i64>>,
    /// Its operators by name and shapes; empty where no shapes are recorded.
    pub signatures: BTreeMap<signatures::Key, signatures::Sums>,
    /// Its ranks and their collectives; `None`: it has no collective of several ranks.
    pub job: Option<jobs::Job>,
    /// Its operators; `None`: they are not compared.
    pub operators: Option<OperatorTree>,
}

/// Reason why a run cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Its tables cannot be published.
    #[error(transparent)]
    Run(#[from] RunError),
    /// They cannot be asked.
    #[error("{run}: {error}")]
    Query {
        /// The run as typed.
        run: String,
        /// The engine's own words.
        error: QueryError,
    },
}

/// The vendor of a run's devices; `None`: not known, or several.
///
/// # Errors
/// See [`ReadError`].
pub fn vendor(shown: &str, run: &Run) -> Result<Option<&'static str>, ReadError> {
    let database = run.sql_context()?;
    vendors::vendor(run, &database).map_err(|error| ReadError::Query {
        run: shown.to_owned(),
        error,
    })
}

/// Reads a run, with its rows named as `naming` says; with a registry, its critical path too. `warn` gets what is missing
/// of it.
///
/// # Errors
/// See [`ReadError`].
pub fn read(
    shown: &str,
    run: &Run,
    rules: &CategoryRules,
    naming: &Naming<'_>,
    registry: Option<&Registry>,
    options: &Options,
    warn: &dyn Fn(&str),
) -> Result<Member, ReadError> {
    let database = run.sql_context()?;
    let wrong = |error| ReadError::Query {
        run: shown.to_owned(),
        error,
    };
    let mut names = sampled(&database, naming, options.cap, options.seed).map_err(wrong)?;
    names.extend(categories::categories(&database, rules).map_err(wrong)?);
    let facts = run.facts().clone();
    let mut totals = totals::totals(&database, &facts).map_err(wrong)?;
    let found = registry.map(|registry| path::path(run, naming.groups, registry));
    let path = match found {
        Some(Ok(path)) => {
            for ((kind, _), ns) in &path {
                *totals.entry(Total::Path(kind.clone())).or_default() += *ns as f64;
            }
            Some(path)
        }
        Some(Err(why)) => {
            warn(&format!(
                "{shown}: the critical path is not compared: {why}"
            ));
            None
        }
        None => None,
    };
    let by_shape = registry.map(|registry| signatures::signatures(run, registry));
    let signatures = by_shape.unwrap_or_else(|| Ok(BTreeMap::new()));
    let signatures = signatures.unwrap_or_else(|why| {
        let words = format!("{shown}: operators are not compared by shape: {why}");
        warn(&words);
        BTreeMap::new()
    });
    let job = registry.map_or(Ok(None), |registry| jobs::job(run, registry));
    let job = job.unwrap_or_else(|why| {
        warn(&format!("{shown}: collectives are not compared: {why}"));
        None
    });
    Ok(Member {
        shown: shown.to_owned(),
        vendor: None,
        spans: facts.intervals(),
        backends: backends(&database).map_err(wrong)?,
        doubts: run
            .problems()
            .iter()
            .filter(|problem| problem.is_doubt())
            .map(|problem| problem.text.clone())
            .collect(),
        missing: Losses::find(&facts, run.problems(), &|_| true)
            .map(|losses| losses.words("the run")),
        facts,
        names,
        totals,
        path,
        signatures,
        job,
        operators: None,
    })
}

fn backends(database: &Database) -> Result<BTreeSet<String>, QueryError> {
    let mut all = BTreeSet::new();
    for table in ["bricks", "kernels"] {
        all.extend(names(database, table, "backend")?.into_values());
    }
    Ok(all)
}
