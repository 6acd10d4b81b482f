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
use super::{categories, functions, jobs, path, signatures, vendors};
use trueno_statistics::{Name, Options, Sampled};

#[derive(Clone, Debug)]
pub struct Member {
    pub shown: String,
    pub facts: RunFacts,
    /// The vendor of its devices. `None` if unknown, mixed or irrelevant.
    pub vendor: Option<&'static str>,
    pub doubts: Vec<String>,
    /// What it lacks, in words; `None` if nothing is known to be missing.
    pub missing: Option<String>,
    pub spans: u64,
    pub backends: BTreeSet<String>,
    pub names: BTreeMap<Name, Sampled>,
    pub totals: BTreeMap<Total, f64>,
    /// Its critical path in nanoseconds, by kind and name; `None` if not found.
    pub path: Option<BTreeMap<(String, String), i64>>,
    /// Its operators by name and shapes; empty if no shapes were recorded.
    pub signatures: BTreeMap<signatures::Key, signatures::Sums>,
    /// Its samples by event; empty if it was not sampled.
    pub profiles: Vec<functions::Profile>,
    /// Its ranks and their collectives; `None` if no collective has several ranks.
    pub job: Option<jobs::Job>,
    /// `None` if operators are not compared.
    pub operators: Option<OperatorTree>,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{run}: {error}")]
    Query {
        run: String,
        /// Error of the query engine.
        error: QueryError,
    },
}

/// The vendor of a run's devices; `None` if unknown or mixed.
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

/// Reads a run with rows named by `naming`. With a registry, its critical path too. `warn` receives what could not
/// be read.
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
    let profiles = registry.map_or(Ok(Vec::new()), |registry| {
        functions::profiles(run, registry)
    });
    let profiles = profiles.unwrap_or_else(|why| {
        warn(&format!(
            "{shown}: functions are not compared by samples: {why}"
        ));
        Vec::new()
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
        profiles,
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
