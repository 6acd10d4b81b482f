//! Tables of a run as inputs of an analysis in this process.

use trueno_analysis::lanes::INPUTS;
use trueno_analysis::name_groups::NameGroups;
use trueno_analysis::source::Source;
use trueno_plugin::arrow::read_stream;
use trueno_plugin::{Batches, Error, Result, Table};

use crate::closed_types::ClosedRows;

/// The rows of a query; `None` if one of its tables does not exist.
pub(crate) type Ask<'a> = &'a dyn Fn(&str) -> std::result::Result<Option<ClosedRows>, String>;

pub(super) struct Inputs<'a> {
    pub(super) ask: Ask<'a>,
}

impl Inputs<'_> {
    pub(super) fn rows(&self, name: &str, sql: &str) -> Result<Option<ClosedRows>> {
        let rows = (self.ask)(sql);
        rows.map_err(|why| Error::bad_input(format!("input {name}: {why}")))
    }

    fn input(&self, name: &str) -> Result<Option<ClosedRows>> {
        // A row of the table keeps its own name.
        if name == NameGroups::INPUT.name() {
            return Ok(None);
        }
        let input = INPUTS.iter().find(|input| input.name() == name);
        let input = input.ok_or_else(|| Error::failed(format!("there is no input {name}")))?;
        match self.rows(name, input.query())? {
            None if !input.is_optional() => Err(missing(name)),
            rows => Ok(rows),
        }
    }
}

fn missing(name: &str) -> Error {
    Error::bad_input(format!("input {name}: a table of it is not there"))
}

impl Source for Inputs<'_> {
    fn table(&mut self, input: &str) -> Result<Table> {
        match self.input(input)? {
            Some(rows) => {
                let mut stream = rows.into_stream();
                // SAFETY: the stream is the engine's own, which obeys the interface; it is moved out.
                unsafe { read_stream(&mut stream) }
            }
            None => Ok(Table::missing(input)),
        }
    }

    fn batches(&mut self, input: &str) -> Result<Batches> {
        let rows = self.input(input)?;
        rows.ok_or_else(|| missing(input))?.into_reader()
    }
}
