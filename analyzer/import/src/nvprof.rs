//! Databases of nvprof (`nvprof --export-profile FILE PROGRAM`), whose tables resemble those of Nsight Systems.
//!
//! Names of calls are numbers there (`cbid`): those that traces of Kineto show beside their names are named, others stay
//! numbers. Ranges of NVTX are read, other records are counted. Names are held in memory, rows are not.

use std::collections::HashMap;

use crate::Error;
use crate::chrome::feed::{Feed, Kind, NO_TIMES, Slice};
use crate::importer::{Import, Importer};
use crate::sqlite_rows::{Cells, Rows, Texts, quoted};

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

pub const IMPORTER: Importer = Importer {
    name: "nvprof",
    description: "nvprof: the database of NVIDIA's profiler before Nsight",
    recognises: |head| head.is_database_with(&["StringTable", "_id_"]),
    read,
};

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let rows = Rows::open(&mut import)?;
    if !TABLES.iter().any(|table| rows.has(table)) {
        return Err(rows.without(TABLES[0], "nvprof"));
    }
    let mut feed = Feed::new(import, "nvprof");
    let names = rows.texts("StringTable", ["_id_", "value"])?;
    devices(&rows, &names, &mut feed)?;
    for table in [
        "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
        "CUPTI_ACTIVITY_KIND_KERNEL",
    ] {
        kernels(&rows, table, &names, &mut feed)?;
    }
    feed.progress(rows.bytes / 2);
    for table in [
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "CUPTI_ACTIVITY_KIND_MEMCPY2",
        "CUPTI_ACTIVITY_KIND_MEMSET",
    ] {
        copies(&rows, table, &mut feed)?;
    }
    for (table, known, prefix) in [
        ("CUPTI_ACTIVITY_KIND_RUNTIME", RUNTIME, "cuda runtime call"),
        ("CUPTI_ACTIVITY_KIND_DRIVER", DRIVER, "cuda driver call"),
    ] {
        calls(&rows, table, known, prefix, &mut feed)?;
    }
    ranges(&rows, &names, &mut feed)?;
    rows.finish(feed)
}

