//! Tables of parts: what is read from rows of events, of one rank or of several.

use std::collections::BTreeSet;

use trueno_plugin::{Input, Result, Run, Table, table_row};

use crate::facts::texts;
use crate::kernels::{self, Owners};

/// Names of iterations, from each part. A merge removes duplicates.
pub const ITERATION_NAMES: Input = Input::sql(
    "iteration_names",
    "SELECT name FROM summary.iteration_names",
);
pub const OWNERS: Input = Input::sql(
    "owners",
    "SELECT kernel, operator, dur_ns FROM summary.owners",
);

table_row! {
    struct OwnerRow<'a> {
        kernel: &'a str,
        operator: &'a str,
        dur_ns: i64,
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    iteration_names: BTreeSet<String>,
    owners: Owners,
}

impl Events {
    /// Loads a rank's rows, or parts. Reads the owners of all kernels, because only the whole job knows which
    /// are shown.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run) -> Result<Self> {
        let names = texts(&run.table("iteration_names")?, "name")?;
        Ok(Self {
            iteration_names: names.into_iter().collect(),
            owners: kernels::all_owners(run, |_| true)?,
        })
    }

    /// Emits them as a part.
    ///
    /// # Errors
    /// The host refuses a table.
    pub fn emit(&self, run: &mut Run) -> Result<()> {
        run.emit(Table::build(ITERATION_NAMES.name()).text("name", &self.iteration_names))?;
        let rows = self.owners.iter().flat_map(|(kernel, bricks)| {
            bricks.iter().map(move |(operator, dur_ns)| OwnerRow {
                kernel,
                operator,
                dur_ns: *dur_ns,
            })
        });
        run.emit(Table::build(OWNERS.name()).rows(rows))
    }
}
