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
use std::path::Path;

use trueno_analysis::vendors;
use trueno_format::run_writer::RunWriter;

use crate::chrome::feed::{Feed, Kind, Slice};
use crate::device_csv::in_blocks;
use crate::importer::{Head, Importer};
use crate::sqlite_rows::{Rows, number, real, small, text, unsigned};
use crate::{Error, Notes, Options};

pub struct Rpd;

impl Importer for Rpd {
    fn name(&self) -> &'static str {
        "rpd"
    }

    fn description(&self) -> &'static str {
        "rpd: the database of rocmProfileData"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        head.is_database_with(&["rocpd_api_ops"])
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
        let needed = ["rocpd_api", "rocpd_op", "rocpd_api_ops", "rocpd_string"];
        if let Some(missing) = needed.into_iter().find(|table| !rows.has(table)) {
            return Err(Error::Format {
                path: path.to_owned(),
                problem: format!(
                    "expected a database of rocmProfileData, found no table {missing}"
                ),
            });
        }
        let mut feed = Feed::new(path, "rocmProfileData", into, notes, options);
        let names = rows.texts("rocpd_string", ["id", "string"])?;
        work(&mut rows, &names, &mut feed)?;
        progress(rows.bytes / 2);
        calls(&mut rows, &names, &mut feed)?;
        counters(&mut rows, &names, &mut feed)?;
        for table in ["ext_autogradapi", "rocpd_stackframe"] {
            if rows.has(table) {
                feed.notes().skip(table);
            }
        }
        progress(rows.bytes);
        rows.finish(feed, options)
    }
}

fn work(rows: &mut Rows, names: &HashMap<i64, String>, feed: &mut Feed<'_>) -> Result<(), Error> {
    // A graph launches many; the bytes of a call are those of its only copy.
    let mut with_several = HashSet::new();
    rows.each(
        "SELECT api_id FROM rocpd_api_ops GROUP BY api_id HAVING count(*) > 1",
        |row| Ok(number(row, 0)),
        |call| {
            with_several.extend(call);
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
        rows.each(
            &sql,
            |row| {
                let three =
                    |at: usize| Some([small(row, at)?, small(row, at + 1)?, small(row, at + 2)?]);
                Ok(Work {
                    device: small(row, 0),
                    queue: number(row, 1),
                    times: number(row, 2).zip(number(row, 3)),
                    name: number(row, 4),
                    kind: number(row, 5),
                    id: unsigned(row, 6),
                    call: number(row, 7),
                    call_name: number(row, 8),
                    stream: text(row, 9).or_else(|| text(row, 17)),
                    grid: three(10),
                    block: three(13),
                    shared_memory_bytes: unsigned(row, 16),
                    bytes: unsigned(row, 18),
                })
            },
            |work| feed_work(&work, names, &with_several, &mut streams, feed),
        )?;
    }
    Ok(())
}

struct Work {
    device: Option<u32>,
    queue: Option<i64>,
    times: Option<(i64, i64)>,
    name: Option<i64>,
    kind: Option<i64>,
    id: Option<u64>,
    call: Option<i64>,
    call_name: Option<i64>,
    stream: Option<String>,
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    shared_memory_bytes: Option<u64>,
    bytes: Option<u64>,
}

/// Streams and queues in one row of numbers. Work of the default stream, and work that states none, has its queue.
#[derive(Default)]
struct Streams {
    numbers: HashMap<(Option<u32>, String), u32>,
}

impl Streams {
    fn number(&mut self, work: &Work) -> Option<u32> {
        let stream = work
            .stream
            .clone()
            .filter(|stream| stream != "0x0" && !stream.is_empty());
        let key = stream.or(work.queue.map(|queue| format!("queue {queue}")))?;
        let next = self.numbers.len() as u32;
        Some(*self.numbers.entry((work.device, key)).or_insert(next))
    }
}

fn feed_work(
    work: &Work,
    names: &HashMap<i64, String>,
    with_several: &HashSet<i64>,
    streams: &mut Streams,
    feed: &mut Feed<'_>,
) -> Result<(), Error> {
    let Some(times_ns) = work.times else {
        feed.notes().leave_out("row without times that are numbers");
        return Ok(());
    };
    let named = |id: Option<i64>| {
        let name = id.and_then(|id| names.get(&id))?;
        (!name.is_empty()).then_some(name.as_str())
    };
    let stated = named(work.kind).unwrap_or("work");
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
        (Kind::Kernel, named(work.name).unwrap_or(stated))
    };
    let is_only = work.call.is_some_and(|call| !with_several.contains(&call));
    // These two state a grid in work items.
    let is_in_items = named(work.call_name)
        .is_some_and(|call| call.contains("ExtModuleLaunch") || call.contains("HccModuleLaunch"));
    let (grid, block) = if kind == Kind::Kernel && is_only {
        let blocks = work.grid.zip(work.block);
        let grid = blocks.map(|(grid, block)| {
            if is_in_items {
                in_blocks(grid, block)
            } else {
                grid
            }
        });
        (grid, work.block)
    } else {
        (None, None)
    };
    feed.slice(&Slice {
        correlation: work.call.map(i64::cast_unsigned),
        device: work.device,
        stream: streams.number(work),
        grid,
        block,
        shared_memory_bytes: work.shared_memory_bytes.filter(|_| grid.is_some()),
        bytes: work.bytes.filter(|_| kind == Kind::Copy && is_only),
        key: work.id.filter(|_| kind == Kind::Kernel),
        ..Slice::new(kind, name, times_ns)
    })
}

