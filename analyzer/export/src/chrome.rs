//! Trace-event JSON, as Perfetto and chrome://tracing load it.
//!
//! Nothing of the run is left out: `args` hold all columns of a row that the
//! event itself does not, and its `attributes`; `cat` is the table. Where `args` mean something else to a viewer
//! (counters, names of lanes) the columns stand in a member `trueno` beside them.
//!
//! | rows | events |
//! |---|---|
//! | intervals | `X`; those whose times are not their work's: `b` and `e`, with `start_ns`, `dur_ns`, `untimed` |
//! | edges between `X` | `s` at the start of `from`, `f` at the start of `to` (`joins`: at its last ns) |
//! | counters, allocations | `C`; an allocation shows the bytes in use of its device, or of the heap |
//! | checksums, annotations, device events with a time | `i` |
//! | threads | `M thread_name` |
//! | all others | `M trueno_row`; with the first of `ptx` that names it, a kernel source |
//!
//! Each rank of a run of ranks has processes of its own.
//!
//! Flows begin at the start of their first row, not at its end: a viewer binds a flow to the innermost slice open
//! at its time, and only at its very start is that the row itself. Rows without times of their own are async
//! events, so that no viewer adds them up.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write;

use serde_json::json;
use trueno_engine::Lane;
use trueno_engine::attributes::Attributes;
use trueno_engine::run::Run;
use trueno_format::schema::TableId;
use trueno_import::chrome::{FORMAT_VERSION, MARK};
use trueno_plugin::rank::PLACE_BITS;

use super::error::ExportError;
use super::exporter::{Exporter, Written};
use super::json::{
    QuotedTexts, member, members, micros, same_members, shaped_members, text, unsigned, value,
};
use super::rows::{self, Row, Shape, Source, Stored, WindowShapes, bytes_in_use};

/// Process id of the host's threads. Device `n` is process `n + 2`. Processes of rank `r` are `r << 16` higher.
const HOST_PID: u64 = 1;

#[derive(Debug)]
pub(super) struct Chrome;

impl Exporter for Chrome {
    fn name(&self) -> &'static str {
        "chrome"
    }

    fn about(&self) -> &'static str {
        "Trace-event JSON, for Perfetto and chrome://tracing"
    }

    fn write(&self, run: &Run, to: &mut dyn Write) -> Result<Written, ExportError> {
        write(&Source::open(run)?, to)?;
        Ok(Written::default())
    }
}

/// Columns with the lane and the times of an interval.
const END_COLUMNS: [&str; 9] = [
    "id", "start_ns", "dur_ns", "timing", "valid", "thread", "device", "stream", "rank",
];

struct Events<'a> {
    to: &'a mut dyn Write,
    out: String,
    texts: QuotedTexts,
    lanes: BTreeSet<Lane>,
    last_lane: Option<Lane>,
    sources: BTreeSet<String>,
    attributes: Attributes,
    of_ranks: bool,
}

fn write(source: &Source<'_>, to: &mut dyn Write) -> Result<(), ExportError> {
    let facts = source.run.facts();
    // Before the events, so that an importer knows from the start what it reads.
    let about = json!({
        "displayTimeUnit": "ns",
        "otherData": {MARK: {"format": FORMAT_VERSION, "run": facts}},
    });
    let about = about.to_string();
    // Its brace closes behind the events.
    writeln!(to, "{},\"traceEvents\":[", &about[..about.len() - 1])?;
    let mut events = Events {
        to,
        out: String::new(),
        texts: QuotedTexts::default(),
        lanes: BTreeSet::new(),
        last_lane: None,
        sources: BTreeSet::new(),
        attributes: source.attributes()?,
        of_ranks: source.is_of_ranks(),
    };
    let host = |title: &str| format!("host: {title}");
    let ranks = facts.ranks.iter().map(|rank| {
        let program = rank.label.as_deref().or(rank.run_id.as_deref());
        let host = host(program.unwrap_or("run"));
        (u64::from(rank.rank), format!("rank {} {host}", rank.rank))
    });
    let mut hosts: Vec<(u64, String)> = ranks.collect();
    if hosts.is_empty() {
        hosts.push((0, host(facts.title())));
    }
    for (number, (rank, name)) in hosts.into_iter().enumerate() {
        let pid = host_pid(rank);
        let name = json!({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}});
        let _ = write!(events.out, "{}{name}", if number == 0 { "" } else { ",\n" });
        events.write()?;
    }
    for table in source.tables().into_iter().filter(|t| t.rows > 0) {
        events.table(source, &table)?;
    }
    events.flows(source)?;
    events.lane_names(source)?;
    events.out.push_str("\n]}\n");
    events.write()
}

