//! Nsight Systems exports (`nsys export --type sqlite`, versions 2022 to 2026).
//!
//! Two passes, each over rows merged in order of their start: the host's ranges and calls,
//! then the device's work, which finds its launch by process and correlation id. In memory
//! are the texts of `StringIds`, 48 bytes for each call that has a correlation id, and the
//! ranges that are open; nothing else grows with the file. sqlite sorts in temporary files.
//!
//! | table | row |
//! | --- | --- |
//! | `NVTX_EVENTS` | bricks, kind function, with their payloads as attributes; marks are annotations; collectives, from payloads of NCCL |
//! | `CUPTI_ACTIVITY_KIND_RUNTIME`, `_DRIVER`, `OSRT_API` | calls |
//! | `_KERNEL`, `_MEMCPY`, `_MEMSET` | kernels, transfers; an `edges` row `launches` from the call |
//! | `_SYNCHRONIZATION` | syncs; `joins` from the work that a host's wait for a stream or a device ended with |
//! | `_CUDA_EVENT` | device_events; `joins` to the waits for that record |
//! | `CUDA_GPU_MEMORY_USAGE_EVENTS` | allocations |
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
pub mod source;
mod sqlite;
mod tables;
mod threads;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use trueno_format::run_writer::RunWriter;

use crate::importer::{Head, Importer};
use crate::source::Source as Packed;
use crate::{Error, Notes, Options, Part};
use context::Context;
use doubtful::Doubtful;
use once::Once;
use payload_schema::Schemas;
use processes::{OfProcess, Process, device_processes};
use source::Source;
use sqlite::Database;

/// Nsight Systems exports to SQLite. Progress in bytes is estimated from the rows.
pub struct NsysSqlite;

impl Importer for NsysSqlite {
    fn name(&self) -> &'static str {
        "nsys-sqlite"
    }

    fn description(&self) -> &'static str {
        "Nsight Systems, exported to sqlite"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        // An export or not, the tables will tell.
        head.is_database_with(&[])
    }

    fn import(
        &self,
        path: &Path,
        options: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error> {
        if let Some(unpacked) = unpack(path, options, into, notes)? {
            let done = self.import(&unpacked, options, into, notes, progress);
            let removed = fs::remove_file(&unpacked);
            removed.map_err(|error| Error::io(&unpacked, "remove it", error))?;
            return done.map_err(|error| error.of_file(path));
        }
        let said = notes.warnings.len();
        let mut database = Database::open(path, notes)?;
        database.check(options, notes)?;
        into.run()
            .problems
            .extend_from_slice(&notes.warnings[said..]);
        let bytes = database.bytes();
        import_source(&mut database, (path, bytes), options, into, notes, progress)
    }
}

/// Unpacks a database next to the run, because SQLite needs random access. `None` if it is not compressed.
pub(crate) fn unpack(
    path: &Path,
    options: &Options,
    into: &RunWriter,
    notes: &mut Notes,
) -> Result<Option<PathBuf>, Error> {
    let mut nothing = |_| ();
    let mut packed = Packed::open(path, options, &mut nothing)?;
    if packed.packing().is_none() {
        return Ok(None);
    }
    let unpacked = into.path().join("import.sqlite");
    let problem = |error| Error::io(&unpacked, "write it", error);
    let mut to = File::create(&unpacked).map_err(problem)?;
    let mut bytes = vec![0; 1 << 16];
    loop {
        match packed.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => to.write_all(&bytes[..count]).map_err(problem)?,
            Err(error) => return Err(packed.refusal(path, "its pages", error)),
        }
    }
    packed.end(notes);
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
    (path, bytes): (&Path, u64),
    options: &Options,
    into: &mut RunWriter,
    notes: &mut Notes,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<i64>, Error> {
    let Some(Part::Process(process)) = options.part else {
        return import_all(source, (path, bytes), options, into, notes, progress);
    };
    let pid = process.pid().to_string();
    into.run().values.insert("nsys.process".to_owned(), pid);
    let mut own = OfProcess::new(source, process)?;
    let wall_ns = import_all(&mut own, (path, bytes), options, into, notes, progress)?;
    if own.of_nobody() > 0 {
        let why = "rows of processes that ran no kernels".to_owned();
        notes.left_out.insert(why, own.of_nobody());
    }
    Ok(wall_ns)
}

