//! Nsight Systems exports (`nsys export --type sqlite`, versions 2022 to 2026).
//!
//! Two passes, each over rows merged in order of their start: the host's ranges and calls,
//! then the device's work, which finds its launch by process and correlation id. A third
//! takes CPU samples by their id. In memory are the texts of `StringIds`, 48 bytes for each
//! call that has a correlation id, the ranges that are open, and the different stacks of
//! samples; nothing else grows with the file. sqlite sorts in temporary files.
//!
//! | table | row |
//! | --- | --- |
//! | `NVTX_EVENTS` | bricks, kind function, with their payloads as attributes, and kind iteration around those called so; marks are annotations; collectives, from payloads of NCCL |
//! | `CUPTI_ACTIVITY_KIND_RUNTIME`, `_DRIVER`, `OSRT_API` | calls |
//! | `_KERNEL`, `_MEMCPY`, `_MEMSET` | kernels, transfers; an `edges` row `launches` from the call |
//! | `_SYNCHRONIZATION` | syncs; `joins` from the work that a host's wait for a stream or a device ended with |
//! | `_CUDA_EVENT` | device_events; `joins` to the waits for that record |
//! | `CUDA_GPU_MEMORY_USAGE_EVENTS` | allocations |
//! | `COMPOSITE_EVENTS`, `SAMPLING_CALLCHAINS` | samples, stacks |
//! | `SCHED_EVENTS` | syncs, kind off_cpu; counters, the time that a thread ran |
//! | `GPU_METRICS` | counters, measured; their units as the export states them |
//! | `TARGET_INFO_CUDA_STREAM` | streams |
//!
//! Columns are looked up by name, because names come and go with the version of the export.
//! Missing ones are null, and said. Tables may end in a version, such as `_V2`.
//!
//! `nsys export --type jsonlines` writes the same records as objects: [`json_lines`].

mod context;
mod device;
mod device_rows;
mod doubtful;
mod enum_table;
mod facts;
mod host;
pub mod json_lines;
mod metrics;
mod nccl;
mod once;
mod operator_range;
mod payload;
mod payload_schema;
pub mod processes;
mod row;
mod samples;
pub mod source;
mod sqlite;
mod switches;
mod tables;
mod threads;
mod unclosed;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use crate::importer::{Import, Importer};
use crate::source::{Source as Packed, no_progress};
use crate::{Error, Notes, Part};
use context::Context;
use doubtful::Doubtful;
use once::Once;
use payload_schema::Schemas;
use processes::{OfProcess, Process, device_processes};
use samples::Capture;
use source::Source;
use sqlite::Database;

/// Nsight Systems exports to SQLite. Progress in bytes is estimated from the rows.
pub const IMPORTER: Importer = Importer {
    name: "nsys-sqlite",
    description: "Nsight Systems, exported to sqlite",
    // An export or not, the tables will tell.
    recognises: |head| head.is_database_with(&[]),
    read,
};

fn read(import: Import<'_>) -> Result<Option<i64>, Error> {
    let said = import.notes.warnings.len();
    let mut database = Database::open(import.path, import.notes)?;
    database.check(import.options, import.notes)?;
    let damage = &import.notes.warnings[said..];
    import.into.run().problems.extend_from_slice(damage);
    let bytes = database.bytes();
    import_source(&mut database, bytes, import)
}

/// What a packed database became, removed at the end.
pub(crate) struct Unpacked(PathBuf);

impl Deref for Unpacked {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Unpacks a database next to the run, because SQLite needs random access. `None` if it is not compressed.
pub(crate) fn unpack(import: &mut Import<'_>) -> Result<Option<Unpacked>, Error> {
    let mut packed = Packed::open(import.path, import.options, no_progress())?;
    if packed.packing().is_none() {
        return Ok(None);
    }
    let unpacked = Unpacked(import.into.path().join("import.sqlite"));
    let problem = |error| Error::io(&unpacked, "write it", error);
    let mut to = File::create(&*unpacked).map_err(problem)?;
    let mut bytes = vec![0; 1 << 16];
    loop {
        match packed.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => to.write_all(&bytes[..count]).map_err(problem)?,
            Err(error) => return Err(packed.refusal("its pages", error)),
        }
    }
    packed.end(import.notes);
    Ok(Some(unpacked))
}

/// Opens a database without writing to it or locking it. Returns its length as well.
pub(crate) fn open_database(
    path: &Path,
    notes: &mut Notes,
) -> Result<(rusqlite::Connection, u64), Error> {
    sqlite::open_file(path, notes)
}

/// The processes that ran kernels in an export to SQLite, in order of their first device.
///
/// # Errors
/// The file cannot be read.
pub fn processes(path: &Path) -> Result<Vec<Process>, Error> {
    device_processes(&mut Database::open(path, &mut Notes::default())?)
}

/// Reads the tables of an export in any form, from a file or folder of this many bytes.
///
/// # Errors
/// As [`Importer::import`].
pub fn import_source(
    source: &mut dyn Source,
    bytes: u64,
    mut import: Import<'_>,
) -> Result<Option<i64>, Error> {
    let Some(Part::Process(process)) = import.options.part else {
        return import_all(source, bytes, &mut import);
    };
    let pid = process.pid().to_string();
    let values = &mut import.into.run().values;
    values.insert("nsys.process".to_owned(), pid);
    let mut own = OfProcess::new(source, process)?;
    let wall_ns = import_all(&mut own, bytes, &mut import)?;
    if own.of_nobody() > 0 {
        let why = "rows of processes that ran no kernels".to_owned();
        import.notes.left_out.insert(why, own.of_nobody());
    }
    Ok(wall_ns)
}

