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

use polars::prelude::DataFrame;
use serde_json::json;
use trueno_engine::Lane;
use trueno_engine::attributes::Attributes;
use trueno_engine::frame::{i64_at, text_at, u64_at};
use trueno_engine::run::Run;
use trueno_format::schema::TableId;
use trueno_import::chrome::{FORMAT_VERSION, MARK};
use trueno_plugin::rank::PLACE_BITS;

use super::error::ExportError;
use super::exporter::{Exporter, Written};
use super::json::{attribute, members, micros, text};
use super::rows::{self, Source, Stored, bytes_in_use};

/// Process of the host's threads; device `n` is process `n + 2`. Those of rank `r` are `r << 16` higher.
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

struct Events<'a> {
    to: &'a mut dyn Write,
    line: String,
    lanes: BTreeSet<Lane>,
    /// Kernel sources that are written already.
    sources: BTreeSet<String>,
    /// Attributes that the program gave rows.
    attributes: Attributes,
    /// True where lanes are of ranks.
    of_ranks: bool,
}

/// Writes the whole file.
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
        line: String::new(),
        lanes: BTreeSet::new(),
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
        events.line = format!("{}{name}", if number == 0 { "" } else { ",\n" });
        events.to.write_all(events.line.as_bytes())?;
    }
    for table in source.tables().into_iter().filter(|t| t.rows > 0) {
        let mut in_use = BTreeMap::new();
        source.each(&table, |frame| {
            for row in 0..frame.height() {
                events.row(source, &table, frame, row, &mut in_use)?;
            }
            Ok(())
        })?;
    }
    events.flows(source)?;
    events.lane_names(source)?;
    to.write_all(b"\n]}\n")?;
    Ok(())
}

