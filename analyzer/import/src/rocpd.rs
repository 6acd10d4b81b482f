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
use std::path::Path;

use trueno_format::run_writer::RunWriter;

use crate::chrome::feed::{Feed, Kind, Slice};
use crate::device_csv::in_blocks;
use crate::importer::{Head, Importer};
use crate::sqlite_rows::{Rows, number, quoted, real, small, text, unsigned};
use crate::{Error, Notes, Options};

const DISPATCHES: &str = "rocpd_kernel_dispatch";
/// Correlation ids of the processes of one file are distinguished above this bit.
const PROCESS_SHIFT: u32 = 44;

pub struct Rocpd;

impl Importer for Rocpd {
    fn name(&self) -> &'static str {
        "rocpd"
    }

    fn description(&self) -> &'static str {
        "rocpd: the database of AMD's rocprofv3 (ROCm 7)"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        head.is_database_with(&["rocpd_"])
    }

    fn import(
        &self,
        path: &Path,
        options: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error> {
        let mut rows = Rows::open(path, options, into, notes)?;
        let sets: Vec<String> = rows
            .tables()
            .filter_map(|table| table.strip_prefix(DISPATCHES))
            .map(str::to_owned)
            .collect();
        if sets.is_empty() {
            let found: Vec<&str> = rows.tables().take(8).collect();
            return Err(Error::Format {
                path: path.to_owned(),
                problem: format!(
                    "expected a database of rocprofv3 with tables such as {DISPATCHES}_…, found {}",
                    found.join(", ")
                ),
            });
        }
        let mut feed = Feed::new(path, "rocpd", into, notes, options);
        let mut devices = 0;
        for (set, suffix) in sets.iter().enumerate() {
            let base = devices;
            let events = format!("rocpd_event{suffix}");
            let has_stack_ids = rows.has(&events) && rows.columns(&events)?.contains("stack_id");
            devices += Set {
                rows: &mut rows,
                feed: &mut feed,
                suffix,
                correlations: (set as u64) << PROCESS_SHIFT,
                has_stack_ids,
                agents: HashMap::new(),
                names: HashMap::new(),
                threads: HashMap::new(),
                streams: HashMap::new(),
            }
            .read(base)?;
            progress(rows.bytes * (set as u64 + 1) / sets.len() as u64);
        }
        rows.finish(feed, options)
    }
}

struct Set<'r, 'a> {
    rows: &'r mut Rows,
    feed: &'r mut Feed<'a>,
    suffix: &'r str,
    correlations: u64,
    has_stack_ids: bool,
    agents: HashMap<i64, u32>,
    names: HashMap<i64, String>,
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

    fn correlation(&self, stated: Option<u64>) -> Option<u64> {
        stated
            .filter(|id| *id != 0)
            .map(|id| id.wrapping_add(self.correlations))
    }

    /// Reads all tables. `base` is the number of its first GPU. Returns the count of GPUs.
    fn read(mut self, base: u32) -> Result<u32, Error> {
        let devices = self.read_agents(base)?;
        self.read_names()?;
        self.kernels()?;
        self.copies()?;
        self.regions()?;
        self.allocations()?;
        self.counters()?;
        Ok(devices)
    }

    fn read_agents(&mut self, base: u32) -> Result<u32, Error> {
        let Some(table) = self.table("info_agent") else {
            return Ok(0);
        };
        let sql = format!(
            "SELECT id, type, COALESCE(product_name, model_name, name) FROM {table} ORDER BY absolute_index, id"
        );
        let mut found = Vec::new();
        self.rows.each(
            &sql,
            |row| Ok((number(row, 0), text(row, 1), text(row, 2))),
            |agent| {
                found.push(agent);
                Ok(())
            },
        )?;
        let mut count = 0;
        for (id, kind, name) in found {
            let (Some(id), Some("GPU")) = (id, kind.as_deref()) else {
                continue;
            };
            let device = base + count;
            count += 1;
            self.agents.insert(id, device);
            self.feed
                .device(device, name.as_deref().unwrap_or("GPU"), None)?;
        }
        Ok(count)
    }

