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

use crate::Error;
use crate::chrome::feed::{Feed, Kind, NO_BYTES, NO_NAME_OR_TIMES};
use crate::chrome::feed::{PART_OF_COLLECTIVE, Slice, WAIT_OF_LOWER_LAYER};
use crate::collective_tasks::{CollectiveTasks, WAIT_NS};
use crate::cuda::cupti_enums::Direction;
use crate::importer::{Head, Import, Importer};
use crate::sqlite_rows::{Rows, Texts, quoted};

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

pub const IMPORTER: Importer = Importer {
    name: "ascend-db",
    description: "Ascend: the database of msprof or torch_npu's profiler",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let has = |table| head.is_database_with(&[table]);
    has("STRING_IDS") && has("COMPUTE_TASK_INFO")
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let rows = Rows::open(&mut import)?;
    if !rows.has("TASK") && !rows.has("CANN_API") && !rows.has("PYTORCH_API") {
        return Err(import.refused(
            "expected a database of Ascend's profiler with a table TASK, CANN_API or PYTORCH_API, found none of them",
        ));
    }
    let names = rows.texts("STRING_IDS", ["id", "value"])?;
    let mut feed = Feed::new(import, "Ascend");
    devices(&rows, &mut feed)?;
    tasks(&rows, &names, &mut feed)?;
    feed.progress(rows.bytes / 2);
    calls(&rows, &names, &mut feed)?;
    operators(&rows, &names, &mut feed)?;
    marks(&rows, &names, &mut feed)?;
    allocations(&rows, &mut feed)?;
    counters(&rows, &names, &mut feed)?;
    count_the_rest(&rows, &mut feed)?;
    rows.finish(feed)
}

/// Process and thread in one number.
fn place(thread: Option<u64>) -> (u64, u64) {
    let thread = thread.unwrap_or(0);
    (thread >> 32, thread & u64::from(u32::MAX))
}

fn devices(rows: &Rows<'_>, feed: &mut Feed<'_>) -> Result<(), Error> {
    if !rows.has("NPU_INFO") {
        return Ok(());
    }
    rows.each(
        "SELECT id, name FROM NPU_INFO ORDER BY id",
        |row| match row.small(0) {
            Some(device) => feed.device(device, row.text(1).as_deref().unwrap_or("Ascend"), None),
            None => Ok(()),
        },
    )
}

