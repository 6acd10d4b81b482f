//! The database of rocmProfileData (`.rpd`), in its versions 2 and 3.
//!
//! | table | row |
//! | --- | --- |
//! | `rocpd_op` | kernels and transfers |
//! | `rocpd_api` | calls, linked to work by `rocpd_api_ops`; markers and functions of the program as bricks |
//! | `rocpd_kernelapi`, `rocpd_copyapi` | launch shapes, bytes |
//! | `rocpd_monitor` | counters of a device, such as clocks and power |
//! | `rocpd_counter` | counters of kernels |
//!
//! Names are held in memory, rows are not.

use std::collections::{HashMap, HashSet};

use trueno_analysis::vendors;

use crate::Error;
use crate::chrome::feed::{Feed, Kind, NO_COUNTER, NO_NAME_OR_TIMES, NO_TIMES, Slice};
use crate::device_csv::in_blocks;
use crate::importer::{Import, Importer};
use crate::sqlite_rows::{Cells, Rows, Texts};

pub const IMPORTER: Importer = Importer {
    name: "rpd",
    description: "rpd: the database of rocmProfileData",
    recognises: |head| head.is_database_with(&["rocpd_api_ops"]),
    read,
};

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let rows = Rows::open(&mut import)?;
    let needed = ["rocpd_api", "rocpd_op", "rocpd_api_ops", "rocpd_string"];
    rows.need(&needed, "rocmProfileData")?;
    let mut feed = Feed::new(import, "rocmProfileData");
    let names = rows.texts("rocpd_string", ["id", "string"])?;
    work(&rows, &names, &mut feed)?;
    feed.progress(rows.bytes / 2);
    calls(&rows, &names, &mut feed)?;
    counters(&rows, &names, &mut feed)?;
    for table in ["ext_autogradapi", "rocpd_stackframe"] {
        if rows.has(table) {
            feed.notes().skip(table);
        }
    }
    rows.finish(feed)
}

fn work(rows: &Rows<'_>, names: &Texts, feed: &mut Feed<'_>) -> Result<(), Error> {
    // A graph launches many; the bytes of a call are those of its only copy.
    let mut with_several = HashSet::new();
    rows.each(
        "SELECT api_id FROM rocpd_api_ops GROUP BY api_id HAVING count(*) > 1",
        |row| {
            with_several.extend(row.number(0));
            Ok(())
        },
    )?;
    let own = "o.gpuId, o.queueId, o.start, o.\"end\", o.description_id, o.opType_id, o.id";
    let (mut columns, mut joins) = ("NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL", "");
    if rows.has("rocpd_kernelapi") {
        columns = "k.stream, k.gridX, k.gridY, k.gridZ, k.workgroupX, k.workgroupY, k.workgroupZ, k.groupSegmentSize";
        joins = "LEFT JOIN rocpd_kernelapi k ON k.api_ptr_id = x.api_id";
    }
    let (mut copies, mut of_copies) = ("NULL, NULL", "");
    if rows.has("rocpd_copyapi") {
        copies = "c.stream, c.size";
        of_copies = "LEFT JOIN rocpd_copyapi c ON c.api_ptr_id = x.api_id";
    }
    let nothing = ["NULL"; 12].join(", ");
    let queries = [
        format!(
            "SELECT {own}, x.api_id, a.apiName_id, {columns}, {copies} FROM rocpd_api_ops x \
             JOIN rocpd_op o ON o.id = x.op_id LEFT JOIN rocpd_api a ON a.id = x.api_id {joins} {of_copies}"
        ),
        format!(
            "SELECT {own}, {nothing} FROM rocpd_op o WHERE o.id NOT IN (SELECT op_id FROM rocpd_api_ops)"
        ),
    ];
    let mut streams = Streams::default();
    for sql in queries {
        rows.each(&sql, |row| {
            feed_work(row, names, &with_several, &mut streams, feed)
        })?;
    }
    Ok(())
}

/// Streams and queues in one row of numbers. Work of the default stream, and work that states none, has its queue.
#[derive(Default)]
struct Streams(HashMap<(Option<u32>, String), u32>);

impl Streams {
    fn number(&mut self, device: Option<u32>, row: Cells<'_>) -> Option<u32> {
        let stream = row.text(9).or_else(|| row.text(17));
        let stream = stream.filter(|stream| stream != "0x0" && !stream.is_empty());
        let key = stream.or(row.number(1).map(|queue| format!("queue {queue}")))?;
        let next = self.0.len() as u32;
        Some(*self.0.entry((device, key)).or_insert(next))
    }
}

