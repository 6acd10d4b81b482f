//! Rows of a run, in one database or, of a job of ranks, in one of each rank.
//!
//! Those of a rank are made when they are asked for, and let go of: a database keeps what it has learned of its
//! tables, which of hundreds of ranks is gigabytes.

use trueno_engine::query::{Database, QueryError};
use trueno_engine::run::{Run, RunError};

pub(crate) enum Rows<'a> {
    One(Box<Database>),
    /// One database per rank.
    Ranks(&'a Run, Vec<u32>),
}

impl<'a> Rows<'a> {
    /// `database` has all tables of the run.
    pub(crate) fn new(run: &'a Run, database: &Database) -> Self {
        let ranks = run.rank_numbers();
        if ranks.is_empty() {
            Self::One(Box::new(database.clone()))
        } else {
            Self::Ranks(run, ranks)
        }
    }

    /// Empty for a plain run.
    pub(crate) fn ranks(&self) -> &[u32] {
        match self {
            Self::One(_) => &[],
            Self::Ranks(_, ranks) => ranks,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.ranks().len().max(1)
    }

    /// Calls `what` with each database, in the order of ranks. Databases of ranks have only these tables.
    ///
    /// # Errors
    /// An error of `what`, or the engine cannot publish a table.
    pub(crate) fn each(
        &self,
        tables: &[&str],
        mut what: impl FnMut(&Database) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        match self {
            Self::One(database) => what(database),
            Self::Ranks(run, ranks) => ranks.iter().try_for_each(|rank| {
                let rows = run.rank_rows(*rank, tables);
                let rows = rows.map_err(|error| QueryError::Failed(error.to_string()))?;
                what(&rows.unwrap_or_default())
            }),
        }
    }
}

pub(crate) fn of_rank(run: &Run, rank: u32) -> Result<Database, RunError> {
    Ok(run.rank_context(rank)?.unwrap_or_default())
}
