//! Tables that profilers of devices write as CSV: rocprofv3 and the rocprof before it, nvprof, `nsys stats`, Ascend's
//! msprof, `nvidia-smi --query-gpu`.
//!
//! The columns identify a file, in any order and spelling. `Feed` turns its rows into calls, work and counters in
//! flat memory. Several files of one program (a kernel trace, a trace of calls, the agents) are one run:
//! [`import_set`].
//!
//! | table | row |
//! | --- | --- |
//! | kernels | kernels; those of the name of a copy or fill are transfers |
//! | memory copies | transfers |
//! | HIP, HSA, CUDA, RCCL calls | calls, linked to work by correlation |
//! | markers | bricks; those without a length are instants |
//! | counters of kernels | counters of their kernel; kernels too where no table of kernels is given |
//! | other columns of Ascend's kernels | counters and attributes of the kernel |
//! | allocations | allocations |
//! | agents | devices |
//! | sums by name, of any of these tools | counters `sum: …` |
//! | samples of `nvidia-smi` | counters `gpu0 utilization.gpu` |

mod ascend;
mod columns;
mod rows;
mod smi;
mod sums;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::chrome::feed::Feed;
use crate::importer::{Head, Import, Importer};
use crate::source::{Source, hash_of_all, no_progress};
use crate::{Error, Options};
use columns::{Columns, Row, Table};
pub(crate) use rows::in_blocks;

/// Limit for the lines before a table's header in which a tool describes what it does.
const MAX_PREAMBLE: usize = 200;

pub const IMPORTER: Importer = Importer {
    name: "device-csv",
    description: "CSV of rocprofv3, rocprof, nvprof, nsys stats, Ascend's msprof, nvidia-smi",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let mut lines = head.text().lines().take(MAX_PREAMBLE);
    lines.any(|line| Table::of_header(line).is_some())
}

fn read(import: Import<'_>) -> Result<Option<i64>, Error> {
    import_set(&[import.path.to_owned()], import)
}

/// The tables of one program in a folder, such as `77_kernel_trace.csv` and `77_hip_api_trace.csv`; `None` for any
/// other folder. A folder that contains only one such folder counts as that one.
pub fn set_in(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            folders.push(path);
        } else {
            files.push(path);
        }
    }
    files.sort();
    if let ([], [only]) = (files.as_slice(), folders.as_slice()) {
        return set_in(only);
    }
    if files.iter().any(|path| may_be_other_trace(path)) {
        return None;
    }
    let mut tables: Vec<PathBuf> = files
        .into_iter()
        .filter(|path| {
            path.extension()
                .is_some_and(|end| end.eq_ignore_ascii_case("csv"))
        })
        .collect();
    let kinds: Vec<Option<Table>> = tables.iter().map(|path| table_of(path)).collect();
    let is_trace = |table: &Option<Table>| table.is_some_and(Table::has_times);
    if !kinds.iter().any(is_trace) {
        return None;
    }
    let mut kinds = kinds.into_iter();
    tables.retain(|_| kinds.next().flatten().is_some());
    (tables.len() > 1).then_some(tables)
}

/// The file may be a separate trace. What rocprofv3 writes beside its tables repeats them.
fn may_be_other_trace(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_ascii_lowercase();
    let endings = [
        ".json",
        ".json.gz",
        ".json.zst",
        ".sqlite",
        ".db",
        ".pb",
        ".pftrace",
        ".parquet",
        ".arrow",
    ];
    endings.iter().any(|end| name.ends_with(end)) && !name.contains("_results.")
}

pub(crate) fn has_times(head: &Head<'_>) -> bool {
    let mut lines = head.text().lines().take(MAX_PREAMBLE);
    lines
        .find_map(Table::of_header)
        .is_some_and(Table::has_times)
}

fn table_of(path: &Path) -> Option<Table> {
    let source = Source::open(path, &Options::default(), no_progress()).ok()?;
    let mut head = Vec::new();
    source.take(1 << 16).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head).into_owned();
    head.lines().take(MAX_PREAMBLE).find_map(Table::of_header)
}

/// Imports the tables of one program.
///
/// # Errors
/// As [`Importer::import`].
pub fn import_set(paths: &[PathBuf], mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let first = paths.first().map_or(Path::new(""), PathBuf::as_path);
    let has_kernels = paths
        .iter()
        .any(|path| table_of(path) == Some(Table::Kernels));
    let (options, progress) = (import.options, import.take_progress());
    let feed = Feed::new(import.of(first), "device csv");
    let mut rows = rows::Rows::new(feed, has_kernels);
    let (mut hashes, mut before) = (Vec::new(), 0);
    // Agents name devices, and markers and calls say what led to work: traces come in any order.
    for path in paths {
        let mut bytes = 0;
        let mut progress = |read| {
            bytes = read;
            progress(before + read);
        };
        let hash = read_table(path, options, &mut rows, &mut progress)?;
        hashes.push(hash);
        before += bytes;
    }
    rows.finish(hash_of_all(&hashes))
}

fn read_table(
    path: &Path,
    options: &Options,
    rows: &mut rows::Rows<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, Error> {
    let source = Source::open(path, options, progress)?;
    let mut lines = BufReader::new(source);
    let head = header(path, &mut lines)?;
    let (table, columns) = Columns::new(&head);
    let Some(table) = table else {
        return Err(Error::format(path, "its columns match no known table"));
    };
    rows.begin(table);
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .has_headers(false)
        .trim(csv::Trim::All)
        .from_reader(lines);
    let mut record = csv::ByteRecord::new();
    let mut number = 0_u64;
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(false) => break,
            Ok(true) => {
                number += 1;
                let (columns, record) = (&columns, &record);
                rows.row(Row { columns, record }, number)?;
            }
            Err(error) => {
                let place = format!("row {}", number + 1);
                if let csv::ErrorKind::Io(_) = error.kind() {
                    let csv::ErrorKind::Io(source) = error.into_kind() else {
                        break;
                    };
                    let refusal = reader.get_ref().get_ref().refusal(place, source);
                    if options.partial {
                        rows.problem(refusal.to_string());
                        break;
                    }
                    return Err(refusal);
                }
                return Err(Error::damaged(path, place, error.to_string()));
            }
        }
    }
    let mut source = reader.into_inner().into_inner();
    source.end(rows.notes());
    source.hash()
}

fn header(path: &Path, lines: &mut BufReader<Source<'_>>) -> Result<String, Error> {
    for _ in 0..MAX_PREAMBLE {
        let mut line = Vec::new();
        let read = lines.by_ref().take(1 << 20).read_until(b'\n', &mut line);
        let read = read.map_err(|e| lines.get_ref().refusal("head", e))?;
        if read == 0 {
            break;
        }
        let line = String::from_utf8_lossy(&line).into_owned();
        if Table::of_header(&line).is_some() {
            return Ok(line);
        }
    }
    Err(Error::format(
        path,
        "expected a line with the names of columns, such as Kernel_Name and Start_Timestamp, found none",
    ))
}

#[cfg(test)]
mod tests;