/// Columns that an event itself contains, if its times are those of its work.
fn stated_columns(table: &str) -> &'static [&'static str] {
    match table {
        // A wait without a name is shown by its kind, which is not its name.
        "syncs" => &["start_ns", "dur_ns"],
        "allocations" => &["time_ns"],
        "counters" | "checksums" | "device_events" | "annotations" => &["time_ns", "name"],
        _ if is_interval(table) => &["start_ns", "dur_ns", "name"],
        _ => &[],
    }
}

fn is_interval(table: &str) -> bool {
    TableId::from_name(table).is_some_and(|id| id.schema().is_interval())
}

impl Events<'_> {
    fn begin_unnamed(&mut self, phase: &str, table: &str) {
        for part in [
            ",\n{\"ph\":\"",
            phase,
            "\",\"cat\":\"",
            table,
            "\",\"name\":",
        ] {
            self.out.push_str(part);
        }
    }

    fn at(&mut self, at: (u64, u64), ts_ns: Option<i64>) {
        self.out.push_str(",\"pid\":");
        unsigned(&mut self.out, at.0);
        self.out.push_str(",\"tid\":");
        unsigned(&mut self.out, at.1);
        if let Some(ns) = ts_ns {
            self.out.push_str(",\"ts\":");
            micros(&mut self.out, ns);
        }
    }

    fn begin(&mut self, phase: &str, table: &str, name: &str, at: (u64, u64), ts_ns: Option<i64>) {
        self.begin_unnamed(phase, table);
        text(&mut self.out, name);
        self.at(at, ts_ns);
    }

    fn begin_span(&mut self, phase: &str, row: Row<'_>, at: (u64, u64), ts_ns: i64) {
        self.begin_unnamed(phase, &row.table.name);
        let number = row.span_name_number();
        let quoted = number.and_then(|number| self.texts.get(row.table, number));
        self.out.push_str(quoted.unwrap_or("\"?\""));
        self.at(at, Some(ts_ns));
    }

    /// Writes one event at a time, because compressed files depend on write boundaries.
    fn write(&mut self) -> Result<(), ExportError> {
        self.to.write_all(self.out.as_bytes())?;
        self.out.clear();
        Ok(())
    }

    /// Ends an interval whose columns are written. Adds the program's attributes, which are also rows of their
    /// own.
    fn end_span(&mut self, id: u64) {
        let mut all = self.attributes.of(id).peekable();
        if all.peek().is_some() {
            member(&mut self.out, "attributes");
            self.out.push('{');
            for (at, (key, found)) in all.enumerate() {
                self.out.push_str(if at == 0 { "" } else { "," });
                text(&mut self.out, key);
                self.out.push(':');
                value(&mut self.out, found);
            }
            self.out.push('}');
        }
        self.out.push_str("}}");
    }

    fn end(&mut self, name: &str, row: Row<'_>, shape: Option<&Shape<String>>) {
        self.out.push_str(",\"");
        self.out.push_str(name);
        self.out.push_str("\":{");
        match shape {
            Some(shape) => shaped_members(&mut self.out, row, shape, &mut self.texts),
            None => members(&mut self.out, row, &[]),
        }
        self.out.push_str("}}");
    }

    fn table(&mut self, source: &Source<'_>, table: &Stored) -> Result<(), ExportError> {
        let mut in_use = BTreeMap::new();
        let is_interval = is_interval(&table.name);
        let stated = stated_columns(&table.name);
        source.each_window(std::slice::from_ref(table), |tables, window| {
            let mut shapes = WindowShapes::new(tables, window, &[stated], same_members);
            for of in window.tables[0].rows() {
                let row = Row {
                    table: &tables[0],
                    of,
                };
                let shape = shapes.of(0, of.batch_number);
                if is_interval {
                    self.span(row, shape)?;
                } else {
                    self.row(source, row, shape, &mut in_use);
                    self.write()?;
                }
            }
            Ok(())
        })
    }

    fn row(
        &mut self,
        source: &Source<'_>,
        row: Row<'_>,
        shape: &Shape<String>,
        in_use: &mut BTreeMap<(u64, String), i64>,
    ) {
        let name = row.table.name.as_str();
        let rank = row.rank().filter(|_| self.of_ranks);
        let pid = host_pid(rank.unwrap_or(0));
        match (name, row.time_ns()) {
            // Threads are named with the lanes; edges are drawn at the end.
            ("threads" | "edges", _) => {}
            ("counters", Some(ns)) => {
                self.begin("C", name, row.name().unwrap_or("?"), (pid, 0), Some(ns));
                self.out.push_str(",\"args\":{");
                if let Some(found) = row.value_of("value") {
                    member(&mut self.out, "value");
                    value(&mut self.out, found);
                }
                self.out.push('}');
                self.end(MARK, row, Some(shape));
            }
            ("allocations", Some(ns)) => {
                let in_rank = rank.map_or(u64::MAX, |_| (1 << PLACE_BITS) - 1);
                let device = row.device().map(|device| device & in_rank);
                let (title, change) = bytes_in_use(row, device);
                let bytes = in_use
                    .entry((rank.unwrap_or(0), title.clone()))
                    .or_default();
                *bytes = bytes.saturating_add(change);
                let bytes = *bytes;
                self.begin("C", name, &title, (pid, 0), Some(ns));
                let _ = write!(self.out, ",\"args\":{{\"bytes\":{bytes}}}");
                self.end(MARK, row, Some(shape));
            }
            ("checksums" | "device_events" | "annotations", Some(ns)) => {
                let lane = row.lane();
                self.lanes.insert(lane);
                let title = row.name().unwrap_or("event");
                self.begin("i", name, title, self.place(lane), Some(ns));
                self.out.push_str(",\"s\":\"t\"");
                self.end("args", row, Some(shape));
            }
            _ => {
                self.begin("M", name, "trueno_row", (HOST_PID, 0), None);
                if let Some(hash) = row.text_of("hash").filter(|_| name == "ptx") {
                    self.kernel_source(source, hash);
                }
                self.end("args", row, None);
            }
        }
    }

    /// Writes a kernel's source, which lies in a file next to the tables. Each source is written once.
    fn kernel_source(&mut self, source: &Source<'_>, hash: &str) {
        if self.sources.contains(hash) {
            return;
        }
        if let Ok((kernel, true)) = source.run.kernel_source(hash) {
            self.sources.insert(hash.to_owned());
            let _ = write!(self.out, ",\"{MARK}\":{{\"ptx_source\":");
            text(&mut self.out, &kernel);
            self.out.push('}');
        }
    }

    fn span(&mut self, row: Row<'_>, shape: &Shape<String>) -> Result<(), ExportError> {
        let lane = row.lane();
        if self.last_lane != Some(lane) {
            self.last_lane = Some(lane);
            self.lanes.insert(lane);
        }
        let at = self.place(lane);
        let (start_ns, dur_ns) = (row.start_ns().unwrap_or(0), row.dur_ns().unwrap_or(0));
        let id = row.id();
        let Some(why) = row.untimed() else {
            self.begin_span("X", row, at, start_ns);
            self.out.push_str(",\"dur\":");
            micros(&mut self.out, dur_ns);
            self.out.push_str(",\"args\":{");
            shaped_members(&mut self.out, row, shape, &mut self.texts);
            self.end_span(id);
            return self.write();
        };
        let name_column = if row.table.name == "syncs" {
            ""
        } else {
            "name"
        };
        self.begin_span("b", row, at, start_ns);
        let _ = write!(
            self.out,
            ",\"id\":\"{id:#x}\",\"trueno\":{{\"untimed\":\"{why}\"}},\"args\":{{"
        );
        members(&mut self.out, row, &[name_column]);
        self.end_span(id);
        self.write()?;
        let end_ns = start_ns.saturating_add(dur_ns.max(0));
        self.begin_span("e", row, at, end_ns);
        let _ = write!(self.out, ",\"id\":\"{id:#x}\"}}");
        self.write()
    }

    /// Writes flows. A viewer binds each end of a flow to the slice that is open at that time. At the very
    /// start of a slice that is the slice itself.
    fn flows(&mut self, source: &Source<'_>) -> Result<(), ExportError> {
        let Some(edges) = source.table("edges").filter(|table| table.rows > 0) else {
            return Ok(());
        };
        let mut ends: BTreeMap<u64, Option<(Lane, i64, i64)>> = BTreeMap::new();
        source.each(&edges, |row| {
            let both = ["from", "to"].iter();
            ends.extend(both.filter_map(|column| Some((row.u64_of(column)?, None))));
            Ok(())
        })?;
        for mut table in source.interval_tables() {
            table
                .columns
                .retain(|column| END_COLUMNS.contains(&column.as_str()));
            source.each(&table, |row| {
                let times = row.start_ns().zip(row.dur_ns());
                if let (Some(end), Some((start_ns, dur_ns)), None) =
                    (ends.get_mut(&row.id()), times, row.untimed())
                {
                    *end = Some((row.lane(), start_ns, dur_ns));
                }
                Ok(())
            })?;
        }
        let end_of = |id: Option<u64>| id.and_then(|id| ends.get(&id).copied().flatten());
        let mut number = 0_u64;
        source.each(&edges, |row| {
            let kind = row.text_of("kind").unwrap_or("?");
            let (from, to) = (end_of(row.u64_of("from")), end_of(row.u64_of("to")));
            let (Some(from), Some(to)) = (from, to) else {
                self.begin("M", "edges", "trueno_row", (HOST_PID, 0), None);
                self.end("args", row, None);
                return self.write();
            };
            number += 1;
            self.begin("s", "edges", kind, self.place(from.0), Some(from.1));
            let _ = write!(self.out, ",\"id\":{number}");
            self.end("args", row, None);
            self.write()?;
            let at_ns = if matches!(kind, "joins" | "wakes") {
                to.1 + (to.2 - 1).max(0)
            } else {
                to.1
            };
            self.begin("f", "edges", kind, self.place(to.0), Some(at_ns));
            let _ = write!(self.out, ",\"id\":{number},\"bp\":\"e\"}}");
            self.write()
        })
    }

    fn lane_names(&mut self, source: &Source<'_>) -> Result<(), ExportError> {
        let names = rows::thread_names(source)?;
        if let Some(threads) = source.table("threads") {
            source.each(&threads, |row| {
                let lane = Lane::Thread(row.thread());
                self.lanes.remove(&lane);
                self.lane(lane, &lane.name(&names, self.of_ranks));
                self.end(MARK, row, None);
                self.write()
            })?;
        }
        let mut devices = BTreeSet::new();
        for lane in std::mem::take(&mut self.lanes) {
            if let Lane::Stream(device, _) = lane {
                let rank = if self.of_ranks { lane.in_rank().0 } else { 0 };
                devices.insert((self.place(lane).0, rank, device - (rank << PLACE_BITS)));
            }
            self.lane(lane, &lane.name(&names, self.of_ranks));
            self.out.push('}');
            self.write()?;
        }
        for (pid, rank, device) in devices {
            let name = if self.of_ranks {
                format!("rank {rank} gpu{device}")
            } else {
                format!("gpu{device}")
            };
            let _ = write!(
                self.out,
                ",\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"tid\":0,\"args\":{{\"name\":\"{name}\"}}}}"
            );
            let _ = write!(
                self.out,
                ",\n{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{pid},\"tid\":0,\"args\":{{\"sort_index\":{pid}}}}}"
            );
            self.write()?;
        }
        Ok(())
    }

    /// Process and thread ids of a lane. Thread 0 is the idle thread in viewers, so ids begin at 1.
    fn place(&self, lane: Lane) -> (u64, u64) {
        let (rank, lane) = if self.of_ranks {
            lane.in_rank()
        } else {
            (0, lane)
        };
        let number = |n: Option<u64>| n.map_or(u64::from(u32::MAX), |n| n + 1);
        match lane {
            Lane::Thread(thread) => (host_pid(rank), number(thread)),
            Lane::ThreadOfRank(_) => (host_pid(rank), number(None)),
            Lane::Stream(device, stream) => ((rank << PLACE_BITS) + device + 2, number(stream)),
        }
    }

    /// Order and name of a lane. The last event stays open for more members.
    fn lane(&mut self, lane: Lane, name: &str) {
        let (pid, tid) = self.place(lane);
        self.begin("M", "threads", "thread_sort_index", (pid, tid), None);
        let _ = write!(self.out, ",\"args\":{{\"sort_index\":{tid}}}}}");
        let _ = write!(
            self.out,
            ",\n{{\"ph\":\"M\",\"cat\":\"threads\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":"
        );
        text(&mut self.out, name);
        self.out.push('}');
    }
}

fn host_pid(rank: u64) -> u64 {
    (rank << PLACE_BITS) + HOST_PID
}
