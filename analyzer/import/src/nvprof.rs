//! Databases of nvprof (`nvprof --export-profile FILE PROGRAM`), whose tables resemble those of Nsight Systems.
//!
//! Names of calls are numbers there (`cbid`): those that traces of Kineto show beside their names are named, others stay
//! numbers. Ranges of NVTX are read, other records are counted. Names are held in memory, rows are not.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use trueno_format::run_writer::RunWriter;

use crate::chrome::feed::{Feed, Kind, Slice};
use crate::importer::{Head, Importer};
use crate::sqlite_rows::{Rows, number, quoted, small, text, unsigned};
use crate::{Error, Notes, Options};

const TABLES: [&str; 5] = [
    "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_DRIVER",
];

/// Runtime calls by CUPTI number, as collected from Kineto traces that state both.
const RUNTIME: &[(u32, &str)] = &[
    (1, "cudaDriverGetVersion"),
    (3, "cudaGetDeviceCount"),
    (4, "cudaGetDeviceProperties"),
    (11, "cudaPeekAtLastError"),
    (13, "cudaLaunch"),
    (15, "cudaFuncGetAttributes"),
    (16, "cudaSetDevice"),
    (17, "cudaGetDevice"),
    (20, "cudaMalloc"),
    (22, "cudaFree"),
    (27, "cudaHostAlloc"),
    (28, "cudaHostGetDevicePointer"),
    (31, "cudaMemcpy"),
    (41, "cudaMemcpyAsync"),
    (51, "cudaMemsetAsync"),
    (53, "cudaGetSymbolAddress"),
    (131, "cudaStreamSynchronize"),
    (135, "cudaEventRecord"),
    (137, "cudaEventSynchronize"),
    (138, "cudaEventQuery"),
    (139, "cudaEventElapsedTime"),
    (147, "cudaStreamWaitEvent"),
    (151, "cudaPointerGetAttributes"),
    (165, "cudaDeviceSynchronize"),
    (198, "cudaStreamCreateWithFlags"),
    (200, "cudaDeviceGetAttribute"),
    (203, "cudaStreamGetPriority"),
    (205, "cudaDeviceGetStreamPriorityRange"),
    (210, "cudaOccupancyMaxActiveBlocksPerMultiprocessor"),
    (211, "cudaLaunchKernel"),
    (
        251,
        "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    ),
    (273, "cudaFuncSetAttribute"),
    (317, "cudaStreamIsCapturing"),
];
const DRIVER: &[(u32, &str)] = &[(307, "cuLaunchKernel")];

pub struct Nvprof;

impl Importer for Nvprof {
    fn name(&self) -> &'static str {
        "nvprof"
    }

    fn description(&self) -> &'static str {
        "nvprof: the database of NVIDIA's profiler before Nsight"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        head.is_database_with(&["StringTable", "_id_"])
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
        if !TABLES.iter().any(|table| rows.has(table)) {
            let found: Vec<&str> = rows.tables().take(8).collect();
            return Err(Error::Format {
                path: path.to_owned(),
                problem: format!(
                    "expected a database of nvprof with tables such as {}, found {}",
                    TABLES[0],
                    found.join(", ")
                ),
            });
        }
        let mut feed = Feed::new(path, "nvprof", into, notes, options);
        let names = names(&mut rows)?;
        devices(&mut rows, &mut feed)?;
        for table in [
            "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
            "CUPTI_ACTIVITY_KIND_KERNEL",
        ] {
            kernels(&mut rows, table, &names, &mut feed)?;
        }
        progress(rows.bytes / 2);
        for table in [
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            "CUPTI_ACTIVITY_KIND_MEMCPY2",
            "CUPTI_ACTIVITY_KIND_MEMSET",
        ] {
            copies(&mut rows, table, &mut feed)?;
        }
        for (table, known, prefix) in [
            ("CUPTI_ACTIVITY_KIND_RUNTIME", RUNTIME, "cuda runtime call"),
            ("CUPTI_ACTIVITY_KIND_DRIVER", DRIVER, "cuda driver call"),
        ] {
            calls(&mut rows, table, known, prefix, &mut feed)?;
        }
        ranges(&mut rows, &names, &mut feed)?;
        progress(rows.bytes);
        rows.finish(feed, options)
    }
}

fn names(rows: &mut Rows) -> Result<HashMap<i64, String>, Error> {
    let mut names = HashMap::new();
    if rows.has("StringTable") {
        rows.each(
            "SELECT _id_, value FROM StringTable",
            |row| Ok((number(row, 0), text(row, 1))),
            |(id, name)| {
                names.extend(id.zip(name));
                Ok(())
            },
        )?;
    }
    Ok(names)
}

