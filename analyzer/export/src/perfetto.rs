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

use flows::{Touch, flows};
use packets::{Interned, Kind, Packets};
use polars::prelude::{AnyValue, DataFrame};
use tracks::Track;
use trueno_engine::Lane;
use trueno_engine::attributes::{AttributeValue, Attributes};
use trueno_engine::frame::{i64_at, text_at, u64_at};
use trueno_engine::run::Run;
use trueno_format::schema::{TABLES, Table};
use wire::Message;

use super::error::ExportError;
use super::exporter::{Exporter, Written};
use super::rows::{self, Source, Stored, bytes_in_use};

/// Track of the process; others follow.
const HOST: u64 = 1;
/// `UNIT_SIZE_BYTES` of `CounterDescriptor`.
const BYTES: u64 = 3;

/// Track events in protocol buffers.
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
    /// Attributes that the program gave rows.
    attributes: Attributes,
    packets: Packets<'w>,
    shift_ns: i64,
    pid: u64,
    threads: BTreeMap<u64, String>,
    /// Tracks by lane, apart for those that are not timed.
    tracks: BTreeMap<(Lane, bool), Vec<Track>>,
    devices: BTreeMap<u64, u64>,
    counters: HashMap<String, u64>,
    flows: HashMap<u64, Vec<(u64, Touch)>>,
    last_uuid: u64,
}

/// Writes the whole file.
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
        tracks: BTreeMap::new(),
        devices: BTreeMap::new(),
        counters: HashMap::new(),
        flows: flows(source)?,
        last_uuid: HOST,
    };
    let mut process = Message::default();
    process.number(1, events.pid).text(6, facts.title());
    let mut track = Message::default();
    track.number(1, HOST).message(3, &process);
    events.packets.put_track(&track)?;
    source.each_span(|table, frame, row| events.span(&table.name, frame, row))?;
    events.end()?;
    events.points()
}

/// The tables of points: counters first, instants last.
fn point_tables(source: &Source<'_>) -> impl Iterator<Item = Stored> {
    let is_point = |table: &&Table| table.time_column() == Some("time_ns") && !table.is_own;
    let tables = TABLES.iter().rev().filter(is_point);
    tables.filter_map(|table| source.table(table.name))
}

/// Offset that makes all times positive.
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