fn feed_work(
    row: Cells<'_>,
    names: &Texts,
    with_several: &HashSet<i64>,
    streams: &mut Streams,
    feed: &mut Feed<'_>,
) -> Result<(), Error> {
    let Some(times_ns) = row.times(2) else {
        return feed.leave_out(NO_TIMES);
    };
    let named = |at: usize| names.of(row.number(at)).filter(|name| !name.is_empty());
    let stated = named(5).unwrap_or("work");
    let lower = stated.to_ascii_lowercase();
    if lower.contains("barrier") || lower.contains("marker") {
        feed.notes().repeat("barrier of a queue, which is no work");
        return Ok(());
    }
    let (kind, name) = if lower.starts_with("copy") {
        (Kind::Copy, stated)
    } else if lower.starts_with("fill") {
        (Kind::Fill, stated)
    } else {
        (Kind::Kernel, named(4).unwrap_or(stated))
    };
    let call = row.number(7);
    let is_only = call.is_some_and(|call| !with_several.contains(&call));
    let has_shape = kind == Kind::Kernel && is_only;
    let block = row.three(13).filter(|_| has_shape);
    // These two state a grid in work items.
    let is_in_items = named(8)
        .is_some_and(|call| call.contains("ExtModuleLaunch") || call.contains("HccModuleLaunch"));
    let grid = row.three(10).zip(block).map(|(grid, block)| {
        if is_in_items {
            in_blocks(grid, block)
        } else {
            grid
        }
    });
    let device = row.small(0);
    feed.slice(&Slice {
        correlation: call.map(i64::cast_unsigned),
        device,
        stream: streams.number(device, row),
        grid,
        block,
        shared_memory_bytes: row.unsigned(16).filter(|_| grid.is_some()),
        bytes: row.unsigned(18).filter(|_| kind == Kind::Copy && is_only),
        key: row.unsigned(6).filter(|_| kind == Kind::Kernel),
        ..Slice::new(kind, name, times_ns)
    })
}

/// Calls of HIP; everything else on a thread is a range of the program.
fn calls(rows: &Rows<'_>, names: &Texts, feed: &mut Feed<'_>) -> Result<(), Error> {
    // Version 3 keeps texts that differ from row to row apart.
    let texts = if rows.has("rocpd_ustring") {
        "rocpd_ustring"
    } else {
        "rocpd_string"
    };
    let sql = format!(
        "SELECT a.id, a.pid, a.tid, a.start, a.\"end\", a.apiName_id, \
         (SELECT s.string FROM {texts} s WHERE s.id = a.args_id) FROM rocpd_api a"
    );
    rows.each(&sql, |row| {
        let (Some(name), Some(times_ns)) = (names.of(row.number(5)), row.times(3)) else {
            return feed.leave_out(NO_NAME_OR_TIMES);
        };
        if is_of_profiler(name) {
            feed.notes().skip("overhead: the profiler's own work");
            return Ok(());
        }
        let (process, thread) = (row.unsigned(1).unwrap_or(0), row.unsigned(2).unwrap_or(0));
        let arguments = row.text(6).filter(|text| !text.is_empty());
        let name = match &arguments {
            Some(text) if is_marker(name) => text,
            _ => name,
        };
        let is_call = vendors::call(name).is_some();
        if times_ns.0 == times_ns.1 && !is_call {
            return feed.instant((process, thread), name, times_ns.0);
        }
        let kind = if is_call { Kind::Call } else { Kind::Range };
        feed.slice(&Slice {
            process,
            thread,
            correlation: row.number(0).filter(|_| is_call).map(i64::cast_unsigned),
            ..Slice::new(kind, name, times_ns)
        })
    })
}

/// A range or mark whose text is its argument.
fn is_marker(name: &str) -> bool {
    matches!(name, "UserMarker" | "roctxMark" | "roctxRangePush")
}

fn is_of_profiler(name: &str) -> bool {
    name.ends_with("Table::writeRows") || matches!(name, "hcc_activity_callback" | "rpdflush")
}

fn counters(rows: &Rows<'_>, names: &Texts, feed: &mut Feed<'_>) -> Result<(), Error> {
    if rows.has("rocpd_monitor") {
        let sql = "SELECT deviceType, deviceId, monitorType, start, value FROM rocpd_monitor";
        rows.each(sql, |row| {
            let value = row.text(4).and_then(|value| value.parse::<f64>().ok());
            let value = value.filter(|value| value.is_finite()).or(row.real(4));
            let place = (row.text(0), row.number(1), row.text(2));
            let (Some(time_ns), Some(value)) = (row.number(3), value) else {
                return feed.leave_out(NO_COUNTER);
            };
            let (Some(kind), Some(device), Some(what)) = place else {
                return feed.leave_out(NO_COUNTER);
            };
            feed.counter(0, &format!("{kind}{device} {what}"), time_ns, value)
        })?;
    }
    if rows.has("rocpd_counter") {
        let sql = "SELECT c.op_id, c.name_id, c.value, o.start FROM rocpd_counter c \
                   JOIN rocpd_op o ON o.id = c.op_id";
        rows.each(sql, |row| {
            let name = names.of(row.number(1));
            feed.kernel_counter(row.unsigned(0), name, row.number(3), row.real(2))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
