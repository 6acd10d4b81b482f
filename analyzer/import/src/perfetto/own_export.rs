//! Rows of our own export, back as they were: tables are categories, and columns stand in annotations.
//!
//! Rows without a time are not in such a trace. Of edges their ends come back, and kinds follow from what they join.

use std::collections::BTreeMap;

use serde_json::Value;
use trueno_format::run_writer::{Cell, RunWriter, TableId};
use trueno_format::schema::{ColumnType, LaneRule, ThreadRow};

use crate::{Error, Import};

/// A row with all columns except times and name.
#[derive(Clone, Debug)]
pub struct OwnRow {
    pub table: TableId,
    members: Vec<(String, Value)>,
}

#[derive(Debug, Default)]
pub struct OwnThreads(BTreeMap<u32, OwnThread>);

#[derive(Debug, Default)]
struct OwnThread {
    name: Option<String>,
    os_id: Option<u64>,
    process: Option<u64>,
    start_ns: i64,
}

pub struct OfTrack {
    pub name: String,
    pub os_id: Option<u64>,
    pub process: Option<u64>,
}

impl OwnRow {
    pub fn new(table: TableId, members: Vec<(String, Value)>) -> Self {
        Self { table, members }
    }

    fn member(&self, name: &str) -> Option<&Value> {
        let found = self.members.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value)
    }

    /// Its time in the exported run; the export may have shifted all times.
    pub fn stated_ns(&self) -> Option<i64> {
        self.member("start_ns").or(self.member("time_ns"))?.as_i64()
    }

    /// Its real times differ from those at which it is drawn.
    pub fn is_untimed(&self) -> bool {
        self.member("untimed").is_some()
    }

    pub fn id(&self) -> Option<u64> {
        self.member("id")?.as_u64()
    }

    /// Its thread, and whether the row is drawn on that thread's lane.
    fn thread(&self) -> Option<(u32, bool)> {
        let thread = u32::try_from(self.member("thread")?.as_u64()?).ok()?;
        let is_on_stream = self.member("device").is_some();
        let is_lane = match self.table.schema().lane {
            Some(LaneRule::Thread | LaneRule::ThreadElseStream) => true,
            Some(LaneRule::StreamElseThread) => !is_on_stream,
            None => false,
        };
        Some((thread, is_lane))
    }

    pub fn attributes(&self) -> impl Iterator<Item = (&str, &Value)> {
        let members = self.members.iter();
        members.filter_map(|(name, value)| Some((name.strip_prefix("attributes.")?, value)))
    }

    /// Writes the row; times are those of the run.
    pub fn write(
        &self,
        name: &str,
        (start_ns, dur_ns): (i64, Option<i64>),
        import: &mut Import<'_>,
    ) -> Result<bool, Error> {
        let schema = self.table.schema();
        let mut cells = Vec::with_capacity(schema.columns.len());
        for column in schema.columns {
            let value = self.member(column.name);
            let mut found = match value {
                Some(value) => cell(value, column.ty, import.into),
                None => Cell::Null,
            };
            if found == Cell::Null {
                found = match column.name {
                    "start_ns" | "time_ns" => Cell::I64(start_ns),
                    "dur_ns" => dur_ns.map_or(Cell::Null, Cell::I64),
                    "name" => Cell::Text(import.text(name)),
                    _ => Cell::Null,
                };
            }
            if found == Cell::Null && !column.nullable {
                let (table, column) = (schema.name, column.name);
                import
                    .notes
                    .leave_out(&format!("row of {table} without {column}"));
                return Ok(false);
            }
            cells.push(found);
        }
        import.into.row(self.table, &cells)?;
        import.notes.keep(schema.name);
        Ok(true)
    }
}

fn cell(value: &Value, ty: ColumnType, into: &mut RunWriter) -> Cell {
    let found = match ty {
        ColumnType::Bool => value.as_bool().map(Cell::Bool),
        ColumnType::Text => value.as_str().map(|text| Cell::Text(into.text(text))),
        ColumnType::U32 => value
            .as_u64()
            .filter(|value| u32::try_from(*value).is_ok())
            .map(Cell::U64),
        ColumnType::U64 => value.as_u64().map(Cell::U64),
        ColumnType::I64 => value.as_i64().map(Cell::I64),
        // Numbers that JSON has not are texts.
        ColumnType::F64 => value
            .as_f64()
            .or_else(|| value.as_str()?.parse().ok())
            .map(Cell::F64),
    };
    found.unwrap_or(Cell::Null)
}

impl OwnThreads {
    /// Registers the thread of a row. `of_track` returns what its track states.
    pub fn see(&mut self, row: &OwnRow, start_ns: i64, of_track: impl FnOnce() -> OfTrack) {
        let Some((thread, is_lane)) = row.thread() else {
            return;
        };
        let is_new = !self.0.contains_key(&thread);
        let known = self.0.entry(thread).or_default();
        if is_new || start_ns < known.start_ns {
            known.start_ns = start_ns;
        }
        if is_lane && known.name.is_none() {
            let OfTrack {
                name,
                os_id,
                process,
            } = of_track();
            (known.name, known.os_id, known.process) = (Some(name), os_id, process);
        }
    }

    pub fn write(self, import: &mut Import<'_>) -> Result<(), Error> {
        for (thread, of) in self.0 {
            let row = ThreadRow {
                thread,
                name: of.name.map(|name| import.text(&name)),
                os_id: of.os_id,
                start_ns: Some(of.start_ns),
                process: of.process,
                ..ThreadRow::default()
            };
            import.add(&row)?;
        }
        Ok(())
    }
}