fn import_all(
    source: &mut dyn Source,
    (path, bytes): (&Path, u64),
    options: &Options,
    into: &mut RunWriter,
    notes: &mut Notes,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<i64>, Error> {
    let host = tables::resolve(&tables::HOST, source, notes);
    let device = tables::resolve(&tables::DEVICE, source, notes);
    if host.is_empty() && device.is_empty() {
        return Err(no_export(path, &source.tables()));
    }
    tables::name_the_rest(
        source,
        &[host.as_slice(), device.as_slice()].concat(),
        notes,
    );
    let rows = host
        .iter()
        .chain(&device)
        .map(|t| source.rows(t.table()))
        .sum();
    let mut context = Context::new(path, into, notes, progress, bytes, rows);
    context.read_names(source)?;
    context.schemas = Schemas::read(source)?;
    let mut source = Once::new(source);
    let doubtful = if options.keep_doubtful {
        Doubtful::default()
    } else {
        Doubtful::find(&mut source, &host, &device, &mut context)?
    };
    let timed = host.iter().chain(&device);
    let (first_ns, damage) = tables::earliest(&mut source, timed)?;
    // Of rows that are far from all others the start is none.
    let near_ns = doubtful.near.as_ref().map(|near| *near.start());
    context.origin_ns = near_ns.or(first_ns).unwrap_or(0);
    context.damaged(damage);
    let mut far = host::read(&mut source, &host, &doubtful, &mut context)?;
    let doubtful = device::read(&mut source, &device, doubtful, &mut far, &mut context)?;
    let repeated = source.left_out();
    if repeated > 0 {
        let of_doubles = context.notes.left_out.entry(doubtful::TWICE.to_owned());
        *of_doubles.or_default() += repeated;
    }
    doubtful.warn(far, &mut context);
    facts::read(&mut source, &mut context)?;
    context.finish(&mut source, options)
}

fn no_export(path: &Path, found: &[String]) -> Error {
    let has = |table: &str| found.iter().any(|name| name == table);
    let is_of_nsys = |name: &String| {
        ["CUPTI_", "ENUM_NSYS", "StringIds", "NVTX_"]
            .iter()
            .any(|begin| name.starts_with(begin))
    };
    let known = if has("ANALYSIS_DETAILS") || has("TARGET_INFO_SYSTEM_ENV") {
        Some(
            "is an Nsight Systems export without activity: no CUDA call, NVTX range or call of the system was recorded \
             (hint: record again with `nsys profile --trace cuda,nvtx,osrt PROGRAM`, and see that the program uses the GPU)",
        )
    } else {
        None
    };
    if let Some(problem) = known {
        return Error::Format {
            path: path.to_owned(),
            problem: problem.to_owned(),
        };
    }
    let is_of_another = !found.is_empty() && !found.iter().any(is_of_nsys);
    let mut found: Vec<&str> = found.iter().take(8).map(String::as_str).collect();
    if found.is_empty() {
        found.push("no table");
    }
    // Tables of rocprof before version 3, of what was recorded.
    let is_of_rocprof = ["KERN", "OPS", "COPY", "HIP", "HSA"];
    if found.iter().all(|table| is_of_rocprof.contains(table)) {
        return Error::Format {
            path: path.to_owned(),
            problem: "is a database of rocprof (hint: give the results.json or results.csv that rocprof wrote beside it)"
                .to_owned(),
        };
    }
    if is_of_another {
        return Error::Format {
            path: path.to_owned(),
            problem: format!(
                "is a database of no known profiler, with tables {} (hint: read are those of Nsight Systems, nvprof, \
                 rocprofv3, rocmProfileData, hipprof and Ascend's profilers)",
                found.join(", ")
            ),
        };
    }
    Error::Format {
        path: path.to_owned(),
        problem: format!(
            "expected an Nsight Systems export with tables such as CUPTI_ACTIVITY_KIND_KERNEL or \
             NVTX_EVENTS, found {}; make one with `nsys export --type sqlite REPORT.nsys-rep`, and record \
             with `--trace cuda,nvtx,osrt`",
            found.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests;