/// Calls of HIP; everything else on a thread is a range of the program.
fn calls(rows: &mut Rows, names: &HashMap<i64, String>, feed: &mut Feed<'_>) -> Result<(), Error> {
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
    rows.each(
        &sql,
        |row| {
            Ok((
                number(row, 0),
                (unsigned(row, 1), unsigned(row, 2)),
                number(row, 3).zip(number(row, 4)),
                number(row, 5),
                text(row, 6),
            ))
        },
        |(id, (process, thread), times, name, arguments)| {
            let name = name.and_then(|id| names.get(&id));
            let (Some(name), Some(times_ns)) = (name, times) else {
                feed.notes()
                    .leave_out("row without a name, or without times");
                return Ok(());
            };
            if is_of_profiler(name) {
                feed.notes().skip("overhead: the profiler's own work");
                return Ok(());
            }
            let place = (process.unwrap_or(0), thread.unwrap_or(0));
            let arguments = arguments.filter(|text| !text.is_empty());
            let name = match &arguments {
                Some(text) if is_marker(name) => text,
                _ => name,
            };
            let is_call = vendors::call(name).is_some();
            if times_ns.0 == times_ns.1 && !is_call {
                return feed.instant(place, name, times_ns.0);
            }
            let kind = if is_call { Kind::Call } else { Kind::Range };
            feed.slice(&Slice {
                process: place.0,
                thread: place.1,
                correlation: id.filter(|_| is_call).map(i64::cast_unsigned),
                ..Slice::new(kind, name, times_ns)
            })
        },
    )
}

/// A range or mark whose text is its argument.
fn is_marker(name: &str) -> bool {
    matches!(name, "UserMarker" | "roctxMark" | "roctxRangePush")
}

fn is_of_profiler(name: &str) -> bool {
    name.ends_with("Table::writeRows") || matches!(name, "hcc_activity_callback" | "rpdflush")
}

fn counters(
    rows: &mut Rows,
    names: &HashMap<i64, String>,
    feed: &mut Feed<'_>,
) -> Result<(), Error> {
    const NO_NUMBER: &str = "counter without a name or a number";
    if rows.has("rocpd_monitor") {
        rows.each(
            "SELECT deviceType, deviceId, monitorType, start, value FROM rocpd_monitor",
            |row| {
                let value = text(row, 4).and_then(|value| value.parse::<f64>().ok());
                Ok((
                    (text(row, 0), number(row, 1), text(row, 2)),
                    number(row, 3),
                    value.filter(|value| value.is_finite()).or(real(row, 4)),
                ))
            },
            |monitor| match monitor {
                ((Some(kind), Some(device), Some(what)), Some(time_ns), Some(value)) => {
                    feed.counter(0, &format!("{kind}{device} {what}"), time_ns, value)
                }
                _ => {
                    feed.notes().leave_out(NO_NUMBER);
                    Ok(())
                }
            },
        )?;
    }
    if rows.has("rocpd_counter") {
        rows.each(
            "SELECT c.op_id, c.name_id, c.value, o.start FROM rocpd_counter c JOIN rocpd_op o ON o.id = c.op_id",
            |row| Ok((unsigned(row, 0), number(row, 1), real(row, 2), number(row, 3))),
            |(kernel, name, value, time_ns)| {
                let name = name.and_then(|id| names.get(&id));
                match (kernel, name, value, time_ns) {
                    (Some(kernel), Some(name), Some(value), Some(time_ns)) => {
                        feed.kernel_counter(kernel, name, time_ns, value)
                    }
                    _ => {
                        feed.notes().leave_out(NO_NUMBER);
                        Ok(())
                    }
                }
            },
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
