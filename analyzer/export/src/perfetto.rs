//! Perfetto's own trace format: track events in protocol buffers.
//!
//! Times are nanoseconds, exact; where rows lie before the start of the run all are moved, so that
//! the first is at 0. A name stands once in the file. All columns of a row are annotations of its
//! slice.
//!
//! | rows | in the trace |
//! |---|---|
//! | threads | tracks of a process |
//! | streams | tracks below one for their device |
//! | intervals | slices; those that overlap without nesting on tracks of their own, and so those whose times are not their work's (`bound`, not valid) |
//! | edges | flows, from the beginning of `from` to that of `to` (`joins`: to its end) |
//! | counters, allocations | counters; an allocation shows the bytes in use of its device, or of the heap |
//! | checksums, annotations, device events with a time | instants |
//!
//! Rows without a time are not there: `export chrome` keeps all rows.

mod flows;
mod packets;
mod tracks;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use flows::{Touch, flows, touch};
use packets::{Interned, Kind, Packets, begin_event};
use tracks::LaneTracks;
use trueno_engine::attributes::{AttributeValue, Attributes};
use trueno_engine::frame::i64_at;
use trueno_engine::run::Run;
use trueno_format::schema::{TABLES, Table};
use wire::Message;

use super::error::ExportError;
use super::exporter::{Exporter, Written};
use super::rows::{self, OpenTable, Piece, Row, Shape, Source, Stored, WindowShapes, bytes_in_use};

const HOST: u64 = 1;
/// `UNIT_SIZE_BYTES` of `CounterDescriptor`.
const BYTES: u64 = 3;

#[derive(Debug)]
pub(super) struct Perfetto;

impl Exporter for Perfetto {
    fn name(&self) -> &'static str {
        "perfetto"
    }

    fn about(&self) -> &'static str {
        "Perfetto's own format: smaller, exact nanoseconds, and without what has no time"
    }

    fn write(&self, run: &Run, to: &mut dyn Write) -> Result<Written, ExportError> {
        write(&Source::open(run)?, to)?;
        Ok(Written::default())
    }
}

struct Events<'s, 'a, 'w> {
    source: &'s Source<'a>,
    attributes: Attributes,
    packets: Packets<'w>,
    shift_ns: i64,
    pid: u64,
    threads: BTreeMap<u64, String>,
    tracks: LaneTracks,
    devices: BTreeMap<u64, u64>,
    counters: HashMap<String, u64>,
    flows: HashMap<u64, Vec<(u64, Touch)>>,
    last_uuid: u64,
    tables: Vec<TableNumbers>,
    event: Message,
    end_event: Message,
}

/// Interned ids of a table's name and its columns; 0 if not interned yet.
struct TableNumbers {
    table: String,
    category: u64,
    annotations: Vec<u64>,
}

/// Columns that are equal in all rows of a batch. They become annotations with the first row.
enum SameColumns {
    Columns(Vec<(usize, u64)>),
    Annotations(Message),
}

fn write(source: &Source<'_>, to: &mut dyn Write) -> Result<(), ExportError> {
    let facts = source.run.facts();
    let pid = facts.program.pid.filter(|pid| *pid <= i32::MAX as u32);
    let mut events = Events {
        source,
        attributes: source.attributes()?,
        packets: Packets::new(to),
        shift_ns: shift(source)?,
        pid: pid.map_or(1, u64::from),
        threads: rows::thread_names(source)?,
        tracks: LaneTracks::default(),
        devices: BTreeMap::new(),
        counters: HashMap::new(),
        flows: flows(source)?,
        last_uuid: HOST,
        tables: Vec::new(),
        event: Message::default(),
        end_event: Message::default(),
    };
    let mut process = Message::default();
    process.number(1, events.pid).text(6, facts.title());
    let mut track = Message::default();
    track.number(1, HOST).message(3, &process);
    events.packets.put_track(&track)?;
    events.spans()?;
    events.end()?;
    events.points()
}

/// Tables of points in time: counters first, instants last.
fn point_tables(source: &Source<'_>) -> impl Iterator<Item = Stored> {
    let is_point = |table: &&Table| table.time_column() == Some("time_ns") && !table.is_own;
    let tables = TABLES.iter().rev().filter(is_point);
    tables.filter_map(|table| source.table(table.name))
}

