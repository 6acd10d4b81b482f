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

mod allocators;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder};
use trueno_analysis::vendors::{is_mark_row, is_task_of_collective, is_wait_row};

use self::allocators::{AllocatorId, Allocators, Change};
use crate::Error;
use crate::chrome::feed::{Feed, Kind, NO_BYTES, NO_NAME_OR_TIMES};
use crate::chrome::feed::{PART_OF_COLLECTIVE, Slice, WAIT_OF_LOWER_LAYER, is_copy};
use crate::collective_tasks::{
    CollectiveTasks, WAIT_NS, is_of_unknown_kind, lies_within_collectives,
};
use crate::cuda::cupti_enums::Direction;
use crate::importer::{Head, Import, Importer};
use crate::sqlite_rows::{Cells, Rows, Texts, quoted};

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
    let library = LibraryStreams::find(rows, &sql, names, &collectives)?;
    let operations = rows.texts("ENUM_MEMCPY_OPERATION", ["id", "name"])?;
    let mut streams: HashMap<i64, u32> = HashMap::new();
    let mut tasks = CollectiveTasks::default();
    rows.each(&sql, |row| {
        let task = Task::of(row, names, &collectives);
        if let (Some(connection), Some(stream)) = (task.collective, task.stream) {
            streams.entry(connection).or_insert(stream);
        }
        let is_task = task.is_listed || task.collective.is_some();
        if !collectives.is_empty() && (is_task || library.has(&task)) {
            if let (Some(device), Some(kind), Some(times_ns)) =
                (task.device, task.kind, task.times_ns)
                && !library.is_launch(&task)
            {
                tasks.add(device, kind, times_ns);
            }
            feed.notes().repeat(PART_OF_COLLECTIVE);
            return Ok(());
        }
        let (Some(name), Some(times_ns)) = (task.computed.or(task.kind), task.times_ns) else {
            return feed.leave_out(NO_NAME_OR_TIMES);
        };
        let operation = row.number(9);
        let direction = operations.of(operation).or(names.of(operation));
        let direction = direction.and_then(Direction::from_words);
        let described = direction.map(|direction| format!("Memcpy {}", direction.name()));
        feed.slice(&Slice {
            correlation: task.connection.map(i64::cast_unsigned),
            device: task.device,
            stream: task.stream,
            bytes: row.unsigned(8),
            key: row.unsigned(5).filter(|_| task.computed.is_some()),
            ..Slice::new(Kind::Work, described.as_deref().unwrap_or(name), times_ns)
        })
    })?;
    for op in collectives.values().flatten() {
        if let Some(device) = op.device.or(library.only_device) {
            tasks.add_collective(device, op.times_ns);
        }
    }
    let waits = tasks.waits();
    for (connection, ops) in collectives {
        for op in ops {
            let device = op.device.or(library.only_device);
            let of_device = device.and_then(|device| waits.get(&device));
            let wait_ns = of_device.and_then(|waits| waits.within_ns(op.times_ns));
            let text = wait_ns.unwrap_or_default().to_string();
            let wait = [(WAIT_NS, text.as_str())];
            feed.slice(&Slice {
                correlation: Some(connection.cast_unsigned()),
                device,
                attributes: if wait_ns.is_some() { &wait } else { &[] },
                stream: streams.get(&connection).copied(),
                ..Slice::new(Kind::Kernel, &op.name, op.times_ns)
            })?;
        }
    }
    Ok(())
}

type Collectives = BTreeMap<i64, Vec<Collective>>;

/// A row of `TASK` and of the tables that describe it.
struct Task<'n> {
    device: Option<u32>,
    stream: Option<u32>,
    times_ns: Option<(i64, i64)>,
    connection: Option<i64>,
    /// The connection, if it is that of a whole collective.
    collective: Option<i64>,
    /// `COMMUNICATION_TASK_INFO` has it.
    is_listed: bool,
    kind: Option<&'n str>,
    /// Name of the kernel.
    computed: Option<&'n str>,
}

