//! The databases of Ascend's profilers: `ascend_pytorch_profiler_N.db` of `torch_npu`, `msprof_TIME.db` of msprof.
//!
//! | table | row |
//! | --- | --- |
//! | `TASK` with `COMPUTE_TASK_INFO`, `MEMCPY_INFO` | kernels, transfers, waits of streams |
//! | `COMMUNICATION_OP` | a kernel for each collective; its tasks are repeated |
//! | `CANN_API` | calls, linked to tasks by their connection |
//! | `PYTORCH_API` | bricks, iterations, Python functions |
//! | `MSTX_EVENTS` | bricks and annotations |
//! | `OP_MEMORY` | allocations |
//! | `TASK_PMU_INFO` | counters of their kernel |
//!
//! Names are held in memory, rows are not.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use trueno_format::run_writer::RunWriter;

use crate::chrome::feed::{Feed, Kind, PART_OF_COLLECTIVE, Slice, WAIT_OF_LOWER_LAYER};
use crate::cuda::cupti_enums::Direction;
use crate::importer::{Head, Importer};
use crate::sqlite_rows::{Rows, number, quoted, real, small, text, unsigned};
use crate::{Error, Notes, Options};

/// Tables that are read, or that name what others hold.
const READ: [&str; 18] = [
    "TASK",
    "COMPUTE_TASK_INFO",
    "MEMCPY_INFO",
    "COMMUNICATION_OP",
    "COMMUNICATION_TASK_INFO",
    "COMMUNICATION_SCHEDULE_TASK_INFO",
    "CANN_API",
    "API",
    "PYTORCH_API",
    "MSTX_EVENTS",
    "OP_MEMORY",
    "TASK_PMU_INFO",
    "STRING_IDS",
    "NPU_INFO",
    "HOST_INFO",
    "META_DATA",
    "SESSION_TIME_INFO",
    "CONNECTION_IDS",
];
const NO_CONNECTION: i64 = u32::MAX as i64;
const NO_TIMES: &str = "row without a name, or without times";

pub struct AscendDb;

impl Importer for AscendDb {
    fn name(&self) -> &'static str {
        "ascend-db"
    }

    fn description(&self) -> &'static str {
        "Ascend: the database of msprof or torch_npu's profiler"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        let has = |table| head.is_database_with(&[table]);
        has("STRING_IDS") && has("COMPUTE_TASK_INFO")
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
        if !rows.has("TASK") && !rows.has("CANN_API") && !rows.has("PYTORCH_API") {
            return Err(Error::Format {
                path: path.to_owned(),
                problem: "expected a database of Ascend's profiler with a table TASK, CANN_API or PYTORCH_API, found \
                          none of them"
                    .to_owned(),
            });
        }
        let names = rows.texts("STRING_IDS", ["id", "value"])?;
        let feed = Feed::new(path, "Ascend", into, notes, options);
        let mut import = Import { rows, feed, names };
        import.devices()?;
        import.tasks()?;
        progress(import.rows.bytes / 2);
        import.calls()?;
        import.operators()?;
        import.marks()?;
        import.allocations()?;
        import.counters()?;
        import.count_the_rest()?;
        progress(import.rows.bytes);
        import.rows.finish(import.feed, options)
    }
}

struct Import<'a> {
    rows: Rows,
    feed: Feed<'a>,
    names: HashMap<i64, String>,
}

/// Process and thread in one number.
fn place(thread: Option<u64>) -> (u64, u64) {
    let thread = thread.unwrap_or(0);
    (thread >> 32, thread & u64::from(u32::MAX))
}

