//! Inputs of an analysis by their names: those of a plugin's run, or tables that a program has itself.

use trueno_plugin::{Batches, Result, Run, Table};

/// Tables by name, each read once.
pub trait Source {
    /// All rows of an input; one that is optional and not there [is missing](Table::is_missing).
    ///
    /// # Errors
    /// There is no such input, or it cannot be read.
    fn table(&mut self, input: &str) -> Result<Table>;

    /// The rows of an input, batch by batch.
    ///
    /// # Errors
    /// As for [`table`](Self::table).
    fn batches(&mut self, input: &str) -> Result<Batches>;

    /// Returns an error if the user has cancelled the analysis.
    ///
    /// # Errors
    /// [`Cancelled`](trueno_plugin::Error::Cancelled).
    fn check_cancelled(&self) -> Result<()> {
        Ok(())
    }
}

impl Source for Run {
    fn table(&mut self, input: &str) -> Result<Table> {
        Run::table(self, input)
    }

    fn batches(&mut self, input: &str) -> Result<Batches> {
        Run::batches(self, input)
    }

    fn check_cancelled(&self) -> Result<()> {
        Run::check_cancelled(self)
    }
}
