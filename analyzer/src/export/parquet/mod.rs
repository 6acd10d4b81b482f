//! A run as Parquet: sorted by time, in row groups with statistics, smaller than it was recorded.
//!
//! The folder is a run of its own, with the journal that segments have: a line for each row
//! group. Its rows pass through in windows of time, so memory does not grow with the run.

mod encode;
mod part;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use polars::prelude::DataFrame;
use trueno_recorder::journal::JOURNAL;
use trueno_recorder::run_json::{RUN_JSON, Table};

use super::ExportError;
use super::rows::{Source, Stored};
use crate::ordered::{Order, Ordered};
use crate::run::Run;
use part::Part;

/// Rows of a row group: enough to pack well, few enough to pass over by their statistics.
const GROUP_ROWS: usize = 1 << 17;
/// Row groups of a file, so that it has about as many rows as a segment.
const PART_GROUPS: usize = 8;

/// Writes `run` as a run of Parquet files into the folder `to`, which is empty. `on_rows` is
/// told how many rows were written since it was told last.
///
/// # Errors
/// See [`ExportError`]. What was written until then is left behind.
pub fn to_folder(run: &Run, to: &Path, on_rows: &mut dyn FnMut(u64)) -> Result<(), ExportError> {
    let mut json = run.describe_export();
    let mut journal = String::new();
    for table in Source::open(run)?.tables() {
        if table.rows > 0 {
            let counts = json.tables.entry(table.name.clone()).or_default();
            write_table(run, &table, to, counts, &mut journal, on_rows)?;
        }
    }
    let whole = |table: &Table| table.rows + table.dropped + table.lost > 0;
    json.tables.retain(|_, table| whole(table));
    run.copy_sources(to)
        .map_err(|(path, error)| named(&path, error))?;
    write_file(&to.join(JOURNAL), journal.as_bytes())?;
    let mut bytes = serde_json::to_vec_pretty(&json).map_err(std::io::Error::from)?;
    bytes.push(b'\n');
    // Last: a folder without it is seen not to be done.
    write_file(&to.join(RUN_JSON), &bytes)
}

fn write_table(
    run: &Run,
    table: &Stored,
    to: &Path,
    counts: &mut Table,
    journal: &mut String,
    on_rows: &mut dyn FnMut(u64),
) -> Result<(), ExportError> {
    let failed = |reason| ExportError::Rows {
        table: table.name.clone(),
        reason,
    };
    let frames = run
        .segment_frames(&table.name, &table.columns)
        .map_err(|error| failed(error.to_string()))?;
    let has = |name: &&str| table.columns.iter().any(|column| column == name);
    let time = ["start_ns", "time_ns"].into_iter().find(has);
    let order = time.map(|time| Order {
        time: time.to_owned(),
        then_down: None,
    });
    let folder = to.join(&table.name);
    fs::create_dir(&folder).map_err(|error| named(&folder, error))?;

    let mut part: Option<Part> = None;
    let mut waiting = DataFrame::empty();
    let mut take = |rows: DataFrame| -> Result<(), ExportError> {
        let mut file = match part.take() {
            Some(part) => part,
            None => {
                let name = format!("{}/{:06}.parquet", table.name, counts.segments);
                counts.segments += 1;
                Part::create(to, name, &rows).map_err(|error| error.of(&table.name))?
            }
        };
        file.write(&rows).map_err(|error| error.of(&table.name))?;
        counts.rows += rows.height() as u64;
        on_rows(rows.height() as u64);
        if file.groups() < PART_GROUPS {
            part = Some(file);
        } else {
            let file = file.finish(journal).map_err(|error| error.of(&table.name))?;
            counts.bytes += file;
        }
        Ok(())
    };
    for window in Ordered::new(frames, order).map_err(failed)? {
        let window = window.map_err(failed)?;
        if waiting.height() == 0 {
            waiting = window;
        } else {
            let joined = crate::guard::guarded(|| waiting.vstack_mut(&window).map(|_| ()));
            joined.map_err(failed)?;
        }
        while waiting.height() >= GROUP_ROWS {
            take(waiting.slice(0, GROUP_ROWS))?;
            waiting = waiting.slice(GROUP_ROWS as i64, usize::MAX);
        }
    }
    if waiting.height() > 0 {
        take(waiting)?;
    }
    if let Some(part) = part {
        counts.bytes += part
            .finish(journal)
            .map_err(|error| error.of(&table.name))?;
    }
    Ok(())
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), ExportError> {
    let write = || {
        let mut file = File::create_new(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| named(path, error))
}

fn named(path: &Path, source: std::io::Error) -> ExportError {
    ExportError::File {
        path: path.to_path_buf(),
        source,
    }
}
