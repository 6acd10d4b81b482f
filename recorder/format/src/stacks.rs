//! Rows of `stacks`, each written once.

use std::collections::HashMap;

use crate::Error;
use crate::run_writer::{RunWriter, Text};
use crate::schema::StackRow;

/// A function that is called, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Its name.
    pub function: Option<Text>,
    /// Program or library it is in.
    pub module: Option<Text>,
    /// Place in that.
    pub address: Option<u64>,
    /// Source file.
    pub file: Option<Text>,
    /// Line in it, from 1.
    pub line: Option<u32>,
    /// True where the compiler put it into its caller.
    pub inlined: Option<bool>,
}

/// The rows that were written so far: a tree, whose roots are called by nobody that is known.
///
/// It grows with the number of different stacks, not of samples.
#[derive(Debug, Default)]
pub struct Stacks {
    ids: HashMap<(Option<u64>, Frame), u64>,
}

impl Stacks {
    /// The row of a function below its caller; written when it is met first.
    ///
    /// # Errors
    /// The run cannot be written.
    pub fn row(
        &mut self,
        run: &mut RunWriter,
        caller: Option<u64>,
        frame: Frame,
    ) -> Result<u64, Error> {
        let next = self.ids.len() as u64 + 1;
        if let Some(id) = self.ids.get(&(caller, frame)) {
            return Ok(*id);
        }
        run.add(&StackRow {
            id: next,
            caller,
            function: frame.function,
            module: frame.module,
            address: frame.address,
            file: frame.file,
            line: frame.line,
            inlined: frame.inlined,
        })?;
        self.ids.insert((caller, frame), next);
        Ok(next)
    }

    /// The row of the innermost of some functions, which are given outermost first.
    ///
    /// # Errors
    /// The run cannot be written.
    pub fn innermost(
        &mut self,
        run: &mut RunWriter,
        outermost_first: impl IntoIterator<Item = Frame>,
    ) -> Result<Option<u64>, Error> {
        let mut row = None;
        for frame in outermost_first {
            row = Some(self.row(run, row, frame)?);
        }
        Ok(row)
    }
}