/// Visits these columns of a table if it exists. Missing columns are null.
fn each(
    rows: &Rows<'_>,
    table: &str,
    columns: &str,
    order: &str,
    visit: impl FnMut(Cells<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    if !rows.has(table) {
        return Ok(());
    }
    let known = rows.columns(table)?;
    let columns = columns.split_whitespace().map(|column| {
        if known.contains(&column.to_ascii_lowercase()) {
            quoted(column)
        } else {
            "NULL".to_owned()
        }
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let sql = format!("SELECT {columns} FROM {}{order}", quoted(table));
    rows.each(&sql, visit)
}

fn devices(rows: &Rows<'_>, names: &Texts, feed: &mut Feed<'_>) -> Result<(), Error> {
    let table = "CUPTI_ACTIVITY_KIND_DEVICE";
    each(rows, table, "id name numMultiprocessors", "", |row| {
        let Some(id) = row.small(0) else {
            return Ok(());
        };
        let text = row.text(1);
        let name = names.of(row.number(1)).or(text.as_deref());
        feed.device(id, name.unwrap_or("GPU"), row.small(2))
    })
}

fn kernels(rows: &Rows<'_>, table: &str, names: &Texts, feed: &mut Feed<'_>) -> Result<(), Error> {
    let columns = "start end name deviceId streamId correlationId gridX gridY gridZ blockX blockY blockZ \
                   registersPerThread staticSharedMemory dynamicSharedMemory";
    each(rows, table, columns, "", |row| {
        let Some(times_ns) = row.times(0) else {
            return feed.leave_out(NO_TIMES);
        };
        let shared = [row.unsigned(13), row.unsigned(14)];
        let shared = shared.into_iter().flatten().reduce(u64::saturating_add);
        let name = names.of(row.number(2)).unwrap_or("kernel without a name");
        feed.slice(&Slice {
            device: row.small(3),
            stream: row.small(4),
            correlation: row.unsigned(5),
            grid: row.three(6),
            block: row.three(9),
            registers: row.unsigned(12),
            shared_memory_bytes: shared,
            ..Slice::new(Kind::Kernel, name, times_ns)
        })
    })
}

fn copies(rows: &Rows<'_>, table: &str, feed: &mut Feed<'_>) -> Result<(), Error> {
    let columns = "start end copyKind srcKind dstKind bytes deviceId streamId correlationId";
    let is_fill = table.ends_with("MEMSET");
    each(rows, table, columns, "", |row| {
        let Some(times_ns) = row.times(0) else {
            return feed.leave_out(NO_TIMES);
        };
        // CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind.
        let direction = match row.number(2) {
            Some(1 | 3) => "HtoD",
            Some(2 | 4) => "DtoH",
            Some(5..=8) => "DtoD",
            Some(9) => "HtoH",
            Some(10) => "PtoP",
            _ => "unknown",
        };
        let memory = |at: usize| match row.number(at) {
            Some(1) => "Pageable",
            Some(2) => "Pinned",
            Some(3) => "Device",
            Some(4) => "Array",
            Some(5) => "Managed",
            _ => "Unknown",
        };
        let (kind, name) = if is_fill {
            (Kind::Fill, "Memset (Device)".to_owned())
        } else {
            let (from, to) = (memory(3), memory(4));
            (Kind::Copy, format!("Memcpy {direction} ({from} -> {to})"))
        };
        feed.slice(&Slice {
            bytes: row.unsigned(5),
            device: row.small(6),
            stream: row.small(7),
            correlation: row.unsigned(8),
            ..Slice::new(kind, &name, times_ns)
        })
    })
}

fn calls(
    rows: &Rows<'_>,
    table: &str,
    known: &[(u32, &str)],
    prefix: &str,
    feed: &mut Feed<'_>,
) -> Result<(), Error> {
    let columns = "start end cbid processId threadId correlationId";
    each(rows, table, columns, "", |row| {
        let Some(times_ns) = row.times(0) else {
            return feed.leave_out(NO_TIMES);
        };
        let number = row.small(2).unwrap_or(0);
        let known = known.iter().find(|(of, _)| *of == number);
        let unknown = format!("{prefix} {number}");
        feed.slice(&Slice {
            process: row.unsigned(3).unwrap_or(0),
            // Threads are the lower half of a handle, at times with a sign.
            thread: row.number(4).map_or(0, |thread| u64::from(thread as u32)),
            correlation: row.unsigned(5),
            ..Slice::new(
                Kind::Call,
                known.map_or(&unknown, |(_, name)| name),
                times_ns,
            )
        })
    })
}

/// An NVTX range consists of two records with one id.
fn ranges(rows: &Rows<'_>, names: &Texts, feed: &mut Feed<'_>) -> Result<(), Error> {
    /// `CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS`, `_START`, `_END`.
    const INSTANT: i64 = 1;
    const START: i64 = 2;
    const END: i64 = 4;
    let mut open: HashMap<i64, (i64, String, (u64, u64))> = HashMap::new();
    let (table, columns) = (
        "CUPTI_ACTIVITY_KIND_MARKER",
        "flags timestamp id objectId name",
    );
    each(rows, table, columns, " ORDER BY timestamp", |row| {
        let (Some(time_ns), Some(id)) = (row.number(1), row.number(2)) else {
            return feed.leave_out(NO_TIMES);
        };
        let flags = row.number(0).unwrap_or(0);
        // Process and thread, of 32 bits and 64.
        let object = row.bytes(3);
        let part = |at: usize| {
            let bytes = object.get(at..)?.first_chunk()?;
            Some(u64::from(u32::from_le_bytes(*bytes)))
        };
        let place = (part(0).unwrap_or(0), part(4).unwrap_or(0));
        let name = names.of(row.number(4)).unwrap_or("range without a name");
        if flags & INSTANT != 0 {
            return feed.instant(place, name, time_ns);
        }
        if flags & START != 0 {
            open.insert(id, (time_ns, name.to_owned(), place));
            return Ok(());
        }
        if flags & END == 0 {
            return Ok(());
        }
        let Some((start_ns, name, (process, thread))) = open.remove(&id) else {
            return feed.leave_out("end of a range without its start");
        };
        feed.slice(&Slice {
            process,
            thread,
            ..Slice::new(Kind::Range, &name, (start_ns, time_ns))
        })
    })?;
    for _ in open {
        feed.leave_out("start of a range without its end")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