fn tasks(rows: &Rows<'_>, names: &Texts, feed: &mut Feed<'_>) -> Result<(), Error> {
    if !rows.has("TASK") {
        return Ok(());
    }
    let collectives = collectives(rows, names, feed)?;
    let [computes, copies, parts] = [
        ("COMPUTE_TASK_INFO", "min(name) AS name"),
        (
            "MEMCPY_INFO",
            "min(size) AS size, min(memcpyOperation) AS operation",
        ),
        ("COMMUNICATION_TASK_INFO", "min(taskType) AS kind"),
    ]
    .map(|(table, columns)| {
        if rows.has(table) {
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
    let operations = rows.texts("ENUM_MEMCPY_OPERATION", ["id", "name"])?;
    let mut devices = BTreeSet::new();
    let mut streams: HashMap<i64, u32> = HashMap::new();
    let mut tasks = CollectiveTasks::default();
    rows.each(&sql, |row| {
        let (device, stream) = (row.small(2), row.small(3));
        devices.extend(device);
        let connection = row.number(4);
        let connection = connection.filter(|connection| *connection != NO_CONNECTION);
        let of_collective = connection.filter(|connection| collectives.contains_key(connection));
        if let (Some(connection), Some(stream)) = (of_collective, stream) {
            streams.entry(connection).or_insert(stream);
        }
        let is_part = row.number(10).is_some();
        if !collectives.is_empty() && (is_part || of_collective.is_some()) {
            let kind = names.of(row.number(11)).or(names.of(row.number(6)));
            if let (Some(device), Some(kind), Some(times_ns)) = (device, kind, row.times(0)) {
                tasks.add(device, kind, times_ns);
            }
            feed.notes().repeat(PART_OF_COLLECTIVE);
            return Ok(());
        }
        let kind = names.of(row.number(11)).or(names.of(row.number(6)));
        let computed = names.of(row.number(7));
        let (Some(name), Some(times_ns)) = (computed.or(kind), row.times(0)) else {
            return feed.leave_out(NO_NAME_OR_TIMES);
        };
        let operation = row.number(9);
        let direction = operations.of(operation).or(names.of(operation));
        let direction = direction.and_then(Direction::from_words);
        let described = direction.map(|direction| format!("Memcpy {}", direction.name()));
        feed.slice(&Slice {
            correlation: connection.map(i64::cast_unsigned),
            device,
            stream,
            bytes: row.unsigned(8),
            key: row.unsigned(5).filter(|_| computed.is_some()),
            ..Slice::new(Kind::Work, described.as_deref().unwrap_or(name), times_ns)
        })
    })?;
    // Older files name no device with a collective, and have tasks of one.
    let only = devices.first().filter(|_| devices.len() == 1).copied();
    let waits = tasks.waits();
    for (connection, ops) in collectives {
        for op in ops {
            let device = op.device.or(only);
            let of_device = device.and_then(|device| waits.get(&device));
            let (start_ns, end_ns) = op.times_ns;
            let wait_ns = of_device.map_or(0, |waits| waits.within_ns(start_ns, end_ns));
            let text = wait_ns.to_string();
            let wait = [(WAIT_NS, text.as_str())];
            feed.slice(&Slice {
                correlation: Some(connection.cast_unsigned()),
                device,
                attributes: if wait_ns > 0 { &wait } else { &[] },
                stream: streams.get(&connection).copied(),
                ..Slice::new(Kind::Kernel, &op.name, op.times_ns)
            })?;
        }
    }
    Ok(())
}

/// The collectives as a whole, by their connection.
fn collectives(
    rows: &Rows<'_>,
    names: &Texts,
    feed: &mut Feed<'_>,
) -> Result<BTreeMap<i64, Vec<Collective>>, Error> {
    let mut collectives = BTreeMap::<i64, Vec<Collective>>::new();
    if !rows.has("COMMUNICATION_OP") {
        return Ok(collectives);
    }
    let states_device = rows.columns("COMMUNICATION_OP")?.contains("deviceid");
    let device = if states_device { "deviceId" } else { "NULL" };
    let sql =
        format!("SELECT opName, startNs, endNs, connectionId, {device} FROM COMMUNICATION_OP");
    rows.each(&sql, |row| {
        let name = names.of(row.number(0));
        let (Some(name), Some(times_ns), Some(connection)) = (name, row.times(1), row.number(3))
        else {
            return feed.leave_out(NO_NAME_OR_TIMES);
        };
        collectives.entry(connection).or_default().push(Collective {
            name: name.to_owned(),
            times_ns,
            device: row.small(4),
        });
        Ok(())
    })?;
    Ok(collectives)
}

fn calls(rows: &Rows<'_>, names: &Texts, feed: &mut Feed<'_>) -> Result<(), Error> {
    let Some(table) = ["CANN_API", "API"]
        .into_iter()
        .find(|table| rows.has(table))
    else {
        return Ok(());
    };
    let sql = format!("SELECT startNs, endNs, type, globalTid, connectionId, name FROM {table}");
    rows.each(&sql, |row| {
        let (Some(name), Some(times_ns)) = (names.of(row.number(5)), row.times(0)) else {
            return feed.leave_out(NO_NAME_OR_TIMES);
        };
        let layer = row.number(2);
        if layer == Some(RUNTIME) && name.ends_with("Synchronize") {
            feed.notes().repeat(WAIT_OF_LOWER_LAYER);
            return Ok(());
        }
        let (process, thread) = place(row.unsigned(3));
        let name = match layer.and_then(layer_name) {
            Some(layer) => format!("{layer}@{name}"),
            None => name.to_owned(),
        };
        feed.slice(&Slice {
            process,
            thread,
            correlation: row.unsigned(4),
            ..Slice::new(Kind::Call, &name, times_ns)
        })
    })
}

fn operators(rows: &Rows<'_>, names: &Texts, feed: &mut Feed<'_>) -> Result<(), Error> {
    if !rows.has("PYTORCH_API") {
        return Ok(());
    }
    let sql = "SELECT startNs, endNs, globalTid, type, name FROM PYTORCH_API";
    rows.each(sql, |row| {
        let (Some(name), Some(times_ns)) = (names.of(row.number(4)), row.times(0)) else {
            return feed.leave_out(NO_NAME_OR_TIMES);
        };
        let (process, thread) = place(row.unsigned(2));
        let kind = match row.number(3) {
            Some(OPERATOR) => Kind::Operator,
            Some(FUNCTION) => Kind::Function,
            _ => Kind::Range,
        };
        feed.slice(&Slice {
            process,
            thread,
            ..Slice::new(kind, name, times_ns)
        })
    })
}

fn marks(rows: &Rows<'_>, names: &Texts, feed: &mut Feed<'_>) -> Result<(), Error> {
    if !rows.has("MSTX_EVENTS") {
        return Ok(());
    }
    let sql = "SELECT startNs, endNs, globalTid, message FROM MSTX_EVENTS";
    rows.each(sql, |row| {
        let (Some(name), Some(start_ns)) = (names.of(row.number(3)), row.number(0)) else {
            return feed.leave_out(NO_NAME_OR_TIMES);
        };
        let (process, thread) = place(row.unsigned(2));
        match row.number(1).filter(|end_ns| *end_ns > start_ns) {
            None => feed.instant((process, thread), name, start_ns),
            Some(end_ns) => feed.slice(&Slice {
                process,
                thread,
                ..Slice::new(Kind::Range, name, (start_ns, end_ns))
            }),
        }
    })
}

/// The allocations of operators, with the totals of the allocator that the file states.
fn allocations(rows: &Rows<'_>, feed: &mut Feed<'_>) -> Result<(), Error> {
    if !rows.has("OP_MEMORY") {
        return Ok(());
    }
    let sql = "SELECT allocationTime AS time, size AS bytes, allocationTotalAllocated, allocationTotalReserved, deviceId \
               FROM OP_MEMORY WHERE allocationTime > 0 UNION ALL \
               SELECT releaseTime, -size, releaseTotalAllocated, releaseTotalReserved, deviceId FROM OP_MEMORY \
               WHERE releaseTime > 0 ORDER BY time";
    rows.each(sql, |row| {
        let stated = row.number(0).zip(row.number(1)).zip(row.small(4));
        let Some(((time_ns, bytes), device)) = stated else {
            return feed.leave_out(NO_BYTES);
        };
        let totals = row.unsigned(2).zip(row.unsigned(3));
        feed.allocation((0, 0), time_ns, bytes, None, Some(device), totals)
    })
}

fn counters(rows: &Rows<'_>, names: &Texts, feed: &mut Feed<'_>) -> Result<(), Error> {
    if !rows.has("TASK_PMU_INFO") || !rows.has("TASK") {
        return Ok(());
    }
    let mut without = HashSet::new();
    let sql = "SELECT globalTaskId, name FROM TASK_PMU_INFO WHERE value = 0";
    rows.each(sql, |row| {
        let unit = names.of(row.number(1));
        let unit = unit.and_then(|name| name.strip_suffix("_total_time"));
        without.extend(row.unsigned(0).zip(unit));
        Ok(())
    })?;
    let times = "(SELECT globalTaskId, min(startNs) AS startNs FROM TASK GROUP BY globalTaskId)";
    let sql = format!(
        "SELECT p.globalTaskId, p.name, p.value, t.startNs FROM TASK_PMU_INFO p JOIN {times} t \
         ON t.globalTaskId = p.globalTaskId"
    );
    rows.each(&sql, |row| {
        let (task, name) = (row.unsigned(0), names.of(row.number(1)));
        // A unit that did not run has no figures.
        let unit = name.and_then(|name| name.split('_').next());
        if task.zip(unit).is_some_and(|of| without.contains(&of)) {
            return Ok(());
        }
        feed.kernel_counter(task, name, row.number(3), row.real(2))
    })
}

fn count_the_rest(rows: &Rows<'_>, feed: &mut Feed<'_>) -> Result<(), Error> {
    let is_unread = |table: &&str| !READ.contains(table) && !table.starts_with("ENUM_");
    for table in rows.tables().filter(is_unread) {
        let sql = format!("SELECT count(*) FROM {}", quoted(table));
        rows.each(&sql, |row| {
            if let Some(count @ 1..) = row.unsigned(0) {
                feed.notes().skip_many(&format!("table {table}"), count);
            }
            Ok(())
        })?;
    }
    Ok(())
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