/// Offset that makes all times non-negative.
fn shift(source: &Source<'_>) -> Result<i64, ExportError> {
    let mut first_ns = 0;
    let tables = source.interval_tables().chain(point_tables(source));
    for table in tables.filter(|table| table.rows > 0) {
        for time in ["start_ns", "time_ns"] {
            if table.columns.iter().any(|column| column == time) {
                let sql = format!("SELECT MIN({time}) AS first FROM \"{}\"", table.name);
                let found = source.ask(&table.name, &sql)?;
                first_ns = first_ns.min(i64_at(&found, "first", 0).unwrap_or(0));
            }
        }
    }
    Ok(first_ns.saturating_neg())
}

fn shifted(ns: i64, shift_ns: i64) -> u64 {
    u64::try_from(ns.saturating_add(shift_ns)).unwrap_or(0)
}

fn unrendered(_: &OpenTable, columns: &[(usize, u64)]) -> SameColumns {
    SameColumns::Columns(columns.to_vec())
}

/// Adds an annotation. `name` is its interned id.
fn annotate(event: &mut Message, name: u64, value: AttributeValue<'_>) {
    let mut annotation = Message::default();
    annotation.number(1, name);
    match value {
        AttributeValue::Integer(value) => annotation.signed(4, value),
        AttributeValue::Unsigned(value) => annotation.number(3, value),
        AttributeValue::Number(value) => annotation.double(5, value),
        AttributeValue::Truth(value) => annotation.number(2, value.into()),
        AttributeValue::Text(value) => annotation.text(6, value),
    };
    event.message(4, &annotation);
}

