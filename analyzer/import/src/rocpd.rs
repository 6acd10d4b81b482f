//! rocpd, the database of rocprofv3 since ROCm 7: tables `rocpd_…_<uuid>`, one set a process that wrote into it.
//!
//! | table | row |
//! | --- | --- |
//! | `rocpd_kernel_dispatch` | kernels |
//! | `rocpd_memory_copy` | transfers |
//! | `rocpd_region` of the categories of HIP, HSA, RCCL | calls, linked to work by the correlation of their events |
//! | other `rocpd_region`, markers above all | bricks |
//! | `rocpd_memory_allocate` | allocations |
//! | `rocpd_pmc_event` | counters of their kernel |
//! | `rocpd_info_agent` | devices |
//!
//! Names are held in memory, rows are not.

use std::collections::HashMap;

use trueno_analysis::vendors;

use crate::Error;
use crate::chrome::feed::{Feed, Kind, NO_BYTES, NO_NAME_OR_TIMES, NO_TIMES, Slice};
use crate::device_csv::in_blocks;
use crate::importer::{Import, Importer};
use crate::sqlite_rows::{Cells, Rows, Texts, quoted};

const DISPATCHES: &str = "rocpd_kernel_dispatch";
/// Correlation ids of the processes of one file are distinguished above this bit.
const PROCESS_SHIFT: u32 = 44;

pub const IMPORTER: Importer = Importer {
    name: "rocpd",
    description: "rocpd: the database of AMD's rocprofv3 (ROCm 7)",
    recognises: |head| head.is_database_with(&["rocpd_"]),
    read,
};

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let rows = Rows::open(&mut import)?;
    let sets = rows
        .tables()
        .filter_map(|table| table.strip_prefix(DISPATCHES));
    let sets: Vec<&str> = sets.collect();
    if sets.is_empty() {
        return Err(rows.without(&format!("{DISPATCHES}_…"), "rocprofv3"));
    }
    let mut feed = Feed::new(import, "rocpd");
    let mut devices = 0;
    for (set, suffix) in (0..).zip(&sets) {
        let mut set_of_process = Set {
            rows: &rows,
            feed: &mut feed,
            suffix,
            correlations: set << PROCESS_SHIFT,
            agents: HashMap::new(),
            names: Texts::default(),
            threads: HashMap::new(),
            streams: HashMap::new(),
        };
        devices += set_of_process.read(devices)?;
        feed.progress(rows.bytes * (set + 1) / sets.len() as u64);
    }
    rows.finish(feed)
}

/// The tables of one process.
struct Set<'r, 'a> {
    rows: &'r Rows<'r>,
    feed: &'r mut Feed<'a>,
    suffix: &'r str,
    correlations: u64,
    agents: HashMap<i64, u32>,
    names: Texts,
    /// Process and thread ids of the system, by row id.
    threads: HashMap<i64, (u64, u64)>,
    /// Streams by row id, without default streams.
    streams: HashMap<i64, u32>,
}

impl Set<'_, '_> {
    fn table(&self, name: &str) -> Option<String> {
        let table = format!("rocpd_{name}{}", self.suffix);
        self.rows.has(&table).then(|| quoted(&table))
    }

    /// What another table says of a row `r`; null without that table.
    fn lookup(&self, table: &str, value: &str, condition: &str) -> String {
        match self.table(table) {
            Some(table) => format!("(SELECT {value} FROM {table} x WHERE {condition})"),
            None => "NULL".to_owned(),
        }
    }

    fn correlation(&self, stated: Option<u64>) -> Option<u64> {
        let stated = stated.filter(|id| *id != 0)?;
        Some(stated.wrapping_add(self.correlations))
    }

    fn agent(&self, agent: Option<i64>) -> Option<u32> {
        self.agents.get(&agent?).copied()
    }

    fn place(&self, thread: Option<i64>) -> (u64, u64) {
        let place = thread.and_then(|thread| self.threads.get(&thread));
        place.copied().unwrap_or_default()
    }

    /// Reads all tables. `base` is the number of its first GPU. Returns the count of GPUs.
    fn read(&mut self, base: u32) -> Result<u32, Error> {
        self.read_agents(base)?;
        let strings = format!("rocpd_string{}", self.suffix);
        self.names = self.rows.texts(&strings, ["id", "string"])?;
        self.read_threads()?;
        self.kernels()?;
        self.copies()?;
        self.regions()?;
        self.allocations()?;
        self.counters()?;
        Ok(self.agents.len() as u32)
    }

