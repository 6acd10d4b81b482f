//! Tables of parts: what is read from rows of events, of one rank or of several.

use std::collections::BTreeSet;

use trueno_plugin::{Input, Result, Run, Table};

use crate::facts::texts;
use crate::kernels::{self, Owners};

/// Names of iterations, by part; once merged each once.
pub const ITERATION_NAMES: Input = Input::sql(
    "iteration_names",
    "SELECT name FROM summary.iteration_names",
);
/// Time by kernel and brick, by part.
pub const OWNERS: Input = Input::sql(
    "owners",
    "SELECT kernel, operator, dur_ns FROM summary.owners",
);

/// The contents of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    iteration_names: BTreeSet<String>,
    owners: Owners,
}

impl Events {
    /// Reads them, from a rank's rows or from parts: of all kernels, as which of them are shown, if any, is known of the
    /// whole job only.
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
        let kernels = self.owners.iter();
        let rows = kernels.flat_map(|(kernel, bricks)| {
            bricks.iter().map(move |(brick, ns)| (kernel, brick, *ns))
        });
        let rows: Vec<_> = rows.collect();
        run.emit(Table::build(ITERATION_NAMES.name()).text("name", &self.iteration_names))?;
        run.emit(
            Table::build(OWNERS.name())
                .text("kernel", rows.iter().map(|row| row.0))
                .text("operator", rows.iter().map(|row| row.1))
                .i64("dur_ns", rows.iter().map(|row| row.2)),
        )
    }
}