impl<'n> Task<'n> {
    fn of(row: Cells<'_>, names: &'n Texts, collectives: &Collectives) -> Self {
        let connection = row.number(4).filter(|id| *id != NO_CONNECTION);
        // At level 0 the profiler states no kinds of tasks of collectives.
        let stated = names.of(row.number(11)).filter(|kind| *kind != "N/A");
        Self {
            device: row.small(2),
            stream: row.small(3),
            times_ns: row.times(0),
            connection,
            collective: connection.filter(|connection| collectives.contains_key(connection)),
            is_listed: row.number(10).is_some(),
            kind: stated.or(names.of(row.number(6))),
            computed: names.of(row.number(7)),
        }
    }
}

/// Streams that only the library of collectives uses. Only the first stream of a collective has tasks with its
/// connection.
#[derive(Default)]
struct LibraryStreams {
    streams: HashSet<(u32, u32)>,
    /// By device.
    collectives: BTreeMap<u32, IntervalSet<i64>>,
    /// Connections of collectives whose tasks are listed.
    listed: HashSet<i64>,
    /// Older files name no device with a collective, and have tasks of one.
    only_device: Option<u32>,
}

#[derive(Default)]
struct StreamUse {
    has_tasks_of_collectives: bool,
    has_other_work: bool,
    total_ns: i64,
    within_ns: i64,
}

impl StreamUse {
    fn see(&mut self, task: &Task<'_>, name: &str) {
        if is_task_of_collective(name) || task.is_listed || task.collective.is_some() {
            self.has_tasks_of_collectives = true;
            return;
        }
        // Work of collectives has no call of its own.
        let is_launched = task.connection.is_some();
        if is_of_unknown_kind(name) && !is_launched {
            self.has_tasks_of_collectives = true;
        } else if !is_copy(name) || is_launched {
            self.has_other_work = true;
        }
    }
}

impl LibraryStreams {
    fn find(
        rows: &Rows<'_>,
        sql: &str,
        names: &Texts,
        collectives: &Collectives,
    ) -> Result<Self, Error> {
        let mut out = Self::default();
        let mut devices = BTreeSet::new();
        rows.each("SELECT DISTINCT deviceId FROM TASK", |row| {
            devices.extend(row.small(0));
            Ok(())
        })?;
        out.only_device = devices.first().filter(|_| devices.len() == 1).copied();
        let mut times: BTreeMap<u32, IntervalSetBuilder<i64>> = BTreeMap::new();
        for op in collectives.values().flatten() {
            if let Some(device) = op.device.or(out.only_device) {
                let (start_ns, end_ns) = op.times_ns;
                times.entry(device).or_default().add(start_ns, end_ns);
            }
        }
        let times = times.into_iter();
        out.collectives = times.map(|(device, of)| (device, of.finish())).collect();
        if out.collectives.is_empty() {
            return Ok(out);
        }
        let mut uses: HashMap<(u32, u32), StreamUse> = HashMap::new();
        rows.each(sql, |row| {
            let task = Task::of(row, names, collectives);
            if task.is_listed {
                out.listed.extend(task.collective);
            }
            let place = task.device.zip(task.stream);
            let name = task.computed.or(task.kind);
            let (Some(place), Some(name), Some((start_ns, end_ns))) = (place, name, task.times_ns)
            else {
                return Ok(());
            };
            if is_mark_row(name) || is_wait_row(name) {
                return Ok(());
            }
            let of = uses.entry(place).or_default();
            of.see(&task, name);
            let collectives = out.collectives.get(&place.0);
            of.total_ns = of.total_ns.saturating_add(end_ns.saturating_sub(start_ns));
            let within_ns = collectives.map_or(0, |set| set.within_ns(start_ns, end_ns));
            of.within_ns = of.within_ns.saturating_add(within_ns);
            Ok(())
        })?;
        let is_of_library = |of: &StreamUse| {
            of.has_tasks_of_collectives
                && !of.has_other_work
                && lies_within_collectives(of.total_ns, of.within_ns)
        };
        let uses = uses.into_iter().filter(|(_, of)| is_of_library(of));
        out.streams = uses.map(|(place, _)| place).collect();
        Ok(out)
    }