/// Makes non-negative integers unsigned.
fn of_column(value: AttributeValue<'_>) -> AttributeValue<'_> {
    match value {
        AttributeValue::Integer(value) => match u64::try_from(value) {
            Ok(value) => AttributeValue::Unsigned(value),
            Err(_) => AttributeValue::Integer(value),
        },
        value => value,
    }
}

impl Events<'_, '_, '_> {
    fn time(&self, ns: i64) -> u64 {
        shifted(ns, self.shift_ns)
    }

    fn spans(&mut self) -> Result<(), ExportError> {
        let source = self.source;
        let tables = source.span_tables();
        if tables.is_empty() {
            return Ok(());
        }
        // Times that were moved are read back from here.
        let stated: &[&str] = if self.shift_ns > 0 {
            &["name", "dur_ns"]
        } else {
            &["name", "start_ns", "dur_ns"]
        };
        let stated = vec![stated; tables.len()];
        source.each_window(&tables, |tables, window| {
            let mut shapes = WindowShapes::new(tables, window, &stated, unrendered);
            for (at, row) in rows::merged(tables, window) {
                self.span(row, shapes.of(at, row.of.batch_number))?;
            }
            Ok(())
        })
    }

    fn span(&mut self, row: Row<'_>, shape: &mut Shape<SameColumns>) -> Result<(), ExportError> {
        let start_ns = row.start_ns().unwrap_or(0);
        let dur_ns = row.dur_ns().unwrap_or(0).max(0);
        let untimed = row.untimed();
        let end_ns = start_ns.saturating_add(dur_ns);
        let id = row.id();
        let track = self.place(row.lane(), untimed.is_some(), (start_ns, end_ns), id)?;
        let mut event = std::mem::take(&mut self.event);
        begin_event(&mut event, Kind::Begin, track);
        let category = self.category(row.table);
        let name = match row.span_name_number() {
            Some(number) => self.packets.intern_name(number, row.span_name()),
            None => self.packets.intern(Interned::Name, row.span_name()),
        };
        event.number(3, category).number(10, name);
        if let Some(why) = untimed {
            let name = self.packets.intern(Interned::Annotation, "untimed");
            annotate(&mut event, name, AttributeValue::Text(why));
            // Times that are not shown are annotations as well.
            self.columns(&mut event, row, &["name"]);
        } else {
            self.shaped_columns(&mut event, row, shape);
        }
        self.declared(&mut event, id);
        touch(&mut event, &self.flows, id, &[Touch::From, Touch::To]);
        let time = self.time(start_ns);
        self.packets.put_event(time, &event)?;
        self.event = event;
        Ok(())
    }

    /// Adds the program's attributes of a row, prefixed by `attributes.`.
    fn declared(&mut self, event: &mut Message, id: u64) {
        for (key, value) in self.attributes.of(id) {
            let name = format!("attributes.{key}");
            let name = self.packets.intern(Interned::Annotation, &name);
            annotate(event, name, value);
        }
    }

    fn numbers(&mut self, table: &OpenTable) -> usize {
        let known = self.tables.iter().position(|of| of.table == table.name);
        known.unwrap_or_else(|| {
            self.tables.push(TableNumbers {
                table: table.name.clone(),
                category: 0,
                annotations: vec![0; table.columns.len()],
            });
            self.tables.len() - 1
        })
    }

    fn category(&mut self, table: &OpenTable) -> u64 {
        let at = self.numbers(table);
        let category = &mut self.tables[at].category;
        if *category == 0 {
            *category = self.packets.intern(Interned::Category, &table.name);
        }
        *category
    }

    fn annotation(&mut self, table: &OpenTable, column: usize) -> u64 {
        let at = self.numbers(table);
        let number = &mut self.tables[at].annotations[column];
        if *number == 0 {
            let name = &table.columns[column];
            *number = self.packets.intern(Interned::Annotation, name);
        }
        *number
    }

    fn columns(&mut self, event: &mut Message, row: Row<'_>, except: &[&str]) {
        for (at, column) in row.table.columns.iter().enumerate() {
            if except.contains(&column.as_str()) {
                continue;
            }
            if let Some(value) = row.value(at) {
                let name = self.annotation(row.table, at);
                annotate(event, name, of_column(value));
            }
        }
    }

    /// Like [`Self::columns`], for a row whose batch has this shape. A name is interned with the first row that
    /// has it.
    fn shaped_columns(
        &mut self,
        event: &mut Message,
        row: Row<'_>,
        shape: &mut Shape<SameColumns>,
    ) {
        for piece in &mut shape.pieces {
            match piece {
                Piece::Same(SameColumns::Annotations(rendered)) => {
                    event.fields(rendered);
                }
                Piece::Same(same @ SameColumns::Columns(_)) => {
                    let SameColumns::Columns(columns) = same else {
                        continue;
                    };
                    let mut rendered = Message::default();
                    for (at, bits) in std::mem::take(columns) {
                        if let Some(value) = row.table.value(at, bits) {
                            let name = self.annotation(row.table, at);
                            annotate(&mut rendered, name, of_column(value));
                        }
                    }
                    event.fields(&rendered);
                    *same = SameColumns::Annotations(rendered);
                }
                Piece::Column(at) => {
                    if let Some(value) = row.value(*at) {
                        let name = self.annotation(row.table, *at);
                        annotate(event, name, of_column(value));
                    }
                }
            }
        }
    }

    fn points(&mut self) -> Result<(), ExportError> {
        let source = self.source;
        for table in point_tables(source) {
            if table.rows == 0 {
                continue;
            }
            // What an event states itself: the time, unless that was moved, and an instant its name.
            let mut stated = Vec::new();
            if !matches!(table.name.as_str(), "counters" | "allocations") {
                stated.push("name");
            }
            if self.shift_ns <= 0 {
                stated.push("time_ns");
            }
            let mut in_use: BTreeMap<String, i64> = BTreeMap::new();
            source.each_window(std::slice::from_ref(&table), |tables, window| {
                let mut shapes = WindowShapes::new(tables, window, &[&stated], unrendered);
                for of in window.tables[0].rows() {
                    let row = Row {
                        table: &tables[0],
                        of,
                    };
                    if let Some(time_ns) = row.time_ns() {
                        self.point(row, shapes.of(0, of.batch_number), time_ns, &mut in_use)?;
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn point(
        &mut self,
        row: Row<'_>,
        shape: &mut Shape<SameColumns>,
        time_ns: i64,
        in_use: &mut BTreeMap<String, i64>,
    ) -> Result<(), ExportError> {
        let mut event = std::mem::take(&mut self.event);
        let table = row.table.name.as_str();
        match table {
            "counters" => {
                let unit = row.text_of("unit");
                let track = self.counter(row.name().unwrap_or("?"), |of| match unit {
                    Some(unit) => of.text(6, unit),
                    None => of,
                })?;
                begin_event(&mut event, Kind::Counter, track);
                event.double(44, row.f64_of("value").unwrap_or(f64::NAN));
                event.number(3, self.category(row.table));
            }
            "allocations" => {
                let (name, change) = bytes_in_use(row, row.device());
                let bytes = in_use.entry(name.clone()).or_default();
                *bytes = bytes.saturating_add(change);
                let bytes = *bytes;
                let track = self.counter(&name, |of| of.number(3, BYTES))?;
                begin_event(&mut event, Kind::Counter, track);
                event.signed(30, bytes);
                event.number(3, self.category(row.table));
            }
            _ => {
                let track = self.first_track(row.lane())?;
                begin_event(&mut event, Kind::Instant, track);
                let category = self.category(row.table);
                let name = row.name().unwrap_or("event");
                let name = self.packets.intern(Interned::Name, name);
                event.number(3, category).number(10, name);
            }
        }
        self.shaped_columns(&mut event, row, shape);
        self.packets.put_event(self.time(time_ns), &event)?;
        self.event = event;
        Ok(())
    }
}