/// A query for these columns, with null for missing ones. `None` if the table does not exist.
fn select(rows: &mut Rows, table: &str, columns: &[&str]) -> Result<Option<String>, Error> {
    if !rows.has(table) {
        return Ok(None);
    }
    let known: BTreeSet<String> = rows.columns(table)?;
    let columns: Vec<String> = columns
        .iter()
        .map(|column| {
            if known.contains(&column.to_ascii_lowercase()) {
                quoted(column)
            } else {
                "NULL".to_owned()
            }
        })
        .collect();
    Ok(Some(format!(
        "SELECT {} FROM {}",
        columns.join(", "),
        quoted(table)
    )))
}

fn devices(rows: &mut Rows, feed: &mut Feed<'_>) -> Result<(), Error> {
    let columns = ["id", "name", "numMultiprocessors"];
    let Some(sql) = select(rows, "CUPTI_ACTIVITY_KIND_DEVICE", &columns)? else {
        return Ok(());
    };
    let names = names(rows)?;
    rows.each(
        &sql,
        |row| Ok((small(row, 0), number(row, 1), text(row, 1), small(row, 2))),
        |(id, number, name, units)| {
            let name = number.and_then(|id| names.get(&id).cloned()).or(name);
            match id {
                Some(id) => feed.device(id, name.as_deref().unwrap_or("GPU"), units),
                None => Ok(()),
            }
        },
    )
}

fn kernels(
    rows: &mut Rows,
    table: &str,
    names: &HashMap<i64, String>,
    feed: &mut Feed<'_>,
) -> Result<(), Error> {
    let columns = [
        "start",
        "end",
        "name",
        "deviceId",
        "streamId",
        "correlationId",
        "gridX",
        "gridY",
        "gridZ",
        "blockX",
        "blockY",
        "blockZ",
        "registersPerThread",
        "staticSharedMemory",
        "dynamicSharedMemory",
    ];
    let Some(sql) = select(rows, table, &columns)? else {
        return Ok(());
    };
    rows.each(
        &sql,
        |row| {
            let three =
                |at: usize| Some([small(row, at)?, small(row, at + 1)?, small(row, at + 2)?]);
            let shared = [unsigned(row, 13), unsigned(row, 14)];
            let shared = shared.iter().flatten().copied().reduce(u64::saturating_add);
            let name = number(row, 2).and_then(|id| names.get(&id).cloned());
            let slice = Slice {
                device: small(row, 3),
                stream: small(row, 4),
                correlation: unsigned(row, 5),
                grid: three(6),
                block: three(9),
                registers: unsigned(row, 12),
                shared_memory_bytes: shared,
                ..Slice::new(Kind::Kernel, "", (0, 0))
            };
            Ok((number(row, 0).zip(number(row, 1)), name, slice))
        },
        |(times, name, slice)| {
            let Some((start_ns, end_ns)) = times else {
                feed.notes().leave_out("row without times that are numbers");
                return Ok(());
            };
            feed.slice(&Slice {
                name: name.as_deref().unwrap_or("kernel without a name"),
                start_ns,
                end_ns,
                ..slice
            })
        },
    )
}

fn copies(rows: &mut Rows, table: &str, feed: &mut Feed<'_>) -> Result<(), Error> {
    let columns = [
        "start",
        "end",
        "copyKind",
        "srcKind",
        "dstKind",
        "bytes",
        "deviceId",
        "streamId",
        "correlationId",
    ];
    let Some(sql) = select(rows, table, &columns)? else {
        return Ok(());
    };
    let is_fill = table.ends_with("MEMSET");
    rows.each(
        &sql,
        |row| {
            let slice = Slice {
                bytes: unsigned(row, 5),
                device: small(row, 6),
                stream: small(row, 7),
                correlation: unsigned(row, 8),
                ..Slice::new(if is_fill { Kind::Fill } else { Kind::Copy }, "", (0, 0))
            };
            let kinds = [number(row, 2), number(row, 3), number(row, 4)];
            Ok((number(row, 0).zip(number(row, 1)), kinds, slice))
        },
        |(times, [kind, from, to], slice)| {
            let Some((start_ns, end_ns)) = times else {
                feed.notes().leave_out("row without times that are numbers");
                return Ok(());
            };
            // CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind.
            let direction = match kind {
                Some(1 | 3) => "HtoD",
                Some(2 | 4) => "DtoH",
                Some(5..=8) => "DtoD",
                Some(9) => "HtoH",
                Some(10) => "PtoP",
                _ => "unknown",
            };
            let memory = |kind: Option<i64>| match kind {
                Some(1) => "Pageable",
                Some(2) => "Pinned",
                Some(3) => "Device",
                Some(4) => "Array",
                Some(5) => "Managed",
                _ => "Unknown",
            };
            let name = if is_fill {
                "Memset (Device)".to_owned()
            } else {
                format!("Memcpy {direction} ({} -> {})", memory(from), memory(to))
            };
            feed.slice(&Slice {
                name: &name,
                start_ns,
                end_ns,
                ..slice
            })
        },
    )
}