    fn read_names(&mut self) -> Result<(), Error> {
        if let Some(table) = self.table("string") {
            let sql = format!("SELECT id, string FROM {table}");
            let names = &mut self.names;
            self.rows.each(
                &sql,
                |row| Ok((number(row, 0), text(row, 1))),
                |(id, name)| {
                    names.extend(id.zip(name));
                    Ok(())
                },
            )?;
        }
        let processes = self.table("info_process");
        if let Some(table) = self.table("info_thread") {
            let process = match processes {
                Some(processes) => {
                    format!("(SELECT p.pid FROM {processes} p WHERE p.id = t.pid)")
                }
                None => "t.pid".to_owned(),
            };
            let sql = format!("SELECT t.id, {process}, t.tid, t.name FROM {table} t");
            let (threads, feed) = (&mut self.threads, &mut *self.feed);
            self.rows.each(
                &sql,
                |row| {
                    Ok((
                        number(row, 0),
                        unsigned(row, 1),
                        unsigned(row, 2),
                        text(row, 3),
                    ))
                },
                |(id, process, thread, name)| {
                    if let (Some(id), Some(thread)) = (id, thread) {
                        let process = process.unwrap_or(0);
                        threads.insert(id, (process, thread));
                        if let Some(name) = name.filter(|name| !name.is_empty()) {
                            feed.name_thread(process, thread, &name);
                        }
                    }
                    Ok(())
                },
            )?;
        }
        Ok(())
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

    fn events(&self) -> Option<String> {
        self.table("event")
    }

    /// What calls and their work have in common: ROCm 7 leaves `correlation_id` 0 and writes the id of
    /// rocprofiler-sdk as `stack_id`.
    fn correlation_column(&self) -> String {
        match self.events() {
            Some(events) if self.has_stack_ids => format!(
                "(SELECT COALESCE(NULLIF(e.correlation_id, 0), e.stack_id) FROM {events} e WHERE e.id = r.event_id)"
            ),
            Some(events) => {
                format!("(SELECT e.correlation_id FROM {events} e WHERE e.id = r.event_id)")
            }
            None => "NULL".to_owned(),
        }
    }

    fn kernels(&mut self) -> Result<(), Error> {
        let Some(table) = self.table("kernel_dispatch") else {
            return Ok(());
        };
        let name = match self.table("info_kernel_symbol") {
            Some(symbols) => format!(
                "(SELECT COALESCE(s.display_name, s.kernel_name) FROM {symbols} s WHERE s.id = r.kernel_id)"
            ),
            None => "NULL".to_owned(),
        };
        let registers = match self.table("info_kernel_symbol") {
            Some(symbols) => {
                format!("(SELECT s.arch_vgpr_count FROM {symbols} s WHERE s.id = r.kernel_id)")
            }
            None => "NULL".to_owned(),
        };
        let correlation = self.correlation_column();
        let sql = format!(
            "SELECT {name}, r.start, r.\"end\", r.agent_id, r.queue_id, r.stream_id, r.tid, {correlation}, \
             r.grid_size_x, r.grid_size_y, r.grid_size_z, r.workgroup_size_x, r.workgroup_size_y, r.workgroup_size_z, \
             r.group_segment_size, {registers}, r.kernel_id, r.id FROM {table} r"
        );
        let mut work = Vec::new();
        self.drain(&sql, &mut work, |row| {
            let three =
                |at: usize| Some([small(row, at)?, small(row, at + 1)?, small(row, at + 2)?]);
            Ok(Work {
                kind: Kind::Kernel,
                name: text(row, 0)
                    .unwrap_or_else(|| format!("kernel {}", number(row, 16).unwrap_or_default())),
                times: number(row, 1).zip(number(row, 2)),
                agent: number(row, 3),
                queue: number(row, 4),
                stream: number(row, 5),
                thread: number(row, 6),
                correlation: unsigned(row, 7),
                grid: three(8),
                block: three(11),
                shared: unsigned(row, 14),
                registers: unsigned(row, 15),
                bytes: None,
                row: unsigned(row, 17),
            })
        })
    }

    fn copies(&mut self) -> Result<(), Error> {
        let Some(table) = self.table("memory_copy") else {
            return Ok(());
        };
        let correlation = self.correlation_column();
        let sql = format!(
            "SELECT r.name_id, r.start, r.\"end\", r.src_agent_id, r.dst_agent_id, r.queue_id, r.stream_id, r.tid, \
             {correlation}, r.size FROM {table} r"
        );
        let (names, agents) = (self.names.clone(), self.agents.clone());
        let mut work = Vec::new();
        self.drain(&sql, &mut work, move |row| {
            let (from, to) = (number(row, 3), number(row, 4));
            let is_gpu =
                |agent: Option<i64>| agent.is_some_and(|agent| agents.contains_key(&agent));
            let stated = number(row, 0).and_then(|id| names.get(&id));
            let name = match stated {
                Some(name) if name.to_ascii_lowercase().contains("_to_") => name.clone(),
                _ => match (is_gpu(from), is_gpu(to)) {
                    (false, true) => "MEMORY_COPY_HOST_TO_DEVICE".to_owned(),
                    (true, false) => "MEMORY_COPY_DEVICE_TO_HOST".to_owned(),
                    (true, true) => "MEMORY_COPY_DEVICE_TO_DEVICE".to_owned(),
                    (false, false) => "MEMORY_COPY_HOST_TO_HOST".to_owned(),
                },
            };
            Ok(Work {
                kind: Kind::Copy,
                name,
                times: number(row, 1).zip(number(row, 2)),
                agent: if is_gpu(to) { to } else { from },
                queue: number(row, 5),
                stream: number(row, 6),
                thread: number(row, 7),
                correlation: unsigned(row, 8),
                grid: None,
                block: None,
                shared: None,
                registers: None,
                bytes: unsigned(row, 9),
                row: None,
            })
        })
    }

    /// Feeds work in batches, because queries and rows borrow the same value.
    fn drain(
        &mut self,
        sql: &str,
        work: &mut Vec<Work>,
        read: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<Work>,
    ) -> Result<(), Error> {
        const BATCH: u64 = 10_000;
        for batch in 0.. {
            let sql = format!("{sql} ORDER BY r.id LIMIT {BATCH} OFFSET {}", batch * BATCH);
            work.clear();
            self.rows.each(&sql, &read, |row| {
                work.push(row);
                Ok(())
            })?;
            let is_last = (work.len() as u64) < BATCH;
            for one in work.drain(..) {
                self.work(&one)?;
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }

    fn work(&mut self, work: &Work) -> Result<(), Error> {
        let Some(times_ns) = work.times else {
            self.feed
                .notes()
                .leave_out("row without times that are numbers");
            return Ok(());
        };
        let place = work
            .thread
            .and_then(|thread| self.threads.get(&thread).copied());
        let (process, thread) = place.unwrap_or_default();
        let grid = work
            .grid
            .zip(work.block)
            .map(|(grid, block)| in_blocks(grid, block));
        let slice = Slice {
            process,
            thread,
            correlation: self.correlation(work.correlation),
            device: work
                .agent
                .and_then(|agent| self.agents.get(&agent).copied()),
            stream: self.stream(work.stream, work.queue),
            grid,
            block: work.block,
            registers: work.registers,
            shared_memory_bytes: work.shared,
            bytes: work.bytes,
            key: work.row.map(|row| row.wrapping_add(self.correlations)),
            ..Slice::new(work.kind, &work.name, times_ns)
        };
        self.feed.slice(&slice)
    }

    fn regions(&mut self) -> Result<(), Error> {
        let Some(table) = self.table("region") else {
            return Ok(());
        };
        let correlation = self.correlation_column();
        let category = match self.events() {
            Some(events) => {
                format!("(SELECT e.category_id FROM {events} e WHERE e.id = r.event_id)")
            }
            None => "NULL".to_owned(),
        };
        let sql = format!(
            "SELECT r.name_id, r.start, r.\"end\", r.tid, {correlation}, {category} FROM {table} r"
        );
        let Self {
            rows,
            feed,
            names,
            threads,
            correlations,
            ..
        } = self;
        rows.each(
            &sql,
            |row| {
                Ok((
                    number(row, 0),
                    number(row, 1).zip(number(row, 2)),
                    number(row, 3),
                    unsigned(row, 4),
                    number(row, 5),
                ))
            },
            |(name, times, thread, correlation, category)| {
                let (Some(name), Some(times_ns)) = (name.and_then(|id| names.get(&id)), times)
                else {
                    feed.notes()
                        .leave_out("row without a name, or without times");
                    return Ok(());
                };
                let category = category
                    .and_then(|id| names.get(&id))
                    .map_or("", String::as_str);
                let is_call = ["HIP", "HSA", "RCCL", "OMPT", "ROCDECODE", "ROCJPEG"]
                    .iter()
                    .any(|api| category.to_ascii_uppercase().starts_with(api))
                    || trueno_analysis::vendors::call(name).is_some();
                let place = thread.and_then(|thread| threads.get(&thread).copied());
                let (process, thread) = place.unwrap_or_default();
                if times_ns.0 == times_ns.1 && !is_call {
                    return feed.instant((process, thread), name, times_ns.0);
                }
                let correlation = correlation.filter(|id| *id != 0);
                let slice = Slice {
                    process,
                    thread,
                    correlation: correlation.map(|id| id.wrapping_add(*correlations)),
                    ..Slice::new(
                        if is_call { Kind::Call } else { Kind::Range },
                        name,
                        times_ns,
                    )
                };
                feed.slice(&slice)
            },
        )
    }

    fn allocations(&mut self) -> Result<(), Error> {
        let Some(table) = self.table("memory_allocate") else {
            return Ok(());
        };
        let sql = format!(
            "SELECT type, level, \"end\", size, address, agent_id, tid FROM {table} ORDER BY start, id"
        );
        let Self {
            rows,
            feed,
            agents,
            threads,
            ..
        } = self;
        // A release states an address and no size.
        let mut sizes: HashMap<u64, i64> = HashMap::new();
        rows.each(
            &sql,
            |row| {
                Ok((
                    text(row, 0).unwrap_or_default(),
                    text(row, 1).unwrap_or_default(),
                    number(row, 2),
                    number(row, 3).unwrap_or(0),
                    unsigned(row, 4),
                    number(row, 5),
                    number(row, 6),
                ))
            },
            |(kind, level, time_ns, size, address, agent, thread)| {
                let Some(time_ns) = time_ns.filter(|_| level == "REAL") else {
                    feed.notes()
                        .skip("reservation of addresses, or scratch memory of kernels");
                    return Ok(());
                };
                let bytes = match (kind.as_str(), address) {
                    ("ALLOC", address) => {
                        sizes.extend(address.map(|address| (address, size)));
                        size
                    }
                    ("FREE", Some(address)) => -sizes.remove(&address).unwrap_or(size),
                    _ => 0,
                };
                if bytes == 0 {
                    feed.notes()
                        .leave_out("allocation or release that states no bytes");
                    return Ok(());
                }
                let place = thread.and_then(|thread| threads.get(&thread).copied());
                let device = agent.and_then(|agent| agents.get(&agent).copied());
                feed.allocation(
                    place.unwrap_or_default(),
                    time_ns,
                    bytes,
                    address,
                    device,
                    None,
                )
            },
        )
    }

    fn counters(&mut self) -> Result<(), Error> {
        let (Some(events), Some(names), Some(kernels)) = (
            self.table("pmc_event"),
            self.table("info_pmc"),
            self.table("kernel_dispatch"),
        ) else {
            return Ok(());
        };
        let sql = format!(
            "SELECT n.name, k.start, v.value, k.id FROM {events} v JOIN {names} n ON n.id = v.pmc_id \
             JOIN {kernels} k ON k.event_id = v.event_id"
        );
        let Self {
            rows,
            feed,
            correlations,
            ..
        } = self;
        rows.each(
            &sql,
            |row| Ok((text(row, 0), number(row, 1), real(row, 2), unsigned(row, 3))),
            |counter| match counter {
                (Some(name), Some(time_ns), Some(value), Some(kernel)) => {
                    let key = kernel.wrapping_add(*correlations);
                    feed.kernel_counter(key, &name, time_ns, value)
                }
                _ => {
                    feed.notes().leave_out("counter without a name or a number");
                    Ok(())
                }
            },
        )
    }
}

struct Work {
    kind: Kind,
    name: String,
    times: Option<(i64, i64)>,
    agent: Option<i64>,
    queue: Option<i64>,
    stream: Option<i64>,
    thread: Option<i64>,
    correlation: Option<u64>,
    /// In work items.
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    shared: Option<u64>,
    registers: Option<u64>,
    bytes: Option<u64>,
    /// Of a kernel, for its counters.
    row: Option<u64>,
}

#[cfg(test)]
mod tests;