    fn read_agents(&mut self, base: u32) -> Result<(), Error> {
        let Some(table) = self.table("info_agent") else {
            return Ok(());
        };
        let sql = format!(
            "SELECT id, type, COALESCE(product_name, model_name, name) FROM {table} ORDER BY absolute_index, id"
        );
        self.rows.each(&sql, |row| {
            let (Some(id), Some("GPU")) = (row.number(0), row.text(1).as_deref()) else {
                return Ok(());
            };
            let device = base + self.agents.len() as u32;
            self.agents.insert(id, device);
            let name = row.text(2);
            self.feed
                .device(device, name.as_deref().unwrap_or("GPU"), None)
        })
    }

    fn read_threads(&mut self) -> Result<(), Error> {
        let Some(table) = self.table("info_thread") else {
            return Ok(());
        };
        let process = match self.table("info_process") {
            Some(processes) => format!("(SELECT p.pid FROM {processes} p WHERE p.id = t.pid)"),
            None => "t.pid".to_owned(),
        };
        let sql = format!("SELECT t.id, {process}, t.tid, t.name FROM {table} t");
        self.rows.each(&sql, |row| {
            if let (Some(id), Some(thread)) = (row.number(0), row.unsigned(2)) {
                let process = row.unsigned(1).unwrap_or(0);
                self.threads.insert(id, (process, thread));
                if let Some(name) = row.text(3).filter(|name| !name.is_empty()) {
                    self.feed.name_thread(process, thread, &name);
                }
            }
            Ok(())
        })
    }

    /// Queue and stream as one number. Work without a stream uses its queue.
    fn stream(&mut self, stream: Option<i64>, queue: Option<i64>) -> Option<u32> {
        let key = match (stream, queue) {
            (Some(stream), _) if stream > 0 => stream,
            (_, Some(queue)) => -1 - queue,
            (stream, None) => stream?,
        };
        let next = self.streams.len() as u32;
        Some(*self.streams.entry(key).or_insert(next))
    }

    /// What calls and their work have in common: ROCm 7 leaves `correlation_id` 0 and writes the id of
    /// rocprofiler-sdk as `stack_id`.
    fn correlation_column(&self) -> Result<String, Error> {
        let events = format!("rocpd_event{}", self.suffix);
        let has_stack_ids =
            self.rows.has(&events) && self.rows.columns(&events)?.contains("stack_id");
        let id = if has_stack_ids {
            "COALESCE(NULLIF(x.correlation_id, 0), x.stack_id)"
        } else {
            "x.correlation_id"
        };
        Ok(self.lookup("event", id, "x.id = r.event_id"))
    }

    fn kernels(&mut self) -> Result<(), Error> {
        let Some(table) = self.table("kernel_dispatch") else {
            return Ok(());
        };
        let [name, registers] = [
            "COALESCE(x.display_name, x.kernel_name)",
            "x.arch_vgpr_count",
        ]
        .map(|value| self.lookup("info_kernel_symbol", value, "x.id = r.kernel_id"));
        let correlation = self.correlation_column()?;
        let sql = format!(
            "SELECT r.start, r.\"end\", r.tid, {correlation}, r.stream_id, r.queue_id, r.agent_id, {name}, \
             r.grid_size_x, r.grid_size_y, r.grid_size_z, r.workgroup_size_x, r.workgroup_size_y, r.workgroup_size_z, \
             r.group_segment_size, {registers}, r.kernel_id, r.id FROM {table} r ORDER BY r.id"
        );
        self.rows.each(&sql, |row| {
            let Some(slice) = self.work(row) else {
                return self.feed.leave_out(NO_TIMES);
            };
            let name = row.text(7);
            let name = name.unwrap_or_else(|| format!("kernel {}", row.number(16).unwrap_or(0)));
            let (grid, block) = (row.three(8), row.three(11));
            self.feed.slice(&Slice {
                name: &name,
                device: self.agent(row.number(6)),
                grid: grid.zip(block).map(|(grid, block)| in_blocks(grid, block)),
                block,
                shared_memory_bytes: row.unsigned(14),
                registers: row.unsigned(15),
                key: row
                    .unsigned(17)
                    .map(|row| row.wrapping_add(self.correlations)),
                ..slice
            })
        })
    }

    fn copies(&mut self) -> Result<(), Error> {
        let Some(table) = self.table("memory_copy") else {
            return Ok(());
        };
        let correlation = self.correlation_column()?;
        let sql = format!(
            "SELECT r.start, r.\"end\", r.tid, {correlation}, r.stream_id, r.queue_id, r.src_agent_id, r.dst_agent_id, \
             r.name_id, r.size FROM {table} r ORDER BY r.id"
        );
        self.rows.each(&sql, |row| {
            let Some(slice) = self.work(row) else {
                return self.feed.leave_out(NO_TIMES);
            };
            let (from, to) = (self.agent(row.number(6)), self.agent(row.number(7)));
            let stated = self.names.of(row.number(8));
            let stated = stated.filter(|name| name.to_ascii_lowercase().contains("_to_"));
            self.feed.slice(&Slice {
                kind: Kind::Copy,
                name: stated.unwrap_or(name_of_copy(from, to)),
                device: to.or(from),
                bytes: row.unsigned(9),
                ..slice
            })
        })
    }