impl Import<'_> {
    fn devices(&mut self) -> Result<(), Error> {
        if !self.rows.has("NPU_INFO") {
            return Ok(());
        }
        let mut devices = Vec::new();
        self.rows.each(
            "SELECT id, name FROM NPU_INFO ORDER BY id",
            |row| Ok((small(row, 0), text(row, 1))),
            |device| {
                devices.push(device);
                Ok(())
            },
        )?;
        for (device, name) in devices {
            if let Some(device) = device {
                self.feed
                    .device(device, name.as_deref().unwrap_or("Ascend"), None)?;
            }
        }
        Ok(())
    }

    fn tasks(&mut self) -> Result<(), Error> {
        if !self.rows.has("TASK") {
            return Ok(());
        }
        let collectives = self.collectives()?;
        let has_collectives = !collectives.is_empty();
        let [computes, copies, parts] = [
            ("COMPUTE_TASK_INFO", "min(name) AS name"),
            (
                "MEMCPY_INFO",
                "min(size) AS size, min(memcpyOperation) AS operation",
            ),
            ("COMMUNICATION_TASK_INFO", "min(taskType) AS kind"),
        ]
        .map(|(table, columns)| {
            if self.rows.has(table) {
                format!("(SELECT globalTaskId, {columns} FROM {table} GROUP BY globalTaskId)")
            } else {
                "(SELECT NULL AS globalTaskId, NULL AS name, NULL AS size, NULL AS operation, NULL AS kind)".to_owned()
            }
        });
        // SQLite makes an index to join by, whether or not the file has one.
        let sql = format!(
            "SELECT t.startNs, t.endNs, t.deviceId, t.streamId, t.connectionId, t.globalTaskId, t.taskType, c.name, \
             m.size, m.operation, p.globalTaskId, p.kind FROM TASK t \
             LEFT JOIN {computes} c ON c.globalTaskId = t.globalTaskId \
             LEFT JOIN {copies} m ON m.globalTaskId = t.globalTaskId \
             LEFT JOIN {parts} p ON p.globalTaskId = t.globalTaskId"
        );
        let operations = self.rows.texts("ENUM_MEMCPY_OPERATION", ["id", "name"])?;
        let Self { rows, feed, names } = self;
        let mut devices = BTreeSet::new();
        let mut streams: HashMap<i64, u32> = HashMap::new();
        rows.each(
            &sql,
            |row| {
                Ok((
                    number(row, 0).zip(number(row, 1)),
                    (small(row, 2), small(row, 3)),
                    number(row, 4).filter(|connection| *connection != NO_CONNECTION),
                    unsigned(row, 5),
                    (number(row, 6), number(row, 7)),
                    (unsigned(row, 8), number(row, 9)),
                    (number(row, 10).is_some(), number(row, 11)),
                ))
            },
            |(
                times,
                (device, stream),
                connection,
                task,
                (kind, name),
                (bytes, operation),
                part,
            )| {
                devices.extend(device);
                let is_collective =
                    connection.is_some_and(|connection| collectives.contains_key(&connection));
                if let (true, Some(connection), Some(stream)) = (is_collective, connection, stream)
                {
                    streams.entry(connection).or_insert(stream);
                }
                let (is_part, part_kind) = part;
                if has_collectives && (is_part || is_collective) {
                    feed.notes().repeat(PART_OF_COLLECTIVE);
                    return Ok(());
                }
                let named = |id: Option<i64>| id.and_then(|id| names.get(&id)).map(String::as_str);
                let kind = named(part_kind).or(named(kind));
                let computed = named(name);
                let (Some(name), Some(times_ns)) = (computed.or(kind), times) else {
                    feed.notes().leave_out(NO_TIMES);
                    return Ok(());
                };
                let direction = operation.and_then(|operation| {
                    let words = operations.get(&operation).map(String::as_str);
                    Direction::from_words(words.or(named(Some(operation)))?)
                });
                let described = direction.map(|direction| format!("Memcpy {}", direction.name()));
                feed.slice(&Slice {
                    correlation: connection.map(i64::cast_unsigned),
                    device,
                    stream,
                    bytes,
                    key: task.filter(|_| computed.is_some()),
                    ..Slice::new(Kind::Work, described.as_deref().unwrap_or(name), times_ns)
                })
            },
        )?;
        // Older files name no device with a collective, and have tasks of one.
        let only = devices.first().filter(|_| devices.len() == 1).copied();
        for (connection, ops) in collectives {
            for op in ops {
                let stated = op.device.or(only);
                self.feed.slice(&Slice {
                    correlation: Some(connection.cast_unsigned()),
                    device: stated,
                    stream: streams.get(&connection).copied(),
                    ..Slice::new(Kind::Kernel, &op.name, op.times_ns)
                })?;
            }
        }
        Ok(())
    }

    /// The collectives as a whole, by their connection.
    fn collectives(&mut self) -> Result<BTreeMap<i64, Vec<Collective>>, Error> {
        let mut collectives = BTreeMap::<i64, Vec<Collective>>::new();
        if !self.rows.has("COMMUNICATION_OP") {
            return Ok(collectives);
        }
        let states_device = self.rows.columns("COMMUNICATION_OP")?.contains("deviceid");
        let device = if states_device { "deviceId" } else { "NULL" };
        let sql =
            format!("SELECT opName, startNs, endNs, connectionId, {device} FROM COMMUNICATION_OP");
        let Self { rows, feed, names } = self;
        rows.each(
            &sql,
            |row| {
                Ok((
                    number(row, 0),
                    number(row, 1).zip(number(row, 2)),
                    number(row, 3),
                    small(row, 4),
                ))
            },
            |(name, times, connection, device)| {
                let name = name.and_then(|id| names.get(&id));
                let (Some(name), Some(times_ns), Some(connection)) = (name, times, connection)
                else {
                    feed.notes().leave_out(NO_TIMES);
                    return Ok(());
                };
                collectives.entry(connection).or_default().push(Collective {
                    name: name.clone(),
                    times_ns,
                    device,
                });
                Ok(())
            },
        )?;
        Ok(collectives)
    }

    fn calls(&mut self) -> Result<(), Error> {
        let Some(table) = ["CANN_API", "API"]
            .into_iter()
            .find(|table| self.rows.has(table))
        else {
            return Ok(());
        };
        let sql =
            format!("SELECT startNs, endNs, type, globalTid, connectionId, name FROM {table}");
        let Self { rows, feed, names } = self;
        rows.each(
            &sql,
            |row| {
                Ok((
                    number(row, 0).zip(number(row, 1)),
                    number(row, 2),
                    unsigned(row, 3),
                    unsigned(row, 4),
                    number(row, 5),
                ))
            },
            |(times, layer, thread, connection, name)| {
                let name = name.and_then(|id| names.get(&id));
                let (Some(name), Some(times_ns)) = (name, times) else {
                    feed.notes().leave_out(NO_TIMES);
                    return Ok(());
                };
                let is_lower = layer == Some(RUNTIME);
                if is_lower && name.ends_with("Synchronize") {
                    feed.notes().repeat(WAIT_OF_LOWER_LAYER);
                    return Ok(());
                }
                let (process, thread) = place(thread);
                let name = match layer.and_then(layer_name) {
                    Some(layer) => format!("{layer}@{name}"),
                    None => name.clone(),
                };
                feed.slice(&Slice {
                    process,
                    thread,
                    correlation: connection,
                    ..Slice::new(Kind::Call, &name, times_ns)
                })
            },
        )
    }

    fn operators(&mut self) -> Result<(), Error> {
        if !self.rows.has("PYTORCH_API") {
            return Ok(());
        }
        let Self { rows, feed, names } = self;
        rows.each(
            "SELECT startNs, endNs, globalTid, type, name FROM PYTORCH_API",
            |row| {
                Ok((
                    number(row, 0).zip(number(row, 1)),
                    unsigned(row, 2),
                    number(row, 3),
                    number(row, 4),
                ))
            },
            |(times, thread, kind, name)| {
                let name = name.and_then(|id| names.get(&id));
                let (Some(name), Some(times_ns)) = (name, times) else {
                    feed.notes().leave_out(NO_TIMES);
                    return Ok(());
                };
                let (process, thread) = place(thread);
                let kind = match kind {
                    Some(OPERATOR) => Kind::Operator,
                    Some(FUNCTION) => Kind::Function,
                    _ => Kind::Range,
                };
                feed.slice(&Slice {
                    process,
                    thread,
                    ..Slice::new(kind, name, times_ns)
                })
            },
        )
    }

    fn marks(&mut self) -> Result<(), Error> {
        if !self.rows.has("MSTX_EVENTS") {
            return Ok(());
        }
        let Self { rows, feed, names } = self;
        rows.each(
            "SELECT startNs, endNs, globalTid, message FROM MSTX_EVENTS",
            |row| {
                Ok((
                    (number(row, 0), number(row, 1)),
                    unsigned(row, 2),
                    number(row, 3),
                ))
            },
            |((start_ns, end_ns), thread, message)| {
                let name = message.and_then(|id| names.get(&id));
                let (Some(name), Some(start_ns)) = (name, start_ns) else {
                    feed.notes().leave_out(NO_TIMES);
                    return Ok(());
                };
                let (process, thread) = place(thread);
                match end_ns.filter(|end_ns| *end_ns > start_ns) {
                    None => feed.instant((process, thread), name, start_ns),
                    Some(end_ns) => feed.slice(&Slice {
                        process,
                        thread,
                        ..Slice::new(Kind::Range, name, (start_ns, end_ns))
                    }),
                }
            },
        )
    }

    /// The allocations of operators, with the totals of the allocator that the file states.
    fn allocations(&mut self) -> Result<(), Error> {
        if !self.rows.has("OP_MEMORY") {
            return Ok(());
        }
        let Self { rows, feed, .. } = self;
        rows.each(
            "SELECT allocationTime AS time, size AS bytes, allocationTotalAllocated, allocationTotalReserved, deviceId \
             FROM OP_MEMORY WHERE allocationTime > 0 UNION ALL \
             SELECT releaseTime, -size, releaseTotalAllocated, releaseTotalReserved, deviceId FROM OP_MEMORY \
             WHERE releaseTime > 0 ORDER BY time",
            |row| {
                Ok((
                    number(row, 0).zip(number(row, 1)),
                    (unsigned(row, 2), unsigned(row, 3)),
                    small(row, 4),
                ))
            },
            |(stated, (allocated, reserved), device)| {
                let (Some((time_ns, bytes)), Some(device)) = (stated, device) else {
                    feed.notes()
                        .leave_out("allocation or release that states no bytes");
                    return Ok(());
                };
                let totals = allocated.zip(reserved);
                feed.allocation((0, 0), time_ns, bytes, None, Some(device), totals)
            },
        )
    }

    fn counters(&mut self) -> Result<(), Error> {
        if !self.rows.has("TASK_PMU_INFO") || !self.rows.has("TASK") {
            return Ok(());
        }
        let Self { rows, feed, names } = self;
        let mut without = HashSet::new();
        rows.each(
            "SELECT globalTaskId, name FROM TASK_PMU_INFO WHERE value = 0",
            |row| Ok((unsigned(row, 0), number(row, 1))),
            |(task, name)| {
                let name = name.and_then(|id| names.get(&id));
                let unit = name.and_then(|name| name.strip_suffix("_total_time"));
                if let (Some(task), Some(unit)) = (task, unit) {
                    without.insert((task, unit.to_owned()));
                }
                Ok(())
            },
        )?;
        let times =
            "(SELECT globalTaskId, min(startNs) AS startNs FROM TASK GROUP BY globalTaskId)";
        let sql = format!(
            "SELECT p.globalTaskId, p.name, p.value, t.startNs FROM TASK_PMU_INFO p JOIN {times} t \
             ON t.globalTaskId = p.globalTaskId"
        );
        rows.each(
            &sql,
            |row| {
                Ok((
                    unsigned(row, 0),
                    number(row, 1),
                    real(row, 2),
                    number(row, 3),
                ))
            },
            |(task, name, value, time_ns)| {
                let name = name.and_then(|id| names.get(&id));
                let (Some(task), Some(name), Some(value), Some(time_ns)) =
                    (task, name, value, time_ns)
                else {
                    feed.notes().leave_out("counter without a name or a number");
                    return Ok(());
                };
                // A unit that did not run has no figures.
                let unit = name.split('_').next().unwrap_or("");
                if without.contains(&(task, unit.to_owned())) {
                    return Ok(());
                }
                feed.kernel_counter(task, name, time_ns, value)
            },
        )
    }

    fn count_the_rest(&mut self) -> Result<(), Error> {
        let rest: Vec<String> = self
            .rows
            .tables()
            .filter(|table| !READ.contains(table) && !table.starts_with("ENUM_"))
            .map(str::to_owned)
            .collect();
        for table in rest {
            let mut count = 0;
            let sql = format!("SELECT count(*) FROM {}", quoted(&table));
            self.rows.each(
                &sql,
                |row| Ok(unsigned(row, 0)),
                |rows| {
                    count = rows.unwrap_or(0);
                    Ok(())
                },
            )?;
            if count > 0 {
                self.feed
                    .notes()
                    .skip_many(&format!("table {table}"), count);
            }
        }
        Ok(())
    }
}

struct Collective {
    name: String,
    times_ns: (i64, i64),
    device: Option<u32>,
}

const RUNTIME: i64 = 5_000;
const OPERATOR: i64 = 50_001;
const FUNCTION: i64 = 50_003;

/// The layer as `trace_view.json` writes it before a name.
fn layer_name(layer: i64) -> Option<&'static str> {
    Some(match layer {
        20_000 => "AscendCL",
        15_000 => "Model",
        10_000 => "Node",
        5_500 => "Hccl",
        RUNTIME => "Runtime",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