impl Events<'_, '_, '_> {
    fn time(&self, ns: i64) -> u64 {
        u64::try_from(ns.saturating_add(self.shift_ns)).unwrap_or(0)
    }

    fn span(&mut self, table: &str, frame: &DataFrame, row: usize) -> Result<(), ExportError> {
        let lane = Lane::from_row(table, frame, row);
        let start_ns = i64_at(frame, "start_ns", row).unwrap_or(0);
        let dur_ns = i64_at(frame, "dur_ns", row).unwrap_or(0).max(0);
        let untimed = rows::untimed(frame, row);
        let end_ns = start_ns.saturating_add(dur_ns);
        let id = u64_at(frame, "id", row).unwrap_or(0);
        let track = self.place(lane, untimed.is_some(), (start_ns, end_ns), id)?;
        let mut event = self.packets.track_event(Kind::Begin, track);
        let name = rows::span_name(table, frame, row);
        self.packets.title(&mut event, table, &name);
        if let Some(why) = untimed {
            self.annotate(&mut event, "untimed", |of| of.text(6, why));
        }
        // Times that are not shown are annotations as well.
        let told: &[&str] = match untimed {
            Some(_) => &["name"],
            // Times that were moved are read back from here.
            None if self.shift_ns > 0 => &["name", "dur_ns"],
            None => &["name", "start_ns", "dur_ns"],
        };
        self.columns(&mut event, frame, row, told);
        self.declared(&mut event, id);
        self.touch(&mut event, id, &[Touch::From, Touch::To]);
        let time = self.time(start_ns);
        Ok(self.packets.put_event(time, &event)?)
    }

    fn annotate(
        &mut self,
        event: &mut Message,
        name: &str,
        value: impl FnOnce(&mut Message) -> &mut Message,
    ) {
        let mut annotation = Message::default();
        annotation.number(1, self.packets.intern(Interned::Annotation, name));
        value(&mut annotation);
        event.message(4, &annotation);
    }

    /// Attributes that the program gave a row, below `attributes`.
    fn declared(&mut self, event: &mut Message, id: u64) {
        let attributes = std::mem::take(&mut self.attributes);
        for (key, value) in attributes.of(id) {
            let name = format!("attributes.{key}");
            self.annotate(event, &name, |of| match value {
                AttributeValue::Integer(value) => of.signed(4, value),
                AttributeValue::Unsigned(value) => of.number(3, value),
                AttributeValue::Number(value) => of.double(5, value),
                AttributeValue::Truth(value) => of.number(2, value.into()),
                AttributeValue::Text(value) => of.text(6, value),
            });
        }
        self.attributes = attributes;
    }

    /// All columns that have a value, without `told`.
    fn columns(&mut self, event: &mut Message, frame: &DataFrame, row: usize, told: &[&str]) {
        for column in frame.columns() {
            let name = column.name().as_str();
            if told.contains(&name) {
                continue;
            }
            match column.get(row) {
                Err(_) | Ok(AnyValue::Null) => {}
                Ok(AnyValue::Boolean(value)) => {
                    self.annotate(event, name, |of| of.number(2, value.into()));
                }
                Ok(AnyValue::Float64(value)) => {
                    self.annotate(event, name, |of| of.double(5, value));
                }
                Ok(found) if found.is_integer() => {
                    let value: i128 = found.extract().unwrap_or_default();
                    match u64::try_from(value) {
                        Ok(value) => self.annotate(event, name, |of| of.number(3, value)),
                        Err(_) => self.annotate(event, name, |of| of.signed(4, value as i64)),
                    }
                }
                Ok(found) => {
                    let text = found
                        .get_str()
                        .map_or_else(|| found.to_string(), str::to_owned);
                    self.annotate(event, name, |of| of.text(6, &text));
                }
            }
        }
    }

    /// Columns of points that an event states itself: name and time, unless that was moved.
    fn told_of_points(&self) -> &'static [&'static str] {
        match self.shift_ns > 0 {
            true => &["name"],
            false => &["name", "time_ns"],
        }
    }

    /// The row that a value stands for, which the value alone does not tell.
    fn row_of_point(&mut self, event: &mut Message, table: &str, frame: &DataFrame, row: usize) {
        event.number(3, self.packets.intern(Interned::Category, table));
        let told = self.told_of_points();
        self.columns(event, frame, row, &told[1..]);
    }

    /// Rows that are points: counters, allocations, instants.
    fn points(&mut self) -> Result<(), ExportError> {
        let source = self.source;
        for table in point_tables(source) {
            if table.rows == 0 {
                continue;
            }
            let mut in_use: BTreeMap<String, i64> = BTreeMap::new();
            source.each(&table, |frame| {
                for row in 0..frame.height() {
                    if let Some(time_ns) = i64_at(frame, "time_ns", row) {
                        self.point(&table.name, frame, row, time_ns, &mut in_use)?;
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn point(
        &mut self,
        table: &str,
        frame: &DataFrame,
        row: usize,
        time_ns: i64,
        in_use: &mut BTreeMap<String, i64>,
    ) -> Result<(), ExportError> {
        let time = self.time(time_ns);
        let event = match table {
            "counters" => {
                let name = text_at(frame, "name", row).unwrap_or("?");
                let unit = text_at(frame, "unit", row);
                let track = self.counter(name, |of| match unit {
                    Some(unit) => of.text(6, unit),
                    None => of,
                })?;
                let value = frame.column("value").ok().and_then(|c| c.get(row).ok());
                let value = value.and_then(|value| value.extract()).unwrap_or(f64::NAN);
                let mut event = self.packets.track_event(Kind::Counter, track);
                event.double(44, value);
                self.row_of_point(&mut event, table, frame, row);
                event
            }
            "allocations" => {
                let device = u64_at(frame, "device", row);
                let (name, change) = bytes_in_use(frame, row, device);
                let bytes = in_use.entry(name.clone()).or_default();
                *bytes = bytes.saturating_add(change);
                let bytes = *bytes;
                let track = self.counter(&name, |of| of.number(3, BYTES))?;
                let mut event = self.packets.track_event(Kind::Counter, track);
                event.signed(30, bytes);
                self.row_of_point(&mut event, table, frame, row);
                event
            }
            _ => {
                let lane = Lane::from_row(table, frame, row);
                let track = self.first_track(lane)?;
                let mut event = self.packets.track_event(Kind::Instant, track);
                let name = text_at(frame, "name", row).unwrap_or("event");
                self.packets.title(&mut event, table, name);
                let told = self.told_of_points();
                self.columns(&mut event, frame, row, told);
                event
            }
        };
        Ok(self.packets.put_event(time, &event)?)
    }
}
