//! Aggregates of files that have no events: counters at the end of the run.

use trueno_format::run_writer::RunWriter;
use trueno_format::schema::CounterRow;

use crate::{Error, Notes};

/// Writes aggregates, all stamped with one time.
pub(crate) struct Aggregates<'i> {
    pub into: &'i mut RunWriter,
    pub notes: &'i mut Notes,
    /// Length of the run; 0 if the file states none.
    pub time_ns: i64,
}

impl Aggregates<'_> {
    /// Writes one aggregate. `source` is a value of the column `source`.
    pub fn add(&mut self, name: &str, value: f64, unit: &str, source: &str) -> Result<(), Error> {
        let row = CounterRow {
            time_ns: self.time_ns,
            name: self.into.text(name),
            value,
            unit: Some(self.into.text(unit)),
            source: self.into.text(source),
            ..CounterRow::default()
        };
        self.notes.add(self.into, &row)
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.notes.warn(text.clone());
        self.into.run().problems.push(text);
    }
}