    /// True for a task of a whole collective that nothing but its stream and its time says so of.
    fn has(&self, task: &Task<'_>) -> bool {
        let (Some((device, stream)), Some((start_ns, end_ns))) =
            (task.device.zip(task.stream), task.times_ns)
        else {
            return false;
        };
        let name = task.kind.unwrap_or_default();
        self.streams.contains(&(device, stream))
            && !is_mark_row(name)
            && !is_wait_row(name)
            && self.collectives.get(&device).is_some_and(|set| {
                let end_ns = end_ns.max(start_ns.saturating_add(1));
                set.overlapping(start_ns, end_ns).next().is_some()
            })
    }

    /// True for the launch of a collective whose tasks the file lists: it runs as long as all of them.
    fn is_launch(&self, task: &Task<'_>) -> bool {
        let is_of_listed = |connection| self.listed.contains(&connection);
        !task.is_listed && task.collective.is_some_and(is_of_listed)
    }
}

/// The collectives as a whole, by their connection.
fn collectives(rows: &Rows<'_>, names: &Texts, feed: &mut Feed<'_>) -> Result<Collectives, Error> {
    let mut collectives = Collectives::new();
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

/// The allocations of operators, with what the allocators of their device then held together.
fn allocations(rows: &Rows<'_>, feed: &mut Feed<'_>) -> Result<(), Error> {
    if !rows.has("OP_MEMORY") {
        return Ok(());
    }
    // Memory that CANN takes by itself has no stream of PyTorch, and totals of its own.
    let states_stream = rows.columns("OP_MEMORY")?.contains("streamptr");
    let is_of_pytorch = if states_stream {
        "streamPtr IS NOT NULL"
    } else {
        "1"
    };
    let sql = format!(
        "SELECT allocationTime AS time, size AS bytes, allocationTotalAllocated, allocationTotalReserved, deviceId, \
         {is_of_pytorch} FROM OP_MEMORY WHERE allocationTime > 0 UNION ALL \
         SELECT releaseTime, -size, releaseTotalAllocated, releaseTotalReserved, deviceId, {is_of_pytorch} \
         FROM OP_MEMORY WHERE releaseTime > 0 ORDER BY time, bytes"
    );
    let mut allocators = Allocators::default();
    rows.each(&sql, |row| {
        if let Some((id, change)) = allocation(row) {
            allocators.begin(id, &change);
        }
        Ok(())
    })?;
    rows.each(&sql, |row| {
        let (Some((id, change)), Some(time_ns)) = (allocation(row), row.number(0)) else {
            return feed.leave_out(NO_BYTES);
        };
        let mut add =
            |bytes, totals| feed.allocation((0, 0), time_ns, bytes, None, Some(id.device), totals);
        let unrecorded_bytes = allocators.change(id, &change);
        if unrecorded_bytes != 0 {
            add(unrecorded_bytes, None)?;
        }
        add(change.bytes, allocators.totals_bytes(id.device))
    })
}

fn allocation(row: Cells<'_>) -> Option<(AllocatorId, Change)> {
    let id = AllocatorId {
        device: row.small(4)?,
        is_of_pytorch: row.number(5) == Some(1),
    };
    let allocated_bytes = row.number(2).zip(row.number(3));
    let totals_bytes =
        allocated_bytes.filter(|(allocated, reserved)| *allocated >= 0 && *reserved >= 0);
    let bytes = row.number(1)?;
    Some((
        id,
        Change {
            bytes,
            totals_bytes,
        },
    ))
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
