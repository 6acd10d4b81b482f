//! Rows from events, one by one.

use std::collections::BTreeSet;
use std::io::Read;

use trueno_format::PtxHash;
use trueno_format::run_writer::{Cell, RunWriter, TableId};

use super::cell::cell;
use super::event::{Event, Field, Row};
use crate::chrome::category::Categories;
use crate::chrome::decimal::nanoseconds;
use crate::chrome::document::{Failure, Sink};
use crate::chrome::scanner::{Scanned, Scanner};
use crate::{Error, Notes};

/// Limit for reasons that name a table or a column; the others are counted together.
const MAX_REASONS: usize = 256;

pub(super) struct Rows<'a> {
    into: &'a mut RunWriter,
    notes: &'a mut Notes,
    categories: Categories,
    cells: Vec<Cell>,
    /// Hashes of the kernel sources that rows refer to, and of those in the file.
    named: BTreeSet<String>,
    held: BTreeSet<String>,
}

impl<'a> Rows<'a> {
    pub fn new(into: &'a mut RunWriter, notes: &'a mut Notes) -> Self {
        Self {
            into,
            notes,
            categories: Categories::default(),
            cells: Vec::new(),
            named: BTreeSet::new(),
            held: BTreeSet::new(),
        }
    }

    /// Counts what was read and warns of missing kernel sources.
    pub fn end(self) {
        for (kind, count) in self.categories.counts() {
            *self.notes.read.entry(kind).or_default() += count;
        }
        let missing = self.named.difference(&self.held).count();
        if missing > 0 {
            self.notes.warn(format!(
                "the file names {missing} kernel sources but does not contain them; they may be in ptx/ of the exported run"
            ));
        }
    }

    fn leave_out(&mut self, reason: &str) {
        let is_room = self.notes.left_out.len() < MAX_REASONS;
        if is_room || self.notes.left_out.contains_key(reason) {
            self.notes.leave_out(reason);
        } else {
            self.notes.leave_out("other reasons");
        }
    }

    fn row(&mut self, table: TableId, event: &Event, fields: &[Field]) -> Result<(), Error> {
        let schema = table.schema();
        self.cells.clear();
        self.cells.resize(schema.columns.len(), Cell::Null);
        // Columns come in the order of the schema: the next one is nearly always the right one.
        let mut next = 0;
        for field in fields {
            let is_it = |at: &usize| schema.columns[*at].name.as_bytes() == field.name;
            let Some(at) = (next..schema.columns.len()).chain(0..next).find(is_it) else {
                let column = String::from_utf8_lossy(&field.name);
                let table = schema.name;
                self.leave_out(&format!("column {table}.{column}: not in this version"));
                continue;
            };
            next = at + 1;
            let column = &schema.columns[at];
            let Some(cell) = cell(field, column.ty, self.into) else {
                let (table, name, ty) = (schema.name, column.name, column.ty);
                self.leave_out(&format!(
                    "row of {table} whose {name} is not of type {ty:?}"
                ));
                return Ok(());
            };
            self.cells[at] = cell;
        }
        for (at, column) in schema.columns.iter().enumerate() {
            if self.cells[at] == Cell::Null {
                self.cells[at] = match column.name {
                    "start_ns" | "time_ns" => nanoseconds(&event.time).into(),
                    "dur_ns" => nanoseconds(&event.duration).into(),
                    // A name that may be null stands among the columns: viewers are shown
                    // something in its place.
                    "name" if !column.nullable => {
                        let name = String::from_utf8_lossy(&event.name);
                        Cell::Text(self.into.text(&name))
                    }
                    _ => Cell::Null,
                };
            }
            if self.cells[at] == Cell::Null && !column.nullable {
                let (table, name) = (schema.name, column.name);
                self.leave_out(&format!("row of {table} without {name}"));
                return Ok(());
            }
        }
        self.into.row(table, &self.cells)?;
        self.notes.keep(schema.name);
        if schema.name == "ptx" {
            self.source(event)?;
        }
        Ok(())
    }

    fn source(&mut self, event: &Event) -> Result<(), Error> {
        let Some(Cell::Text(hash)) = self.cells.first().copied() else {
            return Ok(());
        };
        let hash = self.into.str(hash).to_owned();
        if let Some(source) = event.kernel_source() {
            if PtxHash::from_source(source).to_string() == hash {
                self.into.source(source)?;
                self.held.insert(hash.clone());
            } else {
                self.leave_out("kernel source whose hash differs from that of its row");
            }
        }
        self.named.insert(hash);
        Ok(())
    }
}

impl Sink for Rows<'_> {
    type Event = Event;

    fn read<R: Read>(event: &mut Event, from: &mut Scanner<R>) -> Scanned<()> {
        event.read(from)
    }

    fn event(&mut self, event: &Event) -> Result<(), Error> {
        self.categories.met(event.phase, &event.category);
        let fields = match event.row() {
            Row::Fields(fields) => fields,
            Row::Drawn => return Ok(()),
            Row::Foreign => {
                self.leave_out("event of a phase that exports do not use");
                return Ok(());
            }
        };
        let name = String::from_utf8_lossy(&event.category);
        match self.into.table(&name) {
            Some(table) => self.row(table, event, fields),
            None => {
                self.leave_out(&format!("table {name}: not in this version"));
                Ok(())
            }
        }
    }

    fn no_event(&mut self) {
        self.notes.leave_out("element that is not an object");
    }

    fn fact(&mut self, key: &str, _: Option<&[u8]>) -> Result<(), Failure> {
        if !matches!(key, "otherData" | "displayTimeUnit") {
            self.leave_out(&format!("field {key} beside the events"));
        }
        Ok(())
    }

    fn unclosed_array(&mut self) {}
}