impl Events<'_> {
    fn begin(&mut self, phase: &str, table: &str, name: &str, at: (u64, u64), ts_ns: Option<i64>) {
        self.line.clear();
        let _ = write!(
            self.line,
            ",\n{{\"ph\":\"{phase}\",\"cat\":\"{table}\",\"name\":"
        );
        text(&mut self.line, name);
        let _ = write!(self.line, ",\"pid\":{},\"tid\":{}", at.0, at.1);
        if let Some(ns) = ts_ns {
            self.line.push_str(",\"ts\":");
            micros(&mut self.line, ns);
        }
    }

    /// As [`end`](Self::end), of an interval: with what the program says of it, which is rows of their own as well.
    fn end_span(
        &mut self,
        frame: &DataFrame,
        row: usize,
        except: &[&str],
    ) -> Result<(), ExportError> {
        self.line.push_str(",\"args\":{");
        members(&mut self.line, frame, row, except);
        let mut all = self
            .attributes
            .of(u64_at(frame, "id", row).unwrap_or(0))
            .peekable();
        if all.peek().is_some() {
            let comma = if self.line.ends_with('{') { "" } else { "," };
            let _ = write!(self.line, "{comma}\"attributes\":{{");
            for (at, (key, value)) in all.enumerate() {
                self.line.push_str(if at == 0 { "" } else { "," });
                text(&mut self.line, key);
                self.line.push(':');
                attribute(&mut self.line, value);
            }
            self.line.push('}');
        }
        self.line.push_str("}}");
        Ok(self.to.write_all(self.line.as_bytes())?)
    }

    /// The columns as a member, and the end of the event.
    fn end(
        &mut self,
        member: &str,
        frame: &DataFrame,
        row: usize,
        except: &[&str],
    ) -> Result<(), ExportError> {
        let _ = write!(self.line, ",\"{member}\":{{");
        members(&mut self.line, frame, row, except);
        self.line.push_str("}}");
        Ok(self.to.write_all(self.line.as_bytes())?)
    }

    fn row(
        &mut self,
        source: &Source<'_>,
        table: &Stored,
        frame: &DataFrame,
        row: usize,
        in_use: &mut BTreeMap<(u64, String), i64>,
    ) -> Result<(), ExportError> {
        let name = table.name.as_str();
        let lane = Lane::from_row(name, frame, row);
        let time_ns = i64_at(frame, "time_ns", row);
        let rank = u64_at(frame, "rank", row).filter(|_| self.of_ranks);
        let pid = host_pid(rank.unwrap_or(0));
        match (name, time_ns) {
            _ if TableId::from_name(name).is_some_and(|id| id.schema().is_interval()) => {
                self.span(name, lane, frame, row)
            }
            // Threads are named with the lanes; edges are drawn at the end.
            ("threads" | "edges", _) => Ok(()),
            ("counters", Some(ns)) => {
                let counter = text_at(frame, "name", row).unwrap_or("?");
                self.begin("C", name, counter, (pid, 0), Some(ns));
                self.line.push_str(",\"args\":{");
                members(&mut self.line, frame, row, &others(&table.columns, "value"));
                self.line.push('}');
                self.end(MARK, frame, row, &["time_ns", "name"])
            }
            ("allocations", Some(ns)) => {
                let device = u64_at(frame, "device", row);
                let in_rank = rank.map_or(u64::MAX, |_| (1 << PLACE_BITS) - 1);
                let device = device.map(|device| device & in_rank);
                let (title, change) = bytes_in_use(frame, row, device);
                let bytes = in_use
                    .entry((rank.unwrap_or(0), title.clone()))
                    .or_default();
                *bytes = bytes.saturating_add(change);
                let bytes = *bytes;
                self.begin("C", name, &title, (pid, 0), Some(ns));
                let _ = write!(self.line, ",\"args\":{{\"bytes\":{bytes}}}");
                self.end(MARK, frame, row, &["time_ns"])
            }
            ("checksums" | "device_events" | "annotations", Some(ns)) => {
                self.lanes.insert(lane);
                let title = text_at(frame, "name", row).unwrap_or("event");
                self.begin("i", name, title, self.place(lane), Some(ns));
                self.line.push_str(",\"s\":\"t\"");
                self.end("args", frame, row, &["time_ns", "name"])
            }
            _ => {
                self.begin("M", name, "trueno_row", (HOST_PID, 0), None);
                if let Some(hash) = text_at(frame, "hash", row).filter(|_| name == "ptx") {
                    self.kernel_source(source, hash);
                }
                self.end("args", frame, row, &[])
            }
        }
    }

    /// A file beside the tables, once.
    fn kernel_source(&mut self, source: &Source<'_>, hash: &str) {
        if self.sources.contains(hash) {
            return;
        }
        if let Ok((kernel, true)) = source.run.kernel_source(hash) {
            self.sources.insert(hash.to_owned());
            let _ = write!(self.line, ",\"{MARK}\":{{\"ptx_source\":");
            text(&mut self.line, &kernel);
            self.line.push('}');
        }
    }

    fn span(
        &mut self,
        table: &str,
        lane: Lane,
        frame: &DataFrame,
        row: usize,
    ) -> Result<(), ExportError> {
        let name = rows::span_name(table, frame, row);
        let (start_ns, dur_ns) = (i64_at(frame, "start_ns", row), i64_at(frame, "dur_ns", row));
        // A wait without a name is shown by its kind, which is not its name.
        let name_column = if table == "syncs" { "" } else { "name" };
        self.lanes.insert(lane);
        let Some(why) = rows::untimed(frame, row) else {
            self.begin("X", table, &name, self.place(lane), start_ns);
            self.line.push_str(",\"dur\":");
            micros(&mut self.line, dur_ns.unwrap_or(0));
            let told = ["start_ns", "dur_ns", name_column];
            return self.end_span(frame, row, &told);
        };
        let start_ns = start_ns.unwrap_or(0);
        let end_ns = start_ns.saturating_add(dur_ns.unwrap_or(0).max(0));
        let id = u64_at(frame, "id", row).unwrap_or(0);
        self.begin("e", table, &name, self.place(lane), Some(end_ns));
        let _ = write!(self.line, ",\"id\":\"{id:#x}\"}}");
        let end = std::mem::take(&mut self.line);
        self.begin("b", table, &name, self.place(lane), Some(start_ns));
        let _ = write!(
            self.line,
            ",\"id\":\"{id:#x}\",\"trueno\":{{\"untimed\":\"{why}\"}}"
        );
        self.end_span(frame, row, &[name_column])?;
        Ok(self.to.write_all(end.as_bytes())?)
    }

    /// A viewer binds both ends of a flow to the slice that is open there: at its very start that is itself.
    fn flows(&mut self, source: &Source<'_>) -> Result<(), ExportError> {
        let Some(edges) = source.table("edges").filter(|table| table.rows > 0) else {
            return Ok(());
        };
        let mut ends: BTreeMap<u64, Option<(Lane, i64, i64)>> = BTreeMap::new();
        source.each(&edges, |frame| {
            for row in 0..frame.height() {
                ends.extend(
                    ["from", "to"]
                        .iter()
                        .filter_map(|c| Some((u64_at(frame, c, row)?, None))),
                );
            }
            Ok(())
        })?;
        for table in source.interval_tables() {
            source.each(&table, |frame| {
                for row in 0..frame.height() {
                    let id = u64_at(frame, "id", row).unwrap_or(0);
                    let times = i64_at(frame, "start_ns", row).zip(i64_at(frame, "dur_ns", row));
                    if let (Some(end), Some((start_ns, dur_ns)), None) =
                        (ends.get_mut(&id), times, rows::untimed(frame, row))
                    {
                        *end = Some((Lane::from_row(&table.name, frame, row), start_ns, dur_ns));
                    }
                }
                Ok(())
            })?;
        }
        let end_of = |id: Option<u64>| id.and_then(|id| ends.get(&id).copied().flatten());
        let mut number = 0_u64;
        source.each(&edges, |frame| {
            for row in 0..frame.height() {
                let kind = text_at(frame, "kind", row).unwrap_or("?");
                let (from, to) = (
                    end_of(u64_at(frame, "from", row)),
                    end_of(u64_at(frame, "to", row)),
                );
                let (Some(from), Some(to)) = (from, to) else {
                    self.begin("M", "edges", "trueno_row", (HOST_PID, 0), None);
                    self.end("args", frame, row, &[])?;
                    continue;
                };
                number += 1;
                self.begin("s", "edges", kind, self.place(from.0), Some(from.1));
                let _ = write!(self.line, ",\"id\":{number}");
                self.end("args", frame, row, &[])?;
                let at_ns = if matches!(kind, "joins" | "wakes") {
                    to.1 + (to.2 - 1).max(0)
                } else {
                    to.1
                };
                self.begin("f", "edges", kind, self.place(to.0), Some(at_ns));
                let _ = write!(self.line, ",\"id\":{number},\"bp\":\"e\"}}");
                self.to.write_all(self.line.as_bytes())?;
            }
            Ok(())
        })
    }

    fn lane_names(&mut self, source: &Source<'_>) -> Result<(), ExportError> {
        let names = rows::thread_names(source)?;
        if let Some(threads) = source.table("threads") {
            source.each(&threads, |frame| {
                for row in 0..frame.height() {
                    let lane = Lane::Thread(u64_at(frame, "thread", row));
                    self.lanes.remove(&lane);
                    self.lane(lane, &lane.name(&names, self.of_ranks));
                    self.end(MARK, frame, row, &[])?;
                }
                Ok(())
            })?;
        }
        let mut devices = BTreeSet::new();
        for lane in std::mem::take(&mut self.lanes) {
            if let Lane::Stream(device, _) = lane {
                let rank = if self.of_ranks { lane.in_rank().0 } else { 0 };
                devices.insert((self.place(lane).0, rank, device - (rank << PLACE_BITS)));
            }
            self.lane(lane, &lane.name(&names, self.of_ranks));
            self.line.push('}');
            self.to.write_all(self.line.as_bytes())?;
        }
        for (pid, rank, device) in devices {
            let name = if self.of_ranks {
                format!("rank {rank} gpu{device}")
            } else {
                format!("gpu{device}")
            };
            self.line = format!(
                ",\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"tid\":0,\"args\":{{\"name\":\"{name}\"}}}}"
            );
            self.line.push_str(&format!(",\n{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{pid},\"tid\":0,\"args\":{{\"sort_index\":{pid}}}}}"));
            self.to.write_all(self.line.as_bytes())?;
        }
        Ok(())
    }

    /// Process and thread of a lane. Thread 0 is the idle thread to a viewer: numbers begin at 1.
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

    /// Order and name of a lane; the last event is left open for more members.
    fn lane(&mut self, lane: Lane, name: &str) {
        let (pid, tid) = self.place(lane);
        self.begin("M", "threads", "thread_sort_index", (pid, tid), None);
        let _ = write!(self.line, ",\"args\":{{\"sort_index\":{tid}}}}}");
        let _ = write!(
            self.line,
            ",\n{{\"ph\":\"M\",\"cat\":\"threads\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":"
        );
        text(&mut self.line, name);
        self.line.push('}');
    }
}

fn host_pid(rank: u64) -> u64 {
    (rank << PLACE_BITS) + HOST_PID
}

fn others<'c>(columns: &'c [String], but: &str) -> Vec<&'c str> {
    columns
        .iter()
        .map(String::as_str)
        .filter(|c| *c != but)
        .collect()
}