fn import_all(
    source: &mut dyn Source,
    bytes: u64,
    import: &mut Import<'_>,
) -> Result<Option<i64>, Error> {
    let options = import.options;
    let mut host = tables::resolve(&tables::HOST, source, import.notes);
    let device = tables::resolve(&tables::DEVICE, source, import.notes);
    let sampling = tables::resolve(&tables::SAMPLES, source, import.notes);
    let switching = tables::resolve(&tables::SWITCHES, source, import.notes);
    let is_sample = |found: &&tables::Found| found.kind == tables::Kind::Sample;
    let has_samples = sampling.iter().any(|found| is_sample(&found));
    if host.is_empty() && device.is_empty() && !has_samples {
        return Err(import.refused(no_export(&source.tables())));
    }
    tables::name_the_rest(
        source,
        &[&host, &device, &sampling, &switching]
            .map(Vec::as_slice)
            .concat(),
        import.notes,
    );
    let rows = host
        .iter()
        .chain(&device)
        .chain(&sampling)
        .chain(&switching)
        .map(|t| source.rows(t.table()))
        .sum();
    host::find_activity(source, &mut host)?;
    let mut context = Context::new(import, bytes, rows);
    context.read_names(source)?;
    context.schemas = Schemas::read(source)?;
    let capture = Capture::read(source, &mut context)?;
    let sampled = sampling.iter().filter(is_sample);
    // Samples of the whole system say nothing about when the program ran.
    let sampled = sampled.filter(|_| !capture.is_system_wide);
    let on_host: Vec<_> = host.iter().chain(sampled).cloned().collect();
    let mut source = Once::new(source);
    let doubtful = if options.keep_doubtful {
        Doubtful::default()
    } else {
        Doubtful::find(&mut source, &on_host, &device, &mut context)?
    };
    let timed = on_host.iter().chain(&device);
    let (first_ns, damage) = tables::earliest(&mut source, timed)?;
    // Of rows that are far from all others the start is none.
    let near_ns = doubtful.near.as_ref().map(|near| *near.start());
    context.origin_ns = near_ns.or(first_ns).unwrap_or(0);
    context.damaged(damage);
    let mut far = host::read(&mut source, &host, &doubtful, &mut context)?;
    let doubtful = device::read(&mut source, &device, doubtful, &mut far, &mut context)?;
    far += samples::read(&mut source, &sampling, &doubtful, &capture, &mut context)?;
    switches::read(&mut source, &switching, &mut context)?;
    let repeated = source.left_out();
    if repeated > 0 {
        let of_doubles = context.notes.left_out.entry(doubtful::TWICE.to_owned());
        *of_doubles.or_default() += repeated;
    }
    doubtful.warn(far, &mut context);
    facts::read(&mut source, &mut context)?;
    context.finish(&mut source, options)
}

/// Why a database with these tables is no export.
fn no_export(found: &[String]) -> String {
    let has = |table: &str| found.iter().any(|name| name == table);
    let is_of_nsys = |name: &String| {
        ["CUPTI_", "ENUM_NSYS", "StringIds", "NVTX_"]
            .iter()
            .any(|begin| name.starts_with(begin))
    };
    if has("ANALYSIS_DETAILS") || has("TARGET_INFO_SYSTEM_ENV") {
        return "is an Nsight Systems export without activity: no CUDA call, NVTX range or call of the system was recorded \
                (hint: record again with `nsys profile --trace cuda,nvtx,osrt PROGRAM`, and see that the program uses the GPU)"
            .to_owned();
    }
    let first = &found[..found.len().min(8)];
    // Tables of rocprof before version 3, of what was recorded.
    let is_of_rocprof = ["KERN", "OPS", "COPY", "HIP", "HSA", "rocTX"];
    // Every such database has this one, of kernels.
    let is_or_kernels = |table: &String| is_of_rocprof.contains(&table.as_str()) || table == "A";
    let is_of_rocprof = |table: &String| is_of_rocprof.contains(&table.as_str());
    if found.iter().any(is_of_rocprof) && found.iter().all(is_or_kernels) {
        return "is a database of rocprof (hint: give the results.json or results.csv that rocprof wrote beside it)"
            .to_owned();
    }
    let tables = match first {
        [] => "no table".to_owned(),
        first => first.join(", "),
    };
    if !found.is_empty() && !found.iter().any(is_of_nsys) {
        return format!(
            "is a database of no known profiler, with tables {tables} (hint: read are those of Nsight Systems, nvprof, \
             rocprofv3, rocmProfileData, hipprof and Ascend's profilers)"
        );
    }
    format!(
        "expected an Nsight Systems export with tables such as CUPTI_ACTIVITY_KIND_KERNEL or NVTX_EVENTS, found {tables}; \
         make one with `nsys export --type sqlite REPORT.nsys-rep`, and record with `--trace cuda,nvtx,osrt`"
    )
}

#[cfg(test)]
mod tests;