    /// What kernels and copies have in common, in their first columns. `None` without times.
    fn work(&mut self, row: Cells<'_>) -> Option<Slice<'static>> {
        let times_ns = row.times(0)?;
        let (process, thread) = self.place(row.number(2));
        Some(Slice {
            process,
            thread,
            correlation: self.correlation(row.unsigned(3)),
            stream: self.stream(row.number(4), row.number(5)),
            ..Slice::new(Kind::Kernel, "", times_ns)
        })
    }

    fn regions(&mut self) -> Result<(), Error> {
        let Some(table) = self.table("region") else {
            return Ok(());
        };
        let correlation = self.correlation_column()?;
        let category = self.lookup("event", "x.category_id", "x.id = r.event_id");
        let sql = format!(
            "SELECT r.name_id, r.start, r.\"end\", r.tid, {correlation}, {category} FROM {table} r"
        );
        self.rows.each(&sql, |row| {
            let (Some(name), Some(times_ns)) = (self.names.of(row.number(0)), row.times(1)) else {
                return self.feed.leave_out(NO_NAME_OR_TIMES);
            };
            let category = self.names.of(row.number(5)).unwrap_or("");
            let category = category.to_ascii_uppercase();
            let is_call = ["HIP", "HSA", "RCCL", "OMPT", "ROCDECODE", "ROCJPEG"]
                .iter()
                .any(|api| category.starts_with(api))
                || vendors::call(name).is_some();
            let (process, thread) = self.place(row.number(3));
            if times_ns.0 == times_ns.1 && !is_call {
                return self.feed.instant((process, thread), name, times_ns.0);
            }
            let kind = if is_call { Kind::Call } else { Kind::Range };
            self.feed.slice(&Slice {
                process,
                thread,
                correlation: self.correlation(row.unsigned(4)),
                ..Slice::new(kind, name, times_ns)
            })
        })
    }

    fn allocations(&mut self) -> Result<(), Error> {
        let Some(table) = self.table("memory_allocate") else {
            return Ok(());
        };
        let sql = format!(
            "SELECT type, level, \"end\", size, address, agent_id, tid FROM {table} ORDER BY start, id"
        );
        // A release states an address and no size.
        let mut sizes: HashMap<u64, i64> = HashMap::new();
        self.rows.each(&sql, |row| {
            let is_real = row.text(1).as_deref() == Some("REAL");
            let Some(time_ns) = row.number(2).filter(|_| is_real) else {
                let reason = "reservation of addresses, or scratch memory of kernels";
                self.feed.notes().skip(reason);
                return Ok(());
            };
            let (size, address) = (row.number(3).unwrap_or(0), row.unsigned(4));
            let bytes = match (row.text(0).as_deref(), address) {
                (Some("ALLOC"), address) => {
                    sizes.extend(address.map(|address| (address, size)));
                    size
                }
                (Some("FREE"), Some(address)) => -sizes.remove(&address).unwrap_or(size),
                _ => 0,
            };
            if bytes == 0 {
                return self.feed.leave_out(NO_BYTES);
            }
            let place = self.place(row.number(6));
            let device = self.agent(row.number(5));
            self.feed
                .allocation(place, time_ns, bytes, address, device, None)
        })
    }

    fn counters(&mut self) -> Result<(), Error> {
        let tables = ["pmc_event", "info_pmc", "kernel_dispatch"].map(|table| self.table(table));
        let [Some(events), Some(names), Some(kernels)] = tables else {
            return Ok(());
        };
        let sql = format!(
            "SELECT n.name, k.start, v.value, k.id FROM {events} v JOIN {names} n ON n.id = v.pmc_id \
             JOIN {kernels} k ON k.event_id = v.event_id"
        );
        self.rows.each(&sql, |row| {
            let key = row
                .unsigned(3)
                .map(|row| row.wrapping_add(self.correlations));
            let name = row.text(0);
            self.feed
                .dispatch_counter(key, name.as_deref(), row.number(1), row.real(2))
        })
    }
}

/// How rocprofv3 names a copy between these devices; the host is none.
pub(crate) fn name_of_copy(from: Option<u32>, to: Option<u32>) -> &'static str {
    match (from, to) {
        (None, Some(_)) => "MEMORY_COPY_HOST_TO_DEVICE",
        (Some(_), None) => "MEMORY_COPY_DEVICE_TO_HOST",
        (Some(_), Some(_)) => "MEMORY_COPY_DEVICE_TO_DEVICE",
        (None, None) => "MEMORY_COPY_HOST_TO_HOST",
    }
}

#[cfg(test)]
mod tests;
