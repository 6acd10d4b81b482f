//! Cells of parts, none of which may be missing.

use trueno_analysis::part_cells::{self, required};
use trueno_plugin::{Result, Table};

use crate::function::Function;
use crate::sums::Tally;

/// Readers of columns that several tables have.
pub struct Cells<'a>(pub &'a Table);

impl Cells<'_> {
    pub fn function(&self, row: usize) -> Result<Function> {
        let text = |column: &str| -> Result<Option<String>> {
            Ok(self.0.text(column)?.get(row).map(str::to_owned))
        };
        Ok(Function {
            name: text("function_name")?,
            module: text("module")?,
        })
    }

    pub fn thread(&self, row: usize) -> Result<i64> {
        required(self.0.i64("thread")?.get(row), "thread")
    }

    pub fn text(&self, column: &str, row: usize) -> Result<String> {
        part_cells::text(self.0, column, row)
    }

    pub fn count(&self, column: &str, row: usize) -> Result<u64> {
        part_cells::count(self.0, column, row)
    }

    pub fn tally(&self, row: usize) -> Result<Tally> {
        Ok(Tally {
            samples: self.count("samples", row)?,
            period: self.count("period", row)?,
            without_period: self.count("without_period", row)?,
        })
    }
}