fn calls(
    rows: &mut Rows,
    table: &str,
    known: &[(u32, &str)],
    prefix: &str,
    feed: &mut Feed<'_>,
) -> Result<(), Error> {
    let columns = [
        "start",
        "end",
        "cbid",
        "processId",
        "threadId",
        "correlationId",
    ];
    let Some(sql) = select(rows, table, &columns)? else {
        return Ok(());
    };
    rows.each(
        &sql,
        |row| {
            // Threads are the lower half of a handle, at times with a sign.
            let thread = number(row, 4).map_or(0, |thread| u64::from(thread as u32));
            let slice = Slice {
                process: unsigned(row, 3).unwrap_or(0),
                thread,
                correlation: unsigned(row, 5),
                ..Slice::new(Kind::Call, "", (0, 0))
            };
            Ok((number(row, 0).zip(number(row, 1)), small(row, 2), slice))
        },
        |(times, number, slice)| {
            let Some((start_ns, end_ns)) = times else {
                feed.notes().leave_out("row without times that are numbers");
                return Ok(());
            };
            let number = number.unwrap_or(0);
            let known = known.iter().find(|(of, _)| *of == number);
            let name = known.map_or_else(
                || format!("{prefix} {number}"),
                |(_, name)| (*name).to_owned(),
            );
            feed.slice(&Slice {
                name: &name,
                start_ns,
                end_ns,
                ..slice
            })
        },
    )
}

/// An NVTX range consists of two records with one id.
fn ranges(rows: &mut Rows, names: &HashMap<i64, String>, feed: &mut Feed<'_>) -> Result<(), Error> {
    /// `CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS`, `_START`, `_END`.
    const INSTANT: i64 = 1;
    const START: i64 = 2;
    const END: i64 = 4;
    let columns = ["flags", "timestamp", "id", "objectId", "name"];
    let Some(sql) = select(rows, "CUPTI_ACTIVITY_KIND_MARKER", &columns)? else {
        return Ok(());
    };
    let sql = format!("{sql} ORDER BY timestamp");
    let mut open: HashMap<i64, (i64, String, (u64, u64))> = HashMap::new();
    rows.each(
        &sql,
        |row| {
            // Process and thread, of 32 bits and 64.
            let object: Vec<u8> = row.get(3).unwrap_or_default();
            let part = |at: usize, length: usize| {
                let bytes = object.get(at..at + length)?;
                Some(
                    bytes
                        .iter()
                        .rev()
                        .fold(0_u64, |word, byte| word << 8 | u64::from(*byte)),
                )
            };
            let place = (part(0, 4).unwrap_or(0), part(4, 4).unwrap_or(0));
            Ok((
                number(row, 0).unwrap_or(0),
                number(row, 1),
                number(row, 2),
                number(row, 4),
                place,
            ))
        },
        |(flags, time, id, name, place)| {
            let (Some(time_ns), Some(id)) = (time, id) else {
                feed.notes().leave_out("row without times that are numbers");
                return Ok(());
            };
            let name = || {
                let name = name.and_then(|id| names.get(&id).cloned());
                name.unwrap_or_else(|| "range without a name".to_owned())
            };
            if flags & INSTANT != 0 {
                return feed.instant(place, &name(), time_ns);
            }
            if flags & START != 0 {
                open.insert(id, (time_ns, name(), place));
                return Ok(());
            }
            if flags & END == 0 {
                return Ok(());
            }
            let Some((start_ns, name, (process, thread))) = open.remove(&id) else {
                feed.notes().leave_out("end of a range without its start");
                return Ok(());
            };
            feed.slice(&Slice {
                process,
                thread,
                ..Slice::new(Kind::Range, &name, (start_ns, time_ns))
            })
        },
    )?;
    for _ in open {
        feed.notes().leave_out("start of a range without its end");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
